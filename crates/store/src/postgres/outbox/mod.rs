//! Outgoing messages on PostgreSQL: see [`crate::outbox`].
//!
//! A subscription's row is the lock on everything that belongs to it: a transaction that changes the subscription, its
//! ranges or the fate of its failures locks the row first, and the head of the log, if needed, last. Only a lease locks
//! several subscriptions.
//!
//! | part | what it does |
//! |---|---|
//! | [`subscriptions`] | callers create, pause, resume and remove subscriptions |
//! | [`stretch`] | what a subscription gets of a range of the log, as SQL |
//! | [`lists`] | backlogs, attempts, dead letters |
//! | [`message`] | one message: its status, and sending it again |
//! | [`ranges`] | removes single positions from ranges |
//! | [`replay`] | sends dead letters again |
//! | [`delivered`] | sends delivered messages again |
//! | [`search`] | search for messages, and the state of each URL |
//! | [`sending`] | a node leases subscriptions and reads what to send |
//! | [`record`] | a node records deliveries |
//! | [`probing`] | a node tries one message of a paused subscription |
//! | [`retention`] | deletes expired rows |

mod delivered;
mod lists;
mod message;
mod out_of_order;
mod probing;
mod ranges;
mod record;
mod replay;
mod retention;
mod search;
mod sending;
mod stretch;
mod subscriptions;

use super::Postgres;
use crate::outbox::{
    AttemptLine, Backlog, DeadLetter, Deliveries, DeliveryFilter, DeliveryRecords, Failure, Head, Leased,
    MessageFilter, MessageSearchResult, Outbox, Outgoing, Overdue, Pause, Probed, Range, Recorded, ReplayCounts,
    ResendResult, Subscription, SubscriptionFilter, SubscriptionId, SuppliedSettings, UrlMetrics,
};
use crate::records::{MessageRow, OrgId};
use crate::{Audited, Result};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// The columns of a subscription.
const SUBSCRIPTION: &str = "s.org, s.id, s.uuid, s.url, s.filter, s.paused_reason, s.paused_at, s.consecutive_errors, \
    s.streak, s.created_at, s.last_success_at, s.cursor, s.version, s.from_console, s.max_per_second, s.max_in_flight, \
    s.reached, s.holes, s.probe_at";

#[async_trait]
impl Outbox for Postgres {
    async fn subscribe(
        &self,
        subscription: &Subscription,
        given: SuppliedSettings,
        most: usize,
        audit: Audited<'_>,
    ) -> Result<Option<Subscription>> {
        subscriptions::subscribe(&self.server, subscription, given, most, audit).await
    }

    async fn save_console_url(
        &self,
        org: OrgId,
        subscription: Option<&Subscription>,
        most: usize,
        audit: Audited<'_>,
    ) -> Result<Option<Subscription>> {
        subscriptions::save_console_url(&self.server, org, subscription, most, audit).await
    }

    async fn subscriptions(&self, org: OrgId) -> Result<Vec<Subscription>> {
        subscriptions::subscriptions(&self.server, org).await
    }

    async fn pause(&self, org: OrgId, uuid: &str, pause: &Pause, audit: Audited<'_>) -> Result<Option<Subscription>> {
        subscriptions::pause(&self.server, org, uuid, pause, audit).await
    }

    async fn resume(&self, org: OrgId, uuid: &str, now: Time, audit: Audited<'_>) -> Result<Option<Subscription>> {
        subscriptions::resume(&self.server, org, uuid, now, audit).await
    }

    async fn unsubscribe(&self, org: OrgId, uuid: &str, audit: Audited<'_>) -> Result<bool> {
        subscriptions::unsubscribe(&self.server, org, uuid, audit).await
    }

    async fn backlogs(&self, org: OrgId) -> Result<Vec<(SubscriptionId, Backlog)>> {
        lists::backlogs(&self.server, org).await
    }

    async fn attempts(
        &self,
        org: OrgId,
        filter: &DeliveryFilter,
        after: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AttemptLine>> {
        lists::attempts(&self.server, org, filter, after, limit).await
    }

    async fn dead_letters(
        &self,
        org: OrgId,
        filter: &DeliveryFilter,
        now: Time,
        after: Option<(i64, SubscriptionId)>,
        limit: usize,
    ) -> Result<Vec<DeadLetter>> {
        lists::dead_letters(&self.server, org, filter, now, after, limit).await
    }

    async fn message(&self, org: OrgId, event_id: &str, of: Option<(&str, i64)>) -> Result<Option<MessageRow>> {
        message::by_event_id(&self.server, org, event_id, of).await
    }

    async fn delivery_records(&self, org: OrgId, positions: &[i64]) -> Result<Vec<Vec<DeliveryRecords>>> {
        message::delivery_records(&self.server, org, positions).await
    }

    async fn search_log(
        &self,
        org: OrgId,
        filter: &MessageFilter,
        before: i64,
        limit: usize,
    ) -> Result<MessageSearchResult> {
        search::log(&self.server, org, filter, before, limit).await
    }

    async fn search_waiting(
        &self,
        org: OrgId,
        filter: &MessageFilter,
        cancelled: Option<bool>,
        before: i64,
        limit: usize,
    ) -> Result<MessageSearchResult> {
        search::waiting(&self.server, org, filter, cancelled, before, limit).await
    }

    async fn replay_delivered(
        &self,
        org: OrgId,
        filter: &DeliveryFilter,
        now: Time,
        dry_run: bool,
        most: usize,
    ) -> Result<Option<ReplayCounts>> {
        delivered::replay(&self.server, org, filter, now, dry_run, most).await
    }

    async fn url_metrics(&self) -> Result<Vec<UrlMetrics>> {
        search::url_metrics(&self.server).await
    }

    async fn send_again(
        &self,
        org: OrgId,
        uuid: &str,
        position: i64,
        now: Time,
        audit: Audited<'_>,
    ) -> Result<ResendResult> {
        message::send_again(&self.server, org, uuid, position, now, audit).await
    }

    async fn replay(&self, org: OrgId, filter: &DeliveryFilter, now: Time, dry_run: bool) -> Result<ReplayCounts> {
        replay::replay(&self.server, org, filter, now, dry_run).await
    }

    async fn lease(&self, token: &str, now: Time, until: Time, limit: usize) -> Result<Leased> {
        sending::lease(&self.server, token, now, until, limit).await
    }

    async fn give_back(&self, token: &str, subscriptions: &[SubscriptionId]) -> Result<()> {
        sending::give_back(&self.server, token, subscriptions).await
    }

    async fn claim_probes(&self, token: &str, now: Time, until: Time, limit: usize) -> Result<Vec<Subscription>> {
        probing::claim(&self.server, token, now, until, limit).await
    }

    async fn record_probe(&self, probed: &Probed) -> Result<Recorded> {
        probing::record(&self.server, probed).await
    }

    async fn overdue_retries(&self, before: Time, limit: usize) -> Result<Vec<Overdue>> {
        sending::overdue(&self.server, before, limit).await
    }

    async fn release(&self, token: &str) -> Result<()> {
        sending::release(&self.server, token).await
    }

    async fn heads(&self) -> Result<Vec<Head>> {
        sending::heads(&self.server).await
    }

    async fn feed(
        &self,
        reader: SubscriptionFilter<'_>,
        after: i64,
        through: i64,
        limit: usize,
    ) -> Result<Vec<Outgoing>> {
        sending::feed(&self.server, reader, after, through, limit).await
    }

    async fn due_failures(
        &self,
        org: OrgId,
        subscription: SubscriptionId,
        now: Time,
        limit: usize,
    ) -> Result<Vec<(Failure, Outgoing)>> {
        sending::due_failures(&self.server, org, subscription, now, limit).await
    }

    async fn next_retry(&self, org: OrgId, subscription: SubscriptionId) -> Result<Option<Time>> {
        sending::next_retry(&self.server, org, subscription).await
    }

    async fn replaying(&self, org: OrgId, subscription: SubscriptionId) -> Result<Vec<Range>> {
        sending::replaying(&self.server, org, subscription).await
    }

    async fn record(&self, deliveries: Deliveries) -> Result<Recorded> {
        record::record(&self.server, &deliveries).await
    }

    async fn expire_dead_letters(&self, before: Time, limit: usize) -> Result<u64> {
        retention::expire_dead_letters(&self.server, before, limit).await
    }

    async fn expire_attempts(&self, before: Time, limit: usize) -> Result<u64> {
        retention::expire_attempts(&self.server, before, limit).await
    }

    async fn expire_messages(&self, before: Time, limit: usize) -> Result<u64> {
        retention::expire_messages(&self.server, before, limit).await
    }
}
