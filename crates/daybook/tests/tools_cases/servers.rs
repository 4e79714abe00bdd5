//! `--url` and `--server`: the same files against a running server, through its API.

use crate::folder::{fresh, said, text_of, write, write_all};
use daybook_cases::builtin;
use daybook_testkit::postgres;
use daybook_testkit::server::{Daybook, Server};
use serde_json::{Value, json};

/// Flags of a server that sends messages at once to this machine.
const PROMPT: [&str; 2] = ["--dev", "--webhook-batch-interval=0s"];

/// A key of the first organization, created by the command.
fn key(daybook: &Daybook, org: Option<&str>) -> String {
    let mut args = vec!["keys", "create", "--role", "ADMIN", "--json"];
    args.extend(org.iter().flat_map(|org| ["--org", org]));
    let key = daybook.json_of(&args);
    format!("{}:{}", key["client_id"].as_str().expect("an id"), key["client_secret"].as_str().expect("a secret"))
}

/// The skipped cases, with the reason.
fn skipped(report: &Value) -> Vec<(&str, &str)> {
    let cases = report["cases"].as_array().expect("a list").iter().filter(|case| case["verdict"] == "skipped");
    cases
        .map(|case| (case["file"].as_str().expect("a file"), case["skipped_because"].as_str().expect("a reason")))
        .collect()
}

fn no_notes(report: &Value) {
    for case in report["cases"].as_array().expect("a list") {
        assert_eq!(case["notes"], json!([]), "{case:#}");
    }
}

/// Writes everything that the command would record for each case: more than the cases contain.
fn write_recorded(daybook: &Daybook) {
    for (file, text) in builtin() {
        let told = &text[..text.find("[expect.account]").expect("it expects something")];
        write(daybook.folder(), &format!("recorded/{file}"), told);
    }
    let output = daybook.run(&["test", "recorded", "--record"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn all_pass_twice(daybook: &Daybook, server: &Server) {
    write_all(daybook.folder());
    write_recorded(daybook);
    let key = key(daybook, None);
    for _ in 0..2 {
        let args = ["test", "scenarios", "recorded", "--json", "--url", server.url(), "--key", &key];
        let (code, stdout, stderr) = said(daybook.run(&args));
        assert_eq!(code, 0, "{stdout}{stderr}");
        let report: Value = serde_json::from_str(&stdout).expect("stdout is JSON");
        println!("skipped: {:?}", skipped(&report));
        assert_eq!(skipped(&report), [], "{stdout}");
        assert_eq!((&report["passed"], &report["ran_on"]), (&json!(2 * builtin().len()), &json!(server.url())));
        no_notes(&report);
    }
    let left = server.get("/organization/subscriptions", key.split_once(':').expect("two parts").1).good();
    assert_eq!(left["results"], json!([]), "the receiver's subscription is gone");
}

#[test]
fn every_case_comes_to_the_same_on_sqlite() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&PROMPT);
    all_pass_twice(&daybook, &server);
}

#[test]
fn every_case_comes_to_the_same_on_postgresql() {
    let (_folder, daybook) = fresh();
    let daybook = daybook.with("DAYBOOK_DATABASE", &postgres::Server::shared().migrated_database());
    let server = daybook.serve(&PROMPT);
    all_pass_twice(&daybook, &server);
}

#[test]
fn the_server_of_this_machine_is_found_and_no_key_is_left() {
    let (folder, daybook) = fresh();
    let _server = daybook.serve(&PROMPT);
    let keys = || daybook.json_of(&["keys", "list", "--json"])["results"].clone();
    let before = keys();
    let wrong = text_of("03-backdated-payment-as-posted.toml").replace("days_past_due = 0", "days_past_due = 12");
    write(folder.path(), "late.toml", &wrong.replace("count = 1", "count = 2"));
    let (code, stdout, stderr) = said(daybook.run(&["test", "late.toml", "--server"]));
    assert_eq!(code, 1, "{stdout}");
    assert!(stderr.starts_with("Running against http://127.0.0.1:"), "{stderr}");
    // As in memory, the dates are those of the file.
    assert!(stdout.contains("late.toml:44  delinquency.days_past_due of the account at the end"), "{stdout}");
    assert!(stdout.contains("the number of payment_missed webhook messages received  2"), "{stdout}");
    assert!(stdout.contains(
        "2025-02-20 23:59:59 -05:00  Instalment 1 was not paid in full by the end of its grace period: a late fee of \
         $15.00 was charged."
    ));
    assert_eq!(keys(), before);
}

#[test]
fn where_accounts_cannot_be_rolled_what_was_recorded_late_is_skipped() {
    let (folder, daybook) = fresh();
    write_all(folder.path());
    let server = daybook.serve(&PROMPT);
    daybook.run(&["org", "create", "Real Money", "--environment", "LIVE"]);
    let key = key(&daybook, Some("Real Money"));
    let (code, stdout, stderr) =
        said(daybook.run(&["test", "scenarios", "--json", "--url", server.url(), "--key", &key]));
    assert_eq!(code, 0, "{stdout}{stderr}");
    let report: Value = serde_json::from_str(&stdout).expect("stdout is JSON");
    let why = "an event is recorded at another time than its own, so the account would have to be rolled: accounts of a LIVE \
               organization cannot be rolled";
    let bounces = "a payment bounces under REPLAY, so the account would have to be rolled: \
                   accounts of a LIVE organization cannot be rolled";
    let cancelled = "a change is cancelled, so the account would have to be rolled: accounts of a LIVE organization \
                     cannot be rolled";
    let expected = [
        ("scenarios/03-backdated-payment-as-posted.toml", why),
        ("scenarios/122-payment-found-after-a-re-age.toml", why),
        ("scenarios/128-rate-cancelled.toml", cancelled),
        ("scenarios/129-promo-cancelled.toml", why),
        ("scenarios/130-pause-cancelled.toml", cancelled),
        ("scenarios/131-due-date-change-cancelled.toml", cancelled),
        ("scenarios/133-extension-cancelled.toml", cancelled),
        ("scenarios/134-deferral-cancelled.toml", cancelled),
        ("scenarios/135-re-amortisation-cancelled.toml", cancelled),
        ("scenarios/136-re-age-cancelled.toml", cancelled),
        ("scenarios/138-capitalisation-cancelled.toml", cancelled),
        ("scenarios/152-military-cap-recorded-late.toml", why),
        ("scenarios/153-rate-recorded-late.toml", why),
        ("scenarios/154-rate-recorded-late-with-refund.toml", why),
        ("scenarios/155-rate-recorded-late-replay.toml", why),
        ("scenarios/25-backdated-payment-replay.toml", why),
        ("scenarios/26-bounced-payment-replay.toml", bounces),
        ("scenarios/37-paid-off-then-bounced-replay.toml", bounces),
        ("scenarios/70-recorded-late-nothing-missed.toml", why),
    ];
    assert_eq!(skipped(&report), expected);
    assert_eq!(report["passed"], json!(builtin().len() - expected.len()));
    let (code, stderr) = daybook.failure_of(&[
        "test",
        "scenarios/03-backdated-payment-as-posted.toml",
        "--url",
        server.url(),
        "--key",
        &key,
    ]);
    assert!(code == 1 && stderr.ends_with("daybook: no case could be run\n"), "{stderr}");
}

#[test]
fn without_a_way_to_this_machine_the_servers_record_is_counted_and_said_so() {
    let (folder, daybook) = fresh();
    // Loopback addresses are refused without --dev.
    let server = daybook.serve(&[]);
    write(folder.path(), "late.toml", text_of("03-backdated-payment-as-posted.toml"));
    let (code, stdout, _) =
        said(daybook.run(&["test", "late.toml", "--url", server.url(), "--key", &key(&daybook, None)]));
    assert_eq!(code, 0, "{stdout}");
    let note = "webhook messages were not received here but counted in the server's record: webhook_url ";
    assert!(stdout.contains(note), "{stdout}");
}

#[test]
fn a_product_of_the_server_is_used_by_a_copy() {
    let (folder, daybook) = fresh();
    let server = daybook.serve(&["--dev", "--webhook-batch-interval=0s", "--demo"]);
    let text = text_of("02-two-missed-then-catch-up.toml");
    let (start, end) =
        (text.find("product_overview").expect("a product"), text.find("[customer]").expect("a customer"));
    write(folder.path(), "case.toml", &format!("{}{}", &text[..start], &text[end..]));
    let (code, stdout, _) =
        said(daybook.run(&["test", "case.toml", "--url", server.url(), "--key", &key(&daybook, None)]));
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("run with a copy of product auto-12\n"), "{stdout}");
    let (code, stderr) = daybook.failure_of(&["test", "case.toml"]);
    assert_eq!((code, stderr.as_str()), (1, "daybook: 1 of 1 test cases failed\n"));
}

#[test]
fn a_server_that_is_not_there_or_not_known_is_told() {
    let (folder, daybook) = fresh();
    write_all(folder.path());
    let (code, stderr) = daybook.failure_of(&["test", "--url", "http://127.0.0.1:1", "--key", "a:b"]);
    assert!(code == 1 && stderr.contains("the server at http://127.0.0.1:1 cannot be reached"), "{stderr}");
    let (code, stderr) = daybook.failure_of(&["test", "--server"]);
    assert!(code == 1 && stderr.contains("no server is running on "), "{stderr}");
}
