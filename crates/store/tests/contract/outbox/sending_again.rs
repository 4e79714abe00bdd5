//! One message: finding it, its status, and sending it again.

use super::*;
use daybook_store::outbox::{DeliveryStatus, ResendResult};

pub async fn a_message_is_found_by_its_event(store: Arc<dyn Store>) {
    let (org, other) = (organization(&store, "one").await, organization(&store, "two").await);
    let unit = message_unit(vec![
        (org, message(Some("a"), 1, "a.1")),
        (org, message(Some("a"), 2, "a.2")),
        (org, message(None, 0, "free")),
        (other, message(None, 0, "free too")),
        (other, message(None, 0, "free")),
    ]);
    written(&store, vec![unit]).await;
    account(&store, account_row(org, "a", "loan")).await;
    written(&store, vec![message_unit(vec![(org, waiting("a", 3, "a.3", at(50)))])]).await;
    let find = async |org, event_id: &str, of| {
        let found = store.message(org, event_id, of).await.unwrap();
        found.map(|found| (found.position, found.due_at))
    };
    assert_eq!(find(org, "a.2", Some(("a", 2))).await, Some((Some(2), None)));
    assert_eq!(store.message(org, "a.1", Some(("a", 1))).await.unwrap().unwrap().event_id, "a.1");
    assert_eq!(find(org, "a.3", Some(("a", 3))).await, Some((None, Some(at(50)))), "it waits");
    assert_eq!(find(org, "free", None).await, Some((Some(3), None)));
    assert_eq!(find(other, "free", None).await, Some((Some(2), None)));
    for (event_id, of) in [("a.1", Some(("a", 2))), ("a.1", None), ("a.4", Some(("a", 4))), ("free too", None)] {
        assert_eq!(find(org, event_id, of).await, None, "{event_id}");
    }
    assert_eq!(find(other, "a.1", Some(("a", 1))).await, None);
}

async fn stands(store: &Arc<dyn Store>, org: OrgId, position: i64) -> Vec<DeliveryStatus> {
    let log = store.messages(org, position - 1, 1).await.unwrap();
    let delivery_records = store.delivery_records(org, &[position]).await.unwrap().remove(0);
    delivery_records.iter().map(|records| records.of(&log[0], at(LATE))).collect()
}

pub async fn a_message_stands_somewhere_with_each(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    let filtered = subscribe(&store, org, "https://b", Some(&["closed"])).await;
    announce(&store, org, &[("paid", 10), ("paid", 11), ("paid", 12), ("paid", 13), ("closed", 14)]).await;
    subscribe(&store, organization(&store, "two").await, "https://a", None).await;
    lease(&store, ME).await;
    let broken = DeliveryAttempt {
        status: Some(503),
        error: Some("no".into()),
        response: Some("oh".into()),
        ..attempt(2, 1, 15)
    };
    let deliveries = Deliveries {
        cursor: 3,
        attempts: vec![attempt(1, 1, 15), broken.clone(), attempt(4, 1, 16)],
        failed: vec![failure(2, Fate::Retry(at(50))), failure(3, Fate::Dead(at(16)))],
        ..deliveries(&to)
    };
    kept(&store, deliveries).await;
    assert_eq!(stands(&store, org, 1).await, [DeliveryStatus::Delivered(at(15)), DeliveryStatus::NotForIt]);
    assert_eq!(stands(&store, org, 2).await, [DeliveryStatus::Retry(at(50)), DeliveryStatus::NotForIt]);
    assert_eq!(stands(&store, org, 3).await, [DeliveryStatus::Dead(at(16)), DeliveryStatus::NotForIt]);
    assert_eq!(
        stands(&store, org, 4).await[0],
        DeliveryStatus::Delivered(at(16)),
        "though the cursor has not come so far"
    );
    assert_eq!(stands(&store, org, 5).await, [DeliveryStatus::Waiting, DeliveryStatus::Waiting]);
    let delivery_records = store.delivery_records(org, &[2]).await.unwrap().remove(0);
    assert_eq!(
        (&delivery_records[0].attempts, &delivery_records[0].failure),
        (&vec![broken], &Some(failure(2, Fate::Retry(at(50)))))
    );
    assert_eq!(delivery_records[1].subscription, current(&store, &filtered).await);
    pause(&store, &filtered, 20).await;
    assert_eq!(stands(&store, org, 5).await, [DeliveryStatus::Waiting, DeliveryStatus::Dead(at(20))]);
    resume(&store, &filtered).await;
    assert_eq!(stands(&store, org, 5).await, [DeliveryStatus::Waiting, DeliveryStatus::Dead(at(20))], "a range");
    assert_eq!(stands(&store, org, 1).await[1], DeliveryStatus::NotForIt, "the range is of other events");
    replay(&store, org, &only(&filtered), at(30)).await;
    assert_eq!(stands(&store, org, 5).await, [DeliveryStatus::Waiting, DeliveryStatus::Waiting]);
    // A subscription that was created later, and one whose attempts have expired.
    let late = Subscription { created_at: at(100), ..wanted(org, "https://late", None) };
    made(&store, &late).await;
    assert_eq!(stands(&store, org, 1).await[2], DeliveryStatus::NotForIt);
    store.expire_attempts(at(LATE), 100).await.unwrap();
    assert_eq!(stands(&store, org, 1).await[0], DeliveryStatus::Forgotten);
}

pub async fn a_message_is_sent_again(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11), ("paid", 12), ("paid", 13)]).await;
    lease(&store, ME).await;
    let failed = vec![failure(2, Fate::Dead(at(16))), failure(3, Fate::Retry(at(90)))];
    let now =
        kept(&store, Deliveries { cursor: 3, attempts: vec![attempt(1, 1, 15)], failed, ..deliveries(&to) }).await;
    let again = async |position| store.send_again(org, &to.uuid, position, at(40), None).await.unwrap();
    for position in [1, 2, 3] {
        assert_eq!(again(position).await, ResendResult::Sent, "{position}");
    }
    assert!(current(&store, &to).await.version > now.version, "whoever sends has to look");
    let due = store.due_failures(org, to.id, at(40), 10).await.unwrap();
    let fresh = |position, reason: &str, status, streak| Failure {
        position,
        attempts: 0,
        first_failed_at: None,
        fate: Fate::Retry(at(40)),
        reason: reason.into(),
        status,
        streak,
    };
    let expected =
        [fresh(1, "", None, -1), fresh(2, "reason of 2", Some(503), 2), fresh(3, "reason of 3", Some(503), 2)];
    assert_eq!(due.iter().map(|(failure, _)| failure.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 4, dead: 0 });
    assert_eq!(again(4).await, ResendResult::Waiting, "it is not sent yet");
    assert_eq!(again(5).await, ResendResult::NotForIt, "there is none");
    assert_eq!(again(-1).await, ResendResult::NotForIt);
    assert_eq!(store.send_again(org, "unknown", 1, at(40), None).await.unwrap(), ResendResult::NoSubscription);
    let other = organization(&store, "two").await;
    assert_eq!(store.send_again(other, &to.uuid, 1, at(40), None).await.unwrap(), ResendResult::NoSubscription);
    let filtered = subscribe(&store, org, "https://b", Some(&["closed"])).await;
    assert_eq!(store.send_again(org, &filtered.uuid, 1, at(40), None).await.unwrap(), ResendResult::NotForIt);
    pause(&store, &to, 50).await;
    assert_eq!(again(1).await, ResendResult::Paused);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 0, dead: 4 });
}

pub async fn one_message_of_a_range_is_sent_again(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11), ("paid", 12), ("paid", 13), ("paid", 14)]).await;
    pause(&store, &to, 20).await;
    resume(&store, &to).await;
    let again = async |position| store.send_again(org, &to.uuid, position, at(40), None).await.unwrap();
    for (position, left) in [(3, vec![1, 2, 4, 5]), (5, vec![1, 2, 4]), (1, vec![2, 4]), (2, vec![4]), (4, vec![])] {
        assert_eq!(again(position).await, ResendResult::Sent);
        let dead: Vec<i64> = dead(&store, &to).await.into_iter().map(|(position, _)| position).collect();
        assert_eq!(dead, left);
        let backlog = backlog(&store, &to).await;
        assert_eq!((backlog.pending, backlog.dead), (5 - left.len() as u64, left.len() as u64));
    }
    assert_eq!(sent_again(&store, &to, at(40)).await, [1, 2, 3, 4, 5]);
}
