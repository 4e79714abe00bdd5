//! Time-zone data: which data a database uses, and what happens when a build brings other data.
//!
//! A due moment is a date and a time of day in a product's zone. The time-zone data, which are part of the build,
//! determine the moment. Governments change their clocks, so newer data move some moments. The database keeps the data
//! of every zone that a product names, in one setting per zone. At start they are compared
//! ([`Service::adopt_zone_data`]):
//!
//! ```text
//! zones of products ─► kept data differ? ─► accounts in that zone ─► folded again ─► next moment, listed if it moved
//!                                            their past by the kept data,
//!                                            future moments by the build's data
//! ```
//!
//! Processed events stay in place: the account's terms keep the offsets of its past, up to where it was processed
//! (`engine::zone`), so that `verify` and every later fold reproduce the past. The journal records the change. Nothing
//! is announced. An interrupted start continues where it stopped; if several nodes start at the same time, each account
//! is updated by one of them. On a shared database, a node first announces which zones change and waits two seconds:
//! nodes with other data for these zones notice and stop working ([`crate::superseded`]), so that none of them writes
//! to an account that was already updated.

use crate::Service;
use crate::account::book::Book;
use crate::boxed;
use crate::lock::lock;
use crate::problem::Problem;
use crate::refold::{AccountToRefold, Folding, Refolded, refold_keys, unit, written};
use crate::superseded::LOOK_EVERY;
use crate::view::time::Utc;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_engine::zone::{Zone, data_version};
use daybook_store::batch::{RefoldWrite, Unit};
use daybook_store::records::{AccountKey, AccountRow, OrgId, PageRequest};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The prefix of the settings that hold the data of a zone; the zone's name follows.
const KEPT: &str = "zone:";
/// The prefix of the settings that list the data of a zone whose adoption began and has not ended. If it was
/// interrupted, some accounts use them.
const BEGUN: &str = "zone_begun:";
/// The setting that lists the zones whose data changed last, with the fingerprints of the new data.
const ADOPTED: &str = "zones_taken_up";
/// How long a node waits, after it announced newer data, before it uses them: by then, every node with earlier data has
/// noticed and stopped.
const UNTIL_NOTICED: Duration = Duration::from_secs(2 * LOOK_EVERY.as_secs());
/// The number of rows read at once.
const STEP: usize = 200;
/// The maximum number of accounts named in the log.
const MOST_NAMED: usize = 20;
/// How long before its opening an account's zone data begin, since its first dates may lie there.
const BEFORE_OPENING_MICROS: i64 = 2 * 86_400 * 1_000_000;

/// A zone whose data in this build differ from those the database uses.
#[derive(Clone, Debug)]
pub struct ZoneDifference {
    /// Its name.
    pub name: String,
    /// The release name of the data that the database uses.
    pub kept_version: String,
    /// The first future moment at which the clocks differ; `None` if they differ only in the past.
    pub from: Option<Time>,
    kept: Zone,
    /// Data whose adoption was interrupted: some accounts use them.
    begun: Vec<Zone>,
    today: Zone,
}

impl fmt::Display for ZoneDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, kept) = (&self.name, &self.kept_version);
        match self.from {
            Some(from) => write!(f, "{name}: data {} differ from {kept} as of {from}", data_version()),
            None => write!(f, "{name}: data {} differ from {kept} only for past times", data_version()),
        }
    }
}

/// An account whose next moment has moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MovedMoment {
    /// The organization.
    pub organization: String,
    /// The account.
    pub account_id: String,
    /// Its zone.
    pub zone: String,
    /// The next moment by the earlier data.
    pub before: String,
    /// The next moment by the new data.
    pub after: String,
}

/// The result of adopting other time-zone data.
#[derive(Clone, Debug, Default)]
pub struct AdoptedZoneData {
    /// The zones whose data differ.
    pub zones: Vec<ZoneDifference>,
    /// Accounts whose future moments were placed again.
    pub accounts: u64,
    /// Accounts for which that failed; `verify` names them.
    pub failed: u64,
    /// Accounts whose next moment moved.
    pub moved: Vec<MovedMoment>,
}

impl Service {
    /// Returns an error if the database uses other time-zone data and was not updated.
    #[boxed]
    pub async fn check_zones(&self) -> Result<(), Problem> {
        let differing = self.zone_differences().await?;
        if differing.is_empty() {
            return Ok(());
        }
        let each: Vec<String> = differing.iter().map(ToString::to_string).collect();
        Err(Problem::unavailable(format!(
            "the time-zone data of the database and of this build differ: {}. `daybook migrate`, or starting the \
             server, recalculates the future moments of accounts; this command changed nothing",
            each.join("; ")
        )))
    }

    /// The zones of products whose data in this build differ from those the database uses.
    #[boxed]
    pub async fn zone_differences(&self) -> Result<Vec<ZoneDifference>, Problem> {
        let mut differing = Vec::new();
        for today in self.zones_of_products().await?.into_values() {
            let Some(kept) = self.store.setting(&setting_of(&today)).await? else { continue };
            differing.extend(self.difference(today, &kept).await?);
        }
        Ok(differing)
    }

    async fn difference(&self, today: Zone, kept: &[u8]) -> Result<Option<ZoneDifference>, Problem> {
        let name = today.name().to_owned();
        let (kept, kept_version) = read(&name, kept)?;
        let begun = self.begun(&name).await?.iter().map(|data| read(&name, data)).collect::<Result<Vec<_>, _>>()?;
        let used = [(&kept, &kept_version)].into_iter().chain(begun.iter().map(|(zone, version)| (zone, version)));
        let other = used.into_iter().find(|(zone, _)| zone.fingerprint() != today.fingerprint());
        let Some((other, version)) = other else { return Ok(None) };
        let (from, kept_version) = (today.first_difference(other, self.clock.now()), version.clone());
        let begun = begun.into_iter().map(|(zone, _)| zone).collect();
        Ok(Some(ZoneDifference { name, kept_version, from, kept, begun, today }))
    }

    /// The data of a zone whose adoption began and has not ended.
    async fn begun(&self, name: &str) -> Result<Vec<Vec<u8>>, Problem> {
        let Some(begun) = self.store.setting(&format!("{BEGUN}{name}")).await? else { return Ok(Vec::new()) };
        postcard::from_bytes(&begun).map_err(|_| unreadable(name))
    }

    /// Adds this build's data to those whose adoption began. Must be done before any account uses them.
    async fn begin(&self, zone: &ZoneDifference) -> Result<(), Problem> {
        let mut begun = self.begun(&zone.name).await?;
        let data = data_of(&zone.today)?;
        if !begun.contains(&data) {
            begun.push(data);
        }
        let begun =
            postcard::to_allocvec(&begun).map_err(|_| Problem::internal("time-zone data cannot be serialized"))?;
        Ok(self.store.put_setting(&format!("{BEGUN}{}", zone.name), &begun, None).await?)
    }

    /// Stores this build's data as those that all accounts use.
    async fn end(&self, zone: &ZoneDifference) -> Result<(), Problem> {
        self.store.put_setting(&setting_of(&zone.today), &data_of(&zone.today)?, None).await?;
        self.store.remove_setting(&format!("{BEGUN}{}", zone.name), None).await?;
        Ok(())
    }

    /// The zones that products name, by name. A product that cannot be read is logged and left out.
    async fn zones_of_products(&self) -> Result<BTreeMap<String, Zone>, Problem> {
        let mut zones = BTreeMap::new();
        for organization in self.store.organizations().await? {
            let mut page = PageRequest { limit: STEP, ..PageRequest::default() };
            loop {
                let rows = self.store.products(organization.org, &page).await?;
                let Some(last) = rows.last() else { break };
                page.after = Some(last.key.product.clone());
                for row in rows {
                    let (organization, id) = (&organization.name, row.key.product.clone());
                    match self.catalog.ready(row).await {
                        Ok(product) => {
                            zones.extend(product.form.zone().map(|zone| (zone.name().to_owned(), zone)));
                        }
                        Err(problem) if problem.is_unavailable() => return Err(problem),
                        Err(problem) => {
                            tracing::error!(organization, product = %id, %problem, "a product cannot be read");
                        }
                    }
                }
            }
        }
        Ok(zones)
    }

    /// Stores the data of a zone, unless data are already stored. Returns the stored data.
    pub(crate) async fn keep_zone(&self, zone: &Zone) -> Result<Vec<u8>, Problem> {
        Ok(self.store.keep_setting(&setting_of(zone), &data_of(zone)?).await?)
    }

    /// Makes the database use the time-zone data of this build: where they differ, the future moments of accounts are
    /// placed again. Returns what moved. Must be called before timers run.
    #[boxed]
    pub async fn adopt_zone_data(&self) -> Result<AdoptedZoneData, Problem> {
        let mut adopted = AdoptedZoneData::default();
        for today in self.zones_of_products().await?.into_values() {
            let kept = self.keep_zone(&today).await?;
            adopted.zones.extend(self.difference(today, &kept).await?);
        }
        if !adopted.zones.is_empty() {
            for zone in &adopted.zones {
                tracing::warn!("time-zone data changed: {zone}; the future moments of accounts are recalculated");
            }
            for zone in &adopted.zones {
                self.begin(zone).await?;
            }
            self.store.put_setting(ADOPTED, &mark_of(&adopted.zones), None).await?;
            if self.store.is_shared() {
                tokio::time::sleep(UNTIL_NOTICED).await;
            }
            self.place_again(&mut adopted).await?;
            for zone in &adopted.zones {
                self.end(zone).await?;
            }
            tell(&adopted);
        }
        Ok(adopted)
    }

    /// Supersedes this node if another node has adopted other time-zone data than this build has.
    pub(crate) async fn look_at_zones(&self) -> Result<(), Problem> {
        let mark = self.store.setting(ADOPTED).await?;
        if mark.is_some_and(|mark| !agrees(&mark)) {
            self.supersede(
                "another build has changed the time-zone data that the database uses. Stop this server, and start that \
                 build",
            );
        }
        Ok(())
    }

    async fn place_again(&self, adopted: &mut AdoptedZoneData) -> Result<(), Problem> {
        let zones = Arc::new(adopted.zones.clone());
        for organization in self.store.organizations().await? {
            let mut page = PageRequest { limit: STEP, ..PageRequest::default() };
            loop {
                let rows = self.store.accounts(organization.org, &page).await?;
                let Some(last) = rows.last() else { break };
                page.after = Some(last.key.account.clone());
                if self.is_adopted(&zones).await? {
                    // Another node that started at the same time has done it.
                    return Ok(());
                }
                let keys: Vec<AccountKey> =
                    rows.iter().filter(|row| new_terms(row, &zones).is_some()).map(|row| row.key.clone()).collect();
                if keys.is_empty() {
                    continue;
                }
                let moved: Arc<Mutex<BTreeMap<AccountKeyText, MovedMoment>>> = Arc::default();
                let how = folding(zones.clone(), organization.name.clone(), moved.clone());
                let now = self.clock.now();
                let Refolded { accounts, failed, .. } =
                    refold_keys(self.store.as_ref(), &self.catalog, keys, now, &how).await?;
                adopted.accounts += accounts;
                adopted.failed += failed;
                let moved = std::mem::take(&mut *lock(&moved));
                adopted.moved.extend(moved.into_values());
            }
        }
        Ok(())
    }

    /// Whether the database already uses the data of this build.
    async fn is_adopted(&self, zones: &[ZoneDifference]) -> Result<bool, Problem> {
        for zone in zones {
            let kept = self.store.setting(&setting_of(&zone.today)).await?;
            let kept = kept.and_then(|kept| Zone::kept(&zone.name, &kept));
            let is_other = kept.is_none_or(|(kept, _)| kept.fingerprint() != zone.today.fingerprint());
            if is_other || !self.begun(&zone.name).await?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

type AccountKeyText = (OrgId, Arc<str>);

fn setting_of(zone: &Zone) -> String {
    format!("{KEPT}{}", zone.name())
}

fn data_of(zone: &Zone) -> Result<Vec<u8>, Problem> {
    zone.data().ok_or_else(|| Problem::internal("time-zone data cannot be serialized"))
}

fn read(name: &str, data: &[u8]) -> Result<(Zone, String), Problem> {
    Zone::kept(name, data).ok_or_else(|| unreadable(name))
}

fn unreadable(name: &str) -> Problem {
    Problem::internal(format!("the stored data of time zone {name} cannot be read"))
}

fn mark_of(zones: &[ZoneDifference]) -> Vec<u8> {
    let each: BTreeSet<String> =
        zones.iter().map(|zone| format!("{} {:x}", zone.name, zone.today.fingerprint())).collect();
    let each: Vec<String> = each.into_iter().collect();
    format!("{}: {}", data_version(), each.join(", ")).into_bytes()
}

/// Whether this build has the data that a mark lists.
fn agrees(mark: &[u8]) -> bool {
    let text = String::from_utf8_lossy(mark);
    let Some((_, each)) = text.split_once(": ") else { return false };
    each.split(", ").all(|one| {
        let (name, fingerprint) = one.rsplit_once(' ').unwrap_or((one, ""));
        Zone::named(name).is_some_and(|zone| format!("{:x}", zone.fingerprint()) == fingerprint)
    })
}

fn tell(adopted: &AdoptedZoneData) {
    let AdoptedZoneData { accounts, failed, moved, .. } = adopted;
    for MovedMoment { organization, account_id, zone, before, after } in moved.iter().take(MOST_NAMED) {
        tracing::warn!(
            organization,
            account = account_id,
            zone,
            before,
            after,
            "the next moment of an account has moved"
        );
    }
    let more = moved.len().saturating_sub(MOST_NAMED);
    tracing::warn!(accounts, moved = moved.len(), not_named = more, failed, "accounts use the newer time-zone data");
}

/// The terms of an account with its new zone, including the offsets of its past; `None` if they do not change.
fn new_terms(row: &AccountRow, zones: &[ZoneDifference]) -> Option<Terms> {
    // An account that was never processed has no past, and its moments are not computed yet.
    let through = row.now.processed_through?;
    let mut terms: Terms = postcard::from_bytes(&row.terms).ok()?;
    let changed = zones.iter().find(|zone| zone.name == terms.zone.name())?;
    if terms.zone.replaced_by() == Some(changed.today.fingerprint()) {
        return None;
    }
    let since = terms.opening.effective_at.plus_micros(-BEFORE_OPENING_MICROS);
    let is_used = |begun: &&Zone| terms.zone.replaced_by() == Some(begun.fingerprint());
    let used = changed.begun.iter().find(is_used).unwrap_or(&changed.kept);
    let earlier = used.after_past_of(&terms.zone);
    earlier.first_difference(&changed.today.after_past_of(&terms.zone), since)?;
    terms.zone = changed.today.with_past(&earlier, since, through);
    Some(terms)
}

fn folding(
    zones: Arc<Vec<ZoneDifference>>,
    organization: String,
    moved: Arc<Mutex<BTreeMap<AccountKeyText, MovedMoment>>>,
) -> Folding {
    Arc::new(move |ready: AccountToRefold, now: Time| {
        let row = &ready.0.row;
        let (key, version) = (row.key.clone(), row.version);
        let unchanged = |outcome| {
            let refold = RefoldWrite { terms: Some(row.terms.clone()), listed: None };
            (key.clone(), outcome, unit(key.clone(), version, row.now.clone(), refold))
        };
        let Some(terms) = new_terms(row, &zones) else { return unchanged(Refolded::default()) };
        let name = terms.zone.name().to_owned();
        let folded = catch_unwind(AssertUnwindSafe(|| place_one(ready.clone(), terms, now)));
        match folded.unwrap_or_else(|_| Err(Problem::internal("processing the account failed: this is a bug"))) {
            Ok((unit, before, after)) => {
                if before != after {
                    let shown = |at: Option<Time>| at.map_or_else(|| "never".to_owned(), |at| Utc(at).to_string());
                    let (account_id, organization) = (key.account.to_string(), organization.clone());
                    let (before, after) = (shown(before), shown(after));
                    let one = MovedMoment { organization, account_id, zone: name, before, after };
                    let mut moved = lock(&moved);
                    moved.insert((key.org, key.account.clone()), one);
                }
                (key.clone(), Refolded { accounts: 1, ..Refolded::default() }, unit)
            }
            Err(problem) => {
                tracing::error!(
                    account = %key.account,
                    %problem,
                    "the future moments of an account could not be recalculated"
                );
                unchanged(Refolded { failed: 1, ..Refolded::default() })
            }
        }
    })
}

fn place_one(
    (loaded, product, items): AccountToRefold,
    terms: Terms,
    now: Time,
) -> Result<(Unit, Option<Time>, Option<Time>), Problem> {
    let (version, updated_at) = (loaded.row.version, loaded.row.now.updated_at);
    let mut book = Book::outdated(loaded, product, terms)?;
    let (before, after) = book.rezone(&items, data_version(), now)?;
    book.close(now)?;
    if before == after {
        book.now.updated_at = updated_at;
    }
    Ok((written(book, version, None)?, before, after))
}
