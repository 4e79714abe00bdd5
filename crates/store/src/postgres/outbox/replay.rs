//! Sends dead letters again.
//!
//! Subscriptions are handled one after the other, each in its own transaction. A failure gets a new retry time. A range
//! is marked as replaying. If only part of it matches, it is split first: by positions if the filter is by time or
//! account, and into two ranges over the same positions if it is by event.
//!
//! A range that is split is deleted, and its pieces get new numbers, so that a node that was sending it cannot advance
//! a piece by mistake.

use super::super::arrays::{column, micros};
use super::super::cells::{Cells, each};
use super::super::flight::{Frame, Param, Query, Transaction};
use super::super::grouped_messages::{ROW_ENDS_WITHIN, is_of_event, positions_of_event, row_of};
use super::super::retry::{Try, retried};
use super::super::server::PostgresServer;
use super::lists::died_between;
use super::subscriptions::changed;
use super::{SUBSCRIPTION, stretch};
use crate::Result;
use crate::outbox::rows::subscription as read;
use crate::outbox::{DeliveryFilter, ReplayCounts, Subscription, SubscriptionId, TO_EVERYBODY, TO_THE_OTHERS};
use crate::records::OrgId;
use daybook_engine::time::Time;
use std::collections::BTreeMap;
use tokio_postgres::Row;

/// The request, for one subscription.
struct DeadLetterReplayRequest<'a> {
    org: OrgId,
    filter: &'a DeliveryFilter,
    now: Time,
    dry_run: bool,
}

pub(super) async fn replay(
    server: &PostgresServer,
    org: OrgId,
    filter: &DeliveryFilter,
    now: Time,
    dry_run: bool,
) -> Result<ReplayCounts> {
    let wanted = DeadLetterReplayRequest { org, filter, now, dry_run };
    let sql = "SELECT id FROM subscriptions WHERE org = $1 AND ($2::bigint IS NULL OR id = $2) ORDER BY id";
    let ids = each(&server.query(sql, &[&org, &filter.subscription]).await?, |cells| cells.next())?;
    let mut all = ReplayCounts::default();
    for id in ids {
        let done = replay_of(server, &wanted, id).await?;
        all.replayed += done.replayed;
        all.left_paused += done.left_paused;
    }
    Ok(all)
}

async fn replay_of(
    server: &PostgresServer,
    wanted: &DeadLetterReplayRequest<'_>,
    id: SubscriptionId,
) -> Result<ReplayCounts> {
    retried!(server, transaction => replay_once(&mut transaction, wanted, id))
}

async fn replay_once(
    transaction: &mut Transaction,
    wanted: &DeadLetterReplayRequest<'_>,
    id: SubscriptionId,
) -> Try<ReplayCounts> {
    let lock = format!("SELECT {SUBSCRIPTION} FROM subscriptions s WHERE s.org = $1 AND s.id = $2 FOR UPDATE");
    let lock = Query::new(&lock, vec![Box::new(wanted.org), Box::new(id)]);
    let found = transaction.fly(Frame { begin: Some("BEGIN"), commit: false }, &[lock]).await?;
    let Some(row) = found.iter().flatten().next() else { return Ok(ReplayCounts::default()) };
    let of = read(&mut Cells::of(row))?;
    let count = wanted.count(transaction, &of).await?;
    if of.paused.is_some() {
        return Ok(ReplayCounts { replayed: 0, left_paused: count });
    }
    if count > 0 && !wanted.dry_run {
        let revive_failures = format!("{REVIVE_FAILURES}{}", failed());
        transaction.fly(Frame::default(), &[Query::new(&revive_failures, wanted.params(&of))]).await?;
        wanted.revive_ranges(transaction, &of).await?;
        transaction.fly(Frame { begin: None, commit: true }, &changed(&of, wanted.now)).await?;
    }
    Ok(ReplayCounts { replayed: count, left_paused: 0 })
}

/// Which failures match: `$1` organization, `$2` subscription, `$3` event, `$4` account, `$5` since, `$6` until.
fn failed() -> String {
    let (row, of_event) = (row_of("f.org", "f.position"), is_of_event("f.position", "= $3"));
    format!(
        "f.org = $1 AND f.subscription = $2 AND f.dead_at IS NOT NULL
         AND ($5::bigint IS NULL OR f.dead_at >= $5) AND ($6::bigint IS NULL OR f.dead_at < $6)
         AND ($3::text IS NULL AND $4::text IS NULL
              OR EXISTS (SELECT FROM {row}
                         WHERE ($3 IS NULL OR {of_event}) AND ($4 IS NULL OR m.account = $4)))"
    )
}

const REVIVE_FAILURES: &str = "
    UPDATE failures f SET retry_at = $7, dead_at = NULL, attempts = 0, first_failed_at = NULL WHERE ";

const REVIVE_WHOLE: &str = "UPDATE ranges SET replaying = true WHERE org = $1 AND subscription = $2 AND NOT replaying";
const REVIVE_ONE: &str = "UPDATE ranges SET replaying = true WHERE id = $1";
const DEAD_RANGES: &str = "
    SELECT id, after, last, filter, since FROM ranges
    WHERE org = $1 AND subscription = $2 AND NOT replaying ORDER BY id";
const REMOVE: &str = "DELETE FROM ranges WHERE id = $1";
const INSERT: &str = "
    INSERT INTO ranges (org, subscription, after, last, filter, since, replaying)
    SELECT $1, $2, p.after, p.last, $5, $6, $7
    FROM (SELECT unnest($3::bigint[]) AS after, unnest($4::bigint[]) AS last) p ORDER BY p.last";

/// A dead range.
struct Dead {
    id: i64,
    after: i64,
    last: i64,
    filter: Option<Vec<String>>,
    since: i64,
}

/// Consecutive members of a range that match alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: i64,
    last: i64,
    /// Whether the filter selects them, apart from their events.
    asked: bool,
}

/// A part of a range after the split.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    after: i64,
    last: i64,
    filter: Option<Vec<String>>,
    replaying: bool,
}

impl DeadLetterReplayRequest<'_> {
    fn event(&self) -> Option<&str> {
        self.filter.event.as_deref()
    }

    fn cuts_by_position(&self) -> bool {
        let DeliveryFilter { account, since, until, .. } = self.filter;
        account.is_some() || since.is_some() || until.is_some()
    }

    /// `$1` to `$7`.
    fn params(&self, of: &Subscription) -> Vec<Param<'_>> {
        let DeliveryFilter { account, since, until, .. } = self.filter;
        vec![
            Box::new(self.org),
            Box::new(of.id),
            Box::new(self.event()),
            Box::new(account.as_deref()),
            Box::new(micros(*since)),
            Box::new(micros(*until)),
            Box::new(self.now.micros()),
        ]
    }

    /// How many dead letters match. Ranges are counted by their ends, or by the index of events, unless the filter is
    /// by time or account.
    async fn count(&self, transaction: &mut Transaction, of: &Subscription) -> Try<u64> {
        let of_stretch = if self.cuts_by_position() {
            let account = self.filter.account.as_ref().map(|_| "$4::text");
            let members = stretch::members(account, &died_between(&stretch::dead_at("$7")), None);
            format!("(SELECT count(*) FROM ({members}) m)")
        } else {
            stretch::count()
        };
        let sql = format!(
            "SELECT (SELECT count(*) FROM failures f WHERE {failed})
                    + (SELECT COALESCE(sum(c.messages), 0)::bigint
                       FROM (SELECT {of_stretch} AS messages FROM ({stretches}) t WHERE t.dead) c)
             FROM subscriptions s WHERE s.org = $1 AND s.id = $2 AND $7::bigint IS NOT NULL",
            failed = failed(),
            stretches = stretch::stretches("0", Some("$3")),
        );
        let rows = transaction.fly(Frame::default(), &[Query::new(&sql, self.params(of))]).await?;
        let count: i64 = rows.iter().flatten().next().map_or(Ok(0), |row| row.try_get(0))?;
        Ok(count.max(0).cast_unsigned())
    }

    async fn revive_ranges(&self, transaction: &mut Transaction, of: &Subscription) -> Try<()> {
        let all = || -> Vec<Param<'_>> { vec![Box::new(self.org), Box::new(of.id)] };
        if self.event().is_none() && !self.cuts_by_position() {
            transaction.fly(Frame::default(), &[Query::new(REVIVE_WHOLE, all())]).await?;
            return Ok(());
        }
        let rows = transaction.fly(Frame::default(), &[Query::new(DEAD_RANGES, all())]).await?;
        let ranges = each(rows.first().map_or(&[], Vec::as_slice), |cells| {
            Ok(Dead {
                id: cells.next()?,
                after: cells.next()?,
                last: cells.next()?,
                filter: cells.list_or_none()?,
                since: cells.next()?,
            })
        })?;
        for dead in ranges {
            let pieces = self.cut(transaction, of, &dead).await?;
            self.replace(transaction, of, &dead, pieces).await?;
        }
        Ok(())
    }

    /// Splits a range into pieces.
    async fn cut(&self, transaction: &mut Transaction, of: &Subscription, dead: &Dead) -> Try<Vec<Piece>> {
        let mut pieces = Vec::new();
        for run in self.runs(transaction, of, dead).await? {
            let whole =
                |replaying| Piece { after: run.first - 1, last: run.last, filter: dead.filter.clone(), replaying };
            match (run.asked, self.event()) {
                (false, _) => pieces.push(whole(false)),
                (true, None) => pieces.push(whole(true)),
                (true, Some(event)) => {
                    let there = events_of(transaction, of, dead, run).await?;
                    let (asked, others): (Vec<String>, Vec<String>) =
                        there.into_iter().partition(|there| there == event);
                    match (asked.is_empty(), others.is_empty()) {
                        (true, _) => pieces.push(whole(false)),
                        (false, true) => pieces.push(whole(true)),
                        (false, false) => {
                            pieces.push(Piece { filter: Some(asked), ..whole(true) });
                            pieces.push(Piece { filter: Some(others), ..whole(false) });
                        }
                    }
                }
            }
        }
        Ok(pieces)
    }

    /// The runs of a range: one, unless it is split by positions.
    async fn runs(&self, transaction: &mut Transaction, of: &Subscription, dead: &Dead) -> Try<Vec<Run>> {
        if !self.cuts_by_position() {
            return Ok(vec![Run { first: dead.after + 1, last: dead.last, asked: true }]);
        }
        let DeliveryFilter { account, since, until, .. } = self.filter;
        let params: Vec<Param<'_>> = vec![
            Box::new(self.org),
            Box::new(of.id),
            Box::new(&*of.uuid),
            Box::new(dead.after),
            Box::new(dead.last),
            Box::new(dead.since),
            Box::new(dead.filter.as_deref()),
            Box::new(self.now.micros()),
            Box::new(account.as_deref()),
            Box::new(micros(*since)),
            Box::new(micros(*until)),
        ];
        let rows = transaction.fly(Frame::default(), &[Query::new(&runs_sql(), params)]).await?;
        rows.iter().flatten().map(read_run).collect()
    }

    /// Replaces a range by the pieces, unless none of them is sent again.
    async fn replace(
        &self,
        transaction: &mut Transaction,
        of: &Subscription,
        dead: &Dead,
        pieces: Vec<Piece>,
    ) -> Try<()> {
        if !pieces.iter().any(|piece| piece.replaying) {
            return Ok(());
        }
        if let [piece] = &pieces[..]
            && piece.filter == dead.filter
        {
            transaction.fly(Frame::default(), &[Query::new(REVIVE_ONE, vec![Box::new(dead.id)])]).await?;
            return Ok(());
        }
        // A column cannot hold a list of lists, so pieces with the same events are inserted together.
        let mut by_events: BTreeMap<(bool, Option<&[String]>), Vec<&Piece>> = BTreeMap::new();
        for piece in &pieces {
            by_events.entry((piece.replaying, piece.filter.as_deref())).or_default().push(piece);
        }
        let inserts = by_events.into_iter().map(|((replaying, filter), pieces)| {
            let (after, last) = (column(&pieces, |piece| piece.after), column(&pieces, |piece| piece.last));
            let (org, id, since) = (Box::new(self.org), Box::new(of.id), Box::new(dead.since));
            Query::new(INSERT, vec![org, id, after, last, Box::new(filter), since, Box::new(replaying)])
        });
        let remove = Query::new(REMOVE, vec![Box::new(dead.id)]);
        let steps: Vec<Query<'_>> = [remove].into_iter().chain(inserts).collect();
        transaction.fly(Frame::default(), &steps).await?;
        Ok(())
    }
}

/// Runs of members by whether the filter selects them: that flag, the first and the last position. In addition to the
/// range's parameters: `$8` now, `$9` account, `$10` since, `$11` until.
fn runs_sql() -> String {
    let dead_at = stretch::dead_at("$8");
    format!(
        "SELECT r.asked, min(r.position), max(r.position)
         FROM (SELECT m.position, m.asked,
                      row_number() OVER (ORDER BY m.position)
                      - row_number() OVER (PARTITION BY m.asked ORDER BY m.position) AS run
               FROM (SELECT m.position,
                            ($10::bigint IS NULL OR {dead_at} >= $10) AND ($11::bigint IS NULL OR {dead_at} < $11)
                            AND ($9::text IS NULL OR m.account IS NOT DISTINCT FROM $9) AS asked
                     FROM ({given}) t CROSS JOIN LATERAL ({members}) m) m) r
         GROUP BY r.asked, r.run ORDER BY 2",
        given = stretch::given(),
        members = stretch::members(None, "true", None),
    )
}

fn read_run(row: &Row) -> Try<Run> {
    Ok(Run { asked: row.try_get(0)?, first: row.try_get(1)?, last: row.try_get(2)? })
}

/// The events that a subscription gets of a run in a range. The log has few event names, so an index skip scan finds
/// them.
async fn events_of(transaction: &mut Transaction, of: &Subscription, dead: &Dead, run: Run) -> Try<Vec<String>> {
    let sql = format!(
        "WITH RECURSIVE names AS (
             (SELECT m.event FROM message_groups m WHERE m.org = $1 AND m.event <> '' ORDER BY m.event LIMIT 1)
             UNION ALL
             SELECT (SELECT m.event FROM message_groups m WHERE m.org = $1 AND m.event <> '' AND m.event > n.event
                     ORDER BY m.event LIMIT 1)
             FROM names n WHERE n.event IS NOT NULL),
         names_together AS (
             (SELECT v.event FROM message_events v WHERE v.org = $1 ORDER BY v.event LIMIT 1)
             UNION ALL
             SELECT (SELECT v.event FROM message_events v WHERE v.org = $1 AND v.event > n.event
                     ORDER BY v.event LIMIT 1)
             FROM names_together n WHERE n.event IS NOT NULL)
         SELECT n.event FROM names n
         WHERE n.event IS NOT NULL
           AND EXISTS (SELECT FROM message_groups m
                       WHERE m.org = $1 AND m.event = n.event AND m.event <> '' AND m.position >= $2 AND m.position <= $3
                         AND NOT (m.event = '{TO_THE_OTHERS}' AND m.subject = $4))
           AND n.event <> '{TO_EVERYBODY}'
         UNION
         SELECT n.event FROM names_together n
         WHERE n.event IS NOT NULL
           AND EXISTS (SELECT FROM message_events v CROSS JOIN {positions}
                       WHERE v.org = $1 AND v.event = n.event AND v.position >= $2
                         AND v.position < $3::bigint + {ROW_ENDS_WITHIN})
         ORDER BY 1",
        positions = positions_of_event("$2::bigint - 1", "$3::bigint"),
    );
    let params: Vec<Param<'_>> = vec![Box::new(of.org), Box::new(run.first), Box::new(run.last), Box::new(&*of.uuid)];
    let rows = transaction.fly(Frame::default(), &[Query::new(&sql, params)]).await?;
    let there: Vec<String> = each(rows.first().map_or(&[], Vec::as_slice), |cells| cells.next())?;
    Ok(there.into_iter().filter(|event| dead.filter.as_ref().is_none_or(|filter| filter.contains(event))).collect())
}
