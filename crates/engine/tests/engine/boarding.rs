//! Accounts that begin in the middle of their life, from balances.
//!
//! 1,200.00 at 12 %, three months from 15 January 2025: 12.00 + 396.03, 8.04 + 399.99, 4.04 + 403.98.

use super::support::{Loan, ask, at, dated_events, item, items, loan, pay, reading, reversal, rows, standing};
use daybook_engine::calendar::Day;
use daybook_engine::contract::{Boarded, BoardedFee, BoardedRow, ContractAmounts, PaidToDate};
use daybook_engine::installment::{InterestMethod, LateFee, Method};
use daybook_engine::item::Name;
use daybook_engine::money::{Cents, Percent};
use daybook_engine::outcome::Refusal;
use daybook_engine::status::Status;
use daybook_engine::timeline::FeeClass;
use daybook_testkit::book::Book;

fn day(text: &str) -> Day {
    Day::parse(text).unwrap()
}

fn three_months() -> Loan {
    loan().of("2025-01-15T12:00:00-05:00", 120_000, 3).with(|policy| policy.delinquent_after = 99_999)
}

/// Balances with nothing past due.
fn balances(as_of: &str, principal: i64, next_due_date: &str, remaining: u32) -> Boarded {
    Boarded {
        as_of: at(as_of),
        principal: Cents(principal),
        next_due_date: day(next_due_date),
        remaining_instalments: Some(remaining),
        past_due: Vec::new(),
        carried_interest: Cents::ZERO,
        accrued_interest: Cents::ZERO,
        accrued_from: None,
        fees: Vec::new(),
        paid_to_date: PaidToDate::default(),
        received_since_due: Cents::ZERO,
        consecutive_late_fees: 0,
        late_fees_charged: Cents::ZERO,
        surplus: Cents::ZERO,
        original_principal: None,
        status: Status::ACTIVE,
    }
}

/// The loan whose first instalment was missed, on 1 March at noon.
fn missed() -> Boarded {
    let row = BoardedRow {
        due_date: day("2025-02-15"),
        principal: Cents(39_603),
        interest: Cents(1_200),
        total: Cents(40_803),
    };
    let fee = BoardedFee {
        name: Name::from("late"),
        amount: Cents(1_500),
        class: FeeClass::Penalty,
        effective_at: None,
        due_date: None,
    };
    Boarded {
        past_due: vec![row],
        accrued_interest: Cents(600),
        fees: vec![fee],
        consecutive_late_fees: 1,
        late_fees_charged: Cents(1_500),
        ..balances("2025-03-01T12:00:00-05:00", 120_000, "2025-03-15", 2)
    }
}

fn boarding(loan: Loan, boarded: &Boarded) -> Loan {
    loan.agreeing(|agreed| agreed.boarded = Some(Box::new(boarded.clone())))
}

fn paying(loan: Loan, amount: i64) -> Loan {
    loan.agreeing(|agreed| agreed.contract.amounts = ContractAmounts::Payment(Cents(amount)))
}

/// The account that was not boarded, on 1 March at noon.
fn whole(loan: &Loan) -> Book {
    let mut book = loan.open();
    book.roll(at("2025-03-01T12:00:00-05:00"));
    book
}

/// What an account owes, what it asks next and for how long it is past due.
fn figures(book: &Book) -> (String, Vec<String>) {
    let now = reading(book);
    let rows = rows(book).iter().map(|row| row.replace(", missed", "").replace(", fees 15.00", "")).collect();
    let text = format!(
        "{} payoff {} past due {} ({} days, {} late), {} a day",
        now.status, now.payoff, now.past_due, now.days_past_due, now.late_count, now.per_diem
    );
    (text, rows)
}

#[test]
fn the_opening() {
    let mut book = paying(boarding(three_months(), &missed()), 40_803).open();
    let now = reading(&book);
    assert_eq!((now.payoff, now.days_past_due), (Cents(123_300), 14));
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 18.00 + 15.00, past due 408.03, 14 days, 1 late");
    assert_eq!(
        items(&book),
        [
            "late 15.00 left 15.00",
            "dbk_opening_loan 1200.00 left 1200.00",
            "dbk_opening_interest_1 12.00 left 12.00",
            "dbk_opening_accrued_interest 6.00 left 6.00",
        ]
    );
    assert_eq!(
        dated_events(&mut book),
        [
            "03-01 12:00:00 account_create",
            "03-01 12:00:00 line_item_create dbk_opening_loan",
            "03-01 12:00:00 line_item_create dbk_opening_interest_1",
            "03-01 12:00:00 line_item_create dbk_opening_accrued_interest",
            "03-01 12:00:00 line_item_create late",
        ]
    );
    assert_eq!(figures(&book), figures(&whole(&three_months())));
}

/// What follows is the same as in the whole history.
#[test]
fn an_opening_followed_by_payments() {
    let check = |name: &str, act: &dyn Fn(&mut Book)| {
        let mut boarded = paying(boarding(three_months(), &missed()), 40_803).open();
        let mut all = whole(&three_months());
        act(&mut boarded);
        act(&mut all);
        let expected = figures(&all);
        assert_eq!(figures(&boarded), expected, "{name}");
        assert_eq!(boarded.state.balances(), all.state.balances(), "{name}");
        daybook_engine::installment::audit::audit(&boarded.state).unwrap();
    };
    let april = "2025-04-16T12:00:00-04:00";
    check("cured", &|book| {
        pay(book, "p1", 40_803, "2025-03-05T12:00:00-05:00");
        book.roll(at("2025-03-16T12:00:00-04:00"));
    });
    check("all paid", &|book| {
        pay(book, "p1", 40_803, "2025-03-05T12:00:00-05:00");
        pay(book, "p2", 42_303, "2025-03-15T12:00:00-04:00");
        pay(book, "p3", 45_000, "2025-04-15T12:00:00-04:00");
        book.roll(at(april));
    });
    check("nothing paid", &|book| book.roll(at(april)));
    check("paid and bounced", &|book| {
        pay(book, "p1", 90_000, "2025-03-20T12:00:00-04:00");
        ask(book, "r1", "2025-03-22T12:00:00-04:00", reversal("p1")).unwrap();
        book.roll(at("2025-03-23T12:00:00-04:00"));
    });
}

/// An opening on the last due date, before its moment, and with the dates of the 31st, which return after February.
#[test]
fn dates_and_periods() {
    let dates = |boarded: &Boarded, start: &'static str| -> Vec<String> {
        let book = boarding(three_months().of(start, 120_000, 3), boarded).open();
        rows(&book).iter().map(|row| row[7..12].to_owned()).collect()
    };
    let at_28 = balances("2025-02-10T12:00:00-05:00", 80_000, "2025-02-28", 3);
    assert_eq!(dates(&at_28, "2024-10-31T12:00:00-04:00"), ["02-28", "03-31", "04-30"]);
    assert_eq!(dates(&at_28, "2024-10-15T12:00:00-04:00"), ["02-28", "03-28", "04-28"]);
    // One cycle before 28 February is 31 January: a month's interest of 800.00. From 20 January 1 month 8 days.
    let interest = |accrued_from: Option<&str>| {
        let boarded = Boarded { accrued_from: accrued_from.map(day), ..at_28.clone() };
        let book = boarding(three_months().of("2024-10-31T12:00:00-04:00", 120_000, 3), &boarded).open();
        (book.state.loan().period.start.to_string(), rows(&book)[0].clone())
    };
    // Nothing had accrued by 10 February, so 18 of 28 days are left, or 18 of 39.
    let (start, row) = interest(None);
    assert_eq!((start.as_str(), &row[..18]), ("2025-01-31", "1 2025-02-28: 5.14"));
    let (start, row) = interest(Some("2025-01-20"));
    assert_eq!((start.as_str(), &row[..18]), ("2025-01-20", "1 2025-02-28: 4.68"));
    let periodic = three_months().with(|policy| policy.interest = InterestMethod::Periodic);
    let boarded = Boarded { accrued_interest: Cents(300), ..at_28.clone() };
    let book = boarding(periodic.of("2024-10-31T12:00:00-04:00", 120_000, 3), &boarded).open();
    assert_eq!(book.state.loan().period.fixed, Some(Cents(814)), "3.00 and 18 days of 800.00");
}

/// The level payment is computed over the rows to come, carried interest included: 1,200.00 + 12.00 over two rows of a
/// month, as re-amortised on 15 February.
#[test]
fn the_level_payment_over_the_rows_to_come() {
    let boarded =
        Boarded { carried_interest: Cents(1_200), ..balances("2025-02-15T23:59:59-05:00", 120_000, "2025-03-15", 2) };
    let book = boarding(three_months(), &boarded).open();
    assert_eq!(book.terms.installment().plan.level, Cents(61_511));
    let principal = boarding(three_months().with(|policy| policy.method = Method::EqualPrincipal), &boarded).open();
    assert_eq!(principal.terms.installment().plan.level, Cents(60_000));
}

/// A past-due row that is still in grace is judged in time, with the money received since its due date. A percentage fee
/// counts the whole instalment.
#[test]
fn a_row_in_grace() {
    let check = |received, expected: Option<&str>| {
        let row = BoardedRow {
            due_date: day("2025-02-15"),
            principal: Cents(30_000),
            interest: Cents::ZERO,
            total: Cents(40_803),
        };
        let boarded = Boarded {
            past_due: vec![row],
            received_since_due: Cents(received),
            ..balances("2025-02-18T12:00:00-05:00", 110_397, "2025-03-15", 2)
        };
        let loan = three_months().with(|policy| {
            (policy.late_fee.kind, policy.late_fee.percent) = (LateFee::PercentOfPayment, Percent::parse("5").unwrap());
        });
        let mut book = paying(boarding(loan, &boarded), 40_803).open();
        book.roll(at("2025-02-21T12:00:00-05:00"));
        let fee = items(&book).into_iter().find(|line| line.starts_with("dbk_late_fee"));
        assert_eq!(fee.as_deref(), expected, "{received}");
    };
    check(10_803, Some("dbk_late_fee_1 20.40 left 20.40"));
    check(40_803, None);
}

/// The count of the opening goes on; a bounce after a cure counts the rows after the opening once.
#[test]
fn late_rows_before_and_after() {
    let boarded = Boarded { consecutive_late_fees: 3, ..missed() };
    let mut book = paying(boarding(three_months(), &boarded), 40_803).open();
    book.roll(at("2025-03-21T12:00:00-04:00"));
    assert_eq!(book.state.loan().late_count, 4);
    pay(&mut book, "p1", 90_000, "2025-03-22T12:00:00-04:00");
    assert_eq!(book.state.loan().late_count, 0);
    ask(&mut book, "r1", "2025-03-23T12:00:00-04:00", reversal("p1")).unwrap();
    assert_eq!(book.state.loan().late_count, 4);
}

/// Surplus waits for the next due moment, and pays what is past due by then. Totals begin with the figures given.
#[test]
fn surplus_and_totals() {
    let boarded = Boarded {
        surplus: Cents(50_000),
        paid_to_date: PaidToDate { principal: Cents(100), interest: Cents(20), fees: Cents(3) },
        ..missed()
    };
    let mut book = paying(boarding(three_months(), &boarded), 40_803).open();
    assert_eq!((book.state.paid_total, book.state.interest_paid_total), (Cents(123), Cents(20)));
    book.roll(at("2025-03-15T23:59:58-04:00"));
    assert_eq!(book.state.surplus, Cents(50_000));
    book.roll(at("2025-03-15T23:59:59-04:00"));
    assert_eq!(item(&book, "dbk_surplus_1").split(':').next(), Some("dbk_surplus_1 -500.00"));
    // 408.03 pay the first row; 91.97 the interest of the second, 6.00 and 6.00, and 79.97 of its principal.
    assert_eq!(standing(&book), "ACTIVE owes 724.00 + 0.00 + 15.00, past due 331.06, 1 late");
}

#[test]
fn what_an_opening_may_not_say() {
    let check = |boarded: &Boarded, change: fn(&mut Boarded), expected: &[&str]| {
        let mut boarded = boarded.clone();
        change(&mut boarded);
        let fields: Vec<&str> = match boarding(three_months(), &boarded).try_terms() {
            Ok(_) => Vec::new(),
            Err(invalid) => invalid.iter().map(|invalid| invalid.field).collect(),
        };
        assert_eq!(fields, expected, "{boarded:?}");
    };
    let right = missed();
    check(&right, |_| (), &[]);
    check(&right, |boarded| boarded.past_due[0].principal = Cents(120_001), &["opening.past_due", "opening.past_due"]);
    check(&right, |boarded| boarded.past_due[0].total = Cents(40_802), &["opening.past_due"]);
    check(&right, |boarded| boarded.past_due[0].due_date = day("2025-03-01"), &["opening.past_due"]);
    check(&right, |boarded| boarded.past_due[0].due_date = day("2025-03-15"), &["opening.next_due_date"]);
    check(&right, |boarded| boarded.next_due_date = day("2025-02-28"), &["opening.next_due_date"]);
    check(&right, |boarded| boarded.remaining_instalments = None, &["opening.remaining_installments"]);
    check(&right, |boarded| boarded.remaining_instalments = Some(0), &["opening.remaining_installments"]);
    check(&right, |boarded| boarded.accrued_from = Some(day("2025-03-02")), &["opening.accrued_from"]);
    check(&right, |boarded| boarded.as_of = at("2025-01-14T12:00:00-05:00"), &["opening.as_of"]);
    check(&right, |boarded| boarded.fees[0].due_date = Some(day("2025-02-14")), &["opening.fees"]);
    check(&right, |boarded| boarded.surplus = Cents(-1), &["opening.surplus_cents"]);
    let flat = boarding(three_months().with(|policy| policy.method = Method::Flat), &right);
    assert_eq!(flat.try_terms().unwrap_err()[0].field, "opening");
    let mut book = boarding(three_months(), &right).open();
    let early = book.submit("p1", at("2025-03-01T11:59:59-05:00"), super::support::payment(100));
    // The opening is folded, so the payment is backdated and counts from now on.
    assert_eq!(early, Err(Refusal::BeforeAccount));
}
