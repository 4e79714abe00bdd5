//! The rows with their figures.

use super::results::{Database, Results};
use super::rows::ROWS;
use super::spread::{Spread, number};
use super::targets::{Aim, Comparison, Row, TARGETS, Target};
use std::collections::HashMap;

/// A row and what was measured for it.
#[derive(Debug)]
pub struct MeasuredRow {
    /// The row.
    pub row: Row,
    /// Its aims on this database.
    pub aims: &'static [Aim],
    /// The figure.
    pub figure: Option<Spread>,
    /// The limit.
    pub limit: Option<Spread>,
    /// The ratio of the two in each run.
    pub ratio: Option<Spread>,
}

impl MeasuredRow {
    /// The rows of a database, or those without one, in the order of the targets.
    pub fn all(results: &Results, database: Option<Database>) -> Vec<MeasuredRow> {
        let rows = TARGETS.iter().flat_map(|target| ROWS.iter().filter(|row| row.target == target.id));
        let rows = rows.filter(|row| row.has_database == database.is_some());
        rows.map(|row| MeasuredRow::of(results, database, row)).collect()
    }

    fn of(results: &Results, database: Option<Database>, row: &Row) -> MeasuredRow {
        let figures = results.figures(database, row.figure.job, row.figure.pointer);
        let limits = row.limit.map(|place| results.figures(database, place.job, place.pointer)).unwrap_or_default();
        let of_run: HashMap<u64, f64> = limits.iter().copied().collect();
        let ratios = figures.iter().filter_map(|(run, figure)| {
            let limit = of_run.get(run)?;
            match row.comparison {
                Comparison::Rate | Comparison::Times => Some(figure / limit),
                Comparison::Speed => Some(limit / figure),
                Comparison::None => None,
            }
        });
        let ratio = Spread::of(ratios);
        let aims = if database == Some(Database::Postgres) { row.postgres_aims } else { row.aims };
        let spread = |figures: &[(u64, f64)]| Spread::of(figures.iter().map(|(_, figure)| *figure));
        MeasuredRow { row: *row, aims, figure: spread(&figures), limit: spread(&limits), ratio }
    }

    /// Whether all aims are met; `None` if there is none or nothing was measured.
    pub fn is_met(&self) -> Option<bool> {
        let (figure, ratio) = (self.figure.map(|spread| spread.median), self.ratio.map(|spread| spread.median));
        let met: Option<Vec<bool>> = self.aims.iter().map(|aim| aim.is_met(figure, ratio)).collect();
        met.filter(|met| !met.is_empty()).map(|met| met.into_iter().all(|met| met))
    }

    /// The aims as text.
    pub fn aims_text(&self) -> String {
        let aims = self.aims.iter().map(|aim| match aim {
            Aim::Below(limit) => format!("< {}", self.with_unit(*limit)),
            Aim::AtMost(limit) => format!("≤ {}", self.with_unit(*limit)),
            Aim::AtLeast(limit) => format!("≥ {}", self.with_unit(*limit)),
            Aim::RatioBelow(limit) => format!("ratio < {}", self.ratio_text(*limit)),
            Aim::RatioAtMost(limit) => format!("ratio ≤ {}", self.ratio_text(*limit)),
            Aim::RatioAtLeast(limit) => format!("ratio ≥ {}", self.ratio_text(*limit)),
        });
        aims.collect::<Vec<_>>().join(", ")
    }

    /// A figure with the unit of the row.
    pub fn with_unit(&self, figure: f64) -> String {
        // An aim like 60 needs no digits after the point.
        let text = if figure.fract() == 0.0 && (1.0..100.0).contains(&figure) {
            format!("{figure:.0}")
        } else {
            number(figure)
        };
        self.unit_after(&text)
    }

    /// A text with the unit of the row.
    pub fn unit_after(&self, text: &str) -> String {
        let space = if self.row.unit.starts_with('/') { "" } else { " " };
        format!("{text}{space}{}", self.row.unit)
    }

    /// A ratio as text.
    pub fn ratio_text(&self, ratio: f64) -> String {
        let times = if self.row.comparison == Comparison::Times { " times" } else { "" };
        format!("{ratio:.2}{times}")
    }
}

/// The targets with a missed aim, on any database, in order.
pub fn missed(tables: &[Vec<MeasuredRow>]) -> Vec<&'static Target> {
    let is_missed = |target: &&Target| {
        tables.iter().flatten().any(|measured| measured.row.target == target.id && measured.is_met() == Some(false))
    };
    TARGETS.iter().filter(is_missed).collect()
}
