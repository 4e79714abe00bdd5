//! The example on the page about test cases works as described.

use crate::folder::{fresh, said, write};

const PAGE: &str = include_str!("../../../../docs/guides/test-cases.md");

/// The first code block of the page in a language.
fn block(language: &str) -> &'static str {
    let start = format!("```{language}\n");
    let begin = PAGE.find(&start).unwrap_or_else(|| panic!("the page has no {language}")) + start.len();
    let length = PAGE[begin..].find("```").expect("the block ends");
    &PAGE[begin..begin + length]
}

#[test]
fn the_example_fails_as_shown_and_passes_once_recorded() {
    let (folder, daybook) = fresh();
    write(folder.path(), "missed.toml", block("toml"));
    let (code, stdout, _) = said(daybook.run(&["test", "missed.toml"]));
    assert_eq!((code, stdout.as_str()), (1, block("text")));
    assert!(daybook.run(&["test", "--record", "missed.toml"]).status.success());
    assert!(daybook.stdout_of(&["test", "missed.toml"]).ends_with("\n1 case: 1 passed\n"));
}

#[test]
fn every_event_and_every_expectation_is_described() {
    for key in [
        "payment",
        "payment_reversal",
        "payment_status",
        "manual_fee",
        "fee_waiver",
        "credit_offset",
        "debit_offset",
        "charge",
        "status",
        "notification_config",
        "roll",
        "recorded_at",
        "title",
        "mode",
        "[product]",
        "[customer]",
        "[account]",
        "[[event]]",
        "[expect.account]",
        "[[expect.account_at]]",
        "[[expect.line_item]]",
        "[expect.line_item_count]",
        "[[expect.webhook]]",
        "[[expect.schedule]]",
    ] {
        assert!(PAGE.contains(&format!("`{key}`")), "{key}");
    }
}
