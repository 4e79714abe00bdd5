//! The worked numbers of the rules.

use super::*;
use crate::support::{Loan, reading, standing};
use daybook_engine::installment::DayCount;

const P1: Step<'static> = (
    "02-15",
    Input::Payment { amount: Cents(40_803), status: daybook_engine::item::ItemStatus::Valid, allocation: None },
);

/// Cases in which row 1 was paid on its due date.
fn after_p1(what: &str, loan: &Loan, step: Step<'_>, expected: &[&str]) {
    check(what, loan, &[P1, step], 2, expected);
}

#[test]
fn rates() {
    let loan = three();
    let (recalculate, keep) = (LevelPayment::Recalculate, LevelPayment::Keep);
    after_p1(
        "9 % from 1 March",
        &loan,
        ("03-01", plain("9", "03-01", recalculate)),
        &["03-15 7.03 + 399.99", "04-15 3.03 + 403.98"],
    );
    after_p1(
        "the same, kept",
        &loan,
        ("03-01", plain("9", "03-01", keep)),
        &["03-15 7.03 + 401.00", "04-15 3.02 + 402.97"],
    );
    after_p1("pause", &loan, ("02-16", pause("02-16", "03-02")), &["03-15 4.02 + 404.01", "04-15 4.00 + 399.96"]);
    after_p1("scra on the due date", &loan, ("02-15", scra("02-15")), &["03-15 4.02 + 399.99", "04-15 2.02 + 403.98"]);
    check("scra later", &loan, &[P1, ("03-01", scra("03-01"))], 2, &["03-15 6.03 + 399.99", "04-15 2.02 + 403.98"]);
    after_p1(
        "on a due date",
        &loan,
        ("02-15", plain("9", "02-15", recalculate)),
        &["03-15 6.03 + 400.48", "04-15 3.03 + 403.49"],
    );
}

#[test]
fn two_rates() {
    let six = rate(RateKind::Plain(percent("6")), "03-01", Some("03-08"), LevelPayment::Keep);
    let steps = [P1, ("02-15", plain("9", "02-15", LevelPayment::Keep)), ("03-01", six)];
    check("6 % for a week", &three(), &steps, 2, &["03-15 5.53 + 402.50", "04-15 3.01 + 401.47"]);
}

#[test]
fn prepaid_rows() {
    use daybook_engine::installment::Surplus;
    let nine = || ("03-01", plain("9", "03-01", LevelPayment::Recalculate));
    let next = three().with(|policy| policy.surplus = Surplus::NextInstalment);
    let book = check(
        "100.00 in advance",
        &next,
        &[("02-15", pay(50_803)), nine()],
        2,
        &["03-15 6.16 + 400.86", "04-15 3.02 + 403.11"],
    );
    let row = schedule(&book.terms, &book.state, book.clock).unwrap()[1];
    assert_eq!(row.outstanding, Cents(30_702));
    let steps = [P1, ("02-20", pay(40_803)), nine()];
    check("paid in full", &next, &steps, 2, &["03-15 1.44 + 406.59", "04-15 5.74 + 397.38"]);
}

#[test]
fn periodic_interest_that_was_paid_stays() {
    let free = ("03-01", plain("0", "03-01", LevelPayment::Recalculate));
    let book = live(&periodic(), &[("02-20", pay(82_000)), free]);
    assert_eq!(rows_from(&book, 3), ["04-15 0.00 + 404.00"]);
}

#[test]
fn skips() {
    let loan = three();
    after_p1("later", &loan, ("02-20", skip(1, true)), &["04-15 16.08 + 391.95", "05-15 4.12 + 412.02"]);
    after_p1("taken out", &loan, ("02-20", skip(1, false)), &["04-15 16.08 + 803.97"]);
}

#[test]
fn due_dates() {
    let loan = three();
    after_p1("the 25th", &loan, ("02-20", due_date("03-25")), &["03-25 10.72 + 397.31", "04-25 4.07 + 406.66"]);
    after_p1("the 31st", &loan, ("02-20", due_date("03-31")), &["03-31 12.33 + 395.70", "04-30 4.08 + 408.27"]);
    let actual = three().with(|policy| policy.day_count = DayCount::Actual365);
    let book = live(&actual, &[("02-15", pay(40_792)), ("02-20", due_date("03-25"))]);
    assert_eq!(rows_from(&book, 2)[0], "03-25 10.05 + 397.87");
    after_p1("itself", &loan, ("02-20", due_date("03-15")), &["03-15 8.04 + 399.99", "04-15 4.04 + 403.98"]);
}

#[test]
fn extensions() {
    let rows = ["03-15 8.04 + 198.00", "04-15 6.06 + 199.98", "05-15 4.06 + 201.98", "06-15 2.04 + 204.01"];
    after_p1("two more", &three(), ("02-20", extension(2)), &rows);
}

#[test]
fn deferrals() {
    let loan = three();
    let to_maturity = |accrues| [("02-10", deferral("02-15", None, accrues))];
    let rows = ["02-15 12.00 + 396.03", "03-15 12.00 + 396.03", "04-15 20.04 + 803.97"];
    let book = check("before it falls due", &loan, &to_maturity(true), 2, &rows[1..]);
    let mut later = book.clone();
    later.roll(at(&nine("02-25")));
    assert_eq!(rows_from(&later, 1), ["02-15 0.00 + 0.00 retired", rows[1], rows[2]]);
    assert_eq!(standing(&later), "ACTIVE owes 1200.00 + 12.00 + 0.00, accrued 4.29", "no fee");
    let free = ["03-15 8.04 + 399.99", "04-15 16.04 + 800.01"];
    check("free of interest", &loan, &to_maturity(false), 2, &free);
    let steps = [("02-25", deferral("02-15", Some("03-15"), true))];
    let book = check(
        "after it was missed",
        &loan,
        &steps,
        1,
        &["02-15 0.00 + 0.00 retired", "03-15 24.00 + 792.06", "04-15 4.08 + 407.94"],
    );
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 12.00 + 15.00, accrued 4.29");
}

#[test]
fn re_amortizations() {
    let loan = three();
    let on = |interest| [("02-25", re_amortization(interest))];
    check("first", &loan, &on(Arrears::First), 2, &["03-15 24.00 + 591.11", "04-15 6.09 + 608.89"]);
    check("spread", &loan, &on(Arrears::Spread), 2, &["03-15 18.00 + 597.01", "04-15 12.03 + 602.99"]);
    let steps = [P1, ("03-15", re_amortization(Arrears::First))];
    let mut book = live(&loan, &steps);
    book.roll(at(&nine("03-16")));
    assert_eq!(rows_from(&book, 2), ["03-15 0.00 + 0.00 retired", "04-15 16.08 + 803.97"]);
}

#[test]
fn re_ages() {
    let loan = three();
    for (interest, rows) in [
        (Arrears::First, ["04-15 36.00 + 380.19", "05-15 8.20 + 407.99", "06-15 4.12 + 411.82"]),
        (Arrears::Waive, ["04-15 10.06 + 397.97", "05-15 8.02 + 400.01", "06-15 4.02 + 402.02"]),
    ] {
        let book = live(&loan, &[("03-20", re_age("04-15", 3, interest))]);
        let all = rows_from(&book, 1);
        assert_eq!(all[all.len() - 3..], rows, "{interest:?}");
        assert_eq!(reading(&book).days_past_due, 0);
    }
    let totals = |book: &Book| -> Vec<i64> {
        let rows = schedule(&book.terms, &book.state, book.clock).unwrap();
        rows[rows.len() - 3..].iter().map(|row| row.total().0).collect()
    };
    let spread = live(&loan, &[("03-20", re_age("04-15", 3, Arrears::Spread))]);
    assert_eq!(totals(&spread), [41_603, 41_603, 41_602]);
    let capitalized = live(&loan, &[("03-20", re_age("04-15", 3, Arrears::Capitalize))]);
    assert_eq!(totals(&capitalized)[0], 41_685);
    let rows = rows_from(&capitalized, 1);
    assert_eq!(rows[rows.len() - 3], "04-15 10.28 + 406.57");
    assert_eq!(capitalized.state.balances().principal, Cents(122_594));
}
