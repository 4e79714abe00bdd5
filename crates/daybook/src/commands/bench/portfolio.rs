//! A portfolio for benchmarks: accounts opened some months ago, with a payment in each month.

use crate::commands::Failure;
use daybook_clock::{Clock, System};
use daybook_engine::calendar::{Interval, MonthEnd, TimeOfDay};
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_service::Service;
use daybook_service::access::Caller;
use daybook_service::changes::ChangeRequest;
use daybook_service::form;
use daybook_service::organizations::Bootstrap;
use daybook_service::view::time::Local;
use daybook_store::Store;
use serde_json::json;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The product of all accounts.
pub const PRODUCT: &str = "bench-36";
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
        let store = daybook_store::open(address).await.map_err(|error| Failure::Failed(error.to_string()))?;
        let clock: Arc<dyn Clock> = Arc::new(System);
        let service = Service::start(store.clone(), clock, &[9; 32]).await.map_err(said)?;
        let bootstrap = Bootstrap { environment: "TEST".to_owned(), ..Bootstrap::default() };
        if service.bootstrap(&bootstrap).await.map_err(said)?.is_none() {
            return Err(Failure::Failed("the database is not empty: a benchmark needs its own".to_owned()));
        }
        let who = service.operator(None).await.map_err(said)?;
        Ok(Bench { service, store, who })
    }

    /// Creates an API key and returns its secret.
    pub async fn key(&self) -> Result<String, Failure> {
        let form = form_of(&json!({ "name": "bench", "role": "SERVICING" }))?;
        let key = self.service.create_key(&self.who, form).await.map_err(said)?;
        Ok(key.client_secret)
    }

    /// Creates the product, with or without migration mode.
    pub async fn product(&self, holding: bool) -> Result<(), Failure> {
        let body = json!({
            "product_id": PRODUCT,
            "product_overview": { "product_name": "Bench 36", "product_type": "INSTALLMENT" },
            "post_promotional_policies": { "post_promo_len": 36, "post_promo_default_interest_rate_percent": 12 },
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
        let zone = zone()?;
        let account = format!("loan-{number:07}");
        let body = json!({
            "product_id": PRODUCT, "account_id": account,
            "effective_at": Local::new(opened, &zone).to_string(),
            "summary": { "initial_principal_cents": 100_000 },
        });
        self.service.create_account(&self.who, None, form_of(&body)?).await.map_err(said)?;
        let start = zone.day_at(opened);
        let calls = (1..=payments).map(|month| {
            let day = start.plus(Interval::months(1), month as i32, MonthEnd::Clamp);
            let at = zone.at(day, TimeOfDay::new(9, 0, 0).unwrap_or(TimeOfDay::END_OF_DAY));
            let body = json!({
                "line_item_id": format!("p{month}"), "original_amount_cents": LEVEL_CENTS,
                "effective_at": Local::new(at, &zone).to_string(),
            });
            let account = account.clone();
            async move {
                self.service
                    .change_account(&self.who, None, &account, ChangeRequest::Payment(form_of(&body)?))
                    .await
                    .map_err(said)
            }
        });
        for call in calls {
            call.await?;
        }
        Ok(())
    }
}

/// Midnight this many months ago, in the benchmark's time zone.
pub fn months_ago(months: u64) -> Result<Time, Failure> {
    let zone = zone()?;
    let today = zone.day_at(System.now());
    let day = today.plus(Interval::months(1), -(months as i32), MonthEnd::Clamp).plus_days(-1);
    Ok(zone.at(day, TimeOfDay::new(0, 0, 0).unwrap_or(TimeOfDay::END_OF_DAY)))
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
