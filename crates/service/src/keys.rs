//! Keys: who may call. And writes that stand alone, with their answers kept for callers who repeat themselves.

use crate::Service;
use crate::access::{Caller, Right, Role};
use crate::account::herald::render;
use crate::form::NewKey;
use crate::problem::Problem;
use crate::processor::job::Repeat;
use crate::processor::lane::reused;
use crate::view;
use bytes::Bytes;
use daybook_store::batch::{Batch, Claimed, NewAnswer, Unit};
use daybook_store::records::{Answer, KeyRow};

/// How long the answer to a call with an idempotency key is kept: 24 hours.
const ANSWER_KEPT_MICROS: i64 = 24 * 3_600 * 1_000_000;

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

    /// Makes a key for a program of ours, and gives its secret.
    pub async fn create_bench_key(&self, who: &Caller, role: Role) -> Result<String, Problem> {
        who.may(Right::Administer)?;
        Ok(self.access.create_key(who.org, "bench", role).await?.1)
    }

    /// Revokes a key.
    pub async fn revoke_key(&self, who: &Caller, client_id: &str) -> Result<Bytes, Problem> {
        who.may(Right::Administer)?;
        self.access.revoke_key(who.org, client_id).await?;
        let key = self.store.key(client_id).await?.ok_or_else(|| Problem::not_found("key", client_id))?;
        Ok(render(&show(&key)))
    }

    /// The answer that a call with this idempotency key got before.
    pub(crate) async fn answer_before(&self, who: &Caller, repeat: Option<&Repeat>) -> Result<Option<Bytes>, Problem> {
        let Some(repeat) = repeat else { return Ok(None) };
        match self.store.answer(who.org, &repeat.key, self.clock.now()).await? {
            Some(answer) if answer.content_hash == repeat.content_hash => Ok(Some(answer.body)),
            Some(_) => Err(reused()),
            None => Ok(None),
        }
    }

    /// Keeps the answer to a call that changed nothing, for a caller who may repeat it.
    pub(crate) async fn keep_answer(
        &self,
        who: &Caller,
        repeat: Option<Repeat>,
        answer: Bytes,
    ) -> Result<Bytes, Problem> {
        if repeat.is_none() || self.write_alone(who, Unit::default(), repeat.clone(), &answer).await? {
            return Ok(answer);
        }
        Ok(self.answer_before(who, repeat.as_ref()).await?.unwrap_or(answer))
    }

    /// Writes a unit by itself, with the answer kept for a caller who may repeat the call. False: it was stale.
    pub(crate) async fn write_alone(
        &self,
        who: &Caller,
        mut unit: Unit,
        repeat: Option<Repeat>,
        answer: &Bytes,
    ) -> Result<bool, Problem> {
        let now = self.clock.now();
        unit.answers.extend(repeat.map(|repeat| NewAnswer {
            org: who.org,
            key: repeat.key,
            answer: Answer { content_hash: repeat.content_hash, body: answer.clone() },
            recorded_at: now,
            expires_at: now.plus_micros(ANSWER_KEPT_MICROS),
        }));
        let claimed = self.store.commit(Batch { units: vec![unit] }).await?;
        Ok(claimed == [Claimed::Written])
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
