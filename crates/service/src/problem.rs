//! Errors of requests, with codes that are documented.

use crate::form;
use daybook_store::error::StoreError;
use std::borrow::Cow;
use std::fmt;

/// The category of a problem; each maps to a status in the protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// The request cannot be parsed.
    Malformed,
    /// The caller is not authenticated.
    Unauthenticated,
    /// The caller lacks the right.
    Forbidden,
    /// The object does not exist.
    NotFound,
    /// The request conflicts with existing data.
    Conflict,
    /// The request breaks a rule.
    Invalid,
    /// The caller sends too many requests.
    TooMany,
    /// The request is too large.
    TooLarge,
    /// The content type is not supported.
    Unsupported,
    /// The feature is known but not supported.
    NotSupported,
    /// The database is unavailable.
    Unavailable,
    /// A bug.
    Internal,
}

/// An error in one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The path of the field.
    pub field: String,
    /// The rule it breaks, as a sentence.
    pub message: String,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The category.
    pub kind: ProblemKind,
    /// The code; `docs/errors/<code>.md` explains it.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
    /// The fields with errors.
    pub details: Vec<Detail>,
    /// After how many seconds to retry; 0 if unknown.
    pub wait_seconds: u32,
}

/// Every code a problem can have, with its category. A page in `docs/errors` explains each.
pub const CODES: &[(&str, ProblemKind)] = &[
    ("malformed_request", ProblemKind::Malformed),
    ("unauthenticated", ProblemKind::Unauthenticated),
    ("not_authorized", ProblemKind::Forbidden),
    ("live_environment", ProblemKind::Forbidden),
    ("not_found", ProblemKind::NotFound),
    ("conflict", ProblemKind::Conflict),
    ("id_taken", ProblemKind::Conflict),
    ("idempotency_key_reused", ProblemKind::Conflict),
    ("status_is_final", ProblemKind::Conflict),
    ("already_reversed", ProblemKind::Conflict),
    ("not_reversible", ProblemKind::Conflict),
    ("nothing_to_waive", ProblemKind::Conflict),
    ("not_held", ProblemKind::Conflict),
    ("migration_mode", ProblemKind::Conflict),
    ("account_failed", ProblemKind::Conflict),
    ("account_closed", ProblemKind::Conflict),
    ("nothing_to_change", ProblemKind::Conflict),
    ("no_rows_ahead", ProblemKind::Conflict),
    ("limit_reached", ProblemKind::Conflict),
    ("cannot_cancel", ProblemKind::Conflict),
    ("exceeds_surplus", ProblemKind::Conflict),
    ("subscription_paused", ProblemKind::Conflict),
    ("invalid_request", ProblemKind::Invalid),
    ("rate_limited", ProblemKind::TooMany),
    ("too_large", ProblemKind::TooLarge),
    ("unsupported_media_type", ProblemKind::Unsupported),
    ("method_not_allowed", ProblemKind::Unsupported),
    ("not_supported", ProblemKind::NotSupported),
    ("unavailable", ProblemKind::Unavailable),
    ("internal_error", ProblemKind::Internal),
];

impl Problem {
    /// A problem with a code of [`CODES`].
    pub fn new(code: &'static str, message: impl Into<String>) -> Problem {
        let kind = CODES.iter().find(|(known, _)| *known == code).map_or(ProblemKind::Internal, |(_, kind)| *kind);
        Problem { kind, code, message: message.into(), details: Vec::new(), wait_seconds: 0 }
    }

    /// A field breaks a rule.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem::invalid_fields(vec![Detail { field: field.into(), message: message.into() }])
    }

    /// Fields break rules.
    pub fn invalid_fields(details: Vec<Detail>) -> Problem {
        let message = match details.as_slice() {
            [one] if one.field.is_empty() => one.message.clone(),
            [one] => format!("{}: {}", one.field, one.message),
            many => format!("{} fields are invalid", many.len()),
        };
        Problem { details, ..Problem::new("invalid_request", message) }
    }

    /// The object does not exist, or belongs to another organization.
    pub fn not_found(what: &str, id: &str) -> Problem {
        let shown: Cow<'_, str> = if id.chars().count() > 140 { "…".into() } else { id.into() };
        Problem::new("not_found", format!("there is no {what} \"{shown}\""))
    }

    /// The id belongs to an object with other content.
    pub fn id_taken(field: &str, what: &str, id: &str) -> Problem {
        let message = format!("{what} \"{id}\" already exists with different content");
        Problem {
            details: vec![Detail {
                field: field.to_owned(),
                message: format!("is already in use: the existing {what} has other values than this request"),
            }],
            ..Problem::new("id_taken", message)
        }
    }

    /// Fields request known but unsupported features; each error states the reason and an alternative.
    pub fn not_supported(fields: Vec<form::FieldProblem>) -> Result<(), Problem> {
        if fields.is_empty() {
            return Ok(());
        }
        let message = match fields.as_slice() {
            [one] => one.to_string(),
            many => format!("{} fields request features that are not supported", many.len()),
        };
        let detail = |form::FieldProblem { field, message }| Detail { field, message };
        let details = fields.into_iter().map(detail).collect();
        Err(Problem { details, ..Problem::new("not_supported", message) })
    }

    /// A bug. The message goes to the log, not to the caller.
    pub fn internal(message: impl Into<String>) -> Problem {
        Problem::new("internal_error", message)
    }

    /// Whether the database is unavailable: the same request may succeed later.
    pub fn is_unavailable(&self) -> bool {
        self.code == "unavailable"
    }

    /// The database is unavailable.
    pub fn unavailable(message: impl Into<String>) -> Problem {
        Problem::new("unavailable", message)
    }
}

impl From<form::BadForm> for Problem {
    fn from(bad: form::BadForm) -> Problem {
        match bad {
            form::BadForm::Malformed { message } => Problem::new("malformed_request", message),
            form::BadForm::Invalid { field, message } => Problem::invalid(field, message),
        }
    }
}

impl From<form::FieldProblem> for Problem {
    fn from(form::FieldProblem { field, message }: form::FieldProblem) -> Problem {
        Problem::invalid(field, message)
    }
}

impl From<Vec<form::FieldProblem>> for Problem {
    fn from(problems: Vec<form::FieldProblem>) -> Problem {
        let detail = |form::FieldProblem { field, message }| Detail { field, message };
        Problem::invalid_fields(problems.into_iter().map(detail).collect())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        // Newer tables: a node of the newer build serves the call when it is repeated.
        if error.is_unavailable() || matches!(error, StoreError::Tables(_)) {
            Problem::unavailable(error.to_string())
        } else {
            Problem::internal(error.to_string())
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_used_once() {
        for (index, (code, _)) in CODES.iter().enumerate() {
            assert!(CODES[..index].iter().all(|(before, _)| before != code), "{code} is listed twice");
        }
    }

    #[test]
    fn a_problem_takes_its_family_from_its_code() {
        assert_eq!(Problem::new("id_taken", "").kind, ProblemKind::Conflict);
        assert_eq!(Problem::invalid("a.b", "must be so").message, "a.b: must be so");
    }
}
