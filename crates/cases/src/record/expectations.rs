//! Writes a case's expectations from its results. A person reviews them afterwards.
//!
//! A case with expectations keeps the fields it names and gets the actual values in place; the rest of the file stays
//! as it is, to the byte. A case without expectations gets a useful set at its end.

use super::toml::{Text, inline};
use super::{expect_account, expect_counts, expect_webhooks};
use crate::describe;
use crate::findings::Findings;
use crate::judge::{at_path, count_of, is_event, is_same, item_field, judge, nearest, row_of};
use crate::outcome::CaseOutcome;
use crate::run::run_finding;
use crate::scenario::{Field, Scenario, ScenarioError, parse};
use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;

/// The result of recording a case.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The outcome of the case with its new expectations. Values that could not be written still differ.
    pub outcome: CaseOutcome,
    /// The file's new text; `None` if it did not change.
    pub text: Option<String>,
    /// The changes, one sentence each.
    pub changes: Vec<String>,
}

/// Runs a case in memory, and writes its expectations into its text.
pub async fn record(case: &Scenario, text: &str) -> Result<Recording, ScenarioError> {
    let (outcome, findings) = run_finding(case).await;
    let Some(findings) = findings else {
        return Ok(Recording { outcome, text: None, changes: Vec::new() });
    };
    let (text, changes) = match case.expect.is_empty() {
        true => (
            with_defaults(text, &findings),
            vec!["it had no expectations; they were written from the results".to_owned()],
        ),
        false => with_values(case, text, &findings)?,
    };
    if changes.is_empty() {
        return Ok(Recording { outcome, text: None, changes });
    }
    let written = parse(&case.file, &text)?;
    let differences = judge(&written, &findings);
    let timeline = if differences.is_empty() { Vec::new() } else { outcome.timeline };
    Ok(Recording { outcome: CaseOutcome::new(&written, differences, timeline), text: Some(text), changes })
}

/// The text with a useful set of expectations at its end: status, balances, and the numbers of line items and messages.
fn with_defaults(text: &str, findings: &Findings) -> String {
    let mut expectations = Text::default();
    expectations.comment("Written by `daybook test --record` from the results. Review it before you rely on it.");
    expect_account(&mut expectations, &findings.account);
    expect_counts(&mut expectations, &findings.line_items);
    expect_webhooks(&mut expectations, findings.received.as_ref().unwrap_or(&BTreeMap::new()));
    let ending = if text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{ending}\n{}", expectations.finish())
}

/// The text with the actual values where they differ, and the changes.
fn with_values(case: &Scenario, text: &str, findings: &Findings) -> Result<(String, Vec<String>), ScenarioError> {
    let root = DeTable::parse(text).map_err(|error| ScenarioError {
        file: case.file.clone(),
        line: 0,
        column: 0,
        message: format!("is not valid TOML: {}", error.message().trim()),
    })?;
    let mut edits = Edits::default();
    let expect = root.get_ref().get("expect").and_then(|value| value.get_ref().as_table());
    if let Some(expect) = expect {
        edits.collect(case, expect, findings);
    }
    Ok(edits.apply(text))
}

/// Positions in the text, and their new contents.
#[derive(Default)]
struct Edits {
    edits: Vec<(Range<usize>, String)>,
    changes: Vec<(usize, String)>,
}

impl Edits {
    fn collect(&mut self, case: &Scenario, expect: &DeTable<'_>, findings: &Findings) {
        let wanted = &case.expect;
        if let Some(table) = expect.get("account").and_then(|value| value.get_ref().as_table()) {
            self.fields(table, &wanted.account, &findings.account, "of the account at the end");
        }
        for ((then, table), shown) in
            wanted.account_at.iter().zip(tables(expect, "account_at")).zip(&findings.account_at)
        {
            if let Ok(shown) = shown {
                self.fields(table, &then.fields, shown, &format!("of the account as of {}", then.at.text));
            }
        }
        for (item, table) in wanted.line_items.iter().zip(tables(expect, "line_item")) {
            let Some(near) = nearest(item, &findings.line_items) else { continue };
            for field in &item.fields {
                let got = item_field(near, &field.path[0]);
                self.field(table, field, got.as_ref(), &format!("of line item {}", near["line_item_id"]));
            }
        }
        if let Some(table) = expect.get("line_item_count").and_then(|value| value.get_ref().as_table()) {
            for wanted in &wanted.line_item_counts {
                let count = count_of(&wanted.line_item_type, &findings.line_items);
                let what = format!("the number of {} line items", wanted.line_item_type);
                self.count(table, &wanted.line_item_type, wanted.line, wanted.count, count, &what);
            }
        }
        for (wanted, table) in wanted.webhooks.iter().zip(tables(expect, "webhook")) {
            let received = findings.received.as_ref().and_then(|received| received.get(&wanted.event)).copied();
            if let Some(count) = wanted.count.filter(|_| is_event(&wanted.event)) {
                let what = format!("the number of messages {}", wanted.event);
                self.count(table, "count", wanted.line, count, received.unwrap_or(0), &what);
            }
        }
        for (wanted, table) in wanted.schedule.iter().zip(tables(expect, "schedule")) {
            if let Some(row) = row_of(wanted, &findings.schedule) {
                self.fields(table, &wanted.fields, row, &format!("of row {} of the schedule", wanted.row));
            }
        }
    }

    fn fields(&mut self, table: &DeTable<'_>, fields: &[Field], shown: &Value, of: &str) {
        for field in fields {
            self.field(table, field, at_path(shown, &field.path), of);
        }
    }

    /// A null value cannot be written, and still differs afterwards.
    fn field(&mut self, table: &DeTable<'_>, field: &Field, got: Option<&Value>, of: &str) {
        let Some(got) = got.filter(|got| !got.is_null() && !is_same(&field.value, got)) else { return };
        let Some(place) = place_of(table, &field.path) else { return };
        let name = field.path.last().map_or("", String::as_str);
        let (was, is) = (describe::value(name, &field.value), describe::value(name, got));
        self.edits.push((place, inline(got)));
        self.changes.push((field.line, format!("{} {of}: was {was}, is {is}", field.path.join("."))));
    }

    fn count(&mut self, table: &DeTable<'_>, key: &str, line: usize, wanted: u64, count: u64, what: &str) {
        if wanted != count
            && let Some(value) = table.get(key)
        {
            self.edits.push((value.span(), count.to_string()));
            self.changes.push((line, format!("{what}: was {wanted}, is {count}")));
        }
    }

    fn apply(mut self, text: &str) -> (String, Vec<String>) {
        self.edits.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
        let mut text = text.to_owned();
        for (place, value) in &self.edits {
            text.replace_range(place.clone(), value);
        }
        self.changes.sort_by_key(|(line, _)| *line);
        (text, self.changes.into_iter().map(|(line, what)| format!("line {line}: {what}")).collect())
    }
}

/// Each table of a list.
fn tables<'t, 'i>(expect: &'t DeTable<'i>, name: &str) -> Vec<&'t DeTable<'i>> {
    let list = expect.get(name).and_then(|value| value.get_ref().as_array());
    list.into_iter().flat_map(|list| list.iter()).filter_map(|value| value.get_ref().as_table()).collect()
}

/// The position of the value at a path.
fn place_of(table: &DeTable<'_>, path: &[String]) -> Option<Range<usize>> {
    let (last, groups) = path.split_last()?;
    let mut table = table;
    for group in groups {
        table = table.get(group.as_str())?.get_ref().as_table()?;
    }
    table.get(last.as_str()).map(Spanned::<DeValue<'_>>::span)
}
