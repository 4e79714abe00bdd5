//! Outgoing messages: subscriptions, what they get, failures, and expiry.

pub mod console_url;
pub mod dead_letters;
pub mod feeding;
pub mod recording;
pub mod replaying;
pub mod retention;
pub mod sending_again;
pub mod shared_rows;
pub mod subscriptions;

use super::fixtures::*;
use daybook_engine::time::Time;
use daybook_store::Store;
use daybook_store::outbox::{
    Backlog, Deliveries, DeliveryAttempt, DeliveryFilter, Failure, Fate, OutOfOrder, Pause, RangeProgress, Recorded,
    ReplayCounts, Subscription, SubscriptionFilter, SuppliedSettings,
};
use daybook_store::records::{MessageRow, OrgId};
use std::sync::Arc;

/// The token of the sender, for tests that need only one.
pub const ME: &str = "me";
/// A moment after all others.
pub const LATE: i64 = 1_000_000;

/// A subscription to be created: its `uuid` follows from organization and URL.
pub fn wanted(org: OrgId, url: &str, filter: Option<&[&str]>) -> Subscription {
    let mark = url.bytes().fold(0_u64, |mark, byte| (mark * 31 + u64::from(byte)) & 0xffff_ffff);
    Subscription {
        org,
        id: 0,
        uuid: format!("{org:08x}-0000-4000-8000-{mark:012x}"),
        url: url.into(),
        filter: filter.map(|events| events.iter().map(|event| (*event).to_owned()).collect()),
        paused: None,
        consecutive_errors: 0,
        streak: 0,
        created_at: at(5),
        last_success_at: None,
        cursor: 0,
        version: 0,
        from_console: false,
        max_per_second: None,
        max_in_flight: None,
        held_until: None,
        ahead: OutOfOrder::default(),
    }
}

pub async fn subscribe(store: &Arc<dyn Store>, org: OrgId, url: &str, filter: Option<&[&str]>) -> Subscription {
    made(store, &wanted(org, url, filter)).await
}

/// Creates a subscription for which there is room.
pub async fn made(store: &Arc<dyn Store>, wanted: &Subscription) -> Subscription {
    store.subscribe(wanted, SuppliedSettings::default(), 100, None).await.unwrap().unwrap()
}

/// A message about an event that happened, and was recorded, at a moment.
pub fn event(name: &str, seconds: i64) -> MessageRow {
    let event_id = format!("{name} at {seconds}");
    MessageRow {
        event: name.into(),
        effective_at: at(seconds),
        recorded_at: at(seconds),
        ..message(None, 0, &event_id)
    }
}

/// Writes events into the log.
pub async fn announce(store: &Arc<dyn Store>, org: OrgId, events: &[(&str, i64)]) {
    let messages = events.iter().map(|(name, seconds)| (org, event(name, *seconds))).collect();
    written(store, vec![message_unit(messages)]).await;
}

/// Positions that a subscription gets after one position and up to another.
pub async fn fed(store: &Arc<dyn Store>, to: &Subscription, after: i64, through: i64, limit: usize) -> Vec<i64> {
    let messages = store.feed(to.subscription_filter(), after, through, limit).await.unwrap();
    messages.iter().map(|message| message.position).collect()
}

/// Leases all subscriptions to a token for the duration of a test.
pub async fn lease(store: &Arc<dyn Store>, token: &str) -> Vec<Subscription> {
    store.lease(token, at(1), at(LATE), 100).await.unwrap().held
}

/// Empty deliveries for a subscription.
pub fn deliveries(of: &Subscription) -> Deliveries {
    Deliveries {
        org: of.org,
        subscription: of.id,
        token: ME.into(),
        version: of.version,
        cursor: of.cursor,
        filter: of.filter.clone(),
        consecutive_errors: of.consecutive_errors,
        streak: of.streak,
        ..Deliveries::default()
    }
}

/// Progress of a range that was sent in order.
pub fn progress(range: i64, through: i64) -> RangeProgress {
    RangeProgress { range, through, ahead: OutOfOrder::default() }
}

/// Records deliveries, which must succeed.
pub async fn kept(store: &Arc<dyn Store>, deliveries: Deliveries) -> Subscription {
    match store.record(deliveries).await.unwrap() {
        Recorded::Kept(subscription) => *subscription,
        Recorded::Lost => panic!("the record was lost"),
    }
}

pub fn failure(position: i64, fate: Fate) -> Failure {
    Failure {
        position,
        attempts: 3,
        first_failed_at: Some(at(40)),
        fate,
        reason: format!("reason of {position}"),
        status: Some(503),
        streak: 2,
    }
}

pub fn attempt(position: i64, number: i64, at_seconds: i64) -> DeliveryAttempt {
    DeliveryAttempt {
        position,
        number,
        at: at(at_seconds),
        latency_us: 1_234,
        status: Some(200),
        error: None,
        response: None,
        next_at: None,
    }
}

pub fn pause_at(seconds: i64) -> Pause {
    Pause { reason: "UNSUBSCRIBED".into(), at: at(seconds), probe_at: None }
}

pub async fn pause(store: &Arc<dyn Store>, of: &Subscription, seconds: i64) -> Subscription {
    store.pause(of.org, &of.uuid, &pause_at(seconds), None).await.unwrap().unwrap()
}

pub async fn resume(store: &Arc<dyn Store>, of: &Subscription) -> Subscription {
    store.resume(of.org, &of.uuid, at(50), None).await.unwrap().unwrap()
}

/// The subscription as it is now.
pub async fn current(store: &Arc<dyn Store>, of: &Subscription) -> Subscription {
    let all = store.subscriptions(of.org).await.unwrap();
    all.into_iter().find(|subscription| subscription.id == of.id).unwrap()
}

pub async fn backlog(store: &Arc<dyn Store>, of: &Subscription) -> Backlog {
    let backlogs = store.backlogs(of.org).await.unwrap();
    backlogs.into_iter().find(|(id, _)| *id == of.id).unwrap().1
}

/// Position and moment of the matching dead letters, as of a late moment.
pub async fn dead_by(store: &Arc<dyn Store>, org: OrgId, filter: &DeliveryFilter) -> Vec<(i64, i64)> {
    let letters = store.dead_letters(org, filter, at(LATE), None, 1_000).await.unwrap();
    letters.iter().map(|letter| (letter.about.position, letter.dead_at.seconds())).collect()
}

pub async fn dead(store: &Arc<dyn Store>, of: &Subscription) -> Vec<(i64, i64)> {
    dead_by(store, of.org, &only(of)).await
}

pub fn only(of: &Subscription) -> DeliveryFilter {
    DeliveryFilter { subscription: Some(of.id), ..DeliveryFilter::default() }
}

pub async fn replay(store: &Arc<dyn Store>, org: OrgId, filter: &DeliveryFilter, now: Time) -> ReplayCounts {
    store.replay(org, filter, now, false).await.unwrap()
}

/// Positions of all messages to be sent again: in ranges, and due failures.
pub async fn sent_again(store: &Arc<dyn Store>, to: &Subscription, now: Time) -> Vec<i64> {
    let mut positions = Vec::new();
    for range in store.replaying(to.org, to.id).await.unwrap() {
        let reader = SubscriptionFilter { filter: range.filter.as_deref(), missed: true, ..to.subscription_filter() };
        let messages = store.feed(reader, range.after, range.last, 1_000).await.unwrap();
        positions.extend(messages.iter().map(|message| message.position));
    }
    let failures = store.due_failures(to.org, to.id, now, 1_000).await.unwrap();
    positions.extend(failures.iter().map(|(failure, _)| failure.position));
    positions.sort_unstable();
    positions
}
