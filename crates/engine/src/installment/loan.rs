//! The state of an instalment loan.
//!
//! The loan keeps two ledgers of the same debts. The *rows* record to which instalment a debt belongs: they decide what
//! is due, late and paid. The *open items* record the line item of a debt: a payment's splits refer to them.

use super::carry::Carry;
use super::earning::Earning;
use super::in_force::PlanInForce;
pub(crate) use super::past::{Accrual, Allocation, Past, PaymentShare};
use super::rates::Rates;
use super::receipts::Receipt;
use super::records::{BoardedPast, LateFees};
pub use super::row::InstalmentRow;
use super::row::sparse;
use super::surplus_lots::Lot;
use super::terms::Installment;
use crate::calendar::Day;
use crate::change::DeferredBalance;
use crate::item::{ItemId, ItemKind, Name};
use crate::money::Cents;
use crate::time::Time;
use crate::timeline::{FeeClass, TimelinePosition};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The open interest period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    /// The instalment of the period; after maturity a number beyond the last.
    pub instalment: u32,
    /// The number of the period in its line items: that of its instalment, unless the loan was re-aged after maturity.
    pub number: u32,
    /// Its first date.
    pub start: Day,
    /// Its end date.
    pub end: Day,
    /// When it began: it covers the time strictly after.
    pub began_at: Time,
    /// When it ends.
    pub ends_at: Time,
    /// What a day of principal earns.
    pub earning: Earning,
    /// The principal at its beginning.
    pub principal: Cents,
    /// The sum over the days up to `through` of principal times weight times rate.
    pub accrued: i128,
    /// The same sum, of the part that caps take off the instalment.
    pub reduced: i128,
    /// The date up to which `accrued` counts.
    pub through: Day,
    /// The interest, if it is fixed at the beginning.
    pub fixed: Option<Cents>,
    /// The part of this period's interest that has become line items.
    pub recognised: Cents,
    /// The number of those line items.
    pub parts: u32,
}

impl Period {
    /// The period of an account that is not open yet: it never begins or ends and earns nothing.
    const NONE: Period = Period {
        instalment: 0,
        number: 0,
        start: Day::from_number(0),
        end: Day::from_number(0),
        began_at: Time::NEVER,
        ends_at: Time::NEVER,
        earning: Earning::NOTHING,
        principal: Cents::ZERO,
        accrued: 0,
        reduced: 0,
        through: Day::from_number(0),
        fixed: Some(Cents::ZERO),
        recognised: Cents::ZERO,
        parts: 0,
    };
}

/// An unpaid debt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenItem {
    /// The line item.
    pub id: ItemId,
    /// Its kind.
    pub kind: ItemKind,
    /// The order in which debts were created.
    pub order: u64,
    /// The unpaid amount.
    pub balance: Cents,
    /// The item's index in this fold's outcome; `None` if an earlier fold created it.
    #[serde(skip)]
    pub slot: Option<u32>,
}

/// An unpaid fee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFee {
    /// The debt.
    pub debt: OpenItem,
    /// The class of bucket it is paid from.
    pub class: FeeClass,
    /// The instalment whose period contains it; one beyond the last if none does.
    pub instalment: u32,
}

/// A deferral that takes effect when its row is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingDeferral {
    /// The deferred row.
    pub row: u32,
    /// The row that asks for it instead.
    pub to: u32,
    /// Which part moves.
    pub balance: DeferredBalance,
    /// Whether the deferred principal goes on earning interest.
    pub accrues: bool,
}

/// What later changes need to know about earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The last change of the plan, with the place up to which nothing else changed the account: until then it can be
    /// cancelled.
    pub last: Option<(Name, TimelinePosition)>,
    /// Changes that were cancelled before their own time.
    pub cancelled: Vec<Name>,
    /// The dates of earlier re-ages.
    pub re_ages: Vec<Day>,
}

/// The state of an instalment loan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loan {
    /// The sum lent, including amounts added later.
    pub lent: Cents,
    /// The unpaid principal.
    pub principal: Cents,
    /// The unpaid posted interest.
    pub interest: Cents,
    /// The plan in force.
    pub plan: PlanInForce,
    /// The open period.
    pub period: Period,
    /// The fraction of a cent that is added to the open period's interest.
    pub carry: Carry,
    /// The yearly rates.
    pub rates: Rates,
    /// Deferred principal that earns no interest until its row falls due.
    pub interest_free: Cents,
    /// The number of the first row in `rows`; all earlier ones are posted and paid.
    pub first_row: u32,
    /// The rows from `first_row` up to the open period's and those paid in advance. After maturity one more, for
    /// interest after maturity.
    #[serde(with = "sparse")]
    pub rows: VecDeque<InstalmentRow>,
    /// Interest after maturity posted since it was last fully paid: date and amount.
    pub tail: Vec<(Day, Cents)>,
    /// The principal of all posted rows, plus principal paid in addition to rows.
    pub posted_principal: Cents,
    /// The unpaid principal of all posted rows.
    pub posted_unpaid: Cents,
    /// The next instalment whose grace has not ended.
    pub late_row: u32,
    /// When its grace ends.
    pub late_at: Time,
    /// Later fees of the same instalments, and the sum of all late fees.
    pub late_fees: LateFees,
    /// Late instalments in a row.
    pub late_count: u32,
    /// What is kept of the balances that the account began with.
    pub boarded: BoardedPast,
    /// When the account was last closed.
    pub closed_at: Time,
    /// How often it was charged off.
    pub charge_offs: u32,
    /// Payments that count for an instalment whose grace has not ended.
    pub receipts: Vec<Receipt>,
    /// The payments and offsets that the surplus is from, oldest first.
    pub surplus_lots: Vec<Lot>,
    /// The line items behind the principal.
    pub principal_items: Vec<OpenItem>,
    /// The line items behind the posted interest.
    pub interest_items: VecDeque<OpenItem>,
    /// The unpaid fees, oldest first.
    pub fees: Vec<OpenFee>,
    /// Deferrals of rows that are not posted yet.
    pub deferrals: Vec<PendingDeferral>,
    /// What later changes need to know about earlier ones.
    pub changes: Changes,
    /// The number of debts created so far.
    pub debts: u64,
    /// History for undoing payments and showing the past; `None` in a state read from a snapshot.
    #[serde(skip)]
    pub(crate) past: Option<Past>,
}

impl Loan {
    /// A loan before it is paid out.
    pub(crate) fn new() -> Loan {
        Loan {
            lent: Cents::ZERO,
            principal: Cents::ZERO,
            interest: Cents::ZERO,
            plan: PlanInForce::default(),
            period: Period::NONE,
            carry: Carry::default(),
            rates: Rates::default(),
            interest_free: Cents::ZERO,
            first_row: 1,
            rows: VecDeque::new(),
            tail: Vec::new(),
            posted_principal: Cents::ZERO,
            posted_unpaid: Cents::ZERO,
            late_row: 1,
            late_at: Time::NEVER,
            late_fees: LateFees::default(),
            late_count: 0,
            boarded: BoardedPast::default(),
            closed_at: Time::BEGINNING,
            charge_offs: 0,
            receipts: Vec::new(),
            surplus_lots: Vec::new(),
            principal_items: Vec::new(),
            interest_items: VecDeque::new(),
            fees: Vec::new(),
            deferrals: Vec::new(),
            changes: Changes::default(),
            debts: 0,
            past: Some(Past::default()),
        }
    }

    /// Reserves capacity for this many inputs.
    pub(crate) fn make_room(&mut self, inputs: usize) {
        if let Some(past) = &mut self.past {
            past.make_room(inputs);
        }
    }

    /// The row of an instalment. `None` if it is posted and paid, or has no entries yet.
    pub fn row(&self, instalment: u32) -> Option<&InstalmentRow> {
        self.rows.get(instalment.checked_sub(self.first_row)? as usize)
    }

    /// The row of an instalment that is not yet posted and paid; created if it does not exist.
    pub(crate) fn row_mut(&mut self, instalment: u32) -> &mut InstalmentRow {
        assert!(instalment >= self.first_row, "row {instalment} is posted and paid");
        let index = (instalment - self.first_row) as usize;
        while self.rows.len() <= index {
            self.rows.push_back(InstalmentRow::default());
        }
        &mut self.rows[index]
    }

    /// The row of an instalment. A posted and paid row is found only if the past is known.
    pub(crate) fn row_or_past_mut(&mut self, instalment: u32) -> Option<&mut InstalmentRow> {
        if instalment >= self.first_row {
            return Some(self.row_mut(instalment));
        }
        self.past.as_mut()?.rows.get_mut(instalment as usize - 1)
    }

    /// The rows with their numbers, oldest first, except those posted and paid.
    pub fn numbered_rows(&self) -> impl Iterator<Item = (u32, &InstalmentRow)> {
        (self.first_row..).zip(&self.rows)
    }

    /// The instalment of the open period; a number beyond the last after maturity.
    pub fn current(&self) -> u32 {
        self.period.instalment
    }

    /// The principal that does not belong to a posted row yet.
    pub(crate) fn unscheduled(&self) -> Cents {
        self.principal - self.posted_unpaid
    }

    /// Unpaid fees.
    pub fn fees_balance(&self) -> Cents {
        self.fees.iter().map(|fee| fee.debt.balance).sum()
    }

    /// The oldest unpaid instalment whose due moment has passed.
    pub fn oldest_past_due(&self) -> Option<u32> {
        // Paid rows are removed from the front, so the first posted row here is usually the one.
        self.numbered_rows()
            .take_while(|(_, row)| row.posted)
            .find(|(_, row)| row.unpaid().is_positive())
            .map(|(number, _)| number)
    }

    /// The oldest unpaid due date. Interest after maturity is due on the day it is posted and is paid oldest first, so
    /// the unpaid part is what was posted last.
    pub fn oldest_unpaid_day(&self, plan: &Installment) -> Option<Day> {
        let oldest = self.oldest_past_due()?;
        if oldest <= self.plan.count() {
            return Some(self.plan.due_day(&plan.dates, oldest));
        }
        let mut unpaid = self.row(oldest)?.unpaid_interest();
        let covers = |(_, posted): &&(Day, Cents)| {
            unpaid -= *posted;
            !unpaid.is_positive()
        };
        self.tail.iter().rev().find(covers).or(self.tail.first()).map(|(day, _)| *day)
    }

    /// Adds interest after maturity to its row, which is past due at once.
    pub(crate) fn add_to_tail(&mut self, row: u32, today: Day, cents: Cents) {
        if self.row(row).is_none_or(|row| row.unpaid_interest().is_zero()) {
            self.tail.clear();
        }
        self.tail.push((today, cents));
        if let Some(past) = &mut self.past {
            past.tail.push((today, cents));
        }
        let row = self.row_mut(row);
        row.interest += cents;
        row.posted = true;
    }

    /// Restores the full list of interest after maturity, because paid interest may be owed again. Needs the past.
    pub(crate) fn recall_tail(&mut self) {
        if let Some(past) = &self.past {
            self.tail.clone_from(&past.tail);
        }
    }

    /// Moves posted and paid rows to the past. The last row stays, for interest after maturity.
    pub(crate) fn release_paid_rows(&mut self, last: u32) {
        while let Some(row) = self.rows.front() {
            // A retired row stays until its fee moment is skipped.
            let is_awaited = row.retired && self.first_row >= self.late_row;
            if !row.posted || !row.unpaid().is_zero() || self.first_row == last || is_awaited {
                return;
            }
            if let Some(past) = &mut self.past {
                past.rows.push(*row);
            }
            self.rows.pop_front();
            self.first_row += 1;
        }
    }

    /// Restores posted rows from `instalment` on; needs the past.
    pub(crate) fn recall_rows(&mut self, instalment: u32) {
        let Some(past) = &mut self.past else { return };
        while self.first_row > instalment {
            let Some(row) = past.rows.pop() else { return };
            self.rows.push_front(row);
            self.first_row -= 1;
        }
    }

    pub(crate) fn next_order(&mut self) -> u64 {
        self.debts += 1;
        self.debts
    }
}
