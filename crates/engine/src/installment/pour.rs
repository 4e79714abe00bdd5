//! The waterfall: where the money of a payment goes.
//!
//! Money is poured into buckets. A bucket combines when a debt is due (past due, due, in advance) and its kind
//! (`DUE_INTEREST`). The product's order decides which bucket is filled first; its span decides whether a whole bucket
//! or a whole instalment is filled before the next. Money left when nothing is due follows the product's surplus rule.
//! Only money in excess of all debt is kept as the borrower's surplus.
//!
//! Interest after maturity has its own row after the last one. In every order it is filled right after the principal of
//! the last row, unless the payer allocates the payment to interest.

use super::loan::{Poured, Share};
use super::terms::{Bucket, Due, Owed, Span, Surplus};
use crate::fold::{FoldError, StepContext};
use crate::item::Component;
use crate::money::Cents;

/// The bucket of the last row's principal once interest after maturity accrues.
const LAST_PRINCIPAL: Bucket = Bucket::new(Due::Past, Owed::Principal);

/// Money being poured.
pub(crate) struct Pouring {
    /// The money that is left.
    pub left: Cents,
    /// Interest of the open period that is owed but is not a line item yet.
    pub accrued: Cents,
    /// Whether it covers everything owed now: then it pays no interest of periods that have not begun.
    pub pays_off: bool,
    /// Where it went.
    pub poured: Poured,
}

impl StepContext<'_> {
    /// Pours an amount over all debts.
    pub fn pour(&mut self, amount: Cents, allocation: Option<Component>) -> Result<Poured, FoldError> {
        self.accrue();
        let poured = core::mem::take(&mut self.state.scratch);
        let accrued = self.unrecognised()?;
        let pays_off = amount >= self.state.balances().owed() + accrued;
        let mut pouring = Pouring { left: amount, accrued, pays_off, poured };
        if let Some(component) = allocation {
            self.pour_allocated(&mut pouring, component)?;
        }
        self.pour_in_order(&mut pouring)?;
        self.pour_surplus(&mut pouring, &self.plan.order_ahead)?;
        self.pour_rest(&mut pouring)?;
        if pouring.left.is_positive() {
            self.state.surplus += pouring.left;
            pouring.poured.shares.push(Share::Surplus { cents: pouring.left });
        }
        Ok(pouring.poured)
    }

    /// Pours into the component that the payer named: first past due, then due, then the rest of it.
    fn pour_allocated(&mut self, pouring: &mut Pouring, component: Component) -> Result<(), FoldError> {
        let kinds: &[Owed] = match component {
            Component::Principal => &[Owed::Principal],
            Component::Interest => &[Owed::Interest],
            Component::Fee => &[Owed::Fee, Owed::Penalty],
        };
        for due in [Due::Past, Due::Now] {
            for owed in kinds {
                self.fill_bucket(pouring, Bucket::new(due, *owed))?;
            }
            if component == Component::Interest {
                self.fill_tail(pouring, due)?;
            }
        }
        match component {
            Component::Principal => self.pour_surplus(pouring, &[Owed::Principal]),
            Component::Interest => {
                for instalment in self.state.loan().current()..=self.plan.count() {
                    self.fill(pouring, instalment, Owed::Interest)?;
                }
                self.pour_accrued(pouring)
            }
            Component::Fee => Ok(()),
        }
    }

    fn pour_in_order(&mut self, pouring: &mut Pouring) -> Result<(), FoldError> {
        match self.plan.policy.span {
            Span::BucketFirst => self.pour_by_bucket(pouring),
            Span::OldestInstalmentFirst => self.pour_by_instalment(pouring),
            Span::InstalmentsFirst => self.pour_instalments_then_fees(pouring),
        }
    }

    /// Fills one bucket of all instalments, then the next bucket.
    fn pour_by_bucket(&mut self, pouring: &mut Pouring) -> Result<(), FoldError> {
        for bucket in &self.plan.order {
            self.fill_bucket(pouring, *bucket)?;
            if *bucket == LAST_PRINCIPAL {
                self.pour_tail(pouring)?;
            }
        }
        Ok(())
    }

    /// Fills all buckets of the oldest instalment, then of the next. Fees that belong to no instalment are last.
    fn pour_by_instalment(&mut self, pouring: &mut Pouring) -> Result<(), FoldError> {
        let (order, last) = (&self.plan.order, self.plan.count());
        let oldest_fee = self.state.loan().fees.iter().map(|fee| fee.instalment).min();
        let first = self.state.loan().first_row.min(oldest_fee.unwrap_or(u32::MAX));
        for instalment in (first..=self.last_begun()).chain([last + 1]) {
            let due = self.due(instalment);
            for bucket in order.iter().filter(|bucket| bucket.due == due) {
                self.fill(pouring, instalment, bucket.owed)?;
                if instalment == last && *bucket == LAST_PRINCIPAL {
                    self.pour_tail(pouring)?;
                }
            }
            if pouring.left.is_zero() {
                break;
            }
        }
        Ok(())
    }

    /// Fills interest after maturity: the posted part, then the part accrued since.
    fn pour_tail(&mut self, pouring: &mut Pouring) -> Result<(), FoldError> {
        self.fill_tail(pouring, Due::Past)?;
        self.fill_tail(pouring, Due::Now)
    }

    /// Fills interest and principal of the oldest instalment, then of the next; then fees, bucket by bucket. So the
    /// amount of an instalment pays that instalment, however late it is paid.
    fn pour_instalments_then_fees(&mut self, pouring: &mut Pouring) -> Result<(), FoldError> {
        let order = &self.plan.order;
        let is_fee = |bucket: &&Bucket| matches!(bucket.owed, Owed::Fee | Owed::Penalty);
        for instalment in self.state.loan().first_row..=self.last_begun() {
            let due = self.due(instalment);
            for bucket in order.iter().filter(|bucket| bucket.due == due && !is_fee(bucket)) {
                self.fill(pouring, instalment, bucket.owed)?;
            }
            if pouring.left.is_zero() {
                return Ok(());
            }
        }
        self.pour_tail(pouring)?;
        for bucket in order.iter().filter(is_fee) {
            self.fill_bucket(pouring, *bucket)?;
        }
        Ok(())
    }

    /// Pours money left when nothing is due, by the product's surplus rule. `kinds` lists what may be paid in advance,
    /// in order.
    fn pour_surplus(&mut self, pouring: &mut Pouring, kinds: &[Owed]) -> Result<(), FoldError> {
        if self.plan.policy.surplus == Surplus::NextInstalment {
            return self.pour_ahead(pouring, kinds);
        }
        let cents = self.state.loan().unscheduled().min(pouring.left);
        if cents.is_zero() {
            return Ok(());
        }
        if self.plan.policy.surplus == Surplus::LastInstalment {
            self.pour_principal(pouring, cents, Share::Tail { cents });
            return Ok(());
        }
        let row = self.last_begun();
        self.loan().row_mut(row).extra += cents;
        self.loan().posted_principal += cents;
        self.pour_principal(pouring, cents, Share::Extra { row, cents });
        self.spread_anew(pouring)
    }

    /// Pays the next instalments in advance.
    fn pour_ahead(&mut self, pouring: &mut Pouring, kinds: &[Owed]) -> Result<(), FoldError> {
        // The amount due of the open row is paid by now, so the open row may be the first.
        for instalment in self.state.loan().current()..=self.plan.count() {
            for owed in kinds {
                self.fill(pouring, instalment, *owed)?;
            }
        }
        Ok(())
    }

    /// Recalculates the rows whose period has not begun. The amount due of the open row is paid by now. A paid-off loan
    /// keeps its rows, in case a payment is undone.
    fn spread_anew(&mut self, pouring: &mut Pouring) -> Result<(), FoldError> {
        if self.state.loan().unscheduled().is_zero() {
            return Ok(());
        }
        let current = self.state.loan().current();
        let first = if self.has_begun() { current + 1 } else { current };
        pouring.poured.lowered = self.recalculate(first, Cents::ZERO)?;
        Ok(())
    }

    /// If no principal is left to pay, pays all other debt before money becomes surplus.
    fn pour_rest(&mut self, pouring: &mut Pouring) -> Result<(), FoldError> {
        if pouring.left.is_zero() {
            return Ok(());
        }
        for instalment in self.state.loan().first_row..=self.plan.count() + 1 {
            self.fill_posted_interest(pouring, instalment);
        }
        self.pour_accrued(pouring)
    }

    /// Pays accrued interest that exceeds what the open row takes. It is owed nevertheless, and belongs to the next row
    /// with room for it.
    fn pour_accrued(&mut self, pouring: &mut Pouring) -> Result<(), FoldError> {
        let mut instalment = self.open_row();
        while pouring.accrued.is_positive() && pouring.left.is_positive() {
            let room = self.state.loan().interest_room(self.plan, instalment);
            let cents = room.map_or(pouring.accrued, |room| room.min(pouring.accrued));
            self.pour_accrued_into(pouring, instalment, cents)?;
            instalment += 1;
        }
        Ok(())
    }
}
