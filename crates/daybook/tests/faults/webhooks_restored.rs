//! A copy of the database contains all unsent messages. A server on the copy is muted and sends nothing, also after
//! restarts and regardless of its calls; once unmuted, it sends everything, once.
//!
//! The copy is made while the server runs, with the usual tools: `daybook backup` for SQLite, `pg_dump` and
//! `pg_restore` for PostgreSQL.

use crate::common::api_client::ApiClient;
use crate::webhooks_installation::{
    AT_ONCE, Arrived, LATER, WebhooksInstallation, announcements, compare, log_of, prepare, subscribe, text,
    wait_until_sent,
};
use daybook_testkit::postgres;
use daybook_testkit::receiver::{Behaviour, Receiver};
use serde_json::Value;

const CUSTOMERS: u64 = 400;

#[test]
fn a_restored_backup_sends_what_was_not_sent_when_it_is_unmuted() {
    let installation = WebhooksInstallation::sqlite();
    a_copy_sends_what_was_not_sent("SQLite", &installation, || {
        let copy = installation.daybook.folder().join("copy.db");
        let to = copy.to_str().expect("a path is text");
        installation.daybook.stdout_of(&["backup", "--database", &installation.database, "--to", to]);
        format!("sqlite:{to}")
    });
}

#[test]
fn a_restored_dump_sends_what_was_not_sent_when_it_is_unmuted() {
    let server = postgres::Server::shared();
    let installation = WebhooksInstallation::postgres(&server.database());
    a_copy_sends_what_was_not_sent("PostgreSQL", &installation, || server.copy(&installation.database));
}

fn a_copy_sends_what_was_not_sent(database: &str, installation: &WebhooksInstallation, copy: impl FnOnce() -> String) {
    let (all, some) = (Receiver::start(Behaviour::status(200)), Receiver::start(Behaviour::status(200)));
    let urls = [all.url(), some.url()];
    let server = installation.serve(&LATER);
    let client = ApiClient::to(server.url());
    prepare(&client);
    subscribe(&client, &urls[0], None);
    subscribe(&client, &urls[1], Some(&["account_create"]));
    client.bulk(&announcements("kept", CUSTOMERS));
    let copy = copy();
    server.kill();
    let log = log_of(&copy);
    let [wanted_by_all, wanted_by_some] = [log.len(), CUSTOMERS as usize / 4];
    assert!(wanted_by_all > CUSTOMERS as usize, "only {wanted_by_all} messages");
    assert_eq!((all.counts().requests, some.counts().requests), (0, 0), "nothing was sent before");

    let unmute = ["unmute", "--json", "--database", &copy];
    for start in ["first", "second"] {
        let server = installation.serve_on(&copy, &AT_ONCE);
        client.lead_to(server.url());
        assert_eq!(client.get("/readyz").status, 200);
        assert!(client.get("/metrics").text.contains("\ndaybook_muted 1\n"));
        // What would be sent at once: a test event, and in the second round all pending messages again.
        client.get("/organization/subscribe/test").good();
        let would = installation.daybook.json_of(&[&unmute[..], &["--dry-run"]].concat());
        let waiting = &would["waiting"];
        assert_eq!(waiting["urls"], 2, "{would}");
        assert!(waiting["messages"].as_u64().is_some_and(|count| count > (wanted_by_all + wanted_by_some) as u64));
        let said = server.stop();
        assert!(said.contains("muted: no messages are sent and no timers run until `daybook unmute`"), "{said}");
        assert_eq!((all.counts().requests, some.counts().requests), (0, 0), "nothing is sent after the {start} start");
    }
    let (wanted_by_all, wanted_by_some) = (wanted_by_all + 2, wanted_by_some + 2);

    let server = installation.serve_on(&copy, &AT_ONCE);
    client.lead_to(server.url());
    let waited = installation.daybook.json_of(&unmute);
    assert_eq!(waited["waiting"]["messages"], wanted_by_all + wanted_by_some, "{waited}");
    wait_until_sent(&client, &urls, || {});
    assert!(client.get("/metrics").text.contains("\ndaybook_muted 0\n"));
    server.stop();
    // After a restart only new messages arrive: a test event, sent to both.
    let server = installation.serve_on(&copy, &AT_ONCE);
    client.lead_to(server.url());
    let test: Value = client.get("/organization/subscribe/test").good();
    wait_until_sent(&client, &urls, || {});
    server.stop();

    let log = log_of(&copy);
    assert_eq!((log.len(), &log[wanted_by_all].event_id), (wanted_by_all + 1, &text(&test["event_id"])));
    let of_some = log.iter().filter(|row| row.event == "account_create" || row.event == "test_event");
    let once = |messages| Arrived { messages, duplicates: 0, lost: 0 };
    assert_eq!(compare(&all.requests(), log.iter()), once(wanted_by_all + 1));
    assert_eq!(compare(&some.requests(), of_some), once(wanted_by_some + 1));
    println!("restored on {database}: {wanted_by_all} and {wanted_by_some} messages, each once, then a test event");
}
