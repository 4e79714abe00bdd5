//! Rolling: an account's own clock, and when messages are sent.

use crate::support::{Home, LEVEL, PLAN, Trial, balances, code_of, form_of, json_of, on_both};
use serde_json::{Value, json};

on_both!(
    a_roll_into_the_future_moves_the_clock_of_one_account,
    an_exclusive_end_stops_just_before,
    messages_of_a_roll_wait_for_their_moment,
    a_roll_with_webhooks_sends_what_earlier_rolls_left,
    a_moment_already_passed_is_no_event,
    a_roll_with_webhooks_to_a_moment_passed_sends_what_waits,
    rolls_are_refused_in_live_and_beyond_sight,
    inputs_on_a_rolled_account_count_at_its_clock,
    a_long_roll_is_many_small_ones,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";
const NOW: &str = "2026-04-01T12:00:00-04:00";

async fn open(home: Home) -> Trial {
    let trial = Trial::at(home, NOW).await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    trial
}

fn counts(rolled: &Value) -> [u64; 4] {
    let of = |name: &str| rolled[name].as_u64().expect("a count");
    [of("successful_events"), of("failed_events"), of("total_attempted"), of("webhooks_sent")]
}

async fn a_roll_into_the_future_moves_the_clock_of_one_account(home: Home) {
    let trial = open(home).await;
    trial.account("auto-12", "a2", OPENING).await;
    let rolled = json_of(trial.roll("a1", "2026-06-16T00:00:00-04:00", false).await);
    assert_eq!(rolled["rolled_to"], "2026-06-16T00:00:00-04:00");
    assert_eq!(rolled["failed_events"], 0);
    assert_eq!(rolled["webhooks_sent"], 0);
    assert_eq!(balances(&trial.read("a1").await), [120_000, 3_600, 4_500, 0]);
    assert_eq!(trial.read("a1").await["delinquency"]["days_past_due"], 62);
    assert_eq!(balances(&trial.read("a2").await), [120_000, 0, 0, 0]);
    trial.verify().await;
    // Real time passes; the account keeps its own clock until real time catches up.
    trial.go_to("2026-06-10T00:00:00-04:00").await;
    assert_eq!(balances(&trial.read("a1").await), [120_000, 3_600, 4_500, 0]);
    assert_eq!(balances(&trial.read("a2").await), [120_000, 2_400, 3_000, 0]);
    trial.go_to("2026-07-16T00:00:00-04:00").await;
    assert_eq!(balances(&trial.read("a1").await), [120_000, 4_800, 6_000, 0]);
    trial.verify().await;
}

async fn an_exclusive_end_stops_just_before(home: Home) {
    let trial = open(home).await;
    let body = json!({ "account_id": "a1", "exclusive_end": "2026-04-15T23:59:59-04:00" });
    json_of(trial.service.roll_account(&trial.who, None, form_of(&body)).await);
    assert_eq!(balances(&trial.read("a1").await), [120_000, 0, 0, 0]);
    json_of(trial.roll("a1", "2026-04-15T23:59:59-04:00", false).await);
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    trial.verify().await;
}

async fn messages_of_a_roll_wait_for_their_moment(home: Home) {
    let trial = open(home).await;
    let (sent, told) = (trial.log().await.len(), trial.announced("a1").await.len());
    json_of(trial.roll("a1", "2026-05-20T00:00:00-04:00", false).await);
    trial.settle().await;
    // Two missed months, each with interest, due date, missed payment and late fee; one change of the status.
    assert_eq!(trial.announced("a1").await.len(), told + 9);
    assert_eq!(trial.log().await.len(), sent);
    trial.go_to("2026-04-15T23:59:58-04:00").await;
    assert_eq!(trial.log().await.len(), sent);
    trial.go_to("2026-04-15T23:59:59-04:00").await;
    assert_eq!(trial.log().await.len(), sent + 5);
    trial.verify().await;
    trial.go_to("2026-05-20T00:00:00-04:00").await;
    let log = trial.log().await;
    assert_eq!(log.len(), sent + 9);
    let of_account: Vec<i64> =
        log.iter().filter(|message| message.account.is_some()).map(|message| message.sequence).collect();
    assert_eq!(of_account, (1..=of_account.len() as i64).collect::<Vec<_>>(), "in order");
    trial.verify().await;
}

async fn a_roll_with_webhooks_sends_what_earlier_rolls_left(home: Home) {
    let trial = open(home).await;
    let sent = trial.log().await.len();
    json_of(trial.roll("a1", "2026-04-20T00:00:00-04:00", false).await);
    json_of(trial.roll("a1", "2026-06-01T00:00:00-04:00", false).await);
    let rolled = json_of(trial.roll("a1", "2026-06-20T00:00:00-04:00", true).await);
    // April 5, May 4, June 4.
    assert_eq!(rolled["webhooks_sent"], 13);
    let log = trial.log().await;
    assert_eq!(log.len(), sent + 13);
    let sequences: Vec<i64> =
        log.iter().filter(|message| message.account.is_some()).map(|message| message.sequence).collect();
    assert_eq!(sequences, (1..=sequences.len() as i64).collect::<Vec<_>>(), "in order");
    // They are sent once, and not again when their moments come.
    trial.go_to("2026-06-21T00:00:00-04:00").await;
    assert_eq!(trial.log().await.len(), sent + 13);
    trial.verify().await;
}

async fn a_moment_already_passed_is_no_event(home: Home) {
    let trial = open(home).await;
    let before = trial.read("a1").await;
    for to in ["2026-03-20T00:00:00-04:00", NOW] {
        assert_eq!(counts(&json_of(trial.roll("a1", to, true).await)), [0; 4]);
    }
    assert_eq!(trial.read("a1").await["summary"], before["summary"]);
    json_of(trial.roll("a1", "2026-05-20T00:00:00-04:00", true).await);
    assert_eq!(counts(&json_of(trial.roll("a1", "2026-05-01T00:00:00-04:00", true).await)), [0; 4]);
    assert_eq!(trial.read("a1").await["summary"]["fees_balance_cents"], 3_000);
    trial.verify().await;
}

async fn a_roll_with_webhooks_to_a_moment_passed_sends_what_waits(home: Home) {
    let trial = open(home).await;
    let sent = trial.log().await.len();
    json_of(trial.roll("a1", "2026-05-20T00:00:00-04:00", false).await);
    // Up to the end of April: April's five messages.
    let rolled = json_of(trial.roll("a1", "2026-04-30T00:00:00-04:00", true).await);
    assert_eq!(counts(&rolled), [0, 0, 0, 5]);
    assert_eq!(trial.log().await.len(), sent + 5);
    trial.verify().await;
}

async fn rolls_are_refused_in_live_and_beyond_sight(home: Home) {
    let trial = open(home).await;
    assert_eq!(code_of(trial.roll("a1", "2086-04-20T12:00:00-04:00", false).await), "invalid_request");
    assert_eq!(code_of(trial.roll("nobody", "2026-04-20T12:00:00-04:00", false).await), "not_found");
    trial.service.create_organization("live", "LIVE").await.expect("it is made");
    let live = Trial { who: trial.service.operator(Some("live")).await.expect("it is there"), ..trial.clone() };
    live.product("auto-12", json!({})).await;
    live.account("auto-12", "a1", OPENING).await;
    assert_eq!(code_of(live.roll("a1", "2026-04-20T12:00:00-04:00", false).await), "live_environment");
    trial.migration_mode("auto-12", true).await;
    assert_eq!(code_of(trial.roll("a1", "2026-04-20T12:00:00-04:00", false).await), "migration_mode");
    trial.verify().await;
}

async fn inputs_on_a_rolled_account_count_at_its_clock(home: Home) {
    let trial = open(home).await;
    json_of(trial.roll("a1", "2026-04-15T12:00:00-04:00", false).await);
    let paid = json_of(trial.pay_with("a1", &json!({ "line_item_id": "p", "original_amount_cents": LEVEL })).await);
    assert_eq!(paid["effective_at"], "2026-04-15T12:00:00-04:00");
    json_of(trial.roll("a1", "2026-04-20T12:00:00-04:00", false).await);
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 0, 0, 0]);
    // After the real clock, before the account's: it is backdated.
    let paid = json_of(trial.pay("a1", "q", 100, "2026-04-14T12:00:00-04:00").await);
    assert_eq!(paid["applied_at"], "2026-04-20T12:00:00-04:00");
    // A payment's message carries its moment on the account clock and is scheduled for it.
    let payments: Vec<_> = trial.messages("a1").await.into_iter().filter(|message| message.subject == "p").collect();
    assert_eq!(payments.len(), 1);
    assert!(payments[0].due_at.is_some());
    trial.verify().await;
}

async fn a_long_roll_is_many_small_ones(home: Home) {
    let trial = open(home).await;
    trial.account("auto-12", "a2", OPENING).await;
    json_of(trial.roll("a1", "2027-06-01T00:00:00-04:00", false).await);
    for to in [
        "2026-04-15T23:59:59-04:00",
        "2026-05-01T00:00:00-04:00",
        "2026-12-31T00:00:00-05:00",
        "2027-06-01T00:00:00-04:00",
    ] {
        json_of(trial.roll("a2", to, false).await);
    }
    let (a1, a2) = (trial.read("a1").await, trial.read("a2").await);
    assert_eq!((&a1["summary"], &a1["delinquency"]), (&a2["summary"], &a2["delinquency"]));
    assert_eq!(trial.announced("a1").await, trial.announced("a2").await);
    assert_eq!(trial.schedule("a1", None).await, trial.schedule("a2", None).await);
    trial.verify().await;
}
