//! One message: the exact request, the attempts and the state for each URL, and sending it again.

use super::HERE;
use super::pretty::pretty;
use crate::Console;
use crate::display::{Count, DisplayTime};
use crate::form::FormValues;
use crate::guard::{Visitor, redirect_saying};
use crate::page::{Notice, PageError, PageFrame, PageResult, Section};
use crate::pages::ask::Ask;
use askama::Template;
use axum::extract::{Path, State};
use daybook_engine::time::Time;
use daybook_operations::Operation;
use daybook_service::problem::Problem;
use daybook_service::view::time::Utc;
use daybook_service::webhooks::message::{DeliveryStatus, MessageAttempt, MessageDetails, UrlStanding};
use serde::Deserialize;

#[derive(Template)]
#[template(path = "webhooks/message.html")]
struct MessagePage {
    page: PageFrame,
    message: MessageDetails,
    effective_at: DisplayTime,
    recorded_at: DisplayTime,
    due_at: Option<DisplayTime>,
    cancelled_at: Option<DisplayTime>,
    /// The body, indented and unchanged.
    pretty: String,
    raw: String,
    signature: String,
    urls: Vec<Url>,
}

/// A URL, and the state of the message for it.
struct Url {
    uuid: String,
    url: String,
    is_paused: bool,
    badge: (&'static str, &'static str),
    words: String,
    /// Why it is in this state, with its label.
    reason: Option<(&'static str, String)>,
    /// Whether the message can be sent again.
    again: bool,
    attempts: Vec<AttemptRow>,
    /// The request of the last attempt, without its body.
    head: String,
}

struct AttemptRow {
    number: i64,
    at: DisplayTime,
    latency: String,
    status: String,
    error: String,
    response: String,
    next_at: Option<DisplayTime>,
}

/// The signature in the body.
#[derive(Debug, Default, Deserialize)]
struct Signed {
    #[serde(default)]
    hmac_signature: String,
}

fn moment(at: Time) -> DisplayTime {
    DisplayTime(Utc(at).to_string())
}

/// The state of a message: a badge (class and text), and a sentence.
fn stands(stand: DeliveryStatus, is_paused: bool, has_failed: bool) -> ((&'static str, &'static str), String) {
    match stand {
        DeliveryStatus::Delivered(at) => {
            (("delivered", "Delivered"), format!("The receiver accepted it on {}.", moment(at)))
        }
        DeliveryStatus::Waiting => (("pending", "Pending"), "It will be sent as soon as possible.".to_owned()),
        DeliveryStatus::Retry(at) if !has_failed => {
            (("pending", "Pending"), format!("It will be sent again. The next attempt is on {}.", moment(at)))
        }
        DeliveryStatus::Retry(at) => {
            (("retry", "Failed, retrying"), format!("The last attempt failed. The next attempt is on {}.", moment(at)))
        }
        DeliveryStatus::Dead(at) if is_paused => (
            ("dead", "Dead letter"),
            format!("It became a dead letter on {}. To send it again, resume the URL first.", moment(at)),
        ),
        DeliveryStatus::Dead(at) => (
            ("dead", "Dead letter"),
            format!("It became a dead letter on {}: Daybook does not try again by itself.", moment(at)),
        ),
        DeliveryStatus::NotForIt => (("none", "Not sent"), "It was not sent to this URL.".to_owned()),
        DeliveryStatus::Dropped => (("none", "Not sent"), "It will not be sent to this URL.".to_owned()),
        DeliveryStatus::Forgotten => (
            ("none", "Unknown"),
            "The records of the deliveries have been deleted, because their retention period has ended.".to_owned(),
        ),
    }
}

impl Url {
    fn new(one: &UrlStanding) -> Url {
        let last_error = one.attempts.last().and_then(|last| last.attempt.error.as_deref());
        let label = |reason: &str| if last_error == Some(reason) { "Last attempt" } else { "Reason" };
        let (badge, words) = stands(one.stand, one.is_paused, last_error.is_some());
        let sendable = !matches!(one.stand, DeliveryStatus::Waiting | DeliveryStatus::NotForIt);
        Url {
            uuid: one.webhook_uuid.clone(),
            url: one.webhook_url.clone(),
            is_paused: one.is_paused,
            badge,
            words,
            reason: one.reason.clone().map(|reason| (label(&reason), reason)),
            again: sendable && !one.is_paused,
            head: one.attempts.last().map_or_else(String::new, |last| head(&one.webhook_url, last)),
            attempts: one.attempts.iter().map(AttemptRow::new).collect(),
        }
    }
}

impl AttemptRow {
    fn new(MessageAttempt { attempt, .. }: &MessageAttempt) -> AttemptRow {
        AttemptRow {
            number: attempt.number,
            at: moment(attempt.at),
            latency: Count(u64::try_from(attempt.latency_us / 1_000).unwrap_or(0)).to_string(),
            status: attempt.status.map_or_else(|| "no response".to_owned(), |status| status.to_string()),
            error: attempt.error.clone().unwrap_or_default(),
            response: attempt.response.clone().unwrap_or_default(),
            next_at: attempt.next_at.map(moment),
        }
    }
}

/// The request of an attempt, without its body.
fn head(url: &str, attempt: &MessageAttempt) -> String {
    let parsed = url::Url::parse(url).ok();
    let path = parsed.as_ref().map_or_else(String::new, |url| {
        url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
    });
    let host = parsed.as_ref().map_or("", |url| url.authority());
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let mut text = format!("POST {path} HTTP/1.1\nhost: {host}");
    for (name, value) in &attempt.headers {
        text += &format!("\n{name}: {value}");
    }
    text
}

/// The page.
pub async fn show(State(console): State<Console>, visitor: Visitor, Path(event_id): Path<String>) -> PageResult {
    let message = console.service.message(visitor.caller(), &event_id).await?;
    let raw = String::from_utf8_lossy(&message.body).into_owned();
    let signed: Signed = serde_json::from_str(&raw).unwrap_or_default();
    crate::page::show(&MessagePage {
        page: PageFrame::new(message.event.clone(), Section::Webhooks, &visitor),
        effective_at: moment(message.effective_at),
        recorded_at: moment(message.recorded_at),
        due_at: message.due_at.map(moment),
        cancelled_at: message.cancelled_at.map(moment),
        pretty: pretty(&raw),
        signature: signed.hmac_signature,
        urls: message.urls.iter().map(Url::new).collect(),
        raw,
        message,
    })
}

async fn ask(console: &Console, visitor: &Visitor, event_id: &str, uuid: &str) -> Result<Ask, PageError> {
    let message = console.service.message(visitor.caller(), event_id).await?;
    let one = message.urls.iter().find(|one| one.webhook_uuid == uuid);
    let one = one.ok_or_else(|| Problem::not_found("subscription", uuid))?;
    let taken = match one.stand {
        DeliveryStatus::Delivered(at) => format!(
            "The receiver accepted it on {}. It will get the same bytes again, and can recognize the repetition by the \
             header webhook-id.",
            moment(at)
        ),
        _ => "The receiver will get the bytes that were recorded with the event.".to_owned(),
    };
    Ok(Ask {
        title: format!("Send {} again", message.event),
        back: (format!("{HERE}/messages/{event_id}"), "The message"),
        words: vec![
            format!(
                "Message {event_id} will be sent to {} immediately. If it fails, it is retried as often as a new \
                 message. {taken}",
                one.webhook_url
            ),
            format!(
                "To do this with the API, call {} with the webhook_uuid {uuid}.",
                Operation::ResendMessage.request([event_id])
            ),
        ],
        path: format!("{HERE}/messages/{event_id}/send/{uuid}"),
        button: "Send again",
        ..Ask::default()
    })
}

/// Asks for confirmation before sending a message to a URL again.
pub async fn ask_send(
    State(console): State<Console>,
    visitor: Visitor,
    Path((event_id, uuid)): Path<(String, String)>,
) -> PageResult {
    ask(&console, &visitor, &event_id, &uuid).await?.show(Section::Webhooks, &visitor)
}

/// Sends a message to a URL again.
pub async fn send(
    State(console): State<Console>,
    visitor: Visitor,
    Path((event_id, uuid)): Path<(String, String)>,
    _: FormValues,
) -> PageResult {
    match console.service.send_again(visitor.caller(), &uuid, &event_id).await {
        Ok(()) => {
            let notice = Notice::done("The message is being sent again. Refresh this page in a moment.");
            Ok(redirect_saying(&format!("{HERE}/messages/{event_id}"), &notice, &visitor.context))
        }
        Err(problem) => {
            ask(&console, &visitor, &event_id, &uuid).await?.show_again(Section::Webhooks, &visitor, &problem)
        }
    }
}
