//! Customers and their accounts.

pub mod changing;

use crate::Console;
use crate::csv::{Cell, Csv};
use crate::display::{AsMoment, AsMoney, Count, DisplayTime, plain_words};
use crate::form::{FormValues, QueryParameters};
use crate::guard::Visitor;
use crate::listing::{Pager, all, link, paging};
use crate::page::{PageError, PageFrame, PageResult, Section};
use askama::Template;
use axum::extract::{Path, State};
use daybook_service::CustomerQuery;
use daybook_service::form::BusinessDetails;
use daybook_service::form::fields::{CustomerType, ShortText};
use daybook_service::view::{self, Account, Customer};

const HERE: &str = "/console/customers";
/// The most accounts shown with a customer.
const MOST_ACCOUNTS: usize = 50;

/// The known facts about a customer, as labels and values.
fn facts(customer: &Customer) -> Vec<(&'static str, String)> {
    let lines = [&customer.address_line_one, &customer.address_line_two];
    let place = [&customer.address_city, &customer.address_state, &customer.address_zip];
    let joined =
        |parts: &[&Option<String>]| parts.iter().filter_map(|part| part.as_deref()).collect::<Vec<_>>().join(" ");
    let place = joined(&place);
    let address = lines.into_iter().flatten().cloned().chain([place]).chain(customer.address_country_code.clone());
    let address: Vec<String> = address.filter(|line| !line.is_empty()).collect();
    let business = customer.business_details.as_ref();
    let of_business = |field: fn(&BusinessDetails) -> &Option<ShortText>| {
        business.and_then(|business| field(business).clone()).map(ShortText::into_string).unwrap_or_default()
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let last_four = customer.ssn_last_four.as_ref().map(|last| format!("ends with {last}"));
    let all = [
        ("Kind", plain_words(customer.customer_type.name())),
        ("Email", text(&customer.email)),
        ("Phone", text(&customer.phone_number)),
        ("Date of birth", customer.date_of_birth.clone().map(|day| DisplayTime(day).day()).unwrap_or_default()),
        ("Address", address.join(", ")),
        ("Legal name", of_business(|business| &business.business_legal_name)),
        ("Doing business as", of_business(|business| &business.doing_business_as)),
        ("Tax number", of_business(|business| &business.business_ein)),
        ("Social security number", last_four.unwrap_or_default()),
        ("Verification", text(&customer.verification_status)),
        ("Added", customer.created_at.moment().to_string()),
        ("Changed", customer.updated_at.moment().to_string()),
    ];
    all.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

#[derive(Template)]
#[template(path = "customers/list.html")]
struct CustomerListPage {
    page: PageFrame,
    q: String,
    customers: Vec<Customer>,
    pager: Pager,
}

impl CustomerListPage {
    fn csv(&self) -> String {
        link(HERE, &[("q", &self.q), ("format", "csv")])
    }
}

fn query(asked: &FormValues) -> CustomerQuery {
    CustomerQuery { text: Some(asked.get("q").to_owned()).filter(|text| !text.is_empty()) }
}

/// The list of customers.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let (service, who) = (&console.service, visitor.caller());
    if asked.get("format") == "csv" {
        return csv(all(|paging| Box::pin(service.list_customers(who, paging, query(&asked)))).await?);
    }
    let view::Page { results, paging } = service.list_customers(who, paging(&asked)?, query(&asked)).await?;
    let q = asked.get("q").to_owned();
    let pager = Pager::new(HERE, &[("q", &q)], &asked, &paging);
    let page = PageFrame::new("Customers", Section::Customers, &visitor);
    crate::page::show(&CustomerListPage { page, q, customers: results, pager })
}

fn csv(customers: Vec<Customer>) -> PageResult {
    let mut csv = Csv::new(&["customer_id", "name", "kind", "email", "phone_number", "accounts", "created_at"])?;
    for customer in customers {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        csv.row(&[
            Cell::Text(&customer.customer_id),
            Cell::Text(&customer.name()),
            Cell::Text(customer.customer_type.name()),
            Cell::Text(&text(&customer.email)),
            Cell::Text(&text(&customer.phone_number)),
            Cell::Number(customer.accounts.len().to_string()),
            Cell::Text(&customer.created_at.to_string()),
        ])?;
    }
    csv.file("customers")
}

/// An account of a customer, with the customer's role.
#[derive(Debug)]
struct Theirs {
    role: String,
    account: Account<'static>,
}

#[derive(Template)]
#[template(path = "customers/customer.html")]
struct CustomerPage {
    page: PageFrame,
    customer: Customer,
    /// The known facts about the customer, as labels and values.
    facts: Vec<(&'static str, String)>,
    accounts: Vec<Theirs>,
    /// The number of accounts not shown.
    more: Count,
}

/// One customer.
pub async fn show_one(State(console): State<Console>, visitor: Visitor, Path(id): Path<String>) -> PageResult {
    let customer = fetch(&console, &visitor, &id).await?;
    let mut accounts = Vec::new();
    for belongs in customer.accounts.iter().take(MOST_ACCOUNTS) {
        let account = console.service.get_account(visitor.caller(), &belongs.account_id, None).await?;
        let role = plain_words(belongs.customer_account_role.name());
        accounts.push(Theirs { role, account });
    }
    let more = Count(customer.accounts.len().saturating_sub(MOST_ACCOUNTS) as u64);
    let page = PageFrame::new(customer.name(), Section::Customers, &visitor);
    crate::page::show(&CustomerPage { page, facts: facts(&customer), customer, accounts, more })
}

async fn fetch(console: &Console, visitor: &Visitor, id: &str) -> Result<Customer, PageError> {
    Ok(console.service.get_customer(visitor.caller(), id).await?)
}
