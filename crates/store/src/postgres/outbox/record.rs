//! A node records deliveries.
//!
//! Everything happens in one transaction under the lock of the subscription's row, and only while the row has the
//! node's token: a slow node that lost its lease to another writes nothing. The message about a pause goes into the log
//! last.

use super::super::arrays::{column, micros};
use super::super::cells::Cells;
use super::super::flight::{Frame, Param, Query, Transaction};
use super::super::grouped_messages::is_unwanted;
use super::super::portfolio_queries::count_hours;
use super::super::publish::append;
use super::super::retry::{Try, retried};
use super::super::server::PostgresServer;
use super::SUBSCRIPTION;
use super::out_of_order::part;
use super::ranges::take_out;
use super::subscriptions::bury;
use crate::Result;
use crate::message_groups::NewRow;
use crate::outbox::rows::subscription as read;
use crate::outbox::{
    Deliveries, DeliveryAttempt, Failure, Fate, Pause, RangeProgress, Recorded, Subscription, SubscriptionId,
    TO_EVERYBODY,
};
use crate::records::{MessageRow, OrgId};
use daybook_engine::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const ATTEMPTS: &str = "
    INSERT INTO attempts (org, subscription, position, number, at, latency_us, status, error, response, next_at)
    SELECT $1, $2, unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::bigint[]), unnest($6::bigint[]),
        unnest($7::integer[]), unnest($8::text[]), unnest($9::text[]), unnest($10::bigint[])";

const FAILED: &str = "
    INSERT INTO failures (org, subscription, position, attempts, first_failed_at, retry_at, dead_at, reason, status,
        streak)
    SELECT $1, $2, unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::bigint[]), unnest($6::bigint[]),
        unnest($7::bigint[]), unnest($8::text[]), unnest($9::integer[]), unnest($10::bigint[])
    ON CONFLICT (org, subscription, position) DO UPDATE
    SET attempts = excluded.attempts, first_failed_at = excluded.first_failed_at, retry_at = excluded.retry_at,
        dead_at = excluded.dead_at, reason = excluded.reason, status = excluded.status, streak = excluded.streak";

const RECOVERED: &str = "
    DELETE FROM failures f USING (SELECT DISTINCT unnest($3::bigint[]) AS position) r
    WHERE f.org = $1 AND f.subscription = $2 AND f.position = r.position";

const RANGE: &str = "
    UPDATE ranges SET after = GREATEST(after, $4), reached = $5, holes = $6
    WHERE org = $1 AND subscription = $2 AND id = $3";

const ENDED: &str =
    "DELETE FROM ranges WHERE org = $1 AND subscription = $2 AND after >= last AND id = ANY($3::bigint[])";

const SUBSCRIBER: &str = "
    UPDATE subscriptions
    SET cursor = GREATEST(cursor, $3), last_success_at = GREATEST(last_success_at, $4),
        consecutive_errors = CASE WHEN version = $5 THEN $6 ELSE consecutive_errors END,
        streak = CASE WHEN version = $5 THEN $7 ELSE streak END,
        probe_at = CASE WHEN paused_at IS NOT NULL THEN probe_at WHEN $9::bigint IS NOT NULL THEN $12
                        WHEN version = $5 THEN $13 ELSE probe_at END,
        paused_reason = COALESCE(paused_reason, $8), paused_at = COALESCE(paused_at, $9), reached = $10, holes = $11
    WHERE org = $1 AND id = $2";

/// Failures that were just written for events that the filter excludes.
static UNWANTED: LazyLock<[String; 2]> = LazyLock::new(|| {
    let is_unwanted = is_unwanted("s.filter", "$4");
    [
        format!(
            "UPDATE attempts a SET next_at = NULL FROM failures f, subscriptions s
             WHERE f.org = $1 AND f.subscription = $2 AND f.position = ANY($3::bigint[]) AND f.retry_at IS NOT NULL
               AND s.id = f.subscription AND s.filter IS NOT NULL AND {is_unwanted}
               AND a.org = f.org AND a.position = f.position AND a.subscription = f.subscription
               AND a.next_at = f.retry_at"
        ),
        format!(
            "DELETE FROM failures f USING subscriptions s
             WHERE f.org = $1 AND f.subscription = $2 AND f.position = ANY($3::bigint[])
               AND s.id = f.subscription AND s.filter IS NOT NULL AND {is_unwanted}"
        ),
    ]
});

pub(super) async fn record(server: &PostgresServer, deliveries: &Deliveries) -> Result<Recorded> {
    retried!(server, transaction => record_once(&mut transaction, deliveries))
}

async fn record_once(transaction: &mut Transaction, deliveries: &Deliveries) -> Try<Recorded> {
    let Deliveries { org, subscription: id, .. } = *deliveries;
    let lock = format!(
        "SELECT {SUBSCRIPTION} FROM subscriptions s
         WHERE s.org = $1 AND s.id = $2 AND s.lease_token = $3 FOR UPDATE"
    );
    let step = Query::new(&lock, vec![Box::new(org), Box::new(id), Box::new(&*deliveries.token)]);
    let found = transaction.fly(Frame { begin: Some("BEGIN"), commit: false }, &[step]).await?;
    let Some(row) = found.iter().flatten().next() else { return Ok(Recorded::Lost) };
    let before = read(&mut Cells::of(row))?;

    if before.version != deliveries.version {
        // It may have been paused and resumed meanwhile: then a range contains the messages that were in flight.
        let own: Vec<i64> = deliveries.ranges.iter().map(|progress| progress.range).collect();
        take_out(transaction, (org, id), &deliveries.positions(), &own).await?;
    }
    let again = format!("SELECT {SUBSCRIPTION} FROM subscriptions s WHERE s.org = $1 AND s.id = $2");
    let pausing = deliveries.pause.as_ref().map(|(_, message)| NewRow::alone(MessageRow::clone(message)));
    let mut steps = steps(deliveries, &before);
    let place = steps.len();
    steps.push(Query::new(&again, vec![Box::new(org), Box::new(id)]));
    if let (None, Some(row)) = (&before.paused, &pausing) {
        steps.extend(append(&[(org, row)], &BTreeSet::new()));
    }
    let answers = transaction.fly(Frame { begin: None, commit: true }, &steps).await?;
    match answers.get(place).and_then(|rows| rows.first()) {
        Some(row) => Ok(Recorded::Kept(Box::new(read(&mut Cells::of(row))?))),
        None => Ok(Recorded::Lost),
    }
}

/// All steps except the message about a pause.
fn steps<'a>(deliveries: &'a Deliveries, before: &Subscription) -> Vec<Query<'a>> {
    let Deliveries { org, subscription: id, .. } = *deliveries;
    let new_pause = deliveries.pause.as_ref().map(|(pause, _)| pause).filter(|_| before.paused.is_none());
    let mut steps = Vec::new();
    if !deliveries.attempts.is_empty() {
        steps.push(attempts((org, id), &deliveries.attempts));
        steps.push(count_hours((org, id), &deliveries.attempts));
    }
    if !deliveries.failed.is_empty() {
        steps.push(failed((org, id), &deliveries.failed, before.paused.as_ref().or(new_pause)));
    }
    if !deliveries.recovered.is_empty() {
        steps.push(Query::new(RECOVERED, vec![Box::new(org), Box::new(id), Box::new(&*deliveries.recovered)]));
    }
    if before.filter != deliveries.filter {
        // The filter was narrowed while these were in flight.
        steps.extend(unwanted((org, id), &deliveries.failed));
    }
    for RangeProgress { range, through, ahead } in &deliveries.ranges {
        let moved: Vec<Param<'a>> = vec![
            Box::new(org),
            Box::new(id),
            Box::new(*range),
            Box::new(*through),
            Box::new(ahead.reached),
            Box::new(&*ahead.holes),
        ];
        steps.push(Query::new(RANGE, moved));
        steps.push(Query::new(ENDED, vec![Box::new(org), Box::new(id), Box::new(vec![*range])]));
    }
    steps.push(Query::new(
        SUBSCRIBER,
        vec![
            Box::new(org),
            Box::new(id),
            Box::new(deliveries.cursor),
            Box::new(micros(deliveries.last_success_at)),
            Box::new(deliveries.version),
            Box::new(deliveries.consecutive_errors),
            Box::new(deliveries.streak),
            Box::new(new_pause.map(|pause| &*pause.reason)),
            Box::new(new_pause.map(|pause| pause.at.micros())),
            Box::new(deliveries.ahead.reached),
            Box::new(&*deliveries.ahead.holes),
            Box::new(new_pause.and_then(|pause| pause.probe_at).map(Time::micros)),
            Box::new(micros(deliveries.held_until)),
        ],
    ));
    if let Some(pause) = new_pause {
        steps.extend(bury(org, id, pause));
    }
    if let Some(pause) = before.paused.as_ref().or(new_pause) {
        steps.extend(part(org, id, pause.at));
    }
    steps
}

pub(super) fn attempts((org, id): (OrgId, SubscriptionId), rows: &[DeliveryAttempt]) -> Query<'_> {
    Query::new(
        ATTEMPTS,
        vec![
            Box::new(org),
            Box::new(id),
            column(rows, |attempt| attempt.position),
            column(rows, |attempt| attempt.number),
            column(rows, |attempt| attempt.at.micros()),
            column(rows, |attempt| attempt.latency_us),
            column(rows, |attempt| attempt.status.map(i32::from)),
            Box::new(rows.iter().map(|attempt| attempt.error.as_deref()).collect::<Vec<_>>()),
            Box::new(rows.iter().map(|attempt| attempt.response.as_deref()).collect::<Vec<_>>()),
            column(rows, |attempt| micros(attempt.next_at)),
        ],
    )
}

/// Removes failures that the filter excludes, and the scheduled retry from their last attempts.
pub(super) fn unwanted<'a>((org, id): (OrgId, SubscriptionId), failed: &[Failure]) -> [Query<'a>; 2] {
    UNWANTED.each_ref().map(|sql| {
        let positions = column(failed, |failure| failure.position);
        Query::new(sql, vec![Box::new(org), Box::new(id), positions, Box::new(TO_EVERYBODY)])
    })
}

/// One row per position, with its last failure. Nothing is retried while the subscription is paused.
pub(super) fn failed<'a>(
    (org, id): (OrgId, SubscriptionId),
    failed: &'a [Failure],
    paused: Option<&Pause>,
) -> Query<'a> {
    let by_position: BTreeMap<i64, &'a Failure> = failed.iter().map(|failure| (failure.position, failure)).collect();
    let rows: Vec<&'a Failure> = by_position.into_values().collect();
    let fates: Vec<(Option<Time>, Option<Time>)> = rows
        .iter()
        .map(|failure| match (failure.fate, paused) {
            (Fate::Retry(_), Some(pause)) => (None, Some(pause.at)),
            (Fate::Retry(at), None) => (Some(at), None),
            (Fate::Dead(at), _) => (None, Some(at)),
        })
        .collect();
    Query::new(
        FAILED,
        vec![
            Box::new(org),
            Box::new(id),
            column(&rows, |failure| failure.position),
            column(&rows, |failure| failure.attempts),
            column(&rows, |failure| micros(failure.first_failed_at)),
            column(&fates, |(retry_at, _)| micros(*retry_at)),
            column(&fates, |(_, dead_at)| micros(*dead_at)),
            column(&rows, |&failure| &*failure.reason),
            column(&rows, |failure| failure.status.map(i32::from)),
            column(&rows, |failure| failure.streak),
        ],
    )
}
