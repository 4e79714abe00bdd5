//! Checks before every page: authentication, authorization, and the origin of a form.
//!
//! A signed-in user has a session, whose token is in a cookie that scripts cannot read. A second token, derived from
//! it, is in every form; another site cannot know it. In addition, browsers report the origin of a request
//! (`Sec-Fetch-Site`, `Origin`). A POST must pass both checks. A user who is not signed in has a temporary token in a
//! separate cookie, for the sign-in and invite forms.

use crate::Console;
use crate::cookies::{Cookies, DOOR, NOTICE, SESSION, THEME, set_cookie};
use crate::form::read_body;
use crate::page::{Notice, PageError, Unframed};
use axum::body::Body;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, LOCATION, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use daybook_service::access::{Caller, Right};
use daybook_service::budget::{CallMemory, Full, RESPONSES};
use daybook_service::call_slots::CallKind;
use daybook_service::ids::mint_secret;
use daybook_service::muting::Muted;
use daybook_service::people::Visit;
use daybook_service::problem::Problem;
use std::sync::Arc;

/// The form field and the header with the CSRF token.
pub const TOKEN_FIELD: &str = "csrf";
const TOKEN_HEADER: &str = "x-csrf-token";
/// The lifetime of the session cookie in the browser, in seconds. The service decides when the session itself ends.
const COOKIE_SECONDS: u32 = 7 * 24 * 60 * 60;

/// The right that a route requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// None: the route is public (the sign-in page, for example).
    Nobody,
    /// The right to read.
    Read,
    /// The right to make changes.
    Write,
    /// The right to administer.
    Administer,
}

impl Needs {
    /// The required right, or `None` if the route is public.
    pub const fn right(self) -> Option<Right> {
        match self {
            Needs::Nobody => None,
            Needs::Read => Some(Right::Read),
            Needs::Write => Some(Right::Write),
            Needs::Administer => Some(Right::Administer),
        }
    }
}

/// A signed-in user who requests a page.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// The session and its user.
    pub visit: Arc<Visit>,
    /// The context of the request.
    pub context: RequestContext,
}

/// The context of a request, signed in or not.
#[derive(Clone, Debug, Default)]
pub struct RequestContext {
    /// The CSRF token of the user's forms.
    pub csrf: String,
    /// The session token; empty without a session.
    pub session: String,
    /// `light`, `dark`, or empty for the system's theme.
    pub theme: String,
    /// A message from the previous page.
    pub notice: Option<Notice>,
    /// The path and query of the current page.
    pub here: String,
    /// The URL of the server as the user reaches it: `https://books.example.com`.
    pub base_url: String,
    /// The user's IP address, if the connection has one.
    pub address: Option<std::net::IpAddr>,
    /// Why webhooks and timers are muted, if they are.
    pub muted: Option<Muted>,
}

impl Visitor {
    /// The caller on whose behalf the service acts.
    pub fn caller(&self) -> &Caller {
        &self.visit.caller
    }

    /// Whether the user may make changes.
    pub fn may_write(&self) -> bool {
        self.caller().may(Right::Write).is_ok()
    }

    /// Whether the user may administer.
    pub fn may_administer(&self) -> bool {
        self.caller().may(Right::Administer).is_ok()
    }

    /// Whether the user's organization is a TEST organization.
    pub fn is_test(&self) -> bool {
        self.visit.caller.environment == "TEST"
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Visitor {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Visitor, PageError> {
        let signed_out = || PageError::new(Problem::new("unauthenticated", "you are not signed in"));
        parts.extensions.get::<Visitor>().cloned().ok_or_else(signed_out)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestContext {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<RequestContext, PageError> {
        Ok(parts.extensions.get::<RequestContext>().cloned().unwrap_or_default())
    }
}

/// Checks a request before its handler runs.
pub async fn stand(State((console, needs)): State<(Console, Needs)>, request: Request, next: Next) -> Response {
    let (mut context, door) = context_of(&console, &request);
    let notice_read = context.notice.is_some();
    let admitted = admit(&console, needs, request, &mut context).await;
    let mut response = match admitted {
        Ok(request) => run(&console, request, next).await,
        Err(refused) => refused,
    };
    if let Some(token) = door.filter(|_| needs == Needs::Nobody) {
        set_cookie(&mut response, DOOR, &token, None, &context.base_url);
    }
    if notice_read {
        forget_notice(&mut response, &context);
    }
    response
}

/// Deletes the message cookie once a page has shown the message. A redirect keeps it.
pub fn forget_notice(response: &mut Response, context: &RequestContext) {
    if !response.status().is_redirection() {
        set_cookie(response, NOTICE, "", Some(0), &context.base_url);
    }
}

/// Runs the handler. For a signed-in user, an error page gets the navigation frame, and a page takes a slot for reads and
/// uses the share of the user's organization.
async fn run(console: &Console, request: Request, next: Next) -> Response {
    let visitor = request.extensions().get::<Visitor>().cloned();
    let mut response = match &visitor {
        Some(visitor) if request.method().is_safe() => {
            let (org, kind) = (visitor.caller().org, kind_of(&request));
            let reading = async {
                match console.service.begin_read(org, kind).await {
                    Ok(()) => next.run(request).await,
                    Err(problem) => PageError::new(problem).seen_by(visitor),
                }
            };
            console.service.reading(reading).await
        }
        _ => next.run(request).await,
    };
    match (visitor, response.extensions_mut().remove::<Unframed>()) {
        (Some(visitor), Some(Unframed(problem))) => PageError::new(problem).seen_by(&visitor),
        _ => response,
    }
}

/// What a page reads. A file is a list, also on the page of one object.
fn kind_of(request: &Request) -> CallKind {
    let is_file = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "format=csv"));
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    if is_file { CallKind::List } else { CallKind::of_route(route) }
}

async fn admit(
    console: &Console,
    needs: Needs,
    mut request: Request,
    context: &mut RequestContext,
) -> Result<Request, Response> {
    let changes = request.method() == Method::POST;
    if changes && let Err(problem) = same_site(request.headers(), console.settings.public_url.as_deref()) {
        let advice = "Open the console and submit the form there.";
        return Err(PageError::new(problem).advising(advice).at_the_door(context));
    }
    if changes && let Err(problem) = console.service.check_tables() {
        return Err(PageError::new(problem).at_the_door(context));
    }
    let Some(right) = needs.right() else {
        if changes {
            request = check_token(request, context).await.map_err(|problem| old_form(problem).at_the_door(context))?;
        }
        request.extensions_mut().insert(context.clone());
        return Ok(request);
    };
    let visit = match console.service.visit(&context.session).await {
        Ok(Some(visit)) => from_where(visit, context),
        Ok(None) => return Err(to_the_door(&request, context)),
        Err(problem) => return Err(PageError::new(problem).at_the_door(context)),
    };
    count_memory(&request, &visit).map_err(|problem| PageError::new(problem).at_the_door(context))?;
    context.csrf = visit.csrf.clone();
    let visitor = Visitor { visit: Arc::new(visit), context: context.clone() };
    if let Err(problem) = visitor.caller().may(right) {
        return Err(PageError::new(problem).seen_by(&visitor));
    }
    if changes {
        request = check_token(request, context).await.map_err(|problem| old_form(problem).seen_by(&visitor))?;
    }
    request.extensions_mut().insert(context.clone());
    request.extensions_mut().insert(visitor);
    Ok(request)
}

/// Counts the memory of the request for the user's organization.
fn count_memory(request: &Request, visit: &Visit) -> Result<(), Problem> {
    let Some(memory) = request.extensions().get::<CallMemory>() else { return Ok(()) };
    let unavailable = |full: Full| Problem::new("unavailable", full.sentence(RESPONSES));
    memory.belongs_to(visit.caller.org).map_err(unavailable)
}

/// Adds the IP address to the caller, for the audit trail.
fn from_where(mut visit: Visit, context: &RequestContext) -> Visit {
    visit.caller = visit.caller.from_where(context.address, "");
    visit
}

/// Redirects a user who is not signed in to the sign-in page, which leads back afterwards.
fn to_the_door(request: &Request, context: &RequestContext) -> Response {
    if request.method() != Method::GET {
        let message = "your session has ended and nothing was changed; sign in again";
        return PageError::new(Problem::new("unauthenticated", message)).at_the_door(context);
    }
    let next: String = url::form_urlencoded::byte_serialize(context.here.as_bytes()).collect();
    redirect(&format!("/console/sign-in?next={next}"))
}

/// The signed-in user, if any, for pages that need no session.
pub async fn glance(console: &Console, mut context: RequestContext) -> Option<Visitor> {
    let visit = console.service.visit(&context.session).await.ok()??;
    context.csrf = visit.csrf.clone();
    Some(Visitor { visit: Arc::new(visit), context })
}

/// Checks that a form was sent from a page of this site. Browsers report this in `Sec-Fetch-Site`, older ones in
/// `Origin`. A proxy may forward another host name than the browser used; then the `public_url` setting counts.
fn same_site(headers: &HeaderMap, public_url: Option<&str>) -> Result<(), Problem> {
    let foreign = || Problem::new("not_authorized", "the form was submitted from another site; nothing was changed");
    match header(headers, "sec-fetch-site") {
        Some("same-origin" | "none") => return Ok(()),
        Some(_) => return Err(foreign()),
        None => {}
    }
    let Some(origin) = header(headers, ORIGIN.as_str()) else { return Ok(()) };
    if public_url.is_some_and(|url| url.trim_end_matches('/').eq_ignore_ascii_case(origin)) {
        return Ok(());
    }
    let host = header(headers, HOST.as_str()).unwrap_or_default();
    let from = origin.split_once("://").map_or("", |(_, host)| host);
    if from.eq_ignore_ascii_case(host) { Ok(()) } else { Err(foreign()) }
}

/// An error about an outdated form. The usual advice about roles would not help here.
fn old_form(problem: Problem) -> PageError {
    PageError::new(problem).advising("Go back, reload the page, and submit the form again.")
}

/// Checks the token in the header or in the form. The request keeps its body.
async fn check_token(request: Request, context: &RequestContext) -> Result<Request, Problem> {
    let wrong = || {
        let message = "the form is out of date or belongs to another session; nothing was changed";
        Problem::new("not_authorized", message)
    };
    if header(request.headers(), TOKEN_HEADER).is_some_and(|token| equal(token, &context.csrf)) {
        return Ok(request);
    }
    let form = header(request.headers(), CONTENT_TYPE.as_str())
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    if !form {
        let message = "the request is not a form of the console; nothing was changed";
        return Err(Problem::new("not_authorized", message));
    }
    let (parts, body) = request.into_parts();
    let bytes = read_body(body).await?;
    let token = url::form_urlencoded::parse(&bytes).find(|(name, _)| name == TOKEN_FIELD);
    if !token.is_some_and(|(_, token)| equal(&token, &context.csrf)) {
        return Err(wrong());
    }
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// Compares two tokens in constant time. An empty token never matches.
fn equal(given: &str, token: &str) -> bool {
    let differ = given.bytes().zip(token.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    !token.is_empty() && given.len() == token.len() && differ == 0
}

/// The context of a request, and a new temporary token if a user without a session has none yet.
pub fn context_of(console: &Console, request: &Request) -> (RequestContext, Option<String>) {
    let headers = request.headers();
    let base_url = base_url(console, headers);
    let cookies = Cookies::of(headers, &base_url);
    let known = cookies.get(DOOR).filter(|token| token.len() >= 32).map(str::to_owned);
    let fresh = if known.is_none() { Some(mint_secret()) } else { None };
    let theme = cookies.get(THEME).filter(|theme| ["light", "dark"].contains(theme));
    let address = request.extensions().get::<axum::extract::ConnectInfo<std::net::SocketAddr>>();
    let context = RequestContext {
        csrf: known.or_else(|| fresh.clone()).unwrap_or_default(),
        session: cookies.get(SESSION).unwrap_or_default().to_owned(),
        theme: theme.unwrap_or_default().to_owned(),
        notice: cookies.get(NOTICE).and_then(Notice::read),
        here: here(request.uri()),
        base_url,
        address: address.map(|address| address.0.ip()),
        muted: console.service.muted(),
    };
    (context, fresh)
}

fn here(uri: &Uri) -> String {
    uri.path_and_query().map_or_else(|| "/console".to_owned(), ToString::to_string)
}

/// The URL of the server: the `public_url` setting, or what the browser requested.
fn base_url(console: &Console, headers: &HeaderMap) -> String {
    if let Some(url) = &console.settings.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let scheme = match header(headers, "x-forwarded-proto") {
        Some("https") => "https",
        _ => "http",
    };
    format!("{scheme}://{}", header(headers, HOST.as_str()).unwrap_or("localhost"))
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Redirects the browser by GET.
pub fn redirect(to: &str) -> Response {
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/console"));
    (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
}

/// Redirects the browser, with a message for the next page.
pub fn redirect_saying(to: &str, notice: &Notice, context: &RequestContext) -> Response {
    let mut response = redirect(to);
    set_cookie(&mut response, NOTICE, &notice.write(), Some(60), &context.base_url);
    response
}

/// Sets the session cookie and redirects the browser.
pub fn begin_session(to: &str, token: &str, context: &RequestContext) -> Response {
    let mut response = redirect(to);
    set_cookie(&mut response, SESSION, token, Some(COOKIE_SECONDS), &context.base_url);
    set_cookie(&mut response, DOOR, "", Some(0), &context.base_url);
    response
}

/// Deletes the session cookie and redirects the browser.
pub fn end_session(to: &str, context: &RequestContext) -> Response {
    let mut response = redirect(to);
    set_cookie(&mut response, SESSION, "", Some(0), &context.base_url);
    response
}

/// Saves the chosen theme in a cookie and redirects the browser.
pub fn keep_theme(to: &str, theme: &str, context: &RequestContext) -> Response {
    let mut response = redirect(to);
    let seconds = if theme.is_empty() { 0 } else { 365 * 24 * 60 * 60 };
    set_cookie(&mut response, THEME, theme, Some(seconds), &context.base_url);
    response
}

/// The target of a redirect, if it is a path of the console; the home page otherwise.
pub fn safe_path(next: &str) -> &str {
    let plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let ours = next == "/console" || next.starts_with("/console/") || next.starts_with("/console?");
    if ours && plain { next } else { "/console" }
}

/// Adds the security headers: no content from other origins, no framing, no caching.
pub async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                  form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(HeaderName::from_static("x-frame-options"), HeaderValue::from_static("DENY"));
    headers.insert(HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn forms_from_elsewhere_are_refused() {
        let refused = [
            headers(&[("sec-fetch-site", "cross-site")]),
            headers(&[("sec-fetch-site", "same-site")]),
            headers(&[("origin", "https://evil.example"), ("host", "books.example.com")]),
            headers(&[("origin", "null"), ("host", "books.example.com")]),
        ];
        for headers in refused {
            assert!(same_site(&headers, Some("https://books.example.com")).is_err(), "{headers:?}");
        }
        let taken = [
            headers(&[("sec-fetch-site", "same-origin")]),
            headers(&[("origin", "http://127.0.0.1:8080"), ("host", "127.0.0.1:8080")]),
            headers(&[("origin", "https://books.example.com"), ("host", "10.0.0.5:8080")]),
        ];
        for headers in taken {
            assert!(same_site(&headers, Some("https://books.example.com")).is_ok(), "{headers:?}");
        }
    }

    #[test]
    fn people_are_led_back_into_the_console_only() {
        assert_eq!(safe_path("/console/accounts?status=ACTIVE"), "/console/accounts?status=ACTIVE");
        for elsewhere in ["https://evil.example", "//evil.example", "/consoles", "/console/\r\nSet-Cookie: a", "/docs"]
        {
            assert_eq!(safe_path(elsewhere), "/console", "{elsewhere}");
        }
    }

    #[test]
    fn an_empty_token_is_nobodys() {
        assert!(!equal("", ""));
        assert!(!equal("abc", "abd"));
        assert!(!equal("abc", "abcd"));
        assert!(equal("abc", "abc"));
    }
}
