//! Checks the numbers of the cases with `scenarios/oracle`: a Python program, written from the rules, that shares no
//! code with the engine.

use crate::support::{SCENARIOS, text_of};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the oracle.
fn oracle<'a>(arguments: impl IntoIterator<Item = &'a Path>) -> Output {
    let python = env::var("DAYBOOK_PYTHON")
        .expect("DAYBOOK_PYTHON names a Python with tzdata: run `./check tests`, which makes one and sets it");
    let script = Path::new(SCENARIOS).join("oracle/oracle.py");
    let mut command = Command::new(&python);
    // Time zones are those of the pinned package, not the machine's.
    command.arg("-B").arg(script).args(arguments).env("PYTHONTZPATH", "");
    command.output().unwrap_or_else(|error| panic!("{python}, which DAYBOOK_PYTHON names, does not start: {error}"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(SCENARIOS).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = entries.filter(|file| file.extension().is_some_and(|name| name == "toml")).collect();
    files.sort();
    files
}

#[test]
fn the_oracle_finds_every_number_of_every_case() {
    let files = files();
    let output = oracle(files.iter().map(PathBuf::as_path));
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("ok  ")).count(), files.len(), "{said}");
}

/// A wrong number of each kind, and the oracle's objection to it.
#[test]
fn the_oracle_objects_to_a_wrong_number() {
    let wrong = [
        ("summary.principal_cents = 88853", "summary.principal_cents = 88852", "expected 88852, the oracle says 88853"),
        ("delinquency.days_past_due = 36", "delinquency.days_past_due = 35", "expected 35, the oracle says 36"),
        (
            "effective_on = \"2025-03-15\"\noriginal_amount_cents = 1500",
            "effective_on = \"2025-03-15\"\noriginal_amount_cents = 1600",
            "a line item: expected",
        ),
        ("LATE_FEE = 2", "LATE_FEE = 3", "valid line items LATE_FEE: expected 3, the oracle has 2"),
        ("count = 2", "count = 1", "webhooks payment_missed: expected 1, the oracle has 2"),
        ("paid_cents = 3676", "paid_cents = 3675", "of row 4: expected 3675, the oracle says 3676"),
        ("summary.principal_cents", "summary.principle_cents", "the oracle does not know this field"),
    ];
    let text = text_of("02-two-missed-then-catch-up.toml");
    for (index, (change, to, objection)) in wrong.into_iter().enumerate() {
        assert!(text.contains(change), "nothing to change: {change}");
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wrong-{index}.toml"));
        fs::write(&file, text.replacen(change, to, 1)).expect("the file is written");
        let output = oracle([file.as_path()]);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{to}: {said}");
        assert!(said.contains(objection), "{to}: {said}");
        fs::remove_file(&file).expect("the file is removed");
    }
}

#[test]
fn the_page_of_the_documentation_is_what_the_cases_say() {
    let output = oracle([Path::new("--pages"), Path::new(SCENARIOS)]);
    assert!(output.status.success(), "{}", said(&output));
    let page = Path::new(SCENARIOS).join("../docs/scenarios/README.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let how = "python3 scenarios/oracle/oracle.py --pages scenarios >docs/scenarios/README.md";
    assert!(page == String::from_utf8_lossy(&output.stdout), "the page is out of date: {how}");
}
