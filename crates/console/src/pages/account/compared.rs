//! What a change of a loan would do, for its preview page: the figures and the schedule before and after, and the
//! messages.

use crate::display::{AsMoment, AsMoney, DisplayTime, Money, plain_words, reason_words};
use daybook_service::view::{AccountFigures, MessageEffect, RowEffect, ScheduleRow};
use std::collections::{BTreeMap, BTreeSet};

/// The most rows of the two schedules that are shown.
const MOST_ROWS: usize = 240;
/// A longer run of rows that do not change is shown as one line.
const LONGEST_RUN: usize = 6;

/// A figure before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// Its value before.
    pub before: String,
    /// Its value after.
    pub after: String,
}

/// The figures of an account before and after; unchanged ones are included.
pub fn figures(before: Option<&AccountFigures>, after: &AccountFigures) -> Vec<Figure> {
    let figure = |name, value: &dyn Fn(&AccountFigures) -> String| Figure {
        name,
        before: before.map(value).unwrap_or_default(),
        after: value(after),
    };
    let day = |at: Option<DisplayTime>| at.map_or_else(|| "none".to_owned(), |at| at.day());
    let money = |name, cents: fn(&AccountFigures) -> i64| figure(name, &|of| cents(of).money().to_string());
    vec![
        money("Balance", |of| of.total_balance_cents),
        money("Principal", |of| of.principal_cents),
        money("Interest", |of| of.interest_balance_cents),
        money("Fees", |of| of.fees_balance_cents),
        money("Surplus", |of| of.surplus_cents),
        money("Payoff", |of| of.total_payoff_cents),
        money("Past due", |of| of.past_due_cents),
        figure("Days past due", &|of| of.days_past_due.to_string()),
        figure("Late instalments in a row", &|of| of.consecutive_late_fees.to_string()),
        money("Amount due", |of| of.min_pay_cents),
        figure("Next due date", &|of| day(of.min_pay_due_at.map(|at| at.moment()))),
        figure("Last due date", &|of| of.loan_end_date.moment().day()),
        figure("Interest rate", &|of| format!("{} % a year", of.interest_rate_percent)),
        figure("Status", &|of| match of.account_overview.account_status_subtype {
            Some(reason) => format!("{}, {}", plain_words(of.account_overview.account_status), reason_words(reason)),
            None => plain_words(of.account_overview.account_status),
        }),
    ]
}

/// The date and the amounts of an instalment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instalment {
    /// Its due date.
    pub due: String,
    /// The instalment.
    pub amount: Money,
    /// The interest in it.
    pub interest: Money,
    /// The principal in it.
    pub principal: Money,
    /// What is still to be paid of it.
    pub outstanding: Money,
}

impl From<&ScheduleRow> for Instalment {
    fn from(row: &ScheduleRow) -> Instalment {
        Instalment {
            due: row.min_pay_due_at.moment().day(),
            amount: row.am_min_pay_cents.money(),
            interest: row.am_interest_cents.money(),
            principal: row.am_principal_cents.money(),
            outstanding: row.outstanding_cents.money(),
        }
    }
}

/// A row of the two schedules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparedRow {
    /// An instalment that is in both, or in one of them.
    Row {
        /// Its number, from 1.
        number: usize,
        /// Before; `None` if it is new.
        before: Option<Instalment>,
        /// After; `None` if it no longer exists.
        after: Option<Instalment>,
    },
    /// So many instalments do not change.
    Same(usize),
    /// So many more instalments are not shown.
    More(usize),
}

impl ComparedRow {
    /// Whether the instalment changes.
    pub fn is_changed(&self) -> bool {
        matches!(self, ComparedRow::Row { before, after, .. } if before != after)
    }
}

/// The present schedule and the one after the change, row by row.
pub fn schedules(present: &[ScheduleRow], effects: &[RowEffect]) -> Vec<ComparedRow> {
    let dated = |row: &ScheduleRow| (row.min_pay_due_at.moment().date().to_owned(), Instalment::from(row));
    let before: Vec<(String, Instalment)> = present.iter().map(dated).collect();
    let changed: BTreeSet<String> = effects.iter().map(|effect| effect.due_date.to_string()).collect();
    let made = effects.iter().filter_map(|effect| {
        let (date, row) = (effect.due_date.to_string(), effect.after.as_ref()?);
        let instalment = Instalment {
            due: DisplayTime(date.clone()).day(),
            amount: row.am_min_pay_cents.money(),
            interest: row.am_interest_cents.money(),
            principal: row.am_principal_cents.money(),
            outstanding: row.outstanding_cents.unwrap_or_default().money(),
        };
        Some((date, instalment))
    });
    let mut after: Vec<(String, Instalment)> =
        before.iter().filter(|(date, _)| !changed.contains(date)).cloned().chain(made).collect();
    after.sort_by(|(date, _), (other, _)| date.cmp(other));
    let count = before.len().max(after.len());
    let row = |rows: &[(String, Instalment)], index: usize| rows.get(index).map(|(_, row)| row.clone());
    fold((0..count).map(|index| (row(&before, index), row(&after, index))).collect())
}

/// Numbers the rows, and replaces long runs of rows that do not change.
fn fold(rows: Vec<(Option<Instalment>, Option<Instalment>)>) -> Vec<ComparedRow> {
    let mut shown = Vec::new();
    let mut run = Vec::new();
    let end_run = |run: &mut Vec<ComparedRow>, shown: &mut Vec<ComparedRow>| {
        match run.len() {
            LONGEST_RUN.. => shown.push(ComparedRow::Same(run.len())),
            _ => shown.append(run),
        }
        run.clear();
    };
    for (index, (before, after)) in rows.into_iter().enumerate() {
        let row = ComparedRow::Row { number: index + 1, before, after };
        if row.is_changed() {
            end_run(&mut run, &mut shown);
            shown.push(row);
        } else {
            run.push(row);
        }
    }
    end_run(&mut run, &mut shown);
    if shown.len() > MOST_ROWS {
        let more = shown.len() - MOST_ROWS;
        shown.truncate(MOST_ROWS);
        shown.push(ComparedRow::More(more));
    }
    shown
}

/// Messages of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Messages {
    /// The event.
    pub event: String,
    /// How many.
    pub count: u64,
    /// When they are sent: `at once`, or the first date.
    pub sent: String,
}

/// The messages by event and time, those that are sent at once first.
pub fn messages(effects: &[MessageEffect]) -> Vec<Messages> {
    let mut counts: BTreeMap<(Option<String>, &str), (u64, String)> = BTreeMap::new();
    for message in effects {
        let at = (!message.is_sent_at_once).then(|| message.effective_at.to_string());
        let sent =
            if message.is_sent_at_once { "at once".to_owned() } else { message.effective_at.moment().to_string() };
        counts.entry((at, &message.event)).or_insert((0, sent)).0 += 1;
    }
    let messages = counts.into_iter();
    messages.map(|((_, event), (count, sent))| Messages { event: event.to_owned(), count, sent }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(due: &str, cents: i64) -> Option<Instalment> {
        let (amount, nothing) = (Money(cents), Money(0));
        Some(Instalment { due: due.to_owned(), amount, interest: nothing, principal: amount, outstanding: amount })
    }

    #[test]
    fn long_runs_without_change_are_one_line() {
        let mut rows: Vec<_> = (0..8).map(|_| (row("1 Jan 2025", 5), row("1 Jan 2025", 5))).collect();
        rows.push((row("1 Feb 2025", 5), row("2 Feb 2025", 5)));
        rows.push((row("1 Mar 2025", 5), row("1 Mar 2025", 5)));
        rows.push((None, row("1 Apr 2025", 5)));
        let shown = fold(rows);
        assert_eq!(shown[0], ComparedRow::Same(8));
        let changed: Vec<bool> = shown.iter().map(ComparedRow::is_changed).collect();
        assert_eq!(changed, [false, true, false, true]);
        let ComparedRow::Row { number, .. } = shown[1] else { panic!("{:?}", shown[1]) };
        assert_eq!(number, 9);
        let many = (0..300).map(|_| (row("1 Jan 2025", 5), None)).collect();
        assert_eq!(fold(many).last(), Some(&ComparedRow::More(60)));
    }
}
