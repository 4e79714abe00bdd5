//! How messages are stored: compressed, several in a row.
//!
//! A message of 1,300 bytes differs from the one before it in a few names, times and amounts, and what a row and its index
//! entries take is more than what is left of it. So the messages that a unit adds to an organization's log are
//! compressed together, with a dictionary that knows what messages look like, and have one row of the table
//! `message_groups` together, at most [`MOST_IN_GROUP`] at a time. These are messages about one account, with
//! consecutive numbers and positions, recorded at the same time, and in effect at that time or before; or, if they take
//! effect later, all at the same moment. So what a row's columns say about the time of a message is right for each of
//! its messages. All other messages have a row each.
//!
//! | column of a row of several messages | what it is |
//! |---|---|
//! | position, sequence | of its last message: messages expire from the beginning of the log, and the row with its last |
//! | `size` | how many messages it has |
//! | `account` | of all |
//! | `cause` | their causes, each once, with a space in between |
//! | `effective_at`, `recorded_at` | the earliest, the latest |
//! | `event`, `event_id`, `subject`, `signature` | empty |
//! | `content` | all messages |
//!
//! The table `message_events` has a row for each event of such a row, which says which of its messages have the event.
//! Messages in rows of their own are found by the column `event`.
//!
//! | first byte of `content` | what follows |
//! |---|---|
//! | [`HOLDS_SEVERAL`] | the [group](codec) of all messages of the row: the number of its dictionary, signatures, a zstd frame, a checksum |
//! | [`HOLDS_GROUP`] | the group of the row's one message |
//! | `{` | nothing else: the row is not compressed, and this is the data itself, which is JSON |
//!
//! Rows that the build before wrote have one message each, and their groups extend over several rows: the row of the last
//! message has [`HOLDS_GROUP`] and the group of all, and the rows before it have this:
//!
//! | first byte of `content` | what follows |
//! |---|---|
//! | [`HELD_BY_LATER`] | one byte, how many positions further the row with the group is; the beginning of the signature |
//!
//! Content that begins otherwise, or a row whose group cannot be read or has another signature for it, is damaged.
//!
//! The group of a row's one message also holds the signature, and of a message about an account the event id and the
//! subject; these columns are empty then. A column that is not empty is valid: the group holds what an empty column
//! leaves out. A waiting message has a row of its own, so that it can be moved into the log as it is.
//!
//! Writing: [`compress_batch`], before a batch is written. Reading: rows are read as they are, then [`missing_rows`] says
//! which further rows are needed, and [`expand`] makes the messages of them. What a caller of the store sees is what was
//! given to [`compress_batch`], byte for byte.

mod checking;
mod codec;
mod dictionary;
pub(crate) mod earlier;
mod reading;
#[cfg(test)]
mod tests;
mod writing;

pub(crate) use checking::check;
pub(crate) use reading::{
    Expanded, StoredRow, complete, expand, expand_waiting, has_cause, is_incomplete, missing_rows, stored_row,
};
pub use writing::CompressedMessages;
pub(crate) use writing::NewRow;

use crate::Result;
use crate::batch::{Batch, Unit};
use crate::records::{MessageRow, OrgId};
use crate::upkeep::MessageFacts;

/// The most messages in a row: to read one message, all of its row are decompressed.
pub(crate) const MOST_IN_GROUP: usize = 16;
/// The most bytes of data in a row of several messages.
const GROUP_BYTES_MAX: usize = 32 << 10;
/// The first byte of `content` in a row of one message that holds a group.
const HOLDS_GROUP: u8 = 1;
/// The first byte of `content` in a row whose group is in a later row.
const HELD_BY_LATER: u8 = 2;
/// The first byte of `content` in a row of several messages.
const HOLDS_SEVERAL: u8 = 3;

impl Unit {
    /// Compresses the unit's messages. A commit does it too; code that computes large units on its own thread calls
    /// this there.
    pub fn compress_messages(&mut self) -> Result<()> {
        self.compressed.rows.extend(writing::rows_of(&self.messages)?);
        self.messages.clear();
        Ok(())
    }
}

/// Compresses the messages of a batch.
pub(crate) fn compress_batch(batch: &mut Batch) -> Result<()> {
    batch.units.iter_mut().try_for_each(Unit::compress_messages)
}

/// The rows of messages of one organization that were read, with one of them changed. They keep their positions.
pub(crate) fn rows_with(org: OrgId, messages: Vec<MessageRow>, facts: &MessageFacts) -> Result<Vec<NewRow>> {
    let changed = |mut message: MessageRow| {
        if message.sequence == facts.sequence {
            message.event.clone_from(&facts.event);
            message.event_id.clone_from(&facts.event_id);
            message.cause.clone_from(&facts.cause);
            message.subject.clone_from(&facts.subject);
            (message.effective_at, message.recorded_at) = (facts.effective_at, facts.recorded_at);
        }
        (org, message)
    };
    let messages: Vec<(OrgId, MessageRow)> = messages.into_iter().map(changed).collect();
    Ok(writing::rows_of(&messages)?.into_iter().map(|(_, row)| row).collect())
}

/// Removes the event id and the subject from what is written to a message's columns, if its group holds them. `whole` is
/// the message as it is read without these two columns.
pub(crate) fn leave_out(facts: &mut MessageFacts, whole: Option<&MessageRow>) {
    let Some(whole) = whole.filter(|whole| !whole.event_id.is_empty()) else { return };
    if whole.event_id == facts.event_id {
        facts.event_id.clear();
    }
    if whole.subject == facts.subject {
        facts.subject.clear();
    }
}

/// The columns that [`rows::message`](crate::rows::message) reads, without the event id and the subject.
pub(crate) const MESSAGE_WITHOUT_TEXTS: &str =
    "account, sequence, event, '' AS event_id, cause, '' AS subject, effective_at, recorded_at, content, signature";
