//! Every page, with data and without, wide and narrow, light and dark.
//!
//! The pages are read from the console's route table, so a new page that is unknown here fails. The test checks that
//! each page responds, that nothing is wider than the window, that nothing is loaded from another host, that the
//! browser reports no errors, and that axe-core finds no serious violations. `DAYBOOK_PICTURES=1` saves a screenshot of
//! each in `target/pictures`.

use crate::accessibility::{Axe, Rules};
use crate::browser::{Browser, Look};
use crate::common::chance::setting;
use crate::common::installation::SECRET;
use crate::site::{Site, sign_in};
use daybook_console::routes;
use daybook_testkit::receiver::{Behaviour, Receiver};
use serde_json::{Value, json};

/// The records that pages with parameters show.
struct Things {
    product: String,
    account: String,
    customer: String,
    message: String,
    subscription: String,
    /// A paused subscription.
    paused: String,
    person: String,
    case: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_with_data() {
    let site = Site::with_demo();
    // A campaign uses a portfolio of realistic size: the same pages, with other screenshots.
    let loans = setting("DAYBOOK_LOANS", 0);
    if loans > 0 {
        site.import(loans);
    }
    let receiver = Receiver::start(Behaviour::status(500));
    let things = site.fill(&receiver).await;
    look_at_everything(&site, Some(&things), if loans > 0 { "many" } else { "data" }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_without_data() {
    look_at_everything(&Site::empty(), None, "empty").await;
}

async fn look_at_everything(site: &Site, things: Option<&Things>, name: &str) {
    let axe = Axe::find();
    if axe.is_none() {
        println!("npm is not here: axe-core is left out");
    }
    let browser = Browser::start(site.url(), site.folder()).await;
    let mut wrong = Vec::new();
    for path in ["/console/sign-in", "/console/welcome/nothing"] {
        look_at(&browser, axe.as_ref(), path, name, &mut wrong).await;
    }
    sign_in(&browser).await;
    for path in paths(things) {
        look_at(&browser, axe.as_ref(), &path, name, &mut wrong).await;
    }
    browser.close().await;
    assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every page, with its parameters filled in.
fn paths(things: Option<&Things>) -> Vec<String> {
    let pages = routes().into_iter().filter(|route| route.method == "GET" && route.needs.is_some());
    pages.filter_map(|route| fill_in(route.path, things)).flatten().collect()
}

/// The URLs of a route; `None` if it needs a record that does not exist, or is not a page.
fn fill_in(path: &str, things: Option<&Things>) -> Option<Vec<String>> {
    // Fragments for scripts, and downloads.
    if path.ends_with("/progress") || path.ends_with("/download") || path == "/console/cases/from-account" {
        return None;
    }
    if !path.contains('{') {
        return Some(vec![path.to_owned()]);
    }
    let things = things?;
    let pairs = [
        ("/products/{product_id}", format!("/products/{}", things.product)),
        ("/accounts/{id}", format!("/accounts/{}", things.account)),
        ("/from-account/{account_id}", format!("/from-account/{}", things.account)),
        ("/customers/{customer_id}", format!("/customers/{}", things.customer)),
        ("/messages/{event_id}", format!("/messages/{}", things.message)),
        ("/subscriptions/{webhook_uuid}/resume", format!("/subscriptions/{}/resume", things.paused)),
        ("/send/{webhook_uuid}", format!("/send/{}", things.subscription)),
        ("/subscriptions/{webhook_uuid}", format!("/subscriptions/{}", things.subscription)),
        ("/events/{name}", "/events/payment_missed".to_owned()),
        ("/keys/{client_id}", "/keys/tests".to_owned()),
        ("/cases/{file}", format!("/cases/{}", things.case)),
    ];
    let filled = pairs.iter().fold(path.to_owned(), |path, (pattern, thing)| path.replace(pattern, thing));
    let variants: Vec<String> = match path {
        "/console/accounts/{id}" => {
            let tabs = ["schedule", "items", "timeline", "changes", "webhooks", "notices"]
                .map(|tab| format!("{filled}?tab={tab}"));
            [filled.clone(), format!("{filled}?as_of=2030-01-01")].into_iter().chain(tabs).collect()
        }
        "/console/accounts/{id}/do/{what}" => {
            let each = ["payment", "fee", "credit", "debit", "status", "notice"];
            each.map(|what| filled.replace("{what}", what)).to_vec()
        }
        "/console/accounts/{id}/do/{what}/confirm" => {
            let query = "line_item_id=by-hand&original_amount_cents=12.50";
            vec![format!("{}?{query}", filled.replace("{what}", "payment"))]
        }
        "/console/accounts/{id}/change/{what}" => {
            let each = [
                "defer",
                "due-date",
                "skip",
                "extend",
                "rate",
                "cap",
                "pause",
                "promo",
                "re-amortize",
                "re-age",
                "restructure",
                "capitalize",
                "refund",
            ];
            each.map(|what| filled.replace("{what}", what)).to_vec()
        }
        // The account is paid off, so no change can be previewed.
        "/console/accounts/{id}/change/{what}/preview" => return None,
        "/console/accounts/{id}/roll/confirm" => vec![format!("{filled}?effective_at=2030-01-01T00:00")],
        "/console/products/{product_id}/migration" => vec![format!("{filled}?to=on"), format!("{filled}?to=off")],
        "/console/people/{person_id}/{change}" => {
            let each = ["role?role=READ_ONLY", "disable", "sessions"].map(|change| filled.replace("{change}", change));
            each.map(|path| path.replace("{person_id}", &things.person)).to_vec()
        }
        _ => vec![filled],
    };
    Some(variants)
}

/// Whether screenshots are taken: they take most of the time.
fn are_kept() -> bool {
    setting("DAYBOOK_PICTURES", 0) > 0
}

async fn look_at(browser: &Browser, axe: Option<&Axe>, path: &str, name: &str, wrong: &mut Vec<String>) {
    assert!(!path.contains('{'), "{path} has a parameter that nobody filled in");
    let picture: String = path.trim_start_matches("/console").replace(['/', '?', '=', '&', ':'], "-");
    let picture = if picture.is_empty() { "-home".to_owned() } else { picture };
    browser.look(Look::ALL[0]).await;
    browser.go(path).await;
    browser.unfold().await;
    for look in Look::ALL {
        browser.look(look).await;
        if are_kept() {
            browser.picture(&format!("{name}{picture}-{}", look.name())).await;
        }
        let wide =
            browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth").await;
        if wide.as_i64() != Some(0) {
            wrong.push(format!("{path} {}: {wide} pixels too wide", look.name()));
        }
        // The results do not depend on the width, and most not on the colours.
        if let Some(axe) = axe.filter(|_| look.width > 800) {
            let rules = if look.dark { Rules::Colours } else { Rules::All };
            let found = axe.judge(browser, rules).await;
            wrong.extend(found.iter().map(|found| format!("{path} {}: {found}", look.name())));
        }
    }
    let hosts = "return performance.getEntriesByType('resource').map((entry) => entry.name) \
                 .filter((name) => !name.startsWith(location.origin) && !name.startsWith('data:'))";
    let elsewhere = browser.run(hosts).await;
    if elsewhere != json!([]) {
        wrong.push(format!("{path}: loads {elsewhere}"));
    }
    // A page that should respond 404 is no error; everything else is.
    let complaints = browser.complaints().await.into_iter().filter(|line| !line.contains("/console/welcome/nothing"));
    wrong.extend(complaints.map(|line| format!("{path}: the browser says {line}")));
}

impl Site {
    /// Creates a URL that refuses messages. Returns the ids of records to show.
    async fn fill(&self, receiver: &Receiver) -> Things {
        let server = self.server();
        let subscribed = server.put("/organization/subscribe", SECRET, &json!({ "webhook_url": receiver.url() }));
        subscribed.good();
        let odd = json!({ "customer_id": "odd", "name_first": "<script>alert(1)</script>", "name_last": "=HYPERLINK(\"http://x\")",
                          "external_fields": [{ "key": "crm", "value": "=1+1" }] });
        server.post("/customers", SECRET, &odd).good();
        let first = |answer: Value, field: &str| answer["results"][0][field].as_str().expect("one").to_owned();
        let account = first(server.get("/accounts?limit=1", SECRET).good(), "account_id");
        let product = first(server.get("/products?limit=1", SECRET).good(), "product_id");
        server.get("/organization/subscribe/test", SECRET).good();
        receiver.until(|counts| counts.requests > 0).await;
        let mut message = String::new();
        for _ in 0..200 {
            let deliveries = server.get("/organization/deliveries?limit=1", SECRET).good();
            if let Some(id) = deliveries["results"][0]["event_id"].as_str() {
                message = id.to_owned();
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let url = format!("{}/second", receiver.url());
        server.put("/organization/subscribe", SECRET, &json!({ "webhook_url": url })).good();
        let subscriptions = server.get("/organization/subscriptions", SECRET).good();
        let id_of = |url: &str| {
            let one = subscriptions["results"].as_array()?.iter().find(|one| one["webhook_url"] == url)?;
            one["webhook_uuid"].as_str().map(str::to_owned)
        };
        let (subscription, paused) = (id_of(&receiver.url()).expect("one"), id_of(&url).expect("another"));
        server.put(&format!("/organization/subscriptions/{paused}/unsubscribe"), SECRET, &json!({})).good();
        let people = self.daybook().json_of(&["people", "list", "--database", "sqlite:daybook.db", "--json"]);
        let person = people["results"][0]["person_id"].as_str().expect("one").to_owned();
        let case = "01-on-time.toml".to_owned();
        Things { product, account, customer: "odd".to_owned(), message, subscription, paused, person, case }
    }
}
