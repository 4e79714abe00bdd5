//! Dead letters: failures, ranges, and what a paused subscription misses.

use super::run;
use super::selection::{self, LogRows, Member, Selection, members};
use super::subscriptions::{chosen, events_text, head, holes_text};
use crate::Result;
use crate::outbox::rows::{ahead, status};
use crate::outbox::{
    DeadLetter, DeliveryFilter, MessageSummary, OutOfOrder, Subscription, SubscriptionFilter, SubscriptionId, pieces,
};
use crate::records::OrgId;
use crate::rows::Cells;
use crate::sqlite::grouped_messages::{fill_in, is_of_event, row_of};
use crate::sqlite::read::{all, count};
use crate::sqlite::rows::{by_cells, place};
use daybook_engine::time::Time;
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};

/// How many members of a stretch are read at a time.
const PAGE: usize = 1_000;

/// A stretch of the log that a subscription did not get.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    /// The number of the range; `None` for the log after the cursor of a paused subscription.
    pub(super) range: Option<i64>,
    /// The position before its first.
    pub(super) after: i64,
    /// Its last position.
    pub(super) last: i64,
    /// Which events of it; `None` for all.
    pub(super) filter: Option<Vec<String>>,
    /// Since when it is dead.
    pub(super) since: Time,
    /// Positions of it that were sent out of order.
    pub(super) ahead: OutOfOrder,
}

impl Stretch {
    /// The messages of it that the subscription gets.
    pub(super) fn selection<'a>(&'a self, of: &'a Subscription) -> Selection<'a> {
        Selection::of(SubscriptionFilter { filter: self.filter.as_deref(), missed: true, ..of.subscription_filter() })
    }

    /// Since when a message of it is dead.
    pub(super) fn died(&self, member: &Member, now: Time) -> Time {
        now.min(self.since.max(member.moment))
    }
}

/// The ranges of a subscription, by number.
pub(super) fn ranges(connection: &Connection, of: SubscriptionId, replaying: bool) -> Result<Vec<Stretch>> {
    let sql = "SELECT id, after, last, events, since, reached, holes FROM ranges INDEXED BY ranges_by_subscription \
               WHERE subscription = ?1 AND replaying = ?2 ORDER BY id";
    let stretch = |cells: &mut Cells<'_>| {
        Ok(Stretch {
            range: cells.next()?,
            after: cells.next()?,
            last: cells.next()?,
            filter: cells.list_or_none()?,
            since: cells.time()?,
            ahead: ahead(cells)?,
        })
    };
    all(connection, sql, params![of, replaying], by_cells(stretch))
}

/// All stretches of dead letters of a subscription.
pub(super) fn stretches(connection: &Connection, of: &Subscription) -> Result<Vec<Stretch>> {
    let mut found = ranges(connection, of.id, false)?;
    if let Some(pause) = &of.paused {
        let (last, filter, ahead) = (head(connection, of.org)?, of.filter.clone(), of.ahead.clone());
        found.push(Stretch { range: None, after: of.cursor, last, filter, since: pause.at, ahead });
    }
    Ok(found)
}

/// Stores a stretch as a dead range, unless it is empty.
pub(super) fn keep_range(connection: &Connection, of: &Subscription, stretch: &Stretch) -> Result<()> {
    insert_range(connection, of, stretch, false)
}

/// Stores a stretch as a range, unless it is empty.
pub(super) fn insert_range(
    connection: &Connection,
    of: &Subscription,
    stretch: &Stretch,
    replaying: bool,
) -> Result<()> {
    let Stretch { range: _, after, last, filter, since, ahead } = stretch;
    let selection = stretch.selection(of);
    if selection::positions(connection, &selection, (*after, *last), 1)?.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO ranges (subscription, after, last, events, since, replaying, reached, holes) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let (events, holes) = (events_text(filter.as_deref())?, holes_text(ahead)?);
    let params = params![of.id, after, last, events, since.micros(), replaying, ahead.reached, holes];
    run(connection, sql, params)?;
    Ok(())
}

/// Removes single positions from the ranges of a subscription, except from the ranges with these numbers. A range that
/// is split is deleted, and its pieces get new numbers.
pub(super) fn take_out(
    connection: &Connection,
    of: &Subscription,
    positions: &BTreeSet<i64>,
    except: &[i64],
) -> Result<()> {
    for replaying in [false, true] {
        for stretch in ranges(connection, of.id, replaying)? {
            let is_spared = stretch.range.is_some_and(|range| except.contains(&range));
            let Some(left) = pieces(stretch.after, stretch.last, positions).filter(|_| !is_spared) else { continue };
            run(connection, "DELETE FROM ranges WHERE id = ?1", params![stretch.range])?;
            for (after, last) in left {
                insert_range(connection, of, &Stretch { range: None, after, last, ..stretch.clone() }, replaying)?;
            }
        }
    }
    Ok(())
}

/// The positions of a stretch of the log that are selected and have a failure of their own: these count as failures,
/// not as part of the stretch.
pub(super) fn failed_within(
    connection: &Connection,
    of: &Subscription,
    selection: &Selection<'_>,
    (after, last): (i64, i64),
) -> Result<BTreeSet<i64>> {
    let sql = "SELECT position FROM failures WHERE subscription = ?1 AND position > ?2 AND position <= ?3 \
               ORDER BY position";
    let failed: Vec<i64> = all(connection, sql, params![of.id, after, last], |row| row.get(0))?;
    let mut rows = LogRows::of(connection, of.org);
    let mut found = BTreeSet::new();
    for position in failed {
        if rows.is_selected(selection, position)? == Some(true) {
            found.insert(position);
        }
    }
    Ok(found)
}

/// How many messages of a stretch of the log are selected and have no failure of their own.
pub(super) fn count_unfailed(
    connection: &Connection,
    of: &Subscription,
    selection: &Selection<'_>,
    (after, last): (i64, i64),
) -> Result<u64> {
    let all = selection::count(connection, selection, after, last)?;
    Ok(all.saturating_sub(failed_within(connection, of, selection, (after, last))?.len() as u64))
}

/// Whether the filter selects a moment.
pub(super) fn in_time(filter: &DeliveryFilter, moment: Time) -> bool {
    filter.since.is_none_or(|since| moment >= since) && filter.until.is_none_or(|until| moment < until)
}

/// The matching dead letters of a stretch, after a position, at most `limit`, with the moment they died.
pub(super) fn matching(
    connection: &Connection,
    of: &Subscription,
    stretch: &Stretch,
    filter: &DeliveryFilter,
    now: Time,
    after: i64,
    limit: usize,
) -> Result<Vec<(Member, Time)>> {
    let selection = stretch.selection(of).narrowed(filter.event.as_deref());
    let mut found = Vec::new();
    let mut after = after.max(stretch.after);
    while found.len() < limit {
        // Messages about an account are read all at once.
        let most = if filter.account.is_some() { usize::MAX } else { PAGE.min(limit) };
        let page = members(connection, &selection, filter.account.as_deref(), (after, stretch.last), most)?;
        let is_last = page.len() < most;
        after = page.last().map_or(after, |member| member.position);
        let dead = page.into_iter().map(|member| {
            let died = stretch.died(&member, now);
            (member, died)
        });
        found.extend(dead.filter(|(_, died)| in_time(filter, *died)));
        if is_last {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

fn failed_sql() -> String {
    let (row, of_event) = (row_of("?1 + f.position"), is_of_event("?1 + f.position", "?5"));
    format!(
        "SELECT f.position, m.account, m.event, m.event_id, f.dead_at, f.attempts, f.reason, f.status
         FROM failures f CROSS JOIN {row}
         WHERE f.subscription = ?2 AND f.position > ?3 AND f.dead_at IS NOT NULL
             AND (?5 IS NULL OR {of_event}) AND (?6 IS NULL OR m.account = ?6)
             AND (?7 IS NULL OR f.dead_at >= ?7) AND (?8 IS NULL OR f.dead_at < ?8)
         ORDER BY f.position LIMIT ?4"
    )
}

fn failed(
    connection: &Connection,
    of: &Subscription,
    filter: &DeliveryFilter,
    after: i64,
    limit: usize,
) -> Result<Vec<DeadLetter>> {
    let (since, until) = (filter.since.map(Time::micros), filter.until.map(Time::micros));
    let params = params![place(of.org, 0), of.id, after, count(limit), filter.event, filter.account, since, until];
    let read = |cells: &mut Cells<'_>| {
        let (position, account) = (cells.next()?, cells.text_or_none()?);
        let (event, event_id, dead_at) = (cells.next()?, cells.next()?, cells.time()?);
        let about = about(of, Member { position, account, event, event_id, moment: dead_at });
        Ok(DeadLetter { about, dead_at, attempts: cells.next()?, reason: cells.next()?, status: status(cells)? })
    };
    all(connection, &failed_sql(), params, by_cells(read))
}

fn about(of: &Subscription, member: Member) -> MessageSummary {
    let Member { position, account, event, event_id, moment: _ } = member;
    MessageSummary {
        subscription: of.id,
        uuid: of.uuid.clone(),
        url: of.url.clone(),
        position,
        event,
        event_id,
        account,
    }
}

pub(super) fn letters(
    connection: &Connection,
    org: OrgId,
    filter: &DeliveryFilter,
    now: Time,
    after: Option<(i64, SubscriptionId)>,
    limit: usize,
) -> Result<Vec<DeadLetter>> {
    // A message that failed and is also in a stretch is shown as a failure.
    let mut letters = BTreeMap::new();
    for of in chosen(connection, org, filter.subscription)? {
        let after = after.map_or(0, |(position, id)| if of.id > id { position - 1 } else { position });
        for letter in failed(connection, &of, filter, after, limit)? {
            letters.insert((letter.about.position, of.id), letter);
        }
        for stretch in stretches(connection, &of)? {
            for (member, dead_at) in matching(connection, &of, &stretch, filter, now, after, limit)? {
                letters.entry((member.position, of.id)).or_insert_with(|| DeadLetter {
                    about: about(&of, member),
                    dead_at,
                    attempts: 0,
                    reason: None,
                    status: None,
                });
            }
        }
    }
    let mut letters: Vec<DeadLetter> = letters.into_values().take(limit).collect();
    fill_in(connection, org, letters.iter_mut().map(|letter| &mut letter.about))?;
    Ok(letters)
}
