//! Counts the concurrent requests of each client behind proxies, where connections do not identify clients.

use super::connection_slots::ClientNetwork;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clients behind proxies.
#[derive(Debug)]
pub struct Clients {
    most: usize,
    counts: Mutex<HashMap<ClientNetwork, usize>>,
}

/// A counted request. Dropping it removes it from the count.
#[derive(Debug)]
pub struct CountedRequest {
    clients: Arc<Clients>,
    network: ClientNetwork,
}

impl Clients {
    /// Allows this many concurrent requests per client.
    pub fn new(most: usize) -> Clients {
        Clients { most, counts: Mutex::default() }
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<ClientNetwork, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request of a client, or returns `None` if the client is at its limit.
    pub fn admit(self: &Arc<Clients>, client: IpAddr) -> Option<CountedRequest> {
        let network = ClientNetwork::of(client);
        let mut counts = self.counts();
        let count = counts.entry(network).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(CountedRequest { clients: self.clone(), network })
    }
}

impl Drop for CountedRequest {
    fn drop(&mut self) {
        let mut counts = self.clients.counts();
        if let Some(count) = counts.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_count() {
        let clients = Arc::new(Clients::new(2));
        let from = |last: u8| IpAddr::from([192, 0, 2, last]);
        let first = clients.admit(from(1)).expect("one");
        let _second = clients.admit(from(1)).expect("two");
        assert!(clients.admit(from(1)).is_none());
        let _other = clients.admit(from(2)).expect("another client");
        drop(first);
        assert!(clients.admit(from(1)).is_some());
        assert_eq!(clients.counts().len(), 2, "the one that was not kept is forgotten");
    }
}
