//! An account's contract and opening balances as the fields of the request that would create the account.

use crate::form::fields::*;
use crate::form::{OpeningBalances, OpeningFee, PaidToDate, PastDueInstallment, ScheduledInstallment};
use daybook_engine::contract::{Agreed, Boarded, ContractAmounts, ScheduledAmount, ScheduledRow};
use daybook_engine::money::Cents;
use serde::Serialize;

/// The fields of a request that creates an account.
#[derive(Debug, Default, Serialize)]
pub struct ContractFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_amount_cents: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    balloon_cents: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    amortization_cycles: Option<PositiveCount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_due_date: Option<DateText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<Vec<ScheduledInstallment>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opening: Option<OpeningBalances>,
}

impl ContractFields {
    /// The fields of a contract.
    pub fn of(agreed: &Agreed) -> ContractFields {
        let mut fields = ContractFields {
            first_due_date: agreed.contract.first_due_date.map(DateText::known),
            opening: agreed.boarded.as_deref().map(opening),
            ..ContractFields::default()
        };
        match &agreed.contract.amounts {
            ContractAmounts::Computed => {}
            ContractAmounts::Payment(payment) => fields.payment_amount_cents = Some(Amount::known(*payment)),
            ContractAmounts::Balloon(balloon) => fields.balloon_cents = Some(Amount::known(*balloon)),
            ContractAmounts::AmortizedOver(rows) => fields.amortization_cycles = Some(PositiveCount::known(*rows)),
            ContractAmounts::Schedule(rows) => fields.schedule = Some(rows.iter().map(scheduled).collect()),
        }
        fields
    }
}

fn scheduled(row: &ScheduledRow) -> ScheduledInstallment {
    let (total, principal) = match row.amount {
        ScheduledAmount::Total(total) => (Some(total), None),
        ScheduledAmount::Principal(principal) => (None, Some(principal)),
        ScheduledAmount::Rest => (None, None),
    };
    ScheduledInstallment {
        due_date: DateText::known(row.due_date),
        amount_cents: total.map(AmountOrZero::known),
        principal_cents: principal.map(AmountOrZero::known),
    }
}

/// An amount; `None` if it is zero.
fn some(amount: Cents) -> Option<AmountOrZero> {
    (!amount.is_zero()).then(|| AmountOrZero::known(amount))
}

fn opening(boarded: &Boarded) -> OpeningBalances {
    let past_due = boarded.past_due.iter().map(|row| PastDueInstallment {
        due_date: DateText::known(row.due_date),
        principal_cents: some(row.principal),
        interest_cents: some(row.interest),
        total_cents: some(row.total),
    });
    let fees = boarded.fees.iter().filter_map(|fee| {
        Some(OpeningFee {
            line_item_id: Id::read(&fee.name).ok()?,
            amount_cents: Amount::known(fee.amount),
            fee_class: Some(fee.class.into()),
            effective_at: fee.effective_at.map(Moment::known),
            due_date: fee.due_date.map(DateText::known),
        })
    });
    let paid = &boarded.paid_to_date;
    OpeningBalances {
        as_of: Moment::known(boarded.as_of),
        principal_cents: Amount::known(boarded.principal),
        next_due_date: DateText::known(boarded.next_due_date),
        remaining_installments: boarded.remaining_instalments.map(InstalmentCount::known),
        // It is the contract's payment.
        payment_amount_cents: None,
        past_due: Some(past_due.collect()),
        carried_interest_cents: some(boarded.carried_interest),
        accrued_interest_cents: some(boarded.accrued_interest),
        accrued_from: boarded.accrued_from.map(DateText::known),
        fees: Some(fees.collect()),
        paid_to_date: Some(PaidToDate {
            principal_cents: some(paid.principal),
            interest_cents: some(paid.interest),
            fees_cents: some(paid.fees),
        }),
        received_since_due_cents: some(boarded.received_since_due),
        consecutive_late_fees: Some(Count::known(boarded.consecutive_late_fees)),
        late_fees_charged_cents: some(boarded.late_fees_charged),
        surplus_cents: some(boarded.surplus),
        original_principal_cents: boarded.original_principal.map(Amount::known),
        account_status: Some(boarded.status.standing().into()),
        account_substatus: boarded.status.reason().map(Into::into),
    }
}
