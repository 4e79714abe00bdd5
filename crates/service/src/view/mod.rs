//! Views: responses to callers, and the `object` of webhooks.
//!
//! Reads return views: the API renders them, and the console shows their fields. Only a response that is kept for a
//! repeated request is bytes, because the repeated request must get exactly the same ones.
//!
//! A view is serialized straight into bytes, without an intermediate JSON tree. An account and a line item are rendered
//! for every announced event, so those two can borrow their data; all other views own it. Facts about a product are
//! computed once per product ([`ProductFacts`]). A field without a value is `null`, never absent, unless its view
//! states otherwise.
//!
//! ```text
//! engine terms, state, reading ─┐
//! ProductFacts ─────────────────┼─► view ─┬─► render ──► a response body, a webhook's object
//! data of the store ────────────┘         └─► a page of the console
//! ```
//!
//! Times are in the product's zone ([`time::Local`]), or in UTC for objects without a product ([`time::Utc`]).

mod account;
mod audit;
mod change;
mod change_text;
mod customer;
mod event;
mod key;
mod line_item;
mod message;
mod min_pay;
mod notification;
mod preview;
mod product;
mod schedule;
pub mod time;
mod webhook;

pub use account::*;
pub use audit::*;
pub use change::*;
pub use change_text::{Tense, change_text};
pub use customer::*;
pub use event::*;
pub use key::*;
pub use line_item::*;
pub use message::*;
pub use min_pay::MinPay;
pub use notification::*;
pub use preview::*;
pub use product::*;
pub use schedule::*;
pub use webhook::*;

use bytes::Bytes;
use serde::Serialize;
use std::borrow::Cow;
use std::io;
use utoipa::ToSchema;

/// A rendered view of at least this many bytes does not keep the spare memory that it was written into.
const LONG: usize = 64 << 10;

/// Renders a view as JSON. Views consist of strings, integers and lists, so serialization cannot fail.
pub fn render<T: Serialize + ?Sized>(view: &T) -> Bytes {
    // An account is about 2,000 bytes.
    let mut bytes = Vec::with_capacity(2_048);
    match serde_json::to_writer(&mut bytes, view) {
        Ok(()) => {
            if bytes.len() >= LONG {
                bytes.shrink_to_fit();
            }
            Bytes::from(bytes)
        }
        Err(error) => {
            debug_assert!(false, "a view cannot be written: {error}");
            Bytes::from_static(b"null")
        }
    }
}

/// How many bytes a view is as JSON.
pub(crate) fn rendered_bytes<T: Serialize + ?Sized>(view: &T) -> usize {
    let mut counter = Counter(0);
    let written = serde_json::to_writer(&mut counter, view);
    debug_assert!(written.is_ok(), "a view cannot be written: {written:?}");
    counter.0
}

/// Counts the bytes that are written to it, and keeps none of them.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The value itself, cloned if it is borrowed.
fn owned<T: ToOwned + ?Sized + 'static>(value: Cow<'_, T>) -> Cow<'static, T> {
    Cow::Owned(value.into_owned())
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
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

impl Paging {
    /// The cursor of the next page, for a list that is read in one direction; `None` after the last page.
    pub fn next(self) -> Option<String> {
        self.starting_after.filter(|_| self.has_more)
    }
}

/// A complete list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Results<T> {
    /// The entries.
    pub results: Vec<T>,
}

#[cfg(test)]
mod tests;
