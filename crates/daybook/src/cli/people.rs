//! `daybook people …`

use super::{CommonFlags, RoleArg};
use clap::{Args, Subcommand};

/// `daybook people …`
#[derive(Args, Debug)]
pub struct PeopleCommand {
    /// What to do with people.
    #[command(subcommand)]
    pub command: PeopleAction,
}

/// What to do with people.
#[derive(Debug, Subcommand)]
pub enum PeopleAction {
    /// Create an invite link, with which a person becomes a console user
    #[command(after_help = "\
Examples:
  daybook people link
  daybook people link --role READ_ONLY
  daybook people link --org \"Prairie Lending\" --role ADMIN --json

The person who opens the link chooses a name, an e-mail address and a password. The link works once, within 7 days.")]
    Link(PeopleLinkArgs),
    /// Give a console user a new password, and sign the user out everywhere
    #[command(after_help = "\
Examples:
  daybook people reset ada@example.com
  daybook people reset ada@example.com --org \"Prairie Lending\" --json

Prints the new password once. The user then signs in with it, and can choose another password in the console.")]
    Reset(PeopleResetArgs),
    /// List the console users
    #[command(after_help = "Examples:\n  daybook people list\n  daybook people list --org \"Prairie Lending\" --json")]
    List(PeopleListArgs),
}

/// `daybook people link`
#[derive(Args, Debug)]
pub struct PeopleLinkArgs {
    /// The user's role
    #[arg(long, value_enum, default_value = "ADMIN")]
    pub role: RoleArg,
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

/// `daybook people reset`
#[derive(Args, Debug)]
pub struct PeopleResetArgs {
    /// The user's e-mail address
    pub email: String,
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

/// `daybook people list`
#[derive(Args, Debug)]
pub struct PeopleListArgs {
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
