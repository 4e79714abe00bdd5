//! Which payments spare an instalment its late fee: 1,200.00 at 12 % in three instalments of 408.03, due on the 15th,
//! grace of 5 days, late fee 15.00.

use super::support::{Loan, ask, at, credit, debit, fee, item, loan, pay, pay_for, reversal, rows, standing};
use daybook_engine::calendar::Interval;
use daybook_engine::installment::{Bucket, InterestMethod, Pyramiding, Span, Surplus};
use daybook_engine::item::{Component, ItemId};
use daybook_engine::timeline::FeeClass;
use daybook_testkit::book::Book;

/// Rows before fees, oldest first.
fn three() -> Loan {
    let order = [
        "PAST_DUE_INTEREST",
        "PAST_DUE_PRINCIPAL",
        "DUE_INTEREST",
        "DUE_PRINCIPAL",
        "PAST_DUE_FEE",
        "PAST_DUE_PENALTY",
        "DUE_FEE",
        "DUE_PENALTY",
    ];
    let order = order.map(|name| Bucket::parse(name).unwrap()).to_vec();
    loan().of("2025-01-15T12:00:00-05:00", 120_000, 3).with(|policy| {
        policy.interest = InterestMethod::Periodic;
        (policy.order, policy.span) = (order, Span::OldestInstalmentFirst);
    })
}

fn with(pyramiding: Pyramiding) -> Loan {
    three().with(|policy| policy.late_fee.pyramiding = pyramiding)
}

/// The instalments that were charged a late fee.
fn fees(book: &Book) -> Vec<u32> {
    (1..=3).filter(|row| book.ledger.get(&ItemId::LateFee { instalment: *row }).is_some()).collect()
}

const AFTER_ROW_2: &str = "2025-03-21T12:00:00-04:00";

/// 300.00 on 10 February: row 1 lacks 108.03 and is late. 408.03 on 10 March is one instalment in its period: 108.03
/// goes to row 1, 9.12 + 290.88 to row 2. `RECEIPTS`: money that went to a late row counts for row 2, which is spared.
/// `FEES_ONLY`: it does not, and row 2 is late by 108.03.
#[test]
fn one_missed_part_and_one_instalment_a_period() {
    for (pyramiding, charged) in [(Pyramiding::Receipts, vec![1]), (Pyramiding::FeesOnly, vec![1, 2])] {
        let mut book = with(pyramiding).open();
        pay(&mut book, "p1", 30_000, "2025-02-10T12:00:00-05:00");
        pay(&mut book, "p2", 40_803, "2025-03-10T12:00:00-04:00");
        assert_eq!(item(&book, "p2"), "p2 -408.03: 108.03 dbk_loan, 9.12 dbk_interest_2.1, 290.88 dbk_loan");
        assert_eq!(item(&book, "dbk_late_fee_1"), "dbk_late_fee_1 15.00 left 15.00");
        book.roll(at(AFTER_ROW_2));
        assert_eq!(fees(&book), charged, "{pyramiding:?}");
    }
}

/// 408.03 on 16 February, a day late, in the grace: row 1 is paid. Nothing is paid for row 2. The amount received for
/// row 2 is 408.03 - 408.03 = 0: money that saved row 1 does not save row 2.
#[test]
fn money_that_saved_one_row_does_not_save_the_next() {
    for pyramiding in [Pyramiding::Receipts, Pyramiding::FeesOnly] {
        let mut book = with(pyramiding).open();
        pay(&mut book, "p1", 40_803, "2025-02-16T12:00:00-05:00");
        book.roll(at(AFTER_ROW_2));
        assert_eq!(fees(&book), [2]);
        assert_eq!(standing(&book).split(" owes").next(), Some("SUSPENDED/DELINQUENT"));
    }
}

/// Row 1 is missed. 408.03 on 25 February pays it, in an order with fees first: 15.00 goes to the fee, 393.03 to row 1.
/// The borrower paid one instalment for row 2, which is spared under `RECEIPTS`. Under `FEES_ONLY` only the 15.00 that
/// went to the fee counts.
#[test]
fn money_that_an_old_fee_took() {
    for (pyramiding, charged) in [(Pyramiding::Receipts, vec![1]), (Pyramiding::FeesOnly, vec![1, 2])] {
        let fees_first = ["PAST_DUE_FEE", "PAST_DUE_PENALTY", "DUE_FEE", "DUE_PENALTY"];
        let fees_first = fees_first.map(|name| Bucket::parse(name).unwrap()).to_vec();
        let mut book =
            with(pyramiding).with(|policy| (policy.order, policy.span) = (fees_first, Span::BucketFirst)).open();
        pay(&mut book, "p", 40_803, "2025-02-25T12:00:00-05:00");
        assert!(item(&book, "p").starts_with("p -408.03: 15.00 dbk_late_fee_1,"));
        book.roll(at(AFTER_ROW_2));
        assert_eq!(fees(&book), charged, "{pyramiding:?}");
    }
    // 393.03 of row 1 was paid on time; the last 15.00 arrive in March with the 408.03 for row 2, and 15.00 of that
    // goes to the fee. Row 2 lacks exactly the amount that went to the fee.
    let fees_first = ["PAST_DUE_FEE", "PAST_DUE_PENALTY", "DUE_FEE", "DUE_PENALTY", "PAST_DUE_INTEREST"];
    let fees_first = fees_first.map(|name| Bucket::parse(name).unwrap()).to_vec();
    let mut book =
        with(Pyramiding::FeesOnly).with(|policy| (policy.order, policy.span) = (fees_first, Span::BucketFirst)).open();
    pay(&mut book, "p1", 39_303, "2025-02-10T12:00:00-05:00");
    pay(&mut book, "p2", 42_303, "2025-03-10T12:00:00-04:00");
    book.roll(at(AFTER_ROW_2));
    assert_eq!(fees(&book), [1], "423.03 less the 15.00 that row 1 took is all that row 2 asks");
}

/// Money in advance counts: 508.03 before row 1 falls due pays row 1 and 100.00 of row 2, and 308.03 in March is the
/// rest. With 300.00 instead, 8.03 is missing.
#[test]
fn money_in_advance_counts_for_its_row() {
    for (amount, charged) in [(30_803, vec![]), (30_000, vec![2])] {
        let mut book = three().with(|policy| policy.surplus = Surplus::NextInstalment).open();
        pay(&mut book, "p1", 50_803, "2025-02-10T12:00:00-05:00");
        pay(&mut book, "p2", amount, "2025-03-10T12:00:00-04:00");
        book.roll(at(AFTER_ROW_2));
        assert_eq!(fees(&book), charged);
    }
}

/// A payment that bounces counts for no row.
#[test]
fn a_bounced_payment_spares_nothing() {
    let mut book = with(Pyramiding::Receipts).open();
    pay(&mut book, "p1", 30_000, "2025-02-10T12:00:00-05:00");
    pay(&mut book, "p2", 40_803, "2025-03-10T12:00:00-04:00");
    ask(&mut book, "r", "2025-03-12T12:00:00-04:00", reversal("p2")).unwrap();
    book.roll(at(AFTER_ROW_2));
    assert_eq!(fees(&book), [1, 2]);
}

/// Row 1 is missed, and an instalment in March goes to it: row 2 is spared. Row 3 is missed, row 2 is paid in April.
/// When the payment of March bounces, rows 1 and 3 are late in a row: row 2, which was spared, counts neither as late
/// nor as paid.
#[test]
fn a_spared_instalment_does_not_break_the_run_of_late_ones() {
    let mut book = three().with(|policy| policy.delinquent_after = 2).open();
    pay(&mut book, "p1", 40_803, "2025-03-14T12:00:00-04:00");
    book.roll(at("2025-04-21T12:00:00-04:00"));
    assert_eq!((fees(&book), book.state.loan().late_count), (vec![1, 3], 1));
    pay(&mut book, "p2", 42_000, "2025-04-25T12:00:00-04:00");
    assert!(rows(&book)[1].contains("paid") && !rows(&book)[1].contains("left"), "{:?}", rows(&book));
    assert_eq!((book.state.status.to_string().as_str(), book.state.loan().late_count), ("ACTIVE", 1));
    ask(&mut book, "r", "2025-04-28T12:00:00-04:00", reversal("p1")).unwrap();
    assert_eq!(
        (book.state.status.to_string().as_str(), book.state.loan().late_count),
        ("SUSPENDED/DELINQUENT", 2),
        "{:?}",
        rows(&book)
    );
}

/// A grace of 40 days: row 2 falls due while row 1 is in its grace. 408.03 on 20 March is after both due moments and
/// pays row 1 in its grace. It counts for rows 1, 2 and 3, and is deducted again for rows 2 and 3, because row 1 is
/// paid.
#[test]
fn a_grace_longer_than_a_period() {
    let mut book = three().with(|policy| policy.late_fee.grace = Interval::days(40)).open();
    pay(&mut book, "p1", 40_803, "2025-03-20T12:00:00-04:00");
    assert!(rows(&book)[0].ends_with("paid 408.03, missed"));
    book.by_snapshot = true;
    book.roll(at("2025-03-28T12:00:00-04:00"));
    assert_eq!(fees(&book), [0; 0]);
    book.roll(at("2025-04-25T12:00:00-04:00"));
    assert_eq!(fees(&book), [2]);
    book.roll(at("2025-05-26T12:00:00-04:00"));
    assert_eq!(fees(&book), [2, 3]);
}

/// Surplus that pays an older row is deducted like the payment's own parts. p1 pays row 1, and an offset pays the rest
/// of the loan. The 408.03 of p2 on 18 February is surplus, received for row 2. Then p1 bounces, and the surplus pays
/// row 1. 1000.00 more is lent, so row 2 is 408.03, and nothing was received for it: 408.03 - 408.03.
#[test]
fn surplus_that_pays_an_older_row() {
    for pyramiding in [Pyramiding::Receipts, Pyramiding::FeesOnly] {
        let mut terms = with(pyramiding);
        terms.reversal_fee = 2_500;
        for by_snapshot in [false, true] {
            let mut book = terms.open();
            book.by_snapshot = by_snapshot;
            pay(&mut book, "p1", 40_803, "2025-02-10T12:00:00-05:00");
            ask(&mut book, "d", "2025-02-14T12:00:00-05:00", debit(80_397, Component::Principal)).unwrap();
            pay(&mut book, "p2", 40_803, "2025-02-18T12:00:00-05:00");
            assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 408.03");
            ask(&mut book, "r", "2025-02-26T12:00:00-05:00", reversal("p1")).unwrap();
            assert_eq!(item(&book, "dbk_surplus_1"), "dbk_surplus_1 -408.03: 12.00 dbk_interest_1.1, 396.03 dbk_loan");
            ask(&mut book, "c", "2025-02-27T12:00:00-05:00", credit(100_000, Component::Principal)).unwrap();
            book.roll(at("2025-03-20T12:00:00-04:00"));
            assert_eq!(standing(&book), "ACTIVE owes 1000.00 + 0.00 + 25.00, accrued 10.00, past due 433.03, 5 days");
            book.roll(at(AFTER_ROW_2));
            assert_eq!(fees(&book), [2], "{pyramiding:?}, by snapshot: {by_snapshot}");
        }
    }
}

/// The same with surplus of two payments, 208.03 and 200.00. The second bounces too, and row 1 lacks 200.00: money that
/// returned to the first and pays row 1 again is deducted once. 608.03 more in March is 200.00 for row 1, which was
/// paid when its grace ended, and 408.03 for row 2, though 10.00 of it goes to a fee; a cent less is not enough.
#[test]
fn surplus_that_is_used_again() {
    for (amount, charged) in [(60_802, vec![2]), (60_803, vec![])] {
        let mut book = with(Pyramiding::Receipts).open();
        pay(&mut book, "p1", 40_803, "2025-02-10T12:00:00-05:00");
        ask(&mut book, "d", "2025-02-14T12:00:00-05:00", debit(80_397, Component::Principal)).unwrap();
        pay(&mut book, "p2", 20_803, "2025-02-18T12:00:00-05:00");
        pay(&mut book, "p3", 20_000, "2025-02-18T13:00:00-05:00");
        ask(&mut book, "r1", "2025-02-26T12:00:00-05:00", reversal("p1")).unwrap();
        assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
        ask(&mut book, "r3", "2025-02-27T12:00:00-05:00", reversal("p3")).unwrap();
        ask(&mut book, "c", "2025-02-28T12:00:00-05:00", credit(100_000, Component::Principal)).unwrap();
        assert_eq!(item(&book, "dbk_surplus_3"), "dbk_surplus_3 -208.03: 12.00 dbk_interest_1.1, 196.03 dbk_loan");
        ask(&mut book, "f", "2025-03-09T12:00:00-04:00", fee(1_000, FeeClass::Fee)).unwrap();
        pay_for(&mut book, "p4", amount, Component::Fee, "2025-03-10T12:00:00-04:00");
        book.roll(at(AFTER_ROW_2));
        assert_eq!(fees(&book), charged, "{amount}");
    }
}
