//! Metrics of this process, with the names that Prometheus' own libraries use. They are read from `/proc`; without
//! `/proc` they are left out.

use crate::{Families, Registry};
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long metrics are reused before they are read again: with many descriptors, counting them takes a while.
const FRESH: Duration = Duration::from_secs(1);

/// Metrics of this process, read at most once a second.
#[derive(Debug, Default)]
pub struct Process(Mutex<Option<(Duration, Families)>>);

impl Process {
    /// The metrics at a time, measured from an arbitrary start.
    pub fn families(&self, now: Duration) -> Families {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some((at, families)) if now.saturating_sub(*at) < FRESH => families.clone(),
            _ => kept.insert((now, read())).1.clone(),
        }
    }
}

/// The current metrics of this process.
fn read() -> Families {
    let registry = Registry::default();
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    if let Some(stat) = Stat::read(&read("/proc/self/stat")) {
        let help = "CPU time used by the process, in seconds";
        registry.total("process_cpu_seconds_total", help, stat.cpu_ticks / ticks);
        registry.value("process_threads", "Threads of the process", stat.threads);
        registry.value("process_virtual_memory_bytes", "Virtual memory of the process", stat.virtual_bytes);
        let resident = stat.resident_pages * rustix::param::page_size() as f64;
        registry.value("process_resident_memory_bytes", "Resident memory of the process", resident);
        if let Some(boot) = boot_seconds(&read("/proc/stat")) {
            let help = "Start time of the process, in seconds since 1970";
            registry.value("process_start_time_seconds", help, boot + stat.start_ticks / ticks);
        }
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // One of them is the directory being read.
        registry.value(
            "process_open_fds",
            "Open file descriptors of the process",
            open.count().saturating_sub(1) as f64,
        );
    }
    if let Some(most) = most_files(&read("/proc/self/limits")) {
        registry.value("process_max_fds", "Maximum number of open file descriptors of the process", most);
    }
    registry.families()
}

/// The fields used of `/proc/self/stat`.
#[derive(Debug, PartialEq)]
struct Stat {
    cpu_ticks: f64,
    threads: f64,
    start_ticks: f64,
    virtual_bytes: f64,
    resident_pages: f64,
}

impl Stat {
    /// The second field is the command name in parentheses, which may contain anything; the wanted fields follow it.
    fn read(text: &str) -> Option<Stat> {
        let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_whitespace().collect();
        // The manual counts from 1, and the first field here is its third.
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Stat {
            cpu_ticks: field(14)? + field(15)?,
            threads: field(20)?,
            start_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// When the machine was started, from `/proc/stat`.
fn boot_seconds(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// The soft limit on open files, from `/proc/self/limits`.
fn most_files(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let soft = line.split_whitespace().next()?;
    if soft == "unlimited" { Some(f64::INFINITY) } else { soft.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_read() {
        let stat = "4242 (a ) (name) S 1 4242 4242 0 -1 4194560 900 0 3 0 250 150 0 0 20 0 7 0 12345 73400320 2048 \
                    18446744073709551615 1 1 0";
        let expected = Stat {
            cpu_ticks: 400.0,
            threads: 7.0,
            start_ticks: 12_345.0,
            virtual_bytes: 73_400_320.0,
            resident_pages: 2_048.0,
        };
        assert_eq!(Stat::read(stat), Some(expected));
        assert_eq!(Stat::read("4242 (cut off) S 1"), None);
        assert_eq!(boot_seconds("cpu 1 2 3\nbtime 1763370000\nprocesses 9\n"), Some(1_763_370_000.0));
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max open files            1024                 1048576              files     \n";
        assert_eq!(most_files(limits), Some(1_024.0));
        assert_eq!(
            most_files("Max open files            unlimited            unlimited            files\n"),
            Some(f64::INFINITY)
        );
    }

    fn value(text: &str, name: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name} in {text}")).parse().expect("a number")
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_figures_which_are_read_once_a_second() {
        let process = Process::default();
        let text_at = |ms: u64| crate::text(&process.families(Duration::from_millis(ms)));
        let before = text_at(5_000);
        assert!(value(&before, "process_resident_memory_bytes") > 65_536.0, "{before}");
        assert!(value(&before, "process_start_time_seconds") > 1_700_000_000.0, "{before}");
        assert!(value(&before, "process_max_fds") >= value(&before, "process_open_fds"), "{before}");
        let open: Vec<fs::File> = (0..50).map(|_| fs::File::open("/proc/self/stat").expect("a file")).collect();
        assert_eq!(text_at(5_999), before);
        let after = text_at(6_000);
        assert!(value(&after, "process_open_fds") >= open.len() as f64, "{after}");
    }
}
