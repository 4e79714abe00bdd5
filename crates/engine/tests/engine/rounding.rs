//! When interest is rounded, and what becomes of fractions of a cent.

use super::support::{Loan, loan, pay, reading, rows};
use daybook_engine::installment::{DayCount, InterestRoundingAt};
use daybook_engine::money::{Cents, Percent, Rounding};

const START: &str = "2025-01-15T12:00:00-05:00";

fn three_months(at: InterestRoundingAt) -> Loan {
    loan().of(START, 120_000, 3).with(|policy| {
        policy.rate = Percent::parse("11").unwrap();
        (policy.day_count, policy.interest_rounding_at) = (DayCount::Actual365, at);
    })
}

/// The interest of each row of the schedule.
fn interest(loan: &Loan) -> Vec<String> {
    let words = |row: &String| row.split(' ').nth(2).unwrap().to_owned();
    rows(&loan.open()).iter().map(words).collect()
}

/// 11 %, level 407.25. Row 1: 1,200.00 x 11 % x 31/365 = 11.2110; row 2: 803.96 x 11 % x 28/365 = 6.7841, with the
/// carried 0.0010 still 6.79 (6.7851); row 3: 403.50 x 11 % x 31/365 = 3.7697, with the carried -0.0049 3.76. A payment
/// on each due date drops the fraction. A day of 1,200.00 earns 0.3616, rounded 0.36 x 31 = 11.16; of 803.91 0.2423,
/// 0.24 x 28 = 6.72; of 403.38 0.1216, 0.12 x 31 = 3.72.
#[test]
fn each_point_of_rounding() {
    let check = |at, expected: [&str; 3]| {
        let loan = three_months(at);
        assert_eq!(loan.terms().installment().plan.level, Cents(40_725));
        assert_eq!(interest(&loan), expected, "{at:?}");
    };
    check(InterestRoundingAt::PeriodEnd, ["11.21", "6.78", "3.77"]);
    check(InterestRoundingAt::Carry, ["11.21", "6.79", "3.76"]);
    check(InterestRoundingAt::Payment, ["11.21", "6.78", "3.77"]);
    check(InterestRoundingAt::Daily, ["11.16", "6.72", "3.72"]);
}

/// 11.2110, 6.7841 and 3.7697 without their fractions.
#[test]
fn fractions_are_dropped() {
    let down = three_months(InterestRoundingAt::PeriodEnd).with(|policy| policy.interest_rounding = Rounding::Down);
    assert_eq!(interest(&down), ["11.21", "6.78", "3.76"]);
    let carried = three_months(InterestRoundingAt::Carry).with(|policy| policy.interest_rounding = Rounding::Down);
    assert_eq!(
        interest(&carried),
        ["11.21", "6.78", "3.77"],
        "11.2110 + 6.7841 + 3.7697 = 21.7648 without the other principal"
    );
}

/// Unpaid, 1,200.00 earns 11.21096, 10.12603 and 11.21096 at 11 % for 31, 28 and 31 days: 32.54795 in all. Carried
/// fractions never lose a cent: 11.21, 10.13 (21.33699 less 11.21), 11.21 (32.54795 less 21.34).
#[test]
fn carried_fractions_add_up() {
    let mut book = three_months(InterestRoundingAt::Carry).open();
    book.roll(super::support::at("2025-04-16T12:00:00-04:00"));
    let posted = |period: u32| super::support::item(&book, &format!("dbk_interest_{period}"));
    assert_eq!(
        [1, 2, 3].map(posted).map(|line| line.split(' ').nth(1).unwrap().to_owned()),
        ["11.21", "10.13", "11.21"]
    );
}

/// A day of 1,200.00 at 11 % earns 0.361644: 9 days 3.25479, 10 days 3.61644. A payment on 24 January sets the first to
/// 3.25, so that a day later the interest is 3.61164 instead of 3.61644; a second payment that day changes no more.
#[test]
fn a_payment_drops_the_fraction() {
    let check = |at, expected: i64| {
        let mut book = three_months(at).open();
        pay(&mut book, "p1", 100, "2025-01-24T09:00:00-05:00");
        pay(&mut book, "p2", 100, "2025-01-24T10:00:00-05:00");
        book.roll(super::support::at("2025-01-25T12:00:00-05:00"));
        assert_eq!(reading(&book).accrued, Cents(expected - 200), "{at:?}");
    };
    check(InterestRoundingAt::PeriodEnd, 362);
    check(InterestRoundingAt::Carry, 362);
    check(InterestRoundingAt::Payment, 361);
    check(InterestRoundingAt::Daily, 360);
}
