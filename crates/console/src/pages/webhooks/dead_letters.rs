//! Dead letters: messages that were not delivered, oldest first; and replaying them.

use super::filter::Filter;
use super::{HERE, all_subscriptions};
use crate::Console;
use crate::action::Action;
use crate::csv::{Cell, Csv};
use crate::display::{AsMoment, Count};
use crate::field_errors::error_lines;
use crate::form::{FormValues, QueryParameters};
use crate::guard::{Visitor, redirect_saying};
use crate::listing::all;
use crate::page::{Notice, PageError, PageFrame, PageResult, Section, read, show_again};
use crate::pages::ask::Ask;
use askama::Template;
use axum::extract::State;
use daybook_service::DeliveryQuery;
use daybook_service::paging::Paging;
use daybook_service::problem::Problem;
use daybook_service::view::time::Utc;
use daybook_service::view::{self, DeadLetter};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Template)]
#[template(path = "webhooks/dead_letters.html")]
struct DeadLettersPage {
    page: PageFrame,
    filter: Filter,
    letters: Vec<DeadLetter>,
    /// Errors in the filter.
    wrong: Vec<String>,
    /// Whether this is a later page than the first.
    is_onward: bool,
    /// The link to the next page; empty if there is none.
    next: String,
}

fn path() -> String {
    format!("{HERE}/dead-letters")
}

impl DeadLettersPage {
    /// The link to the CSV download.
    fn csv(&self) -> String {
        self.filter.at(&path(), &[("format", "csv")])
    }

    /// The link to the first page.
    fn first(&self) -> String {
        self.filter.at(&path(), &[])
    }

    /// The link to replay the filtered dead letters.
    fn replay(&self) -> String {
        self.filter.at(&format!("{}/replay", path()), &[])
    }
}

/// The page.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let filter = Filter::new(&asked, all_subscriptions(&console, &visitor).await?);
    let mark = Some(asked.get("starting_after")).filter(|mark| !mark.is_empty());
    let mut page = DeadLettersPage {
        page: PageFrame::new("Dead letters", Section::Webhooks, &visitor),
        letters: Vec::new(),
        wrong: Vec::new(),
        is_onward: mark.is_some(),
        next: String::new(),
        filter,
    };
    let found = match page.filter.query() {
        Ok(query) if asked.get("format") == "csv" => return csv(&console, &visitor, query).await,
        Ok(query) => fetch(&console, &visitor, mark, query).await,
        Err(problem) => Err(problem.into()),
    };
    match found {
        Ok(view::Page { results, paging }) => {
            page.letters = results;
            let next = paging.next();
            let at = |mark: &String| page.filter.at(&path(), &[("starting_after", mark)]);
            page.next = next.as_ref().map_or_else(String::new, at);
            crate::page::show(&page)
        }
        Err(PageError { problem, .. }) if problem.code == "invalid_request" => {
            page.wrong = error_lines(&problem);
            show_again(&page)
        }
        Err(trouble) => Err(trouble),
    }
}

async fn fetch(
    console: &Console,
    visitor: &Visitor,
    mark: Option<&str>,
    query: DeliveryQuery,
) -> Result<view::Page<DeadLetter>, PageError> {
    let paging = Paging::read(None, mark, None)?;
    Ok(console.service.list_dead_letters(visitor.caller(), paging, query).await?)
}

async fn csv(console: &Console, visitor: &Visitor, query: DeliveryQuery) -> PageResult {
    let mut csv = Csv::new(&[
        "dead_at",
        "event",
        "event_id",
        "account_id",
        "webhook_uuid",
        "webhook_url",
        "attempts",
        "response_status",
        "reason",
    ])?;
    let (service, who) = (&console.service, visitor.caller());
    let rows = all(|paging| Box::pin(service.list_dead_letters(who, paging, query.clone()))).await?;
    for row in &rows {
        csv.row(&[
            Cell::Text(&row.dead_at.to_string()),
            Cell::Text(&row.event),
            Cell::Text(&row.event_id),
            Cell::Text(row.account_id.as_deref().unwrap_or_default()),
            Cell::Text(&row.webhook_uuid),
            Cell::Text(&row.webhook_url),
            Cell::Number(row.attempts.to_string()),
            row.response_status.map_or(Cell::Empty, |status| Cell::Number(status.to_string())),
            Cell::Text(&row.reason),
        ])?;
    }
    csv.file("dead-letters")
}

/// The body of a replay of the filtered dead letters. This page offers no replay by account, so that filter is refused.
fn replay(filter: &Filter) -> Result<Value, Problem> {
    let query = filter.query()?;
    if query.account_id.is_some() {
        let message = "must be empty, because the console cannot send all dead letters of one account again; \
                       `daybook webhooks replay --account` can";
        return Err(Problem::invalid("account_id", message));
    }
    let mut body = json!({});
    for name in ["webhook_uuid", "event"].into_iter().filter(|name| !filter.get(name).is_empty()) {
        body[name] = Value::from(filter.get(name));
    }
    for (name, at) in [("since", query.since), ("until", query.until)] {
        if let Some(at) = at {
            body[name] = Value::from(Utc(at).to_string());
        }
    }
    Ok(body)
}

#[derive(Debug, Deserialize)]
struct ReplayResult {
    replayed: u64,
    left_paused: u64,
}

/// Counts the messages of a replay and asks for confirmation.
pub async fn ask_replay(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let filter = Filter::new(&asked, all_subscriptions(&console, &visitor).await?);
    let body = replay(&filter)?;
    let mut dry_run = body.clone();
    dry_run["dry_run"] = Value::from(true);
    let counted: ReplayResult =
        read(&Action::Replay(dry_run).perform(&console.service, visitor.caller(), None).await?)?;
    ask(&filter, &counted).with_curl(&Action::Replay(body), &visitor).show(Section::Webhooks, &visitor)
}

fn ask(filter: &Filter, counted: &ReplayResult) -> Ask {
    let mut which = Vec::new();
    if !filter.get("webhook_uuid").is_empty() {
        which.push(format!("to {}", filter.url_words()));
    }
    if !filter.get("event").is_empty() {
        which.push(format!("of the event {}", filter.get("event")));
    }
    for (name, words) in [("since", "dead letters since"), ("until", "dead letters before")] {
        if !filter.get(name).is_empty() {
            which.push(format!("{words} {} UTC", filter.get(name).replace('T', " ")));
        }
    }
    let which = if which.is_empty() { String::new() } else { format!(" ({})", which.join(", ")) };
    let mut words = if counted.replayed == 0 {
        vec![format!("There are no dead letters that can be sent again{which}.")]
    } else {
        vec![format!(
            "{} will be sent again{which}. A message that fails is retried as often as a new one. Receivers can \
             recognize a repeated message by the header webhook-id.",
            Count(counted.replayed).of("dead letter", "dead letters")
        )]
    };
    if counted.left_paused > 0 {
        words.push(match counted.left_paused {
            1 => "1 dead letter will not be sent, because its URL is paused. Resume the URL first.".to_owned(),
            n => format!(
                "{} dead letters will not be sent, because their URLs are paused. Resume these URLs first.",
                Count(n)
            ),
        });
    }
    let fields = ["webhook_uuid", "event", "since", "until"].into_iter().filter(|name| !filter.get(name).is_empty());
    Ask {
        title: if filter.is_empty() { "Send all dead letters again" } else { "Send the filtered dead letters again" }
            .to_owned(),
        back: (filter.at(&path(), &[]), "Dead letters"),
        words,
        path: format!("{}/replay", path()),
        fields: fields.map(|name| (name, filter.get(name).to_owned())).collect(),
        button: if counted.replayed == 0 { "" } else { "Send again" },
        ..Ask::default()
    }
}

/// Replays dead letters.
pub async fn send_again(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let filter = Filter::new(&typed, Vec::new());
    let action = Action::Replay(replay(&filter)?);
    let done: ReplayResult = read(&action.perform(&console.service, visitor.caller(), Some(typed.get("once"))).await?)?;
    let notice = Notice::done(format!(
        "{} being sent again.",
        match Count(done.replayed) {
            Count(1) => "1 message is".to_owned(),
            many => format!("{many} messages are"),
        }
    ));
    Ok(redirect_saying(&path(), &notice, &visitor.context))
}
