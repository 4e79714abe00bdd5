//! Leases, and recording deliveries.

use super::*;
use daybook_store::outbox::Range;

pub async fn active_subscriptions_are_leased(store: Arc<dyn Store>) {
    let (org, other) = (organization(&store, "one").await, organization(&store, "two").await);
    let one = subscribe(&store, org, "https://a", None).await;
    let paused = subscribe(&store, org, "https://b", None).await;
    let two = subscribe(&store, other, "https://a", Some(&["paid"])).await;
    pause(&store, &paused, 20).await;
    let mut leased = lease(&store, ME).await;
    leased.sort_by_key(|subscription| subscription.id);
    assert_eq!(leased, [one, two]);
    assert_eq!(lease(&store, ME).await.len(), 2, "they are kept");
    resume(&store, &paused).await;
    assert_eq!(lease(&store, ME).await.len(), 3);
}

pub async fn what_is_recorded_by_another_token_is_lost(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11)]).await;
    let all = |token: &str| Deliveries {
        token: token.into(),
        cursor: 2,
        attempts: vec![attempt(1, 1, 15)],
        failed: vec![failure(1, Fate::Dead(at(16)))],
        last_success_at: Some(at(15)),
        consecutive_errors: 5,
        pause: Some((pause_at(17), Box::new(event("subscription_paused", 17)))),
        ..deliveries(&to)
    };
    assert_eq!(store.record(all("old")).await.unwrap(), Recorded::Lost, "nobody has it yet");
    store.lease("old", at(20), at(30), 10).await.unwrap();
    assert_eq!(store.record(all("new")).await.unwrap(), Recorded::Lost);
    // The lease has ended: the other node takes over.
    let taken = store.lease("new", at(31), at(60), 10).await.unwrap().held;
    assert_eq!(taken, std::slice::from_ref(&to));
    assert_eq!(store.record(all("old")).await.unwrap(), Recorded::Lost);
    assert_eq!(store.subscriptions(org).await.unwrap(), std::slice::from_ref(&to), "nothing was kept");
    assert_eq!(store.attempts(org, &DeliveryFilter::default(), None, 10).await.unwrap(), []);
    assert_eq!(dead(&store, &to).await, []);
    assert_eq!(log(&store, org).await.len(), 2);
    store.release("old").await.unwrap();
    let recorded = store.record(Deliveries { token: "new".into(), cursor: 1, ..deliveries(&to) }).await.unwrap();
    assert!(matches!(recorded, Recorded::Kept(_)));
    store.release("new").await.unwrap();
    assert_eq!(store.record(all("new")).await.unwrap(), Recorded::Lost);
    assert_eq!(store.lease("third", at(32), at(60), 10).await.unwrap().held.len(), 1, "given back before its end");
}

pub async fn the_cursor_never_goes_back(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11), ("paid", 12)]).await;
    lease(&store, ME).await;
    assert_eq!(kept(&store, Deliveries { cursor: 2, ..deliveries(&to) }).await.cursor, 2);
    assert_eq!(kept(&store, Deliveries { cursor: 1, ..deliveries(&to) }).await.cursor, 2);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 1, dead: 0 });
    assert_eq!(current(&store, &to).await.cursor, 2);
    assert_eq!(kept(&store, Deliveries { cursor: 3, ..deliveries(&to) }).await.cursor, 3);
    assert_eq!(backlog(&store, &to).await, Backlog::default());
}

pub async fn counts_are_kept_for_the_version_that_was_read(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    lease(&store, ME).await;
    let record = Deliveries { consecutive_errors: 3, streak: 4, last_success_at: Some(at(50)), ..deliveries(&to) };
    let now = kept(&store, record.clone()).await;
    let expected = Subscription { consecutive_errors: 3, streak: 4, last_success_at: Some(at(50)), ..to.clone() };
    assert_eq!(now, expected);
    assert_eq!(current(&store, &to).await, expected);
    let now = kept(&store, Deliveries { last_success_at: None, ..record.clone() }).await;
    assert_eq!(now.last_success_at, Some(at(50)));
    // A caller changes the subscription meanwhile: the earlier count no longer applies.
    let changed = subscribe(&store, org, "https://a", Some(&["paid"])).await;
    assert_ne!(changed.version, to.version);
    let late = Deliveries { consecutive_errors: 7, streak: 8, last_success_at: Some(at(60)), ..record };
    let now = kept(&store, late).await;
    assert_eq!((now.consecutive_errors, now.streak, now.last_success_at), (3, 4, Some(at(60))));
    assert_eq!(now.filter, Some(vec!["paid".to_owned()]));
}

pub async fn failures_are_written_over_and_removed(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    let other = subscribe(&store, org, "https://b", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11), ("paid", 12)]).await;
    lease(&store, ME).await;
    let first = failure(2, Fate::Retry(at(50)));
    let bare = Failure { first_failed_at: None, status: None, ..failure(1, Fate::Retry(at(51))) };
    let failed = vec![first.clone(), bare.clone(), failure(3, Fate::Dead(at(16)))];
    let now = kept(&store, Deliveries { cursor: 3, failed, ..deliveries(&to) }).await;
    kept(&store, Deliveries { cursor: 3, failed: vec![first.clone()], ..deliveries(&other) }).await;
    let due = store.due_failures(org, to.id, at(60), 10).await.unwrap();
    assert_eq!(due.iter().map(|(failure, _)| failure).collect::<Vec<_>>(), [&first, &bare]);
    assert_eq!(due.iter().map(|(_, message)| message.position).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(due[0].1.event_id, "paid at 11");
    assert_eq!(due[0].1.data, message(None, 0, "x").data);
    let again = Failure {
        attempts: 4,
        first_failed_at: Some(at(41)),
        reason: "again".into(),
        status: Some(429),
        streak: 3,
        ..failure(2, Fate::Retry(at(90)))
    };
    let record = Deliveries { failed: vec![again.clone()], recovered: vec![1, 3], ..deliveries(&now) };
    kept(&store, record).await;
    let due = store.due_failures(org, to.id, at(LATE), 10).await.unwrap();
    assert_eq!(due.iter().map(|(failure, _)| failure).collect::<Vec<_>>(), [&again]);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 1, dead: 0 });
    // The last one dies.
    let dying = Failure { fate: Fate::Dead(at(95)), ..again };
    kept(&store, Deliveries { failed: vec![dying], ..deliveries(&now) }).await;
    assert_eq!(store.due_failures(org, to.id, at(LATE), 10).await.unwrap(), []);
    assert_eq!(dead(&store, &to).await, [(2, 95)]);
    assert_eq!(backlog(&store, &other).await, Backlog { pending: 1, dead: 0 });
}

pub async fn failures_come_the_longest_due_first(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10); 5]).await;
    lease(&store, ME).await;
    assert_eq!(store.next_retry(org, to.id).await.unwrap(), None);
    let retry = |position, seconds| failure(position, Fate::Retry(at(seconds)));
    let failed = vec![retry(1, 70), retry(2, 50), retry(3, 60), retry(4, 90), failure(5, Fate::Dead(at(20)))];
    kept(&store, Deliveries { cursor: 5, failed, ..deliveries(&to) }).await;
    let due = async |seconds, limit| -> Vec<i64> {
        let due = store.due_failures(org, to.id, at(seconds), limit).await.unwrap();
        due.iter().map(|(failure, _)| failure.position).collect()
    };
    assert_eq!(due(49, 10).await, [0; 0]);
    assert_eq!(due(50, 10).await, [2]);
    assert_eq!(due(80, 10).await, [2, 3, 1]);
    assert_eq!(due(80, 2).await, [2, 3]);
    assert_eq!(store.next_retry(org, to.id).await.unwrap(), Some(at(50)));
    kept(&store, Deliveries { cursor: 5, recovered: vec![2], ..deliveries(&to) }).await;
    assert_eq!(store.next_retry(org, to.id).await.unwrap(), Some(at(60)));
}

pub async fn while_paused_retries_are_dead(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11), ("paid", 12)]).await;
    lease(&store, ME).await;
    pause(&store, &to, 20).await;
    let failed = vec![failure(1, Fate::Retry(at(50))), failure(2, Fate::Dead(at(25)))];
    let now = kept(&store, Deliveries { cursor: 2, failed, ..deliveries(&to) }).await;
    assert_eq!((now.cursor, now.paused), (2, Some(pause_at(20))));
    assert_eq!(dead(&store, &to).await, [(1, 20), (2, 25), (3, 20)]);
    assert_eq!(store.next_retry(org, to.id).await.unwrap(), None);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 0, dead: 3 });
}

pub async fn a_pause_is_announced_with_it(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11)]).await;
    lease(&store, ME).await;
    kept(&store, Deliveries { failed: vec![failure(1, Fate::Retry(at(50)))], cursor: 1, ..deliveries(&to) }).await;
    let why = Pause { reason: "CONSECUTIVE_ERRORS".into(), at: at(30), probe_at: Some(at(330)) };
    let about = MessageRow { subject: to.uuid.clone(), ..event("subscription_paused", 30) };
    let record = Deliveries {
        failed: vec![failure(2, Fate::Retry(at(60)))],
        cursor: 2,
        consecutive_errors: 10,
        pause: Some((why.clone(), Box::new(about.clone()))),
        ..deliveries(&to)
    };
    let now = kept(&store, record.clone()).await;
    assert_eq!((now.paused.clone(), now.consecutive_errors, now.cursor), (Some(why.clone()), 10, 2));
    assert_eq!(store.messages(org, 2, 10).await.unwrap(), [MessageRow { position: Some(3), ..about }]);
    assert_eq!(store.heads().await.unwrap()[0].head, 3);
    assert_eq!(dead(&store, &to).await, [(1, 30), (2, 30)], "and not what was announced about itself");
    // A second pause: it is paused already, and no message is published again.
    let later = Pause { at: at(40), ..why.clone() };
    let again = Deliveries { pause: Some((later, Box::new(event("subscription_paused", 40)))), ..record };
    assert_eq!(kept(&store, again).await.paused, Some(why));
    assert_eq!(log(&store, org).await.len(), 3);
    announce(&store, org, &[("paid", 41)]).await;
    assert_eq!(log(&store, org).await.last().unwrap().0, 4);
}

pub async fn ranges_move_on_and_end(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10); 5]).await;
    pause(&store, &to, 20).await;
    let now = resume(&store, &to).await;
    replay(&store, org, &DeliveryFilter::default(), at(30)).await;
    lease(&store, ME).await;
    let ranges = store.replaying(org, to.id).await.unwrap();
    assert_eq!(ranges.len(), 1);
    assert_eq!((ranges[0].after, ranges[0].last, ranges[0].filter.clone()), (0, 5, None));
    let record = |through| Deliveries { ranges: vec![progress(ranges[0].id, through)], ..deliveries(&now) };
    kept(&store, record(2)).await;
    assert_eq!(store.replaying(org, to.id).await.unwrap()[0].after, 2);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 3, dead: 0 });
    kept(&store, record(1)).await;
    assert_eq!(store.replaying(org, to.id).await.unwrap()[0].after, 2, "never back");
    kept(&store, record(5)).await;
    assert_eq!(store.replaying(org, to.id).await.unwrap(), []);
    assert_eq!(backlog(&store, &to).await, Backlog::default());
}

pub async fn attempts_are_listed_the_latest_first(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let one = subscribe(&store, org, "https://a", None).await;
    let two = subscribe(&store, org, "https://b", None).await;
    let messages = vec![(org, message(Some("acc"), 1, "e1")), (org, event("closed", 11))];
    written(&store, vec![message_unit(messages)]).await;
    lease(&store, ME).await;
    let refused = DeliveryAttempt {
        status: Some(500),
        error: Some("it said 500".into()),
        response: Some("oh no".into()),
        next_at: Some(at(80)),
        ..attempt(1, 1, 20)
    };
    let silent = DeliveryAttempt { status: None, error: Some("timeout".into()), ..attempt(2, 1, 21) };
    let record = |to, attempts: &[DeliveryAttempt]| Deliveries { attempts: attempts.to_vec(), ..deliveries(to) };
    kept(&store, record(&one, &[refused.clone(), silent.clone()])).await;
    kept(&store, record(&two, &[attempt(1, 1, 22)])).await;
    kept(&store, record(&one, &[attempt(1, 2, 23)])).await;
    let list = async |filter: &DeliveryFilter, after, limit| store.attempts(org, filter, after, limit).await.unwrap();
    let all = list(&DeliveryFilter::default(), None, 10).await;
    let tried: Vec<DeliveryAttempt> = all.iter().map(|line| line.attempt.clone()).collect();
    assert_eq!(tried, [attempt(1, 2, 23), attempt(1, 1, 22), silent, refused]);
    assert!(all.windows(2).all(|pair| pair[0].id > pair[1].id));
    let about = &all[3].about;
    assert_eq!((about.subscription, &about.uuid, &about.url), (one.id, &one.uuid, &one.url));
    assert_eq!((about.position, about.event.as_str(), about.event_id.as_str()), (1, "payment.posted", "e1"));
    assert_eq!(about.account.as_deref(), Some("acc"));
    assert_eq!(all[2].about.account, None);
    assert_eq!(list(&DeliveryFilter::default(), None, 3).await, all[..3]);
    assert_eq!(list(&DeliveryFilter::default(), Some(all[1].id), 1).await, all[2..3]);
    assert_eq!(list(&DeliveryFilter::default(), Some(all[3].id), 10).await, []);

    let seconds = async |filter: DeliveryFilter| -> Vec<i64> {
        list(&filter, None, 10).await.iter().map(|line| line.attempt.at.seconds()).collect()
    };
    let any = DeliveryFilter::default;
    assert_eq!(seconds(only(&one)).await, [23, 21, 20]);
    assert_eq!(seconds(DeliveryFilter { event: Some("closed".into()), ..any() }).await, [21]);
    assert_eq!(seconds(DeliveryFilter { account: Some("acc".into()), ..any() }).await, [23, 22, 20]);
    assert_eq!(seconds(DeliveryFilter { account: Some("acc".into()), ..only(&two) }).await, [22]);
    assert_eq!(seconds(DeliveryFilter { delivered: Some(true), ..any() }).await, [23, 22]);
    assert_eq!(seconds(DeliveryFilter { delivered: Some(false), ..any() }).await, [21, 20]);
    assert_eq!(seconds(DeliveryFilter { since: Some(at(21)), until: Some(at(23)), ..any() }).await, [22, 21]);
}

pub async fn a_thousand_attempts_are_recorded_at_once(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10); 1_200]).await;
    lease(&store, ME).await;
    let attempts = (1..=1_200).map(|position| attempt(position, 1, 20)).collect();
    let failed = (1..=300).map(|position| failure(position, Fate::Retry(at(50)))).collect();
    kept(&store, Deliveries { cursor: 1_200, attempts, failed, ..deliveries(&to) }).await;
    assert_eq!(store.attempts(org, &DeliveryFilter::default(), None, 2_000).await.unwrap().len(), 1_200);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 300, dead: 0 });
    let recovered = (1..=300).collect();
    kept(&store, Deliveries { cursor: 1_200, recovered, ..deliveries(&to) }).await;
    assert_eq!(backlog(&store, &to).await, Backlog::default());
}

/// A subscription that is paused and resumed while messages are in flight: their results are recorded afterwards.
pub async fn what_was_under_way_is_in_no_range(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10); 6]).await;
    lease(&store, ME).await;
    // The second is delivered before the first.
    kept(&store, Deliveries { attempts: vec![attempt(2, 1, 15)], ..deliveries(&to) }).await;
    pause(&store, &to, 20).await;
    resume(&store, &to).await;
    assert_eq!(dead(&store, &to).await, [(1, 20), (3, 20), (4, 20), (5, 20), (6, 20)]);
    let broken = DeliveryAttempt { error: Some("no".into()), ..attempt(3, 1, 16) };
    let late = Deliveries {
        cursor: 3,
        attempts: vec![attempt(1, 1, 15), broken],
        failed: vec![failure(3, Fate::Retry(at(50)))],
        ..deliveries(&to)
    };
    assert_eq!(kept(&store, late).await.cursor, 6);
    assert_eq!(dead(&store, &to).await, [(4, 20), (5, 20), (6, 20)]);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 1, dead: 3 });
    assert_eq!(store.next_retry(org, to.id).await.unwrap(), Some(at(50)));
    assert_eq!(replay(&store, org, &only(&to), at(60)).await, ReplayCounts { replayed: 3, left_paused: 0 });
    assert_eq!(sent_again(&store, &to, at(60)).await, [3, 4, 5, 6]);
}

/// A range that a node is replaying itself advances and is not split, whatever a caller changes meanwhile.
pub async fn a_range_that_is_recorded_is_not_cut(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10); 4]).await;
    lease(&store, ME).await;
    pause(&store, &to, 20).await;
    resume(&store, &to).await;
    replay(&store, org, &only(&to), at(30)).await;
    let before = current(&store, &to).await;
    let range = store.replaying(org, to.id).await.unwrap().remove(0);
    subscribe(&store, org, "https://a", Some(&["paid"])).await;
    let attempts = vec![attempt(1, 1, 35), attempt(3, 1, 35)];
    kept(&store, Deliveries { ranges: vec![progress(range.id, 1)], attempts, ..deliveries(&before) }).await;
    let moved = Range { after: 1, filter: Some(vec!["paid".into()]), ..range };
    assert_eq!(store.replaying(org, to.id).await.unwrap(), [moved]);
}
