//! Search and totals of a portfolio: search by words, accounts by how far past due they are, counts and sums for
//! charts.
//!
//! Only words and delivery counts are stored redundantly. Accounts are counted through covering indexes; only the sums
//! of balances read every account, and callers request those rarely.
//!
//! The store has no calendar. How far past due an account is depends on its product's time zone and on the account's
//! own clock, so such a list takes two steps: the store selects candidates by moments that are wide enough for every
//! time zone, and returns with each the values from which the caller decides ([`FoundAccount`]).

use crate::Result;
use crate::dialect::{Dialect, RowReader, sql};
use crate::outbox::SubscriptionId;
use crate::records::{CustomerRow, OrgId, PageRequest};
use crate::rows::Cells;
use async_trait::async_trait;
use daybook_engine::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most records that the words of a search may match. A search that matches more returns some of them.
pub const MOST_MATCHES: usize = 5_000;
/// The records of each word are counted up to this number, to find the word with the fewest.
pub(crate) const MOST_COUNTED: i64 = 20_000;

/// The types of records that a search can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SearchedKind {
    /// An account.
    Account,
    /// A customer.
    Customer,
    /// A product.
    Product,
}

impl SearchedKind {
    /// Its number in the tables.
    pub(crate) const fn number(self) -> i16 {
        match self {
            SearchedKind::Account => 1,
            SearchedKind::Customer => 2,
            SearchedKind::Product => 3,
        }
    }
}

/// The words by which a record is found. They replace the words it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchWords {
    /// The organization.
    pub org: OrgId,
    /// The type of the record.
    pub kind: SearchedKind,
    /// The record's id.
    pub id: Arc<str>,
    /// Its words, without duplicates.
    pub words: Vec<String>,
    /// The same unit creates the record, so it has no words yet.
    pub is_new: bool,
}

/// A search text. A record matches if each word is a prefix of one of its words, or if `id` is a prefix of its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchText {
    /// Prefixes of words.
    pub words: Vec<String>,
    /// A prefix of an id.
    pub id: Option<String>,
}

impl SearchText {
    /// Whether the text is empty and so matches nothing.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.id.is_none()
    }

    /// For each word, the start and end of the range of words that begin with it.
    pub(crate) fn stretches(&self) -> Vec<(String, String)> {
        self.words.iter().map(|word| stretch(word)).collect()
    }

    /// The same text with its words sorted by how many records have each: the query starts from the first.
    pub(crate) fn sorted_by(&self, counts: &[i64]) -> SearchText {
        let mut words: Vec<(i64, &String)> = counts.iter().copied().zip(&self.words).collect();
        words.sort_by_key(|(count, _)| *count);
        SearchText { words: words.into_iter().map(|(_, word)| word.clone()).collect(), id: self.id.clone() }
    }

    /// The range of ids that begin with the id.
    pub(crate) fn id_stretch(&self) -> Option<(String, String)> {
        self.id.as_deref().map(stretch)
    }
}

/// The range of strings with a prefix: from the first value up to, but not including, the second. No character sorts
/// after the last one.
fn stretch(beginning: &str) -> (String, String) {
    (beginning.to_owned(), format!("{beginning}\u{10ffff}"))
}

/// Which accounts to return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSearch {
    /// Of this product.
    pub product: Option<Arc<str>>,
    /// With this status.
    pub status: Option<String>,
    /// With any status except this one.
    pub not_status: Option<String>,
    /// With this reason for the status.
    pub substatus: Option<String>,
    /// That match this text, or have a customer that does.
    pub text: Option<SearchText>,
    /// Whose oldest unpaid instalment fell due at this moment or before, or whose clock was rolled past the present.
    pub due_by: Option<Time>,
    /// Whose oldest unpaid instalment fell due at this moment or later, or that have none, or whose events are held.
    pub due_from: Option<Time>,
    /// The current time.
    pub now: Time,
}

/// The index that a list of accounts uses when it is not searched by words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountIndex {
    /// All accounts.
    All,
    /// Accounts of a product.
    Product,
    /// Accounts with a status.
    Status,
    /// Accounts with a status and a reason for it. This index is not in the order of the list.
    Reason,
    /// Accounts with an amount past due. This index is not in the order of the list.
    Due,
}

/// The most accounts that are read and sorted for one page. If there are more, a sorted index fills the page before all
/// are read.
pub(crate) const FEW: i64 = 2_000;

impl AccountSearch {
    /// The indexes that lead to all matching accounts.
    pub(crate) fn account_indexes(&self) -> Vec<AccountIndex> {
        let mut account_indexes = Vec::new();
        if self.status.is_some() && self.substatus.is_some() {
            account_indexes.push(AccountIndex::Reason);
        }
        if self.due_by.is_some() {
            account_indexes.push(AccountIndex::Due);
        }
        if self.product.is_some() {
            account_indexes.push(AccountIndex::Product);
        }
        if self.status.is_some() {
            account_indexes.push(AccountIndex::Status);
        }
        account_indexes
    }
}

impl AccountIndex {
    /// Whether it returns accounts in the order of the list, so that reading can stop when the page is full.
    pub(crate) fn is_sorted(self) -> bool {
        !matches!(self, AccountIndex::Reason | AccountIndex::Due)
    }

    /// The index with the fewest accounts, each counted up to [`FEW`].
    pub(crate) fn narrowest(counted: &[(AccountIndex, i64)]) -> AccountIndex {
        let usable = counted.iter().filter(|(account_index, count)| account_index.is_sorted() || *count < FEW);
        usable.min_by_key(|(_, count)| *count).map_or(AccountIndex::All, |(account_index, _)| *account_index)
    }
}

/// An account that was found, with the values that determine how far past due it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAccount {
    /// Its id.
    pub account: Arc<str>,
    /// Its product.
    pub product: Arc<str>,
    /// The due moment of its oldest unpaid instalment.
    pub due: Option<Time>,
    /// The account's clock, if that is not the present: rolled forward, or holding its events.
    pub stands_at: Option<Time>,
}

/// How many accounts have a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusFigure {
    /// The status.
    pub status: String,
    /// The reason for it.
    pub substatus: Option<String>,
    /// The number of accounts, or their total balance.
    pub figure: i64,
}

/// How many accounts of a product have an oldest unpaid instalment that fell due at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateFigure {
    /// The product.
    pub product: Arc<str>,
    /// Their status.
    pub status: String,
    /// The moment.
    pub due: Time,
    /// The accounts' clock, if that is not the present.
    pub stands_at: Option<Time>,
    /// How many.
    pub accounts: i64,
}

/// Line items that are summed by day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summed {
    /// Payments that did not bounce.
    Payments,
    /// Late fees.
    LateFees,
}

impl Summed {
    /// The name of the kind. It is written into the statement as a literal because the index covers only these kinds.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Summed::Payments => "PAYMENT",
            Summed::LateFees => "LATE_FEE",
        }
    }
}

/// The number of line items and their total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub count: i64,
    /// The total in cents, with the sign as stored.
    pub amount: i64,
}

/// Delivery attempts within an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HourFigure {
    /// When the hour begins.
    pub hour: Time,
    /// Attempts that delivered.
    pub delivered: i64,
    /// Attempts that did not.
    pub failed: i64,
}

/// Counts of what needs an operator's attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attention {
    /// Subscriptions that are paused.
    pub paused_subscriptions: i64,
    /// Accounts that could not be processed.
    pub failed_accounts: i64,
    /// Products that hold their events.
    pub holding_products: i64,
    /// Products whose release is in progress.
    pub releasing_products: i64,
}

/// Counts and sums for charts.
#[async_trait]
pub trait PortfolioFigures: Send + Sync + std::fmt::Debug {
    /// Whether there are at least so many accounts. Reads no more than that many rows.
    async fn has_accounts(&self, org: OrgId, at_least: u32) -> Result<bool>;

    /// The number of accounts by status and reason.
    async fn status_counts(&self, org: OrgId) -> Result<Vec<StatusFigure>>;

    /// The total balance of accounts by status and reason, in cents. Reads every account.
    async fn status_balances(&self, org: OrgId) -> Result<Vec<StatusFigure>>;

    /// Attempts in each hour since a moment, for all subscriptions together; hours without attempts are left out.
    async fn delivery_hours(&self, org: OrgId, since: Time) -> Result<Vec<HourFigure>>;

    /// Counts of what needs an operator's attention.
    async fn attention(&self, org: OrgId) -> Result<Attention>;
}

/// Search, and the counts whose statements differ between the dialects.
#[async_trait]
pub trait PortfolioQueries: Send + Sync + std::fmt::Debug {
    /// The number of accounts with an amount past due, and since when.
    async fn late_counts(&self, org: OrgId, now: Time) -> Result<Vec<LateFigure>>;

    /// Sums of line items with a status, effective between each bound and the next: one sum for each pair.
    async fn items_between(&self, org: OrgId, what: Summed, status: &str, bounds: &[Time]) -> Result<Vec<Sum>>;

    /// Matching accounts, by id.
    async fn search_accounts(
        &self,
        org: OrgId,
        search: &AccountSearch,
        page: &PageRequest,
    ) -> Result<Vec<FoundAccount>>;

    /// Matching customers, by id.
    async fn search_customers(&self, org: OrgId, text: &SearchText, page: &PageRequest) -> Result<Vec<CustomerRow>>;
}

#[async_trait]
impl<D: Dialect> PortfolioFigures for D {
    async fn has_accounts(&self, org: OrgId, at_least: u32) -> Result<bool> {
        let index = D::indexed_by("accounts_counted");
        let text = format!("SELECT count(*) FROM (SELECT 1 FROM accounts {index} WHERE org = $1 LIMIT $2) a");
        let found: Option<i64> = self.one(sql!(text, org, i64::from(at_least)), |cells| cells.next()).await?;
        Ok(found >= Some(i64::from(at_least)))
    }

    async fn status_counts(&self, org: OrgId) -> Result<Vec<StatusFigure>> {
        by_status(self, "count(*)", &D::indexed_by("accounts_counted"), org).await
    }

    /// The table is read from beginning to end.
    async fn status_balances(&self, org: OrgId) -> Result<Vec<StatusFigure>> {
        by_status(self, "CAST(sum(balance) AS bigint)", D::NOT_INDEXED, org).await
    }

    async fn delivery_hours(&self, org: OrgId, since: Time) -> Result<Vec<HourFigure>> {
        let text = "SELECT hour, CAST(sum(delivered) AS bigint), CAST(sum(failed) AS bigint) FROM delivery_hours
                    WHERE org = $1 AND hour >= $2 GROUP BY hour ORDER BY hour";
        let read: RowReader<HourFigure> =
            |cells| Ok(HourFigure { hour: cells.time()?, delivered: cells.next()?, failed: cells.next()? });
        self.all(sql!(text, org, hour_of(since)), read).await
    }

    async fn attention(&self, org: OrgId) -> Result<Attention> {
        let (failed, releasing) = (D::indexed_by("accounts_failed"), D::indexed_by("products_releasing"));
        let text = format!(
            "SELECT (SELECT count(*) FROM subscriptions WHERE org = $1 AND paused_at IS NOT NULL),
                    (SELECT count(*) FROM accounts {failed} WHERE org = $1 AND failure IS NOT NULL),
                    (SELECT count(*) FROM products WHERE org = $1 AND holding{is_true}),
                    (SELECT count(*) FROM products {releasing} WHERE org = $1 AND releasing{is_true})",
            is_true = D::IS_TRUE
        );
        let found = self.one(sql!(text, org), |cells| {
            Ok(Attention {
                paused_subscriptions: cells.next()?,
                failed_accounts: cells.next()?,
                holding_products: cells.next()?,
                releasing_products: cells.next()?,
            })
        });
        Ok(found.await?.unwrap_or_default())
    }
}

/// A figure of the accounts of each status and reason. Sorted here: PostgreSQL would sort all accounts, because its
/// index does not have "no reason" first.
async fn by_status(database: &impl Dialect, figure: &str, index: &str, org: OrgId) -> Result<Vec<StatusFigure>> {
    let text =
        format!("SELECT status, substatus, {figure} FROM accounts {index} WHERE org = $1 GROUP BY status, substatus");
    let read: RowReader<StatusFigure> =
        |cells| Ok(StatusFigure { status: cells.next()?, substatus: cells.next()?, figure: cells.next()? });
    let mut figures = database.all(sql!(text, org), read).await?;
    figures.sort_by(|one, other| (&one.status, &one.substatus).cmp(&(&other.status, &other.substatus)));
    Ok(figures)
}

pub(crate) fn late_figure(cells: &mut Cells<'_>) -> Result<LateFigure> {
    Ok(LateFigure {
        product: cells.text()?,
        status: cells.next()?,
        due: cells.time()?,
        stands_at: cells.time_or_none()?,
        accounts: cells.next()?,
    })
}

pub(crate) fn found_account(cells: &mut Cells<'_>) -> Result<FoundAccount> {
    Ok(FoundAccount {
        account: cells.text()?,
        product: cells.text()?,
        due: cells.time_or_none()?,
        stands_at: cells.time_or_none()?,
    })
}

const HOUR_MICROS: i64 = 3_600_000_000;

/// How many of a subscription's attempts delivered and failed, by hour.
pub(crate) fn by_hour(attempts: &[crate::outbox::DeliveryAttempt]) -> BTreeMap<i64, (i64, i64)> {
    let mut hours: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for attempt in attempts {
        let (delivered, failed) = hours.entry(hour_of(attempt.at)).or_default();
        *(if attempt.error.is_none() { delivered } else { failed }) += 1;
    }
    hours
}

/// The beginning of an hour, in microseconds.
pub(crate) fn hour_of(time: Time) -> i64 {
    time.micros() - time.micros().rem_euclid(HOUR_MICROS)
}

/// The subscription that hours are counted for.
pub(crate) type OrgSubscription = (OrgId, SubscriptionId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_with_the_fewest_accounts_is_used() {
        let narrowest = AccountIndex::narrowest;
        assert_eq!(narrowest(&[]), AccountIndex::All);
        assert_eq!(narrowest(&[(AccountIndex::Product, 7), (AccountIndex::Status, 6)]), AccountIndex::Status);
        assert_eq!(narrowest(&[(AccountIndex::Product, FEW), (AccountIndex::Status, FEW)]), AccountIndex::Product);
        assert_eq!(
            narrowest(&[(AccountIndex::Reason, 7), (AccountIndex::Product, 8), (AccountIndex::Status, FEW)]),
            AccountIndex::Reason
        );
        // Too many to sort for one page, even though this index may have the fewest.
        assert_eq!(narrowest(&[(AccountIndex::Reason, FEW), (AccountIndex::Status, FEW)]), AccountIndex::Status);
        assert_eq!(narrowest(&[(AccountIndex::Due, FEW)]), AccountIndex::All);
        assert_eq!(narrowest(&[(AccountIndex::Due, FEW - 1), (AccountIndex::Product, FEW)]), AccountIndex::Due);
    }
}
