//! How a tool comes to talk with a server: by a URL and a key, or by finding the one that runs on this machine.
//!
//! A server on a SQLite database says where it listens (see [`instance`](crate::instance)), and whoever may read that may
//! have keys made. So on one machine a tool needs no arguments: a key is made for it, and revoked when it is done.

use super::control::Order;
use super::{Failure, prepare, say};
use crate::cli::RemoteArgs;
use crate::config::Settings;
use crate::instance;
use daybook_client::{Client, Key, Trouble};

/// A server, and the right to ask it things.
pub struct Connection {
    /// The caller.
    pub client: Client,
    /// A key that was made for this command, with the settings by which it is revoked.
    made: Option<(Settings, Option<String>, String)>,
}

impl Connection {
    /// Finds the server that the arguments name, and a key for it. `purpose` becomes the name of a key that is made.
    pub fn open(args: &RemoteArgs, purpose: &str) -> Result<Connection, Failure> {
        let settings = prepare(&args.flags)?;
        let url = match &args.url {
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => url.clone(),
            Some(url) => return Err(Failure::Failed(format!("--url: {url} does not begin with http:// or https://"))),
            None => running(&settings)?,
        };
        if let Some(text) = &args.key {
            let rule = "--key: must be CLIENT_ID:CLIENT_SECRET, as `daybook keys create` prints them";
            let key = Key::parse(text).ok_or_else(|| Failure::Failed(rule.to_owned()))?;
            return Ok(Connection { client: Client::new(&url, key), made: None });
        }
        if args.url.is_some() {
            return Err(Failure::Failed("--key: is needed with --url (or DAYBOOK_KEY in the environment)".to_owned()));
        }
        let order =
            Order::CreateKey { organization: args.org.clone(), name: purpose.to_owned(), role: "ADMIN".to_owned() };
        let made = order.get_done(&settings)?;
        let text = |field: &str| made[field].as_str().unwrap_or_default().to_owned();
        let client = Client::new(&url, Key::new(text("client_id"), text("client_secret")));
        Ok(Connection { client, made: Some((settings, args.org.clone(), text("client_id"))) })
    }
}

/// A key that was made for a command is over with it.
impl Drop for Connection {
    fn drop(&mut self) {
        if let Some((settings, organization, client_id)) = self.made.take() {
            let order = Order::RevokeKey { organization, client_id: client_id.clone() };
            if let Err(failure) = order.get_done(&settings) {
                say(&format!("The key {client_id} that was made for this command is not revoked: {failure}\n"));
            }
        }
    }
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
