//! Paths of the API are written in the table of operations only.
//!
//! The rule looks for the beginnings of the table's paths, up to the first id, and for what follows an id, in the string
//! literals of the product's code. It leaves out tests, and the attributes that describe a handler, which have examples.

use super::rust_text::string_literals;
use super::{assert_none, project_files, root};
use daybook_operations::Operation;
use std::fs;

/// The table, and helpers for tests.
const LEFT_OUT: [&str; 2] = ["crates/operations/", "crates/testkit/"];

/// The part of a file before its tests.
fn without_tests(source: &str) -> &str {
    source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(source)
}

/// The ranges of the attributes that describe handlers.
fn descriptions(source: &str) -> Vec<std::ops::Range<usize>> {
    let starts = source.match_indices("#[utoipa::path(").map(|(start, _)| start);
    starts.map(|start| start..source[start..].find(")]\n").map_or(source.len(), |end| start + end)).collect()
}

/// Whether `text` has `part`, and it is not the end of a longer path or the beginning of a longer word.
fn has_path(text: &str, part: &str) -> bool {
    text.match_indices(part).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + part.len()..].chars().next();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        !before.is_some_and(|c| is_word(c) || c == '.') && (part.ends_with('/') || !after.is_some_and(is_word))
    })
}

/// The path of an operation that a literal begins or continues.
fn path_in(literal: &str) -> Option<&'static str> {
    Operation::ALL.iter().map(|operation| operation.path()).find(|path| {
        let mut parts = path.split('{');
        let beginning = parts.next().unwrap_or(path);
        // One word alone may mean anything; `line_items/` is a path.
        let rest = parts.next().and_then(|part| part.split_once("}/")).map_or("", |(_, rest)| rest);
        has_path(literal, beginning) || (rest.contains('/') && has_path(literal, rest))
    })
}

fn offences(source: &str) -> Vec<String> {
    let source = without_tests(source);
    let described = descriptions(source);
    let literals = string_literals(source).into_iter();
    let literals = literals.filter(|(place, _)| !described.iter().any(|range| range.contains(place)));
    let found = literals.filter_map(|(place, text)| Some((place, path_in(&text)?)));
    let line = |place: usize| source[..place].lines().count();
    found.map(|(place, path)| format!("line {}: take `{path}` from the table of operations", line(place))).collect()
}

#[test]
fn a_path_of_the_api_is_refused() {
    for literal in [
        "/accounts",
        "/accounts/{account}/line_items",
        "{url}/products",
        "GET /products/PRODUCT/migration_mode lists them",
        "curl \\\n    {url}/bulk",
        "line_items/payments/payment_record",
        "{account}/line_items/{item}",
        "/healthz",
    ] {
        assert_eq!(offences(&format!("fn f() {{\n    g(\"{literal}\");\n}}")).len(), 1, "{literal}");
    }
    let offence = "line 2: take `/products` from the table of operations";
    assert_eq!(offences("fn f() {\n    g(r#\"{\"path\":\"/products\"}\"#);\n}"), [offence]);
}

#[test]
fn other_paths_tests_and_descriptions_are_allowed() {
    for source in [
        "get(\"/console/accounts/{id}\");",
        "get(\"/docs/errors\"); post(\"/admin/control\");",
        "/// `GET /accounts` lists them.\nf(\"line_items\", \"accounts\", \"notification_config\"); // \"/bulk\"",
        "f();\n#[cfg(test)]\nmod tests {\n    const A: &str = \"/accounts\";\n}",
        "#[utoipa::path(post, path = P,\n    request_body(example = \"POST /accounts\"))]\npub async fn f() {}",
        "f(\"/productsale\", \"https://example.com/accounts\");",
    ] {
        assert_eq!(offences(source), [""; 0], "{source}");
    }
}

#[test]
fn no_path_of_the_api_is_outside_the_table() {
    let mut all = Vec::new();
    for file in project_files() {
        let name = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        let is_product = name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs");
        if !is_product || name.ends_with("/tests.rs") || LEFT_OUT.iter().any(|folder| name.starts_with(folder)) {
            continue;
        }
        let source = fs::read_to_string(&file).expect("a source file is readable UTF-8");
        all.extend(offences(&source).into_iter().map(|offence| format!("{name}: {offence}")));
    }
    assert_none(&all);
}
