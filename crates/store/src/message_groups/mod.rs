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
//! | [`HOLDS_GROUP`] | the number of the [dictionary](dictionary), the number of messages, signatures, a zstd frame |
//! | [`HELD_BY_LATER`] | one byte: how many positions further the row with the group is |
//! | any other | the row is not compressed: this is the data itself, JSON that begins with `{` |
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
use crate::batch::Batch;
use crate::outbox::{Failure, MessageSummary, Outgoing};
use crate::records::{MessageRow, OrgId};
use crate::upkeep::MessageFacts;
use bytes::Bytes;
use codec::{Content, Group};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The most messages in a group: to read one message, all of its group are decompressed.
pub(crate) const MOST_IN_GROUP: usize = 16;
/// A group with this many bytes gets no further message.
const GROUP_BYTES_ENOUGH: usize = 24 << 10;
/// The first byte of `content` in a row that holds a group.
const HOLDS_GROUP: u8 = 1;
/// The first byte of `content` in a row whose group is in a later row.
const HELD_BY_LATER: u8 = 2;

/// Compresses the messages of a batch.
pub(crate) fn compress_batch(batch: &mut Batch) -> Result<()> {
    batch.units.iter_mut().try_for_each(|unit| compress(&mut unit.messages))
}

/// Compresses the messages of a unit. Those that go into the log must get positions in this order, one directly after
/// the other in the log of each organization.
fn compress(messages: &mut [(OrgId, MessageRow)]) -> Result<()> {
    let mut logs: BTreeMap<OrgId, Vec<&mut MessageRow>> = BTreeMap::new();
    for (org, message) in messages {
        if message.due_at.is_some() {
            store_group(&mut [message], Columns::Kept)?;
        } else {
            logs.entry(*org).or_default().push(message);
        }
    }
    for mut log in logs.into_values() {
        let mut rest = &mut log[..];
        while !rest.is_empty() {
            let (group, others) = rest.split_at_mut(first_group(rest));
            store_group(group, Columns::LeftOut)?;
            rest = others;
        }
    }
    Ok(())
}

/// How many messages the first group gets.
fn first_group(messages: &[&mut MessageRow]) -> usize {
    let mut bytes = 0;
    let fits = |message: &&&mut MessageRow| {
        let is_room = bytes < GROUP_BYTES_ENOUGH;
        bytes += message.data.len();
        is_room
    };
    messages.iter().take(MOST_IN_GROUP).take_while(fits).count()
}

/// Whether event ids and subjects stay in columns of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    Kept,
    LeftOut,
}

fn store_group(messages: &mut [&mut MessageRow], columns: Columns) -> Result<()> {
    let leaves_out = |message: &MessageRow| columns == Columns::LeftOut && message.account.is_some();
    let contents: Vec<Content> = messages.iter().map(|message| Content::of(message, leaves_out(message))).collect();
    let mut holder = vec![HOLDS_GROUP];
    codec::write(&contents, &mut holder)?;
    let last = messages.len().saturating_sub(1);
    for (index, message) in messages.iter_mut().enumerate() {
        message.data = match u8::try_from(last - index).unwrap_or(u8::MAX) {
            0 => Bytes::from(std::mem::take(&mut holder)),
            distance => Bytes::from(vec![HELD_BY_LATER, distance]),
        };
        message.signature.clear();
        if leaves_out(message) {
            message.event_id.clear();
            message.subject.clear();
        }
    }
    Ok(())
}

/// A row that may have left something to a group.
pub(crate) trait Grouped {
    /// Its position in the log; `None` for a waiting message.
    fn position(&self) -> Option<i64>;
    /// The column `content` as it is stored.
    fn data(&self) -> &Bytes;
    /// Takes what the group holds, unless a column has it. Copies the data: a message that waits to be sent would keep its
    /// whole group in memory.
    fn fill_in(&mut self, content: &Content);
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

    fn fill_in(&mut self, content: &Content) {
        self.data = Bytes::copy_from_slice(&content.data);
        fill_in_text(&mut self.signature, &content.signature);
        fill_in_text(&mut self.event_id, &content.event_id);
        fill_in_text(&mut self.subject, &content.subject);
    }

    /// Stays as it is stored, which no key has signed.
    fn lose(&mut self) {}
}

/// A row with its key in a list.
impl<K> Grouped for (K, MessageRow) {
    fn position(&self) -> Option<i64> {
        self.1.position
    }

    fn data(&self) -> &Bytes {
        &self.1.data
    }

    fn fill_in(&mut self, content: &Content) {
        self.1.fill_in(content);
    }

    fn lose(&mut self) {
        self.1.lose();
    }
}

/// A failed message.
impl Grouped for (Failure, Outgoing) {
    fn position(&self) -> Option<i64> {
        Some(self.1.position)
    }

    fn data(&self) -> &Bytes {
        &self.1.data
    }

    fn fill_in(&mut self, content: &Content) {
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

    fn fill_in(&mut self, content: &Content) {
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

/// The position of the row that holds a row's group, and the row's place in it, counted from the last. `None` if the row
/// is not compressed.
fn holder(row: &impl Grouped) -> Option<(i64, usize)> {
    let position = row.position().unwrap_or_default();
    match **row.data() {
        [HOLDS_GROUP, ..] => Some((position, 0)),
        [HELD_BY_LATER, distance] => Some((position + i64::from(distance), usize::from(distance))),
        _ => None,
    }
}

/// The positions of rows that hold groups of these rows and are not among them.
pub(crate) fn missing_rows<M: Grouped>(rows: &[M]) -> Vec<i64> {
    let there: BTreeSet<Option<i64>> = rows.iter().map(Grouped::position).collect();
    let needed = rows.iter().filter_map(holder).filter(|(_, from_last)| *from_last > 0);
    let missing: BTreeSet<i64> =
        needed.map(|(position, _)| position).filter(|position| !there.contains(&Some(*position))).collect();
    missing.into_iter().collect()
}

/// Fills in what groups hold. `further` has the column `content` of the [missing rows](missing_rows) that exist.
pub(crate) fn expand<M: Grouped>(rows: &mut [M], further: impl IntoIterator<Item = (i64, Bytes)>) {
    let mut stored: HashMap<i64, Bytes> = further.into_iter().collect();
    for row in &*rows {
        if let (Some((position, 0)), Some(_)) = (holder(row), row.position()) {
            stored.insert(position, row.data().clone());
        }
    }
    let mut groups: HashMap<i64, Option<Arc<Group>>> = HashMap::new();
    for row in rows {
        let Some((position, from_last)) = holder(row) else { continue };
        let group = match row.position() {
            None => read_group(row.data()),
            Some(_) => {
                let read = || stored.get(&position).and_then(read_group);
                groups.entry(position).or_insert_with(read).clone()
            }
        };
        match group.as_ref().and_then(|group| group.before_last(from_last)) {
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

fn read_group(data: &Bytes) -> Option<Arc<Group>> {
    let [HOLDS_GROUP, ..] = **data else { return None };
    codec::read(&data[1..]).map(Arc::new)
}
