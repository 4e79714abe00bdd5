//! Receivers that hang, next to healthy ones: the healthy ones receive everything, and the others cost almost nothing.
//!
//! ```text
//!          ┌─► seven healthy receivers: everything, once
//! server ──┼─► one that never responds, one that never ends its head: one attempt at a time, ended by the timeout
//!          └─► one that responds 200 and never ends its body: the status counts, the body is ignored
//! ```
//!
//! The server's memory and sockets are read from `/proc` during the test. The memory is compared with its value after
//! the same work for the healthy receivers alone, because a newly started server has yet to fill its caches.

use crate::common::api_client::{ApiClient, until};
use crate::webhooks_installation::{
    LATER, WebhooksInstallation, announcements, compare, log_of, prepare, subscribe, wait_until_sent,
};
use daybook_store::records::MessageRow;
use daybook_testkit::postgres;
use daybook_testkit::receiver::{Behaviour, Receiver};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const CUSTOMERS: u64 = 200;
const HEALTHY: usize = 7;
const TIMEOUT: &str = "2s";
const TIMEOUT_MS: i64 = 2_000;
/// A hanging receiver never responds: an attempt without a timeout would last forever, and a busy machine may notice a
/// timeout late.
const LONGEST_ATTEMPT_MS: i64 = 30_000;
/// The number of attempts at a hanging receiver that the test waits for.
const ATTEMPTS: usize = 3;
const MOST_GROWTH_KIB: u64 = 64 * 1024;
const MOST_SOCKETS: usize = 64;
/// One in flight, and one that is just being closed.
const MOST_SOCKETS_WHERE_IT_HANGS: usize = 2;

#[test]
fn receivers_that_hang_harm_nobody_on_sqlite() {
    receivers_that_hang_harm_nobody("SQLite", &WebhooksInstallation::sqlite());
}

#[test]
fn receivers_that_hang_harm_nobody_on_postgres() {
    let installation = WebhooksInstallation::postgres(&postgres::Server::shared().migrated_database());
    receivers_that_hang_harm_nobody("PostgreSQL", &installation);
}

/// The peak resource use of a process.
#[derive(Debug)]
struct Watch {
    pid: u32,
    memory_before_kib: u64,
    memory_kib: u64,
    /// By remote port.
    sockets: BTreeMap<u16, usize>,
}

impl Watch {
    fn start(pid: u32) -> Watch {
        let memory = resident_kib(pid);
        Watch { pid, memory_before_kib: memory, memory_kib: memory, sockets: BTreeMap::new() }
    }

    fn look(&mut self) {
        self.memory_kib = self.memory_kib.max(resident_kib(self.pid));
        for (port, count) in sockets_by_port(self.pid) {
            let most = self.sockets.entry(port).or_default();
            *most = count.max(*most);
        }
    }

    fn growth_kib(&self) -> u64 {
        self.memory_kib - self.memory_before_kib
    }

    fn sockets_to(&self, receiver: &Receiver) -> usize {
        self.sockets.get(&receiver.address().port()).copied().unwrap_or(0)
    }
}

fn resident_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the server is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process has memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
}

/// The number of open sockets of a process, by remote port.
fn sockets_by_port(pid: u32) -> BTreeMap<u16, usize> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("the server is there");
    // A socket may be closed between listing and reading.
    let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let own: BTreeSet<String> =
        links.filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())).collect();
    let table = fs::read_to_string(format!("/proc/{pid}/net/tcp")).expect("a table of connections");
    // The table is read in parts while it changes: a connection may be listed twice.
    let mut ports: BTreeMap<&str, &str> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (remote, inode) = (fields[2], fields[9]);
        if own.contains(inode) {
            ports.insert(inode, remote.split_once(':').expect("an address and a port").1);
        }
    }
    let mut by_port = BTreeMap::new();
    for port in ports.values() {
        *by_port.entry(u16::from_str_radix(port, 16).expect("a port")).or_default() += 1;
    }
    by_port
}

/// Creates messages and then sends all of them at once: a test event also sends the messages before it.
fn announce(client: &ApiClient, name: &str) {
    client.bulk(&announcements(name, CUSTOMERS));
    client.get("/organization/subscribe/test").good();
}

/// The attempts for a subscription so far.
fn attempts_for(client: &ApiClient, webhook_uuid: &str) -> Vec<Value> {
    client.all(&format!("/organization/deliveries?webhook_uuid={webhook_uuid}"))
}

/// Checks that every message arrived, and that a message arrived twice only if an attempt is recorded without a status
/// within the timeout: on a busy machine the receiver itself may be that late. A status that arrives in time counts,
/// regardless of the body.
fn assert_all_arrived(receiver: &Receiver, log: &[MessageRow], attempts: &[Value]) {
    let arrived = compare(&receiver.requests(), log.iter());
    let failed: Vec<&Value> = attempts.iter().filter(|attempt| attempt["outcome"] == "FAILED").collect();
    assert_eq!((arrived.messages, arrived.lost), (log.len(), 0), "{}: {arrived:?}", receiver.url());
    assert!(arrived.duplicates <= failed.len(), "{}: {arrived:?}, failed attempts {failed:?}", receiver.url());
    for attempt in failed {
        assert!(attempt["latency_ms"].as_i64().is_some_and(|ms| ms >= TIMEOUT_MS), "{attempt}");
        assert_eq!(attempt["response_status"], Value::Null, "{attempt}");
    }
}

fn receivers_that_hang_harm_nobody(database: &str, installation: &WebhooksInstallation) {
    let healthy: Vec<Receiver> = (0..HEALTHY).map(|_| Receiver::start(Behaviour::status(200))).collect();
    let hanging = [Receiver::start(Behaviour::Silent), Receiver::start(Behaviour::SlowHead)];
    let endless = Receiver::start(Behaviour::EndlessBody(200));
    let urls: Vec<String> = healthy.iter().map(Receiver::url).collect();
    let never_paused = ["--webhook-timeout", TIMEOUT, "--webhook-pause-after", "1000"];
    let server = installation.serve(&[&LATER[..], &never_paused].concat());
    let client = ApiClient::to(server.url());
    let at_start_kib = resident_kib(server.pid());
    prepare(&client);
    let healthy_uuids: Vec<String> = urls.iter().map(|url| subscribe(&client, url, None)).collect();
    announce(&client, "before");
    wait_until_sent(&client, &urls, || {});

    let mut watch = Watch::start(server.pid());
    let hanging_uuids = hanging.each_ref().map(|receiver| subscribe(&client, &receiver.url(), None));
    let endless_uuid = subscribe(&client, &endless.url(), None);
    announce(&client, "since");
    wait_until_sent(&client, &urls, || watch.look());
    let attempts = hanging_uuids.map(|uuid| {
        until("some attempts where it hangs", || {
            watch.look();
            let attempts = attempts_for(&client, &uuid);
            if attempts.len() >= ATTEMPTS { Ok(attempts) } else { Err(format!("{} attempts", attempts.len())) }
        })
    });
    wait_until_sent(&client, &[endless.url()], || watch.look());
    let of_endless = attempts_for(&client, &endless_uuid);
    let of_healthy: Vec<Vec<Value>> = healthy_uuids.iter().map(|uuid| attempts_for(&client, uuid)).collect();
    server.stop();

    for attempt in attempts.iter().flatten().chain(&of_endless) {
        assert!(attempt["latency_ms"].as_i64().is_some_and(|ms| ms <= LONGEST_ATTEMPT_MS), "{attempt}");
    }
    for attempt in attempts.iter().flatten() {
        assert_eq!((&attempt["outcome"], &attempt["response_status"]), (&"FAILED".into(), &Value::Null), "{attempt}");
    }
    let log = log_of(&installation.database);
    for (receiver, attempts) in healthy.iter().zip(&of_healthy) {
        assert_all_arrived(receiver, &log, attempts);
    }
    // Both rounds created the same number of messages.
    assert_all_arrived(&endless, &log[log.len() / 2..], &of_endless);
    let most = |receivers: &[Receiver]| receivers.iter().map(|one| watch.sockets_to(one)).max().unwrap_or(0);
    println!(
        "receivers that hang on {database}: {} messages to each of {HEALTHY} healthy ones; memory {at_start_kib} KiB at the \
         start, {} KiB before the others came, {} KiB more at most since; sockets to one: healthy {}, hanging {}, endless {}",
        log.len(),
        watch.memory_before_kib,
        watch.growth_kib(),
        most(&healthy),
        most(&hanging),
        watch.sockets_to(&endless),
    );
    assert!(watch.growth_kib() < MOST_GROWTH_KIB, "{watch:?}");
    assert!((1..=MOST_SOCKETS).contains(&most(&healthy)), "{watch:?}");
    assert!((1..=MOST_SOCKETS_WHERE_IT_HANGS).contains(&most(&hanging)), "{watch:?}");
    assert!((1..=MOST_SOCKETS).contains(&watch.sockets_to(&endless)), "{watch:?}");
}
