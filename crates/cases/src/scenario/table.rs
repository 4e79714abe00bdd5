//! Reads tables of a file strictly, with positions.

use super::{CaseMoment, ScenarioError};
use crate::suggest::suggest;
use daybook_engine::terms::{EARLIEST, LATEST};
use daybook_engine::time::Time;
use serde_json::{Map, Number, Value};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeTable, DeValue};

/// A double holds this many decimal digits exactly.
const EXACT_DIGITS: usize = 15;

/// A file's name and text, for error positions.
#[derive(Clone, Copy)]
pub struct SourceFile<'a> {
    pub file: &'a Path,
    pub text: &'a str,
}

pub type ScenarioResult<T> = Result<T, ScenarioError>;

impl<'a> SourceFile<'a> {
    pub fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScenarioError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ScenarioError {
            file: self.file.to_owned(),
            line: self.line(&span),
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }

    pub fn line(&self, span: &Range<usize>) -> usize {
        self.text.get(..span.start).unwrap_or(self.text).matches('\n').count() + 1
    }

    fn wrong(&self, name: &str, expected: &str, value: &Spanned<DeValue<'_>>) -> ScenarioError {
        self.error(value.span(), format!("{name} must be {expected}, not {}", described(value.get_ref())))
    }

    pub fn table<'t, 'i>(&self, name: &str, value: &'t Spanned<DeValue<'i>>) -> ScenarioResult<Table<'t, 'i, 'a>> {
        let fields = value.get_ref().as_table().ok_or_else(|| self.wrong(name, "a table", value))?;
        Ok(Table { source: *self, name: name.to_owned(), fields, span: value.span(), known: Vec::new() })
    }

    /// Each table of a list, `[[name]]` in the file.
    pub fn tables<'t, 'i>(
        &self,
        name: &str,
        value: Option<&'t Spanned<DeValue<'i>>>,
    ) -> ScenarioResult<Vec<Table<'t, 'i, 'a>>> {
        let Some(value) = value else { return Ok(Vec::new()) };
        let list = value.get_ref().as_array();
        let list = list.ok_or_else(|| self.wrong(name, &format!("a list of tables, each headed [[{name}]]"), value))?;
        list.iter().map(|value| self.table(name, value)).collect()
    }

    pub fn text(&self, name: &str, value: &Spanned<DeValue<'_>>) -> ScenarioResult<String> {
        value.get_ref().as_str().map(str::to_owned).ok_or_else(|| self.wrong(name, "text", value))
    }

    pub fn count(&self, name: &str, value: &Spanned<DeValue<'_>>) -> ScenarioResult<u64> {
        let number = value.get_ref().as_integer().and_then(whole).and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| self.wrong(name, "a whole number, 0 or more", value))
    }

    pub fn moment(&self, name: &str, value: &Spanned<DeValue<'_>>) -> ScenarioResult<CaseMoment> {
        let text = match value.get_ref() {
            DeValue::Datetime(datetime) => datetime.to_string(),
            DeValue::String(text) => text.to_string(),
            _ => String::new(),
        };
        let expected = "a time with an offset, such as \"2025-01-15T00:00:00-05:00\"";
        let time = Time::parse(&text).ok_or_else(|| self.wrong(name, expected, value))?;
        let year = text.get(..4).and_then(|year| year.parse::<i32>().ok()).unwrap_or_default();
        let (first, last) = (EARLIEST.ymd().0, LATEST.ymd().0);
        if !(first..=last).contains(&year) {
            return Err(self.wrong(name, &format!("a time in the years {first} to {last}"), value));
        }
        Ok(CaseMoment { text, time })
    }

    /// A value as JSON for the API.
    pub fn json(&self, name: &str, value: &Spanned<DeValue<'_>>) -> ScenarioResult<Value> {
        Ok(match value.get_ref() {
            DeValue::String(text) => Value::from(text.as_ref()),
            DeValue::Boolean(value) => Value::from(*value),
            DeValue::Datetime(datetime) => Value::from(datetime.to_string()),
            DeValue::Integer(number) => {
                Value::from(whole(number).ok_or_else(|| self.wrong(name, "a smaller number", value))?)
            }
            DeValue::Float(number) => {
                let expected = "a number with at most 15 digits";
                Value::Number(decimal(number).ok_or_else(|| self.wrong(name, expected, value))?)
            }
            DeValue::Array(values) => {
                Value::Array(values.iter().map(|value| self.json(name, value)).collect::<ScenarioResult<_>>()?)
            }
            DeValue::Table(fields) => self.json_fields(name, fields)?,
        })
    }

    fn json_fields(&self, name: &str, fields: &DeTable<'_>) -> ScenarioResult<Value> {
        let field = |(key, value): (&Spanned<_>, &Spanned<_>)| {
            let key: &std::borrow::Cow<'_, str> = key.get_ref();
            Ok((key.to_string(), self.json(&format!("{name}.{key}"), value)?))
        };
        Ok(Value::Object(fields.iter().map(field).collect::<ScenarioResult<Map<_, _>>>()?))
    }
}

fn described(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(datetime) => datetime.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn whole(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// `12.0` stays `12.0`: a double keeps a number with few enough digits exactly.
fn decimal(number: &DeFloat<'_>) -> Option<Number> {
    let mantissa = number.as_str().split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.chars().filter(char::is_ascii_digit).count();
    if digits > EXACT_DIGITS {
        return None;
    }
    Number::from_f64(number.as_str().parse().ok()?)
}

/// A table whose keys are taken by name; a key that is never taken is an error.
pub struct Table<'t, 'i, 'a> {
    pub source: SourceFile<'a>,
    pub name: String,
    pub fields: &'t DeTable<'i>,
    span: Range<usize>,
    known: Vec<&'static str>,
}

impl<'t, 'i, 'a> Table<'t, 'i, 'a> {
    /// A whole file.
    pub fn root(source: SourceFile<'a>, fields: &'t DeTable<'i>) -> Table<'t, 'i, 'a> {
        Table { source, name: "the file".to_owned(), fields, span: 0..0, known: Vec::new() }
    }

    /// The line it begins at.
    pub fn line(&self) -> usize {
        self.source.line(&self.span)
    }

    /// Takes an optional key.
    pub fn take(&mut self, key: &'static str) -> Option<&'t Spanned<DeValue<'i>>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.fields.get(key)
    }

    /// Takes a required key.
    pub fn need(&mut self, key: &'static str) -> ScenarioResult<&'t Spanned<DeValue<'i>>> {
        self.take(key).ok_or_else(|| self.lacks(key))
    }

    /// The error for a missing key, or for a misspelt one.
    fn lacks(&self, key: &str) -> ScenarioError {
        let is_meant =
            |(given, _): &(&Spanned<std::borrow::Cow<'_, str>>, _)| suggest(given.get_ref(), [key]).is_some();
        match self.rest().into_iter().find(is_meant) {
            Some((given, _)) => self.source.error(
                given.span(),
                format!("{} must have {key}; is {} a misspelling of it?", self.name, given.get_ref()),
            ),
            None => self.error(format!("{} must have {key}", self.name)),
        }
    }

    /// The keys not taken yet, with their values, in the order of the file.
    pub fn rest(&self) -> Vec<(&'t Spanned<std::borrow::Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
        let unknown = |key: &str| !self.known.contains(&key);
        let mut rest: Vec<_> = self.fields.iter().filter(|(key, _)| unknown(key.get_ref())).collect();
        rest.sort_by_key(|(key, _)| key.span().start);
        rest
    }

    /// Refuses keys that were not taken.
    pub fn done(&self) -> ScenarioResult<()> {
        match self.rest().first() {
            None => Ok(()),
            Some((key, _)) => Err(self.unknown(key, &self.known)),
        }
    }

    /// The error for an unknown key.
    pub fn unknown(&self, key: &Spanned<std::borrow::Cow<'_, str>>, known: &[&str]) -> ScenarioError {
        let near = suggest(key.get_ref(), known.iter().copied());
        let near = near.map_or(String::new(), |near| format!(" (did you mean {near}?)"));
        let message = format!("unknown key {} in {}{near}; known keys: {}", key.get_ref(), self.name, known.join(", "));
        self.source.error(key.span(), message)
    }

    pub fn error(&self, message: String) -> ScenarioError {
        self.source.error(self.span.clone(), message)
    }
}
