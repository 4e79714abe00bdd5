//! Due work: which accounts are due, how long they are leased, and expired rows.
//!
//! The worker of each node requests due accounts. The first query finds the products with due accounts, each through
//! its own range of the index, so that accounts with nothing to do cost nothing; then every such product gives its
//! share. An account that is given out carries a lease, and rows that another node is taking at the same time are
//! skipped.

use super::arrays::limit as most;
use super::cells::{each, maybe};
use super::server::PostgresServer;
use crate::records::{AccountKey, ProductKey};
use crate::rows::product_key;
use crate::{DueAccount, Result};
use daybook_engine::time::Time;

/// Products with due accounts that no node has leased, longest waiting first.
const PRODUCTS: &str = "
    SELECT p.org, p.product
    FROM products p
    CROSS JOIN LATERAL (
        SELECT a.next_moment FROM accounts a
        WHERE a.org = p.org AND a.product = p.product AND a.next_moment <= $1
          AND (a.leased_until IS NULL OR a.leased_until <= $1)
        ORDER BY a.next_moment LIMIT 1) first
    WHERE NOT p.holding
    ORDER BY first.next_moment, p.org, p.product LIMIT $2";

/// How many accounts each product could give, up to a limit; in the order of the products.
const COUNT: &str = "
    SELECT count.due
    FROM (SELECT unnest($3::bigint[]) AS org, unnest($4::text[]) AS product) s
    CROSS JOIN LATERAL (
        SELECT count(*) AS due
        FROM (SELECT FROM accounts a
              WHERE a.org = s.org AND a.product = s.product AND a.next_moment <= $1
                AND (a.leased_until IS NULL OR a.leased_until <= $1) LIMIT $2) due) count";

/// Each product's share, longest waiting first.
const TAKE: &str = "
    WITH taken AS MATERIALIZED (
        SELECT a.org, a.account
        FROM (SELECT unnest($3::bigint[]) AS org, unnest($4::text[]) AS product, unnest($5::bigint[]) AS share) s
        CROSS JOIN LATERAL (
            SELECT a.org, a.account FROM accounts a
            WHERE a.org = s.org AND a.product = s.product AND a.next_moment <= $1
              AND (a.leased_until IS NULL OR a.leased_until <= $1)
            ORDER BY a.next_moment LIMIT s.share FOR UPDATE SKIP LOCKED) a)
    UPDATE accounts a SET leased_until = $2 FROM taken t
    WHERE a.org = t.org AND a.account = t.account
    RETURNING a.org, a.account, a.product, CASE WHEN a.held_events > 0 THEN a.next_seq - 1 ELSE 0 END";

pub(super) async fn take_due(
    server: &PostgresServer,
    now: Time,
    limit: usize,
    lease_until: Time,
) -> Result<Vec<DueAccount>> {
    let products = each(&server.query(PRODUCTS, &[&now.micros(), &most(limit)]).await?, product_key)?;
    if products.is_empty() {
        return Ok(Vec::new());
    }
    let orgs: Vec<i64> = products.iter().map(|key| key.org).collect();
    let ids: Vec<&str> = products.iter().map(|key| &*key.product).collect();
    let shares = match products.len() {
        1 => vec![most(limit)],
        _ => {
            let counted = server.query(COUNT, &[&now.micros(), &most(limit), &orgs, &ids]).await?;
            fair_shares(&each(&counted, |cells| cells.next())?, most(limit))
        }
    };
    let rows = server.query(TAKE, &[&now.micros(), &lease_until.micros(), &orgs, &ids, &shares]).await?;
    each(&rows, |cells| {
        let key = AccountKey { org: cells.next()?, account: cells.text()? };
        Ok(DueAccount { key, product: cells.text()?, held: cells.next()? })
    })
}

/// Divides a limit into equal shares; what a product does not need is divided among the others.
fn fair_shares(wanted: &[i64], limit: i64) -> Vec<i64> {
    let mut shares = vec![0; wanted.len()];
    let mut by_size: Vec<usize> = (0..wanted.len()).collect();
    by_size.sort_by_key(|index| wanted[*index]);
    let mut left = limit;
    // The smallest wants are served first, so that their unused share goes to the larger ones. The last share is the
    // largest, so rounding leaves nothing over.
    for (turn, index) in by_size.iter().enumerate() {
        let part = left / (wanted.len() - turn) as i64;
        shares[*index] = part.min(wanted[*index]);
        left -= shares[*index];
    }
    shares
}

pub(super) async fn next_due(server: &PostgresServer, now: Time) -> Result<Option<Time>> {
    let sql = "SELECT min(first.next_moment)
               FROM products p
               CROSS JOIN LATERAL (
                   SELECT a.next_moment FROM accounts a
                   WHERE a.org = p.org AND a.product = p.product AND a.next_moment > $1
                   ORDER BY a.next_moment LIMIT 1) first
               WHERE NOT p.holding";
    Ok(maybe(server.query_opt(sql, &[&now.micros()]).await?, |cells| cells.time_or_none())?.flatten())
}

pub(super) async fn count_due(server: &PostgresServer, now: Time) -> Result<u64> {
    let sql = "SELECT count(*) FROM products p JOIN accounts a ON a.org = p.org AND a.product = p.product
               WHERE NOT p.holding AND a.next_moment <= $1";
    let due: Option<i64> = maybe(server.query_opt(sql, &[&now.micros()]).await?, |cells| cells.next())?;
    Ok(due.unwrap_or(0).unsigned_abs())
}

/// The version goes up, so that a result computed from the failed account does not overwrite this.
pub(super) async fn retry_failed(server: &PostgresServer, key: &ProductKey, now: Time) -> Result<u64> {
    let sql = "WITH failed AS MATERIALIZED (
                   SELECT org, account FROM accounts
                   WHERE org = $1 AND product = $2 AND failure IS NOT NULL ORDER BY account FOR UPDATE)
               UPDATE accounts a
               SET next_moment = $3, failure = NULL, leased_until = NULL, version = a.version + 1
               FROM failed f WHERE a.org = f.org AND a.account = f.account";
    server.execute(sql, &[&key.org, &&*key.product, &now.micros()]).await
}

pub(super) async fn expire_answers(server: &PostgresServer, now: Time, limit: usize) -> Result<u64> {
    let sql = "WITH expired AS MATERIALIZED (
                   SELECT org, key FROM answers WHERE expires_at <= $1
                   ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
               DELETE FROM answers a USING expired e WHERE a.org = e.org AND a.key = e.key";
    server.execute(sql, &[&now.micros(), &most(limit)]).await
}

#[cfg(test)]
mod tests {
    use super::fair_shares;

    #[test]
    fn even_parts_for_all_who_want_as_much() {
        assert_eq!(fair_shares(&[10, 10], 6), [3, 3]);
        assert_eq!(fair_shares(&[10, 10, 10], 8), [2, 3, 3]);
    }

    #[test]
    fn what_one_leaves_goes_to_the_others() {
        assert_eq!(fair_shares(&[20, 1], 10), [9, 1]);
        assert_eq!(fair_shares(&[1, 20, 3], 100), [1, 20, 3]);
    }
}
