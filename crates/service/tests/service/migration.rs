//! Migration mode: loading the history of existing accounts.

use crate::support::{Home, LEVEL, PLAN, Trial, balances, code_of, data, form_of, json_of, on_both};
use serde_json::{Value, json};

on_both!(
    eight_payments_loaded_in_any_order_settle_without_a_late_fee,
    the_same_calls_without_migration_mode_give_a_late_fee_for_every_elapsed_payment,
    while_holding_nothing_is_processed_or_announced_and_a_preview_shows_the_release,
    on_and_off_with_nothing_held_is_harmless,
    moments_that_pass_while_holding_come_at_the_release,
    a_bounced_payment_a_waiver_and_a_status_of_last_year_can_be_loaded,
    three_late_fees_are_put_right_by_held_payments,
    every_order_of_loading_gives_the_same_account,
    what_counts_at_one_moment_keeps_its_loading_order,
    a_quiet_boarding_sends_nothing_of_the_past,
    a_quiet_boarding_is_quiet_about_held_payments_of_processed_accounts_too,
    a_release_is_announced_once,
    a_product_may_begin_in_migration_mode,
    what_is_held_for_later_is_scheduled_by_the_release,
    plain_reads_while_holding_leave_out_what_is_held,
    accounts_that_open_later_wait_for_it,
);

/// Payments on the mornings of the due dates of a loan from 15 March.
const MORNINGS: [&str; 8] = [
    "2026-04-15T09:00:00-04:00",
    "2026-05-15T09:00:00-04:00",
    "2026-06-15T09:00:00-04:00",
    "2026-07-15T09:00:00-04:00",
    "2026-08-15T09:00:00-04:00",
    "2026-09-15T09:00:00-04:00",
    "2026-10-15T09:00:00-04:00",
    "2026-11-15T09:00:00-05:00",
];
const OPENING: &str = "2026-03-15T00:00:00-04:00";

async fn eight_payments_loaded_in_any_order_settle_without_a_late_fee(home: Home) {
    let trial = Trial::at(home, "2026-11-15T20:00:00-05:00").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    trial.account("auto-12", "a1", OPENING).await;
    for index in [5, 2, 7, 0, 3, 6, 1, 4] {
        json_of(trial.pay("a1", &format!("p{index}"), LEVEL, MORNINGS[index]).await);
    }
    let answer = trial.migration_mode("auto-12", false).await;
    assert_eq!((&answer["held_events"], &answer["held_accounts"]), (&json!(9), &json!(1)));
    trial.settle().await;
    let progress = trial.progress("auto-12").await;
    assert_eq!(progress["state"], "NORMAL");
    assert_eq!((&progress["accounts_done"], &progress["events_done"]), (&json!(1), &json!(9)));
    assert_eq!(trial.items("a1", "LATE_FEE").await.len(), 0);
    let account = trial.read("a1").await;
    assert_eq!(account["summary"]["total_paid_to_date_cents"], 8 * LEVEL);
    assert_eq!(account["account_overview"]["account_status"], "ACTIVE");
    // The eighth period's interest of 5.17 is paid before it is posted that night.
    assert_eq!(account["summary"]["principal_cents"], PLAN[8]);
    assert_eq!(account["held_events"], 0);
    trial.verify().await;
}

async fn the_same_calls_without_migration_mode_give_a_late_fee_for_every_elapsed_payment(home: Home) {
    let trial = Trial::at(home, "2026-11-16T20:00:00-05:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    assert_eq!(trial.items("a1", "LATE_FEE").await.len(), 8);
    for (index, morning) in MORNINGS.iter().enumerate() {
        json_of(trial.pay("a1", &format!("p{index}"), LEVEL, morning).await);
    }
    assert_eq!(trial.items("a1", "LATE_FEE").await.len(), 8);
    let account = trial.read("a1").await;
    // Owed: 1,200.00, eight months' interest of 12.00 on it, eight fees of 15.00; paid: 852.96, the eight instalments.
    let total = 120_000 + 8 * 1_200 + 8 * 1_500 - 8 * LEVEL;
    assert_eq!(account["summary"]["total_balance_cents"], total);
    trial.verify().await;
}

async fn while_holding_nothing_is_processed_or_announced_and_a_preview_shows_the_release(home: Home) {
    let trial = Trial::at(home, "2026-05-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    let on = trial.migration_mode("auto-12", true).await;
    assert_eq!((&on["migration_mode"], &on["held_events"]), (&json!(true), &json!(0)));
    let made = trial.account("auto-12", "a1", OPENING).await;
    assert_eq!(made["processed_through"], Value::Null);
    let paid = json_of(trial.pay("a1", "p1", LEVEL, MORNINGS[0]).await);
    assert_eq!(paid["processing_state"], "HELD");
    assert_eq!(paid["line_item_relationships"], json!([]));
    trial.settle().await;
    let held = trial.read("a1").await;
    assert_eq!((&held["held_events"], &held["processed_through"]), (&json!(2), &Value::Null));
    assert_eq!((trial.standing("a1").await.as_str(), balances(&held)), ("ACTIVE", [0; 4]));
    assert_eq!(trial.announced("a1").await, Vec::<String>::new());
    let states: Vec<Value> =
        trial.all_items("a1", None).await.iter().map(|item| item["processing_state"].clone()).collect();
    assert_eq!(states, [json!("HELD")]);
    let events = trial.events("a1").await;
    assert!(events.iter().all(|event| event["state"] == "HELD" && event["effect"].is_null()), "{events:?}");
    // Paid in April, missed in May: 11.05 interest and a fee of 15.00.
    let preview = trial.read_at("a1", "2026-05-20T12:00:00-04:00").await;
    assert_eq!(balances(&preview), [PLAN[1], 1_105, 1_500, 0]);
    assert_eq!(preview["delinquency"]["days_past_due"], 5);
    // Invalid events are refused at once.
    assert_eq!(code_of(trial.pay("a1", "p1", LEVEL + 1, MORNINGS[0]).await), "id_taken");
    assert_eq!(code_of(trial.pay("a1", "p2", LEVEL, "2026-03-14T00:00:00-04:00").await), "invalid_request");
    assert_eq!(code_of(trial.pay("nobody", "p2", LEVEL, MORNINGS[0]).await), "not_found");
    assert_eq!(code_of(trial.reverse("a1", "p9", &json!({})).await), "not_found");
    assert_eq!(code_of(trial.roll("a1", "2026-06-20T12:00:00-04:00", false).await), "migration_mode");
    assert_eq!(trial.read("a1").await["held_events"], 2);
    trial.verify().await;
    trial.release("auto-12").await;
    let mut released = trial.read("a1").await;
    assert_eq!(released["summary"], preview["summary"]);
    assert_eq!(released["delinquency"], preview["delinquency"]);
    assert_eq!(released["held_events"].take(), 0);
    trial.verify().await;
}

async fn on_and_off_with_nothing_held_is_harmless(home: Home) {
    let trial = Trial::at(home, "2026-05-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", "2026-05-01T12:00:00-04:00").await;
    let before = (trial.read("a1").await, trial.announced("a1").await);
    trial.migration_mode("auto-12", true).await;
    trial.migration_mode("auto-12", true).await;
    trial.settle().await;
    trial.release("auto-12").await;
    trial.migration_mode("auto-12", false).await;
    trial.settle().await;
    assert_eq!((trial.read("a1").await, trial.announced("a1").await), before);
    assert_eq!(trial.progress("auto-12").await["state"], "NORMAL");
    assert_eq!(trial.progress("auto-12").await["held_events"], 0);
    json_of(trial.roll("a1", "2026-05-21T12:00:00-04:00", false).await);
    trial.verify().await;
}

async fn moments_that_pass_while_holding_come_at_the_release(home: Home) {
    let trial = Trial::at(home, "2026-04-10T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    let before = trial.announced("a1").await.len();
    trial.migration_mode("auto-12", true).await;
    trial.go_to("2026-04-20T12:00:00-04:00").await;
    assert_eq!(trial.announced("a1").await.len(), before);
    assert_eq!(balances(&trial.read("a1").await), [120_000, 0, 0, 0]);
    assert_eq!(balances(&trial.read_at("a1", "2026-04-20T12:00:00-04:00").await), [120_000, 1_200, 1_500, 0]);
    trial.release("auto-12").await;
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    let missed = ["line_item_create", "due_date_passed", "payment_missed", "line_item_create", "account_status_change"];
    assert_eq!(trial.announced_after("a1", before).await, missed);
    trial.verify().await;
}

async fn a_bounced_payment_a_waiver_and_a_status_of_last_year_can_be_loaded(home: Home) {
    let trial = Trial::at(home, "2026-07-01T12:00:00-04:00").await;
    let fee = json!({ "default_attributes": { "default_payment_reversal_fee_cents": 2_500 } });
    trial.product("auto-12", fee).await;
    trial.migration_mode("auto-12", true).await;
    trial.account("auto-12", "a1", OPENING).await;
    json_of(trial.status("a1", &json!({
        "account_status": "SUSPENDED", "account_substatus": "FRAUD", "effective_at": "2026-05-01T00:00:00-04:00",
    })).await);
    json_of(trial.pay("a1", "p1", LEVEL, MORNINGS[0]).await);
    json_of(trial.pay("a1", "p2", LEVEL, MORNINGS[2]).await);
    json_of(trial.reverse("a1", "p1", &json!({ "effective_at": "2026-04-18T10:00:00-04:00" })).await);
    json_of(trial.waive("a1", "dbk_late_fee_2", &json!({ "effective_at": "2026-05-20T10:00:00-04:00" })).await);
    json_of(
        trial.status("a1", &json!({ "account_status": "ACTIVE", "effective_at": "2026-05-10T00:00:00-04:00" })).await,
    );
    assert_eq!(trial.read("a1").await["held_events"], 7);
    trial.release("auto-12").await;
    assert_eq!(trial.progress("auto-12").await["failed_accounts"], json!([]));
    // Held inputs count at their own time. April was paid when it fell due, so May's interest is 1 % of 1,105.38 for
    // the 21 of 30 days without the fraud status: 7.74. The payment bounced on 18 April with a fee of 25.00, and April
    // is late again. May was missed, with a fee of 15.00 that is waived. In June 106.62 pays April; June's interest is
    // 12.00 on 1,200.00 again. The money went to an instalment that had passed its fee moment as paid, so June costs
    // 15.00.
    let account = trial.read("a1").await;
    assert_eq!(balances(&account), [120_000 - 9_462, 774 + 1_200, 2_500 + 1_500, 0]);
    let trail: Vec<String> = trial.trail("a1").await.into_iter().map(|(_, status)| status).collect();
    assert_eq!(trail[..4], ["ACTIVE", "SUSPENDED/DELINQUENT", "SUSPENDED/FRAUD", "ACTIVE"]);
    trial.verify().await;
}

async fn three_late_fees_are_put_right_by_held_payments(home: Home) {
    let trial = Trial::at(home, "2026-06-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    assert_eq!(balances(&trial.read("a1").await), [120_000, 3_600, 4_500, 0]);
    assert_eq!(trial.standing("a1").await, "SUSPENDED/DELINQUENT");
    let before = trial.announced("a1").await.len();
    trial.migration_mode("auto-12", true).await;
    for index in [2, 0, 1] {
        json_of(trial.pay("a1", &format!("p{index}"), LEVEL, MORNINGS[index]).await);
    }
    assert_eq!(balances(&trial.read("a1").await), [120_000, 3_600, 4_500, 0]);
    assert_eq!(balances(&trial.read_at("a1", "2026-06-20T12:00:00-04:00").await), [PLAN[3], 0, 0, 0]);
    trial.release("auto-12").await;
    assert_eq!(balances(&trial.read("a1").await), [PLAN[3], 0, 0, 0]);
    assert_eq!(trial.standing("a1").await, "ACTIVE");
    assert_eq!(trial.items("a1", "LATE_FEE").await.len(), 0);
    assert_eq!(trial.item("a1", "dbk_late_fee_1").await["line_item_overview"]["line_item_status"], "INVALID");
    let messages = trial.messages("a1").await.split_off(before);
    let names: Vec<&str> = messages.iter().map(|message| message.event.as_str()).collect();
    // Three payments, and the interest that each now pays before it is posted.
    assert_eq!(names.iter().filter(|name| **name == "line_item_create").count(), 6, "{names:?}");
    assert_eq!(names.iter().filter(|name| **name == "account_status_change").count(), 1);
    assert_eq!(names.iter().filter(|name| **name == "account_recalculated").count(), 1);
    assert!(!names.contains(&"due_date_passed"));
    let recalculated =
        data(messages.iter().find(|message| message.event == "account_recalculated").expect("it is there"));
    let cents = |side: &str| {
        let of = |name: &str| recalculated["recalculation"][side][name].as_i64().expect("cents");
        [of("principal_cents"), of("interest_cents"), of("fees_cents"), of("total_cents")]
    };
    assert_eq!(cents("before"), [120_000, 3_600, 4_500, 128_100]);
    assert_eq!(cents("after"), [PLAN[3], 0, 0, PLAN[3]]);
    trial.verify().await;
}

/// The data that must not depend on the order of loading.
async fn essence(trial: &Trial, account: &str) -> Value {
    let read = trial.read(account).await;
    let mut items = trial.all_items(account, None).await;
    for item in &mut items {
        item["account_id"].take();
        item["created_at"].take();
    }
    let messages: Vec<Value> = trial
        .messages(account)
        .await
        .iter()
        .map(|message| json!([message.event, message.subject, message.effective_at.micros()]))
        .collect();
    json!([
        read["summary"],
        read["account_overview"],
        read["delinquency"],
        items,
        messages,
        trial.schedule(account, None).await
    ])
}

async fn every_order_of_loading_gives_the_same_account(home: Home) {
    let trial = Trial::at(home, "2026-07-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    let orders = permutations(4);
    for (number, order) in orders.iter().enumerate() {
        let account = format!("a{number}");
        trial.account("auto-12", &account, OPENING).await;
        for event in order {
            let done = match event {
                0 => trial.pay(&account, "p0", LEVEL, MORNINGS[0]).await,
                1 => trial.pay(&account, "p1", 20_000, "2026-05-16T09:00:00-04:00").await,
                2 => trial.fee(&account, &json!({
                    "line_item_id": "f", "original_amount_cents": 700, "effective_at": "2026-05-02T09:00:00-04:00",
                })).await,
                _ => trial.debit(&account, &json!({
                    "line_item_id": "d", "original_amount_cents": 900, "effective_at": "2026-04-16T09:00:00-04:00",
                })).await,
            };
            json_of(done);
        }
    }
    trial.release("auto-12").await;
    let first = essence(&trial, "a0").await;
    for (number, order) in orders.iter().enumerate().skip(1) {
        assert_eq!(essence(&trial, &format!("a{number}")).await, first, "order {order:?}");
    }
    trial.verify().await;
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let insert = |order: Vec<usize>| {
        (0..count).map(move |at| {
            let mut order = order.clone();
            order.insert(at, count - 1);
            order
        })
    };
    permutations(count - 1).into_iter().flat_map(insert).collect()
}

async fn what_counts_at_one_moment_keeps_its_loading_order(home: Home) {
    let trial = Trial::at(home, "2026-05-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    let at = "2026-04-20T09:00:00-04:00";
    let fee = json!({ "line_item_id": "f", "original_amount_cents": 700, "effective_at": at });
    for (account, fee_first) in [("fee-first", true), ("fee-last", false)] {
        trial.account("auto-12", account, OPENING).await;
        if fee_first {
            json_of(trial.fee(account, &fee).await);
        }
        json_of(trial.pay(account, "p", 1_000, at).await);
        if !fee_first {
            json_of(trial.fee(account, &fee).await);
        }
    }
    trial.release("auto-12").await;
    // April was missed: a late fee of 15.00, interest of 12.00. A payment of 10.00 follows the product's order: in both
    // cases it pays past-due interest, and in neither does it pay down the fee.
    for account in ["fee-first", "fee-last"] {
        assert_eq!(balances(&trial.read(account).await), [120_000, 200, 1_500 + 700, 0]);
    }
    let order = |events: Vec<Value>| -> Vec<String> {
        let names = events.iter().filter(|event| event["seq"].as_u64().is_some_and(|seq| seq == 2 || seq == 3));
        names.map(|event| event["event"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(order(trial.events("fee-first").await), ["manual_fee", "payment"]);
    assert_eq!(order(trial.events("fee-last").await), ["payment", "manual_fee"]);
    trial.verify().await;
}

async fn a_quiet_boarding_sends_nothing_of_the_past(home: Home) {
    let trial = Trial::at(home, "2026-05-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    trial.account("auto-12", "a1", OPENING).await;
    json_of(trial.pay("a1", "p1", LEVEL, MORNINGS[0]).await);
    let quiet = form_of(&json!({ "migration_mode": false, "historical_webhooks": "SUPPRESS" }));
    json_of(trial.service.set_migration_mode(&trial.who, None, "auto-12", quiet).await);
    trial.settle().await;
    assert_eq!(trial.announced("a1").await, Vec::<String>::new());
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 1_105, 1_500, 0]);
    // They are recorded and visible.
    let kinds: Vec<Value> = trial.events("a1").await.iter().map(|event| event["event"].clone()).collect();
    assert!(kinds.contains(&json!("payment")), "{kinds:?}");
    trial.verify().await;
    // Later messages are sent, numbered from 1.
    json_of(trial.pay("a1", "p2", LEVEL, "2026-05-20T12:00:00-04:00").await);
    let messages = trial.messages("a1").await;
    assert_eq!((messages[0].event.as_str(), messages[0].sequence), ("line_item_create", 1));
    trial.verify().await;
}

async fn a_quiet_boarding_is_quiet_about_held_payments_of_processed_accounts_too(home: Home) {
    let trial = Trial::at(home, "2026-04-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    let before = trial.announced("a1").await.len();
    trial.migration_mode("auto-12", true).await;
    json_of(trial.pay("a1", "p0", LEVEL, MORNINGS[0]).await);
    let quiet = form_of(&json!({ "migration_mode": false, "historical_webhooks": "SUPPRESS" }));
    json_of(trial.service.set_migration_mode(&trial.who, None, "auto-12", quiet).await);
    trial.settle().await;
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 0, 0, 0]);
    let later = trial.announced_after("a1", before).await;
    // The payment is effective before the release, so no webhook is sent for it.
    assert!(!later.contains(&"line_item_create".to_owned()), "{later:?}");
    trial.verify().await;
}

async fn a_release_is_announced_once(home: Home) {
    let trial = Trial::at(home, "2026-05-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    trial.account("auto-12", "a1", OPENING).await;
    trial.release("auto-12").await;
    trial.migration_mode("auto-12", false).await;
    trial.settle().await;
    trial.go_to("2026-05-21T12:00:00-04:00").await;
    let released: Vec<_> =
        trial.log().await.into_iter().filter(|message| message.event == "migration_released").collect();
    assert_eq!(released.len(), 1);
    let data = data(&released[0]);
    assert_eq!(data["object"]["product_id"], "auto-12");
    assert_eq!((&data["object"]["accounts_total"], &data["object"]["events_total"]), (&json!(1), &json!(1)));
    trial.verify().await;
}

async fn a_product_may_begin_in_migration_mode(home: Home) {
    let trial = Trial::at(home, "2026-05-20T12:00:00-04:00").await;
    let mut body = crate::support::product("auto-12", &json!({}));
    body["admin"] = json!({ "migration_mode": true });
    json_of(trial.service.create_product(&trial.who, None, form_of(&body)).await);
    assert_eq!(trial.progress("auto-12").await["state"], "HOLDING");
    trial.account("auto-12", "a1", OPENING).await;
    assert_eq!(trial.read("a1").await["held_events"], 1);
    trial.release("auto-12").await;
    assert_eq!(trial.items("a1", "LATE_FEE").await.len(), 2);
    // The same product sent again returns the product as it is now, which holds no events.
    json_of(trial.service.create_product(&trial.who, None, form_of(&body)).await);
    assert_eq!(trial.progress("auto-12").await["state"], "NORMAL");
    trial.verify().await;
}

async fn what_is_held_for_later_is_scheduled_by_the_release(home: Home) {
    let trial = Trial::at(home, "2026-04-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    trial.account("auto-12", "a1", OPENING).await;
    json_of(trial.pay("a1", "p0", LEVEL, MORNINGS[0]).await);
    trial.release("auto-12").await;
    assert_eq!(trial.item("a1", "p0").await["processing_state"], "SCHEDULED");
    // `account_create`, the loan, and the scheduled payment.
    assert_eq!(trial.announced("a1").await, ["account_create", "line_item_create", "line_item_create"]);
    trial.verify().await;
    trial.go_to("2026-04-16T12:00:00-04:00").await;
    assert_eq!(trial.item("a1", "p0").await["processing_state"], "PROCESSED");
    // It was announced when it was recorded, so now it is updated. Then the month's interest and the due date follow.
    assert_eq!(trial.announced_after("a1", 3).await, ["line_item_update", "line_item_create", "due_date_passed"]);
    trial.verify().await;
}

async fn plain_reads_while_holding_leave_out_what_is_held(home: Home) {
    let trial = Trial::at(home, "2026-04-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    let before = (trial.schedule("a1", None).await, trial.trail("a1").await);
    trial.migration_mode("auto-12", true).await;
    json_of(trial.pay("a1", "p0", LEVEL, MORNINGS[0]).await);
    assert_eq!(trial.schedule("a1", None).await[0]["paid_cents"], 0);
    assert_eq!((trial.schedule("a1", None).await, trial.trail("a1").await), before);
    let preview = trial.schedule("a1", Some("2026-04-20T12:00:00-04:00")).await;
    assert_eq!((&preview[0]["paid_cents"], &preview[0]["paid_on_time"]), (&json!(LEVEL), &json!(true)));
    trial.verify().await;
}

async fn accounts_that_open_later_wait_for_it(home: Home) {
    let trial = Trial::at(home, "2026-03-01T12:00:00-05:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "live", OPENING).await;
    trial.migration_mode("auto-12", true).await;
    trial.account("auto-12", "held", OPENING).await;
    json_of(trial.pay("held", "p0", LEVEL, MORNINGS[0]).await);
    json_of(trial.pay("live", "p0", LEVEL, MORNINGS[0]).await);
    trial.release("auto-12").await;
    for account in ["live", "held"] {
        assert_eq!(balances(&trial.read(account).await), [0; 4], "{account}");
    }
    trial.verify().await;
    trial.go_to("2026-03-16T12:00:00-04:00").await;
    for account in ["live", "held"] {
        assert_eq!(balances(&trial.read(account).await), [120_000, 0, 0, 0], "{account}");
    }
    trial.go_to("2026-04-16T12:00:00-04:00").await;
    for account in ["live", "held"] {
        assert_eq!(balances(&trial.read(account).await), [PLAN[1], 0, 0, 0], "{account}");
    }
    trial.verify().await;
}
