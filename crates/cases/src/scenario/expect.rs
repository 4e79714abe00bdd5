//! The expectations of a case. Only named fields are compared.

use super::CaseMoment;
use super::table::{ScenarioResult, SourceFile, Table};
use serde_json::Value;
use toml::Spanned;
use toml::de::DeValue;

/// All expectations of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// Of the account at the end.
    pub account: Vec<Field>,
    /// Of the account as of a point in time.
    pub account_at: Vec<AccountAt>,
    /// Line items: for each, one item of the account must match.
    pub line_items: Vec<ExpectedLineItem>,
    /// How many valid line items there are of a type.
    pub line_item_counts: Vec<LineItemCount>,
    /// Messages that a subscriber must have received.
    pub webhooks: Vec<Webhook>,
    /// Rows of the amortization schedule.
    pub schedule: Vec<ExpectedRow>,
}

impl Expect {
    /// Whether nothing is expected at all.
    pub fn is_empty(&self) -> bool {
        *self == Expect::default()
    }
}

/// A field and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its line.
    pub line: usize,
    /// The path to it: `["summary", "principal_cents"]`.
    pub path: Vec<String>,
    /// The expected value.
    pub value: Value,
}

/// The account as of a point in time.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountAt {
    /// The line it begins at.
    pub line: usize,
    /// The point in time.
    pub at: CaseMoment,
    /// The expected values then.
    pub fields: Vec<Field>,
}

/// A line item that must exist.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedLineItem {
    /// The line it begins at.
    pub line: usize,
    /// The expected values. Each path is a single name. `effective_on` and `applied_on` are the local dates of
    /// `effective_at` and `applied_at`; other fields are found in whichever part of a line item has them.
    pub fields: Vec<Field>,
}

/// The number of line items of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineItemCount {
    /// Its line.
    pub line: usize,
    /// The type, as `LATE_FEE`.
    pub line_item_type: String,
    /// How many.
    pub count: u64,
}

/// A message that must have been received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// The line it begins at.
    pub line: usize,
    /// The event's name.
    pub event: String,
    /// How many times; `None` means at least once.
    pub count: Option<u64>,
}

/// A row of the amortization schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedRow {
    /// The line it begins at.
    pub line: usize,
    /// Which row, counted from 1.
    pub row: u64,
    /// The expected values.
    pub fields: Vec<Field>,
}

/// The top-level fields of an account.
const ACCOUNT_FIELDS: &[&str] = &[
    "account_id",
    "effective_at",
    "processed_through",
    "held_events",
    "account_overview",
    "account_product",
    "cycle_type",
    "min_pay_due_cents",
    "additional_min_pay_details",
    "delinquency",
    "summary",
    "customers",
    "external_fields",
];

const LINE_ITEM_FIELDS: &[&str] = &[
    "line_item_id",
    "line_item_type",
    "line_item_status",
    "description",
    "effective_on",
    "effective_at",
    "applied_on",
    "applied_at",
    "original_amount_cents",
    "balance_cents",
    "principal_cents",
    "interest_cents",
    "fees_cents",
    "processing_state",
];

const SCHEDULE_FIELDS: &[&str] = &[
    "cycle_exclusive_end",
    "min_pay_due_at",
    "am_min_pay_cents",
    "am_interest_cents",
    "am_principal_cents",
    "am_start_principal_balance_cents",
    "am_end_principal_balance_cents",
    "am_fees_cents",
    "paid_cents",
    "outstanding_cents",
    "paid_on_time",
    "retired",
    "deferred_cents",
    "shortfall_cents",
];

/// Reads `[expect]`.
pub fn expect(source: SourceFile<'_>, value: &Spanned<DeValue<'_>>) -> ScenarioResult<Expect> {
    let mut table = source.table("expect", value)?;
    let account = match table.take("account") {
        Some(value) => fields(&source.table("expect.account", value)?, ACCOUNT_FIELDS)?,
        None => Vec::new(),
    };
    let account_at = each(source, "expect.account_at", table.take("account_at"), account_at)?;
    let line_items = each(source, "expect.line_item", table.take("line_item"), |table| {
        let fields = fields(&table, LINE_ITEM_FIELDS)?;
        Ok(ExpectedLineItem { line: table.line(), fields })
    })?;
    let line_item_counts = match table.take("line_item_count") {
        Some(value) => counts(&source.table("expect.line_item_count", value)?)?,
        None => Vec::new(),
    };
    let webhooks = each(source, "expect.webhook", table.take("webhook"), webhook)?;
    let schedule = each(source, "expect.schedule", table.take("schedule"), schedule_row)?;
    table.done()?;
    Ok(Expect { account, account_at, line_items, line_item_counts, webhooks, schedule })
}

fn each<'t, 'i: 't, 'a, T>(
    source: SourceFile<'a>,
    name: &str,
    value: Option<&'t Spanned<DeValue<'i>>>,
    read: impl Fn(Table<'t, 'i, 'a>) -> ScenarioResult<T>,
) -> ScenarioResult<Vec<T>> {
    source.tables(name, value)?.into_iter().map(read).collect()
}

fn account_at(mut table: Table<'_, '_, '_>) -> ScenarioResult<AccountAt> {
    let at = table.need("at")?;
    let at = table.source.moment("at", at)?;
    Ok(AccountAt { line: table.line(), at, fields: fields(&table, ACCOUNT_FIELDS)? })
}

fn webhook(mut table: Table<'_, '_, '_>) -> ScenarioResult<Webhook> {
    let event = table.need("event")?;
    let event = table.source.text("event", event)?;
    let count = table.take("count").map(|value| table.source.count("count", value)).transpose()?;
    table.done()?;
    Ok(Webhook { line: table.line(), event, count })
}

fn schedule_row(mut table: Table<'_, '_, '_>) -> ScenarioResult<ExpectedRow> {
    let value = table.need("row")?;
    let row = table.source.count("row", value)?;
    if row == 0 {
        return Err(table.source.error(value.span(), "row must be 1 or more: the first row is row 1"));
    }
    Ok(ExpectedRow { line: table.line(), row, fields: fields(&table, SCHEDULE_FIELDS)? })
}

fn counts(table: &Table<'_, '_, '_>) -> ScenarioResult<Vec<LineItemCount>> {
    let count = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let line_item_type = key.get_ref().to_string();
        let count = table.source.count(&line_item_type, value)?;
        Ok(LineItemCount { line: table.source.line(&key.span()), line_item_type, count })
    };
    table.rest().into_iter().map(count).collect()
}

/// The expected fields of a table, without the keys already taken. At least one is required: an empty expectation is a
/// mistake.
fn fields(table: &Table<'_, '_, '_>, known: &[&str]) -> ScenarioResult<Vec<Field>> {
    let mut found = Vec::new();
    for (key, value) in table.rest() {
        if !known.contains(&key.get_ref().as_ref()) {
            return Err(table.unknown(key, known));
        }
        leaves(table.source, vec![key.get_ref().to_string()], value, &mut found)?;
    }
    if found.is_empty() {
        return Err(table.error(format!("{} must have at least one field", table.name)));
    }
    found.sort_by_key(|field| field.line);
    Ok(found)
}

/// Adds one field for each value inside, so that each is compared and shown separately.
fn leaves(
    source: SourceFile<'_>,
    path: Vec<String>,
    value: &Spanned<DeValue<'_>>,
    found: &mut Vec<Field>,
) -> ScenarioResult<()> {
    if let DeValue::Table(fields) = value.get_ref() {
        for (key, value) in fields {
            let mut path = path.clone();
            path.push(key.get_ref().to_string());
            leaves(source, path, value, found)?;
        }
        return Ok(());
    }
    let value_json = source.json(&path.join("."), value)?;
    found.push(Field { line: source.line(&value.span()), path, value: value_json });
    Ok(())
}
