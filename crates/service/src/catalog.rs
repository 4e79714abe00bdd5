//! Caches products and organizations.
//!
//! Processing an account needs its product and its organization's signing key. They change rarely, so they are kept in
//! memory. Only a product's mode and the key can become stale. A commit states the version of the mode it was computed
//! under; the store refuses it if that version is outdated, and the product is then read again. A change of the key
//! raises that version too: a product whose version is new is combined with the current organization.

use crate::boxed;
use crate::form::NewProduct;
use crate::lock::lock;
use crate::problem::Problem;
use crate::secrets::Secrets;
use crate::view::ProductFacts;
use crate::webhooks::event_ids::EventIds;
use daybook_engine::time::Time;
use daybook_store::Store;
use daybook_store::records::{Mode, OrgId, Organization, ProductKey, ProductRow};
use daybook_webhooks::signature::SigningKey;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The largest number of cached products. When it is reached, the cache is cleared.
const MOST_PRODUCTS: usize = 100_000;

/// A product, ready for use.
#[derive(Clone, Debug)]
pub struct ProductInfo {
    /// Its key.
    pub key: ProductKey,
    /// The form that defines it.
    pub form: NewProduct,
    /// The facts about it that accounts show.
    pub facts: ProductFacts,
    /// Its mode when it was read.
    pub mode: Mode,
    /// The key that signs its organization's messages.
    pub signing: SigningKey,
    /// Makes the ids of its organization's events.
    pub event_ids: EventIds,
}

/// An organization, ready for use.
#[derive(Debug)]
pub struct OrganizationInfo {
    /// Its row.
    pub row: Organization,
    /// The key that signs its messages.
    pub signing: SigningKey,
    /// Makes the ids of its events.
    pub event_ids: EventIds,
}

/// A cache of products and organizations.
#[derive(Debug)]
pub struct Catalog {
    store: Arc<dyn Store>,
    secrets: Secrets,
    products: Mutex<HashMap<ProductKey, Arc<ProductInfo>>>,
    organizations: Mutex<HashMap<OrgId, Arc<OrganizationInfo>>>,
}

impl Catalog {
    /// An empty cache over a store.
    pub fn new(store: Arc<dyn Store>, secrets: Secrets) -> Catalog {
        Catalog { store, secrets, products: Mutex::default(), organizations: Mutex::default() }
    }

    /// An organization from the cache. Its name and environment never change; its key may be outdated.
    pub async fn organization(&self, org: OrgId) -> Result<Arc<OrganizationInfo>, Problem> {
        if let Some(known) = lock(&self.organizations).get(&org) {
            return Ok(known.clone());
        }
        self.fresh_organization(org).await
    }

    /// An organization as the store has it now.
    #[boxed]
    pub async fn fresh_organization(&self, org: OrgId) -> Result<Arc<OrganizationInfo>, Problem> {
        let row = self.store.organizations().await?.into_iter().find(|row| row.org == org);
        let row = row.ok_or_else(|| Problem::internal(format!("there is no organization {org}")))?;
        let event_ids = EventIds::new(&row.event_mark);
        let info = Arc::new(OrganizationInfo { signing: self.key(&row.signing_key)?, event_ids, row });
        lock(&self.organizations).insert(org, info.clone());
        Ok(info)
    }

    /// The keys that receivers of an organization's messages may currently use: the current one and, until it expires,
    /// the previous one.
    pub async fn signing_keys(&self, org: OrgId, now: Time) -> Result<Vec<SigningKey>, Problem> {
        let organization = self.fresh_organization(org).await?;
        let mut keys = vec![organization.signing.clone()];
        if let Some((sealed, until)) = &organization.row.previous_signing_key
            && now < *until
        {
            keys.push(self.key(sealed)?);
        }
        Ok(keys)
    }

    /// All stored keys of an organization: the current one and the previous one, even if it has expired.
    pub async fn remembered_keys(&self, org: OrgId) -> Result<Vec<SigningKey>, Problem> {
        self.signing_keys(org, Time::BEGINNING).await
    }

    fn key(&self, sealed: &[u8]) -> Result<SigningKey, Problem> {
        let text = String::from_utf8(self.secrets.open(sealed)?);
        Ok(SigningKey::from_text(text.map_err(|_| Problem::internal("a signing key is not text"))?))
    }

    /// A product from the cache, or from the store if it is not cached.
    pub async fn product(&self, key: &ProductKey) -> Result<Option<Arc<ProductInfo>>, Problem> {
        if let Some(known) = self.kept(key) {
            return Ok(Some(known));
        }
        self.fresh_product(key).await
    }

    /// A product from the cache only.
    pub fn kept(&self, key: &ProductKey) -> Option<Arc<ProductInfo>> {
        lock(&self.products).get(key).cloned()
    }

    /// A product as the store has it now.
    #[boxed]
    pub async fn fresh_product(&self, key: &ProductKey) -> Result<Option<Arc<ProductInfo>>, Problem> {
        let Some(row) = self.store.product(key).await? else { return Ok(None) };
        Ok(Some(self.keep(row).await?))
    }

    /// A product that is prepared for showing and not cached.
    pub async fn ready(&self, row: ProductRow) -> Result<Arc<ProductInfo>, Problem> {
        let organization = self.organization(row.key.org).await?;
        Catalog::put_together(row, &organization)
    }

    fn put_together(row: ProductRow, organization: &OrganizationInfo) -> Result<Arc<ProductInfo>, Problem> {
        let form: NewProduct = serde_json::from_str(&row.body)
            .map_err(|error| Problem::internal(format!("product {} cannot be read: {error}", row.key.product)))?;
        let facts = ProductFacts::new(&*row.key.product, &form)?;
        let (signing, event_ids) = (organization.signing.clone(), organization.event_ids.clone());
        Ok(Arc::new(ProductInfo { facts, form, mode: row.mode, signing, event_ids, key: row.key }))
    }

    /// Caches a product that was read. A product changes only together with its version.
    pub async fn keep(&self, row: ProductRow) -> Result<Arc<ProductInfo>, Problem> {
        if let Some(known) = self.kept(&row.key).filter(|known| known.mode.version == row.mode.version) {
            return Ok(known);
        }
        // The organization is read after the product, so that its key is not older than the product's version.
        let organization = self.fresh_organization(row.key.org).await?;
        let info = Catalog::put_together(row, &organization)?;
        let mut products = lock(&self.products);
        if products.len() >= MOST_PRODUCTS {
            products.clear();
        }
        products.insert(info.key.clone(), info.clone());
        Ok(info)
    }

    /// Removes a product from the cache.
    pub fn forget(&self, key: &ProductKey) {
        lock(&self.products).remove(key);
    }

    /// Removes an organization and its products from the cache.
    pub fn forget_organization(&self, org: OrgId) {
        lock(&self.organizations).remove(&org);
        lock(&self.products).retain(|key, _| key.org != org);
    }
}
