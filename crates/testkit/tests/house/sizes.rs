//! How long a file and a function may be.
//!
//! The code is formatted, so a function ends at the first closing brace that stands alone at the indentation of its
//! `fn` line. A function on one line and a declaration without a body end at their last line.

use super::rust_text::code_only;
use super::{assert_none, project_files, root};
use std::fs;

/// The most lines that a Rust file may have.
const MOST_FILE_LINES: usize = 500;
/// The most lines that a function may have, from its `fn` line to its closing brace.
const MOST_FUNCTION_LINES: usize = 70;

/// Why a file is refused; `None` if it is short enough.
fn long_file(source: &str) -> Option<String> {
    let lines = source.lines().count();
    (lines > MOST_FILE_LINES).then(|| format!("{lines} lines; a file may have {MOST_FILE_LINES}"))
}

/// The functions of a file that are too long.
fn long_functions(source: &str) -> Vec<String> {
    let code = code_only(source);
    let lines: Vec<&str> = code.lines().map(str::trim_end).collect();
    let mut offences = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let number = start + 1;
        match last_line(&lines[start..]) {
            Some(last) if last < MOST_FUNCTION_LINES => {}
            Some(last) => {
                let length = last + 1;
                offences.push(format!(
                    "line {number}: `{name}` has {length} lines; a function may have {MOST_FUNCTION_LINES}"
                ));
            }
            None => offences.push(format!("line {number}: the end of `{name}` was not found; is the file formatted?")),
        }
    }
    offences
}

/// The name of the function that begins on this line.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(public) = rest.strip_prefix("pub") {
        rest = match public.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => public,
        };
        rest = rest.strip_prefix(' ')?;
    }
    // `code_only` leaves spaces in place of the name of a foreign interface.
    while let Some(after) = ["const ", "async ", "unsafe ", "extern "].iter().find_map(|word| rest.strip_prefix(word)) {
        rest = after.trim_start();
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(['(', '<']).next()
}

/// The index of a function's last line; the first line is its `fn` line. `None` if it does not end.
fn last_line(lines: &[&str]) -> Option<usize> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let own = indentation(lines.first()?);
    let mut in_body = false;
    for (index, line) in lines.iter().enumerate() {
        let is_at_margin = indentation(line) == own;
        if in_body {
            // The brace of a function that a macro repeats is followed by the end of the repetition.
            if is_at_margin && matches!(line.trim_start(), "}" | "})*") {
                return Some(index);
            }
        } else if line.ends_with(';') || (is_at_margin && line.ends_with('}')) {
            return Some(index);
        } else {
            in_body = is_at_margin && line.ends_with('{');
        }
    }
    None
}

/// A function whose body has this many lines.
#[cfg(test)]
fn function_of(signature: &str, body: usize) -> String {
    format!("{signature} {{\n{}}}\n", "    step();\n".repeat(body))
}

#[test]
fn a_file_of_more_than_500_lines_is_refused() {
    assert_eq!(long_file(&"\n".repeat(500)), None);
    assert_eq!(long_file(&"\n".repeat(501)), Some("501 lines; a file may have 500".to_owned()));
}

#[test]
fn a_function_of_more_than_70_lines_is_refused() {
    for signature in
        ["fn f()", "pub fn f<T>(t: T)", "pub(crate) async fn f()", "const fn f() -> u8", "pub(in a::b) fn f()"]
    {
        assert_eq!(long_functions(&function_of(signature, 68)), [""; 0], "{signature}");
        let expected = ["line 1: `f` has 71 lines; a function may have 70"];
        assert_eq!(long_functions(&function_of(signature, 69)), expected, "{signature}");
    }
}

#[test]
fn a_long_signature_counts_too() {
    let signature = format!("fn f(\n{})", "    a: A,\n".repeat(10));
    assert_eq!(long_functions(&function_of(&signature, 57)), [""; 0]);
    assert_eq!(long_functions(&function_of(&signature, 58)), ["line 1: `f` has 71 lines; a function may have 70"]);
    let bounds = "fn f<T>(t: T)\nwhere\n    T: Clone,\n{\n".to_owned() + &"    step();\n".repeat(66) + "}\n";
    assert_eq!(long_functions(&bounds).len(), 1);
}

#[test]
fn a_function_ends_at_its_own_brace() {
    let inner = "    fn g() {\n        step();\n    }\n".repeat(22);
    assert_eq!(long_functions(&format!("impl A {{\n{inner}}}\n{}", "// more\n".repeat(90))), [""; 0]);
    let outer = format!("fn f() {{\n{inner}    \"\n}}\n\";\n    step();\n}}\n");
    assert_eq!(long_functions(&outer), ["line 1: `f` has 72 lines; a function may have 70"]);
}

#[test]
fn one_line_and_no_body_end_where_they_are() {
    let short = "fn f() {}\n    fn g() -> u8 { 1 }\n    fn h();\n    fn i(\n        a: A,\n    ) -> B;\nfn j<T>()\nwhere\n    T: A;\n";
    assert_eq!(long_functions(&format!("{short}{}", "// more\n".repeat(90))), [""; 0]);
}

#[test]
fn a_function_in_a_macro_ends_with_its_repetition() {
    let repeated = "    $(#[test]\n    fn $name() {\n        step();\n    })*\n";
    assert_eq!(long_functions(&format!("{repeated}{}    }}\n", "    // more\n".repeat(90))), [""; 0]);
}

#[test]
fn a_function_without_an_end_is_refused() {
    assert_eq!(long_functions("fn f() {\n    }\n"), ["line 1: the end of `f` was not found; is the file formatted?"]);
}

#[test]
fn every_file_and_function_of_this_repository_is_short_enough() {
    let crates = root().join("crates");
    let files = project_files().into_iter().filter(|file| file.starts_with(&crates));
    let mut offences = Vec::new();
    let mut functions = 0;
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
        let source = fs::read_to_string(&file).expect("a source file is readable UTF-8");
        let name = file.strip_prefix(root()).unwrap_or(&file).display();
        let found = long_file(&source).into_iter().chain(long_functions(&source));
        offences.extend(found.map(|offence| format!("{name}: {offence}")));
        functions += source.lines().filter(|line| function_name(line).is_some()).count();
    }
    assert!(functions > 1_000, "only {functions} functions were found");
    assert_none(&offences);
}
