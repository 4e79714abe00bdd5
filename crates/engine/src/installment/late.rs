//! Due moments, late fees, delinquency and charge-off.

use super::loan::{InstalmentRow, Loan};
use super::target::PrincipalTarget;
use super::terms::Due;
use crate::money::Cents;
use crate::outcome::{EventKind, GraceResult};
use crate::status::Status;
use crate::step::{FoldError, StepContext};
use crate::timeline::Backdating;
use alloc::vec::Vec;

impl InstalmentRow {
    /// Whether the row counts as late if it is unpaid when its grace ends: it was not excused, spared or stopped.
    fn counts_as_late(&self) -> bool {
        !self.excused
            && !self.stopped
            && !self.retired
            && matches!(self.grace_result, None | Some(GraceResult::Paid | GraceResult::Late))
    }
}

impl Loan {
    /// The unpaid instalments whose grace has ended.
    pub(crate) fn unpaid_after_grace(&self) -> Vec<u32> {
        let rows = self.numbered_rows().take_while(|(number, _)| *number < self.late_row);
        rows.filter(|(_, row)| row.unpaid().is_positive()).map(|(number, _)| number).collect()
    }
}

impl StepContext<'_> {
    /// A period ends: its interest is posted, its instalment falls due, and the next period begins.
    pub fn period_end(&mut self) -> Result<(), FoldError> {
        let instalment = self.state.loan().current();
        self.state.surplus_waits = false;
        self.post_interest()?;
        if instalment <= self.last_row() {
            self.post_principal(instalment);
            self.defer_posted(instalment)?;
            let (paid, shortfall) = self.judge(instalment)?;
            self.announce(EventKind::DueDatePassed { instalment, paid, shortfall });
            if !paid {
                self.announce(EventKind::PaymentMissed { instalment });
            }
        }
        self.open_period(instalment + 1)
    }

    /// Whether the row that just fell due is paid, after using any surplus, and the shortfall that was tolerated.
    fn judge(&mut self, instalment: u32) -> Result<(bool, Cents), FoldError> {
        if self.state.surplus.is_positive() {
            self.use_surplus()?;
        }
        if instalment == self.last_row() {
            self.write_off_small_balance()?;
        }
        self.tolerate_shortfall(instalment)?;
        let row = self.loan().row_mut(instalment);
        row.on_time = row.unpaid().is_zero();
        Ok((row.on_time, row.shortfall))
    }

    /// Fixes the principal of the row whose period ends.
    ///
    /// By plan the row has a fixed total (its principal is the total less its interest), a fixed principal, or takes
    /// the rest. It never takes more than is left of the loan. Principal that was paid into the end of the loan counts
    /// as paid once the rows reach it.
    pub fn post_principal(&mut self, instalment: u32) {
        let loan = self.loan();
        let target = loan.target(instalment);
        let left_of_loan = loan.lent - loan.posted_principal;
        let unscheduled = loan.unscheduled();
        let row = loan.row_mut(instalment);
        let planned = match target {
            PrincipalTarget::Total(total) => (total - row.interest).or_zero(),
            PrincipalTarget::Principal(principal) => principal,
            PrincipalTarget::Rest => left_of_loan,
        };
        row.principal = planned.min(left_of_loan).max(row.principal_paid);
        let unpaid = (row.principal - row.principal_paid).min(unscheduled);
        row.tail = row.principal - row.principal_paid - unpaid;
        row.principal_paid += row.tail;
        row.posted = true;
        row.on_time = row.unpaid().is_zero();
        let free = core::mem::take(&mut row.interest_free);
        let principal = row.principal;
        loan.interest_free -= free;
        loan.posted_principal += principal;
        loan.posted_unpaid += unpaid;
    }

    /// An instalment's grace ends. If unpaid it is late, unless the borrower paid enough for it or the status stops
    /// late fees.
    pub fn grace_end(&mut self) -> Result<GraceResult, FoldError> {
        let instalment = self.state.loan().late_row;
        let stops = self.state.stops(self.terms);
        if (stops.late_fees || stops.delinquency)
            && let Some(row) = self.loan().row_or_past_mut(instalment)
        {
            row.stopped = true;
        }
        let grace_result = self.pass_fee_moment(|loan| {
            let row = loan.row(instalment).copied().unwrap_or_default();
            if row.excused {
                GraceResult::Excused
            } else if stops.late_fees {
                GraceResult::Stopped
            } else if loan.received_for(instalment) >= row.asked() {
                GraceResult::Spared
            } else if stops.delinquency {
                GraceResult::Uncounted
            } else {
                GraceResult::Late
            }
        });
        match grace_result {
            // A paid instalment ends the run of late ones.
            GraceResult::Paid => self.loan().late_count = 0,
            GraceResult::Late => {
                self.charge_late_fee(instalment, 0)?;
                self.loan().late_count += 1;
                self.follow_late_count()?;
            }
            GraceResult::Uncounted => self.charge_late_fee(instalment, 0)?,
            GraceResult::Spared | GraceResult::Excused | GraceResult::Stopped => {}
        }
        Ok(grace_result)
    }

    /// Moves on to the next instalment's grace end. `unpaid` returns the finding for an instalment that is not paid.
    pub fn pass_fee_moment(&mut self, unpaid: impl FnOnce(&Loan) -> GraceResult) -> GraceResult {
        let pyramiding = self.plan.policy.late_fee.pyramiding;
        let loan = self.loan();
        let instalment = loan.late_row;
        let is_unpaid = loan.row(instalment).is_some_and(|row| row.unpaid().is_positive());
        let grace_result = if is_unpaid { unpaid(loan) } else { GraceResult::Paid };
        if is_unpaid {
            loan.row_mut(instalment).grace_result = Some(grace_result);
        }
        loan.settle_receipts(instalment, grace_result, pyramiding);
        self.next_late_row();
        grace_result
    }

    /// Makes the account delinquent, or charges it off, once enough instalments in a row are late.
    fn follow_late_count(&mut self) -> Result<(), FoldError> {
        let count = self.state.loan().late_count;
        if !self.state.status.moves_by_itself() {
            return Ok(());
        }
        if count >= self.plan.policy.charge_off_after {
            return self.close(Status::CHARGED_OFF);
        }
        if count >= self.plan.policy.delinquent_after {
            return self.move_to(Status::DELINQUENT);
        }
        Ok(())
    }

    /// Recounts late instalments after a payment was undone as posted. An instalment that is unpaid again (not in
    /// `unpaid_before`) and whose grace has ended is late again, without a fee. The count is the latest run of unpaid
    /// instalments whose grace has ended, up to a paid one; spared, excused and stopped instalments are skipped. If no
    /// instalment is unpaid again, count and status stay.
    pub fn recount_late(&mut self, unpaid_before: &[u32]) -> Result<(), FoldError> {
        let is_folded_again = self.terms.backdating == Backdating::Replay;
        if is_folded_again || self.state.stops(self.terms).delinquency {
            return Ok(());
        }
        let loan = self.loan();
        if loan.unpaid_after_grace().iter().all(|instalment| unpaid_before.contains(instalment)) {
            return Ok(());
        }
        let (mut count, mut unbroken, boarded) = (0, loan.first_row == 1, loan.boarded);
        let rows = (loan.first_row..loan.late_row).rev();
        let rows = rows.filter_map(|instalment| loan.row(instalment).map(|row| (instalment, row)));
        for (instalment, row) in rows.filter(|(_, row)| row.counts_as_late()) {
            if row.unpaid().is_positive() {
                // The opening's count includes the rows judged before it.
                count += u32::from(instalment > boarded.judged);
            } else if count > 0 {
                unbroken = false;
                break;
            }
        }
        loan.late_count = if unbroken { count + boarded.late_count } else { count };
        self.follow_late_count()
    }

    /// Moves to the next instalment whose grace will end.
    pub fn next_late_row(&mut self) {
        self.seek_late_row(self.state.loan().late_row + 1);
    }

    /// Moves to the first instalment from `first` on that is not retired. A retired one has no fee moment.
    pub fn seek_late_row(&mut self, first: u32) {
        let (pyramiding, loan) = (self.plan.policy.late_fee.pyramiding, self.loan());
        let mut next = first;
        while loan.row(next).is_some_and(|row| row.retired) {
            loan.settle_receipts(next, GraceResult::Paid, pyramiding);
            next += 1;
        }
        let late_at = self.fee_moment(next, 0);
        let late_at = if self.input.is_none() { late_at.max(self.place.at) } else { late_at };
        self.aim_tiers();
        let loan = self.loan();
        (loan.late_row, loan.late_at) = (next, late_at);
    }

    /// Whether an instalment is unpaid, or will require money when it falls due.
    pub fn is_unpaid(&mut self, instalment: u32) -> Result<bool, FoldError> {
        let loan = self.state.loan();
        if instalment < loan.first_row {
            return Ok(false);
        }
        let row = loan.row(instalment).copied().unwrap_or_default();
        if row.posted {
            return Ok(row.unpaid().is_positive());
        }
        let (is_flat, accrued) = (self.plan.policy.method.keeps_interest(), self.unrecognised()?);
        let own_interest = if is_flat
            && self.due(instalment) == Due::Ahead
            && (loan.principal.is_positive() || self.plan.owes_all_interest())
        {
            (self.state.loan().plan.kept_interest(instalment) - row.prepaid_interest).or_zero()
        } else {
            self.accrued_for(accrued, instalment)
        };
        let interest = row.unpaid_interest() + own_interest;
        if !is_flat && matches!(loan.target(instalment), PrincipalTarget::Principal(_)) {
            // A row without a fixed total cannot be paid before its period is posted, as long as principal earns
            // interest.
            return Ok((loan.principal + interest).is_positive());
        }
        // Principal paid from the end of the loan may leave none for this row.
        let mut left = loan.unscheduled();
        for before in loan.current()..instalment {
            left -= self.principal_room(accrued, before).min(left);
        }
        if (interest + self.principal_room(accrued, instalment).min(left)).is_positive() {
            return Ok(true);
        }
        if instalment == loan.current() {
            return Ok(false);
        }
        // Earlier rows take less principal once their own interest is posted, so this row may keep some: project the
        // plan.
        let mut projection = self.projection(true)?;
        for _ in self.state.loan().current()..instalment {
            projection.post()?;
            projection.pay_and_go_on()?;
        }
        Ok(projection.post()?.unpaid().is_positive())
    }
}
