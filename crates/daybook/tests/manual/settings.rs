//! The page about settings lists every setting with its default, and no other; likewise the flags for one start.

use crate::page::folder;
use clap::CommandFactory;
use daybook::cli::Cli;
use daybook::config::definitions::DEFINITIONS;
use std::collections::BTreeSet;

/// The cells of the table rows under a heading.
fn rows_under(heading: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(folder().join("configuring.md")).expect("the page is there");
    let part = text.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no heading {heading}"));
    let part = part.split("\n## ").next().unwrap_or_default();
    let rows = part.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

#[test]
fn every_setting_is_on_the_page_and_nothing_else() {
    let rows = rows_under("Every setting");
    let on_page: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    let known: Vec<&str> = DEFINITIONS.iter().map(|definition| definition.name).collect();
    assert_eq!(on_page, known, "the page and the program name the same settings, in the same order");
    for (definition, row) in DEFINITIONS.iter().zip(&rows) {
        let [name, default, meaning] = row.as_slice() else { panic!("{row:?} has not three cells") };
        match definition.default {
            Some(value) => assert_eq!(*default, code(value), "the default of {name}"),
            None => assert!(!default.is_empty(), "{name} has no default: the page says what holds then"),
        }
        assert_eq!(meaning.ends_with("no flag"), !definition.has_flag, "{name}: {meaning}");
    }
}

#[test]
fn every_flag_for_one_start_is_on_the_page_and_nothing_else() {
    let on_page: BTreeSet<String> = rows_under("Flags for one start").into_iter().map(|row| row[0].clone()).collect();
    let cli = Cli::command();
    let serve = cli.find_subcommand("serve").expect("there is such a command");
    let flags = serve.get_arguments().filter_map(|argument| argument.get_long());
    let is_setting = |flag: &&str| DEFINITIONS.iter().any(|definition| definition.name == *flag);
    let known = flags.filter(|flag| !is_setting(flag) && *flag != "help").map(|flag| code(&format!("--{flag}")));
    assert_eq!(on_page, known.collect());
}
