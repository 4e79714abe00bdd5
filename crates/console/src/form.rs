//! Forms with explained fields, and their conversion to the JSON body of a call.
//!
//! A page describes its form as a list of [`Field`]s. A field's name is the path of an API field
//! (`summary.initial_principal_cents`), so the typed values map directly to the body of the call, and an error of the
//! service is shown next to the field it names. Users type money in dollars and times in the local time of a zone; the
//! call has cents and times with an offset. Empty fields are not sent: the service applies its defaults.

use crate::display::{DisplayTime, Money, typed_moment};
use crate::field_errors::{field_error, with_labels};
use axum::body::{Body, HttpBody};
use bytes::Bytes;
use daybook_engine::zone::Zone;
use daybook_service::form::{BadForm, parse};
use daybook_service::problem::{Detail, Problem};
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;

/// The largest form, in bytes.
pub const FORM_BYTES_MAX: usize = 1024 * 1024;

/// The type of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A line of text.
    Text,
    /// Text of several lines.
    LongText,
    /// An email address.
    Email,
    /// A password. Its value is never sent back to the browser.
    Password,
    /// A new password that the user chooses.
    NewPassword,
    /// A whole number.
    Whole,
    /// A decimal number, sent as it was typed.
    Decimal,
    /// Money, typed in dollars, sent in cents.
    Dollars,
    /// A time in the form's time zone.
    Moment,
    /// A date.
    Date,
    /// One of several values, each with an explanation. If the first value is empty, it is the default.
    Choice(&'static [(&'static str, &'static str)]),
    /// A checkbox; sent only if it is checked.
    Flag,
}

/// A field of a form.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The path of the API field.
    pub name: &'static str,
    /// The label.
    pub label: &'static str,
    /// The help text, one or two sentences.
    pub help: &'static str,
    /// The type of the value.
    pub kind: FieldKind,
    /// Whether a value is required.
    pub required: bool,
    /// The placeholder: the default for an empty field, or an example.
    pub placeholder: &'static str,
}

impl Field {
    /// Creates an optional field.
    pub const fn new(name: &'static str, label: &'static str, kind: FieldKind, help: &'static str) -> Field {
        Field { name, label, help, kind, required: false, placeholder: "" }
    }

    /// Makes the field required.
    pub const fn required(self) -> Field {
        Field { required: true, ..self }
    }

    /// Sets the placeholder.
    pub const fn hint(self, placeholder: &'static str) -> Field {
        Field { placeholder, ..self }
    }
}

/// The typed values, by field name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormValues(Vec<(String, String)>);

impl FormValues {
    /// Reads a submitted form or a query string.
    pub fn read(text: &[u8]) -> FormValues {
        FormValues(
            url::form_urlencoded::parse(text).map(|(name, value)| (name.into_owned(), value.into_owned())).collect(),
        )
    }

    /// The value of a field without surrounding blanks; empty if the field is absent.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }

    /// All values of a field that has several, such as checkboxes of the same name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.trim())
    }

    /// The value of a field with its surrounding blanks.
    pub fn untrimmed(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Whether the field has a value.
    pub fn has(&self, name: &str) -> bool {
        !self.get(name).is_empty()
    }

    /// All values, encoded as a browser would send them.
    pub fn encoded(&self) -> String {
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }

    /// Sets the value of a field, for a prefilled form.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> FormValues {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value.into()));
        self
    }
}

impl<S: Send + Sync> axum::extract::FromRequest<S> for FormValues {
    type Rejection = crate::page::PageError;

    async fn from_request(request: axum::extract::Request, _: &S) -> Result<FormValues, crate::page::PageError> {
        Ok(FormValues::read(&read_body(request.into_body()).await?))
    }
}

/// Reads the body of a form. Its pieces are joined as they arrive, because many small pieces would take several times
/// the memory.
pub async fn read_body(mut body: Body) -> Result<Bytes, Problem> {
    let mut form = Vec::new();
    while let Some(frame) = poll_fn(|waker| Pin::new(&mut body).poll_frame(waker)).await {
        let frame = frame.map_err(|_| Problem::new("malformed_request", "the form is incomplete"))?;
        let Ok(piece) = frame.into_data() else { continue };
        if form.len() + piece.len() > FORM_BYTES_MAX {
            return Err(Problem::new("too_large", "the form is larger than 1 MiB"));
        }
        form.extend_from_slice(&piece);
    }
    Ok(form.into())
}

/// The query parameters of the URL.
#[derive(Clone, Debug, Default)]
pub struct QueryParameters(pub FormValues);

impl<S: Send + Sync> axum::extract::FromRequestParts<S> for QueryParameters {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut axum::http::request::Parts,
        _: &S,
    ) -> Result<QueryParameters, std::convert::Infallible> {
        Ok(QueryParameters(FormValues::read(parts.uri.query().unwrap_or_default().as_bytes())))
    }
}

/// A form as shown, with its typed values and its errors.
#[derive(Clone, Debug, Default)]
pub struct Form {
    fields: Vec<Field>,
    typed: FormValues,
    wrong: BTreeMap<String, String>,
    /// Errors that belong to no field of the form.
    pub general: Vec<String>,
}

impl Form {
    /// Creates a form with these values and no errors.
    pub fn new(fields: &[Field], typed: FormValues) -> Form {
        Form { fields: fields.to_vec(), typed, ..Form::default() }
    }

    /// Adds the errors of the service. An error that names an API field without a form field becomes a general error.
    pub fn refused(mut self, problem: &Problem) -> Form {
        for Detail { field, message } in &problem.details {
            if let Some(known) = self.fields.iter().find(|known| known.name == field) {
                let message = with_labels(message, field, self.fields.iter().map(|field| (field.name, field.label)));
                let message = if known.kind == FieldKind::Dollars { in_dollars(&message) } else { message };
                self.wrong.insert(field.clone(), message);
            } else {
                self.general.push(field_error(field, message));
            }
        }
        if problem.details.is_empty() {
            self.general.push(problem.message.clone());
        }
        self
    }

    /// All fields, ready to be shown.
    pub fn inputs(&self) -> Vec<Input<'_>> {
        self.fields.iter().map(|field| self.shown(field)).collect()
    }

    /// The fields with these names, or whose names begin with one of them and a dot.
    pub fn group(&self, names: &[&str]) -> Vec<Input<'_>> {
        let wanted = |field: &&Field| {
            names.iter().any(|name| field.name == *name || field.name.starts_with(&format!("{name}.")))
        };
        self.fields.iter().filter(wanted).map(|field| self.shown(field)).collect()
    }

    /// Whether any of these fields has an error.
    pub fn is_wrong(&self, names: &[&str]) -> bool {
        self.group(names).iter().any(|input| !input.wrong.is_empty())
    }

    /// Whether a collapsible part of the form starts expanded: one of its fields has an error, or the form was refused
    /// and one of its fields has a value.
    pub fn is_unfolded(&self, names: &[&str]) -> bool {
        self.is_wrong(names) || self.is_refused() && self.group(names).iter().any(|input| !input.value.is_empty())
    }

    /// Whether the form was refused.
    pub fn is_refused(&self) -> bool {
        !self.wrong.is_empty() || !self.general.is_empty()
    }

    /// The fields with errors, in form order.
    pub fn wrong_inputs(&self) -> Vec<Input<'_>> {
        self.inputs().into_iter().filter(|input| !input.wrong.is_empty()).collect()
    }

    /// The first line of the error summary; empty if no field has an error.
    pub fn heading(&self) -> String {
        match self.wrong.len() {
            0 => String::new(),
            1 => "Nothing was saved. Correct one field:".to_owned(),
            many => format!("Nothing was saved. Correct {many} fields:"),
        }
    }

    /// All errors, one per line.
    pub fn error_lines(&self) -> Vec<String> {
        let of = |input: Input<'_>| format!("\u{201c}{}\u{201d}: {}", input.field.label, input.wrong);
        self.general.iter().cloned().chain(self.wrong_inputs().into_iter().map(of)).collect()
    }

    /// The typed values.
    pub fn typed(&self) -> &FormValues {
        &self.typed
    }

    fn shown<'a>(&'a self, field: &'a Field) -> Input<'a> {
        Input { field, value: self.typed.get(field.name), wrong: self.wrong.get(field.name).map_or("", String::as_str) }
    }
}

/// A field with its value and its error.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The field.
    pub field: &'a Field,
    /// The typed value.
    pub value: &'a str,
    /// The error message; empty if there is none.
    pub wrong: &'a str,
}

impl Input<'_> {
    /// The value of the `id` attribute.
    pub fn id(&self) -> String {
        format!("f-{}", self.field.name.replace(['.', '[', ']'], "-"))
    }

    /// The name of the field type in the template.
    pub fn kind(&self) -> &'static str {
        match self.field.kind {
            FieldKind::Text => "text",
            FieldKind::LongText => "long",
            FieldKind::Email => "email",
            FieldKind::Password => "password",
            FieldKind::NewPassword => "new-password",
            FieldKind::Whole => "whole",
            FieldKind::Decimal => "decimal",
            FieldKind::Dollars => "dollars",
            FieldKind::Moment => "moment",
            FieldKind::Date => "date",
            FieldKind::Choice(_) => "choice",
            FieldKind::Flag => "flag",
        }
    }

    /// Whether a checkbox is checked.
    pub fn is_ticked(&self) -> bool {
        ticked(self.value) == Some(true)
    }

    /// The values of a choice.
    pub fn choices(&self) -> &'static [(&'static str, &'static str)] {
        match self.field.kind {
            FieldKind::Choice(choices) => choices,
            _ => &[],
        }
    }
}

/// Rewrites an error about cents for a field in dollars: `must be a whole number of cents from 1 to 500` becomes more
/// than $0.00 and at most $5.00.
fn in_dollars(rule: &str) -> String {
    let range = rule.strip_prefix("must be a whole number of cents from ").and_then(|range| range.split_once(" to "));
    let Some((least, (most, rest))) = range.map(|(least, rest)| (least, split_number(rest))) else {
        return rule.to_owned();
    };
    match (least.parse::<i64>(), most.parse::<i64>()) {
        (Ok(1), Ok(most)) => format!("must be more than $0.00 and at most {}{rest}", Money(most)),
        (Ok(least), Ok(most)) => format!("must be at least {} and at most {}{rest}", Money(least), Money(most)),
        _ => rule.to_owned(),
    }
}

/// Splits a text after its leading digits.
fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// Builds the body of a call from the typed values.
pub fn body(fields: &[Field], typed: &FormValues, zone: &Zone) -> Result<Value, Problem> {
    let (body, wrong) = values(fields, typed, zone);
    if wrong.is_empty() { Ok(body) } else { Err(Problem::invalid_fields(wrong)) }
}

/// Builds the request body from the typed fields. Returns an error for every invalid field, not just the first.
pub fn checked_body<T: DeserializeOwned>(fields: &[Field], typed: &FormValues, zone: &Zone) -> Result<Value, Problem> {
    let (body, mut wrong) = values(fields, typed, zone);
    let mut rest = body.clone();
    // Parsing stops at the first invalid field, so it is repeated without that field.
    while let Err(BadForm::Invalid { field, message }) = parse::<T>(rest.to_string().as_bytes()) {
        let is_typed = fields.iter().any(|known| known.name == field) && typed.has(&field);
        if !is_typed || wrong.iter().any(|known| known.field == field) || !take(&mut rest, &field) {
            break;
        }
        wrong.push(Detail { field, message });
    }
    if wrong.is_empty() { Ok(body) } else { Err(Problem::invalid_fields(wrong)) }
}

/// Removes a field from a body, by its path. Returns false if the field is absent.
fn take(body: &mut Value, path: &str) -> bool {
    let (parents, name) = path.rsplit_once('.').map_or(("", path), |(parents, name)| (parents, name));
    let mut at = body;
    for parent in parents.split('.').filter(|parent| !parent.is_empty()) {
        let Some(inner) = at.get_mut(parent) else { return false };
        at = inner;
    }
    at.as_object_mut().is_some_and(|fields| fields.remove(name).is_some())
}

/// The typed values as a body, and an error for each value that cannot be converted.
fn values(fields: &[Field], typed: &FormValues, zone: &Zone) -> (Value, Vec<Detail>) {
    let mut body = Value::Object(Map::new());
    let mut wrong = Vec::new();
    for field in fields {
        let text = typed.get(field.name);
        if text.is_empty() {
            if field.required {
                wrong.push(Detail { field: field.name.to_owned(), message: "is required".to_owned() });
            }
            continue;
        }
        match value(field.kind, text, zone) {
            Ok(value) => put(&mut body, field.name, value),
            Err(message) => wrong.push(Detail { field: field.name.to_owned(), message: message.to_owned() }),
        }
    }
    (body, wrong)
}

/// The error message for an amount in another format.
const HOW_DOLLARS: &str =
    "must be an amount in dollars, such as 1,234.56, with a point before the cents and commas only between thousands";

fn value(kind: FieldKind, text: &str, zone: &Zone) -> Result<Value, &'static str> {
    match kind {
        FieldKind::Text
        | FieldKind::LongText
        | FieldKind::Email
        | FieldKind::Password
        | FieldKind::NewPassword
        | FieldKind::Date
        | FieldKind::Choice(_) => Ok(Value::from(text)),
        FieldKind::Whole => text.parse::<i64>().map(Value::from).map_err(|_| "must be a whole number, such as 36"),
        FieldKind::Decimal => {
            let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-');
            let number = serde_json::from_str::<Number>(text).ok().filter(|_| plain);
            number.map(Value::Number).ok_or("must be a number, such as 6.25")
        }
        FieldKind::Dollars => Money::typed(text).map(|money| Value::from(money.0)).ok_or(HOW_DOLLARS),
        FieldKind::Moment => {
            let time =
                typed_moment(text, zone).ok_or("must be a date, or a date and a time, such as 2025-02-15 09:00")?;
            Ok(Value::from(DisplayTime::new(time, zone).0))
        }
        FieldKind::Flag => ticked(text).map(Value::from).ok_or("must be true or false"),
    }
}

/// Reads the value of a checkbox. Browsers send `on` for a checked box without a value.
fn ticked(text: &str) -> Option<bool> {
    match text {
        "true" | "on" => Some(true),
        "false" | "off" => Some(false),
        _ => None,
    }
}

/// Sets the value at a path and creates the objects on the way.
pub fn put(body: &mut Value, path: &str, value: Value) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let Value::Object(fields) = body else { return };
    match rest {
        None => {
            fields.insert(first.to_owned(), value);
        }
        Some(rest) => put(fields.entry(first).or_insert_with(|| Value::Object(Map::new())), rest, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        Field::new("name", "Name", FieldKind::Text, "").required(),
        Field::new("summary.amount_cents", "Amount", FieldKind::Dollars, ""),
        Field::new("rate", "Rate", FieldKind::Decimal, ""),
        Field::new("at", "At", FieldKind::Moment, ""),
        Field::new("holds", "Holds", FieldKind::Flag, ""),
    ];

    #[test]
    fn rules_about_cents_are_told_in_dollars() {
        let told = |rule: &str| {
            let problem = Problem::invalid("summary.amount_cents", rule);
            Form::new(FIELDS, FormValues::default()).refused(&problem).group(&["summary"])[0].wrong.to_owned()
        };
        let rule = "must be a whole number of cents from 1 to 10000000000000";
        assert_eq!(told(rule), "must be more than $0.00 and at most $100,000,000,000.00");
        let rule = "must be a whole number of cents from 0 to 10000000000000";
        assert_eq!(told(rule), "must be at least $0.00 and at most $100,000,000,000.00");
        assert_eq!(told("must not be so"), "must not be so");
    }

    #[test]
    fn a_flag_says_yes_or_no() {
        let sent = |text: &str| body(&FIELDS[4..], &FormValues::default().with("holds", text), &zone());
        for (text, value) in [("true", true), ("on", true), ("false", false)] {
            assert_eq!(sent(text).expect("a flag")["holds"], value, "{text}");
        }
        assert!(sent("banana").is_err());
        assert_eq!(sent("").expect("nothing"), Value::Object(Map::new()));
    }

    fn zone() -> Zone {
        Zone::named("America/New_York").expect("a zone")
    }

    #[test]
    fn what_is_typed_becomes_the_body_of_a_call() {
        let typed = FormValues::read(
            b"name=Ann+%26+Co&summary.amount_cents=1%2C200.50&rate=6.20&at=2025-02-15T09%3A00&holds=on&other=1",
        );
        let body = body(FIELDS, &typed, &zone()).expect("all is right");
        let text = r#"{"at":"2025-02-15T09:00:00-05:00","holds":true,"name":"Ann & Co","rate":6.20,"summary":{"amount_cents":120050}}"#;
        assert_eq!(
            serde_json::to_string(&body).expect("JSON").replace("6.2}", "6.20}"),
            text.replace("6.20", &body["rate"].to_string())
        );
        assert_eq!(body["rate"].to_string().parse::<Number>().ok(), "6.2".parse().ok());
    }

    #[test]
    fn what_is_wrong_is_told_beside_its_field() {
        let typed = FormValues::read(b"summary.amount_cents=lots&rate=1e5&at=soon");
        let problem = body(FIELDS, &typed, &zone()).expect_err("four fields are wrong");
        let named: Vec<&str> = problem.details.iter().map(|detail| detail.field.as_str()).collect();
        assert_eq!(named, ["name", "summary.amount_cents", "rate", "at"]);
        let form = Form::new(FIELDS, typed).refused(&problem);
        assert!(form.general.is_empty());
        assert_eq!(form.group(&["name"])[0].wrong, "is required");
        let elsewhere = Problem::invalid("effective_at", "must not lie in the future");
        let form = Form::new(FIELDS, FormValues::default()).refused(&elsewhere);
        assert_eq!(form.general, ["effective_at: must not lie in the future"]);
    }
}
