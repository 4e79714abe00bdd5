//! A migration done only with the console. Then a webhook URL is saved, fails, is paused, and receives the messages it
//! missed.

use crate::browser::Browser;
use crate::common::installation::SECRET;
use crate::site::{Site, sign_in};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use daybook_clock::{Clock, System};
use daybook_testkit::receiver::{Behaviour, Receiver, Request};
use hmac::{Hmac, KeyInit, Mac};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde_json::Value;
use sha2::Sha256;

/// The instalment of 1,200.00 over 12 months at 12 %, from a calculator.
const INSTALMENT: &str = "106.62";
/// The principal after eight instalments, calculated by hand: 1,200.00, 1,105.38, 1,009.81, 913.29, 815.80, 717.34,
/// 617.89, 517.45, 416.00.
const LEFT: &str = "$416.00";

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_by_hand_and_a_webhook_that_breaks() {
    let site = Site::empty();
    let browser = Browser::start(site.url(), site.folder()).await;
    sign_in(&browser).await;
    browser.picture("walk-01-signed-in").await;
    migrate(&browser).await;
    webhooks(&site, &browser).await;
    browser.close().await;
}

/// Turns migration mode on, creates a customer and a backdated account with payments, turns it off, and checks the
/// result.
async fn migrate(browser: &Browser) {
    create_product_that_holds_events(browser).await;
    let begin = began();
    open_account(browser, begin).await;
    record_payments(browser, begin).await;
    release(browser).await;
}

async fn create_product_that_holds_events(browser: &Browser) {
    browser.go("/console/products").await;
    browser.click("New product").await;
    browser.fill("Name", "Auto 12").await;
    browser.fill("Number of instalments", "12").await;
    browser.fill("Interest rate, percent a year", "12").await;
    browser.fill("Product id", "auto-12").await;
    browser.unfold().await;
    browser.fill("Fixed late fee", "15.00").await;
    browser.fill("For a loan of", "1,200.00").await;
    browser.see(INSTALMENT).await; // The schedule follows what is typed.
    browser.picture("walk-02-product").await;
    browser.click("Create the product").await;
    browser.see("Migration mode").await;

    browser.click("Turn on migration mode…").await;
    browser.click("Turn on migration mode").await;
    browser.see("events are held").await;
}

/// Creates a customer and an account that began on a day in the past.
async fn open_account(browser: &Browser, begin: Date) {
    browser.go("/console/customers/new").await;
    browser.fill("First name", "Ada").await;
    browser.fill("Last name", "Lovelace").await;
    browser.fill("Customer id", "ada").await;
    browser.click("Add the customer").await;
    browser.see("Ada Lovelace").await;

    browser.go("/console/accounts/new?product_id=auto-12&customer_id=ada").await;
    browser.fill("Principal", "1,200.00").await;
    browser.fill("Begins", &format!("{begin}T12:00:00")).await;
    browser.fill("Account id", "ada-1").await;
    if browser.value("Customer").await.is_empty() {
        browser.fill("Customer", "ada").await;
    }
    browser.picture("walk-03-account").await;
    browser.click("Open the account").await;
    browser.see("The product is in migration mode").await;
    browser.click("Open the account").await;
    browser.see("was opened").await;
    browser.see("ada-1").await;
}

/// Records eight payments in any order; they are held.
async fn record_payments(browser: &Browser, begin: Date) {
    for month in [3, 1, 7, 8, 2, 6, 4, 5] {
        let day = begin.checked_add(Span::new().months(month)).expect("a date");
        browser.go("/console/accounts/ada-1").await;
        browser.click("Record a payment").await;
        browser.fill("Amount", INSTALMENT).await;
        browser.fill("Id of the payment", &format!("payment-{month}")).await;
        browser.fill("Effective at", &format!("{day}T09:00:00")).await;
        browser.click("Review").await;
        browser.see(&format!("${INSTALMENT}")).await;
        browser.click("Record the payment").await;
        browser.see("held").await;
    }
    browser.go("/console/accounts/ada-1").await;
    browser.see("if released now").await;
    browser.see(LEFT).await;
    browser.picture("walk-04-held").await;
}

/// Turns migration mode off, and checks the account.
async fn release(browser: &Browser) {
    browser.go("/console/products/auto-12").await;
    browser.click("Release the held events…").await;
    browser.click("Release the held events").await;
    browser.reload_until("The last release of held events ended").await;
    browser.see("1 of 1 account done").await;
    browser.picture("walk-05-released").await;

    browser.go("/console/accounts/ada-1").await;
    browser.see(LEFT).await;
    browser.picture("walk-06-outcome").await;
    browser.go("/console/accounts/ada-1?tab=items").await;
    browser.see("payment-8").await;
    let text = browser.text().await.to_lowercase();
    let rows = browser.run("return document.querySelectorAll('main tbody tr').length").await;
    assert!(rows.as_u64().is_some_and(|rows| rows >= 9), "the loan and eight payments are there: {rows}");
    let items =
        browser.run("return [...document.querySelectorAll('main tbody')].map((body) => body.innerText).join()").await;
    let items = items.as_str().unwrap_or_default().to_lowercase();
    assert!(!items.contains("late fee"), "a loan that was paid on time has no late fee: {text}");
}

/// A date eight months ago, so that eight due dates have passed by yesterday.
fn began() -> Date {
    let now = Timestamp::from_microsecond(System.now().micros()).expect("a time");
    let zone = TimeZone::get("America/New_York").expect("a zone");
    let yesterday = now.to_zoned(zone).date().yesterday().expect("a date");
    yesterday.checked_sub(Span::new().months(8)).expect("a date")
}

async fn webhooks(site: &Site, browser: &Browser) {
    let receiver = Receiver::start(Behaviour::status(200));
    let key = site.server().get("/organization/hmac_key", SECRET).good();
    let key = key["hmac_secret_key"].as_str().expect("a key").to_owned();

    browser.go("/console/keys").await;
    browser.fill("Webhook URL", &receiver.url()).await;
    browser.click("Save").await;
    browser.see("Current URL").await;
    browser.picture("walk-07-keys").await;

    customer(browser, "Ben").await;
    let arrived = receiver.wait_for(1);
    assert_eq!(event_of(&arrived[0]), "customer_create");
    assert!(is_signed(&arrived[0], &key), "what arrives is signed");
    browser.go("/console/webhooks/deliveries").await;
    browser.reload_until("Delivered").await;

    receiver.behave(Behaviour::status(401));
    customer(browser, "Carla").await;
    receiver.wait_for(2);
    browser.go("/console/webhooks").await;
    browser.reload_until("Paused").await;
    browser.picture("walk-08-paused").await;
    customer(browser, "Dimitri").await;
    browser.go("/console/webhooks/dead-letters").await;
    browser.reload_until("customer_create").await;
    browser.picture("walk-09-dead-letters").await;

    receiver.behave(Behaviour::status(200));
    browser.go("/console/webhooks").await;
    browser.click("Resume …").await;
    browser.click("Resume").await;
    browser.see("Active").await;
    browser.go("/console/webhooks/dead-letters").await;
    browser.click("Send all again …").await;
    browser.click("Send again").await;
    let arrived = receiver.wait_for(4);
    let mut names: Vec<String> = arrived[2..].iter().map(first_name).collect();
    names.sort();
    assert_eq!(names, ["Carla", "Dimitri"], "all and only what was missed is sent");
    assert!(arrived.iter().all(|request| is_signed(request, &key)));
    browser.go("/console/webhooks/dead-letters").await;
    browser.reload_until("No dead letters").await;
    browser.picture("walk-10-replayed").await;
}

async fn customer(browser: &Browser, name: &str) {
    browser.go("/console/customers/new").await;
    browser.fill("First name", name).await;
    browser.click("Add the customer").await;
    browser.see(name).await;
}

fn message(request: &Request) -> Value {
    serde_json::from_slice(&request.body).expect("a message is JSON")
}

fn event_of(request: &Request) -> String {
    message(request)["event"].as_str().unwrap_or_default().to_owned()
}

fn first_name(request: &Request) -> String {
    message(request)["data"]["object"]["name_first"].as_str().unwrap_or_default().to_owned()
}

/// Verifies the signature as a receiver does: over the received bytes of `data`.
fn is_signed(request: &Request, key: &str) -> bool {
    let text = std::str::from_utf8(&request.body).expect("text");
    let from = text.find(",\"data\":").expect("data") + 8;
    let to = text.rfind(",\"hmac_signature\":\"").expect("a signature");
    let mut hmac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("a key");
    hmac.update(&text.as_bytes()[from..to]);
    message(request)["hmac_signature"] == STANDARD.encode(hmac.finalize().into_bytes())
}
