//! The plan: spreading the principal, rounding, smoothing, and dates that a month does not have.

use super::support::{Loan, at, events, item, loan, pay, reading, rows, standing};
use daybook_engine::calendar::{Interval, MonthEnd};
use daybook_engine::installment::{DayCount, InterestMethod, Method};
use daybook_engine::money::{Cents, Percent, Rounding};
use daybook_engine::status::Status;
use daybook_engine::timeline::Input;

/// 10,000.00 from 2025-01-01 at 1 % a month in four instalments.
fn example() -> Loan {
    loan().of("2025-01-01T00:00:00-05:00", 1_000_000, 4)
}

fn check(loan: &Loan, told: &[&str]) {
    assert_eq!(rows(&loan.open()), told);
}

/// 2500.00 of principal each; interest on the rest.
#[test]
fn equal_principal() {
    check(
        &example().with(|policy| policy.method = Method::EqualPrincipal),
        &[
            "1 2025-02-01: 100.00 + 2500.00, end 7500.00",
            "2 2025-03-01: 75.00 + 2500.00, end 5000.00",
            "3 2025-04-01: 50.00 + 2500.00, end 2500.00",
            "4 2025-05-01: 25.00 + 2500.00, end 0.00",
        ],
    );
    // 1000.00 / 3 = 333.3333; the last row takes the rest. 666.67 x 0.01 = 6.6667, 333.34 x 0.01 = 3.3334.
    check(
        &loan().of("2025-01-01T00:00:00-05:00", 100_000, 3).with(|policy| policy.method = Method::EqualPrincipal),
        &[
            "1 2025-02-01: 10.00 + 333.33, end 666.67",
            "2 2025-03-01: 6.67 + 333.33, end 333.34",
            "3 2025-04-01: 3.33 + 333.34, end 0.00",
        ],
    );
}

/// 1200.00 in twelve: 100.00 each. 112.00 a day early pays 11.61 (30 of 31 days) + 100.00, and 0.39 into the end of the
/// loan. The row has no fixed total: the last day's interest, (1200.00 x 30 + 1099.61) x 0.01/31 = 11.9676, less 11.61
/// = 0.36, belongs to it too, so it is not paid.
#[test]
fn equal_principal_paid_a_day_early() {
    let mut book = loan().with(|policy| policy.method = Method::EqualPrincipal).open();
    book.events.clear();
    pay(&mut book, "p", 11_200, "2025-02-14T12:00:00-05:00");
    book.roll(at("2025-02-15T23:59:59-05:00"));
    assert_eq!(item(&book, "p"), "p -112.00: 11.61 dbk_interest_1.1, 100.00 dbk_loan, 0.39 dbk_loan");
    assert_eq!(
        events(&mut book),
        [
            "line_item_create p",
            "line_item_create dbk_interest_1.1",
            "line_item_create dbk_interest_1",
            "due_date_passed 1 unpaid",
            "payment_missed 1",
        ]
    );
    assert_eq!(rows(&book)[0], "1 2025-02-15: 11.97 + 100.00, end 1100.00, paid 111.61, missed");
    assert_eq!(standing(&book), "ACTIVE owes 1099.61 + 0.36 + 0.00, past due 0.36");
}

/// 10000.00 x 0.12 x 4/12 / 4 = 100.00 of interest and 2500.00 of principal each, for any `interest_calc_method`.
#[test]
fn flat() {
    for method in [InterestMethod::Daily, InterestMethod::Periodic] {
        check(
            &example().with(|policy| (policy.method, policy.interest) = (Method::Flat, method)),
            &[
                "1 2025-02-01: 100.00 + 2500.00, end 7500.00",
                "2 2025-03-01: 100.00 + 2500.00, end 5000.00",
                "3 2025-04-01: 100.00 + 2500.00, end 2500.00",
                "4 2025-05-01: 100.00 + 2500.00, end 0.00",
            ],
        );
    }
    // By days: 31 + 28 + 31 + 30 = 120 of 365, 10000.00 x 0.12 x 120/365 / 4 = 98.6301 each.
    let terms = example().with(|policy| (policy.method, policy.day_count) = (Method::Flat, DayCount::Actual365));
    assert_eq!(rows(&terms.open())[1], "2 2025-03-01: 98.63 + 2500.00, end 5000.00");
}

/// A row's interest is owed from its period's start; a payoff excludes rows that have not begun. On 2025-02-01 row 1 is
/// due: 10000.00 + 100.00. A second after its due moment row 2's 100.00 is owed too.
#[test]
fn flat_payoff() {
    let terms = example().with(|policy| policy.method = Method::Flat);
    for (when, payoff) in [
        ("2025-01-01T00:00:00-05:00", 1_010_000),
        ("2025-02-01T23:59:58-05:00", 1_010_000),
        ("2025-02-01T23:59:59-05:00", 1_010_000),
        ("2025-02-02T00:00:00-05:00", 1_020_000),
    ] {
        let mut book = terms.open();
        book.roll(at(when));
        assert_eq!(reading(&book).payoff, Cents(payoff), "{when}");
        pay(&mut book, "p", payoff, when);
        assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
    }
}

/// Two interest-only rows, then 10000.00 x 0.01 / (1 - 1.01^-2) = 5075.1244. Row 4: 5024.88 x 0.01 = 50.2488.
#[test]
fn interest_only() {
    check(
        &example().with(|policy| policy.interest_only = 2),
        &[
            "1 2025-02-01: 100.00 + 0.00, end 10000.00",
            "2 2025-03-01: 100.00 + 0.00, end 10000.00",
            "3 2025-04-01: 100.00 + 4975.12, end 5024.88",
            "4 2025-05-01: 50.25 + 5024.88, end 0.00",
        ],
    );
    check(
        &example().with(|policy| (policy.method, policy.interest_only) = (Method::EqualPrincipal, 2)),
        &[
            "1 2025-02-01: 100.00 + 0.00, end 10000.00",
            "2 2025-03-01: 100.00 + 0.00, end 10000.00",
            "3 2025-04-01: 100.00 + 5000.00, end 5000.00",
            "4 2025-05-01: 50.00 + 5000.00, end 0.00",
        ],
    );
}

/// Without interest the principal is divided: 1000.00 / 3 = 333.3333.
#[test]
fn no_interest() {
    let terms = loan().of("2025-01-01T00:00:00-05:00", 100_000, 3).with(|policy| policy.rate = Percent::ZERO);
    check(
        &terms,
        &[
            "1 2025-02-01: 0.00 + 333.33, end 666.67",
            "2 2025-03-01: 0.00 + 333.33, end 333.34",
            "3 2025-04-01: 0.00 + 333.34, end 0.00",
        ],
    );
}

/// 2562.81 rounded to whole units is 2563.00; the last row makes up for the difference.
#[test]
fn whole_units() {
    check(
        &example().with(|policy| policy.instalment_rounding = Cents(100)),
        &[
            "1 2025-02-01: 100.00 + 2463.00, end 7537.00",
            "2 2025-03-01: 75.37 + 2487.63, end 5049.37",
            "3 2025-04-01: 50.49 + 2512.51, end 2536.86",
            "4 2025-05-01: 25.37 + 2536.86, end 0.00",
        ],
    );
    // Flat: (10000.00 + 4 x 100.00) / 4 = 2600.00, rounded to 1000.00, is 3000.00: 2900.00 of principal, and 1300.00
    // last.
    check(
        &example().with(|policy| (policy.method, policy.instalment_rounding) = (Method::Flat, Cents(100_000))),
        &[
            "1 2025-02-01: 100.00 + 2900.00, end 7100.00",
            "2 2025-03-01: 100.00 + 2900.00, end 4200.00",
            "3 2025-04-01: 100.00 + 2900.00, end 1300.00",
            "4 2025-05-01: 100.00 + 1300.00, end 0.00",
        ],
    );
    // Equal principal: 1000.00 / 3, rounded to 100.00, is 300.00; the last row takes 400.00.
    let terms = loan().of("2025-01-01T00:00:00-05:00", 100_000, 3);
    check(
        &terms.with(|policy| (policy.method, policy.instalment_rounding) = (Method::EqualPrincipal, Cents(10_000))),
        &[
            "1 2025-02-01: 10.00 + 300.00, end 700.00",
            "2 2025-03-01: 7.00 + 300.00, end 400.00",
            "3 2025-04-01: 4.00 + 400.00, end 0.00",
        ],
    );
}

/// Smoothing adjusts the level payment once by the last row's difference divided by the number of level rows.
///
/// Unit 1.00: 2563.00 each and 2562.23 last; -0.77/4 = -0.1925, so 2562.81, with 2562.81 last. Unit 100.00: 2600.00
/// each and 2449.00 last; -151.00/4 = -37.75, so 2562.25, and 2564.53 last. Unit 500.00: 2500.00 each and 2755.04 last;
/// 255.04/4 = 63.76, so 2563.76, and 2559.91 last.
#[test]
fn smoothing_helps() {
    for (unit, level, last) in [
        (100, 256_281, "4 2025-05-01: 25.37 + 2537.44, end 0.00"),
        (10_000, 256_225, "4 2025-05-01: 25.39 + 2539.14, end 0.00"),
        (50_000, 256_376, "4 2025-05-01: 25.35 + 2534.56, end 0.00"),
    ] {
        let terms = example().with(|policy| (policy.instalment_rounding, policy.smooth_last) = (Cents(unit), true));
        let book = terms.open();
        assert_eq!(book.terms.installment().plan.level, Cents(level));
        assert_eq!(rows(&book)[3], last);
    }
}

/// With interest-only rows only the level ones share the difference: 5075.1244 to 100.00 is 5100.00, and the last row
/// is (10000.00 - 5000.00) x 1.01 = 5050.00; -50.00/2 = -25.00, so 5075.00. The last row: 5025.00 x 1.01 = 5075.25.
#[test]
fn smoothing_after_interest_only_rows() {
    let terms = example().with(|policy| {
        (policy.interest_only, policy.instalment_rounding, policy.smooth_last) = (2, Cents(10_000), true);
    });
    assert_eq!(
        rows(&terms.open())[2..],
        ["3 2025-04-01: 100.00 + 4975.00, end 5025.00", "4 2025-05-01: 50.25 + 5025.00, end 0.00",]
    );
}

/// 100.01 in two: 100.01 x 0.01 / (1 - 1.01^-2) = 50.7563, so 50.76, and 1.00 + 49.76, then 50.25 + 0.50 = 50.75. Half
/// of the cent of difference rounds up to a cent: 50.75 would make the last 50.76. That is no closer, so the level
/// stays. 100.51: 51.0101, so 51.01; 1.01 + 50.00, then 50.51 + 0.51 = 51.02; 51.02 would make the last 51.01.
#[test]
fn smoothing_does_not_help() {
    for (principal, level, last) in [
        (10_001, 5_076, "2 2025-03-01: 0.50 + 50.25, end 0.00"),
        (10_051, 5_101, "2 2025-03-01: 0.51 + 50.51, end 0.00"),
    ] {
        let terms = loan().of("2025-01-01T00:00:00-05:00", principal, 2);
        let book = terms.with(|policy| (policy.rounding, policy.smooth_last) = (Rounding::HalfUp, true)).open();
        assert_eq!(book.terms.installment().plan.level, Cents(level));
        assert_eq!(rows(&book)[1], last);
    }
}

/// From the 31st: the last day of short months, or the first of the next. A month is a month by `THIRTY_360`: 12.00,
/// then 1105.38 x 0.01 = 11.05, then 1009.81 x 0.01 = 10.10.
#[test]
fn month_ends() {
    for (month_end, dates) in [
        (MonthEnd::Clamp, ["2025-02-28", "2025-03-31", "2025-04-30", "2025-05-31"]),
        (MonthEnd::Roll, ["2025-03-01", "2025-03-31", "2025-05-01", "2025-05-31"]),
    ] {
        let terms = loan().of("2025-01-31T12:00:00-05:00", 120_000, 12).with(|policy| policy.month_end = month_end);
        let told = rows(&terms.open());
        assert_eq!(told[0], format!("1 {}: 12.00 + 94.62, end 1105.38", dates[0]));
        assert_eq!(told[1], format!("2 {}: 11.05 + 95.57, end 1009.81", dates[1]));
        assert_eq!(told[2], format!("3 {}: 10.10 + 96.52, end 913.29", dates[2]));
        assert!(told[3].starts_with(&format!("4 {}: ", dates[3])));
    }
}

/// 1200.00 flat at 12 % in three: 12.00 + 400.00 each. In bankruptcy the account does not close automatically. The
/// payoff of 1212.00 in the first period pays its row and the principal of the others; their interest is then never
/// owed.
#[test]
fn flat_interest_ends_with_the_principal() {
    let flat = loan().of("2025-01-15T12:00:00-05:00", 120_000, 3).with(|policy| policy.method = Method::Flat);
    let mut book = flat.open();
    let bankrupt = Status::parse("SUSPENDED", Some("BANKRUPTCY")).unwrap();
    book.submit("s", at("2025-01-15T12:00:00-05:00"), Input::Status(bankrupt)).unwrap();
    pay(&mut book, "p", 121_200, "2025-01-21T12:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -1212.00: 12.00 dbk_interest_1.1, 400.00 dbk_loan, 800.00 dbk_loan");
    book.roll(at("2025-03-16T12:00:00-04:00"));
    assert_eq!(standing(&book), "SUSPENDED/BANKRUPTCY owes 0.00 + 0.00 + 0.00");
    assert_eq!(
        rows(&book),
        [
            "1 2025-02-15: 12.00 + 400.00, end 800.00, paid 412.00, on time",
            "2 2025-03-15: 0.00 + 400.00, end 400.00, paid 400.00, on time",
            "3 2025-04-15: 0.00 + 400.00, end 0.00, paid 400.00",
        ]
    );
}

/// 100.00 at 60 % in three, the first after a year: 100.00 x 1.6 x 1.05^2 / (1.05^2 + 1.05 + 1) = 55.96. The first
/// year's 60.00 exceeds that, and 4.04 is carried over: row 2 is 5.00 + 4.04 and 46.92, row 3 is 53.08 + 2.65 = 55.73,
/// 0.23 less. A third of that is 0.08; with 55.88 row 2 is 5.00 + 4.12 and 46.76, row 3 is 53.24 + 2.66 = 55.90.
#[test]
fn smoothing_counts_interest_that_moves_on() {
    let terms = loan().of("2025-01-15T12:00:00-05:00", 10_000, 3).with(|policy| {
        policy.rate = Percent::parse("60").unwrap();
        policy.first_cycle = Some(Interval::months(12));
    });
    assert_eq!(terms.open().terms.installment().plan.level, Cents(5_596));
    let smoothed = terms.with(|policy| policy.smooth_last = true);
    check(
        &smoothed,
        &[
            "1 2026-01-15: 55.88 + 0.00, end 100.00",
            "2 2026-02-15: 9.12 + 46.76, end 53.24",
            "3 2026-03-15: 2.66 + 53.24, end 0.00",
        ],
    );
}

/// 1000.00 flat at 12 % in three: 10.00 of interest each. The instalment of 343.3333 is rounded to 343.00, interest and
/// principal together; the last row takes the rest.
#[test]
fn flat_in_whole_units() {
    let terms = loan().of("2025-01-01T00:00:00-05:00", 100_000, 3).with(|policy| {
        (policy.method, policy.instalment_rounding) = (Method::Flat, Cents(100));
    });
    check(
        &terms,
        &[
            "1 2025-02-01: 10.00 + 333.00, end 667.00",
            "2 2025-03-01: 10.00 + 333.00, end 334.00",
            "3 2025-04-01: 10.00 + 334.00, end 0.00",
        ],
    );
}

/// 0.03 flat at 400 % in two: 0.03 x 4 x 2/12 / 2 = 0.01 of interest each. Half of the principal is 0.015 and rounds to
/// the even cent, independent of the interest.
#[test]
fn flat_principal_is_rounded_by_itself() {
    let terms = loan().of("2025-01-01T00:00:00-05:00", 3, 2).with(|policy| {
        (policy.method, policy.rate) = (Method::Flat, Percent::parse("400").unwrap());
    });
    check(&terms, &["1 2025-02-01: 0.01 + 0.02, end 0.01", "2 2025-03-01: 0.01 + 0.01, end 0.00"]);
}

/// 0.03 without interest in two is 0.02 (a half rounds up), then 0.01. Adjusted by half of the difference, also rounded
/// up, it would be 0.01, then 0.02: as far apart as before, so it stays.
#[test]
fn smoothing_that_is_no_closer() {
    let terms = loan().of("2025-01-01T00:00:00-05:00", 3, 2).with(|policy| {
        (policy.rate, policy.rounding, policy.smooth_last) = (Percent::ZERO, Rounding::HalfUp, true);
    });
    check(&terms, &["1 2025-02-01: 0.00 + 0.02, end 0.01", "2 2025-03-01: 0.00 + 0.01, end 0.00"]);
}

/// 100.00 at 60 % in two, the first after three years: 100.00 x 2.8 x 1.05 / 2.05 = 143.41. The 180.00 of three years
/// leave 36.59 to the last row: 100.00 + 36.59 + 5.00 = 141.59, 1.82 less. With half of that subtracted both are
/// 142.50.
#[test]
fn smoothing_counts_interest_that_moves_to_the_last() {
    let terms = loan().of("2025-01-15T12:00:00-05:00", 10_000, 2).with(|policy| {
        policy.rate = Percent::parse("60").unwrap();
        policy.first_cycle = Some(Interval::months(36));
        policy.smooth_last = true;
    });
    check(&terms, &["1 2028-01-15: 142.50 + 0.00, end 100.00", "2 2028-02-15: 42.50 + 100.00, end 0.00"]);
}
