//! Whether the server responds, what and where it is, and whether the tables are consistent.

use super::cells::maybe;
use super::server::{PostgresServer, refused};
use crate::Result;
use crate::error::StoreError;
use daybook_engine::time::Time;
use tokio_postgres::Row;

pub(super) async fn describe(server: &PostgresServer) -> Result<String> {
    let row = server.query_opt("SHOW server_version", &[]).await?;
    let version: String = row.map(|row| row.try_get(0)).transpose().map_err(refused)?.unwrap_or_default();
    // "15.18 (Debian 15.18-0+deb12u1)": leaves out the package's name.
    Ok(format!("PostgreSQL {}", version.split_whitespace().next().unwrap_or_default()))
}

pub(super) async fn ping(server: &PostgresServer) -> Result<()> {
    server.query("SELECT 1", &[]).await.map(drop)
}

/// Fails if the server is read-only or its disk is full.
pub(super) async fn try_write(server: &PostgresServer) -> Result<()> {
    let sql = "UPDATE settings SET value = value WHERE name = (SELECT min(name) FROM settings)";
    server.execute(sql, &[]).await.map(drop)
}

/// Identifies the server, the database and the table by their numbers. The server's number is left out if the role may
/// not read it (some hosting providers forbid it).
pub(super) async fn whereabouts(server: &PostgresServer) -> Result<String> {
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

pub(super) async fn database_time(server: &PostgresServer) -> Result<Option<Time>> {
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    maybe(server.query_opt(sql, &[]).await?, |cells| Ok(Time::from_micros(cells.next()?)))
}

/// Each query finds inconsistencies: one sentence per row. A log may have lost its beginning, or all of it, to expiry.
const SANITY: &[&str] = &[
    "SELECT format('the log of organization %s ends at position %s, but its head is %s', org, last, head)
     FROM (SELECT h.org, h.head, COALESCE((SELECT max(m.position) FROM message_groups m WHERE m.org = h.org), 0) AS last
           FROM log_heads h) heads
     WHERE last <> head AND last <> 0 ORDER BY org LIMIT 100",
    "SELECT format('the log of organization %s has %s messages, but ends at position %s and begins at position %s',
                   org, sum(size), max(position), min(position - size + 1))
     FROM message_groups GROUP BY org
     HAVING sum(size) <> max(position) - min(position - size + 1) + 1 ORDER BY org LIMIT 100",
    "SELECT format('organization %s has messages but no head of its log', m.org)
     FROM (SELECT DISTINCT org FROM message_groups) m
     WHERE NOT EXISTS (SELECT FROM log_heads h WHERE h.org = m.org) ORDER BY m.org LIMIT 100",
    "SELECT format('account %s of organization %s has an input with number %s, but its next number is %s',
                   a.account, a.org, i.seq, a.next_seq)
     FROM accounts a
     CROSS JOIN LATERAL (SELECT max(seq) AS seq FROM inputs i WHERE i.org = a.org AND i.account = a.account) i
     WHERE i.seq >= a.next_seq ORDER BY a.org, a.account LIMIT 100",
    "SELECT DISTINCT format('account %s of organization %s has inputs but does not exist', i.account, i.org)
     FROM inputs i WHERE NOT EXISTS (SELECT FROM accounts a WHERE a.org = i.org AND a.account = i.account) LIMIT 100",
    "SELECT DISTINCT format('account %s of organization %s has line items but does not exist', l.account, l.org)
     FROM line_items l WHERE NOT EXISTS (SELECT FROM accounts a WHERE a.org = l.org AND a.account = l.account) LIMIT 100",
    "SELECT format('the index %s is not valid', indexrelid::regclass) FROM pg_index WHERE NOT indisvalid",
];

pub(super) async fn check(server: &PostgresServer) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for sql in SANITY {
        let rows: Vec<Row> = server.query(sql, &[]).await?;
        for row in rows {
            wrong.push(row.try_get(0).map_err(refused)?);
        }
    }
    Ok(wrong)
}
