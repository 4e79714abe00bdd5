//! The log of messages, and the messages that wait to be due.
//!
//! A message gets its position last: the organization's head is advanced, and stays locked until the transaction is
//! durable. So positions have no gaps, and a reader who sees a position sees all before it.
//!
//! A waiting message belongs to its account: it is moved only under the account's lock, so the messages of an account
//! enter the log in one order, whether a commit or [`publish_due`] moves them.

use super::arrays::{column, limit as most};
use super::cells::Cells;
use super::flight::{Frame, Param, Query, Transaction};
use super::server::{PostgresServer, TRIES, lost_to_another, refused};
use super::write::account_key;
use crate::Result;
use crate::batch::{AccountClaim, AccountWrite, Cancel, CustomerWrite, ProductWrite, Unit};
use crate::message_groups::NewRow;
use crate::records::{AccountKey, MessageRow, OrgId};
use crate::rows;
use daybook_engine::time::Time;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use tokio_postgres::{Error, Row};

/// The heads are returned in the order of organizations. Each row carries the index of its head and the distance from
/// that head to the position of its last message, and so do the events of rows of several messages.
const APPEND: &str = "
    WITH heads AS (
        INSERT INTO log_heads (org, head, hurried)
        SELECT h.org, h.count, CASE WHEN h.org = ANY($16::bigint[]) THEN h.count ELSE 0 END
        FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::bigint[]) AS count) h
        ON CONFLICT (org) DO UPDATE
        SET head = log_heads.head + excluded.head,
            hurried = CASE WHEN log_heads.org = ANY($16::bigint[])
                           THEN log_heads.head + excluded.head ELSE log_heads.hurried END
        RETURNING org, head),
    listed AS MATERIALIZED (SELECT array_agg(head ORDER BY org) AS heads FROM heads),
    events AS (
        INSERT INTO message_events (org, event, position, mask)
        SELECT e.org, e.event, l.heads[e.place] - e.before, e.mask
        FROM listed l
        CROSS JOIN (
            SELECT unnest($18::bigint[]) AS org, unnest($19::int[]) AS place, unnest($20::bigint[]) AS before,
                   unnest($21::text[]) AS event, unnest($22::int[]) AS mask) e
        -- A list of events that was left where there is no row does not keep one from being written there.
        ON CONFLICT (org, event, position) DO UPDATE SET mask = excluded.mask)
    INSERT INTO message_groups (org, position, account, sequence, event, event_id, cause, subject, effective_at,
        recorded_at, content, signature, size)
    SELECT m.org, l.heads[m.place] - m.before, m.account, m.sequence, m.event, m.event_id, m.cause, m.subject,
        m.effective_at, m.recorded_at, m.content, m.signature, m.size
    FROM listed l
    CROSS JOIN (
        SELECT unnest($3::bigint[]) AS org, unnest($4::int[]) AS place, unnest($5::bigint[]) AS before,
               unnest($6::text[]) AS account, unnest($7::bigint[]) AS sequence, unnest($8::text[]) AS event,
               unnest($9::text[]) AS event_id, unnest($10::text[]) AS cause, unnest($11::text[]) AS subject,
               unnest($12::bigint[]) AS effective_at, unnest($13::bigint[]) AS recorded_at,
               unnest($14::bytea[]) AS content, unnest($15::text[]) AS signature, unnest($17::int[]) AS size) m";

const WAIT: &str = "
    INSERT INTO waiting_messages (org, due_at, account, sequence, event, event_id, cause, subject, effective_at,
        recorded_at, content, signature, cancelled_at)
    SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::bigint[]), unnest($5::text[]),
        unnest($6::text[]), unnest($7::text[]), unnest($8::text[]), unnest($9::bigint[]), unnest($10::bigint[]),
        unnest($11::bytea[]), unnest($12::text[]), unnest($13::bigint[])";

/// Waiting messages of locked accounts.
const OF_ACCOUNTS: &str = "
    SELECT m.arrival, m.org, NULL::bigint, m.due_at, m.cancelled_at, m.account, m.sequence, m.event, m.event_id,
        m.cause, m.subject, m.effective_at, m.recorded_at, m.content, m.signature
    FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS account, unnest($3::bigint[]) AS until) w
    CROSS JOIN LATERAL (
        SELECT m.* FROM waiting_messages m
        WHERE m.org = w.org AND m.account = w.account AND m.due_at <= w.until AND m.cancelled_at IS NULL
        OFFSET 0) m
    ORDER BY m.due_at, m.arrival";

const REMOVE: &str = "
    DELETE FROM waiting_messages m
    USING (SELECT unnest($1::bigint[]) AS org, unnest($2::bigint[]) AS arrival) w
    WHERE m.org = w.org AND m.arrival = w.arrival";

const CANCEL: &str = "
    UPDATE waiting_messages m SET cancelled_at = w.at
    FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS account, unnest($3::bigint[]) AS at,
                 unnest($4::text[]) AS prefix) w
    WHERE m.org = w.org AND m.account = w.account AND m.due_at > w.at AND m.cancelled_at IS NULL
        AND starts_with(m.cause, w.prefix)";

/// One node publishes at a time: the letters "publish" as bytes.
const LOCK_PUBLISHING: &str = "SELECT pg_advisory_xact_lock(31654262977688424)";

const LOCK_ACCOUNTS: &str = "
    SELECT w.org, w.account
    FROM (SELECT DISTINCT m.org, m.account
          FROM (SELECT org, account FROM waiting_messages WHERE due_at <= $1 AND cancelled_at IS NULL
                ORDER BY due_at, arrival LIMIT $2) m
          WHERE m.account IS NOT NULL ORDER BY m.org, m.account) w
    LEFT JOIN LATERAL (
        SELECT FROM accounts a WHERE a.org = w.org AND a.account = w.account
        OFFSET 0 FOR NO KEY UPDATE) a ON true";

const DUE: &str = "
    SELECT m.arrival, m.org, NULL::bigint, m.due_at, m.cancelled_at, m.account, m.sequence, m.event, m.event_id,
        m.cause, m.subject, m.effective_at, m.recorded_at, m.content, m.signature
    FROM waiting_messages m WHERE m.due_at <= $1 AND m.cancelled_at IS NULL ORDER BY m.due_at, m.arrival LIMIT $2";

/// A message that moves from waiting into the log.
pub(super) struct WaitingMessage {
    arrival: i64,
    org: OrgId,
    row: NewRow,
}

impl WaitingMessage {
    fn read(rows: &[Row]) -> Result<Vec<WaitingMessage>> {
        let read = |row: &Row| {
            let mut cells = Cells::of(row);
            let arrival = cells.next()?;
            let (org, message) = rows::message_of(&mut cells)?;
            Ok(WaitingMessage { arrival, org, row: NewRow::alone(message) })
        };
        rows.iter().map(read).collect()
    }
}

/// The query for the waiting messages that units publish, if there are such units.
pub(super) fn ask_waiting<'a>(units: &[&'a Unit]) -> Option<Query<'a>> {
    let wanted: Vec<(&AccountKey, Time)> =
        units.iter().flat_map(|unit| &unit.accounts).filter_map(published_by).collect();
    let step = Query::new(
        OF_ACCOUNTS,
        vec![
            column(&wanted, |&(key, _)| key.org),
            column(&wanted, |&(key, _)| &*key.account),
            column(&wanted, |&(_, until)| until.micros()),
        ],
    );
    (!wanted.is_empty()).then_some(step)
}

/// The account whose waiting messages a write publishes, and until when. A new account has none.
fn published_by(write: &AccountWrite) -> Option<(&AccountKey, Time)> {
    match write.claim {
        AccountClaim::Update { .. } => write.publish_until.map(|until| (account_key(write), until)),
        AccountClaim::Insert(_) => None,
    }
}

/// The waiting messages found, by account.
pub(super) struct Published<'w> {
    by_account: HashMap<AccountKey, Vec<&'w WaitingMessage>>,
}

/// Reads the rows of [`ask_waiting`].
pub(super) fn read_waiting(rows: &[Row]) -> Result<Vec<WaitingMessage>> {
    WaitingMessage::read(rows)
}

impl<'w> Published<'w> {
    pub fn of(waiting: &'w [WaitingMessage]) -> Published<'w> {
        let mut by_account: HashMap<AccountKey, Vec<&WaitingMessage>> = HashMap::new();
        for message in waiting {
            if let Some(account) = &message.row.columns.account {
                let key = AccountKey { org: message.org, account: Arc::clone(account) };
                by_account.entry(key).or_default().push(message);
            }
        }
        Published { by_account }
    }

    /// Those that this write publishes.
    fn by(&self, write: &AccountWrite) -> &[&'w WaitingMessage] {
        let found = published_by(write).and_then(|(key, _)| self.by_account.get(key));
        found.map_or(&[], Vec::as_slice)
    }
}

/// All messages of units: waiting ones that are due, and new ones, in the order of the units. The log is written last.
pub(super) fn message_steps<'a>(units: &[&'a Unit], published: &Published<'a>) -> Vec<Query<'a>> {
    let mut log: Vec<(OrgId, &'a NewRow)> = Vec::new();
    let mut waiting: Vec<(OrgId, &'a MessageRow)> = Vec::new();
    let mut moved: Vec<&'a WaitingMessage> = Vec::new();
    let mut hurried: BTreeSet<OrgId> = BTreeSet::new();
    for unit in units {
        if unit.hurry {
            hurried.extend(organizations_of(unit));
        }
        for due in unit.accounts.iter().flat_map(|write| published.by(write)) {
            moved.push(due);
            log.push((due.org, &due.row));
        }
        for (org, row) in &unit.compressed.rows {
            match row.columns.due_at {
                Some(_) => waiting.push((*org, &row.columns)),
                None => log.push((*org, row)),
            }
        }
    }
    let mut steps: Vec<Query<'a>> = remove(&moved).into_iter().collect();
    // Before the new messages, which carry their own `cancelled_at`.
    steps.extend(cancel(units));
    if !waiting.is_empty() {
        steps.push(wait(&waiting));
    }
    steps.extend(append(&log, &hurried));
    steps
}

/// The organizations whose log an urgent unit concerns, whether it has messages or not.
fn organizations_of(unit: &Unit) -> impl Iterator<Item = OrgId> {
    let customers = unit.customers.iter().map(|write| match write {
        CustomerWrite::Insert(row) | CustomerWrite::Update(row) => row.org,
    });
    let products = unit.products.iter().map(|write| match write {
        ProductWrite::Insert(row) => row.key.org,
        ProductWrite::Mode(key, _) => key.org,
    });
    let messages = unit.compressed.rows.iter().map(|(org, _)| *org);
    let accounts = unit.accounts.iter().map(|write| account_key(write).org);
    let others = unit.modes.iter().map(|(key, _)| key.org).chain(unit.answers.iter().map(|answer| answer.org));
    messages.chain(accounts).chain(customers).chain(products).chain(others)
}

fn wait<'a>(rows: &[(OrgId, &'a MessageRow)]) -> Query<'a> {
    Query::new(
        WAIT,
        vec![
            column(rows, |&(org, _)| org),
            column(rows, |&(_, message)| message.due_at.map(Time::micros)),
            column(rows, |&(_, message)| message.account.as_deref()),
            column(rows, |&(_, message)| message.sequence),
            column(rows, |&(_, message)| &*message.event),
            column(rows, |&(_, message)| &*message.event_id),
            column(rows, |&(_, message)| &*message.cause),
            column(rows, |&(_, message)| &*message.subject),
            column(rows, |&(_, message)| message.effective_at.micros()),
            column(rows, |&(_, message)| message.recorded_at.micros()),
            column(rows, |&(_, message)| &*message.data),
            column(rows, |&(_, message)| &*message.signature),
            column(rows, |&(_, message)| message.cancelled_at.map(Time::micros)),
        ],
    )
}

fn cancel<'a>(units: &[&'a Unit]) -> Option<Query<'a>> {
    let cancelled = |write: &'a AccountWrite| write.cancel.map(|which| (account_key(write), which));
    let wanted: Vec<(&AccountKey, Cancel)> =
        units.iter().flat_map(|unit| &unit.accounts).filter_map(cancelled).collect();
    let step = Query::new(
        CANCEL,
        vec![
            column(&wanted, |&(key, _)| key.org),
            column(&wanted, |&(key, _)| &*key.account),
            column(&wanted, |&(_, which)| which.at.micros()),
            column(&wanted, |&(_, which)| which.cause_prefix),
        ],
    );
    (!wanted.is_empty()).then_some(step)
}

fn remove<'a>(rows: &[&WaitingMessage]) -> Option<Query<'a>> {
    let step = Query::new(REMOVE, vec![column(rows, |row| row.org), column(rows, |row| row.arrival)]);
    (!rows.is_empty()).then_some(step)
}

/// Appends messages to the logs of their organizations. Logs in `hurried` are to be sent up to their end.
pub(super) fn append<'a>(rows: &[(OrgId, &'a NewRow)], hurried: &BTreeSet<OrgId>) -> Option<Query<'a>> {
    let mut counts: BTreeMap<OrgId, i64> = hurried.iter().map(|org| (*org, 0)).collect();
    for (org, row) in rows {
        *counts.entry(*org).or_default() += row.size;
    }
    let heads: Vec<(OrgId, i64)> = counts.iter().map(|(org, count)| (*org, *count)).collect();
    let places: BTreeMap<OrgId, i32> = counts.keys().copied().zip(1..).collect();
    // How many of its organization's messages follow the last one of each row.
    let mut left = counts;
    let mut before: Vec<i64> = Vec::with_capacity(rows.len());
    for (org, row) in rows {
        let left = left.entry(*org).or_default();
        *left -= row.size;
        before.push(*left);
    }
    let events: Vec<(OrgId, i64, &'a (String, i64))> = rows
        .iter()
        .zip(&before)
        .flat_map(|(&(org, row), &before)| row.events.iter().map(move |event| (org, before, event)))
        .collect();
    let number = |number: i64| i32::try_from(number).unwrap_or_default();
    let messages: Vec<(OrgId, &'a MessageRow)> = rows.iter().map(|&(org, row)| (org, &row.columns)).collect();
    let step = Query::new(
        APPEND,
        vec![
            column(&heads, |&(org, _)| org),
            column(&heads, |&(_, count)| count),
            column(rows, |&(org, _)| org),
            column(rows, |(org, _)| places.get(org).copied()),
            Box::new(before),
            column(&messages, |&(_, message)| message.account.as_deref()),
            column(&messages, |&(_, message)| message.sequence),
            column(&messages, |&(_, message)| &*message.event),
            column(&messages, |&(_, message)| &*message.event_id),
            column(&messages, |&(_, message)| &*message.cause),
            column(&messages, |&(_, message)| &*message.subject),
            column(&messages, |&(_, message)| message.effective_at.micros()),
            column(&messages, |&(_, message)| message.recorded_at.micros()),
            column(&messages, |&(_, message)| &*message.data),
            column(&messages, |&(_, message)| &*message.signature),
            Box::new(hurried.iter().copied().collect::<Vec<OrgId>>()),
            column(rows, |(_, row)| number(row.size)),
            column(&events, |&(org, ..)| org),
            column(&events, |(org, ..)| places.get(org).copied()),
            column(&events, |&(_, before, _)| before),
            column(&events, |&(_, _, (event, _))| event.as_str()),
            column(&events, |&(_, _, (_, mask))| number(*mask)),
        ],
    );
    (!heads.is_empty()).then_some(step)
}

/// Moves waiting messages that are due into the log.
pub(super) async fn publish_due(server: &PostgresServer, now: Time, limit: usize) -> Result<u64> {
    // Usually there is nothing: checked without a lock.
    let any = "SELECT FROM waiting_messages WHERE due_at <= $1 AND cancelled_at IS NULL LIMIT 1";
    if limit == 0 || server.query_opt(any, &[&now.micros()]).await?.is_none() {
        return Ok(0);
    }
    for _ in 1..TRIES {
        let mut transaction = Transaction::on(server.client().await?);
        match publish(&mut transaction, now, limit).await {
            Ok(Ok(count)) => return Ok(count),
            Ok(Err(error)) => {
                transaction.roll_back().await?;
                return Err(error);
            }
            Err(error) if lost_to_another(&error) => transaction.roll_back().await?,
            Err(error) => {
                let error = refused(error);
                transaction.roll_back().await?;
                return Err(error);
            }
        }
    }
    // Other nodes are publishing: the next call handles what is left.
    Ok(0)
}

async fn publish(transaction: &mut Transaction, now: Time, limit: usize) -> std::result::Result<Result<u64>, Error> {
    let range = || -> Vec<Param<'_>> { vec![Box::new(now.micros()), Box::new(most(limit))] };
    let steps = [Query::new(LOCK_PUBLISHING, Vec::new()), Query::new(LOCK_ACCOUNTS, range()), Query::new(DUE, range())];
    let answers = transaction.fly(Frame { begin: Some("BEGIN"), commit: false }, &steps).await?;
    let [_, locked, due] = &answers[..] else { return Ok(Ok(0)) };
    let mut waiting = match WaitingMessage::read(due) {
        Ok(waiting) => waiting,
        Err(error) => return Ok(Err(error)),
    };
    // A message that was added after the accounts were locked is left for the next call, unless its account is locked.
    let mut accounts: HashSet<(OrgId, &str)> = HashSet::new();
    for row in locked {
        accounts.insert((row.try_get(0)?, row.try_get(1)?));
    }
    waiting.retain(|waiting| {
        waiting.row.columns.account.as_deref().is_none_or(|account| accounts.contains(&(waiting.org, account)))
    });
    let log: Vec<(OrgId, &NewRow)> = waiting.iter().map(|waiting| (waiting.org, &waiting.row)).collect();
    let steps: Vec<Query<'_>> =
        remove(&waiting.iter().collect::<Vec<_>>()).into_iter().chain(append(&log, &BTreeSet::new())).collect();
    transaction.fly(Frame { begin: None, commit: true }, &steps).await?;
    Ok(Ok(log.len() as u64))
}
