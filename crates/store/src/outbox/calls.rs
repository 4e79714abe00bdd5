//! What a database does for outgoing messages.

use super::{
    AttemptLine, Backlog, DeadLetter, Deliveries, DeliveryFilter, DeliveryRecords, Failure, Head, Leased,
    MessageFilter, MessageSearchResult, Outgoing, Overdue, Pause, Probed, Range, Recorded, ReplayCounts, ResendResult,
    Subscription, SubscriptionFilter, SubscriptionId, SuppliedSettings, UrlMetrics,
};
use crate::records::{MessageRow, OrgId};
use crate::{Audited, Result};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// Outgoing messages of a database.
#[async_trait]
pub trait Outbox: Send + Sync + std::fmt::Debug {
    // --- Subscriptions -------------------------------------------------------------------------------------------

    /// Creates a subscription that starts at the head of the log. If the organization has one with this URL, updates
    /// that one's filter and the given settings instead; retries and dead letters that the new filter excludes are
    /// deleted. The number, the cursor and the version in the argument are ignored. Returns `None` if it would be a new
    /// one and there are `most` already.
    async fn subscribe(
        &self,
        subscription: &Subscription,
        given: SuppliedSettings,
        most: usize,
        audit: Audited<'_>,
    ) -> Result<Option<Subscription>>;

    /// Makes a subscription the URL saved in the console, as [`Outbox::subscribe`] does, except that it gets all
    /// events. The previously saved one is removed with all its pending messages, unless it has the same URL. Returns
    /// `None` if it would be one too many. Without a subscription in the argument, only removes the saved one and
    /// returns `None`.
    async fn save_console_url(
        &self,
        org: OrgId,
        subscription: Option<&Subscription>,
        most: usize,
        audit: Audited<'_>,
    ) -> Result<Option<Subscription>>;

    /// An organization's subscriptions, by time of creation.
    async fn subscriptions(&self, org: OrgId) -> Result<Vec<Subscription>>;

    /// Pauses a subscription. If it is already paused, only a pause that [replaces](Pause::replaces) the current one
    /// has an effect. Messages to be retried become dead, and ranges being replayed become dead again, both as of the
    /// pause. Messages that were delivered out of order are not dead letters. Returns the subscription as it is now;
    /// `None` if it does not exist.
    async fn pause(&self, org: OrgId, uuid: &str, pause: &Pause, audit: Audited<'_>) -> Result<Option<Subscription>>;

    /// Resumes a paused subscription: the log after its cursor becomes a range of dead letters (dead since the pause),
    /// the cursor moves to the head, and the count of failed messages restarts, in a new series of failures. Messages
    /// already delivered out of order are not in that range; other ranges stay as they are. An active subscription that
    /// is on hold is released, and the messages deferred by the hold are due now. Returns the subscription as it is
    /// now; `None` if it does not exist.
    async fn resume(&self, org: OrgId, uuid: &str, now: Time, audit: Audited<'_>) -> Result<Option<Subscription>>;

    /// Removes a subscription with all its pending messages; false if it does not exist.
    async fn unsubscribe(&self, org: OrgId, uuid: &str, audit: Audited<'_>) -> Result<bool>;

    /// How many messages each of an organization's subscriptions has not received.
    async fn backlogs(&self, org: OrgId) -> Result<Vec<(SubscriptionId, Backlog)>>;

    // --- For people ----------------------------------------------------------------------------------------------

    /// Attempts, latest first: those with a number below `after`, at most `limit`.
    async fn attempts(
        &self,
        org: OrgId,
        filter: &DeliveryFilter,
        after: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AttemptLine>>;

    /// Dead letters by position and subscription: those after the given pair, at most `limit`.
    async fn dead_letters(
        &self,
        org: OrgId,
        filter: &DeliveryFilter,
        now: Time,
        after: Option<(i64, SubscriptionId)>,
        limit: usize,
    ) -> Result<Vec<DeadLetter>>;

    /// A message by its event's id, in the log or waiting to be due. A message about an account is found by its number
    /// among that account's messages, so a caller must give both.
    async fn message(&self, org: OrgId, event_id: &str, of: Option<(&str, i64)>) -> Result<Option<MessageRow>>;

    /// The status of the messages at some positions, in the order of the positions: one entry for each subscription, by
    /// time of creation.
    async fn delivery_records(&self, org: OrgId, positions: &[i64]) -> Result<Vec<Vec<DeliveryRecords>>>;

    /// Matching messages of the log, latest first: those before a position, at most `limit`. One call reads a limited
    /// number of positions, so it may find none and return the place where the next call continues.
    async fn search_log(
        &self,
        org: OrgId,
        filter: &MessageFilter,
        before: i64,
        limit: usize,
    ) -> Result<MessageSearchResult>;

    /// Matching messages that wait, or are cancelled, or both, latest first: those before a place, at most `limit`.
    async fn search_waiting(
        &self,
        org: OrgId,
        filter: &MessageFilter,
        cancelled: Option<bool>,
        before: i64,
        limit: usize,
    ) -> Result<MessageSearchResult>;

    /// Sends the message at a position again to one subscription, from `now`, as if for the first time, whether it was
    /// delivered, is dead or is to be retried. The version of the subscription goes up.
    async fn send_again(
        &self,
        org: OrgId,
        uuid: &str,
        position: i64,
        now: Time,
        audit: Audited<'_>,
    ) -> Result<ResendResult>;

    /// Sends matching dead letters of active subscriptions again, from `now`, as if for the first time; with `dry_run`
    /// only counts them. The versions of those subscriptions go up, so that their sender notices.
    async fn replay(&self, org: OrgId, filter: &DeliveryFilter, now: Time, dry_run: bool) -> Result<ReplayCounts>;

    /// Sends matching messages again that active subscriptions have accepted: those with a successful attempt that
    /// began at `since` or later and before `until`. They become ranges, as far as their order in the log allows. Test
    /// events and messages that are already to be sent again are excluded. Returns `None` if a subscription has more
    /// than `most`.
    async fn replay_delivered(
        &self,
        org: OrgId,
        filter: &DeliveryFilter,
        now: Time,
        dry_run: bool,
        most: usize,
    ) -> Result<Option<ReplayCounts>>;

    /// The state of every subscription of the database, for metrics.
    async fn url_metrics(&self) -> Result<Vec<UrlMetrics>>;

    // --- Sending -------------------------------------------------------------------------------------------------

    /// Takes or renews leases on active subscriptions: those that this token already holds, and at most `limit` that no
    /// token holds or whose lease ended by `now`, up to this node's share. Returns all that the token holds now. If
    /// only one process uses the database, returns all.
    async fn lease(&self, token: &str, now: Time, until: Time, limit: usize) -> Result<Leased>;

    /// Releases some of the subscriptions that a token holds, so that another node can take them.
    async fn give_back(&self, token: &str, subscriptions: &[SubscriptionId]) -> Result<()>;

    /// Leases paused subscriptions whose probe is due by `now`, at most `limit`, unless another token holds them.
    async fn claim_probes(&self, token: &str, now: Time, until: Time, limit: usize) -> Result<Vec<Subscription>>;

    /// Records the result of trying one message of a paused subscription, in one transaction. If the message was
    /// accepted, it is no longer a dead letter, and the subscription is resumed as by [`Outbox::resume`]; otherwise it
    /// stays a dead letter.
    async fn record_probe(&self, probed: &Probed) -> Result<Recorded>;

    /// Active subscriptions with retries that were due before a moment, longest overdue first, at most `limit`.
    async fn overdue_retries(&self, before: Time, limit: usize) -> Result<Vec<Overdue>>;

    /// Releases all subscriptions that a token holds.
    async fn release(&self, token: &str) -> Result<()>;

    /// The last position of each organization's log, and the last one that is to be sent without waiting for a batch.
    async fn heads(&self) -> Result<Vec<Head>>;

    /// The messages that a reader gets between two positions of the log (after the first, up to the second), in order,
    /// at most `limit`.
    async fn feed(
        &self,
        reader: SubscriptionFilter<'_>,
        after: i64,
        through: i64,
        limit: usize,
    ) -> Result<Vec<Outgoing>>;

    /// Failures of a subscription to be retried by `now`, longest overdue first, with their messages: at most `limit`.
    async fn due_failures(
        &self,
        org: OrgId,
        subscription: SubscriptionId,
        now: Time,
        limit: usize,
    ) -> Result<Vec<(Failure, Outgoing)>>;

    /// When the next failure of a subscription is to be retried.
    async fn next_retry(&self, org: OrgId, subscription: SubscriptionId) -> Result<Option<Time>>;

    /// Ranges of a subscription that are being replayed, by number.
    async fn replaying(&self, org: OrgId, subscription: SubscriptionId) -> Result<Vec<Range>>;

    /// Records deliveries, in one transaction. While the subscription is paused, a message that would be retried is
    /// dead since the pause. If the version is not the one that was read, the tried messages are removed from all
    /// ranges except those that are recorded: the subscription may have been paused and resumed while they were in
    /// flight. If the filter is not the one that was read, messages that the new filter excludes are not retried.
    async fn record(&self, deliveries: Deliveries) -> Result<Recorded>;

    // --- Retention -----------------------------------------------------------------------------------------------

    /// Removes dead letters that have been dead since `before` or longer, at most about `limit`; returns how many. For
    /// messages that a paused subscription missed, moves the cursor past them.
    async fn expire_dead_letters(&self, before: Time, limit: usize) -> Result<u64>;

    /// Removes attempts that began before a moment, oldest first, at most `limit`; returns how many.
    async fn expire_attempts(&self, before: Time, limit: usize) -> Result<u64>;

    /// Removes messages at the beginning of each log that were recorded before a moment and that no cursor, failure or
    /// range needs, in whole rows, until there are `limit` of each log, and messages that were cancelled before it, at
    /// most `limit`; returns how many. If these are fewer than `limit`, there are no more.
    async fn expire_messages(&self, before: Time, limit: usize) -> Result<u64>;
}
