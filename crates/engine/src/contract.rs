//! What the contract of one loan says beyond its product's policy, and balances that an account begins with.

use crate::calendar::Day;
use crate::item::Name;
use crate::money::Cents;
use crate::status::Status;
use crate::time::Time;
use crate::timeline::FeeClass;
use alloc::boxed::Box;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What the contract says about the instalments of one loan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// How the amounts of the instalments are agreed.
    pub amounts: ContractAmounts,
    /// The due date of the first instalment, from which the others follow; `None` to count from the loan's date.
    pub first_due_date: Option<Day>,
}

/// How the amounts of the instalments are agreed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContractAmounts {
    /// They are computed.
    #[default]
    Computed,
    /// Every instalment is this amount; the last one takes the rest.
    Payment(Cents),
    /// The last instalment is larger than the others by this amount.
    Balloon(Cents),
    /// The instalments are those of a loan with this many; the last one takes the rest.
    AmortizedOver(u32),
    /// Each instalment has a date and an amount of its own.
    Schedule(Vec<ScheduledRow>),
}

/// An instalment that the contract names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledRow {
    /// When it falls due.
    pub due_date: Day,
    /// What it asks for. The amount of the last one is ignored.
    pub amount: ScheduledAmount,
}

/// What a named instalment asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScheduledAmount {
    /// A total: interest, and principal with the rest.
    Total(Cents),
    /// Principal, and the interest of its period on top.
    Principal(Cents),
    /// Everything that is left: the last instalment.
    Rest,
}

/// The balances with which an account begins in the middle of its life. They take the place of its earlier history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boarded {
    /// The instant of the balances; nothing before it is folded.
    pub as_of: Time,
    /// All unpaid principal.
    pub principal: Cents,
    /// The next due date.
    pub next_due_date: Day,
    /// How many instalments are to come; `None` if the contract has a schedule for them.
    pub remaining_instalments: Option<u32>,
    /// The unpaid instalments that are past due, oldest first.
    pub past_due: Vec<BoardedRow>,
    /// Posted interest that no instalment has taken.
    pub carried_interest: Cents,
    /// Interest of the open period up to `as_of`.
    pub accrued_interest: Cents,
    /// Where the open period begins; `None` for the last due date before `as_of`.
    pub accrued_from: Option<Day>,
    /// The unpaid fees.
    pub fees: Vec<BoardedFee>,
    /// Payments until now, by component, for the account's totals.
    pub paid_to_date: PaidToDate,
    /// What was received since the last due date.
    pub received_since_due: Cents,
    /// Late instalments in a row.
    pub consecutive_late_fees: u32,
    /// Late fees charged until now.
    pub late_fees_charged: Cents,
    /// Money held for the borrower.
    pub surplus: Cents,
    /// The sum once lent; `None` if it is not known.
    pub original_principal: Option<Cents>,
    /// The status.
    pub status: Status,
}

/// An unpaid instalment that an account begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardedRow {
    /// When it fell due.
    pub due_date: Day,
    /// Its unpaid principal.
    pub principal: Cents,
    /// Its unpaid interest.
    pub interest: Cents,
    /// The whole instalment.
    pub total: Cents,
}

/// An unpaid fee that an account begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardedFee {
    /// Its name.
    pub name: Name,
    /// The unpaid amount.
    pub amount: Cents,
    /// Its class.
    pub class: FeeClass,
    /// When it was charged, for the reader.
    pub effective_at: Option<Time>,
    /// The due date of its instalment; `None` for the open one.
    pub due_date: Option<Day>,
}

/// Payments before an account began, by component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidToDate {
    /// Principal.
    pub principal: Cents,
    /// Interest.
    pub interest: Cents,
    /// Fees.
    pub fees: Cents,
}

/// The contract and the balances of an account: what [`crate::terms::Opening`] adds to date and principal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreed {
    /// The contract.
    pub contract: Contract,
    /// The balances that the account begins with; `None` if it begins with its first day.
    pub boarded: Option<Box<Boarded>>,
}
