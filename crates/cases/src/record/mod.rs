//! Writes a case from the history of a real account: the requests it received and the results. Also writes a case's
//! expectations from its results, see `expectations`.
//!
//! The case has the account's product, its terms and its inputs; the expectations are the account as it is at its
//! clock. A person reviews them before using the case as a test. The case holds no personal data: customers and
//! external fields are left out.

mod expectations;
mod toml;

pub use expectations::{Recording, record};

use crate::judge::local_date;
use crate::run::{json_of_view, line_items, text_of};
use daybook_service::Service;
use daybook_service::access::Caller;
use daybook_service::history::{History, PastCall};
use daybook_service::problem::Problem;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use toml::{Text, key};

/// The expected fields of the account, by group.
const ACCOUNT: &[(&str, &[&str])] = &[
    ("account_overview", &["account_status", "account_status_subtype"]),
    (
        "summary",
        &[
            "principal_cents",
            "interest_balance_cents",
            "fees_balance_cents",
            "surplus_cents",
            "total_paid_to_date_cents",
            "total_interest_paid_to_date_cents",
            "total_payoff_cents",
        ],
    ),
    ("min_pay_due_cents", &["min_pay_cents", "min_pay_due_at"]),
    ("delinquency", &["days_past_due", "past_due_cents", "past_due_fees_cents", "consecutive_late_fees"]),
];

/// The expected fields of a schedule row.
const ROW: &[&str] = &[
    "min_pay_due_at",
    "am_min_pay_cents",
    "am_interest_cents",
    "am_principal_cents",
    "outstanding_cents",
    "paid_on_time",
    "retired",
    "deferred_cents",
    "shortfall_cents",
];

/// Writes the history of an account as a case, with the account's current state as its expectations.
pub async fn from_account(service: &Service, who: &Caller, account_id: &str) -> Result<String, Problem> {
    let history = service.account_history(who, account_id).await?;
    let at = history.clock;
    let account = json_of_view(&service.get_account(who, account_id, Some(at)).await?)?;
    let items = line_items(service, who, account_id, Some(at)).await?;
    let schedule = json_of_view(&service.get_amortization_schedule(who, account_id, Some(at)).await?)?;

    let mut text = Text::default();
    text.comment(&format!("Written from account {account_id} as of {}.", history.clock_text));
    text.comment("Customers and external fields are left out. Review the expectations before you rely on them.");
    for left_out in &history.left_out {
        text.comment(&format!("Left out: {left_out}."));
    }
    text.field("title", &Value::from(format!("Account {account_id}")));
    text.field("mode", &Value::from(if history.is_migrated { "migration" } else { "live" }));
    text.head("[product]");
    text.body(&history.product);
    text.head("[account]");
    text.body(&history.account);
    for call in &history.calls {
        event(&mut text, call);
    }
    text.head("[[event]]");
    text.field("roll", &Value::from(true));
    text.field("effective_at", &Value::from(history.clock_text.as_str()));
    expect_account(&mut text, &account);
    expect_items(&mut text, &items, &history);
    expect_webhooks(&mut text, &history.announced);
    expect_schedule(&mut text, &schedule);
    Ok(text.finish())
}

fn event(text: &mut Text, call: &PastCall) {
    let mut body = json!({});
    if let Some(target) = &call.target {
        let about = match call.kind {
            "fee_waiver" => "fee",
            "change_cancel" => "change_id",
            "refund_reversal" => "refund",
            _ => "payment",
        };
        body[about] = Value::from(target.as_str());
    }
    for (name, value) in call.body.as_object().into_iter().flatten() {
        body[name.as_str()] = value.clone();
    }
    text.head("[[event]]");
    text.field(call.kind, &body);
    text.field("effective_at", &Value::from(call.effective_at.as_str()));
    if let Some(came_in_at) = &call.came_in_at {
        text.field("recorded_at", &Value::from(came_in_at.as_str()));
    }
}

fn expect_account(text: &mut Text, account: &Value) {
    text.head("[expect.account]");
    for (group, fields) in ACCOUNT {
        for field in *fields {
            text.field(&format!("{group}.{field}"), &account[group][field]);
        }
    }
}

fn expect_items(text: &mut Text, items: &[Value], history: &History) {
    for item in items {
        let overview = &item["line_item_overview"];
        text.head("[[expect.line_item]]");
        text.field("line_item_id", &Value::from(history.renamed(&text_of(item, "line_item_id"))));
        text.field("line_item_type", &overview["line_item_type"]);
        text.field("line_item_status", &overview["line_item_status"]);
        text.field("effective_on", &local_date(&item["effective_at"]).unwrap_or_default());
        text.field("original_amount_cents", &item["line_item_summary"]["original_amount_cents"]);
        text.field("balance_cents", &item["line_item_summary"]["balance_cents"]);
    }
    expect_counts(text, items);
}

/// Writes the number of valid line items of each type.
fn expect_counts(text: &mut Text, items: &[Value]) {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for overview in items.iter().map(|item| &item["line_item_overview"]) {
        if overview["line_item_status"] == "VALID" {
            *counts.entry(text_of(overview, "line_item_type")).or_default() += 1;
        }
    }
    if !counts.is_empty() {
        text.head("[expect.line_item_count]");
    }
    for (line_item_type, count) in counts {
        text.field(&key(&line_item_type), &Value::from(count));
    }
}

fn expect_webhooks(text: &mut Text, announced: &BTreeMap<String, u64>) {
    for (event, count) in announced {
        text.head("[[expect.webhook]]");
        text.field("event", &Value::from(event.as_str()));
        text.field("count", &Value::from(*count));
    }
}

/// Writes the rows whose due moment has passed, and the next one: later rows only repeat the plan.
fn expect_schedule(text: &mut Text, schedule: &Value) {
    let rows = schedule["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let passed = rows.iter().take_while(|row| row["paid_on_time"].is_boolean()).count();
    for (index, row) in rows.iter().enumerate().take(passed + 1) {
        text.head("[[expect.schedule]]");
        text.field("row", &Value::from(index + 1));
        for field in ROW {
            text.field(field, &row[*field]);
        }
    }
}
