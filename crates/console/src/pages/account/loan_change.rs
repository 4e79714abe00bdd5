//! The changes of a loan that an agent can make: the fields of each, its API call, and what it does.

use crate::action::Action;
use crate::form::{Field, FormValues, body as typed_body};
use daybook_engine::zone::Zone;
use daybook_operations::Operation;
use daybook_service::problem::Problem;
use serde_json::{Value, json};

mod fields;

use fields::{
    CAP, CAPITALIZE, DEFER, DUE_DATE, EXTEND, PAUSE, PROMO, RATE, RE_AGE, RE_AMORTIZE, REFUND, REFUND_REVERSAL,
    RESTRUCTURE, SKIP,
};

/// The name of the checkboxes of instalments that are deferred.
pub const DEFERRED: &str = "deferred";

/// A change of a loan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoanChange {
    /// Defers instalments to a later one.
    Defer,
    /// Moves due dates.
    DueDate,
    /// Skips instalments.
    Skip,
    /// Adds instalments.
    Extend,
    /// Sets the rate.
    Rate,
    /// Limits the rate by law.
    Cap,
    /// Pauses interest.
    Pause,
    /// A promotion.
    Promo,
    /// Spreads past-due instalments over those ahead.
    ReAmortize,
    /// Replaces the unpaid instalments.
    ReAge,
    /// Replaces the unpaid instalments, under other terms.
    Restructure,
    /// Turns interest or fees into principal.
    Capitalize,
    /// Pays out surplus.
    Refund,
    /// Reverses a refund.
    RefundReversal,
    /// Cancels a change.
    Cancel,
    /// Withdraws a held or scheduled change.
    Withdraw,
}

impl LoanChange {
    const ALL: [LoanChange; 16] = [
        LoanChange::Defer,
        LoanChange::DueDate,
        LoanChange::Skip,
        LoanChange::Extend,
        LoanChange::Rate,
        LoanChange::Cap,
        LoanChange::Pause,
        LoanChange::Promo,
        LoanChange::ReAmortize,
        LoanChange::ReAge,
        LoanChange::Restructure,
        LoanChange::Capitalize,
        LoanChange::Refund,
        LoanChange::RefundReversal,
        LoanChange::Cancel,
        LoanChange::Withdraw,
    ];

    /// The changes of the menu: those that are not about an earlier change or a line item.
    pub fn menu() -> impl Iterator<Item = LoanChange> {
        LoanChange::ALL.into_iter().filter(|change| !change.needs_item())
    }

    /// The change with this name in the URL.
    pub fn named(name: &str) -> Option<LoanChange> {
        LoanChange::ALL.into_iter().find(|change| change.name() == name)
    }

    /// The name in the URL.
    pub fn name(self) -> &'static str {
        match self {
            LoanChange::Defer => "defer",
            LoanChange::DueDate => "due-date",
            LoanChange::Skip => "skip",
            LoanChange::Extend => "extend",
            LoanChange::Rate => "rate",
            LoanChange::Cap => "cap",
            LoanChange::Pause => "pause",
            LoanChange::Promo => "promo",
            LoanChange::ReAmortize => "re-amortize",
            LoanChange::ReAge => "re-age",
            LoanChange::Restructure => "restructure",
            LoanChange::Capitalize => "capitalize",
            LoanChange::Refund => "refund",
            LoanChange::RefundReversal => "refund-reversal",
            LoanChange::Cancel => "cancel",
            LoanChange::Withdraw => "withdraw",
        }
    }

    /// The path of its form.
    pub fn path(self, account: &str) -> String {
        format!("/console/accounts/{account}/change/{}", self.name())
    }

    /// The title of its pages.
    pub fn title(self) -> &'static str {
        match self {
            LoanChange::Defer => "Defer instalments",
            LoanChange::DueDate => "Move the due date",
            LoanChange::Skip => "Skip instalments",
            LoanChange::Extend => "Extend the loan",
            LoanChange::Rate => "Set the interest rate",
            LoanChange::Cap => "Limit the rate (SCRA, MLA)",
            LoanChange::Pause => "Pause interest",
            LoanChange::Promo => "Start a promotion",
            LoanChange::ReAmortize => "Re-amortize",
            LoanChange::ReAge => "Re-age",
            LoanChange::Restructure => "Restructure the loan",
            LoanChange::Capitalize => "Capitalize interest or fees",
            LoanChange::Refund => "Refund surplus",
            LoanChange::RefundReversal => "Reverse a refund",
            LoanChange::Cancel => "Cancel a change",
            LoanChange::Withdraw => "Withdraw a change",
        }
    }

    /// What it does.
    pub fn about(self) -> &'static str {
        match self {
            LoanChange::Defer => {
                "The instalments that you choose need not be paid on their due dates: a later instalment asks for their \
                 amounts as well. If no other instalment is past due, the account is no longer past due."
            }
            LoanChange::DueDate => "An instalment falls due on another date, and the instalments after it follow.",
            LoanChange::Skip => {
                "A payment holiday: the borrower pays no instalment for some cycles. Interest continues to accrue, and the \
                 next instalment asks for it."
            }
            LoanChange::Extend => "Instalments are added at the end, so each instalment becomes smaller.",
            LoanChange::Rate => "The loan has another interest rate from a date on, or for some time.",
            LoanChange::Cap => "A law limits the interest rate, for example while the borrower is in military service.",
            LoanChange::Pause => "No interest accrues for some time. The due dates stay.",
            LoanChange::Promo => "Another interest rate or another late fee for some time.",
            LoanChange::ReAmortize => {
                "The unpaid amounts of past-due instalments are spread over the instalments ahead, so the account is no \
                 longer past due."
            }
            LoanChange::ReAge => {
                "All unpaid instalments are replaced by new ones. The account is then no longer past due, and its count of \
                 late instalments is 0."
            }
            LoanChange::Restructure => {
                "All unpaid instalments are replaced by new ones, if you wish with another rate and with less principal. The \
                 account is then no longer past due."
            }
            LoanChange::Capitalize => {
                "Interest or fees that are owed become principal. From then on, they earn interest themselves."
            }
            LoanChange::Refund => {
                "You paid money of the borrower that paid no debt back to the borrower. Daybook only records it: it makes no \
                 payment."
            }
            LoanChange::RefundReversal => "The refund came back: its amount is surplus again.",
            LoanChange::Cancel => {
                "A cancelled change no longer counts. If the product does not recalculate the past, a rate, a limit or a \
                 pause ends today; any other change can be cancelled only as long as no later entry depends on it."
            }
            LoanChange::Withdraw => "The change is removed before it takes effect, as if it had never been recorded.",
        }
    }

    /// The label of its button.
    pub fn button(self) -> &'static str {
        match self {
            LoanChange::Refund => "Record the refund",
            LoanChange::RefundReversal => "Reverse the refund",
            LoanChange::Cancel => "Cancel the change",
            LoanChange::Withdraw => "Withdraw the change",
            _ => "Make the change",
        }
    }

    /// The fields of its form.
    pub fn fields(self) -> &'static [Field] {
        match self {
            LoanChange::Defer => DEFER,
            LoanChange::DueDate => DUE_DATE,
            LoanChange::Skip => SKIP,
            LoanChange::Extend => EXTEND,
            LoanChange::Rate => RATE,
            LoanChange::Cap => CAP,
            LoanChange::Pause => PAUSE,
            LoanChange::Promo => PROMO,
            LoanChange::ReAmortize => RE_AMORTIZE,
            LoanChange::ReAge => RE_AGE,
            LoanChange::Restructure => RESTRUCTURE,
            LoanChange::Capitalize => CAPITALIZE,
            LoanChange::Refund => REFUND,
            LoanChange::RefundReversal => REFUND_REVERSAL,
            LoanChange::Cancel | LoanChange::Withdraw => &[],
        }
    }

    /// Whether it is about an earlier change or a line item.
    pub fn needs_item(self) -> bool {
        matches!(self, LoanChange::RefundReversal | LoanChange::Cancel | LoanChange::Withdraw)
    }

    /// Whether it makes a line item, and not an entry in the list of changes.
    pub fn is_item(self) -> bool {
        matches!(self, LoanChange::Refund | LoanChange::RefundReversal)
    }

    /// The typed values as the body of the call.
    pub fn body(self, typed: &FormValues, zone: &Zone) -> Result<Value, Problem> {
        let mut body = typed_body(self.fields(), typed, zone)?;
        let Some(fields) = body.as_object_mut() else { return Ok(body) };
        match self {
            LoanChange::Defer => {
                let rest: Vec<(&str, Value)> = ["deferred_to", "balance"]
                    .into_iter()
                    .filter_map(|name| Some((name, fields.remove(name)?)))
                    .collect();
                let row = |due_date: &str| {
                    let mut row = json!({ "due_date": due_date });
                    for (name, value) in &rest {
                        row[*name] = value.clone();
                    }
                    row
                };
                let rows: Vec<Value> = typed.all(DEFERRED).filter(|date| !date.is_empty()).map(row).collect();
                if rows.is_empty() {
                    return Err(Problem::new("invalid_request", "choose at least one instalment"));
                }
                fields.insert("deferrals".to_owned(), json!(rows));
            }
            LoanChange::Cap => {
                let law = fields.remove("law");
                let tags = json!({ law.as_ref().and_then(Value::as_str).unwrap_or("scra"): true });
                fields.insert("tags".to_owned(), tags);
            }
            // A ticked box is sent, an unticked one is not.
            LoanChange::Skip if fields.contains_key("extend_term") => {
                fields.insert("extend_term".to_owned(), json!(false));
            }
            LoanChange::DueDate => {
                if let Some(days) = fields.remove("semi_monthly_days") {
                    fields.insert("semi_monthly_days".to_owned(), two_days(days.as_str().unwrap_or_default())?);
                }
            }
            _ => {}
        }
        Ok(body)
    }

    /// The API call.
    pub fn action(self, account: &str, item: &str, body: Value) -> Action {
        let (account, item) = (account.to_owned(), item.to_owned());
        let operation = match self {
            LoanChange::Refund => return Action::Refund(account, body),
            LoanChange::RefundReversal => return Action::ReverseRefund(account, item, body),
            LoanChange::Cancel => return Action::CancelChange(account, item, body),
            LoanChange::Withdraw => return Action::WithdrawChange(account, item),
            LoanChange::Defer => Operation::DeferPayments,
            LoanChange::DueDate => Operation::ChangeDueDate,
            LoanChange::Skip => Operation::SkipInstallments,
            LoanChange::Extend => Operation::ExtendTerm,
            LoanChange::Rate | LoanChange::Cap => Operation::CreateInterestRate,
            LoanChange::Pause => Operation::CreateInterestPause,
            LoanChange::Promo => Operation::CreateTempPromo,
            LoanChange::ReAmortize => Operation::ReAmortize,
            LoanChange::ReAge => Operation::ReAge,
            LoanChange::Restructure => Operation::Restructure,
            LoanChange::Capitalize => Operation::Capitalize,
        };
        Action::ChangeLoan(operation, account, body)
    }
}

/// Two days of the month, as they are typed: `1, 15`.
fn two_days(typed: &str) -> Result<Value, Problem> {
    let days: Result<Vec<u8>, _> = typed.split(',').map(|day| day.trim().parse::<u8>()).collect();
    match days.as_deref() {
        Ok([first, second]) => Ok(json!([first, second])),
        _ => Err(Problem::invalid("semi_monthly_days", "must be two days of the month, such as 1, 15")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone() -> Zone {
        Zone::named("America/New_York").expect("a zone")
    }

    #[test]
    fn typed_values_become_the_body_of_the_call() {
        let cases = [
            (
                LoanChange::Defer,
                "deferred=2025-02-15&deferred=2025-03-15&balance=PRINCIPAL",
                json!({ "deferrals": [
                    { "due_date": "2025-02-15", "balance": "PRINCIPAL" },
                    { "due_date": "2025-03-15", "balance": "PRINCIPAL" },
                ] }),
            ),
            (LoanChange::Cap, "law=mla", json!({ "tags": { "mla": true } })),
            (LoanChange::Skip, "extend_term=false&count=2", json!({ "extend_term": false, "count": 2 })),
            (
                LoanChange::DueDate,
                "next_due_date=2025-02-28&semi_monthly_days=15%2C+31&fee_cents=5",
                json!({ "next_due_date": "2025-02-28", "semi_monthly_days": [15, 31], "fee_cents": 500 }),
            ),
        ];
        for (change, typed, expected) in cases {
            let typed = FormValues::read(typed.as_bytes());
            assert_eq!(change.body(&typed, &zone()).expect("a body"), expected, "{change:?}");
        }
        for (change, typed) in [
            (LoanChange::Defer, "balance=ALL"),
            (LoanChange::DueDate, "next_due_date=2025-02-28&semi_monthly_days=1"),
            (LoanChange::Extend, ""),
        ] {
            assert!(change.body(&FormValues::read(typed.as_bytes()), &zone()).is_err(), "{change:?}");
        }
    }

    #[test]
    fn every_change_has_a_name_of_its_own() {
        for change in LoanChange::ALL {
            assert_eq!(LoanChange::named(change.name()), Some(change));
        }
        assert_eq!(LoanChange::menu().count(), 13);
    }
}
