//! Forwards a message unchanged to a developer's own server.

use super::judge::Answered;
use crate::commands::Failure;
use daybook_receiver::Request;
use std::time::Duration;
use ureq::Agent;

/// The time limit of the other server: the default timeout of a Daybook server.
const PATIENCE: Duration = Duration::from_secs(15);
/// The status if the other server does not respond: it counts like a failed connection.
const NO_ANSWER: u16 = 502;
/// Headers that belong to one connection and are not forwarded.
const OF_THE_CONNECTION: [&str; 5] = ["host", "content-length", "connection", "transfer-encoding", "accept-encoding"];

/// The forwarding to another server.
#[derive(Clone, Debug)]
pub struct Forward {
    agent: Agent,
    url: String,
}

impl Forward {
    /// Forwards to a URL.
    pub fn to(url: &str) -> Result<Forward, Failure> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let rule = format!("--forward-to: {url} does not begin with http:// or https://");
            return Err(Failure::Senseless(rule));
        }
        let config = Agent::config_builder().http_status_as_error(false).max_redirects(0);
        let agent = config.timeout_global(Some(PATIENCE)).build().new_agent();
        Ok(Forward { agent, url: url.to_owned() })
    }

    /// Forwards the body and headers. Returns the response and its `Retry-After`.
    pub fn pass(&self, message: &Request) -> (Answered, Option<String>) {
        let mut request = self.agent.post(&self.url);
        for (name, value) in message.headers.iter().filter(|(name, _)| !OF_THE_CONNECTION.contains(&name.as_str())) {
            request = request.header(name, value.as_bytes());
        }
        match request.send(&message.body[..]) {
            Ok(answer) => {
                let retry_after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
                let answered = Answered { status: answer.status().as_u16(), is_forwarded: true, trouble: None };
                (answered, retry_after.map(str::to_owned))
            }
            Err(error) => {
                let trouble = Some(format!("{} does not respond: {error}", self.url));
                (Answered { status: NO_ANSWER, is_forwarded: true, trouble }, None)
            }
        }
    }
}
