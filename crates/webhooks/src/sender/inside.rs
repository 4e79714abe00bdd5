//! A receiver in the same process: it gets a message as it would be sent, and returns a status. For runs that need no
//! network, such as test cases.

use crate::sender::reply::{Post, Reply};
use daybook_clock::Stopwatch;

/// A receiver in this process.
pub trait Receive: Send + Sync + std::fmt::Debug {
    /// Receives a message, and returns an HTTP status.
    fn receive(&self, post: &Post<'_>) -> u16;
}

pub(super) fn hand_over(receiver: &dyn Receive, post: &Post<'_>, stopwatch: Stopwatch) -> Reply {
    let status = receiver.receive(post);
    Reply { status: Some(status), fault: None, retry_after: None, body_start: Vec::new(), latency: stopwatch.elapsed() }
}
