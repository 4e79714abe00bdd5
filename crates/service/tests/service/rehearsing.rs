//! A rehearsed change has the same result as the real one, and leaves nothing behind.

use crate::support::{Home, LEVEL, PLAN, Trial, balances, form_of, json_of, on_both, view_of};
use daybook_service::changes::ChangeRequest;
use serde_json::{Value, json};

on_both!(
    what_is_rehearsed_is_what_is_done,
    a_rehearsal_leaves_nothing_behind,
    what_would_be_refused_is_refused,
    an_opening_is_rehearsed,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";
const APRIL: &str = "2026-04-15T09:00:00-04:00";

async fn open(home: Home) -> Trial {
    let trial = Trial::at(home, APRIL).await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    trial
}

async fn rehearsed(trial: &Trial, change: ChangeRequest) -> (Value, Value) {
    let rehearsal = trial.service.rehearse(&trial.who, "a1", change).await.expect("it can be done");
    (json_of(Ok(rehearsal.answer.render())), view_of(Ok(&rehearsal.account)))
}

async fn what_is_rehearsed_is_what_is_done(home: Home) {
    let trial = open(home).await;
    let payment = json!({ "line_item_id": "p", "original_amount_cents": LEVEL });
    let (item, after) = rehearsed(&trial, ChangeRequest::Payment(form_of(&payment))).await;
    assert_eq!(balances(&after), [PLAN[1], 0, 0, 0]);
    let done = json_of(trial.pay_with("a1", &payment).await);
    assert_eq!(item["line_item_relationships"], done["line_item_relationships"]);
    assert_eq!(after, trial.read("a1").await);

    let (item, after) = rehearsed(&trial, ChangeRequest::Reversal("p".to_owned(), form_of(&json!({})))).await;
    let done = json_of(trial.reverse("a1", "p", &json!({})).await);
    assert_eq!(item, done);
    assert_eq!(after, trial.read("a1").await);

    let status = json!({ "account_status": "SUSPENDED", "account_substatus": "FRAUD" });
    let (_, after) = rehearsed(&trial, ChangeRequest::Status(form_of(&status))).await;
    json_of(trial.status("a1", &status).await);
    assert_eq!(after, trial.read("a1").await);

    let to = "2026-06-01T00:00:00-04:00";
    let roll = json!({ "account_id": "a1", "effective_at": to, "roll_webhooks": true });
    let (rolled, after) = rehearsed(&trial, ChangeRequest::Roll(form_of(&roll))).await;
    let done = json_of(trial.roll("a1", to, true).await);
    assert_eq!(rolled["successful_events"], done["successful_events"]);
    assert_eq!(after, trial.read("a1").await);
}

async fn a_rehearsal_leaves_nothing_behind(home: Home) {
    let trial = open(home).await;
    let (before, told) = (trial.read("a1").await, trial.announced("a1").await);
    let payment = json!({ "line_item_id": "p", "original_amount_cents": LEVEL });
    rehearsed(&trial, ChangeRequest::Payment(form_of(&payment))).await;
    rehearsed(&trial, ChangeRequest::Fee(form_of(&json!({ "original_amount_cents": 100 })))).await;
    let notice = json!({ "notification_type": "account_summary", "interval": "1 month" });
    rehearsed(&trial, ChangeRequest::Notice(form_of(&notice))).await;
    assert_eq!(trial.read("a1").await, before);
    assert_eq!(trial.announced("a1").await, told);
    assert_eq!(trial.items("a1", "PAYMENT").await, Vec::<Value>::new());
}

async fn what_would_be_refused_is_refused(home: Home) {
    let trial = open(home).await;
    let refused = |change| async { trial.service.rehearse(&trial.who, "a1", change).await.expect_err("refused").code };
    let early = json!({ "line_item_id": "p", "original_amount_cents": 1, "effective_at": "2026-01-01T00:00:00Z" });
    assert_eq!(refused(ChangeRequest::Payment(form_of(&early))).await, "invalid_request");
    assert_eq!(refused(ChangeRequest::Reversal("none".to_owned(), form_of(&json!({})))).await, "not_found");
    assert_eq!(refused(ChangeRequest::Withdrawal("none".to_owned())).await, "not_found");
    let live = daybook_service::access::Caller { environment: "LIVE".into(), ..trial.who.clone() };
    let roll = form_of(&json!({ "account_id": "a1", "effective_at": "2026-06-01T00:00:00Z" }));
    let problem = trial.service.rehearse(&live, "a1", ChangeRequest::Roll(roll)).await.expect_err("time is real");
    assert_eq!(problem.code, "live_environment");
}

async fn an_opening_is_rehearsed(home: Home) {
    let trial = open(home).await;
    let body = json!({ "product_id": "auto-12", "account_id": "old", "effective_at": "2025-09-10T00:00:00-04:00",
        "summary": { "initial_principal_cents": 120_000 } });
    let accounts = || async { (trial.all_accounts().await, trial.log().await.len()) };
    let before = accounts().await;
    let rehearsal = trial.service.rehearse_opening(&trial.who, form_of(&body)).await.expect("it can be opened");
    assert_eq!(accounts().await, before, "nothing is left behind");
    // Due on the 10th of October to April, and each missed.
    assert_eq!((rehearsal.late_fees, rehearsal.late_fee_cents), (7, 10_500));
    assert!(rehearsal.is_backdated && !rehearsal.is_there);
    let opened = json_of(trial.service.create_account(&trial.who, None, form_of(&body)).await);
    let shown = view_of(Ok(&rehearsal.account));
    assert_eq!(shown, opened);
    let mut announced = std::collections::BTreeMap::new();
    for event in trial.announced("old").await {
        *announced.entry(event).or_insert(0_u64) += 1;
    }
    assert_eq!(rehearsal.webhooks, announced);
    // The second time it exists; with other content it would be refused, and so would an account that cannot be
    // created.
    let again = trial.service.rehearse_opening(&trial.who, form_of(&body)).await.expect("it is there");
    assert!(again.is_there && again.webhooks.is_empty());
    for (field, value, code) in [
        ("effective_at", json!("2025-09-11T00:00:00-04:00"), "id_taken"),
        ("product_id", json!("none"), "invalid_request"),
        ("assign_customers", json!([{ "customer_id": "nobody" }]), "invalid_request"),
    ] {
        let mut other = body.clone();
        other[field] = value;
        let refused = trial.service.rehearse_opening(&trial.who, form_of(&other)).await.expect_err(field);
        assert_eq!(refused.code, code, "{field}");
    }
}
