//! A server that sends at once, also to loopback.

use crate::common::api_client::{ApiClient, until};
use crate::common::installation::SECRET;
use daybook_testkit::postgres;
use daybook_testkit::server::{Daybook, Server};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder, a database, and a running server.
#[derive(Debug)]
pub struct WebhookServer {
    pub client: ApiClient,
    server: Server,
    /// Dropped last.
    _folder: TempDir,
}

impl WebhookServer {
    /// On a SQLite file.
    pub fn sqlite() -> WebhookServer {
        WebhookServer::with("sqlite:daybook.db")
    }

    /// On a database of the PostgreSQL server that tests share.
    pub fn postgres() -> WebhookServer {
        WebhookServer::with(&postgres::Server::shared().migrated_database())
    }

    fn with(database: &str) -> WebhookServer {
        let folder = tempfile::tempdir().expect("a folder");
        let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path())
            .with("DAYBOOK_BOOTSTRAP_CLIENT_ID", "tests")
            .with("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", SECRET)
            .with("DAYBOOK_LOG_LEVEL", "warn");
        let flags = ["--dev", "--webhook-batch-interval", "0s", "--webhook-retry-first", "1s", "--database", database];
        let server = daybook.serve(&flags);
        WebhookServer { client: ApiClient::to(server.url()), server, _folder: folder }
    }

    /// The signing key.
    pub fn key(&self) -> String {
        text(&self.client.get("/organization/hmac_key").good()["hmac_secret_key"])
    }

    /// Replaces the signing key.
    pub fn rotate_key(&self) -> String {
        text(&self.client.post("/organization/hmac_key/rotate", &json!({})).good()["hmac_secret_key"])
    }

    /// Subscribes a URL to all events.
    pub fn subscribe(&self, url: &str) {
        let reply = self.client.put("/organization/subscribe", &json!({ "webhook_url": url }));
        assert_eq!(reply.status, 201, "{}", reply.text);
    }

    /// Sends a test event to every URL. Returns its id.
    pub fn send_test(&self) -> String {
        text(&self.client.get("/organization/subscribe/test").good()["event_id"])
    }

    /// Waits until every URL has received everything; there must be no dead letters or paused URLs.
    pub fn wait_until_sent(&self) {
        until("that everything is sent", || {
            let page = self.client.get("/organization/subscriptions").good();
            let all = page["results"].as_array().expect("a list").clone();
            assert!(all.iter().all(|one| one["status"] == "ACTIVE" && one["dead_letters"] == 0), "{page}");
            if all.iter().all(|one| one["pending"] == 0) { Ok(()) } else { Err(page.to_string()) }
        });
    }

    /// The ids of the events that a URL accepted.
    pub fn taken_by(&self, url: &str) -> Vec<String> {
        let all = self.client.all("/organization/deliveries");
        let taken = all.iter().filter(|one| one["webhook_url"] == url && one["outcome"] == "DELIVERED");
        taken.map(|one| text(&one["event_id"])).collect()
    }

    /// Stops the server, which must not have logged any problems.
    pub fn close(self) {
        let stderr = self.server.stop();
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is a text")).to_owned()
}
