//! The invariants that must hold when the campaign is quiet.
//!
//! - Nothing is pending: everything due was sent, and no retry is left behind. (Before that, no retry is overdue
//!   either.)
//! - Each message is delivered or dead at each URL that has wanted it ever since it was announced. It may be neither
//!   only if it was dropped: a filter excluded it, its subscription was removed, or it was a dead letter for five days.
//! - A message reported as delivered was accepted by the receiver. No receiver got a message that was not for it.
//! - A message reported as dead is in the list of dead letters and in the count, and a replay delivers it.
//! - A URL that was paused by errors is resumed automatically, if there is a dead letter to try.
//! - The steady URL got everything, the messages of each account in order; if there is one node that was never lost,
//!   each message once.
//! - The limits of a URL held.

use super::receivers::{Claim, Role};
use super::{Campaign, HOUR, SECOND, nodes};
use crate::support::data;
use daybook_engine::time::Time;
use daybook_store::outbox::{Backlog, DeliveryFilter, DeliveryRecords, DeliveryStatus, Subscription};
use daybook_store::records::MessageRow;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};

/// How often the clock may advance while due messages are not sent: a URL may have sent `Retry-After` or may have a
/// limit.
const MOST_ROUNDS: usize = 400;
/// How long dead letters are kept.
const KEPT: i64 = 5 * 24 * HOUR;

/// A subscription and its backlog.
type Waiting = (Subscription, Backlog);

impl Campaign {
    /// Checks everything, then resumes all URLs, replays all dead letters, and checks again.
    pub(super) async fn check_and_replay(&mut self) {
        self.wait_for_probes().await;
        self.come_to_rest().await;
        let dead = self.check("it is quiet").await;
        self.counts.dead += dead;
        for url in 0..self.urls.len() {
            let trial = &self.orgs[self.urls[url].org];
            let resumed = trial.service.resubscribe(&trial.who, None, &self.urls[url].uuid).await;
            resumed.expect("it is resumed");
        }
        self.note("all URLs are resubscribed");
        let mut replayed = 0;
        for org in 0..self.orgs.len() {
            replayed += self.replay(org, &json!({})).await;
        }
        assert_eq!(replayed, dead, "a replay sends every dead letter again");
        self.counts.replayed_at_the_end += replayed;
        self.come_to_rest().await;
        let dead = self.check("everything was replayed").await;
        assert_eq!(dead, 0, "a replay leaves no dead letter behind");
        self.check_steady().await;
        self.check_limits();
    }

    /// The subscriptions of all organizations.
    async fn waiting(&self) -> Vec<Waiting> {
        let mut all = Vec::new();
        for trial in &self.orgs {
            let subscriptions = trial.store.subscriptions(trial.who.org).await.expect("they are read");
            let backlogs = trial.store.backlogs(trial.who.org).await.expect("they are counted");
            let backlogs: HashMap<_, _> = backlogs.into_iter().collect();
            all.extend(subscriptions.into_iter().map(|one| {
                let backlog = backlogs.get(&one.id).copied().unwrap_or_default();
                (one, backlog)
            }));
        }
        all
    }

    /// Advances until every paused URL with a probe was probed: each accepts the message and is resumed.
    async fn wait_for_probes(&mut self) {
        let to_try = |(of, backlog): &Waiting| {
            let at = of.paused.as_ref().and_then(|pause| pause.probe_at);
            at.filter(|_| backlog.dead > 0).map(|at| (at, of.id))
        };
        loop {
            let Some((at, id)) = self.waiting().await.iter().filter_map(to_try).min() else { return };
            if !self.expires && at.micros() - self.started_at.micros() > KEPT - 24 * HOUR {
                return;
            }
            // The node that was to probe it may be lost, and its lease lasts a minute.
            for wait in [0, 61 * SECOND] {
                self.go_to(self.now().max(at).plus_micros(wait)).await;
                self.rest().await;
            }
            let tried = self.waiting().await.into_iter().find(|(of, _)| of.id == id);
            let Some(still_paused) = tried.filter(|one| to_try(one).is_some()) else {
                self.counts.probed += 1;
                continue;
            };
            // An attempt in progress when the campaign became quiet may have failed. Then there is another one.
            let is_put_off = to_try(&still_paused).is_some_and(|(next, _)| next > at);
            assert!(is_put_off, "it was to be tried at {at}, at {} it was not: {still_paused:?}", self.now());
        }
    }

    /// After the only node has sent everything due, no retry may be due. A lost node keeps its URLs for a while, and a
    /// URL that sent `Retry-After` is not sent to.
    pub(super) async fn check_retries(&self) {
        let is_waited_for = self.lost_at.is_some_and(|at| self.now() < at.plus_micros(16 * SECOND));
        if self.nodes.len() > 1 || self.nodes[0].is_none() || is_waited_for {
            return;
        }
        for (of, _) in self.waiting().await {
            let url = self.urls.iter().find(|url| url.uuid == of.uuid).expect("it is subscribed");
            if of.paused.is_none() && !url.may_be_held() {
                let next = self.orgs[0].store.next_retry(of.org, of.id).await.expect("it is read");
                let is_late = next.is_some_and(|at| at <= self.now());
                assert!(!is_late, "a retry is forgotten: due at {next:?}, and it is {}: {of:?}", self.now());
            }
        }
    }

    async fn rest(&self) {
        nodes::rest(self.nodes.iter().flatten()).await;
    }

    /// Advances until nothing is pending: directly to the next retry, or in small steps while something due is waiting.
    async fn come_to_rest(&mut self) {
        let mut rounds = 0;
        loop {
            self.rest().await;
            let pending: Vec<Waiting> =
                self.waiting().await.into_iter().filter(|(_, backlog)| backlog.pending > 0).collect();
            if pending.is_empty() {
                return;
            }
            let now = self.now();
            let mut next: Option<Time> = None;
            for (of, _) in &pending {
                let retry = self.orgs[0].store.next_retry(of.org, of.id).await.expect("it is read");
                let at = retry.filter(|at| *at > now).unwrap_or(now);
                next = Some(next.map_or(at, |next| next.min(at)));
            }
            let step = if rounds < 100 && self.settings.batch_interval.is_zero() { SECOND } else { 30 * SECOND };
            let to = next.filter(|at| *at > now).unwrap_or_else(|| {
                rounds += 1;
                now.plus_micros(step)
            });
            if rounds >= MOST_ROUNDS {
                self.accuse(&pending).await;
            }
            self.go_to(to).await;
        }
    }

    /// Fails with the messages that are pending and should have been sent.
    async fn accuse(&self, pending: &[Waiting]) {
        let mut text = String::new();
        for (of, backlog) in pending {
            let next = self.orgs[0].store.next_retry(of.org, of.id).await.expect("it is read");
            text += &format!("\n{of:?} {backlog:?}, next retry at {next:?}");
        }
        panic!("pending in the past, at {}: {text}", self.now());
    }

    /// Checks every message at every URL. Returns the number of dead letters.
    async fn check(&mut self, when: &str) -> u64 {
        self.note(&format!("{when}: checking"));
        let mut wrong = Vec::new();
        let mut all_dead = 0;
        (self.counts.messages, self.counts.owed) = (0, 0);
        (self.counts.dropped, self.counts.delivered) = (0, 0);
        for org in 0..self.orgs.len() {
            let trial = self.orgs[org].clone();
            let log = trial.log().await;
            self.counts.messages += log.len() as u64;
            self.check_log(org, &log, &mut wrong);
            let positions: Vec<i64> = log.iter().map(|message| message.position.expect("it is in the log")).collect();
            let standings = trial.store.delivery_records(trial.who.org, &positions).await.expect("they are read");
            for url in 0..self.urls.len() {
                if self.urls[url].org != org {
                    continue;
                }
                let of_url = |all: &Vec<DeliveryRecords>| {
                    let mut all = all.iter();
                    all.find(|one| one.subscription.uuid == self.urls[url].uuid).cloned().expect("it is subscribed")
                };
                let standings: Vec<DeliveryRecords> = standings.iter().map(of_url).collect();
                let dead = self.check_url(url, &log, &standings, &mut wrong);
                all_dead += dead.len() as u64;
                self.check_letters(url, &dead, &mut wrong).await;
            }
        }
        assert!(wrong.is_empty(), "{when}, at {}:\n{}", self.now(), wrong.join("\n"));
        all_dead
    }

    /// Checks that each action of a person is announced once.
    fn check_log(&mut self, org: usize, log: &[MessageRow], wrong: &mut Vec<String>) {
        let of = |event: &'static str| log.iter().filter(move |message| message.event == event);
        let mut names: Vec<String> = of("customer_create")
            .map(|message| data(message)["object"]["name_last"].as_str().expect("a name").to_owned())
            .collect();
        let mut expected = self.customers[org].clone();
        names.sort_unstable();
        expected.sort_unstable();
        if names != expected {
            wrong.push(format!("organization {org} announced the customers {names:?}, which are {expected:?}"));
        }
        self.counts.error_pauses =
            of("subscription_paused").count() as u64 + if org > 0 { self.counts.error_pauses } else { 0 };
    }

    /// Checks every message at one URL. Returns the positions of its dead letters.
    fn check_url(
        &mut self,
        at: usize,
        log: &[MessageRow],
        standings: &[DeliveryRecords],
        wrong: &mut Vec<String>,
    ) -> BTreeSet<i64> {
        let (url, now) = (&self.urls[at], self.now());
        let (got, took) = (url.got().into_iter().collect::<BTreeSet<String>>(), url.took());
        let mut dead = BTreeSet::new();
        for (message, standing) in log.iter().zip(standings) {
            let position = message.position.expect("it is in the log");
            let claim = url.claim(position, &message.event, &message.subject);
            let stand = standing.of(message, now);
            let is_old = self.expires && now.micros() - message.recorded_at.micros() >= KEPT;
            let is_taken = took.contains(&message.event_id);
            let fault = match stand {
                DeliveryStatus::Waiting | DeliveryStatus::Retry(_) => Some("it is pending"),
                DeliveryStatus::Delivered(_) if !is_taken => Some("the receiver did not take it"),
                DeliveryStatus::Dead(_) if claim == Claim::MustNot => Some("it was not for the URL"),
                DeliveryStatus::NotForIt | DeliveryStatus::Dropped | DeliveryStatus::Forgotten
                    if claim == Claim::Must && !is_old =>
                {
                    Some("it is forgotten")
                }
                DeliveryStatus::NotForIt | DeliveryStatus::Dropped | DeliveryStatus::Forgotten
                    if url.role != Role::Free && claim == Claim::Must && !is_taken =>
                {
                    Some("it is forgotten, and was never dead")
                }
                _ if claim == Claim::MustNot && got.contains(&message.event_id) => {
                    Some("it went to a URL it is not for")
                }
                _ => None,
            };
            if let Some(fault) = fault {
                let (host, event, id) = (&url.host, &message.event, &message.event_id);
                wrong.push(format!(
                    "{host} {event} {id} at {position}: {stand:?}, {claim:?}, taken: {is_taken}: {fault}"
                ));
                wrong.push(format!("    {standing:?}"));
            }
            if matches!(stand, DeliveryStatus::Dead(_)) {
                dead.insert(position);
            }
            self.counts.owed += u64::from(claim == Claim::Must);
            self.counts.delivered += u64::from(matches!(stand, DeliveryStatus::Delivered(_)));
            let is_dropped =
                matches!(stand, DeliveryStatus::NotForIt | DeliveryStatus::Dropped | DeliveryStatus::Forgotten)
                    && claim != Claim::MustNot;
            self.counts.dropped += u64::from(is_dropped);
        }
        dead
    }

    /// Checks that the list of dead letters and the counts match the messages.
    async fn check_letters(&self, at: usize, dead: &BTreeSet<i64>, wrong: &mut Vec<String>) {
        let (trial, url) = (&self.orgs[self.urls[at].org], &self.urls[at]);
        let waiting = self.waiting().await;
        let (of, backlog) = waiting.iter().find(|(of, _)| of.uuid == url.uuid).expect("it is subscribed");
        let filter = DeliveryFilter { subscription: Some(of.id), ..DeliveryFilter::default() };
        let letters = trial.store.dead_letters(of.org, &filter, self.now(), None, 10_000).await.expect("they are read");
        let listed: BTreeSet<i64> = letters.iter().map(|letter| letter.about.position).collect();
        if listed != *dead || backlog.dead != dead.len() as u64 || backlog.pending != 0 {
            wrong.push(format!("{}: dead are {dead:?}, listed {listed:?}, counted {backlog:?}: {of:?}", url.host));
        }
    }

    /// Checks that the steady URL got the messages of each account in order.
    async fn check_steady(&self) {
        let url = self.urls.iter().find(|url| url.role == Role::Steady).expect("there is one");
        let log = self.orgs[url.org].log().await;
        let of_id: HashMap<&str, &MessageRow> =
            log.iter().map(|message| (message.event_id.as_str(), message)).collect();
        let got = url.got();
        let mut last: HashMap<&str, (i64, &str)> = HashMap::new();
        let mut seen = BTreeSet::new();
        for id in got.iter().filter(|id| seen.insert(id.as_str())) {
            let Some(message) = of_id.get(id.as_str()) else { continue };
            let (Some(account), Some(position)) = (message.account.as_deref(), message.position) else { continue };
            if let Some((before, other)) = last.insert(account, (position, id)) {
                assert!(before < position, "{} got {id} after {other}: account {account} is out of order", url.host);
            }
        }
        if self.nodes.len() == 1 && self.counts.lost == 0 {
            assert_eq!(seen.len(), got.len(), "{} got something twice, though no node was lost", url.host);
        }
    }

    /// Checks the limits, which hold on one node. A node that starts does not know what the previous one sent.
    fn check_limits(&self) {
        for url in self.urls.iter().filter(|_| self.nodes.len() == 1) {
            let Role::Limited { per_second, in_flight } = url.role else { continue };
            if self.counts.lost == 0 {
                assert!(url.most_at_once() <= in_flight, "{} had {} at once", url.host, url.most_at_once());
            }
            let most = per_second as usize * self.nodes_started;
            assert!(url.most_a_second() <= most, "{} got {} in a second", url.host, url.most_a_second());
        }
    }
}
