//! The content of messages: in a varied history, every message matches its schema in the catalogue.

use crate::messages::Ordered;
use crate::support::{Home, LEVEL, Trial, form_of, json_of, list, on_both, view_of};
use daybook_service::changes::ChangeRequest;
use daybook_service::form::LoanChange;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

on_both!(every_message_of_a_rich_history_obeys_the_schema_of_its_event);

const OPENING: &str = "2026-03-15T00:00:00-04:00";

/// The schemas of the catalogue, made strict: an unknown field is an error too.
async fn schemas(trial: &Trial) -> BTreeMap<String, Validator> {
    let strict = |entry: Value| {
        let mut schema = entry["schema"].clone();
        close(&mut schema);
        let validator = jsonschema::draft202012::options().should_validate_formats(true).build(&schema);
        (entry["name"].as_str().expect("a name").to_owned(), validator.expect("the schema is one"))
    };
    list(view_of(trial.service.event_types(&trial.who).await)).into_iter().map(strict).collect()
}

fn close(schema: &mut Value) {
    if schema["properties"].is_object() && schema["type"] == "object" {
        schema["additionalProperties"] = json!(false);
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(close),
        Value::Array(values) => values.iter_mut().for_each(close),
        _ => {}
    }
}

/// Customers, payments of all kinds, missed instalments, reversals, notices, closing.
async fn live_history(trial: &Trial, product: &str) {
    let ada = json!({ "customer_id": "ada", "name_last": "Löve\u{2028}\"\\/\u{7f}", "ssn": "123-45-6789",
        "external_fields": [{ "key": "\u{1}", "value": "😀" }] });
    json_of(trial.service.create_customer(&trial.who, None, form_of(&ada)).await);
    trial
        .account_with(json!({
            "product_id": product, "account_id": "a1", "effective_at": OPENING,
            "summary": { "initial_principal_cents": 120_000, "origination_fee_cents": 5_000, "late_fee_cap_percent": 0.0001 },
            "assign_customers": [{ "customer_id": "ada" }], "external_fields": [{ "key": "crm", "value": "7\t" }]
        }))
        .await;
    let update = json!({ "email": "ada@example.com", "assign_to_accounts": [
        { "account_id": "a1", "customer_account_role": "SECONDARY" }] });
    json_of(trial.service.update_customer(&trial.who, None, "ada", form_of(&update)).await);
    for notice in [
        json!({ "notification_type": "payment_due_date", "time_offset": "-3 days" }),
        json!({ "notification_type": "late_fee_date", "time_offset": "0 days" }),
        json!({ "notification_type": "loan_end_date", "time_offset": "-330 days" }),
        json!({ "notification_type": "account_summary", "interval": "7 days" }),
    ] {
        json_of(trial.notify("a1", &notice).await);
    }
    let later =
        json!({ "line_item_id": "later", "original_amount_cents": 100, "effective_at": "2026-04-10T00:00:00Z" });
    json_of(trial.pay_with("a1", &later).await);
    trial.go_to("2026-04-20T12:00:00-04:00").await;
    let pending = json!({ "line_item_id": "p1", "original_amount_cents": 9_999, "line_item_status": "PENDING" });
    json_of(trial.pay_with("a1", &pending).await);
    json_of(trial.change("a1", "p1", &json!({ "line_item_status": "VALID" })).await);
    json_of(trial.reverse("a1", "p1", &json!({})).await);
    json_of(trial.pay("a1", "p2", LEVEL, "2026-04-14T09:00:00-04:00").await);
    json_of(trial.fee("a1", &json!({ "line_item_id": "f1", "original_amount_cents": 700 })).await);
    json_of(trial.waive("a1", "f1", &json!({})).await);
    let offset = |cents: i64| json!({ "original_amount_cents": cents, "allocation": "PRINCIPAL" });
    json_of(trial.credit("a1", &offset(300)).await);
    json_of(trial.debit("a1", &offset(200)).await);
    json_of(trial.status("a1", &json!({ "account_status": "SUSPENDED", "account_substatus": "FRAUD" })).await);
    json_of(trial.status("a1", &json!({ "account_status": "ACTIVE" })).await);
    trial.go_to("2026-06-20T12:00:00-04:00").await;
    json_of(trial.roll("a1", "2026-07-20T12:00:00-04:00", true).await);
    trial.go_to("2026-07-21T12:00:00-04:00").await;
    let skip = ChangeRequest::Loan(Box::new(LoanChange::Skip(form_of(&json!({})))));
    json_of(trial.service.change_account(&trial.who, None, "a1", skip).await);
    json_of(trial.pay_with("a1", &json!({ "line_item_id": "all", "original_amount_cents": 500_000 })).await);
}

async fn every_message_of_a_rich_history_obeys_the_schema_of_its_event(home: Home) {
    let trial = Trial::at(home, "2026-04-01T12:00:00-04:00").await;
    let reversal_fee = json!({ "backdating_policy": "REPLAY",
        "default_attributes": { "default_payment_reversal_fee_cents": 2_500 } });
    trial.product("replay", reversal_fee).await;
    live_history(&trial, "replay").await;
    trial.product("moved", json!({ "amortization_policies": { "method": "EQUAL_PRINCIPAL" } })).await;
    trial.migration_mode("moved", true).await;
    trial.account("moved", "m1", OPENING).await;
    json_of(trial.pay("m1", "p", LEVEL, "2026-04-15T09:00:00-04:00").await);
    json_of(trial.reverse("m1", "p", &json!({ "effective_at": "2026-04-17T09:00:00-04:00" })).await);
    trial.release("moved").await;
    view_of(trial.service.rotate_hmac_key(&trial.who).await);
    view_of(trial.service.send_test_event(&trial.who).await);
    let url = json!({ "webhook_url": "https://example.com/a", "filter_events": ["account_closed"] });
    json_of(trial.service.subscribe(&trial.who, None, form_of(&url)).await);
    let paused = &trial.store.subscriptions(trial.who.org).await.expect("they can be read")[0];
    let (reason, at) = ("UNAUTHORIZED".to_owned(), paused.created_at);
    let pause = daybook_store::outbox::Pause { reason, at, probe_at: None };
    let mut all = trial.log().await;
    all.push(trial.service.dispatcher_support().paused(paused, &pause).await.expect("it can be said"));

    let schemas = schemas(&trial).await;
    let mut seen = BTreeSet::new();
    for message in &all {
        let text = std::str::from_utf8(&message.data).expect("UTF-8");
        let data: Value = serde_json::from_str(text).expect("JSON");
        let schema = schemas.get(&message.event).unwrap_or_else(|| panic!("{} is not listed", message.event));
        let wrong: Vec<String> =
            schema.iter_errors(&data).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(wrong, Vec::<String>::new(), "{}: {text}", message.event);
        // A receiver that parses it and writes it again gets the same bytes.
        assert_eq!(serde_json::from_str::<Ordered>(text).expect("JSON").0, text, "{}", message.event);
        seen.insert(message.event.as_str());
    }
    let listed: BTreeSet<&str> = schemas.keys().map(String::as_str).collect();
    assert_eq!(seen, listed, "the history shows every event there is");
    trial.verify().await;
}
