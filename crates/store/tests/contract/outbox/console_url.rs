//! The URL saved in the console, and the maximum number of subscriptions.

use super::*;

async fn save(store: &Arc<dyn Store>, org: OrgId, url: &str) -> Subscription {
    store.save_console_url(org, Some(&wanted(org, url, None)), 100, None).await.unwrap().unwrap()
}

async fn remove(store: &Arc<dyn Store>, org: OrgId) {
    assert_eq!(store.save_console_url(org, None, 100, None).await.unwrap(), None);
}

/// URL, filter and whether it is the console's, of all subscriptions.
async fn all(store: &Arc<dyn Store>, org: OrgId) -> Vec<(String, Option<Vec<String>>, bool)> {
    let all = store.subscriptions(org).await.unwrap();
    all.into_iter().map(|one| (one.url, one.filter, one.from_console)).collect()
}

fn paid() -> Option<Vec<String>> {
    Some(vec!["paid".to_owned()])
}

pub async fn the_console_has_one_record(store: Arc<dyn Store>) {
    let (org, other) = (organization(&store, "one").await, organization(&store, "two").await);
    subscribe(&store, org, "https://api", Some(&["paid"])).await;
    announce(&store, org, &[("paid", 10), ("paid", 11), ("paid", 12)]).await;
    let first = save(&store, org, "https://a").await;
    assert_eq!((first.cursor, first.from_console, first.filter.clone()), (3, true, None));
    lease(&store, ME).await;
    announce(&store, org, &[("paid", 13)]).await;
    kept(&store, Deliveries { cursor: 4, failed: vec![failure(4, Fate::Dead(at(16)))], ..deliveries(&first) }).await;
    save(&store, other, "https://a").await;
    let same = save(&store, org, "https://a").await;
    assert_eq!((same.id, same.version > first.version), (first.id, true), "it stays with what waits for it");
    assert_eq!(dead(&store, &first).await, [(4, 16)]);
    let second = save(&store, org, "https://b").await;
    assert_eq!(second.cursor, 4);
    let urls = |last: &str| vec![("https://api".to_owned(), paid(), false), (last.to_owned(), None, true)];
    assert_eq!(all(&store, org).await, urls("https://b"), "the one before is gone, and what the API made stays");
    assert_eq!(dead_by(&store, org, &DeliveryFilter::default()).await, []);
    remove(&store, org).await;
    assert_eq!(all(&store, org).await, [("https://api".to_owned(), paid(), false)]);
    remove(&store, org).await;
    assert_eq!(all(&store, other).await, [("https://a".to_owned(), None, true)]);
}

pub async fn the_console_takes_over_what_the_api_made(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let made = subscribe(&store, org, "https://a", Some(&["paid"])).await;
    save(&store, org, "https://before").await;
    announce(&store, org, &[("paid", 10), ("closed", 11)]).await;
    let paused = pause(&store, &made, 20).await;
    let taken = save(&store, org, "https://a").await;
    let expected = Subscription { filter: None, from_console: true, version: taken.version, ..paused.clone() };
    assert_eq!(taken, expected, "it is not even unpaused");
    assert!(taken.version > paused.version);
    assert_eq!(all(&store, org).await, [("https://a".to_owned(), None, true)]);
    // The API may still give it a filter; it stays the console's.
    let narrowed = subscribe(&store, org, "https://a", Some(&["paid"])).await;
    assert_eq!((narrowed.filter, narrowed.from_console), (paid(), true));
    remove(&store, org).await;
    assert_eq!(all(&store, org).await, []);
}

pub async fn there_is_room_for_so_many(store: Arc<dyn Store>) {
    let (org, other) = (organization(&store, "one").await, organization(&store, "two").await);
    let make = async |org, url: &str| {
        store.subscribe(&wanted(org, url, None), SuppliedSettings::default(), 2, None).await.unwrap().is_some()
    };
    let save =
        async |url: &str| store.save_console_url(org, Some(&wanted(org, url, None)), 2, None).await.unwrap().is_some();
    assert!(make(org, "https://a").await && make(org, "https://b").await && make(other, "https://c").await);
    assert!(!make(org, "https://c").await);
    assert!(make(org, "https://b").await, "it is there already");
    assert!(!save("https://c").await);
    assert!(save("https://b").await);
    assert!(save("https://c").await, "the one before makes room");
    assert_eq!(all(&store, org).await.len(), 2);
    assert!(make(other, "https://d").await);
    // A URL that finds no room leaves the saved one as it was.
    assert!(store.save_console_url(org, Some(&wanted(org, "https://d", None)), 1, None).await.unwrap().is_none());
    assert!(all(&store, org).await.contains(&("https://c".to_owned(), None, true)));
}

/// Many at once compete for the last place and for the one saved URL.
pub async fn many_at_once_keep_to_it(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let url = format!("https://n{number}");
                let wanted = wanted(org, &url, None);
                match number % 2 {
                    0 => store.subscribe(&wanted, SuppliedSettings::default(), 3, None).await.unwrap(),
                    _ => store.save_console_url(org, Some(&wanted), 3, None).await.unwrap(),
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let all = all(&store, org).await;
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(all.iter().filter(|(_, _, from_console)| *from_console).count() <= 1, "{all:?}");
}
