//! Trying one message of a paused subscription.

use super::{Attempt, Failure, Pause, SubscriptionId};
use crate::records::OrgId;
use daybook_engine::time::Time;

/// What came of trying one message of a paused subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// Whose.
    pub org: OrgId,
    /// For which subscription.
    pub subscription: SubscriptionId,
    /// By which lease.
    pub token: String,
    /// Since when it was paused when it was read: if that changed, or a person paused it meanwhile, it is neither resumed
    /// nor tried again by this.
    pub paused_at: Time,
    /// What was tried.
    pub attempt: Attempt,
    /// How it failed, with its fate; `None` if the message was taken. Then the subscription is resumed.
    pub failed: Option<Failure>,
    /// Why the subscription is paused from now on, if that is something else.
    pub reason: Option<String>,
    /// When the next message is tried.
    pub probe_at: Option<Time>,
}

impl Probed {
    /// Whether a pause is the one that was tried: it has the same moment, and is still one to be tried.
    pub fn is_of(&self, pause: &Pause) -> bool {
        pause.at == self.paused_at && pause.probe_at.is_some()
    }
}
