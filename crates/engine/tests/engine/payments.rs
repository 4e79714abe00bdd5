//! Payments and other inputs: pending, authorized, scheduled; waivers, offsets, statuses.

use super::support::{
    Loan, ask, at, credit, debit, events, fee, item, items, loan, pay, payment, reversal, rows, standing,
};
use daybook_engine::installment::InterestMethod;
use daybook_engine::item::{Component, ItemId, ItemStatus, Name};
use daybook_engine::money::Cents;
use daybook_engine::outcome::Refusal;
use daybook_engine::status::{AccountStanding, Reason, Status};
use daybook_engine::timeline::{FeeClass, Input};
use daybook_testkit::book::Book;

const FEB_1: &str = "2025-02-01T12:00:00-05:00";
const FEB_10: &str = "2025-02-10T12:00:00-05:00";
const FEB_12: &str = "2025-02-12T12:00:00-05:00";

fn plain() -> Loan {
    let mut loan = loan().with(|policy| policy.interest = InterestMethod::Periodic);
    loan.reversal_fee = 900;
    loan
}

fn with_status(amount: i64, status: ItemStatus) -> Input {
    Input::Payment { amount: Cents(amount), status, allocation: None }
}

fn becomes(valid: bool) -> Input {
    Input::PaymentStatus { payment: Name::from("p"), valid }
}

/// The events announced since the account was opened, without those of its opening.
fn since(book: &mut Book) -> Vec<String> {
    events(book).into_iter().filter(|line| !line.starts_with("account_create") && !line.ends_with("loan")).collect()
}

/// A pending payment counts at once; becoming valid moves no cents.
#[test]
fn pending_becomes_valid() {
    let mut book = plain().open();
    ask(&mut book, "p", FEB_10, with_status(10_662, ItemStatus::Pending)).unwrap();
    assert_eq!(item(&book, "p"), "p -106.62 PENDING: 12.00 dbk_interest_1.1, 94.62 dbk_loan");
    assert_eq!(standing(&book), "ACTIVE owes 1105.38 + 0.00 + 0.00");
    assert_eq!(since(&mut book), ["line_item_create p", "line_item_create dbk_interest_1.1"]);
    ask(&mut book, "v", FEB_12, becomes(true)).unwrap();
    assert_eq!(since(&mut book), ["line_item_update p"]);
    assert_eq!(item(&book, "p"), "p -106.62: 12.00 dbk_interest_1.1, 94.62 dbk_loan");
    assert_eq!(standing(&book), "ACTIVE owes 1105.38 + 0.00 + 0.00");
    assert_eq!(ask(&mut book, "w", FEB_12, becomes(false)), Err(Refusal::StatusIsFinal));
}

/// Declined, it is undone like a reversal, but without the fee of 9.00 and without items: the 12.00 of interest it had
/// posted is owed again.
#[test]
fn pending_becomes_invalid() {
    let mut book = plain().open();
    ask(&mut book, "p", FEB_10, with_status(10_662, ItemStatus::Pending)).unwrap();
    since(&mut book);
    ask(&mut book, "v", FEB_12, becomes(false)).unwrap();
    assert_eq!(since(&mut book), ["line_item_update p"]);
    assert_eq!(items(&book)[1..], ["dbk_loan 1200.00 left 1200.00", "dbk_interest_1.1 12.00 left 12.00"]);
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 12.00 + 0.00");
    assert_eq!(book.state.paid_total, Cents::ZERO);
    assert_eq!(book.ledger.get(&ItemId::parse("p")).unwrap().status, ItemStatus::Invalid);
    assert_eq!(ask(&mut book, "w", FEB_12, becomes(true)), Err(Refusal::StatusIsFinal));
    assert_eq!(ask(&mut book, "r", FEB_12, reversal("p")), Err(Refusal::NotReversible));
    // It is not a receipt: row 1 is late.
    book.roll(at("2025-02-21T12:00:00-05:00"));
    assert_eq!(item(&book, "dbk_late_fee_1"), "dbk_late_fee_1 15.00 left 15.00");
}

/// An authorized payment does not count until it is valid; as posted, it counts from then: by daily interest 28 of 31
/// days of 12.00 are 10.84.
#[test]
fn authorized_becomes_valid() {
    let mut book = loan().open();
    ask(&mut book, "p", FEB_1, with_status(10_662, ItemStatus::Authorized)).unwrap();
    assert_eq!(since(&mut book), ["line_item_create p"]);
    assert_eq!(items(&book), ["p -106.62 AUTHORIZED", "dbk_loan 1200.00 left 1200.00"]);
    assert_eq!(ask(&mut book, "r", FEB_10, reversal("p")), Err(Refusal::NotConfirmed));
    ask(&mut book, "v", FEB_12, becomes(true)).unwrap();
    assert_eq!(since(&mut book), ["line_item_update p", "line_item_create dbk_interest_1.1"]);
    assert_eq!(item(&book, "p"), "p -106.62: 10.84 dbk_interest_1.1, 95.78 dbk_loan");
}

/// With a due date in between: row 1's amount pays it, and the late fee stays.
#[test]
fn authorized_becomes_valid_too_late() {
    let mut book = loan().open();
    ask(&mut book, "p", FEB_1, with_status(10_662, ItemStatus::Authorized)).unwrap();
    ask(&mut book, "v", "2025-02-25T12:00:00-05:00", becomes(true)).unwrap();
    assert_eq!(item(&book, "p"), "p -106.62: 12.00 dbk_interest_1, 94.62 dbk_loan");
    assert_eq!(item(&book, "dbk_late_fee_1"), "dbk_late_fee_1 15.00 left 15.00");
}

#[test]
fn authorized_becomes_invalid() {
    let mut book = plain().open();
    ask(&mut book, "p", FEB_1, with_status(10_662, ItemStatus::Authorized)).unwrap();
    since(&mut book);
    ask(&mut book, "v", FEB_12, becomes(false)).unwrap();
    assert_eq!(since(&mut book), ["line_item_update p"]);
    assert_eq!(items(&book), ["p -106.62 INVALID", "dbk_loan 1200.00 left 1200.00"]);
    assert_eq!(ask(&mut book, "w", FEB_12, becomes(true)), Err(Refusal::StatusIsFinal));
    assert_eq!(ask(&mut book, "r", FEB_12, reversal("p")), Err(Refusal::NotReversible));
}

/// An invalid payment is recorded and never counts; a valid one is final.
#[test]
fn invalid_and_valid_are_final() {
    let mut book = plain().open();
    ask(&mut book, "p", FEB_1, with_status(10_662, ItemStatus::Invalid)).unwrap();
    assert_eq!(since(&mut book), ["line_item_create p"]);
    assert_eq!(items(&book), ["p -106.62 INVALID", "dbk_loan 1200.00 left 1200.00"]);
    assert_eq!(ask(&mut book, "v", FEB_12, becomes(true)), Err(Refusal::StatusIsFinal));
    assert_eq!(ask(&mut book, "r", FEB_12, reversal("p")), Err(Refusal::NotReversible));
    let mut book = plain().open();
    pay(&mut book, "p", 100, FEB_1);
    assert_eq!(ask(&mut book, "v", FEB_12, becomes(false)), Err(Refusal::StatusIsFinal));
    assert_eq!(ask(&mut book, "v", FEB_12, becomes(true)), Err(Refusal::StatusIsFinal));
}

/// A payment in the future is scheduled; the caller announced its item, so applying it is an update. The same holds for
/// a fee and a waiver.
#[test]
fn scheduled() {
    let mut book = plain().open();
    book.submit("p", at(FEB_10), payment(10_662)).unwrap();
    book.submit("f", at(FEB_10), fee(300, FeeClass::Fee)).unwrap();
    book.submit("w", at(FEB_12), Input::Waiver { fee: ItemId::parse("f") }).unwrap();
    assert_eq!(since(&mut book), [""; 0]);
    book.roll(at(FEB_1));
    assert_eq!(items(&book), ["dbk_loan 1200.00 left 1200.00"]);
    book.roll(at(FEB_12));
    let told = ["line_item_update p", "line_item_create dbk_interest_1.1", "line_item_update f", "line_item_update w"];
    assert_eq!(since(&mut book), told);
    assert_eq!(item(&book, "p"), "p -106.62: 12.00 dbk_interest_1.1, 94.62 dbk_loan");
    assert_eq!(item(&book, "w"), "w -3.00: 3.00 f");
}

/// Reversing a scheduled payment cancels it; it can be cancelled once.
#[test]
fn a_scheduled_payment_cancelled() {
    let mut book = plain().open();
    book.submit("p", at(FEB_10), payment(10_662)).unwrap();
    since(&mut book);
    ask(&mut book, "r", FEB_1, reversal("p")).unwrap();
    assert_eq!(since(&mut book), ["line_item_update p"]);
    assert_eq!(ask(&mut book, "s", FEB_1, reversal("p")), Err(Refusal::NotReversible));
    book.roll(at(FEB_12));
    assert!(since(&mut book).is_empty(), "it was announced when it was cancelled");
    assert_eq!(items(&book), ["p -106.62 INVALID", "dbk_loan 1200.00 left 1200.00"]);
}

#[test]
fn what_is_refused() {
    let mut book = plain().open();
    assert_eq!(ask(&mut book, "a", FEB_1, payment(0)), Err(Refusal::AmountOutOfRange));
    assert_eq!(ask(&mut book, "b", FEB_1, payment(10_000_000_000_001)), Err(Refusal::AmountOutOfRange));
    assert_eq!(ask(&mut book, "c", FEB_1, fee(0, FeeClass::Fee)), Err(Refusal::AmountOutOfRange));
    assert_eq!(ask(&mut book, "d", FEB_1, credit(0, Component::Fee)), Err(Refusal::AmountOutOfRange));
    assert_eq!(ask(&mut book, "e", FEB_1, debit(-1, Component::Fee)), Err(Refusal::AmountOutOfRange));
    assert_eq!(ask(&mut book, "f", FEB_1, Input::Open), Err(Refusal::AlreadyOpen));
    assert_eq!(book.submit("g", at("2025-01-15T11:59:59-05:00"), payment(1)), Err(Refusal::BeforeAccount));
    assert_eq!(items(&book), ["dbk_loan 1200.00 left 1200.00"]);
    ask(&mut book, "h", FEB_1, payment(10_000_000_000_000)).unwrap();
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 99999998788.00");
}

/// Of a fee of 10.00, 4.00 is paid and stays paid; the remaining 6.00 is waived, and then there is nothing left to
/// waive.
#[test]
fn waiver() {
    let mut book = plain().fees_first().open();
    let waive = |name: &str| Input::Waiver { fee: ItemId::parse(name) };
    ask(&mut book, "f", FEB_1, fee(1_000, FeeClass::Fee)).unwrap();
    pay(&mut book, "p", 400, FEB_10);
    since(&mut book);
    ask(&mut book, "w", FEB_12, waive("f")).unwrap();
    assert_eq!(since(&mut book), ["line_item_create w"]);
    let told = ["f 10.00", "p -4.00: 4.00 f", "w -6.00: 6.00 f", "dbk_loan 1200.00 left 1200.00"];
    assert_eq!(items(&book), told);
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 0.00 + 0.00, accrued 12.00");
    assert_eq!(ask(&mut book, "x", FEB_12, waive("f")), Err(Refusal::NothingToWaive));
    assert_eq!(ask(&mut book, "x", FEB_12, waive("dbk_late_fee_1")), Err(Refusal::NothingToWaive));
    ask(&mut book, "x", "2025-02-21T12:00:00-05:00", waive("dbk_late_fee_1")).unwrap();
    assert_eq!(item(&book, "x"), "x -15.00: 15.00 dbk_late_fee_1");
}

/// Credit offsets raise the balance. Principal earns from its date, (1200.00 x 17 + 1300.00 x 14) x 0.01/31 = 12.4516,
/// and is added to the last row; interest belongs to the open row; a fee is a fee.
#[test]
fn credit_offsets() {
    let mut book = loan().open();
    let last = rows(&book)[11].clone();
    ask(&mut book, "c", FEB_1, credit(10_000, Component::Principal)).unwrap();
    assert_eq!(standing(&book), "ACTIVE owes 1300.00 + 0.00 + 0.00, accrued 6.58");
    pay(&mut book, "p", 10_662, "2025-02-15T12:00:00-05:00");
    assert_eq!(
        items(&book)[..3],
        ["c 100.00 left 100.00", "p -106.62: 12.45 dbk_interest_1.1, 94.17 dbk_loan", "dbk_loan 1200.00 left 1105.83",]
    );
    // The last row, computed row by row from 1200.00, and from 1300.00 - 94.17 after row 1:
    assert_eq!(last, "12 2026-01-15: 1.06 + 105.54, end 0.00");
    assert_eq!(rows(&book)[11], "12 2026-01-15: 2.16 + 216.50, end 0.00");

    for (component, owes) in [
        (Component::Interest, "ACTIVE owes 1200.00 + 5.00 + 0.00, accrued 12.00"),
        (Component::Fee, "ACTIVE owes 1200.00 + 0.00 + 5.00, accrued 12.00"),
    ] {
        let mut book = plain().fees_first().open();
        since(&mut book);
        ask(&mut book, "c", FEB_1, credit(500, component)).unwrap();
        assert_eq!(since(&mut book), ["line_item_create c"]);
        assert_eq!(standing(&book), owes);
        pay(&mut book, "p", 500, FEB_10);
        assert_eq!(item(&book, "p"), "p -5.00: 5.00 c");
    }
}

/// Debit offsets are allocated like a payment for their component, but do not count as one: 20.00 to a fee of 3.00, or
/// to 12.00 of interest, continues in the product's order. Money in excess of all debt is kept.
#[test]
fn debit_offsets() {
    for (component, told) in [
        (Component::Fee, "d -20.00: 3.00 f, 12.00 dbk_interest_1.1, 5.00 dbk_loan"),
        (Component::Interest, "d -20.00: 12.00 dbk_interest_1.1, 3.00 f, 5.00 dbk_loan"),
        (Component::Principal, "d -20.00: 20.00 dbk_loan"),
    ] {
        let mut book = plain().fees_first().open();
        ask(&mut book, "f", FEB_1, fee(300, FeeClass::Fee)).unwrap();
        since(&mut book);
        ask(&mut book, "d", FEB_10, debit(2_000, component)).unwrap();
        assert_eq!(item(&book, "d"), told);
        assert_eq!(since(&mut book)[0], "line_item_create d");
        assert_eq!((book.state.paid_total, book.state.interest_paid_total), (Cents::ZERO, Cents::ZERO));
    }
    let mut book = plain().open();
    ask(&mut book, "d", FEB_10, debit(121_300, Component::Principal)).unwrap();
    assert_eq!(item(&book, "d"), "d -1213.00 left -1.00: 94.62 dbk_loan, 1105.38 dbk_loan, 12.00 dbk_interest_1.1");
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 1.00");
}

/// The status pairs of the rules, and no others.
#[test]
fn status_pairs() {
    let active = ["HARDSHIP", "EXEMPTIONS", "HARDSHIP/EXEMPTIONS", "SCRA"];
    let suspended = ["DELINQUENT", "BANKRUPTCY", "FRAUD", "INACTIVITY", "RISK_REVIEW", "DECEASED", "HARDSHIP"];
    let closed = "CHARGE_OFF PAID_OFF SURPLUS_BALANCE BANKRUPTCY FRAUD INACTIVITY RISK CUSTOMER_REQUEST \
                  GRANTOR_REQUEST CUSTOMER_REQUEST_PENDING_PAYOFF GRANTOR_REQUEST_PENDING_PAYOFF DECEASED \
                  SETTLEMENT ADMINISTRATIVE";
    let mut legal = vec!["ACTIVE".to_owned()];
    legal.extend(active.iter().map(|reason| format!("ACTIVE/{reason}")));
    legal.extend(suspended.iter().map(|reason| format!("SUSPENDED/{reason}")));
    legal.extend(closed.split(' ').map(|reason| format!("CLOSED/{reason}")));
    let mut found = Vec::new();
    for standing in [AccountStanding::Active, AccountStanding::Suspended, AccountStanding::Closed] {
        for reason in [None].into_iter().chain(Reason::ALL.iter().copied().map(Some)) {
            let parsed = Status::parse(standing.name(), reason.map(Reason::name));
            assert_eq!(parsed, Status::new(standing, reason));
            found.extend(parsed.map(|status| status.to_string()));
            assert_eq!(parsed.and_then(|status| Status::parse_pair(&status.to_string())), parsed);
        }
    }
    found.sort();
    legal.sort();
    assert_eq!(found, legal);
    assert_eq!(Status::parse("OPEN", None), None);
    assert_eq!(Status::parse("ACTIVE", Some("NOBODY")), None);
}
