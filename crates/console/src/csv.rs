//! CSV downloads (RFC 4180).
//!
//! Spreadsheets run a cell that begins with `=`, `+`, `-` or `@` as a formula. Such a text gets a leading apostrophe,
//! which makes it plain text. Numbers that the console formats itself are written unchanged.

use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;

/// A CSV file under construction.
#[derive(Debug, Default)]
pub struct Csv {
    text: String,
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

impl Csv {
    /// Starts a file with a header row.
    pub fn new(columns: &[&str]) -> Csv {
        let mut csv = Csv::default();
        csv.row(&columns.iter().map(|name| Cell::Text(name)).collect::<Vec<_>>());
        csv
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[Cell<'_>]) {
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            match cell {
                Cell::Text(text) => self.text.push_str(&guarded(text)),
                Cell::Owned(text) => self.text.push_str(&guarded(text)),
                Cell::Number(number) => self.text.push_str(number),
                Cell::Empty => {}
            }
        }
        self.text.push_str("\r\n");
    }

    /// The finished file, as a download with this name.
    pub fn file(self, name: &str) -> Response {
        let mut response = Response::new(self.text.into());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
        let safe: String = name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
        if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{safe}.csv\"")) {
            headers.insert(CONTENT_DISPOSITION, value);
        }
        response
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
}

fn guarded(text: &str) -> String {
    let formula = text.trim_start_matches(' ').starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\r', '\n', '\'']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        let mut csv = Csv::new(&["name", "amount"]);
        csv.row(&[Cell::Text("=HYPERLINK(\"http://x\",\"a\")"), Cell::Number("-12.50".to_owned())]);
        csv.row(&[Cell::Text("@SUM(A1)"), Cell::Empty]);
        csv.row(&[Cell::Text("  +1"), Cell::Empty]);
        csv.row(&[Cell::Text("\t=1"), Cell::Empty]);
        csv.row(&[Cell::Text("Ann, \"the\" O'Hara"), Cell::Number("1".to_owned())]);
        let expected = "name,amount\r\n\"'=HYPERLINK(\"\"http://x\"\",\"\"a\"\")\",-12.50\r\n\"'@SUM(A1)\",\r\n\
                        \"'  +1\",\r\n\"'\t=1\",\r\n\"Ann, \"\"the\"\" O'Hara\",1\r\n";
        assert_eq!(csv.text, expected);
    }
}
