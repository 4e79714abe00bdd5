//! Changes of a running loan through the service: each kind previewed, made, cancelled, held and released, withdrawn;
//! and each refusal.
//!
//! The loan is that of the worked numbers: 1,200.00 at 12 %, three months from 15 January 2025, a level payment of
//! 408.03.

mod made;
mod refused;

use crate::support::{Home, Trial, json_of, view_of};
use daybook_operations::Operation;
use daybook_service::changes::{ChangeRequest, change_request};
use daybook_service::form::fields::Id;
use daybook_service::problem::Problem;
use serde_json::{Value, json};

/// The level payment.
const LEVEL: i64 = 40_803;
const OPENING: &str = "2025-01-15T12:00:00-05:00";
const PAID_AT: &str = "2025-02-15T09:00:00-05:00";

/// The product of the worked numbers, with further policies.
async fn product(trial: &Trial, further: Value) {
    let mut policies = json!({
        "interest_policies": { "interest_calc_method": "DAILY" },
        "fee_policies": { "late_fee_grace": "5 days" },
        "default_attributes": { "default_late_fee_cents": 1_500 },
    });
    crate::support::merge(&mut policies, &further);
    let body = json!({
        "product_id": "flex-3",
        "product_overview": { "product_name": "Flex 3", "product_type": "INSTALLMENT" },
        "product_lifecycle_policies": policies,
        "post_promotional_policies": { "post_promo_len": 3, "post_promo_default_interest_rate_percent": 12 },
    });
    json_of(trial.service.create_product(&trial.who, None, crate::support::form_of(&body)).await);
}

/// The loan `a1` at a moment, with the first instalment paid or missed.
async fn loan(home: Home, now: &str, is_paid: bool, further: Value) -> Trial {
    let trial = Trial::at(home, now).await;
    product(&trial, further).await;
    trial.account("flex-3", "a1", OPENING).await;
    if is_paid {
        json_of(trial.pay("a1", "p1", LEVEL, PAID_AT).await);
    }
    trial
}

/// The change that an operation requests.
fn requested(operation: Operation, item: &str, body: &Value) -> Result<ChangeRequest, Problem> {
    change_request(operation, || Ok(item.to_owned()), &body.to_string())
}

/// Makes a change of `a1`.
async fn make(trial: &Trial, operation: Operation, body: &Value) -> Result<Value, Problem> {
    make_about(trial, operation, "", body).await
}

/// Makes a change of `a1` that is about another one.
async fn make_about(trial: &Trial, operation: Operation, item: &str, body: &Value) -> Result<Value, Problem> {
    let change = requested(operation, item, body)?;
    let made = trial.service.change_account(&trial.who, None, "a1", change).await?;
    Ok(serde_json::from_slice(&made).expect("it is JSON"))
}

/// Previews a change of `a1`.
async fn preview(trial: &Trial, operation: Operation, body: &Value) -> Result<Value, Problem> {
    let change = requested(operation, "", body)?;
    let shown = trial.service.preview(&trial.who, "a1", change).await?;
    Ok(serde_json::to_value(shown).expect("it is JSON"))
}

async fn changes(trial: &Trial) -> Vec<Value> {
    crate::support::list(view_of(trial.service.list_changes(&trial.who, "a1", crate::support::whole()).await))
}

/// Due date, interest and principal of the rows that ask for something.
async fn rows(trial: &Trial) -> Vec<(String, i64, i64)> {
    let of_row = |row: &Value| {
        let cents = |field: &str| row[field].as_i64().expect("cents");
        let due = row["min_pay_due_at"].as_str().expect("a time")[..10].to_owned();
        (due, cents("am_interest_cents"), cents("am_principal_cents"))
    };
    trial.schedule("a1", None).await.iter().map(of_row).collect()
}

fn named(rows: &[(&str, i64, i64)]) -> Vec<(String, i64, i64)> {
    rows.iter().map(|(due, interest, principal)| ((*due).to_owned(), *interest, *principal)).collect()
}

/// Whether a text is an id that the service made.
fn is_made_up(id: &str) -> bool {
    Id::read(id).is_err()
}
