//! Payments that bounce: as posted they are undone by exact negatives; under replay, as if they had never been made.

use super::support::{
    Loan, ask, at, event_line, events, fee, item, items, loan, pay, payment, reversal, rows, standing,
};
use daybook_engine::installment::{Method, Surplus};
use daybook_engine::money::Cents;
use daybook_engine::outcome::{Balances, Refusal};
use daybook_engine::replay::recalculate;
use daybook_engine::status::Status;
use daybook_engine::timeline::FeeClass;
use daybook_testkit::book::Book;

/// 10,000.00 from 2025-01-01 at 1 % a month in four instalments of 2562.81.
fn example(surplus: Surplus) -> Loan {
    loan().of("2025-01-01T00:00:00-05:00", 1_000_000, 4).with(|policy| policy.surplus = surplus)
}

fn paid_total(book: &Book) -> (Cents, Cents) {
    (book.state.paid_total, book.state.interest_paid_total)
}

/// 106.62 on the due date (12.00 + 94.62) bounces on 2025-02-20; the fee is 9.00. Row 1 is past due again, 5 days. In
/// the second period 1105.38 earned for 5 of 28 days, 1.9739, and that stays; then 1200.00 earns: (1105.38 x 5 +
/// 1200.00 x 23) x 0.01/28 = 11.8310. At the end of the 20th the grace ends, and row 1 is late.
#[test]
fn as_posted() {
    let mut terms = loan();
    terms.reversal_fee = 900;
    let mut book = terms.open();
    pay(&mut book, "p", 10_662, "2025-02-15T12:00:00-05:00");
    assert_eq!(paid_total(&book), (Cents(10_662), Cents(1_200)));
    book.roll(at("2025-02-20T11:00:00-05:00"));
    book.events.clear();
    ask(&mut book, "r", "2025-02-20T12:00:00-05:00", reversal("p")).unwrap();
    let told = [
        "line_item_create r",
        "line_item_create dbk_reversed_principal:r",
        "line_item_create dbk_reversed_interest:r",
        "payment_reversed p",
        "line_item_create dbk_return_check_fee:r",
    ];
    assert_eq!(events(&mut book), told);
    let told = [
        "p -106.62: 12.00 dbk_interest_1.1, 94.62 dbk_loan",
        "r 106.62",
        "dbk_loan 1200.00 left 1200.00",
        "dbk_interest_1.1 12.00 left 12.00",
        "dbk_reversed_principal:r 94.62",
        "dbk_reversed_interest:r 12.00",
        "dbk_return_check_fee:r 9.00 left 9.00",
    ];
    assert_eq!(items(&book), told);
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 12.00 + 9.00, accrued 1.97, past due 106.62, 5 days");
    assert_eq!(paid_total(&book), (Cents::ZERO, Cents::ZERO));
    assert_eq!(rows(&book)[0], "1 2025-02-15: 12.00 + 94.62, end 1105.38, missed");
    assert_eq!(ask(&mut book, "s", "2025-02-20T13:00:00-05:00", reversal("p")), Err(Refusal::AlreadyReversed));
    book.roll(at("2025-03-15T23:59:59-04:00"));
    assert_eq!(item(&book, "dbk_late_fee_1"), "dbk_late_fee_1 15.00 left 15.00");
    assert_eq!(item(&book, "dbk_interest_2"), "dbk_interest_2 11.83 left 11.83");
}

/// A payment of everything: fee 5.00 and penalty 7.00, 12.00 of interest, 94.62 of row 1, 1105.38 from the end, 1.00
/// kept. Bounced an hour later, everything is restored, oldest fee first, and the account is open again.
#[test]
fn every_share_is_given_back() {
    let mut book = loan().fees_first().open();
    ask(&mut book, "f", "2025-02-01T12:00:00-05:00", fee(500, FeeClass::Fee)).unwrap();
    ask(&mut book, "n", "2025-02-02T12:00:00-05:00", fee(700, FeeClass::Penalty)).unwrap();
    let before = (book.state.balances(), rows(&book));
    pay(&mut book, "p", 122_500, "2025-02-15T12:00:00-05:00");
    let splits = "5.00 f, 7.00 n, 12.00 dbk_interest_1.1, 94.62 dbk_loan, 1105.38 dbk_loan";
    assert_eq!(item(&book, "p"), format!("p -1225.00 left -1.00: {splits}"));
    assert_eq!(book.state.status, Status::SURPLUS_BALANCE);
    book.events.clear();
    ask(&mut book, "r", "2025-02-15T13:00:00-05:00", reversal("p")).unwrap();
    let told = [
        "line_item_create r",
        "line_item_create dbk_reversed_principal:r",
        "line_item_create dbk_reversed_interest:r",
        "line_item_create dbk_reversed_fee:r",
        "payment_reversed p",
        "account_status_change CLOSED/SURPLUS_BALANCE>ACTIVE",
    ];
    assert_eq!(events(&mut book), told);
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 12.00 + 12.00");
    assert_eq!(book.state.balances(), Balances { interest: Cents(1_200), ..before.0 });
    assert_eq!(rows(&book), before.1);
    // 5.00 + 7.00 + 12.00 and 1.00 of principal: the same order as before.
    pay(&mut book, "q", 2_500, "2025-02-15T14:00:00-05:00");
    assert_eq!(item(&book, "q"), "q -25.00: 5.00 f, 7.00 n, 12.00 dbk_interest_1.1, 1.00 dbk_loan");
}

/// 5562.81 on 2025-02-01 is 3000.00 in excess. Bounced on 2025-02-10, row 1 is past due and all later rows have their
/// first amounts again, except that row 2 earned on 4537.19 for 9 of 28 days: with row 1 paid on the 10th,
/// (4537.19 x 9 + 7537.19 x 19) x 0.01/28 = 65.7290, and 2497.08.
#[test]
fn surplus_to_the_end_and_in_advance() {
    for surplus in [Surplus::LastInstalment, Surplus::NextInstalment] {
        let mut book = example(surplus).open();
        pay(&mut book, "p", 556_281, "2025-02-01T12:00:00-05:00");
        // Row 1's grace ended on 02-06, when it was paid. 5040.11 x 0.01 = 50.4011 and 2527.70 x 0.01 = 25.2770 follow.
        ask(&mut book, "r", "2025-02-10T12:00:00-05:00", reversal("p")).unwrap();
        let told = [
            "1 2025-02-01: 100.00 + 2462.81, end 7537.19, missed",
            "2 2025-03-01: 65.73 + 2497.08, end 5040.11",
            "3 2025-04-01: 50.40 + 2512.41, end 2527.70",
            "4 2025-05-01: 25.28 + 2527.70, end 0.00",
        ];
        assert_eq!(rows(&book), told, "{surplus:?}");
        // 4537.19 x 0.01 x 9/28 = 14.5838. Row 1 is unpaid again after its grace: late, without a fee.
        let owes =
            "SUSPENDED/DELINQUENT owes 10000.00 + 100.00 + 0.00, accrued 14.58, past due 2562.81, 9 days, 1 late";
        assert_eq!(standing(&book), owes, "{surplus:?}");
    }
}

/// The 3000.00 at the end had reached row 3 (522.86 of its 2542.61, see `surplus.rs`) when they bounce on 2025-04-05:
/// row 3 has all of its principal unpaid again, row 4 the other 2477.14. Row 2 was paid by its own payment. Rows 1 and
/// 3 are past due, 2562.81 each. 2019.75 earned for 4 of 30 days, 2.6930; row 4 earns (2019.75 x 4 + 2477.14 x 26) x
/// 0.01/30 = 24.1615. Row 1's grace has ended, row 3 is still in its grace: one is late.
#[test]
fn surplus_that_a_row_had_reached() {
    let mut book = example(Surplus::LastInstalment).open();
    pay(&mut book, "p", 556_281, "2025-02-01T12:00:00-05:00");
    pay(&mut book, "q", 256_281, "2025-03-01T12:00:00-05:00");
    book.roll(at("2025-04-05T11:00:00-04:00"));
    // 20.20 + 2019.75 of row 3.
    assert_eq!(standing(&book), "ACTIVE owes 2019.75 + 20.20 + 0.00, accrued 2.69, past due 2039.95, 4 days");
    ask(&mut book, "r", "2025-04-05T12:00:00-04:00", reversal("p")).unwrap();
    let told = [
        "1 2025-02-01: 100.00 + 2462.81, end 7537.19, missed",
        "2 2025-03-01: 45.37 + 2517.44, end 5019.75, paid 2562.81, on time",
        "3 2025-04-01: 20.20 + 2542.61, end 2477.14, missed",
        "4 2025-05-01: 24.16 + 2477.14, end 0.00",
    ];
    assert_eq!(rows(&book), told);
    let owes = "owes 7482.56 + 120.20 + 0.00, accrued 2.69, past due 5125.62, 63 days, 1 late";
    assert_eq!(standing(&book), format!("SUSPENDED/DELINQUENT {owes}"));
}

/// Flat interest of rows 2 and 3 was paid in advance (12.00 each). Undone before their periods begin, it becomes
/// invalid; row 1's interest was owed all along.
#[test]
fn flat_interest_paid_in_advance() {
    let terms = loan().with(|policy| (policy.method, policy.surplus) = (Method::Flat, Surplus::NextInstalment));
    let mut book = terms.open();
    let before = rows(&book);
    pay(&mut book, "p", 26_200, "2025-02-15T12:00:00-05:00");
    ask(&mut book, "r", "2025-02-15T13:00:00-05:00", reversal("p")).unwrap();
    assert_eq!(standing(&book), "ACTIVE owes 1200.00 + 12.00 + 0.00");
    assert_eq!(rows(&book), before);
    for (id, told) in [
        ("dbk_interest_1.1", "dbk_interest_1.1 12.00 left 12.00"),
        ("dbk_interest_2.1", "dbk_interest_2.1 12.00 INVALID"),
        ("dbk_interest_3.1", "dbk_interest_3.1 12.00 INVALID"),
    ] {
        assert_eq!(item(&book, id), told);
    }
}

/// The instalments were recalculated over 4537.19: 1542.74. They are 2562.81 again, the open one too: 7537.19 after row
/// 1, (4537.19 x 9 + 7537.19 x 19) x 0.01/28 = 65.7290 and 2497.08, then 5040.11 x 0.01 = 50.4011 and 2512.41, then
/// 2527.70 x 0.01 = 25.2770.
#[test]
fn surplus_that_reduced_the_instalments() {
    let mut book = example(Surplus::ReducePrincipal).open();
    pay(&mut book, "p", 556_281, "2025-02-01T12:00:00-05:00");
    ask(&mut book, "r", "2025-02-10T12:00:00-05:00", reversal("p")).unwrap();
    let told = [
        "1 2025-02-01: 100.00 + 2462.81, end 7537.19, missed",
        "2 2025-03-01: 65.73 + 2497.08, end 5040.11",
        "3 2025-04-01: 50.40 + 2512.41, end 2527.70",
        "4 2025-05-01: 25.28 + 2527.70, end 0.00",
    ];
    assert_eq!(rows(&book), told);
}

/// Paid off on 2025-01-17 with 10000.00 + 51.61, and bounced on 2025-03-05: the account reopens. Rows 1 and 2 fell due
/// meanwhile: past due (2562.81 each), without fee or missed payment, and with no interest except the 51.61. The third
/// period earns from the 5th: 27 of 31 days; with rows 1 and 2 paid that day, (10000.00 - 2511.20 - 2562.81) x 0.01 x
/// 27/31 = 42.9038.
#[test]
fn a_closed_account_that_owes_again() {
    let mut book = example(Surplus::LastInstalment).open();
    pay(&mut book, "p", 1_005_161, "2025-01-17T12:00:00-05:00");
    assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
    book.roll(at("2025-03-05T11:00:00-05:00"));
    book.events.clear();
    ask(&mut book, "r", "2025-03-05T12:00:00-05:00", reversal("p")).unwrap();
    let told = [
        "line_item_create r",
        "line_item_create dbk_reversed_principal:r",
        "line_item_create dbk_reversed_interest:r",
        "payment_reversed p",
        "account_status_change CLOSED/PAID_OFF>ACTIVE",
    ];
    assert_eq!(events(&mut book), told);
    book.roll(at("2025-03-07T12:00:00-05:00"));
    assert_eq!(events(&mut book), [""; 0], "no late fee for what fell due meanwhile");
    // 2 of 31 days on 10000.00: 6.4516.
    let owes = "ACTIVE owes 10000.00 + 51.61 + 0.00, accrued 6.45, past due 5125.62, 34 days";
    assert_eq!(standing(&book), owes);
}

/// Under replay the account is folded as if the payment had never been made: row 1 was missed, 12.00 was posted, and
/// the late fee was charged on 02-20. The payment's own interest item becomes invalid. The return check fee is added.
#[test]
fn under_replay() {
    let mut terms = loan().replaying();
    terms.reversal_fee = 900;
    let mut book = terms.open();
    pay(&mut book, "p", 10_662, "2025-02-15T12:00:00-05:00");
    book.roll(at("2025-02-25T12:00:00-05:00"));
    let before = book.entries.clone();
    ask(&mut book, "r", "2025-02-25T12:00:00-05:00", reversal("p")).unwrap();
    let change = recalculate(&book.terms, &before, &book.entries, book.clock).unwrap();
    let lines: Vec<String> = change.events.iter().map(event_line).collect();
    let told = [
        "line_item_update dbk_interest_1.1",
        "line_item_create r",
        "line_item_create dbk_interest_1",
        "line_item_create dbk_late_fee_1",
        "line_item_create dbk_reversed_principal:r",
        "line_item_create dbk_reversed_interest:r",
        "line_item_create dbk_return_check_fee:r",
        "payment_reversed p",
        "account_status_change ACTIVE>SUSPENDED/DELINQUENT",
        "account_recalculated",
    ];
    assert_eq!(lines, told);
    assert!(change.events.iter().all(|event| event.at == book.clock));
    let balances = |principal, interest, fees| Balances {
        principal: Cents(principal),
        interest: Cents(interest),
        fees: Cents(fees),
        surplus: Cents::ZERO,
    };
    assert_eq!(change.balances, (balances(110_538, 0, 0), balances(120_000, 1_200, 2_400)));
    assert_eq!(change.status, (Status::ACTIVE, Status::DELINQUENT));
    // 10 of 28 days of 12.00: 4.2857, on the whole 1200.00.
    let owes = "owes 1200.00 + 12.00 + 24.00, accrued 4.29, past due 106.62, 10 days, 1 late";
    assert_eq!(standing(&book), format!("SUSPENDED/DELINQUENT {owes}"));
    let told = [
        "p -106.62: 12.00 dbk_interest_1.1, 94.62 dbk_loan",
        "r 106.62",
        "dbk_loan 1200.00 left 1200.00",
        "dbk_interest_1 12.00 left 12.00",
        "dbk_late_fee_1 15.00 left 15.00",
        "dbk_reversed_principal:r 94.62",
        "dbk_reversed_interest:r 12.00",
        "dbk_return_check_fee:r 9.00 left 9.00",
    ];
    assert_eq!(items(&book), told);
    assert_eq!(ask(&mut book, "s", "2025-02-26T12:00:00-05:00", reversal("p")), Err(Refusal::AlreadyReversed));
}

/// Under replay an account that was paid off never closed: rows 1 and 2 were missed, and each got its fee.
#[test]
fn under_replay_it_never_closed() {
    let mut book = example(Surplus::LastInstalment).replaying().open();
    pay(&mut book, "p", 1_005_161, "2025-01-17T12:00:00-05:00");
    ask(&mut book, "r", "2025-03-07T12:00:00-05:00", reversal("p")).unwrap();
    assert_eq!(item(&book, "dbk_late_fee_2"), "dbk_late_fee_2 15.00 left 15.00");
    // 6 of 31 days of 100.00: 19.3548. Past due: two instalments, and the fee in row 2's period.
    let owes = "owes 10000.00 + 200.00 + 30.00, accrued 19.35, past due 5140.62, 34 days, 2 late";
    assert_eq!(standing(&book), format!("SUSPENDED/DELINQUENT {owes}"));
}

/// Without a fee, reversing a payment and recording it again changes nothing: the same cents as with the payment alone.
#[test]
fn reversed_and_recorded_again() {
    for terms in [loan(), loan().replaying()] {
        let mut book = terms.open();
        pay(&mut book, "p", 10_662, "2025-02-15T12:00:00-05:00");
        let before = standing(&book);
        ask(&mut book, "r", "2025-02-15T12:00:00-05:00", reversal("p")).unwrap();
        book.submit("q", at("2025-02-15T12:00:00-05:00"), payment(10_662)).unwrap();
        assert_eq!(standing(&book), before);
    }
}
