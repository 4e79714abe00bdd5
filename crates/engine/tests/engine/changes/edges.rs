//! Edge cases of the rules' tables.

use super::*;
use crate::support::{reading, reversal};

#[test]
fn a_payment_of_before_a_re_age_arrives_later() {
    let mut book = live(&three().replaying(), &[("03-20", re_age("04-15", 3, Arrears::First))]);
    book.submit("p1", at(&nine("02-15")), pay(40_803)).unwrap();
    let rows = schedule(&book.terms, &book.state, book.clock).unwrap();
    let totals: Vec<i64> = rows[rows.len() - 3..].iter().map(|row| row.total().0).collect();
    assert_eq!(totals, [27_610, 27_610, 27_602]);
    assert!(book.state.balances().fees <= Cents(1_500), "the late fee of row 1 is gone");
}

/// Paid and bounced as posted: the row stays retired.
#[test]
fn a_bounce_after_a_deferral() {
    let steps = [("02-10", pay(20_000)), ("02-20", deferral("02-15", None, true)), ("02-25", reversal("s0"))];
    let book = live(&three(), &steps);
    let rows = rows_from(&book, 1);
    assert_eq!(rows[0], "02-15 0.00 + 0.00 retired");
    assert_eq!(reading(&book).past_due - reading(&book).past_due_fees, Cents::ZERO);
    let row_2 = schedule(&book.terms, &book.state, book.clock).unwrap()[1];
    assert_eq!(row_2.total(), Cents(40_803));
}

/// 1000.00 in one row: 12 days at 12 % before the pause, which ends 14 days after maturity.
#[test]
fn a_pause_over_the_maturity() {
    let one = loan().of("2025-01-15T12:00:00-05:00", 100_000, 1).with(|policy| policy.late_fee.flat = Cents::ZERO);
    let mut book = live(&one, &[("02-10", pause("02-10", "03-01"))]);
    assert_eq!(rows_from(&book, 1), ["02-15 8.39 + 1000.00"]);
    book.roll(at(&nine("03-15")));
    assert_eq!(reading(&book).payoff, Cents(101_339));
}

/// Nothing changes by a rate equal to the one in force, a pause of no days, a cap above the rate, or a due date moved to
/// itself.
#[test]
fn changes_that_change_nothing() {
    let mla = RateKind::Cap { tag: CapTag::Mla, rate: CapTag::Mla.rate() };
    for loan in [three(), periodic()] {
        for input in [
            plain("12", "02-20", LevelPayment::Keep),
            pause("02-20", "02-20"),
            rate(mla, "02-20", None, LevelPayment::Recalculate),
            due_date("03-15"),
        ] {
            let without = live(&loan, &[("02-15", pay(40_000)), ("02-20", pay(500)), ("03-20", pay(500))]);
            let with = live(
                &loan,
                &[("02-15", pay(40_000)), ("02-20", pay(500)), ("02-20", input.clone()), ("03-20", pay(500))],
            );
            assert_eq!(rows_from(&with, 1), rows_from(&without, 1), "{input:?}");
            assert_eq!(standing(&with), standing(&without));
        }
    }
}
