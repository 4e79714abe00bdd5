//! The contents of source files and documents.

use super::{assert_none, project_files, root};
use std::fs;
use std::path::Path;

/// Marks of unfinished work. Written in two halves, so that this file does not contain them.
const UNFINISHED: &[&str] = &[concat!("to", "do!("), concat!("unimpl", "emented!("), concat!("FIX", "ME")];

/// Words that are forbidden in the engine.
const NOT_IN_THE_ENGINE: &[&str] = &["f32", "f64", "SystemTime", "Instant::now"];

/// Modules of `std` that reach outside the process, or start threads.
const OUTSIDE_WORLD: &[&str] = &["env", "fs", "net", "process", "thread"];

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `text` has `word` with no letter, digit or underscore on either side.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word_char) && !after.is_some_and(is_word_char)
    })
}

/// The part of `text` up to the closing brace of the current group.
fn up_to_closing_brace(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    &text[..end.unwrap_or(text.len())]
}

fn unfinished(source: &str) -> Vec<String> {
    let found = UNFINISHED.iter().filter(|mark| source.contains(**mark));
    found.map(|mark| format!("`{mark}` is unfinished work")).collect()
}

/// Code blocks in doc comments that rustdoc would run as tests: `./check` runs no documentation tests, since there are
/// none.
fn documentation_tests(source: &str) -> Vec<String> {
    let comments = source.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    });
    // Every other fence opens a block.
    let fences = comments.filter_map(|comment| comment.trim_start().strip_prefix("```"));
    let opened =
        fences.step_by(2).filter(|language| matches!(language.trim(), "" | "rust" | "should_panic" | "no_run"));
    opened.map(|_| "a code block in a comment would be a test that is not run: name its language".to_owned()).collect()
}

/// Offences in a source file of the engine. Comment lines are ignored.
fn not_engine_like(source: &str) -> Vec<String> {
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let mut found: Vec<String> =
        NOT_IN_THE_ENGINE.iter().filter(|word| has_word(&code, word)).map(ToString::to_string).collect();
    let groups: Vec<&str> = code.split("std::{").skip(1).map(up_to_closing_brace).collect();
    for module in OUTSIDE_WORLD {
        let path = format!("std::{module}");
        if has_word(&code, &path) || groups.iter().any(|group| has_word(group, module)) {
            found.push(path);
        }
    }
    found.into_iter().map(|word| format!("`{word}` does not belong in the engine")).collect()
}

/// The targets of a document's links, inline or by definition, leaving out code.
fn link_targets(markdown: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut in_fence = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            in_fence = !in_fence;
        } else if !in_fence {
            // Every other piece between backticks is code.
            let prose: String = line.split('`').step_by(2).collect();
            let inline = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            let definition = prose.starts_with('[').then(|| prose.split_once("]: ")).flatten();
            let all = inline.chain(definition.map(|(_, target)| target));
            targets.extend(all.filter_map(|target| target.split_whitespace().next()).map(str::to_owned));
        }
    }
    targets
}

/// Links to files that do not exist. `exists` gets paths relative to the document.
fn dead_links(markdown: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let elsewhere = |target: &str| target.contains("://") || target.starts_with("mailto:");
    let mut offences = Vec::new();
    for target in link_targets(markdown) {
        let file = target.split('#').next().unwrap_or_default();
        if !elsewhere(&target) && !file.is_empty() && (file.starts_with('/') || !exists(file)) {
            offences.push(format!("the target of the link `{target}` does not exist"));
        }
    }
    offences
}

fn offences_in(file: &Path) -> Vec<String> {
    let extension = file.extension().unwrap_or_default();
    if extension != "rs" && extension != "md" {
        return Vec::new();
    }
    let text = fs::read_to_string(file).expect("a source file or document is readable UTF-8");
    let mut offences = Vec::new();
    if extension == "rs" {
        offences.extend(unfinished(&text));
        offences.extend(documentation_tests(&text));
        if file.starts_with(root().join("crates/engine/src")) {
            offences.extend(not_engine_like(&text));
        }
    } else {
        let folder = file.parent().expect("a file is in a folder");
        offences.extend(dead_links(&text, |target| folder.join(target).exists()));
    }
    offences
}

#[test]
fn unfinished_work_is_refused() {
    for mark in UNFINISHED {
        assert_eq!(unfinished(&format!("fn f() {{ {mark} }}")).len(), 1);
    }
    assert_eq!(unfinished("fn f() { let todo = 1; }"), [""; 0]);
}

#[test]
fn documentation_tests_are_refused() {
    let refused =
        ["/// ```\n/// f();\n/// ```\n", "    //! ```rust\n    //! f();\n    //! ```", "/// ```no_run\n/// ```"];
    for source in refused {
        assert_eq!(documentation_tests(source).len(), 1, "{source}");
    }
    assert_eq!(documentation_tests("/// ```text\n/// a ─► b\n/// ```\nlet fence = \"```\";"), [""; 0]);
}

#[test]
fn the_outside_world_is_refused_in_the_engine() {
    let refused = [
        "let rate: f64 = 0.1;",
        "use std::time::SystemTime;",
        "let t = Instant::now();",
        "use std::fs;",
        "use std::net::TcpStream;",
        "std::env::var(name)",
        "use std::{\n    collections::{BTreeMap, BTreeSet},\n    thread,\n};",
        "use std::{fs::File, mem};",
    ];
    for source in refused {
        assert_eq!(not_engine_like(source).len(), 1, "{source}");
    }
}

#[test]
fn words_that_only_look_alike_are_allowed_in_the_engine() {
    let allowed = ["let buf64 = 1;", "/// No f64 here.", "use std::{mem, fmt}; let env = 1;", "use std::netting;"];
    for source in allowed {
        assert_eq!(not_engine_like(source), [""; 0], "{source}");
    }
}

#[test]
fn links_to_missing_files_are_refused() {
    let document = "See [a](here.md), [b](gone.md#part \"title\") and [c](/rooted.md).\n[d]: lost.md\n";
    let offences = dead_links(document, |target| target == "here.md");
    assert_eq!(offences.len(), 3, "{offences:?}");
}

#[test]
fn code_anchors_and_other_sites_are_not_files() {
    let document = "`[a](x.md)` [b](#part) [c](https://example.com)\n```\n[d](y.md)\n```\n";
    assert_eq!(dead_links(document, |_| false), [""; 0]);
}

#[test]
fn this_repository_is_tidy() {
    let files = project_files();
    assert!(files.contains(&root().join("crates/testkit/tests/house.rs")), "this very file is not listed");
    let mut offences = Vec::new();
    for file in &files {
        let name = file.strip_prefix(root()).unwrap_or(file).display();
        offences.extend(offences_in(file).into_iter().map(|offence| format!("{name}: {offence}")));
    }
    assert_none(&offences);
}
