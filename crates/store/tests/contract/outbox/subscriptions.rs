//! Creating, pausing, resuming and removing subscriptions; keys; urgent messages.

use super::*;
use daybook_store::batch::{ProductWrite, Unit};
use daybook_store::outbox::{Head, Probed};
use daybook_store::records::Mode;

pub async fn a_subscription_begins_at_the_head(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let early = subscribe(&store, org, "https://early", None).await;
    assert_eq!(early.cursor, 0);
    announce(&store, org, &[("paid", 10), ("paid", 11)]).await;
    let asked = Subscription { cursor: 77, id: 88, version: 99, ..wanted(org, "https://late", Some(&["paid"])) };
    let late = made(&store, &asked).await;
    assert_eq!(late.cursor, 2);
    assert!(late.id > early.id);
    assert_eq!(Subscription { cursor: 77, id: 88, version: 99, ..late.clone() }, asked);
    assert_eq!(store.subscriptions(org).await.unwrap(), [early, late]);
}

pub async fn subscriptions_are_listed_by_time_of_making(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let newer = made(&store, &Subscription { created_at: at(9), ..wanted(org, "https://a", None) }).await;
    let older = made(&store, &Subscription { created_at: at(8), ..wanted(org, "https://b", None) }).await;
    assert_eq!(store.subscriptions(org).await.unwrap(), [older, newer]);
}

pub async fn the_same_url_replaces_the_filter_only(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let first = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10)]).await;
    let paused = pause(&store, &first, 20).await;
    let again = Subscription {
        uuid: "00000000-0000-4000-8000-00000000000a".into(),
        created_at: at(30),
        ..wanted(org, "https://a", Some(&["paid", "closed"]))
    };
    let again = made(&store, &again).await;
    assert!(again.version > paused.version);
    let expected = Subscription {
        filter: Some(vec!["paid".into(), "closed".into()]),
        version: again.version,
        paused: Some(pause_at(20)),
        ..first.clone()
    };
    assert_eq!(again, expected);
    assert_eq!(store.subscriptions(org).await.unwrap(), [expected]);
    let all = subscribe(&store, org, "https://a", None).await;
    assert_eq!(all.filter, None);
    let none = subscribe(&store, org, "https://a", Some(&[])).await;
    assert_eq!(none.filter, Some(vec![]));
}

pub async fn a_pause_is_kept_once(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let active = subscribe(&store, org, "https://a", None).await;
    let paused = pause(&store, &active, 20).await;
    assert_eq!(paused.paused, Some(pause_at(20)));
    assert!(paused.version > active.version);
    let again = Pause { reason: "UNAUTHORIZED".into(), at: at(30), probe_at: None };
    assert_eq!(store.pause(org, &active.uuid, &again, None).await.unwrap(), Some(paused));
    let unknown = "00000000-0000-4000-8000-00000000000a";
    assert_eq!(store.pause(org, unknown, &again, None).await.unwrap(), None);
    assert_eq!(store.resume(org, unknown, at(50), None).await.unwrap(), None);
}

/// Also at the same moment, while a message is being tried.
pub async fn a_pause_by_a_person_replaces_another(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let active = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11), ("paid", 12)]).await;
    let by_errors = Pause { reason: "CONSECUTIVE_ERRORS".into(), at: at(20), probe_at: Some(at(25)) };
    let paused = store.pause(org, &active.uuid, &by_errors, None).await.unwrap().unwrap();
    assert_eq!(paused.paused, Some(by_errors.clone()));
    assert_eq!(store.claim_probes(ME, at(30), at(90), 10).await.unwrap(), std::slice::from_ref(&paused));
    let replaced = pause(&store, &active, 20).await;
    assert_eq!(replaced.paused, Some(pause_at(20)));
    assert!(replaced.version > paused.version);
    assert_eq!(store.claim_probes(ME, at(LATE), at(LATE), 10).await.unwrap(), []);
    let probed = Probed {
        org,
        subscription: active.id,
        token: ME.to_owned(),
        paused_at: at(20),
        attempt: attempt(2, 1, 31),
        failed: None,
        reason: None,
        probe_at: Some(at(60)),
    };
    let failed = Probed { failed: Some(failure(2, Fate::Dead(at(20)))), ..probed.clone() };
    for probed in [Probed { reason: Some("UNAUTHORIZED".into()), ..failed.clone() }, failed, probed] {
        let Recorded::Kept(row) = store.record_probe(&probed).await.unwrap() else { panic!("it is held") };
        assert_eq!(row.paused, Some(pause_at(20)), "{probed:?}");
    }
    assert_eq!(dead(&store, &active).await, [(1, 20), (3, 20)], "what was taken is not dead");
    assert_eq!(store.pause(org, &active.uuid, &by_errors, None).await.unwrap().unwrap().paused, Some(pause_at(20)));
}

pub async fn resuming_makes_the_pause_a_range(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let active = subscribe(&store, org, "https://a", Some(&["paid"])).await;
    announce(&store, org, &[("paid", 10), ("closed", 11), ("paid", 12)]).await;
    let paused = pause(&store, &active, 20).await;
    assert_eq!(paused.cursor, 0);
    announce(&store, org, &[("paid", 30)]).await;
    let resumed = resume(&store, &active).await;
    assert_eq!((resumed.paused.clone(), resumed.cursor), (None, 4));
    assert!(resumed.version > paused.version);
    announce(&store, org, &[("paid", 40)]).await;
    // Dead since the pause, or since it was published; later messages are not.
    assert_eq!(dead(&store, &active).await, [(1, 20), (3, 20), (4, 30)]);
    assert_eq!(backlog(&store, &active).await, Backlog { pending: 1, dead: 3 });
    assert_eq!(resume(&store, &active).await, resumed, "it is active already");
    assert_eq!(store.replaying(org, active.id).await.unwrap(), []);
}

pub async fn resuming_forgets_the_count_of_failures(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let active = subscribe(&store, org, "https://a", None).await;
    lease(&store, ME).await;
    let counted = kept(&store, Deliveries { consecutive_errors: 9, streak: 1, ..deliveries(&active) }).await;
    assert_eq!((counted.consecutive_errors, counted.streak), (9, 1));
    pause(&store, &active, 20).await;
    assert_eq!(resume(&store, &active).await.consecutive_errors, 0);
    // Deliveries from before the pause do not restore the count.
    let late = kept(&store, Deliveries { consecutive_errors: 10, streak: 1, ..deliveries(&counted) }).await;
    assert_eq!(late.consecutive_errors, 0);
}

pub async fn a_pause_makes_retries_and_replays_dead(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let first = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11), ("paid", 12)]).await;
    // A range of two messages, being replayed.
    pause(&store, &first, 20).await;
    let resumed = resume(&store, &first).await;
    let replayed = replay(&store, org, &DeliveryFilter::default(), at(25)).await;
    assert_eq!(replayed, ReplayCounts { replayed: 3, left_paused: 0 });
    announce(&store, org, &[("paid", 26), ("paid", 27)]).await;
    lease(&store, ME).await;
    let failed = vec![failure(4, Fate::Retry(at(50))), failure(5, Fate::Dead(at(28)))];
    kept(&store, Deliveries { cursor: 5, failed, ..deliveries(&resumed) }).await;
    assert_eq!(backlog(&store, &first).await, Backlog { pending: 4, dead: 1 });
    pause(&store, &first, 30).await;
    assert_eq!(backlog(&store, &first).await, Backlog { pending: 0, dead: 5 });
    assert_eq!(dead(&store, &first).await, [(1, 30), (2, 30), (3, 30), (4, 30), (5, 28)]);
    assert_eq!(store.replaying(org, first.id).await.unwrap(), []);
    assert_eq!(store.next_retry(org, first.id).await.unwrap(), None);
    assert_eq!(store.due_failures(org, first.id, at(LATE), 10).await.unwrap(), []);
}

pub async fn backlogs_count_what_each_gets(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let all = subscribe(&store, org, "https://all", None).await;
    let some = subscribe(&store, org, "https://some", Some(&["paid", "subscription_paused"])).await;
    let none = subscribe(&store, org, "https://none", Some(&[])).await;
    announce(&store, org, &[("paid", 10), ("closed", 11), ("test_event", 12), ("paid", 13)]).await;
    let about = |of: &Subscription| MessageRow { subject: of.uuid.clone(), ..event("subscription_paused", 14) };
    written(&store, vec![message_unit(vec![(org, about(&all)), (org, about(&some)), (org, about(&some))])]).await;
    let pending = |pending| Backlog { pending, dead: 0 };
    assert_eq!(backlog(&store, &all).await, pending(6), "all but the one about itself");
    assert_eq!(backlog(&store, &some).await, pending(4), "paid, the test, and the one about the other");
    assert_eq!(backlog(&store, &none).await, pending(1), "the test");
    for subscription in [&all, &some, &none] {
        pause(&store, subscription, 20).await;
    }
    let dead = |dead| Backlog { pending: 0, dead };
    let counts = [backlog(&store, &all).await, backlog(&store, &some).await, backlog(&store, &none).await];
    assert_eq!(counts, [dead(5), dead(3), dead(0)], "a test is for those who are active");
    for subscription in [&all, &some, &none] {
        resume(&store, subscription).await;
    }
    let counts = [backlog(&store, &all).await, backlog(&store, &some).await, backlog(&store, &none).await];
    assert_eq!(counts, [dead(5), dead(3), dead(0)], "a test is for those who are active");
}

pub async fn removing_a_subscription_removes_what_waits(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let gone = subscribe(&store, org, "https://gone", None).await;
    let stays = subscribe(&store, org, "https://stays", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11), ("paid", 12)]).await;
    lease(&store, ME).await;
    for subscription in [&gone, &stays] {
        let attempts = vec![attempt(1, 1, 15)];
        let failed = vec![failure(1, Fate::Dead(at(16))), failure(2, Fate::Retry(at(17)))];
        kept(&store, Deliveries { cursor: 2, attempts, failed, ..deliveries(subscription) }).await;
        pause(&store, subscription, 20).await;
        resume(&store, subscription).await;
    }
    assert!(store.unsubscribe(org, &gone.uuid, None).await.unwrap());
    assert!(!store.unsubscribe(org, &gone.uuid, None).await.unwrap());
    assert_eq!(store.subscriptions(org).await.unwrap().len(), 1);
    assert_eq!(store.backlogs(org).await.unwrap(), [(stays.id, Backlog { pending: 0, dead: 3 })]);
    assert_eq!(dead_by(&store, org, &DeliveryFilter::default()).await.len(), 3);
    assert_eq!(dead(&store, &gone).await, []);
    let attempts = store.attempts(org, &DeliveryFilter::default(), None, 10).await.unwrap();
    assert_eq!(attempts.iter().map(|line| line.about.subscription).collect::<Vec<_>>(), [stays.id]);
    let lost = store.record(Deliveries { cursor: 3, ..deliveries(&gone) }).await.unwrap();
    assert_eq!(lost, Recorded::Lost);
    assert_eq!(replay(&store, org, &DeliveryFilter::default(), at(30)).await.replayed, 3);
    assert_eq!(store.next_retry(org, gone.id).await.unwrap(), None);
    assert_eq!(store.replaying(org, gone.id).await.unwrap(), []);
    // Its URL is free, and its number is not reused.
    let again = subscribe(&store, org, "https://gone", None).await;
    assert!(again.id > stays.id && again.id != gone.id);
    assert_eq!(backlog(&store, &again).await, Backlog::default());
}

pub async fn another_organization_sees_nothing_of_it(store: Arc<dyn Store>) {
    let (org, other) = (organization(&store, "one").await, organization(&store, "two").await);
    let mine = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11)]).await;
    lease(&store, ME).await;
    let failed = vec![failure(1, Fate::Dead(at(16)))];
    kept(&store, Deliveries { cursor: 1, attempts: vec![attempt(1, 1, 15)], failed, ..deliveries(&mine) }).await;
    let mine = pause(&store, &mine, 20).await;
    assert_eq!(store.subscriptions(other).await.unwrap(), []);
    assert_eq!(store.backlogs(other).await.unwrap(), []);
    assert_eq!(store.pause(other, &mine.uuid, &pause_at(30), None).await.unwrap(), None);
    assert_eq!(store.resume(other, &mine.uuid, at(50), None).await.unwrap(), None);
    assert!(!store.unsubscribe(other, &mine.uuid, None).await.unwrap());
    for filter in [DeliveryFilter::default(), only(&mine)] {
        assert_eq!(store.attempts(other, &filter, None, 10).await.unwrap(), []);
        assert_eq!(dead_by(&store, other, &filter).await, []);
        assert_eq!(replay(&store, other, &filter, at(40)).await, ReplayCounts::default());
    }
    assert_eq!(store.due_failures(other, mine.id, at(LATE), 10).await.unwrap(), []);
    assert_eq!(store.next_retry(other, mine.id).await.unwrap(), None);
    assert_eq!(store.replaying(other, mine.id).await.unwrap(), []);
    let foreign = Deliveries { org: other, cursor: 2, ..deliveries(&mine) };
    assert_eq!(store.record(foreign).await.unwrap(), Recorded::Lost);
    let reader = SubscriptionFilter { org: other, filter: None, uuid: &mine.uuid, missed: false };
    assert_eq!(store.feed(reader, 0, 10, 10).await.unwrap(), []);
    assert_eq!(store.subscriptions(org).await.unwrap(), std::slice::from_ref(&mine));
    // The same URL is a separate subscription there.
    let theirs = subscribe(&store, other, "https://a", None).await;
    assert_ne!(theirs.id, mine.id);
    assert_eq!(store.subscriptions(org).await.unwrap(), [mine]);
}

pub async fn a_hurry_marks_the_log(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    announce(&store, one, &[("paid", 10), ("paid", 11)]).await;
    announce(&store, two, &[("paid", 10)]).await;
    let heads = async || {
        let mut heads = store.heads().await.unwrap();
        heads.sort_by_key(|head| head.org);
        heads
    };
    let head = |org, head, hurried| Head { org, head, hurried };
    assert_eq!(heads().await, [head(one, 2, 0), head(two, 1, 0)]);
    let urgent = Unit { hurry: true, ..message_unit(vec![(one, event("paid", 12))]) };
    written(&store, vec![message_unit(vec![(two, event("paid", 12))]), urgent]).await;
    assert_eq!(heads().await, [head(one, 3, 3), head(two, 2, 0)]);
    announce(&store, one, &[("paid", 13)]).await;
    assert_eq!(heads().await, [head(one, 4, 3), head(two, 2, 0)]);
    // A stale unit marks nothing.
    let mut late = account_unit(update(&account_key(one, "none"), 1, now()));
    late.hurry = true;
    late.messages = vec![(one, event("paid", 14))];
    stale(&store, late).await;
    assert_eq!(heads().await, [head(one, 4, 3), head(two, 2, 0)]);
}

/// The unit moves waiting messages that are due into the log, and they are urgent too.
pub async fn a_hurry_takes_along_what_is_published(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let key = account(&store, account_row(org, "a", "loan")).await;
    written(&store, vec![message_unit(vec![(org, waiting("a", 1, "e1", at(50)))])]).await;
    let mut write = update(&key, 1, now());
    write.publish_until = Some(at(50));
    let mut unit = account_unit(write);
    unit.hurry = true;
    written(&store, vec![unit]).await;
    assert_eq!(store.heads().await.unwrap(), [Head { org, head: 1, hurried: 1 }]);
}

pub async fn a_new_signing_key_keeps_the_old_one_for_a_while(store: Arc<dyn Store>) {
    let (org, other) = (organization(&store, "one").await, organization(&store, "two").await);
    for organization in [org, other] {
        product(&store, product_row(organization, "loan")).await;
    }
    assert!(!store.rotate_signing_key(org, &[9], &[4], at(50), None).await.unwrap(), "not the key it has");
    assert!(store.rotate_signing_key(org, &[1, 2, 3], &[4], at(50), None).await.unwrap());
    let all = store.organizations().await.unwrap();
    assert_eq!(
        (all[0].signing_key.as_slice(), all[0].previous_signing_key.clone()),
        (&[4][..], Some((vec![1, 2, 3], at(50))))
    );
    assert_eq!((all[1].signing_key.as_slice(), all[1].previous_signing_key.clone()), (&[1, 2, 3][..], None));
    // A unit computed with the old key is stale; the other organization's is not.
    let computed =
        |org| Unit { modes: vec![(product_key(org, "loan"), 1)], ..message_unit(vec![(org, event("paid", 10))]) };
    stale(&store, computed(org)).await;
    written(&store, vec![computed(other)]).await;
    let mode = store.product(&product_key(org, "loan")).await.unwrap().unwrap().mode;
    assert_eq!(mode, Mode { version: 2, ..Mode::default() });
    let next = Mode { version: 3, holding: true, ..mode };
    written(&store, vec![product_unit(ProductWrite::Mode(product_key(org, "loan"), next))]).await;
    assert!(!store.rotate_signing_key(org, &[1, 2, 3], &[5], at(60), None).await.unwrap());
    assert!(store.rotate_signing_key(org, &[4], &[5], at(60), None).await.unwrap());
    let all = store.organizations().await.unwrap();
    assert_eq!(all[0].previous_signing_key, Some((vec![4], at(60))));
}
