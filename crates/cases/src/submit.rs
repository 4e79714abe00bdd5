//! Submits one event of a case to a service, as a caller would.

use crate::scenario::{CaseEventKind, EventInput};
use daybook_service::access::Caller;
use daybook_service::changes::change_request;
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
    let Some(operation) = input.kind.operation() else {
        return match input.kind {
            CaseEventKind::Roll => Ok(()),
            _ => Err(Problem::invalid("charge", "is for revolving products: this is an instalment loan")),
        };
    };
    let item = || Ok(input.target.clone().unwrap_or_default());
    let change = change_request(operation, item, &body.to_string())?;
    service.change_account(who, None, account, change).await.map(drop)
}

/// Parses a body into its form.
pub fn read<T: DeserializeOwned>(body: &Value) -> Result<T, Problem> {
    Ok(form::parse(body.to_string().as_bytes())?)
}
