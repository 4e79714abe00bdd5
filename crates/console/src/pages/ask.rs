//! Asking once more, before something is done that cannot simply be taken back.
//!
//! The page says in words what will happen, shows the call that does it, and has the one button that does.

use crate::action::Action;
use crate::guard::Visitor;
use crate::page::{Answer, Page, Section, show, show_again};
use askama::Template;
use daybook_service::ids::mint_secret;
use daybook_service::problem::Problem;

/// A question, with one button.
#[derive(Debug, Default)]
pub struct Ask {
    /// What is to be done: `Revoke the key "till"`.
    pub title: String,
    /// Where one came from: a path and its name.
    pub back: (String, &'static str),
    /// What will happen, a sentence or two each.
    pub words: Vec<String>,
    /// Where the form is sent.
    pub path: String,
    /// What it carries.
    pub fields: Vec<(&'static str, String)>,
    /// What stands on the button; empty if there is nothing to do.
    pub button: &'static str,
    /// Whether it takes something away.
    pub danger: bool,
    /// The call that does the same, where there is one.
    pub curl: String,
}

#[derive(Template)]
#[template(path = "ask.html")]
struct AskPage {
    page: Page,
    ask: Ask,
    once: String,
    /// Why it was not done, if somebody tried.
    refused: Vec<String>,
}

impl Ask {
    /// With the call that does the same.
    pub fn with_curl(self, action: &Action, visitor: &Visitor) -> Ask {
        Ask { curl: action.curl(&visitor.manner.base_url), ..self }
    }

    /// Asks.
    pub fn show(self, section: Section, visitor: &Visitor) -> Answer {
        show(&self.page(section, visitor, Vec::new()))
    }

    /// Asks again, with why it was not done.
    pub fn show_again(self, section: Section, visitor: &Visitor, problem: &Problem) -> Answer {
        let mut refused: Vec<String> =
            problem.details.iter().map(|detail| format!("{} {}", detail.field, detail.message)).collect();
        if refused.is_empty() {
            refused.push(problem.message.clone());
        }
        show_again(&self.page(section, visitor, refused))
    }

    fn page(self, section: Section, visitor: &Visitor, refused: Vec<String>) -> AskPage {
        AskPage { page: Page::new(self.title.clone(), section, visitor), ask: self, once: mint_secret(), refused }
    }
}
