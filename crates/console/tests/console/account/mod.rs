//! One account: the content of its pages, and the changes made from them. The amounts are those of the test cases.

mod acting;
mod changing;
mod looking;

use crate::setup::{Answer, ConsoleSetup, PASSWORD, encoded, form_of, json_of, view_of};
use serde_json::{Value, json};

/// The product of test case 5: three instalments at 12 %, five days of grace, a late fee of 15.00, a reversal fee of
/// 25.00.
pub async fn product_of_three(setup: &ConsoleSetup) {
    let form = json!({
        "product_id": "auto-3",
        "product_overview": {"product_name": "Auto 3", "product_type": "INSTALLMENT"},
        "post_promotional_policies": {"post_promo_len": 3, "post_promo_default_interest_rate_percent": 12.0},
        "product_lifecycle_policies": {
            "fee_policies": {"late_fee_grace": "5 days"},
            "default_attributes": {"default_late_fee_cents": 1_500, "default_payment_reversal_fee_cents": 2_500},
        },
    });
    json_of(setup.service.create_product(&setup.who, None, form_of(&form)).await);
}

/// The same setup at another time. Sessions have ended by then, so the user signs in again.
pub async fn at(setup: &ConsoleSetup, now: &str) -> ConsoleSetup {
    setup.go_to(now).await;
    let mut later = setup.clone();
    later.session = setup.service.sign_in("ada@example.com", PASSWORD, None).await.expect("she is known");
    later
}

/// Elena of test case 5, who has paid her first instalment: account `loan-05-elena` on 1 March at noon.
pub async fn elena() -> ConsoleSetup {
    let setup = ConsoleSetup::new().await;
    setup.go_to("2025-01-15T12:00:00-05:00").await;
    product_of_three(&setup).await;
    setup.account("loan-05-elena", "auto-3", "2025-01-15T12:00:00-05:00", json!({})).await;
    setup.go_to("2025-02-10T12:00:00-05:00").await;
    setup.pay("loan-05-elena", "p1", "2025-02-10T12:00:00-05:00", 40_803).await;
    at(&setup, "2025-03-01T12:00:00-05:00").await
}

/// Ben of test case 2, loaded in migration mode and not released, on 10 May.
pub async fn ben() -> ConsoleSetup {
    let setup = ConsoleSetup::new().await;
    setup.go_to("2025-05-10T00:00:00-04:00").await;
    setup.product("auto-12", json!({}), true).await;
    setup.customer(&json!({"customer_id": "ben", "name_first": "Ben", "name_last": "Okafor"})).await;
    let more = json!({"assign_customers": [{"customer_id": "ben"}]});
    setup.account("loan-02-ben", "auto-12", "2025-01-15T00:00:00-05:00", more).await;
    setup.pay("loan-02-ben", "p1", "2025-02-15T09:00:00-05:00", 10_662).await;
    setup.pay("loan-02-ben", "p2", "2025-05-01T09:00:00-04:00", 25_000).await;
    at(&setup, "2025-05-10T00:00:00-04:00").await
}

/// Releases the held events of a product.
pub async fn release(setup: &ConsoleSetup, product: &str) {
    let off = form_of(&json!({"migration_mode": false}));
    json_of(setup.service.set_migration_mode(&setup.who, None, product, off).await);
    setup.settle().await;
}

/// The confirmation page.
pub async fn confirmation(setup: &ConsoleSetup, path: &str, fields: &[(&str, &str)]) -> String {
    setup.get(&format!("{path}/confirm?{}", encoded(fields))).await.page()
}

/// Submits the form of a confirmation page unchanged.
pub async fn send(setup: &ConsoleSetup, path: &str, page: &str) -> Answer {
    let fields = hidden(page);
    assert!(fields.iter().any(|(name, value)| name == "once" && value.len() > 20), "{page}");
    let fields: Vec<(&str, &str)> =
        fields.iter().filter(|(name, _)| name != "csrf").map(|(name, value)| (name.as_str(), value.as_str())).collect();
    setup.post(path, &fields).await
}

/// Makes a change: opens the confirmation page and submits it.
pub async fn act(setup: &ConsoleSetup, path: &str, fields: &[(&str, &str)]) -> String {
    let page = confirmation(setup, path, fields).await;
    send(setup, path, &page).await.leads_to().to_owned()
}

/// The hidden fields of the form that changes something.
pub fn hidden(page: &str) -> Vec<(String, String)> {
    let forms = page.split("<form method=\"post\"").skip(1).map(|rest| rest.split("</form>").next().unwrap_or(""));
    let form = forms.filter(|form| form.contains("name=\"once\"")).last().expect("a form that changes something");
    let part = |text: &str, name: &str| {
        let rest = text.split(&format!("{name}=\"")).nth(1).unwrap_or_default();
        rest.split('"').next().unwrap_or_default().replace("&#38;", "&").replace("&#39;", "'")
    };
    let inputs = form.split("<input type=\"hidden\"").skip(1);
    inputs.map(|input| (part(input, "name"), part(input, "value"))).collect()
}

/// The text of a page, without tags and with single blanks.
pub fn words(page: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for letter in page.chars() {
        match letter {
            '<' => inside = true,
            '>' => {
                inside = false;
                text.push(' ');
            }
            letter if !inside => text.push(letter),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks an amount of the overview, which follows its label.
#[track_caller]
pub fn assert_figure(page: &str, name: &str, expected: &str) {
    let figures = page.rsplit("main-figures").next().expect("the page has figures");
    let entry = format!("<dt>{name}</dt>");
    let rest = figures.split(&entry).nth(1).unwrap_or_else(|| panic!("no {name} in {figures}"));
    let text = words(rest.split("</dd>").next().unwrap_or_default());
    assert!(text.contains(expected), "{name}: {text}, not {expected}");
}

/// The account as the service returns it.
pub async fn account(setup: &ConsoleSetup, id: &str) -> Value {
    view_of(setup.service.get_account(&setup.who, id, None).await)
}
