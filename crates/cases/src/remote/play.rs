//! The API calls that play a case on a server.

use super::case_mapping::{CaseMapping, zone_of};
use super::find::{PlayedCase, find};
use super::is_loaded;
use crate::describe;
use crate::outcome::TimelineStep;
use crate::run::play::{Refused, not_released};
use crate::run::text_of;
use crate::scenario::{CaseEventKind, Event, EventInput, PartLines, ProcessingMode, Scenario};
use daybook_client::{Client, Trouble};
use daybook_clock::{Clock, System};
use daybook_operations::Operation;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The interval between two polls of a release: the first and the longest.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// The parts of a product that are copied.
const PRODUCT_PARTS: [&str; 3] = ["product_overview", "product_lifecycle_policies", "post_promotional_policies"];

/// Whether accounts can be rolled, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rolling {
    Yes,
    No(String),
}

/// Why a case was not played to its end.
pub enum Stop {
    /// It cannot be played faithfully here.
    Skipped(String),
    /// A request of the case was refused. Holds the timeline up to then.
    Refused(Refused, Vec<TimelineStep>),
    /// The server failed.
    Trouble(String),
}

/// Plays a case with ids that end with a suffix, and fetches its results.
pub fn play(
    client: &Client,
    case: &Scenario,
    rolling: &Rolling,
    stop: &AtomicBool,
    suffix: &str,
) -> Result<PlayedCase, Stop> {
    let (mapping, notes, account) = (CaseMapping::new(suffix), Vec::new(), String::new());
    let mut play = Play { client, case, rolling, stop, mapping, notes, account };
    match play.perform() {
        Ok(product) => {
            let Play { mapping, notes, account, .. } = play;
            find(client, case, mapping, account, product, notes)
        }
        Err(Stop::Refused(refused, _)) => {
            let events = client.list(&Operation::ListAccountEvents.request([&play.account]));
            let events: Vec<Value> =
                events.unwrap_or_default().into_iter().map(|event| play.mapping.take_off(event)).collect();
            Err(Stop::Refused(refused, describe::timeline(&events)))
        }
        Err(stop) => Err(stop),
    }
}

struct Play<'a> {
    client: &'a Client,
    case: &'a Scenario,
    rolling: &'a Rolling,
    stop: &'a AtomicBool,
    mapping: CaseMapping,
    notes: Vec<String>,
    account: String,
}

/// Why the time of recording matters for the result, so that loading the case afterwards would differ; `None` if it
/// does not matter.
fn lived_only(case: &Scenario, product: &Value) -> Option<&'static str> {
    let replays = product["product_lifecycle_policies"]["backdating_policy"] == "REPLAY";
    if case.events.iter().any(|event| event.recorded_at.is_some()) {
        return Some("an event is recorded at another time than its own");
    }
    // Live, a cancelled change counted until then; in a loaded history it was never made.
    if case.events.iter().any(|event| event.input.kind == CaseEventKind::ChangeCancel) {
        return Some("a change is cancelled");
    }
    // Live, a replay retracts announcements; in a loaded history the payment never counted.
    let bounces = case.events.iter().any(|event| event.input.kind == CaseEventKind::PaymentReversal);
    (replays && bounces).then_some("a payment bounces under REPLAY")
}

impl Play<'_> {
    /// Makes all calls of the case. Returns the product's id.
    fn perform(&mut self) -> Result<String, Stop> {
        let mut product = self.product()?;
        let now = System.now();
        let is_loaded = is_loaded(self.case, self.rolling);
        if is_loaded && let (ProcessingMode::Live, Rolling::No(why)) = (self.case.mode, self.rolling) {
            if let Some(what) = lived_only(self.case, &product) {
                return Err(Stop::Skipped(format!("{what}, so the account would have to be rolled: {why}")));
            }
            self.notes.push(format!("loaded in migration mode, with the same results: {why}"));
        }
        if !is_loaded {
            let zone =
                zone_of(&product).ok_or_else(|| Stop::Trouble("the product's time zone is unknown".to_owned()))?;
            self.mapping.move_past(self.case, &zone, now).map_err(Stop::Skipped)?;
        }
        self.mapping.rename(&mut product, "product_id");
        self.mapping.move_all(&mut product);
        let made = self.client.call(&Operation::CreateProduct.request([]), Some(&product));
        let made = self.accepted_part(made, &self.case.lines.product, "creating the product")?;
        let product = text_of(&made, "product_id");
        self.hold(&product, is_loaded)?;
        let customer = self.customer()?;
        self.open(&product, customer)?;
        if is_loaded {
            for event in &self.case.events {
                self.submit(event)?;
            }
            self.hold(&product, false)?;
            self.wait_for_release(&product)?;
            if self.case.ends_at().time > now && *self.rolling == Rolling::Yes {
                self.roll("effective_at", &self.case.ends_at().text, true)?;
            }
        } else {
            self.live()?;
        }
        Ok(product)
    }

    /// The body of the product. An existing product is copied, so that its other accounts are not affected.
    fn product(&mut self) -> Result<Value, Stop> {
        let Some(id) = self.case.existing_product() else { return Ok(self.case.product.clone()) };
        let line = self.case.lines.product.whole;
        let shown = self.client.call(&Operation::GetProduct.request([id]), None);
        let shown = self.accepted(shown, line, "reading the product")?;
        let mut copy = json!({ "product_id": id });
        for part in PRODUCT_PARTS {
            copy[part] = without_nulls(&shown[part]);
        }
        self.notes.push(format!("run with a copy of product {id}"));
        Ok(copy)
    }

    fn customer(&mut self) -> Result<Option<String>, Stop> {
        let Some(customer) = &self.case.customer else { return Ok(None) };
        let mut body = customer.clone();
        self.mapping.rename(&mut body, "customer_id");
        let made = self.client.call(&Operation::CreateCustomer.request([]), Some(&body));
        let made = self.accepted_part(made, &self.case.lines.customer, "creating the customer")?;
        Ok(Some(text_of(&made, "customer_id")))
    }

    fn open(&mut self, product: &str, customer: Option<String>) -> Result<(), Stop> {
        let mut body = self.case.account.clone();
        self.mapping.rename(&mut body, "account_id");
        self.mapping.move_all(&mut body);
        body["product_id"] = Value::from(product);
        if let Some(customer) = customer {
            let assigned = &mut body["assign_customers"];
            match assigned.as_array_mut() {
                Some(list) => list.push(json!({ "customer_id": customer })),
                None => *assigned = json!([{ "customer_id": customer }]),
            }
        }
        let opened = self.client.call(&Operation::CreateAccount.request([]), Some(&body));
        let opened = self.accepted_part(opened, &self.case.lines.account, "opening the account")?;
        self.account = text_of(&opened, "account_id");
        Ok(())
    }

    fn hold(&self, product: &str, on: bool) -> Result<(), Stop> {
        let body = json!({ "migration_mode": on });
        let set = self.client.call(&Operation::SetMigrationMode.request([product]), Some(&body));
        let what = format!("turning migration mode {}", if on { "on" } else { "off" });
        self.accepted(set, self.case.lines.product.whole, &what).map(drop)
    }

    fn wait_for_release(&self, product: &str) -> Result<(), Stop> {
        let mut look = FIRST_LOOK;
        loop {
            let progress = self.client.call(&Operation::GetMigrationMode.request([product]), None);
            let progress = self.accepted(progress, self.case.lines.account.whole, "releasing the loaded events")?;
            if progress["state"] == "NORMAL" {
                return match not_released(self.case, &progress) {
                    None => Ok(()),
                    Some(refused) => {
                        let why = self.mapping.sentence(&refused.why);
                        Err(Stop::Refused(Refused { why, ..refused }, Vec::new()))
                    }
                };
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(Stop::Skipped(
                    "the run was stopped while the loaded events were being released".to_owned(),
                ));
            }
            thread::sleep(look);
            look = (look * 2).min(LONGEST_LOOK);
        }
    }

    /// Rolls the account from event to event, and submits each at its time.
    fn live(&mut self) -> Result<(), Stop> {
        self.roll("effective_at", &self.case.account_effective_at.text, false)?;
        for event in &self.case.events {
            let at = &event.comes_in_at().text;
            let is_on_time = event.recorded_at.is_none() && event.input.kind != CaseEventKind::Roll;
            if is_on_time {
                self.roll("exclusive_end", at, false)?;
            }
            let happened = self.roll("effective_at", at, false)?;
            if is_on_time && happened > 0 {
                return Err(Stop::Skipped(format!(
                    "the event on line {} happens at {at}, in the same second as an automatic event; an account on a \
                     server cannot be rolled to a time between the two",
                    event.line
                )));
            }
            self.submit(event)?;
        }
        self.roll("effective_at", &self.case.ends_at().text, true).map(drop)
    }

    /// Rolls the account's clock; returns how many events happened on the way.
    fn roll(&self, how: &str, to: &str, webhooks: bool) -> Result<u64, Stop> {
        let body = json!({ "account_id": self.account, how: self.mapping.moment(to), "roll_webhooks": webhooks });
        let rolled = self.client.call(&Operation::RollAccount.request([]), Some(&body));
        let rolled = self.accepted(rolled, self.case.lines.account.whole, &format!("rolling the account to {to}"))?;
        Ok(rolled["total_attempted"].as_u64().unwrap_or(0))
    }

    fn submit(&self, event: &Event) -> Result<(), Stop> {
        let EventInput { kind, target, body } = &event.input;
        let mut body = Value::Object(body.clone());
        self.mapping.move_all(&mut body);
        body["effective_at"] = Value::from(self.mapping.moment(&event.effective_at.text));
        let Some(operation) = kind.operation() else {
            if *kind == CaseEventKind::Roll {
                return Ok(());
            }
            let why = "charge is for revolving products: this is an instalment loan".to_owned();
            let refused = Refused { line: event.line, what: describe::event(event), why };
            return Err(Stop::Refused(refused, Vec::new()));
        };
        let request = match target {
            Some(target) => operation.request([&self.account, target]),
            None => operation.request([&self.account]),
        };
        let answer = self.client.call(&request, Some(&body));
        self.accepted(answer, event.line, &describe::event(event)).map(drop)
    }

    /// [`Play::accepted`] for a part of the case: an error refers to the line of the first wrong field.
    fn accepted_part(&self, answer: Result<Value, Trouble>, lines: &PartLines, what: &str) -> Result<Value, Stop> {
        let line = match &answer {
            Err(Trouble::Refused { details, .. }) => {
                details.first().map_or(lines.whole, |detail| lines.of(&detail.field))
            }
            _ => lines.whole,
        };
        self.accepted(answer, line, what)
    }

    fn accepted(&self, answer: Result<Value, Trouble>, line: usize, what: &str) -> Result<Value, Stop> {
        answer.map_err(|trouble| match &trouble {
            Trouble::Refused { .. } => {
                let why = self.mapping.sentence(&sentence(&trouble));
                Stop::Refused(Refused { line, what: what.to_owned(), why }, Vec::new())
            }
            Trouble::Unreachable(why) => Stop::Trouble(why.clone()),
        })
    }
}

/// Why a request was refused, with the fields that are wrong.
pub fn sentence(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Unreachable(why) => why.clone(),
        Trouble::Refused { message, details, .. } if details.is_empty() => message.clone(),
        Trouble::Refused { details, .. } => {
            let details: Vec<String> =
                details.iter().map(|detail| format!("{} {}", detail.field, detail.message)).collect();
            details.join("; ")
        }
    }
}

/// A body without its null fields.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        other => other.clone(),
    }
}
