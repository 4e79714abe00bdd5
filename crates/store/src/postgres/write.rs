//! Writes the rows of claimed units: one statement per table.

use super::arrays::{column, micros, rounds};
use super::flight::Query;
use super::refolds;
use crate::batch::{AccountClaim, AccountWrite, ItemChange, Unit};
use crate::records::{AccountKey, AccountNow, InputRow, ItemRow, OrgId};

const UPDATE_ACCOUNTS: &str = "
    UPDATE accounts a
    SET version = a.version + 1, leased_until = NULL, updated_at = w.updated_at, state = w.state, profile = w.profile,
        processed_through = w.processed_through, rolled_to = w.rolled_to, next_moment = w.next_moment,
        oldest_unpaid_due = w.oldest_unpaid_due, status = w.status, substatus = w.substatus, next_seq = w.next_seq,
        settled_seq = w.settled_seq, held_events = w.held_events, scheduled_events = w.scheduled_events,
        message_seq = w.message_seq, failure = w.failure, balance = w.balance
    FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS account, unnest($3::bigint[]) AS updated_at,
                 unnest($4::bytea[]) AS state, unnest($5::text[]) AS profile,
                 unnest($6::bigint[]) AS processed_through, unnest($7::bigint[]) AS rolled_to,
                 unnest($8::bigint[]) AS next_moment, unnest($9::bigint[]) AS oldest_unpaid_due,
                 unnest($10::text[]) AS status, unnest($11::text[]) AS substatus, unnest($12::bigint[]) AS next_seq,
                 unnest($13::bigint[]) AS settled_seq, unnest($14::bigint[]) AS held_events,
                 unnest($15::bigint[]) AS scheduled_events, unnest($16::bigint[]) AS message_seq,
                 unnest($17::text[]) AS failure, unnest($18::bigint[]) AS balance) w
    WHERE a.org = w.org AND a.account = w.account";

const REMOVE_INPUTS: &str = "
    DELETE FROM inputs i
    USING (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS account, unnest($3::bigint[]) AS seq) w
    WHERE i.org = w.org AND i.account = w.account AND i.seq = w.seq";

const INSERT_INPUTS: &str = "
    INSERT INTO inputs (org, account, seq, name, effective_at, applies_at, rank, scheduled, recorded_at, clock, payload,
        extra, content_hash)
    SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::bigint[]), unnest($4::text[]), unnest($5::bigint[]),
        unnest($6::bigint[]), unnest($7::smallint[]), unnest($8::boolean[]), unnest($9::bigint[]),
        unnest($10::bigint[]), unnest($11::bytea[]), unnest($12::text[]), unnest($13::bytea[])";

const WRITE_ITEMS: &str = "
    INSERT INTO line_items (org, account, item_id, kind, status, effective_at, applied_at, created_at, updated_at,
        amount, balance, principal, interest, fees, splits, extra, reversed_by,
        reason)
    SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
        unnest($6::bigint[]), unnest($7::bigint[]), unnest($8::bigint[]), unnest($9::bigint[]), unnest($10::bigint[]),
        unnest($11::bigint[]), unnest($12::bigint[]), unnest($13::bigint[]), unnest($14::bigint[]),
        unnest($15::bytea[]), unnest($16::text[]), unnest($17::text[]), unnest($18::text[])
    ON CONFLICT (org, account, item_id) DO UPDATE
    SET kind = excluded.kind, status = excluded.status, effective_at = excluded.effective_at,
        applied_at = excluded.applied_at, updated_at = excluded.updated_at, amount = excluded.amount,
        balance = excluded.balance, principal = excluded.principal, interest = excluded.interest,
        fees = excluded.fees, splits = excluded.splits, extra = excluded.extra,
        reversed_by = excluded.reversed_by, reason = excluded.reason";

const CHANGE_ITEMS: &str = "
    UPDATE line_items l
    SET balance = COALESCE(w.balance, CASE WHEN w.void THEN 0 ELSE l.balance END),
        status = COALESCE(w.status, l.status),
        principal = CASE WHEN w.void THEN 0 ELSE l.principal END,
        interest = CASE WHEN w.void THEN 0 ELSE l.interest END,
        fees = CASE WHEN w.void THEN 0 ELSE l.fees END,
        splits = CASE WHEN w.void THEN ''::bytea ELSE l.splits END,
        reversed_by = COALESCE(w.reversed_by, l.reversed_by),
        updated_at = w.updated_at
    FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS account, unnest($3::text[]) AS item_id,
                 unnest($4::bigint[]) AS balance, unnest($5::text[]) AS status, unnest($6::boolean[]) AS void,
                 unnest($7::bigint[]) AS updated_at, unnest($8::text[]) AS reversed_by) w
    WHERE l.org = w.org AND l.account = w.account AND l.item_id = w.item_id";

const REMOVE_CUSTOMERS: &str = "
    DELETE FROM account_customers c
    USING (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS account) w
    WHERE c.org = w.org AND c.account = w.account";

const INSERT_CUSTOMERS: &str = "
    INSERT INTO account_customers (org, account, customer_id, role)
    SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[])";

const GIVE_KEYS_BACK: &str = "
    DELETE FROM answers a
    USING (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS key) w
    WHERE a.org = w.org AND a.key = w.key";

/// The account that is written.
pub(super) fn account_key(write: &AccountWrite) -> &AccountKey {
    match &write.claim {
        AccountClaim::Insert(row) => &row.key,
        AccountClaim::Update { key, .. } => key,
    }
}

/// Deletes the idempotency keys of units that proved to be stale.
pub(super) fn give_keys_back<'a>(keys: &[(OrgId, &'a str)]) -> Option<Query<'a>> {
    let step = Query::new(GIVE_KEYS_BACK, vec![column(keys, |key| key.0), column(keys, |key| key.1)]);
    (!keys.is_empty()).then_some(step)
}

/// All rows of accounts, in dependency order: removing an input frees its name for a new one, and a line item is
/// inserted before it changes. Rows are sorted by key, because adjacent rows are written faster.
pub(super) fn account_steps<'a>(units: &[&'a Unit]) -> Vec<Query<'a>> {
    let mut writes: Vec<&AccountWrite> = units.iter().flat_map(|unit| &unit.accounts).collect();
    writes.sort_by_key(|write| account_key(write));
    let mut steps = Vec::new();
    steps.extend(update_accounts(&writes));
    steps.extend(remove_inputs(&writes));
    steps.extend(insert_inputs(&writes));
    steps.extend(write_items(&writes));
    steps.extend(change_items(&writes));
    steps.extend(replace_customers(&writes));
    steps.extend(refolds::steps(&writes));
    steps
}

/// The rows of one kind, each with its account.
fn each_with_key<'a, R>(
    writes: &[&'a AccountWrite],
    rows: impl Fn(&'a AccountWrite) -> &'a [R],
) -> Vec<(&'a AccountKey, &'a R)> {
    writes.iter().flat_map(|write| rows(write).iter().map(|row| (account_key(write), row))).collect()
}

fn update_accounts<'a>(writes: &[&'a AccountWrite]) -> Option<Query<'a>> {
    let updates = writes.iter().filter_map(|write| match &write.claim {
        AccountClaim::Update { key, now, .. } => Some((key, &**now)),
        AccountClaim::Insert(_) => None,
    });
    let rows: Vec<(&AccountKey, &AccountNow)> = updates.collect();
    let step = Query::new(
        UPDATE_ACCOUNTS,
        vec![
            column(&rows, |&(key, _)| key.org),
            column(&rows, |&(key, _)| &*key.account),
            column(&rows, |&(_, now)| now.updated_at.micros()),
            column(&rows, |&(_, now)| &*now.state),
            column(&rows, |&(_, now)| &*now.profile),
            column(&rows, |&(_, now)| micros(now.processed_through)),
            column(&rows, |&(_, now)| micros(now.rolled_to)),
            column(&rows, |&(_, now)| micros(now.next_moment)),
            column(&rows, |&(_, now)| micros(now.oldest_unpaid_due)),
            column(&rows, |&(_, now)| &*now.status),
            column(&rows, |&(_, now)| now.substatus.as_deref()),
            column(&rows, |&(_, now)| now.next_seq),
            column(&rows, |&(_, now)| now.settled_seq),
            column(&rows, |&(_, now)| now.held_events),
            column(&rows, |&(_, now)| now.scheduled_events),
            column(&rows, |&(_, now)| now.message_seq),
            column(&rows, |&(_, now)| now.failure.as_deref()),
            column(&rows, |&(_, now)| now.balance),
        ],
    );
    (!rows.is_empty()).then_some(step)
}

fn remove_inputs<'a>(writes: &[&'a AccountWrite]) -> Option<Query<'a>> {
    let rows = each_with_key(writes, |write| &write.removed_inputs);
    let step = Query::new(
        REMOVE_INPUTS,
        vec![
            column(&rows, |&(key, _)| key.org),
            column(&rows, |&(key, _)| &*key.account),
            column(&rows, |&(_, seq)| *seq),
        ],
    );
    (!rows.is_empty()).then_some(step)
}

fn insert_inputs<'a>(writes: &[&'a AccountWrite]) -> Option<Query<'a>> {
    let rows: Vec<(&AccountKey, &InputRow)> = each_with_key(writes, |write| &write.inputs);
    let step = Query::new(
        INSERT_INPUTS,
        vec![
            column(&rows, |&(key, _)| key.org),
            column(&rows, |&(key, _)| &*key.account),
            column(&rows, |&(_, input)| input.seq),
            column(&rows, |&(_, input)| &*input.name),
            column(&rows, |&(_, input)| input.effective_at.micros()),
            column(&rows, |&(_, input)| input.applies_at.micros()),
            column(&rows, |&(_, input)| input.rank),
            column(&rows, |&(_, input)| input.scheduled),
            column(&rows, |&(_, input)| input.recorded_at.micros()),
            column(&rows, |&(_, input)| input.clock.micros()),
            column(&rows, |&(_, input)| &*input.payload),
            column(&rows, |&(_, input)| input.extra.as_deref()),
            column(&rows, |&(_, input)| &*input.content_hash),
        ],
    );
    (!rows.is_empty()).then_some(step)
}

fn write_items<'a>(writes: &[&'a AccountWrite]) -> Vec<Query<'a>> {
    let rows: Vec<(&AccountKey, &ItemRow)> = each_with_key(writes, |write| &write.items);
    let parts = rounds(rows, |(key, item)| (*key, &*item.item_id));
    let step = |rows: &[(&'a AccountKey, &'a ItemRow)]| {
        Query::new(
            WRITE_ITEMS,
            vec![
                column(rows, |&(key, _)| key.org),
                column(rows, |&(key, _)| &*key.account),
                column(rows, |&(_, item)| &*item.item_id),
                column(rows, |&(_, item)| &*item.kind),
                column(rows, |&(_, item)| &*item.status),
                column(rows, |&(_, item)| item.effective_at.micros()),
                column(rows, |&(_, item)| item.applied_at.micros()),
                column(rows, |&(_, item)| item.created_at.micros()),
                column(rows, |&(_, item)| item.updated_at.micros()),
                column(rows, |&(_, item)| item.amount),
                column(rows, |&(_, item)| item.balance),
                column(rows, |&(_, item)| item.principal),
                column(rows, |&(_, item)| item.interest),
                column(rows, |&(_, item)| item.fees),
                column(rows, |&(_, item)| &*item.splits),
                column(rows, |&(_, item)| item.extra.as_deref()),
                column(rows, |&(_, item)| item.reversed_by.as_deref()),
                column(rows, |&(_, item)| item.reason.as_deref()),
            ],
        )
    };
    parts.iter().map(|rows| step(rows)).collect()
}

fn change_items<'a>(writes: &[&'a AccountWrite]) -> Vec<Query<'a>> {
    let rows: Vec<(&AccountKey, &ItemChange)> = each_with_key(writes, |write| &write.item_changes);
    let parts = rounds(rows, |(key, change)| (*key, &*change.item_id));
    let step = |rows: &[(&'a AccountKey, &'a ItemChange)]| {
        Query::new(
            CHANGE_ITEMS,
            vec![
                column(rows, |&(key, _)| key.org),
                column(rows, |&(key, _)| &*key.account),
                column(rows, |&(_, change)| &*change.item_id),
                column(rows, |&(_, change)| change.balance),
                column(rows, |&(_, change)| change.status),
                column(rows, |&(_, change)| change.void),
                column(rows, |&(_, change)| change.updated_at.micros()),
                column(rows, |&(_, change)| change.reversed_by.as_deref()),
            ],
        )
    };
    parts.iter().map(|rows| step(rows)).collect()
}

fn replace_customers<'a>(writes: &[&'a AccountWrite]) -> Vec<Query<'a>> {
    let changed: Vec<&AccountKey> =
        writes.iter().filter(|write| write.customers.is_some()).map(|write| account_key(write)).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let rows = each_with_key(writes, |write| write.customers.as_deref().unwrap_or_default());
    let remove =
        Query::new(REMOVE_CUSTOMERS, vec![column(&changed, |key| key.org), column(&changed, |&key| &*key.account)]);
    let insert = Query::new(
        INSERT_CUSTOMERS,
        vec![
            column(&rows, |&(key, _)| key.org),
            column(&rows, |&(key, _)| &*key.account),
            column(&rows, |&(_, (customer_id, _))| &**customer_id),
            column(&rows, |&(_, (_, role))| &**role),
        ],
    );
    vec![remove, insert]
}
