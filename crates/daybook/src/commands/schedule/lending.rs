//! Opens the loan in a temporary database in memory.

use super::terms::{ID, RequestedTerms, flag_of, noon};
use crate::commands::Failure;
use daybook_clock::Manual;
use daybook_engine::calendar::Day;
use daybook_service::access::Caller;
use daybook_service::changes::ChangeRequest;
use daybook_service::problem::{Problem, ProblemKind};
use daybook_service::view::ScheduleRow;
use daybook_service::{Service, form};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

const DATABASE: &str = "sqlite::memory:";
/// The key of a database that only this process sees.
const SECRETS_KEY: [u8; 32] = *b"a key for what is never kept    ";

/// A row of the schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintedRow {
    /// When the instalment falls due, as the service returns it.
    due_at: String,
    /// The due date.
    pub due_on: String,
    /// The instalment.
    pub payment_cents: i64,
    /// Its interest.
    pub interest_cents: i64,
    /// Its principal.
    pub principal_cents: i64,
    /// The principal balance after it.
    pub balance_cents: i64,
}

/// A schedule, and the payoff amount.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintedSchedule {
    /// A row for each instalment.
    pub rows: Vec<PrintedRow>,
    /// The payoff date and amount.
    pub payoff: Option<(Day, i64)>,
}

/// The schedule for these terms.
pub async fn plan(terms: &RequestedTerms) -> Result<PrintedSchedule, Failure> {
    let clock = Arc::new(Manual::at(noon(terms.start)));
    let service = Service::open(DATABASE, clock, &SECRETS_KEY).await?;
    let plan = make_plan(&service, terms).await;
    service.stop().await;
    plan.map_err(about_flags)
}

async fn make_plan(service: &Service, terms: &RequestedTerms) -> Result<PrintedSchedule, Problem> {
    service.create_organization(ID, "TEST").await?;
    let who = service.operator(Some(ID)).await?;
    service.create_product(&who, None, read(&terms.product)?).await?;
    service.create_account(&who, None, read(&terms.account)?).await?;
    let schedule = service.get_amortization_schedule(&who, ID, None).await?;
    let rows: Vec<PrintedRow> = schedule.results.iter().map(row).collect();
    let payoff = match terms.payoff_at {
        Some(day) => Some((day, payoff(service, &who, &rows, day).await?)),
        None => None,
    };
    Ok(PrintedSchedule { rows, payoff })
}

/// The payoff amount on a date, if each instalment due before it is paid on time.
async fn payoff(service: &Service, who: &Caller, rows: &[PrintedRow], day: Day) -> Result<i64, Problem> {
    let before = day.to_string();
    for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.due_on < before && row.payment_cents > 0) {
        let payment = json!({
            "line_item_id": format!("p{}", place + 1), "original_amount_cents": row.payment_cents,
            "effective_at": row.due_at,
        });
        service.change_account(who, None, ID, ChangeRequest::Payment(read(&payment)?)).await?;
    }
    let account = service.get_account(who, ID, Some(noon(day))).await?;
    Ok(account.summary.total_payoff_cents)
}

fn row(shown: &ScheduleRow) -> PrintedRow {
    let due_at = shown.min_pay_due_at.to_string();
    PrintedRow {
        due_on: due_at.chars().take_while(|letter| *letter != 'T').collect(),
        due_at,
        payment_cents: shown.am_min_pay_cents,
        interest_cents: shown.am_interest_cents,
        principal_cents: shown.am_principal_cents,
        balance_cents: shown.am_end_principal_balance_cents,
    }
}

fn read<T: DeserializeOwned>(body: &Value) -> Result<T, Problem> {
    Ok(form::parse(body.to_string().as_bytes())?)
}

/// Terms that the service refuses are invalid arguments; the error names their flags.
fn about_flags(problem: Problem) -> Failure {
    if problem.kind != ProblemKind::Invalid {
        return problem.into();
    }
    let told: Vec<String> = problem
        .details
        .iter()
        .map(|detail| format!("{}: {}", flag_of(&detail.field).unwrap_or(&detail.field), detail.message))
        .collect();
    Failure::Senseless(if told.is_empty() { problem.message } else { told.join("\n  ") })
}
