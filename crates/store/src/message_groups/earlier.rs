//! Messages that earlier builds wrote are compressed in the background, in small transactions: the logs from their beginning
//! to their end, and then the waiting messages. A setting says how far that is; when it is done, the setting is removed.
//! Until then all forms are read.

use super::MOST_IN_GROUP;
use super::reading::{StoredRow, expand, held_by, messages_in_group};
use super::writing::{NewRow, rows_of};
use crate::Result;
use crate::error::StoreError;
use crate::records::{MessageRow, OrgId};
use std::collections::{BTreeMap, BTreeSet};

/// The setting that exists while there are messages to compress.
pub(crate) const TO_COMPRESS: &str = "messages_to_compress";

/// One transaction reads no further message after this many bytes.
const BYTES_ENOUGH: i64 = 1 << 20;

/// Up to where messages are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompressionProgress {
    /// The logs of all organizations with lower numbers, and that of this one up to a position.
    Log(OrgId, i64),
    /// All logs, and the waiting messages up to a key: organization and order of arrival.
    Waiting(OrgId, i64),
}

impl CompressionProgress {
    /// Reads the setting. A migration leaves it empty.
    pub fn read(value: &[u8]) -> Result<CompressionProgress> {
        if value.is_empty() {
            return Ok(CompressionProgress::Log(0, 0));
        }
        let number = |bytes: &[u8]| bytes.try_into().ok().map(i64::from_be_bytes);
        let numbers = |bytes: &[u8]| {
            bytes.split_at_checked(8).and_then(|(org, position)| Some((number(org)?, number(position)?)))
        };
        let damaged = || StoreError::Broken(format!("the setting {TO_COMPRESS} is damaged"));
        match value {
            [0, rest @ ..] => numbers(rest).map(|(org, position)| CompressionProgress::Log(org, position)),
            [1, rest @ ..] => numbers(rest).map(|(org, arrival)| CompressionProgress::Waiting(org, arrival)),
            _ => None,
        }
        .ok_or_else(damaged)
    }

    /// The value of the setting.
    pub fn bytes(self) -> Vec<u8> {
        let (table, org, position) = match self {
            CompressionProgress::Log(org, position) => (0, org, position),
            CompressionProgress::Waiting(org, arrival) => (1, org, arrival),
        };
        [&[table][..], &org.to_be_bytes(), &position.to_be_bytes()].concat()
    }

    /// How many positions of the logs are left, given the heads of all logs.
    pub fn left_of(self, heads: &[(OrgId, i64)]) -> u64 {
        let CompressionProgress::Log(done, position) = self else { return 0 };
        let left = |(org, head): &(OrgId, i64)| match org.cmp(&done) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => (head - position).max(0).unsigned_abs(),
            std::cmp::Ordering::Greater => head.unsigned_abs(),
        };
        heads.iter().map(left).sum()
    }
}

/// The last of the next messages, of which keys and sizes are given, that is read in the same transaction.
pub(crate) fn last_of_step<K: Copy>(next: &[(K, i64)]) -> Option<K> {
    let mut bytes = 0;
    let fits = |(_, size): &&(K, i64)| {
        let is_room = bytes < BYTES_ENOUGH;
        bytes += size;
        is_room
    };
    next.iter().take_while(fits).last().map(|(key, _)| *key)
}

fn is_plain(message: &MessageRow) -> bool {
    message.data.first() == Some(&b'{')
}

/// How many rows before the first one a step reads again: a group that extends over several rows may begin there, if a
/// damaged row kept the step before from reading on.
pub(crate) const ROWS_BEFORE: i64 = MOST_IN_GROUP as i64 - 1;

/// The position up to which a step has to read on, so that it does not end within a group that extends over several rows.
/// Asked again of the rows that it leads to: a damaged row may lead into the next group.
pub(crate) fn end_of_group(rows: &[(OrgId, StoredRow)]) -> Option<(OrgId, i64)> {
    let (org, last) = rows.last()?;
    held_by(last).map(|holder| (*org, holder))
}

/// What a step changes in the log.
#[derive(Debug, Default)]
pub(crate) struct Conversion {
    /// The positions of rows that are removed.
    pub removed: Vec<(OrgId, i64)>,
    /// The rows that take their place.
    pub added: Vec<(OrgId, NewRow)>,
}

/// Makes new rows of those that earlier builds wrote; the others stay. A group stays as it is unless each of its messages
/// that is in the log is among these rows and can be read. A group that ends at the position after which the step begins,
/// or before, stays: the step before had all of its rows, this one may have only the last.
pub(crate) fn convert(after: (OrgId, i64), rows: Vec<(OrgId, StoredRow)>) -> Result<Conversion> {
    let mut logs: BTreeMap<OrgId, Vec<StoredRow>> = BTreeMap::new();
    for (org, row) in rows {
        logs.entry(org).or_default().push(row);
    }
    let mut conversion = Conversion::default();
    for (org, log) in logs {
        let begin = if org == after.0 { after.1 } else { 0 };
        let messages = earlier_of(log, begin).into_iter().map(|message| (org, message));
        let messages: Vec<(OrgId, MessageRow)> = messages.collect();
        let positions = messages.iter().filter_map(|(_, message)| message.position);
        conversion.removed.extend(positions.map(|position| (org, position)));
        conversion.added.extend(rows_of(&messages)?);
    }
    Ok(conversion)
}

/// The messages of a log that are in rows of an earlier form and can be read, with all of their group, which ends after a
/// position.
fn earlier_of(log: Vec<StoredRow>, after: i64) -> Vec<MessageRow> {
    let all: Vec<i64> = log.iter().map(StoredRow::last).collect();
    let alone: Vec<StoredRow> = log.into_iter().filter(|row| row.count() == 1).collect();
    let holders: BTreeSet<i64> = alone.iter().filter_map(held_by).collect();
    // For each row: whether it is plain, and the row that holds its group if that extends over several.
    let holder_of = |row: &StoredRow| held_by(row).or_else(|| Some(row.last()).filter(|last| holders.contains(last)));
    let forms: Vec<(bool, Option<i64>)> = alone.iter().map(|row| (is_plain(&row.columns), holder_of(row))).collect();
    let held: BTreeMap<i64, i64> = alone.iter().map(|row| (row.last(), messages_in_group(row))).collect();
    let messages = expand(alone, []).messages;
    // By position, the group of each message that can be read.
    let groups: BTreeMap<i64, i64> = messages
        .iter()
        .zip(&forms)
        .filter(|(message, _)| !message.data.is_empty())
        .filter_map(|(message, (_, holder))| message.position.zip(*holder))
        .collect();
    // A damaged row may name another group than the one that has its message. The beginning of a group may have expired.
    let is_whole = |holder: &i64| {
        let messages = held.get(holder).copied().unwrap_or_default();
        let is_of_group = |last: &&i64| (holder - messages + 1..=*holder).contains(*last);
        messages > 0 && all.iter().filter(is_of_group).all(|last| groups.get(last) == Some(holder))
    };
    let is_whole: BTreeMap<i64, bool> = holders.iter().map(|holder| (*holder, is_whole(holder))).collect();
    let is_earlier = |(is_plain, holder): &(bool, Option<i64>)| {
        *is_plain || holder.is_some_and(|holder| holder > after && is_whole.get(&holder) == Some(&true))
    };
    messages.into_iter().zip(&forms).filter(|(_, form)| is_earlier(form)).map(|(message, _)| message).collect()
}

/// Compresses the waiting messages that are not, and returns their indexes.
pub(crate) fn compress_waiting(messages: &mut [(OrgId, MessageRow)]) -> Result<Vec<usize>> {
    let mut compressed = Vec::new();
    for (index, one) in messages.iter_mut().enumerate().filter(|(_, (_, message))| is_plain(message)) {
        if let Some((_, row)) = rows_of(std::slice::from_ref(one))?.pop() {
            one.1 = row.columns;
            compressed.push(index);
        }
    }
    Ok(compressed)
}
