//! `daybook listen` and `daybook trigger`: webhooks on a developer's machine.

use super::RemoteArgs;
use clap::Args;

/// `daybook listen`
#[derive(Args, Debug)]
pub struct ListenArgs {
    /// The port on 127.0.0.1 to listen on [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Receive only these events [default: all]
    #[arg(long, value_name = "EVENTS", value_delimiter = ',')]
    pub events: Vec<String>,
    /// The HTTP statuses to respond with: the first to the first attempt of a message, the second to its first retry,
    /// and so on; the last one repeats
    #[arg(long, value_name = "STATUSES", value_delimiter = ',', default_value = "200",
          value_parser = clap::value_parser!(u16).range(200..=599))]
    pub answer: Vec<u16>,
    /// Forward each message to this URL, and respond to the server with the status that the URL returns
    #[arg(long, value_name = "URL", conflicts_with = "answer")]
    pub forward_to: Option<String>,
    /// End when this many messages were accepted (with 200 or 202); exits with 1 if a signature was invalid
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Print one JSON object per line, with the whole message
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// `daybook trigger`
#[derive(Args, Debug)]
pub struct TriggerArgs {
    /// The event to cause, such as payment_missed
    #[arg(value_name = "EVENT", required_unless_present = "list")]
    pub event: Option<String>,
    /// List the events that can be caused
    #[arg(long)]
    pub list: bool,
    /// The server.
    #[command(flatten)]
    pub remote: RemoteArgs,
}
