//! Reads whole files and folders of them.

use super::events::event;
use super::expect::expect;
use super::table::{ScenarioResult, SourceFile, Table};
use super::{Lines, PartLines, ProcessingMode, Scenario, ScenarioError};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads every `.toml` file of a folder, in the order of their names.
pub fn read_folder(folder: &Path) -> Result<Vec<Scenario>, ScenarioError> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let entries = entries.map_err(|error| unreadable(folder, &error))?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files.iter().map(|file| read_file(file)).collect()
}

/// Reads a file.
pub fn read_file(file: &Path) -> Result<Scenario, ScenarioError> {
    let text = fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
    parse(file, &text)
}

fn unreadable(path: &Path, error: &io::Error) -> ScenarioError {
    ScenarioError { file: path.to_owned(), line: 0, column: 0, message: format!("cannot be read: {error}") }
}

/// Parses a file's text.
pub fn parse(file: &Path, text: &str) -> Result<Scenario, ScenarioError> {
    let source = SourceFile { file, text };
    let fields = DeTable::parse(text).map_err(|error| {
        source.error(error.span().unwrap_or_default(), format!("is not valid TOML: {}", error.message().trim()))
    })?;
    scenario(source, Table::root(source, fields.get_ref()))
}

fn scenario(source: SourceFile<'_>, mut root: Table<'_, '_, '_>) -> ScenarioResult<Scenario> {
    let title = source.text("title", root.need("title")?)?;
    let mode = mode(source, &mut root)?;
    let product = body(source, "product", root.need("product")?)?;
    let customer = root.take("customer").map(|value| body(source, "customer", value)).transpose()?;
    let account = body(source, "account", root.need("account")?)?;
    let lines_of = |part: &str| root.fields.get(part).map(|value| part_lines(source, value)).unwrap_or_default();
    let lines = Lines { product: lines_of("product"), customer: lines_of("customer"), account: lines_of("account") };
    let opening = source.table("account", root.need("account")?)?.need("effective_at")?;
    let account_effective_at = source.moment("account.effective_at", opening)?;
    let tables = source.tables("event", root.take("event"))?;
    let mut events = tables.into_iter().map(event).collect::<ScenarioResult<Vec<_>>>()?;
    for event in &events {
        let problem = if event.effective_at.time < account_effective_at.time {
            "an event's effective_at must not be before the account's"
        } else if mode == ProcessingMode::Migration && event.recorded_at.is_some() {
            "recorded_at is for live cases; in migration mode, every event applies at its effective_at"
        } else if event.comes_in_at().time < account_effective_at.time {
            "an event's recorded_at must not be before the account's effective_at"
        } else {
            continue;
        };
        let (file, line) = (source.file.to_owned(), event.line);
        return Err(ScenarioError { file, line, column: 1, message: problem.to_owned() });
    }
    if mode == ProcessingMode::Live {
        // Stable: events recorded at the same time keep the order of the file.
        events.sort_by_key(|event| event.comes_in_at().time);
    }
    let expect = root.take("expect").map(|value| expect(source, value)).transpose()?.unwrap_or_default();
    root.done()?;
    let file = source.file.to_owned();
    Ok(Scenario { file, title, mode, product, customer, account, account_effective_at, events, expect, lines })
}

fn mode(source: SourceFile<'_>, root: &mut Table<'_, '_, '_>) -> ScenarioResult<ProcessingMode> {
    let value = root.need("mode")?;
    match source.text("mode", value)?.as_str() {
        "migration" => Ok(ProcessingMode::Migration),
        "live" => Ok(ProcessingMode::Live),
        other => Err(source.error(value.span(), format!("mode must be \"migration\" or \"live\", not {other:?}"))),
    }
}

fn part_lines(source: SourceFile<'_>, value: &Spanned<DeValue<'_>>) -> PartLines {
    let mut lines = PartLines { whole: source.line(&value.span()), fields: BTreeMap::new() };
    note_lines(source, "", value.get_ref(), &mut lines.fields);
    lines
}

/// Records the line of each field, at any depth.
fn note_lines(source: SourceFile<'_>, path: &str, value: &DeValue<'_>, lines: &mut BTreeMap<String, usize>) {
    if let Some(table) = value.as_table() {
        for (key, value) in table {
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{}", key.get_ref());
            note_lines(source, &path, value.get_ref(), lines);
            lines.insert(path, source.line(&key.span()));
        }
    }
    for (index, value) in value.as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}[{index}]");
        note_lines(source, &path, value.get_ref(), lines);
        lines.insert(path, source.line(&value.span()));
    }
}

/// The body of a request, which the API validates.
fn body(source: SourceFile<'_>, name: &str, value: &Spanned<DeValue<'_>>) -> ScenarioResult<Value> {
    source.table(name, value)?;
    source.json(name, value)
}
