//! The state of an account: the result of folding a timeline.

use crate::installment::in_force::PlanInForce;
use crate::installment::loan::{Allocation, Loan};
use crate::item::{Component, Name};
use crate::money::Cents;
use crate::outcome::Balances;
use crate::pending_notice::Pending;
use crate::status::Status;
use crate::time::Time;
use crate::timeline::TimelinePosition;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The state of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Its status.
    pub status: Status,
    /// Its current or last active pair; a cured or reopened account returns to it.
    pub active_pair: Status,
    /// The account is folded up to and including this time; `None` before the first fold.
    pub processed_through: Option<Time>,
    /// The place of the last step folded that can move money.
    pub last_folded: Option<TimelinePosition>,
    /// The number of steps folded, without notices: an input may be placed before a notice that has already fired.
    pub(crate) steps: u64,
    /// Money left over when no debt remained to pay.
    pub surplus: Cents,
    /// Whether the surplus that the account was boarded with waits for the next due moment.
    pub(crate) surplus_waits: bool,
    /// How often surplus was used.
    pub(crate) surplus_uses: u32,
    /// How often a small balance was written off, or a write-off undone.
    pub(crate) write_offs: u32,
    /// The sum of all payments, less reversed ones.
    pub paid_total: Cents,
    /// The part of all payments and surplus that paid interest.
    pub interest_paid_total: Cents,
    /// The sum of all amounts ever added or subtracted, without sign. It guards against overflow.
    pub(crate) turnover: Cents,
    /// Payments whose status may still change.
    pub(crate) unsettled: Vec<Unsettled>,
    /// Payments that were called off or reversed (false) or became valid (true) before their own time.
    pub(crate) decided_early: Vec<(Name, bool)>,
    /// Configured notices.
    pub notices: Vec<Pending>,
    /// The part that is specific to the type of product.
    pub product: ProductState,
    /// Empty between steps; its capacity is reused for each payment.
    #[serde(skip)]
    pub(crate) scratch: Allocation,
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

/// The effect of a payment while its status may still change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Undecided {
    /// The payment is pending and counts.
    Counts,
    /// The payment is authorized and does not count yet. Holds what to allocate when it becomes valid, and its
    /// effective time.
    Waits { amount: Cents, allocation: Option<Component>, effective_at: Time },
    /// The payment is authorized and already counts, because a later entry makes it valid and the account is folded
    /// again.
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
            surplus_waits: false,
            surplus_uses: 0,
            write_offs: 0,
            paid_total: Cents::ZERO,
            interest_paid_total: Cents::ZERO,
            turnover: Cents::ZERO,
            unsettled: Vec::new(),
            decided_early: Vec::new(),
            notices: Vec::new(),
            product: ProductState::Installment(Loan::new()),
            scratch: Allocation::default(),
        }
    }

    /// The state of the instalment loan.
    pub fn loan(&self) -> &Loan {
        let ProductState::Installment(loan) = &self.product;
        loan
    }

    pub(crate) fn loan_mut(&mut self) -> &mut Loan {
        let ProductState::Installment(loan) = &mut self.product;
        loan
    }

    /// The notices, and the rows whose dates they follow.
    pub(crate) fn notices_and_rows(&mut self) -> (&mut [Pending], &PlanInForce) {
        let ProductState::Installment(loan) = &self.product;
        (&mut self.notices, &loan.plan)
    }

    /// The amounts owed, and the surplus held for the borrower.
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

    /// Forgets which items of an outcome the open debts refer to: a new fold has a new outcome.
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
