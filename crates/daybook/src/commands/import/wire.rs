//! Reads the server's responses, page by page, and runs concurrent calls.

use crate::commands::{Failure, interrupt};
use daybook_client::Client;
use daybook_operations::RequestLine;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The longest page of the server.
const LONGEST_PAGE: usize = 200;

#[derive(Debug, Deserialize)]
struct ResultPage<T> {
    results: Vec<T>,
    paging: ResultPaging,
}

#[derive(Debug, Deserialize)]
struct ResultPaging {
    starting_after: Option<String>,
    has_more: bool,
}

/// The parts of an account that are read.
#[derive(Debug, Deserialize)]
pub struct ServerAccount {
    /// Its id.
    pub account_id: String,
    /// When it was opened.
    pub effective_at: String,
    /// The number of its held events.
    #[serde(default)]
    pub held_events: u64,
    /// Its product.
    pub account_product: ServerAccountProduct,
    /// Its status.
    pub account_overview: Value,
    /// Its delinquency.
    pub delinquency: Value,
    /// Its balances.
    pub summary: Value,
}

/// The parts of an account's product that are read.
#[derive(Debug, Deserialize)]
pub struct ServerAccountProduct {
    /// Its id.
    pub product_id: String,
}

/// The parts of a line item that are read.
#[derive(Debug, Deserialize)]
pub struct ServerLineItem {
    /// Its id.
    pub line_item_id: String,
}

/// Fetches a resource.
pub fn get<T: DeserializeOwned>(client: &Client, request: &RequestLine) -> Result<T, Failure> {
    let bytes = client.send(request, "", &[])?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Failure::Failed(format!("the response to {request} cannot be read: {error}")))
}

/// Passes every page of a list to a function.
pub fn pages<T: DeserializeOwned>(
    client: &Client,
    request: &RequestLine,
    mut show: impl FnMut(Vec<T>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut after = None;
    loop {
        interrupt::check()?;
        let request = request.clone().with("limit", LONGEST_PAGE).with_some("starting_after", after.take());
        let page: ResultPage<T> = get(client, &request)?;
        show(page.results)?;
        match page.paging.starting_after {
            Some(mark) if page.paging.has_more => after = Some(mark),
            _ => return Ok(()),
        }
    }
}

/// Runs a function for each item, several at the same time. The first failure ends it.
pub fn at_once<T: Sync>(
    callers: u64,
    things: &[T],
    work: impl Fn(&T) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failed: Mutex<Option<Failure>> = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..callers.min(things.len() as u64) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed)
                    && let Some(thing) = things.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    if let Err(failure) = interrupt::check().and_then(|()| work(thing)) {
                        stop.store(true, Ordering::Relaxed);
                        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn everything_is_done_once_and_a_failure_ends_it() {
        let sum = AtomicU64::new(0);
        let numbers: Vec<u64> = (1..=100).collect();
        at_once(4, &numbers, |number| {
            sum.fetch_add(*number, Ordering::Relaxed);
            Ok(())
        })
        .expect("all is well");
        assert_eq!(sum.into_inner(), 5_050);
        let failure = at_once(4, &numbers, |number| match number {
            7 => Err(Failure::Failed("seven".to_owned())),
            _ => Ok(()),
        });
        assert_eq!(failure.expect_err("it fails").to_string(), "seven");
    }
}
