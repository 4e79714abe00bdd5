//! Subscriptions as callers create and change them.
//!
//! A new subscription begins at the head of the log, and a resumed one continues from there. The head is locked while
//! it is read: a concurrent message is either already in the log, or gets a position beyond the head.

use super::super::arrays::{limit, micros};
use super::super::audit;
use super::super::cells::{Cells, each};
use super::super::flight::{Frame, Param, Query, Transaction};
use super::super::grouped_messages::is_unwanted;
use super::super::retry::{Try, retried};
use super::super::server::PostgresServer;
use super::out_of_order::part;
use super::ranges::take_out;
use super::{SUBSCRIPTION, stretch};
use crate::error::StoreError;
use crate::outbox::rows::subscription as read;
use crate::outbox::{LATEST_ATTEMPTS, Pause, Subscription, SubscriptionId, SuppliedSettings, TO_EVERYBODY};
use crate::records::OrgId;
use crate::{Audited, Result};
use daybook_engine::time::Time;
use std::sync::LazyLock;
use tokio_postgres::Row;

const BEGIN: Frame = Frame { begin: Some("BEGIN"), commit: false };
const COMMIT: Frame = Frame { begin: None, commit: true };

/// A new subscription gets the impossible cursor -1 until the head is locked.
const MAKE: &str = "
    INSERT INTO subscriptions (org, uuid, url, filter, paused_reason, paused_at, consecutive_errors, streak, created_at,
        last_success_at, cursor, version, from_console, max_per_second, max_in_flight, probe_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, -1, 1, $11, $12, $13, $16)
    ON CONFLICT (org, url) DO UPDATE SET filter = excluded.filter, version = subscriptions.version + 1,
        from_console = subscriptions.from_console OR excluded.from_console,
        max_per_second = CASE WHEN $14 THEN excluded.max_per_second ELSE subscriptions.max_per_second END,
        max_in_flight = CASE WHEN $15 THEN excluded.max_in_flight ELSE subscriptions.max_in_flight END";

/// Deletes retries and dead letters that the filter `$3` no longer includes; event `$4` goes to every subscription.
static NARROW: LazyLock<[String; 4]> = LazyLock::new(|| {
    let is_unwanted = is_unwanted("$3::text[]", "$4");
    [
        format!(
            "UPDATE attempts a SET next_at = NULL FROM failures f, subscriptions s
             WHERE s.org = $1 AND s.url = $2 AND f.org = s.org AND f.subscription = s.id AND f.retry_at IS NOT NULL
               AND {is_unwanted}
               AND a.org = f.org AND a.position = f.position AND a.subscription = f.subscription
               AND a.next_at = f.retry_at"
        ),
        format!(
            "DELETE FROM failures f USING subscriptions s
             WHERE s.org = $1 AND s.url = $2 AND f.org = s.org AND f.subscription = s.id AND {is_unwanted}"
        ),
        "UPDATE ranges r
         SET filter = CASE WHEN r.filter IS NULL THEN $3::text[]
                           ELSE ARRAY(SELECT unnest(r.filter) INTERSECT SELECT unnest($3::text[])) END
         FROM subscriptions s
         WHERE s.org = $1 AND s.url = $2 AND r.org = s.org AND r.subscription = s.id AND $4 <> ''"
            .to_owned(),
        "DELETE FROM ranges r USING subscriptions s
         WHERE s.org = $1 AND s.url = $2 AND r.org = s.org AND r.subscription = s.id
           AND cardinality(r.filter) = 0 AND $3::text[] IS NOT NULL AND $4 <> ''"
            .to_owned(),
    ]
});

/// Serializes the creation of subscriptions of one organization, so that they are counted one at a time.
const ALONE_IN: &str = "SELECT FROM organizations WHERE org = $1 FOR NO KEY UPDATE";

/// Returns a row if there is no room for this URL.
const FULL: &str = "
    SELECT FROM (SELECT count(*) AS kept, count(*) FILTER (WHERE url = $2) AS same FROM subscriptions WHERE org = $1) c
    WHERE c.kept >= $3 AND c.same = 0";

/// Ensures that there is a head to lock.
const HAVE_HEAD: &str = "INSERT INTO log_heads (org, head) VALUES ($1, 0) ON CONFLICT DO NOTHING";
const LOCK_HEAD: &str = "SELECT head FROM log_heads WHERE org = $1 FOR UPDATE";

const BEGIN_AT_HEAD: &str = "
    UPDATE subscriptions s SET cursor = h.head FROM log_heads h
    WHERE s.org = $1 AND s.url = $2 AND s.cursor = -1 AND h.org = s.org";

pub(super) const PAUSE: &str = "
    UPDATE subscriptions SET paused_reason = $2, paused_at = $3, probe_at = $4, version = version + 1 WHERE id = $1";

/// Pending retries are dead from then on.
const BURY_FAILURES: &str = "
    UPDATE failures SET dead_at = $3, retry_at = NULL
    WHERE org = $1 AND subscription = $2 AND retry_at IS NOT NULL";

/// Ranges being replayed are dead again, and are kept as long as messages that die now.
const BURY_RANGES: &str = "
    UPDATE ranges SET replaying = false, since = GREATEST(since, $3)
    WHERE org = $1 AND subscription = $2 AND replaying";

/// A new start: ends the series of failures, even for a node that is counting it.
const RESUME: &str = "
    UPDATE subscriptions s
    SET paused_reason = NULL, paused_at = NULL, cursor = h.head, consecutive_errors = 0, streak = s.streak + 1,
        version = s.version + 1, probe_at = NULL
    FROM log_heads h WHERE h.org = s.org AND s.id = $1";

/// Messages that were deferred until the end of the hold, `$3`, are due at `$4`.
const PUT_FORWARD: &str = "
    UPDATE failures SET retry_at = LEAST(retry_at, $4)
    WHERE org = $1 AND subscription = $2 AND status = 429 AND retry_at <= $3";

/// The new version shows the sender that there is something to send, and that the subscription is not on hold.
const CHANGED: &str = "UPDATE subscriptions SET version = version + 1, probe_at = NULL WHERE org = $1 AND id = $2";

const RANGES: &str = "SELECT id FROM ranges WHERE org = $1 AND subscription = $2";

/// Positions that were delivered by the latest attempts.
const DELIVERED_LATELY: &str = "
    SELECT a.position
    FROM (SELECT position, error FROM attempts WHERE org = $1 AND subscription = $2 ORDER BY id DESC LIMIT $3) a
    WHERE a.error IS NULL";

/// Positions after the cursor that have a failure of their own.
const FAILED_BEYOND: &str = "SELECT position FROM failures WHERE org = $1 AND subscription = $2 AND position > $3";

pub(super) async fn subscribe(
    server: &PostgresServer,
    new: &Subscription,
    given: SuppliedSettings,
    most: usize,
    audit: Audited<'_>,
) -> Result<Option<Subscription>> {
    retried!(server, transaction => subscribe_once(&mut transaction, new, given, most, audit))
}

async fn subscribe_once(
    transaction: &mut Transaction,
    new: &Subscription,
    given: SuppliedSettings,
    most: usize,
    audit: Audited<'_>,
) -> Try<Option<Subscription>> {
    let alone = Query::new(ALONE_IN, vec![Box::new(new.org)]);
    transaction.fly(BEGIN, &[alone]).await?;
    make(transaction, new, given, most, audit).await
}

/// Creates a subscription, unless it is one too many, and commits.
async fn make(
    transaction: &mut Transaction,
    new: &Subscription,
    given: SuppliedSettings,
    most: usize,
    audit: Audited<'_>,
) -> Try<Option<Subscription>> {
    let full = Query::new(FULL, vec![Box::new(new.org), Box::new(&*new.url), Box::new(limit(most))]);
    if transaction.fly(Frame::default(), &[full]).await?.iter().any(|rows| !rows.is_empty()) {
        return Ok(None);
    }
    let by_url = format!("SELECT {SUBSCRIPTION} FROM subscriptions s WHERE s.org = $1 AND s.url = $2");
    let (reason, paused_at) = new.paused.as_ref().map(|pause| (&*pause.reason, pause.at.micros())).unzip();
    let probe_at = new.paused.as_ref().and_then(|pause| pause.probe_at);
    let lock = format!("{by_url} FOR UPDATE");
    let before = Query::new(&lock, vec![Box::new(new.org), Box::new(&*new.url)]);
    let before = first(&transaction.fly(Frame::default(), &[before]).await?)?;
    let setting = |value: Option<u32>| value.and_then(|value| i32::try_from(value).ok());
    let mut steps = vec![
        Query::new(
            MAKE,
            vec![
                Box::new(new.org),
                Box::new(&*new.uuid),
                Box::new(&*new.url),
                Box::new(new.filter.as_deref()),
                Box::new(reason),
                Box::new(paused_at),
                Box::new(new.consecutive_errors),
                Box::new(new.streak),
                Box::new(new.created_at.micros()),
                Box::new(micros(new.last_success_at)),
                Box::new(new.from_console),
                Box::new(setting(new.max_per_second)),
                Box::new(setting(new.max_in_flight)),
                Box::new(given.max_per_second),
                Box::new(given.max_in_flight),
                Box::new(micros(probe_at)),
            ],
        ),
        Query::new(HAVE_HEAD, vec![Box::new(new.org)]),
        Query::new(LOCK_HEAD, vec![Box::new(new.org)]),
        Query::new(BEGIN_AT_HEAD, vec![Box::new(new.org), Box::new(&*new.url)]),
    ];
    if let (Some(filter), true) = (&new.filter, before.is_some_and(|before| before.filter != new.filter)) {
        let step = |sql: &'static String| {
            let params: Vec<Param<'_>> =
                vec![Box::new(new.org), Box::new(&*new.url), Box::new(&**filter), Box::new(TO_EVERYBODY)];
            Query::new(sql, params)
        };
        steps.extend(NARROW.each_ref().map(step));
    }
    steps.push(Query::new(&by_url, vec![Box::new(new.org), Box::new(&*new.url)]));
    let records = audit::steps(audit);
    let last = steps.len() - 1;
    steps.extend(records);
    let answers = transaction.fly(COMMIT, &steps).await?;
    let made = answers.get(last).into_iter().flatten().next_back().map(|row| read(&mut Cells::of(row))).transpose()?;
    Ok(Some(made.ok_or_else(|| StoreError::Broken("a subscription was not stored".to_owned()))?))
}

pub(super) async fn save_console_url(
    server: &PostgresServer,
    org: OrgId,
    new: Option<&Subscription>,
    most: usize,
    audit: Audited<'_>,
) -> Result<Option<Subscription>> {
    let new = new.map(|new| Subscription { org, filter: None, from_console: true, ..new.clone() });
    retried!(server, transaction => save_console_url_once(&mut transaction, org, new.as_ref(), most, audit))
}

/// Removes the previously saved URL, unless it is the requested one.
async fn save_console_url_once(
    transaction: &mut Transaction,
    org: OrgId,
    new: Option<&Subscription>,
    most: usize,
    audit: Audited<'_>,
) -> Try<Option<Subscription>> {
    let alone = Query::new(ALONE_IN, vec![Box::new(org)]);
    transaction.fly(BEGIN, &[alone]).await?;
    let before = format!("SELECT {SUBSCRIPTION} FROM subscriptions s WHERE s.org = $1 AND s.from_console FOR UPDATE");
    let rows = transaction.fly(Frame::default(), &[Query::new(&before, vec![Box::new(org)])]).await?;
    let replaced = first(&rows)?.filter(|before| new.is_none_or(|new| new.url != before.url));
    if let Some(replaced) = replaced {
        transaction.fly(Frame::default(), &remove(org, replaced.id)).await?;
    }
    match new {
        Some(new) => make(transaction, new, SuppliedSettings::default(), most, audit).await,
        None => {
            transaction.fly(COMMIT, &audit::steps(audit)).await?;
            Ok(None)
        }
    }
}

pub(super) async fn subscriptions(server: &PostgresServer, org: OrgId) -> Result<Vec<Subscription>> {
    let sql = format!("SELECT {SUBSCRIPTION} FROM subscriptions s WHERE s.org = $1 ORDER BY s.created_at, s.id");
    each(&server.query(&sql, &[&org]).await?, read)
}

/// Locks a subscription by its public id.
pub(super) async fn lock(transaction: &mut Transaction, org: OrgId, uuid: &str) -> Try<Option<Subscription>> {
    let sql = format!("SELECT {SUBSCRIPTION} FROM subscriptions s WHERE s.org = $1 AND s.uuid = $2 FOR UPDATE");
    let rows = transaction.fly(BEGIN, &[Query::new(&sql, vec![Box::new(org), Box::new(uuid)])]).await?;
    first(&rows)
}

/// Changes a locked subscription, and commits; returns it as it is then.
async fn change(
    transaction: &mut Transaction,
    id: SubscriptionId,
    steps: Vec<Query<'_>>,
    audit: Audited<'_>,
) -> Try<Option<Subscription>> {
    let sql = format!("SELECT {SUBSCRIPTION} FROM subscriptions s WHERE s.id = $1");
    let mut steps = steps;
    steps.extend(audit::steps(audit));
    steps.push(Query::new(&sql, vec![Box::new(id)]));
    let mut rows = transaction.fly(COMMIT, &steps).await?;
    first(&rows.split_off(steps.len() - 1))
}

fn first(rows: &[Vec<Row>]) -> Try<Option<Subscription>> {
    Ok(rows.iter().flatten().next().map(|row| read(&mut Cells::of(row))).transpose()?)
}

pub(super) async fn pause(
    server: &PostgresServer,
    org: OrgId,
    uuid: &str,
    pause: &Pause,
    audit: Audited<'_>,
) -> Result<Option<Subscription>> {
    retried!(server, transaction => pause_once(&mut transaction, org, uuid, pause, audit))
}

async fn pause_once(
    transaction: &mut Transaction,
    org: OrgId,
    uuid: &str,
    pause: &Pause,
    audit: Audited<'_>,
) -> Try<Option<Subscription>> {
    let found = lock(transaction, org, uuid).await?;
    let is_replaced = |found: &&Subscription| found.paused.as_ref().is_none_or(|before| pause.replaces(before));
    let Some(before) = found.as_ref().filter(is_replaced) else { return Ok(found) };
    let pausing: Vec<Param<'_>> = vec![
        Box::new(before.id),
        Box::new(&*pause.reason),
        Box::new(pause.at.micros()),
        Box::new(micros(pause.probe_at)),
    ];
    let mut steps = vec![Query::new(PAUSE, pausing)];
    steps.extend(bury(org, before.id, pause));
    steps.extend(part(org, before.id, pause.at));
    change(transaction, before.id, steps, audit).await
}

/// A pause makes everything that was to be sent again dead.
pub(super) fn bury<'a>(org: OrgId, id: SubscriptionId, pause: &Pause) -> [Query<'a>; 2] {
    let at = pause.at.micros();
    [BURY_FAILURES, BURY_RANGES].map(|sql| Query::new(sql, vec![Box::new(org), Box::new(id), Box::new(at)]))
}

/// Notifies the sender of an active subscription, and ends its hold.
pub(super) fn changed<'a>(of: &Subscription, now: Time) -> Vec<Query<'a>> {
    let forward = |until: Time| -> Vec<Param<'a>> {
        vec![Box::new(of.org), Box::new(of.id), Box::new(until.micros()), Box::new(now.micros())]
    };
    let mut steps: Vec<Query<'a>> =
        of.held_until.map(|until| Query::new(PUT_FORWARD, forward(until))).into_iter().collect();
    steps.push(Query::new(CHANGED, vec![Box::new(of.org), Box::new(of.id)]));
    steps
}

pub(super) async fn resume(
    server: &PostgresServer,
    org: OrgId,
    uuid: &str,
    now: Time,
    audit: Audited<'_>,
) -> Result<Option<Subscription>> {
    let keep_missed = stretch::keep_missed();
    retried!(server, transaction => resume_once(&mut transaction, org, uuid, now, &keep_missed, audit))
}

async fn resume_once(
    transaction: &mut Transaction,
    org: OrgId,
    uuid: &str,
    now: Time,
    keep_missed: &str,
    audit: Audited<'_>,
) -> Try<Option<Subscription>> {
    let found = lock(transaction, org, uuid).await?;
    if let Some(held) = found.as_ref().filter(|found| found.held_until.is_some()) {
        return change(transaction, held.id, changed(held, now), audit).await;
    }
    let Some(paused) = found.as_ref().filter(|found| found.paused.is_some()) else { return Ok(found) };
    resume_locked(transaction, paused, keep_missed, None, audit).await
}

/// Resumes a locked, paused subscription, and commits. A position that was just delivered is put in no range.
pub(super) async fn resume_locked(
    transaction: &mut Transaction,
    paused: &Subscription,
    keep_missed: &str,
    just_delivered: Option<i64>,
    audit: Audited<'_>,
) -> Try<Option<Subscription>> {
    let org = paused.org;
    let steps = vec![
        Query::new(HAVE_HEAD, vec![Box::new(org)]),
        Query::new(LOCK_HEAD, vec![Box::new(org)]),
        Query::new(RANGES, vec![Box::new(org), Box::new(paused.id)]),
        Query::new(keep_missed, vec![Box::new(paused.id)]),
        Query::new(DELIVERED_LATELY, vec![Box::new(org), Box::new(paused.id), Box::new(LATEST_ATTEMPTS)]),
        Query::new(FAILED_BEYOND, vec![Box::new(org), Box::new(paused.id), Box::new(paused.cursor)]),
    ];
    let rows = transaction.fly(Frame::default(), &steps).await?;
    let numbers = |step: usize| each(rows.get(step).map_or(&[], Vec::as_slice), |cells| cells.next::<i64>());
    let (earlier, delivered, failed) = (numbers(2)?, numbers(4)?, numbers(5)?);
    // Ranges of delivered messages that were to be sent again when it was paused stay, although those were delivered
    // before.
    take_out(transaction, (org, paused.id), &delivered.into_iter().chain(failed).collect(), &earlier).await?;
    take_out(transaction, (org, paused.id), &just_delivered.into_iter().collect(), &[]).await?;
    change(transaction, paused.id, vec![Query::new(RESUME, vec![Box::new(paused.id)])], audit).await
}

pub(super) async fn unsubscribe(server: &PostgresServer, org: OrgId, uuid: &str, audit: Audited<'_>) -> Result<bool> {
    retried!(server, transaction => unsubscribe_once(&mut transaction, org, uuid, audit))
}

/// Its attempts are no longer shown, and are deleted when they expire: there may be millions.
async fn unsubscribe_once(transaction: &mut Transaction, org: OrgId, uuid: &str, audit: Audited<'_>) -> Try<bool> {
    let Some(found) = lock(transaction, org, uuid).await? else { return Ok(false) };
    let mut steps = Vec::from(remove(org, found.id));
    steps.extend(audit::steps(audit));
    transaction.fly(COMMIT, &steps).await?;
    Ok(true)
}

fn remove<'a>(org: OrgId, id: SubscriptionId) -> [Query<'a>; 3] {
    [
        "DELETE FROM failures WHERE org = $1 AND subscription = $2",
        "DELETE FROM ranges WHERE org = $1 AND subscription = $2",
        "DELETE FROM subscriptions WHERE org = $1 AND id = $2",
    ]
    .map(|sql| Query::new(sql, vec![Box::new(org), Box::new(id)]))
}
