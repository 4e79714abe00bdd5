//! Inputs that affect the past: backdated payments and reversals under both policies.

use crate::support::{Home, LEVEL, PLAN, Trial, balances, data, json_of, on_both, standing};
use serde_json::{Value, json};

on_both!(
    a_backdated_payment_as_posted_counts_from_now,
    a_backdated_payment_is_replayed,
    a_reversal_is_replayed_as_if_the_payment_had_never_been,
    a_replay_sends_no_notice_again,
    a_pending_payment_that_fails_under_replay_was_never_made,
    a_payment_before_anything_was_folded_is_not_backdated,
    a_scheduled_reversal_under_replay_takes_its_payment_back_when_its_time_comes,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";
const APRIL: &str = "2026-04-15T09:00:00-04:00";

async fn open(home: Home, policies: Value) -> Trial {
    let trial = Trial::at(home, "2026-04-20T12:00:00-04:00").await;
    trial.product("auto-12", policies).await;
    trial.account("auto-12", "a1", OPENING).await;
    trial
}

async fn a_backdated_payment_as_posted_counts_from_now(home: Home) {
    let trial = open(home, json!({ "backdating_policy": "AS_POSTED" })).await;
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    let paid = json_of(trial.pay("a1", "p", LEVEL, APRIL).await);
    assert_eq!(paid["effective_at"], "2026-04-15T09:00:00-04:00");
    assert_eq!(paid["applied_at"], "2026-04-20T12:00:00-04:00");
    // It pays April, 12.00 and 94.62; the late fee stays.
    assert_eq!(balances(&trial.read("a1").await), [120_000 - 9_462, 0, 1_500, 0]);
    assert_eq!(trial.standing("a1").await, "ACTIVE");
    // It is absent before it was applied.
    assert_eq!(balances(&trial.read_at("a1", "2026-04-20T11:59:59-04:00").await), [120_000, 1_200, 1_500, 0]);
    let then = trial.all_items("a1", Some("2026-04-20T11:59:59-04:00")).await;
    assert!(then.iter().all(|item| item["line_item_id"] != "p"));
    assert!(!trial.announced("a1").await.contains(&"account_recalculated".to_owned()));
    trial.verify().await;
}

async fn a_backdated_payment_is_replayed(home: Home) {
    let trial = open(home, json!({ "backdating_policy": "REPLAY" })).await;
    let before = trial.announced("a1").await.len();
    let paid = json_of(trial.pay("a1", "p", LEVEL, APRIL).await);
    assert_eq!(paid["applied_at"], "2026-04-15T09:00:00-04:00");
    let account = trial.read("a1").await;
    assert_eq!((standing(&account).as_str(), balances(&account)), ("ACTIVE", [PLAN[1], 0, 0, 0]));
    let fee = trial.item("a1", "dbk_late_fee_1").await;
    assert_eq!(fee["line_item_overview"]["line_item_status"], "INVALID");
    assert_eq!(fee["line_item_summary"]["balance_cents"], 0);
    let messages = trial.messages("a1").await.split_off(before);
    let count = |name: &str| messages.iter().filter(|message| message.event == name).count();
    assert_eq!(messages.iter().filter(|message| message.subject == "p").count(), 1);
    assert_eq!((count("account_status_change"), count("account_recalculated")), (1, 1));
    assert_eq!((count("due_date_passed"), count("payment_missed"), count("account_create")), (0, 0, 0));
    let recalculated =
        data(messages.iter().find(|message| message.event == "account_recalculated").expect("it is there"));
    let recalculation = &recalculated["recalculation"];
    assert_eq!(
        recalculation["before"],
        json!({
            "principal_cents": 120_000, "interest_cents": 1_200, "fees_cents": 1_500, "surplus_cents": 0, "total_cents": 122_700,
        })
    );
    assert_eq!(
        recalculation["after"],
        json!({
            "principal_cents": PLAN[1], "interest_cents": 0, "fees_cents": 0, "surplus_cents": 0, "total_cents": PLAN[1],
        })
    );
    let items = recalculation["line_items"].as_array().expect("a list");
    let of = |id: &str| {
        items.iter().find(|item| item["line_item_id"] == id).unwrap_or_else(|| panic!("{id} is not in {items:?}"))
    };
    assert_eq!(of("p")["before"], Value::Null);
    assert_eq!(of("p")["after"]["original_amount_cents"], -LEVEL);
    assert_eq!(of("dbk_late_fee_1")["before"]["balance_cents"], 1_500);
    assert_eq!(of("dbk_late_fee_1")["after"]["line_item_status"], "INVALID");
    assert_eq!(balances(&trial.read_at("a1", "2026-04-16T00:00:00-04:00").await), [PLAN[1], 0, 0, 0]);
    trial.verify().await;
}

async fn a_reversal_is_replayed_as_if_the_payment_had_never_been(home: Home) {
    let policies =
        json!({ "backdating_policy": "REPLAY", "default_attributes": { "default_payment_reversal_fee_cents": 2_500 } });
    let trial = Trial::at(home, APRIL).await;
    trial.product("auto-12", policies).await;
    trial.account("auto-12", "a1", OPENING).await;
    json_of(trial.pay("a1", "p", LEVEL, APRIL).await);
    trial.go_to("2026-04-18T12:00:00-04:00").await;
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 0, 0, 0]);
    let before = trial.announced("a1").await.len();
    json_of(trial.reverse("a1", "p", &json!({})).await);
    let account = trial.read("a1").await;
    // April was missed after all: 12.00 interest, 15.00 late fee, 25.00 for the bounce.
    assert_eq!((standing(&account).as_str(), balances(&account)), ("SUSPENDED/DELINQUENT", [120_000, 1_200, 4_000, 0]));
    let announced = trial.announced_after("a1", before).await;
    let count = |name: &str| announced.iter().filter(|event| *event == name).count();
    assert_eq!(
        (count("payment_reversed"), count("account_recalculated"), count("account_status_change")),
        (1, 1, 1),
        "{announced:?}"
    );
    trial.verify().await;
    trial.go_to("2026-05-16T12:00:00-04:00").await;
    trial.verify().await;
}

async fn a_replay_sends_no_notice_again(home: Home) {
    let trial = Trial::at(home, "2026-04-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({ "backdating_policy": "REPLAY" })).await;
    trial.account("auto-12", "a1", OPENING).await;
    json_of(
        trial
            .notify(
                "a1",
                &json!({ "notification_type": "payment_due_date", "time_offset": "-3 days", "time": "09:00:00" }),
            )
            .await,
    );
    trial.go_to("2026-04-20T12:00:00-04:00").await;
    let notices = |events: Vec<String>| events.iter().filter(|event| *event == "payment_due_date").count();
    assert_eq!(notices(trial.announced("a1").await), 1);
    json_of(trial.pay("a1", "p", LEVEL, APRIL).await);
    json_of(trial.pay("a1", "q", 100, "2026-04-02T12:00:00-04:00").await);
    assert_eq!(notices(trial.announced("a1").await), 1);
    trial.verify().await;
    trial.go_to("2026-05-20T12:00:00-04:00").await;
    assert_eq!(notices(trial.announced("a1").await), 2);
    trial.verify().await;
}

async fn a_pending_payment_that_fails_under_replay_was_never_made(home: Home) {
    let trial = Trial::at(home, APRIL).await;
    trial.product("auto-12", json!({ "backdating_policy": "REPLAY" })).await;
    trial.account("auto-12", "a1", OPENING).await;
    let body = json!({ "line_item_id": "p", "original_amount_cents": LEVEL, "line_item_status": "PENDING" });
    json_of(trial.pay_with("a1", &body).await);
    trial.go_to("2026-04-18T12:00:00-04:00").await;
    let item = json_of(trial.change("a1", "p", &json!({ "line_item_status": "INVALID" })).await);
    assert_eq!(item["line_item_overview"]["line_item_status"], "INVALID");
    assert_eq!(trial.item("a1", "p").await["line_item_overview"]["line_item_status"], "INVALID");
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    trial.verify().await;
}

async fn a_payment_before_anything_was_folded_is_not_backdated(home: Home) {
    let trial = Trial::at(home, "2026-04-10T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    // Effective yesterday, and nothing has happened since: it counts from yesterday.
    let paid = json_of(trial.pay("a1", "p", LEVEL, "2026-04-09T12:00:00-04:00").await);
    assert_eq!(paid["applied_at"], "2026-04-09T12:00:00-04:00");
    // Effective before that one: it counts from now.
    let paid = json_of(trial.pay("a1", "q", 100, "2026-04-08T12:00:00-04:00").await);
    assert_eq!(paid["applied_at"], "2026-04-10T12:00:00-04:00");
    trial.verify().await;
}

async fn a_scheduled_reversal_under_replay_takes_its_payment_back_when_its_time_comes(home: Home) {
    let trial = Trial::at(home, APRIL).await;
    trial.product("auto-12", json!({ "backdating_policy": "REPLAY" })).await;
    trial.account("auto-12", "a1", OPENING).await;
    json_of(trial.pay("a1", "p", LEVEL, APRIL).await);
    json_of(trial.reverse("a1", "p", &json!({ "effective_at": "2026-04-18T12:00:00-04:00" })).await);
    trial.go_to("2026-04-17T12:00:00-04:00").await;
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 0, 0, 0]);
    trial.go_to("2026-04-20T12:00:00-04:00").await;
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    trial.verify().await;
    trial.go_to("2026-05-20T12:00:00-04:00").await;
    assert_eq!(balances(&trial.read("a1").await), [120_000, 2_400, 3_000, 0]);
    trial.verify().await;
}
