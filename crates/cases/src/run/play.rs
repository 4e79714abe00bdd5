//! Plays a case: performs its events, in its mode, through the same use cases that callers use.
//!
//! A *migration* case is loaded with the clock at its end: turn migration mode on, create product, customer, account
//! and all events in the order of the file, turn migration mode off, and process everything that is due. A *live* case
//! moves its clock from event to event, and each event is processed when it is recorded. In both modes the case ends
//! with the clock at its last event or roll, and every message sent.

use super::in_memory_server::{CaseOrganization, InMemoryServer, json_of, json_of_view, text_of};
use crate::describe;
use crate::findings::{Findings, ResultsToFetch};
use crate::judge::judge;
use crate::outcome::{CaseDifference, CaseOutcome};
use crate::scenario::{CaseEventKind, Event, PartLines, ProcessingMode, Scenario};
use crate::submit::{read, submit};
use daybook_service::problem::Problem;
use serde_json::{Value, json};

/// The ids that exist once a case has been played.
#[derive(Clone, Debug, Default)]
pub(super) struct Played {
    pub product: Option<String>,
    pub account: Option<String>,
}

/// A request of the case was refused.
pub(crate) struct Refused {
    pub line: usize,
    pub what: String,
    pub why: String,
}

impl Refused {
    /// The refusal as a difference.
    pub fn difference(self) -> CaseDifference {
        let expected = "no error".to_owned();
        CaseDifference { what: self.what, expected, got: self.why, line: self.line }
    }
}

impl InMemoryServer {
    /// Plays a case and judges it. An `Err` means that this server is broken, not the case.
    pub async fn play(
        &mut self,
        case: &Scenario,
        wanted: ResultsToFetch,
    ) -> Result<(CaseOutcome, Option<Findings>), Problem> {
        let begins_at = match case.mode {
            ProcessingMode::Migration => case.ends_at().time,
            ProcessingMode::Live => case.account_effective_at.time,
        };
        let organization = self.create_organization(begins_at).await?;
        let mut played = Played::default();
        let performed =
            Performance { server: self, organization: &organization, case, played: &mut played }.perform().await;
        let (differences, findings) = match (performed, &played.account) {
            (Ok(()), Some(account)) => {
                if wanted.webhooks {
                    self.send().await?;
                }
                let findings = self.find(&organization.who, account, case, wanted).await?;
                (judge(case, &findings), Some(findings))
            }
            (Ok(()), None) => (Vec::new(), None),
            (Err(refused), _) => (vec![refused.difference()], None),
        };
        let timeline = match &played.account {
            Some(account) if !differences.is_empty() => {
                describe::timeline(&self.events(&organization.who, account).await?)
            }
            _ => Vec::new(),
        };
        self.clear_organization(&organization, played.product.as_deref()).await?;
        Ok((CaseOutcome::new(case, differences, timeline), findings))
    }
}

struct Performance<'a> {
    server: &'a InMemoryServer,
    organization: &'a CaseOrganization,
    case: &'a Scenario,
    played: &'a mut Played,
}

impl Performance<'_> {
    async fn perform(mut self) -> Result<(), Refused> {
        let product = self.make_product().await?;
        self.hold(&product, self.case.mode == ProcessingMode::Migration).await?;
        let customer = self.make_customer().await?;
        let account = self.open_account(&product, customer).await?;
        for event in &self.case.events {
            self.happen(&account, event).await?;
        }
        if self.case.mode == ProcessingMode::Migration {
            self.hold(&product, false).await?;
        }
        self.go_to(self.case.ends_at().time).await?;
        self.check_release(&product).await
    }

    async fn make_product(&mut self) -> Result<String, Refused> {
        let (lines, service) = (&self.case.lines.product, &self.server.service);
        let what = || "creating the product".to_owned();
        if let Some(id) = self.case.existing_product() {
            let why = format!(
                "product {id} is not described in the file: a case that runs without a server must describe its product"
            );
            return Err(Refused { line: lines.whole, what: what(), why });
        }
        let made = match read(&self.case.product) {
            Ok(form) => service.create_product(&self.organization.who, None, form).await,
            Err(problem) => Err(problem),
        };
        let id = made.and_then(|made| Ok(text_of(&json_of(&made)?, "product_id")));
        let id = id.map_err(|problem| refused(line_of(lines, &problem), what(), &problem))?;
        self.played.product = Some(id.clone());
        Ok(id)
    }

    /// A product may start in migration mode by its own configuration; the case's mode overrides it.
    async fn hold(&self, product: &str, on: bool) -> Result<(), Refused> {
        let held = self.server.hold(&self.organization.who, product, on).await;
        let what = || format!("turning migration mode {}", if on { "on" } else { "off" });
        held.map_err(|problem| refused(self.case.lines.product.whole, what(), &problem))
    }

    async fn make_customer(&self) -> Result<Option<String>, Refused> {
        let Some(customer) = &self.case.customer else { return Ok(None) };
        let made = match read(customer) {
            Ok(form) => self.server.service.create_customer(&self.organization.who, None, form).await,
            Err(problem) => Err(problem),
        };
        let id = made.and_then(|made| Ok(text_of(&json_of(&made)?, "customer_id")));
        let line = |problem: &Problem| line_of(&self.case.lines.customer, problem);
        let id = id.map_err(|problem| refused(line(&problem), "creating the customer".to_owned(), &problem))?;
        Ok(Some(id))
    }

    async fn open_account(&mut self, product: &str, customer: Option<String>) -> Result<String, Refused> {
        let mut body = self.case.account.clone();
        body["product_id"] = Value::from(product);
        if let Some(customer) = customer {
            let assigned = &mut body["assign_customers"];
            match assigned.as_array_mut() {
                Some(list) => list.push(json!({ "customer_id": customer })),
                None => *assigned = json!([{ "customer_id": customer }]),
            }
        }
        let opened = match read(&body) {
            Ok(form) => self.server.service.create_account(&self.organization.who, None, form).await,
            Err(problem) => Err(problem),
        };
        let id = opened.and_then(|opened| Ok(text_of(&json_of(&opened)?, "account_id")));
        let line = |problem: &Problem| line_of(&self.case.lines.account, problem);
        let id = id.map_err(|problem| refused(line(&problem), "opening the account".to_owned(), &problem))?;
        self.played.account = Some(id.clone());
        Ok(id)
    }

    async fn happen(&self, account: &str, event: &Event) -> Result<(), Refused> {
        if self.case.mode == ProcessingMode::Live {
            // Submitting an event brings the account up to the clock. A roll submits nothing, so it does that
            // explicitly.
            self.server.clock.set(event.comes_in_at().time);
            if event.input.kind == CaseEventKind::Roll {
                self.go_to(event.comes_in_at().time).await?;
            }
        }
        let (service, at) = (&self.server.service, &event.effective_at.text);
        let submitted = submit(service, &self.organization.who, account, &event.input, at).await;
        submitted.map_err(|problem| refused(event.line, describe::event(event), &problem))
    }

    async fn go_to(&self, now: daybook_engine::time::Time) -> Result<(), Refused> {
        let what = || "processing due events".to_owned();
        self.server.go_to(now).await.map_err(|problem| refused(self.case.lines.account.whole, what(), &problem))
    }

    /// A release reports inputs that could not be applied; loading them reported no error.
    async fn check_release(&self, product: &str) -> Result<(), Refused> {
        let line = self.case.lines.account.whole;
        let what = || "releasing the loaded events".to_owned();
        let progress = self.server.service.get_migration_mode(&self.organization.who, product).await;
        let progress = progress.and_then(|progress| json_of_view(&progress));
        let progress = progress.map_err(|problem| refused(line, what(), &problem))?;
        not_released(self.case, &progress).map_or(Ok(()), Err)
    }
}

/// The first input that a release could not apply, from its progress report.
pub(crate) fn not_released(case: &Scenario, progress: &Value) -> Option<Refused> {
    let failed = progress["failed_accounts"].as_array()?.first()?;
    let why = text_of(failed, "reason");
    let named = case.events.iter().find(|event| is_named(event, &why));
    Some(match named {
        Some(event) => Refused { line: event.line, what: describe::event(event), why },
        None => Refused { line: case.lines.account.whole, what: "releasing the loaded events".to_owned(), why },
    })
}

/// The line of the first field that a problem names.
fn line_of(lines: &PartLines, problem: &Problem) -> usize {
    problem.details.first().map_or(lines.whole, |detail| lines.of(&detail.field))
}

fn refused(line: usize, what: String, problem: &Problem) -> Refused {
    Refused { line, what, why: describe::problem(problem) }
}

/// Whether the reason why an account could not be released names the input of this event. A reversal, a waiver or a
/// status is named together with the payment or fee that it is about, which is another event's id.
fn is_named(event: &Event, reason: &str) -> bool {
    let about = match event.input.kind {
        CaseEventKind::PaymentReversal => Some(("the reversal", "of payment ")),
        CaseEventKind::PaymentStatus => Some(("the status", "of payment ")),
        CaseEventKind::FeeWaiver => Some(("the waiver", "of fee ")),
        CaseEventKind::ChangeCancel => Some(("the cancellation", "of change ")),
        CaseEventKind::RefundReversal => Some(("the reversal", "of refund ")),
        _ => None,
    };
    if let Some((what, of)) = about {
        let target = event.input.target.as_deref().unwrap_or_default();
        return reason.contains(what) && reason.contains(&format!("{of}\"{target}\""));
    }
    let body = &event.input.body;
    let Some(id) = body.get("line_item_id").or(body.get("change_id")).and_then(Value::as_str) else { return false };
    let named = format!("\"{id}\"");
    let mut places = reason.match_indices(&named).map(|(at, _)| &reason[..at]);
    let of = ["of payment ", "of fee ", "of change ", "of refund "];
    places.any(|before| of.iter().all(|of| !before.ends_with(of)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_reason_names_the_event_and_not_the_payment_that_it_is_about() {
        let bounced =
            crate::builtin::builtin().iter().find(|(name, _)| name.starts_with("05-")).expect("it is built in");
        let case = crate::parse(Path::new(bounced.0), bounced.1).expect("it is valid");
        let named =
            |why: &str| not_released(&case, &json!({ "failed_accounts": [{ "reason": why }] })).map(|it| it.what);
        let [payment, reversal] = [0, 1].map(|at| Some(describe::event(&case.events[at])));
        assert_eq!(named("the reversal of payment \"p1\": it is too late"), reversal);
        assert_eq!(named("the reversal \"r1\" of payment \"p1\": it is too late"), reversal);
        assert_eq!(named("payment \"p1\": it is too much"), payment);
        assert_eq!(named("the waiver of fee \"p1\": there is none"), Some("releasing the loaded events".to_owned()));
    }
}
