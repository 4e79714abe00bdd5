//! What a handler gets of a request: the caller, ids from the path, the body as a form.
//!
//! The parts are extracted in the order of a handler's arguments, so a call is refused for the first of: no credentials
//! (401), no permission (403), no such id (404), a wrong parameter (422), a body that is too large, of another type,
//! not JSON, or against a rule (413, 415, 400, 422). The service is called only after all checks have passed.

use crate::Api;
use crate::error::Refusal;
use crate::limits::Context;
use axum::extract::rejection::BytesRejection;
use axum::extract::{ConnectInfo, FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use bytes::Bytes;
use daybook_service::access::{Caller, Right};
use daybook_service::form::{self, fields::Reference};
use daybook_service::problem::Problem;
use daybook_service::processor::job::Repeat;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::net::SocketAddr;
use utoipa::IntoParams;

/// The header by which a caller marks a repeated call.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Its longest value.
const LONGEST_IDEMPOTENCY_KEY: usize = 255;

macro_rules! callers {
    ($($(#[$doc:meta])* $name:ident $right:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(pub Caller);

        impl FromRequestParts<Api> for $name {
            type Rejection = Refusal;

            async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<$name, Refusal> {
                let caller = caller(parts, api).await?;
                caller.may($right)?;
                api.service.reads_for(caller.org);
                Ok($name(caller))
            }
        }
    )*};
}

callers! {
    /// A caller who may read.
    Reader Right::Read;
    /// A caller who may change something.
    Writer Right::Write;
    /// A caller who may administer.
    Administrator Right::Administer;
}

async fn caller(parts: &Parts, api: &Api) -> Result<Caller, Refusal> {
    let bearer = bearer(&parts.headers)?;
    let caller = api.service.authenticate(bearer).await?;
    if let Some(context) = parts.extensions.get::<Context>() {
        context.called_by(&caller.client_id);
    }
    api.limiter.admit(&caller.client_id)?;
    let address = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|client| client.0.ip());
    let request_id = parts.extensions.get::<Context>().map(Context::request_id).unwrap_or_default();
    Ok(caller.from_where(address, request_id))
}

fn bearer(headers: &HeaderMap) -> Result<&str, Refusal> {
    let unauthenticated = |message: &str| Refusal::new("unauthenticated", message);
    let header = headers.get(AUTHORIZATION);
    let header = header
        .ok_or_else(|| unauthenticated("the request requires the header Authorization: Bearer <access_token>"))?;
    let (scheme, credentials) = header.to_str().ok().and_then(|text| text.split_once(' ')).unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("bearer") || credentials.trim().is_empty() {
        return Err(unauthenticated("the header Authorization must have the form Bearer <access_token>"));
    }
    Ok(credentials.trim())
}

macro_rules! path_ids {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $what:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, IntoParams)]
        #[into_params(parameter_in = Path)]
        pub struct $name {
            $($(#[$about])* #[param(inline)] pub $field: Reference,)*
        }

        impl FromRequestParts<Api> for $name {
            type Rejection = Refusal;

            async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<$name, Refusal> {
                // The bytes of a path need not be UTF-8; no id has such bytes.
                let given = RawPathParams::from_request_parts(parts, api).await;
                let given = given.map_err(|_| Problem::not_found("page", parts.uri.path()))?;
                $(let $field = path_id(&given, stringify!($field), $what)?;)*
                Ok($name { $($field),* })
            }
        }
    )*};
}

path_ids! {
    /// A product.
    ProductPath {
        /// The product.
        product_id: "product",
    }
    /// A customer.
    CustomerPath {
        /// The customer.
        customer_id: "customer",
    }
    /// An account.
    AccountPath {
        /// The account.
        account_id: "account",
    }
    /// A line item of an account.
    LineItemPath {
        /// The account.
        account_id: "account",
        /// The line item.
        line_item_id: "line item",
    }
    /// A subscription.
    SubscriptionPath {
        /// The subscription.
        webhook_uuid: "subscription",
    }
    /// A key.
    KeyPath {
        /// The key's id.
        client_id: "key",
    }
}

/// A message.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MessagePath {
    /// The event's id, as `data.event_id` and the header `webhook-id` have it.
    #[param(pattern = "^[A-Za-z0-9._:~-]{1,300}$")]
    pub event_id: String,
}

impl FromRequestParts<Api> for MessagePath {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<MessagePath, Refusal> {
        let given = RawPathParams::from_request_parts(parts, api).await;
        let given = given.map_err(|_| Problem::not_found("page", parts.uri.path()))?;
        let event_id = given.iter().find(|(key, _)| *key == "event_id").map_or("", |(_, text)| text).to_owned();
        Ok(MessagePath { event_id })
    }
}

/// Text that is not a valid id refers to nothing, so it is not found.
fn path_id(given: &RawPathParams, name: &str, what: &str) -> Result<Reference, Problem> {
    let text = given.iter().find(|(key, _)| *key == name).map_or("", |(_, text)| text);
    Reference::read(text).map_err(|_| Problem::not_found(what, text))
}

/// A form, and the idempotency key of the call.
#[derive(Debug)]
pub struct Form<T> {
    /// The form.
    pub form: T,
    /// The idempotency key, if the caller sent one.
    pub repeat: Option<Repeat>,
}

impl<T: DeserializeOwned> FromRequest<Api> for Form<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, api: &Api) -> Result<Form<T>, Refusal> {
        let call = Call::of(&request);
        let body = read_body(request, &["application/json"], api.settings.body_limit_bytes, api).await?;
        let form = form::parse(&body)?;
        Ok(Form { form, repeat: call.repeat(&body)? })
    }
}

/// A call without a body, with its idempotency key.
#[derive(Debug)]
pub struct Bodiless {
    /// The idempotency key, if the caller sent one.
    pub repeat: Option<Repeat>,
}

impl FromRequestParts<Api> for Bodiless {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Bodiless, Refusal> {
        let call = Call { method: parts.method.clone(), uri: parts.uri.clone(), headers: parts.headers.clone() };
        Ok(Bodiless { repeat: call.repeat(b"")? })
    }
}

/// The parts of a request that identify it, except its body.
#[derive(Debug)]
pub struct Call {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
}

impl Call {
    /// The parts of a request that identify it.
    pub fn of(request: &Request) -> Call {
        Call { method: request.method().clone(), uri: request.uri().clone(), headers: request.headers().clone() }
    }

    /// The idempotency key, if the caller sent one.
    pub fn repeat(&self, body: &[u8]) -> Result<Option<Repeat>, Problem> {
        let Some(key) = self.headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
        let key = key.to_str().unwrap_or_default();
        if !(1..=LONGEST_IDEMPOTENCY_KEY).contains(&key.len()) || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let rule = format!("must be 1 to {LONGEST_IDEMPOTENCY_KEY} visible ASCII characters");
            return Err(Problem::invalid("Idempotency-Key", rule));
        }
        let target = self.uri.path_and_query().map_or("", |target| target.as_str());
        Ok(Some(Repeat { key: key.to_owned(), content_hash: content_hash(self.method.as_str(), target, body) }))
    }
}

/// A hash of a call's content.
pub fn content_hash(method: &str, target: &str, body: &[u8]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in [method.as_bytes(), target.as_bytes(), body] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().to_vec()
}

/// Reads a body of one of some types. An empty body needs no type.
pub async fn read_body(request: Request, types: &[&str], limit: usize, api: &Api) -> Result<Bytes, Refusal> {
    let unsupported = |message: String| Refusal::new("unsupported_media_type", message);
    let encoding = request.headers().get(CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| encoding.as_bytes() != b"identity") {
        return Err(unsupported("the body must not be compressed: send it without Content-Encoding".to_owned()));
    }
    let wanted = || format!("the header Content-Type must be {}", types.join(" or "));
    let has_type = match request.headers().get(CONTENT_TYPE) {
        None => false,
        Some(given) if is_one_of(given.to_str().unwrap_or_default(), types) => true,
        Some(_) => return Err(unsupported(wanted())),
    };
    let body = Bytes::from_request(request, api).await.map_err(|rejection| unread(rejection, limit))?;
    if has_type || body.is_empty() { Ok(body) } else { Err(unsupported(wanted())) }
}

fn is_one_of(given: &str, types: &[&str]) -> bool {
    let mut parts = given.split(';').map(str::trim);
    let named = parts.next().unwrap_or_default();
    let is_utf8 = |parameter: &str| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    };
    types.iter().any(|known| known.eq_ignore_ascii_case(named)) && parts.all(is_utf8)
}

fn unread(rejection: BytesRejection, limit: usize) -> Refusal {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Refusal::too_large(limit);
    }
    Refusal::new("malformed_request", "the body is incomplete")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_may_have_parameters_and_any_case() {
        for (given, fits) in [
            ("application/json", true),
            ("Application/JSON; charset=UTF-8", true),
            ("application/json;charset=\"utf-8\"", true),
            ("application/json; charset=latin1", false),
            ("application/jsonp", false),
            ("text/plain", false),
            ("", false),
        ] {
            assert_eq!(is_one_of(given, &["application/json"]), fits, "{given}");
        }
    }

    #[test]
    fn a_hash_tells_apart_what_the_parts_together_would_not() {
        assert_ne!(content_hash("POST", "/a", b"b"), content_hash("POST", "/ab", b""));
        assert_eq!(content_hash("POST", "/a", b"b"), content_hash("POST", "/a", b"b"));
    }
}
