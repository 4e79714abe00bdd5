//! `daybook bench storage`: how many bytes of a database each table and index takes, in all and for each payment.

use crate::cli::BenchStorageArgs;
use crate::commands::Failure;
use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use std::io::Write;
use tokio_postgres::NoTls;

/// A table or an index.
struct Part {
    name: String,
    bytes: i64,
}

/// Prints the sizes.
pub async fn run(args: &BenchStorageArgs) -> Result<(), Failure> {
    let (mut parts, payments, messages) = match args.database.strip_prefix("sqlite:") {
        Some(path) => of_sqlite(path).map_err(|error| Failure::Failed(format!("{path}: {error}")))?,
        None => of_postgres(&args.database).await.map_err(|error| Failure::Failed(error.to_string()))?,
    };
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    let total: i64 = parts.iter().map(|part| part.bytes).sum();
    let each = |bytes: i64| if payments == 0 { 0.0 } else { bytes as f64 / payments as f64 };
    if args.json {
        let tables: serde_json::Map<String, serde_json::Value> =
            parts.iter().map(|part| (part.name.clone(), part.bytes.into())).collect();
        let figures = json!({
            "payments": payments, "messages": messages, "bytes": total, "bytes_per_payment": each(total),
            "parts": tables,
        });
        println!("{figures}");
        return Ok(());
    }
    let mut text = format!("{:<36} {:>14} {:>12}\n", "table or index", "bytes", "a payment");
    let all = Part { name: "all".to_owned(), bytes: total };
    for Part { name, bytes } in parts.iter().chain([&all]) {
        text.push_str(&format!("{name:<36} {bytes:>14} {:>12.1}\n", each(*bytes)));
    }
    text.push_str(&format!("{payments} payments, {messages} messages\n"));
    std::io::stdout().write_all(text.as_bytes()).map_err(Failure::Output)
}

const COUNTS: &str = "SELECT (SELECT count(*) FROM line_items WHERE kind = 'PAYMENT'),
                             (SELECT CAST(coalesce(sum(size), 0) AS bigint) FROM message_groups)";

/// Pages that are free do not count: SQLite fills them before the file grows.
fn of_sqlite(path: &str) -> rusqlite::Result<(Vec<Part>, i64, i64)> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut sizes = connection.prepare("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")?;
    let parts = sizes.query_map([], |row| Ok(Part { name: row.get(0)?, bytes: row.get(1)? }))?;
    let parts = parts.collect::<rusqlite::Result<_>>()?;
    let (payments, messages) = connection.query_row(COUNTS, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((parts, payments, messages))
}

async fn of_postgres(address: &str) -> Result<(Vec<Part>, i64, i64), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
    tokio::spawn(connection);
    let sizes = "SELECT c.relname::text, pg_relation_size(c.oid) + coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i')";
    let rows = client.query(sizes, &[]).await?;
    let parts = rows.iter().map(|row| Part { name: row.get(0), bytes: row.get(1) }).collect();
    let row = client.query_one(COUNTS, &[]).await?;
    Ok((parts, row.get(0), row.get(1)))
}
