//! What a status stops: late fees, interest, the count of late instalments, configurable notices.
//!
//! Every pair of status and reason has its [`Stops`]. [`StatusEffects::default_of`] is the table of defaults; a product
//! may say otherwise for any pair that is not closed. What a status stopped is not made up for when the status ends.

use crate::state::State;
use crate::status::{Reason, Standing, Status};
use crate::terms::Terms;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What a status stops while it lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stops {
    /// An instalment that passes its fee moment unpaid gets no late fee and does not count as late.
    pub late_fees: bool,
    /// No interest is earned: the rate is capped at 0 from the status's date to the date it ends.
    pub interest: bool,
    /// Late instalments are not counted, and the account is neither delinquent, charged off nor cured by itself.
    pub delinquency: bool,
    /// Configurable notices are not sent.
    pub notices: bool,
}

/// What the statuses of a product's accounts stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusEffects {
    /// The pairs for which the product says something other than the defaults.
    changed: Vec<(Status, Stops)>,
}

impl StatusEffects {
    /// What a pair stops unless the product says otherwise.
    pub fn default_of(status: Status) -> Stops {
        use Reason::*;
        let relief = Stops { late_fees: true, delinquency: true, ..Stops::default() };
        match (status.standing(), status.reason()) {
            // No moments fire on a closed account. What it owes when it closes is for the rules of closing.
            (Standing::Closed, _) => Stops { delinquency: true, notices: true, ..Stops::default() },
            (_, Some(Hardship)) => relief,
            (_, Some(Scra)) => Stops { late_fees: true, ..Stops::default() },
            (_, Some(Bankruptcy | Deceased)) => Stops { notices: true, ..relief },
            (_, Some(Fraud)) => Stops { interest: true, notices: true, ..relief },
            _ => Stops::default(),
        }
    }

    /// Says what a pair stops. A closed account's effects cannot be changed.
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
    /// What the account's status stops. While an account is delinquent, what the pair it left stopped of late fees and
    /// interest stays stopped.
    pub fn stops(&self, terms: &Terms) -> Stops {
        let own = terms.status_effects.of(self.status);
        if self.status != Status::DELINQUENT {
            return own;
        }
        let left = terms.status_effects.of(self.active_pair);
        Stops { late_fees: own.late_fees || left.late_fees, interest: own.interest || left.interest, ..own }
    }
}
