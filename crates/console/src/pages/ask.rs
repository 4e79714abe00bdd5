//! A confirmation page before a change that cannot easily be undone.
//!
//! The page describes the effect, shows the equivalent call, and has one button that makes the change.

use crate::action::Action;
use crate::field_errors::error_lines;
use crate::guard::Visitor;
use crate::page::{PageFrame, PageResult, Section, show, show_again};
use askama::Template;
use daybook_service::ids::mint_secret;
use daybook_service::problem::Problem;

/// A confirmation page with one button.
#[derive(Debug, Default)]
pub struct Ask {
    /// The change: `Revoke the key "till"`.
    pub title: String,
    /// The previous page: its path and name.
    pub back: (String, &'static str),
    /// The effect, in paragraphs.
    pub words: Vec<String>,
    /// The path that the form is sent to.
    pub path: String,
    /// The hidden fields of the form.
    pub fields: Vec<(&'static str, String)>,
    /// The label of the button; empty if there is nothing to confirm.
    pub button: &'static str,
    /// Whether the change removes something.
    pub danger: bool,
    /// The equivalent `curl` command; empty if there is none.
    pub curl: String,
}

#[derive(Template)]
#[template(path = "ask.html")]
struct AskPage {
    page: PageFrame,
    ask: Ask,
    once: String,
    /// Why the change was refused, after an attempt.
    refused: Vec<String>,
}

impl Ask {
    /// Adds the equivalent `curl` command.
    pub fn with_curl(self, action: &Action, visitor: &Visitor) -> Ask {
        Ask { curl: action.curl(&visitor.context.base_url), ..self }
    }

    /// Renders the page.
    pub fn show(self, section: Section, visitor: &Visitor) -> PageResult {
        show(&self.page(section, visitor, Vec::new()))
    }

    /// Renders the page again, with the reason for a refusal.
    pub fn show_again(self, section: Section, visitor: &Visitor, problem: &Problem) -> PageResult {
        show_again(&self.page(section, visitor, error_lines(problem)))
    }

    fn page(self, section: Section, visitor: &Visitor, refused: Vec<String>) -> AskPage {
        AskPage { page: PageFrame::new(self.title.clone(), section, visitor), ask: self, once: mint_secret(), refused }
    }
}
