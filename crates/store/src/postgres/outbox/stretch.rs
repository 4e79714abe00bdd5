//! What a subscription gets of a stretch of the log, as SQL.
//!
//! A stretch is a range, or the part of the log after a subscription's cursor. In these statements it is a row `t`
//! (`org`, `subscription`, `uuid`, `after`, `last`, `since`, `dead`, `tests`, `events`) for a subscription `s`.
//! `events` lists its events, or is NULL for all. `tests` is true if test events, which go to every subscription, are
//! included: only in messages still to be sent, because a paused subscription does not miss them. The members of a
//! stretch are the messages between `after` and `last` that the subscription gets and that are not among its failures,
//! which are counted separately.
//!
//! A row of several messages is a candidate as long as one of its messages is a member. All its messages have the same
//! account and, as far as it matters here, the same times; none of them is of an event that is left out of some
//! stretches. Their events are in `message_events`.

use super::super::grouped_messages::{ROW_ENDS_WITHIN, is_of_event, positions_of, positions_of_event, row_of};
use crate::outbox::{TO_EVERYBODY, TO_THE_OTHERS};

/// The events of a stretch, optionally limited to the event `only`, if that is not NULL. `tests` says whether test
/// events are included.
fn events(filter: &str, tests: &str, only: Option<&str>) -> String {
    let all = format!(
        "CASE WHEN {filter} IS NULL THEN NULL
              WHEN {tests} THEN {filter} || ARRAY['{TO_EVERYBODY}']
              ELSE array_remove({filter}, '{TO_EVERYBODY}') END"
    );
    let Some(only) = only else { return all };
    format!(
        "CASE WHEN {only}::text IS NULL THEN {all}
              WHEN {only} = '{TO_EVERYBODY}' THEN CASE WHEN {tests} THEN ARRAY[{only}::text] ELSE ARRAY[]::text[] END
              WHEN {filter} IS NULL OR {only} = ANY({filter}) THEN ARRAY[{only}::text]
              ELSE ARRAY[]::text[] END"
    )
}

/// The stretches of a subscription `s`, limited to positions beyond one.
pub(super) fn stretches(beyond: &str, only_event: Option<&str>) -> String {
    format!(
        "SELECT s.org, s.id AS subscription, s.uuid, GREATEST(r.after, {beyond}) AS after, r.last, r.since,
                NOT r.replaying AS dead, false AS tests, {of_range} AS events
         FROM ranges r WHERE r.org = s.org AND r.subscription = s.id
         UNION ALL
         SELECT s.org, s.id, s.uuid, GREATEST(s.cursor, {beyond}), h.head, s.paused_at, s.paused_at IS NOT NULL,
                s.paused_at IS NULL, {of_log}
         FROM log_heads h WHERE h.org = s.org AND h.head > s.cursor",
        of_range = events("r.filter", "false", only_event),
        of_log = events("s.filter", "s.paused_at IS NULL", only_event),
    )
}

/// The condition that a message `m` in a stretch `t` is not about the subscription itself, and not a test event unless
/// `t.tests` is true.
fn is_for_it() -> String {
    format!("NOT (m.event = '{TO_THE_OTHERS}' AND m.subject = t.uuid) AND (t.tests OR m.event <> '{TO_EVERYBODY}')")
}

/// The condition that a message at a position is among the failures.
fn is_failed(position: &str) -> String {
    format!(
        "EXISTS (SELECT FROM failures f
                 WHERE f.org = t.org AND f.subscription = t.subscription AND f.position = {position})"
    )
}

/// The number of members of a stretch `t`. If `events` is NULL, only the few exceptions are counted.
pub(super) fn count() -> String {
    let within = "m.org = t.org AND m.event <> '' AND m.position > t.after AND m.position <= t.last";
    let of_events = is_of_event("f.position", "= ANY(t.events)");
    let row = row_of("f.org", "f.position");
    format!(
        "(CASE WHEN t.events IS NULL THEN t.last - t.after
               ELSE (SELECT COALESCE(sum(c.messages), 0)::bigint
                     FROM (SELECT DISTINCT unnest(t.events) AS event) e
                     CROSS JOIN LATERAL (
                         SELECT count(*) AS messages FROM message_groups m WHERE m.event = e.event AND {within}
                         UNION ALL
                         -- The bits of the mask within the stretch.
                         SELECT sum(bit_count(((v.mask & ((1 << LEAST({ROW_ENDS_WITHIN}, v.position - t.after)::int) - 1))
                                               >> GREATEST(0, v.position - t.last)::int)::bit({ROW_ENDS_WITHIN})))
                         FROM message_events v
                         WHERE v.org = t.org AND v.event = e.event AND v.position > t.after
                           AND v.position < t.last + {ROW_ENDS_WITHIN}) c) END
          - (SELECT count(*) FROM message_groups m
             WHERE m.event = '{TO_THE_OTHERS}' AND m.subject = t.uuid AND {within}
               AND (t.events IS NULL OR m.event = ANY(t.events)))
          - (SELECT count(*) FROM message_groups m
             WHERE t.events IS NULL AND NOT t.tests AND m.event = '{TO_EVERYBODY}' AND {within})
          - (SELECT count(*) FROM failures f
             CROSS JOIN {row}
             WHERE f.org = t.org AND f.subscription = t.subscription AND f.position > t.after AND f.position <= t.last
               AND (t.events IS NULL AND (t.tests OR m.event <> '{TO_EVERYBODY}') OR {of_events})))"
    )
}

/// The columns of a row that [`members`] needs.
const ROW: &str = "m.position, m.size, m.event, m.event_id, m.account, m.recorded_at, m.effective_at";
/// The columns that [`members`] returns after the position. Event and event id are empty if the content of the row has
/// them.
const LINE: &str = "m.event, m.event_id, m.account, m.recorded_at, m.effective_at";

/// The members of a stretch `t` that satisfy a condition on their row; at most `limit`, by position, if there is a limit.
/// Members about one account are found through the account.
pub(super) fn members(account: Option<&str>, condition: &str, limit: Option<&str>) -> String {
    let first_of = |position: &str| limit.map(|limit| format!("ORDER BY {position} LIMIT {limit}")).unwrap_or_default();
    let (first, first_row) = (first_of("p.position"), first_of("m.position"));
    let rows = format!(
        "m.org = t.org AND m.position > t.after AND m.position < t.last + {ROW_ENDS_WITHIN}
         AND m.position - m.size < t.last AND {} AND {condition}",
        is_for_it()
    );
    let (positions, failed) = (positions_of("t.after", "t.last"), is_failed("p.position"));
    if let Some(account) = account {
        let of_events = is_of_event("p.position", "= ANY(t.events)");
        return format!(
            "SELECT p.position, {LINE} FROM message_groups m CROSS JOIN {positions}
             WHERE m.account = {account} AND {rows} AND (t.events IS NULL OR {of_events}) AND NOT {failed} {first}"
        );
    }
    let bits = positions_of_event("t.after", "t.last");
    format!(
        "(SELECT p.position, {LINE}
          FROM (SELECT {ROW} FROM message_groups m
                WHERE t.events IS NULL AND {rows} AND EXISTS (SELECT FROM {positions} WHERE NOT {failed}) {first_row}) m
          CROSS JOIN {positions} WHERE NOT {failed} {first})
         UNION ALL
         (SELECT m.* FROM (SELECT DISTINCT unnest(t.events) AS event) e
          CROSS JOIN LATERAL (
              (SELECT m.position, {LINE} FROM message_groups m
               WHERE m.event = e.event AND m.event <> '' AND m.org = t.org AND m.position > t.after
                 AND m.position <= t.last AND {is_for_it} AND {condition} AND NOT {failed_row} {first_row})
              UNION ALL
              (SELECT p.position, v.event, '', v.account, v.recorded_at, v.effective_at
               FROM (SELECT v.position, v.mask, v.event, m.account, m.recorded_at, m.effective_at
                     FROM message_events v
                     CROSS JOIN LATERAL (SELECT {LINE} FROM message_groups m
                                         WHERE m.org = v.org AND m.position = v.position OFFSET 0) m
                     WHERE v.org = t.org AND v.event = e.event AND v.position > t.after
                       AND v.position < t.last + {ROW_ENDS_WITHIN} AND {condition}
                       AND EXISTS (SELECT FROM {bits} WHERE NOT {failed}) {first_event}) v
               CROSS JOIN {bits} WHERE NOT {failed} {first})) m)",
        is_for_it = is_for_it(),
        failed_row = is_failed("m.position"),
        first_event = first_of("v.position"),
    )
}

/// Since when a member `m` of a dead stretch `t` is dead, as of a moment.
pub(super) fn dead_at(now: &str) -> String {
    format!("LEAST({now}::bigint, GREATEST(t.since, m.recorded_at, m.effective_at))")
}

/// Makes a range of the log after the cursor of a paused subscription `$1`, if the subscription gets anything of it.
pub(super) fn keep_missed() -> String {
    format!(
        "INSERT INTO ranges (org, subscription, after, last, filter, since, replaying)
         SELECT s.org, s.id, t.after, t.last, s.filter, t.since, false
         FROM subscriptions s
         CROSS JOIN LATERAL (SELECT s.org, s.id AS subscription, s.uuid, s.cursor AS after, h.head AS last,
                                    s.paused_at AS since, false AS tests, {events} AS events
                             FROM log_heads h WHERE h.org = s.org AND h.head > s.cursor) t
         CROSS JOIN LATERAL (SELECT FROM ({members}) m LIMIT 1) m
         WHERE s.id = $1",
        events = events("s.filter", "false", None),
        members = members(None, "true", Some("1")),
    )
}

/// One stretch that a subscription missed, given as parameters: `$1` organization, `$2` subscription, `$3` its uuid,
/// `$4` after, `$5` last, `$6` since, `$7` filter.
pub(super) fn given() -> String {
    format!(
        "SELECT $1::bigint AS org, $2::bigint AS subscription, $3::text AS uuid, $4::bigint AS after,
                $5::bigint AS last, $6::bigint AS since, false AS tests, {} AS events",
        events("$7::text[]", "false", None)
    )
}
