//! Organizations.

use super::connection::broken;
use super::read::all;
use super::rows::{LAST_ORG, ORGANIZATION, by_cells};
use crate::Result;
use crate::error::StoreError;
use crate::records::{OrgId, Organization};
use crate::rows;
use daybook_engine::time::Time;
use rusqlite::{Connection, params};

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
    all(connection, &format!("SELECT {ORGANIZATION} FROM organizations ORDER BY org"), [], by_cells(rows::organization))
}
