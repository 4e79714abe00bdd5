//! Where a message stands with a subscription.

use super::{Attempt, Failure, Fate, Reader, Subscription};
use crate::records::MessageRow;
use daybook_engine::time::Time;

/// What is kept about one message for one subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The subscription.
    pub subscription: Subscription,
    /// How the message failed, if it did and is not delivered since.
    pub failure: Option<Failure>,
    /// Ranges that the message lies in.
    pub ranges: Vec<Kept>,
    /// What was tried, the first attempt first.
    pub attempts: Vec<Attempt>,
}

/// A range, as far as it says where a message stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Which events of it; nothing for all.
    pub filter: Option<Vec<String>>,
    /// Since when it is dead.
    pub since: Time,
    /// Whether it is being replayed.
    pub replaying: bool,
}

/// Where a message stands with a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// It was taken, by an attempt that began at this moment.
    Delivered(Time),
    /// It is still to be sent.
    Waiting,
    /// It failed, and is sent again at this moment.
    Retry(Time),
    /// It is dead since this moment.
    Dead(Time),
    /// It is not for the subscription.
    NotForIt,
    /// A filter left it out after it was announced, before it was delivered.
    Dropped,
    /// It was for the subscription, and nothing is kept any more about what became of it.
    Forgotten,
}

impl Standing {
    /// Where a message of the log stands, as of a moment. Of messages that were recorded at `kept_since` or later everything
    /// is kept that became of them: one of which there is nothing was left out by a filter.
    pub fn since(&self, message: &MessageRow, now: Time, kept_since: Time) -> Stand {
        match self.of(message, now) {
            Stand::Forgotten if message.recorded_at >= kept_since => Stand::Dropped,
            stand => stand,
        }
    }

    /// Where a message of the log stands, as of a moment.
    pub fn of(&self, message: &MessageRow, now: Time) -> Stand {
        if let Some(failure) = &self.failure {
            return match failure.fate {
                Fate::Retry(at) => Stand::Retry(at),
                Fate::Dead(since) => Stand::Dead(since),
            };
        }
        let dead_since = |since: Time| Stand::Dead(now.min(since.max(message.recorded_at).max(message.effective_at)));
        let of = &self.subscription;
        let gets = |reader: Reader<'_>| reader.gets(&message.event, &message.subject);
        let range = self
            .ranges
            .iter()
            .find(|range| gets(Reader { filter: range.filter.as_deref(), missed: true, ..of.reader() }));
        if let Some(range) = range {
            return if range.replaying { Stand::Waiting } else { dead_since(range.since) };
        }
        if let Some(delivered) = self.attempts.iter().rev().find(|attempt| attempt.error.is_none()) {
            return Stand::Delivered(delivered.at);
        }
        let is_wanted = gets(Reader { missed: of.paused.is_some(), ..of.reader() });
        match (&of.paused, message.position.is_none_or(|position| position > of.cursor)) {
            (Some(pause), true) if is_wanted => dead_since(pause.at),
            (None, true) if is_wanted => Stand::Waiting,
            (_, false) if !self.attempts.is_empty() && !is_wanted => Stand::Dropped,
            (_, false) if !self.attempts.is_empty() => Stand::Forgotten,
            (_, false) if is_wanted && of.created_at <= message.recorded_at => Stand::Forgotten,
            _ => Stand::NotForIt,
        }
    }
}
