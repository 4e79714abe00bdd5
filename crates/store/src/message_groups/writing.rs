//! Makes rows of messages: which messages get a row together, and what its columns are.

use super::codec::{self, MessageContent, TIME_MAX};
use super::{GROUP_BYTES_MAX, HOLDS_GROUP, HOLDS_SEVERAL, MOST_IN_GROUP};
use crate::Result;
use crate::outbox::{TO_EVERYBODY, TO_THE_OTHERS};
use crate::records::{MessageRow, OrgId};
use bytes::Bytes;
use daybook_engine::time::Time;
use std::collections::BTreeMap;

/// The most bytes of causes in a row, which are in an index.
const CAUSES_BYTES_MAX: usize = 1_000;
/// What separates the causes in the column of a row of several messages.
pub(super) const BETWEEN_CAUSES: char = ' ';

/// A row to be written, to the log or to the waiting messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewRow {
    /// How many messages it has.
    pub size: i64,
    /// Its columns. Position and sequence are those of its last message.
    pub columns: MessageRow,
    /// The events of a row of several messages, and which of these have each: bit `k` is the message `k` positions
    /// before the last.
    pub events: Vec<(String, i64)>,
}

impl NewRow {
    /// A row of one message, as it is.
    pub fn alone(message: MessageRow) -> NewRow {
        NewRow { size: 1, columns: message, events: Vec::new() }
    }
}

/// The messages of a unit as they are written.
#[derive(Clone, Debug, Default)]
pub struct CompressedMessages {
    pub(crate) rows: Vec<(OrgId, NewRow)>,
}

impl CompressedMessages {
    /// How many messages these are.
    pub fn count(&self) -> u64 {
        self.rows.iter().map(|(_, row)| row.size.unsigned_abs()).sum()
    }
}

/// Makes rows of messages. Those that go into the log get positions in this order, one directly after the other in the
/// log of each organization, unless they have positions.
pub(super) fn rows_of(messages: &[(OrgId, MessageRow)]) -> Result<Vec<(OrgId, NewRow)>> {
    let mut rows = Vec::new();
    let mut open: BTreeMap<OrgId, OpenRow<'_>> = BTreeMap::new();
    for (org, message) in messages {
        if message.due_at.is_some() {
            rows.push((*org, waiting(message)?));
            continue;
        }
        let row = open.entry(*org).or_default();
        if !row.takes(message) {
            rows.push((*org, row.close()?));
        }
        row.add(message);
    }
    for (org, mut row) in open {
        rows.push((org, row.close()?));
    }
    Ok(rows)
}

/// A row of one message that waits. Its event id and subject stay in their columns.
fn waiting(message: &MessageRow) -> Result<NewRow> {
    let mut columns = message.clone();
    columns.data = content(HOLDS_GROUP, &[MessageContent::beside_columns(message)])?;
    columns.signature.clear();
    Ok(NewRow::alone(columns))
}

/// The messages that get a row together.
#[derive(Default)]
struct OpenRow<'m> {
    messages: Vec<&'m MessageRow>,
    bytes: usize,
    causes: Vec<&'m str>,
    cause_bytes: usize,
}

impl<'m> OpenRow<'m> {
    /// Whether the next message of the log fits.
    fn takes(&self, next: &MessageRow) -> bool {
        let Some(last) = self.messages.last() else { return true };
        let follows = last.position.zip(next.position).is_none_or(|(last, next)| last + 1 == next);
        let is_like = |one: &MessageRow| (one.account.clone(), one.recorded_at, one.recorded_at.max(one.effective_at));
        let is_new_cause = !self.causes.contains(&next.cause.as_str());
        follows
            && last.sequence + 1 == next.sequence
            && self.messages.len() < MOST_IN_GROUP
            && self.bytes + next.data.len() <= GROUP_BYTES_MAX
            && (!is_new_cause || self.cause_bytes + next.cause.len() < CAUSES_BYTES_MAX)
            && is_like(last) == is_like(next)
            && can_share(last)
            && can_share(next)
    }

    fn add(&mut self, message: &'m MessageRow) {
        self.bytes += message.data.len();
        if !self.causes.contains(&message.cause.as_str()) {
            self.causes.push(&message.cause);
            self.cause_bytes += message.cause.len() + 1;
        }
        self.messages.push(message);
    }

    /// Makes the row, and begins an empty one.
    fn close(&mut self) -> Result<NewRow> {
        let OpenRow { messages, .. } = std::mem::take(self);
        match &messages[..] {
            [one] => single(one),
            several => together(several),
        }
    }
}

/// Whether a message may have a row together with others of its account.
fn can_share(message: &MessageRow) -> bool {
    let is_near = |time: Time| time.micros().unsigned_abs() < TIME_MAX.unsigned_abs();
    message.account.is_some()
        && !matches!(message.event.as_str(), "" | TO_EVERYBODY | TO_THE_OTHERS)
        && !message.cause.is_empty()
        && !message.cause.contains(BETWEEN_CAUSES)
        && is_near(message.effective_at)
        && is_near(message.recorded_at)
}

/// A row of one message of the log.
fn single(message: &MessageRow) -> Result<NewRow> {
    let mut columns = message.clone();
    let leaves_out = message.account.is_some();
    let held = if leaves_out { MessageContent::with_texts(message) } else { MessageContent::beside_columns(message) };
    columns.data = content(HOLDS_GROUP, &[held])?;
    columns.signature.clear();
    if leaves_out {
        columns.event_id.clear();
        columns.subject.clear();
    }
    Ok(NewRow::alone(columns))
}

/// A row of several messages about one account.
fn together(messages: &[&MessageRow]) -> Result<NewRow> {
    let contents: Vec<MessageContent> = messages.iter().map(|message| MessageContent::whole(message)).collect();
    Ok(columns_of(messages, content(HOLDS_SEVERAL, &contents)?))
}

/// The columns of a row of several messages, given its content.
pub(super) fn columns_of(messages: &[&MessageRow], content: Bytes) -> NewRow {
    let last = messages.last();
    let mut causes: Vec<&str> = Vec::new();
    let mut events: Vec<(String, i64)> = Vec::new();
    for (message, bit) in messages.iter().zip((0..messages.len()).rev()) {
        if !causes.contains(&message.cause.as_str()) {
            causes.push(&message.cause);
        }
        match events.iter_mut().find(|(event, _)| *event == message.event) {
            Some((_, mask)) => *mask |= 1 << bit,
            None => events.push((message.event.clone(), 1 << bit)),
        }
    }
    let columns = MessageRow {
        position: last.and_then(|last| last.position),
        due_at: None,
        cancelled_at: None,
        account: last.and_then(|last| last.account.clone()),
        sequence: last.map_or(0, |last| last.sequence),
        event: String::new(),
        event_id: String::new(),
        cause: causes.join(&BETWEEN_CAUSES.to_string()),
        subject: String::new(),
        effective_at: messages.iter().map(|message| message.effective_at).min().unwrap_or(Time::BEGINNING),
        recorded_at: messages.iter().map(|message| message.recorded_at).max().unwrap_or(Time::BEGINNING),
        data: content,
        signature: String::new(),
    };
    NewRow { size: messages.len() as i64, columns, events }
}

fn content(form: u8, contents: &[MessageContent]) -> Result<Bytes> {
    let mut bytes = vec![form];
    codec::write(contents, &mut bytes)?;
    Ok(Bytes::from(bytes))
}
