//! Features of similar services that affect money and that this service does not support.
//!
//! Accepting and ignoring such a field would leave a lender waiting for money that is never collected. Each is refused
//! with the reason and an alternative; a value that requests nothing (`false`, 0) is accepted.

use super::fields::{AmountOrZero, Ignored};
use super::product::PromoFamily;
use super::{FieldProblem, NewAccount, NewCustomer, NewProduct};
use daybook_engine::money::Cents;
use daybook_operations::Operation;
use serde_json::Value;

/// Why a field is refused, and the operation to use instead.
type Alternative = (&'static str, Operation);

const AUTOPAY: Alternative = (
    "is not supported: Daybook records payments and does not collect them. Leave it out or send false; collect with \
     your payment processor, and record each payment with",
    Operation::RecordPayment,
);
const UNREADABLE: &str = "is not supported: it cannot be checked for autopay. Leave out numbers that are too large, \
    invalid text, and lists and objects nested more than 100 levels deep";
const DISCOUNTS: Alternative =
    ("are not supported. Leave them out or send 0; to grant one, lower the balance with", Operation::DebitOffset);
const RECURRING_FEE: Alternative = (
    "is not supported: fees do not recur automatically. Leave it out or send 0; charge each fee with",
    Operation::ChargeManualFee,
);
const REVERSAL_FEE_CAP: &str = "is not supported. Leave it out; summary.payment_reversal_fee_cents is the whole fee for a \
    payment that bounces";
const SURCHARGES: Alternative =
    ("are not supported. Leave them out or send 0; charge a fee with", Operation::ChargeManualFee);
const PROMO_LEN: &str = "is not supported: an instalment loan has no promotional period. Leave it out or send 0; the rate \
    of the whole loan is post_promo_default_interest_rate_percent, or an account's post_promo_impl_interest_rate_percent";
const DEFERRED_INTEREST: &str = "is not supported: interest is not deferred. Leave it out or send false";

impl NewProduct {
    /// The unsupported features it requests.
    pub fn unsupported(&self) -> Vec<FieldProblem> {
        let mut found = UnsupportedFields::default();
        found.autopay(self.payment_processor_config.as_ref());
        found.discounts(self.discounts.as_ref());
        found.promotion("promotional_policies", self.promotional_policies.as_ref());
        let fees = self.product_lifecycle_policies.as_ref().and_then(|life| life.fee_policies.as_ref());
        if let Some(surcharges) = fees.and_then(|fees| fees.default_surcharge_fee_structure.as_ref())
            && surcharges.value().is_none_or(|value| asks_for_money(&value, &["percent_surcharge"]))
        {
            let field = "product_lifecycle_policies.fee_policies.default_surcharge_fee_structure";
            found.add_with_alternative(field, SURCHARGES);
        }
        found.0
    }
}

impl NewAccount {
    /// The unsupported features it requests.
    pub fn unsupported(&self) -> Vec<FieldProblem> {
        let mut found = UnsupportedFields::default();
        found.autopay(self.payment_processor_config.as_ref());
        found.discounts(self.discounts.as_ref());
        found.promotion("promo_overview", self.promo_overview.as_ref());
        let Some(summary) = &self.summary else { return found.0 };
        let is_charged = |fee: Option<AmountOrZero>| fee.is_some_and(|fee| fee.get() > Cents::ZERO);
        for (field, fee) in [
            ("summary.annual_fee_cents", summary.annual_fee_cents),
            ("summary.monthly_fee_cents", summary.monthly_fee_cents),
        ] {
            if is_charged(fee) {
                found.add_with_alternative(field, RECURRING_FEE);
            }
        }
        if summary.payment_reversal_fee_cap_percent.is_some() {
            found.add("summary.payment_reversal_fee_cap_percent", REVERSAL_FEE_CAP);
        }
        found.0
    }
}

impl NewCustomer {
    /// The unsupported features it requests.
    pub fn unsupported(&self) -> Vec<FieldProblem> {
        let mut found = UnsupportedFields::default();
        found.autopay(self.payment_processor_config.as_ref());
        found.0
    }
}

#[derive(Default)]
struct UnsupportedFields(Vec<FieldProblem>);

impl UnsupportedFields {
    fn add(&mut self, field: impl Into<String>, reason: &str) {
        self.0.push(FieldProblem::new(field, reason));
    }

    fn add_with_alternative(&mut self, field: impl Into<String>, (reason, instead): Alternative) {
        self.add(field, &format!("{reason} {instead}"));
    }

    fn autopay(&mut self, config: Option<&Ignored>) {
        let Some(config) = config else { return };
        match config.value() {
            None => self.add("payment_processor_config", UNREADABLE),
            Some(value) => {
                if let Some(field) = autopay_field(&value, "payment_processor_config") {
                    self.add_with_alternative(field, AUTOPAY);
                }
            }
        }
    }

    fn discounts(&mut self, discounts: Option<&Ignored>) {
        if discounts.is_some_and(|discounts| discounts.value().is_none_or(|value| asks_for_money(&value, &[]))) {
            self.add_with_alternative("discounts", DISCOUNTS);
        }
    }

    fn promotion(&mut self, parent: &str, family: Option<&PromoFamily>) {
        let Some(family) = family else { return };
        for (name, reason) in [("promo_len", PROMO_LEN), ("promo_interest_deferred", DEFERRED_INTEREST)] {
            if family.get(name).is_some_and(|value| value.value().is_none_or(|value| !is_off(&value))) {
                self.add(format!("{parent}.{name}"), reason);
            }
        }
    }
}

/// Whether a value is off: 0, `false`, `null`, an empty value, or one of these as text.
fn is_off(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => {
            let text = text.trim();
            text.is_empty() || text.eq_ignore_ascii_case("false") || text.parse() == Ok(0.0)
        }
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// Whether a field name means autopay, however its words are joined.
fn is_autopay(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    let name: String = letters.collect();
    matches!(
        name.as_str(),
        "autopay"
            | "autopayenabled"
            | "autopayactive"
            | "isautopay"
            | "isautopayenabled"
            | "enableautopay"
            | "useautopay"
    )
}

/// The path of a field that turns autopay on, at any depth.
fn autopay_field(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let path = format!("{path}.{name}");
            let turns_on = is_autopay(name) && !is_off(value);
            if turns_on { Some(path) } else { autopay_field(value, &path) }
        }),
        Value::Array(values) => {
            values.iter().enumerate().find_map(|(at, value)| autopay_field(value, &format!("{path}[{at}]")))
        }
        _ => None,
    }
}

/// Whether a value contains a nonzero amount or a `true`; if names are given, only in the fields with those names.
fn asks_for_money(value: &Value, names: &[&str]) -> bool {
    let counts = |name: &str| names.is_empty() || names.contains(&name);
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| match value {
            Value::Object(_) | Value::Array(_) => asks_for_money(value, if counts(name) { &[] } else { names }),
            plain => counts(name) && asks_for_money(plain, &[]),
        }),
        Value::Array(values) => values.iter().any(|value| asks_for_money(value, names)),
        Value::String(text) => {
            let number = text.trim_matches(|sign: char| sign.is_whitespace() || sign == '%' || sign == '$');
            number.parse::<f64>().is_ok_and(|number| number != 0.0)
        }
        plain => names.is_empty() && !is_off(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use serde_json::json;

    fn fields(problems: Vec<FieldProblem>) -> Vec<String> {
        problems.into_iter().map(|problem| problem.field).collect()
    }

    fn of_product(more: &Value) -> Vec<String> {
        let mut body = json!({"product_overview": {"product_name": "A", "product_type": "INSTALLMENT"}});
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        fields(parse::<NewProduct>(body.to_string().as_bytes()).expect("a product").unsupported())
    }

    fn of_account(more: &Value) -> Vec<String> {
        let mut body = json!({"product_id": "p"});
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        fields(parse::<NewAccount>(body.to_string().as_bytes()).expect("an account").unsupported())
    }

    #[test]
    fn autopay_is_found_wherever_it_is_turned_on() {
        let config = |config: Value| json!({ "payment_processor_config": config });
        for (given, field) in [
            (json!({"autopay": true}), "autopay"),
            (json!({"autopay_enabled": true}), "autopay_enabled"),
            (json!({"autopay_enabled": "true"}), "autopay_enabled"),
            (json!({"autopay": 1}), "autopay"),
            (json!({"autopay": {"day": 3}}), "autopay"),
            (json!({"ach": {"autopay_enabled": true}}), "ach.autopay_enabled"),
            (json!({"methods": [{}, {"autopay": true}]}), "methods[1].autopay"),
            (json!({"isAutopayEnabled": true}), "isAutopayEnabled"),
            (json!({"auto_pay": true}), "auto_pay"),
        ] {
            let expected = [format!("payment_processor_config.{field}")];
            assert_eq!(of_product(&config(given.clone())), expected, "{given}");
            assert_eq!(of_account(&config(given.clone())), expected, "{given}");
            let customer = json!({"name_last": "L", "payment_processor_config": given}).to_string();
            let customer: NewCustomer = parse(customer.as_bytes()).expect("a customer");
            assert_eq!(fields(customer.unsupported()), expected);
        }
        for given in [json!({}), json!({"autopay": false, "autopay_enabled": null, "name": "autopay"}), json!("x")] {
            assert!(of_account(&config(given.clone())).is_empty(), "{given}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_nothing() {
        let deep = format!("{}{{\"autopay\":true}}{}", "[".repeat(130), "]".repeat(130));
        for config in [r#"{"autopay":true,"x":1e999}"#, r#"{"autopay":true,"x":"\ud800"}"#, &deep] {
            let body = format!(r#"{{"product_id":"p","payment_processor_config":{config}}}"#);
            let account: NewAccount = parse(body.as_bytes()).expect("an account");
            assert_eq!(fields(account.unsupported()), ["payment_processor_config"], "{config}");
        }
        let body = r#"{"product_id":"p","discounts":{"percent":5,"x":1e999},"promo_overview":{"promo_len":1e999}}"#;
        let account: NewAccount = parse(body.as_bytes()).expect("an account");
        assert_eq!(fields(account.unsupported()), ["discounts", "promo_overview.promo_len"]);
    }

    #[test]
    fn what_money_depends_on_is_found_and_what_asks_for_nothing_is_not() {
        let cases = [
            (json!({"discounts": {"prepayment": {"percent": 2.5}}}), Some("discounts")),
            (json!({"discounts": [{"amount_cents": "100"}]}), Some("discounts")),
            (json!({"discounts": {"enabled": true}}), Some("discounts")),
            (json!({"discounts": {"a": "2.5 %"}}), Some("discounts")),
            (json!({"discounts": ["$5"]}), Some("discounts")),
            (json!({"discounts": {"percent": 0, "name": "none"}}), None),
            (json!({"discounts": []}), None),
        ];
        for (given, field) in cases {
            let expected: Vec<&str> = field.into_iter().collect();
            assert_eq!((of_product(&given), of_account(&given)), (vec_of(&expected), vec_of(&expected)), "{given}");
        }
        for (given, field) in [
            (json!({"annual_fee_cents": 1}), Some("summary.annual_fee_cents")),
            (json!({"monthly_fee_cents": 500}), Some("summary.monthly_fee_cents")),
            (json!({"payment_reversal_fee_cap_percent": 5}), Some("summary.payment_reversal_fee_cap_percent")),
            (json!({"annual_fee_cents": 0, "monthly_fee_cents": 0}), None),
        ] {
            assert_eq!(of_account(&json!({ "summary": given })), vec_of(&field.into_iter().collect::<Vec<_>>()));
        }
        for (given, field) in [
            (json!({"promo_len": 3}), Some("promo_len")),
            (json!({"promo_interest_deferred": true}), Some("promo_interest_deferred")),
            (json!({"promo_len": 0, "promo_interest_deferred": false, "promo_min_pay_type": "AM"}), None),
        ] {
            let of = |parent: &str| field.map(|field| format!("{parent}.{field}")).into_iter().collect::<Vec<_>>();
            assert_eq!(of_product(&json!({"promotional_policies": given})), of("promotional_policies"));
            assert_eq!(of_account(&json!({"promo_overview": given})), of("promo_overview"));
        }
    }

    #[test]
    fn a_surcharge_is_found_by_its_percent() {
        let surcharge = |percent: Value| {
            let structure = json!([{"surcharge_start_inclusive_cents": 100, "surcharge_end_exclusive_cents": 900,
                "percent_surcharge": percent}]);
            of_product(&json!({"product_lifecycle_policies": {"fee_policies": {
                "surcharge_fee_interval": "1 month", "default_surcharge_fee_structure": structure}}}))
        };
        assert_eq!(surcharge(json!(0)), Vec::<String>::new());
        let path = "product_lifecycle_policies.fee_policies.default_surcharge_fee_structure";
        assert_eq!((surcharge(json!(1.5)), surcharge(json!("2"))), (vec_of(&[path]), vec_of(&[path])));
        assert_eq!((surcharge(json!([5])), surcharge(json!({"value": 5}))), (vec_of(&[path]), vec_of(&[path])));
    }

    fn vec_of(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }
}
