//! The parts of the service's responses that the account pages read.

use crate::display::{Count, Moment, Money, plain_words};
use serde::Deserialize;
use serde_json::Number;

/// An account.
#[derive(Clone, Debug, Deserialize)]
pub struct Account {
    pub account_id: String,
    pub effective_at: Moment,
    pub processed_through: Option<Moment>,
    pub held_events: Count,
    pub account_overview: Standing,
    pub account_product: Product,
    pub cycle_type: Cycle,
    pub min_pay_due_cents: MinPay,
    pub additional_min_pay_details: MinPayParts,
    pub delinquency: Delinquency,
    pub summary: Summary,
    pub customers: Vec<Assigned>,
    pub external_fields: Vec<External>,
}

/// A status and its reason.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Standing {
    pub account_status: String,
    pub account_status_subtype: Option<String>,
}

impl Standing {
    /// The reason; empty if there is none.
    pub fn reason(&self) -> &str {
        self.account_status_subtype.as_deref().unwrap_or_default()
    }

    /// The status in plain text.
    pub fn words(&self) -> String {
        match &self.account_status_subtype {
            Some(reason) => format!("{}, {}", plain_words(&self.account_status), plain_words(reason).to_lowercase()),
            None => plain_words(&self.account_status),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct Product {
    pub product_id: String,
    pub product_overview: ProductName,
    pub product_lifecycle: Lifecycle,
    pub post_promo_overview: PostPromo,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ProductName {
    pub product_name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Lifecycle {
    pub late_fee_impl_cents: Money,
    pub late_fee_grace: String,
    pub payment_reversal_fee_impl_cents: Money,
    pub loan_end_date: Moment,
    pub product_time_zone: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct PostPromo {
    pub post_promo_len: u32,
    pub post_promo_impl_interest_rate_percent: Number,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Cycle {
    pub cycle_interval: String,
    pub close_of_business_time: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct MinPay {
    pub min_pay_cents: Money,
    pub min_pay_due_at: Option<Moment>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct MinPayParts {
    pub min_pay_fees_cents: Money,
    pub current_min_pay_cents: Money,
    pub unpaid_min_pay_cents: Money,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Delinquency {
    pub days_past_due: i32,
    pub past_due_cents: Money,
    pub past_due_fees_cents: Money,
    pub consecutive_late_fees: u32,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Summary {
    pub total_balance_cents: Money,
    pub principal_cents: Money,
    pub interest_balance_cents: Money,
    pub fees_balance_cents: Money,
    pub surplus_cents: Money,
    pub total_paid_to_date_cents: Money,
    pub total_interest_paid_to_date_cents: Money,
    pub total_payoff_cents: Money,
    pub per_diem_interest_cents: Money,
    pub credit_limit_cents: Option<Money>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Assigned {
    pub customer_id: String,
    pub customer_account_role: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct External {
    pub key: String,
    pub value: String,
}

/// The names of a customer.
#[derive(Clone, Debug, Deserialize)]
pub struct Customer {
    pub name_first: Option<String>,
    pub name_middle: Option<String>,
    pub name_last: Option<String>,
    pub business_details: Option<Business>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Business {
    pub business_name: Option<String>,
}

impl Customer {
    /// The customer's name; empty if none is known.
    pub fn name(self) -> String {
        let names: Vec<String> = [self.name_first, self.name_middle, self.name_last].into_iter().flatten().collect();
        if names.is_empty() {
            self.business_details.and_then(|business| business.business_name).unwrap_or_default()
        } else {
            names.join(" ")
        }
    }
}

/// The migration state of a product.
#[derive(Clone, Debug, Deserialize)]
pub struct Migration {
    pub migration_state: String,
}

/// A list.
#[derive(Clone, Debug, Deserialize)]
pub struct List<T> {
    pub results: Vec<T>,
    #[serde(default)]
    pub paging: Marks,
}

/// The position of a page in its list.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Marks {
    pub starting_after: Option<String>,
    #[serde(default)]
    pub has_more: bool,
}

/// A row of the schedule.
#[derive(Clone, Debug, Deserialize)]
pub struct Instalment {
    pub min_pay_due_at: Moment,
    pub am_min_pay_cents: Money,
    pub am_interest_cents: Money,
    pub am_principal_cents: Money,
    pub am_start_principal_balance_cents: Money,
    pub am_end_principal_balance_cents: Money,
    pub am_fees_cents: Money,
    pub paid_cents: Money,
    pub outstanding_cents: Money,
    pub paid_on_time: Option<bool>,
}

impl Instalment {
    /// The payment state of the instalment: a badge's class and its text.
    pub fn fate(&self) -> (&'static str, &'static str) {
        match (self.paid_on_time, self.outstanding_cents.is_zero()) {
            (Some(true), _) => ("good", "Paid on time"),
            (Some(false), true) => ("warn", "Paid late"),
            (Some(false), false) => ("bad", "Past due"),
            (None, true) => ("good", "Paid"),
            (None, false) => ("", ""),
        }
    }
}

/// A line item.
#[derive(Clone, Debug, Deserialize)]
pub struct Item {
    pub line_item_id: String,
    pub effective_at: Moment,
    pub applied_at: Option<Moment>,
    pub created_at: Moment,
    pub processing_state: String,
    pub line_item_overview: ItemOverview,
    pub line_item_summary: ItemAmounts,
    pub line_item_relationships: Vec<Split>,
    pub reversed_by_line_item_id: Option<String>,
    pub external_fields: Vec<External>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ItemOverview {
    pub line_item_status: String,
    pub line_item_type: String,
    pub description: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ItemAmounts {
    pub original_amount_cents: Money,
    pub balance_cents: Money,
    pub principal_cents: Money,
    pub interest_cents: Money,
    pub fees_cents: Money,
}

/// The part of a payment applied to one line item.
#[derive(Clone, Debug, Deserialize)]
pub struct Split {
    pub paid_down_line_item_id: String,
    pub paid_down_line_item_type: String,
    pub split_amount_cents: Money,
}

impl Split {
    /// What it was applied to, in plain text.
    pub fn words(&self) -> String {
        match self.paid_down_line_item_type.as_str() {
            "LOAN" => "principal".to_owned(),
            kind => plain_words(kind).to_lowercase(),
        }
    }
}

impl Item {
    fn is(&self, kind: &str) -> bool {
        self.line_item_overview.line_item_type == kind
    }

    /// Whether it is held.
    pub fn is_held(&self) -> bool {
        self.processing_state == "HELD"
    }

    /// Whether it is invalid.
    pub fn is_void(&self) -> bool {
        self.line_item_overview.line_item_status == "INVALID"
    }

    /// Whether it is a payment that can be reversed, judged by the item alone.
    pub fn may_bounce(&self) -> bool {
        self.is("PAYMENT") && !self.is_void() && !self.is_held() && self.reversed_by_line_item_id.is_none()
    }

    /// Whether it is a pending payment that must still be marked valid or invalid.
    pub fn is_undecided(&self) -> bool {
        let open = ["PENDING", "AUTHORIZED"].contains(&self.line_item_overview.line_item_status.as_str());
        self.is("PAYMENT") && open
    }

    /// Whether the fee can be waived.
    pub fn may_be_waived(&self) -> bool {
        let fee = self.line_item_overview.line_item_type.ends_with("_FEE") && !self.is("PAYMENT_REVERSAL_FEE");
        fee && !self.is_void() && !self.is_held() && self.line_item_summary.balance_cents > Money(0)
    }
}

/// An event of the timeline, past or future.
#[derive(Clone, Debug, Deserialize)]
pub struct TimelineEntry {
    pub event: String,
    pub effective_at: Moment,
    pub applies_at: Moment,
    pub recorded_at: Option<Moment>,
    pub state: String,
    pub reason: Option<String>,
    pub effect: Option<Amounts>,
    pub balance_after: Option<Amounts>,
    pub postings: Vec<Posting>,
    pub line_items: Vec<String>,
    pub webhooks: Vec<Told>,
    #[serde(deserialize_with = "with_dollars")]
    pub description: String,
}

impl TimelineEntry {
    /// Whether it is held until a release.
    pub fn waits(&self) -> bool {
        ["HELD", "FAILED"].contains(&self.state.as_str())
    }

    /// Whether it takes effect at another time than it happened.
    pub fn counts_later(&self) -> bool {
        self.applies_at != self.effective_at
    }
}

/// One amount that an event posted or paid.
#[derive(Clone, Debug, Deserialize)]
pub struct Posting {
    pub line_item_id: String,
    pub line_item_type: String,
    pub component: String,
    pub amount_cents: Money,
    pub paid_down_line_item_id: Option<String>,
}

impl Posting {
    /// A description: the type of the line item, and whether the amount paid another item.
    pub fn words(&self) -> String {
        let words = plain_words(&self.line_item_type);
        match self.component.as_str() {
            "SURPLUS" => format!("{words}, kept for the borrower"),
            component if self.paid_down_line_item_id.is_some() => format!("{words}, to {}", component.to_lowercase()),
            _ => words,
        }
    }

    /// The amount, if it belongs to this component.
    pub fn of(&self, component: &str) -> Option<Money> {
        (self.component == component).then_some(self.amount_cents)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Amounts {
    pub principal_cents: Money,
    pub interest_cents: Money,
    pub fees_cents: Money,
    pub surplus_cents: Money,
    pub total_cents: Money,
}

/// A webhook message of an event.
#[derive(Clone, Debug, Deserialize)]
pub struct Told {
    pub event: String,
    pub event_id: String,
    pub state: String,
}

impl Told {
    /// Whether the message was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.state == "CANCELLED"
    }
}

/// A status change.
#[derive(Clone, Debug, Deserialize)]
pub struct StatusChange {
    pub changed_at: Moment,
    pub account_overview: Standing,
}

/// A configured notification.
#[derive(Clone, Debug, Deserialize)]
pub struct Notice {
    pub notification_type: String,
    pub time_offset: Option<String>,
    pub interval: Option<String>,
    pub time: Option<String>,
    pub enabled: bool,
    pub next_at: Option<Moment>,
}

/// An attempt to deliver a message.
#[derive(Clone, Debug, Deserialize)]
pub struct Delivery {
    pub webhook_url: String,
    pub event: String,
    pub event_id: String,
    pub attempt: i64,
    pub attempted_at: Moment,
    pub latency_ms: i64,
    pub outcome: String,
    pub response_status: Option<u16>,
    pub error: Option<String>,
    pub next_retry_at: Option<Moment>,
}

/// The result of a roll.
#[derive(Clone, Debug, Deserialize)]
pub struct Rolled {
    pub successful_events: Count,
    pub failed_events: Count,
    pub webhooks_sent: Count,
}

/// Rewrites the amounts in a sentence as dollars.
fn with_dollars<'de, D: serde::Deserializer<'de>>(source: D) -> Result<String, D::Error> {
    Ok(daybook_cases::with_dollars(&String::deserialize(source)?))
}
