//! TOML as people write it: one line per value, small tables inline.

use serde_json::{Map, Value};
use std::fmt::Write;

/// Fields that are written first.
const FIRST: &[&str] = &[
    "product_id",
    "account_id",
    "payment",
    "fee",
    "line_item_id",
    "product_overview",
    "product_name",
    "effective_at",
    "original_amount_cents",
    "initial_principal_cents",
    "notification_type",
    "post_promo_len",
];

/// Text written line by line.
#[derive(Debug, Default)]
pub(super) struct Text(String);

impl Text {
    /// A comment of one or more lines.
    pub fn comment(&mut self, text: &str) {
        for line in text.lines() {
            // A comment must not have control characters.
            let line: String = line.chars().filter(|character| !character.is_control()).collect();
            self.line(&format!("# {line}"));
        }
    }

    /// The header of a table, after an empty line.
    pub fn head(&mut self, head: &str) {
        self.line("");
        self.line(head);
    }

    /// A line `key = value`; no line for null.
    pub fn field(&mut self, key: &str, value: &Value) {
        if !value.is_null() {
            self.line(&format!("{key} = {}", inline(value)));
        }
    }

    /// The fields of a body. A group that contains groups gets one line for each inner group.
    pub fn body(&mut self, body: &Value) {
        for (name, value) in body.as_object().into_iter().flat_map(in_order) {
            match value {
                Value::Object(fields) if fields.values().any(Value::is_object) => {
                    for (inner, value) in in_order(fields) {
                        self.field(&format!("{}.{}", key(name), key(inner)), value);
                    }
                }
                value => self.field(&key(name), value),
            }
        }
    }

    pub fn finish(self) -> String {
        self.0
    }

    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }
}

/// Fields in the order in which people write them: ids first, then names, times and amounts, then the rest.
fn in_order(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> = fields.iter().filter(|(_, value)| !value.is_null()).collect();
    fields.sort_by_key(|(name, _)| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    fields
}

/// A key, quoted if necessary.
pub(super) fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_bare { name.to_owned() } else { quoted(name) }
}

/// A value on one line.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(values) => format!("[{}]", values.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => table(fields),
    }
}

fn table(fields: &Map<String, Value>) -> String {
    let fields: Vec<String> =
        in_order(fields).into_iter().map(|(name, value)| format!("{} = {}", key(name), inline(value))).collect();
    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04X}", control as u32);
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let value = json!({
            "plain": "a \"b\" \\ c\nd\u{7f}\u{85} é", "number": -5, "rate": 6.2, "whole": 12.0, "yes": true,
            "list": [1, { "odd key.": "x" }], "group": { "inner": { "deep": 1 }, "other": 2 }, "empty": {},
        });
        let mut text = Text::default();
        text.comment("two\nlines");
        text.body(&value);
        let text = text.finish();
        assert!(text.starts_with("# two\n# lines\n"), "{text}");
        let read: Value = ::toml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(read, value);
        let mut text = Text::default();
        text.field("gone", &Value::Null);
        assert_eq!(text.finish(), "");
        assert_eq!(inline(&json!({ "a": null, "b": 1 })), "{ b = 1 }");
    }
}
