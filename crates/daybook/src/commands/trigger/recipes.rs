//! The API calls that cause each event.

use super::stage::Stage;
use crate::commands::{Failure, listen};
use daybook_client::Trouble;
use serde_json::{Value, json};

/// Causes an event.
pub type Recipe = fn(&Stage) -> Result<(), Failure>;

/// The recipe of an event.
pub fn of(event: &str) -> Option<Recipe> {
    Some(match event {
        "account_create" => account_create,
        "account_update" => account_update,
        "account_status_change" => account_status_change,
        "account_closed" => account_closed,
        "customer_create" => customer_create,
        "customer_update" => customer_update,
        "line_item_create" => line_item_create,
        "line_item_update" => line_item_update,
        "due_date_passed" | "payment_missed" => first_instalment_is_missed,
        "payment_reversed" => payment_reversed,
        "account_recalculated" => account_recalculated,
        "migration_released" => migration_released,
        "subscription_paused" => subscription_paused,
        "test_event" => test_event,
        "payment_due_date" => payment_due_date,
        "late_fee_date" => late_fee_date,
        "loan_end_date" => loan_end_date,
        "account_summary" => account_summary,
        _ => return None,
    })
}

fn account_create(stage: &Stage) -> Result<(), Failure> {
    stage.make_product()?;
    stage.make_customer()?;
    let opened_at = stage.make_account()?;
    stage.send(&opened_at)
}

/// Notification settings are part of an account.
fn account_update(stage: &Stage) -> Result<(), Failure> {
    let account = stage.lend()?;
    notify(stage, json!({ "notification_type": "payment_due_date", "time_offset": "-1 days" }))?;
    stage.send(&account.opened_at)
}

fn account_status_change(stage: &Stage) -> Result<(), Failure> {
    let account = stage.lend()?;
    set_status(stage, "SUSPENDED", "FRAUD")?;
    stage.send(&account.opened_at)
}

fn account_closed(stage: &Stage) -> Result<(), Failure> {
    let account = stage.lend()?;
    set_status(stage, "CLOSED", "CUSTOMER_REQUEST")?;
    stage.send(&account.opened_at)
}

fn customer_create(stage: &Stage) -> Result<(), Failure> {
    stage.make_customer()
}

fn customer_update(stage: &Stage) -> Result<(), Failure> {
    stage.make_customer()?;
    stage.put(&format!("/customers/{}", stage.id), json!({ "email": "ana@example.com" }))?;
    Ok(())
}

fn line_item_create(stage: &Stage) -> Result<(), Failure> {
    let account = stage.lend()?;
    stage.pay(json!({}))?;
    stage.send(&account.opened_at)
}

fn line_item_update(stage: &Stage) -> Result<(), Failure> {
    let account = stage.lend()?;
    stage.pay(json!({ "line_item_status": "PENDING" }))?;
    let item = stage.of_account(&format!("line_items/{}", stage.id));
    stage.put(&item, json!({ "line_item_status": "VALID" }))?;
    stage.send(&account.opened_at)
}

fn first_instalment_is_missed(stage: &Stage) -> Result<(), Failure> {
    let account = stage.lend()?;
    stage.roll_to(&account.first_due_at)
}

fn payment_reversed(stage: &Stage) -> Result<(), Failure> {
    let account = stage.lend()?;
    stage.pay(json!({}))?;
    stage.post(&stage.of_account(&format!("line_items/payment_reversals/{}", stage.id)), json!({}))?;
    stage.send(&account.opened_at)
}

/// Under `REPLAY`, a payment made in time but recorded after the due date removes the late fee.
fn account_recalculated(stage: &Stage) -> Result<(), Failure> {
    stage.make_product_with(12, json!({ "backdating_policy": "REPLAY" }))?;
    stage.make_customer()?;
    let opened_at = stage.make_account()?;
    let first_due_at = stage.first_due_at()?;
    stage.roll_to(&first_due_at)?;
    stage.pay(json!({ "effective_at": opened_at }))?;
    stage.roll_to(&first_due_at)
}

fn migration_released(stage: &Stage) -> Result<(), Failure> {
    let mode = format!("/products/{}/migration_mode", stage.id);
    stage.make_product()?;
    stage.put(&mode, json!({ "migration_mode": true }))?;
    stage.make_customer()?;
    stage.make_account()?;
    stage.put(&mode, json!({ "migration_mode": false }))?;
    stage.wait("the release", &mode, |progress| progress["finished_at"].is_string())
}

/// A URL that answers 401 is paused at once. The server itself does so, as a message carries no token.
fn subscription_paused(stage: &Stage) -> Result<(), Failure> {
    stage.make_product()?;
    stage.make_customer()?;
    let url = format!("{}/products?{}", stage.url(), stage.id);
    let form = json!({ "webhook_url": url, "filter_events": ["account_create"] });
    let made = stage.put("/organization/subscribe", form);
    let made = made.map_err(|trouble| listen::explained(stage.url(), trouble))?;
    let id = made["webhook_uuid"].as_str().unwrap_or_default().to_owned();
    let paused = pause(stage, &id);
    // The subscription is removed even if the event did not happen.
    let removed = stage.call("DELETE", &format!("/organization/subscriptions/{id}"), None);
    paused?;
    removed.map(drop).map_err(Trouble::into)
}

fn pause(stage: &Stage, id: &str) -> Result<(), Failure> {
    let opened_at = stage.make_account()?;
    stage.send(&opened_at)?;
    stage.wait("the pause", "/organization/subscriptions", |list| {
        let mut all = list["results"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
        all.any(|one: &Value| one["webhook_uuid"] == id && one["status"] == "PAUSED")
    })
}

fn test_event(stage: &Stage) -> Result<(), Failure> {
    stage.call("GET", "/organization/subscribe/test", None)?;
    Ok(())
}

fn payment_due_date(stage: &Stage) -> Result<(), Failure> {
    let account = stage.lend()?;
    notify(stage, json!({ "notification_type": "payment_due_date", "time_offset": "-1 days", "time": "09:00:00" }))?;
    stage.roll_to(&account.first_due_at)
}

/// Without grace days, an instalment is late immediately after its due time.
fn late_fee_date(stage: &Stage) -> Result<(), Failure> {
    let account = stage.lend()?;
    notify(stage, json!({ "notification_type": "late_fee_date", "time_offset": "0 days" }))?;
    stage.roll_to(&account.first_due_at)
}

/// A loan with one instalment ends when it falls due.
fn loan_end_date(stage: &Stage) -> Result<(), Failure> {
    stage.make_product_with(1, json!({}))?;
    stage.make_customer()?;
    stage.make_account()?;
    let end = stage.first_due_at()?;
    notify(stage, json!({ "notification_type": "loan_end_date", "time_offset": "-1 days" }))?;
    stage.roll_to(&end)
}

fn account_summary(stage: &Stage) -> Result<(), Failure> {
    let account = stage.lend()?;
    notify(stage, json!({ "notification_type": "account_summary", "interval": "7 days" }))?;
    stage.roll_to(&account.first_due_at)
}

fn notify(stage: &Stage, form: Value) -> Result<(), Failure> {
    stage.put(&stage.of_account("notification_config"), form)?;
    Ok(())
}

fn set_status(stage: &Stage, status: &str, substatus: &str) -> Result<(), Failure> {
    let form = json!({ "account_status": status, "account_substatus": substatus });
    stage.put(&stage.of_account("status"), form)?;
    Ok(())
}
