//! The state of an account: what a timeline folds to.

use crate::installment::loan::{Loan, Poured};
use crate::item::{Component, Name};
use crate::money::Cents;
use crate::notify::Pending;
use crate::outcome::Balances;
use crate::status::Status;
use crate::time::Time;
use crate::timeline::Place;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// An account as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Its status.
    pub status: Status,
    /// The active pair that it has, or had last: curing and reopening lead back to it.
    pub active_pair: Status,
    /// Up to and including which moment it is folded; nothing before the first fold.
    pub processed_through: Option<Time>,
    /// The last place folded that can move money.
    pub last_folded: Option<Place>,
    /// Steps folded so far, without notices: an input may be placed before one that has fired.
    pub(crate) steps: u64,
    /// Money that no debt took.
    pub surplus: Cents,
    /// How often surplus was used.
    pub(crate) surplus_uses: u32,
    /// Payments, less what was reversed.
    pub paid_total: Cents,
    /// What of them went to interest.
    pub interest_paid_total: Cents,
    /// All amounts ever added or taken, without sign: the gate against overflow.
    pub(crate) turnover: Cents,
    /// Payments whose status may still change.
    pub(crate) unsettled: Vec<Unsettled>,
    /// Payments that were called off (false) or became valid (true) before their own time came.
    pub(crate) decided_early: Vec<(Name, bool)>,
    /// Configured notices.
    pub notices: Vec<Pending>,
    /// What only this type of product has.
    pub product: ProductState,
    /// Empty between steps: room that is used again for each payment.
    #[serde(skip)]
    pub(crate) scratch: Poured,
}

/// The state of one type of product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProductState {
    /// A sum lent once and repaid in instalments.
    Installment(Loan),
}

/// A payment whose status may still change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unsettled {
    pub name: Name,
    pub standing: Undecided,
}

/// What a payment does while its status may still change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Undecided {
    /// It counts (pending).
    Counts,
    /// It is authorized and counts for nothing: what to pour when it becomes valid, and when it was effective.
    Waits { amount: Cents, allocation: Option<Component>, effective_at: Time },
    /// It is authorized and counts already, for it is folded again: later in the timeline it becomes valid.
    WillBeValid,
}

impl State {
    /// An account before its first entry.
    pub fn new() -> State {
        State {
            status: Status::ACTIVE,
            active_pair: Status::ACTIVE,
            processed_through: None,
            last_folded: None,
            steps: 0,
            surplus: Cents::ZERO,
            surplus_uses: 0,
            paid_total: Cents::ZERO,
            interest_paid_total: Cents::ZERO,
            turnover: Cents::ZERO,
            unsettled: Vec::new(),
            decided_early: Vec::new(),
            notices: Vec::new(),
            product: ProductState::Installment(Loan::new()),
            scratch: Poured::default(),
        }
    }

    /// The instalment loan.
    pub fn loan(&self) -> &Loan {
        let ProductState::Installment(loan) = &self.product;
        loan
    }

    pub(crate) fn loan_mut(&mut self) -> &mut Loan {
        let ProductState::Installment(loan) = &mut self.product;
        loan
    }

    /// What is owed, and what is held for the borrower.
    pub fn balances(&self) -> Balances {
        let loan = self.loan();
        Balances {
            principal: loan.principal,
            interest: loan.interest,
            fees: loan.fees_balance(),
            surplus: self.surplus,
        }
    }

    /// Whether the account has been opened.
    pub fn is_open(&self) -> bool {
        self.loan().current() > 0
    }

    /// Forgets which outcome held the items that are still open: a new fold has a new outcome.
    pub(crate) fn forget_slots(&mut self) {
        let loan = self.loan_mut();
        loan.principal_items.iter_mut().for_each(|item| item.slot = None);
        loan.interest_items.iter_mut().for_each(|item| item.slot = None);
        loan.fees.iter_mut().for_each(|fee| fee.debt.slot = None);
    }
}

impl Default for State {
    fn default() -> State {
        State::new()
    }
}
