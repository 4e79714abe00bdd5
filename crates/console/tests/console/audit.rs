//! Every console form that changes data leaves one record in the audit trail. The forms are read from the route table,
//! so a new form without a record fails this test. Also tests the page that shows the trail.

use crate::account::{confirmation, hidden};
use crate::setup::{Answer, ConsoleSetup, PASSWORD, SCRIPT, assert_harmless, encoded, form_of, json_of, view_of};
use axum::body::Body;
use axum::http::Request;
use daybook_console::routes;
use daybook_service::AuditQuery;
use daybook_service::access::Role;
use daybook_service::paging::Paging;
use daybook_testkit::receiver::{Behaviour, Receiver};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Forms that change nothing in the database.
const CHANGES_NOTHING: [&str; 10] = [
    "/console/products/{product_id}/what-if",
    "/console/products/{product_id}/what-if/cancel",
    "/console/theme",
    "/console/products/preview",
    "/console/accounts/preview",
    "/console/customers/preview",
    "/console/cases/run",
    "/console/cases/own",
    "/console/cases/{file}/run",
    "/console/keys/hmac",
];

/// A console whose forms are submitted.
struct Tried {
    setup: ConsoleSetup,
    routes: BTreeSet<&'static str>,
}

impl Tried {
    async fn records(&self) -> Vec<Value> {
        let longest = Paging { limit: 200, ..Paging::default() };
        let page =
            view_of(self.setup.service.list_audit_records(&self.setup.who, longest, AuditQuery::default()).await);
        page["results"].as_array().expect("a list").clone()
    }

    /// Submits a form, which must succeed and leave one record.
    async fn sends(&mut self, route: &'static str, action: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let before = self.records().await.len();
        let answer = self.setup.post(path, fields).await;
        assert!(matches!(answer.status, 200 | 303), "{route}: {} {}", answer.status, answer.body);
        self.left(route, action, before).await;
        answer
    }

    async fn left(&mut self, route: &'static str, action: &str, before: usize) {
        let records = self.records().await;
        assert_eq!(records.len(), before + 1, "{route} leaves one record: {:?}", &records[..2.min(records.len())]);
        assert_eq!(records[0]["action"], action, "{route}");
        self.routes.insert(route);
    }

    /// Submits the form of a page with its hidden fields.
    async fn sends_page(&mut self, route: &'static str, action: &str, path: &str, page: &str) -> Answer {
        let fields = hidden(page);
        let fields: Vec<(&str, &str)> =
            fields.iter().filter(|(name, _)| name != "csrf").map(|(name, value)| (&**name, &**value)).collect();
        self.sends(route, action, path, &fields).await
    }

    /// Submits a form without a session.
    async fn at_the_door(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let page = self.setup.send(Request::get(path).body(Body::empty()).expect("a request")).await;
        let cookie = page.header("set-cookie").split(';').next().expect("a cookie").to_owned();
        let token = page.body.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let fields = [&[("csrf", token.expect("a token"))], fields].concat();
        let request = Request::post(path)
            .header("cookie", cookie)
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(encoded(&fields)));
        self.setup.send(request.expect("a request")).await
    }
}

async fn submit_products_accounts_and_customers(tried: &mut Tried) {
    let product = [
        ("product_id", "auto-36"),
        ("product_overview.product_name", "Auto 36"),
        ("product_overview.product_type", "INSTALLMENT"),
        ("post_promotional_policies.post_promo_len", "36"),
        ("post_promotional_policies.post_promo_default_interest_rate_percent", "12"),
    ];
    tried.sends("/console/products/new", "create_product", "/console/products/new", &product).await;
    let migration = "/console/products/auto-36/migration";
    tried.sends("/console/products/{product_id}/migration", "set_migration_mode", migration, &[("to", "on")]).await;
    let off = json!({"migration_mode": false});
    json_of(tried.setup.service.set_migration_mode(&tried.setup.who, None, "auto-36", form_of(&off)).await);
    tried.setup.settle().await;
    let account = [
        ("product_id", "auto-36"),
        ("account_id", "a9"),
        ("summary.initial_principal_cents", "1,200.00"),
        ("confirmed", "1"),
    ];
    tried.sends("/console/accounts/new", "create_account", "/console/accounts/new", &account).await;
    let pay = "/console/accounts/a9/do/payment";
    let page = confirmation(&tried.setup, pay, &[("original_amount_cents", "10.00"), ("line_item_id", "p1")]).await;
    tried.sends_page("/console/accounts/{id}/do/{what}", "record_payment", pay, &page).await;
    let extend = "/console/accounts/a9/change/extend";
    let page = tried.setup.get(&format!("{extend}/preview?count=2")).await.page();
    tried.sends_page("/console/accounts/{id}/change/{what}", "extend_term", extend, &page).await;
    let roll = "/console/accounts/a9/roll";
    let page = confirmation(&tried.setup, roll, &[("effective_at", "2025-04-20T00:00:00")]).await;
    tried.sends_page("/console/accounts/{id}/roll", "roll_account", roll, &page).await;
    let customer = [("customer_id", "bo"), ("name_first", "Bo"), ("customer_type", "person")];
    tried.sends("/console/customers/new", "create_customer", "/console/customers/new", &customer).await;
    let edit = "/console/customers/bo/edit";
    let page = tried.setup.get(edit).await.page();
    let shown = hidden(&page).into_iter().find(|(name, _)| name == "shown").expect("a mark").1;
    let changed = [("shown", &*shown), ("name_first", "Bo"), ("name_last", "Day"), ("customer_type", "person")];
    tried.sends("/console/customers/{customer_id}/edit", "update_customer", edit, &changed).await;
}

async fn submit_webhooks(tried: &mut Tried, receiver: &Receiver) {
    tried.sends("/console/webhooks/test", "send_test_event", "/console/webhooks/test", &[]).await;
    let uuid = tried.setup.subscribe(&receiver.url(), &[]).await;
    let pause = format!("/console/webhooks/subscriptions/{uuid}/pause");
    let resume = format!("/console/webhooks/subscriptions/{uuid}/resume");
    let subscription = |what: &str| match what {
        "pause" => "/console/webhooks/subscriptions/{webhook_uuid}/pause",
        _ => "/console/webhooks/subscriptions/{webhook_uuid}/resume",
    };
    tried.sends(subscription("pause"), "unsubscribe", &pause, &[("once", "1")]).await;
    tried.setup.announce("zoe").await;
    tried.sends(subscription("resume"), "resubscribe", &resume, &[("once", "2")]).await;
    let message = tried.setup.message_about("zoe").await;
    let again = format!("/console/webhooks/messages/{message}/send/{uuid}");
    let route = "/console/webhooks/messages/{event_id}/send/{webhook_uuid}";
    tried.sends(route, "resend_message", &again, &[]).await;
    let replay = "/console/webhooks/dead-letters/replay";
    tried.sends(replay, "replay_failed_events", replay, &[("once", "3")]).await;
}

async fn submit_keys(tried: &mut Tried, receiver: &Receiver) {
    let made =
        tried.sends("/console/keys", "create_key", "/console/keys", &[("name", "till"), ("role", "ADMIN")]).await;
    let client_id =
        made.body.split("dbk_client_").nth(1).and_then(|rest| rest.split(['"', '<']).next()).expect("an id");
    let revoke = format!("/console/keys/dbk_client_{client_id}/revoke");
    tried.sends("/console/keys/{client_id}/revoke", "revoke_key", &revoke, &[]).await;
    let url = [("webhook_url", &*receiver.url())];
    tried.sends("/console/keys/webhook-url", "save_webhook_url", "/console/keys/webhook-url", &url).await;
    let rotate = "/console/keys/hmac/rotate";
    let page = tried.setup.get(rotate).await.page();
    tried.sends_page(rotate, "rotate_hmac_key", rotate, &page).await;
}

async fn submit_people(tried: &mut Tried) {
    let invite = "/console/people/invite";
    let invited = tried.sends(invite, "invite", invite, &[("role", "READ_ONLY")]).await;
    let welcome = invited.body.split("/console/welcome/").nth(1).and_then(|rest| rest.split(['"', '<']).next());
    let welcome = format!("/console/welcome/{}", welcome.expect("a link"));
    let before = tried.records().await.len();
    let fields = [("name", "Ben"), ("email", "ben@example.com"), ("password", PASSWORD)];
    assert_eq!(tried.at_the_door(&welcome, &fields).await.status, 303);
    tried.left("/console/welcome/{link}", "accept_invitation", before).await;
    let ben = tried.records().await[0]["subject_id"].as_str().expect("an id").to_owned();
    let before = tried.records().await.len();
    assert_eq!(tried.at_the_door("/console/sign-in", &fields[1..]).await.status, 303);
    tried.left("/console/sign-in", "sign_in", before).await;
    let before = tried.records().await.len();
    let wrong = [("email", "ben@example.com"), ("password", "a wrong guess")];
    assert_eq!(tried.at_the_door("/console/sign-in", &wrong).await.status, 422);
    tried.left("/console/sign-in", "sign_in_failed", before).await;
    tried
        .sends("/console/people/{person_id}/{change}", "disable_person", &format!("/console/people/{ben}/disable"), &[])
        .await;
    tried.sends(invite, "invite", invite, &[("role", "READ_ONLY")]).await;
    let page = tried.setup.get("/console/people").await.page();
    let link = page.split("name=\"link\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a link");
    let withdraw = "/console/people/links/withdraw";
    tried.sends(withdraw, "withdraw_invitation", withdraw, &[("link", link)]).await;
}

async fn submit_own_password_and_sessions(tried: &mut Tried) {
    let new = "another long sentence";
    let password = [("old_password", PASSWORD), ("new_password", new), ("again", new)];
    let own = "/console/people/me/password";
    tried.sends(own, "change_password", own, &password).await;
    let admin = tried.setup.seen_by(Role::Admin).await;
    let before = tried.records().await.len();
    assert_eq!(admin.post("/console/people/me/sessions", &[]).await.status, 303);
    tried.left("/console/people/me/sessions", "end_sessions", before).await;
    let leaving = tried.setup.seen_by(Role::Servicing).await;
    let before = tried.records().await.len();
    assert_eq!(leaving.post("/console/sign-out", &[]).await.status, 303);
    tried.left("/console/sign-out", "sign_out", before).await;
}

#[tokio::test]
async fn every_form_that_changes_something_leaves_one_record() {
    let receiver = Receiver::start(Behaviour::status(200));
    let mut tried = Tried { setup: ConsoleSetup::sending().await, routes: BTreeSet::new() };
    submit_products_accounts_and_customers(&mut tried).await;
    submit_webhooks(&mut tried, &receiver).await;
    submit_keys(&mut tried, &receiver).await;
    submit_people(&mut tried).await;
    submit_own_password_and_sessions(&mut tried).await;

    let all = routes().into_iter().filter(|route| route.method == "POST").map(|route| route.path);
    let changing: BTreeSet<&str> = all.filter(|path| !CHANGES_NOTHING.contains(path)).collect();
    assert_eq!(tried.routes, changing, "every form that changes something was tried");
}

#[tokio::test]
async fn the_page_shows_who_did_what_and_what_was_refused() {
    let setup = ConsoleSetup::filled().await;
    setup.pay("a1", "p1", "2025-03-01T09:00:00-05:00", 1_234).await;
    let tried = Tried { setup: setup.clone(), routes: BTreeSet::new() };
    let guess = [("email", SCRIPT), ("password", "a wrong guess")];
    assert_eq!(tried.at_the_door("/console/sign-in", &guess).await.status, 422);
    let page = setup.get("/console/audit").await.page();
    assert_harmless(&page);
    for words in ["Record payment", "<a href=\"/console/accounts/a1\">a1</a>", "1234", &setup.who.client_id, ">Ada</a>"]
    {
        assert!(page.contains(words), "{words}: {page}");
    }
    let page = setup.get("/console/audit?action=Create+customer&subject_id=mallory").await.page();
    assert!(page.contains("mallory") && !page.contains("Record payment"), "{page}");
    let csv = setup.get("/console/audit?format=csv&action=record_payment").await.page();
    assert_eq!(csv.lines().count(), 2, "{csv}");
    let wrong = setup.get("/console/audit?since=soon").await;
    assert!(wrong.status == 422 && wrong.body.contains("since: must be a date"), "{}", wrong.body);
    let reader = setup.seen_by(Role::Servicing).await;
    assert_eq!(reader.get("/console/audit").await.status, 403);
    assert!(!reader.get("/console").await.page().contains("Audit trail"));
}

/// The page says that a search goes on, and leads to what it finds.
#[tokio::test]
async fn a_long_search_goes_on_page_by_page() {
    let setup = ConsoleSetup::filled().await;
    setup.pay("a1", "p1", "2025-03-01T09:00:00-05:00", 1_234).await;
    for number in 0..14 {
        setup.customer(&json!({"customer_id": format!("c{number}"), "name_last": "L"})).await;
    }
    // Ten searches for a page, of one record each.
    let service = setup.service.clone().examining_audit_records(1);
    let setup = setup.over(service);
    let page = setup.get("/console/audit?action=record_payment").await.page();
    assert!(page.contains("No match so far") && !page.contains("1234"), "{page}");
    let next = |page: &str| {
        let link = page.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
        link.map(|link| link.replace("&#38;", "&").replace("&amp;", "&"))
    };
    let page = setup.get(&next(&page).expect("a link")).await.page();
    assert!(page.contains("Record payment") && page.contains("1234"), "{page}");
    let mut page = page;
    while let Some(link) = next(&page) {
        page = setup.get(&link).await.page();
    }
    assert!(page.contains("No records match") && page.contains("The latest"), "{page}");
    let csv = setup.get("/console/audit?format=csv&action=record_payment").await.page();
    assert_eq!(csv.lines().count(), 2, "{csv}");
}

/// A page waits for a turn of its organization; a form does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_uses_the_share_of_its_organization() {
    for address in ["sqlite::memory:".to_owned(), daybook_testkit::postgres::Server::shared().migrated_database()] {
        let setup = ConsoleSetup::on(&address, "TEST").await;
        let held = setup.service.hold_reads(setup.who.org).await.expect("no other call reads");
        let page = tokio::spawn({
            let setup = setup.clone();
            async move { setup.get("/console/audit").await }
        });
        while setup.service.reads_waiting() == 0 {
            assert!(!page.is_finished(), "the page reads beyond its organization's share");
            tokio::task::yield_now().await;
        }
        let fields = [("customer_id", "bo"), ("name_first", "Bo"), ("customer_type", "person")];
        assert!(matches!(setup.post("/console/customers/new", &fields).await.status, 200 | 303));
        assert!(!page.is_finished());
        drop(held);
        assert_eq!(page.await.expect("it ran").status, 200);
    }
}
