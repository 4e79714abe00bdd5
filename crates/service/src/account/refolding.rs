//! Folds an account again: by newer rules, or with other time-zone data for its future moments.
//!
//! Every record of the journal keeps its place: records placed at the account clock stay there, held ones stay held,
//! scheduled ones stay scheduled. State and line items become those of the newer rules, up to where the account was
//! processed. Nothing is announced; existing messages stay, and later ones continue their sequence. A record of the
//! journal ([`Record::Refold`], [`Record::Zone`]) marks this point, so that `verify` can start there.

use super::book::{Book, Halt, mark_scheduled, stopped};
use super::journal::{Mark, Record, ZoneChange};
use super::writes::{ItemChanges, Writes, WrittenItem};
use crate::catalog::ProductInfo;
use crate::problem::Problem;
use daybook_engine::item::{ItemChangeKind, ItemStatus};
use daybook_engine::replay::{Ledger, replay};
use daybook_engine::state::State;
use daybook_engine::terms::{RULES_VERSION, Terms};
use daybook_engine::time::Time;
use daybook_store::LoadedAccount;
use daybook_store::records::ItemRow;
use std::collections::HashMap;
use std::sync::Arc;

impl Book {
    /// An account as earlier rules left it, before it is folded again. `terms` are its terms as the newer rules read
    /// them. Needs the whole journal.
    pub fn outdated(loaded: LoadedAccount, product: Arc<ProductInfo>, terms: Terms) -> Result<Book, Problem> {
        Book::with(loaded, product, true, terms, State::new())
    }

    /// Folds the account again by newer rules. `stored` are its stored line items; unchanged ones are not written.
    pub fn refold(&mut self, stored: &[ItemRow], now: Time) -> Result<(), Problem> {
        let (at, mark) = self.fold_again(stored, now)?;
        self.note_fold(Record::Refold(mark), "refold", at, now)
    }

    /// Folds the account again; its terms already have the new zone. Returns the account's next moment before and
    /// after.
    pub fn rezone(
        &mut self,
        stored: &[ItemRow],
        version: &str,
        now: Time,
    ) -> Result<(Option<Time>, Option<Time>), Problem> {
        let before = self.now.next_moment;
        let (at, mark) = self.fold_again(stored, now)?;
        let after = if self.now.failure.is_some() { before } else { self.next_moment(now) };
        let change = ZoneChange { mark, version: version.to_owned(), before, after };
        self.note_fold(Record::Zone(change), "zone", at, now)?;
        Ok((before, after))
    }

    /// Folds all processed entries again, and returns where the account stood.
    fn fold_again(&mut self, stored: &[ItemRow], now: Time) -> Result<(Time, Mark), Problem> {
        let mark = Mark {
            rules_version: RULES_VERSION,
            processed_through: self.now.processed_through,
            rolled_to: self.now.rolled_to,
            settled_seq: self.now.settled_seq,
            message_seq: self.now.message_seq,
        };
        if let Some(through) = mark.processed_through {
            let entries = self.settled_entries(through);
            let (state, out) = replay(&self.terms, &entries, through).map_err(stopped).map_err(problem)?;
            self.replace_state(state);
            self.ledger = Some(Ledger::of(&out));
            self.write_outcome(out, through, now);
            keep_changed_items(&mut self.writes, stored, now);
        }
        Ok((mark.processed_through.unwrap_or(now), mark))
    }

    fn note_fold(&mut self, record: Record, what: &str, at: Time, now: Time) -> Result<(), Problem> {
        let seq = self.now.next_seq;
        self.append(record, what, at, now)?;
        if self.now.held_events == 0 {
            self.now.settled_seq = seq;
        }
        self.recount();
        Ok(())
    }

    /// The account right after the record at this index of its journal folded it again, with all its line items in its
    /// writes.
    pub fn refolded_at(stored: &Book, index: usize) -> Result<Book, Problem> {
        let record = &stored.journal[index];
        let Some(mark) = record.record.mark() else {
            return Err(Problem::internal("the record is not a change of rules or time-zone data"));
        };
        let mut book = stored.clone();
        book.journal.truncate(index);
        book.ledger = None;
        book.names = None;
        book.state = State::new();
        book.writes = Writes::default();
        book.now.processed_through = mark.processed_through;
        book.now.rolled_to = mark.rolled_to;
        book.now.settled_seq = mark.settled_seq;
        book.now.message_seq = mark.message_seq;
        book.now.next_seq = record.seq();
        book.now.failure = None;
        let is_held =
            |record: &&super::journal::JournalEntry| record.seq() > mark.settled_seq && record.record.mark().is_none();
        book.now.held_events = book.journal.iter().filter(is_held).count() as i64;
        mark_scheduled(&mut book.journal, &book.now);
        book.refold(&[], record.row.recorded_at)?;
        Ok(book)
    }
}

fn problem(halt: Halt) -> Problem {
    match halt {
        Halt::Problem(problem) => problem,
        Halt::NeedsAll => Problem::internal("the whole journal was loaded, but the fold requested it again"),
    }
}

/// Keeps only the line items that differ from the stored ones. Stored items that the fold did not make become invalid.
fn keep_changed_items(writes: &mut Writes, stored: &[ItemRow], now: Time) {
    let stored: HashMap<&str, &ItemRow> = stored.iter().map(|row| (&*row.item_id, row)).collect();
    for (id, row) in stored.iter().filter(|(id, _)| !writes.items.contains_key(**id)) {
        if row.status != ItemStatus::Invalid.name() {
            let changes = vec![ItemChangeKind::Status(ItemStatus::Invalid)];
            writes.changes.insert(Arc::from(*id), ItemChanges { updated_at: now, changes });
        }
    }
    let is_changed = |id: &Arc<str>, made: &WrittenItem| {
        stored.get(&**id).is_none_or(|stored| !is_same(stored, &made.clone().into_row(id.clone())))
    };
    writes.items.retain(|id, made| is_changed(id, made));
}

/// Whether two rows are the same line item, apart from when they were written.
pub fn is_same(stored: &ItemRow, made: &ItemRow) -> bool {
    *stored == ItemRow { created_at: stored.created_at, updated_at: stored.updated_at, ..made.clone() }
}
