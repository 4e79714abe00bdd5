//! Every column of every table is either a fact or follows from one. What follows is altered here, one column at a time:
//! `verify` finds each, and `--fix` makes it what it was. The columns are read from the schema: one that is not classified
//! below fails.

use crate::support::{Home, LEVEL, Trial, json_of, on_both};
use serde_json::json;
use std::collections::BTreeSet;

on_both!(
    every_column_is_classified,
    what_follows_is_found_and_put_back,
    what_cannot_be_put_back_is_found,
    lost_rows_are_found
);

/// A row, by what follows `WHERE`.
const A1: &str = "account = 'a1'";
const A2: &str = "account = 'a2'";
const A1_PRIMARY: &str = "account = 'a1' AND role = 'PRIMARY'";
const MESSAGE: &str = "account = 'a1' AND sequence = 3";
const WAITING: &str =
    "account = 'a2' AND sequence = (SELECT max(w.sequence) FROM waiting_messages w WHERE w.account = 'a2')";
const WORD: &str = "id = 'a1' AND kind = 1 AND word = 'harbour'";
const PAYMENT: &str = "account = 'a1' AND item = 'p'";

/// Table, column, what it is set to, and where: found, and put back.
const DERIVED: &[(&str, &str, &str, &str)] = &[
    ("accounts", "effective_at", "effective_at + 1", A1),
    ("accounts", "created_at", "created_at + 1", A1),
    ("accounts", "state", "{bytes}", A1),
    ("accounts", "processed_through", "NULL", A1),
    ("accounts", "rolled_to", "NULL", A2),
    ("accounts", "next_moment", "NULL", A1),
    ("accounts", "oldest_unpaid_due", "NULL", A1),
    ("accounts", "status", "'CLOSED'", A1),
    ("accounts", "substatus", "'PAID_OFF'", A1),
    ("accounts", "next_seq", "1", A1),
    ("accounts", "settled_seq", "settled_seq - 1", A1),
    ("accounts", "held_events", "held_events + 1", A1),
    ("accounts", "scheduled_events", "scheduled_events + 1", A1),
    ("accounts", "message_seq", "message_seq - 1", A1),
    ("accounts", "failure", "'it failed'", A1),
    ("accounts", "balance", "balance + 1", A1),
    ("line_items", "item", "'another'", PAYMENT),
    ("line_items", "kind", "'LATE_FEE'", PAYMENT),
    ("line_items", "status", "'INVALID'", PAYMENT),
    ("line_items", "effective_at", "effective_at + 1", PAYMENT),
    ("line_items", "applied_at", "applied_at + 1", PAYMENT),
    ("line_items", "created_at", "created_at + 1", PAYMENT),
    ("line_items", "amount", "amount + 1", PAYMENT),
    ("line_items", "balance", "balance + 1", PAYMENT),
    ("line_items", "principal", "principal + 1", PAYMENT),
    ("line_items", "interest", "interest + 1", PAYMENT),
    ("line_items", "fees", "fees + 1", PAYMENT),
    ("line_items", "splits", "{bytes}", PAYMENT),
    ("line_items", "extra", "NULL", PAYMENT),
    ("line_items", "reversed_by", "'another'", PAYMENT),
    ("messages", "event", "'account_closed'", MESSAGE),
    ("messages", "event_id", "'another'", MESSAGE),
    ("messages", "cause", "'input:77'", MESSAGE),
    ("messages", "subject", "'another'", MESSAGE),
    ("messages", "effective_at", "effective_at + 1", MESSAGE),
    ("messages", "recorded_at", "recorded_at + 86400000000", MESSAGE),
    ("waiting_messages", "due_at", "due_at + 1", WAITING),
    ("waiting_messages", "cancelled_at", "1", WAITING),
    ("waiting_messages", "event", "'account_closed'", WAITING),
    ("waiting_messages", "event_id", "'another'", WAITING),
    ("waiting_messages", "cause", "'input:77'", WAITING),
    ("waiting_messages", "subject", "'another'", WAITING),
    ("waiting_messages", "effective_at", "effective_at + 1", WAITING),
    ("waiting_messages", "recorded_at", "recorded_at + 86400000000", WAITING),
    ("log_heads", "head", "head - 1", "head > 0"),
    ("account_customers", "org", "99", A1_PRIMARY),
    ("account_customers", "account", "'nobody'", A1_PRIMARY),
    ("account_customers", "customer", "'cust-2'", A1_PRIMARY),
    ("account_customers", "role", "'SECONDARY'", A1_PRIMARY),
    ("words", "org", "99", WORD),
    ("words", "word", "'port'", WORD),
    ("words", "kind", "3", WORD),
    ("words", "id", "'nobody'", WORD),
];

/// The same, where something is found that only a backup can put back: bytes that are signed, and what ties rows together.
const FOUND: &[(&str, &str, &str, &str)] = &[
    ("accounts", "product", "'another'", A1),
    ("accounts", "org", "99", A1),
    ("accounts", "account", "'another'", A1),
    ("accounts", "terms", "{bytes}", A1),
    ("line_items", "org", "99", PAYMENT),
    ("line_items", "account", "'another'", PAYMENT),
    ("messages", "account", "'another'", MESSAGE),
    ("messages", "sequence", "700", MESSAGE),
    ("messages", "data", "{bytes}", MESSAGE),
    ("messages", "signature", "'another'", MESSAGE),
    ("waiting_messages", "account", "'another'", WAITING),
    ("waiting_messages", "sequence", "700", WAITING),
    ("waiting_messages", "data", "{bytes}", WAITING),
    ("waiting_messages", "signature", "'another'", WAITING),
    ("log_heads", "hurried", "hurried + 1000", "head > 0"),
];

/// What was told, happened or is kept about the outside, and follows from nothing else in the database. The journal is
/// among them: it is what all else follows from. So is the audit trail, which is a chain: module `audit` alters it.
const FACTS: &str = "
    accounts: id version content_hash updated_at profile leased_until
    inputs: org account seq name effective_at applies_at rank scheduled recorded_at clock payload extra content_hash
    line_items: updated_at
    messages: place position org
    waiting_messages: id arrival org
    log_heads: org
    migrations: number name
    settings: name value
    organizations: org name environment created_at signing_key previous_signing_key previous_signing_key_until
        previous_until event_mark
    keys: client_id org secret_hash name role created_at last_used_at revoked_at
    products: id org product body content_hash created_at mode_version holding releasing suppress_before started_at
        finished_at accounts_total events_total
    customers: id org customer version body sealed content_hash created_at updated_at
    answers: id org key content_hash body recorded_at expires_at
    subscriptions: id org uuid url events filter pause_reason paused_reason paused_at consecutive_errors streak created_at
        last_success_at cursor version token lease_token leased_until from_console max_per_second max_in_flight reached
        holes probe_at
    failures: org subscription position attempts first_failed_at retry_at dead_at reason status streak
    ranges: id org subscription after last events filter since replaying reached holes
    attempts: id org subscription place position number at latency_us status error response next_at
    delivery_hours: org hour subscription delivered failed
    people: person org name email email_key password_hash role created_at last_seen_at disabled_at
    sessions: token_hash person created_at seen_at expires_at
    invitations: token_hash org role created_by created_at expires_at
    guesses: subject failures wait_until expires_at
    accounts_to_refold: org account
    refolds: org account rules_version recorded_at state_before state_after failure
    sending_nodes: token until
    audit: org seq at actor session address request_id action subject_type subject_id details hash
    audit_heads: org seq hash
";

fn facts() -> BTreeSet<(String, String)> {
    let mut facts = BTreeSet::new();
    let mut table = String::new();
    for word in FACTS.split_whitespace() {
        match word.strip_suffix(':') {
            Some(name) => table = name.to_owned(),
            None => {
                facts.insert((table.clone(), word.to_owned()));
            }
        }
    }
    facts
}

struct Looked {
    trial: Trial,
    home: Home,
    _folder: Option<tempfile::TempDir>,
}

impl Looked {
    async fn lived(home: Home) -> Looked {
        let (folder, address) = home.kept();
        let trial = Trial::over(&address, "2026-04-01T12:00:00-04:00").await;
        trial.product("auto-12", json!({})).await;
        for (id, name) in [("cust-1", "Ada"), ("cust-2", "Bea")] {
            let body = json!({ "customer_id": id, "name_first": name, "name_last": "Marsh" });
            json_of(trial.service.create_customer(&trial.who, None, crate::support::form_of(&body)).await);
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
        trial.verify().await;
        Looked { trial, home, _folder: folder }
    }

    /// A statement in the dialect.
    fn said(&self, sql: &str) -> String {
        match self.home {
            Home::Sqlite => sql.replace("{bytes}", "x'ff'"),
            Home::Postgres => {
                let sql = sql.replace("{bytes}", "'\\xff'");
                let sql = sql.replace("SET item =", "SET item_id =").replace("AND item =", "AND item_id =");
                sql.replace("SET customer =", "SET customer_id =")
            }
        }
    }

    async fn run(&self, sql: &str) -> Vec<String> {
        match self.home {
            Home::Sqlite => {
                let path = self.trial.address.strip_prefix("sqlite:").expect("a file");
                let connection = rusqlite::Connection::open(path).expect("the file opens");
                let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
                let rows = statement.query_map([], |row| row.get::<_, String>(0));
                rows.and_then(Iterator::collect).unwrap_or_else(|error| panic!("{error}: {sql}"))
            }
            Home::Postgres => {
                let (client, connection) =
                    tokio_postgres::connect(&self.trial.address, tokio_postgres::NoTls).await.expect("it connects");
                let connection = tokio::spawn(connection);
                let rows = client.query(sql, &[]).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
                drop(client);
                connection.await.expect("it ends").expect("it ends well");
                rows.iter().map(|row| row.get::<_, String>(0)).collect()
            }
        }
    }

    async fn change(&self, sql: &str) {
        let changed = self.run(&self.said(&format!("{sql} RETURNING 'x'"))).await;
        assert_eq!(changed.len(), 1, "{sql}");
    }

    async fn columns(&self) -> Vec<(String, String)> {
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
            let column = if (table, column) == ("line_items", "item_id") { "item" } else { column };
            let is_customers = matches!(table, "customers" | "account_customers");
            let column = if is_customers && column == "customer_id" { "customer" } else { column };
            (table.to_owned(), column.to_owned())
        };
        self.run(sql).await.into_iter().map(split).collect()
    }

    /// All rows of a table, but for the number that counts changes.
    async fn rows(&self, table: &str) -> Vec<String> {
        let sql = match self.home {
            Home::Sqlite => {
                let columns = self.columns().await.into_iter().filter(|(of, name)| of == table && name != "version");
                let quoted: Vec<String> = columns.map(|(_, column)| format!("quote({column})")).collect();
                format!("SELECT {} FROM {table}", quoted.join(" || ',' || "))
            }
            Home::Postgres => format!("SELECT (to_jsonb(t) - 'version')::text FROM {table} t"),
        };
        let mut rows = self.run(&sql).await;
        rows.sort();
        rows
    }

    async fn finds(&self, what: &str) {
        let found = self.trial.differences().await;
        assert!(!found.is_empty(), "{what}: nothing is found");
    }

    async fn puts_back(&self, what: &str, table: &str, before: &[String]) {
        let sent = self.trial.log().await.len();
        let fixed = self.trial.service.fix(&mut |_| {}).await.expect("it can be fixed");
        assert!(!fixed.fixed.is_empty(), "{what}: what was changed is told");
        assert_eq!(fixed.verified.differences, Vec::<String>::new(), "{what}: nothing is left");
        assert_eq!(self.rows(table).await, before, "{what}: it is as it was");
        assert_eq!(self.trial.log().await.len(), sent, "{what}: nothing is announced");
    }
}

async fn every_column_is_classified(home: Home) {
    let looked = Looked::lived(home).await;
    let mut classified = facts();
    let tables = DERIVED.iter().chain(FOUND);
    classified.extend(tables.map(|(table, column, _, _)| ((*table).to_owned(), (*column).to_owned())));
    let columns = looked.columns().await;
    assert!(columns.len() > 150, "{}", columns.len());
    let unknown: Vec<&(String, String)> = columns.iter().filter(|column| !classified.contains(column)).collect();
    assert!(unknown.is_empty(), "say whether these are facts or follow from one, and verify them: {unknown:?}");
}

async fn what_follows_is_found_and_put_back(home: Home) {
    let looked = Looked::lived(home).await;
    let journal = looked.rows("inputs").await;
    for (table, column, value, which) in DERIVED {
        let what = format!("{table}.{column}");
        let before = looked.rows(table).await;
        looked.change(&format!("UPDATE {table} SET {column} = {value} WHERE {which}")).await;
        assert_ne!(looked.rows(table).await, before, "{what}: it is changed");
        looked.finds(&what).await;
        looked.puts_back(&what, table, &before).await;
    }
    assert_eq!(looked.rows("inputs").await, journal, "the journal is not touched");
}

async fn what_cannot_be_put_back_is_found(home: Home) {
    for (table, column, value, which) in FOUND {
        let looked = Looked::lived(home).await;
        looked.change(&format!("UPDATE {table} SET {column} = {value} WHERE {which}")).await;
        looked.finds(&format!("{table}.{column}")).await;
        // One bad account does not keep the others from being looked at.
        let verified = looked.trial.service.verify(&mut |_| {}).await.expect("it goes on");
        assert!(verified.accounts >= 1, "{table}.{column}");
    }
}

async fn lost_rows_are_found(home: Home) {
    for (table, which, is_put_back) in [
        ("line_items", PAYMENT, true),
        ("account_customers", A1_PRIMARY, true),
        ("words", WORD, true),
        ("log_heads", "head > 0", true),
        ("accounts", A1, false),
        ("messages", MESSAGE, false),
        (
            "messages",
            "sequence = (SELECT max(m.sequence) FROM messages m WHERE m.account = 'a1') AND account = 'a1'",
            false,
        ),
        ("waiting_messages", WAITING, false),
    ] {
        let looked = Looked::lived(home).await;
        let before = looked.rows(table).await;
        looked.change(&format!("DELETE FROM {table} WHERE {which}")).await;
        looked.finds(table).await;
        if is_put_back {
            looked.puts_back(table, table, &before).await;
        }
    }
}
