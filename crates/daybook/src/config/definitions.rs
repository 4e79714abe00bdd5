//! Every setting, in one table.

/// The definition of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name of the flag, without the dashes: `webhook-timeout`.
    pub name: &'static str,
    /// The default. If `None`, the setting is unset by default, or follows from other settings.
    pub default: Option<&'static str>,
    /// Whether there is a flag. Secrets have none: other users of the machine can read a command line.
    pub has_flag: bool,
    /// How much of the value may be shown.
    pub show: Show,
}

/// How much of a value may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// All of it.
    All,
    /// An address without its credentials.
    WithoutCredentials,
    /// Only whether it is set.
    WhetherSet,
}

impl Definition {
    /// The environment variable of the setting: `DAYBOOK_WEBHOOK_TIMEOUT`.
    pub fn variable(&self) -> String {
        format!("DAYBOOK_{}", self.name.replace('-', "_").to_uppercase())
    }
}

const fn setting(name: &'static str, default: &'static str) -> Definition {
    Definition { name, default: Some(default), has_flag: true, show: Show::All }
}

const fn optional(name: &'static str) -> Definition {
    Definition { name, default: None, has_flag: true, show: Show::All }
}

const fn secret(name: &'static str) -> Definition {
    Definition { name, default: None, has_flag: false, show: Show::WhetherSet }
}

/// All settings, in the order in which they are shown.
pub const DEFINITIONS: &[Definition] = &[
    setting("listen", "127.0.0.1:8080"),
    optional("admin-listen"),
    optional("tls-cert"),
    optional("tls-key"),
    optional("public-url"),
    optional("trust-proxy"),
    Definition { show: Show::WithoutCredentials, ..setting("database", "sqlite:daybook.db") },
    setting("dev", "false"),
    setting("demo", "false"),
    setting("environment", "TEST"),
    setting("webhook-batch-interval", "1m"),
    setting("webhook-retry-first", "1m"),
    setting("webhook-timeout", "15s"),
    setting("webhook-pause-after", "10"),
    setting("dead-letter-retention", "5d"),
    setting("message-retention", "30d"),
    setting("attempt-retention", "7d"),
    setting("rate-limit", "off"),
    setting("max-connections", "4096"),
    setting("max-connections-per-address", "1024"),
    setting("header-timeout", "15s"),
    setting("idle-timeout", "75s"),
    setting("body-timeout", "1m"),
    setting("max-clock-skew", "5s"),
    setting("max-clock-jump", "7d"),
    setting("verify-rate", "1"),
    optional("allow-network"),
    optional("name-server"),
    optional("time-zones"),
    optional("secrets-key-file"),
    secret("secrets-key"),
    Definition { has_flag: false, ..optional("bootstrap-client-id") },
    secret("bootstrap-client-secret"),
    Definition { has_flag: false, ..optional("bootstrap-email") },
    secret("bootstrap-password"),
    setting("log-format", "text"),
    setting("log-level", "info"),
];

/// Finds a setting by its name.
pub fn find(name: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|definition| definition.name == name)
}
