//! Writes a batch: claims, rows, messages.
//!
//! A payment to an account takes two flights: the first begins the transaction and locks the rows that the units depend
//! on, the second writes everything, ends with the log and commits. Units that could not be claimed are left out.
//!
//! The first flight also reads the version of the tables. Reading it holds a lock until the transaction ends, and a
//! migration waits for that lock ([`migrate`]): a node of an earlier build writes nothing into newer tables.
//!
//! Some units cannot be left out once they have begun: one of several claims failed, or a row existed despite the
//! claim. Then the transaction is rolled back and the batch is split in two, repeatedly, until the unit is alone: the
//! others are written, and it is stale.

use super::audit;
use super::claim::Claims;
use super::flight::{Frame, Query, Transaction};
use super::migrate;
use super::publish::{Published, ask_waiting, message_steps, read_waiting};
use super::search_index;
use super::server::{PostgresServer, TRIES, is_taken, lost_to_another, refused};
use super::write::{account_steps, give_keys_back};
use crate::Result;
use crate::batch::{Batch, Claimed, Unit};
use crate::error::StoreError;
use tokio_postgres::Error;

pub(super) async fn commit(server: &PostgresServer, batch: Batch) -> Result<Vec<Claimed>> {
    let units: Vec<&Unit> = batch.units.iter().collect();
    let mut claimed = Vec::with_capacity(units.len());
    let mut parts: Vec<&[&Unit]> = vec![&units];
    while let Some(part) = parts.pop() {
        match write_together(server, part).await? {
            Some(written) => claimed.extend(written),
            None if part.len() == 1 => claimed.push(Claimed::Stale),
            None => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            }
        }
    }
    Ok(claimed)
}

/// Why a transaction failed.
enum Setback {
    Server(Error),
    Store(StoreError),
    /// A unit that has begun proved to be stale.
    Entangled,
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

/// Writes units in one transaction; `None` if one of them must be written, or found stale, separately from the others.
async fn write_together(server: &PostgresServer, units: &[&Unit]) -> Result<Option<Vec<Claimed>>> {
    if units.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let mut tries = 1;
    loop {
        let mut transaction = Transaction::on(server.client().await?);
        let setback = match write_once(&mut transaction, units).await {
            Ok(claimed) => {
                // Has no effect after a commit; undoes everything if no unit could be claimed.
                transaction.roll_back().await?;
                return Ok(Some(claimed));
            }
            Err(setback) => setback,
        };
        match setback {
            Setback::Server(error) if lost_to_another(&error) && tries < TRIES => {
                tracing::debug!(tries, %error, "a commit conflicted with another and is retried");
                tries += 1;
                transaction.roll_back().await?;
            }
            Setback::Server(error) if is_taken(&error) => {
                tracing::debug!(%error, "a row exists already, in spite of the claim");
                transaction.roll_back().await?;
                return Ok(None);
            }
            Setback::Entangled => {
                transaction.roll_back().await?;
                return Ok(None);
            }
            // The connection may be lost: dropping the transaction closes it.
            Setback::Server(error) => return Err(refused(error)),
            Setback::Store(error) => return Err(error),
        }
    }
}

async fn write_once(transaction: &mut Transaction, units: &[&Unit]) -> std::result::Result<Vec<Claimed>, Setback> {
    let mut claims = Claims::of(units);
    let (version, rows) = claims.lock(transaction, ask_waiting(units).into_iter().collect()).await?;
    migrate::standing_at(version).must_not_be_newer()?;
    let waiting = read_waiting(rows.first().map_or(&[], Vec::as_slice))?;
    claims.take(transaction).await?;
    if claims.live.iter().zip(&claims.touched).any(|(live, touched)| *touched && !live) {
        return Err(Setback::Entangled);
    }
    let live = claims.live_units();
    if !live.is_empty() {
        let lost: Vec<_> = claims.keys.iter().filter(|(unit, _)| !claims.live[*unit]).map(|(_, key)| *key).collect();
        let mut steps: Vec<Query<'_>> = give_keys_back(&lost).into_iter().collect();
        steps.extend(account_steps(&live));
        steps.extend(search_index::steps(&live));
        steps.extend(message_steps(&live, &Published::of(&waiting)));
        steps.extend(audit::steps(live.iter().flat_map(|unit| &unit.audit)));
        transaction.fly(Frame { begin: None, commit: true }, &steps).await?;
    }
    Ok(claims.live.iter().map(|live| if *live { Claimed::Written } else { Claimed::Stale }).collect())
}
