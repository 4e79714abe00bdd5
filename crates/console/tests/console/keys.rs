//! Keys: each secret is shown once and in one place; the console's webhook URL follows its rules.

use crate::account::{hidden, send, words};
use crate::setup::{Answer, ConsoleSetup, json_of, view_of};
use daybook_service::access::Role;
use serde_json::json;

/// The text of the `index`th copyable element of a page.
fn copied(page: &str, index: usize) -> String {
    let text = page.split("data-copy-text>").nth(index + 1).and_then(|rest| rest.split("</code>").next());
    text.expect("there is something to copy").to_owned()
}

/// The headers of a response.
fn said_aside(answer: &Answer) -> String {
    format!("{:?}", answer.headers)
}

#[tokio::test]
async fn a_secret_is_shown_once_and_only_there() {
    let setup = ConsoleSetup::new().await;
    let made = setup.post("/console/keys", &[("name", "Importer <b>"), ("role", "SERVICING")]).await;
    let aside = said_aside(&made);
    assert_eq!((made.header("cache-control"), made.header("set-cookie")), ("no-store", ""));
    let page = made.page();
    let (client_id, secret) = (copied(&page, 0), copied(&page, 1));
    assert!(!aside.contains(&secret), "{aside}");
    assert!(page.contains("Importer &#60;b&#62;") && !page.contains("<b>"), "{page}");
    let found = setup.service.authenticate(&secret).await.expect("the key works");
    assert_eq!((found.role, &found.client_id), (Role::Servicing, &client_id));

    let list = setup.get("/console/keys").await.page();
    assert!(list.contains(&client_id) && !list.contains(&secret));
    assert!(!setup.get("/console/keys?format=csv").await.page().contains(&secret));

    let revoke = format!("/console/keys/{client_id}/revoke");
    assert!(setup.get(&revoke).await.page().contains("cannot be restored"));
    assert!(setup.service.authenticate(&secret).await.is_ok(), "asking changes nothing");
    assert_eq!(setup.post(&revoke, &[]).await.leads_to(), "/console/keys");
    assert!(setup.service.authenticate(&secret).await.is_err());
    assert!(setup.get("/console/keys").await.page().contains("Revoked"));
    assert_eq!(setup.get("/console/keys/unknown/revoke").await.status, 404);
}

#[tokio::test]
async fn a_key_needs_a_name_and_a_role() {
    let setup = ConsoleSetup::new().await;
    for (name, role) in [("", "ADMIN"), ("till", ""), ("till", "KING")] {
        let answer = setup.post("/console/keys", &[("name", name), ("role", role)]).await;
        assert_eq!(answer.status, 422, "{name} {role}");
        assert!(answer.body.contains("class=\"wrong\""), "{}", answer.body);
    }
    let keys = view_of(setup.service.list_keys(&setup.who).await);
    assert!(!keys.to_string().contains("till"), "{keys}");
}

#[tokio::test]
async fn the_hmac_key_is_shown_to_whoever_asks_and_rotated() {
    let setup = ConsoleSetup::new().await;
    let key = view_of(setup.service.hmac_key(&setup.who).await)["hmac_secret_key"].as_str().expect("a key").to_owned();
    let shown = |page: &str| copied(page, 0).replace("&#43;", "+").replace("&#x2b;", "+");
    assert!(!setup.get("/console/keys").await.page().contains(&key), "not without being asked");
    assert_eq!(shown(&setup.post("/console/keys/hmac", &[]).await.page()), key);
    let ask = setup.get("/console/keys/hmac/rotate").await.page();
    assert!(ask.contains("24 hours") && ask.contains("/organization/hmac_key/rotate"), "{ask}");
    let rotated = send(&setup, "/console/keys/hmac/rotate", &ask).await;
    assert_eq!(rotated.header("set-cookie"), "");
    let page = rotated.page();
    assert!(page.contains("2 Mar 2025, 17:00 UTC"), "until when the key before counts: {page}");
    assert_ne!(shown(&page), key);
    let now = view_of(setup.service.hmac_key(&setup.who).await);
    assert_eq!(json!(shown(&page)), now["hmac_secret_key"]);
}

#[tokio::test]
async fn a_form_that_rotates_is_good_for_the_key_it_was_shown_for() {
    let setup = ConsoleSetup::new().await;
    let key = async || view_of(setup.service.hmac_key(&setup.who).await)["hmac_secret_key"].clone();
    let path = "/console/keys/hmac/rotate";
    let first = key().await;
    let ask = setup.get(path).await.page();
    assert!(!ask.contains(first.as_str().expect("a key")), "the form does not give the key away");
    let old = setup.get(path).await.page();
    send(&setup, path, &ask).await.page();
    let second = key().await;
    assert_ne!(first, second);
    // The same form again, an older one, and one without the key's fingerprint.
    let without_fingerprint = setup.post(path, &[("once", "x")]).await;
    for answer in [send(&setup, path, &ask).await, send(&setup, path, &old).await, without_fingerprint] {
        let page = answer.page();
        assert!(words(&page).contains("The key was not rotated this time"), "{page}");
        assert!(page.contains(second.as_str().expect("a key")), "it shows the key as it is");
        assert_eq!(key().await, second);
    }
    send(&setup, path, &setup.get(path).await.page()).await.page();
    assert_ne!(key().await, second, "a new form rotates again");
}

#[tokio::test]
async fn a_form_that_is_sent_twice_makes_one_key() {
    let setup = ConsoleSetup::new().await;
    let named = async |name: &str| {
        let keys = view_of(setup.service.list_keys(&setup.who).await);
        keys["results"].as_array().expect("a list").iter().filter(|key| key["name"] == name).count()
    };
    let page = setup.get("/console/keys").await.page();
    let once = hidden(&page).into_iter().find(|(name, _)| name == "once").expect("a word of its own").1;
    let make = |name: &'static str| {
        let (setup, once) = (setup.clone(), once.clone());
        async move { setup.post("/console/keys", &[("name", name), ("role", "ADMIN"), ("once", &once)]).await }
    };
    let (one, other) = (make("till").await.page(), make("till").await.page());
    assert_eq!((copied(&one, 0), copied(&one, 1)), (copied(&other, 0), copied(&other, 1)), "it is shown again");
    assert_eq!(named("till").await, 1);
    assert_eq!(setup.service.authenticate(&copied(&one, 1)).await.expect("it works").client_id, copied(&one, 0));
    let third = make("shop").await.page();
    assert_ne!(copied(&third, 1), copied(&one, 1), "another name is another key");
    setup.post(&format!("/console/keys/{}/revoke", copied(&one, 0)), &[]).await.leads_to();
    let refused = make("till").await;
    assert!(refused.status == 422 && refused.body.contains("is revoked"), "{}", refused.body);
    assert_eq!(named("till").await, 1);
}

#[tokio::test]
async fn the_page_says_which_events_the_url_gets() {
    let setup = ConsoleSetup::sending().await;
    let url = "http://127.0.0.1:9/one";
    setup.save(url).await.leads_to();
    assert!(
        words(&setup.get("/console/keys").await.page())
            .contains("Events All, including new events in later versions of Daybook")
    );
    setup.subscribe(url, &["account_closed"]).await;
    let text = words(&setup.get("/console/keys").await.page());
    assert!(text.contains("Events account_closed This filter was set with the API"), "{text}");
    assert!(!text.contains("All, including new events in later versions of Daybook"), "{text}");
}

impl ConsoleSetup {
    async fn save(&self, url: &str) -> Answer {
        self.post("/console/keys/webhook-url", &[("webhook_url", url)]).await
    }

    /// URLs with their filters, sorted.
    async fn urls(&self) -> Vec<(String, String)> {
        let mut urls: Vec<(String, String)> = self
            .subscriptions()
            .await
            .iter()
            .map(|one| (one["webhook_url"].as_str().expect("a URL").to_owned(), one["filter_events"].to_string()))
            .collect();
        urls.sort();
        urls
    }
}

fn all_events(urls: &[&str]) -> Vec<(String, String)> {
    urls.iter().map(|url| ((*url).to_owned(), "null".to_owned())).collect()
}

#[tokio::test]
async fn the_one_webhook_url_follows_its_rules() {
    const ONE: &str = "http://127.0.0.1:9/one";
    const TWO: &str = "http://127.0.0.1:9/two";
    const API: &str = "http://127.0.0.1:9/api";
    const OTHER: &str = "http://127.0.0.1:9/apples";
    let setup = ConsoleSetup::sending().await;
    let page = setup.get("/console/keys").await.page();
    assert!(
        page.contains(">Webhook URL</label>") && page.contains(">Save</button>") && page.contains("No URL is saved")
    );
    setup.subscribe(API, &["account_closed"]).await;
    setup.subscribe(OTHER, &["payment_missed"]).await;
    let left_alone =
        [(API.to_owned(), r#"["account_closed"]"#.to_owned()), (OTHER.to_owned(), r#"["payment_missed"]"#.to_owned())];

    // A saved URL gets all events; subscriptions made by the API stay.
    assert_eq!(setup.save(&format!("  {ONE} ")).await.leads_to(), "/console/keys");
    let page = setup.get("/console/keys").await.page();
    assert!(page.contains(&format!("<code>{ONE}</code>")) && page.contains(&format!("value=\"{ONE}\"")), "{page}");
    assert_eq!(setup.urls().await, [left_alone.to_vec(), all_events(&[ONE])].concat());
    // Saving the same URL again changes nothing.
    let before = setup.subscriptions().await;
    assert_eq!(setup.save(ONE).await.status, 303);
    assert_eq!(setup.subscriptions().await, before);
    // Another URL replaces it.
    assert_eq!(setup.save(TWO).await.status, 303);
    assert_eq!(setup.urls().await, [left_alone.to_vec(), all_events(&[TWO])].concat());
    // A URL subscribed by the API becomes the console's and loses its filter; the previous one is removed.
    let uuid = setup.subscriptions().await[0]["webhook_uuid"].clone();
    assert_eq!(setup.save(API).await.status, 303);
    assert_eq!(setup.urls().await, [all_events(&[API]), vec![left_alone[1].clone()]].concat());
    assert!(setup.subscriptions().await.iter().any(|one| one["webhook_uuid"] == uuid), "it is the same subscription");
    // An invalid URL changes nothing.
    for nonsense in ["nonsense", "ftp://example.com/x", "http://10.0.0.1/x", "javascript:alert(1)"] {
        let refused = setup.save(nonsense).await;
        assert_eq!(refused.status, 422, "{nonsense}");
        assert!(refused.body.contains("id=\"f-webhook_url-wrong\""), "{nonsense}: {}", refused.body);
        assert!(refused.body.contains(&format!("value=\"{nonsense}\"")), "what was typed stays");
    }
    assert_eq!(setup.urls().await, [all_events(&[API]), vec![left_alone[1].clone()]].concat());
    // An empty URL removes the console's subscription and no other; repeating this changes nothing.
    for _ in 0..2 {
        assert_eq!(setup.save("").await.status, 303);
        assert_eq!(setup.urls().await, [left_alone[1].clone()]);
    }
    assert!(setup.get("/console/keys").await.page().contains("No URL is saved here"));
}

#[tokio::test]
async fn a_paused_url_is_taken_over_paused_and_the_page_says_so() {
    let setup = ConsoleSetup::sending().await;
    let url = "http://127.0.0.1:9/api";
    let uuid = setup.subscribe(url, &[]).await;
    json_of(setup.service.unsubscribe(&setup.who, None, &uuid).await);
    let saved = setup.save(url).await;
    assert!(said_aside(&saved).contains("It+stays+paused"), "{saved:?}");
    let page = setup.get("/console/keys").await.page();
    assert!(page.contains("Paused") && page.contains("It was paused manually."), "{page}");
}
