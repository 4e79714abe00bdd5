//! Compares the results of a case with its expectations. Only named fields are compared.
//!
//! This module fetches nothing: it gets [`Findings`] from a service in memory or from a server.

use crate::describe;
use crate::findings::Findings;
use crate::outcome::CaseDifference;
use crate::scenario::{Expect, ExpectedLineItem, ExpectedRow, Field, LineItemCount, Scenario, Webhook};
use crate::suggest::suggest;
use daybook_engine::time::Time;
use daybook_service::ItemQuery;
use daybook_service::webhooks::events::EVENTS;
use serde_json::Value;
use std::collections::BTreeMap;

/// The parts of a line item in which a field may be.
const PARTS: [&str; 2] = ["line_item_overview", "line_item_summary"];

/// Every difference from the expectations, in the order of the file.
pub(crate) fn judge(case: &Scenario, findings: &Findings) -> Vec<CaseDifference> {
    if case.expect.is_empty() {
        return vec![expects_nothing(case)];
    }
    let Expect { account, account_at, line_items, line_item_counts, webhooks, schedule } = &case.expect;
    let mut found = fields_differ(account, &findings.account, |path| format!("{path} of the account at the end"));
    for (then, shown) in account_at.iter().zip(&findings.account_at) {
        match shown {
            Ok(shown) => {
                let what = |path: &str| format!("{path} of the account as of {}", then.at.text);
                found.extend(fields_differ(&then.fields, shown, what));
            }
            Err(why) => found.push(CaseDifference {
                what: format!("the account as of {}", then.at.text),
                expected: "no error".to_owned(),
                got: why.clone(),
                line: then.line,
            }),
        }
    }
    found.extend(line_items.iter().filter_map(|wanted| missing(wanted, &findings.line_items)));
    found.extend(line_item_counts.iter().filter_map(|wanted| miscounted(wanted, &findings.line_items)));
    if let Some(received) = &findings.received {
        let counted = webhooks.iter().filter(|wanted| !findings.uncounted.contains(&wanted.event));
        found.extend(counted.filter_map(|wanted| unheard(wanted, received)));
    }
    found.extend(unsigned(case, &findings.unsigned));
    found.extend(schedule.iter().flat_map(|wanted| row_differs(wanted, &findings.schedule)));
    found.sort_by_key(|difference| difference.line);
    found
}

/// A case without expectations fails: it proves nothing.
fn expects_nothing(case: &Scenario) -> CaseDifference {
    CaseDifference {
        what: "the case".to_owned(),
        expected: "at least one expectation, such as [expect.account]".to_owned(),
        got: "none. Add one, or run `daybook test --record` to write them from the results".to_owned(),
        line: case.lines.account.whole,
    }
}

fn fields_differ(fields: &[Field], shown: &Value, what: impl Fn(&str) -> String) -> Vec<CaseDifference> {
    fields.iter().filter_map(|field| differs(field, shown, &what)).collect()
}

/// The number of valid line items of a type.
pub(crate) fn count_of(line_item_type: &str, items: &[Value]) -> u64 {
    let is_counted = |item: &&Value| {
        let overview = &item["line_item_overview"];
        overview["line_item_type"] == *line_item_type && overview["line_item_status"] == "VALID"
    };
    items.iter().filter(is_counted).count() as u64
}

fn miscounted(wanted: &LineItemCount, items: &[Value]) -> Option<CaseDifference> {
    let count = count_of(&wanted.line_item_type, items);
    let query = ItemQuery { line_item_type: Some(wanted.line_item_type.clone()), ..ItemQuery::default() };
    let got = match query.check() {
        // A count of 0 for a type that does not exist is a mistake in the case.
        Err(problem) => format!("no such type: {}", describe::problem(&problem)),
        Ok(()) if count == wanted.count => return None,
        Ok(()) => count.to_string(),
    };
    Some(CaseDifference {
        what: format!("the number of valid line items of type {}", wanted.line_item_type),
        expected: wanted.count.to_string(),
        got,
        line: wanted.line,
    })
}

/// Whether an event of this name exists.
pub(crate) fn is_event(name: &str) -> bool {
    EVENTS.iter().any(|event| event.name == name)
}

fn unheard(wanted: &Webhook, received: &BTreeMap<String, u64>) -> Option<CaseDifference> {
    let count = received.get(&wanted.event).copied().unwrap_or(0);
    let is_known = is_event(&wanted.event);
    if is_known && wanted.count.map_or(count > 0, |expected| count == expected) {
        return None;
    }
    Some(CaseDifference {
        what: format!("the number of {} webhook messages received", wanted.event),
        expected: wanted.count.map_or("1 or more".to_owned(), |count| count.to_string()),
        got: if is_known { count.to_string() } else { no_such("event", &wanted.event, EVENTS.iter().map(|e| e.name)) },
        line: wanted.line,
    })
}

/// The message that a name does not exist, with a similar name if there is one.
fn no_such<'k>(what: &str, name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    match suggest(name, known) {
        Some(near) => format!("no such {what}; did you mean {near}?"),
        None => format!("no such {what}"),
    }
}

fn unsigned(case: &Scenario, unsigned: &[String]) -> Option<CaseDifference> {
    let first = unsigned.first()?;
    Some(CaseDifference {
        what: format!("the signature of webhook message {first}"),
        expected: "a signature with the organization's key".to_owned(),
        got: "one that does not match it".to_owned(),
        line: case.expect.webhooks.first().map_or(case.lines.account.whole, |webhook| webhook.line),
    })
}

/// The value at a path.
pub(crate) fn at_path<'a>(shown: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(shown, |value, name| value.get(name))
}

/// The names of the fields next to the one that a path names.
fn neighbours<'a>(shown: &'a Value, path: &[String]) -> impl Iterator<Item = &'a str> {
    let around = path.split_last().and_then(|(_, around)| at_path(shown, around));
    around.and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str())
}

/// The difference between a field and its expected value; `None` if they are equal.
fn differs(field: &Field, shown: &Value, what: impl Fn(&str) -> String) -> Option<CaseDifference> {
    let got = at_path(shown, &field.path);
    if got.is_some_and(|got| is_same(&field.value, got)) {
        return None;
    }
    let name = field.path.last().map_or("", String::as_str);
    let got =
        got.map_or_else(|| no_such("field", name, neighbours(shown, &field.path)), |got| describe::value(name, got));
    let expected = describe::value(name, &field.value);
    Some(CaseDifference { what: what(&field.path.join(".")), expected, got, line: field.line })
}

/// Whether a value equals the expected one: numbers compare by value, times by instant.
pub(crate) fn is_same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(expected), Value::Number(got)) => match (expected.as_i64(), got.as_i64()) {
            (Some(expected), Some(got)) => expected == got,
            _ => expected.as_f64() == got.as_f64(),
        },
        (Value::String(expected), Value::String(got)) => {
            expected == got || Time::parse(expected).is_some_and(|expected| Time::parse(got) == Some(expected))
        }
        (Value::Array(expected), Value::Array(got)) => {
            expected.len() == got.len() && expected.iter().zip(got).all(|(expected, got)| is_same(expected, got))
        }
        (Value::Object(expected), Value::Object(got)) => {
            expected.iter().all(|(name, expected)| got.get(name).is_some_and(|got| is_same(expected, got)))
        }
        (expected, got) => expected == got,
    }
}

/// The local date of a time, as written: `2025-03-15`.
pub(crate) fn local_date(moment: &Value) -> Option<Value> {
    moment.as_str()?.get(..10).map(Value::from)
}

/// A field of a line item, in whichever part of the item it is.
pub(crate) fn item_field(item: &Value, name: &str) -> Option<Value> {
    match name {
        "effective_on" => local_date(&item["effective_at"]),
        "applied_on" => local_date(&item["applied_at"]),
        _ => PARTS.iter().find_map(|part| item[part].get(name)).or_else(|| item.get(name)).cloned(),
    }
}

fn matches(field: &Field, item: &Value) -> bool {
    let name = field.path.first().map_or("", String::as_str);
    item_field(item, name).is_some_and(|got| is_same(&field.value, &got))
}

/// The line item most similar to an expected one, or `None` if none is similar. The first one if several are.
pub(crate) fn nearest<'a>(wanted: &ExpectedLineItem, items: &'a [Value]) -> Option<&'a Value> {
    let score = |item: &&Value| {
        let fits = |field: &&Field| matches(field, item);
        let is_of_type =
            wanted.fields.iter().filter(|field| field.path[0] == "line_item_type").any(|field| fits(&field));
        (is_of_type, wanted.fields.iter().filter(fits).count())
    };
    items.iter().rev().max_by_key(score).filter(|item| score(item).1 > 0)
}

/// The difference for an expected line item that does not exist, with the most similar one.
fn missing(wanted: &ExpectedLineItem, items: &[Value]) -> Option<CaseDifference> {
    if items.iter().any(|item| wanted.fields.iter().all(|field| matches(field, item))) {
        return None;
    }
    let told = |field: &Field, value: Option<&Value>| {
        let name = field.path.first().map_or("", String::as_str);
        let value = value.map_or("no value".to_owned(), |value| describe::value(name, value));
        format!("{name} {value}")
    };
    let nearest = nearest(wanted, items);
    let got = match nearest {
        None => "no similar line item".to_owned(),
        Some(item) => {
            let wrong = wanted.fields.iter().filter(|field| !matches(field, item));
            let wrong: Vec<String> =
                wrong.map(|field| told(field, item_field(item, &field.path[0]).as_ref())).collect();
            let id = item["line_item_id"].as_str().unwrap_or_default();
            format!("none; the closest is {id}, with {}", wrong.join(", "))
        }
    };
    let expected: Vec<String> = wanted.fields.iter().map(|field| told(field, Some(&field.value))).collect();
    Some(CaseDifference { what: "a line item".to_owned(), expected: expected.join(", "), got, line: wanted.line })
}

/// The row of the schedule that an expectation refers to.
pub(crate) fn row_of<'a>(wanted: &ExpectedRow, rows: &'a [Value]) -> Option<&'a Value> {
    rows.get(usize::try_from(wanted.row - 1).unwrap_or(usize::MAX))
}

fn row_differs(wanted: &ExpectedRow, rows: &[Value]) -> Vec<CaseDifference> {
    let row = wanted.row;
    let Some(shown) = row_of(wanted, rows) else {
        let what = format!("row {row} of the schedule");
        let got = format!("the schedule has {} rows", rows.len());
        return vec![CaseDifference { what, expected: "a row".to_owned(), got, line: wanted.line }];
    };
    let what = |path: &str| format!("{path} of row {row} of the schedule");
    fields_differ(&wanted.fields, shown, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_compared_by_what_they_mean() {
        assert!(is_same(&json!(12), &json!(12.0)) && !is_same(&json!(12), &json!(12.5)));
        assert!(is_same(&json!("2025-02-28T23:59:59-05:00"), &json!("2025-03-01T04:59:59Z")));
        assert!(!is_same(&json!("2025-02-28"), &json!("2025-03-01")));
        assert!(is_same(&json!([{ "a": 1 }]), &json!([{ "a": 1, "b": 2 }])));
        assert!(!is_same(&json!([1]), &json!([1, 2])) && !is_same(&json!(true), &json!("true")));
    }
}
