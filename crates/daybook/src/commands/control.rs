//! How a command changes the database: directly, or through the server that holds it.
//!
//! ```text
//! command ─► lock free?  ── yes ─► take it, start a service, execute the order
//!               │
//!               no ─► lock file: the URL and token of the server ─► POST /admin/control ─► execute the order
//! ```
//!
//! Only one process writes to a SQLite database. So an [`Order`] is data, executed by the process that holds the
//! database; the result is the same either way. PostgreSQL needs neither the lock nor the control endpoint. The server
//! creates a new token at each start and stores it in a file that only the owner of the database can read.

mod client;

pub use client::check_ready;

use super::opening::open_service;
use super::{Failure, wait_for};
use crate::config::Settings;
use crate::instance::{self, NotTaken, RunningServer};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use daybook_service::Service;
use daybook_service::access::{LENT_MICROS, Role};
use daybook_service::form;
use daybook_service::problem::Problem;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The path of the control endpoint.
pub const PATH: &str = "/admin/control";
/// The header with the token.
const TOKEN_HEADER: &str = "x-daybook-control-token";
/// The number of attempts to read where the lock's holder listens, and the pause between them.
const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// An operation on the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// Creates an organization and its first key.
    CreateOrganization {
        /// Its name.
        name: String,
        /// `TEST` or `LIVE`.
        environment: String,
    },
    /// Lists organizations.
    ListOrganizations,
    /// Creates a key.
    CreateKey {
        /// The organization.
        organization: Option<String>,
        /// Its name.
        name: String,
        /// Its role.
        role: String,
    },
    /// Lists keys.
    ListKeys {
        /// The organization.
        organization: Option<String>,
    },
    /// Revokes a key.
    RevokeKey {
        /// The organization.
        organization: Option<String>,
        /// The id of the key.
        client_id: String,
    },
    /// Lends a key to the command, or extends its lifetime.
    LendKey {
        /// The organization.
        organization: Option<String>,
        /// The id, chosen by the command.
        client_id: String,
        /// The secret, chosen by the command.
        client_secret: String,
    },
    /// Ends the lending of a key.
    TakeKeyBack {
        /// The secret, chosen by the command.
        client_secret: String,
    },
    /// Creates an invite link for the console.
    LinkPerson {
        /// The organization.
        organization: Option<String>,
        /// The role of the invited user.
        role: String,
    },
    /// Resets a user's password.
    ResetPassword {
        /// The organization.
        organization: Option<String>,
        /// The user's email address.
        email: String,
    },
    /// Lists the console users.
    ListPeople {
        /// The organization.
        organization: Option<String>,
    },
    /// Rolls an account.
    Roll {
        /// The organization.
        organization: Option<String>,
        /// The body of `PATCH /admin/roll/account`.
        roll: Value,
    },
    /// Mutes the database: no messages, no timers.
    Mute,
    /// Unmutes the database: pending messages and timers are processed.
    Unmute {
        /// Only report what is pending.
        dry_run: bool,
    },
    /// Writes the history of an account as a test case.
    WriteCase {
        /// The organization.
        organization: Option<String>,
        /// The account.
        account_id: String,
    },
}

impl Order {
    /// Executes the order in the process that holds the database and returns the result.
    pub fn get_done(&self, settings: &Settings) -> Result<Value, Failure> {
        let Some(path) = settings.sqlite_path() else { return self.do_here(settings) };
        match holder(path)? {
            None => Err(Failure::Failed(format!("there is no database at {}: start the server once", path.display()))),
            Some(DatabaseHolder::Me(held)) => {
                let answer = self.do_here(settings);
                drop(held);
                answer
            }
            Some(DatabaseHolder::Server(server)) => client::ask(&server, self),
        }
    }

    fn do_here(&self, settings: &Settings) -> Result<Value, Failure> {
        wait_for(async {
            let service = open_service(settings).await?;
            if matches!(self, Order::Roll { .. }) {
                service.check_zones().await?;
            }
            let answer = self.carry_out(&service, &public_url(settings, settings.listen)).await;
            service.stop().await;
            Ok(answer?)
        })
    }

    /// Executes the order. `url` is the server's public URL.
    async fn carry_out(&self, service: &Service, url: &str) -> Result<Value, Problem> {
        match self {
            Order::CreateOrganization { name, environment } => {
                let key = service.create_organization_with_key(name, environment).await?;
                let secret = key.client_secret;
                Ok(
                    json!({ "name": name, "environment": environment, "client_id": key.client_id, "client_secret": secret }),
                )
            }
            Order::ListOrganizations => list_organizations(service).await,
            Order::CreateKey { organization, name, role } => {
                let who = service.operator(organization.as_deref()).await?;
                tree(&service.create_key(&who, parse(&json!({ "name": name, "role": role }))?).await?)
            }
            Order::ListKeys { organization } => {
                let who = service.operator(organization.as_deref()).await?;
                tree(&service.list_keys(&who).await?)
            }
            Order::RevokeKey { organization, client_id } => {
                let who = service.operator(organization.as_deref()).await?;
                tree(&service.revoke_key(&who, client_id).await?)
            }
            Order::LendKey { organization, client_id, client_secret } => {
                let who = service.operator(organization.as_deref()).await?;
                service.lend_key(&who, client_id, client_secret).await?;
                Ok(json!({ "client_id": client_id, "seconds": LENT_MICROS / 1_000_000 }))
            }
            Order::TakeKeyBack { client_secret } => {
                service.take_key_back(client_secret);
                Ok(json!({}))
            }
            Order::LinkPerson { organization, role } => {
                let who = service.operator(organization.as_deref()).await?;
                let rule = || Problem::invalid("role", "must be ADMIN, SERVICING or READ_ONLY");
                let token = service.invite(&who, Role::parse(role).ok_or_else(rule)?).await?;
                let expires_at = service.invitation(&token).await?.expires_at.to_string();
                Ok(json!({ "link": welcome_link(url, &token), "role": role, "expires_at": expires_at }))
            }
            Order::ResetPassword { organization, email } => {
                let who = service.operator(organization.as_deref()).await?;
                let found =
                    service.list_people(&who).await?.into_iter().find(|one| one.email.eq_ignore_ascii_case(email));
                let person = found.ok_or_else(|| Problem::not_found("person", email))?;
                let password = service.reset_password(&who, &person.person_id).await?;
                Ok(json!({ "person_id": person.person_id, "email": person.email, "password": password }))
            }
            Order::ListPeople { organization } => {
                let who = service.operator(organization.as_deref()).await?;
                Ok(json!({ "results": service.list_people(&who).await? }))
            }
            Order::Roll { organization, roll } => {
                let who = service.operator(organization.as_deref()).await?;
                read(&service.roll_account(&who, None, parse(roll)?).await?)
            }
            Order::Mute => Ok(json!(service.mute("`daybook mute` was run").await?)),
            Order::Unmute { dry_run } => unmute(service, *dry_run).await,
            Order::WriteCase { organization, account_id } => {
                let who = service.operator(organization.as_deref()).await?;
                Ok(json!({ "case": daybook_cases::from_account(service, &who, account_id).await? }))
            }
        }
    }
}

async fn list_organizations(service: &Service) -> Result<Value, Problem> {
    let shown = service.organizations().await?.into_iter().map(|organization| {
        let created_at = organization.created_at.to_string();
        json!({
            "number": organization.org,
            "name": organization.name,
            "environment": organization.environment,
            "created_at": created_at,
        })
    });
    Ok(json!({ "results": shown.collect::<Vec<_>>() }))
}

/// Unmutes the installation. A dry run only counts what would be sent.
async fn unmute(service: &Service, dry_run: bool) -> Result<Value, Problem> {
    let muted = service.look_whether_muted().await?;
    let waiting = match (&muted, dry_run) {
        (None, _) => None,
        (Some(_), true) => Some(service.waiting().await?),
        (Some(_), false) => service.unmute().await?,
    };
    Ok(json!({ "muted": muted, "waiting": waiting, "dry_run": dry_run }))
}

/// The URL of an invite.
pub fn welcome_link(url: &str, token: &str) -> String {
    format!("{url}/console/welcome/{token}")
}

/// The server's public URL: the setting, or its listen address.
pub fn public_url(settings: &Settings, address: SocketAddr) -> String {
    let scheme = if settings.tls_cert.is_some() { "https" } else { "http" };
    settings.public_url.clone().unwrap_or_else(|| format!("{scheme}://{}", reachable(address)))
}

/// A loopback address for an unspecified address such as 0.0.0.0.
pub fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let is_v4 = address.is_ipv4();
        address.set_ip(if is_v4 { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    address
}

fn parse<T: serde::de::DeserializeOwned>(body: &Value) -> Result<T, Problem> {
    Ok(form::parse(body.to_string().as_bytes())?)
}

fn read(answer: &[u8]) -> Result<Value, Problem> {
    serde_json::from_slice(answer).map_err(|error| Problem::internal(format!("a response is not JSON: {error}")))
}

fn tree(view: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(view).map_err(|error| Problem::internal(format!("a view cannot be written: {error}")))
}

enum DatabaseHolder {
    Me(instance::DatabaseLock),
    Server(RunningServer),
}

/// The holder of the database: this process, which has just taken the lock, or a server. `None` if there is no
/// database.
fn holder(path: &Path) -> Result<Option<DatabaseHolder>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let mut looks = 0;
    loop {
        looks += 1;
        match instance::take(path) {
            Ok(held) => return Ok(Some(DatabaseHolder::Me(held))),
            Err(NotTaken::Running(_, Some(server))) if server.url.is_some() => {
                return Ok(Some(DatabaseHolder::Server(*server)));
            }
            // A server is starting, or another command is about to finish.
            Err(NotTaken::Running(..)) if looks < LOOKS => thread::sleep(BETWEEN_LOOKS),
            Err(not_taken) => return Err(not_taken.into()),
        }
    }
}

#[derive(Clone)]
struct ControlState {
    service: Service,
    token: Arc<str>,
    url: Arc<str>,
}

/// The control endpoint for commands on the same machine. It is not part of the API.
pub fn route(service: Service, token: &str, url: &str) -> Router {
    Router::new().route(PATH, post(answer)).with_state(ControlState { service, token: token.into(), url: url.into() })
}

async fn answer(State(state): State<ControlState>, headers: HeaderMap, body: Bytes) -> Response {
    let given = headers.get(TOKEN_HEADER).map(|token| token.as_bytes()).unwrap_or_default();
    if !is_same(given, state.token.as_bytes()) {
        return refusal(StatusCode::FORBIDDEN, "the control token is not valid for this start of the server");
    }
    let order: Order = match serde_json::from_slice(&body) {
        Ok(order) => order,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, &format!("the control request is invalid: {error}")),
    };
    let mut done = order.carry_out(&state.service, &state.url).await;
    if done.is_ok() && matches!(order, Order::Mute | Order::Unmute { .. }) {
        done = state.service.follow_mark().await.and(done);
    }
    match done {
        Ok(answer) => axum::Json(answer).into_response(),
        Err(problem) => refusal(StatusCode::UNPROCESSABLE_ENTITY, &Failure::from(problem).to_string()),
    }
}

fn refusal(status: StatusCode, sentence: &str) -> Response {
    (status, axum::Json(json!({ "error": sentence }))).into_response()
}

/// Compares in constant time.
fn is_same(given: &[u8], expected: &[u8]) -> bool {
    let differing = given.iter().zip(expected).fold(0, |differing, (a, b)| black_box(differing | (a ^ b)));
    given.len() == expected.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_is_the_token() {
        assert!(is_same(b"token", b"token"));
        for other in [&b""[..], b"toke", b"tokens", b"Token", b"tokem"] {
            assert!(!is_same(other, b"token"), "{other:?}");
        }
    }

    #[test]
    fn all_addresses_are_reached_by_the_loopback_one() {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        assert_eq!(reachable(address("0.0.0.0:80")), address("127.0.0.1:80"));
        assert_eq!(reachable(address("[::]:80")), address("[::1]:80"));
        assert_eq!(reachable(address("10.0.0.7:80")), address("10.0.0.7:80"));
    }

    #[test]
    fn an_order_is_read_as_it_was_written() {
        let order = Order::RevokeKey { organization: None, client_id: "c".to_owned() };
        let text = serde_json::to_string(&order).expect("an order is JSON");
        assert_eq!(text, r#"{"order":"revoke_key","organization":null,"client_id":"c"}"#);
        assert_eq!(serde_json::from_str::<Order>(&text).expect("it is read"), order);
        assert!(serde_json::from_str::<Order>(r#"{"order":"drop_everything"}"#).is_err());
    }
}
