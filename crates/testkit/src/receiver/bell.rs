//! Notifies a test that something has changed.

use super::PATIENCE;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use tokio::sync::Notify;

/// Wakes all waiters after a change; costs almost nothing while there are none.
#[derive(Debug, Default)]
pub(super) struct Bell {
    waiting: AtomicUsize,
    lock: Mutex<()>,
    blocked: Condvar,
    tasks: Notify,
}

impl Bell {
    /// Signals that something may have changed.
    pub fn ring(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.lock.lock().unwrap());
            self.blocked.notify_all();
            self.tasks.notify_waiters();
        }
    }

    /// Blocks until a condition holds; returns whether it did before the timeout.
    pub fn wait(&self, is_so: impl Fn() -> bool) -> bool {
        let _waiting = Waiter::new(&self.waiting);
        let lock = self.lock.lock().unwrap();
        let (_lock, waited) = self.blocked.wait_timeout_while(lock, PATIENCE, |()| !is_so()).unwrap();
        !waited.timed_out()
    }

    /// Waits in a runtime until a condition holds.
    pub async fn heard(&self, is_so: impl Fn() -> bool) {
        let _waiting = Waiter::new(&self.waiting);
        loop {
            let mut ring = std::pin::pin!(self.tasks.notified());
            ring.as_mut().enable();
            if is_so() {
                return;
            }
            ring.await;
        }
    }
}

/// Counts as a waiter until dropped.
struct Waiter<'a>(&'a AtomicUsize);

impl<'a> Waiter<'a> {
    fn new(count: &'a AtomicUsize) -> Waiter<'a> {
        count.fetch_add(1, Ordering::SeqCst);
        Waiter(count)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
