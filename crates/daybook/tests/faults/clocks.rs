//! Real servers whose clocks are wrong, by libfaketime (Debian package `faketime`).
//!
//! ```text
//! a file for each node: the offset of its clock ── read at every clock reading ─► node
//!
//! two nodes, one right and one off ─► payments across a due moment ─► no fee before its moment, verify: no difference
//! ```
//!
//! Without libfaketime, these tests print a message and are skipped; `./check` installs it. Those that wait in real
//! time run separately: `cargo test -p daybook --test faults clocks -- --ignored --nocapture`. The service's tests
//! `clocks` and `clock_guard` cover the same skews with simulated clocks.

use crate::common::api_client::{ApiClient, until};
use crate::common::dates::{at, days_after, now_in, zone_where_it_is_noon};
use crate::common::installation::Installation;
use crate::common::loans::{items, loan, make_product, payments_of};
use daybook_testkit::server::Server;
use jiff::{SignedDuration, Zoned};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The approximate time between loading a loan and its due time.
const LEAD: SignedDuration = SignedDuration::from_secs(5);

fn libfaketime() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?.flatten();
    let found = folders.map(|folder| folder.path().join("faketime/libfaketime.so.1")).find(|library| library.exists());
    if found.is_none() {
        eprintln!("skipped: libfaketime is not installed (Debian: apt-get install faketime)");
    }
    found
}

/// A server whose clock is shifted by the offset in a file.
#[derive(Debug)]
struct Node {
    server: Server,
    client: ApiClient,
    file: PathBuf,
}

/// Sets a clock: `+1h`, `-20s`, `+0`.
fn set_clock(file: &Path, offset: &str) {
    let new = file.with_extension("new");
    fs::write(&new, offset).expect("the file can be written");
    fs::rename(&new, file).expect("the file can be renamed");
}

fn try_start(
    installation: &Installation,
    library: &Path,
    name: &str,
    offset: &str,
    flags: &[&str],
) -> Result<Node, String> {
    let file = installation.folder().join(format!("{name}.clock"));
    set_clock(&file, offset);
    let variables = [
        ("LD_PRELOAD", library.to_str().expect("a path")),
        ("FAKETIME_TIMESTAMP_FILE", file.to_str().expect("a path")),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let server = installation.try_serve_in(&variables, flags)?;
    let client = ApiClient::to(server.url());
    Ok(Node { server, client, file })
}

fn start(installation: &Installation, library: &Path, name: &str, offset: &str) -> Node {
    try_start(installation, library, name, offset, &[])
        .unwrap_or_else(|said| panic!("the server did not start: {said}"))
}

/// Opens a loan that falls due in some seconds of real time. Returns the due time.
fn loan_falling_due(client: &ApiClient, name: &str) -> Zoned {
    let zone = zone_where_it_is_noon();
    // The time of day is in whole seconds.
    let due = now_in(&zone).saturating_add(LEAD).with().subsec_nanosecond(0).build().expect("it is a time");
    let billing = json!({
        "cycle_interval": "30 days",
        "close_of_business_time": due.strftime("%H:%M:%S").to_string(),
        "product_time_zone": zone,
    });
    make_product(client, name, billing, json!({}));
    client.post("/accounts", &loan(name, name, &at(days_after(due.date(), -30), 9, &zone))).good();
    due
}

fn late_fees(client: &ApiClient, account: &str) -> usize {
    items(client, account, "LATE_FEE").len()
}

/// Makes payments through all nodes until some time after the due time. There must be no fee before the due time.
fn pay_across(nodes: &[&Node], account: &str, due: &Zoned) -> (u32, u32) {
    let (mut paid, mut refused) = (0, 0);
    let end = due.saturating_add(SignedDuration::from_secs(4));
    let zone = due.time_zone().iana_name().expect("it has a name").to_owned();
    while now_in(&zone) < end {
        for node in nodes {
            let id = format!("p{}", paid + refused);
            let body = json!({ "line_item_id": id, "original_amount_cents": 10, "line_item_status": "VALID" });
            match node.client.post(&payments_of(account), &body).status {
                200 => paid += 1,
                503 => refused += 1,
                other => panic!("a payment was answered with {other}"),
            }
        }
        let fees = late_fees(&nodes[0].client, account);
        let is_due = now_in(&zone) >= *due;
        assert!(fees == 0 || is_due, "{account}: a fee came before its moment");
        thread::sleep(Duration::from_millis(20));
    }
    (paid, refused)
}

#[test]
#[ignore = "needs a machine that does little else: loans fall due some seconds after they are loaded"]
fn two_nodes_with_different_clocks() {
    let Some(library) = libfaketime() else { return };
    for (number, skew) in ["+0.05", "-0.05", "+0.2", "-0.2", "+2", "-2", "+3600", "-3600"].into_iter().enumerate() {
        let installation = Installation::postgres();
        let right = start(&installation, &library, "right", "+0");
        let off = start(&installation, &library, "off", skew);
        let account = format!("loan-{number}");
        let due = loan_falling_due(&right.client, &account);
        let (paid, refused) = pay_across(&[&right, &off], &account, &due);
        until("the late fee", || if late_fees(&right.client, &account) == 1 { Ok(()) } else { Err("none".to_owned()) });
        let is_far = skew.contains("3600");
        eprintln!("a node {skew} s off: {paid} payments, {refused} refused");
        assert!(paid > 0);
        assert_eq!(refused > 0, is_far, "{skew}: a node that is far off takes no payments, and others do");
        assert_eq!(off.client.get("/readyz").status, if is_far { 503 } else { 200 });
        drop((right, off));
        assert_eq!(installation.verify(), 1);
    }
}

#[test]
#[ignore = "needs a machine that does little else: loans fall due some seconds after they are loaded"]
fn a_clock_that_is_set_while_the_server_runs_on_sqlite() {
    a_clock_that_is_set_while_the_server_runs(&Installation::sqlite());
}

#[test]
#[ignore = "needs a machine that does little else: loans fall due some seconds after they are loaded"]
fn a_clock_that_is_set_while_the_server_runs_on_postgres() {
    a_clock_that_is_set_while_the_server_runs(&Installation::postgres());
}

fn a_clock_that_is_set_while_the_server_runs(installation: &Installation) {
    let Some(library) = libfaketime() else { return };
    let node = start(installation, &library, "node", "+0");
    let ready = |wanted: u16| {
        until("readiness", || match node.client.get("/readyz") {
            reply if reply.status == wanted => Ok(reply.text),
            reply => Err(reply.text),
        })
    };
    for (number, step) in ["-20", "+3600", "-3600"].into_iter().enumerate() {
        let account = format!("loan-{number}");
        let due = loan_falling_due(&node.client, &account);
        set_clock(&node.file, step);
        let said = ready(503);
        assert!(said.contains("clock"), "{said}");
        // On a busy machine, the loan may have fallen due before the clock was set.
        let fees = late_fees(&node.client, &account);
        let (paid, refused) = pay_across(&[&node], &account, &due);
        assert_eq!(
            (paid, late_fees(&node.client, &account)),
            (0, fees),
            "nothing is processed by a clock that was set {step}"
        );
        assert!(refused > 0);
        set_clock(&node.file, "+0");
        ready(200);
        until("the late fee", || if late_fees(&node.client, &account) == 1 { Ok(()) } else { Err("none".to_owned()) });
        let body = json!({ "line_item_id": "after", "original_amount_cents": 10, "line_item_status": "VALID" });
        node.client.post(&payments_of(&account), &body).good();
    }
    drop(node);
    assert_eq!(installation.verify(), 3);
}

fn a_start_in_the_future_is_refused(installation: &Installation) {
    let Some(library) = libfaketime() else { return };
    let node = start(installation, &library, "node", "+0");
    let due = loan_falling_due(&node.client, "loan");
    node.server.stop();
    if installation.is_sqlite() {
        let said = try_start(installation, &library, "node", "+400d", &[]).expect_err("400 days ahead are refused");
        assert!(said.contains("daybook serve --confirm-clock"), "{said}");
        let node = try_start(installation, &library, "node", "+400d", &["--confirm-clock"]).expect("it is confirmed");
        until("late fees", || if late_fees(&node.client, "loan") == 0 { Err("none".to_owned()) } else { Ok(()) });
    } else {
        // The database's clock is right: the node does nothing, even if its clock is confirmed.
        let node =
            try_start(installation, &library, "node", "+400d", &["--confirm-clock"]).expect("it starts, and waits");
        assert_eq!(node.client.get("/readyz").status, 503);
        let fees = late_fees(&node.client, "loan");
        let (paid, _) = pay_across(&[&node], "loan", &due);
        assert_eq!((paid, late_fees(&node.client, "loan")), (0, fees));
    }
    installation.verify();
}

#[test]
fn a_start_in_the_future_is_refused_on_sqlite() {
    a_start_in_the_future_is_refused(&Installation::sqlite());
}

#[test]
#[ignore = "needs a machine that does little else: loans fall due some seconds after they are loaded"]
fn a_start_in_the_future_does_nothing_on_postgres() {
    a_start_in_the_future_is_refused(&Installation::postgres());
}
