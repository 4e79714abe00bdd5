//! Reads line items and messages.

use super::arrays::limit as most;
use super::cells::{ITEM, each};
use super::grouped_messages::each_message;
use super::server::PostgresServer;
use crate::Result;
use crate::records::{AccountKey, ItemRow, MessageRow, OrgId};
use crate::rows::{self, MESSAGE};
use std::collections::HashSet;
use std::sync::Arc;

pub(super) async fn customers_exist(
    server: &PostgresServer,
    org: OrgId,
    customer_ids: &[Arc<str>],
) -> Result<Vec<bool>> {
    let wanted: Vec<&str> = customer_ids.iter().map(|id| &**id).collect();
    let sql = "SELECT customer_id FROM customers WHERE org = $1 AND customer_id = ANY($2::text[])";
    let found: HashSet<Arc<str>> =
        each(&server.query(sql, &[&org, &wanted]).await?, |cells| cells.text())?.into_iter().collect();
    Ok(customer_ids.iter().map(|id| found.contains(id)).collect())
}

pub(super) async fn items_by_id(
    server: &PostgresServer,
    key: &AccountKey,
    item_ids: &[Arc<str>],
) -> Result<Vec<ItemRow>> {
    let wanted: Vec<&str> = item_ids.iter().map(|id| &**id).collect();
    let sql = format!(
        "SELECT {ITEM} FROM line_items
         WHERE org = $1 AND account = $2 AND item_id = ANY($3::text[]) ORDER BY item_id"
    );
    each(&server.query(&sql, &[&key.org, &&*key.account, &wanted]).await?, rows::item)
}

pub(super) async fn messages_of(
    server: &PostgresServer,
    key: &AccountKey,
    after: i64,
    limit: usize,
) -> Result<Vec<MessageRow>> {
    let sql = format!(
        "(SELECT position, NULL::bigint AS due_at, NULL::bigint AS cancelled_at, {MESSAGE}
                FROM messages WHERE org = $1 AND account = $2 AND sequence > $3 ORDER BY sequence LIMIT $4)
               UNION ALL
               (SELECT NULL::bigint, due_at, cancelled_at, {MESSAGE}
                FROM waiting_messages WHERE org = $1 AND account = $2 AND sequence > $3 ORDER BY sequence LIMIT $4)
               ORDER BY sequence LIMIT $4"
    );
    let rows = server.query(&sql, &[&key.org, &&*key.account, &after, &most(limit)]).await?;
    each_message(server, key.org, &rows, rows::message).await
}

pub(super) async fn messages_by_cause(
    server: &PostgresServer,
    key: &AccountKey,
    causes: &[&str],
    before_cause: Option<&str>,
) -> Result<Vec<MessageRow>> {
    // The order and the limit make the planner follow the index, which has the cause, up to the first message found.
    let before = "SELECT sequence FROM messages WHERE org = $1 AND account = $2 AND cause || '' = $3
                  ORDER BY sequence LIMIT 1";
    let before: i64 = match before_cause {
        Some(cause) => match server.query(before, &[&key.org, &&*key.account, &cause]).await?.first() {
            Some(row) => row.get(0),
            None => i64::MAX,
        },
        None => i64::MAX,
    };
    let sql = format!(
        "(SELECT position, NULL::bigint AS due_at, NULL::bigint AS cancelled_at, {MESSAGE}
                FROM messages
                -- An array is worked out once, whatever the planner thinks of the table; a join with itself may be a loop in a
                -- loop while the table is new to it. From the index alone, which has the cause.
                WHERE org = $1 AND account = $2 AND sequence = ANY (ARRAY(
                    SELECT sequence FROM messages
                    WHERE org = $1 AND account = $2 AND sequence < $4 AND cause || '' = ANY($3::text[]))))
               UNION ALL
               (SELECT NULL::bigint, due_at, cancelled_at, {MESSAGE}
                FROM waiting_messages WHERE org = $1 AND account = $2 AND sequence < $4 AND cause = ANY($3::text[]))
               ORDER BY sequence"
    );
    let rows = server.query(&sql, &[&key.org, &&*key.account, &causes, &before]).await?;
    each_message(server, key.org, &rows, rows::message).await
}

pub(super) async fn messages(server: &PostgresServer, org: OrgId, after: i64, limit: usize) -> Result<Vec<MessageRow>> {
    let sql = format!(
        "SELECT position, NULL::bigint, NULL::bigint, {MESSAGE}
               FROM messages WHERE org = $1 AND position > $2 ORDER BY position LIMIT $3"
    );
    let rows = server.query(&sql, &[&org, &after, &most(limit)]).await?;
    each_message(server, org, &rows, rows::message).await
}

/// The line items of several accounts.
pub(super) async fn items_of(server: &PostgresServer, keys: &[AccountKey]) -> Result<Vec<Vec<ItemRow>>> {
    let sql = format!(
        "SELECT w.place, {ITEM}
         FROM (SELECT unnest($1::bigint[]) AS place, unnest($2::bigint[]) AS org, unnest($3::text[]) AS account) w
         CROSS JOIN LATERAL (
             SELECT * FROM line_items l WHERE l.org = w.org AND l.account = w.account OFFSET 0) l
         ORDER BY w.place, l.item_id"
    );
    let places: Vec<i64> = (0..keys.len() as i64).collect();
    let orgs: Vec<i64> = keys.iter().map(|key| key.org).collect();
    let accounts: Vec<&str> = keys.iter().map(|key| &*key.account).collect();
    let rows = server.query(&sql, &[&places, &orgs, &accounts]).await?;
    let mut items = vec![Vec::new(); keys.len()];
    for (place, item) in each(&rows, |cells| Ok((cells.next::<i64>()?, rows::item(cells)?)))? {
        if let Some(of_account) = items.get_mut(place as usize) {
            of_account.push(item);
        }
    }
    Ok(items)
}
