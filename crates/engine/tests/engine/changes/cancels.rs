//! Cancelling changes.

use super::*;
use crate::support::standing;
use daybook_engine::outcome::Refusal;

fn cancel(name: &str, never_made: bool) -> Input {
    Input::CancelChange { change: name.into(), never_made }
}

/// Each change, made on 20 February after row 1 was paid.
fn all_changes() -> Vec<Input> {
    vec![
        plain("9", "02-20", LevelPayment::Recalculate),
        scra("02-20"),
        pause("02-20", "03-01"),
        due_date("03-25"),
        skip(1, true),
        skip(1, false),
        extension(2),
        deferral("03-15", None, true),
        re_age("04-01", 4, Arrears::Capitalize),
        change(Change::Capitalization(Capitalization {
            interest: CapitalizedInterest::All,
            fees: true,
            level_payment: LevelPayment::Recalculate,
        })),
    ]
}

/// Under replay, and while it is the last step as posted, a cancelled change is as if it had never been made.
#[test]
fn a_cancelled_change_was_never_made() {
    for loan in [three().replaying(), periodic().replaying(), three(), periodic()] {
        for input in all_changes() {
            let steps = [("02-15", pay(40_803)), ("02-20", input.clone()), ("02-20", cancel("s1", false))];
            let is_rate = matches!(&input, Input::Change(change) if matches!(**change, Change::Rate(_)));
            let is_replayed = loan.backdating == daybook_engine::timeline::Backdating::Replay;
            if is_rate && !is_replayed {
                continue;
            }
            let with = live(&loan, &steps);
            let mut without = live(&loan, &[("02-15", pay(40_803))]);
            without.roll(with.clock);
            assert_eq!(rows_from(&with, 1), rows_from(&without, 1), "{input:?}");
            assert_eq!(standing(&with), standing(&without), "{input:?}");
        }
    }
}

/// Scheduled and held ones.
#[test]
fn a_change_cancelled_before_its_time_is_not_made() {
    for input in all_changes() {
        let mut book = live(&three(), &[("02-15", pay(40_803))]);
        let before = rows_from(&book, 1);
        book.submit("c", at(&nine("02-20")), input.clone()).unwrap();
        book.submit("x", at(&nine("02-15")), cancel("c", true)).unwrap();
        book.roll(at(&nine("02-21")));
        assert_eq!(rows_from(&book, 1), before, "{input:?}");
        let steps = [("02-15", pay(40_803)), ("02-20", input.clone()), ("02-21", cancel("s1", true))];
        assert_eq!(rows_from(&held(&three(), &steps, "02-21"), 1), before, "{input:?}, held");
    }
}

/// 12 % again from 1 March: 9 days at 9 %, then 19 of 28 days at 12 %. The amounts stay: 407.31 is the level payment of
/// 803.97 at 9 % from 20 February on.
#[test]
fn as_posted_a_rate_ends() {
    let rate = plain("9", "02-20", LevelPayment::Keep);
    let steps = [("02-15", pay(40_803)), ("02-20", rate), ("03-01", cancel("s1", false))];
    // 803.97 x 1 % x (5 + 9 x 0.75 + 14) / 28 = 7.39.
    assert_eq!(rows_from(&live(&three(), &steps), 2), ["03-15 7.39 + 400.64", "04-15 4.03 + 403.33"]);
}

#[test]
fn as_posted_a_change_with_steps_after_it_stays() {
    let mut book = live(&three(), &[("02-15", pay(40_803)), ("02-20", skip(1, true)), ("02-21", pay(100))]);
    assert_eq!(book.submit("x", book.clock, cancel("s1", false)), Err(Refusal::CannotCancel));
    assert_eq!(book.submit("y", book.clock, cancel("s1", true)), Ok(()));
    assert_eq!(book.submit("z", book.clock, cancel("s1", true)), Err(Refusal::CannotCancel), "twice");
}
