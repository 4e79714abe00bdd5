//! Migration mode: holding events, releasing them, and watching a release.
//!
//! A release reports its progress as a stream of server-sent events. Each has the part of the page to show, and the
//! last one reports the end. A stream ends after some seconds and the browser opens another, so the server keeps no
//! state and can stop at any time. Without JavaScript, a link reloads the page.

use super::{HERE, fetch};
use crate::Console;
use crate::action::Action;
use crate::display::Count;
use crate::form::{FormValues, QueryParameters};
use crate::guard::{Visitor, redirect_saying};
use crate::page::{Notice, PageError, PageResult, Section, read};
use crate::pages::ask::Ask;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use axum::response::sse::{Event, Sse};
use daybook_service::problem::Problem;
use daybook_service::view::{MigrationProgress, MigrationState, Product};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;

/// The interval between two reports of a stream.
const EVERY: Duration = Duration::from_millis(500);
/// The most reports of a stream: 15 seconds.
const MOST_TIMES: u32 = 30;

/// The migration state of a product.
#[derive(Debug)]
pub struct MigrationOverview {
    /// The state and the numbers.
    pub of: MigrationProgress,
    /// How current the numbers are.
    pub counted: Counted,
}

/// How current the number of held events is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Just now.
    Now,
    /// Some seconds ago.
    Before,
    /// Not yet: the numbers have no meaning.
    NotYet,
}

impl MigrationOverview {
    /// Fetches the current state.
    pub async fn fetch(console: &Console, visitor: &Visitor, product: &str) -> Result<MigrationOverview, PageError> {
        let of = console.service.get_migration_mode(visitor.caller(), product).await?;
        Ok(MigrationOverview { of, counted: Counted::Now })
    }

    /// Fetches the state for a page, which does not wait long for the numbers.
    pub async fn glance(console: &Console, visitor: &Visitor, terms: &Product) -> Result<MigrationOverview, PageError> {
        match console.service.glance_at_migration_mode(visitor.caller(), &terms.product_id).await? {
            Some(glance) => {
                let counted = if glance.is_of_now { Counted::Now } else { Counted::Before };
                Ok(MigrationOverview { of: glance.progress, counted })
            }
            None => {
                let of = MigrationProgress {
                    migration_mode: terms.migration_mode,
                    state: terms.migration_state,
                    held_events: 0,
                    accounts_total: 0,
                    accounts_done: 0,
                    events_done: 0,
                    failed_accounts: Vec::new(),
                    started_at: None,
                    finished_at: None,
                    eta_seconds: None,
                };
                Ok(MigrationOverview { of, counted: Counted::NotYet })
            }
        }
    }

    /// Whether the numbers are available.
    pub fn is_counted(&self) -> bool {
        self.counted != Counted::NotYet
    }

    /// The number of held events, in plain text.
    pub fn held_words(&self, one: &str, many: &str) -> String {
        let about = if self.counted == Counted::Before { "about " } else { "" };
        format!("{about}{}", Count(self.of.held_events).of(one, many))
    }

    /// The number of accounts that hold events, in plain text. Only while events are held: afterwards, the number is
    /// that of the release.
    pub fn accounts_words(&self) -> String {
        accounts(self.of.accounts_total)
    }

    /// Whether a release is in progress.
    pub fn is_releasing(&self) -> bool {
        self.of.state == MigrationState::Releasing
    }

    /// Whether events are held.
    pub fn is_holding(&self) -> bool {
        self.of.state == MigrationState::Holding
    }

    /// The progress of the release, in plain text.
    pub fn words(&self) -> String {
        if !self.is_counted() {
            return "Daybook is counting the accounts that remain.".to_owned();
        }
        let seconds = |seconds| format!("; about {} left", Count(seconds).of("second", "seconds"));
        format!(
            "{} of {} done, {} processed{}.",
            Count(self.of.accounts_done),
            accounts(self.of.accounts_total),
            Count(self.of.events_done).of("event", "events"),
            self.of.eta_seconds.map_or_else(String::new, seconds)
        )
    }
}

fn accounts(number: u64) -> String {
    Count(number).of("account", "accounts")
}

#[derive(Template)]
#[template(path = "products/progress.html")]
struct ProgressPiece {
    progress: MigrationOverview,
}

/// The stream of a release's progress.
pub async fn progress(State(console): State<Console>, visitor: Visitor, Path(id): Path<String>) -> PageResult {
    // An unknown product is reported before the stream begins.
    MigrationOverview::fetch(&console, &visitor, &id).await?;
    let steps = stream::unfold(Some(0), move |step: Option<u32>| {
        let (console, visitor, id) = (console.clone(), visitor.clone(), id.clone());
        async move {
            let step = step.filter(|step| *step < MOST_TIMES)?;
            if step > 0 {
                tokio::time::sleep(EVERY).await;
            }
            let progress = MigrationOverview::fetch(&console, &visitor, &id).await.ok()?;
            let is_over = !progress.is_releasing();
            let text = ProgressPiece { progress }.render().ok()?.replace('\r', "");
            let event = Event::default().event(if is_over { "done" } else { "progress" }).data(text);
            Some((Ok::<Event, Infallible>(event), (!is_over).then_some(step + 1)))
        }
    });
    Ok(Sse::new(steps).into_response())
}

/// Reads whether events are to be held. A release cannot be stopped, so it must be requested explicitly.
fn is_to_hold(typed: &FormValues) -> Result<bool, Problem> {
    match typed.get("to") {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Problem::invalid("to", "must be on, to hold events, or off, to release them")),
    }
}

/// The call: `on`, or `off` with or without webhooks of past events.
fn action(product: &str, typed: &FormValues) -> Result<Action, Problem> {
    let holds = is_to_hold(typed)?;
    let mut sent = json!({ "migration_mode": holds });
    if !holds && typed.has("historical_webhooks") {
        sent["historical_webhooks"] = Value::from(typed.get("historical_webhooks"));
    }
    Ok(Action::SetMigrationMode(product.to_owned(), sent))
}

async fn question(console: &Console, visitor: &Visitor, id: &str, typed: &FormValues) -> Result<Ask, PageError> {
    let terms = fetch(console, visitor, id).await?;
    let progress = MigrationOverview::glance(console, visitor, &terms).await?;
    let name = &terms.product_overview.product_name;
    let is_on = is_to_hold(typed)?;
    let suppresses = typed.get("historical_webhooks") == "SUPPRESS";
    let words = if is_on {
        vec![
            format!(
                "Until you release them, new events of {name} will be held: they are recorded but not processed. No \
                     balances change, no due dates are processed, and no webhooks about its accounts are sent."
            ),
            "Load the history of the accounts in any order, then release the held events: Daybook processes the events \
             of each account in the order of their dates."
                .to_owned(),
        ]
    } else {
        let held = if progress.is_counted() {
            progress.held_words("held event", "held events")
        } else {
            "all held events".to_owned()
        };
        let held = format!(
            "Daybook will process {held} now: the events of each account in the order of their dates. This takes a \
             while if there are many events, and it cannot be stopped."
        );
        let told = if suppresses {
            "No webhooks will be sent for held events that are dated before now. The webhooks are recorded, and you \
             can view them."
        } else {
            "Webhooks will be sent for all these events, including past ones."
        };
        vec![held, told.to_owned()]
    };
    let mut fields = vec![("to", if is_on { "on" } else { "off" }.to_owned())];
    if !is_on {
        let choice = if suppresses { "SUPPRESS" } else { "SEND" };
        fields.push(("historical_webhooks", choice.to_owned()));
    }
    let ask = Ask {
        title: if is_on {
            format!("Turn on migration mode for {name}")
        } else {
            format!("Release the held events of {name}")
        },
        back: (format!("{HERE}/{id}"), "Back to the product"),
        words,
        path: format!("{HERE}/{id}/migration"),
        fields,
        button: if is_on { "Turn on migration mode" } else { "Release the held events" },
        danger: false,
        curl: String::new(),
    };
    Ok(ask.with_curl(&action(id, typed)?, visitor))
}

/// Asks for confirmation.
pub async fn ask(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    question(&console, &visitor, &id, &asked).await?.show(Section::Products, &visitor)
}

#[derive(Deserialize)]
struct Switched {
    description: String,
}

/// Changes the mode.
pub async fn switch(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
    typed: FormValues,
) -> PageResult {
    let done = action(&id, &typed)?.perform(&console.service, visitor.caller(), Some(typed.get("once"))).await;
    match done {
        Ok(answer) => {
            let words = read::<Switched>(&answer)?.description;
            Ok(redirect_saying(&format!("{HERE}/{id}#migration"), &Notice::done(words), &visitor.context))
        }
        Err(trouble) => {
            question(&console, &visitor, &id, &typed).await?.show_again(Section::Products, &visitor, &trouble.problem)
        }
    }
}
