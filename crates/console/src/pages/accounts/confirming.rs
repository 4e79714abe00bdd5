//! The confirmation before an account with unusual consequences is opened: a backdated account is processed up to now,
//! with late fees and webhooks, and an account without a borrower is hard to find again. Nothing is stored before the
//! confirmation.

use super::opening::fields;
use crate::action::Action;
use crate::display::{AsMoment, AsMoney, Count, Money};
use crate::form::FormValues;
use crate::guard::Visitor;
use crate::page::{PageFrame, PageResult, Section, show};
use crate::pages::account::StatusWords;
use askama::Template;
use daybook_service::changes::OpeningRehearsal;
use daybook_service::view::{Account, MigrationState, Product};
use serde_json::Value;

/// The field that confirms the opening.
pub const CONFIRMED: &str = "confirmed";

#[derive(Template)]
#[template(path = "accounts/confirm.html")]
struct ConfirmPage {
    page: PageFrame,
    sentence: String,
    has_borrower: bool,
    holds: bool,
    /// The immediate effects, in sentences.
    at_once: Vec<String>,
    /// The number of webhook messages for each event.
    webhooks: Vec<(String, Count)>,
    /// The main amounts of the account after opening.
    figures: Vec<(&'static str, String)>,
    /// The typed values.
    typed: Vec<(&'static str, String)>,
    product_id: String,
    once: String,
    curl: String,
}

/// Whether opening the account must be confirmed: it begins in the past, or it has no borrower.
pub fn is_needed(sent: &Value, rehearsal: &OpeningRehearsal) -> bool {
    !rehearsal.is_there && (rehearsal.is_backdated || sent["assign_customers"].is_null())
}

/// The confirmation page.
pub fn page(
    visitor: &Visitor,
    product: &Product,
    typed: &FormValues,
    sent: Value,
    rehearsal: &OpeningRehearsal,
) -> PageResult {
    let account = &rehearsal.account;
    let holds = product.migration_state == MigrationState::Holding;
    let shown = fields().iter().map(|field| (field.name, typed.get(field.name).to_owned())).collect::<Vec<_>>();
    show(&ConfirmPage {
        page: PageFrame::new("Open an account", Section::Accounts, visitor),
        sentence: sentence(product, &sent, account),
        has_borrower: !account.customers.is_empty(),
        holds,
        at_once: if holds { Vec::new() } else { at_once(account, rehearsal) },
        webhooks: rehearsal.webhooks.iter().map(|(event, count)| (event.clone(), Count(*count))).collect(),
        figures: if holds { Vec::new() } else { figures(account) },
        typed: shown.into_iter().filter(|(_, value)| !value.is_empty()).collect(),
        product_id: product.product_id.clone(),
        once: typed.get("once").to_owned(),
        curl: Action::CreateAccount(sent).curl(&visitor.context.base_url),
    })
}

fn sentence(product: &Product, sent: &Value, account: &Account<'_>) -> String {
    let principal = Money(sent["summary"]["initial_principal_cents"].as_i64().unwrap_or_default());
    let borrowers: Vec<&str> = account.customers.iter().map(|customer| customer.customer_id.as_str()).collect();
    let to = if borrowers.is_empty() { String::new() } else { format!(" to {}", borrowers.join(" and ")) };
    let begins = account.effective_at.moment();
    format!("A loan of {principal}{to} under {}, effective {begins}.", product.product_overview.product_name)
}

fn at_once(account: &Account<'_>, rehearsal: &OpeningRehearsal) -> Vec<String> {
    let mut lines = Vec::new();
    if rehearsal.is_backdated {
        lines.push(format!(
            "The account will be processed from {} until now. Instalments that fell due since then count as unpaid.",
            account.effective_at.moment()
        ));
    }
    if rehearsal.late_fees > 0 {
        let fees = Count(rehearsal.late_fees).of("late fee", "late fees");
        lines.push(format!("{fees} will be charged, {} in total.", Money(rehearsal.late_fee_cents)));
    }
    let late = &account.delinquency;
    if late.days_past_due > 0 {
        let days = if late.days_past_due == 1 { "1 day".to_owned() } else { format!("{} days", late.days_past_due) };
        lines.push(format!(
            "{} will be past due; the oldest unpaid due date was {days} ago.",
            late.past_due_cents.money()
        ));
    }
    if account.account_overview.account_status != "ACTIVE" || !account.account_overview.reason().is_empty() {
        lines.push(format!("The status will be: {}.", account.account_overview.words()));
    }
    let messages = Count(rehearsal.webhooks.values().sum());
    if !messages.is_zero() {
        lines.push(format!("{} will be sent to each subscribed URL.", messages.of("webhook", "webhooks")));
    }
    lines
}

fn figures(account: &Account<'_>) -> Vec<(&'static str, String)> {
    let summary = &account.summary;
    vec![
        ("Balance", summary.total_balance_cents.money().to_string()),
        ("Principal", summary.principal_cents.money().to_string()),
        ("Interest", summary.interest_balance_cents.money().to_string()),
        ("Fees", summary.fees_balance_cents.money().to_string()),
        ("Past due", account.delinquency.past_due_cents.money().to_string()),
        ("Status", account.account_overview.words()),
    ]
}
