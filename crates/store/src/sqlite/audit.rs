//! The audit trail.

use super::Sqlite;
use super::connection::broken;
use super::read::{all, count, one};
use super::rows::by_cells;
use crate::Result;
use crate::audit::{
    self, AUDIT, Along, Audit, AuditFilter, AuditHead, AuditPage, AuditRow, MANY, NewAuditRecord, Origin, chained,
};
use crate::error::StoreError;
use crate::records::OrgId;
use async_trait::async_trait;
use daybook_engine::time::Time;
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

const INSERT: &str = "
    INSERT INTO audit (org, seq, at, actor, session, address, request_id, action, subject_type, subject_id, details, hash)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

/// The index by subject has the records of so many numbers together: see migration 15.
const BLOCK: i64 = 512;
/// The largest number of blocks that a search for a page looks into: some ten million records.
const MOST_BLOCKS: i64 = 20_000;

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

/// A search for records.
struct Search {
    org: OrgId,
    filter: AuditFilter,
    before: i64,
    limit: usize,
    most: usize,
}

impl Search {
    fn run(&self, connection: &Connection) -> Result<AuditPage> {
        let (records, unexamined) = match self.filter.along() {
            Along::Subject => self.by_subject(connection)?,
            _ => {
                let unexamined = if self.filter.is_of_index() { None } else { self.unexamined(connection)? };
                (self.records(connection, None, unexamined, self.limit + 1)?, unexamined)
            }
        };
        let unexamined = match unexamined {
            Some(number) if self.is_over(connection, number)? => None,
            other => other,
        };
        Ok(AuditPage::cut(records, self.limit, unexamined))
    }

    /// The latest records that match: those of one block, or of all, after the number `after`.
    fn records(
        &self,
        connection: &Connection,
        block: Option<i64>,
        after: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AuditRow>> {
        let AuditFilter { actor, action, subject_id, request_id, since, until } = &self.filter;
        // An unused condition would prevent the use of an index, so the statement has only the conditions that the
        // filter needs. A plus sign keeps a column from choosing the index.
        let index = match self.filter.along() {
            Along::Subject => " INDEXED BY audit_by_subject_in_blocks",
            Along::Action => " INDEXED BY audit_by_action",
            Along::Actor => " INDEXED BY audit_by_actor",
            Along::Number => "",
        };
        let mut sql = format!("SELECT {AUDIT} FROM audit{index} WHERE org = ?1 AND seq < ?2 AND seq > ?10");
        let asked = [
            (block.is_some(), " AND seq / 512 = ?11"),
            (actor.is_some(), " AND actor = ?3"),
            (action.is_some(), " AND action = ?4"),
            // Matches the partial index of the other actions.
            (action.as_deref().is_some_and(|action| action != MANY), " AND action <> 'record_payment'"),
            (subject_id.is_some(), " AND subject_id = ?5"),
            (request_id.is_some(), " AND request_id = ?6"),
            (since.is_some(), " AND +at >= ?7"),
            (until.is_some(), " AND +at < ?8"),
        ];
        sql.extend(asked.iter().filter(|(is_asked, _)| *is_asked).map(|(_, condition)| *condition));
        // Names every parameter, so that all of them can be bound for any filter.
        sql.push_str(" AND coalesce(?3, ?4, ?5, ?6, ?7, ?8, ?11, '') IS NOT NULL ORDER BY seq DESC LIMIT ?9");
        let after = after.unwrap_or(i64::MIN);
        let (since, until, limit) = (since.map(Time::micros), until.map(Time::micros), count(limit));
        let params =
            params![self.org, self.before, actor, action, subject_id, request_id, since, until, limit, after, block];
        all(connection, &sql, params, by_cells(audit::audit))
    }

    /// The latest records about one object, and the number of the latest record that was not examined. The index has
    /// the records of each block together, so a search looks into one block after the other.
    fn by_subject(&self, connection: &Connection) -> Result<(Vec<AuditRow>, Option<i64>)> {
        let sql = "SELECT max(seq) FROM audit WHERE org = ?1 AND seq < ?2";
        let last = one(connection, sql, params![self.org, self.before], |row| row.get::<_, Option<i64>>(0))?;
        let Some(last) = last.flatten() else { return Ok((Vec::new(), None)) };
        let (mut records, mut examined) = (Vec::new(), 0);
        let lowest = (last / BLOCK - MOST_BLOCKS + 1).max(0);
        for block in (lowest..=last / BLOCK).rev() {
            let mut unexamined = None;
            if !self.filter.is_of_index() {
                unexamined = self.unexamined_of(connection, block, self.most - examined)?;
                examined += self.count_of(connection, block)?;
            }
            records.extend(self.records(connection, Some(block), unexamined, self.limit + 1 - records.len())?);
            if records.len() > self.limit || unexamined.is_some() {
                return Ok((records, unexamined));
            }
        }
        Ok((records, Some(lowest * BLOCK - 1).filter(|number| *number > 0)))
    }

    /// How many records of a block are about the object.
    fn count_of(&self, connection: &Connection, block: i64) -> Result<usize> {
        let sql = "SELECT count(*) FROM audit INDEXED BY audit_by_subject_in_blocks
                   WHERE org = ?1 AND seq < ?2 AND seq / 512 = ?3 AND subject_id = ?4";
        let params = params![self.org, self.before, block, self.filter.subject_id];
        let found = one(connection, sql, params, |row| row.get::<_, i64>(0))?;
        Ok(found.and_then(|found| usize::try_from(found).ok()).unwrap_or_default())
    }

    /// The number of the first record of a block about the object that comes after `most` others.
    fn unexamined_of(&self, connection: &Connection, block: i64, most: usize) -> Result<Option<i64>> {
        let sql = "SELECT seq FROM audit INDEXED BY audit_by_subject_in_blocks
                   WHERE org = ?1 AND seq < ?2 AND seq / 512 = ?3 AND subject_id = ?4
                   ORDER BY seq DESC LIMIT 1 OFFSET ?5";
        let params = params![self.org, self.before, block, self.filter.subject_id, count(most)];
        one(connection, sql, params, |row| row.get(0))
    }

    /// The number of the latest record that the search does not examine; `None` if it reaches the end.
    fn unexamined(&self, connection: &Connection) -> Result<Option<i64>> {
        let AuditFilter { actor, action, .. } = &self.filter;
        let (condition, value) = match self.filter.along() {
            Along::Action => ("action = ?4 AND action <> 'record_payment'", action),
            Along::Actor => ("actor = ?4", actor),
            Along::Subject | Along::Number => {
                let sql = "SELECT max(seq) FROM audit WHERE org = ?1
                           AND seq <= (SELECT max(seq) FROM audit WHERE org = ?1 AND seq < ?2) - ?3";
                let params = params![self.org, self.before, count(self.most)];
                return one(connection, sql, params, |row| row.get::<_, Option<i64>>(0)).map(Option::flatten);
            }
        };
        let sql = format!(
            "SELECT seq FROM audit WHERE org = ?1 AND seq < ?2 AND {condition} ORDER BY seq DESC LIMIT 1 OFFSET ?3"
        );
        one(connection, &sql, params![self.org, self.before, count(self.most), value], |row| row.get(0))
    }

    /// Whether no record with this number or a smaller one is recent enough. The index by time tells, unless too many
    /// records are.
    fn is_over(&self, connection: &Connection, number: i64) -> Result<bool> {
        let Some(since) = self.filter.since else { return Ok(false) };
        let sql = "SELECT count(*), coalesce(min(seq), ?4) FROM
                       (SELECT seq FROM audit INDEXED BY audit_by_time WHERE org = ?1 AND at >= ?2 LIMIT ?3)";
        let params = params![self.org, since.micros(), count(self.most), i64::MAX];
        let recent = one(connection, sql, params, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
        Ok(recent.is_some_and(|(found, lowest)| found < count(self.most) && lowest > number))
    }
}

#[async_trait]
impl Audit for Sqlite {
    async fn audit_records(
        &self,
        org: OrgId,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: usize,
        most: usize,
    ) -> Result<AuditPage> {
        let search = Search { org, filter: filter.clone(), before: before.unwrap_or(i64::MAX), limit, most };
        self.read(move |connection| search.run(connection)).await
    }
}
