//! Taking a lock whose holder may have panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock. Whoever panicked while holding one left nothing half done: what is locked here is changed by single
/// insertions.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
