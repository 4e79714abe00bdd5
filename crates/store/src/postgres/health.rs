//! Whether the server responds, and whether the tables are consistent.

use super::server::{Server, refused};
use crate::Result;
use tokio_postgres::Row;

pub(super) async fn describe(server: &Server) -> Result<String> {
    let row = server.query_opt("SHOW server_version", &[]).await?;
    let version: String = row.map(|row| row.try_get(0)).transpose().map_err(refused)?.unwrap_or_default();
    // "15.18 (Debian 15.18-0+deb12u1)": leaves out the package's name.
    Ok(format!("PostgreSQL {}", version.split_whitespace().next().unwrap_or_default()))
}

pub(super) async fn ping(server: &Server) -> Result<()> {
    server.query("SELECT 1", &[]).await.map(drop)
}

/// Fails if the server is read-only or its disk is full.
pub(super) async fn try_write(server: &Server) -> Result<()> {
    let sql = "UPDATE settings SET value = value WHERE name = (SELECT min(name) FROM settings)";
    server.execute(sql, &[]).await.map(drop)
}

/// Each query finds inconsistencies: one sentence per row. A log may have lost its beginning, or all of it, to expiry.
const SANITY: &[&str] = &[
    "SELECT format('the log of organization %s ends at position %s, but its head is %s', org, last, head)
     FROM (SELECT h.org, h.head, COALESCE((SELECT max(m.position) FROM messages m WHERE m.org = h.org), 0) AS last
           FROM log_heads h) heads
     WHERE last <> head AND last <> 0 ORDER BY org LIMIT 100",
    "SELECT format('the log of organization %s has %s messages, but ends at position %s and begins at position %s',
                   org, count(*), max(position), min(position))
     FROM messages GROUP BY org HAVING count(*) <> max(position) - min(position) + 1 ORDER BY org LIMIT 100",
    "SELECT format('organization %s has messages but no head of its log', m.org)
     FROM (SELECT DISTINCT org FROM messages) m
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

pub(super) async fn check(server: &Server) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for sql in SANITY {
        let rows: Vec<Row> = server.query(sql, &[]).await?;
        for row in rows {
            wrong.push(row.try_get(0).map_err(refused)?);
        }
    }
    Ok(wrong)
}
