//! Messages that earlier builds wrote are compressed in the background, in small transactions, from the beginning of the
//! logs to their end, and then the waiting ones. A setting says how far that is; when it is done, the setting is removed.
//! Until then both forms are read.

use super::{HELD_BY_LATER, HOLDS_GROUP, compress};
use crate::Result;
use crate::error::StoreError;
use crate::records::{MessageRow, OrgId};

/// The setting that exists while there are messages to compress.
pub(crate) const TO_COMPRESS: &str = "messages_to_compress";

/// Up to where messages are compressed: everything of organizations with lower numbers, and the log of this one up to a
/// position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub org: OrgId,
    pub position: i64,
}

impl Progress {
    /// All logs are compressed; waiting messages are not yet.
    pub const END_OF_LOG: Progress = Progress { org: i64::MAX, position: i64::MAX };

    /// Reads the setting. A migration leaves it empty.
    pub fn read(value: &[u8]) -> Result<Progress> {
        if value.is_empty() {
            return Ok(Progress { org: 0, position: 0 });
        }
        let number = |bytes: &[u8]| bytes.try_into().ok().map(i64::from_be_bytes);
        let numbers = value.split_at_checked(8).and_then(|(org, position)| Some((number(org)?, number(position)?)));
        let (org, position) =
            numbers.ok_or_else(|| StoreError::Broken(format!("the setting {TO_COMPRESS} is damaged")))?;
        Ok(Progress { org, position })
    }

    /// The value of the setting.
    pub fn bytes(self) -> Vec<u8> {
        [self.org.to_be_bytes(), self.position.to_be_bytes()].concat()
    }

    /// How many messages are left, given the heads of all logs.
    pub fn left_of(self, heads: &[(OrgId, i64)]) -> u64 {
        let left = |(org, head): &(OrgId, i64)| match org.cmp(&self.org) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => (head - self.position).max(0).unsigned_abs(),
            std::cmp::Ordering::Greater => head.unsigned_abs(),
        };
        heads.iter().map(left).sum()
    }
}

fn is_plain(message: &MessageRow) -> bool {
    !matches!(message.data.first(), Some(&(HOLDS_GROUP | HELD_BY_LATER)))
}

/// Compresses the messages that are not, in the order of the log, and returns them. A group consists of consecutive
/// positions: a message that is compressed already ends it.
pub(crate) fn compress_plain(messages: &mut [(OrgId, MessageRow)]) -> Result<Vec<&(OrgId, MessageRow)>> {
    let mut compressed = Vec::new();
    for run in messages.chunk_by_mut(|(org, one), (other_org, next)| {
        let follows = one.position.zip(next.position).is_none_or(|(position, next)| position + 1 == next);
        org == other_org && follows && is_plain(one) == is_plain(next)
    }) {
        if run.first().is_some_and(|(_, message)| is_plain(message)) {
            compress(run)?;
            compressed.extend(run.iter());
        }
    }
    Ok(compressed)
}
