//! Limits how many names are looked up at once.
//!
//! Each organization has its own limit, so it never waits for the lookups of another. Within an organization, names
//! whose name servers do not respond must not delay the others: a name that was resolved at its last lookup waits only
//! for other such names, and the URLs of one host get few of the turns. An address needs no turn.

use daybook_store::records::OrgId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// How many names are looked up at once for one organization: of those that got a response at their last lookup, and as
/// many of the others.
const AT_ONCE: usize = 32;
/// How many URLs of one host have a turn at once.
const AT_ONCE_OF_A_HOST: usize = 4;

/// The turns of all organizations.
#[derive(Debug, Default)]
pub(super) struct LookupTurns {
    organizations: Mutex<HashMap<OrgId, Arc<Organization>>>,
}

#[derive(Debug)]
struct Organization {
    answered: Arc<Semaphore>,
    others: Arc<Semaphore>,
    hosts: Mutex<HashMap<String, Weak<Host>>>,
}

#[derive(Debug)]
struct Host {
    at_once: Arc<Semaphore>,
    /// Whether a name server responded at the last lookup.
    is_answered: AtomicBool,
}

impl LookupTurns {
    /// The turns of one host of an organization.
    pub(super) fn of(&self, org: OrgId, host: &str) -> HostLookupTurns {
        let mut organizations = self.organizations.lock().unwrap_or_else(PoisonError::into_inner);
        let organization = organizations.entry(org).or_insert_with(|| Arc::new(Organization::new())).clone();
        let host = organization.host(host);
        HostLookupTurns { organization, host }
    }
}

impl Organization {
    fn new() -> Organization {
        let [answered, others] = [AT_ONCE; 2].map(|turns| Arc::new(Semaphore::new(turns)));
        Organization { answered, others, hosts: Mutex::default() }
    }

    fn host(&self, name: &str) -> Arc<Host> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hosts.get(name).and_then(Weak::upgrade) {
            return known;
        }
        hosts.retain(|_, host| host.strong_count() > 0);
        let at_once = Arc::new(Semaphore::new(AT_ONCE_OF_A_HOST));
        let host = Arc::new(Host { at_once, is_answered: AtomicBool::new(false) });
        hosts.insert(name.to_owned(), Arc::downgrade(&host));
        host
    }
}

/// The turns of one host.
#[derive(Clone, Debug)]
pub(super) struct HostLookupTurns {
    organization: Arc<Organization>,
    host: Arc<Host>,
}

impl HostLookupTurns {
    /// Waits for a turn, which lasts until it is dropped.
    pub(super) async fn take(&self) -> LookupPermit {
        let of_host = self.host.at_once.clone().acquire_owned().await;
        let is_answered = self.host.is_answered.load(Ordering::Relaxed);
        let among = if is_answered { &self.organization.answered } else { &self.organization.others };
        let permits = [of_host, among.clone().acquire_owned().await];
        LookupPermit { host: self.host.clone(), is_answered: false, _permits: permits }
    }
}

/// A turn to look up a name.
#[derive(Debug)]
pub(super) struct LookupPermit {
    host: Arc<Host>,
    is_answered: bool,
    _permits: [Result<OwnedSemaphorePermit, AcquireError>; 2],
}

impl LookupPermit {
    /// Ends the turn of a name for which a name server responded, even if the name does not exist.
    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for LookupPermit {
    fn drop(&mut self) {
        self.host.is_answered.store(self.is_answered, Ordering::Relaxed);
    }
}
