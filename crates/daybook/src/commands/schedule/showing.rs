//! A schedule as a table, as CSV and as JSON.

use super::amounts::shown;
use super::lending::{PrintedRow, PrintedSchedule};
use crate::commands::Failure;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The field names of CSV and JSON: those of the API's schedule.
const FIELDS: [&str; 6] = [
    "number",
    "due_date",
    "am_min_pay_cents",
    "am_interest_cents",
    "am_principal_cents",
    "am_end_principal_balance_cents",
];
const HEADS: [&str; 6] = ["", "due", "payment", "interest", "principal", "left"];

impl PrintedSchedule {
    fn sum(&self, of: impl Fn(&PrintedRow) -> i64) -> i64 {
        self.rows.iter().map(of).sum()
    }

    fn totals(&self) -> [i64; 3] {
        [self.sum(|row| row.payment_cents), self.sum(|row| row.interest_cents), self.sum(|row| row.principal_cents)]
    }
}

/// A table with right-aligned numbers.
pub fn table(plan: &PrintedSchedule) -> String {
    let mut rows = vec![HEADS.map(str::to_owned)];
    for (place, row) in plan.rows.iter().enumerate() {
        let amounts = [row.payment_cents, row.interest_cents, row.principal_cents, row.balance_cents].map(shown);
        let [payment, interest, principal, left] = amounts;
        rows.push([(place + 1).to_string(), row.due_on.clone(), payment, interest, principal, left]);
    }
    let [payment, interest, principal] = plan.totals().map(shown);
    rows.push(["total".to_owned(), String::new(), payment, interest, principal, String::new()]);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; HEADS.len()] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    if let Some((day, cents)) = plan.payoff {
        let _ = writeln!(text, "\nPayoff on {day}, if everything due before it is paid on time: {}", shown(cents));
    }
    text
}

/// Comma-separated values, in cents.
pub fn csv(plan: &PrintedSchedule) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("the CSV cannot be written: {error}"));
    let mut write = |record: [String; 6]| writer.write_record(&record).map_err(|error| failed(&error));
    write(FIELDS.map(str::to_owned))?;
    for (place, row) in plan.rows.iter().enumerate() {
        let cents = [row.payment_cents, row.interest_cents, row.principal_cents, row.balance_cents];
        let [payment, interest, principal, left] = cents.map(|cents| cents.to_string());
        write([(place + 1).to_string(), row.due_on.clone(), payment, interest, principal, left])?;
    }
    let [payment, interest, principal] = plan.totals().map(|cents| cents.to_string());
    write(["total".to_owned(), String::new(), payment, interest, principal, String::new()])?;
    if let Some((day, cents)) = plan.payoff {
        let nothing = String::new;
        write(["payoff".to_owned(), day.to_string(), cents.to_string(), nothing(), nothing(), nothing()])?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

/// One JSON object, in cents.
pub fn json(plan: &PrintedSchedule) -> String {
    let row = |(place, row): (usize, &PrintedRow)| {
        let values = [
            json!(place + 1),
            json!(row.due_on),
            json!(row.payment_cents),
            json!(row.interest_cents),
            json!(row.principal_cents),
            json!(row.balance_cents),
        ];
        Value::Object(FIELDS.map(str::to_owned).into_iter().zip(values).collect())
    };
    let [payment, interest, principal] = plan.totals();
    let shown = json!({
        "results": plan.rows.iter().enumerate().map(row).collect::<Vec<_>>(),
        "totals": { FIELDS[2]: payment, FIELDS[3]: interest, FIELDS[4]: principal },
        "payoff": plan.payoff.map(|(day, cents)| json!({ "date": day.to_string(), "total_payoff_cents": cents })),
    });
    format!("{shown:#}\n")
}
