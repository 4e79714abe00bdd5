//! What a row of the loans file becomes: the bodies of the calls that open the account and create its borrower.

use crate::columns::{Column, ColumnTarget, Shape};
use crate::product::ImportProduct;
use daybook_engine::time::Time;
use daybook_service::form::fields::{Id, Reference};
use daybook_service::form::{self, BadForm, NewAccount, NewCustomer};
use serde_json::{Map, Value, json};

/// What a row becomes, under construction.
pub(super) struct LoanRow {
    /// The body of the call that opens the account.
    pub account: Map<String, Value>,
    /// The body of the call that creates the borrower; empty if the row has no details of one.
    pub customer: Map<String, Value>,
    /// The external fields of the account.
    pub external: Vec<Value>,
    /// The id of the borrower.
    pub customer_id: Option<String>,
    role: Option<String>,
    /// The date of disbursement.
    pub start: Option<Time>,
    /// The time of the expected values.
    pub as_of: Option<Time>,
}

impl LoanRow {
    /// An empty row, for a loan of this product.
    pub fn new(product_id: &str) -> LoanRow {
        LoanRow {
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
    pub fn fill(&mut self, column: &Column, value: &str, product: &ImportProduct, now: Time) -> Option<String> {
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
            if column.name == "effective_at" {
                self.start = Some(time);
            }
            put(&mut self.account, column.name, Value::from(time.to_string()));
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
    pub fn settle(&mut self, account_id: &str) -> Option<String> {
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
    pub fn rule_broken_alone(&self, column: &Column, value: &str, product_id: &str) -> Option<String> {
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
        Shape::List => serde_json::from_str(value).ok().filter(Value::is_array).unwrap_or_else(text),
        Shape::Text | Shape::Moment => text(),
    }
}

/// Sets a value at a path of names.
fn put(fields: &mut Map<String, Value>, path: &str, value: Value) {
    let Some((group, rest)) = path.split_once('.') else {
        fields.insert(path.to_owned(), value);
        return;
    };
    if let Value::Object(inner) = fields.entry(group).or_insert_with(|| json!({})) {
        put(inner, rest, value);
    }
}

/// Reads the body of a call as the server does. Returns the field and the rule that it breaks.
pub(super) fn read_form<T: serde::de::DeserializeOwned>(fields: &Map<String, Value>) -> Result<T, (String, String)> {
    let text = serde_json::to_vec(fields).unwrap_or_default();
    form::parse(&text).map_err(|bad| match bad {
        BadForm::Malformed { message } => (String::new(), message),
        BadForm::Invalid { field, message } => (field, message),
    })
}
