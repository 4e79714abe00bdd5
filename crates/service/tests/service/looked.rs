//! A database with realistic content, whose rows are changed by SQL and compared, on either database.

use crate::support::{Home, LEVEL, Trial, form_of, json_of, time};
use daybook_store::outbox::{Deliveries, DeliveryAttempt, Failure, Fate, Pause, Recorded, Subscription};
use daybook_store::people::PersonRow;
use serde_json::json;

const URL: &str = "https://example.com/a";
const ME: &str = "a node";
const LEASED_UNTIL: &str = "2027-01-01T00:00:00Z";

async fn subscribe(trial: &Trial) {
    json_of(trial.service.subscribe(&trial.who, None, form_of(&json!({ "webhook_url": URL }))).await);
}

/// Three messages are sent, the last one in another hour, and that one is not accepted. Then the URL is paused and
/// resumed: the rest of the log is a range that it did not get.
async fn send(trial: &Trial) {
    let now = trial.clock_now();
    let leased = trial.store.lease(ME, now, time(LEASED_UNTIL), 10).await.expect("it is leased").held;
    let of: &Subscription = leased.first().expect("there is one");
    let attempt = |position: i64, minutes: i64, error: Option<&str>| DeliveryAttempt {
        position,
        number: 1,
        at: now.plus_micros(minutes * 60_000_000),
        latency_us: 1_234,
        status: Some(if error.is_some() { 500 } else { 200 }),
        error: error.map(str::to_owned),
        response: None,
        next_at: None,
    };
    let failure = Failure {
        position: 3,
        attempts: 1,
        first_failed_at: Some(now),
        fate: Fate::Dead(now),
        reason: "status 500".to_owned(),
        status: Some(500),
        streak: 1,
    };
    let deliveries = Deliveries {
        org: of.org,
        subscription: of.id,
        token: ME.to_owned(),
        version: of.version,
        cursor: 3,
        filter: of.filter.clone(),
        attempts: vec![attempt(1, 0, None), attempt(2, 61, None), attempt(3, 61, Some("status 500"))],
        failed: vec![failure],
        ..Deliveries::default()
    };
    let recorded = trial.store.record(deliveries).await.expect("it is recorded");
    assert!(matches!(recorded, Recorded::Kept(_)), "{recorded:?}");
    let pause = Pause { reason: "MANUAL".to_owned(), at: now, probe_at: None };
    trial.store.pause(of.org, &of.uuid, &pause, None).await.expect("it is paused");
    trial.store.resume(of.org, &of.uuid, trial.clock_now(), None).await.expect("it is resumed");
}

pub struct Looked {
    pub trial: Trial,
    home: Home,
    _folder: Option<tempfile::TempDir>,
}

impl Looked {
    pub async fn lived(home: Home) -> Looked {
        let (folder, address) = home.kept();
        let trial = Trial::over(&address, "2026-04-01T12:00:00-04:00").await;
        subscribe(&trial).await;
        trial.product("auto-12", json!({})).await;
        for (id, name) in [("cust-1", "Ada"), ("cust-2", "Bea")] {
            let body = json!({ "customer_id": id, "name_first": name, "name_last": "Marsh" });
            json_of(trial.service.create_customer(&trial.who, None, form_of(&body)).await);
        }
        trial
            .account_with(json!({
                "product_id": "auto-12",
                "account_id": "a1",
                "effective_at": "2026-03-15T00:00:00-04:00",
                "assign_customers": [{ "customer_id": "cust-1" }],
                "external_fields": [{ "key": "branch", "value": "Harbour" }],
            }))
            .await;
        trial.account("auto-12", "a2", "2026-03-15T00:00:00-04:00").await;
        let payment = json!({
            "line_item_id": "p",
            "original_amount_cents": LEVEL,
            "effective_at": "2026-04-01T12:00:00-04:00",
            "external_fields": [{ "key": "batch", "value": "7" }],
        });
        json_of(trial.pay_with("a1", &payment).await);
        trial.go_to("2026-05-20T12:00:00-04:00").await;
        json_of(trial.roll("a2", "2026-08-20T12:00:00-04:00", false).await);
        send(&trial).await;
        let person = PersonRow {
            org: trial.who.org,
            person: "ana".to_owned(),
            name: "Ana".to_owned(),
            email: "Ana@Lender.Example".to_owned(),
            email_key: "ana@lender.example".to_owned(),
            password_hash: "none".to_owned(),
            role: "ADMIN".to_owned(),
            created_at: trial.clock_now(),
            last_seen_at: None,
            disabled_at: None,
        };
        assert!(trial.store.create_person(&person, None).await.expect("a person is made"));
        trial.verify().await;
        Looked { trial, home, _folder: folder }
    }

    /// A statement in the dialect. Braces mark the parts that differ.
    pub fn said(&self, sql: &str) -> String {
        match self.home {
            Home::Sqlite => sql
                .replace("{bytes}", "x'ff'")
                .replace("{org}", "")
                .replace("{1}", "")
                .replace("{no}", "0")
                .replace("{item}", "item")
                .replace("{customer}", "customer")
                .replace("{place}", "place"),
            Home::Postgres => sql
                .replace("{bytes}", "'\\xff'")
                .replace("{org}", "org, ")
                .replace("{1}", "1, ")
                .replace("{no}", "false")
                .replace("{item}", "item_id")
                .replace("{customer}", "customer_id")
                .replace("{place}", "position"),
        }
    }

    /// Runs a statement, past the triggers that keep records of the audit trail from being changed.
    pub async fn run(&self, sql: &str) -> Vec<String> {
        match self.home {
            Home::Sqlite => {
                let path = self.trial.address.strip_prefix("sqlite:").expect("a file");
                let connection = rusqlite::Connection::open(path).expect("the file opens");
                let triggers = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
                connection.set_db_config(triggers, false).expect("no triggers for this connection");
                let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
                let rows = statement.query_map([], |row| row.get::<_, String>(0));
                rows.and_then(Iterator::collect).unwrap_or_else(|error| panic!("{error}: {sql}"))
            }
            Home::Postgres => {
                let (client, connection) =
                    tokio_postgres::connect(&self.trial.address, tokio_postgres::NoTls).await.expect("it connects");
                let connection = tokio::spawn(connection);
                let replica = "SET session_replication_role = replica";
                client.batch_execute(replica).await.expect("no triggers for this connection");
                let rows = client.query(sql, &[]).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
                drop(client);
                connection.await.expect("it ends").expect("it ends well");
                rows.iter().map(|row| row.get::<_, String>(0)).collect()
            }
        }
    }

    /// Changes one row.
    pub async fn change(&self, sql: &str) {
        let changed = self.run(&self.said(&format!("{sql} RETURNING 'x'"))).await;
        assert_eq!(changed.len(), 1, "{sql}");
    }

    /// Stores all messages uncompressed, as earlier builds did, so that statements can change their bytes.
    pub async fn store_plain(&self) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let mut all = self.trial.log().await;
        for account in ["a1", "a2"] {
            let of_account = self.trial.messages(account).await;
            all.extend(of_account.into_iter().filter(|message| message.position.is_none()));
        }
        for table in ["message_groups", "message_events"] {
            assert!(!self.run(&format!("DELETE FROM {table} RETURNING 'x'")).await.is_empty(), "{table}");
        }
        for message in all {
            let data = hex(&message.data);
            let data = if self.home == Home::Sqlite { format!("x'{data}'") } else { format!("'\\x{data}'::bytea") };
            let (signature, event_id, subject) = (&message.signature, &message.event_id, &message.subject);
            let account = message.account.as_deref().map_or("NULL".to_owned(), |account| format!("'{account}'"));
            let sequence = message.sequence;
            let Some(position) = message.position else {
                self.change(&format!(
                    "UPDATE waiting_messages SET content = {data}, signature = '{signature}', event_id = '{event_id}',
                         subject = '{subject}' WHERE account = {account} AND sequence = {sequence}"
                ))
                .await;
                continue;
            };
            let place = if self.home == Home::Sqlite { position + (1 << 40) } else { position };
            let (event, cause) = (&message.event, &message.cause);
            let (effective_at, recorded_at) = (message.effective_at.micros(), message.recorded_at.micros());
            self.change(&format!(
                "INSERT INTO message_groups ({{place}}, org, account, sequence, event, event_id, cause, subject,
                     effective_at, recorded_at, content, signature)
                 VALUES ({place}, 1, {account}, {sequence}, '{event}', '{event_id}', '{cause}', '{subject}',
                     {effective_at}, {recorded_at}, {data}, '{signature}')"
            ))
            .await;
        }
        self.trial.verify().await;
    }

    pub async fn columns(&self) -> Vec<(String, String)> {
        let sql = match self.home {
            Home::Sqlite => {
                "SELECT m.name || '.' || p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p
                 WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'"
            }
            Home::Postgres => {
                "SELECT table_name || '.' || column_name FROM information_schema.columns
                 WHERE table_schema = current_schema()"
            }
        };
        let split = |name: String| {
            let (table, column) = name.split_once('.').expect("both");
            let column = match (table, column) {
                ("line_items", "item" | "item_id") => "{item}",
                ("customers" | "account_customers", "customer" | "customer_id") => "{customer}",
                ("message_groups" | "message_events" | "attempts", "place" | "position") => "{place}",
                (_, column) => column,
            };
            (table.to_owned(), column.to_owned())
        };
        self.run(sql).await.into_iter().map(split).collect()
    }

    /// All rows of a table, without the version number.
    pub async fn rows(&self, table: &str) -> Vec<String> {
        let sql = match self.home {
            Home::Sqlite => {
                let columns = self.columns().await.into_iter().filter(|(of, name)| of == table && name != "version");
                let quoted: Vec<String> = columns.map(|(_, column)| format!("quote({column})")).collect();
                self.said(&format!("SELECT {} FROM {table}", quoted.join(" || ',' || ")))
            }
            Home::Postgres => format!("SELECT (to_jsonb(t) - 'version')::text FROM {table} t"),
        };
        let mut rows = self.run(&sql).await;
        rows.sort();
        rows
    }

    pub async fn finds(&self, what: &str) {
        let found = self.trial.differences().await;
        assert!(!found.is_empty(), "{what}: nothing is found");
    }

    pub async fn puts_back(&self, what: &str, table: &str, before: &[String]) {
        let last = async || self.trial.log().await.last().and_then(|message| message.position);
        let sent = last().await;
        let fixed = self.trial.service.fix(&mut |_| {}).await.expect("it can be fixed");
        assert!(!fixed.fixed.is_empty(), "{what}: what was changed is told");
        assert_eq!(fixed.verified.differences, Vec::<String>::new(), "{what}: nothing is left");
        assert_eq!(self.rows(table).await, before, "{what}: it is as it was");
        assert_eq!(last().await, sent, "{what}: nothing is announced");
    }
}
