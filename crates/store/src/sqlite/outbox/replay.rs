//! Sends dead letters again.
//!
//! A failure becomes due. A range that matches entirely is marked as replaying. If only part of it matches, it is
//! split: by events if the filter has one (two ranges over the same positions, each with its own list of events), by
//! positions if it has a time or an account.

use super::dead::{self, Stretch, insert_range, stretches};
use super::run;
use super::selection::{events_within, members};
use super::subscriptions::{change, chosen};
use crate::Result;
use crate::outbox::{DeliveryFilter, ReplayCounts, Subscription};
use crate::records::OrgId;
use crate::sqlite::grouped_messages::{is_of_event, row_of};
use crate::sqlite::read::one;
use crate::sqlite::rows::place;
use daybook_engine::time::Time;
use rusqlite::{Connection, params};

pub(super) fn replay(
    connection: &Connection,
    org: OrgId,
    filter: &DeliveryFilter,
    now: Time,
    dry_run: bool,
) -> Result<ReplayCounts> {
    let mut done = ReplayCounts::default();
    for of in chosen(connection, org, filter.subscription)? {
        let stretches = stretches(connection, &of)?;
        let mut matching = count_failures(connection, &of, filter)?;
        for stretch in &stretches {
            matching += count_members(connection, &of, stretch, filter, now)?;
        }
        if of.paused.is_some() {
            done.left_paused += matching;
            continue;
        }
        done.replayed += matching;
        if !dry_run && matching > 0 {
            replay_failures(connection, &of, filter, now)?;
            for stretch in &stretches {
                replay_range(connection, &of, stretch, filter, now)?;
            }
            change(connection, &of, now)?;
        }
    }
    Ok(done)
}

/// The dead failures of a subscription that match.
fn failed() -> String {
    let (row, of_event) = (row_of("?1 + failures.position"), is_of_event("?1 + failures.position", "?5"));
    format!(
        "subscription = ?2 AND dead_at IS NOT NULL AND (?3 IS NULL OR dead_at >= ?3) AND (?4 IS NULL OR dead_at < ?4)
         AND ((?5 IS NULL AND ?6 IS NULL)
             OR EXISTS (SELECT 1 FROM (SELECT 1) CROSS JOIN {row}
                        WHERE (?5 IS NULL OR {of_event}) AND (?6 IS NULL OR m.account = ?6)))"
    )
}

fn count_failures(connection: &Connection, of: &Subscription, filter: &DeliveryFilter) -> Result<u64> {
    let (since, until) = (filter.since.map(Time::micros), filter.until.map(Time::micros));
    let params = params![place(of.org, 0), of.id, since, until, filter.event, filter.account];
    let sql = format!("SELECT count(*) FROM failures WHERE {}", failed());
    let count: Option<i64> = one(connection, &sql, params, |row| row.get(0))?;
    Ok(count.unwrap_or_default().unsigned_abs())
}

fn replay_failures(connection: &Connection, of: &Subscription, filter: &DeliveryFilter, now: Time) -> Result<()> {
    let (since, until) = (filter.since.map(Time::micros), filter.until.map(Time::micros));
    let params = params![place(of.org, 0), of.id, since, until, filter.event, filter.account, now.micros()];
    let sql = format!(
        "UPDATE failures SET attempts = 0, first_failed_at = NULL, retry_at = ?7, dead_at = NULL \
         WHERE {}",
        failed()
    );
    run(connection, &sql, params).map(|_| ())
}

/// Whether the filter depends on more than the event of a message.
fn looks_at_members(filter: &DeliveryFilter) -> bool {
    filter.account.is_some() || filter.since.is_some() || filter.until.is_some()
}

/// How many messages of a stretch match. A message with a failure of its own is counted with the failures.
fn count_members(
    connection: &Connection,
    of: &Subscription,
    stretch: &Stretch,
    filter: &DeliveryFilter,
    now: Time,
) -> Result<u64> {
    let (selection, ends) = (stretch.selection(of).narrowed(filter.event.as_deref()), (stretch.after, stretch.last));
    if !looks_at_members(filter) {
        return dead::count_unfailed(connection, of, &selection, ends);
    }
    let failed = dead::failed_within(connection, of, &selection, ends)?;
    let matching = dead::matching(connection, of, stretch, filter, now, 0, usize::MAX)?;
    Ok(matching.iter().filter(|(member, _)| !failed.contains(&member.position)).count() as u64)
}

/// Marks a range, or its matching part, as replaying.
fn replay_range(
    connection: &Connection,
    of: &Subscription,
    stretch: &Stretch,
    filter: &DeliveryFilter,
    now: Time,
) -> Result<()> {
    if filter.event.is_none() && !looks_at_members(filter) {
        run(connection, "UPDATE ranges SET replaying = 1 WHERE id = ?1", params![stretch.range])?;
        return Ok(());
    }
    if count_members(connection, of, stretch, filter, now)? == 0 {
        return Ok(());
    }
    let (mut asked_for, mut others) = match &filter.event {
        Some(event) => {
            let (of_event, of_others) = cut_by_event(connection, of, stretch, event)?;
            (vec![of_event], vec![of_others])
        }
        None => (vec![stretch.clone()], vec![]),
    };
    if looks_at_members(filter) {
        for part in std::mem::take(&mut asked_for) {
            let (matching, not_matching) = cut_by_members(connection, of, &part, filter, now)?;
            asked_for.extend(matching);
            others.extend(not_matching);
        }
    }
    run(connection, "DELETE FROM ranges WHERE id = ?1", params![stretch.range])?;
    asked_for.iter().try_for_each(|part| insert_range(connection, of, part, true))?;
    others.iter().try_for_each(|part| insert_range(connection, of, part, false))
}

/// Splits a stretch into an event and the other events.
fn cut_by_event(
    connection: &Connection,
    of: &Subscription,
    stretch: &Stretch,
    event: &str,
) -> Result<(Stretch, Stretch)> {
    let events = match &stretch.filter {
        Some(filter) => filter.clone(),
        None => events_within(connection, of.org, stretch.after, stretch.last)?,
    };
    let (matching, others) = events.into_iter().partition(|name| name == event);
    let part = |filter| Stretch { range: None, filter: Some(filter), ..stretch.clone() };
    Ok((part(matching), part(others)))
}

/// Splits a stretch into runs of matching messages and runs of others.
fn cut_by_members(
    connection: &Connection,
    of: &Subscription,
    stretch: &Stretch,
    filter: &DeliveryFilter,
    now: Time,
) -> Result<(Vec<Stretch>, Vec<Stretch>)> {
    let (mut asked_for, mut others) = (Vec::new(), Vec::new());
    let mut run: Option<(bool, i64)> = None;
    let mut after = stretch.after;
    let part = |after, last| Stretch { range: None, after, last, ..stretch.clone() };
    for member in members(connection, &stretch.selection(of), None, (stretch.after, stretch.last), usize::MAX)? {
        let about = filter.account.is_none() || filter.account == member.account;
        let matches = about && dead::in_time(filter, stretch.died(&member, now));
        if let Some((matched, last)) = run
            && matched != matches
        {
            if matched {
                asked_for.push(part(after, last))
            } else {
                others.push(part(after, last))
            }
            after = last;
        }
        run = Some((matches, member.position));
    }
    if let Some((matched, last)) = run {
        if matched { asked_for.push(part(after, last)) } else { others.push(part(after, last)) }
    }
    Ok((asked_for, others))
}
