//! Values, problems and the timeline, in words.

use super::world::{json_of, text_of};
use crate::outcome::Step;
use crate::scenario::Event;
use daybook_engine::money::Cents;
use daybook_service::Service;
use daybook_service::access::Caller;
use daybook_service::paging::{LONGEST_PAGE, Paging};
use daybook_service::problem::Problem;
use serde_json::Value;

/// A value of a field: money as money, text without its quotes.
pub(super) fn value(field: &str, value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_i64().filter(|_| field.ends_with("_cents")) {
            Some(cents) => format!("{} ({cents} cents)", Cents(cents)),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Why something was refused, with the fields that are wrong.
pub(super) fn problem(problem: &Problem) -> String {
    let details: Vec<String> =
        problem.details.iter().map(|detail| format!("{} {}", detail.field, detail.message)).collect();
    match details.as_slice() {
        [] => problem.message.clone(),
        details => details.join("; "),
    }
}

/// What an event asks for.
pub(super) fn event(event: &Event) -> String {
    let kind = event.input.kind.name();
    let named = event.input.body.get("line_item_id").and_then(Value::as_str).or(event.input.target.as_deref());
    let named = named.map_or(String::new(), |name| format!(" {name}"));
    format!("{kind}{named} of {}", event.effective_at.text)
}

/// Everything that happened to an account, in order.
pub(super) async fn timeline(service: &Service, who: &Caller, account: &str) -> Result<Vec<Step>, Problem> {
    let mut steps = Vec::new();
    let mut paging = Paging { limit: LONGEST_PAGE, ..Paging::default() };
    loop {
        let page = json_of(&service.list_account_events(who, account, paging).await?)?;
        steps.extend(page["results"].as_array().into_iter().flatten().map(step));
        if page["paging"]["has_more"] != true {
            return Ok(steps);
        }
        let limit = LONGEST_PAGE.to_string();
        paging = Paging::read(Some(&limit), page["paging"]["starting_after"].as_str(), None)?;
    }
}

fn step(event: &Value) -> Step {
    let mut what = text_of(event, "description");
    if event["applies_at"] != event["effective_at"] {
        what.push_str(&format!(" It counts from {}.", text_of(event, "applies_at")));
    }
    what.push_str(match event["state"].as_str() {
        Some("HELD") => " It is held.",
        Some("SCHEDULED") => " Its time has not come.",
        Some("FAILED") => " It could not be applied.",
        _ => "",
    });
    if let Some(reason) = event["reason"].as_str() {
        what.push_str(&format!(" ({reason})"));
    }
    Step { effective_at: text_of(event, "effective_at"), what, balance_after: balance(&event["balance_after"]) }
}

/// What is owed, and its parts where there are several.
fn balance(after: &Value) -> String {
    let Some(total) = after["total_cents"].as_i64() else { return String::new() };
    let names = [("principal", "principal_cents"), ("interest", "interest_cents"), ("fees", "fees_cents")];
    let part = |(name, field): (&str, &str)| {
        let cents = after[field].as_i64().filter(|cents| *cents != 0)?;
        Some(format!("{name} {}", Cents(cents)))
    };
    let mut parts: Vec<String> = names.into_iter().filter_map(part).collect();
    if let Some(surplus) = after["surplus_cents"].as_i64().filter(|cents| *cents != 0) {
        parts.push(format!("and {} kept for the borrower", Cents(surplus)));
    }
    match parts.as_slice() {
        [] => Cents(total).to_string(),
        parts => format!("{} ({})", Cents(total), parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn money_is_told_as_money() {
        assert_eq!(value("fees_balance_cents", &json!(1500)), "15.00 (1500 cents)");
        assert_eq!(value("days_past_due", &json!(36)), "36");
        assert_eq!(value("account_status", &json!("ACTIVE")), "ACTIVE");
        assert_eq!(value("account_status_subtype", &Value::Null), "nothing");
    }

    #[test]
    fn a_balance_names_its_parts() {
        let after = |principal: i64, interest: i64, fees: i64, surplus: i64| {
            let total = principal + interest + fees;
            balance(&json!({ "principal_cents": principal, "interest_cents": interest, "fees_cents": fees,
                             "surplus_cents": surplus, "total_cents": total }))
        };
        assert_eq!(after(120_000, 1_200, 0, 0), "1212.00 (principal 1200.00, interest 12.00)");
        assert_eq!(after(0, 0, 0, 500), "0.00 (and 5.00 kept for the borrower)");
        assert_eq!(after(0, 0, 0, 0), "0.00");
        assert_eq!(balance(&Value::Null), "");
    }
}
