//! Products and accounts from the API's JSON.

use crate::agreement::agreed;
use daybook_engine::calendar::{Day, Interval, MonthEnd, TimeOfDay};
use daybook_engine::effects::{StatusEffects, Stops};
use daybook_engine::installment::{
    Adjust, AfterMaturity, Bucket, BusinessDays, DayCount, InstallmentPolicy, InterestMethod, InterestRoundingAt,
    LateFee, LateFeePolicy, LateFeeTier, Method, PrecomputedRefund, PrecomputedSplit, Pyramiding, ReAgeLimits,
    Shortfall, ShortfallGoesTo, ShortfallRule, Span, Surplus, Weekday,
};
use daybook_engine::money::{Cents, Percent, Rounding};
use daybook_engine::status::Status;
use daybook_engine::terms::{Opening, Policy, ProductPolicy, Terms};
use daybook_engine::time::Time;
use daybook_engine::timeline::Backdating;
use daybook_engine::zone::Zone;
use serde_json::Value;

/// Creates the terms of a case's account.
pub fn terms(product: &Value, account: &Value) -> Result<Terms, String> {
    let policy = policy(product, account)?;
    let summary = &account["summary"];
    let principal = cents(&summary["initial_principal_cents"]).or(cents(&account["opening"]["principal_cents"]));
    let mut opening = Opening::new(
        time(&account["effective_at"])?,
        principal.ok_or("initial_principal_cents is missing")?,
        cents(&summary["origination_fee_cents"]).unwrap_or_default(),
    );
    opening.agreed = agreed(account)?;
    Terms::new(&policy, opening).map_err(|invalid| {
        let sentences: Vec<String> = invalid.iter().map(ToString::to_string).collect();
        sentences.join("; ")
    })
}

/// The policy of a product, with an account's overrides.
pub fn policy(product: &Value, account: &Value) -> Result<Policy, String> {
    let life = &product["product_lifecycle_policies"];
    let billing = &life["billing_cycle_policies"];
    let attributes = &life["default_attributes"];
    let summary = &account["summary"];
    let zone = billing["product_time_zone"].as_str().unwrap_or("America/New_York");
    let close = billing["close_of_business_time"].as_str().map_or(Some(TimeOfDay::END_OF_DAY), TimeOfDay::parse);
    let reversal_fee = cents(&summary["payment_reversal_fee_cents"])
        .or_else(|| cents(&attributes["default_payment_reversal_fee_cents"]))
        .unwrap_or_default();
    Ok(Policy {
        zone: Zone::named(zone).ok_or_else(|| format!("there is no time zone {zone}"))?,
        close_of_business: close.ok_or("close_of_business_time is not a time of day")?,
        backdating: choice(
            &life["backdating_policy"],
            &[("AS_POSTED", Backdating::AsPosted), ("REPLAY", Backdating::Replay)],
        )?,
        reversal_fee,
        status_effects: status_effects(&life["status_effects"])?,
        product: ProductPolicy::Installment(installment(product, account)?),
    })
}

/// The status effects: pairs with the values that differ from the defaults.
fn status_effects(value: &Value) -> Result<StatusEffects, String> {
    let mut effects = StatusEffects::default();
    for (pair, said) in value.as_object().into_iter().flatten() {
        let status = Status::parse_pair(pair).ok_or_else(|| format!("{pair} is not a pair"))?;
        let usual = StatusEffects::default_of(status);
        let stops = |field: &str, goes_on: &str, usual: bool| match said[field].as_str() {
            None => Ok(usual),
            Some("STOP") => Ok(true),
            Some(word) if word == goes_on => Ok(false),
            Some(word) => Err(format!("{word} is neither {goes_on} nor STOP")),
        };
        let stops = Stops {
            late_fees: stops("late_fees", "CHARGE", usual.late_fees)?,
            interest: stops("interest", "ACCRUE", usual.interest)?,
            delinquency: stops("delinquency", "COUNT", usual.delinquency)?,
            notices: stops("notices", "SEND", usual.notices)?,
        };
        effects.set(status, stops);
    }
    Ok(effects)
}

const ROUNDINGS: [(&str, Rounding); 3] =
    [("HALF_EVEN", Rounding::HalfEven), ("HALF_UP", Rounding::HalfUp), ("DOWN", Rounding::Down)];

fn installment(product: &Value, account: &Value) -> Result<InstallmentPolicy, String> {
    let life = &product["product_lifecycle_policies"];
    let (billing, amortization) = (&life["billing_cycle_policies"], &life["amortization_policies"]);
    let (interest, pouring) = (&life["interest_policies"], &life["payment_pouring_policies"]);
    let (post, overview) = (&product["post_promotional_policies"], &account["post_promo_overview"]);
    let count = overview["post_promo_len"].as_u64().or(post["post_promo_len"].as_u64()).unwrap_or(0);
    let rate = percent(&overview["post_promo_impl_interest_rate_percent"])?
        .or(percent(&post["post_promo_default_interest_rate_percent"])?)
        .unwrap_or_default();
    let mut policy = InstallmentPolicy::new(count as u32, rate);
    if billing["cycle_interval"] == "semi-month" {
        policy.semi_monthly = Some(semi_monthly_days(&billing["semi_monthly_days"])?.unwrap_or([1, 15]));
    } else {
        policy.cycle = interval(&billing["cycle_interval"])?.unwrap_or(policy.cycle);
    }
    policy.business_days = business_days(&billing["business_days"])?;
    policy.first_cycle =
        interval(&account["cycle_type"]["first_cycle_interval"])?.or(interval(&billing["first_cycle_interval"])?);
    policy.due_after_cycle = interval(&billing["cycle_due_interval"])?.unwrap_or_default();
    policy.month_end = choice(&amortization["month_end"], &[("CLAMP", MonthEnd::Clamp), ("ROLL", MonthEnd::Roll)])?;
    policy.method = choice(
        &amortization["method"],
        &[
            ("LEVEL", Method::Level),
            ("EQUAL_PRINCIPAL", Method::EqualPrincipal),
            ("FLAT", Method::Flat),
            ("PRECOMPUTED", Method::Precomputed),
        ],
    )?;
    precomputed(&mut policy, amortization)?;
    policy.interest_only = amortization["interest_only_cycles"].as_u64().unwrap_or(0) as u32;
    policy.instalment_rounding = cents(&amortization["installment_rounding_cents"]).unwrap_or(Cents(1));
    policy.smooth_last = amortization["smooth_last_installment"].as_bool().unwrap_or(false);
    interest_rules(&mut policy, interest)?;
    if let Some(order) = pouring["order"].as_array() {
        let bucket = |name: &Value| Bucket::parse(name.as_str().unwrap_or("")).ok_or(format!("{name} is not a bucket"));
        policy.order = order.iter().map(bucket).collect::<Result<_, _>>()?;
    }
    let spans = [
        ("INSTALLMENTS_FIRST", Span::InstalmentsFirst),
        ("BUCKET_FIRST", Span::BucketFirst),
        ("OLDEST_INSTALLMENT_FIRST", Span::OldestInstalmentFirst),
    ];
    policy.span = match pouring["span"] {
        Value::Null => Span::without_own(!pouring["order"].is_null()),
        _ => choice(&pouring["span"], &spans)?,
    };
    policy.surplus = choice(
        &pouring["surplus"],
        &[
            ("LAST_INSTALLMENT", Surplus::LastInstalment),
            ("NEXT_INSTALLMENT", Surplus::NextInstalment),
            ("REDUCE_PRINCIPAL", Surplus::ReducePrincipal),
        ],
    )?;
    policy.late_fee = late_fee(product, account)?;
    let due = &life["payment_due_policies"];
    policy.delinquent_after = due["delinquent_on_n_consecutive_late_fees"].as_u64().unwrap_or(1) as u32;
    arrears(&mut policy, due)?;
    policy.charge_off_after = due["charge_off_on_n_consecutive_late_fees"].as_u64().unwrap_or(99_999) as u32;
    Ok(policy)
}

/// Interest that is fixed at the opening.
fn precomputed(policy: &mut InstallmentPolicy, amortization: &Value) -> Result<(), String> {
    policy.precomputed_split = choice(
        &amortization["precomputed_split"],
        &[
            ("ACTUARIAL", PrecomputedSplit::Actuarial),
            ("SUM_OF_DIGITS", PrecomputedSplit::SumOfDigits),
            ("EQUAL", PrecomputedSplit::Equal),
        ],
    )?;
    policy.precomputed_refund = choice(
        &amortization["precomputed_refund"],
        &[("NOT_BEGUN", PrecomputedRefund::NotBegun), ("NONE", PrecomputedRefund::None)],
    )?;
    Ok(())
}

/// When interest is counted and rounded.
fn interest_rules(policy: &mut InstallmentPolicy, interest: &Value) -> Result<(), String> {
    policy.interest = choice(
        &interest["interest_calc_method"],
        &[("PERIODIC", InterestMethod::Periodic), ("DAILY", InterestMethod::Daily)],
    )?;
    policy.day_count = choice(
        &interest["day_count"],
        &[
            ("THIRTY_360", DayCount::Thirty360),
            ("ACTUAL_365", DayCount::Actual365),
            ("ACTUAL_360", DayCount::Actual360),
            ("ACTUAL_ACTUAL", DayCount::ActualActual),
        ],
    )?;
    policy.rounding = choice(&interest["rounding"], &ROUNDINGS)?;
    policy.interest_rounding = match interest["interest_rounding"] {
        Value::Null => policy.rounding,
        _ => choice(&interest["interest_rounding"], &ROUNDINGS)?,
    };
    policy.interest_rounding_at = choice(
        &interest["interest_rounding_at"],
        &[
            ("PERIOD_END", InterestRoundingAt::PeriodEnd),
            ("CARRY", InterestRoundingAt::Carry),
            ("PAYMENT", InterestRoundingAt::Payment),
            ("DAILY", InterestRoundingAt::Daily),
        ],
    )?;
    policy.after_maturity = choice(
        &interest["interest_after_maturity"],
        &[("ACCRUE", AfterMaturity::Accrue), ("NONE", AfterMaturity::None)],
    )?;
    Ok(())
}

/// Shortfalls, small balances and re-ages.
fn arrears(policy: &mut InstallmentPolicy, due: &Value) -> Result<(), String> {
    policy.shortfall = Shortfall {
        cents: cents(&due["shortfall_tolerance_cents"]),
        percent: percent(&due["shortfall_tolerance_percent"])?,
        rule: choice(
            &due["shortfall_tolerance_rule"],
            &[("HIGHER", ShortfallRule::Higher), ("LOWER", ShortfallRule::Lower)],
        )?,
        goes_to: choice(
            &due["shortfall_goes_to"],
            &[
                ("NEXT_INSTALLMENT", ShortfallGoesTo::NextInstalment),
                ("LAST_INSTALLMENT", ShortfallGoesTo::LastInstalment),
            ],
        )?,
    };
    policy.write_off = cents(&due["write_off_balance_cents"]).unwrap_or_default();
    let limit = |field: &str| due["re_age_limits"][field].as_u64().map(|limit| limit as u32);
    policy.re_age_limits = ReAgeLimits {
        per_12_months: limit("per_12_months"),
        per_60_months: limit("per_60_months"),
        min_age_months: limit("min_age_months"),
    };
    Ok(())
}

fn late_fee(product: &Value, account: &Value) -> Result<LateFeePolicy, String> {
    let life = &product["product_lifecycle_policies"];
    let (fees, summary) = (&life["fee_policies"], &account["summary"]);
    Ok(LateFeePolicy {
        grace: interval(&account["cycle_type"]["late_fee_grace"])?
            .or(interval(&fees["late_fee_grace"])?)
            .unwrap_or_default(),
        grace_counts_due_date: fees["late_fee_grace_counts_due_date"].as_bool().unwrap_or(false),
        kind: late_fee_kind(&fees["late_fee_type"])?,
        flat: cents(&summary["late_fee_cents"])
            .or_else(|| cents(&life["default_attributes"]["default_late_fee_cents"]))
            .unwrap_or_default(),
        percent: percent(&fees["late_fee_percent"])?.unwrap_or_default(),
        least: cents(&fees["late_fee_min_cents"]),
        most: cents(&fees["late_fee_max_cents"]),
        cap: percent(&summary["late_fee_cap_percent"])?.or(percent(&fees["late_fee_cap_percent"])?),
        pyramiding: choice(
            &fees["late_fee_pyramiding"],
            &[("RECEIPTS", Pyramiding::Receipts), ("FEES_ONLY", Pyramiding::FeesOnly)],
        )?,
        tiers: fees["late_fee_tiers"].as_array().into_iter().flatten().map(tier).collect::<Result<_, _>>()?,
        loan_cap: cents(&fees["late_fee_loan_cap_cents"]),
    })
}

fn late_fee_kind(value: &Value) -> Result<LateFee, String> {
    choice(
        value,
        &[
            ("FLAT", LateFee::Flat),
            ("PERCENT_OF_UNPAID", LateFee::PercentOfUnpaid),
            ("PERCENT_OF_UNPAID_PRINCIPAL", LateFee::PercentOfUnpaidPrincipal),
            ("PERCENT_OF_PAYMENT", LateFee::PercentOfPayment),
        ],
    )
}

fn tier(value: &Value) -> Result<LateFeeTier, String> {
    Ok(LateFeeTier {
        after: interval(&value["after"])?.ok_or("after is missing")?.days as u32,
        kind: late_fee_kind(&value["type"])?,
        flat: cents(&value["amount_cents"]).unwrap_or_default(),
        percent: percent(&value["percent"])?.unwrap_or_default(),
        least: cents(&value["min_cents"]),
        most: cents(&value["max_cents"]),
    })
}

fn business_days(value: &Value) -> Result<BusinessDays, String> {
    let mut business = BusinessDays {
        adjust: choice(
            &value["adjust"],
            &[
                ("NONE", Adjust::None),
                ("FOLLOWING", Adjust::Following),
                ("MODIFIED_FOLLOWING", Adjust::ModifiedFollowing),
                ("PRECEDING", Adjust::Preceding),
            ],
        )?,
        ..BusinessDays::default()
    };
    if let Some(weekend) = value["weekend"].as_array() {
        let names = [
            ("MONDAY", Weekday::Monday),
            ("TUESDAY", Weekday::Tuesday),
            ("WEDNESDAY", Weekday::Wednesday),
            ("THURSDAY", Weekday::Thursday),
            ("FRIDAY", Weekday::Friday),
            ("SATURDAY", Weekday::Saturday),
            ("SUNDAY", Weekday::Sunday),
        ];
        business.weekend = weekend.iter().map(|name| choice(name, &names)).collect::<Result<_, _>>()?;
    }
    for holiday in value["holidays"].as_array().into_iter().flatten() {
        business.holidays.extend(day(holiday)?);
    }
    business.holidays.sort();
    business.holidays.dedup();
    Ok(business)
}

/// Two days of the month; `None` if the value is absent.
pub fn semi_monthly_days(value: &Value) -> Result<Option<[u8; 2]>, String> {
    let Some(days) = value.as_array() else { return Ok(None) };
    let days: Vec<u8> = days.iter().filter_map(Value::as_u64).map(|day| day as u8).collect();
    days.try_into().map(Some).map_err(|_| "semi_monthly_days must be two days".to_owned())
}

/// Reads a date; `None` if the value is absent.
pub fn day(value: &Value) -> Result<Option<Day>, String> {
    match value.as_str() {
        None => Ok(None),
        Some(text) => Day::parse(text).map(Some).ok_or_else(|| format!("{text} is not a date")),
    }
}

/// Parses a time of the API.
pub fn time(value: &Value) -> Result<Time, String> {
    value.as_str().and_then(Time::parse).ok_or_else(|| format!("{value} is not a time"))
}

/// Reads cents; `None` if the value is absent.
pub fn cents(value: &Value) -> Option<Cents> {
    value.as_i64().map(Cents)
}

/// Reads a percentage; `None` if the value is absent.
pub fn percent(value: &Value) -> Result<Option<Percent>, String> {
    if value.is_null() {
        return Ok(None);
    }
    Percent::parse(&value.to_string()).map(Some).ok_or_else(|| format!("{value} is not a percentage"))
}

/// Reads an interval; `None` if the value is absent.
pub fn interval(value: &Value) -> Result<Option<Interval>, String> {
    match value.as_str() {
        None => Ok(None),
        Some(text) => Interval::parse(text).map(Some).ok_or_else(|| format!("{text} is not an interval")),
    }
}

/// The first choice is the default.
/// One of the named values; the first one if the value is absent.
pub fn choice<T: Copy>(value: &Value, choices: &[(&str, T)]) -> Result<T, String> {
    match value.as_str() {
        None => Ok(choices[0].1),
        Some(name) => {
            let found = choices.iter().find(|(candidate, _)| *candidate == name);
            found.map(|(_, choice)| *choice).ok_or_else(|| format!("{name} is not a valid choice"))
        }
    }
}
