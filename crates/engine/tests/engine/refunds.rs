//! Money at the end of a loan: small balances that are written off, surplus that is refunded.
//!
//! 1,200.00 at 12 %, three months from 15 January 2025: 12.00 + 396.03, 8.04 + 399.99, 4.04 + 403.98.

use super::support::{Loan, ask, at, dated_events, debit, item, items, loan, pay, payment, reversal, standing};
use daybook_engine::item::{Component, ItemId, ItemReason, ItemStatus, Name};
use daybook_engine::money::Cents;
use daybook_engine::outcome::Refusal;
use daybook_engine::timeline::Input;
use daybook_testkit::book::Book;

fn three_months() -> Loan {
    loan().of("2025-01-15T12:00:00-05:00", 120_000, 3)
}

fn refund(amount: i64) -> Input {
    Input::Refund { amount: Cents(amount) }
}

fn refund_reversal(refund: &str) -> Input {
    Input::RefundReversal { refund: Name::from(refund) }
}

/// Two payments of 408.03, and a third one on 15 April.
fn paid(loan: &Loan, last: i64) -> Book {
    let mut book = loan.open();
    pay(&mut book, "p1", 40_803, "2025-02-15T09:00:00-05:00");
    pay(&mut book, "p2", 40_803, "2025-03-15T09:00:00-04:00");
    pay(&mut book, "p3", last, "2025-04-15T09:00:00-04:00");
    book
}

fn reason(book: &Book, id: &str) -> Option<ItemReason> {
    book.ledger.get(&ItemId::parse(id)).unwrap().reason
}

/// The payoff on 15 April is 408.02.
#[test]
fn a_small_balance_is_written_off() {
    let check = |write_off, last, expected: &str| {
        let book = paid(&three_months().with(|policy| policy.write_off = Cents(write_off)), last);
        assert_eq!(standing(&book), expected, "{write_off} {last}");
    };
    check(100, 40_750, "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
    check(52, 40_750, "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
    check(51, 40_750, "ACTIVE owes 0.52 + 0.00 + 0.00");
    check(100, 40_802, "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
    check(100, 40_803, "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 0.01");
    check(0, 40_750, "ACTIVE owes 0.52 + 0.00 + 0.00");
    let mut book = paid(&three_months().with(|policy| policy.write_off = Cents(100)), 40_750);
    assert_eq!(item(&book, "dbk_write_off_1"), "dbk_write_off_1 -0.52: 0.52 dbk_loan");
    assert_eq!(reason(&book, "dbk_write_off_1"), Some(ItemReason::WriteOff));
    let events = dated_events(&mut book);
    assert_eq!(
        events[events.len() - 5..],
        [
            "04-15 09:00:00 line_item_create p3",
            "04-15 09:00:00 line_item_create dbk_interest_3.1",
            "04-15 09:00:00 line_item_create dbk_write_off_1",
            "04-15 09:00:00 account_status_change ACTIVE>CLOSED/PAID_OFF",
            "04-15 09:00:00 account_closed",
        ]
    );
}

/// A debit offset leaves 803.97 - 399.99 - 307.98 = 96.00, which is not a payment's doing; it earns 0.96 until the last
/// due date.
#[test]
fn a_small_balance_is_written_off_when_the_last_instalment_falls_due() {
    let last_due = |write_off: i64| {
        let mut book = three_months().with(|policy| policy.write_off = Cents(write_off)).open();
        pay(&mut book, "p1", 40_803, "2025-02-15T09:00:00-05:00");
        pay(&mut book, "p2", 40_803, "2025-03-15T09:00:00-04:00");
        ask(&mut book, "d1", "2025-03-15T10:00:00-04:00", debit(30_798, Component::Principal)).unwrap();
        book.roll(at("2025-04-15T23:59:58-04:00"));
        let before = standing(&book);
        book.roll(at("2025-04-16T12:00:00-04:00"));
        let due = dated_events(&mut book).into_iter().find(|line| line.contains("due_date_passed 3")).unwrap();
        (before, standing(&book), due)
    };
    let open = "ACTIVE owes 96.00 + 0.00 + 0.00, accrued 0.96".to_owned();
    let (before, after, due) = last_due(9_696);
    assert_eq!((before, after.as_str()), (open.clone(), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00"));
    assert_eq!(due, "04-15 23:59:59 due_date_passed 3 paid");
    let (before, after, due) = last_due(9_695);
    assert_eq!(
        (before, after.as_str()),
        (open, "ACTIVE owes 96.00 + 0.96 + 0.00, accrued 0.03, past due 96.96, 1 days")
    );
    assert_eq!(due, "04-15 23:59:59 due_date_passed 3 unpaid");
}

/// A write-off goes with the payment before it.
#[test]
fn reversing_a_payment_takes_its_write_off_back() {
    let mut book = paid(&three_months().with(|policy| policy.write_off = Cents(100)), 40_750);
    ask(&mut book, "r3", "2025-04-15T10:00:00-04:00", reversal("p3")).unwrap();
    assert_eq!(standing(&book), "ACTIVE owes 403.98 + 4.04 + 0.00");
    assert_eq!(item(&book, "dbk_write_off_2"), "dbk_write_off_2 0.52");
    assert_eq!(book.state.interest_paid_total, Cents(2_004));
    let replayed = {
        let mut book = paid(&three_months().with(|policy| policy.write_off = Cents(100)).replaying(), 40_750);
        ask(&mut book, "r3", "2025-04-15T10:00:00-04:00", reversal("p3")).unwrap();
        assert!(items(&book).iter().all(|line| !line.contains("write_off")), "{:?}", items(&book));
        standing(&book)
    };
    assert_eq!(replayed, "ACTIVE owes 403.98 + 0.00 + 0.00, accrued 4.04");
}

#[test]
fn surplus_is_refunded() {
    let mut book = paid(&three_months(), 50_802);
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 100.00");
    let when = "2025-04-20T12:00:00-04:00";
    assert_eq!(ask(&mut book, "f0", when, refund(10_001)), Err(Refusal::ExceedsSurplus));
    ask(&mut book, "f1", when, refund(4_000)).unwrap();
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 60.00");
    ask(&mut book, "f2", when, refund(6_000)).unwrap();
    assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
    assert_eq!(item(&book, "f2"), "f2 60.00");
    ask(&mut book, "b1", when, refund_reversal("f1")).unwrap();
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 40.00");
    assert_eq!(item(&book, "b1"), "b1 -40.00");
    assert_eq!(ask(&mut book, "b2", when, refund_reversal("f1")), Err(Refusal::AlreadyReversed));
    assert_eq!(book.state.paid_total, Cents(132_408), "a refund is no reversed payment");
}

/// At a release less surplus may be there than was refunded: the rest is owed as principal.
#[test]
fn a_held_refund_may_exceed_the_surplus() {
    let mut book = three_months().held();
    book.submit("f1", at("2025-04-16T12:00:00-04:00"), refund(15_000)).unwrap();
    book.submit("p1", at("2025-04-15T09:00:00-04:00"), payment(137_600)).unwrap();
    book.submit("b1", at("2025-04-18T12:00:00-04:00"), refund_reversal("f1")).unwrap();
    book.release(at("2025-04-17T12:00:00-04:00"));
    // 12.00 x 3 of interest and a late fee for rows 1 and 2 are paid, so that 1,376.00 leaves 110.00.
    let owed = "ACTIVE owes 40.00 + 0.00 + 0.00, accrued 0.01, past due 40.00, 2 days";
    assert_eq!(standing(&book), owed);
    assert_eq!(item(&book, "dbk_refund_excess:f1"), "dbk_refund_excess:f1 40.00 left 40.00");
    assert_eq!(reason(&book, "dbk_refund_excess:f1"), Some(ItemReason::RefundExcess));
    book.roll(at("2025-04-18T13:00:00-04:00"));
    // Two days of 40.00 earn 0.03: the refund that came back pays 40.03, and 109.97 is left.
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 109.97");
}

/// The payment of 508.02 left 100.00, of which 60.00 was refunded. It bounces: 408.02 is owed again, and 60.00.
#[test]
fn the_payment_bounces_after_a_refund() {
    let mut book = paid(&three_months(), 50_802);
    ask(&mut book, "f1", "2025-04-15T10:00:00-04:00", refund(6_000)).unwrap();
    ask(&mut book, "r3", "2025-04-15T11:00:00-04:00", reversal("p3")).unwrap();
    assert_eq!(standing(&book), "ACTIVE owes 463.98 + 4.04 + 0.00");
    assert_eq!(item(&book, "dbk_refund_excess:p3"), "dbk_refund_excess:p3 60.00 left 60.00");
    ask(&mut book, "b1", "2025-04-15T12:00:00-04:00", refund_reversal("f1")).unwrap();
    assert_eq!(standing(&book), "ACTIVE owes 408.02 + 0.00 + 0.00");
    let mut book = paid(&three_months().replaying(), 50_802);
    ask(&mut book, "f1", "2025-04-15T10:00:00-04:00", refund(6_000)).unwrap();
    ask(&mut book, "r3", "2025-04-15T11:00:00-04:00", reversal("p3")).unwrap();
    assert_eq!(standing(&book), "ACTIVE owes 463.98 + 0.00 + 0.00, accrued 4.04");
    assert_eq!(item(&book, "dbk_refund_excess:f1"), "dbk_refund_excess:f1 60.00 left 60.00");
}

/// A refund that is still scheduled is called off by its reversal.
#[test]
fn a_scheduled_refund_is_called_off() {
    let mut book = paid(&three_months(), 50_802);
    book.submit("f1", at("2025-05-01T12:00:00-04:00"), refund(6_000)).unwrap();
    ask(&mut book, "b1", "2025-04-20T12:00:00-04:00", refund_reversal("f1")).unwrap();
    assert_eq!(ask(&mut book, "b2", "2025-04-20T12:00:00-04:00", refund_reversal("f1")), Err(Refusal::AlreadyReversed));
    book.roll(at("2025-05-02T12:00:00-04:00"));
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 100.00");
    assert_eq!(book.ledger.get(&ItemId::parse("f1")).unwrap().status, ItemStatus::Invalid);
    assert_eq!(ask(&mut book, "b3", "2025-05-02T12:00:00-04:00", refund_reversal("f1")), Err(Refusal::AlreadyReversed));
}
