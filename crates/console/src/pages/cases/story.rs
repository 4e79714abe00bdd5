//! A case as readable tables: its events and its expected results.

use crate::display::{DisplayTime, Money, plain_words};
use daybook_cases::Scenario;
use daybook_cases::scenario::{Event, Field, ProcessingMode};
use serde_json::Value;

/// A case in readable form.
#[derive(Debug)]
pub struct Story {
    /// The title.
    pub title: String,
    /// The comment at the beginning of the file.
    pub about: Vec<Passage>,
    /// How its events are entered.
    pub mode: &'static str,
    /// The start of the account.
    pub begins_at: DisplayTime,
    /// The end of the case.
    pub ends_at: DisplayTime,
    /// The product, the customer and the account, each as names and values.
    pub given: Vec<(&'static str, Vec<(String, String)>)>,
    /// The events.
    pub events: Vec<CaseEvent>,
    /// The expected results.
    pub groups: Vec<ExpectationGroup>,
}

/// A paragraph of the file's comment.
#[derive(Debug, PartialEq, Eq)]
pub struct Passage {
    /// The text, or the rows.
    pub text: String,
    /// Whether the paragraph is a table with aligned columns.
    pub are_figures: bool,
}

/// An event.
#[derive(Debug)]
pub struct CaseEvent {
    /// Its line in the file.
    pub line: usize,
    /// When it takes effect.
    pub effective_at: DisplayTime,
    /// When it was recorded, if later.
    pub recorded_at: Option<DisplayTime>,
    /// A description.
    pub what: String,
    /// The amount; empty if there is none.
    pub amount: String,
    /// Other details.
    pub details: String,
}

/// Expectations of one kind.
#[derive(Debug)]
pub struct ExpectationGroup {
    /// The title.
    pub title: String,
    /// The line in the file, a name, and the expected value.
    pub rows: Vec<(usize, String, String)>,
}

/// How a case's events are entered, in plain text.
pub fn mode_words(mode: ProcessingMode) -> &'static str {
    match mode {
        ProcessingMode::Migration => "Migration: all events are held, then released together",
        ProcessingMode::Live => "Live: each event is processed when it arrives",
    }
}

/// The number of expectations of a case.
pub fn expectations(case: &Scenario) -> usize {
    groups(case).iter().map(|group| group.rows.len()).sum()
}

impl Story {
    /// Describes a case. `text` is its file, which has the comment.
    pub fn new(case: &Scenario, text: &str) -> Story {
        let mut given = vec![("Product", leaves(&case.product))];
        given.extend(case.customer.as_ref().map(|customer| ("Customer", leaves(customer))));
        given.push(("Account", leaves(&case.account)));
        Story {
            title: case.title.clone(),
            about: about(text),
            mode: mode_words(case.mode),
            begins_at: DisplayTime(case.account_effective_at.text.clone()),
            ends_at: DisplayTime(case.ends_at().text.clone()),
            given,
            events: case.events.iter().map(happening).collect(),
            groups: groups(case),
        }
    }
}

/// The indentation of table rows in a comment.
const INDENT: &str = "   ";

/// The comment at the beginning of a file. Indented lines are table rows and keep their layout.
fn about(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut goes_on = false;
    for line in text.lines().map_while(|line| line.strip_prefix('#')) {
        let are_figures = line.starts_with(INDENT);
        let line = line.strip_prefix(INDENT).unwrap_or(line.trim_start()).trim_end();
        match passages.last_mut().filter(|last| goes_on && last.are_figures == are_figures) {
            _ if line.is_empty() => {}
            Some(last) => {
                last.text.push(if are_figures { '\n' } else { ' ' });
                last.text.push_str(line);
            }
            None => passages.push(Passage { text: line.to_owned(), are_figures }),
        }
        goes_on = !line.is_empty();
    }
    passages
}

fn happening(event: &Event) -> CaseEvent {
    let amount = event.input.body.get("original_amount_cents");
    let about = event.input.target.as_ref().map(|target| format!("of {target}"));
    let rest = event.input.body.iter().filter(|(name, _)| *name != "original_amount_cents");
    let rest = rest.flat_map(|(name, value)| named_leaves(name, value));
    let details: Vec<String> = about.into_iter().chain(rest.map(|(name, value)| format!("{name}: {value}"))).collect();
    CaseEvent {
        line: event.line,
        effective_at: DisplayTime(event.effective_at.text.clone()),
        recorded_at: event.recorded_at.as_ref().map(|at| DisplayTime(at.text.clone())),
        what: plain_words(event.input.kind.name()),
        amount: amount.map_or_else(String::new, |amount| shown("original_amount_cents", amount)),
        details: details.join(", "),
    }
}

fn groups(case: &Scenario) -> Vec<ExpectationGroup> {
    let expect = &case.expect;
    let rows = |fields: &[Field]| fields.iter().map(row).collect::<Vec<_>>();
    let mut groups = Vec::new();
    let mut add = |title: String, rows: Vec<(usize, String, String)>| {
        if !rows.is_empty() {
            groups.push(ExpectationGroup { title, rows });
        }
    };
    add("The account at the end".to_owned(), rows(&expect.account));
    for at in &expect.account_at {
        add(format!("The account on {}", DisplayTime(at.at.text.clone())), rows(&at.fields));
    }
    let item = |line: usize, fields: &[Field]| {
        let fields: Vec<String> = fields.iter().map(row).map(|(_, name, value)| format!("{name}: {value}")).collect();
        (line, "A line item with".to_owned(), fields.join(", "))
    };
    add("Line items".to_owned(), expect.line_items.iter().map(|one| item(one.line, &one.fields)).collect());
    let counts = expect.line_item_counts.iter();
    add(
        "Number of valid line items".to_owned(),
        counts.map(|one| (one.line, plain_words(&one.line_item_type), one.count.to_string())).collect(),
    );
    let times = |count: Option<u64>| match count {
        None => "at least once".to_owned(),
        Some(0) => "never".to_owned(),
        Some(1) => "once".to_owned(),
        Some(many) => format!("{many} times"),
    };
    add(
        "Webhook messages".to_owned(),
        expect.webhooks.iter().map(|one| (one.line, one.event.clone(), times(one.count))).collect(),
    );
    for one in &expect.schedule {
        add(format!("Instalment {} of the schedule", one.row), rows(&one.fields));
    }
    groups
}

fn row(field: &Field) -> (usize, String, String) {
    let name = field.path.last().map_or("", String::as_str);
    (field.line, path_words(&field.path), shown(name, &field.value))
}

/// Words for fields whose names are not plain.
const FIELD_WORDS: &[(&str, &str)] = &[
    ("account_overview", "account"),
    ("account_status", "status"),
    ("account_status_subtype", "reason for the status"),
    ("account_substatus", "reason for the status"),
    ("am_end_principal_balance_cents", "principal left"),
    ("am_fees_cents", "fees"),
    ("am_interest_cents", "interest"),
    ("am_min_pay_cents", "instalment"),
    ("am_principal_cents", "principal"),
    ("am_start_principal_balance_cents", "principal before"),
    ("charge_off_on_n_consecutive_late_fees", "late instalments in a row that charge the account off"),
    ("consecutive_late_fees", "late instalments in a row"),
    ("cycle_due_interval", "due date, from the end of a cycle"),
    ("cycle_interval", "length of a cycle"),
    ("default_late_fee_cents", "late fee"),
    ("default_payment_reversal_fee_cents", "fee for a bounced payment"),
    ("delinquent_on_n_consecutive_late_fees", "late instalments in a row that make the account delinquent"),
    ("first_cycle_interval", "length of the first cycle"),
    ("installment_rounding_cents", "instalments are multiples of"),
    ("interest_calc_method", "calculation of interest"),
    ("interest_only_cycles", "interest-only instalments"),
    ("late_fee_grace", "grace period"),
    ("late_fee_grace_counts_due_date", "the due date is the first day of the grace period"),
    ("line_item_id", "id"),
    ("line_item_status", "status"),
    ("line_item_type", "type"),
    ("min_pay_cents", "amount due"),
    ("min_pay_due_at", "due"),
    ("month_end", "due date in a shorter month"),
    ("order", "order of debts"),
    ("original_amount_cents", "amount"),
    ("outstanding_cents", "unpaid"),
    ("per_diem_interest_cents", "interest per day"),
    ("post_promo_default_interest_rate_percent", "interest rate, percent a year"),
    ("post_promo_impl_interest_rate_percent", "interest rate, percent a year"),
    ("post_promo_len", "number of instalments"),
    ("smooth_last_installment", "last instalment closer to the others"),
    ("span", "order of instalments"),
    ("surplus", "overpayments"),
    ("time_offset", "days before or after the date"),
    ("total_interest_paid_to_date_cents", "interest paid to date"),
    ("total_paid_to_date_cents", "paid to date"),
    ("total_payoff_cents", "payoff"),
];

/// A path in plain text: `summary.principal_cents` becomes `Summary: principal`.
fn path_words(path: &[String]) -> String {
    let words: Vec<String> = path.iter().map(|part| part_words(part)).collect();
    plain_words(&words.join(": "))
}

fn part_words(part: &str) -> String {
    match FIELD_WORDS.iter().find(|(name, _)| *name == part) {
        Some((_, words)) => (*words).to_owned(),
        None => plain_words(part.strip_suffix("_cents").unwrap_or(part)).to_lowercase(),
    }
}

/// Every leaf of a JSON value, with its path in plain text.
fn leaves(value: &Value) -> Vec<(String, String)> {
    value.as_object().into_iter().flatten().flat_map(|(name, value)| named_leaves(name, value)).collect()
}

fn named_leaves(name: &str, value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Object(fields) => {
            let inside = fields.iter().flat_map(|(name, value)| named_leaves(name, value));
            inside.collect()
        }
        value => vec![(path_words(&[name.to_owned()]), shown(name, value))],
    }
}

/// A value in readable form; cents become dollars.
fn shown(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "empty".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => match DisplayTime(text.clone()) {
            moment if moment.time().is_some() => moment.to_string(),
            _ => text.clone(),
        },
        Value::Number(number) => match number.as_i64().filter(|_| name.ends_with("_cents")) {
            Some(cents) => Money(cents).to_string(),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybook_cases::builtin;
    use std::path::Path;

    #[test]
    fn every_case_of_ours_is_told() {
        for (file, text) in builtin() {
            let case = daybook_cases::parse(Path::new(file), text).expect("it is a case");
            let story = Story::new(&case, text);
            assert!(!story.about.is_empty(), "{file} does not begin with what it is about");
            assert_eq!(story.events.len(), case.events.len(), "{file}");
            assert!(expectations(&case) > 3, "{file} expects next to nothing");
        }
    }

    #[test]
    fn money_and_moments_are_told_as_such() {
        let path = ["summary".to_owned(), "principal_cents".to_owned()];
        assert_eq!(path_words(&path), "Summary: principal");
        assert_eq!(path_words(&["am_min_pay_cents".to_owned()]), "Instalment");
        assert_eq!(shown("principal_cents", &Value::from(91_853)), "$918.53");
        assert_eq!(shown("days_past_due", &Value::from(25)), "25");
        assert_eq!(
            shown("min_pay_due_at", &Value::from("2025-04-15T00:00:00-04:00")),
            "15 Apr 2025, 00:00 UTC\u{2212}04:00"
        );
    }

    #[test]
    fn words_flow_and_figures_stay_below_each_other() {
        let passage = |text: &str, are_figures| Passage { text: text.to_owned(), are_figures };
        let told = about("# One\n# line.\n#\n# Two:\n#   a   1\n#    b  2\n# Three.\n\n# not this\ntitle = 1");
        let words = [passage("One line.", false), passage("Two:", false)];
        let rest = [passage("a   1\n b  2", true), passage("Three.", false)];
        assert_eq!(told, words.into_iter().chain(rest).collect::<Vec<_>>());
    }
}
