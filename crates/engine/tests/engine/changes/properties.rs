//! Rules that hold for every change.

use super::*;
use daybook_engine::installment::reading::read;
use daybook_engine::item::ItemStatus;
use daybook_engine::timeline::Backdating;
use daybook_testkit::campaign::holds;
use daybook_testkit::history::{self, Life};
use daybook_testkit::random_changes;
use proptest::prelude::*;

fn lived(life: &Life) -> Book {
    let mut book = Book::open(life.terms.clone());
    let mut inputs = life.inputs();
    inputs.sort_by_key(|(told_at, ..)| *told_at);
    for (told_at, at, name, input) in inputs {
        book.roll(told_at);
        let _ = book.submit(&name, at, input);
    }
    book
}

/// Rule 1: under replay a change that is cancelled is as if it had never been made.
#[test]
fn cancelled_under_replay_is_never_made() {
    let lives = (history::replayed_life(), random_changes::change(), 0..5_000_i64);
    holds("16.1 cancelled = never made", &lives, |(life, random, hours)| {
        let mut book = lived(&life);
        book.roll(book.clock.plus_micros(hours * 3_600_000_000));
        let before = book.clone();
        let change = random.on(&book.terms, book.terms.zone.day_at(book.clock));
        if book.submit("c", book.clock, Input::Change(Box::new(change))).is_err() {
            return Ok(());
        }
        book.submit("x", book.clock, Input::CancelChange { change: "c".into(), never_made: false }).unwrap();
        prop_assert_eq!(
            read(&book.terms, &book.state, book.clock).unwrap(),
            read(&before.terms, &before.state, before.clock).unwrap()
        );
        let valid = |book: &Book| book.ledger.valid().cloned().collect::<Vec<_>>();
        prop_assert_eq!(valid(&book), valid(&before));
        let end = life.end().max(book.clock);
        let (mut with, mut without) = (book, before);
        with.roll(end);
        without.roll(end);
        prop_assert_eq!(valid(&with), valid(&without));
        Ok(())
    });
}

/// Rule 3: a change alone moves no total except by its own items.
#[test]
fn a_change_moves_no_total_except_by_its_items() {
    let lives = (history::life(), random_changes::change(), 0..5_000_i64);
    holds("16.3 a change moves no total by itself", &lives, |(mut life, random, hours)| {
        life.terms.backdating = Backdating::AsPosted;
        let mut book = lived(&life);
        book.roll(book.clock.plus_micros(hours * 3_600_000_000 + 1));
        let change = random.on(&book.terms, book.terms.zone.day_at(book.clock));
        let is_periodic_rate = matches!(change, Change::Rate(_) | Change::Restructure(_));
        let before = (read(&book.terms, &book.state, book.clock).unwrap(), book.ledger.clone());
        if book.submit("c", book.clock, Input::Change(Box::new(change.clone()))).is_err() {
            return Ok(());
        }
        let after = read(&book.terms, &book.state, book.clock).unwrap();
        let moved: Cents = book
            .ledger
            .valid()
            .filter(|item| before.1.get(&item.id).is_none() && item.status == ItemStatus::Valid)
            .filter(|item| item.kind != daybook_engine::item::ItemKind::SurplusApplied)
            .map(|item| item.amount)
            .sum();
        let owed = |reading: &daybook_engine::installment::reading::Reading| {
            reading.balances.owed() - reading.balances.surplus
        };
        prop_assert_eq!(owed(&after) - owed(&before.0), moved, "{:?}", change);
        let is_daily = book.terms.installment().policy.interest == InterestMethod::Daily;
        let same_dates =
            !matches!(change, Change::DueDate(_) | Change::Skip(_) | Change::ReAge(_) | Change::Restructure(_));
        if is_daily && same_dates && !is_periodic_rate && moved.is_zero() {
            prop_assert_eq!(after.payoff, before.0.payoff, "{:?}", change);
        }
        Ok(())
    });
}
