//! The key that signs an organization's messages, and giving out another.
//!
//! A message is signed once, when it is recorded. Rotating therefore makes everything stale that was computed with the
//! old key and is not written yet: the store raises the versions of the products' modes with the key, so that such work
//! is done again, with the new one, on every node. For a day the key before is remembered, and receivers who know only
//! that one still find a signature by it.

use crate::Service;
use crate::access::{Caller, Right};
use crate::ids::random_bytes;
use crate::problem::Problem;
use crate::view::{self, render, time::Utc};
use bytes::Bytes;
use daybook_webhooks::signature::Key;

/// How long the key before is remembered: 24 hours.
const PREVIOUS_KEY_MICROS: i64 = 24 * 3_600 * 1_000_000;

impl Service {
    /// The key that signs the organization's messages.
    pub async fn hmac_key(&self, who: &Caller) -> Result<Bytes, Problem> {
        who.may(Right::Administer)?;
        let organization = self.catalog.fresh_organization(who.org).await?;
        Ok(render(&view::HmacKey { hmac_secret_key: organization.signing.text() }))
    }

    /// Gives the organization a new key. Messages recorded from now on use it.
    pub async fn rotate_hmac_key(&self, who: &Caller) -> Result<Bytes, Problem> {
        who.may(Right::Administer)?;
        let before = self.catalog.fresh_organization(who.org).await?;
        let key = Key::from_bytes(&random_bytes::<32>());
        let sealed = self.secrets.seal(key.text().as_bytes())?;
        let until = self.clock.now().plus_micros(PREVIOUS_KEY_MICROS);
        let rotated = self.store.rotate_signing_key(who.org, &before.row.signing_key, &sealed, until).await?;
        self.catalog.forget_organization(who.org);
        if !rotated {
            return Err(Problem::new("conflict", "the key was rotated by somebody else just now"));
        }
        Ok(render(&view::RotatedKey { hmac_secret_key: key.text(), previous_key_until: Utc(until) }))
    }
}
