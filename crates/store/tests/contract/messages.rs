//! The log, its heads, and waiting messages.

use super::fixtures::*;
use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::Store;
use daybook_store::batch::{Cancel, Unit};
use daybook_store::records::MessageRow;
use std::sync::Arc;

fn positions(expected: &[(i64, &str)]) -> Vec<(i64, String)> {
    expected.iter().map(|(position, id)| (*position, (*id).to_owned())).collect()
}

pub async fn a_message_is_read_back_whole(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let about = MessageRow { data: Bytes::from((0..=255).collect::<Vec<u8>>()), ..message(Some("a"), 7, "e1") };
    let free = MessageRow { cause: String::new(), subject: String::new(), ..message(None, 0, "e2") };
    // The position that a caller supplies is ignored.
    let sent = MessageRow { position: Some(77), ..about.clone() };
    written(&store, vec![message_unit(vec![(org, sent), (org, free.clone())])]).await;
    let expected = [MessageRow { position: Some(1), ..about }, MessageRow { position: Some(2), ..free }];
    assert_eq!(store.messages(org, 0, 10).await.unwrap(), expected);
}

/// Positions follow the order of the units, not of their accounts.
pub async fn positions_follow_units_and_order(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let units = ["c", "a", "b"].map(|id| {
        let mut unit = account_unit(insert(account_row(org, id, "loan")));
        unit.messages =
            vec![(org, message(Some(id), 1, &format!("{id}1"))), (org, message(Some(id), 2, &format!("{id}2")))];
        unit
    });
    written(&store, units.into()).await;
    written(&store, vec![message_unit(vec![(org, message(None, 0, "last"))])]).await;
    let expected = [(1, "c1"), (2, "c2"), (3, "a1"), (4, "a2"), (5, "b1"), (6, "b2"), (7, "last")];
    assert_eq!(log(&store, org).await, positions(&expected));
}

pub async fn each_organization_counts_its_own_positions(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    let plain = |org, id| (org, message(None, 0, id));
    written(&store, vec![message_unit(vec![plain(two, "a"), plain(one, "b"), plain(two, "c")])]).await;
    written(&store, vec![message_unit(vec![plain(one, "d")]), message_unit(vec![plain(two, "e")])]).await;
    assert_eq!(log(&store, one).await, positions(&[(1, "b"), (2, "d")]));
    assert_eq!(log(&store, two).await, positions(&[(1, "a"), (2, "c"), (3, "e")]));
}

pub async fn the_log_is_read_in_parts(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let all = (1..=10).map(|n| (org, message(None, 0, &format!("e{n}")))).collect();
    written(&store, vec![message_unit(all)]).await;
    let read = async |after, limit| -> Vec<i64> {
        let found = store.messages(org, after, limit).await.unwrap();
        found.iter().map(|message| message.position.unwrap()).collect()
    };
    assert_eq!(read(0, 3).await, [1, 2, 3]);
    assert_eq!(read(3, 4).await, [4, 5, 6, 7]);
    assert_eq!(read(7, 100).await, [8, 9, 10]);
    assert_eq!(read(10, 100).await, [0; 0]);
    assert_eq!(read(0, 0).await, [0; 0]);
}

pub async fn due_messages_wait_for_their_moment(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let unit = message_unit(vec![(org, waiting("a", 1, "later", at(1_000))), (org, message(Some("a"), 2, "now"))]);
    written(&store, vec![unit]).await;
    assert_eq!(log(&store, org).await, positions(&[(1, "now")]));
    assert_eq!(store.publish_due(at(999), 10).await.unwrap(), 0);
    assert_eq!(log(&store, org).await, positions(&[(1, "now")]));
    assert_eq!(store.publish_due(at(1_000), 10).await.unwrap(), 1);
    let published = store.messages(org, 1, 10).await.unwrap();
    assert_eq!(published, [MessageRow { position: Some(2), ..message(Some("a"), 1, "later") }]);
    assert_eq!(store.publish_due(at(1_000), 10).await.unwrap(), 0);
    assert_eq!(log(&store, org).await.len(), 2);
}

pub async fn waiting_messages_are_published_oldest_first(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let unit = message_unit(vec![
        (org, waiting("a", 1, "third", at(30))),
        (org, waiting("b", 1, "first", at(10))),
        (org, waiting("c", 1, "second", at(20))),
        (org, waiting("c", 2, "second too", at(20))),
        (org, waiting("c", 3, "not yet", at(31))),
    ]);
    written(&store, vec![unit]).await;
    assert_eq!(store.publish_due(at(30), 10).await.unwrap(), 4);
    assert_eq!(log(&store, org).await, positions(&[(1, "first"), (2, "second"), (3, "second too"), (4, "third")]));
}

pub async fn publishing_is_limited(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    let unit = message_unit(vec![
        (one, waiting("a", 1, "1", at(10))),
        (two, waiting("a", 1, "2", at(20))),
        (one, waiting("a", 2, "3", at(30))),
    ]);
    written(&store, vec![unit]).await;
    assert_eq!(store.publish_due(at(100), 2).await.unwrap(), 2);
    assert_eq!(log(&store, one).await, positions(&[(1, "1")]));
    assert_eq!(log(&store, two).await, positions(&[(1, "2")]));
    assert_eq!(store.publish_due(at(100), 2).await.unwrap(), 1);
    assert_eq!(log(&store, one).await, positions(&[(1, "1"), (2, "3")]));
}

pub async fn a_unit_publishes_before_it_announces(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let key = account(&store, account_row(org, "a", "loan")).await;
    let unit = message_unit(vec![
        (org, waiting("a", 1, "second", at(20))),
        (org, waiting("a", 2, "first", at(10))),
        (org, waiting("a", 3, "later", at(21))),
    ]);
    written(&store, vec![unit]).await;
    let mut write = update(&key, 1, now());
    write.publish_until = Some(at(20));
    let mut unit = account_unit(write);
    unit.messages = vec![(org, message(Some("a"), 4, "own"))];
    let before = message_unit(vec![(org, message(None, 0, "unit before"))]);
    written(&store, vec![before, unit]).await;
    let expected = [(1, "unit before"), (2, "first"), (3, "second"), (4, "own")];
    assert_eq!(log(&store, org).await, positions(&expected));
    assert_eq!(store.publish_due(at(21), 10).await.unwrap(), 1);
    assert_eq!(log(&store, org).await.last().unwrap(), &(5, "later".to_owned()));
}

pub async fn a_unit_publishes_only_its_own_account(store: Arc<dyn Store>) {
    let (org, other) = (organization(&store, "one").await, organization(&store, "two").await);
    let key = account(&store, account_row(org, "a", "loan")).await;
    let unit = message_unit(vec![
        (org, waiting("b", 1, "of b", at(10))),
        (other, waiting("a", 1, "of the other a", at(10))),
        (org, waiting("a", 1, "of a", at(10))),
    ]);
    written(&store, vec![unit]).await;
    let mut stale_write = update(&key, 9, now());
    stale_write.publish_until = Some(at(20));
    stale(&store, account_unit(stale_write)).await;
    assert_eq!(log(&store, org).await, []);
    let mut write = update(&key, 1, now());
    write.publish_until = Some(at(20));
    written(&store, vec![account_unit(write)]).await;
    assert_eq!(log(&store, org).await, positions(&[(1, "of a")]));
    assert_eq!(log(&store, other).await, []);
}

pub async fn cancelled_messages_stay_and_are_never_published(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let (a, b) = (account(&store, account_row(org, "a", "loan")).await, account_row(org, "b", "loan"));
    account(&store, b).await;
    let notice = |account: &str, sequence, event_id: &str, due| MessageRow {
        cause: "notice:x".into(),
        ..waiting(account, sequence, event_id, due)
    };
    let unit = message_unit(vec![
        (org, notice("a", 1, "due", at(10))),
        (org, notice("a", 2, "of a", at(11))),
        (org, waiting("a", 3, "no notice", at(11))),
        (org, notice("b", 1, "of b", at(11))),
        (org, MessageRow { cancelled_at: Some(at(5)), ..notice("a", 4, "was cancelled", at(11)) }),
    ]);
    written(&store, vec![unit]).await;
    let cancel = Some(Cancel { cause_prefix: "notice:", at: at(10) });
    let mut lost = update(&a, 9, now());
    lost.cancel = cancel;
    stale(&store, account_unit(lost)).await;
    let mut write = update(&a, 1, now());
    write.cancel = cancel;
    let unit = Unit { messages: vec![(org, notice("a", 5, "new", at(12)))], ..account_unit(write) };
    written(&store, vec![unit]).await;
    let cancelled = |messages: Vec<MessageRow>| -> Vec<(i64, Option<Time>)> {
        messages.into_iter().map(|message| (message.sequence, message.cancelled_at)).collect()
    };
    let expected = [(1, None), (2, Some(at(10))), (3, None), (4, Some(at(5))), (5, None)];
    assert_eq!(cancelled(store.messages_of(&a, 0, 10).await.unwrap()), expected);
    let found = store.message(org, "of a", Some(("a", 2))).await.unwrap().expect("it stays");
    assert_eq!(found.cancelled_at, Some(at(10)));
    let mut publishing = update(&a, 2, now());
    publishing.publish_until = Some(at(11));
    written(&store, vec![account_unit(publishing)]).await;
    assert_eq!(store.publish_due(at(99), 10).await.unwrap(), 2);
    let log: Vec<String> = log(&store, org).await.into_iter().map(|(_, event_id)| event_id).collect();
    assert_eq!(log, ["due", "no notice", "of b", "new"]);
    assert_eq!(store.expire_messages(at(10), 10).await.unwrap(), 1, "the one that was cancelled before");
    assert_eq!(store.expire_messages(at(11), 10).await.unwrap(), 1);
}

pub async fn messages_of_an_account_show_log_and_waiting(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let unit = message_unit(vec![
        (org, message(Some("a"), 1, "e1")),
        (org, waiting("a", 2, "e2", at(50))),
        (org, message(Some("b"), 1, "other")),
        (org, message(None, 0, "of nobody")),
        (org, message(Some("a"), 3, "e3")),
        (org, waiting("a", 4, "e4", at(40))),
    ]);
    written(&store, vec![unit]).await;
    let key = account_key(org, "a");
    let expected = [
        MessageRow { position: Some(1), ..message(Some("a"), 1, "e1") },
        waiting("a", 2, "e2", at(50)),
        MessageRow { position: Some(4), ..message(Some("a"), 3, "e3") },
        waiting("a", 4, "e4", at(40)),
    ];
    assert_eq!(store.messages_of(&key, 0, 10).await.unwrap(), expected);
    assert_eq!(store.messages_of(&key, 1, 2).await.unwrap(), expected[1..3]);
    assert_eq!(store.messages_of(&key, 4, 10).await.unwrap(), []);
}
