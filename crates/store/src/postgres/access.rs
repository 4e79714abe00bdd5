//! Settings, organizations, keys and kept responses: one row at a time.

use super::audit;
use super::cells::{self, each, maybe};
use super::flight::{Frame, Param, Query, Transaction};
use super::retry::{Tries, Try};
use super::server::Server;
use crate::error::StoreError;
use crate::records::{KeptResponse, KeyRow, OrgId, Organization};
use crate::{Audited, Result};
use crate::{LATEST_MOMENT, moment_bytes};
use daybook_engine::time::Time;
use std::collections::BTreeMap;
use tokio_postgres::Row;

pub(super) async fn setting(server: &Server, name: &str) -> Result<Option<Vec<u8>>> {
    maybe(server.query_opt("SELECT value FROM settings WHERE name = $1", &[&name]).await?, |cells| cells.next())
}

pub(super) async fn keep_setting(server: &Server, name: &str, value: &[u8]) -> Result<Vec<u8>> {
    let sql = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    server.execute(sql, &[&name, &value]).await?;
    setting(server, name).await?.ok_or_else(|| StoreError::Broken(format!("the setting {name} was not stored")))
}

pub(super) async fn put_setting(server: &Server, name: &str, value: &[u8], audit: Audited<'_>) -> Result<()> {
    let sql = "INSERT INTO settings (name, value) VALUES ($1, $2)
               ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING name";
    audit::execute(server, sql, vec![Box::new(name), Box::new(value)], audit).await.map(drop)
}

pub(super) async fn remove_setting(server: &Server, name: &str, audit: Audited<'_>) -> Result<bool> {
    let sql = "DELETE FROM settings WHERE name = $1 RETURNING name";
    Ok(audit::execute(server, sql, vec![Box::new(name)], audit).await? > 0)
}

/// Identifies the server, the database and the table by their numbers. The server's number is left out if the role may
/// not read it (some hosting providers forbid it).
pub(super) async fn whereabouts(server: &Server) -> Result<String> {
    let sql = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')";
    let may_ask = maybe(server.query_opt(sql, &[]).await?, |cells| cells.next())?.unwrap_or(false);
    let cluster = match may_ask {
        true => server.query_opt("SELECT system_identifier::text FROM pg_control_system()", &[]).await?,
        false => None,
    };
    let cluster: Option<String> = maybe(cluster, |cells| cells.next())?;
    let sql =
        "SELECT d.oid::text, 'settings'::regclass::oid::text FROM pg_database d WHERE d.datname = current_database()";
    let rest = maybe(server.query_opt(sql, &[]).await?, |cells| Ok((cells.next()?, cells.next()?)))?;
    let (database, table): (String, String) =
        rest.ok_or_else(|| StoreError::Broken("pg_database has no row for this database".to_owned()))?;
    Ok(format!("cluster {} database {database} table {table}", cluster.as_deref().unwrap_or("unknown")))
}

pub(super) async fn database_time(server: &Server) -> Result<Option<Time>> {
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    maybe(server.query_opt(sql, &[]).await?, |cells| Ok(Time::from_micros(cells.next()?)))
}

pub(super) async fn note_moment(server: &Server, at: Time, even_back: bool) -> Result<()> {
    let sql = "INSERT INTO settings AS s (name, value) VALUES ($1, $2)
               ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE $3 OR s.value < excluded.value";
    let value = moment_bytes(at);
    server.execute(sql, &[&LATEST_MOMENT, &&value[..], &even_back]).await.map(drop)
}

pub(super) async fn create_organization(
    server: &Server,
    organization: &Organization,
    audit: Audited<'_>,
) -> Result<OrgId> {
    let mut tries = Tries::none();
    loop {
        let mut transaction = Transaction::on(server.client().await?);
        let outcome = create_organization_once(&mut transaction, organization, audit).await;
        if let Some(done) = tries.settle(transaction, outcome).await {
            return done;
        }
    }
}

async fn create_organization_once(
    transaction: &mut Transaction,
    organization: &Organization,
    audit: Audited<'_>,
) -> Try<OrgId> {
    let sql =
        "INSERT INTO organizations (name, environment, created_at, signing_key, previous_signing_key, previous_until,
                                    event_mark)
               VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING org";
    let Organization { org: _, name, environment, created_at, signing_key, previous_signing_key, event_mark } =
        organization;
    let (previous, until) = previous_signing_key.as_ref().map(|(key, until)| (key, until.micros())).unzip();
    let params: Vec<Param<'_>> = vec![
        Box::new(&**name),
        Box::new(&**environment),
        Box::new(created_at.micros()),
        Box::new(&**signing_key),
        Box::new(previous),
        Box::new(until),
        Box::new(event_mark),
    ];
    let rows = transaction.fly(Frame { begin: Some("BEGIN"), commit: false }, &[Query::new(sql, params)]).await?;
    let made = each(rows.first().map_or(&[], Vec::as_slice), |cells| cells.next())?.pop();
    let org: OrgId = made.ok_or_else(|| StoreError::Broken("a new organization got no number".to_owned()))?;
    transaction.fly(Frame { begin: None, commit: true }, &audit::steps(audit)).await?;
    Ok(org)
}

pub(super) async fn organizations(server: &Server) -> Result<Vec<Organization>> {
    let sql = "SELECT org, name, environment, created_at, signing_key, previous_signing_key, previous_until, event_mark
               FROM organizations ORDER BY org";
    each(&server.query(sql, &[]).await?, cells::organization)
}

pub(super) async fn create_key(server: &Server, key: &KeyRow, audit: Audited<'_>) -> Result<bool> {
    let sql = "INSERT INTO keys (org, client_id, secret_hash, name, role, created_at, last_used_at, revoked_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (client_id) DO NOTHING RETURNING client_id";
    let params: Vec<Param<'_>> = vec![
        Box::new(key.org),
        Box::new(&*key.client_id),
        Box::new(&*key.secret_hash),
        Box::new(&*key.name),
        Box::new(&*key.role),
        Box::new(key.created_at.micros()),
        Box::new(key.last_used_at.map(Time::micros)),
        Box::new(key.revoked_at.map(Time::micros)),
    ];
    Ok(audit::execute(server, sql, params, audit).await? == 1)
}

pub(super) async fn key(server: &Server, client_id: &str) -> Result<Option<KeyRow>> {
    let sql = "SELECT org, client_id, secret_hash, name, role, created_at, last_used_at, revoked_at
               FROM keys WHERE client_id = $1";
    maybe(server.query_opt(sql, &[&client_id]).await?, cells::key)
}

pub(super) async fn key_by_secret(server: &Server, secret_hash: &[u8]) -> Result<Option<KeyRow>> {
    let sql = "SELECT org, client_id, secret_hash, name, role, created_at, last_used_at, revoked_at
               FROM keys WHERE secret_hash = $1";
    maybe(server.query_opt(sql, &[&secret_hash]).await?, cells::key)
}

pub(super) async fn keys(server: &Server, org: OrgId) -> Result<Vec<KeyRow>> {
    let sql = "SELECT org, client_id, secret_hash, name, role, created_at, last_used_at, revoked_at
               FROM keys WHERE org = $1 ORDER BY created_at, client_id";
    each(&server.query(sql, &[&org]).await?, cells::key)
}

pub(super) async fn revoke_key(
    server: &Server,
    org: OrgId,
    client_id: &str,
    at: Time,
    audit: Audited<'_>,
) -> Result<bool> {
    let sql =
        "UPDATE keys SET revoked_at = COALESCE(revoked_at, $3) WHERE org = $1 AND client_id = $2 RETURNING client_id";
    let params: Vec<Param<'_>> = vec![Box::new(org), Box::new(client_id), Box::new(at.micros())];
    Ok(audit::execute(server, sql, params, audit).await? == 1)
}

/// Nodes update the same keys at the same time: rows are locked in key order, which avoids deadlocks.
pub(super) async fn touch_keys(server: &Server, used: &[(String, Time)]) -> Result<()> {
    let mut latest: BTreeMap<&str, i64> = BTreeMap::new();
    for (client_id, at) in used {
        let noted = latest.entry(client_id).or_insert(i64::MIN);
        *noted = at.micros().max(*noted);
    }
    if latest.is_empty() {
        return Ok(());
    }
    let client_ids: Vec<&str> = latest.keys().copied().collect();
    let times: Vec<i64> = latest.values().copied().collect();
    let sql = "WITH used AS (
                   SELECT k.client_id, u.at
                   FROM (SELECT unnest($1::text[]) AS client_id, unnest($2::bigint[]) AS at) u
                   JOIN keys k ON k.client_id = u.client_id
                   ORDER BY k.client_id FOR UPDATE OF k)
               UPDATE keys k SET last_used_at = u.at FROM used u
               WHERE k.client_id = u.client_id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)";
    server.execute(sql, &[&client_ids, &times]).await.map(drop)
}

pub(super) async fn answer(server: &Server, org: OrgId, key: &str, now: Time) -> Result<Option<KeptResponse>> {
    let sql = "SELECT content_hash, body FROM answers WHERE org = $1 AND key = $2 AND expires_at > $3";
    let row: Option<Row> = server.query_opt(sql, &[&org, &key, &now.micros()]).await?;
    maybe(row, |cells| Ok(KeptResponse { content_hash: cells.next()?, body: cells.bytes()? }))
}
