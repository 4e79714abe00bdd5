//! Requests that are sent twice: with an id that the caller chose, and with an `Idempotency-Key`.

use crate::support::{
    Home, LEVEL, PLAN, Trial, balances, code_of, form_of, idempotency_key, json_of, on_both, product, view_of,
};
use bytes::Bytes;
use daybook_service::changes::ChangeRequest;
use serde_json::json;

on_both!(
    the_same_payment_twice_is_one_payment,
    ids_of_accounts_customers_and_products_are_taken_once,
    fifty_identical_payments_at_once_are_one_posting_and_fifty_equal_answers,
    fifty_accounts_at_once_with_one_id_are_one_account,
    an_idempotency_key_gives_the_same_answer_again,
    an_idempotency_key_used_at_once_by_many_is_used_once,
    an_idempotency_key_belongs_to_one_call_whatever_it_is_about,
    an_idempotency_key_is_free_after_24_hours,
    a_refused_call_may_be_tried_again_with_its_key,
    an_idempotency_key_on_a_call_that_changed_nothing_is_kept_too,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";
const NOW: &str = "2026-03-20T12:00:00-04:00";

async fn open(home: Home) -> Trial {
    let trial = Trial::at(home, NOW).await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    trial
}

async fn the_same_payment_twice_is_one_payment(home: Home) {
    let trial = open(home).await;
    let body = json!({ "line_item_id": "p", "original_amount_cents": LEVEL, "external_fields": [{ "key": "k", "value": "v" }] });
    let first = trial.pay_with("a1", &body).await.expect("it is recorded");
    trial.go_to("2026-03-21T12:00:00-04:00").await;
    assert_eq!(trial.pay_with("a1", &body).await.expect("it is answered"), first);
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 0, 0, 0]);
    for other in [
        json!({ "line_item_id": "p", "original_amount_cents": LEVEL }),
        json!({ "line_item_id": "p", "original_amount_cents": LEVEL + 1, "external_fields": [{ "key": "k", "value": "v" }] }),
    ] {
        assert_eq!(code_of(trial.pay_with("a1", &other).await), "id_taken");
    }
    assert_eq!(
        code_of(trial.fee("a1", &json!({ "line_item_id": "p", "original_amount_cents": LEVEL })).await),
        "id_taken"
    );
    // A credit and a debit with the same content are different items.
    let offset = json!({ "line_item_id": "o", "original_amount_cents": 5 });
    json_of(trial.credit("a1", &offset).await);
    assert_eq!(code_of(trial.debit("a1", &offset).await), "id_taken");
    // Each account has its own ids of line items.
    trial.account("auto-12", "a2", OPENING).await;
    json_of(trial.pay("a2", "p", 1, NOW).await);
    trial.verify().await;
}

async fn ids_of_accounts_customers_and_products_are_taken_once(home: Home) {
    let trial = open(home).await;
    let service = &trial.service;
    let body = json!({ "customer_id": "c", "name_last": "Li", "ssn": "123-45-6789" });
    let first = service.create_customer(&trial.who, None, form_of(&body)).await.expect("it is made");
    assert_eq!(service.create_customer(&trial.who, None, form_of(&body)).await.expect("it is there"), first);
    let other = json!({ "customer_id": "c", "name_last": "Li", "ssn": "123-45-6780" });
    assert_eq!(code_of(service.create_customer(&trial.who, None, form_of(&other)).await), "id_taken");
    let before = trial.read("a1").await;
    assert_eq!(trial.account("auto-12", "a1", OPENING).await, before);
    let other =
        json!({ "product_id": "auto-12", "account_id": "a1", "summary": { "initial_principal_cents": 120_000 } });
    assert_eq!(code_of(service.create_account(&trial.who, None, form_of(&other)).await), "id_taken");
    assert_eq!(view_of(service.get_product(&trial.who, "auto-12").await), trial.product("auto-12", json!({})).await);
    let other = product("auto-12", &json!({ "default_attributes": { "default_late_fee_cents": 1 } }));
    assert_eq!(code_of(service.create_product(&trial.who, None, form_of(&other)).await), "id_taken");
    trial.verify().await;
}

/// Sends a request this many times at the same time.
async fn at_once<F>(count: usize, call: impl Fn(usize) -> F) -> Vec<Result<Bytes, daybook_service::problem::Problem>>
where
    F: Future<Output = Result<Bytes, daybook_service::problem::Problem>> + Send + 'static,
{
    let calls: Vec<_> = (0..count).map(|number| tokio::spawn(call(number))).collect();
    let mut answers = Vec::with_capacity(count);
    for call in calls {
        answers.push(call.await.expect("a call does not panic"));
    }
    answers
}

async fn fifty_identical_payments_at_once_are_one_posting_and_fifty_equal_answers(home: Home) {
    let trial = open(home).await;
    let before = trial.announced("a1").await.len();
    let answers = at_once(50, |_| {
        let trial = trial.clone();
        async move { trial.pay("a1", "p", LEVEL, NOW).await }
    });
    let answers = answers.await;
    let first = answers[0].as_ref().expect("it is recorded");
    assert!(answers.iter().all(|answer| answer.as_ref() == Ok(first)));
    assert_eq!(balances(&trial.read("a1").await), [PLAN[1], 0, 0, 0]);
    // The payment, and the interest that it pays before it is posted.
    assert_eq!(trial.announced_after("a1", before).await, ["line_item_create", "line_item_create"]);
    trial.verify().await;
}

async fn fifty_accounts_at_once_with_one_id_are_one_account(home: Home) {
    let trial = open(home).await;
    let answers = at_once(50, |_| {
        let trial = trial.clone();
        async move {
            let body = json!({ "product_id": "auto-12", "account_id": "a2", "summary": { "initial_principal_cents": 120_000 } });
            trial.service.create_account(&trial.who, None, form_of(&body)).await
        }
    });
    let answers = answers.await;
    let first = answers[0].as_ref().expect("it is made");
    assert!(answers.iter().all(|answer| answer.as_ref() == Ok(first)));
    assert_eq!(trial.announced("a2").await, ["account_create", "line_item_create"]);
    trial.verify().await;
}

async fn an_idempotency_key_gives_the_same_answer_again(home: Home) {
    let trial = open(home).await;
    let (service, who) = (&trial.service, &trial.who);
    // A fee without a chosen id: only the idempotency key identifies a repeat.
    let fee = || form_of(&json!({ "original_amount_cents": 700 }));
    let first = service
        .change_account(who, idempotency_key("k1", "fee"), "a1", ChangeRequest::Fee(fee()))
        .await
        .expect("it is charged");
    json_of(trial.pay("a1", "p", 700, NOW).await);
    assert_eq!(
        service.change_account(who, idempotency_key("k1", "fee"), "a1", ChangeRequest::Fee(fee())).await.as_ref(),
        Ok(&first)
    );
    assert_eq!(
        code_of(service.change_account(who, idempotency_key("k1", "other"), "a1", ChangeRequest::Fee(fee())).await),
        "idempotency_key_reused"
    );
    assert_eq!(trial.items("a1", "MANUAL_FEE").await.len(), 1);
    let customer = || form_of(&json!({ "name_last": "Li" }));
    let first = service.create_customer(who, idempotency_key("k2", "customer"), customer()).await.expect("it is made");
    assert_eq!(service.create_customer(who, idempotency_key("k2", "customer"), customer()).await, Ok(first));
    assert_eq!(
        code_of(service.create_customer(who, idempotency_key("k2", "other"), customer()).await),
        "idempotency_key_reused"
    );
    let mut body = product("x", &json!({}));
    body["product_id"].take();
    let first =
        service.create_product(who, idempotency_key("k3", "product"), form_of(&body)).await.expect("it is made");
    assert_eq!(service.create_product(who, idempotency_key("k3", "product"), form_of(&body)).await, Ok(first));
    assert_eq!(
        code_of(service.create_product(who, idempotency_key("k3", "other"), form_of(&body)).await),
        "idempotency_key_reused"
    );
    let account = || form_of(&json!({ "product_id": "auto-12", "summary": { "initial_principal_cents": 5_000 } }));
    let first = service.create_account(who, idempotency_key("k4", "account"), account()).await.expect("it is made");
    assert_eq!(service.create_account(who, idempotency_key("k4", "account"), account()).await, Ok(first));
    trial.verify().await;
}

async fn an_idempotency_key_used_at_once_by_many_is_used_once(home: Home) {
    let trial = open(home).await;
    let fees = at_once(40, |_| {
        let trial = trial.clone();
        async move {
            let fee = form_of(&json!({ "original_amount_cents": 700 }));
            trial.service.change_account(&trial.who, idempotency_key("k", "fee"), "a1", ChangeRequest::Fee(fee)).await
        }
    });
    let fees = fees.await;
    let first = fees[0].as_ref().expect("it is charged");
    assert!(fees.iter().all(|answer| answer.as_ref() == Ok(first)));
    let customers = at_once(20, |_| {
        let trial = trial.clone();
        async move {
            let customer = form_of(&json!({ "name_last": "Li" }));
            trial.service.create_customer(&trial.who, idempotency_key("c", "customer"), customer).await
        }
    });
    let customers = customers.await;
    let first = customers[0].as_ref().expect("it is made");
    assert!(customers.iter().all(|answer| answer.as_ref() == Ok(first)));
    let products = at_once(20, |_| {
        let trial = trial.clone();
        async move {
            let mut body = product("x", &json!({}));
            body["product_id"].take();
            trial.service.create_product(&trial.who, idempotency_key("p", "product"), form_of(&body)).await
        }
    });
    let products = products.await;
    let first = products[0].as_ref().expect("it is made");
    for answer in &products {
        assert_eq!(answer.as_ref(), Ok(first));
    }
    // Accounts without chosen ids: an id is generated for each request, and only one of them is used.
    let accounts = at_once(20, |_| {
        let trial = trial.clone();
        async move {
            let body = json!({ "product_id": "auto-12", "summary": { "initial_principal_cents": 5_000 } });
            trial.service.create_account(&trial.who, idempotency_key("a", "account"), form_of(&body)).await
        }
    });
    let accounts = accounts.await;
    let first = accounts[0].as_ref().expect("it is made");
    assert!(accounts.iter().all(|answer| answer.as_ref() == Ok(first)));
    let listed = trial.service.list_accounts(&trial.who, crate::support::whole(), Default::default()).await;
    assert_eq!(crate::support::list(view_of(listed)).len(), 2);
    trial.verify().await;
}

async fn an_idempotency_key_belongs_to_one_call_whatever_it_is_about(home: Home) {
    let trial = open(home).await;
    trial.account("auto-12", "a2", OPENING).await;
    let answers = at_once(2, |number| {
        let trial = trial.clone();
        async move {
            let (account, content) = [("a1", "one"), ("a2", "two")][number];
            let fee = form_of(&json!({ "original_amount_cents": 700 }));
            trial
                .service
                .change_account(&trial.who, idempotency_key("k", content), account, ChangeRequest::Fee(fee))
                .await
        }
    });
    let answers = answers.await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    let refused = answers.into_iter().find_map(Result::err).expect("one is refused");
    assert_eq!(refused.code, "idempotency_key_reused");
    let fees = trial.items("a1", "MANUAL_FEE").await.len() + trial.items("a2", "MANUAL_FEE").await.len();
    assert_eq!(fees, 1);
    let product = form_of(&product("x", &json!({})));
    assert_eq!(
        code_of(trial.service.create_product(&trial.who, idempotency_key("k", "three"), product).await),
        "idempotency_key_reused"
    );
    trial.verify().await;
}

async fn an_idempotency_key_is_free_after_24_hours(home: Home) {
    let trial = open(home).await;
    let fee = || form_of(&json!({ "original_amount_cents": 700 }));
    let charge =
        || trial.service.change_account(&trial.who, idempotency_key("k", "fee"), "a1", ChangeRequest::Fee(fee()));
    json_of(charge().await);
    trial.go_to("2026-03-21T11:59:59-04:00").await;
    json_of(charge().await);
    assert_eq!(trial.items("a1", "MANUAL_FEE").await.len(), 1);
    trial.clock.set(crate::support::time("2026-03-21T12:00:00.000001-04:00"));
    json_of(charge().await);
    assert_eq!(trial.items("a1", "MANUAL_FEE").await.len(), 2);
    trial.go_to("2026-03-23T12:00:00-04:00").await;
    let other =
        trial.service.change_account(&trial.who, idempotency_key("k", "other"), "a1", ChangeRequest::Fee(fee())).await;
    json_of(other);
    trial.verify().await;
}

async fn a_refused_call_may_be_tried_again_with_its_key(home: Home) {
    let trial = open(home).await;
    let waive = || {
        trial.service.change_account(
            &trial.who,
            idempotency_key("k", "waive"),
            "a1",
            ChangeRequest::Waiver("f".to_owned(), form_of(&json!({}))),
        )
    };
    assert_eq!(code_of(waive().await), "not_found");
    json_of(trial.fee("a1", &json!({ "line_item_id": "f", "original_amount_cents": 700 })).await);
    let first = waive().await.expect("it is waived");
    assert_eq!(waive().await, Ok(first));
    trial.verify().await;
}

async fn an_idempotency_key_on_a_call_that_changed_nothing_is_kept_too(home: Home) {
    let trial = open(home).await;
    let (service, who) = (&trial.service, &trial.who);
    let mode = |on: bool| form_of(&json!({ "migration_mode": on }));
    json_of(service.set_migration_mode(who, idempotency_key("k1", "off"), "auto-12", mode(false)).await);
    assert_eq!(
        code_of(service.set_migration_mode(who, idempotency_key("k1", "on"), "auto-12", mode(true)).await),
        "idempotency_key_reused"
    );
    let again = || form_of(&product("auto-12", &json!({})));
    json_of(service.create_product(who, idempotency_key("k2", "same"), again()).await);
    assert_eq!(
        code_of(service.create_product(who, idempotency_key("k2", "other"), again()).await),
        "idempotency_key_reused"
    );
    json_of(trial.pay("a1", "p", 5, NOW).await);
    let body = json!({ "line_item_id": "p", "original_amount_cents": 5, "effective_at": NOW });
    json_of(
        service.change_account(who, idempotency_key("k3", "same"), "a1", ChangeRequest::Payment(form_of(&body))).await,
    );
    assert_eq!(
        code_of(
            service
                .change_account(who, idempotency_key("k3", "other"), "a1", ChangeRequest::Payment(form_of(&body)))
                .await
        ),
        "idempotency_key_reused"
    );
}

/// Responses and accounts survive a restart: a file, and a new service on it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_survive_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = format!("sqlite:{}", folder.path().join("daybook.db").display());
    let fee = || form_of(&json!({ "original_amount_cents": 700 }));
    let first = {
        let trial = Trial::over(&address, NOW).await;
        trial.product("auto-12", json!({})).await;
        trial.account("auto-12", "a1", OPENING).await;
        let first = trial
            .service
            .change_account(&trial.who, idempotency_key("k", "fee"), "a1", ChangeRequest::Fee(fee()))
            .await;
        let first = first.expect("it is charged");
        trial.service.stop().await;
        first
    };
    let trial = Trial::over(&address, "2026-03-20T13:00:00-04:00").await;
    assert_eq!(
        trial.service.change_account(&trial.who, idempotency_key("k", "fee"), "a1", ChangeRequest::Fee(fee())).await,
        Ok(first)
    );
    assert_eq!(balances(&trial.read("a1").await), [120_000, 0, 700, 0]);
    trial.verify().await;
}

/// A different secrets key could not decrypt the sealed data.
#[tokio::test]
async fn another_secrets_key_does_not_start() {
    let store = daybook_store::open("sqlite::memory:").await.expect("the database opens");
    let clock = std::sync::Arc::new(daybook_clock::Manual::default());
    daybook_service::Service::start(store.clone(), clock.clone(), &[7; 32]).await.expect("it starts");
    daybook_service::Service::start(store.clone(), clock.clone(), &[7; 32]).await.expect("it starts again");
    assert!(daybook_service::Service::start(store, clock, &[8; 32]).await.is_err());
}
