//! Watching the clock: it is compared with the database's own, and with the latest moment that the database knows.
//!
//! Everything that happens by itself happens by the clock: a wrong clock charges fees that are not owed yet. So a
//! server compares its clock before it does anything ([`begin`]) and every second from then on. While the clock cannot be
//! trusted ([`Clock::trouble`]) timers stand still, writes are refused and `/readyz` says why; reading goes on. What is in
//! trouble and what is merely corrected is decided by [`Watched`].
//!
//! The latest moment that the database knows is noted every few seconds while all is well. A start whose clock is far
//! ahead of it is refused until it is confirmed: the server may have been off for so long, or the clock may be wrong, and
//! only a person knows which.

use crate::Service;
use crate::lock::lock;
use crate::problem::Problem;
use daybook_clock::{Clock, Trouble, WORTH_A_WARNING, Watched};
use daybook_engine::time::Time;
use daybook_store::Store;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How often the clock is compared.
const COMPARE_EVERY: Duration = Duration::from_secs(1);
/// How often the latest moment is noted, in microseconds.
const NOTE_EVERY_MICROS: i64 = 15_000_000;

/// Refuses what must not be done while the time cannot be trusted.
pub(crate) fn trusted(clock: &dyn Clock) -> Result<(), Problem> {
    match clock.trouble() {
        None => Ok(()),
        Some(why) => Err(Problem::unavailable(format!("nothing is processed, as the time is in doubt: {why}"))),
    }
}

/// Compares a clock once, before anything is done by it. A jump ahead is refused, unless it is confirmed: then what the
/// clock shows is the latest moment known, be it earlier than what was.
pub async fn begin(store: &dyn Store, watched: &Watched, is_confirmed: bool) -> Result<(), Problem> {
    compare(store, watched).await?;
    if matches!(watched.standing(), Some(Trouble::Skew(_))) {
        // It is not the time that the database has: there is nothing to confirm.
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

/// Compares a clock with the database's, or where that has none with the time that passes.
pub async fn compare(store: &dyn Store, watched: &Watched) -> Result<(), Problem> {
    let before = watched.before();
    match store.database_time().await? {
        Some(time) => {
            if !watched.compare(before, time) {
                tracing::debug!("the database took too long to say what time it is");
            }
        }
        None => watched.compare_alone(),
    }
    Ok(())
}

/// Notes that a moment has come, while the clock can be trusted.
async fn note(store: &dyn Store, watched: &Watched) -> Result<(), Problem> {
    if watched.standing().is_none() {
        store.note_moment(watched.now(), false).await?;
    }
    Ok(())
}

impl Service {
    /// Whether work can be done: the time can be trusted.
    pub fn check_clock(&self) -> Result<(), Problem> {
        trusted(&*self.clock)
    }

    /// Watches a clock from now on, which is the one that this service was started with.
    pub fn run_clock_watch(&self, watched: Arc<Watched>) {
        let watching = keep_comparing(self.store.clone(), watched, self.stop.subscribe());
        lock(&self.running).push(tokio::spawn(watching));
    }
}

/// What was said about the clock.
#[derive(Default)]
struct Told {
    trouble: bool,
    offset: bool,
}

impl Told {
    /// Tells what changed.
    fn tell(&mut self, watched: &Watched) {
        match watched.standing() {
            Some(trouble) if !self.trouble => tracing::error!(%trouble, "nothing is processed: the time is in doubt"),
            None if self.trouble => tracing::info!("the clock can be trusted again: work goes on"),
            _ => {}
        }
        self.trouble = watched.standing().is_some();
        let offset = watched.offset_micros().unwrap_or(0);
        let is_far = offset.unsigned_abs() > WORTH_A_WARNING.as_micros() as u64;
        if is_far && !self.offset && !self.trouble {
            let offset_ms = offset / 1_000;
            tracing::warn!(offset_ms, "this machine's clock is off; times are corrected by the difference");
        }
        self.offset = is_far;
    }
}

async fn keep_comparing(store: Arc<dyn Store>, watched: Arc<Watched>, mut stop: watch::Receiver<bool>) {
    let mut told = Told::default();
    let mut noted: Option<Time> = None;
    while !*stop.borrow() {
        if let Err(problem) = compare(&*store, &watched).await {
            tracing::debug!(%problem, "the clock was not compared");
        }
        told.tell(&watched);
        let now = watched.now();
        if noted.is_none_or(|noted| now >= noted.plus_micros(NOTE_EVERY_MICROS)) {
            match note(&*store, &watched).await {
                Ok(()) => noted = Some(now),
                Err(problem) => tracing::debug!(%problem, "the moment was not noted"),
            }
        }
        tokio::select! {
            () = tokio::time::sleep(COMPARE_EVERY) => {}
            _ = stop.changed() => {}
        }
    }
    if let Err(problem) = note(&*store, &watched).await {
        tracing::debug!(%problem, "the last moment was not noted");
    }
}
