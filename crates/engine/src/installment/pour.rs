//! The waterfall: where the money of a payment goes.
//!
//! Money is poured into buckets. A bucket is a pair of where a debt stands in time and what it is (`DUE_INTEREST`). The
//! product's order says which bucket comes first, its span whether a whole bucket or a whole instalment is filled
//! before the next. What is left when nothing is due is surplus, and goes where the product's surplus rule says. Only
//! what nobody is owed is kept for the borrower.
//!
//! Interest that accrues after maturity is a row of its own after the last one. Whatever the order, it comes right after
//! the principal of the last row; only a payer who names interest puts it first.

use super::loan::{Poured, Share};
use super::terms::{Bucket, Due, Owed, Span, Surplus};
use crate::fold::{Run, Stop};
use crate::item::Component;
use crate::money::Cents;

/// The bucket of the last row's principal once interest after maturity accrues.
const LAST_PRINCIPAL: Bucket = Bucket::new(Due::Past, Owed::Principal);

/// Money being poured.
pub(crate) struct Pouring {
    /// What is left of it.
    pub left: Cents,
    /// Interest of the open period that is owed but no line item yet.
    pub accrued: Cents,
    /// Whether it reaches all that is owed now: then it buys no interest of periods that have not begun.
    pub pays_off: bool,
    /// Where it went.
    pub poured: Poured,
}

impl Run<'_> {
    /// Pours an amount over everything that is owed.
    pub fn pour(&mut self, amount: Cents, allocation: Option<Component>) -> Result<Poured, Stop> {
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

    /// What the payer named: past due of it, due of it, the rest of it.
    fn pour_allocated(&mut self, pouring: &mut Pouring, component: Component) -> Result<(), Stop> {
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

    fn pour_in_order(&mut self, pouring: &mut Pouring) -> Result<(), Stop> {
        match self.plan.policy.span {
            Span::BucketFirst => self.pour_by_bucket(pouring),
            Span::OldestInstalmentFirst => self.pour_by_instalment(pouring),
            Span::InstalmentsFirst => self.pour_instalments_then_fees(pouring),
        }
    }

    /// A bucket of all instalments, then the next bucket.
    fn pour_by_bucket(&mut self, pouring: &mut Pouring) -> Result<(), Stop> {
        for bucket in &self.plan.order {
            self.fill_bucket(pouring, *bucket)?;
            if *bucket == LAST_PRINCIPAL {
                self.pour_tail(pouring)?;
            }
        }
        Ok(())
    }

    /// All buckets of the oldest instalment, then the next instalment. The fees that belong to none come last.
    fn pour_by_instalment(&mut self, pouring: &mut Pouring) -> Result<(), Stop> {
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

    /// Interest after maturity: what is posted, then what has accrued since.
    fn pour_tail(&mut self, pouring: &mut Pouring) -> Result<(), Stop> {
        self.fill_tail(pouring, Due::Past)?;
        self.fill_tail(pouring, Due::Now)
    }

    /// Interest and principal of the oldest instalment, then of the next; then fees, bucket by bucket. So what an
    /// instalment asked pays that instalment, however late it comes.
    fn pour_instalments_then_fees(&mut self, pouring: &mut Pouring) -> Result<(), Stop> {
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

    /// What is left when nothing is due goes where the product says; `kinds` is what may be paid in advance, in order.
    fn pour_surplus(&mut self, pouring: &mut Pouring, kinds: &[Owed]) -> Result<(), Stop> {
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
    fn pour_ahead(&mut self, pouring: &mut Pouring, kinds: &[Owed]) -> Result<(), Stop> {
        // What was due of the open row is paid by now, so it may be the first.
        for instalment in self.state.loan().current()..=self.plan.count() {
            for owed in kinds {
                self.fill(pouring, instalment, *owed)?;
            }
        }
        Ok(())
    }

    /// Computes the rows anew whose period has not begun. What was due of the open row is paid by now. A loan that is paid
    /// off keeps its rows, should money be given back.
    fn spread_anew(&mut self, pouring: &mut Pouring) -> Result<(), Stop> {
        if self.state.loan().unscheduled().is_zero() {
            return Ok(());
        }
        let current = self.state.loan().current();
        let first = if self.has_begun() { current + 1 } else { current };
        pouring.poured.lowered = self.recalculate(first, Cents::ZERO)?;
        Ok(())
    }

    /// When no principal is left to pay, whatever else is owed is paid before money is surplus.
    fn pour_rest(&mut self, pouring: &mut Pouring) -> Result<(), Stop> {
        if pouring.left.is_zero() {
            return Ok(());
        }
        for instalment in self.state.loan().first_row..=self.plan.count() + 1 {
            self.fill_posted_interest(pouring, instalment);
        }
        self.pour_accrued(pouring)
    }

    /// Interest accrued beyond what the open row takes: it is owed all the same, and belongs to the next row that has
    /// room for it.
    fn pour_accrued(&mut self, pouring: &mut Pouring) -> Result<(), Stop> {
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
