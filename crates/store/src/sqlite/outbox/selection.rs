//! Which messages of a log a subscription gets.
//!
//! A subscription to all events reads a range of the table itself. A subscription to a few reads each event's range of
//! the index, only as far as needed, and merges them in the order of the log: messages of other events cost nothing,
//! however many there are.

use crate::Result;
use crate::outbox::{SubscriptionFilter, TO_EVERYBODY, TO_THE_OTHERS};
use crate::records::OrgId;
use crate::rows::Cells;
use crate::sqlite::connection::broken;
use crate::sqlite::read::{all, count as sql_count, one};
use crate::sqlite::rows::{LAST_ORG, LAST_POSITION, SqlResult, by_cells, place, position_in};
use daybook_engine::time::Time;
use rusqlite::{Connection, Row, params};
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

const PLACES_OF_EVENT: &str = "
    SELECT place FROM messages INDEXED BY messages_by_event
    WHERE event = ?1 AND place > ?2 AND place <= ?3 ORDER BY place LIMIT ?4";

const PLACES_FOR_THE_OTHERS: &str = "
    SELECT place FROM messages INDEXED BY messages_by_event
    WHERE event = ?1 AND place > ?2 AND place <= ?3 AND subject <> ?5 ORDER BY place LIMIT ?4";

const COUNT_OF_EVENT: &str = "
    SELECT count(*) FROM messages INDEXED BY messages_by_event WHERE event = ?1 AND place > ?2 AND place <= ?3";

const COUNT_ABOUT: &str = "
    SELECT count(*) FROM messages INDEXED BY messages_by_event
    WHERE event = ?1 AND place > ?2 AND place <= ?3 AND subject = ?4";

/// Columns of the selected messages after one position and up to another, in order, at most `limit`.
pub(super) fn scan<T>(
    connection: &Connection,
    selection: &Selection<'_>,
    (after, through): (i64, i64),
    limit: usize,
    columns: &str,
    read: impl Fn(&Row<'_>) -> SqlResult<T>,
) -> Result<Vec<T>> {
    let Some((after, through)) = selection.places(after, through) else { return Ok(Vec::new()) };
    let Some(events) = &selection.events else {
        let sql = format!(
            "SELECT {columns} FROM messages WHERE place > ?1 AND place <= ?2 AND NOT (event = ?4 AND subject = ?5) \
             AND event IS NOT ?6 ORDER BY place LIMIT ?3"
        );
        let left_out = selection.missed.then_some(TO_EVERYBODY);
        let params = params![after, through, sql_count(limit), TO_THE_OTHERS, selection.uuid, left_out];
        return all(connection, &sql, params, read);
    };
    let mut places = Vec::new();
    for event in events {
        if *event == TO_THE_OTHERS {
            let params = params![event, after, through, sql_count(limit), selection.uuid];
            places.extend(all(connection, PLACES_FOR_THE_OTHERS, params, |row| row.get::<_, i64>(0))?);
        } else {
            let params = params![event, after, through, sql_count(limit)];
            places.extend(all(connection, PLACES_OF_EVENT, params, |row| row.get::<_, i64>(0))?);
        }
    }
    places.sort_unstable();
    places.truncate(limit);
    let sql = format!("SELECT {columns} FROM messages WHERE place = ?1");
    let mut message = connection.prepare_cached(&sql).map_err(broken)?;
    places.into_iter().map(|place| message.query_row([place], &read).map_err(broken)).collect()
}

/// How many messages are selected after one position and up to another. The log has no gaps, so a selection of all
/// events is measured by its ends, not counted.
pub(super) fn count(connection: &Connection, selection: &Selection<'_>, after: i64, through: i64) -> Result<u64> {
    let Some((first, last)) = selection.places(after, through) else { return Ok(0) };
    let about = |event: &str| {
        let params = params![event, first, last, selection.uuid];
        one(connection, COUNT_ABOUT, params, |row| row.get::<_, i64>(0)).map(Option::unwrap_or_default)
    };
    let of_event = |event: &str| {
        let params = params![event, first, last];
        one(connection, COUNT_OF_EVENT, params, |row| row.get::<_, i64>(0)).map(Option::unwrap_or_default)
    };
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
    let Some((first, last)) = everything.places(after, through) else { return Ok(Vec::new()) };
    let next = "SELECT min(event) FROM messages INDEXED BY messages_by_event WHERE event > ?1";
    let within = "SELECT 1 FROM messages INDEXED BY messages_by_event \
                  WHERE event = ?1 AND place > ?2 AND place <= ?3 LIMIT 1";
    let mut found = Vec::new();
    let mut name = String::new();
    while let Some(event) = one(connection, next, [&name], |row| row.get::<_, Option<String>>(0))?.flatten() {
        if one(connection, within, params![event, first, last], |_| Ok(()))?.is_some() {
            found.push(event.clone());
        }
        name = event;
    }
    Ok(found)
}

/// A message as lists show it.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) position: i64,
    pub(super) account: Option<Arc<str>>,
    pub(super) event: String,
    pub(super) event_id: String,
    /// When it happened or was recorded, whichever is later.
    pub(super) moment: Time,
}

const MEMBER_COLUMNS: &str =
    concat!(position_in!("place"), ", account, event, event_id, max(effective_at, recorded_at)");

pub(super) fn member(cells: &mut Cells<'_>) -> Result<Member> {
    Ok(Member {
        position: cells.next()?,
        account: cells.text_or_none()?,
        event: cells.next()?,
        event_id: cells.next()?,
        moment: cells.time()?,
    })
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
    let Some(account) = account else {
        return scan(connection, selection, (after, through), limit, MEMBER_COLUMNS, by_cells(member));
    };
    let Some((first, last)) = selection.places(after, through) else { return Ok(Vec::new()) };
    let sql = format!(
        "SELECT {MEMBER_COLUMNS}, subject FROM messages INDEXED BY messages_by_account \
         WHERE org = ?1 AND account = ?2 AND place > ?3 AND place <= ?4 ORDER BY place"
    );
    let params = params![selection.org, account, first, last];
    let mut found = all(connection, &sql, params, by_cells(|cells| Ok((member(cells)?, cells.next::<String>()?))))?;
    found.retain(|(member, subject)| selection.gets(&member.event, subject));
    found.truncate(limit);
    Ok(found.into_iter().map(|(member, _)| member).collect())
}
