//! Random tests of the API from its own description: schemathesis generates valid and invalid calls from
//! `/openapi.json` and checks every response. No response may be 5XX or contradict the description. At the end,
//! recomputing every account must give the stored data.
//!
//! ```text
//! demo data ─► server ── /openapi.json ─► schemathesis (hooks.py, schemathesis.toml) ── calls ─► server ─► verify
//! ```
//!
//! `DAYBOOK_PYTHON` names a Python with `requirements.txt`; `./check tests` sets one up.
//! `DAYBOOK_SCHEMATHESIS_REQUESTS` is the approximate number of calls; the default is 2,000. Most of these test the
//! limits of every field and are not random; their number is fixed. `DAYBOOK_SEED` is the seed. A campaign:
//! `DAYBOOK_SCHEMATHESIS_REQUESTS=20000 cargo test -p daybook --test schemathesis -- --nocapture`.
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

use common::api_client::ApiClient;
use common::chance::{seed, setting};
use common::installation::{Installation, SECRET};
use common::loans::{loan, make_product, pay};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Output};

/// The number of calls that test the limits of fields, regardless of the requested number.
const EDGES: u64 = 3_500;
/// The approximate number of calls for one more example of each operation.
const FOR_ONE_EXAMPLE: u64 = 34;

/// Creates the records named in the description's examples, so that calls get further than "not found".
fn make_examples(client: &ApiClient) {
    make_product(client, "auto-36", json!({}), json!({}));
    client.post("/customers", &json!({ "customer_id": "auto-36", "name_last": "Torres" })).good();
    client.post("/accounts", &loan("auto-36", "auto-36", "2025-01-15T09:00:00-05:00")).good();
    pay(client, "auto-36", "auto-36", 5_000, "2025-02-15T09:00:00-05:00").good();
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
    // Its files go into the build folder.
    command.env("PYTHONPATH", &folder).env("SCHEMATHESIS_HOOKS", "hooks").current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.output().unwrap_or_else(|error| panic!("{python}, which DAYBOOK_PYTHON names, does not start: {error}"))
}

/// The number in `  3816 generated, 3756 passed`.
fn calls_made(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.trim().split_once(" generated")?.0.parse().ok())
}

#[test]
fn every_answer_is_as_described_on_sqlite() {
    every_answer_is_as_described(&Installation::sqlite(), "SQLite");
}

#[test]
fn every_answer_is_as_described_on_postgres() {
    every_answer_is_as_described(&Installation::postgres(), "PostgreSQL");
}

fn every_answer_is_as_described(installation: &Installation, database: &str) {
    let requests = setting("DAYBOOK_SCHEMATHESIS_REQUESTS", 2_000);
    let server = installation.serve_demo();
    make_examples(&ApiClient::to(server.url()));
    let output = schemathesis(server.url(), 1.max(requests.saturating_sub(EDGES) / FOR_ONE_EXAMPLE));
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let generated = calls_made(&said).unwrap_or_else(|| panic!("no count: {said}"));
    assert!(generated >= EDGES / 2, "only {generated} calls were made: {said}");

    let accounts = installation.verify();
    let stderr = server.stop();
    assert!(!stderr.contains("panicked"), "{stderr}");
    println!(
        "schemathesis on {database}: {generated} calls, 0 answers that are not as described, {accounts} accounts then verified with 0 \
         differences, seed {}",
        seed()
    );
}
