//! Pages take slots for reads; public pages, assets and forms do not.

use crate::setup::ConsoleSetup;
use daybook_service::call_slots::CallKind;

/// A path with values for its parameters.
fn path_of(route: &str) -> String {
    let parts: Vec<&str> = route.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect();
    parts.join("/")
}

fn waiting(setup: &ConsoleSetup) -> [usize; 2] {
    [CallKind::List, CallKind::Object].map(|kind| setup.service.call_counts(kind).waiting)
}

/// Requests a page that waits for a slot, and gives up. Returns how many lists and objects waited.
async fn waits(setup: &ConsoleSetup, path: &str) -> [usize; 2] {
    let page = tokio::spawn({
        let (setup, path) = (setup.clone(), path.to_owned());
        async move { setup.get(&path).await }
    });
    while waiting(setup) == [0, 0] {
        assert!(!page.is_finished(), "{path} reads without a slot");
        tokio::task::yield_now().await;
    }
    let counts = waiting(setup);
    page.abort();
    assert!(page.await.is_err());
    assert_eq!(waiting(setup), [0, 0], "{path}");
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_takes_a_slot() {
    for address in ["sqlite::memory:".to_owned(), daybook_testkit::postgres::Server::shared().migrated_database()] {
        let setup = ConsoleSetup::on(&address, "TEST").await;
        let mut slots = Vec::new();
        for kind in CallKind::ALL {
            slots.extend(setup.service.take_call_slots(setup.who.org, kind).await.expect("they are free"));
        }
        let routes = daybook_console::routes();
        for route in routes.iter().filter(|route| route.method == "GET" && route.needs.is_some()) {
            waits(&setup, &path_of(route.path)).await;
        }
        assert_eq!(waits(&setup, "/console/accounts/x").await, [0, 1], "one object");
        assert_eq!(waits(&setup, "/console/accounts").await, [1, 0], "a list");
        assert_eq!(waits(&setup, "/console/accounts/x?tab=items&format=csv").await, [1, 0], "a file");
        assert_eq!(setup.get("/console/sign-in").await.status, 200);
        assert_eq!(setup.get("/console/assets/app.js").await.status, 200);
        let fields = [("customer_id", "bo"), ("name_first", "Bo"), ("customer_type", "person")];
        assert!(matches!(setup.post("/console/customers/new", &fields).await.status, 200 | 303));
        drop(slots);
        setup.get("/console/customers").await.page();
    }
}
