//! Lists for display: backlogs, attempts, dead letters.

use super::super::arrays::{limit as most, micros};
use super::super::cells::{Cells, each};
use super::super::grouped_messages::{fill_in, is_of_event, row_of};
use super::super::server::PostgresServer;
use super::stretch;
use crate::Result;
use crate::outbox::rows::{attempt, status};
use crate::outbox::{AttemptLine, Backlog, DeadLetter, DeliveryFilter, MessageSummary, SubscriptionId};
use crate::records::OrgId;
use daybook_engine::time::Time;

pub(super) async fn backlogs(server: &PostgresServer, org: OrgId) -> Result<Vec<(SubscriptionId, Backlog)>> {
    let sql = format!(
        "SELECT s.id, f.retries + t.pending, f.dead + t.dead
         FROM subscriptions s
         CROSS JOIN LATERAL (SELECT count(f.retry_at) AS retries, count(f.dead_at) AS dead
                             FROM failures f WHERE f.org = s.org AND f.subscription = s.id) f
         CROSS JOIN LATERAL (
             SELECT COALESCE(sum(c.messages) FILTER (WHERE NOT c.dead), 0)::bigint AS pending,
                    COALESCE(sum(c.messages) FILTER (WHERE c.dead), 0)::bigint AS dead
             FROM (SELECT t.dead, {count} AS messages FROM ({stretches}) t) c) t
         WHERE s.org = $1 ORDER BY s.created_at, s.id",
        count = stretch::count(),
        stretches = stretch::stretches("0", None),
    );
    each(&server.query(&sql, &[&org]).await?, |cells| {
        let id = cells.next()?;
        let pending = cells.next::<i64>()?.max(0).cast_unsigned();
        Ok((id, Backlog { pending, dead: cells.next::<i64>()?.max(0).cast_unsigned() }))
    })
}

/// Reads the subscription with its names, and the message.
fn about(cells: &mut Cells<'_>) -> Result<MessageSummary> {
    Ok(MessageSummary {
        subscription: cells.next()?,
        uuid: cells.next()?,
        url: cells.next()?,
        position: cells.next()?,
        event: cells.next()?,
        event_id: cells.next()?,
        account: cells.text_or_none()?,
    })
}

/// Latest first, so a list without an account reads backwards from the end of the table, or of the subscription's
/// attempts. Messages about one account are few, so their attempts are found through the messages.
pub(super) async fn attempts(
    server: &PostgresServer,
    org: OrgId,
    filter: &DeliveryFilter,
    after: Option<i64>,
    limit: usize,
) -> Result<Vec<AttemptLine>> {
    let source = match filter.account {
        Some(_) => "(SELECT m.org, m.position, m.size, m.event, m.event_id, m.account FROM message_groups m
              WHERE m.org = $1 AND m.account = $4 OFFSET 0) m
             CROSS JOIN LATERAL (SELECT a.* FROM attempts a
                                 WHERE a.org = m.org AND a.position > m.position - m.size AND a.position <= m.position
                                 OFFSET 0) a"
            .to_owned(),
        None => format!("attempts a CROSS JOIN {}", row_of("a.org", "a.position")),
    };
    let of_subscription = if filter.subscription.is_some() { "a.subscription = $2" } else { "$2::bigint IS NULL" };
    let sql = format!(
        "SELECT s.id, s.uuid, s.url, a.position, m.event, m.event_id, m.account, a.id, a.number, a.at, a.latency_us,
                a.status, a.error, a.response, a.next_at
         FROM {source}
         JOIN subscriptions s ON s.id = a.subscription AND s.org = a.org
         WHERE a.org = $1 AND {of_subscription} AND a.id < $8 AND ($3::text IS NULL OR {of_event})
           AND ($4::text IS NULL OR m.account = $4)
           AND ($5::boolean IS NULL OR (a.error IS NULL) = $5)
           AND ($6::bigint IS NULL OR a.at >= $6) AND ($7::bigint IS NULL OR a.at < $7)
         ORDER BY a.id DESC LIMIT $9",
        of_event = is_of_event("a.position", "= $3"),
    );
    let DeliveryFilter { subscription, event, account, delivered, since, until } = filter;
    let (account, since, until) = (account.as_deref(), micros(*since), micros(*until));
    let after = after.unwrap_or(i64::MAX);
    let rows = server
        .query(&sql, &[&org, subscription, event, &account, delivered, &since, &until, &after, &most(limit)])
        .await?;
    let mut lines = each(&rows, |cells| {
        let about = about(cells)?;
        Ok(AttemptLine { id: cells.next()?, attempt: attempt(cells, about.position)?, about })
    })?;
    fill_in(server, org, lines.iter_mut().map(|line| &mut line.about)).await?;
    Ok(lines)
}

/// Each subscription contributes its first failures and the first members of each of its ranges; the list is the first
/// of all these.
pub(super) async fn dead_letters(
    server: &PostgresServer,
    org: OrgId,
    filter: &DeliveryFilter,
    now: Time,
    after: Option<(i64, SubscriptionId)>,
    limit: usize,
) -> Result<Vec<DeadLetter>> {
    let dead_at = stretch::dead_at("$7");
    // A subscription after the one where the last page ended has yet to show that page's last position.
    let beyond = "$8::bigint - (s.id > $9::bigint)::int";
    let by_account = filter.account.as_ref().map(|_| "$4::text");
    let sql = format!(
        "SELECT s.id, s.uuid, s.url, d.position, d.event, d.event_id, d.account, d.dead_at, d.attempts, d.reason,
                d.status
         FROM subscriptions s
         CROSS JOIN LATERAL (
             (SELECT f.position, m.event, m.event_id, m.account, f.dead_at, f.attempts, NULLIF(f.reason, '') AS reason,
                     f.status
              FROM failures f CROSS JOIN {row}
              WHERE f.org = s.org AND f.subscription = s.id AND f.dead_at IS NOT NULL AND f.position > {beyond}
                AND ($3::text IS NULL OR {of_event}) AND ($4::text IS NULL OR m.account = $4)
                AND ($5::bigint IS NULL OR f.dead_at >= $5) AND ($6::bigint IS NULL OR f.dead_at < $6)
              ORDER BY f.position LIMIT $10)
             UNION ALL
             (SELECT m.position, m.event, m.event_id, m.account, {dead_at}, 0, NULL, NULL
              FROM ({stretches}) t CROSS JOIN LATERAL ({members}) m
              WHERE t.dead ORDER BY m.position LIMIT $10)) d
         WHERE s.org = $1 AND ($2::bigint IS NULL OR s.id = $2)
         ORDER BY d.position, s.id LIMIT $10",
        row = row_of("f.org", "f.position"),
        of_event = is_of_event("f.position", "= $3"),
        stretches = stretch::stretches(beyond, Some("$3")),
        members = stretch::members(by_account, &died_between(&dead_at), Some("$10")),
    );
    let DeliveryFilter { subscription, event, account, since, until, .. } = filter;
    let (account, since, until) = (account.as_deref(), micros(*since), micros(*until));
    let (position, last) = after.unwrap_or((0, 0));
    let now = now.micros();
    let rows = server
        .query(&sql, &[&org, subscription, event, &account, &since, &until, &now, &position, &last, &most(limit)])
        .await?;
    let mut letters = each(&rows, |cells| {
        Ok(DeadLetter {
            about: about(cells)?,
            dead_at: cells.time()?,
            attempts: cells.next()?,
            reason: cells.next()?,
            status: status(cells)?,
        })
    })?;
    fill_in(server, org, letters.iter_mut().map(|letter| &mut letter.about)).await?;
    Ok(letters)
}

/// The condition that a dead letter died from `$5` on and before `$6`, if these are given.
pub(super) fn died_between(dead_at: &str) -> String {
    format!("($5::bigint IS NULL OR {dead_at} >= $5) AND ($6::bigint IS NULL OR {dead_at} < $6)")
}
