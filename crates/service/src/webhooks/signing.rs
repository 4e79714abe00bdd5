//! The key that signs an organization's messages, and its rotation.
//!
//! A message is signed once, when it is recorded. So a rotation makes all work stale that was computed with the old key
//! and is not written yet: with the key, the store raises the versions of the products' modes, so that such work is
//! repeated with the new key, on every node. For a day the previous key is kept, and messages also carry its signature
//! for receivers that only know that key.

use crate::Service;
use crate::access::{Caller, Right};
use crate::audit::Act;
use crate::boxed;
use crate::catalog::OrganizationInfo;
use crate::ids::random_bytes;
use crate::problem::Problem;
use crate::view::{self, time::Utc};
use daybook_webhooks::signature::SigningKey;

/// How long the previous key is kept: 24 hours.
const PREVIOUS_KEY_MICROS: i64 = 24 * 3_600 * 1_000_000;

impl Service {
    /// The key that signs the organization's messages.
    #[boxed]
    pub async fn hmac_key(&self, who: &Caller) -> Result<view::HmacKey, Problem> {
        who.may(Right::Administer)?;
        let organization = self.catalog.fresh_organization(who.org).await?;
        Ok(view::HmacKey { hmac_secret_key: organization.signing.text().to_owned() })
    }

    /// A mark that identifies the current key without revealing it. A form that rotates the key carries it.
    #[boxed]
    pub async fn hmac_key_mark(&self, who: &Caller) -> Result<String, Problem> {
        who.may(Right::Administer)?;
        Ok(self.mark_of(&*self.catalog.fresh_organization(who.org).await?))
    }

    fn mark_of(&self, organization: &OrganizationInfo) -> String {
        self.secrets.console_mark("signing key", organization.signing.text().as_bytes())
    }

    /// Rotates the key. Messages recorded from now on use the new one.
    #[boxed]
    pub async fn rotate_hmac_key(&self, who: &Caller) -> Result<view::RotatedKey, Problem> {
        who.may(Right::Administer)?;
        let before = self.catalog.fresh_organization(who.org).await?;
        self.rotate_from(who, &before).await
    }

    /// Rotates the key if it still has this mark, so that a form sent twice rotates it once.
    #[boxed]
    pub async fn rotate_hmac_key_shown(&self, who: &Caller, mark: &str) -> Result<view::RotatedKey, Problem> {
        who.may(Right::Administer)?;
        let before = self.catalog.fresh_organization(who.org).await?;
        if self.mark_of(&before) != mark {
            return Err(Problem::new("conflict", "the key was rotated after this form was loaded"));
        }
        self.rotate_from(who, &before).await
    }

    async fn rotate_from(&self, who: &Caller, before: &OrganizationInfo) -> Result<view::RotatedKey, Problem> {
        let key = SigningKey::from_bytes(&random_bytes::<32>());
        let sealed = self.secrets.seal(key.text().as_bytes())?;
        let until = self.clock.now().plus_micros(PREVIOUS_KEY_MICROS);
        let record = self.recorded(who, Act::on("rotate_hmac_key", "organization", &before.row.name));
        let (old, record) = (&before.row.signing_key, record.as_ref());
        let rotated = self.store.rotate_signing_key(who.org, old, &sealed, until, record).await?;
        self.catalog.forget_organization(who.org);
        if !rotated {
            return Err(Problem::new("conflict", "another request rotated the key at the same time"));
        }
        Ok(view::RotatedKey { hmac_secret_key: key.text().to_owned(), previous_key_until: Utc(until) })
    }
}
