//! `verify` finds changes that were made without the service.

use crate::support::{Home, LEVEL, Trial, json_of, on_both};
use serde_json::json;

on_both!(
    nothing_is_found_where_nothing_was_changed,
    a_changed_balance_is_found,
    a_changed_account_is_found,
    a_missing_line_item_is_found,
    a_missing_message_is_found,
    a_message_cancelled_by_another_is_found,
    a_flipped_bit_of_a_state_is_never_served,
    a_flipped_byte_is_found,
    a_flipped_byte_of_a_message_that_waits_is_found,
    a_changed_input_is_found,
    a_moved_input_is_found_with_both_times,
    an_account_that_cannot_be_read_holds_nobody_up,
);

/// A database with realistic content, and a way to change it by SQL.
struct Tampered {
    trial: Trial,
    home: Home,
    _folder: Option<tempfile::TempDir>,
}

impl Tampered {
    async fn lived(home: Home) -> Tampered {
        let (folder, address) = home.kept();
        let trial = Trial::over(&address, "2026-04-01T12:00:00-04:00").await;
        trial.product("auto-12", json!({})).await;
        trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
        trial.account("auto-12", "a2", "2026-03-15T00:00:00-04:00").await;
        json_of(trial.pay("a1", "p", LEVEL, "2026-04-01T12:00:00-04:00").await);
        trial.go_to("2026-05-20T12:00:00-04:00").await;
        json_of(trial.roll("a2", "2026-08-20T12:00:00-04:00", false).await);
        Tampered { trial, home, _folder: folder }
    }

    /// Changes one row.
    async fn change(&self, sql: &str) {
        let changed = match self.home {
            Home::Sqlite => {
                let path = self.trial.address.strip_prefix("sqlite:").expect("a file");
                let connection = rusqlite::Connection::open(path).expect("the file opens");
                connection.execute(sql, []).expect("the statement runs") as u64
            }
            Home::Postgres => {
                let (client, connection) =
                    tokio_postgres::connect(&self.trial.address, tokio_postgres::NoTls).await.expect("it connects");
                let connection = tokio::spawn(connection);
                let changed = client.execute(sql, &[]).await.expect("the statement runs");
                drop(client);
                connection.await.expect("it ends").expect("it ends well");
                changed
            }
        };
        assert_eq!(changed, 1, "{sql}");
    }

    /// A condition for a line item of the first account.
    fn item(&self, id: &str) -> String {
        let column = if self.home == Home::Sqlite { "item" } else { "item_id" };
        format!("account = 'a1' AND {column} = '{id}'")
    }

    /// Checks that all differences name this account or message, and that there is one.
    async fn finds(&self, what: &str) {
        let found = self.trial.differences().await;
        assert!(!found.is_empty(), "nothing is found");
        let about = |sentence: &String| sentence.contains(what) || sentence.starts_with("database:");
        assert!(found.iter().all(about), "{found:?}");
        assert!(found.iter().any(|sentence| sentence.contains(what)), "{found:?}");
    }

    /// Checks that a message of the second account has a wrong signature, whatever else is found of it.
    async fn finds_forged(&self) {
        let found = self.trial.differences().await;
        assert!(found.iter().all(|sentence| sentence.contains("a2") || sentence.contains(FORGED)), "{found:?}");
        assert!(found.iter().any(|sentence| sentence.contains(FORGED)), "{found:?}");
    }
}

/// The difference reported for a message whose bytes are not those that were signed.
const FORGED: &str = "its signature does not match its bytes";

async fn nothing_is_found_where_nothing_was_changed(home: Home) {
    let tampered = Tampered::lived(home).await;
    tampered.trial.verify().await;
    let verified = tampered.trial.service.verify(&mut |_| {}).await.expect("it can be verified");
    assert_eq!(verified.accounts, 2);
    let messages = tampered.trial.announced("a1").await.len() + tampered.trial.announced("a2").await.len();
    assert_eq!(verified.messages, messages as u64);
}

async fn a_changed_balance_is_found(home: Home) {
    let tampered = Tampered::lived(home).await;
    let which = tampered.item("dbk_late_fee_2");
    tampered.change(&format!("UPDATE line_items SET balance = balance + 1 WHERE {which}")).await;
    tampered.finds("account a1: line item dbk_late_fee_2").await;
}

async fn a_changed_account_is_found(home: Home) {
    let tampered = Tampered::lived(home).await;
    // One account's state in the other's row.
    let state = "(SELECT other.state FROM accounts AS other WHERE other.account = 'a2')";
    tampered.change(&format!("UPDATE accounts SET state = {state} WHERE account = 'a1'")).await;
    tampered.finds("account a1").await;
}

async fn a_missing_line_item_is_found(home: Home) {
    let tampered = Tampered::lived(home).await;
    tampered.change(&format!("DELETE FROM line_items WHERE {}", tampered.item("p"))).await;
    tampered.finds("account a1: line item p is missing").await;
}

async fn a_missing_message_is_found(home: Home) {
    for sequence in [3, 9, 10] {
        let tampered = Tampered::lived(home).await;
        assert_eq!(tampered.trial.announced("a1").await.len(), 10);
        let row =
            format!("SELECT min(m.sequence) FROM message_groups m WHERE m.account = 'a1' AND m.sequence >= {sequence}");
        tampered.change(&format!("DELETE FROM message_groups WHERE account = 'a1' AND sequence = ({row})")).await;
        tampered.finds("account a1").await;
        let found = tampered.trial.differences().await;
        let sentence = format!("account a1: message {sequence} (");
        assert!(found.iter().any(|difference| difference.starts_with(&sentence)), "{found:?}");
    }
}

async fn a_message_cancelled_by_another_is_found(home: Home) {
    let tampered = Tampered::lived(home).await;
    let last = tampered.trial.messages("a2").await.last().expect("there is one").sequence;
    tampered.change(&format!("UPDATE waiting_messages SET cancelled_at = 1 WHERE sequence = {last}")).await;
    tampered.finds(&format!("account a2: message {last} is cancelled")).await;
}

/// The last row of several messages of the second account.
const SHARED: &str = "sequence = (SELECT max(m.sequence) FROM message_groups m WHERE m.account = 'a2' AND m.size > 1)";

/// A statement that changes one byte of a stored message.
fn flip(home: Home, table: &str, which: &str, byte: &str) -> String {
    let content = match home {
        Home::Sqlite => {
            let other = format!("CASE substr(content, {byte} + 1, 1) WHEN x'78' THEN x'79' ELSE x'78' END");
            format!("CAST(substr(content, 1, {byte}) || {other} || substr(content, {byte} + 2) AS BLOB)")
        }
        Home::Postgres => format!("set_byte(content, {byte}, 255 - get_byte(content, {byte}))"),
    };
    format!("UPDATE {table} SET content = {content} WHERE account = 'a2' AND {which}")
}

/// A byte of the first signature, and the last byte, of the checksum.
const BYTES: [&str; 2] = ["9", "(length(content) - 1)"];

/// The number of flipped bits.
const FLIPPED_BITS: usize = 60;

/// Flips bits of a stored state, from its first byte to its last: each gives an error when the account is read, never
/// wrong amounts; each is found, and the last one is corrected from the journal.
async fn a_flipped_bit_of_a_state_is_never_served(home: Home) {
    let tampered = Tampered::lived(home).await;
    let trial = &tampered.trial;
    let before = trial.read("a1").await;
    let want =
        daybook_store::AccountToLoad { key: trial.key("a1"), inputs: daybook_store::Inputs::None, names: Vec::new() };
    let loaded = trial.store.load(&[want]).await.expect("it can be loaded").remove(0).expect("it is there");
    let state = loaded.row.now.state;
    for number in 0..FLIPPED_BITS {
        let bit = number * (state.len() * 8 - 1) / (FLIPPED_BITS - 1);
        let mut flipped = state.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let hex: String = flipped.iter().map(|byte| format!("{byte:02x}")).collect();
        let bytes = if home == Home::Sqlite { format!("x'{hex}'") } else { format!("'\\x{hex}'") };
        tampered.change(&format!("UPDATE accounts SET state = {bytes} WHERE account = 'a1'")).await;
        let served = trial.service.get_account(&trial.who, "a1", None).await;
        assert!(served.is_err(), "bit {bit} of {}: {served:?}", state.len() * 8);
        tampered.finds("account a1: its state cannot be read").await;
    }
    let fixed = trial.service.fix(&mut |_| {}).await.expect("it can be fixed");
    assert_eq!(fixed.verified.differences, Vec::<String>::new());
    assert_eq!(trial.read("a1").await, before);
}

async fn a_flipped_byte_is_found(home: Home) {
    // The first byte says what the content is.
    for byte in ["0"].into_iter().chain(BYTES) {
        let tampered = Tampered::lived(home).await;
        let (store, org) = (&tampered.trial.store, tampered.trial.who.org);
        let before = store.log_standing(org).await.expect("it is read");
        tampered.change(&flip(home, "message_groups", SHARED, byte)).await;
        let damaged = "cannot be read: it is stored together with messages that are damaged or missing";
        tampered.finds(damaged).await;
        tampered.trial.service.fix(&mut |_| {}).await.expect("what can be fixed is");
        assert_eq!(store.log_standing(org).await.expect("it is read"), before, "no message is removed");
        tampered.finds(damaged).await;
    }
}

async fn a_flipped_byte_of_a_message_that_waits_is_found(home: Home) {
    let tampered = Tampered::lived(home).await;
    let last = tampered.trial.messages("a2").await.last().expect("there is one").sequence;
    for byte in BYTES {
        let tampered = Tampered::lived(home).await;
        tampered.change(&flip(home, "waiting_messages", &format!("sequence = {last}"), byte)).await;
        tampered.finds_forged().await;
    }
}

async fn a_moved_input_is_found_with_both_times(home: Home) {
    let tampered = Tampered::lived(home).await;
    tampered.change("UPDATE inputs SET applies_at = applies_at + 1 WHERE account = 'a1' AND name = 'p'").await;
    let (is, was) = ("2026-04-01T16:00:00Z", "2026-04-01T16:00:00.000001Z");
    tampered
        .finds(&format!(
            "account a1: its journal cannot be recalculated: record 3: recalculating places it at {is}, but it was \
             placed at {was}"
        ))
        .await;
}

async fn a_changed_input_is_found(home: Home) {
    let tampered = Tampered::lived(home).await;
    tampered.change("UPDATE inputs SET effective_at = effective_at - 1, applies_at = applies_at - 1 WHERE account = 'a1' AND name = 'p'").await;
    tampered.finds("account a1").await;
}

/// One account is damaged; scheduled messages of the other are still sent when they are due, and a release still ends.
async fn an_account_that_cannot_be_read_holds_nobody_up(home: Home) {
    let tampered = Tampered::lived(home).await;
    let trial = &tampered.trial;
    let nothing = if home == Home::Sqlite { "x'ff'" } else { "'\\xff'" };
    tampered.change(&format!("UPDATE accounts SET state = {nothing} WHERE account = 'a1'")).await;
    let sent = trial.log().await.len();
    trial.migration_mode("auto-12", true).await;
    trial.clock.set(crate::support::time("2026-06-20T12:00:00-04:00"));
    trial.migration_mode("auto-12", false).await;
    assert!(trial.service.settle_due().await.is_err(), "the error is returned");
    // June of the account that was rolled ahead: interest, due date, missed payment, late fee; and the release.
    assert_eq!(trial.log().await.len(), sent + 5);
    assert_eq!(trial.progress("auto-12").await["state"], "NORMAL");
}
