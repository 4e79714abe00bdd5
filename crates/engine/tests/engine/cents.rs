//! Wrong cents that random histories found, each with its original history.
//!
//! The loan: 1,200.00 at 12 %, monthly, from noon of 2027-01-15 in UTC, with a product's defaults otherwise.

use crate::support::*;
use daybook_engine::calendar::Interval;
use daybook_engine::installment::{InterestMethod, Method, Surplus};
use daybook_engine::item::{ItemStatus, Name};
use daybook_engine::money::Cents;
use daybook_engine::time::Time;
use daybook_engine::timeline::{Backdating, Input};
use daybook_testkit::book::Book;

fn base(instalments: u32) -> Loan {
    let mut base = loan().of("2027-01-15T12:00:00Z", 120_000, instalments).with(|policy| {
        policy.interest = InterestMethod::Periodic;
        policy.late_fee = Default::default();
    });
    base.zone = "UTC";
    base
}

fn closes(book: &Book, instalment: u32) -> Time {
    book.terms.close_of(book.terms.installment().dates.due_day(instalment))
}

/// The twelfth instalment, 106.60, is paid in full three days after it fell due, within ten days of grace. Interest
/// that accrues meanwhile is not part of it, so the instalment is not late.
#[test]
fn the_last_instalment_paid_within_its_grace_is_not_late() {
    let late = |loan: Loan| {
        loan.with(|policy| {
            policy.late_fee.flat = Cents(1_500);
            policy.late_fee.grace = Interval::days(10);
        })
    };
    for loan in [late(base(12)), late(base(12)).with(|policy| policy.interest = InterestMethod::Daily)] {
        let mut book = loan.open();
        for month in 2..=12 {
            pay(&mut book, &format!("p{month}"), 10_662, &format!("2027-{month:02}-15T12:00:00Z"));
        }
        pay(&mut book, "last", 10_660, "2028-01-18T12:00:00Z");
        book.roll(at("2028-02-10T12:00:00Z"));
        let last = rows(&book).pop().unwrap();
        assert_eq!(last, "12 2028-01-15: 1.06 + 105.54, end 0.00, paid 106.60, missed");
        assert!(!standing(&book).contains("DELINQUENT"), "{}", standing(&book));
        assert!(items(&book).iter().all(|item| !item.starts_with("dbk_late_fee")), "{:?}", items(&book));
    }
}

/// A payment of the payoff less one cent made all later instalments tiny. Undoing it restores their earlier amounts.
#[test]
fn undoing_a_payment_gives_back_the_instalments_that_it_lowered() {
    let lowered = |status| {
        let mut book = base(12).with(|policy| policy.surplus = Surplus::ReducePrincipal).open();
        let before = rows(&book);
        let payment = Input::Payment { amount: Cents(121_199), status, allocation: None };
        ask(&mut book, "p1", "2027-01-20T12:00:00Z", payment).unwrap();
        (book, before)
    };
    let (mut book, before) = lowered(ItemStatus::Valid);
    ask(&mut book, "r1", "2027-01-20T13:00:00Z", reversal("p1")).unwrap();
    assert_eq!(rows(&book), before);
    let (mut book, before) = lowered(ItemStatus::Pending);
    let decision = Input::PaymentStatus { payment: Name::from("p1"), valid: false };
    ask(&mut book, "d1", "2027-01-20T13:00:00Z", decision).unwrap();
    assert_eq!(rows(&book), before);
}

/// Flat interest of periods that have not begun is not part of a payoff, under any surplus rule.
#[test]
fn a_quote_that_is_paid_pays_off() {
    for surplus in [Surplus::NextInstalment, Surplus::LastInstalment, Surplus::ReducePrincipal] {
        let mut book = base(3).with(|policy| (policy.method, policy.surplus) = (Method::Flat, surplus)).open();
        book.roll(at("2027-01-20T12:00:00Z"));
        assert_eq!(reading(&book).payoff, Cents(121_200));
        pay(&mut book, "p1", 121_200, "2027-01-20T12:00:00Z");
        assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
    }
}

/// 408.03 effective 10 February, authorized then and valid on 20 February: under replay it counts from the 10th, in
/// whichever order the inputs were submitted.
#[test]
fn an_authorized_payment_counts_from_its_own_time_under_replay() {
    let loan = base(3).replaying().with(|policy| policy.late_fee.grace = Interval::days(3));
    let authorized = Input::Payment { amount: Cents(40_803), status: ItemStatus::Authorized, allocation: None };
    let decision = Input::PaymentStatus { payment: Name::from("p1"), valid: true };
    let mut live = loan.open();
    ask(&mut live, "p1", "2027-02-10T12:00:00Z", authorized.clone()).unwrap();
    ask(&mut live, "d1", "2027-02-20T12:00:00Z", decision.clone()).unwrap();
    let mut held = loan.held();
    held.submit("d1", at("2027-02-20T12:00:00Z"), decision).unwrap();
    held.submit("p1", at("2027-02-10T12:00:00Z"), authorized).unwrap();
    held.release(at("2027-02-20T12:00:00Z"));
    for book in [&live, &held] {
        assert_eq!(standing(book), "ACTIVE owes 803.97 + 0.00 + 0.00, accrued 8.04");
    }
}

/// A decision in the future is scheduled.
#[test]
fn a_decision_in_the_future_waits() {
    for backdating in [Backdating::AsPosted, Backdating::Replay] {
        let mut loan = base(3);
        loan.backdating = backdating;
        let mut book = loan.open();
        let authorized = Input::Payment { amount: Cents(40_803), status: ItemStatus::Authorized, allocation: None };
        ask(&mut book, "p1", "2027-01-20T12:00:00Z", authorized).unwrap();
        let decision = Input::PaymentStatus { payment: Name::from("p1"), valid: true };
        book.submit("d1", at("2027-01-25T12:00:00Z"), decision).unwrap();
        assert_eq!(item(&book, "p1"), "p1 -408.03 AUTHORIZED");
        assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 0.00 + 0.00, accrued 12.00");
        book.roll(at("2027-01-25T12:00:00Z"));
        assert_eq!(item(&book, "p1"), "p1 -408.03: 12.00 dbk_interest_1.1, 396.03 dbk_loan");
    }
}

/// The instant at which a period closes belongs to it: the next period costs 1 % of the principal left after all
/// payments at that instant, whether or not the account had been rolled to that instant before.
#[test]
fn the_closing_instant_belongs_to_the_period_that_ends() {
    for micros_before in [1, 0] {
        let mut book = base(3).open();
        let closing = closes(&book, 1);
        book.roll(closing.plus_micros(-micros_before));
        book.submit("p1", closing.plus_micros(-micros_before), payment(40_803)).unwrap();
        book.roll(closing.plus_micros(1));
        assert_eq!(standing(&book), "ACTIVE owes 803.97 + 0.00 + 0.00, accrued 8.04");
        book.roll(closes(&book, 2));
        assert_eq!(item(&book, "dbk_interest_2"), "dbk_interest_2 8.04 left 8.04");
    }
}

/// 408.03 is past due again and a surplus of 600.00 exists: it is used.
#[test]
fn surplus_is_used_when_something_is_owed_again() {
    let mut book = base(3).open();
    pay(&mut book, "p1", 40_803, "2027-02-15T12:00:00Z");
    pay(&mut book, "p2", 81_201 + 60_000, "2027-02-20T12:00:00Z");
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 600.00");
    ask(&mut book, "r1", "2027-02-25T12:00:00Z", reversal("p1")).unwrap();
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 191.97");
    assert_eq!(item(&book, "dbk_surplus_1"), "dbk_surplus_1 -408.03: 12.00 dbk_interest_1.1, 396.03 dbk_loan");
}

/// The payment whose surplus was used bounces too: first the use of its surplus is undone, then the payment.
#[test]
fn a_use_of_surplus_is_taken_back_before_its_payment() {
    let mut book = base(3).open();
    pay(&mut book, "p1", 40_803, "2027-02-15T12:00:00Z");
    pay(&mut book, "p2", 81_201 + 60_000, "2027-02-20T12:00:00Z");
    ask(&mut book, "r1", "2027-02-25T12:00:00Z", reversal("p1")).unwrap();
    ask(&mut book, "r2", "2027-02-26T12:00:00Z", reversal("p2")).unwrap();
    assert_eq!(item(&book, "dbk_surplus_1"), "dbk_surplus_1 -408.03: 12.00 dbk_interest_1.1, 396.03 dbk_loan");
    assert_eq!(item(&book, "dbk_surplus_2"), "dbk_surplus_2 408.03");
    let owes = "owes 1200.00 + 20.04 + 0.00, past due 408.03, 11 days";
    assert!(standing(&book).contains(owes), "{}", standing(&book));
}

/// Money that a paid-off account receives is kept, and its status shows that.
#[test]
fn a_paid_off_account_that_receives_money_has_a_surplus() {
    let mut book = base(3).open();
    pay(&mut book, "p1", 121_200, "2027-01-20T12:00:00Z");
    assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
    pay(&mut book, "p2", 500, "2027-01-21T12:00:00Z");
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 5.00");
    ask(&mut book, "r2", "2027-01-22T12:00:00Z", reversal("p2")).unwrap();
    assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
}

/// Two payments lowered the instalments. The first is undone: instalments that only it changed get their earlier
/// amounts back; those that the second also changed are recalculated. 614.24 is unpaid then, of which row 1 takes
/// 195.06 and row 3, with 7.12 + 139.58 paid of 207.06, 60.36. 358.82 over three rows is 358.82 x 0.01 / (1 - 1.01^-3)
/// = 122.0067.
#[test]
fn undoing_the_first_of_two_payments_that_lowered_the_instalments() {
    let lowered = |first: bool| {
        let mut book = base(6).with(|policy| policy.surplus = Surplus::ReducePrincipal).open();
        if first {
            pay(&mut book, "p1", 50_000, "2027-01-20T12:00:00Z");
        }
        pay(&mut book, "p2", 60_000, "2027-03-20T12:00:00Z");
        book
    };
    let mut book = lowered(true);
    assert_ne!(rows(&book), rows(&lowered(false)));
    ask(&mut book, "r1", "2027-03-20T13:00:00Z", reversal("p1")).unwrap();
    // Row 3 is open and was lowered by the first payment only: it is the agreed 207.06 again.
    let third = &rows(&book)[2];
    assert!(third.starts_with("3 2027-04-15: "), "{third}");
    assert_eq!(book.state.loan().plan.amount(3), Cents(20_706));
    assert_eq!(book.state.loan().plan.amount(4), Cents(12_201));
}

/// 1,200.00 at 12 % in three, daily: 408.03 is paid a day late and pays the first instalment. The second has (1200.00 +
/// 803.97 x 27) x 0.01/28 = 8.18 of interest, and the rest is principal.
#[test]
fn what_an_instalment_asked_pays_it_a_day_late() {
    let daily = |policy: &mut daybook_engine::installment::InstallmentPolicy| policy.interest = InterestMethod::Daily;
    for (loan, second) in [(base(3).with(daily), "8.18 + 399.85"), (base(3), "12.00 + 396.03")] {
        let mut book = loan.open();
        pay(&mut book, "p1", 40_803, "2027-02-16T12:00:00Z");
        assert_eq!(reading(&book).past_due, Cents::ZERO);
        assert!(rows(&book)[0].ends_with("paid 408.03, missed"), "{}", rows(&book)[0]);
        assert!(rows(&book)[1].starts_with(&format!("2 2027-03-15: {second}")), "{}", rows(&book)[1]);
    }
}

/// 300.00 on 10 February; 408.03 on 10 March: 108.03 to the first row, 9.12 + 290.88 to the second; the fee is unpaid.
#[test]
fn a_shortfall_is_filled_before_the_open_row_and_fees_come_last() {
    let mut book = base(3)
        .with(|policy| {
            policy.late_fee.flat = Cents(1_500);
            policy.late_fee.grace = Interval::days(5);
        })
        .open();
    pay(&mut book, "p1", 30_000, "2027-02-10T12:00:00Z");
    pay(&mut book, "p2", 40_803, "2027-03-10T12:00:00Z");
    assert_eq!(item(&book, "p2"), "p2 -408.03: 108.03 dbk_loan, 9.12 dbk_interest_2.1, 290.88 dbk_loan");
    assert_eq!(item(&book, "dbk_late_fee_1"), "dbk_late_fee_1 15.00 left 15.00");
}
