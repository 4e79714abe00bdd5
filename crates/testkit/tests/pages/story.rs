//! An example, run through a book.

use daybook_engine::item::{ItemId, LineItem};
use daybook_engine::time::Time;
use daybook_testkit::book::Book;
use daybook_testkit::{exchange, product};
use serde_json::{Map, Value};

/// Every field that an example may use; a typo must not be read as a default.
const FIELDS: &str = "
    until held announced_from product account event effective_at clock

    post_promotional_policies post_promo_len post_promo_default_interest_rate_percent
    product_lifecycle_policies billing_cycle_policies cycle_interval cycle_due_interval first_cycle_interval
    close_of_business_time product_time_zone payment_due_policies delinquent_on_n_consecutive_late_fees
    charge_off_on_n_consecutive_late_fees fee_policies late_fee_grace late_fee_grace_counts_due_date late_fee_type
    late_fee_percent late_fee_min_cents late_fee_max_cents late_fee_cap_percent late_fee_pyramiding status_effects amortization_policies method
    interest_only_cycles month_end installment_rounding_cents smooth_last_installment interest_policies
    interest_calc_method day_count rounding interest_after_maturity payment_pouring_policies order span surplus
    backdating_policy default_attributes default_late_fee_cents default_payment_reversal_fee_cents

    summary initial_principal_cents origination_fee_cents

    payment payment_status payment_reversal manual_fee fee_waiver credit_offset debit_offset status
    notification_config line_item_id original_amount_cents line_item_status allocation amount_cents fee_class fee
    account_status account_substatus notification_type time_offset interval time enabled

    semi_monthly_days business_days adjust weekend holidays shortfall_tolerance_cents shortfall_tolerance_percent
    shortfall_tolerance_rule shortfall_goes_to write_off_balance_cents re_age_limits per_12_months per_60_months
    min_age_months late_fee_tiers after type percent min_cents max_cents late_fee_loan_cap_cents interest_rounding
    interest_rounding_at precomputed_split precomputed_refund

    payment_amount_cents balloon_cents amortization_cycles first_due_date schedule opening as_of principal_cents
    next_due_date remaining_installments past_due interest_cents total_cents carried_interest_cents
    accrued_interest_cents accrued_from fees paid_to_date fees_cents received_since_due_cents consecutive_late_fees
    late_fees_charged_cents surplus_cents original_principal_cents

    interest_rate temp_promo interest_pause due_date skip extension payment_deferral re_amortization re_age restructure
    capitalization refund refund_reversal change_cancel change_id effective_at_inclusive_start
    effective_at_exclusive_end temp_promo_inclusive_start temp_promo_exclusive_end interest_rate_percent late_fee_cents
    tags scra mla level_payment retroactive start end from_due_date fee_cents count extend_term deferrals deferred_to
    balance interest_on_deferred installments frequency am_len interest_only_cycles principal_forgiven_cents change
";

/// Percentages by other names than `..._percent`.
const PERCENTAGES: [&str; 2] = ["interest_rate", "percent"];

/// An example that has been run.
pub struct Story {
    pub book: Book,
    /// Earlier announcements are not shown.
    pub announced_from: Time,
}

/// Why an example cannot be run.
pub struct Error {
    /// Lines below the fence; 0 if the error concerns the whole example.
    pub line: usize,
    pub message: String,
}

impl From<String> for Error {
    fn from(message: String) -> Error {
        Error { line: 0, message }
    }
}

impl Story {
    /// Runs an example.
    pub fn play(toml: &str) -> Result<Story, Error> {
        let example: Value = toml::from_str(toml).map_err(|error| {
            let before = error.span().map_or("", |span| &toml[..span.start.min(toml.len())]);
            Error { line: before.matches('\n').count() + 1, message: error.message().to_owned() }
        })?;
        let example = plain(example)?;
        let terms = product::terms(&example["product"], &example["account"])?;
        let opening = terms.opening.effective_at;
        let held = example["held"] == true;
        let mut book = if held { Book::held(terms) } else { Book::open(terms) };
        for (number, event) in example["event"].as_array().into_iter().flatten().enumerate() {
            record(&mut book, event, number + 1)?;
        }
        let end = time(&example, "until")?.unwrap_or(book.clock);
        if held {
            book.release(end)
        } else {
            book.roll(end)
        };
        let refused = book.outcome().refused;
        if let Some((seq, refusal)) = refused.first() {
            let name = book.entries.iter().find(|entry| entry.place.seq == *seq).map_or("?", |entry| &*entry.name);
            return Err(format!("{name} is refused: {}", refusal.rule()).into());
        }
        let announced_from = time(&example, "announced_from")?.unwrap_or(opening);
        Ok(Story { book, announced_from })
    }

    /// A line item at the end, including one that a replay made invalid.
    pub fn item(&self, id: &ItemId) -> Option<&LineItem> {
        let changed = self.book.recalculated.iter().flat_map(|recalculation| &recalculation.differences);
        let gone = changed.map(|difference| &difference.after).find(|item| item.id == *id);
        self.book.ledger.get(id).or(gone)
    }
}

/// Records an event at its clock, or loads it while the account is held.
fn record(book: &mut Book, event: &Value, number: usize) -> Result<(), String> {
    let fields = event.as_object().ok_or("an event must be a table")?;
    let mut kinds = fields.iter().filter(|(key, _)| !["effective_at", "clock"].contains(&key.as_str()));
    let (kind, what) = kinds.next().ok_or("an event must have a kind, such as payment")?;
    if let Some((other, _)) = kinds.next() {
        return Err(format!("an event must have one kind, not {kind} and {other}"));
    }
    let effective_at = time(event, "effective_at")?.ok_or("an event must have an effective_at")?;
    if !book.held {
        book.roll(time(event, "clock")?.unwrap_or(effective_at));
    }
    let mut input = what.clone();
    input["kind"] = Value::from(kind.as_str());
    input["effective_at"] = event["effective_at"].clone();
    let name = what["line_item_id"].as_str().or(what["change_id"].as_str());
    let name = name.map_or_else(|| format!("{kind}-{number}"), str::to_owned);
    let input = exchange::input(&book.terms, &input)?;
    book.submit(&name, effective_at, input).map_err(|refusal| format!("{name} is refused: {}", refusal.rule()))
}

fn time(value: &Value, field: &str) -> Result<Option<Time>, String> {
    if value[field].is_null() { Ok(None) } else { product::time(&value[field]).map(Some) }
}

/// Refuses unknown fields, and reads percentages from their text: a number with a decimal point may not be exact.
fn plain(value: Value) -> Result<Value, String> {
    match value {
        Value::Object(fields) => {
            let mut plain_fields = Map::new();
            for (key, value) in fields {
                if !FIELDS.split_whitespace().any(|field| field == key) {
                    return Err(format!("there is no field {key}"));
                }
                let value = match &value {
                    Value::String(text) if key.ends_with("_percent") || PERCENTAGES.contains(&key.as_str()) => {
                        serde_json::from_str(text).map_err(|_| format!("{text} is not a percentage"))?
                    }
                    _ => plain(value)?,
                };
                plain_fields.insert(key, value);
            }
            Ok(Value::Object(plain_fields))
        }
        Value::Array(values) => Ok(Value::Array(values.into_iter().map(plain).collect::<Result<_, _>>()?)),
        Value::Number(number) if number.is_f64() => {
            Err(format!("{number} has a decimal point: write percentages as text"))
        }
        other => Ok(other),
    }
}
