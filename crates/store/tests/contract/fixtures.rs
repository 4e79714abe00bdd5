//! Rows to start from. Each test changes the fields it is about.

use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::batch::{AccountClaim, AccountWrite, Batch, Claimed, NewKeptResponse, ProductWrite, Unit};
use daybook_store::portfolio_queries::AccountSearch;
use daybook_store::records::{
    AccountKey, AccountNow, AccountRow, CustomerRow, InputRow, ItemRow, KeptResponse, KeyRow, MessageRow, Mode, OrgId,
    Organization, ProductKey, ProductRow,
};
use daybook_store::{AccountToLoad, Inputs, LoadedAccount, Store};
use std::sync::Arc;

/// The moment this many seconds after 1970.
pub fn at(seconds: i64) -> Time {
    Time::from_seconds(seconds)
}

pub async fn organization(store: &Arc<dyn Store>, name: &str) -> OrgId {
    let organization = Organization {
        org: 0,
        name: name.into(),
        environment: "TEST".into(),
        created_at: at(1),
        signing_key: vec![1, 2, 3],
        previous_signing_key: None,
        event_mark: format!("mark of {name}"),
    };
    store.create_organization(&organization, None).await.unwrap()
}

pub fn key_row(org: OrgId, client_id: &str) -> KeyRow {
    KeyRow {
        org,
        client_id: client_id.into(),
        secret_hash: format!("hash of {client_id}").into_bytes(),
        name: "ci".into(),
        role: "admin".into(),
        created_at: at(10),
        last_used_at: None,
        revoked_at: None,
    }
}

pub fn product_key(org: OrgId, product: &str) -> ProductKey {
    ProductKey { org, product: product.into() }
}

pub fn product_row(org: OrgId, product: &str) -> ProductRow {
    ProductRow {
        key: product_key(org, product),
        body: format!("{{\"product_id\":\"{product}\"}}"),
        content_hash: vec![7; 32],
        created_at: at(2),
        mode: Mode { version: 1, ..Mode::default() },
    }
}

pub fn customer_row(org: OrgId, customer: &str) -> CustomerRow {
    CustomerRow {
        org,
        customer_id: customer.into(),
        version: 1,
        body: format!("{{\"customer_id\":\"{customer}\"}}"),
        sealed: Some(vec![0, 255, 3]),
        content_hash: vec![8; 32],
        created_at: at(3),
        updated_at: at(4),
    }
}

pub fn account_key(org: OrgId, account: &str) -> AccountKey {
    AccountKey { org, account: account.into() }
}

/// The changing values of an account, with no optional ones and nothing to do.
pub fn now() -> AccountNow {
    AccountNow {
        updated_at: at(20),
        state: vec![5, 0, 6],
        profile: "{}".into(),
        processed_through: None,
        rolled_to: None,
        next_moment: None,
        oldest_unpaid_due: None,
        status: "ACTIVE".into(),
        substatus: None,
        next_seq: 1,
        settled_seq: 0,
        held_events: 0,
        scheduled_events: 0,
        message_seq: 0,
        failure: None,
        balance: 0,
    }
}

pub fn account_row(org: OrgId, account: &str, product: &str) -> AccountRow {
    AccountRow {
        key: account_key(org, account),
        product: product.into(),
        version: 1,
        terms: vec![9, 0, 9],
        content_hash: vec![6; 32],
        effective_at: at(18),
        created_at: at(19),
        now: now(),
    }
}

pub fn input(seq: i64, name: &str) -> InputRow {
    InputRow {
        seq,
        name: name.into(),
        effective_at: at(100 + seq),
        applies_at: at(200 + seq),
        rank: -3,
        scheduled: false,
        recorded_at: at(300 + seq),
        clock: at(400 + seq),
        payload: vec![1, 0, 2],
        extra: Some("{\"note\":\"é\"}".into()),
        content_hash: vec![4; 32],
    }
}

pub fn item(item_id: &str) -> ItemRow {
    ItemRow {
        item_id: item_id.into(),
        kind: "PAYMENT".into(),
        status: "POSTED".into(),
        effective_at: at(500),
        applied_at: at(501),
        created_at: at(502),
        updated_at: at(503),
        amount: -10_050,
        balance: 9_000,
        principal: -8_000,
        interest: -2_000,
        fees: -50,
        splits: vec![2, 0, 2],
        extra: Some("{\"ref\":1}".into()),
        reversed_by: None,
        reason: None,
    }
}

/// A message for the log, as it is read back at a position.
pub fn message(account: Option<&str>, sequence: i64, event_id: &str) -> MessageRow {
    MessageRow {
        position: None,
        due_at: None,
        cancelled_at: None,
        account: account.map(Arc::from),
        sequence,
        event: "payment.posted".into(),
        event_id: event_id.into(),
        cause: "input:12".into(),
        subject: "li_1".into(),
        effective_at: at(600),
        recorded_at: at(601),
        data: Bytes::from_static(b"{\"a\": 1}"),
        signature: "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqo=".into(),
    }
}

/// A waiting message.
pub fn waiting(account: &str, sequence: i64, event_id: &str, due_at: Time) -> MessageRow {
    MessageRow { due_at: Some(due_at), ..message(Some(account), sequence, event_id) }
}

pub fn new_answer(org: OrgId, key: &str, recorded_at: Time, expires_at: Time) -> NewKeptResponse {
    NewKeptResponse { org, key: key.into(), answer: answer(key), recorded_at, expires_at }
}

pub fn answer(of: &str) -> KeptResponse {
    KeptResponse { content_hash: of.as_bytes().to_vec(), body: Bytes::from(format!("{{\"of\":\"{of}\"}}")) }
}

/// Writes an account and nothing else.
pub fn write(claim: AccountClaim) -> AccountWrite {
    AccountWrite {
        claim,
        inputs: vec![],
        removed_inputs: vec![],
        items: vec![],
        item_changes: vec![],
        customers: None,
        publish_until: None,
        cancel: None,
        refold: None,
    }
}

pub fn insert(row: AccountRow) -> AccountWrite {
    write(AccountClaim::Insert(Box::new(row)))
}

pub fn update(key: &AccountKey, version: i64, now: AccountNow) -> AccountWrite {
    write(AccountClaim::Update { key: key.clone(), version, now: Box::new(now) })
}

pub fn account_unit(account: AccountWrite) -> Unit {
    Unit { accounts: vec![account], ..Unit::default() }
}

pub fn product_unit(product: ProductWrite) -> Unit {
    Unit { products: vec![product], ..Unit::default() }
}

pub fn message_unit(messages: Vec<(OrgId, MessageRow)>) -> Unit {
    Unit { messages, ..Unit::default() }
}

pub async fn commit(store: &Arc<dyn Store>, units: Vec<Unit>) -> Vec<Claimed> {
    store.commit(Batch { units }).await.unwrap()
}

/// Commits units that must all be written.
pub async fn written(store: &Arc<dyn Store>, units: Vec<Unit>) {
    let claimed = commit(store, units).await;
    assert!(claimed.iter().all(|claimed| *claimed == Claimed::Written), "{claimed:?}");
}

/// Commits one unit that must be stale.
pub async fn stale(store: &Arc<dyn Store>, unit: Unit) {
    assert_eq!(commit(store, vec![unit]).await, [Claimed::Stale]);
}

/// Creates an account.
pub async fn account(store: &Arc<dyn Store>, row: AccountRow) -> AccountKey {
    let key = row.key.clone();
    written(store, vec![account_unit(insert(row))]).await;
    key
}

/// Creates a product.
pub async fn product(store: &Arc<dyn Store>, row: ProductRow) -> ProductKey {
    let key = row.key.clone();
    written(store, vec![product_unit(ProductWrite::Insert(Box::new(row)))]).await;
    key
}

pub async fn load(store: &Arc<dyn Store>, key: &AccountKey, inputs: Inputs) -> Option<LoadedAccount> {
    let want = AccountToLoad { key: key.clone(), inputs, names: vec![] };
    let mut loaded = store.load(&[want]).await.unwrap();
    assert_eq!(loaded.len(), 1);
    loaded.remove(0)
}

/// The event ids of the log, with their positions.
pub async fn log(store: &Arc<dyn Store>, org: OrgId) -> Vec<(i64, String)> {
    let messages = store.messages(org, 0, 10_000).await.unwrap();
    messages.into_iter().map(|message| (message.position.unwrap(), message.event_id)).collect()
}

/// The moment of searches for accounts.
pub const NOW: i64 = 1_000;

/// A search that every account matches.
pub fn everything() -> AccountSearch {
    AccountSearch {
        product: None,
        status: None,
        not_status: None,
        substatus: None,
        text: None,
        due_by: None,
        due_from: None,
        now: at(NOW),
    }
}
