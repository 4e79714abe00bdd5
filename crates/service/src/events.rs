//! The events of one account, page by page: its timeline, which shows how the balance came about.
//!
//! The first page costs only what it shows: only the first records of the timeline are read and folded. A later page
//! depends on everything before it, so the whole journal is folded for it, outside the threads that serve requests. The
//! first page needs the whole journal too if a later event changes how a payment counts from its effective time (it
//! bounced, under `REPLAY`).

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::{Book, Halt};
use crate::account::causes::{NOTICE, RELEASE, cause_text};
use crate::account::journal::{JournalEntry, Record, revising};
use crate::account::timeline::{EventProgress, TimelineEntry};
use crate::accounts::{account_key, problem};
use crate::boxed;
use crate::paging::Paging;
use crate::problem::Problem;
use crate::view;
use daybook_engine::outcome::Cause;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use daybook_store::Inputs;
use daybook_store::records::{AccountKey, AccountNow, InputRow};
use std::collections::{BTreeSet, HashMap};

/// The largest number of records read for a first page before the whole journal is folded.
const MOST_FIRST: usize = 8_000;
/// How many records more than a page has are read at first: payments that arrive together are placed at one moment.
const AT_ONE_MOMENT: usize = 1_100;
/// How many records more than a page has are folded at first.
const FEW: usize = 16;

/// A page of a timeline and its account.
struct TimelinePage {
    book: Book,
    entries: Vec<TimelineEntry>,
    mark: view::Paging,
    /// The cause of messages that were written after all messages of the page.
    next_cause: Option<String>,
}

/// An account without its state, to fold the first records of its timeline.
struct FirstRecords {
    book: Book,
    /// The account's row as stored.
    stored: AccountNow,
    /// Whether the book's row is processed up to the account's clock, or shown as stored.
    is_current: bool,
    /// Whether the whole journal is needed.
    needs_all: bool,
}

impl Service {
    /// Lists the events of an account, which explain its balance.
    #[boxed]
    pub async fn list_account_events(
        &self,
        who: &Caller,
        account: &str,
        paging: Paging,
    ) -> Result<view::Page<view::TimelineEvent>, Problem> {
        who.may(Right::Read)?;
        let now = self.clock.now();
        let is_first = paging.after.is_none() && paging.before.is_none();
        let first = if is_first { self.first_events(who, account, &paging, now).await? } else { None };
        let TimelinePage { book, entries, mark, next_cause } = match first {
            Some(page) => page,
            None => {
                self.with_whole_book(who, account, move |mut book| {
                    let _ = book.as_it_stands(now);
                    let happenings = book.happenings(None).map_err(problem)?;
                    let (entries, mark) = paging.of_list(happenings, mark_of)?;
                    Ok(TimelinePage { book, entries, mark, next_cause: None })
                })
                .await?
            }
        };
        let causes: BTreeSet<&str> = entries.iter().map(|happening| &*happening.cause).collect();
        let causes: Vec<&str> = causes.into_iter().collect();
        // A notice may be written long after the step that it follows, and all releases have the same cause.
        let is_repeated = |cause: &&str| cause.starts_with(NOTICE) || *cause == RELEASE;
        let next_cause = next_cause.filter(|_| !causes.iter().any(is_repeated));
        let mut webhooks: HashMap<String, Vec<view::EventWebhook>> = HashMap::new();
        for message in self.store.messages_by_cause(&book.key, &causes, next_cause.as_deref()).await? {
            let state = view::MessageState::from(&message);
            let webhook = view::EventWebhook { event: message.event, event_id: message.event_id, state };
            webhooks.entry(cause_mark(message.cause, message.effective_at)).or_default().push(webhook);
        }
        let results = entries.into_iter().map(|happening| show_happening(&book, happening, &webhooks)).collect();
        Ok(view::Page { results, paging: mark })
    }

    /// The first page, from the first records of the timeline only; `None` if they do not suffice.
    async fn first_events(
        &self,
        who: &Caller,
        account: &str,
        paging: &Paging,
        now: Time,
    ) -> Result<Option<TimelinePage>, Problem> {
        let key = account_key(who, account);
        let book = self.load_book_without_state(&key).await?;
        let is_current = book.stands_as_stored();
        let mut first = FirstRecords { stored: book.now.clone(), book, is_current, needs_all: false };
        let revising = revising(first.book.terms.backdating)?;
        // Most records are recorded in the order of the timeline.
        let mut wanted = paging.limit.saturating_add(AT_ONE_MOMENT);
        let mut rows = self.store.first_recorded(&key, wanted).await?;
        let last_seq = rows.last().map_or(0, |row| row.seq);
        rows.sort_by_key(|row| (row.applies_at, row.rank, row.seq));
        let Some(few) = rows.get(paging.limit + FEW).map(|row| row.applies_at) else { return Ok(None) };
        if !self.store.has_input_beginning(&key, &revising, Some((last_seq, few))).await? {
            let page = self.page_of(&mut first, &rows, few, paging, now).await?;
            if page.is_some() || first.needs_all {
                return Ok(page);
            }
        } else if self.store.has_input_beginning(&key, &revising, None).await? {
            return Ok(None);
        }
        while wanted < MOST_FIRST {
            let rows = self.store.first_inputs(&key, wanted).await?;
            // All records placed before the last one are loaded.
            let Some(last) = rows.last().filter(|_| rows.len() == wanted) else { return Ok(None) };
            let loaded = last.applies_at.plus_micros(-1);
            // Mostly, the moments of the first few are enough.
            let few = rows.get(paging.limit + FEW).map_or(loaded, |row| row.applies_at.min(loaded));
            for until in [few, loaded] {
                let page = self.page_of(&mut first, &rows, until, paging, now).await?;
                if page.is_some() || first.needs_all {
                    return Ok(page);
                }
            }
            wanted *= 4;
        }
        Ok(None)
    }

    /// The page, if the records placed up to a moment fill it. All of them must be among `rows`.
    async fn page_of(
        &self,
        first: &mut FirstRecords,
        rows: &[InputRow],
        until: Time,
        paging: &Paging,
        now: Time,
    ) -> Result<Option<TimelinePage>, Problem> {
        let FirstRecords { book, stored, is_current, needs_all } = first;
        if !*is_current && stored.processed_through.is_none_or(|through| until > through) {
            // Processed in memory only if the page shows what was not processed yet.
            let Some(current) = self.settled_row(&book.key, stored, now).await? else {
                *needs_all = true;
                return Ok(None);
            };
            (book.now, *is_current) = (current, true);
        }
        let records = rows.iter().filter(|row| row.applies_at <= until && row.seq < stored.next_seq);
        let mut records: Vec<InputRow> = records.cloned().collect();
        records.sort_by_key(|row| row.seq);
        let journal = records.into_iter().map(JournalEntry::read).collect::<Result<Vec<_>, _>>()?;
        let last_seq = journal.last().map_or(0, JournalEntry::seq);
        let mut begins = book.clone();
        begins.begin_with(journal, stored);
        let mut entries = begins.happenings(Some(until)).map_err(problem)?;
        if entries.len() <= paging.limit {
            return Ok(None);
        }
        let mark = paging.cut(&mut entries, mark_of);
        // When this payment was placed, everything up to the end of the page was processed and announced.
        let is_next = |record: &JournalEntry| record.held.is_none() && record.row.clock >= until && is_payment(record);
        let later = rows.iter().filter(|row| row.applies_at > until && row.seq > last_seq);
        let next = later.cloned().map(JournalEntry::read).find_map(|record| record.ok().filter(is_next));
        let next_cause = next.map(|record| cause_text(Cause::Input(record.place.seq)));
        Ok(Some(TimelinePage { book: begins, entries, mark, next_cause }))
    }

    /// The account's row, processed in memory up to the account's clock; `None` if that needs the whole journal, or if
    /// the account has changed since `stored` was read.
    async fn settled_row(
        &self,
        key: &AccountKey,
        stored: &AccountNow,
        now: Time,
    ) -> Result<Option<AccountNow>, Problem> {
        let mut book = self.load_book(key, Inputs::Pending).await?;
        if book.now.next_seq != stored.next_seq || matches!(book.as_it_stands(now), Err(Halt::NeedsAll)) {
            return Ok(None);
        }
        Ok(Some(AccountNow { state: Vec::new(), ..book.now }))
    }
}

fn is_payment(record: &JournalEntry) -> bool {
    matches!(record.record, Record::Input(Input::Payment { .. }))
}

fn mark_of(happening: &TimelineEntry) -> String {
    let seq = happening.seq.map_or_else(|| happening.cause.clone(), |seq| seq.to_string());
    format!("{}/{seq}", happening.applies_at.micros())
}

/// The key that links messages to events. All notices of a kind share one cause, so their moment is added.
fn cause_mark(cause: String, at: Time) -> String {
    if cause.starts_with(NOTICE) { format!("{cause}/{}", at.micros()) } else { cause }
}

fn show_happening(
    book: &Book,
    happening: TimelineEntry,
    webhooks: &HashMap<String, Vec<view::EventWebhook>>,
) -> view::TimelineEvent {
    let local = |time: Time| view::time::Local::new(time, &book.terms.zone);
    let done = happening.progress == EventProgress::Processed;
    view::TimelineEvent {
        event: happening.kind,
        seq: happening.seq.map(|seq| seq as u64),
        effective_at: local(happening.effective_at),
        applies_at: local(happening.applies_at),
        recorded_at: happening.recorded_at.map(local),
        state: match happening.progress {
            EventProgress::Held => view::ProcessingState::Held,
            EventProgress::Scheduled => view::ProcessingState::Scheduled,
            EventProgress::Processed => view::ProcessingState::Processed,
            EventProgress::Failed => view::ProcessingState::Failed,
        },
        reason: happening.reason,
        effect: done.then(|| view::Amounts::change(&happening.before, &happening.after)),
        balance_after: done.then(|| view::Amounts::from(happening.after)),
        postings: happening.postings.into_iter().map(Into::into).collect(),
        line_items: happening.items,
        webhooks: webhooks.get(&cause_mark(happening.cause, happening.applies_at)).cloned().unwrap_or_default(),
        description: happening.description,
    }
}
