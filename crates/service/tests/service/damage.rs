//! Damage to the sources that `verify --fix` corrects from: journals, states, signed bytes and products. `verify`
//! reports it, and `--fix` copies it nowhere.

use crate::looked::Looked;
use crate::support::{Home, LEVEL, Trial, code_of, json_of, on_both, time, view_of};
use daybook_service::Service;
use daybook_store::{AccountToLoad, Inputs};
use serde_json::json;

on_both!(
    a_journal_that_lost_a_record_is_told_and_nothing_is_corrected,
    a_journal_that_lost_a_record_under_an_earlier_state_is_told,
    a_renamed_record_does_not_rename_its_line_item,
    messages_are_never_numbered_again,
    a_gap_of_a_withdrawn_input_is_no_loss,
    a_state_of_another_account_is_never_served,
    an_earlier_state_of_another_account_moves_nothing,
    states_of_earlier_builds_are_served,
    a_column_that_says_how_far_an_account_is_processed_is_put_back,
    damaged_bytes_are_not_copied_into_columns,
    an_unreadable_product_holds_nobody_up,
    bytes_are_checked_after_a_rotation_of_the_key,
    messages_of_a_forgotten_key_are_accepted,
    the_first_message_is_checked_after_one_rotation_of_the_key,
    exchanged_messages_are_found,
    a_failed_message_that_nothing_becomes_of_is_found,
);

/// The tables that follow from journals.
const DERIVED: [&str; 5] = ["accounts", "line_items", "message_groups", "message_events", "waiting_messages"];

async fn tables(looked: &Looked) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for table in DERIVED {
        all.push(looked.rows(table).await);
    }
    all
}

/// A loan with two payments, and one that was rolled ahead.
async fn lived(home: Home) -> Looked {
    let looked = Looked::lived(home).await;
    json_of(looked.trial.pay("a1", "q", LEVEL, "2026-05-20T12:00:00-04:00").await);
    looked.trial.verify().await;
    looked
}

/// Checks that this is found, and that `--fix` changes nothing that follows from journals.
pub async fn finds_and_leaves(looked: &Looked, what: &str, sentence: &str) {
    let before = tables(looked).await;
    let found = looked.trial.differences().await;
    assert!(found.iter().any(|difference| difference.contains(sentence)), "{what}: {found:?}");
    let fixed = looked.trial.service.fix(&mut |_| {}).await.expect("it goes on");
    assert_eq!(fixed.fixed, Vec::<String>::new(), "{what}");
    assert_eq!(tables(looked).await, before, "{what}: everything is as it was");
    assert_eq!(fixed.verified.differences, found, "{what}: it is still told");
}

pub const LOST: &str = "its journal lost a record, or was changed: ";

async fn a_journal_that_lost_a_record_is_told_and_nothing_is_corrected(home: Home) {
    for (which, sentence) in [
        ("account = 'a1' AND name = 'p'", format!("account a1: {LOST}a caller created line item p, but the")),
        ("account = 'a1' AND name = 'q'", format!("account a1: {LOST}a caller created line item q, but the")),
        ("account = 'a2' AND name LIKE 'dbk_roll_%'", "the account was rolled to ".to_owned()),
        ("account = 'a2' AND name LIKE 'dbk_release_%'", format!("account a2: {LOST}")),
        ("account = 'a1' AND name = 'dbk_open'", "the record that opens the account is missing".to_owned()),
    ] {
        let looked = lived(home).await;
        looked.change(&format!("DELETE FROM inputs WHERE {which}")).await;
        finds_and_leaves(&looked, which, &sentence).await;
    }
    // An account with nothing after its release.
    let looked = Looked::lived(home).await;
    looked.trial.account("auto-12", "a3", "2026-05-01T00:00:00-04:00").await;
    looked.change("DELETE FROM inputs WHERE account = 'a3' AND name LIKE 'dbk_release_%'").await;
    let sentence = format!("account a3: {LOST}");
    finds_and_leaves(&looked, "a release", &sentence).await;
    let found = looked.trial.differences().await;
    let is_told = |found: &String| found.contains("events were released, but the journal has no record of the release");
    assert!(found.iter().any(is_told), "{found:?}");
}

/// The stored state of an account.
async fn state_of(looked: &Looked, account: &str) -> Vec<u8> {
    let want = AccountToLoad { key: looked.trial.key(account), inputs: Inputs::None, names: Vec::new() };
    let loaded = looked.trial.store.load(&[want]).await.expect("it can be loaded").remove(0);
    loaded.expect("it is there").row.now.state
}

async fn put_state(looked: &Looked, home: Home, account: &str, state: &[u8]) {
    let hex: String = state.iter().map(|byte| format!("{byte:02x}")).collect();
    let bytes = if home == Home::Sqlite { format!("x'{hex}'") } else { format!("'\\x{hex}'") };
    looked.change(&format!("UPDATE accounts SET state = {bytes} WHERE account = '{account}'")).await;
}

/// A state as the previous build wrote it: version 4, with a checksum (64-bit FNV-1a) of version and content alone.
fn of_version_4(state: &[u8]) -> Vec<u8> {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let sum = [4].iter().chain(&state[9..]).fold(0xcbf2_9ce4_8422_2325, step);
    [4].into_iter().chain(sum.to_le_bytes()).chain(state[9..].iter().copied()).collect()
}

async fn a_journal_that_lost_a_record_under_an_earlier_state_is_told(home: Home) {
    let looked = lived(home).await;
    let state = of_version_4(&state_of(&looked, "a1").await);
    put_state(&looked, home, "a1", &state).await;
    looked.trial.verify().await;
    // Its line item is gone too.
    looked.change("DELETE FROM inputs WHERE account = 'a1' AND name = 'q'").await;
    looked.change("DELETE FROM line_items WHERE account = 'a1' AND {item} = 'q'").await;
    let sentence = "its stored state is intact, but recalculating the journal gives a different state";
    finds_and_leaves(&looked, "state", sentence).await;
}

async fn a_renamed_record_does_not_rename_its_line_item(home: Home) {
    let looked = lived(home).await;
    looked.change("UPDATE inputs SET name = 'another' WHERE account = 'a1' AND name = 'p'").await;
    finds_and_leaves(&looked, "name", &format!("account a1: {LOST}a caller created line item p,")).await;
}

async fn messages_are_never_numbered_again(home: Home) {
    let looked = lived(home).await;
    let last = looked.trial.messages("a1").await.last().expect("there is one").sequence;
    looked.change("UPDATE accounts SET message_seq = message_seq + 5 WHERE account = 'a1'").await;
    let sentence = format!(
        "account a1: {LOST}its messages are numbered up to {}, but by its journal the last number is {last}",
        last + 5
    );
    finds_and_leaves(&looked, "message_seq", &sentence).await;
}

/// Withdrawn inputs leave gaps in the numbers of records; damage to such an account is corrected.
async fn a_gap_of_a_withdrawn_input_is_no_loss(home: Home) {
    let looked = Looked::lived(home).await;
    let trial = &looked.trial;
    trial.migration_mode("auto-12", true).await;
    for id in ["h1", "h2", "h3"] {
        json_of(trial.pay("a1", id, 1_000, "2026-05-10T12:00:00-04:00").await);
    }
    json_of(trial.withdraw("a1", "h1").await);
    json_of(trial.withdraw("a1", "h3").await);
    trial.verify().await;
    trial.release("auto-12").await;
    trial.verify().await;
    let before = tables(&looked).await;
    looked.change("UPDATE accounts SET balance = balance + 1, state = {bytes} WHERE account = 'a1'").await;
    looked.change("DELETE FROM line_items WHERE account = 'a1' AND {item} = 'h2'").await;
    let fixed = trial.service.fix(&mut |_| {}).await.expect("it can be fixed");
    assert_eq!(fixed.verified.differences, Vec::<String>::new());
    assert_eq!(tables(&looked).await, before);
}

async fn a_state_of_another_account_is_never_served(home: Home) {
    let looked = lived(home).await;
    let before = tables(&looked).await;
    let other = state_of(&looked, "a2").await;
    put_state(&looked, home, "a1", &other).await;
    let trial = &looked.trial;
    assert_eq!(code_of(trial.service.get_account(&trial.who, "a1", None).await), "internal_error");
    let found = trial.differences().await;
    assert!(found.iter().any(|found| found.starts_with("account a1: its state cannot be read")), "{found:?}");
    let fixed = trial.service.fix(&mut |_| {}).await.expect("it can be fixed");
    assert_eq!(fixed.verified.differences, Vec::<String>::new());
    assert_eq!(tables(&looked).await, before);
}

/// The checksum of earlier builds does not tell whose state it is. The other account was rolled months ahead: this one
/// stays where it was.
async fn an_earlier_state_of_another_account_moves_nothing(home: Home) {
    let looked = lived(home).await;
    let before = tables(&looked).await;
    let other = of_version_4(&state_of(&looked, "a2").await);
    put_state(&looked, home, "a1", &other).await;
    let found = looked.trial.differences().await;
    assert!(found.iter().any(|found| found.starts_with("account a1: its state differs")), "{found:?}");
    let fixed = looked.trial.service.fix(&mut |_| {}).await.expect("it can be fixed");
    assert_eq!(fixed.verified.differences, Vec::<String>::new());
    assert_eq!(tables(&looked).await, before);
}

/// States without a checksum (version 2), and with one that does not cover the account (version 4).
async fn states_of_earlier_builds_are_served(home: Home) {
    let looked = lived(home).await;
    let before = looked.trial.read("a1").await;
    let state = state_of(&looked, "a1").await;
    let of_version_2: Vec<u8> = [2].into_iter().chain(state[9..].iter().copied()).collect();
    for earlier in [of_version_2, of_version_4(&state)] {
        put_state(&looked, home, "a1", &earlier).await;
        assert_eq!(looked.trial.read("a1").await, before);
        looked.trial.verify().await;
    }
}

async fn a_column_that_says_how_far_an_account_is_processed_is_put_back(home: Home) {
    let looked = lived(home).await;
    let before = tables(&looked).await;
    for by in ["- 86400000000", "+ 1000000", "+ 31536000000000"] {
        let sql = format!("UPDATE accounts SET processed_through = processed_through {by} WHERE account = 'a1'");
        looked.change(&sql).await;
        looked.finds(by).await;
        looked.puts_back(by, "accounts", &before[0]).await;
    }
}

/// An expression that replaces a text in a message's bytes.
fn replaced(home: Home, from: &str, to: &str) -> String {
    match home {
        Home::Sqlite => format!("CAST(replace(CAST(content AS TEXT), '{from}', '{to}') AS BLOB)"),
        Home::Postgres => format!("convert_to(replace(convert_from(content, 'UTF8'), '{from}', '{to}'), 'UTF8')"),
    }
}

const THIRD: &str = "account = 'a1' AND sequence = 3";

async fn damaged_bytes_are_not_copied_into_columns(home: Home) {
    for (from, to) in [("dbk_evt_", "dbk_other_"), ("\"changed_at\":\"2026", "\"changed_at\":\"2025")] {
        let looked = lived(home).await;
        looked.store_plain().await;
        let data = replaced(home, from, to);
        looked.change(&format!("UPDATE message_groups SET content = {data} WHERE {THIRD}")).await;
        finds_and_leaves(&looked, from, "its signature does not match its bytes").await;
    }
    // The id follows from account and number, even if the bytes are damaged too.
    let looked = lived(home).await;
    looked.store_plain().await;
    let before: Vec<String> = looked.trial.messages("a1").await.into_iter().map(|message| message.event_id).collect();
    let data = replaced(home, "dbk_evt_", "dbk_other_");
    looked.change(&format!("UPDATE message_groups SET event_id = 'another', content = {data} WHERE {THIRD}")).await;
    looked.trial.service.fix(&mut |_| {}).await.expect("it goes on");
    let after: Vec<String> = looked.trial.messages("a1").await.into_iter().map(|message| message.event_id).collect();
    assert_eq!(after, before);
    // The bytes of another message, with its signature.
    let looked = lived(home).await;
    looked.store_plain().await;
    let other =
        |column: &str| format!("(SELECT m.{column} FROM message_groups m WHERE m.account = 'a1' AND m.sequence = 4)");
    let (data, signature) = (other("content"), other("signature"));
    looked.change(&format!("UPDATE message_groups SET content = {data}, signature = {signature} WHERE {THIRD}")).await;
    finds_and_leaves(&looked, "another's bytes", "account a1: message 3 has bytes with the id ").await;
}

async fn an_unreadable_product_holds_nobody_up(home: Home) {
    let looked = Looked::lived(home).await;
    let trial = &looked.trial;
    trial.product("later", json!({})).await;
    trial.account("later", "b1", "2026-05-10T00:00:00-04:00").await;
    looked.change("UPDATE products SET body = 'garbage' WHERE product = 'auto-12'").await;
    looked.change("UPDATE accounts SET balance = balance + 1 WHERE account = 'b1'").await;
    // As at a start.
    let service = Service::start(trial.store.clone(), trial.clock.clone(), &[7; 32]).await.expect("it starts");
    let trial = &Trial { service, ..trial.clone() };
    trial.service.adopt_zone_data().await.expect("the other zones are compared");
    let found = trial.differences().await;
    for sentence in [
        "product auto-12: cannot be read: ",
        "account a1: cannot be verified: product auto-12: cannot be read: ",
        "account b1: balance is ",
    ] {
        assert!(found.iter().any(|found| found.starts_with(sentence)), "{sentence}: {found:?}");
    }
    let fixed = trial.service.fix(&mut |_| {}).await.expect("it goes on");
    let is_about = |found: &String| found.contains("product auto-12: cannot be read");
    assert!(fixed.verified.differences.iter().all(is_about), "{fixed:?}");
    // Calls about the product fail; the others are served, also at the same time, and timers go on.
    let code = |answer: Result<_, daybook_service::problem::Problem>| answer.map_err(|problem| problem.code);
    let (bad, good) = tokio::join!(
        trial.pay("a1", "x", 100, "2026-05-20T12:00:00-04:00"),
        trial.pay("b1", "y", 100, "2026-05-20T12:00:00-04:00")
    );
    assert_eq!(code(bad), Err("internal_error"));
    json_of(good);
    let announced = trial.announced("b1").await.len();
    trial.clock.set(time("2026-08-20T12:00:00-04:00"));
    assert!(trial.service.settle_due().await.is_err(), "the error is returned");
    assert_eq!(trial.announced_after("b1", announced).await[0], "line_item_create", "the first month's interest");
}

async fn bytes_are_checked_after_a_rotation_of_the_key(home: Home) {
    let looked = Looked::lived(home).await;
    looked.store_plain().await;
    view_of(looked.trial.service.rotate_hmac_key(&looked.trial.who).await);
    looked.trial.verify().await;
    let last = looked.trial.messages("a2").await.last().expect("there is one").sequence;
    let data = replaced(home, "account_id", "account_no");
    looked
        .change(&format!("UPDATE waiting_messages SET content = {data} WHERE account = 'a2' AND sequence = {last}"))
        .await;
    finds_and_leaves(&looked, "data", "its signature does not match its bytes").await;
}

/// After two rotations, the key that signed the first messages is no longer stored.
async fn messages_of_a_forgotten_key_are_accepted(home: Home) {
    let looked = Looked::lived(home).await;
    for _ in 0..2 {
        view_of(looked.trial.service.rotate_hmac_key(&looked.trial.who).await);
    }
    looked.trial.verify().await;
    json_of(looked.trial.pay("a2", "z", 100, "2026-08-20T12:00:00-04:00").await);
    looked.trial.verify().await;
}

async fn the_first_message_is_checked_after_one_rotation_of_the_key(home: Home) {
    let looked = Looked::lived(home).await;
    looked.store_plain().await;
    view_of(looked.trial.service.rotate_hmac_key(&looked.trial.who).await);
    let data = replaced(home, "object", "another");
    let first = "{place} = (SELECT min(m.{place}) FROM message_groups m)";
    looked.change(&format!("UPDATE message_groups SET content = {data} WHERE {first}")).await;
    finds_and_leaves(&looked, "data", "its signature does not match its bytes").await;
}

/// Two messages of an account, each at the other's position in the log.
async fn exchanged_messages_are_found(home: Home) {
    let looked = lived(home).await;
    looked.store_plain().await;
    let positions: Vec<i64> = looked.trial.messages("a1").await.iter().filter_map(|message| message.position).collect();
    let of = if home == Home::Sqlite { 1_i64 << 40 } else { 0 };
    let (one, other) = (of + positions[1], of + positions[2]);
    for (from, to) in [(one, of + 900_000), (other, one), (of + 900_000, other)] {
        looked.change(&format!("UPDATE message_groups SET {{place}} = {to} WHERE {{place}} = {from}")).await;
    }
    let sentence = format!("account a1: message 3 is at position {} of the log, before message 2 at ", positions[1]);
    finds_and_leaves(&looked, "positions", &sentence).await;
}

/// It would never be retried, and it is no dead letter either.
async fn a_failed_message_that_nothing_becomes_of_is_found(home: Home) {
    let looked = Looked::lived(home).await;
    if home == Home::Postgres {
        // There, a constraint refuses it; a database may have lost it.
        looked.run("ALTER TABLE failures DROP CONSTRAINT failures_check").await;
    }
    looked.change("UPDATE failures SET dead_at = NULL, retry_at = NULL WHERE position = 3").await;
    let sentence = "is the number of a webhook URL with a failed message that is neither retried nor dead";
    finds_and_leaves(&looked, "failures", sentence).await;
}
