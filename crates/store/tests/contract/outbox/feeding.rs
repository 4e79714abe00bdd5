//! What a subscription gets of the log.

use super::*;
use bytes::Bytes;
use daybook_store::outbox::Outgoing;

pub async fn a_message_is_fed_whole(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let about = MessageRow { data: Bytes::from((0..=255).collect::<Vec<u8>>()), ..message(Some("a"), 7, "e1") };
    written(&store, vec![message_unit(vec![(org, about.clone()), (org, message(None, 0, "e2"))])]).await;
    let reader = SubscriptionFilter { org, filter: None, uuid: "unknown", missed: false };
    let fed = store.feed(reader, 0, 2, 10).await.unwrap();
    let whole = |position, message: MessageRow| Outgoing {
        position,
        account: message.account,
        event: message.event,
        event_id: message.event_id,
        data: message.data,
        signature: message.signature,
    };
    assert_eq!(fed, [whole(1, about.clone()), whole(2, message(None, 0, "e2"))]);
    let filter = ["payment.posted".to_owned()];
    let reader = SubscriptionFilter { filter: Some(&filter), ..reader };
    assert_eq!(store.feed(reader, 0, 1, 10).await.unwrap(), [whole(1, about)]);
}

pub async fn the_feed_is_read_in_parts(store: Arc<dyn Store>) {
    let (org, other) = (organization(&store, "one").await, organization(&store, "two").await);
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, other, &[("paid", 1)]).await;
    let events: Vec<(&str, i64)> = (1..=10).map(|n| ("paid", n)).collect();
    announce(&store, org, &events).await;
    announce(&store, other, &[("paid", 2)]).await;
    assert_eq!(fed(&store, &to, 0, 10, 3).await, [1, 2, 3]);
    assert_eq!(fed(&store, &to, 3, 5, 3).await, [4, 5]);
    assert_eq!(fed(&store, &to, 8, 1_000, 100).await, [9, 10]);
    assert_eq!(fed(&store, &to, 10, 1_000, 100).await, [0; 0]);
    assert_eq!(fed(&store, &to, 5, 5, 100).await, [0; 0]);
    assert_eq!(fed(&store, &to, 0, 10, 0).await, [0; 0]);
}

pub async fn a_filter_is_fed_in_order_of_positions(store: Arc<dyn Store>) {
    let (org, other) = (organization(&store, "one").await, organization(&store, "two").await);
    let to = subscribe(&store, org, "https://a", Some(&["paid", "closed", "never"])).await;
    announce(&store, other, &[("paid", 1), ("closed", 1)]).await;
    // 1 other, 2 closed, 3 paid, 4 paid, 5 other, 6 closed, 7 paid, …
    let events = ["other", "closed", "paid", "paid", "other", "closed", "paid", "other", "closed"];
    announce(&store, org, &events.map(|event| (event, 5))).await;
    assert_eq!(fed(&store, &to, 0, 9, 100).await, [2, 3, 4, 6, 7, 9]);
    assert_eq!(fed(&store, &to, 0, 9, 3).await, [2, 3, 4]);
    assert_eq!(fed(&store, &to, 4, 9, 2).await, [6, 7]);
    assert_eq!(fed(&store, &to, 3, 7, 100).await, [4, 6, 7]);
    // An event that is named twice is sent once.
    let twice = Subscription { filter: Some(vec!["paid".into(), "paid".into()]), ..to };
    assert_eq!(fed(&store, &twice, 0, 9, 100).await, [3, 4, 7]);
}

pub async fn two_events_are_special(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let all = subscribe(&store, org, "https://all", None).await;
    let pauses = subscribe(&store, org, "https://pauses", Some(&["subscription_paused"])).await;
    let tests = subscribe(&store, org, "https://tests", Some(&["test_event"])).await;
    let none = subscribe(&store, org, "https://none", Some(&[])).await;
    let about = |of: &Subscription| (org, MessageRow { subject: of.uuid.clone(), ..event("subscription_paused", 1) });
    // The subject matters only for that event.
    let payment = (org, MessageRow { subject: all.uuid.clone(), ..event("paid", 1) });
    let messages = vec![(org, event("test_event", 1)), about(&all), about(&pauses), about(&none), payment];
    written(&store, vec![message_unit(messages)]).await;
    assert_eq!(fed(&store, &all, 0, 5, 100).await, [1, 3, 4, 5]);
    assert_eq!(fed(&store, &all, 0, 5, 2).await, [1, 3]);
    assert_eq!(fed(&store, &pauses, 0, 5, 100).await, [1, 2, 4]);
    assert_eq!(fed(&store, &tests, 0, 5, 100).await, [1]);
    assert_eq!(fed(&store, &none, 0, 5, 100).await, [1]);
    // A test event is never among the missed messages.
    let missed = async |to: &Subscription| -> Vec<i64> {
        let messages =
            store.feed(SubscriptionFilter { missed: true, ..to.subscription_filter() }, 0, 5, 100).await.unwrap();
        messages.iter().map(|message| message.position).collect()
    };
    assert_eq!(missed(&all).await, [3, 4, 5]);
    assert_eq!(missed(&pauses).await, [2, 4]);
    assert_eq!((missed(&tests).await, missed(&none).await), (vec![], vec![]));
}
