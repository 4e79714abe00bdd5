//! Writes the page from the results and the notes.

use super::evaluation::{MeasuredRow, missed};
use super::notes::{self, Section};
use super::plots::Plot;
use super::results::{Database, Results, RunRecord};
use super::spread::{Spread, number};
use std::collections::BTreeSet;
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Performance

This page is written by `daybook bench all`. It shows how fast Daybook is on one machine, and compares each figure with
its aim.

Most figures have a **limit**: what is physically possible on that machine, measured in the same run by a program
without Daybook's logic. For a release, this is a bare loop that writes the same rows; for payments, an HTTP server that
does nothing; for growth, the same work with a small portfolio. Machines differ and their load varies, so the **ratio**
of a figure to its limit says more than the figure. A ratio without a unit compares speeds: at 0.60, Daybook does 60 % of
what the limit does. A ratio in \"times\" compares two costs: at 1.20 times, Daybook's figure is 20 % larger than the
limit.

The server, the database, the callers and the receivers of webhooks share the machine. Each benchmark runs in a process
of its own, several times, in turn with the others. The tables show the median of the runs, and the smallest and the
largest. An aim is met if the median meets it.

```text
daybook bench all --postgres postgres://USER@HOST:PORT     run everything; takes hours
daybook bench all --quick --to results                     tiny sizes: whether everything works
daybook bench all --only payments --runs 10                one benchmark again
```
";

/// The page.
pub fn page(results: &Results, notes: &str, plots: &[Plot]) -> String {
    let sections = notes::sections(notes);
    let mut page = INTRODUCTION.to_owned();
    if results.quick {
        page.push_str(
            "\n**The sizes of these runs were tiny (`--quick`)**: the figures say nothing about how fast Daybook is, and\n\
             the sizes in the tables are not those that were measured.\n",
        );
    }
    if results.machine.build != "release" {
        page.push_str("\n**This was not a release build**: it is many times slower.\n");
    }
    machine(&mut page, results);
    let databases = [Database::Sqlite, Database::Postgres].map(Some);
    let mut tables = Vec::new();
    for database in databases.into_iter().chain([None]) {
        let title = database.map_or("Without a database", Database::name);
        let _ = write!(page, "\n## {title}\n\n");
        if database.is_some_and(|database| !results.has(database)) {
            page.push_str("Not measured.\n");
            continue;
        }
        let rows = MeasuredRow::all(results, database);
        table(&mut page, &rows);
        tables.push(rows);
    }
    if !plots.is_empty() {
        page.push_str("\n## Plots\n\nA vertical line at a point reaches from the smallest run to the largest.\n");
        for plot in plots {
            let _ = write!(page, "\n![{}](performance/{})\n\n{}\n", plot.title, plot.file, plot.caption);
        }
    }
    explanations(&mut page, &tables, &sections);
    failures(&mut page, &results.runs);
    limits(&mut page, &tables);
    commands(&mut page, &results.runs);
    page
}

fn machine(page: &mut String, results: &Results) {
    let machine = &results.machine;
    let commits: BTreeSet<&str> = results.runs.iter().map(|run| run.commit.as_str()).collect();
    let days: BTreeSet<&str> = results.runs.iter().map(|run| run.day.as_str()).collect();
    let joined = |all: BTreeSet<&str>| all.into_iter().collect::<Vec<_>>().join(", ");
    let runs: BTreeSet<u64> = results.runs.iter().map(|run| run.run).collect();
    let load = Spread::of(results.runs.iter().filter_map(|run| run.load_before));
    let load = load.map_or_else(
        || "unknown".to_owned(),
        |load| format!("{} (median), at most {}", number(load.median), number(load.largest)),
    );
    let rows = [
        ("commit", joined(commits)),
        ("date", joined(days)),
        ("build", machine.build.clone()),
        ("runs of each benchmark", runs.len().to_string()),
        ("cores", machine.cores.to_string()),
        ("processor", machine.processor.clone()),
        ("memory", format!("{} GiB", number(machine.memory_gib))),
        ("file system", machine.file_system.clone()),
        ("kernel", machine.kernel.clone()),
        ("load in the minute before a run, that of the run before included", load),
        ("PostgreSQL", machine.postgres.clone().unwrap_or_else(|| "not measured".to_owned())),
    ];
    page.push_str("\n## The machine\n\n| | |\n|---|---|\n");
    for (name, value) in rows {
        let _ = writeln!(page, "| {name} | {} |", value.replace('|', "/").replace('\n', " "));
    }
}

fn table(page: &mut String, rows: &[MeasuredRow]) {
    page.push_str("| what | aim | median | smallest to largest | limit | ratio | aim met |\n");
    page.push_str("|---|---|---|---|---|---|---|\n");
    for measured in rows {
        let none = || "–".to_owned();
        let ratio = measured.ratio.map_or_else(none, |ratio| {
            let (median, smallest, largest) = (ratio.median, ratio.smallest, ratio.largest);
            let range = format!(" ({smallest:.2} to {largest:.2})");
            format!("{}{}", measured.ratio_text(median), if ratio.runs > 1 { &range } else { "" })
        });
        let met = match (measured.is_met(), measured.figure) {
            (Some(true), _) => "yes",
            (Some(false), _) => "**no**",
            (None, _) => "–",
        };
        let aims = Some(measured.aims_text()).filter(|text| !text.is_empty());
        let cells = [
            measured.row.what.to_owned(),
            aims.unwrap_or_else(none),
            measured.figure.map_or("not measured".to_owned(), |spread| measured.unit_after(&number(spread.median))),
            measured.figure.as_ref().map_or_else(none, Spread::range),
            measured.limit.map_or_else(none, |spread| measured.unit_after(&number(spread.median))),
            ratio,
            met.to_owned(),
        ];
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}

/// Why aims are missed, and the other notes.
fn explanations(page: &mut String, tables: &[Vec<MeasuredRow>], sections: &[Section]) {
    let missed = missed(tables);
    if !missed.is_empty() {
        page.push_str("\n## Missed aims\n");
        for target in missed {
            let text = notes::about(sections, target.id).unwrap_or("The reason is not known yet.");
            let _ = write!(page, "\n### {}\n\n{text}\n", target.title);
        }
    }
    for section in notes::others(sections) {
        let _ = write!(page, "\n## {}\n\n{}\n", section.heading, section.text);
    }
}

fn failures(page: &mut String, runs: &[RunRecord]) {
    let failed: Vec<&RunRecord> = runs.iter().filter(|run| run.failure.is_some()).collect();
    if failed.is_empty() {
        return;
    }
    page.push_str("\n## Failed runs\n\n| benchmark | database | run | reason |\n|---|---|---|---|\n");
    for run in failed {
        let reason = run.failure.as_deref().unwrap_or_default().replace('|', "/").replace('\n', " ");
        let database = run.database.map_or("–", Database::name);
        let _ = writeln!(page, "| {} | {database} | {} | {reason} |", run.job, run.run);
    }
}

fn limits(page: &mut String, tables: &[Vec<MeasuredRow>]) {
    page.push_str("\n## What the limits are\n\n| figure | limit | benchmark |\n|---|---|---|\n");
    let mut seen = BTreeSet::new();
    for measured in tables.iter().flatten().filter(|measured| seen.insert(measured.row.what)) {
        let limit = if measured.row.limit_is.is_empty() { "–" } else { measured.row.limit_is };
        let _ = writeln!(page, "| {} | {limit} | `{}` |", measured.row.what, measured.row.figure.job);
    }
}

fn commands(page: &mut String, runs: &[RunRecord]) {
    page.push_str("\n## The commands\n\n| benchmark | command | median time of a run |\n|---|---|---|\n");
    let mut seen = BTreeSet::new();
    for run in runs.iter().filter(|run| seen.insert(run.job.as_str())) {
        let times = runs.iter().filter(|other| other.job == run.job).map(|other| other.seconds);
        let median = Spread::of(times).map_or(0.0, |spread| spread.median);
        let _ = writeln!(page, "| `{}` | `{}` | {} s |", run.job, run.command, number(median));
    }
}
