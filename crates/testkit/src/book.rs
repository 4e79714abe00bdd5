//! One account, kept the way the service keeps it.
//!
//! A book holds the entries (the source of truth), the state folded so far, the ledger of line items, and the clock.
//! New entries are folded onto the state, through a snapshot if the test requests it; changes to the past are folded
//! from the beginning.

use daybook_engine::arrival::refusal;
use daybook_engine::change::InputClass;
use daybook_engine::fold::{FoldError, fold};
use daybook_engine::item::Name;
use daybook_engine::outcome::{Event, FoldOutcome, Refusal};
use daybook_engine::replay::{Ledger, Recalculation, recalculate, replay};
use daybook_engine::snapshot;
use daybook_engine::state::State;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_engine::timeline::{Entry, Input, Placement, Rank, Situation, TimelinePosition, place};

/// One account.
#[derive(Clone, Debug)]
pub struct Book {
    /// The account's terms.
    pub terms: Terms,
    /// Every entry, sorted by place.
    pub entries: Vec<Entry>,
    /// The current state.
    pub state: State,
    /// Its line items.
    pub ledger: Ledger,
    /// The time up to which it is folded.
    pub clock: Time,
    /// Whether the product is in migration mode and holds its events.
    pub held: bool,
    /// Whether each fold starts from a snapshot.
    pub by_snapshot: bool,
    /// The announced events, in order.
    pub events: Vec<Event>,
    /// The latest change to the past.
    pub recalculated: Option<Recalculation>,
    next_seq: u64,
}

impl Book {
    /// Opens an account at its effective date.
    pub fn open(terms: Terms) -> Book {
        let mut book = Book::held(terms);
        book.release(book.terms.begins_at());
        book
    }

    /// An account of a product in migration mode.
    pub fn held(terms: Terms) -> Book {
        let at = terms.begins_at();
        let open = Entry {
            place: TimelinePosition { at, rank: Rank::Input, class: InputClass::Opening, seq: 1 },
            effective_at: at,
            scheduled: false,
            name: Name::from("open"),
            input: Input::Open,
        };
        Book {
            terms,
            entries: vec![open],
            state: State::new(),
            ledger: Ledger::default(),
            clock: at,
            held: true,
            by_snapshot: false,
            events: Vec::new(),
            recalculated: None,
            next_seq: 2,
        }
    }

    /// Turns migration mode off, at a time.
    pub fn release(&mut self, clock: Time) {
        self.held = false;
        self.clock = self.clock.max(clock);
        self.refold();
    }

    /// Folds up to a time.
    pub fn roll(&mut self, to: Time) {
        self.clock = self.clock.max(to);
        if !self.held {
            self.fold_on();
        }
    }

    /// Submits an input; fails with the reason if it is refused.
    pub fn submit(&mut self, name: &str, effective_at: Time, input: Input) -> Result<(), Refusal> {
        if let Some(refusal) = refusal(&self.state, &input).filter(|_| !self.held) {
            return Err(refusal);
        }
        let seq = self.next_seq;
        self.next_seq += 1;
        let situation = Situation {
            held: self.held,
            clock: self.clock,
            last_folded: self.state.last_folded,
            backdating: self.terms.backdating,
        };
        let placement = place(&situation, effective_at, input.class(), seq);
        let scheduled = matches!(placement, Placement::Scheduled(_));
        let entry = Entry { place: placement.place(), effective_at, scheduled, name: Name::from(name), input };
        let before = self.clone();
        let at = self.entries.partition_point(|other| other.place < entry.place);
        self.entries.insert(at, entry);
        match placement {
            _ if self.held => return Ok(()),
            Placement::Next(_) | Placement::Scheduled(_) => self.fold_on(),
            Placement::Replay(_) => self.recalculate(&before.entries),
        }
        let outcome = self.outcome();
        if let Some((_, refusal)) = outcome.refused.iter().find(|(refused, _)| *refused == seq) {
            let refusal = *refusal;
            let next_seq = self.next_seq;
            *self = before;
            self.next_seq = next_seq;
            return Err(refusal);
        }
        Ok(())
    }

    /// The outcome of a fold from the beginning.
    pub fn outcome(&self) -> FoldOutcome {
        replay(&self.terms, &self.entries, self.clock).expect("the timeline folds").1
    }

    fn fold_on(&mut self) {
        if self.by_snapshot {
            let bytes = snapshot::write(&self.state, b"").expect("a state can be written");
            self.state = snapshot::read(&bytes, b"").expect("what was written can be read");
        }
        let folded = self.state.last_folded;
        let ahead: Vec<Entry> =
            self.entries.iter().filter(|entry| folded.is_none_or(|last| entry.place > last)).cloned().collect();
        match fold(&self.terms, self.state.clone(), &ahead, self.clock) {
            Ok((state, outcome)) => {
                self.ledger.absorb(&outcome);
                self.events.extend(outcome.events);
                self.state = state;
            }
            Err(FoldError::NeedsPast | FoldError::Revise(_)) => self.refold(),
            Err(FoldError::Overflow) => panic!("the account grew beyond counting"),
        }
    }

    /// Folds from the beginning.
    fn refold(&mut self) {
        let (state, outcome) = replay(&self.terms, &self.entries, self.clock).expect("the timeline folds");
        self.ledger = Ledger::of(&outcome);
        self.events.clone_from(&outcome.events);
        self.state = state;
    }

    fn recalculate(&mut self, before: &[Entry]) {
        let recalculation = recalculate(&self.terms, before, &self.entries, self.clock).expect("the timeline folds");
        self.ledger = Ledger::of(&recalculation.outcome);
        self.events.extend(recalculation.events.clone());
        self.state = recalculation.state.clone();
        self.recalculated = Some(recalculation);
    }
}
