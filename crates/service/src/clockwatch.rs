//! Compares the clock with the database's clock and with the latest moment recorded in the database.
//!
//! All timers follow the clock, and a wrong clock charges fees that are not owed yet. So a server compares its clock
//! before it does anything ([`begin`]) and every second after that. While the clock cannot be trusted
//! ([`Clock::trouble`]), timers stop, writes are refused and `/readyz` reports the reason; reads continue. [`Watched`]
//! decides whether a difference is trouble or is only corrected.
//!
//! While the clock is trusted, the current moment is recorded every few seconds. If the clock is far ahead of the
//! latest recorded moment at start, the server refuses to start until an operator confirms the time: either the server
//! was off for that long or the clock is wrong, and only a person can know which.

use crate::Service;
use crate::lock::lock;
use crate::problem::Problem;
use daybook_clock::{Clock, Trouble, WORTH_A_WARNING, Watched};
use daybook_engine::time::Time;
use daybook_store::Store;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The prefix of the reason that callers get while the time cannot be trusted.
pub const CLOCK_IN_DOUBT: &str = "processing is paused because the time cannot be trusted";
/// How often the clock is compared.
const COMPARE_EVERY: Duration = Duration::from_secs(1);
/// How often the current moment is recorded, in microseconds.
const NOTE_EVERY_MICROS: i64 = 15_000_000;

/// Returns an error while the time cannot be trusted.
pub(crate) fn trusted(clock: &dyn Clock) -> Result<(), Problem> {
    match clock.trouble() {
        None => Ok(()),
        Some(why) => Err(Problem::unavailable(format!("{CLOCK_IN_DOUBT}: {why}"))),
    }
}

/// Compares a clock once, before it is used. A jump ahead is refused unless it is confirmed; then the clock's time is
/// recorded as the latest moment, even if it is earlier than the recorded one.
pub async fn begin(store: &dyn Store, watched: &Watched, is_confirmed: bool) -> Result<(), Problem> {
    compare(store, watched).await?;
    if matches!(watched.standing(), Some(Trouble::Skew(_))) {
        // The clock differs from the database's clock: there is no jump to confirm.
        return Ok(());
    }
    if is_confirmed {
        return Ok(store.note_moment(watched.now(), true).await?);
    }
    if let Some(latest) = store.latest_moment().await? {
        watched.jump_from(latest).map_err(|jump| Problem::unavailable(jump.to_string()))?;
        watched.set_latest(Some(latest));
        compare(store, watched).await?;
    }
    Ok(())
}

/// Compares a clock with the database's clock or, if the database has none, with the elapsed time.
pub async fn compare(store: &dyn Store, watched: &Watched) -> Result<(), Problem> {
    let before = watched.before();
    match store.database_time().await? {
        Some(time) => {
            if !watched.compare(before, time) {
                tracing::debug!("the database took too long to return its time; the clocks were not compared");
            }
        }
        None => watched.compare_alone(),
    }
    Ok(())
}

/// Records the current moment, if the clock can be trusted.
async fn note(store: &dyn Store, watched: &Watched) -> Result<(), Problem> {
    if watched.standing().is_none() {
        store.note_moment(watched.now(), false).await?;
    }
    Ok(())
}

impl Service {
    /// Returns an error while the time cannot be trusted.
    pub fn check_clock(&self) -> Result<(), Problem> {
        trusted(&*self.clock)
    }

    /// Starts to watch the clock that this service was started with.
    pub fn run_clock_watch(&self, watched: Arc<Watched>) {
        let watching = keep_comparing(self.store.clone(), watched, self.stop.subscribe());
        lock(&self.running).push(tokio::spawn(watching));
    }
}

/// What was last logged about the clock.
#[derive(Default)]
struct ClockLogState {
    trouble: bool,
    offset: bool,
}

impl ClockLogState {
    /// Logs changes.
    fn tell(&mut self, watched: &Watched) {
        match watched.standing() {
            Some(trouble) if !self.trouble => {
                tracing::error!(%trouble, "processing is paused: the time cannot be trusted");
            }
            None if self.trouble => tracing::info!("the clock can be trusted again; processing resumes"),
            _ => {}
        }
        self.trouble = watched.standing().is_some();
        let offset = watched.offset_micros().unwrap_or(0);
        let is_far = offset.unsigned_abs() > WORTH_A_WARNING.as_micros() as u64;
        if is_far && !self.offset && !self.trouble {
            let offset_ms = offset / 1_000;
            match watched.has_reference() {
                true => tracing::warn!(offset_ms, "this machine's clock is off; times are corrected by the difference"),
                false => tracing::warn!(offset_ms, "this machine's clock was set while the server was running"),
            }
        }
        self.offset = is_far;
    }
}

async fn keep_comparing(store: Arc<dyn Store>, watched: Arc<Watched>, mut stop: watch::Receiver<bool>) {
    let mut told = ClockLogState::default();
    let mut noted: Option<Time> = None;
    while !*stop.borrow() {
        if let Err(problem) = compare(&*store, &watched).await {
            tracing::debug!(%problem, "the clock could not be compared");
        }
        told.tell(&watched);
        let now = watched.now();
        if noted.is_none_or(|noted| now >= noted.plus_micros(NOTE_EVERY_MICROS)) {
            match note(&*store, &watched).await {
                Ok(()) => noted = Some(now),
                Err(problem) => tracing::debug!(%problem, "the current time could not be recorded"),
            }
        }
        tokio::select! {
            () = tokio::time::sleep(COMPARE_EVERY) => {}
            _ = stop.changed() => {}
        }
    }
    if let Err(problem) = note(&*store, &watched).await {
        tracing::debug!(%problem, "the time of the stop could not be recorded");
    }
}
