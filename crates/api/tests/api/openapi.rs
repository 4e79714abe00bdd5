//! The committed document matches the handlers.

use daybook_operations::Operation;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The document, as it is now.
pub fn document() -> Value {
    serde_json::to_value(daybook_api::openapi()).expect("a document is JSON")
}

/// Every operation: path, method, description.
pub fn operations() -> Vec<(String, String, Value)> {
    let document = document();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().expect("a document has paths") {
        for (method, operation) in item.as_object().expect("a path has operations") {
            found.push((path.clone(), method.to_uppercase(), operation.clone()));
        }
    }
    found
}

#[test]
fn the_committed_document_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi.json");
    let now = serde_json::to_string_pretty(&document()).expect("a document is JSON") + "\n";
    if std::env::var_os("DAYBOOK_BLESS").is_some() {
        std::fs::write(&file, &now).expect("the file can be written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == now,
        "openapi.json is out of date: run this test with DAYBOOK_BLESS=1 and look at the difference"
    );
}

#[test]
fn the_table_of_operations_is_the_document() {
    let row = |method: &str, path: &str, id: &str, is_open: bool| format!("{method} {path} {id} open: {is_open}");
    let described = operations().into_iter().map(|(path, method, operation)| {
        row(&method, &path, operation["operationId"].as_str().unwrap_or_default(), operation["security"].is_array())
    });
    let table = Operation::ALL
        .iter()
        .map(|operation| row(operation.method(), operation.path(), operation.id(), operation.right().is_none()));
    assert_eq!(table.collect::<BTreeSet<_>>(), described.collect::<BTreeSet<_>>());
}

#[test]
fn the_table_of_operations_names_the_forms() {
    for (path, method, described) in operations() {
        let (operation, _) = Operation::find(&method, &path).expect("the operation is in the table");
        let schema = &described["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(schema.is_object(), operation.form().is_some(), "{operation}");
        // A form that is written out in its place has no name.
        if let Some(name) = schema["$ref"].as_str() {
            assert_eq!(name.strip_prefix("#/components/schemas/"), operation.form(), "{operation}");
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn check(value: &Value, document: &Value) {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference} leads nowhere");
        }
        match value {
            Value::Object(fields) => fields.values().for_each(|value| check(value, document)),
            Value::Array(values) => values.iter().for_each(|value| check(value, document)),
            _ => {}
        }
    }
    let document = document();
    check(&document, &document);
}

#[test]
fn every_operation_says_what_it_is() {
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations() {
        let place = format!("{method} {path}");
        let text = |name: &str| operation[name].as_str().unwrap_or_default().to_owned();
        assert!(ids.insert(text("operationId")), "{place} shares its operation id");
        assert!(!text("summary").is_empty(), "{place} has no summary");
        assert_eq!(operation["tags"].as_array().map(Vec::len), Some(1), "{place} needs one tag");
        let says = |status: &str| operation["responses"][status]["content"].is_object();
        assert!(says("200") || says("201"), "{place} says no answer");
        let no_parameters = Vec::new();
        for parameter in operation["parameters"].as_array().unwrap_or(&no_parameters) {
            let schema = &parameter["schema"];
            let limited =
                ["pattern", "format", "enum", "maximum", "maxLength"].iter().any(|rule| !schema[*rule].is_null());
            assert!(limited || schema.to_string().contains("boolean"), "{place}: {parameter} has no limits");
            assert!(parameter["description"].as_str().is_some(), "{place}: {parameter} is not described");
        }
        let content = &operation["requestBody"]["content"];
        if let Some((_, body)) = content.as_object().and_then(|content| content.iter().next()) {
            assert!(!body["example"].is_null(), "{place} has no example");
        }
    }
    assert!(ids.len() >= 51, "{ids:?}");
    for left_out in ["statement", "charge"] {
        assert!(!document()["paths"].as_object().expect("paths").keys().any(|path| path.contains(left_out)));
    }
}

#[test]
fn refusals_share_one_schema() {
    let document = document();
    for (name, response) in document["components"]["responses"].as_object().expect("there are shared responses") {
        assert_eq!(response["content"]["application/json"]["schema"]["$ref"], "#/components/schemas/Error", "{name}");
    }
    let error = &document["components"]["schemas"]["Error"];
    assert_eq!(error["required"], serde_json::json!(["error"]));
}
