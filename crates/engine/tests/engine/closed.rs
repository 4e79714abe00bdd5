//! Closing by hand and reopening: nothing accrues and no moment fires in between.

use super::support::{Loan, ask, at, events, item, loan, pay, pay_for, rows, standing};
use daybook_engine::installment::Method;
use daybook_engine::item::Component;
use daybook_engine::status::Status;
use daybook_engine::timeline::Input;
use daybook_testkit::book::Book;

fn set(book: &mut Book, name: &str, when: &str, standing: &str, reason: Option<&str>) {
    ask(book, name, when, Input::Status(Status::parse(standing, reason).unwrap())).unwrap();
}

/// Closed on 2025-02-01: 17 of 31 days of 12.00, that date excluded, are 6.58 and stay owed.
fn closed(terms: &Loan) -> Book {
    let mut book = terms.open();
    book.events.clear();
    set(&mut book, "close", "2025-02-01T12:00:00-05:00", "CLOSED", Some("CUSTOMER_REQUEST"));
    book
}

#[test]
fn closed_by_hand() {
    let mut book = closed(&loan());
    let told =
        ["line_item_create dbk_interest_1.1", "account_status_change ACTIVE>CLOSED/CUSTOMER_REQUEST", "account_closed"];
    assert_eq!(events(&mut book), told);
    assert_eq!(standing(&book), "CLOSED/CUSTOMER_REQUEST owes 1200.00 + 6.58 + 0.00");
    // A change from one closed status to another closes nothing again.
    set(&mut book, "other", "2025-02-02T12:00:00-05:00", "CLOSED", Some("DECEASED"));
    assert_eq!(events(&mut book), ["account_status_change CLOSED/CUSTOMER_REQUEST>CLOSED/DECEASED"]);
    book.roll(at("2025-06-01T12:00:00-04:00"));
    assert_eq!(events(&mut book), [""; 0]);
    assert_eq!(item(&book, "dbk_interest_1.1"), "dbk_interest_1.1 6.58 left 6.58");
}

/// Reopened on 2025-03-01: row 1 (6.58 + 100.04) is past due without a fee or a missed payment. The second period earns
/// from that day on: 14 of 28 days, 6.00. Row 2 becomes late as usual.
#[test]
fn opened_again_after_a_due_date() {
    let mut book = closed(&loan());
    book.roll(at("2025-02-28T12:00:00-05:00"));
    book.events.clear();
    set(&mut book, "open", "2025-03-01T12:00:00-05:00", "ACTIVE", None);
    assert_eq!(events(&mut book), ["account_status_change CLOSED/CUSTOMER_REQUEST>ACTIVE"]);
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 6.58 + 0.00, past due 106.62, 14 days");
    book.roll(at("2025-03-21T12:00:00-04:00"));
    let told = [
        "line_item_create dbk_interest_2",
        "due_date_passed 2 unpaid",
        "payment_missed 2",
        "line_item_create dbk_late_fee_2",
        "account_status_change ACTIVE>SUSPENDED/DELINQUENT",
    ];
    assert_eq!(events(&mut book), told);
    assert_eq!(
        rows(&book)[..2],
        ["1 2025-02-15: 6.58 + 100.04, end 1099.96, missed", "2 2025-03-15: 6.00 + 100.62, end 999.34, missed",]
    );
}

/// Reopened within row 1's grace: the row fell due while the account was closed, so there is no fee.
#[test]
fn opened_again_within_the_grace() {
    let mut book = closed(&loan());
    set(&mut book, "open", "2025-02-17T12:00:00-05:00", "ACTIVE", None);
    book.events.clear();
    book.roll(at("2025-02-21T12:00:00-05:00"));
    assert_eq!(events(&mut book), [""; 0]);
    // 4 of 28 days since the 17th: 1.7143.
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 6.58 + 0.00, accrued 1.71, past due 106.62, 6 days");
}

/// Reopened in the same period: of 31 days, 17 before and 5 after count; 12.00 x 22/31 = 8.5161, less 6.58 = 1.94.
#[test]
fn opened_again_in_the_same_period() {
    let mut book = closed(&loan());
    set(&mut book, "open", "2025-02-10T12:00:00-05:00", "ACTIVE", None);
    book.roll(at("2025-02-15T23:59:59-05:00"));
    assert_eq!(item(&book, "dbk_interest_1"), "dbk_interest_1 1.94 left 1.94");
    assert_eq!(rows(&book)[0], "1 2025-02-15: 8.52 + 98.10, end 1101.90, missed");
}

/// A closed account accepts payments: on 2025-02-20 row 1 is past due by the calendar, row 2 is due and earns nothing.
/// 120.00 pays 6.58 + 100.04 of row 1 and 13.38 of row 2. The account stays closed.
#[test]
fn paying_a_closed_account() {
    let mut book = closed(&loan());
    pay(&mut book, "p", 12_000, "2025-02-20T12:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -120.00: 6.58 dbk_interest_1.1, 100.04 dbk_loan, 13.38 dbk_loan");
    assert_eq!(standing(&book), "CLOSED/CUSTOMER_REQUEST owes 1086.58 + 0.00 + 0.00");
    assert_eq!(rows(&book)[1], "2 2025-03-15: 0.00 + 106.62, end 993.34, paid 13.38");
}

/// `SUSPENDED` for review changes no processing: the due date passes and the fee is charged.
#[test]
fn suspended_goes_on() {
    let mut book = loan().open();
    set(&mut book, "s", "2025-02-01T12:00:00-05:00", "SUSPENDED", Some("RISK_REVIEW"));
    book.events.clear();
    book.roll(at("2025-02-21T12:00:00-05:00"));
    let told = [
        "line_item_create dbk_interest_1",
        "due_date_passed 1 unpaid",
        "payment_missed 1",
        "line_item_create dbk_late_fee_1",
    ];
    assert_eq!(events(&mut book), told);
}

/// Charged off by hand, the amount owed is noted; reopened and charged off again, it is noted again.
#[test]
fn charged_off_by_hand() {
    let mut book = loan().open();
    set(&mut book, "a", "2025-02-01T12:00:00-05:00", "CLOSED", Some("CHARGE_OFF"));
    assert_eq!(item(&book, "dbk_charge_off_1"), "dbk_charge_off_1 1206.58");
    set(&mut book, "b", "2025-02-01T13:00:00-05:00", "ACTIVE", None);
    set(&mut book, "c", "2025-02-01T14:00:00-05:00", "CLOSED", Some("DECEASED"));
    set(&mut book, "d", "2025-02-01T15:00:00-05:00", "CLOSED", Some("CHARGE_OFF"));
    assert_eq!(item(&book, "dbk_charge_off_2"), "dbk_charge_off_2 1206.58");
}

/// Interest of a flat loan's later rows is not owed on a closed account, so a payment for interest does not pay it:
/// 12.00 was posted at closing, and the other 50.00 pays principal.
#[test]
fn no_flat_interest_is_bought_on_a_closed_account() {
    let mut book = closed(&loan().with(|policy| policy.method = Method::Flat));
    pay_for(&mut book, "p", 6_200, Component::Interest, "2025-02-02T12:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -62.00: 12.00 dbk_interest_1.1, 50.00 dbk_loan");
}
