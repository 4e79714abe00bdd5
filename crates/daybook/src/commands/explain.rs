//! `daybook explain`: prints the page of an error code in a terminal.
//!
//! The pages are those of `docs/errors`, which the server also serves under `/docs/errors`.

use super::table::table;
use super::{Failure, print, suggest};
use crate::cli::ExplainArgs;
use daybook_api::error_pages;
use std::io::{self, IsTerminal};

/// Explains a code, or lists all codes.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let Some(asked) = &args.code else { return list() };
    let code = asked.trim_matches('`');
    match error_pages().find(|(known, _)| *known == code) {
        Some((_, page)) => print(&for_terminal(page, io::stdout().is_terminal())),
        None => {
            let hint = suggest::sentence(code, error_pages().map(|(known, _)| known), "`daybook explain`");
            Err(Failure::Senseless(format!("there is no error code {code}: {hint}")))
        }
    }
}

fn list() -> Result<(), Failure> {
    let rows: Vec<[String; 2]> =
        error_pages().map(|(code, page)| [code.to_owned(), first_sentence(page).to_owned()]).collect();
    print(&table(&rows))
}

/// The first sentence of the section "What it means".
fn first_sentence(page: &str) -> &str {
    let (_, meaning) = page.split_once("## What it means\n").unwrap_or(("", page));
    let line = meaning.trim_start().lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}

/// A page of Markdown as plain text: bold headings, indented code.
fn for_terminal(page: &str, is_styled: bool) -> String {
    let mut text = String::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let heading = line.trim_start_matches('#');
        let shown = match (is_code, heading.len() < line.len()) {
            (true, _) => format!("    {line}"),
            (false, true) if is_styled => format!("\x1b[1m{}\x1b[0m", heading.trim().trim_matches('`')),
            (false, true) => heading.trim().trim_matches('`').to_owned(),
            (false, false) => without_links(line),
        };
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text
}

/// Replaces links by their text: `[a page](page.md)` becomes `a page`.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, (inside, (_, after)))) = rest.split_once('[').and_then(|(before, link)| {
        let (inside, target) = link.split_once("](")?;
        Some((before, (inside, target.split_once(')')?)))
    }) {
        text.push_str(before);
        text.push_str(inside);
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# `not_held`\n\nStatus 409.\n\n## What it means\n\nIt is no [held](x.md) event. Nothing was done.\n\n\
                        ## Example\n\n```json\n{ \"a\": [1](2) }\n```\n";

    #[test]
    fn a_page_is_plain_text() {
        let expected = "not_held\n\nStatus 409.\n\nWhat it means\n\nIt is no held event. Nothing was done.\n\nExample\n\n    \
                        { \"a\": [1](2) }\n";
        assert_eq!(for_terminal(PAGE, false), expected);
        assert!(for_terminal(PAGE, true).starts_with("\x1b[1mnot_held\x1b[0m\n"));
        assert_eq!(first_sentence(PAGE), "It is no [held](x.md) event.");
    }
}
