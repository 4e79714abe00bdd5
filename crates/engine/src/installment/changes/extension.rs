//! Rows added at the end.

use crate::change::Extension;
use crate::installment::terms::MOST_INSTALMENTS;
use crate::money::Cents;
use crate::outcome::Refusal;
use crate::step::{FoldError, StepContext};
use crate::terms::LATEST;

impl StepContext<'_> {
    /// The first row that is recalculated.
    pub(super) fn examine_extension(&self, extension: &Extension) -> Result<u32, Refusal> {
        let row = self.row_ahead("from_due_date", extension.from_due_date)?;
        let wrong = |rule| Err(Refusal::Field { field: "count", rule });
        if self.last_row() + extension.count > 2 * MOST_INSTALMENTS {
            return wrong("makes more than 2400 instalments");
        }
        if self.due_day(self.last_row() + extension.count) > LATEST {
            return wrong("puts the last due date beyond the year 2199");
        }
        Ok(row)
    }

    pub(super) fn extend(&mut self, extension: &Extension) -> Result<(), FoldError> {
        let Ok(row) = self.examine_extension(extension) else { return Ok(()) };
        // The amounts of the rows before are planned as long as the last row is still the last.
        let asked_before = if row <= self.state.loan().current() { Cents::ZERO } else { self.planned_principal(row)? };
        self.loan().plan.extend(extension.count);
        self.follow_plan()?;
        self.recalculate(row, asked_before, Cents::ZERO)?;
        Ok(())
    }
}
