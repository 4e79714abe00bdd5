//! The errors for inputs that the engine refuses.

use super::journal::Record;
use crate::problem::Problem;
use daybook_engine::outcome::Refusal;
use daybook_engine::timeline::Input;

/// The error for an input that is refused.
pub(super) fn refused(record: &Record, name: &str, refusal: Refusal) -> Problem {
    refused_as(&words_of(record, name), refusal)
}

/// The error for an input in words.
pub(super) fn refused_as(words: &str, refusal: Refusal) -> Problem {
    let rule = refusal.rule();
    let what = if words.is_empty() { String::new() } else { format!("{words}: ") };
    match refusal {
        Refusal::BeforeAccount => {
            Problem::invalid("effective_at", format!("{what}must not be before the account begins (its effective_at)"))
        }
        Refusal::AmountOutOfRange => Problem::invalid("original_amount_cents", format!("{what}{rule}")),
        Refusal::NothingToWaive => Problem::new("nothing_to_waive", format!("{what}{rule}")),
        Refusal::AlreadyReversed => Problem::new("already_reversed", format!("{what}{rule}")),
        Refusal::NotReversible => Problem::new("not_reversible", format!("{what}{rule}")),
        Refusal::StatusIsFinal => Problem::new("status_is_final", format!("{what}{rule}")),
        Refusal::AlreadyOpen => Problem::new("conflict", format!("{what}{rule}")),
        Refusal::NothingToChange => Problem::new("nothing_to_change", format!("{what}{rule}")),
        Refusal::NoRowsAhead => Problem::new("no_rows_ahead", format!("{what}{rule}")),
        Refusal::LimitReached => Problem::new("limit_reached", format!("{what}{rule}")),
        Refusal::CannotCancel => Problem::new("cannot_cancel", format!("{what}{rule}")),
        Refusal::AccountClosed => Problem::new("account_closed", format!("{what}{rule}")),
        Refusal::ExceedsSurplus => Problem::new("exceeds_surplus", format!("{what}{rule}")),
        Refusal::Field { .. } | Refusal::ListField { .. } => {
            let field = refusal.field().unwrap_or_default();
            Problem { message: format!("{what}{field} {rule}"), ..Problem::invalid(field, rule) }
        }
    }
}

/// An input in words. The ids that the service made up are left out, because the caller does not know them.
fn words_of(record: &Record, name: &str) -> String {
    let id = if name.starts_with("dbk_") { String::new() } else { format!(" \"{name}\"") };
    match record {
        Record::Input(Input::PaymentStatus { payment, .. }) => format!("the status of payment \"{payment}\""),
        Record::Input(Input::Reversal { payment }) => format!("the reversal{id} of payment \"{payment}\""),
        Record::Input(Input::Waiver { fee }) => format!("the waiver{id} of fee \"{fee}\""),
        Record::Input(Input::CancelChange { change, .. }) => format!("the cancellation of change \"{change}\""),
        Record::Input(Input::RefundReversal { refund }) => format!("the reversal{id} of refund \"{refund}\""),
        other => format!("{}{id}", other.kind().replace('_', " ")),
    }
}
