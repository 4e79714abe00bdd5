//! Reads of products, customers, accounts, line items and messages.

use super::arrays::limit as most;
use super::cells::{self, ACCOUNT, CUSTOMER, Cells, ITEM, PRODUCT, each, maybe};
use super::server::Server;
use crate::Result;
use crate::records::{
    AccountKey, AccountRow, CustomerRow, HeldCounts, InputRow, ItemRow, MessageRow, OrgId, PageRequest, ProductKey,
    ProductRow,
};
use std::collections::HashSet;
use std::sync::Arc;

/// One page of a table in the order of an id. With `before`, the server reads backwards from it, and the rows are
/// reversed here. No id is empty, so the empty string serves as the start.
async fn page<T>(
    server: &Server,
    select: &str,
    id: &str,
    org: OrgId,
    page: &PageRequest,
    read: impl Fn(&mut Cells<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let after = page.after.as_deref().unwrap_or_default();
    let limit = most(page.limit);
    let Some(before) = page.before.as_deref() else {
        let sql = format!("{select} AND {id} > $2 ORDER BY {id} LIMIT $3");
        return each(&server.query(&sql, &[&org, &after, &limit]).await?, read);
    };
    let sql = format!("{select} AND {id} > $2 AND {id} < $4 ORDER BY {id} DESC LIMIT $3");
    let mut rows = each(&server.query(&sql, &[&org, &after, &limit, &before]).await?, read)?;
    rows.reverse();
    Ok(rows)
}

pub(super) async fn product(server: &Server, key: &ProductKey) -> Result<Option<ProductRow>> {
    let sql = format!("SELECT {PRODUCT} FROM products WHERE org = $1 AND product = $2");
    maybe(server.query_opt(&sql, &[&key.org, &&*key.product]).await?, cells::product)
}

pub(super) async fn products(server: &Server, org: OrgId, wanted: &PageRequest) -> Result<Vec<ProductRow>> {
    let select = format!("SELECT {PRODUCT} FROM products WHERE org = $1");
    page(server, &select, "product", org, wanted, cells::product).await
}

pub(super) async fn releasing_products(server: &Server) -> Result<Vec<ProductKey>> {
    let sql = "SELECT org, product FROM products WHERE releasing ORDER BY org, product";
    each(&server.query(sql, &[]).await?, cells::product_key)
}

pub(super) async fn held_counts(server: &Server, key: &ProductKey) -> Result<HeldCounts> {
    let sql = "SELECT held.accounts, held.events, failed.accounts, failed.events
               FROM (SELECT count(*) AS accounts, COALESCE(sum(held_events), 0)::bigint AS events
                     FROM accounts WHERE org = $1 AND product = $2 AND held_events > 0 AND failure IS NULL) held,
                    (SELECT count(*) AS accounts, COALESCE(sum(held_events), 0)::bigint AS events
                     FROM accounts WHERE org = $1 AND product = $2 AND failure IS NOT NULL) failed";
    let counts = maybe(server.query_opt(sql, &[&key.org, &&*key.product]).await?, |cells| {
        Ok(HeldCounts {
            accounts: cells.next()?,
            events: cells.next()?,
            failed_accounts: cells.next()?,
            failed_events: cells.next()?,
        })
    });
    Ok(counts?.unwrap_or_default())
}

pub(super) async fn failed_accounts(
    server: &Server,
    key: &ProductKey,
    limit: usize,
) -> Result<Vec<(Arc<str>, String)>> {
    let sql = "SELECT account, failure FROM accounts
               WHERE org = $1 AND product = $2 AND failure IS NOT NULL ORDER BY account LIMIT $3";
    let rows = server.query(sql, &[&key.org, &&*key.product, &most(limit)]).await?;
    each(&rows, |cells| Ok((cells.text()?, cells.next()?)))
}

pub(super) async fn customer(server: &Server, org: OrgId, customer_id: &str) -> Result<Option<CustomerRow>> {
    let sql = format!("SELECT {CUSTOMER} FROM customers WHERE org = $1 AND customer_id = $2");
    maybe(server.query_opt(&sql, &[&org, &customer_id]).await?, cells::customer)
}

pub(super) async fn customers(server: &Server, org: OrgId, wanted: &PageRequest) -> Result<Vec<CustomerRow>> {
    let select = format!("SELECT {CUSTOMER} FROM customers WHERE org = $1");
    page(server, &select, "customer_id", org, wanted, cells::customer).await
}

pub(super) async fn customers_exist(server: &Server, org: OrgId, customer_ids: &[Arc<str>]) -> Result<Vec<bool>> {
    let wanted: Vec<&str> = customer_ids.iter().map(|id| &**id).collect();
    let sql = "SELECT customer_id FROM customers WHERE org = $1 AND customer_id = ANY($2::text[])";
    let found: HashSet<Arc<str>> =
        each(&server.query(sql, &[&org, &wanted]).await?, |cells| cells.text())?.into_iter().collect();
    Ok(customer_ids.iter().map(|id| found.contains(id)).collect())
}

pub(super) async fn customer_accounts(
    server: &Server,
    org: OrgId,
    customer_id: &str,
    limit: usize,
) -> Result<Vec<(Arc<str>, String)>> {
    let sql = "SELECT account, role FROM account_customers
               WHERE org = $1 AND customer_id = $2 ORDER BY account LIMIT $3";
    let rows = server.query(sql, &[&org, &customer_id, &most(limit)]).await?;
    each(&rows, |cells| Ok((cells.text()?, cells.next()?)))
}

pub(super) async fn accounts(server: &Server, org: OrgId, wanted: &PageRequest) -> Result<Vec<AccountRow>> {
    let select = format!("SELECT {ACCOUNT} FROM accounts a WHERE a.org = $1");
    page(server, &select, "a.account", org, wanted, cells::account).await
}

pub(super) async fn items(server: &Server, key: &AccountKey) -> Result<Vec<ItemRow>> {
    let sql = format!("SELECT {ITEM} FROM line_items l WHERE l.org = $1 AND l.account = $2 ORDER BY l.item_id");
    each(&server.query(&sql, &[&key.org, &&*key.account]).await?, cells::item)
}

pub(super) async fn items_by_id(server: &Server, key: &AccountKey, item_ids: &[Arc<str>]) -> Result<Vec<ItemRow>> {
    let wanted: Vec<&str> = item_ids.iter().map(|id| &**id).collect();
    let sql = format!(
        "SELECT {ITEM} FROM line_items l
         WHERE l.org = $1 AND l.account = $2 AND l.item_id = ANY($3::text[]) ORDER BY l.item_id"
    );
    each(&server.query(&sql, &[&key.org, &&*key.account, &wanted]).await?, cells::item)
}

pub(super) async fn messages_of(
    server: &Server,
    key: &AccountKey,
    after: i64,
    limit: usize,
) -> Result<Vec<MessageRow>> {
    let sql = "(SELECT position, NULL::bigint AS due_at, NULL::bigint AS cancelled_at, account, sequence, event, event_id, cause, subject,
                       effective_at, recorded_at, data, signature
                FROM messages WHERE org = $1 AND account = $2 AND sequence > $3 ORDER BY sequence LIMIT $4)
               UNION ALL
               (SELECT NULL::bigint, due_at, cancelled_at, account, sequence, event, event_id, cause, subject,
                       effective_at, recorded_at, data, signature
                FROM waiting_messages WHERE org = $1 AND account = $2 AND sequence > $3 ORDER BY sequence LIMIT $4)
               ORDER BY sequence LIMIT $4";
    let rows = server.query(sql, &[&key.org, &&*key.account, &after, &most(limit)]).await?;
    each(&rows, cells::message)
}

pub(super) async fn messages_by_cause(server: &Server, key: &AccountKey, causes: &[&str]) -> Result<Vec<MessageRow>> {
    let sql = "(SELECT position, NULL::bigint AS due_at, NULL::bigint AS cancelled_at, account, sequence, event, event_id, cause, subject,
                       effective_at, recorded_at, data, signature
                FROM messages
                -- An array is worked out once, whatever the planner thinks of the table; a join with itself may be a loop in a
                -- loop while the table is new to it. From the index alone, which has the cause.
                WHERE org = $1 AND account = $2 AND sequence = ANY (ARRAY(
                    SELECT sequence FROM messages
                    WHERE org = $1 AND account = $2 AND cause || '' = ANY($3::text[]))))
               UNION ALL
               (SELECT NULL::bigint, due_at, cancelled_at, account, sequence, event, event_id, cause, subject,
                       effective_at, recorded_at, data, signature
                FROM waiting_messages WHERE org = $1 AND account = $2 AND cause = ANY($3::text[]))
               ORDER BY sequence";
    each(&server.query(sql, &[&key.org, &&*key.account, &causes]).await?, cells::message)
}

pub(super) async fn first_inputs(server: &Server, key: &AccountKey, limit: usize) -> Result<Vec<InputRow>> {
    let sql =
        "SELECT seq, name, effective_at, applies_at, rank, scheduled, recorded_at, clock, payload, extra, content_hash
               FROM inputs WHERE org = $1 AND account = $2 ORDER BY applies_at, rank, seq LIMIT $3";
    each(&server.query(sql, &[&key.org, &&*key.account, &most(limit)]).await?, cells::input)
}

pub(super) async fn has_input_beginning(server: &Server, key: &AccountKey, beginnings: &[Vec<u8>]) -> Result<bool> {
    let sql = "SELECT 1 FROM inputs WHERE org = $1 AND account = $2 AND substr(payload, 1, $3) = $4 LIMIT 1";
    for begins in beginnings {
        let length = begins.len() as i32;
        if server.query_opt(sql, &[&key.org, &&*key.account, &length, begins]).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) async fn messages(server: &Server, org: OrgId, after: i64, limit: usize) -> Result<Vec<MessageRow>> {
    let sql = "SELECT position, NULL::bigint, NULL::bigint, account, sequence, event, event_id, cause, subject,
                      effective_at, recorded_at, data, signature
               FROM messages WHERE org = $1 AND position > $2 ORDER BY position LIMIT $3";
    each(&server.query(sql, &[&org, &after, &most(limit)]).await?, cells::message)
}
