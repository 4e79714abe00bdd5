//! Fields of a product that are typed as text and sent as lists.

use crate::display::Money;
use crate::form::{FormValues, put};
use daybook_service::problem::Problem;
use serde_json::{Value, json};

macro_rules! life {
    ($rest:literal) => {
        concat!("product_lifecycle_policies.", $rest)
    };
}

/// The payment order.
pub const ORDER: &str = life!("payment_pouring_policies.order");
/// The two days of the month of `semi-month`.
pub const SEMI_MONTHLY_DAYS: &str = life!("billing_cycle_policies.semi_monthly_days");
/// The days of the week that are not business days.
pub const WEEKEND: &str = life!("billing_cycle_policies.business_days.weekend");
/// The dates that are not business days.
pub const HOLIDAYS: &str = life!("billing_cycle_policies.business_days.holidays");
/// Several late fees.
pub const TIERS: &str = life!("fee_policies.late_fee_tiers");

/// Whether a field is typed as text and sent as a list.
pub fn is_list(name: &str) -> bool {
    [ORDER, SEMI_MONTHLY_DAYS, WEEKEND, HOLIDAYS, TIERS].contains(&name)
}

/// Adds the lists to the body of the call.
pub fn add_lists(sent: &mut Value, typed: &FormValues) -> Result<(), Problem> {
    for name in [ORDER, WEEKEND] {
        if typed.has(name) {
            put(sent, name, words(typed.get(name)).map(|word| Value::from(word.to_uppercase())).collect());
        }
    }
    if typed.has(HOLIDAYS) {
        put(sent, HOLIDAYS, words(typed.get(HOLIDAYS)).map(Value::from).collect());
    }
    if typed.has(SEMI_MONTHLY_DAYS) {
        let days: Result<Vec<u8>, _> = words(typed.get(SEMI_MONTHLY_DAYS)).map(str::parse).collect();
        let days =
            days.map_err(|_| Problem::invalid(SEMI_MONTHLY_DAYS, "must be two days of the month, such as 1, 15"))?;
        put(sent, SEMI_MONTHLY_DAYS, json!(days));
    }
    if typed.has(TIERS) {
        let tiers: Option<Vec<Value>> =
            typed.get(TIERS).lines().map(str::trim).filter(|line| !line.is_empty()).map(tier).collect();
        let tiers = tiers.ok_or_else(|| {
            Problem::invalid(TIERS, "must have a line for each fee, such as 5 FLAT 15.00 or 30 PERCENT_OF_UNPAID 5")
        })?;
        put(sent, TIERS, Value::from(tiers));
    }
    Ok(())
}

/// The words of a text, separated by commas, blanks or new lines.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter == ',' || letter.is_whitespace()).filter(|word| !word.is_empty())
}

/// A line about a late fee: `5 FLAT 15.00`, or `30 PERCENT_OF_UNPAID 5 10.00 50.00` with the least and the most.
fn tier(line: &str) -> Option<Value> {
    let mut words = line.split_whitespace();
    let after: u32 = words.next()?.parse().ok()?;
    let kind = words.next()?.to_uppercase();
    let amount = words.next()?;
    let mut tier = json!({ "after": after, "type": kind });
    if kind == "FLAT" {
        tier["amount_cents"] = Money::typed(amount)?.0.into();
    } else {
        tier["percent"] = amount.trim_end_matches('%').into();
    }
    for (name, word) in ["min_cents", "max_cents"].into_iter().zip(words.by_ref()) {
        tier[name] = Money::typed(word)?.0.into();
    }
    words.next().is_none().then_some(tier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_lists_become_lists() {
        let typed = FormValues::default()
            .with(TIERS, "5 FLAT 15.00\n30 percent_of_unpaid 5% 10.00 50\n")
            .with(SEMI_MONTHLY_DAYS, "1, 15")
            .with(WEEKEND, "friday saturday")
            .with(HOLIDAYS, "2025-12-25\n2026-01-01");
        let mut sent = json!({});
        add_lists(&mut sent, &typed).expect("all can be read");
        let life = &sent["product_lifecycle_policies"];
        let tiers = json!([
            { "after": 5, "type": "FLAT", "amount_cents": 1500 },
            { "after": 30, "type": "PERCENT_OF_UNPAID", "percent": "5", "min_cents": 1000, "max_cents": 5000 },
        ]);
        assert_eq!(life["fee_policies"]["late_fee_tiers"], tiers);
        let billing = &life["billing_cycle_policies"];
        assert_eq!(billing["semi_monthly_days"], json!([1, 15]));
        let days = json!({ "weekend": ["FRIDAY", "SATURDAY"], "holidays": ["2025-12-25", "2026-01-01"] });
        assert_eq!(billing["business_days"], days);
        for wrong in ["FLAT 5", "5 FLAT", "5 FLAT x", "5 FLAT 1 2 3 4"] {
            assert!(add_lists(&mut json!({}), &FormValues::default().with(TIERS, wrong)).is_err(), "{wrong}");
        }
    }
}
