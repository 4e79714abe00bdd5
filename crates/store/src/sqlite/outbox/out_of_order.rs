//! Messages that were sent out of order before a subscription is paused.
//!
//! A sender has several messages in flight, so some after the cursor are finished while earlier ones are not. When the
//! subscription is paused, everything after its cursor counts as dead letters, which must not include delivered
//! messages. So the cursor moves to the last finished position, and the holes before it become ranges of their own. The
//! same applies to ranges that were being replayed. A hole that was in flight meanwhile is removed when its result is
//! recorded.

use super::dead::{self, Stretch, insert_range, keep_range};
use super::run;
use crate::Result;
use crate::outbox::{OutOfOrder, Subscription, without_gaps};
use daybook_engine::time::Time;
use rusqlite::{Connection, params};

/// Separates finished from unfinished positions, after the cursor of a paused subscription and in its ranges.
pub(super) fn part(connection: &Connection, of: &Subscription, since: Time) -> Result<()> {
    for range in dead::ranges(connection, of.id, false)?.iter().filter(|range| range.ahead.reached > range.after) {
        run(connection, "DELETE FROM ranges WHERE id = ?1", params![range.range])?;
        for (after, last) in unfinished(range.after, range.last, &range.ahead) {
            let rest = Stretch { range: None, after, last, ahead: OutOfOrder::default(), ..range.clone() };
            insert_range(connection, of, &rest, false)?;
        }
    }
    if of.ahead.reached <= of.cursor {
        return Ok(());
    }
    for (after, last) in unfinished(of.cursor, of.ahead.reached, &of.ahead) {
        let (filter, ahead) = (of.filter.clone(), OutOfOrder::default());
        keep_range(connection, of, &Stretch { range: None, after, last, filter, since, ahead })?;
    }
    let sql = "UPDATE subscriptions SET cursor = max(cursor, reached), reached = 0, holes = '[]' WHERE id = ?1";
    run(connection, sql, params![of.id]).map(|_| ())
}

/// The unfinished stretches between two positions.
fn unfinished(after: i64, last: i64, ahead: &OutOfOrder) -> Vec<(i64, i64)> {
    let holes = ahead.holes.iter().copied().filter(|hole| *hole > after && *hole <= last);
    let mut stretches = without_gaps(holes);
    stretches.extend((ahead.reached < last).then_some((ahead.reached.max(after), last)));
    stretches
}
