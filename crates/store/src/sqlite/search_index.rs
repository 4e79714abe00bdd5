//! Search by words, and search for accounts by how far past due they are.
//!
//! A list of accounts is found in one of three ways. If the search has words, they lead to a few accounts, which are
//! looked up and filtered. Otherwise an index may lead to a few: the past-due accounts, or those with a reason for
//! their status. Otherwise accounts are read in order until the page is full: those of the product, those with the
//! status, or all.

use super::connection::broken;
use super::portfolio_queries::STANDS_AT;
use super::read::{all, count, one};
use super::rows::{self, CUSTOMER_COLUMNS, optional_time, text};
use crate::Result;
use crate::portfolio_queries::{
    AccountIndex, AccountSearch, FEW, FoundAccount, MOST_COUNTED, MOST_MATCHES, SearchText, SearchWords, SearchedKind,
};
use crate::records::{CustomerRow, OrgId, PageRequest};
use daybook_engine::time::Time;
use rusqlite::{Connection, ToSql, params, params_from_iter};
use std::sync::Arc;

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

/// A statement under construction, with its parameters. The first parameter is the organization.
struct SearchStatement {
    params: Vec<Box<dyn ToSql>>,
}

impl SearchStatement {
    fn of(org: OrgId) -> SearchStatement {
        SearchStatement { params: vec![Box::new(org)] }
    }

    /// Adds a parameter; returns its placeholder.
    fn give(&mut self, value: impl ToSql + 'static) -> String {
        self.params.push(Box::new(value));
        format!("?{}", self.params.len())
    }

    /// The ids of records that match all words, in the order of the first one; `None` if there are no words.
    fn with_words(&mut self, kind: SearchedKind, text: &SearchText, limit: usize) -> Option<String> {
        let mut stretches = text.stretches().into_iter();
        let (from, to) = stretches.next()?;
        let (from, to) = (self.give(from), self.give(to));
        let kind = kind.number();
        let mut sql = format!(
            "SELECT w.id FROM words w WHERE w.org = ?1 AND w.word >= {from} AND w.word < {to} AND w.kind = {kind}"
        );
        for (from, to) in stretches {
            let (from, to) = (self.give(from), self.give(to));
            sql += &format!(
                " AND EXISTS (SELECT 1 FROM words o INDEXED BY words_of_thing WHERE o.org = ?1 AND o.kind = {kind}
                              AND o.id = w.id AND o.word >= {from} AND o.word < {to})"
            );
        }
        Some(format!("SELECT id FROM ({sql} ORDER BY w.word LIMIT {limit})"))
    }

    /// The ids of records whose id begins with the text's id.
    fn with_id(&mut self, kind: SearchedKind, text: &SearchText, limit: usize) -> Option<String> {
        let (from, to) = text.id_stretch()?;
        let (from, to) = (self.give(from), self.give(to));
        let (table, id) = match kind {
            SearchedKind::Account => ("accounts", "account"),
            SearchedKind::Customer => ("customers", "customer"),
            SearchedKind::Product => ("products", "product"),
        };
        Some(format!(
            "SELECT id FROM (SELECT {id} AS id FROM {table} WHERE org = ?1 AND {id} >= {from} AND {id} < {to}
                             ORDER BY {id} LIMIT {limit})"
        ))
    }

    /// The ids of all matching records of a kind, without duplicates; `None` if nothing can match.
    fn fitting(&mut self, kind: SearchedKind, text: &SearchText) -> Option<String> {
        let parts = [self.with_words(kind, text, MOST_MATCHES), self.with_id(kind, text, MOST_MATCHES)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" UNION "))
    }

    /// Matching accounts, and accounts of matching customers.
    fn fitting_accounts(&mut self, text: &SearchText) -> Option<String> {
        let accounts = self.fitting(SearchedKind::Account, text)?;
        let customers = self.fitting(SearchedKind::Customer, text)?;
        Some(format!(
            "{accounts} UNION SELECT c.account FROM ({customers}) f CROSS JOIN account_customers c
             INDEXED BY account_customers_by_customer ON c.org = ?1 AND c.customer = f.id"
        ))
    }

    /// The bounds of a page, its order and its limit.
    fn page(&mut self, id: &str, page: &PageRequest) -> String {
        let mut sql = format!("{id} > {}", self.give(page.after.as_deref().unwrap_or_default().to_owned()));
        if let Some(before) = &page.before {
            sql += &format!(" AND {id} < {}", self.give(before.to_string()));
        }
        let direction = if page.before.is_some() { "DESC" } else { "ASC" };
        sql + &format!(" ORDER BY {id} {direction} LIMIT {}", count(page.limit))
    }

    fn all<T>(
        &self,
        connection: &Connection,
        sql: &str,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        all(connection, sql, params_from_iter(&self.params), read)
    }
}

/// The same text, starting with the word that has the fewest records.
fn narrowest_first(connection: &Connection, org: OrgId, text: &SearchText) -> Result<SearchText> {
    if text.words.len() < 2 {
        return Ok(text.clone());
    }
    let sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE org = ?1 AND word >= ?2 AND word < ?3 LIMIT ?4)";
    let mut counts = Vec::with_capacity(text.words.len());
    for (from, to) in text.stretches() {
        counts.push(one(connection, sql, params![org, from, to, MOST_COUNTED], |row| row.get(0))?.unwrap_or(0));
    }
    Ok(text.sorted_by(&counts))
}

/// The index with the fewest accounts for a search.
fn narrowest_index(connection: &Connection, org: OrgId, search: &AccountSearch) -> Result<AccountIndex> {
    let account_indexes = search.account_indexes();
    if let [account_index @ (AccountIndex::Product | AccountIndex::Status)] = account_indexes[..] {
        return Ok(account_index);
    }
    let mut counted = Vec::with_capacity(account_indexes.len());
    for account_index in account_indexes {
        let mut statement = SearchStatement::of(org);
        let mut has = |column: &str, value: Option<&str>| {
            format!(" AND {column} = {}", statement.give(value.unwrap_or_default().to_owned()))
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
                let by = statement.give(search.due_by.map(Time::micros).unwrap_or_default());
                let from = statement.give(search.due_from.map_or(i64::MIN, Time::micros));
                format!(" AND oldest_unpaid_due IS NOT NULL AND oldest_unpaid_due BETWEEN {from} AND {by}")
            }
        };
        let index = index(account_index);
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM accounts INDEXED BY {index} WHERE org = ?1{bounds} LIMIT {FEW})"
        );
        counted.push((account_index, statement.all(connection, &sql, |row| row.get(0))?.pop().unwrap_or_default()));
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

pub(super) fn accounts(
    connection: &Connection,
    org: OrgId,
    search: &AccountSearch,
    page: &PageRequest,
) -> Result<Vec<FoundAccount>> {
    let mut statement = SearchStatement::of(org);
    statement.give(search.now.micros());
    let mut fits = String::new();
    if let Some(product) = &search.product {
        fits += &format!(" AND a.product = {}", statement.give(product.to_string()));
    }
    if let Some(status) = &search.status {
        fits += &format!(" AND a.status = {}", statement.give(status.clone()));
    }
    if let Some(status) = &search.not_status {
        fits += &format!(" AND a.status <> {}", statement.give(status.clone()));
    }
    if let Some(substatus) = &search.substatus {
        fits += &format!(" AND a.substatus = {}", statement.give(substatus.clone()));
    }
    if let Some(due_by) = search.due_by {
        let due_by = statement.give(due_by.micros());
        fits +=
            &format!(" AND a.oldest_unpaid_due IS NOT NULL AND (a.oldest_unpaid_due <= {due_by} OR a.rolled_to > ?2)");
    }
    if let Some(due_from) = search.due_from {
        let due_from = statement.give(due_from.micros());
        fits += &format!(
            " AND (a.oldest_unpaid_due IS NULL OR a.oldest_unpaid_due >= {due_from} OR ({STANDS_AT}) IS NOT NULL)"
        );
    }
    let source = match &search.text {
        Some(text) => {
            let text = narrowest_first(connection, org, text)?;
            let Some(fitting) = statement.fitting_accounts(&text) else { return Ok(Vec::new()) };
            if fits.is_empty() {
                // If the search has only words, only the accounts of the page are looked up.
                format!("(SELECT ?1 AS org, id AS account FROM ({fitting})) a")
            } else {
                format!("({fitting}) f CROSS JOIN accounts a ON a.org = ?1 AND a.account = f.id")
            }
        }
        None => format!("accounts a INDEXED BY {}", index(narrowest_index(connection, org, search)?)),
    };
    let page = statement.page("a.account", page);
    let wanted = format!("SELECT a.account FROM {source} WHERE a.org = ?1{fits} AND {page}");
    let sql = format!(
        "SELECT a.account, a.product, a.oldest_unpaid_due, {STANDS_AT}
         FROM ({wanted}) w CROSS JOIN accounts a ON a.org = ?1 AND a.account = w.account ORDER BY a.account"
    );
    statement.all(connection, &sql, |row| {
        Ok(FoundAccount {
            account: text(row, 0)?,
            product: text(row, 1)?,
            due: optional_time(row, 2)?,
            stands_at: optional_time(row, 3)?,
        })
    })
}

pub(super) fn customers(
    connection: &Connection,
    org: OrgId,
    text: &SearchText,
    page: &PageRequest,
) -> Result<Vec<CustomerRow>> {
    let mut statement = SearchStatement::of(org);
    let text = narrowest_first(connection, org, text)?;
    let Some(fitting) = statement.fitting(SearchedKind::Customer, &text) else { return Ok(Vec::new()) };
    let page = statement.page("f.id", page);
    let sql = format!(
        "SELECT {CUSTOMER_COLUMNS} FROM (SELECT f.id FROM ({fitting}) f WHERE {page}) f
         CROSS JOIN customers c ON c.org = ?1 AND c.customer = f.id ORDER BY c.customer"
    );
    statement.all(connection, &sql, rows::customer)
}

pub(super) fn find(
    connection: &Connection,
    org: OrgId,
    kind: SearchedKind,
    searched: &SearchText,
    limit: usize,
) -> Result<Vec<Arc<str>>> {
    let searched = &narrowest_first(connection, org, searched)?;
    let mut found: Vec<Arc<str>> = Vec::new();
    let mut by_id = SearchStatement::of(org);
    if let Some(sql) = by_id.with_id(kind, searched, limit) {
        found.extend(by_id.all(connection, &sql, |row| text(row, 0))?);
    }
    // A record may have several matching words.
    let mut by_words = SearchStatement::of(org);
    if let Some(sql) = by_words.with_words(kind, searched, limit.saturating_mul(4)) {
        for id in by_words.all(connection, &sql, |row| text(row, 0))? {
            if !found.contains(&id) {
                found.push(id);
            }
        }
    }
    found.truncate(limit);
    Ok(found)
}
