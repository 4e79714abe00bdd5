//! Search for messages, and the state of each URL.

use super::dead::{Stretch, count_unfailed, failed_within, ranges};
use super::selection::{LogRows, Selection, positions};
use super::subscriptions::{every, head};
use crate::Result;
use crate::outbox::{
    CLOCK_SLACK_US, MOST_COUNTED, MessageFilter, MessageSearchResult, SEARCHED, Subscription, UrlMetrics,
};
use crate::records::{MessageRow, OrgId};
use crate::rows::MESSAGE;
use crate::sqlite::grouped_messages::{all_messages, last_row, stored, waiting_message};
use crate::sqlite::read::{all, count, one};
use crate::sqlite::rows::{LAST_ORG, LAST_POSITION, by_cells, place};
use daybook_engine::time::Time;
use rusqlite::{Connection, params};
use std::cmp::Reverse;

const RECORDED: &str = "(?4 IS NULL OR recorded_at >= ?4) AND (?5 IS NULL OR recorded_at < ?5)";

pub(super) fn log(
    connection: &Connection,
    org: OrgId,
    filter: &MessageFilter,
    before: i64,
    limit: usize,
) -> Result<MessageSearchResult> {
    if !(0..=LAST_ORG).contains(&org) {
        return Ok(MessageSearchResult::default());
    }
    let before = before.min(head(connection, org)? + 1);
    // An account has few messages, so all of them are read.
    let from = if filter.account.is_some() { 1 } else { (before - SEARCHED).max(1) };
    let (since, until) = (filter.since.map(Time::micros), filter.until.map(Time::micros));
    let index = if filter.account.is_some() { "INDEXED BY messages_by_account" } else { "NOT INDEXED" };
    let of_account =
        if filter.account.is_some() { "org = ?7 AND account = ?8" } else { "?7 IS NOT NULL AND ?8 IS NULL" };
    // The first and the last row may have the event only beyond the ends.
    let sql = format!(
        "SELECT {} FROM message_groups m {index} \
         WHERE place >= ?1 AND place <= ?9 AND place - size + 1 < ?2 AND {RECORDED} \
         AND (?3 IS NULL OR (size = 1 AND event = ?3) OR (size > 1 AND EXISTS \
              (SELECT 1 FROM message_events v WHERE v.event = ?3 AND v.place = m.place))) \
         AND {of_account} ORDER BY place DESC LIMIT ?6",
        stored()
    );
    let before = before.clamp(1, LAST_POSITION);
    let (first, end) = (place(org, from), place(org, before));
    let rows = count(limit).saturating_add(1);
    let params = params![first, end, filter.event, since, until, rows, org, filter.account, last_row(end)];
    let is_found = |message: &MessageRow| {
        message.position.is_some_and(|at| from <= at && at < before)
            && filter.event.as_ref().is_none_or(|event| *event == message.event)
    };
    let mut found: Vec<MessageRow> = all_messages(connection, org, &sql, params)?;
    found.retain(is_found);
    found.sort_unstable_by_key(|message| Reverse(message.position));
    found.truncate(limit);
    let found: Vec<(i64, MessageRow)> =
        found.into_iter().map(|message| (message.position.unwrap_or_default(), message)).collect();
    let next = match found.last() {
        Some((last, _)) if found.len() == limit => Some(*last),
        _ => Some(from),
    };
    let next = next.filter(|next| *next > 1);
    let Some(next) = next else { return Ok(MessageSearchResult { messages: found, next: None }) };
    let is_over = found.len() < limit && is_over(connection, org, (first, end), next, filter)?;
    Ok(MessageSearchResult { messages: found, next: Some(next).filter(|_| !is_over) })
}

/// Whether nothing before a range of positions can match: there is nothing, or it was recorded too early. A message
/// that went into the log when it was recorded shows by when all before it were recorded.
fn is_over(
    connection: &Connection,
    org: OrgId,
    (first, end): (i64, i64),
    next: i64,
    filter: &MessageFilter,
) -> Result<bool> {
    let next = place(org, next);
    let earlier = "SELECT 1 FROM message_groups WHERE place > ?1 AND place <= ?2 AND place - size + 1 < ?3 LIMIT 1";
    if one(connection, earlier, params![place(org, 0), last_row(next), next], |_| Ok(()))?.is_none() {
        return Ok(true);
    }
    let Some(since) = filter.since.filter(|_| filter.account.is_none()) else { return Ok(false) };
    let too_early = "SELECT 1 FROM message_groups WHERE place >= ?1 AND place < ?2 AND effective_at <= recorded_at \
                     AND recorded_at < ?3 LIMIT 1";
    let limit = since.micros() - CLOCK_SLACK_US;
    Ok(one(connection, too_early, params![first, end, limit], |_| Ok(()))?.is_some())
}

pub(super) fn waiting(
    connection: &Connection,
    org: OrgId,
    filter: &MessageFilter,
    cancelled: Option<bool>,
    before: i64,
    limit: usize,
) -> Result<MessageSearchResult> {
    let (since, until) = (filter.since.map(Time::micros), filter.until.map(Time::micros));
    let index = if filter.account.is_some() { "waiting_messages_by_account" } else { "waiting_messages_by_org" };
    let of_account = if filter.account.is_some() { "account = ?7" } else { "?7 IS NULL" };
    let sql = format!(
        "SELECT id, NULL, due_at, cancelled_at, {MESSAGE} FROM waiting_messages INDEXED BY {index} \
         WHERE org = ?1 AND id < ?2 AND (?3 IS NULL OR event = ?3) AND {RECORDED} AND {of_account} \
         AND (?8 IS NULL OR (cancelled_at IS NOT NULL) = ?8) ORDER BY id DESC LIMIT ?6"
    );
    let params = params![org, before, filter.event, since, until, count(limit), filter.account, cancelled];
    let read = by_cells(|cells| Ok((cells.next()?, waiting_message(cells)?)));
    let messages: Vec<(i64, MessageRow)> = all(connection, &sql, params, read)?;
    let next = messages.last().map(|(id, _)| *id).filter(|_| messages.len() == limit);
    Ok(MessageSearchResult { messages, next })
}

/// The state of every subscription.
pub(super) fn url_metrics(connection: &Connection) -> Result<Vec<UrlMetrics>> {
    let mut metrics = Vec::new();
    for is_paused in [false, true] {
        for of in every(connection, is_paused)? {
            metrics.push(url(connection, &of, is_paused)?);
        }
    }
    Ok(metrics)
}

fn url(connection: &Connection, of: &Subscription, is_paused: bool) -> Result<UrlMetrics> {
    let failures = |index: &str, which: &str| {
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM failures INDEXED BY {index} \
             WHERE subscription = ?1 AND {which} IS NOT NULL LIMIT ?2)"
        );
        one(connection, &sql, params![of.id, MOST_COUNTED], |row| row.get::<_, i64>(0)).map(Option::unwrap_or_default)
    };
    let mut pending = failures("failures_due", "retry_at")?.cast_unsigned();
    let mut dead = failures("failures_dead", "dead_at")?.cast_unsigned();
    let early = "SELECT min(position) FROM (SELECT position FROM failures INDEXED BY failures_due \
                 WHERE subscription = ?1 AND retry_at IS NOT NULL ORDER BY retry_at LIMIT ?2)";
    let mut oldest: Option<i64> = one(connection, early, params![of.id, 1_000], |row| row.get(0))?.flatten();
    let rest = (of.cursor, head(connection, of.org)?);
    let mut note = |selection: &Selection<'_>, stretch: (i64, i64), is_dead: bool| -> Result<()> {
        let there = bounded_count(connection, of, selection, stretch)?;
        if is_dead {
            dead += there;
            return Ok(());
        }
        pending += there;
        let first = positions(connection, selection, stretch, 1)?.pop();
        oldest = [oldest, first].into_iter().flatten().min();
        Ok(())
    };
    for is_dead in [true, false] {
        for range in ranges(connection, of.id, !is_dead)? {
            let Stretch { after, last, .. } = range;
            note(&range.selection(of), (after, last), is_dead)?;
        }
    }
    let reader = crate::outbox::SubscriptionFilter { missed: is_paused, ..of.subscription_filter() };
    note(&Selection::of(reader), rest, is_paused)?;
    let oldest_pending = match oldest {
        Some(position) => LogRows::of(connection, of.org).moment(position)?,
        None => None,
    };
    let pause_reason = of.paused.as_ref().map(|pause| pause.reason.clone());
    Ok(UrlMetrics { org: of.org, uuid: of.uuid.clone(), is_paused, pause_reason, pending, oldest_pending, dead })
}

/// A stretch of all events is measured by its ends; one of some events is counted up to a limit. A message with a
/// failure of its own is counted with the failures.
fn bounded_count(
    connection: &Connection,
    of: &Subscription,
    selection: &Selection<'_>,
    stretch: (i64, i64),
) -> Result<u64> {
    if selection.is_everything() {
        return count_unfailed(connection, of, selection, stretch);
    }
    let failed = failed_within(connection, of, selection, stretch)?.len();
    let most = MOST_COUNTED as usize + failed;
    let there = positions(connection, selection, stretch, most)?.len();
    Ok(there.saturating_sub(failed) as u64)
}
