//! Deletes expired rows.

use super::dead::{Stretch, keep_range, stretches};
use super::run;
use super::selection::members;
use super::subscriptions::every;
use crate::Result;
use crate::outbox::{Subscription, SubscriptionId};
use crate::records::OrgId;
use crate::sqlite::grouped_messages::{events_within, last_row};
use crate::sqlite::portfolio_queries;
use crate::sqlite::read::{all, count, one};
use crate::sqlite::rows::{place, position, time};
use daybook_engine::time::Time;
use rusqlite::{Connection, params};

pub(super) fn dead_letters(connection: &Connection, before: Time, limit: usize) -> Result<u64> {
    let mut removed = 0;
    for of in every(connection, false)?.into_iter().chain(every(connection, true)?) {
        removed += failures(connection, of.id, before, limit.saturating_sub(to_usize(removed)))?;
        for stretch in stretches(connection, &of)? {
            let left = limit.saturating_sub(to_usize(removed));
            if left == 0 {
                return Ok(removed);
            }
            if stretch.since <= before {
                removed += shorten(connection, &of, &stretch, before, left)?;
            }
        }
    }
    Ok(removed)
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn failures(connection: &Connection, of: SubscriptionId, before: Time, limit: usize) -> Result<u64> {
    let sql = "DELETE FROM failures WHERE subscription = ?1 AND position IN \
               (SELECT position FROM failures INDEXED BY failures_dead \
                WHERE subscription = ?1 AND dead_at <= ?2 ORDER BY dead_at LIMIT ?3)";
    run(connection, sql, params![of, before.micros(), count(limit)])
}

/// Removes expired messages from the beginning of a stretch. A message among them that has not expired (because it is
/// about a future moment) becomes a range of its own, so that the others can be removed.
fn shorten(connection: &Connection, of: &Subscription, stretch: &Stretch, before: Time, limit: usize) -> Result<u64> {
    let looked_at = members(connection, &stretch.selection(of), None, (stretch.after, stretch.last), limit)?;
    let is_expired = |moment: Time| moment <= before;
    let expired = looked_at.iter().filter(|member| is_expired(member.moment)).count() as u64;
    let last_expired = looked_at.iter().rev().find(|member| is_expired(member.moment));
    let mut through = last_expired.map_or(stretch.after, |member| member.position);
    for member in looked_at.iter().filter(|member| !is_expired(member.moment) && member.position < through) {
        let alone = Stretch { range: None, after: member.position - 1, last: member.position, ..stretch.clone() };
        keep_range(connection, of, &alone)?;
    }
    let all_expired = looked_at.last().is_none_or(|member| is_expired(member.moment));
    if all_expired && looked_at.len() < limit {
        through = match stretch.range {
            Some(_) => stretch.last,
            None => over_the_rest(connection, of.org, (through, stretch.last), before, limit)?,
        };
    }
    match stretch.range {
        Some(range) if through >= stretch.last => {
            run(connection, "DELETE FROM ranges WHERE id = ?1", params![range])?;
        }
        Some(range) => {
            run(connection, "UPDATE ranges SET after = ?2 WHERE id = ?1", params![range, through])?;
        }
        None => {
            run(connection, "UPDATE subscriptions SET cursor = ?2 WHERE id = ?1", params![of.id, through])?;
        }
    }
    Ok(expired)
}

/// How far a stretch without messages for the subscription can be shortened: past messages so old that they would have
/// expired too.
fn over_the_rest(
    connection: &Connection,
    org: OrgId,
    (after, last): (i64, i64),
    before: Time,
    limit: usize,
) -> Result<i64> {
    let rest = oldest(connection, (place(org, after), last_row(place(org, last))), limit)?;
    let old = rest.into_iter().take_while(|row| row.before < last && row.recorded_at <= before).last();
    Ok(old.map_or(after, |row| row.last.min(last)))
}

/// A row of messages.
struct OldRow {
    /// The position before its first message.
    before: i64,
    /// The position of its last message.
    last: i64,
    /// When its messages were recorded.
    recorded_at: Time,
}

/// The rows after one place and up to another, at most `limit`.
fn oldest(connection: &Connection, (after, through): (i64, i64), limit: usize) -> Result<Vec<OldRow>> {
    let sql =
        "SELECT place, size, recorded_at FROM message_groups WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3";
    all(connection, sql, params![after, through, count(limit)], |row| {
        let last = position(row.get(0)?);
        Ok(OldRow { before: last - row.get::<_, i64>(1)?, last, recorded_at: time(row, 2)? })
    })
}

/// Attempts are numbered as they are recorded, which is almost the order in which they began: the oldest are among the
/// first. Also deletes the counts of expired hours.
pub(super) fn attempts(connection: &Connection, before: Time, limit: usize) -> Result<u64> {
    portfolio_queries::forget_hours(connection, before)?;
    let sql = "DELETE FROM attempts WHERE id IN \
               (SELECT id FROM (SELECT id, at FROM attempts ORDER BY id LIMIT ?2) WHERE at < ?1)";
    run(connection, sql, params![before.micros(), count(limit)])
}

/// The last position of a log that is no longer needed.
const NOT_NEEDED: &str = "
    SELECT min(
        (SELECT head FROM log_heads WHERE org = ?1),
        coalesce((SELECT min(cursor) FROM subscriptions WHERE org = ?1), 9223372036854775807),
        coalesce((SELECT min((SELECT min(f.position) - 1 FROM failures f WHERE f.subscription = s.id))
            FROM subscriptions s WHERE s.org = ?1), 9223372036854775807),
        coalesce((SELECT min((SELECT min(r.after) FROM ranges r WHERE r.subscription = s.id))
            FROM subscriptions s WHERE s.org = ?1), 9223372036854775807))";

/// Removes the rows of a log up to a position.
fn remove_rows(connection: &Connection, org: OrgId, last: i64) -> Result<()> {
    let ends = (place(org, 0), place(org, last));
    let sql = "DELETE FROM message_groups WHERE place > ?1 AND place <= ?2";
    run(connection, sql, params![ends.0, ends.1])?;
    for (event, place, _) in events_within(connection, ends)? {
        run(connection, "DELETE FROM message_events WHERE event = ?1 AND place = ?2", params![event, place])?;
    }
    Ok(())
}

pub(super) fn messages(connection: &Connection, before: Time, limit: usize) -> Result<u64> {
    let orgs: Vec<OrgId> = all(connection, "SELECT org FROM log_heads ORDER BY org", [], |row| row.get(0))?;
    let mut removed = 0;
    for org in orgs {
        let not_needed: i64 = one(connection, NOT_NEEDED, [org], |row| row.get(0))?.unwrap_or_default();
        let first = oldest(connection, (place(org, 0), place(org, not_needed)), limit)?;
        let expired = first.into_iter().take_while(|row| row.recorded_at < before);
        let (mut last, mut messages) = (0, 0);
        for row in expired {
            // The row that reaches the limit goes too: fewer messages mean that there are no more.
            if messages >= limit as u64 {
                break;
            }
            (last, messages) = (row.last, messages + (row.last - row.before).unsigned_abs());
        }
        if messages > 0 {
            remove_rows(connection, org, last)?;
        }
        removed += messages;
    }
    let cancelled = "DELETE FROM waiting_messages WHERE id IN \
                     (SELECT id FROM waiting_messages INDEXED BY waiting_messages_cancelled \
                      WHERE cancelled_at < ?1 ORDER BY cancelled_at LIMIT ?2)";
    Ok(removed + run(connection, cancelled, params![before.micros(), count(limit)])?)
}
