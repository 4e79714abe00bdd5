//! The change that an operation of the API requests of an existing account, from its body.

use crate::changes::ChangeRequest;
use crate::form::{self, LoanChange};
use crate::problem::Problem;
use daybook_operations::Operation;
use serde::de::DeserializeOwned;

/// The change that an operation requests. `item` is the second id in its path.
pub fn change_request(
    operation: Operation,
    item: impl FnOnce() -> Result<String, Problem>,
    body: &str,
) -> Result<ChangeRequest, Problem> {
    Ok(match operation {
        Operation::SetAccountStatus => ChangeRequest::Status(read(body)?),
        Operation::SetNotificationConfig => ChangeRequest::Notice(read(body)?),
        Operation::RecordPayment => ChangeRequest::Payment(read(body)?),
        Operation::ChangeLineItem => ChangeRequest::PaymentStatus(item()?, read(body)?),
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
                let problem = format!("{other:?} does not change an account by its body");
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

/// Parses a body.
fn read<T: DeserializeOwned>(body: &str) -> Result<T, Problem> {
    Ok(form::parse(body.as_bytes())?)
}
