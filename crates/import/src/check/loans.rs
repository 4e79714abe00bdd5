//! Reads the loans file and checks each row, which becomes the calls that create its borrower and open its account.
//!
//! Rows are checked with the forms of the API, and their terms against the product as in the service, so the server
//! accepts every row that passes here. Only if a whole row is refused are its values checked one by one, so that every
//! invalid value is reported.

use super::PortfolioCheck;
use super::loan_row::{LoanRow, read_form};
use crate::check_report::{CheckReport, InvalidValue};
use crate::columns::{
    Column, ColumnTarget, EXTERNAL, LOAN_COLUMNS, LOAN_NEEDS, OPENING_NEEDS, OPENING_PRINCIPAL, expected_value_of,
};
use crate::csv_file::{CsvFile, CsvRow};
use crate::error::ImportError;
use crate::portfolio::{Customer, Expected, ImportedLoan, Portfolio};
use csv::ByteRecord;
use daybook_engine::status::AccountStanding;
use daybook_service::form::{NewAccount, NewCustomer};
use daybook_service::policy;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The valid statuses of an account.
const STATUSES: [&str; 3] =
    [AccountStanding::Active.name(), AccountStanding::Suspended.name(), AccountStanding::Closed.name()];

/// The meaning of each column.
struct Heads {
    known: Vec<(usize, &'static Column)>,
    external: Vec<(usize, String)>,
    /// The column of each expected value of the portfolio.
    expected: Vec<usize>,
}

impl Heads {
    fn of(csv_file: &CsvFile, portfolio: &mut Portfolio) -> Heads {
        let mut heads = Heads { known: Vec::new(), external: Vec::new(), expected: Vec::new() };
        for (place, name) in csv_file.columns.iter().enumerate() {
            if let Some(column) = known(name) {
                heads.known.push((place, column));
            } else if let Some(key) = name.strip_prefix(EXTERNAL) {
                heads.external.push((place, key.to_owned()));
            } else if let Some(outcome) = expected_value_of(name) {
                heads.expected.push(place);
                portfolio.outcomes.push(outcome);
            }
        }
        heads
    }
}

fn known(name: &str) -> Option<&'static Column> {
    LOAN_COLUMNS.iter().find(|column| column.name == name)
}

fn is_column(name: &str) -> bool {
    let is_external = name.strip_prefix(EXTERNAL).is_some_and(|key| !key.is_empty());
    known(name).is_some() || is_external || expected_value_of(name).is_some()
}

/// Reads the loans into the portfolio and adds their errors to the report. Returns whether the columns are valid.
pub fn read(
    mut csv_file: CsvFile,
    check: &PortfolioCheck<'_>,
    portfolio: &mut Portfolio,
    report: &mut CheckReport,
) -> Result<bool, ImportError> {
    portfolio.loans_file.clone_from(&csv_file.file);
    let has_openings = csv_file.columns.iter().any(|name| name == OPENING_PRINCIPAL);
    let needs: &'static [&'static str] = if has_openings { &OPENING_NEEDS } else { &LOAN_NEEDS };
    if !csv_file.check_columns(needs, is_column, report)? {
        return Ok(false);
    }
    let heads = Heads::of(&csv_file, portfolio);
    let mut reading = Reading { check, heads, needs, portfolio, customers: HashMap::new() };
    let progress = check.observer.begin("checking loans", csv_file.bytes);
    let mut record = ByteRecord::new();
    while let Some(line) = csv_file.next(&mut record)? {
        check.observer.check()?;
        progress.is_at(csv_file.at());
        csv_file.read(line, &record, report, |row, report| reading.take(&csv_file, row, report))?;
    }
    progress.end(&format!("{} rows", reading.portfolio.loans.len()));
    Ok(true)
}

struct Reading<'a> {
    check: &'a PortfolioCheck<'a>,
    heads: Heads,
    /// The required columns.
    needs: &'static [&'static str],
    portfolio: &'a mut Portfolio,
    /// The index of a customer, by id.
    customers: HashMap<String, usize>,
}

/// A row of the file, and the loan that was read from it.
struct FilledRow<'a> {
    csv_file: &'a CsvFile,
    row: &'a CsvRow<'a>,
    filled: &'a LoanRow,
}

impl FilledRow<'_> {
    /// An invalid value of this row.
    fn invalid(&self, column: &str, value: &str, rule: &str) -> InvalidValue {
        self.csv_file.invalid(self.row.line, column, value, rule)
    }
}

impl Reading<'_> {
    /// Reads a row. An invalid row is kept too, so that its payments find their loan.
    fn take(&mut self, csv_file: &CsvFile, row: &CsvRow<'_>, report: &mut CheckReport) -> Result<(), ImportError> {
        let before = report.count();
        let account_id = row.get(csv_file.place("account_id"));
        let mut wrong =
            |column: &str, value: &str, rule: &str| report.add(csv_file.invalid(row.line, column, value, rule));
        for column in self.needs.iter().filter(|column| row.get(csv_file.place(column)).is_empty()) {
            wrong(column, "", "must not be empty")?;
        }
        let index = self.portfolio.loans.len() as u32;
        match self.portfolio.by_id.entry(account_id.into()) {
            _ if account_id.is_empty() => return Ok(()),
            Entry::Occupied(first) => {
                let line = self.portfolio.loans.get(*first.get() as usize).map_or(0, |loan| loan.line);
                wrong("account_id", account_id, &format!("is already the id of the loan in line {line}"))?;
                return Ok(());
            }
            Entry::Vacant(place) => drop(place.insert(index)),
        }
        let mut filled = LoanRow::new(&self.check.product.id);
        for (place, column) in &self.heads.known {
            let value = row.get(Some(*place));
            if let Some(rule) = filled.fill(column, value, self.check.product, self.check.now) {
                wrong(column.name, value, &rule)?;
            }
        }
        for (place, key) in &self.heads.external {
            let value = row.get(Some(*place));
            if !value.is_empty() {
                filled.external.push(json!({ "key": key, "value": value }));
            }
        }
        if filled.as_of.is_some_and(|as_of| filled.start.is_some_and(|start| as_of < start)) {
            let value = row.get(csv_file.place("expected_as_of"));
            wrong("expected_as_of", value, "is before the loan was made")?;
        }
        let expected = self.expected(row, &mut wrong)?;
        if filled.customer.is_empty() && filled.customer_id.is_none() && !self.check.options.allows_no_customer {
            wrong(name_column(csv_file), "", NO_BORROWER)?;
        }
        if filled.customer.is_empty()
            && let Some(customer_id) = &filled.customer_id
        {
            self.portfolio.references.entry(customer_id.clone()).or_insert(row.line);
            if !self.check.options.keeps_references {
                filled.customer_id = None;
            }
        }
        let customer = filled.settle(account_id);
        let loan = FilledRow { csv_file, row, filled: &filled };
        if report.count() == before {
            self.check_whole(&loan, report)?;
        } else {
            self.check_alone(&loan, report)?;
        }
        if report.count() == before
            && let Some(customer_id) = customer
        {
            self.know_customer(&loan, customer_id, report)?;
        }
        self.portfolio.loans.push(ImportedLoan {
            line: row.line,
            account_id: account_id.into(),
            start: filled.start,
            body: Value::Object(filled.account).to_string().into(),
            as_of: filled.as_of,
            expected,
        });
        Ok(())
    }

    fn expected(
        &self,
        row: &CsvRow<'_>,
        wrong: &mut impl FnMut(&str, &str, &str) -> Result<(), ImportError>,
    ) -> Result<Vec<(u16, Expected)>, ImportError> {
        let mut found = Vec::new();
        for (number, (place, outcome)) in (0..).zip(self.heads.expected.iter().zip(&self.portfolio.outcomes)) {
            let value = row.get(Some(*place));
            if value.is_empty() {
                continue;
            }
            match value.parse() {
                _ if outcome.name == "status" && !STATUSES.contains(&value) => {
                    let rule = format!("must be one of {}", STATUSES.join(", "));
                    wrong("expected_status", value, &rule)?;
                }
                _ if outcome.is_word => found.push((number, Expected::Word(value.into()))),
                Ok(amount) => found.push((number, Expected::Number(amount))),
                Err(_) => wrong(&format!("expected_{}", outcome.name), value, "must be a whole number")?,
            }
        }
        Ok(found)
    }

    /// Parses the row as the server will.
    fn check_whole(&self, loan: &FilledRow<'_>, report: &mut CheckReport) -> Result<(), ImportError> {
        let mut refused: Vec<(String, String)> = Vec::new();
        if !loan.filled.customer.is_empty() {
            match read_form::<NewCustomer>(&loan.filled.customer) {
                Ok(form) => refused.extend(form.check().err().map(|problem| (problem.field, problem.message))),
                Err(problem) => refused.push(problem),
            }
        }
        match (read_form::<NewAccount>(&loan.filled.account), loan.filled.start) {
            (Ok(form), Some(start)) => {
                let problems = policy::terms(&self.check.product.form, &form, start).err().unwrap_or_default();
                refused.extend(problems.into_iter().map(|problem| (problem.field, problem.message)));
            }
            (Err(problem), _) => refused.push(problem),
            (Ok(_), None) => {}
        }
        if refused.is_empty() {
            return Ok(());
        }
        let before = report.count();
        self.check_alone(loan, report)?;
        let is_told = report.count() > before;
        for (field, rule) in refused.into_iter().filter(|_| !is_told) {
            let of_field = |column: &&(usize, &Column)| match column.1.target {
                ColumnTarget::Account(path) | ColumnTarget::Customer(path) => path == field,
                _ => false,
            };
            let (column, value) = match self.heads.known.iter().find(of_field) {
                Some((place, column)) => (column.name, loan.row.get(Some(*place))),
                None => (field.as_str(), ""),
            };
            report.add(loan.invalid(column, value, &rule))?;
        }
        Ok(())
    }

    /// Reports each value that is invalid on its own.
    fn check_alone(&self, loan: &FilledRow<'_>, report: &mut CheckReport) -> Result<(), ImportError> {
        for (place, column) in &self.heads.known {
            let value = loan.row.get(Some(*place));
            if let Some(rule) = loan.filled.rule_broken_alone(column, value, &self.check.product.id) {
                report.add(loan.invalid(column.name, value, &rule))?;
            }
        }
        Ok(())
    }

    /// Records a borrower. A borrower of several loans must be the same in each.
    fn know_customer(
        &mut self,
        loan: &FilledRow<'_>,
        customer_id: String,
        report: &mut CheckReport,
    ) -> Result<(), ImportError> {
        let body: Box<str> = Value::Object(loan.filled.customer.clone()).to_string().into();
        match self.customers.entry(customer_id) {
            Entry::Vacant(place) => {
                let customer_id = place.key().clone();
                place.insert(self.portfolio.customers.len());
                self.portfolio.customers.push(Customer { line: loan.row.line, customer_id, body });
            }
            Entry::Occupied(place) => {
                let first = &self.portfolio.customers[*place.get()];
                if first.body != body {
                    let rule = format!("is also used in line {}, with a different name or details", first.line);
                    report.add(loan.invalid("customer_id", place.key(), &rule))?;
                }
            }
        }
        Ok(())
    }
}

/// The error for a row without a borrower.
const NO_BORROWER: &str = "is empty, and so is customer_id: a loan needs a borrower. --allow-no-customer loads loans \
    without one";

/// The column that should have contained the borrower's name.
fn name_column(csv_file: &CsvFile) -> &'static str {
    let names = ["name_last", "name_first", "business_name", "customer_id"];
    names.into_iter().find(|name| csv_file.place(name).is_some()).unwrap_or("name_last")
}
