//! Settings: their definitions, sources and values.
//!
//! `definitions` lists every setting. `sources` collects the flags, the environment and the file, and picks the value
//! that takes precedence, still as text. `values` parses each text by its rule. [`load`] combines them. It returns
//! typed [`Settings`] and the table that `daybook config show` prints, or every [`ConfigProblem`] at once, each with
//! the setting, the value, its source and the rule.

pub mod definitions;
pub mod sources;
pub mod values;

use daybook_store::address;
use definitions::{DEFINITIONS, Definition, Show};
use sources::{Layer, Source, SourcedValue};
use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use values::{Environment, LogFormat, Network, Read, Secret};

/// All settings.
#[derive(Clone)]
pub struct Settings {
    /// The listen address; port 0 picks a free port.
    pub listen: SocketAddr,
    /// The separate listen address for metrics and control.
    pub admin_listen: Option<SocketAddr>,
    /// The server's certificate chain, in PEM form.
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key, in PEM form.
    pub tls_key: Option<PathBuf>,
    /// The public URL of the server, for links; without a trailing slash.
    pub public_url: Option<String>,
    /// Networks of proxies whose forwarding headers are trusted.
    pub trust_proxies: Vec<Network>,
    /// `sqlite:PATH` or `postgres://…`; may contain a password.
    pub database: String,
    /// Whether loopback webhook URLs are allowed and logs are friendlier.
    pub dev: bool,
    /// Whether an empty database is filled with demo data.
    pub demo: bool,
    /// The environment of the first organization.
    pub environment: Environment,
    /// How long webhook messages are collected before they are sent; 0 sends them at once.
    pub webhook_batch_interval: Duration,
    /// The delay before the first retry; all later delays are proportional to it.
    pub webhook_retry_first: Duration,
    /// The time limit for a receiver's response.
    pub webhook_timeout: Duration,
    /// The number of consecutive failed messages after which a URL is paused.
    pub webhook_pause_after: u32,
    /// How long undelivered messages are kept.
    pub dead_letter_retention: Duration,
    /// How long messages are kept.
    pub message_retention: Duration,
    /// How long the record of delivery attempts is kept.
    pub attempt_retention: Duration,
    /// Requests per second and key; `None` for no limit.
    pub rate_limit: Option<u32>,
    /// The most connections; fewer if the system's limit of open files requires it.
    pub max_connections: u32,
    /// The most connections from one address.
    pub max_connections_per_address: u32,
    /// The time limit for the head of a request.
    pub header_timeout: Duration,
    /// The time limit between two requests of a connection.
    pub idle_timeout: Duration,
    /// The time limit for the body of a request.
    pub body_timeout: Duration,
    /// The clock error beyond which nothing is processed.
    pub max_clock_skew: Duration,
    /// How far the clock may be ahead of the latest known time before a start must be confirmed.
    pub max_clock_jump: Duration,
    /// Accounts verified per second while serving; `None` for none.
    pub verify_rate: Option<NonZeroU32>,
    /// Private networks that webhook URLs may point into.
    pub allow_networks: Vec<Network>,
    /// The name servers for webhook URLs; if empty, those of the machine.
    pub name_servers: Vec<SocketAddr>,
    /// A folder of compiled time zones that replaces the built-in ones.
    pub time_zones: Option<PathBuf>,
    /// The file of the secrets key, unless the key is a setting.
    pub secrets_key_file: PathBuf,
    /// The secrets key itself, as text.
    pub secrets_key: Option<Secret>,
    /// Id of the first key.
    pub bootstrap_client_id: Option<String>,
    /// Secret of the first key.
    pub bootstrap_client_secret: Option<Secret>,
    /// E-mail address of the first console user.
    pub bootstrap_email: Option<String>,
    /// Password of the first console user.
    pub bootstrap_password: Option<Secret>,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// Which log lines are written.
    pub log_level: String,
}

impl Settings {
    /// The SQLite file, if the database is one.
    pub fn sqlite_path(&self) -> Option<&Path> {
        sqlite_path(&self.database)
    }
}

fn sqlite_path(database: &str) -> Option<&Path> {
    database.strip_prefix("sqlite:").filter(|path| *path != ":memory:").map(Path::new)
}

/// A setting as shown, with secrets masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRow {
    /// The setting's name.
    pub setting: &'static str,
    /// Its value; `None` if it is not set.
    pub value: Option<String>,
    /// Its source.
    pub source: Source,
}

/// The settings and their sources.
#[derive(Clone)]
pub struct LoadedSettings {
    /// The typed values.
    pub settings: Settings,
    /// All settings in order, for showing.
    pub rows: Vec<SettingRow>,
}

/// Something wrong with the configuration, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem(pub String);

/// Everything wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<ConfigProblem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentences: Vec<&str> = self.0.iter().map(|problem| problem.0.as_str()).collect();
        f.write_str(&sentences.join("\n"))
    }
}

impl std::error::Error for Problems {}

/// The inputs of the program: flags, and access to environment variables.
pub struct SettingSources<'a> {
    /// The file named by `--config`.
    pub config: Option<&'a Path>,
    /// The values of flags, by setting.
    pub flags: Vec<(&'static str, Vec<String>)>,
    /// Reads an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Combines flags, environment, file and defaults.
pub fn load(given: &SettingSources<'_>) -> Result<LoadedSettings, Problems> {
    let flags: Layer = given.flags.iter().map(|(name, texts)| (*name, from_flag(texts))).collect();
    let environment = sources::from_environment(given.variable);
    let named = (given.variable)("DAYBOOK_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
    let file = match given.config.or(named.as_deref()) {
        Some(path) => sources::from_file(path, &read_file(path)?)?,
        None => Layer::new(),
    };
    interpret(&[&flags, &environment, &file])
}

/// Whether the log should be JSON, as far as this can be determined if other settings are invalid.
pub fn wants_json(given: &SettingSources<'_>) -> bool {
    let name = "log-format";
    let flag = given.flags.iter().find(|(flag, _)| *flag == name).and_then(|(_, texts)| texts.last().cloned());
    let layers = || {
        let environment = sources::from_environment(given.variable);
        let path = given.config.map(Path::to_owned).or_else(|| (given.variable)("DAYBOOK_CONFIG").map(PathBuf::from));
        let file = path.and_then(|path| sources::from_file(&path, &read_file(&path).ok()?).ok()).unwrap_or_default();
        let written = environment.get(name).or_else(|| file.get(name));
        written.and_then(|written| written.texts.last().cloned())
    };
    flag.or_else(layers).is_some_and(|text| values::log_format(&text) == Ok(LogFormat::Json))
}

fn from_flag(texts: &[String]) -> SourcedValue {
    SourcedValue { texts: texts.to_vec(), source: Source::Flag }
}

fn read_file(path: &Path) -> Result<String, Problems> {
    fs::read_to_string(path).map_err(|error| {
        Problems(vec![ConfigProblem(format!("the configuration file {} cannot be read: {error}", path.display()))])
    })
}

fn interpret(layers: &[&Layer]) -> Result<LoadedSettings, Problems> {
    let mut reader = SettingsReader { layers, rows: Vec::new(), problems: Vec::new() };
    let settings = reader.settings();
    let SettingsReader { mut rows, mut problems, .. } = reader;
    // One row per setting, in the order of the definitions instead of the order of reading.
    rows.sort_by_key(|row| DEFINITIONS.iter().position(|definition| definition.name == row.setting));
    if let Some(settings) = &settings {
        problems.extend(across(settings));
    }
    match settings {
        Some(settings) if problems.is_empty() => Ok(LoadedSettings { settings, rows }),
        _ => Err(Problems(problems)),
    }
}

/// Rules that concern two settings.
fn across(settings: &Settings) -> Vec<ConfigProblem> {
    let pairs = [
        (
            "bootstrap-email",
            settings.bootstrap_email.is_some(),
            "bootstrap-password",
            settings.bootstrap_password.is_some(),
        ),
        ("tls-cert", settings.tls_cert.is_some(), "tls-key", settings.tls_key.is_some()),
    ];
    let one_sided = pairs.into_iter().filter(|(_, one, _, other)| one != other);
    let sentences = one_sided.map(|(one, _, other, _)| format!("{one} and {other} must be set together or not at all"));
    sentences.map(ConfigProblem).collect()
}

/// Reads one setting after the other, and collects rows and problems.
struct SettingsReader<'a> {
    layers: &'a [&'a Layer],
    rows: Vec<SettingRow>,
    problems: Vec<ConfigProblem>,
}

/// Makes the settings of its fields. Every value is read, in this order, before an invalid one counts.
macro_rules! read_all {
    ($($field:ident: $value:expr),* $(,)?) => {{
        $(let $field = $value;)*
        Some(Settings { $($field: $field?),* })
    }};
}

impl SettingsReader<'_> {
    /// Returns `None` if a setting is invalid. It reads all others anyway, so that all problems are reported at once.
    fn settings(&mut self) -> Option<Settings> {
        read_all! {
            listen: self.required("listen", values::address),
            admin_listen: self.optional("admin-listen", values::address),
            tls_cert: self.optional("tls-cert", values::path),
            tls_key: self.optional("tls-key", values::path),
            public_url: self.optional("public-url", values::public_url),
            trust_proxies: self.all("trust-proxy", values::network),
            database: self.required("database", values::database),
            dev: self.required("dev", values::switch),
            demo: self.required("demo", values::switch),
            environment: self.required("environment", values::environment),
            webhook_batch_interval: self.required("webhook-batch-interval", values::length),
            webhook_retry_first: self.required("webhook-retry-first", values::positive_length),
            webhook_timeout: self.required("webhook-timeout", values::positive_length),
            webhook_pause_after: self.required("webhook-pause-after", values::count),
            dead_letter_retention: self.required("dead-letter-retention", values::positive_length),
            message_retention: self.required("message-retention", values::positive_length),
            attempt_retention: self.required("attempt-retention", values::positive_length),
            rate_limit: self.required("rate-limit", values::rate),
            max_connections: self.required("max-connections", values::count),
            max_connections_per_address: self.required("max-connections-per-address", values::count),
            header_timeout: self.required("header-timeout", values::positive_length),
            idle_timeout: self.required("idle-timeout", values::positive_length),
            body_timeout: self.required("body-timeout", values::positive_length),
            max_clock_skew: self.required("max-clock-skew", values::positive_length),
            max_clock_jump: self.required("max-clock-jump", values::positive_length),
            verify_rate: self.required("verify-rate", values::verify_rate),
            allow_networks: self.all("allow-network", values::network),
            name_servers: self.all("name-server", values::name_server),
            time_zones: self.optional("time-zones", values::path),
            secrets_key_file: self.secrets_key_file(database.as_deref()),
            secrets_key: self.optional("secrets-key", |text| Ok(Secret::new(text))),
            bootstrap_client_id: self.optional("bootstrap-client-id", values::client_id),
            bootstrap_client_secret: self.optional("bootstrap-client-secret", values::client_secret),
            bootstrap_email: self.optional("bootstrap-email", values::email),
            bootstrap_password: self.optional("bootstrap-password", values::password),
            log_format: self.required("log-format", values::log_format),
            log_level: self.required("log-level", values::log_level),
        }
    }

    fn required<T>(&mut self, name: &str, read: impl Fn(&str) -> Read<T>) -> Option<T> {
        self.all(name, read)?.pop()
    }

    fn optional<T>(&mut self, name: &str, read: impl Fn(&str) -> Read<T>) -> Option<Option<T>> {
        self.all(name, read).map(|mut values| values.pop())
    }

    /// Every value of a setting. `None` if one is invalid.
    fn all<T>(&mut self, name: &str, read: impl Fn(&str) -> Read<T>) -> Option<Vec<T>> {
        let definition = definitions::find(name)?;
        let written = sources::winner(definition, self.layers);
        self.rows.push(SettingRow {
            setting: definition.name,
            value: shown(definition, &written.texts),
            source: written.source.clone(),
        });
        let mut values = Vec::new();
        for text in &written.texts {
            match read(text) {
                Ok(value) => values.push(value),
                Err(rule) => self.problems.push(broken(definition, text, &written.source, rule)),
            }
        }
        (values.len() == written.texts.len()).then_some(values)
    }

    /// By default, the key is next to the SQLite file, so that they are moved together.
    fn secrets_key_file(&mut self, database: Option<&str>) -> Option<PathBuf> {
        let set = self.optional("secrets-key-file", values::path)?;
        let beside = database.and_then(sqlite_path).and_then(Path::parent).unwrap_or(Path::new(""));
        let path = set.unwrap_or_else(|| beside.join("daybook.key"));
        if let Some(row) = self.rows.last_mut() {
            row.value = Some(path.display().to_string());
        }
        Some(path)
    }
}

fn shown(definition: &Definition, texts: &[String]) -> Option<String> {
    if texts.is_empty() {
        return None;
    }
    Some(match definition.show {
        Show::All => texts.join(", "),
        Show::WithoutCredentials => texts.iter().map(|text| address::shown(text)).collect::<Vec<_>>().join(", "),
        Show::WhetherSet => "(set)".to_owned(),
    })
}

fn broken(definition: &Definition, text: &str, source: &Source, rule: &str) -> ConfigProblem {
    let value = match definition.show {
        Show::All => format!("{text:?}"),
        Show::WithoutCredentials => format!("{:?}", address::shown(text)),
        Show::WhetherSet => "(set)".to_owned(),
    };
    let from = match source {
        Source::Flag => format!("flag --{}", definition.name),
        other => other.to_string(),
    };
    ConfigProblem(format!("{} = {value} ({from}): {rule}", definition.name))
}

#[cfg(test)]
mod tests;
