//! Suggests existing names for a mistyped one.

use strsim::levenshtein;

/// Names with more differing letters than this are not suggested.
const CHANGES_MAX: usize = 3;

/// The names similar to a word, most similar first: a few letters differ, or one contains the other.
pub fn close_to<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase().replace(['-', ' '], "_");
    let mut found: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let changes = levenshtein(&word, name);
        if changes <= CHANGES_MAX {
            found.push((changes, name));
        } else if word.len() >= 4 && (name.contains(&word) || word.contains(name)) {
            found.push((CHANGES_MAX + 1, name));
        }
    }
    found.sort();
    found.into_iter().map(|(_, name)| name).collect()
}

/// A sentence with the similar names, or how to list all.
pub fn sentence<'a>(word: &str, names: impl IntoIterator<Item = &'a str>, all: &str) -> String {
    match close_to(word, names).as_slice() {
        [] => format!("{all} lists them"),
        close => format!("did you mean {}? {all} lists them", close.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["payment_missed", "payment_reversed", "account_closed", "not_found"];

    #[test]
    fn a_slip_is_understood() {
        assert_eq!(close_to("payment_mised", NAMES), ["payment_missed"]);
        assert_eq!(close_to("Not-Found", NAMES), ["not_found"]);
        assert_eq!(close_to("payment", NAMES), ["payment_missed", "payment_reversed"]);
        assert_eq!(close_to("interest", NAMES), [""; 0]);
    }
}
