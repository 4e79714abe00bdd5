//! For operators: whether the process is alive, whether it is ready, and its metrics.

use crate::Api;
use crate::error::Refusal;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use daybook_operations::Operation;

/// Reports that the process is running
#[utoipa::path(get, path = Operation::Healthz.path(), tag = "Operations", security(()),
    responses((status = 200, description = "The process is running", body = String, content_type = "text/plain", example = "ok")))]
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Reports whether the server is ready
#[utoipa::path(get, path = Operation::Readyz.path(), tag = "Operations", security(()),
    responses((status = 200, description = "The database responds", body = String, content_type = "text/plain", example = "ready")))]
pub async fn readyz(State(api): State<Api>) -> Result<&'static str, Refusal> {
    api.service.ping().await.map_err(Refusal::shown)?;
    Ok("ready\n")
}

/// Gets metrics
///
/// In the text format of Prometheus.
#[utoipa::path(get, path = Operation::Metrics.path(), tag = "Operations", security(()),
    responses((status = 200, description = "The metrics", body = String, content_type = "text/plain")))]
pub async fn metrics(State(api): State<Api>) -> Response {
    let mut families = api.service.metrics().await;
    families.extend(api.request_metrics.families());
    families.extend(api.settings.extra_metrics.as_ref().map(|more| (more.0)()).unwrap_or_default());
    ([(CONTENT_TYPE, daybook_metrics::CONTENT_TYPE)], daybook_metrics::text(&families)).into_response()
}
