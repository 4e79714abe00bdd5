//! Webhooks: subscriptions, deliveries, messages, dead letters and the catalogue.

use crate::setup::{ConsoleSetup, SCRIPT, assert_harmless, form_of, json_of, view_of};
use daybook_service::access::Role;
use daybook_service::webhooks::dispatcher::DispatcherSettings;
use daybook_service::webhooks::guard::{Guard, System};
use daybook_service::webhooks::sender::{Sender, SenderSettings};
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

impl ConsoleSetup {
    /// A setup with data that sends messages to receivers on this machine.
    pub async fn sending() -> ConsoleSetup {
        let setup = ConsoleSetup::filled().await;
        let guard = Guard { dev: true, networks: Vec::new() };
        let settings = SenderSettings { guard, ..SenderSettings::default() };
        let sender = Sender::new(settings, Arc::new(System::default())).expect("a sender");
        let service = setup.service.clone().with_sender(sender);
        setup.over(service)
    }

    /// Sends all due messages.
    pub async fn deliver(&self) {
        let at_once = DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
        let dispatcher = self.service.dispatcher(at_once).expect("it has a sender");
        dispatcher.settle().await.expect("it is sent");
        dispatcher.stop().await;
    }

    /// Subscribes a URL through the API and returns the id of the subscription.
    pub async fn subscribe(&self, url: &str, filter: &[&str]) -> String {
        let mut body = json!({ "webhook_url": url });
        if !filter.is_empty() {
            body["filter_events"] = json!(filter);
        }
        let made = json_of(self.service.subscribe(&self.who, None, form_of(&body)).await);
        made["webhook_uuid"].as_str().expect("a name").to_owned()
    }

    /// All subscriptions.
    pub async fn subscriptions(&self) -> Vec<Value> {
        let all = view_of(self.service.list_subscriptions(&self.who).await);
        all["results"].as_array().expect("a list").clone()
    }

    /// Causes an event: creates a customer with this name.
    pub async fn announce(&self, name: &str) {
        self.customer(&json!({ "customer_id": name, "name_last": name })).await;
    }

    /// The id of the message about a customer.
    pub async fn message_about(&self, customer: &str) -> String {
        let page = self.get("/console/webhooks/deliveries?format=csv").await.page();
        let dead = self.get("/console/webhooks/dead-letters?format=csv").await.page();
        let ids = page.lines().chain(dead.lines()).filter_map(|line| line.split(',').nth(2));
        let wanted = format!(".{customer}.c");
        ids.map(str::to_owned).find(|id| id.contains(&wanted)).unwrap_or_else(|| panic!("{page}{dead}"))
    }
}

const PAGES: [&str; 4] =
    ["/console/webhooks", "/console/webhooks/deliveries", "/console/webhooks/dead-letters", "/console/webhooks/events"];

#[tokio::test]
async fn pages_say_what_to_do_when_there_is_nothing() {
    let setup = ConsoleSetup::new().await;
    let reader = setup.seen_by(Role::ReadOnly).await;
    let expected = ["No subscriptions yet", "No deliveries yet", "No dead letters", "payment_missed"];
    for (path, words) in PAGES.into_iter().zip(expected) {
        let page = setup.get(path).await.page();
        assert!(page.contains(words), "{path} does not say {words}");
        let csv = setup.get(&format!("{path}?format=csv")).await;
        assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8", "{path}");
        assert_eq!(reader.get(path).await.status, 200, "{path}");
    }
    assert_eq!(setup.get("/console/webhooks/messages/dbk_evt_nothing.1").await.status, 404);
    assert_eq!(setup.get("/console/webhooks/subscriptions/none/pause").await.status, 404);
}

#[tokio::test]
async fn a_message_is_shown_with_what_was_tried_and_sent_again() {
    let setup = ConsoleSetup::sending().await;
    let refusing =
        Behaviour::answers(|_, _| PreparedResponse::status(422).saying(b"<script>alert(1)</script> no thank you"));
    let (good, bad) = (Receiver::start(Behaviour::status(200)), Receiver::start(refusing));
    let (good_uuid, bad_uuid) = (setup.subscribe(&good.url(), &[]).await, setup.subscribe(&bad.url(), &[]).await);
    setup.announce("zoe").await;
    setup.deliver().await;
    let urls = setup.get("/console/webhooks").await.page();
    for badge in [r#"class="badge active">Active<"#, r#"class="badge failing">Failing<"#] {
        assert!(urls.contains(badge), "{urls}");
    }
    let id = setup.message_about("zoe").await;
    let path = format!("/console/webhooks/messages/{id}");
    let page = setup.get(&path).await.page();
    assert_harmless(&page);
    for words in ["Delivered", "Dead letter", "422", "no thank you", "customer_create", &good.url(), &bad.url()] {
        assert!(page.contains(words), "the page does not say {words}");
    }
    let sent = good.requests().into_iter().find(|request| request.header("webhook-id") == Some(&*id)).expect("sent");
    let signature = sent.header("webhook-signature").expect("it is signed");
    assert!(page.contains(&signature.replace('+', "&#43;")) || page.contains(signature), "the exact header is shown");
    let listed =
        setup.get(&format!("/console/webhooks/deliveries?webhook_uuid={bad_uuid}&outcome=FAILED")).await.page();
    assert!(listed.contains(&path) && !listed.contains(">Delivered</span>"), "{listed}");
    let none = setup.get("/console/webhooks/deliveries?event=payment_missed").await.page();
    assert!(none.contains("No deliveries match"));
    assert_eq!(setup.get("/console/webhooks/deliveries?event=party&since=soon").await.status, 422);

    let again = format!("{path}/send/{good_uuid}");
    let ask = setup.get(&again).await.page();
    assert!(ask.contains("The receiver accepted it on") && ask.contains("Send again"), "{ask}");
    let before = good.requests().len();
    assert_eq!(setup.post(&again, &[]).await.leads_to(), path);
    setup.deliver().await;
    let requests = good.requests();
    assert_eq!(requests.len(), before + 1);
    assert_eq!(requests[before].body, sent.body, "the same bytes");
    let refused = setup.post(&format!("{path}/send/unknown"), &[]).await;
    assert_eq!(refused.status, 404, "{}", refused.body);
}

#[tokio::test]
async fn messages_are_found_by_id_account_and_state() {
    let setup = ConsoleSetup::sending().await;
    let receiver = Receiver::start(Behaviour::status(404));
    let uuid = setup.subscribe(&receiver.url(), &[]).await;
    setup.announce("zoe").await;
    setup.deliver().await;
    let id = setup.message_about("zoe").await;
    let here = "/console/webhooks/messages";
    let link = format!("{here}/{id}\"");
    let found = [
        String::new(),
        format!("?event_id={id}"),
        format!("?event_id=+{id}+"),
        "?state=DEAD&event=customer_create".to_owned(),
        format!("?webhook_uuid={uuid}&state=DEAD&since=2020-01-01T00%3A00"),
    ];
    for query in found {
        let page = setup.get(&format!("{here}{query}")).await.page();
        assert!(page.contains(&link), "{query}: {page}");
    }
    for query in [format!("?event_id={id}&state=DELIVERED"), "?account_id=none".to_owned(), "?event_id=x".to_owned()] {
        let page = setup.get(&format!("{here}{query}")).await.page();
        assert!(!page.contains(&link) && page.contains("No message matches"), "{query}: {page}");
    }
    let script: String = SCRIPT.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let page = setup.get(&format!("{here}?event_id={script}")).await.page();
    assert_harmless(&page);
    assert_eq!(setup.get(&format!("{here}?state=MAYBE")).await.status, 422);
}

#[tokio::test]
async fn a_url_is_paused_resumed_and_its_dead_letters_replayed() {
    let setup = ConsoleSetup::sending().await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver.url(), &[]).await;
    let pause = format!("/console/webhooks/subscriptions/{uuid}/pause");
    let resume = format!("/console/webhooks/subscriptions/{uuid}/resume");
    assert_eq!(setup.get(&resume).await.leads_to(), "/console/webhooks", "it is not paused");
    let ask = setup.get(&pause).await.page();
    assert!(ask.contains("become dead letters") && ask.contains("/unsubscribe"), "{ask}");
    assert_eq!(setup.post(&pause, &[("once", "1")]).await.leads_to(), "/console/webhooks");
    assert_eq!(setup.get(&pause).await.leads_to(), "/console/webhooks", "it is paused already");
    let page = setup.get("/console/webhooks").await.page();
    assert!(page.contains("It was paused manually.") && page.contains("Resume"), "{page}");
    for name in ["zoe", "yan"] {
        setup.announce(name).await;
    }
    let dead = setup.get("/console/webhooks/dead-letters").await.page();
    assert!(dead.contains("it was not sent: the URL was paused"), "{dead}");

    // While the URL is paused, its dead letters stay.
    let replay = "/console/webhooks/dead-letters/replay";
    let ask = setup.get(replay).await.page();
    assert!(
        ask.contains("There are no dead letters that can be sent again")
            && ask.contains("2 dead letters will not be sent"),
        "{ask}"
    );
    assert!(!ask.contains("<button class=\"primary\">Send again"), "{ask}");
    let send = format!("/console/webhooks/messages/{}/send/{uuid}", setup.message_about("zoe").await);
    let paused = setup.post(&send, &[]).await;
    assert!(paused.status == 422 && paused.body.contains("the URL is paused"), "{}", paused.body);

    assert!(setup.get(&resume).await.page().contains("Its 2 dead letters are not sent until you send them again"));
    assert_eq!(setup.post(&resume, &[("once", "2")]).await.leads_to(), "/console/webhooks");
    let ask = setup.get(&format!("{replay}?event=payment_missed")).await.page();
    assert!(ask.contains("There are no dead letters that can be sent again (of the event payment_missed)"), "{ask}");
    let ask = setup.get(&format!("{replay}?webhook_uuid={uuid}&event=customer_create")).await.page();
    assert!(ask.contains("2 dead letters will be sent again") && ask.contains(&receiver.url()), "{ask}");
    assert_eq!(setup.get(&format!("{replay}?account_id=a1")).await.status, 422);
    let done = setup.post(replay, &[("webhook_uuid", &uuid), ("event", "customer_create"), ("once", "3")]).await;
    assert_eq!(done.leads_to(), "/console/webhooks/dead-letters");
    setup.deliver().await;
    let got: Vec<String> =
        receiver.requests().iter().filter_map(|one| one.header("webhook-id").map(str::to_owned)).collect();
    assert_eq!(got.len(), 2, "{got:?}");
    assert!(setup.get("/console/webhooks/dead-letters").await.page().contains("No dead letters"));
}

#[tokio::test]
async fn a_test_event_leads_to_its_message() {
    let setup = ConsoleSetup::sending().await;
    let without_subscribers = setup.post("/console/webhooks/test", &[]).await;
    assert!(
        without_subscribers.leads_to().starts_with("/console/webhooks/messages/dbk_evt_"),
        "{without_subscribers:?}"
    );
    let receiver = Receiver::start(Behaviour::status(200));
    setup.subscribe(&receiver.url(), &["account_closed"]).await;
    let sent = setup.post("/console/webhooks/test", &[]).await;
    let path = sent.leads_to().to_owned();
    assert!(setup.get(&path).await.page().contains("Pending"));
    setup.deliver().await;
    assert!(setup.get(&path).await.page().contains("Delivered"));
    assert_eq!(receiver.requests().len(), 1);
}

#[tokio::test]
async fn every_event_of_the_catalogue_has_a_page() {
    let setup = ConsoleSetup::new().await;
    for name in daybook_service::webhooks::events::NAMES {
        let page = setup.get(&format!("/console/webhooks/events/{name}")).await.page();
        assert!(page.contains("Example of") && page.contains("event_id"), "{name}");
    }
    assert_eq!(setup.get("/console/webhooks/events/party").await.status, 404);
}

#[tokio::test]
async fn pages_are_led_through_and_taken_away_whole() {
    let setup = ConsoleSetup::sending().await;
    let receiver = Receiver::start(Behaviour::status(200));
    setup.subscribe(&receiver.url(), &["customer_create"]).await;
    for index in 0..60 {
        setup.announce(&format!("many-{index}")).await;
    }
    setup.deliver().await;
    let path = "/console/webhooks/deliveries?event=customer_create";
    let first = setup.get(path).await.page();
    assert_eq!(first.matches("/console/webhooks/messages/").count(), 50);
    let next = first.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a next page");
    let next = next.replace("&#38;", "&").replace("&amp;", "&");
    assert!(next.contains("event=customer_create"), "{next}");
    let second = setup.get(&next).await.page();
    assert_eq!(second.matches("/console/webhooks/messages/").count(), 10);
    assert!(second.contains("The latest") && !second.contains("rel=\"next\""));
    let csv = setup.get(&format!("{path}&format=csv")).await.page();
    assert_eq!(csv.lines().count(), 61);
    let hours = setup.get("/console/webhooks").await.page();
    assert!(hours.contains("60 delivered"), "the drawing says how many");
    assert_harmless(&hours);
    let harmless = setup.get(&format!("/console/webhooks/deliveries?account_id={}", "%3Cscript%3Ealert(1)")).await;
    assert!(harmless.status == 422 && !harmless.body.contains(SCRIPT));
    assert_harmless(&harmless.body);
}

#[tokio::test]
async fn a_held_url_is_shown_as_such_and_sent_to_at_once_if_asked() {
    let setup = ConsoleSetup::sending().await;
    let receiver = Receiver::start(Behaviour::answers(|number, _| match number {
        0 => PreparedResponse::status(429).with("retry-after", "7200"),
        _ => PreparedResponse::status(200),
    }));
    let uuid = setup.subscribe(&receiver.url(), &[]).await;
    for name in ["zoe", "yan"] {
        setup.announce(name).await;
    }
    setup.deliver().await;
    assert_eq!(receiver.counts().requests, 1);
    let page = setup.get("/console/webhooks").await.page();
    for said in ["Held", "The receiver answered 429 Too Many Requests.", "Send now …"] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let resume = format!("/console/webhooks/subscriptions/{uuid}/resume");
    let ask = setup.get(&resume).await.page();
    assert!(ask.contains("requested a pause until") && ask.contains("/resubscribe"), "{ask}");
    assert_eq!(setup.post(&resume, &[("once", "1")]).await.leads_to(), "/console/webhooks");
    setup.deliver().await;
    assert_eq!(receiver.counts().requests, 3);
    let page = setup.get("/console/webhooks").await.page();
    assert!(!page.contains("429 Too Many Requests") && !page.contains("Send now"), "{page}");
}
