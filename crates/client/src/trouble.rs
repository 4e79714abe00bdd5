//! Why a request failed: a sentence for people, the code and the fields for programs.

use serde_json::Value;
use std::fmt;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// There was no response, or an unreadable one.
    Unreachable(String),
    /// The server refused the request.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The error code, which names its documentation page.
        code: String,
        /// What is wrong.
        message: String,
        /// Which fields are wrong, and how.
        details: Vec<Detail>,
    },
}

/// A field, and what is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// Its path in the body.
    pub field: String,
    /// The rule it breaks.
    pub message: String,
}

impl Trouble {
    pub(crate) fn unreachable(url: &str, why: &dyn fmt::Display) -> Trouble {
        Trouble::Unreachable(format!("the server at {url} cannot be reached: {why}"))
    }

    pub(crate) fn no_json(url: &str, path: &str) -> Trouble {
        Trouble::Unreachable(format!("the response of {url} to {path} is not JSON: is it a Daybook server?"))
    }

    pub(crate) fn refused(url: &str, path: &str, status: u16, body: &[u8]) -> Trouble {
        let shown: Value = serde_json::from_slice(body).unwrap_or_default();
        let error = &shown["error"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (Some(code), Some(message)) = (text(&error["code"]), text(&error["message"])) else {
            return Trouble::Unreachable(format!(
                "{url} answered {path} with status {status} and no error message: is it a Daybook server?"
            ));
        };
        let details = error["details"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
        let detail = |one: &Value| Some(Detail { field: text(&one["field"])?, message: text(&one["message"])? });
        Trouble::Refused { status, code, message, details: details.filter_map(detail).collect() }
    }

    /// Whether the server refused the request with this code.
    pub fn has_code(&self, wanted: &str) -> bool {
        matches!(self, Trouble::Refused { code, .. } if code == wanted)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Unreachable(sentence) => f.write_str(sentence),
            Trouble::Refused { message, details, .. } => {
                f.write_str(message)?;
                if details.len() > 1 {
                    for detail in details {
                        write!(f, "\n  {}: {}", detail.field, detail.message)?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for Trouble {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_is_wrong() {
        let body = br#"{"error":{"code":"invalid_request","message":"two fields are wrong","details":[
            {"field":"a","message":"must be a number"},{"field":"b","message":"is missing"}]}}"#;
        let trouble = Trouble::refused("http://x", "/products", 422, body);
        assert!(trouble.has_code("invalid_request") && !trouble.has_code("conflict"));
        assert_eq!(trouble.to_string(), "two fields are wrong\n  a: must be a number\n  b: is missing");
    }

    #[test]
    fn another_server_is_told_from_ours() {
        let trouble = Trouble::refused("http://x", "/products", 404, b"<html>");
        assert_eq!(
            trouble.to_string(),
            "http://x answered /products with status 404 and no error message: is it a Daybook server?"
        );
    }
}
