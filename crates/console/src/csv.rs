//! CSV downloads (RFC 4180).
//!
//! Spreadsheets run a cell that begins with `=`, `+`, `-` or `@` as a formula. Such a text gets a leading apostrophe,
//! which makes it plain text. Numbers that the console formats itself are written unchanged.

use crate::page::{PageError, PageResult};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use csv::{Terminator, Writer, WriterBuilder};
use daybook_service::problem::Problem;
use std::borrow::Cow;

/// A CSV file under construction. Every row has a cell for each column.
#[derive(Debug)]
pub struct Csv {
    writer: Writer<Vec<u8>>,
}

/// A cell.
#[derive(Clone, Debug)]
pub enum Cell<'a> {
    /// Text from any source.
    Text(&'a str),
    /// The same, made for this cell.
    Owned(String),
    /// A number formatted by the console: digits, a sign, a decimal point.
    Number(String),
    /// An empty cell.
    Empty,
}

impl Cell<'_> {
    fn written(&self) -> Cow<'_, str> {
        match self {
            Cell::Text(text) => guarded(text),
            Cell::Owned(text) => guarded(text),
            Cell::Number(number) => Cow::Borrowed(number),
            Cell::Empty => Cow::Borrowed(""),
        }
    }
}

impl Csv {
    /// Starts a file with a header row.
    pub fn new(columns: &[&str]) -> Result<Csv, PageError> {
        let mut builder = WriterBuilder::new();
        // Quotes are needed around an apostrophe too: some programs take it for a quotation mark.
        builder.terminator(Terminator::CRLF).comment(Some(b'\''));
        let mut csv = Csv { writer: builder.from_writer(Vec::new()) };
        csv.row(&columns.iter().map(|name| Cell::Text(name)).collect::<Vec<_>>())?;
        Ok(csv)
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), PageError> {
        self.writer.write_record(cells.iter().map(|cell| cell.written().into_owned())).map_err(unwritten)
    }

    /// The finished file, as a download with this name.
    pub fn file(self, name: &str) -> PageResult {
        let mut response = Response::new(self.bytes()?.into());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
        let safe: String = name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
        if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{safe}.csv\"")) {
            headers.insert(CONTENT_DISPOSITION, value);
        }
        Ok(response)
    }

    fn bytes(self) -> Result<Vec<u8>, PageError> {
        self.writer.into_inner().map_err(unwritten)
    }
}

fn unwritten(error: impl std::fmt::Display) -> PageError {
    PageError::new(Problem::internal(format!("a CSV file could not be written: {error}")))
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
}

/// The text, with an apostrophe before it if a spreadsheet would run it as a formula.
fn guarded(text: &str) -> Cow<'_, str> {
    let formula = text.trim_start_matches(' ').starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    if formula { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        let mut csv = Csv::new(&["name", "amount"]).expect("a header");
        csv.row(&[Cell::Text("=HYPERLINK(\"http://x\",\"a\")"), Cell::Number("-12.50".to_owned())]).expect("a row");
        csv.row(&[Cell::Text("@SUM(A1)"), Cell::Empty]).expect("a row");
        csv.row(&[Cell::Text("  +1"), Cell::Empty]).expect("a row");
        csv.row(&[Cell::Text("\t=1"), Cell::Empty]).expect("a row");
        csv.row(&[Cell::Text("Ann, \"the\" O'Hara"), Cell::Number("1".to_owned())]).expect("a row");
        let expected = "name,amount\r\n\"'=HYPERLINK(\"\"http://x\"\",\"\"a\"\")\",-12.50\r\n\"'@SUM(A1)\",\r\n\
                        \"'  +1\",\r\n\"'\t=1\",\r\n\"Ann, \"\"the\"\" O'Hara\",1\r\n";
        assert_eq!(String::from_utf8_lossy(&csv.bytes().expect("a file")), expected);
    }
}
