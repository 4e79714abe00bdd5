//! What `verify` checks in addition to accounts, and what `verify --fix` corrects: orphaned rows, the ends of logs,
//! cursors past them, links and words.

use crate::Result;
use crate::error::StoreError;
use crate::guards::{ForeignTrigger, LostGuard};
use crate::outbox::SubscriptionId;
use crate::portfolio_queries::SearchedKind;
use crate::records::{AccountKey, OrgId};
use async_trait::async_trait;
use daybook_engine::time::Time;
use std::fmt;
use std::sync::Arc;

/// An orphaned row: the row it refers to does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// What is wrong, as a sentence without its subject: `a line item has no account`.
    pub what: &'static str,
    /// The id of an account, a customer or a subscription.
    pub id: String,
    /// Whether it is derived data that can be removed.
    pub removable: bool,
    /// Whether it is an attempt to deliver a message. Damaged attempts are no source of counts.
    pub is_attempt: bool,
}

/// The state of an organization's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStanding {
    /// The position that was assigned last.
    pub head: i64,
    /// The last position that is sent without waiting for a batch.
    pub hurried: i64,
    /// The first stored position; 0 if none.
    pub first: i64,
    /// The last stored position; 0 if none.
    pub last: i64,
    /// How many messages are stored.
    pub count: i64,
}

/// A row of messages that is not as its content says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRowOff {
    /// The position of its last message.
    pub position: i64,
    /// What is wrong with it: `its cause`.
    pub wrong: Vec<&'static str>,
}

impl MessageRowOff {
    /// Events are listed for a row that does not exist.
    pub(crate) fn without_row(position: i64) -> MessageRowOff {
        MessageRowOff { position, wrong: vec!["a list of events without messages"] }
    }
}

/// The result of checking some rows of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRowsChecked {
    /// Those that are not as they should be.
    pub off: Vec<MessageRowOff>,
    /// The position of the last checked row; `None` at the end of the log.
    pub through: Option<i64>,
}

/// An hour of a webhook URL whose counts do not match the stored attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HourOff {
    /// The organization.
    pub org: OrgId,
    /// The subscription.
    pub subscription: SubscriptionId,
    /// When the hour begins.
    pub hour: Time,
    /// The stored counts: delivered and failed.
    pub kept: (i64, i64),
    /// The counts that result from the attempts.
    pub given: (i64, i64),
}

/// A correction of derived data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Correction {
    /// When an account takes effect, and when it was created.
    AccountTimes(AccountKey, Time, Time),
    /// Removes a line item that does not follow from the journal.
    RemoveItem(AccountKey, Arc<str>),
    /// When a line item was created.
    ItemCreated(AccountKey, Arc<str>, Time),
    /// The columns of a message, found by its number among the account's messages.
    Message(AccountKey, Box<MessageFacts>),
    /// The columns of a message that is not about an account.
    OwnMessage(OrgId, Box<OwnMessage>),
    /// Removes an account from the list of those to be folded again.
    NotToRefold(AccountKey),
    /// The address by which a person is found: the person's id, and the address in the form used for comparison. Not
    /// applied if another person already has that address.
    EmailKey(String, String),
    /// The end of an organization's log.
    Head {
        /// The organization.
        org: OrgId,
        /// The head that was read; the correction is not applied if it has moved since.
        before: i64,
        /// The correct head.
        head: i64,
        /// The last position that is sent without waiting for a batch.
        hurried: i64,
    },
}

/// The columns of a message other than its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageFacts {
    /// Its number among the account's messages.
    pub sequence: i64,
    /// The event's name.
    pub event: String,
    /// The event's id.
    pub event_id: String,
    /// What caused it.
    pub cause: String,
    /// The object it is about.
    pub subject: String,
    /// When it happened.
    pub effective_at: Time,
    /// When it was recorded.
    pub recorded_at: Time,
    /// If it waits: when it is due, and when it was cancelled.
    pub waits: Option<(Time, Option<Time>)>,
}

/// The columns of a message that is not about an account, other than its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnMessage {
    /// Its position in the log, by which it is found.
    pub position: i64,
    /// The event's name.
    pub event: String,
    /// The event's id.
    pub event_id: String,
    /// The object it is about.
    pub subject: String,
    /// When it happened.
    pub effective_at: Time,
    /// When it was recorded.
    pub recorded_at: Time,
}

/// The version of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablesStanding {
    /// The last migration that was run; 0 if none.
    pub at: i64,
    /// The last migration that this program knows.
    pub known: i64,
    /// How many migrations that this program knows were not run.
    pub missing: usize,
}

impl TablesStanding {
    pub(crate) fn of(applied: &[i64], known: &[i64]) -> TablesStanding {
        TablesStanding {
            at: applied.iter().copied().max().unwrap_or(0),
            known: known.iter().copied().max().unwrap_or(0),
            missing: known.iter().filter(|number| !applied.contains(number)).count(),
        }
    }

    /// Whether a newer program migrated them.
    pub fn is_newer(&self) -> bool {
        self.at > self.known
    }

    /// Whether this program can use them.
    pub fn is_current(&self) -> bool {
        !self.is_newer() && self.missing == 0
    }

    /// Rejects tables of another version.
    pub(crate) fn must_be_current(&self) -> Result<()> {
        if self.is_current() { Ok(()) } else { Err(StoreError::Tables(self.to_string())) }
    }

    /// Rejects tables that a newer program migrated.
    pub(crate) fn must_not_be_newer(&self) -> Result<()> {
        if self.is_newer() { Err(StoreError::Tables(self.to_string())) } else { Ok(()) }
    }
}

impl fmt::Display for TablesStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TablesStanding { at, known, .. } = self;
        if self.is_newer() {
            write!(
                f,
                "its tables have version {at}, and this build knows versions up to {known}; use the newer build \
                 that changed them"
            )
        } else if self.is_current() {
            f.write_str("tables up to date")
        } else {
            write!(
                f,
                "its tables have version {at}, and this build needs version {known}; `daybook migrate` brings \
                 them up to date, and nothing was changed now"
            )
        }
    }
}

/// Maintenance of a database.
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// The migrations that were run when the database was opened, by number.
    fn migrated(&self) -> Vec<i64>;

    /// The version of the tables.
    async fn tables(&self) -> Result<TablesStanding>;

    /// The customers of an account, with their roles, by customer.
    async fn account_customers(&self, key: &AccountKey) -> Result<Vec<(Arc<str>, String)>>;

    /// The words of a record, in order.
    async fn words_of(&self, org: OrgId, kind: SearchedKind, id: &str) -> Result<Vec<String>>;

    /// Orphaned rows of all tables.
    async fn orphans(&self) -> Result<Vec<Orphan>>;

    /// Removes orphaned rows of derived data; returns how many.
    async fn remove_orphans(&self) -> Result<u64>;

    /// The state of an organization's log.
    async fn log_standing(&self, org: OrgId) -> Result<LogStanding>;

    /// Compares the next rows of messages of a log, after a position and at most `limit`, with their content.
    async fn check_message_rows(&self, org: OrgId, after: i64, limit: usize) -> Result<MessageRowsChecked>;

    /// Corrects rows of messages, by position.
    async fn correct_message_rows(&self, org: OrgId, positions: &[i64]) -> Result<()>;

    /// Hours whose counts do not match the stored attempts. Attempts expire, so only the hours after the first one with
    /// attempts are known to be complete; that first hour must count at least the stored attempts.
    async fn hours_off(&self) -> Result<Vec<HourOff>>;

    /// Sets those counts to the ones that result from the attempts.
    async fn recount_hours(&self) -> Result<()>;

    /// Triggers of the audit trail that are not there as they should be.
    async fn lost_guards(&self) -> Result<Vec<LostGuard>>;

    /// Triggers and rules on the tables of the audit trail that no migration made. They may keep records from being
    /// written.
    async fn foreign_triggers(&self) -> Result<Vec<ForeignTrigger>>;

    /// Puts back the triggers that are not there as they should be.
    async fn restore_guards(&self) -> Result<()>;

    /// Goes on compressing messages that an earlier build wrote: looks at the next `limit` messages at most, and returns
    /// how many of them it compressed. `None` if all are compressed, or another node compresses at this moment.
    async fn compress_earlier_messages(&self, limit: usize) -> Result<Option<u64>>;

    /// How many positions of the logs are still to be looked at; `None` if all messages are compressed.
    async fn earlier_messages_left(&self) -> Result<Option<u64>>;

    /// Writes corrections, all or none.
    async fn correct(&self, corrections: &[Correction]) -> Result<()>;
}

/// A kind of orphan: its description, the query that finds it, and the statement that removes it, if it may be removed.
pub(crate) struct Kinds {
    pub what: &'static str,
    /// Returns the organization and the id.
    pub find: &'static str,
    pub remove: Option<&'static str>,
}

/// The SQL is the same for both dialects, except for `{customer}`, the column of a customer's id.
pub(crate) const ORPHANS: &[Kinds] = &[
    Kinds {
        what: "has a journal but no account row; restore the database from a backup",
        find: "SELECT DISTINCT i.org, i.account FROM inputs i
               WHERE NOT EXISTS (SELECT 1 FROM accounts a WHERE a.org = i.org AND a.account = i.account)",
        remove: None,
    },
    Kinds {
        what: "has line items, but neither an account row nor a journal",
        find: "SELECT DISTINCT l.org, l.account FROM line_items l
               WHERE NOT EXISTS (SELECT 1 FROM accounts a WHERE a.org = l.org AND a.account = l.account)
                 AND NOT EXISTS (SELECT 1 FROM inputs i WHERE i.org = l.org AND i.account = l.account)",
        remove: Some(
            "DELETE FROM line_items
             WHERE NOT EXISTS (SELECT 1 FROM accounts a WHERE a.org = line_items.org AND a.account = line_items.account)
               AND NOT EXISTS (SELECT 1 FROM inputs i WHERE i.org = line_items.org AND i.account = line_items.account)",
        ),
    },
    Kinds {
        what: "has customers, but neither an account row nor a journal",
        find: "SELECT DISTINCT c.org, c.account FROM account_customers c
               WHERE NOT EXISTS (SELECT 1 FROM accounts a WHERE a.org = c.org AND a.account = c.account)
                 AND NOT EXISTS (SELECT 1 FROM inputs i WHERE i.org = c.org AND i.account = c.account)",
        remove: Some(
            "DELETE FROM account_customers
             WHERE NOT EXISTS (SELECT 1 FROM accounts a
                               WHERE a.org = account_customers.org AND a.account = account_customers.account)
               AND NOT EXISTS (SELECT 1 FROM inputs i
                               WHERE i.org = account_customers.org AND i.account = account_customers.account)",
        ),
    },
    Kinds {
        what: "has a customer that does not exist",
        find: "SELECT DISTINCT l.org, l.account FROM account_customers l
               WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.org = l.org AND c.{customer} = l.{customer})",
        remove: None,
    },
    Kinds {
        what: "has messages but no account row",
        find: "SELECT DISTINCT m.org, m.account FROM message_groups m WHERE m.account IS NOT NULL
                 AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.org = m.org AND a.account = m.account)",
        remove: None,
    },
    Kinds {
        what: "has scheduled messages but no account row",
        find: "SELECT DISTINCT m.org, m.account FROM waiting_messages m WHERE m.account IS NOT NULL
                 AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.org = m.org AND a.account = m.account)",
        remove: None,
    },
    Kinds {
        what: "is listed for recalculation but does not exist",
        find: "SELECT r.org, r.account FROM accounts_to_refold r
               WHERE NOT EXISTS (SELECT 1 FROM accounts a WHERE a.org = r.org AND a.account = r.account)",
        remove: Some(
            "DELETE FROM accounts_to_refold
             WHERE NOT EXISTS (SELECT 1 FROM accounts a
                               WHERE a.org = accounts_to_refold.org AND a.account = accounts_to_refold.account)",
        ),
    },
    Kinds {
        what: "has search words but does not exist",
        find: "SELECT DISTINCT w.org, w.id FROM words w
               WHERE NOT (w.kind = 1 AND EXISTS (SELECT 1 FROM accounts a WHERE a.org = w.org AND a.account = w.id))
                 AND NOT (w.kind = 2 AND EXISTS (SELECT 1 FROM customers c WHERE c.org = w.org AND c.{customer} = w.id))
                 AND NOT (w.kind = 3 AND EXISTS (SELECT 1 FROM products p WHERE p.org = w.org AND p.product = w.id))",
        remove: Some(
            "DELETE FROM words
             WHERE NOT (kind = 1 AND EXISTS (SELECT 1 FROM accounts a WHERE a.org = words.org AND a.account = words.id))
               AND NOT (kind = 2
                        AND EXISTS (SELECT 1 FROM customers c WHERE c.org = words.org AND c.{customer} = words.id))
               AND NOT (kind = 3 AND EXISTS (SELECT 1 FROM products p WHERE p.org = words.org AND p.product = words.id))",
        ),
    },
    Kinds {
        what: "belongs to an organization that does not exist",
        find: "SELECT a.org, a.account FROM accounts a
               WHERE NOT EXISTS (SELECT 1 FROM organizations o WHERE o.org = a.org)",
        remove: None,
    },
    Kinds {
        what: "is the id of a message whose organization does not exist",
        find: "SELECT m.org, m.event_id FROM message_groups m
               WHERE m.account IS NULL AND NOT EXISTS (SELECT 1 FROM organizations o WHERE o.org = m.org)",
        remove: None,
    },
    Kinds {
        what: "is the number of a log whose organization does not exist",
        find: "SELECT h.org, CAST(h.org AS TEXT) FROM log_heads h
               WHERE NOT EXISTS (SELECT 1 FROM organizations o WHERE o.org = h.org)",
        remove: Some(
            "DELETE FROM log_heads WHERE NOT EXISTS (SELECT 1 FROM organizations o WHERE o.org = log_heads.org)",
        ),
    },
    Kinds {
        what: "is a webhook URL whose position is beyond the end of the log",
        find: "SELECT s.org, s.url FROM subscriptions s
               WHERE s.cursor > coalesce((SELECT h.head FROM log_heads h WHERE h.org = s.org), 0)",
        remove: None,
    },
    Kinds {
        what: "has failed messages but is not the number of a webhook URL",
        find: "SELECT DISTINCT 0, CAST(f.subscription AS TEXT) FROM failures f
               WHERE NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = f.subscription)",
        remove: Some("DELETE FROM failures WHERE NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = subscription)"),
    },
    Kinds {
        what: "is the number of a webhook URL with a failed message that is neither retried nor dead",
        find: "SELECT DISTINCT 0, CAST(f.subscription AS TEXT) FROM failures f
               WHERE f.retry_at IS NULL AND f.dead_at IS NULL",
        remove: None,
    },
    Kinds {
        what: "is the number of a webhook URL with a failed message beyond the end of the log",
        find: "SELECT DISTINCT s.org, CAST(f.subscription AS TEXT) FROM failures f
               JOIN subscriptions s ON s.id = f.subscription
               WHERE f.position < 1
                  OR f.position > coalesce((SELECT h.head FROM log_heads h WHERE h.org = s.org), 0)",
        remove: None,
    },
    Kinds {
        what: "has a range of the log but is not the number of a webhook URL",
        find: "SELECT DISTINCT 0, CAST(r.subscription AS TEXT) FROM ranges r
               WHERE NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = r.subscription)",
        remove: Some("DELETE FROM ranges WHERE NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = subscription)"),
    },
];

/// How the dialects name an attempt: its organization, its position, and the attempts of a failed message `f` of a
/// subscription `s`.
pub(crate) struct AttemptWords {
    pub org: &'static str,
    pub position: &'static str,
    pub of_failure: &'static str,
    /// The highest number that a subscription ever got.
    pub last_subscription: &'static str,
}

/// Attempts that were not made. Attempts of a URL that was deleted are kept until they expire.
const ATTEMPTS: &[(&str, &str)] = &[
    (
        "has attempts, but was never the number of a webhook URL",
        "SELECT DISTINCT 0, CAST(a.subscription AS TEXT) FROM attempts a
         WHERE (a.subscription < 1 OR a.subscription > coalesce({last_subscription}, 0))
           AND NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = a.subscription)",
    ),
    (
        "is the number of a webhook URL with attempts to deliver messages that its log does not have",
        "SELECT DISTINCT 0, CAST(a.subscription AS TEXT) FROM attempts a
         LEFT JOIN subscriptions s ON s.id = a.subscription
         WHERE {position} < 1
            OR {position} > coalesce((SELECT h.head FROM log_heads h WHERE h.org = coalesce(s.org, {org})), 0)",
    ),
];

/// Failed messages whose count of attempts is not the number of the last attempt. A message that is sent again starts
/// at 0.
const MISCOUNTED: &str = "
    NOT (f.attempts = 0 AND f.first_failed_at IS NULL)
    AND f.attempts <> (SELECT a.number FROM attempts a WHERE {of_failure} ORDER BY a.id DESC LIMIT 1)";

impl AttemptWords {
    fn said(&self, sql: &str) -> String {
        sql.replace("{org}", self.org)
            .replace("{position}", self.position)
            .replace("{of_failure}", self.of_failure)
            .replace("{last_subscription}", self.last_subscription)
    }

    /// What is wrong with an attempt, and the query that finds it.
    pub(crate) fn unsound(&self) -> impl Iterator<Item = (&'static str, String)> {
        ATTEMPTS.iter().map(move |(what, find)| (*what, self.said(find)))
    }

    /// What is wrong with a failed message, the query that finds it, and the statement that corrects it.
    pub(crate) fn miscounted(&self) -> (&'static str, String, String) {
        let joined = "FROM failures f JOIN subscriptions s ON s.id = f.subscription";
        let find = format!("SELECT DISTINCT s.org, CAST(f.subscription AS TEXT) {joined} WHERE {MISCOUNTED}");
        let correct = format!(
            "UPDATE failures AS f
             SET attempts = (SELECT a.number FROM attempts a WHERE {{of_failure}} ORDER BY a.id DESC LIMIT 1)
             FROM subscriptions s WHERE s.id = f.subscription AND {MISCOUNTED}"
        );
        let what = "is the number of a webhook URL with a failed message whose count of attempts is wrong";
        (what, self.said(&find), self.said(&correct))
    }
}

/// Returns organization, hour, subscription, the stored counts, and the counts that result from the attempts. The SQL
/// is the same for both dialects, except for `{org}`, the organization of an attempt. The first hour with attempts is
/// complete if no attempt was ever removed: then the last one's number is their count.
pub(crate) const HOURS_OFF: &str = "
    WITH given AS (
        SELECT coalesce(s.org, {org}) AS org, a.at - a.at % 3600000000 AS hour, a.subscription,
               sum(CASE WHEN a.error IS NULL THEN 1 ELSE 0 END) AS delivered,
               sum(CASE WHEN a.error IS NULL THEN 0 ELSE 1 END) AS failed
        FROM attempts a LEFT JOIN subscriptions s ON s.id = a.subscription
        WHERE coalesce(s.org, {org}) IN (SELECT o.org FROM organizations o) GROUP BY 1, 2, 3),
    firsts AS (SELECT min(hour) AS hour FROM given UNION ALL SELECT min(hour) AS hour FROM delivery_hours),
    known AS (SELECT max(hour) AS hour FROM firsts WHERE EXISTS (SELECT 1 FROM given)),
    hours AS (
        SELECT coalesce(k.org, g.org) AS org, coalesce(k.hour, g.hour) AS hour,
               coalesce(k.subscription, g.subscription) AS subscription,
               coalesce(k.delivered, 0) AS kept_delivered, coalesce(k.failed, 0) AS kept_failed,
               coalesce(g.delivered, 0) AS given_delivered, coalesce(g.failed, 0) AS given_failed
        FROM delivery_hours k
        FULL JOIN given g ON g.org = k.org AND g.hour = k.hour AND g.subscription = k.subscription)
    SELECT h.org, h.hour, h.subscription, h.kept_delivered, h.kept_failed, h.given_delivered, h.given_failed
    FROM hours h CROSS JOIN known
    WHERE (h.hour > known.hour AND (h.kept_delivered <> h.given_delivered OR h.kept_failed <> h.given_failed))
       OR (h.hour = known.hour AND (h.kept_delivered < h.given_delivered OR h.kept_failed < h.given_failed))
       OR (h.hour = known.hour AND (h.kept_delivered > h.given_delivered OR h.kept_failed > h.given_failed)
           AND (SELECT count(*) FROM attempts) = (SELECT max(id) FROM attempts))
    ORDER BY h.org, h.hour, h.subscription";

/// A statement in a dialect.
pub(crate) fn in_words(sql: &str, customer: &str) -> String {
    sql.replace("{customer}", customer)
}
