//! Retries of a transaction that the server aborted in favour of another one.

use super::flight::Transaction;
use super::server::{TRIES, lost_to_another, refused};
use crate::Result;
use crate::error::StoreError;
use tokio_postgres::Error;

/// Why a transaction failed.
pub(super) enum Setback {
    /// The server returned an error.
    Server(Error),
    /// The server returned an invalid value.
    Store(StoreError),
    /// Rows appeared meanwhile that were not locked.
    Overtaken,
}

impl From<Error> for Setback {
    fn from(error: Error) -> Setback {
        Setback::Server(error)
    }
}

impl From<StoreError> for Setback {
    fn from(error: StoreError) -> Setback {
        Setback::Store(error)
    }
}

impl Setback {
    /// The error of a statement outside a transaction, or of the last try.
    pub fn settled(self) -> StoreError {
        match self {
            Setback::Server(error) => refused(error),
            Setback::Store(error) => error,
            Setback::Overtaken => {
                StoreError::Unavailable("the transaction conflicted with others too often: try again".to_owned())
            }
        }
    }
}

/// The result of one try.
pub(super) type Try<T> = std::result::Result<T, Setback>;

/// Counts the tries of a transaction.
pub(super) struct Tries {
    made: usize,
}

impl Tries {
    pub fn none() -> Tries {
        Tries { made: 0 }
    }

    /// Ends a transaction: rolls back what it did not commit. Returns its result; `None` if it is to be retried.
    pub async fn settle<T>(&mut self, transaction: Transaction, outcome: Try<T>) -> Option<Result<T>> {
        self.made += 1;
        let undone = transaction.roll_back().await;
        let setback = match outcome {
            Ok(done) => return Some(undone.map(|()| done)),
            Err(Setback::Server(error)) if lost_to_another(&error) && self.made < TRIES => {
                tracing::debug!(tries = self.made, %error, "a transaction conflicted with another and is retried");
                return None;
            }
            Err(Setback::Overtaken) if self.made < TRIES => return None,
            Err(setback) => setback,
        };
        Some(Err(setback.settled()))
    }
}

/// Runs one try in a transaction, again as long as the server aborts it in favour of another one.
macro_rules! retried {
    ($server:expr, $transaction:ident => $once:expr) => {{
        let mut tries = $crate::postgres::retry::Tries::none();
        loop {
            let mut $transaction = $crate::postgres::flight::Transaction::on($server.client().await?);
            let outcome = $once.await;
            if let Some(done) = tries.settle($transaction, outcome).await {
                break done;
            }
        }
    }};
}
pub(super) use retried;
