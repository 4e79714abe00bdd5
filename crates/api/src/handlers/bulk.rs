//! Many calls in one: a request line for each, a response line for each, in order.
//!
//! Each line is independent: an error in one does not affect the others. Lines may depend on lines before them (a
//! customer, then an account with that customer, then its payments), so lines of one class run together, and a line of
//! another class waits for them. Within a class the calls start in order, so those for one account arrive in order.
//!
//! ```text
//! customers ┐          accounts ┐          payments, fees, ... ┐
//! customers ├─ results accounts ├─ results payments, fees, ... ├─ results
//! customers ┘          accounts ┘          payments, fees, ... ┘
//! ```

use crate::Api;
use crate::error::{Refusal, Unforeseen};
use crate::extract::{Call, Writer, content_hash, read_body};
use crate::limits::Context;
use crate::parameters::BulkParameters;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use daybook_operations::Operation;
use daybook_service::access::Caller;
use daybook_service::changes::change_request;
use daybook_service::form::{self, fields::Reference};
use daybook_service::problem::Problem;
use daybook_service::processor::job::IdempotencyKey;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// The most lines of one call.
const MOST_LINES: usize = 1_000;
/// The most account changes of one call that run at the same time. The response to a short line can be large; the
/// responses to new customers and accounts are limited by the length of the body.
const MOST_CHANGES_AT_ONCE: usize = 256;
/// The number of bytes of responses after which no further line of a call is run.
const LARGEST_RESPONSE: usize = 16 << 20;
/// The content types of a body of lines.
const LINE_TYPES: [&str; 3] = ["application/x-ndjson", "application/ndjson", "application/jsonl"];

/// A line: one call.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct BulkCall {
    method: String,
    path: String,
    #[serde(default)]
    body: Option<Box<RawValue>>,
}

/// Which lines may run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Customers,
    Accounts,
    AccountChanges,
}

type LineResult = Result<Bytes, Refusal>;
type Running<'a> = Pin<Box<dyn Future<Output = LineResult> + Send + 'a>>;

/// Sends many requests in one
///
/// The body has up to 1,000 lines, each a request: `{"method": "POST", "path": "/accounts/…", "body": {…}}`. It accepts
/// `POST` of customers, accounts, payments, reversals, fees, waivers, offsets, refunds and changes of a loan, and `PUT` of
/// an account's status, notification config, due date and rates. The response has a line for each, in order: `{"status": 200, "body": {…}}`. Each line is
/// independent. An `Idempotency-Key` applies to each line by its number.
#[utoipa::path(post, path = Operation::Bulk.path(), tag = "Bulk",
    params(BulkParameters),
    request_body(content = String, content_type = "application/x-ndjson",
        example = "{\"method\": \"POST\", \"path\": \"/customers\", \"body\": {\"name_last\": \"Lovelace\"}}\n"),
    responses((status = 200, description = "A response for each line", body = String, content_type = "application/x-ndjson",
        example = "{\"status\":200,\"body\":{}}\n")))]
pub async fn bulk(
    State(api): State<Api>,
    Writer(who): Writer,
    parameters: BulkParameters,
    Extension(context): Extension<Context>,
    request: Request,
) -> Result<Response, Refusal> {
    let who = match &parameters.held_by {
        Some(product) => api.service.only_while_held(&who, product).await?,
        None => who,
    };
    let call = Call::of(&request);
    let body = read_body(request, &LINE_TYPES, api.settings.bulk_limit_bytes).await?;
    let lines: Vec<&[u8]> = lines(&body)?;
    let idempotency_key = call.idempotency_key(b"")?;
    let _slot = api.service.begin_bulk(who.org).await?;
    let who = api.service.record_bulk(&who, lines.len(), &body).await?;
    let mut answers = Vec::with_capacity(lines.len() * 1_024);
    let mut together = Together::default();
    let mut class_now = None;
    for (number, line) in (1..).zip(lines) {
        let idempotency_key = idempotency_key.as_ref().map(|key| idempotency_key_of_line(key, number, line));
        let (class, running) = match start(&api, &who, idempotency_key, line) {
            Ok((class, running)) => (Some(class), running),
            Err(refusal) => (class_now, Box::pin(std::future::ready(Err(refusal))) as Running<'_>),
        };
        if class != class_now && class_now.is_some() {
            let outcomes = std::mem::take(&mut together).run(class_now, answers.len()).await;
            write_all(&mut answers, outcomes, &context);
        }
        class_now = class;
        together.lines.push(running);
    }
    let outcomes = together.run(class_now, answers.len()).await;
    write_all(&mut answers, outcomes, &context);
    Ok(([(CONTENT_TYPE, LINE_TYPES[0])], Body::from(answers)).into_response())
}

/// The lines of a body; the last one may end with a newline.
fn lines(body: &[u8]) -> Result<Vec<&[u8]>, Problem> {
    let body = body.trim_ascii_end();
    if body.is_empty() {
        return Err(Problem::invalid("", "the body must have at least one line"));
    }
    let lines: Vec<&[u8]> = body.split(|byte| *byte == b'\n').collect();
    if lines.len() > MOST_LINES {
        return Err(Problem::invalid(
            "",
            format!("the body must have at most {MOST_LINES} lines, not {}", lines.len()),
        ));
    }
    Ok(lines)
}

fn idempotency_key_of_line(bulk: &IdempotencyKey, number: usize, line: &[u8]) -> IdempotencyKey {
    let content_hash = content_hash(Operation::Bulk.method(), Operation::Bulk.path(), line.trim_ascii());
    IdempotencyKey { key: format!("{}#{number}", bulk.key), content_hash }
}

fn start<'a>(
    api: &'a Api,
    who: &'a Caller,
    idempotency_key: Option<IdempotencyKey>,
    line: &[u8],
) -> Result<(Class, Running<'a>), Refusal> {
    if line.trim_ascii().is_empty() {
        return Err(Refusal::new("malformed_request", "the line is empty"));
    }
    let BulkCall { method, path, body } = form::parse(line)?;
    let body = body.as_ref().map_or("{}", |body| body.get());
    let service = &api.service;
    if let Some([account]) = Operation::GetAccount.leading_ids_in(&path).as_deref() {
        id("account", account)?;
    }
    let found = Operation::find(&method, &path).filter(|(operation, _)| operation.is_in_bulk());
    let Some((operation, ids)) = found else { return Err(not_taken(&method, &path)) };
    Ok(match operation {
        Operation::CreateCustomer => {
            let form = read(body)?;
            (Class::Customers, run(async move { service.create_customer(who, idempotency_key, form).await }))
        }
        Operation::CreateAccount => {
            let form = read(body)?;
            (Class::Accounts, run(async move { service.create_account(who, idempotency_key, form).await }))
        }
        change_of_account => (Class::AccountChanges, change(api, who, idempotency_key, change_of_account, &ids, body)?),
    })
}

/// A call that changes an existing account.
fn change<'a>(
    api: &'a Api,
    who: &'a Caller,
    idempotency_key: Option<IdempotencyKey>,
    operation: Operation,
    ids: &[&str],
    body: &str,
) -> Result<Running<'a>, Refusal> {
    let account = id("account", ids.first().copied().unwrap_or_default())?;
    let what = if operation == Operation::CancelChange { "change" } else { "line item" };
    let item = || id(what, ids.get(1).copied().unwrap_or_default()).map(|item| item.as_str().to_owned());
    let change = change_request(operation, item, body)?;
    Ok(run(async move { api.service.change_account(who, idempotency_key, account.as_str(), change).await }))
}

fn not_taken(method: &str, path: &str) -> Refusal {
    let shown: String = format!("{method} {path}").chars().take(200).collect();
    let bulk = Operation::Bulk.path();
    Problem::invalid("path", format!("must be a path that {bulk} accepts with its method; {shown} is not accepted"))
        .into()
}

fn id(what: &str, text: &str) -> Result<Reference, Problem> {
    Reference::read(text).map_err(|_| Problem::not_found(what, text))
}

/// Parses the body of a line.
fn read<T: DeserializeOwned>(body: &str) -> Result<T, Refusal> {
    Ok(form::parse(body.as_bytes())?)
}

fn run<'a>(call: impl Future<Output = Result<Bytes, Problem>> + Send + 'a) -> Running<'a> {
    Box::pin(async move { call.await.map_err(Refusal::from) })
}

/// Lines that may run together.
#[derive(Default)]
struct Together<'a> {
    lines: Vec<Running<'a>>,
}

impl Together<'_> {
    /// Runs the lines of a class concurrently, starting them in order. Lines that would begin after the response has
    /// reached its limit are refused; `written` bytes of it exist already.
    async fn run(self, class: Option<Class>, written: usize) -> Vec<LineResult> {
        let most_at_once = if class == Some(Class::AccountChanges) { MOST_CHANGES_AT_ONCE } else { MOST_LINES };
        self.run_within(most_at_once, LARGEST_RESPONSE.saturating_sub(written)).await
    }

    async fn run_within(mut self, most_at_once: usize, most_bytes: usize) -> Vec<LineResult> {
        let mut outcomes: Vec<Option<LineResult>> = self.lines.iter().map(|_| None).collect();
        let mut waiting = 0..self.lines.len();
        let mut unfinished: Vec<usize> = Vec::new();
        let mut bytes = 0;
        poll_fn(|waker| {
            let mut poll = |place: usize, bytes: &mut usize| match self.lines[place].as_mut().poll(waker) {
                Poll::Ready(outcome) => {
                    *bytes += outcome.as_ref().map_or(0, Bytes::len);
                    outcomes[place] = Some(outcome);
                    false
                }
                Poll::Pending => true,
            };
            unfinished.retain(|&place| poll(place, &mut bytes));
            while unfinished.len() < most_at_once && bytes < most_bytes {
                let Some(place) = waiting.next() else { break };
                if poll(place, &mut bytes) {
                    unfinished.push(place);
                }
            }
            if unfinished.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| Err(response_too_large()))).collect()
    }
}

fn response_too_large() -> Refusal {
    let message = format!(
        "the responses to the earlier lines exceed {LARGEST_RESPONSE} bytes, so this line was not processed: send it \
         again in another call"
    );
    Refusal::new("unavailable", message)
}

fn write_all(answers: &mut Vec<u8>, outcomes: Vec<LineResult>, context: &Context) {
    for outcome in outcomes {
        let (status, body) = match outcome {
            Ok(body) => (200, body),
            Err(refusal) => {
                let (status, body, unforeseen) = refusal.into_parts();
                if let Some(Unforeseen(message)) = unforeseen {
                    tracing::error!(request_id = context.request_id(), message, "a line of a bulk request failed");
                }
                (status.as_u16(), body.into())
            }
        };
        answers.extend_from_slice(format!("{{\"status\":{status},\"body\":").as_bytes());
        answers.extend_from_slice(&body);
        answers.extend_from_slice(b"}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn lines_are_counted_and_the_last_may_end() {
        assert_eq!(lines(b"a\nb\r\n\n").expect("two lines"), [b"a".as_slice(), b"b"]);
        assert_eq!(lines(b"a\n\nb").expect("an empty line is a line").len(), 3);
        assert!(lines(b" \n").is_err());
        assert!(lines("{}\n".repeat(1_000).as_bytes()).is_ok());
        assert!(lines("{}\n".repeat(1_001).as_bytes()).is_err());
    }

    #[tokio::test]
    async fn all_start_in_order_before_any_is_done() {
        let log = Mutex::new(Vec::new());
        let running: Vec<Running<'_>> = (0..3_u8)
            .map(|number| {
                let log = &log;
                Box::pin(async move {
                    log.lock().expect("nobody panicked").push(("start", number));
                    tokio::task::yield_now().await;
                    log.lock().expect("nobody panicked").push(("end", number));
                    Ok(Bytes::from(vec![number]))
                }) as Running<'_>
            })
            .collect();
        let outcomes: Vec<Bytes> =
            Together { lines: running }.run_within(3, 1).await.into_iter().map(|one| one.expect("ok")).collect();
        assert_eq!(outcomes, [vec![0], vec![1], vec![2]]);
        let expected = [("start", 0), ("start", 1), ("start", 2), ("end", 0), ("end", 1), ("end", 2)];
        assert_eq!(*log.lock().expect("nobody panicked"), expected);
    }

    /// A line with a response of some bytes, and how many lines have begun and ended.
    fn counted(begun_and_ended: &Mutex<(usize, usize)>, bytes: usize) -> Running<'_> {
        Box::pin(async move {
            begun_and_ended.lock().expect("no test panicked").0 += 1;
            tokio::task::yield_now().await;
            begun_and_ended.lock().expect("no test panicked").1 += 1;
            Ok(Bytes::from(vec![0; bytes]))
        })
    }

    #[tokio::test]
    async fn only_some_run_at_once() {
        let begun_and_ended = Mutex::new((0, 0));
        let most_running = Mutex::new(0);
        let lines = (0..20).map(|_| {
            let counted = counted(&begun_and_ended, 1);
            Box::pin(async {
                let outcome = counted.await;
                let (begun, ended) = *begun_and_ended.lock().expect("no test panicked");
                let mut most = most_running.lock().expect("no test panicked");
                *most = (begun - ended + 1).max(*most);
                outcome
            }) as Running<'_>
        });
        let outcomes = Together { lines: lines.collect() }.run_within(3, 1_000).await;
        assert!(outcomes.iter().all(Result::is_ok));
        assert_eq!((outcomes.len(), *begun_and_ended.lock().expect("no test panicked")), (20, (20, 20)));
        assert_eq!(*most_running.lock().expect("no test panicked"), 3);
    }

    #[tokio::test]
    async fn no_line_begins_once_the_response_is_large() {
        let begun_and_ended = Mutex::new((0, 0));
        let lines = (0..20).map(|_| counted(&begun_and_ended, 10)).collect();
        let outcomes = Together { lines }.run_within(3, 25).await;
        assert_eq!(*begun_and_ended.lock().expect("no test panicked"), (3, 3), "the first three have 30 bytes");
        let is_run: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
        assert_eq!(is_run, (0..20).map(|number| number < 3).collect::<Vec<_>>());
        let refusal = outcomes.into_iter().next_back().expect("20 lines").expect_err("it was not processed");
        let (status, body, _) = refusal.into_parts();
        assert_eq!(status.as_u16(), 503);
        assert!(String::from_utf8_lossy(&body).contains("this line was not processed"), "{body:?}");
    }
}
