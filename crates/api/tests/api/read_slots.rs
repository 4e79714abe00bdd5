//! Concurrent reads are limited for each organization. Other organizations, payments and reads of one object do not wait.

use crate::support::{ADMIN, Got, Server};
use daybook_api::ApiSettings;
use daybook_service::read_slots::{ReadCounts, ReadKind};
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
async fn until(server: &Server, kind: ReadKind, counts: ReadCounts, calls: &[JoinHandle<Got>]) {
    while server.service.read_counts(kind) != counts {
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
    until(&server, ReadKind::List, ReadCounts { in_progress: LISTS, waiting: BURST - LISTS }, &burst).await;
    for path in ["/customers?limit=200", "/accounts", "/organization/messages"] {
        server.call("GET", path, Some(&other), &[], Vec::new()).await.ok();
    }
    let payment = json!({"line_item_id": "p1", "original_amount_cents": 500});
    server.post("/accounts/a/line_items/payments/payment_record", payment).await.ok();
    let metrics = server.get("/metrics").await.text;
    for line in [
        format!("daybook_reads_in_progress{{kind=\"list\"}} {LISTS}\n"),
        format!("daybook_reads_waiting{{kind=\"list\"}} {}\n", BURST - LISTS),
        "daybook_reads_waiting{kind=\"object\"} 0\n".to_owned(),
    ] {
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
    burst.push(get(&server, "/accounts/a"));
    until(&server, ReadKind::Object, ReadCounts { in_progress: 1, waiting: 0 }, &burst).await;
    // A caller who gives up leaves its place.
    let gives_up = burst.remove(0);
    gives_up.abort();
    assert!(gives_up.await.is_err());
    until(&server, ReadKind::List, ReadCounts { in_progress: LISTS, waiting: BURST - LISTS - 1 }, &burst).await;
    drop(held);
    for call in burst {
        call.await.expect("it ran").ok();
    }
    for kind in ReadKind::ALL {
        assert_eq!(server.service.read_counts(kind), ReadCounts::default());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_lists_leaves_others_their_slots_on_sqlite() {
    a_burst_of_lists_leaves_others_their_slots("sqlite::memory:").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_lists_leaves_others_their_slots_on_postgres() {
    a_burst_of_lists_leaves_others_their_slots(&daybook_testkit::postgres::Server::shared().database()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_that_reads_takes_a_slot() {
    let server = Arc::new(Server::start().await);
    let org = server.service.operator(Some("first")).await.expect("it is there").org;
    let mut slots = Vec::new();
    for kind in ReadKind::ALL {
        slots.extend(server.service.take_read_slots(org, kind).await.expect("they are free"));
    }
    let waiting = || ReadKind::ALL.map(|kind| server.service.read_counts(kind).waiting).iter().sum::<usize>();
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
