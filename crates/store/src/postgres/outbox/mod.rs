//! The outgoing side on PostgreSQL: see [`crate::outbox`].
//!
//! A subscription's row is the lock on all that belongs to it: whoever changes the subscription, its ranges or the fate
//! of its failures has the row locked first, and the head of the log, where it is needed, last. Only a lease locks
//! several subscriptions.
//!
//! | part | what it does |
//! |---|---|
//! | [`subscriptions`] | callers make, pause, resume and remove subscriptions |
//! | [`stretch`] | what a subscription gets of a stretch of the log, as SQL |
//! | [`lists`] | how much waits, what was tried, what is dead |
//! | [`message`] | one message: where it stands, and sending it again |
//! | [`ranges`] | single positions are taken out of ranges |
//! | [`replay`] | dead letters are sent again |
//! | [`sending`] | a node takes subscriptions and reads what to send |
//! | [`record`] | a node says what it sent |
//! | [`letting_go`] | what is too old goes |

mod letting_go;
mod lists;
mod message;
mod ranges;
mod record;
mod replay;
mod sending;
mod stretch;
mod subscriptions;

use super::Postgres;
use super::cells::Cells;
use crate::Result;
use crate::outbox::{
    Again, AttemptLine, Backlog, DeadLetter, Deliveries, DeliveryFilter, Failure, Head, Outbox, Outgoing, Pause, Range,
    Reader, Recorded, Replayed, Standing, Subscription, SubscriptionId,
};
use crate::records::{MessageRow, OrgId};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// What [`subscription`] reads.
const SUBSCRIPTION: &str = "s.org, s.id, s.uuid, s.url, s.filter, s.paused_reason, s.paused_at, s.consecutive_errors, \
    s.streak, s.created_at, s.last_success_at, s.cursor, s.version, s.from_console";

fn subscription(cells: &mut Cells<'_>) -> Result<Subscription> {
    Ok(Subscription {
        org: cells.next()?,
        id: cells.next()?,
        uuid: cells.next()?,
        url: cells.next()?,
        filter: cells.next()?,
        paused: cells.next::<Option<String>>()?.zip(cells.time_or_none()?).map(|(reason, at)| Pause { reason, at }),
        consecutive_errors: cells.next()?,
        streak: cells.next()?,
        created_at: cells.time()?,
        last_success_at: cells.time_or_none()?,
        cursor: cells.next()?,
        version: cells.next()?,
        from_console: cells.next()?,
    })
}

/// A status as it is read; what is no status is none.
fn status(cells: &mut Cells<'_>) -> Result<Option<u16>> {
    Ok(cells.next::<Option<i32>>()?.and_then(|status| u16::try_from(status).ok()))
}

#[async_trait]
impl Outbox for Postgres {
    async fn subscribe(&self, subscription: &Subscription, most: usize) -> Result<Option<Subscription>> {
        subscriptions::subscribe(&self.server, subscription, most).await
    }

    async fn save_console_url(
        &self,
        org: OrgId,
        subscription: Option<&Subscription>,
        most: usize,
    ) -> Result<Option<Subscription>> {
        subscriptions::save_console_url(&self.server, org, subscription, most).await
    }

    async fn subscriptions(&self, org: OrgId) -> Result<Vec<Subscription>> {
        subscriptions::subscriptions(&self.server, org).await
    }

    async fn pause(&self, org: OrgId, uuid: &str, pause: &Pause) -> Result<Option<Subscription>> {
        subscriptions::pause(&self.server, org, uuid, pause).await
    }

    async fn resume(&self, org: OrgId, uuid: &str) -> Result<Option<Subscription>> {
        subscriptions::resume(&self.server, org, uuid).await
    }

    async fn unsubscribe(&self, org: OrgId, uuid: &str) -> Result<bool> {
        subscriptions::unsubscribe(&self.server, org, uuid).await
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

    async fn standings(&self, org: OrgId, position: i64) -> Result<Vec<Standing>> {
        message::standings(&self.server, org, position).await
    }

    async fn send_again(&self, org: OrgId, uuid: &str, position: i64, now: Time) -> Result<Again> {
        message::send_again(&self.server, org, uuid, position, now).await
    }

    async fn replay(&self, org: OrgId, filter: &DeliveryFilter, now: Time, dry_run: bool) -> Result<Replayed> {
        replay::replay(&self.server, org, filter, now, dry_run).await
    }

    async fn lease(&self, token: &str, now: Time, until: Time, limit: usize) -> Result<Vec<Subscription>> {
        sending::lease(&self.server, token, now, until, limit).await
    }

    async fn release(&self, token: &str) -> Result<()> {
        sending::release(&self.server, token).await
    }

    async fn heads(&self) -> Result<Vec<Head>> {
        sending::heads(&self.server).await
    }

    async fn feed(&self, reader: Reader<'_>, after: i64, through: i64, limit: usize) -> Result<Vec<Outgoing>> {
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
        letting_go::expire_dead_letters(&self.server, before, limit).await
    }

    async fn expire_attempts(&self, before: Time, limit: usize) -> Result<u64> {
        letting_go::expire_attempts(&self.server, before, limit).await
    }

    async fn expire_messages(&self, before: Time, limit: usize) -> Result<u64> {
        letting_go::expire_messages(&self.server, before, limit).await
    }
}
