//! One message: where it stands with each subscription, and sending it again.

use super::super::again::{Tries, Try};
use super::super::cells::{self, Cells, each, maybe};
use super::super::flight::{Frame, Param, Step, Transaction};
use super::super::server::Server;
use super::ranges::take_out;
use super::subscriptions::lock;
use super::{SUBSCRIPTION, status, subscription as read};
use crate::Result;
use crate::error::StoreError;
use crate::outbox::{Again, Attempt, Failure, Fate, Kept, Stand, Standing, Subscription, SubscriptionId};
use crate::records::{MessageRow, OrgId};
use daybook_engine::time::Time;
use std::collections::BTreeSet;
use tokio_postgres::Row;

/// What is after position and moment in what [`cells::message`] reads.
const REST: &str = "account, sequence, event, event_id, cause, subject, effective_at, recorded_at, data, signature";

pub(super) async fn by_event_id(
    server: &Server,
    org: OrgId,
    event_id: &str,
    of: Option<(&str, i64)>,
) -> Result<Option<MessageRow>> {
    let Some((account, sequence)) = of else {
        let sql = format!(
            "SELECT position, NULL::bigint, {REST} FROM messages WHERE org = $1 AND account IS NULL AND event_id = $2"
        );
        return maybe(server.query_opt(&sql, &[&org, &event_id]).await?, cells::message);
    };
    let it = "org = $1 AND account = $2 AND sequence = $3 AND event_id = $4";
    let sql = format!(
        "SELECT position, NULL::bigint, {REST} FROM messages WHERE {it}
         UNION ALL
         SELECT NULL::bigint, due_at, {REST} FROM waiting_messages WHERE {it} LIMIT 1"
    );
    maybe(server.query_opt(&sql, &[&org, &account, &sequence, &event_id]).await?, cells::message)
}

const FAILURES: &str = "
    SELECT s.id, f.attempts, f.first_failed_at, f.retry_at, f.dead_at, f.reason, f.status, f.streak
    FROM subscriptions s JOIN failures f ON f.org = s.org AND f.subscription = s.id AND f.position = $2
    WHERE s.org = $1";

const RANGES: &str = "
    SELECT subscription, filter, since, replaying FROM ranges WHERE org = $1 AND after < $2 AND last >= $2 ORDER BY id";

const ATTEMPTS: &str = "
    SELECT subscription, number, at, latency_us, status, error, response, next_at
    FROM attempts WHERE org = $1 AND position = $2 ORDER BY id";

/// What is kept about a message, of all subscriptions.
struct Traces {
    failures: Vec<(SubscriptionId, Failure)>,
    ranges: Vec<(SubscriptionId, Kept)>,
    attempts: Vec<(SubscriptionId, Attempt)>,
}

impl Traces {
    fn steps<'a>(org: OrgId, position: i64) -> [Step<'a>; 3] {
        [FAILURES, RANGES, ATTEMPTS].map(|sql| Step::new(sql, vec![Box::new(org) as Param<'_>, Box::new(position)]))
    }

    fn read(rows: &[Vec<Row>], position: i64) -> Result<Traces> {
        let of = |step: usize| rows.get(step).map_or(&[][..], Vec::as_slice);
        Ok(Traces {
            failures: each(of(0), |cells| Ok((cells.next()?, failure(cells, position)?)))?,
            ranges: each(of(1), |cells| {
                let id = cells.next()?;
                Ok((id, Kept { filter: cells.next()?, since: cells.time()?, replaying: cells.next()? }))
            })?,
            attempts: each(of(2), |cells| Ok((cells.next()?, attempt(cells, position)?)))?,
        })
    }

    fn of(&self, subscription: Subscription) -> Standing {
        fn own<T: Clone>(all: &[(SubscriptionId, T)], id: SubscriptionId) -> Vec<T> {
            all.iter().filter(|(of, _)| *of == id).map(|(_, one)| one.clone()).collect()
        }
        let id = subscription.id;
        Standing {
            subscription,
            failure: own(&self.failures, id).pop(),
            ranges: own(&self.ranges, id),
            attempts: own(&self.attempts, id),
        }
    }
}

fn failure(cells: &mut Cells<'_>, position: i64) -> Result<Failure> {
    let (attempts, first_failed_at) = (cells.next()?, cells.time_or_none()?);
    let (retry_at, dead_at) = (cells.time_or_none()?, cells.time_or_none()?);
    let fate = match (retry_at, dead_at) {
        (Some(at), _) => Fate::Retry(at),
        (None, Some(at)) => Fate::Dead(at),
        (None, None) => return Err(StoreError::Broken("a failure has no fate".to_owned())),
    };
    let (reason, status, streak) = (cells.next()?, status(cells)?, cells.next()?);
    Ok(Failure { position, attempts, first_failed_at, fate, reason, status, streak })
}

fn attempt(cells: &mut Cells<'_>, position: i64) -> Result<Attempt> {
    Ok(Attempt {
        position,
        number: cells.next()?,
        at: cells.time()?,
        latency_us: cells.next()?,
        status: status(cells)?,
        error: cells.next()?,
        response: cells.next()?,
        next_at: cells.time_or_none()?,
    })
}

pub(super) async fn standings(server: &Server, org: OrgId, position: i64) -> Result<Vec<Standing>> {
    let mut tries = Tries::none();
    loop {
        let mut transaction = Transaction::on(server.client().await?);
        let outcome = standings_once(&mut transaction, org, position).await;
        if let Some(done) = tries.settle(transaction, outcome).await {
            return done;
        }
    }
}

/// All of one moment: a message must not seem to be nowhere while it goes from one table to another.
async fn standings_once(transaction: &mut Transaction, org: OrgId, position: i64) -> Try<Vec<Standing>> {
    let all = format!("SELECT {SUBSCRIPTION} FROM subscriptions s WHERE s.org = $1 ORDER BY s.created_at, s.id");
    let mut steps = vec![Step::new(&all, vec![Box::new(org)])];
    steps.extend(Traces::steps(org, position));
    let frame = Frame { begin: Some("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), commit: true };
    let rows = transaction.fly(frame, &steps).await?;
    let Some((subscriptions, rest)) = rows.split_first() else { return Ok(Vec::new()) };
    let traces = Traces::read(rest, position)?;
    Ok(each(subscriptions, read)?.into_iter().map(|of| traces.of(of)).collect())
}

/// A failure that was counted keeps the row of failures it was counted in; others were counted in none.
const AGAIN: &str = "
    INSERT INTO failures (org, subscription, position, attempts, first_failed_at, retry_at, dead_at, reason, status,
        streak)
    VALUES ($1, $2, $3, 0, NULL, $4, NULL, '', NULL, -1)
    ON CONFLICT (org, subscription, position) DO UPDATE
    SET attempts = 0, first_failed_at = NULL, retry_at = excluded.retry_at, dead_at = NULL";
const CHANGED: &str = "UPDATE subscriptions SET version = version + 1 WHERE org = $1 AND id = $2";

pub(super) async fn send_again(server: &Server, org: OrgId, uuid: &str, position: i64, now: Time) -> Result<Again> {
    let mut tries = Tries::none();
    loop {
        let mut transaction = Transaction::on(server.client().await?);
        let outcome = send_again_once(&mut transaction, org, uuid, position, now).await;
        if let Some(done) = tries.settle(transaction, outcome).await {
            return done;
        }
    }
}

async fn send_again_once(
    transaction: &mut Transaction,
    org: OrgId,
    uuid: &str,
    position: i64,
    now: Time,
) -> Try<Again> {
    let Some(of) = lock(transaction, org, uuid).await? else { return Ok(Again::NoSubscription) };
    let message = format!("SELECT position, NULL::bigint, {REST} FROM messages WHERE org = $1 AND position = $2");
    let mut steps = vec![Step::new(&message, vec![Box::new(org), Box::new(position)])];
    steps.extend(Traces::steps(org, position));
    let rows = transaction.fly(Frame::default(), &steps).await?;
    let Some((found, rest)) = rows.split_first() else { return Ok(Again::NotForIt) };
    let Some(message) = each(found, cells::message)?.pop() else { return Ok(Again::NotForIt) };
    if of.paused.is_some() {
        return Ok(Again::Paused);
    }
    let id = of.id;
    match Traces::read(rest, position)?.of(of).of(&message, now) {
        Stand::NotForIt => return Ok(Again::NotForIt),
        Stand::Waiting => return Ok(Again::Waiting),
        Stand::Delivered(_) | Stand::Retry(_) | Stand::Dead(_) | Stand::Forgotten => {}
    }
    // What is being replayed has it for other events, and is under way.
    let sql = "SELECT id FROM ranges WHERE org = $1 AND subscription = $2 AND replaying";
    let step = Step::new(sql, vec![Box::new(org), Box::new(id)]);
    let mut rows = transaction.fly(Frame::default(), &[step]).await?;
    let replayed: Vec<i64> = each(&rows.pop().unwrap_or_default(), |cells| cells.next())?;
    take_out(transaction, (org, id), &BTreeSet::from([position]), &replayed).await?;
    let steps = [
        Step::new(AGAIN, vec![Box::new(org), Box::new(id), Box::new(position), Box::new(now.micros())]),
        Step::new(CHANGED, vec![Box::new(org), Box::new(id)]),
    ];
    transaction.fly(Frame { begin: None, commit: true }, &steps).await?;
    Ok(Again::Sent)
}
