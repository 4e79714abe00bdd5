//! Test cases: the list, running them, and writing one from an account.
//!
//! A case is a file with the history of one loan and the expected results. It runs in memory, separate from the
//! organization's data.
//!
//! | file | contents |
//! |---|---|
//! | `story` | a case as readable tables |
//! | `running` | running cases, and their results |
//! | `writing` | a case typed by the user, or written from an account's history |

pub mod running;
pub mod story;
pub mod writing;

use crate::Console;
use crate::csv::{Cell, Csv};
use crate::form::QueryParameters;
use crate::guard::Visitor;
use crate::page::{PageError, PageFrame, PageResult, Section};
use askama::Template;
use axum::extract::{Path, State};
use daybook_cases::{Scenario, builtin};
use daybook_service::problem::Problem;
use std::path::Path as FilePath;
use story::{Story, mode_words};

/// The path of this section.
const HERE: &str = "/console/cases";

/// A built-in case.
struct CaseRow {
    /// The name of its file, also used in its URL.
    file: &'static str,
    title: String,
    mode: &'static str,
    events: usize,
    expectations: usize,
}

#[derive(Template)]
#[template(path = "cases/cases.html")]
struct CasesPage {
    page: PageFrame,
    cases: Vec<CaseRow>,
}

/// Parses a built-in case.
fn read(file: &str, text: &str) -> Result<Scenario, PageError> {
    daybook_cases::parse(FilePath::new(file), text)
        .map_err(|error| PageError::new(Problem::internal(format!("a built-in test case could not be read: {error}"))))
}

/// The text of a built-in case.
fn text_of(file: &str) -> Result<&'static str, PageError> {
    let found = builtin().iter().find(|(known, _)| *known == file);
    found.map(|(_, text)| *text).ok_or_else(|| PageError::new(Problem::not_found("test case", file)))
}

/// The list of cases.
pub async fn show(State(_): State<Console>, visitor: Visitor, QueryParameters(asked): QueryParameters) -> PageResult {
    let mut cases = Vec::new();
    for (file, text) in builtin() {
        let case = read(file, text)?;
        let expectations = story::expectations(&case);
        let (mode, events) = (mode_words(case.mode), case.events.len());
        cases.push(CaseRow { file, title: case.title, mode, events, expectations });
    }
    if asked.get("format") == "csv" {
        let mut csv = Csv::new(&["file", "title", "mode", "events", "expectations"])?;
        for case in &cases {
            csv.row(&[
                Cell::Text(case.file),
                Cell::Text(&case.title),
                Cell::Text(case.mode),
                Cell::Number(case.events.to_string()),
                Cell::Number(case.expectations.to_string()),
            ])?;
        }
        return csv.file("test-cases");
    }
    crate::page::show(&CasesPage { page: PageFrame::new("Test cases", Section::Cases, &visitor), cases })
}

#[derive(Template)]
#[template(path = "cases/case.html")]
struct CasePage {
    page: PageFrame,
    file: String,
    story: Story,
    text: &'static str,
}

/// One case, as tables and as its file.
pub async fn show_one(
    visitor: Visitor,
    Path(file): Path<String>,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let text = text_of(&file)?;
    if asked.get("format") == "toml" {
        return Ok(writing::download(&file, text));
    }
    let story = Story::new(&read(&file, text)?, text);
    let page = PageFrame::new(story.title.clone(), Section::Cases, &visitor);
    crate::page::show(&CasePage { page, file, story, text })
}
