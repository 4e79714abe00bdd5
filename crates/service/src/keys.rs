//! Keys: who may call.

use crate::Service;
use crate::access::{Caller, Right, Role};
use crate::form::NewKey;
use crate::problem::Problem;
use crate::view;
use crate::view::render;
use bytes::Bytes;
use daybook_store::records::KeyRow;

impl Service {
    /// The keys of the caller's organization.
    pub async fn list_keys(&self, who: &Caller) -> Result<Bytes, Problem> {
        who.may(Right::Administer)?;
        let keys = self.store.keys(who.org).await?;
        Ok(render(&view::Results { results: keys.iter().map(show).collect() }))
    }

    /// Makes a key. Its secret is shown once, here.
    pub async fn create_key(&self, who: &Caller, form: NewKey) -> Result<Bytes, Problem> {
        who.may(Right::Administer)?;
        let role = Role::parse(form.role.name()).ok_or_else(|| Problem::internal("a role has no name"))?;
        let (key, secret) = self.access.create_key(who.org, form.name.as_str(), role).await?;
        Ok(render(&view::NewKey {
            client_id: &key.client_id,
            client_secret: &secret,
            name: &key.name,
            role: &key.role,
            created_at: view::time::Utc(key.created_at),
        }))
    }

    /// Revokes a key.
    pub async fn revoke_key(&self, who: &Caller, client_id: &str) -> Result<Bytes, Problem> {
        who.may(Right::Administer)?;
        self.access.revoke_key(who.org, client_id).await?;
        let key = self.store.key(client_id).await?.ok_or_else(|| Problem::not_found("key", client_id))?;
        Ok(render(&show(&key)))
    }
}

fn show(key: &KeyRow) -> view::Key<'_> {
    view::Key {
        client_id: &key.client_id,
        name: &key.name,
        role: &key.role,
        created_at: view::time::Utc(key.created_at),
        last_used_at: key.last_used_at.map(view::time::Utc),
        revoked_at: key.revoked_at.map(view::time::Utc),
    }
}
