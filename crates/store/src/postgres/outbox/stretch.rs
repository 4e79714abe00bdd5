//! What a subscription gets of a stretch of the log, as SQL.
//!
//! A stretch is a range, or the part of the log after a subscription's cursor. In these statements it is a row `t`
//! (`org`, `subscription`, `uuid`, `after`, `last`, `since`, `dead`, `tests`, `events`) for a subscription `s`.
//! `events` lists its events, or is NULL for all. `tests` is true if test events, which go to every subscription, are
//! included: only in messages still to be sent, because a paused subscription does not miss them. The members of a
//! stretch are the messages between `after` and `last` that the subscription gets and that are not among its failures,
//! which are counted separately.

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

/// The number of members of a stretch `t`. If `events` is NULL, only the few exceptions are counted.
pub(super) fn count() -> String {
    let within = "m.org = t.org AND m.position > t.after AND m.position <= t.last";
    format!(
        "(CASE WHEN t.events IS NULL THEN t.last - t.after
               ELSE (SELECT COALESCE(sum(c.messages), 0)::bigint
                     FROM (SELECT DISTINCT unnest(t.events) AS event) e
                     CROSS JOIN LATERAL (
                         SELECT count(*) AS messages FROM messages m WHERE m.event = e.event AND {within}) c) END
          - (SELECT count(*) FROM messages m
             WHERE m.event = '{TO_THE_OTHERS}' AND m.subject = t.uuid AND {within}
               AND (t.events IS NULL OR m.event = ANY(t.events)))
          - (SELECT count(*) FROM messages m
             WHERE t.events IS NULL AND NOT t.tests AND m.event = '{TO_EVERYBODY}' AND {within})
          - (SELECT count(*) FROM failures f
             CROSS JOIN LATERAL (SELECT FROM messages m
                                 WHERE m.org = f.org AND m.position = f.position
                                   AND (t.events IS NULL AND (t.tests OR m.event <> '{TO_EVERYBODY}')
                                        OR m.event = ANY(t.events)) OFFSET 0) m
             WHERE f.org = t.org AND f.subscription = t.subscription AND f.position > t.after AND f.position <= t.last))"
    )
}

/// The columns that [`members`] returns.
pub(super) const LINE: &str = "m.position, m.event, m.event_id, m.account, m.recorded_at, m.effective_at";

/// The members of a stretch `t` that satisfy a condition; at most `limit`, by position, if there is a limit. Members
/// about one account are found through the account.
pub(super) fn members(account: Option<&str>, condition: &str, limit: Option<&str>) -> String {
    let first = limit.map(|limit| format!("ORDER BY m.position LIMIT {limit}")).unwrap_or_default();
    let within = format!(
        "m.org = t.org AND m.position > t.after AND m.position <= t.last AND {is_for_it} AND {condition}
         AND NOT EXISTS (SELECT FROM failures f
                         WHERE f.org = t.org AND f.subscription = t.subscription AND f.position = m.position)",
        is_for_it = is_for_it(),
    );
    if let Some(account) = account {
        return format!(
            "SELECT {LINE} FROM messages m
             WHERE m.account = {account} AND (t.events IS NULL OR m.event = ANY(t.events)) AND {within} {first}"
        );
    }
    format!(
        "(SELECT {LINE} FROM messages m WHERE t.events IS NULL AND {within} {first})
         UNION ALL
         (SELECT m.* FROM (SELECT DISTINCT unnest(t.events) AS event) e
          CROSS JOIN LATERAL (SELECT {LINE} FROM messages m WHERE m.event = e.event AND {within} {first}) m)"
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
