//! `daybook doctor`: checks for conditions that would keep the server from working well.
//!
//! Each check yields a [`Finding`]: ok, warning or failure. As far as possible, later checks run after one that failed,
//! so that the report is complete. The command creates nothing: a missing database or key is reported.

use super::opening::{is_missing, open_key, open_store_as, start_service};
use super::table::table;
use super::{Failure, print, quiet_logging, settings, wait_for};
use crate::cli::DoctorArgs;
use crate::config::Settings;
use crate::config::values::without_password;
use crate::instance;
use crate::secrets_file::SecretsKey;
use daybook_clock::{Clock, System};
use daybook_engine::time::Time;
use daybook_engine::zone::data_version;
use daybook_service::Service;
use daybook_service::muting::{self, Muted};
use daybook_service::zones::ZoneDifference;
use daybook_store::{Store, Tables};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

const MIB: u64 = 1 << 20;
/// Below this free space a disk is nearly full.
const LITTLE_SPACE_BYTES: u64 = 1_024 * MIB;
/// Below this free space a disk is about to be full.
const NO_SPACE_BYTES: u64 = 64 * MIB;
/// 2025-01-01: a clock before this time is wrong.
const WRITTEN: Time = Time::from_seconds(1_735_689_600);
/// 2100-01-01: a clock after this time is wrong.
const FAR_AWAY: Time = Time::from_seconds(4_102_444_800);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
        }
    }
}

/// The result of a check.
#[derive(Debug)]
struct Finding {
    check: &'static str,
    verdict: Verdict,
    sentence: String,
}

impl Finding {
    fn new(check: &'static str, verdict: Verdict, sentence: impl Into<String>) -> Finding {
        Finding { check, verdict, sentence: sentence.into() }
    }

    fn ok(check: &'static str, sentence: impl Into<String>) -> Finding {
        Finding::new(check, Verdict::Ok, sentence)
    }

    fn warn(check: &'static str, sentence: impl Into<String>) -> Finding {
        Finding::new(check, Verdict::Warn, sentence)
    }

    fn fail(check: &'static str, sentence: impl Into<String>) -> Finding {
        Finding::new(check, Verdict::Fail, sentence)
    }
}

/// Runs the checks and prints the findings.
pub fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let findings = match settings(args.flags.common.config.as_deref(), args.flags.given()) {
        Ok(loaded) => {
            quiet_logging(&loaded)?;
            wait_for(examine(&loaded.settings))?
        }
        Err(problems) => problems.0.iter().map(|problem| Finding::fail("settings", problem.0.clone())).collect(),
    };
    print(&if args.json { as_json(&findings) } else { as_table(&findings) })?;
    match findings.iter().filter(|finding| finding.verdict == Verdict::Fail).count() {
        0 => Ok(()),
        1 => Err(Failure::Failed("1 check failed".to_owned())),
        count => Err(Failure::Failed(format!("{count} checks failed"))),
    }
}

async fn examine(settings: &Settings) -> Result<Vec<Finding>, Failure> {
    let mut findings = vec![Finding::ok("settings", format!("database {}", without_password(&settings.database)))];
    let holder = settings.sqlite_path().and_then(instance::glimpse);
    match &holder {
        Some(instance::RunningServer { pid, url: Some(url), .. }) => {
            findings.push(Finding::ok("server", format!("running on {url} (process {pid})")));
        }
        Some(holder) => findings.push(Finding::ok("server", format!("process {} is using the database", holder.pid))),
        None => findings.push(listening(settings)),
    }
    let key = key(settings, &mut findings);
    if let Some(store) = database(settings, &mut findings).await {
        contents(&store, key.as_ref(), &mut findings).await;
    }
    findings.push(clock(System.now()));
    if let Some(path) = settings.sqlite_path() {
        findings.push(disk(path));
    }
    Ok(findings)
}

/// Whether the server could listen.
fn listening(settings: &Settings) -> Finding {
    match TcpListener::bind(settings.listen) {
        Ok(_) => Finding::ok("listen", format!("{} is free", settings.listen)),
        Err(error) => Finding::fail("listen", format!("nothing can listen on {}: {error}", settings.listen)),
    }
}

fn key(settings: &Settings, findings: &mut Vec<Finding>) -> Option<SecretsKey> {
    let path = &settings.secrets_key_file;
    if settings.secrets_key.is_none() && is_missing(path) {
        let sentence = format!("{} is not there yet; the first start makes it", path.display());
        findings.push(Finding::warn("secrets key", sentence));
        return None;
    }
    match open_key(settings) {
        Ok(key) => {
            let place = if settings.secrets_key.is_some() { "given".to_owned() } else { path.display().to_string() };
            findings.push(Finding::ok("secrets key", place));
            Some(key)
        }
        Err(error) => {
            findings.push(Finding::fail("secrets key", error.to_string()));
            None
        }
    }
}

async fn database(settings: &Settings, findings: &mut Vec<Finding>) -> Option<Arc<dyn Store>> {
    if let Some(path) = settings.sqlite_path().filter(|path| is_missing(path)) {
        let sentence = format!("{} is not there yet; the first start makes it", path.display());
        findings.push(Finding::warn("database", sentence));
        return None;
    }
    let opened = async {
        let store = open_store_as(settings, Tables::AsTheyAre).await?;
        store.ping().await?;
        Ok::<_, Failure>((store.describe().await?, store.tables().await?, store))
    };
    match opened.await {
        Ok((database, standing, store)) => {
            let sentence = format!("{database}, {standing}");
            let is_current = standing.is_current();
            findings.push(if is_current {
                Finding::ok("database", sentence)
            } else {
                Finding::fail("database", sentence)
            });
            // Tables of another version cannot be read.
            is_current.then_some(store)
        }
        Err(failure) => {
            findings.push(Finding::fail("database", failure.to_string()));
            None
        }
    }
}

/// Checks an existing database: its structure, its key, its newest time.
async fn contents(store: &Arc<dyn Store>, key: Option<&SecretsKey>, findings: &mut Vec<Finding>) {
    match store.check().await {
        Ok(sentences) if sentences.is_empty() => findings.push(Finding::ok("structure", "no damage found")),
        Ok(sentences) => {
            findings.extend(sentences.into_iter().map(|sentence| Finding::fail("structure", sentence)));
        }
        Err(error) => findings.push(Finding::fail("structure", error.to_string())),
    }
    match store.organizations().await {
        Ok(organizations) if organizations.is_empty() => {
            findings.push(Finding::warn("organizations", "none yet; the first start makes one"));
            return;
        }
        Ok(organizations) => {
            let newest = organizations.iter().map(|organization| organization.created_at).max();
            findings.push(Finding::ok("organizations", organizations.len().to_string()));
            if let Some(newest) = newest.filter(|newest| *newest > System.now()) {
                findings.push(Finding::fail("clock", format!("it is behind the database, which has seen {newest}")));
            }
        }
        Err(error) => findings.push(Finding::fail("organizations", error.to_string())),
    }
    match muting::look(&**store).await {
        Ok(Some(Muted { since, why })) => {
            findings.push(Finding::warn("muted", format!("since {since}: {why}; `daybook unmute` ends it")));
        }
        Ok(None) => {}
        Err(problem) => findings.push(Finding::fail("muted", problem.to_string())),
    }
    // Only if the database has been served before: starting a service would bind a new database to this key.
    let Some(key) = key else {
        findings.push(Finding::fail("secrets", "the database was made with a secrets key, and there is none"));
        return;
    };
    match start_service(store.clone(), key).await {
        Ok(service) => {
            findings.push(Finding::ok("secrets", "the key is the one the database was made with"));
            findings.extend(time_zones(&service).await);
        }
        Err(failure) => findings.push(Finding::fail("secrets", failure.to_string())),
    }
}

/// Whether the database uses the time-zone data of this build.
async fn time_zones(service: &Service) -> Vec<Finding> {
    match service.zone_differences().await {
        Ok(differing) if differing.is_empty() => vec![Finding::ok("time zones", format!("data {}", data_version()))],
        Ok(differing) => {
            let sentence = |zone: &ZoneDifference| {
                format!("{zone}; `daybook migrate`, or a start of the server, places what is ahead of accounts again")
            };
            differing.iter().map(|zone| Finding::warn("time zones", sentence(zone))).collect()
        }
        Err(problem) => vec![Finding::fail("time zones", problem.to_string())],
    }
}

fn clock(now: Time) -> Finding {
    if now < WRITTEN || now > FAR_AWAY {
        Finding::fail("clock", format!("it says {now}"))
    } else {
        Finding::ok("clock", now.to_string())
    }
}

fn disk(database: &Path) -> Finding {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match rustix::fs::statvfs(folder) {
        Ok(disk) => space(disk.f_bavail.saturating_mul(disk.f_frsize)),
        Err(error) => Finding::fail("disk", format!("{}: {error}", folder.display())),
    }
}

fn space(free_bytes: u64) -> Finding {
    let verdict = match free_bytes {
        ..NO_SPACE_BYTES => Verdict::Fail,
        NO_SPACE_BYTES..LITTLE_SPACE_BYTES => Verdict::Warn,
        _ => Verdict::Ok,
    };
    Finding::new("disk", verdict, format!("{} MiB free", free_bytes / MIB))
}

fn as_table(findings: &[Finding]) -> String {
    let mut rows = vec![["check", "verdict", "found"].map(str::to_owned)];
    rows.extend(findings.iter().map(|Finding { check, verdict, sentence }| {
        [(*check).to_owned(), verdict.name().to_owned(), sentence.clone()]
    }));
    table(&rows)
}

fn as_json(findings: &[Finding]) -> String {
    let object = |Finding { check, verdict, sentence }: &Finding| json!({ "check": check, "verdict": verdict.name(), "found": sentence });
    let array: Value = findings.iter().map(object).collect();
    format!("{array:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_space_is_a_warning_and_none_a_failure() {
        let cases = [
            (NO_SPACE_BYTES - 1, Verdict::Fail),
            (NO_SPACE_BYTES, Verdict::Warn),
            (LITTLE_SPACE_BYTES - 1, Verdict::Warn),
            (LITTLE_SPACE_BYTES, Verdict::Ok),
        ];
        for (free_bytes, verdict) in cases {
            assert_eq!(space(free_bytes).verdict, verdict, "{free_bytes}");
        }
    }

    #[test]
    fn a_clock_that_was_never_set_is_found() {
        assert_eq!(clock(Time::from_seconds(0)).verdict, Verdict::Fail);
        assert_eq!(clock(WRITTEN).verdict, Verdict::Ok);
        assert_eq!(WRITTEN.to_string(), "2025-01-01T00:00:00Z");
        assert_eq!(FAR_AWAY.to_string(), "2100-01-01T00:00:00Z");
    }
}
