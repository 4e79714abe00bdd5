//! Many callers at once.

use super::fixtures::*;
use daybook_store::batch::{Claimed, Unit};
use daybook_store::{Inputs, Store};
use std::sync::Arc;

const TASKS: usize = 8;
const ROUNDS: i64 = 10;

/// Runs `TASKS` tasks to completion and returns their results.
async fn at_once<T, F>(task: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let running: Vec<_> = (0..TASKS).map(|number| tokio::spawn(task(number))).collect();
    let mut given = Vec::with_capacity(TASKS);
    for task in running {
        given.push(task.await.unwrap());
    }
    given
}

/// Each task adds one input at a time, with the version it loaded, and retries until it is written.
pub async fn one_account_is_written_once_a_version(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let key = account(&store, account_row(org, "a", "loan")).await;
    at_once(|task| {
        let (store, key) = (Arc::clone(&store), key.clone());
        async move {
            for round in 0..ROUNDS {
                loop {
                    let row = load(&store, &key, Inputs::None).await.unwrap().row;
                    let mut next = row.now.clone();
                    next.next_seq += 1;
                    next.message_seq += 1;
                    let id = format!("{task}-{round}");
                    let about = message(Some("a"), next.message_seq, &id);
                    let mut write = update(&key, row.version, next);
                    write.inputs = vec![input(row.now.next_seq, &id)];
                    let unit = Unit { messages: vec![(key.org, about)], ..account_unit(write) };
                    if commit(&store, vec![unit]).await == [Claimed::Written] {
                        break;
                    }
                }
            }
        }
    })
    .await;
    let all = TASKS as i64 * ROUNDS;
    let loaded = load(&store, &key, Inputs::All).await.unwrap();
    assert_eq!((loaded.row.version, loaded.row.now.next_seq), (1 + all, 1 + all));
    let seqs: Vec<i64> = loaded.inputs.iter().map(|input| input.seq).collect();
    assert_eq!(seqs, (1..=all).collect::<Vec<_>>());
    // The order of versions is the order of positions.
    let messages = store.messages(org, 0, 1_000).await.unwrap();
    let order: Vec<_> = messages.iter().map(|message| (message.position.unwrap(), message.sequence)).collect();
    assert_eq!(order, (1..=all).map(|n| (n, n)).collect::<Vec<_>>());
}

/// Stale units, waiting messages that are published, and concurrent readers.
pub async fn positions_have_no_gaps_under_load(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let taken = account(&store, account_row(org, "taken", "loan")).await;
    at_once(|task| {
        let (store, taken) = (Arc::clone(&store), taken.clone());
        async move {
            let mut seen = 0;
            for round in 0..ROUNDS {
                let id = format!("{task}-{round}");
                let mut good = account_unit(insert(account_row(org, &id, "loan")));
                good.messages = vec![
                    (org, message(Some(&id), 1, &format!("{id} now"))),
                    (org, waiting(&id, 2, &format!("{id} later"), at(10))),
                ];
                let mut bad = account_unit(update(&taken, 99, now()));
                bad.messages = vec![(org, message(Some("taken"), 1, &format!("{id} never")))];
                assert_eq!(commit(&store, vec![bad, good]).await, [Claimed::Stale, Claimed::Written]);
                store.publish_due(at(10), 3).await.unwrap();
                // A reader never sees a position without the ones before it.
                let positions: Vec<i64> = log(&store, org).await.into_iter().map(|(position, _)| position).collect();
                assert_eq!(positions, (1..=positions.len() as i64).collect::<Vec<_>>());
                assert!(positions.len() > seen);
                seen = positions.len();
            }
        }
    })
    .await;
    while store.publish_due(at(10), 100).await.unwrap() > 0 {}
    let log = log(&store, org).await;
    let all = 2 * TASKS as i64 * ROUNDS;
    assert_eq!(log.iter().map(|(position, _)| *position).collect::<Vec<_>>(), (1..=all).collect::<Vec<_>>());
    let mut ids: Vec<_> = log.into_iter().map(|(_, id)| id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len() as i64, all);
    assert!(ids.iter().all(|id| !id.ends_with("never")));
}

pub async fn one_idempotency_key_is_taken_once(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let claimed = at_once(|task| {
        let store = Arc::clone(&store);
        async move {
            let mut unit = account_unit(insert(account_row(org, &format!("a{task}"), "loan")));
            unit.answers = vec![new_answer(org, "k", at(1), at(100))];
            commit(&store, vec![unit]).await.remove(0)
        }
    })
    .await;
    assert_eq!(claimed.iter().filter(|claimed| **claimed == Claimed::Written).count(), 1);
    let page = daybook_store::records::PageRequest { limit: 100, ..Default::default() };
    let accounts = store.accounts(org, &page).await.unwrap();
    assert_eq!(accounts.len(), 1);
}
