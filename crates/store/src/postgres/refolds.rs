//! Accounts to be folded again, and what that changed.

use super::arrays::column;
use super::flight::Query;
use super::write::account_key;
use crate::batch::{AccountWrite, RefoldWrite};
use crate::records::AccountKey;
use crate::refolds::RefoldRow;

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
