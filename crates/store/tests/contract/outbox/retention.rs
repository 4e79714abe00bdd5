//! Removal of expired rows.

use super::*;

pub async fn dead_letters_expire(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10); 4]).await;
    lease(&store, ME).await;
    let failed = vec![
        failure(1, Fate::Dead(at(30))),
        failure(2, Fate::Dead(at(20))),
        failure(3, Fate::Retry(at(15))),
        failure(4, Fate::Dead(at(40))),
    ];
    kept(&store, Deliveries { cursor: 4, failed, ..deliveries(&to) }).await;
    assert_eq!(store.expire_dead_letters(at(19), 100).await.unwrap(), 0);
    assert_eq!(store.expire_dead_letters(at(30), 100).await.unwrap(), 2);
    assert_eq!(dead(&store, &to).await, [(4, 40)]);
    assert_eq!(backlog(&store, &to).await, Backlog { pending: 1, dead: 1 }, "what is tried again stays");
    assert_eq!(store.expire_dead_letters(at(30), 100).await.unwrap(), 0);
}

pub async fn ranges_expire_from_their_beginning(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", Some(&["paid"])).await;
    pause(&store, &to, 20).await;
    announce(&store, org, &[("paid", 10), ("closed", 24), ("paid", 25), ("paid", 30), ("paid", 35)]).await;
    resume(&store, &to).await;
    assert_eq!(store.expire_dead_letters(at(19), 100).await.unwrap(), 0);
    assert_eq!(store.expire_dead_letters(at(20), 100).await.unwrap(), 1);
    assert_eq!(dead(&store, &to).await, [(3, 25), (4, 30), (5, 35)]);
    assert_eq!(store.expire_dead_letters(at(30), 100).await.unwrap(), 2);
    assert_eq!(dead(&store, &to).await, [(5, 35)]);
    assert_eq!(store.expire_dead_letters(at(35), 100).await.unwrap(), 1);
    assert_eq!(backlog(&store, &to).await, Backlog::default());
    assert_eq!(store.expire_dead_letters(at(LATE), 100).await.unwrap(), 0);
}

pub async fn what_is_replayed_does_not_expire(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    pause(&store, &to, 20).await;
    announce(&store, org, &[("paid", 10), ("paid", 25)]).await;
    resume(&store, &to).await;
    replay(&store, org, &DeliveryFilter::default(), at(30)).await;
    assert_eq!(store.expire_dead_letters(at(LATE), 100).await.unwrap(), 0);
    assert_eq!(sent_again(&store, &to, at(30)).await, [1, 2]);
}

pub async fn the_cursor_of_a_paused_subscription_moves_over_what_expires(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    let active = subscribe(&store, org, "https://b", None).await;
    announce(&store, org, &[("paid", 10), ("paid", 11)]).await;
    pause(&store, &to, 20).await;
    announce(&store, org, &[("paid", 30), ("paid", 40)]).await;
    assert_eq!(store.expire_dead_letters(at(19), 100).await.unwrap(), 0);
    assert_eq!(store.expire_dead_letters(at(30), 100).await.unwrap(), 3);
    assert_eq!(current(&store, &to).await.cursor, 3);
    assert_eq!(dead(&store, &to).await, [(4, 40)]);
    assert_eq!(current(&store, &active).await.cursor, 0);
    assert_eq!(backlog(&store, &active).await, Backlog { pending: 4, dead: 0 });
    resume(&store, &to).await;
    assert_eq!(dead(&store, &to).await, [(4, 40)]);
}

pub async fn dead_letters_expire_in_steps(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10); 30]).await;
    lease(&store, ME).await;
    let failed = (1..=10).map(|position| failure(position, Fate::Dead(at(15)))).collect();
    kept(&store, Deliveries { cursor: 10, failed, ..deliveries(&to) }).await;
    pause(&store, &to, 20).await;
    resume(&store, &to).await;
    pause(&store, &to, 21).await;
    announce(&store, org, &[("paid", 22); 10]).await;
    assert_eq!(backlog(&store, &to).await.dead, 40);
    let mut removed = 0;
    for _ in 0..100 {
        let step = store.expire_dead_letters(at(50), 3).await.unwrap();
        assert!(step < 20, "a step is small");
        removed += step;
        assert_eq!(backlog(&store, &to).await.dead, 40 - removed);
        if step == 0 {
            break;
        }
    }
    assert_eq!(removed, 40);
}

pub async fn attempts_expire_the_oldest_first(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    announce(&store, org, &[("paid", 10)]).await;
    lease(&store, ME).await;
    let attempts = vec![attempt(1, 1, 20), attempt(1, 2, 30), attempt(1, 3, 40)];
    kept(&store, Deliveries { attempts, ..deliveries(&to) }).await;
    let numbers = async || -> Vec<i64> {
        let lines = store.attempts(org, &DeliveryFilter::default(), None, 10).await.unwrap();
        lines.iter().map(|line| line.attempt.number).collect()
    };
    assert_eq!(store.expire_attempts(at(20), 10).await.unwrap(), 0);
    assert_eq!(store.expire_attempts(at(40), 1).await.unwrap(), 1);
    assert_eq!(numbers().await, [3, 2]);
    assert_eq!(store.expire_attempts(at(40), 10).await.unwrap(), 1);
    assert_eq!(numbers().await, [3]);
    assert_eq!(store.expire_attempts(at(40), 10).await.unwrap(), 0);
}

async fn positions(store: &Arc<dyn Store>, org: OrgId) -> Vec<i64> {
    log(store, org).await.into_iter().map(|(position, _)| position).collect()
}

pub async fn messages_expire_from_the_beginning_of_each_log(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    announce(&store, one, &[("paid", 10), ("paid", 20), ("paid", 30), ("paid", 15)]).await;
    announce(&store, two, &[("paid", 10), ("paid", 10)]).await;
    assert_eq!(store.expire_messages(at(10), 100).await.unwrap(), 0);
    assert_eq!(store.expire_messages(at(30), 1).await.unwrap(), 2, "one of each");
    assert_eq!(store.expire_messages(at(30), 100).await.unwrap(), 2);
    assert_eq!(positions(&store, one).await, [3, 4], "nothing from the middle");
    assert_eq!(positions(&store, two).await, [0; 0]);
    assert_eq!(store.expire_messages(at(30), 100).await.unwrap(), 0);
    // Positions continue where they were.
    announce(&store, two, &[("paid", 40)]).await;
    assert_eq!(positions(&store, two).await, [3]);
    let late = subscribe(&store, two, "https://late", None).await;
    assert_eq!(late.cursor, 3);
}

pub async fn messages_stay_while_they_are_needed(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let to = subscribe(&store, org, "https://a", None).await;
    let quick = subscribe(&store, org, "https://b", None).await;
    announce(&store, org, &[("paid", 10); 8]).await;
    lease(&store, ME).await;
    let expire = async || store.expire_messages(at(LATE), 100).await.unwrap();
    kept(&store, Deliveries { cursor: 8, ..deliveries(&quick) }).await;
    assert_eq!(expire().await, 0, "the other's cursor");
    let failed = vec![failure(2, Fate::Retry(at(50))), failure(3, Fate::Dead(at(50)))];
    let now = kept(&store, Deliveries { cursor: 5, failed, ..deliveries(&to) }).await;
    assert_eq!(expire().await, 1, "up to the retry");
    kept(&store, Deliveries { recovered: vec![2], ..deliveries(&now) }).await;
    assert_eq!(expire().await, 1, "up to the dead letter");
    pause(&store, &to, 60).await;
    resume(&store, &to).await;
    assert_eq!(store.expire_dead_letters(at(50), 100).await.unwrap(), 1);
    assert_eq!(expire().await, 3, "up to the range");
    assert_eq!(positions(&store, org).await, [6, 7, 8]);
    replay(&store, org, &DeliveryFilter::default(), at(70)).await;
    assert_eq!(expire().await, 0);
    assert_eq!(sent_again(&store, &to, at(70)).await, [6, 7, 8]);
    assert!(store.unsubscribe(org, &to.uuid, None).await.unwrap());
    assert_eq!(expire().await, 3);
}
