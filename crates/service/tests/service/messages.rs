//! Messages: which are announced, in which order, with which bytes.

use crate::support::{Home, LEVEL, Trial, data, json_of, on_both};
use daybook_webhooks::signature::SigningKey;
use serde_json::{Value, json};
use std::collections::HashSet;

on_both!(
    an_opening_is_announced_with_its_loan_and_fee,
    a_month_paid_on_time_sends_three_messages,
    a_missed_month_sends_five,
    every_message_is_numbered_signed_and_readable,
    a_message_shows_things_as_they_were_then,
    curing_is_announced,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";

async fn open(home: Home) -> Trial {
    let trial = Trial::at(home, "2026-04-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    trial
}

async fn an_opening_is_announced_with_its_loan_and_fee(home: Home) {
    let trial = open(home).await;
    assert_eq!(trial.announced("a1").await, ["account_create", "line_item_create"]);
    trial
        .account_with(json!({ "product_id": "auto-12", "account_id": "a2", "summary": {
        "initial_principal_cents": 120_000, "origination_fee_cents": 5_000,
    } }))
        .await;
    assert_eq!(trial.announced("a2").await, ["account_create", "line_item_create", "line_item_create"]);
    let subjects: Vec<String> = trial.messages("a2").await.into_iter().map(|message| message.subject).collect();
    assert_eq!(subjects, ["", "dbk_loan", "dbk_orig_fee"]);
    trial.verify().await;
}

async fn a_month_paid_on_time_sends_three_messages(home: Home) {
    let trial = open(home).await;
    let before = trial.announced("a1").await.len();
    trial.go_to("2026-04-15T09:00:00-04:00").await;
    json_of(trial.pay("a1", "p", LEVEL, "2026-04-15T09:00:00-04:00").await);
    trial.go_to("2026-04-16T09:00:00-04:00").await;
    let mut announced = trial.announced_after("a1", before).await;
    announced.sort();
    assert_eq!(announced, ["due_date_passed", "line_item_create", "line_item_create"]);
    let messages = trial.messages("a1").await;
    let due = data(messages.iter().find(|message| message.event == "due_date_passed").expect("it is there"));
    assert_eq!((&due["paid"], &due["instalment"]), (&json!(true), &json!(1)));
    assert_eq!(due["effective_at"], "2026-04-15T23:59:59-04:00");
    trial.verify().await;
}

async fn a_missed_month_sends_five(home: Home) {
    let trial = open(home).await;
    let before = trial.announced("a1").await.len();
    trial.go_to("2026-04-16T09:00:00-04:00").await;
    let missed = ["line_item_create", "due_date_passed", "payment_missed", "line_item_create", "account_status_change"];
    assert_eq!(trial.announced_after("a1", before).await, missed);
    let messages = trial.messages("a1").await.split_off(before);
    let subjects: Vec<&str> = messages.iter().map(|message| message.subject.as_str()).collect();
    assert_eq!(subjects, ["dbk_interest_1", "instalment:1", "instalment:1", "dbk_late_fee_1", ""]);
    let status = data(&messages[4]);
    assert_eq!(status["previous_status"]["account_status"], "ACTIVE");
    assert_eq!(status["object"]["account_overview"]["account_status_subtype"], "DELINQUENT");
    trial.verify().await;
}

async fn every_message_is_numbered_signed_and_readable(home: Home) {
    let trial = open(home).await;
    trial.account("auto-12", "a2", OPENING).await;
    json_of(trial.pay("a1", "p", LEVEL, "2026-04-01T12:00:00-04:00").await);
    json_of(trial.pay("a2", "p\u{7e}1", 300, "2026-04-01T12:00:00-04:00").await);
    json_of(
        trial.reverse("a1", "p", &json!({ "external_fields": [{ "key": "a", "value": "\u{1}\"/é\u{2028}<&" }] })).await,
    );
    trial.go_to("2026-08-16T12:00:00-04:00").await;
    json_of(trial.pay("a2", "all", 500_000, "2026-08-16T12:00:00-04:00").await);
    let row = &trial.store.organizations().await.expect("they can be read")[0];
    assert!(!row.signing_key.is_empty());
    let mut ids = HashSet::new();
    for account in ["a1", "a2"] {
        for (index, message) in trial.messages(account).await.iter().enumerate() {
            let data = data(message);
            assert_eq!(message.sequence, index as i64 + 1);
            assert_eq!(data["account_sequence"], message.sequence);
            assert_eq!(data["event_id"], json!(message.event_id));
            for field in ["changed_at", "effective_at", "object"] {
                assert!(!data[field].is_null(), "{field} of {}", message.event);
            }
            assert!(ids.insert(message.event_id.clone()), "{} is not unique", message.event_id);
            // Compact, no floats: a receiver that parses it and writes it again gets the same bytes.
            let text = std::str::from_utf8(&message.data).expect("UTF-8");
            assert_eq!(serde_json::from_str::<Ordered>(text).expect("JSON").0, text, "{}", message.event);
        }
    }
    let positions: Vec<i64> = trial.log().await.iter().filter_map(|message| message.position).collect();
    assert_eq!(positions, (1..=positions.len() as i64).collect::<Vec<_>>());
    // Signed with the organization's key, not with the secrets key.
    let message = &trial.messages("a1").await[0];
    assert!(!SigningKey::from_bytes(&[7; 32]).verify(&message.data, &message.signature));
    assert_eq!(message.signature.len(), 44);
    trial.verify().await;
}

/// JSON written in the order it was read, as by `JSON.stringify(JSON.parse(text))`.
pub struct Ordered(pub String);

impl<'de> serde::Deserialize<'de> for Ordered {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Ordered, D::Error> {
        struct Writer;
        impl<'de> serde::de::Visitor<'de> for Writer {
            type Value = Ordered;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("JSON without floats")
            }
            fn visit_unit<E>(self) -> Result<Ordered, E> {
                Ok(Ordered("null".to_owned()))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Ordered, E> {
                Ok(Ordered(value.to_string()))
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Ordered, E> {
                if value.unsigned_abs() > 1 << 53 {
                    Err(E::custom("too large"))
                } else {
                    Ok(Ordered(value.to_string()))
                }
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Ordered, E> {
                if value > 1 << 53 { Err(E::custom("too large")) } else { Ok(Ordered(value.to_string())) }
            }
            fn visit_f64<E>(self, value: f64) -> Result<Ordered, E> {
                Ok(Ordered(if value.fract() == 0.0 { format!("{value:.0}") } else { value.to_string() }))
            }
            fn visit_str<E>(self, value: &str) -> Result<Ordered, E> {
                Ok(Ordered(Value::from(value).to_string()))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Ordered, A::Error> {
                let mut parts = Vec::new();
                while let Some(Ordered(part)) = list.next_element()? {
                    parts.push(part);
                }
                Ok(Ordered(format!("[{}]", parts.join(","))))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
                let mut parts = Vec::new();
                while let Some((name, Ordered(part))) = map.next_entry::<String, Ordered>()? {
                    parts.push(format!("{}:{part}", Value::from(name)));
                }
                Ok(Ordered(format!("{{{}}}", parts.join(","))))
            }
        }
        deserializer.deserialize_any(Writer)
    }
}

async fn a_message_shows_things_as_they_were_then(home: Home) {
    let trial = open(home).await;
    trial.go_to("2026-06-16T09:00:00-04:00").await;
    let messages = trial.messages("a1").await;
    let owed: Vec<i64> = messages
        .iter()
        .filter(|message| message.event == "due_date_passed")
        .map(|message| data(message)["object"]["summary"]["total_balance_cents"].as_i64().expect("cents"))
        .collect();
    // Interest is posted before the due date passes, the late fee after: 1,212.00; then 12.00 and 15.00 more each
    // month.
    assert_eq!(owed, [121_200, 123_900, 126_600]);
    // The payment's message contains its splits.
    json_of(trial.pay("a1", "p", 1_500, "2026-06-16T09:00:00-04:00").await);
    let paid = data(trial.messages("a1").await.last().expect("it is there"));
    assert_eq!(paid["object"]["line_item_relationships"][0]["paid_down_line_item_id"], "dbk_interest_1");
    assert_eq!(paid["object"], trial.item("a1", "p").await);
    trial.verify().await;
}

async fn curing_is_announced(home: Home) {
    let trial = open(home).await;
    trial.go_to("2026-04-16T09:00:00-04:00").await;
    let before = trial.announced("a1").await.len();
    // 15.00, 12.00 of April, 12.00 of May and 94.62 of April's principal.
    json_of(trial.pay("a1", "p", 1_500 + 1_200 + 1_200 + 9_462, "2026-04-16T09:00:00-04:00").await);
    assert_eq!(trial.standing("a1").await, "ACTIVE");
    let mut announced = trial.announced_after("a1", before).await;
    announced.retain(|event| event != "line_item_create");
    assert_eq!(announced, ["account_status_change"]);
    trial.verify().await;
}
