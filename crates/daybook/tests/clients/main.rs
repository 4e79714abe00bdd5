//! Clients generated from the API's description: `tools/make-clients` generates them, and each performs a migration on
//! a real server.
//!
//! ```text
//! openapi.json ─► tools/make-clients ─► TypeScript, Python ─► procedure.ts, procedure.py ─► server
//! ```
//!
//! The generators are from npm and PyPI, pinned. `DAYBOOK_PYTHON` names a Python with `requirements.txt`;
//! `./check tests` sets one up. Without it, the script sets one up in the build folder.
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

use common::chance::{Chance, seed};
use common::dates::{ZONE, at, months_after, opened_months_ago};
use common::installation::{Installation, SECRET};
use common::loans::{PRINCIPAL, level, make_product, paid_on_time};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const MONTHS: u32 = 8;
const GUIDE: &str = include_str!("../../../../docs/guides/clients.md");

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The inputs of the generators: when they change, the clients are generated again.
fn sources() -> Vec<u8> {
    let files = [root().join("openapi.json"), root().join("tools/make-clients"), tests().join("requirements.txt")];
    files.iter().flat_map(|file| fs::read(file).expect("a file")).collect()
}

/// The clients, generated once: if tests run as separate processes, one generates them and the others wait.
fn clients() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
        fs::create_dir_all(&folder).expect("a folder");
        let lock = fs::File::create(folder.join(".lock")).expect("a file");
        lock.lock().expect("the lock");
        let made_of = folder.join(".made-of");
        if fs::read(&made_of).ok() != Some(sources()) {
            let script = root().join("tools/make-clients");
            let output = Command::new(script).arg(&folder).output().expect("the script starts");
            assert!(output.status.success(), "{}", said(&output));
            fs::write(made_of, sources()).expect("a file");
        }
        folder
    })
}

/// A Python with the client's dependencies.
fn python() -> PathBuf {
    let made = clients().join(".generator/bin/python");
    if made.exists() { made } else { std::env::var_os("DAYBOOK_PYTHON").expect("the script used one").into() }
}

/// Runs the procedure on its own server, and compares the result with a loan paid on time.
fn procedure(run: impl Fn(&str) -> Command) {
    let installation = Installation::sqlite();
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    let opened = opened_months_ago(MONTHS.into());
    let mut months: Vec<i64> = (1..=i64::from(MONTHS)).collect();
    Chance::of_seed(seed()).shuffle(&mut months);
    assert!(!months.is_sorted(), "they are not sent in order");
    let payment = |month: &i64| {
        json!({
            "line_item_id": format!("payment-{month}"), "original_amount_cents": level(), "line_item_status": "VALID",
            "effective_at": at(months_after(opened, *month), 9, ZONE),
        })
    };
    let task = json!({
        "url": server.url(), "client_id": "tests", "client_secret": SECRET,
        "product_id": "auto", "opened_at": at(opened, 9, ZONE), "principal_cents": PRINCIPAL,
        "payments": months.iter().map(payment).collect::<Vec<_>>(),
    });
    let output = run(&task.to_string()).output().expect("the client starts");
    assert!(output.status.success(), "{}", said(&output));
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("the client prints JSON");
    let (principal, interest) = paid_on_time(MONTHS);
    let expected = json!({
        "late_fees": 0,
        "principal_cents": principal,
        "total_balance_cents": principal,
        "total_paid_to_date_cents": i64::from(MONTHS) * level(),
        "total_interest_paid_to_date_cents": interest,
        "account_status": "ACTIVE",
        "bulk_status": 200,
        "refused": "not_found",
    });
    assert_eq!(outcome, expected);
    assert_eq!(installation.verify(), 1);
    server.stop();
}

/// The compiler runs first: the types of the client must be right, not only its calls.
#[test]
fn a_history_is_loaded_in_typescript() {
    let client = clients().join("typescript");
    let program = tempfile::tempdir_in(&client).expect("a folder");
    fs::copy(tests().join("procedure.ts"), program.path().join("procedure.ts")).expect("a copy");
    fs::copy(client.join("schema.d.ts"), program.path().join("schema.d.ts")).expect("a copy");
    let compiler = client.join("node_modules/.bin/tsc");
    let options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "procedure.ts"];
    let output = Command::new(compiler).args(options).current_dir(program.path()).output().expect("the compiler");
    assert!(output.status.success(), "{}", said(&output));
    procedure(|task| {
        let mut node = Command::new("node");
        node.arg(program.path().join("procedure.js")).arg(task);
        node
    });
}

#[test]
fn a_history_is_loaded_in_python() {
    let client = clients().join("python");
    procedure(|task| {
        let mut command = Command::new(python());
        command.arg("-B").arg(tests().join("procedure.py")).arg(task).env("PYTHONPATH", &client);
        command
    });
}

/// The clients have every operation of the description, except those named in the guide.
#[test]
fn the_clients_have_every_operation() {
    let description: Value =
        serde_json::from_slice(&fs::read(root().join("openapi.json")).expect("a file")).expect("JSON");
    let paths = description["paths"].as_object().expect("paths").values();
    let operations = paths.flat_map(|path| path.as_object().expect("operations").values());
    let described: BTreeSet<String> =
        operations.map(|one| one["operationId"].as_str().expect("a name").to_owned()).collect();
    assert!(described.len() > 40, "{described:?}");

    let schema = fs::read_to_string(clients().join("typescript/schema.d.ts")).expect("a file");
    let missing = described.iter().filter(|name| !schema.contains(&format!("operations[\"{name}\"]")));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);

    let mut in_python = BTreeSet::new();
    for section in fs::read_dir(clients().join("python/daybook_client/api")).expect("a folder") {
        let section = section.expect("an entry").path();
        for file in fs::read_dir(&section).into_iter().flatten() {
            let name = file.expect("an entry").file_name().to_string_lossy().into_owned();
            in_python.extend(name.strip_suffix(".py").filter(|name| *name != "__init__").map(str::to_owned));
        }
    }
    assert_eq!(described.difference(&in_python).collect::<Vec<_>>(), ["bulk"]);
    assert!(GUIDE.contains("`/bulk`"), "the guide says how");
}

/// The code in the guide is part of the tested code.
#[test]
fn the_guide_shows_these_calls() {
    for (language, file) in [("typescript", "procedure.ts"), ("python", "procedure.py")] {
        let source = fs::read_to_string(tests().join(file)).expect("a file");
        let fence = format!("```{language}\n");
        let shown: Vec<&str> = GUIDE.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!shown.is_empty(), "the guide shows nothing in {language}");
        for block in shown {
            for part in block.trim().split("\n\n") {
                assert!(source.contains(part), "{file} has not:\n{part}");
            }
        }
    }
}

#[test]
fn the_script_says_what_it_does() {
    let script = root().join("tools/make-clients");
    let help = Command::new(&script).arg("--help").output().expect("the script starts");
    assert!(help.status.success() && said(&help).contains("FOLDER/typescript"), "{}", said(&help));
    let wrong = Command::new(&script).args(["a", "b"]).output().expect("the script starts");
    assert_eq!(wrong.status.code(), Some(2));
}
