//! The audit trail: who did what, to what, when, from where.
//!
//! A record is written in the transaction of what it records, and is never changed: the tables refuse that. The records of
//! an organization are a chain. Each record has a *digest*, a hash of all its fields that only the holder of the secrets key
//! can make, and a *hash* of the hash before it and its digest. The *head* of an organization's chain has the number and the
//! hash of its last record.
//!
//! ```text
//! record 1 ── hash 1 = H("" · digest 1)
//! record 2 ── hash 2 = H(hash 1 · digest 2)
//! record 3 ── hash 3 = H(hash 2 · digest 3)      head: 3, hash 3
//! ```
//!
//! A field that is changed changes a digest, a record that is removed, inserted or moved changes every hash after it, and a
//! chain that was cut does not reach its head. What does not belong to an organization, such as a sign-in with an address that
//! is not known, is recorded for organization [`NO_ORGANIZATION`].

use crate::Result;
use crate::records::OrgId;
use async_trait::async_trait;
use daybook_engine::time::Time;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// Under which number records are kept that belong to no organization.
pub const NO_ORGANIZATION: OrgId = 0;

/// Who makes a call, and how. Shared by all that is recorded of the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// A key by its client id, a person as `person:…`, or a command as `command:…`.
    pub actor: String,
    /// A mark of the session that a person is signed in by; empty for keys and commands.
    pub session: String,
    /// The client's address; empty where there is none.
    pub address: String,
    /// The id of the request; empty where there is none.
    pub request_id: String,
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// For which organization.
    pub org: OrgId,
    /// When.
    pub at: Time,
    /// Who, and how.
    pub origin: Arc<Origin>,
    /// What was done, such as `record_payment`.
    pub action: String,
    /// What kind of thing it was done to, such as `account`.
    pub subject_type: String,
    /// To which.
    pub subject_id: String,
    /// More about it: a JSON object.
    pub details: String,
}

impl AuditRecord {
    /// All fields, each with its length before it: no two records are written alike.
    pub fn bytes(&self) -> Vec<u8> {
        let Origin { actor, session, address, request_id } = &*self.origin;
        let (org, at) = (self.org.to_be_bytes(), self.at.micros().to_be_bytes());
        let texts =
            [actor, session, address, request_id, &self.action, &self.subject_type, &self.subject_id, &self.details];
        let parts = [&org[..], &at[..]].into_iter().chain(texts.into_iter().map(|text| text.as_bytes()));
        parts.flat_map(|part| [&(part.len() as u64).to_be_bytes()[..], part].concat()).collect()
    }
}

/// A record that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAuditRecord {
    /// What is recorded.
    pub record: AuditRecord,
    /// The keyed hash of [`AuditRecord::bytes`].
    pub digest: Vec<u8>,
}

/// A record that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number: 1, 2, 3, … for each organization.
    pub seq: i64,
    /// What is recorded.
    pub record: AuditRecord,
    /// Its hash in the chain.
    pub hash: Vec<u8>,
}

/// The end of an organization's chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditHead {
    /// Whose.
    pub org: OrgId,
    /// The number of the last record; 0 where there is none.
    pub seq: i64,
    /// Its hash; empty where there is none.
    pub hash: Vec<u8>,
}

/// Which records are asked for. What is `None` is not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// By this actor.
    pub actor: Option<String>,
    /// Of this action.
    pub action: Option<String>,
    /// About the thing with this id.
    pub subject_id: Option<String>,
    /// Of this request.
    pub request_id: Option<String>,
    /// At this moment or later.
    pub since: Option<Time>,
    /// Before this moment.
    pub until: Option<Time>,
}

/// The hash of a record in the chain.
pub fn chained(before: &[u8], digest: &[u8]) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(digest);
    hash.finalize().to_vec()
}

/// What the store keeps of who did what.
#[async_trait]
pub trait Audit: std::fmt::Debug + Send + Sync {
    /// Records something that is not one transaction of this store, or that changes nothing in it.
    async fn append_audit(&self, record: &NewAuditRecord) -> Result<()>;

    /// Records of an organization, the latest first: those before `before`, at most `limit`.
    async fn audit_records(
        &self,
        org: OrgId,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AuditRow>>;

    /// Records of an organization in their order: those after `after`, at most `limit`.
    async fn audit_chain(&self, org: OrgId, after: i64, limit: usize) -> Result<Vec<AuditRow>>;

    /// The ends of all chains, by organization.
    async fn audit_heads(&self) -> Result<Vec<AuditHead>>;

    /// The organizations that have records.
    async fn audited_organizations(&self) -> Result<Vec<OrgId>>;
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
