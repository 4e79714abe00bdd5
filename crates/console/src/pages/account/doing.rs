//! The changes that can be made to an account: the fields of each, its API call, and a sentence about its effect.

use super::Tab;
use super::data::Account;
use crate::action::Action;
use crate::display::{Moment, Money};
use crate::form::{Field, Typed, body as typed_body, checked_body};
use crate::page::Trouble;
use daybook_engine::zone::Zone;
use daybook_service::changes::Change;
use daybook_service::form::{FeeWaiver, ManualFee, Offset, PaymentRecord, PaymentReversal, parse};
use daybook_service::problem::Problem;
use serde_json::{Value, json};

mod fields;

use fields::{FEE, NOTICE, OFFSET, PAIRS, PAYMENT, REVERSE, ROLL, SETTLE, STATUS, WAIVE};

/// A change to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Records a payment.
    Payment,
    /// Reverses a payment that bounced.
    Reverse,
    /// Marks a pending payment as valid or invalid.
    Settle,
    /// Charges a fee.
    Fee,
    /// Waives a fee.
    Waive,
    /// Raises the balance.
    Credit,
    /// Lowers the balance.
    Debit,
    /// Sets the status.
    Status,
    /// Configures a notification.
    Notice,
    /// Withdraws a held line item.
    Withdraw,
    /// Rolls the account's clock.
    Roll,
}

impl Doing {
    const ALL: [Doing; 10] = [
        Doing::Payment,
        Doing::Reverse,
        Doing::Settle,
        Doing::Fee,
        Doing::Waive,
        Doing::Credit,
        Doing::Debit,
        Doing::Status,
        Doing::Notice,
        Doing::Withdraw,
    ];

    /// The change with this name in the URL.
    pub fn named(name: &str) -> Option<Doing> {
        Doing::ALL.into_iter().find(|doing| doing.name() == name)
    }

    /// The name in the URL.
    pub fn name(self) -> &'static str {
        match self {
            Doing::Payment => "payment",
            Doing::Reverse => "reverse",
            Doing::Settle => "settle",
            Doing::Fee => "fee",
            Doing::Waive => "waive",
            Doing::Credit => "credit",
            Doing::Debit => "debit",
            Doing::Status => "status",
            Doing::Notice => "notice",
            Doing::Withdraw => "withdraw",
            Doing::Roll => "roll",
        }
    }

    /// The path of its form.
    pub fn path(self, account: &str) -> String {
        match self {
            Doing::Roll => format!("/console/accounts/{account}/roll"),
            _ => format!("/console/accounts/{account}/do/{}", self.name()),
        }
    }

    /// The title of its pages.
    pub fn title(self) -> &'static str {
        match self {
            Doing::Payment => "Record a payment",
            Doing::Reverse => "Reverse a payment",
            Doing::Settle => "Confirm or decline a payment",
            Doing::Fee => "Charge a fee",
            Doing::Waive => "Waive a fee",
            Doing::Credit => "Raise the balance",
            Doing::Debit => "Lower the balance",
            Doing::Status => "Set the status",
            Doing::Notice => "Set a notice",
            Doing::Withdraw => "Withdraw a held entry",
            Doing::Roll => "Roll the account's clock",
        }
    }

    /// An explanation of the change.
    pub fn about(self) -> &'static str {
        match self {
            Doing::Payment => "A payment that was received elsewhere. Recording it moves no money.",
            Doing::Reverse => {
                "The payment bounced: the debts that it paid are owed again, and the product's reversal fee is charged."
            }
            Doing::Settle => "A pending or authorized payment was received or declined.",
            Doing::Fee => "A fee that you charge manually.",
            Doing::Waive => "The unpaid part of the fee is forgiven.",
            Doing::Credit => "A credit offset: the borrower owes more.",
            Doing::Debit => {
                "A debit offset: the borrower owes less. It is not a payment and does not prevent a late fee."
            }
            Doing::Status => "The status applies from its effective date. It moves no money.",
            Doing::Notice => "A webhook for this account, sent at a time that you choose.",
            Doing::Withdraw => {
                "A held entry that has not been processed can be withdrawn, as if it had never been sent."
            }
            Doing::Roll => "For testing: the account's clock moves ahead of the real time. It cannot be rolled back.",
        }
    }

    /// The label of its button.
    pub fn button(self) -> &'static str {
        match self {
            Doing::Payment => "Record the payment",
            Doing::Reverse => "Reverse the payment",
            Doing::Settle => "Set the payment's status",
            Doing::Fee => "Charge the fee",
            Doing::Waive => "Waive the fee",
            Doing::Credit => "Raise the balance",
            Doing::Debit => "Lower the balance",
            Doing::Status => "Set the status",
            Doing::Notice => "Set the notice",
            Doing::Withdraw => "Withdraw the entry",
            Doing::Roll => "Roll the clock",
        }
    }

    /// The fields of its form.
    pub fn fields(self) -> &'static [Field] {
        match self {
            Doing::Payment => PAYMENT,
            Doing::Reverse => REVERSE,
            Doing::Settle => SETTLE,
            Doing::Fee => FEE,
            Doing::Waive => WAIVE,
            Doing::Credit | Doing::Debit => OFFSET,
            Doing::Status => STATUS,
            Doing::Notice => NOTICE,
            Doing::Withdraw => &[],
            Doing::Roll => ROLL,
        }
    }

    /// Whether it applies to a line item.
    pub fn needs_item(self) -> bool {
        matches!(self, Doing::Reverse | Doing::Settle | Doing::Waive | Doing::Withdraw)
    }

    /// Whether it changes balances, so that the confirmation compares them before and after.
    pub fn moves_balances(self) -> bool {
        !matches!(self, Doing::Notice | Doing::Withdraw)
    }

    /// The tab that shows the result.
    pub(super) fn tab(self) -> Tab {
        match self {
            Doing::Status | Doing::Roll => Tab::Overview,
            Doing::Notice => Tab::Notices,
            _ => Tab::Items,
        }
    }

    /// The typed values as the body of the call.
    pub fn body(self, account: &str, typed: &Typed, zone: &Zone) -> Result<Value, Problem> {
        let read = match self {
            Doing::Payment => checked_body::<PaymentRecord>,
            Doing::Reverse => checked_body::<PaymentReversal>,
            Doing::Fee => checked_body::<ManualFee>,
            Doing::Waive => checked_body::<FeeWaiver>,
            Doing::Credit | Doing::Debit => checked_body::<Offset>,
            Doing::Settle | Doing::Status | Doing::Notice | Doing::Withdraw | Doing::Roll => typed_body,
        };
        let mut body = read(self.fields(), typed, zone)?;
        if let Some(fields) = body.as_object_mut() {
            if let Some(pair) = fields.remove("pair") {
                let (status, reason) = pair.as_str().unwrap_or_default().split_once(':').unwrap_or_default();
                fields.insert("account_status".to_owned(), json!(status));
                if !reason.is_empty() {
                    fields.insert("account_substatus".to_owned(), json!(reason));
                }
            }
            if fields.remove("enabled").is_some() {
                fields.insert("enabled".to_owned(), json!(false));
            }
            if self == Doing::Roll {
                fields.insert("account_id".to_owned(), json!(account));
            }
        }
        Ok(body)
    }

    /// The API call.
    pub fn action(self, account: &str, item: &str, body: Value) -> Action {
        let (account, item) = (account.to_owned(), item.to_owned());
        match self {
            Doing::Payment => Action::RecordPayment(account, body),
            Doing::Reverse => Action::ReversePayment(account, item, body),
            Doing::Settle => Action::ChangeLineItem(account, item, body),
            Doing::Fee => Action::ChargeFee(account, body),
            Doing::Waive => Action::WaiveFee(account, item, body),
            Doing::Credit => Action::CreditOffset(account, body),
            Doing::Debit => Action::DebitOffset(account, body),
            Doing::Status => Action::SetStatus(account, body),
            Doing::Notice => Action::SetNotification(account, body),
            Doing::Withdraw => Action::WithdrawLineItem(account, item),
            Doing::Roll => Action::Roll(body),
        }
    }

    /// The same change, for a rehearsal.
    pub fn change(self, item: &str, body: &Value) -> Result<Change, Trouble> {
        let json = body.to_string();
        let json = json.as_bytes();
        let item = item.to_owned();
        Ok(match self {
            Doing::Payment => Change::Payment(parse(json)?),
            Doing::Reverse => Change::Reversal(item, parse(json)?),
            Doing::Settle => Change::PaymentStatus(item, parse(json)?),
            Doing::Fee => Change::Fee(parse(json)?),
            Doing::Waive => Change::Waiver(item, parse(json)?),
            Doing::Credit => Change::Credit(parse(json)?),
            Doing::Debit => Change::Debit(parse(json)?),
            Doing::Status => Change::Status(parse(json)?),
            Doing::Notice => Change::Notice(parse(json)?),
            Doing::Withdraw => Change::Withdrawal(item),
            Doing::Roll => Change::Roll(parse(json)?),
        })
    }

    /// A sentence about the effect.
    pub fn sentence(self, account: &Account, item: &str, body: &Value) -> String {
        let amount = Money(body["original_amount_cents"].as_i64().unwrap_or_default());
        let text = |name: &str| body[name].as_str().unwrap_or_default();
        let at = match body["effective_at"].as_str() {
            Some(moment) => format!("effective {}", Moment(moment.to_owned())),
            None => "effective now, on the account's clock".to_owned(),
        };
        let part = match text("allocation") {
            "INTEREST" => "interest",
            "FEE" => "fees",
            _ => "principal",
        };
        let id = &account.account_id;
        match self {
            Doing::Payment => format!("A payment of {amount} is recorded on account {id}, {at}."),
            Doing::Reverse => {
                let fee = account.account_product.product_lifecycle.payment_reversal_fee_impl_cents;
                let charged =
                    if fee.is_zero() { String::new() } else { format!(" A reversal fee of {fee} is charged.") };
                format!("Payment {item} is reversed, {at}.{charged}")
            }
            Doing::Settle => match text("line_item_status") {
                "VALID" => format!("Payment {item} becomes valid, {at}. This is final."),
                _ => format!("Payment {item} becomes invalid, as if it had never been made, {at}. This is final."),
            },
            Doing::Fee => format!("A fee of {amount} is charged to account {id}, {at}."),
            Doing::Waive => format!("The unpaid part of fee {item} is forgiven, {at}."),
            Doing::Credit => format!("The {part} of account {id} is raised by {amount}, {at}."),
            Doing::Debit => format!("The balance of account {id} is lowered by {amount}, {part} first, {at}."),
            Doing::Status => {
                let status = format!("{}:{}", text("account_status"), text("account_substatus"));
                let words = PAIRS.iter().find(|(pair, _)| *pair == status).map_or("", |(_, words)| words);
                format!("The status of account {id} is set to \u{201c}{words}\u{201d}, {at}.")
            }
            Doing::Notice => {
                let kind = text("notification_type");
                let rhythm = if text("interval").is_empty() { text("time_offset") } else { text("interval") };
                let verb = if body["enabled"] == json!(false) { "turned off" } else { "turned on" };
                format!("The notice {kind} ({rhythm}) is {verb}, {at}.")
            }
            Doing::Withdraw => format!("The held entry {item} is withdrawn and will not be part of the release."),
            Doing::Roll => {
                let to = Moment(text("effective_at").to_owned());
                format!("The clock of account {id} is rolled to {to}. It cannot be rolled back.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybook_engine::status::Standing;

    #[test]
    fn every_pair_of_the_engine_can_be_chosen_and_no_other() {
        let standings = [Standing::Active, Standing::Suspended, Standing::Closed];
        let pairs = standings.into_iter().flat_map(|standing| {
            let of = move |reason: &Option<daybook_engine::status::Reason>| {
                format!("{}:{}", standing.name(), reason.map_or("", |reason| reason.name()))
            };
            standing.reasons().iter().map(of).collect::<Vec<_>>()
        });
        let shown: Vec<&str> = PAIRS.iter().map(|(pair, _)| *pair).collect();
        assert_eq!(shown, pairs.collect::<Vec<_>>());
    }
}
