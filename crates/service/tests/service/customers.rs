//! Customers and their accounts.

use crate::support::{Home, Trial, code_of, data, form_of, json_of, on_both, view_of};
use serde_json::{Value, json};

on_both!(
    a_customer_put_on_accounts_is_announced_on_each,
    an_account_may_be_named_once,
    a_customer_that_changes_at_once_in_many_hands_loses_nothing,
    customers_on_new_accounts_must_exist,
    customers_are_not_held,
    numbers_are_never_echoed,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";

async fn open(home: Home) -> Trial {
    let trial = Trial::at(home, "2026-04-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    trial.account("auto-12", "a2", OPENING).await;
    trial
}

async fn make(trial: &Trial, body: Value) -> Result<bytes::Bytes, daybook_service::problem::Problem> {
    trial.service.create_customer(&trial.who, None, form_of(&body)).await
}

async fn a_customer_put_on_accounts_is_announced_on_each(home: Home) {
    let trial = open(home).await;
    let before = trial.announced("a1").await.len();
    let made = json_of(make(&trial, json!({
        "customer_id": "c", "name_last": "Li",
        "assign_to_accounts": [{ "account_id": "a1" }, { "account_id": "a2", "customer_account_role": "SECONDARY" }],
    })).await);
    assert_eq!(made["accounts"].as_array().map(Vec::len), Some(2));
    for account in ["a1", "a2"] {
        assert_eq!(trial.announced_after(account, before).await, ["account_update"]);
    }
    assert_eq!(
        trial.read("a2").await["customers"],
        json!([{ "customer_id": "c", "customer_account_role": "SECONDARY" }])
    );
    let created: Vec<_> = trial.log().await.into_iter().filter(|message| message.event == "customer_create").collect();
    assert_eq!((created.len(), &data(&created[0])["object"]["customer_id"]), (1, &json!("c")));
    assert_eq!(view_of(trial.service.get_customer(&trial.who, "c").await), made);
    // The same role again does not change the account.
    let update = json!({ "name_last": "Lee", "assign_to_accounts": [{ "account_id": "a1" }] });
    json_of(trial.service.update_customer(&trial.who, None, "c", form_of(&update)).await);
    assert_eq!(trial.announced("a1").await.len(), before + 1);
    let update = json!({ "assign_to_accounts": [{ "account_id": "a1", "customer_account_role": "CARDHOLDER" }] });
    let updated = json_of(trial.service.update_customer(&trial.who, None, "c", form_of(&update)).await);
    assert_eq!(updated["name_last"], "Lee");
    assert_eq!(trial.announced("a1").await.len(), before + 2);
    assert_eq!(trial.log().await.iter().filter(|message| message.event == "customer_update").count(), 2);
    let missing = make(&trial, json!({ "name_last": "X", "assign_to_accounts": [{ "account_id": "nobody" }] })).await;
    assert_eq!(code_of(missing), "invalid_request");
    trial.verify().await;
}

async fn an_account_may_be_named_once(home: Home) {
    let trial = open(home).await;
    let twice = make(&trial, json!({
        "customer_id": "c", "name_last": "Li", "assign_to_accounts": [{ "account_id": "a1" }, { "account_id": "a1" }],
    })).await;
    assert_eq!(code_of(twice), "invalid_request");
    trial.verify().await;
}

async fn a_customer_that_changes_at_once_in_many_hands_loses_nothing(home: Home) {
    let trial = open(home).await;
    json_of(make(&trial, json!({ "customer_id": "c", "name_last": "Li" })).await);
    let fields = ["name_first", "name_middle", "name_prefix", "name_suffix", "address_city", "address_state"];
    let changing = fields.map(|field| {
        let trial = trial.clone();
        tokio::spawn(async move {
            let update = json!({ field: field, "assign_to_accounts": [{ "account_id": "a1" }] });
            trial.service.update_customer(&trial.who, None, "c", form_of(&update)).await
        })
    });
    let paying: Vec<_> = (0..20)
        .map(|number| {
            let trial = trial.clone();
            tokio::spawn(async move { trial.pay("a1", &format!("p{number}"), 10, "2026-04-01T12:00:00-04:00").await })
        })
        .collect();
    for call in changing.into_iter().chain(paying) {
        json_of(call.await.expect("it does not panic"));
    }
    let customer = view_of(trial.service.get_customer(&trial.who, "c").await);
    for field in fields {
        assert_eq!(customer[field], field);
    }
    assert_eq!(trial.items("a1", "PAYMENT").await.len(), 20);
    assert_eq!(trial.announced("a1").await.iter().filter(|event| *event == "account_update").count(), 1);
    trial.verify().await;
}

async fn customers_on_new_accounts_must_exist(home: Home) {
    let trial = open(home).await;
    let body = |customers: Value| {
        form_of(&json!({
            "product_id": "auto-12", "account_id": "a3", "summary": { "initial_principal_cents": 1_000 }, "assign_customers": customers,
        }))
    };
    let service = &trial.service;
    let missing = service.create_account(&trial.who, None, body(json!([{ "customer_id": "c" }]))).await;
    assert_eq!(code_of(missing), "invalid_request");
    json_of(make(&trial, json!({ "customer_id": "c", "name_last": "Li" })).await);
    let twice =
        service.create_account(&trial.who, None, body(json!([{ "customer_id": "c" }, { "customer_id": "c" }]))).await;
    assert_eq!(code_of(twice), "invalid_request");
    let made = json_of(service.create_account(&trial.who, None, body(json!([{ "customer_id": "c" }]))).await);
    assert_eq!(made["customers"][0]["customer_account_role"], "PRIMARY");
    let customer = view_of(trial.service.get_customer(&trial.who, "c").await);
    assert_eq!(customer["accounts"][0]["account_id"], "a3");
    trial.verify().await;
}

async fn customers_are_not_held(home: Home) {
    let trial = open(home).await;
    let before = trial.announced("a1").await.len();
    trial.migration_mode("auto-12", true).await;
    json_of(
        make(&trial, json!({ "customer_id": "c", "name_last": "Li", "assign_to_accounts": [{ "account_id": "a1" }] }))
            .await,
    );
    assert_eq!(trial.log().await.iter().filter(|message| message.event == "customer_create").count(), 1);
    assert_eq!(trial.announced("a1").await.len(), before);
    assert_eq!(trial.read("a1").await["held_events"], 1);
    trial.verify().await;
    trial.release("auto-12").await;
    assert_eq!(trial.announced_after("a1", before).await, ["account_update"]);
    trial.verify().await;
}

async fn numbers_are_never_echoed(home: Home) {
    let trial = open(home).await;
    let made =
        make(&trial, json!({ "customer_id": "c", "name_last": "Li", "ssn": "123-45-6789" })).await.expect("it is made");
    let text = String::from_utf8(made.to_vec()).expect("text");
    assert!(
        text.contains("\"ssn_last_four\":\"6789\"") && !text.contains("12345") && !text.contains("123-45"),
        "{text}"
    );
    for message in trial.log().await {
        let text = String::from_utf8(message.data.to_vec()).expect("text");
        assert!(!text.contains("123456789") && !text.contains("123-45-6789"));
    }
    let row = trial.store.customer(trial.who.org, "c").await.expect("it can be read").expect("it is there");
    assert!(!row.body.contains("6789"));
}
