//! Settings as flags. Flags are read as text; `config` parses them together with the other sources of settings.

use clap::Args;
use std::path::PathBuf;

/// Settings that every command knows.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Settings")]
pub struct CommonFlags {
    /// A TOML file with settings, named like the flags
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME [default: sqlite:daybook.db]
    #[arg(long, value_name = "DATABASE")]
    pub database: Option<String>,
    /// The file with the key that encrypts stored secrets [default: daybook.key in the folder of the SQLite file]
    #[arg(long, value_name = "FILE")]
    pub secrets_key_file: Option<String>,
    /// A folder of compiled time zones (TZif), such as /usr/share/zoneinfo [default: the built-in ones]
    #[arg(long, value_name = "FOLDER")]
    pub time_zones: Option<String>,
    /// The format of log lines: text or json [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// The lowest level of log lines that are written: error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
}

/// All settings that have a flag.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Settings")]
pub struct ServeFlags {
    /// Those that every command knows.
    #[command(flatten)]
    pub common: CommonFlags,
    /// The address to listen on; port 0 picks a free port [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// A separate address that serves /metrics and /admin/control, instead of --listen
    #[arg(long, value_name = "ADDRESS")]
    pub admin_listen: Option<String>,
    /// The server's certificate and the intermediate certificates, in PEM form; reloaded when the file changes
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<String>,
    /// The certificate's key, in PEM form
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<String>,
    /// The server's public URL, for links, such as <https://books.example.com>
    /// [default: the host that the browser sends]
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// A network of proxies, such as 10.0.0.0/24, whose headers about their clients are trusted; repeatable
    #[arg(long, value_name = "CIDR")]
    pub trust_proxy: Vec<String>,
    /// For development: allow webhook URLs on this machine, and print logs that are easier to read
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub dev: Option<String>,
    /// Fill an empty database with example loans
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub demo: Option<String>,
    /// The environment of the first organization: TEST or LIVE [default: TEST]
    #[arg(long, value_name = "ENVIRONMENT")]
    pub environment: Option<String>,
    /// How long webhook messages are collected before they are sent; 0 sends at once [default: 1m]
    #[arg(long, value_name = "DURATION")]
    pub webhook_batch_interval: Option<String>,
    /// The delay before the first retry of a webhook; all later delays are proportional to it [default: 1m]
    #[arg(long, value_name = "DURATION")]
    pub webhook_retry_first: Option<String>,
    /// How long a receiver of webhooks may take to respond [default: 15s]
    #[arg(long, value_name = "DURATION")]
    pub webhook_timeout: Option<String>,
    /// The number of messages in a row that must fail before a webhook URL is paused [default: 10]
    #[arg(long, value_name = "COUNT")]
    pub webhook_pause_after: Option<String>,
    /// How long dead letters (messages that could not be delivered) are kept [default: 5d]
    #[arg(long, value_name = "DURATION")]
    pub dead_letter_retention: Option<String>,
    /// How long webhook messages are kept [default: 30d]
    #[arg(long, value_name = "DURATION")]
    pub message_retention: Option<String>,
    /// How long the records of delivery attempts are kept [default: 7d]
    #[arg(long, value_name = "DURATION")]
    pub attempt_retention: Option<String>,
    /// The maximum requests per second for each API key, or off [default: off]
    #[arg(long, value_name = "RATE")]
    pub rate_limit: Option<String>,
    /// The maximum number of connections [default: 4096]
    #[arg(long, value_name = "COUNT")]
    pub max_connections: Option<String>,
    /// The maximum number of connections from one address [default: 1024]
    #[arg(long, value_name = "COUNT")]
    pub max_connections_per_address: Option<String>,
    /// How long the head of a request may take to arrive [default: 15s]
    #[arg(long, value_name = "DURATION")]
    pub header_timeout: Option<String>,
    /// How long a connection may be open between two requests [default: 75s]
    #[arg(long, value_name = "DURATION")]
    pub idle_timeout: Option<String>,
    /// How long the body of a request may take to arrive [default: 1m]
    #[arg(long, value_name = "DURATION")]
    pub body_timeout: Option<String>,
    /// How far this machine's clock may differ from the clock of the PostgreSQL server; if it differs more, the server
    /// stops processing [default: 5s]
    #[arg(long, value_name = "DURATION")]
    pub max_clock_skew: Option<String>,
    /// How far this machine's clock may be ahead of the latest time recorded in the database; if it is further ahead,
    /// the server starts only with --confirm-clock [default: 7d]
    #[arg(long, value_name = "DURATION")]
    pub max_clock_jump: Option<String>,
    /// For this start, confirm that the clock is right although it differs from the time recorded in the database
    #[arg(long)]
    pub confirm_clock: bool,
    /// Start with a new, empty database although there is a secrets key. Without this flag, the server refuses to start
    /// if there is a secrets key but the database is missing or empty
    #[arg(long)]
    pub new_book: bool,
    /// Mute the database before serving it, as `daybook mute` does: the server sends no webhooks and processes no due
    /// dates until `daybook unmute`
    #[arg(long)]
    pub muted: bool,
    /// How many accounts per second the server verifies in the background, like `daybook verify`, or off [default: 1]
    #[arg(long, value_name = "RATE")]
    pub verify_rate: Option<String>,
    /// A private network that webhook URLs may point into, such as 10.0.0.0/8; repeatable
    #[arg(long, value_name = "CIDR")]
    pub allow_network: Vec<String>,
    /// A name server that resolves webhook URLs, such as 10.0.0.53 or 10.0.0.53:5353; repeatable
    /// [default: those in /etc/resolv.conf]
    #[arg(long, value_name = "ADDRESS")]
    pub name_server: Vec<String>,
}

/// Flag values by the name of their setting.
pub type FlagValues = Vec<(&'static str, Vec<String>)>;

/// Keeps the flags that were given.
fn given<const N: usize>(flags: [(&'static str, &Option<String>); N]) -> FlagValues {
    flags.into_iter().filter_map(|(name, text)| text.as_ref().map(|text| (name, vec![text.clone()]))).collect()
}

impl CommonFlags {
    /// The settings given as flags.
    pub fn given(&self) -> FlagValues {
        given([
            ("database", &self.database),
            ("secrets-key-file", &self.secrets_key_file),
            ("time-zones", &self.time_zones),
            ("log-format", &self.log_format),
            ("log-level", &self.log_level),
        ])
    }
}

impl ServeFlags {
    /// The settings given as flags.
    pub fn given(&self) -> FlagValues {
        let mut values = self.common.given();
        values.extend(given([
            ("listen", &self.listen),
            ("admin-listen", &self.admin_listen),
            ("tls-cert", &self.tls_cert),
            ("tls-key", &self.tls_key),
            ("public-url", &self.public_url),
            ("dev", &self.dev),
            ("demo", &self.demo),
            ("environment", &self.environment),
            ("webhook-batch-interval", &self.webhook_batch_interval),
            ("webhook-retry-first", &self.webhook_retry_first),
            ("webhook-timeout", &self.webhook_timeout),
            ("webhook-pause-after", &self.webhook_pause_after),
            ("dead-letter-retention", &self.dead_letter_retention),
            ("message-retention", &self.message_retention),
            ("attempt-retention", &self.attempt_retention),
            ("rate-limit", &self.rate_limit),
            ("max-connections", &self.max_connections),
            ("max-connections-per-address", &self.max_connections_per_address),
            ("header-timeout", &self.header_timeout),
            ("idle-timeout", &self.idle_timeout),
            ("body-timeout", &self.body_timeout),
            ("max-clock-skew", &self.max_clock_skew),
            ("max-clock-jump", &self.max_clock_jump),
            ("verify-rate", &self.verify_rate),
        ]));
        if !self.trust_proxy.is_empty() {
            values.push(("trust-proxy", self.trust_proxy.clone()));
        }
        if !self.allow_network.is_empty() {
            values.push(("allow-network", self.allow_network.clone()));
        }
        if !self.name_server.is_empty() {
            values.push(("name-server", self.name_server.clone()));
        }
        values
    }
}
