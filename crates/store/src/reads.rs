//! Reads of products, customers, accounts, line items and kept responses.

use crate::Result;
use crate::dialect::{Dialect, RowReader, SqlParameter, sql};
use crate::records::{
    AccountKey, AccountRow, CustomerRow, HeldCounts, InputRow, ItemRow, KeptResponse, OrgId, PageRequest, ProductKey,
    ProductRow,
};
use crate::rows::{self, ACCOUNT, INPUT, PRODUCT};
use async_trait::async_trait;
use daybook_engine::time::Time;
use std::sync::Arc;

/// Reads of a database.
#[async_trait]
pub trait Reads: std::fmt::Debug + Send + Sync {
    /// A product.
    async fn product(&self, key: &ProductKey) -> Result<Option<ProductRow>>;

    /// Products by id.
    async fn products(&self, org: OrgId, page: &PageRequest) -> Result<Vec<ProductRow>>;

    /// Products of all organizations whose release is in progress.
    async fn releasing_products(&self) -> Result<Vec<ProductKey>>;

    /// How many accounts and events of a product are held.
    async fn held_counts(&self, key: &ProductKey) -> Result<HeldCounts>;

    /// Accounts of a product that could not be processed: id and reason, by id, at most `limit`.
    async fn failed_accounts(&self, key: &ProductKey, limit: usize) -> Result<Vec<(Arc<str>, String)>>;

    /// A customer.
    async fn customer(&self, org: OrgId, customer_id: &str) -> Result<Option<CustomerRow>>;

    /// Customers by id.
    async fn customers(&self, org: OrgId, page: &PageRequest) -> Result<Vec<CustomerRow>>;

    /// The accounts of a customer, with the role: by account id, at most `limit`.
    async fn customer_accounts(&self, org: OrgId, customer_id: &str, limit: usize) -> Result<Vec<(Arc<str>, String)>>;

    /// The first inputs of an account by number, at most `limit`.
    async fn first_recorded(&self, key: &AccountKey, limit: usize) -> Result<Vec<InputRow>>;

    /// The first inputs of an account's timeline, in its order (`applies_at`, `rank`, `seq`), at most `limit`.
    async fn first_inputs(&self, key: &AccountKey, limit: usize) -> Result<Vec<InputRow>>;

    /// Whether an account has an input whose payload begins with one of these, or one that is recorded after `seq` but
    /// placed at or before `until`.
    async fn has_input_beginning(
        &self,
        key: &AccountKey,
        beginnings: &[Vec<u8>],
        recorded_late: Option<(i64, Time)>,
    ) -> Result<bool>;

    /// Accounts by id.
    async fn accounts(&self, org: OrgId, page: &PageRequest) -> Result<Vec<AccountRow>>;

    /// The line items of an account, by id.
    async fn items(&self, key: &AccountKey) -> Result<Vec<ItemRow>>;

    /// The response kept for an idempotency key, unless it expired by `now`.
    async fn answer(&self, org: OrgId, key: &str, now: Time) -> Result<Option<KeptResponse>>;
}

/// A page of a list that is sorted by `id`: the rows that `select` and the organization choose. With `before`, rows are
/// read backwards from it and then reversed. No id is empty, so all sort after the empty string.
async fn page<T: Send + 'static>(
    database: &impl Dialect,
    select: &str,
    id: &str,
    org: OrgId,
    page: &PageRequest,
    read: RowReader<T>,
) -> Result<Vec<T>> {
    let after = page.after.as_deref().unwrap_or_default();
    let Some(before) = page.before.as_deref() else {
        let text = format!("{select} WHERE org = $1 AND {id} > $2 ORDER BY {id} LIMIT $3");
        return database.all(sql!(text, org, after, page.limit), read).await;
    };
    let text = format!("{select} WHERE org = $1 AND {id} > $2 AND {id} < $4 ORDER BY {id} DESC LIMIT $3");
    let mut found = database.all(sql!(text, org, after, page.limit, before), read).await?;
    found.reverse();
    Ok(found)
}

#[async_trait]
impl<D: Dialect> Reads for D {
    async fn product(&self, key: &ProductKey) -> Result<Option<ProductRow>> {
        let text = format!("SELECT {PRODUCT} FROM products WHERE org = $1 AND product = $2");
        self.one(sql!(text, key.org, &key.product), rows::product).await
    }

    async fn products(&self, org: OrgId, wanted: &PageRequest) -> Result<Vec<ProductRow>> {
        page(self, &format!("SELECT {PRODUCT} FROM products"), "product", org, wanted, rows::product).await
    }

    async fn releasing_products(&self) -> Result<Vec<ProductKey>> {
        let text = format!("SELECT org, product FROM products WHERE releasing{} ORDER BY org, product", D::IS_TRUE);
        self.all(sql!(text), rows::product_key).await
    }

    async fn held_counts(&self, key: &ProductKey) -> Result<HeldCounts> {
        let text = "SELECT held.accounts, held.events, failed.accounts, failed.events
                    FROM (SELECT count(*) AS accounts, CAST(coalesce(sum(held_events), 0) AS bigint) AS events
                          FROM accounts WHERE org = $1 AND product = $2 AND held_events > 0 AND failure IS NULL) held,
                         (SELECT count(*) AS accounts, CAST(coalesce(sum(held_events), 0) AS bigint) AS events
                          FROM accounts WHERE org = $1 AND product = $2 AND failure IS NOT NULL) failed";
        let counts = self.one(sql!(text, key.org, &key.product), |cells| {
            Ok(HeldCounts {
                accounts: cells.next()?,
                events: cells.next()?,
                failed_accounts: cells.next()?,
                failed_events: cells.next()?,
            })
        });
        Ok(counts.await?.unwrap_or_default())
    }

    /// Names the index; otherwise SQLite would read all accounts of the product to find the few that failed.
    async fn failed_accounts(&self, key: &ProductKey, limit: usize) -> Result<Vec<(Arc<str>, String)>> {
        let text = format!(
            "SELECT account, failure FROM accounts {}
             WHERE org = $1 AND product = $2 AND failure IS NOT NULL ORDER BY account LIMIT $3",
            D::indexed_by("accounts_failed")
        );
        self.all(sql!(text, key.org, &key.product, limit), |cells| Ok((cells.text()?, cells.next()?))).await
    }

    async fn customer(&self, org: OrgId, customer_id: &str) -> Result<Option<CustomerRow>> {
        let text = format!("SELECT {} FROM customers WHERE org = $1 AND {} = $2", D::CUSTOMER, D::CUSTOMER_ID);
        self.one(sql!(text, org, customer_id), rows::customer).await
    }

    async fn customers(&self, org: OrgId, wanted: &PageRequest) -> Result<Vec<CustomerRow>> {
        let select = format!("SELECT {} FROM customers", D::CUSTOMER);
        page(self, &select, D::CUSTOMER_ID, org, wanted, rows::customer).await
    }

    async fn customer_accounts(&self, org: OrgId, customer_id: &str, limit: usize) -> Result<Vec<(Arc<str>, String)>> {
        let text = format!(
            "SELECT account, role FROM account_customers WHERE org = $1 AND {} = $2 ORDER BY account LIMIT $3",
            D::CUSTOMER_ID
        );
        self.all(sql!(text, org, customer_id, limit), |cells| Ok((cells.text()?, cells.next()?))).await
    }

    async fn first_recorded(&self, key: &AccountKey, limit: usize) -> Result<Vec<InputRow>> {
        let text = format!("SELECT {INPUT} FROM inputs WHERE org = $1 AND account = $2 ORDER BY seq LIMIT $3");
        self.all(sql!(text, key.org, &key.account, limit), rows::input).await
    }

    async fn first_inputs(&self, key: &AccountKey, limit: usize) -> Result<Vec<InputRow>> {
        // The numbers are sorted without the other columns, which are much larger.
        let text = format!(
            "SELECT {INPUT} FROM inputs WHERE org = $1 AND account = $2 AND seq IN (\
                 SELECT seq FROM inputs WHERE org = $1 AND account = $2 ORDER BY applies_at, rank, seq LIMIT $3) \
             ORDER BY applies_at, rank, seq"
        );
        self.all(sql!(text, key.org, &key.account, limit), rows::input).await
    }

    async fn has_input_beginning(
        &self,
        key: &AccountKey,
        beginnings: &[Vec<u8>],
        recorded_late: Option<(i64, Time)>,
    ) -> Result<bool> {
        let mut statement = sql!("", key.org, &key.account);
        let mut any = Vec::with_capacity(beginnings.len() + 1);
        if let Some((seq, until)) = recorded_late {
            statement.values.extend([SqlParameter::from(seq), SqlParameter::from(until)]);
            any.push("(seq > $3 AND applies_at <= $4)".to_owned());
        }
        for begins in beginnings {
            statement.values.push(SqlParameter::from(begins));
            any.push(format!("substr(payload, 1, {}) = ${}", begins.len(), statement.values.len()));
        }
        let any = any.join(" OR ");
        statement.sql = format!("SELECT 1 FROM inputs WHERE org = $1 AND account = $2 AND ({any}) LIMIT 1").into();
        Ok(self.one(statement, |_| Ok(())).await?.is_some())
    }

    async fn accounts(&self, org: OrgId, wanted: &PageRequest) -> Result<Vec<AccountRow>> {
        page(self, &format!("SELECT {ACCOUNT} FROM accounts a"), "account", org, wanted, rows::account).await
    }

    async fn items(&self, key: &AccountKey) -> Result<Vec<ItemRow>> {
        let (columns, id) = (D::ITEM, D::ITEM_ID);
        let text = format!("SELECT {columns} FROM line_items WHERE org = $1 AND account = $2 ORDER BY {id}");
        self.all(sql!(text, key.org, &key.account), rows::item).await
    }

    async fn answer(&self, org: OrgId, key: &str, now: Time) -> Result<Option<KeptResponse>> {
        let text = "SELECT content_hash, body FROM answers WHERE org = $1 AND key = $2 AND expires_at > $3";
        let read: RowReader<KeptResponse> =
            |cells| Ok(KeptResponse { content_hash: cells.next()?, body: cells.bytes()? });
        self.one(sql!(text, org, key, now), read).await
    }
}
