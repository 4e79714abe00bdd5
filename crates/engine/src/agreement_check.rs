//! The rules that the contract and the boarded balances of an account must keep.

use crate::contract::{Boarded, Contract, ContractAmounts, ScheduledAmount, ScheduledRow};
use crate::installment::terms::MOST_INSTALMENTS;
use crate::installment::{InstallmentPolicy, Method};
use crate::money::Cents;
use crate::terms::Opening;
use crate::validation::{Invalid, LATEST, check_amount};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

impl Opening {
    /// The principal that the instalments to come repay.
    pub(crate) fn principal_to_come(&self) -> Cents {
        match &self.agreed.boarded {
            Some(boarded) => boarded.principal - boarded.past_due.iter().map(|row| row.principal).sum(),
            None => self.principal,
        }
    }

    /// Adds every rule that the contract or the boarded balances break to `invalid`.
    pub(crate) fn check_agreed(&self, policy: &InstallmentPolicy, invalid: &mut Vec<Invalid>) {
        self.agreed.contract.check(policy, self.principal_to_come(), invalid);
        if let Some(boarded) = &self.agreed.boarded {
            boarded.check(self, policy, invalid);
        }
    }
}

impl Contract {
    fn check(&self, policy: &InstallmentPolicy, principal: Cents, invalid: &mut Vec<Invalid>) {
        let named = match &self.amounts {
            ContractAmounts::Computed => None,
            ContractAmounts::Payment(amount) => {
                check_amount(invalid, "payment_amount_cents", *amount, Cents(1));
                Some("payment_amount_cents")
            }
            ContractAmounts::Balloon(balloon) => {
                if *balloon < Cents(1) || *balloon > principal {
                    invalid.push(Invalid::new("balloon_cents", "must be from 1 to the principal"));
                }
                Some("balloon_cents")
            }
            ContractAmounts::AmortizedOver(count) => {
                if *count <= policy.instalments || *count > MOST_INSTALMENTS {
                    let rule = format!(
                        "must be more than the number of instalments, {}, up to {MOST_INSTALMENTS}",
                        policy.instalments
                    );
                    invalid.push(Invalid::new("amortization_cycles", rule));
                }
                Some("amortization_cycles")
            }
            ContractAmounts::Schedule(rows) => {
                check_schedule(rows, invalid);
                Some("schedule")
            }
        };
        if let Some(field) = named.filter(|_| policy.method != Method::Level) {
            invalid.push(Invalid::new(field, "is only for amortization method LEVEL"));
        }
        if self.first_due_date.is_some() {
            let has_first_cycle = policy.first_cycle.is_some_and(|interval| !interval.is_zero());
            if matches!(self.amounts, ContractAmounts::Schedule(_)) {
                invalid.push(Invalid::new("first_due_date", "must be absent if a schedule is given"));
            } else if has_first_cycle {
                invalid.push(Invalid::new("first_due_date", "must be absent if first_cycle_interval is given"));
            }
        }
    }
}

fn check_schedule(rows: &[ScheduledRow], invalid: &mut Vec<Invalid>) {
    let mut broken = |rule: String| invalid.push(Invalid::new("schedule", rule));
    if rows.is_empty() || rows.len() > MOST_INSTALMENTS as usize {
        broken(format!("must have from 1 to {MOST_INSTALMENTS} rows"));
    }
    if !rows.is_sorted_by(|a, b| a.due_date < b.due_date) {
        broken("must have rising due dates".into());
    }
    let but_last = rows.len().saturating_sub(1);
    for row in &rows[..but_last] {
        match row.amount {
            ScheduledAmount::Total(amount) | ScheduledAmount::Principal(amount) => {
                check_amount(invalid, "schedule", amount, Cents::ZERO);
            }
            ScheduledAmount::Rest => {
                let rule = "must give amount_cents or principal_cents in each row but the last";
                invalid.push(Invalid::new("schedule", rule));
            }
        }
    }
}

impl Boarded {
    fn check(&self, opening: &Opening, policy: &InstallmentPolicy, invalid: &mut Vec<Invalid>) {
        let mut broken = |field, rule: String| invalid.push(Invalid::new(field, rule));
        if policy.method.keeps_interest() {
            broken("opening", "is not possible for amortization methods FLAT and PRECOMPUTED".into());
        }
        if self.as_of < opening.effective_at {
            broken("opening.as_of", "must not be before the account's effective_at".into());
        }
        let is_listed = matches!(opening.agreed.contract.amounts, ContractAmounts::Schedule(_));
        match self.remaining_instalments {
            Some(_) if is_listed => {
                broken("opening.remaining_installments", "must be absent if a schedule is given".into());
            }
            Some(count) if !(1..=MOST_INSTALMENTS).contains(&count) => {
                broken("opening.remaining_installments", format!("must be from 1 to {MOST_INSTALMENTS}"));
            }
            None if !is_listed => {
                broken("opening.remaining_installments", "is required unless a schedule is given".into());
            }
            _ => {}
        }
        if let ContractAmounts::Schedule(rows) = &opening.agreed.contract.amounts
            && rows.first().is_some_and(|row| row.due_date != self.next_due_date)
        {
            broken("opening.next_due_date", "must be the first due date of the schedule".into());
        }
        if !self.past_due.is_sorted_by(|a, b| a.due_date < b.due_date) {
            broken("opening.past_due", "must have rising due dates".into());
        }
        if self.past_due.last().is_some_and(|row| row.due_date >= self.next_due_date) {
            broken("opening.next_due_date", "must be after the past due dates".into());
        }
        if self.past_due.iter().map(|row| row.principal).sum::<Cents>() > self.principal {
            broken("opening.past_due", "must not have more principal than principal_cents".into());
        }
        for row in &self.past_due {
            if row.total < row.principal + row.interest || !(row.principal + row.interest).is_positive() {
                broken("opening.past_due", "must have an unpaid part, and a total_cents that is not less".into());
            }
        }
        if self.next_due_date > LATEST {
            broken("opening.next_due_date", format!("must not be after {LATEST}"));
        }
        if self.accrued_from.is_some_and(|day| day > self.next_due_date) {
            broken("opening.accrued_from", "must not be after next_due_date".into());
        }
        self.check_amounts(invalid);
    }

    fn check_amounts(&self, invalid: &mut Vec<Invalid>) {
        check_amount(invalid, "opening.principal_cents", self.principal, Cents(1));
        let amounts = [
            ("opening.carried_interest_cents", self.carried_interest),
            ("opening.accrued_interest_cents", self.accrued_interest),
            ("opening.received_since_due_cents", self.received_since_due),
            ("opening.late_fees_charged_cents", self.late_fees_charged),
            ("opening.surplus_cents", self.surplus),
            ("opening.paid_to_date.principal_cents", self.paid_to_date.principal),
            ("opening.paid_to_date.interest_cents", self.paid_to_date.interest),
            ("opening.paid_to_date.fees_cents", self.paid_to_date.fees),
            ("opening.original_principal_cents", self.original_principal.unwrap_or_default()),
        ];
        amounts.into_iter().for_each(|(field, amount)| check_amount(invalid, field, amount, Cents::ZERO));
        for row in &self.past_due {
            check_amount(invalid, "opening.past_due", row.principal, Cents::ZERO);
            check_amount(invalid, "opening.past_due", row.interest, Cents::ZERO);
            check_amount(invalid, "opening.past_due", row.total, Cents::ZERO);
        }
        for fee in &self.fees {
            check_amount(invalid, "opening.fees", fee.amount, Cents(1));
            let is_known = |due| due == self.next_due_date || self.past_due.iter().any(|row| row.due_date == due);
            if fee.due_date.is_some_and(|due| !is_known(due)) {
                invalid.push(Invalid::new("opening.fees", "must have a due_date of past_due, or next_due_date"));
            }
        }
    }
}
