//! The list of dead letters: failures, ranges, and what a paused subscription misses, merged.

use super::*;
use daybook_store::outbox::{DeadLetter, MessageSummary};

/// A subscription with a dead failure at 1, a dead range of 3 and 4 (of 2 to 4), and 6 and 7 missed while paused.
/// The log is: 1 paid, 2 closed, 3 paid (about `acc`), 4 paid, 5 closed, 6 paid, 7 paid (about `acc`).
async fn all_sorts(store: &Arc<dyn Store>, org: OrgId, url: &str) -> Subscription {
    let of_account = |seconds| MessageRow { account: Some("acc".into()), ..event("paid", seconds) };
    let to = subscribe(store, org, url, Some(&["paid"])).await;
    announce(store, org, &[("paid", 10)]).await;
    lease(store, ME).await;
    kept(store, Deliveries { cursor: 1, failed: vec![failure(1, Fate::Dead(at(15)))], ..deliveries(&to) }).await;
    pause(store, &to, 20).await;
    announce(store, org, &[("closed", 25)]).await;
    written(store, vec![message_unit(vec![(org, of_account(26))])]).await;
    announce(store, org, &[("paid", 27)]).await;
    resume(store, &to).await;
    pause(store, &to, 30).await;
    announce(store, org, &[("closed", 35), ("paid", 36)]).await;
    written(store, vec![message_unit(vec![(org, of_account(37))])]).await;
    to
}

pub async fn dead_letters_come_from_everywhere(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = all_sorts(&store, org, "https://a").await;
    let letters = store.dead_letters(org, &DeliveryFilter::default(), at(LATE), None, 10).await.unwrap();
    let about = |position, seconds| MessageSummary {
        subscription: to.id,
        uuid: to.uuid.clone(),
        url: to.url.clone(),
        position,
        event: "paid".into(),
        event_id: format!("paid at {seconds}"),
        account: (position == 3 || position == 7).then(|| "acc".into()),
    };
    let missed = |position, seconds| DeadLetter {
        about: about(position, seconds),
        dead_at: at(seconds),
        attempts: 0,
        reason: None,
        status: None,
    };
    let failed = DeadLetter {
        about: about(1, 10),
        dead_at: at(15),
        attempts: 3,
        reason: Some("reason of 1".into()),
        status: Some(503),
    };
    assert_eq!(letters, [failed, missed(3, 26), missed(4, 27), missed(6, 36), missed(7, 37)]);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 0, dead: 5 });
}

pub async fn dead_letters_are_paged(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let first = all_sorts(&store, org, "https://a").await;
    let second = subscribe(&store, org, "https://b", None).await;
    announce(&store, org, &[("paid", 40), ("paid", 41)]).await;
    pause(&store, &second, 42).await;
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = store.dead_letters(org, &DeliveryFilter::default(), at(LATE), after, 2).await.unwrap();
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = Some((last.about.position, last.about.subscription));
        found.extend(page.into_iter().map(|letter| (letter.about.position, letter.about.subscription)));
    }
    let (a, b) = (first.id, second.id);
    assert_eq!(found, [(1, a), (3, a), (4, a), (6, a), (7, a), (8, a), (8, b), (9, a), (9, b)]);
}

pub async fn dead_letters_are_filtered(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let first = all_sorts(&store, org, "https://a").await;
    let second = subscribe(&store, org, "https://b", None).await;
    announce(&store, org, &[("closed", 40)]).await;
    pause(&store, &second, 42).await;
    let any = DeliveryFilter::default;
    let positions = async |filter: DeliveryFilter| -> Vec<i64> {
        dead_by(&store, org, &filter).await.into_iter().map(|(position, _)| position).collect()
    };
    assert_eq!(positions(any()).await, [1, 3, 4, 6, 7, 8]);
    assert_eq!(positions(only(&second)).await, [8]);
    assert_eq!(positions(DeliveryFilter { event: Some("paid".into()), ..any() }).await, [1, 3, 4, 6, 7]);
    assert_eq!(positions(DeliveryFilter { event: Some("closed".into()), ..any() }).await, [8]);
    assert_eq!(positions(DeliveryFilter { event: Some("closed".into()), ..only(&first) }).await, [0; 0]);
    assert_eq!(positions(DeliveryFilter { account: Some("acc".into()), ..any() }).await, [3, 7]);
    assert_eq!(positions(DeliveryFilter { since: Some(at(26)), until: Some(at(37)), ..any() }).await, [3, 4, 6]);
    assert_eq!(positions(DeliveryFilter { until: Some(at(26)), ..any() }).await, [1]);
    let some = DeliveryFilter { event: Some("paid".into()), since: Some(at(37)), ..any() };
    assert_eq!(positions(some).await, [7]);
}

/// A message published before a pause is dead since the pause; one effective in the future is dead since now.
pub async fn the_moment_of_death_lies_between_the_pause_and_now(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10)]).await;
    pause(&store, &to, 20).await;
    let published = MessageRow { recorded_at: at(5), ..event("paid", 40) };
    let rolled = MessageRow { recorded_at: at(45), ..event("paid", 900) };
    written(&store, vec![message_unit(vec![(org, published), (org, rolled)])]).await;
    let seconds = async || -> Vec<i64> {
        let letters = store.dead_letters(org, &only(&to), at(50), None, 10).await.unwrap();
        letters.iter().map(|letter| letter.dead_at.seconds()).collect()
    };
    assert_eq!(seconds().await, [20, 40, 50]);
    resume(&store, &to).await;
    assert_eq!(seconds().await, [20, 40, 50]);
}
