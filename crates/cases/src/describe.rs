//! Values, problems and the timeline, in words.

use crate::outcome::TimelineStep;
use crate::run::text_of;
use crate::scenario::Event;
use daybook_service::problem::Problem;
use serde_json::Value;
use std::fmt;

/// Cents as people write money: `$1,234.56`.
struct Dollars(i64);

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        write!(f, "{sign}${}.{:02}", grouped(&(magnitude / 100).to_string()), magnitude % 100)
    }
}

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A sentence of the timeline, with its amounts formatted as money. Numbers with two decimal places are money.
pub fn with_dollars(sentence: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_end_matches(['.', ',', ';', ':']);
        let is_money = bare.split_once('.').is_some_and(|(whole, cents)| {
            let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number(whole.strip_prefix('-').unwrap_or(whole)) && cents.len() == 2 && is_number(cents)
        });
        match bare.replace('.', "").parse() {
            Ok(cents) if is_money => format!("{}{}", Dollars(cents), &word[bare.len()..]),
            _ => word.to_owned(),
        }
    };
    sentence.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A field's value for people: money formatted, text without quotes.
pub(crate) fn value(field: &str, value: &Value) -> String {
    match value {
        Value::Null => "no value".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_i64().filter(|_| field.ends_with("_cents")) {
            Some(cents) => format!("{} ({cents} cents)", Dollars(cents)),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Why a request was refused, with the fields that are wrong.
pub(crate) fn problem(problem: &Problem) -> String {
    let details: Vec<String> =
        problem.details.iter().map(|detail| format!("{} {}", detail.field, detail.message)).collect();
    match details.as_slice() {
        [] => problem.message.clone(),
        details => details.join("; "),
    }
}

/// A description of an event.
pub(crate) fn event(event: &Event) -> String {
    let kind = event.input.kind.name();
    let id = |field: &str| event.input.body.get(field).and_then(Value::as_str);
    let named = id("line_item_id").or(id("change_id")).or(event.input.target.as_deref());
    let named = named.map_or(String::new(), |name| format!(" {name}"));
    format!("{kind}{named} of {}", event.effective_at.text)
}

/// The timeline of an account, from the list of its events.
pub(crate) fn timeline(events: &[Value]) -> Vec<TimelineStep> {
    events.iter().map(step).collect()
}

fn step(event: &Value) -> TimelineStep {
    let mut what = with_dollars(&text_of(event, "description"));
    if event["applies_at"] != event["effective_at"] {
        what.push_str(&format!(" This event takes effect on {}.", text_of(event, "applies_at")));
    }
    what.push_str(match event["state"].as_str() {
        Some("HELD") => " This event is held.",
        Some("SCHEDULED") => " This event is scheduled for later.",
        Some("FAILED") => " This event could not be applied.",
        _ => "",
    });
    if let Some(reason) = event["reason"].as_str() {
        what.push_str(&format!(" ({reason})"));
    }
    TimelineStep { effective_at: text_of(event, "effective_at"), what, balance_after: balance(&event["balance_after"]) }
}

/// The total owed, with its components.
fn balance(after: &Value) -> String {
    let Some(total) = after["total_cents"].as_i64() else { return String::new() };
    let names = [("principal", "principal_cents"), ("interest", "interest_cents"), ("fees", "fees_cents")];
    let part = |(name, field): (&str, &str)| {
        let cents = after[field].as_i64().filter(|cents| *cents != 0)?;
        Some(format!("{name} {}", Dollars(cents)))
    };
    let mut parts: Vec<String> = names.into_iter().filter_map(part).collect();
    if let Some(surplus) = after["surplus_cents"].as_i64().filter(|cents| *cents != 0) {
        parts.push(format!("surplus {}", Dollars(surplus)));
    }
    match parts.as_slice() {
        [] => Dollars(total).to_string(),
        parts => format!("{} ({})", Dollars(total), parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn money_is_told_as_money() {
        assert_eq!(value("fees_balance_cents", &json!(1500)), "$15.00 (1500 cents)");
        assert_eq!(value("days_past_due", &json!(36)), "36");
        assert_eq!(value("account_status", &json!("ACTIVE")), "ACTIVE");
        assert_eq!(value("account_status_subtype", &Value::Null), "no value");
    }

    #[test]
    fn amounts_in_sentences_are_money_and_nothing_else_is() {
        let told = with_dollars("A payment of 1234567.80 was recorded as VALID at 1.2.3, p1.25 and -0.05.");
        assert_eq!(told, "A payment of $1,234,567.80 was recorded as VALID at 1.2.3, p1.25 and -$0.05.");
    }

    #[test]
    fn a_balance_names_its_parts() {
        let after = |principal: i64, interest: i64, fees: i64, surplus: i64| {
            let total = principal + interest + fees;
            balance(&json!({ "principal_cents": principal, "interest_cents": interest, "fees_cents": fees,
                             "surplus_cents": surplus, "total_cents": total }))
        };
        assert_eq!(after(120_000, 1_200, 0, 0), "$1,212.00 (principal $1,200.00, interest $12.00)");
        assert_eq!(after(0, 0, 0, 500), "$0.00 (surplus $5.00)");
        assert_eq!(after(0, 0, 0, 0), "$0.00");
        assert_eq!(balance(&Value::Null), "");
    }
}
