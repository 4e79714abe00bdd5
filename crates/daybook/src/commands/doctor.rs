//! `daybook doctor`: checks for conditions that would keep the server from working well.
//!
//! Each check yields a [`Finding`]: ok, warning or failure. As far as possible, later checks run after one that failed,
//! so that the report is complete. The command creates and changes nothing: a missing database or key is reported.
//!
//! Conditions that keep a server from starting (ports, certificates, a lost database, a clock that jumped) are checked
//! by the functions that `serve` calls.
//!
//! | file | contents |
//! |---|---|
//! | `finding` | the results, and how they are printed |
//! | `clock` | the clock |
//! | `security` | what the manual asks for before the first real loan |

mod clock;
mod finding;
mod security;

use super::control::check_ready;
use super::listeners::{certificate, listen};
use super::opening::{KeyWithoutDatabase, has_key, is_missing, key_is_missing, open_key, open_store_as, start_service};
use super::{Failure, print, quiet_logging, settings, variables, wait_for};
use crate::cli::{DoctorArgs, ServeFlags};
use crate::config::Settings;
use crate::config::values::host_of;
use crate::instance::{self, RunningServer};
use crate::listener::certificate::{Certificate, CertificateValidity};
use crate::secrets_file::SecretsKey;
use daybook_clock::{Clock, System};
use daybook_engine::time::Time;
use daybook_engine::zone::data_version;
use daybook_service::muting::{self, Muted};
use daybook_service::zones::ZoneDifference;
use daybook_service::{FINGERPRINT, Service};
use daybook_store::{Store, Tables, address};
use finding::{Finding, Verdict, as_json, as_table};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

const MIB: u64 = 1 << 20;
/// Below this free space a disk is nearly full.
const LITTLE_SPACE_BYTES: u64 = 1_024 * MIB;
/// Below this free space a disk is about to be full.
const NO_SPACE_BYTES: u64 = 64 * MIB;

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
    let mut findings = vec![Finding::ok("settings", format!("database {}", address::shown(&settings.database)))];
    findings.extend(variables::unknown().into_iter().map(|sentence| Finding::warn("settings", sentence)));
    findings.extend(tls(settings, System.now()));
    match settings.sqlite_path().and_then(instance::glimpse) {
        Some(holder) => findings.push(server(&holder)),
        None => findings.extend(listening(settings)),
    }
    let lone_key = KeyWithoutDatabase::look(settings, flags.new_book);
    let Database { finding, store, has_key } = database(settings, &lone_key).await;
    let (of_key, key) = key(settings, has_key);
    findings.extend([of_key, finding]);
    if let Some(store) = &store {
        contents(store, key.as_ref(), &mut findings).await;
    }
    findings.push(clock::examine(settings, store.as_deref(), flags.confirm_clock).await);
    findings.extend(security::examine(settings, store.as_deref()).await);
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
            let dates = dates(certificate.validity_at(now));
            std::iter::once(dates).chain(host_without_certificate(settings, &certificate)).collect()
        }
        Err(sentence) => vec![Finding::warn("tls", sentence)],
    }
}

/// Whether the process that holds the database is a server that is ready.
fn server(holder: &RunningServer) -> Finding {
    let pid = holder.pid;
    let Some(url) = holder.shown_url() else {
        return Finding::ok("server", format!("process {pid} is using the database"));
    };
    match check_ready(holder) {
        Ok(()) => Finding::ok("server", format!("running on {url} (process {pid})")),
        Err(why) => Finding::fail("server", format!("running on {url} (process {pid}), but not ready: {why}")),
    }
}

fn dates(standing: CertificateValidity) -> Finding {
    match standing {
        CertificateValidity::Valid(_) => Finding::ok("tls", format!("the certificate and its key match; {standing}")),
        CertificateValidity::RenewalDue(_) => Finding::warn("tls", standing.to_string()),
        CertificateValidity::Expired(_) | CertificateValidity::NotYetValid(_) => {
            Finding::fail("tls", standing.to_string())
        }
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

/// The secrets key, if there is one. `has_key` is whether the database was created with one, if that is known.
fn key(settings: &Settings, has_key: Option<bool>) -> (Finding, Option<SecretsKey>) {
    let path = &settings.secrets_key_file;
    if settings.secrets_key.is_none() && is_missing(path) {
        let finding = match has_key {
            Some(true) => Finding::fail("secrets key", key_is_missing(path)),
            Some(false) => Finding::warn(
                "secrets key",
                format!("{} does not exist yet; the first start creates it", path.display()),
            ),
            None => Finding::warn(
                "secrets key",
                format!("{} does not exist; it is created only for a new database", path.display()),
            ),
        };
        return (finding, None);
    }
    match open_key(settings) {
        Ok(key) => {
            let place = if settings.secrets_key.is_some() {
                "given as a setting".to_owned()
            } else {
                path.display().to_string()
            };
            (Finding::ok("secrets key", place), Some(key))
        }
        Err(error) => (Finding::fail("secrets key", error.to_string()), None),
    }
}

/// What was found out about the database.
struct Database {
    finding: Finding,
    /// The database, if its tables can be read.
    store: Option<Arc<dyn Store>>,
    /// Whether it was created with a secrets key: whether a server has been started on it. `None` if that is unknown.
    has_key: Option<bool>,
}

impl Database {
    fn closed(finding: Finding, has_key: Option<bool>) -> Database {
        Database { finding, store: None, has_key }
    }

    fn failed(failure: &dyn fmt::Display) -> Database {
        Database::closed(Finding::fail("database", failure.to_string()), None)
    }
}

async fn database(settings: &Settings, lone_key: &KeyWithoutDatabase<'_>) -> Database {
    if let Some(Err(failure)) = settings.sqlite_path().map(|path| lone_key.check_file(path)) {
        return Database::failed(&failure);
    }
    if let Some(path) = settings.sqlite_path().filter(|path| is_missing(path)) {
        let sentence = format!("{} does not exist yet; the first start creates it", path.display());
        return Database::closed(Finding::warn("database", sentence), Some(false));
    }
    let opened = async {
        let store = open_store_as(settings, Tables::OnlyRead).await?;
        store.ping().await?;
        Ok::<_, Failure>((store.describe().await?, store.tables().await?, store))
    };
    let (description, standing, store) = match opened.await {
        Ok(opened) => opened,
        Err(failure) => return Database::failed(&failure),
    };
    if standing.at == 0 {
        return match lone_key.check_empty(settings) {
            Ok(()) => {
                let sentence = format!("{description}, no tables yet; the first start creates the tables");
                Database::closed(Finding::warn("database", sentence), Some(false))
            }
            Err(failure) => Database::failed(&failure),
        };
    }
    let sentence = format!("{description}, {standing}");
    // Tables of another version cannot be read.
    if !standing.is_current() {
        return Database::closed(Finding::fail("database", sentence), Some(true));
    }
    let has_key = has_key(&*store).await.ok();
    let finding = match lone_key.check_store(settings, &*store).await {
        Ok(()) => Finding::ok("database", sentence),
        Err(failure) => Finding::fail("database", failure.to_string()),
    };
    Database { finding, store: Some(store), has_key }
}

/// Checks an existing database: its structure, its contents, its key.
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
            findings.push(Finding::ok("organizations", organizations.len().to_string()));
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
    let Some(key) = key else { return };
    match store.setting(FINGERPRINT).await {
        Ok(Some(_)) => {}
        // Starting a service would bind the database to this key.
        Ok(None) => {
            let sentence = "the database is not bound to a secrets key; the next start binds it to this one";
            findings.push(Finding::warn("secrets", sentence));
            return;
        }
        Err(error) => return findings.push(Finding::fail("secrets", error.to_string())),
    }
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
}
