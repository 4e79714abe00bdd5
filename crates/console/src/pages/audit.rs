//! The audit trail: who did what, when, and from which address. Newest first.

use crate::Console;
use crate::csv::{Cell, Csv};
use crate::display::AsMoment;
use crate::field_errors::error_lines;
use crate::form::{FormValues, QueryParameters};
use crate::guard::Visitor;
use crate::listing::all;
use crate::page::{PageError, PageFrame, PageResult, Section, show_again};
use crate::pages::webhooks::filter::moment;
use askama::Template;
use axum::extract::State;
use daybook_engine::time::Time;
use daybook_service::AuditQuery;
use daybook_service::paging::Paging;
use daybook_service::problem::{Detail, Problem};
use daybook_service::view::{self, AuditRecord};
use serde_json::Value;
use std::collections::HashMap;

/// The path of this section.
const HERE: &str = "/console/audit";
/// The fields of the filter, in order.
const FIELDS: [&str; 5] = ["actor", "action", "subject_id", "since", "until"];
/// How often a page searches on while no record matches.
const MOST_SEARCHES: usize = 10;

/// A record of the audit trail, with the name of its actor.
#[derive(Debug)]
struct AuditTableRow {
    of: AuditRecord,
    /// The name of the user or the key.
    actor_name: Option<String>,
}

/// The names of users and keys, by their ids in the records.
type Names = HashMap<String, String>;

async fn names(console: &Console, visitor: &Visitor) -> Result<Names, PageError> {
    let people = console.service.list_people(visitor.caller()).await?;
    let people = people.into_iter().map(|person| (format!("person:{}", person.person_id), person.name));
    let keys = super::keys::names(console, visitor).await?;
    Ok(people.chain(keys).collect())
}

impl AuditTableRow {
    /// The path of the subject's page; empty if it has none.
    fn subject_page(&self) -> String {
        let id = self.of.subject_id.as_deref().unwrap_or_default();
        let section = match self.of.subject_type.as_str() {
            "account" => "accounts",
            "customer" => "customers",
            "product" => "products",
            _ => return String::new(),
        };
        format!("/console/{section}/{id}")
    }

    /// The type of the subject, in plain text.
    fn subject_words(&self) -> String {
        self.of.subject_type.replace('_', " ")
    }

    /// The action, in plain text.
    fn action_words(&self) -> String {
        // The API's names for what the console calls pause and resume.
        let words = match &*self.of.action {
            "unsubscribe" => "pause (unsubscribe)".to_owned(),
            "resubscribe" => "resume (resubscribe)".to_owned(),
            action => action.replace('_', " "),
        };
        let mut letters = words.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }

    /// Whether the record is about a failure.
    fn is_bad(&self) -> bool {
        self.of.action.ends_with("_failed")
    }

    /// The details, as names and values.
    fn detail_lines(&self) -> Vec<(String, String)> {
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match details(&self.of) {
            Value::Object(details) => {
                let label = |name: &str| match name {
                    "records" => "numbers in the account's journal".to_owned(),
                    name => name.replace('_', " "),
                };
                details.iter().map(|(name, value)| (label(name), plain(value))).collect()
            }
            // Only a record edited in the database has this form.
            other => vec![("details".to_owned(), plain(&other))],
        }
    }
}

/// The details of a record, as a JSON tree.
fn details(record: &AuditRecord) -> Value {
    serde_json::from_str(record.details.get()).unwrap_or_default()
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    page: PageFrame,
    typed: FormValues,
    records: Vec<AuditTableRow>,
    /// Errors in the filter.
    wrong: Vec<String>,
    /// Whether this is a later page than the first.
    is_onward: bool,
    /// The link to the next page; empty if there is none.
    next: String,
}

impl AuditPage {
    fn at(&self, more: &[(&str, &str)]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for name in FIELDS.iter().filter(|name| self.typed.has(name)) {
            query.append_pair(name, self.typed.get(name));
        }
        let query = query.extend_pairs(more).finish();
        if query.is_empty() { HERE.to_owned() } else { format!("{HERE}?{query}") }
    }

    /// The link to the CSV download.
    fn csv(&self) -> String {
        self.at(&[("format", "csv")])
    }

    /// The link to the first page.
    fn first(&self) -> String {
        self.at(&[])
    }

    /// Whether no filter is set.
    fn shows_all(&self) -> bool {
        FIELDS.iter().all(|name| !self.typed.has(name))
    }
}

/// The page.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let keep = |kept: FormValues, name: &&str| if asked.has(name) { kept.with(name, asked.get(name)) } else { kept };
    let mark = Some(asked.get("starting_after")).filter(|mark| !mark.is_empty());
    let mut page = AuditPage {
        page: PageFrame::new("Audit trail", Section::Audit, &visitor),
        typed: FIELDS.iter().fold(FormValues::default(), keep),
        records: Vec::new(),
        wrong: Vec::new(),
        is_onward: mark.is_some(),
        next: String::new(),
    };
    let found = match query(&page.typed) {
        Ok(query) if asked.get("format") == "csv" => return csv(&console, &visitor, query).await,
        Ok(query) => fetch(&console, &visitor, mark, query).await,
        Err(problem) => Err(problem.into()),
    };
    match found {
        Ok(view::Page { results, paging }) => {
            let names = names(&console, &visitor).await?;
            let named = |of: AuditRecord| AuditTableRow { actor_name: names.get(&of.actor).cloned(), of };
            page.records = results.into_iter().map(named).collect();
            page.next = paging.next().as_ref().map_or_else(String::new, |mark| page.at(&[("starting_after", mark)]));
            crate::page::show(&page)
        }
        Err(PageError { problem, .. }) if problem.code == "invalid_request" => {
            page.wrong = error_lines(&problem);
            show_again(&page)
        }
        Err(trouble) => Err(trouble),
    }
}

/// The filter as a query of the service. The error names every invalid field.
fn query(typed: &FormValues) -> Result<AuditQuery, Problem> {
    let mut wrong = Vec::new();
    let text = |name: &str| Some(typed.get(name).to_owned()).filter(|text| !text.is_empty());
    let mut read_moment = |name: &str| -> Option<Time> {
        let refuse = |rule: &str| wrong.push(Detail { field: name.to_owned(), message: rule.to_owned() });
        moment(&text(name)?).map_err(refuse).ok()
    };
    let (since, until) = (read_moment("since"), read_moment("until"));
    let query = AuditQuery {
        actor: text("actor"),
        action: text("action").map(|action| action.to_lowercase().replace(' ', "_")),
        subject_id: text("subject_id"),
        request_id: None,
        since,
        until,
    };
    if wrong.is_empty() { Ok(query) } else { Err(Problem::invalid_fields(wrong)) }
}

/// A page of records. A search examines a limited number of records at a time, so it may have to go on.
async fn fetch(
    console: &Console,
    visitor: &Visitor,
    mark: Option<&str>,
    query: AuditQuery,
) -> Result<view::Page<AuditRecord>, PageError> {
    let mut mark = mark.map(str::to_owned);
    let mut searches = 0;
    loop {
        let paging = Paging::read(None, mark.as_deref(), None)?;
        let page = console.service.list_audit_records(visitor.caller(), paging, query.clone()).await?;
        searches += 1;
        let next = page.paging.clone().next();
        if !page.results.is_empty() || next.is_none() || searches == MOST_SEARCHES {
            return Ok(page);
        }
        mark = next;
    }
}

async fn csv(console: &Console, visitor: &Visitor, query: AuditQuery) -> PageResult {
    let mut csv = Csv::new(&[
        "number",
        "recorded_at",
        "actor",
        "session",
        "address",
        "request_id",
        "action",
        "subject_type",
        "subject_id",
        "details",
        "hash",
    ])?;
    let (service, who) = (&console.service, visitor.caller());
    let rows = all(|paging| Box::pin(service.list_audit_records(who, paging, query.clone()))).await?;
    for row in &rows {
        let details = details(row).to_string();
        csv.row(&[
            Cell::Number(row.number.to_string()),
            Cell::Text(&row.recorded_at.to_string()),
            Cell::Text(&row.actor),
            Cell::Text(row.session.as_deref().unwrap_or_default()),
            Cell::Text(row.address.as_deref().unwrap_or_default()),
            Cell::Text(row.request_id.as_deref().unwrap_or_default()),
            Cell::Text(&row.action),
            Cell::Text(&row.subject_type),
            Cell::Text(row.subject_id.as_deref().unwrap_or_default()),
            Cell::Text(&details),
            Cell::Text(&row.hash),
        ])?;
    }
    csv.file("audit")
}
