//! `daybook serve`: the server, from the first look at the settings to the last answer.
//!
//! ```text
//! settings ─► lock ─► listen ─► database ─► key ─► service ─► organization ─► refold ─► demo ─► timers ─► ready
//!                                                                                                           │
//!                            lock let go ◄─ service stopped ◄─ calls in flight finished ◄─ SIGTERM, SIGINT ◄┘
//! ```
//!
//! It listens before it makes anything, so that a port that is taken does not cost a secret that is shown once. Callers
//! who come early wait; the lock file and the ready line say when no request waits. What a first start shows once is
//! shown last, below the log of the demo; a start that fails or is stopped shows it all the same.

use super::control::{reachable, welcome_link};
use super::opening::{PATIENCE, make_file, make_key, make_store, start_service};
use super::{Failure, control, demo, print, say, sending, settings, wait_for};
use crate::cli::ServeFlags;
use crate::config::Settings;
use crate::config::values::Environment;
use crate::instance::{self, Held};
use crate::logging::{self, Style};
use crate::secrets_file::mint_secret;
use axum::Router;
use axum::serve::ListenerExt;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use daybook_api::ApiSettings;
use daybook_clock::{Clock, System};
use daybook_console::ConsoleSettings;
use daybook_service::Service;
use daybook_service::organizations::{Bootstrap, FirstKey};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long calls in flight may take to finish once the server is told to stop.
const FAREWELL: Duration = Duration::from_secs(30);

/// Serves until it is told to stop.
pub fn run(flags: &ServeFlags) -> Result<(), Failure> {
    let settings = settings(flags.common.config.as_deref(), flags.given())?.settings;
    logging::start(&Style::of(&settings)).map_err(Failure::Failed)?;
    // Outlives the runtime, and with it every thread that uses the database.
    let mut held = settings.sqlite_path().map(instance::take).transpose()?;
    wait_for(serve(&settings, held.as_mut()))
}

async fn serve(settings: &Settings, held: Option<&mut Held>) -> Result<(), Failure> {
    let (listener, address) = listen(settings.listen).await?;
    if let Some(path) = settings.sqlite_path() {
        make_file(path)?;
    }
    let store = make_store(&settings.database, PATIENCE).await?;
    let key = make_key(settings, &*store).await?;
    let sender = sending::sender(settings)?;
    let service = start_service(store, &key).await?.with_sender(sender);
    // Heard from here on: a start that is stopped still shows what is shown once.
    let mut stop = Stop::listen()?;
    let mut keepsakes = Keepsakes::default();
    begin(settings, &service, address, &mut keepsakes).await?;
    tokio::select! {
        filled = fill(settings, &service) => filled?,
        () = stop.told() => {
            service.stop().await;
            tracing::info!("stopped before it was ready");
            return Ok(());
        }
    }
    service.run_timers();
    service.run_webhooks(sending::settings(settings))?;

    let mut router = daybook_api::router(
        service.clone(),
        ApiSettings { rate_limit_per_second: settings.rate_limit, ..ApiSettings::default() },
    );
    router = router.merge(daybook_console::router(service.clone(), ConsoleSettings::default()));
    if let Some(held) = held {
        let token = control_token()?;
        let url = format!("http://{}", reachable(address));
        router = router.merge(control::route(service.clone(), &token, &url));
        let announced = held.announce(&url, &token);
        announced.map_err(|error| Failure::Failed(format!("the lock file cannot be written: {error}")))?;
    }
    keepsakes.show();
    print(&format!("daybook ready on http://{address}\n"))?;
    answer_until_stopped(listener, router, stop).await?;
    service.stop().await;
    tracing::info!("stopped");
    Ok(())
}

async fn listen(wanted: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let failed = |error| Failure::Failed(format!("nothing can listen on {wanted}: {error}"));
    let listener = TcpListener::bind(wanted).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// What a first start shows once, such as the first key's secret: shown at the latest when it is dropped.
#[derive(Default)]
struct Keepsakes {
    text: String,
}

impl Keepsakes {
    fn show(&mut self) {
        if !self.text.is_empty() {
            say(&std::mem::take(&mut self.text));
        }
    }
}

impl Drop for Keepsakes {
    fn drop(&mut self) {
        self.show();
    }
}

/// Makes what a first start makes.
async fn begin(
    settings: &Settings,
    service: &Service,
    address: SocketAddr,
    keepsakes: &mut Keepsakes,
) -> Result<(), Failure> {
    let bootstrap = Bootstrap {
        environment: match settings.environment {
            Environment::Test => "TEST".to_owned(),
            Environment::Live => "LIVE".to_owned(),
        },
        client_id: settings.bootstrap_client_id.clone(),
        client_secret: settings.bootstrap_client_secret.as_ref().map(|secret| secret.expose().to_owned()),
    };
    // Kept before anything else can fail: the secret cannot be found out later.
    if let Some(key) = service.bootstrap(&bootstrap).await? {
        keepsakes.text.push_str(&welcome(address, &key));
    }
    if let Some(entrance) = entrance(settings, service, address).await? {
        keepsakes.text.push_str(&entrance);
    }
    Ok(())
}

/// Folds accounts again that earlier rules wrote, loads what a start loads, and counts ahead what pages show.
async fn fill(settings: &Settings, service: &Service) -> Result<(), Failure> {
    super::migrate::refold(service).await?;
    if settings.demo {
        say(&format!("{}\n\n", demo::load(service, System.now()).await?));
    }
    service.count_portfolios_ahead().await?;
    Ok(())
}

/// Sees to it that somebody can come into the console, and says how; nothing if somebody can already.
async fn entrance(settings: &Settings, service: &Service, address: SocketAddr) -> Result<Option<String>, Failure> {
    let url = format!("http://{}", reachable(address));
    if let (Some(email), Some(password)) = (&settings.bootstrap_email, &settings.bootstrap_password) {
        let is_made = service.first_person(email, password.expose()).await?;
        return Ok(is_made.then(|| {
            format!(
                "{email} may come into the console with the password you chose:\n\n  Console        {url}/console\n\n"
            )
        }));
    }
    let token = service.first_link().await?;
    Ok(token.map(|token| {
        format!(
            "Come into the console by this link. It works once, within 7 days; `daybook people link` makes another.\n\n  \
             Console        {}\n\n",
            welcome_link(&url, &token)
        )
    }))
}

fn welcome(address: SocketAddr, key: &FirstKey) -> String {
    let url = format!("http://{}", reachable(address));
    let (shown, bearer) = match &key.client_secret {
        Some(secret) => (format!("{secret}   (shown this once)"), secret.as_str()),
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
         curl -H \"Authorization: Bearer {bearer}\" {url}/products\n\n",
        key.client_id
    )
}

fn control_token() -> Result<String, Failure> {
    let bytes = mint_secret();
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The signals that end a server, or a tool.
pub(super) struct Stop {
    terminate: Signal,
    interrupt: Signal,
    /// A terminal that is closed ends a tool; a server goes on, unless the system ends it.
    hangup: Option<Signal>,
}

impl Stop {
    /// From now on the signals are heard, and no longer end the process by themselves.
    pub(super) fn listen() -> Result<Stop, Failure> {
        let (terminate, interrupt) = (hear(SignalKind::terminate())?, hear(SignalKind::interrupt())?);
        Ok(Stop { terminate, interrupt, hangup: None })
    }

    /// The same for a tool.
    pub(super) fn of_a_tool() -> Result<Stop, Failure> {
        let hangup = if is_hangup_ignored() { None } else { Some(hear(SignalKind::hangup())?) };
        Ok(Stop { hangup, ..Stop::listen()? })
    }

    /// Waits for one.
    pub(super) async fn told(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = hung_up(self.hangup.as_mut()) => {}
        }
    }
}

fn hear(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::Failed(format!("signals cannot be heard: {error}")))
}

async fn hung_up(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether whoever started this wants it to outlive the terminal, as `nohup` does: hearing the signal would undo that.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}

/// Answers calls. Told to stop, takes no more and finishes those in flight; told again, or after a while, does not wait.
async fn answer_until_stopped(listener: TcpListener, router: Router, mut stop: Stop) -> Result<(), Failure> {
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "small answers of a connection may be slow");
        }
    });
    let (closing, mut closed) = tokio::sync::watch::channel(false);
    let told = async move {
        // The other half lives in this function: an error here means that it is over anyway.
        let _ = closed.wait_for(|closed| *closed).await;
    };
    // The console slows guessing by where it comes from.
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(listener, router).with_graceful_shutdown(told).into_future();
    tokio::pin!(serving);
    let failed = |error| Failure::Failed(format!("the server cannot go on: {error}"));
    tokio::select! {
        ended = &mut serving => return ended.map_err(failed),
        () = stop.told() => {}
    }
    tracing::info!("told to stop: finishing what is in flight");
    closing.send_replace(true);
    tokio::select! {
        ended = &mut serving => ended.map_err(failed),
        () = stop.told() => Ok(()),
        () = tokio::time::sleep(FAREWELL) => {
            tracing::warn!("some callers did not finish in time");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_chosen_secret_is_not_shown() {
        let key = FirstKey { client_id: "mine".to_owned(), client_secret: None };
        let text = welcome(address("0.0.0.0:80"), &key);
        assert!(text.contains("Client id      mine\n"), "{text}");
        let curl = "curl -H \"Authorization: Bearer $DAYBOOK_BOOTSTRAP_CLIENT_SECRET\" http://127.0.0.1:80/products\n";
        assert!(text.contains(curl), "{text}");
    }
}
