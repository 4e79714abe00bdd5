//! How messages are stored: compressed, in groups.
//!
//! A message of 1,300 bytes differs from the one before it in a few names, times and amounts. So the messages that a unit
//! adds to an organization's log are compressed together, at most [`MOST_IN_GROUP`] at a time, with a dictionary that
//! knows what messages look like. The row of the *last* message of a group holds the whole group in its column `content`;
//! the rows before it hold only how many positions further that row is. Messages expire from the beginning of the log,
//! so a group goes when its last message does.
//!
//! | first byte of `content` | what follows |
//! |---|---|
//! | [`HOLDS_GROUP`] | the [group](codec): the number of its dictionary, signatures, a zstd frame, a checksum |
//! | [`HELD_BY_LATER`] | one byte, how many positions further the row with the group is; the beginning of the signature |
//! | `{` | nothing else: the row is not compressed, and this is the data itself, which is JSON |
//!
//! Content that begins otherwise, or a row whose group cannot be read or has another signature for it, is damaged.
//!
//! A group also holds the signatures, and of messages about an account the event ids and subjects; these columns are
//! empty then. A column that is not empty is valid: the group holds what an empty column leaves out. A waiting message is
//! a group of its own, so that it can be moved into the log as it is.
//!
//! Writing: [`compress_batch`], before a batch is written. Reading: rows are read as they are, then [`missing_rows`] says which
//! further rows are needed, and [`expand`] fills in what the groups hold. What a caller of the store sees is what was
//! given to [`compress_batch`], byte for byte.

mod codec;
mod dictionary;
pub(crate) mod earlier;
#[cfg(test)]
mod tests;

use crate::Result;
use crate::batch::{Batch, Unit};
use crate::outbox::{MessageSummary, Outgoing};
use crate::records::{MessageRow, OrgId};
use crate::upkeep::MessageFacts;
use bytes::Bytes;
use codec::{Group, MessageContent};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most messages in a group: to read one message, all of its group are decompressed.
pub(crate) const MOST_IN_GROUP: usize = 16;
/// The most bytes of data in a group of several messages.
const GROUP_BYTES_MAX: usize = 32 << 10;
/// The first byte of `content` in a row that holds a group.
const HOLDS_GROUP: u8 = 1;
/// The first byte of `content` in a row whose group is in a later row.
const HELD_BY_LATER: u8 = 2;

impl Unit {
    /// Compresses the unit's messages, unless they are. A commit does it too; code that computes large units on
    /// its own thread calls this there.
    pub fn compress_messages(&mut self) -> Result<()> {
        let is_done = self.messages.iter().any(|(_, message)| {
            matches!(message.data.first(), Some(&(HOLDS_GROUP | HELD_BY_LATER))) && message.signature.is_empty()
        });
        if is_done { Ok(()) } else { compress(&mut self.messages) }
    }
}

/// Compresses the messages of a batch.
pub(crate) fn compress_batch(batch: &mut Batch) -> Result<()> {
    batch.units.iter_mut().try_for_each(Unit::compress_messages)
}

/// Compresses the messages of a unit. Those that go into the log must get positions in this order, one directly after
/// the other in the log of each organization.
fn compress(messages: &mut [(OrgId, MessageRow)]) -> Result<()> {
    let mut logs: BTreeMap<OrgId, Vec<&mut MessageRow>> = BTreeMap::new();
    for (org, message) in messages {
        if message.due_at.is_some() {
            store_group(&mut [message], TextColumns::Kept)?;
        } else {
            logs.entry(*org).or_default().push(message);
        }
    }
    for mut log in logs.into_values() {
        let mut rest = &mut log[..];
        while !rest.is_empty() {
            let (group, others) = rest.split_at_mut(first_group(rest));
            store_group(group, TextColumns::LeftOut)?;
            rest = others;
        }
    }
    Ok(())
}

/// How many messages the first group gets: one, or as many as fit.
fn first_group(messages: &[&mut MessageRow]) -> usize {
    let mut bytes = 0;
    let fits = |message: &&&mut MessageRow| {
        bytes += message.data.len();
        bytes <= GROUP_BYTES_MAX
    };
    messages.iter().take(MOST_IN_GROUP).take_while(fits).count().max(1)
}

/// Whether event ids and subjects stay in columns of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextColumns {
    Kept,
    LeftOut,
}

fn store_group(messages: &mut [&mut MessageRow], columns: TextColumns) -> Result<()> {
    let leaves_out = |message: &MessageRow| columns == TextColumns::LeftOut && message.account.is_some();
    let contents: Vec<MessageContent> =
        messages.iter().map(|message| MessageContent::of(message, leaves_out(message))).collect();
    let mut holder = vec![HOLDS_GROUP];
    codec::write(&contents, &mut holder)?;
    let last = messages.len().saturating_sub(1);
    for (index, message) in messages.iter_mut().enumerate() {
        message.data = match u8::try_from(last - index).unwrap_or(u8::MAX) {
            0 => Bytes::from(std::mem::take(&mut holder)),
            distance => Bytes::from([&[HELD_BY_LATER, distance][..], &mark_of(&message.signature)].concat()),
        };
        message.signature.clear();
        if leaves_out(message) {
            message.event_id.clear();
            message.subject.clear();
        }
    }
    Ok(())
}

/// The beginning of a signature, by which a row recognises its message in the group.
fn mark_of(signature: &str) -> [u8; 4] {
    let mut mark = [0; 4];
    mark.iter_mut().zip(signature.bytes()).for_each(|(mark, byte)| *mark = byte);
    mark
}

/// A row that may have left something to a group.
pub(crate) trait Grouped {
    /// Its position in the log; `None` for a waiting message.
    fn position(&self) -> Option<i64>;
    /// The column `content` as it is stored.
    fn data(&self) -> &Bytes;
    /// Takes what the group holds, unless a column has it. Copies the data: a message that waits to be sent would keep its
    /// whole group in memory.
    fn fill_in(&mut self, content: &MessageContent);
    /// Its group cannot be read: it was damaged or removed.
    fn lose(&mut self);
}

impl Grouped for MessageRow {
    fn position(&self) -> Option<i64> {
        self.position
    }

    fn data(&self) -> &Bytes {
        &self.data
    }

    fn fill_in(&mut self, content: &MessageContent) {
        self.data = Bytes::copy_from_slice(&content.data);
        fill_in_text(&mut self.signature, &content.signature);
        fill_in_text(&mut self.event_id, &content.event_id);
        fill_in_text(&mut self.subject, &content.subject);
    }

    fn lose(&mut self) {
        self.data = Bytes::new();
    }
}

/// A row together with something else about it.
impl<K, M: Grouped> Grouped for (K, M) {
    fn position(&self) -> Option<i64> {
        self.1.position()
    }

    fn data(&self) -> &Bytes {
        self.1.data()
    }

    fn fill_in(&mut self, content: &MessageContent) {
        self.1.fill_in(content);
    }

    fn lose(&mut self) {
        self.1.lose();
    }
}

impl Grouped for Outgoing {
    fn position(&self) -> Option<i64> {
        Some(self.position)
    }

    fn data(&self) -> &Bytes {
        &self.data
    }

    fn fill_in(&mut self, content: &MessageContent) {
        self.data = Bytes::copy_from_slice(&content.data);
        fill_in_text(&mut self.signature, &content.signature);
        fill_in_text(&mut self.event_id, &content.event_id);
    }

    fn lose(&mut self) {
        self.data = Bytes::new();
    }
}

fn fill_in_text(column: &mut String, held: &str) {
    if column.is_empty() {
        held.clone_into(column);
    }
}

/// Where a row's data are.
enum Place {
    /// In the row itself, not compressed.
    Here,
    /// In a group: the position of the row that holds it, the message's place counted from the last, and its mark.
    InGroup(i64, usize, Option<[u8; 4]>),
    /// Nowhere: the content is damaged.
    Nowhere,
}

fn place_of(row: &impl Grouped) -> Place {
    let position = row.position().unwrap_or_default();
    match **row.data() {
        [b'{', ..] => Place::Here,
        [HOLDS_GROUP, ..] => Place::InGroup(position, 0, None),
        [HELD_BY_LATER, distance, a, b, c, d] => {
            Place::InGroup(position + i64::from(distance), usize::from(distance), Some([a, b, c, d]))
        }
        _ => Place::Nowhere,
    }
}

/// The positions of rows that hold groups of these rows and are not among them.
pub(crate) fn missing_rows<M: Grouped>(rows: &[M]) -> Vec<i64> {
    let there: BTreeSet<Option<i64>> = rows.iter().map(Grouped::position).collect();
    let needed = rows.iter().filter_map(|row| match place_of(row) {
        Place::InGroup(position, 1.., _) => Some(position),
        _ => None,
    });
    let missing: BTreeSet<i64> = needed.filter(|position| !there.contains(&Some(*position))).collect();
    missing.into_iter().collect()
}

/// Fills in what groups hold. `further` has the column `content` of the [missing rows](missing_rows) that exist.
pub(crate) fn expand<M: Grouped>(rows: &mut [M], further: impl IntoIterator<Item = (i64, Bytes)>) {
    let mut stored: HashMap<i64, Bytes> = further.into_iter().collect();
    for row in &*rows {
        if let (Place::InGroup(position, 0, _), Some(_)) = (place_of(row), row.position()) {
            stored.insert(position, row.data().clone());
        }
    }
    // Rows are mostly in the order of the log: only the last group is kept.
    let mut last: Option<(i64, Option<Group>)> = None;
    for row in rows {
        let (position, from_last, mark) = match place_of(row) {
            Place::Here => continue,
            Place::Nowhere => {
                row.lose();
                continue;
            }
            Place::InGroup(position, from_last, mark) => (position, from_last, mark),
        };
        if row.position().is_none() {
            last = Some((position, read_group(row.data())));
        } else if last.as_ref().is_none_or(|(of, _)| *of != position) {
            last = Some((position, stored.get(&position).and_then(read_group)));
        }
        let group = last.as_ref().and_then(|(_, group)| group.as_ref());
        let content = group.and_then(|group| group.before_last(from_last));
        match content.filter(|content| mark.is_none_or(|mark| mark == mark_of(&content.signature))) {
            Some(content) => row.fill_in(content),
            None => row.lose(),
        }
    }
}

/// Sets the event ids of lists from the whole messages.
pub(crate) fn set_event_ids(summaries: &mut [&mut MessageSummary], messages: &[MessageRow]) {
    let by_position: HashMap<Option<i64>, &MessageRow> =
        messages.iter().map(|message| (message.position, message)).collect();
    for summary in summaries {
        if let Some(message) = by_position.get(&Some(summary.position)) {
            summary.event_id.clone_from(&message.event_id);
        }
    }
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

fn read_group(data: &Bytes) -> Option<Group> {
    let [HOLDS_GROUP, group @ ..] = &**data else { return None };
    codec::read(group)
}
