//! The changes that can be made to an account: the fields of each, its API call, and a sentence about its effect.

use super::Tab;
use crate::action::Action;
use crate::display::{AsMoney, DisplayTime, Money};
use crate::form::{Field, FormValues, body as typed_body, checked_body};
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_service::form::{FeeWaiver, ManualFee, Offset, PaymentRecord, PaymentReversal};
use daybook_service::problem::Problem;
use daybook_service::view::{Account, LineItem, ProcessingState};
use serde_json::{Value, json};

mod fields;

use fields::{CREDIT, DEBIT, FEE, NOTICE, NOTICE_KINDS, PAIRS, PAYMENT, REVERSE, ROLL, SETTLE, STATUS, WAIVE};

/// When a change counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counting {
    /// At once, or from the past date that it names.
    OnItsDate,
    /// From the future date that it names.
    Scheduled,
    /// Later than the date that it names, because the product does not recalculate the past. With the date from which it
    /// counts.
    Late(String),
}

/// A change to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountChange {
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

impl AccountChange {
    const ALL: [AccountChange; 10] = [
        AccountChange::Payment,
        AccountChange::Reverse,
        AccountChange::Settle,
        AccountChange::Fee,
        AccountChange::Waive,
        AccountChange::Credit,
        AccountChange::Debit,
        AccountChange::Status,
        AccountChange::Notice,
        AccountChange::Withdraw,
    ];

    /// The change with this name in the URL.
    pub fn named(name: &str) -> Option<AccountChange> {
        AccountChange::ALL.into_iter().find(|change| change.name() == name)
    }

    /// The name in the URL.
    pub fn name(self) -> &'static str {
        match self {
            AccountChange::Payment => "payment",
            AccountChange::Reverse => "reverse",
            AccountChange::Settle => "settle",
            AccountChange::Fee => "fee",
            AccountChange::Waive => "waive",
            AccountChange::Credit => "credit",
            AccountChange::Debit => "debit",
            AccountChange::Status => "status",
            AccountChange::Notice => "notice",
            AccountChange::Withdraw => "withdraw",
            AccountChange::Roll => "roll",
        }
    }

    /// The path of its form.
    pub fn path(self, account: &str) -> String {
        match self {
            AccountChange::Roll => format!("/console/accounts/{account}/roll"),
            _ => format!("/console/accounts/{account}/do/{}", self.name()),
        }
    }

    /// The title of its pages.
    pub fn title(self) -> &'static str {
        match self {
            AccountChange::Payment => "Record a payment",
            AccountChange::Reverse => "Reverse a payment",
            AccountChange::Settle => "Confirm or decline a payment",
            AccountChange::Fee => "Charge a fee",
            AccountChange::Waive => "Waive a fee",
            AccountChange::Credit => "Raise the balance",
            AccountChange::Debit => "Lower the balance",
            AccountChange::Status => "Set the status",
            AccountChange::Notice => "Set a notice",
            AccountChange::Withdraw => "Withdraw a held entry",
            AccountChange::Roll => "Roll the account's clock",
        }
    }

    /// An explanation of the change.
    pub fn about(self) -> &'static str {
        match self {
            AccountChange::Payment => "A payment that you received. Daybook only records it: it moves no money.",
            AccountChange::Reverse => {
                "For a payment that bounced: the debts that it paid are owed again, and the fee for a bounced payment \
                 is charged. A scheduled payment becomes invalid, without a fee. To cancel an authorized payment, decline it."
            }
            AccountChange::Settle => {
                "Here you record whether a pending or authorized payment was received or declined."
            }
            AccountChange::Fee => "A fee that you charge manually.",
            AccountChange::Waive => "A waiver cancels the unpaid part of the fee: the borrower will no longer owe it.",
            AccountChange::Credit => "A credit offset raises the balance: the borrower then owes more.",
            AccountChange::Debit => {
                "A debit offset lowers the balance: the borrower then owes less. It does not count as a payment, so it \
                 does not prevent a late fee."
            }
            AccountChange::Status => {
                "The status applies from its effective date. If that date has passed, the product's rule for backdated \
                 entries decides whether the status applies from then on or only from now on. No payment is made or \
                 received. The interest that the borrower owes can change; if the status applies at once, the next page \
                 shows by how much."
            }
            AccountChange::Notice => "A webhook for this account, sent at a time that you choose.",
            AccountChange::Withdraw => {
                "The held entry is removed before it is processed, as if it had never been recorded."
            }
            AccountChange::Roll => {
                "For testing: the clock of this account moves ahead of real time. It cannot be moved back."
            }
        }
    }

    /// The label of its button.
    pub fn button(self) -> &'static str {
        match self {
            AccountChange::Payment => "Record the payment",
            AccountChange::Reverse => "Reverse the payment",
            AccountChange::Settle => "Set the payment's status",
            AccountChange::Fee => "Charge the fee",
            AccountChange::Waive => "Waive the fee",
            AccountChange::Credit => "Raise the balance",
            AccountChange::Debit => "Lower the balance",
            AccountChange::Status => "Set the status",
            AccountChange::Notice => "Set the notice",
            AccountChange::Withdraw => "Withdraw the entry",
            AccountChange::Roll => "Roll the clock",
        }
    }

    /// The fields of its form.
    pub fn fields(self) -> &'static [Field] {
        match self {
            AccountChange::Payment => PAYMENT,
            AccountChange::Reverse => REVERSE,
            AccountChange::Settle => SETTLE,
            AccountChange::Fee => FEE,
            AccountChange::Waive => WAIVE,
            AccountChange::Credit => CREDIT,
            AccountChange::Debit => DEBIT,
            AccountChange::Status => STATUS,
            AccountChange::Notice => NOTICE,
            AccountChange::Withdraw => &[],
            AccountChange::Roll => ROLL,
        }
    }

    /// Whether it applies to a line item.
    pub fn needs_item(self) -> bool {
        matches!(self, AccountChange::Reverse | AccountChange::Settle | AccountChange::Waive | AccountChange::Withdraw)
    }

    /// Whether it is recorded and held while the product is in migration mode.
    pub fn is_held_in_migration_mode(self) -> bool {
        !matches!(self, AccountChange::Withdraw | AccountChange::Roll)
    }

    /// Whether it changes balances, so that the confirmation compares them before and after.
    pub fn moves_balances(self) -> bool {
        !matches!(self, AccountChange::Notice | AccountChange::Withdraw)
    }

    /// The tab that shows the result.
    pub(super) fn tab(self) -> Tab {
        match self {
            AccountChange::Status | AccountChange::Roll => Tab::Overview,
            AccountChange::Notice => Tab::Notices,
            _ => Tab::Items,
        }
    }

    /// The typed values as the body of the call.
    pub fn body(self, account: &str, typed: &FormValues, zone: &Zone) -> Result<Value, Problem> {
        let read = match self {
            AccountChange::Payment => checked_body::<PaymentRecord>,
            AccountChange::Reverse => checked_body::<PaymentReversal>,
            AccountChange::Fee => checked_body::<ManualFee>,
            AccountChange::Waive => checked_body::<FeeWaiver>,
            AccountChange::Credit | AccountChange::Debit => checked_body::<Offset>,
            AccountChange::Settle
            | AccountChange::Status
            | AccountChange::Notice
            | AccountChange::Withdraw
            | AccountChange::Roll => typed_body,
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
            if self == AccountChange::Roll {
                fields.insert("account_id".to_owned(), json!(account));
            }
        }
        Ok(body)
    }

    /// The API call.
    pub fn action(self, account: &str, item: &str, body: Value) -> Action {
        let (account, item) = (account.to_owned(), item.to_owned());
        match self {
            AccountChange::Payment => Action::RecordPayment(account, body),
            AccountChange::Reverse => Action::ReversePayment(account, item, body),
            AccountChange::Settle => Action::ChangeLineItem(account, item, body),
            AccountChange::Fee => Action::ChargeFee(account, body),
            AccountChange::Waive => Action::WaiveFee(account, item, body),
            AccountChange::Credit => Action::CreditOffset(account, body),
            AccountChange::Debit => Action::DebitOffset(account, body),
            AccountChange::Status => Action::SetStatus(account, body),
            AccountChange::Notice => Action::SetNotification(account, body),
            AccountChange::Withdraw => Action::WithdrawLineItem(account, item),
            AccountChange::Roll => Action::Roll(body),
        }
    }

    /// When it counts.
    pub fn counting(self, body: &Value, clock: Time, posts_late: bool, zone: &Zone) -> Counting {
        let Some(at) = body["effective_at"].as_str().and_then(|at| DisplayTime(at.to_owned()).time()) else {
            return Counting::OnItsDate;
        };
        if at > clock {
            return Counting::Scheduled;
        }
        if !posts_late || at == clock || matches!(self, AccountChange::Notice | AccountChange::Roll) {
            return Counting::OnItsDate;
        }
        let [named, from] = [at, clock].map(|time| DisplayTime::new(time, zone).day());
        Counting::Late(if named == from { "the time at which it is recorded".to_owned() } else { from })
    }

    /// A sentence about the effect: what will happen, or, after the change, what happened.
    /// `about` is the line item that is changed, if one is named.
    pub fn sentence(
        self,
        account: &Account<'_>,
        (item, about): (&str, Option<&LineItem<'_>>),
        body: &Value,
        (counting, is_done): (&Counting, bool),
    ) -> String {
        if self == AccountChange::Payment && body["line_item_status"] == "AUTHORIZED" {
            return authorized(&account.account_id, body, is_done);
        }
        if is_done && *counting == Counting::Scheduled && self != AccountChange::Roll {
            return self.scheduled(item, body);
        }
        let effect = self.effect(account, (item, about), body, is_done);
        let Counting::Late(from) = counting else { return effect };
        let verb = match (self, is_done) {
            (AccountChange::Status, true) => "applies",
            (AccountChange::Status, false) => "will apply",
            (_, true) => "counts",
            (_, false) => "will count",
        };
        format!("{effect} It {verb} from {from}, not from its date: this product does not recalculate the past.")
    }

    /// A sentence about a change that is scheduled.
    fn scheduled(self, item: &str, body: &Value) -> String {
        let amount = Money(body["original_amount_cents"].as_i64().unwrap_or_default());
        let what = match self {
            AccountChange::Payment => format!("The payment of {amount}"),
            AccountChange::Reverse => format!("The reversal of payment {item}"),
            AccountChange::Settle => format!("The change of the status of payment {item}"),
            AccountChange::Fee => format!("The fee of {amount}"),
            AccountChange::Waive => format!("The waiver of fee {item}"),
            AccountChange::Credit | AccountChange::Debit => format!("The change of the balance by {amount}"),
            AccountChange::Status => "The change of status".to_owned(),
            AccountChange::Notice => "The change of the notice".to_owned(),
            AccountChange::Withdraw | AccountChange::Roll => "The change".to_owned(),
        };
        let at = DisplayTime(body["effective_at"].as_str().unwrap_or_default().to_owned());
        format!("{what} is scheduled for {at}.")
    }

    fn effect(
        self,
        account: &Account<'_>,
        (item, about): (&str, Option<&LineItem<'_>>),
        body: &Value,
        is_done: bool,
    ) -> String {
        let (be, turn) = if is_done { ("was", "became") } else { ("will be", "will become") };
        let amount = Money(body["original_amount_cents"].as_i64().unwrap_or_default());
        let text = |name: &str| body[name].as_str().unwrap_or_default();
        let at = match body["effective_at"].as_str() {
            Some(moment) => format!("effective {}", DisplayTime(moment.to_owned())),
            None => "effective now".to_owned(),
        };
        let part = match text("allocation") {
            "INTEREST" => "interest",
            "FEE" => "fees",
            _ => "principal",
        };
        let id = &account.account_id;
        match self {
            AccountChange::Payment => format!("A payment of {amount} {be} recorded on account {id}, {at}."),
            AccountChange::Reverse => {
                let fee = account.account_product.product_lifecycle.payment_reversal_fee_impl_cents.money();
                let is_early = about.is_some_and(|item| item.processing_state == ProcessingState::Scheduled);
                let has = if is_done { "had" } else { "has" };
                let result = if is_early {
                    format!(" It {has} not taken effect, so it {turn} invalid, and no fee {be} charged.")
                } else if fee.is_zero() || account.account_overview.is_charged_off() {
                    String::new()
                } else {
                    format!(" The fee for a bounced payment, {fee}, {be} charged.")
                };
                format!("Payment {item} {be} reversed, {at}.{result}")
            }
            AccountChange::Settle => match text("line_item_status") {
                "VALID" => format!("Payment {item} {turn} valid, {at}. This is final."),
                _ => format!(
                    "Payment {item} {turn} invalid, {at}: any debts that it paid are then owed again. This is final."
                ),
            },
            AccountChange::Fee => format!("A fee of {amount} {be} charged to account {id}, {at}."),
            AccountChange::Waive => format!("The unpaid part of fee {item} {be} waived, {at}."),
            AccountChange::Credit => format!("The balance of account {id} {be} raised by {amount} of {part}, {at}."),
            AccountChange::Debit => {
                format!("The balance of account {id} {be} lowered by {amount}, {at}: {part} first, then other debts.")
            }
            AccountChange::Status => {
                let status = format!("{}:{}", text("account_status"), text("account_substatus"));
                let words = PAIRS.iter().find(|(pair, _)| *pair == status).map_or("", |(_, words)| words);
                format!("The status of account {id} {be} set to \u{201c}{words}\u{201d}, {at}.")
            }
            AccountChange::Notice => {
                let kind = text("notification_type");
                let kind = NOTICE_KINDS.iter().find(|(name, _)| *name == kind).map_or(kind, |(_, label)| label);
                let rhythm = if text("interval").is_empty() { text("time_offset") } else { text("interval") };
                let verb = if body["enabled"] == json!(false) { "turned off" } else { "turned on" };
                format!("The notice \u{201c}{kind}\u{201d} ({rhythm}) {be} {verb}, {at}.")
            }
            AccountChange::Withdraw => format!(
                "The held entry {item} {be} withdrawn, and with it any other held entries that refer to it, such as a \
                 reversal of it. Withdrawn entries have no effect when the held events are released."
            ),
            AccountChange::Roll => {
                let to = DisplayTime(text("effective_at").to_owned());
                format!("The clock of account {id} {be} rolled to {to}. It cannot be rolled back.")
            }
        }
    }
}

/// A sentence about a payment that does not count until the user confirms it.
fn authorized(account: &str, body: &Value, is_done: bool) -> String {
    let amount = Money(body["original_amount_cents"].as_i64().unwrap_or_default());
    let at = body["effective_at"].as_str().map(|at| format!(", dated {}", DisplayTime(at.to_owned())));
    let at = at.unwrap_or_default();
    if is_done {
        format!("The authorized payment of {amount}{at} was recorded. It does not count yet.")
    } else {
        format!(
            "An authorized payment of {amount}{at} will be recorded on account {account}. It will not count until you \
             confirm it."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybook_engine::status::AccountStanding;

    #[test]
    fn every_pair_of_the_engine_can_be_chosen_and_no_other() {
        let standings = [AccountStanding::Active, AccountStanding::Suspended, AccountStanding::Closed];
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
