//! Interest or fees become principal.

use crate::change::{Capitalization, CapitalizedInterest, LevelPayment};
use crate::item::Name;
use crate::money::Cents;
use crate::outcome::Refusal;
use crate::step::{FoldError, StepContext};

impl StepContext<'_> {
    pub(super) fn examine_capitalization(&self, change: &Capitalization) -> Result<(), Refusal> {
        let loan = self.state.loan();
        let interest = match change.interest {
            CapitalizedInterest::All => loan.interest + self.unrecognised().unwrap_or_default(),
            CapitalizedInterest::Posted => loan.interest,
            CapitalizedInterest::None => Cents::ZERO,
        };
        let fees = if change.fees { loan.fees_balance() } else { Cents::ZERO };
        if (interest + fees).is_zero() { Err(Refusal::NothingToChange) } else { Ok(()) }
    }

    pub(super) fn capitalize(&mut self, name: &Name, change: &Capitalization) -> Result<(), FoldError> {
        if change.interest != CapitalizedInterest::None {
            self.capitalize_interest(name, change.interest == CapitalizedInterest::All)?;
        }
        if change.fees {
            self.capitalize_fees(name)?;
        }
        match self.first_ahead() {
            Some(row) if change.level_payment == LevelPayment::Recalculate => self.recalculate_from(row, Cents::ZERO),
            _ => Ok(()),
        }
    }
}
