//! Finding messages by id, account, event, time and state.
//!
//! Scheduled messages come first, then those of the log, newest first. A search examines a limited number of messages
//! for each page. If few match, the page may be short or empty and still state that there are more.

use crate::Service;
use crate::access::{Caller, Right};
use crate::boxed;
use crate::form::EventName;
use crate::form::fields::{Reference, SearchState};
use crate::paging::{Paging, no_mark, onward, write_mark};
use crate::problem::Problem;
use crate::view::{self, UrlState};
use daybook_engine::time::Time;
use daybook_store::outbox::{DeliveryRecords, MessageFilter, MessageSearchResult};
use daybook_store::records::MessageRow;
use std::sync::Arc;

/// The number of messages whose states are looked up for a page.
const LOOKED_UP: usize = 500;

/// Filters for messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageQuery {
    /// With this id.
    pub event_id: Option<String>,
    /// About this account.
    pub account_id: Option<Reference>,
    /// Of this event.
    pub event: Option<EventName>,
    /// With this state, at one URL or more.
    pub state: Option<SearchState>,
    /// For this URL; with a state, in that state there.
    pub webhook_uuid: Option<Reference>,
    /// Recorded at this moment or later.
    pub since: Option<Time>,
    /// Recorded before this moment.
    pub until: Option<Time>,
}

/// Where a search continues.
#[derive(Clone, Copy)]
enum SearchPosition {
    Waiting(i64),
    Log(i64),
}

impl SearchPosition {
    fn read(mark: &str) -> Option<SearchPosition> {
        let number = mark.get(1..)?.parse().ok()?;
        match mark.as_bytes().first()? {
            b'w' => Some(SearchPosition::Waiting(number)),
            b'l' => Some(SearchPosition::Log(number)),
            _ => None,
        }
    }

    fn write(self) -> String {
        match self {
            SearchPosition::Waiting(before) => write_mark(&format!("w{before}")),
            SearchPosition::Log(before) => write_mark(&format!("l{before}")),
        }
    }
}

type MessageWithDeliveries = (MessageRow, Vec<DeliveryRecords>);

impl Service {
    /// A page of messages.
    #[boxed]
    pub async fn list_messages(
        &self,
        who: &Caller,
        paging: Paging,
        query: MessageQuery,
    ) -> Result<view::Page<view::Message>, Problem> {
        who.may(Right::Read)?;
        onward(&paging)?;
        let mark = paging.after.as_deref().map(|mark| SearchPosition::read(mark).ok_or_else(no_mark)).transpose()?;
        // A subscription that does not exist is an error, not an empty list.
        self.subscription_named(who, query.webhook_uuid.as_ref()).await?;
        let (lines, next) = match &query.event_id {
            Some(event_id) => (self.one_line(who, event_id, &query).await?, None),
            None => self.page_of_messages(who, mark, paging.limit, &query).await?,
        };
        let (now, kept_since) = self.moments();
        let shown = |(row, standings): MessageWithDeliveries| {
            let urls = standings
                .iter()
                .map(|standing| view::MessageUrl::of(standing, standing.since(&row, now, kept_since)))
                .collect();
            view::Message::new(row, urls)
        };
        let results = lines.into_iter().map(shown).collect();
        let (starting_after, has_more) = (next.map(SearchPosition::write), next.is_some());
        let paging = view::Paging { starting_after, ending_before: None, has_more };
        Ok(view::Page { results, paging })
    }

    async fn one_line(
        &self,
        who: &Caller,
        event_id: &str,
        query: &MessageQuery,
    ) -> Result<Vec<MessageWithDeliveries>, Problem> {
        let row = match self.message_row(who.org, event_id).await {
            Ok(row) => row,
            Err(problem) if problem.code == "not_found" => return Ok(Vec::new()),
            Err(problem) => return Err(problem),
        };
        let about = query.account_id.as_ref().is_none_or(|id| Some(id.as_str()) == row.account.as_deref());
        let named = query.event.is_none_or(|event| event.name() == row.event);
        let in_time = query.since.is_none_or(|since| row.recorded_at >= since)
            && query.until.is_none_or(|until| row.recorded_at < until);
        let lines = self.with_standings(who, vec![row]).await?;
        let moments = self.moments();
        Ok(lines.into_iter().filter(|line| about && named && in_time && stands(line, query, moments)).collect())
    }

    async fn page_of_messages(
        &self,
        who: &Caller,
        mark: Option<SearchPosition>,
        limit: usize,
        query: &MessageQuery,
    ) -> Result<(Vec<MessageWithDeliveries>, Option<SearchPosition>), Problem> {
        let filter = MessageFilter {
            account: query.account_id.as_ref().map(|id| Arc::from(id.as_str())),
            event: query.event.map(|event| event.name().to_owned()),
            since: query.since,
            until: query.until,
        };
        let mut lines: Vec<MessageWithDeliveries> = Vec::new();
        let of_log = !matches!(query.state, Some(SearchState::Scheduled | SearchState::Cancelled));
        let is_waiting = query.webhook_uuid.is_none() && (!of_log || query.state.is_none());
        let begin = if is_waiting { SearchPosition::Waiting(i64::MAX) } else { SearchPosition::Log(i64::MAX) };
        let mut place = mark.unwrap_or(begin);
        if let SearchPosition::Waiting(before) = place {
            let cancelled = query.state.map(|state| state == SearchState::Cancelled);
            let found = self.store.search_waiting(who.org, &filter, cancelled, before, limit).await?;
            lines.extend(found.messages.into_iter().map(|(_, row)| (row, Vec::new())));
            if let Some(next) = found.next {
                return Ok((lines, Some(SearchPosition::Waiting(next))));
            }
            if !of_log {
                return Ok((lines, None));
            }
            place = SearchPosition::Log(i64::MAX);
        }
        let (SearchPosition::Log(before), left) = (place, limit - lines.len()) else { return Ok((lines, None)) };
        if left == 0 {
            return Ok((lines, Some(place)));
        }
        let looks_up = query.state.is_some() || query.webhook_uuid.is_some();
        let most = if looks_up { LOOKED_UP } else { left };
        let MessageSearchResult { messages, next } = self.store.search_log(who.org, &filter, before, most).await?;
        let rows = messages.into_iter().map(|(_, row)| row).collect();
        let mut found = self.with_standings(who, rows).await?;
        let moments = self.moments();
        found.retain(|line| !looks_up || stands(line, query, moments));
        let is_cut = found.len() > left;
        found.truncate(left);
        let last = found.last().and_then(|(row, _)| row.position);
        lines.extend(found);
        Ok((lines, if is_cut { last } else { next }.map(SearchPosition::Log)))
    }

    /// The current time, and the time since which all delivery results are kept.
    fn moments(&self) -> (Time, Time) {
        let now = self.clock.now();
        (now, self.kept_since(now))
    }

    async fn with_standings(&self, who: &Caller, rows: Vec<MessageRow>) -> Result<Vec<MessageWithDeliveries>, Problem> {
        let positions: Vec<i64> = rows.iter().filter_map(|row| row.position).collect();
        if positions.is_empty() {
            return Ok(rows.into_iter().map(|row| (row, Vec::new())).collect());
        }
        let mut standings = self.store.delivery_records(who.org, &positions).await?.into_iter();
        let line = |row: MessageRow| {
            let own = row.position.and_then(|_| standings.next()).unwrap_or_default();
            (row, own)
        };
        Ok(rows.into_iter().map(line).collect())
    }
}

/// Whether a message has the requested state.
fn stands((row, standings): &MessageWithDeliveries, query: &MessageQuery, (now, kept_since): (Time, Time)) -> bool {
    let wanted = match query.state {
        None => None,
        Some(SearchState::Scheduled) => return row.position.is_none() && row.cancelled_at.is_none(),
        Some(SearchState::Cancelled) => return row.cancelled_at.is_some(),
        Some(SearchState::Pending) => Some(UrlState::Pending),
        Some(SearchState::Delivered) => Some(UrlState::Delivered),
        Some(SearchState::Dead) => Some(UrlState::Dead),
        Some(SearchState::NotWanted) => Some(UrlState::NotWanted),
    };
    if wanted.is_none() && query.webhook_uuid.is_none() {
        return true;
    }
    standings.iter().any(|standing| {
        let state = view::MessageUrl::of(standing, standing.since(row, now, kept_since)).state;
        let is_asked_for = match &query.webhook_uuid {
            Some(uuid) => standing.subscription.uuid == uuid.as_str(),
            None => true,
        };
        is_asked_for && wanted.map_or(state != UrlState::NotWanted, |wanted| state == wanted)
    })
}
