//! Answers kept for callers who repeat themselves, and writes that stand alone with theirs.
//!
//! A call may carry an idempotency key. Its answer is written in the transaction of what it did; for 24 hours the same
//! call gets the same answer again, and another call with that key is refused.

use crate::Service;
use crate::access::Caller;
use crate::problem::Problem;
use crate::processor::job::Repeat;
use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::batch::{Batch, Claimed, NewAnswer, Unit};
use daybook_store::records::{Answer, OrgId};

/// How long an answer is kept: 24 hours.
const KEPT_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// The answer to keep for a caller who may repeat the call.
pub(crate) fn to_keep(org: OrgId, repeat: &Repeat, body: &Bytes, now: Time) -> NewAnswer {
    NewAnswer {
        org,
        key: repeat.key.clone(),
        answer: Answer { content_hash: repeat.content_hash.clone(), body: body.clone() },
        recorded_at: now,
        expires_at: now.plus_micros(KEPT_MICROS),
    }
}

/// The idempotency key belongs to another call.
pub(crate) fn reused() -> Problem {
    Problem::new("idempotency_key_reused", "the Idempotency-Key was used for a call with other content")
}

/// Whether a unit takes nothing for granted about products and accounts, so that it may share a transaction with others
/// that came at the same time.
fn is_small(unit: &Unit) -> bool {
    !unit.customers.is_empty() && unit.accounts.is_empty() && unit.modes.is_empty() && unit.products.is_empty()
}

impl Service {
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
        self.check_tables()?;
        self.check_clock()?;
        let now = self.clock.now();
        unit.answers.extend(repeat.map(|repeat| to_keep(who.org, &repeat, answer, now)));
        let announces = !unit.messages.is_empty();
        let written = if is_small(&unit) {
            self.gathering.commit(&self.store, unit).await? == Claimed::Written
        } else {
            self.store.commit(Batch { units: vec![unit] }).await? == [Claimed::Written]
        };
        if written && announces {
            self.nudge.announced();
        }
        Ok(written)
    }
}
