//! A node tries one message of a paused subscription.

use super::super::arrays::{limit as most, micros};
use super::super::cells::{Cells, each};
use super::super::flight::{Frame, Query, Transaction};
use super::super::portfolio_queries::count_hours;
use super::super::retry::{Try, retried};
use super::super::server::PostgresServer;
use super::out_of_order::part;
use super::ranges::take_out;
use super::record::{attempts, failed, unwanted};
use super::subscriptions::resume_locked;
use super::{SUBSCRIPTION, stretch};
use crate::Result;
use crate::outbox::rows::subscription as read;
use crate::outbox::{Probed, Recorded, Subscription, SubscriptionId};
use crate::records::OrgId;
use daybook_engine::time::Time;
use std::collections::BTreeSet;

pub(super) async fn claim(
    server: &PostgresServer,
    token: &str,
    now: Time,
    until: Time,
    limit: usize,
) -> Result<Vec<Subscription>> {
    let sql = format!(
        "WITH due AS MATERIALIZED (
             SELECT id FROM subscriptions
             WHERE paused_at IS NOT NULL AND probe_at <= $2
               AND (lease_token IS NULL OR lease_token = $1 OR leased_until <= $2)
             ORDER BY probe_at, id LIMIT $4 FOR UPDATE SKIP LOCKED),
         taken AS (
             UPDATE subscriptions s SET lease_token = $1, leased_until = $3
             WHERE s.id = ANY (ARRAY(SELECT id FROM due)) RETURNING {SUBSCRIPTION})
         SELECT * FROM taken ORDER BY id"
    );
    each(&server.query(&sql, &[&token, &now.micros(), &until.micros(), &most(limit)]).await?, read)
}

const TAKEN: &str = "DELETE FROM failures WHERE org = $1 AND subscription = $2 AND position = $3";
const SUCCESS: &str =
    "UPDATE subscriptions SET last_success_at = GREATEST(last_success_at, $3) WHERE org = $1 AND id = $2";
const NEXT: &str = "
    UPDATE subscriptions SET probe_at = $3, paused_reason = COALESCE($4, paused_reason) WHERE org = $1 AND id = $2";

/// Positions between the cursor and a delivered message are unfinished unless they have a failure.
const BEYOND: &str = "
    UPDATE subscriptions s
    SET reached = $3,
        holes = ARRAY(SELECT p FROM generate_series(s.cursor + 1, $3 - 1) p
                      WHERE NOT EXISTS (SELECT FROM failures f
                                        WHERE f.org = $1 AND f.subscription = $2 AND f.position = p)
                      ORDER BY p)
    WHERE s.org = $1 AND s.id = $2 AND s.cursor < $3";

/// A message after the cursor was delivered although its subscription stays paused: the positions before it become
/// ranges.
fn finish_beyond<'a>((org, id): (OrgId, SubscriptionId), position: i64, since: Time) -> Vec<Query<'a>> {
    let beyond = Query::new(BEYOND, vec![Box::new(org), Box::new(id), Box::new(position)]);
    [beyond].into_iter().chain(part(org, id, since)).collect()
}

pub(super) async fn record(server: &PostgresServer, probed: &Probed) -> Result<Recorded> {
    let keep_missed = stretch::keep_missed();
    retried!(server, transaction => record_once(&mut transaction, probed, &keep_missed))
}

async fn record_once(transaction: &mut Transaction, probed: &Probed, keep_missed: &str) -> Try<Recorded> {
    let Probed { org, subscription: id, ref attempt, .. } = *probed;
    let lock = format!(
        "SELECT {SUBSCRIPTION} FROM subscriptions s
         WHERE s.org = $1 AND s.id = $2 AND s.lease_token = $3 FOR UPDATE"
    );
    let step = Query::new(&lock, vec![Box::new(org), Box::new(id), Box::new(&*probed.token)]);
    let found = transaction.fly(Frame { begin: Some("BEGIN"), commit: false }, &[step]).await?;
    let Some(row) = found.iter().flatten().next() else { return Ok(Recorded::Lost) };
    let before = read(&mut Cells::of(row))?;
    let is_still_paused = before.paused.as_ref().is_some_and(|pause| probed.is_of(pause));

    let tried = std::slice::from_ref(attempt);
    let mut steps = vec![attempts((org, id), tried), count_hours((org, id), tried)];
    match &probed.failed {
        None => {
            steps.push(Query::new(TAKEN, vec![Box::new(org), Box::new(id), Box::new(attempt.position)]));
            steps.push(Query::new(SUCCESS, vec![Box::new(org), Box::new(id), Box::new(attempt.at.micros())]));
        }
        Some(failure) if is_still_paused => {
            steps.push(failed((org, id), std::slice::from_ref(failure), None));
            // The filter may have been narrowed while the message was in flight.
            steps.extend(unwanted((org, id), std::slice::from_ref(failure)));
            let next = micros(probed.probe_at);
            steps.push(Query::new(
                NEXT,
                vec![Box::new(org), Box::new(id), Box::new(next), Box::new(probed.reason.as_deref())],
            ));
        }
        // The pause has ended meanwhile. The message stays as it is, with one more attempt.
        Some(failure) => {
            let sql = "UPDATE failures SET attempts = $4::bigint WHERE org = $1 AND subscription = $2 AND position = $3
                       AND attempts = $4::bigint - 1 AND first_failed_at IS NOT NULL";
            let (position, attempts) = (Box::new(failure.position), Box::new(failure.attempts));
            steps.push(Query::new(sql, vec![Box::new(org), Box::new(id), position, attempts]));
        }
    }
    transaction.fly(Frame::default(), &steps).await?;
    let now = if probed.failed.is_none() && is_still_paused {
        resume_locked(transaction, &before, keep_missed, Some(attempt.position), None).await?
    } else {
        if probed.failed.is_none() || is_still_paused {
            take_out(transaction, (org, id), &BTreeSet::from([attempt.position]), &[]).await?;
        }
        let again = format!("SELECT {SUBSCRIPTION} FROM subscriptions s WHERE s.org = $1 AND s.id = $2");
        let mut steps = vec![Query::new(&again, vec![Box::new(org), Box::new(id)])];
        if let (None, Some(pause)) = (&probed.failed, &before.paused) {
            steps.splice(0..0, finish_beyond((org, id), attempt.position, pause.at));
        }
        let rows = transaction.fly(Frame { begin: None, commit: true }, &steps).await?;
        rows.iter().flatten().next_back().map(|row| read(&mut Cells::of(row))).transpose()?
    };
    Ok(now.map_or(Recorded::Lost, |now| Recorded::Kept(Box::new(now))))
}
