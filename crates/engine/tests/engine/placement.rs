//! The placement of inputs, row by row of the rules' table, and its effect on a backdated payment.

use super::support::{Loan, at, dated_events, events, item, items, loan, pay, payment, standing};
use daybook_engine::change::InputClass;
use daybook_engine::item::ItemId;
use daybook_engine::notify::{NoticeKind, Setting, When};
use daybook_engine::timeline::{Backdating, Input, Placement, Rank, Situation, TimelinePosition, place};

const CLOCK: &str = "2025-02-25T12:00:00-05:00";
const BEFORE: &str = "2025-02-15T12:00:00-05:00";
const AFTER: &str = "2025-02-25T12:00:01-05:00";

fn situation(held: bool, last: Option<(&str, Rank, u64)>, backdating: Backdating) -> Situation {
    let last_folded =
        last.map(|(time, rank, seq)| TimelinePosition { at: at(time), rank, class: InputClass::Other, seq });
    Situation { held, clock: at(CLOCK), last_folded, backdating }
}

fn input_at(time: &str) -> TimelinePosition {
    TimelinePosition { at: at(time), rank: Rank::Input, class: InputClass::Other, seq: 7 }
}

#[test]
fn the_table() {
    let late = Some((CLOCK, Rank::Moment, 0));
    for backdating in [Backdating::AsPosted, Backdating::Replay] {
        // The product holds its events: the input's own time, under any policy and after any folded steps.
        for when in [BEFORE, CLOCK, AFTER] {
            assert_eq!(
                place(&situation(true, late, backdating), at(when), InputClass::Other, 7),
                Placement::Next(input_at(when))
            );
        }
        // After the account clock: scheduled.
        let ahead = place(&situation(false, late, backdating), at(AFTER), InputClass::Other, 7);
        assert_eq!(ahead, Placement::Scheduled(input_at(AFTER)));
        // No folded step sorts after it.
        for last in [
            None,
            Some((BEFORE, Rank::Input, 6)),
            Some(("2025-02-15T11:59:59-05:00", Rank::Moment, 0)),
            Some(("2025-02-15T11:59:59-05:00", Rank::Late, 9)),
        ] {
            let next = place(&situation(false, last, backdating), at(BEFORE), InputClass::Other, 7);
            assert_eq!(next, Placement::Next(input_at(BEFORE)), "{last:?}");
        }
        let now =
            place(&situation(false, Some((BEFORE, Rank::Moment, 0)), backdating), at(CLOCK), InputClass::Other, 7);
        assert_eq!(now, Placement::Next(input_at(CLOCK)));
    }
    // Backdated: a folded step sorts after it, possibly at the same instant.
    for last in [(BEFORE, Rank::Moment, 0), (BEFORE, Rank::Late, 1), (BEFORE, Rank::Input, 8), (CLOCK, Rank::Input, 1)]
    {
        let posted = place(&situation(false, Some(last), Backdating::AsPosted), at(BEFORE), InputClass::Other, 7);
        assert_eq!(posted, Placement::Next(TimelinePosition::late(at(CLOCK), 7)));
        let replayed = place(&situation(false, Some(last), Backdating::Replay), at(BEFORE), InputClass::Other, 7);
        assert_eq!(replayed, Placement::Replay(input_at(BEFORE)));
        assert_eq!(replayed.place(), input_at(BEFORE));
    }
}

/// Nothing is paid until 2025-02-25: 12.00 is past due, the late fee of 15.00 was charged on the 20th, the account is
/// delinquent. Then a payment of 106.62 that was made on the 15th is recorded.
fn recorded_late(terms: &Loan) -> daybook_testkit::book::Book {
    let mut book = terms.open();
    book.roll(at(CLOCK));
    let told = "owes 1200.00 + 12.00 + 15.00, accrued 4.29, past due 106.62, 10 days, 1 late";
    assert_eq!(standing(&book), format!("SUSPENDED/DELINQUENT {told}"));
    book.events.clear();
    book.submit("p", at(BEFORE), payment(10_662)).unwrap();
    book
}

/// As posted the money counts from now: it pays row 1's amount and cures the account; the late fee stays, and so does
/// the interest accrued since, 10 of 28 days of 12.00.
#[test]
fn backdated_as_posted() {
    let mut book = recorded_late(&loan());
    assert_eq!(item(&book, "p"), "p -106.62: 12.00 dbk_interest_1, 94.62 dbk_loan");
    let payment = book.ledger.get(&ItemId::parse("p")).unwrap();
    assert_eq!((payment.effective_at, payment.applied_at), (at(BEFORE), at(CLOCK)));
    let cured = "02-25 12:00:00 account_status_change SUSPENDED/DELINQUENT>ACTIVE";
    assert_eq!(dated_events(&mut book), ["02-25 12:00:00 line_item_create p", cured]);
    assert_eq!(standing(&book), "ACTIVE owes 1105.38 + 0.00 + 15.00, accrued 4.29");
    assert!(book.recalculated.is_none());
}

/// Under replay it counts from its own date: on time, 12.00 + 94.62. The interest and the fee that were posted become
/// invalid.
#[test]
fn backdated_under_replay() {
    let mut book = recorded_late(&loan().replaying());
    let told = [
        "02-25 12:00:00 line_item_update dbk_interest_1",
        "02-25 12:00:00 line_item_update dbk_late_fee_1",
        "02-25 12:00:00 line_item_create p",
        "02-25 12:00:00 line_item_create dbk_interest_1.1",
        "02-25 12:00:00 account_status_change SUSPENDED/DELINQUENT>ACTIVE",
        "02-25 12:00:00 account_recalculated",
    ];
    assert_eq!(dated_events(&mut book), told);
    let told = [
        "p -106.62: 12.00 dbk_interest_1.1, 94.62 dbk_loan",
        "dbk_loan 1200.00 left 1105.38",
        "dbk_interest_1.1 12.00",
    ];
    assert_eq!(items(&book), told);
    // 1105.38 x 0.01 x 10/28 = 3.9478.
    assert_eq!(standing(&book), "ACTIVE owes 1105.38 + 0.00 + 0.00, accrued 3.95");
    let change = book.recalculated.unwrap();
    let lines: Vec<String> = change.differences.iter().map(|item| super::support::item_line(&item.after)).collect();
    let told = [
        "dbk_interest_1 12.00 INVALID left 12.00",
        "dbk_late_fee_1 15.00 INVALID left 15.00",
        "p -106.62: 12.00 dbk_interest_1.1, 94.62 dbk_loan",
        "dbk_loan 1200.00 left 1105.38",
        "dbk_interest_1.1 12.00",
    ];
    assert_eq!(lines, told);
    let payment = book.ledger.get(&ItemId::parse("p")).unwrap();
    assert_eq!((payment.effective_at, payment.applied_at), (at(BEFORE), at(BEFORE)));
}

/// A replay that pays off closes the account: 1200.00 + 12.00 on the 15th. A later payment is allocated again: the
/// 50.00 of the 18th finds nothing owed and is kept.
#[test]
fn a_replay_that_pays_off() {
    let mut book = loan().replaying().open();
    pay(&mut book, "q", 5_000, "2025-02-18T12:00:00-05:00");
    book.roll(at(CLOCK));
    book.events.clear();
    book.submit("p", at(BEFORE), payment(121_200)).unwrap();
    let told = [
        "line_item_update dbk_interest_1",
        "line_item_update dbk_late_fee_1",
        "line_item_create p",
        "line_item_update q",
        "line_item_create dbk_interest_1.1",
        "account_status_change SUSPENDED/DELINQUENT>CLOSED/SURPLUS_BALANCE",
        "account_closed",
        "account_recalculated",
    ];
    assert_eq!(events(&mut book), told);
    assert_eq!(item(&book, "q"), "q -50.00 left -50.00");
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 50.00");
}

/// A payment recorded at the due moment itself is after the steps folded there: it is backdated, and posted late at
/// that instant. The next period has not begun, so row 1 takes 12.00 + 94.62, after it was announced as missed.
#[test]
fn recorded_at_the_due_moment() {
    let mut book = loan().open();
    book.events.clear();
    pay(&mut book, "p", 10_662, "2025-02-15T23:59:59-05:00");
    let told =
        ["line_item_create dbk_interest_1", "due_date_passed 1 unpaid", "payment_missed 1", "line_item_create p"];
    assert_eq!(events(&mut book), told);
    assert_eq!(item(&book, "p"), "p -106.62: 12.00 dbk_interest_1, 94.62 dbk_loan");
    assert_eq!(standing(&book), "ACTIVE owes 1105.38 + 0.00 + 0.00");
}

/// Notices do not count: one that fired on 02-08 does not make a payment of 02-05 backdated. 21 of 31 days of 12.00:
/// 8.13.
#[test]
fn a_notice_is_nothing_that_was_folded() {
    let mut book = loan().open();
    let setting = Setting { kind: NoticeKind::PaymentDueDate, when: When::Offset(-7), time: None, enabled: true };
    book.submit("n", at("2025-01-20T12:00:00-05:00"), Input::Notify(setting)).unwrap();
    book.roll(at("2025-02-10T12:00:00-05:00"));
    book.submit("p", at("2025-02-05T12:00:00-05:00"), payment(5_000)).unwrap();
    assert_eq!(item(&book, "p"), "p -50.00: 8.13 dbk_interest_1.1, 41.87 dbk_loan");
}

/// Held inputs are folded in the order of their times, regardless of the order in which they were loaded.
#[test]
fn held_inputs_in_any_order() {
    let mut first = loan().held();
    let mut second = loan().held();
    let inputs =
        [("p", BEFORE, 10_662), ("q", "2025-03-15T12:00:00-04:00", 10_662), ("s", "2025-01-20T12:00:00-05:00", 1)];
    for (name, when, amount) in inputs {
        first.submit(name, at(when), payment(amount)).unwrap();
    }
    for (name, when, amount) in inputs.into_iter().rev() {
        second.submit(name, at(when), payment(amount)).unwrap();
    }
    assert_eq!((first.state.processed_through, events(&mut first)), (None, Vec::new()));
    first.release(at("2025-04-01T12:00:00-04:00"));
    second.release(at("2025-04-01T12:00:00-04:00"));
    assert_eq!(items(&first), items(&second));
    assert_eq!(events(&mut first), events(&mut second));
    // 0.01 of interest on 01-20; then 11.99 + 94.62 and 0.01 in excess; 1105.37 x 0.01 = 11.0537.
    assert_eq!(item(&first, "p"), "p -106.62: 11.99 dbk_interest_1.2, 94.62 dbk_loan, 0.01 dbk_loan");
    assert_eq!(item(&first, "q"), "q -106.62: 11.05 dbk_interest_2.1, 95.57 dbk_loan");
}
