//! Accounts: the list, and opening one.

mod confirming;
pub mod opening;

use crate::Console;
use crate::csv::{Cell, Csv};
use crate::display::{Count, Moment, Money, plain_words};
use crate::form::{Asked, FormValues};
use crate::guard::Visitor;
use crate::listing::{Listed, Pager, all, link, paging};
use crate::page::{Answer, Page, PageError, Section, read};
use askama::Template;
use axum::extract::State;
use daybook_service::AccountQuery;
use daybook_service::problem::Problem;
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};

const HERE: &str = "/console/accounts";

/// An account in a list.
#[derive(Debug, Deserialize)]
pub struct Account {
    pub account_id: String,
    pub effective_at: Moment,
    pub held_events: Count,
    pub account_overview: Overview,
    pub account_product: AccountProduct,
    pub min_pay_due_cents: MinPay,
    pub delinquency: Delinquency,
    pub summary: Summary,
    pub customers: Vec<Holder>,
}

/// Its status.
#[derive(Debug, Deserialize)]
pub struct Overview {
    pub account_status: String,
    pub account_status_subtype: Option<String>,
}

/// Its product.
#[derive(Debug, Deserialize)]
pub struct AccountProduct {
    pub product_id: String,
    pub product_overview: ProductName,
}

/// The name of its product.
#[derive(Debug, Deserialize)]
pub struct ProductName {
    pub product_name: String,
}

/// The next payment due.
#[derive(Debug, Deserialize)]
pub struct MinPay {
    pub min_pay_cents: Money,
    pub min_pay_due_at: Option<Moment>,
}

/// Its delinquency.
#[derive(Debug, Deserialize)]
pub struct Delinquency {
    pub days_past_due: u64,
    pub past_due_cents: Money,
}

/// Its balance.
#[derive(Debug, Deserialize)]
pub struct Summary {
    pub total_balance_cents: Money,
}

/// A borrower.
#[derive(Debug, Deserialize)]
pub struct Holder {
    pub customer_id: String,
    /// The borrower's name; the id until the name is fetched.
    #[serde(default)]
    pub name: String,
}

impl Account {
    /// The reason of its status; empty in normal service.
    pub fn substatus(&self) -> &str {
        self.account_overview.account_status_subtype.as_deref().unwrap_or_default()
    }

    /// Whether an amount is past due.
    pub fn is_late(&self) -> bool {
        self.delinquency.days_past_due > 0
    }

    fn names(&self) -> String {
        self.customers.iter().map(|holder| holder.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Fetches the names of the borrowers of some accounts, each customer once.
pub async fn named(console: &Console, visitor: &Visitor, accounts: &mut [&mut Account]) -> Result<(), PageError> {
    let holders = accounts.iter().flat_map(|account| &account.customers);
    let ids: BTreeSet<String> = holders.map(|holder| holder.customer_id.clone()).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    let names = console.service.customer_names(visitor.caller(), &ids).await?;
    let names: HashMap<&str, Option<String>> = ids.iter().map(String::as_str).zip(names).collect();
    for holder in accounts.iter_mut().flat_map(|account| &mut account.customers) {
        let name = names.get(holder.customer_id.as_str()).cloned().flatten().filter(|name| !name.is_empty());
        holder.name = name.unwrap_or_else(|| holder.customer_id.clone());
    }
    Ok(())
}

/// The filters by days past due: name, label, fewest and most days.
const LATENESS: &[(&str, &str, u32, Option<u32>)] = &[
    ("current", "Current", 0, Some(0)),
    ("late", "1 or more days", 1, None),
    ("1-29", "1 to 29 days", 1, Some(29)),
    ("30-59", "30 to 59 days", 30, Some(59)),
    ("60-89", "60 to 89 days", 60, Some(89)),
    ("90+", "90 or more days", 90, None),
];
const STATUSES: &[&str] = &["ACTIVE", "SUSPENDED", "CLOSED"];
/// The query parameters that links, pages and downloads keep.
const KEPT: [&str; 5] = ["q", "product", "status", "substatus", "due"];

/// A product to choose.
#[derive(Debug, Deserialize)]
pub struct Choice {
    pub product_id: String,
    pub product_overview: ProductName,
}

#[derive(Template)]
#[template(path = "accounts/list.html")]
struct ListPage {
    page: Page,
    asked: FormValues,
    products: Vec<Choice>,
    accounts: Vec<Account>,
    pager: Pager,
    wrong: String,
}

impl ListPage {
    fn csv(&self) -> String {
        link(HERE, &[kept(&self.asked).as_slice(), &[("format", "csv")]].concat())
    }

    fn lateness(&self) -> &'static [(&'static str, &'static str, u32, Option<u32>)] {
        LATENESS
    }

    fn statuses(&self) -> &'static [&'static str] {
        STATUSES
    }

    fn is_filtered(&self) -> bool {
        KEPT.iter().any(|name| self.asked.has(name))
    }

    fn substatus(&self) -> String {
        plain_words(self.asked.get("substatus")).to_lowercase()
    }
}

fn kept(asked: &FormValues) -> Vec<(&'static str, &str)> {
    KEPT.iter().map(|name| (*name, asked.get(name))).collect()
}

/// Reads a filter. A filter by days past due excludes ended accounts, unless a status is selected.
fn query(asked: &FormValues) -> Result<AccountQuery, Problem> {
    let text = |name: &str| Some(asked.get(name).to_owned()).filter(|text| !text.is_empty());
    let due = match text("due") {
        Some(name) => {
            let known = LATENESS.iter().find(|(known, ..)| *known == name);
            Some(known.ok_or_else(|| Problem::invalid("due", "must be one of the choices"))?)
        }
        None => None,
    };
    let at_most = due.and_then(|(_, _, _, most)| *most);
    Ok(AccountQuery {
        product_id: text("product"),
        open_only: due.is_some() && text("status").is_none(),
        account_status: text("status"),
        account_substatus: text("substatus"),
        text: text("q"),
        days_past_due_at_least: due.map(|(_, _, least, _)| *least).filter(|least| *least > 0),
        days_past_due_at_most: at_most,
        ..AccountQuery::default()
    })
}

/// All products.
pub async fn products(console: &Console, visitor: &Visitor) -> Result<Vec<Choice>, PageError> {
    all(|paging| Box::pin(console.service.list_products(visitor.caller(), paging))).await
}

/// The list of accounts.
pub async fn show(State(console): State<Console>, visitor: Visitor, Asked(asked): Asked) -> Answer {
    let (service, who) = (&console.service, visitor.caller());
    let query = match query(&asked) {
        Ok(query) => query,
        Err(problem) => return refuse(&console, &visitor, asked, &problem).await,
    };
    if asked.get("format") == "csv" {
        let mut accounts: Vec<Account> =
            all(|paging| Box::pin(service.list_accounts(who, paging, query.clone()))).await?;
        named(&console, &visitor, &mut accounts.iter_mut().collect::<Vec<_>>()).await?;
        return csv(&accounts);
    }
    let answer = match service.list_accounts(who, paging(&asked)?, query).await {
        Ok(answer) => answer,
        Err(problem) if problem.code == "invalid_request" => return refuse(&console, &visitor, asked, &problem).await,
        Err(problem) => return Err(problem.into()),
    };
    let Listed { mut results, paging } = read::<Listed<Account>>(&answer)?;
    named(&console, &visitor, &mut results.iter_mut().collect::<Vec<_>>()).await?;
    crate::page::show(&ListPage {
        page: Page::new("Accounts", Section::Accounts, &visitor),
        products: products(&console, &visitor).await?,
        pager: Pager::new(HERE, &kept(&asked), &asked, &paging),
        accounts: results,
        asked,
        wrong: String::new(),
    })
}

async fn refuse(console: &Console, visitor: &Visitor, asked: FormValues, problem: &Problem) -> Answer {
    crate::page::show_again(&ListPage {
        page: Page::new("Accounts", Section::Accounts, visitor),
        products: products(console, visitor).await?,
        pager: Pager::default(),
        accounts: Vec::new(),
        asked,
        wrong: problem.message.clone(),
    })
}

fn csv(accounts: &[Account]) -> Answer {
    let mut csv = Csv::new(&[
        "account_id",
        "customers",
        "product_id",
        "status",
        "substatus",
        "balance",
        "past_due",
        "days_past_due",
        "next_due_at",
        "next_due",
        "effective_at",
    ]);
    for account in accounts {
        let due_at = account.min_pay_due_cents.min_pay_due_at.as_ref();
        csv.row(&[
            Cell::Text(&account.account_id),
            Cell::Text(&account.names()),
            Cell::Text(&account.account_product.product_id),
            Cell::Text(&account.account_overview.account_status),
            Cell::Text(account.substatus()),
            Cell::Number(account.summary.total_balance_cents.plain()),
            Cell::Number(account.delinquency.past_due_cents.plain()),
            Cell::Number(account.delinquency.days_past_due.to_string()),
            due_at.map_or(Cell::Empty, |at| Cell::Text(&at.0)),
            Cell::Number(account.min_pay_due_cents.min_pay_cents.plain()),
            Cell::Text(&account.effective_at.0),
        ]);
    }
    Ok(csv.file("accounts"))
}
