//! The rows before and after a change, for those who observe the fold.

use crate::calendar::Day;
use crate::outcome::{ChangedRow, PlannedAmounts};
use crate::step::{FoldError, StepContext};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The rows by due date and number.
pub(super) type Planned = BTreeMap<(Day, u32), PlannedAmounts>;

impl StepContext<'_> {
    /// The rows as they are, those to come as they will be if everything is paid on time. `None` without an observer.
    pub(super) fn planned_rows(&mut self) -> Result<Option<Planned>, FoldError> {
        if !self.how.observed {
            return Ok(None);
        }
        let mut planned = Planned::new();
        let mut projection = self.projection(!self.state.status.is_closed())?;
        let loan = self.state.loan();
        let mut add = |instalment, interest, principal| {
            planned.insert((self.due_day(instalment), instalment), PlannedAmounts { instalment, interest, principal });
        };
        for (number, row) in loan.numbered_rows().take_while(|(number, row)| row.posted && *number < loan.current()) {
            add(number, row.interest, row.principal + row.extra);
        }
        for number in loan.current()..=loan.plan.count() {
            let row = projection.post()?;
            add(number, row.interest, row.principal + row.extra);
            projection.pay_and_go_on()?;
        }
        Ok(Some(planned))
    }

    /// The due dates whose row differs from before.
    pub(super) fn changed_rows(&mut self, before: Option<Planned>) -> Result<Vec<ChangedRow>, FoldError> {
        let (Some(before), Some(after)) = (before, self.planned_rows()?) else { return Ok(Vec::new()) };
        let mut rows: BTreeMap<Day, ChangedRow> = BTreeMap::new();
        let mut row = |day: Day, set: &dyn Fn(&mut ChangedRow)| {
            set(rows.entry(day).or_insert(ChangedRow { due_day: day, before: None, after: None }));
        };
        for ((day, _), amounts) in &before {
            row(*day, &|row| row.before = Some(*amounts));
        }
        for ((day, _), amounts) in &after {
            row(*day, &|row| row.after = Some(*amounts));
        }
        let amounts = |row: Option<PlannedAmounts>| row.map(|row| (row.interest, row.principal));
        Ok(rows.into_values().filter(|row| amounts(row.before) != amounts(row.after)).collect())
    }
}
