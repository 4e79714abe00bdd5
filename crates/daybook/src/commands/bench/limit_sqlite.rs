//! The bare loop on SQLite: reads the rows of a release beforehand and writes them again, without any logic.

use super::portfolio::Bench;
use super::release::BareLoopResult;
use crate::commands::Failure;
use daybook_clock::Stopwatch;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::path::{Path, PathBuf};

/// Accounts per transaction, as in a release.
const STEP: usize = 500;

/// Copies the database before the release.
pub async fn copy(bench: &Bench, file: &Path) -> Result<PathBuf, Failure> {
    let to = file.with_extension("before.db");
    bench.store.backup(&to, &[]).await.map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(to)
}

/// Reads the rows that the release wrote and writes them into the copy made before the release.
pub fn release(released: &Path, before: &Path) -> Result<BareLoopResult, Failure> {
    try_release(released, before).map_err(|error| Failure::Failed(format!("the bare loop failed: {error}")))
}

fn try_release(released: &Path, before: &Path) -> rusqlite::Result<BareLoopResult> {
    let from = Connection::open(released)?;
    let mut to = Connection::open(before)?;
    to.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -49152; PRAGMA wal_autocheckpoint = 16000;")?;
    to.set_prepared_statement_cache_capacity(32);
    let accounts: Vec<(i64, String)> = from
        .prepare("SELECT org, account FROM accounts ORDER BY org, account")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut limit = BareLoopResult::default();
    for step in accounts.chunks(STEP) {
        let written: Vec<ReleasedRows> =
            step.iter().map(|account| ReleasedRows::read(&from, account)).collect::<rusqlite::Result<_>>()?;
        let watch = Stopwatch::start();
        for (org, account) in step {
            let mut inputs = to.prepare_cached("SELECT * FROM inputs WHERE org = ?1 AND account = ?2 ORDER BY seq")?;
            let mut rows = inputs.query((org, account))?;
            while let Some(row) = rows.next()? {
                std::hint::black_box(row.get_ref(10)?.as_blob()?);
            }
        }
        let transaction = to.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        written.iter().try_for_each(|written| written.write(&transaction))?;
        transaction.commit()?;
        limit.took += watch.elapsed();
        for written in &written {
            limit.items += written.items.len() as u64;
            let size = |row: &Vec<Value>| if let Some(Value::Integer(size)) = row.last() { *size } else { 1 };
            limit.messages += written.messages.iter().map(size).sum::<i64>().unsigned_abs();
            limit.bytes += written
                .messages
                .iter()
                .map(|row| if let Value::Blob(data) = &row[10] { data.len() as u64 } else { 0 })
                .sum::<u64>();
        }
    }
    Ok(limit)
}

/// The rows that a release wrote for one account.
struct ReleasedRows {
    account: Vec<Value>,
    inputs: Vec<Vec<Value>>,
    items: Vec<Vec<Value>>,
    /// Rows of messages; the last column is the number of these.
    messages: Vec<Vec<Value>>,
    events: Vec<Vec<Value>>,
}

const ACCOUNT: &str = "SELECT version, updated_at, state, profile, processed_through, rolled_to, next_moment, oldest_unpaid_due, \
     status, substatus, next_seq, settled_seq, held_events, scheduled_events, message_seq, failure, org, account \
     FROM accounts WHERE org = ?1 AND account = ?2";
const UPDATE: &str = "UPDATE accounts SET version = ?1, updated_at = ?2, state = ?3, profile = ?4, processed_through = ?5, \
     rolled_to = ?6, next_moment = ?7, oldest_unpaid_due = ?8, status = ?9, substatus = ?10, next_seq = ?11, \
     settled_seq = ?12, held_events = ?13, scheduled_events = ?14, message_seq = ?15, failure = ?16 \
     WHERE org = ?17 AND account = ?18";

/// The events of an account's rows of messages. There are few names, so each is looked for.
const EVENTS: &str = "
    WITH RECURSIVE names (event) AS (
        SELECT min(event) FROM message_events
        UNION ALL
        SELECT (SELECT min(event) FROM message_events WHERE event > n.event) FROM names n WHERE n.event IS NOT NULL)
    SELECT v.* FROM message_groups m CROSS JOIN names n CROSS JOIN message_events v
    WHERE m.org = ?1 AND m.account = ?2 AND v.event = n.event AND v.place = m.place";

impl ReleasedRows {
    fn read(from: &Connection, account: &(i64, String)) -> rusqlite::Result<ReleasedRows> {
        let all = |sql: &str| -> rusqlite::Result<Vec<Vec<Value>>> {
            let mut statement = from.prepare_cached(sql)?;
            let columns = statement.column_count();
            let rows = statement
                .query_map((account.0, &account.1), |row| (0..columns).map(|column| row.get(column)).collect())?;
            rows.collect()
        };
        Ok(ReleasedRows {
            account: all(ACCOUNT)?.pop().unwrap_or_default(),
            // A release adds one journal record.
            inputs: all("SELECT * FROM inputs WHERE org = ?1 AND account = ?2 ORDER BY seq DESC LIMIT 1")?,
            items: all("SELECT * FROM line_items WHERE org = ?1 AND account = ?2 ORDER BY item")?,
            messages: all("SELECT * FROM message_groups WHERE org = ?1 AND account = ?2 ORDER BY sequence")?,
            events: all(EVENTS)?,
        })
    }

    fn write(&self, to: &Connection) -> rusqlite::Result<()> {
        to.prepare_cached(UPDATE)?.execute(params_from_iter(&self.account))?;
        for (table, rows) in [
            ("inputs", &self.inputs),
            ("line_items", &self.items),
            ("message_groups", &self.messages),
            ("message_events", &self.events),
        ] {
            let Some(first) = rows.first() else { continue };
            let marks = vec!["?"; first.len()].join(", ");
            let mut statement = to.prepare_cached(&format!("INSERT INTO {table} VALUES ({marks})"))?;
            for row in rows {
                statement.execute(params_from_iter(row))?;
            }
        }
        Ok(())
    }
}
