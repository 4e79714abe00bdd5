//! Reads line items and messages.

use super::arrays::limit as most;
use super::cells::{ITEM, each};
use super::grouped_messages::{ROW_ENDS_WITHIN, each_message, first_rows, stored, stored_waiting};
use super::server::PostgresServer;
use crate::Result;
use crate::records::{AccountKey, ItemRow, MessageRow, OrgId};
use crate::rows;
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
    let which = "org = $1 AND account = $2 AND sequence > $3";
    let sql = format!(
        "(SELECT {stored} FROM message_groups WHERE {which} AND {first} ORDER BY sequence)
         UNION ALL
         (SELECT {stored_waiting} FROM waiting_messages WHERE {which} ORDER BY sequence LIMIT $4)",
        stored = stored(),
        stored_waiting = stored_waiting(),
        first = first_rows("sequence", which, "$4"),
    );
    let rows = server.query(&sql, &[&key.org, &&*key.account, &after, &most(limit)]).await?;
    let mut found = each_message(server, key.org, &rows).await?;
    found.retain(|message| message.sequence > after);
    found.sort_by_key(|message| message.sequence);
    found.truncate(limit);
    Ok(found)
}

/// Whether a row has a cause that is wanted, in SQL. Worked out from the entry of the index, which has the causes.
fn has_cause(is_wanted: &str, overlaps: &str) -> String {
    format!(
        "CASE WHEN strpos(cause, ' ') = 0 THEN cause {is_wanted}
              ELSE cause {is_wanted} OR string_to_array(cause, ' ') {overlaps} END"
    )
}

pub(super) async fn messages_by_cause(
    server: &PostgresServer,
    key: &AccountKey,
    causes: &[&str],
    before_cause: Option<&str>,
) -> Result<Vec<MessageRow>> {
    // The order and the limit make the planner follow the index, which has the causes, up to the first row found.
    let before = format!(
        "SELECT sequence FROM message_groups WHERE org = $1 AND account = $2 AND {} ORDER BY sequence LIMIT 1",
        has_cause("= $3", "@> ARRAY[$3::text]")
    );
    let before: Option<i64> = match before_cause {
        Some(cause) => server.query(&before, &[&key.org, &&*key.account, &cause]).await?.first().map(|row| row.get(0)),
        None => None,
    };
    // Meanwhile its row may be replaced by one that ends later.
    let through = before.map_or(i64::MAX, |before| before.saturating_add(ROW_ENDS_WITHIN - 1));
    let sql = format!(
        "(SELECT {stored} FROM message_groups
          -- An array is worked out once, whatever the planner thinks of the table; a join with itself may be a loop in a
          -- loop while the table is new to it. From the index alone, which has the causes.
          WHERE org = $1 AND account = $2 AND sequence = ANY (ARRAY(
              SELECT sequence FROM message_groups
              WHERE org = $1 AND account = $2 AND sequence <= $4 AND ({has_cause} OR {has_before}))))
         UNION ALL
         (SELECT {stored_waiting} FROM waiting_messages
          WHERE org = $1 AND account = $2 AND sequence <= $4 AND cause = ANY($3::text[]))",
        stored = stored(),
        stored_waiting = stored_waiting(),
        has_cause = has_cause("= ANY($3::text[])", "&& $3::text[]"),
        has_before = has_cause("= $5", "@> ARRAY[$5::text]"),
    );
    let rows = server.query(&sql, &[&key.org, &&*key.account, &causes, &through, &before_cause]).await?;
    let mut found = each_message(server, key.org, &rows).await?;
    found.sort_by_key(|message| message.sequence);
    // The row has messages of other causes too, before and after. If it cannot be read, they are shown up to its end.
    let first = found.iter().find(|message| message.position.is_some() && Some(&*message.cause) == before_cause);
    let end = first.map(|first| first.sequence - 1).or(before).unwrap_or(i64::MAX);
    found.retain(|message| message.sequence <= end && causes.contains(&&*message.cause));
    Ok(found)
}

pub(super) async fn messages(server: &PostgresServer, org: OrgId, after: i64, limit: usize) -> Result<Vec<MessageRow>> {
    let which = "org = $1 AND position > $2";
    let sql = format!(
        "SELECT {} FROM message_groups WHERE {which} AND {} ORDER BY position",
        stored(),
        first_rows("position", which, "$3")
    );
    let rows = server.query(&sql, &[&org, &after, &most(limit)]).await?;
    let mut found = each_message(server, org, &rows).await?;
    found.retain(|message| message.position.is_some_and(|position| position > after));
    found.truncate(limit);
    Ok(found)
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
