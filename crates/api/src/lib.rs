//! HTTP: everything that callers of the API meet, and nothing that decides about loans.
//!
//! ```text
//! bytes ─► limits ─► extract, parameters ─► handlers ─► service
//!            │              │                   │
//!            │              └─► error ◄─────────┘      a refusal has one shape and a page
//!            └─► one log line, figures, x-request-id
//!
//! handlers ─► reference ─► /openapi.json, /docs         the handlers describe themselves
//! docs/*.md ─────────────► /docs/errors, /docs/concepts
//! ```
//!
//! [`routes`] has every route on one screen; a handler's name is its operation id. Handlers take a request apart
//! ([`extract`], [`parameters`]), ask the service one thing, and pass its bytes on: answers are rendered by the service,
//! which knows nothing of HTTP. What goes wrong becomes a [`error::Refusal`]. [`limits`] stands around every call.

mod docs;
mod error;
mod extract;
mod figures;
mod handlers;
mod leftover;
mod limits;
mod parameters;
mod reference;
mod routes;

pub use docs::error_pages;
pub use limits::{ApiSettings, MoreFigures};
pub use reference::openapi;

use axum::Router;
use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use daybook_service::Service;
use std::sync::Arc;

/// What every handler is given.
#[derive(Clone, Debug)]
struct Api {
    service: Service,
    settings: Arc<ApiSettings>,
    limiter: Arc<limits::Limiter>,
    figures: Arc<figures::Figures>,
    docs: Arc<docs::Library>,
}

/// The API of a service.
pub fn router(service: Service, settings: ApiSettings) -> Router {
    let api = Api {
        service,
        limiter: Arc::new(limits::Limiter::new(settings.rate_limit_per_second)),
        settings: Arc::new(settings),
        figures: Arc::default(),
        docs: Arc::new(docs::Library::new(&openapi())),
    };
    routes::serve(api)
}

/// What most handlers answer with.
type Answer = Result<Json, error::Refusal>;

/// JSON that the service rendered.
#[derive(Debug)]
struct Json(Bytes);

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.0));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
