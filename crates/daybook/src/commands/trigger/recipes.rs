//! The API calls that cause each event.

use super::trigger_session::TriggerSession;
use crate::commands::{Failure, listen};
use daybook_client::Trouble;
use daybook_operations::Operation;
use serde_json::{Value, json};

/// Causes an event.
pub type Recipe = fn(&TriggerSession) -> Result<(), Failure>;

/// The recipe of an event.
pub fn of(event: &str) -> Option<Recipe> {
    Some(match event {
        "account_create" => account_create,
        "account_update" => account_update,
        "account_status_change" => account_status_change,
        "schedule_change" => schedule_change,
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

fn account_create(session: &TriggerSession) -> Result<(), Failure> {
    session.make_product()?;
    session.make_customer()?;
    let opened_at = session.make_account()?;
    session.send(&opened_at)
}

/// Notification settings are part of an account.
fn account_update(session: &TriggerSession) -> Result<(), Failure> {
    let account = session.lend()?;
    notify(session, json!({ "notification_type": "payment_due_date", "time_offset": "-1 days" }))?;
    session.send(&account.opened_at)
}

/// A skipped instalment moves the due dates.
fn schedule_change(session: &TriggerSession) -> Result<(), Failure> {
    let account = session.lend()?;
    session.call_own(Operation::SkipInstallments, json!({}))?;
    session.send(&account.opened_at)
}

fn account_status_change(session: &TriggerSession) -> Result<(), Failure> {
    let account = session.lend()?;
    set_status(session, "SUSPENDED", "FRAUD")?;
    session.send(&account.opened_at)
}

fn account_closed(session: &TriggerSession) -> Result<(), Failure> {
    let account = session.lend()?;
    set_status(session, "CLOSED", "CUSTOMER_REQUEST")?;
    session.send(&account.opened_at)
}

fn customer_create(session: &TriggerSession) -> Result<(), Failure> {
    session.make_customer()
}

fn customer_update(session: &TriggerSession) -> Result<(), Failure> {
    session.make_customer()?;
    session.call_own(Operation::UpdateCustomer, json!({ "email": "ana@example.com" }))?;
    Ok(())
}

fn line_item_create(session: &TriggerSession) -> Result<(), Failure> {
    let account = session.lend()?;
    session.pay(json!({}))?;
    session.send(&account.opened_at)
}

fn line_item_update(session: &TriggerSession) -> Result<(), Failure> {
    let account = session.lend()?;
    session.pay(json!({ "line_item_status": "PENDING" }))?;
    session.call_own_item(Operation::ChangeLineItem, json!({ "line_item_status": "VALID" }))?;
    session.send(&account.opened_at)
}

fn first_instalment_is_missed(session: &TriggerSession) -> Result<(), Failure> {
    let account = session.lend()?;
    session.roll_to(&account.first_due_at)
}

fn payment_reversed(session: &TriggerSession) -> Result<(), Failure> {
    let account = session.lend()?;
    session.pay(json!({}))?;
    session.call_own_item(Operation::ReversePayment, json!({}))?;
    session.send(&account.opened_at)
}

/// Under `REPLAY`, a payment made in time but recorded after the due date removes the late fee.
fn account_recalculated(session: &TriggerSession) -> Result<(), Failure> {
    session.make_product_with(12, json!({ "backdating_policy": "REPLAY" }))?;
    session.make_customer()?;
    let opened_at = session.make_account()?;
    let first_due_at = session.first_due_at()?;
    session.roll_to(&first_due_at)?;
    session.pay(json!({ "effective_at": opened_at }))?;
    session.roll_to(&first_due_at)
}

fn migration_released(session: &TriggerSession) -> Result<(), Failure> {
    session.make_product()?;
    session.call_own(Operation::SetMigrationMode, json!({ "migration_mode": true }))?;
    session.make_customer()?;
    session.make_account()?;
    session.call_own(Operation::SetMigrationMode, json!({ "migration_mode": false }))?;
    let mode = Operation::GetMigrationMode.request([&session.id]);
    session.wait("the release", &mode, |progress| progress["finished_at"].is_string())
}

/// A URL that answers 401 is paused at once. The server itself does so, as a message carries no token.
fn subscription_paused(session: &TriggerSession) -> Result<(), Failure> {
    session.make_product()?;
    session.make_customer()?;
    let url = format!("{}{}?{}", session.url(), Operation::ListProducts.path(), session.id);
    let form = json!({ "webhook_url": url, "filter_events": ["account_create"] });
    let made = session.call(&Operation::Subscribe.request([]), Some(form));
    let made = made.map_err(|trouble| listen::explained(session.url(), trouble))?;
    let id = made["webhook_uuid"].as_str().unwrap_or_default().to_owned();
    let paused = pause(session, &id);
    // The subscription is removed even if the event did not happen.
    let removed = session.call(&Operation::DeleteSubscription.request([&id]), None);
    paused?;
    removed.map(drop).map_err(Trouble::into)
}

fn pause(session: &TriggerSession, id: &str) -> Result<(), Failure> {
    let opened_at = session.make_account()?;
    session.send(&opened_at)?;
    session.wait("the pause", &Operation::ListSubscriptions.request([]), |list| {
        let mut all = list["results"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
        all.any(|one: &Value| one["webhook_uuid"] == id && one["status"] == "PAUSED")
    })
}

fn test_event(session: &TriggerSession) -> Result<(), Failure> {
    session.call(&Operation::SendTestEvent.request([]), None)?;
    Ok(())
}

fn payment_due_date(session: &TriggerSession) -> Result<(), Failure> {
    let account = session.lend()?;
    notify(session, json!({ "notification_type": "payment_due_date", "time_offset": "-1 days", "time": "09:00:00" }))?;
    session.roll_to(&account.first_due_at)
}

/// Without grace days, an instalment is late immediately after its due time.
fn late_fee_date(session: &TriggerSession) -> Result<(), Failure> {
    let account = session.lend()?;
    notify(session, json!({ "notification_type": "late_fee_date", "time_offset": "0 days" }))?;
    session.roll_to(&account.first_due_at)
}

/// A loan with one instalment ends when it falls due.
fn loan_end_date(session: &TriggerSession) -> Result<(), Failure> {
    session.make_product_with(1, json!({}))?;
    session.make_customer()?;
    session.make_account()?;
    let end = session.first_due_at()?;
    notify(session, json!({ "notification_type": "loan_end_date", "time_offset": "-1 days" }))?;
    session.roll_to(&end)
}

fn account_summary(session: &TriggerSession) -> Result<(), Failure> {
    let account = session.lend()?;
    notify(session, json!({ "notification_type": "account_summary", "interval": "7 days" }))?;
    session.roll_to(&account.first_due_at)
}

fn notify(session: &TriggerSession, form: Value) -> Result<(), Failure> {
    session.call_own(Operation::SetNotificationConfig, form)?;
    Ok(())
}

fn set_status(session: &TriggerSession, status: &str, substatus: &str) -> Result<(), Failure> {
    let form = json!({ "account_status": status, "account_substatus": substatus });
    session.call_own(Operation::SetAccountStatus, form)?;
    Ok(())
}
