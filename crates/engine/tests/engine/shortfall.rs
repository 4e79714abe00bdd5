//! Instalments of which only little is missing.
//!
//! 1,200.00 at 12 %, three months from 15 January 2025: 12.00 + 396.03, 8.04 + 399.99, 4.04 + 403.98.

use super::support::{Loan, ask, at, dated_events, items, loan, pay, reversal, rows, standing};
use daybook_engine::installment::{InterestMethod, Method, Shortfall, ShortfallGoesTo, ShortfallRule};
use daybook_engine::money::{Cents, Percent};
use daybook_testkit::book::Book;

fn three_months(shortfall: Shortfall) -> Loan {
    loan().of("2025-01-15T12:00:00-05:00", 120_000, 3).with(|policy| policy.shortfall = shortfall)
}

fn cents(cents: i64) -> Shortfall {
    Shortfall { cents: Some(Cents(cents)), ..Shortfall::default() }
}

fn to_the_end(mut shortfall: Shortfall) -> Shortfall {
    shortfall.goes_to = ShortfallGoesTo::LastInstalment;
    shortfall
}

/// `12.00 + 395.98`: interest and principal of each row.
fn amounts(book: &Book) -> Vec<String> {
    rows(book).iter().map(|row| row.split(": ").nth(1).unwrap().split(',').next().unwrap().to_owned()).collect()
}

/// 10 cents are tolerated, and 5 are missing: 395.98 of principal is paid, 804.02 is left and earns 8.04. The next
/// instalment asks 408.08, or 408.03; the last one takes the rest.
#[test]
fn the_missing_part_moves() {
    let check = |shortfall, expected: [&str; 3]| {
        let mut book = three_months(shortfall).open();
        pay(&mut book, "p1", 40_798, "2025-02-15T09:00:00-05:00");
        book.roll(at("2025-02-25T12:00:00-05:00"));
        assert_eq!(amounts(&book), expected);
        assert!(items(&book).iter().all(|line| !line.contains("late_fee")), "{:?}", items(&book));
        assert!(dated_events(&mut book).contains(&"02-15 23:59:59 due_date_passed 1 paid less 0.05".to_owned()));
        assert_eq!(book.state.loan().late_count, 0);
    };
    check(cents(10), ["12.00 + 395.98", "8.04 + 400.04", "4.04 + 403.98"]);
    check(to_the_end(cents(10)), ["12.00 + 395.98", "8.04 + 399.99", "4.04 + 404.03"]);
}

/// What may be missing: cents, a percentage of 408.03 rounded down (0.5 % is 2.04), the higher or the lower.
#[test]
fn the_limit() {
    let percent = |text| Some(Percent::parse(text).unwrap());
    let half = Shortfall { percent: percent("0.5"), ..Shortfall::default() };
    let both = |rule| Shortfall { cents: Some(Cents(300)), percent: percent("0.5"), rule, goes_to: Default::default() };
    let check = |shortfall, missing: i64, tolerated: bool| {
        let mut book = three_months(shortfall).open();
        if missing < 40_803 {
            pay(&mut book, "p1", 40_803 - missing, "2025-02-15T09:00:00-05:00");
        }
        book.roll(at("2025-02-16T12:00:00-05:00"));
        assert_eq!(book.state.loan().oldest_past_due().is_none(), tolerated, "{shortfall:?} {missing}");
    };
    check(cents(10), 10, true);
    check(cents(10), 11, false);
    check(half, 204, true);
    check(half, 205, false);
    check(both(ShortfallRule::Higher), 300, true);
    check(both(ShortfallRule::Higher), 301, false);
    check(both(ShortfallRule::Lower), 204, true);
    check(both(ShortfallRule::Lower), 205, false);
    check(Shortfall::default(), 1, false);
    // Something must have been paid into the row.
    check(cents(50_000), 40_803, false);
    check(cents(50_000), 40_802, true);
}

/// The first instalment is missed, and paid less 5 cents on 25 February: it is cured, with its late fee. The fee stays
/// past due. Paid less 11 cents on 20 March, when the second one is past due too: 0.05 of it stay past due until a later
/// payment.
#[test]
fn judged_again_after_each_payment() {
    let mut book = three_months(cents(10)).open();
    pay(&mut book, "p1", 40_798, "2025-02-25T12:00:00-05:00");
    assert_eq!(standing(&book), "ACTIVE owes 804.02 + 0.00 + 15.00, accrued 4.29");
    let mut book = three_months(cents(10)).open();
    pay(&mut book, "p1", 40_000, "2025-02-15T09:00:00-05:00");
    book.roll(at("2025-03-16T12:00:00-04:00"));
    assert_eq!(book.state.loan().oldest_past_due(), Some(1));
    pay(&mut book, "p2", 798, "2025-03-16T13:00:00-04:00");
    assert_eq!(book.state.loan().oldest_past_due(), Some(2), "0.05 of row 1 moved to row 2, which is past due too");
    let row = book.state.loan().row(2).unwrap();
    // 1,200.00 - 388.00 = 812.00 earned 8.12 in the second period; row 2 asked 8.12 + 399.91, and 0.05 more.
    assert_eq!((row.interest, row.principal), (Cents(812), Cents(39_996)));
    // 812.00 earn 0.26 until 16 March, and 404.06 3.91 from then to 15 April.
    assert_eq!(amounts(&book)[2], "4.17 + 404.06");
}

/// The row's amount is what was paid into it, also after a reversal.
#[test]
fn a_reversal_does_not_bring_the_shortfall_back() {
    let mut book = three_months(cents(10)).open();
    pay(&mut book, "p1", 40_798, "2025-02-15T09:00:00-05:00");
    book.roll(at("2025-02-16T12:00:00-05:00"));
    ask(&mut book, "r1", "2025-02-16T13:00:00-05:00", reversal("p1")).unwrap();
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 12.00 + 0.00, accrued 0.29, past due 407.98, 1 days");
    pay(&mut book, "p2", 40_798, "2025-02-16T14:00:00-05:00");
    assert_eq!(amounts(&book)[0], "12.00 + 395.98");
    assert_eq!(book.state.loan().oldest_past_due(), None);
}

/// Never the last instalment, nor any once it has posted.
#[test]
fn the_last_instalment_is_never_short() {
    let mut book = three_months(cents(10)).open();
    pay(&mut book, "p1", 40_803, "2025-02-15T09:00:00-05:00");
    pay(&mut book, "p2", 40_803, "2025-03-15T09:00:00-04:00");
    pay(&mut book, "p3", 40_801, "2025-04-15T09:00:00-04:00");
    book.roll(at("2025-04-16T12:00:00-04:00"));
    assert_eq!(book.state.loan().oldest_past_due(), Some(3));
    let mut book = three_months(cents(10)).open();
    pay(&mut book, "p1", 40_000, "2025-02-15T09:00:00-05:00");
    pay(&mut book, "p2", 798, "2025-04-16T12:00:00-04:00");
    assert_eq!(book.state.loan().oldest_past_due(), Some(1));
}

/// Equal principal of 400.00: the missing 0.05 raise the next row's principal; missing interest moves with it. Kept
/// interest of `FLAT` moves too.
#[test]
fn the_other_methods() {
    let check = |method, missing: i64, expected: [&str; 3]| {
        let plain = three_months(cents(500)).with(|policy| {
            (policy.method, policy.interest) = (method, InterestMethod::Periodic);
        });
        let mut book = plain.open();
        pay(&mut book, "p1", 41_200 - missing, "2025-02-15T09:00:00-05:00");
        book.roll(at("2025-02-16T12:00:00-05:00"));
        assert_eq!(amounts(&book), expected, "{method:?}");
    };
    check(Method::EqualPrincipal, 5, ["12.00 + 399.95", "8.00 + 400.05", "4.00 + 400.00"]);
    check(Method::Flat, 5, ["12.00 + 399.95", "12.00 + 400.05", "12.00 + 400.00"]);
}
