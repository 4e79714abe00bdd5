//! Tries one message of a paused subscription.

use super::dead::{Stretch, keep_range, take_out};
use super::record::{add_attempts, write_failures};
use super::run;
use super::subscriptions::{by_id, drop_unwanted, every, failed_beyond, resume_found};
use crate::Result;
use crate::outbox::{OutOfOrder, Probed, Recorded, Subscription};
use crate::sqlite::connection::broken;
use crate::sqlite::portfolio_queries;
use crate::sqlite::read::one;
use daybook_engine::time::Time;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// How many subscriptions have a probe due.
pub(super) fn due(connection: &Connection, now: Time) -> Result<i64> {
    let sql = "SELECT count(*) FROM subscriptions WHERE paused_at IS NOT NULL AND probe_at <= ?1";
    one(connection, sql, [now.micros()], |row| row.get(0)).map(Option::unwrap_or_default)
}

pub(super) fn claim(connection: &Connection, token: &str, now: Time, limit: usize) -> Result<Vec<Subscription>> {
    let is_due = |of: &Subscription| of.paused.as_ref().and_then(|pause| pause.probe_at).is_some_and(|at| at <= now);
    let due: Vec<Subscription> = every(connection, true)?.into_iter().filter(is_due).take(limit).collect();
    for of in &due {
        run(connection, "UPDATE subscriptions SET token = ?2 WHERE id = ?1", params![of.id, token])?;
    }
    Ok(due)
}

pub(super) fn record(connection: &Connection, probed: &Probed) -> Result<Recorded> {
    let Probed { org, subscription: id, token, attempt, failed, .. } = probed;
    let held = "SELECT 1 FROM subscriptions WHERE id = ?2 AND org = ?1 AND token = ?3";
    if one(connection, held, params![org, id, token], |_| Ok(()))?.is_none() {
        return Ok(Recorded::Lost);
    }
    let Some(before) = by_id(connection, *org, *id)? else { return Ok(Recorded::Lost) };
    let is_still_paused = before.paused.as_ref().is_some_and(|pause| probed.is_of(pause));
    let attempts = std::slice::from_ref(attempt);
    add_attempts(connection, *org, *id, attempts).map_err(broken)?;
    portfolio_queries::count_hours(connection, (*org, *id), attempts)?;
    let position = BTreeSet::from([attempt.position]);
    match failed {
        None => {
            let sql = "DELETE FROM failures WHERE subscription = ?1 AND position = ?2";
            run(connection, sql, params![id, attempt.position])?;
            let sql = "UPDATE subscriptions SET last_success_at = coalesce(max(last_success_at, ?2), ?2) WHERE id = ?1";
            run(connection, sql, params![id, attempt.at.micros()])?;
            let now = if is_still_paused { resume_found(connection, before)? } else { before };
            take_out(connection, &now, &position, &[])?;
            finish_beyond(connection, &now, attempt.position)?;
        }
        Some(failure) if is_still_paused => {
            write_failures(connection, *id, std::slice::from_ref(failure), None).map_err(broken)?;
            take_out(connection, &before, &position, &[])?;
            // The filter may have been narrowed while the message was in flight.
            drop_unwanted(connection, &before, Some(attempt.position))?;
            let sql = "UPDATE subscriptions SET probe_at = ?2, pause_reason = coalesce(?3, pause_reason) WHERE id = ?1";
            run(connection, sql, params![id, probed.probe_at.map(Time::micros), probed.reason])?;
        }
        // The pause has ended meanwhile. The message stays as it is, with one more attempt.
        Some(failure) => {
            let sql = "UPDATE failures SET attempts = ?3 WHERE subscription = ?1 AND position = ?2
                       AND attempts = ?3 - 1 AND first_failed_at IS NOT NULL";
            run(connection, sql, params![id, failure.position, failure.attempts])?;
        }
    }
    let now = by_id(connection, *org, *id)?;
    Ok(now.map_or(Recorded::Lost, |now| Recorded::Kept(Box::new(now))))
}

/// A message after the cursor was delivered although its subscription stays paused: the positions before it become a
/// range.
fn finish_beyond(connection: &Connection, of: &Subscription, position: i64) -> Result<()> {
    let Some(pause) = of.paused.as_ref().filter(|_| position > of.cursor) else { return Ok(()) };
    let (after, last, filter) = (of.cursor, position - 1, of.filter.clone());
    let missed = Stretch { range: None, after, last, filter, since: pause.at, ahead: OutOfOrder::default() };
    keep_range(connection, of, &missed)?;
    take_out(connection, of, &failed_beyond(connection, of)?, &[])?;
    run(connection, "UPDATE subscriptions SET cursor = ?2 WHERE id = ?1", params![of.id, position]).map(|_| ())
}
