//! Products and organizations, kept at hand.
//!
//! Every account needs its product and its organization's signing key. They change rarely, so they are kept in memory.
//! Only a product's mode can go stale; a commit says which mode it was computed under, the store refuses it if that is
//! no longer so, and the product is then read again.

use crate::form::NewProduct;
use crate::lock::lock;
use crate::problem::Problem;
use crate::secrets::Secrets;
use crate::view::ProductFacts;
use daybook_store::Store;
use daybook_store::records::{Mode, OrgId, Organization, ProductKey, ProductRow};
use daybook_webhooks::signature::Key;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The most products kept in memory; beyond that all are let go and read again.
const MOST_PRODUCTS: usize = 100_000;

/// A product, ready to be used.
#[derive(Debug)]
pub struct ProductInfo {
    /// Which.
    pub key: ProductKey,
    /// What it says.
    pub form: NewProduct,
    /// What accounts show of it.
    pub facts: ProductFacts,
    /// Its mode when it was read.
    pub mode: Mode,
    /// The key that signs its organization's messages.
    pub signing: Key,
}

/// An organization, ready to be used.
#[derive(Debug)]
pub struct OrganizationInfo {
    /// Its row.
    pub row: Organization,
    /// The key that signs its messages.
    pub signing: Key,
}

/// Products and organizations, kept at hand.
#[derive(Debug)]
pub struct Catalog {
    store: Arc<dyn Store>,
    secrets: Secrets,
    products: Mutex<HashMap<ProductKey, Arc<ProductInfo>>>,
    organizations: Mutex<HashMap<OrgId, Arc<OrganizationInfo>>>,
}

impl Catalog {
    /// An empty catalog over a store.
    pub fn new(store: Arc<dyn Store>, secrets: Secrets) -> Catalog {
        Catalog { store, secrets, products: Mutex::default(), organizations: Mutex::default() }
    }

    /// An organization.
    pub async fn organization(&self, org: OrgId) -> Result<Arc<OrganizationInfo>, Problem> {
        if let Some(known) = lock(&self.organizations).get(&org) {
            return Ok(known.clone());
        }
        for row in self.store.organizations().await? {
            let signing = self.secrets.open(&row.signing_key)?;
            let signing = String::from_utf8(signing).map_err(|_| Problem::internal("a signing key is no text"))?;
            let info = OrganizationInfo { signing: Key::from_text(signing), row };
            lock(&self.organizations).insert(info.row.org, Arc::new(info));
        }
        let known = lock(&self.organizations).get(&org).cloned();
        known.ok_or_else(|| Problem::internal(format!("there is no organization {org}")))
    }

    /// A product as it was last read.
    pub async fn product(&self, key: &ProductKey) -> Result<Option<Arc<ProductInfo>>, Problem> {
        if let Some(known) = self.kept(key) {
            return Ok(Some(known));
        }
        self.fresh_product(key).await
    }

    /// A product if it is kept in memory.
    pub fn kept(&self, key: &ProductKey) -> Option<Arc<ProductInfo>> {
        lock(&self.products).get(key).cloned()
    }

    /// A product as it is now.
    pub async fn fresh_product(&self, key: &ProductKey) -> Result<Option<Arc<ProductInfo>>, Problem> {
        let Some(row) = self.store.product(key).await? else { return Ok(None) };
        Ok(Some(self.keep(row).await?))
    }

    /// A product made ready, and not kept.
    pub async fn ready(&self, row: ProductRow) -> Result<Arc<ProductInfo>, Problem> {
        let organization = self.organization(row.key.org).await?;
        let form: NewProduct = serde_json::from_str(&row.body)
            .map_err(|error| Problem::internal(format!("product {} cannot be read: {error}", row.key.product)))?;
        let facts = ProductFacts::new(&*row.key.product, &form)?;
        let info = ProductInfo { facts, form, mode: row.mode, signing: organization.signing.clone(), key: row.key };
        Ok(Arc::new(info))
    }

    /// Keeps a product that was read.
    pub async fn keep(&self, row: ProductRow) -> Result<Arc<ProductInfo>, Problem> {
        let info = self.ready(row).await?;
        let mut products = lock(&self.products);
        if products.len() >= MOST_PRODUCTS {
            products.clear();
        }
        products.insert(info.key.clone(), info.clone());
        Ok(info)
    }

    /// Forgets a product, so that it is read again.
    pub fn forget(&self, key: &ProductKey) {
        lock(&self.products).remove(key);
    }
}
