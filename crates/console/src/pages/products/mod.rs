//! Products: the list, a product with its terms in words, creating one, and migration mode.

mod contract_fields;
mod contract_terms;
pub mod creating;
mod effects;
mod fields;
mod groups;
mod lists;
pub mod migration;
mod preview;
mod terms;
pub mod what_if;

pub use effects::of_status;
pub use preview::{Piece, Preview};
pub use terms::{TermsInWords, fetch, instalments};

use crate::Console;
use crate::csv::{Cell, Csv};
use crate::display::{AsMoment, Count};
use crate::form::{FormValues, QueryParameters};
use crate::guard::Visitor;
use crate::listing::{Pager, all, link, paging};
use crate::page::{PageError, PageFrame, PageResult, Section};
use askama::Template;
use axum::extract::{Path, State};
use daybook_service::view::{self, MigrationState, Product};
use migration::MigrationOverview;

const HERE: &str = "/console/products";

/// A filter in addition to the migration states: products with accounts that could not be processed.
const FAILED: &str = "failed";

#[derive(Template)]
#[template(path = "products/list.html")]
struct ProductListPage {
    page: PageFrame,
    products: Vec<Listing>,
    pager: Pager,
    /// `HOLDING`, `RELEASING`, `failed`; empty for all.
    state: String,
}

/// A product in a list.
#[derive(Debug)]
struct Listing {
    terms: Product,
    /// The number of accounts that could not be processed, if the filter selects them.
    failed: Count,
}

impl ProductListPage {
    fn csv(&self) -> String {
        link(HERE, &[("state", &self.state), ("format", "csv")])
    }
}

/// The list of products: a page, or all that match the filter.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let (service, who) = (&console.service, visitor.caller());
    let state = asked.get("state").to_owned();
    let is_csv = asked.get("format") == "csv";
    let (products, pager) = if is_csv || !state.is_empty() {
        let products = all(|paging| Box::pin(service.list_products(who, paging))).await?;
        (in_state(&console, &visitor, products, &state).await?, Pager::default())
    } else {
        let view::Page { results, paging } = service.list_products(who, paging(&asked)?).await?;
        let pager = Pager::new(HERE, &[], &asked, &paging);
        (in_state(&console, &visitor, results, "").await?, pager)
    };
    if is_csv {
        return csv(&products);
    }
    let page = PageFrame::new("Products", Section::Products, &visitor);
    crate::page::show(&ProductListPage { page, products, pager, state })
}

async fn in_state(
    console: &Console,
    visitor: &Visitor,
    products: Vec<Product>,
    state: &str,
) -> Result<Vec<Listing>, PageError> {
    let mut listed = Vec::new();
    for terms in products {
        let mut failed = Count(0);
        if state == FAILED {
            let progress = console.service.get_migration_mode(visitor.caller(), &terms.product_id).await?;
            failed = Count(progress.failed_accounts.len() as u64);
        }
        let fits = match state {
            "" => true,
            FAILED => !failed.is_zero(),
            state => terms.migration_state.name() == state,
        };
        if fits {
            listed.push(Listing { terms, failed });
        }
    }
    Ok(listed)
}

fn csv(products: &[Listing]) -> PageResult {
    let columns = ["product_id", "name", "type", "instalments", "interest_rate_percent", "zone", "state", "created_at"];
    let mut csv = Csv::new(&columns)?;
    for Listing { terms, .. } in products {
        csv.row(&[
            Cell::Text(&terms.product_id),
            Cell::Text(&terms.product_overview.product_name),
            Cell::Text(terms.product_overview.product_type.name()),
            Cell::Number(terms.length().to_string()),
            Cell::Number(terms.rate()),
            Cell::Text(terms.zone_name()),
            Cell::Text(terms.migration_state.name()),
            Cell::Text(&terms.created_at.to_string()),
        ])?;
    }
    csv.file("products")
}

#[derive(Template)]
#[template(path = "products/product.html")]
struct ProductPage {
    page: PageFrame,
    terms: Product,
    progress: MigrationOverview,
}

/// One product.
pub async fn show_one(State(console): State<Console>, visitor: Visitor, Path(id): Path<String>) -> PageResult {
    let terms = fetch(&console, &visitor, &id).await?;
    let progress = MigrationOverview::glance(&console, &visitor, &terms).await?;
    let page = PageFrame::new(terms.product_overview.product_name.clone(), Section::Products, &visitor);
    crate::page::show(&ProductPage { page, terms, progress })
}

/// The typed zone, or the default zone.
fn typed_zone(typed: &FormValues) -> Option<daybook_engine::zone::Zone> {
    let name = typed.get(fields::ZONE);
    let name = if name.is_empty() { daybook_service::policy::DEFAULT_ZONE } else { name };
    daybook_engine::zone::Zone::named(name)
}
