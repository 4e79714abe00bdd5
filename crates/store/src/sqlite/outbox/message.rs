//! One message: its status for each subscription, and sending it again.

use super::dead::{self, take_out};
use super::run;
use super::subscriptions::{by_uuid, change, of_organization};
use crate::Result;
use crate::outbox::rows::{ATTEMPT, attempt, failure};
use crate::outbox::{DeliveryRecords, DeliveryStatus, RangeStatus, ResendResult, Subscription};
use crate::records::{MessageRow, OrgId};
use crate::rows::MESSAGE;
use crate::sqlite::grouped_messages::{all_messages, message_at, message_of_account, stored, waiting_message};
use crate::sqlite::read::{all, one};
use crate::sqlite::rows::{by_cells, place};
use daybook_engine::time::Time;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

pub(super) fn by_event_id(
    connection: &Connection,
    org: OrgId,
    event_id: &str,
    of: Option<(String, i64)>,
) -> Result<Option<MessageRow>> {
    let Some((account, sequence)) = of else {
        let sql = format!(
            "SELECT {} FROM message_groups INDEXED BY messages_about_no_account \
             WHERE account IS NULL AND event_id = ?2 AND org = ?1 LIMIT 1",
            stored()
        );
        return Ok(all_messages(connection, org, &sql, params![org, event_id])?.pop());
    };
    let has_it = |message: &MessageRow| message.event_id == event_id;
    if let Some(found) = message_of_account(connection, (org, &account), sequence)?.filter(has_it) {
        return Ok(Some(found));
    }
    let sql = format!(
        "SELECT NULL, due_at, cancelled_at, {MESSAGE} FROM waiting_messages INDEXED BY waiting_messages_by_account \
         WHERE org = ?1 AND account = ?2 AND sequence = ?3"
    );
    Ok(one(connection, &sql, params![org, account, sequence], by_cells(waiting_message))?.filter(has_it))
}

pub(super) fn delivery_records(connection: &Connection, org: OrgId, position: i64) -> Result<Vec<DeliveryRecords>> {
    let all = of_organization(connection, org)?;
    all.into_iter().map(|of| records_of(connection, of, position)).collect()
}

fn records_of(connection: &Connection, of: Subscription, position: i64) -> Result<DeliveryRecords> {
    let failed = "SELECT attempts, first_failed_at, retry_at, dead_at, reason, status, streak \
                  FROM failures WHERE subscription = ?1 AND position = ?2";
    let failure =
        one(connection, failed, params![of.id, position], by_cells(|cells| failure(cells, position)))?.flatten();
    let mut ranges = Vec::new();
    for replaying in [true, false] {
        for stretch in dead::ranges(connection, of.id, replaying)? {
            if stretch.after < position && position <= stretch.last {
                ranges.push(RangeStatus { filter: stretch.filter, since: stretch.since, replaying });
            }
        }
    }
    let tried = format!(
        "SELECT {ATTEMPT} FROM attempts INDEXED BY attempts_by_message \
         WHERE place = ?2 AND subscription = ?1 ORDER BY id"
    );
    let attempts =
        all(connection, &tried, params![of.id, place(of.org, position)], by_cells(|cells| attempt(cells, position)))?;
    Ok(DeliveryRecords { subscription: of, failure, ranges, attempts })
}

/// A failure that was counted keeps its series of failures; others were counted in none.
const AGAIN: &str = "
    INSERT INTO failures (subscription, position, attempts, first_failed_at, retry_at, dead_at, reason, status, streak)
    VALUES (?1, ?2, 0, NULL, ?3, NULL, '', NULL, -1)
    ON CONFLICT DO UPDATE SET attempts = 0, first_failed_at = NULL, retry_at = excluded.retry_at, dead_at = NULL";

pub(super) fn send_again(
    connection: &Connection,
    org: OrgId,
    uuid: &str,
    position: i64,
    now: Time,
) -> Result<ResendResult> {
    let Some(of) = by_uuid(connection, org, uuid)? else { return Ok(ResendResult::NoSubscription) };
    let Some(message) = message_at(connection, org, position)? else { return Ok(ResendResult::NotForIt) };
    if of.paused.is_some() {
        return Ok(ResendResult::Paused);
    }
    let records = records_of(connection, of, position)?;
    match records.of(&message, now) {
        DeliveryStatus::NotForIt => return Ok(ResendResult::NotForIt),
        DeliveryStatus::Waiting if records.subscription.held_until.is_some_and(|until| until > now) => {
            // It waits because the URL is on hold.
            change(connection, &records.subscription, now)?;
            return Ok(ResendResult::Sent);
        }
        DeliveryStatus::Waiting => return Ok(ResendResult::Waiting),
        DeliveryStatus::Delivered(_)
        | DeliveryStatus::Retry(_)
        | DeliveryStatus::Dead(_)
        | DeliveryStatus::Dropped
        | DeliveryStatus::Forgotten => {}
    }
    let of = &records.subscription;
    // Ranges being replayed contain it only for other events, and are in progress.
    let replayed: Vec<i64> = dead::ranges(connection, of.id, true)?.iter().filter_map(|range| range.range).collect();
    take_out(connection, of, &BTreeSet::from([position]), &replayed)?;
    run(connection, AGAIN, params![of.id, position, now.micros()])?;
    change(connection, of, now)?;
    Ok(ResendResult::Sent)
}
