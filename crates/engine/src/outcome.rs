//! What a fold gives back, besides the state: line items, events to announce, and what each step did.

use crate::item::{Component, ItemChange, ItemId, LineItem, Name};
use crate::money::Cents;
use crate::notify::NoticeKind;
use crate::status::Status;
use crate::time::Time;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What a fold produced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Line items that this fold made, as they stand at its end.
    pub items: Vec<LineItem>,
    /// Changes to line items that earlier folds made, in order; the last one of an item counts.
    pub changes: Vec<ItemChange>,
    /// What is to be announced, in order.
    pub events: Vec<Event>,
    /// What each step did, in order; only when it was asked for, see [`crate::replay::explain`].
    pub steps: Vec<Step>,
    /// Inputs that could not be applied; they changed nothing.
    pub refused: Vec<(u64, Refusal)>,
}

impl Outcome {
    /// An empty outcome with room for so much.
    pub(crate) fn with_room(items: usize, events: usize) -> Outcome {
        Outcome { items: Vec::with_capacity(items), events: Vec::with_capacity(events), ..Outcome::default() }
    }
}

/// Something to announce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened.
    pub at: Time,
    /// The input that caused it, if one did.
    pub input: Option<u64>,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The account was opened.
    AccountCreated,
    /// Something people set on the account changed.
    AccountUpdated,
    /// A line item came to be.
    ItemCreated(ItemId),
    /// A line item changed.
    ItemUpdated(ItemId),
    /// An instalment fell due.
    DueDatePassed {
        /// Which.
        instalment: u32,
        /// Whether it was paid.
        paid: bool,
    },
    /// An instalment fell due unpaid.
    PaymentMissed {
        /// Which.
        instalment: u32,
    },
    /// The status moved.
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
    /// A replay changed the past.
    Recalculated,
    /// A configured notice fired.
    Notice {
        /// Which kind.
        kind: NoticeKind,
        /// The instalment it is about.
        instalment: Option<u32>,
    },
}

impl What {
    /// The name in the interface.
    pub const fn name(&self) -> &'static str {
        match self {
            What::AccountCreated => "account_create",
            What::AccountUpdated => "account_update",
            What::ItemCreated(_) => "line_item_create",
            What::ItemUpdated(_) => "line_item_update",
            What::DueDatePassed { .. } => "due_date_passed",
            What::PaymentMissed { .. } => "payment_missed",
            What::StatusChanged { .. } => "account_status_change",
            What::Closed => "account_closed",
            What::PaymentReversed { .. } => "payment_reversed",
            What::Recalculated => "account_recalculated",
            What::Notice { kind, .. } => kind.name(),
        }
    }
}

/// One step of a fold, and what it did in cents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at: Time,
    /// What came.
    pub cause: Cause,
    /// The balances after it.
    pub after: Balances,
}

/// What makes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An input, by its order of arrival.
    Input(u64),
    /// The end of a period: its interest is posted and, up to the last, its instalment falls due.
    PeriodEnd {
        /// The period, counted from 1.
        period: u32,
    },
    /// The end of an instalment's grace.
    GraceEnd {
        /// The instalment, counted from 1.
        instalment: u32,
        /// How it was found.
        found: Found,
    },
    /// A configured notice.
    Notice(NoticeKind),
}

/// How an instalment is found when its grace ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Found {
    /// Paid.
    Paid,
    /// Unpaid: late.
    Late,
    /// Unpaid, but the borrower paid as much in its time, and an older debt took it.
    Spared,
    /// Unpaid, but it fell due in a time that is not counted.
    Excused,
    /// Unpaid, but the status stops late fees: it does not count as late.
    Stopped,
    /// Unpaid: the late fee is charged, but the status stops the count.
    Uncounted,
}

/// What is owed, and what is held for the borrower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Balances {
    /// Unpaid principal.
    pub principal: Cents,
    /// Posted unpaid interest.
    pub interest: Cents,
    /// Unpaid fees.
    pub fees: Cents,
    /// Money that no debt took.
    pub surplus: Cents,
}

impl Balances {
    /// All that is owed.
    pub fn owed(&self) -> Cents {
        self.principal + self.interest + self.fees
    }

    /// One component of it.
    pub fn component(&self, component: Component) -> Cents {
        match component {
            Component::Principal => self.principal,
            Component::Interest => self.interest,
            Component::Fee => self.fees,
        }
    }
}

/// Why an input could not be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is effective before its account.
    BeforeAccount,
    /// Its amount is not from 1 to 10^13 cents.
    AmountOutOfRange,
    /// The fee has nothing left to waive, or does not exist.
    NothingToWaive,
    /// The payment was reversed already.
    AlreadyReversed,
    /// The payment is invalid, so there is nothing to reverse.
    NotReversible,
    /// The payment's status is final.
    StatusIsFinal,
    /// A second opening.
    AlreadyOpen,
}

impl Refusal {
    /// The rule, as a sentence.
    pub const fn rule(self) -> &'static str {
        match self {
            Refusal::BeforeAccount => "effective_at must not lie before the account's own",
            Refusal::AmountOutOfRange => "the amount must be from 1 to 10000000000000 cents",
            Refusal::NothingToWaive => "the fee has nothing left to waive",
            Refusal::AlreadyReversed => "the payment was reversed already",
            Refusal::NotReversible => "an invalid payment cannot be reversed",
            Refusal::StatusIsFinal => "the payment's status is final",
            Refusal::AlreadyOpen => "the account is open already",
        }
    }
}
