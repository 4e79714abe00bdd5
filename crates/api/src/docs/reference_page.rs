//! The API reference as a page: operations by tag, each with its parameters, body, responses and a `curl` line.
//!
//! It is generated from the OpenAPI document as JSON, not from the code, so it always matches the document.
//!
//! ```text
//! the document ─► Reader ─► ReferencePage ─► TagSection ─► OperationArticle ─┬─► ParameterRow
//!                                                                            ├─► ResponseEntry ─┬─► FieldTable
//!                                                                            └─► ContentBody ───┘
//! ```

use askama::Template;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// How many levels of a body's fields are shown.
const DEEPEST: usize = 5;

/// The API reference.
#[derive(Template)]
#[template(path = "reference.html")]
pub struct ReferencePage<'a> {
    title: &'static str,
    /// The name of the API.
    api: &'a str,
    description: &'a str,
    sections: Vec<TagSection<'a>>,
}

/// The operations with a tag.
struct TagSection<'a> {
    name: &'a str,
    /// The id of its heading.
    anchor: String,
    description: &'a str,
    operations: Vec<OperationArticle<'a>>,
}

struct OperationArticle<'a> {
    id: &'a str,
    method: &'static str,
    path: &'a str,
    summary: &'a str,
    description: &'a str,
    parameters: Vec<ParameterRow<'a>>,
    bodies: Vec<ContentBody<'a>>,
    successes: Vec<ResponseEntry<'a>>,
    errors: Vec<ResponseEntry<'a>>,
    /// A call of the operation with `curl`.
    example: String,
}

struct ParameterRow<'a> {
    name: &'a str,
    /// Where the request has it: in its path, query or headers.
    place: &'a str,
    is_required: bool,
    description: &'a str,
    rules: ValueRules<'a>,
}

/// A body of a request or response.
struct ContentBody<'a> {
    content_type: &'a str,
    fields: FieldTable<'a>,
}

struct ResponseEntry<'a> {
    status: &'a str,
    description: &'a str,
    bodies: Vec<ContentBody<'a>>,
}

/// The fields of a schema.
struct FieldTable<'a> {
    rows: Vec<FieldRow<'a>>,
    /// The rules of a schema without fields.
    rules: ValueRules<'a>,
}

struct FieldRow<'a> {
    /// Its name, after the names of the fields around it.
    path: String,
    is_required: bool,
    description: &'a str,
    rules: ValueRules<'a>,
}

/// The rules for a value.
#[derive(Debug, PartialEq, Eq)]
struct ValueRules<'a> {
    /// The words that it may be.
    choices: Vec<&'a str>,
    /// The other rules.
    words: Vec<String>,
}

impl ValueRules<'_> {
    fn is_empty(&self) -> bool {
        self.choices.is_empty() && self.words.is_empty()
    }
}

impl<'a> ReferencePage<'a> {
    /// The page of an OpenAPI document.
    pub fn new(document: &'a Value) -> ReferencePage<'a> {
        let info = &document["info"];
        ReferencePage {
            title: "API reference",
            api: text(&info["title"]),
            description: text(&info["description"]),
            sections: list(&document["tags"]).iter().map(|tag| Reader { document }.section(tag)).collect(),
        }
    }
}

/// Reads the parts of the page from the document.
struct Reader<'a> {
    document: &'a Value,
}

impl<'a> Reader<'a> {
    fn section(&self, tag: &'a Value) -> TagSection<'a> {
        let name = text(&tag["name"]);
        let methods = ["get", "post", "put", "patch", "delete"];
        let mut operations = Vec::new();
        for (path, item) in object(&self.document["paths"]) {
            for method in methods {
                let Some(operation) = item.get(method) else { continue };
                if list(&operation["tags"]).iter().any(|given| given == name) {
                    operations.push(self.operation(path, method, operation));
                }
            }
        }
        let anchor = format!("tag-{}", name.to_lowercase().replace(' ', "-"));
        TagSection { name, anchor, description: text(&tag["description"]), operations }
    }

    fn operation(&self, path: &'a str, method: &'static str, operation: &'a Value) -> OperationArticle<'a> {
        let responses =
            object(&operation["responses"]).iter().map(|(status, response)| self.response(status, response));
        let (successes, errors) = responses.partition(|response| response.status.starts_with('2'));
        OperationArticle {
            id: text(&operation["operationId"]),
            method,
            path,
            summary: text(&operation["summary"]),
            description: text(&operation["description"]),
            parameters: list(&operation["parameters"]).iter().map(|parameter| self.parameter(parameter)).collect(),
            bodies: self.bodies(&operation["requestBody"]),
            successes,
            errors,
            example: curl(path, method, operation),
        }
    }

    fn parameter(&self, parameter: &'a Value) -> ParameterRow<'a> {
        ParameterRow {
            name: text(&parameter["name"]),
            place: text(&parameter["in"]),
            is_required: parameter["required"] == true,
            description: text(&parameter["description"]),
            rules: self.rules(&parameter["schema"]),
        }
    }

    fn response(&self, status: &'a str, response: &'a Value) -> ResponseEntry<'a> {
        let response = self.resolve(response);
        ResponseEntry { status, description: text(&response["description"]), bodies: self.bodies(response) }
    }

    /// The bodies of a request or response, one for each content type.
    fn bodies(&self, message: &'a Value) -> Vec<ContentBody<'a>> {
        let bodies = object(&message["content"]).iter();
        bodies.map(|(kind, body)| ContentBody { content_type: kind, fields: self.fields(&body["schema"]) }).collect()
    }

    fn fields(&self, schema: &'a Value) -> FieldTable<'a> {
        let mut rows = Vec::new();
        self.add_rows(&mut rows, schema, "", 0);
        FieldTable { rows, rules: self.rules(schema) }
    }

    /// Adds one row for each field of a schema, and after it the rows of its own fields.
    fn add_rows(&self, rows: &mut Vec<FieldRow<'a>>, schema: &'a Value, prefix: &str, depth: usize) {
        let schema = self.resolve(schema);
        if depth >= DEEPEST {
            return;
        }
        for (name, field) in object(&schema["properties"]) {
            let path = format!("{prefix}{name}");
            let inner = self.resolve(field);
            let own = text(&field["description"]);
            rows.push(FieldRow {
                path: path.clone(),
                is_required: list(&schema["required"]).iter().any(|given| given == name),
                description: if own.is_empty() { text(&inner["description"]) } else { own },
                rules: self.rules(field),
            });
            if inner["items"].is_object() {
                self.add_rows(rows, &inner["items"], &format!("{path}[]."), depth + 1);
            } else {
                self.add_rows(rows, inner, &format!("{path}."), depth + 1);
            }
        }
    }

    fn rules(&self, schema: &'a Value) -> ValueRules<'a> {
        let schema = self.resolve(schema);
        let choices: Vec<&str> = list(&schema["enum"]).iter().map(text).collect();
        let mut words: Vec<String> = Vec::new();
        let kinds = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().map(text).collect::<Vec<_>>().join(" or "),
            kind => text(kind).to_owned(),
        };
        if choices.is_empty() && !kinds.is_empty() {
            words.push(kinds);
        }
        for (name, before) in [
            ("format", ""),
            ("minimum", "at least "),
            ("maximum", "at most "),
            ("maxItems", "at most "),
            ("maxLength", "length at most "),
        ] {
            match &schema[name] {
                Value::String(value) => words.push(format!("{before}{value}")),
                Value::Number(value) => words.push(format!("{before}{value}")),
                _ => {}
            }
        }
        ValueRules { choices, words }
    }

    /// The schema that a reference leads to; of alternatives, the one that is not null.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let found = self.document.pointer(reference.trim_start_matches('#'));
            return found.map_or(&Value::Null, |found| self.resolve(found));
        }
        let alternatives = list(&schema["oneOf"]).iter().chain(list(&schema["allOf"]));
        let mut real = alternatives.filter(|one| one["type"] != "null");
        real.next().map_or(schema, |one| self.resolve(one))
    }
}

fn curl(path: &str, method: &str, operation: &Value) -> String {
    let mut path = path.to_owned();
    for parameter in list(&operation["parameters"]).iter().filter(|one| one["in"] == "path") {
        let name = text(&parameter["name"]);
        path = path.replace(&format!("{{{name}}}"), &format!("${}", name.to_uppercase()));
    }
    let mut line = format!("curl -X {} \"$BASE_URL{path}\"", method.to_uppercase());
    if operation["security"].is_null() {
        line.push_str(" \\\n  -H \"Authorization: Bearer $TOKEN\"");
    }
    for (kind, content) in object(&operation["requestBody"]["content"]) {
        let example = &content["example"];
        let body = example.as_str().map_or_else(|| example.to_string(), |text| text.trim_end().to_owned());
        let _ = write!(line, " \\\n  -H 'Content-Type: {kind}' \\\n  --data-binary '{body}'");
    }
    line
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn object(value: &Value) -> &Map<String, Value> {
    static NONE: std::sync::OnceLock<Map<String, Value>> = std::sync::OnceLock::new();
    value.as_object().unwrap_or_else(|| NONE.get_or_init(Map::new))
}

/// The parts of a path or name between which a line may break.
fn breakable(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let parts = letters.chunk_by(|before, after| !matches!(before, '.' | '_') && *after != '/');
    parts.map(String::from_iter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(document: &Value) -> String {
        ReferencePage::new(document).render().expect("the page can be rendered")
    }

    #[test]
    fn the_reference_shows_every_operation_with_its_fields() {
        let document = serde_json::to_value(crate::openapi()).expect("a document is JSON");
        let page = rendered(&document);
        for (path, item) in object(&document["paths"]) {
            for operation in object(item).values() {
                let id = text(&operation["operationId"]);
                assert!(page.contains(&format!("<article id=\"{id}\">")), "{path} {id} is not shown");
            }
        }
        assert!(page.contains("summary.<wbr>initial_<wbr>principal_<wbr>cents"));
        assert!(page.contains("<code>BUCKET_FIRST</code>"));
    }

    #[test]
    fn text_is_escaped_and_backticks_are_code() {
        let page = rendered(&json!({"info": {"description": "a `<b>` c\n\nd & \"e\""}}));
        assert!(page.contains("<p>a <code>&#60;b&#62;</code> c</p><p>d &#38; &#34;e&#34;</p>"), "{page}");
    }

    #[test]
    fn a_line_may_break_between_the_parts_of_a_name() {
        assert_eq!(breakable("/accounts/{account_id}"), ["/accounts", "/{account_", "id}"]);
        assert_eq!(breakable("summary.cents"), ["summary.", "cents"]);
    }

    #[test]
    fn references_and_alternatives_are_followed() {
        let document = json!({"components": {"schemas": {"A": {"type": "integer"}}}});
        let schema = json!({"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/A"}]});
        let rules = Reader { document: &document }.rules(&schema);
        assert_eq!(rules, ValueRules { choices: Vec::new(), words: vec!["integer".to_owned()] });
    }

    #[test]
    fn rules_are_shown_with_their_choices_first() {
        let schema = json!({"enum": ["A", "B"], "maxLength": 3, "minimum": 1});
        let parameter = json!({"name": "n", "in": "query", "required": true, "schema": schema});
        let operation = json!({"tags": ["T"], "operationId": "o", "parameters": [parameter]});
        let page = rendered(&json!({"tags": [{"name": "T"}], "paths": {"/o": {"get": operation}}}));
        let rules = "<small><code>A</code>, <code>B</code>; at least 1; length at most 3</small>";
        let row = format!("<tr><td><code>n</code> <em>required</em></td><td>query</td><td> {rules}</td></tr>");
        assert!(page.contains(&row), "{page}");
    }
}
