//! Customers and their accounts.

pub mod changing;

use crate::Console;
use crate::csv::{Cell, Csv};
use crate::display::{Count, Moment, plain_words};
use crate::form::{Asked, FormValues};
use crate::guard::Visitor;
use crate::listing::{ExternalField, Listed, Pager, all, link, paging};
use crate::page::{Answer, Page, PageError, Section, read};
use crate::pages::accounts::{Account, named};
use askama::Template;
use axum::extract::{Path, State};
use daybook_service::CustomerQuery;
use serde::Deserialize;

const HERE: &str = "/console/customers";
/// The most accounts shown with a customer.
const MOST_ACCOUNTS: usize = 50;

/// A customer.
#[derive(Debug, Deserialize)]
pub struct Customer {
    pub customer_id: String,
    pub created_at: Moment,
    pub updated_at: Moment,
    pub customer_type: String,
    pub name_first: Option<String>,
    pub name_middle: Option<String>,
    pub name_last: Option<String>,
    pub name_prefix: Option<String>,
    pub name_suffix: Option<String>,
    pub email: Option<String>,
    pub phone_number: Option<String>,
    pub date_of_birth: Option<String>,
    pub address_line_one: Option<String>,
    pub address_line_two: Option<String>,
    pub address_city: Option<String>,
    pub address_state: Option<String>,
    pub address_zip: Option<String>,
    pub address_country_code: Option<String>,
    pub business_details: Option<Business>,
    pub ssn_last_four: Option<String>,
    pub verification_status: Option<String>,
    pub external_fields: Vec<ExternalField>,
    pub accounts: Vec<Belongs>,
}

/// A business.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Business {
    pub business_name: Option<String>,
    pub business_legal_name: Option<String>,
    pub doing_business_as: Option<String>,
    pub business_ein: Option<String>,
}

/// An account of a customer.
#[derive(Debug, Deserialize)]
pub struct Belongs {
    pub account_id: String,
    pub customer_account_role: String,
}

impl Customer {
    /// The customer's name.
    pub fn name(&self) -> String {
        let parts = [&self.name_prefix, &self.name_first, &self.name_middle, &self.name_last, &self.name_suffix];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        let business = self.business_details.as_ref();
        let business = business.and_then(|of| of.business_name.as_ref().or(of.business_legal_name.as_ref()));
        match business {
            Some(name) if parts.is_empty() || self.customer_type == "business" => name.clone(),
            _ => parts.join(" "),
        }
    }

    /// The known facts about the customer, as labels and values.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let lines = [&self.address_line_one, &self.address_line_two];
        let place = [&self.address_city, &self.address_state, &self.address_zip];
        let joined =
            |parts: &[&Option<String>]| parts.iter().filter_map(|part| part.as_deref()).collect::<Vec<_>>().join(" ");
        let place = joined(&place);
        let address = lines.into_iter().flatten().cloned().chain([place]).chain(self.address_country_code.clone());
        let address: Vec<String> = address.filter(|line| !line.is_empty()).collect();
        let none = Business::default();
        let business = self.business_details.as_ref().unwrap_or(&none);
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let last_four = self.ssn_last_four.as_ref().map(|last| format!("ends with {last}"));
        let all = [
            ("Kind", plain_words(&self.customer_type)),
            ("Email", text(&self.email)),
            ("Phone", text(&self.phone_number)),
            ("Date of birth", self.date_of_birth.clone().map(|day| Moment(day).day()).unwrap_or_default()),
            ("Address", address.join(", ")),
            ("Legal name", text(&business.business_legal_name)),
            ("Doing business as", text(&business.doing_business_as)),
            ("Tax number", text(&business.business_ein)),
            ("Social security number", last_four.unwrap_or_default()),
            ("Verification", text(&self.verification_status)),
            ("Added", self.created_at.to_string()),
            ("Changed", self.updated_at.to_string()),
        ];
        all.into_iter().filter(|(_, text)| !text.is_empty()).collect()
    }
}

#[derive(Template)]
#[template(path = "customers/list.html")]
struct ListPage {
    page: Page,
    q: String,
    customers: Vec<Customer>,
    pager: Pager,
}

impl ListPage {
    fn csv(&self) -> String {
        link(HERE, &[("q", &self.q), ("format", "csv")])
    }
}

fn query(asked: &FormValues) -> CustomerQuery {
    CustomerQuery { text: Some(asked.get("q").to_owned()).filter(|text| !text.is_empty()) }
}

/// The list of customers.
pub async fn show(State(console): State<Console>, visitor: Visitor, Asked(asked): Asked) -> Answer {
    let (service, who) = (&console.service, visitor.caller());
    if asked.get("format") == "csv" {
        return csv(all(|paging| Box::pin(service.list_customers(who, paging, query(&asked)))).await?);
    }
    let answer = service.list_customers(who, paging(&asked)?, query(&asked)).await?;
    let Listed { results, paging } = read::<Listed<Customer>>(&answer)?;
    let q = asked.get("q").to_owned();
    let pager = Pager::new(HERE, &[("q", &q)], &asked, &paging);
    let page = Page::new("Customers", Section::Customers, &visitor);
    crate::page::show(&ListPage { page, q, customers: results, pager })
}

fn csv(customers: Vec<Customer>) -> Answer {
    let mut csv = Csv::new(&["customer_id", "name", "kind", "email", "phone_number", "accounts", "created_at"]);
    for customer in customers {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        csv.row(&[
            Cell::Text(&customer.customer_id),
            Cell::Text(&customer.name()),
            Cell::Text(&customer.customer_type),
            Cell::Text(&text(&customer.email)),
            Cell::Text(&text(&customer.phone_number)),
            Cell::Number(customer.accounts.len().to_string()),
            Cell::Text(&customer.created_at.0),
        ]);
    }
    Ok(csv.file("customers"))
}

/// An account of a customer, with the customer's role.
#[derive(Debug)]
struct Theirs {
    role: String,
    account: Account,
}

#[derive(Template)]
#[template(path = "customers/customer.html")]
struct CustomerPage {
    page: Page,
    customer: Customer,
    accounts: Vec<Theirs>,
    /// The number of accounts not shown.
    more: Count,
}

/// One customer.
pub async fn show_one(State(console): State<Console>, visitor: Visitor, Path(id): Path<String>) -> Answer {
    let customer = fetch(&console, &visitor, &id).await?;
    let mut accounts = Vec::new();
    for belongs in customer.accounts.iter().take(MOST_ACCOUNTS) {
        let answer = console.service.get_account(visitor.caller(), &belongs.account_id, None).await?;
        let role = plain_words(&belongs.customer_account_role);
        accounts.push(Theirs { role, account: read(&answer)? });
    }
    let mut shown: Vec<&mut Account> = accounts.iter_mut().map(|theirs| &mut theirs.account).collect();
    named(&console, &visitor, &mut shown).await?;
    let more = Count(customer.accounts.len().saturating_sub(MOST_ACCOUNTS) as u64);
    let page = Page::new(customer.name(), Section::Customers, &visitor);
    crate::page::show(&CustomerPage { page, customer, accounts, more })
}

async fn fetch(console: &Console, visitor: &Visitor, id: &str) -> Result<Customer, PageError> {
    read(&console.service.get_customer(visitor.caller(), id).await?)
}
