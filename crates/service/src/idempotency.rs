//! Responses kept for idempotent requests, and writes that do not go through the processor.
//!
//! A request may carry an idempotency key. Its response is written in the transaction of the change. For 24 hours the
//! same request gets the same response again, and a different request with that key is refused.

use crate::Service;
use crate::access::Caller;
use crate::boxed;
use crate::problem::Problem;
use crate::processor::job::IdempotencyKey;
use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::batch::{Batch, Claimed, NewKeptResponse, Unit};
use daybook_store::records::{KeptResponse, OrgId};

/// How long a response is kept: 24 hours.
const KEPT_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// The response to keep for a request that may be repeated.
pub(crate) fn to_keep(org: OrgId, idempotency_key: &IdempotencyKey, body: &Bytes, now: Time) -> NewKeptResponse {
    NewKeptResponse {
        org,
        key: idempotency_key.key.clone(),
        answer: KeptResponse { content_hash: idempotency_key.content_hash.clone(), body: body.clone() },
        recorded_at: now,
        expires_at: now.plus_micros(KEPT_MICROS),
    }
}

/// The error for an idempotency key that belongs to a different request.
pub(crate) fn reused() -> Problem {
    Problem::new("idempotency_key_reused", "the Idempotency-Key was used before for a request with different content")
}

/// Whether a unit depends on no version of a product or account, so that it may share a transaction with other
/// concurrent writes.
fn is_small(unit: &Unit) -> bool {
    !unit.customers.is_empty() && unit.accounts.is_empty() && unit.modes.is_empty() && unit.products.is_empty()
}

impl Service {
    /// The response that an earlier request with this idempotency key got.
    pub(crate) async fn answer_before(
        &self,
        who: &Caller,
        idempotency_key: Option<&IdempotencyKey>,
    ) -> Result<Option<Bytes>, Problem> {
        let Some(idempotency_key) = idempotency_key else { return Ok(None) };
        match self.store.answer(who.org, &idempotency_key.key, self.clock.now()).await? {
            Some(answer) if answer.content_hash == idempotency_key.content_hash => Ok(Some(answer.body)),
            Some(_) => Err(reused()),
            None => Ok(None),
        }
    }

    /// Keeps the response to a request that changed nothing, in case it is repeated.
    #[boxed]
    pub(crate) async fn keep_answer(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        answer: Bytes,
    ) -> Result<Bytes, Problem> {
        if idempotency_key.is_none() || self.write_alone(who, Unit::default(), idempotency_key.clone(), &answer).await?
        {
            return Ok(answer);
        }
        Ok(self.answer_before(who, idempotency_key.as_ref()).await?.unwrap_or(answer))
    }

    /// Writes a unit outside the processor, with the response kept for a repeated request. Returns false if the unit
    /// was stale.
    #[boxed]
    pub(crate) async fn write_alone(
        &self,
        who: &Caller,
        mut unit: Unit,
        idempotency_key: Option<IdempotencyKey>,
        answer: &Bytes,
    ) -> Result<bool, Problem> {
        self.check_tables()?;
        self.check_clock()?;
        let now = self.clock.now();
        unit.answers.extend(idempotency_key.map(|idempotency_key| to_keep(who.org, &idempotency_key, answer, now)));
        let announces = unit.message_count() > 0;
        let written = if is_small(&unit) {
            self.group_commit.commit(&self.store, unit).await? == Claimed::Written
        } else {
            self.store.commit(Batch { units: vec![unit] }).await? == [Claimed::Written]
        };
        if written && announces {
            self.nudge.announced();
        }
        Ok(written)
    }
}
