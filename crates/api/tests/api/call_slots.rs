//! Concurrent reads are limited for each organization. Other organizations, payments and reads of one object do not wait.

use crate::support::{ADMIN, Got, Server};
use daybook_api::ApiSettings;
use daybook_service::call_slots::{CallCounts, CallKind};
use serde_json::json;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// The slots of an organization for lists.
const LISTS: usize = 8;
/// The calls of the burst.
const BURST: usize = 40;
/// The calls that need no slot.
const WITHOUT_A_SLOT: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

fn get(server: &Arc<Server>, path: &str) -> JoinHandle<Got> {
    let (server, path) = (server.clone(), path.to_owned());
    tokio::spawn(async move { server.get(&path).await })
}

/// Waits until the counts of a kind are these, while none of the calls ends.
async fn until(server: &Server, kind: CallKind, counts: CallCounts, calls: &[JoinHandle<Got>]) {
    while server.service.call_counts(kind) != counts {
        assert!(calls.iter().all(|call| !call.is_finished()), "a call read without a slot");
        tokio::task::yield_now().await;
    }
}

async fn a_burst_of_lists_leaves_others_their_slots(address: &str) {
    let server = Arc::new(Server::on(address, ApiSettings::default(), "TEST").await);
    let other = server.service.create_organization_with_key("other", "TEST").await.expect("another organization");
    let other = other.client_secret.expect("a secret");
    server.product("p").await;
    server.account("a", "p").await;
    let org = server.service.operator(Some("first")).await.expect("it is there").org;
    // Reads that began do not end before this is dropped.
    let held = server.service.hold_reads(org).await.expect("no other call reads");
    let mut burst: Vec<_> = (0..BURST).map(|_| get(&server, "/customers?limit=200")).collect();
    until(&server, CallKind::List, CallCounts { in_progress: LISTS, waiting: BURST - LISTS }, &burst).await;
    for path in ["/customers?limit=200", "/accounts", "/organization/messages"] {
        server.call("GET", path, Some(&other), &[], Vec::new()).await.ok();
    }
    let payment = json!({"line_item_id": "p1", "original_amount_cents": 500});
    server.post("/accounts/a/line_items/payments/payment_record", payment).await.ok();
    let metrics = server.get("/metrics").await.text;
    for line in [
        format!("daybook_calls_in_progress{{kind=\"list\"}} {LISTS}\n"),
        format!("daybook_calls_waiting{{kind=\"list\"}} {}\n", BURST - LISTS),
        "daybook_calls_waiting{kind=\"object\"} 0\n".to_owned(),
    ] {
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
    burst.push(get(&server, "/accounts/a"));
    until(&server, CallKind::Object, CallCounts { in_progress: 1, waiting: 0 }, &burst).await;
    // A caller who gives up leaves its place.
    let gives_up = burst.remove(0);
    gives_up.abort();
    assert!(gives_up.await.is_err());
    until(&server, CallKind::List, CallCounts { in_progress: LISTS, waiting: BURST - LISTS - 1 }, &burst).await;
    drop(held);
    for call in burst {
        call.await.expect("it ran").ok();
    }
    for kind in CallKind::ALL {
        assert_eq!(server.service.call_counts(kind), CallCounts::default());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_lists_leaves_others_their_slots_on_sqlite() {
    a_burst_of_lists_leaves_others_their_slots("sqlite::memory:").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_lists_leaves_others_their_slots_on_postgres() {
    a_burst_of_lists_leaves_others_their_slots(&daybook_testkit::postgres::Server::shared().migrated_database()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_that_reads_takes_a_slot() {
    let server = Arc::new(Server::start().await);
    let org = server.service.operator(Some("first")).await.expect("it is there").org;
    let mut slots = Vec::new();
    for kind in CallKind::ALL {
        slots.extend(server.service.take_call_slots(org, kind).await.expect("they are free"));
    }
    let waiting = || CallKind::ALL.map(|kind| server.service.call_counts(kind).waiting).iter().sum::<usize>();
    let document = serde_json::to_value(daybook_api::openapi()).expect("JSON");
    let mut reads = 0;
    for (path, operations) in document["paths"].as_object().expect("an object") {
        if operations["get"].is_null() || WITHOUT_A_SLOT.contains(&path.as_str()) {
            continue;
        }
        let call = get(&server, path);
        while waiting() == 0 {
            assert!(!call.is_finished(), "{path} reads without a slot");
            tokio::task::yield_now().await;
        }
        call.abort();
        assert!(call.await.is_err());
        assert_eq!(waiting(), 0, "{path}");
        reads += 1;
    }
    assert!(reads >= 20, "{reads}");
    for path in WITHOUT_A_SLOT {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
    assert_eq!(server.call("GET", "/accounts", None, &[], Vec::new()).await.status, 401);
    let credentials = json!({"client_id": "first", "client_secret": ADMIN});
    assert_eq!(server.post("/auth/token", credentials).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bulk_calls_of_one_organization_wait_for_a_slot_and_those_of_others_do_not() {
    let server = Arc::new(Server::start().await);
    let other = server.service.create_organization_with_key("other", "TEST").await.expect("another organization");
    let other = other.client_secret.expect("a secret");
    let org = server.service.operator(Some("first")).await.expect("it is there").org;
    let slots = server.service.take_call_slots(org, CallKind::Bulk).await.expect("they are free");
    let send = |secret: String, id: &str| {
        let server = server.clone();
        let line = json!({"method": "POST", "path": "/customers", "body": {"customer_id": id, "name_last": "Hopper"}});
        let headers = [("content-type", "application/x-ndjson")];
        tokio::spawn(async move {
            server.call("POST", "/bulk", Some(&secret), &headers, line.to_string().into_bytes()).await
        })
    };
    let waits = send(ADMIN.to_owned(), "c1");
    let waiting = CallCounts { in_progress: 4, waiting: 1 };
    until(&server, CallKind::Bulk, waiting, std::slice::from_ref(&waits)).await;
    let got = send(other, "c1").await.expect("it ran");
    assert!(got.text.starts_with("{\"status\":200"), "{}", got.text);
    server.post("/customers", json!({"customer_id": "c2", "name_last": "Hopper"})).await.ok();
    assert!(!waits.is_finished(), "it has no slot");
    drop(slots);
    let got = waits.await.expect("it ran");
    assert!(got.text.starts_with("{\"status\":200"), "{}", got.text);
    assert_eq!(server.service.call_counts(CallKind::Bulk), CallCounts::default());
}
