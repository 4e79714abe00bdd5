//! The schedule of a sample loan, shown next to a form.

use crate::display::{AsMoment, AsMoney, Count};
use crate::form::{Field, Form, FormValues};
use askama::Template;
use daybook_service::problem::Problem;
use daybook_service::view::{Schedule, ScheduleRow};

/// The most rows shown; the last row is always shown.
const MOST: usize = 60;

/// A schedule, or the reason why there is none.
#[derive(Debug, Default)]
pub struct Preview {
    /// The rows before those left out.
    pub rows: Vec<ScheduleRow>,
    /// The number of rows left out before the last.
    pub left_out: Count,
    /// The last row, if some were left out.
    pub last: Option<ScheduleRow>,
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
    /// A schedule of the service.
    pub fn new(schedule: Schedule, curl: String) -> Preview {
        let mut rows = schedule.results;
        let count = Count(rows.len() as u64);
        let mut left_out = Count(0);
        let mut last = None;
        if rows.len() > MOST {
            left_out = Count((rows.len() - MOST) as u64);
            last = rows.pop();
            rows.truncate(MOST - 1);
        }
        Preview { rows, left_out, last, count, curl, ..Preview::default() }
    }

    /// No schedule yet.
    pub fn hint(text: &str) -> Preview {
        Preview { hint: text.to_owned(), ..Preview::default() }
    }

    /// No schedule, because of these errors. They are shown with the labels of the form's fields.
    pub fn refused(problem: &Problem, fields: &[Field]) -> Preview {
        let form = Form::new(fields, FormValues::default()).refused(problem);
        Preview { refused: form.error_lines(), ..Preview::default() }
    }
}
