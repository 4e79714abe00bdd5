//! Records that a journal lost before they were processed, and altered records: `verify` reports the account, and
//! `--fix` changes nothing of it.

use crate::damage::{LOST, finds_and_leaves};
use crate::looked::Looked;
use crate::support::{Home, json_of, on_both};
use serde_json::json;

on_both!(
    a_lost_record_that_was_held_is_told,
    a_lost_record_that_was_scheduled_is_told,
    a_lost_record_of_a_failed_account_is_told,
    a_lost_record_is_told_apart_from_a_withdrawn_one,
    withdrawals_from_before_the_audit_trail_are_no_loss,
    values_of_an_altered_record_are_not_copied,
    an_account_under_another_product_is_told,
    attempts_in_the_wrong_place_are_not_counted,
);

const MAY: &str = "2026-05-10T12:00:00-04:00";
const LATER: &str = "2026-07-10T12:00:00-04:00";

/// Three payments to a1 that its product holds.
async fn holding(home: Home) -> Looked {
    let looked = Looked::lived(home).await;
    looked.trial.migration_mode("auto-12", true).await;
    for id in ["h1", "h2", "h3"] {
        json_of(looked.trial.pay("a1", id, 1_000, MAY).await);
    }
    looked.trial.verify().await;
    looked
}

/// The number of a record of a1.
async fn number_of(looked: &Looked, name: &str) -> i64 {
    let sql = format!("SELECT CAST(seq AS TEXT) FROM inputs WHERE account = 'a1' AND name = '{name}'");
    looked.run(&sql).await[0].parse().expect("a number")
}

fn no_record(number: i64) -> String {
    format!("account a1: {LOST}no record has number {number}, and no withdrawal removed it")
}

async fn a_lost_record_that_was_held_is_told(home: Home) {
    // The last one leaves no gap between two numbers.
    for id in ["h1", "h3"] {
        let looked = holding(home).await;
        let sentence = no_record(number_of(&looked, id).await);
        looked.change(&format!("DELETE FROM inputs WHERE account = 'a1' AND name = '{id}'")).await;
        finds_and_leaves(&looked, id, &sentence).await;
        // The count was altered too.
        looked.change("UPDATE accounts SET held_events = held_events - 1 WHERE account = 'a1'").await;
        finds_and_leaves(&looked, id, &sentence).await;
    }
}

async fn a_lost_record_that_was_scheduled_is_told(home: Home) {
    let looked = Looked::lived(home).await;
    let trial = &looked.trial;
    let status = json!({ "account_status": "SUSPENDED", "account_substatus": "FRAUD", "effective_at": LATER });
    json_of(trial.status("a1", &status).await);
    trial.verify().await;
    let which = "account = 'a1' AND seq = (SELECT max(i.seq) FROM inputs i WHERE i.account = 'a1')";
    looked.change(&format!("DELETE FROM inputs WHERE {which}")).await;
    finds_and_leaves(&looked, "scheduled", &format!("account a1: {LOST}no record has number ")).await;
}

async fn a_lost_record_of_a_failed_account_is_told(home: Home) {
    let looked = holding(home).await;
    let trial = &looked.trial;
    // A fee that does not exist is waived; only the fold can find that.
    json_of(trial.waive("a1", "dbk_late_fee_9", &json!({ "line_item_id": "w", "effective_at": MAY })).await);
    trial.release("auto-12").await;
    trial.verify().await;
    let sentence = no_record(number_of(&looked, "w").await);
    looked.change("DELETE FROM inputs WHERE account = 'a1' AND name = 'w'").await;
    finds_and_leaves(&looked, "failed", &sentence).await;
}

async fn a_lost_record_is_told_apart_from_a_withdrawn_one(home: Home) {
    let looked = holding(home).await;
    let trial = &looked.trial;
    // Its reversal goes with it.
    json_of(trial.reverse("a1", "h3", &json!({ "effective_at": MAY })).await);
    let sentence = no_record(number_of(&looked, "h2").await);
    json_of(trial.withdraw("a1", "h1").await);
    json_of(trial.withdraw("a1", "h3").await);
    trial.verify().await;
    looked.change("DELETE FROM inputs WHERE account = 'a1' AND name = 'h2'").await;
    finds_and_leaves(&looked, "h2", &sentence).await;
}

/// The audit trail begins after the account. Then only the count of held records shows that one is lost.
async fn withdrawals_from_before_the_audit_trail_are_no_loss(home: Home) {
    let looked = holding(home).await;
    json_of(looked.trial.withdraw("a1", "h1").await);
    let none = if home == Home::Sqlite { "x''" } else { "''" };
    looked.run("DELETE FROM audit WHERE org = 1 RETURNING 'x'").await;
    looked.change(&format!("UPDATE audit_heads SET seq = 0, hash = {none} WHERE org = 1")).await;
    looked.trial.verify().await;
    let sentence = format!("account a1: {LOST}no record has number ");
    looked.change("DELETE FROM inputs WHERE account = 'a1' AND name = 'h2'").await;
    finds_and_leaves(&looked, "h2", &sentence).await;
}

/// The line item and the account still have the right values, and signed messages confirm them.
async fn values_of_an_altered_record_are_not_copied(home: Home) {
    for (column, value, name, sentence) in [
        ("recorded_at", "recorded_at - 1", "p", "account a1: line item p is stored as created at "),
        ("extra", "NULL", "p", "account a1: the external fields of line item p differ from its journal record"),
        ("recorded_at", "recorded_at - 1", "dbk_open", "account a1: created_at is "),
    ] {
        let looked = Looked::lived(home).await;
        looked.change(&format!("UPDATE inputs SET {column} = {value} WHERE account = 'a1' AND name = '{name}'")).await;
        finds_and_leaves(&looked, &format!("{name}: {column}"), sentence).await;
    }
}

async fn an_account_under_another_product_is_told(home: Home) {
    let looked = Looked::lived(home).await;
    looked.trial.product("other-12", json!({})).await;
    looked.change("UPDATE accounts SET product = 'other-12' WHERE account = 'a1'").await;
    let sentence = "account a1: its product is other-12, but its messages name product auto-12.";
    finds_and_leaves(&looked, "product", sentence).await;
}

/// Neither for another organization nor for another webhook URL.
async fn attempts_in_the_wrong_place_are_not_counted(home: Home) {
    let wrong = [("subscription", "99"), ("{place}", if home == Home::Sqlite { "3" } else { "900" })];
    for (column, value) in wrong {
        let looked = Looked::lived(home).await;
        let hours = looked.rows("delivery_hours").await;
        looked.change(&format!("UPDATE attempts SET {column} = {value} WHERE error IS NOT NULL")).await;
        looked.finds(column).await;
        looked.trial.service.fix(&mut |_| {}).await.expect("it goes on");
        assert_eq!(looked.rows("delivery_hours").await, hours, "{column}");
    }
}
