//! Folds one account twice: as it is, and as it would be.

use super::figures::{Amounts, Figures};
use super::question::Comparison;
use crate::account::book::Book;
use crate::account::journal::entries;
use crate::form::{FieldProblem, LoanChange};
use crate::problem::Problem;
use daybook_engine::fold::FoldError;
use daybook_engine::item::Name;
use daybook_engine::outcome::{FoldOutcome, Refusal};
use daybook_engine::replay::replay;
use daybook_engine::state::State;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_engine::timeline::{Backdating, Entry, Input, Rank, Situation, TimelinePosition, place};
use daybook_store::journals::PortfolioAccount;
use serde::Serialize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The name of the change that is tried.
const TRIED: &str = "what-if";

/// The result for one account.
#[derive(Clone, Debug)]
pub enum AccountResult {
    /// It does not meet the conditions.
    LeftOut,
    /// It begins after the moment that is compared.
    NotBegun,
    /// It was folded twice.
    Compared(Box<AccountDifference>),
    /// It could not be folded.
    Failed {
        /// The account.
        account_id: Arc<str>,
        /// Why.
        reason: String,
    },
}

/// An account as it is, and as it would be.
#[derive(Clone, Debug, Serialize)]
pub struct AccountDifference {
    /// The account.
    pub account_id: Arc<str>,
    /// As it is.
    pub before: Figures,
    /// As it would be.
    pub after: Figures,
    /// Whether it keeps values of its own where the policies differ.
    pub keeps_own_values: bool,
    /// How many inputs do not apply, as it is.
    pub not_applied_before: usize,
    /// How many inputs would not apply, such as the waiver of a fee that is not charged.
    pub not_applied_after: usize,
}

impl AccountDifference {
    /// The differences of the amounts.
    pub fn amounts(&self) -> Amounts {
        self.after.amounts.since(&self.before.amounts)
    }

    /// Whether any figure differs.
    pub fn differs(&self) -> bool {
        self.before != self.after
    }
}

impl Comparison {
    /// Folds an account twice. An account that cannot be folded fails alone.
    pub(super) fn compare(&self, account: PortfolioAccount) -> AccountResult {
        let account_id = account.loaded.row.key.account.clone();
        let compared = catch_unwind(AssertUnwindSafe(|| self.try_compare(account)));
        let compared = compared.unwrap_or_else(|_| Err(Problem::internal("processing it failed: this is a bug")));
        compared.unwrap_or_else(|problem| AccountResult::Failed { account_id, reason: problem.message })
    }

    fn try_compare(&self, account: PortfolioAccount) -> Result<AccountResult, Problem> {
        let PortfolioAccount { loaded, customers } = account;
        let account_id = loaded.row.key.account.clone();
        let book = Book::read_without_state(loaded, self.product.clone())?;
        if !self.conditions.meets(&book.now, &book.profile.external_fields, &customers) {
            return Ok(AccountResult::LeftOut);
        }
        if let Some(failure) = &book.now.failure {
            return Err(Problem::new("account_failed", failure.clone()));
        }
        let at = self.as_of.unwrap_or_else(|| book.clock(self.now));
        let opening = &book.terms.opening;
        if at < opening.agreed.boarded.as_ref().map_or(opening.effective_at, |boarded| boarded.as_of) {
            return Ok(AccountResult::NotBegun);
        }
        let timeline = entries(&book.journal);
        let (state, outcome) = folded(&book.terms, &timeline, at)?;
        let before = Figures::of(&book.terms, &state, &outcome, at)?;
        if !self.conditions.meets_days_past_due(before.days_past_due) {
            return Ok(AccountResult::LeftOut);
        }
        check_held(&book, &outcome)?;
        let not_applied_before = outcome.refused.len();
        let (terms, keeps_own_values) = match &self.policy {
            Some(policy) => policy.terms(&book.terms)?,
            None => ((*book.terms).clone(), false),
        };
        let timeline = placed(&book, &terms, timeline)?;
        let (outcome, after) = self.fold_other(&book, &terms, timeline, at)?;
        check_held(&book, &outcome)?;
        let not_applied_after = outcome.refused.len();
        let difference =
            AccountDifference { account_id, before, after, keeps_own_values, not_applied_before, not_applied_after };
        Ok(AccountResult::Compared(Box::new(difference)))
    }

    /// Folds the account as it would be.
    fn fold_other(
        &self,
        book: &Book,
        terms: &Terms,
        mut timeline: Vec<Entry>,
        at: Time,
    ) -> Result<(FoldOutcome, Figures), Problem> {
        let seq = self.change.as_ref().map(|change| self.add(change, book, terms, &mut timeline)).transpose()?;
        let (state, outcome) = folded(terms, &timeline, at)?;
        if let Some((_, refusal)) = outcome.refused.iter().find(|(refused, _)| Some(*refused) == seq) {
            return Err(not_possible(*refusal));
        }
        let figures = Figures::of(terms, &state, &outcome, at)?;
        Ok((outcome, figures))
    }

    /// Adds the change to the timeline, where it would be placed if it arrived now. Returns its number.
    fn add(&self, tried: &LoanChange, book: &Book, terms: &Terms, timeline: &mut Vec<Entry>) -> Result<u64, Problem> {
        let clock = book.clock(self.now);
        let resolved = tried.resolve(terms, clock).map_err(not_suitable)?;
        let effective_at = resolved.effective_at.unwrap_or(clock);
        if effective_at < terms.opening.effective_at {
            return Err(not_possible(Refusal::BeforeAccount));
        }
        let (state, _) = folded(terms, timeline, clock)?;
        let seq = book.now.next_seq.unsigned_abs();
        let input = Input::Change(Box::new(resolved.change));
        let situation = Situation {
            held: self.product.mode.holding,
            clock,
            last_folded: state.last_folded,
            backdating: terms.backdating,
        };
        let place = place(&situation, effective_at, input.class(), seq).place();
        let entry = Entry { place, effective_at, scheduled: false, name: Name::from(TRIED), input };
        let index = timeline.partition_point(|other| other.place < place);
        timeline.insert(index, entry);
        Ok(seq)
    }
}

/// Folds a timeline from the beginning up to a moment.
fn folded(terms: &Terms, timeline: &[Entry], at: Time) -> Result<(State, FoldOutcome), Problem> {
    replay(terms, timeline, at).map_err(|stop| match stop {
        FoldError::Overflow => Problem::internal("its amounts become too large to calculate"),
        FoldError::NeedsPast | FoldError::Revise(_) => {
            Problem::internal("a fold from the beginning requested earlier inputs")
        }
    })
}

/// An account whose held events cannot be released cannot be compared.
fn check_held(book: &Book, outcome: &FoldOutcome) -> Result<(), Problem> {
    let is_held = |seq: u64| seq as i64 > book.now.settled_seq;
    let held = outcome.refused.iter().find(|(seq, _)| is_held(*seq));
    held.map_or(Ok(()), |(seq, refusal)| {
        let record = book.journal.iter().find(|record| record.place.seq == *seq);
        let name = record.map_or("", |record| &*record.row.name);
        Err(Problem::internal(format!("its held event {name} cannot be released: {}", refusal.rule())))
    })
}

fn not_suitable(broken: Vec<FieldProblem>) -> Problem {
    let sentences: Vec<String> = broken.iter().map(ToString::to_string).collect();
    Problem::internal(format!("the change does not fit the account: {}", sentences.join("; ")))
}

fn not_possible(refusal: Refusal) -> Problem {
    Problem::internal(format!("the change is not possible: {}", refusal.rule()))
}

/// The timeline of an account under other terms. Only the rule about backdated inputs determines places.
fn placed(book: &Book, terms: &Terms, timeline: Vec<Entry>) -> Result<Vec<Entry>, Problem> {
    match (book.terms.backdating, terms.backdating) {
        (Backdating::AsPosted, Backdating::Replay) => Ok(at_own_dates(timeline)),
        (Backdating::Replay, Backdating::AsPosted) => posted_late(book, terms),
        _ => Ok(timeline),
    }
}

/// Backdated inputs count from their own dates.
fn at_own_dates(mut timeline: Vec<Entry>) -> Vec<Entry> {
    for entry in timeline.iter_mut().filter(|entry| entry.place.rank == Rank::Late) {
        entry.place = own_place(entry);
    }
    timeline.sort_by_key(|entry| entry.place);
    timeline
}

fn own_place(entry: &Entry) -> TimelinePosition {
    TimelinePosition { at: entry.effective_at, rank: Rank::Input, class: entry.input.class(), seq: entry.place.seq }
}

/// Backdated inputs count from the clock by which they were accepted, if a step that sorts after them was folded then.
fn posted_late(book: &Book, terms: &Terms) -> Result<Vec<Entry>, Problem> {
    let mut timeline: Vec<Entry> = Vec::with_capacity(book.journal.len());
    for record in &book.journal {
        let Some(mut entry) = record.entry() else { continue };
        let clock = record.row.clock;
        let is_backdated = record.held.is_none() && entry.effective_at < clock && entry.input != Input::Open;
        if is_backdated {
            let (state, _) = folded(terms, &timeline, clock)?;
            let situation =
                Situation { held: false, clock, last_folded: state.last_folded, backdating: terms.backdating };
            entry.place = place(&situation, entry.effective_at, entry.input.class(), entry.place.seq).place();
        }
        let index = timeline.partition_point(|other| other.place < entry.place);
        timeline.insert(index, entry);
    }
    Ok(timeline)
}
