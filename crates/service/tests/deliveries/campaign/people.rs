//! The actions of people, and what happens to receivers and nodes in the meantime.

use super::receivers::{Mood, Role, Url};
use super::{Campaign, HOUR, SECOND, nodes};
use crate::support::{form_of, json_of, view_of};
use bytes::Bytes;
use daybook_service::changes::ChangeRequest;
use daybook_service::problem::Problem;
use serde_json::{Value, json};
use std::time::Duration;

/// The events that filters use. All announced events have one of these names, except those that accounts make
/// automatically.
const EVENTS: [&str; 4] = ["customer_create", "line_item_create", "account_update", "subscription_paused"];
/// The errors of a request that comes at the wrong moment: the message is scheduled, or the URL is paused.
const TOO_LATE: [&str; 3] = ["conflict", "subscription_paused", "not_found"];

impl Campaign {
    pub(super) async fn do_something(&mut self) {
        match self.chance.below(100) {
            0..=24 => self.announce().await,
            25..=29 => self.fail_amid_a_recording().await,
            30..=42 => self.change_mood(),
            43..=48 => self.pause().await,
            49..=56 => self.resume().await,
            57..=62 => self.change_filter().await,
            63..=70 => self.replay_dead().await,
            71..=73 => self.replay_delivered().await,
            74..=78 => self.resend().await,
            79..=81 => self.limit().await,
            82..=83 => self.renew().await,
            84..=85 => self.test().await,
            86..=87 => self.tidy().await,
            _ => self.change_nodes().await,
        }
    }

    /// A URL that people may act on.
    fn some_url(&mut self) -> usize {
        let free: Vec<usize> = (0..self.urls.len()).filter(|at| self.urls[*at].role == Role::Free).collect();
        self.chance.one_of(&free)
    }

    fn some_events(&mut self) -> Option<Vec<&'static str>> {
        let chosen: Vec<&'static str> = EVENTS.into_iter().filter(|_| self.chance.percent(60)).collect();
        (!chosen.is_empty() && self.chance.percent(70)).then_some(chosen)
    }

    /// Creates a URL and subscribes it.
    pub(super) async fn add_url(&mut self, org: usize, role: Role) {
        let host = format!("u{}.example", self.urls.len());
        let url = Url::new(host, org, role, &self.names, &self.orgs[0].clock);
        self.urls.push(url);
        self.subscribe(self.urls.len() - 1).await;
    }

    /// Subscribes a URL that is not subscribed.
    async fn subscribe(&mut self, at: usize) {
        let (events, more) = match self.urls[at].role {
            Role::Steady => (None, json!({})),
            Role::Limited { per_second, in_flight } => {
                let limits = json!({ "max_per_second": per_second, "max_in_flight": in_flight });
                (Some(vec!["customer_create"]), limits)
            }
            Role::Free => (self.some_events(), json!({})),
        };
        let org = self.urls[at].org;
        self.note(&format!("{} of organization {org} is subscribed to {events:?}", self.urls[at].host));
        let before = self.head(org).await;
        let made = self.ask_for(at, events.as_deref(), more).await;
        let after = self.head(org).await;
        let uuid = made["webhook_uuid"].as_str().expect("a name").to_owned();
        self.urls[at].subscribed(uuid, (before, after), events);
    }

    /// Calls `subscribe`.
    async fn ask_for(&self, at: usize, events: Option<&[&'static str]>, more: Value) -> Value {
        let mut body = json!({ "webhook_url": self.urls[at].url(), "filter_events": events });
        crate::support::merge(&mut body, &more);
        let trial = &self.orgs[self.urls[at].org];
        json_of(trial.service.subscribe(&trial.who, None, form_of(&body)).await)
    }

    async fn announce(&mut self) {
        let org = self.chance.below(self.orgs.len() as u64) as usize;
        let count = 1 + self.chance.below(12);
        self.note(&format!("{count} things happen in organization {org}"));
        for _ in 0..count {
            if self.chance.percent(50) {
                self.announce_customer(org).await;
            } else {
                let trial = &self.orgs[org];
                let account = self.accounts[org][self.chance.below(2) as usize].clone();
                self.payments += 1;
                let (id, at) = (format!("p{}", self.payments), trial.clock_now().to_string());
                let form = form_of(&json!({ "line_item_id": id, "original_amount_cents": 100, "effective_at": at }));
                json_of(trial.service.change_account(&trial.who, None, &account, ChangeRequest::Payment(form)).await);
            }
        }
    }

    fn change_mood(&mut self) {
        let (at, mood) = (self.some_url(), Mood::drawn(&mut self.chance));
        self.counts.moods += 1;
        self.note(&format!("{} does this: {mood:?}", self.urls[at].host));
        self.urls[at].behave(mood);
    }

    /// A message is accepted at its retry, and while that is recorded another one fails.
    async fn fail_amid_a_recording(&mut self) {
        let (at, wait) = (self.some_url(), Duration::from_micros(10_000 + self.chance.below(45_000)));
        nodes::rest(self.nodes.iter().flatten()).await;
        self.note(&format!("{} fails while a retry is recorded, after {wait:?}", self.urls[at].host));
        self.urls[at].fail_amid_a_recording(wait);
        for _ in 0..2 {
            let org = self.urls[at].org;
            self.announce_customer(org).await;
            nodes::rest(self.nodes.iter().flatten()).await;
            self.go_to(self.now().plus_micros(60 * SECOND)).await;
        }
        nodes::rest(self.nodes.iter().flatten()).await;
        self.check_retries().await;
    }

    async fn announce_customer(&mut self, org: usize) {
        let (trial, name) = (&self.orgs[org], format!("N{}", self.customers[org].len()));
        let form = form_of(&json!({ "name_last": name }));
        json_of(trial.service.create_customer(&trial.who, None, form).await);
        self.customers[org].push(name);
    }

    async fn pause(&mut self) {
        let at = self.some_url();
        self.counts.pauses += 1;
        self.note(&format!("{} is unsubscribed", self.urls[at].host));
        let trial = &self.orgs[self.urls[at].org];
        json_of(trial.service.unsubscribe(&trial.who, None, &self.urls[at].uuid).await);
    }

    pub(super) async fn resume(&mut self) {
        let at = self.some_url();
        self.counts.resumed += 1;
        self.note(&format!("{} is resubscribed", self.urls[at].host));
        let trial = &self.orgs[self.urls[at].org];
        json_of(trial.service.resubscribe(&trial.who, None, &self.urls[at].uuid).await);
    }

    async fn change_filter(&mut self) {
        let (at, events) = (self.some_url(), self.some_events());
        self.counts.filters += 1;
        self.note(&format!("{} gets {events:?} from now on", self.urls[at].host));
        let org = self.urls[at].org;
        let before = self.head(org).await;
        self.ask_for(at, events.as_deref(), json!({})).await;
        let after = self.head(org).await;
        self.urls[at].filtered((before, after), events);
    }

    async fn limit(&mut self) {
        let at = self.some_url();
        let limits = json!({
            "max_per_second": self.chance.one_of(&[None, Some(5), Some(50)]),
            "max_in_flight": self.chance.one_of(&[None, Some(1), Some(4)]),
        });
        self.counts.limits += 1;
        self.note(&format!("{} gets limits: {limits}", self.urls[at].host));
        self.urls[at].limited();
        // Without it, the filter would be removed.
        let events = self.urls[at].events();
        let mut body = json!({ "webhook_url": self.urls[at].url(), "filter_events": events });
        for (name, limit) in limits.as_object().expect("an object") {
            body[name] = limit.clone();
        }
        let trial = &self.orgs[self.urls[at].org];
        json_of(trial.service.subscribe(&trial.who, None, form_of(&body)).await);
    }

    async fn renew(&mut self) {
        let at = self.some_url();
        self.counts.renewed += 1;
        self.note(&format!("{} is removed", self.urls[at].host));
        let trial = &self.orgs[self.urls[at].org];
        json_of(trial.service.delete_subscription(&trial.who, None, &self.urls[at].uuid).await);
        if self.chance.percent(50) {
            self.let_nodes_work().await;
        }
        self.subscribe(at).await;
    }

    async fn replay_dead(&mut self) {
        let at = self.some_url();
        let mut body = json!({ "webhook_uuid": self.urls[at].uuid });
        match self.chance.below(6) {
            0 => body["account_id"] = json!(self.chance.one_of(&["a0", "a1"])),
            1 => body["event"] = json!(self.chance.one_of(&EVENTS)),
            2 => body["since"] = json!(self.some_time_ago()),
            3 => body["until"] = json!(self.some_time_ago()),
            4 => body = json!({}),
            _ => {}
        }
        let org = self.urls[at].org;
        self.replay(org, &body).await;
    }

    async fn replay_delivered(&mut self) {
        let at = self.some_url();
        let body = json!({ "state": "DELIVERED", "webhook_uuid": self.urls[at].uuid, "since": self.some_time_ago() });
        let org = self.urls[at].org;
        self.replay(org, &body).await;
    }

    fn some_time_ago(&mut self) -> String {
        self.now().plus_micros(-(self.chance.below(3 * HOUR as u64) as i64)).to_string()
    }

    /// Replays, and returns how many messages are sent again.
    pub(super) async fn replay(&mut self, org: usize, body: &Value) -> u64 {
        let trial = &self.orgs[org];
        let done = json_of(trial.service.replay_failed_events(&trial.who, None, form_of(body)).await);
        self.note(&format!("replay {body} of organization {org}: {done}"));
        let replayed = done["replayed"].as_u64().expect("a count");
        self.counts.replays += 1;
        self.counts.replayed += replayed;
        replayed
    }

    /// Resends a message that the URL may or may not have got.
    async fn resend(&mut self) {
        let at = self.some_url();
        let trial = &self.orgs[self.urls[at].org];
        let log = trial.log().await;
        let Some(message) = log.get(self.chance.below(log.len().max(1) as u64) as usize) else { return };
        let form = form_of(&json!({ "webhook_uuid": self.urls[at].uuid }));
        let done = trial.service.resend_message(&trial.who, None, &message.event_id, form).await;
        let is_sent = may_be_too_late(done);
        self.note(&format!("{} is sent again to {}: {is_sent}", message.event_id, self.urls[at].host));
        self.counts.resends += u64::from(is_sent);
    }

    async fn test(&mut self) {
        let org = self.chance.below(self.orgs.len() as u64) as usize;
        self.note(&format!("organization {org} sends a test event"));
        let trial = &self.orgs[org];
        view_of(trial.service.send_test_event(&trial.who).await);
    }

    async fn tidy(&mut self) {
        if let Some(node) = self.nodes.iter().flatten().next() {
            self.note("what is no longer kept is removed");
            node.tidy().await;
        }
    }

    /// Stops, loses or starts a node. A node may be lost in the middle of its work.
    async fn change_nodes(&mut self) {
        let slot = self.chance.below(self.nodes.len() as u64) as usize;
        if self.nodes[slot].is_none() {
            return self.start_node(slot).await;
        }
        if self.chance.percent(60) {
            self.announce().await;
            self.nodes.iter().flatten().for_each(|node| drop(node.stir()));
            tokio::time::sleep(Duration::from_micros(self.chance.below(15_000))).await;
        }
        let is_lost = self.chance.percent(60);
        self.end_node(slot, is_lost).await;
        if self.chance.percent(70) {
            self.start_node(slot).await;
        }
    }
}

/// Whether a request was done; false if it came at the wrong moment.
fn may_be_too_late(answer: Result<Bytes, Problem>) -> bool {
    match answer {
        Ok(_) => true,
        Err(problem) if TOO_LATE.contains(&problem.code) => false,
        Err(problem) => panic!("{problem}"),
    }
}
