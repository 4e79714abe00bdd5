//! The waterfall: where the money of a payment goes.
//!
//! Money is poured into buckets. A bucket is a pair of where a debt stands in time and what it is (`DUE_INTEREST`). The
//! product's order says which bucket comes first, its span whether a whole bucket or a whole instalment is filled
//! before the next. What is left when nothing is due is surplus, and goes where the product's surplus rule says. Only
//! what nobody is owed is kept for the borrower.

use super::loan::{OpenItem, Poured, Share, Target};
use super::plan;
use super::terms::{Bucket, Due, Owed, Span, Surplus};
use crate::fold::{Run, Stop};
use crate::item::{Component, ItemId, ItemKind, Split};
use crate::money::Cents;
use crate::timeline::FeeClass;

/// Money being poured.
pub(crate) struct Pouring {
    /// What is left of it.
    left: Cents,
    /// Interest of the open period that is owed but no line item yet.
    accrued: Cents,
    /// Where it went.
    poured: Poured,
}

impl Run<'_> {
    /// Pours an amount over everything that is owed.
    pub fn pour(&mut self, amount: Cents, allocation: Option<Component>) -> Result<Poured, Stop> {
        self.accrue();
        let poured = core::mem::take(&mut self.state.scratch);
        let mut pouring = Pouring { left: amount, accrued: self.unrecognised()?, poured };
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
        let plan = self.plan;
        match plan.policy.span {
            Span::BucketFirst => {
                for bucket in &plan.order {
                    self.fill_bucket(pouring, *bucket)?;
                }
            }
            Span::OldestInstalmentFirst => {
                let oldest_fee = self.state.loan().fees.iter().map(|fee| fee.instalment).min();
                let first = self.state.loan().first_row.min(oldest_fee.unwrap_or(u32::MAX));
                for instalment in (first..=self.last_begun()).chain([plan.count() + 1]) {
                    let due = self.due(instalment);
                    for bucket in plan.order.iter().filter(|bucket| bucket.due == due) {
                        self.fill(pouring, instalment, bucket.owed)?;
                    }
                    if pouring.left.is_zero() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Fills one bucket of all instalments, oldest first.
    fn fill_bucket(&mut self, pouring: &mut Pouring, bucket: Bucket) -> Result<(), Stop> {
        if pouring.left.is_zero() {
            return Ok(());
        }
        if matches!(bucket.owed, Owed::Fee | Owed::Penalty) {
            self.fill_fees(pouring, bucket.owed, |run, instalment| run.due(instalment) == bucket.due);
            return Ok(());
        }
        for instalment in self.state.loan().first_row..=self.last_begun() {
            if self.due(instalment) == bucket.due {
                self.fill(pouring, instalment, bucket.owed)?;
            }
        }
        Ok(())
    }

    /// The last instalment whose period has begun, or is about to.
    pub fn last_begun(&self) -> u32 {
        self.state.loan().current().min(self.plan.count())
    }

    /// Where an instalment stands in time. Fees after maturity belong to none and are past due.
    fn due(&self, instalment: u32) -> Due {
        let current = self.state.loan().current();
        if instalment > self.plan.count() || instalment < current {
            Due::Past
        } else if instalment == current && self.has_begun() {
            Due::Now
        } else {
            Due::Ahead
        }
    }

    /// Fills one bucket of one instalment.
    fn fill(&mut self, pouring: &mut Pouring, instalment: u32, owed: Owed) -> Result<(), Stop> {
        match owed {
            Owed::Fee | Owed::Penalty => {
                self.fill_fees(pouring, owed, |_, fee_instalment| fee_instalment == instalment);
                Ok(())
            }
            _ if instalment > self.plan.count() || instalment < self.state.loan().first_row => Ok(()),
            Owed::Interest => self.fill_interest(pouring, instalment),
            Owed::Principal => {
                self.fill_principal(pouring, instalment);
                Ok(())
            }
        }
    }

    fn fill_fees(&mut self, pouring: &mut Pouring, owed: Owed, wanted: impl Fn(&Self, u32) -> bool) {
        let class = if owed == Owed::Fee { FeeClass::Fee } else { FeeClass::Penalty };
        let mut index = 0;
        while pouring.left.is_positive() && index < self.state.loan().fees.len() {
            let fee = &self.state.loan().fees[index];
            if fee.class != class || !wanted(self, fee.instalment) {
                index += 1;
                continue;
            }
            let cents = fee.debt.balance.min(pouring.left);
            let (instalment, id) = (fee.instalment, fee.debt.id.clone());
            pouring.left -= cents;
            pouring.poured.shares.push(Share::Fee { instalment, class, cents, id });
            let debt = &mut self.loan().fees[index].debt;
            debt.balance -= cents;
            let debt = debt.clone();
            self.paid_down(&mut pouring.poured, &debt, cents, Component::Fee);
            if debt.balance.is_positive() {
                break;
            }
            self.loan().fees.remove(index);
        }
    }

    /// Posted interest of a row, and what has accrued for it in the open period.
    fn fill_interest(&mut self, pouring: &mut Pouring, instalment: u32) -> Result<(), Stop> {
        self.fill_posted_interest(pouring, instalment);
        let accrued = self.accrued_for(pouring, instalment);
        self.pour_accrued_into(pouring, instalment, accrued)?;
        if self.due(instalment) == Due::Ahead {
            self.prepay_flat_interest(pouring, instalment)?;
        }
        Ok(())
    }

    fn fill_posted_interest(&mut self, pouring: &mut Pouring, instalment: u32) {
        let posted = self.state.loan().row(instalment).map_or(Cents::ZERO, |row| row.unpaid_interest());
        let cents = posted.min(pouring.left);
        if cents.is_positive() {
            self.loan().row_mut(instalment).interest_paid += cents;
            self.loan().interest -= cents;
            pouring.left -= cents;
            pouring.poured.shares.push(Share::Interest { row: instalment, cents });
            self.pay_interest_items(&mut pouring.poured, cents);
        }
    }

    /// What of the open period's interest is a row's own, by now: after maturity the last row's, and never more than
    /// its fixed total leaves.
    fn accrued_for(&self, pouring: &Pouring, instalment: u32) -> Cents {
        let loan = self.state.loan();
        if instalment != self.last_begun() {
            return Cents::ZERO;
        }
        loan.interest_room(self.plan, instalment).map_or(pouring.accrued, |room| room.min(pouring.accrued))
    }

    /// Pays interest before it is posted: it becomes a line item, paid at once.
    fn pour_accrued_into(&mut self, pouring: &mut Pouring, instalment: u32, owed: Cents) -> Result<(), Stop> {
        let cents = owed.min(pouring.left);
        if cents.is_zero() {
            return Ok(());
        }
        let mut debt = self.recognise(cents)?;
        debt.balance = Cents::ZERO;
        pouring.accrued -= cents;
        pouring.left -= cents;
        let row = self.loan().row_mut(instalment);
        row.interest += cents;
        row.interest_paid += cents;
        pouring.poured.shares.push(Share::Interest { row: instalment, cents });
        self.paid_down(&mut pouring.poured, &debt, cents, Component::Interest);
        Ok(())
    }

    /// Flat interest is known beforehand and may be paid before its period begins.
    fn prepay_flat_interest(&mut self, pouring: &mut Pouring, instalment: u32) -> Result<(), Stop> {
        // Where no principal is left, or the account is closed, the rows ahead have no interest.
        if self.state.status.is_closed() || self.state.loan().principal.is_zero() {
            return Ok(());
        }
        let row = self.state.loan().row(instalment).copied().unwrap_or_default();
        let cents = (self.plan.plan.flat_interest - row.prepaid_interest).or_zero().min(pouring.left);
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
        pouring.left -= cents;
        pouring.poured.shares.push(Share::PrepaidInterest { row: instalment, cents, id });
        self.paid_down(&mut pouring.poured, &debt, cents, Component::Interest);
        Ok(())
    }

    /// Principal of a row: of a posted one what it asks for, else what its plan leaves room for.
    fn fill_principal(&mut self, pouring: &mut Pouring, instalment: u32) {
        let loan = self.state.loan();
        let row = loan.row(instalment).copied().unwrap_or_default();
        let room = if row.posted { row.unpaid_principal() } else { self.principal_room(pouring, instalment) };
        let cents = room.min(pouring.left);
        if cents.is_zero() {
            return;
        }
        let loan = self.loan();
        loan.row_mut(instalment).principal_paid += cents;
        if row.posted {
            loan.posted_unpaid -= cents;
        }
        self.pour_principal(pouring, cents, Share::Principal { row: instalment, cents });
    }

    /// What the plan leaves room for in a row that is not posted. Its interest is what has accrued by now; its principal
    /// is the rest, whichever is paid first. The last row takes what is left, as it comes last.
    fn principal_room(&self, pouring: &Pouring, instalment: u32) -> Cents {
        let loan = self.state.loan();
        let row = loan.row(instalment).copied().unwrap_or_default();
        let planned = match loan.target(self.plan, instalment) {
            Target::Total(total) => total - row.interest - self.accrued_for(pouring, instalment) - row.principal_paid,
            Target::Principal(principal) => principal - row.principal_paid,
            Target::Rest => loan.unscheduled(),
        };
        planned.or_zero().min(loan.unscheduled())
    }

    /// Takes principal off the loan.
    fn pour_principal(&mut self, pouring: &mut Pouring, cents: Cents, share: Share) {
        pouring.left -= cents;
        pouring.poured.shares.push(share);
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
            self.paid_down(&mut pouring.poured, &debt, part, Component::Principal);
        }
        assert!(left.is_zero(), "every cent of principal is some line item's");
    }

    fn pay_interest_items(&mut self, poured: &mut Poured, cents: Cents) {
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
            self.paid_down(poured, &debt, part, Component::Interest);
        }
        assert!(left.is_zero(), "every cent of posted interest is some line item's");
    }

    /// Notes a split, and the balance it leaves.
    fn paid_down(&mut self, poured: &mut Poured, debt: &OpenItem, cents: Cents, component: Component) {
        self.set_balance(debt.slot, &debt.id, debt.balance);
        let split = Split { item: debt.id.clone(), kind: debt.kind, component, cents };
        poured.paid_down.push((split, debt.order));
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
        self.respread()
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

    /// Computes the level anew over the rows whose period has not begun. What was due of the open row is paid by now.
    /// A loan that is paid off keeps its level, should money be given back.
    fn respread(&mut self) -> Result<(), Stop> {
        let principal = self.state.loan().unscheduled();
        if principal.is_zero() {
            return Ok(());
        }
        let current = self.state.loan().current();
        let first = if self.has_begun() { current + 1 } else { current };
        let flat_interest = self.plan.plan.flat_interest;
        let level = plan::spread(&self.plan.policy, &self.plan.dates, principal, first, flat_interest)?;
        let loan = self.loan();
        loan.level = level;
        if first == current {
            loan.period.level = level;
        }
        Ok(())
    }

    /// When no principal is left to pay, whatever else is owed is paid before money is surplus.
    fn pour_rest(&mut self, pouring: &mut Pouring) -> Result<(), Stop> {
        if pouring.left.is_zero() {
            return Ok(());
        }
        for instalment in self.state.loan().first_row..=self.plan.count() {
            self.fill_posted_interest(pouring, instalment);
        }
        self.pour_accrued(pouring)
    }

    /// Interest accrued beyond what the open row takes: it is owed all the same, and belongs to the next row that has
    /// room for it.
    fn pour_accrued(&mut self, pouring: &mut Pouring) -> Result<(), Stop> {
        let mut instalment = self.last_begun();
        while pouring.accrued.is_positive() && pouring.left.is_positive() {
            let room = self.state.loan().interest_room(self.plan, instalment);
            let cents = room.map_or(pouring.accrued, |room| room.min(pouring.accrued));
            self.pour_accrued_into(pouring, instalment, cents)?;
            instalment += 1;
        }
        Ok(())
    }
}
