//! `daybook audit`: the audit trail.
//!
//! Reads the database directly, also while a server uses it. Changes nothing.

use super::opening::open_service;
use super::org::listed;
use super::{Failure, prepare, print, wait_for};
use crate::cli::AuditArgs;
use crate::config::Settings;
use daybook_engine::time::Time;
use daybook_service::access::Caller;
use daybook_service::paging::{LONGEST_PAGE, Paging};
use daybook_service::secrets::hex;
use daybook_service::view::AuditRecord;
use daybook_service::{AuditQuery, Service};
use serde_json::{Value, json};

/// The value of `--org` for records that belong to no organization.
const NONE: &str = "-";

/// Prints the requested records.
pub fn run(args: &AuditArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    wait_for(show(args, &settings))
}

async fn show(args: &AuditArgs, settings: &Settings) -> Result<(), Failure> {
    let service = open_service(settings).await?;
    let shown = if args.ends {
        ends(&service, args.json).await
    } else if let Some(held) = &args.holds {
        holds(&service, args, held).await
    } else {
        list(&service, args).await
    };
    service.stop().await;
    print(&shown?)
}

async fn list(service: &Service, args: &AuditArgs) -> Result<String, Failure> {
    let who = who(service, args.org.as_deref()).await?;
    let query = AuditQuery {
        actor: args.actor.clone(),
        action: args.action.clone(),
        subject_id: args.subject.clone(),
        request_id: args.request.clone(),
        since: moment("--since", args.since.as_deref())?,
        until: moment("--until", args.until.as_deref())?,
    };
    let mut results: Vec<Value> = Vec::new();
    let mut mark: Option<String> = None;
    while results.len() < args.limit {
        let limit = (args.limit - results.len()).min(LONGEST_PAGE).to_string();
        let paging = Paging::read(Some(&limit), mark.as_deref(), None)?;
        let page = service.list_audit_records(&who, paging, query.clone()).await?;
        for record in &page.results {
            results.push(tree(record)?);
        }
        if !page.paging.has_more {
            break;
        }
        mark = page.paging.starting_after;
    }
    let found = json!({ "results": results });
    let fields = ["number", "recorded_at", "actor", "address", "action", "subject_id", "details"];
    Ok(if args.json { format!("{found:#}\n") } else { listed(&found, fields) })
}

/// The requested organization, or the records that belong to none.
async fn who(service: &Service, org: Option<&str>) -> Result<Caller, Failure> {
    Ok(if org == Some(NONE) { service.operator_of_none() } else { service.operator(org).await? })
}

async fn ends(service: &Service, json: bool) -> Result<String, Failure> {
    let names = service.organizations().await?;
    let name = |org| names.iter().find(|known| known.org == org).map_or(NONE, |known| known.name.as_str());
    let heads = service.audit_heads().await?;
    let heads = heads.iter().map(|head| json!({"org": name(head.org), "number": head.seq, "hash": hex(&head.hash)}));
    let found = json!({ "results": heads.collect::<Vec<_>>() });
    Ok(if json { format!("{found:#}\n") } else { listed(&found, ["org", "number", "hash"]) })
}

async fn holds(service: &Service, args: &AuditArgs, held: &str) -> Result<String, Failure> {
    let wrong = || Failure::Failed("--holds must be a number and a hash, such as 1204:5be8c1…".to_owned());
    let (number, hash) = held.split_once(':').ok_or_else(wrong)?;
    let number: i64 = number.parse().map_err(|_| wrong())?;
    let who = who(service, args.org.as_deref()).await?;
    let found = service.audit_hash(&who, number).await?;
    match found {
        Some(found) if found == hash => Ok(format!("record {number} has this hash\n")),
        Some(found) => Err(Failure::Failed(format!("record {number} has a different hash: {found}"))),
        None => Err(Failure::Failed(format!("there is no record {number}"))),
    }
}

fn moment(flag: &str, given: Option<&str>) -> Result<Option<Time>, Failure> {
    let wrong = || Failure::Failed(format!("{flag} must be a moment, such as 2025-03-01T00:00:00Z"));
    given.map(|given| Time::parse(given).ok_or_else(wrong)).transpose()
}

fn tree(record: &AuditRecord) -> Result<Value, Failure> {
    serde_json::to_value(record).map_err(|error| Failure::Failed(format!("a record cannot be written: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;
    use std::sync::Arc;

    #[derive(clap::Parser)]
    struct Alone {
        #[command(flatten)]
        args: AuditArgs,
    }

    #[tokio::test]
    async fn a_search_goes_on_until_it_finds_the_record() {
        let clock = Arc::new(daybook_clock::System);
        let service = Service::open("sqlite::memory:", clock, &[7; 32]).await.expect("it starts");
        let service = service.examining_audit_records(2);
        service.create_organization("lender", "TEST").await.expect("it is made");
        let who = service.operator(None).await.expect("there is one organization");
        for request in ["wanted", "b", "c", "d", "e", "f"] {
            service.record_bulk(&who.clone().from_where(None, request), 1, b"").await.expect("it is recorded");
        }
        let Alone { args } = Alone::parse_from(["audit", "--request", "wanted", "--json"]);
        let found: Value = serde_json::from_str(&list(&service, &args).await.expect("it is read")).expect("JSON");
        assert_eq!(found["results"].as_array().map(Vec::len), Some(1), "{found}");
        assert_eq!(found["results"][0]["request_id"], "wanted");
    }

    #[test]
    fn moments_are_read_or_refused_by_name() {
        assert!(moment("--since", Some("2025-03-01T00:00:00Z")).is_ok_and(|time| time.is_some()));
        let refused = moment("--until", Some("yesterday")).expect_err("that is no moment");
        assert!(refused.to_string().contains("--until must be a moment"), "{refused}");
    }
}
