//! Observing a fold: the observer sees each step with the account right after it.

use super::support::{ask, at, loan, pay, reversal};
use daybook_engine::fold::{FoldObserver, ObservedStep};
use daybook_engine::item::ItemId;
use daybook_engine::outcome::Cause;
use daybook_engine::replay::{replay, replay_watched};

/// Records what the observer sees.
#[derive(Default)]
struct Notes {
    /// The cause, the principal and the balance of the loan's item, after each step.
    lines: Vec<String>,
    /// Events of all steps.
    events: usize,
    restarts: u32,
}

impl FoldObserver for Notes {
    fn step(&mut self, seen: &ObservedStep<'_>) {
        assert_eq!(self.events, seen.events_before, "no event is shown twice or left out");
        self.events = seen.out.events.len();
        let loan = seen.out.items.iter().find(|item| item.id == ItemId::Loan).map(|item| item.balance.to_string());
        let cause = match seen.cause {
            Cause::Input(seq) => format!("input {seq}"),
            Cause::PeriodEnd { period } => format!("period {period}"),
            Cause::GraceEnd { instalment, .. } => format!("grace {instalment}"),
            Cause::Notice(kind) => kind.name().to_owned(),
        };
        let principal = seen.state.balances().principal;
        self.lines.push(format!("{cause}: {principal}, loan {}", loan.unwrap_or_default()));
    }

    fn restart(&mut self) {
        self.lines.clear();
        self.events = 0;
        self.restarts += 1;
    }
}

/// 106.62 on the due date is 12.00 of interest and 94.62 of principal.
#[test]
fn each_step_is_seen_as_it_stands() {
    let mut book = loan().open();
    pay(&mut book, "p", 10_662, "2025-02-15T12:00:00-05:00");
    let mut notes = Notes::default();
    let until = at("2025-02-20T23:59:59-05:00");
    let watched = replay_watched(&book.terms, &book.entries, until, &mut notes).unwrap();
    assert_eq!(
        notes.lines,
        [
            "input 1: 1200.00, loan 1200.00",
            "input 2: 1105.38, loan 1105.38",
            "period 1: 1105.38, loan 1105.38",
            "grace 1: 1105.38, loan 1105.38",
        ]
    );
    assert_eq!(notes.events, watched.1.events.len());
    assert_eq!(watched, replay(&book.terms, &book.entries, until).unwrap(), "watching changes nothing");
}

/// Under replay a bounced payment was never made: the fold starts again, and the earlier notes are discarded.
#[test]
fn a_fold_that_begins_again_says_so() {
    let mut book = loan().replaying().open();
    pay(&mut book, "p", 10_662, "2025-02-15T12:00:00-05:00");
    book.roll(at("2025-02-16T12:00:00-05:00"));
    ask(&mut book, "r", "2025-02-16T13:00:00-05:00", reversal("p")).unwrap();
    let mut notes = Notes::default();
    replay_watched(&book.terms, &book.entries, book.clock.max(at("2025-02-16T13:00:00-05:00")), &mut notes).unwrap();
    assert_eq!(notes.restarts, 1);
    assert_eq!(
        notes.lines,
        [
            "input 1: 1200.00, loan 1200.00",
            "input 2: 1200.00, loan 1200.00",
            "period 1: 1200.00, loan 1200.00",
            "input 3: 1200.00, loan 1200.00",
        ]
    );
}
