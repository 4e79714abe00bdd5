//! Changes of a loan from the JSON of a case.

use crate::product::{cents, choice, day, interval, percent, semi_monthly_days, time};
use daybook_engine::calendar::Day;
use daybook_engine::change::*;
use daybook_engine::money::Cents;
use daybook_engine::zone::Zone;
use serde_json::Value;

/// Parses a change; `None` if the kind of input is no change.
pub fn change(kind: &str, value: &Value, zone: &Zone) -> Result<Option<Change>, String> {
    let local = |field: &str| -> Result<Option<Day>, String> {
        if value[field].is_null() { Ok(None) } else { Ok(Some(zone.day_at(time(&value[field])?))) }
    };
    let date = local("effective_at")?.ok_or("effective_at is missing")?;
    Ok(Some(match kind {
        "interest_rate" => {
            let from = local("effective_at_inclusive_start")?.unwrap_or(date);
            Change::Rate(rate(value, from, local("effective_at_exclusive_end")?)?)
        }
        "temp_promo" => Change::Rate(RateChange {
            kind: RateKind::Promo {
                rate: percent(&value["interest_rate_percent"])?,
                late_fee: cents(&value["late_fee_cents"]),
            },
            from: local("temp_promo_inclusive_start")?.unwrap_or(date),
            to: local("temp_promo_exclusive_end")?,
            level_payment: level_payment(&value["level_payment"], LevelPayment::Keep)?,
            retroactive: false,
        }),
        "interest_pause" => Change::Rate(RateChange {
            kind: RateKind::Pause,
            from: day(&value["start"])?.unwrap_or(date),
            to: day(&value["end"])?,
            level_payment: level_payment(&value["level_payment"], LevelPayment::Keep)?,
            retroactive: value["retroactive"].as_bool().unwrap_or(false),
        }),
        "due_date" => Change::DueDate(DueDateChange {
            from_due_date: day(&value["from_due_date"])?,
            next_due_date: day(&value["next_due_date"])?.ok_or("next_due_date is missing")?,
            semi_monthly_days: semi_monthly_days(&value["semi_monthly_days"])?,
            level_payment: level_payment(&value["level_payment"], LevelPayment::Keep)?,
            fee: cents(&value["fee_cents"]).unwrap_or_default(),
        }),
        "skip" => Change::Skip(Skip {
            from_due_date: day(&value["from_due_date"])?,
            count: value["count"].as_u64().unwrap_or(1) as u32,
            extend_term: value["extend_term"].as_bool().unwrap_or(true),
        }),
        "extension" => Change::Extension(Extension {
            count: value["count"].as_u64().unwrap_or(0) as u32,
            from_due_date: day(&value["from_due_date"])?,
        }),
        "payment_deferral" => Change::Deferral(deferral(value)?),
        "re_amortization" => {
            Change::Reamortization(Reamortization { interest: arrears(&value["interest"])?.unwrap_or_default() })
        }
        "re_age" => Change::ReAge(re_age(value, "installments")?),
        "restructure" => Change::Restructure(Restructure {
            re_age: re_age(value, "am_len")?,
            rate: percent(&value["interest_rate_percent"])?,
            interest_only: value["interest_only_cycles"].as_u64().unwrap_or(0) as u32,
            principal_forgiven: cents(&value["principal_forgiven_cents"]).unwrap_or_default(),
        }),
        "capitalization" => Change::Capitalization(Capitalization {
            interest: choice(
                &value["interest"],
                &[
                    ("ALL", CapitalizedInterest::All),
                    ("POSTED", CapitalizedInterest::Posted),
                    ("NONE", CapitalizedInterest::None),
                ],
            )?,
            fees: choice(&value["fees"], &[("NONE", false), ("ALL", true)])?,
            level_payment: level_payment(&value["level_payment"], LevelPayment::Recalculate)?,
        }),
        _ => return Ok(None),
    }))
}

fn rate(value: &Value, from: Day, to: Option<Day>) -> Result<RateChange, String> {
    let tag = match (value["tags"]["scra"].as_bool(), value["tags"]["mla"].as_bool()) {
        (Some(true), _) => Some(CapTag::Scra),
        (_, Some(true)) => Some(CapTag::Mla),
        _ => None,
    };
    let rate = percent(&value["interest_rate"])?;
    let (kind, usual) = match tag {
        Some(tag) => {
            let usual = if tag == CapTag::Scra { LevelPayment::Reduce } else { LevelPayment::Recalculate };
            (RateKind::Cap { tag, rate: rate.unwrap_or(tag.rate()) }, usual)
        }
        None => (RateKind::Plain(rate.ok_or("interest_rate is missing")?), LevelPayment::Recalculate),
    };
    let level_payment = level_payment(&value["level_payment"], usual)?;
    Ok(RateChange { kind, from, to, level_payment, retroactive: value["retroactive"].as_bool().unwrap_or(false) })
}

fn level_payment(value: &Value, usual: LevelPayment) -> Result<LevelPayment, String> {
    let choices =
        [("RECALCULATE", LevelPayment::Recalculate), ("KEEP", LevelPayment::Keep), ("REDUCE", LevelPayment::Reduce)];
    if value.is_null() { Ok(usual) } else { choice(value, &choices) }
}

fn arrears(value: &Value) -> Result<Option<Arrears>, String> {
    let choices = [
        ("FIRST", Arrears::First),
        ("SPREAD", Arrears::Spread),
        ("WAIVE", Arrears::Waive),
        ("CAPITALIZE", Arrears::Capitalize),
    ];
    if value.is_null() { Ok(None) } else { choice(value, &choices).map(Some) }
}

fn re_age(value: &Value, count: &str) -> Result<ReAge, String> {
    Ok(ReAge {
        first_due_date: day(&value["first_due_date"])?,
        instalments: value[count].as_u64().unwrap_or(0) as u32,
        frequency: interval(&value["frequency"])?,
        interest: arrears(&value["interest"])?.unwrap_or_default(),
        fees: arrears(&value["fees"])?.unwrap_or_default(),
        payment_amount: cents(&value["payment_amount_cents"]),
    })
}

fn deferral(value: &Value) -> Result<Deferral, String> {
    let row = |one: &Value| {
        Ok::<_, String>(DeferredRow {
            due_date: day(&one["due_date"])?.ok_or("due_date is missing")?,
            deferred_to: match one["deferred_to"].as_str() {
                None | Some("MATURITY") => None,
                Some(_) => day(&one["deferred_to"])?,
            },
            balance: choice(
                &one["balance"],
                &[
                    ("ALL", DeferredBalance::All),
                    ("PRINCIPAL", DeferredBalance::Principal),
                    ("INTEREST", DeferredBalance::Interest),
                    ("FEE", DeferredBalance::Fee),
                ],
            )?,
        })
    };
    Ok(Deferral {
        rows: value["deferrals"].as_array().into_iter().flatten().map(row).collect::<Result<_, _>>()?,
        accrues: choice(&value["interest_on_deferred"], &[("ACCRUE", true), ("NONE", false)])?,
    })
}

/// Cents of a field, or zero.
pub fn cents_or_zero(value: &Value) -> Cents {
    cents(value).unwrap_or_default()
}
