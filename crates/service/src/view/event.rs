//! The timeline of an account: why the balance is this. And the trail of its status.

use super::account::AccountOverview;
use super::line_item::ProcessingState;
use super::time::Local;
use daybook_engine::item::Component;
use daybook_engine::money::Cents;
use daybook_engine::outcome::{Balances, Cause, Found};
use daybook_engine::timeline::Input;
use serde::Serialize;
use utoipa::ToSchema;

/// Something that happened, or is to happen, on an account.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimelineEvent<'a> {
    /// What: `account_created`, `payment`, `period_end`, `late_fee` and so on.
    pub event: &'static str,
    /// The order of arrival within the account; null for what happens by itself.
    pub seq: Option<u64>,
    /// When it happened, by what the caller says.
    pub effective_at: Local<'a>,
    /// Its place in the timeline: from when it counts.
    pub applies_at: Local<'a>,
    /// When it was accepted; null for what happens by itself.
    pub recorded_at: Option<Local<'a>>,
    /// Where it stands.
    pub state: ProcessingState,
    /// Why it failed.
    pub reason: Option<&'a str>,
    /// What it changed; null while it is not processed.
    pub effect: Option<Amounts>,
    /// The balances after it; null while it is not processed.
    pub balance_after: Option<Amounts>,
    /// The line items it made.
    pub line_items: Vec<String>,
    /// The webhook messages it caused.
    pub webhooks: Vec<EventWebhook>,
    /// What happened, in a sentence.
    pub description: String,
}

/// Balances, or a change of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Amounts {
    /// Principal.
    pub principal_cents: i64,
    /// Posted interest.
    pub interest_cents: i64,
    /// Fees.
    pub fees_cents: i64,
    /// Money that no debt took.
    pub surplus_cents: i64,
    /// All that is owed: principal, interest and fees.
    pub total_cents: i64,
}

impl Amounts {
    /// The change from one reading to another.
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

/// A webhook message that an event caused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct EventWebhook {
    /// The name of its event.
    pub event: String,
    /// Its id.
    pub event_id: String,
}

/// A change of an account's status.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusChange<'a> {
    /// When.
    pub changed_at: Local<'a>,
    /// The status from then on.
    pub account_overview: AccountOverview,
}

/// What an event is, in the timeline: its name and a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The name.
    pub event: &'static str,
    /// The sentence.
    pub description: String,
}

impl Told {
    fn new(event: &'static str, description: impl Into<String>) -> Told {
        Told { event, description: description.into() }
    }

    /// Tells of an input.
    pub fn input(input: &Input) -> Told {
        match input {
            Input::Open => Told::new("account_created", "The account was opened and the principal paid out."),
            Input::Payment { amount, status, .. } => {
                Told::new("payment", format!("A payment of {amount} was recorded as {}.", status.name()))
            }
            Input::PaymentStatus { payment, valid: true } => {
                Told::new("payment_status", format!("Payment {payment} became valid."))
            }
            Input::PaymentStatus { payment, valid: false } => {
                Told::new("payment_status", format!("Payment {payment} became invalid, as if never made."))
            }
            Input::Reversal { payment } => Told::new("payment_reversal", format!("Payment {payment} bounced.")),
            Input::Fee { amount, .. } => Told::new("manual_fee", format!("A fee of {amount} was charged.")),
            Input::Waiver { fee } => Told::new("fee_waiver", format!("What was unpaid of fee {fee} was forgiven.")),
            Input::Credit { amount, component } => {
                Told::new("credit_offset", format!("The {} was raised by {amount}.", part(*component)))
            }
            Input::Debit { amount, component } => {
                Told::new("debit_offset", format!("The balance was lowered by {amount}, {} first.", part(*component)))
            }
            Input::Status(status) => Told::new("status", format!("The status was set to {status}.")),
            Input::Notify(setting) => {
                let verb = if setting.enabled { "configured" } else { "switched off" };
                Told::new("notification_config", format!("The notice {} was {verb}.", setting.kind.name()))
            }
        }
    }

    /// Tells of what happened by itself; `change` is what it did.
    pub fn moment(cause: &Cause, instalments: u32, change: &Amounts) -> Option<Told> {
        Some(match cause {
            Cause::Input(_) => return None,
            Cause::PeriodEnd { period } if *period <= instalments => {
                let interest = Cents(change.interest_cents);
                Told::new(
                    "period_end",
                    format!("Period {period} ended with {interest} of interest to post; its instalment fell due."),
                )
            }
            Cause::PeriodEnd { period } => {
                let interest = Cents(change.interest_cents);
                Told::new(
                    "period_end",
                    format!("Period {period}, after the last instalment, ended with {interest} of interest to post."),
                )
            }
            Cause::GraceEnd { instalment, .. } if change.fees_cents > 0 => {
                let fee = Cents(change.fees_cents);
                Told::new(
                    "late_fee",
                    format!("The grace of instalment {instalment} ended unpaid: a late fee of {fee}."),
                )
            }
            Cause::GraceEnd { instalment, found } => {
                let how = match found {
                    Found::Paid => "it is paid",
                    Found::Late => "it is late, and the policy makes that a fee of nothing",
                    Found::Spared => {
                        "it is unpaid, but there is no fee: as much as it asks for was paid in its time, and an older \
                         debt took it"
                    }
                    Found::Excused => "it is unpaid, but there is no fee: it fell due while the account was closed",
                };
                Told::new("grace_end", format!("The grace of instalment {instalment} ended: {how}."))
            }
            Cause::Notice(kind) => Told::new(kind.name(), format!("The notice {} fired.", kind.name())),
        })
    }
}

fn part(component: Component) -> &'static str {
    match component {
        Component::Principal => "principal",
        Component::Interest => "interest",
        Component::Fee => "fees",
    }
}
