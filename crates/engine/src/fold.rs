//! The fold: take the next step as long as one is due.
//!
//! [`fold`] takes terms, a state and the entries that follow it, and continues up to a point in time. Each step is the
//! next entry or the next moment computed from the state, whichever is earlier. The fold reads no clock, draws no
//! random number and does no input or output; the same timeline always results in the same state.

use crate::money::Cents;
use crate::notify::{NoticeKind, Setting};
use crate::outcome::{Cause, EventKind, FoldOutcome, FoldStep, Refusal};
use crate::pending_notice::Pending;
use crate::state::State;
use crate::step::{FoldOptions, StepContext};
use crate::terms::Terms;
use crate::time::Time;
use crate::timeline::{Entry, Input, TimelinePosition};

pub use crate::step::{FoldError, Revision};

/// A moment: a step that the engine computes from terms and state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// A period ends: interest is posted, an instalment falls due.
    PeriodEnd,
    /// An instalment's grace ends, or a later late fee falls due. Holds which of its late fees, from 0.
    GraceEnd(usize),
    /// A configured notice fires.
    Notice(usize),
}

/// Folds entries onto a state, up to and including `until`.
///
/// The entries must be sorted by place and lie after everything folded into the state. Entries after `until` are
/// ignored.
pub fn fold(terms: &Terms, state: State, entries: &[Entry], until: Time) -> Result<(State, FoldOutcome), FoldError> {
    fold_as(terms, state, entries, until, FoldOptions::default(), None)
}

/// [`fold`], with an observer that sees each step.
pub fn fold_watched(
    terms: &Terms,
    state: State,
    entries: &[Entry],
    until: Time,
    watch: &mut dyn FoldObserver,
) -> Result<(State, FoldOutcome), FoldError> {
    fold_as(terms, state, entries, until, FoldOptions::default(), Some(watch))
}

/// An observer of a fold, for example one that writes webhook messages with the account as it is at each step.
pub trait FoldObserver {
    /// A step was taken.
    fn step(&mut self, seen: &ObservedStep<'_>);

    /// The fold starts over: discard all steps seen so far.
    fn restart(&mut self);

    /// Whether the fold should stop here for now. Called between steps; steps at the same instant are never separated.
    /// The state's `processed_through` then states how far the fold got.
    fn is_enough(&self) -> bool {
        false
    }
}

/// What an observer sees of a step: the account and the outcome right after it.
#[derive(Clone, Copy, Debug)]
pub struct ObservedStep<'a> {
    /// When the step happened.
    pub at: Time,
    /// What caused the step.
    pub cause: Cause,
    /// The account.
    pub state: &'a State,
    /// What the fold has produced so far.
    pub out: &'a FoldOutcome,
    /// The number of events in the outcome before this step; later events belong to this step.
    pub events_before: usize,
    /// Payments that are folded differently from their own entries.
    pub revised: &'a [Revision],
}

/// [`fold`], with options.
pub(crate) fn fold_as(
    terms: &Terms,
    mut state: State,
    entries: &[Entry],
    until: Time,
    how: FoldOptions<'_>,
    mut watch: Option<&mut (dyn FoldObserver + '_)>,
) -> Result<(State, FoldOutcome), FoldError> {
    debug_assert!(entries.is_sorted_by_key(|entry| entry.place), "entries are in order");
    state.forget_slots();
    let how = FoldOptions { observed: watch.is_some(), ..how };
    let due = entries.partition_point(|entry| entry.place.at <= until);
    // Capacity: a month that is paid on time has one input and produces about this many items and events.
    let mut out = FoldOutcome::with_room(2 * due, 3 * due);
    state.loan_mut().make_room(due);
    let mut entries = entries[..due].iter().peekable();
    let (mut until, mut last) = (until, None);
    loop {
        let moment = next_moment(&state).filter(|(at, _)| *at <= until);
        let entry_is_next = match (entries.peek(), moment) {
            (None, None) => break,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(entry), Some((at, _))) => entry.place < TimelinePosition::of_moments(at),
        };
        if let (Some(last), Some(watch)) = (last, &watch)
            && watch.is_enough()
        {
            let next =
                if entry_is_next { entries.peek().map(|entry| entry.place.at) } else { moment.map(|(at, _)| at) };
            if next.is_some_and(|next| next > last) {
                until = last;
                break;
            }
        }
        let events_before = out.events.len();
        let (at, cause) = if entry_is_next {
            let Some(entry) = entries.next() else { break };
            (entry.place.at, StepContext::new(terms, &mut state, &mut out, entry.place, how).input(entry)?)
        } else {
            let Some((at, moment)) = moment else { break };
            let place = TimelinePosition::of_moments(at);
            (at, StepContext::new(terms, &mut state, &mut out, place, how).moment(moment)?)
        };
        last = Some(at);
        if let Some(watch) = &mut watch {
            watch.step(&ObservedStep { at, cause, state: &state, out: &out, events_before, revised: how.revised });
        }
    }
    state.processed_through = state.processed_through.max(Some(until));
    Ok((state, out))
}

/// The time of the next moment, if no input arrives before it. `None` if no moment is left.
pub fn next_moment_at(state: &State) -> Option<Time> {
    next_moment(state).map(|(at, _)| at)
}

fn next_moment(state: &State) -> Option<(Time, Moment)> {
    let loan = state.loan();
    if state.status.is_closed() {
        return None;
    }
    let mut next = (loan.period.ends_at, Moment::PeriodEnd);
    let (fee_at, tier) = loan.next_fee_moment();
    if fee_at < next.0 {
        next = (fee_at, Moment::GraceEnd(tier));
    }
    for (index, notice) in state.notices.iter().enumerate() {
        if let Some(at) = notice.next_at().filter(|at| *at < next.0) {
            next = (at, Moment::Notice(index));
        }
    }
    (next.0 < Time::NEVER).then_some(next)
}

impl StepContext<'_> {
    fn moment(mut self, moment: Moment) -> Result<Cause, FoldError> {
        if !matches!(moment, Moment::Notice(_)) {
            self.state.steps += 1;
        }
        let was_past_due = self.state.loan().oldest_past_due().is_some();
        let owed = self.state.balances().owed();
        let before = (self.out.items.len(), self.out.changes.len(), self.out.events.len());
        let cause = match moment {
            Moment::PeriodEnd => {
                let period = self.state.loan().current();
                self.period_end()?;
                Cause::PeriodEnd { period }
            }
            Moment::GraceEnd(tier @ 1..) => {
                let instalment = self.state.loan().late_fees.tiers[tier - 1].row;
                Cause::GraceEnd { instalment, grace_result: self.tier_end(tier)? }
            }
            Moment::GraceEnd(_) => {
                let instalment = self.state.loan().late_row;
                Cause::GraceEnd { instalment, grace_result: self.grace_end()? }
            }
            Moment::Notice(index) => {
                let cause = Cause::Notice(self.fire(index)?);
                self.record(cause);
                return Ok(cause);
            }
        };
        self.use_surplus_if_more_is_owed(owed)?;
        let last_folded = self.state.last_folded.replace(self.place);
        self.settle(was_past_due)?;
        if before == (self.out.items.len(), self.out.changes.len(), self.out.events.len()) {
            self.pass_last_change(last_folded);
        }
        self.record(cause);
        Ok(cause)
    }

    /// A moment that changed nothing, such as the end of a paid instalment's grace: the latest change can still be
    /// cancelled after it.
    fn pass_last_change(&mut self, last_folded: Option<TimelinePosition>) {
        let place = self.place;
        if let Some((_, latest)) = &mut self.loan().changes.last
            && Some(*latest) == last_folded
        {
            *latest = place;
        }
    }

    fn input(mut self, entry: &Entry) -> Result<Cause, FoldError> {
        let cause = Cause::Input(entry.place.seq);
        self.state.steps += 1;
        (self.input, self.scheduled) = (Some(entry.place.seq), entry.scheduled);
        if let Err(refusal) = self.check(entry) {
            self.out.refused.push((entry.place.seq, refusal));
            return Ok(cause);
        }
        if self.state.status.is_closed() {
            self.pass_closed_time()?;
        }
        let was_past_due = self.state.loan().oldest_past_due().is_some();
        let owed = self.state.balances().owed();
        match self.apply(entry)? {
            Ok(()) => {}
            Err(refusal) => self.out.refused.push((entry.place.seq, refusal)),
        }
        self.use_surplus_if_more_is_owed(owed)?;
        self.begin_again_at_its_instant()?;
        self.state.last_folded = Some(entry.place);
        self.settle(was_past_due)?;
        self.record(cause);
        Ok(cause)
    }

    fn check(&self, entry: &Entry) -> Result<(), Refusal> {
        let open = self.state.is_open();
        let opens = entry.input == Input::Open;
        let begins_at = self.terms.begins_at();
        let early = entry.effective_at < begins_at || entry.place.at < begins_at;
        match (open, opens) {
            (true, true) => return Err(Refusal::AlreadyOpen),
            (false, false) => return Err(Refusal::BeforeAccount),
            _ if early => return Err(Refusal::BeforeAccount),
            _ => {}
        }
        match entry.input.amount() {
            Some(amount) if amount < Cents(1) || amount > Cents::LARGEST_INPUT => Err(Refusal::AmountOutOfRange),
            _ => Ok(()),
        }
    }

    fn apply(&mut self, entry: &Entry) -> Result<Result<(), Refusal>, FoldError> {
        match &entry.input {
            Input::Open => self.open()?,
            Input::Payment { amount, status, allocation } => self.payment(entry, *amount, *status, *allocation)?,
            Input::PaymentStatus { payment, valid } => return self.payment_status(payment, *valid),
            Input::Reversal { payment } => return self.reversal(entry, payment),
            Input::Fee { amount, class } => self.manual_fee(entry, *amount, *class)?,
            Input::Waiver { fee } => return self.waiver(entry, fee),
            Input::Credit { amount, component } => self.credit(entry, *amount, *component)?,
            Input::Debit { amount, component } => self.debit(entry, *amount, *component)?,
            Input::Status(status) => self.set_status(*status)?,
            Input::Notify(setting) => self.configure(*setting),
            Input::Refund { amount } => self.refund(entry, *amount)?,
            Input::RefundReversal { refund } => return self.refund_reversal(entry, refund),
            Input::Change(change) => return self.change(entry, change),
            Input::CancelChange { change, never_made } => return self.cancel_change(change, *never_made),
        }
        Ok(Ok(()))
    }

    fn configure(&mut self, setting: Setting) {
        let before = self.state.notices.iter().position(|pending| pending.setting.is_replaced_by(&setting));
        let before = before.map(|index| self.state.notices.remove(index));
        self.state.notices.push(Pending::new(
            self.terms,
            &self.state.loan().plan,
            setting,
            self.place,
            before.as_ref(),
        ));
        self.announce(EventKind::AccountUpdated);
    }

    /// Fires a notice, unless the instalment it concerns no longer needs it or the status stops notices.
    fn fire(&mut self, index: usize) -> Result<NoticeKind, FoldError> {
        let notice = self.state.notices[index];
        let (kind, instalment) = (notice.setting.kind, notice.instalment());
        let wanted = match (kind, instalment) {
            (NoticeKind::LateFeeDate, Some(instalment)) => self.is_unpaid(instalment)?,
            _ => true,
        };
        if wanted && !self.state.stops(self.terms).notices {
            self.announce(EventKind::Notice { kind, instalment });
        }
        let (notices, rows) = self.state.notices_and_rows();
        notices[index].advance(self.terms, rows);
        Ok(kind)
    }

    fn record(&mut self, cause: Cause) {
        if !self.how.explained {
            return;
        }
        let after = self.state.balances();
        self.out.steps.push(FoldStep { at: self.place.at, cause, after });
    }
}
