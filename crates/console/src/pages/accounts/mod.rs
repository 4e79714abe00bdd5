//! Accounts: the list, and opening one.

mod confirming;
pub mod opening;

use crate::Console;
use crate::csv::{Cell, Csv};
use crate::display::{AsCount, AsMoment, AsMoney, reason_words};
use crate::form::{FormValues, QueryParameters};
use crate::guard::Visitor;
use crate::listing::{Pager, all, link, paging};
use crate::page::{PageError, PageFrame, PageResult, Section};
use askama::Template;
use axum::extract::State;
use daybook_service::AccountQuery;
use daybook_service::problem::Problem;
use daybook_service::view::{self, Account, Product};
use std::collections::{BTreeSet, HashMap};

const HERE: &str = "/console/accounts";

/// An account in a list.
#[derive(Debug)]
pub struct AccountListRow {
    /// The account.
    pub account: Account<'static>,
    /// Its borrowers.
    pub holders: Vec<Borrower>,
}

/// A borrower.
#[derive(Debug)]
pub struct Borrower {
    pub customer_id: String,
    /// The borrower's name; the id if there is none.
    pub name: String,
}

impl AccountListRow {
    fn names(&self) -> String {
        self.holders.iter().map(|holder| holder.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Fetches the names of the borrowers of some accounts, each customer once.
async fn named(
    console: &Console,
    visitor: &Visitor,
    accounts: Vec<Account<'static>>,
) -> Result<Vec<AccountListRow>, PageError> {
    let ids: BTreeSet<String> = accounts.iter().flat_map(customer_ids).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    let names = console.service.customer_names(visitor.caller(), &ids).await?;
    let names: HashMap<&str, Option<String>> = ids.iter().map(String::as_str).zip(names).collect();
    let holder = |customer_id: String| {
        let name = names.get(customer_id.as_str()).cloned().flatten().filter(|name| !name.is_empty());
        Borrower { name: name.unwrap_or_else(|| customer_id.clone()), customer_id }
    };
    let row = |account| AccountListRow { holders: customer_ids(&account).map(holder).collect(), account };
    Ok(accounts.into_iter().map(row).collect())
}

fn customer_ids(account: &Account<'static>) -> impl Iterator<Item = String> {
    account.customers.iter().map(|customer| customer.customer_id.clone())
}

/// The filters by days past due: name, label, fewest and most days.
const LATENESS: &[(&str, &str, u32, Option<u32>)] = &[
    ("current", "Not past due", 0, Some(0)),
    ("late", "1 or more days", 1, None),
    ("1-29", "1 to 29 days", 1, Some(29)),
    ("30-59", "30 to 59 days", 30, Some(59)),
    ("60-89", "60 to 89 days", 60, Some(89)),
    ("90+", "90 or more days", 90, None),
];
const STATUSES: &[&str] = &["ACTIVE", "SUSPENDED", "CLOSED"];
/// The query parameters that links, pages and downloads keep.
const KEPT: [&str; 5] = ["q", "product", "status", "substatus", "due"];

#[derive(Template)]
#[template(path = "accounts/list.html")]
struct AccountListPage {
    page: PageFrame,
    asked: FormValues,
    products: Vec<Product>,
    accounts: Vec<AccountListRow>,
    pager: Pager,
    wrong: String,
}

impl AccountListPage {
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
        reason_words(self.asked.get("substatus"))
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
pub async fn products(console: &Console, visitor: &Visitor) -> Result<Vec<Product>, PageError> {
    all(|paging| Box::pin(console.service.list_products(visitor.caller(), paging))).await
}

/// The list of accounts.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let (service, who) = (&console.service, visitor.caller());
    let query = match query(&asked) {
        Ok(query) => query,
        Err(problem) => return refuse(&console, &visitor, asked, &problem).await,
    };
    if asked.get("format") == "csv" {
        let accounts = all(|paging| Box::pin(service.list_accounts(who, paging, query.clone()))).await?;
        return csv(&named(&console, &visitor, accounts).await?);
    }
    let view::Page { results, paging } = match service.list_accounts(who, paging(&asked)?, query).await {
        Ok(page) => page,
        Err(problem) if problem.code == "invalid_request" => return refuse(&console, &visitor, asked, &problem).await,
        Err(problem) => return Err(problem.into()),
    };
    crate::page::show(&AccountListPage {
        page: PageFrame::new("Accounts", Section::Accounts, &visitor),
        products: products(&console, &visitor).await?,
        pager: Pager::new(HERE, &kept(&asked), &asked, &paging),
        accounts: named(&console, &visitor, results).await?,
        asked,
        wrong: String::new(),
    })
}

async fn refuse(console: &Console, visitor: &Visitor, asked: FormValues, problem: &Problem) -> PageResult {
    crate::page::show_again(&AccountListPage {
        page: PageFrame::new("Accounts", Section::Accounts, visitor),
        products: products(console, visitor).await?,
        pager: Pager::default(),
        accounts: Vec::new(),
        asked,
        wrong: problem.message.clone(),
    })
}

fn csv(rows: &[AccountListRow]) -> PageResult {
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
    ])?;
    for row in rows {
        let account = &row.account;
        let due_at = account.min_pay_due_cents.min_pay_due_at.map(|at| at.to_string());
        csv.row(&[
            Cell::Text(&account.account_id),
            Cell::Text(&row.names()),
            Cell::Text(&account.account_product.product_id),
            Cell::Text(account.account_overview.account_status),
            Cell::Text(account.account_overview.reason()),
            Cell::Number(account.summary.total_balance_cents.money().plain()),
            Cell::Number(account.delinquency.past_due_cents.money().plain()),
            Cell::Number(account.delinquency.days_past_due.to_string()),
            due_at.as_deref().map_or(Cell::Empty, Cell::Text),
            Cell::Number(account.min_pay_due_cents.min_pay_cents.money().plain()),
            Cell::Text(&account.effective_at.to_string()),
        ])?;
    }
    csv.file("accounts")
}
