//! Texts that are difficult for JSON, for UTF-8, or for a receiver that cuts a message by searching, and events with
//! them.

use crate::common::api_client::ApiClient;
use crate::common::chance::Chance;
use crate::common::loans::{PRINCIPAL, line, loan, payment, payments_of};
use serde_json::{Value, json};

/// Texts that have broken verifiers in the past.
const ODD: &[&str] = &[
    "",
    " ",
    "Zoë Łukasz Ångström",
    "\u{1F600}\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{1F3FD}",
    "\"quoted\" 'single' \\back\\slash\\ /slash/ \\u0041 \\n",
    "line\u{2028}separator\u{2029}paragraph\u{85}next",
    "\u{5E9}\u{5DC}\u{5D5}\u{5DD} \u{202E}rtl\u{202C} \u{645}\u{631}\u{62D}\u{628}\u{627}",
    "\u{1}\u{2}\u{7}\u{8}\t\n\u{B}\u{C}\r\u{E}\u{1B}\u{1F}\u{7F}\u{80}\u{9F}",
    "\u{FEFF}\u{FFFD}\u{FFFE}\u{FFFF}\u{E000}\u{D7FF}\u{10FFFF}",
    "e\u{301} \u{E9} \u{212B} \u{AC00} \u{1100}\u{1161}",
    "\",\"hmac_signature\":\"AAAA\"}",
    ",\"data\":{\"event_id\":\"evt\"},",
    "<script>alert(1)</script> & &amp; %00 %22 + ?",
    "__proto__ constructor 1e400 -0 NaN 9007199254740993 0.10",
    "漢字 かな \u{20BB7} \u{1D11E}",
];

/// The characters of random texts.
const PIECES: &[char] = &[
    'a',
    'Z',
    '0',
    ' ',
    '"',
    '\\',
    '/',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '\'',
    '<',
    '&',
    '\u{1}',
    '\u{8}',
    '\t',
    '\n',
    '\u{C}',
    '\r',
    '\u{1F}',
    '\u{7F}',
    '\u{A0}',
    'é',
    'ß',
    '\u{301}',
    '\u{5D0}',
    '\u{202E}',
    '\u{2028}',
    '\u{2029}',
    '漢',
    '\u{FEFF}',
    '\u{FFFD}',
    '\u{FFFF}',
    '\u{10000}',
    '\u{1F600}',
    '\u{1F3FD}',
    '\u{200D}',
    '\u{10FFFF}',
];

/// The most characters of a name.
const LONGEST: u64 = 200;

/// Percentages that other languages may format differently.
const PERCENTS: &[f64] = &[6.2, 0.0001, 12.0, 10_000.0, 0.1, 9.999_999, 33.333_333];

/// A known unusual text, or a random one, short or long.
pub fn text(chance: &mut Chance) -> String {
    if chance.below(3) == 0 {
        return ODD[chance.below(ODD.len() as u64) as usize].to_owned();
    }
    let most = if chance.below(10) == 0 { LONGEST } else { 24 };
    let length = if chance.below(20) == 0 { LONGEST } else { chance.below(most) };
    (0..length).map(|_| PIECES[chance.below(PIECES.len() as u64) as usize]).collect()
}

/// A new customer.
pub fn customer(chance: &mut Chance) -> Value {
    let mut text = || text(chance);
    json!({
        "name_first": text(), "name_middle": text(), "name_last": format!("L{}", text()).chars().take(200).collect::<String>(),
        "address_line_one": text(), "address_city": text(),
        "external_fields": [{ "key": format!("k{}", text()).chars().take(100).collect::<String>(), "value": text() }],
    })
}

/// Creates products with unusual names and percentages. Returns their ids.
pub fn make_products(client: &ApiClient, chance: &mut Chance) -> Vec<String> {
    let make = |(number, percent): (usize, &f64)| {
        let product = format!("odd-{number}");
        let name: String = format!("P{}", text(chance)).chars().take(200).collect();
        let form = json!({
            "product_id": product,
            "product_overview": { "product_name": name, "product_type": "INSTALLMENT" },
            "product_lifecycle_policies": { "default_attributes": { "default_late_fee_cents": 1_500 } },
            "post_promotional_policies": { "post_promo_len": 12, "post_promo_default_interest_rate_percent": percent },
        });
        client.post("/products", &form).good();
        product
    };
    PERCENTS.iter().enumerate().map(make).collect()
}

/// Causes events: customers, and backdated accounts with a payment each.
pub fn make_events(client: &ApiClient, products: &[String], chance: &mut Chance, customers: usize, accounts: usize) {
    let mut lines: Vec<Value> = (0..customers).map(|_| line("/customers", &customer(chance))).collect();
    for _ in 0..accounts {
        let number = chance.below(u64::MAX);
        let account = format!("odd-{number:x}");
        let product = &products[(number % products.len() as u64) as usize];
        let mut form = loan(product, &account, "2025-06-15T12:00:00-04:00");
        form["external_fields"] = json!([{ "key": "note", "value": text(chance) }]);
        lines.push(line("/accounts", &form));
        let paid = payment(&format!("{account}-paid"), PRINCIPAL / 7, "2025-06-20T12:00:00-04:00");
        lines.push(line(&payments_of(&account), &paid));
    }
    client.bulk(&lines);
}

/// Creates a customer by a call whose JSON has unnecessary escapes, in lower and upper case.
pub fn make_escaped_customer(client: &ApiClient) {
    let body = r#"{ "name_last" : "\u005A\u006fe\u0301 \/ \ud83d\ude00 \uD834\uDD1E \u2028 \u001F \u007f \u00e9" }"#;
    let reply = client.try_call("POST", "/customers", "application/json", body.to_owned()).expect("an answer");
    let name = reply.good()["name_last"].clone();
    assert_eq!(name, "Zoe\u{301} / \u{1F600} \u{1D11E} \u{2028} \u{1F} \u{7F} \u{E9}");
}
