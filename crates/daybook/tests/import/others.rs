//! Other users work on the same product during an import: it neither processes events that must be held nor releases
//! theirs.

use crate::common::installation::Installation;
use crate::common::loans::{loan, progress, set_migration_mode, wait_for_release};
use crate::gate::Gate;
use crate::support::{LOANS, PRODUCT, counts, ended, import, make_portfolio, make_product, rows, start_import};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

on_both!(
    migration_mode_turned_off_by_somebody_else_does_no_harm,
    what_others_hold_is_not_released,
    an_import_that_is_told_to_stop_can_go_on,
);

/// One caller and small calls, so that there are many calls between the first and the last.
const SLOWLY: [&str; 6] = ["--product", PRODUCT, "--rows-per-call", "20", "--connections", "1"];

fn migration_mode_turned_off_by_somebody_else_does_no_harm(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    // 3 calls for the customers, 3 for the accounts: this is the third of the payments.
    let gate = Gate::halting(server.url(), "POST /bulk", 9);
    let child = start_import(installation, &gate.url, &SLOWLY);
    gate.wait();
    set_migration_mode(&client, PRODUCT, false);
    wait_for_release(&client, PRODUCT);
    let [_, _, paid] = counts(&client);
    gate.open();
    let ended = ended(child);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("was turned off during the import"), "{}", ended.stderr);
    assert_eq!(counts(&client), [LOANS as usize, LOANS as usize, paid], "nothing was processed that was to be held");
    // Loans without their payments are late by now; loading the remaining payments corrects that.
    let told = import(installation, server.url(), &["--product", PRODUCT]).good();
    assert_eq!((&told["loaded_now"], &told["agreeing"]), (&json!(true), &json!(LOANS)));
    assert_eq!(counts(&client)[2], rows(installation, "p/payments.csv").len());
    assert_eq!(installation.verify(), LOANS);
    server.stop();
}

fn what_others_hold_is_not_released(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    set_migration_mode(&client, PRODUCT, true);
    client.post("/accounts", &loan(PRODUCT, "theirs", "2025-01-15T00:00:00-05:00")).good();
    let ended = import(installation, server.url(), &["--product", PRODUCT]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("holds events of 1 account that p/loans.csv does not contain"), "{}", ended.stderr);
    assert_eq!(counts(&client), [1, 0, 0]);
    assert_eq!(progress(&client, PRODUCT)["state"], "HOLDING");
    let told = import(installation, server.url(), &["--product", PRODUCT, "--release-others"]).good();
    assert_eq!(told["agreeing"], json!(LOANS));
    assert_eq!(progress(&client, PRODUCT)["state"], "NORMAL");
    server.stop();
}

fn an_import_that_is_told_to_stop_can_go_on(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    let gate = Gate::halting(server.url(), "POST /bulk", 8);
    let mut child = start_import(installation, &gate.url, &SLOWLY);
    gate.wait();
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::HUP).expect("it is told to stop");
    // The command reports the interrupt; only then does the call go through.
    let heard = crate::support::first_line_with(&mut child, "Stopping at the next safe moment.");
    gate.open();
    let ended = ended(child);
    assert_eq!(ended.code, Some(1), "{heard}{ended:?}");
    assert!(ended.stderr.contains("stopped; nothing is lost: run the same command again to continue"), "{ended:?}");
    assert_eq!(progress(&client, PRODUCT)["state"], "HOLDING");
    let told = import(installation, server.url(), &["--product", PRODUCT]).good();
    assert_eq!(told["agreeing"], json!(LOANS));
    server.stop();
}
