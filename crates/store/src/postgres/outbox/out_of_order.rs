//! Messages that were sent out of order before a subscription is paused.
//!
//! A sender has several messages in flight, so some after the cursor are finished while earlier ones are not. When the
//! subscription is paused, everything after its cursor counts as dead letters, which must not include delivered
//! messages. So the cursor moves to the last finished position, and the holes before it become ranges of their own. The
//! same applies to ranges that were being replayed. A hole that was in flight meanwhile is removed when its result is
//! recorded.

use super::super::flight::Query;
use crate::outbox::SubscriptionId;
use crate::records::OrgId;
use daybook_engine::time::Time;

/// The holes of `t` after a position, as ranges without gaps.
macro_rules! holes_after {
    ($after:literal) => {
        concat!(
            "SELECT min(h.position) - 1 AS after, max(h.position) AS last
             FROM (SELECT u.position, u.position - row_number() OVER (ORDER BY u.position) AS run
                   FROM unnest(t.holes) AS u(position) WHERE u.position > ",
            $after,
            ") h GROUP BY h.run"
        )
    };
}

const PART_RANGES: &str = concat!(
    "WITH gone AS (DELETE FROM ranges WHERE org = $1 AND subscription = $2 AND reached > after RETURNING *)
     INSERT INTO ranges (org, subscription, after, last, filter, since, replaying)
     SELECT t.org, t.subscription, p.after, p.last, t.filter, t.since, t.replaying
     FROM gone t CROSS JOIN LATERAL (",
    holes_after!("t.after"),
    " UNION ALL SELECT t.reached, t.last WHERE t.reached < t.last) p
     ORDER BY p.last"
);

const KEEP_HOLES: &str = concat!(
    "INSERT INTO ranges (org, subscription, after, last, filter, since, replaying)
     SELECT t.org, t.id, p.after, p.last, t.filter, $3, false
     FROM subscriptions t CROSS JOIN LATERAL (",
    holes_after!("t.cursor"),
    ") p
     WHERE t.org = $1 AND t.id = $2 AND t.reached > t.cursor
     ORDER BY p.last"
);

const MOVE_CURSOR: &str = "
    UPDATE subscriptions SET cursor = GREATEST(cursor, reached), reached = 0, holes = '{}'
    WHERE org = $1 AND id = $2 AND reached > cursor";

/// Separates finished from unfinished positions, after the cursor of a paused subscription and in its ranges.
pub(super) fn part<'a>(org: OrgId, id: SubscriptionId, since: Time) -> [Query<'a>; 3] {
    [
        Query::new(PART_RANGES, vec![Box::new(org), Box::new(id)]),
        Query::new(KEEP_HOLES, vec![Box::new(org), Box::new(id), Box::new(since.micros())]),
        Query::new(MOVE_CURSOR, vec![Box::new(org), Box::new(id)]),
    ]
}
