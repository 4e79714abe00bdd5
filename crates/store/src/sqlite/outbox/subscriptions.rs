//! Subscriptions; pausing and resuming.

use super::dead;
use super::out_of_order;
use super::run;
use super::selection::Selection;
use crate::Result;
use crate::error::StoreError;
use crate::outbox::rows::subscription;
use crate::outbox::{
    Backlog, LATEST_ATTEMPTS, OutOfOrder, Pause, Subscription, SubscriptionFilter, SubscriptionId, SuppliedSettings,
    TO_EVERYBODY,
};
use crate::records::OrgId;
use crate::sqlite::grouped_messages::row_of;
use crate::sqlite::read::{all, count, one};
use crate::sqlite::rows::{by_cells, place, position};
use daybook_engine::time::Time;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

const COLUMNS: &str = "org, id, uuid, url, events, pause_reason, paused_at, consecutive_errors, streak, created_at, \
     last_success_at, cursor, version, from_console, max_per_second, max_in_flight, reached, holes, probe_at";

/// Holes as they are stored.
pub(super) fn holes_text(ahead: &OutOfOrder) -> Result<String> {
    serde_json::to_string(&ahead.holes).map_err(|error| StoreError::Broken(error.to_string()))
}

/// A list of events as it is stored.
pub(super) fn events_text(filter: Option<&[String]>) -> Result<Option<String>> {
    filter.map(serde_json::to_string).transpose().map_err(|error| StoreError::Broken(error.to_string()))
}

pub(super) fn of_organization(connection: &Connection, org: OrgId) -> Result<Vec<Subscription>> {
    let sql = format!("SELECT {COLUMNS} FROM subscriptions WHERE org = ?1 ORDER BY created_at, id");
    all(connection, &sql, [org], by_cells(subscription))
}

/// An organization's subscriptions, or only the requested one, by number.
pub(super) fn chosen(connection: &Connection, org: OrgId, asked: Option<SubscriptionId>) -> Result<Vec<Subscription>> {
    let sql = format!("SELECT {COLUMNS} FROM subscriptions WHERE org = ?1 AND (?2 IS NULL OR id = ?2) ORDER BY id");
    all(connection, &sql, params![org, asked], by_cells(subscription))
}

/// All subscriptions of the database, active or paused, by number.
pub(super) fn every(connection: &Connection, paused: bool) -> Result<Vec<Subscription>> {
    let sql = format!("SELECT {COLUMNS} FROM subscriptions WHERE (paused_at IS NOT NULL) = ?1 ORDER BY id");
    all(connection, &sql, [paused], by_cells(subscription))
}

pub(super) fn by_id(connection: &Connection, org: OrgId, id: SubscriptionId) -> Result<Option<Subscription>> {
    let sql = format!("SELECT {COLUMNS} FROM subscriptions WHERE id = ?2 AND org = ?1");
    one(connection, &sql, params![org, id], by_cells(subscription))
}

pub(super) fn by_uuid(connection: &Connection, org: OrgId, uuid: &str) -> Result<Option<Subscription>> {
    let sql = format!("SELECT {COLUMNS} FROM subscriptions WHERE org = ?1 AND uuid = ?2");
    one(connection, &sql, params![org, uuid], by_cells(subscription))
}

/// The last position of an organization's log.
pub(super) fn head(connection: &Connection, org: OrgId) -> Result<i64> {
    let sql = "SELECT head FROM log_heads WHERE org = ?1";
    one(connection, sql, [org], |row| row.get(0)).map(Option::unwrap_or_default)
}

const SUBSCRIBE: &str = "
    INSERT INTO subscriptions (org, uuid, url, events, pause_reason, paused_at, consecutive_errors, streak, created_at,
        last_success_at, cursor, version, from_console, max_per_second, max_in_flight, probe_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 1, ?12, ?13, ?14, ?17)
    ON CONFLICT (org, url) DO UPDATE SET events = excluded.events, version = version + 1,
        from_console = max(from_console, excluded.from_console),
        max_per_second = iif(?15, excluded.max_per_second, max_per_second),
        max_in_flight = iif(?16, excluded.max_in_flight, max_in_flight)";

pub(super) fn subscribe(
    connection: &Connection,
    asked: &Subscription,
    given: SuppliedSettings,
    most: usize,
) -> Result<Option<Subscription>> {
    if is_one_too_many(connection, asked, most)? {
        return Ok(None);
    }
    keep(connection, asked, given).map(Some)
}

fn is_one_too_many(connection: &Connection, asked: &Subscription, most: usize) -> Result<bool> {
    let sql = "SELECT count(*) >= ?3 AND count(*) FILTER (WHERE url = ?2) = 0 FROM subscriptions WHERE org = ?1";
    let params = params![asked.org, asked.url, count(most)];
    one(connection, sql, params, |row| row.get(0)).map(Option::unwrap_or_default)
}

/// Removes the previously saved URL of the console, unless it is the requested one.
pub(super) fn save_console_url(
    connection: &Connection,
    org: OrgId,
    asked: Option<&Subscription>,
    most: usize,
) -> Result<Option<Subscription>> {
    let sql = format!("SELECT {COLUMNS} FROM subscriptions WHERE org = ?1 AND from_console = 1");
    let before = one(connection, &sql, [org], by_cells(subscription))?;
    let replaced = before.filter(|before| asked.is_none_or(|asked| asked.url != before.url));
    let Some(asked) = asked else {
        replaced.map_or(Ok(()), |replaced| remove(connection, replaced.id))?;
        return Ok(None);
    };
    let room = most.saturating_add(usize::from(replaced.is_some()));
    let asked = Subscription { org, filter: None, from_console: true, ..asked.clone() };
    if is_one_too_many(connection, &asked, room)? {
        return Ok(None);
    }
    replaced.map_or(Ok(()), |replaced| remove(connection, replaced.id))?;
    keep(connection, &asked, SuppliedSettings::default()).map(Some)
}

fn by_url(connection: &Connection, asked: &Subscription) -> Result<Option<Subscription>> {
    let sql = format!("SELECT {COLUMNS} FROM subscriptions WHERE org = ?1 AND url = ?2");
    one(connection, &sql, params![asked.org, asked.url], by_cells(subscription))
}

fn keep(connection: &Connection, asked: &Subscription, given: SuppliedSettings) -> Result<Subscription> {
    let Subscription { org, url, .. } = asked;
    let before = by_url(connection, asked)?;
    let params = params![
        org,
        asked.uuid,
        url,
        events_text(asked.filter.as_deref())?,
        asked.paused.as_ref().map(|pause| &pause.reason),
        asked.paused.as_ref().map(|pause| pause.at.micros()),
        asked.consecutive_errors,
        asked.streak,
        asked.created_at.micros(),
        asked.last_success_at.map(Time::micros),
        head(connection, *org)?,
        asked.from_console,
        asked.max_per_second,
        asked.max_in_flight,
        given.max_per_second,
        given.max_in_flight,
        asked.paused.as_ref().and_then(|pause| pause.probe_at).map(Time::micros),
    ];
    run(connection, SUBSCRIBE, params)?;
    if before.is_some_and(|before| before.filter != asked.filter) {
        by_url(connection, asked)?.map_or(Ok(()), |now| narrow(connection, &now))?;
    }
    by_url(connection, asked)?.ok_or_else(|| StoreError::Broken("a subscription was not stored".to_owned()))
}

/// Retries and dead letters for events that the filter excludes. A row of one message without an event is one of several
/// whose size is wrong.
fn unwanted() -> String {
    format!(
        "FROM failures WHERE subscription = ?2 AND (?5 IS NULL OR position = ?5)
             AND EXISTS (SELECT 1 FROM (SELECT 1) CROSS JOIN {}
                 WHERE CASE WHEN m.size = 1
                     THEN m.event NOT IN ('', ?4) AND m.event NOT IN (SELECT value FROM json_each(?3))
                     ELSE NOT EXISTS (SELECT 1 FROM message_events v
                                      WHERE v.event IN (SELECT value FROM json_each(?3)) AND v.place = m.place
                                          AND (v.mask >> (m.place - ?1 - failures.position)) & 1) END)",
        row_of("?1 + failures.position")
    )
}

/// Deletes retries and dead letters that the filter no longer includes.
fn narrow(connection: &Connection, of: &Subscription) -> Result<()> {
    let Some(filter) = &of.filter else { return Ok(()) };
    drop_unwanted(connection, of, None)?;
    let [dead, replaying] = [false, true].map(|replaying| dead::ranges(connection, of.id, replaying));
    for range in dead?.into_iter().chain(replaying?) {
        let events = match &range.filter {
            Some(events) => events.iter().filter(|event| filter.contains(event)).cloned().collect(),
            None => filter.clone(),
        };
        run(connection, "DELETE FROM ranges WHERE id = ?1 AND ?2", params![range.range, events.is_empty()])?;
        let sql = "UPDATE ranges SET events = ?2 WHERE id = ?1";
        run(connection, sql, params![range.range, events_text(Some(&events))?])?;
    }
    Ok(())
}

/// Removes retries and dead letters, or the one at a position, that the filter excludes.
pub(super) fn drop_unwanted(connection: &Connection, of: &Subscription, position: Option<i64>) -> Result<()> {
    let events = events_text(of.filter.as_deref())?;
    if events.is_some() {
        // Removes the scheduled retry from their last attempts.
        let last = format!(
            "UPDATE attempts SET next_at = NULL WHERE subscription = ?2
                AND (place, next_at) IN (SELECT ?1 + position, retry_at {})",
            unwanted()
        );
        for sql in [last, format!("DELETE {}", unwanted())] {
            run(connection, &sql, params![place(of.org, 0), of.id, events, TO_EVERYBODY, position])?;
        }
    }
    Ok(())
}

pub(super) fn pause(connection: &Connection, org: OrgId, uuid: &str, pause: &Pause) -> Result<Option<Subscription>> {
    let Some(found) = by_uuid(connection, org, uuid)? else { return Ok(None) };
    if found.paused.as_ref().is_some_and(|before| !pause.replaces(before)) {
        return Ok(Some(found));
    }
    run(connection, "UPDATE subscriptions SET version = version + 1 WHERE id = ?1", params![found.id])?;
    stop(connection, found.id, pause)?;
    out_of_order::part(connection, &found, pause.at)?;
    by_id(connection, org, found.id)
}

/// Pauses a subscription: pending retries become dead.
pub(super) fn stop(connection: &Connection, id: SubscriptionId, pause: &Pause) -> Result<()> {
    let Pause { reason, at, probe_at } = pause;
    let sql = "UPDATE subscriptions SET pause_reason = ?2, paused_at = ?3, probe_at = ?4 WHERE id = ?1";
    run(connection, sql, params![id, reason, at.micros(), probe_at.map(Time::micros)])?;
    let sql = "UPDATE failures SET retry_at = NULL, dead_at = ?2 WHERE subscription = ?1 AND retry_at IS NOT NULL";
    run(connection, sql, params![id, at.micros()])?;
    let sql = "UPDATE ranges SET replaying = 0, since = ?2 WHERE subscription = ?1 AND replaying = 1";
    run(connection, sql, params![id, at.micros()])?;
    Ok(())
}

pub(super) fn resume(connection: &Connection, org: OrgId, uuid: &str, now: Time) -> Result<Option<Subscription>> {
    let Some(found) = by_uuid(connection, org, uuid)? else { return Ok(None) };
    if found.held_until.is_some() {
        change(connection, &found, now)?;
        return by_id(connection, org, found.id);
    }
    resume_found(connection, found).map(Some)
}

/// The new version shows the sender of an active subscription that there is something to send, and that it is no longer
/// on hold. Messages that were deferred by the hold are due now.
pub(super) fn change(connection: &Connection, of: &Subscription, now: Time) -> Result<()> {
    if let Some(held_until) = of.held_until {
        let sql = "UPDATE failures SET retry_at = min(retry_at, ?3) WHERE subscription = ?1 AND status = 429 AND retry_at <= ?2";
        run(connection, sql, params![of.id, held_until.micros(), now.micros()])?;
    }
    let sql = "UPDATE subscriptions SET version = version + 1, probe_at = NULL WHERE id = ?1";
    run(connection, sql, params![of.id]).map(|_| ())
}

/// Resumes a subscription unless it is active.
pub(super) fn resume_found(connection: &Connection, found: Subscription) -> Result<Subscription> {
    let Some(pause) = &found.paused else { return Ok(found) };
    let (org, head) = (found.org, head(connection, found.org)?);
    let missed = dead::Stretch {
        range: None,
        after: found.cursor,
        last: head,
        filter: found.filter.clone(),
        since: pause.at,
        ahead: found.ahead.clone(),
    };
    // Ranges of delivered messages that were to be sent again when it was paused stay, although those were delivered
    // before.
    let earlier: Vec<i64> = dead::ranges(connection, found.id, false)?.iter().filter_map(|range| range.range).collect();
    dead::keep_range(connection, &found, &missed)?;
    // A message that was sent while an earlier one was still in flight is delivered, or has a failure of its own.
    let mut sent = delivered_lately(connection, found.id)?;
    sent.extend(failed_beyond(connection, &found)?);
    dead::take_out(connection, &found, &sent, &earlier)?;
    let sql = "UPDATE subscriptions SET pause_reason = NULL, paused_at = NULL, consecutive_errors = 0, \
               streak = streak + 1, cursor = max(cursor, ?2), version = version + 1, probe_at = NULL WHERE id = ?1";
    run(connection, sql, params![found.id, head])?;
    Ok(by_id(connection, org, found.id)?.unwrap_or(found))
}

/// Positions after the cursor that have a failure of their own.
pub(super) fn failed_beyond(connection: &Connection, of: &Subscription) -> Result<BTreeSet<i64>> {
    let sql = "SELECT position FROM failures WHERE subscription = ?1 AND position > ?2";
    Ok(all(connection, sql, params![of.id, of.cursor], |row| row.get(0))?.into_iter().collect())
}

/// Positions that were delivered by the latest attempts.
fn delivered_lately(connection: &Connection, id: SubscriptionId) -> Result<BTreeSet<i64>> {
    let sql = "SELECT place FROM (SELECT place, error FROM attempts INDEXED BY attempts_by_subscription \
                                  WHERE subscription = ?1 ORDER BY id DESC LIMIT ?2) WHERE error IS NULL";
    let places = all(connection, sql, params![id, LATEST_ATTEMPTS], |row| row.get(0).map(position))?;
    Ok(places.into_iter().collect())
}

/// Attempts stay, hidden, until they expire: there may be very many.
fn remove(connection: &Connection, id: SubscriptionId) -> Result<()> {
    for sql in [
        "DELETE FROM failures WHERE subscription = ?1",
        "DELETE FROM ranges WHERE subscription = ?1",
        "DELETE FROM subscriptions WHERE id = ?1",
    ] {
        run(connection, sql, params![id])?;
    }
    Ok(())
}

pub(super) fn unsubscribe(connection: &Connection, org: OrgId, uuid: &str) -> Result<bool> {
    let Some(found) = by_uuid(connection, org, uuid)? else { return Ok(false) };
    remove(connection, found.id).map(|()| true)
}

const FAILED: &str = "
    SELECT (SELECT count(*) FROM failures INDEXED BY failures_due WHERE subscription = ?1 AND retry_at IS NOT NULL),
        (SELECT count(*) FROM failures INDEXED BY failures_dead WHERE subscription = ?1 AND dead_at IS NOT NULL)";

pub(super) fn backlogs(connection: &Connection, org: OrgId) -> Result<Vec<(SubscriptionId, Backlog)>> {
    let head = head(connection, org)?;
    let subscriptions = of_organization(connection, org)?;
    subscriptions.iter().map(|of| Ok((of.id, backlog(connection, of, head)?))).collect()
}

fn backlog(connection: &Connection, of: &Subscription, head: i64) -> Result<Backlog> {
    let counted = one(connection, FAILED, params![of.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (mut pending, mut dead): (i64, i64) = counted.unwrap_or_default();
    let reader = SubscriptionFilter { missed: of.paused.is_some(), ..of.subscription_filter() };
    // A message that failed may also be in a stretch: while an earlier one is in flight, or if it was tried during a
    // pause.
    let count = |selection: &Selection<'_>, ends| {
        dead::count_unfailed(connection, of, selection, ends).map(|count| i64::try_from(count).unwrap_or(i64::MAX))
    };
    let open = count(&Selection::of(reader), (of.cursor, head))?;
    *(if of.paused.is_some() { &mut dead } else { &mut pending }) += open;
    for (replaying, range) in [(true, &mut pending), (false, &mut dead)] {
        for stretch in dead::ranges(connection, of.id, replaying)? {
            *range += count(&stretch.selection(of), (stretch.after, stretch.last))?;
        }
    }
    Ok(Backlog { pending: pending.unsigned_abs(), dead: dead.unsigned_abs() })
}
