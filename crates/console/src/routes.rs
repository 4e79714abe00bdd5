//! Every route, with the right it requires.
//!
//! The router and the list that tests check are built from the same table, so neither can miss a route.

use crate::form::FORM_BYTES_MAX;
use crate::guard::{self, Needs};
use crate::{Console, assets, page, pages};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get, post};
use daybook_service::access::Right;
use tower_http::catch_panic::CatchPanicLayer;

/// A route, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteFacts {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// The required right; `None` for a public route.
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
    // Public pages.
    Nobody get "/console/sign-in" pages::sign_in::show;
    Nobody post "/console/sign-in" pages::sign_in::sign_in;
    Nobody get "/console/welcome/{link}" pages::sign_in::welcome;
    Nobody post "/console/welcome/{link}" pages::sign_in::accept;
    Read post "/console/sign-out" pages::sign_in::sign_out;
    Read post "/console/theme" page::choose_theme;

    // Home and search.
    Read get "/console" pages::home::show;
    Read get "/console/find" pages::find::show;

    // Products.
    Read get "/console/products" pages::products::show;
    Write get "/console/products/new" pages::products::creating::new;
    Write post "/console/products/new" pages::products::creating::create;
    Write post "/console/products/preview" pages::products::creating::preview;
    Read get "/console/products/{product_id}" pages::products::show_one;
    Write get "/console/products/{product_id}/migration" pages::products::migration::ask;
    Write post "/console/products/{product_id}/migration" pages::products::migration::switch;
    Read get "/console/products/{product_id}/progress" pages::products::migration::progress;
    Read get "/console/products/{product_id}/what-if" pages::products::what_if::show;
    Read post "/console/products/{product_id}/what-if" pages::products::what_if::start;
    Read post "/console/products/{product_id}/what-if/cancel" pages::products::what_if::cancel;

    // Accounts: the list, and opening one.
    Read get "/console/accounts" pages::accounts::show;
    Write get "/console/accounts/new" pages::accounts::opening::new;
    Write post "/console/accounts/new" pages::accounts::opening::create;
    Write post "/console/accounts/preview" pages::accounts::opening::preview;

    // One account.
    Read get "/console/accounts/{id}" pages::account::show;
    Write get "/console/accounts/{id}/do/{what}" pages::account::ask;
    Write get "/console/accounts/{id}/do/{what}/confirm" pages::account::confirm;
    Write post "/console/accounts/{id}/do/{what}" pages::account::perform;
    Write get "/console/accounts/{id}/change" pages::account::menu;
    Write get "/console/accounts/{id}/change/{what}" pages::account::ask_change;
    Write get "/console/accounts/{id}/change/{what}/preview" pages::account::preview_change;
    Write post "/console/accounts/{id}/change/{what}" pages::account::perform_change;
    Administer get "/console/accounts/{id}/roll" pages::account::roll;
    Administer get "/console/accounts/{id}/roll/confirm" pages::account::confirm_roll;
    Administer post "/console/accounts/{id}/roll" pages::account::perform_roll;

    // Customers.
    Read get "/console/customers" pages::customers::show;
    Write get "/console/customers/new" pages::customers::changing::new;
    Write post "/console/customers/new" pages::customers::changing::create;
    Write post "/console/customers/preview" pages::customers::changing::preview;
    Read get "/console/customers/{customer_id}" pages::customers::show_one;
    Write get "/console/customers/{customer_id}/edit" pages::customers::changing::edit;
    Write post "/console/customers/{customer_id}/edit" pages::customers::changing::update;

    // Webhooks.
    Read get "/console/webhooks" pages::webhooks::subscriptions::show;
    Write post "/console/webhooks/test" pages::webhooks::subscriptions::send_test;
    Write get "/console/webhooks/subscriptions/{webhook_uuid}/pause" pages::webhooks::subscriptions::ask_pause;
    Write post "/console/webhooks/subscriptions/{webhook_uuid}/pause" pages::webhooks::subscriptions::pause;
    Write get "/console/webhooks/subscriptions/{webhook_uuid}/resume" pages::webhooks::subscriptions::ask_resume;
    Write post "/console/webhooks/subscriptions/{webhook_uuid}/resume" pages::webhooks::subscriptions::resume;
    Read get "/console/webhooks/deliveries" pages::webhooks::deliveries::show;
    Read get "/console/webhooks/messages" pages::webhooks::messages::show;
    Read get "/console/webhooks/messages/{event_id}" pages::webhooks::message::show;
    Write get "/console/webhooks/messages/{event_id}/send/{webhook_uuid}" pages::webhooks::message::ask_send;
    Write post "/console/webhooks/messages/{event_id}/send/{webhook_uuid}" pages::webhooks::message::send;
    Read get "/console/webhooks/dead-letters" pages::webhooks::dead_letters::show;
    Write get "/console/webhooks/dead-letters/replay" pages::webhooks::dead_letters::ask_replay;
    Write post "/console/webhooks/dead-letters/replay" pages::webhooks::dead_letters::send_again;
    Read get "/console/webhooks/events" pages::webhooks::catalogue::show;
    Read get "/console/webhooks/events/{name}" pages::webhooks::catalogue::show_one;

    // Test cases.
    Read get "/console/cases" pages::cases::show;
    Write post "/console/cases/run" pages::cases::running::run_every;
    Write get "/console/cases/own" pages::cases::writing::show;
    Write post "/console/cases/own" pages::cases::writing::run;
    Read get "/console/cases/from-account" pages::cases::writing::choose_account;
    Read get "/console/cases/from-account/{account_id}" pages::cases::writing::show_from_account;
    Read get "/console/cases/{file}" pages::cases::show_one;
    Write post "/console/cases/{file}/run" pages::cases::running::run_one;

    // API keys.
    Administer get "/console/keys" pages::keys::show;
    Administer post "/console/keys" pages::keys::api_keys::create;
    Administer get "/console/keys/{client_id}/revoke" pages::keys::api_keys::ask_revoke;
    Administer post "/console/keys/{client_id}/revoke" pages::keys::api_keys::revoke;
    Administer post "/console/keys/webhook-url" pages::keys::webhook_url::save;
    Administer post "/console/keys/hmac" pages::keys::signing::reveal;
    Administer get "/console/keys/hmac/rotate" pages::keys::signing::ask_rotate;
    Administer post "/console/keys/hmac/rotate" pages::keys::signing::rotate;

    // The audit trail.
    Administer get "/console/audit" pages::audit::show;

    // Users.
    Administer get "/console/people" pages::people::show;
    Administer post "/console/people/invite" pages::people::invite;
    Administer post "/console/people/links/withdraw" pages::people::withdraw;
    Administer get "/console/people/{person_id}/{change}" pages::people::changing::ask;
    Administer post "/console/people/{person_id}/{change}" pages::people::changing::make;
    Read get "/console/people/me" pages::people::me::show;
    Read post "/console/people/me/password" pages::people::me::change_password;
    Read post "/console/people/me/sessions" pages::people::me::end_sessions;
}

/// All routes.
pub fn routes() -> Vec<RouteFacts> {
    let facts = FACTS.iter().map(|(method, path, needs)| RouteFacts {
        method: if *method == "get" { "GET" } else { "POST" },
        path,
        needs: needs.right(),
    });
    facts.collect()
}

/// Builds the router.
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
