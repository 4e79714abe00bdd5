//! `daybook doctor`: checks for conditions that would keep the server from working well.
//!
//! Each check yields a [`Finding`]: ok, warning or failure. As far as possible, later checks run after one that failed,
//! so that the report is complete. The command creates nothing: a missing database or key is reported.
//!
//! Conditions that keep a server from starting (ports, certificates, a lost database, a clock that jumped) are checked
//! by the functions that `serve` calls.

use super::listeners::{certificate, listen};
use super::opening::{KeyWithoutDatabase, is_missing, open_key, open_store_as, start_service, watch_clock};
use super::table::table;
use super::{Failure, print, quiet_logging, settings, variables, wait_for};
use crate::cli::{DoctorArgs, ServeFlags};
use crate::config::Settings;
use crate::config::values::{host_of, without_password};
use crate::door::certificate::{Certificate, Standing};
use crate::instance;
use crate::secrets_file::SecretsKey;
use daybook_clock::{Clock, System, Trouble};
use daybook_engine::time::Time;
use daybook_engine::zone::data_version;
use daybook_service::Service;
use daybook_service::muting::{self, Muted};
use daybook_service::zones::ZoneDifference;
use daybook_store::{Store, Tables};
use serde_json::{Value, json};
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
            wait_for(examine(&loaded.settings, &args.flags))?
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

async fn examine(settings: &Settings, flags: &ServeFlags) -> Result<Vec<Finding>, Failure> {
    let mut findings = vec![Finding::ok("settings", format!("database {}", without_password(&settings.database)))];
    findings.extend(variables::unknown().into_iter().map(|sentence| Finding::warn("settings", sentence)));
    findings.extend(tls(settings, System.now()));
    let holder = settings.sqlite_path().and_then(instance::glimpse);
    match &holder {
        Some(instance::RunningServer { pid, url: Some(url), .. }) => {
            findings.push(Finding::ok("server", format!("running on {url} (process {pid})")));
        }
        Some(holder) => findings.push(Finding::ok("server", format!("process {} is using the database", holder.pid))),
        None => findings.extend(listening(settings)),
    }
    let lone_key = KeyWithoutDatabase::look(settings, flags.new_book);
    let key = key(settings, &mut findings);
    if let Some(store) = database(settings, &lone_key, &mut findings).await {
        contents(&store, key.as_ref(), &mut findings).await;
        findings.extend(jump(settings, &*store, flags.confirm_clock).await);
    }
    findings.push(clock(System.now()));
    if let Some(path) = settings.sqlite_path() {
        findings.push(disk(path));
    }
    Ok(findings)
}

/// Whether the certificate can be used, is valid, and is for the host of the public URL, if there is to be one.
fn tls(settings: &Settings, now: Time) -> Vec<Finding> {
    let certificate = match certificate(settings) {
        Ok(None) => return Vec::new(),
        Ok(Some(tls)) => tls.certificate(),
        Err(failure) => return vec![Finding::fail("tls", failure.to_string())],
    };
    match certificate {
        Ok(certificate) => {
            let dates = dates(certificate.standing(now));
            std::iter::once(dates).chain(host_without_certificate(settings, &certificate)).collect()
        }
        Err(sentence) => vec![Finding::warn("tls", sentence)],
    }
}

fn dates(standing: Standing) -> Finding {
    match standing {
        Standing::Valid(_) => Finding::ok("tls", format!("the certificate and its key match; {standing}")),
        Standing::RenewalDue(_) => Finding::warn("tls", standing.to_string()),
        Standing::Expired(_) | Standing::NotYetValid(_) => Finding::fail("tls", standing.to_string()),
    }
}

/// A warning if the certificate is not for the host of the public URL. Behind a proxy, callers see the proxy's
/// certificate.
fn host_without_certificate(settings: &Settings, certificate: &Certificate) -> Option<Finding> {
    let url = settings.public_url.as_deref().filter(|_| settings.trust_proxies.is_empty())?;
    let host = host_of(url);
    if certificate.is_for(host) {
        return None;
    }
    let names = match certificate.names() {
        [] => "it has no names".to_owned(),
        names => format!("its names are {}", names.join(", ")),
    };
    Some(Finding::warn("tls", format!("public-url = \"{url}\": the certificate is not for {host}; {names}")))
}

/// Whether the server could listen everywhere at once.
fn listening(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut taken = Vec::new();
    for (check, address) in [("listen", Some(settings.listen)), ("admin-listen", settings.admin_listen)] {
        let Some(address) = address else { continue };
        match listen(address) {
            Ok(listener) => {
                taken.push(listener);
                findings.push(Finding::ok(check, format!("{address} is free")));
            }
            Err(failure) => findings.push(Finding::fail(check, failure.to_string())),
        }
    }
    findings
}

fn key(settings: &Settings, findings: &mut Vec<Finding>) -> Option<SecretsKey> {
    let path = &settings.secrets_key_file;
    if settings.secrets_key.is_none() && is_missing(path) {
        let sentence = format!("{} does not exist yet; the first start creates it", path.display());
        findings.push(Finding::warn("secrets key", sentence));
        return None;
    }
    match open_key(settings) {
        Ok(key) => {
            let place = if settings.secrets_key.is_some() {
                "given as a setting".to_owned()
            } else {
                path.display().to_string()
            };
            findings.push(Finding::ok("secrets key", place));
            Some(key)
        }
        Err(error) => {
            findings.push(Finding::fail("secrets key", error.to_string()));
            None
        }
    }
}

async fn database(
    settings: &Settings,
    lone_key: &KeyWithoutDatabase<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Arc<dyn Store>> {
    if let Some(Err(failure)) = settings.sqlite_path().map(|path| lone_key.check_file(path)) {
        findings.push(Finding::fail("database", failure.to_string()));
        return None;
    }
    if let Some(path) = settings.sqlite_path().filter(|path| is_missing(path)) {
        let sentence = format!("{} does not exist yet; the first start creates it", path.display());
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
            // Tables of another version cannot be read.
            if !standing.is_current() {
                findings.push(Finding::fail("database", sentence));
                return None;
            }
            findings.push(match lone_key.check_store(settings, &*store).await {
                Ok(()) => Finding::ok("database", sentence),
                Err(failure) => Finding::fail("database", failure.to_string()),
            });
            Some(store)
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
    match store.lost_guards().await {
        Ok(lost) => findings.extend(lost.iter().map(|lost| Finding::fail("audit trail", lost.to_string()))),
        Err(error) => findings.push(Finding::fail("audit trail", error.to_string())),
    }
    match store.organizations().await {
        Ok(organizations) if organizations.is_empty() => {
            findings.push(Finding::warn("organizations", "none yet; the first start creates one"));
            return;
        }
        Ok(organizations) => {
            let newest = organizations.iter().map(|organization| organization.created_at).max();
            findings.push(Finding::ok("organizations", organizations.len().to_string()));
            if let Some(newest) = newest.filter(|newest| *newest > System.now()) {
                findings.push(Finding::fail(
                    "clock",
                    format!("the clock is behind the latest time in the database, {newest}"),
                ));
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
        findings.push(Finding::fail("secrets", "the secrets key with which the database was created is missing"));
        return;
    };
    match start_service(store.clone(), key).await {
        Ok(service) => {
            findings.push(Finding::ok("secrets", "the key matches the database"));
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
                format!("{zone}; `daybook migrate`, or the next start of the server, reschedules the accounts")
            };
            differing.iter().map(|zone| Finding::warn("time zones", sentence(zone))).collect()
        }
        Err(problem) => vec![Finding::fail("time zones", problem.to_string())],
    }
}

/// Whether the clock is one that a server would go by, after what the database knows. Nothing is noted, even if a server
/// would note that it is confirmed.
async fn jump(settings: &Settings, store: &dyn Store, is_confirmed: bool) -> Option<Finding> {
    let verdict = if is_confirmed { Verdict::Warn } else { Verdict::Fail };
    match watch_clock(settings, store, false).await {
        Ok(watched) => watched.standing().map(|trouble| match trouble {
            // There is nothing to confirm: it is not the time that the database has.
            Trouble::Skew(_) => Finding::fail("clock", trouble.to_string()),
            _ => Finding::new("clock", verdict, trouble.to_string()),
        }),
        Err(failure) => Some(Finding::new("clock", verdict, failure.to_string())),
    }
}

fn clock(now: Time) -> Finding {
    if now < WRITTEN || now > FAR_AWAY {
        Finding::fail("clock", format!("the clock shows {now}"))
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
