//! The frame around every page, and error pages.

use crate::Console;
use crate::guard::{RequestContext, Visitor, keep_theme, redirect, safe_path};
use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, REFRESH, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use bytes::Bytes;
use daybook_service::problem::{Problem, ProblemKind};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::any::Any;

/// The result of most handlers.
pub type PageResult = Result<Response, PageError>;

/// The delay after which the browser reloads a page, in seconds.
const REFRESHED_AFTER_S: &str = "2";

/// The sections of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// No section.
    None,
    /// The home page.
    Home,
    /// Products.
    Products,
    /// Accounts.
    Accounts,
    /// Customers.
    Customers,
    /// Webhooks.
    Webhooks,
    /// Test cases.
    Cases,
    /// API keys.
    Keys,
    /// The audit trail.
    Audit,
    /// Users.
    People,
}

/// An entry of the navigation.
#[derive(Clone, Copy, Debug)]
pub struct NavigationEntry {
    /// Its section.
    pub section: Section,
    /// Its name.
    pub name: &'static str,
    /// Its path.
    pub path: &'static str,
}

/// All entries, in order.
pub const PLACES: &[NavigationEntry] = &[
    NavigationEntry { section: Section::Home, name: "Home", path: "/console" },
    NavigationEntry { section: Section::Accounts, name: "Accounts", path: "/console/accounts" },
    NavigationEntry { section: Section::Customers, name: "Customers", path: "/console/customers" },
    NavigationEntry { section: Section::Products, name: "Products", path: "/console/products" },
    NavigationEntry { section: Section::Webhooks, name: "Webhooks", path: "/console/webhooks" },
    NavigationEntry { section: Section::Cases, name: "Test cases", path: "/console/cases" },
    NavigationEntry { section: Section::Keys, name: "Keys", path: "/console/keys" },
    NavigationEntry { section: Section::People, name: "People", path: "/console/people" },
    NavigationEntry { section: Section::Audit, name: "Audit trail", path: "/console/audit" },
];

/// The frame around a page. Every template has it as `page`.
#[derive(Clone, Debug)]
pub struct PageFrame {
    /// The title.
    pub title: String,
    /// Its section.
    pub section: Section,
    /// The signed-in user; `None` on public pages.
    pub visitor: Option<Visitor>,
    /// The context of the request.
    pub context: RequestContext,
}

impl PageFrame {
    /// A page for a signed-in user.
    pub fn new(title: impl Into<String>, section: Section, visitor: &Visitor) -> PageFrame {
        PageFrame { title: title.into(), section, visitor: Some(visitor.clone()), context: visitor.context.clone() }
    }

    /// A page for a user who is not signed in.
    pub fn at_the_door(title: impl Into<String>, context: &RequestContext) -> PageFrame {
        PageFrame { title: title.into(), section: Section::None, visitor: None, context: context.clone() }
    }

    /// The sections that the user may open.
    pub fn places(&self) -> impl Iterator<Item = &'static NavigationEntry> {
        let administers = self.may_administer();
        PLACES.iter().filter(move |place| {
            administers || !matches!(place.section, Section::Keys | Section::People | Section::Audit)
        })
    }

    /// The CSRF token for forms.
    pub fn csrf(&self) -> &str {
        &self.context.csrf
    }

    /// Whether the user may make changes.
    pub fn may_write(&self) -> bool {
        self.visitor.as_ref().is_some_and(Visitor::may_write)
    }

    /// Whether the user may administer.
    pub fn may_administer(&self) -> bool {
        self.visitor.as_ref().is_some_and(Visitor::may_administer)
    }

    /// Whether the organization is a TEST organization.
    pub fn is_test(&self) -> bool {
        self.visitor.as_ref().is_some_and(Visitor::is_test)
    }
}

/// Renders a page.
pub fn show(template: &impl Template) -> PageResult {
    match template.render() {
        Ok(text) => Ok(Html(text).into_response()),
        Err(error) => Err(PageError::new(Problem::internal(format!("a page could not be rendered: {error}")))),
    }
}

/// Makes the browser reload a page that is still waiting for a count.
pub fn refreshed(page: Response) -> Response {
    ([(REFRESH, REFRESHED_AFTER_S)], page).into_response()
}

/// Renders a form with its errors.
pub fn show_again(template: &impl Template) -> PageResult {
    let mut response = show(template)?;
    *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    Ok(response)
}

/// Renders a form that the service refused. If the user was rate limited, the response states when to retry.
pub fn show_refused(template: &impl Template, problem: &Problem) -> PageResult {
    let mut response = show_again(template)?;
    if problem.kind == ProblemKind::TooMany {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(problem.wait_seconds.max(1)));
    }
    Ok(response)
}

/// Reads the part that a page shows of a response that the service keeps for a repeated request.
pub fn read<T: DeserializeOwned>(answer: &Bytes) -> Result<T, PageError> {
    serde_json::from_slice(answer).map_err(|error| {
        PageError::new(Problem::internal(format!("a response of the service could not be read: {error}")))
    })
}

/// A message that one page leaves for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Whether it reports a success.
    pub good: bool,
    /// The message.
    pub text: String,
}

impl Notice {
    /// A message about a success.
    pub fn done(text: impl Into<String>) -> Notice {
        Notice { good: true, text: text.into() }
    }

    /// A message about a failure.
    pub fn not_done(text: impl Into<String>) -> Notice {
        Notice { good: false, text: text.into() }
    }

    /// Encodes the message as the value of a cookie.
    pub fn write(&self) -> String {
        let sign = if self.good { '+' } else { '-' };
        let short: String = self.text.chars().take(600).collect();
        url::form_urlencoded::byte_serialize(format!("{sign}{short}").as_bytes()).collect()
    }

    /// Decodes the value of a cookie.
    pub fn read(value: &str) -> Option<Notice> {
        let pair = format!("n={value}");
        let (_, text) = url::form_urlencoded::parse(pair.as_bytes()).next()?;
        let good = text.starts_with('+');
        text.get(1..).filter(|text| !text.is_empty()).map(|text| Notice { good, text: text.to_owned() })
    }
}

/// The message for an internal error.
const INSIDE: &str = "the server had an internal error";

/// A problem rendered without the frame because the user was unknown. The guard knows the user and renders it again.
#[derive(Clone, Debug)]
pub struct Unframed(pub Problem);

/// An error that becomes an error page.
#[derive(Debug)]
pub struct PageError {
    /// The error of the service or the console.
    pub problem: Problem,
    page: Option<Box<PageFrame>>,
    /// Advice that replaces the usual advice for this kind of problem.
    advice: Option<&'static str>,
}

impl PageError {
    /// An error without a known user.
    pub fn new(mut problem: Problem) -> PageError {
        // In the console, a key is the token of a form.
        if problem.code == "idempotency_key_reused" {
            problem.message = "This form was already sent once, with other values. Open the form again.".to_owned();
        }
        // No role allows this, so the usual advice does not apply.
        let advice = (problem.code == "live_environment").then_some("Use a TEST organization.");
        PageError { problem, page: None, advice }
    }

    /// Sets the advice.
    pub fn advising(self, advice: &'static str) -> PageError {
        PageError { advice: Some(advice), ..self }
    }

    /// The error page for a signed-in user.
    pub fn seen_by(mut self, visitor: &Visitor) -> Response {
        self.page = Some(Box::new(PageFrame::new("Not done", Section::None, visitor)));
        self.into_response()
    }

    /// The error page for a user who is not signed in.
    pub fn at_the_door(mut self, context: &RequestContext) -> Response {
        self.page = Some(Box::new(PageFrame::at_the_door("Not done", context)));
        self.into_response()
    }
}

impl From<Problem> for PageError {
    fn from(problem: Problem) -> PageError {
        PageError::new(problem)
    }
}

impl From<daybook_service::form::BadForm> for PageError {
    fn from(bad: daybook_service::form::BadForm) -> PageError {
        PageError::new(Problem::from(bad))
    }
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct TroublePage {
    page: PageFrame,
    heading: &'static str,
    problem: Problem,
    /// What the user can do now.
    advice: &'static str,
}

/// The status, the heading and the usual advice for a kind of problem.
fn words(kind: ProblemKind) -> (StatusCode, &'static str, &'static str) {
    match kind {
        ProblemKind::Malformed => (StatusCode::BAD_REQUEST, "The request could not be read", "Go back and try again."),
        ProblemKind::Unauthenticated => (StatusCode::UNAUTHORIZED, "Sign in first", "Sign in, then try again."),
        ProblemKind::Forbidden => (
            StatusCode::FORBIDDEN,
            "Not allowed",
            "If you need access, ask an administrator of your organization to change your role.",
        ),
        ProblemKind::NotFound => {
            (StatusCode::NOT_FOUND, "Not found", "Check the address or the id, or use the search field.")
        }
        ProblemKind::Conflict => (
            StatusCode::CONFLICT,
            "Not possible in the current state",
            "Go back, reload the page to see the current state, and try again.",
        ),
        ProblemKind::Invalid => (StatusCode::UNPROCESSABLE_ENTITY, "Invalid value", "Go back and correct it."),
        ProblemKind::TooMany => (StatusCode::TOO_MANY_REQUESTS, "Too many requests", "Wait a moment, then try again."),
        ProblemKind::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "Too much data", "Send less data at once."),
        ProblemKind::Unsupported => {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "Unsupported format", "Use the forms of the console.")
        }
        ProblemKind::NotSupported => (
            StatusCode::NOT_IMPLEMENTED,
            "Not supported",
            "Go back and leave the named fields empty. The message says what to use instead.",
        ),
        ProblemKind::Unavailable => (
            StatusCode::SERVICE_UNAVAILABLE,
            "Not available at the moment",
            "No data are lost. Try again in a moment. If it does not help, an operator can run `daybook doctor`.",
        ),
        ProblemKind::Internal => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "Internal error",
            "A change is saved completely or not at all: check before you repeat it. The server's log has the details.",
        ),
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, heading, usual) = words(self.problem.kind);
        let has_frame = self.page.is_some();
        // Only pages with a frame have a search field.
        let usual = if has_frame || self.problem.kind != ProblemKind::NotFound { usual } else { "Check the address." };
        let advice = self.advice.unwrap_or(usual);
        if self.problem.kind == ProblemKind::Internal && self.problem.message != INSIDE {
            tracing::error!(problem = %self.problem, "a page could not be shown");
        }
        let page = self.page.map_or_else(|| PageFrame::at_the_door(heading, &RequestContext::default()), |page| *page);
        let page = PageFrame { title: heading.to_owned(), ..page };
        let mut problem = self.problem;
        if problem.kind == ProblemKind::Internal {
            problem.message = INSIDE.to_owned();
        }
        let wait_seconds = problem.wait_seconds;
        let unframed = (!has_frame).then(|| Unframed(problem.clone()));
        let text = TroublePage { page, heading, advice, problem }.render();
        let mut response = Html(text.unwrap_or_else(|_| heading.to_owned())).into_response();
        *response.status_mut() = status;
        if let Some(unframed) = unframed {
            response.extensions_mut().insert(unframed);
        }
        if wait_seconds > 0 || status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait_seconds.max(1)));
        }
        response
    }
}

/// The form of the theme switch.
#[derive(Debug, Deserialize)]
pub struct Colours {
    #[serde(default)]
    theme: String,
    #[serde(default)]
    next: String,
}

/// Saves the chosen theme.
pub async fn choose_theme(visitor: Visitor, Form(colours): Form<Colours>) -> Response {
    let theme = if ["light", "dark"].contains(&colours.theme.as_str()) { colours.theme.as_str() } else { "" };
    keep_theme(safe_path(&colours.next), theme, &visitor.context)
}

/// Redirects `/console/` to the home page.
pub async fn to_home() -> Response {
    redirect("/console")
}

/// The page for an unknown path.
pub async fn no_such_page(State(console): State<Console>, request: axum::extract::Request) -> Response {
    let problem = Problem::not_found("page", request.uri().path());
    let (context, _) = crate::guard::context_of(&console, &request);
    drop(request);
    let notice_read = context.notice.is_some();
    let Some(visitor) = crate::guard::glance(&console, context).await else {
        return PageError::new(problem).into_response();
    };
    let mut response = PageError::new(problem).seen_by(&visitor);
    if notice_read {
        crate::guard::forget_notice(&mut response, &visitor.context);
    }
    response
}

/// The page after a panic in a handler.
#[expect(clippy::needless_pass_by_value, reason = "the layer gives it so")]
pub fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let message = format!("a page panicked: {}", text.unwrap_or("no message"));
    PageError::new(Problem::internal(message)).into_response()
}

/// A part of a page, requested by the script.
pub fn fragment(template: &impl Template) -> PageResult {
    show(template)
}

/// A response that is not HTML.
pub fn plain(kind: &'static str, body: impl Into<axum::body::Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
