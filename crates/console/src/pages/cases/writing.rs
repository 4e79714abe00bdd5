//! A case typed by the user, or written from the history of an account.

use super::HERE;
use super::running::{play, tell};
use crate::Console;
use crate::form::{FormValues, QueryParameters};
use crate::guard::{Visitor, redirect};
use crate::page::{PageError, PageFrame, PageResult, Section, plain, show_again};
use askama::Template;
use axum::extract::{Path, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::Response;
use daybook_cases::{ScenarioError, from_account};
use daybook_service::form::fields::Reference;
use daybook_service::problem::{Problem, ProblemKind};
use std::path::Path as FilePath;

/// The file name of a typed case.
const FILE: &str = "your-case.toml";

#[derive(Template)]
#[template(path = "cases/own.html")]
struct OwnPage {
    page: PageFrame,
    text: String,
    wrong: Option<Wrong>,
}

/// An error in a case.
struct Wrong {
    /// Its line; 0 if it concerns no particular line.
    line: usize,
    column: usize,
    /// The text of the line.
    excerpt: String,
    message: String,
}

impl Wrong {
    fn new(error: ScenarioError, text: &str) -> Wrong {
        let excerpt = error.line.checked_sub(1).and_then(|index| text.lines().nth(index)).unwrap_or_default();
        Wrong { excerpt: excerpt.to_owned(), line: error.line, column: error.column, message: error.message }
    }
}

/// An editor for a new case, optionally prefilled with a built-in case.
pub async fn show(visitor: Visitor, QueryParameters(asked): QueryParameters) -> PageResult {
    let text = if asked.has("like") { super::text_of(asked.get("like"))? } else { "" };
    let page = PageFrame::new("Your own case", Section::Cases, &visitor);
    crate::page::show(&OwnPage { page, text: text.to_owned(), wrong: None })
}

/// Runs a typed case.
pub async fn run(State(_): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let text = typed.untrimmed("text").replace("\r\n", "\n");
    let wrong = match daybook_cases::parse(FilePath::new(FILE), &text) {
        Ok(case) => match play(vec![case]).await {
            Ok(outcomes) => {
                return tell(&visitor, outcomes, (format!("{HERE}/own"), "Your own case".to_owned()), &text);
            }
            Err(PageError { problem, .. }) if problem.kind == ProblemKind::Invalid => {
                Wrong { line: 0, column: 0, excerpt: String::new(), message: problem.message }
            }
            Err(trouble) => return Err(trouble),
        },
        Err(error) => Wrong::new(error, &text),
    };
    let page = PageFrame::new("Your own case", Section::Cases, &visitor);
    show_again(&OwnPage { page, text, wrong: Some(wrong) })
}

/// Redirects to the case of the typed account.
pub async fn choose_account(QueryParameters(asked): QueryParameters) -> PageResult {
    let account = Reference::read(asked.get("account_id"))
        .map_err(|rule| Problem::invalid("account_id", format!("must be {rule}").replace("must be must", "must")))?;
    Ok(redirect(&format!("{HERE}/from-account/{}", account.as_str())))
}

#[derive(Template)]
#[template(path = "cases/from_account.html")]
struct FromAccountPage {
    page: PageFrame,
    account: String,
    text: String,
}

/// The history of an account, as a case.
pub async fn show_from_account(
    State(console): State<Console>,
    visitor: Visitor,
    Path(account): Path<String>,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let text = from_account(&console.service, visitor.caller(), &account).await?;
    if asked.get("format") == "toml" {
        return Ok(download(&format!("{account}.toml"), &text));
    }
    let page = PageFrame::new(format!("Test case from account {account}"), Section::Cases, &visitor);
    crate::page::show(&FromAccountPage { page, account, text })
}

/// A case as a download.
pub(super) fn download(name: &str, text: &str) -> Response {
    let mut response = plain("application/toml", text.to_owned());
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_.".contains(*letter);
    let name: String = name.chars().filter(is_plain).collect();
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        response.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    response
}
