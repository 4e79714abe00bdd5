//! From settings to a service: opens the database and the secrets key.
//!
//! `serve` creates what is missing: the file, the tables, the key. Every other command requires them to exist. Only
//! `serve` and `migrate` change tables: all others refuse a database whose tables have another version and leave it
//! unchanged. A new key is never created for a database that was encrypted with another one, as its secrets could not
//! be decrypted.

use super::Failure;
use crate::config::Settings;
use crate::secrets_file::{self, KeyError, Origin, SecretsKey};
use daybook_clock::{Clock, ClockLimits, Stopwatch, System, Watched};
use daybook_service::{FINGERPRINT, Service, clockwatch};
use daybook_store::error::StoreError;
use daybook_store::{Store, Tables, address};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a start waits for the database server.
pub const PATIENCE: Duration = Duration::from_secs(15);
/// The pause between two attempts.
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// Opens or creates the database and upgrades its tables. Waits for a database server that is not reachable yet.
pub async fn make_store(database: &str, patience: Duration) -> Result<Arc<dyn Store>, Failure> {
    let is_server = !database.starts_with("sqlite:");
    let watch = Stopwatch::start();
    loop {
        match daybook_store::open(database).await {
            Err(StoreError::Unavailable(why)) if is_server && watch.elapsed() < patience => {
                tracing::warn!(
                    database = address::shown(database),
                    why,
                    "the database cannot be reached yet; trying again in a second"
                );
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            opened => return opened.map_err(|error| cannot_open(database, &error)),
        }
    }
}

fn cannot_open(database: &str, error: &StoreError) -> Failure {
    Failure::Failed(format!("the database {} cannot be opened: {error}", address::shown(database)))
}

/// Opens an existing database whose tables are current. They are not changed.
pub async fn open_store(settings: &Settings) -> Result<Arc<dyn Store>, Failure> {
    open_store_as(settings, Tables::MustBeCurrent).await
}

/// Opens an existing database. Its tables are not changed.
pub async fn open_store_as(settings: &Settings, tables: Tables) -> Result<Arc<dyn Store>, Failure> {
    must_be_there(settings)?;
    let opened = daybook_store::open_as(&settings.database, tables).await;
    opened.map_err(|error| cannot_open(&settings.database, &error))
}

/// Requires that the file of a SQLite database exists.
pub fn must_be_there(settings: &Settings) -> Result<(), Failure> {
    if let Some(path) = settings.sqlite_path().filter(|path| !path.exists()) {
        return Err(Failure::Failed(format!(
            "there is no database at {}: start the server once, or name another database with --database",
            path.display()
        )));
    }
    Ok(())
}

/// Creates the file of a SQLite database if it is missing, readable only by its owner, as it will contain borrowers'
/// data.
pub fn make_file(path: &Path) -> Result<(), Failure> {
    let made = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    made.map(drop)
        .map_err(|error| Failure::Failed(format!("the database {} cannot be created: {error}", path.display())))
}

/// A secrets key whose database may be lost. A key is created together with its database, so a key without a database
/// means that a file was moved, removed or not restored. Creating a new database would hide that.
#[derive(Debug)]
pub struct KeyWithoutDatabase<'a> {
    /// The key file that existed before anything was opened; `None` if a new database is wanted, or the key is a
    /// setting.
    path: Option<&'a Path>,
}

impl<'a> KeyWithoutDatabase<'a> {
    /// Checks whether the key file exists.
    pub fn look(settings: &'a Settings, is_new_book: bool) -> KeyWithoutDatabase<'a> {
        let path = settings.secrets_key_file.as_path();
        let is_there = settings.secrets_key.is_none() && !is_missing(path) && !is_new_book;
        KeyWithoutDatabase { path: is_there.then_some(path) }
    }

    /// Refuses a database file that is missing or empty.
    pub fn check_file(&self, database: &Path) -> Result<(), Failure> {
        let is_empty = match std::fs::metadata(database) {
            Ok(found) => found.len() == 0,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let what = if is_missing(database) { "is missing" } else { "is empty" };
        if is_empty { self.refuse(&format!("the database {} {what}", database.display())) } else { Ok(()) }
    }

    /// Refuses a database that no server has been started on.
    pub async fn check_store(&self, settings: &Settings, store: &dyn Store) -> Result<(), Failure> {
        if has_key(store).await? { Ok(()) } else { self.check_empty(settings) }
    }

    /// Refuses a database that is known to be empty.
    pub fn check_empty(&self, settings: &Settings) -> Result<(), Failure> {
        self.refuse(&format!("the database {} holds no Daybook data", address::shown(&settings.database)))
    }

    fn refuse(&self, what: &str) -> Result<(), Failure> {
        let Some(key) = self.path else { return Ok(()) };
        Err(Failure::Failed(format!(
            "{what}, but its secrets key {} exists. If the database was moved, put it back, together with its -wal and -shm \
             files if there are any. If it is lost, restore a backup. If you meant another database, name it with \
             --database. To start a new, empty database with this key, run: daybook serve --new-book",
            key.display()
        )))
    }
}

/// Whether a database was created with a secrets key: whether a server has been started on it.
pub async fn has_key(store: &dyn Store) -> Result<bool, Failure> {
    Ok(store.setting(FINGERPRINT).await?.is_some() || !store.organizations().await?.is_empty())
}

/// Says that the key file of a database is missing.
pub fn key_is_missing(path: &Path) -> String {
    format!(
        "the secrets key file {} is missing, but the database was created with one: restore the file from your backup, \
         or copy it from another node",
        path.display()
    )
}

/// Refuses a missing key file if the database was created with a key.
async fn check_key(settings: &Settings, store: &dyn Store) -> Result<(), Failure> {
    let path = settings.secrets_key_file.as_path();
    if settings.secrets_key.is_none() && is_missing(path) && has_key(store).await? {
        return Err(Failure::Failed(key_is_missing(path)));
    }
    Ok(())
}

/// Starts the service of a server. A missing key is created, unless the database was created with one.
pub async fn start_with_key(
    settings: &Settings,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
) -> Result<Service, Failure> {
    check_key(settings, &*store).await?;
    let found = find_key(settings, || Ok(secrets_file::mint_secret()))?;
    start_with_found_key(settings, store, clock, found).await
}

/// Starts a service. If another node has bound the database to its own key meanwhile, a key file that was created for
/// this start is removed: it belongs to no database, and would hide that the right one is missing.
async fn start_with_found_key(
    settings: &Settings,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    (key, origin): (SecretsKey, Origin),
) -> Result<Service, Failure> {
    let started = start_service_by(store.clone(), clock, &key).await;
    if started.is_err() && origin == Origin::Made && daybook_service::has_other_key(&*store, &key.0).await? {
        let path = settings.secrets_key_file.as_path();
        std::fs::remove_file(path).map_err(|error| KeyError::Io(path.to_owned(), error))?;
        return Err(Failure::Failed(key_is_missing(path)));
    }
    started
}

/// The secrets key, which must exist.
pub fn open_key(settings: &Settings) -> Result<SecretsKey, KeyError> {
    let missing = || Err(io::Error::new(io::ErrorKind::NotFound, "it is missing; the first start creates it"));
    find_key(settings, missing).map(|(key, _)| key)
}

/// The secrets key of a database, which must exist.
pub async fn open_key_of(settings: &Settings, store: &dyn Store) -> Result<SecretsKey, Failure> {
    check_key(settings, store).await?;
    Ok(open_key(settings)?)
}

fn find_key(
    settings: &Settings,
    mint: impl FnOnce() -> io::Result<[u8; secrets_file::KEY_BYTES]>,
) -> Result<(SecretsKey, Origin), KeyError> {
    let given = settings.secrets_key.as_ref().map(|secret| secret.expose());
    secrets_file::find_or_make(given, &settings.secrets_key_file, mint)
}

/// Whether the file is missing. If that cannot be determined, it counts as existing.
pub fn is_missing(path: &Path) -> bool {
    !path.try_exists().unwrap_or(true)
}

/// A service on an existing database. Its timers do not run.
pub async fn open_service(settings: &Settings) -> Result<Service, Failure> {
    let store = open_store(settings).await?;
    let key = open_key_of(settings, &*store).await?;
    start_service(store, &key).await
}

/// A service on a store. Its timers do not run.
pub async fn start_service(store: Arc<dyn Store>, key: &SecretsKey) -> Result<Service, Failure> {
    start_service_by(store, Arc::new(System), key).await
}

/// A service on a store, with a given clock. Its timers do not run.
pub async fn start_service_by(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    key: &SecretsKey,
) -> Result<Service, Failure> {
    Ok(Service::start(store, clock, &key.0).await?)
}

/// The machine's clock, compared with the times in the database before it is used. Writes nothing, unless it is
/// confirmed.
pub async fn watch_clock(settings: &Settings, store: &dyn Store, is_confirmed: bool) -> Result<Arc<Watched>, Failure> {
    let limits = ClockLimits { most_skew: settings.max_clock_skew, most_jump: settings.max_clock_jump };
    let watched = Arc::new(Watched::new(Arc::new(System), limits));
    clockwatch::begin(store, &watched, is_confirmed).await?;
    Ok(watched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SettingSources, load};

    #[tokio::test]
    async fn a_key_that_was_made_while_another_node_was_faster_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("daybook.key");
        let flags = vec![("secrets-key-file", vec![file.display().to_string()])];
        let settings =
            load(&SettingSources { config: None, flags, variable: &|_| None }).expect("good settings").settings;
        let store = daybook_store::open("sqlite::memory:").await.expect("a database");
        let found = find_key(&settings, || Ok([7; secrets_file::KEY_BYTES])).expect("a new key");
        assert!(file.exists() && found.1 == Origin::Made);
        start_service(store.clone(), &SecretsKey([8; secrets_file::KEY_BYTES])).await.expect("the other node starts");
        let start = start_with_found_key(&settings, store.clone(), Arc::new(System), found);
        let failure = start.await.expect_err("another key").to_string();
        assert!(failure.contains("copy it from another node") && !file.exists(), "{failure}");
        // The next start makes none.
        let failure = start_with_key(&settings, store.clone(), Arc::new(System)).await.expect_err("no key").to_string();
        assert!(failure.contains("copy it from another node") && !file.exists(), "{failure}");
        // A key that was there before stays.
        std::fs::write(&file, "09".repeat(secrets_file::KEY_BYTES)).expect("a file");
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("its mode");
        let failure = start_with_key(&settings, store, Arc::new(System)).await.expect_err("another key").to_string();
        assert!(failure.contains("does not belong to this database") && file.exists(), "{failure}");
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_told_without_its_password() {
        // No server listens on port 1.
        let address = "postgres://daybook:hush@127.0.0.1:1/daybook";
        let failure = make_store(address, Duration::ZERO).await.expect_err("nobody listens");
        let sentence = failure.to_string();
        assert!(sentence.starts_with("the database postgres://(set)@127.0.0.1:1/daybook cannot be opened: "));
        assert!(sentence.contains("refused") && !sentence.contains("hush"), "{sentence}");
        assert_eq!(failure.exit_code(), 1);
    }
}
