//! Which messages of a log a subscription gets.
//!
//! A subscription to all events reads a range of the table itself. A subscription to a few reads each event's range of
//! two indexes, only as far as needed, and merges them in the order of the log: messages of other events cost nothing,
//! however many there are. One index has the events of messages with a row of their own, the other (`message_events`) the
//! events of rows of several messages. Such a row has none of the events that are left out of some selections.

use crate::Result;
use crate::outbox::{SubscriptionFilter, TO_EVERYBODY, TO_THE_OTHERS};
use crate::records::{MessageRow, OrgId};
use crate::sqlite::connection::broken;
use crate::sqlite::grouped_messages::{first_messages, last_row, messages_at, selected, stored, whole_mask};
use crate::sqlite::read::{all, count as sql_count, one};
use crate::sqlite::rows::{LAST_ORG, LAST_POSITION, SqlResult, optional_text, place, position, time};
use daybook_engine::time::Time;
use rusqlite::{Connection, Row, params};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which messages of a log a subscription gets.
#[derive(Clone, Debug)]
pub(super) struct Selection<'a> {
    org: OrgId,
    /// Exactly these events, without duplicates; `None` for all.
    events: Option<Vec<&'a str>>,
    uuid: &'a str,
    /// Whether test events, which go to every subscription, are left out.
    missed: bool,
}

impl<'a> Selection<'a> {
    pub(super) fn of(reader: SubscriptionFilter<'a>) -> Selection<'a> {
        let events = reader.filter.map(|filter| {
            let mut events: Vec<&str> = filter.iter().map(String::as_str).chain([TO_EVERYBODY]).collect();
            events.retain(|event| !(reader.missed && *event == TO_EVERYBODY));
            events.sort_unstable();
            events.dedup();
            events
        });
        Selection { org: reader.org, events, uuid: reader.uuid, missed: reader.missed }
    }

    /// The same selection, limited to one event.
    pub(super) fn narrowed(self, to: Option<&'a str>) -> Selection<'a> {
        let Some(event) = to else { return self };
        let events = if self.gets_event(event) { vec![event] } else { vec![] };
        Selection { events: Some(events), ..self }
    }

    /// Whether it includes all events, except for a few that are left out.
    pub(super) fn is_everything(&self) -> bool {
        self.events.is_none()
    }

    fn gets_event(&self, event: &str) -> bool {
        let is_left_out = self.missed && event == TO_EVERYBODY;
        !is_left_out && self.events.as_ref().is_none_or(|events| events.contains(&event))
    }

    pub(super) fn gets(&self, event: &str, subject: &str) -> bool {
        self.gets_event(event) && !(event == TO_THE_OTHERS && subject == self.uuid)
    }

    /// The places of a stretch of the log: after the first, up to the second. `None` if it is empty.
    fn places(&self, after: i64, through: i64) -> Option<(i64, i64)> {
        let (after, through) = (after.max(0), through.min(LAST_POSITION));
        let there = (0..=LAST_ORG).contains(&self.org) && after < through;
        there.then(|| (place(self.org, after), place(self.org, through)))
    }
}

/// A row of the log without its content.
#[derive(Clone, Debug)]
struct LogRow {
    place: i64,
    size: i64,
    account: Option<Arc<str>>,
    /// Empty for several messages.
    event: String,
    event_id: String,
    subject: String,
    /// When its messages happened or were recorded, whichever is later.
    moment: Time,
}

const LOG_ROW: &str = "place, size, account, event, event_id, subject, max(effective_at, recorded_at)";

fn log_row(row: &Row<'_>) -> SqlResult<LogRow> {
    Ok(LogRow {
        place: row.get(0)?,
        size: row.get(1)?,
        account: optional_text(row, 2)?,
        event: row.get(3)?,
        event_id: row.get(4)?,
        subject: row.get(5)?,
        moment: time(row, 6)?,
    })
}

/// Reads rows of a log by the positions of their messages. Keeps the last one, with the mask of its selected messages.
pub(super) struct LogRows<'c> {
    connection: &'c Connection,
    org: OrgId,
    last: Option<(LogRow, Option<i64>)>,
}

impl<'c> LogRows<'c> {
    pub(super) fn of(connection: &'c Connection, org: OrgId) -> LogRows<'c> {
        LogRows { connection, org, last: None }
    }

    /// The row with the message at a position, if there is one.
    fn at(&mut self, position: i64) -> Result<Option<&mut (LogRow, Option<i64>)>> {
        let wanted = place(self.org, position);
        let covers = |row: &LogRow| row.place - row.size < wanted && wanted <= row.place;
        if !self.last.as_ref().is_some_and(|(row, _)| covers(row)) {
            let sql = format!("SELECT {LOG_ROW} FROM message_groups WHERE place >= ?1 ORDER BY place LIMIT 1");
            self.last = one(self.connection, &sql, [wanted], log_row)?.filter(covers).map(|row| (row, None));
        }
        Ok(self.last.as_mut())
    }

    /// Whether the message at a position is selected; `None` if it does not exist. All calls must have the same selection.
    pub(super) fn is_selected(&mut self, selection: &Selection<'_>, position: i64) -> Result<Option<bool>> {
        let (connection, org) = (self.connection, self.org);
        let Some((row, mask)) = self.at(position)? else { return Ok(None) };
        let mask = match mask {
            Some(mask) => *mask,
            None => *mask.insert(selection.mask_of(connection, row)?),
        };
        Ok(Some(mask >> (row.place - place(org, position)) & 1 == 1))
    }

    /// When the message at a position happened or was recorded, whichever is later.
    pub(super) fn moment(&mut self, position: i64) -> Result<Option<Time>> {
        Ok(self.at(position)?.map(|(row, _)| row.moment))
    }

    fn member(&mut self, position: i64) -> Result<Option<Member>> {
        Ok(self.at(position)?.map(|(row, _)| member(row, position)))
    }
}

impl Selection<'_> {
    /// Which messages of a row are selected.
    fn mask_of(&self, connection: &Connection, row: &LogRow) -> Result<i64> {
        if row.size == 1 {
            return Ok(i64::from(self.gets(&row.event, &row.subject)));
        }
        let Some(events) = &self.events else { return Ok(whole_mask(row.size)) };
        let sql = "SELECT mask FROM message_events WHERE event = ?1 AND place = ?2";
        let mut mask = 0;
        for event in events {
            mask |= one(connection, sql, params![event, row.place], |row| row.get::<_, i64>(0))?.unwrap_or(0);
        }
        Ok(mask)
    }
}

/// The rows of a stretch of the log with messages of a selection of all events, until these are as many as the limit.
/// Calls `note` with each of these messages.
fn scan_everything(
    connection: &Connection,
    selection: &Selection<'_>,
    ends: (i64, i64),
    limit: usize,
    note: &mut dyn FnMut(&LogRow, i64),
) -> Result<()> {
    let sql = format!(
        "SELECT {LOG_ROW} FROM message_groups WHERE place > ?1 AND place <= ?2 AND NOT (event = ?3 AND subject = ?4) \
         AND event IS NOT ?5 ORDER BY place"
    );
    let left_out = selection.missed.then_some(TO_EVERYBODY);
    let params = params![ends.0, last_row(ends.1), TO_THE_OTHERS, selection.uuid, left_out];
    let mut statement = connection.prepare_cached(&sql).map_err(broken)?;
    let mut rows = statement.query(params).map_err(broken)?;
    let mut found = 0;
    while found < limit
        && let Some(row) = rows.next().map_err(broken)?
    {
        let row = log_row(row).map_err(broken)?;
        for position in selected(row.place, whole_mask(row.size), ends).take(limit - found) {
            note(&row, position);
            found += 1;
        }
    }
    Ok(())
}

const PLACES_OF_EVENT: &str = "
    SELECT place FROM message_groups INDEXED BY messages_by_event
    WHERE event = ?1 AND event <> '' AND place > ?2 AND place <= ?3 ORDER BY place LIMIT ?4";

const PLACES_FOR_THE_OTHERS: &str = "
    SELECT place FROM message_groups INDEXED BY messages_by_event
    WHERE event = ?1 AND event <> '' AND place > ?2 AND place <= ?3 AND subject <> ?5 ORDER BY place LIMIT ?4";

const ROWS_OF_EVENT: &str =
    "SELECT place, mask FROM message_events WHERE event = ?1 AND place > ?2 AND place <= ?3 ORDER BY place";

/// The first positions, in a stretch of the log, of the messages of an event that are in rows of several; at most `limit`.
/// A row may have the event only outside the stretch.
fn positions_in_rows_of_several(
    connection: &Connection,
    event: &str,
    (after, through): (i64, i64),
    limit: usize,
    note: &mut dyn FnMut(i64),
) -> Result<()> {
    let mut statement = connection.prepare_cached(ROWS_OF_EVENT).map_err(broken)?;
    let mut rows = statement.query(params![event, after, last_row(through)]).map_err(broken)?;
    let mut found = 0;
    while found < limit
        && let Some(row) = rows.next().map_err(broken)?
    {
        let (place, mask) = (row.get(0).map_err(broken)?, row.get(1).map_err(broken)?);
        for position in selected(place, mask, (after, through)).take(limit - found) {
            note(position);
            found += 1;
        }
    }
    Ok(())
}

/// The first positions of some events in a stretch of the log, in order.
fn positions_of_events(
    connection: &Connection,
    selection: &Selection<'_>,
    events: &[&str],
    (after, through): (i64, i64),
    limit: usize,
) -> Result<Vec<i64>> {
    let mut positions = Vec::new();
    let of_place = |row: &Row<'_>| row.get(0).map(position);
    for event in events {
        if *event == TO_THE_OTHERS {
            let params = params![event, after, through, sql_count(limit), selection.uuid];
            positions.extend(all(connection, PLACES_FOR_THE_OTHERS, params, of_place)?);
            continue;
        }
        let params = params![event, after, through, sql_count(limit)];
        positions.extend(all(connection, PLACES_OF_EVENT, params, of_place)?);
        let mut note = |position| positions.push(position);
        positions_in_rows_of_several(connection, event, (after, through), limit, &mut note)?;
    }
    positions.sort_unstable();
    positions.truncate(limit);
    Ok(positions)
}

/// The positions of the selected messages after one position and up to another, in order, at most `limit`.
pub(super) fn positions(
    connection: &Connection,
    selection: &Selection<'_>,
    (after, through): (i64, i64),
    limit: usize,
) -> Result<Vec<i64>> {
    let Some(ends) = selection.places(after, through) else { return Ok(Vec::new()) };
    if let Some(events) = &selection.events {
        return positions_of_events(connection, selection, events, ends, limit);
    }
    let mut positions = Vec::new();
    scan_everything(connection, selection, ends, limit, &mut |_, position| positions.push(position))?;
    Ok(positions)
}

/// The selected messages after one position and up to another, in order, at most `limit`.
pub(super) fn messages(
    connection: &Connection,
    selection: &Selection<'_>,
    (after, through): (i64, i64),
    limit: usize,
) -> Result<Vec<MessageRow>> {
    let Some(ends) = selection.places(after, through) else { return Ok(Vec::new()) };
    if let Some(events) = &selection.events {
        return messages_of_events(connection, selection, events, ends, limit);
    }
    let sql = format!("SELECT {} FROM message_groups WHERE place > ?1 AND place <= ?2 ORDER BY place", stored());
    let is_in = |at: i64| after < at && at <= through;
    first_messages(connection, selection.org, &sql, [ends.0, last_row(ends.1)], limit, |message| {
        message.position.is_some_and(is_in) && selection.gets(&message.event, &message.subject)
    })
}

/// The first messages of some events in a stretch of the log, in order. The lists of events may be wrong: of messages that
/// can be read, only those that are selected are taken, and more are read instead of the others.
fn messages_of_events(
    connection: &Connection,
    selection: &Selection<'_>,
    events: &[&str],
    (mut after, through): (i64, i64),
    limit: usize,
) -> Result<Vec<MessageRow>> {
    let mut found: Vec<MessageRow> = Vec::new();
    while found.len() < limit {
        let wanted = limit - found.len();
        let positions = positions_of_events(connection, selection, events, (after, through), wanted)?;
        let Some(last) = positions.last() else { break };
        after = place(selection.org, *last);
        let is_over = positions.len() < wanted;
        let messages = messages_at(connection, selection.org, &positions.into_iter().collect())?.into_iter();
        found.extend(messages.filter(|one| one.data.is_empty() || selection.gets(&one.event, &one.subject)));
        if is_over {
            break;
        }
    }
    Ok(found)
}

const COUNT_OF_EVENT: &str = "
    SELECT count(*) FROM message_groups INDEXED BY messages_by_event
    WHERE event = ?1 AND event <> '' AND place > ?2 AND place <= ?3";

const COUNT_ABOUT: &str = "
    SELECT count(*) FROM message_groups INDEXED BY messages_by_event
    WHERE event = ?1 AND event <> '' AND place > ?2 AND place <= ?3 AND subject = ?4";

/// How many messages of an event are in a stretch of the log.
fn count_of_event(connection: &Connection, event: &str, (after, through): (i64, i64)) -> Result<i64> {
    let alone = one(connection, COUNT_OF_EVENT, params![event, after, through], |row| row.get::<_, i64>(0))?;
    let mut together = 0;
    positions_in_rows_of_several(connection, event, (after, through), usize::MAX, &mut |_| together += 1)?;
    Ok(alone.unwrap_or_default() + together)
}

/// How many messages are selected after one position and up to another. The log has no gaps, so a selection of all
/// events is measured by its ends, not counted.
pub(super) fn count(connection: &Connection, selection: &Selection<'_>, after: i64, through: i64) -> Result<u64> {
    let Some((first, last)) = selection.places(after, through) else { return Ok(0) };
    let about = |event: &str| {
        let params = params![event, first, last, selection.uuid];
        one(connection, COUNT_ABOUT, params, |row| row.get::<_, i64>(0)).map(Option::unwrap_or_default)
    };
    let of_event = |event: &str| count_of_event(connection, event, (first, last));
    let Some(events) = &selection.events else {
        let left_out = if selection.missed { of_event(TO_EVERYBODY)? } else { 0 };
        return Ok((last - first - left_out - about(TO_THE_OTHERS)?).unsigned_abs());
    };
    let mut sum = 0;
    for event in events {
        sum += of_event(event)?;
        if *event == TO_THE_OTHERS {
            sum -= about(event)?;
        }
    }
    Ok(sum.unsigned_abs())
}

/// The events that occur in a stretch of a log, by name.
pub(super) fn events_within(connection: &Connection, org: OrgId, after: i64, through: i64) -> Result<Vec<String>> {
    let everything = Selection { org, events: None, uuid: "", missed: true };
    let Some(ends) = everything.places(after, through) else { return Ok(Vec::new()) };
    let alone = "SELECT min(event) FROM message_groups INDEXED BY messages_by_event WHERE event > ?1 AND event <> ''";
    let together = "SELECT min(event) FROM message_events WHERE event > ?1";
    let mut names = BTreeSet::new();
    for next in [alone, together] {
        let mut name = String::new();
        while let Some(event) = one(connection, next, [&name], |row| row.get::<_, Option<String>>(0))?.flatten() {
            names.insert(event.clone());
            name = event;
        }
    }
    let mut found = Vec::new();
    for event in names {
        let narrowed = Selection { events: Some(vec![event.as_str()]), ..everything.clone() };
        if !positions_of_events(connection, &narrowed, &[event.as_str()], ends, 1)?.is_empty() {
            found.push(event);
        }
    }
    Ok(found)
}

/// A message as lists show it.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) position: i64,
    pub(super) account: Option<Arc<str>>,
    /// Empty if the content of its row has it.
    pub(super) event: String,
    /// Empty if the content of its row has it.
    pub(super) event_id: String,
    /// When it happened or was recorded, whichever is later.
    pub(super) moment: Time,
}

fn member(row: &LogRow, position: i64) -> Member {
    Member {
        position,
        account: row.account.clone(),
        event: row.event.clone(),
        event_id: row.event_id.clone(),
        moment: row.moment,
    }
}

/// The selected messages after one position and up to another, in order, at most `limit`; if an account is given, only
/// those about it.
pub(super) fn members(
    connection: &Connection,
    selection: &Selection<'_>,
    account: Option<&str>,
    (after, through): (i64, i64),
    limit: usize,
) -> Result<Vec<Member>> {
    let Some(ends) = selection.places(after, through) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let Some(account) = account else {
        if let Some(events) = &selection.events {
            let mut rows = LogRows::of(connection, selection.org);
            for position in positions_of_events(connection, selection, events, ends, limit)? {
                found.extend(rows.member(position)?);
            }
        } else {
            let mut note = |row: &LogRow, position| found.push(member(row, position));
            scan_everything(connection, selection, ends, limit, &mut note)?;
        }
        return Ok(found);
    };
    let sql = format!(
        "SELECT {LOG_ROW} FROM message_groups INDEXED BY messages_by_account \
         WHERE org = ?1 AND account = ?2 AND place > ?3 AND place <= ?4 ORDER BY place"
    );
    for row in all(connection, &sql, params![selection.org, account, ends.0, last_row(ends.1)], log_row)? {
        let mask = selection.mask_of(connection, &row)?;
        found.extend(selected(row.place, mask, ends).map(|position| member(&row, position)));
    }
    found.truncate(limit);
    Ok(found)
}
