//! The waterfall: where the money of a payment goes.
//!
//! Money is allocated to buckets. A bucket combines when a debt is due (past due, due, in advance) and its kind
//! (`DUE_INTEREST`). The product's order decides which bucket is filled first; its span decides whether a whole bucket
//! or a whole instalment is filled before the next. Money left when nothing is due follows the product's surplus rule.
//! Only money in excess of all debt is kept as the borrower's surplus.
//!
//! Interest after maturity has its own row after the last one. In every order it is filled right after the principal of
//! the last row, unless the payer allocates the payment to interest.

use super::loan::{Allocation, PaymentShare};
use super::terms::{Bucket, Due, Owed, Span, Surplus};
use crate::item::Component;
use crate::money::Cents;
use crate::step::{FoldError, StepContext};

/// The bucket of the last row's principal once interest after maturity accrues.
const LAST_PRINCIPAL: Bucket = Bucket::new(Due::Past, Owed::Principal);

/// Money being allocated.
pub(crate) struct MoneyToAllocate {
    /// The money that is left.
    pub left: Cents,
    /// Interest of the open period that is owed but is not a line item yet.
    pub accrued: Cents,
    /// Whether it covers everything owed now: then it pays no interest of periods that have not begun.
    pub pays_off: bool,
    /// Where it went.
    pub allocated: Allocation,
}

impl StepContext<'_> {
    /// Allocates an amount to all debts.
    pub fn allocate(&mut self, amount: Cents, named: Option<Component>) -> Result<Allocation, FoldError> {
        self.accrue();
        let allocated = core::mem::take(&mut self.state.scratch);
        let accrued = self.unrecognised()?;
        let pays_off = amount >= self.state.balances().owed() + accrued;
        let mut money = MoneyToAllocate { left: amount, accrued, pays_off, allocated };
        if let Some(component) = named {
            self.allocate_as_named(&mut money, component)?;
        }
        self.allocate_in_order(&mut money)?;
        self.allocate_surplus(&mut money, &self.plan.order_ahead)?;
        self.allocate_rest(&mut money)?;
        if money.left.is_positive() {
            self.state.surplus += money.left;
            money.allocated.shares.push(PaymentShare::Surplus { cents: money.left });
        }
        Ok(money.allocated)
    }

    /// Allocates to the component that the payer named: first past due, then due, then the rest of it.
    fn allocate_as_named(&mut self, money: &mut MoneyToAllocate, component: Component) -> Result<(), FoldError> {
        let kinds: &[Owed] = match component {
            Component::Principal => &[Owed::Principal],
            Component::Interest => &[Owed::Interest],
            Component::Fee => &[Owed::Fee, Owed::Penalty],
        };
        for due in [Due::Past, Due::Now] {
            for owed in kinds {
                self.fill_bucket(money, Bucket::new(due, *owed))?;
            }
            if component == Component::Interest {
                self.fill_tail(money, due)?;
            }
        }
        match component {
            Component::Principal => self.allocate_surplus(money, &[Owed::Principal]),
            Component::Interest => {
                for instalment in self.state.loan().current()..=self.last_row() {
                    self.fill(money, instalment, Owed::Interest)?;
                }
                self.pay_accrued_interest(money)
            }
            Component::Fee => self.fill_fees_ahead(money),
        }
    }

    fn allocate_in_order(&mut self, money: &mut MoneyToAllocate) -> Result<(), FoldError> {
        match self.plan.policy.span {
            Span::BucketFirst => self.allocate_by_bucket(money),
            Span::OldestInstalmentFirst => self.allocate_by_instalment(money),
            Span::InstalmentsFirst => self.allocate_instalments_then_fees(money),
        }
    }

    /// Fills one bucket of all instalments, then the next bucket.
    fn allocate_by_bucket(&mut self, money: &mut MoneyToAllocate) -> Result<(), FoldError> {
        for bucket in &self.plan.order {
            self.fill_bucket(money, *bucket)?;
            if *bucket == LAST_PRINCIPAL {
                self.fill_whole_tail(money)?;
            }
        }
        Ok(())
    }

    /// Fills all buckets of the oldest instalment, then of the next. Fees that belong to no instalment are last.
    fn allocate_by_instalment(&mut self, money: &mut MoneyToAllocate) -> Result<(), FoldError> {
        let (order, last) = (&self.plan.order, self.last_row());
        let oldest_fee = self.state.loan().fees.iter().map(|fee| fee.instalment).min();
        let first = self.state.loan().first_row.min(oldest_fee.unwrap_or(u32::MAX));
        for instalment in (first..=self.last_begun()).chain([last + 1]) {
            let due = self.due(instalment);
            for bucket in order.iter().filter(|bucket| bucket.due == due) {
                self.fill(money, instalment, bucket.owed)?;
                if instalment == last && *bucket == LAST_PRINCIPAL {
                    self.fill_whole_tail(money)?;
                }
            }
            if money.left.is_zero() {
                break;
            }
        }
        Ok(())
    }

    /// Fills interest after maturity: the posted part, then the part accrued since.
    fn fill_whole_tail(&mut self, money: &mut MoneyToAllocate) -> Result<(), FoldError> {
        self.fill_tail(money, Due::Past)?;
        self.fill_tail(money, Due::Now)
    }

    /// Fills interest and principal of the oldest instalment, then of the next; then fees, bucket by bucket. So the
    /// amount of an instalment pays that instalment, however late it is paid.
    fn allocate_instalments_then_fees(&mut self, money: &mut MoneyToAllocate) -> Result<(), FoldError> {
        let order = &self.plan.order;
        let is_fee = |bucket: &&Bucket| matches!(bucket.owed, Owed::Fee | Owed::Penalty);
        for instalment in self.state.loan().first_row..=self.last_begun() {
            let due = self.due(instalment);
            for bucket in order.iter().filter(|bucket| bucket.due == due && !is_fee(bucket)) {
                self.fill(money, instalment, bucket.owed)?;
            }
            if money.left.is_zero() {
                return Ok(());
            }
        }
        self.fill_whole_tail(money)?;
        for bucket in order.iter().filter(is_fee) {
            self.fill_bucket(money, *bucket)?;
        }
        Ok(())
    }

    /// Allocates money left when nothing is due, by the product's surplus rule. `kinds` lists what may be paid in
    /// advance, in order.
    fn allocate_surplus(&mut self, money: &mut MoneyToAllocate, kinds: &[Owed]) -> Result<(), FoldError> {
        if self.plan.policy.surplus == Surplus::NextInstalment {
            return self.allocate_ahead(money, kinds);
        }
        let cents = self.state.loan().unscheduled().min(money.left);
        if cents.is_zero() {
            return Ok(());
        }
        if self.plan.policy.surplus == Surplus::LastInstalment {
            self.pay_principal(money, cents, PaymentShare::Tail { cents });
            return Ok(());
        }
        let row = self.last_begun();
        self.loan().row_mut(row).extra += cents;
        self.loan().posted_principal += cents;
        self.pay_principal(money, cents, PaymentShare::Extra { row, cents });
        self.spread_anew(money)
    }

    /// Pays the next instalments in advance.
    fn allocate_ahead(&mut self, money: &mut MoneyToAllocate, kinds: &[Owed]) -> Result<(), FoldError> {
        // The amount due of the open row is paid by now, so the open row may be the first.
        for instalment in self.state.loan().current()..=self.last_row() {
            for owed in kinds {
                self.fill(money, instalment, *owed)?;
            }
        }
        Ok(())
    }

    /// Recalculates the rows whose period has not begun. The amount due of the open row is paid by now. A paid-off loan
    /// keeps its rows, in case a payment is undone.
    fn spread_anew(&mut self, money: &mut MoneyToAllocate) -> Result<(), FoldError> {
        if self.state.loan().unscheduled().is_zero() {
            return Ok(());
        }
        let current = self.state.loan().current();
        let first = if self.has_begun() { current + 1 } else { current };
        money.allocated.lowered = self.recalculate(first, Cents::ZERO, Cents::ZERO)?;
        Ok(())
    }

    /// If no principal is left to pay, pays all other debt before money becomes surplus.
    fn allocate_rest(&mut self, money: &mut MoneyToAllocate) -> Result<(), FoldError> {
        if money.left.is_zero() {
            return Ok(());
        }
        for instalment in self.state.loan().first_row..=self.last_row() + 1 {
            self.fill_posted_interest(money, instalment);
        }
        self.pay_accrued_interest(money)?;
        if self.plan.owes_all_interest() {
            for instalment in self.state.loan().current()..=self.last_row() {
                if self.due(instalment) == Due::Ahead {
                    self.prepay_flat_interest(money, instalment)?;
                }
            }
        }
        self.fill_fees_ahead(money)
    }

    /// Pays the fees of instalments whose period has not begun.
    fn fill_fees_ahead(&mut self, money: &mut MoneyToAllocate) -> Result<(), FoldError> {
        for owed in [Owed::Fee, Owed::Penalty] {
            self.fill_bucket(money, Bucket::new(Due::Ahead, owed))?;
        }
        Ok(())
    }

    /// Pays accrued interest that exceeds what the open row takes. It is owed nevertheless, and belongs to the next row
    /// with room for it.
    pub fn pay_accrued_interest(&mut self, money: &mut MoneyToAllocate) -> Result<(), FoldError> {
        let mut instalment = self.open_row();
        while money.accrued.is_positive() && money.left.is_positive() {
            let room = self.state.loan().interest_room(instalment);
            let cents = room.map_or(money.accrued, |room| room.min(money.accrued));
            self.pay_accrued_interest_of(money, instalment, cents)?;
            instalment += 1;
        }
        Ok(())
    }
}
