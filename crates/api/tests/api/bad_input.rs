//! Careless or hostile input is refused with an error message, and nothing of it is stored.

use crate::support::{ADMIN, Server};
use serde_json::json;

const PAYMENTS: &str = "/accounts/a/line_items/payments/payment_record";

/// A body, how it is refused, and the field or the words that explain why.
struct Bad {
    path: &'static str,
    body: Vec<u8>,
    status: u16,
    code: &'static str,
    field: &'static str,
    words: &'static str,
}

fn bad(path: &'static str, body: impl Into<Vec<u8>>, status: u16, field: &'static str, words: &'static str) -> Bad {
    let code = match status {
        400 => "malformed_request",
        413 => "too_large",
        _ => "invalid_request",
    };
    Bad { path, body: body.into(), status, code, field, words }
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

fn bad_payments() -> Vec<Bad> {
    let payment = |more: &str| format!(r#"{{"line_item_id": "bad", "original_amount_cents": 5, {more}}}"#);
    let amount = |amount: &str| format!(r#"{{"line_item_id": "bad", "original_amount_cents": {amount}}}"#);
    vec![
        bad(PAYMENTS, format!(r#"{{"line_item_id": "{}"}}"#, "x".repeat(900_000)), 422, "line_item_id", "1 to 128"),
        bad(PAYMENTS, vec![b' '; 5 << 20], 413, "", "at most 1048576 bytes"),
        bad(PAYMENTS, payment(&format!(r#""x": {}"#, nested(100_000))), 422, "x", "is not a known field"),
        bad(PAYMENTS, nested(200_000), 422, "", "must be an object"),
        bad(
            PAYMENTS,
            payment(&format!(r#""external_fields": {}"#, nested(100_000))),
            422,
            "external_fields[0]",
            "must be an object",
        ),
        bad(PAYMENTS, amount("\"5\""), 422, "original_amount_cents", "must be a whole number of cents"),
        bad(PAYMENTS, amount("{}"), 422, "original_amount_cents", "must be a whole number of cents"),
        bad(PAYMENTS, amount("5.5"), 422, "original_amount_cents", "must be a whole number of cents"),
        bad(PAYMENTS, amount("-5"), 422, "original_amount_cents", "from 1 to"),
        bad(PAYMENTS, amount("0"), 422, "original_amount_cents", "from 1 to"),
        bad(PAYMENTS, amount("1e400"), 400, "", "number out of range"),
        bad(PAYMENTS, amount("18446744073709551617"), 422, "original_amount_cents", "must be a whole number of cents"),
        bad(PAYMENTS, amount("NaN"), 400, "", "is not JSON"),
        bad(PAYMENTS, amount("Infinity"), 400, "", "is not JSON"),
        bad(PAYMENTS, payment(r#""efective_at": "2025-02-15T09:00:00Z""#), 422, "efective_at", "is not a known field"),
        bad(PAYMENTS, payment(r#""line_item_id": "other""#), 422, "line_item_id", "is given twice"),
        bad(
            PAYMENTS,
            payment(r#""effective_at": "2025-02-15T09:00:00""#),
            422,
            "effective_at",
            "must end with an offset",
        ),
        bad(PAYMENTS, payment(r#""effective_at": "2025-02-30T09:00:00Z""#), 422, "effective_at", "that exist"),
        bad(PAYMENTS, payment(r#""effective_at": 1739629800"#), 422, "effective_at", "must be an RFC 3339 time"),
        bad(PAYMENTS, r#"{"line_item_id": "\ud800", "original_amount_cents": 5}"#, 400, "", "is not JSON"),
        bad(PAYMENTS, b"{\"line_item_id\": \"\xff\"}".to_vec(), 400, "", "is not UTF-8"),
        bad(
            PAYMENTS,
            payment(r#""external_fields": [{"key": "a\u0000", "value": ""}]"#),
            422,
            "external_fields[0].key",
            "U+0000",
        ),
        bad(PAYMENTS, r#"{"line_item_id": "a\u0000b", "original_amount_cents": 5}"#, 422, "line_item_id", "U+0000"),
        bad(PAYMENTS, r#"{"line_item_id": "dbk_x", "original_amount_cents": 5}"#, 422, "line_item_id", "dbk_"),
        bad(PAYMENTS, "", 422, "line_item_id", "is required"),
        bad(PAYMENTS, "null", 422, "", "must be an object"),
        bad(PAYMENTS, "[]", 422, "", "must be an object"),
        bad(PAYMENTS, "\"text\"", 422, "", "must be an object"),
        bad(PAYMENTS, amount("5") + " x", 400, "", "trailing characters"),
        bad(PAYMENTS, amount("5") + "{}", 400, "", "trailing characters"),
        bad(PAYMENTS, r#"{"line_item_id": "bad""#, 400, "", "EOF"),
    ]
}

fn other_bad_bodies() -> Vec<Bad> {
    let product = |more: &str| {
        format!(
            r#"{{"product_id": "bad", "product_overview": {{"product_name": "A", "product_type": "INSTALLMENT"}},
                "post_promotional_policies": {{"post_promo_len": 12}}, {more}}}"#
        )
    };
    let zone = |zone: &str| {
        product(&format!(
            r#""product_lifecycle_policies": {{"billing_cycle_policies": {{"product_time_zone": "{zone}"}}}}"#
        ))
    };
    let zone_field = "product_lifecycle_policies.billing_cycle_policies.product_time_zone";
    vec![
        bad("/products", zone("Mars/Base"), 422, zone_field, "IANA name"),
        bad("/products", zone("../../etc/passwd"), 422, zone_field, "IANA name"),
        bad(
            "/products",
            product(r#""admin": {"migration_mode": "on"}"#),
            422,
            "admin.migration_mode",
            "must be a boolean",
        ),
        bad(
            "/customers",
            r#"{"customer_id": "bad", "name_last": "L", "date_of_birth": "1980-02-30"}"#,
            422,
            "date_of_birth",
            "a date that exists",
        ),
        bad("/customers", r#"{"customer_id": "bad", "name_last": "a\u0000"}"#, 422, "name_last", "U+0000"),
        bad(
            "/accounts",
            r#"{"account_id": "bad", "product_id": "p", "summary": {"initial_principal_cents": -1}}"#,
            422,
            "summary.initial_principal_cents",
            "from 1 to",
        ),
        bad(
            "/accounts",
            r#"{"account_id": "bad", "product_id": "p"}"#,
            422,
            "summary.initial_principal_cents",
            "is required",
        ),
    ]
}

#[tokio::test]
async fn bad_bodies_are_refused_by_name_and_leave_nothing_behind() {
    let server = Server::with_account().await;
    for Bad { path, body, status, code, field, words } in bad_payments().into_iter().chain(other_bad_bodies()) {
        let shown = String::from_utf8_lossy(&body[..body.len().min(120)]).into_owned();
        let got = server.call("POST", path, Some(ADMIN), &[("content-type", "application/json")], body).await;
        assert_eq!(got.status, status, "{shown}: {}", got.text);
        let error = got.refused(status, code);
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(words), "{shown}: {message}");
        if !field.is_empty() {
            assert_eq!(error["details"][0]["field"], field, "{shown}");
        }
        assert!(got.text.len() < 3_000, "{shown}: the answer is as large as the question");
    }
    assert_eq!(server.get("/accounts").await.ok()["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(server.get("/products").await.ok()["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(server.get("/customers").await.ok()["results"], json!([]));
    let payments = server.get("/accounts/a/line_items?line_item_type=PAYMENT").await.ok();
    assert_eq!(payments["results"], json!([]));
}

#[tokio::test]
async fn bodies_of_another_type_are_refused() {
    let server = Server::with_account().await;
    let body = br#"{"line_item_id": "p1", "original_amount_cents": 5}"#;
    for headers in [
        vec![],
        vec![("content-type", "text/plain")],
        vec![("content-type", "application/x-www-form-urlencoded")],
        vec![("content-type", "application/json; charset=utf-16")],
        vec![("content-type", "application/json"), ("content-encoding", "gzip")],
    ] {
        let got = server.call("POST", PAYMENTS, Some(ADMIN), &headers, body.to_vec()).await;
        got.refused(415, "unsupported_media_type");
    }
    let headers = [("content-type", "application/json; charset=utf-8")];
    server.call("POST", PAYMENTS, Some(ADMIN), &headers, body.to_vec()).await.ok();
}
