//! Messages that earlier builds wrote are compressed in the background, in small transactions: the logs from their beginning
//! to their end, and then the waiting messages. A setting says how far that is; when it is done, the setting is removed.
//! Until then both forms are read.

use super::compress;
use crate::Result;
use crate::error::StoreError;
use crate::records::{MessageRow, OrgId};

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

/// Compresses the messages that are not, in the order of the log, and returns their indexes. A group consists of
/// consecutive positions: a message that is compressed already ends it.
pub(crate) fn compress_plain(messages: &mut [(OrgId, MessageRow)]) -> Result<Vec<usize>> {
    let mut compressed = Vec::new();
    let mut begin = 0;
    for run in messages.chunk_by_mut(|(org, one), (other_org, next)| {
        let follows = one.position.zip(next.position).is_none_or(|(position, next)| position + 1 == next);
        org == other_org && follows && is_plain(one) == is_plain(next)
    }) {
        if run.first().is_some_and(|(_, message)| is_plain(message)) {
            compress(run)?;
            compressed.extend(begin..begin + run.len());
        }
        begin += run.len();
    }
    Ok(compressed)
}
