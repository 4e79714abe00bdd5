//! Reads the payments file. It may have millions of rows, so rows are checked without the API's forms and stored
//! compactly.
//!
//! A payment without an id gets one derived from its time and amount, with a number if a loan has several alike. So it
//! has the same id each time the file is read, wherever its row is.

use super::PortfolioCheck;
use crate::check_report::CheckReport;
use crate::columns::{EXTERNAL, PAYMENT_COLUMNS, PAYMENT_NEEDS};
use crate::csv_file::{CsvFile, CsvRow};
use crate::error::ImportError;
use crate::portfolio::{Payment, Portfolio};
use csv::ByteRecord;
use daybook_engine::money::Cents;
use daybook_engine::time::Time;
use daybook_service::form::fields::Id;
use daybook_service::form::{self, BadForm, PaymentRecord};
use serde_json::{Map, Value, json};

/// The rows between two updates of the progress bar.
const ROWS_A_STEP: u64 = 1_000;

/// The positions of the columns.
struct Places {
    account: Option<usize>,
    amount: Option<usize>,
    at: Option<usize>,
    id: Option<usize>,
    words: Vec<(&'static str, Option<usize>)>,
    external: Vec<(usize, String)>,
}

fn is_column(name: &str) -> bool {
    let is_external = name.strip_prefix(EXTERNAL).is_some_and(|key| !key.is_empty());
    is_external || PAYMENT_COLUMNS.iter().any(|(known, _)| *known == name)
}

/// Reads the payments into the portfolio and adds their errors to the report.
pub fn read(
    mut csv_file: CsvFile,
    check: &PortfolioCheck<'_>,
    portfolio: &mut Portfolio,
    report: &mut CheckReport,
) -> Result<(), ImportError> {
    portfolio.payments_file.clone_from(&csv_file.file);
    if !csv_file.check_columns(&PAYMENT_NEEDS, is_column, report)? {
        return Ok(());
    }
    let external = csv_file.columns.iter().enumerate();
    let external = external.filter_map(|(place, name)| Some((place, name.strip_prefix(EXTERNAL)?.to_owned())));
    let places = Places {
        account: csv_file.place("account_id"),
        amount: csv_file.place("original_amount_cents"),
        at: csv_file.place("effective_at"),
        id: csv_file.place("line_item_id"),
        words: ["line_item_status", "allocation"].map(|name| (name, csv_file.place(name))).into(),
        external: external.collect(),
    };
    let progress = check.observer.begin("checking payments", csv_file.bytes);
    let mut payments = Vec::new();
    let mut record = ByteRecord::new();
    let mut rows = 0_u64;
    while let Some(line) = csv_file.next(&mut record)? {
        check.observer.check()?;
        rows += 1;
        if rows.is_multiple_of(ROWS_A_STEP) {
            progress.is_at(csv_file.at());
        }
        let checked = csv_file.read(line, &record, report, |row, report| {
            PaymentRow { csv_file: &csv_file, row, places: &places, check, portfolio: &*portfolio }.read(report)
        })?;
        payments.extend(checked.flatten());
    }
    settle_ids(&mut payments, &csv_file, report)?;
    payments.sort_by_key(|payment| (payment.loan, payment.at, payment.line));
    portfolio.payments = payments;
    progress.end(&format!("{rows} rows"));
    Ok(())
}

struct PaymentRow<'a> {
    csv_file: &'a CsvFile,
    row: &'a CsvRow<'a>,
    places: &'a Places,
    check: &'a PortfolioCheck<'a>,
    portfolio: &'a Portfolio,
}

impl PaymentRow<'_> {
    fn read(&self, report: &mut CheckReport) -> Result<Option<Payment>, ImportError> {
        let (account, amount) = (self.row.get(self.places.account), self.row.get(self.places.amount));
        let (at, id) = (self.row.get(self.places.at), self.row.get(self.places.id));
        let before = report.count();
        let mut wrong = |column: &str, value: &str, rule: &str| {
            report.add(self.csv_file.invalid(self.row.line, column, value, rule))
        };
        for (column, value) in PAYMENT_NEEDS.iter().zip([account, amount, at]) {
            if value.is_empty() {
                wrong(column, "", "must not be empty")?;
            }
        }
        let loan = self.portfolio.by_id.get(account).copied();
        if loan.is_none() && !account.is_empty() {
            wrong("account_id", account, &format!("is not a loan in {}", self.portfolio.loans_file))?;
        }
        let cents = amount.parse().ok().filter(|cents| (1..=Cents::LARGEST_INPUT.0).contains(cents));
        if cents.is_none() && !amount.is_empty() {
            let rule = format!("must be a whole number of cents from 1 to {}", Cents::LARGEST_INPUT.0);
            wrong("original_amount_cents", amount, &rule)?;
        }
        let time = self.check.product.moment(at);
        let start = loan.and_then(|loan| self.portfolio.loans.get(loan as usize)?.start);
        match time {
            None if at.is_empty() => {}
            None => wrong("effective_at", at, &self.check.product.moment_rule())?,
            Some(time) if time > self.check.now => wrong("effective_at", at, "is in the future")?,
            Some(time) if start.is_some_and(|start| time < start) => {
                wrong("effective_at", at, "is before the loan was made")?;
            }
            Some(_) => {}
        }
        if !id.is_empty()
            && let Err(rule) = Id::read(id)
        {
            wrong("line_item_id", id, &rule)?;
        }
        let more = self.more(report)?;
        let (Some(loan), Some(cents), Some(at)) = (loan, cents, time) else { return Ok(None) };
        let is_derived = id.is_empty();
        let id: Box<str> = if is_derived { derived_id(at, cents).into() } else { id.into() };
        let payment = Payment { loan, line: self.row.line, id, is_derived, cents, at, more };
        Ok((report.count() == before).then_some(payment))
    }

    /// The columns that most files do not have.
    fn more(&self, report: &mut CheckReport) -> Result<Option<Box<str>>, ImportError> {
        let mut fields = Map::new();
        for (name, place) in &self.places.words {
            let value = self.row.get(*place);
            if value.is_empty() {
                continue;
            }
            let one = Map::from_iter([((*name).to_owned(), Value::from(value))]);
            if let Some(rule) = refused(&one) {
                report.add(self.csv_file.invalid(self.row.line, name, value, &rule))?;
            }
            fields.extend(one);
        }
        let external = self.places.external.iter().map(|(place, key)| (key, self.row.get(Some(*place))));
        let external: Vec<Value> = external
            .filter(|pair| !pair.1.is_empty())
            .map(|(key, value)| json!({ "key": key, "value": value }))
            .collect();
        if !external.is_empty() {
            let one = Map::from_iter([("external_fields".to_owned(), Value::from(external))]);
            if let Some(rule) = refused(&one) {
                report.add(self.csv_file.invalid(self.row.line, "external_fields", "", &rule))?;
            }
            fields.extend(one);
        }
        let text = fields.iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect::<String>();
        Ok((!text.is_empty()).then(|| text.into()))
    }
}

/// The rule that some fields of a payment break.
fn refused(fields: &Map<String, Value>) -> Option<String> {
    let mut body = fields.clone();
    body.insert("line_item_id".to_owned(), Value::from("p"));
    body.insert("original_amount_cents".to_owned(), Value::from(1));
    match form::parse::<PaymentRecord>(&serde_json::to_vec(&body).unwrap_or_default()) {
        Ok(_) => None,
        Err(BadForm::Malformed { message } | BadForm::Invalid { message, .. }) => Some(message),
    }
}

/// An id derived from the content of a row.
fn derived_id(at: Time, cents: i64) -> String {
    format!("payment-{at}-{cents}")
}

/// Reports duplicate ids within a loan, and numbers derived ids that are alike.
fn settle_ids(payments: &mut [Payment], csv_file: &CsvFile, report: &mut CheckReport) -> Result<(), ImportError> {
    // Given ids are first, so that a derived id that collides with one gets a number.
    payments.sort_unstable_by(|one, other| {
        (one.loan, &one.id, one.is_derived, one.line).cmp(&(other.loan, &other.id, other.is_derived, other.line))
    });
    for alike in payments.chunk_by_mut(|one, other| (one.loan, &one.id) == (other.loan, &other.id)) {
        let first = alike.first().map_or(0, |payment| payment.line);
        for (number, payment) in (1_u32..).zip(alike).skip(1) {
            if payment.is_derived {
                payment.id = format!("{}-{number}", payment.id).into();
            } else {
                let rule = format!("is already the id of the payment in line {first}, for the same loan");
                report.add(csv_file.invalid(payment.line, "line_item_id", &payment.id, &rule))?;
            }
        }
    }
    Ok(())
}
