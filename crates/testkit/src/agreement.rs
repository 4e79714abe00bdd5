//! The contract and the boarded balances of an account from the API's JSON.

use crate::exchange_changes::cents_or_zero;
use crate::product::{cents, day, time};
use daybook_engine::contract::{
    Agreed, Boarded, BoardedFee, BoardedRow, Contract, ContractAmounts, PaidToDate, ScheduledAmount, ScheduledRow,
};
use daybook_engine::item::Name;
use daybook_engine::status::Status;
use daybook_engine::timeline::FeeClass;
use serde_json::Value;

/// What an account agrees beyond its product.
pub fn agreed(account: &Value) -> Result<Agreed, String> {
    let opening = &account["opening"];
    let boarded = if opening.is_null() { None } else { Some(Box::new(boarded(opening)?)) };
    let of = |field: &str| if opening[field].is_null() { &account[field] } else { &opening[field] };
    let amounts = if !of("schedule").is_null() {
        ContractAmounts::Schedule(schedule(of("schedule"))?)
    } else if let Some(amount) = cents(of("payment_amount_cents")) {
        ContractAmounts::Payment(amount)
    } else if let Some(balloon) = cents(&account["balloon_cents"]) {
        ContractAmounts::Balloon(balloon)
    } else if let Some(count) = account["amortization_cycles"].as_u64() {
        ContractAmounts::AmortizedOver(count as u32)
    } else {
        ContractAmounts::Computed
    };
    Ok(Agreed { contract: Contract { amounts, first_due_date: day(&account["first_due_date"])? }, boarded })
}

fn schedule(value: &Value) -> Result<Vec<ScheduledRow>, String> {
    let row = |one: &Value| {
        let amount = match (cents(&one["amount_cents"]), cents(&one["principal_cents"])) {
            (Some(total), _) => ScheduledAmount::Total(total),
            (None, Some(principal)) => ScheduledAmount::Principal(principal),
            (None, None) => ScheduledAmount::Rest,
        };
        Ok(ScheduledRow { due_date: day(&one["due_date"])?.ok_or("due_date is missing")?, amount })
    };
    value.as_array().into_iter().flatten().map(row).collect()
}

fn boarded(opening: &Value) -> Result<Boarded, String> {
    let row = |one: &Value| {
        let (principal, interest) = (cents_or_zero(&one["principal_cents"]), cents_or_zero(&one["interest_cents"]));
        let total = cents(&one["total_cents"]).unwrap_or(principal + interest);
        Ok::<_, String>(BoardedRow {
            due_date: day(&one["due_date"])?.ok_or("due_date is missing")?,
            principal,
            interest,
            total,
        })
    };
    let fee = |one: &Value| {
        Ok::<_, String>(BoardedFee {
            name: Name::from(one["line_item_id"].as_str().ok_or("line_item_id is missing")?),
            amount: cents_or_zero(&one["amount_cents"]),
            class: if one["fee_class"] == "PENALTY" { FeeClass::Penalty } else { FeeClass::Fee },
            effective_at: if one["effective_at"].is_null() { None } else { Some(time(&one["effective_at"])?) },
            due_date: day(&one["due_date"])?,
        })
    };
    let list = |field: &str| opening[field].as_array().cloned().unwrap_or_default();
    let paid = &opening["paid_to_date"];
    let status = match opening["account_status"].as_str() {
        None => Some(Status::ACTIVE),
        Some(standing) => Status::parse(standing, opening["account_substatus"].as_str()),
    };
    Ok(Boarded {
        as_of: time(&opening["as_of"])?,
        principal: cents_or_zero(&opening["principal_cents"]),
        next_due_date: day(&opening["next_due_date"])?.ok_or("next_due_date is missing")?,
        remaining_instalments: opening["remaining_installments"].as_u64().map(|count| count as u32),
        past_due: list("past_due").iter().map(row).collect::<Result<_, _>>()?,
        carried_interest: cents_or_zero(&opening["carried_interest_cents"]),
        accrued_interest: cents_or_zero(&opening["accrued_interest_cents"]),
        accrued_from: day(&opening["accrued_from"])?,
        fees: list("fees").iter().map(fee).collect::<Result<_, _>>()?,
        paid_to_date: PaidToDate {
            principal: cents_or_zero(&paid["principal_cents"]),
            interest: cents_or_zero(&paid["interest_cents"]),
            fees: cents_or_zero(&paid["fees_cents"]),
        },
        received_since_due: cents_or_zero(&opening["received_since_due_cents"]),
        consecutive_late_fees: opening["consecutive_late_fees"].as_u64().unwrap_or(0) as u32,
        late_fees_charged: cents_or_zero(&opening["late_fees_charged_cents"]),
        surplus: cents_or_zero(&opening["surplus_cents"]),
        original_principal: cents(&opening["original_principal_cents"]),
        status: status.ok_or("no such pair of statuses")?,
    })
}
