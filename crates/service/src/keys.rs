//! API keys.

use crate::Service;
use crate::access::{Caller, Right, Role};
use crate::boxed;
use crate::form::NewKey;
use crate::ids::{id_of, secret_of};
use crate::problem::Problem;
use crate::view;
use daybook_store::records::KeyRow;

/// The minimum length of a lent key's secret.
const SHORTEST_LENT: usize = 32;

impl Service {
    /// The keys of the caller's organization.
    #[boxed]
    pub async fn list_keys(&self, who: &Caller) -> Result<view::Results<view::Key>, Problem> {
        who.may(Right::Administer)?;
        let keys = self.store.keys(who.org).await?;
        Ok(view::Results { results: keys.into_iter().map(show).collect() })
    }

    /// Creates a key. Its secret is returned once, here.
    #[boxed]
    pub async fn create_key(&self, who: &Caller, form: NewKey) -> Result<view::NewKey, Problem> {
        who.may(Right::Administer)?;
        let role = Role::parse(form.role.name()).ok_or_else(|| Problem::internal("a role has no name"))?;
        let (key, secret) = self.access.create_key(who, form.name.as_str(), role).await?;
        Ok(show_new(key, secret))
    }

    /// Creates a key for a form with a one-time word (`once`): if the form is sent twice, it creates one key and
    /// returns the same response. The id and the secret are derived from the word, so the secret is not stored.
    #[boxed]
    pub async fn create_key_once(&self, who: &Caller, once: &str, form: NewKey) -> Result<view::NewKey, Problem> {
        who.may(Right::Administer)?;
        let role = Role::parse(form.role.name()).ok_or_else(|| Problem::internal("a role has no name"))?;
        let name = form.name.as_str();
        let words = self.words_of(who, once, &[role.name(), name]);
        let client_id = id_of("client", &self.secrets.console_hash("id of a key by a form", &words));
        let secret = secret_of(&self.secrets.console_hash("secret of a key by a form", &words));
        if let Some(made) = self.store.key(&client_id).await? {
            return match made.revoked_at {
                None => Ok(show_new(made, secret)),
                Some(_) => {
                    let message = "the key that this form created is revoked; submit the form again to create another";
                    Err(Problem::new("conflict", message))
                }
            };
        }
        match self.access.keep_key(who, client_id.clone(), &secret, name, role).await {
            Ok(key) => Ok(show_new(key, secret)),
            // A concurrent request with the same form created the key first.
            Err(problem) if problem.code == "id_taken" => {
                let made = self.store.key(&client_id).await?.ok_or(problem)?;
                Ok(show_new(made, secret))
            }
            Err(problem) => Err(problem),
        }
    }

    /// Lends a key to a command on the caller's machine, or extends the loan. The command chooses the id and the
    /// secret; they work for a limited time and are kept in memory only.
    #[boxed]
    pub async fn lend_key(&self, who: &Caller, client_id: &str, secret: &str) -> Result<(), Problem> {
        who.may(Right::Administer)?;
        if secret.len() < SHORTEST_LENT {
            return Err(Problem::invalid("client_secret", format!("must have at least {SHORTEST_LENT} characters")));
        }
        if self.store.key(client_id).await?.is_some() {
            return Err(Problem::invalid(
                "client_id",
                "is the id of an existing key; a temporary key needs a different id",
            ));
        }
        self.access.lend_key(Caller { client_id: client_id.to_owned(), ..who.clone() }, secret)
    }

    /// Ends the loan of a key.
    pub fn take_key_back(&self, secret: &str) {
        self.access.take_key_back(secret);
    }

    /// Bytes that are unique to a caller's form and its one-time word.
    pub(crate) fn words_of(&self, who: &Caller, once: &str, about: &[&str]) -> Vec<u8> {
        let org = who.org.to_string();
        let parts = [&[org.as_str(), &who.client_id, once], about].concat();
        // Each part is preceded by its length, so that different lists of parts never give the same bytes.
        parts.iter().flat_map(|part| [part.len().to_be_bytes().as_slice(), part.as_bytes()].concat()).collect()
    }

    /// Revokes a key.
    #[boxed]
    pub async fn revoke_key(&self, who: &Caller, client_id: &str) -> Result<view::Key, Problem> {
        who.may(Right::Administer)?;
        self.access.revoke_key(who, client_id).await?;
        let key = self.store.key(client_id).await?.ok_or_else(|| Problem::not_found("key", client_id))?;
        Ok(show(key))
    }
}

fn show_new(key: KeyRow, secret: String) -> view::NewKey {
    view::NewKey {
        client_id: key.client_id,
        client_secret: secret,
        name: key.name,
        role: key.role,
        created_at: view::time::Utc(key.created_at),
    }
}

fn show(key: KeyRow) -> view::Key {
    view::Key {
        client_id: key.client_id,
        name: key.name,
        role: key.role,
        created_at: view::time::Utc(key.created_at),
        last_used_at: key.last_used_at.map(view::time::Utc),
        revoked_at: key.revoked_at.map(view::time::Utc),
    }
}
