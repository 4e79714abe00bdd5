//! The API reference as a page: operations by tag, each with its parameters, body, responses and a `curl` line.
//!
//! It is generated from the OpenAPI document as JSON, not from the code, so it always matches the document.

use bytes::Bytes;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// How many levels of a body's fields are shown.
const DEEPEST: usize = 5;

/// Escapes text for a page.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Wraps a body in the layout of every page.
pub fn shell(title: &str, body: &str) -> Bytes {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} · Daybook</title><link rel=\"stylesheet\" href=\"/docs/style.css\"></head><body>\
         <header><a class=\"brand\" href=\"/docs\">Daybook</a><nav><a href=\"/docs\">API reference</a> \
         <a href=\"/docs/concepts\">Concepts</a> <a href=\"/docs/scenarios\">Scenarios</a> \
         <a href=\"/docs/errors\">Errors</a> \
         <a href=\"/openapi.json\">OpenAPI</a></nav></header><main>{body}</main></body></html>\n"
    )
    .into()
}

/// The reference.
pub fn reference(document: &Value) -> String {
    let page = Reference { document };
    let mut out = String::with_capacity(256 * 1024);
    let info = &document["info"];
    let _ = write!(out, "<h1>{} API</h1>", escape(text(&info["title"])));
    paragraphs(&mut out, text(&info["description"]));
    page.contents(&mut out);
    for tag in list(&document["tags"]) {
        let name = text(&tag["name"]);
        let _ = write!(out, "<section><h2 id=\"{}\">{}</h2>", anchor(name), escape(name));
        paragraphs(&mut out, text(&tag["description"]));
        for (path, method, operation) in page.operations(name) {
            page.operation(&mut out, path, method, operation);
        }
        out.push_str("</section>");
    }
    out
}

struct Reference<'a> {
    document: &'a Value,
}

impl<'a> Reference<'a> {
    /// The operations with a tag, as (path, method, operation).
    fn operations(&self, tag: &str) -> Vec<(&'a str, &'a str, &'a Value)> {
        let methods = ["get", "post", "put", "patch", "delete"];
        let mut found = Vec::new();
        for (path, item) in object(&self.document["paths"]) {
            for method in methods {
                let Some(operation) = item.get(method) else { continue };
                if list(&operation["tags"]).iter().any(|given| given == tag) {
                    found.push((path.as_str(), method, operation));
                }
            }
        }
        found
    }

    fn contents(&self, out: &mut String) {
        out.push_str("<nav class=\"contents\">");
        for tag in list(&self.document["tags"]) {
            let name = text(&tag["name"]);
            let _ = write!(out, "<h3><a href=\"#{}\">{}</a></h3><ul>", anchor(name), escape(name));
            for (path, method, operation) in self.operations(name) {
                let (id, path) = (text(&operation["operationId"]), breakable(path));
                let _ = write!(
                    out,
                    "<li><a href=\"#{id}\"><b class=\"{method}\">{method}</b> <code>{path}</code></a></li>"
                );
            }
            out.push_str("</ul>");
        }
        out.push_str("</nav>");
    }

    fn operation(&self, out: &mut String, path: &str, method: &str, operation: &Value) {
        let (id, summary) = (text(&operation["operationId"]), escape(text(&operation["summary"])));
        let shown = breakable(path);
        let _ = write!(
            out,
            "<article id=\"{id}\"><h3>{summary}</h3><p class=\"call\"><b class=\"{method}\">{method}</b> <code>{shown}</code></p>"
        );
        paragraphs(out, text(&operation["description"]));
        self.parameters(out, operation);
        self.body(out, operation);
        self.answers(out, operation);
        let _ = write!(
            out,
            "<h4>Example</h4><pre><code>{}</code></pre></article>",
            escape(&self.curl(path, method, operation))
        );
    }

    fn parameters(&self, out: &mut String, operation: &Value) {
        let parameters = list(&operation["parameters"]);
        if parameters.is_empty() {
            return;
        }
        out.push_str(
            "<h4>Parameters</h4><div class=\"wide\"><table><tr><th>name</th><th>in</th><th>description</th></tr>",
        );
        for parameter in parameters {
            let required = if parameter["required"] == true { " <em>required</em>" } else { "" };
            let _ = write!(
                out,
                "<tr><td><code>{}</code>{required}</td><td>{}</td><td>{} {}</td></tr>",
                escape(text(&parameter["name"])),
                escape(text(&parameter["in"])),
                inline(text(&parameter["description"])),
                self.rules(&parameter["schema"]),
            );
        }
        out.push_str("</table></div>");
    }

    fn body(&self, out: &mut String, operation: &Value) {
        for (kind, content) in object(&operation["requestBody"]["content"]) {
            let _ = write!(out, "<h4>Body <small>{}</small></h4>", escape(kind));
            self.table(out, &content["schema"]);
        }
    }

    fn answers(&self, out: &mut String, operation: &Value) {
        out.push_str("<h4>Responses</h4>");
        let mut refusals = String::new();
        for (status, answer) in object(&operation["responses"]) {
            let answer = self.resolve(answer);
            let about = inline(text(&answer["description"]));
            if !status.starts_with('2') {
                let _ = write!(refusals, "<li><span class=\"status\">{status}</span> {about}</li>");
                continue;
            }
            let _ = write!(out, "<details><summary><span class=\"status\">{status}</span> {about}</summary>");
            for content in object(&answer["content"]).values() {
                self.table(out, &content["schema"]);
            }
            out.push_str("</details>");
        }
        if !refusals.is_empty() {
            let _ = write!(
                out,
                "<details><summary>Errors</summary><ul>{refusals}</ul><p>All have the same shape: see <a href=\"/docs/errors\">Errors</a>.</p></details>"
            );
        }
    }

    /// The fields of a schema, one row each; nested fields are named by their path.
    fn table(&self, out: &mut String, schema: &Value) {
        let mut rows = String::new();
        self.rows(&mut rows, schema, "", 0);
        if rows.is_empty() {
            let _ = write!(out, "<p>{}</p>", self.rules(schema));
            return;
        }
        let _ =
            write!(out, "<div class=\"wide\"><table><tr><th>field</th><th>description</th></tr>{rows}</table></div>");
    }

    fn rows(&self, out: &mut String, schema: &Value, prefix: &str, depth: usize) {
        let schema = self.resolve(schema);
        if depth >= DEEPEST {
            return;
        }
        for (name, field) in object(&schema["properties"]) {
            let required = list(&schema["required"]).iter().any(|given| given == name);
            let required = if required { " <em>required</em>" } else { "" };
            let path = format!("{prefix}{name}");
            let about = text(&field["description"]);
            let about = if about.is_empty() { text(&self.resolve(field)["description"]) } else { about };
            let (shown, about, rules) = (breakable(&path), inline(about), self.rules(field));
            let _ = write!(out, "<tr><td><code>{shown}</code>{required}</td><td>{about} {rules}</td></tr>");
            let inner = self.resolve(field);
            if inner["items"].is_object() {
                self.rows(out, &inner["items"], &format!("{path}[]."), depth + 1);
            } else {
                self.rows(out, inner, &format!("{path}."), depth + 1);
            }
        }
    }

    /// The rules for a value, in a few words.
    fn rules(&self, schema: &Value) -> String {
        let schema = self.resolve(schema);
        let mut rules: Vec<String> = Vec::new();
        let kinds = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().map(text).collect::<Vec<_>>().join(" or "),
            kind => text(kind).to_owned(),
        };
        let choices: Vec<String> =
            list(&schema["enum"]).iter().map(|word| format!("<code>{}</code>", escape(text(word)))).collect();
        match choices.is_empty() {
            true => rules.extend((!kinds.is_empty()).then_some(kinds)),
            false => rules.push(choices.join(", ")),
        }
        for (name, words) in [
            ("format", ""),
            ("minimum", "at least "),
            ("maximum", "at most "),
            ("maxItems", "at most "),
            ("maxLength", "length at most "),
        ] {
            match &schema[name] {
                Value::String(value) => rules.push(format!("{words}{}", escape(value))),
                Value::Number(value) => rules.push(format!("{words}{value}")),
                _ => {}
            }
        }
        if rules.is_empty() { String::new() } else { format!("<small>{}</small>", rules.join("; ")) }
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

    fn curl(&self, path: &str, method: &str, operation: &Value) -> String {
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

fn anchor(name: &str) -> String {
    format!("tag-{}", name.to_lowercase().replace(' ', "-"))
}

/// A path or name that may be broken across lines on a narrow screen.
fn breakable(text: &str) -> String {
    escape(text).replace('/', "<wbr>/").replace('.', ".<wbr>").replace('_', "_<wbr>")
}

/// A sentence of the document: backticks become code.
fn inline(text: &str) -> String {
    let parts = escape(text);
    let parts = parts.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() }).collect()
}

fn paragraphs(out: &mut String, text: &str) {
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let _ = write!(out, "<p>{}</p>", inline(paragraph));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_reference_shows_every_operation_with_its_fields() {
        let document = serde_json::to_value(crate::openapi()).expect("a document is JSON");
        let page = reference(&document);
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
        assert_eq!(inline("a `<b>` c"), "a <code>&lt;b&gt;</code> c");
    }

    #[test]
    fn references_and_alternatives_are_followed() {
        let document = json!({"components": {"schemas": {"A": {"type": "integer"}}}});
        let page = Reference { document: &document };
        let schema = json!({"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/A"}]});
        assert_eq!(page.rules(&schema), "<small>integer</small>");
    }
}
