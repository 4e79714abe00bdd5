//! Trying one message of a paused subscription.

use super::{DeliveryAttempt, Failure, Pause, SubscriptionId};
use crate::records::OrgId;
use daybook_engine::time::Time;

/// The result of trying one message of a paused subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The organization.
    pub org: OrgId,
    /// The subscription.
    pub subscription: SubscriptionId,
    /// The token of the lease.
    pub token: String,
    /// The start of the pause when the subscription was read. If it has changed, or a person paused the subscription
    /// meanwhile, this result neither resumes it nor schedules another probe.
    pub paused_at: Time,
    /// The attempt.
    pub attempt: DeliveryAttempt,
    /// How it failed, with its fate; `None` if the message was accepted, which resumes the subscription.
    pub failed: Option<Failure>,
    /// The new reason for the pause, if it changes.
    pub reason: Option<String>,
    /// When the next message is tried.
    pub probe_at: Option<Time>,
}

impl Probed {
    /// Whether a pause is the one that was probed: it began at the same moment and is still to be probed.
    pub fn is_of(&self, pause: &Pause) -> bool {
        pause.at == self.paused_at && pause.probe_at.is_some()
    }
}
