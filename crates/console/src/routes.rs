//! Every route, with the right that it needs.
//!
//! The router and the list that tests walk are made from the same table, so that no route is forgotten by either.

use crate::guard::{self, Needs};
use crate::{Console, assets, page, pages};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get, post};
use daybook_service::access::Right;
use tower_http::catch_panic::CatchPanicLayer;

/// The largest form, in bytes.
const FORM_BYTES_MAX: usize = 1024 * 1024;

/// What is known of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteFacts {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path, with its parameters in braces.
    pub path: &'static str,
    /// The right that somebody signed in needs; nothing where nobody need be signed in.
    pub needs: Option<Right>,
}

macro_rules! table {
    ($($needs:ident $method:ident $path:literal $handler:path;)*) => {
        const FACTS: &[(&str, &str, Needs)] = &[$((stringify!($method), $path, Needs::$needs),)*];

        fn table() -> Vec<(&'static str, Needs, MethodRouter<Console>)> {
            vec![$(($path, Needs::$needs, $method($handler)),)*]
        }
    };
}

table! {
    // The door.
    Nobody get "/console/sign-in" pages::sign_in::show;
    Nobody post "/console/sign-in" pages::sign_in::sign_in;
    Nobody get "/console/welcome/{link}" pages::sign_in::welcome;
    Nobody post "/console/welcome/{link}" pages::sign_in::accept;
    Read post "/console/sign-out" pages::sign_in::sign_out;
    Read post "/console/theme" page::choose_theme;

    // Home, and finding anything.

    // Products.

    // Accounts: the list, opening one.

    // One account.

    // Customers.

    // Webhooks.

    // Test cases.

    // Keys.

    // People.
}

/// Every route there is.
pub fn routes() -> Vec<RouteFacts> {
    let facts = FACTS.iter().map(|(method, path, needs)| RouteFacts {
        method: if *method == "get" { "GET" } else { "POST" },
        path,
        needs: needs.right(),
    });
    facts.collect()
}

/// Everything, ready to serve.
pub(crate) fn serve(console: Console) -> Router {
    let mut router: Router<Console> = Router::new();
    for (path, needs, handler) in table() {
        let guarded = handler.layer(from_fn_with_state((console.clone(), needs), guard::stand));
        router = router.route(path, guarded);
    }
    router
        .route("/console/", get(page::to_home))
        .route("/console/assets/{name}", get(assets::serve))
        .route("/console/{*rest}", get(page::no_such_page))
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .layer(CatchPanicLayer::custom(page::panicked))
        .layer(from_fn(guard::headers))
        .with_state(console)
}
