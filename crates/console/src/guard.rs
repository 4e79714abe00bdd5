//! What stands before every page: who is it, may they, and did the form come from our own page.
//!
//! Somebody signed in has a session, whose token is a cookie that scripts cannot read. From the token follows a second
//! one, which every form carries and which another site cannot know; and browsers say themselves where a request comes
//! from (`Sec-Fetch-Site`, `Origin`). A POST needs both. Who is not signed in yet has a passing token in a cookie of its
//! own, for the forms of the door itself.

use crate::Console;
use crate::page::{Notice, Trouble, Unframed};
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use daybook_service::access::{Caller, Right};
use daybook_service::ids::mint_secret;
use daybook_service::muting::Muted;
use daybook_service::people::Visit;
use daybook_service::problem::Problem;
use std::sync::Arc;

/// The cookie with the token of a session.
const SESSION: &str = "daybook_session";
/// The cookie with the passing token of somebody at the door.
const DOOR: &str = "daybook_door";
/// The cookie that carries a sentence to the next page.
const NOTICE: &str = "daybook_notice";
/// The cookie with the colours that somebody chose.
const THEME: &str = "daybook_theme";
/// The field, and the header, with a form's token.
pub const TOKEN_FIELD: &str = "csrf";
const TOKEN_HEADER: &str = "x-csrf-token";
/// The largest form that is looked through, in bytes.
const FORM_BYTES_MAX: usize = 1024 * 1024;
/// The longest that a browser keeps a session's cookie, in seconds; the session itself ends by the service's rules.
const COOKIE_SECONDS: u32 = 7 * 24 * 60 * 60;

/// What a route needs of whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: the door itself.
    Nobody,
    /// Somebody who may look.
    Read,
    /// Somebody who may change something.
    Write,
    /// Somebody who may administer.
    Administer,
}

impl Needs {
    /// The right, where somebody must be signed in.
    pub const fn right(self) -> Option<Right> {
        match self {
            Needs::Nobody => None,
            Needs::Read => Some(Right::Read),
            Needs::Write => Some(Right::Write),
            Needs::Administer => Some(Right::Administer),
        }
    }
}

/// Somebody who is signed in, looking at a page.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// Who.
    pub visit: Arc<Visit>,
    /// How they got here.
    pub manner: Manner,
}

/// How somebody looks at a page, signed in or not.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// The token that their forms carry.
    pub csrf: String,
    /// The token of their session; empty at the door.
    pub session: String,
    /// `light`, `dark`, or empty for what their system says.
    pub theme: String,
    /// What the page before wanted to say.
    pub notice: Option<Notice>,
    /// The address in their browser, without the host.
    pub here: String,
    /// Where they reach the server: `https://books.example.com`.
    pub base_url: String,
    /// Where they come from, as far as the connection tells.
    pub address: Option<std::net::IpAddr>,
    /// Why nothing is sent and no timer runs, while that is so.
    pub muted: Option<Muted>,
}

impl Visitor {
    /// For whom the service is asked.
    pub fn caller(&self) -> &Caller {
        &self.visit.caller
    }

    /// Whether they may change things.
    pub fn may_write(&self) -> bool {
        self.caller().may(Right::Write).is_ok()
    }

    /// Whether they may administer.
    pub fn may_administer(&self) -> bool {
        self.caller().may(Right::Administer).is_ok()
    }

    /// Whether their organization is for testing.
    pub fn is_test(&self) -> bool {
        self.visit.caller.environment == "TEST"
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Visitor {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Visitor, Trouble> {
        let nobody = || Trouble::new(Problem::new("unauthenticated", "nobody is signed in"));
        parts.extensions.get::<Visitor>().cloned().ok_or_else(nobody)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Manner {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Manner, Trouble> {
        Ok(parts.extensions.get::<Manner>().cloned().unwrap_or_default())
    }
}

/// Stands before a route.
pub async fn stand(State((console, needs)): State<(Console, Needs)>, request: Request, next: Next) -> Response {
    let (mut manner, door) = manner_of(&console, &request);
    let notice_read = manner.notice.is_some();
    let admitted = admit(&console, needs, request, &mut manner).await;
    let mut response = match admitted {
        Ok(request) => run(request, next).await,
        Err(refused) => refused,
    };
    if let Some(token) = door.filter(|_| needs == Needs::Nobody) {
        set_cookie(&mut response, DOOR, &token, None, &manner.base_url);
    }
    if notice_read {
        forget_notice(&mut response, &manner);
    }
    response
}

/// A sentence that a page has shown, whatever page it was, is not for the next one too.
pub fn forget_notice(response: &mut Response, manner: &Manner) {
    if !response.status().is_redirection() {
        set_cookie(response, NOTICE, "", Some(0), &manner.base_url);
    }
}

/// Has a page answer. What goes wrong is shown to somebody who is signed in inside the frame.
async fn run(request: Request, next: Next) -> Response {
    let visitor = request.extensions().get::<Visitor>().cloned();
    let mut response = next.run(request).await;
    match (visitor, response.extensions_mut().remove::<Unframed>()) {
        (Some(visitor), Some(Unframed(problem))) => Trouble::new(problem).seen_by(&visitor),
        _ => response,
    }
}

async fn admit(
    console: &Console,
    needs: Needs,
    mut request: Request,
    manner: &mut Manner,
) -> Result<Request, Response> {
    let changes = request.method() == Method::POST;
    if changes && let Err(problem) = same_site(request.headers(), console.settings.public_url.as_deref()) {
        let advice = "Open the console itself, and send the form from there.";
        return Err(Trouble::new(problem).advising(advice).at_the_door(manner));
    }
    if changes && let Err(problem) = console.service.check_tables() {
        return Err(Trouble::new(problem).at_the_door(manner));
    }
    let Some(right) = needs.right() else {
        if changes {
            request = check_token(request, manner).await.map_err(|problem| old_form(problem).at_the_door(manner))?;
        }
        request.extensions_mut().insert(manner.clone());
        return Ok(request);
    };
    let visit = match console.service.visit(&manner.session).await {
        Ok(Some(visit)) => from_where(visit, manner),
        Ok(None) => return Err(to_the_door(&request, manner)),
        Err(problem) => return Err(Trouble::new(problem).at_the_door(manner)),
    };
    manner.csrf = visit.csrf.clone();
    let visitor = Visitor { visit: Arc::new(visit), manner: manner.clone() };
    if let Err(problem) = visitor.caller().may(right) {
        return Err(Trouble::new(problem).seen_by(&visitor));
    }
    if changes {
        request = check_token(request, manner).await.map_err(|problem| old_form(problem).seen_by(&visitor))?;
    }
    request.extensions_mut().insert(manner.clone());
    request.extensions_mut().insert(visitor);
    Ok(request)
}

/// Says where a call comes from, for the audit trail.
fn from_where(mut visit: Visit, manner: &Manner) -> Visit {
    visit.caller = visit.caller.from_where(manner.address, "");
    visit
}

/// Whoever is not signed in is asked to, and led back afterwards.
fn to_the_door(request: &Request, manner: &Manner) -> Response {
    if request.method() != Method::GET {
        let message = "your session has ended: sign in again, nothing was changed";
        return Trouble::new(Problem::new("unauthenticated", message)).at_the_door(manner);
    }
    let next: String = url::form_urlencoded::byte_serialize(manner.here.as_bytes()).collect();
    redirect(&format!("/console/sign-in?next={next}"))
}

/// Who asks, if they are signed in: for pages that everybody gets.
pub async fn glance(console: &Console, mut manner: Manner) -> Option<Visitor> {
    let visit = console.service.visit(&manner.session).await.ok()??;
    manner.csrf = visit.csrf.clone();
    Some(Visitor { visit: Arc::new(visit), manner })
}

/// Browsers say whether a request comes from a page of the same site; older ones at least from which origin.
/// A proxy may ask for another host than the browser did, which the settings name then.
fn same_site(headers: &HeaderMap, public_url: Option<&str>) -> Result<(), Problem> {
    let foreign = || Problem::new("not_authorized", "the form was sent from another site, and nothing was changed");
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

/// No role helps whose form is not right.
fn old_form(problem: Problem) -> Trouble {
    Trouble::new(problem).advising("Go back, reload the page, and send the form again.")
}

/// Looks for the token in the header, or in the form, which is put back as it was.
async fn check_token(request: Request, manner: &Manner) -> Result<Request, Problem> {
    let wrong = || {
        let message = "the form is old, or was made for somebody else, and nothing was changed";
        Problem::new("not_authorized", message)
    };
    if header(request.headers(), TOKEN_HEADER).is_some_and(|token| equal(token, &manner.csrf)) {
        return Ok(request);
    }
    let form = header(request.headers(), CONTENT_TYPE.as_str())
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    if !form {
        let message = "what was sent is no form of the console, and nothing was changed";
        return Err(Problem::new("not_authorized", message));
    }
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, FORM_BYTES_MAX).await;
    let bytes = bytes.map_err(|_| Problem::new("too_large", "the form is larger than a form may be"))?;
    let token = url::form_urlencoded::parse(&bytes).find(|(name, _)| name == TOKEN_FIELD);
    if !token.is_some_and(|(_, token)| equal(&token, &manner.csrf)) {
        return Err(wrong());
    }
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// Compares without telling by time where two differ. An empty token is nobody's.
fn equal(given: &str, token: &str) -> bool {
    let differ = given.bytes().zip(token.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    !token.is_empty() && given.len() == token.len() && differ == 0
}

/// How a request came, and, for somebody at the door who has none, a new passing token.
pub fn manner_of(console: &Console, request: &Request) -> (Manner, Option<String>) {
    let headers = request.headers();
    let base_url = base_url(console, headers);
    let cookies = Cookies::of(headers, &base_url);
    let known = cookies.get(DOOR).filter(|token| token.len() >= 32).map(str::to_owned);
    let fresh = if known.is_none() { Some(mint_secret()) } else { None };
    let theme = cookies.get(THEME).filter(|theme| ["light", "dark"].contains(theme));
    let address = request.extensions().get::<axum::extract::ConnectInfo<std::net::SocketAddr>>();
    let manner = Manner {
        csrf: known.or_else(|| fresh.clone()).unwrap_or_default(),
        session: cookies.get(SESSION).unwrap_or_default().to_owned(),
        theme: theme.unwrap_or_default().to_owned(),
        notice: cookies.get(NOTICE).and_then(Notice::read),
        here: here(request.uri()),
        base_url,
        address: address.map(|address| address.0.ip()),
        muted: console.service.muted(),
    };
    (manner, fresh)
}

fn here(uri: &Uri) -> String {
    uri.path_and_query().map_or_else(|| "/console".to_owned(), ToString::to_string)
}

/// Where people reach the server: as the settings say, or as their browser does.
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

/// The cookies of a request.
struct Cookies<'a> {
    pairs: Vec<(&'a str, &'a str)>,
    prefix: &'static str,
}

/// Browsers take a cookie with this prefix only from the host itself, by https: no other host or network can set it.
const HOST_ONLY: &str = "__Host-";

fn prefix(base_url: &str) -> &'static str {
    if base_url.starts_with("https://") { HOST_ONLY } else { "" }
}

impl<'a> Cookies<'a> {
    fn of(headers: &'a HeaderMap, base_url: &str) -> Cookies<'a> {
        let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        Cookies { pairs: pairs.collect(), prefix: prefix(base_url) }
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let is_it = |known: &str| known.strip_prefix(self.prefix).is_some_and(|rest| rest == name);
        self.pairs.iter().find(|(known, _)| is_it(known)).map(|(_, value)| *value)
    }
}

fn set_cookie(response: &mut Response, name: &str, value: &str, seconds: Option<u32>, base_url: &str) {
    let age = seconds.map_or_else(String::new, |seconds| format!("; Max-Age={seconds}"));
    let prefix = prefix(base_url);
    let place = if prefix.is_empty() { "Path=/console" } else { "Path=/; Secure" };
    let text = format!("{prefix}{name}={value}; {place}; HttpOnly; SameSite=Lax{age}");
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().append(SET_COOKIE, value);
    }
}

/// Sends the browser on by GET.
pub fn redirect(to: &str) -> Response {
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/console"));
    (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
}

/// Sends the browser on, with a sentence for the page it comes to.
pub fn redirect_saying(to: &str, notice: &Notice, manner: &Manner) -> Response {
    let mut response = redirect(to);
    set_cookie(&mut response, NOTICE, &notice.write(), Some(60), &manner.base_url);
    response
}

/// Begins a session in the browser, and sends it on.
pub fn begin_session(to: &str, token: &str, manner: &Manner) -> Response {
    let mut response = redirect(to);
    set_cookie(&mut response, SESSION, token, Some(COOKIE_SECONDS), &manner.base_url);
    set_cookie(&mut response, DOOR, "", Some(0), &manner.base_url);
    response
}

/// Ends a session in the browser, and sends it on.
pub fn end_session(to: &str, manner: &Manner) -> Response {
    let mut response = redirect(to);
    set_cookie(&mut response, SESSION, "", Some(0), &manner.base_url);
    response
}

/// Keeps the colours that somebody chose, and sends the browser on.
pub fn keep_theme(to: &str, theme: &str, manner: &Manner) -> Response {
    let mut response = redirect(to);
    let seconds = if theme.is_empty() { 0 } else { 365 * 24 * 60 * 60 };
    set_cookie(&mut response, THEME, theme, Some(seconds), &manner.base_url);
    response
}

/// A path of the console to go on to; anything else is the home page.
pub fn safe_path(next: &str) -> &str {
    let plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let ours = next == "/console" || next.starts_with("/console/") || next.starts_with("/console?");
    if ours && plain { next } else { "/console" }
}

/// What every answer of the console says to browsers: nothing from elsewhere, in no frame, kept by nobody.
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
