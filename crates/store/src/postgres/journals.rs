//! Reads a portfolio in one transaction that sees one snapshot: see [`crate::journals`].
//!
//! A flight asks for the accounts of a batch and for the ids of the next one, so each batch takes one round trip.

use super::Postgres;
use super::arrays::{column, limit};
use super::flight::{Frame, Query, Transaction};
use super::load::{gather, questions};
use super::server::refused;
use crate::journals::{AccountBatch, MANY_INPUTS, MOST_ACCOUNTS, PortfolioAccount, PortfolioJournals};
use crate::records::{AccountKey, ProductKey};
use crate::{AccountToLoad, Inputs, Result};
use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_postgres::Row;

const SNAPSHOT: Frame = Frame { begin: Some("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), commit: false };

/// The ids of the next accounts, and an upper limit of their inputs.
const NEXT: &str = "
    SELECT account, next_seq FROM accounts
    WHERE org = $1 AND product = $2 AND account > $3 ORDER BY account LIMIT $4";

const CUSTOMERS: &str = "
    SELECT w.place, c.body
    FROM (SELECT unnest($1::bigint[]) AS place, unnest($2::text[]) AS account) w
    JOIN account_customers a ON a.org = $3 AND a.account = w.account
    JOIN customers c ON c.org = a.org AND c.customer_id = a.customer_id
    ORDER BY w.place, a.customer_id";

#[async_trait]
impl PortfolioJournals for Postgres {
    async fn count_accounts_of(&self, key: &ProductKey) -> Result<u64> {
        let sql = "SELECT count(*) FROM accounts WHERE org = $1 AND product = $2";
        let rows = self.server.query(sql, &[&key.org, &&*key.product]).await?;
        Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0).unsigned_abs()))
    }

    async fn read_portfolio(
        &self,
        key: &ProductKey,
        with_customers: bool,
        batches: mpsc::Sender<AccountBatch>,
    ) -> Result<()> {
        let mut transaction = Transaction::on(self.server.client().await?);
        let read = read_all(&mut transaction, key, with_customers, &batches).await;
        let ended = transaction.roll_back().await;
        read.and(ended)
    }
}

async fn read_all(
    transaction: &mut Transaction,
    key: &ProductKey,
    with_customers: bool,
    batches: &mpsc::Sender<AccountBatch>,
) -> Result<()> {
    let first = transaction.fly(SNAPSHOT, &[next_ids(key, "")]).await.map_err(refused)?;
    let mut ids = cut(first.first().map_or(&[], Vec::as_slice));
    while let Some(last) = ids.last() {
        let load = |id: &Arc<str>| AccountToLoad {
            key: AccountKey { org: key.org, account: id.clone() },
            inputs: Inputs::All,
            names: Vec::new(),
        };
        let wanted: Vec<AccountToLoad> = ids.iter().map(load).collect();
        let places: Vec<(i64, &str)> = (0..).zip(ids.iter().map(AsRef::as_ref)).collect();
        let mut queries = questions(&wanted);
        if with_customers {
            let params = vec![
                column(&places, |&(place, _)| place),
                column(&places, |&(_, account)| account),
                Box::new(key.org) as _,
            ];
            queries.push(Query::new(CUSTOMERS, params));
        }
        queries.push(next_ids(key, last));
        let mut answers = transaction.fly(Frame::default(), &queries).await.map_err(refused)?;
        let next = answers.pop().unwrap_or_default();
        let customers = if with_customers { answers.pop().unwrap_or_default() } else { Vec::new() };
        if batches.send(batch(wanted.len(), &answers, &customers)?).await.is_err() {
            return Ok(());
        }
        drop(queries);
        drop(places);
        ids = cut(&next);
    }
    Ok(())
}

fn next_ids<'a>(key: &'a ProductKey, after: &'a str) -> Query<'a> {
    let most = limit(MOST_ACCOUNTS);
    Query::new(NEXT, vec![Box::new(key.org), Box::new(&*key.product), Box::new(after), Box::new(most)])
}

/// The ids up to the account that makes the batch full.
fn cut(rows: &[Row]) -> Vec<Arc<str>> {
    let mut inputs = 0;
    let mut ids = Vec::with_capacity(rows.len());
    for row in rows {
        ids.push(Arc::from(row.get::<_, &str>(0)));
        inputs += usize::try_from(row.get::<_, i64>(1)).unwrap_or(0);
        if inputs >= MANY_INPUTS {
            break;
        }
    }
    ids
}

fn batch(count: usize, answers: &[Vec<Row>], customers: &[Row]) -> Result<AccountBatch> {
    let mut bodies = vec![Vec::new(); count];
    for row in customers {
        if let Some(of_account) = bodies.get_mut(row.get::<_, i64>(0) as usize) {
            of_account.push(row.get(1));
        }
    }
    let accounts = gather(count, answers)?.into_iter().zip(bodies);
    Ok(accounts.filter_map(|(loaded, customers)| Some(PortfolioAccount { loaded: loaded?, customers })).collect())
}
