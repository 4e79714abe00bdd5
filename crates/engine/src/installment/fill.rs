//! Filling buckets with money: how much each takes, and which line items that pays down.

use super::allocation::MoneyToAllocate;
use super::loan::{Allocation, OpenItem, PaymentShare};
use super::target::PrincipalTarget;
use super::terms::{Bucket, Due, Owed};
use crate::item::{Component, ItemId, ItemKind, Split};
use crate::money::Cents;
use crate::step::{FoldError, StepContext};
use crate::timeline::FeeClass;

impl StepContext<'_> {
    /// Fills one bucket of all instalments, oldest first.
    pub fn fill_bucket(&mut self, money: &mut MoneyToAllocate, bucket: Bucket) -> Result<(), FoldError> {
        if money.left.is_zero() {
            return Ok(());
        }
        if matches!(bucket.owed, Owed::Fee | Owed::Penalty) {
            self.fill_fees(money, bucket.owed, |run, instalment| run.due(instalment) == bucket.due);
            return Ok(());
        }
        for instalment in self.state.loan().first_row..=self.last_begun() {
            if self.due(instalment) == bucket.due {
                self.fill(money, instalment, bucket.owed)?;
            }
        }
        Ok(())
    }

    /// Fills interest after maturity. Posted interest is past due; interest accrued since is due.
    pub fn fill_tail(&mut self, money: &mut MoneyToAllocate, due: Due) -> Result<(), FoldError> {
        let row = self.last_row() + 1;
        match due {
            Due::Past => self.fill_posted_interest(money, row),
            Due::Now => {
                let accrued = self.accrued_for(money.accrued, row);
                self.pay_accrued_interest_of(money, row, accrued)?;
            }
            Due::Ahead => {}
        }
        Ok(())
    }

    /// The last instalment whose period has begun or begins at this instant.
    pub fn last_begun(&self) -> u32 {
        self.state.loan().current().min(self.last_row())
    }

    /// Whether an instalment is past due, due or in advance. Fees charged after maturity belong to no instalment and
    /// are past due.
    pub fn due(&self, instalment: u32) -> Due {
        let current = self.state.loan().current();
        if instalment > self.last_row() || instalment < current {
            Due::Past
        } else if instalment == current && self.has_begun() {
            Due::Now
        } else {
            Due::Ahead
        }
    }

    /// Fills one bucket of one instalment.
    pub fn fill(&mut self, money: &mut MoneyToAllocate, instalment: u32, owed: Owed) -> Result<(), FoldError> {
        match owed {
            Owed::Fee | Owed::Penalty => {
                self.fill_fees(money, owed, |_, fee_instalment| fee_instalment == instalment);
                Ok(())
            }
            _ if instalment > self.last_row() || instalment < self.state.loan().first_row => Ok(()),
            Owed::Interest => self.fill_interest(money, instalment),
            Owed::Principal => {
                self.fill_principal(money, instalment);
                Ok(())
            }
        }
    }

    fn fill_fees(&mut self, money: &mut MoneyToAllocate, owed: Owed, wanted: impl Fn(&Self, u32) -> bool) {
        let class = if owed == Owed::Fee { FeeClass::Fee } else { FeeClass::Penalty };
        let mut index = 0;
        while money.left.is_positive() && index < self.state.loan().fees.len() {
            let fee = &self.state.loan().fees[index];
            if fee.class != class || !wanted(self, fee.instalment) {
                index += 1;
                continue;
            }
            let cents = fee.debt.balance.min(money.left);
            let (instalment, id) = (fee.instalment, fee.debt.id.clone());
            money.left -= cents;
            money.allocated.shares.push(PaymentShare::Fee { instalment, class, cents, id });
            let debt = &mut self.loan().fees[index].debt;
            debt.balance -= cents;
            let debt = debt.clone();
            self.paid_down(&mut money.allocated, &debt, cents, Component::Fee);
            if debt.balance.is_positive() {
                break;
            }
            self.loan().fees.remove(index);
        }
    }

    /// Fills the posted interest of a row, then the interest accrued for it in the open period.
    fn fill_interest(&mut self, money: &mut MoneyToAllocate, instalment: u32) -> Result<(), FoldError> {
        self.fill_posted_interest(money, instalment);
        let accrued = self.accrued_for(money.accrued, instalment);
        self.pay_accrued_interest_of(money, instalment, accrued)?;
        if self.due(instalment) == Due::Ahead {
            self.prepay_flat_interest(money, instalment)?;
        }
        Ok(())
    }

    pub fn fill_posted_interest(&mut self, money: &mut MoneyToAllocate, instalment: u32) {
        let posted = self.state.loan().row(instalment).map_or(Cents::ZERO, |row| row.unpaid_interest());
        let cents = posted.min(money.left);
        if cents.is_positive() {
            self.loan().row_mut(instalment).interest_paid += cents;
            self.loan().interest -= cents;
            money.left -= cents;
            money.allocated.shares.push(PaymentShare::Interest { row: instalment, cents });
            self.pay_interest_items(&mut money.allocated, cents);
        }
    }

    /// The part of the open period's interest (`accrued`) that belongs to a row so far. It never exceeds what the row's
    /// fixed total leaves.
    pub fn accrued_for(&self, accrued: Cents, instalment: u32) -> Cents {
        let loan = self.state.loan();
        if instalment != self.open_row() {
            return Cents::ZERO;
        }
        loan.interest_room(instalment).map_or(accrued, |room| room.min(accrued))
    }

    /// Pays interest before it is posted: it becomes a line item that is paid at once.
    pub fn pay_accrued_interest_of(
        &mut self,
        money: &mut MoneyToAllocate,
        instalment: u32,
        owed: Cents,
    ) -> Result<(), FoldError> {
        let cents = owed.min(money.left);
        if cents.is_zero() {
            return Ok(());
        }
        let mut debt = self.recognise(cents)?;
        debt.balance = Cents::ZERO;
        money.accrued -= cents;
        money.left -= cents;
        let (last, today) = (self.last_row(), self.today);
        let loan = self.loan();
        if instalment > last {
            loan.add_to_tail(instalment, today, cents);
        } else {
            loan.row_mut(instalment).interest += cents;
        }
        loan.row_mut(instalment).interest_paid += cents;
        money.allocated.shares.push(PaymentShare::Interest { row: instalment, cents });
        self.paid_down(&mut money.allocated, &debt, cents, Component::Interest);
        Ok(())
    }

    /// Flat interest is known in advance and may be paid before its period begins.
    pub fn prepay_flat_interest(&mut self, money: &mut MoneyToAllocate, instalment: u32) -> Result<(), FoldError> {
        // If no principal is left, or the account is closed, later rows have no interest, unless all of it is owed.
        let ends = (money.pays_off || self.state.loan().principal.is_zero()) && !self.plan.owes_all_interest();
        if ends || self.state.status.is_closed() {
            return Ok(());
        }
        let row = self.state.loan().row(instalment).copied().unwrap_or_default();
        let cents = (self.state.loan().plan.kept_interest(instalment) - row.prepaid_interest).or_zero().min(money.left);
        if cents.is_zero() {
            return Ok(());
        }
        self.admit(cents)?;
        let row = self.loan().row_mut(instalment);
        row.interest += cents;
        row.interest_paid += cents;
        row.prepaid_interest += cents;
        row.prepaid_parts += 1;
        let id = ItemId::Interest { period: instalment, part: row.prepaid_parts };
        let period = &mut self.loan().period;
        if period.instalment == instalment {
            period.recognised += cents;
            period.parts += 1;
        }
        let mut debt = self.add_debt(id.clone(), ItemKind::Interest, cents, Component::Interest, self.place.at);
        debt.balance = Cents::ZERO;
        money.left -= cents;
        money.allocated.shares.push(PaymentShare::PrepaidInterest { row: instalment, cents, id });
        self.paid_down(&mut money.allocated, &debt, cents, Component::Interest);
        Ok(())
    }

    /// Fills the principal of a row: the unpaid principal of a posted row, or what the plan leaves room for.
    fn fill_principal(&mut self, money: &mut MoneyToAllocate, instalment: u32) {
        let loan = self.state.loan();
        let row = loan.row(instalment).copied().unwrap_or_default();
        let room = if row.posted { row.unpaid_principal() } else { self.principal_room(money.accrued, instalment) };
        let cents = room.min(money.left);
        if cents.is_zero() {
            return;
        }
        let loan = self.loan();
        loan.row_mut(instalment).principal_paid += cents;
        if row.posted {
            loan.posted_unpaid -= cents;
        }
        self.pay_principal(money, cents, PaymentShare::Principal { row: instalment, cents });
    }

    /// The principal that the plan leaves room for in a row that is not posted. The row's interest is the amount
    /// accrued so far and its principal is the rest, regardless of which is paid first. The last row takes the rest of
    /// the loan.
    pub fn principal_room(&self, accrued: Cents, instalment: u32) -> Cents {
        let loan = self.state.loan();
        let row = loan.row(instalment).copied().unwrap_or_default();
        let planned = match loan.target(instalment) {
            PrincipalTarget::Total(total) => {
                total - row.interest - self.accrued_for(accrued, instalment) - row.principal_paid
            }
            PrincipalTarget::Principal(principal) => principal - row.principal_paid,
            PrincipalTarget::Rest => loan.unscheduled(),
        };
        planned.or_zero().min(loan.unscheduled())
    }

    /// Subtracts principal from the loan.
    pub fn pay_principal(&mut self, money: &mut MoneyToAllocate, cents: Cents, share: PaymentShare) {
        money.left -= cents;
        money.allocated.shares.push(share);
        self.loan().principal -= cents;
        let mut left = cents;
        while left.is_positive() {
            let Some(debt) = self.loan().principal_items.iter_mut().find(|debt| debt.balance.is_positive()) else {
                break;
            };
            let part = debt.balance.min(left);
            debt.balance -= part;
            left -= part;
            let debt = debt.clone();
            self.paid_down(&mut money.allocated, &debt, part, Component::Principal);
        }
        assert!(left.is_zero(), "every cent of principal belongs to a line item");
    }

    fn pay_interest_items(&mut self, allocated: &mut Allocation, cents: Cents) {
        let mut left = cents;
        while left.is_positive() {
            let Some(debt) = self.loan().interest_items.front_mut() else { break };
            let part = debt.balance.min(left);
            debt.balance -= part;
            left -= part;
            let debt = debt.clone();
            if debt.balance.is_zero() {
                self.loan().interest_items.pop_front();
            }
            self.paid_down(allocated, &debt, part, Component::Interest);
        }
        assert!(left.is_zero(), "every cent of posted interest belongs to a line item");
    }

    /// Records a split and the balance that remains.
    fn paid_down(&mut self, allocated: &mut Allocation, debt: &OpenItem, cents: Cents, component: Component) {
        self.set_balance(debt.slot, &debt.id, debt.balance);
        let split = Split { item: debt.id.clone(), kind: debt.kind, component, cents };
        allocated.paid_down.push((split, debt.order));
    }
}
