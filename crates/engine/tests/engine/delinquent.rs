//! Late instalments in a row: delinquent, cured, charged off.

use super::support::{Loan, ask, at, dated_events, events, item, items, loan, pay, rows, standing};
use daybook_engine::installment::{Bucket, InterestMethod};
use daybook_engine::money::Cents;
use daybook_engine::status::Status;
use daybook_engine::timeline::Input;
use daybook_testkit::book::Book;

fn plain() -> Loan {
    loan().fees_first().with(|policy| policy.interest = InterestMethod::Periodic)
}

/// Checks the status and the number of late instalments in a row, at noon on the 21st of each month, after the grace.
fn check(book: &mut Book, months: &[(&str, &str, u32)]) {
    for (date, status, late) in months {
        book.roll(at(&format!("{date}T16:00:00Z")));
        assert_eq!((book.state.status.to_string().as_str(), book.state.loan().late_count), (*status, *late), "{date}");
    }
}

/// A fee of zero creates no item, but the instalment is late.
#[test]
fn a_fee_of_nothing_counts() {
    let mut book = plain().with(|policy| policy.late_fee.flat = Cents::ZERO).open();
    book.events.clear();
    check(&mut book, &[("2025-02-21", "SUSPENDED/DELINQUENT", 1)]);
    assert_eq!(
        events(&mut book),
        [
            "line_item_create dbk_interest_1",
            "due_date_passed 1 unpaid",
            "payment_missed 1",
            "account_status_change ACTIVE>SUSPENDED/DELINQUENT",
        ]
    );
    assert_eq!(items(&book), ["dbk_loan 1200.00 left 1200.00", "dbk_interest_1 12.00 left 12.00"]);
}

/// Delinquent at the third in a row, and not announced again at the fourth.
#[test]
fn after_so_many_in_a_row() {
    let mut book = plain().with(|policy| policy.delinquent_after = 3).open();
    check(&mut book, &[("2025-02-21", "ACTIVE", 1), ("2025-03-21", "ACTIVE", 2)]);
    check(&mut book, &[("2025-04-21", "SUSPENDED/DELINQUENT", 3)]);
    book.events.clear();
    check(&mut book, &[("2025-05-21", "SUSPENDED/DELINQUENT", 4)]);
    let told = ["line_item_create dbk_interest_4", "due_date_passed 4 unpaid", "payment_missed 4"];
    assert_eq!(events(&mut book), [&told[..], &["line_item_create dbk_late_fee_4"]].concat());
}

/// Once nothing is past due the account is active again and its count restarts. On 02-22 that takes 15.00 of fee
/// (due, and first in the order), 12.00 + 12.00 of interest and 94.62 of principal: 133.62; a cent less leaves a cent
/// past due.
#[test]
fn cured() {
    let mut short = plain().open();
    pay(&mut short, "p", 13_361, "2025-02-22T12:00:00-05:00");
    let owes = "owes 1105.39 + 0.00 + 0.00, past due 0.01, 7 days, 1 late";
    assert_eq!(standing(&short), format!("SUSPENDED/DELINQUENT {owes}"));

    let mut book = plain().with(|policy| policy.delinquent_after = 2).open();
    check(&mut book, &[("2025-02-21", "ACTIVE", 1)]);
    pay(&mut book, "p", 13_362, "2025-02-22T12:00:00-05:00");
    assert_eq!(standing(&book), "ACTIVE owes 1105.38 + 0.00 + 0.00");
    // Row 2 is spared, because 133.62 was received since the first due moment; rows 3 and 4 are late.
    check(&mut book, &[("2025-03-21", "ACTIVE", 0), ("2025-04-21", "ACTIVE", 1)]);
    check(&mut book, &[("2025-05-21", "SUSPENDED/DELINQUENT", 2)]);
}

/// An instalment that is paid when its grace ends breaks the run, even if an older one is still unpaid. Here due
/// amounts are paid before past-due ones, so row 2 is paid and row 1 is not.
#[test]
fn broken_by_an_instalment_that_is_paid() {
    let order = ["DUE_INTEREST", "DUE_PRINCIPAL"].map(|name| Bucket::parse(name).unwrap());
    let terms = plain().with(|policy| (policy.order, policy.delinquent_after) = (order.to_vec(), 2));
    let mut book = terms.open();
    check(&mut book, &[("2025-02-21", "ACTIVE", 1)]);
    pay(&mut book, "p", 10_662, "2025-02-22T12:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -106.62: 12.00 dbk_interest_2.1, 94.62 dbk_loan");
    check(&mut book, &[("2025-03-20", "ACTIVE", 1), ("2025-03-21", "ACTIVE", 0)]);
    assert_eq!(book.state.loan().oldest_past_due(), Some(1));
    check(&mut book, &[("2025-04-21", "ACTIVE", 1), ("2025-05-21", "SUSPENDED/DELINQUENT", 2)]);
}

/// Daily interest, charged off at the second late instalment, 2025-03-20. Each period earned 12.00 on the unpaid
/// 1200.00; the third has earned 5 of 31 days (the 20th excluded): 1.9355. The noted amount is the amount owed:
/// 1200.00 + 12.00 + 12.00 + 1.94 + 2 x 15.00 = 1255.94. It stays owed, and nothing is added later.
#[test]
fn charged_off() {
    let mut book = loan().with(|policy| policy.charge_off_after = 2).open();
    book.roll(at("2025-03-20T12:00:00-04:00"));
    book.events.clear();
    book.roll(at("2025-03-21T12:00:00-04:00"));
    assert_eq!(
        dated_events(&mut book),
        [
            "03-20 23:59:59 line_item_create dbk_late_fee_2",
            "03-20 23:59:59 line_item_create dbk_interest_3.1",
            "03-20 23:59:59 line_item_create dbk_charge_off_1",
            "03-20 23:59:59 account_status_change SUSPENDED/DELINQUENT>CLOSED/CHARGE_OFF",
            "03-20 23:59:59 account_closed",
        ]
    );
    let told = [
        "dbk_loan 1200.00 left 1200.00",
        "dbk_interest_1 12.00 left 12.00",
        "dbk_interest_2 12.00 left 12.00",
        "dbk_interest_3.1 1.94 left 1.94",
        "dbk_late_fee_1 15.00 left 15.00",
        "dbk_late_fee_2 15.00 left 15.00",
        "dbk_charge_off_1 1255.94",
    ];
    assert_eq!(items(&book), told);
    // Rows 1 and 2 and the fee in row 2's period are past due; 02-15 is 34 days ago.
    let owes = "CLOSED/CHARGE_OFF owes 1200.00 + 25.94 + 30.00, past due 228.24, 34 days, 2 late";
    assert_eq!(standing(&book), owes);
    // Later rows have no interest except the 1.94: row 3 is 106.62 - 1.94 = 104.68, row 4 all principal.
    assert_eq!(rows(&book)[2], "3 2025-04-15: 1.94 + 104.68, end 906.08, fees 15.00");
    assert_eq!(rows(&book)[3], "4 2025-05-15: 0.00 + 106.62, end 799.46");

    book.roll(at("2025-12-01T12:00:00-05:00"));
    assert_eq!(events(&mut book), [""; 0]);
    assert_eq!(items(&book), told);
    assert_eq!(book.state.balances().owed(), Cents(125_594));
}

/// Payments are still accepted: on 03-22 the fee of row 2 is past due and the fee of row 3 due; then interest by age,
/// then 100.00 - 30.00 - 25.94 = 44.06 of principal. Fully paid, the account keeps its status.
#[test]
fn paying_after_a_charge_off() {
    let mut book = loan().fees_first().with(|policy| policy.charge_off_after = 2).open();
    pay(&mut book, "p", 10_000, "2025-03-22T12:00:00-04:00");
    let fees = "15.00 dbk_late_fee_1, 15.00 dbk_late_fee_2";
    let interest = "12.00 dbk_interest_1, 12.00 dbk_interest_2, 1.94 dbk_interest_3.1";
    assert_eq!(item(&book, "p"), format!("p -100.00: {fees}, {interest}, 44.06 dbk_loan"));
    pay(&mut book, "q", 115_594, "2025-03-23T12:00:00-04:00");
    assert_eq!(book.state.status, Status::CHARGED_OFF);
    assert_eq!(book.state.balances().owed(), Cents::ZERO);
    assert_eq!(book.state.surplus, Cents::ZERO);
}

/// Both thresholds at once: the charge-off wins.
#[test]
fn charged_off_at_the_first() {
    let mut book = plain().with(|policy| policy.charge_off_after = 1).open();
    check(&mut book, &[("2025-02-21", "CLOSED/CHARGE_OFF", 1)]);
    // The second period's interest was fixed at its start: it is owed in full.
    assert_eq!(item(&book, "dbk_charge_off_1"), "dbk_charge_off_1 1239.00");
}

/// A status that a person set stays: neither delinquency nor charge-off nor cure nor payoff changes
/// `SUSPENDED/RISK_REVIEW`. Fees are charged and late instalments count nevertheless.
#[test]
fn what_a_person_set_is_not_moved() {
    let review = Status::parse("SUSPENDED", Some("RISK_REVIEW")).unwrap();
    let mut book = plain().with(|policy| policy.charge_off_after = 2).open();
    ask(&mut book, "s", "2025-02-01T12:00:00-05:00", Input::Status(review)).unwrap();
    check(&mut book, &[("2025-02-21", "SUSPENDED/RISK_REVIEW", 1), ("2025-03-21", "SUSPENDED/RISK_REVIEW", 2)]);
    assert_eq!(item(&book, "dbk_late_fee_2"), "dbk_late_fee_2 15.00 left 15.00");
    // 30.00 + 3 x 12.00 + 1200.00 is everything; the rest is kept.
    pay(&mut book, "p", 126_700, "2025-03-22T12:00:00-04:00");
    assert_eq!(standing(&book), "SUSPENDED/RISK_REVIEW owes 0.00 + 0.00 + 0.00, surplus 1.00");
}

/// `ACTIVE` with relief is active: it becomes delinquent automatically.
#[test]
fn relief_does_not_stop_delinquency() {
    let relief = Status::parse("ACTIVE", Some("HARDSHIP/EXEMPTIONS")).unwrap();
    let mut book = plain().open();
    ask(&mut book, "s", "2025-02-01T12:00:00-05:00", Input::Status(relief)).unwrap();
    check(&mut book, &[("2025-02-20", "ACTIVE/HARDSHIP/EXEMPTIONS", 0), ("2025-02-21", "SUSPENDED/DELINQUENT", 1)]);
}
