//! The server to import to: reads its responses, page by page, and runs concurrent calls.

use crate::error::ImportError;
use crate::observer::Observer;
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

/// A server, and how it is used.
#[derive(Clone, Copy)]
pub struct ImportServer<'a> {
    /// Sends the calls.
    pub client: &'a Client,
    /// The number of concurrent calls.
    pub connections: u64,
    /// Follows the calls, and may interrupt them.
    pub observer: &'a dyn Observer,
}

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

impl ImportServer<'_> {
    /// Fetches a resource.
    pub fn get<T: DeserializeOwned>(&self, request: &RequestLine) -> Result<T, ImportError> {
        let bytes = self.client.send(request, "", &[])?;
        serde_json::from_slice(&bytes)
            .map_err(|error| ImportError::Failed(format!("the response to {request} cannot be read: {error}")))
    }

    /// Passes every page of a list to a function.
    pub fn pages<T: DeserializeOwned>(
        &self,
        request: &RequestLine,
        mut show: impl FnMut(Vec<T>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let mut after = None;
        loop {
            self.observer.check()?;
            let request = request.clone().with("limit", LONGEST_PAGE).with_some("starting_after", after.take());
            let page: ResultPage<T> = self.get(&request)?;
            show(page.results)?;
            match page.paging.starting_after {
                Some(mark) if page.paging.has_more => after = Some(mark),
                _ => return Ok(()),
            }
        }
    }

    /// Runs a function for each item, several at the same time. The first failure ends it.
    pub fn at_once<T: Sync>(
        &self,
        things: &[T],
        work: impl Fn(&T) -> Result<(), ImportError> + Sync,
    ) -> Result<(), ImportError> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let failed: Mutex<Option<ImportError>> = Mutex::new(None);
        thread::scope(|scope| {
            for _ in 0..self.connections.min(things.len() as u64) {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed)
                        && let Some(thing) = things.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        if let Err(failure) = self.observer.check().and_then(|()| work(thing)) {
                            stop.store(true, Ordering::Relaxed);
                            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
                        }
                    }
                });
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::{Silent, Task};
    use daybook_client::ApiKey;
    use daybook_operations::Operation;
    use std::sync::atomic::AtomicU64;

    /// Interrupts the import after some checks.
    struct Impatient(AtomicU64);

    impl Observer for Impatient {
        fn begin(&self, what: &str, total: u64) -> Box<dyn Task> {
            Silent.begin(what, total)
        }

        fn say(&self, _sentence: &str) {}

        fn is_interrupted(&self) -> bool {
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
        }
    }

    fn client() -> Client {
        Client::new("http://127.0.0.1:1", ApiKey::new("client", "secret"))
    }

    #[test]
    fn everything_is_done_once_and_a_failure_ends_it() {
        let server = ImportServer { client: &client(), connections: 4, observer: &Silent };
        let sum = AtomicU64::new(0);
        let numbers: Vec<u64> = (1..=100).collect();
        server
            .at_once(&numbers, |number| {
                sum.fetch_add(*number, Ordering::Relaxed);
                Ok(())
            })
            .expect("all is well");
        assert_eq!(sum.into_inner(), 5_050);
        let failure = server.at_once(&numbers, |number| match number {
            7 => Err(ImportError::Failed("seven".to_owned())),
            _ => Ok(()),
        });
        assert_eq!(failure.expect_err("it fails").to_string(), "seven");
    }

    #[test]
    fn an_interrupt_ends_calls_and_lists() {
        let impatient = Impatient(AtomicU64::new(10));
        let server = ImportServer { client: &client(), connections: 4, observer: &impatient };
        let done = AtomicU64::new(0);
        let ended = server.at_once(&[(); 100], |()| {
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        assert!(matches!(ended, Err(ImportError::Interrupted)), "{ended:?}");
        assert_eq!(done.into_inner(), 10);
        let ended = server.pages(&Operation::ListAccounts.request([]), |_: Vec<ServerAccount>| Ok(()));
        assert!(matches!(ended, Err(ImportError::Interrupted)), "the server was not called: {ended:?}");
    }
}
