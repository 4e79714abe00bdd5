//! The book of one account: its journal, its state, and the rows to write for it.
//!
//! A [`Book`] is an account in memory. Requests are applied to the book, purely: no clock, no database.
//! [`Book::settle`] processes it up to its clock, [`Book::submit`] places an input and folds it, [`Book::release`]
//! releases held inputs, [`Book::roll`] moves the clock. Each either succeeds and records its changes in [`Writes`], or
//! fails and leaves the book as it was. The processor loads books, works on them and stores their writes; `verify`
//! processes the same journal on the same book and compares.
//!
//! Forward work needs only the snapshot of the state and the inputs that are not processed yet. Work that reaches into
//! the past needs the whole journal: the book then returns [`Halt::NeedsAll`], and the caller loads the account in
//! full.

use super::attempt::Replaced;
use super::journal::{JournalEntry, Names, OPEN, Record, named, row_at};
use super::message_writer::{About, Timing};
use super::outdated;
use super::owner_of;
use super::profile::Profile;
use super::refusals::{refused, refused_as};
use super::slice::Slice;
use super::writes::Writes;
use crate::catalog::ProductInfo;
use crate::problem::Problem;
use daybook_engine::calendar::Day;
use daybook_engine::change::InputClass;
use daybook_engine::fold::{FoldError, next_moment_at};
use daybook_engine::item::Name;
use daybook_engine::outcome::Refusal;
use daybook_engine::replay::Ledger;
use daybook_engine::snapshot;
use daybook_engine::state::State;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_engine::timeline::{Input, Rank, TimelinePosition};
use daybook_store::LoadedAccount;
use daybook_store::records::{AccountKey, AccountNow, AccountRow, InputRow};
use std::fmt::Display;
use std::sync::Arc;

/// Why a request failed. The book is unchanged.
#[derive(Debug)]
pub enum Halt {
    /// The whole journal is needed, and only a part is loaded.
    NeedsAll,
    /// It cannot be done.
    Problem(Problem),
}

impl From<Problem> for Halt {
    fn from(problem: Problem) -> Halt {
        Halt::Problem(problem)
    }
}

/// Whether a request was applied now or had been applied before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was applied now.
    Now,
    /// It had been applied before; nothing changed.
    Already,
}

/// An input requested for an account.
#[derive(Clone, Debug)]
pub struct RequestedInput {
    /// Its name: the id of the line item it makes, or a generated one.
    pub name: Name,
    /// When it takes effect; `None` means at the account clock.
    pub effective_at: Option<Time>,
    /// The input itself.
    pub input: Input,
    /// External fields, as JSON.
    pub extra: Option<Arc<str>>,
    /// A hash of the request's content.
    pub content_hash: Vec<u8>,
}

/// What a roll or a release did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rolled {
    /// Steps taken.
    pub steps: u64,
    /// Inputs that could not be applied.
    pub refused: u64,
    /// Messages that this roll itself queued for sending.
    pub messages: u64,
}

impl Rolled {
    /// Adds the result of another part.
    pub fn add(&mut self, more: Rolled) {
        self.steps += more.steps;
        self.refused += more.refused;
        self.messages += more.messages;
    }
}

/// One account in memory.
#[derive(Clone, Debug)]
pub struct Book {
    /// Its key.
    pub key: AccountKey,
    /// Its product, as it was when the account was loaded.
    pub product: Arc<ProductInfo>,
    /// Its terms.
    pub terms: Arc<Terms>,
    /// Its state.
    pub state: State,
    /// Customers and external fields.
    pub profile: Profile,
    /// The version that was loaded; `None` for a new account.
    pub loaded_version: Option<i64>,
    /// When it was created.
    pub created_at: Time,
    /// A hash of the request that created it.
    pub content_hash: Vec<u8>,
    /// The part of the account's row that changes.
    pub now: AccountNow,
    /// The journal, or the loaded part of it, in order of sequence number.
    pub journal: Vec<JournalEntry>,
    /// Whether the whole journal is loaded.
    pub complete: bool,
    /// The line items; `None` until they are needed.
    pub ledger: Option<Ledger>,
    /// Messages of earlier rolls that a roll with webhooks would send.
    pub waiting_messages: u64,
    /// The clock that a record was originally placed by, while the journal is processed again.
    pub placed_by: Option<Time>,
    /// The rows to write.
    pub writes: Writes,
    /// An index of record names; only a book processed from end to end has one.
    pub(super) names: Option<Names>,
    /// How much to process in one transaction, while the account is settled.
    pub(super) slice: Option<Slice>,
    /// What the current request replaced.
    pub(super) replaced: Option<Box<Replaced>>,
}

impl Book {
    /// Creates a new account. Nothing is processed yet.
    pub fn open(
        key: AccountKey,
        product: Arc<ProductInfo>,
        terms: Terms,
        profile: Profile,
        content_hash: Vec<u8>,
        time: Time,
    ) -> Result<Book, Problem> {
        let at = terms.begins_at();
        let row = row_at(
            TimelinePosition { at, rank: Rank::Input, class: InputClass::Opening, seq: 1 },
            Name::from(OPEN),
            time,
            time,
        );
        let opening = JournalEntry::new(row, Record::Input(Input::Open), Some(Time::BEGINNING))?;
        let writes = Writes {
            inputs: vec![opening.seq()],
            customers_changed: !profile.customers.is_empty(),
            ..Writes::default()
        };
        let now = AccountNow {
            updated_at: time,
            state: Vec::new(),
            profile: profile.write(),
            processed_through: None,
            rolled_to: None,
            next_moment: Some(at.min(time)),
            oldest_unpaid_due: None,
            status: "ACTIVE".to_owned(),
            substatus: None,
            next_seq: 2,
            // Every input is held until it is released, even if that follows at once.
            settled_seq: 0,
            held_events: 1,
            scheduled_events: 0,
            message_seq: 0,
            failure: None,
            balance: 0,
        };
        Ok(Book {
            key,
            product,
            terms: Arc::new(terms),
            state: State::new(),
            profile,
            loaded_version: None,
            created_at: time,
            content_hash,
            now,
            journal: vec![opening],
            complete: true,
            ledger: None,
            waiting_messages: 0,
            placed_by: None,
            writes,
            names: None,
            slice: None,
            replaced: None,
        })
    }

    /// Builds the book of a loaded account.
    pub fn read(loaded: LoadedAccount, product: Arc<ProductInfo>, complete: bool) -> Result<Book, Problem> {
        let mut book = Book { complete, ..Book::read_without_state(loaded, product)? };
        if !book.now.state.is_empty() {
            let state = snapshot::read(&book.now.state, owner_of(&book.key).as_bytes());
            book.state = state.map_err(|error| unreadable("state", &book.key, error))?;
        }
        Ok(book)
    }

    /// Builds the book of a loaded account with an empty state, for a caller that folds the journal from its beginning.
    pub fn read_without_state(loaded: LoadedAccount, product: Arc<ProductInfo>) -> Result<Book, Problem> {
        if outdated::is_outdated(&loaded.row) {
            return Err(outdated::not_refolded(&loaded.row));
        }
        let terms = postcard::from_bytes(&loaded.row.terms);
        let terms = terms.map_err(|error| unreadable("terms", &loaded.row.key, error))?;
        Book::with(loaded, product, false, terms, State::new())
    }

    /// Builds the book of a loaded account with the given terms and state.
    pub(super) fn with(
        loaded: LoadedAccount,
        product: Arc<ProductInfo>,
        complete: bool,
        terms: Terms,
        state: State,
    ) -> Result<Book, Problem> {
        let AccountRow { key, version, content_hash, created_at, now, .. } = loaded.row;
        let mut journal = loaded.inputs.into_iter().map(JournalEntry::read).collect::<Result<Vec<_>, _>>()?;
        mark_scheduled(&mut journal, &now);
        Ok(Book {
            key,
            product,
            terms: Arc::new(terms),
            state,
            profile: Profile::read(&now.profile)?,
            loaded_version: Some(version),
            created_at,
            content_hash,
            now,
            journal,
            complete,
            ledger: None,
            waiting_messages: 0,
            placed_by: None,
            writes: Writes::default(),
            names: None,
            slice: None,
            replaced: None,
        })
    }

    /// The terms as the store keeps them.
    pub fn terms_bytes(&self) -> Result<Vec<u8>, Problem> {
        postcard::to_allocvec(&*self.terms)
            .map_err(|error| Problem::internal(format!("terms cannot be serialized: {error}")))
    }

    /// The account clock: the latest of now, the time the account was rolled to and the time it is processed through.
    /// It never goes back, even if the clocks of the nodes that work on it differ.
    pub fn clock(&self, now: Time) -> Time {
        let at_least = self.now.rolled_to.max(self.now.processed_through).max(self.placed_by);
        at_least.map_or(now, |at_least| at_least.max(now))
    }

    /// The current time for this account: never before the time that another node, or an earlier clock, processed it
    /// through. A roll does not count: the time an account was rolled to is not the current time.
    pub fn time(&self, now: Time) -> Time {
        let processed = self.now.processed_through.filter(|through| self.now.rolled_to.is_none_or(|to| to < *through));
        processed.map_or(now, |through| through.max(now))
    }

    /// Replaces the journal with these first records of the timeline. `stored` is the account's stored row.
    pub fn begin_with(&mut self, mut journal: Vec<JournalEntry>, stored: &AccountNow) {
        mark_scheduled(&mut journal, stored);
        self.journal = journal;
        self.complete = true;
        self.names = None;
    }

    /// A record by its name, if it is loaded.
    pub fn named(&self, name: &str) -> Option<&JournalEntry> {
        named(self.names.as_ref(), &self.journal, name)
    }

    /// Prepares the book for processing its journal from end to end: it remembers its past, knows its line items and
    /// finds records by name, so each record costs the same no matter how many precede it. Nothing can be undone: after
    /// a failure, the book must be discarded.
    pub fn work_through(&mut self) {
        self.names = Some(Names::of(&self.journal));
        self.ledger.get_or_insert_default();
    }

    /// Whether the book is processed from end to end, so that nothing can be undone.
    pub(super) fn is_worked_through(&self) -> bool {
        self.names.is_some()
    }

    /// Adds a record.
    pub(super) fn push(&mut self, record: JournalEntry) {
        if let Some(names) = &mut self.names {
            names.note(&record, self.journal.len());
        }
        self.journal.push(record);
    }

    /// Moves the rows of these new records out of the journal. The book must not be used afterwards.
    pub fn take_rows(&mut self, new: &[i64]) -> Vec<InputRow> {
        let rows = std::mem::take(&mut self.journal).into_iter().map(|record| record.row);
        rows.filter(|row| new.binary_search(&row.seq).is_ok()).collect()
    }

    /// The state to fold onto. It is copied only if the fold may have to be undone.
    pub(super) fn state_to_fold(&mut self) -> State {
        if self.is_worked_through() { std::mem::take(&mut self.state) } else { self.state.clone() }
    }

    /// Whether a record is held. During a first fold, the records it has already folded are not.
    pub fn is_held(&self, record: &JournalEntry) -> bool {
        let is_folded = || self.now.settled_seq == 0 && self.now.processed_through >= Some(record.place.at);
        record.seq() > self.now.settled_seq && !is_folded()
    }

    /// Processes the account up to its clock, unless its product holds events: releases held inputs and processes
    /// everything that is due.
    pub fn settle(&mut self, now: Time) -> Result<Rolled, Halt> {
        // A first fold that has begun is finished even if the product holds events again.
        if self.product.mode.holding && !self.is_under_way() {
            return Ok(Rolled::default());
        }
        if self.now.held_events > 0 {
            return self.release(now);
        }
        self.advance(self.clock(now), Timing { now, suppress_before: None, at_once: false })
    }

    /// Processes everything that is due up to a moment.
    pub(super) fn advance(&mut self, until: Time, timing: Timing) -> Result<Rolled, Halt> {
        if self.now.processed_through.is_some_and(|through| until <= through) {
            return Ok(Rolled::default());
        }
        let quiet = self.now.scheduled_events == 0 && next_moment_at(&self.state).is_none_or(|at| at > until);
        if quiet {
            self.state.processed_through = Some(until);
            self.now.processed_through = Some(until);
            return Ok(Rolled::default());
        }
        let ahead = self.ahead();
        self.fold_on(&ahead, until, timing, self.now.scheduled_events > 0)
    }

    /// Records why the account could not be processed. Timers skip it until processing is retried.
    pub fn fail(&mut self, reason: String, now: Time) {
        self.now.failure = Some(reason);
        self.now.next_moment = None;
        self.now.updated_at = now;
        self.writes.failed = true;
    }

    /// Counts the scheduled inputs.
    pub fn recount(&mut self) {
        let through = self.now.processed_through.unwrap_or(Time::BEGINNING);
        let ahead = |record: &&JournalEntry| {
            !self.is_held(record) && record.place.at > through && matches!(record.record, Record::Input(_))
        };
        self.now.scheduled_events = self.journal.iter().filter(ahead).count() as i64;
    }

    /// Updates all columns that are written with the account.
    pub fn close(&mut self, now: Time) -> Result<(), Problem> {
        if self.writes.failed {
            return Ok(());
        }
        if self.now.processed_through.is_some() {
            let bytes = snapshot::write(&self.state, owner_of(&self.key).as_bytes());
            self.now.state = bytes.map_err(|error| Problem::internal(error.to_string()))?;
        }
        self.now.updated_at = self.now.updated_at.max(if self.writes.is_empty() { Time::BEGINNING } else { now });
        self.now.status = self.state.status.standing().name().to_owned();
        self.now.substatus = self.state.status.reason().map(|reason| reason.name().to_owned());
        self.now.oldest_unpaid_due = self.oldest_unpaid_day().map(|day| self.terms.close_of(day));
        self.now.balance = self.state.balances().owed().0;
        if self.now.failure.is_none() {
            self.now.next_moment = self.next_moment(now);
        }
        Ok(())
    }

    /// The due date of the oldest instalment that is unpaid and past due. Instalments of a closed account fall due by
    /// the calendar, and nothing is written then. So for a closed account that still owes money, the date may be in the
    /// future.
    fn oldest_unpaid_day(&self) -> Option<Day> {
        let (state, plan) = (&self.state, self.terms.installment());
        if let Some(day) = state.loan().oldest_unpaid_day(plan) {
            return Some(day);
        }
        if !state.status.is_closed() || !state.balances().owed().is_positive() {
            return None;
        }
        let schedule = &state.loan().plan;
        let after_all = schedule.due_day(&plan.dates, schedule.count()).plus_days(2);
        let reading = self.reading(state, self.terms.close_of(after_all)).ok()?;
        (reading.days_past_due > 0).then(|| after_all.plus_days(-reading.days_past_due))
    }

    /// When the account next has to be processed.
    pub(super) fn next_moment(&self, now: Time) -> Option<Time> {
        if self.now.held_events > 0 {
            let first = self.journal.iter().filter(|record| self.is_held(record)).map(|record| record.place.at).min();
            let due = first.map_or(now, |first| first.min(now));
            return Some(self.now.next_moment.map_or(due, |next| next.min(due)));
        }
        let through = self.now.processed_through.unwrap_or(Time::BEGINNING);
        let is_ahead = |record: &&JournalEntry| {
            !self.is_held(record) && record.place.at > through && matches!(record.record, Record::Input(_))
        };
        let scheduled = self.journal.iter().filter(is_ahead).map(|record| record.place.at).min();
        [next_moment_at(&self.state), scheduled].into_iter().flatten().min()
    }

    /// The facts that the account's messages and views are made of.
    pub fn about(&self) -> About<'_> {
        About {
            account_id: &self.key.account,
            created_at: self.created_at,
            product: &self.product,
            terms: &self.terms,
            profile: &self.profile,
            known: self.ledger.as_ref(),
            journal: &self.journal,
            names: self.names.as_ref(),
        }
    }

    pub(super) fn refused(&self, seq: u64, refusal: Refusal) -> Problem {
        match self.journal.iter().find(|record| record.place.seq == seq) {
            Some(record) => refused(&record.record, &record.row.name, refusal),
            None => refused_as("", refusal),
        }
    }
}

/// A held input whose time is still in the future after its release is scheduled. Its row was written before the
/// release and does not show that.
pub(super) fn mark_scheduled(journal: &mut [JournalEntry], now: &AccountNow) {
    for record in journal {
        let is_released = record.held.is_some() && record.seq() <= now.settled_seq;
        record.scheduled |= is_released && now.processed_through.is_some_and(|through| record.place.at > through);
    }
}

fn unreadable(what: &str, key: &AccountKey, error: impl Display) -> Problem {
    Problem::internal(format!("the {what} of {} cannot be read: {error}", key.account))
}

pub(super) fn overflow() -> Problem {
    let message = "the account's amounts would become too large to calculate".to_owned();
    let detail = Problem::invalid("original_amount_cents", "would make the account's amounts too large to calculate");
    Problem { message, ..detail }
}

pub(super) fn stopped(stop: FoldError) -> Halt {
    match stop {
        FoldError::Overflow => overflow().into(),
        FoldError::NeedsPast | FoldError::Revise(_) => {
            Problem::internal("a fold from the beginning requested earlier inputs").into()
        }
    }
}
