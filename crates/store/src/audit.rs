//! The audit trail: who did what, to which record, when and from where.
//!
//! A record is written in the same transaction as the change it describes and never changes afterwards: the tables
//! reject updates and deletes. The records of an organization form a chain. Each record has a *digest*, a keyed hash of
//! all its fields that only the holder of the secrets key can compute, and a *hash* of the previous record's hash and
//! its own digest. The *head* of an organization's chain holds the number and the hash of its last record.
//!
//! ```text
//! record 1 ── hash 1 = H("" · digest 1)
//! record 2 ── hash 2 = H(hash 1 · digest 2)
//! record 3 ── hash 3 = H(hash 2 · digest 3)      head: 3, hash 3
//! ```
//!
//! Changing a field changes a digest. Removing, inserting or moving a record changes every hash after it. A truncated
//! chain does not reach its head. Events that belong to no organization, such as a sign-in with an unknown address, are
//! recorded under organization [`NO_ORGANIZATION`].

use crate::Result;
use crate::dialect::{Dialect, sql};
use crate::records::OrgId;
use crate::rows::Cells;
use async_trait::async_trait;
use daybook_engine::time::Time;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// The organization number of records that belong to no organization.
pub const NO_ORGANIZATION: OrgId = 0;

/// The origin of a call: who makes it, and how. All audit records of the call share it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// A key by its client id, a person as `person:…`, or a command as `command:…`.
    pub actor: String,
    /// Identifies the session of a signed-in person; empty for keys and commands.
    pub session: String,
    /// The client's address; empty if there is none.
    pub address: String,
    /// The id of the request; empty if there is none.
    pub request_id: String,
}

/// The content of an audit record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// The organization.
    pub org: OrgId,
    /// When it happened.
    pub at: Time,
    /// Who did it, and how.
    pub origin: Arc<Origin>,
    /// What was done, such as `record_payment`.
    pub action: String,
    /// The type of the object it was done to, such as `account`.
    pub subject_type: String,
    /// The id of that object.
    pub subject_id: String,
    /// Further details, as a JSON object.
    pub details: String,
}

impl AuditRecord {
    /// All fields, each preceded by its length, so that no two different records give the same bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let Origin { actor, session, address, request_id } = &*self.origin;
        let (org, at) = (self.org.to_be_bytes(), self.at.micros().to_be_bytes());
        let texts =
            [actor, session, address, request_id, &self.action, &self.subject_type, &self.subject_id, &self.details];
        let parts = [&org[..], &at[..]].into_iter().chain(texts.into_iter().map(|text| text.as_bytes()));
        parts.flat_map(|part| [&(part.len() as u64).to_be_bytes()[..], part].concat()).collect()
    }
}

/// A record to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAuditRecord {
    /// The content.
    pub record: AuditRecord,
    /// The keyed hash of [`AuditRecord::bytes`].
    pub digest: Vec<u8>,
}

/// A stored record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number: 1, 2, 3, … within the organization.
    pub seq: i64,
    /// The content.
    pub record: AuditRecord,
    /// Its hash in the chain.
    pub hash: Vec<u8>,
}

/// The end of an organization's chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditHead {
    /// The organization.
    pub org: OrgId,
    /// The number of the last record; 0 if there is none.
    pub seq: i64,
    /// Its hash; empty if there is none.
    pub hash: Vec<u8>,
}

/// Which records to return. A field that is `None` does not filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// By this actor.
    pub actor: Option<String>,
    /// Of this action.
    pub action: Option<String>,
    /// About the object with this id.
    pub subject_id: Option<String>,
    /// Of this request.
    pub request_id: Option<String>,
    /// At this moment or later.
    pub since: Option<Time>,
    /// Before this moment.
    pub until: Option<Time>,
}

/// A part of a search for records, latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// The records that match.
    pub records: Vec<AuditRow>,
    /// The search continues before this number; `None` at the end.
    pub next: Option<i64>,
}

impl AuditPage {
    /// Cuts a list with at most one record more than `limit`. `unexamined` is the number of the latest record that the
    /// search did not examine.
    pub(crate) fn cut(mut records: Vec<AuditRow>, limit: usize, unexamined: Option<i64>) -> AuditPage {
        let is_full = records.len() > limit;
        records.truncate(limit);
        let last = records.last().map(|last| last.seq).filter(|_| is_full);
        AuditPage { records, next: last.or(unexamined.map(|number| number.saturating_add(1))) }
    }
}

/// The most frequent action. It has no index.
pub(crate) const MANY: &str = "record_payment";

/// The index along which a search examines records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Along {
    /// Records about one object.
    Subject,
    /// Records of one action, except the most frequent one.
    Action,
    /// Records of one actor.
    Actor,
    /// All records.
    Number,
}

impl AuditFilter {
    /// The index along which to search.
    pub(crate) fn along(&self) -> Along {
        match self {
            AuditFilter { subject_id: Some(_), .. } => Along::Subject,
            AuditFilter { action: Some(action), .. } if action != MANY => Along::Action,
            AuditFilter { actor: Some(_), .. } => Along::Actor,
            _ => Along::Number,
        }
    }

    /// Whether every record along the index matches.
    pub(crate) fn is_of_index(&self) -> bool {
        let AuditFilter { actor, action, subject_id, request_id, since, until } = self;
        let asked = [actor.is_some(), action.is_some(), subject_id.is_some(), request_id.is_some()];
        let texts = asked.into_iter().filter(|is_asked| *is_asked).count();
        since.is_none() && until.is_none() && texts == usize::from(self.along() != Along::Number)
    }
}

/// The hash of a record in the chain.
pub fn chained(before: &[u8], digest: &[u8]) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(digest);
    hash.finalize().to_vec()
}

/// Search of the audit trail.
#[async_trait]
pub trait Audit: std::fmt::Debug + Send + Sync {
    /// Records of an organization, latest first: those before `before`, at most `limit`. A search whose filter has more
    /// conditions than an index serves examines at most `most` records.
    async fn audit_records(
        &self,
        org: OrgId,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: usize,
        most: usize,
    ) -> Result<AuditPage>;
}

/// The chains of records.
#[async_trait]
pub trait AuditChains: std::fmt::Debug + Send + Sync {
    /// Records an event that is not one transaction of this store, or that changes nothing in it.
    async fn append_audit(&self, record: &NewAuditRecord) -> Result<()>;

    /// Records of an organization in order: those after `after`, at most `limit`.
    async fn audit_chain(&self, org: OrgId, after: i64, limit: usize) -> Result<Vec<AuditRow>>;

    /// The heads of all chains, by organization.
    async fn audit_heads(&self) -> Result<Vec<AuditHead>>;

    /// The organizations that have records.
    async fn audited_organizations(&self) -> Result<Vec<OrgId>>;
}

pub(crate) const AUDIT: &str =
    "org, seq, at, actor, session, address, request_id, action, subject_type, subject_id, details, hash";

pub(crate) fn audit(cells: &mut Cells<'_>) -> Result<AuditRow> {
    let (org, seq, at) = (cells.next()?, cells.next()?, cells.time()?);
    let origin =
        Origin { actor: cells.next()?, session: cells.next()?, address: cells.next()?, request_id: cells.next()? };
    let record = AuditRecord {
        org,
        at,
        origin: Arc::new(origin),
        action: cells.next()?,
        subject_type: cells.next()?,
        subject_id: cells.next()?,
        details: cells.next()?,
    };
    Ok(AuditRow { seq, record, hash: cells.next()? })
}

fn head(cells: &mut Cells<'_>) -> Result<AuditHead> {
    Ok(AuditHead { org: cells.next()?, seq: cells.next()?, hash: cells.next()? })
}

#[async_trait]
impl<D: Dialect> AuditChains for D {
    async fn append_audit(&self, record: &NewAuditRecord) -> Result<()> {
        self.transact(Vec::new(), Some(record)).await.map(drop)
    }

    async fn audit_chain(&self, org: OrgId, after: i64, limit: usize) -> Result<Vec<AuditRow>> {
        let text = format!("SELECT {AUDIT} FROM audit WHERE org = $1 AND seq > $2 ORDER BY seq LIMIT $3");
        self.all(sql!(text, org, after, limit), audit).await
    }

    async fn audit_heads(&self) -> Result<Vec<AuditHead>> {
        self.all(sql!("SELECT org, seq, hash FROM audit_heads ORDER BY org"), head).await
    }

    async fn audited_organizations(&self) -> Result<Vec<OrgId>> {
        let text = "WITH RECURSIVE found (org) AS (
                        SELECT min(org) FROM audit
                        UNION ALL
                        SELECT (SELECT min(a.org) FROM audit a WHERE a.org > f.org)
                        FROM found f WHERE f.org IS NOT NULL)
                    SELECT org FROM found WHERE org IS NOT NULL";
        self.all(sql!(text), |cells| cells.next()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> AuditRecord {
        let origin = Origin { actor: "client-1".into(), address: "192.0.2.1".into(), ..Origin::default() };
        AuditRecord {
            org: 1,
            at: Time::from_micros(5),
            origin: Arc::new(origin),
            action: "record_payment".into(),
            subject_type: "account".into(),
            subject_id: "loan-1".into(),
            details: "{}".into(),
        }
    }

    #[test]
    fn no_two_records_have_the_same_bytes() {
        let one = record();
        let moved = AuditRecord { subject_type: "accountl".into(), subject_id: "oan-1".into(), ..record() };
        let later = AuditRecord { at: Time::from_micros(6), ..record() };
        let elsewhere = AuditRecord {
            origin: Arc::new(Origin { address: "192.0.2.2".into(), ..(*one.origin).clone() }),
            ..record()
        };
        for other in [moved, later, elsewhere] {
            assert_ne!(one.bytes(), other.bytes(), "{other:?}");
        }
    }

    #[test]
    fn a_hash_hangs_on_the_hash_before_it() {
        let first = chained(b"", b"digest");
        assert_eq!(first.len(), 32);
        assert_ne!(chained(&first, b"digest"), first);
        assert_ne!(chained(&first, b"other"), chained(&first, b"digest"));
    }
}
