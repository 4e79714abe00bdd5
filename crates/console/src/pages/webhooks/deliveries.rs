//! Delivery attempts, newest first.

use super::HERE;
use super::all_subscriptions;
use super::filter::Filter;
use crate::Console;
use crate::csv::{Cell, Csv};
use crate::display::{AsCount, AsMoment};
use crate::field_errors::error_lines;
use crate::form::QueryParameters;
use crate::guard::Visitor;
use crate::listing::all;
use crate::page::{PageError, PageFrame, PageResult, Section, show_again};
use askama::Template;
use axum::extract::State;
use daybook_service::DeliveryQuery;
use daybook_service::paging::Paging;
use daybook_service::view::{self, Delivery};

#[derive(Template)]
#[template(path = "webhooks/deliveries.html")]
struct DeliveriesPage {
    page: PageFrame,
    filter: Filter,
    deliveries: Vec<Delivery>,
    /// Errors in the filter.
    wrong: Vec<String>,
    /// Whether this is a later page than the first.
    is_onward: bool,
    /// The link to the next page; empty if there is none.
    next: String,
}

impl DeliveriesPage {
    /// The link to the CSV download.
    fn csv(&self) -> String {
        self.filter.at(&format!("{HERE}/deliveries"), &[("format", "csv")])
    }

    /// The link to the first page.
    fn first(&self) -> String {
        self.filter.at(&format!("{HERE}/deliveries"), &[])
    }
}

/// The page.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let filter = Filter::new(&asked, all_subscriptions(&console, &visitor).await?);
    let mark = Some(asked.get("starting_after")).filter(|mark| !mark.is_empty());
    let mut page = DeliveriesPage {
        page: PageFrame::new("Deliveries", Section::Webhooks, &visitor),
        deliveries: Vec::new(),
        wrong: Vec::new(),
        is_onward: mark.is_some(),
        next: String::new(),
        filter,
    };
    let found = match page.filter.query() {
        Ok(query) if asked.get("format") == "csv" => return csv(&console, &visitor, query).await,
        Ok(query) => fetch(&console, &visitor, mark, query).await,
        Err(problem) => Err(problem.into()),
    };
    match found {
        Ok(view::Page { results, paging }) => {
            page.deliveries = results;
            let next = paging.next();
            let at = |mark: &String| page.filter.at(&format!("{HERE}/deliveries"), &[("starting_after", mark)]);
            page.next = next.as_ref().map_or_else(String::new, at);
            crate::page::show(&page)
        }
        Err(PageError { problem, .. }) if problem.code == "invalid_request" => {
            page.wrong = error_lines(&problem);
            show_again(&page)
        }
        Err(trouble) => Err(trouble),
    }
}

async fn fetch(
    console: &Console,
    visitor: &Visitor,
    mark: Option<&str>,
    query: DeliveryQuery,
) -> Result<view::Page<Delivery>, PageError> {
    let paging = Paging::read(None, mark, None)?;
    Ok(console.service.list_deliveries(visitor.caller(), paging, query).await?)
}

async fn csv(console: &Console, visitor: &Visitor, query: DeliveryQuery) -> PageResult {
    let mut csv = Csv::new(&[
        "attempted_at",
        "event",
        "event_id",
        "account_id",
        "webhook_uuid",
        "webhook_url",
        "attempt",
        "outcome",
        "response_status",
        "latency_ms",
        "error",
        "response",
        "next_retry_at",
    ])?;
    let (service, who) = (&console.service, visitor.caller());
    let rows = all(|paging| Box::pin(service.list_deliveries(who, paging, query.clone()))).await?;
    for row in &rows {
        csv.row(&[
            Cell::Text(&row.attempted_at.to_string()),
            Cell::Text(&row.event),
            Cell::Text(&row.event_id),
            Cell::Text(row.account_id.as_deref().unwrap_or_default()),
            Cell::Text(&row.webhook_uuid),
            Cell::Text(&row.webhook_url),
            Cell::Number(row.attempt.to_string()),
            Cell::Text(row.outcome),
            row.response_status.map_or(Cell::Empty, |status| Cell::Number(status.to_string())),
            Cell::Number(row.latency_ms.to_string()),
            Cell::Text(row.error.as_deref().unwrap_or_default()),
            Cell::Text(row.response.as_deref().unwrap_or_default()),
            Cell::Text(&row.next_retry_at.map_or_else(String::new, |at| at.to_string())),
        ])?;
    }
    csv.file("deliveries")
}
