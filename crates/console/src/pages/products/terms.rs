//! The terms of a product, in words.

use super::effects::StatusEffects;
use crate::Console;
use crate::display::{Moment, Money, plain_words};
use crate::guard::Visitor;
use crate::page::{PageError, read};
use daybook_engine::zone::Zone;
use daybook_service::problem::Problem;
use serde::Deserialize;
use serde_json::Number;

/// This number of consecutive late instalments, or more, means never.
const NEVER: u64 = 99_999;

/// A product.
#[derive(Clone, Debug, Deserialize)]
pub struct Terms {
    pub product_id: String,
    pub created_at: Moment,
    pub effective_at: Moment,
    pub product_overview: Overview,
    pub product_lifecycle_policies: Life,
    pub post_promotional_policies: Post,
    pub migration_state: String,
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// Its name and type.
#[derive(Clone, Debug, Deserialize)]
pub struct Overview {
    pub product_name: String,
    pub product_type: String,
    pub product_short_description: Option<String>,
    pub product_long_description: Option<String>,
    pub product_color: Option<String>,
}

/// Its length and interest rate.
#[derive(Clone, Debug, Deserialize)]
pub struct Post {
    pub post_promo_len: u64,
    pub post_promo_default_interest_rate_percent: Number,
}

/// Its servicing policies.
#[derive(Clone, Debug, Deserialize)]
pub struct Life {
    billing_cycle_policies: Billing,
    payment_due_policies: Due,
    fee_policies: Fees,
    amortization_policies: Amortization,
    interest_policies: Interest,
    payment_pouring_policies: Pouring,
    backdating_policy: String,
    opening_policies: Openings,
    default_attributes: Attributes,
    status_effects: StatusEffects,
}

#[derive(Clone, Debug, Deserialize)]
struct Billing {
    cycle_interval: String,
    cycle_due_interval: String,
    first_cycle_interval: Option<String>,
    close_of_business_time: String,
    product_time_zone: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Due {
    delinquent_on_n_consecutive_late_fees: u64,
    charge_off_on_n_consecutive_late_fees: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct Fees {
    late_fee_grace: String,
    late_fee_grace_counts_due_date: bool,
    late_fee_type: String,
    late_fee_percent: Option<Number>,
    late_fee_min_cents: Option<Money>,
    late_fee_max_cents: Option<Money>,
    late_fee_cap_percent: Option<Number>,
    late_fee_pyramiding: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Amortization {
    method: String,
    interest_only_cycles: u64,
    month_end: String,
    installment_rounding_cents: Money,
    smooth_last_installment: bool,
}

#[derive(Clone, Debug, Deserialize)]
struct Interest {
    interest_calc_method: String,
    day_count: String,
    rounding: String,
    interest_after_maturity: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Pouring {
    order: Vec<String>,
    span: String,
    surplus: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Openings {
    most_years_back: u64,
    most_due_dates_back: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct Attributes {
    default_credit_limit_cents: Option<Money>,
    default_late_fee_cents: Money,
    default_payment_reversal_fee_cents: Money,
}

impl Terms {
    /// Fetches a product.
    pub async fn fetch(console: &Console, visitor: &Visitor, id: &str) -> Result<Terms, PageError> {
        read(&console.service.get_product(visitor.caller(), id).await?)
    }

    /// The time zone of its calendar.
    pub fn zone(&self) -> Result<Zone, Problem> {
        Zone::named(self.zone_name()).ok_or_else(|| Problem::internal("the time zone of a product is unknown"))
    }

    /// The name of the time zone.
    pub fn zone_name(&self) -> &str {
        &self.product_lifecycle_policies.billing_cycle_policies.product_time_zone
    }

    /// The interest rate.
    pub fn rate(&self) -> String {
        self.post_promotional_policies.post_promo_default_interest_rate_percent.to_string()
    }

    /// Whether its events are held.
    pub fn is_holding(&self) -> bool {
        self.migration_state == "HOLDING"
    }

    /// Whether a release is in progress.
    pub fn is_releasing(&self) -> bool {
        self.migration_state == "RELEASING"
    }

    /// `36 instalments of 1 month at 12 % a year`.
    pub fn in_short(&self) -> String {
        let cycle = &self.product_lifecycle_policies.billing_cycle_policies.cycle_interval;
        let length = self.post_promotional_policies.post_promo_len;
        format!("{length} instalments, one every {}, at {} % a year", every(cycle), self.rate())
    }

    /// Every term, as a name and sentences.
    pub fn in_words(&self) -> Vec<(&'static str, String)> {
        let life = &self.product_lifecycle_policies;
        vec![
            ("Loan", format!("{}.", self.in_short())),
            ("Dates", life.billing_cycle_policies.words()),
            ("Instalments", life.amortization_policies.words()),
            ("Interest", life.interest_policies.words()),
            ("Late fee", life.fee_policies.words(life.default_attributes.default_late_fee_cents)),
            ("Delinquency", life.payment_due_policies.words()),
            ("Statuses", life.status_effects.words()),
            ("Bounced payment", reversal(life.default_attributes.default_payment_reversal_fee_cents)),
            ("Payment allocation", life.payment_pouring_policies.words()),
            ("Backdated entries", backdating(&life.backdating_policy).to_owned()),
            ("Opening date", life.opening_policies.words()),
            (
                "Credit limit",
                life.default_attributes.default_credit_limit_cents.map_or_else(String::new, |limit| limit.to_string()),
            ),
        ]
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
        .collect()
    }
}

impl Openings {
    fn words(&self) -> String {
        format!(
            "At most {} years and {} due dates in the past; no limit in migration mode.",
            self.most_years_back, self.most_due_dates_back
        )
    }
}

/// An interval for use after `every`: `1 month` becomes `month`.
fn every(interval: &str) -> &str {
    interval.strip_prefix("1 ").unwrap_or(interval)
}

fn is_zero(interval: &str) -> bool {
    interval.starts_with("0 ")
}

impl Billing {
    fn words(&self) -> String {
        let due = match self.cycle_due_interval.as_str() {
            none if is_zero(none) => "at the end of its cycle".to_owned(),
            before if before.starts_with('-') => {
                format!("{} before the end of its cycle", before.trim_start_matches('-'))
            }
            after => format!("{after} after the end of its cycle"),
        };
        let first = self.first_cycle_interval.as_ref().filter(|first| **first != self.cycle_interval);
        let first = first.map_or_else(String::new, |first| format!(" The first cycle is {first} long."));
        format!(
            "A cycle is {} long; its instalment is due {due}.{first} Days end at {} in {}.",
            self.cycle_interval, self.close_of_business_time, self.product_time_zone
        )
    }
}

impl Due {
    fn words(&self) -> String {
        let times =
            |n: u64| if n == 1 { "one late instalment".to_owned() } else { format!("{n} late instalments in a row") };
        let charge_off = match self.charge_off_on_n_consecutive_late_fees {
            NEVER.. => "It is never charged off automatically.".to_owned(),
            n => format!("After {} it is charged off.", times(n)),
        };
        format!("After {} the account is delinquent. {charge_off}", times(self.delinquent_on_n_consecutive_late_fees))
    }
}

impl Fees {
    fn words(&self, flat: Money) -> String {
        let percent = self.late_fee_percent.as_ref().map_or_else(|| "0".to_owned(), ToString::to_string);
        let fee = match self.late_fee_type.as_str() {
            "FLAT" if flat.is_zero() => {
                return "No late fee is charged, but an unpaid instalment counts as late.".to_owned();
            }
            "FLAT" => format!("{flat} for each late instalment"),
            "PERCENT_OF_UNPAID" => format!("{percent} % of the unpaid instalment"),
            "PERCENT_OF_UNPAID_PRINCIPAL" => format!("{percent} % of the instalment's unpaid principal"),
            _ => format!("{percent} % of the whole instalment"),
        };
        let least = self.late_fee_min_cents.map_or_else(String::new, |least| format!(", at least {least}"));
        let most = self.late_fee_max_cents.map_or_else(String::new, |most| format!(", at most {most}"));
        let cap = self.late_fee_cap_percent.as_ref();
        let cap = cap.map_or_else(String::new, |cap| format!(", capped at {cap} % of the unpaid amount"));
        let grace = match self.late_fee_grace.as_str() {
            none if is_zero(none) => "It is charged at the end of the due date.".to_owned(),
            grace if self.late_fee_grace_counts_due_date => {
                format!("It is charged after a grace period of {grace}, of which the due date is the first day.")
            }
            grace => {
                format!("It is charged after a grace period of {grace}, which starts on the day after the due date.")
            }
        };
        let spared = match self.late_fee_pyramiding.as_str() {
            "FEES_ONLY" => "fees",
            _ => "fees or late instalments",
        };
        format!(
            "{fee}{least}{most}{cap}. {grace} No fee is charged if the payments received for the instalment cover \
             it, even if they went to {spared}."
        )
    }
}

impl Amortization {
    fn words(&self) -> String {
        let method = match self.method.as_str() {
            "EQUAL_PRINCIPAL" => "Equal parts of the principal, with interest on top",
            "FLAT" => "Equal principal, and equal interest on the original principal",
            _ => "Equal instalments",
        };
        let only = match self.interest_only_cycles {
            0 => String::new(),
            n => format!(", the first {n} interest-only"),
        };
        let rounding = match self.installment_rounding_cents {
            Money(1) => String::new(),
            cents => format!(" Rounded to {cents}."),
        };
        let smooth = if self.smooth_last_installment {
            " The payment is adjusted once to bring the last instalment closer."
        } else {
            ""
        };
        let month_end = match self.month_end.as_str() {
            "ROLL" => "on the 1st of the next month",
            _ => "on the month's last day",
        };
        format!("{method}{only}.{rounding}{smooth} In a month that is too short for the due date, it is {month_end}.")
    }
}

impl Interest {
    fn words(&self) -> String {
        let method = match self.interest_calc_method.as_str() {
            "DAILY" => "Each day on the principal unpaid that day",
            _ => "Once a period on the principal at its start",
        };
        let days = match self.day_count.as_str() {
            "ACTUAL_365" => "a day is 1/365 of a year",
            "ACTUAL_360" => "a day is 1/360 of a year",
            "ACTUAL_ACTUAL" => "a day is 1/365 of a year, 1/366 in a leap year",
            _ => "a month is a twelfth of a year",
        };
        let half = if self.rounding == "HALF_UP" { "away from zero" } else { "to the even cent" };
        let after = match self.interest_after_maturity.as_str() {
            "NONE" => "After the last due date no interest accrues.",
            _ => "Interest continues after the last due date.",
        };
        format!("{method}; {days}. Half a cent is rounded {half}. {after}")
    }
}

impl Pouring {
    fn words(&self) -> String {
        let order: Vec<String> = self.order.iter().map(|bucket| plain_words(bucket).to_lowercase()).collect();
        let span = match self.span.as_str() {
            "OLDEST_INSTALLMENT_FIRST" => "Oldest instalment first. Within an instalment:",
            "BUCKET_FIRST" => "Across all instalments, oldest first:",
            _ => "Interest and principal of the oldest instalment, then of the next; fees last. Order:",
        };
        let surplus = match self.surplus.as_str() {
            "NEXT_INSTALLMENT" => "into the next instalments, in advance",
            "REDUCE_PRINCIPAL" => "into principal, and later instalments are recalculated",
            _ => "into principal, from the last instalment backwards",
        };
        format!("{span} {}. Overpayments go {surplus}.", order.join(", "))
    }
}

fn reversal(fee: Money) -> String {
    if fee.is_zero() { "No fee is charged.".to_owned() } else { format!("A fee of {fee} is charged.") }
}

fn backdating(policy: &str) -> &'static str {
    match policy {
        "REPLAY" => "They take effect on their own date: the account is recalculated from there.",
        _ => "They take effect when they arrive; charges in between stand.",
    }
}
