//! Reads a file with fields of a call: JSON, or TOML with the same names.

use crate::commands::Failure;
use serde_json::{Map, Value};
use std::path::Path;

/// The fields in a file. A file that begins with `{` is JSON.
pub fn read(path: &Path) -> Result<Value, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(&text).map_err(|error| failed(&format!("is not JSON: {error}")));
    }
    let table: toml::Table = toml::from_str(&text).map_err(|error| failed(&format!("is not TOML: {error}")))?;
    Ok(object(table))
}

fn object(table: toml::Table) -> Value {
    Value::Object(table.into_iter().map(|(name, value)| (name, json(value))).collect::<Map<_, _>>())
}

/// Dates and times become texts, as in JSON.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(flag) => Value::from(flag),
        toml::Value::Datetime(time) => Value::from(time.to_string()),
        toml::Value::Array(values) => values.into_iter().map(json).collect(),
        toml::Value::Table(table) => object(table),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn toml_and_json_give_the_same_fields() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = |text: &str| {
            let path = folder.path().join("change");
            std::fs::write(&path, text).expect("a file");
            super::read(&path)
        };
        let fields = json!({ "kind": "skip", "from_due_date": "2026-05-15", "count": 2, "more": [{ "rate": 4.5 }] });
        let toml = "kind = \"skip\"\nfrom_due_date = 2026-05-15\ncount = 2\n[[more]]\nrate = 4.5\n";
        assert_eq!(read(toml).expect("TOML"), fields);
        assert_eq!(read(&fields.to_string()).expect("JSON"), fields);
        assert!(read("{").expect_err("neither").to_string().contains("is not JSON"));
        assert!(read("kind: skip").expect_err("neither").to_string().contains("is not TOML"));
    }
}
