//! The journal of an account: all its inputs, in order of arrival.
//!
//! Most records are inputs of the engine. The service adds five of its own: a release of held events, a roll of the
//! account clock, a change of the profile, a change of the rules and a change of the time-zone data. They determine
//! which messages were announced and when, so an account can be processed again from its journal alone.

use crate::problem::Problem;
use crate::view;
use daybook_engine::change::InputClass;
use daybook_engine::item::{ItemId, LineItem, Name};
use daybook_engine::time::Time;
use daybook_engine::timeline::{Backdating, Entry, Input, Rank, TimelinePosition};
use daybook_store::records::InputRow;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The name of the record that opens an account.
pub const OPEN: &str = "dbk_open";

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// An input for the fold.
    Input(Input),
    /// Held events were released.
    Release {
        /// Events effective before this were not announced.
        suppress_before: Option<Time>,
    },
    /// The account clock was moved ahead.
    Roll {
        /// The last moment that was processed.
        to: Time,
    },
    /// Customers or external fields changed.
    Profile,
    /// The account was folded again by newer rules, which determine the state from here on.
    Refold(Mark),
    /// The account uses other time-zone data from here on; its future moments were placed again.
    Zone(ZoneChange),
}

/// A change of an account's time-zone data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneChange {
    /// Where the account stood.
    pub mark: Mark,
    /// The name of the data's release, such as `2026e`.
    pub version: String,
    /// The account's next moment by the earlier data.
    pub before: Option<Time>,
    /// The account's next moment by these data.
    pub after: Option<Time>,
}

/// Where an account stood when it was folded again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The version of the rules used from then on.
    pub rules_version: u16,
    /// The account was processed up to and including this moment; `None` if it never was.
    pub processed_through: Option<Time>,
    /// The time it was rolled to.
    pub rolled_to: Option<Time>,
    /// Records with a higher sequence number were held.
    pub settled_seq: i64,
    /// The sequence number of the account's last message. Messages that earlier rules announced stay as they are.
    pub message_seq: i64,
}

impl Record {
    /// Where the account stood, if this record folded it again.
    pub fn mark(&self) -> Option<&Mark> {
        match self {
            Record::Refold(mark) | Record::Zone(ZoneChange { mark, .. }) => Some(mark),
            _ => None,
        }
    }

    /// The name of the record's kind in a timeline.
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
            Record::Input(Input::Change(change)) => change.kind(),
            Record::Input(Input::CancelChange { .. }) => "change_cancel",
            Record::Input(Input::Refund { .. }) => "refund",
            Record::Input(Input::RefundReversal { .. }) => "refund_reversal",
            Record::Release { .. } => "release",
            Record::Roll { .. } => "roll",
            Record::Profile => "account_update",
            Record::Refold(_) => "rules_change",
            Record::Zone(_) => "time_zone_change",
        }
    }
}

/// A record: its row as the store keeps it, and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Its row.
    pub row: InputRow,
    /// Its place in the timeline.
    pub place: TimelinePosition,
    /// Whether it was scheduled for later. The row of a held input does not show that.
    pub scheduled: bool,
    /// Its content.
    pub record: Record,
    /// The time the account was processed through when the record was accepted, if its product held events then.
    pub held: Option<Time>,
}

/// The row of a record at a place, without its content. Such a record is effective at its place.
pub fn row_at(place: TimelinePosition, name: Name, recorded_at: Time, clock: Time) -> InputRow {
    InputRow {
        seq: place.seq as i64,
        name,
        effective_at: place.at,
        applies_at: place.at,
        rank: match place.rank {
            Rank::Input => 0,
            Rank::Moment => 1,
            Rank::Late => 2,
        },
        scheduled: false,
        recorded_at,
        clock,
        payload: Vec::new(),
        extra: None,
        content_hash: Vec::new(),
    }
}

impl JournalEntry {
    /// A new record: writes its content into its row.
    pub fn new(mut row: InputRow, record: Record, held: Option<Time>) -> Result<JournalEntry, Problem> {
        row.payload = postcard::to_allocvec(&(&record, held))
            .map_err(|error| Problem::internal(format!("input {} cannot be serialized: {error}", row.seq)))?;
        Ok(JournalEntry::of(row, record, held))
    }

    /// Reads a row.
    pub fn read(row: InputRow) -> Result<JournalEntry, Problem> {
        let (record, held) = postcard::from_bytes(&row.payload)
            .map_err(|error| Problem::internal(format!("input {} cannot be read: {error}", row.seq)))?;
        Ok(JournalEntry::of(row, record, held))
    }

    fn of(row: InputRow, record: Record, held: Option<Time>) -> JournalEntry {
        let rank = match row.rank {
            0 => Rank::Input,
            1 => Rank::Moment,
            _ => Rank::Late,
        };
        let class = match (&record, rank) {
            (Record::Input(input), Rank::Input) => input.class(),
            _ => InputClass::Other,
        };
        let place = TimelinePosition { at: row.applies_at, rank, class, seq: row.seq as u64 };
        JournalEntry { place, scheduled: row.scheduled, row, record, held }
    }

    /// Whether it is a change of the loan, or cancels one.
    pub fn is_change(&self) -> bool {
        matches!(self.record, Record::Input(Input::Change(_) | Input::CancelChange { .. }))
    }

    /// The kind of the change of the loan that it is.
    pub fn change_kind(&self) -> Option<&'static str> {
        match &self.record {
            Record::Input(Input::Change(change)) => Some(change.kind()),
            _ => None,
        }
    }

    /// Its sequence number.
    pub fn seq(&self) -> i64 {
        self.row.seq
    }

    /// The line item of a held or scheduled record, if it makes one.
    pub fn waiting_item(&self) -> Option<LineItem> {
        view::waiting_item(&self.entry()?)
    }

    /// The record as the fold sees it; `None` for the service's own records.
    pub fn entry(&self) -> Option<Entry> {
        let Record::Input(input) = &self.record else { return None };
        Some(Entry {
            place: self.place,
            effective_at: self.row.effective_at,
            scheduled: self.scheduled,
            name: self.row.name.clone(),
            input: input.clone(),
        })
    }
}

/// The payload prefixes of records that may change how an earlier input counts from its own effective time: the cancel
/// of a change and, under `REPLAY`, the reversal of a payment and decisions about its status.
pub fn revising(backdating: Backdating) -> Result<Vec<Vec<u8>>, Problem> {
    let name = || Name::from("");
    let mut inputs = vec![Input::CancelChange { change: name(), never_made: false }];
    if backdating == Backdating::Replay {
        inputs.push(Input::Reversal { payment: name() });
        inputs.push(Input::PaymentStatus { payment: name(), valid: true });
    }
    let begins = |input: Input| {
        let bytes = postcard::to_allocvec(&Record::Input(input))
            .map_err(|error| Problem::internal(format!("a record cannot be serialized: {error}")))?;
        // The tags of the record and of the input; each is one byte.
        Ok(bytes[..2].to_vec())
    };
    inputs.into_iter().map(begins).collect()
}

/// An index of records by name, for a journal that only grows. Without it, a lookup scans the journal.
#[derive(Clone, Debug, Default)]
pub struct Names(HashMap<Name, usize>);

impl Names {
    /// Indexes these records.
    pub fn of(journal: &[JournalEntry]) -> Names {
        Names(journal.iter().enumerate().map(|(index, record)| (record.row.name.clone(), index)).collect())
    }

    /// Adds a record that the journal gets at this index.
    pub fn note(&mut self, record: &JournalEntry, index: usize) {
        self.0.insert(record.row.name.clone(), index);
    }
}

/// The record with a name.
pub fn named<'a>(names: Option<&Names>, journal: &'a [JournalEntry], name: &str) -> Option<&'a JournalEntry> {
    match names {
        Some(names) => names.0.get(name).and_then(|index| journal.get(*index)),
        None => journal.iter().find(|record| &*record.row.name == name),
    }
}

/// The name of the input that an input refers to, if any.
pub fn refers_to(input: &Input) -> Option<&Name> {
    match input {
        Input::PaymentStatus { payment, .. } | Input::Reversal { payment } => Some(payment),
        Input::CancelChange { change, .. } => Some(change),
        Input::RefundReversal { refund } => Some(refund),
        Input::Waiver { fee: ItemId::Input(name) } => Some(name),
        _ => None,
    }
}

/// The entries of these records, in timeline order.
pub fn entries<'a>(journal: impl IntoIterator<Item = &'a JournalEntry>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = journal.into_iter().filter_map(JournalEntry::entry).collect();
    entries.sort_by_key(|entry| entry.place);
    entries
}
