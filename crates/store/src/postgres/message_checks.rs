//! Compares rows of messages with their content, and corrects single messages.

use super::arrays::limit as most;
use super::cells::{each, maybe};
use super::grouped_messages::{EVENTS_WITHIN, event_of_row, stored, stored_rows};
use super::server::{PostgresServer, refused};
use crate::Result;
use crate::message_groups::{NewRow, StoredRow, check, expand, leave_out, missing_rows, rows_with, stored_row};
use crate::records::{AccountKey, MessageRow, OrgId};
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
    let Some(row) = maybe(found, stored_row)? else {
        return remove_events_without_row(transaction, org, position, &events).await;
    };
    // Unreadable content says nothing about the row.
    let Some(given) = check(&row, &events) else { return Ok(()) };
    remove_events(transaction, org, position, &events).await?;
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

/// In one snapshot: a row that was replaced while a statement waited for it has its events.
async fn remove_events_without_row(
    transaction: &Transaction<'_>,
    org: OrgId,
    position: i64,
    events: &[(String, i64)],
) -> Result<()> {
    let names: Vec<&str> = events.iter().map(|(event, _)| event.as_str()).collect();
    let sql = "DELETE FROM message_events WHERE org = $1 AND position = $2 AND event = ANY($3::text[])
               AND NOT EXISTS (SELECT FROM message_groups WHERE org = $1 AND position = $2)";
    transaction.execute(sql, &[&org, &position, &names]).await.map(drop).map_err(refused)
}

async fn add_events(transaction: &Transaction<'_>, org: OrgId, position: i64, events: &[(String, i64)]) -> Result<()> {
    let (names, masks): (Vec<&str>, Vec<i64>) = events.iter().map(|(event, mask)| (event.as_str(), *mask)).unzip();
    let sql = "INSERT INTO message_events (org, event, position, mask)
               SELECT $1, unnest($3::text[]), $2, unnest($4::bigint[])
               ON CONFLICT (org, event, position) DO UPDATE SET mask = excluded.mask";
    transaction.execute(sql, &[&org, &position, &names, &masks]).await.map(drop).map_err(refused)
}

/// How often the row of a message is looked for. It may be replaced while a statement waits for it, and is not seen then.
const LOOKS: usize = 3;

/// Corrects a message of the log.
pub(super) async fn correct_message(
    transaction: &Transaction<'_>,
    key: &AccountKey,
    facts: &MessageFacts,
) -> Result<()> {
    let sql = format!(
        "SELECT {} FROM message_groups
         WHERE org = $1 AND account = $2 AND sequence >= $3 ORDER BY sequence LIMIT 1 FOR UPDATE",
        stored()
    );
    for _ in 0..LOOKS {
        let found = transaction.query_opt(&sql, &[&key.org, &&*key.account, &facts.sequence]).await.map_err(refused)?;
        if let Some(row) = maybe(found, stored_row)?.filter(|row| row.has_number(facts.sequence)) {
            if row.has_several() {
                return correct_one_of_several(transaction, key.org, row, facts).await;
            }
            return correct_alone(transaction, key.org, row, facts.clone()).await;
        }
    }
    Ok(())
}

/// Corrects a message that has a row of its own, which is locked: so nobody replaces the row that holds its group.
async fn correct_alone(
    transaction: &Transaction<'_>,
    org: OrgId,
    row: StoredRow,
    mut facts: MessageFacts,
) -> Result<()> {
    let position = row.last();
    let columns = MessageRow { event_id: String::new(), subject: String::new(), ..row.columns };
    let rows = vec![StoredRow { size: row.size, columns }];
    let sql = "SELECT position, content FROM message_groups WHERE org = $1 AND position = ANY($2::bigint[])";
    let further = transaction.query(sql, &[&org, &missing_rows(&rows)]).await.map_err(refused)?;
    let further = each(&further, |cells| Ok((cells.next()?, cells.bytes()?)))?;
    leave_out(&mut facts, expand(rows, further).messages.first());
    let sql = "UPDATE message_groups SET event = $3, event_id = $4, cause = $5, subject = $6, effective_at = $7,
                                         recorded_at = $8
               WHERE org = $1 AND position = $2 AND size = 1";
    let times = (facts.effective_at.micros(), facts.recorded_at.micros());
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
        [&org, &position, &facts.event, &facts.event_id, &facts.cause, &facts.subject, &times.0, &times.1];
    transaction.execute(sql, &params).await.map(drop).map_err(refused)
}

/// Corrects a message that is in a row of several, which is written again; messages that no longer fit together get rows
/// of their own.
async fn correct_one_of_several(
    transaction: &Transaction<'_>,
    org: OrgId,
    row: StoredRow,
    facts: &MessageFacts,
) -> Result<()> {
    let position = row.last();
    let messages = expand(vec![row], []).messages;
    if messages.iter().any(|message| message.data.is_empty()) {
        // It cannot be read, so it cannot be written again.
        return Ok(());
    }
    let events = events_at(transaction, org, position).await?;
    remove_events(transaction, org, position, &events).await?;
    let sql = "DELETE FROM message_groups WHERE org = $1 AND position = $2";
    transaction.execute(sql, &[&org, &position]).await.map_err(refused)?;
    for row in rows_with(org, messages, facts)? {
        add_row(transaction, org, &row).await?;
    }
    Ok(())
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
