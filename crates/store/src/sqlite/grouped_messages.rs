//! Reads messages whole: see [`crate::message_groups`].

use super::read::{all, one};
use super::rows::{LOGGED, by_cells, place};
use crate::Result;
use crate::message_groups::{Grouped, expand, missing_rows, set_event_ids};
use crate::outbox::MessageSummary;
use crate::records::{MessageRow, OrgId};
use crate::rows::{self, Cells, MESSAGE};
use bytes::Bytes;
use rusqlite::{Connection, Params};

/// The messages of one organization that a statement returns.
pub(super) fn all_messages<M: Grouped, P: Params>(
    connection: &Connection,
    org: OrgId,
    sql: &str,
    params: P,
    read: impl Fn(&mut Cells<'_>) -> Result<M>,
) -> Result<Vec<M>> {
    let mut messages = all(connection, sql, params, by_cells(read))?;
    expand_messages(connection, org, &mut messages)?;
    Ok(messages)
}

/// The one message of an organization that a statement returns, if any.
pub(super) fn one_message<P: Params>(
    connection: &Connection,
    org: OrgId,
    sql: &str,
    params: P,
) -> Result<Option<MessageRow>> {
    let mut found: Vec<MessageRow> = one(connection, sql, params, by_cells(rows::message))?.into_iter().collect();
    expand_messages(connection, org, &mut found)?;
    Ok(found.pop())
}

/// Fills in what groups hold of the messages of one organization.
pub(super) fn expand_messages<M: Grouped>(connection: &Connection, org: OrgId, messages: &mut [M]) -> Result<()> {
    let mut further = Vec::new();
    for position in missing_rows(messages) {
        let data =
            one(connection, "SELECT content FROM messages WHERE place = ?1", [place(org, position)], |row| row.get(0))?;
        further.extend(data.map(|data: Vec<u8>| (position, Bytes::from(data))));
    }
    expand(messages, further);
    Ok(())
}

/// Fills in the event ids of lists.
pub(super) fn fill_in_event_ids<'a>(
    connection: &Connection,
    org: OrgId,
    summaries: impl Iterator<Item = &'a mut MessageSummary>,
) -> Result<()> {
    let mut lacking: Vec<&mut MessageSummary> = summaries.filter(|summary| summary.event_id.is_empty()).collect();
    let sql = format!("SELECT {LOGGED}, {MESSAGE} FROM messages WHERE place = ?1");
    let mut messages = Vec::with_capacity(lacking.len());
    for summary in &lacking {
        messages.extend(one(connection, &sql, [place(org, summary.position)], by_cells(rows::message))?);
    }
    expand_messages(connection, org, &mut messages)?;
    set_event_ids(&mut lacking, &messages);
    Ok(())
}
