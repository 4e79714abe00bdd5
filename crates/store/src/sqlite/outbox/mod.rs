//! Outgoing messages on SQLite: see [`crate::outbox`].
//!
//! Only one process uses the file, so a lease is only a name: the latest token may record, and earlier ones have lost
//! their lease.
//!
//! | module | what it does |
//! |---|---|
//! | [`selection`] | which messages of a log a subscription gets |
//! | [`subscriptions`] | subscriptions; pausing and resuming |
//! | [`dead`] | dead letters: failures, ranges, and what a paused subscription misses |
//! | [`attempts`] | attempts |
//! | [`message`] | one message: its status, and sending it again |
//! | [`sending`] | reads what to send |
//! | [`record`] | records deliveries |
//! | [`probing`] | tries one message of a paused subscription |
//! | [`replay`] | sends dead letters again |
//! | [`delivered`] | sends delivered messages again |
//! | [`search`] | search for messages, and the state of each URL |
//! | [`retention`] | deletes expired rows |

mod attempts;
mod dead;
mod delivered;
mod message;
mod out_of_order;
mod probing;
mod record;
mod replay;
mod retention;
mod search;
mod selection;
mod sending;
mod subscriptions;

use super::Sqlite;
use super::connection::broken;
use crate::outbox::{
    AttemptLine, Backlog, DeadLetter, Deliveries, DeliveryFilter, DeliveryRecords, Failure, Head, Leased,
    MessageFilter, MessageSearchResult, Outbox, Outgoing, Overdue, Pause, Probed, Range, Recorded, ReplayCounts,
    ResendResult, Subscription, SubscriptionFilter, SubscriptionId, SuppliedSettings, UrlMetrics,
};
use crate::records::{MessageRow, OrgId};
use crate::{Audited, Result};
use async_trait::async_trait;
use daybook_engine::time::Time;
use rusqlite::{Connection, Transaction, TransactionBehavior};

/// Runs a write in one transaction.
pub(super) fn whole<T>(connection: &mut Connection, write: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    let answer = write(&transaction)?;
    transaction.commit().map_err(broken)?;
    Ok(answer)
}

/// Runs a write; returns how many rows it changed.
pub(super) fn run(connection: &Connection, sql: &str, params: &[&dyn rusqlite::ToSql]) -> Result<u64> {
    let mut statement = connection.prepare_cached(sql).map_err(broken)?;
    let changed = statement.execute(params).map_err(broken)?;
    Ok(changed as u64)
}

#[async_trait]
impl Outbox for Sqlite {
    async fn subscribe(
        &self,
        subscription: &Subscription,
        given: SuppliedSettings,
        most: usize,
        audit: Audited<'_>,
    ) -> Result<Option<Subscription>> {
        let asked = subscription.clone();
        let subscribe = move |write: &Connection| subscriptions::subscribe(write, &asked, given, most);
        self.write_audited(audit, Option::is_some, subscribe).await
    }

    async fn save_console_url(
        &self,
        org: OrgId,
        subscription: Option<&Subscription>,
        most: usize,
        audit: Audited<'_>,
    ) -> Result<Option<Subscription>> {
        let asked = subscription.cloned();
        let removes = asked.is_none();
        let save = move |write: &Connection| {
            let saved = subscriptions::save_console_url(write, org, asked.as_ref(), most)?;
            Ok((removes || saved.is_some(), saved))
        };
        Ok(self.write_audited(audit, |(changed, _)| *changed, save).await?.1)
    }

    async fn subscriptions(&self, org: OrgId) -> Result<Vec<Subscription>> {
        self.read(move |connection| subscriptions::of_organization(connection, org)).await
    }

    async fn pause(&self, org: OrgId, uuid: &str, pause: &Pause, audit: Audited<'_>) -> Result<Option<Subscription>> {
        let (uuid, pause) = (uuid.to_owned(), pause.clone());
        let pause = move |write: &Connection| {
            let before = subscriptions::by_uuid(write, org, &uuid)?.map(|before| before.version);
            let now = subscriptions::pause(write, org, &uuid, &pause)?;
            Ok((now.as_ref().map(|now| now.version) != before, now))
        };
        Ok(self.write_audited(audit, |(changed, _)| *changed, pause).await?.1)
    }

    async fn resume(&self, org: OrgId, uuid: &str, now: Time, audit: Audited<'_>) -> Result<Option<Subscription>> {
        let uuid = uuid.to_owned();
        let resume = move |write: &Connection| {
            let before = subscriptions::by_uuid(write, org, &uuid)?.map(|before| before.version);
            let resumed = subscriptions::resume(write, org, &uuid, now)?;
            Ok((before != resumed.as_ref().map(|resumed| resumed.version), resumed))
        };
        Ok(self.write_audited(audit, |(changed, _)| *changed, resume).await?.1)
    }

    async fn unsubscribe(&self, org: OrgId, uuid: &str, audit: Audited<'_>) -> Result<bool> {
        let uuid = uuid.to_owned();
        let remove = move |write: &Connection| subscriptions::unsubscribe(write, org, &uuid);
        self.write_audited(audit, |removed| *removed, remove).await
    }

    async fn backlogs(&self, org: OrgId) -> Result<Vec<(SubscriptionId, Backlog)>> {
        self.read(move |connection| subscriptions::backlogs(connection, org)).await
    }

    async fn attempts(
        &self,
        org: OrgId,
        filter: &DeliveryFilter,
        after: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AttemptLine>> {
        let filter = filter.clone();
        self.read(move |connection| attempts::list(connection, org, &filter, after, limit)).await
    }

    async fn dead_letters(
        &self,
        org: OrgId,
        filter: &DeliveryFilter,
        now: Time,
        after: Option<(i64, SubscriptionId)>,
        limit: usize,
    ) -> Result<Vec<DeadLetter>> {
        let filter = filter.clone();
        self.read(move |connection| dead::letters(connection, org, &filter, now, after, limit)).await
    }

    async fn message(&self, org: OrgId, event_id: &str, of: Option<(&str, i64)>) -> Result<Option<MessageRow>> {
        let (event_id, of) = (event_id.to_owned(), of.map(|(account, sequence)| (account.to_owned(), sequence)));
        self.read(move |connection| message::by_event_id(connection, org, &event_id, of)).await
    }

    async fn delivery_records(&self, org: OrgId, positions: &[i64]) -> Result<Vec<Vec<DeliveryRecords>>> {
        let positions = positions.to_vec();
        self.read(move |connection| {
            positions.iter().map(|position| message::delivery_records(connection, org, *position)).collect()
        })
        .await
    }

    async fn search_log(
        &self,
        org: OrgId,
        filter: &MessageFilter,
        before: i64,
        limit: usize,
    ) -> Result<MessageSearchResult> {
        let filter = filter.clone();
        self.read(move |connection| search::log(connection, org, &filter, before, limit)).await
    }

    async fn search_waiting(
        &self,
        org: OrgId,
        filter: &MessageFilter,
        cancelled: Option<bool>,
        before: i64,
        limit: usize,
    ) -> Result<MessageSearchResult> {
        let filter = filter.clone();
        self.read(move |connection| search::waiting(connection, org, &filter, cancelled, before, limit)).await
    }

    async fn replay_delivered(
        &self,
        org: OrgId,
        filter: &DeliveryFilter,
        now: Time,
        dry_run: bool,
        most: usize,
    ) -> Result<Option<ReplayCounts>> {
        let filter = filter.clone();
        self.write(move |connection| {
            whole(connection, |write| delivered::replay(write, org, &filter, now, dry_run, most))
        })
        .await
    }

    async fn url_metrics(&self) -> Result<Vec<UrlMetrics>> {
        self.read(search::url_metrics).await
    }

    async fn send_again(
        &self,
        org: OrgId,
        uuid: &str,
        position: i64,
        now: Time,
        audit: Audited<'_>,
    ) -> Result<ResendResult> {
        let uuid = uuid.to_owned();
        let send = move |write: &Connection| message::send_again(write, org, &uuid, position, now);
        self.write_audited(audit, |again| *again == ResendResult::Sent, send).await
    }

    async fn replay(&self, org: OrgId, filter: &DeliveryFilter, now: Time, dry_run: bool) -> Result<ReplayCounts> {
        let filter = filter.clone();
        if dry_run {
            return self.read(move |connection| replay::replay(connection, org, &filter, now, true)).await;
        }
        self.write(move |connection| whole(connection, |write| replay::replay(write, org, &filter, now, false))).await
    }

    /// There is no other process, so leases do not end, there is no limit, and the share is everything.
    async fn lease(&self, token: &str, _now: Time, _until: Time, _limit: usize) -> Result<Leased> {
        let token = token.to_owned();
        let asked = token.clone();
        let held = match self.read(move |connection| sending::held(connection, &asked)).await? {
            Some(held) => held,
            None => self.write(move |connection| whole(connection, |write| sending::take_over(write, &token))).await?,
        };
        Ok(Leased { held, share: usize::MAX })
    }

    /// There is no other process that would take them.
    async fn give_back(&self, _token: &str, _subscriptions: &[SubscriptionId]) -> Result<()> {
        Ok(())
    }

    async fn claim_probes(&self, token: &str, now: Time, _until: Time, limit: usize) -> Result<Vec<Subscription>> {
        if self.read(move |connection| probing::due(connection, now)).await? == 0 {
            return Ok(Vec::new());
        }
        let token = token.to_owned();
        self.write(move |connection| whole(connection, |write| probing::claim(write, &token, now, limit))).await
    }

    async fn record_probe(&self, probed: &Probed) -> Result<Recorded> {
        let probed = probed.clone();
        self.write(move |connection| whole(connection, |write| probing::record(write, &probed))).await
    }

    async fn overdue_retries(&self, before: Time, limit: usize) -> Result<Vec<Overdue>> {
        self.read(move |connection| sending::overdue(connection, before, limit)).await
    }

    async fn release(&self, token: &str) -> Result<()> {
        let token = token.to_owned();
        self.write(move |connection| sending::release(connection, &token)).await
    }

    async fn heads(&self) -> Result<Vec<Head>> {
        self.read(sending::heads).await
    }

    async fn feed(
        &self,
        reader: SubscriptionFilter<'_>,
        after: i64,
        through: i64,
        limit: usize,
    ) -> Result<Vec<Outgoing>> {
        let SubscriptionFilter { org, filter, uuid, missed } = reader;
        let (filter, uuid) = (filter.map(<[String]>::to_vec), uuid.to_owned());
        self.read(move |connection| {
            let reader = SubscriptionFilter { org, filter: filter.as_deref(), uuid: &uuid, missed };
            sending::feed(connection, reader, after, through, limit)
        })
        .await
    }

    async fn due_failures(
        &self,
        org: OrgId,
        subscription: SubscriptionId,
        now: Time,
        limit: usize,
    ) -> Result<Vec<(Failure, Outgoing)>> {
        self.read(move |connection| sending::due_failures(connection, org, subscription, now, limit)).await
    }

    async fn next_retry(&self, org: OrgId, subscription: SubscriptionId) -> Result<Option<Time>> {
        self.read(move |connection| sending::next_retry(connection, org, subscription)).await
    }

    async fn replaying(&self, org: OrgId, subscription: SubscriptionId) -> Result<Vec<Range>> {
        self.read(move |connection| sending::replaying(connection, org, subscription)).await
    }

    async fn record(&self, deliveries: Deliveries) -> Result<Recorded> {
        self.write(move |connection| whole(connection, |write| record::record(write, &deliveries))).await
    }

    async fn expire_dead_letters(&self, before: Time, limit: usize) -> Result<u64> {
        self.write(move |connection| whole(connection, |write| retention::dead_letters(write, before, limit))).await
    }

    async fn expire_attempts(&self, before: Time, limit: usize) -> Result<u64> {
        self.write(move |connection| retention::attempts(connection, before, limit)).await
    }

    async fn expire_messages(&self, before: Time, limit: usize) -> Result<u64> {
        self.write(move |connection| whole(connection, |write| retention::messages(write, before, limit))).await
    }
}
