//! Removes single positions from ranges.

use super::super::arrays::column;
use super::super::cells::each;
use super::super::flight::{Frame, Query, Transaction};
use super::super::retry::Try;
use crate::outbox::{SubscriptionId, pieces};
use crate::records::OrgId;
use std::collections::BTreeSet;

const CUT: &str = "
    WITH gone AS (DELETE FROM ranges WHERE id = $1 RETURNING *)
    INSERT INTO ranges (org, subscription, after, last, filter, since, replaying, reached, holes)
    SELECT g.org, g.subscription, p.after, p.last, g.filter, g.since, g.replaying, g.reached, g.holes
    FROM gone g CROSS JOIN (SELECT unnest($2::bigint[]) AS after, unnest($3::bigint[]) AS last) p ORDER BY p.last";

/// Removes positions from the ranges of a locked subscription, except from the ranges with these numbers. A range that
/// is split is deleted, and its pieces get new numbers.
pub(super) async fn take_out(
    transaction: &mut Transaction,
    (org, id): (OrgId, SubscriptionId),
    positions: &BTreeSet<i64>,
    except: &[i64],
) -> Try<()> {
    if positions.is_empty() {
        return Ok(());
    }
    let sql = "SELECT id, after, last FROM ranges
               WHERE org = $1 AND subscription = $2 AND NOT id = ANY($3::bigint[]) ORDER BY id";
    let step = Query::new(sql, vec![Box::new(org), Box::new(id), Box::new(except)]);
    let rows = transaction.fly(Frame::default(), &[step]).await?;
    let ranges: Vec<(i64, i64, i64)> =
        each(rows.first().map_or(&[], Vec::as_slice), |cells| Ok((cells.next()?, cells.next()?, cells.next()?)))?;
    for (range, after, last) in ranges {
        let Some(left) = pieces(after, last, positions) else { continue };
        let (after, last) = (column(&left, |(after, _)| *after), column(&left, |(_, last)| *last));
        let cut = Query::new(CUT, vec![Box::new(range), after, last]);
        transaction.fly(Frame::default(), &[cut]).await?;
    }
    Ok(())
}
