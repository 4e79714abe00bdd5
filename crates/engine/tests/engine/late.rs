//! Late fees: their amount, their time, and whether they are charged at all.
//!
//! The loan is that of [`loan`] with interest by the period: row 1 is 12.00 + 94.62 = 106.62, due 2025-02-15 23:59:59.

use super::support::{Loan, ask, at, dated_events, debit, item, loan, pay, payment, reversal, rows, standing};
use daybook_engine::calendar::Interval;
use daybook_engine::installment::{InterestMethod, LateFee, LateFeePolicy, Method};
use daybook_engine::item::{Component, ItemId};
use daybook_engine::money::{Cents, Percent, Rounding};
use daybook_engine::outcome::{Cause, GraceResult};
use daybook_engine::replay::explain;
use daybook_testkit::book::Book;

const AFTER_GRACE: &str = "2025-02-21T12:00:00-05:00";

fn plain() -> Loan {
    loan().fees_first().with(|policy| policy.interest = InterestMethod::Periodic)
}

fn percent(text: &str) -> Percent {
    Percent::parse(text).unwrap()
}

/// The late fee of an instalment in cents; `None` if there is none.
fn fee_of(book: &Book, instalment: u32) -> Option<i64> {
    book.ledger.get(&ItemId::LateFee { instalment }).map(|item| item.amount.0)
}

/// Pays a part of row 1 on time, lets the grace end, and compares the fee.
fn check(part: i64, rounding: Rounding, change: impl FnOnce(&mut LateFeePolicy), fee: Option<i64>) {
    let mut terms = plain().with(|policy| policy.rounding = rounding);
    change(&mut terms.policy.late_fee);
    let mut book = terms.open();
    pay(&mut book, "p", part, "2025-02-01T12:00:00-05:00");
    book.roll(at(AFTER_GRACE));
    assert_eq!(fee_of(&book, 1), fee);
    assert_eq!(book.state.loan().late_count, 1, "late, whatever the fee");
}

/// 6.62 pays a part of the interest: 5.38 + 94.62 = 100.00 is unpaid. 5 % of that is 5.00; 5 % of its principal is
/// 4.731; 5 % of the whole instalment of 106.62 is 5.331.
#[test]
fn every_type_of_fee() {
    for (kind, fee) in [
        (LateFee::Flat, 1_500),
        (LateFee::PercentOfUnpaid, 500),
        (LateFee::PercentOfUnpaidPrincipal, 473),
        (LateFee::PercentOfPayment, 533),
    ] {
        check(662, Rounding::HalfEven, |policy| (policy.kind, policy.percent) = (kind, percent("5")), Some(fee));
    }
}

/// A row that is not level counts by its own amount: 5 % of an interest-only row of 12.00 is 0.60.
#[test]
fn percent_of_an_interest_only_row() {
    let terms = plain().with(|policy| {
        policy.interest_only = 1;
        (policy.late_fee.kind, policy.late_fee.percent) = (LateFee::PercentOfPayment, percent("5"));
    });
    let mut book = terms.open();
    book.roll(at(AFTER_GRACE));
    assert_eq!(fee_of(&book, 1), Some(60));
}

/// Principal and interest of the instalment count: 12.00 + 100.00, of which 5 % is 5.60.
#[test]
fn percent_of_an_instalment_that_is_not_level() {
    for method in [Method::EqualPrincipal, Method::Flat] {
        let terms = plain().with(|policy| {
            policy.method = method;
            (policy.late_fee.kind, policy.late_fee.percent) = (LateFee::PercentOfPayment, percent("5"));
        });
        let mut book = terms.open();
        pay(&mut book, "p", 662, "2025-02-01T12:00:00-05:00");
        book.roll(at(AFTER_GRACE));
        assert_eq!(fee_of(&book, 1), Some(560), "{method:?}");
    }
}

/// 5 % of 100.10 is 5.005 and of 100.30 is 5.015: exactly half a cent. 5 % of 100.12 is 5.006, of 100.08 5.004.
#[test]
fn half_a_cent_of_fee() {
    for (part, even, up) in [(652, 500, 501), (632, 502, 502), (650, 501, 501), (654, 500, 500)] {
        for (rounding, fee) in [(Rounding::HalfEven, even), (Rounding::HalfUp, up)] {
            let five = |policy: &mut LateFeePolicy| {
                (policy.kind, policy.percent) = (LateFee::PercentOfUnpaid, percent("5"));
            };
            check(part, rounding, five, Some(fee));
        }
    }
}

/// Of 100.00 unpaid: 5 % is 5.00, then at least the minimum, at most the maximum, and last the cap of the unpaid part.
#[test]
fn minimum_maximum_and_cap() {
    for (least, most, cap, fee) in [
        (None, None, None, Some(500)),
        (Some(600), None, None, Some(600)),
        (Some(400), None, None, Some(500)),
        (None, Some(450), None, Some(450)),
        (None, Some(550), None, Some(500)),
        (Some(600), Some(600), None, Some(600)),
        (None, None, Some("2"), Some(200)),
        (None, None, Some("7"), Some(500)),
        (Some(600), None, Some("2"), Some(200)),
        (Some(600), Some(700), Some("6.5"), Some(600)),
        (None, None, Some("0"), None),
    ] {
        let limits = |policy: &mut LateFeePolicy| {
            (policy.kind, policy.percent) = (LateFee::PercentOfUnpaid, percent("5"));
            (policy.least, policy.most) = (least.map(Cents), most.map(Cents));
            policy.cap = cap.map(percent);
        };
        check(662, Rounding::HalfEven, limits, fee);
    }
}

/// The cap is a percentage of everything unpaid, also for a flat fee, and is rounded like a fee: 5 % of 100.10.
#[test]
fn the_cap_of_a_flat_fee() {
    check(652, Rounding::HalfEven, |policy| policy.cap = Some(percent("5")), Some(500));
    check(652, Rounding::HalfUp, |policy| policy.cap = Some(percent("5")), Some(501));
    check(662, Rounding::HalfUp, |policy| policy.cap = Some(percent("15")), Some(1_500));
}

/// When the fee is charged, with the due date 2025-02-15.
#[test]
fn grace() {
    for (grace, counts_due_date, when) in [
        (Interval::days(5), false, "02-20"),
        (Interval::days(5), true, "02-19"),
        (Interval::days(1), false, "02-16"),
        (Interval::days(1), true, "02-15"),
        (Interval::ZERO, false, "02-15"),
        (Interval::ZERO, true, "02-15"),
        (Interval::months(1), true, "03-14"),
    ] {
        let terms = plain().with(|policy| {
            (policy.late_fee.grace, policy.late_fee.grace_counts_due_date) = (grace, counts_due_date);
        });
        let mut book = terms.open();
        book.roll(at("2025-03-15T12:00:00-04:00"));
        let fee = format!("{when} 23:59:59 line_item_create dbk_late_fee_1");
        let events = dated_events(&mut book);
        assert!(events.contains(&fee), "{grace}, {counts_due_date}: {events:?}");
    }
}

/// Without grace the fee is charged at the due moment, after interest and due date, and belongs to row 1.
#[test]
fn no_grace() {
    let mut book = plain().with(|policy| policy.late_fee.grace = Interval::ZERO).open();
    book.events.clear();
    book.roll(at("2025-02-15T23:59:59-05:00"));
    assert_eq!(
        dated_events(&mut book),
        [
            "02-15 23:59:59 line_item_create dbk_interest_1",
            "02-15 23:59:59 due_date_passed 1 unpaid",
            "02-15 23:59:59 payment_missed 1",
            "02-15 23:59:59 line_item_create dbk_late_fee_1",
            "02-15 23:59:59 account_status_change ACTIVE>SUSPENDED/DELINQUENT",
        ]
    );
    book.roll(at("2025-02-16T12:00:00-05:00"));
    assert_eq!(rows(&book)[0], "1 2025-02-15: 12.00 + 94.62, end 1105.38, fees 15.00, missed");
    let owes = "owes 1200.00 + 12.00 + 15.00, accrued 12.00, past due 121.62, 1 days, 1 late";
    assert_eq!(standing(&book), format!("SUSPENDED/DELINQUENT {owes}"));
}

/// A grace of a month ends at the next due moment: interest and due date are first, and the fee belongs to row 2.
#[test]
fn grace_that_ends_at_the_next_due_moment() {
    let mut book = plain().with(|policy| policy.late_fee.grace = Interval::months(1)).open();
    book.roll(at("2025-03-15T12:00:00-04:00"));
    book.events.clear();
    book.roll(at("2025-03-16T12:00:00-04:00"));
    assert_eq!(
        dated_events(&mut book),
        [
            "03-15 23:59:59 line_item_create dbk_interest_2",
            "03-15 23:59:59 due_date_passed 2 unpaid",
            "03-15 23:59:59 payment_missed 2",
            "03-15 23:59:59 line_item_create dbk_late_fee_1",
            "03-15 23:59:59 account_status_change ACTIVE>SUSPENDED/DELINQUENT",
        ]
    );
    assert_eq!(rows(&book)[1], "2 2025-03-15: 12.00 + 94.62, end 1010.76, fees 15.00, missed");
}

/// A payment effective at the fee's own moment is on time; a second later it is not. 106.62 + 12.00 (the second
/// period's interest, which is paid before principal) pays row 1.
#[test]
fn paid_at_the_end_of_the_grace() {
    for (when, fee) in [("2025-02-20T23:59:59-05:00", None), ("2025-02-21T00:00:00-05:00", Some(1_500))] {
        let mut book = plain().held();
        book.submit("p", at(when), payment(11_862)).unwrap();
        book.release(at(AFTER_GRACE));
        assert_eq!(fee_of(&book, 1), fee);
    }
}

/// One cent unpaid is unpaid: receipts of 106.61 do not reach 106.62. With the full amount on time there is no fee,
/// though 12.00 of it went to the second period and row 1 lacks them.
#[test]
fn a_cent_short() {
    for (amount, fee) in [(10_661, Some(1_500)), (10_662, None)] {
        let mut book = plain().open();
        pay(&mut book, "p", amount, "2025-02-17T12:00:00-05:00");
        book.roll(at(AFTER_GRACE));
        assert_eq!(fee_of(&book, 1), fee);
        assert_eq!(book.state.loan().oldest_past_due(), Some(1));
    }
}

/// Row 1 is missed: 15.00 on 02-20. The inputs of 02-21 follow after that, in the second period. Then row 2's grace
/// ends.
fn second_grace(what: impl FnOnce(&mut Book)) -> Book {
    let mut book = plain().with(|policy| policy.delinquent_after = 2).open();
    book.roll(at(AFTER_GRACE));
    what(&mut book);
    book.roll(at("2025-03-21T12:00:00-04:00"));
    book
}

/// 106.62 on 02-21 pays the fee (15.00), 12.00 + 12.00 of interest and 67.62 of principal: 27.00 of row 1 stays unpaid,
/// and of row 2 only its interest is paid. Still, row 2's payment was received on time: an old fee alone makes nothing
/// late. A cent less, and it is late. Two payments count together.
#[test]
fn no_pyramiding() {
    let spared = second_grace(|book| pay(book, "p", 10_662, AFTER_GRACE));
    assert_eq!(
        item(&spared, "p"),
        "p -106.62: 15.00 dbk_late_fee_1, 12.00 dbk_interest_1, 12.00 dbk_interest_2.1, 67.62 dbk_loan"
    );
    assert_eq!(fee_of(&spared, 2), None);
    // Past due: 27.00 of row 1 and 94.62 of row 2. The third period is fixed at 1132.38 x 0.01 = 11.3238.
    let owes = "ACTIVE owes 1132.38 + 0.00 + 0.00, accrued 11.32, past due 121.62, 34 days, 1 late";
    assert_eq!(standing(&spared), owes);

    let late = second_grace(|book| pay(book, "p", 10_661, AFTER_GRACE));
    assert_eq!(fee_of(&late, 2), Some(1_500));
    let owes = "owes 1132.39 + 0.00 + 15.00, accrued 11.32, past due 121.63, 34 days, 2 late";
    assert_eq!(standing(&late), format!("SUSPENDED/DELINQUENT {owes}"));

    let both = second_grace(|book| {
        pay(book, "p", 5_000, AFTER_GRACE);
        pay(book, "q", 5_662, "2025-03-20T12:00:00-04:00");
    });
    assert_eq!(fee_of(&both, 2), None);
}

/// A spared instalment counts neither as late nor as paid: with row 1 late, row 2 spared and row 3 late, two are late
/// in a row.
#[test]
fn a_spared_instalment_breaks_nothing() {
    let mut book = second_grace(|book| pay(book, "p", 10_662, AFTER_GRACE));
    book.events.clear();
    book.roll(at("2025-04-21T12:00:00-04:00"));
    assert_eq!(
        dated_events(&mut book),
        [
            "04-15 23:59:59 line_item_create dbk_interest_3",
            "04-15 23:59:59 due_date_passed 3 unpaid",
            "04-15 23:59:59 payment_missed 3",
            "04-20 23:59:59 line_item_create dbk_late_fee_3",
            "04-20 23:59:59 account_status_change ACTIVE>SUSPENDED/DELINQUENT",
        ]
    );
    assert_eq!(book.state.loan().late_count, 2);
}

/// Row 1 is missed. Row 2 is unpaid, but its amount was received on time. 500.00 then pays everything past due, and row
/// 3.
#[test]
fn an_end_of_grace_says_how_it_found_its_instalment() {
    let mut book = second_grace(|book| pay(book, "p", 10_662, AFTER_GRACE));
    pay(&mut book, "q", 50_000, "2025-03-25T12:00:00-04:00");
    let (_, outcome) = explain(&book.terms, &book.entries, at("2025-04-21T12:00:00-04:00")).unwrap();
    let ends = outcome.steps.iter().filter_map(|step| match step.cause {
        Cause::GraceEnd { instalment, grace_result } => Some((instalment, grace_result)),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [(1, GraceResult::Late), (2, GraceResult::Spared), (3, GraceResult::Paid)]);
}

/// Reversed payments do not count, debit offsets are not receipts, and money from before the last due moment was for
/// another instalment.
#[test]
fn what_is_no_receipt() {
    let reversed = second_grace(|book| {
        pay(book, "p", 10_662, AFTER_GRACE);
        ask(book, "r", "2025-02-25T12:00:00-05:00", reversal("p")).unwrap();
    });
    assert_eq!(fee_of(&reversed, 2), Some(1_500));

    let offset = second_grace(|book| ask(book, "d", AFTER_GRACE, debit(10_662, Component::Fee)).unwrap());
    assert_eq!(
        item(&offset, "d"),
        "d -106.62: 15.00 dbk_late_fee_1, 12.00 dbk_interest_1, 12.00 dbk_interest_2.1, 67.62 dbk_loan"
    );
    assert_eq!(fee_of(&offset, 2), Some(1_500));

    let mut before = plain().held();
    before.submit("p", at("2025-02-15T23:59:59-05:00"), payment(5_000)).unwrap();
    before.submit("q", at(AFTER_GRACE), payment(6_000)).unwrap();
    before.release(at("2025-03-21T12:00:00-04:00"));
    assert_eq!([fee_of(&before, 1), fee_of(&before, 2)], [Some(1_500), Some(1_500)]);
}

/// 20.00 from the first period bounces in the second: that reduces nothing of the 106.62 received for row 2.
#[test]
fn a_reversal_counts_for_the_period_of_its_payment() {
    let mut book = plain().open();
    pay(&mut book, "p1", 2_000, "2025-02-01T12:00:00-05:00");
    pay(&mut book, "p2", 10_662, AFTER_GRACE);
    ask(&mut book, "r", "2025-02-25T12:00:00-05:00", reversal("p1")).unwrap();
    book.roll(at("2025-03-21T12:00:00-04:00"));
    assert_eq!([fee_of(&book, 1), fee_of(&book, 2)], [Some(1_500), None]);
}

/// The last row's fee is charged after maturity, belongs to no row, and is the last one.
#[test]
fn no_late_fee_after_the_last_row() {
    let mut book = plain().of("2025-01-15T12:00:00-05:00", 120_000, 1).open();
    book.roll(at("2026-01-21T12:00:00-05:00"));
    assert_eq!(fee_of(&book, 1), Some(1_500));
    assert_eq!(fee_of(&book, 2), None);
    // Twelve periods of 12.00, all past due, and a thirteenth that is fixed at its start.
    let owes = "owes 1200.00 + 144.00 + 15.00, accrued 12.00, past due 1359.00, 340 days, 1 late";
    assert_eq!(standing(&book), format!("SUSPENDED/DELINQUENT {owes}"));
}

/// The last instalment is late like any other: both of two are.
#[test]
fn the_last_instalment_is_late_too() {
    let mut book = loan().of("2025-01-15T12:00:00-05:00", 120_000, 2).open();
    book.roll(at("2025-06-01T12:00:00-04:00"));
    assert_eq!(item(&book, "dbk_late_fee_1"), "dbk_late_fee_1 15.00 left 15.00");
    assert_eq!(item(&book, "dbk_late_fee_2"), "dbk_late_fee_2 15.00 left 15.00");
    assert_eq!(book.state.balances().fees, Cents(3_000));
}
