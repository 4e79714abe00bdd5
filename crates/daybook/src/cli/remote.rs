//! The server that a tool works with, and its key.

use super::CommonFlags;
use clap::Args;

/// Which server a tool works with, and as whom. Without a URL it is the server that has this machine's database.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server")]
pub struct RemoteArgs {
    /// The server's URL; needed with PostgreSQL [default: the server that uses this machine's SQLite database]
    #[arg(long, value_name = "URL", env = "DAYBOOK_URL")]
    pub url: Option<String>,
    /// An API key of the organization, as CLIENT_ID:CLIENT_SECRET [default for a local server: a temporary key]
    #[arg(long, value_name = "KEY", env = "DAYBOOK_KEY", hide_env_values = true)]
    pub key: Option<String>,
    /// The organization's name; not needed with --key, or while there is only one
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}
