//! `daybook audit`

use super::CommonFlags;
use clap::Args;

/// `daybook audit`
#[derive(Args, Debug)]
pub struct AuditArgs {
    /// Only records of this key (its client id), this person (person:ID) or the command line (operator)
    #[arg(long, value_name = "ID")]
    pub actor: Option<String>,
    /// Only records of this action, such as record_payment
    #[arg(long, value_name = "NAME")]
    pub action: Option<String>,
    /// Only records about the object with this id, such as an account
    #[arg(long, value_name = "ID")]
    pub subject: Option<String>,
    /// Only the record of the request with this id
    #[arg(long, value_name = "ID")]
    pub request: Option<String>,
    /// Only records at this time or later, such as 2025-03-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only records before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Show at most this many records, the newest first
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    pub limit: usize,
    /// Instead, print the number and the hash of the last record of every organization
    #[arg(long, conflicts_with_all = ["actor", "action", "subject", "request", "since", "until", "holds", "org"])]
    pub ends: bool,
    /// Instead, check whether the record with this number has this hash; exits with 1 if not
    #[arg(long, value_name = "NUMBER:HASH", conflicts_with_all = ["actor", "action", "subject", "request", "since", "until"])]
    pub holds: Option<String>,
    /// The organization's name; not needed while there is only one. `-` for records that belong to no organization
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}
