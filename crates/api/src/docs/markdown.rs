//! Renders Markdown files as pages. Links between files become links between pages; links to files that are not served
//! become plain text.

use askama::Template;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// A page.
#[derive(Debug, Template)]
#[template(path = "markdown.html")]
pub struct DocumentPage {
    title: String,
    /// The rendered file, as HTML.
    body: String,
}

/// The path of a file's page under `/docs/`: a folder's README is the folder's page.
pub fn address(name: &str) -> &str {
    name.strip_suffix("/README").unwrap_or(name)
}

/// The text of the first heading.
pub fn heading(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default().trim().trim_matches('`')
}

/// Renders a file as a page. `is_served` says which files have pages.
pub fn page(name: &str, text: &str, is_served: &dyn Fn(&str) -> bool) -> DocumentPage {
    let mut links = Vec::new();
    let events = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).filter_map(|event| {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let target = target(name, &dest_url, is_served);
                links.push(target.is_some());
                let dest_url = CowStr::from(target?);
                Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
            }
            Event::End(TagEnd::Link) => links.pop().unwrap_or(false).then_some(Event::End(TagEnd::Link)),
            // The files are our own, and need no raw HTML or images.
            Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
            Event::Start(Tag::Table(_)) | Event::End(TagEnd::Table) => Some(event),
            Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
            other => Some(other),
        }
    });
    let events = with_ids(events.collect());
    let mut body = String::with_capacity(text.len() * 2);
    html::push_html(&mut body, events.into_iter());
    DocumentPage { title: heading(text).to_owned(), body }
}

/// Gives every heading an id, so that links can lead to it, by the rule that code hosts use: lower case, spaces as
/// dashes, no other punctuation.
fn with_ids(mut events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    for start in 0..events.len() {
        let words = events[start..].iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let words = words.filter_map(|event| match event {
            Event::Text(words) | Event::Code(words) => Some(words.to_lowercase()),
            _ => None,
        });
        if let Event::Start(Tag::Heading { .. }) = &events[start] {
            let slug: String = words.collect();
            let slug = slug.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
            let slug: String = slug.map(|sign| if sign == ' ' { '-' } else { sign }).collect();
            if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
                *id = Some(CowStr::from(slug));
            }
        }
    }
    events
}

/// The target of a link in a file; `None` if that file is not served.
fn target(name: &str, link: &str, is_served: &dyn Fn(&str) -> bool) -> Option<String> {
    if link.starts_with("https://") || link.starts_with("http://") || link.starts_with('#') {
        return Some(link.to_owned());
    }
    let (file, fragment) = link.split_once('#').map_or((link, None), |(file, fragment)| (file, Some(fragment)));
    let mut parts: Vec<&str> = name.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let path = path.strip_suffix(".md")?;
    let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    is_served(path).then(|| format!("/docs/{}{fragment}", address(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_or_nowhere() {
        let is_served = |name: &str| ["concepts/late", "concepts/README", "errors/conflict"].contains(&name);
        for (link, leads_to) in [
            ("late.md", Some("/docs/concepts/late")),
            ("./late.md#grace", Some("/docs/concepts/late#grace")),
            ("README.md", Some("/docs/concepts")),
            ("../errors/conflict.md", Some("/docs/errors/conflict")),
            ("../../crates/engine/src/lib.rs", None),
            ("../adr/0001.md", None),
            ("https://example.com/a.md", Some("https://example.com/a.md")),
            ("javascript:alert(1)", None),
        ] {
            assert_eq!(target("concepts/interest", link, &is_served).as_deref(), leads_to, "{link}");
        }
    }

    #[test]
    fn a_page_has_tables_and_no_raw_html() {
        let text = "# `a_code`\n\n| a | b |\n|---|---|\n| 1 | [x](gone.md) |\n\n<script>1</script>\n";
        let page = page("errors/a_code", text, &|_| false);
        assert_eq!(page.title, "a_code");
        assert!(page.body.contains("<h1 id=\"a_code\">"), "{}", page.body);
        assert!(page.body.contains("<td>x</td>"), "{}", page.body);
        assert!(page.body.contains("&lt;script&gt;"), "{}", page.body);
    }
}
