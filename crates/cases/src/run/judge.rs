//! Comparing what came of a case with what it expects. Only what the case names is compared.

use super::telling;
use super::world::{World, json_of};
use crate::outcome::Difference;
use crate::scenario::{Expect, Field, LineItem, LineItemCount, Scenario, ScheduleRow, Webhook};
use daybook_engine::time::Time;
use daybook_service::ItemQuery;
use daybook_service::access::Caller;
use daybook_service::paging::{LONGEST_PAGE, Paging};
use daybook_service::problem::Problem;
use daybook_service::webhooks::events::EVENTS;
use serde_json::Value;

/// The parts of a line item in which a field may be.
const PARTS: [&str; 2] = ["line_item_overview", "line_item_summary"];

impl World {
    /// Everything that is not as the case expects, in the order of the file.
    pub async fn judge(&self, who: &Caller, account: &str, case: &Scenario) -> Result<Vec<Difference>, Problem> {
        let Expect { account: fields, account_at, line_items, line_item_counts, webhooks, schedule } = &case.expect;
        let service = &self.service;
        let mut found = Vec::new();
        if !fields.is_empty() {
            let shown = json_of(&service.get_account(who, account, None).await?)?;
            let what = |path: &str| format!("{path} of the account at the end");
            found.extend(fields.iter().filter_map(|field| differs(field, at_path(&shown, &field.path), what)));
        }
        for then in account_at {
            match service.get_account(who, account, Some(then.at.time)).await {
                Ok(shown) => {
                    let shown = json_of(&shown)?;
                    let what = |path: &str| format!("{path} of the account as of {}", then.at.text);
                    found.extend(
                        then.fields.iter().filter_map(|field| differs(field, at_path(&shown, &field.path), what)),
                    );
                }
                Err(problem) => found.push(Difference {
                    what: format!("the account as of {}", then.at.text),
                    expected: "that it can be read".to_owned(),
                    got: telling::problem(&problem),
                    line: then.line,
                }),
            }
        }
        if !line_items.is_empty() || !line_item_counts.is_empty() {
            let items = self.line_items(who, account).await?;
            found.extend(line_items.iter().filter_map(|wanted| missing(wanted, &items)));
            for wanted in line_item_counts {
                found.extend(self.miscounted(who, account, wanted, &items).await?);
            }
        }
        found.extend(webhooks.iter().filter_map(|wanted| self.unheard(wanted)));
        found.extend(self.unsigned(case));
        if !schedule.is_empty() {
            let rows = json_of(&service.get_amortization_schedule(who, account, None).await?)?;
            let rows = rows["results"].as_array().map(Vec::as_slice).unwrap_or_default();
            found.extend(schedule.iter().flat_map(|wanted| row_differs(wanted, rows)));
        }
        found.sort_by_key(|difference| difference.line);
        Ok(found)
    }

    async fn line_items(&self, who: &Caller, account: &str) -> Result<Vec<Value>, Problem> {
        let mut items = Vec::new();
        let mut paging = Paging { limit: LONGEST_PAGE, ..Paging::default() };
        loop {
            let page = self.service.list_line_items(who, account, paging, ItemQuery::default()).await?;
            let mut page = json_of(&page)?;
            if let Some(results) = page["results"].as_array_mut() {
                items.append(results);
            }
            if page["paging"]["has_more"] != true {
                return Ok(items);
            }
            let limit = LONGEST_PAGE.to_string();
            paging = Paging::read(Some(&limit), page["paging"]["starting_after"].as_str(), None)?;
        }
    }

    async fn miscounted(
        &self,
        who: &Caller,
        account: &str,
        wanted: &LineItemCount,
        items: &[Value],
    ) -> Result<Option<Difference>, Problem> {
        let is_counted = |item: &&Value| {
            let overview = &item["line_item_overview"];
            overview["line_item_type"] == *wanted.line_item_type && overview["line_item_status"] == "VALID"
        };
        let count = items.iter().filter(is_counted).count() as u64;
        let mut got = count.to_string();
        if count == 0 {
            // None of a type that does not exist is a mistake of the case.
            let query = ItemQuery { line_item_type: Some(wanted.line_item_type.clone()), ..ItemQuery::default() };
            if let Err(problem) = self.service.list_line_items(who, account, Paging::default(), query).await {
                got = format!("there is no such type: {}", telling::problem(&problem));
            } else if wanted.count == 0 {
                return Ok(None);
            }
        } else if count == wanted.count {
            return Ok(None);
        }
        Ok(Some(Difference {
            what: format!("the number of valid line items of type {}", wanted.line_item_type),
            expected: wanted.count.to_string(),
            got,
            line: wanted.line,
        }))
    }

    fn unheard(&self, wanted: &Webhook) -> Option<Difference> {
        let count = self.inbox.count(&wanted.event);
        let is_known = EVENTS.iter().any(|event| event.name == wanted.event);
        if is_known && wanted.count.map_or(count > 0, |expected| count == expected) {
            return None;
        }
        Some(Difference {
            what: format!("the number of webhook messages {} that were received", wanted.event),
            expected: wanted.count.map_or("1 or more".to_owned(), |count| count.to_string()),
            got: if is_known { count.to_string() } else { "there is no such event".to_owned() },
            line: wanted.line,
        })
    }

    fn unsigned(&self, case: &Scenario) -> Option<Difference> {
        let unsigned = self.inbox.unsigned();
        let first = unsigned.first()?;
        Some(Difference {
            what: format!("the signature of webhook message {first}"),
            expected: "one by the key of the organization".to_owned(),
            got: "another".to_owned(),
            line: case.expect.webhooks.first().map_or(case.lines.account, |webhook| webhook.line),
        })
    }
}

fn at_path<'a>(shown: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(shown, |value, name| value.get(name))
}

/// How a field differs from what is expected of it, if it does.
fn differs(field: &Field, got: Option<&Value>, what: impl Fn(&str) -> String) -> Option<Difference> {
    if got.is_some_and(|got| is_same(&field.value, got)) {
        return None;
    }
    let name = field.path.last().map_or("", String::as_str);
    let got = got.map_or("there is no such field".to_owned(), |got| telling::value(name, got));
    let expected = telling::value(name, &field.value);
    Some(Difference { what: what(&field.path.join(".")), expected, got, line: field.line })
}

/// Whether a value is what is expected: numbers by what they are worth, moments by when they are.
fn is_same(expected: &Value, got: &Value) -> bool {
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

/// The local date of a moment, as it is written: `2025-03-15`.
pub(crate) fn local_date(moment: &Value) -> Option<Value> {
    moment.as_str()?.get(..10).map(Value::from)
}

/// A field of a line item, wherever a line item has it.
fn item_field(item: &Value, name: &str) -> Option<Value> {
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

/// A line item that should be there and is not, with the one that comes nearest.
fn missing(wanted: &LineItem, items: &[Value]) -> Option<Difference> {
    if items.iter().any(|item| wanted.fields.iter().all(|field| matches(field, item))) {
        return None;
    }
    let told = |field: &Field, value: Option<&Value>| {
        let name = field.path.first().map_or("", String::as_str);
        let value = value.map_or("nothing".to_owned(), |value| telling::value(name, value));
        format!("{name} {value}")
    };
    let score = |item: &&Value| {
        let fits = |field: &&Field| matches(field, item);
        let is_of_type =
            wanted.fields.iter().filter(|field| field.path[0] == "line_item_type").any(|field| fits(&field));
        (is_of_type, wanted.fields.iter().filter(fits).count())
    };
    // Of several that come equally near, the first one.
    let nearest = items.iter().rev().max_by_key(score).filter(|item| score(item).1 > 0);
    let got = match nearest {
        None => "none like it".to_owned(),
        Some(item) => {
            let wrong = wanted.fields.iter().filter(|field| !matches(field, item));
            let wrong: Vec<String> =
                wrong.map(|field| told(field, item_field(item, &field.path[0]).as_ref())).collect();
            let id = item["line_item_id"].as_str().unwrap_or_default();
            format!("none; the nearest is {id}, which has {}", wrong.join(", "))
        }
    };
    let expected: Vec<String> = wanted.fields.iter().map(|field| told(field, Some(&field.value))).collect();
    Some(Difference { what: "a line item".to_owned(), expected: expected.join(", "), got, line: wanted.line })
}

fn row_differs(wanted: &ScheduleRow, rows: &[Value]) -> Vec<Difference> {
    let row = wanted.row;
    let index = usize::try_from(row - 1).unwrap_or(usize::MAX);
    let Some(shown) = rows.get(index) else {
        let what = format!("row {row} of the schedule");
        let got = format!("the schedule has {} rows", rows.len());
        return vec![Difference { what, expected: "that it is there".to_owned(), got, line: wanted.line }];
    };
    let what = |path: &str| format!("{path} of row {row} of the schedule");
    wanted.fields.iter().filter_map(|field| differs(field, at_path(shown, &field.path), what)).collect()
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
