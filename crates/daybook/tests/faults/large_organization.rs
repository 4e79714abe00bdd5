//! One organization opens, and later releases, loans with a very long history. Another organization's payments are
//! served as usual, and memory stays within its limit.
//!
//! Each run checks counts: payments are answered while calls of the large organization are still running, few of its
//! accounts are processed between two payments, and in the end all are processed and verified. A campaign uses the
//! sizes of a real lender and observes each part of the work for at most 90 seconds; the rest continues during the next
//! part. It also checks the time of payments and the memory of the server, and needs a release build on an otherwise
//! idle machine: `DAYBOOK_LARGE=1000,200 cargo test --release --workspace --test faults large_organization --
//! --nocapture --test-threads 1`.

use crate::common::api_client::{ApiClient, until};
use crate::common::installation::Installation;
use crate::common::loans::{line, loan, make_product, payments_of};
use daybook_clock::Stopwatch;
use daybook_testkit::server::{Server, ServerResponse};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Loans of 360 months, and daily loans: of 75 years in a campaign, otherwise of 20.
const MONTHLY: usize = 20;
const DAILY: usize = 1;
/// When they were opened.
const FIRST_MONTH: &str = "1996-11-17T12:00:00-05:00";
const FIRST_DAY_OF_CAMPAIGN: &str = "1950-11-17T12:00:00-05:00";
const FIRST_DAY: &str = "2006-11-17T12:00:00-05:00";
/// The time limit for 99 of 100 payments in a campaign.
const LIMIT: Duration = Duration::from_millis(250);
/// How long a campaign observes each part of the work.
const LONGEST_PART: Duration = Duration::from_secs(90);
/// The memory limit of the server in a campaign.
const MOST_KIB: u64 = 1 << 20;
/// The most monthly loans of the large organization processed between two payments of the other: a part of them.
const MOST_BETWEEN: usize = MONTHLY / 2;

#[test]
fn a_large_organization_does_not_crowd_out_others_on_sqlite() {
    check("SQLite", &Installation::sqlite());
}

#[test]
fn a_large_organization_does_not_crowd_out_others_on_postgres() {
    check("PostgreSQL", &Installation::postgres());
}

/// The sizes of a campaign: monthly loans, daily loans.
fn asked() -> Option<(usize, usize)> {
    let text = std::env::var("DAYBOOK_LARGE").ok()?;
    let (monthly, daily) = text.split_once(',').expect("two numbers with a comma between");
    Some((monthly.parse().expect("a number"), daily.parse().expect("a number")))
}

fn check(database: &str, installation: &Installation) {
    let (monthly, daily) = asked().unwrap_or((MONTHLY, DAILY));
    let first_day = if asked().is_some() { FIRST_DAY_OF_CAMPAIGN } else { FIRST_DAY };
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    let mut paid = loan("auto", "paid", "");
    paid.as_object_mut().expect("an object").remove("effective_at");
    paid["summary"]["initial_principal_cents"] = json!(1_000_000_000_000_i64);
    client.post("/accounts", &paid).good();
    let made = installation.json_of(&["org", "create", "large", "--json"]);
    let secret = made["client_secret"].as_str().expect("a secret").to_owned();
    let large = Large { server: &server, secret, is_over: AtomicBool::new(false) };
    for (product, cycle) in
        [("monthly", "1 month"), ("daily", "1 day"), ("held-monthly", "1 month"), ("held-daily", "1 day")]
    {
        large.make_product(product, cycle);
    }
    let mut payer = Payer { client: &client, large: &large, number: 0 };
    let measured = payer.pay_while("months opened", || large.open("monthly", "m", monthly, FIRST_MONTH));
    measured.print(database);
    if asked().is_none() {
        assert!(measured.between <= MOST_BETWEEN, "{} accounts were done between two payments", measured.between);
    }
    payer.pay_while("days opened", || large.open("daily", "d", daily, first_day)).print(database);
    large.release(&mut payer, database, "held-monthly", "hm", monthly, FIRST_MONTH);
    large.release(&mut payer, database, "held-daily", "hd", daily, first_day);
    server.stop();
    if asked().is_none() {
        installation.verify();
    }
}

/// The large organization.
struct Large<'a> {
    server: &'a Server,
    secret: String,
    /// Whether the test no longer waits for its work.
    is_over: AtomicBool,
}

impl Large<'_> {
    fn make_product(&self, product: &str, cycle: &str) {
        let form = json!({
            "product_id": product,
            "product_overview": { "product_name": product, "product_type": "INSTALLMENT" },
            "product_lifecycle_policies": {
                "billing_cycle_policies": { "cycle_interval": cycle },
                "opening_policies": { "most_years_back": 100 },
            },
            "post_promotional_policies":
                { "post_promo_len": 360, "post_promo_default_interest_rate_percent": 6 },
            "admin": { "migration_mode": product.starts_with("held") },
        });
        self.server.post("/products", &self.secret, &form).good();
    }

    /// Opens loans in one call and waits until all are processed, because the call may take longer than the client
    /// waits.
    fn open(&self, product: &str, name: &str, count: usize, from: &str) {
        let lines = (0..count).map(|number| line("/accounts", &loan(product, &format!("{name}-{number}"), from)));
        let body: String = lines.map(|line| format!("{line}\n")).collect();
        let answer: ServerResponse = self.server.post_lines("/bulk", &self.secret, &body);
        assert!([200, 503].contains(&answer.status), "{}", answer.text);
        if !product.starts_with("held") {
            self.wait_for(product);
        }
    }

    fn wait_for(&self, product: &str) {
        until("all loans are worked through", || match self.left(product) {
            left if left > 0 && !self.is_over.load(Relaxed) => Err(format!("{left} are left")),
            _ => Ok(()),
        });
    }

    /// The number of accounts not processed yet.
    fn left(&self, product: &str) -> u64 {
        let progress = self.server.get(&format!("/products/{product}/migration_mode"), &self.secret).good();
        progress["held_events"].as_u64().expect("a number")
    }

    /// The number of processed accounts.
    fn done(&self) -> usize {
        let page = self.server.get("/accounts?product_id=monthly&limit=200", &self.secret).good();
        let accounts = page["results"].as_array().expect("a page has results").clone();
        accounts.iter().filter(|account: &&Value| account["held_events"] == 0).count()
    }

    fn release(&self, payer: &mut Payer<'_>, database: &str, product: &str, name: &str, count: usize, from: &str) {
        self.open(product, name, count, from);
        let what = format!("{product} released");
        let measured = payer.pay_while(&what, || {
            let form = json!({ "migration_mode": false });
            self.server.put(&format!("/products/{product}/migration_mode"), &self.secret, &form).good();
            self.wait_for(product);
        });
        measured.print(database);
    }
}

/// The other organization, which makes payments.
struct Payer<'a> {
    client: &'a ApiClient,
    large: &'a Large<'a>,
    number: u64,
}

/// The results of a payer.
struct Measured {
    what: String,
    took: Vec<Duration>,
    most_kib: u64,
    between: usize,
}

impl Payer<'_> {
    /// Makes payments repeatedly while some work runs.
    fn pay_while(&mut self, what: &str, work: impl FnOnce() + Send) -> Measured {
        let (mut took, mut most_kib, mut between, mut before) = (Vec::new(), 0, 0, 0);
        let part = Stopwatch::start();
        self.large.is_over.store(false, Relaxed);
        thread::scope(|scope| {
            let working = scope.spawn(work);
            while !working.is_finished() {
                if asked().is_some() && part.elapsed() > LONGEST_PART {
                    self.large.is_over.store(true, Relaxed);
                }
                self.number += 1;
                let body = json!({ "line_item_id": format!("p{}", self.number), "original_amount_cents": 1 });
                let stopwatch = Stopwatch::start();
                self.client.post(&payments_of("paid"), &body).good();
                took.push(stopwatch.elapsed());
                most_kib = most_kib.max(self.large.server.resident_kib());
                if asked().is_none() && what == "months opened" {
                    let done = self.large.done();
                    between = between.max(done - before.min(done));
                    before = done;
                }
                thread::sleep(Duration::from_millis(10));
            }
            working.join().expect("the large organization's calls work");
        });
        took.sort();
        Measured { what: what.to_owned(), took, most_kib, between }
    }
}

impl Measured {
    fn print(&self, database: &str) {
        let percentile = |percent: usize| self.took[(self.took.len() * percent / 100).min(self.took.len() - 1)];
        println!(
            "{database}: {}: {} payments meanwhile, p50 {:?}, p99 {:?}, slowest {:?}; {} MiB resident at most",
            self.what,
            self.took.len(),
            percentile(50),
            percentile(99),
            self.took[self.took.len() - 1],
            self.most_kib >> 10
        );
        assert!(self.took.len() > 1, "payments were answered meanwhile");
        if asked().is_some() {
            assert!(percentile(99) < LIMIT, "p99 {:?}", percentile(99));
            assert!(self.most_kib < MOST_KIB, "{} KiB", self.most_kib);
        }
    }
}
