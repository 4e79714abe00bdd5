//! What a row asks for under the plan in force.

use super::loan::{InstalmentRow, Loan};
use super::row_amounts::Ask;
use crate::money::Cents;

/// The planned principal of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrincipalTarget {
    /// The row has this total; its principal is the total less its interest.
    Total(Cents),
    /// The row has this principal, regardless of its interest.
    Principal(Cents),
    /// The row takes the rest of the loan.
    Rest,
}

impl Loan {
    /// The planned amount of a row that is not posted. It includes what other rows deferred to it.
    pub fn target(&self, instalment: u32) -> PrincipalTarget {
        let row = self.row(instalment).copied().unwrap_or_default();
        if row.retired {
            return PrincipalTarget::Total(row.interest + row.principal_paid);
        }
        if instalment >= self.plan.count() {
            return PrincipalTarget::Rest;
        }
        match self.plan.ask(instalment) {
            Ask::Total(total) => PrincipalTarget::Total(self.reduced(instalment, &row, total) + row.deferred()),
            Ask::Principal(principal) | Ask::Kept { principal, .. } => {
                PrincipalTarget::Principal(principal + row.deferred_principal)
            }
        }
    }

    /// A total less the interest that caps take off the open row; never less than was paid into it.
    fn reduced(&self, instalment: u32, row: &InstalmentRow, total: Cents) -> Cents {
        if instalment != self.current() || (self.period.reduced == 0 && !self.rates.reduces()) {
            return total;
        }
        let paid = row.interest_paid + row.principal_paid;
        (total - self.reduction()).max(paid.min(total))
    }

    /// The interest that caps take off the open row: that of its period without them, less that with them. Dates to
    /// come are counted with the present principal.
    fn reduction(&self) -> Cents {
        let period = &self.period;
        let (principal, earning) = (self.accruing_principal(), &period.earning);
        let (from, to) = (period.through.min(period.end), period.end);
        let accrued = period.accrued + earning.accrue(principal, &self.rates, from, to);
        let reduced = period.reduced + earning.accrue_reduction(principal, &self.rates, from, to);
        match (self.rounded_interest(accrued), self.rounded_interest(accrued + reduced)) {
            (Ok(with), Ok(without)) => without - with,
            _ => Cents::ZERO,
        }
    }
}
