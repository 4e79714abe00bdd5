//! A random campaign: people, receivers and nodes act at random, and in the end no message is forgotten.
//!
//! A seed gives a small campaign: one or two organizations with accounts, some URLs, one to three nodes that send, and
//! a manual clock. For a while anything happens to it: messages are announced, URLs fail in every way, people pause,
//! resume, filter, limit, replay, resend, remove and subscribe again, nodes are started, stopped and lost in the middle
//! of their work, and the clock advances by seconds or hours. Then it becomes quiet: all URLs accept messages, and the
//! clock advances until nothing is due. [`checking`] lists the invariants that must hold then; it compares with a
//! record, kept here, of people's requests and of what the receivers got and answered.
//!
//! A seed decides the actions and their order. How far each node is when the next action happens depends on the
//! machine, so a seed that failed may have to be tried several times. `DAYBOOK_WEBHOOK_CAMPAIGNS` sets the number of
//! seeds for each database (default 10), `DAYBOOK_SEED` the first one (default 1).
//!
//! | module | contents |
//! |---|---|
//! | [`people`] | the actions of people |
//! | [`receivers`] | the answers of URLs, and the messages they got |
//! | [`nodes`] | the nodes that send, and may be lost |
//! | [`checking`] | the invariants that must hold when it is quiet |

mod chance;
mod checking;
mod counts;
mod nodes;
mod people;
mod receivers;

use crate::setup::START;
use crate::support::{Home, Trial};
use chance::{Chance, setting};
use counts::CampaignCounts;
use daybook_clock::Stopwatch;
use daybook_engine::time::Time;
use daybook_webhooks::dispatcher::DispatcherSettings;
use nodes::Node;
use receivers::{Mood, Names, Role, Url};
use serde_json::json;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_forgotten_on_sqlite() {
    campaigns(Home::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_forgotten_on_postgres() {
    campaigns(Home::Postgres).await;
}

/// Runs one seed after another.
async fn campaigns(home: Home) {
    let (first, count) = (setting("DAYBOOK_SEED", 1), setting("DAYBOOK_WEBHOOK_CAMPAIGNS", 10));
    let (mut all, took) = (CampaignCounts::default(), Stopwatch::start());
    for seed in first..first + count {
        let history = History::default();
        let kept = history.clone();
        let campaign = tokio::spawn(async move { Campaign::live(seed, home, history).await });
        match campaign.await {
            Ok(counts) => all.add(&counts),
            Err(failed) => {
                println!("{}", kept.text());
                println!("try it again with: DAYBOOK_SEED={seed} DAYBOOK_WEBHOOK_CAMPAIGNS=1");
                panic!("seed {seed} on {home:?}: {}", message_of(failed));
            }
        }
    }
    println!("{home:?}: seeds {first} to {}, {:.1} s: {all}", first + count - 1, took.elapsed().as_secs_f64());
    all.assert_all_happened(home, count);
}

fn message_of(failed: tokio::task::JoinError) -> String {
    let Ok(panic) = failed.try_into_panic() else { return "it was cancelled".to_owned() };
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// The actions so far, to find the reason of a failure.
#[derive(Clone, Debug, Default)]
struct History(Arc<Mutex<String>>);

impl History {
    fn note(&self, now: Time, what: &str) {
        let at = now.to_string();
        writeln!(self.0.lock().unwrap(), "{at}  {what}").expect("there is room");
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

/// The campaign of a seed.
struct Campaign {
    home: Home,
    chance: Chance,
    history: History,
    counts: CampaignCounts,
    /// The service that people use, once for each organization. It sends nothing.
    orgs: Vec<Trial>,
    /// The names of customers that were announced, by the index of their organization.
    customers: Vec<Vec<String>>,
    accounts: Vec<Vec<String>>,
    payments: u64,
    names: Arc<Names>,
    urls: Vec<Url>,
    nodes: Vec<Option<Node>>,
    nodes_started: usize,
    lost_at: Option<Time>,
    settings: DispatcherSettings,
    /// Whether nodes run in the background or only when they are triggered. In the latter case no later run finds what
    /// they forgot.
    runs: bool,
    /// Whether it lasts long enough for dead letters to expire.
    expires: bool,
    started_at: Time,
}

impl Campaign {
    /// Runs a seed.
    async fn live(seed: u64, home: Home, history: History) -> CampaignCounts {
        let mut campaign = Campaign::begin(seed, home, history).await;
        for _ in 0..30 + campaign.chance.below(30) {
            campaign.do_something().await;
            campaign.let_nodes_work().await;
            campaign.let_time_pass().await;
        }
        campaign.become_quiet().await;
        campaign.check_and_replay().await;
        campaign.end().await
    }

    async fn begin(seed: u64, home: Home, history: History) -> Campaign {
        let mut chance = Chance::of_seed(seed);
        let trial = Trial::at(home, START).await;
        let names = Arc::new(Names::default());
        let service = trial.service.clone().with_sender(nodes::sender(&names));
        let mut orgs = vec![Trial { service, ..trial }];
        if chance.percent(40) {
            orgs[0].service.create_organization("second", "TEST").await.expect("it is made");
            let who = orgs[0].service.operator(Some("second")).await.expect("it is there");
            orgs.push(Trial { who, ..orgs[0].clone() });
        }
        let slots = if home == Home::Postgres { 1 + chance.below(3) as usize } else { 1 };
        let batch_interval = Duration::from_secs(chance.one_of(&[0, 0, 60]));
        let pause_after = chance.one_of(&[3, 5, 10, 10]);
        let (runs, expires) = (chance.percent(40), chance.percent(20));
        let mut campaign = Campaign {
            home,
            history,
            counts: CampaignCounts::default(),
            customers: vec![Vec::new(); orgs.len()],
            accounts: vec![Vec::new(); orgs.len()],
            payments: 0,
            names,
            urls: Vec::new(),
            nodes: (0..slots).map(|_| None).collect(),
            nodes_started: 0,
            lost_at: None,
            settings: DispatcherSettings { batch_interval, pause_after, ..DispatcherSettings::default() },
            runs,
            expires,
            started_at: orgs[0].clock_now(),
            orgs,
            chance,
        };
        campaign.note(&format!(
            "{} organizations, {slots} nodes, runs: {runs}, expires: {expires}, batches of {batch_interval:?}, paused after {pause_after}",
            campaign.orgs.len()
        ));
        campaign.furnish().await;
        campaign
    }

    /// Creates accounts, URLs and the first nodes.
    async fn furnish(&mut self) {
        for org in 0..self.orgs.len() {
            self.orgs[org].product("auto-12", json!({})).await;
            for number in 0..2 {
                let id = format!("a{number}");
                self.orgs[org].account("auto-12", &id, "2026-03-20T12:00:00Z").await;
                self.accounts[org].push(id);
            }
        }
        // Messages announced before a URL is subscribed get an earlier time than the subscription.
        self.go_to(self.now().plus_micros(SECOND)).await;
        self.add_url(0, Role::Steady).await;
        if self.chance.percent(30) {
            self.add_url(0, Role::Limited { per_second: 3, in_flight: 2 }).await;
        }
        for _ in 0..2 + self.chance.below(2) {
            let org = self.chance.below(self.orgs.len() as u64) as usize;
            self.add_url(org, Role::Free).await;
        }
        for slot in 0..self.nodes.len() {
            self.start_node(slot).await;
        }
    }

    fn now(&self) -> Time {
        self.orgs[0].clock_now()
    }

    fn note(&self, what: &str) {
        self.history.note(self.now(), what);
    }

    async fn start_node(&mut self, slot: usize) {
        self.nodes_started += 1;
        self.note(&format!("node {} starts", self.nodes_started));
        let sender = nodes::sender(&self.names);
        let (trial, settings) = (&self.orgs[0], self.settings.clone());
        let node = Node::start(self.nodes_started, self.home, trial, sender, settings, self.runs).await;
        self.nodes[slot] = Some(node);
    }

    /// Stops a node, or loses it.
    async fn end_node(&mut self, slot: usize, is_lost: bool) {
        let Some(node) = self.nodes[slot].take() else { return };
        self.note(&format!("node {} {}", node.number, if is_lost { "is lost" } else { "stops" }));
        if is_lost {
            self.counts.lost += 1;
            self.lost_at = Some(self.now());
            node.lose();
        } else {
            self.counts.stopped += 1;
            node.stop().await;
        }
    }

    /// Nodes finish their work, or start it, or do nothing before the next action.
    async fn let_nodes_work(&mut self) {
        match self.chance.below(10) {
            0..=3 => {
                self.note("nodes rest");
                nodes::rest(self.nodes.iter().flatten()).await;
                self.check_retries().await;
            }
            4..=7 => {
                let wait = Duration::from_micros(self.chance.below(12_000));
                self.note(&format!("nodes work for {wait:?}"));
                // Their results are checked when it is quiet.
                self.nodes.iter().flatten().for_each(|node| drop(node.stir()));
                tokio::time::sleep(wait).await;
            }
            _ => {}
        }
    }

    async fn let_time_pass(&mut self) {
        let passed = self.now().micros() - self.started_at.micros();
        let (most, longest) = if self.expires { (12 * 24 * HOUR, 40) } else { (20 * HOUR, 3) };
        let length = match self.chance.below(12) {
            0..=2 => 0,
            3 | 4 => SECOND,
            5 => 3 * SECOND,
            6 => 16 * SECOND,
            7 | 8 => 60 * SECOND,
            9 => (1 + self.chance.below(10) as i64) * 60 * SECOND,
            _ => (1 + self.chance.below(longest) as i64) * HOUR,
        };
        if length > 0 && passed + length < most {
            self.go_to(self.now().plus_micros(length)).await;
        }
    }

    /// Moves the clock and processes due accounts.
    async fn go_to(&self, now: Time) {
        self.orgs[0].clock.set(now);
        self.note("it is this time now");
        self.orgs[0].settle().await;
    }

    /// The last position of an organization's log.
    async fn head(&self, org: usize) -> i64 {
        let trial = &self.orgs[org];
        let heads = trial.store.heads().await.expect("they are read");
        heads.iter().find(|head| head.org == trial.who.org).map_or(0, |head| head.head)
    }

    /// From now on all URLs accept messages; nodes stay or are replaced.
    async fn become_quiet(&mut self) {
        self.note("all URLs take messages from now on");
        self.urls.iter().for_each(|url| url.behave(Mood::Answers(200)));
        self.runs = false;
        let is_new = self.chance.percent(40) || self.nodes.iter().flatten().any(Node::runs);
        for slot in 0..self.nodes.len() {
            if is_new {
                let is_lost = self.chance.percent(50);
                self.end_node(slot, is_lost).await;
            }
            if self.nodes[slot].is_none() {
                self.start_node(slot).await;
            }
        }
    }

    async fn end(mut self) -> CampaignCounts {
        for slot in 0..self.nodes.len() {
            self.end_node(slot, true).await;
        }
        self.counts.attempts = self.urls.iter().map(Url::requests).sum::<usize>() as u64;
        self.counts.hours = ((self.now().micros() - self.started_at.micros()) / HOUR) as u64;
        self.counts.seeds = 1;
        if self.home == Home::Postgres {
            daybook_testkit::postgres::Server::shared().drop_database(&self.orgs[0].address);
        }
        self.counts
    }
}
