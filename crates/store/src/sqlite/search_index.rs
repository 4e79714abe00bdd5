//! Search by words, and search for accounts by how far past due they are.
//!
//! A list of accounts is found in one of three ways. If the search has words, they lead to a few accounts, which are
//! looked up and filtered. Otherwise an index may lead to a few: the past-due accounts, or those with a reason for
//! their status. Otherwise accounts are read in order until the page is full: those of the product, those with the
//! status, or all.

use super::Sqlite;
use super::connection::broken;
use super::portfolio_queries::STANDS_AT;
use super::rows::CUSTOMER;
use crate::Result;
use crate::portfolio_queries::{
    AccountIndex, AccountSearch, FEW, FoundAccount, SearchText, SearchWords, SearchedKind, found_account,
};
use crate::records::{CustomerRow, OrgId, PageRequest};
use crate::rows;
use crate::search::{SearchStatement, narrowest_first};
use daybook_engine::time::Time;
use rusqlite::{Connection, params};

pub(super) fn write(connection: &Connection, of: &SearchWords) -> Result<()> {
    let SearchWords { org, kind, id, words, is_new } = of;
    if !is_new {
        let sql = "DELETE FROM words WHERE org = ?1 AND kind = ?2 AND id = ?3";
        let mut remove = connection.prepare_cached(sql).map_err(broken)?;
        remove.execute(params![org, kind.number(), id]).map_err(broken)?;
    }
    let sql = "INSERT INTO words (org, word, kind, id) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
    let mut insert = connection.prepare_cached(sql).map_err(broken)?;
    for word in words {
        insert.execute(params![org, word, kind.number(), id]).map_err(broken)?;
    }
    Ok(())
}

/// Matching accounts, and accounts of matching customers.
fn fitting_accounts(statement: &mut SearchStatement, text: &SearchText) -> Option<String> {
    let accounts = statement.fitting::<Sqlite>(SearchedKind::Account, text)?;
    let customers = statement.fitting::<Sqlite>(SearchedKind::Customer, text)?;
    Some(format!(
        "{accounts} UNION SELECT c.account FROM ({customers}) f CROSS JOIN account_customers c
         INDEXED BY account_customers_by_customer ON c.org = $1 AND c.customer = f.id"
    ))
}

/// The index with the fewest accounts for a search.
async fn narrowest_index(database: &Sqlite, org: OrgId, search: &AccountSearch) -> Result<AccountIndex> {
    let account_indexes = search.account_indexes();
    if let [account_index @ (AccountIndex::Product | AccountIndex::Status)] = account_indexes[..] {
        return Ok(account_index);
    }
    let mut counted = Vec::with_capacity(account_indexes.len());
    for account_index in account_indexes {
        let mut statement = SearchStatement::of(org);
        let mut has = |column: &str, value: Option<&str>| {
            format!(" AND {column} = {}", statement.give(value.unwrap_or_default()))
        };
        let bounds = match account_index {
            AccountIndex::All => String::new(),
            AccountIndex::Product => has("product", search.product.as_deref()),
            AccountIndex::Status => has("status", search.status.as_deref()),
            AccountIndex::Reason => {
                has("status", search.status.as_deref()) + &has("substatus", search.substatus.as_deref())
            }
            // Accounts that were rolled forward or hold events are not counted.
            AccountIndex::Due => {
                let by = statement.give(search.due_by.unwrap_or(Time::from_micros(0)));
                let from = statement.give(search.due_from.map_or(i64::MIN, Time::micros));
                format!(" AND oldest_unpaid_due IS NOT NULL AND oldest_unpaid_due BETWEEN {from} AND {by}")
            }
        };
        let index = index(account_index);
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM accounts INDEXED BY {index} WHERE org = $1{bounds} LIMIT {FEW})"
        );
        let count = statement.all(database, sql, |cells| cells.next()).await?.pop();
        counted.push((account_index, count.unwrap_or_default()));
    }
    Ok(AccountIndex::narrowest(&counted))
}

/// The index by its name.
fn index(account_index: AccountIndex) -> &'static str {
    match account_index {
        AccountIndex::All => "accounts_by_key",
        AccountIndex::Product => "accounts_by_product",
        AccountIndex::Status => "accounts_by_status",
        AccountIndex::Reason => "accounts_counted",
        AccountIndex::Due => "accounts_past_due",
    }
}

pub(super) async fn accounts(
    database: &Sqlite,
    org: OrgId,
    search: &AccountSearch,
    page: &PageRequest,
) -> Result<Vec<FoundAccount>> {
    let mut statement = SearchStatement::of(org);
    statement.give(search.now);
    let mut fits = String::new();
    if let Some(product) = &search.product {
        fits += &format!(" AND a.product = {}", statement.give(product));
    }
    if let Some(status) = &search.status {
        fits += &format!(" AND a.status = {}", statement.give(status));
    }
    if let Some(status) = &search.not_status {
        fits += &format!(" AND a.status <> {}", statement.give(status));
    }
    if let Some(substatus) = &search.substatus {
        fits += &format!(" AND a.substatus = {}", statement.give(substatus));
    }
    if let Some(due_by) = search.due_by {
        let due_by = statement.give(due_by);
        fits +=
            &format!(" AND a.oldest_unpaid_due IS NOT NULL AND (a.oldest_unpaid_due <= {due_by} OR a.rolled_to > $2)");
    }
    if let Some(due_from) = search.due_from {
        let due_from = statement.give(due_from);
        fits += &format!(
            " AND (a.oldest_unpaid_due IS NULL OR a.oldest_unpaid_due >= {due_from} OR ({STANDS_AT}) IS NOT NULL)"
        );
    }
    let source = match &search.text {
        Some(text) => {
            let text = narrowest_first(database, org, text).await?;
            let Some(fitting) = fitting_accounts(&mut statement, &text) else { return Ok(Vec::new()) };
            if fits.is_empty() {
                // If the search has only words, only the accounts of the page are looked up.
                format!("(SELECT $1 AS org, id AS account FROM ({fitting})) a")
            } else {
                format!("({fitting}) f CROSS JOIN accounts a ON a.org = $1 AND a.account = f.id")
            }
        }
        None => format!("accounts a INDEXED BY {}", index(narrowest_index(database, org, search).await?)),
    };
    let page = statement.page("a.account", page);
    let wanted = format!("SELECT a.account FROM {source} WHERE a.org = $1{fits} AND {page}");
    let sql = format!(
        "SELECT a.account, a.product, a.oldest_unpaid_due, {STANDS_AT}
         FROM ({wanted}) w CROSS JOIN accounts a ON a.org = $1 AND a.account = w.account ORDER BY a.account"
    );
    statement.all(database, sql, found_account).await
}

pub(super) async fn customers(
    database: &Sqlite,
    org: OrgId,
    text: &SearchText,
    page: &PageRequest,
) -> Result<Vec<CustomerRow>> {
    let mut statement = SearchStatement::of(org);
    let text = narrowest_first(database, org, text).await?;
    let Some(fitting) = statement.fitting::<Sqlite>(SearchedKind::Customer, &text) else { return Ok(Vec::new()) };
    let page = statement.page("f.id", page);
    let sql = format!(
        "SELECT {CUSTOMER} FROM (SELECT f.id FROM ({fitting}) f WHERE {page}) f
         CROSS JOIN customers c ON c.org = $1 AND c.customer = f.id ORDER BY c.customer"
    );
    statement.all(database, sql, rows::customer).await
}
