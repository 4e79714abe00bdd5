//! `daybook schedule`, with numbers calculated by hand.

use daybook_testkit::server::Daybook;
use serde_json::Value;

const YEAR: [&str; 9] =
    ["schedule", "--principal", "1200", "--rate", "12", "--installments", "12", "--start", "2025-01-15"];

fn daybook() -> Daybook {
    Daybook::new(env!("CARGO_BIN_EXE_daybook"), std::env::temp_dir())
}

fn schedule(more: &[&str]) -> Value {
    daybook().json_of(&[&YEAR, more, &["--json"]].concat())
}

fn column(plan: &Value, name: &str) -> Vec<i64> {
    let rows = plan["results"].as_array().expect("rows");
    rows.iter().map(|row| row[name].as_i64().expect("cents")).collect()
}

fn payoff(more: &[&str]) -> i64 {
    schedule(more)["payoff"]["total_payoff_cents"].as_i64().expect("cents")
}

/// The numbers of `scenarios/01-on-time.toml`: 1 % a month of the unpaid principal, 106.62 eleven times, then 106.60.
#[test]
fn a_year_of_level_payments() {
    let plan = schedule(&[]);
    let interest = [1200, 1105, 1010, 913, 816, 717, 618, 517, 416, 314, 210, 106];
    assert_eq!(column(&plan, "am_interest_cents"), interest);
    let mut payments = vec![10_662; 11];
    payments.push(10_660);
    assert_eq!(column(&plan, "am_min_pay_cents"), payments);
    assert_eq!(column(&plan, "am_end_principal_balance_cents")[10..], [10_554, 0]);
    assert_eq!(plan["totals"]["am_min_pay_cents"], 127_942);
    assert_eq!(plan["totals"]["am_interest_cents"], 7_942);
    assert_eq!(plan["totals"]["am_principal_cents"], 120_000);
    assert_eq!(plan["payoff"], Value::Null);
    assert_eq!(plan["results"][0]["due_date"], "2025-02-15");
    assert_eq!(plan["results"][11]["due_date"], "2026-01-15");
}

#[test]
fn a_table_for_people() {
    let table = daybook().stdout_of(&[&YEAR[..], &["--payoff-at", "2025-03-01"]].concat());
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["due", "payment", "interest", "principal", "left"]);
    assert_eq!(lines[1], ["1", "2025-02-15", "106.62", "12.00", "94.62", "1,105.38"]);
    assert_eq!(lines[12], ["12", "2026-01-15", "106.60", "1.06", "105.54", "0.00"]);
    assert_eq!(lines[13], ["total", "1,279.42", "79.42", "1,200.00"]);
    assert!(
        table.ends_with("\nPayoff on 2025-03-01, if everything due before it is paid on time: 1,116.43\n"),
        "{table}"
    );
}

#[test]
fn csv_for_programs() {
    let text = daybook().stdout_of(&[&YEAR[..], &["--csv", "--payoff-at", "2025-03-01"]].concat());
    let lines: Vec<&str> = text.lines().collect();
    let head = "number,due_date,am_min_pay_cents,am_interest_cents,am_principal_cents,am_end_principal_balance_cents";
    assert_eq!(lines[0], head);
    assert_eq!(lines[1], "1,2025-02-15,10662,1200,9462,110538");
    assert_eq!(
        lines[12..],
        ["12,2026-01-15,10660,106,10554,0", "total,,127942,7942,120000,", "payoff,2025-03-01,111643,,,"]
    );
}

/// Calculated by hand. After the payment of 15 February, 1,105.38 is unpaid.
#[test]
fn what_pays_it_off() {
    // By period: the whole interest of the current period, 1 % of 1,105.38.
    assert_eq!(payoff(&["--payoff-at", "2025-03-01"]), 110_538 + 1_105);
    // By day: 14 of the 28 days from 15 February to 15 March, 11.0538 x 14 / 28 = 5.5269.
    assert_eq!(payoff(&["--payoff-at", "2025-03-01", "--daily"]), 110_538 + 553);
    // On the first day: by period, 12.00 of interest is already fixed; by day, nothing has accrued.
    assert_eq!(payoff(&["--payoff-at", "2025-01-15"]), 121_200);
    assert_eq!(payoff(&["--payoff-at", "2025-01-15", "--daily"]), 120_000);
    // The instalment that falls due on the date itself is included: 1,105.38 + 11.05.
    assert_eq!(payoff(&["--payoff-at", "2025-03-15", "--daily"]), 110_538 + 1_105);
    // After the end nothing is owed.
    assert_eq!(payoff(&["--payoff-at", "2026-02-01"]), 0);
}

/// Actual days: 31 from January to February, 12 % of 1,200.00 x 31 / 365 = 12.2301; x 31 / 360 = 12.40.
#[test]
fn other_ways_to_count_days() {
    let first = |more: &[&str]| column(&schedule(more), "am_interest_cents")[0];
    assert_eq!(first(&["--day-count", "ACTUAL_365"]), 1_223);
    assert_eq!(first(&["--day-count", "actual_360", "--daily"]), 1_240);
    // A week is 7/360 of a year: 2.80.
    assert_eq!(first(&["--frequency", "weekly"]), 280);
    // Three months: 36.00.
    assert_eq!(first(&["--frequency", "quarterly"]), 3_600);
    assert_eq!(first(&["--frequency", "3 months"]), 3_600);
    // 45 days before the first due date, in months of 30 days: 18.00.
    assert_eq!(first(&["--first-cycle", "45 days"]), 1_800);
}

#[test]
fn other_ways_to_spread_the_principal() {
    // 100.00 of principal each; interest decreases by 1.00 a month.
    let equal = schedule(&["--method", "EQUAL_PRINCIPAL", "--payoff-at", "2025-04-01"]);
    assert_eq!(column(&equal, "am_principal_cents"), [10_000; 12]);
    let falling: Vec<i64> = (1..=12).rev().map(|month| month * 100).collect();
    assert_eq!(column(&equal, "am_interest_cents"), falling);
    // Two instalments are paid; 1,000.00 and the 10.00 of the third period remain.
    assert_eq!(equal["payoff"]["total_payoff_cents"], 101_000);
    // 144.00 of interest in twelve equal parts.
    let flat = schedule(&["--method", "FLAT"]);
    assert_eq!(column(&flat, "am_interest_cents"), [1_200; 12]);
    assert_eq!(flat["totals"]["am_interest_cents"], 14_400);
    // Interest only for three months.
    let late = schedule(&["--interest-only", "3", "--payoff-at", "2025-03-20"]);
    assert_eq!(column(&late, "am_min_pay_cents")[..3], [1_200; 3]);
    assert_eq!(column(&late, "am_end_principal_balance_cents")[..3], [120_000; 3]);
    assert_eq!(late["payoff"]["total_payoff_cents"], 121_200);
    // Instalments rounded to whole dollars.
    assert_eq!(column(&schedule(&["--round-to-cents", "100"]), "am_min_pay_cents")[0], 10_700);
    // The 31st in a month that does not have one.
    let dates = |more: &[&str]| {
        let terms = ["schedule", "--principal", "1200", "--rate", "0", "--installments", "2", "--start", "2025-01-31"];
        let plan = daybook().json_of(&[&terms, more, &["--json"]].concat());
        let rows = plan["results"].as_array().expect("rows").clone();
        rows.iter().map(|row| row["due_date"].as_str().expect("a date").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(dates(&[]), ["2025-02-28", "2025-03-31"]);
    assert_eq!(dates(&["--month-end", "ROLL"]), ["2025-03-01", "2025-03-31"]);
}

#[test]
fn terms_that_make_no_sense_are_told_by_flag() {
    let cases: [(&[&str], &str); 9] = [
        (&["--principal", "ten"], "--principal: ten is not an amount"),
        (&["--principal", "0"], "--principal: 0 is not an amount"),
        (&["--rate", "a"], "--rate: a is not a percentage"),
        (&["--rate", "12.1234567"], "--rate: "),
        (&["--installments", "0"], "--installments: "),
        (&["--start", "2025-02-30"], "--start: 2025-02-30 is not a date"),
        (&["--frequency", "now and then"], "--frequency: now and then is not an interval"),
        (&["--interest-only", "12"], "--interest-only: "),
        (&["--payoff-at", "2025-01-14"], "--payoff-at: must not be before the loan begins (2025-01-15)"),
    ];
    for (wrong, expected) in cases {
        let kept = YEAR[1..].chunks(2).filter(|pair| pair[0] != wrong[0]).flatten().copied();
        let args: Vec<&str> = ["schedule"].into_iter().chain(kept).chain(wrong.iter().copied()).collect();
        let (code, stderr) = daybook().failure_of(&args);
        assert_eq!(code, 2, "{args:?}: {stderr}");
        assert!(stderr.contains(expected), "{args:?}: {stderr}");
    }
}
