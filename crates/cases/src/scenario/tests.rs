use super::*;
use serde_json::json;
use std::path::Path;

const GOOD: &str = r#"title = "Two payments"
mode = "live"

[product]
product_overview = { product_name = "Auto 12", product_type = "INSTALLMENT" }
post_promotional_policies = { post_promo_len = 12, post_promo_default_interest_rate_percent = 12.0 }

[customer]
name_first = "Ana"

[account]
effective_at = "2025-01-15T00:00:00-05:00"
summary = { initial_principal_cents = 120_000 }

[[event]]
roll = true
effective_at = "2025-05-10T00:00:00-04:00"

[[event]]
payment = { line_item_id = "p1", original_amount_cents = 10662 }
effective_at = 2025-02-15T09:00:00-05:00
recorded_at = "2025-02-20T09:00:00-05:00"

[[event]]
payment_reversal = { payment = "p1", external_fields = [{ key = "a", value = "b" }] }
effective_at = "2025-02-18T09:00:00-05:00"

[expect.account]
account_overview.account_status = "ACTIVE"
summary.fees_balance_cents = 0

[[expect.account_at]]
at = "2025-04-20T00:00:00-04:00"
delinquency = { days_past_due = 36 }

[[expect.line_item]]
line_item_type = "LATE_FEE"
effective_on = "2025-03-15"

[expect.line_item_count]
LATE_FEE = 2

[[expect.webhook]]
event = "payment_missed"

[[expect.schedule]]
row = 1
am_interest_cents = 1200
"#;

fn parse_text(text: &str) -> Result<Scenario, ScenarioError> {
    parse(Path::new("case.toml"), text)
}

/// The error for the good file after a change to it.
fn error_after(change: &str, to: &str) -> String {
    assert!(GOOD.contains(change), "nothing to change: {change}");
    parse_text(&GOOD.replacen(change, to, 1)).expect_err(to).to_string()
}

#[test]
fn a_file_is_read_in_full() {
    let case = parse_text(GOOD).expect("a good file");
    assert_eq!((case.title.as_str(), case.mode), ("Two payments", ProcessingMode::Live));
    assert_eq!(case.customer, Some(json!({ "name_first": "Ana" })));
    assert_eq!(case.account["summary"]["initial_principal_cents"], 120_000);
    assert_eq!(case.account_effective_at.text, "2025-01-15T00:00:00-05:00");

    let kinds: Vec<CaseEventKind> = case.events.iter().map(|event| event.input.kind).collect();
    assert_eq!(
        kinds,
        [CaseEventKind::PaymentReversal, CaseEventKind::Payment, CaseEventKind::Roll],
        "in the order in which they come in"
    );
    let [reversal, payment, roll] = case.events.as_slice() else { panic!("three events") };
    assert_eq!(reversal.input.target.as_deref(), Some("p1"));
    assert_eq!(json!(reversal.input.body), json!({ "external_fields": [{ "key": "a", "value": "b" }] }));
    assert_eq!(json!(payment.input.body), json!({ "line_item_id": "p1", "original_amount_cents": 10662 }));
    assert_eq!(payment.effective_at.text, "2025-02-15T09:00:00-05:00");
    assert_eq!(payment.comes_in_at().text, "2025-02-20T09:00:00-05:00");
    assert_eq!((payment.line, roll.line), (19, 15));
    assert_eq!(case.ends_at().text, "2025-05-10T00:00:00-04:00");
    assert_eq!(case.existing_product(), None);
}

#[test]
fn expectations_are_read_in_full() {
    let expect = parse_text(GOOD).expect("a good file").expect;
    let field = |line: usize, path: &str, value: Value| Field {
        line,
        path: path.split('.').map(str::to_owned).collect(),
        value,
    };
    let status = field(29, "account_overview.account_status", "ACTIVE".into());
    assert_eq!(expect.account, [status, field(30, "summary.fees_balance_cents", 0.into())]);
    assert_eq!(expect.account_at[0].fields, [field(34, "delinquency.days_past_due", 36.into())]);
    assert_eq!(expect.account_at[0].at.text, "2025-04-20T00:00:00-04:00");
    assert_eq!(expect.line_items[0].fields[1], field(38, "effective_on", "2025-03-15".into()));
    let late_fees = LineItemCount { line: 41, line_item_type: "LATE_FEE".to_owned(), count: 2 };
    assert_eq!(expect.line_item_counts, [late_fees]);
    assert_eq!(expect.webhooks, [Webhook { line: 43, event: "payment_missed".to_owned(), count: None }]);
    assert_eq!((expect.schedule[0].row, expect.schedule[0].fields.len()), (1, 1));
}

#[test]
fn percentages_keep_their_digits() {
    for text in ["12.0", "6.2", "0.1", "19.999999", "7.123456"] {
        let case = parse_text(&GOOD.replace("percent = 12.0", &format!("percent = {text}"))).expect("a good file");
        let policies = &case.product["post_promotional_policies"];
        assert_eq!(policies["post_promo_default_interest_rate_percent"].to_string(), text);
    }
    let error = error_after("percent = 12.0", "percent = 0.1234567890123456");
    assert!(error.contains("at most 15 digits"), "{error}");
}

#[test]
fn a_product_may_be_there_already() {
    let start = GOOD.find("product_overview").expect("a product");
    let end = GOOD.find("[customer]").expect("a customer");
    let text = format!("{}product_id = \"auto-12\"\n{}", &GOOD[..start], &GOOD[end..]);
    assert_eq!(parse_text(&text).expect("a good file").existing_product(), Some("auto-12"));
}

#[test]
fn an_error_says_file_line_column_and_what_was_expected() {
    let error = error_after("mode = \"live\"", "mode = \"alive\"");
    assert_eq!(error, "case.toml:2:8: mode must be \"migration\" or \"live\", not \"alive\"");
    let error = error_after("roll = true", "rolls = true");
    assert!(
        error.starts_with("case.toml:16:1: unknown key rolls in event (did you mean roll?); known keys: payment, "),
        "{error}"
    );
    let error = error_after("roll = true", "roll = false");
    assert!(error.starts_with("case.toml:16:8: roll must be true"), "{error}");
    let error = error_after("roll = true\n", "");
    assert!(error.starts_with("case.toml:15:1: event must have one of: payment, "), "{error}");
    let error = error_after("roll = true", "roll = true\nstatus = { account_status = \"CLOSED\" }");
    assert_eq!(error, "case.toml:17:1: event must have one kind only, not both roll and status");
    let error = error_after("effective_at = \"2025-05-10T00:00:00-04:00\"", "effective_at = \"2025-05-10\"");
    assert!(error.starts_with("case.toml:17:16: effective_at must be a time with an offset"), "{error}");
    let error = error_after("payment = \"p1\", ", "");
    assert_eq!(error, "case.toml:25:20: payment_reversal must have payment");
    let error = error_after("name_first = \"Ana\"", "name_first = ");
    assert!(error.starts_with("case.toml:9:"), "{error}");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let error = error_after("2025-02-18T09", "2025-01-14T09");
    assert_eq!(error, "case.toml:24:1: an event's effective_at must not be before the account's");
    let error = error_after("mode = \"live\"", "mode = \"migration\"");
    assert!(error.starts_with("case.toml:19:1: recorded_at is for live cases"), "{error}");
    let error = error_after("2025-02-20T09", "2025-01-14T09");
    assert_eq!(error, "case.toml:19:1: an event's recorded_at must not be before the account's effective_at");
    let error = error_after("2025-05-10T00:00:00-04:00", "9999-05-10T00:00:00-04:00");
    assert!(error.starts_with("case.toml:17:16: effective_at must be a time in the years 1900 to 2199"), "{error}");
    let error = error_after("{ line_item_id = \"p1\", ", "{ effective_at = \"x\", ");
    assert!(error.contains("case.toml:20:28: effective_at belongs next to payment"), "{error}");
}

#[test]
fn unknown_keys_are_refused_everywhere() {
    let cases = [
        ("title =", "note = \"x\"\ntitle =", "1:1: unknown key note in the file"),
        ("[customer]", "[custmer]", "8:2: unknown key custmer in the file (did you mean customer?)"),
        (
            "[expect.line_item_count]",
            "[expect.lineitem]",
            "40:9: unknown key lineitem in expect (did you mean line_item?)",
        ),
        ("summary.fees", "sumary.fees", "30:1: unknown key sumary in expect.account (did you mean summary?)"),
        ("effective_on", "day", "38:1: unknown key day in expect.line_item"),
        (
            "event = \"payment_missed\"",
            "event = \"payment_missed\"\ntimes = 2",
            "45:1: unknown key times in expect.webhook",
        ),
        ("am_interest_cents", "interest_cents", "48:1: unknown key interest_cents in expect.schedule"),
    ];
    for (change, to, expected) in cases {
        let error = error_after(change, to);
        assert!(error.starts_with(&format!("case.toml:{expected}; known keys: ")), "{error}");
    }
    let error = error_after("[account]", "[acount]");
    assert!(error.ends_with("the file must have account; is acount a misspelling of it?"), "{error}");
    let error = error_after("LATE_FEE = 2", "LATE_FEE = -1");
    assert_eq!(error, "case.toml:41:12: LATE_FEE must be a whole number, 0 or more, not -1");
    let error = error_after("row = 1", "row = 0");
    assert!(error.contains("the first row is row 1"), "{error}");
    let error = error_after("am_interest_cents = 1200\n", "");
    assert!(error.contains("expect.schedule must have at least one field"), "{error}");
}

#[test]
fn the_scenarios_of_the_repository_are_good_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let cases = read_folder(&folder).unwrap_or_else(|error| panic!("{error}"));
    assert!(cases.len() >= 10, "{} files", cases.len());
    for case in &cases {
        assert!(case.customer.is_some() && case.product["product_id"].is_string(), "{}", case.file.display());
        assert!(!case.expect.account.is_empty(), "{} expects nothing of the account", case.file.display());
    }
    let titles: std::collections::BTreeSet<&str> = cases.iter().map(|case| case.title.as_str()).collect();
    assert_eq!(titles.len(), cases.len(), "each title is used once");
}
