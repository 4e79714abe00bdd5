//! Opening an account in the middle of its life, from balances.
//!
//! The past-due instalments become the first rows of the plan, posted and unpaid. The rows to come follow. The open
//! period begins before the account does: its interest until then is given, and from then on it accrues.

use super::carry::Carry;
use super::late_tiers::TierMoment;
use super::loan::{InstalmentRow, OpenFee, Period};
use super::rates::Rates;
use super::receipts::Receipt;
use super::terms::InterestMethod;
use crate::contract::{Boarded, BoardedRow};
use crate::item::{Component, ItemId, ItemKind, OpeningPart};
use crate::money::Cents;
use crate::outcome::{EventKind, GraceResult};
use crate::status::AccountStanding;
use crate::step::{FoldError, StepContext};
use serde::{Deserialize, Serialize};

/// What a loan keeps of the balances that it began with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardedPast {
    /// The instalments that were judged before; [`BoardedPast::late_count`] includes them.
    pub judged: u32,
    /// Late instalments in a row.
    pub late_count: u32,
}

impl StepContext<'_> {
    /// Opens an account with its balances.
    pub fn open_boarded(&mut self, boarded: &Boarded) -> Result<(), FoldError> {
        self.announce(EventKind::AccountCreated);
        self.admit(boarded.principal)?;
        self.admit(boarded.surplus)?;
        let agreed = self.plan;
        let loan = self.loan();
        loan.rates = Rates::plain(agreed.policy.rate);
        if let Some(past) = &mut loan.past {
            past.rates = loan.rates.clone();
        }
        loan.plan = agreed.rows.clone();
        (loan.lent, loan.principal) = (boarded.principal, boarded.principal);
        let id = ItemId::Opening(OpeningPart::Loan);
        let debt = self.add_debt(id, ItemKind::Loan, boarded.principal, Component::Principal, self.place.at);
        self.loan().principal_items.push(debt);
        self.state.status = boarded.status;
        if boarded.status.standing() == AccountStanding::Active {
            self.state.active_pair = boarded.status;
        }
        if boarded.status.is_closed() {
            self.loan().closed_at = self.place.at;
        }
        self.board_past_due(&boarded.past_due)?;
        self.board_period(boarded);
        self.board_interest(boarded.past_due.len() as u32 + 1, boarded)?;
        self.loan().carry = Carry::of(boarded.accrued_interest);
        self.fix_interest()?;
        self.board_fees(boarded)?;
        self.board_late_fees(boarded);
        let step = self.state.steps;
        self.loan().keep_surplus(step, boarded.surplus);
        (self.state.surplus, self.state.surplus_waits) = (boarded.surplus, boarded.surplus.is_positive());
        let paid = boarded.paid_to_date;
        self.state.paid_total = paid.principal + paid.interest + paid.fees;
        self.state.interest_paid_total = paid.interest;
        self.cap_by_status()
    }

    fn board_past_due(&mut self, past_due: &[BoardedRow]) -> Result<(), FoldError> {
        for (number, row) in (1..).zip(past_due) {
            let loan = self.loan();
            *loan.row_mut(number) = InstalmentRow {
                interest: row.interest,
                principal: row.principal,
                paid_before: row.total - row.interest - row.principal,
                posted: true,
                ..InstalmentRow::default()
            };
            loan.posted_principal += row.principal;
            loan.posted_unpaid += row.principal;
            self.add_opening_interest(OpeningPart::Interest { instalment: number }, row.interest)?;
        }
        Ok(())
    }

    /// The line item of interest that a row has taken already.
    fn add_opening_interest(&mut self, part: OpeningPart, amount: Cents) -> Result<(), FoldError> {
        if amount.is_positive() {
            self.admit(amount)?;
            let id = ItemId::Opening(part);
            let debt = self.add_debt(id, ItemKind::Interest, amount, Component::Interest, self.place.at);
            self.loan().interest_items.push_back(debt);
            self.loan().interest += amount;
        }
        Ok(())
    }

    /// The open period began before; its interest until now is given.
    fn board_period(&mut self, boarded: &Boarded) {
        let (terms, plan, today, now) = (self.terms, self.plan, self.today, self.place.at);
        let loan = self.loan();
        let instalment = boarded.past_due.len() as u32 + 1;
        let (start, end) =
            (loan.plan.period_start(&plan.dates, instalment), loan.plan.due_day(&plan.dates, instalment));
        loan.row_mut(instalment);
        loan.period = Period {
            instalment,
            number: instalment,
            start,
            end,
            // It has begun, unless the opening is at the very end of the period before.
            began_at: if terms.close_of(start) > now { now.plus_micros(-1) } else { terms.close_of(start) },
            ends_at: terms.close_of(end),
            earning: loan.plan.earning(&plan.policy, &plan.dates, instalment),
            principal: boarded.principal,
            accrued: 0,
            reduced: 0,
            through: today.clamp(start, end),
            fixed: (plan.policy.interest == InterestMethod::Periodic).then_some(Cents::ZERO),
            recognised: Cents::ZERO,
            parts: 0,
        };
    }

    /// Carried interest, and the interest of the open period until now.
    fn board_interest(&mut self, open: u32, boarded: &Boarded) -> Result<(), FoldError> {
        for (part, amount) in
            [(OpeningPart::Carried, boarded.carried_interest), (OpeningPart::Accrued, boarded.accrued_interest)]
        {
            self.add_opening_interest(part, amount)?;
            // `assign_interest` counts the interest itself.
            self.loan().interest -= amount;
            self.assign_interest(open, amount);
        }
        self.loan().period.recognised = boarded.accrued_interest;
        Ok(())
    }

    fn board_fees(&mut self, boarded: &Boarded) -> Result<(), FoldError> {
        for fee in &boarded.fees {
            self.admit(fee.amount)?;
            let id = ItemId::Input(fee.name.clone());
            let debt = self.add_debt(id, ItemKind::ManualFee, fee.amount, Component::Fee, self.place.at);
            let row = boarded.past_due.iter().position(|row| Some(row.due_date) == fee.due_date);
            let instalment = row.unwrap_or(boarded.past_due.len()) as u32 + 1;
            let loan = self.loan();
            loan.row_mut(instalment).fees += fee.amount;
            loan.fees.push(OpenFee { debt, class: fee.class, instalment });
        }
        Ok(())
    }

    /// Late fees: the rows whose fee moment lies before the opening have been judged.
    fn board_late_fees(&mut self, boarded: &Boarded) {
        let now = self.place.at;
        let open = boarded.past_due.len() as u32 + 1;
        let first = |run: &Self, tier: usize| (1..=open).find(|row| run.fee_moment(*row, tier) >= now).unwrap_or(open);
        let late_row = first(self, 0);
        self.begin_late_fees(late_row);
        for tier in 1..=self.state.loan().late_fees.tiers.len() {
            let row = first(self, tier);
            let at = self.fee_moment(row, tier);
            self.loan().late_fees.tiers[tier - 1] = TierMoment { row, at };
        }
        let loan = self.loan();
        for row in 1..late_row {
            loan.row_mut(row).grace_result = Some(GraceResult::Late);
        }
        loan.late_count = boarded.consecutive_late_fees;
        loan.late_fees.charged = boarded.late_fees_charged;
        loan.boarded = BoardedPast { judged: late_row - 1, late_count: boarded.consecutive_late_fees };
        // What was received since the last due date counts for the rows that are still in grace.
        if boarded.received_since_due.is_positive() && late_row < open {
            loan.receipts.push(Receipt::before_opening(boarded.received_since_due, open - 1));
        }
    }
}
