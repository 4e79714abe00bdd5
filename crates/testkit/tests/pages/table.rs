//! The cells of a table, compared with what came of an example.

use super::page::Table;
use super::story::Story;
use daybook_engine::calendar::{Day, TimeOfDay};
use daybook_engine::installment::reading::{Reading, read};
use daybook_engine::installment::schedule::{ScheduleRow, schedule};
use daybook_engine::item::{ItemId, LineItem};
use daybook_engine::money::Cents;
use daybook_engine::outcome::{Event, What};
use daybook_engine::replay::replay;
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;

/// A complaint, with its line.
type Offence = (usize, String);

/// What a cell should say.
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

/// The one column that nobody checks.
const PROSE: &str = "why";

/// Everything that is wrong with a table.
pub fn offences(story: &Story, table: &Table) -> Vec<Offence> {
    let zone = &story.book.terms.zone;
    let compare = |line: usize, cells: &[String], get: &dyn Fn(&str) -> Option<Got>| -> Vec<Offence> {
        if cells.len() != table.columns.len() {
            return vec![(line, format!("{} cells in {} columns", cells.len(), table.columns.len()))];
        }
        let pairs = table.columns.iter().zip(cells).skip(1).filter(|(column, _)| *column != PROSE);
        pairs
            .filter_map(|(column, cell)| match get(column) {
                None => Some((table.line, format!("no column is called {column}"))),
                Some(got) => differs(zone, cell, &got).map(|how| (line, format!("{column}: {how}"))),
            })
            .collect()
    };
    let each = |get: &dyn Fn(&str, &str) -> Result<Option<Got>, String>| -> Vec<Offence> {
        let mut found = Vec::new();
        for (line, cells) in &table.rows {
            match get(&cells[0], PROSE) {
                Err(error) => found.push((*line, error)),
                Ok(_) => found.extend(compare(*line, cells, &|column| get(&cells[0], column).ok().flatten())),
            }
        }
        found
    };
    let mut found = match table.columns[0].as_str() {
        "at" => each(&|at, column| Ok(of_reading(&reading(story, at)?, column))),
        "row" => {
            let rows = schedule(&story.book.terms, &story.book.state, story.book.clock).expect("a schedule");
            each(&|number, column| {
                let row = rows.iter().find(|row| row.instalment.to_string() == number);
                Ok(of_row(row.ok_or_else(|| format!("there is no row {number}"))?, column))
            })
        }
        "item" => each(&|id, column| {
            let item = story.item(&ItemId::parse(id));
            Ok(of_item(item.ok_or_else(|| format!("there is no item {id}"))?, column))
        }),
        "announced" => announced(story, table, &compare),
        other => vec![(table.line, format!("no table begins with the column {other}"))],
    };
    found.dedup();
    found
}

/// All announcements, in order, and no others.
fn announced(
    story: &Story,
    table: &Table,
    compare: &dyn Fn(usize, &[String], &dyn Fn(&str) -> Option<Got>) -> Vec<Offence>,
) -> Vec<Offence> {
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
        found.extend(compare(*line, cells, &|column| of_event(event, column)));
    }
    for event in events {
        found.push((table.line, format!("{} {} is announced too", event.what.name(), about(&event.what))));
    }
    found
}

/// How a cell differs from what it should say.
fn differs(zone: &Zone, cell: &str, got: &Got) -> Option<String> {
    let expected = cell.replace(',', "");
    let (same, got) = match got {
        _ if cell.is_empty() => return Some("the cell is empty".to_owned()),
        Got::Nothing => (cell == "-", "-".to_owned()),
        Got::Text(text) => (expected == *text, text.clone()),
        Got::Time(time) => {
            let (day, time_of_day) = zone.local(*time);
            // A date alone asks for the date alone.
            match Day::parse(cell) {
                Some(expected) => (expected == day, day.to_string()),
                None => (local_time(zone, cell) == Some(*time), format!("{day} {time_of_day}")),
            }
        }
    };
    (!same).then(|| format!("expected {expected}, got {got}"))
}

/// `2025-02-15 09:00:00` in the product's zone; a date alone is its noon.
fn local_time(zone: &Zone, text: &str) -> Option<Time> {
    let (day, time) = text.split_once(' ').unwrap_or((text, "12:00:00"));
    Some(zone.at(Day::parse(day)?, TimeOfDay::parse(time)?))
}

fn reading(story: &Story, at: &str) -> Result<Reading, String> {
    let (terms, entries) = (&story.book.terms, &story.book.entries);
    let at = local_time(&terms.zone, at).ok_or_else(|| format!("{at} is no date or time"))?;
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

/// What an announcement is about.
fn about(what: &What) -> String {
    match what {
        What::ItemCreated(id) | What::ItemUpdated(id) => id.to_string(),
        What::DueDatePassed { instalment, paid: true } => format!("row {instalment} paid"),
        What::DueDatePassed { instalment, paid: false } => format!("row {instalment} unpaid"),
        What::PaymentMissed { instalment } | What::Notice { instalment: Some(instalment), .. } => {
            format!("row {instalment}")
        }
        What::StatusChanged { from, to } => format!("{from} to {to}"),
        What::PaymentReversed { payment } => payment.to_string(),
        _ => String::new(),
    }
}
