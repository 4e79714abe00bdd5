//! Keys that are lent to commands on the server's machine.

use crate::support::{Home, Trial, form_of, list, on_both, view_of};
use daybook_service::access::LENT_MICROS;
use serde_json::json;

on_both!(a_lent_key_ends_by_itself,);

async fn a_lent_key_ends_by_itself(home: Home) {
    let trial = Trial::at(home, "2026-04-01T12:00:00-04:00").await;
    let secret = "a-secret-that-a-command-chose-by-itself";
    let works = async || trial.service.authenticate(secret).await.is_ok();
    assert!(!works().await);
    assert_eq!(
        trial.service.lend_key(&trial.who, "tool", "short").await.expect_err("too short").code,
        "invalid_request"
    );
    trial.service.lend_key(&trial.who, "tool", secret).await.expect("it is lent");
    let caller = trial.service.authenticate(secret).await.expect("it works");
    assert_eq!((caller.org, caller.client_id.as_str()), (trial.who.org, "tool"));
    let asked = form_of(&json!({ "client_id": "tool", "client_secret": secret }));
    let token = view_of(trial.service.issue_token(&asked).await);
    let token = token["access_token"].as_str().expect("a token").to_owned();
    let token_works = async || trial.service.authenticate(&token).await.is_ok();
    assert!(token_works().await);
    let keys = list(view_of(trial.service.list_keys(&trial.who).await));
    assert!(keys.iter().all(|key| key["client_id"] != "tool"), "nothing is written: {keys:?}");
    let almost = LENT_MICROS - 1_000_000;
    for _ in 0..3 {
        trial.clock.set(trial.clock_now().plus_micros(almost));
        assert!(works().await);
        trial.service.lend_key(&trial.who, "tool", secret).await.expect("it is lent again");
    }
    trial.clock.set(trial.clock_now().plus_micros(LENT_MICROS));
    assert!(!works().await && !token_works().await, "the borrower has gone");
    trial.service.lend_key(&trial.who, "tool", secret).await.expect("it is lent");
    trial.service.take_key_back(secret);
    assert!(!works().await);
    let made = view_of(
        trial.service.create_key(&trial.who, form_of(&json!({ "name": "of a system", "role": "ADMIN" }))).await,
    );
    let kept = made["client_id"].as_str().expect("an id");
    let refused = trial.service.lend_key(&trial.who, kept, secret).await.expect_err("a key of that id is kept");
    assert_eq!(refused.details.first().map(|one| one.field.as_str()), Some("client_id"));
}
