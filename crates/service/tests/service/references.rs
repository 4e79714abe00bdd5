//! Inputs that refer to others: a reversal before its payment's own date, a payment withdrawn together with the inputs
//! that refer to it, a final status, a fee that does not exist. Also what previews and schedules show while such inputs
//! are held.

use crate::support::{Home, LEVEL, PLAN, Trial, balances, code_of, json_of, on_both};
use serde_json::json;

on_both!(
    a_payment_called_off_before_its_own_date_never_counts,
    what_is_about_a_payment_goes_with_it,
    a_preview_of_a_release_that_would_fail_says_so,
    a_held_account_shows_the_schedule_that_was_agreed,
    a_final_status_does_not_move_in_the_future_either,
    a_fee_that_is_not_there_cannot_be_waived,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";
const APRIL: &str = "2026-04-15T09:00:00-04:00";

async fn holding(home: Home) -> Trial {
    let trial = Trial::at(home, "2026-04-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    trial.account("auto-12", "a1", OPENING).await;
    trial
}

/// A payment of 15 April that was reversed on 1 April: nothing was paid, so the instalment is late.
async fn a_payment_called_off_before_its_own_date_never_counts(home: Home) {
    let trial = holding(home).await;
    json_of(trial.pay("a1", "p", LEVEL, APRIL).await);
    json_of(trial.reverse("a1", "p", &json!({ "effective_at": "2026-04-01T09:00:00-04:00" })).await);
    trial.release("auto-12").await;
    assert_eq!(trial.progress("auto-12").await["failed_accounts"], json!([]));
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    assert_eq!(trial.item("a1", "p").await["line_item_overview"]["line_item_status"], "INVALID");
    trial.verify().await;
}

async fn what_is_about_a_payment_goes_with_it(home: Home) {
    let trial = holding(home).await;
    json_of(trial.pay("a1", "p0", LEVEL, APRIL).await);
    json_of(trial.pay("a1", "p1", LEVEL, APRIL).await);
    json_of(trial.reverse("a1", "p1", &json!({ "effective_at": "2026-04-16T09:00:00-04:00" })).await);
    json_of(trial.withdraw("a1", "p1").await);
    assert_eq!(trial.read("a1").await["held_events"], 2);
    trial.release("auto-12").await;
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 0, 0, 0]);
    trial.verify().await;
}

async fn a_preview_of_a_release_that_would_fail_says_so(home: Home) {
    let trial = holding(home).await;
    json_of(trial.pay("a1", "p0", LEVEL, APRIL).await);
    json_of(trial.waive("a1", "dbk_late_fee_1", &json!({ "effective_at": "2026-04-16T09:00:00-04:00" })).await);
    let preview =
        trial.service.get_account(&trial.who, "a1", Some(crate::support::time("2026-04-20T12:00:00-04:00"))).await;
    assert_eq!(code_of(preview), "invalid_request");
}

/// Nothing is processed: row 1 is as agreed and unpaid, whatever is held.
async fn a_held_account_shows_the_schedule_that_was_agreed(home: Home) {
    let trial = holding(home).await;
    json_of(trial.pay("a1", "p0", LEVEL, "2026-04-01T09:00:00-04:00").await);
    let rows = trial.schedule("a1", None).await;
    assert_eq!(rows.len(), 12);
    assert_eq!((&rows[0]["am_min_pay_cents"], &rows[0]["paid_cents"]), (&json!(LEVEL), &json!(0)));
    assert!(rows.iter().all(|row| row["am_fees_cents"] == 0));
}

async fn a_final_status_does_not_move_in_the_future_either(home: Home) {
    let trial = Trial::at(home, "2026-04-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", "2026-04-15T00:00:00-04:00").await;
    json_of(trial.pay("a1", "now", 100, "2026-04-20T09:00:00-04:00").await);
    json_of(trial.pay("a1", "later", 100, "2026-05-01T09:00:00-04:00").await);
    let later = json!({ "line_item_status": "INVALID", "effective_at": "2027-01-01T00:00:00Z" });
    assert_eq!(code_of(trial.change("a1", "now", &later).await), "status_is_final");
    assert_eq!(
        code_of(trial.change("a1", "later", &json!({ "line_item_status": "INVALID" })).await),
        "status_is_final"
    );
}

async fn a_fee_that_is_not_there_cannot_be_waived(home: Home) {
    let trial = holding(home).await;
    assert_eq!(code_of(trial.waive("a1", "nope", &json!({})).await), "not_found");
    json_of(trial.pay("a1", "p0", LEVEL, APRIL).await);
    assert_eq!(code_of(trial.waive("a1", "p0", &json!({})).await), "nothing_to_waive");
    json_of(
        trial.fee("a1", &json!({ "line_item_id": "f", "original_amount_cents": 500, "effective_at": APRIL })).await,
    );
    json_of(trial.waive("a1", "f", &json!({ "effective_at": "2026-04-16T09:00:00-04:00" })).await);
    trial.release("auto-12").await;
    assert_eq!(trial.progress("auto-12").await["failed_accounts"], json!([]));
}
