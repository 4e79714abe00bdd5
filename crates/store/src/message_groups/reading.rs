//! Reads the messages of rows.

use super::codec::{self, Group, MessageContent};
use super::writing::BETWEEN_CAUSES;
use super::{HELD_BY_LATER, HOLDS_GROUP, HOLDS_SEVERAL, MOST_IN_GROUP};
use crate::Result;
use crate::outbox::{MessageSummary, Outgoing};
use crate::records::MessageRow;
use crate::rows::{self, Cells};
use bytes::Bytes;
use std::collections::{BTreeSet, HashMap};

/// A row of the log as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRow {
    /// How many messages it has, as its column says.
    pub size: i64,
    /// Its columns. Position and sequence are those of its last message.
    pub columns: MessageRow,
}

/// Reads a row: its size, and then the columns that [`rows::message`] reads.
pub(crate) fn stored_row(cells: &mut Cells<'_>) -> Result<StoredRow> {
    Ok(StoredRow { size: cells.next()?, columns: rows::message(cells)? })
}

impl StoredRow {
    /// The position of its last message.
    pub fn last(&self) -> i64 {
        self.columns.position.unwrap_or_default()
    }

    /// How many messages it has: as its content says, or, if that cannot be read, as the column says.
    pub fn count(&self) -> i64 {
        let content = &self.columns.data;
        let by_content = match &**content {
            // Both say the same.
            [HOLDS_SEVERAL, _, count, ..] if i64::from(*count) == self.size => None,
            [HOLDS_SEVERAL, ..] => read_several(content).map(|group| group.size() as i64).filter(|size| *size > 0),
            _ if self.size != 1 && reads_as_one(content) => Some(1),
            _ => None,
        };
        by_content.unwrap_or(self.size.clamp(1, MOST_IN_GROUP as i64))
    }

    /// Whether it is a row of several messages, even if they cannot be read.
    pub fn has_several(&self) -> bool {
        self.columns.data.first() == Some(&HOLDS_SEVERAL) || self.count() > 1
    }

    /// Whether the message about its account with this number is among its messages.
    pub fn has_number(&self, sequence: i64) -> bool {
        let last = self.columns.sequence;
        (last - self.count() + 1..=last).contains(&sequence)
    }

    /// The position before its first message.
    pub fn before(&self) -> i64 {
        self.last() - self.count()
    }
}

/// Whether content is that of a row of one message. Damaged content of a row of several may begin as if it were.
pub(super) fn reads_as_one(content: &Bytes) -> bool {
    match &**content {
        [b'{', .., b'}'] => std::str::from_utf8(content).is_ok(),
        [HELD_BY_LATER, _, _, _, _, _] => true,
        [HOLDS_GROUP, group @ ..] => codec::read(group, false).is_some() && codec::read(group, true).is_none(),
        _ => false,
    }
}

/// The messages of rows.
#[derive(Debug, Default)]
pub(crate) struct Expanded {
    /// In the order of the rows.
    pub messages: Vec<MessageRow>,
    /// The positions of rows of several messages that cannot be read. Their messages lack the event; see
    /// [`Expanded::name_events`].
    pub damaged: Vec<i64>,
    /// The positions of messages that are in a later row, which does not exist or does not have them.
    pub lost: Vec<i64>,
}

impl Expanded {
    /// Sets the events of a row's messages that cannot be read: `(event, mask)`.
    pub fn name_events(&mut self, position: i64, events: &[(String, i64)]) {
        for message in self.messages.iter_mut().filter(|message| message.data.is_empty() && message.event.is_empty()) {
            let bit = position - message.position.unwrap_or_default();
            let event =
                events.iter().find(|(_, mask)| (0..i64::from(u32::BITS)).contains(&bit) && mask >> bit & 1 == 1);
            if let Some((event, _)) = event {
                message.event.clone_from(event);
            }
        }
    }
}

/// How far from a row the one with its group can be.
const DISTANCE_MAX: u8 = MOST_IN_GROUP as u8 - 1;

/// Where a row's messages are.
enum Place {
    /// In the row itself, not compressed: one message.
    Here,
    /// In the row's group: several messages.
    Several,
    /// In a group: the position of the row that holds it, the message's place counted from the last, and its mark.
    InGroup(i64, usize, Option<[u8; 4]>),
    /// Nowhere: the content is damaged.
    Nowhere,
}

fn place_of(row: &StoredRow) -> Place {
    let position = row.last();
    match (row.count(), &*row.columns.data) {
        (_, [HOLDS_SEVERAL, ..]) => Place::Several,
        (1, [b'{', ..]) => Place::Here,
        (1, [HOLDS_GROUP, ..]) => Place::InGroup(position, 0, None),
        (1, &[HELD_BY_LATER, distance @ 1..=DISTANCE_MAX, a, b, c, d]) => {
            Place::InGroup(position + i64::from(distance), usize::from(distance), Some([a, b, c, d]))
        }
        _ => Place::Nowhere,
    }
}

/// The position of the later row that holds the group of a row's message; `None` if the row has its own.
pub(crate) fn held_by(row: &StoredRow) -> Option<i64> {
    match place_of(row) {
        Place::InGroup(position, 1.., _) => Some(position),
        _ => None,
    }
}

/// How many messages the group has that a row of one message holds; 0 if it holds none.
pub(super) fn messages_in_group(row: &StoredRow) -> i64 {
    match *row.columns.data {
        [HOLDS_GROUP, _, count, ..] => i64::from(count),
        _ => 0,
    }
}

/// Whether a row's column `cause` has a cause that is wanted. A row of one message may have a cause with a space.
pub(crate) fn has_cause(column: &str, is_wanted: impl Fn(&str) -> bool) -> bool {
    is_wanted(column) || (column.contains(BETWEEN_CAUSES) && column.split(BETWEEN_CAUSES).any(is_wanted))
}

/// The positions of rows that hold groups of these rows and are not among them.
pub(crate) fn missing_rows(rows: &[StoredRow]) -> Vec<i64> {
    let there: BTreeSet<i64> = rows.iter().map(StoredRow::last).collect();
    let missing: BTreeSet<i64> = rows.iter().filter_map(held_by).filter(|holder| !there.contains(holder)).collect();
    missing.into_iter().collect()
}

/// The messages of rows. `further` has the column `content` of the [missing rows](missing_rows) that exist.
pub(crate) fn expand(rows: Vec<StoredRow>, further: impl IntoIterator<Item = (i64, Bytes)>) -> Expanded {
    let mut stored: HashMap<i64, Bytes> = further.into_iter().collect();
    for row in &rows {
        if let Place::InGroup(position, 0, _) = place_of(row) {
            stored.insert(position, row.columns.data.clone());
        }
    }
    let mut expanded = Expanded::default();
    // Rows are mostly in the order of the log: only the last group is kept.
    let mut last: Option<(i64, Option<Group>)> = None;
    for row in rows {
        match place_of(&row) {
            Place::Here => expanded.messages.push(row.columns),
            Place::Several => expand_several(&row, &mut expanded),
            Place::Nowhere if row.count() > 1 => lose_several(&row, &mut expanded),
            Place::Nowhere => expanded.messages.push(without_data(row.columns)),
            Place::InGroup(position, from_last, mark) => {
                if last.as_ref().is_none_or(|(of, _)| *of != position) {
                    last = Some((position, stored.get(&position).and_then(read_group)));
                }
                let group = last.as_ref().and_then(|(_, group)| group.as_ref());
                let content = group.and_then(|group| group.before_last(from_last));
                let own = content.filter(|content| mark.is_none_or(|mark| mark == mark_of(&content.signature)));
                if own.is_none() && from_last > 0 {
                    expanded.lost.push(row.last());
                }
                expanded.messages.push(own.map_or_else(
                    || without_data(row.columns.clone()),
                    |content| filled_in(row.columns.clone(), content),
                ));
            }
        }
    }
    expanded
}

/// A message that has no position, because it waits: its row has its own group.
pub(crate) fn expand_waiting(columns: MessageRow) -> MessageRow {
    match columns.data.first() {
        Some(b'{') => columns,
        _ => match read_group(&columns.data).as_ref().and_then(|group| group.before_last(0)) {
            Some(content) => filled_in(columns, content),
            None => without_data(columns),
        },
    }
}

fn read_group(data: &Bytes) -> Option<Group> {
    let [HOLDS_GROUP, group @ ..] = &**data else { return None };
    codec::read(group, false)
}

/// The group of a row of several messages; `None` if it cannot be read.
pub(super) fn read_several(data: &Bytes) -> Option<Group> {
    let [HOLDS_SEVERAL, group @ ..] = &**data else { return None };
    codec::read(group, true)
}

fn expand_several(row: &StoredRow, to: &mut Expanded) {
    match read_several(&row.columns.data) {
        Some(group) => to.messages.extend(messages_of(row, &group)),
        None => lose_several(row, to),
    }
}

/// The messages of a row of several.
pub(super) fn messages_of<'a>(row: &'a StoredRow, group: &'a Group) -> impl Iterator<Item = MessageRow> + 'a {
    let with_distance = (0..group.size()).rev().filter_map(|distance| Some((distance, group.before_last(distance)?)));
    with_distance.map(|(distance, content)| {
        let facts = content.facts.as_ref();
        MessageRow {
            event: facts.map(|facts| facts.event.clone()).unwrap_or_default(),
            event_id: content.event_id.clone(),
            cause: facts.map(|facts| facts.cause.clone()).unwrap_or_default(),
            subject: content.subject.clone(),
            effective_at: facts.map_or(row.columns.effective_at, |facts| facts.effective_at),
            recorded_at: facts.map_or(row.columns.recorded_at, |facts| facts.recorded_at),
            data: Bytes::copy_from_slice(&content.data),
            signature: content.signature.clone(),
            ..before_last(row, distance as i64)
        }
    })
}

/// What a row of several messages shows of one of them without its content. A single cause is that of all.
fn before_last(row: &StoredRow, distance: i64) -> MessageRow {
    let MessageRow { account, sequence, cause, effective_at, recorded_at, .. } = &row.columns;
    let is_of_all = !cause.contains(BETWEEN_CAUSES);
    MessageRow {
        position: Some(row.last() - distance),
        due_at: None,
        cancelled_at: None,
        account: account.clone(),
        sequence: sequence - distance,
        event: String::new(),
        event_id: String::new(),
        cause: if is_of_all { cause.clone() } else { String::new() },
        subject: String::new(),
        effective_at: *effective_at,
        recorded_at: *recorded_at,
        data: Bytes::new(),
        signature: String::new(),
    }
}

fn lose_several(row: &StoredRow, to: &mut Expanded) {
    to.messages.extend((0..row.count()).rev().map(|distance| before_last(row, distance)));
    to.damaged.push(row.last());
}

/// Takes what the group holds, unless a column has it. Copies the data: a message that waits to be sent would keep its
/// whole group in memory.
fn filled_in(mut columns: MessageRow, content: &MessageContent) -> MessageRow {
    columns.data = Bytes::copy_from_slice(&content.data);
    fill_in_text(&mut columns.signature, &content.signature);
    fill_in_text(&mut columns.event_id, &content.event_id);
    fill_in_text(&mut columns.subject, &content.subject);
    columns
}

fn fill_in_text(column: &mut String, held: &str) {
    if column.is_empty() {
        held.clone_into(column);
    }
}

fn without_data(columns: MessageRow) -> MessageRow {
    MessageRow { data: Bytes::new(), ..columns }
}

/// The beginning of a signature, by which a row recognises its message in a group.
pub(super) fn mark_of(signature: &str) -> [u8; 4] {
    let mut mark = [0; 4];
    mark.iter_mut().zip(signature.bytes()).for_each(|(mark, byte)| *mark = byte);
    mark
}

impl From<MessageRow> for Outgoing {
    fn from(message: MessageRow) -> Outgoing {
        let MessageRow { position, account, event, event_id, data, signature, .. } = message;
        Outgoing { position: position.unwrap_or_default(), account, event, event_id, data, signature }
    }
}

/// Whether a line of a list lacks what the content of its message's row holds.
pub(crate) fn is_incomplete(summary: &MessageSummary) -> bool {
    summary.event.is_empty() || summary.event_id.is_empty()
}

/// Completes lines of lists from the whole messages.
pub(crate) fn complete(summaries: &mut [&mut MessageSummary], messages: &[MessageRow]) {
    let by_position: HashMap<Option<i64>, &MessageRow> =
        messages.iter().map(|message| (message.position, message)).collect();
    for summary in summaries {
        if let Some(message) = by_position.get(&Some(summary.position)) {
            summary.event.clone_from(&message.event);
            summary.event_id.clone_from(&message.event_id);
        }
    }
}
