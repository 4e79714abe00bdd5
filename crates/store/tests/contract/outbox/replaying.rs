//! Sending dead letters again.

use super::*;

/// An active subscription to all events, with a dead range over the whole log of these events.
async fn with_range(store: &Arc<dyn Store>, org: OrgId, url: &str, events: &[(&str, i64)]) -> Subscription {
    let to = subscribe(store, org, url, None).await;
    pause(store, &to, 5).await;
    announce(store, org, events).await;
    resume(store, &to).await
}

/// The third is a test event, which only active subscriptions get, so it is never missed.
const EVENTS: &[(&str, i64)] =
    &[("paid", 10), ("closed", 11), ("test_event", 12), ("paid", 13), ("late", 14), ("paid", 15), ("closed", 16)];

pub async fn everything_is_replayed(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = with_range(&store, org, "https://a", &EVENTS[..3]).await;
    announce(&store, org, &EVENTS[3..6]).await;
    lease(&store, ME).await;
    let failed = vec![failure(4, Fate::Dead(at(20))), failure(5, Fate::Retry(at(90))), failure(6, Fate::Dead(at(21)))];
    kept(&store, Deliveries { cursor: 6, failed, ..deliveries(&to) }).await;
    let every = DeliveryFilter::default();
    let would = store.replay(org, &every, at(50), true).await.unwrap();
    assert_eq!(would, ReplayCounts { replayed: 4, left_paused: 0 });
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 1, dead: 4 }, "nothing is done yet");
    assert_eq!(replay(&store, org, &every, at(50)).await, would);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 5, dead: 0 });
    assert_eq!(dead(&store, &to).await, []);
    assert_eq!(sent_again(&store, &to, at(50)).await, [1, 2, 4, 6]);
    let due = store.due_failures(org, to.id, at(50), 10).await.unwrap();
    let fresh = Failure { attempts: 0, first_failed_at: None, ..failure(4, Fate::Retry(at(50))) };
    assert_eq!(due[0].0, fresh);
    assert_eq!(replay(&store, org, &every, at(51)).await, ReplayCounts::default(), "nothing is left");
}

pub async fn one_subscription_is_replayed(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let one = with_range(&store, org, "https://a", EVENTS).await;
    let two = subscribe(&store, org, "https://b", None).await;
    announce(&store, org, &[("paid", 30)]).await;
    lease(&store, ME).await;
    kept(&store, Deliveries { cursor: 8, failed: vec![failure(8, Fate::Dead(at(31)))], ..deliveries(&two) }).await;
    assert_eq!(replay(&store, org, &only(&two), at(50)).await, ReplayCounts { replayed: 1, left_paused: 0 });
    assert_eq!(sent_again(&store, &two, at(50)).await, [8]);
    assert_eq!(backlog(&store, &one).await, Backlog { pending: 1, dead: 6 });
}

pub async fn one_event_is_replayed(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = with_range(&store, org, "https://a", EVENTS).await;
    announce(&store, org, &[("paid", 20), ("closed", 21)]).await;
    lease(&store, ME).await;
    let failed = vec![failure(8, Fate::Dead(at(30))), failure(9, Fate::Dead(at(31)))];
    kept(&store, Deliveries { cursor: 9, failed, ..deliveries(&to) }).await;
    let by = |event: &str| DeliveryFilter { event: Some(event.into()), ..DeliveryFilter::default() };
    assert_eq!(store.replay(org, &by("paid"), at(50), true).await.unwrap().replayed, 4);
    assert_eq!(replay(&store, org, &by("paid"), at(50)).await, ReplayCounts { replayed: 4, left_paused: 0 });
    assert_eq!(sent_again(&store, &to, at(50)).await, [1, 4, 6, 8]);
    let left: Vec<i64> = dead(&store, &to).await.into_iter().map(|(position, _)| position).collect();
    assert_eq!(left, [2, 5, 7, 9]);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 4, dead: 4 });
    assert_eq!(replay(&store, org, &by("never"), at(50)).await, ReplayCounts::default());
    assert_eq!(replay(&store, org, &by("test_event"), at(51)).await, ReplayCounts::default());
    assert_eq!(sent_again(&store, &to, at(51)).await, [1, 4, 6, 8]);
    assert_eq!(replay(&store, org, &DeliveryFilter::default(), at(52)).await.replayed, 4);
    assert_eq!(sent_again(&store, &to, at(52)).await, [1, 2, 4, 5, 6, 7, 8, 9]);
    assert_eq!(dead(&store, &to).await, []);
}

pub async fn one_event_of_a_filter_is_replayed(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", Some(&["paid", "closed"])).await;
    pause(&store, &to, 5).await;
    announce(&store, org, EVENTS).await;
    resume(&store, &to).await;
    let by = |event: &str| DeliveryFilter { event: Some(event.into()), ..DeliveryFilter::default() };
    assert_eq!(replay(&store, org, &by("late"), at(50)).await, ReplayCounts::default(), "it does not get that");
    assert_eq!(replay(&store, org, &by("closed"), at(50)).await.replayed, 2);
    assert_eq!(sent_again(&store, &to, at(50)).await, [2, 7]);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 2, dead: 3 });
    assert_eq!(replay(&store, org, &DeliveryFilter::default(), at(50)).await.replayed, 3);
    assert_eq!(sent_again(&store, &to, at(50)).await, [1, 2, 4, 6, 7]);
}

pub async fn a_stretch_of_time_is_replayed(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = with_range(&store, org, "https://a", EVENTS).await;
    announce(&store, org, &[("paid", 20), ("paid", 21)]).await;
    lease(&store, ME).await;
    let failed = vec![failure(8, Fate::Dead(at(12))), failure(9, Fate::Dead(at(15)))];
    kept(&store, Deliveries { cursor: 9, failed, ..deliveries(&to) }).await;
    let between = DeliveryFilter { since: Some(at(12)), until: Some(at(15)), ..DeliveryFilter::default() };
    assert_eq!(store.replay(org, &between, at(50), true).await.unwrap().replayed, 3);
    assert_eq!(replay(&store, org, &between, at(50)).await, ReplayCounts { replayed: 3, left_paused: 0 });
    assert_eq!(sent_again(&store, &to, at(50)).await, [4, 5, 8]);
    let left = dead(&store, &to).await;
    assert_eq!(left, [(1, 10), (2, 11), (6, 15), (7, 16), (9, 15)]);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 3, dead: 5 });
    let event = DeliveryFilter { event: Some("closed".into()), since: Some(at(16)), ..DeliveryFilter::default() };
    assert_eq!(replay(&store, org, &event, at(50)).await.replayed, 1);
    assert_eq!(sent_again(&store, &to, at(50)).await, [4, 5, 7, 8]);
    assert_eq!(dead(&store, &to).await, [(1, 10), (2, 11), (6, 15), (9, 15)]);
}

pub async fn what_is_about_an_account_is_replayed(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    pause(&store, &to, 5).await;
    let about = |account: &str, n| (org, MessageRow { account: Some(account.into()), ..event("paid", n) });
    let messages = vec![about("a", 1), about("b", 2), about("a", 3), (org, event("paid", 4)), about("b", 5)];
    written(&store, vec![message_unit(messages)]).await;
    resume(&store, &to).await;
    let of_a = DeliveryFilter { account: Some("a".into()), ..DeliveryFilter::default() };
    assert_eq!(replay(&store, org, &of_a, at(50)).await.replayed, 2);
    assert_eq!(sent_again(&store, &to, at(50)).await, [1, 3]);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 2, dead: 3 });
}

pub async fn paused_subscriptions_are_left(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = with_range(&store, org, "https://a", &EVENTS[..2]).await;
    announce(&store, org, &[("paid", 20)]).await;
    lease(&store, ME).await;
    kept(&store, Deliveries { cursor: 3, failed: vec![failure(3, Fate::Dead(at(21)))], ..deliveries(&to) }).await;
    pause(&store, &to, 25).await;
    announce(&store, org, &[("paid", 30), ("closed", 31)]).await;
    let left = |left_paused| ReplayCounts { replayed: 0, left_paused };
    assert_eq!(replay(&store, org, &DeliveryFilter::default(), at(50)).await, left(5));
    let paid = DeliveryFilter { event: Some("paid".into()), ..DeliveryFilter::default() };
    assert_eq!(replay(&store, org, &paid, at(50)).await, left(3));
    let since = DeliveryFilter { since: Some(at(21)), ..DeliveryFilter::default() };
    assert_eq!(replay(&store, org, &since, at(50)).await, left(3));
    assert_eq!(store.replay(org, &since, at(50), true).await.unwrap(), left(3));
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 0, dead: 5 });
    assert_eq!(sent_again(&store, &to, at(LATE)).await, [0; 0]);
}
