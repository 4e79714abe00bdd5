use crate::support::Server;
use serde_json::json;

#[tokio::test]
async fn an_account_is_opened_and_answered_whole() {
    let server = Server::start().await;
    server.product("p").await;
    let account = server.account("a", "p").await;
    assert_eq!(account["account_id"], "a");
    assert_eq!(account["effective_at"], "2025-01-15T09:00:00-05:00");
    assert_eq!(account["account_product"]["product_overview"]["product_name"], "Auto 12");
    assert_eq!(account["summary"]["principal_cents"], 120_000);
    // It was opened in January, nothing has been paid, and it is June.
    assert_eq!(
        account["account_overview"],
        json!({"account_status": "SUSPENDED", "account_status_subtype": "DELINQUENT", "is_active_scra": false})
    );
}

#[tokio::test]
async fn the_same_again_changes_nothing_and_other_content_is_a_conflict() {
    let server = Server::with_account().await;
    let again = server.account("a", "p").await;
    assert_eq!(again["account_id"], "a");
    let other = json!({"account_id": "a", "product_id": "p", "summary": {"initial_principal_cents": 1}});
    let error = server.post("/accounts", other).await.refused(409, "id_taken");
    assert_eq!(error["details"][0]["field"], "account_id");
}

#[tokio::test]
async fn unsupported_fields_are_named_in_warnings() {
    let server = Server::start().await;
    server.product("p").await;
    let body = json!({"product_id": "p", "summary": {"initial_principal_cents": 1_000}, "plaid_config": {"a": 1}});
    let account = server.post("/accounts", body).await.ok();
    assert_eq!(account["warnings"], json!(["plaid_config is accepted, but not supported: it has no effect"]));
    assert!(account["account_id"].as_str().is_some_and(|id| id.starts_with("dbk_")), "{account}");
}

#[tokio::test]
async fn an_unknown_product_is_named() {
    let server = Server::start().await;
    let body = json!({"product_id": "nothing", "summary": {"initial_principal_cents": 1_000}});
    let got = server.post("/accounts", body).await;
    assert!(matches!(got.status, 404 | 422), "{}", got.text);
    assert!(got.text.contains("product"), "{}", got.text);
}
