//! Money left when nothing is due: the three surplus rules, paying off, and money in excess of all debt.
//!
//! The loan is that of the worked example: 10,000.00 from 2025-01-01 at 1 % a month, four instalments of 2562.81. On
//! 2025-02-01 the first period has earned 100.00, so 5562.81 is 100.00 + 2462.81, and 3000.00 in excess.

use super::support::{Loan, ask, at, credit, events, item, items, loan, pay, pay_for, reversal, rows, standing};
use daybook_engine::installment::{Bucket, InstallmentPolicy, Method, Span, Surplus};
use daybook_engine::item::Component;
use daybook_engine::money::Cents;
use daybook_testkit::book::Book;

fn example(surplus: Surplus) -> Loan {
    loan().of("2025-01-01T00:00:00-05:00", 1_000_000, 4).with(|policy| policy.surplus = surplus)
}

/// After 5562.81 on the first due date.
fn overpaid(surplus: Surplus) -> Book {
    let mut book = example(surplus).open();
    pay(&mut book, "p1", 556_281, "2025-02-01T09:00:00-05:00");
    book.roll(at("2025-02-02T00:00:00-05:00"));
    book
}

/// The end of the loan is paid: 3000.00 is all of row 4 and a part of row 3. Row 2 earns 4537.19 x 0.01 = 45.3719, so
/// its principal is 2517.44 and 2019.75 is really left. Row 3 earns 20.1975: by plan its principal is 2562.81 - 20.20 =
/// 2542.61, of which 2542.61 - 2019.75 = 522.86 is already paid; row 4 is the other 2477.14, and earns nothing.
#[test]
fn last_instalment_shortens_the_loan() {
    let mut book = overpaid(Surplus::LastInstalment);
    assert_eq!(item(&book, "p1"), "p1 -5562.81: 100.00 dbk_interest_1.1, 2462.81 dbk_loan, 3000.00 dbk_loan");
    assert_eq!(
        rows(&book),
        [
            "1 2025-02-01: 100.00 + 2462.81, end 7537.19, paid 2562.81, on time",
            "2 2025-03-01: 45.37 + 2517.44, end 5019.75",
            "3 2025-04-01: 20.20 + 2542.61, end 2477.14, paid 522.86",
            "4 2025-05-01: 0.00 + 2477.14, end 0.00, paid 2477.14",
        ]
    );
    // 20.20 + 2019.75 = 2039.95 ends it on the third due date.
    pay(&mut book, "p2", 256_281, "2025-03-01T09:00:00-05:00");
    assert_eq!(standing(&book), "ACTIVE owes 2019.75 + 0.00 + 0.00");
    pay(&mut book, "p3", 203_995, "2025-04-01T09:00:00-04:00");
    assert_eq!(item(&book, "p3"), "p3 -2039.95: 20.20 dbk_interest_3.1, 2019.75 dbk_loan");
    assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
}

/// Row 2 is paid in advance (no interest is carried to it, so all 2562.81 is principal), and 437.19 of row 3. The
/// interest of row 2's period, 4537.19 x 0.01 = 45.3719, moves to row 3, which earns the same amount itself: 90.74 and
/// 2472.07, of which 437.19 is paid. 2562.81 - 437.19 = 2125.62 pays it: 90.74 and 2034.88. Row 4: 2502.31 x 0.01 =
/// 25.0231.
#[test]
fn next_instalment_pays_in_advance() {
    let mut book = overpaid(Surplus::NextInstalment);
    assert_eq!(
        item(&book, "p1"),
        "p1 -5562.81: 100.00 dbk_interest_1.1, 2462.81 dbk_loan, 2562.81 dbk_loan, 437.19 dbk_loan"
    );
    let told = [
        "1 2025-02-01: 100.00 + 2462.81, end 7537.19, paid 2562.81, on time",
        "2 2025-03-01: 0.00 + 2562.81, end 4974.38, paid 2562.81",
        "3 2025-04-01: 90.74 + 2472.07, end 2502.31, paid 437.19",
        "4 2025-05-01: 25.02 + 2502.31, end 0.00",
    ];
    assert_eq!(rows(&book), told);
    book.events.clear();
    book.roll(at("2025-03-02T00:00:00-05:00"));
    assert_eq!(events(&mut book), ["line_item_create dbk_interest_2", "due_date_passed 2 paid"]);
    pay(&mut book, "p2", 212_562, "2025-04-01T09:00:00-04:00");
    assert_eq!(item(&book, "p2"), "p2 -2125.62: 45.37 dbk_interest_2, 45.37 dbk_interest_3.1, 2034.88 dbk_loan");
    book.roll(at("2025-04-01T23:59:59-04:00"));
    assert_eq!(
        events(&mut book),
        ["line_item_create p2", "line_item_create dbk_interest_3.1", "due_date_passed 3 paid"]
    );
    assert_eq!(rows(&book)[3], told[3]);
    assert_eq!(standing(&book), "ACTIVE owes 2502.31 + 0.00 + 0.00");
}

/// 3000.00 is subtracted from the loan with row 1, and rows 2 to 4 are recalculated over the 4537.19 left: 4537.19 x
/// 0.01 / (1 - 1.01^-3) = 1542.7449. Row 2 earns 45.3719, row 3 3039.82 x 0.01 = 30.3982, row 4 1527.48 x 0.01 =
/// 15.2748.
#[test]
fn reduce_principal_lowers_the_instalment() {
    let mut book = overpaid(Surplus::ReducePrincipal);
    assert_eq!(item(&book, "p1"), "p1 -5562.81: 100.00 dbk_interest_1.1, 2462.81 dbk_loan, 3000.00 dbk_loan");
    assert_eq!(book.state.loan().plan.amount(2), Cents(154_274));
    assert_eq!(
        rows(&book),
        [
            "1 2025-02-01: 100.00 + 5462.81, end 4537.19, paid 5562.81, on time",
            "2 2025-03-01: 45.37 + 1497.37, end 3039.82",
            "3 2025-04-01: 30.40 + 1512.34, end 1527.48",
            "4 2025-05-01: 15.27 + 1527.48, end 0.00",
        ]
    );
    pay(&mut book, "p2", 154_274, "2025-03-01T09:00:00-05:00");
    book.roll(at("2025-03-01T23:59:59-05:00"));
    assert_eq!(item(&book, "p2"), "p2 -1542.74: 45.37 dbk_interest_2.1, 1497.37 dbk_loan");
    assert_eq!(standing(&book), "ACTIVE owes 3039.82 + 0.00 + 0.00");
}

/// In the middle of the first period, on 2025-01-17: 16 of 31 days have earned 51.6129, so row 1 is 51.61 + 2511.20,
/// and 3000.00 of 5562.81 is in excess. Rows 2 to 4 share 4488.80: 4488.80 x 0.01 / (1 - 1.01^-3) = 1526.2913. The rest
/// of the period earns (10000.00 x 16 + 4488.80 x 15) x 0.01/31 = 73.3329, less 51.61 = 21.72, which moves to row 2:
/// 21.72 + 44.89 = 66.61.
#[test]
fn reduce_principal_in_the_middle_of_a_period() {
    let mut book = example(Surplus::ReducePrincipal).open();
    pay(&mut book, "p1", 556_281, "2025-01-17T09:00:00-05:00");
    assert_eq!(item(&book, "p1"), "p1 -5562.81: 51.61 dbk_interest_1.1, 2511.20 dbk_loan, 3000.00 dbk_loan");
    let told = [
        "1 2025-02-01: 51.61 + 5511.20, end 4488.80, paid 5562.81",
        "2 2025-03-01: 66.61 + 1459.68, end 3029.12",
        "3 2025-04-01: 30.29 + 1496.00, end 1533.12",
        "4 2025-05-01: 15.33 + 1533.12, end 0.00",
    ];
    assert_eq!(rows(&book), told);
    book.roll(at("2025-02-01T23:59:59-05:00"));
    assert_eq!(rows(&book)[1..], told[1..]);
    assert_eq!(standing(&book), "ACTIVE owes 4488.80 + 21.72 + 0.00");
}

/// Posted late at the due moment itself, when row 1 is past due and the second period has not begun: row 2 is
/// recalculated with the others. 4537.19 is left, so 1542.74 (45.37 + 1497.37) pays row 2, and 3039.82 is left.
#[test]
fn reduce_principal_at_the_due_moment() {
    let mut book = example(Surplus::ReducePrincipal).open();
    pay(&mut book, "p1", 556_281, "2025-02-01T23:59:59-05:00");
    assert_eq!(item(&book, "p1"), "p1 -5562.81: 100.00 dbk_interest_1, 2462.81 dbk_loan, 3000.00 dbk_loan");
    pay(&mut book, "p2", 154_274, "2025-03-01T09:00:00-05:00");
    assert_eq!(item(&book, "p2"), "p2 -1542.74: 45.37 dbk_interest_2.1, 1497.37 dbk_loan");
    book.events.clear();
    book.roll(at("2025-03-01T23:59:59-05:00"));
    assert_eq!(events(&mut book), ["due_date_passed 2 paid"]);
    assert_eq!(standing(&book), "ACTIVE owes 3039.82 + 0.00 + 0.00");
}

/// In the last period no row is left to recalculate: excess money is subtracted from the loan.
#[test]
fn reduce_principal_in_the_last_period() {
    let terms = loan().of("2025-01-15T12:00:00-05:00", 120_000, 1).with(|policy| {
        policy.surplus = Surplus::ReducePrincipal;
    });
    let mut book = terms.open();
    // 16 of 31 days: 6.19. The last row takes all that is left of the loan.
    pay(&mut book, "p", 50_619, "2025-01-31T12:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -506.19: 6.19 dbk_interest_1.1, 500.00 dbk_loan");
    // (1200.00 x 16 + 700.00 x 15) x 0.01/31 = 9.5806, less 6.19.
    assert_eq!(rows(&book), ["1 2025-02-15: 9.58 + 1200.00, end 0.00, paid 506.19"]);
}

/// Flat: 1200.00 x 0.12 / 12 = 12.00 of interest and 100.00 of principal in every row, both known in advance.
fn flat(change: impl FnOnce(&mut InstallmentPolicy)) -> Book {
    let terms = loan().with(|policy| (policy.method, policy.surplus) = (Method::Flat, Surplus::NextInstalment));
    let mut book = terms.with(change).open();
    pay(&mut book, "p", 26_200, "2025-02-15T09:00:00-05:00");
    book
}

fn order(names: &[&str]) -> Vec<Bucket> {
    let more = names.iter().map(|name| Bucket::parse(name).unwrap());
    Bucket::DEFAULT_ORDER.into_iter().chain(more).collect()
}

/// 262.00 pays row 1, and 150.00 in advance. If the order has no entry for payments in advance, interest is paid before
/// principal inside each row: 12.00 + 100.00 of row 2, 12.00 + 26.00 of row 3.
#[test]
fn next_instalment_interest_before_principal() {
    let book = flat(|_| {});
    let told = "p -262.00: 12.00 dbk_interest_1.1, 100.00 dbk_loan, \
                12.00 dbk_interest_2.1, 100.00 dbk_loan, 12.00 dbk_interest_3.1, 26.00 dbk_loan";
    assert_eq!(item(&book, "p"), told);
    assert_eq!(rows(&book)[1], "2 2025-03-15: 12.00 + 100.00, end 1000.00, paid 112.00");
    assert_eq!(rows(&book)[2], "3 2025-04-15: 12.00 + 100.00, end 900.00, paid 38.00");
    assert_eq!(rows(&book)[3], "4 2025-05-15: 12.00 + 100.00, end 800.00");
}

/// Row 2's 12.00 paid in advance in three parts are three line items, and its period posts no more interest.
#[test]
fn flat_interest_in_parts() {
    let terms = loan().with(|policy| (policy.method, policy.surplus) = (Method::Flat, Surplus::NextInstalment));
    let mut book = terms.open();
    pay(&mut book, "p", 11_700, "2025-02-15T09:00:00-05:00");
    pay(&mut book, "q", 300, "2025-02-15T10:00:00-05:00");
    pay(&mut book, "r", 500, "2025-02-15T11:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -117.00: 12.00 dbk_interest_1.1, 100.00 dbk_loan, 5.00 dbk_interest_2.1");
    assert_eq!(item(&book, "q"), "q -3.00: 3.00 dbk_interest_2.2");
    assert_eq!(item(&book, "r"), "r -5.00: 4.00 dbk_interest_2.3, 1.00 dbk_loan");
    book.roll(at("2025-03-15T23:59:59-04:00"));
    assert_eq!(rows(&book)[1], "2 2025-03-15: 12.00 + 100.00, end 1000.00, paid 13.00, missed");
    assert_eq!(standing(&book), "ACTIVE owes 1099.00 + 0.00 + 0.00, past due 99.00");
}

/// Inside an instalment the order's own entries decide. If they name principal, alone or before interest: row 2's
/// principal, row 2's interest, then row 3's principal. If they name interest first: as without entries. Fees are never
/// in advance.
#[test]
fn next_instalment_by_the_entries_of_the_order() {
    let principal_first = "p -262.00: 12.00 dbk_interest_1.1, 100.00 dbk_loan, \
                           100.00 dbk_loan, 12.00 dbk_interest_2.1, 38.00 dbk_loan";
    let interest_first = "p -262.00: 12.00 dbk_interest_1.1, 100.00 dbk_loan, \
                          12.00 dbk_interest_2.1, 100.00 dbk_loan, 12.00 dbk_interest_3.1, 26.00 dbk_loan";
    for (names, told) in [
        (&["IN_ADVANCE_PRINCIPAL"][..], principal_first),
        (&["IN_ADVANCE_PRINCIPAL", "IN_ADVANCE_INTEREST"], principal_first),
        (&["IN_ADVANCE_FEE", "IN_ADVANCE_PRINCIPAL"], principal_first),
        (&["IN_ADVANCE_INTEREST"], interest_first),
        (&["IN_ADVANCE_INTEREST", "IN_ADVANCE_PRINCIPAL"], interest_first),
    ] {
        for span in [Span::BucketFirst, Span::OldestInstalmentFirst] {
            let book = flat(|policy| (policy.order, policy.span) = (order(names), span));
            assert_eq!(item(&book, "p"), told, "{names:?}");
        }
    }
}

/// Row 1 is paid early, so interest charged by hand is carried to row 2: that is the only interest row 2 has in
/// advance.
#[test]
fn in_advance_there_is_only_carried_interest() {
    let mut book = example(Surplus::NextInstalment).open();
    // 16 of 31 days: 51.61 + 2511.20.
    pay(&mut book, "p1", 256_281, "2025-01-17T09:00:00-05:00");
    ask(&mut book, "c", "2025-01-17T10:00:00-05:00", credit(500, Component::Interest)).unwrap();
    assert_eq!(standing(&book), "ACTIVE owes 7488.80 + 5.00 + 0.00");
    pay(&mut book, "p2", 300_000, "2025-01-17T11:00:00-05:00");
    // Row 2: 5.00 + 2557.81; row 3: 437.19.
    assert_eq!(item(&book, "p2"), "p2 -3000.00: 5.00 c, 2557.81 dbk_loan, 437.19 dbk_loan");
    assert_eq!(standing(&book), "ACTIVE owes 4493.80 + 0.00 + 0.00");
}

/// On 2025-01-27 ten more days have earned (10000.00 x 16 + 7488.80 x 10) x 0.01/31 = 75.7703, less 51.61 = 24.16. Row
/// 1 is paid and takes none of it. It is owed nevertheless: a payment for interest pays it, and the payoff includes it.
#[test]
fn interest_beyond_a_paid_row() {
    let paid = || {
        let mut book = example(Surplus::LastInstalment).open();
        pay(&mut book, "p1", 256_281, "2025-01-17T09:00:00-05:00");
        book.roll(at("2025-01-27T08:00:00-05:00"));
        assert_eq!(standing(&book), "ACTIVE owes 7488.80 + 0.00 + 0.00, accrued 24.16");
        book
    };
    let mut book = paid();
    pay(&mut book, "p2", 2_416, "2025-01-27T09:00:00-05:00");
    assert_eq!(item(&book, "p2"), "p2 -24.16: 24.16 dbk_loan");

    let mut book = paid();
    pay_for(&mut book, "p2", 2_500, Component::Interest, "2025-01-27T09:00:00-05:00");
    assert_eq!(item(&book, "p2"), "p2 -25.00: 24.16 dbk_interest_1.2, 0.84 dbk_loan");
    assert!(rows(&book)[1].ends_with("paid 24.16"), "{}", rows(&book)[1]);

    // 7488.80 + 24.16 = 7512.96 pays off; a cent less does not; 1.00 more is kept for the borrower.
    let mut book = paid();
    pay(&mut book, "p2", 751_295, "2025-01-27T09:00:00-05:00");
    assert_eq!(standing(&book), "ACTIVE owes 0.00 + 0.00 + 0.00, accrued 0.01");
    let mut book = paid();
    book.events.clear();
    pay(&mut book, "p2", 751_296, "2025-01-27T09:00:00-05:00");
    assert_eq!(item(&book, "p2"), "p2 -7512.96: 7488.80 dbk_loan, 24.16 dbk_interest_1.2");
    let closing = ["account_status_change ACTIVE>CLOSED/PAID_OFF", "account_closed"];
    assert_eq!(events(&mut book), ["line_item_create p2", "line_item_create dbk_interest_1.2", closing[0], closing[1]]);
    let mut book = paid();
    pay(&mut book, "p2", 751_396, "2025-01-27T09:00:00-05:00");
    assert_eq!(
        items(&book),
        [
            "p1 -2562.81: 51.61 dbk_interest_1.1, 2511.20 dbk_loan",
            "p2 -7513.96 left -1.00: 7488.80 dbk_loan, 24.16 dbk_interest_1.2",
            "dbk_loan 10000.00",
            "dbk_interest_1.1 51.61",
            "dbk_interest_1.2 24.16",
        ]
    );
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 1.00");
}

/// Under every surplus rule, all debt is paid before money is kept for the borrower: principal 10000.00, 51.61 of
/// interest to 2025-01-17, and 1.00 more.
#[test]
fn paying_off_under_every_surplus_rule() {
    for surplus in [Surplus::LastInstalment, Surplus::NextInstalment, Surplus::ReducePrincipal] {
        let mut book = example(surplus).open();
        pay(&mut book, "p", 1_005_261, "2025-01-17T09:00:00-05:00");
        let closed = "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 1.00";
        assert_eq!(standing(&book), closed, "{surplus:?}");
        let mut book = example(surplus).open();
        pay(&mut book, "p", 1_005_161, "2025-01-17T09:00:00-05:00");
        assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00", "{surplus:?}");
    }
}

/// At the exact instant row 1 falls due, row 2 has not begun: 124.00 pays row 1, then row 2's 12.00 of interest in
/// advance. Its period posts no more of it, and a part of interest paid later has the next number.
#[test]
fn flat_interest_bought_at_the_due_instant() {
    let mut book =
        loan().with(|policy| (policy.method, policy.surplus) = (Method::Flat, Surplus::NextInstalment)).open();
    pay(&mut book, "p", 11_700, "2025-02-15T23:59:59-05:00");
    assert_eq!(item(&book, "p"), "p -117.00: 12.00 dbk_interest_1, 100.00 dbk_loan, 5.00 dbk_interest_2.1");
    pay(&mut book, "q", 300, "2025-02-20T12:00:00-05:00");
    assert_eq!(item(&book, "q"), "q -3.00: 3.00 dbk_interest_2.2");
    book.roll(at("2025-03-15T23:59:59-04:00"));
    assert_eq!(rows(&book)[1], "2 2025-03-15: 12.00 + 100.00, end 1000.00, paid 8.00, missed");
}

/// 500.00 for principal on 2025-01-30, 15 of 31 days into the first period: 5.81 has accrued, so row 1 takes 106.62 -
/// 5.81 = 100.81 and 399.19 lowers the later rows. Row 1 keeps its own total: of the period's
/// (1200.00 x 15 + 700.00 x 16) x 0.01/31 = 9.42 it takes the remaining 5.81, and 3.61 moves to row 2.
#[test]
fn the_open_row_keeps_its_total_when_the_others_get_smaller() {
    let mut book = loan().with(|policy| policy.surplus = Surplus::ReducePrincipal).open();
    pay_for(&mut book, "p", 50_000, Component::Principal, "2025-01-30T12:00:00-05:00");
    assert_eq!(item(&book, "p"), "p -500.00: 100.81 dbk_loan, 399.19 dbk_loan");
    book.roll(at("2025-02-15T23:59:59-05:00"));
    assert_eq!(rows(&book)[0], "1 2025-02-15: 5.81 + 500.00, end 700.00, paid 500.00, missed");
    assert_eq!(book.state.loan().row(2).unwrap().interest, Cents(361));
}

/// A flat loan paid off by a payment for principal: 1200.00, the 12.00 of the open period, and 88.00 left over. No
/// interest of later rows is paid.
#[test]
fn no_interest_is_bought_once_the_principal_is_paid() {
    let mut book =
        loan().with(|policy| (policy.method, policy.surplus) = (Method::Flat, Surplus::NextInstalment)).open();
    pay_for(&mut book, "p", 130_000, Component::Principal, "2025-01-20T12:00:00-05:00");
    assert_eq!(standing(&book), "CLOSED/SURPLUS_BALANCE owes 0.00 + 0.00 + 0.00, surplus 88.00");
}

/// Paid off and bounced a day later: later rows have their earlier amounts, not zero with everything in the last
/// row. The closed day earns nothing: row 1 has 30 of 31 days of 12.00 = 11.61 and 95.01; row 2 1 % of 1104.99 = 11.05
/// and 95.57; row 3 1 % of 1009.42 = 10.09 and 96.53.
#[test]
fn a_payoff_that_bounced_leaves_the_level() {
    let mut book = loan().with(|policy| policy.surplus = Surplus::ReducePrincipal).open();
    pay(&mut book, "p", 120_194, "2025-01-20T12:00:00-05:00");
    assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
    ask(&mut book, "r", "2025-01-21T12:00:00-05:00", reversal("p")).unwrap();
    assert_eq!(book.state.loan().plan.amount(2), Cents(10_662));
    assert_eq!(rows(&book)[2], "3 2025-04-15: 10.09 + 96.53, end 912.89");
}

/// At the exact instant row 1 falls due, row 2 has not begun, so it is recalculated with the others: 500.00 pays row
/// 1's 106.62, and of the 1105.38 left 393.38 more; 712.00 over 11 rows is 712.00 x 0.01 / (1 - 1.01^-11) = 68.68.
#[test]
fn reduced_at_the_due_instant() {
    let mut book = loan().with(|policy| policy.surplus = Surplus::ReducePrincipal).open();
    pay(&mut book, "p", 50_000, "2025-02-15T23:59:59-05:00");
    assert_eq!(book.state.loan().plan.amount(2), Cents(6_868));
    assert_eq!(rows(&book)[1], "2 2025-03-15: 7.12 + 454.94, end 650.44, paid 393.38");
}

/// 30.00 flat at 12 % in three: 0.30 + 10.00 each, principal first in advance. 30.30 pays off, so 31.30 pays no
/// interest of rows 2 and 3; 30.29 pays row 1, row 2's principal and its 0.30, and leaves 0.31 of the last principal.
#[test]
fn principal_first_in_advance_ends_with_the_principal() {
    let names = order(&["IN_ADVANCE_PRINCIPAL"]);
    let terms = loan().of("2025-01-15T12:00:00-05:00", 3_000, 3).with(|policy| {
        (policy.method, policy.surplus, policy.order) = (Method::Flat, Surplus::NextInstalment, names);
    });
    let mut book = terms.open();
    pay(&mut book, "p", 3_130, "2025-01-20T12:00:00-05:00");
    let told = "0.30 dbk_interest_1.1, 10.00 dbk_loan, 10.00 dbk_loan, 10.00 dbk_loan";
    assert_eq!(item(&book, "p"), format!("p -31.30 left -1.00: {told}"));
    let mut book = terms.open();
    pay(&mut book, "p", 3_029, "2025-01-20T12:00:00-05:00");
    let told = "0.30 dbk_interest_1.1, 10.00 dbk_loan, 10.00 dbk_loan, 0.30 dbk_interest_2.1, 9.69 dbk_loan";
    assert_eq!(item(&book, "p"), format!("p -30.29: {told}"));
}
