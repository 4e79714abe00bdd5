//! The API reference and the guides.

use crate::Api;
use crate::error::Refusal;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use daybook_service::budget::SharedMemory;
use daybook_service::problem::Problem;

/// Pages have text and one style sheet of our own: nothing else may load, run or frame them.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// For content that changes only with the binary.
const CACHE: &str = "public, max-age=300";

/// The OpenAPI document.
pub async fn openapi_json(State(api): State<Api>) -> Response {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, CACHE)];
    (headers, Extension(SharedMemory), Body::from(api.docs.openapi_json.clone())).into_response()
}

/// The API reference.
pub async fn reference(State(api): State<Api>) -> Response {
    html(api.docs.reference.clone())
}

/// The style sheet of all pages.
pub async fn style() -> Response {
    let headers = [(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, CACHE)];
    (headers, Extension(SharedMemory), crate::docs::STYLE).into_response()
}

/// The index of a section.
pub async fn section(State(api): State<Api>, Path(section): Path<String>) -> Result<Response, Refusal> {
    find(&api, &section)
}

/// A page.
pub async fn page(State(api): State<Api>, Path((section, page)): Path<(String, String)>) -> Result<Response, Refusal> {
    find(&api, &format!("{section}/{page}"))
}

fn find(api: &Api, name: &str) -> Result<Response, Refusal> {
    let page = api.docs.pages.get(name).ok_or_else(|| Problem::not_found("page", &format!("/docs/{name}")))?;
    Ok(html(page.clone()))
}

fn html(page: Bytes) -> Response {
    let mut response = Response::new(Body::from(page));
    response.extensions_mut().insert(SharedMemory);
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, CACHE),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
