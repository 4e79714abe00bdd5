//! Imports that run to completion.

use crate::common::api_client::ApiClient;
use crate::common::installation::Installation;
use crate::common::loans::progress;
use crate::support::{
    LOANS, PRODUCT, counts, first_line_with, import, lines, make_portfolio, make_product, rows, run, start_import,
    write_portfolio,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

on_both!(
    a_portfolio_agrees_to_the_cent_and_a_second_run_only_compares,
    what_is_wrong_is_found_and_nothing_else,
    a_dry_run_leaves_the_server_untouched,
    payments_without_ids_are_the_same_in_every_run,
    webhooks_of_the_past_are_withheld_unless_asked_for,
    a_crashed_import_keeps_its_choice_about_webhooks,
);

fn payments_in_file(installation: &Installation) -> usize {
    rows(installation, "p/payments.csv").len()
}

fn a_portfolio_agrees_to_the_cent_and_a_second_run_only_compares(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    let told = import(installation, server.url(), &["--product-file", "p/product.json"]).good();
    let payments = payments_in_file(installation);
    let figures = ["loans", "payments", "compared", "agreeing", "differing"].map(|name| told[name].clone());
    assert_eq!(figures, [json!(LOANS), json!(payments), json!(LOANS), json!(LOANS), json!(0)]);
    assert_eq!(told["loaded_now"], true);
    assert_eq!(rows(installation, "differences.csv"), Vec::<Vec<String>>::new());
    assert_eq!(counts(&client), [LOANS as usize, LOANS as usize, payments]);
    the_borrower_is_as_the_file_says(installation, &client);

    let before = progress(&client, PRODUCT);
    assert_eq!(before["state"], "NORMAL");
    let told = import(installation, server.url(), &["--product", PRODUCT]).good();
    assert_eq!((&told["loaded_now"], &told["agreeing"]), (&json!(false), &json!(LOANS)));
    assert_eq!(progress(&client, PRODUCT), before, "migration mode was not turned on again");
    assert_eq!(installation.verify(), LOANS);
    server.stop();
}

fn the_borrower_is_as_the_file_says(installation: &Installation, client: &ApiClient) {
    for row in rows(installation, "p/loans.csv").iter().step_by(20) {
        let account = client.get(&format!("/accounts/{}", row[0])).good();
        assert_eq!(account["external_fields"], json!([{ "key": "branch", "value": row[7] }]));
        let customer_id = account["customers"][0]["customer_id"].as_str().expect("a customer");
        let customer = client.get(&format!("/customers/{customer_id}")).good();
        let said = ["name_first", "name_last", "email"].map(|field| customer[field].as_str().expect("text"));
        assert_eq!(said, [&*row[1], &*row[2], &*row[3]]);
    }
}

fn what_is_wrong_is_found_and_nothing_else(installation: &Installation) {
    let (server, _) = installation.open();
    make_portfolio(installation, &["--wrong", "7"]);
    let ended = import(installation, server.url(), &["--product-file", "p/product.json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = ended.json();
    assert_eq!((&told["agreeing"], &told["differing"]), (&json!(LOANS - 7), &json!(7)));
    assert!(
        ended
            .stderr
            .contains("7 of 60 loans differ from the expected values in p/loans.csv: differences.csv explains why")
    );
    let found = rows(installation, "differences.csv");
    let accounts: BTreeSet<String> = found.iter().map(|row| row[0].clone()).collect();
    assert_eq!((accounts, found.len()), (lines(installation, "p/wrong.txt"), 7));
    for row in found {
        let number = |installation: usize| row[installation].parse::<i64>().expect("a number of cents");
        assert_eq!((&*row[1], number(3) - number(2)), ("expected_principal_cents", number(4)));
        // The explanation lists every payment with the balance after it.
        let days: BTreeSet<&str> = row[5].split(" | ").map(|event| &event[..10]).collect();
        let paid = rows(installation, "p/payments.csv").into_iter().filter(|payment| payment[0] == row[0]);
        paid.for_each(|payment| assert!(days.contains(&*payment[3]), "{payment:?}: {row:?}"));
        assert!(days.iter().all(|day| *day < "2026-01-31"), "nothing later than the date compared: {row:?}");
        let total: i64 = rows(installation, "p/loans.csv").iter().find(|loan| loan[0] == row[0]).expect("its loan")[10]
            .parse()
            .expect("a number of cents");
        let end = format!("; balance {}.{:02}", total / 100, total % 100);
        assert!(row[5].ends_with(&end), "{end}: {row:?}");
    }
    server.stop();
}

fn a_dry_run_leaves_the_server_untouched(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &["--wrong", "3"]);
    make_product(installation, &client);
    let before = progress(&client, PRODUCT);
    let ended = import(installation, server.url(), &["--product", PRODUCT, "--dry-run"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = ended.json();
    assert_eq!((&told["dry_run"], &told["agreeing"], &told["differing"]), (&json!(true), &json!(LOANS - 3), &json!(3)));
    let accounts: BTreeSet<String> = rows(installation, "differences.csv").iter().map(|row| row[0].clone()).collect();
    assert_eq!(accounts, lines(installation, "p/wrong.txt"));
    assert_eq!(counts(&client), [0, 0, 0]);
    assert_eq!(progress(&client, PRODUCT), before);
    server.stop();
    // With the product in a file, no server is needed.
    let files = ["--product-file", "p/product.json", "p/loans.csv", "p/payments.csv"];
    let args: Vec<&str> = ["import", "--dry-run", "--json"].into_iter().chain(files).collect();
    assert_eq!(run(installation, &args).json(), told);
}

fn payments_without_ids_are_the_same_in_every_run(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    client.post("/customers", &json!({ "customer_id": "ada", "name_last": "Lovelace" })).good();
    // Expected as of now: the total paid does not depend on today's date.
    let loans = "account_id,effective_at,initial_principal_cents,customer_id,expected_total_paid_to_date_cents\n\
                 hand-1,2025-01-15T09:00:00-05:00,120000,ada,3000\n\
                 hand-2,2025-01-15,120000,,\n";
    let payments = "effective_at,original_amount_cents,account_id\n\
                    2025-02-15,1000,hand-1\n\
                    2025-02-15,1000,hand-1\n\
                    2025-03-15T12:00:00Z,1000,hand-1\n";
    write_portfolio(installation, loans, payments);
    for is_first in [true, false] {
        let told = import(installation, server.url(), &["--product", PRODUCT, "--allow-no-customer"]).good();
        let figures = ["loaded_now", "loans", "compared", "agreeing"].map(|name| told[name].clone());
        assert_eq!(figures, [json!(is_first), json!(2), json!(1), json!(1)]);
        let ids = client.all("/accounts/hand-1/line_items?line_item_type=PAYMENT");
        let ids: BTreeSet<&str> = ids.iter().map(|item| item["line_item_id"].as_str().expect("an id")).collect();
        let made = ["-2025-02-15T05:00:00Z-1000", "-2025-02-15T05:00:00Z-1000-2", "-2025-03-15T12:00:00Z-1000"];
        assert_eq!(ids, made.map(|end| format!("payment{end}")).iter().map(String::as_str).collect());
        // A date means midnight in the product's zone.
        let two = client.get("/accounts/hand-2").good();
        assert_eq!((&two["effective_at"], &two["customers"]), (&json!("2025-01-15T00:00:00-05:00"), &json!([])));
        let one: Value = client.get("/accounts/hand-1").good();
        assert_eq!(one["customers"][0]["customer_id"], "ada");
    }
    server.stop();
}

/// The number of messages about the loans, sent or not.
fn announced(client: &ApiClient) -> u64 {
    let accounts = client.all("/accounts");
    let events = accounts.iter().flat_map(|account| {
        client.all(&format!("/accounts/{}/events", account["account_id"].as_str().expect("an id")))
    });
    events.map(|event| event["webhooks"].as_array().expect("a list").len() as u64).sum()
}

fn webhooks_of_the_past_are_withheld_unless_asked_for(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    let told = import(installation, server.url(), &["--product-file", "p/product.json"]).good();
    let withheld = told["webhooks_withheld"].as_u64().expect("a count");
    // Each loan was opened, and each of its payments was recorded.
    assert!(withheld > LOANS + payments_in_file(installation) as u64, "{told}");
    assert_eq!(announced(&client), 0);
    // Loaded again under other ids, with historical webhooks: as many as were suppressed.
    let text = std::fs::read_to_string(installation.folder().join("p/loans.csv")).expect("the loans");
    let loans = text.replace("\nloan-", "\nsent-").replace(",cust-", ",sent-");
    let text = std::fs::read_to_string(installation.folder().join("p/payments.csv")).expect("the payments");
    write_portfolio(installation, &loans, &text.replace("\nloan-", "\nsent-"));
    let told = import(installation, server.url(), &["--product", PRODUCT, "--send-historical-webhooks"]).good();
    assert_eq!((&told["webhooks_withheld"], &told["loans"]), (&json!(0), &json!(LOANS)));
    assert_eq!(announced(&client), withheld);
    let files = ["p/loans.csv", "p/payments.csv", "--product-file", "p/product.json", "--dry-run"];
    let args: Vec<&str> = ["import"].into_iter().chain(files).collect();
    let said = run(installation, &args);
    let line =
        format!("withheld  {withheld} webhooks about the past of these loans; --send-historical-webhooks sends them\n");
    assert!(said.stdout.contains(&line), "{said:?}");
    server.stop();
}

fn a_crashed_import_keeps_its_choice_about_webhooks(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    for (flag, is_sent) in [("--suppress-webhooks", false), ("--send-historical-webhooks", true)] {
        let mut begun = start_import(installation, server.url(), &["--product", PRODUCT, "--rows-per-call", "1", flag]);
        first_line_with(&mut begun, "loading");
        begun.kill().expect("it is killed");
        begun.wait().expect("it ends");
        let told = import(installation, server.url(), &["--product", PRODUCT, flag]).good();
        assert_eq!(told["agreeing"], json!(LOANS), "{told}");
        assert_eq!(announced(&client) > 0, is_sent, "{flag}");
        let text = std::fs::read_to_string(installation.folder().join("p/loans.csv")).expect("the loans");
        let loans = text.replace("\nloan-", "\nsent-").replace(",cust-", ",sent-");
        let text = std::fs::read_to_string(installation.folder().join("p/payments.csv")).expect("the payments");
        write_portfolio(installation, &loans, &text.replace("\nloan-", "\nsent-"));
    }
    server.stop();
}
