//! Inputs of an account.

use super::fixtures::*;
use daybook_store::records::{AccountKey, InputRow};
use daybook_store::{AccountToLoad, Inputs, Store};
use std::sync::Arc;

/// An account with these inputs.
async fn with_inputs(store: &Arc<dyn Store>, inputs: Vec<InputRow>) -> AccountKey {
    let org = organization(store, "one").await;
    let mut row = account_row(org, "a", "loan");
    row.now.settled_seq = 3;
    row.now.processed_through = Some(at(205));
    let key = row.key.clone();
    let mut write = insert(row);
    write.inputs = inputs;
    written(store, vec![account_unit(write)]).await;
    key
}

async fn seqs(store: &Arc<dyn Store>, key: &AccountKey, inputs: Inputs) -> Vec<i64> {
    load(store, key, inputs).await.unwrap().inputs.iter().map(|input| input.seq).collect()
}

pub async fn all_inputs_come_by_seq(store: Arc<dyn Store>) {
    let mut first = input(1, "z");
    first.extra = None;
    first.scheduled = true;
    first.payload = vec![];
    let key = with_inputs(&store, vec![input(10, "b"), first.clone(), input(2, "c")]).await;
    let loaded = load(&store, &key, Inputs::All).await.unwrap();
    assert_eq!(loaded.inputs, [first, input(2, "c"), input(10, "b")]);
    assert_eq!(seqs(&store, &key, Inputs::None).await, [0; 0]);
}

pub async fn pending_inputs_are_held_or_scheduled(store: Arc<dyn Store>) {
    let applying = |seq, seconds| InputRow { applies_at: at(seconds), ..input(seq, &format!("n{seq}")) };
    // Settled and past; settled and in the future; settled, at exactly this moment; held, past or in the future.
    let inputs = vec![applying(1, 204), applying(2, 206), applying(3, 205), applying(4, 100), applying(5, 300)];
    let key = with_inputs(&store, inputs).await;
    assert_eq!(seqs(&store, &key, Inputs::Pending).await, [2, 4, 5]);
}

pub async fn before_the_first_fold_all_inputs_are_pending(store: Arc<dyn Store>) {
    let key = with_inputs(&store, vec![input(1, "a"), input(5, "b")]).await;
    let mut unfolded = now();
    unfolded.settled_seq = 3;
    written(&store, vec![account_unit(update(&key, 1, unfolded))]).await;
    assert_eq!(seqs(&store, &key, Inputs::Pending).await, [1, 5]);
}

pub async fn named_inputs_come_once(store: Arc<dyn Store>) {
    let key = with_inputs(&store, (1..=6).map(|seq| input(seq, &format!("n{seq}"))).collect()).await;
    for (inputs, expected) in
        [(Inputs::None, vec![1, 6]), (Inputs::Pending, vec![1, 4, 5, 6]), (Inputs::All, vec![1, 2, 3, 4, 5, 6])]
    {
        let names = ["n6", "n1", "none", "n1"].map(Arc::from).to_vec();
        let loaded = store.load(&[AccountToLoad { key: key.clone(), inputs, names }]).await.unwrap().remove(0).unwrap();
        let seqs: Vec<i64> = loaded.inputs.iter().map(|input| input.seq).collect();
        assert_eq!(seqs, expected, "{inputs:?}");
    }
}

pub async fn removed_inputs_free_their_name(store: Arc<dyn Store>) {
    let key = with_inputs(&store, vec![input(1, "a"), input(2, "b")]).await;
    let mut write = update(&key, 1, now());
    write.removed_inputs = vec![2, 99];
    write.inputs = vec![input(3, "b")];
    written(&store, vec![account_unit(write)]).await;
    assert_eq!(load(&store, &key, Inputs::All).await.unwrap().inputs, [input(1, "a"), input(3, "b")]);
}

/// The unit is dropped alone and completely.
async fn falls_alone(store: &Arc<dyn Store>, taken: InputRow) {
    use daybook_store::batch::Claimed::{Stale, Written};
    let key = with_inputs(store, vec![input(1, "a"), input(2, "b")]).await;
    let mut write = update(&key, 1, now());
    write.inputs = vec![input(7, "fine"), taken];
    let mut unit = account_unit(write);
    unit.answers = vec![new_answer(key.org, "k", at(1), at(1_000))];
    unit.messages = vec![(key.org, message(Some("a"), 1, "lost"))];
    let beside = |id: &str| {
        let mut unit = account_unit(insert(account_row(key.org, id, "loan")));
        unit.messages = vec![(key.org, message(Some(id), 1, id))];
        unit
    };
    let claimed = commit(store, vec![beside("0"), unit, beside("z")]).await;
    assert_eq!(claimed, [Written, Stale, Written]);
    let loaded = load(store, &key, Inputs::All).await.unwrap();
    assert_eq!((loaded.row.version, loaded.inputs), (1, vec![input(1, "a"), input(2, "b")]));
    assert_eq!(store.answer(key.org, "k", at(2)).await.unwrap(), None);
    assert_eq!(log(store, key.org).await, [(1, "0".to_owned()), (2, "z".to_owned())]);
    assert!(load(store, &account_key(key.org, "z"), Inputs::None).await.is_some());
}

pub async fn a_taken_name_drops_the_unit(store: Arc<dyn Store>) {
    falls_alone(&store, input(3, "b")).await;
}

pub async fn a_taken_number_drops_the_unit(store: Arc<dyn Store>) {
    falls_alone(&store, input(2, "c")).await;
}
