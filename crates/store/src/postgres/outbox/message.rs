//! One message: its status for each subscription, and sending it again.

use super::super::audit;
use super::super::cells::{Cells, each};
use super::super::flight::{Frame, Param, Query, Transaction};
use super::super::grouped_messages::{Reading, each_message, messages_at, stored, stored_waiting};
use super::super::retry::{Try, retried};
use super::super::server::PostgresServer;
use super::SUBSCRIPTION;
use super::ranges::take_out;
use super::subscriptions::{changed, lock};
use crate::outbox::rows::{attempt, failure, subscription};
use crate::outbox::{
    DeliveryAttempt, DeliveryRecords, DeliveryStatus, Failure, RangeStatus, ResendResult, Subscription, SubscriptionId,
};
use crate::records::{MessageRow, OrgId};
use crate::{Audited, Result};
use daybook_engine::time::Time;
use std::collections::BTreeSet;
use tokio_postgres::Row;

pub(super) async fn by_event_id(
    server: &PostgresServer,
    org: OrgId,
    event_id: &str,
    of: Option<(&str, i64)>,
) -> Result<Option<MessageRow>> {
    let Some((account, sequence)) = of else {
        let sql = format!(
            "SELECT {} FROM message_groups WHERE org = $1 AND account IS NULL AND event_id = $2 LIMIT 1",
            stored()
        );
        let rows = server.query(&sql, &[&org, &event_id]).await?;
        return Ok(each_message(server, org, &rows).await?.pop());
    };
    let sql = format!(
        "(SELECT {} FROM message_groups WHERE org = $1 AND account = $2 AND sequence >= $3 ORDER BY sequence LIMIT 1)
         UNION ALL
         SELECT {} FROM waiting_messages WHERE org = $1 AND account = $2 AND sequence = $3",
        stored(),
        stored_waiting()
    );
    let rows = server.query(&sql, &[&org, &account, &sequence]).await?;
    let found = each_message(server, org, &rows).await?;
    Ok(found.into_iter().find(|message| message.sequence == sequence && message.event_id == event_id))
}

const FAILURES: &str = "
    SELECT s.id, f.position, f.attempts, f.first_failed_at, f.retry_at, f.dead_at, f.reason, f.status, f.streak
    FROM subscriptions s JOIN failures f ON f.org = s.org AND f.subscription = s.id AND f.position = ANY($2::bigint[])
    WHERE s.org = $1";

const RANGES: &str = "
    SELECT r.subscription, p.position, r.filter, r.since, r.replaying
    FROM ranges r JOIN unnest($2::bigint[]) AS p(position) ON r.after < p.position AND r.last >= p.position
    WHERE r.org = $1 ORDER BY r.id";

const ATTEMPTS: &str = "
    SELECT subscription, position, number, at, latency_us, status, error, response, next_at
    FROM attempts WHERE org = $1 AND position = ANY($2::bigint[]) ORDER BY id";

/// A subscription and a position.
type SubscriptionPosition = (SubscriptionId, i64);

/// The delivery records of messages, for all subscriptions.
struct Traces {
    failures: Vec<(SubscriptionPosition, Failure)>,
    ranges: Vec<(SubscriptionPosition, RangeStatus)>,
    attempts: Vec<(SubscriptionPosition, DeliveryAttempt)>,
}

impl Traces {
    fn steps<'a>(org: OrgId, positions: &[i64]) -> [Query<'a>; 3] {
        let params = |sql| Query::new(sql, vec![Box::new(org) as Param<'_>, Box::new(positions.to_vec())]);
        [FAILURES, RANGES, ATTEMPTS].map(params)
    }

    fn read(rows: &[Vec<Row>]) -> Result<Traces> {
        let of = |step: usize| rows.get(step).map_or(&[][..], Vec::as_slice);
        let key = |cells: &mut Cells<'_>| -> Result<SubscriptionPosition> { Ok((cells.next()?, cells.next()?)) };
        Ok(Traces {
            failures: each(of(0), |cells| {
                let of = key(cells)?;
                Ok(failure(cells, of.1)?.map(|failure| (of, failure)))
            })?
            .into_iter()
            .flatten()
            .collect(),
            ranges: each(of(1), |cells| {
                let of = key(cells)?;
                Ok((of, RangeStatus { filter: cells.list_or_none()?, since: cells.time()?, replaying: cells.next()? }))
            })?,
            attempts: each(of(2), |cells| {
                let of = key(cells)?;
                Ok((of, attempt(cells, of.1)?))
            })?,
        })
    }

    fn of(&self, subscription: Subscription, position: i64) -> DeliveryRecords {
        fn own<T: Clone>(all: &[(SubscriptionPosition, T)], asked: SubscriptionPosition) -> Vec<T> {
            all.iter().filter(|(of, _)| *of == asked).map(|(_, one)| one.clone()).collect()
        }
        let of = (subscription.id, position);
        DeliveryRecords {
            subscription,
            failure: own(&self.failures, of).pop(),
            ranges: own(&self.ranges, of),
            attempts: own(&self.attempts, of),
        }
    }
}

pub(super) async fn delivery_records(
    server: &PostgresServer,
    org: OrgId,
    positions: &[i64],
) -> Result<Vec<Vec<DeliveryRecords>>> {
    retried!(server, transaction => delivery_records_once(&mut transaction, org, positions))
}

/// Reads everything in one snapshot: a message must not seem absent while it moves from one table to another.
async fn delivery_records_once(
    transaction: &mut Transaction,
    org: OrgId,
    positions: &[i64],
) -> Try<Vec<Vec<DeliveryRecords>>> {
    let all = format!("SELECT {SUBSCRIPTION} FROM subscriptions s WHERE s.org = $1 ORDER BY s.created_at, s.id");
    let mut steps = vec![Query::new(&all, vec![Box::new(org)])];
    steps.extend(Traces::steps(org, positions));
    let frame = Frame { begin: Some("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), commit: true };
    let rows = transaction.fly(frame, &steps).await?;
    let Some((subscriptions, rest)) = rows.split_first() else { return Ok(Vec::new()) };
    let traces = Traces::read(rest)?;
    let subscriptions: Vec<Subscription> = each(subscriptions, subscription)?;
    let of = |position: &i64| subscriptions.iter().map(|of| traces.of(of.clone(), *position)).collect();
    Ok(positions.iter().map(of).collect())
}

/// A failure that was counted keeps its series of failures; others were counted in none.
const AGAIN: &str = "
    INSERT INTO failures (org, subscription, position, attempts, first_failed_at, retry_at, dead_at, reason, status,
        streak)
    VALUES ($1, $2, $3, 0, NULL, $4, NULL, '', NULL, -1)
    ON CONFLICT (org, subscription, position) DO UPDATE
    SET attempts = 0, first_failed_at = NULL, retry_at = excluded.retry_at, dead_at = NULL";

pub(super) async fn send_again(
    server: &PostgresServer,
    org: OrgId,
    uuid: &str,
    position: i64,
    now: Time,
    audit: Audited<'_>,
) -> Result<ResendResult> {
    retried!(server, transaction => send_again_once(&mut transaction, org, uuid, position, now, audit))
}

async fn send_again_once(
    transaction: &mut Transaction,
    org: OrgId,
    uuid: &str,
    position: i64,
    now: Time,
    audit: Audited<'_>,
) -> Try<ResendResult> {
    let Some(of) = lock(transaction, org, uuid).await? else { return Ok(ResendResult::NoSubscription) };
    let message = messages_at(&mut Reading::Within(transaction), org, &BTreeSet::from([position])).await?.pop();
    let Some(message) = message else { return Ok(ResendResult::NotForIt) };
    let rest = transaction.fly(Frame::default(), &Traces::steps(org, &[position])).await?;
    if of.paused.is_some() {
        return Ok(ResendResult::Paused);
    }
    let id = of.id;
    match Traces::read(&rest)?.of(of.clone(), position).of(&message, now) {
        DeliveryStatus::NotForIt => return Ok(ResendResult::NotForIt),
        DeliveryStatus::Waiting if of.held_until.is_some_and(|until| until > now) => {
            // It waits because the URL is on hold.
            let mut steps = changed(&of, now);
            steps.extend(audit::steps(audit));
            transaction.fly(Frame { begin: None, commit: true }, &steps).await?;
            return Ok(ResendResult::Sent);
        }
        DeliveryStatus::Waiting => return Ok(ResendResult::Waiting),
        DeliveryStatus::Delivered(_)
        | DeliveryStatus::Retry(_)
        | DeliveryStatus::Dead(_)
        | DeliveryStatus::Dropped
        | DeliveryStatus::Forgotten => {}
    }
    // Ranges being replayed contain it only for other events, and are in progress.
    let sql = "SELECT id FROM ranges WHERE org = $1 AND subscription = $2 AND replaying";
    let step = Query::new(sql, vec![Box::new(org), Box::new(id)]);
    let mut rows = transaction.fly(Frame::default(), &[step]).await?;
    let replayed: Vec<i64> = each(&rows.pop().unwrap_or_default(), |cells| cells.next())?;
    take_out(transaction, (org, id), &BTreeSet::from([position]), &replayed).await?;
    let mut steps =
        vec![Query::new(AGAIN, vec![Box::new(org), Box::new(id), Box::new(position), Box::new(now.micros())])];
    steps.extend(changed(&of, now));
    steps.extend(audit::steps(audit));
    transaction.fly(Frame { begin: None, commit: true }, &steps).await?;
    Ok(ResendResult::Sent)
}
