//! A portfolio for benchmarks: accounts opened some months ago, with a payment in each month.

use crate::commands::Failure;
use daybook_clock::{Clock, System};
use daybook_engine::calendar::{Day, Interval, MonthEnd, TimeOfDay};
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_service::Service;
use daybook_service::access::Caller;
use daybook_service::changes::ChangeRequest;
use daybook_service::form;
use daybook_service::organizations::Bootstrap;
use daybook_service::view::MigrationState;
use daybook_service::view::time::Local;
use daybook_store::Store;
use daybook_store::records::OrgId;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// How often an unfinished release is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// A release without progress for so long has failed.
const STALLED: Duration = Duration::from_secs(60);

/// The product of all accounts.
pub const PRODUCT: &str = "bench-36";
/// The secrets key of the databases of benchmarks, so that a server can be started on them.
pub const SECRETS_KEY: [u8; 32] = [9; 32];
/// The number of calls in progress at the same time while a portfolio is loaded.
const AT_ONCE: u64 = 512;
/// The instalment of 1,000.00 over 36 months at 12 %: 33.21.
pub const LEVEL_CENTS: i64 = 3_321;

/// A service on a database, and a caller with all rights.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The service.
    pub service: Service,
    /// Its store.
    pub store: Arc<dyn Store>,
    /// The caller.
    pub who: Caller,
}

impl Bench {
    /// Starts a service on a database, which must be empty.
    pub async fn start(address: &str) -> Result<Bench, Failure> {
        Bench::start_at(address, Arc::new(System)).await
    }

    /// Starts a service with this clock on a database, which must be empty.
    pub async fn start_at(address: &str, clock: Arc<dyn Clock>) -> Result<Bench, Failure> {
        let (bench, is_new) = Bench::open(address, clock).await?;
        match is_new {
            true => Ok(bench),
            false => Err(Failure::Failed("the database is not empty: a benchmark needs its own".to_owned())),
        }
    }

    /// Starts a service on a database that a server was started on before.
    pub async fn start_again(address: &str) -> Result<Bench, Failure> {
        Ok(Bench::open(address, Arc::new(System)).await?.0)
    }

    /// Also returns whether the database was empty.
    async fn open(address: &str, clock: Arc<dyn Clock>) -> Result<(Bench, bool), Failure> {
        let store = daybook_store::open(address).await.map_err(|error| Failure::Failed(error.to_string()))?;
        let service = Service::start(store.clone(), clock, &SECRETS_KEY).await.map_err(said)?;
        let bootstrap = Bootstrap { environment: "TEST".to_owned(), ..Bootstrap::default() };
        let is_new = service.bootstrap(&bootstrap).await.map_err(said)?.is_some();
        let who = service.operator(None).await.map_err(said)?;
        Ok((Bench { service, store, who }, is_new))
    }

    /// Creates an API key and returns its secret.
    pub async fn key(&self) -> Result<String, Failure> {
        let form = form_of(&json!({ "name": "bench", "role": "SERVICING" }))?;
        let key = self.service.create_key(&self.who, form).await.map_err(said)?;
        Ok(key.client_secret)
    }

    /// Creates the product, with or without migration mode.
    pub async fn product(&self, holding: bool) -> Result<(), Failure> {
        self.product_of(PRODUCT, 36, holding).await
    }

    /// Creates a product of this many monthly instalments.
    pub async fn product_of(&self, id: &str, months: u64, holding: bool) -> Result<(), Failure> {
        let body = json!({
            "product_id": id,
            "product_overview": { "product_name": id, "product_type": "INSTALLMENT" },
            "post_promotional_policies": { "post_promo_len": months, "post_promo_default_interest_rate_percent": 12 },
            "product_lifecycle_policies": { "default_attributes": { "default_late_fee_cents": 1500 } },
            "admin": { "migration_mode": holding },
        });
        self.service.create_product(&self.who, None, form_of(&body)?).await.map_err(said)?;
        Ok(())
    }

    /// Opens accounts with this many monthly payments each, many at a time.
    pub async fn load(&self, accounts: u64, payments: u64, opened: Time) -> Result<(), Failure> {
        let mut tasks = JoinSet::new();
        for number in 0..accounts {
            if tasks.len() as u64 >= AT_ONCE {
                joined(tasks.join_next().await)?;
            }
            let bench = self.clone();
            tasks.spawn(async move { bench.load_one(number, payments, opened).await });
        }
        while !tasks.is_empty() {
            joined(tasks.join_next().await)?;
        }
        Ok(())
    }

    async fn load_one(&self, number: u64, payments: u64, opened: Time) -> Result<(), Failure> {
        let account = account_id(number);
        self.open_account(PRODUCT, &account, 100_000, opened).await?;
        self.pay_monthly(&account, LEVEL_CENTS, payments, opened).await
    }

    /// Opens an account.
    pub async fn open_account(&self, product: &str, account: &str, cents: i64, opened: Time) -> Result<(), Failure> {
        let body = json!({
            "product_id": product, "account_id": account,
            "effective_at": Local::new(opened, &zone()?).to_string(),
            "summary": { "initial_principal_cents": cents },
        });
        self.service.create_account(&self.who, None, form_of(&body)?).await.map_err(said)?;
        Ok(())
    }

    /// Records a payment in each of the months after the opening.
    pub async fn pay_monthly(&self, account: &str, cents: i64, payments: u64, opened: Time) -> Result<(), Failure> {
        let zone = zone()?;
        let start = zone.day_at(opened);
        for month in 1..=payments {
            let day = start.plus(Interval::months(1), month as i32, MonthEnd::Clamp);
            let at = zone.at(day, TimeOfDay::new(9, 0, 0).unwrap_or(TimeOfDay::END_OF_DAY));
            self.pay(account, &format!("p{month}"), cents, at).await?;
        }
        Ok(())
    }

    /// Records a payment at some time.
    pub async fn pay(&self, account: &str, id: &str, cents: i64, at: Time) -> Result<(), Failure> {
        let body = json!({
            "line_item_id": id, "original_amount_cents": cents, "effective_at": Local::new(at, &zone()?).to_string(),
        });
        let payment = ChangeRequest::Payment(form_of(&body)?);
        self.service.change_account(&self.who, None, account, payment).await.map_err(said)?;
        Ok(())
    }

    /// Begins or ends the migration mode of a product.
    pub async fn hold(&self, product: &str, holding: bool) -> Result<(), Failure> {
        let mode = form_of(&json!({ "migration_mode": holding }))?;
        self.service.set_migration_mode(&self.who, None, product, mode).await.map_err(said)?;
        Ok(())
    }

    /// Ends the migration mode of a product and waits until all its accounts are released.
    pub async fn release(&self, product: &str) -> Result<(), Failure> {
        self.hold(product, false).await?;
        let (mut done, mut quiet) = (0, Duration::ZERO);
        loop {
            // Accounts that are taken and still in a queue are not due: then this returns before they are done.
            self.service.settle_due().await.map_err(said)?;
            let progress = self.service.get_migration_mode(&self.who, product).await.map_err(said)?;
            if progress.state == MigrationState::Normal && progress.failed_accounts.is_empty() {
                return Ok(());
            }
            quiet = if progress.events_done > done { Duration::ZERO } else { quiet + LOOK_AGAIN };
            if quiet > STALLED || progress.state == MigrationState::Normal {
                return Err(Failure::Failed(format!("the release is not done: {progress:?}")));
            }
            done = progress.events_done;
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The organization.
    pub async fn organization(&self) -> Result<OrgId, Failure> {
        let organizations = self.store.organizations().await?;
        let first = organizations.first().map(|organization| organization.org);
        first.ok_or_else(|| Failure::Failed("there is no organization".to_owned()))
    }
}

/// The id of the account with this number.
pub fn account_id(number: u64) -> String {
    format!("loan-{number:07}")
}

/// Midnight this many months ago, in the benchmark's time zone.
pub fn months_ago(months: u64) -> Result<Time, Failure> {
    let today = zone()?.day_at(System.now());
    midnight(today.plus(Interval::months(1), -(months as i32), MonthEnd::Clamp).plus_days(-1))
}

/// Midnight this many days ago, in the benchmark's time zone.
pub fn days_ago(days: i32) -> Result<Time, Failure> {
    midnight(zone()?.day_at(System.now()).plus_days(-days))
}

fn midnight(day: Day) -> Result<Time, Failure> {
    Ok(zone()?.at(day, TimeOfDay::new(0, 0, 0).unwrap_or(TimeOfDay::END_OF_DAY)))
}

fn zone() -> Result<Zone, Failure> {
    Zone::named("America/New_York").ok_or_else(|| Failure::Failed("the New York time zone is unknown".to_owned()))
}

/// A form from JSON.
pub fn form_of<T: serde::de::DeserializeOwned>(value: &serde_json::Value) -> Result<T, Failure> {
    form::parse(value.to_string().as_bytes()).map_err(|bad| Failure::Failed(bad.to_string()))
}

/// The problem as a failure of the command.
pub fn said(problem: daybook_service::problem::Problem) -> Failure {
    Failure::Failed(problem.to_string())
}

fn joined(result: Option<Result<Result<(), Failure>, tokio::task::JoinError>>) -> Result<(), Failure> {
    match result {
        None => Ok(()),
        Some(Ok(result)) => result,
        Some(Err(error)) => Err(Failure::Failed(error.to_string())),
    }
}
