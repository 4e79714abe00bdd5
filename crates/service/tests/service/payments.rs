//! Payments and their effects: statuses, schedules, reversals, waivers, offsets, closing.

use crate::support::{Home, LEVEL, PLAN, Trial, balances, code_of, data, json_of, on_both, standing, time, view_of};
use serde_json::{Value, json};

on_both!(
    a_pending_payment_counts_and_becoming_valid_moves_no_cents,
    a_pending_payment_that_fails_is_undone_without_a_fee,
    an_authorized_payment_counts_once_it_is_valid,
    a_decision_waits_for_its_time_and_keeps_what_was_put_on_the_payment,
    a_final_status_does_not_move,
    a_scheduled_payment_waits_and_is_applied,
    a_scheduled_payment_is_cancelled_by_its_reversal,
    a_reversal_as_posted_gives_back_exactly_what_was_paid,
    a_payment_is_reversed_once,
    a_fee_is_waived_once_and_only_what_is_unpaid,
    offsets_move_what_they_name,
    paying_everything_closes_and_more_is_surplus,
    a_reversal_opens_a_closed_account_again,
    only_known_pairs_of_status_are_taken,
    amounts_and_moments_out_of_range_are_refused,
    the_splits_of_a_payment_add_up_to_it,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";
const APRIL: &str = "2026-04-15T09:00:00-04:00";

async fn open(home: Home, now: &str, policies: Value) -> Trial {
    let trial = Trial::at(home, now).await;
    trial.product("auto-12", policies).await;
    trial.account("auto-12", "a1", OPENING).await;
    trial
}

fn status_of(item: &Value) -> &str {
    item["line_item_overview"]["line_item_status"].as_str().expect("a status")
}

async fn a_pending_payment_counts_and_becoming_valid_moves_no_cents(home: Home) {
    let trial = open(home, APRIL, json!({})).await;
    let body = json!({ "line_item_id": "p", "original_amount_cents": LEVEL, "line_item_status": "PENDING" });
    let paid = json_of(trial.pay_with("a1", &body).await);
    assert_eq!((status_of(&paid), paid["processing_state"].as_str()), ("PENDING", Some("PROCESSED")));
    trial.go_to("2026-04-17T09:00:00-04:00").await;
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 0, 0, 0]);
    let before = trial.announced("a1").await.len();
    let valid = json_of(trial.change("a1", "p", &json!({ "line_item_status": "VALID" })).await);
    assert_eq!(status_of(&valid), "VALID");
    assert_eq!(valid["line_item_relationships"], paid["line_item_relationships"]);
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 0, 0, 0]);
    assert_eq!(trial.announced_after("a1", before).await, ["line_item_update"]);
    assert_eq!(trial.item("a1", "p").await, valid);
    trial.verify().await;
}

async fn a_pending_payment_that_fails_is_undone_without_a_fee(home: Home) {
    let fee = json!({ "default_attributes": { "default_payment_reversal_fee_cents": 2_500 } });
    let trial = open(home, APRIL, fee).await;
    let body = json!({ "line_item_id": "p", "original_amount_cents": LEVEL, "line_item_status": "PENDING" });
    json_of(trial.pay_with("a1", &body).await);
    json_of(trial.change("a1", "p", &json!({ "line_item_status": "DECLINED" })).await);
    // Undone like a reversal: the 12.00 of interest that it paid in advance is owed again.
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 0, 0]);
    assert_eq!(status_of(&trial.item("a1", "p").await), "INVALID");
    trial.go_to("2026-04-16T09:00:00-04:00").await;
    // April is missed.
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    trial.verify().await;
}

async fn an_authorized_payment_counts_once_it_is_valid(home: Home) {
    let trial = open(home, APRIL, json!({})).await;
    let body = json!({ "line_item_id": "p", "original_amount_cents": LEVEL, "line_item_status": "AUTHORIZED" });
    let paid = json_of(trial.pay_with("a1", &body).await);
    assert_eq!(status_of(&paid), "AUTHORIZED");
    assert_eq!(balances(&trial.read("a1").await), [120_000, 0, 0, 0]);
    trial.go_to("2026-04-20T09:00:00-04:00").await;
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    let valid = json_of(trial.change("a1", "p", &json!({ "line_item_status": "VALID" })).await);
    assert_eq!(status_of(&valid), "VALID");
    // As posted, from now on: it pays what was due for April, 12.00 and 94.62, and the late fee stays.
    assert_eq!(balances(&trial.read("a1").await), [120_000 - 9_462, 0, 1_500, 0]);
    trial.verify().await;
}

/// A payment is authorized in April; its status is decided with an effective date in May, when the payment is long
/// processed.
async fn a_decision_waits_for_its_time_and_keeps_what_was_put_on_the_payment(home: Home) {
    let fields = json!([{ "key": "bank_ref", "value": "ACH-778" }]);
    for backdating in ["AS_POSTED", "REPLAY"] {
        for (from, to) in [("AUTHORIZED", "VALID"), ("PENDING", "VALID"), ("PENDING", "DECLINED")] {
            let what = format!("{backdating}: {from} to {to}");
            let trial = open(home, APRIL, json!({ "backdating_policy": backdating })).await;
            let body = json!({ "line_item_id": "p", "original_amount_cents": LEVEL, "line_item_status": from,
                "external_fields": fields });
            json_of(trial.pay_with("a1", &body).await);
            trial.go_to("2026-04-20T09:00:00-04:00").await;
            let decision = json!({ "line_item_status": to, "effective_at": "2026-05-05T09:00:00-04:00" });
            json_of(trial.change("a1", "p", &decision).await);
            assert_eq!(status_of(&trial.item("a1", "p").await), from, "{what}: it waits");
            let before = trial.announced("a1").await.len();
            trial.go_to("2026-05-06T09:00:00-04:00").await;
            trial.settle().await;
            let item = trial.item("a1", "p").await;
            assert_eq!(status_of(&item), if to == "VALID" { "VALID" } else { "INVALID" }, "{what}");
            assert_eq!(item["external_fields"], fields, "{what}");
            let decided: Vec<Value> = trial.messages("a1").await.split_off(before).iter().map(data).collect();
            let announced: Vec<&Value> =
                decided.iter().map(|data| &data["object"]).filter(|object| object["line_item_id"] == "p").collect();
            assert!(!announced.is_empty(), "{what}");
            assert!(announced.iter().all(|object| object["external_fields"] == fields), "{what}: {announced:?}");
            let [principal, ..] = balances(&trial.read("a1").await);
            // Under REPLAY it counts from its own effective time, so the interest is that of a payment in April.
            let counts = to == "VALID";
            assert_eq!(principal < PLAN[0], counts, "{what}");
            if counts && (backdating == "REPLAY" || from == "PENDING") {
                assert_eq!(principal, PLAN[1], "{what}");
            }
            trial.verify().await;
        }
    }
}

async fn a_final_status_does_not_move(home: Home) {
    let trial = open(home, APRIL, json!({})).await;
    for (id, status) in [("valid", "VALID"), ("invalid", "INVALID")] {
        let body = json!({ "line_item_id": id, "original_amount_cents": 100, "line_item_status": status });
        json_of(trial.pay_with("a1", &body).await);
    }
    let before = trial.read("a1").await;
    assert_eq!(balances(&before), [120_000, 0, 0, 0]);
    assert_eq!(
        code_of(trial.change("a1", "valid", &json!({ "line_item_status": "INVALID" })).await),
        "status_is_final"
    );
    assert_eq!(
        code_of(trial.change("a1", "invalid", &json!({ "line_item_status": "VALID" })).await),
        "status_is_final"
    );
    assert_eq!(code_of(trial.change("a1", "nothing", &json!({ "line_item_status": "VALID" })).await), "not_found");
    json_of(trial.fee("a1", &json!({ "line_item_id": "f", "original_amount_cents": 100 })).await);
    let of_a_fee = trial.change("a1", "f", &json!({ "line_item_status": "INVALID" })).await;
    assert_eq!(of_a_fee.expect_err("a fee has no such status").kind, daybook_service::problem::ProblemKind::Conflict);
    let body = json!({ "line_item_id": "pending", "original_amount_cents": 100, "line_item_status": "PENDING" });
    json_of(trial.pay_with("a1", &body).await);
    json_of(trial.change("a1", "pending", &json!({ "line_item_status": "INVALID" })).await);
    assert_eq!(
        code_of(trial.change("a1", "pending", &json!({ "line_item_status": "VALID" })).await),
        "status_is_final"
    );
    trial.verify().await;
}

async fn a_scheduled_payment_waits_and_is_applied(home: Home) {
    let trial = open(home, "2026-04-01T12:00:00-04:00", json!({})).await;
    let before = trial.announced("a1").await.len();
    let paid = json_of(trial.pay("a1", "p", LEVEL, APRIL).await);
    assert_eq!((&paid["processing_state"], &paid["line_item_relationships"]), (&json!("SCHEDULED"), &json!([])));
    assert_eq!(trial.announced_after("a1", before).await, ["line_item_create"]);
    assert_eq!(balances(&trial.read("a1").await), [120_000, 0, 0, 0]);
    assert_eq!(balances(&trial.read_at("a1", APRIL).await), [PLAN[1], 0, 0, 0]);
    assert_eq!(trial.item("a1", "p").await["processing_state"], "SCHEDULED");
    trial.verify().await;
    trial.go_to("2026-04-16T12:00:00-04:00").await;
    let item = trial.item("a1", "p").await;
    assert_eq!((&item["processing_state"], status_of(&item)), (&json!("PROCESSED"), "VALID"));
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 0, 0, 0]);
    let applied = ["line_item_update", "line_item_create", "due_date_passed"];
    assert_eq!(trial.announced_after("a1", before + 1).await, applied);
    trial.verify().await;
}

async fn a_scheduled_payment_is_cancelled_by_its_reversal(home: Home) {
    let fee = json!({ "default_attributes": { "default_payment_reversal_fee_cents": 2_500 } });
    let trial = open(home, "2026-04-01T12:00:00-04:00", fee).await;
    json_of(trial.pay("a1", "p", LEVEL, APRIL).await);
    json_of(trial.reverse("a1", "p", &json!({})).await);
    assert_eq!(status_of(&trial.item("a1", "p").await), "INVALID");
    // Nothing bounced, so there is no fee.
    assert_eq!(balances(&trial.read("a1").await), [120_000, 0, 0, 0]);
    trial.verify().await;
    trial.go_to("2026-04-16T12:00:00-04:00").await;
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    assert_eq!(status_of(&trial.item("a1", "p").await), "INVALID");
    trial.verify().await;
}

async fn a_reversal_as_posted_gives_back_exactly_what_was_paid(home: Home) {
    let fee = json!({ "default_attributes": { "default_payment_reversal_fee_cents": 2_500 } });
    let trial = open(home, APRIL, fee).await;
    json_of(trial.pay("a1", "p", LEVEL, APRIL).await);
    trial.go_to("2026-04-18T12:00:00-04:00").await;
    let before = trial.announced("a1").await.len();
    let reversed =
        json_of(trial.reverse("a1", "p", &json!({ "external_fields": [{ "key": "why", "value": "R01" }] })).await);
    assert_eq!(reversed["line_item_overview"]["line_item_type"], "PAYMENT_REVERSAL");
    assert_eq!(reversed["external_fields"], json!([{ "key": "why", "value": "R01" }]));
    // 94.62 of principal, 12.00 of interest, and the fee. No late fee: nothing in between is recalculated.
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 2_500, 0]);
    for (kind, cents) in
        [("PAYMENT_REVERSAL_PRINCIPAL", 9_462), ("PAYMENT_REVERSAL_INTEREST", 1_200), ("RETURN_CHECK_FEE", 2_500)]
    {
        let items = trial.items("a1", kind).await;
        assert_eq!(
            (items.len(), &items[0]["line_item_summary"]["original_amount_cents"]),
            (1, &json!(cents)),
            "{kind}"
        );
    }
    let announced = trial.announced_after("a1", before).await;
    assert_eq!(announced.iter().filter(|event| *event == "line_item_create").count(), 4, "{announced:?}");
    assert_eq!(announced.iter().filter(|event| *event == "payment_reversed").count(), 1, "{announced:?}");
    trial.verify().await;
}

async fn a_payment_is_reversed_once(home: Home) {
    let trial = open(home, APRIL, json!({})).await;
    json_of(trial.pay("a1", "p", LEVEL, APRIL).await);
    let first = trial.reverse("a1", "p", &json!({})).await.expect("it is reversed");
    assert_eq!(trial.reverse("a1", "p", &json!({})).await, Ok(first));
    assert_eq!(code_of(trial.reverse("a1", "p", &json!({ "line_item_id": "again" })).await), "already_reversed");
    assert_eq!(code_of(trial.reverse("a1", "nothing", &json!({})).await), "not_found");
    json_of(trial.fee("a1", &json!({ "line_item_id": "f", "original_amount_cents": 100 })).await);
    assert_eq!(code_of(trial.reverse("a1", "f", &json!({})).await), "not_reversible");
    let body = json!({ "line_item_id": "i", "original_amount_cents": 100, "line_item_status": "INVALID" });
    json_of(trial.pay_with("a1", &body).await);
    assert_eq!(code_of(trial.reverse("a1", "i", &json!({})).await), "not_reversible");
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 100, 0]);
    trial.verify().await;
}

async fn a_fee_is_waived_once_and_only_what_is_unpaid(home: Home) {
    let trial = open(home, APRIL, json!({})).await;
    json_of(trial.fee("a1", &json!({ "line_item_id": "f", "original_amount_cents": 1_000 })).await);
    let for_the_fee = json!({
        "line_item_id": "p", "original_amount_cents": 400, "allocation": "FEE", "effective_at": APRIL,
    });
    json_of(trial.pay_with("a1", &for_the_fee).await);
    assert_eq!(balances(&trial.read("a1").await), [120_000, 0, 600, 0]);
    let waived = json_of(trial.waive("a1", "f", &json!({})).await);
    assert_eq!(waived["line_item_summary"]["original_amount_cents"], -600);
    assert_eq!(balances(&trial.read("a1").await), [120_000, 0, 0, 0]);
    assert_eq!(trial.item("a1", "f").await["line_item_summary"]["balance_cents"], 0);
    assert_eq!(json_of(trial.waive("a1", "f", &json!({})).await), waived);
    assert_eq!(code_of(trial.waive("a1", "f", &json!({ "line_item_id": "again" })).await), "nothing_to_waive");
    trial.go_to("2026-04-16T12:00:00-04:00").await;
    json_of(trial.waive("a1", "dbk_late_fee_1", &json!({})).await);
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 0, 0]);
    trial.verify().await;
}

async fn offsets_move_what_they_name(home: Home) {
    let trial = open(home, "2026-04-16T12:00:00-04:00", json!({})).await;
    json_of(trial.debit("a1", &json!({ "original_amount_cents": 500, "allocation": "FEE" })).await);
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_000, 0]);
    json_of(trial.debit("a1", &json!({ "original_amount_cents": 300, "allocation": "INTEREST" })).await);
    assert_eq!(balances(&trial.read("a1").await), [120_000, 900, 1_000, 0]);
    json_of(trial.credit("a1", &json!({ "original_amount_cents": 2_000 })).await);
    assert_eq!(balances(&trial.read("a1").await), [122_000, 900, 1_000, 0]);
    json_of(trial.credit("a1", &json!({ "original_amount_cents": 70, "allocation": "INTEREST" })).await);
    json_of(trial.credit("a1", &json!({ "original_amount_cents": 30, "allocation": "FEE" })).await);
    assert_eq!(balances(&trial.read("a1").await), [122_000, 970, 1_030, 0]);
    assert_eq!(trial.items("a1", "CREDIT_OFFSET").await.len(), 3);
    trial.verify().await;
}

async fn paying_everything_closes_and_more_is_surplus(home: Home) {
    let trial = open(home, "2026-03-20T12:00:00-04:00", json!({})).await;
    trial.account("auto-12", "a2", OPENING).await;
    // The open period's interest of 12.00 is part of a payoff.
    assert_eq!(trial.read("a1").await["summary"]["total_payoff_cents"], 121_200);
    let before = trial.announced("a1").await.len();
    json_of(trial.pay("a1", "p", 121_200, "2026-03-20T12:00:00-04:00").await);
    assert_eq!(trial.standing("a1").await, "CLOSED/PAID_OFF");
    let closed = trial.announced_after("a1", before).await;
    assert_eq!(closed.iter().filter(|event| *event == "account_closed").count(), 1);
    assert_eq!(closed.iter().filter(|event| *event == "account_status_change").count(), 1);
    json_of(trial.pay("a2", "p", 121_300, "2026-03-20T12:00:00-04:00").await);
    let account = trial.read("a2").await;
    assert_eq!((standing(&account).as_str(), balances(&account)), ("CLOSED/SURPLUS_BALANCE", [0, 0, 0, 100]));
    let count = trial.announced("a1").await.len();
    trial.go_to("2026-06-20T12:00:00-04:00").await;
    assert_eq!(trial.announced("a1").await.len(), count, "nothing happens on a closed account");
    trial.verify().await;
}

async fn a_reversal_opens_a_closed_account_again(home: Home) {
    let trial = open(home, "2026-03-20T12:00:00-04:00", json!({})).await;
    json_of(trial.pay("a1", "p", 121_200, "2026-03-20T12:00:00-04:00").await);
    trial.go_to("2026-04-20T12:00:00-04:00").await;
    json_of(trial.reverse("a1", "p", &json!({})).await);
    let account = trial.read("a1").await;
    assert_eq!((standing(&account).as_str(), balances(&account)), ("ACTIVE", [120_000, 1_200, 0, 0]));
    // The due date that passed in the meantime is past due, without a fee.
    assert_eq!(account["delinquency"]["days_past_due"], 5);
    trial.go_to("2026-05-16T12:00:00-04:00").await;
    assert_eq!(trial.items("a1", "LATE_FEE").await.len(), 1);
    trial.verify().await;
}

async fn only_known_pairs_of_status_are_taken(home: Home) {
    let trial = open(home, "2026-03-20T12:00:00-04:00", json!({})).await;
    for (status, reason) in [("ACTIVE", "FRAUD"), ("SUSPENDED", "PAID_OFF"), ("CLOSED", "DELINQUENT")] {
        let body = json!({ "account_status": status, "account_substatus": reason });
        assert_eq!(code_of(trial.status("a1", &body).await), "invalid_request", "{status}/{reason}");
    }
    assert_eq!(code_of(trial.status("a1", &json!({ "account_status": "CLOSED" })).await), "invalid_request");
    for (status, reason) in
        [("SUSPENDED", "RISK_REVIEW"), ("CLOSED", "CUSTOMER_REQUEST"), ("ACTIVE", "HARDSHIP/EXEMPTIONS")]
            .into_iter()
            .chain([("ACTIVE", "SCRA"), ("SUSPENDED", "DECEASED"), ("SUSPENDED", "HARDSHIP")])
            .chain([("ACTIVE", "HARDSHIP"), ("ACTIVE", "EXEMPTIONS")])
    {
        let body = json!({ "account_status": status, "account_substatus": reason });
        let account = json_of(trial.status("a1", &body).await);
        assert_eq!(standing(&account), format!("{status}/{reason}"));
    }
    let account = json_of(trial.status("a1", &json!({ "account_status": "ACTIVE" })).await);
    assert_eq!(standing(&account), "ACTIVE");
    let trail: Vec<String> = trial.trail("a1").await.into_iter().map(|(_, status)| status).collect();
    let expected = "ACTIVE SUSPENDED/RISK_REVIEW CLOSED/CUSTOMER_REQUEST ACTIVE/HARDSHIP/EXEMPTIONS ACTIVE/SCRA \
                    SUSPENDED/DECEASED SUSPENDED/HARDSHIP ACTIVE/HARDSHIP ACTIVE/EXEMPTIONS ACTIVE";
    assert_eq!(trail, expected.split(' ').collect::<Vec<_>>());
    // A status set for later is scheduled.
    let later = json!({ "account_status": "SUSPENDED", "account_substatus": "FRAUD", "effective_at": "2026-03-25T00:00:00-04:00" });
    assert_eq!(standing(&json_of(trial.status("a1", &later).await)), "ACTIVE");
    trial.verify().await;
    trial.go_to("2026-03-25T00:00:00-04:00").await;
    assert_eq!(trial.standing("a1").await, "SUSPENDED/FRAUD");
    trial.verify().await;
}

async fn amounts_and_moments_out_of_range_are_refused(home: Home) {
    let trial = open(home, "2026-03-20T12:00:00-04:00", json!({})).await;
    assert_eq!(code_of(trial.pay("a1", "p", 100, "2026-03-14T23:59:59-04:00").await), "invalid_request");
    let most = json!({ "original_amount_cents": 10_000_000_000_000_i64 });
    json_of(trial.credit("a1", &most).await);
    // Reads as of a time before the account began, or too far in the future.
    for at in ["2026-03-14T00:00:00-04:00", "2086-04-20T12:00:00-04:00"] {
        assert_eq!(code_of(trial.service.get_account(&trial.who, "a1", Some(time(at))).await), "invalid_request");
    }
    view_of(trial.service.get_account(&trial.who, "a1", Some(time("2086-03-01T12:00:00-05:00"))).await);
    trial.verify().await;
}

async fn the_splits_of_a_payment_add_up_to_it(home: Home) {
    let trial = open(home, "2026-06-20T12:00:00-04:00", json!({})).await;
    let paid = json_of(trial.pay("a1", "p", 20_000, "2026-06-20T12:00:00-04:00").await);
    let splits = paid["line_item_relationships"].as_array().expect("splits");
    let sum: i64 = splits.iter().map(|split| split["split_amount_cents"].as_i64().expect("cents")).sum();
    assert_eq!(sum.abs(), 20_000);
    assert_eq!(paid["line_item_summary"]["original_amount_cents"], -20_000);
    // April's 12.00 and 94.62, and of May 12.00 and 81.38; the three late fees of 15.00 stay unpaid.
    let of = |kind: &str| -> i64 {
        let of_kind = splits.iter().filter(|split| split["paid_down_line_item_type"] == kind);
        of_kind.map(|split| split["split_amount_cents"].as_i64().expect("cents").abs()).sum()
    };
    assert_eq!((of("LATE_FEE"), of("INTEREST"), of("LOAN")), (0, 2_400, 17_600));
    assert!(splits.iter().all(|split| split["type"] == "PAYMENT_SPLIT"));
    trial.verify().await;
}
