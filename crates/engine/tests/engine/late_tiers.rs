//! Several late fees for one instalment, and the limit on all late fees of a loan.

use super::support::{Loan, ask, at, fee, item, items, loan, pay, payment, reversal, standing};
use daybook_engine::installment::{LateFee, LateFeeTier};
use daybook_engine::item::ItemId;
use daybook_engine::money::{Cents, Percent};
use daybook_engine::status::Status;
use daybook_engine::timeline::{FeeClass, Input};
use daybook_testkit::book::Book;

fn tier(after: u32, flat: i64) -> LateFeeTier {
    LateFeeTier { after, kind: LateFee::Flat, flat: Cents(flat), percent: Percent::ZERO, least: None, most: None }
}

/// 1,200.00, 12 instalments of 106.62 from 15 February 2025; 10.00 after 5 days, 20.00 after 40.
fn tiered() -> Loan {
    loan().with(|policy| {
        policy.late_fee.grace = Default::default();
        policy.late_fee.tiers = vec![tier(5, 1_000), tier(40, 2_000)];
        policy.delinquent_after = 99_999;
    })
}

fn late_fees(book: &Book) -> Vec<String> {
    items(book).into_iter().filter(|line| line.starts_with("dbk_late_fee")).collect()
}

fn count(book: &Book) -> u32 {
    book.state.loan().late_count
}

#[test]
fn each_tier_charges_its_fee_and_counts_once() {
    let mut book = tiered().open();
    book.roll(at("2025-02-20T23:59:58-05:00"));
    assert!(late_fees(&book).is_empty());
    book.roll(at("2025-02-20T23:59:59-05:00"));
    assert_eq!((late_fees(&book), count(&book)), (vec!["dbk_late_fee_1 10.00 left 10.00".to_owned()], 1));
    book.roll(at("2025-03-27T23:59:59-04:00"));
    // 15 February + 40 days is 27 March; the second instalment was late on 20 March.
    let fees =
        ["dbk_late_fee_1 10.00 left 10.00", "dbk_late_fee_2 10.00 left 10.00", "dbk_late_fee_1.2 20.00 left 20.00"];
    assert_eq!((late_fees(&book), count(&book)), (fees.map(str::to_owned).to_vec(), 2));
    let late = book.ledger.get(&ItemId::parse("dbk_late_fee_1.2")).unwrap();
    assert_eq!(late.effective_at, at("2025-03-27T23:59:59-04:00"));
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 24.00 + 40.00, accrued 4.65, past due 223.24, 40 days, 2 late");
}

/// What is paid, or spared, by the second moment costs no second fee.
#[test]
fn a_later_tier_asks_whether_the_instalment_is_still_unpaid() {
    let check = |name: &str, act: &dyn Fn(&mut Book), expected: &[&str]| {
        let mut book = tiered().open();
        act(&mut book);
        book.roll(at("2025-03-28T12:00:00-04:00"));
        let firsts = late_fees(&book);
        assert_eq!(firsts.iter().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(), expected, "{name}");
    };
    check("unpaid", &|_| (), &["dbk_late_fee_1", "dbk_late_fee_2", "dbk_late_fee_1.2"]);
    let pay_all = |book: &mut Book| {
        pay(book, "p1", 10_662, "2025-03-01T12:00:00-05:00");
        pay(book, "p2", 10_662, "2025-03-15T12:00:00-04:00");
    };
    check("paid", &pay_all, &["dbk_late_fee_1"]);
    let bounced = |book: &mut Book| {
        pay(book, "p1", 10_662, "2025-02-15T12:00:00-05:00");
        ask(book, "r1", "2025-02-25T12:00:00-05:00", reversal("p1")).unwrap();
        pay(book, "p2", 100, "2025-02-26T12:00:00-05:00");
    };
    check("paid in time, but bounced", &bounced, &["dbk_late_fee_2", "dbk_late_fee_1.2"]);
    let stopped = |book: &mut Book| {
        ask(book, "s1", "2025-03-10T12:00:00-04:00", Input::Status(Status::parse_pair("ACTIVE/SCRA").unwrap()))
            .unwrap();
    };
    check("stopped", &stopped, &["dbk_late_fee_1"]);
    let stopped_before = |book: &mut Book| {
        ask(book, "s1", "2025-02-16T12:00:00-05:00", Input::Status(Status::parse_pair("ACTIVE/SCRA").unwrap()))
            .unwrap();
        ask(book, "s2", "2025-03-01T12:00:00-05:00", Input::Status(Status::ACTIVE)).unwrap();
    };
    check("stopped at the first", &stopped_before, &["dbk_late_fee_2", "dbk_late_fee_1.2"]);
}

/// A payment that an old fee took spares the instalment at the second moment too: fees come first here.
#[test]
fn what_is_received_by_the_second_moment_spares_the_instalment() {
    let check = |amount, expected: usize| {
        let mut book = tiered().fees_first().open();
        ask(&mut book, "f1", "2025-01-20T12:00:00-05:00", fee(5_000, FeeClass::Fee)).unwrap();
        pay(&mut book, "p1", amount, "2025-03-01T12:00:00-05:00");
        book.roll(at("2025-03-28T12:00:00-04:00"));
        assert_eq!(
            late_fees(&book).iter().filter(|line| line.starts_with("dbk_late_fee_1")).count(),
            expected,
            "{amount}"
        );
        assert!(book.state.loan().row(1).unwrap().unpaid() > Cents::ZERO);
    };
    check(10_661, 2);
    check(10_662, 1);
}

/// Both fees at one instant: the older instalment's comes first.
#[test]
fn at_one_instant_the_oldest_instalment_is_first() {
    let mut book =
        tiered().with(|policy| policy.late_fee.tiers = vec![tier(5, 1_000), tier(33, 2_000), tier(64, 3_000)]).open();
    book.roll(at("2025-04-20T23:59:59-04:00"));
    let order: Vec<String> = book.outcome().items.iter().map(|item| item.id.to_string()).collect();
    let order: Vec<&str> = order.iter().map(String::as_str).filter(|id| id.starts_with("dbk_late")).collect();
    assert_eq!(
        order,
        [
            "dbk_late_fee_1",
            "dbk_late_fee_1.2",
            "dbk_late_fee_2",
            "dbk_late_fee_2.2",
            "dbk_late_fee_1.3",
            "dbk_late_fee_3"
        ]
    );
}

/// 15.00 each: the second is cut to 5.00, the third to nothing. A waiver of 5.00 makes room for 5.00 more.
#[test]
fn all_late_fees_of_a_loan_have_a_limit() {
    let mut book = loan()
        .with(|policy| {
            policy.late_fee.loan_cap = Some(Cents(2_000));
            policy.delinquent_after = 99_999;
        })
        .open();
    book.roll(at("2025-04-21T12:00:00-04:00"));
    assert_eq!(late_fees(&book), ["dbk_late_fee_1 15.00 left 15.00", "dbk_late_fee_2 5.00 left 5.00"]);
    assert_eq!(count(&book), 3, "a fee of 0.00 counts as late");
    ask(&mut book, "w1", "2025-04-22T12:00:00-04:00", Input::Waiver { fee: ItemId::parse("dbk_late_fee_2") }).unwrap();
    book.roll(at("2025-05-21T12:00:00-04:00"));
    assert_eq!(item(&book, "dbk_late_fee_4"), "dbk_late_fee_4 5.00 left 5.00");
}

/// 5 % of what is unpaid, at least 4.00; then 10 % of the instalment, at most 8.00.
#[test]
fn each_tier_has_its_own_kind() {
    let first = LateFeeTier {
        kind: LateFee::PercentOfUnpaid,
        percent: Percent::parse("5").unwrap(),
        least: Some(Cents(400)),
        ..tier(5, 0)
    };
    let second = LateFeeTier {
        kind: LateFee::PercentOfPayment,
        percent: Percent::parse("10").unwrap(),
        most: Some(Cents(800)),
        ..tier(20, 0)
    };
    let check = |paid: i64, expected: [&str; 2]| {
        let mut book = tiered().with(|policy| policy.late_fee.tiers = vec![first, second]).open();
        if paid > 0 {
            book.submit("p1", at("2025-01-20T12:00:00-05:00"), payment(paid)).unwrap();
        }
        book.roll(at("2025-03-08T12:00:00-05:00"));
        let amounts: Vec<String> =
            late_fees(&book).iter().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
        assert_eq!(amounts, expected, "{paid}");
    };
    check(0, ["5.33", "8.00"]);
    check(5_000, ["4.00", "8.00"]);
}
