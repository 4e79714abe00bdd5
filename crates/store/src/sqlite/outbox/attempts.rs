//! Attempts, for display.

use super::subscriptions::chosen;
use crate::Result;
use crate::outbox::rows::attempt;
use crate::outbox::{AttemptLine, DeliveryFilter, MessageSummary, Subscription};
use crate::records::OrgId;
use crate::rows::Cells;
use crate::sqlite::grouped_messages::{fill_in, is_of_event, row_of};
use crate::sqlite::read::{all, count};
use crate::sqlite::rows::{by_cells, position_in};
use daybook_engine::time::Time;
use rusqlite::{Connection, params};

const COLUMNS: &str = concat!(
    "a.id, ",
    position_in!("a.place"),
    ", m.event, m.event_id, m.account, a.number, a.at, a.latency_us, a.status, a.error, a.response, a.next_at"
);

/// Each subscription's attempts from the latest on, as far as needed.
fn by_subscription() -> String {
    format!(
        "FROM attempts a INDEXED BY attempts_by_subscription CROSS JOIN {} WHERE a.subscription = ?1",
        row_of("a.place")
    )
}

/// The few messages about an account, and the attempts at each.
const BY_ACCOUNT: &str = "
    FROM message_groups m INDEXED BY messages_by_account
    CROSS JOIN attempts a INDEXED BY attempts_by_message ON a.place > m.place - m.size AND a.place <= m.place
    WHERE m.org = ?8 AND m.account = ?9 AND a.subscription = ?1";

const ASKED_FOR: &str = "
    AND (?5 IS NULL OR (a.error IS NULL) = ?5) AND (?6 IS NULL OR a.at >= ?6) AND (?7 IS NULL OR a.at < ?7)
    ORDER BY a.id DESC LIMIT ?3";

pub(super) fn list(
    connection: &Connection,
    org: OrgId,
    filter: &DeliveryFilter,
    after: Option<i64>,
    limit: usize,
) -> Result<Vec<AttemptLine>> {
    let from = if filter.account.is_some() { BY_ACCOUNT.to_owned() } else { by_subscription() };
    // Parameters that a list does not need must still be bound.
    let bound = if filter.account.is_some() { "" } else { " AND ?8 IS NOT NULL AND ?9 IS NULL" };
    let of_event = is_of_event("a.place", "?4");
    let sql = format!("SELECT {COLUMNS} {from}{bound} AND a.id < ?2 AND (?4 IS NULL OR {of_event}) {ASKED_FOR}");
    let (since, until) = (filter.since.map(Time::micros), filter.until.map(Time::micros));
    let before = after.unwrap_or(i64::MAX);
    let mut lines = Vec::new();
    for of in chosen(connection, org, filter.subscription)? {
        let params =
            params![of.id, before, count(limit), filter.event, filter.delivered, since, until, org, filter.account];
        lines.extend(all(connection, &sql, params, by_cells(|cells| line(cells, &of)))?);
    }
    lines.sort_unstable_by_key(|line| std::cmp::Reverse(line.id));
    lines.truncate(limit);
    fill_in(connection, org, lines.iter_mut().map(|line| &mut line.about))?;
    Ok(lines)
}

fn line(cells: &mut Cells<'_>, of: &Subscription) -> Result<AttemptLine> {
    let (id, position) = (cells.next()?, cells.next()?);
    let about = MessageSummary {
        subscription: of.id,
        uuid: of.uuid.clone(),
        url: of.url.clone(),
        position,
        event: cells.next()?,
        event_id: cells.next()?,
        account: cells.text_or_none()?,
    };
    Ok(AttemptLine { id, about, attempt: attempt(cells, position)? })
}
