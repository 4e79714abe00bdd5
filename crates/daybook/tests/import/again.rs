//! Imports that are killed and run again: the result is the same, whenever the kill happens.

use crate::common::api_client::until;
use crate::common::installation::Installation;
use crate::common::loans::progress;
use crate::gate::Gate;
use crate::support::{LOANS, PRODUCT, counts, import, make_portfolio, make_product, rows, start_import};
use serde_json::json;
use std::fs;

on_both!(
    an_import_goes_on_where_it_was_killed,
    an_import_that_was_killed_in_the_release_only_compares,
    files_that_were_changed_after_the_import_are_told,
);

/// Starts an import and kills it after a certain call has been sent and has taken effect.
fn kill_at(installation: &Installation, url: &str, (call, number): (&'static str, u32), come: impl FnOnce()) {
    let gate = Gate::before(url, call, number);
    // One caller and small calls, so that there are many calls between the first and the last.
    let slowly = ["--product", PRODUCT, "--rows-per-call", "20", "--connections", "1"];
    let mut child = start_import(installation, &gate.url, &slowly);
    gate.wait();
    come();
    child.kill().expect("it is running");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), None, "it was killed, and did not end by itself: {status}");
}

fn an_import_goes_on_where_it_was_killed(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    let payments = rows(installation, "p/payments.csv").len();
    // 3 calls for the customers, 3 for the accounts, more for the payments: a kill within each group.
    for (number, accounts, some_payments) in [(2, 0, false), (5, 1, false), (12, LOANS as usize, true)] {
        kill_at(installation, server.url(), ("POST /bulk", number), || ());
        let [there, _, paid] = counts(&client);
        assert!((accounts..=LOANS as usize).contains(&there), "{there} accounts after call {number}");
        assert_eq!(paid > 0, some_payments, "{paid} payments after call {number}");
        assert!(paid < payments, "{paid} payments after call {number}");
        assert_eq!(progress(&client, PRODUCT)["state"], "HOLDING");
    }
    let ended = import(installation, server.url(), &["--product", PRODUCT]);
    let told = ended.good();
    assert_eq!((&told["loaded_now"], &told["agreeing"]), (&json!(true), &json!(LOANS)));
    assert!(ended.stderr.contains("continuing an earlier import"), "{}", ended.stderr);
    assert_eq!(counts(&client), [LOANS as usize, LOANS as usize, payments]);
    assert_eq!(progress(&client, PRODUCT)["state"], "NORMAL");
    assert_eq!(installation.verify(), LOANS);
    server.stop();
}

fn an_import_that_was_killed_in_the_release_only_compares(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    // The first call turns migration mode on, the second one off.
    kill_at(installation, server.url(), ("PUT /products/auto-36/migration_mode", 2), || {
        until("the beginning of the release", || {
            let progress = progress(&client, PRODUCT);
            if progress["state"] == "HOLDING" { Err(progress.to_string()) } else { Ok(()) }
        });
    });
    let told = import(installation, server.url(), &["--product", PRODUCT]).good();
    assert_eq!((&told["loaded_now"], &told["agreeing"]), (&json!(false), &json!(LOANS)));
    assert_eq!(counts(&client), [LOANS as usize, LOANS as usize, rows(installation, "p/payments.csv").len()]);
    assert_eq!(installation.verify(), LOANS);
    server.stop();
}

fn files_that_were_changed_after_the_import_are_told(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    import(installation, server.url(), &["--product-file", "p/product.json"]).good();
    let before = counts(&client);
    for (file, column) in [("p/payments.csv", "original_amount_cents"), ("p/loans.csv", "initial_principal_cents")] {
        let path = installation.folder().join(file);
        let text = fs::read_to_string(&path).expect("the file is there");
        let at = text.lines().next().expect("a first line").split(',').position(|name| name == column);
        let at = at.expect("the column is there");
        // A cent more in line 5.
        let more = |(number, line): (usize, &str)| {
            let mut values: Vec<String> = line.split(',').map(str::to_owned).collect();
            if number == 4 {
                values[at] = (values[at].parse::<i64>().expect("cents") + 1).to_string();
            }
            values.join(",") + "\n"
        };
        fs::write(&path, text.lines().enumerate().map(more).collect::<String>()).expect("the file is written");
        let ended = import(installation, server.url(), &["--product", PRODUCT]);
        fs::write(&path, &text).expect("the file is written");
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let report = ended.json();
        let [broken] = report["shown"].as_array().expect("a list").as_slice() else { panic!("one row: {report}") };
        assert_eq!((&broken["file"], &broken["line"]), (&json!(file), &json!(5)));
        assert!(broken["rule"].as_str().expect("a rule").contains("already exists with different content"), "{broken}");
    }
    assert_eq!(counts(&client), before);
    server.stop();
}
