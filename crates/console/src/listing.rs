//! Lists: a page at a time for eyes, all of it for a table to take away; and links that keep what was asked for.

use crate::form::Typed;
use crate::page::{Trouble, read};
use bytes::Bytes;
use daybook_service::paging::{LONGEST_PAGE, Paging};
use daybook_service::problem::Problem;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The most rows of a table to take away.
pub const MOST_ROWS: usize = 10_000;
/// How many rows a page shows.
const ROWS: &str = "50";
const AFTER: &str = "starting_after";
const BEFORE: &str = "ending_before";

/// A path with a query; what is empty is left out.
pub fn link(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
    match query.finish() {
        none if none.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// Which page was asked for.
pub fn paging(asked: &Typed) -> Result<Paging, Problem> {
    let mark = |name| Some(asked.get(name)).filter(|mark| !mark.is_empty());
    Paging::read(Some(ROWS), mark(AFTER), mark(BEFORE))
}

/// A page of a list.
#[derive(Debug, Deserialize)]
pub struct Listed<T> {
    /// Its entries.
    pub results: Vec<T>,
    /// Where it lies.
    pub paging: Marks,
}

/// Where a page lies in its list.
#[derive(Debug, Default, Deserialize)]
pub struct Marks {
    starting_after: Option<String>,
    ending_before: Option<String>,
    has_more: bool,
}

impl Marks {
    /// Where the next page begins, for a list that is read one way; nothing after the last.
    pub fn next(self) -> Option<String> {
        self.starting_after.filter(|_| self.has_more)
    }
}

/// The links to the pages before and after; empty where there is none.
#[derive(Debug, Default)]
pub struct Pager {
    /// The page before.
    pub earlier: String,
    /// The page after.
    pub later: String,
}

impl Pager {
    /// The links beside a page of a list.
    pub fn new(path: &str, kept: &[(&str, &str)], asked: &Typed, marks: &Marks) -> Pager {
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

/// All entries of a list, up to [`MOST_ROWS`].
pub async fn all<'a, T: DeserializeOwned>(
    ask: impl Fn(Paging) -> BoxFuture<'a, Result<Bytes, Problem>>,
) -> Result<Vec<T>, Trouble> {
    let longest = LONGEST_PAGE.to_string();
    let mut rows: Vec<T> = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let answer = ask(Paging::read(Some(&longest), after.as_deref(), None)?).await?;
        let Listed { results, paging } = read::<Listed<T>>(&answer)?;
        rows.extend(results);
        after = paging.next().filter(|_| rows.len() < MOST_ROWS);
        if after.is_none() {
            rows.truncate(MOST_ROWS);
            return Ok(rows);
        }
    }
}

/// What was typed as `name: value`, a line each, as the `external_fields` of a call.
pub fn external_fields(text: &str) -> Result<Vec<serde_json::Value>, &'static str> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let pair = |line: &str| {
        let (key, value) = line.split_once(':').ok_or("must have a name, a colon and a value on each line")?;
        Ok(serde_json::json!({"key": key.trim(), "value": value.trim()}))
    };
    lines.map(pair).collect()
}

/// A name and a value that somebody keeps with a thing.
#[derive(Clone, Debug, Deserialize)]
pub struct ExternalField {
    /// The name.
    pub key: String,
    /// The value.
    pub value: String,
}

/// The same, as they are typed.
pub fn typed_fields(fields: &[ExternalField]) -> String {
    fields.iter().map(|field| format!("{}: {}", field.key, field.value)).collect::<Vec<_>>().join("\n")
}

/// Names the field of a form for a place inside a list: `order[2]` is a part of `order`.
pub fn without_places(mut problem: Problem) -> Problem {
    for detail in &mut problem.details {
        if let Some((field, place)) = detail.field.clone().split_once('[') {
            detail.message = match place.split_once(']') {
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
        let marks = Marks { starting_after: Some("z".into()), ending_before: Some("a".into()), has_more: true };
        let pager = |asked: &[u8]| {
            let pager = Pager::new("/a", &[("q", "x")], &Typed::read(asked), &marks);
            (pager.earlier, pager.later)
        };
        let (earlier, later) = ("/a?q=x&ending_before=a".to_owned(), "/a?q=x&starting_after=z".to_owned());
        assert_eq!(pager(b""), (String::new(), later.clone()));
        assert_eq!(pager(b"starting_after=m"), (earlier.clone(), later.clone()));
        assert_eq!(pager(b"ending_before=m"), (earlier, later));
    }

    #[test]
    fn fields_of_ones_own_are_typed_line_by_line() {
        let fields = external_fields("ref: A:1\n\n note :  x \n").expect("two lines");
        assert_eq!(
            fields,
            [serde_json::json!({"key": "ref", "value": "A:1"}), serde_json::json!({"key": "note", "value": "x"})]
        );
        assert!(external_fields("no colon").is_err());
    }

    #[test]
    fn a_place_in_a_list_is_told_at_the_field() {
        let problem = without_places(Problem::invalid("external_fields[1].key", "is too long"));
        assert_eq!(problem.details[0].field, "external_fields");
        assert_eq!(problem.details[0].message, "(number 2, key) is too long");
    }
}
