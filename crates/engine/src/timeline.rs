//! The timeline of an account: its inputs, each at its place.
//!
//! An [`Input`] is what a caller requested. Once placed, it is an [`Entry`]: its [`TimelinePosition`] never changes
//! again. Moments (a due date passing, a grace period ending) are not entries: the fold computes them from terms and
//! state and sorts them between the entries, see [`Rank`].

use crate::change::{Change, InputClass};
use crate::item::{Component, ItemId, ItemStatus, Name};
use crate::money::Cents;
use crate::notify::Setting;
use crate::status::Status;
use crate::time::Time;
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};

/// The order of steps at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rank {
    /// Inputs: a payment effective exactly at the due moment is on time.
    Input,
    /// Moments.
    Moment,
    /// Inputs posted late, at the account clock.
    Late,
}

/// A place in the timeline. Places sort by time, then rank, then class, then order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TimelinePosition {
    /// When the step counts.
    pub at: Time,
    /// Its order among steps at the same instant.
    pub rank: Rank,
    /// The order of inputs of the same instant and rank; [`InputClass::Other`] for moments and inputs posted late.
    pub class: InputClass,
    /// The order of arrival within the account; 0 for moments.
    pub seq: u64,
}

impl TimelinePosition {
    /// The place of the moments at an instant.
    pub const fn of_moments(at: Time) -> TimelinePosition {
        TimelinePosition { at, rank: Rank::Moment, class: InputClass::Other, seq: 0 }
    }

    /// The place of an input posted late.
    pub const fn late(at: Time, seq: u64) -> TimelinePosition {
        TimelinePosition { at, rank: Rank::Late, class: InputClass::Other, seq }
    }

    /// A moment that an input puts at a time: right after the input if that time has passed. A due date of today can
    /// lie before it if business has closed.
    pub(crate) fn first_moment_from(self, at: Time) -> Time {
        if self < TimelinePosition::of_moments(at) { at } else { self.at.plus_micros(1) }
    }

    /// Whether the moments at `at` come before this place.
    pub(crate) fn is_after_moment(self, at: Time) -> bool {
        at < self.at || (at == self.at && self.rank > Rank::Moment)
    }
}

/// An input at its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place.
    pub place: TimelinePosition,
    /// When the caller states it happened.
    pub effective_at: Time,
    /// Whether it was scheduled before, so that its item is already known and applying it is an update.
    pub scheduled: bool,
    /// The name of the input and of the line item it creates.
    pub name: Name,
    /// The request.
    pub input: Input,
}

/// What a caller requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// The account is opened and the principal paid out. Always the first entry.
    Open,
    /// The borrower paid.
    Payment {
        /// How much; positive.
        amount: Cents,
        /// A payment with [`ItemStatus::Invalid`] is recorded and never counts.
        status: ItemStatus,
        /// The component that the payer wants to pay first.
        allocation: Option<Component>,
    },
    /// A payment that was pending or authorized becomes valid or invalid.
    PaymentStatus {
        /// The payment.
        payment: Name,
        /// True if it becomes valid; false if it becomes invalid, as if it had never been made.
        valid: bool,
    },
    /// A payment bounced.
    Reversal {
        /// The payment.
        payment: Name,
    },
    /// A person charges a fee.
    Fee {
        /// How much; positive.
        amount: Cents,
        /// Its class.
        class: FeeClass,
    },
    /// The unpaid part of a fee is waived.
    Waiver {
        /// The fee.
        fee: ItemId,
    },
    /// The balance is raised.
    Credit {
        /// How much; positive.
        amount: Cents,
        /// The component to raise.
        component: Component,
    },
    /// The balance is lowered.
    Debit {
        /// How much; positive.
        amount: Cents,
        /// The component to lower first.
        component: Component,
    },
    /// A person sets the status.
    Status(Status),
    /// A notice is configured.
    Notify(Setting),
    /// The loan is changed.
    Change(Box<Change>),
    /// A change is cancelled.
    CancelChange {
        /// The change.
        change: Name,
        /// Whether the change was held or scheduled when this arrived: then it is folded as if it had never been made.
        never_made: bool,
    },
    /// Surplus is paid out to the borrower.
    Refund {
        /// How much; positive.
        amount: Cents,
    },
    /// A refund came back.
    RefundReversal {
        /// The refund.
        refund: Name,
    },
}

impl Input {
    /// Its order among inputs of the same instant.
    pub fn class(&self) -> InputClass {
        match self {
            Input::Open => InputClass::Opening,
            Input::Change(change) => change.class(),
            _ => InputClass::Other,
        }
    }

    /// The amount the input states; `None` if its kind has none.
    pub fn amount(&self) -> Option<Cents> {
        match self {
            Input::Payment { amount, .. }
            | Input::Fee { amount, .. }
            | Input::Credit { amount, .. }
            | Input::Debit { amount, .. }
            | Input::Refund { amount } => Some(*amount),
            _ => None,
        }
    }
}

/// Which bucket a fee is paid from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FeeClass {
    /// A charge for a service.
    #[default]
    Fee,
    /// A charge for a breach: late fees and fees for bounced payments.
    Penalty,
}

/// How a backdated input counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backdating {
    /// From now on; postings since its date stay as they are.
    #[default]
    AsPosted,
    /// From its own date; the account is folded again.
    Replay,
}

/// The place of an input, and how to apply it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Fold it onto the current state (now, or at release if the product is in migration mode).
    Next(TimelinePosition),
    /// It lies in the future and is scheduled.
    Scheduled(TimelinePosition),
    /// Fold the account again from the beginning, with this entry in its place.
    Replay(TimelinePosition),
}

impl Placement {
    /// The place itself.
    pub fn place(self) -> TimelinePosition {
        match self {
            Placement::Next(place) | Placement::Scheduled(place) | Placement::Replay(place) => place,
        }
    }
}

/// The facts needed to place an input.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Whether the account's product is in migration mode and holds its events.
    pub held: bool,
    /// The account clock: now, or the time the account was rolled forward to if that is later. The account is folded up
    /// to it.
    pub clock: Time,
    /// The last place folded that can move money; notices do not count.
    pub last_folded: Option<TimelinePosition>,
    /// How the product treats backdated inputs.
    pub backdating: Backdating,
}

/// Assigns an input its place. The first matching row applies:
///
/// | case | place |
/// |---|---|
/// | the product holds its events | `effective_at` |
/// | `effective_at` lies after the clock | `effective_at`, scheduled |
/// | no folded step sorts after it | `effective_at` |
/// | backdating as posted | the clock, after that instant's moments |
/// | backdating by replay | `effective_at`, and the account is folded again |
pub fn place(situation: &Situation, effective_at: Time, class: InputClass, seq: u64) -> Placement {
    let own = TimelinePosition { at: effective_at, rank: Rank::Input, class, seq };
    if situation.held {
        return Placement::Next(own);
    }
    if effective_at > situation.clock {
        return Placement::Scheduled(own);
    }
    if situation.last_folded.is_none_or(|last| last < own) {
        return Placement::Next(own);
    }
    match situation.backdating {
        Backdating::AsPosted => Placement::Next(TimelinePosition::late(situation.clock, seq)),
        Backdating::Replay => Placement::Replay(own),
    }
}
