//! Responses kept for repeated requests.

use super::fixtures::*;
use daybook_store::batch::{Claimed, Unit};
use daybook_store::{Inputs, Store};
use std::sync::Arc;

fn answering(org: i64, account: &str, key: &str) -> Unit {
    let mut unit = account_unit(insert(account_row(org, account, "loan")));
    unit.answers = vec![new_answer(org, key, at(100), at(200))];
    unit
}

pub async fn an_answer_is_kept_until_it_expires(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    written(&store, vec![answering(org, "a", "k")]).await;
    assert_eq!(store.answer(org, "k", at(100)).await.unwrap(), Some(answer("k")));
    assert_eq!(store.answer(org, "k", at(199)).await.unwrap(), Some(answer("k")));
    assert_eq!(store.answer(org, "k", at(200)).await.unwrap(), None);
    assert_eq!(store.answer(org, "other", at(100)).await.unwrap(), None);
}

pub async fn a_taken_key_makes_a_unit_stale(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    written(&store, vec![answering(org, "a", "k")]).await;
    let claimed = commit(&store, vec![answering(org, "b", "k"), answering(org, "c", "l")]).await;
    assert_eq!(claimed, [Claimed::Stale, Claimed::Written]);
    assert!(load(&store, &account_key(org, "b"), Inputs::None).await.is_none());
    assert!(load(&store, &account_key(org, "c"), Inputs::None).await.is_some());
    // If two units in one batch have the same key, only one gets it.
    let claimed = commit(&store, vec![answering(org, "d", "m"), answering(org, "e", "m")]).await;
    assert_eq!(claimed.iter().filter(|claimed| **claimed == Claimed::Written).count(), 1);
    // A unit with two keys is stale if one is taken; the other is free again.
    let mut unit = answering(org, "f", "n");
    unit.answers.push(new_answer(org, "k", at(100), at(200)));
    stale(&store, unit).await;
    assert_eq!(store.answer(org, "n", at(100)).await.unwrap(), None);
}

pub async fn an_expired_key_is_free(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    written(&store, vec![answering(org, "a", "k")]).await;
    let again = |recorded_at| {
        let mut unit = account_unit(insert(account_row(org, "b", "loan")));
        unit.answers = vec![new_answer(org, "k", at(recorded_at), at(900))];
        unit.answers[0].answer = answer("another");
        unit
    };
    stale(&store, again(199)).await;
    written(&store, vec![again(200)]).await;
    assert_eq!(store.answer(org, "k", at(800)).await.unwrap(), Some(answer("another")));
}

pub async fn a_stale_unit_gives_its_key_back(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    account(&store, account_row(org, "a", "loan")).await;
    let claimed = commit(&store, vec![answering(org, "a", "k"), answering(org, "b", "l")]).await;
    assert_eq!(claimed, [Claimed::Stale, Claimed::Written]);
    assert_eq!(store.answer(org, "k", at(100)).await.unwrap(), None);
    assert_eq!(store.answer(org, "l", at(100)).await.unwrap(), Some(answer("l")));
    written(&store, vec![answering(org, "c", "k")]).await;
    assert_eq!(store.answer(org, "k", at(100)).await.unwrap(), Some(answer("k")));
}

pub async fn expired_answers_are_removed_in_steps(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let mut unit = Unit::default();
    for (key, expires_at) in [("a", 10), ("b", 20), ("c", 30), ("d", 40)] {
        unit.answers.push(new_answer(org, key, at(1), at(expires_at)));
    }
    written(&store, vec![unit]).await;
    assert_eq!(store.expire_answers(at(30), 2).await.unwrap(), 2);
    assert_eq!(store.expire_answers(at(30), 2).await.unwrap(), 1);
    assert_eq!(store.expire_answers(at(30), 2).await.unwrap(), 0);
    let kept = async |key: &str| store.answer(org, key, at(2)).await.unwrap().is_some();
    assert_eq!([kept("a").await, kept("b").await, kept("c").await, kept("d").await], [false, false, false, true]);
}
