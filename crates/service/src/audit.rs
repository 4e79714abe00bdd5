//! The audit trail: who did what, to what, when, from where.
//!
//! A use case that changes something describes it with an [`Act`]. The act and the caller make a record, which the
//! store writes in the same transaction as the change. So there is no change without its record, and no record of a
//! change that was refused or had been made before. One request leaves one record; a request of several transactions
//! (bulk, a replay) is recorded before it begins.
//!
//! ```text
//! caller ─┐
//!         ├─► record ─► digest (keyed) ─► store: next in the organization's chain, in the transaction of the change
//! act ────┘
//! ```
//!
//! [`daybook_store::audit`] describes the chain and what it protects against. [`Service::verify`] checks it.

use crate::Service;
use crate::access::{Caller, Right};
use crate::boxed;
use crate::paging::{Paging, no_mark, onward, write_mark};
use crate::problem::{Detail, Problem};
use crate::secrets::{Secrets, hash, hex};
use crate::verify::Verified;
use crate::view;
use daybook_clock::Stopwatch;
use daybook_engine::time::Time;
use daybook_store::audit::{AuditFilter, AuditHead, AuditPage, AuditRecord, AuditRow, NewAuditRecord, Origin, chained};
use daybook_store::records::OrgId;
use serde::Serialize;
use serde_json::{Map, Value};
use std::net::IpAddr;
use std::sync::Arc;

/// Details longer than this many bytes are replaced by their length and hash.
const LONGEST_DETAILS: usize = 4_096;
/// The largest number of characters of a caller's text that a record keeps.
const LONGEST_TEXT: usize = 300;
/// The number of records read at once.
const STEP: usize = 1_000;
/// The largest number of records that a search examines for a page, if no index finds them.
pub(crate) const MOST_EXAMINED: usize = 20_000;

/// An action to record.
#[derive(Clone, Debug)]
pub struct Act<'a> {
    /// The action, named as in the interface, such as `record_payment`.
    pub action: &'static str,
    /// The type of object it was done to, such as `account`.
    pub subject_type: &'static str,
    /// The id of that object.
    pub subject_id: &'a str,
    /// Further details.
    pub details: Map<String, Value>,
}

impl<'a> Act<'a> {
    /// An action on an object.
    pub fn on(action: &'static str, subject_type: &'static str, subject_id: &'a str) -> Act<'a> {
        Act { action, subject_type, subject_id, details: Map::new() }
    }

    /// Adds a detail.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Act<'a> {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the fields of a form, except external fields. Not for forms about people.
    pub fn asked<T: Serialize>(mut self, form: &T) -> Act<'a> {
        if let Ok(Value::Object(fields)) = serde_json::to_value(form) {
            // External fields may hold personal data, and records are kept forever.
            let is_kept = |(name, value): &(String, Value)| !value.is_null() && name != "external_fields";
            self.details.extend(fields.into_iter().filter(is_kept));
        }
        self
    }
}

/// Filters for audit records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Of this key, person or command.
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

impl Caller {
    /// The same caller, with the address and id of the request.
    pub fn from_where(mut self, address: Option<IpAddr>, request_id: &str) -> Caller {
        let session = self.origin.as_ref().map(|origin| origin.session.clone()).unwrap_or_default();
        let address = address_text(address);
        let (actor, request_id) = (self.client_id.clone(), request_id.to_owned());
        self.origin = Some(Arc::new(Origin { actor, session, address, request_id }));
        self
    }

    /// Where the request came from.
    fn origin(&self) -> Arc<Origin> {
        match &self.origin {
            Some(origin) if origin.actor == self.client_id => origin.clone(),
            Some(origin) => Arc::new(Origin { actor: self.client_id.clone(), ..(**origin).clone() }),
            None => Arc::new(Origin { actor: self.client_id.clone(), ..Origin::default() }),
        }
    }
}

/// The record of a caller's action; `None` if an earlier record covers the whole request.
pub(crate) fn record(secrets: &Secrets, now: Time, who: &Caller, act: Act<'_>) -> Option<NewAuditRecord> {
    (!who.is_recorded).then(|| new_record(secrets, now, who.org, who.origin(), act))
}

/// Creates a record.
pub(crate) fn new_record(
    secrets: &Secrets,
    now: Time,
    org: OrgId,
    origin: Arc<Origin>,
    act: Act<'_>,
) -> NewAuditRecord {
    let mut details = Value::Object(act.details).to_string();
    if details.len() > LONGEST_DETAILS {
        let mut short = Map::new();
        short.insert("bytes".to_owned(), details.len().into());
        short.insert("sha256".to_owned(), hex(&hash(details.as_bytes())).into());
        details = Value::Object(short).to_string();
    }
    let record = AuditRecord {
        org,
        at: now,
        origin,
        action: act.action.to_owned(),
        subject_type: act.subject_type.to_owned(),
        subject_id: shortened(act.subject_id),
        details,
    };
    let digest = secrets.audit_digest(&record.bytes());
    NewAuditRecord { record, digest }
}

/// An address in the form that is recorded.
pub(crate) fn address_text(address: Option<IpAddr>) -> String {
    address.map(|address| address.to_canonical().to_string()).unwrap_or_default()
}

/// A caller's text, truncated if it is too long and without control characters.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(LONGEST_TEXT).collect()
}

impl Service {
    /// The same service without an audit trail. Only for measuring what the trail costs.
    pub fn without_audit_trail(self) -> Service {
        Service { keeps_audit_trail: false, ..self }
    }

    /// The same service, whose searches in the audit trail examine at most this many records for a page. For tests.
    pub fn examining_audit_records(self, most: usize) -> Service {
        Service { most_examined: most, ..self }
    }

    /// The record of a caller's action at the current time.
    pub(crate) fn recorded(&self, who: &Caller, act: Act<'_>) -> Option<NewAuditRecord> {
        record(&self.secrets, self.clock.now(), who, act).filter(|_| self.keeps_audit_trail)
    }

    /// Records an action of several transactions, or none, before it begins. Returns the caller to use for its parts,
    /// which are not recorded one by one.
    pub(crate) async fn record_first(&self, who: &Caller, act: Act<'_>) -> Result<Caller, Problem> {
        if let Some(record) = self.recorded(who, act) {
            self.store.append_audit(&record).await?;
        }
        Ok(Caller { is_recorded: true, ..who.clone() })
    }

    /// Records a bulk request. Returns the caller to use for its lines.
    #[boxed]
    pub async fn record_bulk(&self, who: &Caller, lines: usize, body: &[u8]) -> Result<Caller, Problem> {
        who.may(Right::Write)?;
        let act = Act::on("bulk", "bulk", "").with("lines", lines).with("sha256", hex(&hash(body)));
        self.record_first(who, act).await
    }

    /// A page of the records of the caller's organization, newest first. A search without an index examines a limited
    /// number of records for each page. If few match, the page may be short or empty and still state that there are
    /// more.
    #[boxed]
    pub async fn list_audit_records(
        &self,
        who: &Caller,
        paging: Paging,
        query: AuditQuery,
    ) -> Result<view::Page<view::AuditRecord>, Problem> {
        who.may(Right::Administer)?;
        onward(&paging)?;
        let before = paging.after.as_deref().map(|mark| mark.parse::<i64>().map_err(|_| no_mark())).transpose()?;
        let AuditQuery { actor, action, subject_id, request_id, since, until } = query;
        check(&[
            ("actor", actor.as_deref(), LONGEST_TEXT, |letter| is_plain(letter) || letter == ' '),
            ("action", action.as_deref(), 100, |letter| letter.is_ascii_lowercase() || letter == '_'),
            ("subject_id", subject_id.as_deref(), LONGEST_TEXT, |letter| letter != '\0'),
            ("request_id", request_id.as_deref(), 128, is_plain),
        ])?;
        let filter = AuditFilter { actor, action, subject_id, request_id, since, until };
        let most = self.most_examined;
        let AuditPage { records, next } =
            self.store.audit_records(who.org, &filter, before, paging.limit, most).await?;
        let mark = next.or(records.last().map(|last| last.seq));
        let starting_after = mark.map(|number| write_mark(&number.to_string()));
        let paging = view::Paging { starting_after, ending_before: None, has_more: next.is_some() };
        Ok(view::Page { results: records.into_iter().map(view::AuditRecord::new).collect(), paging })
    }

    /// The hash of a record in the caller's organization, in hexadecimal.
    #[boxed]
    pub async fn audit_hash(&self, who: &Caller, number: i64) -> Result<Option<String>, Problem> {
        who.may(Right::Administer)?;
        let rows = self.store.audit_chain(who.org, number.saturating_sub(1), 1).await?;
        Ok(rows.first().filter(|row| row.seq == number).map(|row| hex(&row.hash)))
    }

    /// The heads of all chains, by organization.
    #[boxed]
    pub async fn audit_heads(&self) -> Result<Vec<AuditHead>, Problem> {
        Ok(self.store.audit_heads().await?)
    }

    /// Checks every chain: each record's hash must follow from the record and the hash before it, and the last record
    /// must be the chain's head. With `slowly`, it pauses after each step for as long as the step took.
    pub(crate) async fn verify_audit(&self, slowly: bool, verified: &mut Verified) -> Result<(), Problem> {
        let mut orgs = self.store.audited_organizations().await?;
        orgs.extend(self.store.organizations().await?.iter().map(|organization| organization.org));
        // The heads are read last, so an organization created in the meantime has its head.
        let heads = self.store.audit_heads().await?;
        orgs.extend(heads.iter().map(|head| head.org));
        orgs.sort_unstable();
        orgs.dedup();
        for org in orgs {
            let head = heads.iter().find(|head| head.org == org);
            self.verify_chain(org, head, slowly, verified).await?;
        }
        Ok(())
    }

    async fn verify_chain(
        &self,
        org: OrgId,
        head: Option<&AuditHead>,
        slowly: bool,
        verified: &mut Verified,
    ) -> Result<(), Problem> {
        let mut chain = Chain { org, seq: 0, hash: Vec::new(), found: Vec::new() };
        let mut read_through = i64::MIN;
        // Records appended while this runs are checked the next time.
        let through = head.map_or(i64::MAX, |head| head.seq);
        loop {
            let watch = Stopwatch::start();
            let rows = self.store.audit_chain(org, read_through, STEP).await?;
            read_through = rows.last().map_or(read_through, |last| last.seq);
            let is_last = rows.len() < STEP || rows.last().is_some_and(|last| last.seq >= through);
            for row in rows.iter().filter(|row| row.seq <= through) {
                chain.take(row, &self.secrets);
                verified.audit_records += 1;
            }
            if is_last {
                break;
            }
            if slowly {
                tokio::time::sleep(watch.elapsed()).await;
            }
        }
        match head {
            None => chain.differ("its end is unknown, because its row in table audit_heads is missing".to_owned()),
            Some(head) if chain.seq != head.seq => {
                chain.differ(format!(
                    "should end with record {}, but the last record found is number {}",
                    head.seq, chain.seq
                ));
            }
            Some(head) if chain.hash != head.hash => {
                chain.differ(format!(
                    "the hash of its last record ({}) differs from the one in table audit_heads",
                    head.seq
                ));
            }
            Some(_) => self.verify_end(&mut chain).await?,
        }
        verified.differences.append(&mut chain.found);
        Ok(())
    }

    /// Checks that no record lies after the head of a chain. The head is read after the records, so it is never behind
    /// a record that was appended.
    async fn verify_end(&self, chain: &mut Chain) -> Result<(), Problem> {
        let last = self.store.audit_records(chain.org, &AuditFilter::default(), None, 1, 1).await?.records.pop();
        let Some(last) = last else { return Ok(()) };
        let heads = self.store.audit_heads().await?;
        let head = heads.iter().find(|head| head.org == chain.org).map_or(0, |head| head.seq);
        if last.seq > head {
            chain.differ(format!("record {} is after the end of the trail", last.seq));
        }
        Ok(())
    }
}

/// A field of a filter: its name, its value, the maximum number of characters, and the allowed characters.
type FilterField<'a> = (&'static str, Option<&'a str>, usize, fn(char) -> bool);

/// Reports every field that is wrong.
fn check(asked: &[FilterField<'_>]) -> Result<(), Problem> {
    let mut wrong = Vec::new();
    for (field, given, most, may_have) in asked {
        let Some(given) = given else { continue };
        if !(1..=*most).contains(&given.chars().count()) {
            wrong
                .push(Detail { field: (*field).to_owned(), message: format!("must have from 1 to {most} characters") });
        } else if !given.chars().all(may_have) {
            let message = "contains a character that is not allowed here".to_owned();
            wrong.push(Detail { field: (*field).to_owned(), message });
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Problem::invalid_fields(wrong)) }
}

/// Whether ids may contain a character.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "._:~-".contains(letter)
}

/// A chain that is being checked.
struct Chain {
    org: OrgId,
    seq: i64,
    hash: Vec<u8>,
    found: Vec<String>,
}

impl Chain {
    fn differ(&mut self, what: String) {
        self.found.push(format!("audit trail of organization {}: {what}", self.org));
    }

    /// Checks the next record. After a record with a wrong hash, the chain continues with the stored hash, so that one
    /// change is reported once.
    fn take(&mut self, row: &AuditRow, secrets: &Secrets) {
        if row.seq < 1 {
            self.differ(format!("record {} was inserted before the first", row.seq));
            return;
        }
        if row.seq != self.seq + 1 {
            let (first, last) = (self.seq + 1, row.seq - 1);
            self.differ(format!("records {first} to {last} are missing"));
        }
        let digest = secrets.audit_digest(&row.record.bytes());
        if chained(&self.hash, &digest) != row.hash {
            self.differ(format!("record {} was changed, moved or inserted: its hash does not match", row.seq));
        }
        (self.seq, self.hash) = (row.seq, row.hash.clone());
    }
}
