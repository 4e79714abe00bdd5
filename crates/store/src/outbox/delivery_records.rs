//! The delivery status of a message for a subscription.

use super::{DeliveryAttempt, Failure, Fate, Subscription, SubscriptionFilter};
use crate::records::MessageRow;
use daybook_engine::time::Time;

/// The stored delivery records of one message for one subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryRecords {
    /// The subscription.
    pub subscription: Subscription,
    /// How the message failed, if it did and was not delivered since.
    pub failure: Option<Failure>,
    /// Ranges that contain the message.
    pub ranges: Vec<RangeStatus>,
    /// Attempts, oldest first.
    pub attempts: Vec<DeliveryAttempt>,
}

/// The columns of a range that determine a message's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeStatus {
    /// Which events of it; `None` for all.
    pub filter: Option<Vec<String>>,
    /// Since when it is dead.
    pub since: Time,
    /// Whether it is being replayed.
    pub replaying: bool,
}

/// The delivery status of a message for a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// It was accepted, by an attempt that began at this moment.
    Delivered(Time),
    /// It is still to be sent.
    Waiting,
    /// It failed, and is retried at this moment.
    Retry(Time),
    /// It is dead since this moment.
    Dead(Time),
    /// It is not for the subscription.
    NotForIt,
    /// A filter excluded it after it was published and before it was delivered.
    Dropped,
    /// It was for the subscription, but the record of its delivery has expired.
    Forgotten,
}

impl DeliveryRecords {
    /// The status of a message of the log, as of a moment. Delivery records of messages recorded at `kept_since` or
    /// later have not expired, so such a message without any record was excluded by a filter.
    pub fn since(&self, message: &MessageRow, now: Time, kept_since: Time) -> DeliveryStatus {
        match self.of(message, now) {
            DeliveryStatus::Forgotten if message.recorded_at >= kept_since => DeliveryStatus::Dropped,
            status => status,
        }
    }

    /// The status of a message of the log, as of a moment.
    pub fn of(&self, message: &MessageRow, now: Time) -> DeliveryStatus {
        if let Some(failure) = &self.failure {
            return match failure.fate {
                Fate::Retry(at) => DeliveryStatus::Retry(at),
                Fate::Dead(since) => DeliveryStatus::Dead(since),
            };
        }
        let dead_since =
            |since: Time| DeliveryStatus::Dead(now.min(since.max(message.recorded_at).max(message.effective_at)));
        let of = &self.subscription;
        let gets = |reader: SubscriptionFilter<'_>| reader.gets(&message.event, &message.subject);
        let range = self.ranges.iter().find(|range| {
            gets(SubscriptionFilter { filter: range.filter.as_deref(), missed: true, ..of.subscription_filter() })
        });
        if let Some(range) = range {
            return if range.replaying { DeliveryStatus::Waiting } else { dead_since(range.since) };
        }
        if let Some(delivered) = self.attempts.iter().rev().find(|attempt| attempt.error.is_none()) {
            return DeliveryStatus::Delivered(delivered.at);
        }
        let is_wanted = gets(SubscriptionFilter { missed: of.paused.is_some(), ..of.subscription_filter() });
        match (&of.paused, message.position.is_none_or(|position| position > of.cursor)) {
            (Some(pause), true) if is_wanted => dead_since(pause.at),
            (None, true) if is_wanted => DeliveryStatus::Waiting,
            (_, false) if !self.attempts.is_empty() && !is_wanted => DeliveryStatus::Dropped,
            (_, false) if !self.attempts.is_empty() => DeliveryStatus::Forgotten,
            (_, false) if is_wanted && of.created_at <= message.recorded_at => DeliveryStatus::Forgotten,
            _ => DeliveryStatus::NotForIt,
        }
    }
}
