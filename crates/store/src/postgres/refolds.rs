//! Accounts to be folded again, and what that changed.

use super::Postgres;
use super::arrays::{column, limit as most};
use super::cells::{self, ITEM, each};
use super::flight::Query;
use super::write::account_key;
use crate::Result;
use crate::batch::{AccountWrite, RefoldWrite};
use crate::records::{AccountKey, ItemRow, OrgId};
use crate::refolds::{RefoldRow, Refolds};
use async_trait::async_trait;

const TERMS: &str = "
    UPDATE accounts a SET terms = w.terms
    FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS account, unnest($3::bytea[]) AS terms) w
    WHERE a.org = w.org AND a.account = w.account";

const DONE: &str = "
    DELETE FROM accounts_to_refold r
    USING (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS account) w
    WHERE r.org = w.org AND r.account = w.account";

const LIST: &str = "
    INSERT INTO refolds (org, account, rules_version, recorded_at, state_before, state_after, failure)
    SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::text[]),
        unnest($6::text[]), unnest($7::text[])
    ON CONFLICT (org, account, rules_version) DO UPDATE
    SET recorded_at = excluded.recorded_at, state_before = excluded.state_before, state_after = excluded.state_after,
        failure = excluded.failure";

#[async_trait]
impl Refolds for Postgres {
    async fn accounts_to_refold(&self, after: Option<&AccountKey>, limit: usize) -> Result<Vec<AccountKey>> {
        let (org, account) = after.map_or((0, ""), |key| (key.org, &*key.account));
        let sql = "SELECT org, account FROM accounts_to_refold WHERE (org, account) > ($1, $2)
                   ORDER BY org, account LIMIT $3";
        let rows = self.server.query(sql, &[&org, &account, &most(limit)]).await?;
        each(&rows, |cells| Ok(AccountKey { org: cells.next()?, account: cells.text()? }))
    }

    async fn count_to_refold(&self) -> Result<i64> {
        let rows = self.server.query("SELECT count(*) FROM accounts_to_refold", &[]).await?;
        Ok(each(&rows, |cells| cells.next())?.first().copied().unwrap_or(0))
    }

    async fn refolds(&self, org: OrgId, after: Option<&str>, limit: usize) -> Result<Vec<RefoldRow>> {
        let sql = "SELECT org, account, rules_version, recorded_at, state_before, state_after, failure FROM refolds
                   WHERE org = $1 AND account > $2 ORDER BY account, rules_version LIMIT $3";
        let rows = self.server.query(sql, &[&org, &after.unwrap_or_default(), &most(limit)]).await?;
        each(&rows, |cells| {
            Ok(RefoldRow {
                key: AccountKey { org: cells.next()?, account: cells.text()? },
                rules_version: cells.next()?,
                recorded_at: cells.time()?,
                before: cells.next()?,
                after: cells.next()?,
                failure: cells.next()?,
            })
        })
    }

    async fn items_of(&self, keys: &[AccountKey]) -> Result<Vec<Vec<ItemRow>>> {
        let sql = format!(
            "SELECT w.place, {ITEM}
             FROM (SELECT unnest($1::bigint[]) AS place, unnest($2::bigint[]) AS org, unnest($3::text[]) AS account) w
             CROSS JOIN LATERAL (
                 SELECT * FROM line_items l WHERE l.org = w.org AND l.account = w.account OFFSET 0) l
             ORDER BY w.place, l.item_id"
        );
        let places: Vec<i64> = (0..keys.len() as i64).collect();
        let orgs: Vec<i64> = keys.iter().map(|key| key.org).collect();
        let accounts: Vec<&str> = keys.iter().map(|key| &*key.account).collect();
        let rows = self.server.query(&sql, &[&places, &orgs, &accounts]).await?;
        let mut items = vec![Vec::new(); keys.len()];
        for (place, item) in each(&rows, |cells| Ok((cells.next::<i64>()?, cells::item(cells)?)))? {
            if let Some(of_account) = items.get_mut(place as usize) {
                of_account.push(item);
            }
        }
        Ok(items)
    }
}

/// Writes the results of folding accounts again. The accounts are claimed.
pub(super) fn steps<'a>(writes: &[&'a AccountWrite]) -> Vec<Query<'a>> {
    let refolds: Vec<(&AccountKey, &RefoldWrite)> =
        writes.iter().filter_map(|write| Some((account_key(write), write.refold.as_ref()?))).collect();
    let done = |&(key, refold): &(&'a AccountKey, &'a RefoldWrite)| Some((key, refold.terms.as_deref()?));
    let done: Vec<(&AccountKey, &[u8])> = refolds.iter().filter_map(done).collect();
    let listed: Vec<&RefoldRow> = refolds.iter().filter_map(|(_, refold)| refold.listed.as_ref()).collect();
    let mut steps = Vec::new();
    if !done.is_empty() {
        let key = || vec![column(&done, |&(key, _)| key.org), column(&done, |&(key, _)| &*key.account)];
        let mut with_terms = key();
        with_terms.push(column(&done, |&(_, terms)| terms));
        steps.extend([Query::new(TERMS, with_terms), Query::new(DONE, key())]);
    }
    if !listed.is_empty() {
        steps.push(Query::new(
            LIST,
            vec![
                column(&listed, |row| row.key.org),
                column(&listed, |&row| &*row.key.account),
                column(&listed, |row| row.rules_version),
                column(&listed, |row| row.recorded_at.micros()),
                column(&listed, |&row| row.before.as_deref()),
                column(&listed, |&row| row.after.as_deref()),
                column(&listed, |&row| row.failure.as_deref()),
            ],
        ));
    }
    steps
}
