//! The worked example of the rules: 10,000.00 from 2025-01-01 at 12 %, four monthly instalments.
//!
//! The level payment is 10000.00 x 0.01 / (1 - 1.01^-4) = 2562.8109, so 2562.81. Paid on time, the rows are
//!
//! | row | interest | principal | end |
//! |---|---|---|---|
//! | 1 | 10000.00 x 0.01 = 100.00 | 2462.81 | 7537.19 |
//! | 2 | 7537.19 x 0.01 = 75.3719 | 2487.44 | 5049.75 |
//! | 3 | 5049.75 x 0.01 = 50.4975 | 2512.31 | 2537.44 |
//! | 4 | 2537.44 x 0.01 = 25.3744 | 2537.44 | 0.00 |

use super::support::{Loan, at, dated_events, items, loan, pay, rows, standing};
use daybook_engine::money::Cents;

fn example() -> Loan {
    loan().of("2025-01-01T00:00:00-05:00", 1_000_000, 4).with(|policy| policy.late_fee.flat = Cents::ZERO)
}

#[test]
fn the_projection_at_opening() {
    let book = example().open();
    assert_eq!(book.terms.installment().plan.level, Cents(256_281));
    assert_eq!(
        rows(&book),
        [
            "1 2025-02-01: 100.00 + 2462.81, end 7537.19",
            "2 2025-03-01: 75.37 + 2487.44, end 5049.75",
            "3 2025-04-01: 50.50 + 2512.31, end 2537.44",
            "4 2025-05-01: 25.37 + 2537.44, end 0.00",
        ]
    );
}

#[test]
fn opening_announces_the_account_and_its_loan() {
    let mut loan = example();
    loan.origination_fee = 5_000;
    let mut book = loan.open();
    assert_eq!(
        dated_events(&mut book),
        [
            "01-01 00:00:00 account_create",
            "01-01 00:00:00 line_item_create dbk_loan",
            "01-01 00:00:00 line_item_create dbk_orig_fee",
        ]
    );
    assert_eq!(items(&book), ["dbk_loan 10000.00 left 10000.00", "dbk_orig_fee 50.00 left 50.00"]);
    assert_eq!(standing(&book), "ACTIVE owes 10000.00 + 0.00 + 50.00");
}

/// Four payments of 2562.81 on the due dates: the last one pays everything owed, so the account closes with it, and the
/// fourth due date does not fire.
#[test]
fn paid_on_time() {
    let mut book = example().open();
    book.events.clear();
    pay(&mut book, "p1", 256_281, "2025-02-01T09:00:00-05:00");
    pay(&mut book, "p2", 256_281, "2025-03-01T09:00:00-05:00");
    pay(&mut book, "p3", 256_281, "2025-04-01T09:00:00-04:00");
    assert_eq!(
        rows(&book),
        [
            "1 2025-02-01: 100.00 + 2462.81, end 7537.19, paid 2562.81, on time",
            "2 2025-03-01: 75.37 + 2487.44, end 5049.75, paid 2562.81, on time",
            "3 2025-04-01: 50.50 + 2512.31, end 2537.44, paid 2562.81",
            "4 2025-05-01: 25.37 + 2537.44, end 0.00",
        ]
    );
    pay(&mut book, "p4", 256_281, "2025-05-01T09:00:00-04:00");
    book.roll(at("2025-07-01T00:00:00-04:00"));
    assert_eq!(
        dated_events(&mut book),
        [
            "02-01 09:00:00 line_item_create p1",
            "02-01 09:00:00 line_item_create dbk_interest_1.1",
            "02-01 23:59:59 due_date_passed 1 paid",
            "03-01 09:00:00 line_item_create p2",
            "03-01 09:00:00 line_item_create dbk_interest_2.1",
            "03-01 23:59:59 due_date_passed 2 paid",
            "04-01 09:00:00 line_item_create p3",
            "04-01 09:00:00 line_item_create dbk_interest_3.1",
            "04-01 23:59:59 due_date_passed 3 paid",
            "05-01 09:00:00 line_item_create p4",
            "05-01 09:00:00 line_item_create dbk_interest_4.1",
            "05-01 09:00:00 account_status_change ACTIVE>CLOSED/PAID_OFF",
            "05-01 09:00:00 account_closed",
        ]
    );
    assert_eq!(
        items(&book),
        [
            "p1 -2562.81: 100.00 dbk_interest_1.1, 2462.81 dbk_loan",
            "p2 -2562.81: 75.37 dbk_interest_2.1, 2487.44 dbk_loan",
            "p3 -2562.81: 50.50 dbk_interest_3.1, 2512.31 dbk_loan",
            "p4 -2562.81: 25.37 dbk_interest_4.1, 2537.44 dbk_loan",
            "dbk_loan 10000.00",
            "dbk_interest_1.1 100.00",
            "dbk_interest_2.1 75.37",
            "dbk_interest_3.1 50.50",
            "dbk_interest_4.1 25.37",
        ]
    );
    assert_eq!(
        rows(&book),
        [
            "1 2025-02-01: 100.00 + 2462.81, end 7537.19, paid 2562.81, on time",
            "2 2025-03-01: 75.37 + 2487.44, end 5049.75, paid 2562.81, on time",
            "3 2025-04-01: 50.50 + 2512.31, end 2537.44, paid 2562.81, on time",
            "4 2025-05-01: 25.37 + 2537.44, end 0.00, paid 2562.81, on time",
        ]
    );
    assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
    assert_eq!(book.state.paid_total, Cents(1_025_124));
    assert_eq!(book.state.interest_paid_total, Cents(25_124));
}

/// Nothing is paid, so every month earns on all 10000.00: 100.00, and 2562.81 - 100.00 = 2462.81 of principal falls
/// due; the last row takes 10000.00 - 3 x 2462.81 = 2611.57. Days past due count from 2025-02-01: 27 + 31 + 30 + 1.
#[test]
fn nothing_paid() {
    let mut book = example().with(|policy| policy.delinquent_after = 99_999).open();
    book.events.clear();
    book.roll(at("2025-05-01T23:59:59-04:00"));
    assert_eq!(
        rows(&book),
        [
            "1 2025-02-01: 100.00 + 2462.81, end 7537.19, missed",
            "2 2025-03-01: 100.00 + 2462.81, end 5074.38, missed",
            "3 2025-04-01: 100.00 + 2462.81, end 2611.57, missed",
            "4 2025-05-01: 100.00 + 2611.57, end 0.00, missed",
        ]
    );
    let month = |number: u32, date: &str| {
        [
            format!("{date} 23:59:59 line_item_create dbk_interest_{number}"),
            format!("{date} 23:59:59 due_date_passed {number} unpaid"),
            format!("{date} 23:59:59 payment_missed {number}"),
        ]
    };
    let told = [month(1, "02-01"), month(2, "03-01"), month(3, "04-01"), month(4, "05-01")].concat();
    assert_eq!(dated_events(&mut book), told);
    assert_eq!(standing(&book), "ACTIVE owes 10000.00 + 400.00 + 0.00, past due 10400.00, 89 days, 3 late");
}
