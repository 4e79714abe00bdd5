//! Opening, closing and reopening a loan, and all inputs other than payments and their reversals.

use super::loan::{InstalmentRow, OpenFee, OpenItem, Period};
use super::rates::Rates;
use super::terms::{InterestMethod, Method};
use crate::item::{Component, ItemId, ItemKind, ItemReason, LineItem, Split};
use crate::money::Cents;
use crate::outcome::{EventKind, GraceResult, Refusal};
use crate::status::{AccountStanding, Status};
use crate::step::{FoldError, StepContext};
use crate::time::Time;
use crate::timeline::{Entry, FeeClass};

impl StepContext<'_> {
    /// Pays the loan out.
    pub fn open(&mut self) -> Result<(), FoldError> {
        let opening = &self.terms.opening;
        if let Some(boarded) = &opening.agreed.boarded {
            return self.open_boarded(boarded);
        }
        self.announce(EventKind::AccountCreated);
        self.admit(opening.principal)?;
        let agreed = self.plan;
        let loan = self.loan();
        loan.rates = Rates::plain(agreed.policy.rate);
        if let Some(past) = &mut loan.past {
            past.rates = loan.rates.clone();
        }
        loan.plan = agreed.rows.clone();
        (loan.lent, loan.principal) = (opening.principal, opening.principal);
        let debt = self.add_debt(ItemId::Loan, ItemKind::Loan, opening.principal, Component::Principal, self.place.at);
        self.loan().principal_items.push(debt);
        self.open_period(1)?;
        self.cap_by_status()?;
        self.begin_late_fees(1);
        if opening.origination_fee.is_positive() {
            let (id, kind) = (ItemId::OriginationFee, ItemKind::OriginationFee);
            self.charge_fee(id, kind, opening.origination_fee, FeeClass::Fee, self.place.at)?;
        }
        Ok(())
    }

    /// Begins the period of an instalment, or a period of interest after maturity beyond the last one.
    pub fn open_period(&mut self, instalment: u32) -> Result<(), FoldError> {
        let (terms, plan) = (self.terms, self.plan);
        let policy = &plan.policy;
        let loan = self.loan();
        loan.carry_fraction(policy.interest_rounding_at)?;
        let matured = instalment > loan.plan.count();
        let earns = plan.earns(instalment, loan.plan.count());
        let (start, began_at) = match instalment {
            // The first period covers the opening itself.
            1 => (plan.dates.start, terms.opening.effective_at.plus_micros(-1)),
            _ => (loan.period.end, loan.period.ends_at),
        };
        loan.plan.extend_business_days(policy, &plan.dates, instalment + 1);
        let end = loan.plan.due_day(&plan.dates, instalment);
        let earning = loan.plan.earning(policy, &plan.dates, instalment);
        let row = if matured { InstalmentRow::default() } else { *loan.row_mut(instalment) };
        let fixed = match (policy.method, policy.interest) {
            _ if !earns => Some(Cents::ZERO),
            // If no principal is left, later rows have no interest; interest already paid in advance stays.
            (Method::Flat | Method::Precomputed, _) if loan.principal.is_zero() && !plan.owes_all_interest() => {
                Some(row.prepaid_interest)
            }
            (Method::Flat | Method::Precomputed, _) => Some(loan.plan.kept_interest(instalment)),
            (_, InterestMethod::Periodic) => Some(Cents::ZERO),
            (_, InterestMethod::Daily) => None,
        };
        loan.period = Period {
            instalment,
            number: instalment.max(loan.period.number + 1),
            start,
            end,
            began_at,
            ends_at: if earns { terms.close_of(end) } else { Time::NEVER },
            earning,
            principal: loan.earning_principal(),
            accrued: 0,
            reduced: 0,
            through: start,
            fixed,
            recognised: row.prepaid_interest,
            parts: row.prepaid_parts,
        };
        self.fix_interest()?;
        Ok(())
    }

    /// Creates and announces the line item of a debt.
    pub fn add_debt(
        &mut self,
        id: ItemId,
        kind: ItemKind,
        amount: Cents,
        component: Component,
        effective_at: Time,
    ) -> OpenItem {
        let mut item = LineItem::debt(id.clone(), kind, self.place.at, amount, component);
        item.effective_at = effective_at;
        let slot = Some(self.add_item(item));
        self.announce(EventKind::ItemCreated(id.clone()));
        let order = self.loan().next_order();
        OpenItem { id, kind, order, balance: amount, slot }
    }

    /// Charges a fee to the instalment whose period contains this moment.
    pub fn charge_fee(
        &mut self,
        id: ItemId,
        kind: ItemKind,
        amount: Cents,
        class: FeeClass,
        effective_at: Time,
    ) -> Result<(), FoldError> {
        let last = self.last_row();
        let current = self.state.loan().current();
        // The close of a period's end date still belongs to that period.
        let instalment = if self.has_begun() { current } else { current - 1 }.min(last + 1);
        self.charge_fee_of(instalment, (id, kind), amount, class, effective_at)
    }

    /// Charges a fee to an instalment; one beyond the last stands for none.
    pub fn charge_fee_of(
        &mut self,
        instalment: u32,
        (id, kind): (ItemId, ItemKind),
        amount: Cents,
        class: FeeClass,
        effective_at: Time,
    ) -> Result<(), FoldError> {
        self.admit(amount)?;
        let debt = self.add_debt(id, kind, amount, Component::Fee, effective_at);
        let last = self.last_row();
        let loan = self.loan();
        if instalment <= last
            && let Some(row) = loan.row_or_past_mut(instalment)
        {
            row.fees += amount;
        }
        loan.fees.push(OpenFee { debt, class, instalment });
        Ok(())
    }

    pub fn manual_fee(&mut self, entry: &Entry, amount: Cents, class: FeeClass) -> Result<(), FoldError> {
        let id = ItemId::Input(entry.name.clone());
        self.charge_fee(id, ItemKind::ManualFee, amount, class, entry.effective_at)?;
        Ok(())
    }

    /// Waives the unpaid part of a fee.
    pub fn waiver(&mut self, entry: &Entry, fee: &ItemId) -> Result<Result<(), Refusal>, FoldError> {
        let loan = self.loan();
        let Some(index) = loan.fees.iter().position(|open| open.debt.id == *fee) else {
            return Ok(Err(Refusal::NothingToWaive));
        };
        let debt = loan.fees.remove(index).debt;
        if debt.kind == ItemKind::LateFee {
            loan.late_fees.charged -= debt.balance;
        }
        self.set_balance(debt.slot, &debt.id, Cents::ZERO);
        let id = ItemId::Input(entry.name.clone());
        let mut item = LineItem::new(id.clone(), ItemKind::FeeWaiver, self.place.at, -debt.balance);
        item.effective_at = entry.effective_at;
        item.fees = -debt.balance;
        item.splits.push(Split { item: debt.id, kind: debt.kind, component: Component::Fee, cents: debt.balance });
        self.add_item(item);
        self.announce(EventKind::ItemCreated(id));
        Ok(Ok(()))
    }

    /// Raises the balance.
    pub fn credit(&mut self, entry: &Entry, amount: Cents, component: Component) -> Result<(), FoldError> {
        let (id, kind) = (ItemId::Input(entry.name.clone()), ItemKind::CreditOffset);
        match component {
            Component::Fee => self.charge_fee(id, kind, amount, FeeClass::Fee, entry.effective_at)?,
            Component::Interest => {
                self.admit(amount)?;
                let debt = self.add_debt(id, kind, amount, component, entry.effective_at);
                self.loan().interest_items.push_back(debt);
                let row = self.open_row();
                self.assign_interest(row, amount);
            }
            Component::Principal => self.raise_principal(id, amount, entry.effective_at, None)?,
        }
        Ok(())
    }

    /// Raises the principal by a credit offset. The last row asks for it.
    pub fn raise_principal(
        &mut self,
        id: ItemId,
        amount: Cents,
        effective_at: Time,
        reason: Option<ItemReason>,
    ) -> Result<(), FoldError> {
        self.admit(amount)?;
        self.accrue();
        let debt = self.add_debt(id, ItemKind::CreditOffset, amount, Component::Principal, effective_at);
        if let Some(item) = debt.slot.and_then(|slot| self.out.items.get_mut(slot as usize)) {
            item.reason = reason;
        }
        let loan = self.loan();
        loan.principal_items.push(debt);
        loan.lent += amount;
        loan.principal += amount;
        self.schedule_rest();
        Ok(())
    }

    /// After maturity there are no later rows: principal that belongs to no row is added to the last.
    pub fn schedule_rest(&mut self) {
        let last = self.last_row();
        let loan = self.loan();
        if loan.current() > last {
            let rest = loan.unscheduled();
            loan.row_mut(last).principal += rest;
            loan.posted_principal += rest;
            loan.posted_unpaid += rest;
        }
    }

    /// A person sets the status.
    pub fn set_status(&mut self, to: Status) -> Result<(), FoldError> {
        match (self.state.status.is_closed(), to.is_closed()) {
            (false, true) => self.close(to),
            (true, false) => self.reopen(to),
            _ => {
                self.note_charge_off(to);
                self.move_to(to)
            }
        }
    }

    /// Closes the account: accrued interest is posted and stays owed, and nothing accrues after that. Pending notices
    /// are dropped.
    pub fn close(&mut self, to: Status) -> Result<(), FoldError> {
        self.accrue();
        let owed = self.unrecognised()?;
        if owed.is_positive() {
            let debt = self.recognise(owed)?;
            self.loan().interest_items.push_back(debt);
            let row = self.open_row();
            self.assign_interest(row, owed);
        }
        self.note_charge_off(to);
        self.loan().closed_at = self.place.at;
        let (terms, place) = (self.terms, self.place);
        let (notices, rows) = self.state.notices_and_rows();
        notices.iter_mut().for_each(|notice| notice.close(terms, rows, place));
        self.move_to(to)
    }

    /// Records the amount owed when an account is charged off; it stays owed.
    fn note_charge_off(&mut self, to: Status) {
        let amount = self.state.balances().owed();
        if to != Status::CHARGED_OFF || to == self.state.status || amount.is_zero() {
            return;
        }
        self.loan().charge_offs += 1;
        let id = ItemId::ChargeOff { number: self.state.loan().charge_offs };
        self.add_item(LineItem::new(id.clone(), ItemKind::ChargeOff, self.place.at, amount));
        self.announce(EventKind::ItemCreated(id));
    }

    /// Passes the due dates that lie in the time the account was closed, without fees, announcements or interest.
    /// Instalments are past due, due or in advance by the calendar, whether the account is open or closed.
    pub fn pass_closed_time(&mut self) -> Result<(), FoldError> {
        let last = self.last_row();
        self.drop_interest_of_closed_time();
        while self.has_passed(self.state.loan().period.ends_at) {
            let instalment = self.state.loan().current();
            self.state.surplus_waits = false;
            if instalment <= last {
                self.post_principal(instalment);
                self.defer_posted(instalment)?;
                self.tolerate_shortfall(instalment)?;
                self.loan().row_mut(instalment).excused = true;
            }
            self.open_period(instalment + 1)?;
            self.drop_interest_of_closed_time();
        }
        self.schedule_rest();
        let today = self.today;
        let period = &mut self.loan().period;
        period.through = today.clamp(period.through, period.end);
        while self.state.loan().late_row <= last && self.has_passed(self.state.loan().late_at) {
            self.pass_fee_moment(|_| GraceResult::Excused);
        }
        for tier in 1..=self.state.loan().late_fees.tiers.len() {
            while self.has_passed(self.state.loan().late_fees.tiers[tier - 1].at) {
                self.pass_tier(tier);
            }
        }
        self.loan().release_paid_rows(last);
        Ok(())
    }

    /// Reopens a closed account; instalments that fell due meanwhile are past due.
    pub fn reopen(&mut self, to: Status) -> Result<(), FoldError> {
        self.pass_closed_time()?;
        self.move_to(to)?;
        let (terms, place, through) = (self.terms, self.place, self.state.processed_through);
        let (notices, rows) = self.state.notices_and_rows();
        notices.iter_mut().for_each(|notice| notice.reopen(terms, rows, place, through));
        Ok(())
    }

    /// A period that began while the account was closed has no interest, even if interest is fixed at the beginning.
    fn drop_interest_of_closed_time(&mut self) {
        let (now, loan) = (self.place.at, self.loan());
        let (closed_at, period) = (loan.closed_at, &mut loan.period);
        if !period.has_begun(closed_at) && period.has_begun(now) {
            period.fixed = period.fixed.map(|_| period.recognised);
            (period.principal, period.accrued, period.reduced) = (Cents::ZERO, 0, 0);
        }
    }

    /// Whether a moment precedes this step.
    fn has_passed(&self, moment: Time) -> bool {
        self.place.is_after_moment(moment)
    }

    /// Applies the consequences of the balances after a step: an account that owes nothing closes, and one that has
    /// caught up is cured.
    pub fn settle(&mut self, was_past_due: bool) -> Result<(), FoldError> {
        let last = self.last_row();
        self.loan().release_paid_rows(last);
        let cured = was_past_due && self.state.loan().oldest_past_due().is_none();
        if cured {
            self.loan().late_count = 0;
        }
        let surplus = self.state.surplus.is_positive();
        let nothing_owed = if surplus { Status::SURPLUS_BALANCE } else { Status::PAID_OFF };
        if self.state.status.closed_by_itself() {
            self.move_to(nothing_owed)?;
        }
        if !self.state.status.moves_by_itself() {
            return Ok(());
        }
        if self.payoff()?.is_zero() {
            return self.close(nothing_owed);
        }
        if cured && self.state.status == Status::DELINQUENT && !self.state.stops(self.terms).delinquency {
            self.move_to(self.state.active_pair)?;
        }
        Ok(())
    }

    /// Changes the status and announces it. The effects of the new status apply from now on.
    pub fn move_to(&mut self, to: Status) -> Result<(), FoldError> {
        let from = self.state.status;
        if from == to {
            return Ok(());
        }
        self.state.status = to;
        if to.standing() == AccountStanding::Active {
            self.state.active_pair = to;
        }
        self.announce(EventKind::StatusChanged { from, to });
        if to.is_closed() && !from.is_closed() {
            self.announce(EventKind::Closed);
        }
        self.cap_by_status()
    }
}
