//! Reads messages whole: see [`crate::message_groups`].

use super::cells::{Cells, each};
use super::server::PostgresServer;
use crate::Result;
use crate::message_groups::{Grouped, expand, missing_rows, set_event_ids};
use crate::outbox::MessageSummary;
use crate::records::{MessageRow, OrgId};
use crate::rows::{self, MESSAGE};
use tokio_postgres::Row;

/// The messages of one organization in rows.
pub(super) async fn each_message<M: Grouped>(
    server: &PostgresServer,
    org: OrgId,
    rows: &[Row],
    read: impl Fn(&mut Cells<'_>) -> Result<M>,
) -> Result<Vec<M>> {
    let mut messages = each(rows, read)?;
    expand_messages(server, org, &mut messages).await?;
    Ok(messages)
}

/// Fills in what groups hold of the messages of one organization.
async fn expand_messages<M: Grouped>(server: &PostgresServer, org: OrgId, messages: &mut [M]) -> Result<()> {
    let missing = missing_rows(messages);
    let further = match missing.is_empty() {
        true => Vec::new(),
        false => {
            let sql = "SELECT position, content FROM messages WHERE org = $1 AND position = ANY($2::bigint[])";
            each(&server.query(sql, &[&org, &missing]).await?, |cells| Ok((cells.next()?, cells.bytes()?)))?
        }
    };
    expand(messages, further);
    Ok(())
}

/// Fills in the event ids of lists.
pub(super) async fn fill_in_event_ids(
    server: &PostgresServer,
    org: OrgId,
    summaries: impl Iterator<Item = &mut MessageSummary> + Send,
) -> Result<()> {
    let mut lacking: Vec<&mut MessageSummary> = summaries.filter(|summary| summary.event_id.is_empty()).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let positions: Vec<i64> = lacking.iter().map(|summary| summary.position).collect();
    let sql = format!(
        "SELECT position, NULL::bigint, NULL::bigint, {MESSAGE} FROM messages
         WHERE org = $1 AND position = ANY($2::bigint[])"
    );
    let rows = server.query(&sql, &[&org, &positions]).await?;
    let messages: Vec<MessageRow> = each_message(server, org, &rows, rows::message).await?;
    set_event_ids(&mut lacking, &messages);
    Ok(())
}
