//! What an account's contract says: its amounts, its dates, the balances that it begins with.
//!
//! Every rule that a field breaks by itself or together with another one is reported at once. The engine checks what
//! depends on the whole plan.

use super::PRINCIPAL;
use crate::form::fields::*;
use crate::form::{FieldProblem, NewAccount, OpeningBalances, ScheduledInstallment};
use daybook_engine::calendar::Day;
use daybook_engine::contract::{
    Agreed, Boarded, BoardedFee, BoardedRow, Contract, ContractAmounts, PaidToDate, ScheduledAmount, ScheduledRow,
};
use daybook_engine::installment::{InstallmentPolicy, Method};
use daybook_engine::item::Name;
use daybook_engine::money::Cents;
use daybook_engine::status::{AccountStanding, Status};
use daybook_engine::terms::Opening;
use daybook_engine::time::Time;
use daybook_engine::timeline::FeeClass;
use daybook_engine::zone::Zone;

/// An account and the rules it breaks.
struct Checked<'a> {
    account: &'a NewAccount,
    policy: &'a InstallmentPolicy,
    zone: &'a Zone,
    effective_at: Time,
    broken: Vec<FieldProblem>,
}

/// The opening of an account: date, principal, contract and balances.
pub(super) fn opening_of(
    account: &NewAccount,
    policy: &InstallmentPolicy,
    zone: &Zone,
    effective_at: Time,
) -> Result<Opening, Vec<FieldProblem>> {
    let mut checked = Checked { account, policy, zone, effective_at, broken: Vec::new() };
    let principal = checked.principal();
    let origination_fee = account.summary.as_ref().and_then(|summary| summary.origination_fee_cents);
    let amounts = checked.amounts(principal);
    let first_due_date = checked.first_due_date();
    let boarded = account.opening.as_ref().map(|opening| Box::new(checked.boarded(opening)));
    if !checked.broken.is_empty() {
        return Err(checked.broken);
    }
    let mut opening = Opening::new(effective_at, principal, origination_fee.map_or(Cents::ZERO, AmountOrZero::get));
    opening.agreed = Agreed { contract: Contract { amounts, first_due_date }, boarded };
    Ok(opening)
}

fn day(text: &Option<DateText>) -> Option<Day> {
    text.as_ref().map(|text| *text.get())
}

fn cents(amount: Option<AmountOrZero>) -> Cents {
    amount.map_or(Cents::ZERO, AmountOrZero::get)
}

impl Checked<'_> {
    fn refuse(&mut self, field: impl Into<String>, rule: impl Into<String>) {
        self.broken.push(FieldProblem::new(field, rule));
    }

    /// The sum lent, or all unpaid principal of a loan that begins with its balances.
    fn principal(&mut self) -> Cents {
        let summary = self.account.summary.as_ref();
        let given = summary.and_then(|summary| summary.initial_principal_cents);
        if let Some(opening) = &self.account.opening {
            if given.is_some() {
                self.refuse(PRINCIPAL, "must be absent with opening, which has principal_cents");
            }
            if summary.is_some_and(|summary| summary.origination_fee_cents.is_some()) {
                let rule = "must be absent with opening, which lists the unpaid fees";
                self.refuse("summary.origination_fee_cents", rule);
            }
            return opening.principal_cents.get();
        }
        if given.is_none() {
            self.refuse(PRINCIPAL, "is required");
        }
        given.map_or(Cents::ZERO, Amount::get)
    }

    fn amounts(&mut self, principal: Cents) -> ContractAmounts {
        let account = self.account;
        let of_opening = account.opening.as_ref().and_then(|opening| opening.payment_amount_cents);
        let given = [
            ("payment_amount_cents", account.payment_amount_cents.is_some()),
            ("balloon_cents", account.balloon_cents.is_some()),
            ("amortization_cycles", account.amortization_cycles.is_some()),
            ("schedule", account.schedule.is_some()),
            ("opening.payment_amount_cents", of_opening.is_some()),
        ];
        let given: Vec<&str> = given.iter().filter(|(_, is_given)| *is_given).map(|(field, _)| *field).collect();
        for later in given.iter().skip(1) {
            self.refuse(*later, format!("must be absent with {}", given[0]));
        }
        if self.policy.method != Method::Level
            && let Some(first) = given.first()
        {
            self.refuse(*first, "needs the method LEVEL (amortization_policies of the product)");
        }
        if let Some(balloon) = account.balloon_cents
            && balloon.get() > principal
        {
            self.refuse("balloon_cents", "must not be more than the principal");
        }
        if let Some(cycles) = account.amortization_cycles {
            let rows = account.opening.as_ref().and_then(|opening| opening.remaining_installments);
            let rows = rows.map_or(self.policy.instalments, InstalmentCount::get);
            if cycles.get() <= rows {
                self.refuse("amortization_cycles", format!("must be more than the number of instalments, {rows}"));
            }
        }
        let listed = account.schedule.as_ref().map(|rows| self.schedule(rows));
        if let Some(payment) = account.payment_amount_cents.or(of_opening) {
            ContractAmounts::Payment(payment.get())
        } else if let Some(balloon) = account.balloon_cents {
            ContractAmounts::Balloon(balloon.get())
        } else if let Some(cycles) = account.amortization_cycles {
            ContractAmounts::AmortizedOver(cycles.get())
        } else {
            listed.map_or(ContractAmounts::Computed, ContractAmounts::Schedule)
        }
    }

    fn schedule(&mut self, rows: &[ScheduledInstallment]) -> Vec<ScheduledRow> {
        if rows.is_empty() {
            self.refuse("schedule", "must have at least one instalment");
        }
        let begins_on = match &self.account.opening {
            Some(opening) => self.zone.day_at(*opening.as_of.get()),
            None => self.zone.day_at(self.effective_at),
        };
        let mut before: Option<Day> = None;
        let mut listed = Vec::with_capacity(rows.len());
        for (index, row) in rows.iter().enumerate() {
            let due_date = *row.due_date.get();
            let field = format!("schedule[{index}].due_date");
            match before {
                Some(before) if due_date <= before => self.refuse(field, "must be later than that of the row before"),
                None if due_date < begins_on => self.refuse(field, "must not be before the account's date"),
                _ => {}
            }
            before = Some(due_date);
            let amount = match (row.amount_cents, row.principal_cents) {
                _ if index + 1 == rows.len() => ScheduledAmount::Rest,
                (Some(total), None) => ScheduledAmount::Total(total.get()),
                (None, Some(principal)) => ScheduledAmount::Principal(principal.get()),
                (Some(_), Some(_)) => {
                    self.refuse(format!("schedule[{index}].principal_cents"), "must be absent with amount_cents");
                    ScheduledAmount::Rest
                }
                (None, None) => {
                    self.refuse(format!("schedule[{index}].amount_cents"), "or principal_cents is required");
                    ScheduledAmount::Rest
                }
            };
            listed.push(ScheduledRow { due_date, amount });
        }
        listed
    }

    fn first_due_date(&mut self) -> Option<Day> {
        let first = day(&self.account.first_due_date)?;
        let own_cycle = self.account.cycle_type.as_ref().and_then(|cycle| cycle.first_cycle_interval.as_ref());
        if self.account.schedule.is_some() {
            self.refuse("schedule", "must be absent with first_due_date");
        }
        if self.account.opening.is_some() {
            self.refuse("first_due_date", "must be absent with opening, which has next_due_date");
        }
        if own_cycle.is_some() {
            self.refuse("cycle_type.first_cycle_interval", "must be absent with first_due_date");
        } else if self.policy.first_cycle.is_some() {
            self.refuse("first_due_date", "must be absent: the product has a first_cycle_interval");
        }
        if first < self.zone.day_at(self.effective_at) {
            self.refuse("first_due_date", "must not be before the account's date");
        }
        if let Some(days) = self.policy.semi_monthly
            && !falls_on_one_of(first, days)
        {
            let [one, other] = days;
            self.refuse("first_due_date", format!("must fall on day {one} or {other} of a month (semi_monthly_days)"));
        }
        Some(first)
    }

    fn boarded(&mut self, opening: &OpeningBalances) -> Boarded {
        if matches!(self.policy.method, Method::Flat | Method::Precomputed) {
            self.refuse("opening", "is not possible: the interest of this product is fixed");
        }
        let as_of = *opening.as_of.get();
        let today = self.zone.day_at(as_of);
        if as_of < self.effective_at {
            self.refuse("opening.as_of", "must not be before effective_at");
        }
        let next_due_date = *opening.next_due_date.get();
        if next_due_date < today {
            self.refuse("opening.next_due_date", "must not be before the date of as_of");
        }
        self.check_rows_to_come(opening, next_due_date);
        let past_due = self.past_due(opening, today, next_due_date);
        let accrued_from = day(&opening.accrued_from);
        if accrued_from.is_some_and(|from| from > today) {
            self.refuse("opening.accrued_from", "must not be after the date of as_of");
        }
        let fees = self.fees(opening, &past_due, next_due_date);
        let paid = opening.paid_to_date.clone().unwrap_or_default();
        Boarded {
            as_of,
            principal: opening.principal_cents.get(),
            next_due_date,
            remaining_instalments: opening.remaining_installments.map(InstalmentCount::get),
            past_due,
            carried_interest: cents(opening.carried_interest_cents),
            accrued_interest: cents(opening.accrued_interest_cents),
            accrued_from,
            fees,
            paid_to_date: PaidToDate {
                principal: cents(paid.principal_cents),
                interest: cents(paid.interest_cents),
                fees: cents(paid.fees_cents),
            },
            received_since_due: cents(opening.received_since_due_cents),
            consecutive_late_fees: opening.consecutive_late_fees.map_or(0, Count::get),
            late_fees_charged: cents(opening.late_fees_charged_cents),
            surplus: cents(opening.surplus_cents),
            original_principal: opening.original_principal_cents.map(Amount::get),
            status: self.status(opening),
        }
    }

    fn check_rows_to_come(&mut self, opening: &OpeningBalances, next_due_date: Day) {
        let first_listed = self.account.schedule.as_ref().and_then(|rows| rows.first()).map(|row| *row.due_date.get());
        match (first_listed, opening.remaining_installments) {
            (None, None) => self.refuse("opening.remaining_installments", "is required without a schedule"),
            (Some(_), Some(_)) => self.refuse("opening.remaining_installments", "must be absent with a schedule"),
            _ => {}
        }
        if first_listed.is_some_and(|first| first != next_due_date) {
            self.refuse("opening.next_due_date", "must be the first due date of the schedule");
        }
    }

    fn past_due(&mut self, opening: &OpeningBalances, today: Day, next_due_date: Day) -> Vec<BoardedRow> {
        let mut rows: Vec<BoardedRow> = Vec::new();
        for (index, row) in opening.past_due.iter().flatten().enumerate() {
            let due_date = *row.due_date.get();
            let field = format!("opening.past_due[{index}].due_date");
            if rows.last().is_some_and(|before| due_date <= before.due_date) {
                self.refuse(field, "must be later than that of the instalment before");
            } else if due_date > today || due_date >= next_due_date {
                self.refuse(field, "must be before as_of and before next_due_date");
            }
            let (principal, interest) = (cents(row.principal_cents), cents(row.interest_cents));
            let total = row.total_cents.map_or(principal + interest, AmountOrZero::get);
            if total < principal + interest {
                let rule = "must not be less than its unpaid principal and interest";
                self.refuse(format!("opening.past_due[{index}].total_cents"), rule);
            }
            rows.push(BoardedRow { due_date, principal, interest, total });
        }
        if rows.iter().map(|row| row.principal).sum::<Cents>() > opening.principal_cents.get() {
            self.refuse("opening.past_due", "must not have more principal than opening.principal_cents");
        }
        rows
    }

    fn fees(&mut self, opening: &OpeningBalances, past_due: &[BoardedRow], next_due_date: Day) -> Vec<BoardedFee> {
        let mut fees: Vec<BoardedFee> = Vec::new();
        for (index, fee) in opening.fees.iter().flatten().enumerate() {
            let name = Name::from(fee.line_item_id.as_str());
            if fees.iter().any(|earlier| earlier.name == name) {
                self.refuse(format!("opening.fees[{index}].line_item_id"), "is given twice");
            }
            let due_date = day(&fee.due_date);
            let is_row = |day: Day| day == next_due_date || past_due.iter().any(|row| row.due_date == day);
            if due_date.is_some_and(|day| !is_row(day)) {
                let rule = "must be next_due_date or the due date of an instalment in past_due";
                self.refuse(format!("opening.fees[{index}].due_date"), rule);
            }
            let effective_at = fee.effective_at.as_ref().map(|moment| *moment.get());
            if effective_at.is_some_and(|at| at > *opening.as_of.get()) {
                self.refuse(format!("opening.fees[{index}].effective_at"), "must not be after as_of");
            }
            let class = fee.fee_class.map_or(FeeClass::Fee, FeeClass::from);
            fees.push(BoardedFee { name, amount: fee.amount_cents.get(), class, effective_at, due_date });
        }
        fees
    }

    fn status(&mut self, opening: &OpeningBalances) -> Status {
        let standing = opening.account_status.map_or(AccountStanding::Active, Into::into);
        let status = Status::new(standing, opening.account_substatus.map(Into::into));
        status.unwrap_or_else(|| {
            let names: Vec<&str> =
                standing.reasons().iter().map(|reason| reason.map_or("none", |reason| reason.name())).collect();
            let rule = format!("must be one of {} with account_status {}", names.join(", "), standing.name());
            self.refuse("opening.account_substatus", rule);
            Status::ACTIVE
        })
    }
}

/// Whether a date is one of two days of the month; the month's last day takes the place of the days that it lacks.
fn falls_on_one_of(day: Day, days: [u8; 2]) -> bool {
    let (year, month, of_month) = day.ymd();
    let is_last = day.plus_days(1).ymd() != (year, month, of_month + 1);
    days.iter().any(|wanted| {
        let wanted = u32::from(*wanted);
        wanted == of_month || is_last && wanted > of_month
    })
}
