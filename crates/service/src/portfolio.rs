//! The portfolio page: numbers and statuses of accounts, payments, deliveries, and items that need attention.
//!
//! Most figures are counted on request, through indexes. Slower ones (sums over all accounts, money by day, dead
//! letters; in a large portfolio also the numbers of accounts) are kept, and counted again when they are requested a
//! few seconds later. Callers do not wait long for that: if the count is not done quickly, they get the kept figures
//! with the time they were counted. If no figures are kept yet, callers wait for a small portfolio, and a large one is
//! reported as being counted. So counting begins when the server starts, and when a person signs in.

use crate::Service;
use crate::access::{Caller, Right};
use crate::boxed;
use crate::find::days_past_due;
use crate::policy::DEFAULT_ZONE;
use crate::problem::Problem;
use crate::single_flight::{CountInProgress, SingleFlight};
use crate::view::time::Utc;
use daybook_engine::calendar::{Day, TimeOfDay};
use daybook_engine::item::ItemStatus;
use daybook_engine::status::AccountStanding;
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_store::portfolio_queries::{StatusFigure, Summed};
use daybook_store::records::{OrgId, PageRequest};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// How long figures are returned without counting again.
const FRESH_MICROS: i64 = 5_000_000;
/// The age after which figures are outdated and should be requested again.
const RECENT_MICROS: i64 = 60_000_000;
/// How many organizations are counted when the server starts.
const COUNTED_AT_START: usize = 20;
/// The number of days money is shown for, including today.
const DAYS: i32 = 30;
/// The number of hours deliveries are shown for, including the current one.
const HOURS: i64 = 24;
const HOUR_MICROS: i64 = 3_600_000_000;

/// The buckets of days past due: their names and largest numbers of days.
const BUCKETS: [(&str, i32); 5] = [("current", 0), ("1-29", 29), ("30-59", 59), ("60-89", 89), ("90+", i32::MAX)];

/// The portfolio of an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Portfolio {
    /// When it was requested.
    pub as_of: Utc,
    /// When the sums of balances and money by day were counted; in a large portfolio, the numbers of accounts too.
    pub summed_at: Utc,
    /// The zone whose days are used to sum up money.
    pub zone: String,
    /// Accounts by status.
    pub accounts: Vec<AccountFigure>,
    /// Open accounts, by days past due.
    pub past_due: Vec<PastDueFigure>,
    /// Valid payments of the last 30 days that did not bounce, by the day they are effective.
    pub payments_by_day: Vec<DayFigure>,
    /// Late fees of the last 30 days, by the day they are effective.
    pub late_fees_by_day: Vec<DayFigure>,
    /// Delivery attempts of the last 24 hours.
    pub deliveries_by_hour: Vec<DeliveryFigure>,
    /// Items that need attention.
    pub attention: Attention,
}

impl Portfolio {
    /// Whether the sums are outdated; they are then being counted again.
    pub fn is_outdated(&self) -> bool {
        self.as_of.0.micros() - self.summed_at.0.micros() > RECENT_MICROS
    }

    /// The number of accounts.
    pub fn count(&self) -> u64 {
        self.accounts.iter().map(|figure| figure.count).sum()
    }

    /// The total that open accounts owe.
    pub fn outstanding_cents(&self) -> i64 {
        let open = self.accounts.iter().filter(|figure| figure.status != AccountStanding::Closed.name());
        open.map(|figure| figure.balance_cents).sum()
    }

    /// The total paid in the days shown.
    pub fn paid_cents(&self) -> i64 {
        self.payments_by_day.iter().map(|figure| figure.amount_cents).sum()
    }

    /// The total of late fees charged in the days shown.
    pub fn late_fees_cents(&self) -> i64 {
        self.late_fees_by_day.iter().map(|figure| figure.amount_cents).sum()
    }
}

/// Accounts with a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccountFigure {
    /// The status.
    pub status: String,
    /// The reason; `None` in normal service.
    pub substatus: Option<String>,
    /// How many.
    pub count: u64,
    /// The total they owe, as of when each was last processed.
    pub balance_cents: i64,
}

/// Accounts with this many days past due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PastDueFigure {
    /// Days past due: `current`, `1-29`, `30-59`, `60-89`, `90+`.
    pub bucket: &'static str,
    /// How many.
    pub count: u64,
}

/// Amounts of a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DayFigure {
    /// The local date.
    pub day: String,
    /// How many.
    pub count: u64,
    /// The total amount.
    pub amount_cents: i64,
}

/// Delivery attempts of an hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeliveryFigure {
    /// When the hour begins.
    pub hour: Utc,
    /// Successful attempts.
    pub delivered: u64,
    /// Failed attempts.
    pub failed: u64,
}

/// Items that need attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Attention {
    /// Webhook subscriptions that are paused.
    pub paused_subscriptions: u64,
    /// Messages that were not delivered and are not retried.
    pub dead_letters: u64,
    /// Accounts that could not be processed.
    pub failed_accounts: u64,
    /// Products that hold their events.
    pub products_holding: u64,
    /// Products whose release is in progress.
    pub products_releasing: u64,
}

/// The figures that take longer to count.
#[derive(Debug)]
struct Slow {
    counted_at: Time,
    counts: AccountCounts,
    zone: Zone,
    balances: BTreeMap<(String, Option<String>), i64>,
    payments: Vec<DayFigure>,
    late_fees: Vec<DayFigure>,
    dead_letters: u64,
}

impl Slow {
    /// Whether it was counted at most this long ago. After the clock is set back, it counts as old.
    fn is_within(&self, now: Time, micros: i64) -> bool {
        (0..=micros).contains(&(now.micros() - self.counted_at.micros()))
    }
}

/// Numbers of accounts.
#[derive(Clone, Debug)]
struct AccountCounts {
    by_status: Vec<StatusFigure>,
    past_due: Vec<PastDueFigure>,
}

impl AccountCounts {
    fn all(&self) -> i64 {
        self.by_status.iter().map(|of| of.figure).sum()
    }
}

/// Limits for counting portfolios.
#[derive(Clone, Copy, Debug)]
pub struct Counting {
    /// The number of accounts that makes a portfolio large: its counts of accounts are kept instead of made on each
    /// request.
    pub large: u32,
    /// With at least this many accounts, callers do not wait for the first count.
    pub many: u32,
    /// How long callers wait for newer figures if older ones are kept or there are many accounts.
    pub patience: Duration,
}

impl Default for Counting {
    fn default() -> Counting {
        Counting { large: 20_000, many: 2_000, patience: Duration::from_millis(40) }
    }
}

/// The kept figures of each organization.
#[derive(Debug, Default)]
pub(crate) struct PortfolioCache {
    how: Counting,
    figures: SingleFlight<OrgId, Arc<Slow>>,
}

impl Service {
    /// The same service with other limits for counting portfolios.
    #[must_use]
    pub fn counting(self, how: Counting) -> Service {
        Service { portfolio: Arc::new(PortfolioCache { how, ..PortfolioCache::default() }), ..self }
    }

    /// The portfolio; `None` while many accounts are being counted for the first time.
    #[boxed]
    pub async fn portfolio(&self, who: &Caller) -> Result<Option<Portfolio>, Problem> {
        who.may(Right::Read)?;
        let now = self.clock.now();
        let Some(slow) = self.slow_figures(who.org, now).await? else { return Ok(None) };
        let is_large = slow.counts.all() >= i64::from(self.portfolio.how.large);
        let kept = is_large.then(|| slow.counts.clone());
        let AccountCounts { by_status, past_due } = match kept {
            Some(counts) => counts,
            None => self.count_accounts(who.org, now).await?,
        };
        let noted = self.store.attention(who.org).await?;
        let accounts = by_status.into_iter().map(|of| {
            let balance = slow.balances.get(&(of.status.clone(), of.substatus.clone()));
            AccountFigure {
                status: of.status,
                substatus: of.substatus,
                count: of.figure.unsigned_abs(),
                balance_cents: balance.copied().unwrap_or_default(),
            }
        });
        Ok(Some(Portfolio {
            as_of: Utc(now),
            summed_at: Utc(slow.counted_at),
            zone: slow.zone.name().to_owned(),
            accounts: accounts.collect(),
            past_due,
            payments_by_day: slow.payments.clone(),
            late_fees_by_day: slow.late_fees.clone(),
            deliveries_by_hour: self.deliveries_by_hour(who).await?,
            attention: Attention {
                paused_subscriptions: noted.paused_subscriptions.unsigned_abs(),
                dead_letters: slow.dead_letters,
                failed_accounts: noted.failed_accounts.unsigned_abs(),
                products_holding: noted.holding_products.unsigned_abs(),
                products_releasing: noted.releasing_products.unsigned_abs(),
            },
        }))
    }

    async fn count_accounts(&self, org: OrgId, now: Time) -> Result<AccountCounts, Problem> {
        let by_status = self.store.status_counts(org).await?;
        let open = by_status.iter().filter(|of| of.status != AccountStanding::Closed.name()).map(|of| of.figure).sum();
        let past_due = self.past_due(org, open, now).await?;
        Ok(AccountCounts { by_status, past_due })
    }

    /// Open accounts by days past due. Only late accounts are counted; the rest are current.
    async fn past_due(&self, org: OrgId, open: i64, now: Time) -> Result<Vec<PastDueFigure>, Problem> {
        let mut counts = [0_i64; BUCKETS.len()];
        let mut zones: HashMap<Arc<str>, Zone> = HashMap::new();
        for late in self.store.late_counts(org, now).await? {
            if late.status == AccountStanding::Closed.name() {
                continue;
            }
            let zone = match zones.get(&late.product) {
                Some(zone) => zone,
                None => {
                    let zone = self.zone_of(org, &late.product).await?;
                    zones.entry(late.product.clone()).or_insert(zone)
                }
            };
            let days = days_past_due(zone, Some(late.due), late.stands_at.unwrap_or(now));
            let bucket = BUCKETS.iter().position(|(_, most)| days <= *most).unwrap_or_default();
            counts[bucket] += late.accounts;
        }
        let late: i64 = counts[1..].iter().sum();
        counts[0] = (open - late).max(0);
        let figure =
            |((bucket, _), count): (&(&'static str, i32), i64)| PastDueFigure { bucket, count: count.unsigned_abs() };
        Ok(BUCKETS.iter().zip(counts).map(figure).collect())
    }

    /// Delivery attempts of the last 24 hours: one entry per hour, including hours without attempts.
    #[boxed]
    pub async fn deliveries_by_hour(&self, who: &Caller) -> Result<Vec<DeliveryFigure>, Problem> {
        who.may(Right::Read)?;
        let now = self.clock.now();
        let this_hour = now.micros() - now.micros().rem_euclid(HOUR_MICROS);
        let first = Time::from_micros(this_hour - (HOURS - 1) * HOUR_MICROS);
        let known = self.store.delivery_hours(who.org, first).await?;
        let known: HashMap<i64, _> = known.into_iter().map(|of| (of.hour.micros(), of)).collect();
        let hours = (0..HOURS).map(|hour| first.plus_micros(hour * HOUR_MICROS));
        let figures = hours.map(|hour| {
            let (delivered, failed) = known.get(&hour.micros()).map_or((0, 0), |of| (of.delivered, of.failed));
            DeliveryFigure { hour: Utc(hour), delivered: delivered.unsigned_abs(), failed: failed.unsigned_abs() }
        });
        Ok(figures.collect())
    }

    /// The kept figures, or those counted quickly; `None` if there are neither. After the clock is set back, the kept
    /// ones are not used.
    async fn slow_figures(&self, org: OrgId, now: Time) -> Result<Option<Arc<Slow>>, Problem> {
        let PortfolioCache { how, figures } = &*self.portfolio;
        let kept = figures.kept(&org).filter(|slow| slow.counted_at <= now);
        if kept.as_ref().is_some_and(|slow| slow.is_within(now, FRESH_MICROS)) {
            return Ok(kept);
        }
        if kept.is_none() && !self.store.has_accounts(org, how.many).await? {
            return self.begin_to_count(org).until_done().await.map(Some);
        }
        match (self.begin_to_count(org).within(how.patience).await, kept) {
            (Some(Ok(counted)), _) => Ok(Some(counted)),
            (_, Some(kept)) => Ok(Some(kept)),
            (Some(Err(problem)), None) => Err(problem),
            (None, None) => figures.failure(&org).map_or(Ok(None), Err),
        }
    }

    /// Counts organizations one after the other, before the first requests.
    #[boxed]
    pub async fn count_portfolios_ahead(&self) -> Result<(), Problem> {
        let organizations = self.store.organizations().await?;
        let service = self.clone();
        tokio::spawn(async move {
            for organization in organizations.iter().take(COUNTED_AT_START) {
                // A failure is logged when it happens.
                let _ = service.begin_to_count(organization.org).until_done().await;
            }
        });
        Ok(())
    }

    /// Counts in the background, if the kept figures are not fresh.
    pub(crate) fn count_ahead(&self, org: OrgId) {
        let kept = self.portfolio.figures.kept(&org);
        if !kept.is_some_and(|slow| slow.is_within(self.clock.now(), FRESH_MICROS)) {
            self.begin_to_count(org).unattended();
        }
    }

    fn begin_to_count(&self, org: OrgId) -> CountInProgress<Arc<Slow>> {
        let service = self.clone();
        self.portfolio.figures.count(&org, async move {
            let counted = service.reading_for(org, service.count_slow(org, service.clock.now())).await;
            if let Err(problem) = &counted {
                tracing::warn!(%problem, "the figures of a portfolio could not be calculated");
            }
            counted
        })
    }

    async fn count_slow(&self, org: OrgId, now: Time) -> Result<Arc<Slow>, Problem> {
        let zone = self.zone_of_days(org).await?;
        let midnight = TimeOfDay::new(0, 0, 0).unwrap_or(TimeOfDay::END_OF_DAY);
        let first = zone.day_at(now).plus_days(1 - DAYS);
        let days: Vec<Day> = (0..=DAYS).map(|day| first.plus_days(day)).collect();
        let bounds: Vec<Time> = days.iter().map(|day| zone.at(*day, midnight)).collect();
        let (counts, balances, backlogs, payments, late_fees) = tokio::try_join!(
            self.count_accounts(org, now),
            async { Ok(self.store.status_balances(org).await?) },
            async { Ok(self.store.backlogs(org).await?) },
            self.by_day(org, Summed::Payments, &days, &bounds),
            self.by_day(org, Summed::LateFees, &days, &bounds),
        )?;
        Ok(Arc::new(Slow {
            counted_at: now,
            counts,
            balances: balances.into_iter().map(|of| ((of.status, of.substatus), of.figure)).collect(),
            payments,
            late_fees,
            dead_letters: backlogs.iter().map(|(_, backlog)| backlog.dead).sum(),
            zone,
        }))
    }

    async fn by_day(&self, org: OrgId, what: Summed, days: &[Day], bounds: &[Time]) -> Result<Vec<DayFigure>, Problem> {
        let sums = self.store.items_between(org, what, ItemStatus::Valid.name(), bounds).await?;
        // Payments are stored as negative amounts because they lower the balance; they are shown as positive.
        let sign = if what == Summed::Payments { -1 } else { 1 };
        let figure = |(day, sum): (&Day, daybook_store::portfolio_queries::Sum)| DayFigure {
            day: day.to_string(),
            count: sum.count.unsigned_abs(),
            amount_cents: sign * sum.amount,
        };
        Ok(days.iter().zip(sums).map(figure).collect())
    }

    /// The zone of the first product, or the default zone if there is no product yet.
    async fn zone_of_days(&self, org: OrgId) -> Result<Zone, Problem> {
        let first =
            self.store.products(org, &PageRequest { limit: 1, ..PageRequest::default() }).await?.into_iter().next();
        let zone = match first {
            Some(row) => Some(self.catalog.ready(row).await?.facts.zone.clone()),
            None => Zone::named(DEFAULT_ZONE),
        };
        zone.ok_or_else(|| Problem::internal("the default time zone is unknown"))
    }
}
