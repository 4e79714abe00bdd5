//! Clocks that differ or are set back: two nodes on one database, each with its own clock, and payments around the
//! moment when an instalment falls due. The stored data equals what the journal gives, whichever node was ahead, and
//! nothing is charged before its moment.

use crate::support::{Home, LEVEL, Trial, json_of, on_both, time};
use daybook_clock::Manual;
use daybook_engine::time::Time;
use daybook_service::Service;
use serde_json::json;
use std::sync::Arc;

const OPENING: &str = "2026-03-15T00:00:00-04:00";
const BEFORE: &str = "2026-04-10T12:00:00-04:00";
/// The tested differences between two clocks, in microseconds: 50 ms, 200 ms, 2 s, one hour.
const SKEWS: [i64; 4] = [50_000, 200_000, 2_000_000, 3_600_000_000];

/// Another node on the same store, with its own clock.
async fn second_node(first: &Trial, now: &str) -> Trial {
    let clock = Arc::new(Manual::at(time(now)));
    let service = Service::start(first.store.clone(), clock.clone(), &[7; 32]).await.expect("it starts");
    Trial { service, clock, ..first.clone() }
}

/// The next moment at which an account is processed automatically.
async fn next_moment(trial: &Trial, account: &str) -> Time {
    let want = daybook_store::AccountToLoad {
        key: trial.key(account),
        inputs: daybook_store::Inputs::None,
        names: Vec::new(),
    };
    let loaded = trial.store.load(&[want]).await.expect("it can be loaded").remove(0).expect("it is there");
    loaded.row.now.next_moment.expect("something is to come")
}

/// Checks that no late fee was recorded before its moment, by the clock of the node that recorded it.
async fn nothing_is_charged_early(trial: &Trial, account: &str) {
    for fee in trial.items(account, "LATE_FEE").await {
        let at = |name: &str| time(fee[name].as_str().expect("a time"));
        assert!(at("created_at") >= at("effective_at"), "a fee came before its moment: {fee}");
    }
}

/// Two nodes with different clocks record payments in turn, from well before a due moment to well after it; the node
/// that is ahead processes the moment.
async fn pay_across_due_moments(home: Home, backdating: &str) {
    let ahead = Trial::at(home, BEFORE).await;
    ahead.product("auto-12", json!({ "backdating_policy": backdating })).await;
    let behind = second_node(&ahead, BEFORE).await;
    for (number, skew) in SKEWS.into_iter().enumerate() {
        let account = format!("a{number}");
        ahead.clock.set(time(BEFORE));
        behind.clock.set(time(BEFORE));
        ahead.account("auto-12", &account, OPENING).await;
        let due = next_moment(&ahead, &account).await;
        for step in -6_i64..=6 {
            let really = due.plus_micros(step * skew / 3);
            ahead.clock.set(really.plus_micros(skew / 2));
            behind.clock.set(really.plus_micros(-skew / 2));
            ahead.settle().await;
            behind.settle().await;
            for (node, name) in [(&behind, "behind"), (&ahead, "ahead")] {
                let id = |what: &str| format!("{name}-{what}-{}", step + 6);
                let now = json!({ "line_item_id": id("now"), "original_amount_cents": LEVEL / 26 });
                json_of(node.pay_with(&account, &now).await);
                let said = really.plus_micros(-1_000).to_string();
                json_of(node.pay(&account, &id("said"), 100, &said).await);
            }
        }
        nothing_is_charged_early(&ahead, &account).await;
    }
    ahead.verify().await;
    behind.verify().await;
    // Later, both have the same time again and continue.
    for node in [&ahead, &behind] {
        node.go_to("2026-06-20T12:00:00-04:00").await;
    }
    ahead.verify().await;
}

async fn payments_across_a_due_moment_as_posted(home: Home) {
    pay_across_due_moments(home, "AS_POSTED").await;
}

async fn payments_across_a_due_moment_replayed(home: Home) {
    pay_across_due_moments(home, "REPLAY").await;
}

/// One node whose clock is set back, ahead, and back again.
async fn a_clock_that_is_set_back_and_ahead(home: Home) {
    let trial = Trial::at(home, BEFORE).await;
    trial.product("auto-12", json!({})).await;
    for (number, back) in [50_000, 20_000_000, 3_600_000_000].into_iter().enumerate() {
        let account = format!("a{number}");
        trial.clock.set(time(BEFORE));
        trial.account("auto-12", &account, OPENING).await;
        let due = next_moment(&trial, &account).await;
        for (step, offset) in [0, -back, 2 * back, back / 2, 3 * back, -back].into_iter().enumerate() {
            // The timers run, and then the clock is set back.
            trial.clock.set(due.plus_micros(offset));
            trial.settle().await;
            trial.clock.set(due.plus_micros(offset - back));
            let body = json!({ "line_item_id": format!("p{step}"), "original_amount_cents": 700 });
            json_of(trial.pay_with(&account, &body).await);
            let fee = json!({ "line_item_id": format!("f{step}"), "original_amount_cents": 300 });
            json_of(trial.fee(&account, &fee).await);
        }
        json_of(trial.reverse(&account, "p2", &json!({})).await);
        nothing_is_charged_early(&trial, &account).await;
        trial.verify().await;
    }
}

/// Inputs are placed by the account clock, which never goes back.
async fn inputs_are_placed_by_a_clock_that_never_goes_back(home: Home) {
    let trial = Trial::at(home, BEFORE).await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    for (number, now) in ["2026-04-20T12:00:00Z", "2026-04-20T11:00:00Z", "2026-04-20T12:30:00Z"].iter().enumerate() {
        trial.clock.set(time(now));
        let body = json!({ "line_item_id": format!("p{number}"), "original_amount_cents": 700 });
        json_of(trial.pay_with("a1", &body).await);
    }
    let want =
        daybook_store::AccountToLoad { key: trial.key("a1"), inputs: daybook_store::Inputs::All, names: Vec::new() };
    let loaded = trial.store.load(&[want]).await.expect("it can be loaded").remove(0).expect("it is there");
    let of = |name: &str| loaded.inputs.iter().find(|row| &*row.name == name).expect("it is in the journal");
    let clocks: Vec<Time> = ["p0", "p1", "p2"].into_iter().map(|name| of(name).clock).collect();
    let expected = ["2026-04-20T12:00:00Z", "2026-04-20T12:00:00Z", "2026-04-20T12:30:00Z"].map(time);
    assert_eq!(clocks, expected);
    let effective: Vec<Time> = ["p0", "p1", "p2"].into_iter().map(|name| of(name).effective_at).collect();
    assert_eq!(effective, expected, "what has no date of its own counts from the account's clock");
    // Messages about the account are sent at once: none waits for the clock that was set back.
    assert!(trial.messages("a1").await.iter().all(|message| message.due_at.is_none()));
}

on_both!(
    payments_across_a_due_moment_as_posted,
    payments_across_a_due_moment_replayed,
    a_clock_that_is_set_back_and_ahead,
    inputs_are_placed_by_a_clock_that_never_goes_back,
);
