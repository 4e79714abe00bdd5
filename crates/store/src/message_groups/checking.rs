//! What the columns of a row must be, given its content.

use super::reading::{StoredRow, messages_of, read_several, reads_as_one};
use super::writing::columns_of;
use crate::records::MessageRow;

/// What a row must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckedRow {
    /// How many messages it has.
    pub size: i64,
    /// The columns of a row of several messages; `None` if it has one, whose columns are facts of their own.
    pub columns: Option<MessageRow>,
    /// Its events, by name.
    pub events: Vec<(String, i64)>,
    /// What is wrong with the stored row.
    pub wrong: Vec<&'static str>,
}

/// Compares a row, and its events by name, with its content. `None` if the content cannot be read.
pub(crate) fn check(row: &StoredRow, events: &[(String, i64)]) -> Option<CheckedRow> {
    let mut wrong = Vec::new();
    let mut differs = |what, is_other: bool| wrong.extend(is_other.then_some(what));
    if row.columns.data.first() != Some(&super::HOLDS_SEVERAL) {
        let is_as_one = row.size == 1 && events.is_empty();
        if !is_as_one && !reads_as_one(&row.columns.data) {
            return None;
        }
        differs("its number of messages", row.size != 1);
        differs("the list of its events", !events.is_empty());
        return Some(CheckedRow { size: 1, columns: None, events: Vec::new(), wrong });
    }
    let group = read_several(&row.columns.data)?;
    let messages: Vec<MessageRow> = messages_of(row, &group).collect();
    let mut given = columns_of(&messages.iter().collect::<Vec<_>>(), row.columns.data.clone());
    given.events.sort_unstable();
    let (kept, columns) = (&row.columns, &given.columns);
    let texts = |row: &MessageRow| [&row.event, &row.event_id, &row.subject, &row.signature].map(String::clone);
    differs("its number of messages", row.size != given.size);
    differs("its cause", kept.cause != columns.cause);
    differs("its times", (kept.effective_at, kept.recorded_at) != (columns.effective_at, columns.recorded_at));
    differs("a column that is empty for several messages", texts(kept) != texts(columns));
    differs("the list of its events", events != given.events);
    Some(CheckedRow { size: given.size, columns: Some(given.columns), events: given.events, wrong })
}
