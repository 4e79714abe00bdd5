//! Other due dates for a row and those after it.

use crate::change::{DueDateChange, LARGEST_DUE_DATE_MOVE_DAYS, LevelPayment};
use crate::item::{ChangeItem, ItemId, ItemKind, Name};
use crate::money::Cents;
use crate::outcome::Refusal;
use crate::step::{FoldError, StepContext};
use crate::terms::LATEST;
use crate::timeline::FeeClass;

const FIELD: &str = "next_due_date";

impl StepContext<'_> {
    /// The row whose due date changes.
    pub(super) fn examine_due_date(&self, change: &DueDateChange) -> Result<u32, Refusal> {
        let row = self.row_ahead("from_due_date", change.from_due_date)?;
        let wrong = |rule| Err(Refusal::Field { field: FIELD, rule });
        let (loan, old, new) = (self.state.loan(), self.due_day(row), change.next_due_date);
        let begins = loan.plan.period_start(&self.plan.dates, row);
        if new <= begins || (row > 1 && new <= self.due_day(row - 1)) {
            return wrong("must be after the due date of the instalment before");
        }
        if new < self.today {
            return wrong("must not be before the change's date");
        }
        if new.days_since(old) > LARGEST_DUE_DATE_MOVE_DAYS {
            return wrong("must be at most 366 days after the present due date");
        }
        let last = self.due_day(self.last_row());
        if last.plus_days(new.days_since(old).max(0) + 31) > LATEST {
            return wrong("puts the last due date beyond the year 2199");
        }
        Ok(row)
    }

    pub(super) fn change_due_date(&mut self, name: &Name, change: &DueDateChange) -> Result<(), FoldError> {
        let Ok(row) = self.examine_due_date(change) else { return Ok(()) };
        if change.next_due_date != self.due_day(row) {
            let dates = &self.plan.dates;
            self.loan().plan.move_from(dates, row, change.next_due_date, change.semi_monthly_days);
            self.follow_plan()?;
        }
        if change.level_payment == LevelPayment::Recalculate {
            self.recalculate_from(row, Cents::ZERO)?;
        }
        if change.fee.is_positive() {
            let id = ItemId::OfChange { change: name.clone(), item: ChangeItem::Fee { number: 1 } };
            self.charge_fee(id, ItemKind::ManualFee, change.fee, FeeClass::Fee, self.place.at)?;
        }
        Ok(())
    }
}
