//! Interest: day counts, parts of a period, interest that exceeds a row, interest after the last row, and odd
//! calendars.

use super::support::{Loan, ask, at, credit, dated_events, item, items, loan, pay, pay_for, reading, rows, standing};
use daybook_engine::calendar::Interval;
use daybook_engine::installment::{AfterMaturity, DayCount, InterestMethod, Method};
use daybook_engine::item::Component;
use daybook_engine::money::{Cents, Rounding};

fn accruing(text: &str, loan: &Loan, accrued: i64, per_diem: i64) {
    let mut book = loan.open();
    book.roll(at(text));
    let now = reading(&book);
    assert_eq!((now.accrued, now.per_diem), (Cents(accrued), Cents(per_diem)), "{text}");
    assert_eq!(now.payoff, now.balances.owed() + now.accrued);
}

/// 1,200,000.00 at 12 % is 144,000.00 a year. The first period is 31 days: 17 in 2023 and 14 in 2024, a leap year; the
/// second 31 days of 2024; the twelfth, from 2024-11-15, 30 days of it; the thirteenth 17 days of it and 14 of 2025.
///
/// `THIRTY_360`: a twelfth each. `ACTUAL_365`: 144000 x 31/365 = 12230.1370. `ACTUAL_360`: 144000 x 31/360 = 12400.00
/// and x 30/360 = 12000.00. `ACTUAL_ACTUAL`: 144000 x (17/365 + 14/366) = 12215.0460, 144000 x 31/366 = 12196.7213,
/// 144000 x 30/366 = 11803.2787, 144000 x (17/366 + 14/365) = 12211.8123.
#[test]
fn the_four_day_counts() {
    for (day_count, interest) in [
        (DayCount::Thirty360, ["12000.00", "12000.00", "12000.00", "12000.00"]),
        (DayCount::Actual365, ["12230.14", "12230.14", "11835.62", "12230.14"]),
        (DayCount::Actual360, ["12400.00", "12400.00", "12000.00", "12400.00"]),
        (DayCount::ActualActual, ["12215.05", "12196.72", "11803.28", "12211.81"]),
    ] {
        for method in [InterestMethod::Daily, InterestMethod::Periodic] {
            let terms = loan().of("2023-12-15T12:00:00-05:00", 120_000_000, 24);
            let mut book = terms.with(|policy| (policy.day_count, policy.interest) = (day_count, method)).open();
            book.roll(at("2025-01-16T12:00:00-05:00"));
            for (period, interest) in [1, 2, 12, 13].into_iter().zip(interest) {
                let id = format!("dbk_interest_{period}");
                assert_eq!(item(&book, &id), format!("{id} {interest} left {interest}"), "{day_count:?}");
            }
        }
    }
}

/// 12.00 by days: on 2025-02-01, 17 of 31 days are 6.5806; a day is 0.3871. The period's last day counts, and at the
/// due moment itself the interest is already posted.
#[test]
fn parts_of_a_period() {
    accruing("2025-01-15T12:00:00-05:00", &loan(), 0, 39);
    accruing("2025-01-15T23:59:59-05:00", &loan(), 0, 39);
    accruing("2025-01-16T00:00:00-05:00", &loan(), 39, 39);
    accruing("2025-02-01T12:00:00-05:00", &loan(), 658, 39);
    accruing("2025-02-15T23:59:59-05:00", &loan(), 0, 43);
    // 2 of 28 days: 0.8571; a day is 0.4286.
    accruing("2025-02-17T00:00:00-05:00", &loan(), 86, 43);
}

/// On 2025-02-15 the payoff is 1212.00, on the 16th 1212.43: the day between them belongs to the second period, even
/// before the first is posted.
#[test]
fn per_diem_on_the_last_day_of_a_period() {
    accruing("2025-02-15T12:00:00-05:00", &loan(), 1_200, 43);
}

/// Per day by other counts: 144.00 / 365 = 0.3945, 144.00 / 360 = 0.40, 144.00 / 366 = 0.3934. Interest that is fixed
/// by the period is owed from its start and does not grow. 0.005 rounds to even or up: 18.25 at 10 % a year is 0.005 a
/// day.
#[test]
fn per_diem() {
    let by = |day_count| loan().with(|policy| policy.day_count = day_count);
    accruing("2025-01-25T12:00:00-05:00", &by(DayCount::Actual365), 395, 39);
    accruing("2025-01-25T12:00:00-05:00", &by(DayCount::Actual360), 400, 40);
    let leap = by(DayCount::ActualActual).of("2023-12-15T12:00:00-05:00", 120_000, 12);
    accruing("2023-12-31T12:00:00-05:00", &leap, 631, 39);
    accruing("2024-01-02T12:00:00-05:00", &leap, 710, 39);
    accruing("2025-01-25T12:00:00-05:00", &loan().with(|policy| policy.interest = InterestMethod::Periodic), 1_200, 0);
    accruing("2025-01-25T12:00:00-05:00", &loan().with(|policy| policy.method = Method::Flat), 1_200, 0);
    for (rounding, cents) in [(Rounding::HalfEven, 0), (Rounding::HalfUp, 1)] {
        let terms = by(DayCount::Actual365).of("2025-01-15T12:00:00-05:00", 1_825, 12);
        let terms = terms.with(|policy| {
            (policy.rate, policy.rounding) = (daybook_engine::money::Percent::parse("10").unwrap(), rounding);
            policy.interest_rounding = rounding;
        });
        accruing("2025-01-16T12:00:00-05:00", &terms, cents, cents);
    }
}

/// The first period runs to the first due date. 20 days after the cycle: 1 month 20 days earn 144.00 x (1/12 + 20/360)
/// = 20.00 in 51 days; 17 of them 6.6667. 5 days before it: 144.00 x (1/12 - 5/360) = 10.00 in 26 days; 17 of them
/// 6.5385. A first cycle of 10 days: 144.00 x 10/360 = 4.00. Every later period earns a month: 12.00.
#[test]
fn the_first_period() {
    let due = |days| loan().with(|policy| policy.due_after_cycle = Interval::days(days));
    let first = loan().with(|policy| policy.first_cycle = Some(Interval::days(10)));
    for (terms, dates, interest, level) in [
        (due(20), ["2025-03-07", "2025-04-04"], "20.00", 10_732),
        (due(-5), ["2025-02-10", "2025-03-10"], "10.00", 10_644),
        (first, ["2025-01-25", "2025-02-25"], "4.00", 10_591),
    ] {
        let mut book = terms.open();
        assert_eq!(book.terms.installment().plan.level, Cents(level));
        let told = [rows(&book)[0].clone(), rows(&book)[1].clone()];
        assert!(told[0].starts_with(&format!("1 {}: {interest} + ", dates[0])), "{told:?}");
        assert!(told[1].starts_with(&format!("2 {}: ", dates[1])), "{told:?}");
        book.roll(at("2025-04-12T12:00:00-04:00"));
        assert_eq!(item(&book, "dbk_interest_1"), format!("dbk_interest_1 {interest} left {interest}"));
        assert_eq!(item(&book, "dbk_interest_2"), "dbk_interest_2 12.00 left 12.00");
    }
    accruing("2025-02-01T12:00:00-05:00", &due(20), 667, 39);
    accruing("2025-02-01T12:00:00-05:00", &due(-5), 654, 38);
}

/// Cycles of 7 days: 144.00 x 7/360 = 2.80.
#[test]
fn a_period_counted_in_days() {
    let mut book = loan().with(|policy| policy.cycle = Interval::days(7)).open();
    assert_eq!(book.terms.installment().plan.level, Cents(10_152));
    book.roll(at("2025-01-23T12:00:00-05:00"));
    assert_eq!(item(&book, "dbk_interest_1"), "dbk_interest_1 2.80 left 2.80");
    assert_eq!(rows(&book)[1], "2 2025-01-29: 2.60 + 98.92, end 1002.36");
}

/// 100.00 charged by hand is row 1's interest, so of the 12.00 posted it takes only 106.62 - 100.00 = 6.62. The other
/// 5.38 moves to row 2, whose own period earns 12.00: 17.38 + 89.24.
#[test]
fn interest_a_row_cannot_take_moves_on() {
    let mut book = loan().open();
    ask(&mut book, "c", "2025-01-20T12:00:00-05:00", credit(10_000, Component::Interest)).unwrap();
    book.roll(at("2025-03-15T23:59:59-04:00"));
    let told = [
        "1 2025-02-15: 106.62 + 0.00, end 1200.00, missed",
        "2 2025-03-15: 17.38 + 89.24, end 1110.76, fees 15.00, missed",
    ];
    assert_eq!(rows(&book)[..2], told);
}

/// 100.00 of principal on the first day leaves 6.62 of row 1 for interest; 1100.00 x 0.01 = 11.00 is posted, and 4.38
/// moves to row 2.
#[test]
fn principal_paid_into_a_row_leaves_less_for_interest() {
    let mut book = loan().open();
    pay_for(&mut book, "p", 10_000, Component::Principal, "2025-01-15T13:00:00-05:00");
    book.roll(at("2025-02-15T23:59:59-05:00"));
    assert_eq!(rows(&book)[0], "1 2025-02-15: 6.62 + 100.00, end 1100.00, paid 100.00, missed");
    // Paid on the date of reading, 6.62 changes no principal: row 2 earns 11.00 and takes the 4.38.
    assert_eq!(rows(&book)[1], "2 2025-03-15: 15.38 + 91.24, end 1008.76");
    assert_eq!(standing(&book), "ACTIVE owes 1100.00 + 11.00 + 0.00, past due 6.62");
}

/// Two instalments of 1200.00 x 0.01 / (1 - 1.01^-2) = 609.0149. 700.00 by hand fills row 1 and leaves 90.99; the 12.00
/// of both periods goes to row 2, the last, which takes everything.
#[test]
fn the_last_row_takes_all() {
    let mut book = loan().of("2025-01-15T12:00:00-05:00", 120_000, 2).open();
    ask(&mut book, "c", "2025-01-20T12:00:00-05:00", credit(70_000, Component::Interest)).unwrap();
    book.roll(at("2025-03-15T23:59:59-04:00"));
    let told = [
        "1 2025-02-15: 609.01 + 0.00, end 1200.00, missed",
        "2 2025-03-15: 114.99 + 1200.00, end 0.00, fees 15.00, missed",
    ];
    assert_eq!(rows(&book), told);
}

/// One instalment, due 2025-02-15 and not paid: 1200.00 earns on, posted each month and due at once. On 2025-03-01
/// 612.00 pays 12.00 + 600.00 of the instalment; interest accrued after it, 14 of 28 days are 6.00, is paid after its
/// principal. To 2025-03-15 600.00 earns 3.00 more, and to 2025-04-15 6.00. Paid on 04-16, the instalment leaves these
/// 15.00 past due, the oldest since 03-15, and a day of thirty on 600.00: 0.20.
#[test]
fn after_maturity_interest_goes_on() {
    let mut book = loan().of("2025-01-15T12:00:00-05:00", 120_000, 1).open();
    pay(&mut book, "p", 61_200, "2025-03-01T12:00:00-05:00");
    let owes = "owes 600.00 + 0.00 + 15.00, accrued 6.00, past due 615.00, 14 days, 1 late";
    assert_eq!(item(&book, "p"), "p -612.00: 12.00 dbk_interest_1, 600.00 dbk_loan");
    assert_eq!(standing(&book), format!("SUSPENDED/DELINQUENT {owes}"));
    book.events.clear();
    book.roll(at("2025-04-15T23:59:59-04:00"));
    let told = ["03-15 23:59:59 line_item_create dbk_interest_2", "04-15 23:59:59 line_item_create dbk_interest_3"];
    assert_eq!(dated_events(&mut book), told);
    assert_eq!(rows(&book), ["1 2025-02-15: 12.00 + 1200.00, end 0.00, paid 612.00, missed"]);
    let owes = "owes 600.00 + 15.00 + 15.00, past due 630.00, 59 days, 1 late";
    assert_eq!(standing(&book), format!("SUSPENDED/DELINQUENT {owes}"));

    pay(&mut book, "q", 60_000, "2025-04-16T12:00:00-04:00");
    let owes = "owes 0.00 + 15.00 + 15.00, accrued 0.20, past due 30.00, 32 days, 1 late";
    assert_eq!(standing(&book), format!("SUSPENDED/DELINQUENT {owes}"));
    pay(&mut book, "s", 1_520, "2025-04-16T13:00:00-04:00");
    let splits = "9.00 dbk_interest_2, 6.00 dbk_interest_3, 0.20 dbk_interest_4.1";
    assert_eq!(item(&book, "s"), format!("s -15.20: {splits}"));
    assert_eq!(standing(&book), "ACTIVE owes 0.00 + 0.00 + 15.00, past due 15.00");
}

#[test]
fn after_maturity_interest_stops() {
    for stop in [
        loan().with(|policy| policy.after_maturity = AfterMaturity::None),
        loan().with(|policy| policy.method = Method::Flat),
    ] {
        let mut book = stop.of("2025-01-15T12:00:00-05:00", 120_000, 1).open();
        book.roll(at("2026-02-15T12:00:00-05:00"));
        let told =
            ["dbk_loan 1200.00 left 1200.00", "dbk_interest_1 12.00 left 12.00", "dbk_late_fee_1 15.00 left 15.00"];
        assert_eq!(items(&book), told);
        assert_eq!(reading(&book).per_diem, Cents::ZERO);
        // 15.00 + 12.00 + 1200.00 pays off.
        pay(&mut book, "p", 122_700, "2026-02-15T13:00:00-05:00");
        assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
    }
}

/// In St John's clocks went from 00:01 on 2010-11-07 back to 23:01 on the 6th. 23 of 31 days to the 7th are 8.9032.
/// Half an hour later it is the 6th again: no interest is added or subtracted. The period earns (1200.00 x 23 + 1148.90
/// x 8) x 0.01/31 = 11.8681, less 8.90 = 2.97.
#[test]
fn a_clock_set_back_over_midnight() {
    let mut terms = loan().of("2010-10-15T12:00:00-02:30", 120_000, 12);
    terms.zone = "America/St_Johns";
    let mut book = terms.open();
    pay(&mut book, "p1", 5_000, "2010-11-07T00:00:30-02:30");
    pay(&mut book, "p2", 1_000, "2010-11-06T23:30:00-03:30");
    assert_eq!(item(&book, "p1"), "p1 -50.00: 8.90 dbk_interest_1.1, 41.10 dbk_loan");
    assert_eq!(item(&book, "p2"), "p2 -10.00: 10.00 dbk_loan");
    assert_eq!(standing(&book), "ACTIVE owes 1148.90 + 0.00 + 0.00");
    book.roll(at("2010-11-15T23:59:59-03:30"));
    assert_eq!(item(&book, "dbk_interest_1"), "dbk_interest_1 2.97 left 2.97");
}

/// Samoa had no 2011-12-30: an instalment due then is due on the 31st, and the next one on 2012-01-30.
#[test]
fn a_date_that_never_was() {
    let mut terms = loan().of("2011-11-30T12:00:00-10:00", 120_000, 12);
    terms.zone = "Pacific/Apia";
    let mut book = terms.open();
    book.events.clear();
    pay(&mut book, "p", 10_662, "2011-12-31T09:00:00+14:00");
    assert_eq!(item(&book, "p"), "p -106.62: 12.00 dbk_interest_1.1, 94.62 dbk_loan");
    book.roll(at("2012-01-30T23:59:59+14:00"));
    assert_eq!(
        dated_events(&mut book),
        [
            "12-31 09:00:00 line_item_create p",
            "12-31 09:00:00 line_item_create dbk_interest_1.1",
            "12-31 23:59:59 due_date_passed 1 paid",
            "01-30 23:59:59 line_item_create dbk_interest_2",
            "01-30 23:59:59 due_date_passed 2 unpaid",
            "01-30 23:59:59 payment_missed 2",
        ]
    );
    // 1105.38 x 0.01.
    assert_eq!(item(&book, "dbk_interest_2"), "dbk_interest_2 11.05 left 11.05");
}
