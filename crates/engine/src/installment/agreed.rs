//! The plan that an account begins with: due dates, periods and amounts by product, contract and boarded balances.

use super::dates::Dates;
use super::in_force::{DateRule, DateSegment, OwnLength, OwnPeriod, PlanInForce};
use super::plan::{Periods, Plan, Spread};
use super::rates::Rates;
use super::row_amounts::{Ask, RowAmounts};
use super::semi_month;
use super::terms::{InstallmentPolicy, Method, PrecomputedSplit};
use crate::calendar::{Day, Interval};
use crate::contract::{Agreed, Boarded, ContractAmounts, ScheduledAmount};
use crate::money::{Cents, Overflow};
use crate::validation::{Invalid, LATEST};
use alloc::format;
use alloc::vec::Vec;

/// The field of the date of the next instalment of a boarded account.
const NEXT_DUE_DATE: &str = "opening.next_due_date";
const FIRST_DUE_DATE: &str = "first_due_date";
const SCHEDULE: &str = "schedule";
const SEMI_MONTHLY: &str = "product_lifecycle_policies.billing_cycle_policies.semi_monthly_days";

impl InstallmentPolicy {
    /// The policy with the number of instalments that the contract or the boarded balances state.
    pub(crate) fn for_account(&self, agreed: &Agreed) -> InstallmentPolicy {
        let mut policy = self.clone();
        let past_due = agreed.boarded.as_ref().map_or(0, |boarded| boarded.past_due.len() as u32);
        if let ContractAmounts::Schedule(rows) = &agreed.contract.amounts {
            (policy.instalments, policy.interest_only) = (past_due + rows.len().max(1) as u32, 0);
        } else if let Some(boarded) = &agreed.boarded {
            policy.instalments = past_due.saturating_add(boarded.remaining_instalments.unwrap_or(0));
            policy.interest_only = policy.interest_only.min(policy.instalments.saturating_sub(1));
        }
        policy
    }
}

/// Where the dates of the plan come from.
pub(crate) struct Basis<'a> {
    pub policy: &'a InstallmentPolicy,
    pub dates: &'a Dates,
    pub agreed: &'a Agreed,
    /// The principal that the rows to come repay.
    pub principal: Cents,
    /// The local date on which the account begins.
    pub begins: Day,
}

impl Basis<'_> {
    fn past_due(&self) -> u32 {
        self.agreed.boarded.as_ref().map_or(0, |boarded| boarded.past_due.len() as u32)
    }

    /// The interval between regular due dates.
    fn cycle(&self) -> Interval {
        if self.policy.semi_monthly.is_some() { semi_month::LENGTH } else { self.policy.cycle }
    }

    /// The dates and periods of the plan.
    pub fn rows(&self) -> Result<PlanInForce, Invalid> {
        let mut rows = PlanInForce::regular(self.policy);
        match &self.agreed.boarded {
            Some(boarded) => self.board_dates(&mut rows, boarded)?,
            None => {
                if let Some((rule, shift)) = self.regular()? {
                    rows.dates.push(DateSegment { from: 1, shift, rule });
                    rows.periods.push(OwnPeriod { row: 1, start: None, length: OwnLength::Counted });
                }
            }
        }
        match self.agreed.contract.amounts {
            ContractAmounts::Balloon(balloon) => rows.balloon = balloon,
            ContractAmounts::AmortizedOver(count) => rows.amortized_over = self.past_due() + count,
            _ => {}
        }
        rows.move_to_business_days(self.policy, self.dates, self.past_due() + 1);
        self.check_dates(&rows)?;
        Ok(rows)
    }

    /// The rule of the due dates of an account that is not boarded, with the shift from row to index; `None` for that of
    /// the product's cycles.
    fn regular(&self) -> Result<Option<(DateRule, i32)>, Invalid> {
        if let ContractAmounts::Schedule(rows) = &self.agreed.contract.amounts {
            let days = rows.iter().map(|row| row.due_date).collect();
            return Ok(Some((DateRule::Listed { days, interval: self.cycle() }, -1)));
        }
        let first = self.agreed.contract.first_due_date;
        Ok(match (self.policy.semi_monthly, first) {
            (None, None) => None,
            (None, Some(anchor)) => Some((DateRule::Every { anchor, interval: self.policy.cycle }, -1)),
            (Some(days), None) => {
                let first = semi_month::first_after(days, self.dates.start);
                Some((DateRule::TwiceAMonth { days, first }, -1))
            }
            (Some(days), Some(day)) => {
                let first = semi_month::number_of(days, day)
                    .ok_or_else(|| Invalid::new(FIRST_DUE_DATE, "must be one of semi_monthly_days"))?;
                Some((DateRule::TwiceAMonth { days, first }, -1))
            }
        })
    }

    /// The dates of a boarded account: its past-due rows, then the rows to come. They go on as the dates of the whole
    /// loan would if the next due date is one of them.
    fn board_dates(&self, rows: &mut PlanInForce, boarded: &Boarded) -> Result<(), Invalid> {
        let days: Vec<Day> = boarded.past_due.iter().map(|row| row.due_date).collect();
        let next = days.len() as u32 + 1;
        rows.adjusted.clone_from(&days);
        if !days.is_empty() {
            rows.dates.push(DateSegment {
                from: 1,
                shift: -1,
                rule: DateRule::Listed { days: days.clone(), interval: self.cycle() },
            });
        }
        let interval = self.cycle();
        let due = boarded.next_due_date;
        let (rule, shift) = match (self.regular()?, self.policy.semi_monthly) {
            (Some((rule @ DateRule::Listed { .. }, _)), _) => (rule, -(next as i32)),
            (_, Some(days)) => {
                let first = semi_month::number_of(days, due)
                    .ok_or_else(|| Invalid::new(NEXT_DUE_DATE, "must be one of semi_monthly_days"))?;
                (DateRule::TwiceAMonth { days, first }, -(next as i32))
            }
            (regular, None) => {
                let (rule, shift) = regular.unwrap_or((DateRule::Agreed, 0));
                let segment = DateSegment { from: 1, shift, rule };
                match self.number_of(&segment, due) {
                    Some(number) => (segment.rule, shift + number as i32 - next as i32),
                    None => (DateRule::Every { anchor: due, interval }, -(next as i32)),
                }
            }
        };
        // The rows to come are rows of the whole loan, so that its interest-only rows are known.
        let is_of_loan = matches!(rule, DateRule::Agreed | DateRule::Every { .. }) && shift >= 0;
        let segment = DateSegment { from: next, shift, rule };
        let before = match &segment.rule {
            DateRule::Listed { .. } => self.dates.after(due, interval, -1),
            DateRule::TwiceAMonth { days, first } => semi_month::date(*days, first - 1),
            DateRule::Agreed if next as i32 + shift <= 1 => self.dates.start,
            _ => segment.due_day(self.dates, next - 1),
        };
        let start = boarded.accrued_from.or(days.last().copied()).unwrap_or(before.min(self.begins));
        let length = match &segment.rule {
            DateRule::Agreed if start == before => {
                OwnLength::Agreed(self.dates.period_length((next as i32 + shift).max(1) as u32))
            }
            _ if start == before => OwnLength::Agreed(interval),
            _ => OwnLength::Counted,
        };
        rows.dates.push(segment);
        rows.periods.push(OwnPeriod { row: next, start: Some(start), length });
        rows.repays_from = if is_of_loan { self.repays_from(shift, next) } else { next };
        Ok(())
    }

    /// The number of the row that a rule puts on a date.
    fn number_of(&self, segment: &DateSegment, due: Day) -> Option<u32> {
        /// Enough for daily instalments over two centuries.
        const MOST: u32 = 73_000;
        let first =
            if matches!(segment.rule, DateRule::Agreed) { 1 } else { 1_u32.saturating_add_signed(-1 - segment.shift) };
        let mut numbers = first.max(1)..MOST;
        numbers
            .find(|number| segment.due_day(self.dates, *number) >= due)
            .filter(|number| segment.due_day(self.dates, *number) == due)
    }

    /// The first row that repays principal: the interest-only rows of the whole loan that are still to come stay so.
    fn repays_from(&self, shift: i32, next: u32) -> u32 {
        let number = (next as i32 + shift).max(1) as u32;
        let left = (self.policy.interest_only + 1).saturating_sub(number);
        (next + left).min(self.policy.instalments.max(next))
    }

    /// Every due date must lie after the previous one, and the last by [`LATEST`].
    fn check_dates(&self, rows: &PlanInForce) -> Result<(), Invalid> {
        let is_listed = matches!(self.agreed.contract.amounts, ContractAmounts::Schedule(_));
        let (field, of) = match (&self.agreed.boarded, self.policy.semi_monthly, self.agreed.contract.first_due_date) {
            _ if is_listed => (SCHEDULE, "the schedule puts"),
            (Some(_), ..) => (NEXT_DUE_DATE, "the settings of the cycle put"),
            (None, None, Some(_)) => (FIRST_DUE_DATE, "the settings of the cycle put"),
            (None, Some(_), _) => (SEMI_MONTHLY, "the settings of the cycle put"),
            _ => ("product_lifecycle_policies.billing_cycle_policies.cycle_interval", "the settings of the cycle put"),
        };
        let next = self.past_due() + 1;
        let start = rows.period_start(self.dates, next);
        let mut before = start;
        for row in next..=rows.count() + 1 {
            let due = rows.due_day(self.dates, row);
            if due > LATEST {
                let rule = format!("{of} the last due date on {due}; it must not be after {LATEST}");
                return Err(Invalid::new(field, rule));
            }
            let is_first = row == next;
            let may_be_equal = self.dates.stands_in(due) || (is_first && is_listed) || row > rows.count();
            if due < before || (due == before && !may_be_equal) {
                let rule = if is_first {
                    format!("{of} the first due date on {due}; it must be after the loan begins, on {start}")
                } else {
                    format!("{of} a due date on {due}; it must be after the previous one, {before}")
                };
                return Err(Invalid::new(field, rule));
            }
            before = due;
        }
        Ok(())
    }

    /// The amounts of the rows, from the periods of the plan.
    pub fn amounts(&self, rows: &PlanInForce) -> Result<(Plan, RowAmounts), Overflow> {
        let policy = self.policy;
        let rates = Rates::plain(policy.rate);
        let periods = Periods { policy, dates: self.dates, rates: &rates, rows };
        let first = rows.repays_from();
        if let ContractAmounts::Schedule(named) = &self.agreed.contract.amounts {
            let ask = |amount| match amount {
                ScheduledAmount::Total(total) => Ask::Total(total),
                ScheduledAmount::Principal(principal) => Ask::Principal(principal),
                ScheduledAmount::Rest => Ask::Total(Cents::ZERO),
            };
            let asks = (self.past_due() + 1..).zip(named).map(|(row, named)| (row, ask(named.amount)));
            let asks = RowAmounts::of_rows(asks);
            return Ok((Plan { level: asks.of(first).amount(), flat_interest: Cents::ZERO }, asks));
        }
        if policy.method == Method::Precomputed && policy.precomputed_split != PrecomputedSplit::Equal {
            return periods.precomputed(self.principal);
        }
        let flat_interest =
            if policy.method.keeps_interest() { periods.flat_interest(self.principal)? } else { Cents::ZERO };
        let carried = self.agreed.boarded.as_ref().map_or(Cents::ZERO, |boarded| boarded.carried_interest);
        let level = match self.agreed.contract.amounts {
            ContractAmounts::Payment(amount) => amount,
            _ => periods.spread(&Spread { principal: self.principal, carried, first, paid: &[] }, flat_interest)?,
        };
        let mut plan = Plan { level, flat_interest };
        let is_computed = self.agreed.contract.amounts == ContractAmounts::Computed && self.agreed.boarded.is_none();
        if policy.smooth_last && policy.method == Method::Level && is_computed {
            plan = periods.smooth(self.principal, plan)?;
        }
        let ask = |amount| Ask::of(policy.method, amount, flat_interest);
        let interest_only = match ask(Cents::ZERO) {
            Ask::Total(_) => Ask::Principal(Cents::ZERO),
            ask => ask,
        };
        let before = (first > 1).then_some((1, interest_only));
        Ok((plan, RowAmounts::agreed(before.into_iter().chain([(first, ask(plan.level))]))))
    }
}
