//! Compares rows of messages with their content, and corrects single messages.

use super::arrays::limit as most;
use super::cells::{each, maybe};
use super::grouped_messages::{EVENTS_WITHIN, event_of_row, stored, stored_rows};
use super::server::{PostgresServer, refused};
use crate::Result;
use crate::message_groups::{NewRow, StoredRow, check, expand, rows_with, stored_row};
use crate::records::{AccountKey, OrgId};
use crate::upkeep::{MessageFacts, MessageRowOff, MessageRowsChecked};
use std::collections::BTreeMap;
use tokio_postgres::Transaction;

/// Checks the next rows of a log, at most `limit`, and the lists of their events. Rows that are written meanwhile, after
/// the last one that was read, are left out.
pub(super) async fn checked(
    server: &PostgresServer,
    org: OrgId,
    after: i64,
    limit: usize,
) -> Result<MessageRowsChecked> {
    let sql =
        format!("SELECT {} FROM message_groups WHERE org = $1 AND position > $2 ORDER BY position LIMIT $3", stored());
    // Both in one snapshot: a row may be replaced at any time.
    let mut client = server.client().await?;
    let transaction = client.build_transaction().isolation_level(tokio_postgres::IsolationLevel::RepeatableRead);
    let transaction = transaction.read_only(true).start().await.map_err(refused)?;
    let rows = transaction.query(&sql, &[&org, &after, &most(limit)]).await.map_err(refused)?;
    let rows: Vec<StoredRow> = stored_rows(&rows)?;
    let through = rows.last().map(StoredRow::last).filter(|_| rows.len() == limit);
    let listed = transaction.query(EVENTS_WITHIN, &[&org, &after, &through.unwrap_or(i64::MAX)]).await;
    let listed = each(&listed.map_err(refused)?, event_of_row)?;
    transaction.commit().await.map_err(refused)?;
    client.give_back();
    let mut events: BTreeMap<i64, Vec<(String, i64)>> = BTreeMap::new();
    for (event, position, mask) in listed {
        events.entry(position).or_default().push((event, mask));
    }
    let mut off = Vec::new();
    for row in &rows {
        let events = events.remove(&row.last()).unwrap_or_default();
        let wrong = check(row, &events).map(|checked| checked.wrong).unwrap_or_default();
        off.extend((!wrong.is_empty()).then(|| MessageRowOff { position: row.last(), wrong }));
    }
    off.extend(events.into_keys().map(MessageRowOff::without_row));
    Ok(MessageRowsChecked { off, through })
}

/// Corrects what is wrong with rows.
pub(super) async fn correct_rows(server: &PostgresServer, org: OrgId, positions: &[i64]) -> Result<()> {
    let mut client = server.client().await?;
    let transaction = client.transaction().await.map_err(refused)?;
    for position in positions {
        correct_row(&transaction, org, *position).await?;
    }
    transaction.commit().await.map_err(refused)?;
    client.give_back();
    Ok(())
}

async fn correct_row(transaction: &Transaction<'_>, org: OrgId, position: i64) -> Result<()> {
    let sql = format!("SELECT {} FROM message_groups WHERE org = $1 AND position = $2 FOR UPDATE", stored());
    let found = transaction.query_opt(&sql, &[&org, &position]).await.map_err(refused)?;
    let events = events_at(transaction, org, position).await?;
    let given = match maybe(found, stored_row)? {
        Some(row) => match check(&row, &events) {
            Some(given) => Some(given),
            // Unreadable content says nothing about the row.
            None => return Ok(()),
        },
        None => None,
    };
    remove_events(transaction, org, position, &events).await?;
    let Some(given) = given else { return Ok(()) };
    let sql = "UPDATE message_groups SET size = $3::bigint WHERE org = $1 AND position = $2";
    transaction.execute(sql, &[&org, &position, &given.size]).await.map_err(refused)?;
    if let Some(columns) = &given.columns {
        let sql =
            "UPDATE message_groups SET cause = $3, effective_at = $4, recorded_at = $5, event = '', event_id = '',
                                             subject = '', signature = ''
                   WHERE org = $1 AND position = $2";
        let times = (columns.effective_at.micros(), columns.recorded_at.micros());
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&org, &position, &columns.cause, &times.0, &times.1];
        transaction.execute(sql, &params).await.map_err(refused)?;
    }
    add_events(transaction, org, position, &given.events).await
}

/// The events that are listed for a row.
async fn events_at(transaction: &Transaction<'_>, org: OrgId, position: i64) -> Result<Vec<(String, i64)>> {
    let rows = transaction.query(EVENTS_WITHIN, &[&org, &(position - 1), &position]).await.map_err(refused)?;
    Ok(each(&rows, event_of_row)?.into_iter().map(|(event, _, mask)| (event, mask)).collect())
}

async fn remove_events(
    transaction: &Transaction<'_>,
    org: OrgId,
    position: i64,
    events: &[(String, i64)],
) -> Result<()> {
    let names: Vec<&str> = events.iter().map(|(event, _)| event.as_str()).collect();
    let sql = "DELETE FROM message_events WHERE org = $1 AND position = $2 AND event = ANY($3::text[])";
    transaction.execute(sql, &[&org, &position, &names]).await.map(drop).map_err(refused)
}

async fn add_events(transaction: &Transaction<'_>, org: OrgId, position: i64, events: &[(String, i64)]) -> Result<()> {
    let (names, masks): (Vec<&str>, Vec<i64>) = events.iter().map(|(event, mask)| (event.as_str(), *mask)).unzip();
    let sql = "INSERT INTO message_events (org, event, position, mask)
               SELECT $1, unnest($3::text[]), $2, unnest($4::bigint[])
               ON CONFLICT (org, event, position) DO UPDATE SET mask = excluded.mask";
    transaction.execute(sql, &[&org, &position, &names, &masks]).await.map(drop).map_err(refused)
}

/// Corrects a message that is in a row of several, and returns whether it is in one. Its row is written again; messages
/// that no longer fit together get rows of their own.
pub(super) async fn correct_message(
    transaction: &Transaction<'_>,
    key: &AccountKey,
    facts: &MessageFacts,
) -> Result<bool> {
    let sql = format!(
        "SELECT {} FROM message_groups
         WHERE org = $1 AND account = $2 AND sequence >= $3 ORDER BY sequence LIMIT 1 FOR UPDATE",
        stored()
    );
    let found = transaction.query_opt(&sql, &[&key.org, &&*key.account, &facts.sequence]).await.map_err(refused)?;
    let Some(row) =
        maybe(found, stored_row)?.filter(|row| row.size > 1 && facts.sequence > row.columns.sequence - row.size)
    else {
        return Ok(false);
    };
    let (org, position) = (key.org, row.last());
    let messages = expand(vec![row], []).messages;
    if messages.iter().any(|message| message.data.is_empty()) {
        // It cannot be read, so it cannot be written again.
        return Ok(true);
    }
    let events = events_at(transaction, org, position).await?;
    remove_events(transaction, org, position, &events).await?;
    let sql = "DELETE FROM message_groups WHERE org = $1 AND position = $2";
    transaction.execute(sql, &[&org, &position]).await.map_err(refused)?;
    for row in rows_with(org, messages, facts)? {
        add_row(transaction, org, &row).await?;
    }
    Ok(true)
}

async fn add_row(transaction: &Transaction<'_>, org: OrgId, row: &NewRow) -> Result<()> {
    let message = &row.columns;
    let sql = "INSERT INTO message_groups (org, position, account, sequence, event, event_id, cause, subject,
                   effective_at, recorded_at, content, signature, size)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::bigint)";
    let position = message.position.unwrap_or_default();
    let times = (message.effective_at.micros(), message.recorded_at.micros());
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 13] = [
        &org,
        &position,
        &message.account.as_deref(),
        &message.sequence,
        &message.event,
        &message.event_id,
        &message.cause,
        &message.subject,
        &times.0,
        &times.1,
        &&message.data[..],
        &message.signature,
        &row.size,
    ];
    transaction.execute(sql, &params).await.map_err(refused)?;
    add_events(transaction, org, position, &row.events).await
}
