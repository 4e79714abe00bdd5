//! `daybook rules-report`: the accounts whose balances or status changed when they were recomputed under newer rules.

use super::opening::open_service;
use super::table::table;
use super::{Failure, prepare, print, wait_for};
use crate::cli::{ReportFormat, RulesReportArgs};
use crate::config::Settings;
use daybook_service::refold::Moved;
use daybook_service::refold::balances_and_status::BalancesAndStatus;

const COLUMNS: [&str; 17] = [
    "organization",
    "account_id",
    "rules_version",
    "status_before",
    "status_after",
    "principal_before_cents",
    "principal_after_cents",
    "interest_before_cents",
    "interest_after_cents",
    "fees_before_cents",
    "fees_after_cents",
    "surplus_before_cents",
    "surplus_after_cents",
    "past_due_before_cents",
    "past_due_after_cents",
    "recorded_at",
    "failure",
];

/// Prints the changes.
pub fn run(args: &RulesReportArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let moved = wait_for(moved(&settings))?;
    print(&match args.format {
        ReportFormat::Text => as_text(&moved),
        ReportFormat::Csv => as_csv(&moved),
        ReportFormat::Json => format!("{:#}\n", serde_json::json!({ "accounts": moved })),
    })
}

async fn moved(settings: &Settings) -> Result<Vec<Moved>, Failure> {
    let service = open_service(settings).await?;
    let mut moved = Vec::new();
    service.rules_report(&mut |account| moved.push(account)).await?;
    service.stop().await;
    Ok(moved)
}

fn as_text(moved: &[Moved]) -> String {
    let money = |cents: i64| {
        let sign = if cents < 0 { "-" } else { "" };
        format!("{sign}{}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100)
    };
    let of = |standing: &Option<BalancesAndStatus>, what: &dyn Fn(&BalancesAndStatus) -> String| {
        standing.as_ref().map_or_else(|| "-".to_owned(), what)
    };
    let past_due = |standing: &BalancesAndStatus| standing.past_due_cents.map_or_else(|| "-".to_owned(), money);
    let row = |account: &Moved| {
        let both = |what: &dyn Fn(&BalancesAndStatus) -> String| {
            let (before, after) = (of(&account.before, what), of(&account.after, what));
            if before == after { before } else { format!("{before} -> {after}") }
        };
        [
            account.organization.clone(),
            account.account_id.clone(),
            both(&|standing| money(standing.principal_cents)),
            both(&|standing| money(standing.interest_cents)),
            both(&|standing| money(standing.fees_cents)),
            both(&|standing| money(standing.surplus_cents)),
            both(&past_due),
            both(&BalancesAndStatus::status_pair),
            account.failure.clone().unwrap_or_default(),
        ]
    };
    let heads =
        ["organization", "account", "principal", "interest", "fees", "surplus", "past due", "status", "failure"];
    let heads = heads.map(str::to_owned);
    let rows: Vec<_> = std::iter::once(heads).chain(moved.iter().map(row)).collect();
    format!("{}{} accounts\n", table(&rows), moved.len())
}

fn as_csv(moved: &[Moved]) -> String {
    let mut text = format!("{}\n", COLUMNS.join(","));
    for account in moved {
        let number = |standing: &Option<BalancesAndStatus>, what: &dyn Fn(&BalancesAndStatus) -> Option<i64>| {
            standing.as_ref().and_then(what).map_or_else(String::new, |cents| cents.to_string())
        };
        let both = |what: &dyn Fn(&BalancesAndStatus) -> Option<i64>| {
            [number(&account.before, what), number(&account.after, what)]
        };
        let status = |standing: &Option<BalancesAndStatus>| {
            standing.as_ref().map_or_else(String::new, BalancesAndStatus::status_pair)
        };
        let mut cells = vec![
            quoted(&account.organization),
            quoted(&account.account_id),
            account.rules_version.to_string(),
            status(&account.before),
            status(&account.after),
        ];
        cells.extend(both(&|standing| Some(standing.principal_cents)));
        cells.extend(both(&|standing| Some(standing.interest_cents)));
        cells.extend(both(&|standing| Some(standing.fees_cents)));
        cells.extend(both(&|standing| Some(standing.surplus_cents)));
        cells.extend(both(&|standing| standing.past_due_cents));
        cells.push(account.recorded_at.clone());
        cells.push(quoted(account.failure.as_deref().unwrap_or_default()));
        text.push_str(&format!("{}\n", cells.join(",")));
    }
    text
}

/// A CSV cell (RFC 4180). A text that a spreadsheet would run as a formula gets a leading apostrophe.
fn quoted(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
