//! The number of webhooks that the history of the loans would cause.
//!
//! A release that suppresses historical webhooks does not write them, so they are counted here: the engine processes
//! each loan as the server does, and each notice is one webhook.

use crate::portfolio::{ImportedLoan, Payment, Portfolio};
use crate::product::ImportProduct;
use daybook_engine::change::InputClass;
use daybook_engine::replay::replay;
use daybook_engine::time::Time;
use daybook_engine::timeline::{Entry, Input, Rank, TimelinePosition};
use daybook_service::form::{self, NewAccount, PaymentRecord};
use daybook_service::policy;
use std::sync::Arc;

/// The number of webhooks of all loans, up to now.
pub fn count(product: &ImportProduct, portfolio: &Portfolio, now: Time) -> u64 {
    let mut payments = portfolio.payments.chunk_by(|one, other| one.loan == other.loan).peekable();
    let mut count = 0;
    for (index, loan) in (0_u32..).zip(&portfolio.loans) {
        let own = payments.next_if(|own| own.first().is_some_and(|first| first.loan == index));
        count += of_loan(product, loan, own.unwrap_or_default(), now).unwrap_or_default();
    }
    count
}

/// The number of webhooks of a loan, or `None` if the server could not process it.
fn of_loan(product: &ImportProduct, loan: &ImportedLoan, payments: &[Payment], now: Time) -> Option<u64> {
    let account: NewAccount = form::parse(loan.body.as_bytes()).ok()?;
    let terms = policy::terms(&product.form, &account, loan.start?).ok()?;
    let mut entries = vec![entry(1, loan.start?, "open", Input::Open)];
    for (seq, payment) in (2..).zip(payments) {
        let (cents, more) = (payment.cents, payment.more.as_deref().unwrap_or_default());
        let body = format!(r#"{{"line_item_id":"{}","original_amount_cents":{cents}{more}}}"#, payment.id);
        let form: PaymentRecord = form::parse(body.as_bytes()).ok()?;
        entries.push(entry(seq, payment.at, &payment.id, form.input()));
    }
    entries.sort_by_key(|entry| entry.place);
    let (_, outcome) = replay(&terms, &entries, now).ok()?;
    Some(outcome.events.len() as u64)
}

fn entry(seq: u64, at: Time, name: &str, input: Input) -> Entry {
    let place = TimelinePosition { at, rank: Rank::Input, class: InputClass::Other, seq };
    Entry { place, effective_at: at, scheduled: false, name: Arc::from(name), input }
}
