//! The state of an instalment loan.
//!
//! Two ledgers of the same debts run side by side. The *rows* say which instalment a debt belongs to: they decide what
//! is due, late and paid. The *open items* say which line item a debt came from: they are what a payment's splits name.

use super::asks::{Asks, Lowered};
use super::interest::Earning;
use super::rates::Rates;
use super::receipts::Receipt;
use super::surplus::{Lot, SurplusPast};
use super::terms::{Installment, Method};
use crate::calendar::Day;
use crate::item::{Component, ItemId, ItemKind, ItemStatus, Name, Split};
use crate::money::Cents;
use crate::outcome::Found;
use crate::time::Time;
use crate::timeline::FeeClass;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use serde::{Deserialize, Serialize};

/// An instalment as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Interest that is this instalment's: posted, carried to it, or paid before posting.
    pub interest: Cents,
    /// What of it is paid.
    pub interest_paid: Cents,
    /// Principal that is this instalment's; known from when its period is posted.
    pub principal: Cents,
    /// What of it is paid.
    pub principal_paid: Cents,
    /// The part of `principal_paid` that came from payments into the end of the loan.
    pub tail: Cents,
    /// Principal paid on top of the instalment, which made the later ones smaller.
    pub extra: Cents,
    /// Flat interest paid before the period began.
    pub prepaid_interest: Cents,
    /// How many line items that interest became.
    pub prepaid_parts: u32,
    /// Fees that fell into its period.
    pub fees: Cents,
    /// Whether its period has ended and was posted.
    pub posted: bool,
    /// Whether it fell due while the account was closed, so that it is never late.
    pub excused: bool,
    /// Whether its grace ended while the status stopped late fees or the count, so that it never counts as late.
    pub stopped: bool,
    /// How it was found when its grace ended; absent before, and for one that was paid.
    pub found: Option<Found>,
    /// Whether it was paid when it fell due, by money that was not taken back since; meaningful once posted.
    pub on_time: bool,
}

impl Row {
    /// Forgets that it was paid on time once the money for it was taken back.
    pub(crate) fn note_unpaid(&mut self) {
        self.on_time &= !self.posted || self.unpaid().is_zero();
    }

    /// What is owed of it; for a posted row.
    pub fn unpaid(&self) -> Cents {
        self.unpaid_interest() + self.unpaid_principal()
    }

    /// Posted interest that is owed.
    pub fn unpaid_interest(&self) -> Cents {
        self.interest - self.interest_paid
    }

    /// Principal that is owed; for a posted row.
    pub fn unpaid_principal(&self) -> Cents {
        self.principal - self.principal_paid
    }

    /// The payments it asked of the borrower: without what was already paid from the end.
    pub fn asked(&self) -> Cents {
        self.interest + self.principal - self.tail
    }
}

/// The interest period that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    /// The instalment whose period it is; beyond the last one after maturity.
    pub instalment: u32,
    /// Its first date.
    pub start: Day,
    /// Its end date.
    pub end: Day,
    /// The moment it began: it covers what comes strictly after.
    pub began_at: Time,
    /// The moment it ends.
    pub ends_at: Time,
    /// What a day of principal earns.
    pub earning: Earning,
    /// The principal at its beginning.
    pub principal: Cents,
    /// Principal times weight times rate of the days up to `through`.
    pub accrued: i128,
    /// The date up to which `accrued` counts.
    pub through: Day,
    /// The interest, when it is fixed at the beginning.
    pub fixed: Option<Cents>,
    /// What of this period's interest has become line items.
    pub recognised: Cents,
    /// How many line items it has become before its end.
    pub parts: u32,
}

impl Period {
    /// Before an account is opened there is no period: nothing begins, ends or earns.
    const NONE: Period = Period {
        instalment: 0,
        start: Day::from_number(0),
        end: Day::from_number(0),
        began_at: Time::NEVER,
        ends_at: Time::NEVER,
        earning: Earning::NOTHING,
        principal: Cents::ZERO,
        accrued: 0,
        through: Day::from_number(0),
        fixed: Some(Cents::ZERO),
        recognised: Cents::ZERO,
        parts: 0,
    };
}

/// A debt that is not paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenItem {
    /// The line item.
    pub id: ItemId,
    /// Its kind.
    pub kind: ItemKind,
    /// The order in which debts came to be.
    pub order: u64,
    /// What is unpaid.
    pub balance: Cents,
    /// Where this fold's outcome holds the item, if this fold made it.
    #[serde(skip)]
    pub slot: Option<u32>,
}

/// A fee that is not paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFee {
    /// The debt.
    pub debt: OpenItem,
    /// Which bucket it is paid from.
    pub class: FeeClass,
    /// The instalment whose period holds it; one beyond the last for none.
    pub instalment: u32,
}

/// Where a part of a payment went among the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// To the interest of a row.
    Interest { row: u32, cents: Cents },
    /// To the flat interest of a row whose period had not begun; its line item.
    PrepaidInterest { row: u32, cents: Cents, id: ItemId },
    /// To the principal of a row.
    Principal { row: u32, cents: Cents },
    /// To principal on top of a row, with the later ones made smaller.
    Extra { row: u32, cents: Cents },
    /// To principal from the end backwards.
    Tail { cents: Cents },
    /// To a fee.
    Fee { instalment: u32, class: FeeClass, cents: Cents, id: ItemId },
    /// To nobody: more than was owed.
    Surplus { cents: Cents },
}

/// Where the money of a payment went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Poured {
    /// Among the rows.
    pub shares: Vec<Share>,
    /// Among the line items, each with the order of the debt it paid down.
    pub paid_down: Vec<(Split, u64)>,
    /// The rows that it made ask less.
    pub lowered: Option<Lowered>,
}

impl Poured {
    /// How much of it went to one component.
    pub fn component(&self, component: Component) -> Cents {
        let part = |(split, _): &(Split, u64)| if split.component == component { split.cents } else { Cents::ZERO };
        self.paid_down.iter().map(part).sum()
    }

    /// What no debt took.
    pub fn surplus(&self) -> Cents {
        let surplus = |share: &Share| if let Share::Surplus { cents } = share { *cents } else { Cents::ZERO };
        self.shares.iter().map(surplus).sum()
    }
}

/// A payment that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    /// Its name.
    pub name: Name,
    /// How much; positive.
    pub amount: Cents,
    /// Its status.
    pub status: ItemStatus,
    /// Whether it bounced.
    pub reversed: bool,
    /// The fold's step at which it was applied.
    pub step: u64,
    /// Where its money went: which of [`Past::shares`] and of [`Past::paid_down`] are its own.
    shares: Range<u32>,
    paid_down: Range<u32>,
    lowered: Option<Lowered>,
}

/// What only undoing and looking back need. A state read from a snapshot has none of it; folding from the beginning
/// makes it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Past {
    /// All interest after maturity that was ever posted: when, and how much.
    pub tail: Vec<(Day, Cents)>,
    /// Rows that are posted and paid, from the first instalment on.
    pub rows: Vec<Row>,
    /// Every payment that was applied, in order.
    pub payments: Vec<Applied>,
    /// Payments that are invalid and count for nothing.
    pub invalid: Vec<Name>,
    /// What surplus was used for.
    pub surplus: SurplusPast,
    /// Where the money of all payments went among the rows, one payment after the other.
    shares: Vec<Share>,
    /// And among the line items.
    paid_down: Vec<(Split, u64)>,
}

impl Past {
    /// Remembers a payment, and where its money went. Takes that out of `poured`.
    pub fn remember(&mut self, name: Name, amount: Cents, status: ItemStatus, step: u64, poured: &mut Poured) {
        let (shares, paid_down) = (self.shares.len() as u32, self.paid_down.len() as u32);
        self.shares.append(&mut poured.shares);
        self.paid_down.append(&mut poured.paid_down);
        let shares = shares..self.shares.len() as u32;
        let paid_down = paid_down..self.paid_down.len() as u32;
        let lowered = poured.lowered.take();
        self.payments.push(Applied { name, amount, status, reversed: false, step, shares, paid_down, lowered });
    }

    /// Where the money of a payment went.
    pub fn poured(&self, payment: &Applied) -> Poured {
        let within = |range: &Range<u32>| range.start as usize..range.end as usize;
        Poured {
            shares: self.shares[within(&payment.shares)].to_vec(),
            paid_down: self.paid_down[within(&payment.paid_down)].to_vec(),
            lowered: payment.lowered.clone(),
        }
    }
}

/// An instalment loan as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loan {
    /// The sum lent, and what was added to it.
    pub lent: Cents,
    /// Principal that is not paid.
    pub principal: Cents,
    /// Posted interest that is not paid.
    pub interest: Cents,
    /// What each row asks.
    pub asks: Asks,
    /// The open period.
    pub period: Period,
    /// The yearly rates.
    pub rates: Rates,
    /// The number of the first row in `rows`; all before it are posted and paid.
    pub first_row: u32,
    /// Rows from `first_row` up to the open period's and those paid in advance; after the last instalment one more, of
    /// the interest after maturity.
    pub rows: VecDeque<Row>,
    /// Interest after maturity that was posted since none of it was unpaid: when, and how much.
    pub tail: Vec<(Day, Cents)>,
    /// The principal of all posted rows, and what was paid on top of rows.
    pub posted_principal: Cents,
    /// The unpaid principal of all posted rows.
    pub posted_unpaid: Cents,
    /// The next instalment whose grace has not ended.
    pub late_row: u32,
    /// When its grace ends.
    pub late_at: Time,
    /// Late instalments in a row.
    pub late_count: u32,
    /// When the account was last closed.
    pub closed_at: Time,
    /// How often it was charged off.
    pub charge_offs: u32,
    /// Payments that count for an instalment whose grace has not ended.
    pub receipts: Vec<Receipt>,
    /// What the surplus came from, the oldest first.
    pub surplus_lots: Vec<Lot>,
    /// The line items behind the principal.
    pub principal_items: Vec<OpenItem>,
    /// The line items behind the posted interest.
    pub interest_items: VecDeque<OpenItem>,
    /// The unpaid fees, oldest first.
    pub fees: Vec<OpenFee>,
    /// How many debts there have been.
    pub debts: u64,
    /// What undoing and looking back need.
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
            asks: Asks::default(),
            period: Period::NONE,
            rates: Rates::default(),
            first_row: 1,
            rows: VecDeque::new(),
            tail: Vec::new(),
            posted_principal: Cents::ZERO,
            posted_unpaid: Cents::ZERO,
            late_row: 1,
            late_at: Time::NEVER,
            late_count: 0,
            closed_at: Time::BEGINNING,
            charge_offs: 0,
            receipts: Vec::new(),
            surplus_lots: Vec::new(),
            principal_items: Vec::new(),
            interest_items: VecDeque::new(),
            fees: Vec::new(),
            debts: 0,
            past: Some(Past::default()),
        }
    }

    /// Makes room for so many inputs to come.
    pub(crate) fn make_room(&mut self, inputs: usize) {
        if let Some(past) = &mut self.past {
            past.rows.reserve(inputs);
            past.payments.reserve(inputs);
            past.shares.reserve(2 * inputs);
            past.paid_down.reserve(2 * inputs);
        }
    }

    /// The row of an instalment, unless it is posted and paid, or nothing has touched it yet.
    pub fn row(&self, instalment: u32) -> Option<&Row> {
        self.rows.get(instalment.checked_sub(self.first_row)? as usize)
    }

    /// The row of an instalment that is not posted and paid.
    pub(crate) fn row_mut(&mut self, instalment: u32) -> &mut Row {
        assert!(instalment >= self.first_row, "row {instalment} is posted and paid");
        let index = (instalment - self.first_row) as usize;
        while self.rows.len() <= index {
            self.rows.push_back(Row::default());
        }
        &mut self.rows[index]
    }

    /// The row of an instalment; of one that is posted and paid only if the past is known.
    pub(crate) fn row_or_past_mut(&mut self, instalment: u32) -> Option<&mut Row> {
        if instalment >= self.first_row {
            return Some(self.row_mut(instalment));
        }
        self.past.as_mut()?.rows.get_mut(instalment as usize - 1)
    }

    /// Rows with their numbers, oldest first, without those that are posted and paid.
    pub fn numbered_rows(&self) -> impl Iterator<Item = (u32, &Row)> {
        (self.first_row..).zip(&self.rows)
    }

    /// The instalment whose period is open; one beyond the last after maturity.
    pub fn current(&self) -> u32 {
        self.period.instalment
    }

    /// Principal that no posted row asks for yet.
    pub(crate) fn unscheduled(&self) -> Cents {
        self.principal - self.posted_unpaid
    }

    /// Unpaid fees.
    pub fn fees_balance(&self) -> Cents {
        self.fees.iter().map(|fee| fee.debt.balance).sum()
    }

    /// The oldest instalment whose due moment has passed and that is not paid.
    pub fn oldest_past_due(&self) -> Option<u32> {
        // Paid rows leave from the front, so the first posted row that is here is usually the one.
        self.numbered_rows()
            .take_while(|(_, row)| row.posted)
            .find(|(_, row)| row.unpaid().is_positive())
            .map(|(number, _)| number)
    }

    /// The oldest due date that is unpaid. Interest after maturity is due on the day it is posted, and what is unpaid of
    /// it is what was posted last.
    pub fn oldest_unpaid_day(&self, plan: &Installment) -> Option<Day> {
        let oldest = self.oldest_past_due()?;
        if oldest <= plan.count() {
            return Some(plan.dates.due_day(oldest));
        }
        let mut unpaid = self.row(oldest)?.unpaid_interest();
        let covers = |(_, posted): &&(Day, Cents)| {
            unpaid -= *posted;
            !unpaid.is_positive()
        };
        self.tail.iter().rev().find(covers).or(self.tail.first()).map(|(day, _)| *day)
    }

    /// Gives interest after maturity to its row, which is past due at once.
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

    /// Interest after maturity that was paid may be owed again: all that was ever posted of it is known again. Needs the
    /// past.
    pub(crate) fn recall_tail(&mut self) {
        if let Some(past) = &self.past {
            self.tail.clone_from(&past.tail);
        }
    }

    /// Lets go of posted rows that are paid; the last one stays, for the interest after maturity.
    pub(crate) fn release_paid_rows(&mut self, last: u32) {
        while let Some(row) = self.rows.front() {
            if !row.posted || !row.unpaid().is_zero() || self.first_row == last {
                return;
            }
            if let Some(past) = &mut self.past {
                past.rows.push(*row);
            }
            self.rows.pop_front();
            self.first_row += 1;
        }
    }

    /// Brings posted rows back from `instalment` on; needs the past.
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

/// What the principal in a row is by plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The row has this total: its principal is what its interest leaves of it.
    Total(Cents),
    /// The row has this principal, whatever its interest.
    Principal(Cents),
    /// The row takes all that is left.
    Rest,
}

impl Installment {
    /// What the plan says of a row, when the level is `level`.
    pub(crate) fn target(&self, instalment: u32, level: Cents) -> Target {
        if instalment >= self.count() {
            return Target::Rest;
        }
        if instalment <= self.policy.interest_only {
            return Target::Principal(Cents::ZERO);
        }
        match self.policy.method {
            Method::Level => Target::Total(level),
            Method::EqualPrincipal | Method::Flat => Target::Principal(level),
        }
    }
}
