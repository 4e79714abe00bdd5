//! The machine, as far as it decides how fast everything is.

use super::super::postgres_databases;
use serde::{Deserialize, Serialize};
use std::fs::read_to_string;
use std::path::Path;
use std::process::Command;

/// A description of the machine. What the system does not tell is "unknown".
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// The number of cores.
    pub cores: usize,
    /// The model of the processor.
    pub processor: String,
    /// The memory, in GiB.
    pub memory_gib: f64,
    /// The type of the file system in which the databases were.
    pub file_system: String,
    /// The kernel.
    pub kernel: String,
    /// The version and the settings of the PostgreSQL server, if there was one.
    pub postgres: Option<String>,
    /// `release` or `debug`.
    pub build: String,
}

impl Machine {
    /// This machine.
    pub async fn this(postgres: Option<&str>) -> Machine {
        let described = match postgres {
            Some(server) => Some(postgres_databases::describe(server).await.unwrap_or_else(|error| error.to_string())),
            None => None,
        };
        let read = |path: &str| read_to_string(path).unwrap_or_default();
        let kib: f64 = field(&read("/proc/meminfo"), "MemTotal").and_then(first_number).unwrap_or(0.0);
        Machine {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
            memory_gib: kib / f64::from(1 << 20),
            file_system: std::env::current_dir()
                .ok()
                .and_then(|folder| file_system(&read("/proc/self/mounts"), &folder))
                .unwrap_or_else(unknown),
            kernel: match read("/proc/sys/kernel/osrelease").trim() {
                "" => unknown(),
                release => format!("Linux {release}"),
            },
            postgres: described,
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        }
    }
}

/// The load of the last minute, if the system tells.
pub fn load() -> Option<f64> {
    first_number(read_to_string("/proc/loadavg").ok()?)
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// The value after a name and a colon.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

fn first_number(text: String) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// The type of the file system with the longest mount point above the folder.
fn file_system(mounts: &str, folder: &Path) -> Option<String> {
    let parts = mounts.lines().filter_map(|line| {
        let mut parts = line.split_whitespace();
        let (_, point, kind) = (parts.next()?, parts.next()?, parts.next()?);
        folder.starts_with(point).then_some((point.len(), kind))
    });
    // Of mounts at the same point, the last one counts.
    parts.max_by_key(|(length, _)| *length).map(|(_, kind)| kind.to_owned())
}

/// The commit of the working folder, and whether files differ from it; "unknown" without git.
pub fn commit() -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match (git(&["rev-parse", "--short", "HEAD"]), git(&["status", "--porcelain", "--untracked-files=no"])) {
        (Some(commit), Some(changes)) if changes.is_empty() => commit,
        (Some(commit), _) => format!("{commit} with changes"),
        (None, _) => unknown(),
    }
}

#[cfg(test)]
mod tests {
    use super::{field, file_system};
    use std::path::Path;

    #[test]
    fn the_nearest_mount_decides() {
        let mounts = "overlay / overlay rw 0 0\n/dev/vda /data ext4 rw 0 0\ntmpfs /data/shm tmpfs rw 0 0\n";
        let of = |folder| file_system(mounts, Path::new(folder));
        assert_eq!(of("/data/loans").as_deref(), Some("ext4"));
        assert_eq!(of("/database").as_deref(), Some("overlay"));
        assert_eq!(of("/data/shm/x").as_deref(), Some("tmpfs"));
    }

    #[test]
    fn a_field_is_found_by_its_name() {
        let text = "processor\t: 0\nmodel name\t: Some CPU\nmodel\t: 7\n";
        assert_eq!(field(text, "model name").as_deref(), Some("Some CPU"));
        assert_eq!(field(text, "bogomips"), None);
    }
}
