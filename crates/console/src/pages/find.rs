//! Search by id, by name, or by page title.
//!
//! The response is a page, or, for the search palette (Ctrl K), only the list of results.

use crate::Console;
use crate::form::QueryParameters;
use crate::guard::Visitor;
use crate::page::{PageFrame, PageResult, Section, fragment};
use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use daybook_service::find::FoundKind;

/// The most results in addition to pages.
const MOST: usize = 30;

/// Pages outside the navigation: name, path, search terms.
const PAGES: &[(&str, &str, &str)] = &[
    ("New account", "/console/accounts/new", "open loan create"),
    ("New customer", "/console/customers/new", "create borrower"),
    ("New product", "/console/products/new", "create terms"),
    ("Deliveries", "/console/webhooks/deliveries", "webhook attempts"),
    ("Messages", "/console/webhooks/messages", "webhook messages events"),
    ("Dead letters", "/console/webhooks/dead-letters", "webhook failed replay"),
    ("Event types", "/console/webhooks/events", "webhook catalogue"),
    ("API reference", "/docs", "documentation openapi"),
];

/// A search result.
#[derive(Debug)]
struct Hit {
    kind: &'static str,
    path: String,
    title: String,
    detail: String,
}

#[derive(Template)]
#[template(path = "find/find.html")]
struct FindPage {
    page: PageFrame,
    q: String,
    hits: Vec<Hit>,
}

#[derive(Template)]
#[template(path = "find/results.html")]
struct Results {
    q: String,
    hits: Vec<Hit>,
}

/// The search results.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    headers: HeaderMap,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let q = asked.get("q").to_owned();
    let page = PageFrame::new("Find", Section::None, &visitor);
    let mut hits = pages(&page, &q);
    for found in console.service.find(visitor.caller(), &q, MOST).await? {
        let (kind, section) = match found.kind {
            FoundKind::Account => ("Account", "accounts"),
            FoundKind::Customer => ("Customer", "customers"),
            FoundKind::Product => ("Product", "products"),
        };
        let path = format!("/console/{section}/{}", found.id);
        let detail = match found.kind {
            FoundKind::Account if found.title != found.id => format!("{} · {}", found.id, found.detail),
            _ => found.detail,
        };
        hits.push(Hit { kind, path, title: found.title, detail });
    }
    if headers.get("x-fragment").is_some() {
        return fragment(&Results { q, hits });
    }
    crate::page::show(&FindPage { page, q, hits })
}

/// Pages whose name contains all typed words; without any, the sections of the navigation.
fn pages(page: &PageFrame, q: &str) -> Vec<Hit> {
    let words: Vec<String> = q.split_whitespace().map(str::to_lowercase).collect();
    let fits = |text: &str| words.iter().all(|word| text.to_lowercase().contains(word.as_str()));
    let hit = |name: &str, path: &str| Hit {
        kind: "Page",
        path: path.to_owned(),
        title: name.to_owned(),
        detail: String::new(),
    };
    let sections = page.places().filter(|place| fits(place.name)).map(|place| hit(place.name, place.path));
    let others = PAGES.iter().filter(|(name, _, more)| !words.is_empty() && fits(&format!("{name} {more}")));
    let others = others.filter(|(_, path, _)| page.may_write() || !path.ends_with("/new"));
    sections.chain(others.map(|(name, path, _)| hit(name, path))).collect()
}
