//! Due moments, late fees, delinquency and charge-off.

use super::loan::{Row, Target};
use super::terms::{LateFee, Method};
use crate::fold::{Run, Stop};
use crate::item::{ItemId, ItemKind};
use crate::money::Cents;
use crate::outcome::{Found, What};
use crate::status::Status;
use crate::time::Time;
use crate::timeline::FeeClass;

impl Run<'_> {
    /// A period ends: its interest is posted, its instalment falls due, and the next period begins.
    pub fn period_end(&mut self) -> Result<(), Stop> {
        let instalment = self.state.loan().current();
        self.post_interest()?;
        if instalment <= self.plan.count() {
            let paid = self.post_principal(instalment);
            self.announce(What::DueDatePassed { instalment, paid });
            if !paid {
                self.announce(What::PaymentMissed { instalment });
            }
        }
        self.open_period(instalment + 1)
    }

    /// Fixes the principal of the row whose period ends, and says whether the row is paid.
    ///
    /// By plan the row has a total (its principal is what its interest leaves of it), a principal, or takes the rest.
    /// It never takes more than is left of the loan; what has been paid into the end of the loan counts as paid once
    /// it reaches this row.
    pub fn post_principal(&mut self, instalment: u32) -> bool {
        let plan = self.plan;
        let loan = self.loan();
        let target = loan.target(plan, instalment);
        let left_of_loan = loan.lent - loan.posted_principal;
        let unscheduled = loan.unscheduled();
        let row = loan.row_mut(instalment);
        let planned = match target {
            Target::Total(total) => (total - row.interest).or_zero(),
            Target::Principal(principal) => principal,
            Target::Rest => left_of_loan,
        };
        row.principal = planned.min(left_of_loan).max(row.principal_paid);
        let unpaid = (row.principal - row.principal_paid).min(unscheduled);
        row.tail = row.principal - row.principal_paid - unpaid;
        row.principal_paid += row.tail;
        row.posted = true;
        row.on_time = row.unpaid().is_zero();
        let Row { principal, on_time, .. } = *row;
        loan.posted_principal += principal;
        loan.posted_unpaid += unpaid;
        on_time
    }

    /// An instalment's grace ends: unpaid, it is late.
    pub fn grace_end(&mut self) -> Result<Found, Stop> {
        let instalment = self.state.loan().late_row;
        self.next_late_row();
        let loan = self.loan();
        let receipts = loan.receipts;
        let row = match loan.row(instalment) {
            Some(row) if row.unpaid().is_positive() => *row,
            // Paid, and so the row of late ones is broken.
            _ => {
                loan.late_count = 0;
                return Ok(Found::Paid);
            }
        };
        // The borrower paid this instalment's amount in its time; that an older debt took it is no second fault.
        let spared = receipts - row.receipts_before >= row.asked();
        if row.excused {
            return Ok(Found::Excused);
        }
        if spared {
            return Ok(Found::Spared);
        }
        loan.late_count += 1;
        let fee = self.late_fee(&row)?;
        if fee.is_positive() {
            let id = ItemId::LateFee { instalment };
            self.charge_fee(id, ItemKind::LateFee, fee, FeeClass::Penalty, self.place.at)?;
        }
        self.count_late()?;
        Ok(Found::Late)
    }

    /// So many late instalments in a row make the account delinquent, or charge it off.
    fn count_late(&mut self) -> Result<(), Stop> {
        let count = self.state.loan().late_count;
        if !self.state.status.moves_by_itself() {
            return Ok(());
        }
        if count >= self.plan.policy.charge_off_after {
            return self.close(Status::CHARGED_OFF);
        }
        if count >= self.plan.policy.delinquent_after {
            self.move_to(Status::DELINQUENT);
        }
        Ok(())
    }

    fn late_fee(&self, row: &Row) -> Result<Cents, Stop> {
        let policy = &self.plan.policy.late_fee;
        let rounding = self.plan.policy.rounding;
        let fee = match policy.kind {
            LateFee::Flat => policy.flat,
            LateFee::PercentOfUnpaid => policy.percent.of(row.unpaid(), rounding)?,
            LateFee::PercentOfUnpaidPrincipal => policy.percent.of(row.unpaid_principal(), rounding)?,
            LateFee::PercentOfPayment => policy.percent.of(self.payment_of(row), rounding)?,
        };
        let fee = policy.least.map_or(fee, |least| fee.max(least));
        let fee = policy.most.map_or(fee, |most| fee.min(most));
        Ok(match policy.cap {
            Some(cap) => fee.min(cap.of(row.unpaid(), rounding)?),
            None => fee,
        })
    }

    /// The level payment; where there is none, the instalment itself.
    fn payment_of(&self, row: &Row) -> Cents {
        match self.plan.policy.method {
            Method::Level => self.state.loan().level,
            _ => row.asked(),
        }
    }

    /// Goes to the next instalment whose grace is to end.
    pub fn next_late_row(&mut self) {
        let last = self.plan.count();
        let next = self.state.loan().late_row + 1;
        let late_at = if next > last { Time::NEVER } else { self.terms.close_of(self.plan.dates.late_day(next)) };
        let loan = self.loan();
        (loan.late_row, loan.late_at) = (next, late_at);
    }

    /// Whether an instalment still asks for money, now or when it falls due.
    pub fn is_unpaid(&self, instalment: u32) -> Result<bool, Stop> {
        let loan = self.state.loan();
        if instalment < loan.first_row {
            return Ok(false);
        }
        let row = loan.row(instalment).copied().unwrap_or_default();
        if row.posted {
            return Ok(row.unpaid().is_positive());
        }
        let accrued = if instalment == loan.current() { self.unrecognised()? } else { Cents::ZERO };
        let interest = row.unpaid_interest() + accrued;
        let asks_any = (loan.unscheduled() + interest).is_positive();
        let paid = row.interest_paid + row.principal_paid;
        Ok(match loan.target(self.plan, instalment) {
            Target::Total(total) => asks_any && paid < total,
            Target::Principal(principal) if self.plan.policy.method == Method::Flat => {
                asks_any && paid < principal + self.plan.plan.flat_interest
            }
            // Without a fixed total a row is not paid before its period is posted, while anything earns interest.
            Target::Principal(_) => (loan.principal + interest).is_positive(),
            Target::Rest => asks_any,
        })
    }
}
