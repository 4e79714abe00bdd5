//! A server to call, and helpers to call it.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use daybook_api::ApiSettings;
use daybook_clock::Manual;
use daybook_engine::time::Time;
use daybook_service::Service;
use daybook_service::organizations::Bootstrap;
use daybook_service::webhooks::guard::{Guard, Resolve};
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt as _;

/// The first key's secret.
pub const ADMIN: &str = "the-secret-of-the-first-key-of-all";

/// Resolves every name to one public address, without a network.
#[derive(Debug)]
struct Names;

#[async_trait::async_trait]
impl Resolve for Names {
    async fn addresses(&self, _: &str, port: u16) -> std::io::Result<Vec<std::net::SocketAddr>> {
        Ok(vec![([93, 184, 215, 14], port).into()])
    }
}

/// A server with one organization and a clock.
pub struct Server {
    pub router: Router,
    pub service: Service,
    pub clock: Arc<Manual>,
}

/// The response to a call.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Got {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// A header.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("a header is text"))
    }

    /// The body, if the call created something.
    #[track_caller]
    pub fn created(&self) -> Value {
        assert_eq!(self.status, 201, "{}", self.text);
        self.json()
    }

    /// The body, if the call succeeded.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        self.json()
    }

    /// Checks status and code, and returns the error.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        let body = self.json();
        assert_eq!(body["error"]["code"], code, "{body}");
        assert_eq!(body["error"]["help_url"], format!("/docs/errors/{code}"));
        assert!(body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
        assert!(body["error"]["details"].is_array(), "{body}");
        assert_eq!(self.header("content-type"), "application/json");
        body["error"].clone()
    }

    /// Checks that one field is named, and returns the rule.
    #[track_caller]
    pub fn refused_field(&self, status: u16, field: &str) -> String {
        let error = self.refused(status, "invalid_request");
        assert_eq!(error["details"][0]["field"], field, "{error}");
        error["details"][0]["message"].as_str().expect("a detail has a message").to_owned()
    }
}

/// An empty database: in memory, or with `DAYBOOK_API_DATABASE=postgres` on a PostgreSQL server for tests.
fn database() -> String {
    match std::env::var("DAYBOOK_API_DATABASE").as_deref() {
        Ok("postgres") => daybook_testkit::postgres::Server::shared().migrated_database(),
        Ok(other) => panic!("DAYBOOK_API_DATABASE is {other}: it may be postgres, or not be set"),
        Err(_) => "sqlite::memory:".to_owned(),
    }
}

impl Server {
    /// A server at noon of the first of June 2025, UTC.
    pub async fn start() -> Server {
        Server::with(ApiSettings::default(), "TEST").await
    }

    /// A server with settings, in an environment.
    pub async fn with(settings: ApiSettings, environment: &str) -> Server {
        Server::on(&database(), settings, environment).await
    }

    /// A server on the database at an address.
    pub async fn on(address: &str, settings: ApiSettings, environment: &str) -> Server {
        let clock = Arc::new(Manual::at(Time::parse("2025-06-01T12:00:00Z").expect("a time")));
        let service = Service::open(address, clock.clone(), &[7; 32]).await.expect("it starts");
        let bootstrap = Bootstrap {
            environment: environment.to_owned(),
            client_id: Some("first".to_owned()),
            client_secret: Some(ADMIN.to_owned()),
        };
        let service = service.with_guard(Guard::default(), Arc::new(Names));
        service.bootstrap(&bootstrap).await.expect("the first organization is made");
        Server { router: daybook_api::router(service.clone(), settings), service, clock }
    }

    /// Sends a request.
    pub async fn send(&self, request: Request<Body>) -> Got {
        let response = self.router.clone().oneshot(request).await.expect("the router always answers");
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.expect("a body in memory");
        let text = String::from_utf8(bytes.to_vec()).expect("answers are text");
        Got { status: parts.status.as_u16(), headers: parts.headers, text }
    }

    /// Calls with a key, headers and a body, all as given.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Got {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(body)).expect("a request")).await
    }

    /// Calls with JSON as the administrator.
    pub async fn json(&self, method: &str, path: &str, body: Value) -> Got {
        let body = body.to_string().into_bytes();
        self.call(method, path, Some(ADMIN), &[("content-type", "application/json")], body).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Got {
        self.json("POST", path, body).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Got {
        self.json("PUT", path, body).await
    }

    pub async fn get(&self, path: &str) -> Got {
        self.call("GET", path, Some(ADMIN), &[], Vec::new()).await
    }

    pub async fn delete(&self, path: &str) -> Got {
        self.call("DELETE", path, Some(ADMIN), &[], Vec::new()).await
    }

    /// Creates a key with a role: its id and its secret.
    pub async fn key(&self, role: &str) -> (String, String) {
        let key = self.post("/organization/keys", json!({"name": "a key", "role": role})).await.ok();
        let text = |name: &str| key[name].as_str().expect("a key has it").to_owned();
        (text("client_id"), text("client_secret"))
    }

    /// Subscribes a URL.
    pub async fn subscription(&self, url: &str) -> Value {
        self.put("/organization/subscribe", json!({"webhook_url": url})).await.created()
    }

    /// Creates a product of 12 instalments at 12 % in New York.
    pub async fn product(&self, id: &str) -> Value {
        let body = json!({
            "product_id": id,
            "product_overview": {"product_name": "Auto 12", "product_type": "INSTALLMENT"},
            "post_promotional_policies": {"post_promo_len": 12, "post_promo_default_interest_rate_percent": 12.0}
        });
        self.post("/products", body).await.ok()
    }

    /// Opens an account of 1,200.00 lent in January 2025.
    pub async fn account(&self, id: &str, product: &str) -> Value {
        let body = json!({
            "account_id": id, "product_id": product, "effective_at": "2025-01-15T09:00:00-05:00",
            "summary": {"initial_principal_cents": 120_000}
        });
        self.post("/accounts", body).await.ok()
    }

    /// A server with the product `p` and the account `a`.
    pub async fn with_account() -> Server {
        let server = Server::start().await;
        server.product("p").await;
        server.account("a", "p").await;
        server
    }
}
