//! Finding things: by their words, and accounts by how late they are.
//!
//! A list of accounts is found in three ways. By words, where there are any: few accounts, which are looked up and tried.
//! By the index of those with something past due, where only those are meant. Else by walking through all accounts in
//! their order until the page is full, as most of them fit. `OFFSET 0` and `MATERIALIZED` keep the planner from turning
//! one way into another.

use super::arrays::{column, limit as most};
use super::cells::{self, CUSTOMER, Cells, each};
use super::figures::STANDS_AT;
use super::flight::{Param, Step};
use super::server::Server;
use crate::Result;
use crate::batch::Unit;
use crate::figures::{AccountSearch, FoundAccount, Kind, MOST_COUNTED, MOST_MATCHES, Text, Words};
use crate::records::{CustomerRow, OrgId, Page};
use std::sync::Arc;
use tokio_postgres::types::ToSql;

const REMOVE: &str = "
    DELETE FROM words o
    USING (SELECT unnest($1::bigint[]) AS org, unnest($2::smallint[]) AS kind, unnest($3::text[]) AS id) w
    WHERE o.org = w.org AND o.kind = w.kind AND o.id = w.id";

const INSERT: &str = "
    INSERT INTO words (org, word, kind, id)
    SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::smallint[]), unnest($4::text[])
    ON CONFLICT DO NOTHING";

/// The words of what units make or change. A thing's words are written under its claim, so nobody waits for anybody.
pub(super) fn steps<'a>(units: &[&'a Unit]) -> Vec<Step<'a>> {
    let all: Vec<&Words> = units.iter().flat_map(|unit| &unit.words).collect();
    let replaced: Vec<&Words> = all.iter().copied().filter(|of| !of.is_new).collect();
    let mut rows: Vec<(&Words, &str)> =
        all.iter().flat_map(|of| of.words.iter().map(move |word| (*of, word.as_str()))).collect();
    rows.sort_unstable_by_key(|(of, word)| (of.org, *word, of.kind, &*of.id));
    let mut steps = Vec::new();
    if !replaced.is_empty() {
        let columns = vec![
            column(&replaced, |of| of.org),
            column(&replaced, |of| of.kind.number()),
            column(&replaced, |of| &*of.id),
        ];
        steps.push(Step::new(REMOVE, columns));
    }
    if !rows.is_empty() {
        steps.push(Step::new(
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

/// A statement that is put together, with what it is given. The first parameter is the organization.
struct Question {
    params: Vec<Param<'static>>,
}

impl Question {
    fn of(org: OrgId) -> Question {
        Question { params: vec![Box::new(org)] }
    }

    /// One more parameter: what it is called in the statement.
    fn give(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.params.push(Box::new(value));
        format!("${}", self.params.len())
    }

    /// The ids of things with all words, in the order of the first one; nothing if there are no words.
    fn with_words(&mut self, kind: Kind, text: &Text, limit: usize) -> Option<String> {
        let mut stretches = text.stretches().into_iter();
        let (from, to) = stretches.next()?;
        let (from, to) = (self.give(from), self.give(to));
        let kind = kind.number();
        let mut sql = format!(
            "SELECT w.id FROM words w
             WHERE w.org = $1 AND w.word >= {from} AND w.word < {to} AND w.kind = {kind}::smallint"
        );
        for (from, to) in stretches {
            let (from, to) = (self.give(from), self.give(to));
            sql += &format!(
                " AND (SELECT true FROM words o WHERE o.org = $1 AND o.kind = {kind}::smallint AND o.id = w.id
                       AND o.word >= {from} AND o.word < {to} LIMIT 1)"
            );
        }
        Some(format!("SELECT id FROM ({sql} ORDER BY w.word LIMIT {}) w", self.give(most(limit))))
    }

    /// The ids of things whose id begins so.
    fn with_id(&mut self, kind: Kind, text: &Text, limit: usize) -> Option<String> {
        let (from, to) = text.id_stretch()?;
        let (from, to) = (self.give(from), self.give(to));
        let (table, id) = match kind {
            Kind::Account => ("accounts", "account"),
            Kind::Customer => ("customers", "customer_id"),
            Kind::Product => ("products", "product"),
        };
        Some(format!(
            "SELECT id FROM (SELECT {id} AS id FROM {table} WHERE org = $1 AND {id} >= {from} AND {id} < {to}
                             ORDER BY {id} LIMIT {}) i",
            self.give(most(limit))
        ))
    }

    /// The ids of all things of a kind that fit, each once; nothing if nothing can.
    fn fitting(&mut self, kind: Kind, text: &Text) -> Option<String> {
        let parts = [self.with_words(kind, text, MOST_MATCHES), self.with_id(kind, text, MOST_MATCHES)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" UNION "))
    }

    /// Accounts that fit, and accounts of customers that do.
    fn fitting_accounts(&mut self, text: &Text) -> Option<String> {
        let accounts = self.fitting(Kind::Account, text)?;
        let customers = self.fitting(Kind::Customer, text)?;
        Some(format!(
            "{accounts} UNION SELECT c.account FROM ({customers}) f
             CROSS JOIN LATERAL (SELECT c.account FROM account_customers c
                                 WHERE c.org = $1 AND c.customer_id = f.id OFFSET 0) c"
        ))
    }

    /// Where a page begins and ends, and its order.
    fn page(&mut self, id: &str, page: &Page) -> String {
        let mut sql = format!("{id} > {}", self.give(page.after.as_deref().unwrap_or_default().to_owned()));
        if let Some(before) = &page.before {
            sql += &format!(" AND {id} < {}", self.give(before.to_string()));
        }
        let direction = if page.before.is_some() { "DESC" } else { "ASC" };
        sql + &format!(" ORDER BY {id} {direction} LIMIT {}", self.give(most(page.limit)))
    }

    async fn all<T>(&self, server: &Server, sql: &str, read: impl Fn(&mut Cells<'_>) -> Result<T>) -> Result<Vec<T>> {
        let params: Vec<&(dyn ToSql + Sync)> = self.params.iter().map(|param| param.as_ref() as _).collect();
        each(&server.query(sql, &params).await?, read)
    }
}

/// The same text with the word first that has the fewest things.
async fn narrowest_first(server: &Server, org: OrgId, text: &Text) -> Result<Text> {
    if text.words.len() < 2 {
        return Ok(text.clone());
    }
    let (from, to): (Vec<String>, Vec<String>) = text.stretches().into_iter().unzip();
    let sql = "SELECT c.things
               FROM (SELECT unnest($2::text[]) AS from_word, unnest($3::text[]) AS to_word,
                            generate_series(1, cardinality($2::text[])) AS place) s
               CROSS JOIN LATERAL (
                   SELECT count(*) AS things
                   FROM (SELECT FROM words w
                         WHERE w.org = $1 AND w.word >= s.from_word AND w.word < s.to_word LIMIT $4) w) c
               ORDER BY s.place";
    let counts = each(&server.query(sql, &[&org, &from, &to, &MOST_COUNTED]).await?, |cells| cells.next())?;
    Ok(text.sorted_by(&counts))
}

pub(super) async fn accounts(
    server: &Server,
    org: OrgId,
    search: &AccountSearch,
    page: &Page,
) -> Result<Vec<FoundAccount>> {
    let mut question = Question::of(org);
    question.give(search.now.micros());
    let mut fits = String::new();
    if let Some(product) = &search.product {
        fits += &format!(" AND a.product = {}", question.give(product.to_string()));
    }
    if let Some(status) = &search.status {
        fits += &format!(" AND a.status = {}", question.give(status.clone()));
    }
    if let Some(status) = &search.not_status {
        fits += &format!(" AND a.status <> {}", question.give(status.clone()));
    }
    if let Some(substatus) = &search.substatus {
        fits += &format!(" AND a.substatus = {}", question.give(substatus.clone()));
    }
    if let Some(due_by) = search.due_by {
        let due_by = question.give(due_by.micros());
        fits +=
            &format!(" AND a.oldest_unpaid_due IS NOT NULL AND (a.oldest_unpaid_due <= {due_by} OR a.rolled_to > $2)");
    }
    if let Some(due_from) = search.due_from {
        let due_from = question.give(due_from.micros());
        fits += &format!(
            " AND (a.oldest_unpaid_due IS NULL OR a.oldest_unpaid_due >= {due_from} OR ({STANDS_AT}) IS NOT NULL)"
        );
    }
    let columns = format!("a.account, a.product, a.oldest_unpaid_due, {STANDS_AT} AS stands_at");
    let sql = match (&search.text, search.due_by) {
        (Some(text), _) => {
            let text = narrowest_first(server, org, text).await?;
            let Some(fitting) = question.fitting_accounts(&text) else { return Ok(Vec::new()) };
            // Where words are all there is, only the accounts of the page are looked up.
            if fits.is_empty() {
                let page = question.page("f.id", page);
                format!(
                    "WITH found AS MATERIALIZED (SELECT f.id FROM ({fitting}) f WHERE {page})
                     SELECT a.* FROM found f
                     CROSS JOIN LATERAL (SELECT {columns} FROM accounts a
                                         WHERE a.org = $1 AND a.account = f.id OFFSET 0) a"
                )
            } else {
                format!(
                    "WITH found AS MATERIALIZED (
                     SELECT a.* FROM ({fitting}) f
                     CROSS JOIN LATERAL (SELECT {columns} FROM accounts a
                                         WHERE a.org = $1 AND a.account = f.id{fits} OFFSET 0) a)
                 SELECT f.* FROM found f WHERE {}",
                    question.page("f.account", page)
                )
            }
        }
        (None, Some(_)) => format!(
            "WITH found AS MATERIALIZED (
                 SELECT {columns} FROM accounts a WHERE a.org = $1{fits} ORDER BY a.oldest_unpaid_due)
             SELECT f.* FROM found f WHERE {}",
            question.page("f.account", page)
        ),
        (None, None) => {
            format!("SELECT {columns} FROM accounts a WHERE a.org = $1{fits} AND {}", question.page("a.account", page))
        }
    };
    let mut found = question
        .all(server, &sql, |cells| {
            Ok(FoundAccount {
                account: cells.text()?,
                product: cells.text()?,
                due: cells.time_or_none()?,
                stands_at: cells.time_or_none()?,
            })
        })
        .await?;
    found.sort_unstable_by(|one, other| one.account.cmp(&other.account));
    Ok(found)
}

pub(super) async fn customers(server: &Server, org: OrgId, text: &Text, page: &Page) -> Result<Vec<CustomerRow>> {
    let mut question = Question::of(org);
    let text = narrowest_first(server, org, text).await?;
    let Some(fitting) = question.fitting(Kind::Customer, &text) else { return Ok(Vec::new()) };
    let sql = format!(
        "WITH found AS MATERIALIZED ({fitting}),
              page AS MATERIALIZED (SELECT f.id FROM found f WHERE {})
         SELECT c.* FROM page p
         CROSS JOIN LATERAL (SELECT {CUSTOMER} FROM customers WHERE org = $1 AND customer_id = p.id OFFSET 0) c
         ORDER BY c.customer_id",
        question.page("f.id", page)
    );
    question.all(server, &sql, cells::customer).await
}

pub(super) async fn find(
    server: &Server,
    org: OrgId,
    kind: Kind,
    searched: &Text,
    limit: usize,
) -> Result<Vec<Arc<str>>> {
    let searched = &narrowest_first(server, org, searched).await?;
    let mut found: Vec<Arc<str>> = Vec::new();
    let mut by_id = Question::of(org);
    if let Some(sql) = by_id.with_id(kind, searched, limit) {
        found.extend(by_id.all(server, &sql, |cells| cells.text()).await?);
    }
    // A thing may have several words that fit.
    let mut by_words = Question::of(org);
    if let Some(sql) = by_words.with_words(kind, searched, limit.saturating_mul(4)) {
        for id in by_words.all(server, &sql, |cells| cells.text()).await? {
            if !found.contains(&id) {
                found.push(id);
            }
        }
    }
    found.truncate(limit);
    Ok(found)
}
