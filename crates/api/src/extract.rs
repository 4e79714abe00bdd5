//! What a handler gets of a request: the caller, ids from the path, the body as a form.
//!
//! The parts are extracted in the order of a handler's arguments, so a call is refused for the first of: no credentials
//! (401), no permission (403), no such id (404), a wrong parameter (422), a body that is too large, of another type,
//! not JSON, or against a rule (413, 415, 400, 422). The service is called only after all checks have passed.
//!
//! Every caller extractor begins the call's reads ([`daybook_service::Service::begin_read`]), so no handler of a call
//! that reads runs without a slot.

use crate::Api;
use crate::error::Refusal;
use crate::limits::Context;
use axum::body::Body;
use axum::extract::{ConnectInfo, FromRequest, FromRequestParts, MatchedPath, RawPathParams, Request};
use axum::http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri};
use bytes::Bytes;
use daybook_service::access::{Caller, Right};
use daybook_service::budget::{BODIES, CallMemory, Full, RESPONSES};
use daybook_service::call_slots::CallKind;
use daybook_service::form::{self, fields::Reference};
use daybook_service::problem::Problem;
use daybook_service::processor::job::IdempotencyKey;
use futures_util::StreamExt;
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
                let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
                api.service.begin_read(caller.org, CallKind::of_route(route)).await?;
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
    if let Some(memory) = parts.extensions.get::<CallMemory>() {
        let unavailable = |full: Full| Refusal::new("unavailable", full.sentence(RESPONSES));
        memory.belongs_to(caller.org).map_err(unavailable)?;
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
    /// A change of an account's loan.
    ChangePath {
        /// The account.
        account_id: "account",
        /// The change.
        change_id: "change",
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
    pub idempotency_key: Option<IdempotencyKey>,
}

impl<T: DeserializeOwned> FromRequest<Api> for Form<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, api: &Api) -> Result<Form<T>, Refusal> {
        let call = Call::of(&request);
        let body = read_body(request, &["application/json"], api.settings.body_limit_bytes).await?;
        let form = form::parse(&body)?;
        Ok(Form { form, idempotency_key: call.idempotency_key(&body)? })
    }
}

/// A call without a body, with its idempotency key.
#[derive(Debug)]
pub struct Bodiless {
    /// The idempotency key, if the caller sent one.
    pub idempotency_key: Option<IdempotencyKey>,
}

impl FromRequestParts<Api> for Bodiless {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Bodiless, Refusal> {
        let call = Call { method: parts.method.clone(), uri: parts.uri.clone(), headers: parts.headers.clone() };
        Ok(Bodiless { idempotency_key: call.idempotency_key(b"")? })
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
    pub fn idempotency_key(&self, body: &[u8]) -> Result<Option<IdempotencyKey>, Problem> {
        let Some(key) = self.headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
        let key = key.to_str().unwrap_or_default();
        if !(1..=LONGEST_IDEMPOTENCY_KEY).contains(&key.len()) || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let rule = format!("must be 1 to {LONGEST_IDEMPOTENCY_KEY} visible ASCII characters");
            return Err(Problem::invalid("Idempotency-Key", rule));
        }
        let target = self.uri.path_and_query().map_or("", |target| target.as_str());
        Ok(Some(IdempotencyKey { key: key.to_owned(), content_hash: content_hash(self.method.as_str(), target, body) }))
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
pub async fn read_body(request: Request, types: &[&str], limit: usize) -> Result<Bytes, Refusal> {
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
    let declared = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let memory = request.extensions().get::<CallMemory>().cloned();
    if let Some(memory) = &memory {
        memory.body.check_body(declared.unwrap_or_default()).map_err(does_not_fit)?;
    }
    let body = whole(request.into_body(), declared, limit).await.map_err(|unread| match unread {
        Unread::TooLarge => Refusal::too_large(limit),
        Unread::Incomplete => match memory.and_then(|memory| memory.body.refused()) {
            Some(full) => does_not_fit(full),
            None => Refusal::new("malformed_request", "the body is incomplete"),
        },
    })?;
    if has_type || body.is_empty() { Ok(body) } else { Err(unsupported(wanted())) }
}

fn does_not_fit(full: Full) -> Refusal {
    let code = if matches!(full, Full::Body(_)) { "too_large" } else { "unavailable" };
    Refusal::new(code, full.sentence(BODIES))
}

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
enum Unread {
    TooLarge,
    Incomplete,
}

/// Reads a body to its end. A body in one piece is not copied. The pieces of others are joined as they arrive, because
/// many small pieces would take several times the memory. The joined pieces have at most twice the memory of what has
/// arrived, however long the body is declared to be.
async fn whole(body: Body, declared: Option<usize>, limit: usize) -> Result<Bytes, Unread> {
    let within = |length: usize| if length > limit { Err(Unread::TooLarge) } else { Ok(()) };
    within(declared.unwrap_or_default())?;
    let mut pieces = body.into_data_stream();
    let Some(first) = pieces.next().await else { return Ok(Bytes::new()) };
    let first = first.map_err(|_| Unread::Incomplete)?;
    within(first.len())?;
    let mut joined: Vec<u8> = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Unread::Incomplete)?;
        if joined.is_empty() {
            append(&mut joined, &first, declared);
        }
        within(joined.len() + piece.len())?;
        append(&mut joined, &piece, declared);
    }
    Ok(if joined.is_empty() { first } else { joined.into() })
}

fn append(joined: &mut Vec<u8>, piece: &[u8], declared: Option<usize>) {
    let length = joined.len() + piece.len();
    if length > joined.capacity() {
        let capacity = (2 * length).min(declared.unwrap_or(usize::MAX)).max(length);
        joined.reserve_exact(capacity - joined.len());
    }
    joined.extend_from_slice(piece);
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

    #[tokio::test]
    async fn a_body_is_joined_from_its_pieces_and_refused_beyond_its_limit() {
        let read = async |pieces: &[&'static str], declared| {
            let pieces: Vec<Result<&'static str, std::io::Error>> = pieces.iter().copied().map(Ok).collect();
            let body = Body::from_stream(futures_util::stream::iter(pieces));
            whole(body, declared, 6).await
        };
        for (pieces, expected) in [
            (&[][..], Ok("")),
            (&["abcdef"], Ok("abcdef")),
            (&["ab", "", "c", "def"], Ok("abcdef")),
            (&["", "abc"], Ok("abc")),
            (&["abcdefg"], Err(Unread::TooLarge)),
            (&["abc", "defg"], Err(Unread::TooLarge)),
        ] {
            assert_eq!(read(pieces, None).await, expected.map(Bytes::from), "{pieces:?}");
        }
        assert_eq!(read(&["abc"], Some(3)).await, Ok(Bytes::from("abc")));
        assert_eq!(read(&[], Some(7)).await, Err(Unread::TooLarge), "it is not read");
        let broken = [Ok("ab"), Err(std::io::Error::other("gone"))];
        let broken = whole(Body::from_stream(futures_util::stream::iter(broken)), None, 6).await;
        assert_eq!(broken, Err(Unread::Incomplete));
    }

    #[test]
    fn joined_pieces_take_at_most_twice_the_memory_of_what_has_arrived() {
        let mut joined = Vec::new();
        for _ in 0..1_000 {
            append(&mut joined, &[b'x'; 100], Some(150_000));
            assert!(joined.capacity() <= 2 * joined.len(), "{} for {}", joined.capacity(), joined.len());
        }
        append(&mut joined, &[b'x'; 50_000], Some(150_000));
        assert_eq!((joined.len(), joined.capacity()), (150_000, 150_000), "no more than the declared length");
    }
}
