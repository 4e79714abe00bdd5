//! A CSV file: finds its columns and reads its rows with their line numbers.

use crate::check_report::{CheckReport, InvalidValue};
use crate::csv_quotes::{QuoteChecker, Strays};
use crate::error::ImportError;
use csv::{ByteRecord, ReaderBuilder, Trim};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The size of the read buffer.
const BUFFER: usize = 1 << 20;

/// A CSV file.
#[derive(Debug)]
pub struct CsvFile {
    /// Its name as given.
    pub file: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether the last line ends with a line break.
    ends: bool,
    reader: csv::Reader<QuoteChecker<File>>,
    strays: Strays,
}

/// A row: a value for each column, empty if none is given.
pub struct CsvRow<'a> {
    /// The line on which it begins.
    pub line: u64,
    values: &'a [&'a str],
}

impl<'a> CsvRow<'a> {
    /// The value of the column at this position; empty if there is no such column.
    pub fn get(&self, place: Option<usize>) -> &'a str {
        place.and_then(|place| self.values.get(place)).copied().unwrap_or_default()
    }
}

impl CsvFile {
    /// Opens a file and reads its first line.
    pub fn open(path: &Path) -> Result<CsvFile, ImportError> {
        let name = path.display().to_string();
        let failed = |error: &dyn std::fmt::Display| ImportError::Failed(format!("{name} cannot be read: {error}"));
        let mut file = File::open(path).map_err(|error| failed(&error))?;
        let ends = ends_its_last_line(&mut file).map_err(|error| failed(&error))?;
        let bytes = file.metadata().map_err(|error| failed(&error))?.len();
        let mut builder = ReaderBuilder::new();
        let strays = Strays::default();
        let watched = QuoteChecker::new(file, strays.clone());
        let mut reader = builder.flexible(true).trim(Trim::All).buffer_capacity(BUFFER).from_reader(watched);
        let heads = reader.byte_headers().map_err(|error| failed(&error))?;
        let text = |head: &[u8]| String::from_utf8_lossy(head).trim_start_matches('\u{feff}').trim().to_owned();
        let columns = heads.iter().map(text).collect();
        Ok(CsvFile { file: name, columns, bytes, ends, reader, strays })
    }

    /// The position of a column.
    pub fn place(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|known| known == column)
    }

    /// Checks the header: every column is known and occurs once, and required columns exist. Returns whether it is
    /// valid.
    pub fn check_columns(
        &self,
        needed: &[&str],
        is_known: impl Fn(&str) -> bool,
        report: &mut CheckReport,
    ) -> Result<bool, ImportError> {
        let before = report.count();
        if let Some(stray) = self.strays.take_before(self.at()) {
            let column = self.columns.get(stray.place).map_or("the row", String::as_str);
            report.add(self.invalid(stray.line, column, "", stray.rule))?;
        }
        for (place, column) in self.columns.iter().enumerate() {
            let rule = match column.as_str() {
                "" => "is a column without a name",
                only if self.columns.len() == 1 && only.contains([';', '\t']) => "must have commas between the columns",
                known if self.columns[..place].contains(column) && is_known(known) => "is in the header twice",
                known if is_known(known) => continue,
                _ => "is not a column of this file; `daybook import --columns` lists them all",
            };
            report.add(self.invalid(1, column, "", rule))?;
        }
        for column in needed.iter().filter(|column| self.place(column).is_none()) {
            report.add(self.invalid(1, column, "", "is a required column and is missing"))?;
        }
        Ok(report.count() == before)
    }

    /// An invalid value of this file.
    pub fn invalid(&self, line: u64, column: &str, value: &str, rule: &str) -> InvalidValue {
        let (column, value, rule) = (column.to_owned(), value.to_owned(), rule.to_owned());
        InvalidValue { file: self.file.clone(), line, column, value, rule }
    }

    /// Reads the next row into `record`. Returns its line, or `None` at the end.
    pub fn next(&mut self, record: &mut ByteRecord) -> Result<Option<u64>, ImportError> {
        let failed = |error: csv::Error| ImportError::Failed(format!("{} cannot be read: {error}", self.file));
        let more = self.reader.read_byte_record(record).map_err(failed)?;
        Ok(more.then(|| self.line_of(record)))
    }

    /// The line of a row. For the CSV reader a row begins with the empty lines before it, so the line is computed from
    /// the row's end, unless its values contain line breaks.
    fn line_of(&self, record: &ByteRecord) -> u64 {
        let begins = record.position().map_or(0, csv::Position::line);
        if record.iter().any(has_line_end) {
            return begins;
        }
        let (after, is_last) = (self.reader.position().line(), self.at() >= self.bytes && !self.ends);
        begins.max(if is_last { after } else { after.saturating_sub(1) })
    }

    /// The number of bytes read.
    pub fn at(&self) -> u64 {
        self.reader.position().byte()
    }

    /// Passes a row as text to `reader`, if it is UTF-8 and has a value for each column.
    pub fn read<T>(
        &self,
        line: u64,
        record: &ByteRecord,
        report: &mut CheckReport,
        reader: impl FnOnce(&CsvRow<'_>, &mut CheckReport) -> Result<T, ImportError>,
    ) -> Result<Option<T>, ImportError> {
        // If a value spans several lines, a quote was left open, and the quotes after it are not misplaced.
        let stray = self.strays.take_before(self.at()).filter(|_| !record.iter().any(has_line_end));
        if let Some(stray) = stray {
            let column = self.columns.get(stray.place).map_or("the row", String::as_str);
            let value = record.get(stray.place).map(String::from_utf8_lossy).unwrap_or_default();
            report.add(self.invalid(stray.line, column, &value, stray.rule))?;
            return Ok(None);
        }
        if record.len() != self.columns.len() {
            let mut rule = format!("has {} values, but there are {} columns", record.len(), self.columns.len());
            if record.iter().any(has_line_end) {
                rule.push_str("; it spans several lines, so a closing quote may be missing");
            }
            report.add(self.invalid(line, "the row", "", &rule))?;
            return Ok(None);
        }
        let mut values = Vec::with_capacity(record.len());
        for (place, value) in record.iter().enumerate() {
            match std::str::from_utf8(value) {
                // No valid value has several lines: this one has swallowed the rows after it.
                Ok(text) if has_line_end(value) => {
                    let rule = "spans several lines: a closing quote is missing";
                    report.add(self.invalid(line, &self.columns[place], text, rule))?;
                    return Ok(None);
                }
                Ok(value) => values.push(value),
                Err(_) => {
                    let shown = String::from_utf8_lossy(value);
                    report.add(self.invalid(line, &self.columns[place], &shown, "must be UTF-8"))?;
                    return Ok(None);
                }
            }
        }
        reader(&CsvRow { line, values: &values }, report).map(Some)
    }
}

fn has_line_end(value: &[u8]) -> bool {
    value.contains(&b'\n') || value.contains(&b'\r')
}

fn ends_its_last_line(file: &mut File) -> std::io::Result<bool> {
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    file.rewind()?;
    Ok(has_line_end(&last))
}
