//! `--record`: the results are written into the file, and nothing else in it changes.

use crate::folder::{fresh, said, text_of, write};
use std::fs;

const LATE: &str = "03-backdated-payment-as-posted.toml";

#[test]
fn wrong_values_are_replaced_and_all_else_is_kept() {
    let (folder, daybook) = fresh();
    let good = text_of(LATE);
    let mut wrong = good.to_owned();
    for (value, other) in [
        ("summary.principal_cents = 80397 # 1,200.00 - 396.03", "summary.principal_cents = 80_000 # 1,200.00 - 396.03"),
        ("account_status = \"ACTIVE\"", "account_status = \"SUSPENDED\""),
        ("delinquency.past_due_cents = 40803", "delinquency.past_due_cents = 1"),
        ("applied_on = \"2025-02-25\"", "applied_on = \"2025-02-14\""),
        ("count = 1", "count = 7"),
    ] {
        assert!(wrong.contains(value), "nothing to change: {value}");
        wrong = wrong.replacen(value, other, 1);
    }
    write(folder.path(), "late.toml", &wrong);
    assert_eq!(daybook.run(&["test", "late.toml"]).status.code(), Some(1));
    let (code, stdout, stderr) = said(daybook.run(&["test", "late.toml", "--record"]));
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(
        stderr.starts_with("recorded  late.toml\n          line 38: account_overview.account_status of"),
        "{stderr}"
    );
    assert!(stderr.contains("was $800.00 (80000 cents), is $803.97 (80397 cents)\n"), "{stderr}");
    assert_eq!(stderr.lines().count(), 6, "{stderr}");
    assert!(stdout.ends_with("\n1 case: 1 passed\n"), "{stdout}");
    let recorded = fs::read_to_string(folder.path().join("late.toml")).expect("the file is there");
    assert_eq!(recorded, good, "the comments are there, and everything in its place");
    let (code, _, stderr) = said(daybook.run(&["test", "late.toml", "--record"]));
    assert_eq!((code, stderr.as_str()), (0, "unchanged late.toml\n"));
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1, "no other file stays");
}

#[test]
fn a_case_without_expectations_gets_some_and_then_passes() {
    let (folder, daybook) = fresh();
    let whole = text_of(LATE);
    let told = &whole[..whole.find("[expect.account]").expect("it expects something")];
    write(folder.path(), "late.toml", told.trim_end());
    let (code, stdout, stderr) = said(daybook.run(&["test", "late.toml", "--record"]));
    assert_eq!(code, 0, "{stdout}{stderr}");
    let recorded = fs::read_to_string(folder.path().join("late.toml")).expect("the file is there");
    let added = recorded.strip_prefix(told.trim_end()).expect("what was there stays as it was");
    for line in [
        "[expect.account]",
        "account_overview.account_status = \"ACTIVE\"",
        "summary.principal_cents = 80397",
        "delinquency.days_past_due = 0",
        "[expect.line_item_count]",
        "LATE_FEE = 1",
        "[[expect.webhook]]",
        "event = \"payment_missed\"",
    ] {
        assert!(added.lines().any(|added| added == line), "{line} in {added}");
    }
    let text = daybook.stdout_of(&["test", "late.toml"]);
    assert!(text.starts_with("passed "), "{text}");
    // The recorded expectations can fail.
    write(folder.path(), "late.toml", &recorded.replace("LATE_FEE = 1", "LATE_FEE = 2"));
    assert_eq!(daybook.run(&["test", "late.toml"]).status.code(), Some(1));
}

#[test]
fn what_cannot_be_recorded_still_fails() {
    let (folder, daybook) = fresh();
    let text = text_of(LATE).replacen("line_item_type = \"LATE_FEE\"", "line_item_type = \"CHARGE_OFF\"", 1);
    let text =
        text.replacen("effective_on = \"2025-02-20\"\noriginal_amount_cents = 1500\nbalance_cents = 1500\n", "", 1);
    write(folder.path(), "late.toml", &text);
    let (code, stdout, _) = said(daybook.run(&["test", "late.toml", "--record"]));
    assert!(code == 1 && stdout.contains("no similar line item"), "{stdout}");
    assert_eq!(fs::read_to_string(folder.path().join("late.toml")).expect("the file"), text);
    let (code, stderr) = daybook.failure_of(&["test", "--record"]);
    assert_eq!(
        (code, stderr.lines().last()),
        (2, Some("daybook: --record: the built-in cases cannot be written to; name a file"))
    );
}
