//! The service: the operations on organizations, products, customers and accounts, and the one place through which
//! accounts change.
//!
//! A use case checks the caller's right, validates the form, calls the processor and renders the result. [`form`]s are
//! request bodies; [`view`]s are responses and the content of webhooks ([`webhooks`]). [`account`] is one account in
//! memory and is pure. [`processor`] loads accounts, works on them and writes them, for API requests and timers alike.
//!
//! ```text
//! api, console ─► use case ─► processor ─► account (pure) ─► engine
//!                    │            │
//!                    └── reads ───┴────► store
//! ```
//!
//! | modules | what they do |
//! |---|---|
//! | `accounts`, `customers`, `products`, `line_items`, `notifications` | use cases: what lenders service |
//! | `keys`, `organizations`, `people` | use cases: who may use an installation |
//! | `changes`, `loan_changes` | requests that change an account, as data; reading the changes of a loan |
//! | `rehearsing`, `previews` | the results of such requests, computed in memory and discarded |
//! | `migration`, `rolling`, `previewing` | migration mode, rolling in time, schedules of loans that do not exist yet |
//! | `events`, `history`, `find`, `search_index`, `portfolio`, `paging` | timelines, search, totals, pages of lists |
//! | `policy`, `items`, `catalog` | forms to terms of the engine; rows to line items; cached products |
//! | `access`, `audit`, `withdrawals`, `secrets`, `ids` | rights, the audit trail, encryption, ids |
//! | `problem`, `idempotency` | errors with their codes; responses kept for repeated calls |
//! | `webhooks`, `announcing` | subscriptions and messages; messages that are not about an account |
//! | `verify`, `refold` | comparing accounts with their journals; folding them again by newer rules |
//! | `clockwatch`, `muting`, `superseded` | when a node must not work: clock, muting, newer tables |
//! | `readiness`, `zones` | whether the database accepts a write; newer time-zone data |
//! | `budget`, `call_slots`, `readers` | sharing memory, slots and readers fairly between organizations |
//! | `single_flight`, `group_commit` | slow counts in the background; small writes in one transaction |
//! | `metrics`, `monitoring` | metrics for operators |

pub mod access;
pub mod account;
pub mod accounts;
mod announcing;
pub mod audit;
pub mod budget;
pub mod call_slots;
pub mod catalog;
mod change_requests;
pub mod changes;
pub mod clockwatch;
pub mod customers;
pub mod events;
pub mod find;
pub mod form;
mod group_commit;
pub mod history;
mod idempotency;
pub mod ids;
pub mod items;
pub mod keys;
pub mod line_items;
pub mod loan_changes;
mod lock;
mod message_compression;
pub mod metrics;
pub mod migration;
mod monitoring;
pub mod muting;
pub mod notifications;
pub mod organizations;
pub mod paging;
pub mod people;
pub mod policy;
pub mod portfolio;
pub mod previewing;
mod previews;
pub mod problem;
pub mod processor;
pub mod products;
mod readers;
mod readiness;
pub mod refold;
mod rehearsing;
pub mod rolling;
mod search_index;
pub mod secrets;
mod single_flight;
pub mod superseded;
pub mod verify;
pub mod view;
pub mod webhooks;
mod withdrawals;
pub mod zones;

pub use accounts::AccountQuery;
pub use audit::AuditQuery;
pub use customers::CustomerQuery;
pub use line_items::ItemQuery;
pub use webhooks::deliveries::DeliveryQuery;
pub use webhooks::searching::MessageQuery;

use access::{Access, Caller};
use catalog::Catalog;
use daybook_clock::Clock;
use daybook_store::Store;
use daybook_store::records::ProductKey;
use daybook_webhooks::dispatcher::{Dispatcher, Nudge};
use lock::lock;
use metrics::Metrics;
use problem::Problem;
use processor::timekeeper::Timekeeper;
use processor::{Processor, Shared};
use secrets::Secrets;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use webhooks::Gate;

/// Compiles the body of a public async method once, here. Without it, every crate that awaits the method compiles the body
/// again, with all the methods that it awaits.
pub(crate) use async_recursion::async_recursion as boxed;

/// The setting that identifies the secrets key a database was created with.
pub const FINGERPRINT: &str = "secrets_key_fingerprint";

/// Whether a database was created with another secrets key than this one.
pub async fn has_other_key(store: &dyn Store, secrets_key: &[u8; 32]) -> Result<bool, Problem> {
    let kept = store.setting(FINGERPRINT).await?;
    Ok(kept.is_some_and(|kept| kept != Secrets::new(secrets_key).fingerprint()))
}

/// The service. Cloning is cheap; all clones share their state.
#[derive(Clone, Debug)]
pub struct Service {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) access: Arc<Access>,
    pub(crate) secrets: Secrets,
    pub(crate) passwords: people::Passwords,
    pub(crate) processor: Processor,
    pub(crate) timekeeper: Timekeeper,
    pub(crate) nudge: Nudge,
    pub(crate) gate: Arc<Gate>,
    pub(crate) portfolio: Arc<portfolio::PortfolioCache>,
    pub(crate) held: Arc<single_flight::SingleFlight<ProductKey, migration::Counted>>,
    pub(crate) group_commit: Arc<group_commit::GroupCommit>,
    pub(crate) readers: Arc<readers::Readers>,
    pub(crate) call_slots: Arc<call_slots::CallSlots>,
    readiness: Arc<readiness::Readiness>,
    metrics: Arc<Metrics>,
    stop: Arc<watch::Sender<bool>>,
    /// Background tasks: timers, sending.
    running: Arc<Mutex<Vec<JoinHandle<()>>>>,
    dispatcher: Arc<OnceLock<Dispatcher>>,
    pub(crate) known_mute: Arc<muting::Known>,
    pub(crate) superseded: Arc<superseded::Superseded>,
    monitored: Arc<single_flight::SingleFlight<(), monitoring::Read>>,
    /// Whether callers' actions are recorded. Always true, except to measure the cost of recording.
    pub(crate) keeps_audit_trail: bool,
    /// The largest number of audit records that a search examines for a page.
    pub(crate) most_examined: usize,
}

impl Service {
    /// Opens the database at an address and starts the service over it.
    #[boxed]
    pub async fn open(address: &str, clock: Arc<dyn Clock>, secrets_key: &[u8; 32]) -> Result<Service, Problem> {
        Service::start(daybook_store::open(address).await?, clock, secrets_key).await
    }

    /// Starts the service over a store. Timers do not run yet: see [`Service::run_timers`] and [`Service::settle_due`].
    #[boxed]
    pub async fn start(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        secrets_key: &[u8; 32],
    ) -> Result<Service, Problem> {
        let secrets = Secrets::new(secrets_key);
        let kept = match store.setting(FINGERPRINT).await? {
            Some(kept) => kept,
            None => store.keep_setting(FINGERPRINT, &secrets.fingerprint()).await?,
        };
        if kept != secrets.fingerprint() {
            return Err(Problem::internal(
                "the secrets key does not belong to this database: the secrets in it cannot be decrypted. Restore the \
                 key that belongs to the database, or the database that belongs to the key",
            ));
        }
        let catalog = Arc::new(Catalog::new(store.clone(), secrets.clone()));
        let access = Arc::new(Access::new(store.clone(), clock.clone(), catalog.clone(), secrets.clone()));
        let metrics = Arc::new(Metrics::default());
        let nudge = Nudge::default();
        let superseded: Arc<superseded::Superseded> = Arc::default();
        let shared = Arc::new(Shared {
            store: store.clone(),
            clock: clock.clone(),
            catalog: catalog.clone(),
            access: access.clone(),
            metrics: metrics.clone(),
            nudge: nudge.clone(),
            folding: processor::turns(),
            secrets: secrets.clone(),
            superseded: superseded.clone(),
        });
        let processor = Processor::start(shared.clone());
        let timekeeper = Timekeeper::new(shared, processor.clone());
        let stop = Arc::new(watch::Sender::new(false));
        let (running, dispatcher) = (Arc::default(), Arc::default());
        let gate = Arc::new(Gate::default());
        Ok(Service {
            store,
            clock,
            catalog,
            access,
            secrets,
            passwords: people::Passwords::default(),
            processor,
            timekeeper,
            nudge,
            gate,
            portfolio: Arc::default(),
            held: Arc::default(),
            group_commit: Arc::default(),
            readers: Arc::default(),
            call_slots: Arc::default(),
            readiness: Arc::default(),
            metrics,
            stop,
            running,
            dispatcher,
            known_mute: Arc::default(),
            superseded,
            monitored: Arc::default(),
            keeps_audit_trail: true,
            most_examined: audit::MOST_EXAMINED,
        })
    }

    /// Starts the timers.
    pub fn run_timers(&self) {
        lock(&self.running).push(tokio::spawn(self.timekeeper.clone().run(self.stop.subscribe())));
    }

    /// Processes everything that is due now, including releases. For manual clocks; with a system clock, timers do
    /// this.
    #[boxed]
    pub async fn settle_due(&self) -> Result<(), Problem> {
        while self.timekeeper.tick().await? > 0 {}
        Ok(())
    }

    /// Stops timers and sending, and waits until work in progress is done.
    #[boxed]
    pub async fn stop(&self) {
        self.stop.send_replace(true);
        let running = std::mem::take(&mut *lock(&self.running));
        for task in running {
            // A task that panicked has ended too.
            let _ = task.await;
        }
        if let Err(problem) = self.access.flush().await {
            tracing::warn!(%problem, "the times at which API keys were last used could not be saved");
        }
    }

    /// The caller of a bearer token.
    #[boxed]
    pub async fn authenticate(&self, bearer: &str) -> Result<Caller, Problem> {
        self.access.authenticate(bearer).await
    }

    /// Issues an access token for a client id and secret.
    #[boxed]
    pub async fn issue_token(&self, form: &form::TokenRequest) -> Result<view::Token, Problem> {
        self.access.issue_token(form).await
    }

    /// Returns an error unless the tables match this build, the time can be trusted, and the database accepts a write.
    #[boxed]
    pub async fn ping(&self) -> Result<(), Problem> {
        self.check_tables()?;
        self.check_clock()?;
        self.readiness.check(&*self.store).await
    }

    /// A description of the database, for people.
    #[boxed]
    pub async fn describe_store(&self) -> Result<String, Problem> {
        Ok(self.store.describe().await?)
    }
}
