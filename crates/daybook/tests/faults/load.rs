//! Load: callers that record payments without a pause and remember which were acknowledged.
//!
//! Each payment is sent under its id until it is acknowledged: after no response, or a 503, it is unknown whether it
//! was recorded, and sending it again is safe. At the end every sent payment must exist once, and no other.

use crate::common::api_client::{ApiClient, Reply};
use crate::common::chance::Chance;
use crate::common::loans::{line, loan, make_product, payments_of};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub const ACCOUNTS: u64 = 50;
const CALLERS: u64 = 4;
const BEFORE_SENDING_AGAIN: Duration = Duration::from_millis(20);

/// The acknowledged payments: the cents, by account and id.
pub type Acknowledged = BTreeMap<(String, String), i64>;

/// Counts of the results, updated during the run.
#[derive(Debug, Default)]
pub struct LoadCounts {
    pub acknowledged: AtomicU64,
    pub unavailable: AtomicU64,
    pub unanswered: AtomicU64,
    is_over: AtomicBool,
}

impl LoadCounts {
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    pub fn unavailable(&self) -> u64 {
        self.unavailable.load(Ordering::SeqCst)
    }

    pub fn unanswered(&self) -> u64 {
        self.unanswered.load(Ordering::SeqCst)
    }
}

/// Running callers.
#[derive(Debug)]
pub struct Load {
    pub counts: Arc<LoadCounts>,
    callers: Vec<JoinHandle<Acknowledged>>,
}

fn account(number: u64) -> String {
    format!("loan-{number}")
}

/// Opens the accounts that are paid. They are opened today, so nothing falls due during the test.
pub fn make_accounts(client: &ApiClient) {
    make_product(client, "auto", json!({}), json!({}));
    let accounts = (0..ACCOUNTS).map(|number| {
        let mut account = loan("auto", &account(number), "");
        account.as_object_mut().expect("an object").remove("effective_at");
        account["summary"]["initial_principal_cents"] = json!(1_000_000_000_000_i64);
        line("/accounts", &account)
    });
    client.bulk(&accounts.collect::<Vec<_>>());
}

impl Load {
    /// Starts the callers, each with its own client.
    pub fn start(chance: &Chance, client_of: impl Fn(u64) -> ApiClient) -> Load {
        let counts = Arc::new(LoadCounts::default());
        let callers = (0..CALLERS).map(|caller| {
            let (counts, chance, client) = (counts.clone(), chance.for_one(caller), client_of(caller));
            thread::spawn(move || work(caller, chance, &client, &counts))
        });
        Load { callers: callers.collect(), counts }
    }

    /// Ends each caller once its payment is acknowledged. Returns everything that was acknowledged.
    pub fn end(self) -> Acknowledged {
        self.counts.is_over.store(true, Ordering::SeqCst);
        self.callers.into_iter().flat_map(|caller| caller.join().expect("a caller met nothing unforeseen")).collect()
    }
}

fn work(caller: u64, mut chance: Chance, client: &ApiClient, counts: &LoadCounts) -> Acknowledged {
    let mut acknowledged = Acknowledged::new();
    let mut number = 0;
    while !counts.is_over.load(Ordering::SeqCst) {
        number += 1;
        let (account, id) = (account(chance.below(ACCOUNTS)), format!("caller-{caller}-{number}"));
        let cents = 1 + chance.below(1_000) as i64;
        send_until_acknowledged(client, &account, &id, cents, counts);
        counts.acknowledged.fetch_add(1, Ordering::SeqCst);
        acknowledged.insert((account, id), cents);
    }
    acknowledged
}

fn send_until_acknowledged(client: &ApiClient, account: &str, id: &str, cents: i64, counts: &LoadCounts) {
    let body = json!({ "line_item_id": id, "original_amount_cents": cents });
    // For ten minutes at least.
    for _ in 0..30_000 {
        match client.try_post(&payments_of(account), &body) {
            Ok(Reply { status: 200, text, .. }) => {
                assert!(text.contains(&format!("\"{id}\"")), "{text}");
                return;
            }
            Ok(reply) => {
                assert_eq!(reply.status, 503, "{}", reply.text);
                let seconds = reply.retry_after.as_ref().and_then(|text| text.parse::<u32>().ok());
                assert!(seconds.is_some(), "503 says when to come again: {reply:?}");
                counts.unavailable.fetch_add(1, Ordering::SeqCst);
            }
            Err(_) => {
                counts.unanswered.fetch_add(1, Ordering::SeqCst);
            }
        }
        thread::sleep(BEFORE_SENDING_AGAIN);
    }
    panic!("{id} was never acknowledged")
}

/// Checks that every acknowledged payment exists once with its amount, that there are no others, and that the balances
/// match.
pub fn assert_all_there_once(client: &ApiClient, acknowledged: &Acknowledged) {
    let mut there = Acknowledged::new();
    for number in 0..ACCOUNTS {
        let account = account(number);
        let mut sum = 0;
        for item in client.all(&format!("/accounts/{account}/line_items?line_item_type=PAYMENT")) {
            let id = item["line_item_id"].as_str().expect("an id").to_owned();
            let cents = -item["line_item_summary"]["original_amount_cents"].as_i64().expect("an amount");
            assert_eq!(item["line_item_overview"]["line_item_status"], "VALID", "{item}");
            sum += cents;
            let before = there.insert((account.clone(), id), cents);
            assert_eq!(before, None, "{account} has it twice: {item}");
        }
        let summary = client.get(&format!("/accounts/{account}")).good()["summary"].take();
        assert_eq!(summary["total_paid_to_date_cents"], sum, "{account}");
    }
    let lost: Vec<_> = acknowledged.iter().filter(|(key, cents)| there.get(*key) != Some(*cents)).collect();
    let strange: Vec<_> = there.iter().filter(|(key, _)| !acknowledged.contains_key(*key)).collect();
    assert!(lost.is_empty() && strange.is_empty(), "lost: {lost:?}; nobody sent: {strange:?}");
}
