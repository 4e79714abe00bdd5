//! How a hanging URL affects the others: the time from a message's commit to its arrival.

use super::messages;
use super::receiver::Arrival;
use super::site::Site;
use crate::commands::Failure;
use daybook_clock::{Clock, Stopwatch, System};
use daybook_engine::time::Time;
use daybook_store::batch::{Batch, Unit};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

const EVERY: Duration = Duration::from_millis(10);
const IN_A_SECOND: u64 = 100;
/// The number of rounds. The two measurements alternate, so a slow phase of the machine affects both.
const TURNS: u64 = 2;
/// The time for the dispatcher to start, which is not measured.
const START: Duration = Duration::from_secs(1);
/// The time limit for the last messages.
const LAST: Duration = Duration::from_secs(2);
/// The interval between checks whether they have arrived.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The results with and without a hanging URL.
#[derive(Debug, Default)]
pub struct SideBySide {
    /// Ten URLs that respond.
    pub without: Delays,
    /// Nine URLs that respond and one that hangs.
    pub with: Delays,
}

/// The delays of messages.
#[derive(Debug, Default)]
pub struct Delays {
    /// In microseconds, sorted.
    micros: Vec<i64>,
}

impl Delays {
    /// The number of messages.
    pub fn len(&self) -> usize {
        self.micros.len()
    }

    /// The delay that this percentage of the messages did not exceed.
    pub fn percentile_ms(&self, percent: usize) -> f64 {
        let place = (self.micros.len() * percent / 100).min(self.micros.len().saturating_sub(1));
        self.micros.get(place).map_or(0.0, |micros| *micros as f64 / 1_000.0)
    }

    fn add(&mut self, committed: &HashMap<u64, Time>, arrivals: &[Arrival]) {
        for arrival in arrivals.iter().filter(|arrival| arrival.url < super::MANY - 1) {
            if let Some(at) = committed.get(&arrival.message) {
                // The message may have been sent before the confirmation of its commit.
                self.micros.push((arrival.at_us - at.micros()).max(0));
            }
        }
        self.micros.sort_unstable();
    }
}

/// Measures for this many seconds each, in alternating rounds.
pub async fn measure(site: &mut Site, seconds: u64) -> Result<SideBySide, Failure> {
    let mut both = SideBySide::default();
    for _ in 0..TURNS {
        for hangs in [false, true] {
            let (committed, arrivals) = turn(site, seconds * IN_A_SECOND / TURNS, hangs).await?;
            let delays = if hangs { &mut both.with } else { &mut both.without };
            delays.add(&committed, &arrivals);
            let expected = committed.len() as u64 * (super::MANY - 1);
            let arrived = arrivals.iter().filter(|arrival| arrival.url < super::MANY - 1).count() as u64;
            if arrived < expected {
                return Err(Failure::Failed(format!("only {arrived} of {expected} deliveries arrived in time")));
            }
        }
    }
    Ok(both)
}

async fn turn(site: &mut Site, messages: u64, hangs: bool) -> Result<(HashMap<u64, Time>, Vec<Arrival>), Failure> {
    let paths: Vec<String> = (0..super::MANY)
        .map(|url| if hangs && url == super::MANY - 1 { format!("/hang/{url}") } else { format!("/note/{url}") })
        .collect();
    site.subscribe(&paths).await?;
    let running = site.dispatch()?;
    tokio::time::sleep(START).await;
    let nudge = site.bench.service.nudge();
    let mut committed = HashMap::new();
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for _ in 0..messages {
        ticks.tick().await;
        let number = site.next_message;
        let message = messages::message(number, number, System.now());
        let unit = Unit { messages: vec![(site.org, message)], ..Unit::default() };
        site.bench.store.commit(Batch { units: vec![unit] }).await?;
        committed.insert(number, System.now());
        nudge.announced();
        site.next_message += 1;
    }
    let arrivals = arrivals(site, messages * (super::MANY - 1)).await?;
    running.stop().await?;
    Ok((committed, arrivals))
}

/// All arrivals, once this many have reached the URLs that always respond, or the time is over.
async fn arrivals(site: &mut Site, expected: u64) -> Result<Vec<Arrival>, Failure> {
    let mut arrivals = Vec::new();
    let watch = Stopwatch::start();
    loop {
        arrivals.extend(site.receiver.ask()?.arrivals);
        let arrived = arrivals.iter().filter(|arrival| arrival.url < super::MANY - 1).count() as u64;
        if arrived >= expected || watch.elapsed() >= LAST {
            return Ok(arrivals);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
