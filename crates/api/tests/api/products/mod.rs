use crate::support::Server;
use serde_json::{Value, json};

#[tokio::test]
async fn a_product_of_a_few_lines_has_every_default() {
    let server = Server::start().await;
    let product = server.product("p").await;
    assert_eq!(product["product_overview"]["product_name"], "Auto 12");
    let billing = &product["product_lifecycle_policies"]["billing_cycle_policies"];
    assert_eq!(billing["cycle_interval"], "1 month");
    assert_eq!(billing["product_time_zone"], "America/New_York");
    assert_eq!(product["post_promotional_policies"]["post_promo_default_interest_rate_percent"], 12);
    assert_eq!(server.get("/products/p").await.ok(), product);
    assert_eq!(server.get("/products").await.ok()["results"][0]["product_id"], "p");
}

#[tokio::test]
async fn migration_mode_is_turned_on_and_off() {
    let server = Server::with_account().await;
    let on = server.put("/products/p/migration_mode", json!({"migration_mode": true})).await.ok();
    assert_eq!(on["migration_mode"], true);
    let payment = json!({"line_item_id": "p1", "original_amount_cents": 500});
    server.post("/accounts/a/line_items/payments/payment_record", payment).await.ok();
    let progress = server.get("/products/p/migration_mode").await.ok();
    assert_eq!((&progress["state"], &progress["held_events"]), (&json!("HOLDING"), &json!(1)), "{progress}");
    server.put("/products/p/migration_mode", json!({"migration_mode": false})).await.ok();
    server.service.settle_due().await.expect("the release runs");
    let progress = server.get("/products/p/migration_mode").await.ok();
    assert_eq!((&progress["state"], &progress["held_events"]), (&json!("NORMAL"), &json!(0)), "{progress}");
}

/// Unsupported settings that would affect money are refused by every call that accepts them, and nothing is stored.
#[tokio::test]
async fn what_is_not_supported_is_refused_with_what_to_use_instead() {
    let server = Server::start().await;
    server.product("p").await;
    let product = |id: &str| {
        json!({"product_id": id, "product_overview": {"product_name": "A", "product_type": "INSTALLMENT"},
            "post_promotional_policies": {"post_promo_len": 12}})
    };
    let account = |id: &str| json!({"account_id": id, "product_id": "p", "summary": {"initial_principal_cents": 1000}});
    let customer = |id: &str| json!({"customer_id": id, "name_last": "Li"});
    let autopay = json!({"payment_processor_config": {"autopay_enabled": true}});
    let discount = json!({"discounts": {"percent": 1}});
    let monthly = json!({"summary": {"initial_principal_cents": 1000, "monthly_fee_cents": 100}});
    let promotion = json!({"promotional_policies": {"promo_len": 6}});
    for (path, body, more, field, instead) in [
        ("/products", product("x"), &autopay, "payment_processor_config.autopay_enabled", "payment_record"),
        ("/accounts", account("x"), &autopay, "payment_processor_config.autopay_enabled", "payment_record"),
        ("/customers", customer("x"), &autopay, "payment_processor_config.autopay_enabled", "payment_record"),
        ("/products", product("x"), &discount, "discounts", "debit_offsets"),
        ("/accounts", account("x"), &discount, "discounts", "debit_offsets"),
        ("/accounts", account("x"), &monthly, "summary.monthly_fee_cents", "manual_fees"),
        ("/products", product("x"), &promotion, "promotional_policies.promo_len", "interest_rate_percent"),
    ] {
        let mut body = body;
        for (name, value) in more.as_object().expect("an object") {
            body[name] = value.clone();
        }
        let error = server.post(path, body).await.refused(501, "not_supported");
        assert_eq!(error["details"][0]["field"], field, "{error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(instead)), "{error}");
        server.get(&format!("{path}/x")).await.refused(404, "not_found");
    }
    let off = json!({"autopay": false, "autopay_enabled": false});
    let mut body = account("a");
    body["payment_processor_config"] = off;
    let warnings = server.post("/accounts", body).await.ok()["warnings"].clone();
    assert_eq!(warnings, json!(["payment_processor_config is accepted, but not supported: it has no effect"]));
}

/// A metro2_config is stored with its object, returned unchanged, and named in the warnings.
#[tokio::test]
async fn a_metro2_config_is_stored_given_back_and_warned_of() {
    let server = Server::start().await;
    let config = json!({"portfolio_type": "I", "account_type": "00", "ecoa": [1, 2, null], "nested": {"a": true}});
    let warning = "metro2_config is stored and returned, but not supported: nothing is reported to credit bureaus";
    let calls = [
        (
            "/products",
            json!({"product_id": "p", "product_overview": {"product_name": "A", "product_type": "INSTALLMENT"},
            "post_promotional_policies": {"post_promo_len": 12}}),
        ),
        ("/accounts", json!({"account_id": "p", "product_id": "p", "summary": {"initial_principal_cents": 1000}})),
        ("/customers", json!({"customer_id": "p", "name_last": "Li"})),
    ];
    for (path, body) in calls {
        let with = |config: &Value| {
            let mut body = body.clone();
            body["metro2_config"] = config.clone();
            body
        };
        for (wrong, rule) in [
            (json!({"rate": 1.5}), "send 1.5 as text"),
            (json!({"a": [i64::MIN]}), "send -9223372036854775808 as text"),
            (json!({"1": "x"}), "must not be a digit"),
            (json!([]), "must be an object"),
            (json!({"text": "x".repeat(17_000)}), "at most 16384 bytes"),
            (json!({"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}}}), "more than 8 levels deep"),
        ] {
            let error = server.post(path, with(&wrong)).await.refused(422, "invalid_request");
            assert_eq!(error["details"][0]["field"], "metro2_config", "{error}");
            assert!(error["message"].as_str().is_some_and(|message| message.contains(rule)), "{error}");
        }
        let made = server.post(path, with(&config)).await.ok();
        assert_eq!((&made["metro2_config"], &made["warnings"]), (&config, &json!([warning])), "{path}");
        let kept = server.get(&format!("{path}/p")).await.ok();
        assert_eq!((&kept["metro2_config"], &kept["warnings"]), (&config, &json!([warning])), "{path}");
        assert_eq!(server.get(path).await.ok()["results"][0]["metro2_config"], config, "{path}");
    }
    let other = json!({"metro2_config": {"portfolio_type": "R"}});
    assert_eq!(server.put("/customers/p", other.clone()).await.ok()["metro2_config"], other["metro2_config"]);
    let gone = server.put("/customers/p", json!({"metro2_config": null})).await.ok();
    assert!(gone["metro2_config"].is_null() && gone["warnings"].is_null(), "{gone}");
}
