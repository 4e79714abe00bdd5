//! The figures of an account that a what-if compares.

use crate::problem::Problem;
use crate::view::last_due_day;
use daybook_engine::calendar::Day;
use daybook_engine::installment::reading::read;
use daybook_engine::item::{ItemKind, ItemStatus};
use daybook_engine::money::Cents;
use daybook_engine::outcome::FoldOutcome;
use daybook_engine::state::State;
use daybook_engine::status::Status;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The names of the compared amounts, in the order in which they are shown.
pub const AMOUNTS: [&str; 8] =
    ["principal", "interest", "fees", "payoff", "past_due", "surplus", "interest_charged", "fees_charged"];

/// Amounts in cents, in the order of [`AMOUNTS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts(pub [i64; AMOUNTS.len()]);

impl Amounts {
    /// The differences to earlier amounts.
    pub fn since(&self, before: &Amounts) -> Amounts {
        Amounts(std::array::from_fn(|index| self.0[index].saturating_sub(before.0[index])))
    }

    /// Adds the amounts of one more account.
    pub fn add(&mut self, more: &Amounts) {
        for (sum, amount) in self.0.iter_mut().zip(more.0) {
            *sum = sum.saturating_add(amount);
        }
    }

    /// The largest amount, without its sign.
    pub fn largest(&self) -> u64 {
        self.0.iter().map(|amount| amount.unsigned_abs()).max().unwrap_or(0)
    }

    /// The amounts with their names.
    pub fn named(self) -> impl Iterator<Item = (&'static str, i64)> {
        AMOUNTS.into_iter().zip(self.0)
    }
}

impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(AMOUNTS.len()))?;
        for (name, amount) in self.named() {
            map.serialize_entry(&format!("{name}_cents"), &amount)?;
        }
        map.end()
    }
}

/// The figures of an account at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    /// The amounts.
    pub amounts: Amounts,
    /// Its status.
    pub status: Status,
    /// Days since the oldest unpaid due date.
    pub days_past_due: i32,
    /// How many late fees were charged.
    pub late_fees: u32,
    /// The due date of the last instalment.
    pub maturity: Day,
}

impl Figures {
    /// The figures of an account that was folded from its beginning up to a moment.
    pub fn of(terms: &Terms, state: &State, outcome: &FoldOutcome, at: Time) -> Result<Figures, Problem> {
        let too_large = |_| Problem::internal("the account's amounts are too large to calculate");
        let reading = read(terms, state, at).map_err(too_large)?;
        let mut charged = Charged::default();
        for item in outcome.items.iter().filter(|item| item.status != ItemStatus::Invalid) {
            charged.add(item.kind, item.amount);
        }
        let balances = reading.balances;
        Ok(Figures {
            amounts: Amounts([
                balances.principal.0,
                (balances.interest + reading.accrued).0,
                balances.fees.0,
                reading.payoff.0,
                reading.past_due.0,
                balances.surplus.0,
                (charged.interest + reading.accrued).0,
                charged.fees.0,
            ]),
            status: reading.status,
            days_past_due: reading.days_past_due,
            late_fees: charged.late_fees,
            maturity: last_due_day(terms, state),
        })
    }

    /// Whether an instalment is past due.
    pub fn is_late(&self) -> bool {
        self.days_past_due > 0
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, amount) in self.amounts.named() {
            map.serialize_entry(&format!("{name}_cents"), &amount)?;
        }
        map.serialize_entry("account_status", &self.status.to_string())?;
        map.serialize_entry("days_past_due", &self.days_past_due)?;
        map.serialize_entry("late_fees", &self.late_fees)?;
        map.serialize_entry("maturity", &self.maturity.to_string())?;
        map.end()
    }
}

/// What an account was charged since its beginning.
#[derive(Debug, Default)]
struct Charged {
    interest: Cents,
    fees: Cents,
    late_fees: u32,
}

impl Charged {
    fn add(&mut self, kind: ItemKind, amount: Cents) {
        match kind {
            ItemKind::Interest => self.interest += amount,
            ItemKind::LateFee => {
                self.fees += amount;
                self.late_fees += 1;
            }
            // A waiver is negative.
            ItemKind::OriginationFee | ItemKind::ManualFee | ItemKind::ReturnCheckFee | ItemKind::FeeWaiver => {
                self.fees += amount;
            }
            _ => {}
        }
    }
}
