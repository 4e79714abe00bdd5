//! A budget of memory that concurrent calls share.
//!
//! The bytes of request bodies and of unsent responses are counted for each holder: an organization, or the address of
//! a caller without credentials. Each holder has a guaranteed share, which others cannot take. Its bytes beyond that
//! count towards limits that all holders share. A call whose bytes do not fit is refused at once and never waits, so one
//! holder cannot block others. A holder that holds nothing may exceed its own limit with one response, as long
//! as the shared limits allow it.
//!
//! ```text
//! listener ─► CallMemory, for the client's address ─► authentication: for the organization ─► body arrives: counted
//!                                                                response ready: released ◄─┘
//! ```
//!
//! The memory in all is at most the total, the guaranteed shares of the organizations, and the guaranteed shares of the
//! addresses that have requests in progress. The number of organizations is bounded by the keys and users in the
//! database, and the number of addresses by the listener's connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of request bodies in errors.
pub const BODIES: &str = "the bodies of concurrent requests";
/// The name of unsent responses in errors.
pub const RESPONSES: &str = "unread responses";
/// The largest body of a request without credentials: a form to sign in, an invite, a request for a token.
pub const BODY_BYTES_WITHOUT_CREDENTIALS: usize = 64 << 10;

/// The holder of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BudgetHolder {
    /// An organization, by its number.
    Organization(i64),
    /// A client without credentials, by its address.
    Address(IpAddr),
}

/// The most bytes of one holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteAllowance {
    /// Bytes that others cannot take.
    pub guaranteed: usize,
    /// The most bytes, including the guaranteed ones.
    pub most: usize,
}

/// The most bytes that may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// By one organization.
    pub organization: ByteAllowance,
    /// By one address.
    pub address: ByteAllowance,
    /// By all addresses together, beyond their guaranteed shares.
    pub addresses: usize,
    /// In total, beyond all guaranteed shares.
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
    /// The limit of one body of a request without credentials.
    Body(usize),
}

impl Full {
    /// The error message for the caller. `what` names the counted bytes.
    pub fn sentence(self, what: &str) -> String {
        let (whose, bytes) = match self {
            Full::Organization(bytes) => ("this organization", bytes),
            Full::Address(bytes) => ("this address", bytes),
            Full::Addresses(bytes) => ("all callers without credentials", bytes),
            Full::Total(bytes) => ("all callers", bytes),
            Full::Body(bytes) => {
                return format!("the body of a request without credentials may have at most {bytes} bytes");
            }
        };
        format!(
            "the limit of {bytes} bytes for {what} of {whose} is reached; the request changed nothing: retry in a \
             moment"
        )
    }
}

/// A budget.
#[derive(Debug)]
pub struct Budget {
    most: Most,
    counts: Mutex<ByteCounts>,
}

#[derive(Debug, Default)]
struct ByteCounts {
    /// All bytes.
    total: usize,
    /// Bytes beyond the guaranteed shares.
    shared: usize,
    /// How many of these are held by addresses.
    shared_by_addresses: usize,
    by_holder: HashMap<BudgetHolder, usize>,
}

impl Budget {
    /// A budget with these limits.
    pub fn new(most: Most) -> Budget {
        Budget { most, counts: Mutex::default() }
    }

    fn counts(&self) -> MutexGuard<'_, ByteCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes that are held now.
    pub fn total(&self) -> usize {
        self.counts().total
    }

    /// Whether a holder may begin a call whose response cannot be refused later.
    fn check(&self, holder: BudgetHolder) -> Result<(), Full> {
        let counts = self.counts();
        let held = counts.held_by(holder);
        let (share, full) = self.share_of(holder);
        if held >= share.most {
            return Err(full);
        }
        if held < share.guaranteed { Ok(()) } else { self.check_shared(&counts, holder, 1) }
    }

    /// Whether a holder may take some more of the shared bytes.
    fn check_shared(&self, counts: &ByteCounts, holder: BudgetHolder, bytes: usize) -> Result<(), Full> {
        let by_addresses = counts.shared_by_addresses.saturating_add(bytes);
        if matches!(holder, BudgetHolder::Address(_)) && by_addresses > self.most.addresses {
            return Err(Full::Addresses(self.most.addresses));
        }
        if counts.shared.saturating_add(bytes) > self.most.total {
            return Err(Full::Total(self.most.total));
        }
        Ok(())
    }

    fn share_of(&self, holder: BudgetHolder) -> (ByteAllowance, Full) {
        match holder {
            BudgetHolder::Organization(_) => (self.most.organization, Full::Organization(self.most.organization.most)),
            BudgetHolder::Address(_) => (self.most.address, Full::Address(self.most.address.most)),
        }
    }

    fn add(&self, holder: BudgetHolder, bytes: usize) -> Result<(), Full> {
        let mut counts = self.counts();
        let held = counts.held_by(holder);
        let (share, full) = self.share_of(holder);
        let after = held.saturating_add(bytes);
        if held > 0 && after > share.most {
            return Err(full);
        }
        if after > share.guaranteed {
            self.check_shared(&counts, holder, after - held.max(share.guaranteed))?;
        }
        counts.set(holder, after, share.guaranteed);
        Ok(())
    }

    fn add_anyway(&self, holder: BudgetHolder, bytes: usize) {
        let mut counts = self.counts();
        let after = counts.held_by(holder) + bytes;
        counts.set(holder, after, self.share_of(holder).0.guaranteed);
    }

    fn remove(&self, holder: BudgetHolder, bytes: usize) {
        let mut counts = self.counts();
        let after = counts.held_by(holder) - bytes;
        counts.set(holder, after, self.share_of(holder).0.guaranteed);
    }
}

impl ByteCounts {
    fn held_by(&self, holder: BudgetHolder) -> usize {
        self.by_holder.get(&holder).copied().unwrap_or_default()
    }

    /// Sets the bytes of a holder.
    fn set(&mut self, holder: BudgetHolder, bytes: usize, guaranteed: usize) {
        let before = if bytes == 0 { self.by_holder.remove(&holder) } else { self.by_holder.insert(holder, bytes) };
        let before = before.unwrap_or_default();
        let [shared_before, shared] = [before, bytes].map(|held| held.saturating_sub(guaranteed));
        self.total = self.total - before + bytes;
        self.shared = self.shared - shared_before + shared;
        if matches!(holder, BudgetHolder::Address(_)) {
            self.shared_by_addresses = self.shared_by_addresses - shared_before + shared;
        }
    }
}

/// Marks a response whose bytes are in memory that all responses share, such as a file that is compiled in. It is an
/// extension of the response.
#[derive(Clone, Copy, Debug)]
pub struct SharedMemory;

/// The memory of one call: an extension of its request.
#[derive(Clone, Debug)]
pub struct CallMemory {
    /// The request body.
    pub body: Arc<Reservation>,
    /// The response.
    pub response: Arc<Reservation>,
}

impl CallMemory {
    /// A call that holds nothing yet.
    pub fn new(bodies: &Arc<Budget>, responses: &Arc<Budget>, holder: BudgetHolder) -> CallMemory {
        let [body, response] = [bodies, responses].map(|budget| Arc::new(Reservation::new(budget.clone(), holder)));
        CallMemory { body, response }
    }

    /// Counts the call for an organization, once the call is authenticated. If the organization does not read its
    /// responses, the call must not begin: its response could not be refused later.
    pub fn belongs_to(&self, organization: i64) -> Result<(), Full> {
        self.body.belongs_to(organization);
        self.response.belongs_to(organization);
        self.response.check()
    }
}

/// The bytes that one body or response holds. Dropping it releases them.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    state: Mutex<ReservationState>,
}

#[derive(Debug)]
struct ReservationState {
    holder: BudgetHolder,
    bytes: usize,
    full: Option<Full>,
    is_discarded: bool,
}

impl Reservation {
    /// A reservation of no bytes.
    pub fn new(budget: Arc<Budget>, holder: BudgetHolder) -> Reservation {
        let state = ReservationState { holder, bytes: 0, full: None, is_discarded: false };
        Reservation { budget, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, ReservationState> {
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
        self.budget.add_anyway(state.holder, bytes);
        state.bytes += bytes;
    }

    /// Whether the holder may begin a call whose response cannot be refused later.
    pub fn check(&self) -> Result<(), Full> {
        let mut state = self.state();
        let checked = self.budget.check(state.holder);
        state.full = checked.err();
        checked
    }

    /// Whether a body may have this length: without credentials, only a short one.
    pub fn check_body(&self, length: usize) -> Result<(), Full> {
        let mut state = self.state();
        let is_authenticated = matches!(state.holder, BudgetHolder::Organization(_));
        if is_authenticated || state.is_discarded || length <= BODY_BYTES_WITHOUT_CREDENTIALS {
            return Ok(());
        }
        let full = Full::Body(BODY_BYTES_WITHOUT_CREDENTIALS);
        state.full = Some(full);
        Err(full)
    }

    fn belongs_to(&self, organization: i64) {
        let mut state = self.state();
        let before = std::mem::replace(&mut state.holder, BudgetHolder::Organization(organization));
        if state.bytes > 0 {
            self.budget.remove(before, state.bytes);
            self.budget.add_anyway(state.holder, state.bytes);
        }
    }

    /// Releases everything and stops counting: what still arrives is thrown away.
    pub fn discard(&self) {
        let mut state = self.state();
        state.is_discarded = true;
        let bytes = std::mem::take(&mut state.bytes);
        if bytes > 0 {
            self.budget.remove(state.holder, bytes);
        }
    }

    /// The limit that the bytes exceeded, if any.
    pub fn refused(&self) -> Option<Full> {
        self.state().full
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.discard();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Most = Most {
        organization: ByteAllowance { guaranteed: 3, most: 13 },
        address: ByteAllowance { guaranteed: 1, most: 5 },
        addresses: 12,
        total: 20,
    };

    fn budget() -> Arc<Budget> {
        Arc::new(Budget::new(MOST))
    }

    fn address(last: u8) -> BudgetHolder {
        BudgetHolder::Address(IpAddr::from([192, 0, 2, last]))
    }

    fn reserve(budget: &Arc<Budget>, holder: BudgetHolder, bytes: usize) -> Result<Reservation, Full> {
        let reservation = Reservation::new(budget.clone(), holder);
        reservation.take(bytes).map(|()| reservation)
    }

    #[test]
    fn each_holder_has_its_share_and_gets_it_back() {
        let budget = budget();
        let first = reserve(&budget, BudgetHolder::Organization(1), 6).expect("it fits");
        assert_eq!(reserve(&budget, BudgetHolder::Organization(1), 8).err(), Some(Full::Organization(13)));
        let _second = reserve(&budget, BudgetHolder::Organization(1), 7).expect("up to the limit");
        let _other = reserve(&budget, BudgetHolder::Organization(2), 6).expect("another organization");
        drop(first);
        assert!(reserve(&budget, BudgetHolder::Organization(1), 5).is_ok());
        assert_eq!(budget.total(), 13);
    }

    #[test]
    fn a_guaranteed_share_is_left_when_others_hold_everything_else() {
        let budget = budget();
        let _full =
            [1, 2].map(|organization| reserve(&budget, BudgetHolder::Organization(organization), 13).expect("it fits"));
        assert_eq!(reserve(&budget, BudgetHolder::Organization(3), 4).err(), Some(Full::Total(20)));
        let third = reserve(&budget, BudgetHolder::Organization(3), 3).expect("its guaranteed share");
        assert_eq!(third.take(1), Err(Full::Total(20)), "beyond its guaranteed share");
        assert_eq!(reserve(&budget, address(1), 2).err(), Some(Full::Total(20)));
        let _address = reserve(&budget, address(1), 1).expect("an address has a guaranteed share too");
        assert_eq!(budget.total(), 13 + 13 + 3 + 1);
    }

    #[test]
    fn addresses_leave_the_guaranteed_share_of_other_addresses_and_bytes_for_organizations() {
        let budget = budget();
        let _full = [1, 2, 3].map(|last| reserve(&budget, address(last), 5).expect("it fits"));
        assert_eq!(reserve(&budget, address(1), 1).err(), Some(Full::Address(5)));
        assert_eq!(reserve(&budget, address(4), 2).err(), Some(Full::Addresses(12)));
        let _fourth = reserve(&budget, address(4), 1).expect("its guaranteed share");
        let _organization =
            reserve(&budget, BudgetHolder::Organization(1), 11).expect("all that addresses may not take");
        assert_eq!(reserve(&budget, BudgetHolder::Organization(2), 4).err(), Some(Full::Total(20)));
    }

    #[test]
    fn who_holds_nothing_gets_one_body_in_if_the_total_allows_it() {
        let budget = budget();
        let large = reserve(&budget, address(1), 9).expect("more than the share");
        assert_eq!(reserve(&budget, address(1), 1).err(), Some(Full::Address(5)));
        assert_eq!(reserve(&budget, address(2), 14).err(), Some(Full::Addresses(12)), "callers with keys have room");
        let _organization = reserve(&budget, BudgetHolder::Organization(1), 15).expect("it fits");
        assert_eq!(reserve(&budget, BudgetHolder::Organization(2), 4).err(), Some(Full::Total(20)));
        drop(large);
        assert!(reserve(&budget, BudgetHolder::Organization(2), 4).is_ok());
    }

    #[test]
    fn a_call_moves_to_its_organization_and_what_is_thrown_away_is_not_counted() {
        let budget = budget();
        let call = CallMemory::new(&budget, &budget, address(1));
        call.body.take(5).expect("it fits");
        assert_eq!(call.belongs_to(1), Ok(()));
        let another = reserve(&budget, address(1), 5).expect("the address holds nothing any more");
        assert_eq!(call.body.take(9), Err(Full::Organization(13)));
        assert_eq!(call.body.refused(), Some(Full::Organization(13)));
        call.body.discard();
        assert_eq!((budget.total(), call.body.take(1_000), budget.total()), (5, Ok(()), 5));
        drop((call, another));
        let counts = budget.counts();
        let left = (counts.total, counts.shared, counts.shared_by_addresses, counts.by_holder.len());
        assert_eq!(left, (0, 0, 0, 0));
    }

    #[test]
    fn bytes_that_exist_in_any_case_use_up_the_share() {
        let budget = budget();
        let check = |holder: BudgetHolder| Reservation::new(budget.clone(), holder).check();
        let written = Reservation::new(budget.clone(), address(1));
        written.take_anyway(4);
        assert_eq!(check(address(1)), Ok(()));
        written.take_anyway(30);
        assert_eq!(check(address(1)), Err(Full::Address(5)));
        assert_eq!(check(address(2)), Ok(()), "it holds nothing");
        let _second = reserve(&budget, address(2), 1).expect("its guaranteed share");
        assert_eq!(check(address(2)), Err(Full::Addresses(12)), "its guaranteed share is used up");
        let third = reserve(&budget, BudgetHolder::Organization(1), 3).expect("its guaranteed share");
        let call = CallMemory::new(&budget, &budget, address(3));
        assert_eq!((call.belongs_to(1), call.response.refused()), (Err(Full::Total(20)), Some(Full::Total(20))));
        drop(third);
        assert_eq!((call.belongs_to(1), call.response.refused()), (Ok(()), None));
        let sentence = Full::Address(4).sentence(BODIES);
        assert!(
            sentence
                .starts_with("the limit of 4 bytes for the bodies of concurrent requests of this address is reached;")
        );
    }

    #[test]
    fn a_body_without_credentials_is_short() {
        let call = CallMemory::new(&budget(), &budget(), address(1));
        let too_long = BODY_BYTES_WITHOUT_CREDENTIALS + 1;
        assert_eq!(call.body.check_body(BODY_BYTES_WITHOUT_CREDENTIALS), Ok(()));
        assert_eq!(call.body.check_body(too_long), Err(Full::Body(BODY_BYTES_WITHOUT_CREDENTIALS)));
        assert_eq!(call.body.refused(), Some(Full::Body(BODY_BYTES_WITHOUT_CREDENTIALS)));
        assert_eq!((call.belongs_to(1), call.body.check_body(too_long)), (Ok(()), Ok(())));
    }
}
