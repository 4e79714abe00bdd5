//! Turns settings into the configuration of webhooks.

use super::Failure;
use crate::config::Settings;
use daybook_webhooks::dispatcher::DispatcherSettings;
use daybook_webhooks::guard::{Guard, System};
use daybook_webhooks::sender::{Sender, SenderSettings};
use std::sync::Arc;

/// The sender of messages, with the rules for URLs.
pub fn sender(settings: &Settings) -> Result<Sender, Failure> {
    let guard = Guard { dev: settings.dev, networks: settings.allow_networks.clone() };
    let resolver = Arc::new(System::asking(settings.name_servers.clone()));
    let settings = SenderSettings { guard, timeout: settings.webhook_timeout, ..SenderSettings::default() };
    Sender::new(settings, resolver).map_err(|error| Failure::Failed(format!("webhooks cannot be sent: {error}")))
}

/// When messages are sent, and how long their results are kept.
pub fn settings(settings: &Settings) -> DispatcherSettings {
    DispatcherSettings {
        batch_interval: settings.webhook_batch_interval,
        retry_first: settings.webhook_retry_first,
        pause_after: settings.webhook_pause_after,
        dead_letter_retention: settings.dead_letter_retention,
        message_retention: settings.message_retention,
        attempt_retention: settings.attempt_retention,
        ..DispatcherSettings::default()
    }
}
