//! Submits one event of a case to a service, as a caller would.

use crate::scenario::{CaseEventKind, EventInput};
use daybook_service::access::Caller;
use daybook_service::changes::ChangeRequest;
use daybook_service::problem::Problem;
use daybook_service::{Service, form};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Submits an event's request to a service, effective at a point in time. A roll submits nothing: the caller has
/// already moved the clock.
pub async fn submit(
    service: &Service,
    who: &Caller,
    account: &str,
    input: &EventInput,
    effective_at: &str,
) -> Result<(), Problem> {
    let mut body = input.body.clone();
    body.insert("effective_at".to_owned(), Value::from(effective_at));
    let body = Value::Object(body);
    let item = || input.target.clone().unwrap_or_default();
    let change = match input.kind {
        CaseEventKind::Roll => return Ok(()),
        CaseEventKind::Payment => ChangeRequest::Payment(read(&body)?),
        CaseEventKind::PaymentReversal => ChangeRequest::Reversal(item(), read(&body)?),
        CaseEventKind::PaymentStatus => ChangeRequest::PaymentStatus(item(), read(&body)?),
        CaseEventKind::ManualFee => ChangeRequest::Fee(read(&body)?),
        CaseEventKind::FeeWaiver => ChangeRequest::Waiver(item(), read(&body)?),
        CaseEventKind::CreditOffset => ChangeRequest::Credit(read(&body)?),
        CaseEventKind::DebitOffset => ChangeRequest::Debit(read(&body)?),
        CaseEventKind::Status => ChangeRequest::Status(read(&body)?),
        CaseEventKind::NotificationConfig => ChangeRequest::Notice(read(&body)?),
        CaseEventKind::Charge => {
            return Err(Problem::invalid("charge", "is for revolving products: this is an instalment loan"));
        }
    };
    service.change_account(who, None, account, change).await.map(drop)
}

/// Parses a body into its form.
pub fn read<T: DeserializeOwned>(body: &Value) -> Result<T, Problem> {
    Ok(form::parse(body.to_string().as_bytes())?)
}
