//! Every column of every table is either a fact or derived from one. These tests change derived columns, one at a time:
//! `verify` finds each change, and `--fix` restores the column. The columns are read from the schema: a column that is
//! not classified below fails the test.

use crate::looked::Looked;
use crate::support::{Home, on_both};
use std::collections::BTreeSet;

on_both!(
    every_column_is_classified,
    what_follows_is_found_and_put_back,
    what_cannot_be_put_back_is_found,
    lost_rows_are_found,
    rows_that_belong_to_nothing_are_found_and_removed,
);

/// A row, as a `WHERE` condition.
const A1: &str = "account = 'a1'";
const A2: &str = "account = 'a2'";
const A1_PRIMARY: &str = "account = 'a1' AND role = 'PRIMARY'";
/// A row of one message about an account, which waited until it was due, and a row of several.
const MESSAGE: &str = "account = 'a2' AND sequence = (SELECT min(m.sequence) FROM message_groups m \
                       WHERE m.account = 'a2' AND m.size = 1)";
const SHARED: &str = "account = 'a1' AND sequence = (SELECT max(m.sequence) FROM message_groups m \
                      WHERE m.account = 'a1' AND m.size > 1)";
/// An event of the row of several.
const EVENT: &str = "event = 'line_item_create' AND {place} = (SELECT max(m.{place}) FROM message_groups m \
                     WHERE m.account = 'a1' AND m.size > 1)";
const WAITING: &str =
    "account = 'a2' AND sequence = (SELECT max(w.sequence) FROM waiting_messages w WHERE w.account = 'a2')";
const WORD: &str = "id = 'a1' AND kind = 1 AND word = 'harbour'";
const PAYMENT: &str = "account = 'a1' AND {item} = 'p'";
const INPUT: &str = "account = 'a1' AND name = 'p'";
/// A message that is not about an account.
const CUSTOMER: &str = "event_id LIKE '%.cust-1.c1'";
/// The attempt that failed.
const ATTEMPT: &str = "error IS NOT NULL";
/// The first hour with deliveries: one attempt.
const FIRST_HOUR: &str = "hour = (SELECT min(h.hour) FROM delivery_hours h)";
/// The last hour with deliveries: two attempts.
const HOUR: &str = "hour = (SELECT max(h.hour) FROM delivery_hours h)";
const RECORD: &str = "org = 1 AND seq = 2";

/// Table, column, new value, and row: the change is found and restored.
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
    ("line_items", "{item}", "'another'", PAYMENT),
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
    ("line_items", "reason", "'CAPITALIZED'", PAYMENT),
    ("message_groups", "event", "'account_closed'", MESSAGE),
    ("message_groups", "event_id", "'another'", MESSAGE),
    ("message_groups", "cause", "'input:77'", MESSAGE),
    ("message_groups", "subject", "'another'", MESSAGE),
    ("message_groups", "effective_at", "effective_at + 1", MESSAGE),
    ("message_groups", "recorded_at", "recorded_at + 86400000000", MESSAGE),
    ("message_groups", "event", "'account_closed'", SHARED),
    ("message_groups", "event_id", "'another'", SHARED),
    ("message_groups", "cause", "'input:77'", SHARED),
    ("message_groups", "subject", "'another'", SHARED),
    ("message_groups", "signature", "'another'", SHARED),
    ("message_groups", "effective_at", "effective_at + 1", SHARED),
    ("message_groups", "recorded_at", "recorded_at + 86400000000", SHARED),
    ("message_groups", "size", "size + 1", SHARED),
    ("message_groups", "size", "size - 1", SHARED),
    ("message_groups", "size", "2", MESSAGE),
    ("message_events", "event", "'account_closed'", EVENT),
    ("message_events", "{place}", "{place} - 1", EVENT),
    ("message_events", "{place}", "{place} + 1000", EVENT),
    ("message_events", "mask", "mask + 1", EVENT),
    ("message_groups", "event", "'customer_update'", CUSTOMER),
    ("message_groups", "event_id", "'another'", CUSTOMER),
    ("message_groups", "cause", "'input:77'", CUSTOMER),
    ("message_groups", "subject", "'cust-2'", CUSTOMER),
    ("message_groups", "effective_at", "effective_at + 1", CUSTOMER),
    ("message_groups", "recorded_at", "recorded_at + 1", CUSTOMER),
    ("message_groups", "sequence", "7", CUSTOMER),
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
    ("account_customers", "account", "'unknown'", A1_PRIMARY),
    ("account_customers", "{customer}", "'cust-2'", A1_PRIMARY),
    ("account_customers", "role", "'SECONDARY'", A1_PRIMARY),
    ("words", "org", "99", WORD),
    ("words", "word", "'port'", WORD),
    ("words", "kind", "3", WORD),
    ("words", "id", "'unknown'", WORD),
    ("words", "word", "'port'", "id = 'cust-1' AND kind = 2 AND word = 'ada'"),
    (
        "words",
        "word",
        "'port'",
        "id = 'auto-12' AND kind = 3 AND word = (SELECT max(w.word) FROM words w WHERE w.kind = 3)",
    ),
    ("log_heads", "org", "99", "head > 0"),
    ("delivery_hours", "org", "99", HOUR),
    ("delivery_hours", "hour", "hour + 3600000000", HOUR),
    ("delivery_hours", "subscription", "99", HOUR),
    ("delivery_hours", "delivered", "delivered + 1", HOUR),
    ("delivery_hours", "failed", "0", HOUR),
    ("delivery_hours", "delivered", "delivered + 1", FIRST_HOUR),
    ("failures", "attempts", "attempts + 1", "position = 3"),
    ("failures", "attempts", "0", "position = 3"),
    ("people", "email_key", "'another@lender.example'", "person = 'ana'"),
];

/// The same for columns that only PostgreSQL has.
const DERIVED_ON_POSTGRES: &[(&str, &str, &str, &str)] = &[
    ("failures", "org", "99", "position = 3"),
    ("ranges", "org", "99", "after = 3"),
    ("attempts", "org", "99", "position = 3"),
    ("message_events", "org", "99", EVENT),
];

/// The same for changes that are found but that only a backup can restore: signed bytes, and the keys that link rows.
const FOUND: &[(&str, &str, &str, &str)] = &[
    ("accounts", "product", "'another'", A1),
    ("accounts", "next_seq", "next_seq + 1", A1),
    ("accounts", "org", "99", A1),
    ("accounts", "account", "'another'", A1),
    ("accounts", "terms", "{bytes}", A1),
    ("line_items", "org", "99", PAYMENT),
    ("line_items", "account", "'another'", PAYMENT),
    ("message_groups", "{place}", "{place} + 1000", MESSAGE),
    ("message_groups", "{place}", "{place} + 1000", SHARED),
    ("message_groups", "org", "99", MESSAGE),
    ("message_groups", "org", "99", SHARED),
    ("message_groups", "account", "'another'", SHARED),
    ("message_groups", "sequence", "700", SHARED),
    ("message_groups", "content", "{bytes}", SHARED),
    ("message_groups", "org", "99", "event = 'customer_create' AND subject = 'cust-1'"),
    ("message_groups", "account", "'another'", MESSAGE),
    ("message_groups", "account", "'a1'", CUSTOMER),
    ("failures", "position", "900", "position = 3"),
    ("attempts", "{place}", "{place} + 900", ATTEMPT),
    ("attempts", "subscription", "99", ATTEMPT),
    ("attempts", "number", "number + 1", ATTEMPT),
    ("attempts", "error", "NULL", ATTEMPT),
    ("attempts", "at", "at + 36000000000", ATTEMPT),
    ("message_groups", "sequence", "700", MESSAGE),
    ("message_groups", "content", "{bytes}", MESSAGE),
    ("message_groups", "signature", "'another'", MESSAGE),
    ("waiting_messages", "org", "99", WAITING),
    ("waiting_messages", "account", "'another'", WAITING),
    ("waiting_messages", "sequence", "700", WAITING),
    ("waiting_messages", "content", "{bytes}", WAITING),
    ("waiting_messages", "signature", "'another'", WAITING),
    ("log_heads", "hurried", "hurried + 1000", "head > 0"),
    ("subscriptions", "cursor", "cursor + 1000", "cursor > 0"),
    ("inputs", "org", "99", INPUT),
    ("inputs", "account", "'another'", INPUT),
    ("inputs", "seq", "seq + 1000", INPUT),
    ("inputs", "name", "'another'", INPUT),
    ("inputs", "effective_at", "effective_at - 86400000000", INPUT),
    ("inputs", "applies_at", "applies_at + 1", INPUT),
    ("inputs", "rank", "2", INPUT),
    ("inputs", "recorded_at", "recorded_at + 1", INPUT),
    ("inputs", "payload", "{bytes}", INPUT),
    ("inputs", "extra", "NULL", INPUT),
    ("audit", "org", "99", RECORD),
    ("audit", "seq", "1000", RECORD),
    ("audit", "at", "at + 1", RECORD),
    ("audit", "actor", "'another'", RECORD),
    ("audit", "session", "'another'", RECORD),
    ("audit", "address", "'192.0.2.9'", RECORD),
    ("audit", "request_id", "'another'", RECORD),
    ("audit", "action", "'another'", RECORD),
    ("audit", "subject_type", "'another'", RECORD),
    ("audit", "subject_id", "'another'", RECORD),
    ("audit", "details", "'{}'", RECORD),
    ("audit", "hash", "{bytes}", RECORD),
    ("audit_heads", "org", "99", "org = 1"),
    ("audit_heads", "seq", "seq + 1", "org = 1"),
    ("audit_heads", "hash", "{bytes}", "org = 1"),
];

/// Facts that do not follow from anything else in the database: what a caller sent (and its hashes, which identify a
/// repeated request), the time of the last update, the progress of sending, secrets, and generated row numbers. A
/// change of the clock that placed an input is found only if it moves the input. Whether an input was scheduled when it
/// arrived is computed again wherever it matters.
const FACTS: &str = "
    accounts: id version content_hash updated_at profile leased_until
    inputs: content_hash scheduled clock
    line_items: updated_at
    waiting_messages: id arrival
    migrations: number name
    settings: name value
    organizations: org name environment created_at signing_key previous_signing_key previous_signing_key_until
        previous_until event_mark
    keys: client_id org secret_hash name role created_at last_used_at revoked_at
    products: id org product body content_hash created_at mode_version holding releasing suppress_before started_at
        finished_at accounts_total events_total
    customers: id org {customer} version body sealed content_hash created_at updated_at
    answers: id org key content_hash body recorded_at expires_at
    subscriptions: id org uuid url events filter pause_reason paused_reason paused_at consecutive_errors streak created_at
        last_success_at version token lease_token leased_until from_console max_per_second max_in_flight reached
        holes probe_at
    failures: subscription first_failed_at retry_at dead_at reason status streak
    ranges: id subscription after last events filter since replaying reached holes
    attempts: id latency_us status response next_at
    people: person org name email password_hash role created_at last_seen_at disabled_at
    sessions: token_hash person created_at seen_at expires_at
    invitations: token_hash org role created_by created_at expires_at
    guesses: subject failures wait_until expires_at
    accounts_to_refold: org account
    refolds: org account rules_version recorded_at state_before state_after failure
    sending_nodes: token until
";

/// A database in which a message that waited was published.
async fn lived(home: Home) -> Looked {
    let looked = Looked::lived(home).await;
    looked.trial.go_to("2026-06-20T12:00:00-04:00").await;
    looked.trial.verify().await;
    looked
}

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

fn altered() -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str, &'static str)> {
    DERIVED.iter().chain(DERIVED_ON_POSTGRES).chain(FOUND)
}

async fn every_column_is_classified(home: Home) {
    let looked = lived(home).await;
    let mut classified = facts();
    classified.extend(altered().map(|(table, column, _, _)| ((*table).to_owned(), (*column).to_owned())));
    let columns = looked.columns().await;
    assert!(columns.len() > 150, "{}", columns.len());
    let unknown: Vec<&(String, String)> = columns.iter().filter(|column| !classified.contains(column)).collect();
    assert!(unknown.is_empty(), "say whether these are facts or follow from one, and verify them: {unknown:?}");
    let mut twice = facts();
    twice.retain(|(table, column)| altered().any(|(of, name, _, _)| (of, name) == (&table.as_str(), &column.as_str())));
    assert!(twice.is_empty(), "these are called facts and altered all the same: {twice:?}");
}

async fn what_follows_is_found_and_put_back(home: Home) {
    let looked = lived(home).await;
    let journal = looked.rows("inputs").await;
    let only_there = if home == Home::Postgres { DERIVED_ON_POSTGRES } else { &[] };
    for (table, column, value, which) in DERIVED.iter().chain(only_there) {
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
    let mut missed = Vec::new();
    for (table, column, value, which) in FOUND {
        let looked = lived(home).await;
        looked.change(&format!("UPDATE {table} SET {column} = {value} WHERE {which}")).await;
        let verified = looked.trial.service.verify(&mut |_| {}).await.expect("it goes on");
        if verified.differences.is_empty() {
            missed.push(format!("{table}.{column}"));
        }
        // One damaged account does not prevent the others from being verified.
        assert!(verified.accounts >= 1, "{table}.{column}");
    }
    assert!(missed.is_empty(), "nothing is found of {missed:?}");
}

async fn lost_rows_are_found(home: Home) {
    for (table, which, is_put_back) in [
        ("line_items", PAYMENT, true),
        ("account_customers", A1_PRIMARY, true),
        ("words", WORD, true),
        ("log_heads", "head > 0", true),
        ("delivery_hours", HOUR, true),
        ("accounts", A1, false),
        ("message_groups", MESSAGE, false),
        ("message_groups", SHARED, false),
        ("message_events", EVENT, true),
        (
            "message_groups",
            "sequence = (SELECT max(m.sequence) FROM message_groups m WHERE m.account = 'a1') AND account = 'a1'",
            false,
        ),
        ("waiting_messages", WAITING, false),
    ] {
        let looked = lived(home).await;
        let before = looked.rows(table).await;
        looked.change(&format!("DELETE FROM {table} WHERE {which}")).await;
        looked.finds(table).await;
        if is_put_back {
            looked.puts_back(table, table, &before).await;
        }
    }
}

/// Derived rows of objects that do not exist, one for each table.
async fn rows_that_belong_to_nothing_are_found_and_removed(home: Home) {
    let looked = lived(home).await;
    let item = "org, account, {item}, kind, status, effective_at, applied_at, created_at, updated_at, amount, balance, \
                principal, interest, fees, splits";
    let copied = item.replacen("org, account", "99, 'unknown'", 1);
    for (table, row, what) in [
        (
            "line_items",
            format!("({item}) SELECT {copied} FROM line_items WHERE {PAYMENT}"),
            "unknown has line items, but neither an account row nor a journal",
        ),
        (
            "account_customers",
            "(org, account, {customer}, role) VALUES (1, 'unknown', 'cust-1', 'PRIMARY')".to_owned(),
            "unknown has customers, but neither an account row nor a journal",
        ),
        (
            "accounts_to_refold",
            "(org, account) VALUES (1, 'unknown')".to_owned(),
            "unknown is listed for recalculation but does not exist",
        ),
        (
            "accounts_to_refold",
            "(org, account) VALUES (1, 'a1')".to_owned(),
            "account a1: is listed for recalculation, but was already calculated under the current rules",
        ),
        (
            "words",
            "(org, word, kind, id) VALUES (1, 'harbour', 2, 'unknown')".to_owned(),
            "unknown has search words but does not exist",
        ),
        (
            "failures",
            "({org}subscription, position, attempts, dead_at, reason, streak) VALUES ({1}77, 2, 1, 1, '', 1)"
                .to_owned(),
            "77 has failed messages but is not the number of a webhook URL",
        ),
        (
            "ranges",
            "({org}subscription, after, last, since, replaying) VALUES ({1}77, 1, 2, 1, {no})".to_owned(),
            "77 has a range of the log but is not the number of a webhook URL",
        ),
        (
            "log_heads",
            "(org, head, hurried) VALUES (99, 7, 0)".to_owned(),
            "99 is the number of a log whose organization does not exist",
        ),
    ] {
        let before = looked.rows(table).await;
        looked.change(&format!("INSERT INTO {table} {row}")).await;
        let found = looked.trial.differences().await;
        assert!(found.iter().any(|sentence| sentence == what), "{table}: {found:?}");
        looked.puts_back(table, table, &before).await;
    }
}
