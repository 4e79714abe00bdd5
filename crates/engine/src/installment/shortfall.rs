//! The tolerance for shortfalls: an instalment of which only little is missing counts as paid.
//!
//! An instalment is judged when it is posted, before its due moment, and after each poured input while it is past due.
//! If it counts as paid, its amount becomes what was paid into it, and the missing part moves: its interest to the next
//! instalment, its principal there or to the end of the loan.

use super::loan::InstalmentRow;
use super::target::PrincipalTarget;
use super::terms::{Shortfall, ShortfallGoesTo, ShortfallRule};
use crate::money::{Cents, Overflow, Rounding};
use crate::step::{FoldError, StepContext};

impl Shortfall {
    /// How much may be missing of an instalment with this total; `None` if the product tolerates no shortfall.
    fn limit(&self, total: Cents) -> Result<Option<Cents>, Overflow> {
        let share = self.percent.map(|percent| percent.of(total, Rounding::Down)).transpose()?;
        Ok(match (self.cents, share, self.rule) {
            (Some(cents), Some(share), ShortfallRule::Higher) => Some(cents.max(share)),
            (Some(cents), Some(share), ShortfallRule::Lower) => Some(cents.min(share)),
            (cents, share, _) => cents.or(share),
        })
    }
}

impl InstalmentRow {
    /// Whether money was paid into the row itself, not only from the end of the loan.
    fn is_begun(&self) -> bool {
        (self.interest_paid + self.principal_paid + self.paid_before - self.tail).is_positive()
    }
}

impl StepContext<'_> {
    /// After an input was poured: lets each past-due instalment count as paid of which only little is missing.
    pub fn tolerate_shortfalls(&mut self) -> Result<(), FoldError> {
        if self.plan.policy.shortfall.limit(Cents::ZERO)?.is_none() {
            return Ok(());
        }
        let mut instalment = self.state.loan().first_row;
        while instalment < self.state.loan().current() {
            self.tolerate_shortfall(instalment)?;
            instalment += 1;
        }
        Ok(())
    }

    /// Lets a posted instalment count as paid if only little is missing of it. Never the last one, nor any once the last
    /// has posted.
    pub fn tolerate_shortfall(&mut self, instalment: u32) -> Result<(), FoldError> {
        let last = self.last_row();
        let loan = self.state.loan();
        let Some(row) = loan.row(instalment).copied() else { return Ok(()) };
        let missing = row.unpaid();
        if loan.current() > last || instalment >= last || !row.posted || !row.is_begun() || !missing.is_positive() {
            return Ok(());
        }
        let limit = self.plan.policy.shortfall.limit(row.interest + row.principal + row.paid_before)?;
        if limit.is_none_or(|limit| missing > limit) {
            return Ok(());
        }
        let (interest, principal) = (row.unpaid_interest(), row.unpaid_principal());
        let loan = self.loan();
        let row = loan.row_mut(instalment);
        row.interest -= interest;
        row.principal -= principal;
        row.shortfall += missing;
        loan.posted_principal -= principal;
        loan.posted_unpaid -= principal;
        loan.interest -= interest;
        self.move_shortfall(instalment, interest, principal);
        Ok(())
    }

    /// Lets the next instalment ask for what was missing.
    fn move_shortfall(&mut self, instalment: u32, interest: Cents, principal: Cents) {
        let to_end = self.plan.policy.shortfall.goes_to == ShortfallGoesTo::LastInstalment;
        let next = self.next_unpaid(instalment + 1);
        let loan = self.loan();
        let row = loan.row(next).copied().unwrap_or_default();
        if to_end || !row.posted {
            if !to_end {
                loan.plan.raise(next, interest + principal, principal);
            }
            let open = next.max(loan.current());
            self.assign_interest(if row.posted { open } else { next }, interest);
            return;
        }
        let row = loan.row_mut(next);
        row.interest += interest;
        row.principal += principal;
        row.on_time &= (interest + principal).is_zero();
        loan.interest += interest;
        loan.posted_principal += principal;
        loan.posted_unpaid += principal;
    }

    /// The first instalment from this one on that is not paid in full.
    fn next_unpaid(&self, from: u32) -> u32 {
        let loan = self.state.loan();
        let is_paid = |instalment: &u32| match loan.row(*instalment) {
            None => *instalment < loan.first_row,
            Some(row) if row.posted => row.unpaid().is_zero(),
            Some(row) => match loan.target(*instalment) {
                PrincipalTarget::Total(total) => total.is_positive() && row.interest_paid + row.principal_paid >= total,
                PrincipalTarget::Principal(_) | PrincipalTarget::Rest => false,
            },
        };
        (from..self.last_row()).find(|instalment| !is_paid(instalment)).unwrap_or(self.last_row())
    }
}
