//! Static files of the pages. They are compiled in and cached by browsers until they change.

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use daybook_service::budget::SharedMemory;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::LazyLock;

const STYLE: &str = include_str!("../assets/app.css");
const SCRIPT: &str = include_str!("../assets/app.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// A hash of the files. Pages request `app.css?<version>`, so a changed file gets a new URL.
pub static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = Sha256::new();
    for file in [STYLE, SCRIPT, ICON] {
        hasher.update(file.as_bytes());
    }
    hasher.finalize().iter().take(6).fold(String::new(), |mut word, byte| {
        let _ = write!(word, "{byte:02x}");
        word
    })
});

/// Serves a file by its name.
pub async fn serve(Path(name): Path<String>) -> Response {
    let (kind, text) = match name.as_str() {
        "app.css" => ("text/css; charset=utf-8", STYLE),
        "app.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let mut response = Response::new(text.into());
    response.extensions_mut().insert(SharedMemory);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(CACHE_CONTROL, kept);
    response
}
