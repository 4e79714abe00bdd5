//! How a tool connects to a server: by a URL and a key, or by finding the server on this machine.
//!
//! A server on a SQLite database announces its address and a token (see [`instance`](crate::instance)), and a process
//! that can read them may obtain a key. So a tool on the same machine needs no arguments: the server lends it a key for
//! as long as it runs.

use super::control::Order;
use super::{Failure, prepare};
use crate::cli::RemoteArgs;
use crate::config::Settings;
use crate::instance;
use daybook_client::{ApiKey, Client, Trouble};
use daybook_service::ids::{mint_id, mint_secret};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The interval for extending a lent key while the command runs: a fraction of its lifetime.
const LEND_AGAIN: Duration = Duration::from_secs(20);

/// A server, and a key for it.
pub struct ServerConnection {
    /// The client.
    pub client: Client,
    /// The key lent to this command, for as long as it runs.
    _lent: Option<LentKey>,
}

impl ServerConnection {
    /// Connects to the server that the arguments name, and obtains a key.
    pub fn open(args: &RemoteArgs) -> Result<ServerConnection, Failure> {
        let settings = prepare(&args.flags)?;
        let url = match &args.url {
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => url.clone(),
            Some(url) => return Err(Failure::Failed(format!("--url: {url} does not begin with http:// or https://"))),
            None => running(&settings)?,
        };
        if let Some(text) = &args.key {
            let rule = "--key: must be CLIENT_ID:CLIENT_SECRET, as `daybook keys create` prints them";
            let key = ApiKey::parse(text).ok_or_else(|| Failure::Failed(rule.to_owned()))?;
            return Ok(ServerConnection { client: Client::new(&url, key), _lent: None });
        }
        if args.url.is_some() {
            return Err(Failure::Failed(
                "--key: is required with --url (or DAYBOOK_KEY in the environment)".to_owned(),
            ));
        }
        let (client_id, client_secret) = (mint_id("client"), mint_secret());
        let lent = LentKey::ask_for(settings, args.org.clone(), &client_id, &client_secret)?;
        Ok(ServerConnection { client: Client::new(&url, ApiKey::new(client_id, client_secret)), _lent: Some(lent) })
    }
}

/// A key that the server lends to this command. The server keeps it in memory for a minute and a half. A thread extends
/// it while the command runs, also after a restart of the server. So a killed command leaves no key behind.
struct LentKey {
    settings: Settings,
    client_secret: String,
    /// Dropped when the command ends.
    ending: Option<Sender<()>>,
    lending: Option<JoinHandle<()>>,
}

impl LentKey {
    fn ask_for(
        settings: Settings,
        organization: Option<String>,
        client_id: &str,
        client_secret: &str,
    ) -> Result<LentKey, Failure> {
        let (client_id, client_secret) = (client_id.to_owned(), client_secret.to_owned());
        let order = Order::LendKey { organization, client_id, client_secret: client_secret.clone() };
        order.get_done(&settings)?;
        let (ending, ended) = channel();
        let lending = thread::spawn({
            let settings = settings.clone();
            move || {
                while ended.recv_timeout(LEND_AGAIN) == Err(RecvTimeoutError::Timeout) {
                    // While the server is down, the key is not needed; the next attempt follows.
                    if instance_is_running(&settings) {
                        let _ = order.get_done(&settings);
                    }
                }
            }
        });
        Ok(LentKey { settings, client_secret, ending: Some(ending), lending: Some(lending) })
    }
}

/// Returns the key when the command ends.
impl Drop for LentKey {
    fn drop(&mut self) {
        drop(self.ending.take());
        if let Some(lending) = self.lending.take() {
            // A panic of the thread does not matter here.
            let _ = lending.join();
        }
        if instance_is_running(&self.settings) {
            // If this call fails, the key expires automatically.
            let _ = Order::TakeKeyBack { client_secret: self.client_secret.clone() }.get_done(&self.settings);
        }
    }
}

fn instance_is_running(settings: &Settings) -> bool {
    running(settings).is_ok()
}

/// The URL of the server on this machine's database.
fn running(settings: &Settings) -> Result<String, Failure> {
    let Some(path) = settings.sqlite_path() else {
        return Err(Failure::Failed("--url: is required if the database is PostgreSQL".to_owned()));
    };
    let url = instance::glimpse(path).and_then(|server| server.url);
    url.ok_or_else(|| {
        Failure::Failed(format!(
            "no server is running on {}: start one with `daybook serve --dev`, name another database with --database, or use --url and --key",
            path.display()
        ))
    })
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        Failure::Failed(trouble.to_string())
    }
}
