//! Turns flags into a product and an account for the API.

use super::amounts::cents_of;
use crate::cli::ScheduleArgs;
use crate::commands::Failure;
use clap::ValueEnum;
use daybook_clock::{Clock, System};
use daybook_engine::calendar::{Day, Interval};
use daybook_engine::time::Time;
use serde_json::{Value, json};

const SECONDS_PER_DAY: i64 = 86_400;
/// The id of the product and of the account.
pub const ID: &str = "schedule";

/// The requested terms.
#[derive(Debug)]
pub struct RequestedTerms {
    /// The body of `POST /products`.
    pub product: Value,
    /// The body of `POST /accounts`.
    pub account: Value,
    /// When the loan begins.
    pub start: Day,
    /// The payoff date.
    pub payoff_at: Option<Day>,
}

/// Reads the flags.
pub fn of(args: &ScheduleArgs) -> Result<RequestedTerms, Failure> {
    let start = match &args.start {
        Some(text) => date(text, "--start")?,
        None => Day::from_number(i32::try_from(System.now().seconds().div_euclid(SECONDS_PER_DAY)).unwrap_or(0)),
    };
    let payoff_at = args.payoff_at.as_deref().map(|text| date(text, "--payoff-at")).transpose()?;
    if payoff_at.is_some_and(|day| day < start) {
        return Err(Failure::Senseless(format!("--payoff-at: must not be before the loan begins ({start})")));
    }
    let principal = cents_of(&args.principal).filter(|cents| *cents > 0).ok_or_else(|| {
        Failure::Senseless(format!("--principal: {} is not an amount such as 10000 or 12,500.50", args.principal))
    })?;
    // A loan's calendar is that of its time zone. Here every date is given, so any zone will do.
    let mut billing = json!({
        "product_time_zone": "UTC",
        "cycle_interval": interval(&args.frequency, "--frequency")?,
    });
    if let Some(text) = &args.first_cycle {
        billing["first_cycle_interval"] = json!(interval(text, "--first-cycle")?);
    }
    if let Some(text) = &args.due_after {
        billing["cycle_due_interval"] = json!(interval(text, "--due-after")?);
    }
    let product = json!({
        "product_id": ID,
        "product_overview": { "product_name": ID, "product_type": "INSTALLMENT" },
        "product_lifecycle_policies": {
            "billing_cycle_policies": billing,
            "amortization_policies": {
                "method": name(args.method),
                "interest_only_cycles": args.interest_only,
                "month_end": name(args.month_end),
                "installment_rounding_cents": args.round_to_cents,
                "smooth_last_installment": args.smooth_last,
            },
            "interest_policies": {
                "interest_calc_method": if args.daily { "DAILY" } else { "PERIODIC" },
                "day_count": name(args.day_count),
                "rounding": name(args.rounding),
            },
        },
        "post_promotional_policies": {
            "post_promo_len": args.installments,
            "post_promo_default_interest_rate_percent": rate(&args.rate)?,
        },
    });
    let account = json!({
        "account_id": ID, "product_id": ID, "effective_at": format!("{start}T00:00:00Z"),
        "summary": { "initial_principal_cents": principal },
    });
    Ok(RequestedTerms { product, account, start, payoff_at })
}

/// Noon of a date, in UTC.
pub fn noon(day: Day) -> Time {
    Time::from_seconds(i64::from(day.number()) * SECONDS_PER_DAY + SECONDS_PER_DAY / 2)
}

/// The flag that sets a form field.
pub fn flag_of(field: &str) -> Option<&'static str> {
    Some(match field.rsplit('.').next()? {
        "initial_principal_cents" => "--principal",
        "post_promo_default_interest_rate_percent" => "--rate",
        "post_promo_len" => "--installments",
        "effective_at" => "--start",
        "cycle_interval" => "--frequency",
        "first_cycle_interval" => "--first-cycle",
        "cycle_due_interval" => "--due-after",
        "interest_only_cycles" => "--interest-only",
        "installment_rounding_cents" => "--round-to-cents",
        "smooth_last_installment" => "--smooth-last",
        "method" => "--method",
        "day_count" => "--day-count",
        _ => return None,
    })
}

fn name(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn date(text: &str, flag: &str) -> Result<Day, Failure> {
    Day::parse(text).ok_or_else(|| Failure::Senseless(format!("{flag}: {text} is not a date such as 2026-01-15")))
}

/// Reads an interval, or a name for one.
fn interval(text: &str, flag: &str) -> Result<String, Failure> {
    let known = match text.to_lowercase().as_str() {
        "weekly" => "7 days",
        "biweekly" => "14 days",
        "monthly" => "1 month",
        "quarterly" => "3 months",
        "yearly" => "12 months",
        _ => text,
    };
    match Interval::parse(known) {
        Some(_) => Ok(known.to_owned()),
        None => Err(Failure::Senseless(format!(
            "{flag}: {text} is not an interval such as monthly, \"2 months\" or \"10 days\""
        ))),
    }
}

/// Reads a percentage as a JSON number, unchanged.
fn rate(text: &str) -> Result<Value, Failure> {
    let wrong = || Failure::Senseless(format!("--rate: {text} is not a percentage such as 12 or 6.25"));
    let is_plain =
        !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_plain {
        return Err(wrong());
    }
    // With at most twelve digits, the number is serialized exactly as it was typed.
    serde_json::from_str(text).map_err(|_| wrong())
}
