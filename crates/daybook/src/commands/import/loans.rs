//! Reads the loans file: each row becomes the calls that create its borrower and open its account.
//!
//! Rows are checked with the forms of the API, and their terms against the product as in the service, so the server
//! accepts every row that passes here. Only if a whole row is refused are its values checked one by one, so that every
//! invalid value is reported.

use super::columns::{Column, ColumnTarget, EXTERNAL, LOAN_COLUMNS, LOAN_NEEDS, Shape, expected_value_of};
use super::portfolio::{Customer, Expected, ImportedLoan, Portfolio};
use super::product::ImportProduct;
use super::report::Report;
use super::sheet::{Sheet, SheetRow};
use crate::commands::Failure;
use crate::commands::progress::Progress;
use csv::ByteRecord;
use daybook_engine::status::AccountStanding;
use daybook_engine::time::Time;
use daybook_service::form::fields::{Id, Reference};
use daybook_service::form::{self, BadForm, NewAccount, NewCustomer};
use daybook_service::policy;
use serde_json::{Map, Value, json};
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
    fn of(sheet: &Sheet, portfolio: &mut Portfolio) -> Heads {
        let mut heads = Heads { known: Vec::new(), external: Vec::new(), expected: Vec::new() };
        for (place, name) in sheet.columns.iter().enumerate() {
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
    mut sheet: Sheet,
    product: &ImportProduct,
    now: Time,
    portfolio: &mut Portfolio,
    report: &mut Report,
) -> Result<bool, Failure> {
    portfolio.loans_file.clone_from(&sheet.file);
    if !sheet.check_columns(&LOAN_NEEDS, is_column, report)? {
        return Ok(false);
    }
    let heads = Heads::of(&sheet, portfolio);
    let mut reading = Reading { product, now, heads, portfolio, customers: HashMap::new() };
    let progress = Progress::begin("checking loans", sheet.bytes);
    let mut record = ByteRecord::new();
    while let Some(line) = sheet.next(&mut record)? {
        progress.is_at(sheet.at());
        sheet.read(line, &record, report, |row, report| reading.take(&sheet, row, report))?;
    }
    progress.end(&format!("{} rows", reading.portfolio.loans.len()));
    Ok(true)
}

struct Reading<'a> {
    product: &'a ImportProduct,
    now: Time,
    heads: Heads,
    portfolio: &'a mut Portfolio,
    /// The index of a customer, by id.
    customers: HashMap<String, usize>,
}

impl Reading<'_> {
    /// Reads a row. An invalid row is kept too, so that its payments find their loan.
    fn take(&mut self, sheet: &Sheet, row: &SheetRow<'_>, report: &mut Report) -> Result<(), Failure> {
        let before = report.count();
        let account_id = row.get(sheet.place("account_id"));
        let mut wrong = |column: &str, value: &str, rule: &str| report.add(sheet.broken(row.line, column, value, rule));
        for column in LOAN_NEEDS.iter().filter(|column| row.get(sheet.place(column)).is_empty()) {
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
        let mut filled = Filled::new(&self.product.id);
        for (place, column) in &self.heads.known {
            let value = row.get(Some(*place));
            if let Some(rule) = filled.fill(column, value, self.product, self.now) {
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
            let value = row.get(sheet.place("expected_as_of"));
            wrong("expected_as_of", value, "is before the loan was made")?;
        }
        let expected = self.expected(row, &mut wrong)?;
        if filled.customer.is_empty() && filled.customer_id.is_none() && !self.portfolio.allows_no_customer {
            wrong(name_column(sheet), "", NO_BORROWER)?;
        }
        if filled.customer.is_empty()
            && let Some(customer_id) = &filled.customer_id
        {
            self.portfolio.references.entry(customer_id.clone()).or_insert(row.line);
            if !self.portfolio.keeps_references {
                filled.customer_id = None;
            }
        }
        let customer = filled.settle(account_id);
        if report.count() == before {
            self.check(sheet, row, &filled, report)?;
        } else {
            self.check_alone(sheet, row, &filled, report)?;
        }
        if report.count() == before
            && let Some(customer_id) = customer
        {
            self.know_customer(sheet, row, customer_id, &filled, report)?;
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
        row: &SheetRow<'_>,
        wrong: &mut impl FnMut(&str, &str, &str) -> Result<(), Failure>,
    ) -> Result<Vec<(u16, Expected)>, Failure> {
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
    fn check(&self, sheet: &Sheet, row: &SheetRow<'_>, filled: &Filled, report: &mut Report) -> Result<(), Failure> {
        let mut refused: Vec<(String, String)> = Vec::new();
        if !filled.customer.is_empty() {
            match read_form::<NewCustomer>(&filled.customer) {
                Ok(form) => refused.extend(form.check().err().map(|problem| (problem.field, problem.message))),
                Err(problem) => refused.push(problem),
            }
        }
        match (read_form::<NewAccount>(&filled.account), filled.start) {
            (Ok(form), Some(start)) => {
                let problems = policy::terms(&self.product.form, &form, start).err().unwrap_or_default();
                refused.extend(problems.into_iter().map(|problem| (problem.field, problem.message)));
            }
            (Err(problem), _) => refused.push(problem),
            (Ok(_), None) => {}
        }
        if refused.is_empty() {
            return Ok(());
        }
        let before = report.count();
        self.check_alone(sheet, row, filled, report)?;
        let is_told = report.count() > before;
        for (field, rule) in refused.into_iter().filter(|_| !is_told) {
            let of_field = |column: &&(usize, &Column)| match column.1.target {
                ColumnTarget::Account(path) | ColumnTarget::Customer(path) => path == field,
                _ => false,
            };
            let (column, value) = match self.heads.known.iter().find(of_field) {
                Some((place, column)) => (column.name, row.get(Some(*place))),
                None => (field.as_str(), ""),
            };
            report.add(sheet.broken(row.line, column, value, &rule))?;
        }
        Ok(())
    }

    /// Reports each value that is invalid on its own.
    fn check_alone(
        &self,
        sheet: &Sheet,
        row: &SheetRow<'_>,
        filled: &Filled,
        report: &mut Report,
    ) -> Result<(), Failure> {
        for (place, column) in &self.heads.known {
            let value = row.get(Some(*place));
            if let Some(rule) = filled.rule_broken_alone(column, value, &self.product.id) {
                report.add(sheet.broken(row.line, column.name, value, &rule))?;
            }
        }
        Ok(())
    }

    /// Records a borrower. A borrower of several loans must be the same in each.
    fn know_customer(
        &mut self,
        sheet: &Sheet,
        row: &SheetRow<'_>,
        customer_id: String,
        filled: &Filled,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let body: Box<str> = Value::Object(filled.customer.clone()).to_string().into();
        match self.customers.entry(customer_id) {
            Entry::Vacant(place) => {
                let customer_id = place.key().clone();
                place.insert(self.portfolio.customers.len());
                self.portfolio.customers.push(Customer { line: row.line, customer_id, body });
            }
            Entry::Occupied(place) => {
                let first = &self.portfolio.customers[*place.get()];
                if first.body != body {
                    let rule = format!("is also used in line {}, with a different name or details", first.line);
                    report.add(sheet.broken(row.line, "customer_id", place.key(), &rule))?;
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
fn name_column(sheet: &Sheet) -> &'static str {
    let names = ["name_last", "name_first", "business_name", "customer_id"];
    names.into_iter().find(|name| sheet.place(name).is_some()).unwrap_or("name_last")
}

/// The calls of a row, under construction.
struct Filled {
    account: Map<String, Value>,
    customer: Map<String, Value>,
    external: Vec<Value>,
    customer_id: Option<String>,
    role: Option<String>,
    start: Option<Time>,
    as_of: Option<Time>,
}

impl Filled {
    fn new(product_id: &str) -> Filled {
        Filled {
            account: Map::from_iter([("product_id".to_owned(), Value::from(product_id))]),
            customer: Map::new(),
            external: Vec::new(),
            customer_id: None,
            role: None,
            start: None,
            as_of: None,
        }
    }

    /// Sets a value at its target. Returns the rule that it breaks, if that can be detected at once.
    fn fill(&mut self, column: &Column, value: &str, product: &ImportProduct, now: Time) -> Option<String> {
        if value.is_empty() {
            return None;
        }
        if column.shape == Shape::Moment {
            let Some(time) = product.moment(value) else { return Some(product.moment_rule()) };
            if time > now {
                return Some("is in the future".to_owned());
            }
            if column.target == ColumnTarget::ExpectedAsOf {
                self.as_of = Some(time);
                return None;
            }
            self.start = Some(time);
            self.account.insert(column.name.to_owned(), Value::from(time.to_string()));
            return None;
        }
        match column.target {
            ColumnTarget::Account(path) => put(&mut self.account, path, json_of(column.shape, value)),
            ColumnTarget::Customer(path) => put(&mut self.customer, path, json_of(column.shape, value)),
            ColumnTarget::CustomerId => self.customer_id = Some(value.to_owned()),
            ColumnTarget::Role => self.role = Some(value.to_owned()),
            ColumnTarget::ExpectedAsOf => {}
        }
        None
    }

    /// Combines the parts. Returns the id of the borrower to create.
    fn settle(&mut self, account_id: &str) -> Option<String> {
        if !self.external.is_empty() {
            self.account.insert("external_fields".to_owned(), Value::from(std::mem::take(&mut self.external)));
        }
        let is_made = !self.customer.is_empty();
        let customer_id = match self.customer_id.take() {
            Some(id) => id,
            None if is_made => account_id.to_owned(),
            None => return None,
        };
        let mut assigned = json!({ "customer_id": customer_id });
        if let Some(role) = self.role.take() {
            assigned["customer_account_role"] = Value::from(role);
        }
        self.account.insert("assign_customers".to_owned(), Value::from(vec![assigned]));
        if is_made {
            self.customer.insert("customer_id".to_owned(), Value::from(customer_id.as_str()));
        }
        is_made.then_some(customer_id)
    }

    /// The rule that a value breaks on its own, regardless of the rest of its row.
    fn rule_broken_alone(&self, column: &Column, value: &str, product_id: &str) -> Option<String> {
        if value.is_empty() || column.shape == Shape::Moment {
            return None;
        }
        let rule = |refused: (String, String)| refused.1;
        match column.target {
            ColumnTarget::Account(path) => {
                let mut alone = Map::from_iter([("product_id".to_owned(), Value::from(product_id))]);
                put(&mut alone, path, json_of(column.shape, value));
                read_form::<NewAccount>(&alone).err().map(rule)
            }
            ColumnTarget::Customer(path) => {
                let mut alone = Map::new();
                put(&mut alone, path, json_of(column.shape, value));
                read_form::<NewCustomer>(&alone).err().map(rule)
            }
            ColumnTarget::CustomerId if !self.customer.is_empty() => Id::read(value).err(),
            ColumnTarget::Role => {
                let assigned = json!([{ "customer_id": "c", "customer_account_role": value }]);
                let alone = json!({ "product_id": product_id, "assign_customers": assigned });
                read_form::<NewAccount>(alone.as_object()?).err().map(rule)
            }
            ColumnTarget::CustomerId => Reference::read(value).err(),
            ColumnTarget::ExpectedAsOf => None,
        }
    }
}

/// A value as JSON. Text in place of a number stays text, and the form reports the rule.
fn json_of(shape: Shape, value: &str) -> Value {
    let text = || Value::from(value);
    match shape {
        Shape::Whole => value.parse::<i64>().map_or_else(|_| text(), Value::from),
        Shape::Decimal => serde_json::from_str(value).ok().filter(Value::is_number).unwrap_or_else(text),
        Shape::Text | Shape::Moment => text(),
    }
}

/// Sets a value at a path of one or two names.
fn put(fields: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(fields.insert(path.to_owned(), value)),
        Some((group, field)) => fields.entry(group).or_insert_with(|| json!({}))[field] = value,
    }
}

fn read_form<T: serde::de::DeserializeOwned>(fields: &Map<String, Value>) -> Result<T, (String, String)> {
    let text = serde_json::to_vec(fields).unwrap_or_default();
    form::parse(&text).map_err(|bad| match bad {
        BadForm::Malformed { message } => (String::new(), message),
        BadForm::Invalid { field, message } => (field, message),
    })
}
