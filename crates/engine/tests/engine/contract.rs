//! What the contract of one loan says: amounts, dates, and interest that is fixed when it is opened.
//!
//! 1,200.00 at 12 %, three months from 15 January 2025.

use super::support::{Loan, at, loan, pay, reading, rows, standing};
use daybook_engine::calendar::{Day, Interval};
use daybook_engine::contract::{Agreed, ContractAmounts, ScheduledAmount, ScheduledRow};
use daybook_engine::installment::{
    Adjust, BusinessDays, DayCount, Method, PrecomputedRefund, PrecomputedSplit, Surplus, Weekday,
};
use daybook_engine::money::{Cents, Percent};
use daybook_testkit::book::Book;

fn three_months() -> Loan {
    loan().of("2025-01-15T12:00:00-05:00", 120_000, 3)
}

fn day(text: &str) -> Day {
    Day::parse(text).unwrap()
}

fn amounts_of(amounts: ContractAmounts) -> impl FnOnce(&mut Agreed) {
    |agreed| agreed.contract.amounts = amounts
}

fn first_due(text: &'static str) -> impl FnOnce(&mut Agreed) {
    move |agreed| agreed.contract.first_due_date = Some(day(text))
}

/// `02-15: 12.00 + 396.10`: due date, interest and principal of each row.
fn plan(book: &Book) -> Vec<String> {
    let line = |row: &String| row.split(", end").next().unwrap().split_once(' ').unwrap().1[5..].to_owned();
    rows(book).iter().map(line).collect()
}

fn check(loan: &Loan, expected: &[&str]) {
    assert_eq!(plan(&loan.open()), expected);
}

#[test]
fn amounts_of_the_contract() {
    use ContractAmounts::*;
    let check = |amounts: ContractAmounts, expected: &[&str]| {
        check(&three_months().agreeing(amounts_of(amounts)), expected);
    };
    check(Computed, &["02-15: 12.00 + 396.03", "03-15: 8.04 + 399.99", "04-15: 4.04 + 403.98"]);
    check(Payment(Cents(40_810)), &["02-15: 12.00 + 396.10", "03-15: 8.04 + 400.06", "04-15: 4.04 + 403.84"]);
    check(Payment(Cents(20_000)), &["02-15: 12.00 + 188.00", "03-15: 10.12 + 189.88", "04-15: 8.22 + 822.12"]);
    check(Balloon(Cents(60_000)), &["02-15: 12.00 + 198.01", "03-15: 10.02 + 199.99", "04-15: 8.02 + 802.00"]);
    check(AmortizedOver(6), &["02-15: 12.00 + 195.06", "03-15: 10.05 + 197.01", "04-15: 8.08 + 807.93"]);
    // Too small for its interest of 12.00: the rest of the interest is carried to the last.
    check(Payment(Cents(500)), &["02-15: 5.00 + 0.00", "03-15: 5.00 + 0.00", "04-15: 26.00 + 1200.00"]);
    // Too large: later rows ask nothing.
    check(Payment(Cents(70_000)), &["02-15: 12.00 + 688.00", "03-15: 5.12 + 512.00", "04-15: 0.00 + 0.00"]);
    let total = |amount| ScheduledAmount::Total(Cents(amount));
    let named = [
        ("2025-02-01", total(30_000)),
        ("2025-03-31", ScheduledAmount::Principal(Cents(50_000))),
        ("2025-04-10", ScheduledAmount::Principal(Cents::ZERO)),
        ("2025-06-10", ScheduledAmount::Rest),
    ];
    let named = named.map(|(due, amount)| ScheduledRow { due_date: day(due), amount });
    // 15 January to 1 February is 17 days: 1,200.00 x 12 % x 17/360 = 6.80. To 31 March 1 month 30 days: 906.80 x 12 % x
    // 60/360 = 18.14. To 10 April 10 days: 406.80 x 12 % x 10/360 = 1.36. To 10 June 2 months: 8.14.
    let expected = ["02-01: 6.80 + 293.20", "03-31: 18.14 + 500.00", "04-10: 1.36 + 0.00", "06-10: 8.14 + 406.80"];
    check(Schedule(named.to_vec()), &expected);
}

/// The level payment of an interest-only loan with a balloon repays the rest over the other rows.
#[test]
fn a_balloon_after_interest_only_rows() {
    // One row of interest, then (1200.00 x 1.01^2 - 600.00) / 2.01 = 310.51.
    let loan = three_months().agreeing(amounts_of(ContractAmounts::Balloon(Cents(60_000))));
    check(
        &loan.with(|policy| policy.interest_only = 1),
        &["02-15: 12.00 + 0.00", "03-15: 12.00 + 298.51", "04-15: 9.01 + 901.49"],
    );
}

/// 1 month 10 days earn 1,200.00 x 12 % x 40/360 = 16.00; with real days, 41/365 of it 16.18. The 31st comes back.
#[test]
fn the_first_due_date() {
    check(
        &three_months().agreeing(first_due("2025-02-25")),
        &["02-25: 16.00 + 393.37", "03-25: 8.07 + 401.30", "04-25: 4.05 + 405.33"],
    );
    let real = three_months().with(|policy| policy.day_count = DayCount::Actual365).agreeing(first_due("2025-02-25"));
    assert!(plan(&real.open())[0].starts_with("02-25: 16.18 +"), "{:?}", plan(&real.open()));
    let late: Vec<String> = plan(&three_months().agreeing(first_due("2025-01-31")).open());
    assert_eq!(late.iter().map(|row| &row[..5]).collect::<Vec<_>>(), ["01-31", "02-28", "03-31"]);
}

/// Half a month earns 1/24: 1,200.00 x 12 % / 24 = 6.00. From 15 January to 1 February 17 days: 6.80. The level
/// payment is 1,200.00 x 1.0056667 x 1.005^2 / (1.005^2 + 1.005 + 1) = 404.27.
#[test]
fn twice_a_month() {
    let loan = three_months().with(|policy| policy.semi_monthly = Some([15, 1]));
    check(&loan, &["02-01: 6.80 + 397.47", "02-15: 4.01 + 400.26", "03-01: 2.01 + 402.27"]);
    let dates = |loan: Loan| -> Vec<String> { plan(&loan.open()).iter().map(|row| row[..5].to_owned()).collect() };
    let ends = three_months().with(|policy| {
        (policy.semi_monthly, policy.instalments) = (Some([15, 31]), 5);
    });
    assert_eq!(dates(ends.clone()), ["01-31", "02-15", "02-28", "03-15", "03-31"]);
    assert_eq!(dates(ends.agreeing(first_due("2025-02-28"))), ["02-28", "03-15", "03-31", "04-15", "04-30"]);
}

/// 15 February and 15 March 2025 are Saturdays; 15 April is a Tuesday. `THIRTY_360` keeps a whole month's interest.
#[test]
fn business_days() {
    let check = |adjust, start: &'static str, holidays: &[&str], expected: [&str; 3]| {
        let loan = three_months().of(start, 120_000, 3).with(|policy| {
            let holidays = holidays.iter().map(|text| day(text)).collect();
            policy.business_days = BusinessDays { adjust, holidays, ..BusinessDays::default() };
        });
        let rows = plan(&loan.open());
        assert_eq!(rows.iter().map(|row| &row[..5]).collect::<Vec<_>>(), expected, "{adjust:?} {start}");
        assert!(rows[0].contains(": 12.00 + 396.03"), "{rows:?}");
    };
    let january = "2025-01-15T12:00:00-05:00";
    check(Adjust::None, january, &[], ["02-15", "03-15", "04-15"]);
    check(Adjust::Following, january, &[], ["02-17", "03-17", "04-15"]);
    check(Adjust::Following, january, &["2025-02-17", "2025-04-15"], ["02-18", "03-17", "04-16"]);
    check(Adjust::Preceding, january, &["2025-02-14"], ["02-13", "03-14", "04-15"]);
    // 31 May 2025 is a Saturday.
    check(Adjust::ModifiedFollowing, "2025-03-31T12:00:00-04:00", &[], ["04-30", "05-30", "06-30"]);
    check(Adjust::Following, "2025-03-31T12:00:00-04:00", &[], ["04-30", "06-02", "06-30"]);
    let sunday_only = |policy: &mut BusinessDays| policy.weekend = vec![Weekday::Sunday];
    let mut business = BusinessDays { adjust: Adjust::Following, ..BusinessDays::default() };
    sunday_only(&mut business);
    let loan = three_months().with(|policy| policy.business_days = business);
    assert!(plan(&loan.open())[0].starts_with("02-15"));
}

/// Daily instalments from Thursday 16 January: Friday, then Monday for Saturday, and each later one after the one before
/// it. Real days: a period from Friday to Monday has 3.
#[test]
fn business_days_stay_in_order() {
    let loan = three_months().of("2025-01-16T12:00:00-05:00", 120_000, 5).with(|policy| {
        policy.cycle = Interval::days(1);
        policy.day_count = DayCount::Actual365;
        policy.business_days = BusinessDays { adjust: Adjust::Following, ..BusinessDays::default() };
    });
    let book = loan.open();
    let rows = plan(&book);
    assert_eq!(rows.iter().map(|row| &row[..5]).collect::<Vec<_>>(), ["01-17", "01-20", "01-21", "01-22", "01-23"]);
    assert!(rows[0].contains(": 0.39 +") && rows[1].contains(": 0.95 +"), "{rows:?}");
    let mut book = loan.open();
    book.roll(at("2025-01-31T12:00:00-05:00"));
    assert_eq!(reading(&book).days_past_due, 14);
}

/// The level table kept; 36.00 by digits 3, 2, 1 of 6; or spread equally.
#[test]
fn precomputed_interest() {
    let precomputed =
        |split| three_months().with(|policy| (policy.method, policy.precomputed_split) = (Method::Precomputed, split));
    let level = ["02-15: 12.00 + 396.03", "03-15: 8.04 + 399.99", "04-15: 4.04 + 403.98"];
    check(&precomputed(PrecomputedSplit::Actuarial), &level);
    let digits = ["02-15: 18.00 + 394.00", "03-15: 12.00 + 400.00", "04-15: 6.00 + 406.00"];
    check(&precomputed(PrecomputedSplit::SumOfDigits), &digits);
    let equal = ["02-15: 12.00 + 400.00", "03-15: 12.00 + 400.00", "04-15: 12.00 + 400.00"];
    check(&precomputed(PrecomputedSplit::Equal), &equal);
    // Interest is kept, whatever is paid when: late, and twice.
    let mut book = precomputed(PrecomputedSplit::SumOfDigits).open();
    pay(&mut book, "p1", 82_400, "2025-03-20T12:00:00-04:00");
    assert_eq!(plan(&book), digits);
    // 50.00 more lower the principal of the third row, not its interest.
    let mut book =
        precomputed(PrecomputedSplit::SumOfDigits).with(|policy| policy.surplus = Surplus::ReducePrincipal).open();
    pay(&mut book, "p1", 46_200, "2025-02-15T12:00:00-05:00");
    assert_eq!(plan(&book), ["02-15: 18.00 + 444.00", "03-15: 12.00 + 378.00", "04-15: 6.00 + 378.00"]);
}

/// On 20 January only the first period has begun: 1,200.00 + 18.00. Without a refund all 36.00 is owed.
#[test]
fn the_payoff_of_precomputed_interest() {
    let loan = |refund| {
        three_months().with(|policy| {
            policy.method = Method::Precomputed;
            (policy.precomputed_split, policy.precomputed_refund) = (PrecomputedSplit::SumOfDigits, refund);
        })
    };
    let check = |refund, payoff: i64| {
        let mut book = loan(refund).open();
        book.roll(at("2025-01-20T12:00:00-05:00"));
        assert_eq!(reading(&book).payoff, Cents(payoff));
        pay(&mut book, "p1", payoff - 1, "2025-01-20T13:00:00-05:00");
        assert_eq!(book.state.status.to_string(), "ACTIVE");
        pay(&mut book, "p2", 1, "2025-01-20T14:00:00-05:00");
        assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00", "{refund:?}");
    };
    check(PrecomputedRefund::NotBegun, 121_800);
    check(PrecomputedRefund::None, 123_600);
    // All principal is paid early, but the interest of the third row is still owed when it falls due.
    let mut book = loan(PrecomputedRefund::None).open();
    pay(&mut book, "p1", 123_000, "2025-01-20T13:00:00-05:00");
    book.roll(at("2025-04-16T12:00:00-04:00"));
    let now = reading(&book);
    assert_eq!(
        (now.status.to_string(), now.balances.owed(), now.past_due),
        ("ACTIVE".to_owned(), Cents(600), Cents(600))
    );
}

#[test]
fn a_long_sum_of_digits_is_noted() {
    let months = |count| {
        three_months().of("2025-01-15T12:00:00-05:00", 120_000, count).with(|policy| {
            (policy.method, policy.precomputed_split) = (Method::Precomputed, PrecomputedSplit::SumOfDigits);
        })
    };
    assert_eq!([61, 62].map(|count| months(count).terms().installment().has_long_sum_of_digits()), [false, true]);
}

#[test]
fn rules_of_a_contract() {
    let check = |loan: Loan, expected: &[&str]| {
        let fields: Vec<&str> = match loan.try_terms() {
            Ok(_) => Vec::new(),
            Err(invalid) => invalid.iter().map(|invalid| invalid.field).collect(),
        };
        assert_eq!(fields, expected, "{:?}", loan.agreed.contract);
    };
    let named = |dates: &[&str], amount| {
        ContractAmounts::Schedule(dates.iter().map(|due| ScheduledRow { due_date: day(due), amount }).collect())
    };
    let agreeing = |amounts| three_months().agreeing(amounts_of(amounts));
    let total = ScheduledAmount::Total(Cents(100));
    check(agreeing(ContractAmounts::Payment(Cents::ZERO)), &["payment_amount_cents"]);
    check(agreeing(ContractAmounts::Payment(Cents(10_000_000_000_001))), &["payment_amount_cents"]);
    check(agreeing(ContractAmounts::Payment(Cents(1))), &[]);
    check(agreeing(ContractAmounts::Balloon(Cents(120_001))), &["balloon_cents"]);
    check(agreeing(ContractAmounts::Balloon(Cents(120_000))), &[]);
    check(agreeing(ContractAmounts::AmortizedOver(3)), &["amortization_cycles"]);
    check(agreeing(ContractAmounts::AmortizedOver(4)), &[]);
    check(agreeing(named(&[], total)), &["schedule"]);
    check(agreeing(named(&["2025-02-01", "2025-02-01"], total)), &["schedule"]);
    check(agreeing(named(&["2025-01-14", "2025-02-01"], total)), &["schedule"]);
    check(agreeing(named(&["2025-01-15", "2025-02-01"], total)), &[]);
    check(agreeing(named(&["2025-02-01", "2025-03-01"], ScheduledAmount::Rest)), &["schedule"]);
    check(agreeing(named(&["2025-02-01"], ScheduledAmount::Rest)), &[]);
    let flat = |loan: Loan| loan.with(|policy| policy.method = Method::Flat);
    check(flat(agreeing(ContractAmounts::Payment(Cents(1)))), &["payment_amount_cents"]);
    check(flat(agreeing(named(&["2025-02-01"], total))), &["schedule"]);
    check(agreeing(named(&["2025-02-01"], total)).agreeing(first_due("2025-02-01")), &["first_due_date"]);
    check(three_months().agreeing(first_due("2025-01-15")), &["first_due_date"]);
    let own_cycle = three_months().with(|policy| policy.first_cycle = Some(Interval::days(10)));
    check(own_cycle.agreeing(first_due("2025-02-01")), &["first_due_date"]);
    let twice = |days| three_months().with(|policy| policy.semi_monthly = Some(days));
    let days = "product_lifecycle_policies.billing_cycle_policies.semi_monthly_days";
    check(twice([1, 1]), &[days]);
    check(twice([0, 15]), &[days]);
    check(twice([1, 32]), &[days]);
    check(twice([5, 20]).agreeing(first_due("2025-02-04")), &["first_due_date"]);
    check(twice([5, 20]).agreeing(first_due("2025-02-05")), &[]);
}

/// The last row takes the rest after payments, too; the level payment of a product does not matter.
#[test]
fn a_payment_amount_stays() {
    let loan = three_months().agreeing(amounts_of(ContractAmounts::Payment(Cents(20_000))));
    let mut book = loan.with(|policy| policy.rate = Percent::parse("12").unwrap()).open();
    pay(&mut book, "p1", 20_000, "2025-02-15T12:00:00-05:00");
    pay(&mut book, "p2", 20_000, "2025-03-15T12:00:00-04:00");
    assert_eq!(standing(&book), "ACTIVE owes 822.12 + 0.00 + 0.00");
    pay(&mut book, "p3", 83_034, "2025-04-15T12:00:00-04:00");
    assert_eq!(standing(&book), "CLOSED/PAID_OFF owes 0.00 + 0.00 + 0.00");
}
