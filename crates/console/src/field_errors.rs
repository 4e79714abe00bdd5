//! Errors of the service as lines of text, for pages that have no form field to show them at.

use daybook_service::problem::Problem;

/// An error about an API field.
pub fn field_error(field: &str, message: &str) -> String {
    if field.is_empty() { message.to_owned() } else { format!("{field}: {message}") }
}

/// The errors of a problem, one per line.
pub fn error_lines(problem: &Problem) -> Vec<String> {
    match problem.details.as_slice() {
        [] => vec![problem.message.clone()],
        details => details.iter().map(|detail| field_error(&detail.field, &detail.message)).collect(),
    }
}
