//! The schedule of a sample loan, shown next to a form.

use crate::display::{Count, Moment, Money};
use crate::page::{PageError, read};
use askama::Template;
use bytes::Bytes;
use daybook_service::problem::Problem;
use serde::Deserialize;

/// The most rows shown; the last row is always shown.
const MOST: usize = 60;

/// A row of a schedule.
#[derive(Debug, Deserialize)]
pub struct Row {
    pub min_pay_due_at: Moment,
    pub am_min_pay_cents: Money,
    pub am_interest_cents: Money,
    pub am_principal_cents: Money,
    pub am_end_principal_balance_cents: Money,
}

#[derive(Deserialize)]
struct Schedule {
    results: Vec<Row>,
}

/// A schedule, or the reason why there is none.
#[derive(Debug, Default)]
pub struct Preview {
    /// The rows before those left out.
    pub rows: Vec<Row>,
    /// The number of rows left out before the last.
    pub left_out: Count,
    /// The last row, if some were left out.
    pub last: Option<Row>,
    /// The number of all rows.
    pub count: Count,
    /// What to type, if there is no schedule yet.
    pub hint: String,
    /// Errors.
    pub refused: Vec<String>,
    /// The equivalent `curl` command.
    pub curl: String,
}

/// The schedule without the page around it.
#[derive(Template)]
#[template(path = "products/preview.html")]
pub struct Piece {
    pub preview: Preview,
}

impl Preview {
    /// Reads a schedule of the service.
    pub fn new(answer: &Bytes, curl: String) -> Result<Preview, PageError> {
        let mut rows = read::<Schedule>(answer)?.results;
        let count = Count(rows.len() as u64);
        let mut left_out = Count(0);
        let mut last = None;
        if rows.len() > MOST {
            left_out = Count((rows.len() - MOST) as u64);
            last = rows.pop();
            rows.truncate(MOST - 1);
        }
        Ok(Preview { rows, left_out, last, count, curl, ..Preview::default() })
    }

    /// No schedule yet.
    pub fn hint(text: &str) -> Preview {
        Preview { hint: text.to_owned(), ..Preview::default() }
    }

    /// No schedule, because of these errors.
    pub fn refused(problem: &Problem) -> Preview {
        let details = problem.details.iter().map(|detail| {
            let name = detail.field.rsplit('.').next().unwrap_or(&detail.field);
            format!("{} {}", name.trim_end_matches("_cents").replace('_', " "), detail.message)
        });
        let mut refused: Vec<String> = details.collect();
        if refused.is_empty() {
            refused.push(problem.message.clone());
        }
        Preview { refused, ..Preview::default() }
    }
}
