//! A console for tests.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request};
use bytes::Bytes;
use daybook_clock::Manual;
use daybook_console::ConsoleSettings;
use daybook_engine::time::Time;
use daybook_service::Service;
use daybook_service::access::{Caller, Role};
use daybook_service::changes::ChangeRequest;
use daybook_service::form;
use daybook_service::organizations::Bootstrap;
use daybook_service::people::{NewPerson, Session};
use daybook_service::problem::Problem;
use daybook_service::view::render;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use tower::util::ServiceExt as _;

/// The start time of every setup.
pub const BEGINNING: &str = "2025-03-01T12:00:00-05:00";
/// A password that is long enough.
pub const PASSWORD: &str = "a long enough sentence";
/// A name that would run as a script in a page that does not escape it.
pub const SCRIPT: &str = "<script>alert(1)</script>";
/// A value that would run as a formula in a spreadsheet.
pub const FORMULA: &str = "=HYPERLINK(\"http://x\")";

/// A console with one organization, a signed-in user and a clock.
#[derive(Clone)]
pub struct ConsoleSetup {
    /// Its service.
    pub service: Service,
    /// Its clock.
    pub clock: Arc<Manual>,
    /// The signed-in user, as a caller of the service.
    pub who: Caller,
    /// The user's session.
    pub session: Session,
    router: Router,
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as text.
    pub body: String,
}

impl Answer {
    /// A header; empty if absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body, if the status is 200.
    #[track_caller]
    pub fn page(self) -> String {
        assert_eq!(self.status, 200, "{}", self.body);
        self.body
    }

    /// The target of a redirect.
    #[track_caller]
    pub fn leads_to(&self) -> &str {
        assert_eq!(self.status, 303, "{}", self.body);
        self.header("location")
    }
}

/// An exclusive lock on a table: no other connection can read it.
pub struct KeptFromAll(tokio_postgres::Client);

impl KeptFromAll {
    /// Locks a table of the PostgreSQL database at an address.
    pub async fn of(address: &str, table: &str) -> KeptFromAll {
        let (client, connection) = tokio_postgres::connect(address, tokio_postgres::NoTls).await.expect("it connects");
        tokio::spawn(connection);
        client.batch_execute(&format!("BEGIN; LOCK TABLE {table}")).await.expect("it is locked");
        KeptFromAll(client)
    }

    /// Releases the lock.
    pub async fn give_back(self) {
        self.0.batch_execute("COMMIT").await.expect("it ends");
    }
}

/// Reads a time.
pub fn time(text: &str) -> Time {
    Time::parse(text).unwrap_or_else(|| panic!("{text} is no time"))
}

/// A form of the service, from JSON.
pub fn form_of<T: DeserializeOwned>(value: &Value) -> T {
    form::parse(value.to_string().as_bytes()).unwrap_or_else(|bad| panic!("{bad}: {value}"))
}

/// Reads a response of the service.
#[track_caller]
pub fn json_of(answer: Result<Bytes, Problem>) -> Value {
    let bytes = answer.unwrap_or_else(|problem| panic!("{problem} {:?}", problem.details));
    serde_json::from_slice(&bytes).expect("the answer is JSON")
}

/// A view as JSON.
#[track_caller]
pub fn view_of(answer: Result<impl Serialize, Problem>) -> Value {
    let view = answer.unwrap_or_else(|problem| panic!("{problem} {:?}", problem.details));
    serde_json::from_slice(&render(&view)).expect("the view is JSON")
}

impl ConsoleSetup {
    /// A new setup with a `TEST` organization, in which an administrator is signed in.
    pub async fn new() -> ConsoleSetup {
        ConsoleSetup::of("TEST").await
    }

    /// A new setup whose organization is `TEST` or `LIVE`.
    pub async fn of(environment: &str) -> ConsoleSetup {
        ConsoleSetup::on("sqlite::memory:", environment).await
    }

    /// A new setup on the database at an address.
    pub async fn on(store: &str, environment: &str) -> ConsoleSetup {
        let clock = Arc::new(Manual::at(time(BEGINNING)));
        let service = Service::open(store, clock.clone(), &[7; 32]).await.expect("it starts");
        let first = Bootstrap { environment: environment.to_owned(), ..Bootstrap::default() };
        service.bootstrap(&first).await.expect("the first organization is made");
        let link = service.first_link().await.expect("there is a link").expect("for the first user");
        let session = accept(&service, &link, "Ada").await;
        let who = service.visit(&session.token).await.expect("it answers").expect("she is signed in").caller;
        let router = daybook_console::router(service.clone(), ConsoleSettings::default());
        ConsoleSetup { service, clock, who, session, router }
    }

    /// The same setup for a user with another role.
    pub async fn seen_by(&self, role: Role) -> ConsoleSetup {
        let admin = self.service.operator(None).await.expect("there is one organization");
        let link = self.service.invite(&admin, role).await.expect("a link");
        let session = accept(&self.service, &link, role.name()).await;
        let who = self.service.visit(&session.token).await.expect("it answers").expect("signed in").caller;
        ConsoleSetup { who, session, ..self.clone() }
    }

    /// The same setup with another service, for example one that sends messages.
    pub fn over(self, service: Service) -> ConsoleSetup {
        let router = daybook_console::router(service.clone(), ConsoleSettings::default());
        ConsoleSetup { service, router, ..self }
    }

    /// Moves the clock and processes what is due.
    pub async fn go_to(&self, now: &str) {
        self.clock.set(time(now));
        self.settle().await;
    }

    /// Processes what is due.
    pub async fn settle(&self) {
        self.service.settle_due().await.expect("what is due is done");
    }

    /// Sends a request unchanged.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("a router always answers");
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.expect("the body arrives");
        let body = String::from_utf8(bytes.to_vec()).expect("the body is text");
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// A request of a signed-in browser.
    pub fn request(&self, method: Method, path: &str) -> axum::http::request::Builder {
        let cookie = format!("daybook_session={}", self.session.token);
        Request::builder().method(method).uri(path).header("cookie", cookie).header("host", "books.example.com")
    }

    /// Opens a page.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path).body(Body::empty()).expect("a request")).await
    }

    /// Requests a part of a page, as the script does.
    pub async fn fragment(&self, path: &str, name: &str) -> Answer {
        let request = self.request(Method::GET, path).header("x-fragment", name);
        self.send(request.body(Body::empty()).expect("a request")).await
    }

    /// Submits a form with the right token.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut typed = fields.to_vec();
        typed.push(("csrf", &self.session.csrf));
        let request = self.request(Method::POST, path).header("sec-fetch-site", "same-origin");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        self.send(request.body(Body::from(encoded(&typed))).expect("a request")).await
    }

    /// Creates a product: 12 months at 12 %, with a late fee of 15.00 and the given policies.
    pub async fn product(&self, id: &str, life: Value, holds: bool) {
        let mut policies = json!({"default_attributes": {"default_late_fee_cents": 1_500}});
        for (name, value) in life.as_object().expect("an object") {
            policies[name] = value.clone();
        }
        let form = json!({
            "product_id": id,
            "product_overview": {"product_name": format!("Product {id}"), "product_type": "INSTALLMENT"},
            "product_lifecycle_policies": policies,
            "post_promotional_policies": {"post_promo_len": 12, "post_promo_default_interest_rate_percent": 12},
            "admin": {"migration_mode": holds},
        });
        json_of(self.service.create_product(&self.who, None, form_of(&form)).await);
    }

    /// The number of messages announced.
    pub async fn log(&self) -> usize {
        let longest = daybook_service::paging::Paging { limit: 200, ..Default::default() };
        let mut count = 0;
        for account in view_of(self.service.list_accounts(&self.who, longest, Default::default()).await)["results"]
            .as_array()
            .expect("a list")
        {
            let id = account["account_id"].as_str().expect("an id");
            let longest = daybook_service::paging::Paging { limit: 200, ..Default::default() };
            let events = view_of(self.service.list_account_events(&self.who, id, longest).await);
            let webhooks = |event: &Value| event["webhooks"].as_array().map_or(0, Vec::len);
            count += events["results"].as_array().expect("a list").iter().map(webhooks).sum::<usize>();
        }
        count
    }

    /// Creates a customer.
    pub async fn customer(&self, form: &Value) {
        json_of(self.service.create_customer(&self.who, None, form_of(form)).await);
    }

    /// Opens an account over 1,200.00, with additional fields.
    pub async fn account(&self, id: &str, product: &str, effective_at: &str, more: Value) {
        let mut form = json!({
            "account_id": id,
            "product_id": product,
            "effective_at": effective_at,
            "summary": {"initial_principal_cents": 120_000},
        });
        for (name, value) in more.as_object().expect("an object") {
            form[name] = value.clone();
        }
        json_of(self.service.create_account(&self.who, None, form_of(&form)).await);
    }

    /// Records a payment.
    pub async fn pay(&self, account: &str, id: &str, at: &str, cents: i64) {
        let form = json!({"line_item_id": id, "effective_at": at, "original_amount_cents": cents});
        json_of(self.service.change_account(&self.who, None, account, ChangeRequest::Payment(form_of(&form))).await);
    }

    /// A product `loan`; a customer `ann` and her account `a1`, which missed two instalments; an account `a2` whose
    /// customer and external field have malicious values; and a customer without an account.
    pub async fn filled() -> ConsoleSetup {
        let setup = ConsoleSetup::new().await;
        setup.product("loan", json!({}), false).await;
        setup
            .customer(
                &json!({"customer_id": "ann", "name_first": "Ann", "name_last": "Lee", "email": "ann@example.com"}),
            )
            .await;
        setup.customer(&json!({"customer_id": "mallory", "name_last": SCRIPT, "ssn": "123-45-6789"})).await;
        setup.customer(&json!({"customer_id": "shop", "business_details": {"business_name": FORMULA}})).await;
        let assigned = |customer: &str| json!([{"customer_id": customer}]);
        setup.account("a1", "loan", "2025-01-15T09:00:00-05:00", json!({"assign_customers": assigned("ann")})).await;
        let more = json!({
            "assign_customers": assigned("mallory"),
            "external_fields": [{"key": "ref", "value": FORMULA}, {"key": "note", "value": SCRIPT}],
        });
        setup.account("a2", "loan", "2025-02-20T09:00:00-05:00", more).await;
        setup.settle().await;
        setup
    }
}

/// Creates the user of an invite link.
async fn accept(service: &Service, link: &str, name: &str) -> Session {
    let email = format!("{}@example.com", name.to_lowercase());
    let new = NewPerson { name: name.to_owned(), email, password: PASSWORD.to_owned() };
    service.accept(link, new, None).await.expect("the link works")
}

/// Fields as browsers send them.
pub fn encoded(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Checks that no malicious name became an element of the page.
#[track_caller]
pub fn assert_harmless(page: &str) {
    assert!(!page.contains("<script>alert"), "a name runs in the page");
}
