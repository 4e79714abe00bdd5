//! What a status stops: late fees, interest, the count of late instalments, configurable notices.
//!
//! Every pair of status and reason has its [`Stops`]. [`StatusEffects::default_of`] is the table of defaults; a product
//! may configure any pair that is not closed. Fees, interest and notices that a status suppressed are not made up for
//! when the status ends.

use crate::state::State;
use crate::status::{AccountStanding, Reason, Status};
use crate::terms::Terms;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What a status stops while it lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stops {
    /// An instalment that is unpaid when its grace ends gets no late fee and does not count as late.
    pub late_fees: bool,
    /// No interest is earned: the rate is capped at 0 from the date the status begins to the date it ends.
    pub interest: bool,
    /// Late instalments are not counted, and the account does not become delinquent, charged off or cured
    /// automatically.
    pub delinquency: bool,
    /// Configurable notices are not sent.
    pub notices: bool,
}

/// What each status stops, for the accounts of a product.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusEffects {
    /// The pairs that the product configured differently from the defaults.
    changed: Vec<(Status, Stops)>,
}

impl StatusEffects {
    /// What a pair stops unless the product configures it.
    pub fn default_of(status: Status) -> Stops {
        use Reason::*;
        let relief = Stops { late_fees: true, delinquency: true, ..Stops::default() };
        match (status.standing(), status.reason()) {
            // No moments fire on a closed account. The rules of closing decide the debt that remains when it closes.
            (AccountStanding::Closed, _) => Stops { delinquency: true, notices: true, ..Stops::default() },
            (_, Some(Hardship)) => relief,
            (_, Some(Scra)) => Stops { late_fees: true, ..Stops::default() },
            (_, Some(Bankruptcy | Deceased)) => Stops { notices: true, ..relief },
            (_, Some(Fraud)) => Stops { interest: true, notices: true, ..relief },
            _ => Stops::default(),
        }
    }

    /// Configures what a pair stops. A closed account's effects cannot be changed.
    pub fn set(&mut self, status: Status, stops: Stops) {
        self.changed.retain(|(changed, _)| *changed != status);
        if !status.is_closed() && stops != StatusEffects::default_of(status) {
            self.changed.push((status, stops));
        }
    }

    /// What a pair stops.
    pub fn of(&self, status: Status) -> Stops {
        let changed = self.changed.iter().find(|(changed, _)| *changed == status);
        changed.map_or_else(|| StatusEffects::default_of(status), |(_, stops)| *stops)
    }
}

impl State {
    /// What the account's status stops. A delinquent account also keeps the stops on late fees and interest of its last
    /// active pair.
    pub fn stops(&self, terms: &Terms) -> Stops {
        let own = terms.status_effects.of(self.status);
        if self.status != Status::DELINQUENT {
            return own;
        }
        let left = terms.status_effects.of(self.active_pair);
        Stops { late_fees: own.late_fees || left.late_fees, interest: own.interest || left.interest, ..own }
    }
}
