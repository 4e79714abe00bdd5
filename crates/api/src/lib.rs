//! The HTTP API. It makes no decisions about loans.
//!
//! ```text
//! bytes ─► limits ─► extract, parameters ─► handlers ─► service
//!            │              │                   │
//!            │              └─► error ◄─────────┘      a refusal has one shape and a page
//!            └─► one log line, metrics, x-request-id
//!
//! handlers ─► reference ─► /openapi.json, /docs         the handlers describe themselves
//! docs/*.md ─────────────► /docs/errors, /docs/concepts
//! ```
//!
//! [`routes`] has every route on one screen; a handler's name is its operation id. Handlers parse a request
//! ([`extract`], [`parameters`]), make one call to the service, and render the view that it returns; the service knows
//! nothing of HTTP. Errors become an [`error::Refusal`]. [`limits`] wraps every call.

mod answering;
mod docs;
mod error;
mod extract;
mod handlers;
mod leftover;
mod limits;
mod parameters;
mod reference;
mod request_metrics;
mod routes;

pub use docs::error_pages;
pub use limits::{ApiSettings, ExtraMetrics};
pub use reference::openapi;

use axum::Router;
use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use daybook_service::Service;
use daybook_service::problem::Problem;
use daybook_service::view::render;
use serde::Serialize;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

/// The state that every handler gets. A request clones it several times, so it is one pointer.
#[derive(Clone, Debug)]
struct Api(Arc<ApiState>);

#[derive(Debug)]
struct ApiState {
    service: Service,
    settings: ApiSettings,
    limiter: limits::Limiter,
    request_metrics: request_metrics::RequestMetrics,
    /// Rendered for the first request of a page: rendering takes as long as the rest of a start.
    docs: LazyLock<docs::Library>,
}

impl Deref for Api {
    type Target = ApiState;

    fn deref(&self) -> &ApiState {
        &self.0
    }
}

/// The API of a service.
pub fn router(service: Service, settings: ApiSettings) -> Router {
    let api = ApiState {
        service,
        limiter: limits::Limiter::new(settings.rate_limit_per_second),
        settings,
        request_metrics: request_metrics::RequestMetrics::default(),
        docs: LazyLock::new(|| docs::Library::new(&openapi())),
    };
    routes::serve(Api(Arc::new(api)))
}

/// The response of most handlers.
type JsonResult = Result<Json, error::Refusal>;

/// JSON: a view that is rendered here, or a response that the service keeps for a repeated request.
#[derive(Debug)]
struct Json(Bytes);

impl Json {
    /// Renders a view.
    fn of<T: Serialize>(view: &T) -> Json {
        Json(render(view))
    }

    /// Renders a view that may be long, outside the threads that serve requests.
    async fn of_long<T: Serialize + Send + 'static>(view: T) -> JsonResult {
        let rendering = tokio::task::spawn_blocking(move || Json::of(&view));
        Ok(rendering.await.map_err(|error| Problem::internal(format!("rendering was stopped: {error}")))?)
    }
}

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.0));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
