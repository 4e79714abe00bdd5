//! Configured notices: on the right local date and time, once each, and only while the account is open.

use super::support::{Loan, ask, at, dated_events, loan, pay, pay_for, reversal};
use daybook_engine::calendar::{Interval, MonthEnd, TimeOfDay};
use daybook_engine::installment::{InterestMethod, Method};
use daybook_engine::item::Component;
use daybook_engine::money::{Cents, Percent};
use daybook_engine::notify::{NoticeKind, Setting, When};
use daybook_engine::replay::replay;
use daybook_engine::snapshot;
use daybook_engine::status::Status;
use daybook_engine::timeline::Input;
use daybook_testkit::book::Book;

fn notice(kind: NoticeKind, offset: i32, time: Option<&str>) -> Setting {
    let time = time.map(|time| TimeOfDay::parse(time).unwrap());
    Setting { kind, when: When::Offset(offset), time, enabled: true }
}

fn every(interval: Interval, time: Option<&str>) -> Setting {
    Setting { when: When::Every(interval), ..notice(NoticeKind::AccountSummary, 0, time) }
}

fn set(book: &mut Book, setting: Setting, when: &str) {
    ask(book, "n", when, Input::Notify(setting)).unwrap();
}

fn plain() -> Loan {
    loan().with(|policy| policy.interest = InterestMethod::Periodic)
}

/// The notices since the last call, up to a time: `02-12 23:59:59 payment_due_date 1`.
fn fired(book: &mut Book, until: &str) -> Vec<String> {
    book.roll(at(until));
    let is_notice = |line: &String| {
        ["payment_due_date", "late_fee_date", "loan_end_date", "account_summary"].iter().any(|name| line.contains(name))
    };
    dated_events(book).into_iter().filter(is_notice).collect()
}

/// Sets a notice on 2025-01-20 at noon, and checks when it fires by 2025-03-25.
fn check(terms: &Loan, setting: Setting, told: &[&str]) {
    let mut book = terms.open();
    set(&mut book, setting, "2025-01-20T12:00:00-05:00");
    assert_eq!(dated_events(&mut book).last().unwrap(), "01-20 12:00:00 account_update");
    assert_eq!(fired(&mut book, "2025-03-25T12:00:00-04:00"), told, "{setting:?}");
}

/// Due 02-15 and 03-15, at close of business unless a time of day is given; in daylight saving time too.
#[test]
fn days_before_and_after_the_due_date() {
    use NoticeKind::PaymentDueDate;
    for (offset, time, told) in [
        (-3, None, ["02-12 23:59:59 payment_due_date 1", "03-12 23:59:59 payment_due_date 2"]),
        (0, None, ["02-15 23:59:59 payment_due_date 1", "03-15 23:59:59 payment_due_date 2"]),
        (2, Some("08:30:00"), ["02-17 08:30:00 payment_due_date 1", "03-17 08:30:00 payment_due_date 2"]),
    ] {
        check(&plain(), notice(PaymentDueDate, offset, time), &told);
    }
    // 28 days before: row 1's 01-18 has already passed when it is set.
    let told = ["02-15 09:00:00 payment_due_date 2", "03-18 09:00:00 payment_due_date 3"];
    check(&plain(), notice(PaymentDueDate, -28, Some("09:00:00")), &told);
}

/// At the same instant notices are last: after interest, due date, fee and status.
#[test]
fn after_the_other_moments() {
    let terms = plain().with(|policy| policy.late_fee.grace = Interval::ZERO);
    let mut book = terms.open();
    set(&mut book, notice(NoticeKind::PaymentDueDate, 0, None), "2025-01-20T12:00:00-05:00");
    book.events.clear();
    book.roll(at("2025-02-16T12:00:00-05:00"));
    let told = [
        "02-15 23:59:59 line_item_create dbk_interest_1",
        "02-15 23:59:59 due_date_passed 1 unpaid",
        "02-15 23:59:59 payment_missed 1",
        "02-15 23:59:59 line_item_create dbk_late_fee_1",
        "02-15 23:59:59 account_status_change ACTIVE>SUSPENDED/DELINQUENT",
        "02-15 23:59:59 payment_due_date 1",
    ];
    assert_eq!(dated_events(&mut book), told);
}

/// 2025-03-09 in New York has no 02:30: it is 03:30. 2025-11-02 has two 01:30: the first counts, 05:30 UTC.
#[test]
fn clock_changes() {
    let mut book = plain().open();
    set(&mut book, notice(NoticeKind::PaymentDueDate, -6, Some("02:30:00")), "2025-01-20T12:00:00-05:00");
    let told = ["02-09 02:30:00 payment_due_date 1", "03-09 03:30:00 payment_due_date 2"];
    assert_eq!(fired(&mut book, "2025-03-10T00:00:00-04:00"), told);

    let mut book = plain().open();
    set(&mut book, notice(NoticeKind::PaymentDueDate, -13, Some("01:30:00")), "2025-01-20T12:00:00-05:00");
    book.roll(at("2025-11-02T01:29:59-04:00"));
    book.events.clear();
    assert_eq!(fired(&mut book, "2025-11-02T01:30:00-04:00"), ["11-02 01:30:00 payment_due_date 10"]);
    assert_eq!(fired(&mut book, "2025-11-02T12:00:00-05:00"), [""; 0]);
}

/// The date an instalment becomes late is 02-20 and 03-20; only while it is unpaid.
#[test]
fn late_fee_date_only_while_unpaid() {
    let both = ["02-18 09:00:00 late_fee_date 1", "03-18 09:00:00 late_fee_date 2"];
    check(&plain(), notice(NoticeKind::LateFeeDate, -2, Some("09:00:00")), &both);
    let paid = |when: &str, amount| {
        let mut book = plain().open();
        set(&mut book, notice(NoticeKind::LateFeeDate, -2, Some("09:00:00")), "2025-01-20T12:00:00-05:00");
        pay(&mut book, "p", amount, when);
        fired(&mut book, "2025-03-25T12:00:00-04:00")
    };
    assert_eq!(paid("2025-02-17T12:00:00-05:00", 10_662), both[1..]);
    assert_eq!(paid("2025-02-17T12:00:00-05:00", 10_661), both);
    assert_eq!(paid("2025-02-10T12:00:00-05:00", 10_662), both[1..]);
    assert_eq!(paid("2025-02-18T10:00:00-05:00", 10_662), both);

    // Ten days before 02-20 row 1 has not fallen due: it is paid with its full amount, and unpaid with a cent less.
    let early = |amount| {
        let mut book = plain().open();
        set(&mut book, notice(NoticeKind::LateFeeDate, -10, None), "2025-01-20T12:00:00-05:00");
        pay(&mut book, "p", amount, "2025-02-01T12:00:00-05:00");
        fired(&mut book, "2025-02-12T12:00:00-05:00")
    };
    assert_eq!(early(10_662), [""; 0]);
    assert_eq!(early(10_661), ["02-10 23:59:59 late_fee_date 1"]);
}

/// The end of the loan is the last due date, here the second: 2025-03-15.
#[test]
fn loan_end_date() {
    let terms = plain().of("2025-01-15T12:00:00-05:00", 120_000, 2);
    check(&terms, notice(NoticeKind::LoanEndDate, -30, None), &["02-13 23:59:59 loan_end_date 2"]);
    check(&terms, notice(NoticeKind::LoanEndDate, 1, Some("10:00:00")), &["03-16 10:00:00 loan_end_date 2"]);
}

/// First one interval after it takes effect, at that time of day or the configured one. From the 31st, months are
/// counted from the 31st.
#[test]
fn intervals() {
    let told = ["02-20 12:00:00 account_summary", "03-20 12:00:00 account_summary"];
    check(&plain(), every(Interval::months(1), None), &told);
    let told = ["02-19 08:00:00 account_summary", "03-21 08:00:00 account_summary"];
    check(&plain(), every(Interval::days(30), Some("08:00:00")), &told);
    for (month_end, told) in [
        (MonthEnd::Clamp, ["02-28 12:00:00 account_summary", "03-31 12:00:00 account_summary"]),
        (MonthEnd::Roll, ["03-01 12:00:00 account_summary", "03-31 12:00:00 account_summary"]),
    ] {
        let mut book = plain().with(|policy| policy.month_end = month_end).open();
        set(&mut book, every(Interval::months(1), None), "2025-01-31T12:00:00-05:00");
        assert_eq!(fired(&mut book, "2025-04-01T00:00:00-04:00"), told);
    }
}

/// The same type and offset replaces a setting; another offset is another notice. A disabled notice no longer fires.
#[test]
fn replaced_by_its_key() {
    use NoticeKind::PaymentDueDate;
    let mut book = plain().open();
    set(&mut book, notice(PaymentDueDate, -3, Some("08:00:00")), "2025-01-20T12:00:00-05:00");
    set(&mut book, notice(PaymentDueDate, -2, Some("08:00:00")), "2025-01-20T12:00:00-05:00");
    set(&mut book, notice(PaymentDueDate, -3, Some("09:00:00")), "2025-01-21T12:00:00-05:00");
    let told = ["02-12 09:00:00 payment_due_date 1", "02-13 08:00:00 payment_due_date 1"];
    assert_eq!(fired(&mut book, "2025-02-20T12:00:00-05:00"), told);
    let off = Setting { enabled: false, ..notice(PaymentDueDate, -3, None) };
    set(&mut book, off, "2025-02-21T12:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-03-20T12:00:00-04:00"), ["03-13 08:00:00 payment_due_date 2"]);

    // A summary has one key, regardless of its interval.
    let mut book = plain().open();
    set(&mut book, every(Interval::days(10), None), "2025-01-20T12:00:00-05:00");
    set(&mut book, every(Interval::days(20), None), "2025-01-25T12:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-02-20T12:00:00-05:00"), ["02-14 12:00:00 account_summary"]);
}

/// Fired at 08:00 and replaced at noon by one for 18:00 of the same day: that occurrence has already fired.
#[test]
fn fired_once_when_replaced_the_same_day() {
    use NoticeKind::PaymentDueDate;
    let mut book = plain().open();
    set(&mut book, notice(PaymentDueDate, -3, Some("08:00:00")), "2025-01-20T12:00:00-05:00");
    set(&mut book, notice(PaymentDueDate, -3, Some("18:00:00")), "2025-02-12T12:00:00-05:00");
    let told = ["02-12 08:00:00 payment_due_date 1", "03-12 18:00:00 payment_due_date 2"];
    assert_eq!(fired(&mut book, "2025-03-20T12:00:00-04:00"), told);

    // Replaced before it has fired, it fires at the new time.
    let mut book = plain().open();
    set(&mut book, notice(PaymentDueDate, -3, Some("18:00:00")), "2025-01-20T12:00:00-05:00");
    set(&mut book, notice(PaymentDueDate, -3, Some("13:00:00")), "2025-02-12T12:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-02-20T12:00:00-05:00"), ["02-12 13:00:00 payment_due_date 1"]);
}

/// Nothing fires while the account is closed; notices of that time are dropped, and the others resume on reopening.
#[test]
fn closed_and_opened_again() {
    let closed = Status::parse("CLOSED", Some("ADMINISTRATIVE")).unwrap();
    let mut book = plain().open();
    set(&mut book, notice(NoticeKind::PaymentDueDate, -3, None), "2025-01-20T12:00:00-05:00");
    set(&mut book, every(Interval::days(10), None), "2025-01-20T12:00:00-05:00");
    ask(&mut book, "c", "2025-02-01T12:00:00-05:00", Input::Status(closed)).unwrap();
    assert_eq!(fired(&mut book, "2025-02-25T12:00:00-05:00"), ["01-30 12:00:00 account_summary"]);
    ask(&mut book, "o", "2025-02-25T13:00:00-05:00", Input::Status(Status::ACTIVE)).unwrap();
    // Every ten days from 01-20: 03-01, 03-11.
    let told =
        ["03-01 12:00:00 account_summary", "03-11 12:00:00 account_summary", "03-12 23:59:59 payment_due_date 2"];
    assert_eq!(fired(&mut book, "2025-03-15T12:00:00-04:00"), told);
}

/// A due date is announced even if it is paid.
#[test]
fn due_dates_fire_paid_or_not() {
    let mut book = plain().open();
    set(&mut book, notice(NoticeKind::PaymentDueDate, -1, None), "2025-01-20T12:00:00-05:00");
    pay(&mut book, "p", 10_662, "2025-02-01T12:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-02-20T12:00:00-05:00"), ["02-14 23:59:59 payment_due_date 1"]);
}

/// Seven days before the grace ends, an instalment that is paid or zero needs no notice. For a flat loan paid up to row
/// 1, row 2's is the first; for one whose principal is paid while a fee keeps it open, there is none.
#[test]
fn late_fee_dates_of_rows_that_ask_for_nothing() {
    let early = notice(NoticeKind::LateFeeDate, -7, None);
    let flat = |fee| {
        let mut terms = loan().with(|policy| policy.method = Method::Flat);
        terms.origination_fee = fee;
        let mut book = terms.open();
        set(&mut book, early, "2025-01-20T12:00:00-05:00");
        book
    };
    let mut book = flat(0);
    pay(&mut book, "p", 11_199, "2025-01-21T12:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-02-14T12:00:00-05:00"), ["02-13 23:59:59 late_fee_date 1"], "a cent is missing");
    let mut book = flat(0);
    pay(&mut book, "p", 11_200, "2025-01-21T12:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-03-14T12:00:00-04:00"), ["03-13 23:59:59 late_fee_date 2"]);
    let mut book = flat(5_000);
    pay_for(&mut book, "p", 120_000, Component::Principal, "2025-01-21T12:00:00-05:00");
    pay_for(&mut book, "i", 1_200, Component::Interest, "2025-01-21T13:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-06-14T12:00:00-04:00"), [""; 0]);

    // A level row whose principal is paid still requires the 2.32 that 6 of 31 days earned; the later rows require
    // nothing.
    let mut level = loan();
    level.origination_fee = 5_000;
    let mut book = level.open();
    set(&mut book, early, "2025-01-20T12:00:00-05:00");
    pay_for(&mut book, "p", 120_000, Component::Principal, "2025-01-21T12:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-06-14T12:00:00-04:00"), ["02-13 23:59:59 late_fee_date 1"]);

    // Equal principal has no fixed total: row 1 is not paid before its interest is known, unless no principal is left.
    let mut equal = loan().with(|policy| policy.method = Method::EqualPrincipal);
    equal.origination_fee = 5_000;
    let mut book = equal.open();
    set(&mut book, early, "2025-01-20T12:00:00-05:00");
    pay(&mut book, "p", 16_500, "2025-01-21T12:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-02-14T12:00:00-05:00"), ["02-13 23:59:59 late_fee_date 1"]);
    let mut book = equal.open();
    set(&mut book, early, "2025-01-20T12:00:00-05:00");
    pay_for(&mut book, "p", 120_000, Component::Principal, "2025-01-21T12:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-02-14T12:00:00-05:00"), ["02-13 23:59:59 late_fee_date 1"], "2.32 of interest");
    pay_for(&mut book, "i", 232, Component::Interest, "2025-02-14T13:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-04-14T12:00:00-04:00"), [""; 0]);
}

/// A flat loan is closed when its second period begins, so that row has no interest: 100.00 pays it. Row 3 has 12.00.
#[test]
fn no_late_fee_date_of_a_flat_row_without_interest() {
    let mut book = loan().with(|policy| policy.method = Method::Flat).open();
    set(&mut book, notice(NoticeKind::LateFeeDate, -10, None), "2025-01-20T12:00:00-05:00");
    pay(&mut book, "p1", 11_200, "2025-02-05T12:00:00-05:00");
    let closed = Status::parse("CLOSED", Some("CUSTOMER_REQUEST")).unwrap();
    ask(&mut book, "s1", "2025-02-10T12:00:00-05:00", Input::Status(closed)).unwrap();
    ask(&mut book, "s2", "2025-02-20T12:00:00-05:00", Input::Status(Status::ACTIVE)).unwrap();
    pay(&mut book, "p2", 10_000, "2025-02-21T12:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-04-12T12:00:00-04:00"), ["04-10 23:59:59 late_fee_date 3"]);
}

/// Forty days before row 3's grace ends, row 2 is open. Payments from the end of the loan have left 105.38, which row 2
/// takes: row 3 is zero. With 150.00 less paid it is not.
#[test]
fn no_late_fee_date_of_a_row_that_was_paid_from_the_end() {
    for (amount, told) in [(110_662, &[][..]), (95_662, &["03-11 23:59:59 late_fee_date 3"])] {
        let mut book = plain().open();
        pay(&mut book, "p", amount, "2025-02-15T12:00:00-05:00");
        set(&mut book, notice(NoticeKind::LateFeeDate, -40, None), "2025-02-20T12:00:00-05:00");
        assert_eq!(fired(&mut book, "2025-03-12T12:00:00-04:00"), told);
    }
}

/// An input may be placed before a notice that fired at the same instant. Payments and surplus are identified by step
/// numbers that exclude notices, so the state equals a fold from the beginning to the byte.
#[test]
fn a_payment_at_the_instant_of_a_notice() {
    let mut book = plain().open();
    let review = Status::parse("SUSPENDED", Some("RISK_REVIEW")).unwrap();
    ask(&mut book, "s", "2025-01-19T12:00:00-05:00", Input::Status(review)).unwrap();
    set(&mut book, every(Interval::days(1), None), "2025-01-20T12:00:00-05:00");
    pay(&mut book, "p", 130_000, "2025-01-21T12:00:00-05:00");
    assert_eq!(book.state.surplus, Cents(8_800));
    let (state, _) = replay(&book.terms, &book.entries, book.clock).unwrap();
    assert_eq!(snapshot::write(&book.state, b""), snapshot::write(&state, b""));
}

/// The payoff arrives at the instant of a notice that has fired, and is placed before it; or both are held. Either way
/// the state is the same to the byte, and the account that reopens on the 23rd continues with the 24th.
#[test]
fn a_closing_at_the_instant_of_a_notice() {
    let tell = |book: &mut Book| {
        set(book, every(Interval::days(1), None), "2025-01-20T12:00:00-05:00");
        pay(book, "p", 121_200, "2025-01-22T12:00:00-05:00");
    };
    let mut live = plain().open();
    tell(&mut live);
    assert_eq!(live.state.status, Status::PAID_OFF);
    let mut held = plain().held();
    tell(&mut held);
    held.release(at("2025-01-22T12:00:00-05:00"));
    assert_eq!(snapshot::write(&live.state, b""), snapshot::write(&held.state, b""));
    for (book, told) in [(&mut live, 2), (&mut held, 1)] {
        assert_eq!(fired(book, "2025-01-23T18:00:00-05:00").len(), told, "the 21st, and live the 22nd");
        ask(book, "r", "2025-01-23T18:00:00-05:00", reversal("p")).unwrap();
        assert_eq!(fired(book, "2025-01-24T18:00:00-05:00"), ["01-24 12:00:00 account_summary"]);
    }
    assert_eq!(snapshot::write(&live.state, b""), snapshot::write(&held.state, b""));
}

/// A closing and a reopening that are submitted late are placed before notices that have fired. The state equals a fold
/// from the beginning to the byte, and no notice is sent again: the next one is that of the 26th.
#[test]
fn a_closing_before_notices_that_have_fired() {
    let mut book = plain().open();
    set(&mut book, every(Interval::days(1), None), "2025-01-20T12:00:00-05:00");
    assert_eq!(fired(&mut book, "2025-01-25T18:00:00-05:00").len(), 5);
    let closed = Status::parse("CLOSED", Some("ADMINISTRATIVE")).unwrap();
    for (name, when, status) in
        [("c", "2025-01-22T18:00:00-05:00", closed), ("o", "2025-01-23T18:00:00-05:00", Status::ACTIVE)]
    {
        book.submit(name, at(when), Input::Status(status)).unwrap();
        let (state, _) = replay(&book.terms, &book.entries, book.clock).unwrap();
        assert_eq!(snapshot::write(&book.state, b""), snapshot::write(&state, b""), "{status}");
    }
    assert_eq!(fired(&mut book, "2025-01-26T18:00:00-05:00"), ["01-26 12:00:00 account_summary"]);
}

/// Closed and reopened at the instant of a notice: the account is open when it fires. It fires once, whether or not it
/// had fired before the two were submitted.
#[test]
fn closed_and_opened_at_the_instant_of_a_notice() {
    let closed = Status::parse("CLOSED", Some("ADMINISTRATIVE")).unwrap();
    let tell = |book: &mut Book| {
        set(book, every(Interval::days(1), None), "2025-01-20T12:00:00-05:00");
        ask(book, "c", "2025-01-22T12:00:00-05:00", Input::Status(closed)).unwrap();
        ask(book, "o", "2025-01-22T12:00:00-05:00", Input::Status(Status::ACTIVE)).unwrap();
    };
    let (mut live, mut held) = (plain().open(), plain().held());
    tell(&mut live);
    tell(&mut held);
    held.release(at("2025-01-22T12:00:00-05:00"));
    assert_eq!(snapshot::write(&live.state, b""), snapshot::write(&held.state, b""));
    for book in [&mut live, &mut held] {
        let told = ["01-21", "01-22", "01-23"].map(|day| format!("{day} 12:00:00 account_summary"));
        assert_eq!(fired(book, "2025-01-23T18:00:00-05:00"), told);
    }
}

/// Fired at 08:00, replaced by one for 18:00 and one for 20:00 of the same day, closed and reopened: it does not fire
/// again.
#[test]
fn fired_once_when_replaced_closed_and_opened_the_same_day() {
    use NoticeKind::PaymentDueDate;
    let closed = Status::parse("CLOSED", Some("ADMINISTRATIVE")).unwrap();
    let mut book = plain().open();
    set(&mut book, notice(PaymentDueDate, -3, Some("08:00:00")), "2025-01-20T12:00:00-05:00");
    set(&mut book, notice(PaymentDueDate, -3, Some("18:00:00")), "2025-02-12T12:00:00-05:00");
    set(&mut book, notice(PaymentDueDate, -3, Some("20:00:00")), "2025-02-12T13:00:00-05:00");
    ask(&mut book, "c", "2025-02-12T14:00:00-05:00", Input::Status(closed)).unwrap();
    ask(&mut book, "o", "2025-02-12T15:00:00-05:00", Input::Status(Status::ACTIVE)).unwrap();
    let told = ["02-12 08:00:00 payment_due_date 1", "03-12 20:00:00 payment_due_date 2"];
    assert_eq!(fired(&mut book, "2025-03-20T12:00:00-04:00"), told);
}

/// Three hundred days before their grace ends, rows 11 and 12 follow nine others. At 60 % a year much of those is
/// interest: they leave principal for rows 11 and 12.
#[test]
fn late_fee_dates_far_ahead() {
    let mut book = plain().with(|policy| policy.rate = Percent::from_millionths(60_000_000)).open();
    set(&mut book, notice(NoticeKind::LateFeeDate, -300, None), "2025-01-20T12:00:00-05:00");
    pay(&mut book, "p1", 13_539, "2025-02-15T12:00:00-05:00");
    pay(&mut book, "p2", 13_539, "2025-03-15T12:00:00-04:00");
    let told =
        ["01-24 23:59:59 late_fee_date 10", "02-23 23:59:59 late_fee_date 11", "03-26 23:59:59 late_fee_date 12"];
    assert_eq!(fired(&mut book, "2025-12-01T12:00:00-05:00"), told);
}
