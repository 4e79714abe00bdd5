//! Home: the state of the portfolio, and what needs attention.
//!
//! Every number links to its list. An organization without data sees the first steps instead. While the numbers of a
//! large organization are still being counted, the page states this.

use crate::Console;
use crate::chart::{Bar, BarSegment, bars};
use crate::display::{Count, DisplayTime, Money, plain_words, reason_words, short_money};
use crate::guard::Visitor;
use crate::listing::link;
use crate::page::{PageError, PageFrame, PageResult, Section, refreshed};
use askama::Template;
use axum::extract::State;
use daybook_service::AccountQuery;
use daybook_service::CustomerQuery;
use daybook_service::paging::Paging;
use daybook_service::portfolio::{Attention, DayFigure, DeliveryFigure, Portfolio};

/// A table row with a bar: a share of the portfolio.
#[derive(Debug)]
struct PortfolioShare {
    name: String,
    path: String,
    count: Count,
    balance: Option<Money>,
    /// The length of the bar, in percent.
    length: u64,
    class: &'static str,
}

/// Amounts by day, as a chart and as a table.
#[derive(Debug)]
struct ByDay {
    drawing: String,
    days: Vec<(String, Count, Money)>,
    total: Money,
}

/// Deliveries by hour, as a chart and as a table.
#[derive(Debug)]
struct ByHour {
    drawing: String,
    hours: Vec<(DisplayTime, Count, Count)>,
    none: bool,
}

/// Something that needs attention.
#[derive(Debug)]
struct Concern {
    class: &'static str,
    words: String,
    path: &'static str,
    mend: &'static str,
}

/// A first step.
#[derive(Debug)]
struct Step {
    done: bool,
    name: &'static str,
    words: &'static str,
    path: &'static str,
}

#[derive(Template)]
#[template(path = "home/home.html")]
struct HomePage {
    page: PageFrame,
    as_of: DisplayTime,
    /// When the totals were computed, if they are outdated.
    outdated: Option<DisplayTime>,
    zone: String,
    accounts: Count,
    outstanding: Money,
    statuses: Vec<PortfolioShare>,
    past_due: Vec<PortfolioShare>,
    payments: ByDay,
    late_fees: ByDay,
    deliveries: ByHour,
    concerns: Vec<Concern>,
}

#[derive(Template)]
#[template(path = "home/beginning.html")]
struct BeginningPage {
    page: PageFrame,
    steps: Vec<Step>,
    concerns: Vec<Concern>,
}

#[derive(Template)]
#[template(path = "home/counting.html")]
struct CountingPage {
    page: PageFrame,
}

/// The page.
pub async fn show(State(console): State<Console>, visitor: Visitor) -> PageResult {
    let page = PageFrame::new("Home", Section::Home, &visitor);
    let Some(portfolio) = console.service.portfolio(visitor.caller()).await? else {
        return Ok(refreshed(crate::page::show(&CountingPage { page })?));
    };
    let concerns = concerns(&portfolio.attention);
    if portfolio.count() == 0 {
        let steps = steps(&console, &visitor).await?;
        return crate::page::show(&BeginningPage { page, steps, concerns });
    }
    let outdated = portfolio.is_outdated().then(|| DisplayTime(portfolio.summed_at.to_string()));
    let is_outdated = outdated.is_some();
    let shown = crate::page::show(&HomePage {
        page,
        as_of: DisplayTime(portfolio.as_of.to_string()),
        outdated,
        zone: portfolio.zone.clone(),
        accounts: Count(portfolio.count()),
        outstanding: Money(portfolio.outstanding_cents()),
        statuses: statuses(&portfolio),
        past_due: past_due(&portfolio),
        payments: by_day("Payments by day", &portfolio.payments_by_day, portfolio.paid_cents(), "s1"),
        late_fees: by_day("Late fees by day", &portfolio.late_fees_by_day, portfolio.late_fees_cents(), "s2"),
        deliveries: by_hour(&portfolio.deliveries_by_hour),
        concerns,
    });
    if is_outdated { Ok(refreshed(shown?)) } else { shown }
}

fn statuses(portfolio: &Portfolio) -> Vec<PortfolioShare> {
    let most = portfolio.accounts.iter().map(|figure| figure.count).max().unwrap_or(0);
    let share = |figure: &daybook_service::portfolio::AccountFigure| {
        let substatus = figure.substatus.as_deref().unwrap_or_default();
        let name = match substatus {
            "" => plain_words(&figure.status),
            why => format!("{}: {}", plain_words(&figure.status), reason_words(why)),
        };
        let class = match (figure.status.as_str(), substatus) {
            ("ACTIVE", _) => "s1",
            ("CLOSED", "CHARGE_OFF") => "s3",
            ("CLOSED", _) => "s5",
            _ => "s2",
        };
        PortfolioShare {
            name,
            path: link("/console/accounts", &[("status", &figure.status), ("substatus", substatus)]),
            count: Count(figure.count),
            balance: Some(Money(figure.balance_cents)),
            length: length(figure.count, most),
            class,
        }
    };
    portfolio.accounts.iter().map(share).collect()
}

fn past_due(portfolio: &Portfolio) -> Vec<PortfolioShare> {
    let most = portfolio.past_due.iter().map(|figure| figure.count).max().unwrap_or(0);
    let share = |figure: &daybook_service::portfolio::PastDueFigure| PortfolioShare {
        name: if figure.bucket == "current" { "Not past due".to_owned() } else { format!("{} days", figure.bucket) },
        path: link("/console/accounts", &[("due", figure.bucket)]),
        count: Count(figure.count),
        balance: None,
        length: length(figure.count, most),
        class: match figure.bucket {
            "current" => "s1",
            "1-29" => "s2",
            _ => "s3",
        },
    };
    portfolio.past_due.iter().map(share).collect()
}

/// The length of a bar, in percent. A count above zero is always visible.
fn length(count: u64, most: u64) -> u64 {
    if count == 0 { 0 } else { (count.saturating_mul(100) / most.max(1)).max(1) }
}

fn by_day(title: &str, figures: &[DayFigure], total_cents: i64, class: &'static str) -> ByDay {
    let last = figures.len().saturating_sub(1);
    let columns = figures.iter().enumerate().map(|(index, figure)| {
        let day = DisplayTime(figure.day.clone()).day();
        let words = format!("{day}: {} in {}", Money(figure.amount_cents), Count(figure.count).of("item", "items"));
        // A label below every seventh day, counted from today.
        let label = if (last - index).is_multiple_of(7) { short(&day) } else { String::new() };
        let size = u64::try_from(figure.amount_cents).unwrap_or(0);
        Bar { label, parts: vec![BarSegment { class, size, words }] }
    });
    let columns: Vec<Bar> = columns.collect();
    let drawing = bars(title, &columns, |top| short_money(i64::try_from(top).unwrap_or(i64::MAX)));
    let days = figures.iter().rev();
    let days =
        days.map(|figure| (DisplayTime(figure.day.clone()).day(), Count(figure.count), Money(figure.amount_cents)));
    ByDay { drawing, days: days.collect(), total: Money(total_cents) }
}

/// `15 Feb 2025` as `15 Feb`.
fn short(day: &str) -> String {
    day.rsplit_once(' ').map_or(day, |(day, _)| day).to_owned()
}

fn by_hour(figures: &[DeliveryFigure]) -> ByHour {
    let hours: Vec<(DisplayTime, Count, Count)> = figures
        .iter()
        .map(|figure| (DisplayTime(figure.hour.to_string()), Count(figure.delivered), Count(figure.failed)))
        .collect();
    let last = hours.len().saturating_sub(1);
    let columns = hours.iter().enumerate().map(|(index, (hour, delivered, failed))| {
        let part = |class, count: &Count, what: &str| BarSegment {
            class,
            size: count.0,
            words: format!("{} UTC: {count} {what}", hour.clock()),
        };
        let label = if (last - index).is_multiple_of(6) { hour.clock().to_owned() } else { String::new() };
        Bar { label, parts: vec![part("s1", delivered, "delivered"), part("s3", failed, "failed")] }
    });
    let columns: Vec<Bar> = columns.collect();
    let drawing = bars("Webhook deliveries by hour", &columns, |top| Count(top).to_string());
    let none = hours.iter().all(|(_, delivered, failed)| delivered.is_zero() && failed.is_zero());
    ByHour { drawing, hours: hours.into_iter().rev().collect(), none }
}

fn concerns(attention: &Attention) -> Vec<Concern> {
    let about = |count: u64, one: &str, many: &str| Count(count).of(one, many);
    let all = [
        (
            attention.paused_subscriptions,
            "warn",
            about(attention.paused_subscriptions, "webhook URL is paused", "webhook URLs are paused"),
            "/console/webhooks",
            "See why, and resume",
        ),
        (
            attention.dead_letters,
            "bad",
            about(attention.dead_letters, "message was not delivered", "messages were not delivered"),
            "/console/webhooks/dead-letters",
            "See the dead letters",
        ),
        (
            attention.failed_accounts,
            "bad",
            about(
                attention.failed_accounts,
                "account has held events that could not be released",
                "accounts have held events that could not be released",
            ),
            "/console/products?state=failed",
            "See the reasons",
        ),
        (
            attention.products_holding,
            "info",
            about(attention.products_holding, "product is in migration mode", "products are in migration mode"),
            "/console/products?state=HOLDING",
            "Release the held events when all history is loaded",
        ),
        (
            attention.products_releasing,
            "info",
            about(
                attention.products_releasing,
                "product: its held events are being released",
                "products: their held events are being released",
            ),
            "/console/products?state=RELEASING",
            "See the progress",
        ),
    ];
    let there = all.into_iter().filter(|(count, ..)| *count > 0);
    there.map(|(_, class, words, path, mend)| Concern { class, words, path, mend }).collect()
}

/// The first steps, and which of them are done.
async fn steps(console: &Console, visitor: &Visitor) -> Result<Vec<Step>, PageError> {
    let (service, who) = (&console.service, visitor.caller());
    let first = || Paging { limit: 1, ..Paging::default() };
    let products = service.list_products(who, first()).await?.results;
    let customers = service.list_customers(who, first(), CustomerQuery::default()).await?.results;
    let accounts = service.list_accounts(who, first(), AccountQuery::default()).await?.results;
    let subscriptions = service.list_subscriptions(who).await?.results;
    Ok(vec![
        Step {
            done: !products.is_empty(),
            name: "Create a product",
            words: "The terms that its accounts share: the number of instalments, the rate, the due dates and the late \
                    fees. A name and a number of instalments are enough; all other fields have defaults.",
            path: "/console/products/new",
        },
        Step {
            done: !customers.is_empty(),
            name: "Add a customer",
            words: "A borrower: a person or a business. Only a name is required.",
            path: "/console/customers/new",
        },
        Step {
            done: !accounts.is_empty(),
            name: "Open an account",
            words: "A loan to a customer under a product. Enter the amount and the date to see the schedule.",
            path: "/console/accounts/new",
        },
        Step {
            done: !subscriptions.is_empty(),
            name: "Subscribe a URL",
            words: "Daybook then sends your system a signed webhook for each event, in order, and retries failed ones.",
            path: "/console/webhooks",
        },
    ])
}
