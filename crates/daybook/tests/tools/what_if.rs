//! `daybook what-if` on a database: the example of the guide, the files that it writes, and that it stores nothing.
//!
//! The loans are 1,200.00 over 12 months at 12 %, due on the 15th: 106.62 a month, with a late fee of 15.00.

use daybook_clock::Manual;
use daybook_engine::time::Time;
use daybook_service::Service;
use daybook_service::changes::ChangeRequest;
use daybook_service::form;
use daybook_service::organizations::Bootstrap;
use daybook_testkit::postgres;
use daybook_testkit::server::Daybook;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

const GUIDE: &str = include_str!("../../../../docs/guides/what-if.md");
const LEVEL: i64 = 10_662;
const POLICY: &str = "[product_lifecycle_policies.default_attributes]\ndefault_late_fee_cents = 2500\n";
const COMMAND: [&str; 7] = ["what-if", "--product", "auto-12", "--policy", "late-fee.toml", "--as-of", "2025-06-20"];

fn time(text: &str) -> Time {
    Time::parse(text).expect("a time")
}

fn form_of<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    form::parse(value.to_string().as_bytes()).expect("a form")
}

/// The loans of the guide, in the database at an address.
async fn fill(address: &str) {
    let clock = Arc::new(Manual::at(time("2025-03-15T00:00:00-04:00")));
    let service = Service::open(address, clock.clone(), &[9; 32]).await.expect("a service");
    service
        .bootstrap(&Bootstrap { environment: "TEST".into(), ..Bootstrap::default() })
        .await
        .expect("the first organization");
    let who = service.operator(None).await.expect("one organization");
    let product = json!({
        "product_id": "auto-12",
        "product_overview": { "product_name": "Auto 12", "product_type": "INSTALLMENT" },
        "post_promotional_policies": { "post_promo_len": 12, "post_promo_default_interest_rate_percent": 12 },
        "product_lifecycle_policies": { "default_attributes": { "default_late_fee_cents": 1500 } },
    });
    service.create_product(&who, None, form_of(&product)).await.expect("a product");
    for account in ["loan-1", "loan-2", "loan-3"] {
        let loan = json!({
            "product_id": "auto-12", "account_id": account, "effective_at": "2025-03-15T00:00:00-04:00",
            "summary": { "initial_principal_cents": 120_000 },
        });
        service.create_account(&who, None, form_of(&loan)).await.expect("an account");
    }
    for (month, payers) in [("04", &["loan-1", "loan-3"][..]), ("05", &["loan-1"]), ("06", &["loan-1"])] {
        let at = format!("2025-{month}-15T10:00:00-04:00");
        clock.set(time(&at));
        service.settle_due().await.expect("what is due is done");
        for account in payers {
            let id = format!("{account}-{month}");
            let payment = json!({ "line_item_id": id, "original_amount_cents": LEVEL, "effective_at": at });
            let payment = ChangeRequest::Payment(form_of(&payment));
            service.change_account(&who, None, account, payment).await.expect("a payment");
        }
    }
    clock.set(time("2025-06-20T12:00:00-04:00"));
    service.settle_due().await.expect("what is due is done");
    service.stop().await;
}

fn filled(address: &str) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(fill(address));
}

/// A folder with the key and the policy of the guide.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("daybook.key");
    fs::write(&key, "09".repeat(32)).expect("a key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("its mode");
    fs::write(folder.path().join("late-fee.toml"), POLICY).expect("a policy");
    folder
}

/// The files in a folder, by name.
fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("a file"));
    files.map(|file| (file.file_name().into_string().expect("a name"), fs::read(file.path()).expect("it"))).collect()
}

/// The block after the command of the guide.
fn shown_output() -> &'static str {
    let (_, rest) = GUIDE.split_once("--as-of 2025-06-20\n```\n").expect("the command");
    let (_, rest) = rest.split_once("```text\n").expect("its output");
    rest.split_once("```").expect("the end").0
}

#[test]
fn the_guide_shows_what_the_command_prints_and_nothing_is_stored() {
    let folder = folder();
    filled(&format!("sqlite:{}", folder.path().join("daybook.db").display()));
    let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path());
    let before = files_in(folder.path());
    assert!(GUIDE.contains(&format!("```toml\n{POLICY}```")) && GUIDE.contains(&COMMAND.join(" ")));
    assert_eq!(daybook.stdout_of(&COMMAND), shown_output());
    assert!(files_in(folder.path()) == before, "{:?}", files_in(folder.path()).keys());
}

#[test]
fn every_account_is_in_the_csv_file() {
    let folder = folder();
    filled(&format!("sqlite:{}", folder.path().join("daybook.db").display()));
    let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path());
    let json = daybook.stdout_of(&[&COMMAND[..], &["--csv", "accounts.csv", "--json", "--largest", "1"]].concat());
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["summary"]["difference"]["fees_charged_cents"], 5_000);
    assert_eq!(json["summary"]["largest"].as_array().map(Vec::len), Some(1));
    let text = fs::read_to_string(folder.path().join("accounts.csv")).expect("a file");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|head| *head == name).expect(name);
    let cells = |name: &str| rows[1..].iter().map(|row| row[column(name)]).collect::<Vec<_>>();
    assert_eq!(cells("account_id"), ["loan-1", "loan-2", "loan-3"]);
    assert_eq!(cells("fees_charged_before_cents"), ["0", "4500", "3000"]);
    assert_eq!(cells("fees_charged_after_cents"), ["0", "7500", "5000"]);
    assert_eq!(cells("payoff_difference_cents"), ["0", "3000", "2000"]);
    assert_eq!(cells("maturity_after"), ["2026-03-15"; 3]);
    let some = [&COMMAND[..], &["--where", "days_past_due>=60", "--json"]].concat();
    let some: Value = serde_json::from_str(&daybook.stdout_of(&some)).expect("JSON");
    assert_eq!((&some["summary"]["accounts"], &some["summary"]["left_out"]), (&json!(1), &json!(2)));
    for (args, sentence) in [
        (&["what-if", "--product", "none", "--policy", "late-fee.toml"][..], "there is no product \"none\""),
        (&["what-if", "--product", "auto-12"], "--policy"),
        (&["what-if", "--product", "auto-12", "--policy", "none.toml"], "none.toml"),
        (
            &["what-if", "--product", "auto-12", "--policy", "late-fee.toml", "--csv", "late-fee.toml"],
            "is an input file",
        ),
    ] {
        let (_, stderr) = daybook.failure_of(args);
        assert!(stderr.contains(sentence), "{args:?}: {stderr}");
    }
}

#[test]
fn a_postgresql_database_gives_the_same() {
    let server = postgres::Server::shared();
    let address = server.migrated_database();
    filled(&address);
    let folder = folder();
    let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path());
    let flags = ["--database", &address, "--secrets-key-file", "daybook.key"];
    assert_eq!(daybook.stdout_of(&[&COMMAND[..], &flags].concat()), shown_output());
}
