//! The timeline of an account: what was asked for, each input at its place.
//!
//! An [`Input`] is what somebody asked for. Placed, it is an [`Entry`]: it has a [`Place`] that never changes again.
//! Moments (a due date passing, a grace period ending) are not entries: the fold computes them from terms and state
//! and sorts them in between, see [`Rank`].

use crate::item::{Component, ItemId, ItemStatus, Name};
use crate::money::Cents;
use crate::notify::Setting;
use crate::status::Status;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Which goes first at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rank {
    /// Inputs: a payment effective exactly at the due moment is on time.
    Input,
    /// Moments.
    Moment,
    /// Inputs posted late, at the account clock.
    Late,
}

/// A place in the timeline. Places sort by time, then rank, then arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// When it counts.
    pub at: Time,
    /// Which goes first at that instant.
    pub rank: Rank,
    /// The order of arrival within the account; 0 for moments.
    pub seq: u64,
}

impl Place {
    /// Whether the moments of an instant come before it.
    pub(crate) fn is_after_moment(self, at: Time) -> bool {
        at < self.at || (at == self.at && self.rank > Rank::Moment)
    }
}

/// An input at its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place.
    pub place: Place,
    /// When the caller says it happened.
    pub effective_at: Time,
    /// Whether it waited as scheduled, so that its item is already known and applying it is an update.
    pub scheduled: bool,
    /// The name of the input and of the line item it makes.
    pub name: Name,
    /// What was asked for.
    pub input: Input,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// The account is opened and the principal paid out. Always the first entry.
    Open,
    /// Money came in.
    Payment {
        /// How much; positive.
        amount: Cents,
        /// [`ItemStatus::Invalid`] payments are recorded and never count.
        status: ItemStatus,
        /// What the payer wants it to be used for first.
        allocation: Option<Component>,
    },
    /// A payment that was pending or authorized becomes valid or invalid.
    PaymentStatus {
        /// The payment.
        payment: Name,
        /// True: it is valid. False: it never was.
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
    /// What is unpaid of a fee is forgiven.
    Waiver {
        /// The fee.
        fee: ItemId,
    },
    /// The balance is raised.
    Credit {
        /// How much; positive.
        amount: Cents,
        /// Which part of it.
        component: Component,
    },
    /// The balance is lowered.
    Debit {
        /// How much; positive.
        amount: Cents,
        /// Which part of it first.
        component: Component,
    },
    /// A person sets the status.
    Status(Status),
    /// A notice is configured.
    Notify(Setting),
}

impl Input {
    /// The amount the input states, if it states one.
    pub fn amount(&self) -> Option<Cents> {
        match self {
            Input::Payment { amount, .. }
            | Input::Fee { amount, .. }
            | Input::Credit { amount, .. }
            | Input::Debit { amount, .. } => Some(*amount),
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
    /// A charge for a fault: late fees and fees for bounced payments.
    Penalty,
}

/// How a backdated input counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backdating {
    /// From now on; what was posted in between stands.
    #[default]
    AsPosted,
    /// From its own date; the account is folded again.
    Replay,
}

/// Where an input belongs, and what that asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// It may be folded onto the state as it is (now, or at release when the product holds).
    Next(Place),
    /// It lies ahead and waits.
    Scheduled(Place),
    /// The account has to be folded again from the beginning with this entry in its place.
    Replay(Place),
}

impl Placement {
    /// The place itself.
    pub fn place(self) -> Place {
        match self {
            Placement::Next(place) | Placement::Scheduled(place) | Placement::Replay(place) => place,
        }
    }
}

/// What has to be known to place an input.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Whether the account's product holds its events.
    pub held: bool,
    /// The account clock: now, or what the account was rolled to if that is later. The account is folded up to it.
    pub clock: Time,
    /// The last place folded that can move money; notices do not count.
    pub last_folded: Option<Place>,
    /// What the product does with backdated inputs.
    pub backdating: Backdating,
}

/// Gives an input its place. The first row that fits counts:
///
/// | case | place |
/// |---|---|
/// | the product holds | `effective_at` |
/// | `effective_at` lies after the clock | `effective_at`, scheduled |
/// | nothing folded sorts after it | `effective_at` |
/// | as posted | the clock, after that instant's moments |
/// | replay | `effective_at`, and the account is folded again |
pub fn place(situation: &Situation, effective_at: Time, seq: u64) -> Placement {
    let own = Place { at: effective_at, rank: Rank::Input, seq };
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
        Backdating::AsPosted => Placement::Next(Place { at: situation.clock, rank: Rank::Late, seq }),
        Backdating::Replay => Placement::Replay(own),
    }
}
