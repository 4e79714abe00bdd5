//! Skipped rows: the loan ends later, or the rest is paid by the other rows.

use crate::change::Skip;
use crate::money::Cents;
use crate::outcome::Refusal;
use crate::step::{FoldError, StepContext};
use crate::terms::LATEST;

impl StepContext<'_> {
    /// The first skipped row.
    pub(super) fn examine_skip(&self, skip: &Skip) -> Result<u32, Refusal> {
        let row = self.row_ahead("from_due_date", skip.from_due_date)?;
        let wrong = |rule| Err(Refusal::Field { field: "count", rule });
        if !skip.extend_term && row + skip.count > self.last_row() {
            return wrong("must leave the last instalment");
        }
        let interval = self.state.loan().plan.interval(&self.plan.dates, self.last_row());
        let longest = (interval.months * 31 + interval.days).max(0) as i64;
        let room = i64::from(LATEST.days_since(self.due_day(self.last_row())));
        if skip.extend_term && longest * i64::from(skip.count) > room {
            return wrong("puts the last due date beyond the year 2199");
        }
        Ok(row)
    }

    pub(super) fn skip(&mut self, skip: &Skip) -> Result<(), FoldError> {
        let Ok(row) = self.examine_skip(skip) else { return Ok(()) };
        let dates = &self.plan.dates;
        if skip.extend_term {
            self.loan().plan.postpone_from(dates, row, skip.count);
            return self.follow_plan();
        }
        self.take_out(row, skip.count);
        self.follow_plan()?;
        self.recalculate_from(row, Cents::ZERO)
    }

    /// Takes rows out of the plan. What was paid into them, or deferred to them, goes to the row after them.
    fn take_out(&mut self, row: u32, count: u32) {
        let dates = &self.plan.dates;
        let loan = self.loan();
        loan.plan.take_out(dates, row, count);
        for _ in 0..count {
            // Rows beyond those with entries have nothing to merge.
            let (Some(taken), index) = (loan.row(row).copied(), (row - loan.first_row) as usize) else { break };
            loan.rows.remove(index);
            if taken != Default::default() {
                loan.row_mut(row).merge(&taken);
            }
        }
        let number = move |old: u32| match old {
            _ if old < row => old,
            _ if old < row + count => row,
            _ => old - count,
        };
        loan.deferrals.retain(|deferral| number(deferral.row) == deferral.row || deferral.row >= row + count);
        for deferral in &mut loan.deferrals {
            (deferral.row, deferral.to) = (number(deferral.row), number(deferral.to));
        }
        self.renumber(number, number);
        let fired = move |old: u32| if old >= row && old < row + count { row - 1 } else { number(old) };
        self.state.notices.iter_mut().for_each(|notice| notice.renumber(fired));
    }
}
