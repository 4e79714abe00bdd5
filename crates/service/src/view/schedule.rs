//! The amortization schedule.

use super::time::Local;
use daybook_engine::installment::schedule;
use daybook_engine::terms::Terms;
use serde::Serialize;
use utoipa::ToSchema;

/// The amortization schedule. Past rows show what happened; future rows assume that everything is paid on time.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Schedule {
    /// A row for each instalment.
    pub results: Vec<ScheduleRow>,
}

/// A row of the schedule.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ScheduleRow {
    /// The close of business of the cycle's end date.
    pub cycle_exclusive_end: Local,
    /// The due date of the instalment.
    pub min_pay_due_at: Local,
    /// The instalment: interest and principal.
    pub am_min_pay_cents: i64,
    /// The interest in it.
    pub am_interest_cents: i64,
    /// The principal in it.
    pub am_principal_cents: i64,
    /// The loan's principal less the principal of the earlier rows.
    pub am_start_principal_balance_cents: i64,
    /// The loan's principal less the principal of the rows up to and including this one.
    pub am_end_principal_balance_cents: i64,
    /// Fees charged in its period.
    pub am_fees_cents: i64,
    /// The amount paid into it so far, without fees.
    pub paid_cents: i64,
    /// The amount still to be paid, without fees.
    pub outstanding_cents: i64,
    /// Whether it asks for nothing more, because a change of the loan moved what was unpaid of it.
    pub retired: bool,
    /// The part that it asks for in place of other instalments.
    pub deferred_cents: i64,
    /// The part that was missing when it counted as paid.
    pub shortfall_cents: i64,
    /// Whether it was paid by its due date; absent before that date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_on_time: Option<bool>,
}

impl Schedule {
    /// The view of a schedule.
    pub fn new(terms: &Terms, rows: &[schedule::ScheduleRow]) -> Schedule {
        Schedule { results: rows.iter().map(|row| ScheduleRow::new(terms, row)).collect() }
    }
}

impl ScheduleRow {
    /// The view of a row.
    pub fn new(terms: &Terms, row: &schedule::ScheduleRow) -> ScheduleRow {
        ScheduleRow {
            cycle_exclusive_end: Local::new(terms.close_of(row.cycle_end), &terms.zone),
            min_pay_due_at: Local::new(row.due_at, &terms.zone),
            am_min_pay_cents: row.total().0,
            am_interest_cents: row.interest.0,
            am_principal_cents: row.principal.0,
            am_start_principal_balance_cents: row.start.0,
            am_end_principal_balance_cents: row.end.0,
            am_fees_cents: row.fees.0,
            paid_cents: row.paid.0,
            outstanding_cents: row.outstanding.0,
            retired: row.retired,
            deferred_cents: row.deferred.0,
            shortfall_cents: row.shortfall.0,
            paid_on_time: row.paid_on_time,
        }
    }
}
