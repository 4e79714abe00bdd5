//! A receiver in the same process: a message is handed over as it would go out, and a status comes back. For runs that
//! need no network, such as test cases.

use crate::sender::reply::{Post, Reply};
use daybook_clock::Stopwatch;

/// Somebody in this process who gets messages.
pub trait Receive: Send + Sync + std::fmt::Debug {
    /// Takes a message, and answers with an HTTP status.
    fn receive(&self, post: &Post<'_>) -> u16;
}

pub(super) fn hand_over(receiver: &dyn Receive, post: &Post<'_>, stopwatch: Stopwatch) -> Reply {
    let status = receiver.receive(post);
    Reply { status: Some(status), fault: None, retry_after: None, body_start: Vec::new(), latency: stopwatch.elapsed() }
}
