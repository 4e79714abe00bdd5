//! The hand-written notes: a Markdown file with a section for each target, and others.
//!
//! A section whose heading is the id of a target explains a missed aim; the page shows it if the aim is missed. Other
//! sections are always shown. Text before the first section is not shown.

use super::targets::TARGETS;

/// A section of the notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// The text below it.
    pub text: String,
}

/// The sections of the file.
pub fn sections(file: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    for line in file.lines() {
        match (line.strip_prefix("## "), found.last_mut()) {
            (Some(heading), _) => found.push(Section { heading: heading.trim().to_owned(), text: String::new() }),
            (None, Some(section)) => section.text.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    for section in &mut found {
        section.text = section.text.trim().to_owned();
    }
    found
}

/// The explanation of a target.
pub fn about<'a>(sections: &'a [Section], target: &str) -> Option<&'a str> {
    sections.iter().find(|section| section.heading == target).map(|section| section.text.as_str())
}

/// The sections that are about no target.
pub fn others(sections: &[Section]) -> impl Iterator<Item = &Section> {
    sections.iter().filter(|section| TARGETS.iter().all(|target| target.id != section.heading))
}

#[cfg(test)]
mod tests {
    use super::{about, others, sections};

    #[test]
    fn a_file_has_sections_about_targets_and_others() {
        let found = sections("# Notes\n\nIgnored.\n\n## payments\n\nOne writer.\n\nA queue.\n\n## Earlier\nText.\n");
        assert_eq!(about(&found, "payments"), Some("One writer.\n\nA queue."));
        assert_eq!(about(&found, "release"), None);
        let others: Vec<_> = others(&found).map(|section| section.heading.as_str()).collect();
        assert_eq!(others, ["Earlier"]);
    }
}
