//! Configurable notices.

use crate::support::{Home, Trial, code_of, json_of, list, on_both, view_of};
use daybook_service::changes::ChangeRequest;
use serde_json::{Value, json};

on_both!(
    a_notice_fires_on_its_day,
    the_same_key_replaces_and_false_switches_off,
    a_summary_comes_by_interval,
    nothing_fires_after_closing,
    a_configuration_is_announced,
    a_configuration_may_be_loaded_while_holding,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";

async fn open(home: Home) -> Trial {
    let trial = Trial::at(home, "2026-04-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    trial
}

async fn fired(trial: &Trial, kind: &str) -> Vec<String> {
    let messages = trial.messages("a1").await;
    let of_kind = messages.iter().filter(|message| message.event == kind);
    of_kind.map(|message| crate::support::data(message)["effective_at"].as_str().expect("a time").to_owned()).collect()
}

async fn settings(trial: &Trial) -> Vec<Value> {
    list(view_of(trial.service.get_notification_config(&trial.who, "a1").await))
}

async fn a_notice_fires_on_its_day(home: Home) {
    let trial = open(home).await;
    let body = json!({ "notification_type": "payment_due_date", "time_offset": "-3 days", "time": "09:00:00" });
    let set = list(json_of(trial.notify("a1", &body).await));
    assert_eq!(set[0]["next_at"], "2026-04-12T09:00:00-04:00");
    assert_eq!((&set[0]["time_offset"], &set[0]["enabled"]), (&json!("-3 days"), &json!(true)));
    assert_eq!(settings(&trial).await, set);
    trial.go_to("2026-04-12T08:59:59-04:00").await;
    assert_eq!(fired(&trial, "payment_due_date").await, Vec::<String>::new());
    trial.go_to("2026-04-12T09:00:00-04:00").await;
    assert_eq!(fired(&trial, "payment_due_date").await, ["2026-04-12T09:00:00-04:00"]);
    assert_eq!(settings(&trial).await[0]["next_at"], "2026-05-12T09:00:00-04:00");
    trial.go_to("2026-06-13T09:00:00-04:00").await;
    assert_eq!(fired(&trial, "payment_due_date").await.len(), 3);
    let messages = trial.messages("a1").await;
    let notice = messages.iter().find(|message| message.event == "payment_due_date").expect("it is there");
    assert_eq!(crate::support::data(notice)["instalment"], 1);
    assert_eq!(crate::support::data(notice)["object"]["account_id"], "a1");
    trial.verify().await;
}

async fn the_same_key_replaces_and_false_switches_off(home: Home) {
    let trial = open(home).await;
    let body = |time: &str, enabled: bool| json!({ "notification_type": "payment_due_date", "time_offset": "-1 days", "time": time, "enabled": enabled });
    json_of(trial.notify("a1", &body("09:00:00", true)).await);
    json_of(trial.notify("a1", &body("10:00:00", true)).await);
    assert_eq!(settings(&trial).await.len(), 1);
    trial.go_to("2026-04-20T00:00:00-04:00").await;
    assert_eq!(fired(&trial, "payment_due_date").await, ["2026-04-14T10:00:00-04:00"]);
    json_of(trial.notify("a1", &body("10:00:00", false)).await);
    trial.go_to("2026-05-20T00:00:00-04:00").await;
    assert_eq!(fired(&trial, "payment_due_date").await.len(), 1);
    for wrong in [
        json!({ "notification_type": "payment_due_date", "interval": "7 days" }),
        json!({ "notification_type": "account_summary" }),
        json!({ "notification_type": "payment_due_date", "time_offset": "-367 days" }),
    ] {
        let form = daybook_service::form::parse(wrong.to_string().as_bytes());
        let answer = match form {
            Ok(form) => trial.service.change_account(&trial.who, None, "a1", ChangeRequest::Notice(form)).await,
            Err(bad) => Err(bad.into()),
        };
        assert_eq!(code_of(answer), "invalid_request", "{wrong}");
    }
    trial.verify().await;
}

async fn a_summary_comes_by_interval(home: Home) {
    let trial = open(home).await;
    json_of(
        trial
            .notify("a1", &json!({ "notification_type": "account_summary", "interval": "7 days", "time": "08:00:00" }))
            .await,
    );
    trial.go_to("2026-04-30T00:00:00-04:00").await;
    let days: Vec<String> = fired(&trial, "account_summary").await.iter().map(|at| at[..10].to_owned()).collect();
    assert_eq!(days, ["2026-04-08", "2026-04-15", "2026-04-22", "2026-04-29"]);
    trial.verify().await;
}

async fn nothing_fires_after_closing(home: Home) {
    let trial = open(home).await;
    json_of(
        trial
            .notify(
                "a1",
                &json!({ "notification_type": "payment_due_date", "time_offset": "0 days", "time": "08:00:00" }),
            )
            .await,
    );
    json_of(trial.status("a1", &json!({ "account_status": "CLOSED", "account_substatus": "CUSTOMER_REQUEST" })).await);
    assert_eq!(settings(&trial).await[0]["next_at"], Value::Null);
    trial.go_to("2026-05-16T00:00:00-04:00").await;
    assert_eq!(fired(&trial, "payment_due_date").await, Vec::<String>::new());
    json_of(trial.status("a1", &json!({ "account_status": "ACTIVE" })).await);
    trial.go_to("2026-06-16T00:00:00-04:00").await;
    assert_eq!(fired(&trial, "payment_due_date").await, ["2026-06-15T08:00:00-04:00"]);
    trial.verify().await;
}

async fn a_configuration_is_announced(home: Home) {
    let trial = open(home).await;
    let before = trial.announced("a1").await.len();
    json_of(trial.notify("a1", &json!({ "notification_type": "loan_end_date", "time_offset": "-30 days" })).await);
    assert_eq!(trial.announced_after("a1", before).await, ["account_update"]);
    trial.verify().await;
}

async fn a_configuration_may_be_loaded_while_holding(home: Home) {
    let trial = open(home).await;
    trial.migration_mode("auto-12", true).await;
    let body = json!({
        "notification_type": "payment_due_date", "time_offset": "-3 days", "time": "09:00:00",
        "effective_at": "2026-03-20T00:00:00-04:00",
    });
    json_of(trial.notify("a1", &body).await);
    assert_eq!(settings(&trial).await, Vec::<Value>::new());
    trial.release("auto-12").await;
    assert_eq!(settings(&trial).await[0]["next_at"], "2026-04-12T09:00:00-04:00");
    trial.verify().await;
    trial.go_to("2026-04-12T09:00:00-04:00").await;
    assert_eq!(fired(&trial, "payment_due_date").await.len(), 1);
    trial.verify().await;
}
