//! Sends delivered messages again.
//!
//! The delivered messages are found through the attempts, from the last one back to the requested moment. They become
//! ranges that are being replayed: a single one if everything that the subscription gets was delivered, several if a
//! message in between was not.

use super::dead::{Stretch, insert_range, ranges};
use super::selection::{Selection, positions as selected_positions};
use super::subscriptions::{change, chosen};
use crate::Result;
use crate::outbox::{
    CLOCK_SLACK_US, DeliveryFilter, MOST_LOOKED_AT, OutOfOrder, ReplayCounts, Subscription, SubscriptionFilter,
    TO_EVERYBODY, runs,
};
use crate::records::{MessageRow, OrgId};
use crate::sqlite::grouped_messages::messages_at;
use crate::sqlite::read::all;
use crate::sqlite::rows::position;
use daybook_engine::time::Time;
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};

/// How many attempts are read at a time.
const PAGE: i64 = 5_000;
/// How many messages are read at a time.
const MESSAGES: usize = 500;

pub(super) fn replay(
    connection: &Connection,
    org: OrgId,
    filter: &DeliveryFilter,
    now: Time,
    dry_run: bool,
    most: usize,
) -> Result<Option<ReplayCounts>> {
    let mut done = ReplayCounts::default();
    let mut found = Vec::new();
    for of in chosen(connection, org, filter.subscription)? {
        let Some(positions) = delivered(connection, &of, filter, most)? else { return Ok(None) };
        let wanted = wanted(connection, &of, filter, positions)?;
        if of.paused.is_some() {
            done.left_paused += wanted.len() as u64;
        } else {
            done.replayed += wanted.len() as u64;
            found.push((of, wanted));
        }
    }
    if dry_run {
        return Ok(Some(done));
    }
    for (of, wanted) in found.iter().filter(|(_, wanted)| !wanted.is_empty()) {
        insert(connection, of, filter, wanted, now)?;
        change(connection, of, now)?;
    }
    Ok(Some(done))
}

/// The positions that a subscription accepted in the requested period; `None` if there are too many.
fn delivered(
    connection: &Connection,
    of: &Subscription,
    filter: &DeliveryFilter,
    most: usize,
) -> Result<Option<BTreeSet<i64>>> {
    let since = filter.since.map_or(i64::MIN, Time::micros);
    let until = filter.until.map_or(i64::MAX, Time::micros);
    let sql = "SELECT id, place, at, error IS NULL FROM attempts INDEXED BY attempts_by_subscription \
               WHERE subscription = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3";
    let (mut found, mut before, mut looked_at) = (BTreeSet::new(), i64::MAX, 0);
    loop {
        let page: Vec<(i64, i64, i64, bool)> = all(connection, sql, params![of.id, before, PAGE], |row| {
            Ok((row.get(0)?, position(row.get(1)?), row.get(2)?, row.get(3)?))
        })?;
        looked_at += page.len();
        let taken = page.iter().filter(|(_, _, at, ok)| *ok && (since..until).contains(at));
        found.extend(taken.map(|(_, position, _, _)| *position).filter(|position| *position <= of.cursor));
        if found.len() > most || looked_at > MOST_LOOKED_AT {
            return Ok(None);
        }
        let is_early = page.iter().all(|(_, _, at, _)| *at < since.saturating_sub(CLOCK_SLACK_US));
        match page.last() {
            Some((id, ..)) if !is_early => before = *id,
            _ => return Ok(Some(found)),
        }
    }
}

/// Those that match, with their events, and that are not to be sent again already.
fn wanted(
    connection: &Connection,
    of: &Subscription,
    filter: &DeliveryFilter,
    positions: BTreeSet<i64>,
) -> Result<BTreeMap<i64, String>> {
    let (Some(first), Some(last)) = (positions.first(), positions.last()) else { return Ok(BTreeMap::new()) };
    let failed = "SELECT position FROM failures WHERE subscription = ?1 AND position BETWEEN ?2 AND ?3";
    let failed: BTreeSet<i64> =
        all(connection, failed, params![of.id, first, last], |row| row.get(0))?.into_iter().collect();
    let mut stretches = ranges(connection, of.id, true)?;
    stretches.extend(ranges(connection, of.id, false)?);
    let mut wanted = BTreeMap::new();
    let positions: Vec<i64> = positions.difference(&failed).copied().collect();
    for some in positions.chunks(MESSAGES) {
        for message in messages_at(connection, of.org, &some.iter().copied().collect())? {
            let MessageRow { position: Some(position), event, subject, account, .. } = message else { continue };
            let waits = stretches.iter().any(|range| {
                let reader =
                    SubscriptionFilter { filter: range.filter.as_deref(), missed: true, ..of.subscription_filter() };
                range.after < position && position <= range.last && reader.gets(&event, &subject)
            });
            let is_asked_for = filter.event.as_ref().is_none_or(|asked| *asked == event)
                && filter.account.as_ref().is_none_or(|asked| Some(asked) == account.as_ref());
            if !waits && is_asked_for && event != TO_EVERYBODY {
                wanted.insert(position, event);
            }
        }
    }
    Ok(wanted)
}

fn insert(
    connection: &Connection,
    of: &Subscription,
    filter: &DeliveryFilter,
    wanted: &BTreeMap<i64, String>,
    now: Time,
) -> Result<()> {
    let events = events_of(of, filter, wanted);
    let selection =
        Selection::of(SubscriptionFilter { filter: events.as_deref(), missed: true, ..of.subscription_filter() });
    let (Some((first, _)), Some((last, _))) = (wanted.first_key_value(), wanted.last_key_value()) else {
        return Ok(());
    };
    let members = selected_positions(connection, &selection, (first - 1, *last), usize::MAX)?;
    for (after, last) in runs(members, &wanted.keys().copied().collect()) {
        let ahead = OutOfOrder::default();
        let stretch = Stretch { range: None, after, last, filter: events.clone(), since: now, ahead };
        insert_range(connection, of, &stretch, true)?;
    }
    Ok(())
}

/// The events of the ranges: messages of other events in between do not split them.
fn events_of(of: &Subscription, filter: &DeliveryFilter, wanted: &BTreeMap<i64, String>) -> Option<Vec<String>> {
    if of.filter.is_none() && filter.event.is_none() && filter.account.is_none() {
        return None;
    }
    let names: BTreeSet<&String> = wanted.values().collect();
    Some(names.into_iter().cloned().collect())
}
