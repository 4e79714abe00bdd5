//! Compares the cells of a table with the results of an example.

use super::page::Table;
use super::story::Story;
use daybook_engine::calendar::{Day, TimeOfDay};
use daybook_engine::installment::reading::{Reading, read};
use daybook_engine::installment::schedule::{ScheduleRow, schedule};
use daybook_engine::item::{ItemId, LineItem};
use daybook_engine::money::Cents;
use daybook_engine::outcome::{Event, EventKind};
use daybook_engine::replay::replay;
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;

/// An error, with its line.
type Offence = (usize, String);

/// The engine's value for a cell.
enum Got {
    Text(String),
    Time(Time),
    Nothing,
}

impl From<Cents> for Got {
    fn from(cents: Cents) -> Got {
        Got::Text(cents.to_string())
    }
}

/// The one column that is not checked.
const PROSE: &str = "why";

/// The subject of a table row.
enum Told<'a> {
    Reading(Reading),
    Row(ScheduleRow),
    Item(&'a LineItem),
    Event(&'a Event),
}

impl Told<'_> {
    fn column(&self, column: &str) -> Option<Got> {
        match self {
            Told::Reading(reading) => of_reading(reading, column),
            Told::Row(row) => of_row(row, column),
            Told::Item(item) => of_item(item, column),
            Told::Event(event) => of_event(event, column),
        }
    }
}

/// All errors of a table.
pub fn offences(story: &Story, table: &Table) -> Vec<Offence> {
    if table.rows.is_empty() {
        return vec![(table.line, "the table has no rows".to_owned())];
    }
    let mut found = Vec::new();
    let kind = table.columns[0].as_str();
    match kind {
        "announced" => return announced(story, table),
        "at" | "row" | "item" => {}
        other => return vec![(table.line, format!("a table cannot begin with the column {other}"))],
    }
    for (line, cells) in &table.rows {
        match told(story, kind, &cells[0]) {
            Ok(told) => compare(story, table, (*line, cells), &told, &mut found),
            Err(error) => found.push((*line, error)),
        }
    }
    found
}

/// The subject that the first cell of a row names.
fn told<'a>(story: &'a Story, kind: &str, key: &str) -> Result<Told<'a>, String> {
    let book = &story.book;
    match kind {
        "at" => reading(story, key).map(Told::Reading),
        "row" => {
            let rows = schedule(&book.terms, &book.state, book.clock).map_err(|stop| format!("{stop:?}"))?;
            let row = rows.into_iter().find(|row| row.instalment.to_string() == key);
            row.map(Told::Row).ok_or_else(|| format!("there is no row {key}"))
        }
        _ => story.item(&ItemId::parse(key)).map(Told::Item).ok_or_else(|| format!("there is no item {key}")),
    }
}

/// Compares the cells of a row, except the first.
fn compare(story: &Story, table: &Table, row: (usize, &[String]), told: &Told<'_>, found: &mut Vec<Offence>) {
    let (line, cells) = row;
    if cells.len() != table.columns.len() {
        found.push((line, format!("{} cells in {} columns", cells.len(), table.columns.len())));
        return;
    }
    for (column, cell) in table.columns.iter().zip(cells).skip(1).filter(|(column, _)| *column != PROSE) {
        let offence = match told.column(column) {
            None => Some((table.line, format!("there is no column {column}"))),
            Some(got) => differs(&story.book.terms.zone, cell, &got).map(|how| (line, format!("{column}: {how}"))),
        };
        // An unknown column is reported once.
        found.extend(offence.filter(|offence| !found.contains(offence)));
    }
}

/// Compares all announcements, in order; there must be no others.
fn announced(story: &Story, table: &Table) -> Vec<Offence> {
    let mut events = story.book.events.iter().filter(|event| event.at >= story.announced_from);
    let mut found = Vec::new();
    for (line, cells) in &table.rows {
        let Some(event) = events.next() else {
            found.push((*line, format!("expected {}, got no more announcements", cells[0])));
            continue;
        };
        if cells[0] != event.what.name() {
            let got = format!("{} {}", event.what.name(), about(&event.what));
            found.push((*line, format!("expected {}, got {got}", cells[0])));
        }
        compare(story, table, (*line, cells), &Told::Event(event), &mut found);
    }
    for event in events {
        found.push((table.line, format!("{} {} is announced too", event.what.name(), about(&event.what))));
    }
    found
}

/// The difference between a cell and the engine's value.
fn differs(zone: &Zone, cell: &str, got: &Got) -> Option<String> {
    let expected = cell.replace(',', "");
    let (same, got) = match got {
        _ if cell.is_empty() => return Some("the cell is empty".to_owned()),
        Got::Nothing => (cell == "-", "-".to_owned()),
        Got::Text(text) => (expected == *text, text.clone()),
        Got::Time(time) => {
            let (day, time_of_day) = zone.local(*time);
            // If the cell has only a date, only the date is compared.
            match Day::parse(cell) {
                Some(expected) => (expected == day, day.to_string()),
                None => (local_time(zone, cell) == Some(*time), format!("{day} {time_of_day}")),
            }
        }
    };
    (!same).then(|| format!("expected {expected}, got {got}"))
}

/// `2025-02-15 09:00:00` in the product's zone; a date alone means noon.
fn local_time(zone: &Zone, text: &str) -> Option<Time> {
    let (day, time) = text.split_once(' ').unwrap_or((text, "12:00:00"));
    Some(zone.at(Day::parse(day)?, TimeOfDay::parse(time)?))
}

fn reading(story: &Story, at: &str) -> Result<Reading, String> {
    let (terms, entries) = (&story.book.terms, &story.book.entries);
    let at = local_time(&terms.zone, at).ok_or_else(|| format!("{at} is not a date or time"))?;
    let (state, _) = replay(terms, entries, at).map_err(|stop| format!("{stop:?}"))?;
    read(terms, &state, at).map_err(|stop| format!("{stop:?}"))
}

fn of_reading(reading: &Reading, column: &str) -> Option<Got> {
    Some(match column {
        "principal" => reading.balances.principal.into(),
        "interest" => reading.balances.interest.into(),
        "fees" => reading.balances.fees.into(),
        "surplus" => reading.balances.surplus.into(),
        "accrued" => reading.accrued.into(),
        "payoff" => reading.payoff.into(),
        "per-diem" => reading.per_diem.into(),
        "past due" => reading.past_due.into(),
        "days past due" => Got::Text(reading.days_past_due.to_string()),
        "late in a row" => Got::Text(reading.late_count.to_string()),
        "status" => Got::Text(reading.status.to_string()),
        _ => return None,
    })
}

fn of_row(row: &ScheduleRow, column: &str) -> Option<Got> {
    Some(match column {
        "due" => Got::Text(row.due_day.to_string()),
        "interest" => row.interest.into(),
        "principal" => row.principal.into(),
        "total" => row.total().into(),
        "start" => row.start.into(),
        "end" => row.end.into(),
        "fees" => row.fees.into(),
        "paid" => row.paid.into(),
        "outstanding" => row.outstanding.into(),
        "on time" => match row.paid_on_time {
            Some(true) => Got::Text("yes".to_owned()),
            Some(false) => Got::Text("no".to_owned()),
            None => Got::Nothing,
        },
        _ => return None,
    })
}

fn of_item(item: &LineItem, column: &str) -> Option<Got> {
    let pays: Vec<String> = item.splits.iter().map(|split| format!("{} {}", split.cents, split.item)).collect();
    Some(match column {
        "type" => Got::Text(item.kind.name().to_owned()),
        "effective" => Got::Time(item.effective_at),
        "applied" => Got::Time(item.applied_at),
        "amount" => item.amount.into(),
        "unpaid" => item.balance.into(),
        "status" => Got::Text(item.status.name().to_owned()),
        "pays" if pays.is_empty() => Got::Nothing,
        "pays" => Got::Text(pays.join(" + ")),
        _ => return None,
    })
}

fn of_event(event: &Event, column: &str) -> Option<Got> {
    let about = about(&event.what);
    Some(match column {
        "at" => Got::Time(event.at),
        "about" if about.is_empty() => Got::Nothing,
        "about" => Got::Text(about),
        _ => return None,
    })
}

/// The subject of an announcement.
fn about(what: &EventKind) -> String {
    match what {
        EventKind::ItemCreated(id) | EventKind::ItemUpdated(id) => id.to_string(),
        EventKind::DueDatePassed { instalment, paid: true, .. } => format!("row {instalment} paid"),
        EventKind::DueDatePassed { instalment, paid: false, .. } => format!("row {instalment} unpaid"),
        EventKind::PaymentMissed { instalment } | EventKind::Notice { instalment: Some(instalment), .. } => {
            format!("row {instalment}")
        }
        EventKind::StatusChanged { from, to } => format!("{from} to {to}"),
        EventKind::PaymentReversed { payment } => payment.to_string(),
        _ => String::new(),
    }
}
