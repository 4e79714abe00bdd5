//! Submits one event of a case to a service, as a caller would.

use crate::scenario::{CaseEventKind, EventInput};
use daybook_service::access::Caller;
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
    let target = input.target.as_deref().unwrap_or_default();
    match input.kind {
        CaseEventKind::Roll => return Ok(()),
        CaseEventKind::Payment => service.record_payment(who, None, account, read(&body)?).await,
        CaseEventKind::PaymentReversal => service.reverse_payment(who, None, account, target, read(&body)?).await,
        CaseEventKind::PaymentStatus => service.change_line_item(who, None, account, target, read(&body)?).await,
        CaseEventKind::ManualFee => service.charge_manual_fee(who, None, account, read(&body)?).await,
        CaseEventKind::FeeWaiver => service.waive_fee(who, None, account, target, read(&body)?).await,
        CaseEventKind::CreditOffset => service.credit_offset(who, None, account, read(&body)?).await,
        CaseEventKind::DebitOffset => service.debit_offset(who, None, account, read(&body)?).await,
        CaseEventKind::Status => service.set_account_status(who, None, account, read(&body)?).await,
        CaseEventKind::NotificationConfig => service.set_notification_config(who, None, account, read(&body)?).await,
        CaseEventKind::Charge => {
            return Err(Problem::invalid("charge", "is for revolving products: this is an instalment loan"));
        }
    }
    .map(drop)
}

/// Parses a body into its form.
pub fn read<T: DeserializeOwned>(body: &Value) -> Result<T, Problem> {
    Ok(form::parse(body.to_string().as_bytes())?)
}
