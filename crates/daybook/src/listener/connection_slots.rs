//! Every open connection, counted by address, and which one is closed to make room.
//!
//! If a new connection arrives when its address is at its cap, or the server is full, the listener closes the
//! connection that has waited longest for its client: of the same address, or of the address with the most connections.
//! So slow and idle connections cannot keep callers out. Addresses with a few connections each count as equal: a caller
//! that opens a second one is not pushed out by a crowd with one connection each. If all connections have requests in
//! progress, the new one gets one of a few reserve slots, which serve health checks; all other requests are refused
//! with the advice to retry.

use super::connection::{Connection, Ending};
use super::limits::ListenerLimits;
use super::metrics::{ConnectionMetrics, Refused};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Addresses with at most this many connections count as equal, if the server has room for many of them.
const FEW_CONNECTIONS: usize = 4;

/// What counts as one address: an IPv4 address, or the /64 network of an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientNetwork(IpAddr);

impl ClientNetwork {
    /// The network of an address.
    pub fn of(address: IpAddr) -> ClientNetwork {
        match address.to_canonical() {
            IpAddr::V6(address) => ClientNetwork(IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into())),
            old => ClientNetwork(old),
        }
    }

    /// Its address, or the address of its network.
    pub fn address(self) -> IpAddr {
        self.0
    }
}

/// All slots for connections.
#[derive(Debug)]
pub struct ConnectionSlots {
    limits: ListenerLimits,
    metrics: Arc<ConnectionMetrics>,
    table: Mutex<SlotTable>,
}

#[derive(Debug, Default)]
struct SlotTable {
    by_network: HashMap<ClientNetwork, HashMap<u64, Arc<Connection>>>,
    taken: usize,
    reserve_taken: usize,
    last_number: u64,
}

/// The kind of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// Within the caps: every request is served.
    Regular,
    /// In the reserve: only health checks are served.
    Reserve(Refused),
}

/// An occupied slot. Dropping it frees it.
#[derive(Debug)]
pub struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    network: ClientNetwork,
    number: u64,
    kind: SlotKind,
    connection: Arc<Connection>,
}

impl ConnectionSlot {
    /// Its kind.
    pub fn kind(&self) -> SlotKind {
        self.kind
    }

    /// Its connection.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.table().leave(self.network, self.number, self.kind);
    }
}

impl ConnectionSlots {
    /// Slots for these limits.
    pub fn new(limits: ListenerLimits, metrics: Arc<ConnectionMetrics>) -> ConnectionSlots {
        ConnectionSlots { limits, metrics, table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, SlotTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of occupied slots.
    pub fn taken(&self) -> usize {
        self.table().taken
    }

    /// Gives a new connection a slot, or returns why there is none. Proxies have no cap per address, because a proxy
    /// serves many clients.
    pub fn admit(
        self: &Arc<ConnectionSlots>,
        address: IpAddr,
        is_proxy: bool,
        now: Duration,
    ) -> Result<ConnectionSlot, Refused> {
        let network = ClientNetwork::of(address);
        let mut table = self.table();
        let kind = match self.make_room(&mut table, network, is_proxy, now) {
            Ok(()) => SlotKind::Regular,
            Err(refused) if table.reserve_taken < self.limits.reserve => SlotKind::Reserve(refused),
            Err(refused) => return Err(refused),
        };
        let connection = Arc::new(Connection::new(now));
        let number = table.enter(network, kind, connection.clone());
        Ok(ConnectionSlot { slots: self.clone(), network, number, kind, connection })
    }

    fn make_room(
        &self,
        table: &mut SlotTable,
        network: ClientNetwork,
        is_proxy: bool,
        now: Duration,
    ) -> Result<(), Refused> {
        if !is_proxy && table.count(network) >= self.limits.per_address {
            if !table.make_room_in(network, Ending::Address, now) {
                return Err(Refused::Address);
            }
            self.metrics.closed(Ending::Address);
            self.metrics.made_room(now);
        }
        if table.taken >= self.limits.connections {
            if !table.make_room_anywhere(self.few(), now) {
                return Err(Refused::Full);
            }
            self.metrics.closed(Ending::Full);
            self.metrics.made_room(now);
        }
        Ok(())
    }

    /// Closes up to `count` connections that are waiting for their clients, when the system has no descriptors left.
    pub fn thin_out(&self, count: usize, now: Duration) {
        let mut table = self.table();
        for _ in 0..count {
            if !table.make_room_anywhere(self.few(), now) {
                return;
            }
            self.metrics.closed(Ending::Full);
        }
    }

    fn few(&self) -> usize {
        FEW_CONNECTIONS.min(self.limits.connections / 8)
    }

    /// Closes every connection that is overdue.
    pub fn close_overdue(&self, now: Duration) {
        let table = self.table();
        for connection in table.by_network.values().flat_map(HashMap::values) {
            if let Some(ending) = connection.end_if_overdue(now, &self.limits) {
                self.metrics.closed(ending);
            }
        }
    }
}

impl SlotTable {
    fn count(&self, network: ClientNetwork) -> usize {
        self.by_network.get(&network).map_or(0, HashMap::len)
    }

    fn enter(&mut self, network: ClientNetwork, kind: SlotKind, connection: Arc<Connection>) -> u64 {
        self.last_number += 1;
        match kind {
            SlotKind::Regular => {
                self.taken += 1;
                self.by_network.entry(network).or_default().insert(self.last_number, connection);
            }
            SlotKind::Reserve(_) => self.reserve_taken += 1,
        }
        self.last_number
    }

    /// A connection that was closed to make room has already left.
    fn leave(&mut self, network: ClientNetwork, number: u64, kind: SlotKind) {
        if kind != SlotKind::Regular {
            self.reserve_taken -= 1;
            return;
        }
        let Some(there) = self.by_network.get_mut(&network) else { return };
        if there.remove(&number).is_some() {
            self.taken -= 1;
        }
        if there.is_empty() {
            self.by_network.remove(&network);
        }
    }

    /// Closes one connection of an address.
    fn make_room_in(&mut self, network: ClientNetwork, ending: Ending, now: Duration) -> bool {
        let victim = self.victim_of(&[network], now);
        self.close(victim, ending, now)
    }

    /// Closes one connection of the addresses with the most connections, or else of those with the next most. Addresses
    /// with at most `few` count as equal.
    fn make_room_anywhere(&mut self, few: usize, now: Duration) -> bool {
        let mut by_count: BTreeMap<usize, Vec<ClientNetwork>> = BTreeMap::new();
        for (network, all) in &self.by_network {
            by_count.entry(all.len().max(few)).or_default().push(*network);
        }
        let victim = by_count.values().rev().find_map(|networks| self.victim_of(networks, now));
        self.close(victim, Ending::Full, now)
    }

    /// The connection to close. Connections that have never received a response are closed first if they are half or
    /// more of all: so idle newcomers do not push out active callers, and connections that got one response do not keep
    /// newcomers out. Among equals, the one that has waited longest for its client is closed.
    fn victim_of(&self, networks: &[ClientNetwork], now: Duration) -> Option<(ClientNetwork, u64)> {
        let (mut count, mut unproven) = (0, 0);
        let (mut of_unproven, mut of_proven) = (None, None);
        for network in networks {
            for (number, connection) in self.by_network.get(network).into_iter().flatten() {
                let (is_proven, waited) = connection.standing(now);
                count += 1;
                unproven += usize::from(!is_proven);
                let longest = if is_proven { &mut of_proven } else { &mut of_unproven };
                let candidate = waited.map(|waited| (waited, Reverse(*number), *network));
                if candidate.map(|(waited, number, _)| (waited, number))
                    > longest.map(|(waited, number, _)| (waited, number))
                {
                    *longest = candidate;
                }
            }
        }
        let chosen = if unproven * 2 >= count { of_unproven.or(of_proven) } else { of_proven.or(of_unproven) };
        chosen.map(|(_, Reverse(number), network)| (network, number))
    }

    fn close(&mut self, victim: Option<(ClientNetwork, u64)>, ending: Ending, now: Duration) -> bool {
        let Some((network, number)) = victim else { return false };
        let connection = self.by_network.get(&network).and_then(|there| there.get(&number));
        if !connection.is_some_and(|connection| connection.end_to_make_room(ending, now)) {
            return false;
        }
        self.leave(network, number, SlotKind::Regular);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::limits::{BODY_BYTES, RESPONSE_BYTES};

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn slots(connections: usize, per_address: usize) -> Arc<ConnectionSlots> {
        let limits = ListenerLimits {
            connections,
            per_address,
            reserve: 1,
            header_timeout: s(10),
            idle_timeout: s(60),
            body_timeout: s(60),
            write_timeout: s(30),
            body_bytes: BODY_BYTES,
            response_bytes: RESPONSE_BYTES,
        };
        Arc::new(ConnectionSlots::new(limits, Arc::default()))
    }

    fn from(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// A connection with a request in progress.
    fn busy(slots: &Arc<ConnectionSlots>, address: &str) -> ConnectionSlot {
        let slot = slots.admit(from(address), false, s(0)).expect("a slot");
        assert!(slot.connection().begin(false, s(0)));
        slot
    }

    fn is_open(slot: &ConnectionSlot) -> bool {
        slot.connection().begin(false, s(100))
    }

    #[test]
    fn an_address_at_its_cap_makes_room_for_itself_only() {
        let slots = slots(10, 2);
        let other = slots.admit(from("10.0.0.9"), false, s(0)).expect("a slot");
        let oldest = slots.admit(from("10.0.0.1"), false, s(1)).expect("a slot");
        let older = slots.admit(from("10.0.0.1"), false, s(2)).expect("a slot");
        let newest = slots.admit(from("10.0.0.1"), false, s(3)).expect("a slot");
        assert_eq!(newest.kind(), SlotKind::Regular);
        assert_eq!(slots.taken(), 3);
        assert!(!is_open(&oldest) && is_open(&older) && is_open(&newest) && is_open(&other));
        drop((oldest, older, newest, other));
        assert_eq!(slots.taken(), 0, "one that was closed is not counted twice");
    }

    #[test]
    fn a_full_house_takes_from_the_address_that_has_the_most() {
        let slots = slots(3, 3);
        let alone = slots.admit(from("10.0.0.9"), false, s(0)).expect("a slot");
        let first = slots.admit(from("10.0.0.1"), false, s(1)).expect("a slot");
        let second = slots.admit(from("10.0.0.1"), false, s(2)).expect("a slot");
        let new = slots.admit(from("10.0.0.2"), false, s(3)).expect("a slot");
        assert_eq!((new.kind(), slots.taken()), (SlotKind::Regular, 3));
        assert!(is_open(&alone) && !is_open(&first) && is_open(&second) && is_open(&new));
    }

    #[test]
    fn where_all_are_worked_on_the_reserve_is_left_and_then_nothing() {
        let slots = slots(4, 2);
        let _busy: Vec<ConnectionSlot> =
            ["10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2"].map(|one| busy(&slots, one)).into();
        let reserve = slots.admit(from("10.0.0.1"), false, s(1)).expect("a slot of the reserve");
        assert_eq!(reserve.kind(), SlotKind::Reserve(Refused::Address));
        assert_eq!(slots.admit(from("10.0.0.3"), false, s(1)).err(), Some(Refused::Full));
        drop(reserve);
        let reserve = slots.admit(from("10.0.0.3"), false, s(1)).expect("the reserve is free again");
        assert_eq!(reserve.kind(), SlotKind::Reserve(Refused::Full));
    }

    fn proven(slots: &Arc<ConnectionSlots>, address: &str, second: u64) -> ConnectionSlot {
        let slot = slots.admit(from(address), false, s(second)).expect("a slot");
        assert!(slot.connection().begin(false, s(second)));
        slot.connection().leaving();
        slot.connection().flushed(s(second));
        slot
    }

    #[test]
    fn a_crowd_that_sends_nothing_does_not_push_out_who_was_answered() {
        let slots = slots(20, 4);
        let callers = [proven(&slots, "10.0.0.1", 0), proven(&slots, "10.0.0.1", 1)];
        let _crowd: Vec<ConnectionSlot> =
            (2..50).map(|second| slots.admit(from("10.0.0.1"), false, s(second)).expect("a slot")).collect();
        assert!(callers.iter().all(is_open));
    }

    #[test]
    fn a_crowd_that_was_answered_does_not_keep_out_who_comes() {
        let slots = slots(20, 4);
        let _crowd: Vec<ConnectionSlot> = (0..4).map(|second| proven(&slots, "10.0.0.1", second)).collect();
        let (one, other) = (5, 6);
        let newcomers = [one, other].map(|second| slots.admit(from("10.0.0.1"), false, s(second)).expect("a slot"));
        assert!(newcomers.iter().all(is_open));
    }

    #[test]
    fn many_addresses_with_few_each_go_by_the_same_rule() {
        let slots = slots(4, 4);
        let caller = proven(&slots, "10.0.0.9", 0);
        let crowd: Vec<ConnectionSlot> = (1..50)
            .map(|second| slots.admit(IpAddr::from([10, 0, 1, second as u8]), false, s(second)).expect("a slot"))
            .collect();
        assert!(is_open(&caller) && is_open(&crowd[48]) && !is_open(&crowd[0]));
    }

    #[test]
    fn a_second_connection_of_a_caller_does_not_cost_it_the_first() {
        let slots = slots(48, 8);
        let kept = proven(&slots, "10.0.0.9", 0);
        let _crowd: Vec<ConnectionSlot> = (1..100)
            .map(|second| slots.admit(IpAddr::from([10, 0, 1, second as u8]), false, s(second)).expect("a slot"))
            .collect();
        let _second = busy(&slots, "10.0.0.9");
        let newcomer = slots.admit(from("10.0.0.10"), false, s(100)).expect("a slot");
        assert!(is_open(&kept) && is_open(&newcomer));
    }

    #[test]
    fn a_proxy_has_no_cap_of_its_own() {
        let slots = slots(4, 1);
        let both = [1, 2].map(|second| slots.admit(from("10.0.0.1"), true, s(second)).expect("a slot"));
        assert!(both.iter().all(is_open));
    }

    #[test]
    fn a_network_of_the_new_sort_is_one_address() {
        assert_eq!(ClientNetwork::of(from("2001:db8::1")), ClientNetwork::of(from("2001:db8::ffff:1")));
        assert_ne!(ClientNetwork::of(from("2001:db8::1")), ClientNetwork::of(from("2001:db8:0:1::1")));
        assert_eq!(ClientNetwork::of(from("::ffff:10.0.0.1")), ClientNetwork::of(from("10.0.0.1")));
        assert_ne!(ClientNetwork::of(from("10.0.0.2")), ClientNetwork::of(from("10.0.0.1")));
    }

    #[test]
    fn the_overdue_are_closed_and_counted() {
        let slots = slots(4, 4);
        let slow = slots.admit(from("10.0.0.1"), false, s(0)).expect("a slot");
        let quick = slots.admit(from("10.0.0.1"), false, s(9)).expect("a slot");
        slots.close_overdue(s(11));
        assert!(!is_open(&slow) && is_open(&quick));
        let text = daybook_metrics::text(&slots.metrics.families(0, 4));
        assert!(text.contains("daybook_connections_closed_total{reason=\"headers\"} 1\n"), "{text}");
    }
}
