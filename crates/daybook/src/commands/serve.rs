//! `daybook serve`: the server, from start to shutdown.
//!
//! ```text
//! settings ─► lock ─► listen ─► database ─► key ─► service ─► organization ─► refold ─► demo ─► timers ─► ready
//!                                                                                                           │
//!                          lock released ◄─ service stopped ◄─ calls in flight finished ◄─ SIGTERM, SIGINT ◄┘
//! ```
//!
//! It binds its port before it creates anything: if the port is in use, a secret shown only once is not lost. Early
//! requests wait; the lock file and the ready line announce when they no longer do. What a first start shows only once
//! ([`super::first_start_secrets`]) is shown last, below the log of the demo data; a start that fails or is stopped
//! shows it too.

use super::control::{public_url, welcome_link};
use super::first_start_secrets::FirstStartSecrets;
use super::listeners::{Listeners, warn_if_readable, warn_of_links_by_host};
use super::opening::{KeyWithoutDatabase, PATIENCE, make_file, make_store, start_with_key, watch_clock};
use super::{Failure, control, demo, print, say, sending, settings, variables, wait_for};
use crate::cli::ServeFlags;
use crate::config::Settings;
use crate::config::values::{Environment, LogFormat};
use crate::instance::{self, DatabaseLock};
use crate::listener::HttpServer;
use crate::listener::front::Front;
use crate::listener::limits::ListenerLimits;
use crate::listener::tls::Tls;
use crate::logging::{self, Style};
use crate::memory;
use crate::secrets_file::mint_secret;
use axum::Router;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use daybook_api::{ApiSettings, ExtraMetrics};
use daybook_clock::{Clock, System};
use daybook_console::ConsoleSettings;
use daybook_metrics::process::Process;
use daybook_operations::Operation;
use daybook_service::Service;
use daybook_service::organizations::{Bootstrap, FirstKey};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The time limit for requests in progress after a stop signal.
const FAREWELL: Duration = Duration::from_secs(30);

/// Serves until it is stopped.
pub fn run(flags: &ServeFlags) -> Result<(), Failure> {
    let settings = settings(flags.common.config.as_deref(), flags.given())?.settings;
    logging::start_for_server(&Style::of(&settings)).map_err(Failure::Failed)?;
    variables::warn_of_unknown();
    // The lock outlives the runtime, and with it every thread that uses the database.
    let mut held = settings.sqlite_path().map(instance::take).transpose()?;
    wait_for(serve(&settings, flags, held.as_mut()))
}

async fn serve(settings: &Settings, flags: &ServeFlags, held: Option<&mut DatabaseLock>) -> Result<(), Failure> {
    let listeners = Listeners::open(settings)?;
    let url = public_url(settings, listeners.address());
    let lone_key = KeyWithoutDatabase::look(settings, flags.new_book);
    if let Some(path) = settings.sqlite_path() {
        lone_key.check_file(path)?;
        make_file(path)?;
    }
    let store = make_store(&settings.database, PATIENCE).await?;
    lone_key.check_store(settings, &*store).await?;
    let clock = watch_clock(settings, &*store, flags.confirm_clock).await?;
    if let Some(trouble) = clock.standing() {
        tracing::error!(%trouble, "processing is paused: the time cannot be trusted");
    }
    let sender = sending::sender(settings)?;
    let service = start_with_key(settings, store, clock.clone()).await?.with_sender(sender);
    service.begin_muting(flags.muted).await?;
    // From here on, a start that is stopped still shows what is shown only once.
    let mut stop = Stop::listen()?;
    let mut secrets_shown = FirstStartSecrets::of(settings);
    begin(settings, &service, &url, &mut secrets_shown).await?;
    secrets_shown.remind();
    warn_if_readable(settings, &service, listeners.address()).await?;
    warn_of_links_by_host(settings, listeners.address());
    tokio::select! {
        filled = fill(settings, &service) => filled?,
        () = stop.told() => {
            service.stop().await;
            tracing::info!("stopped before it was ready");
            return Ok(());
        }
    }
    service.run_clock_watch(clock);
    service.run_mute_watch();
    service.run_tables_watch();
    service.run_message_compression();
    service.run_timers();
    if let Some(rate) = settings.verify_rate {
        service.run_verifying(rate);
    }
    service.run_webhooks(sending::settings(settings))?;

    let http_server = HttpServer::new(ListenerLimits::of(settings), Front::of(settings));
    let api = ApiSettings {
        rate_limit_per_second: settings.rate_limit,
        extra_metrics: Some(metrics_of(&http_server, listeners.tls())),
        ..ApiSettings::default()
    };
    let mut router = daybook_api::router(service.clone(), api);
    router = router
        .merge(daybook_console::router(service.clone(), ConsoleSettings { public_url: settings.public_url.clone() }));
    if let Some(held) = held {
        let token = control_token()?;
        router = router.merge(control::route(service.clone(), &token, &url));
        let (calls, orders) = listeners.urls_of_commands();
        let announced = held.announce([&url, &calls, &orders], &token);
        announced.map_err(|error| Failure::Failed(format!("the lock file cannot be written: {error}")))?;
    }
    secrets_shown.show();
    if settings.log_format == LogFormat::Json {
        tracing::info!(url = listeners.url(), "ready");
    }
    print(&format!("daybook ready on {}\n", listeners.url()))?;
    answer_until_stopped(&http_server, listeners, router, stop).await?;
    service.stop().await;
    tracing::info!("stopped");
    Ok(())
}

/// The metrics of connections, the certificate, the process, its memory and the log, for `/metrics`.
fn metrics_of(http_server: &Arc<HttpServer>, tls: Option<Arc<Tls>>) -> ExtraMetrics {
    let (http_server, process) = (http_server.clone(), Process::default());
    ExtraMetrics(Arc::new(move || {
        let certificate = tls.as_ref().map(|tls| tls.metrics()).unwrap_or_default();
        let process = [process.families(http_server.now()), memory::metrics()].concat();
        [http_server.metrics(), certificate, process, logging::metrics()].concat()
    }))
}

/// Creates the first organization, key and console user.
async fn begin(
    settings: &Settings,
    service: &Service,
    url: &str,
    secrets_shown: &mut FirstStartSecrets,
) -> Result<(), Failure> {
    let bootstrap = Bootstrap {
        environment: match settings.environment {
            Environment::Test => "TEST".to_owned(),
            Environment::Live => "LIVE".to_owned(),
        },
        client_id: settings.bootstrap_client_id.clone(),
        client_secret: settings.bootstrap_client_secret.as_ref().map(|secret| secret.expose().to_owned()),
    };
    // Kept before anything else can fail: the secret cannot be recovered later.
    if let Some(key) = service.bootstrap(&bootstrap).await? {
        secrets_shown.keep(&welcome(url, &key), key.client_secret.is_some());
    }
    if let Some(entrance) = entrance(settings, service, url).await? {
        secrets_shown.keep(&entrance, settings.bootstrap_password.is_none());
    }
    Ok(())
}

/// Recomputes accounts processed under earlier rules, completes the search index, applies newer time-zone data, loads
/// demo data, and counts in advance what pages show.
async fn fill(settings: &Settings, service: &Service) -> Result<(), Failure> {
    super::migrate::refold(service).await?;
    service.fill_in_words().await?;
    service.adopt_zone_data().await?;
    if settings.demo {
        let loaded = demo::load(service, System.now()).await?;
        match settings.log_format {
            LogFormat::Text => say(&format!("{loaded}\n\n")),
            LogFormat::Json => tracing::info!("{loaded}"),
        }
    }
    service.count_portfolios_ahead().await?;
    Ok(())
}

/// Ensures that a user can sign in to the console. Returns the instructions, or `None` if a user exists.
async fn entrance(settings: &Settings, service: &Service, url: &str) -> Result<Option<String>, Failure> {
    if let (Some(email), Some(password)) = (&settings.bootstrap_email, &settings.bootstrap_password) {
        let is_made = service.first_person(email, password.expose()).await?;
        return Ok(is_made.then(|| {
            format!(
                "{email} can sign in to the console with the password you chose:\n\n  Console        {url}/console\n\n"
            )
        }));
    }
    let token = service.first_link().await?;
    Ok(token.map(|token| {
        format!(
            "Sign in to the console with this link. It works once, within 7 days; `daybook people link` makes another.\n\n  \
             Console        {}\n\n",
            welcome_link(url, &token)
        )
    }))
}

fn welcome(url: &str, key: &FirstKey) -> String {
    let (shown, bearer) = match &key.client_secret {
        Some(secret) => (format!("{secret}   (shown only once)"), secret.as_str()),
        None => ("(the one you chose)".to_owned(), "$DAYBOOK_BOOTSTRAP_CLIENT_SECRET"),
    };
    format!(
        "This is the first start. Keep these:\n\n  \
         API            {url}\n  \
         Documentation  {url}/docs\n  \
         OpenAPI        {url}/openapi.json\n  \
         Client id      {}\n  \
         Client secret  {shown}\n\n\
         Try it:\n\n  \
         curl -H \"Authorization: Bearer {bearer}\" {url}{}\n\n",
        key.client_id,
        Operation::ListProducts.path()
    )
}

fn control_token() -> Result<String, Failure> {
    let bytes = mint_secret();
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The signals that stop a server or a tool.
pub(super) struct Stop {
    terminate: Signal,
    interrupt: Signal,
    /// A closed terminal stops a tool, but not a server, unless the system ends it.
    hangup: Option<Signal>,
}

impl Stop {
    /// Handles the signals from now on; they no longer end the process immediately.
    pub(super) fn listen() -> Result<Stop, Failure> {
        let (terminate, interrupt) = (hear(SignalKind::terminate())?, hear(SignalKind::interrupt())?);
        Ok(Stop { terminate, interrupt, hangup: None })
    }

    /// The same for a tool.
    pub(super) fn of_a_tool() -> Result<Stop, Failure> {
        let hangup = if is_hangup_ignored() { None } else { Some(hear(SignalKind::hangup())?) };
        Ok(Stop { hangup, ..Stop::listen()? })
    }

    /// Waits for a signal.
    pub(super) async fn told(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = hung_up(self.hangup.as_mut()) => {}
        }
    }
}

fn hear(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::Failed(format!("signals cannot be handled: {error}")))
}

async fn hung_up(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether SIGHUP is ignored, as under `nohup`: handling the signal would undo that.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}

/// Serves requests. After a stop signal, accepts no more and finishes those in progress; after a second one, or the
/// time limit, stops at once.
async fn answer_until_stopped(
    http_server: &Arc<HttpServer>,
    listeners: Listeners,
    router: Router,
    mut stop: Stop,
) -> Result<(), Failure> {
    let (closing, closed) = tokio::sync::watch::channel(false);
    let mut serving = tokio::spawn(listeners.serve(http_server.clone(), router, closed));
    let failed = |error| Failure::Failed(format!("the server failed: {error}"));
    tokio::select! {
        ended = &mut serving => return ended.map_err(failed),
        () = http_server.close_overdue() => {}
        () = stop.told() => {}
    }
    tracing::info!("stopping: finishing the requests in flight");
    closing.send_replace(true);
    tokio::select! {
        ended = &mut serving => ended.map_err(failed),
        () = http_server.close_overdue() => Ok(()),
        () = stop.told() => Ok(()),
        () = tokio::time::sleep(FAREWELL) => {
            tracing::warn!("some requests did not finish in time; their connections are closed");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_secret_is_not_shown() {
        let key = FirstKey { client_id: "mine".to_owned(), client_secret: None };
        let text = welcome("http://127.0.0.1:80", &key);
        assert!(text.contains("Client id      mine\n"), "{text}");
        let curl = "curl -H \"Authorization: Bearer $DAYBOOK_BOOTSTRAP_CLIENT_SECRET\" http://127.0.0.1:80/products\n";
        assert!(text.contains(curl), "{text}");
    }
}
