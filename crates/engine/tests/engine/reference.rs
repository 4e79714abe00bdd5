//! Compares the engine with a second one: a plain model of an account, written in Python from the rules alone.
//!
//! The model draws random cases: a product, an account, inputs (all held, so each takes its own place) and times at
//! which to read it. Balances, lateness, the whole schedule, line items, notices and refusals must be the same.
//! `DAYBOOK_SEED` draws other cases, `DAYBOOK_CASES` another number of them.

use crate::python::{kept, number, run, said};
use daybook_testkit::exchange;
use serde_json::{Value, json};
use std::process::Output;

const CASES: u64 = 300;
/// Many drawn changes are left out, so that drawing them takes long.
const CASES_OF_CHANGES: u64 = 60;

/// Cases drawn by the model. `level` controls how much happens in them.
fn draw(level: u32, count: u64) -> Vec<String> {
    let (seed, count) = (number("DAYBOOK_SEED", 1).to_string(), count.to_string());
    let output = run("reference/cases.py", &[&seed, &count, &level.to_string()], None);
    assert!(output.status.success(), "no cases were drawn:\n{}", said(&output));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn result(case: &str) -> Value {
    exchange::run(&serde_json::from_str(case).unwrap())
}

/// Computes the cases again with the model, and compares.
fn compare(name: &str, cases: &[String], results: &[Value]) -> Output {
    let results: Vec<String> = results.iter().map(Value::to_string).collect();
    let cases = kept(&format!("reference-{name}-cases.jsonl"), cases);
    let results = kept(&format!("reference-{name}-results.jsonl"), &results);
    run("reference/compare.py", &[cases.to_str().unwrap(), results.to_str().unwrap()], None)
}

fn assert_the_model_agrees(level: u32) {
    let count = number("DAYBOOK_CASES", if level == 5 { CASES_OF_CHANGES } else { CASES });
    let cases = draw(level, count);
    let results: Vec<Value> = cases.iter().map(|case| result(case)).collect();
    let output = compare(&level.to_string(), &cases, &results);
    assert!(output.status.success(), "engine and model differ, or the model failed:\n{}", said(&output));
    let sum = said(&output);
    assert!(sum.starts_with(&format!("compared {count} cases, ")) && sum.ends_with(": 0 cases differ"), "{sum}");
    println!("{sum}");
}

#[test]
fn level_0_payments_interest_and_dates() {
    assert_the_model_agrees(0);
}

#[test]
fn level_1_methods_due_intervals_late_fees_and_statuses() {
    assert_the_model_agrees(1);
}

#[test]
fn level_2_orders_reversals_offsets_waivers_and_replays() {
    assert_the_model_agrees(2);
}

#[test]
fn level_3_notices_and_the_largest_amounts() {
    assert_the_model_agrees(3);
}

#[test]
fn level_4_contract_terms() {
    assert_the_model_agrees(4);
}

#[test]
fn level_5_changes() {
    assert_the_model_agrees(5);
}

/// Checks the model itself against numbers worked out by hand.
#[test]
fn the_model_gives_the_worked_numbers() {
    let output = run("reference/worked.py", &[], None);
    let sum = said(&output);
    assert!(output.status.success() && sum.ends_with(" cases: 0 numbers are off"), "{sum}");
    println!("{sum}");
}

/// The comparison can fail: it finds any value that is off by a cent, a day or a word.
#[test]
fn whatever_is_off_is_found() {
    let happens = |result: &Value| {
        ["items", "notices"].iter().all(|list| result[*list].as_array().is_some_and(|list| list.len() > 1))
    };
    let drawn = draw(3, 20);
    let (case, right) =
        drawn.iter().map(|case| (case, result(case))).find(|(_, result)| happens(result)).expect("a case has notices");
    let mut wrong = Vec::new();
    let off = |value: &Value| match value {
        Value::Number(number) => json!(number.as_i64().unwrap() + 1),
        _ => json!("2001-01-01T00:00:00Z"),
    };
    for (field, value) in right["reads"][0].as_object().unwrap().iter().filter(|(_, value)| !value.is_array()) {
        let mut result = right.clone();
        result["reads"][0][field] = off(value);
        wrong.push(result);
    }
    for (field, value) in right["reads"][0]["schedule"][0].as_object().unwrap() {
        let mut result = right.clone();
        result["reads"][0]["schedule"][0][field] = off(value);
        wrong.push(result);
    }
    // The comparison adds up interest items, whatever else they say.
    let other = |list: &str| right[list].as_array().unwrap().iter().position(|one| one["type"] != "INTEREST").unwrap();
    for (list, number) in [("items", other("items")), ("notices", 0)] {
        for (field, value) in right[list][number].as_object().unwrap() {
            let mut result = right.clone();
            result[list][number][field] = off(value);
            wrong.push(result);
        }
        let mut result = right.clone();
        result[list].as_array_mut().unwrap().pop();
        wrong.push(result);
    }
    let mut result = right.clone();
    result["rejected"].as_array_mut().unwrap().push(json!("p1"));
    wrong.push(result);
    wrong.push(json!({ "error": "refused" }));
    let count = wrong.len();
    assert!(count > 30, "{count} are too few");
    let output = compare("wrong", &vec![case.clone(); count], &wrong);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.trim_end().ends_with(&format!(": {count} cases differ")), "{}", said(&output));
}
