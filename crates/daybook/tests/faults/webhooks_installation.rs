//! Shared parts of the webhook tests under faults: a database whose servers send to loopback, a backlog, and the log in
//! the database, to compare with what receivers got.

use crate::common::api_client::{ApiClient, until};
use crate::common::installation::SECRET;
use crate::common::loans::{line, loan, make_product, payments_of};
use daybook_store::records::MessageRow;
use daybook_testkit::receiver::Request;
use daybook_testkit::server::{Daybook, Server};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tempfile::TempDir;

/// Sends at once.
pub const AT_ONCE: [&str; 2] = ["--webhook-batch-interval", "0s"];
/// Collects messages: the next batch is so far away that no test reaches it.
pub const LATER: [&str; 2] = ["--webhook-batch-interval", "3650d"];

/// A folder, the command in it, and a database.
#[derive(Debug)]
pub struct WebhooksInstallation {
    pub daybook: Daybook,
    /// The address, with an absolute path if it is a file.
    pub database: String,
    /// Dropped last.
    _folder: TempDir,
}

impl WebhooksInstallation {
    /// With a SQLite file in its folder.
    pub fn sqlite() -> WebhooksInstallation {
        WebhooksInstallation::with(|folder| format!("sqlite:{}/daybook.db", folder.path().display()))
    }

    /// With a PostgreSQL database.
    pub fn postgres(database: &str) -> WebhooksInstallation {
        WebhooksInstallation::with(|_| database.to_owned())
    }

    fn with(database: impl Fn(&TempDir) -> String) -> WebhooksInstallation {
        let folder = tempfile::tempdir().expect("a folder");
        let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path())
            .with("DAYBOOK_BOOTSTRAP_CLIENT_ID", "tests")
            .with("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", SECRET)
            .with("DAYBOOK_LOG_LEVEL", "warn");
        WebhooksInstallation { daybook, database: database(&folder), _folder: folder }
    }

    /// Starts a server on its database.
    pub fn serve(&self, flags: &[&str]) -> Server {
        self.serve_on(&self.database, flags)
    }

    /// Starts a server on another database.
    pub fn serve_on(&self, database: &str, flags: &[&str]) -> Server {
        self.daybook.serve(&[&["--dev", "--database", database], flags].concat())
    }
}

/// Subscribes a URL to some events or to all. Returns the id of the subscription.
pub fn subscribe(client: &ApiClient, url: &str, events: Option<&[&str]>) -> String {
    let mut form = json!({ "webhook_url": url });
    if let Some(events) = events {
        form["filter_events"] = json!(events);
    }
    let reply = client.put("/organization/subscribe", &form);
    assert_eq!(reply.status, 201, "{}", reply.text);
    text(&reply.json()["webhook_uuid"])
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Creates the product of the accounts in [`announcements`].
pub fn prepare(client: &ApiClient) {
    make_product(client, "auto", json!({}), json!({}));
}

/// Calls that cause events: customers, of which every fourth has an account with a payment.
pub fn announcements(name: &str, customers: u64) -> Vec<Value> {
    let mut lines = Vec::new();
    for number in 0..customers {
        let id = format!("{name}-{number}");
        let customer = json!({ "customer_id": id, "name_first": "Zoë", "name_last": "O'Neil \"<&>\" 李" });
        lines.push(line("/customers", &customer));
        if number % 4 == 0 {
            let mut account = loan("auto", &id, "");
            account.as_object_mut().expect("an object").remove("effective_at");
            lines.push(line("/accounts", &account));
            let payment = json!({ "line_item_id": "p1", "original_amount_cents": 100 + number });
            lines.push(line(&payments_of(&id), &payment));
        }
    }
    lines
}

/// Waits until these URLs have received everything: they are active, with no pending messages or dead letters. Calls
/// `look` at each check.
pub fn wait_until_sent(client: &ApiClient, urls: &[String], mut look: impl FnMut()) {
    until("that everything is sent", || {
        look();
        let page = client.get("/organization/subscriptions").good();
        let all = page["results"].as_array().expect("a list");
        let mine: Vec<_> = all.iter().filter(|one| urls.iter().any(|url| one["webhook_url"] == *url)).collect();
        assert_eq!(mine.len(), urls.len(), "{page}");
        assert!(mine.iter().all(|one| one["status"] == "ACTIVE" && one["dead_letters"] == 0), "{page}");
        if mine.iter().all(|one| one["pending"] == 0) { Ok(()) } else { Err(page.to_string()) }
    });
}

/// The log of the only organization, from the database.
pub fn log_of(database: &str) -> Vec<MessageRow> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = daybook_store::open(database).await.expect("the database opens");
        let organizations = store.organizations().await.expect("organizations");
        assert_eq!(organizations.len(), 1);
        let mut log: Vec<MessageRow> = Vec::new();
        loop {
            let after = log.last().and_then(|message| message.position).unwrap_or(0);
            let page = store.messages(organizations[0].org, after, 1_000).await.expect("messages");
            if page.is_empty() {
                return log;
            }
            log.extend(page);
        }
    })
}

/// The messages of a receiver, compared with the log.
#[derive(Debug, PartialEq, Eq)]
pub struct Arrived {
    pub messages: usize,
    pub duplicates: usize,
    pub lost: usize,
}

/// Compares the messages of a receiver with those it should have received. Each must be in the log, with the recorded
/// data and signature, and with the same bytes each time. The first arrivals of an account's messages must be in order.
pub fn compare<'a>(requests: &[Request], log: impl Iterator<Item = &'a MessageRow>) -> Arrived {
    let log: BTreeMap<&str, &MessageRow> = log.map(|message| (message.event_id.as_str(), message)).collect();
    let mut bodies: BTreeMap<&str, &[u8]> = BTreeMap::new();
    let mut sequences: BTreeMap<&str, i64> = BTreeMap::new();
    for request in requests {
        let id = request.header("webhook-id").expect("a message has an id");
        if let Some(before) = bodies.insert(id, &request.body) {
            assert!(before == request.body, "{id} came with other bytes the second time");
            continue;
        }
        let row = log.get(id).unwrap_or_else(|| panic!("{id} is not in the log"));
        let body: Value = serde_json::from_slice(&request.body).expect("a body is JSON");
        assert_eq!((&body["event"], &body["data"]["event_id"]), (&json!(row.event), &json!(id)));
        assert_eq!(body["hmac_signature"], row.signature, "{id}");
        assert!(request.body.windows(row.data.len()).any(|part| part == row.data), "{id} came with other data");
        if let Some(account) = row.account.as_deref() {
            let before = sequences.insert(account, row.sequence).unwrap_or(0);
            assert_eq!(row.sequence, before + 1, "{account}: number {} came after number {before}", row.sequence);
        }
    }
    let lost = log.keys().filter(|id| !bodies.contains_key(*id)).count();
    Arrived { messages: log.len(), duplicates: requests.len() - bodies.len(), lost }
}

/// The ids of the records in a receiver's messages of one event.
pub fn announced(requests: &[Request], event: &str, id_field: &str) -> BTreeSet<String> {
    let bodies = requests.iter().map(|request| serde_json::from_slice::<Value>(&request.body).expect("JSON"));
    let of_event = bodies.filter(|body| body["event"] == event);
    of_event.map(|body| text(&body["data"]["object"][id_field])).collect()
}
