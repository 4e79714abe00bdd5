//! A muted database: a server on a restored copy sends nothing and runs no timers until an operator unmutes it.
//!
//! A copy of a database has everything its original has, including pending messages and due accounts. A server on the
//! copy would send and process all of that while the original does so too. So a copy carries a mark in the settings of
//! the database ([`mark`]), and a server that finds one is muted: it sends no messages, runs no timers and releases
//! nothing. Reads and writes continue, and their messages stay pending. The mark is set in three ways:
//!
//! | by | how |
//! |---|---|
//! | `daybook backup` | it writes the mark into the copy |
//! | restoring a dump of PostgreSQL | the server sets it at start if the tables are in a different place ([`begin`]) |
//! | `daybook mute`, `daybook serve --muted` | the operator sets it |
//!
//! Only [`Service::unmute`] removes it. The mark is in the database: all nodes follow it within a second.

use crate::Service;
use crate::audit::Act;
use crate::boxed;
use crate::lock::lock;
use crate::organizations::operator;
use crate::problem::Problem;
use daybook_engine::time::Time;
use daybook_metrics::Registry;
use daybook_store::Store;
use daybook_store::audit::NO_ORGANIZATION;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::watch;

/// The setting that marks the database as muted, with the reason.
pub const MUTED: &str = "muted";
/// The setting that records where the tables were when a server last started on them.
const WHEREABOUTS: &str = "whereabouts";
/// How often the mark is checked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The reason for a copy that `daybook backup` made.
pub const OF_A_BACKUP: &str = "it was restored from a copy that `daybook backup` made";
/// The reason for a database whose tables are in a different place.
const OF_A_DUMP: &str = "its tables are not where a server last used them: it was restored from a dump, or moved";

/// The content of the mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Muted {
    /// Since when.
    pub since: String,
    /// The reason, as a sentence about the database.
    pub why: String,
}

/// The work that waits in a muted database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WaitingWork {
    /// Pending messages, counted once per webhook URL.
    pub messages: u64,
    /// The webhook URLs they are for.
    pub urls: u64,
    /// Due accounts.
    pub accounts: u64,
}

/// The mark as this process last saw it.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Option<Muted>>);

/// The encoded mark.
pub fn mark(why: &str, now: Time) -> Vec<u8> {
    let muted = Muted { since: now.to_string(), why: why.to_owned() };
    serde_json::to_vec(&muted).unwrap_or_default()
}

/// Reads the mark of a database. A mark that cannot be parsed counts as well.
pub async fn look(store: &dyn Store) -> Result<Option<Muted>, Problem> {
    let value = store.setting(MUTED).await?;
    let unreadable =
        || Muted { since: "an unknown time".to_owned(), why: "the record of the reason cannot be read".to_owned() };
    Ok(value.map(|value| serde_json::from_slice(&value).unwrap_or_else(|_| unreadable())))
}

/// Reads the mark before the database is served. Sets it if `is_wanted`, or if the database is a restored dump.
pub async fn begin(store: &dyn Store, now: Time, is_wanted: bool) -> Result<Option<Muted>, Problem> {
    if let Some(here) = store.whereabouts().await? {
        let known = store.keep_setting(WHEREABOUTS, here.as_bytes()).await?;
        if known != here.as_bytes() {
            tracing::warn!(
                here,
                before = %String::from_utf8_lossy(&known),
                "the tables are not where a server last used them; the database is muted"
            );
            // The mark is written first, so that an interrupted start finds the same situation again.
            store.keep_setting(MUTED, &mark(OF_A_DUMP, now)).await?;
            store.put_setting(WHEREABOUTS, here.as_bytes(), None).await?;
        }
    }
    if is_wanted {
        store.keep_setting(MUTED, &mark("a server was started with `daybook serve --muted`", now)).await?;
    }
    look(store).await
}

impl Service {
    /// Whether the database is muted, as this process knows it: at most a second old.
    pub fn muted(&self) -> Option<Muted> {
        lock(&self.known_mute.0).clone()
    }

    /// Whether the database is muted, read from it now.
    #[boxed]
    pub async fn look_whether_muted(&self) -> Result<Option<Muted>, Problem> {
        look(&*self.store).await
    }

    /// Mutes the database; servers follow within a second. Returns the mark.
    #[boxed]
    pub async fn mute(&self, why: &str) -> Result<Muted, Problem> {
        if self.look_whether_muted().await?.is_none() {
            let act = Act::on("mute", "database", "").with("why", why);
            let record = self.recorded(&operator(NO_ORGANIZATION, ""), act);
            self.store.put_setting(MUTED, &mark(why, self.clock.now()), record.as_ref()).await?;
        }
        let muted = self.look_whether_muted().await?;
        muted.ok_or_else(|| Problem::internal("the database was not marked as muted"))
    }

    /// Unmutes the database: servers send and process the waiting work within a second. Returns that work; `None` if
    /// the database was not muted.
    #[boxed]
    pub async fn unmute(&self) -> Result<Option<WaitingWork>, Problem> {
        let waiting = self.waiting().await?;
        let record = self.recorded(&operator(NO_ORGANIZATION, ""), Act::on("unmute", "database", ""));
        if !self.store.remove_setting(MUTED, record.as_ref()).await? {
            return Ok(None);
        }
        let WaitingWork { messages, urls, accounts } = waiting;
        tracing::info!(
            messages,
            urls,
            accounts,
            "unmuted by the operator; pending messages are sent and due accounts are processed"
        );
        Ok(Some(waiting))
    }

    /// The work that starts as soon as the database is unmuted.
    #[boxed]
    pub async fn waiting(&self) -> Result<WaitingWork, Problem> {
        let mut waiting =
            WaitingWork { accounts: self.store.count_due(self.clock.now()).await?, ..WaitingWork::default() };
        for organization in self.store.organizations().await? {
            for (_, backlog) in self.store.backlogs(organization.org).await? {
                waiting.messages += backlog.pending;
                waiting.urls += u64::from(backlog.pending > 0);
            }
        }
        Ok(waiting)
    }

    /// Reads the mark before the database is served, and warns if it is muted; `is_wanted` mutes it. Must be called
    /// before timers run and messages are sent.
    #[boxed]
    pub async fn begin_muting(&self, is_wanted: bool) -> Result<(), Problem> {
        let muted = begin(&*self.store, self.clock.now(), is_wanted).await?;
        self.follow(muted);
        Ok(())
    }

    /// Starts to check the mark every second and follow it.
    pub fn run_mute_watch(&self) {
        let watching = keep_looking(self.clone(), self.stop.subscribe());
        lock(&self.running).push(tokio::spawn(watching));
    }

    /// Reads the mark and follows it.
    #[boxed]
    pub async fn follow_mark(&self) -> Result<(), Problem> {
        let muted = look(&*self.store).await?;
        self.follow(muted);
        Ok(())
    }

    fn follow(&self, muted: Option<Muted>) {
        let before = std::mem::replace(&mut *lock(&self.known_mute.0), muted.clone());
        if before.is_some() == muted.is_some() {
            return;
        }
        self.nudge.mute(muted.is_some() || self.superseded.is_so());
        match muted {
            Some(Muted { since, why }) => tracing::warn!(
                since,
                why,
                "muted: no messages are sent and no timers run until `daybook unmute`; requests are answered, and \
                 their messages stay pending"
            ),
            None => {
                tracing::info!("no longer muted: messages are sent and timers run");
                self.timekeeper.wake();
            }
        }
    }

    /// Adds the metric that shows whether the database is muted.
    pub(crate) fn show_mute(&self, figures: &Registry) {
        let help = "1 while the database is muted (no messages are sent, no timers run), as after a restore, else 0";
        figures.value("daybook_muted", help, f64::from(u8::from(self.muted().is_some())));
    }
}

async fn keep_looking(service: Service, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        if let Err(problem) = service.follow_mark().await {
            tracing::debug!(%problem, "it could not be checked whether the database is muted");
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = stop.changed() => {}
        }
    }
}
