//! Two nodes on one PostgreSQL database.

use crate::support::{Home, LEVEL, PLAN, Trial, balances, code_of, form_of, idempotency_key, json_of};
use daybook_service::changes::ChangeRequest;
use serde_json::json;

const OPENING: &str = "2026-03-15T00:00:00-04:00";
const NOW: &str = "2026-04-10T12:00:00-04:00";

async fn two(now: &str) -> (Trial, Trial) {
    let first = Trial::at(Home::Postgres, now).await;
    first.product("auto-12", json!({})).await;
    let second = first.node().await;
    (first, second)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn due_dates_of_many_accounts_pass_once_whoever_works_on_them() {
    const ACCOUNTS: usize = 200;
    let (first, second) = two(NOW).await;
    let opening = (0..ACCOUNTS).map(|number| {
        let trial = if number % 2 == 0 { first.clone() } else { second.clone() };
        tokio::spawn(async move { trial.account("auto-12", &format!("a{number:03}"), OPENING).await })
    });
    for opened in opening.collect::<Vec<_>>() {
        opened.await.expect("it is opened");
    }
    first.clock.set(crate::support::time("2026-04-16T12:00:00-04:00"));
    let working: Vec<_> = [&first, &second, &first, &second]
        .into_iter()
        .cloned()
        .map(|trial| tokio::spawn(async move { trial.service.settle_due().await }))
        .collect();
    for work in working {
        work.await.expect("it ends").expect("what is due is done");
    }
    first.settle().await;
    for number in 0..ACCOUNTS {
        let account = format!("a{number:03}");
        let announced = first.announced(&account).await;
        assert_eq!(announced.len(), 2 + 5, "{account}: {announced:?}");
        assert_eq!(first.items(&account, "LATE_FEE").await.len(), 1);
    }
    first.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_to_one_account_from_both_nodes_are_all_posted_once() {
    let (first, second) = two(NOW).await;
    first.account("auto-12", "a1", OPENING).await;
    // Forty payments, each sent to both nodes at the same time.
    let paying: Vec<_> = (0..80)
        .map(|number| {
            let trial = if number % 2 == 0 { first.clone() } else { second.clone() };
            tokio::spawn(async move { trial.pay("a1", &format!("p{}", number / 2), 100, NOW).await })
        })
        .collect();
    for paid in paying {
        json_of(paid.await.expect("it does not panic"));
    }
    assert_eq!(first.items("a1", "PAYMENT").await.len(), 40);
    // 40.00: 12.00 of interest, 28.00 of principal.
    assert_eq!(balances(&second.read("a1").await), [120_000 - 2_800, 0, 0, 0]);
    let sequences: Vec<i64> = first.messages("a1").await.iter().map(|message| message.sequence).collect();
    assert_eq!(sequences, (1..=sequences.len() as i64).collect::<Vec<_>>());
    first.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idempotency_key_is_used_once_on_both_nodes() {
    let (first, second) = two(NOW).await;
    first.account("auto-12", "a1", OPENING).await;
    let charging: Vec<_> = (0..20)
        .map(|number| {
            let trial = if number % 2 == 0 { first.clone() } else { second.clone() };
            tokio::spawn(async move {
                let fee = form_of(&json!({ "original_amount_cents": 700 }));
                trial
                    .service
                    .change_account(&trial.who, idempotency_key("k", "fee"), "a1", ChangeRequest::Fee(fee))
                    .await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for charged in charging {
        answers.push(charged.await.expect("it does not panic").expect("it is charged"));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(balances(&first.read("a1").await), [120_000, 0, 700, 0]);
    first.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mode_that_is_switched_on_one_node_is_respected_by_the_other_at_once() {
    let (first, second) = two(NOW).await;
    second.account("auto-12", "a1", OPENING).await;
    second.account("auto-12", "a2", OPENING).await;
    first.migration_mode("auto-12", true).await;
    // The second node has cached the product, and must not rely on that.
    let paid = json_of(second.pay("a1", "p", LEVEL, NOW).await);
    assert_eq!(paid["processing_state"], "HELD");
    assert_eq!(code_of(second.roll("a2", "2026-04-20T00:00:00-04:00", false).await), "migration_mode");
    first.clock.set(crate::support::time("2026-04-16T12:00:00-04:00"));
    second.settle().await;
    assert_eq!(second.items("a2", "LATE_FEE").await.len(), 0);
    first.release("auto-12").await;
    // Migration mode is off again: the second node's cached product is outdated.
    let fee = json_of(second.fee("a2", &json!({ "line_item_id": "f", "original_amount_cents": 5 })).await);
    assert_eq!(fee["processing_state"], "PROCESSED");
    assert_eq!(balances(&second.read("a1").await), [PLAN[1], 0, 0, 0]);
    first.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_roll_on_the_other_node_is_not_refused_for_a_mode_that_is_over() {
    let (first, second) = two(NOW).await;
    first.account("auto-12", "a1", OPENING).await;
    first.migration_mode("auto-12", true).await;
    assert_eq!(code_of(second.roll("a1", "2026-04-20T00:00:00-04:00", false).await), "migration_mode");
    first.release("auto-12").await;
    json_of(second.roll("a1", "2026-04-20T00:00:00-04:00", false).await);
    first.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_is_shared_by_both_nodes_and_ends_once() {
    const ACCOUNTS: usize = 60;
    let (first, second) = two("2026-04-20T12:00:00-04:00").await;
    first.migration_mode("auto-12", true).await;
    for number in 0..ACCOUNTS {
        first.account("auto-12", &format!("a{number}"), OPENING).await;
        json_of(second.pay(&format!("a{number}"), "p", LEVEL, "2026-04-15T09:00:00-04:00").await);
    }
    second.migration_mode("auto-12", false).await;
    let working: Vec<_> = [&first, &second]
        .into_iter()
        .cloned()
        .map(|trial| tokio::spawn(async move { trial.service.settle_due().await }))
        .collect();
    for work in working {
        work.await.expect("it ends").expect("what is due is done");
    }
    first.settle().await;
    assert_eq!(second.progress("auto-12").await["state"], "NORMAL");
    for number in 0..ACCOUNTS {
        assert_eq!(balances(&first.read(&format!("a{number}")).await), [PLAN[1], 0, 0, 0]);
    }
    assert_eq!(first.log().await.iter().filter(|message| message.event == "migration_released").count(), 1);
    first.verify().await;
}
