//! Releases that do not succeed at once: withdrawn inputs, accounts that fail, releases that are stopped.

use crate::support::{Home, LEVEL, PLAN, Trial, balances, code_of, form_of, json_of, on_both};
use serde_json::{Value, json};

on_both!(
    a_held_input_may_be_withdrawn,
    an_account_that_fails_holds_nobody_up_and_is_tried_again,
    an_account_with_history_keeps_it_when_its_release_fails,
    a_status_that_fails_at_release_can_be_got_rid_of,
    a_live_call_settles_an_account_that_waits_for_its_release,
    holding_again_leaves_the_rest_held,
    holding_again_in_the_middle_of_a_release_leaves_every_account_whole,
    withdrawing_everything_leaves_nothing_held,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";
const APRIL: &str = "2026-04-15T09:00:00-04:00";

async fn loaded(home: Home) -> Trial {
    let trial = Trial::at(home, "2026-04-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    trial
}

async fn a_held_input_may_be_withdrawn(home: Home) {
    let trial = loaded(home).await;
    trial.account("auto-12", "a1", OPENING).await;
    json_of(trial.pay("a1", "wrong", 99, APRIL).await);
    json_of(trial.pay("a1", "right", LEVEL, APRIL).await);
    let withdrawn = json_of(trial.withdraw("a1", "wrong").await);
    assert_eq!(withdrawn["line_item_id"], "wrong");
    assert_eq!(trial.read("a1").await["held_events"], 2);
    assert_eq!(code_of(trial.withdraw("a1", "wrong").await), "not_found");
    assert_eq!(code_of(trial.withdraw("a1", "dbk_open").await), "not_found");
    // Its id is free again.
    json_of(trial.pay("a1", "wrong", 100, "2026-04-16T09:00:00-04:00").await);
    json_of(trial.withdraw("a1", "wrong").await);
    trial.release("auto-12").await;
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 0, 0, 0]);
    assert_eq!(code_of(trial.withdraw("a1", "right").await), "not_held");
    assert_eq!(code_of(trial.withdraw("a1", "dbk_loan").await), "not_held");
    assert_eq!(code_of(trial.withdraw("a1", "nothing").await), "not_found");
    trial.verify().await;
}

async fn an_account_that_fails_holds_nobody_up_and_is_tried_again(home: Home) {
    let trial = loaded(home).await;
    for account in ["good", "bad"] {
        trial.account("auto-12", account, OPENING).await;
        json_of(trial.pay(account, "p0", LEVEL, APRIL).await);
    }
    // A fee that does not exist is waived; only the fold can find that.
    json_of(trial.waive("bad", "dbk_late_fee_1", &json!({ "line_item_id": "w", "effective_at": APRIL })).await);
    trial.release("auto-12").await;
    let progress = trial.progress("auto-12").await;
    assert_eq!(progress["state"], "NORMAL");
    let failed = progress["failed_accounts"].as_array().expect("a list");
    assert_eq!((failed.len(), &failed[0]["account_id"]), (1, &json!("bad")));
    assert!(failed[0]["reason"].as_str().is_some_and(|reason| reason.contains("waive")), "{failed:?}");
    assert_eq!((&progress["accounts_total"], &progress["accounts_done"]), (&json!(2), &json!(1)));
    assert_eq!(balances(&trial.read("good").await), [PLAN[1], 0, 0, 0]);
    let bad = trial.read("bad").await;
    assert_eq!((&bad["processed_through"], &bad["held_events"]), (&Value::Null, &json!(3)));
    assert!(trial.events("bad").await.iter().all(|event| event["state"] == "FAILED"));
    assert_eq!(trial.announced("bad").await, Vec::<String>::new());
    assert_eq!(code_of(trial.pay("bad", "p1", LEVEL, "2026-04-20T12:00:00-04:00").await), "account_failed");
    // Retried unchanged, it fails again and is listed once.
    trial.release("auto-12").await;
    assert_eq!(trial.progress("auto-12").await["failed_accounts"].as_array().map(Vec::len), Some(1));
    json_of(trial.withdraw("bad", "w").await);
    trial.release("auto-12").await;
    assert_eq!(trial.progress("auto-12").await["failed_accounts"], json!([]));
    assert_eq!(balances(&trial.read("bad").await), [PLAN[1], 0, 0, 0]);
    assert_eq!(trial.progress("auto-12").await["held_events"], 0);
    trial.verify().await;
    trial.go_to("2026-05-16T12:00:00-04:00").await;
    assert_eq!(trial.items("bad", "LATE_FEE").await.len(), 1);
    trial.verify().await;
}

async fn an_account_with_history_keeps_it_when_its_release_fails(home: Home) {
    let trial = Trial::at(home, "2026-04-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    let before = (trial.all_items("a1", None).await, trial.announced("a1").await);
    trial.migration_mode("auto-12", true).await;
    let waiver = json!({ "line_item_id": "w", "effective_at": "2026-04-01T00:00:00-04:00" });
    json_of(trial.waive("a1", "dbk_late_fee_1", &waiver).await);
    trial.release("auto-12").await;
    assert_eq!(trial.progress("auto-12").await["failed_accounts"].as_array().map(Vec::len), Some(1));
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    trial.verify().await;
    json_of(trial.withdraw("a1", "w").await);
    trial.release("auto-12").await;
    assert_eq!((trial.all_items("a1", None).await, trial.announced("a1").await), before);
    assert_eq!(trial.progress("auto-12").await["failed_accounts"], json!([]));
    // Its clock continues.
    trial.go_to("2026-05-16T12:00:00-04:00").await;
    assert_eq!(trial.items("a1", "LATE_FEE").await.len(), 2);
    trial.verify().await;
}

/// The fold refuses a payment's status that is set twice. The second one must not leave the account stuck forever.
async fn a_status_that_fails_at_release_can_be_got_rid_of(home: Home) {
    let trial = loaded(home).await;
    trial.account("auto-12", "a1", OPENING).await;
    let body = json!({
        "line_item_id": "p0", "original_amount_cents": LEVEL, "effective_at": APRIL, "line_item_status": "PENDING",
    });
    json_of(trial.pay_with("a1", &body).await);
    json_of(trial.change("a1", "p0", &json!({ "line_item_status": "VALID", "effective_at": APRIL })).await);
    let again = json!({ "line_item_status": "INVALID", "effective_at": "2026-04-16T09:00:00-04:00" });
    let refused_at_once = trial.change("a1", "p0", &again).await.is_err();
    trial.release("auto-12").await;
    if !refused_at_once {
        // Withdrawing the payment must also withdraw the inputs that decide its status.
        json_of(trial.withdraw("a1", "p0").await);
        trial.release("auto-12").await;
    }
    assert_eq!(trial.progress("auto-12").await["failed_accounts"], json!([]));
    assert_eq!(trial.read("a1").await["held_events"], 0);
    trial.verify().await;
}

async fn a_live_call_settles_an_account_that_waits_for_its_release(home: Home) {
    let trial = loaded(home).await;
    for account in ["a1", "a2"] {
        trial.account("auto-12", account, OPENING).await;
        json_of(trial.pay(account, "p0", LEVEL, APRIL).await);
    }
    trial.migration_mode("auto-12", false).await;
    assert_eq!(trial.progress("auto-12").await["state"], "RELEASING");
    assert_eq!(code_of(trial.roll("a1", "2026-06-01T00:00:00-04:00", false).await), "migration_mode");
    let paid = json_of(trial.pay("a1", "p1", 5_000, "2026-04-20T12:00:00-04:00").await);
    assert_eq!(paid["processing_state"], "PROCESSED");
    // May's interest of 11.05 can be paid from the start of its period; the rest is May's principal.
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1] - 5_000 + 1_105, 0, 0, 0]);
    assert_eq!(trial.read("a2").await["held_events"], 2);
    let progress = trial.progress("auto-12").await;
    assert_eq!((&progress["accounts_total"], &progress["accounts_done"]), (&json!(2), &json!(1)));
    trial.settle().await;
    assert_eq!(balances(&trial.read("a2").await), [PLAN[1], 0, 0, 0]);
    trial.verify().await;
}

async fn holding_again_leaves_the_rest_held(home: Home) {
    let trial = loaded(home).await;
    for account in ["a1", "a2"] {
        trial.account("auto-12", account, OPENING).await;
        json_of(trial.pay(account, "p0", LEVEL, APRIL).await);
    }
    trial.migration_mode("auto-12", false).await;
    json_of(trial.fee("a1", &json!({ "original_amount_cents": 100, "line_item_id": "f" })).await);
    trial.migration_mode("auto-12", true).await;
    trial.settle().await;
    assert_eq!(trial.progress("auto-12").await["state"], "HOLDING");
    assert_eq!(
        (trial.read("a1").await["held_events"].clone(), trial.read("a2").await["held_events"].clone()),
        (json!(0), json!(2))
    );
    // Accounts that are already released hold new events again.
    json_of(trial.pay("a1", "p1", 500, "2026-04-20T12:00:00-04:00").await);
    assert_eq!(trial.read("a1").await["held_events"], 1);
    assert_eq!(trial.progress("auto-12").await["held_events"], 3);
    trial.verify().await;
    trial.release("auto-12").await;
    assert_eq!(balances(&trial.read("a2").await), [PLAN[1], 0, 0, 0]);
    assert_eq!(trial.log().await.iter().filter(|message| message.event == "migration_released").count(), 1);
    trial.verify().await;
}

async fn holding_again_in_the_middle_of_a_release_leaves_every_account_whole(home: Home) {
    const ACCOUNTS: usize = 150;
    let trial = loaded(home).await;
    for number in 0..ACCOUNTS {
        let account = format!("a{number:03}");
        trial.account("auto-12", &account, OPENING).await;
        json_of(trial.pay(&account, "p0", LEVEL, APRIL).await);
    }
    for _ in 0..3 {
        trial.migration_mode("auto-12", false).await;
        let (settling, stopping) = (trial.clone(), trial.clone());
        let settling = tokio::spawn(async move { settling.service.settle_due().await });
        let stopping = tokio::spawn(async move {
            let on = form_of(&json!({ "migration_mode": true }));
            stopping.service.set_migration_mode(&stopping.who, None, "auto-12", on).await
        });
        settling.await.expect("it ends").expect("what is due is done");
        json_of(stopping.await.expect("it ends"));
        assert_eq!(trial.progress("auto-12").await["state"], "HOLDING");
        for number in 0..ACCOUNTS {
            let account = trial.read(&format!("a{number:03}")).await;
            match account["held_events"].as_u64() {
                Some(0) => assert_eq!(balances(&account), [PLAN[1], 0, 0, 0]),
                Some(2) => assert_eq!(balances(&account), [0; 4]),
                other => panic!("account {number} holds {other:?} events"),
            }
        }
    }
    trial.release("auto-12").await;
    assert_eq!(trial.progress("auto-12").await["held_events"], 0);
    for number in 0..ACCOUNTS {
        assert_eq!(balances(&trial.read(&format!("a{number:03}")).await), [PLAN[1], 0, 0, 0]);
        let created = trial.announced(&format!("a{number:03}")).await;
        assert_eq!(created.iter().filter(|event| *event == "account_create").count(), 1);
    }
    trial.verify().await;
}

async fn withdrawing_everything_leaves_nothing_held(home: Home) {
    let trial = Trial::at(home, "2026-04-10T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    let before = trial.announced("a1").await.len();
    trial.migration_mode("auto-12", true).await;
    json_of(trial.pay("a1", "p0", LEVEL, "2026-04-10T09:00:00-04:00").await);
    json_of(trial.withdraw("a1", "p0").await);
    assert_eq!(trial.progress("auto-12").await["held_events"], 0);
    trial.verify().await;
    trial.release("auto-12").await;
    assert_eq!(trial.announced("a1").await.len(), before);
    trial.go_to("2026-04-16T12:00:00-04:00").await;
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    trial.verify().await;
}
