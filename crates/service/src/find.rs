//! Search across accounts, customers and products, and lists of accounts by words or days past due.
//!
//! How many days past due an account is depends on its zone and on its own time: now, in the future if it was rolled,
//! in the past if its events are held. So the store is queried with bounds wide enough for every zone, and the results
//! are then filtered by the exact days. The days are those that the account shows as of its last processing: an account
//! whose due date just passed shows it at once, but appears in these lists only after its timer has run.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::profile::Profile;
use crate::accounts::account_key;
use crate::boxed;
use crate::customers::{name_of, read_body};
use crate::form::NewCustomer;
use crate::paging::Paging;
use crate::problem::Problem;
use crate::search_index::searched;
use daybook_engine::status::AccountStanding;
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_store::portfolio_queries::{AccountSearch, FoundAccount, SearchText, SearchedKind};
use daybook_store::records::{AccountKey, OrgId, ProductKey};
use daybook_store::{AccountToLoad, Inputs};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The largest number of results of one search.
pub const MOST_FOUND: usize = 100;
/// How many accounts are read in each further round if too few of the first match.
const ROUND: usize = 1_000;
/// The largest number of days used in a query; larger ones are treated as this one.
const MOST_DAYS: u32 = 100_000;
const DAY_MICROS: i64 = 86_400_000_000;
/// How far the dates of two zones may differ, and how far a day may differ from 24 hours.
const SLACK_DAYS: i64 = 2;

/// The type of a search result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundKind {
    /// An account.
    Account,
    /// A customer.
    Customer,
    /// A product.
    Product,
}

/// A search result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchResult {
    /// Its type.
    pub kind: FoundKind,
    /// Its id.
    pub id: String,
    /// Its name, or its id if it has none.
    pub title: String,
    /// What distinguishes it from others: an email address, a product and a status, a product's id.
    pub detail: String,
}

/// Filters for accounts, by words and days past due among others.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccountFilter {
    pub product: Option<Arc<str>>,
    pub status: Option<String>,
    pub substatus: Option<String>,
    pub open_only: bool,
    pub text: Option<String>,
    pub at_least: Option<u32>,
    pub at_most: Option<u32>,
}

impl AccountFilter {
    fn fits(&self, days: i32) -> bool {
        let days = u32::try_from(days).unwrap_or(0);
        self.at_least.is_none_or(|least| days >= least) && self.at_most.is_none_or(|most| days <= most)
    }

    fn search(&self, now: Time) -> AccountSearch {
        let ago = |days: u32, slack: i64| {
            now.plus_micros(-(i64::from(days.min(MOST_DAYS)) + slack).saturating_mul(DAY_MICROS))
        };
        AccountSearch {
            product: self.product.clone(),
            status: self.status.clone(),
            not_status: self.open_only.then(|| AccountStanding::Closed.name().to_owned()),
            substatus: self.substatus.clone(),
            text: self.text.as_deref().map(searched),
            due_by: self.at_least.filter(|days| *days > 0).map(|days| ago(days, -SLACK_DAYS)),
            due_from: self.at_most.map(|days| ago(days, SLACK_DAYS)),
            now,
        }
    }
}

/// The days past due of an account in a zone.
pub(crate) fn days_past_due(zone: &Zone, due: Option<Time>, at: Time) -> i32 {
    due.map_or(0, |due| zone.day_at(at).days_since(zone.day_at(due)).max(0))
}

impl Service {
    /// Accounts, customers and products whose id starts with the text or that contain every word of it. Accounts of
    /// matching customers are included.
    #[boxed]
    pub async fn find(&self, who: &Caller, text: &str, limit: usize) -> Result<Vec<SearchResult>, Problem> {
        who.may(Right::Read)?;
        let (text, limit) = (searched(text), limit.min(MOST_FOUND));
        if text.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let customers = self.store.find(who.org, SearchedKind::Customer, &text, limit).await?;
        let accounts = self.found_accounts(who.org, &text, &customers, limit).await?;
        let products = self.store.find(who.org, SearchedKind::Product, &text, limit).await?;
        let mut queues = [
            (FoundKind::Account, VecDeque::from(accounts)),
            (FoundKind::Customer, VecDeque::from(customers)),
            (FoundKind::Product, VecDeque::from(products)),
        ];
        // The types take turns, so that many results of one type do not hide the others.
        let mut chosen: Vec<(FoundKind, Arc<str>)> = Vec::new();
        while chosen.len() < limit && queues.iter().any(|(_, queue)| !queue.is_empty()) {
            for (kind, queue) in &mut queues {
                chosen.extend(queue.pop_front().map(|id| (*kind, id)));
            }
        }
        chosen.truncate(limit);
        self.describe(who, chosen).await
    }

    /// Accounts that match, then accounts of matching customers.
    async fn found_accounts(
        &self,
        org: OrgId,
        text: &SearchText,
        customers: &[Arc<str>],
        limit: usize,
    ) -> Result<Vec<Arc<str>>, Problem> {
        let mut accounts = self.store.find(org, SearchedKind::Account, text, limit).await?;
        for customer in customers {
            if accounts.len() >= limit {
                break;
            }
            for (account, _) in self.store.customer_accounts(org, customer, limit).await? {
                if !accounts.contains(&account) {
                    accounts.push(account);
                }
            }
        }
        accounts.truncate(limit);
        Ok(accounts)
    }

    /// Adds titles and details to the results. An object that was deleted in the meantime is left out.
    async fn describe(&self, who: &Caller, chosen: Vec<(FoundKind, Arc<str>)>) -> Result<Vec<SearchResult>, Problem> {
        let wants: Vec<AccountToLoad> = chosen
            .iter()
            .filter(|(kind, _)| *kind == FoundKind::Account)
            .map(|(_, id)| AccountToLoad { key: account_key(who, id), inputs: Inputs::None, names: Vec::new() })
            .collect();
        let loaded = if wants.is_empty() { Vec::new() } else { self.store.load(&wants).await? };
        let mut accounts: HashMap<Arc<str>, _> =
            loaded.into_iter().flatten().map(|loaded| (loaded.row.key.account.clone(), loaded.row)).collect();
        let mut found = Vec::with_capacity(chosen.len());
        for (kind, id) in chosen {
            let described = match kind {
                FoundKind::Account => match accounts.remove(&id) {
                    Some(row) => {
                        let profile = Profile::read(&row.now.profile)?;
                        let first = profile.customers.first().map(|customer| customer.customer_id.as_str());
                        let name = match first {
                            Some(customer) => self.customer_of(who.org, customer).await?.map(|form| name_of(&form)),
                            None => None,
                        };
                        let status = row.now.substatus.as_deref().unwrap_or(&row.now.status);
                        Some((name.unwrap_or_else(|| id.to_string()), format!("{} · {status}", row.product)))
                    }
                    None => None,
                },
                FoundKind::Customer => self.customer_of(who.org, &id).await?.map(|form| {
                    let email = form.email.as_ref().map(|email| email.as_str().to_owned());
                    (name_of(&form), email.unwrap_or_default())
                }),
                FoundKind::Product => {
                    let key = ProductKey { org: who.org, product: id.clone() };
                    let info = self.catalog.product(&key).await?;
                    info.map(|info| (info.facts.overview.product_name.clone(), id.to_string()))
                }
            };
            found.extend(described.map(|(title, detail)| SearchResult { kind, id: id.to_string(), title, detail }));
        }
        Ok(found)
    }

    async fn customer_of(&self, org: OrgId, customer: &str) -> Result<Option<NewCustomer>, Problem> {
        self.store.customer(org, customer).await?.as_ref().map(read_body).transpose()
    }

    /// The accounts that match, in the store's order: one more than the page has.
    pub(crate) async fn wanted_accounts(
        &self,
        org: OrgId,
        wanted: &AccountFilter,
        paging: &Paging,
        now: Time,
    ) -> Result<Vec<AccountKey>, Problem> {
        let search = wanted.search(now);
        let mut page = paging.of_store();
        let (enough, backwards) = (page.limit, page.before.is_some());
        let mut fitting: VecDeque<Arc<str>> = VecDeque::new();
        let mut zones: HashMap<Arc<str>, Zone> = HashMap::new();
        loop {
            let mut round = self.store.search_accounts(org, &search, &page).await?;
            let is_last = round.len() < page.limit;
            let ends =
                (round.first().map(|found| found.account.clone()), round.last().map(|found| found.account.clone()));
            if backwards {
                round.reverse();
            }
            for found in round {
                if self.fits(org, wanted, &found, now, &mut zones).await? {
                    if backwards {
                        fitting.push_front(found.account);
                    } else {
                        fitting.push_back(found.account);
                    }
                }
                if fitting.len() == enough {
                    break;
                }
            }
            if is_last || fitting.len() == enough {
                break;
            }
            match (backwards, ends) {
                (true, (first, _)) => page.before = first,
                (false, (_, last)) => page.after = last,
            }
            page.limit = ROUND;
        }
        Ok(fitting.into_iter().map(|account| AccountKey { org, account }).collect())
    }

    async fn fits(
        &self,
        org: OrgId,
        wanted: &AccountFilter,
        found: &FoundAccount,
        now: Time,
        zones: &mut HashMap<Arc<str>, Zone>,
    ) -> Result<bool, Problem> {
        if wanted.at_least.is_none() && wanted.at_most.is_none() {
            return Ok(true);
        }
        let zone = match zones.get(&found.product) {
            Some(zone) => zone,
            None => {
                let zone = self.zone_of(org, &found.product).await?;
                zones.entry(found.product.clone()).or_insert(zone)
            }
        };
        Ok(wanted.fits(days_past_due(zone, found.due, found.stands_at.unwrap_or(now))))
    }

    /// The zone of a product.
    pub(crate) async fn zone_of(&self, org: OrgId, product: &Arc<str>) -> Result<Zone, Problem> {
        let key = ProductKey { org, product: product.clone() };
        let info = self.catalog.product(&key).await?;
        Ok(info.ok_or_else(|| Problem::internal("an account has no product"))?.facts.zone.clone())
    }
}
