//! The changes that console users can make, each represented as an API call.
//!
//! An action is an operation with its ids and a body, so the console can show the equivalent `curl` command. Performing
//! an action calls the same service function as the API's handler.

use crate::page::PageError;
use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use daybook_operations::{Operation, RequestLine};
use daybook_service::Service;
use daybook_service::access::Caller;
use daybook_service::changes::ChangeRequest;
use daybook_service::form::{LoanChange, parse};
use daybook_service::problem::Problem;
use daybook_service::processor::job::IdempotencyKey;
use daybook_service::view::render;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A change to make through the service.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Creates a product.
    CreateProduct(Value),
    /// Turns migration mode on or off.
    SetMigrationMode(String, Value),
    /// Creates a customer.
    CreateCustomer(Value),
    /// Changes a customer.
    UpdateCustomer(String, Value),
    /// Opens an account.
    CreateAccount(Value),
    /// Sets an account's status.
    SetStatus(String, Value),
    /// Configures a notification of an account.
    SetNotification(String, Value),
    /// Records a payment.
    RecordPayment(String, Value),
    /// Marks a pending payment as valid or invalid.
    ChangeLineItem(String, String, Value),
    /// Withdraws a held line item.
    WithdrawLineItem(String, String),
    /// Reverses a payment that bounced.
    ReversePayment(String, String, Value),
    /// Charges a fee.
    ChargeFee(String, Value),
    /// Waives a fee.
    WaiveFee(String, String, Value),
    /// Raises the balance.
    CreditOffset(String, Value),
    /// Lowers the balance.
    DebitOffset(String, Value),
    /// Changes a loan, by one of the operations for that.
    ChangeLoan(Operation, String, Value),
    /// Cancels a change of a loan.
    CancelChange(String, String, Value),
    /// Withdraws a change of a loan that is held or scheduled.
    WithdrawChange(String, String),
    /// Pays out surplus.
    Refund(String, Value),
    /// Reverses a refund that came back.
    ReverseRefund(String, String, Value),
    /// Rolls an account.
    Roll(Value),
    /// Subscribes a URL, or changes its filter.
    Subscribe(Value),
    /// Pauses a subscription.
    Unsubscribe(String),
    /// Resumes a subscription.
    Resubscribe(String),
    /// Removes a subscription.
    DeleteSubscription(String),
    /// Replays dead letters.
    Replay(Value),
    /// Revokes an API key.
    RevokeKey(String),
    /// Replaces the signing key that has this fingerprint with a new one.
    RotateHmacKey(String),
}

impl Action {
    /// The operation of the API.
    fn operation(&self) -> Operation {
        match self {
            Action::CreateProduct(_) => Operation::CreateProduct,
            Action::SetMigrationMode(..) => Operation::SetMigrationMode,
            Action::CreateCustomer(_) => Operation::CreateCustomer,
            Action::UpdateCustomer(..) => Operation::UpdateCustomer,
            Action::CreateAccount(_) => Operation::CreateAccount,
            Action::SetStatus(..) => Operation::SetAccountStatus,
            Action::SetNotification(..) => Operation::SetNotificationConfig,
            Action::RecordPayment(..) => Operation::RecordPayment,
            Action::ChangeLineItem(..) => Operation::ChangeLineItem,
            Action::WithdrawLineItem(..) => Operation::WithdrawLineItem,
            Action::ReversePayment(..) => Operation::ReversePayment,
            Action::ChargeFee(..) => Operation::ChargeManualFee,
            Action::WaiveFee(..) => Operation::WaiveFee,
            Action::CreditOffset(..) => Operation::CreditOffset,
            Action::DebitOffset(..) => Operation::DebitOffset,
            Action::ChangeLoan(operation, ..) => *operation,
            Action::CancelChange(..) => Operation::CancelChange,
            Action::WithdrawChange(..) => Operation::WithdrawChange,
            Action::Refund(..) => Operation::RefundSurplus,
            Action::ReverseRefund(..) => Operation::ReverseRefund,
            Action::Roll(_) => Operation::RollAccount,
            Action::Subscribe(_) => Operation::Subscribe,
            Action::Unsubscribe(_) => Operation::Unsubscribe,
            Action::Resubscribe(_) => Operation::Resubscribe,
            Action::DeleteSubscription(_) => Operation::DeleteSubscription,
            Action::Replay(_) => Operation::ReplayFailedEvents,
            Action::RevokeKey(_) => Operation::RevokeKey,
            Action::RotateHmacKey(_) => Operation::RotateHmacKey,
        }
    }

    /// The method and the path of the call.
    fn request(&self) -> RequestLine {
        let operation = self.operation();
        match self {
            Action::CreateProduct(_)
            | Action::CreateCustomer(_)
            | Action::CreateAccount(_)
            | Action::Roll(_)
            | Action::Subscribe(_)
            | Action::Replay(_)
            | Action::RotateHmacKey(_) => operation.request([]),
            Action::SetMigrationMode(id, _)
            | Action::UpdateCustomer(id, _)
            | Action::SetStatus(id, _)
            | Action::SetNotification(id, _)
            | Action::RecordPayment(id, _)
            | Action::ChargeFee(id, _)
            | Action::CreditOffset(id, _)
            | Action::DebitOffset(id, _)
            | Action::ChangeLoan(_, id, _)
            | Action::Refund(id, _)
            | Action::Unsubscribe(id)
            | Action::Resubscribe(id)
            | Action::DeleteSubscription(id)
            | Action::RevokeKey(id) => operation.request([id]),
            Action::ChangeLineItem(account, item, _)
            | Action::WithdrawLineItem(account, item)
            | Action::ReversePayment(account, item, _)
            | Action::CancelChange(account, item, _)
            | Action::WithdrawChange(account, item)
            | Action::ReverseRefund(account, item, _)
            | Action::WaiveFee(account, item, _) => operation.request([account, item]),
        }
    }

    /// The JSON body of the call, or `None` if it has none.
    pub fn body(&self) -> Option<&Value> {
        match self {
            Action::CreateProduct(body)
            | Action::SetMigrationMode(_, body)
            | Action::CreateCustomer(body)
            | Action::UpdateCustomer(_, body)
            | Action::CreateAccount(body)
            | Action::SetStatus(_, body)
            | Action::SetNotification(_, body)
            | Action::RecordPayment(_, body)
            | Action::ChangeLineItem(_, _, body)
            | Action::ReversePayment(_, _, body)
            | Action::ChargeFee(_, body)
            | Action::WaiveFee(_, _, body)
            | Action::CreditOffset(_, body)
            | Action::DebitOffset(_, body)
            | Action::ChangeLoan(_, _, body)
            | Action::CancelChange(_, _, body)
            | Action::Refund(_, body)
            | Action::ReverseRefund(_, _, body)
            | Action::Roll(body)
            | Action::Subscribe(body)
            | Action::Replay(body) => Some(body),
            Action::WithdrawLineItem(..)
            | Action::WithdrawChange(..)
            | Action::Unsubscribe(_)
            | Action::Resubscribe(_)
            | Action::DeleteSubscription(_)
            | Action::RevokeKey(_)
            | Action::RotateHmacKey(_) => None,
        }
    }

    /// The equivalent `curl` command. It takes the client secret of an API key from `$DAYBOOK_TOKEN`, as those
    /// of `daybook trigger` do; `DAYBOOK_KEY` is CLIENT_ID:CLIENT_SECRET for the command-line tools.
    pub fn curl(&self, base_url: &str) -> String {
        let request = self.request();
        let mut line = format!(
            "curl -X {} {} \\\n  -H \"Authorization: Bearer $DAYBOOK_TOKEN\"",
            request.method(),
            quoted(&format!("{base_url}{}", request.target()))
        );
        if let Some(body) = self.body() {
            line += &format!(" \\\n  -H 'Content-Type: application/json' \\\n  -d {}", quoted(&body.to_string()));
        }
        line
    }

    /// The request of an action that changes an account.
    pub fn change_request(&self) -> Result<ChangeRequest, PageError> {
        let json = self.body().map(Value::to_string).unwrap_or_default();
        let json = json.as_bytes();
        Ok(match self {
            Action::SetStatus(..) => ChangeRequest::Status(parse(json)?),
            Action::SetNotification(..) => ChangeRequest::Notice(parse(json)?),
            Action::RecordPayment(..) => ChangeRequest::Payment(parse(json)?),
            Action::ChangeLineItem(_, item, _) => ChangeRequest::PaymentStatus(item.clone(), parse(json)?),
            Action::WithdrawLineItem(_, item) => ChangeRequest::Withdrawal(item.clone()),
            Action::ReversePayment(_, item, _) => ChangeRequest::Reversal(item.clone(), parse(json)?),
            Action::ChargeFee(..) => ChangeRequest::Fee(parse(json)?),
            Action::WaiveFee(_, item, _) => ChangeRequest::Waiver(item.clone(), parse(json)?),
            Action::CreditOffset(..) => ChangeRequest::Credit(parse(json)?),
            Action::DebitOffset(..) => ChangeRequest::Debit(parse(json)?),
            Action::ChangeLoan(operation, ..) => ChangeRequest::Loan(Box::new(loan_change(*operation, json)?)),
            Action::CancelChange(_, change, _) => ChangeRequest::CancelChange(change.clone(), parse(json)?),
            Action::WithdrawChange(_, change) => ChangeRequest::WithdrawChange(change.clone()),
            Action::Refund(..) => ChangeRequest::Refund(parse(json)?),
            Action::ReverseRefund(_, item, _) => ChangeRequest::RefundReversal(item.clone(), parse(json)?),
            Action::Roll(_) => ChangeRequest::Roll(parse(json)?),
            Action::CreateProduct(_)
            | Action::SetMigrationMode(..)
            | Action::CreateCustomer(_)
            | Action::UpdateCustomer(..)
            | Action::CreateAccount(_)
            | Action::Subscribe(_)
            | Action::Unsubscribe(_)
            | Action::Resubscribe(_)
            | Action::DeleteSubscription(_)
            | Action::Replay(_)
            | Action::RevokeKey(_)
            | Action::RotateHmacKey(_) => {
                return Err(Problem::internal(format!("{} does not change an account", self.request())).into());
            }
        })
    }

    /// Performs the action and returns the response of the API. `once` is a token unique to the form: submitting the
    /// form twice performs the action once.
    #[boxed]
    pub async fn perform(self, service: &Service, who: &Caller, once: Option<&str>) -> Result<Bytes, PageError> {
        let once = once.filter(|once| !once.is_empty());
        let idempotency_key = once.map(|once| self.idempotency_key(once));
        let json = self.body().map(Value::to_string).unwrap_or_default();
        let json = json.as_bytes();
        Ok(match &self {
            Action::CreateProduct(_) => service.create_product(who, idempotency_key, parse(json)?).await?,
            Action::SetMigrationMode(product, _) => {
                service.set_migration_mode(who, idempotency_key, product, parse(json)?).await?
            }
            Action::CreateCustomer(_) => service.create_customer(who, idempotency_key, parse(json)?).await?,
            Action::UpdateCustomer(customer, _) => {
                service.update_customer(who, idempotency_key, customer, parse(json)?).await?
            }
            Action::CreateAccount(_) => service.create_account(who, idempotency_key, parse(json)?).await?,
            Action::SetStatus(account, _)
            | Action::SetNotification(account, _)
            | Action::RecordPayment(account, _)
            | Action::ChangeLineItem(account, ..)
            | Action::WithdrawLineItem(account, _)
            | Action::ReversePayment(account, ..)
            | Action::ChargeFee(account, _)
            | Action::WaiveFee(account, ..)
            | Action::CreditOffset(account, _)
            | Action::DebitOffset(account, _)
            | Action::ChangeLoan(_, account, _)
            | Action::CancelChange(account, ..)
            | Action::WithdrawChange(account, _)
            | Action::Refund(account, _)
            | Action::ReverseRefund(account, ..) => {
                service.change_account(who, idempotency_key, account, self.change_request()?).await?
            }
            Action::Roll(_) => service.roll_account(who, idempotency_key, parse(json)?).await?,
            Action::Subscribe(_) => service.subscribe(who, idempotency_key, parse(json)?).await?,
            Action::Unsubscribe(uuid) => service.unsubscribe(who, idempotency_key, uuid).await?,
            Action::Resubscribe(uuid) => service.resubscribe(who, idempotency_key, uuid).await?,
            Action::DeleteSubscription(uuid) => service.delete_subscription(who, idempotency_key, uuid).await?,
            Action::Replay(_) => service.replay_failed_events(who, idempotency_key, parse(json)?).await?,
            Action::RevokeKey(client_id) => render(&service.revoke_key(who, client_id).await?),
            Action::RotateHmacKey(mark) => render(&service.rotate_hmac_key_shown(who, mark).await?),
        })
    }

    fn idempotency_key(&self, once: &str) -> IdempotencyKey {
        let call = format!("{}\n{}", self.request(), self.body().unwrap_or(&Value::Null));
        let once: String = once.chars().take(100).collect();
        IdempotencyKey { key: format!("console:{once}"), content_hash: Sha256::digest(call.as_bytes()).to_vec() }
    }
}

/// The form of a change of a loan.
fn loan_change(operation: Operation, json: &[u8]) -> Result<LoanChange, PageError> {
    Ok(match operation {
        Operation::CreateInterestRate => LoanChange::InterestRate(parse(json)?),
        Operation::CreateTempPromo => LoanChange::TempPromo(parse(json)?),
        Operation::CreateInterestPause => LoanChange::InterestPause(parse(json)?),
        Operation::ChangeDueDate => LoanChange::DueDate(parse(json)?),
        Operation::SkipInstallments => LoanChange::Skip(parse(json)?),
        Operation::ExtendTerm => LoanChange::Extension(parse(json)?),
        Operation::DeferPayments => LoanChange::Deferral(parse(json)?),
        Operation::ReAmortize => LoanChange::ReAmortization(parse(json)?),
        Operation::ReAge => LoanChange::ReAge(parse(json)?),
        Operation::Restructure => LoanChange::Restructure(parse(json)?),
        Operation::Capitalize => LoanChange::Capitalization(parse(json)?),
        _ => {
            return Err(
                Problem::internal("an operation that does not change a loan was taken for one that does").into()
            );
        }
    })
}

/// Quotes a text for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_curl_line_survives_a_shell() {
        let body = json!({"name_last": "O'Hara; rm -rf ~ $(id) \"x\""});
        let line = Action::CreateCustomer(body.clone()).curl("http://127.0.0.1:8080");
        let script = format!("curl() {{ for last; do :; done; printf %s \"$last\"; }}; {line}");
        let output = std::process::Command::new("sh").arg("-c").arg(script).output().expect("sh(1) is there");
        assert_eq!(String::from_utf8_lossy(&output.stdout), body.to_string());
    }
}
