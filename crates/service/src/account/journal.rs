//! The journal of an account: everything that was asked of it, in order of arrival.
//!
//! Most records are inputs of the engine. Five are the service's own: a release (held events were let go), a roll (the
//! account's clock was moved ahead), a change of the profile, a change of the rules and one of the time-zone data. They are written down because what was announced, and
//! when, follows from them: an account can be worked through again from its journal alone.

use crate::problem::Problem;
use crate::view;
use daybook_engine::item::{ItemId, LineItem, Name};
use daybook_engine::time::Time;
use daybook_engine::timeline::{Entry, Input, Place, Rank};
use daybook_store::records::InputRow;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// The name of the record that opens an account.
pub const OPEN: &str = "dbk_open";

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// Something for the fold.
    Input(Input),
    /// Events that were held are let go.
    Release {
        /// Events effective before this were not announced.
        suppress_before: Option<Time>,
    },
    /// The account's clock was moved ahead.
    Roll {
        /// The last moment that was worked through.
        to: Time,
    },
    /// Customers or external fields changed.
    Profile,
    /// The account was folded again by newer rules: what stood before follows from them.
    Refold(Mark),
    /// The account goes by other time-zone data from here on: what was ahead of it was placed again.
    Zone(ZoneChange),
}

/// That an account goes by other time-zone data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneChange {
    /// Where it stood.
    pub mark: Mark,
    /// What the data are called: `2026e`.
    pub version: String,
    /// When something was to be done next by the earlier data.
    pub before: Option<Time>,
    /// When something is to be done next by these.
    pub after: Option<Time>,
}

/// Where an account stood when it was folded again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The version of the rules from then on.
    pub rules_version: u16,
    /// Up to and including which moment it was folded; `None` if it never was.
    pub processed_through: Option<Time>,
    /// What it was rolled to.
    pub rolled_to: Option<Time>,
    /// Records beyond this were held.
    pub settled_seq: i64,
    /// The sequence of the last message about it: what earlier rules announced stays as it was announced.
    pub message_seq: i64,
}

impl Record {
    /// If the account was folded again here: where it stood.
    pub fn mark(&self) -> Option<&Mark> {
        match self {
            Record::Refold(mark) | Record::Zone(ZoneChange { mark, .. }) => Some(mark),
            _ => None,
        }
    }

    /// What the record is called in a timeline.
    pub fn kind(&self) -> &'static str {
        match self {
            Record::Input(Input::Open) => "account_created",
            Record::Input(Input::Payment { .. }) => "payment",
            Record::Input(Input::PaymentStatus { .. }) => "payment_status",
            Record::Input(Input::Reversal { .. }) => "payment_reversal",
            Record::Input(Input::Fee { .. }) => "manual_fee",
            Record::Input(Input::Waiver { .. }) => "fee_waiver",
            Record::Input(Input::Credit { .. }) => "credit_offset",
            Record::Input(Input::Debit { .. }) => "debit_offset",
            Record::Input(Input::Status(_)) => "status",
            Record::Input(Input::Notify(_)) => "notification_config",
            Record::Release { .. } => "release",
            Record::Roll { .. } => "roll",
            Record::Profile => "account_update",
            Record::Refold(_) => "rules_change",
            Record::Zone(_) => "time_zone_change",
        }
    }
}

/// A record in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// The record's number and its place in the timeline.
    pub place: Place,
    /// Its name, unique within the account.
    pub name: Name,
    /// When the caller says it happened.
    pub effective_at: Time,
    /// Whether it waited as scheduled.
    pub scheduled: bool,
    /// When it was accepted.
    pub recorded_at: Time,
    /// The account's clock when it was accepted.
    pub clock: Time,
    /// What it says.
    pub record: Record,
    /// If its product held its events when it was accepted: up to where the account was processed then.
    pub held: Option<Time>,
    /// External fields, as JSON.
    pub extra: Option<Arc<str>>,
    /// A hash of what was asked for.
    pub content_hash: Vec<u8>,
}

impl Journal {
    /// Its number, as the store counts.
    pub fn seq(&self) -> i64 {
        self.place.seq as i64
    }

    /// Reads a row.
    pub fn read(row: InputRow) -> Result<Journal, Problem> {
        let (record, held) = postcard::from_bytes(&row.payload)
            .map_err(|error| Problem::internal(format!("input {} cannot be read: {error}", row.seq)))?;
        let rank = match row.rank {
            0 => Rank::Input,
            1 => Rank::Moment,
            _ => Rank::Late,
        };
        Ok(Journal {
            place: Place { at: row.applies_at, rank, seq: row.seq as u64 },
            name: row.name,
            effective_at: row.effective_at,
            scheduled: row.scheduled,
            recorded_at: row.recorded_at,
            clock: row.clock,
            record,
            held,
            extra: row.extra,
            content_hash: row.content_hash,
        })
    }

    /// Writes a row.
    pub fn write(&self) -> Result<InputRow, Problem> {
        let payload = postcard::to_allocvec(&(&self.record, self.held))
            .map_err(|error| Problem::internal(format!("input {} cannot be written: {error}", self.place.seq)))?;
        Ok(InputRow {
            seq: self.seq(),
            name: self.name.clone(),
            effective_at: self.effective_at,
            applies_at: self.place.at,
            rank: match self.place.rank {
                Rank::Input => 0,
                Rank::Moment => 1,
                Rank::Late => 2,
            },
            scheduled: self.scheduled,
            recorded_at: self.recorded_at,
            clock: self.clock,
            payload,
            extra: self.extra.clone(),
            content_hash: self.content_hash.clone(),
        })
    }

    /// The line item of a record that is held or waits for its time, if it makes one.
    pub fn waiting_item(&self) -> Option<LineItem> {
        view::waiting_item(&self.entry()?)
    }

    /// The record as the fold sees it, if it does.
    pub fn entry(&self) -> Option<Entry> {
        let Record::Input(input) = &self.record else { return None };
        Some(Entry {
            place: self.place,
            effective_at: self.effective_at,
            scheduled: self.scheduled,
            name: self.name.clone(),
            input: input.clone(),
        })
    }
}

/// What the payloads begin with of records that may make a payment count otherwise from its own time on: its reversal, and
/// what is decided about it.
pub fn revising() -> Result<Vec<Vec<u8>>, Problem> {
    let payment = || Name::from("");
    let inputs = [Input::Reversal { payment: payment() }, Input::PaymentStatus { payment: payment(), valid: true }];
    let begins = |input: Input| {
        let bytes = postcard::to_allocvec(&Record::Input(input))
            .map_err(|error| Problem::internal(format!("a record cannot be written: {error}")))?;
        // Which record, and which input; each number is one byte.
        Ok(bytes[..2].to_vec())
    };
    inputs.into_iter().map(begins).collect()
}

/// Where the records of a long journal are, by name. A journal that is only ever added to has one; without it, a name is
/// looked for record by record.
#[derive(Clone, Debug, Default)]
pub struct Names(HashMap<Name, usize>);

impl Names {
    /// The names of these records.
    pub fn of(journal: &[Journal]) -> Names {
        Names(journal.iter().enumerate().map(|(index, record)| (record.name.clone(), index)).collect())
    }

    /// Notes the record that was just added.
    pub fn note(&mut self, journal: &[Journal]) {
        if let Some(last) = journal.last() {
            self.0.insert(last.name.clone(), journal.len() - 1);
        }
    }
}

/// The record of a name.
pub fn named<'a>(names: Option<&Names>, journal: &'a [Journal], name: &str) -> Option<&'a Journal> {
    match names {
        Some(names) => names.0.get(name).and_then(|index| journal.get(*index)),
        None => journal.iter().find(|record| &*record.name == name),
    }
}

/// The name of the input that an input refers to, if it does.
pub fn refers_to(input: &Input) -> Option<&Name> {
    match input {
        Input::PaymentStatus { payment, .. } | Input::Reversal { payment } => Some(payment),
        Input::Waiver { fee: ItemId::Input(name) } => Some(name),
        _ => None,
    }
}

/// The records that the fold sees, in its order.
pub fn entries<'a>(journal: impl IntoIterator<Item = &'a Journal>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = journal.into_iter().filter_map(Journal::entry).collect();
    entries.sort_by_key(|entry| entry.place);
    entries
}
