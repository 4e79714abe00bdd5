//! The first tab: how the account stands, how it came there, and what waits.

use super::Room;
use super::data::{Account, Happening, List, StatusChange};
use super::tables::EVERYTHING;
use crate::Console;
use crate::chart::{Point, steps};
use crate::guard::Visitor;
use crate::page::{Trouble, read};
use crate::shape::{Moment, short_money};
use daybook_engine::time::Time;
use daybook_service::problem::Kind;

/// So many points are drawn; where there are more, every so-manieth.
const POINTS: usize = 300;
/// So many changes of the status are shown.
const TRAIL: usize = 8;
/// So many of what waits are shown.
const WAITING: usize = 25;
/// So many times the account is asked for between now and a moment ahead.
const GLANCES: i64 = 12;

/// How an account stands.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The balance over time.
    pub chart: String,
    /// The latest changes of the status, the latest first.
    pub trail: Vec<StatusChange>,
    /// Changes of the status that are not shown.
    pub earlier: usize,
    /// What waits for a release.
    pub held: Option<Held>,
}

/// What waits for a release.
#[derive(Clone, Debug)]
pub struct Held {
    /// Some of it.
    pub waiting: Vec<Happening>,
    /// How many more there are.
    pub more: usize,
    /// Why a release failed; empty if none did.
    pub failed: String,
    /// The account as a release now would leave it.
    pub released: Option<Account>,
    /// Why that cannot be told.
    pub problem: String,
}

impl Overview {
    /// Looks it all up.
    pub async fn load(console: &Console, visitor: &Visitor, room: &Room) -> Result<Overview, Trouble> {
        let (service, who) = (&console.service, visitor.caller());
        let happenings: List<Happening> = read(&service.list_account_events(who, &room.id, EVERYTHING).await?)?;
        let mut trail: List<StatusChange> =
            read(&service.list_account_status_changes(who, &room.id, EVERYTHING).await?)?;
        trail.results.reverse();
        let earlier = trail.results.len().saturating_sub(TRAIL);
        trail.results.truncate(TRAIL);
        let held = if room.current.held_events.is_zero() {
            None
        } else {
            Some(Held::load(console, visitor, room, &happenings.results).await?)
        };
        let ahead = match room.when.time().filter(|_| room.when.is_ahead) {
            Some(at) => glances(console, visitor, room, at).await?,
            None => Vec::new(),
        };
        let chart = drawing(room, &happenings.results, ahead);
        Ok(Overview { chart, trail: trail.results, earlier, held })
    }
}

impl Held {
    async fn load(
        console: &Console,
        visitor: &Visitor,
        room: &Room,
        happenings: &[Happening],
    ) -> Result<Held, Trouble> {
        let waiting: Vec<&Happening> = happenings.iter().filter(|happening| happening.waits()).collect();
        let failed = waiting.iter().find_map(|happening| happening.reason.clone());
        let at = room.current.effective_at.time().map_or(room.clock, |opening| opening.max(room.clock));
        let (released, problem) = match console.service.get_account(visitor.caller(), &room.id, Some(at)).await {
            Ok(answer) => (Some(read(&answer)?), String::new()),
            Err(problem) if problem.kind == Kind::Invalid => (None, super::why(&problem)),
            Err(problem) => return Err(problem.into()),
        };
        Ok(Held {
            more: waiting.len().saturating_sub(WAITING),
            waiting: waiting.into_iter().take(WAITING).cloned().collect(),
            failed: failed.unwrap_or_default(),
            released,
            problem,
        })
    }
}

/// The balance at some moments between the account's clock and one ahead of it, as the service previews them.
async fn glances(console: &Console, visitor: &Visitor, room: &Room, at: Time) -> Result<Vec<Point>, Trouble> {
    let way = at.seconds() - room.clock.seconds();
    let mut points = Vec::new();
    for step in 1..GLANCES {
        let time = Time::from_seconds(room.clock.seconds() + way * step / GLANCES);
        let then: Account = read(&console.service.get_account(visitor.caller(), &room.id, Some(time)).await?)?;
        let balance = then.summary.total_balance_cents;
        let words = format!("{}: {balance}, a preview", Moment::new(time, &room.zone).day());
        points.push(Point { at: time.seconds(), size: balance.0, words });
    }
    Ok(points)
}

/// The balance after each event, up to the moment that is looked at, or to now. Nothing if nothing happened.
fn drawing(room: &Room, happenings: &[Happening], later: Vec<Point>) -> String {
    let mut points: Vec<Point> = happenings
        .iter()
        .filter_map(|happening| {
            let after = happening.balance_after?.total_cents;
            let words = format!("{}: {after}. {}", happening.applies_at.day(), happening.description);
            Some(Point { at: happening.applies_at.time()?.seconds(), size: after.0, words })
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
    let ahead = room.when.at.as_ref().filter(|_| room.when.is_ahead);
    let now = Moment::new(room.clock, &room.zone);
    let (end, balance) = match ahead {
        Some(at) => (at, room.seen.summary.total_balance_cents),
        None => (&now, room.current.summary.total_balance_cents),
    };
    if let Some(at) = end.time().map(|time| time.seconds()).filter(|at| points.last().is_some_and(|last| last.at < *at))
    {
        points.push(Point { at, size: balance.0, words: format!("{}: {balance}", end.day()) });
    }
    let mark = room.when.time().unwrap_or(room.clock).seconds();
    let begin = happenings.first().map(|first| first.applies_at.day()).unwrap_or_default();
    steps("Balance over time", &points, Some(mark), (&begin, &end.day()), short_money)
}
