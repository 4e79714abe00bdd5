//! Memory that the program holds, as counted by its allocator. The process's resident memory is larger: it also has
//! memory that was freed and not returned to the system yet, SQLite's cache, and the program itself.

use daybook_metrics::{Families, Registry};

/// The metrics of the allocator; none if it does not count.
pub fn metrics() -> Families {
    let registry = Registry::default();
    if let Some(allocated) = allocated() {
        let help = "Memory that the program holds, as counted by its allocator";
        registry.value("daybook_memory_allocated_bytes", help, allocated as f64);
    }
    registry.families()
}

#[cfg(feature = "jemalloc")]
fn allocated() -> Option<usize> {
    use tikv_jemalloc_ctl::{epoch, stats};
    // The allocator refreshes its counts when its epoch is advanced.
    epoch::advance().and_then(|_| stats::allocated::read()).ok()
}

/// The allocator of the C library does not count.
#[cfg(not(feature = "jemalloc"))]
fn allocated() -> Option<usize> {
    None
}

#[cfg(test)]
#[cfg(feature = "jemalloc")]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

    fn allocated() -> f64 {
        let text = daybook_metrics::text(&metrics());
        let value = text.lines().find_map(|line| line.strip_prefix("daybook_memory_allocated_bytes "));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no such metric: {text}"))
    }

    #[test]
    fn what_is_held_is_counted() {
        const BYTES: usize = 256 << 20;
        let before = allocated();
        let held = vec![1_u8; BYTES];
        let with = allocated();
        assert!(with - before > 0.5 * held.len() as f64, "{before}, then {with}");
        drop(held);
        let after = allocated();
        assert!(with - after > 0.5 * BYTES as f64, "{with}, then {after}");
    }
}
