//! A budget of memory that concurrent calls share.
//!
//! The bytes that calls hold are counted for each holder and in total. A call whose bytes do not fit is refused at once
//! and never waits, so one holder cannot block others. A holder that holds nothing may hold one body or response of any
//! size, as long as the total allows it.
//!
//! ```text
//! listener ─► Held, for the client's address ─► authentication: for the organization ─► body arrives: counted
//!                                                                response ready: released ◄─┘
//! ```

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of request bodies in errors.
pub const BODIES: &str = "the bodies of concurrent requests";
/// The name of unsent responses in errors.
pub const RESPONSES: &str = "responses that were not read yet";

/// Who holds bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// An organization, by its number.
    Organization(i64),
    /// A client without credentials, by its address.
    Address(IpAddr),
}

/// The most bytes that may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// By one organization.
    pub organization: usize,
    /// By one address.
    pub address: usize,
    /// By all addresses together. Less than the total leaves room for callers with credentials.
    pub addresses: usize,
    /// In total.
    pub total: usize,
}

/// The exceeded limit, with its number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The limit of an organization.
    Organization(usize),
    /// The limit of an address.
    Address(usize),
    /// The limit of all addresses together.
    Addresses(usize),
    /// The total limit.
    Total(usize),
}

impl Full {
    /// The error message for the caller. `what` names the counted bytes.
    pub fn sentence(self, what: &str) -> String {
        let (whose, bytes) = match self {
            Full::Organization(bytes) => ("this organization", bytes),
            Full::Address(bytes) => ("this address", bytes),
            Full::Addresses(bytes) => ("all callers without credentials", bytes),
            Full::Total(bytes) => ("all callers", bytes),
        };
        format!("{what} may take at most {bytes} bytes of memory for {whose}; nothing was done: retry in a moment")
    }
}

/// A budget.
#[derive(Debug)]
pub struct Budget {
    most: Most,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    addresses: usize,
    by_holder: HashMap<Holder, usize>,
}

impl Budget {
    /// A budget with these limits.
    pub fn new(most: Most) -> Budget {
        Budget { most, counts: Mutex::default() }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes that are held now.
    pub fn total(&self) -> usize {
        self.counts().total
    }

    /// Whether a holder has used up its own share.
    pub fn is_used_up_by(&self, holder: Holder) -> Option<Full> {
        let held = self.counts().by_holder.get(&holder).copied().unwrap_or_default();
        let (most, full) = self.share_of(holder);
        (held >= most).then_some(full)
    }

    fn share_of(&self, holder: Holder) -> (usize, Full) {
        match holder {
            Holder::Organization(_) => (self.most.organization, Full::Organization(self.most.organization)),
            Holder::Address(_) => (self.most.address, Full::Address(self.most.address)),
        }
    }

    fn add(&self, holder: Holder, bytes: usize) -> Result<(), Full> {
        let mut counts = self.counts();
        let held = counts.by_holder.get(&holder).copied().unwrap_or_default();
        let (most, full) = self.share_of(holder);
        if held > 0 && held.saturating_add(bytes) > most {
            return Err(full);
        }
        let of_addresses = counts.addresses.saturating_add(bytes);
        if matches!(holder, Holder::Address(_)) && of_addresses > self.most.addresses {
            return Err(Full::Addresses(self.most.addresses));
        }
        if counts.total.saturating_add(bytes) > self.most.total {
            return Err(Full::Total(self.most.total));
        }
        counts.add(holder, bytes);
        Ok(())
    }
}

impl Counts {
    fn add(&mut self, holder: Holder, bytes: usize) {
        self.total += bytes;
        if matches!(holder, Holder::Address(_)) {
            self.addresses += bytes;
        }
        *self.by_holder.entry(holder).or_default() += bytes;
    }

    fn remove(&mut self, holder: Holder, bytes: usize) {
        self.total -= bytes;
        if matches!(holder, Holder::Address(_)) {
            self.addresses -= bytes;
        }
        let Some(held) = self.by_holder.get_mut(&holder) else { return };
        *held -= bytes;
        if *held == 0 {
            self.by_holder.remove(&holder);
        }
    }
}

/// The bytes that one call holds. Dropping it releases them.
#[derive(Debug)]
pub struct Held {
    budget: Arc<Budget>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    holder: Holder,
    bytes: usize,
    full: Option<Full>,
    is_discarded: bool,
}

impl Held {
    /// A call that holds nothing yet.
    pub fn new(budget: Arc<Budget>, holder: Holder) -> Held {
        Held { budget, state: Mutex::new(State { holder, bytes: 0, full: None, is_discarded: false }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts more bytes, unless they do not fit.
    pub fn take(&self, bytes: usize) -> Result<(), Full> {
        let mut state = self.state();
        if bytes == 0 || state.is_discarded {
            return Ok(());
        }
        let added = self.budget.add(state.holder, bytes);
        match added {
            Ok(()) => state.bytes += bytes,
            Err(full) => state.full = Some(full),
        }
        added
    }

    /// Counts more bytes that exist in any case.
    pub fn take_anyway(&self, bytes: usize) {
        let mut state = self.state();
        if bytes == 0 {
            return;
        }
        self.budget.counts().add(state.holder, bytes);
        state.bytes += bytes;
    }

    /// Counts the call for an organization, once the call is authenticated.
    pub fn belongs_to(&self, organization: i64) {
        let mut state = self.state();
        let before = std::mem::replace(&mut state.holder, Holder::Organization(organization));
        if state.bytes > 0 {
            let mut counts = self.budget.counts();
            counts.remove(before, state.bytes);
            counts.add(state.holder, state.bytes);
        }
    }

    /// Releases everything and stops counting: what still arrives is thrown away.
    pub fn discard(&self) {
        let mut state = self.state();
        state.is_discarded = true;
        let bytes = std::mem::take(&mut state.bytes);
        if bytes > 0 {
            self.budget.counts().remove(state.holder, bytes);
        }
    }

    /// The limit that the call's bytes exceeded, if any.
    pub fn refused(&self) -> Option<Full> {
        self.state().full
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.discard();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Most = Most { organization: 10, address: 4, addresses: 12, total: 20 };

    fn budget() -> Arc<Budget> {
        Arc::new(Budget::new(MOST))
    }

    fn address(last: u8) -> Holder {
        Holder::Address(IpAddr::from([192, 0, 2, last]))
    }

    fn held(budget: &Arc<Budget>, holder: Holder, bytes: usize) -> Result<Held, Full> {
        let held = Held::new(budget.clone(), holder);
        held.take(bytes).map(|()| held)
    }

    #[test]
    fn each_holder_has_its_share_and_gets_it_back() {
        let budget = budget();
        let first = held(&budget, Holder::Organization(1), 6).expect("it fits");
        assert_eq!(held(&budget, Holder::Organization(1), 5).err(), Some(Full::Organization(10)));
        let _second = held(&budget, Holder::Organization(1), 4).expect("up to the limit");
        let _other = held(&budget, Holder::Organization(2), 6).expect("another organization");
        drop(first);
        assert!(held(&budget, Holder::Organization(1), 5).is_ok());
        assert_eq!(budget.total(), 10);
    }

    #[test]
    fn who_holds_nothing_gets_one_body_in_if_the_total_allows_it() {
        let budget = budget();
        let large = held(&budget, address(1), 9).expect("more than the share");
        assert_eq!(held(&budget, address(1), 1).err(), Some(Full::Address(4)));
        assert_eq!(held(&budget, address(2), 4).err(), Some(Full::Addresses(12)), "callers with keys have room");
        let _organization = held(&budget, Holder::Organization(1), 10).expect("it fits");
        assert_eq!(held(&budget, Holder::Organization(2), 2).err(), Some(Full::Total(20)));
        drop(large);
        assert!(held(&budget, Holder::Organization(2), 2).is_ok());
    }

    #[test]
    fn a_call_moves_to_its_organization_and_what_is_thrown_away_is_not_counted() {
        let budget = budget();
        let call = held(&budget, address(1), 4).expect("it fits");
        call.belongs_to(1);
        let another = held(&budget, address(1), 4).expect("the address holds nothing any more");
        assert_eq!(call.take(7), Err(Full::Organization(10)));
        assert_eq!(call.refused(), Some(Full::Organization(10)));
        call.discard();
        assert_eq!((budget.total(), call.take(1_000), budget.total()), (4, Ok(()), 4));
        drop((call, another));
        let counts = budget.counts();
        assert_eq!((counts.total, counts.addresses, counts.by_holder.len()), (0, 0, 0));
    }

    #[test]
    fn bytes_that_exist_in_any_case_use_up_the_share() {
        let budget = budget();
        let written = Held::new(budget.clone(), address(1));
        written.take_anyway(3);
        assert_eq!(budget.is_used_up_by(address(1)), None);
        written.take_anyway(30);
        assert_eq!(budget.is_used_up_by(address(1)), Some(Full::Address(4)));
        assert_eq!(budget.is_used_up_by(address(2)), None);
        let sentence = Full::Address(4).sentence(BODIES);
        assert!(
            sentence
                .starts_with("the bodies of concurrent requests may take at most 4 bytes of memory for this address")
        );
    }
}
