//! Errors of the service as lines of text, for pages that have no form field to show them at.

use daybook_service::problem::Problem;

/// An error about an API field.
pub fn field_error(field: &str, message: &str) -> String {
    if field.is_empty() { message.to_owned() } else { format!("{field}: {message}") }
}

/// Replaces the names of other API fields in an error with the labels of a form. `fields` has their paths and labels.
pub fn with_labels<'f>(message: &str, own: &str, fields: impl Iterator<Item = (&'f str, &'f str)>) -> String {
    let others = fields.filter(|(path, _)| *path != own);
    let named = others.map(|(path, label)| (path.rsplit('.').next().unwrap_or(path), label));
    let labels: Vec<(&str, &str)> = named.filter(|(name, _)| name.contains('_')).collect();
    let in_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let (mut text, mut rest) = (String::new(), message);
    while let Some(start) = rest.find(in_name) {
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|letter: char| !in_name(letter)).unwrap_or(from.len()));
        text.push_str(before);
        match labels.iter().find(|(name, _)| *name == word) {
            Some((_, label)) => {
                // The object that the field is part of is not on the page.
                if let Some(of) = text.strip_suffix('.').filter(|of| of.ends_with(in_name)) {
                    text.truncate(of.rfind(|letter: char| !in_name(letter)).map_or(0, |end| end + 1));
                }
                text.push_str(&format!("\u{201c}{label}\u{201d}"));
            }
            None => text.push_str(word),
        }
        rest = after;
    }
    text + rest
}

/// The errors of a problem, one per line.
pub fn error_lines(problem: &Problem) -> Vec<String> {
    match problem.details.as_slice() {
        [] => vec![problem.message.clone()],
        details => details.iter().map(|detail| field_error(&detail.field, &detail.message)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_fields_become_labels() {
        let fields =
            [("fees.late_fee_max_cents", "Maximum late fee"), ("fees.late_fee_min_cents", "Minimum"), ("time", "Time")];
        let told = |message: &str| with_labels(message, "fees.late_fee_min_cents", fields.into_iter());
        assert_eq!(told("must not exceed late_fee_max_cents"), "must not exceed \u{201c}Maximum late fee\u{201d}");
        let of_object = "is required, unless fees.late_fee_max_cents is given";
        assert_eq!(told(of_object), "is required, unless \u{201c}Maximum late fee\u{201d} is given");
        for unchanged in ["must be a time", "late_fee_min_cents must be set", "my_late_fee_max_cents is unknown", ""] {
            assert_eq!(told(unchanged), unchanged);
        }
    }
}
