//! `daybook webhooks …`

use super::RemoteArgs;
use clap::{Args, Subcommand, ValueEnum};

/// `daybook webhooks …`
#[derive(Args, Debug)]
pub struct WebhooksCommand {
    /// What to do with webhooks.
    #[command(subcommand)]
    pub command: WebhooksAction,
}

/// What to do with webhooks.
#[derive(Debug, Subcommand)]
pub enum WebhooksAction {
    /// List the subscriptions and their states
    #[command(after_help = "\
Examples:
  daybook webhooks list
  daybook webhooks list --url https://loans.example.com --key CLIENT_ID:CLIENT_SECRET --json")]
    List(WebhooksListArgs),
    /// Search for messages; the latest are printed first
    #[command(after_help = "\
Examples:
  daybook webhooks search --account loan-1
  daybook webhooks search --state dead --event payment_missed --since 2026-11-01T00:00:00Z
  daybook webhooks search --state pending --webhook WEBHOOK_UUID --limit 1000 --json")]
    Search(Box<WebhooksSearchArgs>),
    /// Print one message: its body, its state for each URL and all delivery attempts
    #[command(after_help = "\
Examples:
  daybook webhooks get EVENT_ID
  daybook webhooks get EVENT_ID --body > body.json     the bytes as they are sent
  daybook webhooks get EVENT_ID --json")]
    Get(WebhooksGetArgs),
    /// Send one message again, even if it was delivered
    #[command(after_help = "\
Examples:
  daybook webhooks resend EVENT_ID
  daybook webhooks resend EVENT_ID --webhook WEBHOOK_UUID

Sends the same bytes at once. Refused while the URL is paused.")]
    Resend(WebhooksResendArgs),
    /// Send dead letters or delivered messages again
    #[command(after_help = "\
Examples:
  daybook webhooks replay --dry-run
  daybook webhooks replay --account loan-1
  daybook webhooks replay --delivered --since 2026-11-16T08:00:00Z --webhook WEBHOOK_UUID

With --delivered, resends the messages that the URLs accepted at or after --since, for a receiver that lost them.")]
    Replay(Box<WebhooksReplayArgs>),
}

/// `daybook webhooks list`
#[derive(Args, Debug)]
pub struct WebhooksListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// `daybook webhooks search`
#[derive(Args, Debug)]
pub struct WebhooksSearchArgs {
    /// Only the message with this id
    #[arg(long, value_name = "EVENT_ID")]
    pub event_id: Option<String>,
    /// Only messages about this account
    #[arg(long, value_name = "ACCOUNT_ID")]
    pub account: Option<String>,
    /// Only messages of this event
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
    /// Only messages that are in this state for at least one URL
    #[arg(long, value_enum)]
    pub state: Option<MessageStateArg>,
    /// Only messages that this subscription gets
    #[arg(long, value_name = "WEBHOOK_UUID")]
    pub webhook: Option<String>,
    /// Only messages that were recorded at this time or later
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only messages that were recorded before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// At most this many messages
    #[arg(long, value_name = "COUNT", default_value = "100")]
    pub limit: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MessageStateArg {
    /// It is scheduled and will be sent when it is due
    Scheduled,
    /// It was cancelled and is never sent
    Cancelled,
    /// It has not been delivered yet: the first attempt or a retry is pending
    Pending,
    /// A URL accepted it
    Delivered,
    /// It is a dead letter
    Dead,
    /// A URL does not get it: the URL's filter excludes it, or the URL was subscribed later
    NotWanted,
}

impl MessageStateArg {
    /// Its name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            MessageStateArg::Scheduled => "SCHEDULED",
            MessageStateArg::Cancelled => "CANCELLED",
            MessageStateArg::Pending => "PENDING",
            MessageStateArg::Delivered => "DELIVERED",
            MessageStateArg::Dead => "DEAD",
            MessageStateArg::NotWanted => "NOT_WANTED",
        }
    }
}

/// `daybook webhooks get`
#[derive(Args, Debug)]
pub struct WebhooksGetArgs {
    /// The event's id
    pub event_id: String,
    /// Print only the body, exactly as it is sent
    #[arg(long, conflicts_with = "json")]
    pub body: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// `daybook webhooks resend`
#[derive(Args, Debug)]
pub struct WebhooksResendArgs {
    /// The event's id
    pub event_id: String,
    /// Only to this subscription [default: all active subscriptions that get it]
    #[arg(long, value_name = "WEBHOOK_UUID")]
    pub webhook: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// `daybook webhooks replay`
#[derive(Args, Debug)]
pub struct WebhooksReplayArgs {
    /// Send delivered messages again, not dead letters
    #[arg(long, requires = "since")]
    pub delivered: bool,
    /// Only to this subscription
    #[arg(long, value_name = "WEBHOOK_UUID")]
    pub webhook: Option<String>,
    /// Only messages of this event
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
    /// Only messages about this account
    #[arg(long, value_name = "ACCOUNT_ID")]
    pub account: Option<String>,
    /// Only messages that became dead letters, or were delivered, at this time or later
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only messages that became dead letters, or were delivered, before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Only count the messages
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub remote: RemoteArgs,
}
