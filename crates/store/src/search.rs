//! Search by words: the parts of statements that both dialects share, and the search for records of a kind.

use crate::Result;
use crate::dialect::{Dialect, RowReader, SqlParameter, Statement, sql};
use crate::portfolio_queries::{MOST_COUNTED, MOST_MATCHES, SearchText, SearchedKind};
use crate::records::{OrgId, PageRequest};
use async_trait::async_trait;
use std::sync::Arc;

/// Search for records.
#[async_trait]
pub trait Search: std::fmt::Debug + Send + Sync {
    /// Matching records, at most `limit`: first those whose id begins with the text's id, then those that match by
    /// words.
    async fn find(&self, org: OrgId, kind: SearchedKind, text: &SearchText, limit: usize) -> Result<Vec<Arc<str>>>;
}

/// A statement under construction, with its parameters. The first parameter is the organization.
pub(crate) struct SearchStatement {
    values: Vec<SqlParameter>,
}

impl SearchStatement {
    pub fn of(org: OrgId) -> SearchStatement {
        SearchStatement { values: vec![org.into()] }
    }

    /// Adds a parameter; returns its placeholder.
    pub fn give(&mut self, value: impl Into<SqlParameter>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    /// The ids of records that match all words, in the order of the first one; `None` if there are no words.
    fn with_words<D: Dialect>(&mut self, kind: SearchedKind, text: &SearchText, limit: usize) -> Option<String> {
        let mut stretches = text.stretches().into_iter();
        let (from, to) = stretches.next()?;
        let (from, to) = (self.give(&from), self.give(&to));
        let kind = format!("CAST({} AS smallint)", kind.number());
        let mut text = format!(
            "SELECT w.id FROM words w WHERE w.org = $1 AND w.word >= {from} AND w.word < {to} AND w.kind = {kind}"
        );
        let index = D::indexed_by("words_of_thing");
        for (from, to) in stretches {
            let (from, to) = (self.give(&from), self.give(&to));
            text += &format!(
                " AND (SELECT true FROM words o {index} WHERE o.org = $1 AND o.kind = {kind} AND o.id = w.id
                       AND o.word >= {from} AND o.word < {to} LIMIT 1)"
            );
        }
        Some(format!("SELECT id FROM ({text} ORDER BY w.word LIMIT {}) w", self.give(limit)))
    }

    /// The ids of records whose id begins with the text's id.
    fn with_id<D: Dialect>(&mut self, kind: SearchedKind, text: &SearchText, limit: usize) -> Option<String> {
        let (from, to) = text.id_stretch()?;
        let (from, to) = (self.give(&from), self.give(&to));
        let (table, id) = match kind {
            SearchedKind::Account => ("accounts", "account"),
            SearchedKind::Customer => ("customers", D::CUSTOMER_ID),
            SearchedKind::Product => ("products", "product"),
        };
        Some(format!(
            "SELECT id FROM (SELECT {id} AS id FROM {table} WHERE org = $1 AND {id} >= {from} AND {id} < {to}
                             ORDER BY {id} LIMIT {}) i",
            self.give(limit)
        ))
    }

    /// The ids of all matching records of a kind, without duplicates; `None` if nothing can match.
    pub fn fitting<D: Dialect>(&mut self, kind: SearchedKind, text: &SearchText) -> Option<String> {
        let parts = [self.with_words::<D>(kind, text, MOST_MATCHES), self.with_id::<D>(kind, text, MOST_MATCHES)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" UNION "))
    }

    /// The bounds of a page, and its order.
    pub fn bounds(&mut self, id: &str, page: &PageRequest) -> (String, String) {
        let mut bounds = format!("{id} > {}", self.give(page.after.as_deref().unwrap_or_default()));
        if let Some(before) = &page.before {
            bounds += &format!(" AND {id} < {}", self.give(before));
        }
        let direction = if page.before.is_some() { "DESC" } else { "ASC" };
        (bounds, format!("ORDER BY {id} {direction}"))
    }

    /// The bounds of a page, its order and its limit.
    pub fn page(&mut self, id: &str, page: &PageRequest) -> String {
        let (bounds, order) = self.bounds(id, page);
        format!("{bounds} {order} LIMIT {}", self.give(page.limit))
    }

    pub async fn all<T: Send + 'static>(
        self,
        database: &impl Dialect,
        text: String,
        read: RowReader<T>,
    ) -> Result<Vec<T>> {
        database.all(Statement::new(text, self.values), read).await
    }
}

/// The same text, starting with the word that has the fewest records.
pub(crate) async fn narrowest_first(database: &impl Dialect, org: OrgId, text: &SearchText) -> Result<SearchText> {
    if text.words.len() < 2 {
        return Ok(text.clone());
    }
    let count = "SELECT count(*) FROM (SELECT 1 FROM words WHERE org = $1 AND word >= $2 AND word < $3 LIMIT $4) w";
    let mut counts = Vec::with_capacity(text.words.len());
    for (from, to) in text.stretches() {
        let counted = database.one(sql!(count, org, &from, &to, MOST_COUNTED), |cells| cells.next()).await?;
        counts.push(counted.unwrap_or(0));
    }
    Ok(text.sorted_by(&counts))
}

#[async_trait]
impl<D: Dialect> Search for D {
    async fn find(&self, org: OrgId, kind: SearchedKind, text: &SearchText, limit: usize) -> Result<Vec<Arc<str>>> {
        let text = &narrowest_first(self, org, text).await?;
        let mut found: Vec<Arc<str>> = Vec::new();
        let mut by_id = SearchStatement::of(org);
        if let Some(query) = by_id.with_id::<D>(kind, text, limit) {
            found.extend(by_id.all(self, query, |cells| cells.text()).await?);
        }
        // A record may have several matching words.
        let mut by_words = SearchStatement::of(org);
        if let Some(query) = by_words.with_words::<D>(kind, text, limit.saturating_mul(4)) {
            for id in by_words.all(self, query, |cells| cells.text()).await? {
                if !found.contains(&id) {
                    found.push(id);
                }
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}
