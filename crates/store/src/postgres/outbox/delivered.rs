//! Sends delivered messages again.
//!
//! The delivered messages are found through the attempts, from the last one back to the requested moment. They become
//! ranges that are being replayed: a single one if everything that the subscription gets was delivered, several if a
//! message in between was not. Subscriptions are handled one after the other, each in its own transaction.

use super::super::arrays::column;
use super::super::cells::{Cells, each};
use super::super::flight::{Frame, Param, Query, Transaction};
use super::super::grouped_messages::{Reading, messages_at};
use super::super::retry::{Try, retried};
use super::super::server::PostgresServer;
use super::subscriptions::changed;
use super::{SUBSCRIPTION, stretch};
use crate::Result;
use crate::outbox::rows::subscription as read;
use crate::outbox::{
    CLOCK_SLACK_US, DeliveryFilter, MOST_LOOKED_AT, ReplayCounts, Subscription, SubscriptionFilter, SubscriptionId,
    TO_EVERYBODY, runs,
};
use crate::records::{MessageRow, OrgId};
use daybook_engine::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::Row;

/// How many attempts are read at a time.
const PAGE: i64 = 5_000;
/// How many messages are read at a time.
const MESSAGES: usize = 500;

/// The request.
struct DeliveredReplayRequest<'a> {
    org: OrgId,
    filter: &'a DeliveryFilter,
    now: Time,
    dry_run: bool,
    most: usize,
}

pub(super) async fn replay(
    server: &PostgresServer,
    org: OrgId,
    filter: &DeliveryFilter,
    now: Time,
    dry_run: bool,
    most: usize,
) -> Result<Option<ReplayCounts>> {
    let sql = "SELECT id FROM subscriptions WHERE org = $1 AND ($2::bigint IS NULL OR id = $2) ORDER BY id";
    let ids: Vec<SubscriptionId> =
        each(&server.query(sql, &[&org, &filter.subscription]).await?, |cells| cells.next())?;
    let mut done = ReplayCounts::default();
    // Everything is counted first: if there are too many, nothing is sent.
    for dry_run in if dry_run { &[true][..] } else { &[true, false] } {
        done = ReplayCounts::default();
        let wanted = DeliveredReplayRequest { org, filter, now, dry_run: *dry_run, most };
        for id in &ids {
            let Some(of_one) = replay_of(server, &wanted, *id).await? else { return Ok(None) };
            done.replayed += of_one.replayed;
            done.left_paused += of_one.left_paused;
        }
    }
    Ok(Some(done))
}

async fn replay_of(
    server: &PostgresServer,
    wanted: &DeliveredReplayRequest<'_>,
    id: SubscriptionId,
) -> Result<Option<ReplayCounts>> {
    retried!(server, transaction => replay_once(&mut transaction, wanted, id))
}

const INSERT: &str = "
    INSERT INTO ranges (org, subscription, after, last, filter, since, replaying)
    SELECT $1, $2, p.after, p.last, $5, $6, true
    FROM (SELECT unnest($3::bigint[]) AS after, unnest($4::bigint[]) AS last) p ORDER BY p.last";

async fn replay_once(
    transaction: &mut Transaction,
    wanted: &DeliveredReplayRequest<'_>,
    id: SubscriptionId,
) -> Try<Option<ReplayCounts>> {
    let lock = format!("SELECT {SUBSCRIPTION} FROM subscriptions s WHERE s.org = $1 AND s.id = $2 FOR UPDATE");
    let lock = Query::new(&lock, vec![Box::new(wanted.org), Box::new(id)]);
    let found = transaction.fly(Frame { begin: Some("BEGIN"), commit: false }, &[lock]).await?;
    let Some(row) = found.iter().flatten().next() else { return Ok(Some(ReplayCounts::default())) };
    let of = read(&mut Cells::of(row))?;
    let Some(positions) = wanted.delivered(transaction, &of).await? else { return Ok(None) };
    let matching = wanted.matching(transaction, &of, positions).await?;
    let count = matching.len() as u64;
    if of.paused.is_some() {
        return Ok(Some(ReplayCounts { replayed: 0, left_paused: count }));
    }
    if count > 0 && !wanted.dry_run {
        let events = wanted.events(&of, &matching);
        let members = members(transaction, &of, events.as_deref(), &matching).await?;
        let runs = runs(members, &matching.keys().copied().collect());
        let insert = Query::new(
            INSERT,
            vec![
                Box::new(wanted.org),
                Box::new(id),
                column(&runs, |&(after, _)| after),
                column(&runs, |&(_, last)| last),
                Box::new(events),
                Box::new(wanted.now.micros()),
            ],
        );
        let mut steps = vec![insert];
        steps.extend(changed(&of, wanted.now));
        transaction.fly(Frame { begin: None, commit: true }, &steps).await?;
    }
    Ok(Some(ReplayCounts { replayed: count, left_paused: 0 }))
}

impl DeliveredReplayRequest<'_> {
    /// The positions that a subscription accepted in the requested period; `None` if there are too many.
    async fn delivered(&self, transaction: &mut Transaction, of: &Subscription) -> Try<Option<BTreeSet<i64>>> {
        let since = self.filter.since.map_or(i64::MIN, Time::micros);
        let until = self.filter.until.map_or(i64::MAX, Time::micros);
        let sql = "SELECT id, position, at, error IS NULL FROM attempts
                   WHERE org = $1 AND subscription = $2 AND id < $3 ORDER BY id DESC LIMIT $4";
        let (mut found, mut before, mut looked_at) = (BTreeSet::new(), i64::MAX, 0);
        loop {
            let params: Vec<Param<'_>> = vec![Box::new(self.org), Box::new(of.id), Box::new(before), Box::new(PAGE)];
            let rows = transaction.fly(Frame::default(), &[Query::new(sql, params)]).await?;
            let page: Vec<(i64, i64, i64, bool)> = each(rows.first().map_or(&[][..], Vec::as_slice), |cells| {
                Ok((cells.next()?, cells.next()?, cells.next()?, cells.next()?))
            })?;
            looked_at += page.len();
            let taken = page.iter().filter(|(_, _, at, ok)| *ok && (since..until).contains(at));
            found.extend(taken.map(|(_, position, _, _)| *position).filter(|position| *position <= of.cursor));
            if found.len() > self.most || looked_at > MOST_LOOKED_AT {
                return Ok(None);
            }
            let is_early = page.iter().all(|(_, _, at, _)| *at < since.saturating_sub(CLOCK_SLACK_US));
            match page.last() {
                Some((id, ..)) if !is_early => before = *id,
                _ => return Ok(Some(found)),
            }
        }
    }

    /// Those that match, with their events, and that are not to be sent again already.
    async fn matching(
        &self,
        transaction: &mut Transaction,
        of: &Subscription,
        positions: BTreeSet<i64>,
    ) -> Try<BTreeMap<i64, String>> {
        let failed = "SELECT position FROM failures
                      WHERE org = $1 AND subscription = $2 AND position = ANY($3::bigint[])";
        let ranges = "SELECT after, last, filter FROM ranges WHERE org = $1 AND subscription = $2";
        let all: Vec<i64> = positions.iter().copied().collect();
        let steps = [
            Query::new(failed, vec![Box::new(self.org), Box::new(of.id), Box::new(all)]),
            Query::new(ranges, vec![Box::new(self.org), Box::new(of.id)]),
        ];
        let rows = transaction.fly(Frame::default(), &steps).await?;
        let part = |step: usize| rows.get(step).map_or(&[][..], Vec::as_slice);
        let ranges: Vec<(i64, i64, Option<Vec<String>>)> =
            each(part(1), |cells| Ok((cells.next()?, cells.next()?, cells.list_or_none()?)))?;
        let failed: BTreeSet<i64> = each(part(0), |cells| cells.next())?.into_iter().collect();
        let positions: Vec<i64> = positions.difference(&failed).copied().collect();
        let filter = self.filter;
        let mut matching = BTreeMap::new();
        for some in positions.chunks(MESSAGES) {
            let some = some.iter().copied().collect();
            for message in messages_at(&mut Reading::Within(transaction), self.org, &some).await? {
                let MessageRow { position: Some(position), event, subject, account, .. } = message else { continue };
                let waits = ranges.iter().any(|(after, last, events)| {
                    let reader =
                        SubscriptionFilter { filter: events.as_deref(), missed: true, ..of.subscription_filter() };
                    *after < position && position <= *last && reader.gets(&event, &subject)
                });
                let is_asked_for = filter.event.as_ref().is_none_or(|asked| *asked == event)
                    && filter.account.as_ref().is_none_or(|asked| Some(asked) == account.as_ref());
                if !waits && is_asked_for && event != TO_EVERYBODY {
                    matching.insert(position, event);
                }
            }
        }
        Ok(matching)
    }

    /// The events of the ranges: messages of other events in between do not split them.
    fn events(&self, of: &Subscription, matching: &BTreeMap<i64, String>) -> Option<Vec<String>> {
        if of.filter.is_none() && self.filter.event.is_none() && self.filter.account.is_none() {
            return None;
        }
        let names: BTreeSet<&String> = matching.values().collect();
        Some(names.into_iter().cloned().collect())
    }
}

/// The positions between the first and the last match that the subscription gets of these events, including those that
/// failed.
async fn members(
    transaction: &mut Transaction,
    of: &Subscription,
    events: Option<&[String]>,
    matching: &BTreeMap<i64, String>,
) -> Try<Vec<i64>> {
    let (Some((first, _)), Some((last, _))) = (matching.first_key_value(), matching.last_key_value()) else {
        return Ok(Vec::new());
    };
    let sql = format!(
        "SELECT m.position FROM ({given}) t CROSS JOIN LATERAL ({members}) m
         UNION
         SELECT f.position FROM failures f
         WHERE f.org = $1 AND f.subscription = $2 AND f.position > $4 AND f.position <= $5
         ORDER BY 1",
        given = stretch::given(),
        members = stretch::members(None, "true", None),
    );
    let params: Vec<Param<'_>> = vec![
        Box::new(of.org),
        Box::new(of.id),
        Box::new(&*of.uuid),
        Box::new(first - 1),
        Box::new(*last),
        Box::new(0_i64),
        Box::new(events),
    ];
    let rows = transaction.fly(Frame::default(), &[Query::new(&sql, params)]).await?;
    let position = |row: &Row| row.try_get(0);
    Ok(rows.iter().flatten().map(position).collect::<std::result::Result<Vec<i64>, _>>()?)
}
