use crate::support::Server;
use serde_json::json;

#[tokio::test]
async fn a_status_is_set() {
    let server = Server::with_account().await;
    let body = json!({"account_status": "SUSPENDED", "account_substatus": "BANKRUPTCY"});
    let account = server.put("/accounts/a/status", body).await.ok();
    let expected =
        json!({"account_status": "SUSPENDED", "account_status_subtype": "BANKRUPTCY", "is_active_scra": false});
    assert_eq!(account["account_overview"], expected);
}

#[tokio::test]
async fn a_pair_that_does_not_exist_is_refused() {
    let server = Server::with_account().await;
    let body = json!({"account_status": "ACTIVE", "account_substatus": "PAID_OFF"});
    let message = server.put("/accounts/a/status", body).await.refused_field(422, "account_substatus");
    assert!(message.starts_with("must be one of ") && message.ends_with(" with account_status ACTIVE"), "{message}");
}

#[tokio::test]
async fn notices_are_configured_and_read() {
    let server = Server::with_account().await;
    let body = json!({"notification_type": "payment_due_date", "time_offset": "-3 days", "time": "09:00:00"});
    let set = server.put("/accounts/a/notification_config", body).await.ok();
    assert_eq!(set["results"][0]["time_offset"], "-3 days", "{set}");
    let got = server.get("/accounts/a/notification_config").await.ok();
    assert_eq!(got, set);
}
