//! Authenticates callers and checks what they may do.

use crate::audit::{self, Act};
use crate::catalog::Catalog;
use crate::form;
use crate::ids::{mint_id, mint_secret};
use crate::lock::lock;
use crate::problem::Problem;
use crate::secrets::{Secrets, TOKEN_SECONDS, Token, hash};
use crate::view;
use daybook_clock::Clock;
use daybook_engine::time::Time;
use daybook_operations::Operation;
pub use daybook_operations::Right;
use daybook_store::Store;
use daybook_store::audit::Origin;
use daybook_store::records::{KeyRow, OrgId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// How long an authenticated caller is cached. A key that another node revokes keeps working here for at most this
/// long.
const REMEMBERED_MICROS: i64 = 1_000_000;
/// The largest number of cached callers. When it is reached, the cache is cleared.
const MOST_REMEMBERED: usize = 10_000;

/// How long a lent key works unless it is lent again: 90 seconds.
pub const LENT_MICROS: i64 = 90_000_000;
/// The largest number of keys lent at the same time.
const MOST_LENT: usize = 1_000;

/// The prefix of a person's id when it is used as a client id.
pub(crate) const PERSON_PREFIX: &str = "person:";

/// Whether a caller is a person, not a key.
fn is_person(client_id: &str) -> bool {
    client_id.starts_with(PERSON_PREFIX)
}

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Admin,
    /// Everything but keys and administration.
    Servicing,
    /// Reading only.
    ReadOnly,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 3] = [Role::Admin, Role::Servicing, Role::ReadOnly];

    /// The name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Admin => "ADMIN",
            Role::Servicing => "SERVICING",
            Role::ReadOnly => "READ_ONLY",
        }
    }

    /// The label shown to people.
    pub const fn words(self) -> &'static str {
        match self {
            Role::Admin => "Admin",
            Role::Servicing => "Servicing",
            Role::ReadOnly => "Read only",
        }
    }

    /// Parses a name used in the interface.
    pub fn parse(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The caller's organization.
    pub org: OrgId,
    /// The environment of the organization: `TEST` or `LIVE`.
    pub environment: String,
    /// What the caller may do.
    pub role: Role,
    /// The client id of a key, a person or the operator.
    pub client_id: String,
    /// Whether changes to accounts are refused unless the product holds its events; see
    /// [`Service::only_while_held`](crate::Service::only_while_held).
    pub only_held: bool,
    /// Where the request came from, for the audit trail.
    pub origin: Option<Arc<Origin>>,
    /// Whether an earlier audit record already covers the whole request.
    pub is_recorded: bool,
}

impl Caller {
    /// Returns an error if the caller's role does not include a right.
    pub fn may(&self, right: Right) -> Result<(), Problem> {
        let may = match (right, self.role) {
            (_, Role::Admin) | (Right::Read, _) | (Right::Write, Role::Servicing) => true,
            (Right::Write | Right::Administer, _) => false,
        };
        if may {
            return Ok(());
        }
        let message = if is_person(&self.client_id) {
            let needed = if right == Right::Write { "Servicing or Admin" } else { "Admin" };
            format!("this needs the role {needed}; you have the role {}", self.role.words())
        } else {
            let needed = if right == Right::Write { "SERVICING or ADMIN" } else { "ADMIN" };
            format!("this request needs the role {needed}; the key has the role {}", self.role.name())
        };
        Err(Problem::new("not_authorized", message))
    }
}

/// Authenticates callers.
#[derive(Debug)]
pub struct Access {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    catalog: Arc<Catalog>,
    secrets: Secrets,
    remembered: Mutex<HashMap<Vec<u8>, (Caller, Time)>>,
    used: Mutex<HashMap<String, Time>>,
    /// Keyed by the hash of the secret.
    lent: Mutex<HashMap<Vec<u8>, Lent>>,
}

/// A key that is lent to a command on this machine. It is in memory only.
#[derive(Clone, Debug)]
struct Lent {
    caller: Caller,
    until: Time,
}

impl Access {
    /// Authenticates against the keys in a store.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, catalog: Arc<Catalog>, secrets: Secrets) -> Access {
        Access {
            store,
            clock,
            catalog,
            secrets,
            remembered: Mutex::default(),
            used: Mutex::default(),
            lent: Mutex::default(),
        }
    }

    /// The caller of a bearer token: an access token, or the client secret itself.
    pub async fn authenticate(&self, bearer: &str) -> Result<Caller, Problem> {
        let now = self.clock.now();
        let token = Secrets::is_token(bearer).then(|| self.secrets.read_token(bearer, now));
        if token == Some(Token::Expired) {
            return Err(Problem::new(
                "not_authorized",
                format!("the access token has expired; request a new one at {}", Operation::CreateToken.path()),
            ));
        }
        let fingerprint = hash(bearer.as_bytes());
        let lent = match &token {
            Some(Token::Client(client_id)) => self.lent(now, |_, caller| caller.client_id == *client_id),
            _ => self.lent(now, |secret, _| *secret == fingerprint),
        };
        if let Some(caller) = lent {
            return Ok(caller);
        }
        if let Some((caller, until)) = lock(&self.remembered).get(&fingerprint)
            && now < *until
        {
            lock(&self.used).insert(caller.client_id.clone(), now);
            return Ok(caller.clone());
        }
        let key = match token {
            Some(Token::Client(client_id)) => self.store.key(&client_id).await?,
            Some(_) => None,
            None => self.store.key_by_secret(&fingerprint).await?,
        };
        let caller = self.caller(key).await?;
        let mut remembered = lock(&self.remembered);
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(fingerprint, (caller.clone(), now.plus_micros(REMEMBERED_MICROS)));
        lock(&self.used).insert(caller.client_id.clone(), now);
        Ok(caller)
    }

    async fn caller(&self, key: Option<KeyRow>) -> Result<Caller, Problem> {
        let unknown = || Problem::new("unauthenticated", "the credentials are unknown or revoked");
        let key = key.filter(|key| key.revoked_at.is_none()).ok_or_else(unknown)?;
        let role = Role::parse(&key.role).ok_or_else(unknown)?;
        let organization = self.catalog.organization(key.org).await?;
        Ok(Caller {
            org: key.org,
            environment: organization.row.environment.clone(),
            role,
            client_id: key.client_id,
            only_held: false,
            origin: None,
            is_recorded: false,
        })
    }

    /// Issues an access token for a client id and secret.
    pub async fn issue_token(&self, form: &form::TokenRequest) -> Result<view::Token, Problem> {
        let (now, fingerprint) = (self.clock.now(), hash(form.client_secret.as_str().as_bytes()));
        let client_id = form.client_id.as_str();
        let caller = match self.lent(now, |secret, caller| *secret == fingerprint && caller.client_id == client_id) {
            Some(caller) => caller,
            None => {
                let key = self.store.key_by_secret(&fingerprint).await?;
                self.caller(key.filter(|key| key.client_id == client_id)).await?
            }
        };
        let access_token = self.secrets.issue_token(&caller.client_id, now);
        Ok(view::Token::new(access_token, TOKEN_SECONDS as u64))
    }

    /// Creates a key. The secret is returned once, here.
    pub async fn create_key(&self, who: &Caller, name: &str, role: Role) -> Result<(KeyRow, String), Problem> {
        let secret = mint_secret();
        let key = self.keep_key(who, mint_id("client"), &secret, name, role).await?;
        Ok((key, secret))
    }

    /// Creates a key with the given client id and secret.
    pub async fn keep_key(
        &self,
        who: &Caller,
        client_id: String,
        secret: &str,
        name: &str,
        role: Role,
    ) -> Result<KeyRow, Problem> {
        let now = self.clock.now();
        let act = Act::on("create_key", "key", &client_id).with("name", name).with("role", role.name());
        let record = audit::record(&self.secrets, now, who, act);
        let key = KeyRow {
            org: who.org,
            client_id,
            secret_hash: hash(secret.as_bytes()),
            name: name.to_owned(),
            role: role.name().to_owned(),
            created_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        if !self.store.create_key(&key, record.as_ref()).await? {
            return Err(Problem::id_taken("client_id", "key", &key.client_id));
        }
        Ok(key)
    }

    /// Revokes a key.
    pub async fn revoke_key(&self, who: &Caller, client_id: &str) -> Result<(), Problem> {
        let now = self.clock.now();
        let record = audit::record(&self.secrets, now, who, Act::on("revoke_key", "key", client_id));
        let found = self.store.revoke_key(who.org, client_id, now, record.as_ref()).await?;
        lock(&self.remembered).clear();
        if found { Ok(()) } else { Err(Problem::not_found("key", client_id)) }
    }

    /// Lends a key: an id and a secret that act as an administrator for [`LENT_MICROS`]. Lending it again restarts that
    /// period. The key is never written to disk or database, so a command that is killed leaves no key behind.
    pub fn lend_key(&self, caller: Caller, secret: &str) -> Result<(), Problem> {
        let now = self.clock.now();
        let fingerprint = hash(secret.as_bytes());
        let mut lent = lock(&self.lent);
        lent.retain(|_, one| now < one.until);
        if lent.len() >= MOST_LENT && !lent.contains_key(&fingerprint) {
            return Err(Problem::unavailable(
                "too many commands use a temporary key; retry when some of them have finished",
            ));
        }
        lent.insert(fingerprint, Lent { caller, until: now.plus_micros(LENT_MICROS) });
        Ok(())
    }

    /// The caller of a lent key that matches by the hash of its secret or by its caller.
    fn lent(&self, now: Time, fits: impl Fn(&Vec<u8>, &Caller) -> bool) -> Option<Caller> {
        let lent = lock(&self.lent);
        let found = lent.iter().find(|(secret, one)| now < one.until && fits(secret, &one.caller));
        found.map(|(_, one)| one.caller.clone())
    }

    /// Ends the loan of a key early.
    pub fn take_key_back(&self, secret: &str) {
        lock(&self.lent).remove(&hash(secret.as_bytes()));
    }

    /// Writes to the store when keys were last used.
    pub async fn flush(&self) -> Result<(), Problem> {
        let used: Vec<(String, Time)> = lock(&self.used).drain().collect();
        if !used.is_empty() {
            self.store.touch_keys(&used).await?;
        }
        Ok(())
    }
}
