//! Accounts to be folded again, and what that changed.

use crate::batch::RefoldWrite;
use crate::records::AccountKey;
use rusqlite::{Connection, params};

const TERMS: &str = "UPDATE accounts SET terms = ?3 WHERE org = ?1 AND account = ?2";
const DONE: &str = "DELETE FROM accounts_to_refold WHERE org = ?1 AND account = ?2";
const LIST: &str = "
    INSERT INTO refolds (org, account, rules_version, recorded_at, state_before, state_after, failure)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (org, account, rules_version) DO UPDATE SET recorded_at = excluded.recorded_at,
        state_before = excluded.state_before, state_after = excluded.state_after, failure = excluded.failure";

/// Writes the result of folding an account again. The account is claimed.
pub(super) fn write(connection: &Connection, key: &AccountKey, refold: &RefoldWrite) -> rusqlite::Result<()> {
    if let Some(terms) = &refold.terms {
        connection.prepare_cached(TERMS)?.execute(params![key.org, key.account, terms])?;
        connection.prepare_cached(DONE)?.execute(params![key.org, key.account])?;
    }
    if let Some(row) = &refold.listed {
        connection.prepare_cached(LIST)?.execute(params![
            key.org,
            key.account,
            row.rules_version,
            row.recorded_at.micros(),
            row.before,
            row.after,
            row.failure,
        ])?;
    }
    Ok(())
}
