//! The bare loop on PostgreSQL: writes the rows of a release again by `UNNEST` on one connection, without any logic.
//!
//! The tables are copied without rows, but with their indexes, into a separate schema. The rows are read beforehand.
//! The measured time includes reading the same inputs, and one transaction per 500 accounts that writes the same rows.

use super::release::BareLoopResult;
use crate::commands::Failure;
use daybook_clock::Stopwatch;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row};

/// Accounts per transaction, as in a release.
const STEP: i64 = 500;

/// The copied tables: every table that a release writes.
const TABLES: [&str; 5] = ["accounts", "inputs", "line_items", "message_groups", "message_events"];

/// Reads the rows that the release wrote and writes them again into the copied tables.
pub async fn release(address: &str) -> Result<BareLoopResult, Failure> {
    try_release(address).await.map_err(|error| {
        let why = error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
        Failure::Failed(format!("the bare loop failed: {why}"))
    })
}

async fn try_release(address: &str) -> Result<BareLoopResult, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute("CREATE SCHEMA bench_limit").await?;
    for table in TABLES {
        client.batch_execute(&format!("CREATE TABLE bench_limit.{table} (LIKE public.{table} INCLUDING ALL)")).await?;
    }
    client.batch_execute("INSERT INTO bench_limit.accounts SELECT * FROM public.accounts").await?;
    let columns = Columns::read(&client).await?;
    let mut limit = BareLoopResult::default();
    let mut after = String::new();
    loop {
        let accounts = client
            .query("SELECT account FROM public.accounts WHERE account > $1 ORDER BY account LIMIT $2", &[&after, &STEP])
            .await?;
        let accounts: Vec<String> = accounts.iter().map(|row| row.get(0)).collect();
        let Some(last) = accounts.last() else { break };
        after.clone_from(last);
        let written = ReleasedRows::read(&client, &accounts).await?;
        let watch = Stopwatch::start();
        let inputs = client.query("SELECT payload FROM public.inputs WHERE account = ANY($1)", &[&accounts]).await?;
        std::hint::black_box(&inputs);
        written.write(&client, &columns).await?;
        limit.took += watch.elapsed();
        limit.items += written.items.count;
        limit.messages += written.message_count;
        limit.bytes += written.bytes;
    }
    client.batch_execute("DROP SCHEMA bench_limit CASCADE").await?;
    Ok(limit)
}

/// The columns of each table, with their types.
struct Columns([Vec<(String, String)>; 5]);

impl Columns {
    async fn read(client: &Client) -> Result<Columns, tokio_postgres::Error> {
        let mut columns: [Vec<(String, String)>; 5] = Default::default();
        for (table, columns) in TABLES.iter().zip(&mut columns) {
            let rows = client
                .query(
                    "SELECT column_name::text, udt_name::text FROM information_schema.columns \
                     WHERE table_schema = 'public' AND table_name = $1 ORDER BY ordinal_position",
                    &[table],
                )
                .await?;
            *columns = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        }
        Ok(Columns(columns))
    }
}

/// The rows of one table, column by column.
struct CopiedTable {
    columns: Vec<Column>,
    count: u64,
}

/// A column of one of the types that the tables have.
enum Column {
    Numbers(Vec<Option<i64>>),
    Sizes(Vec<Option<i32>>),
    SmallNumbers(Vec<Option<i16>>),
    Flags(Vec<Option<bool>>),
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

impl CopiedTable {
    fn of(rows: &[Row]) -> CopiedTable {
        let Some(first) = rows.first() else { return CopiedTable { columns: Vec::new(), count: 0 } };
        let columns = first.columns().iter().enumerate().map(|(index, column)| match column.type_().name() {
            "int8" => Column::Numbers(rows.iter().map(|row| row.get(index)).collect()),
            "int4" => Column::Sizes(rows.iter().map(|row| row.get(index)).collect()),
            "int2" => Column::SmallNumbers(rows.iter().map(|row| row.get(index)).collect()),
            "bool" => Column::Flags(rows.iter().map(|row| row.get(index)).collect()),
            "bytea" => Column::Bytes(rows.iter().map(|row| row.get(index)).collect()),
            _ => Column::Texts(rows.iter().map(|row| row.get(index)).collect()),
        });
        CopiedTable { columns: columns.collect(), count: rows.len() as u64 }
    }

    fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.columns.iter().map(Column::parameter).collect()
    }
}

impl Column {
    fn parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Column::Numbers(values) => values,
            Column::Sizes(values) => values,
            Column::SmallNumbers(values) => values,
            Column::Flags(values) => values,
            Column::Texts(values) => values,
            Column::Bytes(values) => values,
        }
    }
}

/// The rows that a release wrote for some accounts.
struct ReleasedRows {
    accounts: CopiedTable,
    inputs: CopiedTable,
    items: CopiedTable,
    messages: CopiedTable,
    events: CopiedTable,
    message_count: u64,
    bytes: u64,
}

/// The events of rows of messages. There are few names, so each is looked for.
const EVENTS: &str = "
    WITH RECURSIVE names AS (
        SELECT min(event) AS event FROM public.message_events
        UNION ALL
        SELECT (SELECT min(event) FROM public.message_events WHERE event > n.event) FROM names n
        WHERE n.event IS NOT NULL)
    SELECT v.* FROM public.message_groups m
    CROSS JOIN names n
    JOIN public.message_events v ON v.org = m.org AND v.event = n.event AND v.position = m.position
    WHERE m.account = ANY($1)";

impl ReleasedRows {
    async fn read(client: &Client, accounts: &Vec<String>) -> Result<ReleasedRows, tokio_postgres::Error> {
        let all = async |sql: &str| client.query(sql, &[accounts]).await;
        let messages =
            all("SELECT * FROM public.message_groups WHERE account = ANY($1) ORDER BY org, position").await?;
        Ok(ReleasedRows {
            accounts: CopiedTable::of(
                &all("SELECT * FROM public.accounts WHERE account = ANY($1) ORDER BY account").await?,
            ),
            // A release adds one journal record per account.
            inputs: CopiedTable::of(
                &all("SELECT DISTINCT ON (org, account) * FROM public.inputs WHERE account = ANY($1) \
                     ORDER BY org, account, seq DESC")
                .await?,
            ),
            items: CopiedTable::of(
                &all("SELECT * FROM public.line_items WHERE account = ANY($1) ORDER BY account, item_id").await?,
            ),
            bytes: messages.iter().map(|row| row.get::<_, &[u8]>("content").len() as u64).sum(),
            message_count: messages.iter().map(|row| row.get::<_, i32>("size").unsigned_abs()).map(u64::from).sum(),
            events: CopiedTable::of(&all(EVENTS).await?),
            messages: CopiedTable::of(&messages),
        })
    }

    async fn write(&self, client: &Client, columns: &Columns) -> Result<(), tokio_postgres::Error> {
        client.batch_execute("BEGIN").await?;
        let tables = [&self.accounts, &self.inputs, &self.items, &self.messages, &self.events];
        for ((name, table), columns) in TABLES.iter().zip(tables).zip(&columns.0) {
            if table.count == 0 {
                continue;
            }
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            let marks: Vec<String> =
                columns.iter().enumerate().map(|(index, (_, kind))| format!("${}::{kind}[]", index + 1)).collect();
            let (names, marks) = (names.join(", "), marks.join(", "));
            let sql = if *name == "accounts" {
                let sets: Vec<String> = columns.iter().map(|(name, _)| format!("{name} = new.{name}")).collect();
                format!(
                    "UPDATE bench_limit.accounts AS old SET {} FROM unnest({marks}) AS new ({names}) \
                     WHERE old.org = new.org AND old.account = new.account",
                    sets.join(", ")
                )
            } else {
                format!("INSERT INTO bench_limit.{name} ({names}) SELECT * FROM unnest({marks})")
            };
            let statement = client.prepare(&sql).await?;
            client.execute(&statement, &table.parameters()).await?;
        }
        client.batch_execute("COMMIT").await
    }
}
