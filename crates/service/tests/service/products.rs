//! Products: their content, and products that an earlier build stored.

use crate::support::{Home, Trial, code_of, form_of, json_of, on_both, product, view_of};
use daybook_service::form::NewProduct;
use daybook_service::secrets::hash;
use daybook_store::batch::{Batch, ProductWrite, Unit};
use daybook_store::portfolio_queries::{SearchWords, SearchedKind};
use daybook_store::records::{Mode, ProductKey, ProductRow};
use serde_json::{Value, json};

on_both!(
    a_close_of_business_means_the_same_all_year,
    a_product_of_the_build_before_keeps_its_close_of_business,
    a_metro2_config_goes_into_messages_as_it_came,
);

fn close(product: &Value) -> &Value {
    &product["product_lifecycle_policies"]["billing_cycle_policies"]["close_of_business_time"]
}

fn policies(time: &str) -> Value {
    json!({ "billing_cycle_policies": { "close_of_business_time": time } })
}

async fn a_close_of_business_means_the_same_all_year(home: Home) {
    let trial = Trial::at(home, "2026-07-10T12:00:00-04:00").await;
    for (season, now) in [("july", "2026-07-10T12:00:00-04:00"), ("november", "2026-11-10T12:00:00-05:00")] {
        trial.go_to(now).await;
        for (id, time) in [("none", "17:00:00"), ("summer", "17:00:00-04:00"), ("winter", "17:00:00-05:00")] {
            let made = trial.product(&format!("{season}-{id}"), policies(time)).await;
            assert_eq!(close(&made), "17:00:00", "{time} in {season}");
        }
        let foreign = product(&format!("{season}-foreign"), &policies("17:00:00-08:00"));
        let refused = trial.service.create_product(&trial.who, None, form_of(&foreign)).await;
        assert_eq!(code_of(refused), "invalid_request");
    }
}

/// The previous build converted the offset to the zone: `17:00:00-08:00` was stored as 20:00:00 in New York.
async fn a_product_of_the_build_before_keeps_its_close_of_business(home: Home) {
    let trial = Trial::at(home, "2026-07-10T12:00:00-04:00").await;
    let sent = product("old", &policies("17:00:00-08:00"));
    let form: NewProduct = form_of(&sent);
    let written = serde_json::to_string(&form).expect("a form can be written");
    let row = ProductRow {
        key: ProductKey { org: trial.who.org, product: "old".into() },
        body: written.replace("17:00:00-08:00", "20:00:00"),
        content_hash: hash(written.as_bytes()),
        created_at: trial.clock_now(),
        mode: Mode { version: 1, ..Mode::default() },
    };
    let words = ["12", "auto"].map(str::to_owned).to_vec();
    let words = SearchWords { org: trial.who.org, kind: SearchedKind::Product, id: "old".into(), words, is_new: true };
    let products = vec![ProductWrite::Insert(Box::new(row))];
    let unit = Unit { products, words: vec![words], ..Unit::default() };
    trial.store.commit(Batch { units: vec![unit] }).await.expect("it is written");
    let read = view_of(trial.service.get_product(&trial.who, "old").await);
    assert_eq!(close(&read), "20:00:00");
    // Sent again, it is the same product, although its offset would be refused in a new one.
    let again = json_of(trial.service.create_product(&trial.who, None, form_of(&sent)).await);
    assert_eq!(again, read);
    let account = trial.account("old", "a1", "2026-03-15T00:00:00-04:00").await;
    assert_eq!(account["cycle_type"]["close_of_business_time"], "20:00:00");
    trial.verify().await;
}

async fn a_metro2_config_goes_into_messages_as_it_came(home: Home) {
    let trial = Trial::at(home, "2026-04-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    let config = json!({ "portfolio_type": "I", "ecoa_code": 1 });
    trial
        .account_with(json!({ "product_id": "auto-12", "account_id": "a1", "metro2_config": config,
            "effective_at": "2026-03-15T00:00:00-04:00" }))
        .await;
    trial.go_to("2026-04-20T12:00:00-04:00").await;
    assert_eq!(trial.read("a1").await["metro2_config"], config);
    let messages = trial.messages("a1").await;
    let created = messages.iter().find(|message| message.event == "account_create").expect("it is announced");
    assert_eq!(crate::support::data(created)["object"]["metro2_config"], config);
    trial.verify().await;
}
