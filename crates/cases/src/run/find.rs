//! Fetches the results of a case from the service that played it.

use super::in_memory_server::{InMemoryServer, json_of_view};
use crate::describe;
use crate::findings::{Findings, ResultsToFetch};
use crate::scenario::Scenario;
use daybook_engine::time::Time;
use daybook_service::access::Caller;
use daybook_service::paging::{LONGEST_PAGE, Paging};
use daybook_service::problem::Problem;
use daybook_service::{ItemQuery, Service};
use serde_json::Value;

impl InMemoryServer {
    /// The results of a case.
    pub async fn find(
        &self,
        who: &Caller,
        account: &str,
        case: &Scenario,
        wanted: ResultsToFetch,
    ) -> Result<Findings, Problem> {
        let service = &self.service;
        let mut findings = Findings { received: Some(self.inbox.counts()), ..Findings::default() };
        findings.unsigned = self.inbox.unsigned();
        if wanted.account {
            findings.account = json_of_view(&service.get_account(who, account, None).await?)?;
        }
        for then in &case.expect.account_at {
            findings.account_at.push(match service.get_account(who, account, Some(then.at.time)).await {
                Ok(shown) => Ok(json_of_view(&shown)?),
                Err(problem) => Err(describe::problem(&problem)),
            });
        }
        if wanted.line_items {
            findings.line_items = line_items(service, who, account, None).await?;
        }
        if wanted.schedule {
            let schedule = json_of_view(&service.get_amortization_schedule(who, account, None).await?)?;
            findings.schedule = results(schedule);
        }
        Ok(findings)
    }

    /// Every event of an account, in order.
    pub async fn events(&self, who: &Caller, account: &str) -> Result<Vec<Value>, Problem> {
        let mut events = Vec::new();
        let mut paging = first_page();
        loop {
            let page = json_of_view(&self.service.list_account_events(who, account, paging).await?)?;
            match turn(page, &mut events)? {
                Some(next) => paging = next,
                None => return Ok(events),
            }
        }
    }
}

/// Every line item of an account, as of a point in time or now.
pub(crate) async fn line_items(
    service: &Service,
    who: &Caller,
    account: &str,
    as_of: Option<Time>,
) -> Result<Vec<Value>, Problem> {
    let mut items = Vec::new();
    let mut paging = first_page();
    loop {
        let query = ItemQuery { as_of, ..ItemQuery::default() };
        let page = json_of_view(&service.list_line_items(who, account, paging, query).await?)?;
        match turn(page, &mut items)? {
            Some(next) => paging = next,
            None => return Ok(items),
        }
    }
}

fn first_page() -> Paging {
    Paging { limit: LONGEST_PAGE, ..Paging::default() }
}

/// Adds a page's results to `found`, and returns the paging of the next page.
fn turn(page: Value, found: &mut Vec<Value>) -> Result<Option<Paging>, Problem> {
    let paging = &page["paging"];
    let next = match paging["has_more"] == true {
        true => Some(Paging::read(Some(&LONGEST_PAGE.to_string()), paging["starting_after"].as_str(), None)?),
        false => None,
    };
    found.append(&mut results(page));
    Ok(next)
}

/// The results of a list.
fn results(mut page: Value) -> Vec<Value> {
    page["results"].as_array_mut().map(std::mem::take).unwrap_or_default()
}
