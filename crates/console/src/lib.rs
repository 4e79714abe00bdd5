//! The console: web pages for the people of a lender.
//!
//! ```text
//! request ─► routes ─► guard ─► pages ─► service
//!                        │        │
//!                        │        └─► action: the same call of the API, as data (and as curl)
//!                        └─► who is it, may they, did the form come from us
//!
//! pages ─► templates/*.html ─► answer        shapes: what a page reads of the service's answers
//! ```
//!
//! Pages are rendered here and work without JavaScript; `assets/app.js` makes some of them livelier. What a page shows, it
//! has from the service's answers, the same JSON that the API gives: [`shape`] reads the parts that are shown. What a page
//! changes is an [`action::Action`], which is a call of the API; so each can be shown as a `curl` line. State that a
//! reader chose (filters, the moment of the time machine) is in the URL.
//!
//! | file | what is there |
//! |---|---|
//! | `routes` | every route on one screen, with the right it needs |
//! | `guard` | sessions, rights, where a form came from |
//! | `page` | the frame around every page; what goes wrong, as a page |
//! | `form` | fields that explain themselves, and what was typed as the JSON of a call |
//! | `action` | what can be done, as calls of the API |
//! | `shape` | money, moments and words as pages show them |
//! | `chart`, `csv`, `listing` | drawings; tables to take away; pages of lists |
//! | `pages` | a file for each room |

mod action;
mod assets;
mod chart;
mod csv;
mod form;
mod guard;
mod listing;
mod page;
mod pages;
mod routes;
mod shape;

pub use routes::{RouteFacts, routes};

use axum::Router;
use daybook_service::Service;
use std::sync::Arc;

/// What every handler is given.
#[derive(Clone, Debug)]
pub(crate) struct Console {
    service: Service,
    settings: Arc<ConsoleSettings>,
}

/// How the console is served.
#[derive(Clone, Debug, Default)]
pub struct ConsoleSettings {
    /// The address that people reach the server at, for links and `curl` lines. Nothing: what their browser says.
    pub public_url: Option<String>,
}

/// The console of a service.
pub fn router(service: Service, settings: ConsoleSettings) -> Router {
    routes::serve(Console { service, settings: Arc::new(settings) })
}
