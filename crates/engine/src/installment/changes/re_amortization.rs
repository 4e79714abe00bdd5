//! Unpaid rows behind are spread over those ahead.

use crate::change::{Arrears, Reamortization};
use crate::money::Cents;
use crate::outcome::Refusal;
use crate::step::{FoldError, StepContext};

impl StepContext<'_> {
    pub(super) fn examine_re_amortization(&self) -> Result<(), Refusal> {
        self.first_ahead().ok_or(Refusal::NoRowsAhead)?;
        if self.unpaid_behind().is_empty() { Err(Refusal::NothingToChange) } else { Ok(()) }
    }

    pub(super) fn re_amortize(&mut self, change: &Reamortization) -> Result<(), FoldError> {
        let Some(first) = self.first_ahead() else { return Ok(()) };
        let rows = self.unpaid_behind();
        self.post_today_if_spread(change.interest, &rows)?;
        let (floating, to_come) = self.retire(&rows)?;
        match change.interest {
            Arrears::Spread => {
                let carried = floating + self.take_carried(first);
                self.recalculate_from(first, Cents::ZERO)?;
                self.spread_interest(first, carried);
            }
            _ => {
                self.recalculate_from(first, floating + to_come)?;
                self.place_interest(first, floating);
            }
        }
        Ok(())
    }

    /// Interest of a row that falls due today can be spread only once it is posted.
    pub(super) fn post_today_if_spread(&mut self, interest: Arrears, rows: &[u32]) -> Result<(), FoldError> {
        let current = self.state.loan().current();
        let is_open = rows.contains(&current) && self.state.loan().row(current).is_none_or(|row| !row.posted);
        let owed = self.unrecognised()?;
        if interest == Arrears::Spread && is_open && owed.is_positive() {
            let debt = self.recognise(owed)?;
            let loan = self.loan();
            loan.interest_items.push_back(debt);
            loan.interest += owed;
            loan.row_mut(current).interest += owed;
        }
        Ok(())
    }
}
