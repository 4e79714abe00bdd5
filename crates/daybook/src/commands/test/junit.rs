//! The report as JUnit XML for CI systems. A case is a `testcase`, and its file is the class.

use super::report::{Report, details};
use std::fmt::Write;

/// The whole document.
pub fn junit(report: &Report) -> String {
    let failed = report.bad() - report.broken.len();
    let all = report.outcomes.len() + report.broken.len();
    let counts = format!(
        "tests=\"{all}\" failures=\"{failed}\" errors=\"{}\" skipped=\"{}\"",
        report.broken.len(),
        report.skipped()
    );
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(xml, "<testsuites name=\"daybook test\" {counts}>");
    let _ = writeln!(xml, "  <testsuite name=\"{}\" {counts}>", escaped(&report.ran_on));
    for outcome in &report.outcomes {
        let file = escaped(&outcome.file.to_string_lossy());
        let head = format!("    <testcase classname=\"{file}\" file=\"{file}\" name=\"{}\"", escaped(&outcome.title));
        let inside = match (&outcome.skipped, outcome.passed) {
            (Some(why), _) => format!("      <skipped message=\"{}\"/>\n", escaped(why)),
            (None, true) => String::new(),
            (None, false) => {
                let first = outcome.differences.first().map(ToString::to_string).unwrap_or_default();
                let text = details(outcome);
                format!("      <failure message=\"{}\">{}</failure>\n", escaped(&first), escaped(text.trim_end()))
            }
        };
        let notes = outcome.notes.join("\n");
        let notes = match notes.as_str() {
            "" => String::new(),
            notes => format!("      <system-out>{}</system-out>\n", escaped(notes)),
        };
        let _ = match (inside + &notes).as_str() {
            "" => writeln!(xml, "{head}/>"),
            inside => writeln!(xml, "{head}>\n{inside}    </testcase>"),
        };
    }
    for error in &report.broken {
        let file = escaped(&error.file.to_string_lossy());
        let message = escaped(&error.to_string());
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{file}\" file=\"{file}\" name=\"is a test case\">\n      <error \
             message=\"{message}\"/>\n    </testcase>"
        );
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// Escapes text for XML, in attributes and between tags.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            // XML cannot represent these characters.
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            plain => out.push(plain),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_the_document() {
        assert_eq!(escaped("a <b> & \"c\"\n\u{0}'é"), "a &lt;b&gt; &amp; &quot;c&quot;&#10;\u{fffd}'é");
    }
}
