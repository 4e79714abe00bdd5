//! The reads of one organization use its share of the database's readers. Payments and other organizations do not wait.

use crate::support::{ADMIN, Got, Server};
use daybook_api::ApiSettings;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::JoinHandle;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn send(server: &Server, key: &str, path: &str, body: Value) -> Got {
    server.call("POST", path, Some(key), &JSON, body.to_string().into_bytes()).await
}

fn get(server: &Arc<Server>, path: &'static str) -> JoinHandle<Got> {
    let server = server.clone();
    tokio::spawn(async move { server.get(path).await })
}

/// Creates the product `p` and the account `a`.
async fn furnish(server: &Server, key: &str) {
    let product = json!({
        "product_id": "p",
        "product_overview": {"product_name": "Auto 12", "product_type": "INSTALLMENT"},
        "post_promotional_policies": {"post_promo_len": 12, "post_promo_default_interest_rate_percent": 12.0}
    });
    send(server, key, "/products", product).await.ok();
    let account = json!({
        "account_id": "a", "product_id": "p", "effective_at": "2025-01-15T09:00:00-05:00",
        "summary": {"initial_principal_cents": 120_000}
    });
    send(server, key, "/accounts", account).await.ok();
}

async fn pays(server: &Server, key: &str) {
    let payment = json!({"line_item_id": "p1", "original_amount_cents": 500});
    send(server, key, "/accounts/a/line_items/payments/payment_record", payment).await.ok();
}

async fn reads_wait_for_their_organization_only(address: &str) {
    let server = Arc::new(Server::on(address, ApiSettings::default(), "TEST").await);
    let other = server.service.create_organization_with_key("other", "TEST").await.expect("another organization");
    let other = other.client_secret.expect("a secret");
    for key in [ADMIN, other.as_str()] {
        furnish(&server, key).await;
    }
    let org = server.service.operator(Some("first")).await.expect("it is there").org;
    let held = server.service.hold_reads(org).await.expect("no other call reads");
    let mut waiting = Vec::new();
    for path in ["/accounts", "/accounts/a", "/organization/audit?request_id=nothing"] {
        waiting.push(get(&server, path));
        while server.service.reads_waiting() < waiting.len() {
            assert!(waiting.iter().all(|call| !call.is_finished()), "{path}: it reads beyond its share");
            tokio::task::yield_now().await;
        }
    }
    for key in [other.as_str(), ADMIN] {
        // After a second, the key is read again.
        server.clock.set(daybook_clock::Clock::now(&*server.clock).plus_micros(2_000_000));
        pays(&server, key).await;
    }
    server.call("GET", "/accounts/a", Some(&other), &[], Vec::new()).await.ok();
    assert!(waiting.iter().all(|call| !call.is_finished()));
    drop(held);
    for call in waiting {
        call.await.expect("it ran").ok();
    }
    assert_eq!(server.service.reads_waiting(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_wait_for_their_organization_only_on_sqlite() {
    reads_wait_for_their_organization_only("sqlite::memory:").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_wait_for_their_organization_only_on_postgres() {
    reads_wait_for_their_organization_only(&daybook_testkit::postgres::Server::shared().migrated_database()).await;
}
