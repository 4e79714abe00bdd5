//! The pages of `docs/concepts`, checked against the engine.
//!
//! A page explains rules by examples. An example is a `toml` block (a product, an account, events) followed by tables
//! of the results; `docs/concepts/README.md` explains how to read them. Here each example is run, and every cell of its
//! tables is compared.
//!
//! - [`page`] finds the examples and tables of a page;
//! - [`story`] runs an example through a book;
//! - [`table`] compares the cells of a table with the results.
#![cfg(test)]

#[path = "pages/page.rs"]
mod page;
#[path = "pages/story.rs"]
mod story;
#[path = "pages/table.rs"]
mod table;

use std::fs;
use std::path::{Path, PathBuf};

/// Pages without examples: the index, and a list of decisions.
const WITHOUT_EXAMPLE: &[&str] = &["README.md", "decisions.md"];

/// All errors of a page.
fn offences(name: &str, text: &str) -> Vec<String> {
    let examples = page::examples(text);
    let mut found = Vec::new();
    if examples.is_empty() && !WITHOUT_EXAMPLE.contains(&name) {
        found.push((1, "the page has no example".to_owned()));
    }
    for example in &examples {
        if example.tables.is_empty() {
            found.push((example.line, "the example has no table in its section".to_owned()));
        }
        match story::Story::play(&example.toml) {
            Ok(story) => found.extend(example.tables.iter().flat_map(|table| table::offences(&story, table))),
            Err(error) => found.push((example.line + error.line, error.message)),
        }
    }
    found.into_iter().map(|(line, offence)| format!("docs/concepts/{name}:{line}: {offence}")).collect()
}

/// Every page, by name.
fn pages() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/concepts");
    let files =
        fs::read_dir(folder).expect("docs/concepts can be read").map(|entry| entry.expect("and its files").path());
    let pages = files.filter(|file| file.extension().is_some_and(|extension| extension == "md"));
    let mut pages: Vec<_> =
        pages.map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), file)).collect();
    pages.sort();
    pages
}

#[test]
fn every_number_of_the_pages_is_right() {
    let pages = pages();
    assert!(pages.len() > 2, "docs/concepts has pages");
    let found: Vec<String> =
        pages.iter().flat_map(|(name, file)| offences(name, &fs::read_to_string(file).unwrap())).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn the_index_names_every_page() {
    let pages = pages();
    let index = pages.iter().find(|(name, _)| name == "README.md").expect("docs/concepts has an index");
    let index = fs::read_to_string(&index.1).unwrap();
    for (name, _) in pages.iter().filter(|(name, _)| name != "README.md") {
        assert!(index.contains(&format!("]({name})")), "docs/concepts/README.md does not link to {name}");
    }
}

/// A correct page: 1 % of 1000.00 is 10.00, and 1010.00 pays it off.
const RIGHT: &str = r#"# A page
| word | meaning |
|---|---|
| a table before the example | is not checked |

```toml
until = "2025-02-15T23:59:59-05:00"
[product]
post_promotional_policies = { post_promo_len = 1, post_promo_default_interest_rate_percent = "12.0" }
[account]
effective_at = "2025-01-15T12:00:00-05:00"
summary = { initial_principal_cents = 100000 }
[[event]]
effective_at = "2025-02-15T12:00:00-05:00"
payment = { line_item_id = "p", original_amount_cents = 101000 }
```

| at | payoff | status |
|---|---|---|
| 2025-02-01 | 1,010.00 | ACTIVE |
| 2025-02-15 23:59:59 | 0.00 | CLOSED/PAID_OFF |

| item | amount | pays |
|---|---|---|
| p | -1,010.00 | 10.00 `dbk_interest_1.1` + 1,000.00 `dbk_loan` |

| row | due | total | why |
|---|---|---|---|
| 1 | 2025-02-15 | 1,010.00 | one month |

## A new section

| and a table | in it |
|---|---|
| is not | checked |
"#;

/// The single error of the page after a part of it is changed.
fn complaint(part: &str, instead: &str) -> String {
    assert!(RIGHT.contains(part), "{part} is on the page");
    let found = offences("page.md", &RIGHT.replacen(part, instead, 1));
    assert_eq!(found.len(), 1, "{found:#?}");
    found[0].clone()
}

#[test]
fn a_right_page_passes() {
    assert_eq!(offences("page.md", RIGHT), [""; 0]);
}

#[test]
fn a_wrong_number_is_found() {
    let wrong = complaint("| 1,010.00 | ACTIVE |", "| 1,010.01 | ACTIVE |");
    assert_eq!(wrong, "docs/concepts/page.md:20: payoff: expected 1010.01, got 1010.00");
    let wrong = complaint("10.00 `dbk_interest_1.1`", "11.00 `dbk_interest_1.1`");
    assert!(wrong.starts_with("docs/concepts/page.md:25: pays: expected 11.00 dbk_interest_1.1"), "{wrong}");
    let wrong = complaint("| 2025-02-15 | 1,010.00 |", "| 2025-02-16 | 1,010.00 |");
    assert_eq!(wrong, "docs/concepts/page.md:29: due: expected 2025-02-16, got 2025-02-15");
}

#[test]
fn what_is_not_understood_is_refused() {
    for (part, instead, says) in [
        ("| at | payoff |", "| at | payof |", "page.md:18: there is no column payof"),
        ("| item | amount |", "| itm | amount |", "page.md:23: a table cannot begin with the column itm"),
        ("| 1 | 2025-02-15 |", "| 2 | 2025-02-15 |", "page.md:29: there is no row 2"),
        ("| p | -1,010.00 |", "| q | -1,010.00 |", "page.md:25: there is no item q"),
        ("| 1,010.00 | ACTIVE |", "| | ACTIVE |", "page.md:20: payoff: the cell is empty"),
        ("| 2025-02-01 |", "| soon |", "page.md:20: soon is not a date or time"),
        ("\"12.0\"", "12.0", "page.md:6: 12.0 has a decimal point: write percentages as text"),
        ("post_promo_len", "post_promo_length", "page.md:6: there is no field post_promo_length"),
        ("[product]", "[product", "page.md:8: "),
        ("payment = {", "paiment = {", "page.md:6: there is no field paiment"),
        ("original_amount_cents = 101000", "original_amount_cents = 0", "page.md:6: p is refused"),
    ] {
        let found = complaint(part, instead);
        assert!(found.contains(says), "{found}\ndoes not say\n{says}");
    }
}

#[test]
fn a_page_without_examples_or_tables_is_refused() {
    assert_eq!(offences("page.md", "# Words\n"), ["docs/concepts/page.md:1: the page has no example"]);
    assert_eq!(offences("decisions.md", "# Words\n"), [""; 0]);
    let untold = RIGHT.replacen("| at | payoff", "## Next\n\n| at | payoff", 1);
    assert_eq!(offences("page.md", &untold), ["docs/concepts/page.md:6: the example has no table in its section"]);
    let empty = complaint("| 1 | 2025-02-15 | 1,010.00 | one month |\n", "");
    assert_eq!(empty, "docs/concepts/page.md:27: the table has no rows");
}
