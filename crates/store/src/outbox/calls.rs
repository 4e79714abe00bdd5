//! What a database does for the outgoing side.

use super::{
    Again, AttemptLine, Backlog, DeadLetter, Deliveries, DeliveryFilter, Failure, Head, Outgoing, Pause, Range, Reader,
    Recorded, Replayed, Standing, Subscription, SubscriptionId,
};
use crate::Result;
use crate::records::{MessageRow, OrgId};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// The outgoing side of a database.
#[async_trait]
pub trait Outbox: Send + Sync + std::fmt::Debug {
    // --- Subscriptions -------------------------------------------------------------------------------------------

    /// Makes a subscription that begins at the head of the log, or, where the organization has one with this URL, gives
    /// that one this filter. The number, the cursor and the version in the argument are not looked at. Nothing if it would
    /// be a new one and there are `most` already.
    async fn subscribe(&self, subscription: &Subscription, most: usize) -> Result<Option<Subscription>>;

    /// Makes a subscription the console's own record, as [`Outbox::subscribe`] does but for the filter: it gets all
    /// events. The record before is removed with all that waits for it, unless it has the same URL. Nothing if it would
    /// be one too many, and if no subscription is asked for: then there is no such record any more.
    async fn save_console_url(
        &self,
        org: OrgId,
        subscription: Option<&Subscription>,
        most: usize,
    ) -> Result<Option<Subscription>>;

    /// An organization's subscriptions, by time of making.
    async fn subscriptions(&self, org: OrgId) -> Result<Vec<Subscription>>;

    /// Pauses a subscription unless it is paused: what was to be tried again is dead from then on, and what was being
    /// replayed is dead again, both since the pause. Gives it as it is now; nothing if there is none.
    async fn pause(&self, org: OrgId, uuid: &str, pause: &Pause) -> Result<Option<Subscription>>;

    /// Resumes a subscription unless it is active: what the log has after its cursor becomes a range of dead letters
    /// (dead since the pause), the cursor goes to the head, and the count of failed messages begins anew, in another row of
    /// failures. What was delivered already, out of order, is in no range. Gives it as it is now; nothing if there is
    /// none.
    async fn resume(&self, org: OrgId, uuid: &str) -> Result<Option<Subscription>>;

    /// Removes a subscription with all that waits for it; false if there is none.
    async fn unsubscribe(&self, org: OrgId, uuid: &str) -> Result<bool>;

    /// How much waits for each of an organization's subscriptions.
    async fn backlogs(&self, org: OrgId) -> Result<Vec<(SubscriptionId, Backlog)>>;

    // --- For people ----------------------------------------------------------------------------------------------

    /// Attempts, the latest first: those with a number below `after`, at most `limit`.
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

    /// A message by its event's id, in the log or waiting for its moment. One that is about an account is found by its
    /// number among that account's messages, so both have to be said.
    async fn message(&self, org: OrgId, event_id: &str, of: Option<(&str, i64)>) -> Result<Option<MessageRow>>;

    /// What is kept about the message at a position, for each subscription, by time of making.
    async fn standings(&self, org: OrgId, position: i64) -> Result<Vec<Standing>>;

    /// Has the message at a position sent again to one subscription, from `now`, as if for the first time, whether it is
    /// delivered, dead or to be tried later. The version of the subscription goes up.
    async fn send_again(&self, org: OrgId, uuid: &str, position: i64, now: Time) -> Result<Again>;

    /// Has matching dead letters of active subscriptions sent again, from `now`, as if for the first time; with
    /// `dry_run` only counts them. The versions of those subscriptions go up, so that whoever sends for them looks.
    async fn replay(&self, org: OrgId, filter: &DeliveryFilter, now: Time, dry_run: bool) -> Result<Replayed>;

    // --- Sending -------------------------------------------------------------------------------------------------

    /// Takes, or keeps, active subscriptions to send for: those this token has already, and at most `limit` that nobody
    /// holds, or whose holder's lease ended by `now`. Gives all that the token holds now.
    /// Where one process uses the database there is nobody else, and all are given.
    async fn lease(&self, token: &str, now: Time, until: Time, limit: usize) -> Result<Vec<Subscription>>;

    /// Gives back all that a token holds.
    async fn release(&self, token: &str) -> Result<()>;

    /// The last position of each organization's log, and the last one that is to be sent without waiting for a batch.
    async fn heads(&self) -> Result<Vec<Head>>;

    /// What a reader gets of the log after one position and up to another, in order, at most `limit`.
    async fn feed(&self, reader: Reader<'_>, after: i64, through: i64, limit: usize) -> Result<Vec<Outgoing>>;

    /// Failures of a subscription to be tried again by `now`, the longest due first, with their messages: at most
    /// `limit`.
    async fn due_failures(
        &self,
        org: OrgId,
        subscription: SubscriptionId,
        now: Time,
        limit: usize,
    ) -> Result<Vec<(Failure, Outgoing)>>;

    /// When the next failure of a subscription is to be tried again.
    async fn next_retry(&self, org: OrgId, subscription: SubscriptionId) -> Result<Option<Time>>;

    /// Ranges of a subscription that are being replayed, by number.
    async fn replaying(&self, org: OrgId, subscription: SubscriptionId) -> Result<Vec<Range>>;

    /// Records what was sent, in one transaction. While the subscription is paused, what would be tried again is dead
    /// since the pause. If the version is not the one that was read, what was tried is taken out of all ranges but those
    /// that are recorded: the subscription may have been paused and resumed while it was under way.
    async fn record(&self, deliveries: Deliveries) -> Result<Recorded>;

    // --- Letting go ----------------------------------------------------------------------------------------------

    /// Removes dead letters that are dead since `before` or longer, at most about `limit`; gives how many. Of what a
    /// paused subscription missed, the cursor moves over them.
    async fn expire_dead_letters(&self, before: Time, limit: usize) -> Result<u64>;

    /// Removes attempts that began before a moment, the oldest first, at most `limit`; gives how many.
    async fn expire_attempts(&self, before: Time, limit: usize) -> Result<u64>;

    /// Removes messages at the beginning of each log that were recorded before a moment and that no cursor, failure or
    /// range needs, at most `limit` of each; gives how many.
    async fn expire_messages(&self, before: Time, limit: usize) -> Result<u64>;
}
