//! The output of a fold besides the state: line items, events to announce, and the steps taken.

use crate::calendar::Day;
use crate::item::{Component, ItemChange, ItemId, LineItem, Name};
use crate::money::Cents;
use crate::notify::NoticeKind;
use crate::status::Status;
use crate::time::Time;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The output of a fold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldOutcome {
    /// Line items that this fold created, as they are at its end.
    pub items: Vec<LineItem>,
    /// Changes to line items that earlier folds created, in order; the last change to an item wins.
    pub changes: Vec<ItemChange>,
    /// Events to announce, in order.
    pub events: Vec<Event>,
    /// The steps, in order; recorded only by [`crate::replay::explain`].
    pub steps: Vec<FoldStep>,
    /// Inputs that were refused; they changed nothing.
    pub refused: Vec<(u64, Refusal)>,
}

impl FoldOutcome {
    /// An empty outcome with capacity for this many items and events.
    pub(crate) fn with_room(items: usize, events: usize) -> FoldOutcome {
        FoldOutcome { items: Vec::with_capacity(items), events: Vec::with_capacity(events), ..FoldOutcome::default() }
    }
}

/// An event to announce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened.
    pub at: Time,
    /// The input that caused it; `None` if a moment did.
    pub input: Option<u64>,
    /// What happened.
    pub what: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The account was opened.
    AccountCreated,
    /// A setting of the account changed.
    AccountUpdated,
    /// A line item was created.
    ItemCreated(ItemId),
    /// A line item changed.
    ItemUpdated(ItemId),
    /// An instalment fell due.
    DueDatePassed {
        /// Which.
        instalment: u32,
        /// Whether it was paid, or counts as paid.
        paid: bool,
        /// What is missing of it, if it counts as paid.
        shortfall: Cents,
    },
    /// An instalment fell due unpaid.
    PaymentMissed {
        /// Which.
        instalment: u32,
    },
    /// The status changed.
    StatusChanged {
        /// From.
        from: Status,
        /// To.
        to: Status,
    },
    /// The account was closed.
    Closed,
    /// A payment bounced.
    PaymentReversed {
        /// Which.
        payment: Name,
    },
    /// A change was processed.
    Changed {
        /// Which.
        change: Name,
        /// The due dates whose instalment changed; only in a fold with an observer.
        rows: Vec<ChangedRow>,
    },
    /// A change was cancelled.
    ChangeCancelled {
        /// Which.
        change: Name,
        /// The due dates whose instalment changed; empty if the account was folded again without the change.
        rows: Vec<ChangedRow>,
    },
    /// A replay changed the account's past.
    Recalculated,
    /// A configured notice fired.
    Notice {
        /// Which kind.
        kind: NoticeKind,
        /// The instalment it is about.
        instalment: Option<u32>,
    },
}

impl EventKind {
    /// The name in the API.
    pub const fn name(&self) -> &'static str {
        match self {
            EventKind::AccountCreated => "account_create",
            EventKind::AccountUpdated => "account_update",
            EventKind::ItemCreated(_) => "line_item_create",
            EventKind::ItemUpdated(_) => "line_item_update",
            EventKind::DueDatePassed { .. } => "due_date_passed",
            EventKind::PaymentMissed { .. } => "payment_missed",
            EventKind::StatusChanged { .. } => "account_status_change",
            EventKind::Closed => "account_closed",
            EventKind::PaymentReversed { .. } => "payment_reversed",
            EventKind::Changed { .. } | EventKind::ChangeCancelled { .. } => "account_update",
            EventKind::Recalculated => "account_recalculated",
            EventKind::Notice { kind, .. } => kind.name(),
        }
    }
}

/// A due date whose instalment a change moved or altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedRow {
    /// The due date.
    pub due_day: Day,
    /// The instalment before; `None` if none was due then.
    pub before: Option<PlannedAmounts>,
    /// The instalment after; `None` if none is due then any more.
    pub after: Option<PlannedAmounts>,
}

/// What an instalment will ask for if everything is paid on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedAmounts {
    /// Which instalment, counted from 1.
    pub instalment: u32,
    /// Its interest.
    pub interest: Cents,
    /// Its principal.
    pub principal: Cents,
}

/// One step of a fold, with the balances after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldStep {
    /// When the step happened.
    pub at: Time,
    /// What caused the step.
    pub cause: Cause,
    /// The balances after it.
    pub after: Balances,
}

/// The cause of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An input, by its order of arrival.
    Input(u64),
    /// The end of a period: its interest is posted and, unless the loan has matured, its instalment falls due.
    PeriodEnd {
        /// The period, counted from 1.
        period: u32,
    },
    /// The end of an instalment's grace period.
    GraceEnd {
        /// The instalment, counted from 1.
        instalment: u32,
        /// The state of the instalment at that moment.
        grace_result: GraceResult,
    },
    /// A configured notice.
    Notice(NoticeKind),
}

/// The state of an instalment when its grace ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraceResult {
    /// Paid.
    Paid,
    /// Unpaid, and late.
    Late,
    /// Unpaid, but the borrower paid enough in time and the money went to older debt: no late fee.
    Spared,
    /// Unpaid, but it fell due while the account was closed: never late.
    Excused,
    /// Unpaid, but the status stops late fees: it does not count as late.
    Stopped,
    /// Unpaid: the late fee is charged, but the status stops the count of late instalments.
    Uncounted,
}

/// The amounts owed, and the surplus held for the borrower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Balances {
    /// Unpaid principal.
    pub principal: Cents,
    /// Posted unpaid interest.
    pub interest: Cents,
    /// Unpaid fees.
    pub fees: Cents,
    /// Money left over when no debt remained to pay.
    pub surplus: Cents,
}

impl Balances {
    /// The sum of principal, interest and fees.
    pub fn owed(&self) -> Cents {
        self.principal + self.interest + self.fees
    }

    /// The balance of one component.
    pub fn component(&self, component: Component) -> Cents {
        match component {
            Component::Principal => self.principal,
            Component::Interest => self.interest,
            Component::Fee => self.fees,
        }
    }
}

/// Why an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is effective before the account is.
    BeforeAccount,
    /// Its amount is not between 1 and 10^13 cents.
    AmountOutOfRange,
    /// The fee has no unpaid amount left to waive, or does not exist.
    NothingToWaive,
    /// The payment was already reversed.
    AlreadyReversed,
    /// The payment is invalid, so it cannot be reversed.
    NotReversible,
    /// The payment is authorized and does not count yet, so it cannot be reversed.
    NotConfirmed,
    /// The payment's status is final and cannot change.
    StatusIsFinal,
    /// The account is already open.
    AlreadyOpen,
    /// The change leaves everything as it is.
    NothingToChange,
    /// No instalment is ahead that the change could alter.
    NoRowsAhead,
    /// The policy allows no further re-age at this time.
    LimitReached,
    /// The change can no longer be cancelled.
    CannotCancel,
    /// The account is closed.
    AccountClosed,
    /// The surplus is smaller than the refund.
    ExceedsSurplus,
    /// A field of a change contradicts the plan.
    Field {
        /// The field's name in the API.
        field: &'static str,
        /// The rule it breaks, after the field's name.
        rule: &'static str,
    },
    /// A field of one entry of a change's list contradicts the plan.
    ListField {
        /// The list's name in the API.
        list: &'static str,
        /// Which entry, counted from 0.
        index: u32,
        /// The field's name in the API.
        field: &'static str,
        /// The rule it breaks, after the field's name.
        rule: &'static str,
    },
}

impl Refusal {
    /// The field that it concerns, such as `count` or `deferrals[1].due_date`; `None` if it concerns the account.
    pub fn field(self) -> Option<String> {
        match self {
            Refusal::Field { field, .. } => Some(String::from(field)),
            Refusal::ListField { list, index, field, .. } => Some(alloc::format!("{list}[{index}].{field}")),
            _ => None,
        }
    }

    /// The rule, as a sentence.
    pub const fn rule(self) -> &'static str {
        match self {
            Refusal::BeforeAccount => "effective_at must not be before the account's effective_at",
            Refusal::AmountOutOfRange => "the amount must be from 1 to 10000000000000 cents",
            Refusal::NothingToWaive => "the fee has no unpaid amount to waive",
            Refusal::AlreadyReversed => "the payment is already reversed",
            Refusal::NotReversible => "the payment cannot be reversed, because it is invalid",
            Refusal::NotConfirmed => {
                "the payment cannot be reversed, because it is authorized and does not count yet; decline it instead"
            }
            Refusal::StatusIsFinal => "the payment's status is final",
            Refusal::AlreadyOpen => "the account is already open",
            Refusal::NothingToChange => "the change leaves the account as it is",
            Refusal::NoRowsAhead => "no instalment falls due after the change's date",
            Refusal::LimitReached => "the product allows no further re-age of this account at this time",
            Refusal::CannotCancel => "the change can no longer be cancelled: money moved after it was processed",
            Refusal::AccountClosed => "the account is closed",
            Refusal::ExceedsSurplus => "the refund is larger than the account's surplus",
            Refusal::Field { rule, .. } | Refusal::ListField { rule, .. } => rule,
        }
    }
}
