//! Four nodes on one PostgreSQL database: due work is done once, by any node, even if nodes are killed while they do
//! it.
//!
//! ```text
//! product `past`: loans of three months ago, held ── released ─► three due moments each ─┐
//! product `live`: loans that fall due in some seconds ── they fall due ────────────────► ┤ four nodes race;
//!                                                                                        │ every few seconds one
//! every account: one late fee for each elapsed instalment, none twice, none missing ◄────┘ is killed and started again
//! ```
//!
//! `DAYBOOK_NODE_ACCOUNTS` is the number of accounts, half in each product; the default is 600. `DAYBOOK_NODE_KILLS`
//! is the least number of kills; the default is 3. A campaign:
//! `DAYBOOK_NODE_ACCOUNTS=50000 DAYBOOK_NODE_KILLS=50 cargo test -p daybook --test faults nodes -- --nocapture`.
//!
//! The work leased by a killed node becomes free after 30 seconds, which is most of the time of this test.

use crate::common::api_client::{ApiClient, until};
use crate::common::chance::{Chance, seed, setting};
use crate::common::dates::{ZONE, at, days_after, moment, now_in, opened_months_ago, zone_where_it_is_noon};
use crate::common::installation::Installation;
use crate::common::loans::{items, line, loan, make_product, progress, set_migration_mode};
use daybook_clock::Stopwatch;
use daybook_testkit::postgres;
use daybook_testkit::server::Server;
use jiff::{SignedDuration, Zoned};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const NODES: usize = 4;
const ELAPSED: usize = 3;
/// The approximate time between loading the live loans and their due time.
const LEAD: Duration = Duration::from_secs(5);
const BETWEEN_KILLS: Duration = Duration::from_millis(2_500);

fn name(product: &str, number: u64) -> String {
    format!("{product}-{number}")
}

fn load(client: &ApiClient, product: &str, accounts: u64, effective_at: &str) {
    let lines = (0..accounts).map(|number| line("/accounts", &loan(product, &name(product, number), effective_at)));
    client.bulk(&lines.collect::<Vec<_>>());
}

/// Loads loans whose first instalment falls due in some seconds, at any date and time of day. Returns the due time.
fn load_falling_due(client: &ApiClient, accounts: u64, lead: Duration) -> Zoned {
    let zone = zone_where_it_is_noon();
    let due = now_in(&zone).saturating_add(SignedDuration::try_from(lead).expect("some seconds"));
    let billing = json!({
        "cycle_interval": "30 days",
        "close_of_business_time": due.strftime("%H:%M:%S").to_string(),
        "product_time_zone": zone,
    });
    make_product(client, "live", billing, json!({}));
    load(client, "live", accounts, &at(days_after(due.date(), -30), 9, &zone));
    due
}

/// Kills a node at intervals and starts it again.
struct Killing {
    is_over: Arc<AtomicBool>,
    kills: Arc<AtomicU64>,
    thread: JoinHandle<Vec<Server>>,
}

impl Killing {
    fn start(
        installation: Arc<Installation>,
        mut nodes: Vec<Server>,
        clients: Vec<ApiClient>,
        mut chance: Chance,
    ) -> Killing {
        let (is_over, kills) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (over, count) = (is_over.clone(), kills.clone());
        let thread = thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                let chosen = chance.below(NODES as u64) as usize;
                nodes.remove(chosen).kill();
                let node = installation.serve();
                clients[chosen].lead_to(node.url());
                nodes.insert(chosen, node);
                count.fetch_add(1, Ordering::SeqCst);
                thread::sleep(BETWEEN_KILLS + Duration::from_millis(chance.below(1_000)));
            }
            nodes
        });
        Killing { is_over, kills, thread }
    }

    fn end(self) -> (Vec<Server>, u64) {
        self.is_over.store(true, Ordering::SeqCst);
        let nodes = self.thread.join().expect("nodes can be killed and started");
        (nodes, self.kills.load(Ordering::SeqCst))
    }
}

/// Calls one node after the other until one responds: any may be dead at the moment.
fn ask(clients: &[ApiClient], path: &str) -> Result<Value, String> {
    let mut instead = String::new();
    for client in clients {
        match client.try_call("GET", path, "application/json", String::new()) {
            Ok(reply) if reply.status == 200 => return Ok(reply.json()),
            Ok(reply) => instead = reply.text,
            Err(error) => instead = error.to_string(),
        }
    }
    Err(instead)
}

/// Waits until product `past` is released and every live loan has its late fee.
fn wait_until_all_is_done(clients: &[ApiClient], accounts: u64) {
    until("the end of the release", || {
        let progress = ask(clients, "/products/past/migration_mode")?;
        if progress["finished_at"].is_string() { Ok(()) } else { Err(progress.to_string()) }
    });
    for number in 0..accounts {
        until("a late fee", || {
            let path = format!("/accounts/{}/line_items?line_item_type=LATE_FEE", name("live", number));
            let page = ask(clients, &path)?;
            if page["results"] == json!([]) { Err(format!("none on account {number}")) } else { Ok(()) }
        });
    }
}

fn assert_late_fees(client: &ApiClient, product: &str, accounts: u64, expected: usize) {
    for number in 0..accounts {
        let account = name(product, number);
        let all = client.all(&format!("/accounts/{account}/line_items?line_item_type=LATE_FEE"));
        assert_eq!((all.len(), items(client, &account, "LATE_FEE").len()), (expected, expected), "{account}: {all:?}");
    }
}

#[test]
fn four_nodes_charge_each_late_fee_once() {
    let stopwatch = Stopwatch::start();
    let accounts = setting("DAYBOOK_NODE_ACCOUNTS", 600) / 2;
    let least_kills = setting("DAYBOOK_NODE_KILLS", 3);
    // A separate server: four nodes need more connections than the shared test server may have left.
    let database = postgres::Server::start();
    let installation = Arc::new(Installation::with(database.database()));
    let nodes: Vec<Server> = (0..NODES).map(|_| installation.serve()).collect();
    let clients: Vec<ApiClient> = nodes.iter().map(|node| ApiClient::to(node.url())).collect();

    make_product(&clients[0], "past", json!({}), json!({}));
    set_migration_mode(&clients[1], "past", true);
    let loading = Stopwatch::start();
    load(&clients[2], "past", accounts, &at(opened_months_ago(ELAPSED as i64), 9, ZONE));
    // Loading the others takes about as long; loans that are loaded too late are charged their fee at once.
    let due = load_falling_due(&clients[3], accounts, LEAD + loading.elapsed() * 3 / 2);
    let early = due.timestamp() > now_in("UTC").timestamp();
    assert_eq!(progress(&clients[0], "past")["held_events"], accounts, "another node sees what is held");

    let chance = Chance::of_seed(seed());
    let killing = Killing::start(installation.clone(), nodes, clients.clone(), chance);
    until("the order to release", || {
        let order = json!({ "migration_mode": false }).to_string();
        match clients[3].try_call("PUT", "/products/past/migration_mode", "application/json", order) {
            Ok(reply) if reply.status == 200 => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    wait_until_all_is_done(&clients, accounts);
    until("enough kills", || {
        let kills = killing.kills.load(Ordering::SeqCst);
        if kills >= least_kills { Ok(()) } else { Err(format!("{kills} kills")) }
    });
    let (nodes, kills) = killing.end();

    assert_eq!(progress(&clients[1], "past")["failed_accounts"], json!([]));
    assert_late_fees(&clients[0], "past", accounts, ELAPSED);
    assert_late_fees(&clients[1], "live", accounts, 1);
    assert_eq!(installation.verify(), 2 * accounts);
    nodes.into_iter().for_each(|node| drop(node.stop()));
    println!(
        "four nodes: {} accounts, {} late fees, 0 twice, 0 missing, {kills} kills, 0 differences, seed {}, {:.0} s; \
         live loans fell due at {}, {} all were loaded",
        2 * accounts,
        accounts * (ELAPSED as u64 + 1),
        seed(),
        stopwatch.elapsed().as_secs_f64(),
        moment(&due),
        if early { "after" } else { "before" },
    );
}
