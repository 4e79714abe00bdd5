//! One account: its balances and their history, the possible changes, and the time machine.
//!
//! ```text
//! /console/accounts/{id}?tab=…&as_of=…     show: the head, the time machine, and one tab
//! /console/accounts/{id}/do/{what}         acting: a form, its confirmation, and doing it
//! /console/accounts/{id}/roll              the same for rolling, which administrators may in TEST
//! /console/accounts/{id}/change/{what}     changing the loan: a form, a preview, and making the change
//! ```
//!
//! Every tab is a separate page, so the pages of a loan of thirty years stay small. The tabs that show the account's
//! state honour `as_of`: the service computes the state at that time and stores nothing. The slider requests the same
//! URL and replaces the part of the page below it.

mod account_change;
mod change_pages;
mod compared;
mod data;
mod loan_change;
mod loan_change_pages;
mod machine;
mod overview;
mod tables;

pub use change_pages::{ask, confirm, confirm_roll, perform, perform_roll, roll};
pub(crate) use data::StatusWords;
pub use loan_change_pages::{ask_change, menu, perform_change, preview_change};

use crate::Console;
use crate::display::{AsCount, AsMoment, AsMoney, DisplayTime, plain_words};
use crate::form::{FormValues, QueryParameters};
use crate::guard::Visitor;
use crate::page::{PageError, PageFrame, PageResult, Section, fragment, show as show_page, show_again};
use crate::pages::products::of_status;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use data::{EventTiming, InstalmentState, ItemChanges, PostingWords, SplitWords, short_name};
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_service::form::fields::BackdatingPolicy;
use daybook_service::policy::DEFAULT_ZONE;
use daybook_service::problem::{Problem, ProblemKind};
use daybook_service::view::{
    Account, ChangeDetails, InterestRateDetails, MessageState, MigrationState, ProcessingState, Product,
};
use loan_change::LoanChange;
use machine::{Machine, When};
use overview::Overview;
use tables::{ChangesTab, ItemsTab, NoticesTab, ScheduleTab, TimelineTab, WebhooksTab};

/// The most customers whose names are fetched.
const CUSTOMERS_SHOWN: usize = 8;

/// The tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tab {
    Overview,
    Schedule,
    Items,
    Timeline,
    Webhooks,
    Notices,
    Changes,
}

impl Tab {
    const ALL: [Tab; 7] =
        [Tab::Overview, Tab::Schedule, Tab::Items, Tab::Changes, Tab::Timeline, Tab::Webhooks, Tab::Notices];

    fn name(self) -> &'static str {
        match self {
            Tab::Overview => "overview",
            Tab::Schedule => "schedule",
            Tab::Items => "items",
            Tab::Timeline => "timeline",
            Tab::Webhooks => "webhooks",
            Tab::Notices => "notices",
            Tab::Changes => "changes",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Tab::Overview => "Overview",
            Tab::Schedule => "Schedule",
            Tab::Items => "Line items",
            Tab::Timeline => "Timeline",
            Tab::Webhooks => "Webhooks",
            Tab::Notices => "Notices",
            Tab::Changes => "Changes",
        }
    }

    fn read(name: &str) -> Tab {
        Tab::ALL.into_iter().find(|tab| tab.name() == name).unwrap_or(Tab::Overview)
    }

    /// Whether it shows the account's state at a given time.
    fn travels(self) -> bool {
        matches!(self, Tab::Overview | Tab::Schedule | Tab::Items)
    }
}

/// A borrower of the account.
#[derive(Clone, Debug)]
struct Person {
    id: String,
    name: String,
    role: String,
}

/// An account, and the time at which it is shown.
#[derive(Clone, Debug)]
struct AccountView {
    id: String,
    /// The current state.
    current: Account<'static>,
    /// The state at the requested time.
    seen: Account<'static>,
    when: When,
    zone: Zone,
    /// The account's clock.
    clock: Time,
    /// The account's clock, if it is ahead of real time.
    ahead: Option<DisplayTime>,
    customers: Vec<Person>,
    /// The migration state of its product.
    migration: MigrationState,
    /// Whether backdated entries take effect when they are recorded.
    posts_late: bool,
    /// What an agent must know before talking to the borrower: what the product stops for the status, and the limit of
    /// the rate by SCRA.
    marks: Vec<String>,
}

impl AccountView {
    /// Loads the current state and the requested one.
    async fn enter(console: &Console, visitor: &Visitor, id: &str, as_of: &str) -> Result<AccountView, PageError> {
        let who = visitor.caller();
        let current = console.service.get_account(who, id, None).await?;
        let name = &*current.account_product.product_lifecycle.product_time_zone;
        let zone = Zone::named(name).or_else(|| Zone::named(DEFAULT_ZONE));
        let zone = zone.ok_or_else(|| Problem::internal(format!("the time zone {name} is unknown")))?;
        let now = console.service.now();
        let through = current.processed_through;
        let ahead = through.filter(|through| through.time > now).map(|through| through.moment());
        let clock = through.map_or(now, |through| through.time.max(now));
        let mut when = When::read(as_of, &zone, clock);
        let mut seen = current.clone();
        if let Some(time) = when.time() {
            match console.service.get_account(who, id, Some(time)).await {
                Ok(then) => seen = then,
                Err(problem) if problem.kind == ProblemKind::Invalid => {
                    when = when.refused(why(&problem, "the requested time"))
                }
                Err(problem) => return Err(problem.into()),
            }
        }
        let product = &current.account_product.product_id;
        let product = console.service.get_product(who, product).await?;
        let migration = product.migration_state;
        let marks = marks(console, visitor, &current, &product, clock).await?;
        let posts_late = product.product_lifecycle_policies.backdating_policy != Some(BackdatingPolicy::Replay);
        let mut account_view = AccountView {
            id: id.to_owned(),
            current,
            seen,
            when,
            zone,
            clock,
            ahead,
            customers: Vec::new(),
            migration,
            posts_late,
            marks,
        };
        for assigned in account_view.current.customers.iter().take(CUSTOMERS_SHOWN) {
            let customer = console.service.get_customer(who, &assigned.customer_id).await?;
            let name = Some(short_name(&customer)).filter(|name| !name.is_empty());
            account_view.customers.push(Person {
                id: assigned.customer_id.clone(),
                name: name.unwrap_or_else(|| assigned.customer_id.clone()),
                role: plain_words(assigned.customer_account_role.name()),
            });
        }
        Ok(account_view)
    }

    /// Whether the loan has not begun at the time that is shown: its opening is held, or lies ahead.
    fn has_not_begun(&self) -> bool {
        let at = self.when.time().unwrap_or(self.clock);
        self.seen.processed_through.is_none() || self.seen.effective_at.time > at
    }

    fn path(&self) -> String {
        format!("/console/accounts/{}", self.id)
    }

    fn holds(&self) -> bool {
        self.migration == MigrationState::Holding
    }

    /// The number of customers without a fetched name.
    fn others(&self) -> usize {
        self.current.customers.len().saturating_sub(self.customers.len())
    }
}

/// What an agent must know about an account before anything else.
async fn marks(
    console: &Console,
    visitor: &Visitor,
    account: &Account<'static>,
    product: &Product,
    clock: Time,
) -> Result<Vec<String>, PageError> {
    let overview = &account.account_overview;
    let effects = product.product_lifecycle_policies.status_effects.clone().unwrap_or_default().effects();
    let stopped = match overview.account_status {
        "CLOSED" => None,
        standing => of_status(&effects, standing, overview.account_status_subtype),
    };
    let mut marks: Vec<String> = stopped.into_iter().collect();
    if overview.is_active_scra == Some(true) {
        let rates = console.service.list_interest_rates(visitor.caller(), &account.account_id).await?;
        let covers = |details: &InterestRateDetails| {
            details.tags.scra
                && details.effective_at_inclusive_start.time <= clock
                && details.effective_at_exclusive_end.is_none_or(|end| end.time > clock)
        };
        let limits = rates.iter().filter(|rate| rate.cancelled_at.is_none()).filter_map(|rate| match &rate.details {
            ChangeDetails::InterestRate(details) if covers(details) => Some(details),
            _ => None,
        });
        marks.extend(limits.map(|limit| {
            let end = limit.effective_at_exclusive_end;
            let end =
                end.map_or_else(|| "on; no end is known".to_owned(), |end| format!("until {}", end.moment().day()));
            let since = limit.effective_at_inclusive_start.moment().day();
            format!("SCRA: the interest rate is limited to {} % a year from {since} {end}.", limit.interest_rate)
        }));
    }
    Ok(marks)
}

/// The content of a tab.
#[derive(Clone, Debug)]
enum Content {
    Overview(Box<Overview>),
    Schedule(ScheduleTab),
    Items(ItemsTab),
    Timeline(TimelineTab),
    Webhooks(WebhooksTab),
    Notices(NoticesTab),
    Changes(ChangesTab),
}

#[derive(Template)]
#[template(path = "account/page.html")]
struct Whole {
    page: PageFrame,
    account_view: AccountView,
    tab: Tab,
    machine: Machine,
    content: Content,
}

/// The part of the page below the slider.
#[derive(Template)]
#[template(path = "account/then.html")]
struct Then {
    page: PageFrame,
    account_view: AccountView,
    tab: Tab,
    content: Content,
}

/// The page of an account.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
    QueryParameters(asked): QueryParameters,
    headers: HeaderMap,
) -> PageResult {
    let piece = headers.get("x-fragment").is_some_and(|name| name == "time-machine");
    look(&console, &visitor, &id, &asked, piece).await
}

async fn look(console: &Console, visitor: &Visitor, id: &str, asked: &FormValues, piece: bool) -> PageResult {
    let tab = Tab::read(asked.get("tab"));
    let account_view = AccountView::enter(console, visitor, id, asked.get("as_of")).await?;
    if asked.get("format") == "csv" {
        return tables::file(console, visitor, &account_view, asked).await;
    }
    let content = match tab {
        Tab::Overview => Content::Overview(Box::new(Overview::load(console, visitor, &account_view).await?)),
        Tab::Schedule => Content::Schedule(ScheduleTab::load(console, visitor, &account_view, asked).await?),
        Tab::Items => Content::Items(ItemsTab::load(console, visitor, &account_view, asked).await?),
        Tab::Timeline => Content::Timeline(TimelineTab::load(console, visitor, &account_view, asked).await?),
        Tab::Webhooks => Content::Webhooks(WebhooksTab::load(console, visitor, &account_view, asked).await?),
        Tab::Changes => Content::Changes(ChangesTab::load(console, visitor, &account_view, asked).await?),
        Tab::Notices => Content::Notices(NoticesTab::load(console, visitor, &account_view).await?),
    };
    let page = PageFrame::new(format!("Account {id}"), Section::Accounts, visitor);
    let refused = !account_view.when.problem.is_empty();
    match (piece, refused) {
        (true, false) => fragment(&Then { page, account_view, tab, content }),
        (true, true) => show_again(&Then { page, account_view, tab, content }),
        (false, _) => {
            let machine =
                Machine::new(&account_view.current, &account_view.when, &account_view.zone, account_view.clock);
            let whole = Whole { page, account_view, tab, machine, content };
            if refused { show_again(&whole) } else { show_page(&whole) }
        }
    }
}

/// The service's reason why a time cannot be shown.
fn why(problem: &Problem, subject: &str) -> String {
    match problem.details.first() {
        Some(detail) => format!("{subject} {}", detail.message),
        None => problem.message.clone(),
    }
}
