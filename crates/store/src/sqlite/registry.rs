//! Settings, organizations and keys: small tables that are read often and written rarely.

use super::connection::broken;
use super::read::{all, one};
use super::rows::{self, KEY_COLUMNS, LAST_ORG, ORGANIZATION_COLUMNS};
use crate::Result;
use crate::error::StoreError;
use crate::records::{KeyRow, OrgId, Organization};
use crate::{LATEST_MOMENT, moment_bytes};
use daybook_engine::time::Time;
use rusqlite::{Connection, TransactionBehavior, params};

pub(super) fn setting(connection: &Connection, name: &str) -> Result<Option<Vec<u8>>> {
    one(connection, "SELECT value FROM settings WHERE name = ?1", [name], |row| row.get(0))
}

pub(super) fn keep_setting(connection: &Connection, name: &str, value: &[u8]) -> Result<Vec<u8>> {
    let sql = "INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    connection.execute(sql, params![name, value]).map_err(broken)?;
    setting(connection, name)?.ok_or_else(|| StoreError::Broken(format!("the setting {name} was not stored")))
}

pub(super) fn put_setting(connection: &Connection, name: &str, value: &[u8]) -> Result<()> {
    let sql = "INSERT INTO settings (name, value) VALUES (?1, ?2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(sql, params![name, value]).map(drop).map_err(broken)
}

pub(super) fn remove_setting(connection: &Connection, name: &str) -> Result<bool> {
    let removed = connection.execute("DELETE FROM settings WHERE name = ?1", [name]).map_err(broken)?;
    Ok(removed > 0)
}

pub(super) fn note_moment(connection: &Connection, at: Time, even_back: bool) -> Result<()> {
    let sql = "INSERT INTO settings (name, value) VALUES (?1, ?2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE ?3 OR value < excluded.value";
    connection.execute(sql, params![LATEST_MOMENT, moment_bytes(at), even_back]).map(drop).map_err(broken)
}

pub(super) fn create_organization(connection: &Connection, organization: &Organization) -> Result<OrgId> {
    let sql = "INSERT INTO organizations (name, environment, created_at, signing_key, previous_signing_key, \
               previous_signing_key_until, event_mark) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING org";
    let Organization { org: _, name, environment, created_at, signing_key, previous_signing_key, event_mark } =
        organization;
    let previous = previous_signing_key.as_ref();
    let params = params![
        name,
        environment,
        created_at.micros(),
        signing_key,
        previous.map(|(key, _)| key),
        previous.map(|(_, until)| until.micros()),
        event_mark,
    ];
    let org = connection.query_row(sql, params, |row| row.get(0)).map_err(broken)?;
    if org > LAST_ORG {
        return Err(StoreError::Broken("the maximum number of organizations is reached".to_owned()));
    }
    Ok(org)
}

/// The mode versions of the organization's products go up, so that messages signed with the old key and not written yet
/// are computed again.
pub(super) fn rotate_signing_key(
    transaction: &Connection,
    org: OrgId,
    old: &[u8],
    new: &[u8],
    old_until: Time,
) -> Result<bool> {
    let sql = "UPDATE organizations SET previous_signing_key = signing_key, previous_signing_key_until = ?4, \
               signing_key = ?3 WHERE org = ?1 AND signing_key = ?2";
    let rotated = transaction.execute(sql, params![org, old, new, old_until.micros()]).map_err(broken)? == 1;
    if rotated {
        let sql = "UPDATE products SET mode_version = mode_version + 1 WHERE org = ?1";
        transaction.execute(sql, [org]).map_err(broken)?;
    }
    Ok(rotated)
}

pub(super) fn organizations(connection: &Connection) -> Result<Vec<Organization>> {
    all(connection, &format!("SELECT {ORGANIZATION_COLUMNS} FROM organizations ORDER BY org"), [], rows::organization)
}

pub(super) fn create_key(connection: &Connection, key: &KeyRow) -> Result<bool> {
    let sql = format!(
        "INSERT INTO keys ({KEY_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (client_id) DO NOTHING"
    );
    let written = connection
        .execute(
            &sql,
            params![
                key.org,
                key.client_id,
                key.secret_hash,
                key.name,
                key.role,
                key.created_at.micros(),
                key.last_used_at.map(Time::micros),
                key.revoked_at.map(Time::micros),
            ],
        )
        .map_err(broken)?;
    Ok(written == 1)
}

pub(super) fn key(connection: &Connection, client_id: &str) -> Result<Option<KeyRow>> {
    one(connection, &format!("SELECT {KEY_COLUMNS} FROM keys WHERE client_id = ?1"), [client_id], rows::key)
}

pub(super) fn key_by_secret(connection: &Connection, secret_hash: &[u8]) -> Result<Option<KeyRow>> {
    one(connection, &format!("SELECT {KEY_COLUMNS} FROM keys WHERE secret_hash = ?1"), [secret_hash], rows::key)
}

pub(super) fn keys(connection: &Connection, org: OrgId) -> Result<Vec<KeyRow>> {
    let sql = format!("SELECT {KEY_COLUMNS} FROM keys WHERE org = ?1 ORDER BY created_at, client_id");
    all(connection, &sql, [org], rows::key)
}

pub(super) fn revoke_key(connection: &Connection, org: OrgId, client_id: &str, at: Time) -> Result<bool> {
    let sql = "UPDATE keys SET revoked_at = coalesce(revoked_at, ?3) WHERE client_id = ?2 AND org = ?1";
    let found = connection.execute(sql, params![org, client_id, at.micros()]).map_err(broken)?;
    Ok(found == 1)
}

pub(super) fn touch_keys(connection: &mut Connection, used: &[(String, Time)]) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    {
        let sql =
            "UPDATE keys SET last_used_at = ?2 WHERE client_id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";
        let mut touch = transaction.prepare_cached(sql).map_err(broken)?;
        for (client_id, at) in used {
            touch.execute(params![client_id, at.micros()]).map_err(broken)?;
        }
    }
    transaction.commit().map_err(broken)
}
