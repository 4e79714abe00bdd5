//! Processes a journal again, record by record, each at the time it was accepted, and collects the rows that the store
//! would have been given.

use crate::account::book::{Book, Halt, RequestedInput};
use crate::account::journal::{JournalEntry, Record};
use crate::account::message_writer::NOTICE;
use crate::catalog::ProductInfo;
use crate::problem::Problem;
use daybook_engine::snapshot;
use daybook_engine::state::State;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use daybook_store::batch::ItemChange;
use daybook_store::records::{ItemRow, MessageRow};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An account that was processed again, and everything it wrote.
pub(super) struct Worked {
    /// The account.
    pub book: Book,
    /// Its line items, as the store would have them.
    pub items: BTreeMap<Arc<str>, ItemRow>,
    /// Its messages, in order.
    pub messages: Vec<MessageRow>,
    /// The number of records processed.
    pub records: u64,
    /// The indexes of messages that wait for their moment.
    waiting: Vec<usize>,
}

impl Worked {
    fn of(book: Book) -> Worked {
        let (items, messages) = (BTreeMap::new(), Vec::new());
        let mut worked = Worked { book, items, messages, records: 0, waiting: Vec::new() };
        worked.gather();
        worked
    }

    /// The account in its current state, with its scheduled inputs counted.
    pub(super) fn standing(&self) -> Book {
        let mut book = self.book.clone();
        book.recount();
        book
    }

    /// A copy of the account to try an operation on.
    pub(super) fn tried(&self) -> Book {
        self.book.clone()
    }

    /// Collects the book's writes, as the store would. The cost of each record is only what it writes.
    fn gather(&mut self) {
        let mut writes = std::mem::take(&mut self.book.writes);
        let (items, changes) = writes.take_items();
        for row in items {
            let created_at = self.items.get(&row.item_id).map_or(row.created_at, |before| before.created_at);
            self.items.insert(row.item_id.clone(), ItemRow { created_at, ..row });
        }
        for change in changes {
            if let Some(row) = self.items.get_mut(&change.item_id) {
                change_item(row, &change);
            }
        }
        if let Some(at) = writes.cancel_notices_at {
            self.cancel_notices(at);
        }
        for message in writes.messages {
            if message.due_at.is_some() {
                self.waiting.push(self.messages.len());
            }
            self.messages.push(message);
        }
    }

    fn cancel_notices(&mut self, at: Time) {
        let messages = &mut self.messages;
        self.waiting.retain(|index| {
            let message = &mut messages[*index];
            let is_due_later = message.due_at.is_some_and(|due| due > at);
            if is_due_later && message.cause.starts_with(NOTICE) {
                message.cancelled_at.get_or_insert(at);
            }
            // A message that is due is sent, and can no longer be cancelled.
            is_due_later && message.cancelled_at.is_none()
        });
    }
}

fn change_item(row: &mut ItemRow, change: &ItemChange) {
    if change.void {
        (row.balance, row.principal, row.interest, row.fees) = (0, 0, 0, 0);
        row.splits.clear();
    } else {
        row.balance = change.balance.unwrap_or(row.balance);
        row.reversed_by = change.reversed_by.clone().or(row.reversed_by.take());
    }
    if let Some(status) = change.status {
        row.status = status.to_owned();
    }
    row.updated_at = change.updated_at;
}

/// The last change of the rules or of the time-zone data in an account's journal, and its index.
pub(super) fn refold_of(stored: &Book) -> Option<(usize, &JournalEntry)> {
    let index = stored.journal.iter().rposition(|record| record.record.mark().is_some())?;
    Some((index, &stored.journal[index]))
}

/// The sequence number of the last message that earlier rules announced.
pub(super) fn announced_before(record: &JournalEntry) -> i64 {
    record.record.mark().map_or(0, |mark| mark.message_seq)
}

/// Processes an account's journal again, up to where the account is processed. State and column both say how far that
/// is. If they differ, the state is right if the journal gives exactly that state; a state of another account is not
/// given. Otherwise the column counts, unless it is in the future.
pub(super) fn again(
    stored: &Book,
    product: &Arc<ProductInfo>,
    state: Option<&State>,
    now: Time,
) -> Result<Worked, Problem> {
    let column = stored.now.processed_through;
    let Some(state) = state.filter(|state| state.processed_through.is_some() && state.processed_through != column)
    else {
        return again_until(stored, product, column);
    };
    let by_state = again_until(stored, product, state.processed_through);
    if by_state.as_ref().is_ok_and(|worked| is_given(state, worked)) {
        return by_state;
    }
    let clock = stored.journal.iter().map(|record| record.row.clock).max();
    let latest = now.max(stored.now.rolled_to.unwrap_or(now)).max(clock.unwrap_or(now));
    if column.is_some_and(|column| column > latest) {
        return Err(Problem::internal(
            "neither its state nor its column processed_through contains the time through which it is processed",
        ));
    }
    again_until(stored, product, column)
}

/// Whether the journal gives exactly this state.
pub(super) fn is_given(state: &State, worked: &Worked) -> bool {
    let bytes = |state: &State| snapshot::write(state, b"").ok();
    bytes(state).is_some_and(|stored| Some(stored) == bytes(&worked.book.state))
}

fn again_until(stored: &Book, product: &Arc<ProductInfo>, through: Option<Time>) -> Result<Worked, Problem> {
    let opening = stored.journal.first().filter(|first| matches!(first.record, Record::Input(Input::Open)));
    let opening = opening.ok_or_else(|| {
        Problem::internal("the record that opens the account is missing; restore the database from a backup")
    })?;
    let (mut book, done) = match refold_of(stored) {
        Some((index, _)) => (Book::refolded_at(stored, index)?, index + 1),
        None => {
            let product = with_mode(product, true, None);
            let terms = (*stored.terms).clone();
            let (profile, hash) = (stored.profile.clone(), stored.content_hash.clone());
            (Book::open(stored.key.clone(), product, terms, profile, hash, opening.row.recorded_at)?, 1)
        }
    };
    // Messages of a release may be suppressed only for a loaded account, never for a new one.
    book.loaded_version = Some(0);
    book.work_through();
    let mut worked = Worked::of(book);
    for record in &stored.journal[done..] {
        worked.records += 1;
        work_through(&mut worked.book, record, product).map_err(|halt| match halt {
            Halt::Problem(problem) => Problem::internal(format!("record {}: {}", record.seq(), problem.message)),
            Halt::NeedsAll => Problem::internal("the whole journal was requested again"),
        })?;
        worked.gather();
    }
    worked.book.placed_by = None;
    if let Some(through) = through.filter(|_| stored.is_under_way()) {
        worked.book.product = with_mode(product, false, product.mode.suppress_before);
        worked.book.fold_first_until(through).map_err(crate::accounts::problem)?;
        worked.gather();
    }
    worked.book.product = with_mode(product, false, None);
    if let Some(through) = through.filter(|_| worked.book.now.held_events == 0) {
        worked.book.settle(through).map_err(crate::accounts::problem)?;
        worked.gather();
    }
    Ok(worked)
}

fn work_through(book: &mut Book, record: &JournalEntry, product: &Arc<ProductInfo>) -> Result<(), Halt> {
    let at = record.row.recorded_at;
    book.placed_by = None;
    if let Some(through) = record.held.filter(|through| book.now.processed_through.is_some_and(|done| done < *through))
    {
        // Moments that were due before the product began to hold events were processed before this record.
        book.product = with_mode(product, false, None);
        book.settle(through)?;
    }
    // The journal has gaps where held inputs were withdrawn.
    book.now.next_seq = record.seq();
    // A roll is recorded at the moment it leads to.
    book.placed_by = (!matches!(record.record, Record::Roll { .. })).then_some(record.row.clock);
    match &record.record {
        Record::Release { suppress_before } => {
            book.product = with_mode(product, false, *suppress_before);
            book.release(at).map(drop)
        }
        Record::Roll { to } => {
            book.product = with_mode(product, false, None);
            book.settle(at)?;
            book.roll(*to, false, at).map(drop)
        }
        // Processing starts at the last one.
        Record::Refold(_) | Record::Zone(_) => Ok(()),
        Record::Profile => {
            book.product = with_mode(product, record.held.is_some(), None);
            book.settle(at)?;
            book.note_profile(at)
        }
        Record::Input(input) => {
            book.product = with_mode(product, record.held.is_some(), None);
            let asked = RequestedInput {
                name: record.row.name.clone(),
                effective_at: Some(record.row.effective_at),
                input: input.clone(),
                extra: record.row.extra.clone(),
                content_hash: record.row.content_hash.clone(),
            };
            book.settle(at)?;
            book.submit(&asked, at)?;
            let placed = book.journal.last().map(|placed| placed.place);
            if placed != Some(record.place) && !matches!(input, Input::Open) {
                let was = record.place.at;
                let message = match placed {
                    Some(place) => format!("recalculating places it at {}, but it was placed at {was}", place.at),
                    None => format!("recalculating gives it no place, but it was placed at {was}"),
                };
                return Err(Problem::internal(message).into());
            }
            Ok(())
        }
    }
}

/// A product with the given mode.
fn with_mode(product: &Arc<ProductInfo>, holding: bool, suppress_before: Option<Time>) -> Arc<ProductInfo> {
    let mode = daybook_store::records::Mode { holding, suppress_before, ..product.mode.clone() };
    Arc::new(ProductInfo {
        key: product.key.clone(),
        form: product.form.clone(),
        facts: product.facts.clone(),
        mode,
        signing: product.signing.clone(),
        event_ids: product.event_ids.clone(),
    })
}
