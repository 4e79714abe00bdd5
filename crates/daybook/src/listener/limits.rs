//! The caps and timeouts of the listener.
//!
//! The caps are settings, but they must fit the process's limit of file descriptors: each connection uses one, and the
//! database, files and webhooks need some too. So the listener first raises that limit as far as the system allows.

use crate::config::Settings;
use daybook_service::budget::{ByteAllowance, Most};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::time::Duration;

/// Descriptors reserved for the database, webhooks and files.
const DESCRIPTORS_KEPT: u64 = 256;
/// The time limit for a client to read the next [`PROGRESS_BYTES`](super::sending::PROGRESS_BYTES) of its response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections in addition to the cap, for health checks.
const RESERVE: usize = 16;

/// The most memory for the bodies of concurrent requests: four bodies of `/bulk` for each organization. The guaranteed
/// share of an address is one body without credentials, because there may be as many addresses as connections.
pub const BODY_BYTES: Most = Most {
    organization: ByteAllowance { guaranteed: 8 << 20, most: 64 << 20 },
    address: ByteAllowance { guaranteed: 64 << 10, most: 8 << 20 },
    addresses: 64 << 20,
    total: 256 << 20,
};
/// The most memory for responses that are not sent yet.
pub const RESPONSE_BYTES: Most = BODY_BYTES;

/// The caps and timeouts of the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenerLimits {
    /// The most connections.
    pub connections: usize,
    /// The most connections from one address.
    pub per_address: usize,
    /// Connections in addition to the cap, for health checks only.
    pub reserve: usize,
    /// The time limit for the head of a request.
    pub header_timeout: Duration,
    /// The time limit between two requests of a connection.
    pub idle_timeout: Duration,
    /// The time limit for the body of a request.
    pub body_timeout: Duration,
    /// The time limit for a client to read the next part of its response.
    pub write_timeout: Duration,
    /// The most memory for request bodies.
    pub body_bytes: Most,
    /// The most memory for unsent responses.
    pub response_bytes: Most,
}

impl ListenerLimits {
    /// The limits of the settings, reduced to the available descriptors.
    pub fn of(settings: &Settings) -> ListenerLimits {
        let asked = settings.max_connections as usize;
        let connections = match raise_descriptors() {
            Some(descriptors) => asked.min(fitting(descriptors)),
            None => asked,
        };
        if connections < asked {
            tracing::warn!(
                connections,
                asked,
                "the system's limit of open files allows fewer connections than max-connections: raise it (LimitNOFILE)"
            );
        }
        ListenerLimits {
            connections,
            per_address: (settings.max_connections_per_address as usize).min(connections.div_ceil(2)),
            reserve: RESERVE,
            header_timeout: settings.header_timeout,
            idle_timeout: settings.idle_timeout,
            body_timeout: settings.body_timeout,
            write_timeout: WRITE_TIMEOUT,
            body_bytes: BODY_BYTES,
            response_bytes: RESPONSE_BYTES,
        }
    }

    /// The interval between checks for overdue connections.
    pub fn between_looks(&self) -> Duration {
        let shortest = self.header_timeout.min(self.idle_timeout).min(self.write_timeout);
        (shortest / 4).clamp(Duration::from_millis(20), Duration::from_millis(500))
    }
}

/// The number of connections that fit a number of descriptors. A process with very few keeps half of them in reserve.
fn fitting(descriptors: u64) -> usize {
    let kept = DESCRIPTORS_KEPT.min(descriptors / 2) + RESERVE as u64;
    usize::try_from(descriptors.saturating_sub(kept).max(1)).unwrap_or(usize::MAX)
}

/// Raises the soft limit of descriptors to the hard limit. Returns the new limit; `None` if there is none.
fn raise_descriptors() -> Option<u64> {
    let now = getrlimit(Resource::Nofile);
    if now.current == now.maximum {
        return now.current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum }) {
        Ok(()) => now.maximum,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files cannot be raised");
            now.current
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_kept_for_the_rest_of_the_process() {
        assert_eq!(fitting(1_024), 1_024 - 256 - 16);
        assert_eq!(fitting(64), 64 - 32 - 16);
        assert_eq!(fitting(8), 1);
    }

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let before = getrlimit(Resource::Nofile);
        let lower = before.maximum.map(|most| most / 2);
        setrlimit(Resource::Nofile, Rlimit { current: lower, maximum: before.maximum }).expect("it may be lowered");
        assert_eq!(raise_descriptors(), before.maximum);
        assert_eq!(getrlimit(Resource::Nofile).current, before.maximum);
    }
}
