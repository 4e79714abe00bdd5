//! The pages that the binary serves: the API reference and the guides, rendered once, for the first request of one.
//!
//! ```text
//! the OpenAPI document ─► reference_page ─┐
//! docs/**/*.md ─► markdown ───────────────┼─► Library ─► /docs, /docs/errors/…, /docs/concepts/…
//! style.css ──────────────────────────────┘
//! ```
//!
//! `templates` has the HTML of the pages. Templates escape every value, except a rendered Markdown file.
//! The pages contain no scripts and load nothing from other sites.

mod markdown;
mod reference_page;

use askama::Template;
use bytes::Bytes;
use daybook_service::problem::CODES;
use reference_page::ReferencePage;
use std::collections::BTreeMap;
use utoipa::openapi::OpenApi;

/// The style sheet of all pages.
pub const STYLE: &str = include_str!("style.css");

macro_rules! pages {
    ($($name:literal,)*) => {
        /// Every Markdown file that is served, by its name under `docs/` without its extension.
        const PAGES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../../docs/", $name, ".md"))),)*];
    };
}

pages! {
    "concepts/README",
    "concepts/backdating",
    "concepts/boarding",
    "concepts/contract-terms",
    "concepts/decisions",
    "concepts/interest",
    "concepts/late",
    "concepts/loan-changes",
    "concepts/notices",
    "concepts/rates",
    "concepts/reversals",
    "concepts/schedule",
    "concepts/statuses",
    "concepts/timeline",
    "concepts/waterfall",
    "guides/clients",
    "guides/listening",
    "guides/importing-a-portfolio",
    "guides/receiving-webhooks",
    "guides/test-cases",
    "guides/what-if",
    "operating/README",
    "operating/audit",
    "operating/backup-and-restore",
    "operating/clocks",
    "operating/configuring",
    "operating/installing",
    "operating/limits",
    "operating/load",
    "operating/lost-files",
    "operating/many-nodes",
    "operating/monitoring",
    "operating/performance",
    "operating/postgresql",
    "operating/security",
    "operating/tls-and-proxies",
    "operating/upgrading",
    "operating/verifying",
    "scenarios/README",
    "errors/account_closed",
    "errors/account_failed",
    "errors/already_reversed",
    "errors/cannot_cancel",
    "errors/conflict",
    "errors/exceeds_surplus",
    "errors/id_taken",
    "errors/idempotency_key_reused",
    "errors/internal_error",
    "errors/invalid_request",
    "errors/limit_reached",
    "errors/live_environment",
    "errors/malformed_request",
    "errors/method_not_allowed",
    "errors/migration_mode",
    "errors/no_rows_ahead",
    "errors/not_authorized",
    "errors/not_found",
    "errors/not_held",
    "errors/not_reversible",
    "errors/not_supported",
    "errors/nothing_to_change",
    "errors/nothing_to_waive",
    "errors/rate_limited",
    "errors/status_is_final",
    "errors/subscription_paused",
    "errors/too_large",
    "errors/unauthenticated",
    "errors/unavailable",
    "errors/unsupported_media_type",
}

/// All pages, ready to send.
#[derive(Debug)]
pub struct Library {
    /// The OpenAPI document.
    pub openapi_json: Bytes,
    /// The API reference.
    pub reference: Bytes,
    /// The other pages, by their path under `/docs/`.
    pub pages: BTreeMap<String, Bytes>,
}

impl Library {
    /// Renders all pages.
    pub fn new(openapi: &OpenApi) -> Library {
        let document = serde_json::to_value(openapi).unwrap_or_default();
        let mut pages = BTreeMap::new();
        for (name, text) in PAGES {
            let page = markdown::page(name, text, &is_served);
            pages.insert(markdown::address(name).to_owned(), render(&page));
        }
        for (section, title) in
            [("errors", "Errors"), ("concepts", "Concepts"), ("guides", "Guides"), ("operating", "Operating")]
        {
            pages.entry(section.to_owned()).or_insert_with(|| render(&SectionPage::new(section, title)));
        }
        Library {
            openapi_json: serde_json::to_vec(&document).unwrap_or_default().into(),
            reference: render(&ReferencePage::new(&document)),
            pages,
        }
    }
}

/// Every error's code and its page, as Markdown.
pub fn error_pages() -> impl Iterator<Item = (&'static str, &'static str)> {
    PAGES.iter().filter_map(|(name, text)| Some((name.strip_prefix("errors/")?, *text)))
}

fn is_served(name: &str) -> bool {
    PAGES.iter().any(|(known, _)| *known == name)
}

/// A page that lists the pages of a section.
#[derive(Template)]
#[template(path = "section.html")]
struct SectionPage {
    title: &'static str,
    entries: Vec<SectionEntry>,
}

/// A page of a section.
struct SectionEntry {
    /// Its path under `/docs/`.
    name: &'static str,
    heading: &'static str,
    /// The HTTP status of an error.
    status: Option<u16>,
}

impl SectionPage {
    fn new(section: &str, title: &'static str) -> SectionPage {
        let mut entries = Vec::new();
        for (name, text) in PAGES {
            let Some(page) = name.strip_prefix(section).and_then(|rest| rest.strip_prefix('/')) else { continue };
            let kind = CODES.iter().find(|(code, _)| section == "errors" && *code == page);
            let status = kind.map(|(code, kind)| match *code {
                "method_not_allowed" => 405,
                _ => crate::error::status_of(*kind).as_u16(),
            });
            entries.push(SectionEntry { name, heading: markdown::heading(text), status });
        }
        SectionPage { title, entries }
    }
}

/// Renders a page into memory. The templates show only text and numbers, so rendering cannot fail.
fn render(page: &impl Template) -> Bytes {
    match page.render() {
        Ok(text) => text.into(),
        Err(error) => {
            debug_assert!(false, "a page cannot be rendered: {error}");
            Bytes::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn names_in(section: &str) -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(section);
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        names.filter_map(|name| name.strip_suffix(".md").map(|name| format!("{section}/{name}"))).collect()
    }

    #[test]
    fn every_file_of_a_served_section_is_served() {
        for section in ["errors", "concepts", "guides", "operating", "scenarios"] {
            for name in names_in(section) {
                assert!(is_served(&name), "docs/{name}.md is not in the list of pages");
            }
        }
    }

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        for (code, _) in CODES {
            assert!(is_served(&format!("errors/{code}")), "docs/errors/{code}.md is missing");
        }
        for (name, text) in PAGES {
            let Some(code) = name.strip_prefix("errors/") else { continue };
            assert!(CODES.iter().any(|(known, _)| *known == code), "{name} explains no code");
            assert_eq!(markdown::heading(text), code);
            for part in ["## What it means", "## When it occurs", "## What to do", "## Example"] {
                assert!(text.contains(part), "{name} lacks {part}");
            }
        }
    }

    #[test]
    fn links_between_pages_lead_to_pages() {
        let library = Library::new(&crate::openapi());
        for (name, page) in &library.pages {
            let text = std::str::from_utf8(page).expect("pages are text");
            for target in text.split("href=\"/docs/").skip(1).filter_map(|rest| rest.split(['"', '#']).next()) {
                let known = target.is_empty() || target == "style.css" || library.pages.contains_key(target);
                assert!(known, "{name} leads to /docs/{target}, which is not there");
            }
            for place in text.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(text.contains(&format!("id=\"{place}\"")), "{name} leads to #{place}, which is not there");
            }
            assert!(!text.contains("<script"), "{name} has a script");
        }
    }
}
