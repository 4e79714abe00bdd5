//! The state of an open connection: whether it is waiting for its client, and since when.
//!
//! ```text
//! accepted ─► head arriving ─► body arriving ─► processed ─► response sent  ─► idle ─► head arriving ─► …
//!             └── waits for its client ──┘                    └─ if unread ─┘  └─ waits for its client
//! ```
//!
//! The listener closes only connections that are waiting for their client. The check and the start of a request share
//! one lock: a request that has begun is processed and answered, and one that has not begun has changed nothing.

use super::limits::ListenerLimits;
use super::sending::Sending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// How long a response may have made no progress before its connection counts as waiting for its client.
const READING_PAUSE: Duration = Duration::from_secs(1);

/// Why the listener closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The head of a request timed out.
    Headers,
    /// No request arrived within the idle timeout.
    Idle,
    /// The client did not read its response, or too slowly.
    Unread,
    /// Its slot was needed for another connection from the same address.
    Address,
    /// Its slot was needed for another connection.
    Full,
}

impl Ending {
    /// All of them.
    pub const ALL: [Ending; 5] = [Ending::Headers, Ending::Idle, Ending::Unread, Ending::Address, Ending::Full];

    /// The label of the metric.
    pub const fn label(self) -> &'static str {
        match self {
            Ending::Headers => "headers",
            Ending::Idle => "idle",
            Ending::Unread => "unread",
            Ending::Address => "address",
            Ending::Full => "full",
        }
    }
}

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    state: Mutex<ConnectionState>,
    ending: Notify,
}

#[derive(Debug)]
struct ConnectionState {
    ended: Option<Ending>,
    /// Whether many requests share the connection (HTTP/2), so that its bytes do not show where a request begins.
    is_shared: bool,
    /// Whether it has received a response before.
    is_proven: bool,
    /// Requests that have begun and whose responses are not fully sent.
    in_flight: u32,
    /// How many of these are waiting for their bodies.
    bodies: u32,
    /// Responses handed over for sending but not fully sent.
    leaving: u32,
    /// When it last began to wait for its client.
    waiting_since: Duration,
    /// When the head in progress began to arrive.
    head_since: Option<Duration>,
    /// Since when the socket has been blocked, because the client does not read.
    unread_since: Option<Duration>,
    /// The responses that are being sent, and some that are sent.
    sending: Vec<Weak<Sending>>,
}

impl Connection {
    /// A newly accepted connection. Its first head counts as begun, since a client that connects wants to send a
    /// request.
    pub fn new(now: Duration) -> Connection {
        let state = ConnectionState {
            ended: None,
            is_shared: false,
            is_proven: false,
            in_flight: 0,
            bodies: 0,
            leaving: 0,
            waiting_since: now,
            head_since: Some(now),
            unread_since: None,
            sending: Vec::new(),
        };
        Connection { state: Mutex::new(state), ending: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the connection as shared by many requests.
    pub fn share(&self, now: Duration) {
        let mut state = self.state();
        state.is_shared = true;
        state.head_since = None;
        state.waiting_since = now;
    }

    /// Records that bytes arrived.
    pub fn received(&self, now: Duration) {
        let mut state = self.state();
        if state.in_flight == 0 && !state.is_shared {
            state.head_since.get_or_insert(now);
        }
    }

    /// Records that a request began. Returns `false` if the connection was closed before; the request must then not be
    /// processed.
    #[must_use]
    pub fn begin(&self, has_body: bool, now: Duration) -> bool {
        let mut state = self.state();
        if state.ended.is_some() {
            return false;
        }
        state.in_flight += 1;
        state.bodies += u32::from(has_body);
        state.head_since = None;
        state.waiting_since = now;
        true
    }

    /// Records that the body of a request arrived. Returns `false` if the connection was closed before.
    #[must_use]
    pub fn body_arrived(&self) -> bool {
        let mut state = self.state();
        state.bodies = state.bodies.saturating_sub(1);
        state.ended.is_none()
    }

    /// Records that a response is ready to be sent.
    pub fn send(&self, response: &Arc<Sending>) {
        let mut state = self.state();
        state.sending.retain(|sent| sent.strong_count() > 0);
        state.sending.push(Arc::downgrade(response));
    }

    /// Records that a response was handed over for sending.
    pub fn leaving(&self) {
        self.state().leaving += 1;
    }

    /// Records that everything handed over is sent.
    pub fn flushed(&self, now: Duration) {
        let mut state = self.state();
        state.unread_since = None;
        if state.leaving > 0 {
            state.in_flight = state.in_flight.saturating_sub(state.leaving);
            state.leaving = 0;
            state.is_proven = true;
            state.waiting_since = now;
        }
    }

    /// Records that some bytes were sent.
    pub fn written(&self) {
        self.state().unread_since = None;
    }

    /// Records that nothing can be sent until the client reads.
    pub fn unread(&self, now: Duration) {
        self.state().unread_since.get_or_insert(now);
    }

    /// Closes it if it is overdue, and returns why.
    pub fn end_if_overdue(&self, now: Duration, limits: &ListenerLimits) -> Option<Ending> {
        let mut state = self.state();
        let ending = state.overdue(now, limits)?;
        state.ended = Some(ending);
        self.ending.notify_one();
        Some(ending)
    }

    /// Whether it has received a response before, and how long it has waited for its client; `None` if a request is in
    /// progress.
    pub fn standing(&self, now: Duration) -> (bool, Option<Duration>) {
        let state = self.state();
        (state.is_proven, state.waited(now))
    }

    /// Closes it to make room, unless a request is now in progress.
    pub fn end_to_make_room(&self, ending: Ending, now: Duration) -> bool {
        let mut state = self.state();
        if state.waited(now).is_none() {
            return false;
        }
        state.ended = Some(ending);
        self.ending.notify_one();
        true
    }

    /// Waits until the listener closes it.
    pub async fn ended(&self) {
        self.ending.notified().await;
    }
}

impl ConnectionState {
    fn overdue(&mut self, now: Duration, limits: &ListenerLimits) -> Option<Ending> {
        let is_past = |since: Duration, timeout| now.saturating_sub(since) > timeout;
        if self.ended.is_some() {
            return None;
        }
        if self.unread_since.is_some_and(|since| is_past(since, limits.write_timeout)) {
            return Some(Ending::Unread);
        }
        let longest_without_progress = self.sending().filter_map(|response| response.without_progress_for(now)).max();
        if longest_without_progress.is_some_and(|unread| unread > limits.write_timeout) {
            return Some(Ending::Unread);
        }
        if longest_without_progress.is_some() {
            // It becomes idle after the last byte, even if HTTP/2 took over the whole body earlier.
            self.waiting_since = now;
            return None;
        }
        if self.in_flight > 0 {
            return None;
        }
        match self.head_since {
            Some(since) => is_past(since, limits.header_timeout).then_some(Ending::Headers),
            None => is_past(self.waiting_since, limits.idle_timeout).then_some(Ending::Idle),
        }
    }

    /// The responses that are not fully written.
    fn sending(&self) -> impl Iterator<Item = Arc<Sending>> {
        self.sending.iter().filter_map(Weak::upgrade)
    }

    fn waited(&self, now: Duration) -> Option<Duration> {
        let is_unread = |response: &Arc<Sending>| {
            !response.is_handed_over() && response.unread_for(now).is_some_and(|unread| unread > READING_PAUSE)
        };
        let unread = self.sending().filter(is_unread).count();
        let waits = self.unread_since.is_some() || self.in_flight as usize == self.bodies as usize + unread;
        if self.ended.is_some() || !waits {
            return None;
        }
        let since = self.unread_since.or(self.head_since).unwrap_or(self.waiting_since);
        Some(now.saturating_sub(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::limits::{BODY_BYTES, RESPONSE_BYTES};
    use crate::listener::sending::PROGRESS_BYTES;
    use daybook_service::budget::{Budget, BudgetHolder, Reservation};

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn limits() -> ListenerLimits {
        ListenerLimits {
            connections: 4,
            per_address: 2,
            reserve: 1,
            header_timeout: s(10),
            idle_timeout: s(60),
            body_timeout: s(60),
            write_timeout: s(30),
            body_bytes: BODY_BYTES,
            response_bytes: RESPONSE_BYTES,
        }
    }

    #[test]
    fn a_head_that_drips_in_is_overdue_however_often_it_drips() {
        let connection = Connection::new(s(0));
        for second in 0..=10 {
            connection.received(s(second));
            assert_eq!(connection.end_if_overdue(s(second), &limits()), None);
        }
        assert_eq!(connection.end_if_overdue(s(11), &limits()), Some(Ending::Headers));
        assert!(!connection.begin(false, s(11)), "a request on a closed connection is not begun");
    }

    #[test]
    fn a_request_that_is_worked_on_is_never_closed_and_an_idle_connection_is() {
        let connection = Connection::new(s(0));
        assert!(connection.begin(false, s(1)));
        assert_eq!((connection.end_if_overdue(s(1_000), &limits()), connection.standing(s(1_000)).1), (None, None));
        assert!(!connection.end_to_make_room(Ending::Full, s(1_000)));
        connection.leaving();
        assert_eq!(connection.standing(s(1_000)).1, None, "its answer is not written yet");
        connection.flushed(s(1_000));
        assert_eq!(connection.end_if_overdue(s(1_060), &limits()), None);
        assert_eq!(connection.end_if_overdue(s(1_061), &limits()), Some(Ending::Idle));
    }

    #[test]
    fn a_second_head_has_its_own_time() {
        let connection = Connection::new(s(0));
        assert!(connection.begin(false, s(1)));
        connection.leaving();
        connection.flushed(s(2));
        connection.received(s(50));
        assert_eq!(connection.end_if_overdue(s(60), &limits()), None);
        assert_eq!(connection.end_if_overdue(s(61), &limits()), Some(Ending::Headers));
    }

    #[test]
    fn a_client_that_does_not_read_is_overdue() {
        let connection = Connection::new(s(0));
        assert!(connection.begin(false, s(1)));
        connection.unread(s(2));
        connection.unread(s(20));
        assert_eq!(connection.end_if_overdue(s(32), &limits()), None);
        connection.written();
        connection.unread(s(33));
        assert_eq!(connection.end_if_overdue(s(63), &limits()), None);
        assert_eq!(connection.end_if_overdue(s(64), &limits()), Some(Ending::Unread));
    }

    #[test]
    fn a_body_that_is_awaited_makes_room_and_one_that_has_come_does_not() {
        let connection = Connection::new(s(0));
        assert!(connection.begin(true, s(1)));
        assert!(connection.standing(s(2)).1.is_some());
        assert!(connection.body_arrived());
        assert_eq!(connection.standing(s(2)).1, None);
        let other = Connection::new(s(0));
        assert!(other.begin(true, s(1)));
        assert!(other.end_to_make_room(Ending::Address, s(2)));
        assert!(!other.body_arrived(), "its request must not be worked on");
    }

    fn response() -> Arc<Sending> {
        let budget = Arc::new(Budget::new(RESPONSE_BYTES));
        Arc::new(Sending::new(Arc::new(Reservation::new(budget, BudgetHolder::Organization(1)))))
    }

    #[test]
    fn a_response_without_progress_is_overdue_whatever_else_is_written() {
        let connection = Connection::new(s(0));
        connection.share(s(0));
        assert!(connection.begin(false, s(1)) && connection.begin(false, s(1)));
        let (stuck, read) = (response(), response());
        connection.send(&stuck);
        assert_eq!(connection.end_if_overdue(s(100), &limits()), None, "its handler is at work");
        stuck.hand_over(1_000, s(100));
        connection.send(&read);
        read.hand_over(1_000, s(100));
        assert_eq!(connection.standing(s(101)).1, None);
        for second in 101..=130 {
            read.written(10, s(second));
            connection.written();
            connection.flushed(s(second));
            assert_eq!(connection.end_if_overdue(s(second), &limits()), None);
        }
        assert_eq!(connection.standing(s(130)).1, None, "the other response is being read");
        assert_eq!(connection.end_if_overdue(s(131), &limits()), Some(Ending::Unread));
    }

    #[test]
    fn a_response_that_is_read_slowly_is_not_idle_and_makes_room_when_it_stops() {
        let connection = Connection::new(s(0));
        connection.share(s(0));
        assert!(connection.begin(false, s(1)));
        let response = response();
        connection.send(&response);
        response.hand_over(100 * PROGRESS_BYTES, s(1));
        for second in (20..200).step_by(20) {
            response.written(PROGRESS_BYTES, s(second));
            assert_eq!(connection.end_if_overdue(s(second), &limits()), None);
        }
        assert_eq!((connection.standing(s(181)).1, connection.standing(s(182)).1.is_some()), (None, true));
        response.end();
        connection.leaving();
        connection.flushed(s(182));
        for second in (200..=260).step_by(20) {
            response.written(PROGRESS_BYTES, s(second));
            assert_eq!(connection.end_if_overdue(s(second), &limits()), None, "it is not idle");
        }
        drop(response);
        assert_eq!(connection.end_if_overdue(s(320), &limits()), None);
        assert_eq!(connection.end_if_overdue(s(321), &limits()), Some(Ending::Idle));
    }

    #[test]
    fn a_response_that_is_read_byte_by_byte_is_overdue_and_the_rest_of_one_is_progress() {
        let connection = Connection::new(s(0));
        connection.share(s(0));
        assert!(connection.begin(false, s(1)));
        let response = response();
        connection.send(&response);
        response.hand_over(2 * PROGRESS_BYTES + 20, s(1));
        response.written(PROGRESS_BYTES - 1, s(20));
        response.written(1, s(30));
        for second in (32..=60).step_by(2) {
            response.written(1, s(second));
            assert_eq!(connection.end_if_overdue(s(second), &limits()), None);
        }
        assert_eq!(connection.standing(s(60)).1, None, "it is being read");
        response.written(PROGRESS_BYTES - 15, s(60));
        response.written(10, s(70));
        assert_eq!(connection.end_if_overdue(s(90), &limits()), None);
        response.written(10, s(90));
        assert_eq!(connection.end_if_overdue(s(91), &limits()), None, "all was read");
        response.hand_over(2 * PROGRESS_BYTES, s(91));
        for second in (93..=121).step_by(2) {
            response.written(1, s(second));
            assert_eq!(connection.end_if_overdue(s(second), &limits()), None);
        }
        response.written(1, s(122));
        assert_eq!(connection.end_if_overdue(s(122), &limits()), Some(Ending::Unread));
    }
}
