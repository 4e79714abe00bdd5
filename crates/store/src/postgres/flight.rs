//! Pipelining: several statements sent at once.
//!
//! The server responds in the order of the statements, so a connection need not wait for one response before it sends
//! the next statement. A *flight* is a list of steps that are sent together; a transaction is a few flights, the last
//! of which ends with COMMIT. If a step fails, the server rejects those after it and turns the COMMIT into a ROLLBACK:
//! statements that are sent together with their COMMIT take effect all together or not at all.

use super::borrowed_connection::BorrowedConnection;
use super::server::refused;
use crate::Result;
use deadpool_postgres::Client;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

/// One parameter of a statement; usually a whole column.
pub(super) type Param<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// One statement with its parameters.
pub(super) struct Query<'a> {
    sql: &'a str,
    params: Vec<Param<'a>>,
}

impl<'a> Query<'a> {
    pub fn new(sql: &'a str, params: Vec<Param<'a>>) -> Query<'a> {
        Query { sql, params }
    }
}

/// How a flight begins and ends a transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frame {
    /// Sent before the steps.
    pub begin: Option<&'static str>,
    /// Whether COMMIT is sent after them.
    pub commit: bool,
}

/// A statement in progress, and its result.
type PendingStatement<'a, T, E> = Pin<Box<dyn Future<Output = std::result::Result<T, E>> + Send + 'a>>;

type PendingRows<'a> = PendingStatement<'a, Vec<Row>, Error>;

/// A connection with a transaction of its own, from its first flight to its last.
pub(super) struct Transaction {
    client: BorrowedConnection,
    /// Whether something is not answered, or not ended.
    open: bool,
}

impl Transaction {
    pub fn on(client: BorrowedConnection) -> Transaction {
        Transaction { client, open: false }
    }

    /// Sends the steps and returns their rows, step by step. With a `commit` frame, the changes are durable if this
    /// returns rows, and undone if the server returned an error.
    pub async fn fly(&mut self, frame: Frame, steps: &[Query<'_>]) -> std::result::Result<Vec<Vec<Row>>, Error> {
        let client: &Client = &self.client;
        self.open = true;
        // Prepared beforehand, so that sending a step never waits and the steps stay in order.
        let mut statements: Vec<Statement> = Vec::with_capacity(steps.len());
        for step in steps {
            statements.push(client.prepare_cached(step.sql).await?);
        }
        let mut answers: Vec<PendingRows<'_>> = Vec::with_capacity(steps.len() + 2);
        if let Some(begin) = frame.begin {
            answers.push(plain(client, begin));
        }
        for (statement, step) in statements.iter().zip(steps) {
            answers.push(Box::pin(async move {
                let params: Vec<&(dyn ToSql + Sync)> = step.params.iter().map(|param| param.as_ref() as _).collect();
                client.query(statement, &params).await
            }));
        }
        if frame.commit {
            answers.push(plain(client, "COMMIT"));
        }
        let mut rows = in_order(answers).await?;
        self.open = !frame.commit;
        if frame.commit {
            rows.pop();
        }
        if frame.begin.is_some() {
            rows.remove(0);
        }
        Ok(rows)
    }

    /// Undoes everything. After a COMMIT that the server rejected, there is nothing left to undo.
    pub async fn roll_back(mut self) -> Result<()> {
        if self.open {
            self.client.batch_execute("ROLLBACK").await.map_err(refused)?;
        }
        self.open = false;
        Ok(())
    }
}

/// If the caller abandoned the transaction, its connection must not go back into the pool: it is closed, and the server
/// undoes what was not committed.
impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.open {
            self.client.all_is_answered();
        }
    }
}

fn plain<'a>(client: &'a Client, sql: &'static str) -> PendingRows<'a> {
    Box::pin(async move { client.batch_execute(sql).await.map(|()| Vec::new()) })
}

/// Sends the steps in order and waits for the responses to all that were sent. Returns every response, or the error of
/// the first step that failed. If a step fails before the next one was sent, the rest are not sent; the responses to
/// the steps before it are still awaited, because the server may be rejecting this step due to the failure of an
/// earlier one whose response has not been read yet.
async fn in_order<T, E>(mut futures: Vec<PendingStatement<'_, T, E>>) -> std::result::Result<Vec<T>, E> {
    let mut results: Vec<Option<std::result::Result<T, E>>> = futures.iter().map(|_| None).collect();
    let mut all_sent = false;
    poll_fn(move |context| {
        for (index, future) in futures.iter_mut().enumerate() {
            if results[index].is_some() {
                continue;
            }
            if let Poll::Ready(done) = future.as_mut().poll(context) {
                let failed = done.is_err();
                results[index] = Some(done);
                if failed && !all_sent {
                    results.truncate(index + 1);
                    break;
                }
            }
        }
        all_sent = true;
        futures.truncate(results.len());
        match results.iter().all(Option::is_some) {
            true => Poll::Ready(results.iter_mut().filter_map(Option::take).collect()),
            false => Poll::Pending,
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    type Boxed<'a> = PendingStatement<'a, u8, &'static str>;

    #[tokio::test]
    async fn what_cannot_be_sent_keeps_the_rest_from_being_sent() {
        let asked = AtomicUsize::new(0);
        let steps: Vec<Boxed<'_>> = vec![
            Box::pin(async { Ok(1) }),
            Box::pin(async { Err("too long") }),
            Box::pin(async {
                asked.fetch_add(1, Ordering::SeqCst);
                Ok(3)
            }),
        ];
        assert_eq!(in_order(steps).await, Err("too long"));
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn the_first_error_is_the_one_that_is_told() {
        let steps: Vec<Boxed<'_>> = vec![
            Box::pin(async {
                tokio::task::yield_now().await;
                Err("first")
            }),
            Box::pin(async { Ok(2) }),
            Box::pin(async {
                tokio::task::yield_now().await;
                Err("second")
            }),
        ];
        assert_eq!(in_order(steps).await, Err("first"));
    }

    #[tokio::test]
    async fn a_step_that_is_refused_at_once_does_not_hide_why() {
        let sent = AtomicUsize::new(0);
        let steps: Vec<Boxed<'_>> = vec![
            Box::pin(async {
                tokio::task::yield_now().await;
                Err("taken")
            }),
            Box::pin(async { Err("the transaction is aborted") }),
            Box::pin(async {
                sent.fetch_add(1, Ordering::SeqCst);
                Ok(3)
            }),
        ];
        assert_eq!(in_order(steps).await, Err("taken"));
        assert_eq!(sent.load(Ordering::SeqCst), 0);
    }
}
