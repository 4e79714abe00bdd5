//! Refusals: the error responses of the API.
//!
//! A [`Problem`] of the service, or an HTTP error, becomes a [`Refusal`]: a status, one JSON shape, and a code that has
//! a page under `/docs/errors`. Details that only operators should read (a bug, a lost database) are not sent to the
//! caller: they are attached to the response as [`Unforeseen`], and the logging middleware writes them once, with the
//! request id that the caller also gets.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use daybook_service::call_slots::TOO_MANY_CALLS;
use daybook_service::clockwatch::CLOCK_IN_DOUBT;
use daybook_service::form::BadForm;
use daybook_service::problem::{CODES, Problem, ProblemKind};
use daybook_service::superseded::SUPERSEDED;
use serde::Serialize;
use std::any::Any;
use utoipa::ToSchema;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};

/// Seconds after which a retry is useful, unless the problem has another number.
const RETRY_UNAVAILABLE_SECONDS: u64 = 1;

/// Why a call is refused.
#[derive(Debug)]
pub struct Refusal {
    problem: Problem,
    /// The message for the log, if the caller gets a shorter one.
    log: Option<String>,
    retry_after_seconds: Option<u64>,
}

/// An internal error message for the log.
#[derive(Clone, Debug)]
pub struct Unforeseen(pub String);

impl Refusal {
    /// A refusal with a code of the service's list.
    pub fn new(code: &'static str, message: impl Into<String>) -> Refusal {
        Refusal::shown(Problem::new(code, message))
    }

    /// The caller calls too often.
    pub fn rate_limited(per_second: u32, retry_after_seconds: u64) -> Refusal {
        let message =
            format!("this key is limited to {per_second} requests per second; retry in {retry_after_seconds} s");
        Refusal { retry_after_seconds: Some(retry_after_seconds), ..Refusal::new("rate_limited", message) }
    }

    /// The body is larger than the limit.
    pub fn too_large(limit_bytes: usize) -> Refusal {
        Refusal::new("too_large", format!("the body may have at most {limit_bytes} bytes"))
    }

    /// The call took too long.
    pub fn timed_out() -> Refusal {
        let message = "the request timed out, and may still take effect: repeat it with the same id or Idempotency-Key";
        Refusal::new("unavailable", message)
    }

    /// A refusal with the problem's own message.
    pub(crate) fn shown(problem: Problem) -> Refusal {
        let wait_seconds = u64::from(problem.wait_seconds).max(RETRY_UNAVAILABLE_SECONDS);
        let retry_after_seconds = (problem.kind == ProblemKind::Unavailable).then_some(wait_seconds);
        Refusal { problem, log: None, retry_after_seconds }
    }

    /// The status and the body, for a response within a response, and the message for the log.
    pub fn into_parts(self) -> (StatusCode, Vec<u8>, Option<Unforeseen>) {
        (self.status(), self.body(), self.log.map(Unforeseen))
    }

    fn status(&self) -> StatusCode {
        match (self.problem.code, self.problem.kind) {
            ("method_not_allowed", _) => StatusCode::METHOD_NOT_ALLOWED,
            (_, kind) => status_of(kind),
        }
    }

    fn body(&self) -> Vec<u8> {
        let problem = &self.problem;
        let details = problem.details.iter();
        let body = ErrorBody {
            error: ErrorInfo {
                code: problem.code,
                message: &problem.message,
                details: details.map(|detail| ErrorDetail { field: &detail.field, message: &detail.message }).collect(),
                help_url: help_url(problem.code),
            },
        };
        serde_json::to_vec(&body).unwrap_or_default()
    }
}

/// The page that explains a code.
pub fn help_url(code: &str) -> String {
    format!("/docs/errors/{code}")
}

/// The status of a family of problems.
pub const fn status_of(kind: ProblemKind) -> StatusCode {
    match kind {
        ProblemKind::Malformed => StatusCode::BAD_REQUEST,
        ProblemKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        ProblemKind::Forbidden => StatusCode::FORBIDDEN,
        ProblemKind::NotFound => StatusCode::NOT_FOUND,
        ProblemKind::Conflict => StatusCode::CONFLICT,
        ProblemKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        ProblemKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
        ProblemKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ProblemKind::Unsupported => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ProblemKind::NotSupported => StatusCode::NOT_IMPLEMENTED,
        ProblemKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ProblemKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Whether callers may see why the server rejects work.
fn is_shown(message: &str) -> bool {
    [CLOCK_IN_DOUBT, SUPERSEDED, TOO_MANY_CALLS].iter().any(|beginning| message.starts_with(beginning))
}

impl From<Problem> for Refusal {
    fn from(mut problem: Problem) -> Refusal {
        let sentence = match problem.kind {
            ProblemKind::Internal => {
                "an internal error occurred; the header x-request-id identifies the request in the log"
            }
            // The message is safe to show, and callers can report it.
            ProblemKind::Unavailable if is_shown(&problem.message) => return Refusal::shown(problem),
            ProblemKind::Unavailable => "the database is unavailable; retry in a moment",
            _ => return Refusal::shown(problem),
        };
        let log = std::mem::replace(&mut problem.message, sentence.to_owned());
        problem.details.clear();
        Refusal { log: Some(log), ..Refusal::shown(problem) }
    }
}

impl From<BadForm> for Refusal {
    fn from(bad: BadForm) -> Refusal {
        Problem::from(bad).into()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.problem.kind == ProblemKind::Unauthenticated {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(message) = self.log {
            response.extensions_mut().insert(Unforeseen(message));
        }
        response
    }
}

/// A handler panicked: a bug.
pub fn panicked(payload: Box<dyn Any + Send + 'static>) -> Response {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Refusal::from(Problem::internal(format!("a handler panicked: {text}"))).into_response()
}

/// There is nothing at this path.
pub async fn no_such_path(uri: axum::http::Uri) -> Refusal {
    Problem::not_found("page", uri.path()).into()
}

/// The path exists, but not for this method; the router adds the header `Allow`.
pub async fn no_such_method(method: axum::http::Method, uri: axum::http::Uri) -> Refusal {
    Refusal::new("method_not_allowed", format!("{} does not accept {method}; see the header Allow", uri.path()))
}

/// Why a request was refused.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorBody<'a> {
    /// The error.
    pub error: ErrorInfo<'a>,
}

/// An error.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorInfo<'a> {
    /// What kind of error it is; stable.
    #[schema(schema_with = code_schema)]
    pub code: &'a str,
    /// What is wrong, as a sentence.
    pub message: &'a str,
    /// The fields that break a rule; empty if the error is not about a field.
    pub details: Vec<ErrorDetail<'a>>,
    /// The page that explains the code.
    #[schema(example = "/docs/errors/invalid_request")]
    pub help_url: String,
}

/// The error of one field.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorDetail<'a> {
    /// The field, by its path; empty for the body itself.
    #[schema(example = "summary.initial_principal_cents")]
    pub field: &'a str,
    /// The rule it breaks.
    #[schema(example = "must be a whole number of cents from 1 to 10000000000000")]
    pub message: &'a str,
}

fn code_schema() -> RefOr<Schema> {
    let codes = CODES.iter().map(|(code, _)| *code);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(codes)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_status_of_its_family() {
        for (code, kind) in CODES {
            let expected = if *code == "method_not_allowed" { 405 } else { status_of(*kind).as_u16() };
            assert_eq!(Refusal::new(code, "").into_response().status().as_u16(), expected, "{code}");
        }
    }

    #[test]
    fn a_bug_is_told_to_the_log_and_not_to_the_caller() {
        for problem in [Problem::internal("the secret reason"), Problem::unavailable("the secret reason")] {
            let (_, body, unforeseen) = Refusal::from(problem).into_parts();
            assert!(!String::from_utf8_lossy(&body).contains("secret"));
            assert_eq!(unforeseen.map(|unforeseen| unforeseen.0).as_deref(), Some("the secret reason"));
        }
        let response = panicked(Box::new("the secret reason"));
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let logged = response.extensions().get::<Unforeseen>().map(|unforeseen| unforeseen.0.as_str());
        assert_eq!(logged, Some("a handler panicked: the secret reason"));
    }

    #[test]
    fn a_read_without_a_slot_gets_the_reason_and_the_time_to_wait() {
        let problem = Problem { wait_seconds: 5, ..Problem::unavailable(format!("{TOO_MANY_CALLS}: retry")) };
        let refusal = Refusal::from(problem);
        assert!(String::from_utf8_lossy(&refusal.body()).contains(TOO_MANY_CALLS));
        let response = refusal.into_response();
        assert_eq!((response.status().as_u16(), &response.headers()[RETRY_AFTER]), (503, &HeaderValue::from(5)));
        assert!(response.extensions().get::<Unforeseen>().is_none(), "it is no error of the server");
    }

    #[test]
    fn who_is_too_early_is_told_when_to_come_again() {
        for (refusal, seconds) in [(Refusal::rate_limited(5, 3), "3"), (Refusal::timed_out(), "1")] {
            assert_eq!(refusal.into_response().headers()[RETRY_AFTER], seconds);
        }
    }
}
