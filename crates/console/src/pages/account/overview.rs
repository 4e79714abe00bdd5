//! The first tab: the account's state, its history, and held events.

use super::AccountView;
use super::data::EventTiming;
use super::tables::{EVERYTHING, events};
use crate::Console;
use crate::chart::{Point, steps};
use crate::display::{AsMoment, AsMoney, DisplayTime, short_money};
use crate::guard::Visitor;
use crate::page::PageError;
use daybook_engine::time::Time;
use daybook_service::problem::ProblemKind;
use daybook_service::view::{Account, StatusChange, TimelineEvent};

/// The most points of the chart. If there are more, points at regular intervals are drawn.
const POINTS: usize = 300;
/// The most status changes shown.
const TRAIL: usize = 8;
/// The most held events shown.
const WAITING: usize = 25;
/// The steps between now and a future time; the service previews the balance at each.
const GLANCES: i64 = 12;

/// The state of an account.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The chart of the balance.
    pub chart: String,
    /// The latest status changes, newest first.
    pub trail: Vec<StatusChange>,
    /// The number of status changes not shown.
    pub earlier: usize,
    /// Events held until a release.
    pub held: Option<HeldEventsSummary>,
}

/// Events held until a release.
#[derive(Clone, Debug)]
pub struct HeldEventsSummary {
    /// The first of them.
    pub waiting: Vec<TimelineEvent>,
    /// The number of the others.
    pub more: usize,
    /// Why a release failed; empty if none did.
    pub failed: String,
    /// The account after a release now.
    pub released: Option<Account<'static>>,
    /// Why the account after a release cannot be shown.
    pub problem: String,
}

impl Overview {
    /// Loads the tab.
    pub async fn load(console: &Console, visitor: &Visitor, account_view: &AccountView) -> Result<Overview, PageError> {
        let (service, who) = (&console.service, visitor.caller());
        let happenings = events(console, visitor, account_view).await?;
        let mut trail = service.list_account_status_changes(who, &account_view.id, EVERYTHING).await?.results;
        trail.reverse();
        let earlier = trail.len().saturating_sub(TRAIL);
        trail.truncate(TRAIL);
        let held = if account_view.current.held_events == 0 {
            None
        } else {
            Some(HeldEventsSummary::load(console, visitor, account_view, &happenings).await?)
        };
        let ahead = match account_view.when.time().filter(|_| account_view.when.is_ahead) {
            Some(at) => glances(console, visitor, account_view, at).await?,
            None => Vec::new(),
        };
        let chart = drawing(account_view, &happenings, ahead);
        Ok(Overview { chart, trail, earlier, held })
    }
}

impl HeldEventsSummary {
    async fn load(
        console: &Console,
        visitor: &Visitor,
        account_view: &AccountView,
        happenings: &[TimelineEvent],
    ) -> Result<HeldEventsSummary, PageError> {
        let waiting: Vec<&TimelineEvent> = happenings.iter().filter(|happening| happening.waits()).collect();
        let failed = waiting.iter().find_map(|happening| happening.reason.clone());
        let at = account_view.current.effective_at.time.max(account_view.clock);
        let after = console.service.get_account(visitor.caller(), &account_view.id, Some(at)).await;
        let (released, problem) = match after {
            Ok(account) => (Some(account), String::new()),
            Err(problem) if problem.kind == ProblemKind::Invalid => {
                let why = problem.message;
                (None, format!("The account cannot be shown as it will be after the release: {why}"))
            }
            Err(problem) => return Err(problem.into()),
        };
        Ok(HeldEventsSummary {
            more: waiting.len().saturating_sub(WAITING),
            waiting: waiting.into_iter().take(WAITING).cloned().collect(),
            failed: failed.unwrap_or_default(),
            released,
            problem,
        })
    }
}

/// The balance at some times between the account's clock and a future time, as the service previews it.
async fn glances(
    console: &Console,
    visitor: &Visitor,
    account_view: &AccountView,
    at: Time,
) -> Result<Vec<Point>, PageError> {
    let way = at.seconds() - account_view.clock.seconds();
    let mut points = Vec::new();
    for step in 1..GLANCES {
        let time = Time::from_seconds(account_view.clock.seconds() + way * step / GLANCES);
        let then = console.service.get_account(visitor.caller(), &account_view.id, Some(time)).await?;
        let balance = then.summary.total_balance_cents.money();
        let words = format!("{}: {balance} (preview)", DisplayTime::new(time, &account_view.zone).day());
        points.push(Point { at: time.seconds(), size: balance.0, words });
    }
    Ok(points)
}

/// The chart of the balance after each event, up to the time shown or to now. Empty if there are no events.
fn drawing(account_view: &AccountView, happenings: &[TimelineEvent], later: Vec<Point>) -> String {
    let mut points: Vec<Point> = happenings
        .iter()
        .filter_map(|happening| {
            let after = happening.balance_after?.total_cents.money();
            let words = format!("{}: {after}. {}", happening.applies_at.moment().day(), happening.description);
            Some(Point { at: happening.applies_at.time.seconds(), size: after.0, words })
        })
        .collect();
    let stride = points.len().div_ceil(POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let mut index = 0;
    points.retain(|_| {
        let kept = index % stride == 0 || index == last;
        index += 1;
        kept
    });
    let Some(latest) = points.last().map(|last| last.at) else { return String::new() };
    points.extend(later.into_iter().filter(|point| point.at > latest));
    let ahead = account_view.when.at.as_ref().filter(|_| account_view.when.is_ahead);
    let now = DisplayTime::new(account_view.clock, &account_view.zone);
    let (end, balance) = match ahead {
        Some(at) => (at, account_view.seen.summary.total_balance_cents.money()),
        None => (&now, account_view.current.summary.total_balance_cents.money()),
    };
    if let Some(at) = end.time().map(|time| time.seconds()).filter(|at| points.last().is_some_and(|last| last.at < *at))
    {
        points.push(Point { at, size: balance.0, words: format!("{}: {balance}", end.day()) });
    }
    let mark = account_view.when.time().unwrap_or(account_view.clock).seconds();
    let begin = happenings.first().map(|first| first.applies_at.moment().day()).unwrap_or_default();
    steps("Balance over time", &points, Some(mark), (&begin, &end.day()), short_money)
}
