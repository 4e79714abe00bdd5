use crate::support::Server;
use serde_json::json;

#[tokio::test]
async fn an_account_is_read_as_it_stands_stood_and_will_stand() {
    let server = Server::with_account().await;
    let payment =
        json!({"line_item_id": "p1", "original_amount_cents": 10_000, "effective_at": "2025-03-01T12:00:00Z"});
    server.post("/accounts/a/line_items/payments/payment_record", payment).await.ok();
    let paid = |account: serde_json::Value| account["summary"]["total_paid_to_date_cents"].clone();
    assert_eq!(paid(server.get("/accounts/a").await.ok()), 10_000);
    let before = "/accounts/a?effective_as_of=2025-02-28T00:00:00%2B01:00";
    assert_eq!(paid(server.get(before).await.ok()), 0);
    let unescaped = "/accounts/a?effective_as_of=2025-02-28T00:00:00+01:00";
    assert_eq!(paid(server.get(unescaped).await.ok()), 0);
    let ahead = server.get("/accounts/a?effective_as_of=2026-06-01T00:00:00Z").await.ok();
    assert!(ahead["delinquency"]["days_past_due"].as_i64() > Some(300), "{ahead}");
}

#[tokio::test]
async fn wrong_parameters_are_named() {
    let server = Server::with_account().await;
    for (path, field, rule) in [
        ("/accounts/a?as_of=x", "as_of", "is not a known parameter; the known ones are: effective_as_of"),
        ("/accounts/a?effective_as_of=2025-03-01", "effective_as_of", "must be an RFC 3339 time with an offset"),
        ("/accounts/a?effective_as_of=2025-03-01T00:00:00", "effective_as_of", "must end with an offset"),
        ("/accounts/a?effective_as_of=2025-02-30T00:00:00Z", "effective_as_of", "must be a date and time that exist"),
        (
            "/accounts/a?effective_as_of=2025-03-01T00:00:00Z&effective_as_of=2025-03-01T00:00:00Z",
            "effective_as_of",
            "is given twice",
        ),
        ("/accounts?account_status=GONE", "account_status", "must be one of ACTIVE, SUSPENDED, CLOSED"),
        ("/accounts?product_id=a%00b", "product_id", "must not contain the character U+0000"),
        ("/accounts?days_past_due_at_least=-1", "days_past_due_at_least", "must be a whole number from 0 to 36500"),
        ("/accounts?days_past_due_at_most=36501", "days_past_due_at_most", "must be a whole number from 0 to 36500"),
        (
            "/accounts?days_past_due_at_most=3&effective_as_of=2025-03-01T00:00:00Z",
            "days_past_due_at_most",
            "cannot be combined with effective_as_of",
        ),
        ("/customers?days_past_due_at_least=1", "days_past_due_at_least", "is not a known parameter"),
        ("/accounts?limit=0", "limit", "must be a whole number from 1 to 200"),
        ("/accounts/a/line_items?line_item_type=GIFT", "line_item_type", "must be one of"),
        ("/accounts/a/line_items?line_item_status=GONE", "line_item_status", "must be one of"),
        ("/accounts/a/line_items?effective_at_after=x", "effective_at_after", "must be an RFC 3339 time"),
        ("/accounts/a/events?limit=many", "limit", "must be a whole number"),
        ("/accounts/a/notification_config?x=1", "x", "the known ones are: none"),
    ] {
        let message = server.get(path).await.refused_field(422, field);
        assert!(message.contains(rule), "{path}: {message}");
    }
}

#[tokio::test]
async fn lists_are_cut_down_by_words_and_lateness() {
    let server = Server::with_account().await;
    let customer = json!({"customer_id": "c", "name_first": "Jane", "assign_to_accounts": [{"account_id": "a"}]});
    server.post("/customers", customer).await.ok();
    let days = server.get("/accounts/a").await.ok()["delinquency"]["days_past_due"].as_i64().expect("days");
    for (path, expected) in [
        ("/accounts?search=jane".to_owned(), 1),
        ("/accounts?search=jane%20doe".to_owned(), 0),
        ("/accounts?search=a".to_owned(), 1),
        ("/accounts?search=%00".to_owned(), 0),
        ("/accounts?search=".to_owned(), 1),
        (format!("/accounts?days_past_due_at_least={days}&search=JAN"), 1),
        (format!("/accounts?days_past_due_at_least={}", days + 1), 0),
        (format!("/accounts?days_past_due_at_most={days}"), 1),
        ("/customers?search=jane".to_owned(), 1),
        ("/customers?search=john".to_owned(), 0),
    ] {
        let page = server.get(&path).await.ok();
        assert_eq!(page["results"].as_array().map(Vec::len), Some(expected), "{path}: {page}");
    }
    let long = format!("/accounts?search={}", "x".repeat(201));
    let rule = server.get(&long).await.refused_field(422, "search");
    assert!(rule.contains("must have at most 200 characters"), "{rule}");
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let server = Server::with_account().await;
    for path in [
        "/accounts/b",
        "/accounts/A",
        "/accounts/a%20b",
        "/accounts/%00",
        "/accounts/%FF",
        "/accounts/b/amortization_schedule",
        "/accounts/b/events",
        "/accounts/b/audit_trails/account_status_changes",
        "/accounts/b/notification_config",
        "/accounts/b/line_items",
        "/accounts/a/line_items/nothing",
        "/products/nothing",
        "/products/nothing/migration_mode",
        "/customers/nothing",
    ] {
        server.get(path).await.refused(404, "not_found");
    }
}

#[tokio::test]
async fn the_schedule_has_a_row_for_each_instalment() {
    let server = Server::with_account().await;
    let schedule = server.get("/accounts/a/amortization_schedule").await.ok();
    let rows = schedule["results"].as_array().expect("rows");
    assert_eq!(rows.len(), 12);
    let principal: i64 = rows.iter().map(|row| row["am_principal_cents"].as_i64().expect("cents")).sum();
    assert_eq!(principal, 120_000);
}

#[tokio::test]
async fn the_trails_tell_what_happened() {
    let server = Server::with_account().await;
    let events = server.get("/accounts/a/events?limit=200").await.ok();
    assert_eq!(events["results"][0]["state"], "PROCESSED", "{events}");
    let changes = server.get("/accounts/a/audit_trails/account_status_changes").await.ok();
    assert_eq!(changes["results"][0]["account_overview"]["account_status"], "ACTIVE", "{changes}");
}
