//! The audit trail: what is recorded, and that every changed, removed, inserted or moved record is found.

use crate::support::{Home, LEVEL, Trial, form_of, json_of, on_both, view_of};
use daybook_service::AuditQuery;
use daybook_service::access::Caller;
use daybook_service::changes::ChangeRequest;
use daybook_service::paging::Paging;
use serde_json::{Value, json};

on_both!(
    a_payment_is_recorded_with_who_and_from_where,
    what_is_refused_or_repeated_is_not_recorded,
    a_roll_and_a_long_opening_are_recorded_once,
    records_are_found_by_what_is_asked,
    a_search_examines_so_many_records_and_finds_the_record_in_the_end,
    records_written_at_once_are_one_chain,
    the_tables_refuse_changes,
    triggers_that_were_removed_are_found_and_put_back,
    triggers_that_were_added_are_found,
    an_altered_record_is_found,
    a_removed_record_is_found,
    an_inserted_record_is_found,
    swapped_records_are_found,
    a_cut_tail_is_found,
    a_lost_end_is_found,
    organizations_have_chains_of_their_own,
    a_server_finds_it_by_itself,
    a_roll_that_is_overtaken_is_counted_and_recorded_once,
);

/// A database with some records, and a way to change it by SQL.
struct Audited {
    trial: Trial,
    home: Home,
    _folder: Option<tempfile::TempDir>,
}

impl Audited {
    async fn lived(home: Home) -> Audited {
        let (folder, address) = home.kept();
        let trial = Trial::over(&address, "2026-04-01T12:00:00-04:00").await;
        trial.product("auto-12", json!({})).await;
        trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
        for payment in ["p1", "p2", "p3", "p4"] {
            json_of(trial.pay("a1", payment, LEVEL, "2026-04-01T12:00:00-04:00").await);
        }
        trial.verify().await;
        Audited { trial, home, _folder: folder }
    }

    async fn records(&self) -> Vec<Value> {
        records(&self.trial, &self.trial.who, AuditQuery::default()).await
    }

    /// Runs a statement, bypassing the triggers that protect records. The triggers stay.
    async fn tamper(&self, sql: &str) {
        match self.home {
            Home::Sqlite => {
                let path = self.trial.address.strip_prefix("sqlite:").expect("a file");
                let connection = rusqlite::Connection::open(path).expect("the file opens");
                let triggers = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
                connection.set_db_config(triggers, false).expect("no triggers for this connection");
                connection.execute_batch(sql).expect("the statement runs");
            }
            Home::Postgres => {
                let client = self.client().await;
                let replica = "SET session_replication_role = replica";
                client.batch_execute(replica).await.expect("no triggers for this connection");
                client.batch_execute(sql).await.expect("the statement runs");
            }
        }
    }

    async fn client(&self) -> tokio_postgres::Client {
        let connected = tokio_postgres::connect(&self.trial.address, tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("it connects");
        tokio::spawn(connection);
        client
    }

    /// Checks that `verify` finds this difference in the trail, and no other.
    async fn finds(&self, what: &str) {
        let found = self.trial.differences().await;
        assert!(found.iter().any(|sentence| sentence.contains(what)), "{what}: {found:?}");
        assert!(found.iter().all(|sentence| sentence.starts_with("audit trail of organization 1")), "{found:?}");
    }
}

async fn records(trial: &Trial, who: &Caller, query: AuditQuery) -> Vec<Value> {
    let paging = Paging { limit: 200, ..Paging::default() };
    let page = view_of(trial.service.list_audit_records(who, paging, query).await);
    page["results"].as_array().expect("a list").clone()
}

fn actions(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["action"].as_str().expect("a name")).collect()
}

async fn a_payment_is_recorded_with_who_and_from_where(home: Home) {
    let audited = Audited::lived(home).await;
    let trial = &audited.trial;
    let address = "192.0.2.7".parse().expect("an address");
    let who = trial.who.clone().from_where(Some(address), "req-1");
    let form =
        json!({"line_item_id": "late", "original_amount_cents": 700, "effective_at": "2026-04-01T12:00:00-04:00"});
    json_of(trial.service.change_account(&who, None, "a1", ChangeRequest::Payment(form_of(&form))).await);
    let records = audited.records().await;
    let last = &records[0];
    assert_eq!(last["number"], records.len());
    let fields = ["actor", "address", "request_id", "action", "subject_type", "subject_id", "session"];
    let expected = [
        json!(trial.who.client_id),
        json!("192.0.2.7"),
        json!("req-1"),
        json!("record_payment"),
        json!("account"),
        json!("a1"),
        json!(null),
    ];
    assert_eq!(fields.map(|field| last[field].clone()), expected);
    assert_eq!(
        (&last["details"]["line_item_id"], &last["details"]["original_amount_cents"]),
        (&json!("late"), &json!(700))
    );
    assert_eq!(last["recorded_at"], "2026-04-01T16:00:00Z");
}

async fn what_is_refused_or_repeated_is_not_recorded(home: Home) {
    let audited = Audited::lived(home).await;
    let trial = &audited.trial;
    let before = audited.records().await.len();
    // The same payment again, the same account again, a payment to an unknown account, an invalid form.
    json_of(trial.pay("a1", "p1", LEVEL, "2026-04-01T12:00:00-04:00").await);
    trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    trial.pay("nothing", "p9", LEVEL, "2026-04-01T12:00:00-04:00").await.expect_err("there is no such account");
    trial.pay("a1", "p1", LEVEL + 1, "2026-04-01T12:00:00-04:00").await.expect_err("the id is taken");
    assert_eq!(audited.records().await.len(), before);
}

async fn a_roll_and_a_long_opening_are_recorded_once(home: Home) {
    let audited = Audited::lived(home).await;
    let trial = &audited.trial;
    let before = audited.records().await.len();
    // Each takes several slices.
    json_of(trial.roll("a1", "2080-04-01T12:00:00-04:00", false).await);
    let body = json!({
        "product_id": "auto-12", "account_id": "old", "effective_at": "1970-03-15T00:00:00-05:00",
        "summary": {"initial_principal_cents": 120_000},
    });
    json_of(trial.service.create_account(&trial.who, None, form_of(&body)).await);
    let records = audited.records().await;
    assert_eq!(actions(&records[..records.len() - before]), ["create_account", "roll_account"]);
    trial.verify().await;
}

async fn records_are_found_by_what_is_asked(home: Home) {
    let audited = Audited::lived(home).await;
    let trial = &audited.trial;
    let all = audited.records().await;
    let asked = |query: AuditQuery| async { records(trial, &trial.who, query).await.len() };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(asked(AuditQuery { action: text("record_payment"), ..AuditQuery::default() }).await, 4);
    assert_eq!(asked(AuditQuery { subject_id: text("a1"), ..AuditQuery::default() }).await, 5);
    assert_eq!(asked(AuditQuery { subject_id: text("auto-12"), ..AuditQuery::default() }).await, 1);
    assert_eq!(asked(AuditQuery { actor: text("nobody"), ..AuditQuery::default() }).await, 0);
    assert_eq!(asked(AuditQuery { actor: text(&trial.who.client_id), ..AuditQuery::default() }).await, all.len());
    assert_eq!(asked(AuditQuery { request_id: text("none"), ..AuditQuery::default() }).await, 0);
    let now = trial.service.now();
    assert_eq!(asked(AuditQuery { since: Some(now.plus_micros(1)), ..AuditQuery::default() }).await, 0);
    assert_eq!(asked(AuditQuery { until: Some(now.plus_micros(1)), ..AuditQuery::default() }).await, all.len());
    // The pages together give the same list.
    let (mut paged, mut mark) = (Vec::new(), None);
    loop {
        let paging = Paging::read(Some("2"), mark.as_deref(), None).expect("a mark");
        let page = view_of(trial.service.list_audit_records(&trial.who, paging, AuditQuery::default()).await);
        paged.extend(page["results"].as_array().expect("a list").clone());
        if page["paging"]["has_more"] != true {
            break;
        }
        mark = page["paging"]["starting_after"].as_str().map(str::to_owned);
    }
    assert_eq!(paged, all);
}

async fn a_search_examines_so_many_records_and_finds_the_record_in_the_end(home: Home) {
    let audited = Audited::lived(home).await;
    let service = audited.trial.service.clone().examining_audit_records(2);
    let who = &audited.trial.who;
    service.record_bulk(&who.clone().from_where(None, "wanted"), 1, b"").await.expect("it is recorded");
    for _ in 0..5 {
        service.record_bulk(who, 1, b"").await.expect("it is recorded");
    }
    let query = AuditQuery { request_id: Some("wanted".to_owned()), ..AuditQuery::default() };
    let (mut found, mut pages, mut mark): (Vec<Value>, usize, Option<String>) = (Vec::new(), 0, None);
    loop {
        let paging = Paging::read(None, mark.as_deref(), None).expect("a mark");
        let page = view_of(service.list_audit_records(who, paging, query.clone()).await);
        let results = page["results"].as_array().expect("a list");
        pages += 1;
        assert_eq!(results.is_empty(), pages != 3, "the sixth record from the end is on the third page: {page}");
        found.extend(results.iter().cloned());
        if page["paging"]["has_more"] != true {
            break;
        }
        mark = page["paging"]["starting_after"].as_str().map(str::to_owned);
    }
    assert_eq!((actions(&found), &found[0]["request_id"]), (vec!["bulk"], &json!("wanted")));
    assert_eq!(pages, audited.records().await.len().div_ceil(2));
}

async fn records_written_at_once_are_one_chain(home: Home) {
    let audited = Audited::lived(home).await;
    let trial = &audited.trial;
    for number in 0..8 {
        trial.account("auto-12", &format!("b{number}"), "2026-03-15T00:00:00-04:00").await;
    }
    let before = audited.records().await.len();
    let paying = (0..80).map(|number| {
        let trial = trial.clone();
        let account = format!("b{}", number % 8);
        tokio::spawn(async move {
            json_of(trial.pay(&account, &format!("q{number}"), 100, "2026-04-01T12:00:00-04:00").await);
        })
    });
    for one in paying.collect::<Vec<_>>() {
        one.await.expect("it is paid");
    }
    let records = audited.records().await;
    assert_eq!(records.len(), before + 80);
    let numbers: Vec<i64> = records.iter().rev().map(|record| record["number"].as_i64().expect("a number")).collect();
    assert_eq!(numbers, (1..=records.len() as i64).collect::<Vec<_>>());
    trial.verify().await;
}

async fn the_tables_refuse_changes(home: Home) {
    let audited = Audited::lived(home).await;
    the_tables_refuse(&audited).await;
    audited.trial.verify().await;
}

async fn the_tables_refuse(audited: &Audited) {
    for sql in ["UPDATE audit SET actor = 'x'", "DELETE FROM audit"] {
        let refused = match audited.home {
            Home::Sqlite => {
                let path = audited.trial.address.strip_prefix("sqlite:").expect("a file");
                let connection = rusqlite::Connection::open(path).expect("the file opens");
                connection.execute(sql, []).expect_err("it is refused").to_string()
            }
            Home::Postgres => {
                let error = audited.client().await.execute(sql, &[]).await.expect_err("it is refused");
                error.as_db_error().expect("the server's").message().to_owned()
            }
        };
        assert!(refused.contains("records of the audit trail are"), "{sql}: {refused}");
    }
}

/// Each way to take a trigger away, and which one it is.
fn ways_to_remove_triggers(home: Home) -> Vec<(&'static str, &'static str)> {
    match home {
        Home::Sqlite => vec![
            ("audit_is_not_changed", "DROP TRIGGER audit_is_not_changed"),
            ("audit_is_not_removed", "DROP TRIGGER audit_is_not_removed"),
            ("audit_begins", "DROP TRIGGER audit_begins"),
            (
                "audit_is_not_removed",
                "DROP TRIGGER audit_is_not_removed;
                 CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit WHEN 1 = 2 BEGIN SELECT 1; END",
            ),
        ],
        Home::Postgres => vec![
            ("audit_is_kept", "DROP TRIGGER audit_is_kept ON audit"),
            ("audit_begins", "DROP TRIGGER audit_begins ON organizations"),
            ("audit_is_kept", "ALTER TABLE audit DISABLE TRIGGER audit_is_kept"),
            (
                "audit_is_kept",
                "DROP TRIGGER audit_is_kept ON audit;
                 CREATE TRIGGER audit_is_kept BEFORE UPDATE ON audit
                 FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept()",
            ),
            (
                "audit_is_kept",
                "CREATE OR REPLACE FUNCTION audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
            ),
            ("audit_is_kept", "DROP FUNCTION audit_is_kept() CASCADE"),
        ],
    }
}

async fn triggers_that_were_removed_are_found_and_put_back(home: Home) {
    let audited = Audited::lived(home).await;
    for (trigger, sql) in ways_to_remove_triggers(home) {
        audited.tamper(sql).await;
        let found = audited.trial.differences().await;
        let [sentence] = found.as_slice() else { panic!("{sql}: {found:?}") };
        assert!(sentence.contains(&format!("trigger {trigger} ")), "{sql}: {sentence}");
        assert!(sentence.contains("daybook verify --fix"), "{sql}: {sentence}");
        let fixed = audited.trial.service.fix(&mut |_| {}).await.expect("it can be fixed");
        let [restored] = fixed.fixed.as_slice() else { panic!("{sql}: {:?}", fixed.fixed) };
        let starts = format!("audit trail: the trigger {trigger} was missing, disabled or altered, and was restored");
        assert!(restored.starts_with(&starts) && !restored.contains("--fix"), "{sql}: {restored}");
        assert_eq!(fixed.verified.differences, [""; 0], "{sql}");
    }
    the_tables_refuse(&audited).await;
}

async fn triggers_that_were_added_are_found(home: Home) {
    let ways = match home {
        Home::Sqlite => vec![
            ("trigger", "audit", "CREATE TRIGGER x BEFORE INSERT ON audit BEGIN SELECT RAISE(IGNORE); END"),
            ("trigger", "audit_heads", "CREATE TRIGGER x BEFORE UPDATE ON audit_heads BEGIN SELECT RAISE(IGNORE); END"),
        ],
        Home::Postgres => vec![
            ("trigger", "audit", "CREATE TRIGGER x BEFORE INSERT ON audit EXECUTE FUNCTION audit_is_kept()"),
            ("rule", "audit", "CREATE RULE x AS ON INSERT TO audit DO INSTEAD NOTHING"),
            ("rule", "audit_heads", "CREATE RULE x AS ON UPDATE TO audit_heads DO INSTEAD NOTHING"),
        ],
    };
    let audited = Audited::lived(home).await;
    for (what, table, sql) in ways {
        audited.tamper(sql).await;
        let found = audited.trial.differences().await;
        let [sentence] = found.as_slice() else { panic!("{sql}: {found:?}") };
        let begin = format!("audit trail: the {what} x on table {table} is not Daybook's");
        assert!(sentence.starts_with(&begin), "{sql}: {sentence}");
        let on = if home == Home::Sqlite { String::new() } else { format!(" ON {table}") };
        audited.tamper(&format!("DROP {what} x{on}")).await;
    }
    assert_eq!(audited.trial.differences().await, [""; 0]);
}

async fn an_altered_record_is_found(home: Home) {
    for set in [
        "at = at + 1",
        "actor = 'somebody'",
        "session = 'x'",
        "address = '192.0.2.9'",
        "request_id = 'x'",
        "action = 'waive_fee'",
        "subject_type = 'customer'",
        "subject_id = 'a2'",
        "details = '{}'",
    ] {
        let audited = Audited::lived(home).await;
        audited.tamper(&format!("UPDATE audit SET {set} WHERE org = 1 AND seq = 5")).await;
        audited.finds("record 5 was changed").await;
    }
    let hash = if home == Home::Sqlite { "x'00'" } else { "'\\x00'" };
    let audited = Audited::lived(home).await;
    audited.tamper(&format!("UPDATE audit SET hash = {hash} WHERE org = 1 AND seq = 5")).await;
    audited.finds("record 5 was changed").await;
}

async fn a_removed_record_is_found(home: Home) {
    let audited = Audited::lived(home).await;
    audited.tamper("DELETE FROM audit WHERE org = 1 AND seq = 4").await;
    audited.finds("records 4 to 4 are missing").await;
    // Closing the gap does not help.
    let last = audited.records().await[0]["number"].as_i64().expect("a number");
    for number in 5..=last {
        audited.tamper(&format!("UPDATE audit SET seq = {} WHERE org = 1 AND seq = {number}", number - 1)).await;
    }
    audited.tamper(&format!("UPDATE audit_heads SET seq = {} WHERE org = 1", last - 1)).await;
    audited.finds("record 4 was changed, moved or inserted").await;
}

async fn an_inserted_record_is_found(home: Home) {
    let audited = Audited::lived(home).await;
    let last = audited.records().await[0]["number"].as_i64().expect("a number");
    let columns = "at, actor, session, address, request_id, action, subject_type, subject_id, details, hash";
    let copy = format!(
        "INSERT INTO audit (org, seq, {columns}) SELECT org, {}, {columns} FROM audit WHERE org = 1 AND seq = 3",
        last + 1
    );
    audited.tamper(&copy).await;
    audited.finds(&format!("record {} is after the end of the trail", last + 1)).await;
    // A record before the first one is found too.
    audited.tamper(&format!("DELETE FROM audit WHERE org = 1 AND seq = {}", last + 1)).await;
    if home == Home::Postgres {
        audited.tamper("ALTER TABLE audit DROP CONSTRAINT audit_seq_check").await;
    }
    let before = format!(
        "INSERT INTO audit (org, seq, {columns}) SELECT org, -7, {columns} FROM audit WHERE org = 1 AND seq = 3"
    );
    let pragma = if home == Home::Sqlite { "PRAGMA ignore_check_constraints = ON; " } else { "" };
    audited.tamper(&format!("{pragma}{before}")).await;
    audited.finds("record -7 was inserted before the first").await;
    audited.tamper("DELETE FROM audit WHERE org = 1 AND seq < 1").await;
    audited.tamper(&copy).await;
    // If the head is moved to it, its hash does not follow.
    audited.tamper(&format!("UPDATE audit_heads SET seq = {} WHERE org = 1", last + 1)).await;
    audited.finds(&format!("record {} was changed, moved or inserted", last + 1)).await;
}

async fn swapped_records_are_found(home: Home) {
    let audited = Audited::lived(home).await;
    for (from, to) in [(4, 1_000), (5, 4), (1_000, 5)] {
        audited.tamper(&format!("UPDATE audit SET seq = {to} WHERE org = 1 AND seq = {from}")).await;
    }
    audited.finds("record 4 was changed, moved or inserted").await;
}

async fn a_cut_tail_is_found(home: Home) {
    let audited = Audited::lived(home).await;
    let last = audited.records().await[0]["number"].as_i64().expect("a number");
    audited.tamper(&format!("DELETE FROM audit WHERE org = 1 AND seq > {}", last - 2)).await;
    audited.finds(&format!("should end with record {last}, but the last record found is number {}", last - 2)).await;
    // If the head is moved back by hand, its hash differs.
    audited.tamper(&format!("UPDATE audit_heads SET seq = {} WHERE org = 1", last - 2)).await;
    audited.finds("differs from the one in table audit_heads").await;
}

async fn a_lost_end_is_found(home: Home) {
    let audited = Audited::lived(home).await;
    audited.tamper("DELETE FROM audit_heads WHERE org = 1").await;
    audited.finds("its end is unknown").await;
    // Nothing is done that cannot be recorded.
    audited.trial.pay("a1", "p9", LEVEL, "2026-04-01T12:00:00-04:00").await.expect_err("it cannot be recorded");
    assert_eq!(audited.trial.all_items("a1", None).await.iter().filter(|item| item["line_item_id"] == "p9").count(), 0);
}

async fn organizations_have_chains_of_their_own(home: Home) {
    let audited = Audited::lived(home).await;
    let trial = &audited.trial;
    trial.service.create_organization("other", "TEST").await.expect("it is made");
    let other = trial.service.operator(Some("other")).await.expect("it is there");
    assert_eq!(records(trial, &other, AuditQuery::default()).await.len(), 0);
    let key = form_of(&json!({"name": "a key", "role": "READ_ONLY"}));
    view_of(trial.service.create_key(&other, key).await);
    let of_other = records(trial, &other, AuditQuery::default()).await;
    assert_eq!(actions(&of_other), ["create_key"]);
    assert_eq!(of_other[0]["number"], 1);
    let of_none = records(trial, &trial.service.operator_of_none(), AuditQuery::default()).await;
    assert_eq!(actions(&of_none), ["create_organization", "create_organization"]);
    trial.verify().await;
}

async fn a_server_finds_it_by_itself(home: Home) {
    let audited = Audited::lived(home).await;
    let pause = std::time::Duration::ZERO;
    assert_eq!(audited.trial.service.verify_round(pause).await.expect("it can be verified"), 0);
    audited.tamper("UPDATE audit SET actor = 'somebody' WHERE org = 1 AND seq = 3").await;
    assert_eq!(audited.trial.service.verify_round(pause).await.expect("it can be verified"), 1);
}

async fn a_roll_that_is_overtaken_is_counted_and_recorded_once(home: Home) {
    const TO: &str = "2080-04-01T12:00:00-04:00";
    let audited = Audited::lived(home).await;
    let trial = &audited.trial;
    for account in ["calm", "busy"] {
        trial.account("auto-12", account, "2026-03-15T00:00:00-04:00").await;
    }
    let calm = json_of(trial.roll("calm", TO, false).await);
    assert!(calm["total_attempted"].as_u64() > Some(500), "it is several slices: {calm}");
    let rolling = {
        let trial = trial.clone();
        tokio::spawn(async move { json_of(trial.roll("busy", TO, false).await) })
    };
    // A new key makes work stale that was computed and is not written yet.
    for _ in 0..6 {
        view_of(trial.service.rotate_hmac_key(&trial.who).await);
    }
    let busy = rolling.await.expect("it is rolled");
    for count in ["successful_events", "failed_events", "total_attempted"] {
        assert_eq!(busy[count], calm[count], "{count}");
    }
    let query = AuditQuery { subject_id: Some("busy".to_owned()), ..AuditQuery::default() };
    let records = records(trial, &trial.who, query).await;
    assert_eq!(actions(&records), ["roll_account", "create_account"]);
    assert_eq!(trial.all_items("busy", None).await.len(), trial.all_items("calm", None).await.len());
}
