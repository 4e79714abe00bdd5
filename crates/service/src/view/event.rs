//! The timeline of an account, which explains its balance, and the history of its status.

use super::account::AccountOverview;
use super::change_text::{Tense, change_text};
use super::line_item::{DisplayText, ProcessingState};
use super::time::Local;
use crate::account::postings::{BalancePart, Posting};
use daybook_engine::calendar::Day;
use daybook_engine::item::{Component, ItemId, ItemStatus};
use daybook_engine::money::Cents;
use daybook_engine::notify::NoticeKind;
use daybook_engine::outcome::{Balances, Cause, GraceResult};
use daybook_engine::timeline::Input;
use daybook_store::records::MessageRow;
use serde::Serialize;
use utoipa::ToSchema;

/// An event of an account that happened or is scheduled.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TimelineEvent {
    /// Its name: `account_created`, `payment`, `period_end`, `late_fee` and so on.
    pub event: &'static str,
    /// The order of arrival within the account; null for automatic events.
    pub seq: Option<u64>,
    /// When it happened; for an input, as the caller gave it.
    pub effective_at: Local,
    /// Its place in the timeline: when it takes effect.
    pub applies_at: Local,
    /// When it was recorded; null for automatic events.
    pub recorded_at: Option<Local>,
    /// Its processing state.
    pub state: ProcessingState,
    /// Why it failed.
    pub reason: Option<String>,
    /// Its effect on the balances; null while it is not processed.
    pub effect: Option<Amounts>,
    /// The balances after it; null while it is not processed.
    pub balance_after: Option<Amounts>,
    /// Every amount that it posted, and every split of a payment. For each component, the amounts add up to `effect`.
    pub postings: Vec<EventPosting>,
    /// The ids of the line items that it created.
    pub line_items: Vec<String>,
    /// The webhook messages it caused.
    pub webhooks: Vec<EventWebhook>,
    /// What happened, as a sentence.
    pub description: String,
}

/// Balances, or changes to balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Amounts {
    /// Principal.
    pub principal_cents: i64,
    /// Posted interest.
    pub interest_cents: i64,
    /// Fees.
    pub fees_cents: i64,
    /// The surplus: money received and not used for any debt.
    pub surplus_cents: i64,
    /// The total owed: principal, interest and fees.
    pub total_cents: i64,
}

impl Amounts {
    /// The change between two balances.
    pub fn change(before: &Balances, after: &Balances) -> Amounts {
        Amounts::from(Balances {
            principal: after.principal - before.principal,
            interest: after.interest - before.interest,
            fees: after.fees - before.fees,
            surplus: after.surplus - before.surplus,
        })
    }
}

impl From<Balances> for Amounts {
    fn from(balances: Balances) -> Amounts {
        Amounts {
            principal_cents: balances.principal.0,
            interest_cents: balances.interest.0,
            fees_cents: balances.fees.0,
            surplus_cents: balances.surplus.0,
            total_cents: balances.owed().0,
        }
    }
}

/// One amount that an event posted or paid.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EventPosting {
    /// The line item that the amount belongs to.
    #[schema(value_type = String)]
    pub line_item_id: DisplayText<ItemId>,
    /// Its type.
    pub line_item_type: &'static str,
    /// The balance that it changed: `PRINCIPAL`, `INTEREST` and `FEE` are owed by the borrower, `SURPLUS` is money kept
    /// for the borrower.
    pub component: &'static str,
    /// The amount. A posted debt is positive, a payment of it negative.
    pub amount_cents: i64,
    /// For a split of a payment: the line item that it paid down; otherwise null.
    #[schema(value_type = Option<String>)]
    pub paid_down_line_item_id: Option<DisplayText<ItemId>>,
}

impl From<Posting> for EventPosting {
    fn from(posting: Posting) -> EventPosting {
        EventPosting {
            line_item_id: DisplayText(posting.item),
            line_item_type: posting.kind.name(),
            component: match posting.part {
                BalancePart::Owed(Component::Principal) => "PRINCIPAL",
                BalancePart::Owed(Component::Interest) => "INTEREST",
                BalancePart::Owed(Component::Fee) => "FEE",
                BalancePart::Surplus => "SURPLUS",
            },
            amount_cents: posting.cents.0,
            paid_down_line_item_id: posting.paid_down.map(DisplayText),
        }
    }
}

/// A webhook message that an event caused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct EventWebhook {
    /// The name of its event.
    pub event: String,
    /// Its id.
    pub event_id: String,
    /// Whether it is sent.
    pub state: MessageState,
}

/// Whether a message is sent. `GET /organization/messages/{event_id}` returns its state at each URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MessageState {
    /// It waits for its moment; a roll without `roll_webhooks` went past that moment.
    Scheduled,
    /// It is sent to the URLs that are subscribed to its event.
    Published,
    /// It is never sent: it is a notice, and the account was closed before it was due.
    Cancelled,
}

impl MessageState {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            MessageState::Scheduled => "SCHEDULED",
            MessageState::Published => "PUBLISHED",
            MessageState::Cancelled => "CANCELLED",
        }
    }
}

impl From<&MessageRow> for MessageState {
    fn from(message: &MessageRow) -> MessageState {
        match (message.cancelled_at, message.position) {
            (Some(_), _) => MessageState::Cancelled,
            (None, Some(_)) => MessageState::Published,
            (None, None) => MessageState::Scheduled,
        }
    }
}

/// A change of an account's status.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct StatusChange {
    /// When the status changed.
    pub changed_at: Local,
    /// The status from then on.
    pub account_overview: AccountOverview,
}

/// What the description of a moment depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MomentAmounts {
    /// The interest that it posted.
    pub interest: Cents,
    /// Interest of the same period that was charged earlier, and the date if it was charged at once.
    pub early_interest: (Cents, Option<Day>),
    /// The late fee that it charged.
    pub late_fee: Cents,
    /// Whether it announced a notice.
    pub is_announced: bool,
}

/// The name and description of an event in the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventText {
    /// The name.
    pub event: &'static str,
    /// The description: a sentence.
    pub description: String,
}

impl EventText {
    fn new(event: &'static str, description: impl Into<String>) -> EventText {
        EventText { event, description: description.into() }
    }

    /// Describes an input.
    pub fn input(input: &Input) -> EventText {
        match input {
            Input::Open => EventText::new("account_created", "The account was opened and the principal paid out."),
            Input::Payment { amount, status, .. } => {
                EventText::new("payment", format!("A payment of {amount} was recorded as {}.", status.name()))
            }
            Input::PaymentStatus { payment, valid: true } => {
                EventText::new("payment_status", format!("Payment {payment} became valid."))
            }
            Input::PaymentStatus { payment, valid: false } => {
                EventText::new("payment_status", format!("Payment {payment} became invalid, so it does not count."))
            }
            Input::Reversal { payment } => {
                EventText::new("payment_reversal", format!("Payment {payment} was reversed."))
            }
            Input::Fee { amount, .. } => EventText::new("manual_fee", format!("A fee of {amount} was charged.")),
            Input::Waiver { fee } => {
                EventText::new("fee_waiver", format!("The unpaid amount of fee {fee} was waived."))
            }
            Input::Credit { amount, component } => {
                EventText::new("credit_offset", format!("{amount} was added to the {}.", part(*component)))
            }
            Input::Debit { amount, component } => EventText::new(
                "debit_offset",
                format!("The balance was lowered by {amount}, {} first.", part(*component)),
            ),
            Input::Status(status) => EventText::new("status", format!("The status was set to {status}.")),
            Input::Notify(setting) => {
                let verb = if setting.enabled { "set" } else { "turned off" };
                EventText::new("notification_config", format!("The notice {} was {verb}.", setting.kind.name()))
            }
            Input::Change(change) => EventText::new(change.kind(), change_text(change, Tense::Past)),
            Input::CancelChange { change, .. } => {
                EventText::new("change_cancel", format!("Change {change} was cancelled."))
            }
            Input::Refund { amount } => {
                EventText::new("refund", format!("Surplus of {amount} was paid out to the borrower."))
            }
            Input::RefundReversal { refund } => {
                EventText::new("refund_reversal", format!("Refund {refund} came back."))
            }
        }
    }

    /// Describes an input that is not processed: it is held or scheduled.
    pub fn planned(input: &Input) -> String {
        match input {
            Input::Open => "The account will be opened and the principal paid out.".to_owned(),
            Input::Payment { amount, status: ItemStatus::Authorized, .. } => {
                format!("A payment of {amount} is AUTHORIZED. It will not count until it becomes valid.")
            }
            Input::Payment { amount, status: ItemStatus::Pending, .. } => {
                format!("A payment of {amount}, recorded as PENDING, will count.")
            }
            Input::Payment { amount, .. } => format!("A payment of {amount} will count."),
            Input::PaymentStatus { payment, valid: true } => format!("Payment {payment} will become valid."),
            Input::PaymentStatus { payment, valid: false } => {
                format!("Payment {payment} will become invalid, so it will not count.")
            }
            Input::Reversal { payment } => format!("Payment {payment} will be reversed."),
            Input::Fee { amount, .. } => format!("A fee of {amount} will be charged."),
            Input::Waiver { fee } => format!("The unpaid amount of fee {fee} will be waived."),
            Input::Credit { amount, component } => format!("{amount} will be added to the {}.", part(*component)),
            Input::Debit { amount, component } => {
                format!("The balance will be lowered by {amount}, {} first.", part(*component))
            }
            Input::Status(status) => format!("The status will be set to {status}."),
            Input::Notify(setting) => {
                let verb = if setting.enabled { "set" } else { "turned off" };
                format!("The notice {} will be {verb}.", setting.kind.name())
            }
            Input::Change(change) => change_text(change, Tense::Future),
            Input::CancelChange { change, .. } => format!("The change {change} will be cancelled."),
            Input::Refund { amount } => format!("{amount} of the surplus will be refunded to the borrower."),
            Input::RefundReversal { refund } => format!("The refund {refund} will be reversed."),
        }
    }

    /// Describes a moment, with the amounts that it posted.
    pub fn moment(cause: &Cause, instalments: u32, amounts: &MomentAmounts) -> Option<EventText> {
        Some(match cause {
            Cause::Input(_) => return None,
            Cause::PeriodEnd { period } if *period <= instalments => {
                let interest = period_interest(amounts);
                EventText::new("period_end", format!("Instalment {period} fell due. {interest}"))
            }
            Cause::PeriodEnd { period } => {
                let interest = period_interest(amounts);
                let after = ordinal(period - instalments);
                EventText::new("period_end", format!("The {after} period after the last due date ended. {interest}"))
            }
            Cause::GraceEnd { instalment, .. } if amounts.late_fee.is_positive() => {
                let fee = amounts.late_fee;
                let sentence = format!(
                    "Instalment {instalment} was not paid in full by the end of its grace period: a late fee of {fee} \
                     was charged."
                );
                EventText::new("late_fee", sentence)
            }
            Cause::GraceEnd { instalment, grace_result } => {
                EventText::new("grace_end", without_late_fee(*instalment, *grace_result))
            }
            Cause::Notice(kind) => EventText::new(kind.name(), notice(*kind, amounts.is_announced)),
        })
    }
}

/// A sentence about the end of a grace period in which no late fee was charged.
fn without_late_fee(instalment: u32, found: GraceResult) -> String {
    let why = match found {
        GraceResult::Paid => {
            return format!("The grace period of instalment {instalment} ended. The instalment had been paid.");
        }
        GraceResult::Late => "because the account's late fee is 0.00. The instalment is late",
        GraceResult::Uncounted => {
            "because the account's late fee is 0.00. The instalment does not count as late, because the account's \
             status stops the count of late instalments"
        }
        GraceResult::Spared => {
            "because the borrower paid enough money for it in time, but part of that money went to older debts"
        }
        GraceResult::Excused => "because it fell due while the account was closed",
        GraceResult::Stopped => "because the account's status stops late fees",
    };
    format!(
        "Instalment {instalment} was not paid in full by the end of its grace period. No late fee was charged, {why}."
    )
}

/// A sentence about a notice whose moment came.
fn notice(kind: NoticeKind, is_announced: bool) -> String {
    let name = kind.name();
    match (is_announced, kind) {
        (true, _) => format!("It was time to send the notice {name}."),
        (false, NoticeKind::LateFeeDate) => format!(
            "It was time to send the notice {name}, but it is not sent, because the instalment is paid or the \
             account's status stops notices."
        ),
        (false, _) => format!(
            "It was time to send the notice {name}, but it is not sent, because the account's status stops notices."
        ),
    }
}

fn part(component: Component) -> &'static str {
    match component {
        Component::Principal => "principal",
        Component::Interest => "interest",
        Component::Fee => "fees",
    }
}

/// `first`, `second`, `third`, `4th`, `21st`.
fn ordinal(number: u32) -> String {
    match (number, number % 10, number % 100) {
        (1, ..) => "first".to_owned(),
        (2, ..) => "second".to_owned(),
        (3, ..) => "third".to_owned(),
        (_, _, 11..=13) => format!("{number}th"),
        (_, 1, _) => format!("{number}st"),
        (_, 2, _) => format!("{number}nd"),
        (_, 3, _) => format!("{number}rd"),
        _ => format!("{number}th"),
    }
}

/// A sentence about a period's interest, posted at its end or before.
fn period_interest(amounts: &MomentAmounts) -> String {
    let (early, charged_on) = amounts.early_interest;
    let before = charged_on.map_or("before".to_owned(), |day| format!("on {day}"));
    let already = charged_on.map_or("before".to_owned(), |day| format!("already on {day}"));
    match (amounts.interest.is_zero(), early.is_zero()) {
        (true, true) => "No interest was due for the period.".to_owned(),
        (false, true) => format!("Interest of {} was charged for the period.", amounts.interest),
        (true, false) => format!("Interest of {early} for the period was charged {already}."),
        (false, false) => format!(
            "Interest for the period is {}: {early} was charged {before}, {} now.",
            amounts.interest + early,
            amounts.interest
        ),
    }
}
