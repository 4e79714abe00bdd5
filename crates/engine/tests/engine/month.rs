//! One month of a loan: paid a day early, on the day, at the due moment, a second after it, and after the grace.
//!
//! The loan is that of [`loan`]: 1,200.00 from 2025-01-15, instalment 106.62, due 2025-02-15 23:59:59. The first period
//! has 31 days, the second (to 2025-03-15) has 28. Each story ends at noon on 2025-02-21, when the grace is over.

use super::support::{Loan, at, dated_events, items, loan, pay, payment, rows, standing};
use daybook_engine::installment::{DayCount, InterestMethod};
use daybook_testkit::book::Book;

struct Told {
    events: &'static [&'static str],
    items: &'static [&'static str],
    rows: [&'static str; 2],
    standing: &'static str,
}

/// Pays as given and continues to 2025-02-21 noon. Loading in migration mode must have the same result as live
/// payments. At the exact due moment only a payment that was loaded before counts, so that story is only loaded.
fn lived(loan: &Loan, payments: &[(&str, i64, &str)]) -> Vec<Book> {
    const END: &str = "2025-02-21T12:00:00-05:00";
    let mut held = loan.held();
    for (name, amount, when) in payments {
        held.submit(name, at(when), payment(*amount)).unwrap();
    }
    held.release(at(END));
    held.events.drain(..2);
    let mut books = vec![held];
    if payments.iter().all(|(_, _, when)| *when != DUE_MOMENT) {
        let mut live = loan.open();
        live.events.clear();
        for (name, amount, when) in payments {
            pay(&mut live, name, *amount, when);
        }
        live.roll(at(END));
        books.push(live);
    }
    books
}

/// Compares all results of a month.
fn check(loan: &Loan, payments: &[(&str, i64, &str)], told: &Told) {
    for mut book in lived(loan, payments) {
        assert_eq!(dated_events(&mut book), told.events);
        assert_eq!(items(&book), told.items);
        assert_eq!(rows(&book)[..2], told.rows);
        assert_eq!(standing(&book), told.standing);
    }
}

const DAY_EARLY: &str = "2025-02-14T09:00:00-05:00";
const ON_THE_DAY: &str = "2025-02-15T09:00:00-05:00";
const DUE_MOMENT: &str = "2025-02-15T23:59:59-05:00";
const SECOND_AFTER: &str = "2025-02-16T00:00:00-05:00";
const AFTER_GRACE: &str = "2025-02-21T09:00:00-05:00";
const AN_HOUR_LATER: &str = "2025-02-21T10:00:00-05:00";

fn periodic() -> Loan {
    loan().with(|policy| policy.interest = InterestMethod::Periodic)
}

/// The instalment is 1200.00 x (1+r1)...(1+r12) / S with r = 0.12 x days/365: 106.5908, so 106.59.
fn actual_365() -> Loan {
    loan().with(|policy| policy.day_count = DayCount::Actual365)
}

/// 30 of 31 days of 12.00 are 11.6129: 11.61 of interest, 106.62 - 11.61 = 95.01 of principal. The last day earns on
/// 1104.99: (1200.00 x 30 + 1104.99) x 0.01/31 = 11.9694, so 11.97, less the 11.61 = 0.36. It moves to row 2, whose own
/// period earns 1104.99 x 0.01 = 11.0499: 0.36 + 11.05 = 11.41, and 106.62 - 11.41 = 95.21. On the 21st, 6 of 28 days
/// have earned 1104.99 x 0.01 x 6/28 = 2.3678.
#[test]
fn daily_one_day_early() {
    let told = Told {
        events: &[
            "02-14 09:00:00 line_item_create p1",
            "02-14 09:00:00 line_item_create dbk_interest_1.1",
            "02-15 23:59:59 line_item_create dbk_interest_1",
            "02-15 23:59:59 due_date_passed 1 paid",
        ],
        items: &[
            "p1 -106.62: 11.61 dbk_interest_1.1, 95.01 dbk_loan",
            "dbk_loan 1200.00 left 1104.99",
            "dbk_interest_1 0.36 left 0.36",
            "dbk_interest_1.1 11.61",
        ],
        rows: [
            "1 2025-02-15: 11.61 + 95.01, end 1104.99, paid 106.62, on time",
            "2 2025-03-15: 11.41 + 95.21, end 1009.78",
        ],
        standing: "ACTIVE owes 1104.99 + 0.36 + 0.00, accrued 2.37",
    };
    check(&loan(), &[("p1", 10_662, DAY_EARLY)], &told);
}

/// All 31 days have earned 12.00: 106.62 - 12.00 = 94.62. Row 2 earns 1105.38 x 0.01 = 11.0538, and six days of it
/// 1105.38 x 0.01 x 6/28 = 2.3687. A month paid on time sends three messages.
#[test]
fn daily_on_the_day() {
    let told = Told {
        events: &[
            "02-15 09:00:00 line_item_create p1",
            "02-15 09:00:00 line_item_create dbk_interest_1.1",
            "02-15 23:59:59 due_date_passed 1 paid",
        ],
        items: &[
            "p1 -106.62: 12.00 dbk_interest_1.1, 94.62 dbk_loan",
            "dbk_loan 1200.00 left 1105.38",
            "dbk_interest_1.1 12.00",
        ],
        rows: [
            "1 2025-02-15: 12.00 + 94.62, end 1105.38, paid 106.62, on time",
            "2 2025-03-15: 11.05 + 95.57, end 1009.81",
        ],
        standing: "ACTIVE owes 1105.38 + 0.00 + 0.00, accrued 2.37",
    };
    check(&loan(), &[("p1", 10_662, ON_THE_DAY)], &told);
}

/// Inputs precede moments: a payment at the due moment itself is on time, with the same cents as in the morning.
#[test]
fn daily_at_the_due_moment() {
    let told = Told {
        events: &[
            "02-15 23:59:59 line_item_create p1",
            "02-15 23:59:59 line_item_create dbk_interest_1.1",
            "02-15 23:59:59 due_date_passed 1 paid",
        ],
        items: &[
            "p1 -106.62: 12.00 dbk_interest_1.1, 94.62 dbk_loan",
            "dbk_loan 1200.00 left 1105.38",
            "dbk_interest_1.1 12.00",
        ],
        rows: [
            "1 2025-02-15: 12.00 + 94.62, end 1105.38, paid 106.62, on time",
            "2 2025-03-15: 11.05 + 95.57, end 1009.81",
        ],
        standing: "ACTIVE owes 1105.38 + 0.00 + 0.00, accrued 2.37",
    };
    check(&loan(), &[("p1", 10_662, DUE_MOMENT)], &told);
}

/// A second later it is the 16th. The first period's 12.00 is posted and past due; the second has earned a day. The
/// instalment's amount still pays it: nothing is past due, and there is no fee. To the 21st: (1200.00 + 1105.38 x 5) x
/// 0.01/28 = 2.4025. Row 2: (1200.00 + 1105.38 x 27) x 0.01/28 = 11.0876.
#[test]
fn daily_one_second_after() {
    let told = Told {
        events: &[
            "02-15 23:59:59 line_item_create dbk_interest_1",
            "02-15 23:59:59 due_date_passed 1 unpaid",
            "02-15 23:59:59 payment_missed 1",
            "02-16 00:00:00 line_item_create p1",
        ],
        items: &[
            "p1 -106.62: 12.00 dbk_interest_1, 94.62 dbk_loan",
            "dbk_loan 1200.00 left 1105.38",
            "dbk_interest_1 12.00",
        ],
        rows: [
            "1 2025-02-15: 12.00 + 94.62, end 1105.38, paid 106.62, missed",
            "2 2025-03-15: 11.09 + 95.53, end 1009.85",
        ],
        standing: "ACTIVE owes 1105.38 + 0.00 + 0.00, accrued 2.40",
    };
    check(&loan(), &[("p1", 10_662, SECOND_AFTER)], &told);
}

/// The fee is charged at the end of the 20th. Row 1's amount cures the account. Six days have earned 1200.00 x 0.01 x
/// 6/28 = 2.5714: 15.00 more pays the open row's 2.57 and 12.43, and the fee stays unpaid. Row 2: (1200.00 x 6 +
/// 1092.95 x 22) x 0.01/28 = 11.1589.
#[test]
fn daily_after_the_grace() {
    let told = Told {
        events: &[
            "02-15 23:59:59 line_item_create dbk_interest_1",
            "02-15 23:59:59 due_date_passed 1 unpaid",
            "02-15 23:59:59 payment_missed 1",
            "02-20 23:59:59 line_item_create dbk_late_fee_1",
            "02-20 23:59:59 account_status_change ACTIVE>SUSPENDED/DELINQUENT",
            "02-21 09:00:00 line_item_create p1",
            "02-21 09:00:00 account_status_change SUSPENDED/DELINQUENT>ACTIVE",
            "02-21 10:00:00 line_item_create p2",
            "02-21 10:00:00 line_item_create dbk_interest_2.1",
        ],
        items: &[
            "p1 -106.62: 12.00 dbk_interest_1, 94.62 dbk_loan",
            "p2 -15.00: 2.57 dbk_interest_2.1, 12.43 dbk_loan",
            "dbk_loan 1200.00 left 1092.95",
            "dbk_interest_1 12.00",
            "dbk_interest_2.1 2.57",
            "dbk_late_fee_1 15.00 left 15.00",
        ],
        rows: [
            "1 2025-02-15: 12.00 + 94.62, end 1105.38, paid 106.62, missed",
            "2 2025-03-15: 11.16 + 95.46, end 1009.92, paid 15.00, fees 15.00",
        ],
        standing: "ACTIVE owes 1092.95 + 0.00 + 15.00",
    };
    check(&loan(), &[("p1", 10_662, AFTER_GRACE), ("p2", 1_500, AN_HOUR_LATER)], &told);
}

/// With a cent less the account stays delinquent, six days past due, with one late instalment.
#[test]
fn daily_after_the_grace_and_not_enough() {
    let mut book = loan().open();
    pay(&mut book, "p1", 10_661, AFTER_GRACE);
    let owes = "owes 1105.39 + 0.00 + 15.00, accrued 2.57, past due 0.01, 6 days, 1 late";
    assert_eq!(standing(&book), format!("SUSPENDED/DELINQUENT {owes}"));
}

/// The period's 12.00 is fixed at its start and payable from then: the day does not matter, nothing is carried over,
/// and the second period's 1105.38 x 0.01 = 11.05 is owed in full once it begins.
#[test]
fn periodic_early_on_the_day_and_at_the_due_moment() {
    for (when, time) in [(DAY_EARLY, "02-14 09:00:00"), (ON_THE_DAY, "02-15 09:00:00"), (DUE_MOMENT, "02-15 23:59:59")]
    {
        for mut book in lived(&periodic(), &[("p1", 10_662, when)]) {
            let events = dated_events(&mut book);
            let made = [format!("{time} line_item_create p1"), format!("{time} line_item_create dbk_interest_1.1")];
            assert_eq!(events, [&made[0], &made[1], "02-15 23:59:59 due_date_passed 1 paid"]);
            let first = "p1 -106.62: 12.00 dbk_interest_1.1, 94.62 dbk_loan";
            assert_eq!(items(&book), [first, "dbk_loan 1200.00 left 1105.38", "dbk_interest_1.1 12.00"]);
            assert_eq!(rows(&book)[1], "2 2025-03-15: 11.05 + 95.57, end 1009.81");
            assert_eq!(standing(&book), "ACTIVE owes 1105.38 + 0.00 + 0.00, accrued 11.05");
        }
    }
}

/// The second period is fixed at 1200.00 x 0.01 = 12.00 and due at once; it is part of row 2's own total, and row 1 is
/// paid. Row 2 keeps 12.00 of interest, and 106.62 - 12.00 = 94.62 of principal.
#[test]
fn periodic_one_second_after() {
    let told = Told {
        events: &[
            "02-15 23:59:59 line_item_create dbk_interest_1",
            "02-15 23:59:59 due_date_passed 1 unpaid",
            "02-15 23:59:59 payment_missed 1",
            "02-16 00:00:00 line_item_create p1",
        ],
        items: &[
            "p1 -106.62: 12.00 dbk_interest_1, 94.62 dbk_loan",
            "dbk_loan 1200.00 left 1105.38",
            "dbk_interest_1 12.00",
        ],
        rows: [
            "1 2025-02-15: 12.00 + 94.62, end 1105.38, paid 106.62, missed",
            "2 2025-03-15: 12.00 + 94.62, end 1010.76",
        ],
        standing: "ACTIVE owes 1105.38 + 0.00 + 0.00, accrued 12.00",
    };
    check(&periodic(), &[("p1", 10_662, SECOND_AFTER)], &told);
}

/// 106.62 cures; 15.00 more pays 12.00 and 3.00 of the open row, and the fee stays unpaid.
#[test]
fn periodic_after_the_grace() {
    let told = Told {
        events: &[
            "02-15 23:59:59 line_item_create dbk_interest_1",
            "02-15 23:59:59 due_date_passed 1 unpaid",
            "02-15 23:59:59 payment_missed 1",
            "02-20 23:59:59 line_item_create dbk_late_fee_1",
            "02-20 23:59:59 account_status_change ACTIVE>SUSPENDED/DELINQUENT",
            "02-21 09:00:00 line_item_create p1",
            "02-21 09:00:00 account_status_change SUSPENDED/DELINQUENT>ACTIVE",
            "02-21 10:00:00 line_item_create p2",
            "02-21 10:00:00 line_item_create dbk_interest_2.1",
        ],
        items: &[
            "p1 -106.62: 12.00 dbk_interest_1, 94.62 dbk_loan",
            "p2 -15.00: 12.00 dbk_interest_2.1, 3.00 dbk_loan",
            "dbk_loan 1200.00 left 1102.38",
            "dbk_interest_1 12.00",
            "dbk_interest_2.1 12.00",
            "dbk_late_fee_1 15.00 left 15.00",
        ],
        rows: [
            "1 2025-02-15: 12.00 + 94.62, end 1105.38, paid 106.62, missed",
            "2 2025-03-15: 12.00 + 94.62, end 1010.76, paid 15.00, fees 15.00",
        ],
        standing: "ACTIVE owes 1102.38 + 0.00 + 15.00",
    };
    check(&periodic(), &[("p1", 10_662, AFTER_GRACE), ("p2", 1_500, AN_HOUR_LATER)], &told);
}

/// By `ACTUAL_365`: the payments, the split, row 2 after them, and the standing on the 21st.
///
/// A day early: 1200.00 x 0.12 x 30/365 = 11.8356; 106.59 - 11.84 = 94.75; (1200.00 x 30 + 1105.25) x 0.12/365 =
/// 12.1990, less 11.84 = 0.36 carried over; row 2 1105.25 x 0.12 x 28/365 = 10.1744, and 0.36; 6 days of it 2.1802. On
/// the day and at the due moment: 31 days 12.2301; 94.36; row 2 1105.64 x 0.12 x 28/365 = 10.1780; 6 days 2.1810. A
/// second after: row 1 is paid as on the day; to the 21st (1200.00 + 1105.64 x 5) x 0.12/365 = 2.2120; row 2 (1200.00 +
/// 1105.64 x 27) x 0.12/365 = 10.2090. After the grace: 15.00 more than row 1's amount; 6 days 2.3671, and 12.63 of row
/// 2's principal; row 2 (1200.00 x 6 + 1093.01 x 22) x 0.12/365 = 10.2727.
#[test]
fn daily_by_actual_365() {
    let carried = "2 2025-03-15: 10.53 + 96.06, end 1009.19";
    let usual = "2 2025-03-15: 10.18 + 96.41, end 1009.23";
    let on_time = "p1 -106.59: 12.23 dbk_interest_1.1, 94.36 dbk_loan";
    let active = "ACTIVE owes 1105.64 + 0.00 + 0.00, accrued 2.18";
    let late = "p1 -121.59: 12.23 dbk_interest_1, 94.36 dbk_loan, 2.37 dbk_interest_2.1, 12.63 dbk_loan";
    let early = "p1 -106.59: 11.84 dbk_interest_1.1, 94.75 dbk_loan";
    let after = "p1 -106.59: 12.23 dbk_interest_1, 94.36 dbk_loan";
    for (when, amount, split, row, end) in [
        (DAY_EARLY, 10_659, early, carried, "ACTIVE owes 1105.25 + 0.36 + 0.00, accrued 2.18"),
        (ON_THE_DAY, 10_659, on_time, usual, active),
        (DUE_MOMENT, 10_659, on_time, usual, active),
        (
            SECOND_AFTER,
            10_659,
            after,
            "2 2025-03-15: 10.21 + 96.38, end 1009.26",
            "ACTIVE owes 1105.64 + 0.00 + 0.00, accrued 2.21",
        ),
        (
            AFTER_GRACE,
            12_159,
            late,
            "2 2025-03-15: 10.27 + 96.32, end 1009.32, paid 15.00, fees 15.00",
            "ACTIVE owes 1093.01 + 0.00 + 15.00",
        ),
    ] {
        for book in lived(&actual_365(), &[("p1", amount, when)]) {
            assert_eq!(book.state.loan().plan.amount(1).0, 10_659);
            assert_eq!(items(&book)[0], split, "{when}");
            assert_eq!(rows(&book)[1], row, "{when}");
            assert_eq!(standing(&book), end, "{when}");
        }
    }
}
