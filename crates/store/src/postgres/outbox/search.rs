//! Search for messages, and the state of each URL.

use super::super::arrays::{limit as most, micros};
use super::super::cells::{each, maybe};
use super::super::grouped_messages::{ROW_ENDS_WITHIN, each_message, stored};
use super::super::server::PostgresServer;
use super::stretch;
use crate::Result;
use crate::message_groups::expand_waiting;
use crate::outbox::{CLOCK_SLACK_US, MOST_COUNTED, MessageFilter, MessageSearchResult, SEARCHED, UrlMetrics};
use crate::records::{MessageRow, OrgId};
use crate::rows::{self, MESSAGE};
use std::cmp::Reverse;

const RECORDED: &str = "($5::bigint IS NULL OR recorded_at >= $5) AND ($6::bigint IS NULL OR recorded_at < $6)";

pub(super) async fn log(
    server: &PostgresServer,
    org: OrgId,
    filter: &MessageFilter,
    before: i64,
    limit: usize,
) -> Result<MessageSearchResult> {
    let head = server.query_opt("SELECT head FROM log_heads WHERE org = $1", &[&org]).await?;
    let head: i64 = maybe(head, |cells| cells.next())?.unwrap_or(0);
    let before = before.min(head + 1);
    // An account has few messages, so all of them are read.
    let from = if filter.account.is_some() { 1 } else { (before - SEARCHED).max(1) };
    let of_account = if filter.account.is_some() { "account = $8" } else { "$8::text IS NULL" };
    // Events are looked for row by row, because of the offset: a hash would be of those of all organizations.
    let sql = format!(
        "SELECT {} FROM message_groups m
         WHERE org = $1 AND position >= $2 AND position < $3::bigint + {ROW_ENDS_WITHIN} AND position - size + 1 < $3::bigint
           AND {RECORDED} AND {of_account}
           AND ($4::text IS NULL OR size = 1 AND event = $4
                OR size > 1 AND EXISTS (SELECT FROM message_events v WHERE v.org = m.org AND v.event = $4
                                        AND v.position = m.position OFFSET 0))
         ORDER BY position DESC LIMIT $7",
        stored()
    );
    let (since, until, account) = (micros(filter.since), micros(filter.until), filter.account.as_deref());
    // The first and the last row may have the event only beyond the ends.
    let most = most(limit).saturating_add(1);
    let rows = server.query(&sql, &[&org, &from, &before, &filter.event, &since, &until, &most, &account]).await?;
    let is_found = |(position, message): &(i64, MessageRow)| {
        (from..before).contains(position) && filter.event.as_ref().is_none_or(|event| *event == message.event)
    };
    let found = each_message(server, org, &rows).await?.into_iter();
    let placed = found.map(|message| (message.position.unwrap_or_default(), message));
    let mut messages: Vec<(i64, MessageRow)> = placed.filter(is_found).collect();
    messages.sort_unstable_by_key(|(position, _)| Reverse(*position));
    messages.truncate(limit);
    let next = match messages.last() {
        Some((last, _)) if messages.len() == limit => *last,
        _ => from,
    };
    let is_over = next <= 1 || (messages.len() < limit && is_over(server, org, (from, before), next, filter).await?);
    Ok(MessageSearchResult { messages, next: Some(next).filter(|_| !is_over) })
}

/// Whether nothing before a range of positions can match: there is nothing, or it was recorded too early. A message
/// that went into the log when it was recorded shows by when all before it were recorded.
async fn is_over(
    server: &PostgresServer,
    org: OrgId,
    (from, before): (i64, i64),
    next: i64,
    filter: &MessageFilter,
) -> Result<bool> {
    let earlier = format!(
        "SELECT FROM message_groups WHERE org = $1 AND position < $2::bigint + {ROW_ENDS_WITHIN} AND position - size + 1 < $2::bigint
         LIMIT 1"
    );
    if server.query_opt(&earlier, &[&org, &next]).await?.is_none() {
        return Ok(true);
    }
    let Some(since) = filter.since.filter(|_| filter.account.is_none()) else { return Ok(false) };
    let too_early = "SELECT FROM message_groups WHERE org = $1 AND position >= $2 AND position < $3
                     AND effective_at <= recorded_at AND recorded_at < $4 LIMIT 1";
    let limit = since.micros() - CLOCK_SLACK_US;
    Ok(server.query_opt(too_early, &[&org, &from, &before, &limit]).await?.is_some())
}

pub(super) async fn waiting(
    server: &PostgresServer,
    org: OrgId,
    filter: &MessageFilter,
    cancelled: Option<bool>,
    before: i64,
    limit: usize,
) -> Result<MessageSearchResult> {
    let of_account = if filter.account.is_some() { "account = $3" } else { "$3::text IS NULL" };
    let sql = format!(
        "SELECT arrival, NULL::bigint, due_at, cancelled_at, {MESSAGE} FROM waiting_messages
         WHERE org = $1 AND arrival < $2 AND {of_account} AND ($4::text IS NULL OR event = $4) AND {RECORDED}
           AND ($8::boolean IS NULL OR (cancelled_at IS NOT NULL) = $8)
         ORDER BY arrival DESC LIMIT $7"
    );
    let (since, until, account) = (micros(filter.since), micros(filter.until), filter.account.as_deref());
    let rows =
        server.query(&sql, &[&org, &before, &account, &filter.event, &since, &until, &most(limit), &cancelled]).await?;
    let messages: Vec<(i64, MessageRow)> =
        each(&rows, |cells| Ok((cells.next()?, expand_waiting(rows::message(cells)?))))?;
    let next = messages.last().map(|(arrival, _)| *arrival).filter(|_| messages.len() == limit);
    Ok(MessageSearchResult { messages, next })
}

/// A range of all events is measured by its ends; one of some events is counted up to a limit.
fn bounded_count() -> String {
    let most = MOST_COUNTED.to_string();
    format!(
        "CASE WHEN t.events IS NULL THEN {measured}
              ELSE (SELECT count(*) FROM (SELECT FROM ({members}) m LIMIT {most}) c) END",
        measured = stretch::count(),
        members = stretch::members(None, "true", Some(&most)),
    )
}

pub(super) async fn url_metrics(server: &PostgresServer) -> Result<Vec<UrlMetrics>> {
    let failures = |which: &str| {
        format!(
            "(SELECT count(*) FROM (SELECT FROM failures f WHERE f.org = s.org AND f.subscription = s.id
              AND f.{which} IS NOT NULL LIMIT {MOST_COUNTED}) c)"
        )
    };
    let stretches = stretch::stretches("0", None);
    let sql = format!(
        "SELECT s.org, s.uuid, s.paused_at IS NOT NULL, s.paused_reason, {retries} + t.pending, {dead} + t.dead,
                (SELECT GREATEST(m.recorded_at, m.effective_at) FROM message_groups m
                 WHERE m.org = s.org AND m.position >= LEAST(
                     (SELECT min(f.position) FROM (
                          SELECT f.position FROM failures f
                          WHERE f.org = s.org AND f.subscription = s.id AND f.retry_at IS NOT NULL
                          ORDER BY f.retry_at LIMIT 1000) f),
                     (SELECT min(m.position) FROM ({stretches}) t CROSS JOIN LATERAL ({first}) m WHERE NOT t.dead))
                 ORDER BY m.position LIMIT 1)
         FROM subscriptions s
         CROSS JOIN LATERAL (
             SELECT COALESCE(sum(c.messages) FILTER (WHERE NOT c.dead), 0)::bigint AS pending,
                    COALESCE(sum(c.messages) FILTER (WHERE c.dead), 0)::bigint AS dead
             FROM (SELECT t.dead, {count} AS messages FROM ({stretches}) t) c) t
         ORDER BY s.id",
        retries = failures("retry_at"),
        dead = failures("dead_at"),
        first = stretch::members(None, "true", Some("1")),
        count = bounded_count(),
    );
    each(&server.query(&sql, &[]).await?, |cells| {
        let (org, uuid, is_paused, pause_reason) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
        let pending = cells.next::<i64>()?.max(0).cast_unsigned();
        let dead = cells.next::<i64>()?.max(0).cast_unsigned();
        Ok(UrlMetrics { org, uuid, is_paused, pause_reason, pending, dead, oldest_pending: cells.time_or_none()? })
    })
}
