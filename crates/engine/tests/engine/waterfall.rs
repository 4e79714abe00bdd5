//! The waterfall: the order of the buckets, and where each cent goes among items and rows.

use super::support::{Loan, ask, at, fee, fees_first, item, loan, pay, pay_for, rows, standing};
use daybook_engine::calendar::Interval;
use daybook_engine::installment::schedule::schedule;
use daybook_engine::installment::{Bucket, InterestMethod, Span};
use daybook_engine::item::Component;
use daybook_engine::money::Cents;
use daybook_engine::timeline::FeeClass;
use daybook_testkit::book::Book;

const NOON: &str = "2025-02-20T12:00:00-05:00";

fn buckets(names: &[&str]) -> Vec<Bucket> {
    names.iter().map(|name| Bucket::parse(name).unwrap()).collect()
}

/// The loan of [`loan`] with interest by the period (12.00 a month on 1200.00) and no late fee.
fn plain() -> Loan {
    loan().with(|policy| {
        policy.interest = InterestMethod::Periodic;
        policy.late_fee.grace = Interval::days(300);
    })
}

/// An account with an amount in every bucket that can hold one, at noon on 2025-02-20:
///
/// | | fee | penalty | interest | principal |
/// |---|---|---|---|---|
/// | past due, row 1 | f1 5.00 | n1 7.00 | 12.00 | 94.62 |
/// | due, row 2 | f2 3.00 | n2 4.00 | 12.00 | 94.62 |
/// | in advance, row 3 | | | | 106.62 |
fn laden(order: Vec<Bucket>, span: Span) -> Book {
    let terms = plain().with(|policy| (policy.order, policy.span) = (order, span));
    let mut book = terms.open();
    ask(&mut book, "f1", "2025-02-01T12:00:00-05:00", fee(500, FeeClass::Fee)).unwrap();
    ask(&mut book, "n1", "2025-02-01T12:00:00-05:00", fee(700, FeeClass::Penalty)).unwrap();
    ask(&mut book, "n2", "2025-02-18T12:00:00-05:00", fee(400, FeeClass::Penalty)).unwrap();
    ask(&mut book, "f2", "2025-02-18T13:00:00-05:00", fee(300, FeeClass::Fee)).unwrap();
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 12.00 + 19.00, accrued 12.00, past due 118.62, 3 days");
    book
}

/// The paid part of the first three rows, without fees.
fn paid(book: &Book) -> [i64; 3] {
    let rows = schedule(&book.terms, &book.state, book.clock).unwrap();
    [rows[0].paid.0, rows[1].paid.0, rows[2].paid.0]
}

/// Pays an amount at noon and compares its splits and the paid part of the first rows.
fn check(order: Vec<Bucket>, span: Span, amount: i64, splits: &str, rows: [i64; 3]) {
    let mut book = laden(order.clone(), span);
    pay(&mut book, "p", amount, NOON);
    assert_eq!(item(&book, "p"), format!("p {}: {splits}", Cents(-amount)), "{order:?}");
    assert_eq!(paid(&book), rows, "{order:?}");
}

/// The bucket named first takes the 2.00. Payments in advance follow the surplus rule: an order that names only those
/// falls back to the default order, which begins with past-due interest.
#[test]
fn each_bucket_can_come_first() {
    for (bucket, split, rows) in [
        ("PAST_DUE_FEE", "2.00 f1", [0, 0, 0]),
        ("PAST_DUE_PENALTY", "2.00 n1", [0, 0, 0]),
        ("PAST_DUE_INTEREST", "2.00 dbk_interest_1", [200, 0, 0]),
        ("PAST_DUE_PRINCIPAL", "2.00 dbk_loan", [200, 0, 0]),
        ("DUE_FEE", "2.00 f2", [0, 0, 0]),
        ("DUE_PENALTY", "2.00 n2", [0, 0, 0]),
        ("DUE_INTEREST", "2.00 dbk_interest_2.1", [0, 200, 0]),
        ("DUE_PRINCIPAL", "2.00 dbk_loan", [0, 200, 0]),
        ("IN_ADVANCE_FEE", "2.00 dbk_interest_1", [200, 0, 0]),
        ("IN_ADVANCE_PENALTY", "2.00 dbk_interest_1", [200, 0, 0]),
        ("IN_ADVANCE_INTEREST", "2.00 dbk_interest_1", [200, 0, 0]),
        ("IN_ADVANCE_PRINCIPAL", "2.00 dbk_interest_1", [200, 0, 0]),
    ] {
        check(buckets(&[bucket]), Span::BucketFirst, 200, split, rows);
    }
}

/// Row 1, row 2, then the fees past due and due: 12 + 94.62 + 12 + 94.62 + 5 + 7 + 3 + 4 = 232.24 is due; 1.00 more
/// goes to the end of the loan. A row's amount, 106.62, pays that row though fees are older.
#[test]
fn by_default_instalments_come_first() {
    let policy = plain().policy;
    assert_eq!((policy.order.as_slice(), policy.span), (&Bucket::DEFAULT_ORDER[..], Span::InstalmentsFirst));
    let splits = "12.00 dbk_interest_1, 94.62 dbk_loan, 12.00 dbk_interest_2.1, 94.62 dbk_loan, \
                  5.00 f1, 7.00 n1, 3.00 f2, 4.00 n2, 1.00 dbk_loan";
    let order = Bucket::DEFAULT_ORDER.to_vec();
    check(order.clone(), Span::InstalmentsFirst, 23_324, splits, [10_662, 10_662, 0]);
    check(order, Span::InstalmentsFirst, 10_662, "12.00 dbk_interest_1, 94.62 dbk_loan", [10_662, 0, 0]);
}

/// With instalments first an order ranks interest against principal inside a row, and the fee buckets among themselves;
/// it does not move a fee or a younger row ahead.
#[test]
fn instalments_first_in_an_order_of_its_own() {
    let order =
        buckets(&["DUE_PENALTY", "PAST_DUE_FEE", "DUE_INTEREST", "PAST_DUE_PRINCIPAL", "DUE_PRINCIPAL", "DUE_FEE"]);
    let splits = "94.62 dbk_loan, 12.00 dbk_interest_1, 12.00 dbk_interest_2.1, 94.62 dbk_loan, \
                  4.00 n2, 5.00 f1, 3.00 f2, 7.00 n1, 1.00 dbk_loan";
    check(order, Span::InstalmentsFirst, 23_324, splits, [10_662, 10_662, 0]);
}

/// 5 + 7 + 3 + 4 + 12 + 12 + 94.62 + 94.62 = 232.24 is due; 1.00 more goes to the end of the loan.
#[test]
fn one_bucket_after_the_other() {
    let splits = "5.00 f1, 7.00 n1, 3.00 f2, 4.00 n2, 12.00 dbk_interest_1, 12.00 dbk_interest_2.1, \
                  94.62 dbk_loan, 94.62 dbk_loan, 1.00 dbk_loan";
    check(fees_first(), Span::BucketFirst, 23_324, splits, [10_662, 10_662, 0]);
}

/// 12.50 - 5.00 - 7.00 leaves 0.50 for f2; 100.00 - 19.00 of fees - 24.00 of interest leaves 57.00 of principal.
#[test]
fn money_that_ends_inside_a_bucket() {
    let order = fees_first();
    check(order.clone(), Span::BucketFirst, 1_250, "5.00 f1, 7.00 n1, 0.50 f2", [0, 0, 0]);
    let splits = "5.00 f1, 7.00 n1, 3.00 f2, 4.00 n2, 12.00 dbk_interest_1, 12.00 dbk_interest_2.1, 57.00 dbk_loan";
    check(order, Span::BucketFirst, 10_000, splits, [6_900, 1_200, 0]);
}

/// Buckets that an order does not name follow in the default order, before any surplus.
#[test]
fn an_order_that_names_two_buckets() {
    let splits = "94.62 dbk_loan, 4.00 n2, 12.00 dbk_interest_1, 94.62 dbk_loan, 12.00 dbk_interest_2.1, \
                  5.00 f1, 7.00 n1, 3.00 f2, 1.00 dbk_loan";
    let order = buckets(&["DUE_PRINCIPAL", "DUE_PENALTY"]);
    check(order.clone(), Span::BucketFirst, 23_324, splits, [10_662, 10_662, 0]);
    check(order, Span::BucketFirst, 9_562, "94.62 dbk_loan, 1.00 n2", [0, 9_462, 0]);
}

/// All of row 1 in its order, then all of row 2, then the end of the loan.
#[test]
fn the_oldest_instalment_first() {
    let splits = "5.00 f1, 7.00 n1, 12.00 dbk_interest_1, 94.62 dbk_loan, \
                  3.00 f2, 4.00 n2, 12.00 dbk_interest_2.1, 94.62 dbk_loan, 1.00 dbk_loan";
    let order = fees_first();
    check(order.clone(), Span::OldestInstalmentFirst, 23_324, splits, [10_662, 10_662, 0]);
    let splits = "5.00 f1, 7.00 n1, 12.00 dbk_interest_1, 94.62 dbk_loan, 1.38 f2";
    check(order, Span::OldestInstalmentFirst, 12_000, splits, [10_662, 0, 0]);
}

/// Inside each instalment principal is first; buckets not named follow.
#[test]
fn the_oldest_instalment_first_in_an_order_of_its_own() {
    let splits = "94.62 dbk_loan, 12.00 dbk_interest_1, 5.00 f1, 7.00 n1, \
                  94.62 dbk_loan, 12.00 dbk_interest_2.1, 3.00 f2, 4.00 n2, 1.00 dbk_loan";
    let order = buckets(&["DUE_PRINCIPAL", "PAST_DUE_PRINCIPAL", "PAST_DUE_INTEREST"]);
    check(order, Span::OldestInstalmentFirst, 23_324, splits, [10_662, 10_662, 0]);
}

/// Named or not, payments in advance wait until nothing is due; the 1.00 then follows the surplus rule, here to the end
/// of the loan and not to row 3.
#[test]
fn what_lies_ahead_waits() {
    let splits = "12.00 dbk_interest_1, 94.62 dbk_loan, 5.00 f1, 7.00 n1, \
                  12.00 dbk_interest_2.1, 94.62 dbk_loan, 3.00 f2, 4.00 n2, 1.00 dbk_loan";
    let order = buckets(&["IN_ADVANCE_PRINCIPAL"]);
    check(order, Span::OldestInstalmentFirst, 23_324, splits, [10_662, 10_662, 0]);
}

/// On 2025-03-20 rows 1 and 2 are past due and row 3 is due; each period earned 12.00 on the unpaid 1200.00.
/// By the bucket 140.00 is 3 x 12.00, then 94.62 of row 1 and 9.38 of row 2; by the instalment it is
/// 12.00 + 94.62 of row 1, then 12.00 + 21.38 of row 2.
#[test]
fn two_instalments_past_due() {
    let bucket = "p -140.00: 12.00 dbk_interest_1, 12.00 dbk_interest_2, 12.00 dbk_interest_3.1, \
                  94.62 dbk_loan, 9.38 dbk_loan";
    let oldest = "p -140.00: 12.00 dbk_interest_1, 94.62 dbk_loan, 12.00 dbk_interest_2, 21.38 dbk_loan";
    let left = "owes 1084.00 + 0.00 + 0.00, accrued 12.00, past due 73.24, 5 days";
    for (span, splits, rows, left) in [
        (Span::BucketFirst, bucket, [10_662, 2_138, 1_200], "owes 1096.00 + 0.00 + 0.00, past due 85.24, 5 days"),
        (Span::OldestInstalmentFirst, oldest, [10_662, 3_338, 0], left),
        (Span::InstalmentsFirst, oldest, [10_662, 3_338, 0], left),
    ] {
        let mut book = plain().with(|policy| (policy.order, policy.span) = (fees_first(), span)).open();
        pay(&mut book, "p", 14_000, "2025-03-20T12:00:00-04:00");
        assert_eq!(item(&book, "p"), splits);
        assert_eq!(paid(&book), rows);
        assert_eq!(standing(&book), format!("ACTIVE {left}"));
    }
}

/// Past due of the component, due of it, the rest of it, then the order.
#[test]
fn a_payment_may_name_what_it_is_for() {
    for (component, amount, splits, rows) in [
        (Component::Principal, 20_000, "94.62 dbk_loan, 94.62 dbk_loan, 10.76 dbk_loan", [9_462, 9_462, 0]),
        (Component::Principal, 10_000, "94.62 dbk_loan, 5.38 dbk_loan", [9_462, 538, 0]),
        (
            Component::Interest,
            5_000,
            "12.00 dbk_interest_1, 12.00 dbk_interest_2.1, 5.00 f1, 7.00 n1, 3.00 f2, 4.00 n2, 7.00 dbk_loan",
            [1_900, 1_200, 0],
        ),
        (Component::Fee, 3_000, "5.00 f1, 7.00 n1, 3.00 f2, 4.00 n2, 11.00 dbk_interest_1", [1_100, 0, 0]),
    ] {
        let mut book = laden(fees_first(), Span::BucketFirst);
        pay_for(&mut book, "p", amount, component, NOON);
        assert_eq!(item(&book, "p"), format!("p {}: {splits}", Cents(-amount)));
        assert_eq!(paid(&book), rows, "{component:?}");
    }
}

/// Principal for all 1200.00 and 25.00 more: first 94.62 past due, 94.62 due and 1010.76 from the end; then 19.00 of
/// fees and 6.00 of interest by the order.
#[test]
fn more_than_all_of_what_is_named() {
    let mut book = laden(fees_first(), Span::BucketFirst);
    pay_for(&mut book, "p", 122_500, Component::Principal, NOON);
    let splits = "94.62 dbk_loan, 94.62 dbk_loan, 1010.76 dbk_loan, \
                  5.00 f1, 7.00 n1, 3.00 f2, 4.00 n2, 6.00 dbk_interest_1";
    assert_eq!(item(&book, "p"), format!("p -1225.00: {splits}"));
    assert_eq!(standing(&book), "ACTIVE owes 0.00 + 6.00 + 0.00, accrued 12.00, past due 6.00, 5 days");
}

/// Late fees and fees for bounced payments are penalties: of three fees in one period, the plain one is paid first,
/// though it was charged last.
#[test]
fn late_and_return_check_fees_are_penalties() {
    let mut terms = loan().fees_first();
    terms.reversal_fee = 900;
    let mut book = terms.open();
    pay(&mut book, "bad", 100, "2025-02-18T12:00:00-05:00");
    ask(&mut book, "r", "2025-02-19T12:00:00-05:00", super::support::reversal("bad")).unwrap();
    ask(&mut book, "f", "2025-02-21T12:00:00-05:00", fee(300, FeeClass::Fee)).unwrap();
    pay(&mut book, "p", 1_300, "2025-02-21T13:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -13.00: 3.00 f, 9.00 dbk_return_check_fee:r, 1.00 dbk_late_fee_1");
    assert_eq!(item(&book, "dbk_late_fee_1"), "dbk_late_fee_1 15.00 left 14.00");
}

/// The close of a period's end date still belongs to that period: a fee at that exact moment belongs to row 1 and is
/// past due a moment later; one a second after it belongs to row 2.
#[test]
fn a_fee_belongs_to_the_row_whose_period_holds_it() {
    let mut book = plain().fees_first().held();
    book.submit("f2", at("2025-02-16T00:00:00-05:00"), fee(300, FeeClass::Fee)).unwrap();
    book.submit("f1", at("2025-02-15T23:59:59-05:00"), fee(500, FeeClass::Penalty)).unwrap();
    book.release(at("2025-02-16T12:00:00-05:00"));
    assert_eq!(rows(&book)[0], "1 2025-02-15: 12.00 + 94.62, end 1105.38, fees 5.00, missed");
    assert_eq!(rows(&book)[1], "2 2025-03-15: 12.00 + 94.62, end 1010.76, fees 3.00");
    pay(&mut book, "p", 600, "2025-02-16T12:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -6.00: 5.00 f1, 1.00 f2");
}

/// A fee posted late at the due moment itself still belongs to the period that ends: the next has not begun.
#[test]
fn a_fee_posted_late_at_the_due_moment() {
    let mut book = plain().open();
    book.roll(at("2025-02-15T23:59:59-05:00"));
    book.submit("f", at("2025-02-15T23:59:59-05:00"), fee(500, FeeClass::Fee)).unwrap();
    book.roll(at("2025-02-16T12:00:00-05:00"));
    assert_eq!(rows(&book)[0], "1 2025-02-15: 12.00 + 94.62, end 1105.38, fees 5.00, missed");
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 12.00 + 5.00, accrued 12.00, past due 111.62, 1 days");
}

/// After the last period a fee belongs to no row and is past due once posted: `PAST_DUE_FEE` takes it. The second
/// period's interest (12.00, fixed at its start) is paid right after the last row's principal in every span.
#[test]
fn a_fee_after_the_last_period() {
    let terms = plain().of("2025-01-15T12:00:00-05:00", 120_000, 1).with(|policy| policy.order = fees_first());
    for (span, little, all) in [
        (
            Span::BucketFirst,
            "3.00 f, 12.00 dbk_interest_1, 2.00 dbk_loan",
            "3.00 f, 12.00 dbk_interest_1, 1200.00 dbk_loan, 12.00 dbk_interest_2.1",
        ),
        (
            Span::OldestInstalmentFirst,
            "12.00 dbk_interest_1, 5.00 dbk_loan",
            "12.00 dbk_interest_1, 1200.00 dbk_loan, 12.00 dbk_interest_2.1, 3.00 f",
        ),
        (
            Span::InstalmentsFirst,
            "12.00 dbk_interest_1, 5.00 dbk_loan",
            "12.00 dbk_interest_1, 1200.00 dbk_loan, 12.00 dbk_interest_2.1, 3.00 f",
        ),
    ] {
        for (amount, splits) in [(1_700, little), (122_700, all)] {
            let mut book = terms.clone().with(|policy| policy.span = span).open();
            ask(&mut book, "f", "2025-02-18T12:00:00-05:00", fee(300, FeeClass::Fee)).unwrap();
            assert_eq!(rows(&book), ["1 2025-02-15: 12.00 + 1200.00, end 0.00, missed"]);
            let owes = "ACTIVE owes 1200.00 + 12.00 + 3.00, accrued 12.00, past due 1215.00, 3 days";
            assert_eq!(standing(&book), owes);
            pay(&mut book, "p", amount, "2025-02-18T13:00:00-05:00");
            assert_eq!(item(&book, "p"), format!("p {}: {splits}", Cents(-amount)), "{span:?}");
        }
    }
}

/// Daily interest, on 2025-01-31: 16 of 31 days have earned 12.00 x 16/31 = 6.1935. Row 1's principal is then 106.62 -
/// 6.19 = 100.43, whichever is paid first.
#[test]
fn principal_first_leaves_room_for_the_interest() {
    let terms = loan().with(|policy| policy.order = buckets(&["DUE_PRINCIPAL"]));
    for (amount, splits) in [
        (5_000, "p -50.00: 50.00 dbk_loan"),
        (10_662, "p -106.62: 100.43 dbk_loan, 6.19 dbk_interest_1.1"),
        (10_700, "p -107.00: 100.43 dbk_loan, 6.19 dbk_interest_1.1, 0.38 dbk_loan"),
    ] {
        let mut book = terms.open();
        pay(&mut book, "p", amount, "2025-01-31T12:00:00-05:00");
        assert_eq!(item(&book, "p"), splits);
    }
}

/// A loan of one instalment. In its period the row is due, not past due, so the order's `PAST_DUE_PRINCIPAL` does not
/// apply and interest is first. After maturity a fee belongs to no row and is past due, so `DUE_FEE` does not find it.
#[test]
fn the_last_row_in_its_period_and_a_fee_after_it() {
    let terms = |names: &[&str]| {
        let order = buckets(names);
        let terms = loan().of("2025-01-15T12:00:00-05:00", 120_000, 1);
        terms.with(|policy| (policy.order, policy.span) = (order, Span::BucketFirst))
    };
    let mut book = terms(&["PAST_DUE_PRINCIPAL"]).open();
    pay(&mut book, "p", 200, "2025-02-01T12:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -2.00: 2.00 dbk_interest_1.1");

    let mut book = terms(&["DUE_FEE", "PAST_DUE_INTEREST"]).open();
    ask(&mut book, "f", "2025-03-01T12:00:00-05:00", fee(300, FeeClass::Fee)).unwrap();
    pay(&mut book, "p", 200, "2025-03-01T13:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -2.00: 2.00 dbk_interest_1");
}
