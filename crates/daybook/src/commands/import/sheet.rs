//! A file of rows: opened, its columns found, its rows read one by one with their line numbers.

use super::report::{Broken, Report};
use crate::commands::Failure;
use csv::{ByteRecord, ReaderBuilder, Trim};
use std::fs::File;
use std::path::Path;

/// How much is read at once.
const BUFFER: usize = 1 << 20;

/// A file of rows.
#[derive(Debug)]
pub struct Sheet {
    /// Its name, as it was given.
    pub file: String,
    /// What its columns are called.
    pub columns: Vec<String>,
    /// Its size in bytes.
    pub bytes: u64,
    reader: csv::Reader<File>,
}

/// A row: a value for each column, empty where none is given.
pub struct Row<'a> {
    /// The line it begins on.
    pub line: u64,
    values: &'a [&'a str],
}

impl<'a> Row<'a> {
    /// The value of the column at this place; nothing where there is no such column.
    pub fn get(&self, place: Option<usize>) -> &'a str {
        place.and_then(|place| self.values.get(place)).copied().unwrap_or_default()
    }
}

impl Sheet {
    /// Opens a file and reads its first line.
    pub fn open(path: &Path) -> Result<Sheet, Failure> {
        let name = path.display().to_string();
        let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("{name} cannot be read: {error}"));
        let file = File::open(path).map_err(|error| failed(&error))?;
        let bytes = file.metadata().map_err(|error| failed(&error))?.len();
        let mut builder = ReaderBuilder::new();
        let mut reader = builder.flexible(true).trim(Trim::All).buffer_capacity(BUFFER).from_reader(file);
        let heads = reader.byte_headers().map_err(|error| failed(&error))?;
        let text = |head: &[u8]| String::from_utf8_lossy(head).trim_start_matches('\u{feff}').trim().to_owned();
        let columns = heads.iter().map(text).collect();
        Ok(Sheet { file: name, columns, bytes, reader })
    }

    /// The place of a column.
    pub fn place(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|known| known == column)
    }

    /// Checks the first line: every column is known and there once, those that are needed are there. Whether it is right.
    pub fn check_columns(
        &self,
        needed: &[&str],
        is_known: impl Fn(&str) -> bool,
        report: &mut Report,
    ) -> Result<bool, Failure> {
        let before = report.count();
        for (place, column) in self.columns.iter().enumerate() {
            let rule = match column.as_str() {
                "" => "is a column without a name",
                only if self.columns.len() == 1 && only.contains([';', '\t']) => {
                    "has to have commas between the columns"
                }
                known if self.columns[..place].contains(column) && is_known(known) => "is a column already",
                known if is_known(known) => continue,
                _ => "is no column of this file; `daybook import --columns` names them all",
            };
            report.add(self.broken(1, column, "", rule))?;
        }
        for column in needed.iter().filter(|column| self.place(column).is_none()) {
            report.add(self.broken(1, column, "", "is a column that must be there"))?;
        }
        Ok(report.count() == before)
    }

    /// A value of this file that breaks a rule.
    pub fn broken(&self, line: u64, column: &str, value: &str, rule: &str) -> Broken {
        let (column, value, rule) = (column.to_owned(), value.to_owned(), rule.to_owned());
        Broken { file: self.file.clone(), line, column, value, rule }
    }

    /// Reads the next row into `record`. Gives its line, or nothing at the end.
    pub fn next(&mut self, record: &mut ByteRecord) -> Result<Option<u64>, Failure> {
        let failed = |error: csv::Error| Failure::Failed(format!("{} cannot be read: {error}", self.file));
        let more = self.reader.read_byte_record(record).map_err(failed)?;
        Ok(more.then(|| record.position().map_or(0, csv::Position::line)))
    }

    /// How many bytes are read.
    pub fn at(&self) -> u64 {
        self.reader.position().byte()
    }

    /// Shows a row as text to somebody, if it has a value for each column and is UTF-8.
    pub fn read<T>(
        &self,
        line: u64,
        record: &ByteRecord,
        report: &mut Report,
        reader: impl FnOnce(&Row<'_>, &mut Report) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        if record.len() != self.columns.len() {
            let rule = format!("has {} values, and there are {} columns", record.len(), self.columns.len());
            report.add(self.broken(line, "the row", "", &rule))?;
            return Ok(None);
        }
        let mut values = Vec::with_capacity(record.len());
        for (place, value) in record.iter().enumerate() {
            match std::str::from_utf8(value) {
                Ok(value) => values.push(value),
                Err(_) => {
                    let shown = String::from_utf8_lossy(value);
                    report.add(self.broken(line, &self.columns[place], &shown, "must be UTF-8"))?;
                    return Ok(None);
                }
            }
        }
        reader(&Row { line, values: &values }, report).map(Some)
    }
}

/// A row could not be written.
pub fn written(error: csv::Error) -> Failure {
    Failure::Output(std::io::Error::other(error))
}
