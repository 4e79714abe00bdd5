//! The change that an operation requests of an existing account.

use daybook_operations::Operation;
use daybook_service::changes::ChangeRequest;
use daybook_service::form::{self, LoanChange};
use daybook_service::problem::Problem;
use serde::de::DeserializeOwned;

/// The change that a line of a bulk call requests. `item` is the second id in the path.
pub fn change_of(
    operation: Operation,
    item: impl FnOnce() -> Result<String, Problem>,
    body: &str,
) -> Result<ChangeRequest, Problem> {
    Ok(match operation {
        Operation::SetAccountStatus => ChangeRequest::Status(read(body)?),
        Operation::SetNotificationConfig => ChangeRequest::Notice(read(body)?),
        Operation::RecordPayment => ChangeRequest::Payment(read(body)?),
        Operation::ReversePayment => ChangeRequest::Reversal(item()?, read(body)?),
        Operation::ChargeManualFee => ChangeRequest::Fee(read(body)?),
        Operation::WaiveFee => ChangeRequest::Waiver(item()?, read(body)?),
        Operation::CreditOffset => ChangeRequest::Credit(read(body)?),
        Operation::DebitOffset => ChangeRequest::Debit(read(body)?),
        Operation::RefundSurplus => ChangeRequest::Refund(read(body)?),
        Operation::ReverseRefund => ChangeRequest::RefundReversal(item()?, read(body)?),
        Operation::CancelChange => ChangeRequest::CancelChange(item()?, read(body)?),
        other => match loan_change(other, body)? {
            Some(change) => ChangeRequest::Loan(Box::new(change)),
            None => {
                let problem = format!("{other:?} may be a line of a bulk call, but is not handled");
                return Err(Problem::internal(problem));
            }
        },
    })
}

fn loan_change(operation: Operation, body: &str) -> Result<Option<LoanChange>, Problem> {
    Ok(Some(match operation {
        Operation::CreateInterestRate => LoanChange::InterestRate(read(body)?),
        Operation::ReplaceInterestRate => LoanChange::ReplacedRate(read(body)?),
        Operation::CreateTempPromo => LoanChange::TempPromo(read(body)?),
        Operation::CreateInterestPause => LoanChange::InterestPause(read(body)?),
        Operation::ChangeDueDate => LoanChange::DueDate(read(body)?),
        Operation::SkipInstallments => LoanChange::Skip(read(body)?),
        Operation::ExtendTerm => LoanChange::Extension(read(body)?),
        Operation::DeferPayments | Operation::DeferInstallments => LoanChange::Deferral(read(body)?),
        Operation::ReAmortize => LoanChange::ReAmortization(read(body)?),
        Operation::ReAge => LoanChange::ReAge(read(body)?),
        Operation::Restructure => LoanChange::Restructure(read(body)?),
        Operation::Capitalize => LoanChange::Capitalization(read(body)?),
        _ => return Ok(None),
    }))
}

/// Parses the body of a line.
fn read<T: DeserializeOwned>(body: &str) -> Result<T, Problem> {
    Ok(form::parse(body.as_bytes())?)
}
