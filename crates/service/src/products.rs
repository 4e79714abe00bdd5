//! Products: creating, reading and listing them.

use crate::Service;
use crate::access::{Caller, Right};
use crate::accounts::content_hash;
use crate::audit::Act;
use crate::boxed;
use crate::catalog::ProductInfo;
use crate::form::NewProduct;
use crate::ids::mint_id;
use crate::paging::Paging;
use crate::policy;
use crate::problem::Problem;
use crate::processor::job::IdempotencyKey;
use crate::search_index::of_product;
use crate::view::render;
use crate::view::{self, MigrationState};
use bytes::Bytes;
use daybook_store::batch::{ProductWrite, Unit};
use daybook_store::records::{Mode, ProductKey, ProductRow};
use std::sync::Arc;

impl Service {
    /// Creates a product.
    #[boxed]
    pub async fn create_product(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        form: NewProduct,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
            return Ok(answer);
        }
        Problem::not_supported(form.unsupported())?;
        let now = self.clock.now();
        let content_hash = content_hash(&form)?;
        let holding = form.starts_in_migration_mode();
        let product: Arc<str> = match &form.product_id {
            Some(id) => Arc::from(id.as_str()),
            None => Arc::from(mint_id("prod")),
        };
        let key = ProductKey { org: who.org, product };
        // Checked first, so that an existing product is returned even if its form would be refused today.
        if let Some(before) = self.store.product(&key).await? {
            let answer = self.product_again(before, &content_hash).await?;
            return self.keep_answer(who, idempotency_key, answer).await;
        }
        form.check()?;
        let form = policy::settle_product(form, now)?;
        let body = serde_json::to_string(&form)
            .map_err(|error| Problem::internal(format!("a form cannot be serialized: {error}")))?;
        let row = ProductRow {
            key: key.clone(),
            body,
            content_hash: content_hash.clone(),
            created_at: now,
            mode: Mode { version: 1, holding, ..Mode::default() },
        };
        let answer = render(&show(&*self.catalog.ready(row.clone()).await?, &row));
        let words = vec![of_product(who.org, &key.product, &form)];
        let act = Act::on("create_product", "product", &key.product).with("migration_mode", holding);
        let audit = self.recorded(who, act).into_iter().collect();
        if let Some(zone) = form.zone() {
            self.keep_zone(&zone).await?;
        }
        let unit = Unit { products: vec![ProductWrite::Insert(Box::new(row))], words, audit, ..Unit::default() };
        if self.write_alone(who, unit, idempotency_key.clone(), &answer).await? {
            return Ok(answer);
        }
        // A concurrent request was faster: with the same idempotency key, or with the same id.
        if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
            return Ok(answer);
        }
        match self.store.product(&key).await? {
            Some(before) => self.product_again(before, &content_hash).await,
            None => Err(Problem::unavailable("another request is creating the product: try again")),
        }
    }

    async fn product_again(&self, before: ProductRow, content_hash: &[u8]) -> Result<Bytes, Problem> {
        if before.content_hash != content_hash {
            return Err(Problem::id_taken("product_id", "product", &before.key.product));
        }
        let info = self.catalog.keep(before.clone()).await?;
        Ok(render(&show(&info, &before)))
    }

    /// A product.
    #[boxed]
    pub async fn get_product(&self, who: &Caller, product: &str) -> Result<view::Product, Problem> {
        who.may(Right::Read)?;
        let row = self.product_row(who, product).await?;
        let info = self.catalog.keep(row.clone()).await?;
        Ok(show(&info, &row))
    }

    /// A page of products.
    #[boxed]
    pub async fn list_products(&self, who: &Caller, paging: Paging) -> Result<view::Page<view::Product>, Problem> {
        who.may(Right::Read)?;
        let mut rows = self.store.products(who.org, &paging.of_store()).await?;
        let paging = paging.cut(&mut rows, |row| row.key.product.to_string());
        let mut results = Vec::with_capacity(rows.len());
        for row in rows {
            let info = self.catalog.ready(row.clone()).await?;
            results.push(show(&info, &row));
        }
        Ok(view::Page { results, paging })
    }

    pub(crate) async fn product_row(&self, who: &Caller, product: &str) -> Result<ProductRow, Problem> {
        let key = ProductKey { org: who.org, product: Arc::from(product) };
        self.store.product(&key).await?.ok_or_else(|| Problem::not_found("product", product))
    }
}

/// Whether a product holds events, releases them, or processes them normally.
pub(crate) fn migration_state(mode: &Mode) -> MigrationState {
    match (mode.holding, mode.releasing) {
        (true, _) => MigrationState::Holding,
        (false, true) => MigrationState::Releasing,
        (false, false) => MigrationState::Normal,
    }
}

fn show(info: &ProductInfo, row: &ProductRow) -> view::Product {
    view::Product::new(&info.facts, &info.form, row.created_at, migration_state(&row.mode))
}
