//! Message search by id, account, event, state and time, newest first.

use super::filter::Filter;
use super::{HERE, all_subscriptions};
use crate::Console;
use crate::display::AsMoment;
use crate::field_errors::error_lines;
use crate::form::{FormValues, QueryParameters};
use crate::guard::Visitor;
use crate::listing::link;
use crate::page::{PageError, PageFrame, PageResult, Section, show_again};
use askama::Template;
use axum::extract::State;
use daybook_service::MessageQuery;
use daybook_service::form::fields::SearchState;
use daybook_service::paging::Paging;
use daybook_service::problem::Problem;
use daybook_service::view::{self, Message, MessageState, MessageUrl, UrlState};

/// The search fields. The other lists have no event id or state.
const FIELDS: [&str; 7] = ["event_id", "state", "webhook_uuid", "event", "account_id", "since", "until"];

#[derive(Template)]
#[template(path = "webhooks/messages.html")]
struct MessagesPage {
    page: PageFrame,
    filter: Filter,
    event_id: String,
    state: String,
    messages: Vec<Message>,
    /// Errors in the search.
    wrong: Vec<String>,
    /// Whether this is a later page than the first.
    is_onward: bool,
    /// The link to the next page; empty if there is none.
    next: String,
}

impl MessagesPage {
    /// The URLs that receive a message.
    fn wanted<'a>(&self, message: &'a Message) -> impl Iterator<Item = &'a MessageUrl> {
        message.urls.iter().filter(|url| url.state != UrlState::NotWanted)
    }

    /// The states that can be searched for.
    fn states(&self) -> &'static [SearchState] {
        SearchState::ALL
    }

    /// Whether no filter is set.
    fn is_everything(&self) -> bool {
        self.filter.is_empty() && self.event_id.is_empty() && self.state.is_empty()
    }
}

fn at(asked: &FormValues, mark: &str) -> String {
    let mut pairs: Vec<(&str, &str)> = FIELDS.iter().map(|name| (*name, asked.get(name))).collect();
    pairs.push(("starting_after", mark));
    link(&format!("{HERE}/messages"), &pairs)
}

fn query(page: &MessagesPage) -> Result<MessageQuery, Problem> {
    let others = page.filter.query()?;
    let known = |text: &str| SearchState::ALL.iter().copied().find(|state| state.name() == text);
    let state = match page.state.as_str() {
        "" => None,
        text => Some(known(text).ok_or_else(|| Problem::invalid("state", "must be one of the listed states"))?),
    };
    Ok(MessageQuery {
        event_id: Some(page.event_id.clone()).filter(|id| !id.is_empty()),
        account_id: others.account_id,
        event: others.event,
        state,
        webhook_uuid: others.webhook_uuid,
        since: others.since,
        until: others.until,
    })
}

/// The page.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let mark = Some(asked.get("starting_after")).filter(|mark| !mark.is_empty());
    let mut page = MessagesPage {
        page: PageFrame::new("Messages", Section::Webhooks, &visitor),
        filter: Filter::new(&asked, all_subscriptions(&console, &visitor).await?),
        event_id: asked.get("event_id").trim().to_owned(),
        state: asked.get("state").to_owned(),
        messages: Vec::new(),
        wrong: Vec::new(),
        is_onward: mark.is_some(),
        next: String::new(),
    };
    let found = match query(&page) {
        Ok(query) => fetch(&console, &visitor, mark, query).await,
        Err(problem) => Err(problem.into()),
    };
    match found {
        Ok(view::Page { results, paging }) => {
            page.messages = results;
            page.next = paging.next().map_or_else(String::new, |mark| at(&asked, &mark));
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
    query: MessageQuery,
) -> Result<view::Page<Message>, PageError> {
    let paging = Paging::read(None, mark, None)?;
    Ok(console.service.list_messages(visitor.caller(), paging, query).await?)
}
