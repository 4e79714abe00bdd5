//! What the account pages derive from the service's views.

use crate::display::{AsMoney, Money, plain_words, reason_words};
use daybook_service::view::{
    AccountOverview, Customer, EventPosting, LineItem, ProcessingState, Relationship, ScheduleRow, TimelineEvent,
};

/// A status in words.
pub trait StatusWords {
    /// The status in plain text.
    fn words(&self) -> String;
}

impl StatusWords for AccountOverview {
    fn words(&self) -> String {
        match self.account_status_subtype {
            Some(reason) => format!("{}, {}", plain_words(self.account_status), reason_words(reason)),
            None => plain_words(self.account_status),
        }
    }
}

/// A customer's name without prefix and suffix; empty if none is known.
pub fn short_name(customer: &Customer) -> String {
    let names = [&customer.name_first, &customer.name_middle, &customer.name_last];
    let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
    let business = customer.business_details.as_ref().and_then(|business| business.business_name.as_ref());
    match business {
        Some(business) if names.is_empty() => business.as_str().to_owned(),
        _ => names.join(" "),
    }
}

/// The payment state of an instalment.
pub trait InstalmentState {
    /// A badge's class and its text.
    fn fate(&self) -> (&'static str, &'static str);
}

impl InstalmentState for ScheduleRow {
    fn fate(&self) -> (&'static str, &'static str) {
        if self.retired {
            return ("none", "No longer due");
        }
        match (self.paid_on_time, self.outstanding_cents == 0) {
            (Some(true), _) => ("good", "Paid on time"),
            (Some(false), true) => ("warn", "Paid late"),
            (Some(false), false) => ("bad", "Past due"),
            (None, true) => ("good", "Paid"),
            (None, false) => ("", ""),
        }
    }
}

/// What a part of a payment was applied to.
pub trait SplitWords {
    /// What it was applied to, in plain text.
    fn words(&self) -> String;
}

impl SplitWords for Relationship<'_> {
    fn words(&self) -> String {
        match self.paid_down_line_item_type {
            "LOAN" => "principal".to_owned(),
            "CREDIT_OFFSET" => "debt from the credit offset".to_owned(),
            kind => plain_words(kind).to_lowercase(),
        }
    }
}

/// Which changes a line item allows.
pub trait ItemChanges {
    /// Whether it is held.
    fn is_held(&self) -> bool;

    /// Whether it is invalid.
    fn is_void(&self) -> bool;

    /// Whether it is a payment that can be reversed, judged by the item alone.
    fn may_bounce(&self) -> bool;

    /// Whether it is a pending payment that must still be marked valid or invalid.
    fn is_undecided(&self) -> bool;

    /// Whether the fee can be waived.
    fn may_be_waived(&self) -> bool;
}

impl ItemChanges for LineItem<'_> {
    fn is_held(&self) -> bool {
        self.processing_state == ProcessingState::Held
    }

    fn is_void(&self) -> bool {
        self.line_item_overview.line_item_status == "INVALID"
    }

    fn may_bounce(&self) -> bool {
        is_payment(self) && !self.is_void() && !self.is_held() && self.reversed_by_line_item_id.is_none()
    }

    fn is_undecided(&self) -> bool {
        is_payment(self) && ["PENDING", "AUTHORIZED"].contains(&self.line_item_overview.line_item_status)
    }

    fn may_be_waived(&self) -> bool {
        let kind = self.line_item_overview.line_item_type;
        let fee = kind.ends_with("_FEE") && kind != "PAYMENT_REVERSAL_FEE";
        fee && !self.is_void() && !self.is_held() && self.line_item_summary.balance_cents > 0
    }
}

/// Whether a line item is a refund that can be reversed, judged by the item alone.
pub fn may_return(item: &LineItem<'_>) -> bool {
    let is_refund = item.line_item_overview.line_item_type == "REFUND";
    is_refund && !item.is_void() && !item.is_held() && item.reversed_by_line_item_id.is_none()
}

fn is_payment(item: &LineItem<'_>) -> bool {
    item.line_item_overview.line_item_type == "PAYMENT"
}

/// When an event of the timeline takes effect.
pub trait EventTiming {
    /// Whether it is held until a release.
    fn waits(&self) -> bool;

    /// Whether it takes effect at another time than it happened.
    fn counts_later(&self) -> bool;
}

impl EventTiming for TimelineEvent {
    fn waits(&self) -> bool {
        matches!(self.state, ProcessingState::Held | ProcessingState::Failed)
    }

    fn counts_later(&self) -> bool {
        self.applies_at != self.effective_at
    }
}

/// One amount that an event posted or paid.
pub trait PostingWords {
    /// A description: the type of the line item, and whether the amount paid another item.
    fn words(&self) -> String;

    /// The amount, if it belongs to this component.
    fn of(&self, component: &str) -> Option<Money>;
}

impl PostingWords for EventPosting {
    fn words(&self) -> String {
        let words = plain_words(self.line_item_type);
        match self.component {
            "SURPLUS" if self.line_item_type == "SURPLUS_APPLIED" => {
                format!("{words}, from the money kept for the borrower")
            }
            "SURPLUS" => format!("{words}, kept for the borrower"),
            component if self.paid_down_line_item_id.is_some() => format!("{words}, to {}", component.to_lowercase()),
            _ => words,
        }
    }

    fn of(&self, component: &str) -> Option<Money> {
        (self.component == component).then(|| self.amount_cents.money())
    }
}
