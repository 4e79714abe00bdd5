//! A product, its schedule calculated independently of the engine, and the calls that load its accounts.
//!
//! The loan is 1,200.00 over twelve months at 12 %, so 1 % a month. A month's interest is a hundredth of the principal,
//! and the level payment is P q^n / 100 (q^n - 1) with q = 101/100, calculated exactly in integers.

use super::api_client::{ApiClient, Reply, until};
use serde_json::{Value, json};

pub const PRINCIPAL: i64 = 120_000;
pub const LATE_FEE: i64 = 1_500;
const INSTALMENTS: u32 = 12;

/// Rounds a fraction to the nearest integer, half to even.
fn rounded(numerator: i128, denominator: i128) -> i64 {
    let (whole, rest) = (numerator.div_euclid(denominator), numerator.rem_euclid(denominator));
    let up = match (2 * rest).cmp(&denominator) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Equal => whole & 1,
        std::cmp::Ordering::Greater => 1,
    };
    i64::try_from(whole + up).expect("an amount is small")
}

/// The level payment.
pub fn level() -> i64 {
    let (grown, whole) = (101_i128.pow(INSTALMENTS), 100_i128.pow(INSTALMENTS));
    rounded(i128::from(PRINCIPAL) * grown, 100 * (grown - whole))
}

/// The remaining principal and the interest paid after some months paid on time.
pub fn paid_on_time(months: u32) -> (i64, i64) {
    let (mut principal, mut interest) = (PRINCIPAL, 0);
    for _ in 0..months {
        let of_month = rounded(i128::from(principal), 100);
        principal -= level() - of_month;
        interest += of_month;
    }
    (principal, interest)
}

/// Creates the product, with these billing cycle policies and other policies.
pub fn make_product(client: &ApiClient, product: &str, billing: Value, others: Value) {
    let mut policies = json!({
        "billing_cycle_policies": billing,
        "default_attributes": { "default_late_fee_cents": LATE_FEE },
    });
    let own = policies.as_object_mut().expect("an object");
    own.extend(others.as_object().expect("an object").clone());
    let form = json!({
        "product_id": product,
        "product_overview": { "product_name": product, "product_type": "INSTALLMENT" },
        "product_lifecycle_policies": policies,
        "post_promotional_policies":
            { "post_promo_len": INSTALMENTS, "post_promo_default_interest_rate_percent": 12 },
    });
    client.post("/products", &form).good();
}

pub fn loan(product: &str, account: &str, effective_at: &str) -> Value {
    json!({
        "product_id": product, "account_id": account, "effective_at": effective_at,
        "summary": { "initial_principal_cents": PRINCIPAL },
    })
}

pub fn payment(id: &str, cents: i64, effective_at: &str) -> Value {
    json!({
        "line_item_id": id, "original_amount_cents": cents, "line_item_status": "VALID", "effective_at": effective_at,
    })
}

pub fn payments_of(account: &str) -> String {
    format!("/accounts/{account}/line_items/payments/payment_record")
}

/// One call in a bulk request.
pub fn line(path: &str, body: &Value) -> Value {
    json!({ "method": "POST", "path": path, "body": body })
}

pub fn pay(client: &ApiClient, account: &str, id: &str, cents: i64, effective_at: &str) -> Reply {
    client.post(&payments_of(account), &payment(id, cents, effective_at))
}

pub fn set_migration_mode(client: &ApiClient, product: &str, on: bool) -> Value {
    client.put(&format!("/products/{product}/migration_mode"), &json!({ "migration_mode": on })).good()
}

pub fn progress(client: &ApiClient, product: &str) -> Value {
    client.get(&format!("/products/{product}/migration_mode")).good()
}

/// Turns migration mode off, waits until all held events are processed, and returns the last progress.
pub fn release(client: &ApiClient, product: &str) -> Value {
    set_migration_mode(client, product, false);
    wait_for_release(client, product)
}

/// Waits until all held events are processed and returns the last progress.
pub fn wait_for_release(client: &ApiClient, product: &str) -> Value {
    let done = until("the end of the release", || {
        let progress = progress(client, product);
        if progress["finished_at"].is_string() { Ok(progress) } else { Err(progress.to_string()) }
    });
    assert_eq!((&done["state"], &done["failed_accounts"]), (&json!("NORMAL"), &json!([])), "{done}");
    done
}

/// The valid line items of a type.
pub fn items(client: &ApiClient, account: &str, of_type: &str) -> Vec<Value> {
    client.all(&format!("/accounts/{account}/line_items?line_item_type={of_type}&line_item_status=VALID"))
}

/// Principal, interest, fees and surplus.
pub fn balances(account: &Value) -> [i64; 4] {
    let of = |field: &str| account["summary"][field].as_i64().unwrap_or_else(|| panic!("{field} of {account}"));
    [of("principal_cents"), of("interest_balance_cents"), of("fees_balance_cents"), of("surplus_cents")]
}

/// The status and its reason.
pub fn standing(account: &Value) -> (&str, Option<&str>) {
    let overview = &account["account_overview"];
    (overview["account_status"].as_str().expect("a status"), overview["account_status_subtype"].as_str())
}
