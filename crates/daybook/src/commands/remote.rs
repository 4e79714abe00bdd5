//! How a tool comes to talk with a server: by a URL and a key, or by finding the one that runs on this machine.
//!
//! A server on a SQLite database says where it listens (see [`instance`](crate::instance)), and whoever may read that may
//! have keys made. So on one machine a tool needs no arguments: a key is lent to it for as long as it runs.

use super::control::Order;
use super::{Failure, prepare};
use crate::cli::RemoteArgs;
use crate::config::Settings;
use crate::instance;
use daybook_client::{Client, Key, Trouble};
use daybook_service::ids::{mint_id, mint_secret};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often a lent key is lent again, while the command runs: a fraction of how long it works.
const LEND_AGAIN: Duration = Duration::from_secs(20);

/// A server, and the right to ask it things.
pub struct Connection {
    /// The caller.
    pub client: Client,
    /// The key that is lent to this command, for as long as it runs.
    _lent: Option<LentKey>,
}

impl Connection {
    /// Finds the server that the arguments name, and a key for it.
    pub fn open(args: &RemoteArgs) -> Result<Connection, Failure> {
        let settings = prepare(&args.flags)?;
        let url = match &args.url {
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => url.clone(),
            Some(url) => return Err(Failure::Failed(format!("--url: {url} does not begin with http:// or https://"))),
            None => running(&settings)?,
        };
        if let Some(text) = &args.key {
            let rule = "--key: must be CLIENT_ID:CLIENT_SECRET, as `daybook keys create` prints them";
            let key = Key::parse(text).ok_or_else(|| Failure::Failed(rule.to_owned()))?;
            return Ok(Connection { client: Client::new(&url, key), _lent: None });
        }
        if args.url.is_some() {
            return Err(Failure::Failed("--key: is needed with --url (or DAYBOOK_KEY in the environment)".to_owned()));
        }
        let (client_id, client_secret) = (mint_id("client"), mint_secret());
        let lent = LentKey::ask_for(settings, args.org.clone(), &client_id, &client_secret)?;
        Ok(Connection { client: Client::new(&url, Key::new(client_id, client_secret)), _lent: Some(lent) })
    }
}

/// A key that the server lends to this command. The server keeps it in memory, for a minute and a half: a thread has it
/// lent again and again while the command runs, also by a server that was started again meanwhile. So a command that is
/// killed leaves no key behind.
struct LentKey {
    settings: Settings,
    client_secret: String,
    /// Closed when the command is done.
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
                    // A server that is away is asked again: the key is needed only when it is back.
                    if instance_is_running(&settings) {
                        let _ = order.get_done(&settings);
                    }
                }
            }
        });
        Ok(LentKey { settings, client_secret, ending: Some(ending), lending: Some(lending) })
    }
}

/// The key is over with the command.
impl Drop for LentKey {
    fn drop(&mut self) {
        drop(self.ending.take());
        if let Some(lending) = self.lending.take() {
            // A panic of the thread has nothing to tell that matters here.
            let _ = lending.join();
        }
        if instance_is_running(&self.settings) {
            // If the server does not hear it, the key ends by itself.
            let _ = Order::TakeKeyBack { client_secret: self.client_secret.clone() }.get_done(&self.settings);
        }
    }
}

fn instance_is_running(settings: &Settings) -> bool {
    running(settings).is_ok()
}

/// Where the server of this machine's database listens.
fn running(settings: &Settings) -> Result<String, Failure> {
    let Some(path) = settings.sqlite_path() else {
        return Err(Failure::Failed("--url: is needed where the database is PostgreSQL".to_owned()));
    };
    let url = instance::glimpse(path).and_then(|server| server.url);
    url.ok_or_else(|| {
        Failure::Failed(format!(
            "no server is running on {}: start one with `daybook serve --dev`, name another by --database, or say --url and --key",
            path.display()
        ))
    })
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        Failure::Failed(trouble.to_string())
    }
}
