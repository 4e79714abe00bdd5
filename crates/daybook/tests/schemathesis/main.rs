//! The API tried at random by its own description: schemathesis makes calls, good and bad, from `/openapi.json`, and
//! looks at every answer. No call may be answered with 5XX or with something that the description does not say. And
//! whatever was done to the accounts, they are as if folded again.
//!
//! ```text
//! demo data ─► server ── /openapi.json ─► schemathesis (hooks.py, schemathesis.toml) ── calls ─► server ─► verify
//! ```
//!
//! `DAYBOOK_PYTHON` names a Python with `requirements.txt`; `./check tests` makes one. `DAYBOOK_SCHEMATHESIS_REQUESTS`
//! says about how many calls; unset, 2,000, of which most try every field's edges and do not depend on chance; there are
//! never fewer of those. `DAYBOOK_SEED` says which. A campaign:
//! `DAYBOOK_SCHEMATHESIS_REQUESTS=20000 cargo test -p daybook --test schemathesis -- --nocapture`.
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

use common::chance::{seed, setting};
use common::door::Door;
use common::loans::{loan, make_product, pay};
use common::place::{Place, SECRET};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Output};

/// Calls that try the edges, whatever the number asked for.
const EDGES: u64 = 3_500;
/// Calls for one more example of each operation, about.
const FOR_ONE_EXAMPLE: u64 = 34;

/// Makes what the description's examples speak of, so that calls reach further than "there is no such account".
fn make_examples(door: &Door) {
    make_product(door, "auto-36", json!({}), json!({}));
    door.post("/customers", &json!({ "customer_id": "auto-36", "name_last": "Torres" })).good();
    door.post("/accounts", &loan("auto-36", "auto-36", "2025-01-15T09:00:00-05:00")).good();
    pay(door, "auto-36", "auto-36", 5_000, "2025-02-15T09:00:00-05:00").good();
}

fn schemathesis(url: &str, examples: u64) -> Output {
    let python = std::env::var("DAYBOOK_PYTHON")
        .expect("DAYBOOK_PYTHON names a Python with schemathesis: run `./check tests`, which makes one and sets it");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemathesis");
    let bearer = format!("Authorization: Bearer {SECRET}");
    let (examples, seed) = (examples.to_string(), seed().to_string());
    let mut command = Command::new(&python);
    command.args(["-B", "-m", "schemathesis.cli", "--config-file"]).arg(folder.join("schemathesis.toml"));
    command.args(["run", &format!("{url}/openapi.json"), "--header", &bearer, "--no-color"]);
    command.args(["--max-examples", &examples, "--seed", &seed, "--generation-database", "none"]);
    command.args(["--no-shrink", "--continue-on-failure", "--request-timeout", "90", "--suppress-health-check", "all"]);
    // Whatever it leaves behind goes where builds go.
    command.env("PYTHONPATH", &folder).env("SCHEMATHESIS_HOOKS", "hooks").current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.output().unwrap_or_else(|error| panic!("{python}, which DAYBOOK_PYTHON names, does not start: {error}"))
}

/// The number in `  3816 generated, 3756 passed`.
fn calls_made(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.trim().split_once(" generated")?.0.parse().ok())
}

#[test]
fn every_answer_is_as_described_on_sqlite() {
    every_answer_is_as_described(&Place::sqlite(), "SQLite");
}

#[test]
fn every_answer_is_as_described_on_postgres() {
    every_answer_is_as_described(&Place::postgres(), "PostgreSQL");
}

fn every_answer_is_as_described(place: &Place, database: &str) {
    let requests = setting("DAYBOOK_SCHEMATHESIS_REQUESTS", 2_000);
    let server = place.serve_demo();
    make_examples(&Door::to(server.url()));
    let output = schemathesis(server.url(), 1.max(requests.saturating_sub(EDGES) / FOR_ONE_EXAMPLE));
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let generated = calls_made(&said).unwrap_or_else(|| panic!("no count: {said}"));
    assert!(generated >= EDGES / 2, "only {generated} calls were made: {said}");

    let accounts = place.verify();
    let stderr = server.stop();
    assert!(!stderr.contains("panicked"), "{stderr}");
    println!(
        "schemathesis on {database}: {generated} calls, 0 answers that are not as described, {accounts} accounts then verified with 0 \
         differences, seed {}",
        seed()
    );
}
