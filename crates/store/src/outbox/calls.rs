//! What a database does for the outgoing side.

use super::{
    Again, AttemptLine, Backlog, DeadLetter, Deliveries, DeliveryFilter, Failure, Found, Given, Head, Leased,
    MessageFilter, Outgoing, Overdue, Pause, Probed, Range, Reader, Recorded, Replayed, Standing, Subscription,
    SubscriptionId, UrlFigures,
};
use crate::records::{MessageRow, OrgId};
use crate::{Audited, Result};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// The outgoing side of a database.
#[async_trait]
pub trait Outbox: Send + Sync + std::fmt::Debug {
    // --- Subscriptions -------------------------------------------------------------------------------------------

    /// Makes a subscription that begins at the head of the log, or, where the organization has one with this URL, gives
    /// that one this filter and the settings that are given. What waits to be sent again, or is dead, and is not in the
    /// new filter goes. The number, the cursor and the version in the argument are not looked at. Nothing if it would be a
    /// new one and there are `most` already.
    async fn subscribe(
        &self,
        subscription: &Subscription,
        given: Given,
        most: usize,
        audit: Audited<'_>,
    ) -> Result<Option<Subscription>>;

    /// Makes a subscription the console's own record, as [`Outbox::subscribe`] does but for the filter: it gets all
    /// events. The record before is removed with all that waits for it, unless it has the same URL. Nothing if it would
    /// be one too many, and if no subscription is asked for: then there is no such record any more.
    async fn save_console_url(
        &self,
        org: OrgId,
        subscription: Option<&Subscription>,
        most: usize,
        audit: Audited<'_>,
    ) -> Result<Option<Subscription>>;

    /// An organization's subscriptions, by time of making.
    async fn subscriptions(&self, org: OrgId) -> Result<Vec<Subscription>>;

    /// Pauses a subscription, unless it is paused and the pause does not [replace](Pause::replaces) that one: what was to
    /// be tried again is dead from then on, and what was being replayed is dead again, both since the pause. What was
    /// delivered out of order is no dead letter. Gives it as it is now; `None` if there is none.
    async fn pause(&self, org: OrgId, uuid: &str, pause: &Pause, audit: Audited<'_>) -> Result<Option<Subscription>>;

    /// Resumes a subscription unless it is active: what the log has after its cursor becomes a range of dead letters
    /// (dead since the pause), the cursor goes to the head, and the count of failed messages begins anew, in another row of
    /// failures. What was delivered already, out of order, is not in that range; other ranges stay as they are. An active
    /// one that is held is not held any longer, and what was refused until then is due now. Gives it as it is now; `None` if
    /// there is none.
    async fn resume(&self, org: OrgId, uuid: &str, now: Time, audit: Audited<'_>) -> Result<Option<Subscription>>;

    /// Removes a subscription with all that waits for it; false if there is none.
    async fn unsubscribe(&self, org: OrgId, uuid: &str, audit: Audited<'_>) -> Result<bool>;

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

    /// What is kept about the messages at some positions, in the order of these: for each subscription, by time of
    /// making.
    async fn standings(&self, org: OrgId, positions: &[i64]) -> Result<Vec<Vec<Standing>>>;

    /// Messages of the log that match, the latest first: those before a position, at most `limit`. One call looks at so
    /// many positions only; so it may find none, and say where to go on.
    async fn search_log(&self, org: OrgId, filter: &MessageFilter, before: i64, limit: usize) -> Result<Found>;

    /// Messages that match and wait, or are cancelled, or both, the last that came first: those before a place, at most
    /// `limit`.
    async fn search_waiting(
        &self,
        org: OrgId,
        filter: &MessageFilter,
        cancelled: Option<bool>,
        before: i64,
        limit: usize,
    ) -> Result<Found>;

    /// Has the message at a position sent again to one subscription, from `now`, as if for the first time, whether it is
    /// delivered, dead or to be tried later. The version of the subscription goes up.
    async fn send_again(&self, org: OrgId, uuid: &str, position: i64, now: Time, audit: Audited<'_>) -> Result<Again>;

    /// Has matching dead letters of active subscriptions sent again, from `now`, as if for the first time; with
    /// `dry_run` only counts them. The versions of those subscriptions go up, so that whoever sends for them looks.
    async fn replay(&self, org: OrgId, filter: &DeliveryFilter, now: Time, dry_run: bool) -> Result<Replayed>;

    /// Has matching messages sent again that active subscriptions took: those with a successful attempt that began at
    /// `since` or later and before `until`. They become ranges, as long as their order in the log allows. Test events, and
    /// what is to be sent again already, are not among them. Absent if a subscription has more than `most`.
    async fn replay_delivered(
        &self,
        org: OrgId,
        filter: &DeliveryFilter,
        now: Time,
        dry_run: bool,
        most: usize,
    ) -> Result<Option<Replayed>>;

    /// How every subscription of the database stands, for figures.
    async fn url_figures(&self) -> Result<Vec<UrlFigures>>;

    // --- Sending -------------------------------------------------------------------------------------------------

    /// Takes, or keeps, active subscriptions to send for: those this token has already, and at most `limit` that no token
    /// holds, or whose holder's lease ended by `now`, as far as they are this node's share. Gives all that the token
    /// holds now. Where one process uses the database, all are given.
    async fn lease(&self, token: &str, now: Time, until: Time, limit: usize) -> Result<Leased>;

    /// Gives back some of what a token holds: another node takes them.
    async fn give_back(&self, token: &str, subscriptions: &[SubscriptionId]) -> Result<()>;

    /// Takes paused subscriptions of which a message is to be tried by `now`, at most `limit`, as far as no other token
    /// holds them.
    async fn claim_probes(&self, token: &str, now: Time, until: Time, limit: usize) -> Result<Vec<Subscription>>;

    /// Records what came of trying one message of a paused subscription, in one transaction. One that was taken is no dead
    /// letter any more, and the subscription is resumed as by [`Outbox::resume`]; one that was not stays a dead letter.
    async fn record_probe(&self, probed: &Probed) -> Result<Recorded>;

    /// Active subscriptions with retries that were due before a moment, the longest due first, at most `limit`.
    async fn overdue_retries(&self, before: Time, limit: usize) -> Result<Vec<Overdue>>;

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
    /// that are recorded: the subscription may have been paused and resumed while it was under way. If the filter is not
    /// the one that was read, what it leaves out is not tried again.
    async fn record(&self, deliveries: Deliveries) -> Result<Recorded>;

    // --- Letting go ----------------------------------------------------------------------------------------------

    /// Removes dead letters that are dead since `before` or longer, at most about `limit`; gives how many. Of what a
    /// paused subscription missed, the cursor moves over them.
    async fn expire_dead_letters(&self, before: Time, limit: usize) -> Result<u64>;

    /// Removes attempts that began before a moment, the oldest first, at most `limit`; gives how many.
    async fn expire_attempts(&self, before: Time, limit: usize) -> Result<u64>;

    /// Removes messages at the beginning of each log that were recorded before a moment and that no cursor, failure or
    /// range needs, at most `limit` of each, and messages that were cancelled before it, at most `limit`; gives how many.
    async fn expire_messages(&self, before: Time, limit: usize) -> Result<u64>;
}
