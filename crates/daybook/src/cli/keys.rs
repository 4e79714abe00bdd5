//! `daybook keys`

use super::CommonFlags;
use clap::{Args, Subcommand, ValueEnum};

/// `daybook keys …`
#[derive(Args, Debug)]
pub struct KeysCommand {
    /// What to do with keys.
    #[command(subcommand)]
    pub command: KeysAction,
}

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub enum KeysAction {
    /// Create an API key; its secret is shown only once
    #[command(after_help = "\
Examples:
  daybook keys create --role SERVICING
  daybook keys create --role READ_ONLY --name reports --json
  daybook keys create --org \"Prairie Lending\" --role ADMIN")]
    Create(KeysCreateArgs),
    /// List keys, with the time each was last used
    #[command(after_help = "Examples:\n  daybook keys list\n  daybook keys list --org \"Prairie Lending\" --json")]
    List(KeysListArgs),
    /// Revoke a key; it stops working at once
    #[command(
        after_help = "Examples:\n  daybook keys revoke client_2x7k\n  daybook keys revoke client_2x7k --org \"Prairie Lending\""
    )]
    Revoke(KeysRevokeArgs),
}

/// `daybook keys create`
#[derive(Args, Debug)]
pub struct KeysCreateArgs {
    /// The key's role
    #[arg(long, value_enum)]
    pub role: RoleArg,
    /// The key's name
    #[arg(long, value_name = "NAME", default_value = "made by daybook keys create")]
    pub name: String,
    /// The organization's name; not needed while there is only one
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RoleArg {
    /// Everything
    Admin,
    /// Everything except keys, people, the audit trail and other administration
    Servicing,
    /// Reading what `SERVICING` can read
    ReadOnly,
}

impl RoleArg {
    /// The name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            RoleArg::Admin => "ADMIN",
            RoleArg::Servicing => "SERVICING",
            RoleArg::ReadOnly => "READ_ONLY",
        }
    }
}

/// `daybook keys list`
#[derive(Args, Debug)]
pub struct KeysListArgs {
    /// The organization's name; not needed while there is only one
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}

/// `daybook keys revoke`
#[derive(Args, Debug)]
pub struct KeysRevokeArgs {
    /// The key's id
    pub client_id: String,
    /// The organization's name; not needed while there is only one
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}
