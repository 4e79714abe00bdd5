//! A difference names what differs, the expected and the actual value, and the line of the file.

use crate::support::{case, changed};
use daybook_cases::run;

const MISSED: &str = "02-two-missed-then-catch-up.toml";

/// A change to a case, and the single difference it must cause.
struct Wrong {
    file: &'static str,
    change: &'static str,
    to: &'static str,
    what: &'static str,
    expected: &'static str,
    got: &'static str,
}

const WRONG: &[Wrong] = &[
    Wrong {
        file: MISSED,
        change: "summary.principal_cents = 88853",
        to: "summary.principal_cents = 88852",
        what: "summary.principal_cents of the account at the end",
        expected: "$888.52 (88852 cents)",
        got: "$888.53 (88853 cents)",
    },
    Wrong {
        file: MISSED,
        change: "account_status = \"ACTIVE\"",
        to: "account_state = \"ACTIVE\"",
        what: "account_overview.account_state of the account at the end",
        expected: "ACTIVE",
        got: "no such field; did you mean account_status?",
    },
    Wrong {
        file: MISSED,
        change: "delinquency.days_past_due = 36",
        to: "delinquency.days_past_due = 5",
        what: "delinquency.days_past_due of the account as of 2025-04-20T00:00:00-04:00",
        expected: "5",
        got: "36",
    },
    Wrong {
        file: MISSED,
        change: "effective_on = \"2025-04-15\"\noriginal_amount_cents = 1500",
        to: "effective_on = \"2025-04-15\"\noriginal_amount_cents = 2500",
        what: "a line item",
        expected: "line_item_type LATE_FEE, effective_on 2025-04-15, original_amount_cents $25.00 (2500 cents)",
        got: "none; the closest is dbk_late_fee_3, with original_amount_cents $15.00 (1500 cents)",
    },
    Wrong {
        file: MISSED,
        change: "line_item_type = \"LATE_FEE\"\neffective_on = \"2025-03-15\"\noriginal_amount_cents = 1500",
        to: "line_item_type = \"CHARGE_OFF\"",
        what: "a line item",
        expected: "line_item_type CHARGE_OFF",
        got: "no similar line item",
    },
    Wrong {
        file: MISSED,
        change: "LATE_FEE = 2",
        to: "LATE_FEE = 3",
        what: "the number of valid line items of type LATE_FEE",
        expected: "3",
        got: "2",
    },
    Wrong {
        file: MISSED,
        change: "event = \"payment_missed\"\ncount = 2",
        to: "event = \"payment_missed\"\ncount = 1",
        what: "the number of payment_missed webhook messages received",
        expected: "1",
        got: "2",
    },
    Wrong {
        file: MISSED,
        change: "event = \"payment_missed\"\ncount = 2",
        to: "event = \"account_closed\"",
        what: "the number of account_closed webhook messages received",
        expected: "1 or more",
        got: "0",
    },
    Wrong {
        file: MISSED,
        change: "event = \"payment_missed\"\ncount = 2",
        to: "event = \"payment_mist\"\ncount = 0",
        what: "the number of payment_mist webhook messages received",
        expected: "0",
        got: "no such event",
    },
    Wrong {
        file: MISSED,
        change: "paid_cents = 3676",
        to: "paid_cents = 3677",
        what: "paid_cents of row 4 of the schedule",
        expected: "$36.77 (3677 cents)",
        got: "$36.76 (3676 cents)",
    },
    Wrong {
        file: MISSED,
        change: "row = 3\n",
        to: "row = 13\n",
        what: "row 13 of the schedule",
        expected: "a row",
        got: "the schedule has 12 rows",
    },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_expectation_is_named() {
    for wrong in WRONG {
        let (text, outcome) = changed(wrong.file, wrong.change, wrong.to).await;
        assert!(!outcome.passed, "{}", wrong.to);
        let [difference] = outcome.differences.as_slice() else { panic!("one difference: {outcome}") };
        let told = (difference.what.as_str(), difference.expected.as_str(), difference.got.as_str());
        assert_eq!(told, (wrong.what, wrong.expected, wrong.got));
        let line = text.lines().nth(difference.line - 1).expect("the line is there");
        // An expectation with several fields starts with its header.
        let is_named = wrong.to.lines().any(|changed| line.contains(changed));
        assert!(is_named || line.starts_with("[[expect."), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_type_that_does_not_exist_is_no_type_that_is_missing() {
    let (_, outcome) = changed(MISSED, "LATE_FEE = 2", "LATE_FEES = 0").await;
    let got = &outcome.differences[0].got;
    assert!(got.starts_with("no such type: line_item_type must be one of LOAN, "), "{got}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_shows_what_happened() {
    let (_, outcome) = changed("03-backdated-payment-as-posted.toml", "days_past_due = 0", "days_past_due = 12").await;
    let steps: Vec<String> = outcome.timeline.iter().map(ToString::to_string).collect();
    assert_eq!(
        steps,
        [
            "2025-01-15T12:00:00-05:00  The account was opened and the principal paid out.  Balance after: $1,200.00 \
             (principal $1,200.00).",
            "2025-02-15T23:59:59-05:00  Instalment 1 fell due. Interest of $12.00 was charged for the period.  Balance \
             after: $1,212.00 (principal $1,200.00, interest $12.00).",
            "2025-02-20T23:59:59-05:00  Instalment 1 was not paid in full by the end of its grace period: a late \
             fee of $15.00 was charged.  Balance after: $1,227.00 (principal $1,200.00, interest $12.00, fees $15.00).",
            "2025-02-14T12:00:00-05:00  A payment of $408.03 was recorded as VALID. It paid $12.00 of interest and \
             $396.03 of principal. This event takes effect on 2025-02-25T09:00:00-05:00.  Balance after: $818.97 \
             (principal $803.97, fees $15.00).",
        ]
    );
    let told = outcome.to_string();
    assert!(told.starts_with("FAILED  A payment recorded late counts from"), "{told}");
    assert!(told.contains("\n  line 44: delinquency.days_past_due of the account at the end: expected 12, got 0\n"));
    assert!(told.contains("\n  What happened:\n    2025-01-15T12:00:00-05:00  The account was opened"), "{told}");
}

/// A refused request is reported with its line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_is_named_with_its_line() {
    let cases = [
        (
            "product_type = \"INSTALLMENT\"",
            "product_type = \"CREDIT\"",
            "product_type = \"CREDIT\"",
            "creating the product",
            "product_type",
        ),
        ("name_first = \"Ben\"", "nickname = \"Ben\"", "nickname", "creating the customer", "nickname"),
        (
            "initial_principal_cents = 120000",
            "initial_principal_cents = 0",
            "summary = { initial_principal_cents = 0 }",
            "opening the account",
            "summary.initial_principal_cents must be a whole number of cents",
        ),
        (
            "payment = { line_item_id = \"p2\", original_amount_cents = 25000 }",
            "charge = { original_amount_cents = 25000 }",
            "[[event]]",
            "charge of 2025-05-01T09:00:00-04:00",
            "this is an instalment loan",
        ),
        (
            "payment = { line_item_id = \"p2\", original_amount_cents = 25000 }",
            "fee_waiver = { fee = \"dbk_late_fee_1\" }",
            "[[event]]",
            "fee_waiver dbk_late_fee_1 of 2025-05-01T09:00:00-04:00",
            "dbk_late_fee_1",
        ),
    ];
    for mode in ["migration", "live"] {
        for (change, to, line, what, got) in cases {
            let text = crate::support::text_of(MISSED).replace("mode = \"migration\"", &format!("mode = \"{mode}\""));
            assert!(text.contains(change), "nothing to change: {change}");
            let text = text.replacen(change, to, 1);
            let outcome = run(&case(MISSED, &text)).await;
            let [difference] = outcome.differences.as_slice() else { panic!("one difference: {outcome}") };
            assert_eq!((difference.what.as_str(), difference.expected.as_str()), (what, "no error"));
            assert!(difference.got.contains(got), "{difference}");
            let told = text.lines().nth(difference.line - 1);
            assert!(told.is_some_and(|told| told.contains(line)), "{difference}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_product_of_a_server_is_not_there() {
    let text = crate::support::text_of(MISSED);
    let (start, end) =
        (text.find("product_overview").expect("a product"), text.find("[customer]").expect("a customer"));
    let text = format!("{}{}", &text[..start], &text[end..]);
    let outcome = run(&case(MISSED, &text)).await;
    assert!(outcome.differences[0].got.starts_with("product auto-12 is not described in the file"), "{outcome}");
}

/// The case's mode overrides the product's own setting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_product_that_starts_in_migration_mode_is_live_in_a_live_case() {
    let (_, outcome) =
        changed("05-bounced-payment.toml", "[customer]", "admin = { migration_mode = true }\n\n[customer]").await;
    assert!(outcome.passed, "{outcome}");
}
