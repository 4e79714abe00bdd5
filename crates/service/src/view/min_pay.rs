//! What a borrower has to pay to be current at the next due date.

use daybook_engine::installment::loan::Loan;
use daybook_engine::installment::reading::Reading;
use daybook_engine::installment::target::PrincipalTarget;
use daybook_engine::money::{Cents, Overflow};
use daybook_engine::state::State;
use daybook_engine::time::Time;

/// The amount to pay, and by when. A closed account has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinPay {
    /// The total of the open instalment, including the part already paid.
    pub statement: Cents,
    /// The unpaid part of the open instalment.
    pub current: Cents,
    /// The unpaid part of past-due instalments, without fees.
    pub unpaid: Cents,
    /// Unpaid fees.
    pub fees: Cents,
    /// When the open instalment falls due.
    pub due_at: Option<Time>,
}

impl MinPay {
    /// The amount to pay now to be current at the next due date.
    pub fn total(&self) -> Cents {
        self.current + self.unpaid + self.fees
    }

    /// Computes it for an account.
    pub fn of(state: &State, reading: &Reading) -> MinPay {
        if state.status.is_closed() || !state.is_open() {
            return MinPay::default();
        }
        let loan = state.loan();
        let posted = loan.numbered_rows().filter(|(_, row)| row.posted);
        let mut asked = MinPay {
            unpaid: posted.map(|(_, row)| row.unpaid()).sum(),
            fees: reading.balances.fees,
            ..MinPay::default()
        };
        if let Some((instalment, due_at)) = reading.next_due {
            let row = loan.row(instalment).copied().unwrap_or_default();
            // If the interest overflows, the fold stops before the account can be read.
            asked.current = open_instalment(loan).unwrap_or(Cents::ZERO);
            asked.statement = asked.current + row.interest_paid + row.principal_paid;
            asked.due_at = Some(due_at);
        }
        asked
    }
}

/// The part of the open instalment that will be unpaid at its due moment if nothing else is paid.
fn open_instalment(loan: &Loan) -> Result<Cents, Overflow> {
    let row = loan.row(loan.current()).copied().unwrap_or_default();
    let interest = loan.interest_to(loan.period.end)?;
    let accruing = (interest - loan.period.recognised).or_zero();
    let left = loan.principal - loan.posted_unpaid;
    let (interest, principal) = match loan.target(loan.current()) {
        PrincipalTarget::Rest => (accruing, left),
        // The total is fixed: interest takes at most what remains after the principal already paid.
        PrincipalTarget::Total(total) => {
            let room = (total - row.principal_paid - row.interest).or_zero();
            let interest = accruing.min(room);
            (interest, room - interest)
        }
        PrincipalTarget::Principal(principal) => (accruing, (principal - row.principal_paid).or_zero()),
    };
    Ok(row.unpaid_interest() + interest + principal.min(left))
}
