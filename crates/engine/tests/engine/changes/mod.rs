//! Changes to a running loan. The numbers are those of the rules' own tables, worked out by hand there.
//!
//! Each case is a line: a loan, what happens to it, and its rows afterwards.

mod cancels;
mod edges;
mod late_changes;
mod properties;
mod worked;

use super::support::{Loan, at, loan, payment, standing};
use daybook_engine::calendar::Day;
use daybook_engine::change::*;
use daybook_engine::installment::InterestMethod;
use daybook_engine::installment::audit::audit;
use daybook_engine::installment::schedule::schedule;
use daybook_engine::money::{Cents, Percent};
use daybook_engine::snapshot;
use daybook_engine::timeline::Input;
use daybook_testkit::book::Book;

/// 1,200.00 at 12 %, three months from 15 January 2025; the level payment is 408.03.
pub fn three() -> Loan {
    loan().of("2025-01-15T12:00:00-05:00", 120_000, 3)
}

/// The same with interest fixed at each period's start.
pub fn periodic() -> Loan {
    three().with(|policy| policy.interest = InterestMethod::Periodic)
}

/// `02-25` of 2025.
pub fn day(text: &str) -> Day {
    Day::parse(&format!("2025-{text}")).unwrap_or_else(|| panic!("{text} is no date"))
}

pub fn percent(text: &str) -> Percent {
    Percent::parse(text).unwrap()
}

pub fn change(change: Change) -> Input {
    Input::Change(Box::new(change))
}

pub fn rate(kind: RateKind, from: &str, to: Option<&str>, level_payment: LevelPayment) -> Input {
    let (from, to) = (day(from), to.map(day));
    change(Change::Rate(RateChange { kind, from, to, level_payment, retroactive: false }))
}

pub fn plain(rate_percent: &str, from: &str, level_payment: LevelPayment) -> Input {
    rate(RateKind::Plain(percent(rate_percent)), from, None, level_payment)
}

pub fn scra(from: &str) -> Input {
    let kind = RateKind::Cap { tag: CapTag::Scra, rate: CapTag::Scra.rate() };
    rate(kind, from, None, LevelPayment::Reduce)
}

pub fn pause(from: &str, to: &str) -> Input {
    rate(RateKind::Pause, from, Some(to), LevelPayment::Keep)
}

pub fn due_date(to: &str) -> Input {
    change(Change::DueDate(DueDateChange {
        from_due_date: None,
        next_due_date: day(to),
        semi_monthly_days: None,
        level_payment: LevelPayment::Keep,
        fee: Cents::ZERO,
    }))
}

pub fn skip(count: u32, extend_term: bool) -> Input {
    change(Change::Skip(Skip { from_due_date: None, count, extend_term }))
}

pub fn extension(count: u32) -> Input {
    change(Change::Extension(Extension { count, from_due_date: None }))
}

pub fn deferral(due_date: &str, to: Option<&str>, accrues: bool) -> Input {
    let row = DeferredRow { due_date: day(due_date), deferred_to: to.map(day), balance: DeferredBalance::All };
    change(Change::Deferral(Deferral { rows: vec![row], accrues }))
}

pub fn re_amortization(interest: Arrears) -> Input {
    change(Change::Reamortization(Reamortization { interest }))
}

pub fn re_age_of(first: &str, instalments: u32, interest: Arrears) -> ReAge {
    ReAge {
        first_due_date: Some(day(first)),
        instalments,
        frequency: None,
        interest,
        fees: Arrears::First,
        payment_amount: None,
    }
}

pub fn re_age(first: &str, instalments: u32, interest: Arrears) -> Input {
    change(Change::ReAge(re_age_of(first, instalments, interest)))
}

/// Something that happens at 9:00 on a date of 2025.
pub type Step<'a> = (&'a str, Input);

pub fn pay(cents: i64) -> Input {
    payment(cents)
}

pub fn nine(date: &str) -> String {
    let offset = if day(date) < day("03-09") { "-05:00" } else { "-04:00" };
    format!("2025-{date}T09:00:00{offset}")
}

/// Lives through the steps, with a snapshot between them.
pub fn live(loan: &Loan, steps: &[Step<'_>]) -> Book {
    let mut book = loan.open();
    for (number, (date, input)) in steps.iter().enumerate() {
        let when = at(&nine(date));
        book.roll(when);
        book.submit(&format!("s{number}"), when, input.clone()).unwrap_or_else(|no| panic!("{date}: {}", no.rule()));
        sound(&book);
    }
    book
}

fn sound(book: &Book) {
    audit(&book.state).unwrap();
    let bytes = snapshot::write(&book.state, b"").unwrap();
    assert_eq!(snapshot::write(&snapshot::read(&bytes, b"").unwrap(), b"").unwrap(), bytes);
}

/// The steps held, in reverse order, and released.
pub fn held(loan: &Loan, steps: &[Step<'_>], until: &str) -> Book {
    let mut book = loan.held();
    for (number, (date, input)) in steps.iter().enumerate().rev() {
        book.submit(&format!("s{number}"), at(&nine(date)), input.clone()).unwrap();
    }
    book.release(at(&nine(until)));
    sound(&book);
    book
}

/// The rows from one on: `03-15 7.03 + 401.00`.
pub fn rows_from(book: &Book, first: usize) -> Vec<String> {
    let rows = schedule(&book.terms, &book.state, book.clock).unwrap();
    let line = |row: &daybook_engine::installment::schedule::ScheduleRow| {
        let retired = if row.retired { " retired" } else { "" };
        format!("{} {} + {}{retired}", &row.due_day.to_string()[5..], row.interest, row.principal)
    };
    rows[first - 1..].iter().map(line).collect()
}

/// Lives through the steps, live and held, reads the rows from `first` on at 10:00 of the last step's date.
pub fn check(what: &str, loan: &Loan, steps: &[Step<'_>], first: usize, expected: &[&str]) -> Book {
    let book = live(loan, steps);
    assert_eq!(rows_from(&book, first), expected, "{what}");
    let until = steps.last().map_or("01-16", |(date, _)| date);
    let released = held(loan, steps, until);
    assert_eq!(rows_from(&released, first), expected, "{what}, held");
    assert_eq!(standing(&book), standing(&released), "{what}, held");
    book
}
