//! The console: web pages for the staff of a lender.
//!
//! ```text
//! request ─► routes ─► guard ─► pages ─► service
//!                        │        │
//!                        │        └─► action: the same call of the API, as data (and as curl)
//!                        └─► session, right, origin of the form
//!
//! pages ─► templates/*.html ─► response
//! ```
//!
//! Pages are rendered on the server and work without JavaScript; `assets/app.js` adds conveniences. Pages show the
//! views that the service returns, which the API renders as JSON; [`display`] formats their fields. Every change is an
//! [`action::Action`], which is an API call, so the console can show it as a `curl` command. The state that a user
//! chooses (filters, the time machine's date) is in the URL.
//!
//! | file | contents |
//! |---|---|
//! | `routes` | every route, with the right it requires |
//! | `guard` | sessions, rights, the origin of forms |
//! | `cookies` | reading and setting cookies |
//! | `page` | the frame around every page, and error pages |
//! | `form` | forms with explained fields, and their conversion to JSON |
//! | `field_errors` | errors of the service as lines of text |
//! | `action` | the possible changes, as API calls |
//! | `display` | formatting of money, times and words |
//! | `chart`, `csv`, `listing` | charts; CSV downloads; paging |
//! | `pages` | one file or folder for each section |

mod action;
mod assets;
mod chart;
mod cookies;
mod csv;
mod display;
mod field_errors;
mod form;
mod guard;
mod listing;
mod page;
mod pages;
mod routes;

pub use routes::{RouteFacts, routes};

use axum::Router;
use daybook_service::Service;
use std::sync::Arc;

/// The state of every handler.
#[derive(Clone, Debug)]
pub(crate) struct Console {
    service: Service,
    settings: Arc<ConsoleSettings>,
}

/// Settings of the console.
#[derive(Clone, Debug, Default)]
pub struct ConsoleSettings {
    /// The public URL of the server, for links and `curl` commands. If `None`, the host that the browser requested.
    pub public_url: Option<String>,
}

/// The routes of the console.
pub fn router(service: Service, settings: ConsoleSettings) -> Router {
    routes::serve(Console { service, settings: Arc::new(settings) })
}
