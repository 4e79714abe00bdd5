//! One URL in different spellings; checks before a name is resolved.

use crate::support::{Home, Trial, code_of, form_of, json_of, list, on_both, view_of};
use async_trait::async_trait;
use daybook_service::webhooks::guard::{Guard, Resolve};
use daybook_service::webhooks::subscriptions::MOST_SUBSCRIPTIONS;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

on_both!(
    nine_spellings_of_a_url_are_one_subscription,
    a_subscription_that_was_kept_in_another_spelling_is_found,
    limits_are_checked_before_a_name_is_looked_up,
    an_organization_has_four_names_looked_up_at_once,
);

const NOW: &str = "2026-04-01T12:00:00-04:00";

/// A resolver that returns a public address for every name, and counts its calls.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

#[async_trait]
impl Resolve for Counting {
    async fn addresses(&self, _: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(vec![SocketAddr::new([8, 8, 8, 8].into(), port)])
    }
}

async fn open(home: Home) -> (Trial, Arc<Counting>) {
    let resolver = Arc::new(Counting::default());
    let mut trial = Trial::at(home, NOW).await;
    trial.service = trial.service.with_guard(Guard::default(), resolver.clone());
    (trial, resolver)
}

async fn subscribe(trial: &Trial, url: &str) -> Value {
    let form = form_of(&json!({ "webhook_url": url }));
    json_of(trial.service.subscribe(&trial.who, None, form).await)
}

async fn urls(trial: &Trial) -> Vec<Value> {
    let all = list(view_of(trial.service.list_subscriptions(&trial.who).await));
    all.into_iter().map(|one| one["webhook_url"].clone()).collect()
}

async fn nine_spellings_of_a_url_are_one_subscription(home: Home) {
    let (trial, _) = open(home).await;
    let spellings = [
        "https://example.com/hooks/a",
        "HTTPS://example.com/hooks/a",
        "https://EXAMPLE.com/hooks/a",
        "https://example.com:443/hooks/a",
        "https://example.com./hooks/a",
        "https://example.com/./hooks/a",
        "https://example.com/x/../hooks/a",
        "https://example.com/%68ooks/%61",
        "https://example.com/hooks/a?",
    ];
    let first = subscribe(&trial, spellings[8]).await;
    assert_eq!(first["webhook_url"], spellings[0]);
    for url in spellings {
        let again = subscribe(&trial, url).await;
        assert_eq!(again["webhook_uuid"], first["webhook_uuid"], "{url}");
        view_of(trial.service.save_console_url(&trial.who, Some(url)).await.map(|saved| saved.expect("it is saved")));
        assert_eq!(urls(&trial).await, [spellings[0]], "{url}");
    }
    subscribe(&trial, "https://example.com/hooks/A").await;
    assert_eq!(urls(&trial).await.len(), 2);
}

/// Earlier versions stored the caller's spelling: such a subscription is found by another spelling. Two of them that
/// turn out to be the same URL both stay.
async fn a_subscription_that_was_kept_in_another_spelling_is_found(home: Home) {
    let (trial, _) = open(home).await;
    subscribe(&trial, "https://other.example/").await;
    let like = trial.store.subscriptions(trial.who.org).await.expect("they can be read").remove(0);
    let mut old = Vec::new();
    for url in ["HTTPS://example.com:443/hooks", "https://EXAMPLE.com/hooks"] {
        let row = daybook_store::outbox::Subscription {
            url: url.to_owned(),
            uuid: format!("old {}", old.len()),
            ..like.clone()
        };
        old.push(
            trial
                .store
                .subscribe(&row, daybook_store::outbox::SuppliedSettings::default(), MOST_SUBSCRIPTIONS, None)
                .await
                .expect("it is kept")
                .expect("there is room"),
        );
    }
    for url in ["https://example.com/hooks", "https://example.com./hooks"] {
        let form = form_of(&json!({ "webhook_url": url, "filter_events": ["account_closed"] }));
        let found = json_of(trial.service.subscribe(&trial.who, None, form).await);
        assert_eq!((&found["webhook_uuid"], &found["webhook_url"]), (&json!("old 0"), &json!(old[0].url)), "{url}");
        assert_eq!(found["filter_events"], json!(["account_closed"]));
    }
    assert_eq!(urls(&trial).await.len(), 3);
    json_of(trial.service.delete_subscription(&trial.who, None, "old 0").await);
    assert_eq!(subscribe(&trial, "https://example.com/hooks").await["webhook_uuid"], "old 1");
}

async fn limits_are_checked_before_a_name_is_looked_up(home: Home) {
    let (trial, resolver) = open(home).await;
    for number in 0..MOST_SUBSCRIPTIONS {
        subscribe(&trial, &format!("https://example.com/{number}")).await;
    }
    assert_eq!(resolver.0.load(Ordering::SeqCst), MOST_SUBSCRIPTIONS);
    let form = || form_of(&json!({ "webhook_url": "https://example.com/more" }));
    assert_eq!(code_of(trial.service.subscribe(&trial.who, None, form()).await), "conflict");
    let form = form_of(&json!({ "webhook_url": "http://example.com/plain" }));
    assert_eq!(code_of(trial.service.subscribe(&trial.who, None, form).await), "invalid_request");
    assert_eq!(resolver.0.load(Ordering::SeqCst), MOST_SUBSCRIPTIONS, "no name was looked up for those");
    subscribe(&trial, "https://example.com/7").await;
}

/// A resolver that does not answer until it is allowed to, and counts the names of each organization that are being
/// resolved.
#[derive(Debug, Default)]
struct Waiting {
    one: AtomicUsize,
    most_of_one: AtomicUsize,
    other: AtomicUsize,
    may_answer: tokio::sync::Notify,
}

/// A lookup in progress; dropping it ends it too.
struct Busy<'a>(&'a AtomicUsize);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Resolve for Waiting {
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        if host.starts_with("other") {
            self.other.fetch_add(1, Ordering::SeqCst);
        } else {
            let now = self.one.fetch_add(1, Ordering::SeqCst) + 1;
            let _busy = Busy(&self.one);
            self.most_of_one.fetch_max(now, Ordering::SeqCst);
            self.may_answer.notified().await;
        }
        Ok(vec![SocketAddr::new([8, 8, 8, 8].into(), port)])
    }
}

/// The other names wait for their turn; another organization's name does not.
async fn an_organization_has_four_names_looked_up_at_once(home: Home) {
    let resolver = Arc::new(Waiting::default());
    let mut trial = Trial::at(home, NOW).await;
    trial.service = trial.service.with_guard(Guard::default(), resolver.clone());
    trial.service.create_organization("other", "TEST").await.expect("it is made");
    let other = Trial { who: trial.service.operator(Some("other")).await.expect("it is there"), ..trial.clone() };
    let calls: Vec<_> = (0..12)
        .map(|number| {
            let trial = trial.clone();
            tokio::spawn(async move { subscribe(&trial, &format!("https://one{number}.example/")).await })
        })
        .collect();
    while resolver.one.load(Ordering::SeqCst) < 4 {
        tokio::task::yield_now().await;
    }
    for number in 0..5 {
        subscribe(&other, &format!("https://other{number}.example/")).await;
    }
    assert_eq!((resolver.other.load(Ordering::SeqCst), urls(&other).await.len()), (5, 5));
    assert_eq!(resolver.most_of_one.load(Ordering::SeqCst), 4, "no more of one organization");
    while calls.iter().any(|call| !call.is_finished()) {
        resolver.may_answer.notify_waiters();
        tokio::task::yield_now().await;
    }
    assert_eq!((resolver.most_of_one.load(Ordering::SeqCst), urls(&trial).await.len()), (4, 12));
}
