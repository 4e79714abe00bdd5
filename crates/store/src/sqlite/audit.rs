//! The audit trail.

use super::Sqlite;
use super::connection::broken;
use super::outbox::whole;
use super::read::{all, count, one};
use super::rows::time;
use crate::Result;
use crate::audit::{Audit, AuditFilter, AuditHead, AuditRecord, AuditRow, NewAuditRecord, Origin, chained};
use crate::error::StoreError;
use crate::records::OrgId;
use async_trait::async_trait;
use daybook_engine::time::Time;
use rusqlite::{Connection, Row, params};
use std::collections::BTreeMap;
use std::sync::Arc;

const COLUMNS: &str =
    "org, seq, at, actor, session, address, request_id, action, subject_type, subject_id, details, hash";

/// The most frequent action.
const MANY: &str = "record_payment";

const INSERT: &str = "
    INSERT INTO audit (org, seq, at, actor, session, address, request_id, action, subject_type, subject_id, details, hash)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

fn read(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    let origin = Origin { actor: row.get(3)?, session: row.get(4)?, address: row.get(5)?, request_id: row.get(6)? };
    let record = AuditRecord {
        org: row.get(0)?,
        at: time(row, 2)?,
        origin: Arc::new(origin),
        action: row.get(7)?,
        subject_type: row.get(8)?,
        subject_id: row.get(9)?,
        details: row.get(10)?,
    };
    Ok(AuditRow { seq: row.get(1)?, record, hash: row.get(11)? })
}

/// Appends records to their chains, in the open transaction.
pub(super) fn append<'a>(write: &Connection, records: impl IntoIterator<Item = &'a NewAuditRecord>) -> Result<()> {
    let mut heads: BTreeMap<OrgId, AuditHead> = BTreeMap::new();
    let mut insert = None;
    for new in records {
        let record = &new.record;
        let head = match heads.entry(record.org) {
            std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => free.insert(head(write, record.org)?),
        };
        *head = AuditHead { org: head.org, seq: head.seq + 1, hash: chained(&head.hash, &new.digest) };
        let insert = match &mut insert {
            Some(insert) => insert,
            None => insert.insert(write.prepare_cached(INSERT).map_err(broken)?),
        };
        let Origin { actor, session, address, request_id } = &*record.origin;
        insert
            .execute(params![
                record.org,
                head.seq,
                record.at.micros(),
                actor,
                session,
                address,
                request_id,
                record.action,
                record.subject_type,
                record.subject_id,
                record.details,
                head.hash,
            ])
            .map_err(broken)?;
    }
    for head in heads.values() {
        let sql = "UPDATE audit_heads SET seq = ?2, hash = ?3 WHERE org = ?1";
        let mut moved = write.prepare_cached(sql).map_err(broken)?;
        moved.execute(params![head.org, head.seq, head.hash]).map_err(broken)?;
    }
    Ok(())
}

fn head(write: &Connection, org: OrgId) -> Result<AuditHead> {
    let sql = "SELECT seq, hash FROM audit_heads WHERE org = ?1";
    let found = one(write, sql, [org], |row| Ok(AuditHead { org, seq: row.get(0)?, hash: row.get(1)? }))?;
    found.ok_or_else(|| {
        StoreError::Broken(format!(
            "the audit trail of organization {org} has no row in table audit_heads: run `daybook verify`"
        ))
    })
}

#[async_trait]
impl Audit for Sqlite {
    async fn append_audit(&self, record: &NewAuditRecord) -> Result<()> {
        let record = record.clone();
        self.write(move |connection| whole(connection, |write| append(write, [&record]))).await
    }

    async fn audit_records(
        &self,
        org: OrgId,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AuditRow>> {
        // An unused condition would prevent the use of an index, so the statement has only the conditions that the
        // filter needs.
        let AuditFilter { actor, action, subject_id, request_id, since, until } = filter.clone();
        let mut sql = format!("SELECT {COLUMNS} FROM audit WHERE org = ?1 AND seq < ?2");
        let asked = [
            (actor.is_some(), " AND actor = ?3"),
            (action.is_some(), " AND action = ?4"),
            // Matches the partial index of the other actions.
            (action.as_deref().is_some_and(|action| action != MANY), " AND action <> 'record_payment'"),
            (subject_id.is_some(), " AND subject_id = ?5"),
            (request_id.is_some(), " AND request_id = ?6"),
            (since.is_some(), " AND at >= ?7"),
            (until.is_some(), " AND at < ?8"),
        ];
        sql.extend(asked.iter().filter(|(is_asked, _)| *is_asked).map(|(_, condition)| *condition));
        // Names every parameter, so that all of them can be bound for any filter.
        sql.push_str(" AND coalesce(?3, ?4, ?5, ?6, ?7, ?8, '') IS NOT NULL ORDER BY seq DESC LIMIT ?9");
        let before = before.unwrap_or(i64::MAX);
        self.read(move |connection| {
            let (since, until) = (since.map(Time::micros), until.map(Time::micros));
            let params = params![org, before, actor, action, subject_id, request_id, since, until, count(limit)];
            all(connection, &sql, params, read)
        })
        .await
    }

    async fn audit_chain(&self, org: OrgId, after: i64, limit: usize) -> Result<Vec<AuditRow>> {
        let sql = format!("SELECT {COLUMNS} FROM audit WHERE org = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3");
        self.read(move |connection| all(connection, &sql, params![org, after, count(limit)], read)).await
    }

    async fn audit_heads(&self) -> Result<Vec<AuditHead>> {
        let read = |row: &Row<'_>| Ok(AuditHead { org: row.get(0)?, seq: row.get(1)?, hash: row.get(2)? });
        self.read(move |connection| all(connection, "SELECT org, seq, hash FROM audit_heads ORDER BY org", [], read))
            .await
    }

    async fn audited_organizations(&self) -> Result<Vec<OrgId>> {
        let sql = "WITH RECURSIVE found (org) AS (
                       SELECT min(org) FROM audit
                       UNION ALL SELECT (SELECT min(org) FROM audit WHERE org > found.org) FROM found WHERE org IS NOT NULL)
                   SELECT org FROM found WHERE org IS NOT NULL";
        self.read(move |connection| all(connection, sql, [], |row| row.get(0))).await
    }
}
