//! The plots of the page.

use super::results::{Database, Results};
use super::spread::Spread;
use super::svg::{BarChart, Line, LineChart};
use std::collections::BTreeMap;

/// The tables and indexes that the plot of bytes shows; all others are one bar.
const MOST_PARTS: usize = 12;
const DATABASES: [Database; 2] = [Database::Sqlite, Database::Postgres];

/// A plot.
#[derive(Debug)]
pub struct Plot {
    /// The name of its file.
    pub file: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it shows.
    pub caption: &'static str,
    /// The SVG.
    pub svg: String,
}

/// All plots for which something was measured.
pub fn plots(results: &Results) -> Vec<Plot> {
    let (throughput, age, bytes) = (throughput(results), age(results), bytes(results));
    let all = [
        (
            "throughput.svg",
            throughput.title,
            "Payments released per second, by the number of payments in the release. Dashed: the bare loop.",
            throughput.draw(),
        ),
        ("age.svg", age.title, "Time between two payments over HTTP, by the age of the accounts.", age.draw()),
        (
            "bytes.svg",
            bytes.title,
            "Bytes of database for each payment of an import with webhooks, by table and index.",
            bytes.draw(),
        ),
    ];
    all.into_iter().filter_map(|(file, title, caption, svg)| Some(Plot { file, title, caption, svg: svg? })).collect()
}

fn throughput(results: &Results) -> LineChart {
    let jobs = ["release-small", "release-middle", "release-large"];
    let lines =
        [(false, "/payments_per_second"), (true, "/limit_per_second")].into_iter().flat_map(|(is_limit, rate)| {
            DATABASES.map(|database| {
                let limit = if is_limit { ", limit" } else { "" };
                let name = format!("{}{limit}", database.name());
                Line { name, is_limit, points: points(results, database, &jobs, "/payments", rate) }
            })
        });
    LineChart {
        title: "Throughput by portfolio size",
        x_label: "payments in the release",
        y_label: "payments per second",
        is_logarithmic: true,
        lines: lines.collect(),
    }
}

fn age(results: &Results) -> LineChart {
    let jobs = ["payments-0-months", "payments-12-months", "payments-24-months", "payments-35-months"];
    let lines = DATABASES.map(|database| Line {
        name: database.name().to_owned(),
        is_limit: false,
        points: points(results, database, &jobs, "/months", "/us_per_payment"),
    });
    LineChart {
        title: "Cost of a payment by age of the account",
        x_label: "age of the accounts in months, with a payment in each",
        y_label: "µs per payment, 64 callers",
        is_logarithmic: false,
        lines: lines.into(),
    }
}

/// A point for each benchmark that was measured.
fn points(results: &Results, database: Database, jobs: &[&str], x: &str, y: &str) -> Vec<(f64, Spread)> {
    let figures = |job: &str, pointer: &str| {
        Spread::of(results.figures(Some(database), job, pointer).into_iter().map(|(_, figure)| figure))
    };
    jobs.iter().filter_map(|job| Some((figures(job, x)?.median, figures(job, y)?))).collect()
}

fn bytes(results: &Results) -> BarChart {
    let measured: Vec<(Database, BTreeMap<String, f64>)> =
        DATABASES.into_iter().filter_map(|database| Some((database, parts(results, database)?))).collect();
    let mut largest: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, bytes) in measured.iter().flat_map(|(_, parts)| parts) {
        let known = largest.entry(name).or_default();
        *known = known.max(*bytes);
    }
    let mut names: Vec<(&str, f64)> = largest.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let (shown, rest) = names.split_at(names.len().min(MOST_PARTS));
    let sizes = |of: &[(&str, f64)]| -> Vec<f64> {
        let sum = |parts: &BTreeMap<String, f64>| of.iter().filter_map(|(name, _)| parts.get(*name)).sum();
        measured.iter().map(|(_, parts)| sum(parts)).collect()
    };
    let mut bars: Vec<(String, Vec<f64>)> =
        shown.iter().map(|part| (part.0.to_owned(), sizes(std::slice::from_ref(part)))).collect();
    if !rest.is_empty() {
        bars.push(("all others".to_owned(), sizes(rest)));
    }
    BarChart {
        title: "Bytes of database for each payment",
        x_label: "bytes per payment, by table and index",
        names: measured.iter().map(|(database, _)| database.name().to_owned()).collect(),
        bars,
    }
}

/// The bytes of each table and index for each payment, in the last run.
fn parts(results: &Results, database: Database) -> Option<BTreeMap<String, f64>> {
    let is_meant = |run: &&super::results::RunRecord| {
        run.job == "import-webhooks" && run.database == Some(database) && run.failure.is_none()
    };
    let figures = &results.runs.iter().rev().find(is_meant)?.figures;
    let payments = figures["payments"].as_f64().filter(|payments| *payments > 0.0)?;
    let parts = figures["parts"].as_object()?;
    Some(parts.iter().filter_map(|(name, bytes)| Some((name.clone(), bytes.as_f64()? / payments))).collect())
}
