//! The method and the target of a request.

use crate::{Operation, is_id};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt;

/// The characters that are encoded in a query. Those of an id are left, but for the colon.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The characters that are encoded in a path. The lines of `/bulk` have ids as they are, so those of an id are left.
const IN_PATH: &AsciiSet = &IN_QUERY.remove(b':');

/// The method and the target of a request: its path, and its query if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLine {
    operation: Operation,
    target: String,
    has_query: bool,
}

impl RequestLine {
    pub(crate) fn new(operation: Operation, ids: &[&str]) -> RequestLine {
        let parts: Vec<&str> = operation.path().split('/').collect();
        let places = parts.iter().filter(|part| is_id(part)).count();
        assert_eq!(places, ids.len(), "{operation:?} has an id for each place in its path");
        let mut ids = ids.iter();
        let filled = parts.into_iter().map(|part| match is_id(part).then(|| ids.next()).flatten() {
            Some(id) => utf8_percent_encode(id, IN_PATH).to_string(),
            None => part.to_owned(),
        });
        RequestLine { operation, target: filled.collect::<Vec<_>>().join("/"), has_query: false }
    }

    /// Adds a parameter to the query.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> RequestLine {
        self.target.push(if self.has_query { '&' } else { '?' });
        self.has_query = true;
        self.target.push_str(name);
        self.target.push('=');
        self.target.extend(utf8_percent_encode(&value.to_string(), IN_QUERY));
        self
    }

    /// Adds a parameter to the query if it has a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl fmt::Display>) -> RequestLine {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The operation that is requested.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The method.
    pub fn method(&self) -> &'static str {
        self.operation.method()
    }

    /// The path and the query.
    pub fn target(&self) -> &str {
        &self.target
    }
}

impl fmt::Display for RequestLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method(), self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_fill_the_path_in_order_and_are_encoded() {
        let line = Operation::WaiveFee.request(["loan 1/ä", "a-Z_0.9~:x"]);
        assert_eq!(line.to_string(), "POST /accounts/loan%201%2F%C3%A4/line_items/fee_waiver/a-Z_0.9~:x");
        assert_eq!(Operation::ListProducts.request([]).to_string(), "GET /products");
    }

    #[test]
    fn parameters_are_encoded_and_joined() {
        let line = Operation::ListAccounts.request([]).with("product_id", "a+b&c").with_some("limit", Some(20));
        let line = line.with_some("starting_after", None::<&str>).with("since", "09:00 ä");
        assert_eq!(line.target(), "/accounts?product_id=a%2Bb%26c&limit=20&since=09%3A00%20%C3%A4");
    }

    #[test]
    #[should_panic(expected = "WaiveFee has an id for each place in its path")]
    fn a_missing_id_is_a_bug() {
        let _ = Operation::WaiveFee.request(["loan-1"]);
    }
}
