//! Reads rows of the outbox, of both dialects.

use super::{DeliveryAttempt, Failure, Fate, OutOfOrder, Pause, Subscription};
use crate::Result;
use crate::rows::Cells;

pub(crate) fn subscription(cells: &mut Cells<'_>) -> Result<Subscription> {
    let mut subscription = Subscription {
        org: cells.next()?,
        id: cells.next()?,
        uuid: cells.next()?,
        url: cells.next()?,
        filter: cells.list_or_none()?,
        paused: cells.next::<Option<String>>()?.zip(cells.time_or_none()?).map(|(reason, at)| Pause {
            reason,
            at,
            probe_at: None,
        }),
        consecutive_errors: cells.next()?,
        streak: cells.next()?,
        created_at: cells.time()?,
        last_success_at: cells.time_or_none()?,
        cursor: cells.next()?,
        version: cells.next()?,
        from_console: cells.next()?,
        max_per_second: setting(cells)?,
        max_in_flight: setting(cells)?,
        held_until: None,
        ahead: ahead(cells)?,
    };
    // One column for both: the next probe of a paused subscription, the end of the hold of an active one.
    let next = cells.time_or_none()?;
    match &mut subscription.paused {
        Some(pause) => pause.probe_at = next,
        None => subscription.held_until = next,
    }
    Ok(subscription)
}

/// A stored setting; `None` if it is not valid.
fn setting(cells: &mut Cells<'_>) -> Result<Option<u32>> {
    Ok(cells.next::<Option<i32>>()?.and_then(|value| u32::try_from(value).ok()))
}

/// A stored HTTP status; `None` if it is not valid.
pub(crate) fn status(cells: &mut Cells<'_>) -> Result<Option<u16>> {
    Ok(cells.next::<Option<i32>>()?.and_then(|status| u16::try_from(status).ok()))
}

/// The positions that are finished out of order: two columns.
pub(crate) fn ahead(cells: &mut Cells<'_>) -> Result<OutOfOrder> {
    Ok(OutOfOrder { reached: cells.next()?, holes: cells.list()? })
}

pub(crate) const ATTEMPT: &str = "number, at, latency_us, status, error, response, next_at";

pub(crate) fn attempt(cells: &mut Cells<'_>, position: i64) -> Result<DeliveryAttempt> {
    Ok(DeliveryAttempt {
        position,
        number: cells.next()?,
        at: cells.time()?,
        latency_us: cells.next()?,
        status: status(cells)?,
        error: cells.next()?,
        response: cells.next()?,
        next_at: cells.time_or_none()?,
    })
}

pub(crate) fn failure(cells: &mut Cells<'_>, position: i64) -> Result<Option<Failure>> {
    let (attempts, first_failed_at) = (cells.next()?, cells.time_or_none()?);
    let (retry, dead) = (cells.time_or_none()?.map(Fate::Retry), cells.time_or_none()?.map(Fate::Dead));
    let (reason, status, streak) = (cells.next()?, status(cells)?, cells.next()?);
    let failure = |fate| Failure { position, attempts, first_failed_at, fate, reason, status, streak };
    Ok(retry.or(dead).map(failure))
}
