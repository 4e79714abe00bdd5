//! Fetches the results of a case from a server, as of the case's end.

use super::case_mapping::CaseMapping;
use super::mail::Mail;
use super::play::{Stop, sentence};
use crate::describe;
use crate::findings::{Findings, ResultsToFetch};
use crate::judge::judge;
use crate::outcome::CaseOutcome;
use crate::scenario::{ProcessingMode, Scenario};
use daybook_client::{Client, Trouble};
use daybook_engine::time::Time;
use daybook_operations::Operation;
use serde_json::Value;

/// A played case and its results, without its messages.
pub struct PlayedCase {
    pub findings: Findings,
    /// Every event of the account that is in effect by the end of the case.
    pub events: Vec<Value>,
    /// Whether its messages are counted.
    pub wants_mail: bool,
    /// The end of the case, in the shifted time of the run.
    pub until: Time,
    /// Events of its product and its customer for which it expects messages.
    pub awaits: Vec<&'static str>,
    /// Ids on the server: product, customer and account.
    pub ids: [String; 3],
    pub notes: Vec<String>,
}

/// Fetches the results of a case.
pub fn find(
    client: &Client,
    case: &Scenario,
    mapping: CaseMapping,
    account: String,
    product: String,
    notes: Vec<String>,
) -> Result<PlayedCase, Stop> {
    let wanted = ResultsToFetch::by(case);
    let of_account = |operation: Operation| operation.request([&account]);
    let as_of = |operation, moment: &str| of_account(operation).with("effective_as_of", mapping.moment(moment));
    let end = &case.ends_at().text;
    let mut findings = Findings::default();
    if wanted.account {
        findings.account = mapping.take_off(client.call(&as_of(Operation::GetAccount, end), None).map_err(stop)?);
    }
    for then in &case.expect.account_at {
        findings.account_at.push(match client.call(&as_of(Operation::GetAccount, &then.at.text), None) {
            Ok(shown) => Ok(mapping.take_off(shown)),
            Err(trouble @ Trouble::Refused { .. }) => Err(mapping.sentence(&sentence(&trouble))),
            Err(trouble) => return Err(stop(trouble)),
        });
    }
    let off = |shown: Vec<Value>| shown.into_iter().map(|one| mapping.take_off(one)).collect();
    if wanted.line_items {
        // The clock of a rolled account is at the case's end, and its list has every item, including those that a
        // replay made invalid. A view as of a point in time shows only the items valid then.
        let items = Operation::ListLineItems;
        let request = if mapping.is_moved() { of_account(items) } else { as_of(items, end) };
        findings.line_items = off(client.list(&request).map_err(stop)?);
    }
    if wanted.schedule {
        let mut schedule = client.call(&as_of(Operation::GetAmortizationSchedule, end), None).map_err(stop)?;
        findings.schedule = off(schedule["results"].as_array_mut().map(std::mem::take).unwrap_or_default());
    }
    let until = mapping.time(case.ends_at().time);
    let mut events = client.list(&of_account(Operation::ListAccountEvents)).map_err(stop)?;
    let counts = |event: &Value| event["applies_at"].as_str().and_then(Time::parse).is_none_or(|at| at <= until);
    events.retain(counts);
    let customer = case.customer.as_ref().and_then(|customer| customer["customer_id"].as_str());
    let customer = customer.map(|id| mapping.clone().id(id)).unwrap_or_default();
    let ids = [product, customer, account];
    let is_awaited = |event: &&&str| case.expect.webhooks.iter().any(|wanted| wanted.event == **event);
    let awaits =
        [("customer_create", case.customer.is_some()), ("migration_released", case.mode == ProcessingMode::Migration)];
    let awaits = awaits.iter().filter(|(_, is_sent)| *is_sent).map(|(event, _)| event);
    let awaits = awaits.filter(is_awaited).copied().collect();
    Ok(PlayedCase { findings, events: off(events), wants_mail: wanted.webhooks, until, awaits, ids, notes })
}

fn stop(trouble: Trouble) -> Stop {
    Stop::Trouble(sentence(&trouble))
}

impl PlayedCase {
    /// The ids and events of the messages that the server wrote for the case's events.
    pub fn messages(&self) -> impl Iterator<Item = (&str, &str)> {
        let webhooks = self.events.iter().flat_map(|event| event["webhooks"].as_array().into_iter().flatten());
        webhooks.filter_map(|message| Some((message["event_id"].as_str()?, message["event"].as_str()?)))
    }

    /// Counts the messages and compares all results.
    pub fn outcome(mut self, case: &Scenario, mail: &Mail) -> CaseOutcome {
        if self.wants_mail {
            let note = mail.count(&mut self, case);
            self.notes.extend(note);
        }
        let differences = judge(case, &self.findings);
        let timeline = if differences.is_empty() { Vec::new() } else { describe::timeline(&self.events) };
        let mut outcome = CaseOutcome::new(case, differences, timeline);
        outcome.notes = self.notes;
        outcome
    }
}
