//! The schedule of a loan that does not exist yet.

use crate::support::{Home, LEVEL, PLAN, Trial, form_of, json_of, on_both, product, view_of, whole};
use daybook_service::accounts::AccountQuery;
use serde_json::{Value, json};

on_both!(
    a_schedule_can_be_seen_before_there_is_a_product,
    a_schedule_can_be_seen_before_there_is_an_account,
    what_cannot_be_agreed_is_named,
    accounts_are_listed_by_why_they_have_their_status,
    customers_are_called_by_their_names,
);

const NOW: &str = "2026-03-15T09:00:00-04:00";
const OPENING: &str = "2026-03-15T00:00:00-04:00";

fn account(product: &str) -> Value {
    json!({ "product_id": product, "effective_at": OPENING, "summary": { "initial_principal_cents": 120_000 } })
}

async fn a_schedule_can_be_seen_before_there_is_a_product(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let form = product("auto-12", &json!({}));
    let preview = trial.service.preview_product(&trial.who, form_of(&form), form_of(&account("any"))).await;
    let rows = view_of(preview)["results"].as_array().expect("rows").clone();
    assert_eq!(rows.len(), 12);
    for (row, left) in rows.iter().zip(&PLAN[1..]) {
        assert_eq!(row["am_min_pay_cents"], LEVEL);
        assert_eq!(row["am_end_principal_balance_cents"], *left);
    }
    assert_eq!(rows[0]["min_pay_due_at"], "2026-04-15T23:59:59-04:00");
    let products = view_of(trial.service.list_products(&trial.who, whole()).await);
    assert_eq!(products["results"], json!([]), "nothing is stored");
}

async fn a_schedule_can_be_seen_before_there_is_an_account(home: Home) {
    let trial = Trial::at(home, NOW).await;
    trial.product("auto-12", json!({ "billing_cycle_policies": { "cycle_due_interval": "5 days" } })).await;
    let mut form = account("auto-12");
    form["post_promo_overview"] = json!({ "post_promo_len": 7, "post_promo_impl_interest_rate_percent": 6.5 });
    form["account_id"] = json!("a1");
    let preview = view_of(trial.service.preview_account(&trial.who, form_of(&form)).await);
    let accounts = trial.service.list_accounts(&trial.who, whole(), AccountQuery::default()).await;
    assert_eq!(view_of(accounts)["results"], json!([]), "nothing is stored");
    trial.account_with(form).await;
    let schedule = trial.service.get_amortization_schedule(&trial.who, "a1", None).await;
    assert_eq!(preview, view_of(schedule), "the account has the schedule that was shown before");
}

async fn what_cannot_be_agreed_is_named(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let unknown = trial.service.preview_account(&trial.who, form_of(&account("nothing"))).await;
    assert_eq!(unknown.expect_err("there is none").details[0].field, "product_id");
    let mut endless = product("auto-12", &json!({}));
    endless["post_promotional_policies"] = json!({});
    let refused = trial.service.preview_product(&trial.who, form_of(&endless), form_of(&account("any"))).await;
    let problem = refused.expect_err("it has no length");
    assert_eq!(problem.details[0].field, "post_promotional_policies.post_promo_len");
    let form = product("auto-12", &json!({}));
    let nothing = json!({ "product_id": "any" });
    let refused = trial.service.preview_product(&trial.who, form_of(&form), form_of(&nothing)).await;
    let problem = refused.expect_err("nothing is lent");
    assert_eq!(problem.details[0].field, "summary.initial_principal_cents");
}

async fn accounts_are_listed_by_why_they_have_their_status(home: Home) {
    let trial = Trial::at(home, "2026-05-20T09:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    for id in ["late", "fraud", "ended"] {
        trial.account("auto-12", id, OPENING).await;
    }
    let fraud = json!({ "account_status": "SUSPENDED", "account_substatus": "FRAUD" });
    json_of(trial.status("fraud", &fraud).await);
    let ended = json!({ "account_status": "CLOSED", "account_substatus": "FRAUD" });
    json_of(trial.status("ended", &ended).await);
    trial.settle().await;
    let listed = async |query: AccountQuery| {
        let page = view_of(trial.service.list_accounts(&trial.who, whole(), query).await);
        let ids = page["results"].as_array().expect("results").iter().map(|one| one["account_id"].to_string());
        ids.collect::<Vec<_>>().join(" ").replace('"', "")
    };
    let of =
        |substatus: &str| AccountQuery { account_substatus: Some(substatus.to_owned()), ..AccountQuery::default() };
    assert_eq!(listed(of("DELINQUENT")).await, "late");
    assert_eq!(listed(of("FRAUD")).await, "ended fraud");
    assert_eq!(listed(AccountQuery { open_only: true, ..of("FRAUD") }).await, "fraud");
    assert_eq!(listed(AccountQuery { open_only: true, ..AccountQuery::default() }).await, "fraud late");
}

async fn customers_are_called_by_their_names(home: Home) {
    let trial = Trial::at(home, NOW).await;
    for form in [
        json!({ "customer_id": "c1", "name_first": "Ann", "name_last": "Lee" }),
        json!({ "customer_id": "c2", "business_details": { "business_name": "Lee & Sons" } }),
    ] {
        json_of(trial.service.create_customer(&trial.who, None, form_of(&form)).await);
    }
    let ids = ["c2", "nobody", "c1"].map(str::to_owned);
    let names = trial.service.customer_names(&trial.who, &ids).await.expect("names");
    assert_eq!(names, [Some("Lee & Sons".to_owned()), None, Some("Ann Lee".to_owned())]);
}
