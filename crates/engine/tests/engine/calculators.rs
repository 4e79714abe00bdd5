//! Compares random schedules with independent calculators: `tests/calculators/schedules.py` computes each of them with
//! QuantLib, numpy-financial, pyxirr and exact fractions, and must arrive at the same cents.
//!
//! The loans are drawn with a fixed seed (`DAYBOOK_SEED` sets another), the same number for each day count. Edge cases
//! are drawn often: month ends, no interest and hardly any, one cent and the largest sum.

use crate::python::{kept, number, run, said};
use daybook_engine::calendar::{Day, Interval, MonthEnd, TimeOfDay};
use daybook_engine::installment::schedule::{ScheduleRow, schedule};
use daybook_engine::installment::{DayCount, InstallmentPolicy, InterestMethod, Method};
use daybook_engine::money::{Cents, Percent, Rounding};
use daybook_engine::terms::{Opening, Policy, ProductPolicy, Terms};
use daybook_engine::timeline::Backdating;
use daybook_engine::zone::Zone;
use daybook_testkit::book::Book;
use daybook_testkit::history::ZONES;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use std::process::Output;

const SCHEDULES_PER_DAY_COUNT: usize = 400;

/// Names as in the API.
const DAY_COUNTS: [(&str, DayCount); 4] = [
    ("THIRTY_360", DayCount::Thirty360),
    ("ACTUAL_365", DayCount::Actual365),
    ("ACTUAL_360", DayCount::Actual360),
    ("ACTUAL_ACTUAL", DayCount::ActualActual),
];
const METHODS: [(&str, Method); 3] =
    [("LEVEL", Method::Level), ("EQUAL_PRINCIPAL", Method::EqualPrincipal), ("FLAT", Method::Flat)];
const INTEREST_METHODS: [(&str, InterestMethod); 2] =
    [("PERIODIC", InterestMethod::Periodic), ("DAILY", InterestMethod::Daily)];
const ROUNDINGS: [(&str, Rounding); 2] = [("HALF_EVEN", Rounding::HalfEven), ("HALF_UP", Rounding::HalfUp)];
const MONTH_ENDS: [(&str, MonthEnd); 2] = [("CLAMP", MonthEnd::Clamp), ("ROLL", MonthEnd::Roll)];

fn name<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> &'static str {
    names.iter().find(|(_, named)| named == value).unwrap().0
}

fn any_of<T: Clone + std::fmt::Debug + 'static>(names: &[(&'static str, T)]) -> impl Strategy<Value = T> + use<T> {
    select(names.iter().map(|(_, value)| value.clone()).collect::<Vec<T>>())
}

// --- Random loans ----------------------------------------------------------------------------------------------------

/// An opened loan, and its schedule on that day.
struct Case {
    terms: Terms,
    rows: Vec<ScheduleRow>,
}

impl Case {
    fn policy(&self) -> &InstallmentPolicy {
        &self.terms.installment().policy
    }

    fn start(&self) -> (i32, u32, u32) {
        self.terms.start.ymd()
    }

    /// The line for the calculators.
    fn to_json(&self, number: usize) -> Value {
        let (policy, plan) = (self.policy(), self.terms.installment().plan);
        let row = |row: &ScheduleRow| {
            json!({
                "due_date": row.due_day.to_string(), "interest_cents": row.interest.0,
                "principal_cents": row.principal.0, "total_cents": row.total().0,
                "start_cents": row.start.0, "end_cents": row.end.0,
            })
        };
        json!({
            "case": number,
            "terms": {
                "principal_cents": self.terms.opening.principal.0, "rate_percent": policy.rate.to_string(),
                "count": policy.instalments, "start": self.terms.start.to_string(),
                "cycle": policy.cycle.to_string(),
                "first_cycle": policy.first_cycle.map(|interval| interval.to_string()),
                "due_after_days": policy.due_after_cycle.days,
                "month_end": name(&MONTH_ENDS, &policy.month_end),
                "day_count": name(&DAY_COUNTS, &policy.day_count),
                "interest_method": name(&INTEREST_METHODS, &policy.interest),
                "method": name(&METHODS, &policy.method), "rounding": name(&ROUNDINGS, &policy.rounding),
                "interest_only": policy.interest_only, "smooth_last": policy.smooth_last,
                "instalment_rounding_cents": policy.instalment_rounding.0,
            },
            "engine": {
                "level_cents": plan.level.0, "flat_interest_cents": plan.flat_interest.0,
                "rows": self.rows.iter().map(row).collect::<Vec<Value>>(),
            },
        })
    }
}

/// Days 28 to 31 of any month, mostly of January and February; occasionally any day.
fn start() -> impl Strategy<Value = Day> {
    let months = select(vec![0, 0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    let late = (2019..=2032, months, 28..=31_u32)
        .prop_map(|(year, month, day)| Day::from_ymd(year, 1, day).plus_months(month, MonthEnd::Clamp));
    let first = Day::from_ymd(2015, 1, 1);
    prop_oneof![5 => late, 1 => (0..9_000).prop_map(move |days| first.plus_days(days))]
}

/// One loan: its start, principal and policy.
fn loan(day_count: DayCount) -> impl Strategy<Value = Terms> {
    let count = prop_oneof![12 => 1..=60_u32, 1 => 61..=480_u32, 1 => select(vec![1, 2, 360, 480])];
    let edges = vec![0, 0, 0, 1, 123, 5_990_000, 12_000_000, 36_000_000, 99_999_999];
    let rate = prop_oneof![2 => select(edges), 1 => 0..100_000_000_u64];
    let principal = prop_oneof![
        6 => 100_000..100_000_000_i64,
        2 => 1..10_000_i64,
        2 => 1..=Cents::LARGEST_INPUT.0,
        1 => select(vec![1, 2, 99, Cents::LARGEST_INPUT.0]),
    ];
    let (month, quarter) = (Interval::months(1), Interval::months(3));
    let cycle = select(vec![month, month, month, quarter, Interval::days(14), Interval::days(7)]);
    let firsts = vec![month, quarter, Interval::days(7), Interval::days(45), month.and(Interval::days(15))];
    let dates = (start(), cycle, option::weighted(0.3, select(firsts)), select(vec![0, 0, -5, 10]));
    let method = prop_oneof![1 => Just(Method::Level), 3 => any_of(&METHODS)];
    let smooth_last = proptest::bool::weighted(0.3);
    let shape = (method, select(vec![0, 0, 0, 1, 3, 500]), select(vec![1, 1, 1, 5, 100]), smooth_last);
    let modes = (any_of(&INTEREST_METHODS), any_of(&ROUNDINGS), any_of(&MONTH_ENDS));
    let opened = (select(&ZONES[..]), select(vec!["00:00:00", "12:00:00", "23:59:59"]));
    (count, rate, principal, dates, shape, modes, opened).prop_map(
        move |(count, rate, principal, dates, shape, modes, (zone, time))| {
            let mut policy = InstallmentPolicy::new(count, Percent::from_millionths(rate));
            policy.day_count = day_count;
            (policy.cycle, policy.first_cycle) = (dates.1, dates.2);
            policy.due_after_cycle = Interval::days(dates.3);
            (policy.method, policy.interest_only) = (shape.0, shape.1.min(count - 1));
            (policy.instalment_rounding, policy.smooth_last) = (Cents(shape.2), shape.3);
            (policy.interest, policy.rounding, policy.month_end) = modes;
            policy.interest_rounding = policy.rounding;
            agree(policy, zone, dates.0, time, principal)
        },
    )
}

fn agree(policy: InstallmentPolicy, zone: &str, start: Day, time: &str, principal: i64) -> Terms {
    let zone = Zone::named(zone).unwrap();
    let effective_at = zone.at(start, TimeOfDay::parse(time).unwrap());
    let policy = Policy {
        zone,
        close_of_business: TimeOfDay::END_OF_DAY,
        backdating: Backdating::AsPosted,
        reversal_fee: Cents::ZERO,
        status_effects: Default::default(),
        product: ProductPolicy::Installment(policy),
    };
    let opening = Opening::new(effective_at, Cents(principal), Cents::ZERO);
    Terms::new(&policy, opening).expect("what is drawn can be agreed")
}

fn draw(per_day_count: usize) -> Vec<Case> {
    let seed = number("DAYBOOK_SEED", 1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let mut cases = Vec::new();
    for (_, day_count) in DAY_COUNTS {
        let loans = loan(day_count);
        for _ in 0..per_day_count {
            let book = Book::open(loans.new_tree(&mut runner).unwrap().current());
            let rows = schedule(&book.terms, &book.state, book.clock).unwrap();
            cases.push(Case { terms: book.terms, rows });
        }
    }
    cases
}

// --- Comparing -------------------------------------------------------------------------------------------------------

/// Passes lines to the calculators. The lines are kept in a file, so that the calculators can be run by hand.
fn compute_again(lines: &[Value], file: &str) -> Output {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    run("calculators/schedules.py", &[], Some(&kept(file, &lines)))
}

fn numbers(text: &str) -> Vec<usize> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Checks that the cases cover what they are meant to cover.
fn assert_covered(cases: &[Case]) {
    let at_least = |wanted: usize, what: &str, has: &dyn Fn(&Case) -> bool| {
        let count = cases.iter().filter(|case| has(case)).count();
        assert!(count >= wanted, "{count} cases have {what}, not {wanted}");
    };
    for (name, day_count) in DAY_COUNTS {
        at_least(300, name, &|case| case.policy().day_count == day_count);
        at_least(40, &format!("{name} without interest"), &|case| {
            case.policy().day_count == day_count && case.policy().rate == Percent::ZERO
        });
        for day in [29, 30, 31] {
            at_least(30, &format!("{name} from a {day}th"), &|case| {
                case.policy().day_count == day_count && case.start().2 == day
            });
        }
    }
    for (name, method) in METHODS {
        at_least(300, name, &|case| case.policy().method == method);
    }
    at_least(10, "a start on 29 February", &|case| matches!(case.start(), (_, 2, 29)));
    at_least(50, "the smallest rate or nearly", &|case| (1..1_000).contains(&case.policy().rate.millionths()));
    at_least(10, "480 instalments", &|case| case.policy().instalments == 480);
    at_least(50, "more than 60 instalments", &|case| case.policy().instalments > 60);
    at_least(10, "one instalment", &|case| case.policy().instalments == 1);
    at_least(10, "a principal of one cent", &|case| case.terms.opening.principal == Cents(1));
    at_least(10, "the largest principal", &|case| case.terms.opening.principal == Cents::LARGEST_INPUT);
}

#[test]
fn random_schedules_equal_those_of_independent_calculators() {
    let cases = draw(SCHEDULES_PER_DAY_COUNT);
    assert_covered(&cases);
    let lines: Vec<Value> = cases.iter().enumerate().map(|(number, case)| case.to_json(number)).collect();
    let output = compute_again(&lines, "schedules.jsonl");
    assert!(output.status.success(), "the calculators differ, or failed:\n{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let [asked, sum] = text.lines().collect::<Vec<&str>>()[..] else { panic!("two lines, not:\n{}", said(&output)) };
    let rows: usize = cases.iter().map(|case| case.rows.len()).sum();
    assert!(cases.len() >= 1_000, "{} schedules are too few", cases.len());
    assert_eq!(sum, format!("compared {} schedules, {rows} rows: 0 differences", cases.len()));
    // Coupons, first interests, level payments, year fractions, yields: the calculators checked many of each.
    assert!(numbers(asked).len() == 5 && numbers(asked).iter().all(|count| *count >= 100), "{asked}");
    println!("{asked}\n{sum}");
}

/// The comparison can fail: it finds any value that is off by a cent or a day.
#[test]
fn one_wrong_cent_or_day_is_found() {
    let cases = draw(10);
    let loan = cases.iter().find(|case| case.rows.len() > 3 && case.policy().method == Method::Level).unwrap();
    let mut lines = Vec::new();
    let mut wrong = |change: &dyn Fn(&mut Value)| {
        let mut line = loan.to_json(lines.len());
        change(&mut line["engine"]);
        lines.push(line);
    };
    let another = |value: &mut Value| *value = json!(value.as_i64().unwrap() + 1);
    for field in ["level_cents", "flat_interest_cents"] {
        wrong(&|engine| another(&mut engine[field]));
    }
    for field in ["interest_cents", "principal_cents", "total_cents", "start_cents", "end_cents"] {
        wrong(&|engine| another(&mut engine["rows"][2][field]));
    }
    let next_day = loan.rows[2].due_day.plus_days(1).to_string();
    wrong(&|engine| engine["rows"][2]["due_date"] = json!(next_day));
    wrong(&|engine| drop(engine["rows"].as_array_mut().unwrap().pop()));
    let output = compute_again(&lines, "wrong-schedules.jsonl");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(&format!("\ncompared {} schedules", lines.len())), "{}", said(&output));
    for number in 0..lines.len() {
        assert!(text.contains(&format!("case {number}: ")), "case {number} is not found:\n{}", said(&output));
    }
}
