//! Loads accounts with their inputs: a whole batch in one flight and one snapshot.

use super::arrays::column;
use super::cells::Cells;
use super::flight::{Frame, Query, Transaction};
use super::server::{PostgresServer, refused};
use crate::records::InputRow;
use crate::rows;
use crate::{AccountToLoad, Inputs, LoadedAccount, Result};
use std::collections::BTreeMap;
use tokio_postgres::Row;

/// The account and its inputs must be from the same snapshot, or a reader could see one without the other.
const ONE_MOMENT: Frame = Frame { begin: Some("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), commit: true };

/// Visits the wanted accounts in order and looks each one up: `OFFSET 0` prevents the planner from reversing the join.
const ACCOUNTS: &str = "
    SELECT w.place, a.*
    FROM (SELECT unnest($1::bigint[]) AS place, unnest($2::bigint[]) AS org, unnest($3::text[]) AS account) w
    CROSS JOIN LATERAL (
        SELECT a.org, a.account, a.product, a.version, a.terms, a.content_hash, a.effective_at, a.created_at,
               a.updated_at, a.state, a.profile, a.processed_through, a.rolled_to, a.next_moment, a.oldest_unpaid_due,
               a.status, a.substatus, a.next_seq, a.settled_seq, a.held_events, a.scheduled_events, a.message_seq,
               a.failure, a.balance
        FROM accounts a WHERE a.org = w.org AND a.account = w.account OFFSET 0) a";

/// Held inputs are the account's last by number; scheduled ones are the last of its timeline. Two indexes find them
/// without reading processed inputs; `+ 0` prevents the planner from using the wrong one.
const INPUTS: &str = "
    SELECT w.place, i.*
    FROM (SELECT unnest($1::bigint[]) AS place, unnest($2::bigint[]) AS org, unnest($3::text[]) AS account,
                 unnest($4::boolean[]) AS everything) w
    CROSS JOIN LATERAL (
        SELECT a.processed_through,
               CASE WHEN w.everything OR a.processed_through IS NULL
                    THEN -9223372036854775808 ELSE a.settled_seq END AS from_seq
        FROM accounts a WHERE a.org = w.org AND a.account = w.account OFFSET 0) a
    CROSS JOIN LATERAL (
        SELECT i.seq, i.name, i.effective_at, i.applies_at, i.rank, i.scheduled, i.recorded_at, i.clock, i.payload,
               i.extra, i.content_hash
        FROM inputs i WHERE i.org = w.org AND i.account = w.account AND i.seq > a.from_seq
        UNION ALL
        SELECT i.seq, i.name, i.effective_at, i.applies_at, i.rank, i.scheduled, i.recorded_at, i.clock, i.payload,
               i.extra, i.content_hash
        FROM inputs i
        WHERE i.org = w.org AND i.account = w.account AND i.applies_at > a.processed_through
          AND i.seq + 0 <= a.from_seq) i";

const NAMED: &str = "
    SELECT w.place, i.*
    FROM (SELECT unnest($1::bigint[]) AS place, unnest($2::bigint[]) AS org, unnest($3::text[]) AS account,
                 unnest($4::text[]) AS name) w
    CROSS JOIN LATERAL (
        SELECT i.seq, i.name, i.effective_at, i.applies_at, i.rank, i.scheduled, i.recorded_at, i.clock, i.payload,
               i.extra, i.content_hash
        FROM inputs i WHERE i.org = w.org AND i.account = w.account AND i.name = w.name OFFSET 0) i";

pub(super) async fn load(server: &PostgresServer, wanted: &[AccountToLoad]) -> Result<Vec<Option<LoadedAccount>>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut transaction = Transaction::on(server.client().await?);
    match transaction.fly(ONE_MOMENT, &questions(wanted)).await {
        Ok(answers) => gather(wanted.len(), &answers),
        Err(error) => {
            let error = refused(error);
            transaction.roll_back().await?;
            Err(error)
        }
    }
}

/// First the accounts, then inputs if any are wanted.
pub(super) fn questions(wanted: &[AccountToLoad]) -> Vec<Query<'_>> {
    let all: Vec<(i64, &AccountToLoad)> = (0..).zip(wanted).collect();
    let with_inputs: Vec<(i64, &AccountToLoad)> =
        all.iter().filter(|(_, want)| want.inputs != Inputs::None).copied().collect();
    let named: Vec<(i64, &AccountToLoad, &str)> =
        all.iter().flat_map(|&(place, want)| want.names.iter().map(move |name| (place, want, &**name))).collect();
    let mut steps = vec![Query::new(
        ACCOUNTS,
        vec![
            column(&all, |&(place, _)| place),
            column(&all, |&(_, want)| want.key.org),
            column(&all, |&(_, want)| &*want.key.account),
        ],
    )];
    if !with_inputs.is_empty() {
        steps.push(Query::new(
            INPUTS,
            vec![
                column(&with_inputs, |&(place, _)| place),
                column(&with_inputs, |&(_, want)| want.key.org),
                column(&with_inputs, |&(_, want)| &*want.key.account),
                column(&with_inputs, |&(_, want)| want.inputs == Inputs::All),
            ],
        ));
    }
    if !named.is_empty() {
        steps.push(Query::new(
            NAMED,
            vec![
                column(&named, |&(place, _, _)| place),
                column(&named, |&(_, want, _)| want.key.org),
                column(&named, |&(_, want, _)| &*want.key.account),
                column(&named, |&(_, _, name)| name),
            ],
        ));
    }
    steps
}

/// Assigns rows to the requests they answer; an input that two queries found is returned once.
pub(super) fn gather(count: usize, answers: &[Vec<Row>]) -> Result<Vec<Option<LoadedAccount>>> {
    let mut inputs: Vec<BTreeMap<i64, InputRow>> = vec![BTreeMap::new(); count];
    for row in answers.iter().skip(1).flatten() {
        let mut cells = Cells::of(row);
        let place = cells.next::<i64>()?;
        let input = rows::input(&mut cells)?;
        if let Some(found) = inputs.get_mut(place as usize) {
            found.insert(input.seq, input);
        }
    }
    let mut loaded: Vec<Option<LoadedAccount>> = (0..count).map(|_| None).collect();
    for row in answers.first().into_iter().flatten() {
        let mut cells = Cells::of(row);
        let place = cells.next::<i64>()? as usize;
        let row = rows::account(&mut cells)?;
        if let (Some(slot), Some(found)) = (loaded.get_mut(place), inputs.get_mut(place)) {
            *slot = Some(LoadedAccount { row, inputs: std::mem::take(found).into_values().collect() });
        }
    }
    Ok(loaded)
}
