//! Products: their terms in words, the form with every policy, and a complete migration.

use crate::setup::{ConsoleSetup, KeptFromAll, assert_harmless, form_of, json_of, view_of};
use daybook_service::changes::ChangeRequest;
use daybook_testkit::postgres::Server;
use serde_json::json;

#[tokio::test]
async fn terms_are_told_in_words() {
    let setup = ConsoleSetup::filled().await;
    let list = setup.get("/console/products").await.page();
    assert!(list.contains("Product loan") && list.contains("/console/accounts?product=loan"), "{list}");
    let page = setup.get("/console/products/loan").await.page();
    for words in [
        "12 instalments, one every month, at 12 % a year",
        "due at the end of the cycle",
        "$15.00 for each late instalment",
        "After one late instalment the account is delinquent",
        "never charged off automatically",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let csv = setup.get("/console/products?format=csv").await.page();
    assert!(csv.contains("loan,Product loan,INSTALLMENT,12,12,America/New_York,NORMAL,"), "{csv}");
}

#[tokio::test]
async fn a_product_is_made_by_its_form() {
    let setup = ConsoleSetup::new().await;
    let form = setup.get("/console/products/new").await.page();
    for group in ["Billing cycle", "Late fees", "Payment allocation", "Backdating", "Migration mode"] {
        assert!(form.contains(group), "{group}");
    }
    let life = |name: &str| format!("product_lifecycle_policies.{name}");
    let (due, order) = (life("billing_cycle_policies.cycle_due_interval"), life("payment_pouring_policies.order"));
    let (zone, fee) =
        (life("billing_cycle_policies.product_time_zone"), life("default_attributes.default_late_fee_cents"));
    let grace = life("fee_policies.late_fee_grace_counts_due_date");
    let typed = [
        ("product_overview.product_name", "Auto <36>"),
        ("product_overview.product_type", "INSTALLMENT"),
        ("post_promotional_policies.post_promo_len", "36"),
        ("post_promotional_policies.post_promo_default_interest_rate_percent", "6.25"),
        ("product_id", "auto-36"),
        (due.as_str(), "5 days"),
        (order.as_str(), "due_principal, DUE_INTEREST"),
        (zone.as_str(), "America/Chicago"),
        (fee.as_str(), "25"),
        (grace.as_str(), "true"),
        ("preview_principal", "12,000.00"),
        ("preview_start", "2025-03-15"),
        ("once", "only this form"),
    ];
    let piece = setup.post("/console/products/preview", &typed).await.page();
    assert!(piece.contains("Schedule: 36 instalments") && !piece.contains("<html"), "{piece}");
    assert!(piece.contains("20 Apr 2025"), "the first instalment is due five days after its cycle: {piece}");
    assert!(view_of(setup.service.list_products(&setup.who, Default::default()).await)["results"] == json!([]));
    assert_eq!(setup.post("/console/products/new", &typed).await.leads_to(), "/console/products/auto-36");
    assert_eq!(setup.post("/console/products/new", &typed).await.leads_to(), "/console/products/auto-36", "sent twice");
    let other = typed.map(|(name, value)| if name == "product_id" { (name, "auto-37") } else { (name, value) });
    let refused = setup.post("/console/products/new", &other).await.body;
    assert!(refused.contains("This form was already sent once, with other values. Open the form again."), "{refused}");
    let made = view_of(setup.service.get_product(&setup.who, "auto-36").await);
    let policies = &made["product_lifecycle_policies"];
    assert_eq!(policies["payment_pouring_policies"]["order"], json!(["DUE_PRINCIPAL", "DUE_INTEREST"]));
    assert_eq!(policies["default_attributes"]["default_late_fee_cents"], 2_500);
    assert_eq!(policies["fee_policies"]["late_fee_grace_counts_due_date"], true);
    assert_eq!(made["post_promotional_policies"]["post_promo_default_interest_rate_percent"], 6.25);
    let page = setup.get("/console/products/auto-36").await.page();
    assert!(page.contains("Auto &#60;36&#62;") && !page.contains("<36>"), "{page}");
}

#[tokio::test]
async fn what_is_wrong_with_a_product_is_said_beside_the_field() {
    let setup = ConsoleSetup::new().await;
    let order = "product_lifecycle_policies.payment_pouring_policies.order";
    for (field, text) in [
        ("product_overview.product_name", ""),
        ("post_promotional_policies.post_promo_len", "many"),
        ("post_promotional_policies.post_promo_len", "0"),
        ("product_lifecycle_policies.billing_cycle_policies.cycle_interval", "a while"),
        ("product_lifecycle_policies.billing_cycle_policies.product_time_zone", "Mars/Olympus"),
        ("product_id", "<script>alert(1)</script>"),
        (order, "DUE_LOVE"),
    ] {
        let mut typed = vec![(field, text)];
        for usual in [("product_overview.product_name", "A"), ("post_promotional_policies.post_promo_len", "12")] {
            if usual.0 != field {
                typed.push(usual);
            }
        }
        let answer = setup.post("/console/products/new", &typed).await;
        assert_eq!(answer.status, 422, "{field}");
        let wrong = format!("id=\"f-{}-wrong\"", field.replace('.', "-"));
        assert!(answer.body.contains(&wrong), "{field}: {}", answer.body);
        assert_harmless(&answer.body);
        let piece = setup.post("/console/products/preview", &typed).await.page();
        assert!(piece.contains("There is no schedule yet"), "{field}: {piece}");
        assert_harmless(&piece);
    }
}

#[tokio::test]
async fn history_is_held_and_released() {
    let setup = ConsoleSetup::new().await;
    setup.product("old", json!({}), false).await;
    let ask = setup.get("/console/products/old/migration?to=on").await.page();
    assert!(ask.contains("recorded but not processed") && ask.contains("migration_mode"), "{ask}");
    setup.post("/console/products/old/migration", &[("to", "on")]).await.leads_to();
    setup.account("a1", "old", "2025-01-15T09:00:00-05:00", json!({})).await;
    setup.pay("a1", "p1", "2025-02-10T09:00:00-05:00", 10_662).await;
    let page = setup.get("/console/products/old").await.page();
    assert!(page.contains("Held now: 2 events of 1 account."), "{page}");
    assert!(!page.contains("data-progress"), "nothing moves while it holds");
    let ask = setup.get("/console/products/old/migration?to=off&historical_webhooks=SUPPRESS").await.page();
    assert!(ask.contains("No webhooks will be sent") && ask.contains("SUPPRESS"), "{ask}");
    let off = [("to", "off"), ("historical_webhooks", "SUPPRESS"), ("once", "1")];
    setup.post("/console/products/old/migration", &off).await.leads_to();
    let page = setup.get("/console/products/old").await.page();
    assert!(page.contains("data-progress=\"/console/products/old/progress\"") && page.contains("Refresh"), "{page}");
    setup.settle().await;
    let stream = setup.get("/console/products/old/progress").await;
    assert!(stream.header("content-type").starts_with("text/event-stream"));
    let stream = stream.page();
    assert!(stream.contains("event: done") && stream.contains("1 of 1 account done"), "{stream}");
    let page = setup.get("/console/products/old").await.page();
    assert!(page.contains("The last release of held events ended") && !page.contains("data-progress"), "{page}");
    let account = view_of(setup.service.get_account(&setup.who, "a1", None).await);
    assert_eq!(account["held_events"], 0);
    assert_eq!(setup.get("/console/products/nothing/progress").await.status, 404);
}

#[tokio::test]
async fn the_switch_is_turned_by_on_and_off_alone() {
    let setup = ConsoleSetup::new().await;
    setup.product("old", json!({}), true).await;
    let path = "/console/products/old/migration";
    for query in ["", "?to=banana", "?to=ON", "?to="] {
        assert_eq!(setup.get(&format!("{path}{query}")).await.status, 422, "{query}");
    }
    for fields in [vec![], vec![("to", "banana")], vec![("to", "")]] {
        let refused = setup.post(path, &fields).await;
        assert_eq!(refused.status, 422, "{fields:?}");
        assert!(refused.body.contains("must be on, to hold events, or off, to release them"), "{}", refused.body);
    }
    let product = view_of(setup.service.get_product(&setup.who, "old").await);
    assert_eq!(product["migration_state"], "HOLDING");
}

#[tokio::test]
async fn a_flag_that_says_no_means_no() {
    let setup = ConsoleSetup::new().await;
    let counts = "product_lifecycle_policies.fee_policies.late_fee_grace_counts_due_date";
    for (id, word, holds) in [("p1", "false", false), ("p2", "true", true), ("p3", "on", true)] {
        let typed = [
            ("product_id", id),
            ("product_overview.product_name", "A"),
            ("post_promotional_policies.post_promo_len", "12"),
            ("admin.migration_mode", word),
            (counts, word),
        ];
        setup.post("/console/products/new", &typed).await.leads_to();
        let made = view_of(setup.service.get_product(&setup.who, id).await);
        assert_eq!(made["migration_state"] == "HOLDING", holds, "{word}: {made}");
        let policies = &made["product_lifecycle_policies"]["fee_policies"];
        assert_eq!(policies["late_fee_grace_counts_due_date"], holds, "{word}");
    }
    let typed = [
        ("product_overview.product_name", "A"),
        ("post_promotional_policies.post_promo_len", "12"),
        ("admin.migration_mode", "banana"),
        (counts, "false"),
    ];
    let refused = setup.post("/console/products/new", &typed).await;
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("must be true or false") && !refused.body.contains(" checked"), "{}", refused.body);
}

#[tokio::test]
async fn a_comma_is_for_thousands() {
    let setup = ConsoleSetup::new().await;
    let fee = "product_lifecycle_policies.default_attributes.default_late_fee_cents";
    let make = async |id: &str, text: &str| {
        let typed = [
            ("product_id", id),
            ("product_overview.product_name", "A"),
            ("post_promotional_policies.post_promo_len", "12"),
            (fee, text),
        ];
        setup.post("/console/products/new", &typed).await
    };
    for wrong in ["15,00", "1,5", "12,34.56"] {
        let refused = make("p", wrong).await;
        assert_eq!(refused.status, 422, "{wrong}");
        assert!(
            refused.body.contains("a point before the cents and commas only between thousands"),
            "{}",
            refused.body
        );
        assert!(refused.body.contains(&format!("value=\"{wrong}\"")), "what was typed stays");
    }
    make("p", "12,345.67").await.leads_to();
    let made = view_of(setup.service.get_product(&setup.who, "p").await);
    assert_eq!(made["product_lifecycle_policies"]["default_attributes"]["default_late_fee_cents"], 1_234_567);
    let refused = make("q", "-1").await;
    assert!(refused.body.contains("must be at least $0.00 and at most $100,000,000,000.00"), "{}", refused.body);
}

#[tokio::test]
async fn a_release_tells_how_far_it_is_until_it_is_done() {
    let setup = ConsoleSetup::new().await;
    setup.product("old", json!({}), true).await;
    setup.account("a1", "old", "2025-01-15T09:00:00-05:00", json!({})).await;
    setup.post("/console/products/old/migration", &[("to", "off")]).await.leads_to();
    // The stream is opened before the release, which then happens in the background.
    let (stream, ()) = tokio::join!(setup.get("/console/products/old/progress"), async {
        tokio::task::yield_now().await;
        setup.settle().await;
    });
    let stream = stream.page();
    assert!(stream.contains("event: done"), "{stream}");
    assert_eq!(stream.matches("event: done").count(), 1, "{stream}");
}

#[tokio::test]
async fn an_account_that_cannot_be_released_is_told_with_its_reason() {
    let setup = ConsoleSetup::new().await;
    setup.product("old", json!({}), true).await;
    setup.account("bad", "old", "2025-01-15T09:00:00-05:00", json!({})).await;
    setup.account("good", "old", "2025-01-15T09:00:00-05:00", json!({})).await;
    // Waives a fee that does not exist: only the release can detect this.
    let waiver = json!({"line_item_id": "w", "effective_at": "2025-02-10T09:00:00-05:00"});
    json_of(
        setup
            .service
            .change_account(
                &setup.who,
                None,
                "bad",
                ChangeRequest::Waiver("dbk_late_fee_1".to_owned(), form_of(&waiver)),
            )
            .await,
    );
    setup.post("/console/products/old/migration", &[("to", "off")]).await.leads_to();
    setup.settle().await;
    let page = setup.get("/console/products/old").await.page();
    assert!(page.contains("/console/accounts/bad") && !page.contains("/console/accounts/good"), "{page}");
    assert!(page.contains("Release the held events again"), "{page}");
    let home = setup.get("/console").await.page();
    assert!(home.contains("1 account has held events that could not be released"), "{home}");
    let list = setup.get("/console/products?state=failed").await.page();
    assert!(list.contains("1 account failed"), "{list}");
}

/// While held events are counted, the page states this.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_long_to_count_is_shown_later() {
    let address = Server::shared().migrated_database();
    let setup = ConsoleSetup::on(&address, "TEST").await;
    setup.product("old", json!({}), true).await;
    setup.account("a1", "old", "2025-02-01T12:00:00-05:00", json!({})).await;
    let kept = KeptFromAll::of(&address, "accounts").await;
    let page = setup.get("/console/products/old").await.page();
    assert!(
        page.contains("events are held") && page.contains("Daybook is counting") && page.contains("Release the held"),
        "{page}"
    );
    let ask = setup.get("/console/products/old/migration?to=off").await.page();
    assert!(ask.contains("Daybook will process all held events now"), "{ask}");
    kept.give_back().await;
    let counted = loop {
        let page = setup.get("/console/products/old").await.page();
        if !page.contains("Daybook is counting") {
            break page;
        }
    };
    assert!(counted.contains("1 event of 1 account."), "{counted}");
}

/// Values that are not numbers and values that break a rule are all reported together, with their count.
#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once() {
    let setup = ConsoleSetup::filled().await;
    let products = [
        ("product_overview.product_name", "Auto"),
        ("product_id", "my id"),
        ("post_promotional_policies.post_promo_len", "0"),
        ("post_promotional_policies.post_promo_default_interest_rate_percent", "x"),
        ("product_lifecycle_policies.fee_policies.late_fee_grace", "soon"),
    ];
    let page = setup.post("/console/products/new", &products).await.body;
    assert!(page.contains("Nothing was saved. Correct 4 fields:"), "{page}");
    let customers = [("customer_id", "my id"), ("name_last", "Li"), ("email", "nowhere"), ("date_of_birth", "then")];
    let page = setup.post("/console/customers/new", &customers).await.body;
    assert!(page.contains("Nothing was saved. Correct 3 fields:"), "{page}");
    let one = [("product_overview.product_name", "Auto"), ("post_promotional_policies.post_promo_len", "0")];
    let page = setup.post("/console/products/new", &one).await.body;
    assert!(page.contains("Nothing was saved. Correct one field:"), "{page}");
}
