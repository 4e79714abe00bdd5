//! Search by words, and search for accounts by how far past due they are.
//!
//! A list of accounts is found in one of three ways. If the search has words, they lead to a few accounts, which are
//! looked up and filtered. Otherwise an index may lead to a few: the past-due accounts, or those with a reason for
//! their status. Otherwise accounts are read in order until the page is full: those of the product, those with the
//! status, or all.
//!
//! `OFFSET 0`, `MATERIALIZED` and bounds written as ranges prevent the planner from choosing another way: it plans
//! before it knows the values, and its statistics may be outdated.

use super::Postgres;
use super::arrays::column;
use super::cells::{CUSTOMER, maybe};
use super::flight::Query;
use super::portfolio_queries::STANDS_AT;
use crate::Result;
use crate::batch::Unit;
use crate::portfolio_queries::{
    AccountIndex, AccountSearch, FEW, FoundAccount, SearchText, SearchWords, SearchedKind, found_account,
};
use crate::records::{CustomerRow, OrgId, PageRequest};
use crate::rows;
use crate::search::{SearchStatement, narrowest_first};
use daybook_engine::time::Time;
use tokio_postgres::types::ToSql;

const REMOVE: &str = "
    DELETE FROM words o
    USING (SELECT unnest($1::bigint[]) AS org, unnest($2::smallint[]) AS kind, unnest($3::text[]) AS id) w
    WHERE o.org = w.org AND o.kind = w.kind AND o.id = w.id";

const INSERT: &str = "
    INSERT INTO words (org, word, kind, id)
    SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::smallint[]), unnest($4::text[])
    ON CONFLICT DO NOTHING";

/// Since when an amount is past due; `NEVER` if none is.
const DUE: &str = "COALESCE(a.oldest_unpaid_due, 9223372036854775807)";
const NEVER: i64 = i64::MAX;

/// The words of the records that units create or change. A record's words are written under its claim, so there are no
/// lock waits.
pub(super) fn steps<'a>(units: &[&'a Unit]) -> Vec<Query<'a>> {
    let all: Vec<&SearchWords> = units.iter().flat_map(|unit| &unit.words).collect();
    let replaced: Vec<&SearchWords> = all.iter().copied().filter(|of| !of.is_new).collect();
    let mut rows: Vec<(&SearchWords, &str)> =
        all.iter().flat_map(|of| of.words.iter().map(move |word| (*of, word.as_str()))).collect();
    rows.sort_unstable_by_key(|(of, word)| (of.org, *word, of.kind, &*of.id));
    let mut steps = Vec::new();
    if !replaced.is_empty() {
        let columns = vec![
            column(&replaced, |of| of.org),
            column(&replaced, |of| of.kind.number()),
            column(&replaced, |of| &*of.id),
        ];
        steps.push(Query::new(REMOVE, columns));
    }
    if !rows.is_empty() {
        steps.push(Query::new(
            INSERT,
            vec![
                column(&rows, |(of, _)| of.org),
                column(&rows, |&(_, word)| word),
                column(&rows, |(of, _)| of.kind.number()),
                column(&rows, |(of, _)| &*of.id),
            ],
        ));
    }
    steps
}

impl SearchStatement {
    /// Matching accounts, and accounts of matching customers.
    fn fitting_accounts(&mut self, text: &SearchText) -> Option<String> {
        let accounts = self.fitting::<Postgres>(SearchedKind::Account, text)?;
        let customers = self.fitting::<Postgres>(SearchedKind::Customer, text)?;
        Some(format!(
            "{accounts} UNION SELECT c.account FROM ({customers}) f
             CROSS JOIN LATERAL (SELECT c.account FROM account_customers c
                                 WHERE c.org = $1 AND c.customer_id = f.id OFFSET 0) c"
        ))
    }

    /// A page of the accounts with a value, along the index of that value.
    fn walk(&mut self, column: &str, value: &str, page: &PageRequest) -> String {
        let after = self.give(page.after.as_deref().unwrap_or_default());
        let end = match &page.before {
            Some(before) => format!("({column}, a.account) < ({value}, {})", self.give(before)),
            None => format!("{column} <= {value}"),
        };
        let direction = if page.before.is_some() { "DESC" } else { "ASC" };
        format!(
            "({column}, a.account) > ({value}, {after}) AND {end}
             ORDER BY {column} {direction}, a.account {direction} LIMIT {}",
            self.give(page.limit)
        )
    }
}

/// The index with the fewest accounts for a search.
async fn narrowest_index(database: &Postgres, org: OrgId, search: &AccountSearch) -> Result<AccountIndex> {
    let account_indexes = search.account_indexes();
    if let [account_index @ (AccountIndex::Product | AccountIndex::Status)] = account_indexes[..] {
        return Ok(account_index);
    }
    let product = search.product.as_deref().unwrap_or_default();
    let status = search.status.as_deref().unwrap_or_default();
    let substatus = search.substatus.as_deref().unwrap_or_default();
    let due_by = search.due_by.map(Time::micros).unwrap_or_default();
    let due_from = search.due_from.map_or(i64::MIN, Time::micros);
    let mut counted = Vec::with_capacity(account_indexes.len());
    for account_index in account_indexes {
        let (bounds, order, values): (_, _, Vec<&(dyn ToSql + Sync)>) = match account_index {
            AccountIndex::All => continue,
            AccountIndex::Product => {
                ("a.product >= $2 AND a.product <= $2", "a.product, a.account", vec![&org, &product])
            }
            AccountIndex::Status => ("a.status >= $2 AND a.status <= $2", "a.status, a.account", vec![&org, &status]),
            AccountIndex::Reason => (
                "(a.status, a.substatus) >= ($2, $3) AND (a.status, a.substatus) <= ($2, $3)",
                "a.status, a.substatus",
                vec![&org, &status, &substatus],
            ),
            // Accounts that were rolled forward or hold events are not counted.
            AccountIndex::Due => (
                "a.oldest_unpaid_due IS NOT NULL AND a.oldest_unpaid_due <= $2 AND a.oldest_unpaid_due >= $3",
                "a.oldest_unpaid_due, a.account",
                vec![&org, &due_by, &due_from],
            ),
        };
        let sql = format!(
            "SELECT count(*) FROM (SELECT FROM accounts a WHERE a.org = $1 AND {bounds} ORDER BY {order} LIMIT {FEW}) a"
        );
        let count = maybe(database.server.query_opt(&sql, &values).await?, |cells| cells.next())?;
        counted.push((account_index, count.unwrap_or_default()));
    }
    Ok(AccountIndex::narrowest(&counted))
}

pub(super) async fn accounts(
    database: &Postgres,
    org: OrgId,
    search: &AccountSearch,
    page: &PageRequest,
) -> Result<Vec<FoundAccount>> {
    let account_index =
        if search.text.is_none() { narrowest_index(database, org, search).await? } else { AccountIndex::All };
    let mut statement = SearchStatement::of(org);
    statement.give(search.now);
    let given = GivenValues {
        product: search.product.as_ref().map(|product| statement.give(product)),
        status: search.status.as_ref().map(|status| statement.give(status)),
        substatus: search.substatus.as_ref().map(|substatus| statement.give(substatus)),
    };
    let fits = statement.conditions(search, account_index, &given);
    let columns = format!("a.account, a.product, a.oldest_unpaid_due, {STANDS_AT} AS stands_at");
    let sql = match &search.text {
        Some(text) => {
            let text = narrowest_first(database, org, text).await?;
            let Some(fitting) = statement.fitting_accounts(&text) else { return Ok(Vec::new()) };
            statement.accounts_by_text(&fitting, &columns, &fits, page)
        }
        None => statement.accounts_by_index(account_index, given, &columns, &fits, page),
    };
    let mut found = statement.all(database, sql, found_account).await?;
    found.sort_unstable_by(|one, other| one.account.cmp(&other.account));
    Ok(found)
}

/// The parameters of the values that a search for accounts gives.
struct GivenValues {
    product: Option<String>,
    status: Option<String>,
    substatus: Option<String>,
}

impl SearchStatement {
    /// The conditions of a search, except the one of the chosen index, which is not repeated.
    fn conditions(&mut self, search: &AccountSearch, account_index: AccountIndex, given: &GivenValues) -> String {
        let mut fits = String::new();
        if let Some(product) = given.product.as_ref().filter(|_| account_index != AccountIndex::Product) {
            fits += &format!(" AND a.product = {product}");
        }
        if let Some(status) =
            given.status.as_ref().filter(|_| !matches!(account_index, AccountIndex::Status | AccountIndex::Reason))
        {
            fits += &format!(" AND a.status = {status}");
        }
        if let Some(substatus) = given.substatus.as_ref().filter(|_| account_index != AccountIndex::Reason) {
            fits += &format!(" AND a.substatus = {substatus}");
        }
        if let Some(status) = &search.not_status {
            fits += &format!(" AND a.status <> {}", self.give(status));
        }
        if let Some(due_by) = search.due_by {
            let due_by = self.give(due_by);
            fits += &if account_index == AccountIndex::Due {
                format!(
                    " AND a.oldest_unpaid_due IS NOT NULL AND (a.oldest_unpaid_due <= {due_by} OR a.rolled_to > $2)"
                )
            } else {
                // The same condition, written so that the planner does not use the past-due index.
                format!(" AND ({DUE} <= {due_by} OR ({DUE} < {NEVER} AND a.rolled_to > $2))")
            };
        }
        if let Some(due_from) = search.due_from {
            let due_from = self.give(due_from);
            fits += &format!(
                " AND (a.oldest_unpaid_due IS NULL OR a.oldest_unpaid_due >= {due_from} OR ({STANDS_AT}) IS NOT NULL)"
            );
        }
        fits
    }

    /// A page of the accounts that words lead to.
    fn accounts_by_text(&mut self, fitting: &str, columns: &str, fits: &str, page: &PageRequest) -> String {
        // If the search has only words, only the accounts of the page are looked up.
        if fits.is_empty() {
            let page = self.page("f.id", page);
            return format!(
                "WITH found AS MATERIALIZED (SELECT f.id FROM ({fitting}) f WHERE {page})
                 SELECT a.* FROM found f
                 CROSS JOIN LATERAL (SELECT {columns} FROM accounts a
                                     WHERE a.org = $1 AND a.account = f.id OFFSET 0) a"
            );
        }
        let (bounds, order) = self.bounds("f.id", page);
        format!(
            "WITH found AS MATERIALIZED ({fitting})
             SELECT {columns} FROM (SELECT f.id FROM found f WHERE {bounds} {order}) f
             CROSS JOIN LATERAL (
                 SELECT a.account, a.product, a.status, a.substatus, a.oldest_unpaid_due, a.rolled_to,
                        a.held_events, a.failure, a.processed_through
                 FROM accounts a WHERE a.org = $1 AND a.account = f.id OFFSET 0) a
             WHERE true{fits} {order} LIMIT {}",
            self.give(page.limit)
        )
    }

    /// A page of the accounts that an index leads to.
    fn accounts_by_index(
        &mut self,
        account_index: AccountIndex,
        given: GivenValues,
        columns: &str,
        fits: &str,
        page: &PageRequest,
    ) -> String {
        let (product, status) = (given.product.unwrap_or_default(), given.status.unwrap_or_default());
        let (bounds, order) = match account_index {
            AccountIndex::All => {
                let page = self.page("a.account", page);
                return format!("SELECT {columns} FROM accounts a WHERE a.org = $1{fits} AND {page}");
            }
            AccountIndex::Product | AccountIndex::Status => {
                let (column, value) =
                    if account_index == AccountIndex::Product { ("a.product", product) } else { ("a.status", status) };
                let walk = self.walk(column, &value, page);
                return format!("SELECT {columns} FROM accounts a WHERE a.org = $1{fits} AND {walk}");
            }
            AccountIndex::Reason => {
                let reason = format!("({status}, {})", given.substatus.unwrap_or_default());
                let both = "(a.status, a.substatus)";
                (format!(" AND {both} >= {reason} AND {both} <= {reason}"), "a.status, a.substatus")
            }
            AccountIndex::Due => (String::new(), "a.oldest_unpaid_due"),
        };
        format!(
            "WITH found AS MATERIALIZED (
                 SELECT {columns} FROM accounts a WHERE a.org = $1{fits}{bounds} ORDER BY {order})
             SELECT f.* FROM found f WHERE {}",
            self.page("f.account", page)
        )
    }
}

pub(super) async fn customers(
    database: &Postgres,
    org: OrgId,
    text: &SearchText,
    page: &PageRequest,
) -> Result<Vec<CustomerRow>> {
    let mut statement = SearchStatement::of(org);
    let text = narrowest_first(database, org, text).await?;
    let Some(fitting) = statement.fitting::<Postgres>(SearchedKind::Customer, &text) else { return Ok(Vec::new()) };
    let sql = format!(
        "WITH found AS MATERIALIZED ({fitting}),
              page AS MATERIALIZED (SELECT f.id FROM found f WHERE {})
         SELECT c.* FROM page p
         CROSS JOIN LATERAL (SELECT {CUSTOMER} FROM customers WHERE org = $1 AND customer_id = p.id OFFSET 0) c
         ORDER BY c.customer_id",
        statement.page("f.id", page)
    );
    statement.all(database, sql, rows::customer).await
}
