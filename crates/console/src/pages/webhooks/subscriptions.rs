//! Subscriptions: URLs, their events and their health; pausing and resuming; a test event.

use super::{HERE, Health, NAME, all_subscriptions};
use crate::Console;
use crate::action::Action;
use crate::chart::{Bar, BarSegment, bars};
use crate::csv::{Cell, Csv};
use crate::display::{AsCount, AsMoment, Count, DisplayTime};
use crate::form::{FormValues, QueryParameters};
use crate::guard::{Visitor, redirect_saying};
use crate::page::{Notice, PageError, PageFrame, PageResult, Section, read};
use crate::pages::ask::Ask;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use daybook_service::portfolio::DeliveryFigure;
use daybook_service::problem::Problem;
use daybook_service::view::Subscription;
use serde::Deserialize;
use serde_json::json;

#[derive(Template)]
#[template(path = "webhooks/subscriptions.html")]
struct SubscriptionsPage {
    page: PageFrame,
    subscriptions: Vec<Subscription>,
    hours: Vec<Hour>,
    chart: String,
    /// The calls that change URLs and filters.
    subscribe: String,
    change_filter: String,
    remove: String,
}

/// The delivery attempts of an hour.
struct Hour {
    moment: DisplayTime,
    delivered: Count,
    failed: Count,
}

impl Hour {
    fn new(figure: &DeliveryFigure) -> Hour {
        let moment = DisplayTime(figure.hour.to_string());
        Hour { moment, delivered: Count(figure.delivered), failed: Count(figure.failed) }
    }

    fn bar(&self, index: usize) -> Bar {
        let hour = self.moment.clock();
        let words = |count: Count, what: &str| format!("{hour} UTC: {count} {what}");
        Bar {
            label: if index.is_multiple_of(4) { hour.to_owned() } else { String::new() },
            parts: vec![
                BarSegment { class: "s1", size: self.delivered.0, words: words(self.delivered, "delivered") },
                BarSegment { class: "s3", size: self.failed.0, words: words(self.failed, "failed") },
            ],
        }
    }
}

impl SubscriptionsPage {
    async fn new(console: &Console, visitor: &Visitor) -> Result<SubscriptionsPage, PageError> {
        let figures = console.service.deliveries_by_hour(visitor.caller()).await?;
        let hours: Vec<Hour> = figures.iter().map(Hour::new).collect();
        let columns: Vec<Bar> = hours.iter().enumerate().map(|(index, hour)| hour.bar(index)).collect();
        let base_url = &visitor.context.base_url;
        let subscribe = |body| Action::Subscribe(body).curl(base_url);
        Ok(SubscriptionsPage {
            page: PageFrame::new("Webhooks", Section::Webhooks, visitor),
            subscriptions: all_subscriptions(console, visitor).await?,
            chart: bars("Delivery attempts by hour", &columns, |top| Count(top).to_string()),
            hours,
            subscribe: subscribe(json!({ "webhook_url": "https://example.com/webhooks" })),
            change_filter: subscribe(json!({
                "webhook_url": "https://example.com/webhooks", "filter_events": ["payment_missed", "account_closed"],
                "max_per_second": 20, "max_in_flight": 4
            })),
            remove: Action::DeleteSubscription("WEBHOOK_UUID".to_owned()).curl(base_url),
        })
    }

    /// Whether there were any attempts.
    fn is_busy(&self) -> bool {
        self.hours.iter().any(|hour| !hour.delivered.is_zero() || !hour.failed.is_zero())
    }
}

/// The page.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    if asked.get("format") != "csv" {
        return crate::page::show(&SubscriptionsPage::new(&console, &visitor).await?);
    }
    let mut csv = Csv::new(&[
        "webhook_uuid",
        "webhook_url",
        "filter_events",
        "status",
        "paused_reason",
        "consecutive_errors",
        "last_success_at",
        "pending",
        "dead_letters",
    ])?;
    for one in all_subscriptions(&console, &visitor).await? {
        let last = one.last_success_at.map_or_else(String::new, |at| at.to_string());
        csv.row(&[
            Cell::Text(&one.webhook_uuid),
            Cell::Text(&one.webhook_url),
            Cell::Text(&one.filter_events.map_or_else(|| "all".to_owned(), |events| events.join(" "))),
            Cell::Text(one.status),
            Cell::Text(one.paused_reason.as_deref().unwrap_or_default()),
            Cell::Number(one.consecutive_errors.to_string()),
            Cell::Text(&last),
            Cell::Number(one.pending.to_string()),
            Cell::Number(one.dead_letters.to_string()),
        ])?;
    }
    csv.file("subscriptions")
}

async fn find(console: &Console, visitor: &Visitor, uuid: &str) -> Result<Subscription, PageError> {
    let found = all_subscriptions(console, visitor).await?.into_iter().find(|one| one.webhook_uuid == uuid);
    found.ok_or_else(|| PageError::new(Problem::not_found("subscription", uuid)))
}

/// The subscription is already in the requested state: another user was faster, or the page was outdated.
fn nothing_to_do(words: String, visitor: &Visitor) -> Response {
    redirect_saying(HERE, &Notice::not_done(words), &visitor.context)
}

/// Asks for confirmation before pausing a URL.
pub async fn ask_pause(State(console): State<Console>, visitor: Visitor, Path(uuid): Path<String>) -> PageResult {
    let one = find(&console, &visitor, &uuid).await?;
    if one.is_paused() {
        return Ok(nothing_to_do(format!("{} is already paused.", one.webhook_url), &visitor));
    }
    Ask {
        title: format!("Pause {}", one.webhook_url),
        back: (HERE.to_owned(), NAME),
        words: vec![
            "No messages will be sent to this URL until it is resumed.".to_owned(),
            format!(
                "Its {}, and so will new messages. You can send dead letters again after you resume the URL.",
                Count(one.pending)
                    .of("pending message will become a dead letter", "pending messages will become dead letters")
            ),
        ],
        path: format!("{HERE}/subscriptions/{uuid}/pause"),
        button: "Pause",
        danger: true,
        ..Ask::default()
    }
    .with_curl(&Action::Unsubscribe(uuid), &visitor)
    .show(Section::Webhooks, &visitor)
}

/// The response to pausing or resuming a URL.
#[derive(Debug, Deserialize)]
struct Changed {
    webhook_url: String,
}

/// Pauses a URL.
pub async fn pause(
    State(console): State<Console>,
    visitor: Visitor,
    Path(uuid): Path<String>,
    typed: FormValues,
) -> PageResult {
    let once = typed.get("once");
    let answer = Action::Unsubscribe(uuid).perform(&console.service, visitor.caller(), Some(once)).await?;
    let one: Changed = read(&answer)?;
    Ok(redirect_saying(HERE, &Notice::done(format!("{} is paused.", one.webhook_url)), &visitor.context))
}

/// Asks for confirmation before resuming a URL.
pub async fn ask_resume(State(console): State<Console>, visitor: Visitor, Path(uuid): Path<String>) -> PageResult {
    let one = find(&console, &visitor, &uuid).await?;
    let (title, words, button) = match one.held_until.map(|until| until.moment()) {
        Some(until) => (
            format!("Send to {} now", one.webhook_url),
            vec![
                format!("The receiver answered 429 Too Many Requests and requested a pause until {until}."),
                "All pending messages will be sent now, those that it answered with 429 too. If it answers 429 again, \
                 sending stops again."
                    .to_owned(),
            ],
            "Send now",
        ),
        None if one.is_paused() => (
            format!("Resume {}", one.webhook_url),
            vec![
                format!("{} {}", one.why_paused(), one.advice()),
                format!(
                    "After you resume it, new messages are sent to it. Its {}.",
                    Count(one.dead_letters).of(
                        "dead letter is not sent until you send it again, on the page Dead letters",
                        "dead letters are not sent until you send them again, on the page Dead letters"
                    )
                ),
            ],
            "Resume",
        ),
        None => return Ok(nothing_to_do(format!("{} is not paused.", one.webhook_url), &visitor)),
    };
    Ask {
        title,
        back: (HERE.to_owned(), NAME),
        words,
        path: format!("{HERE}/subscriptions/{uuid}/resume"),
        button,
        ..Ask::default()
    }
    .with_curl(&Action::Resubscribe(uuid), &visitor)
    .show(Section::Webhooks, &visitor)
}

/// Resumes a URL.
pub async fn resume(
    State(console): State<Console>,
    visitor: Visitor,
    Path(uuid): Path<String>,
    typed: FormValues,
) -> PageResult {
    let once = typed.get("once");
    let answer = Action::Resubscribe(uuid).perform(&console.service, visitor.caller(), Some(once)).await?;
    let one: Changed = read(&answer)?;
    Ok(redirect_saying(HERE, &Notice::done(format!("{} is active again.", one.webhook_url)), &visitor.context))
}

/// Sends a test event to every active URL and shows the deliveries.
pub async fn send_test(State(console): State<Console>, visitor: Visitor) -> PageResult {
    let sent = console.service.send_test_event(visitor.caller()).await?;
    let notice = if sent.active_urls == 0 {
        Notice::not_done("The test event was recorded but not sent, because no URL is active.")
    } else {
        Notice::done(format!(
            "A test event is being sent to {}.",
            Count(sent.active_urls).of("active URL", "active URLs")
        ))
    };
    Ok(redirect_saying(&format!("{HERE}/messages/{}", sent.event_id), &notice, &visitor.context))
}
