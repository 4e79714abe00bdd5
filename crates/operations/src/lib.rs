//! The operations of the API, in one table: the id, method, path, right and form of each.
//!
//! Servers and clients take methods and paths from it: the routes of the API, `/bulk`, the console's `curl` lines, test
//! cases and imports that work with a running server, and the other commands.
//!
//! ```text
//! client: RecordPayment.request(["loan-1"])  ─► POST /accounts/loan-1/line_items/payments/payment_record
//! server: Operation::find("POST", "/accounts/loan-1/line_items/payments/payment_record")
//!                                            ─► (RecordPayment, ["loan-1"])
//! ```

mod request_line;
mod table;

pub use request_line::RequestLine;
pub use table::Operation;

use std::fmt;

/// What a caller must be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To read.
    Read,
    /// To change data.
    Write,
    /// To administer.
    Administer,
}

impl Operation {
    /// The request for the objects with these ids, in the order in which the path names them.
    pub fn request<const N: usize>(self, ids: [&str; N]) -> RequestLine {
        RequestLine::new(self, &ids)
    }

    /// Whether it changes something. Every operation that does leaves a record in the audit trail.
    pub fn changes(self) -> bool {
        // A GET that needs the right to write sends something.
        self.right().is_some_and(|right| self.method() != "GET" || right == Right::Write)
    }

    /// The operation of a method and a path, and the ids in the path as they are written there.
    pub fn find<'p>(method: &str, path: &'p str) -> Option<(Operation, Vec<&'p str>)> {
        let fits = Operation::ALL.iter().filter_map(|operation| Some((*operation, operation.ids_in(path)?)));
        // As in the router, a path with more words of its own is nearer than one with more ids.
        let fewest = fits.clone().map(|(_, ids)| ids.len()).min()?;
        fits.filter(|(_, ids)| ids.len() == fewest).find(|(operation, _)| operation.method() == method)
    }

    /// The ids in a path, if it is a path of this operation.
    fn ids_in(self, path: &str) -> Option<Vec<&str>> {
        (path.split('/').count() == self.path().split('/').count()).then(|| self.leading_ids_in(path))?
    }

    /// The ids in a path, if it is a path of this operation or begins with one.
    pub fn leading_ids_in(self, path: &str) -> Option<Vec<&str>> {
        let mut given = path.split('/');
        let mut ids = Vec::new();
        for part in self.path().split('/') {
            let text = given.next()?;
            if is_id(part) {
                ids.push(text);
            } else if part != text {
                return None;
            }
        }
        Some(ids)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method(), self.path())
    }
}

/// Whether a part of a path stands for an id.
fn is_id(part: &str) -> bool {
    part.starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_of_every_operation_leads_back_to_it() {
        for operation in Operation::ALL {
            let places = operation.path().split('/').filter(|part| is_id(part)).count();
            let ids: Vec<String> = (1..=places).map(|place| format!("id-{place}")).collect();
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let line = RequestLine::new(*operation, &ids);
            assert_eq!(Operation::find(line.method(), line.target()), Some((*operation, ids.clone())), "{line}");
        }
    }

    #[test]
    fn a_path_with_more_words_of_its_own_is_nearer() {
        let path = "/accounts/a/line_items/manual_fees";
        assert_eq!(Operation::find("POST", path), Some((Operation::ChargeManualFee, vec!["a"])));
        assert_eq!(Operation::find("PUT", path), None, "the router refuses the method too");
        let path = "/accounts/a/line_items/fee";
        assert_eq!(Operation::find("PUT", path), Some((Operation::ChangeLineItem, vec!["a", "fee"])));
    }

    #[test]
    fn other_methods_and_paths_are_not_found() {
        for (method, path) in [
            ("post", "/accounts"),
            ("PATCH", "/accounts"),
            ("POST", "accounts"),
            ("POST", "/accounts/"),
            ("POST", "/accounts?a=1"),
            ("GET", "/accounts/a/events/"),
            ("GET", "/"),
            ("GET", ""),
        ] {
            assert_eq!(Operation::find(method, path), None, "{method} {path}");
        }
    }

    #[test]
    fn leading_ids_are_found_in_longer_paths() {
        let ids = |path| Operation::GetAccount.leading_ids_in(path);
        assert_eq!(ids("/accounts/a"), Some(vec!["a"]));
        assert_eq!(ids("/accounts//status"), Some(vec![""]));
        assert_eq!((ids("/accounts"), ids("/customers/c")), (None, None));
    }

    #[test]
    fn ids_and_methods_are_unique_and_well_formed() {
        for (index, operation) in Operation::ALL.iter().enumerate() {
            for other in &Operation::ALL[index + 1..] {
                assert_ne!(operation.id(), other.id());
                assert_ne!((operation.method(), operation.path()), (other.method(), other.path()));
            }
            assert!(["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&operation.method()), "{operation:?}");
            let name: String = operation.id().split('_').flat_map(|word| word.chars()).collect();
            assert_eq!(format!("{operation:?}").to_lowercase(), name);
            assert!(!operation.is_in_bulk() || operation.changes(), "{operation:?}: /bulk takes changes only");
        }
    }
}
