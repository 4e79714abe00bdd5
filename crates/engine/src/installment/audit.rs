//! Checks that the two ledgers of a loan agree and that no balance is negative.

use super::loan::Loan;
use crate::money::Cents;
use crate::state::State;
use alloc::format;
use alloc::string::String;

/// Checks the invariants of a state.
pub fn audit(state: &State) -> Result<(), String> {
    let loan = state.loan();
    let of_items = loan.principal_items.iter().map(|item| item.balance).sum();
    agree("principal", loan.principal, "its items", of_items)?;
    let of_items = loan.interest_items.iter().map(|item| item.balance).sum();
    agree("interest", loan.interest, "its items", of_items)?;
    let of_lots = loan.surplus_lots.iter().map(|lot| lot.left).sum();
    agree("surplus", state.surplus, "its sources", of_lots)?;
    let of_rows = loan.rows.iter().map(|row| row.unpaid_interest()).sum();
    agree("interest", loan.interest, "the rows", of_rows)?;
    let posted = loan.rows.iter().filter(|row| row.posted);
    let of_rows = posted.map(|row| row.unpaid_principal()).sum();
    agree("posted unpaid principal", loan.posted_unpaid, "the rows", of_rows)?;
    let free = loan.rows.iter().map(|row| row.interest_free).sum();
    agree("principal free of interest", loan.interest_free, "the rows", free)?;
    if let Some(row) = loan.rows.iter().find(|row| row.retired && row.posted && !row.unpaid().is_zero()) {
        return Err(format!("a retired row has {} unpaid", row.unpaid()));
    }
    let not_posted: Cents = loan.rows.iter().filter(|row| !row.posted).map(|row| row.principal_paid).sum();
    let scheduled = loan.posted_principal + not_posted + loan.unscheduled();
    if scheduled > loan.lent {
        return Err(format!("the rows schedule {scheduled} of principal, but {} was lent", loan.lent));
    }
    no_negative(state, loan)
}

fn agree(what: &str, here: Cents, whose: &str, there: Cents) -> Result<(), String> {
    if here == there { Ok(()) } else { Err(format!("{what} is {here}, but {whose} add up to {there}")) }
}

fn no_negative(state: &State, loan: &Loan) -> Result<(), String> {
    let balances = [
        ("surplus", state.surplus),
        ("total paid", state.paid_total),
        ("interest paid", state.interest_paid_total),
        ("principal", loan.principal),
        ("interest", loan.interest),
        ("unscheduled principal", loan.unscheduled()),
    ];
    let fees = loan.fees.iter().map(|fee| ("a fee", fee.debt.balance));
    let items = loan.principal_items.iter().chain(&loan.interest_items).map(|item| ("an item", item.balance));
    let rows = loan.rows.iter().flat_map(|row| {
        [
            ("a row's interest", row.interest),
            ("a row's interest paid", row.interest_paid),
            ("a row's unpaid interest", row.unpaid_interest()),
            ("a row's principal", row.principal),
            ("a row's principal paid", row.principal_paid),
            ("a row's unpaid principal", if row.posted { row.unpaid_principal() } else { Cents::ZERO }),
            ("a row's share of the end", row.tail),
            ("a row's extra", row.extra),
        ]
    });
    match balances.into_iter().chain(fees).chain(items).chain(rows).find(|(_, cents)| *cents < Cents::ZERO) {
        Some((what, cents)) => Err(format!("{what} is {cents}")),
        None => Ok(()),
    }
}
