//! Views: responses to callers, and the `object` of webhooks.
//!
//! A view borrows its data and is serialized straight into bytes, without an intermediate JSON tree, because an account
//! or a line item is rendered for every announced event. Facts about a product are computed once per product
//! ([`ProductFacts`]). A field without a value is `null`, never absent, unless its view states otherwise.
//!
//! ```text
//! engine terms, state, reading ─┐
//! ProductFacts ─────────────────┼─► view ──► render ──► a response body, a webhook's object
//! data of the store ────────────┘
//! ```
//!
//! Times are in the product's zone ([`time::Local`]), or in UTC for objects without a product ([`time::Utc`]).

mod account;
mod audit;
mod customer;
mod event;
mod key;
mod line_item;
mod message;
mod min_pay;
mod notification;
mod product;
mod schedule;
pub mod time;
mod webhook;

pub use account::*;
pub use audit::*;
pub use customer::*;
pub use event::*;
pub use key::*;
pub use line_item::*;
pub use message::*;
pub use min_pay::MinPay;
pub use notification::*;
pub use product::*;
pub use schedule::*;
pub use webhook::*;

use bytes::Bytes;
use serde::Serialize;
use utoipa::ToSchema;

/// Renders a view as JSON. Views consist of strings, integers and lists, so serialization cannot fail.
pub fn render<T: Serialize + ?Sized>(view: &T) -> Bytes {
    // An account is about 2,000 bytes.
    let mut bytes = Vec::with_capacity(2_048);
    match serde_json::to_writer(&mut bytes, view) {
        Ok(()) => Bytes::from(bytes),
        Err(error) => {
            debug_assert!(false, "a view cannot be written: {error}");
            Bytes::from_static(b"null")
        }
    }
}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T> {
    /// The entries.
    pub results: Vec<T>,
    /// Its position in the list.
    pub paging: Paging,
}

/// The position of a page in the list. The two cursors are opaque.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Paging {
    /// Pass this as `starting_after` to get the next page.
    pub starting_after: Option<String>,
    /// Pass this as `ending_before` to get the previous page.
    pub ending_before: Option<String>,
    /// Whether there are more entries in the direction of paging.
    pub has_more: bool,
}

/// A complete list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Results<T> {
    /// The entries.
    pub results: Vec<T>,
}

#[cfg(test)]
mod tests;
