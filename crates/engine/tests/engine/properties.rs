//! Invariants, checked on random histories. `daybook_testkit::campaign` documents their number and seed.

use daybook_engine::change::InputClass;
use daybook_engine::fold::{FoldError, fold};
use daybook_engine::installment::audit::audit;
use daybook_engine::installment::reading::{Reading, read};
use daybook_engine::installment::{Bucket, Span};
use daybook_engine::item::{Component, ItemId, ItemKind, ItemStatus, LineItem};
use daybook_engine::money::Cents;
use daybook_engine::outcome::EventKind;
use daybook_engine::replay::{Ledger, replay};
use daybook_engine::state::State;
use daybook_engine::status::Status;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_engine::timeline::{Backdating, Entry, Input, Placement, Rank, Situation, TimelinePosition, place};
use daybook_testkit::book::Book;
use daybook_testkit::campaign::holds;
use daybook_testkit::history::{self, HistoryInput, Life};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The results that two ways of folding must agree on.
#[derive(Debug, PartialEq)]
struct Result_ {
    reading: Reading,
    items: Vec<LineItem>,
}

fn result(terms: &Terms, state: &State, ledger: &Ledger, at: Time) -> Result_ {
    let items = ledger.valid().cloned().collect();
    Result_ { reading: read(terms, state, at).unwrap(), items }
}

fn result_of(book: &Book) -> Result_ {
    result(&book.terms, &book.state, &book.ledger, book.clock)
}

/// Submits every input at its time; returns which were accepted.
fn live(book: &mut Book, inputs: &[HistoryInput], rolls: &[Time]) -> Vec<bool> {
    let mut told: Vec<&HistoryInput> = inputs.iter().collect();
    told.sort_by_key(|(told_at, ..)| *told_at);
    let mut answers = Vec::new();
    for (told_at, at, name, input) in told {
        for roll in rolls.iter().filter(|roll| **roll < *told_at) {
            book.roll(*roll);
        }
        book.roll(*told_at);
        answers.push(book.submit(name, *at, input.clone()).is_ok());
    }
    answers
}

fn held(life: &Life, inputs: &[HistoryInput], until: Time) -> Book {
    let mut book = Book::held(life.terms.clone());
    for (_, at, name, input) in inputs {
        book.submit(name, *at, input.clone()).unwrap();
    }
    book.release(until);
    book
}

/// Property 1: one roll, many small rolls through snapshots, and a fold from the beginning have the same result.
#[test]
fn one_roll_is_many_rolls_is_a_fold_from_the_beginning() {
    let lives = (history::life(), proptest::collection::vec(0..20_000_i64, 0..12));
    holds("1 one roll = many = from the beginning", &lives, |(life, hours)| {
        let inputs = life.inputs();
        let mut rolls: Vec<Time> =
            hours.iter().map(|hours| life.terms.opening.effective_at.plus_micros(hours * 3_600_000_000)).collect();
        rolls.sort();
        let mut once = Book::open(life.terms.clone());
        let mut often = once.clone();
        often.by_snapshot = true;
        let answers = (live(&mut once, &inputs, &[]), live(&mut often, &inputs, &rolls));
        prop_assert_eq!(answers.0, answers.1, "the same inputs are refused");
        let end = life.end().max(once.clock).max(rolls.last().copied().unwrap_or(once.clock));
        rolls.push(end);
        rolls.iter().for_each(|roll| often.roll(*roll));
        once.roll(end);
        let (state, outcome) = replay(&once.terms, &once.entries, end).unwrap();
        let beginning = result(&once.terms, &state, &Ledger::of(&outcome), end);
        prop_assert_eq!(&result_of(&once), &beginning, "one roll, and from the beginning");
        prop_assert_eq!(&result_of(&often), &beginning, "many rolls, and from the beginning");
        // The stored bytes are the same too.
        let bytes = |state: &State| daybook_engine::snapshot::write(state, b"1:a").unwrap();
        prop_assert_eq!(bytes(&once.state), bytes(&state), "the snapshot of one roll");
        prop_assert_eq!(bytes(&often.state), bytes(&state), "the snapshot of many rolls");
        Ok(())
    });
}

/// Property 2: held history in any order has the same result as in order.
#[test]
fn held_history_may_be_loaded_in_any_order() {
    let lives = (history::life(), any::<u64>());
    holds("2 any permutation = in order", &lives, |(life, shuffle)| {
        let mut inputs = life.inputs();
        inputs.sort_by_key(|(_, at, ..)| *at);
        let end = life.end();
        let in_order = held(&life, &inputs, end);
        let mut shuffled = inputs.clone();
        shuffled.sort_by_key(|(_, at, ..)| (at.micros() as u64 ^ shuffle).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        prop_assert_eq!(result_of(&in_order), result_of(&held(&life, &shuffled, end)));
        Ok(())
    });
}

/// Property 3: an input replayed into the past has the same result as a fresh account that had it from the start, and
/// the reported differences are exactly the changes.
#[test]
fn a_replayed_input_is_as_if_it_had_always_been_there() {
    let lives = (history::replayed_life(), 0..20_usize, -2_000..2_000_i64);
    holds("3 replay = fresh account", &lives, |(life, late, hours)| {
        let mut inputs = life.inputs();
        if inputs.is_empty() {
            return Ok(());
        }
        let late = inputs.remove(late % inputs.len());
        let mut book = Book::open(life.terms.clone());
        live(&mut book, &inputs, &[]);
        book.roll(late.1.plus_micros(hours.abs() * 3_600_000_000));
        let before = book.ledger.clone();
        let events = book.events.len();
        book.recalculated = None;
        if book.submit(&late.2, late.1, late.3.clone()).is_err() {
            return Ok(());
        }
        if let Some(recalculation) = &book.recalculated {
            let mut changed: BTreeMap<_, _> = before.items().map(|item| (item.id.clone(), item.clone())).collect();
            for difference in &recalculation.differences {
                prop_assert_eq!(changed.get(&difference.after.id), difference.before.as_ref());
                changed.insert(difference.after.id.clone(), difference.after.clone());
            }
            let valid: Vec<LineItem> =
                changed.into_values().filter(|item| item.status != ItemStatus::Invalid).collect();
            prop_assert_eq!(&valid, &result_of(&book).items, "old items and differences make the new items");
            let new = &book.events[events..];
            prop_assert!(
                new.iter().all(|event| !matches!(event.what, EventKind::Notice { .. })),
                "no notice is sent anew"
            );
            prop_assert_eq!(new.iter().filter(|event| event.what == EventKind::Recalculated).count(), 1);
        }
        // A fresh account with the same inputs submitted in time, rolled to the same end.
        let end = life.end().max(book.clock);
        let mut fresh = Book::held(life.terms.clone());
        for entry in book.entries.iter().filter(|entry| entry.input != Input::Open) {
            fresh.submit(&entry.name, entry.place.at, entry.input.clone()).unwrap();
        }
        fresh.release(end);
        book.roll(end);
        let stated = |mut result: Result_| {
            // The fresh account got the place as the effective time.
            result.items.iter_mut().for_each(|item| item.effective_at = item.applied_at);
            result
        };
        prop_assert_eq!(stated(result_of(&book)), stated(result_of(&fresh)));
        Ok(())
    });
}

/// Property 4: at every point in time every cent is accounted for, splits add up, and nothing is negative.
#[test]
fn every_cent_is_somewhere() {
    let lives = (history::life(), proptest::collection::vec(0..20_000_i64, 1..6), any::<bool>());
    holds("4 every cent is somewhere", &lives, |(life, hours, is_held)| {
        let inputs = life.inputs();
        let mut book = if is_held {
            held(&life, &inputs, life.terms.opening.effective_at)
        } else {
            let mut book = Book::open(life.terms.clone());
            live(&mut book, &inputs, &[]);
            book
        };
        let mut stops: Vec<Time> =
            hours.iter().map(|hours| life.terms.opening.effective_at.plus_micros(hours * 3_600_000_000)).collect();
        stops.push(book.clock);
        // Sixty years ahead.
        stops.push(life.end().plus_micros(60 * 31_557_600_000_000));
        stops.sort();
        for stop in stops {
            book.roll(stop);
            let (state, outcome) = replay(&book.terms, &book.entries, stop).unwrap();
            check_cents(&state, &Ledger::of(&outcome))?;
        }
        Ok(())
    });
}

fn check_cents(state: &State, ledger: &Ledger) -> Result<(), TestCaseError> {
    if let Err(wrong) = audit(state) {
        return Err(TestCaseError::fail(wrong));
    }
    let balances = state.balances();
    let counts = |item: &&LineItem| item.status != ItemStatus::Authorized;
    let moved = |item: &LineItem| match item.kind {
        // Reversal parts repeat the components of their reversal; a charge-off is information. Used surplus was counted
        // when it was received.
        ItemKind::ReversalPart(_) | ItemKind::ChargeOff | ItemKind::SurplusApplied => Cents::ZERO,
        _ => item.amount,
    };
    let total: Cents = ledger.valid().filter(counts).map(moved).sum();
    prop_assert_eq!(total, balances.owed() - balances.surplus, "added and taken is what is owed");
    for component in [Component::Principal, Component::Interest, Component::Fee] {
        let open = |item: &&LineItem| {
            let part = match component {
                Component::Principal => item.principal,
                Component::Interest => item.interest,
                Component::Fee => item.fees,
            };
            item.amount > Cents::ZERO && part == item.amount
        };
        let owed: Cents = ledger.valid().filter(open).map(|item| item.balance).sum();
        prop_assert_eq!(owed, balances.component(component), "items' balances of {:?}", component);
    }
    for item in ledger.valid().filter(counts).filter(|item| item.amount < Cents::ZERO) {
        let split: Cents = item.splits.iter().map(|split| split.cents).sum();
        prop_assert_eq!(split - item.balance, -item.amount, "splits of {} add up", item.id);
        prop_assert_eq!(item.principal + item.interest + item.fees + item.balance, item.amount);
        prop_assert!(item.splits.iter().all(|split| split.cents > Cents::ZERO));
    }
    Ok(())
}

/// Property 4, at the limits of the type: an account that grows too large is an error, and never wraps.
#[test]
fn amounts_beyond_counting_are_an_error() {
    let policy = daybook_testkit::product::policy(&Default::default(), &Default::default()).unwrap();
    let daybook_engine::terms::ProductPolicy::Installment(mut installment) = policy.product.clone();
    (installment.instalments, installment.rate) = (12, daybook_engine::money::Percent::LARGEST);
    let policy = daybook_engine::terms::Policy {
        product: daybook_engine::terms::ProductPolicy::Installment(installment),
        ..policy
    };
    let effective_at = Time::from_seconds(1_735_707_600);
    let principal = Cents::LARGEST_INPUT;
    let opening = daybook_engine::terms::Opening::new(effective_at, principal, Cents::ZERO);
    let terms = Terms::new(&policy, opening).unwrap();
    let mut book = Book::held(terms.clone());
    // 115,000 credits of 10^13 cents add up to just under the limit; the interest on them exceeds it.
    for seq in 2..115_000_u64 {
        let at = effective_at.plus_micros(seq as i64);
        book.entries.push(Entry {
            place: TimelinePosition { at, rank: Rank::Input, class: InputClass::Other, seq },
            effective_at: at,
            scheduled: false,
            name: format!("credit-{seq}").as_str().into(),
            input: Input::Credit { amount: Cents::LARGEST_INPUT, component: Component::Principal },
        });
    }
    let (state, outcome) = replay(&terms, &book.entries, effective_at.plus_micros(1_000_000)).unwrap();
    assert_eq!(state.balances().principal, Cents(10_000_000_000_000 * 114_999));
    check_cents(&state, &Ledger::of(&outcome)).unwrap();
    let a_year_later = effective_at.plus_micros(31_536_000_000_000);
    assert_eq!(replay(&terms, &book.entries, a_year_later).map(|_| ()), Err(FoldError::Overflow));
}

/// Property 5: reversing a payment and recording it again changes no balance under replay, and not the total as posted.
#[test]
fn reversing_and_recording_again_changes_nothing_under_replay() {
    let lives = (history::life_without_reversal_fee(Backdating::Replay), 0..20_usize);
    holds("5 reverse and record again, replayed", &lives, |(life, which)| {
        let Some((mut book, payment)) = with_a_payment(&life, which) else { return Ok(()) };
        let before = read(&book.terms, &book.state, book.clock).unwrap();
        let clock = book.clock;
        let entry = book.entries.iter().find(|entry| *entry.name == *payment).unwrap().clone();
        book.submit("reversal", clock, Input::Reversal { payment: payment.as_str().into() }).unwrap();
        book.submit("again", entry.place.at, entry.input).unwrap();
        prop_assert_eq!(before, read(&book.terms, &book.state, book.clock).unwrap());
        Ok(())
    });
}

/// Property 5, as posted.
#[test]
fn reversing_and_recording_again_keeps_the_total_as_posted() {
    let lives = (history::life_without_reversal_fee(Backdating::AsPosted), 0..20_usize);
    holds("5 reverse and record again, as posted", &lives, |(life, which)| {
        let Some((mut book, payment)) = with_a_payment(&life, which) else { return Ok(()) };
        let total = |book: &Book| {
            let reading = read(&book.terms, &book.state, book.clock).unwrap();
            reading.payoff - reading.balances.surplus
        };
        // Flat interest paid before its period began has not been earned by time: the same money recorded later need
        // not pay it again, so the total may differ by that amount.
        let bought_ahead =
            |book: &Book| book.state.loan().numbered_rows().any(|(_, row)| row.prepaid_interest > Cents::ZERO);
        let bought_before = bought_ahead(&book);
        // Nothing else may happen between the two: no moment of the account falls on this microsecond.
        book.roll(book.clock.plus_micros(1));
        let before = total(&book);
        let earns = |book: &Book| !book.state.status.is_closed() && !book.state.stops(&book.terms).interest;
        let earned_before = earns(&book);
        let clock = book.clock;
        let input = book.entries.iter().find(|entry| *entry.name == *payment).unwrap().input.clone();
        book.submit("reversal", clock, Input::Reversal { payment: payment.as_str().into() }).unwrap();
        book.submit("again", clock, input).unwrap();
        // A bounce may change the status: rows are late again, or an account that a person closed as paid off owes
        // again and reopens. The payment recorded again need not change it back. If that stops or resumes interest, the
        // remaining days of a period with fixed interest earn differently from now on.
        let is_moved = earns(&book) != earned_before;
        if !bought_before && !bought_ahead(&book) && !is_moved {
            prop_assert_eq!(before, total(&book));
        }
        Ok(())
    });
}

/// In the default order a payment of the past-due amount cures the account, regardless of interest accrued meanwhile.
#[test]
fn what_the_rows_past_due_ask_cures_the_account() {
    let lives = (history::life(), 0..20_000_i64);
    holds("a payment of what is past due cures", &lives, |(mut life, hours)| {
        let daybook_engine::terms::ProductTerms::Installment(installment) = &mut life.terms.product;
        (installment.order, installment.policy.span) = (Bucket::DEFAULT_ORDER.to_vec(), Span::InstalmentsFirst);
        let mut book = Book::open(life.terms.clone());
        live(&mut book, &life.inputs(), &[]);
        book.roll(book.clock.plus_micros(hours * 3_600_000_000 + 1));
        let reading = read(&book.terms, &book.state, book.clock).unwrap();
        let asked = reading.past_due - reading.past_due_fees;
        if asked.is_positive() && asked <= Cents::LARGEST_INPUT && !book.state.status.is_closed() {
            let payment = Input::Payment { amount: asked, status: ItemStatus::Valid, allocation: None };
            book.submit("cure", book.clock, payment).unwrap();
            let reading = read(&book.terms, &book.state, book.clock).unwrap();
            prop_assert_eq!(reading.past_due - reading.past_due_fees, Cents::ZERO);
            prop_assert_eq!(reading.days_past_due, 0);
            prop_assert!(book.state.status != Status::DELINQUENT || book.terms.status_effects != Default::default());
        }
        Ok(())
    });
}

/// An account at some point in its life, and a valid payment on it that can be reversed.
fn with_a_payment(life: &Life, which: usize) -> Option<(Book, String)> {
    let mut book = Book::open(life.terms.clone());
    live(&mut book, &life.inputs(), &[]);
    let reversed = |name: &str| {
        book.entries.iter().any(|entry| matches!(&entry.input, Input::Reversal { payment } if **payment == *name))
    };
    let valid = |entry: &&Entry| {
        matches!(entry.input, Input::Payment { status: ItemStatus::Valid, .. })
            && book.ledger.get(&ItemId::Input(entry.name.clone())).is_some_and(|item| item.status == ItemStatus::Valid)
            && !reversed(&entry.name)
    };
    let payments: Vec<String> = book.entries.iter().filter(valid).map(|entry| entry.name.to_string()).collect();
    let payment = payments.get(which % payments.len().max(1))?.clone();
    Some((book, payment))
}

/// A fold from a snapshot refuses to undo a payment it has no record of, and reports that.
#[test]
fn a_snapshot_asks_for_the_past_to_undo_a_payment() {
    let lives = history::life_without_reversal_fee(Backdating::AsPosted);
    holds("a snapshot asks for the past", &lives, |life| {
        let Some((book, payment)) = with_a_payment(&life, 0) else { return Ok(()) };
        let bytes = daybook_engine::snapshot::write(&book.state, b"1:a").unwrap();
        let state = daybook_engine::snapshot::read(&bytes, b"1:a").unwrap();
        let situation = Situation {
            held: false,
            clock: book.clock,
            last_folded: state.last_folded,
            backdating: Backdating::AsPosted,
        };
        let Placement::Next(place) = place(&situation, book.clock, InputClass::Other, 1_000) else {
            return Ok(());
        };
        let entry = Entry {
            place,
            effective_at: book.clock,
            scheduled: false,
            name: "reversal".into(),
            input: Input::Reversal { payment: payment.as_str().into() },
        };
        prop_assert_eq!(fold(&book.terms, state, &[entry], book.clock).map(|_| ()), Err(FoldError::NeedsPast));
        Ok(())
    });
}
