//! Writes a batch.
//!
//! There is only one writer, so a unit is claimed by trying: its account is updated if it still has the version that
//! was loaded. A unit that fails at its first claim has written at most its idempotency keys, which are deleted again,
//! and the batch continues without it. A unit that fails later (one claim of several, an input whose name is taken)
//! cannot be removed from the batch any more: the transaction is rolled back and repeated without that unit.
//!
//! Units are written in the order of their accounts' ids, so that adjacent rows are written one after the other.
//! Messages are written in the order in which the units were given, because their positions reflect it.

use super::audit;
use super::connection::broken;
use super::log::Log;
use super::unit::UnitWriter;
use crate::Result;
use crate::batch::{AccountClaim, AccountWrite, Batch, Claimed, Unit};
use crate::records::{AccountKey, OrgId, ProductKey};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::collections::HashMap;

const MODE_VERSION: &str = "SELECT mode_version FROM products WHERE org = ?1 AND product = ?2";

pub(super) fn commit(connection: &mut Connection, batch: &Batch) -> Result<Vec<Claimed>> {
    let mut given_up = vec![false; batch.units.len()];
    loop {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
        match write(&transaction, batch, &given_up)? {
            TransactionResult::Done(claimed) => {
                if claimed.contains(&Claimed::Written) {
                    transaction.commit().map_err(broken)?;
                } else {
                    transaction.rollback().map_err(broken)?;
                }
                return Ok(claimed);
            }
            TransactionResult::Without(unit) => {
                transaction.rollback().map_err(broken)?;
                given_up[unit] = true;
            }
        }
    }
}

/// How far a transaction got.
enum TransactionResult {
    /// All units that could be claimed are written.
    Done(Vec<Claimed>),
    /// This unit proved to be stale when it was partly written.
    Without(usize),
}

/// The result of a unit, or of a part of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitResult {
    /// It is written.
    Written,
    /// It is stale, and none of it is written.
    Stale,
    /// It is stale, and some of it is written.
    HalfWritten,
}

fn write(connection: &Connection, batch: &Batch, given_up: &[bool]) -> Result<TransactionResult> {
    let mut claimed = vec![Claimed::Stale; batch.units.len()];
    let current = under_current_modes(connection, batch)?;
    let mut in_order: Vec<usize> = (0..batch.units.len()).filter(|unit| current[*unit] && !given_up[*unit]).collect();
    in_order.sort_by_key(|unit| first_account(&batch.units[*unit]));

    let mut writer = UnitWriter::open(connection)?;
    for index in in_order {
        match writer.write(&batch.units[index])? {
            UnitResult::Written => claimed[index] = Claimed::Written,
            UnitResult::Stale => {}
            UnitResult::HalfWritten => return Ok(TransactionResult::Without(index)),
        }
    }
    let mut log = Log::open(connection)?;
    for (unit, _) in batch.units.iter().zip(&claimed).filter(|(_, claimed)| **claimed == Claimed::Written) {
        announce(&mut log, unit)?;
    }
    log.close()?;
    let written = batch.units.iter().zip(&claimed).filter(|(_, claimed)| **claimed == Claimed::Written);
    audit::append(connection, written.flat_map(|(unit, _)| &unit.audit))?;
    Ok(TransactionResult::Done(claimed))
}

/// Which units were computed under the current modes of their products, before anything of the batch is written.
fn under_current_modes(connection: &Connection, batch: &Batch) -> Result<Vec<bool>> {
    let mut read = connection.prepare_cached(MODE_VERSION).map_err(broken)?;
    let mut versions: HashMap<&ProductKey, Option<i64>> = HashMap::new();
    let mut current = Vec::with_capacity(batch.units.len());
    for unit in &batch.units {
        let mut is_current = true;
        for (key, version) in &unit.modes {
            let now = match versions.get(key) {
                Some(now) => *now,
                None => {
                    let now =
                        read.query_row(params![key.org, key.product], |row| row.get(0)).optional().map_err(broken)?;
                    versions.insert(key, now);
                    now
                }
            };
            is_current &= now == Some(*version);
        }
        current.push(is_current);
    }
    Ok(current)
}

fn first_account(unit: &Unit) -> Option<&AccountKey> {
    unit.accounts.first().map(account_key)
}

/// The account that is written.
pub(super) fn account_key(write: &AccountWrite) -> &AccountKey {
    match &write.claim {
        AccountClaim::Insert(row) => &row.key,
        AccountClaim::Update { key, .. } => key,
    }
}

fn announce(log: &mut Log<'_>, unit: &Unit) -> Result<()> {
    for account in &unit.accounts {
        if let Some(until) = account.publish_until {
            log.publish_account(account_key(account), until)?;
        }
        if let Some(which) = account.cancel {
            log.cancel(account_key(account), which)?;
        }
    }
    unit.compressed.rows.iter().try_for_each(|(org, row)| log.announce(*org, row))?;
    if unit.hurry {
        let accounts = unit.accounts.iter().map(|account| account_key(account).org);
        let mut orgs: Vec<OrgId> = unit.compressed.rows.iter().map(|(org, _)| *org).chain(accounts).collect();
        orgs.sort_unstable();
        orgs.dedup();
        orgs.into_iter().try_for_each(|org| log.hurry(org))?;
    }
    Ok(())
}
