//! Lists: paging, complete lists for CSV downloads, and links that keep the filter.

use crate::form::FormValues;
use crate::page::PageError;
use daybook_service::form::fields;
use daybook_service::paging::{LONGEST_PAGE, Paging};
use daybook_service::problem::Problem;
use daybook_service::view;
use futures_util::future::BoxFuture;
use serde::Serialize;

/// The most rows of a CSV download.
pub const MOST_ROWS: usize = 10_000;
/// The rows of a page.
const ROWS: &str = "50";
const AFTER: &str = "starting_after";
const BEFORE: &str = "ending_before";

/// A path with a query string, without empty parameters.
pub fn link(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
    match query.finish() {
        none if none.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// The requested page.
pub fn paging(asked: &FormValues) -> Result<Paging, Problem> {
    let mark = |name| Some(asked.get(name)).filter(|mark| !mark.is_empty());
    Paging::read(Some(ROWS), mark(AFTER), mark(BEFORE))
}

/// Links to the previous and the next page; empty where there is none.
#[derive(Debug, Default)]
pub struct Pager {
    /// The previous page.
    pub earlier: String,
    /// The next page.
    pub later: String,
}

impl Pager {
    /// The links of a page.
    pub fn new(path: &str, kept: &[(&str, &str)], asked: &FormValues, marks: &view::Paging) -> Pager {
        let backwards = asked.has(BEFORE);
        let to = |exists: bool, name: &str, mark: &Option<String>| match mark {
            Some(mark) if exists => link(path, &[kept, &[(name, mark.as_str())]].concat()),
            _ => String::new(),
        };
        Pager {
            earlier: to(asked.has(AFTER) || (backwards && marks.has_more), BEFORE, &marks.ending_before),
            later: to(backwards || marks.has_more, AFTER, &marks.starting_after),
        }
    }
}

/// Fetches all entries of a list, up to [`MOST_ROWS`].
pub async fn all<'a, T>(
    ask: impl Fn(Paging) -> BoxFuture<'a, Result<view::Page<T>, Problem>>,
) -> Result<Vec<T>, PageError> {
    let longest = LONGEST_PAGE.to_string();
    let mut rows: Vec<T> = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let view::Page { results, paging } = ask(Paging::read(Some(&longest), after.as_deref(), None)?).await?;
        rows.extend(results);
        after = paging.next().filter(|_| rows.len() < MOST_ROWS);
        if after.is_none() {
            rows.truncate(MOST_ROWS);
            return Ok(rows);
        }
    }
}

/// Parses lines of `name: value` as the `external_fields` of a call. A name or value in double quotes is read as a JSON
/// string, so a name can contain a colon, and a value can contain line breaks or surrounding blanks.
pub fn external_fields(text: &str) -> Result<Vec<ExternalField>, &'static str> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let pair = |line: &str| {
        let quoted = quoted_name(line);
        let (key, value) = match &quoted {
            Some((key, rest)) => (key.as_str(), *rest),
            None => line.split_once(':').ok_or("must have a name, a colon and a value on each line")?,
        };
        let value = value.trim();
        let value = serde_json::from_str::<String>(value).unwrap_or_else(|_| value.to_owned());
        // A quoted name keeps its blanks.
        let key = if quoted.is_some() { key } else { key.trim() };
        Ok(ExternalField { key: key.to_owned(), value })
    };
    lines.map(pair).collect()
}

/// The quoted name at the beginning of a line, if there is one, and the text after its colon.
fn quoted_name(line: &str) -> Option<(String, &str)> {
    let mut strings = serde_json::Deserializer::from_str(line).into_iter::<String>();
    let name = strings.next()?.ok()?;
    let rest = line.get(strings.byte_offset()..)?.trim_start().strip_prefix(':')?;
    Some((name, rest))
}

/// An external field as it is typed: a name and a value stored by the lender. The service checks both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExternalField {
    /// The name.
    pub key: String,
    /// The value.
    pub value: String,
}

impl From<&fields::ExternalField> for ExternalField {
    fn from(field: &fields::ExternalField) -> ExternalField {
        ExternalField { key: field.key.as_str().to_owned(), value: field.value.as_str().to_owned() }
    }
}

/// Writes external fields in the format that [`external_fields`] parses.
pub fn typed_fields(fields: &[ExternalField]) -> String {
    let written = |text: &str, is_plain: bool| {
        let is_plain = is_plain && text.trim() == text && !text.starts_with('"') && !text.contains(char::is_control);
        if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
    };
    let line = |field: &ExternalField| {
        let key = written(&field.key, !field.key.is_empty() && !field.key.contains(':'));
        format!("{key}: {}", written(&field.value, true))
    };
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Replaces a list element with its form field in error details: `order[2]` becomes `order`.
pub fn without_places(mut problem: Problem) -> Problem {
    for detail in &mut problem.details {
        if let Some((field, place)) = detail.field.clone().split_once('[') {
            detail.message = match place.split_once(']') {
                // The form has one field for it.
                Some((_, ".account_id" | ".customer_id")) => detail.message.clone(),
                Some((place, rest)) => {
                    let nth = place.parse::<usize>().map_or_else(|_| place.to_owned(), |place| (place + 1).to_string());
                    format!("(number {nth}{}) {}", rest.replace('.', ", "), detail.message)
                }
                None => detail.message.clone(),
            };
            detail.field = field.to_owned();
        }
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_keep_what_was_asked_for_and_lead_both_ways() {
        assert_eq!(link("/a", &[("q", ""), ("status", "")]), "/a");
        assert_eq!(link("/a", &[("q", "O'Hara & Co"), ("status", "")]), "/a?q=O%27Hara+%26+Co");
        let marks = view::Paging { starting_after: Some("z".into()), ending_before: Some("a".into()), has_more: true };
        let pager = |asked: &[u8]| {
            let pager = Pager::new("/a", &[("q", "x")], &FormValues::read(asked), &marks);
            (pager.earlier, pager.later)
        };
        let (earlier, later) = ("/a?q=x&ending_before=a".to_owned(), "/a?q=x&starting_after=z".to_owned());
        assert_eq!(pager(b""), (String::new(), later.clone()));
        assert_eq!(pager(b"starting_after=m"), (earlier.clone(), later.clone()));
        assert_eq!(pager(b"ending_before=m"), (earlier, later));
    }

    #[test]
    fn fields_of_ones_own_are_typed_line_by_line() {
        let field = |key: &str, value: &str| ExternalField { key: key.to_owned(), value: value.to_owned() };
        let fields = external_fields("ref: A:1\r\n\n note :  x \n").expect("two lines");
        assert_eq!(fields, [field("ref", "A:1"), field("note", "x")]);
        let fields = external_fields(r#"said: "well" he said"#).expect("a line");
        assert_eq!(fields, [field("said", r#""well" he said"#)], "what is no string of JSON is taken as it is");
        assert!(external_fields("no colon").is_err() && external_fields(r#""no colon""#).is_err());
    }

    #[test]
    fn fields_that_are_shown_and_sent_back_are_what_they_were() {
        let odd = ["a:b", "two\nlines", "a\rb", " blanks ", "\"quoted\"", "\"", "", "\\", "plain", "tab\t", "\u{a0}x"];
        for key in odd {
            for value in odd {
                let field = ExternalField { key: key.to_owned(), value: value.to_owned() };
                let shown = typed_fields(&[field.clone(), field.clone()]);
                // Browsers send other line breaks, and the form trims the text.
                let sent = shown.replace('\n', "\r\n");
                assert_eq!(external_fields(sent.trim()), Ok(vec![field.clone(), field]), "{shown}");
            }
        }
        assert_eq!(typed_fields(&[ExternalField { key: "crm".into(), value: "a: b".into() }]), "crm: a: b");
    }

    #[test]
    fn a_place_in_a_list_is_told_at_the_field() {
        let problem = without_places(Problem::invalid("external_fields[1].key", "is too long"));
        assert_eq!(problem.details[0].field, "external_fields");
        assert_eq!(problem.details[0].message, "(number 2, key) is too long");
    }
}
