//! Changes to a running loan: what each does to the plan in force.
//!
//! Every change first states whether it can be made now ([`StepContext::examine`]). A live arrival is refused if not
//! ([`judge`]); in a fold the change then does nothing, unless it names an instalment that does not exist: that is
//! refused in a fold too. A change that can be made counts interest up to its date, alters rates or rows, and lets
//! period, fee moments and notices [follow](StepContext::follow_plan).
//!
//! | file | change |
//! |---|---|
//! | `rate` | rates, caps, pauses, promotions; `retroactive` computes the interest that a late one would have saved |
//! | `due_date`, `skip`, `extension` | due dates and the number of rows |
//! | `deferral` | what a row asks for moves to a later one |
//! | `re_amortization`, `re_age` | what is behind moves to the rows ahead, or to new rows |
//! | `capitalization` | interest and fees become principal |
//! | `offsets` | the items of waived, forgiven and capitalized amounts |
//! | `cancel` | cancelling a change |
//! | `report` | the rows before and after a change |

mod cancel;
mod capitalization;
mod deferral;
mod due_date;
mod extension;
mod offsets;
mod rate;
mod re_age;
mod re_amortization;
mod report;
mod retire;
mod retroactive;
mod skip;

use crate::calendar::Day;
use crate::change::{Change, DeferredBalance, RateChange, RateKind};
use crate::item::Name;
use crate::outcome::{EventKind, FoldOutcome, Refusal};
use crate::state::State;
use crate::step::{FoldError, StepContext};
use crate::terms::Terms;
use crate::timeline::{Entry, Input};

const NO_SUCH_ROW: &str = "must be the due date of an instalment";
const NOT_AHEAD: &str = "must be the due date of an instalment that falls due after the change's date";
const FIXED_INTEREST: &str = "is not possible for a loan whose interest is fixed";

/// Judges a change or the cancelling of one when it arrives: whether it could be made at its place. `state` is folded up
/// to that place. Other inputs are never refused here.
pub fn judge(terms: &Terms, state: &State, entry: &Entry) -> Result<(), Refusal> {
    if !matches!(entry.input, Input::Change(_) | Input::CancelChange { .. }) {
        return Ok(());
    }
    let (mut state, mut out) = (state.clone(), FoldOutcome::default());
    let mut run = StepContext::scratch(terms, &mut state, &mut out, entry.place);
    if run.state.status.is_closed() && run.pass_closed_time().is_err() {
        return Err(Refusal::AccountClosed);
    }
    match &entry.input {
        Input::Change(change) => {
            run.examine(change)?;
            run.check_limits(change)
        }
        Input::CancelChange { change, never_made } => run.examine_cancel(change, *never_made),
        _ => Ok(()),
    }
}

impl StepContext<'_> {
    /// Makes a change.
    pub fn change(&mut self, entry: &Entry, change: &Change) -> Result<Result<(), Refusal>, FoldError> {
        let name = &entry.name;
        if self.undone(name).is_some() || self.is_cancelled_early(name) {
            return Ok(Ok(()));
        }
        self.accrue();
        let events = self.out.events.len();
        let before = self.planned_rows()?;
        match self.examine(change) {
            Ok(()) => {
                if let Err(refusal) = self.make(name, change)? {
                    return Ok(Err(refusal));
                }
            }
            // Nothing can be deferred to a row ahead if there is none.
            Err(Refusal::ListField { field: "deferred_to", .. }) if self.first_ahead().is_none() => {}
            Err(refusal @ (Refusal::Field { .. } | Refusal::ListField { .. })) => return Ok(Err(refusal)),
            Err(_) => {}
        }
        let rows = self.changed_rows(before)?;
        self.announce_at(events, EventKind::Changed { change: name.clone(), rows });
        let place = self.place;
        let loan = self.loan();
        if !matches!(change, Change::Rate(_)) {
            loan.changes.last = Some((name.clone(), place));
        }
        if let Some(past) = &mut loan.past {
            past.changes.push((name.clone(), place));
        }
        Ok(Ok(()))
    }

    /// Whether a change can be made now, and why not.
    fn examine(&self, change: &Change) -> Result<(), Refusal> {
        let is_relief = matches!(change, Change::Rate(RateChange { kind: RateKind::Cap { .. }, .. }));
        if self.state.status.is_closed() && !is_relief {
            return Err(Refusal::AccountClosed);
        }
        self.check_kind(change)?;
        match change {
            Change::Rate(rate) => self.examine_rate(rate),
            Change::DueDate(change) => self.examine_due_date(change).map(|_| ()),
            Change::Skip(skip) => self.examine_skip(skip).map(|_| ()),
            Change::Extension(extension) => self.examine_extension(extension).map(|_| ()),
            Change::Deferral(deferral) => self.examine_deferral(deferral),
            Change::Reamortization(_) => self.examine_re_amortization(),
            Change::ReAge(re_age) => self.examine_re_age(re_age),
            Change::Restructure(restructure) => self.examine_re_age(&restructure.re_age),
            Change::Capitalization(capitalization) => self.examine_capitalization(capitalization),
        }
    }

    /// Loans with fixed interest take few changes.
    fn check_kind(&self, change: &Change) -> Result<(), Refusal> {
        if !self.plan.policy.method.keeps_interest() {
            return Ok(());
        }
        match change {
            Change::DueDate(_) | Change::Deferral(_) => Ok(()),
            Change::Skip(skip) if skip.extend_term => Ok(()),
            Change::Skip(_) => Err(Refusal::Field { field: "extend_term", rule: FIXED_INTEREST }),
            Change::Rate(RateChange { kind: RateKind::Promo { rate: None, .. }, .. }) => Ok(()),
            Change::Rate(RateChange { kind: RateKind::Promo { .. }, .. }) => {
                Err(Refusal::Field { field: "interest_rate_percent", rule: FIXED_INTEREST })
            }
            Change::Rate(RateChange { kind: RateKind::Pause, .. }) => {
                Err(Refusal::Field { field: "start", rule: FIXED_INTEREST })
            }
            Change::Rate(_) => Err(Refusal::Field { field: "interest_rate", rule: FIXED_INTEREST }),
            Change::Extension(_) => Err(Refusal::Field { field: "count", rule: FIXED_INTEREST }),
            Change::Reamortization(_) | Change::Capitalization(_) => {
                Err(Refusal::Field { field: "interest", rule: FIXED_INTEREST })
            }
            Change::ReAge(_) | Change::Restructure(_) => {
                Err(Refusal::Field { field: "installments", rule: FIXED_INTEREST })
            }
        }
    }

    fn make(&mut self, name: &Name, change: &Change) -> Result<Result<(), Refusal>, FoldError> {
        match change {
            Change::Rate(rate) => return self.change_rate(name, rate),
            Change::DueDate(change) => self.change_due_date(name, change)?,
            Change::Skip(skip) => self.skip(skip)?,
            Change::Extension(extension) => self.extend(extension)?,
            Change::Deferral(deferral) => self.defer(deferral)?,
            Change::Reamortization(change) => self.re_amortize(change)?,
            Change::ReAge(re_age) => self.re_age(name, re_age, 0)?,
            Change::Restructure(restructure) => self.restructure(name, restructure)?,
            Change::Capitalization(capitalization) => self.capitalize(name, capitalization)?,
        }
        Ok(Ok(()))
    }

    /// The row ahead that a change names, or the first one ahead.
    fn row_ahead(&self, field: &'static str, due_date: Option<Day>) -> Result<u32, Refusal> {
        let first = self.first_ahead().ok_or(Refusal::NoRowsAhead);
        let Some(day) = due_date else { return first };
        let row = self.row_due_on(day).ok_or(Refusal::Field { field, rule: NO_SUCH_ROW })?;
        let first = first?;
        if row >= first { Ok(row) } else { Err(Refusal::Field { field, rule: NOT_AHEAD }) }
    }

    fn row_due_on(&self, day: Day) -> Option<u32> {
        self.state.loan().plan.row_due_on(&self.plan.dates, day)
    }

    fn due_day(&self, row: u32) -> Day {
        self.state.loan().plan.due_day(&self.plan.dates, row)
    }

    /// Whether a change recalculates the rows from one on: then does it.
    fn recalculate_from(&mut self, row: u32, floating: crate::money::Cents) -> Result<(), FoldError> {
        let asked_before =
            if row <= self.state.loan().current() { crate::money::Cents::ZERO } else { self.planned_principal(row)? };
        self.recalculate(row, asked_before, floating)?;
        Ok(())
    }
}

impl DeferredBalance {
    fn has_principal(self) -> bool {
        matches!(self, DeferredBalance::All | DeferredBalance::Principal)
    }

    fn has_interest(self) -> bool {
        matches!(self, DeferredBalance::All | DeferredBalance::Interest)
    }

    fn has_fees(self) -> bool {
        matches!(self, DeferredBalance::All | DeferredBalance::Fee)
    }
}
