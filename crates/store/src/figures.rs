//! What people look for and look at: things by their words, accounts by how late they are, counts and sums for charts.
//!
//! Nothing here is kept twice but words and the counts of deliveries. Accounts are counted through indexes that hold what
//! is counted; only the sums of what they owe read every account, and whoever asks for them does so seldom.
//!
//! The store knows no calendar. How late an account is depends on its product's zone and on where in time the account
//! stands, so a list by lateness is given in two steps: the store finds those that may be meant by moments that are wide
//! enough for every zone, and says of each what it takes to tell ([`FoundAccount`]).

use crate::Result;
use crate::outbox::SubscriptionId;
use crate::records::{CustomerRow, OrgId, Page};
use async_trait::async_trait;
use daybook_engine::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most things that the words of a search are followed to. A search that fits more finds some of them.
pub const MOST_MATCHES: usize = 5_000;
/// How far the things of a word are counted to find out which word has the fewest.
pub(crate) const MOST_COUNTED: i64 = 20_000;

/// What can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An account.
    Account,
    /// A customer.
    Customer,
    /// A product.
    Product,
}

impl Kind {
    /// The number that stands for it in the tables.
    pub(crate) const fn number(self) -> i16 {
        match self {
            Kind::Account => 1,
            Kind::Customer => 2,
            Kind::Product => 3,
        }
    }
}

/// The words by which a thing is found. They take the place of those it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Whose.
    pub org: OrgId,
    /// What it is.
    pub kind: Kind,
    /// Its id.
    pub id: Arc<str>,
    /// Its words, each once.
    pub words: Vec<String>,
    /// It is made by the same unit, and so has no words yet.
    pub is_new: bool,
}

/// What is searched for. A thing fits if each word is the beginning of one of its words, or if its id begins so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Beginnings of words.
    pub words: Vec<String>,
    /// The beginning of an id.
    pub id: Option<String>,
}

impl Text {
    /// Whether nothing can fit.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.id.is_none()
    }

    /// The beginning of a stretch and its end, for each word.
    pub(crate) fn stretches(&self) -> Vec<(String, String)> {
        self.words.iter().map(|word| stretch(word)).collect()
    }

    /// The same with the words sorted by how many things have each: it is asked by the first.
    pub(crate) fn sorted_by(&self, counts: &[i64]) -> Text {
        let mut words: Vec<(i64, &String)> = counts.iter().copied().zip(&self.words).collect();
        words.sort_by_key(|(count, _)| *count);
        Text { words: words.into_iter().map(|(_, word)| word.clone()).collect(), id: self.id.clone() }
    }

    /// The same for the id.
    pub(crate) fn id_stretch(&self) -> Option<(String, String)> {
        self.id.as_deref().map(stretch)
    }
}

/// Everything that begins with a text lies from the one and before the other: nothing sorts after the last character.
fn stretch(beginning: &str) -> (String, String) {
    (beginning.to_owned(), format!("{beginning}\u{10ffff}"))
}

/// Which accounts are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSearch {
    /// Of this product.
    pub product: Option<Arc<str>>,
    /// With this status.
    pub status: Option<String>,
    /// With any status but this.
    pub not_status: Option<String>,
    /// With this reason for their status.
    pub substatus: Option<String>,
    /// That fit this, or one of whose customers does.
    pub text: Option<Text>,
    /// Whose oldest unpaid instalment fell due at this moment or before, or that were rolled beyond now.
    pub due_by: Option<Time>,
    /// Whose oldest unpaid instalment fell due at this moment or later, or that have none, or that are held back.
    pub due_from: Option<Time>,
    /// The time now.
    pub now: Time,
}

/// By which index a list of accounts is found that is not asked for by words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By that of all accounts.
    All,
    /// By that of a product's.
    Product,
    /// By that of those with a status.
    Status,
    /// By that of those with a status and a reason for it, which is not in the order of the list.
    Reason,
    /// By that of those with something past due, which is not in the order of the list either.
    Due,
}

/// As many accounts can be read and sorted for a page; where there are more, a page is full before all are read.
pub(crate) const FEW: i64 = 2_000;

impl AccountSearch {
    /// The ways that lead to all accounts that fit.
    pub(crate) fn ways(&self) -> Vec<Way> {
        let mut ways = Vec::new();
        if self.status.is_some() && self.substatus.is_some() {
            ways.push(Way::Reason);
        }
        if self.due_by.is_some() {
            ways.push(Way::Due);
        }
        if self.product.is_some() {
            ways.push(Way::Product);
        }
        if self.status.is_some() {
            ways.push(Way::Status);
        }
        ways
    }
}

impl Way {
    /// Whether it meets accounts in the order of the list, so that it need not be gone to its end.
    pub(crate) fn is_sorted(self) -> bool {
        !matches!(self, Way::Reason | Way::Due)
    }

    /// The one with the fewest accounts, each counted up to [`FEW`].
    pub(crate) fn narrowest(counted: &[(Way, i64)]) -> Way {
        let may_be_gone = counted.iter().filter(|(way, count)| way.is_sorted() || *count < FEW);
        may_be_gone.min_by_key(|(_, count)| *count).map_or(Way::All, |(way, _)| *way)
    }
}

/// An account that was found, with what it takes to tell how late it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAccount {
    /// Its id.
    pub account: Arc<str>,
    /// Its product.
    pub product: Arc<str>,
    /// The due moment of its oldest unpaid instalment.
    pub due: Option<Time>,
    /// Where in time it stands, if that is not now: rolled ahead, or held back.
    pub stands_at: Option<Time>,
}

/// How many accounts have a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusFigure {
    /// The status.
    pub status: String,
    /// Why.
    pub substatus: Option<String>,
    /// How many, or how much.
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
    /// Where in time they stand, if that is not now.
    pub stands_at: Option<Time>,
    /// How many.
    pub accounts: i64,
}

/// Line items that are summed up by day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summed {
    /// Payments that did not bounce.
    Payments,
    /// Late fees.
    LateFees,
}

impl Summed {
    /// The name of the kind. It stands in statements as it is, as the index is for these only.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Summed::Payments => "PAYMENT",
            Summed::LateFees => "LATE_FEE",
        }
    }
}

/// How many line items, and how much they come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub count: i64,
    /// How much, in cents, with the sign it is stored with.
    pub amount: i64,
}

/// What was tried within an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HourFigure {
    /// When the hour begins.
    pub hour: Time,
    /// Attempts that delivered.
    pub delivered: i64,
    /// Attempts that did not.
    pub failed: i64,
}

/// What somebody should look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attention {
    /// Subscriptions that are paused.
    pub paused_subscriptions: i64,
    /// Accounts that could not be processed.
    pub failed_accounts: i64,
    /// Products that hold their events.
    pub holding_products: i64,
    /// Products whose release is under way.
    pub releasing_products: i64,
}

/// Finding and counting.
#[async_trait]
pub trait Figures: Send + Sync + std::fmt::Debug {
    /// Whether there are at least so many accounts. Reads no more than these.
    async fn has_accounts(&self, org: OrgId, at_least: u32) -> Result<bool>;

    /// How many accounts there are by status and reason.
    async fn status_counts(&self, org: OrgId) -> Result<Vec<StatusFigure>>;

    /// What accounts owe together by status and reason, in cents. Reads every account.
    async fn status_balances(&self, org: OrgId) -> Result<Vec<StatusFigure>>;

    /// How many accounts have something past due, and since when.
    async fn late_counts(&self, org: OrgId, now: Time) -> Result<Vec<LateFigure>>;

    /// Line items with a status that are effective between one bound and the next, for each such pair.
    async fn items_between(&self, org: OrgId, what: Summed, status: &str, bounds: &[Time]) -> Result<Vec<Sum>>;

    /// What was tried in each hour since a moment, for all subscriptions together; hours without attempts are left out.
    async fn delivery_hours(&self, org: OrgId, since: Time) -> Result<Vec<HourFigure>>;

    /// What somebody should look at.
    async fn attention(&self, org: OrgId) -> Result<Attention>;

    /// Accounts by id.
    async fn search_accounts(&self, org: OrgId, search: &AccountSearch, page: &Page) -> Result<Vec<FoundAccount>>;

    /// Customers that fit, by id.
    async fn search_customers(&self, org: OrgId, text: &Text, page: &Page) -> Result<Vec<CustomerRow>>;

    /// Things that fit: those whose id begins so first, then those with the words. At most `limit`.
    async fn find(&self, org: OrgId, kind: Kind, text: &Text, limit: usize) -> Result<Vec<Arc<str>>>;
}

const HOUR_MICROS: i64 = 3_600_000_000;

/// How many of some attempts of a subscription delivered and failed, by hour.
pub(crate) fn by_hour(attempts: &[crate::outbox::Attempt]) -> BTreeMap<i64, (i64, i64)> {
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

/// Of which subscription hours are counted.
pub(crate) type Of = (OrgId, SubscriptionId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_with_the_fewest_accounts_is_gone() {
        let narrowest = Way::narrowest;
        assert_eq!(narrowest(&[]), Way::All);
        assert_eq!(narrowest(&[(Way::Product, 7), (Way::Status, 6)]), Way::Status);
        assert_eq!(narrowest(&[(Way::Product, FEW), (Way::Status, FEW)]), Way::Product);
        assert_eq!(narrowest(&[(Way::Reason, 7), (Way::Product, 8), (Way::Status, FEW)]), Way::Reason);
        // So many are not sorted for a page, though there may be fewer of them.
        assert_eq!(narrowest(&[(Way::Reason, FEW), (Way::Status, FEW)]), Way::Status);
        assert_eq!(narrowest(&[(Way::Due, FEW)]), Way::All);
        assert_eq!(narrowest(&[(Way::Due, FEW - 1), (Way::Product, FEW)]), Way::Due);
    }
}
