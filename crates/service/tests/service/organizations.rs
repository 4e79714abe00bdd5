//! Organizations: objects with the same ids in two of them are separate.

use crate::support::{
    Home, LEVEL, PLAN, Trial, balances, code_of, data, form_of, idempotency_key, json_of, list, on_both, view_of, whole,
};
use daybook_service::CustomerQuery;
use daybook_service::changes::ChangeRequest;
use serde_json::json;
use std::collections::HashSet;

on_both!(
    two_organizations_do_not_see_each_other,
    ids_of_events_are_unique_in_the_installation,
    roles_may_do_what_they_say,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";
const NOW: &str = "2026-04-01T12:00:00-04:00";

async fn two_organizations_do_not_see_each_other(home: Home) {
    let first = Trial::at(home, NOW).await;
    first.service.create_organization("second", "TEST").await.expect("it is made");
    let second = Trial { who: first.service.operator(Some("second")).await.expect("it is there"), ..first.clone() };
    first.product("auto-12", json!({})).await;
    first.account("auto-12", "a1", OPENING).await;
    assert_eq!(code_of(second.service.get_product(&second.who, "auto-12").await), "not_found");
    assert_eq!(code_of(second.service.get_account(&second.who, "a1", None).await), "not_found");
    assert_eq!(code_of(second.pay("a1", "p", LEVEL, NOW).await), "not_found");
    assert_eq!(code_of(second.roll("a1", "2026-05-01T00:00:00-04:00", false).await), "not_found");
    let body = json!({ "product_id": "auto-12", "account_id": "a1", "summary": { "initial_principal_cents": 1 } });
    assert_eq!(code_of(second.service.create_account(&second.who, None, form_of(&body)).await), "invalid_request");
    second.product("auto-12", json!({ "default_attributes": { "default_late_fee_cents": 99 } })).await;
    second.account("auto-12", "a1", OPENING).await;
    json_of(first.pay("a1", "p", LEVEL, NOW).await);
    json_of(second.pay("a1", "p", 100, NOW).await);
    assert_eq!(balances(&first.read("a1").await), [PLAN[1], 0, 0, 0]);
    assert_eq!(balances(&second.read("a1").await), [120_000, 0, 0, 0]);
    // One holds events, the other does not.
    first.migration_mode("auto-12", true).await;
    second.go_to("2026-04-20T12:00:00-04:00").await;
    assert_eq!(second.items("a1", "LATE_FEE").await.len(), 1);
    assert_eq!(second.read("a1").await["summary"]["fees_balance_cents"], 99);
    first.release("auto-12").await;
    assert!(second.log().await.iter().all(|message| message.event != "migration_released"));
    // Each organization has its own idempotency keys.
    let fee = || form_of(&json!({ "original_amount_cents": 5 }));
    json_of(
        first.service.change_account(&first.who, idempotency_key("k", "one"), "a1", ChangeRequest::Fee(fee())).await,
    );
    json_of(
        second.service.change_account(&second.who, idempotency_key("k", "two"), "a1", ChangeRequest::Fee(fee())).await,
    );
    let customer = form_of(&json!({ "customer_id": "c", "name_last": "Li" }));
    json_of(first.service.create_customer(&first.who, None, customer).await);
    assert_eq!(code_of(second.service.get_customer(&second.who, "c").await), "not_found");
    assert_eq!(
        list(view_of(second.service.list_customers(&second.who, whole(), CustomerQuery::default()).await)).len(),
        0
    );
    // Each signs with its own key: `verify` would report a signature by the other's key.
    let (one, two) = (&first.messages("a1").await[0], &second.messages("a1").await[0]);
    assert_ne!(one.signature, two.signature);
    first.verify().await;
}

/// A receiver that serves two organizations drops events it has already seen. So two organizations that do the same
/// with the same ids must never announce it under the same event id.
async fn ids_of_events_are_unique_in_the_installation(home: Home) {
    let first = Trial::at(home, NOW).await;
    first.service.create_organization("second", "TEST").await.expect("it is made");
    let second = Trial { who: first.service.operator(Some("second")).await.expect("it is there"), ..first.clone() };
    let mut seen = HashSet::new();
    let mut count = 0;
    for trial in [&first, &second] {
        trial.product("auto-12", json!({})).await;
        trial.account("auto-12", "a1", OPENING).await;
        json_of(trial.pay("a1", "p", LEVEL, NOW).await);
        let customer = form_of(&json!({ "customer_id": "c", "name_last": "Li" }));
        json_of(trial.service.create_customer(&trial.who, None, customer).await);
        trial.migration_mode("auto-12", true).await;
        trial.release("auto-12").await;
        view_of(trial.service.send_test_event(&trial.who).await);
    }
    for trial in [&first, &second] {
        let log = trial.log().await;
        let events: HashSet<&str> = log.iter().map(|message| message.event.as_str()).collect();
        let wanted = ["account_create", "line_item_create", "customer_create", "migration_released", "test_event"];
        assert!(wanted.iter().all(|event| events.contains(event)), "{events:?}");
        count += log.len();
        for message in &log {
            assert_eq!(data(message)["event_id"], json!(message.event_id));
            assert!(seen.insert(message.event_id.clone()), "{} names two events", message.event_id);
            let found = trial.service.message(&trial.who, &message.event_id).await.expect("it is found by its id");
            assert_eq!((found.event, found.position), (message.event.clone(), message.position));
        }
    }
    assert_eq!(seen.len(), count);
    first.verify().await;
}

async fn roles_may_do_what_they_say(home: Home) {
    use daybook_service::access::Role;
    let trial = Trial::at(home, NOW).await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    let as_role =
        |role: Role| Trial { who: daybook_service::access::Caller { role, ..trial.who.clone() }, ..trial.clone() };
    let (servicing, looking) = (as_role(Role::Servicing), as_role(Role::ReadOnly));
    looking.read("a1").await;
    looking.events("a1").await;
    assert_eq!(code_of(looking.pay("a1", "p", 1, NOW).await), "not_authorized");
    assert_eq!(code_of(looking.withdraw("a1", "p").await), "not_authorized");
    assert_eq!(code_of(looking.change("a1", "p", &json!({ "line_item_status": "VALID" })).await), "not_authorized");
    let customer = form_of(&json!({ "name_last": "Li" }));
    assert_eq!(code_of(looking.service.create_customer(&looking.who, None, customer).await), "not_authorized");
    let mode = form_of(&json!({ "migration_mode": true }));
    assert_eq!(
        code_of(looking.service.set_migration_mode(&looking.who, None, "auto-12", mode).await),
        "not_authorized"
    );
    json_of(servicing.pay("a1", "p", 1, NOW).await);
    assert_eq!(code_of(servicing.roll("a1", "2026-05-01T00:00:00-04:00", false).await), "not_authorized");
    assert_eq!(code_of(servicing.service.list_keys(&servicing.who).await), "not_authorized");
}
