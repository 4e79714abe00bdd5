//! A new signing key for an organization.
//!
//! Messages signed with the old key that are not written yet must not be written any more. Every unit states the mode
//! of its product under which it was computed, so rotating raises the mode version of all products, under the locks
//! that a change of the mode takes. A product that was created while the locks were awaited is not locked; in that case
//! everything starts over.

use super::audit;
use super::flight::{Frame, Query, Transaction};
use super::retry::{Setback, Try, retried};
use super::server::PostgresServer;
use crate::records::OrgId;
use crate::{Audited, Result};
use daybook_engine::time::Time;

const CHANGE_KEY: &str = "
    UPDATE organizations
    SET previous_signing_key = signing_key, previous_until = $4, signing_key = $3
    WHERE org = $1 AND signing_key = $2
    RETURNING org";

/// Takes the same locks in the same order as a commit; each row says how many products its lock covers.
const LOCK_MODES: &str = "
    SELECT l.products, pg_advisory_xact_lock(l.number) IS NULL
    FROM (SELECT hashtextextended(p.product, p.org) AS number, count(*) AS products
          FROM products p WHERE p.org = $1 GROUP BY 1 ORDER BY 1) l";

const CHANGE_MODES: &str = "UPDATE products SET mode_version = mode_version + 1 WHERE org = $1 RETURNING org";

pub(super) async fn rotate_signing_key(
    server: &PostgresServer,
    org: OrgId,
    old: &[u8],
    new: &[u8],
    old_until: Time,
    audit: Audited<'_>,
) -> Result<bool> {
    retried!(server, transaction => rotate_once(&mut transaction, org, old, new, old_until, audit))
}

async fn rotate_once(
    transaction: &mut Transaction,
    org: OrgId,
    old: &[u8],
    new: &[u8],
    old_until: Time,
    audit: Audited<'_>,
) -> Try<bool> {
    let change =
        Query::new(CHANGE_KEY, vec![Box::new(org), Box::new(old), Box::new(new), Box::new(old_until.micros())]);
    let changed = transaction.fly(Frame { begin: Some("BEGIN"), commit: false }, &[change]).await?;
    if changed.iter().all(Vec::is_empty) {
        return Ok(false);
    }
    let steps = [Query::new(LOCK_MODES, vec![Box::new(org)]), Query::new(CHANGE_MODES, vec![Box::new(org)])];
    let answers = transaction.fly(Frame::default(), &steps).await?;
    let [locked, changed] = &answers[..] else { return Ok(false) };
    let mut products = 0;
    for row in locked {
        products += row.try_get::<_, i64>(0)?;
    }
    if products != changed.len() as i64 {
        return Err(Setback::Overtaken);
    }
    transaction.fly(Frame { begin: None, commit: true }, &audit::steps(audit)).await?;
    Ok(true)
}
