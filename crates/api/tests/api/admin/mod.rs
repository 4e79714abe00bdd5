use crate::support::{ADMIN, Server};
use daybook_api::ApiSettings;
use serde_json::json;

#[tokio::test]
async fn an_account_is_rolled_by_query_or_body() {
    let server = Server::with_account().await;
    let path = "/admin/roll/account?account_id=a&effective_at=2025-07-20T00:00:00+02:00";
    let rolled = server.call("PATCH", path, Some(ADMIN), &[], Vec::new()).await.ok();
    assert_eq!(rolled["account_id"], "a");
    assert_eq!(rolled["rolled_to"], "2025-07-19T18:00:00-04:00");
    assert_eq!(rolled["failed_events"], 0);
    let body = json!({"account_id": "a", "effective_at": "2025-08-20T00:00:00Z", "roll_webhooks": true});
    let rolled = server.post("/admin/roll/account", body).await.ok();
    assert!(rolled["successful_events"].as_u64() > Some(0), "{rolled}");
    let split = server
        .json("PATCH", "/admin/roll/account?account_id=a", json!({"exclusive_end": "2025-08-21T00:00:00Z"}))
        .await;
    split.ok();
    let account = server.get("/accounts/a").await.ok();
    assert_eq!(account["processed_through"], "2025-08-20T19:59:59.999999-04:00");
}

#[tokio::test]
async fn a_roll_says_what_it_lacks() {
    let server = Server::with_account().await;
    server.post("/admin/roll/account", json!({})).await.refused_field(422, "account_id");
    server.post("/admin/roll/account", json!({"account_id": "a"})).await.refused_field(422, "effective_at");
    server.post("/admin/roll/account?acount_id=a", json!({})).await.refused_field(422, "acount_id");
    let unknown = json!({"account_id": "b", "effective_at": "2025-08-20T00:00:00Z"});
    server.post("/admin/roll/account", unknown).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_live_organization_is_not_rolled() {
    let server = Server::with(ApiSettings::default(), "LIVE").await;
    server.product("p").await;
    server.account("a", "p").await;
    let body = json!({"account_id": "a", "effective_at": "2025-08-20T00:00:00Z"});
    server.post("/admin/roll/account", body).await.refused(403, "live_environment");
}

#[tokio::test]
async fn servicing_does_not_roll() {
    let server = Server::with_account().await;
    let (_, secret) = server.key("SERVICING").await;
    let path = "/admin/roll/account?account_id=a&effective_at=2025-07-20T00:00:00Z";
    server.call("PATCH", path, Some(&secret), &[], Vec::new()).await.refused(403, "not_authorized");
}
