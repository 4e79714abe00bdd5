//! The audit trail.
//!
//! The head of an organization's chain is locked last, just before the commit, so that other transactions wait for it
//! only during one flush. The server computes the hashes, so nothing has to be read before it is written.

use super::Postgres;
use super::arrays::{column, limit as to_count, micros};
use super::cells::each;
use super::flight::Query;
use super::server::{PostgresServer, refused};
use crate::Result;
use crate::audit::{AUDIT, Along, Audit, AuditFilter, AuditPage, NewAuditRecord, audit};
use crate::records::OrgId;
use async_trait::async_trait;
use std::collections::BTreeMap;

const LOCK_HEAD: &str = "SELECT FROM audit_heads WHERE org = $1 FOR NO KEY UPDATE";

/// Without a head, a record gets no number, and the server rejects it.
const APPEND: &str = "
    WITH RECURSIVE head AS MATERIALIZED (SELECT seq, hash FROM audit_heads WHERE org = $1),
    chain (n, hash) AS (
        SELECT 0::bigint, (SELECT hash FROM head)
        UNION ALL
        SELECT c.n + 1, sha256(c.hash || ($11::bytea[])[c.n + 1]) FROM chain c WHERE c.n < cardinality($11::bytea[])),
    moved AS (
        UPDATE audit_heads SET seq = seq + cardinality($11::bytea[]),
            hash = (SELECT c.hash FROM chain c ORDER BY c.n DESC LIMIT 1)
        WHERE org = $1)
    INSERT INTO audit (org, seq, at, actor, session, address, request_id, action, subject_type, subject_id, details, hash)
    SELECT $1, (SELECT seq FROM head) + c.n, r.at, r.actor, r.session, r.address, r.request_id, r.action, r.subject_type,
        r.subject_id, r.details, c.hash
    FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                $10::text[]) WITH ORDINALITY
        AS r (at, actor, session, address, request_id, action, subject_type, subject_id, details, n)
    JOIN chain c ON c.n = r.n";

/// Appends records to their chains. These are the last steps of a transaction, organizations in order, so that two
/// nodes never deadlock.
pub(super) fn steps<'a>(records: impl IntoIterator<Item = &'a NewAuditRecord>) -> Vec<Query<'a>> {
    let mut by_org: BTreeMap<OrgId, Vec<&NewAuditRecord>> = BTreeMap::new();
    for record in records {
        by_org.entry(record.record.org).or_default().push(record);
    }
    let of_org = |(org, new): (OrgId, Vec<&'a NewAuditRecord>)| {
        let append = Query::new(
            APPEND,
            vec![
                Box::new(org),
                column(&new, |new| new.record.at.micros()),
                column(&new, |new| &*new.record.origin.actor),
                column(&new, |new| &*new.record.origin.session),
                column(&new, |new| &*new.record.origin.address),
                column(&new, |new| &*new.record.origin.request_id),
                column(&new, |new| &*new.record.action),
                column(&new, |new| &*new.record.subject_type),
                column(&new, |new| &*new.record.subject_id),
                column(&new, |new| &*new.record.details),
                column(&new, |new| &*new.digest),
            ],
        );
        [Query::new(LOCK_HEAD, vec![Box::new(org)]), append]
    };
    by_org.into_iter().flat_map(of_org).collect()
}

/// The statement of a search.
///
/// The search compares rows of a column and the number, and sorts by both. Only the column's own index serves that, so
/// the planner does not choose another one; `IS NOT DISTINCT FROM` uses no index. An unused condition would prevent the
/// use of an index, so the statement has only the conditions that the filter needs.
fn search(filter: &AuditFilter) -> String {
    let AuditFilter { actor, action, subject_id, request_id, since, until } = filter;
    let by_column = |column: &str, value: &str| {
        let range = format!("({column}, seq) < ({value}, $2) AND ({column}, seq) > ({value}, $10)");
        (range, format!("{column} DESC, seq DESC"))
    };
    let (range, order) = match filter.along() {
        Along::Subject => by_column("subject_id", "$5"),
        Along::Action => by_column("action", "$4"),
        Along::Actor => by_column("actor", "$3"),
        Along::Number => ("seq < $2 AND seq > $10".to_owned(), "seq DESC".to_owned()),
    };
    let condition = |asked: bool, condition: &'static str, unused: &'static str| if asked { condition } else { unused };
    format!(
        "SELECT {AUDIT} FROM audit WHERE org = $1 AND {range}{} AND {} AND {} AND {} AND {} AND {} AND {}
         ORDER BY {order} LIMIT $9",
        others(filter.along()),
        condition(actor.is_some(), "actor IS NOT DISTINCT FROM $3", "$3::text IS NULL"),
        condition(action.is_some(), "action IS NOT DISTINCT FROM $4", "$4::text IS NULL"),
        condition(subject_id.is_some(), "subject_id IS NOT DISTINCT FROM $5", "$5::text IS NULL"),
        condition(request_id.is_some(), "request_id = $6", "$6::text IS NULL"),
        condition(since.is_some(), "at >= $7", "$7::bigint IS NULL"),
        condition(until.is_some(), "at < $8", "$8::bigint IS NULL"),
    )
}

/// The condition of the partial index of all actions but the most frequent one.
fn others(along: Along) -> &'static str {
    if along == Along::Action { " AND action <> 'record_payment'" } else { "" }
}

/// The number of the latest record that a search does not examine; `None` if it reaches the end.
async fn unexamined(
    server: &PostgresServer,
    org: OrgId,
    filter: &AuditFilter,
    before: i64,
    most: usize,
) -> Result<Option<i64>> {
    let (column, value) = match filter.along() {
        Along::Subject => ("subject_id", &filter.subject_id),
        Along::Action => ("action", &filter.action),
        Along::Actor => ("actor", &filter.actor),
        Along::Number => {
            let sql = "SELECT max(seq) FROM audit WHERE org = $1
                       AND seq <= (SELECT max(seq) FROM audit WHERE org = $1 AND seq < $2) - $3";
            let row = server.query_opt(sql, &[&org, &before, &to_count(most)]).await?;
            let number: Option<Option<i64>> = row.map(|row| row.try_get(0)).transpose().map_err(refused)?;
            return Ok(number.flatten());
        }
    };
    let others = others(filter.along());
    let sql = format!(
        "SELECT seq FROM audit WHERE org = $1 AND ({column}, seq) < ($4, $2) AND {column} >= $4{others}
         ORDER BY {column} DESC, seq DESC LIMIT 1 OFFSET $3"
    );
    let row = server.query_opt(&sql, &[&org, &before, &to_count(most), value]).await?;
    row.map(|row| row.try_get(0)).transpose().map_err(refused)
}

#[async_trait]
impl Audit for Postgres {
    async fn audit_records(
        &self,
        org: OrgId,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: usize,
        most: usize,
    ) -> Result<AuditPage> {
        let before = before.unwrap_or(i64::MAX);
        // Read first: records that are written in the meantime are examined too.
        let unexamined =
            if filter.is_of_index() { None } else { unexamined(&self.server, org, filter, before, most).await? };
        let sql = search(filter);
        let AuditFilter { actor, action, subject_id, request_id, since, until } = filter;
        let (since, until, rows) = (micros(*since), micros(*until), to_count(limit + 1));
        let last = unexamined.unwrap_or(i64::MIN);
        let params = [
            &org as _,
            &before as _,
            actor as _,
            action as _,
            subject_id as _,
            request_id as _,
            &since as _,
            &until as _,
            &rows as _,
            &last as _,
        ];
        let records = each(&self.server.query(&sql, &params).await?, audit)?;
        Ok(AuditPage::cut(records, limit, unexamined))
    }
}
