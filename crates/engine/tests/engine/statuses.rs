//! What a status stops and what it does not: late fees, interest, the count of late instalments, notices.

use super::support::{Loan, ask, at, dated_events, item, loan, pay, reading, reversal, rows, standing};
use daybook_engine::calendar::Interval;
use daybook_engine::effects::{StatusEffects, Stops};
use daybook_engine::installment::{InterestMethod, Method, Pyramiding, Surplus};
use daybook_engine::item::{Component, ItemId, ItemStatus, Name};
use daybook_engine::money::Cents;
use daybook_engine::notify::{NoticeKind, Setting, When};
use daybook_engine::status::Status;
use daybook_engine::timeline::Input;
use daybook_testkit::book::Book;

fn pair(name: &str) -> Status {
    Status::parse_pair(name).unwrap_or_else(|| panic!("{name} is a pair"))
}

fn set(book: &mut Book, when: &str, status: &str) {
    ask(book, &format!("set-{when}"), when, Input::Status(pair(status))).unwrap();
}

fn periodic() -> Loan {
    loan().with(|policy| policy.interest = InterestMethod::Periodic)
}

fn stopping(name: &str, stops: Stops) -> StatusEffects {
    let mut effects = StatusEffects::default();
    effects.set(pair(name), stops);
    effects
}

/// The instalments that were charged a late fee.
fn fees(book: &Book) -> Vec<u32> {
    (1..=12).filter(|row| book.ledger.get(&ItemId::LateFee { instalment: *row }).is_some()).collect()
}

/// Late fees, interest, delinquency, notices: `x` stops.
fn table(stops: Stops) -> String {
    let marks = [stops.late_fees, stops.interest, stops.delinquency, stops.notices];
    marks.map(|stopped| if stopped { 'x' } else { '-' }).iter().collect()
}

#[test]
fn the_defaults_of_every_pair() {
    let told: Vec<String> =
        Status::all().map(|status| format!("{status} {}", table(StatusEffects::default_of(status)))).collect();
    let open = [
        "ACTIVE ----",
        "ACTIVE/HARDSHIP x-x-",
        "ACTIVE/EXEMPTIONS ----",
        "ACTIVE/HARDSHIP/EXEMPTIONS ----",
        "ACTIVE/SCRA x---",
        "SUSPENDED/DELINQUENT ----",
        "SUSPENDED/BANKRUPTCY x-xx",
        "SUSPENDED/FRAUD xxxx",
        "SUSPENDED/INACTIVITY ----",
        "SUSPENDED/RISK_REVIEW ----",
        "SUSPENDED/DECEASED x-xx",
        "SUSPENDED/HARDSHIP x-x-",
    ];
    assert_eq!(told[..open.len()], open);
    assert!(told[open.len()..].iter().all(|line| line.starts_with("CLOSED/") && line.ends_with(" --xx")));
}

/// A borrower in bankruptcy is charged no late fee, and fees are not made up for: of rows 1 to 4, all missed, only
/// those are late whose grace ends after the bankruptcy is over on 1 April.
#[test]
fn bankruptcy_stops_late_fees_and_the_count() {
    let mut book = periodic().with(|policy| policy.delinquent_after = 2).open();
    set(&mut book, "2025-02-01T12:00:00-05:00", "SUSPENDED/BANKRUPTCY");
    book.events.clear();
    book.roll(at("2025-03-21T12:00:00-04:00"));
    assert_eq!(
        dated_events(&mut book),
        [
            "02-15 23:59:59 line_item_create dbk_interest_1",
            "02-15 23:59:59 due_date_passed 1 unpaid",
            "02-15 23:59:59 payment_missed 1",
            "03-15 23:59:59 line_item_create dbk_interest_2",
            "03-15 23:59:59 due_date_passed 2 unpaid",
            "03-15 23:59:59 payment_missed 2",
        ]
    );
    let owes = "owes 1200.00 + 24.00 + 0.00, accrued 12.00, past due 213.24, 34 days";
    assert_eq!(standing(&book), format!("SUSPENDED/BANKRUPTCY {owes}"));
    set(&mut book, "2025-04-01T12:00:00-04:00", "ACTIVE");
    book.roll(at("2025-04-21T12:00:00-04:00"));
    assert_eq!((fees(&book), book.state.status, book.state.loan().late_count), (vec![3], Status::ACTIVE, 1));
    book.roll(at("2025-05-21T12:00:00-04:00"));
    assert_eq!((fees(&book), book.state.status), (vec![3, 4], Status::DELINQUENT));
}

/// Each pair that stops late fees; the others charge them.
#[test]
fn late_fees_by_status() {
    for status in Status::all().filter(|status| !status.is_closed()) {
        let mut book = periodic().open();
        ask(&mut book, "s", "2025-02-01T12:00:00-05:00", Input::Status(status)).unwrap();
        book.roll(at("2025-02-21T12:00:00-05:00"));
        let stops = StatusEffects::default_of(status);
        assert_eq!(fees(&book).is_empty(), stops.late_fees, "{status}");
        let counted = u32::from(!stops.late_fees && !stops.delinquency);
        assert_eq!(book.state.loan().late_count, counted, "{status}");
    }
}

/// Late fees continue, but late instalments do not count: the fees are charged, the account stays.
#[test]
fn only_the_count_is_stopped() {
    let mut terms = periodic();
    terms.status_effects = stopping("ACTIVE", Stops { delinquency: true, ..Stops::default() });
    let mut book = terms.open();
    book.roll(at("2025-03-21T12:00:00-04:00"));
    assert_eq!((fees(&book), book.state.status, book.state.loan().late_count), (vec![1, 2], Status::ACTIVE, 0));
}

/// `DAILY`: 1200.00 earns 12.00 in each period. Fraud from 1 February (17 of 31 days passed: 6.5806) to 1 March:
/// no interest for those dates, then 14 of 28 days of the second period. Row 1 has 6.58 of interest, row 2 6.00.
#[test]
fn fraud_stops_daily_interest() {
    let mut book = loan().open();
    set(&mut book, "2025-02-01T12:00:00-05:00", "SUSPENDED/FRAUD");
    book.roll(at("2025-02-15T23:59:59-05:00"));
    assert_eq!(item(&book, "dbk_interest_1"), "dbk_interest_1 6.58 left 6.58");
    assert_eq!((reading(&book).per_diem, reading(&book).accrued), (Cents::ZERO, Cents::ZERO));
    // While it lasts, later rows have no interest: all of their 106.62 is principal.
    assert_eq!(rows(&book)[1], "2 2025-03-15: 0.00 + 106.62, end 993.34");
    set(&mut book, "2025-03-01T12:00:00-05:00", "ACTIVE");
    // 12.00 / 28 = 0.4286 a day.
    assert_eq!(reading(&book).per_diem, Cents(43));
    book.roll(at("2025-03-16T12:00:00-04:00"));
    assert_eq!(item(&book, "dbk_interest_2"), "dbk_interest_2 6.00 left 6.00");
}

/// `PERIODIC`: the open period's interest is computed again when the status begins and when it ends: the same 6.58 and
/// 6.00.
#[test]
fn fraud_stops_interest_that_was_fixed() {
    let mut book = periodic().open();
    assert_eq!(reading(&book).accrued, Cents(1_200));
    set(&mut book, "2025-02-01T12:00:00-05:00", "SUSPENDED/FRAUD");
    assert_eq!(reading(&book).accrued, Cents(658));
    book.roll(at("2025-02-20T12:00:00-05:00"));
    assert_eq!(
        (reading(&book).accrued, item(&book, "dbk_interest_1")),
        (Cents::ZERO, "dbk_interest_1 6.58 left 6.58".into())
    );
    set(&mut book, "2025-03-01T12:00:00-05:00", "ACTIVE");
    assert_eq!(reading(&book).accrued, Cents(600));
    book.roll(at("2025-03-16T12:00:00-04:00"));
    assert_eq!(item(&book, "dbk_interest_2"), "dbk_interest_2 6.00 left 6.00");
    // The third period is whole: 1200.00 x 0.01.
    assert_eq!(reading(&book).accrued, Cents(1_200));
}

/// The paid interest of a period stays paid: 12.00 on 20 January, then fraud from 25 January. No more is earned.
#[test]
fn interest_that_was_paid_stays_paid() {
    let mut book = periodic().open();
    pay(&mut book, "p", 1_200, "2025-01-20T12:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -12.00: 12.00 dbk_interest_1.1");
    set(&mut book, "2025-01-25T12:00:00-05:00", "SUSPENDED/FRAUD");
    assert_eq!(reading(&book).accrued, Cents::ZERO);
    book.roll(at("2025-02-16T12:00:00-05:00"));
    assert_eq!(rows(&book)[0], "1 2025-02-15: 12.00 + 94.62, end 1105.38, paid 12.00, missed");
}

/// A status set and removed on the same day stops nothing; a flat loan has no rate to stop.
#[test]
fn what_stops_no_interest() {
    for method in [InterestMethod::Daily, InterestMethod::Periodic] {
        let mut book = loan().with(|policy| policy.interest = method).open();
        set(&mut book, "2025-02-01T09:00:00-05:00", "SUSPENDED/FRAUD");
        set(&mut book, "2025-02-01T18:00:00-05:00", "ACTIVE");
        book.roll(at("2025-02-16T12:00:00-05:00"));
        assert_eq!(item(&book, "dbk_interest_1"), "dbk_interest_1 12.00 left 12.00");
    }
    let mut flat = loan().with(|policy| policy.method = Method::Flat).open();
    set(&mut flat, "2025-01-20T09:00:00-05:00", "SUSPENDED/FRAUD");
    flat.roll(at("2025-02-16T12:00:00-05:00"));
    assert_eq!(item(&flat, "dbk_interest_1"), "dbk_interest_1 12.00 left 12.00");
}

/// The payoff is paid while interest is stopped: when the status ends, the paid loan earns nothing for the rest of its
/// period, and closes.
#[test]
fn paid_off_while_interest_is_stopped() {
    for method in [InterestMethod::Daily, InterestMethod::Periodic] {
        let mut book = loan().with(|policy| policy.interest = method).open();
        set(&mut book, "2025-02-01T12:00:00-05:00", "SUSPENDED/FRAUD");
        pay(&mut book, "p", 120_658, "2025-02-05T12:00:00-05:00");
        assert_eq!(standing(&book), "SUSPENDED/FRAUD owes 0.00 + 0.00 + 0.00", "{method:?}");
        set(&mut book, "2025-02-08T12:00:00-05:00", "ACTIVE");
        assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00", "{method:?}");
    }
}

/// An account that closes while its interest is stopped owes the interest it had earned before.
#[test]
fn closing_while_interest_is_stopped() {
    for method in [InterestMethod::Daily, InterestMethod::Periodic] {
        let mut book = loan().with(|policy| policy.interest = method).open();
        set(&mut book, "2025-02-01T12:00:00-05:00", "SUSPENDED/FRAUD");
        set(&mut book, "2025-02-10T12:00:00-05:00", "CLOSED/FRAUD");
        assert_eq!(standing(&book), "CLOSED/FRAUD owes 1200.00 + 6.58 + 0.00", "{method:?}");
    }
}

/// Interest stays stopped while the account is closed, and resumes from the date it reopens unless its status then
/// stops interest too. 12.00 for 31 days: 17 before FRAUD are 6.58, and with 5 more from 10 to 15 February 8.52.
#[test]
fn opened_again_after_interest_was_stopped() {
    for (status, interest) in [("ACTIVE", 852), ("SUSPENDED/RISK_REVIEW", 852), ("SUSPENDED/FRAUD", 658)] {
        for method in [InterestMethod::Daily, InterestMethod::Periodic] {
            let mut book = loan().with(|policy| policy.interest = method).open();
            set(&mut book, "2025-02-01T12:00:00-05:00", "SUSPENDED/FRAUD");
            set(&mut book, "2025-02-05T12:00:00-05:00", "CLOSED/CUSTOMER_REQUEST");
            set(&mut book, "2025-02-10T12:00:00-05:00", status);
            book.roll(at("2025-02-15T23:59:59-05:00"));
            assert_eq!(book.state.balances().interest, Cents(interest), "{method:?}, {status}");
        }
    }
}

/// Dates without interest stay so when the level payment is recalculated in their period. The instalments that p1
/// lowered were rewritten since, and row 2 is paid in full. Over rows 2 to 12, with 14 of 28 days of row 2 stopped, the
/// unpaid 802.56 less the 94.62 of row 1 are spread: 707.94 x 1.005 x 0.01 / (1 - 1.01^-10) = 75.12.
#[test]
fn the_level_payment_leaves_out_stopped_dates() {
    let mut book = periodic().with(|policy| policy.surplus = Surplus::ReducePrincipal).open();
    pay(&mut book, "p1", 50_000, "2025-01-20T12:00:00-05:00");
    pay(&mut book, "p2", 20_000, "2025-02-10T12:00:00-05:00");
    set(&mut book, "2025-02-16T12:00:00-05:00", "SUSPENDED/FRAUD");
    set(&mut book, "2025-03-02T12:00:00-05:00", "ACTIVE");
    pay(&mut book, "p3", 20_000, "2025-03-03T12:00:00-05:00");
    ask(&mut book, "r", "2025-03-05T12:00:00-05:00", reversal("p1")).unwrap();
    assert_eq!(book.state.balances().principal, Cents(80_256));
    assert_eq!(book.state.loan().plan.amount(3), Cents(7_512));
}

/// Configurable notices stop with the status and resume after it; stopped notices are not sent later. `due_date_passed`
/// and `payment_missed` are always sent.
#[test]
fn notices_by_status() {
    let mut told = loan().open();
    let before_due = Setting { kind: NoticeKind::PaymentDueDate, when: When::Offset(-3), time: None, enabled: true };
    ask(&mut told, "n", "2025-01-16T12:00:00-05:00", Input::Notify(before_due)).unwrap();
    set(&mut told, "2025-02-01T12:00:00-05:00", "SUSPENDED/DECEASED");
    set(&mut told, "2025-03-01T12:00:00-05:00", "SUSPENDED/HARDSHIP");
    told.roll(at("2025-03-14T12:00:00-04:00"));
    let names: Vec<String> = dated_events(&mut told);
    let notices: Vec<&String> = names.iter().filter(|line| line.contains("payment_due_date")).collect();
    assert_eq!(notices, ["03-12 23:59:59 payment_due_date 2"]);
    assert!(names.contains(&"02-15 23:59:59 due_date_passed 1 unpaid".to_owned()));
    assert!(names.contains(&"02-15 23:59:59 payment_missed 1".to_owned()));
}

/// Three late, cured, bounced: the three are unpaid again, so they are late again. No fee is charged a second time.
#[test]
fn a_bounce_after_a_cure() {
    let mut book = periodic().with(|policy| policy.delinquent_after = 3).open();
    book.roll(at("2025-04-21T12:00:00-04:00"));
    assert_eq!((book.state.status, book.state.loan().late_count), (Status::DELINQUENT, 3));
    pay(&mut book, "p", 45_000, "2025-04-22T12:00:00-04:00");
    assert_eq!((book.state.status, reading(&book).days_past_due, reading(&book).late_count), (Status::ACTIVE, 0, 0));
    let charged = fees(&book);
    book.events.clear();
    ask(&mut book, "r", "2025-04-25T12:00:00-04:00", reversal("p")).unwrap();
    let last = dated_events(&mut book).pop();
    assert_eq!(last.as_deref(), Some("04-25 12:00:00 account_status_change ACTIVE>SUSPENDED/DELINQUENT"));
    assert_eq!((book.state.status, reading(&book).late_count), (Status::DELINQUENT, 3));
    assert_eq!(fees(&book), charged);
    assert_eq!(reading(&book).past_due - reading(&book).past_due_fees, Cents(3 * 10_662));
}

/// A bounce can charge an account off, and can affect an account that was paid off.
#[test]
fn a_bounce_charges_off_and_reopens() {
    let terms = periodic().with(|policy| {
        (policy.delinquent_after, policy.charge_off_after) = (2, 3);
        policy.late_fee.pyramiding = Pyramiding::FeesOnly;
    });
    let mut book = terms.open();
    book.roll(at("2025-03-21T12:00:00-04:00"));
    pay(&mut book, "p", 30_000, "2025-03-22T12:00:00-04:00");
    assert_eq!(book.state.status, Status::ACTIVE);
    book.roll(at("2025-04-21T12:00:00-04:00"));
    // Row 3 is late on its own: 300.00 less the 213.24 of rows 1 and 2. With those unpaid again there are three.
    assert_eq!((book.state.status, reading(&book).late_count), (Status::ACTIVE, 1));
    ask(&mut book, "r", "2025-04-25T12:00:00-04:00", reversal("p")).unwrap();
    assert_eq!(book.state.status, Status::CHARGED_OFF);

    let mut book = periodic().with(|policy| policy.delinquent_after = 2).open();
    book.roll(at("2025-03-21T12:00:00-04:00"));
    pay(&mut book, "p", 130_000, "2025-03-22T12:00:00-04:00");
    assert!(book.state.status.closed_by_itself());
    ask(&mut book, "r", "2025-03-25T12:00:00-04:00", reversal("p")).unwrap();
    assert_eq!((book.state.status, reading(&book).late_count), (Status::DELINQUENT, 2));
}

/// A row for which a status stopped the count does not count after a bounce either.
#[test]
fn a_bounce_does_not_count_what_was_stopped() {
    let mut book = periodic().open();
    set(&mut book, "2025-02-01T12:00:00-05:00", "SUSPENDED/BANKRUPTCY");
    set(&mut book, "2025-02-25T12:00:00-05:00", "ACTIVE");
    pay(&mut book, "p", 30_000, "2025-02-26T12:00:00-05:00");
    ask(&mut book, "r", "2025-02-27T12:00:00-05:00", reversal("p")).unwrap();
    assert_eq!((book.state.status, reading(&book).late_count), (Status::ACTIVE, 0));
    assert_eq!(reading(&book).days_past_due, 12);
}

/// Neither does a row that was paid while a status stopped late fees or the count, and bounces when the status has
/// ended: if it had never been paid, it would not have counted either.
#[test]
fn a_bounce_of_what_was_paid_while_the_count_was_stopped() {
    for (status, late) in [("ACTIVE/HARDSHIP", 0), ("ACTIVE/SCRA", 0), ("ACTIVE/EXEMPTIONS", 1)] {
        let mut book = periodic().with(|policy| policy.delinquent_after = 2).open();
        set(&mut book, "2025-02-01T12:00:00-05:00", status);
        pay(&mut book, "p", 10_662, "2025-02-10T12:00:00-05:00");
        set(&mut book, "2025-02-25T12:00:00-05:00", "ACTIVE");
        ask(&mut book, "r", "2025-02-27T12:00:00-05:00", reversal("p")).unwrap();
        assert_eq!((reading(&book).days_past_due, reading(&book).late_count), (12, late), "{status}");
    }
}

/// A bounce that makes no row unpaid whose grace has ended changes neither the count nor the status that a person set:
/// rows 1 and 2 are late, the account is set back by hand, and a payment of a fee bounces. The count does not fall
/// either: row 1 was paid late without a cure.
#[test]
fn a_bounce_that_makes_no_row_unpaid() {
    for pending in [false, true] {
        let mut book = periodic().with(|policy| policy.late_fee.pyramiding = Pyramiding::FeesOnly).open();
        book.roll(at("2025-03-21T12:00:00-04:00"));
        pay(&mut book, "p1", 10_662, "2025-03-22T12:00:00-04:00");
        assert_eq!((book.state.status, reading(&book).late_count), (Status::DELINQUENT, 2));
        set(&mut book, "2025-03-23T12:00:00-04:00", "ACTIVE/EXEMPTIONS");
        let status = if pending { ItemStatus::Pending } else { ItemStatus::Valid };
        let amount = Cents(1_500);
        let of_the_fee = Input::Payment { amount, status, allocation: Some(Component::Fee) };
        ask(&mut book, "p2", "2025-03-24T12:00:00-04:00", of_the_fee).unwrap();
        let payment = Name::from("p2");
        let undone = if pending { Input::PaymentStatus { payment, valid: false } } else { reversal("p2") };
        ask(&mut book, "r", "2025-03-25T12:00:00-04:00", undone).unwrap();
        let stands = (book.state.status, reading(&book).late_count);
        assert_eq!(stands, (pair("ACTIVE/EXEMPTIONS"), 2), "pending: {pending}");
    }
}

/// A cure returns to the last active pair.
#[test]
fn curing_returns_to_the_pair_that_was_left() {
    let mut book = periodic().open();
    set(&mut book, "2025-02-01T12:00:00-05:00", "ACTIVE/EXEMPTIONS");
    book.roll(at("2025-02-21T12:00:00-05:00"));
    assert_eq!(book.state.status, Status::DELINQUENT);
    pay(&mut book, "p", 20_000, "2025-02-22T12:00:00-05:00");
    assert_eq!(book.state.status, pair("ACTIVE/EXEMPTIONS"));
}

/// A delinquent account keeps the stops on late fees and interest of its last active pair.
#[test]
fn delinquent_keeps_what_the_pair_it_left_stopped() {
    let mut terms = loan();
    terms.status_effects = stopping("ACTIVE/SCRA", Stops { late_fees: true, interest: true, ..Stops::default() });
    let mut book = terms.open();
    set(&mut book, "2025-02-15T12:00:00-05:00", "ACTIVE/SCRA");
    // Set by a person: `ACTIVE/SCRA` counts no row as late, so the account never becomes delinquent automatically.
    set(&mut book, "2025-02-25T12:00:00-05:00", "SUSPENDED/DELINQUENT");
    book.roll(at("2025-03-21T12:00:00-04:00"));
    assert_eq!(fees(&book), [0; 0]);
    assert_eq!(book.state.balances().interest, Cents(1_200), "the first period's alone");
    pay(&mut book, "p", 30_000, "2025-03-22T12:00:00-04:00");
    assert_eq!(book.state.status, pair("ACTIVE/SCRA"));
}

/// A late fee of 15.00 is past due once its period has ended, whether or not its row is paid; it makes nothing late.
#[test]
fn fees_past_due() {
    let mut book = periodic().open();
    book.roll(at("2025-02-21T12:00:00-05:00"));
    assert_eq!((reading(&book).past_due, reading(&book).past_due_fees), (Cents(10_662), Cents::ZERO));
    use daybook_engine::item::Component;
    super::support::pay_for(&mut book, "p", 10_662, Component::Principal, "2025-02-22T12:00:00-05:00");
    book.roll(at("2025-03-17T12:00:00-04:00"));
    let now = reading(&book);
    assert_eq!(now.past_due_fees, Cents(1_500));
    assert_eq!(
        now.past_due,
        Cents(1_500) + book.state.loan().rows.iter().take_while(|row| row.posted).map(|row| row.unpaid()).sum()
    );
}

/// 1,200.00 in two rows of 14 days (level 604.20); row 1 was paid, row 2 not. When the payment bounces, two rows in a
/// row are late: the account is delinquent, and here that stops interest. Of the 2.81 fixed for 7 to 21 April, the 13
/// days up to the 20th stay: 2.61. The same amount recorded again pays row 1, but row 2 keeps the account delinquent.
#[test]
fn a_bounce_that_makes_delinquent_stops_interest() {
    let mut terms = periodic().of("2019-01-27T00:00:00-05:00", 120_000, 2).with(|policy| {
        (policy.cycle, policy.delinquent_after) = (Interval::days(14), 2);
        (policy.late_fee.flat, policy.late_fee.grace) = (Cents::ZERO, Interval::ZERO);
    });
    terms.status_effects = stopping("SUSPENDED/DELINQUENT", Stops { interest: true, ..Stops::default() });
    let mut book = terms.open();
    pay(&mut book, "p", 60_420, "2019-02-10T12:00:00-05:00");
    book.roll(at("2019-04-20T11:00:00-04:00"));
    let owes = "owes 601.40 + 11.24 + 0.00, accrued";
    assert_eq!(standing(&book), format!("ACTIVE {owes} 2.81, past due 612.64, 55 days, 1 late"));
    ask(&mut book, "r", "2019-04-20T11:00:00-04:00", reversal("p")).unwrap();
    pay(&mut book, "again", 60_420, "2019-04-20T11:00:00-04:00");
    assert_eq!(standing(&book), format!("SUSPENDED/DELINQUENT {owes} 2.61, past due 612.64, 55 days, 2 late"));
}
