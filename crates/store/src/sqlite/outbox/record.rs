//! Records deliveries.

use super::dead::take_out;
use super::out_of_order;
use super::run;
use super::subscriptions::{by_id, drop_unwanted, holes_text, stop};
use crate::Result;
use crate::message_groups::NewRow;
use crate::outbox::{Deliveries, DeliveryAttempt, Failure, Fate, Pause, RangeProgress, Recorded};
use crate::records::OrgId;
use crate::sqlite::connection::broken;
use crate::sqlite::log::Log;
use crate::sqlite::portfolio_queries;
use crate::sqlite::read::one;
use crate::sqlite::rows::place;
use daybook_engine::time::Time;
use rusqlite::{Connection, params};

pub(super) fn record(connection: &Connection, deliveries: &Deliveries) -> Result<Recorded> {
    let Deliveries { org, subscription, token, .. } = deliveries;
    let held = "SELECT 1 FROM subscriptions WHERE id = ?2 AND org = ?1 AND token = ?3";
    if one(connection, held, params![org, subscription, token], |_| Ok(()))?.is_none() {
        return Ok(Recorded::Lost);
    }
    let Some(before) = by_id(connection, *org, *subscription)? else { return Ok(Recorded::Lost) };
    let new_pause = deliveries.pause.as_ref().filter(|_| before.paused.is_none());
    let pause = before.paused.as_ref().or(new_pause.map(|(pause, _)| pause));

    add_attempts(connection, *org, *subscription, &deliveries.attempts).map_err(broken)?;
    portfolio_queries::count_hours(connection, (*org, *subscription), &deliveries.attempts)?;
    write_failures(connection, *subscription, &deliveries.failed, pause).map_err(broken)?;
    for position in &deliveries.recovered {
        let sql = "DELETE FROM failures WHERE subscription = ?1 AND position = ?2";
        run(connection, sql, params![subscription, position])?;
    }
    move_ranges(connection, deliveries)?;
    if before.version != deliveries.version {
        // It may have been paused and resumed meanwhile: then a range contains the messages that were in flight.
        let own: Vec<i64> = deliveries.ranges.iter().map(|progress| progress.range).collect();
        take_out(connection, &before, &deliveries.positions(), &own)?;
    }
    if before.filter != deliveries.filter {
        // The filter was narrowed while these were in flight.
        let failed = deliveries.failed.iter().map(|failure| Some(failure.position));
        failed.into_iter().try_for_each(|position| drop_unwanted(connection, &before, position))?;
    }
    let sql = "UPDATE subscriptions SET cursor = max(cursor, ?2),
            last_success_at = coalesce(max(last_success_at, ?3), ?3, last_success_at),
            consecutive_errors = iif(version = ?4, ?5, consecutive_errors), streak = iif(version = ?4, ?6, streak),
            reached = ?7, holes = ?8, probe_at = iif(version = ?4 AND paused_at IS NULL, ?9, probe_at)
        WHERE id = ?1";
    let params = params![
        subscription,
        deliveries.cursor,
        deliveries.last_success_at.map(Time::micros),
        deliveries.version,
        deliveries.consecutive_errors,
        deliveries.streak,
        deliveries.ahead.reached,
        holes_text(&deliveries.ahead)?,
        deliveries.held_until.map(Time::micros),
    ];
    run(connection, sql, params)?;
    if let Some((pause, message)) = new_pause {
        stop(connection, *subscription, pause)?;
        let mut log = Log::open(connection)?;
        log.announce(*org, &NewRow::alone(message.as_ref().clone()))?;
        log.close()?;
    }
    if let (Some(now), Some(pause)) = (by_id(connection, *org, *subscription)?, pause) {
        out_of_order::part(connection, &now, pause.at)?;
    }
    let now = by_id(connection, *org, *subscription)?;
    Ok(now.map_or(Recorded::Lost, |now| Recorded::Kept(Box::new(now))))
}

const ADD_ATTEMPT: &str = "
    INSERT INTO attempts (subscription, place, number, at, latency_us, status, error, response, next_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

pub(super) fn add_attempts(
    connection: &Connection,
    org: OrgId,
    subscription: i64,
    attempts: &[DeliveryAttempt],
) -> rusqlite::Result<()> {
    let mut add = connection.prepare_cached(ADD_ATTEMPT)?;
    for attempt in attempts {
        add.execute(params![
            subscription,
            place(org, attempt.position),
            attempt.number,
            attempt.at.micros(),
            attempt.latency_us,
            attempt.status,
            attempt.error,
            attempt.response,
            attempt.next_at.map(Time::micros),
        ])?;
    }
    Ok(())
}

const WRITE_FAILURE: &str = "
    INSERT INTO failures (subscription, position, attempts, first_failed_at, retry_at, dead_at, reason, status, streak)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT DO UPDATE SET attempts = excluded.attempts, first_failed_at = excluded.first_failed_at,
        retry_at = excluded.retry_at, dead_at = excluded.dead_at, reason = excluded.reason, status = excluded.status,
        streak = excluded.streak";

/// Nothing is retried while the subscription is paused.
pub(super) fn write_failures(
    connection: &Connection,
    subscription: i64,
    failed: &[Failure],
    pause: Option<&Pause>,
) -> rusqlite::Result<()> {
    let mut write = connection.prepare_cached(WRITE_FAILURE)?;
    for failure in failed {
        let (retry_at, dead_at) = match (failure.fate, pause) {
            (Fate::Retry(at), None) => (Some(at.micros()), None),
            (Fate::Retry(_), Some(pause)) => (None, Some(pause.at.micros())),
            (Fate::Dead(since), _) => (None, Some(since.micros())),
        };
        write.execute(params![
            subscription,
            failure.position,
            failure.attempts,
            failure.first_failed_at.map(Time::micros),
            retry_at,
            dead_at,
            failure.reason,
            failure.status,
            failure.streak,
        ])?;
    }
    Ok(())
}

/// Progress in a range counts even if the range is dead again by now.
fn move_ranges(connection: &Connection, deliveries: &Deliveries) -> Result<()> {
    for RangeProgress { range, through, ahead } in &deliveries.ranges {
        let sql = "DELETE FROM ranges WHERE id = ?1 AND subscription = ?2 AND last <= ?3";
        run(connection, sql, params![range, deliveries.subscription, through])?;
        let sql =
            "UPDATE ranges SET after = max(after, ?3), reached = ?4, holes = ?5 WHERE id = ?1 AND subscription = ?2";
        run(connection, sql, params![range, deliveries.subscription, through, ahead.reached, holes_text(ahead)?])?;
    }
    Ok(())
}
