//! Claims: determines which units may be written, and locks them against other nodes.
//!
//! Claims are taken in one global order (modes, existing accounts, idempotency keys, and then rows that are new or
//! replaced: accounts, customers, products), and within each group in the order of the keys, so that no two nodes
//! deadlock. The first two groups are only locked, not written, so they are sent together; a stale unit found there
//! costs nothing.
//!
//! A product's mode is protected by an advisory lock, not by locking its row: shared row locks let newcomers pass a
//! waiting writer, and under load a change of the mode would wait for ever.

use super::arrays::{column, micros};
use super::flight::{Frame, Query, Transaction};
use super::write::account_key;
use crate::batch::{AccountClaim, CustomerWrite, NewKeptResponse, ProductWrite, Unit};
use crate::records::{AccountKey, AccountRow, CustomerRow, Mode, OrgId, ProductKey, ProductRow};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use tokio_postgres::{Error, Row};

/// The version of the tables. Reading it holds a lock on `migrations` until the transaction ends.
const TABLES_VERSION: &str = "SELECT coalesce(max(number), 0) FROM migrations";

const LOCK_MODES: &str = "
    SELECT CASE WHEN l.changes THEN pg_advisory_xact_lock(l.number) IS NULL
                ELSE pg_advisory_xact_lock_shared(l.number) IS NULL END
    FROM (SELECT hashtextextended(p.product, p.org) AS number, bool_or(p.changes) AS changes
          FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS product, unnest($3::boolean[]) AS changes) p
          GROUP BY 1 ORDER BY 1) l";

const READ_MODES: &str = "
    SELECT p.org, p.product, p.mode_version
    FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS product) w
    CROSS JOIN LATERAL (
        SELECT p.org, p.product, p.mode_version FROM products p WHERE p.org = w.org AND p.product = w.product OFFSET 0) p";

const LOCK_ACCOUNTS: &str = "
    SELECT w.place
    FROM (SELECT unnest($1::bigint[]) AS place, unnest($2::bigint[]) AS org, unnest($3::text[]) AS account,
                 unnest($4::bigint[]) AS version) w
    CROSS JOIN LATERAL (
        SELECT FROM accounts a WHERE a.org = w.org AND a.account = w.account AND a.version = w.version
        OFFSET 0 FOR NO KEY UPDATE) a";

const TAKE_KEYS: &str = "
    INSERT INTO answers (org, key, content_hash, body, recorded_at, expires_at)
    SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::bytea[]), unnest($4::bytea[]), unnest($5::bigint[]),
           unnest($6::bigint[])
    ON CONFLICT (org, key) DO UPDATE
    SET content_hash = excluded.content_hash, body = excluded.body, recorded_at = excluded.recorded_at,
        expires_at = excluded.expires_at
    WHERE answers.expires_at <= excluded.recorded_at
    RETURNING org, key";

const INSERT_ACCOUNTS: &str = "
    INSERT INTO accounts (org, account, product, version, terms, content_hash, effective_at, created_at, updated_at,
        state, profile, processed_through, rolled_to, next_moment, oldest_unpaid_due, status, substatus, next_seq,
        settled_seq, held_events, scheduled_events, message_seq, failure, balance)
    SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::text[]), unnest($4::bigint[]), unnest($5::bytea[]),
        unnest($6::bytea[]), unnest($7::bigint[]), unnest($8::bigint[]), unnest($9::bigint[]), unnest($10::bytea[]),
        unnest($11::text[]), unnest($12::bigint[]), unnest($13::bigint[]), unnest($14::bigint[]),
        unnest($15::bigint[]), unnest($16::text[]), unnest($17::text[]), unnest($18::bigint[]), unnest($19::bigint[]),
        unnest($20::bigint[]), unnest($21::bigint[]), unnest($22::bigint[]), unnest($23::text[]),
        unnest($24::bigint[])
    ON CONFLICT DO NOTHING RETURNING org, account";

const INSERT_CUSTOMERS: &str = "
    INSERT INTO customers (org, customer_id, version, body, sealed, content_hash, created_at, updated_at)
    SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::bigint[]), unnest($4::text[]), unnest($5::bytea[]),
        unnest($6::bytea[]), unnest($7::bigint[]), unnest($8::bigint[])
    ON CONFLICT DO NOTHING RETURNING org, customer_id";

const UPDATE_CUSTOMERS: &str = "
    UPDATE customers c
    SET version = w.version, body = w.body, sealed = w.sealed, content_hash = w.content_hash,
        created_at = w.created_at, updated_at = w.updated_at
    FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS customer_id, unnest($3::bigint[]) AS version,
                 unnest($4::text[]) AS body, unnest($5::bytea[]) AS sealed, unnest($6::bytea[]) AS content_hash,
                 unnest($7::bigint[]) AS created_at, unnest($8::bigint[]) AS updated_at) w
    WHERE c.org = w.org AND c.customer_id = w.customer_id AND c.version = w.version - 1
    RETURNING c.org, c.customer_id";

const INSERT_PRODUCTS: &str = "
    INSERT INTO products (org, product, body, content_hash, created_at, mode_version, holding, releasing,
        suppress_before, started_at, finished_at, accounts_total, events_total)
    SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::text[]), unnest($4::bytea[]), unnest($5::bigint[]),
        unnest($6::bigint[]), unnest($7::boolean[]), unnest($8::boolean[]), unnest($9::bigint[]),
        unnest($10::bigint[]), unnest($11::bigint[]), unnest($12::bigint[]), unnest($13::bigint[])
    ON CONFLICT DO NOTHING RETURNING org, product";

const CHANGE_MODES: &str = "
    UPDATE products p
    SET mode_version = w.mode_version, holding = w.holding, releasing = w.releasing,
        suppress_before = w.suppress_before, started_at = w.started_at, finished_at = w.finished_at,
        accounts_total = w.accounts_total, events_total = w.events_total
    FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::text[]) AS product, unnest($3::bigint[]) AS mode_version,
                 unnest($4::boolean[]) AS holding, unnest($5::boolean[]) AS releasing,
                 unnest($6::bigint[]) AS suppress_before, unnest($7::bigint[]) AS started_at,
                 unnest($8::bigint[]) AS finished_at, unnest($9::bigint[]) AS accounts_total,
                 unnest($10::bigint[]) AS events_total) w
    WHERE p.org = w.org AND p.product = w.product AND p.mode_version = w.mode_version - 1
    RETURNING p.org, p.product";

/// An id within an organization.
type Id<'a> = (OrgId, &'a str);

/// Which units are claimed so far.
pub(super) struct Claims<'a> {
    units: &'a [&'a Unit],
    /// Whether each unit may still be written.
    pub live: Vec<bool>,
    /// Whether each unit has written something other than its idempotency keys.
    pub touched: Vec<bool>,
    /// Idempotency keys that were taken, with the index of the unit that took each.
    pub keys: Vec<(usize, Id<'a>)>,
}

/// Rows that claim something, each with its unit, by key: the first unit that wants a key gets it, later ones are
/// stale.
struct RowsToClaim<'a, R> {
    rows: BTreeMap<Id<'a>, (usize, R)>,
}

impl<'a, R: Copy> RowsToClaim<'a, R> {
    fn of(claims: &mut Claims<'a>, rows: impl Fn(&'a Unit) -> Vec<(Id<'a>, R)>) -> RowsToClaim<'a, R> {
        let mut wanted = BTreeMap::new();
        for (index, unit) in claims.units.iter().enumerate() {
            for (id, row) in rows(unit) {
                if claims.live[index] && wanted.contains_key(&id) {
                    claims.live[index] = false;
                }
                if claims.live[index] {
                    wanted.insert(id, (index, row));
                }
            }
        }
        RowsToClaim { rows: wanted }
    }

    fn rows(&self) -> Vec<(Id<'a>, R)> {
        self.rows.iter().map(|(id, (_, row))| (*id, *row)).collect()
    }

    /// Records which claims succeeded: the units of the others are stale. Returns the successful ones.
    fn note(self, claims: &mut Claims<'a>, got: &[Row], touches: bool) -> Result<Vec<(usize, Id<'a>)>, Error> {
        let mut ids: HashSet<Id<'_>> = HashSet::with_capacity(got.len());
        for row in got {
            ids.insert((row.try_get(0)?, row.try_get(1)?));
        }
        let mut mine = Vec::with_capacity(got.len());
        for (id, (unit, _)) in self.rows {
            if ids.contains(&id) {
                claims.touched[unit] |= touches;
                mine.push((unit, id));
            } else {
                claims.live[unit] = false;
            }
        }
        Ok(mine)
    }
}

impl<'a> Claims<'a> {
    pub fn of(units: &'a [&'a Unit]) -> Claims<'a> {
        Claims { units, live: vec![true; units.len()], touched: vec![false; units.len()], keys: Vec::new() }
    }

    /// The units that may be written.
    pub fn live_units(&self) -> Vec<&'a Unit> {
        self.units.iter().zip(&self.live).filter(|(_, live)| **live).map(|(unit, _)| *unit).collect()
    }

    /// Begins the transaction: reads the version of the tables, then locks modes and accounts. Sends `more` in the same
    /// flight. Returns the version, and the rows of `more`.
    pub async fn lock(
        &mut self,
        transaction: &mut Transaction,
        more: Vec<Query<'_>>,
    ) -> Result<(i64, Vec<Vec<Row>>), Error> {
        let modes: BTreeSet<Id<'a>> = self.units.iter().flat_map(|unit| &unit.modes).map(|(key, _)| id(key)).collect();
        let accounts = self.accounts_there();
        let mut steps = self.mode_steps(&modes);
        let mode_answers = steps.len();
        if !accounts.is_empty() {
            steps.push(Query::new(
                LOCK_ACCOUNTS,
                vec![
                    column(&(0..accounts.len() as i64).collect::<Vec<_>>(), |place| *place),
                    column(&accounts, |(key, _)| key.org),
                    column(&accounts, |&(key, _)| &*key.account),
                    column(&accounts, |(_, version)| *version),
                ],
            ));
        }
        let mine = steps.len();
        steps.extend(more);
        // First, so that a transaction that waits for a migration holds no lock that the migration needs.
        steps.insert(0, Query::new(TABLES_VERSION, Vec::new()));
        let mut answers = transaction.fly(Frame { begin: Some("BEGIN"), commit: false }, &steps).await?;
        let version = answers.remove(0).first().map_or(Ok(0), |row| row.try_get(0))?;
        let rest = answers.split_off(mine);
        if mode_answers > 0 {
            self.drop_other_modes(answers.get(mode_answers - 1).map_or(&[], Vec::as_slice))?;
        }
        self.drop_unlocked(&accounts, answers.get(mode_answers).map_or(&[], Vec::as_slice))?;
        Ok((version, rest))
    }

    /// Accounts that units expect to exist, in order, with the versions they expect.
    fn accounts_there(&self) -> Vec<(&'a AccountKey, i64)> {
        let mut accounts = Vec::new();
        for write in self.units.iter().flat_map(|unit| &unit.accounts) {
            if let AccountClaim::Update { key, version, .. } = &write.claim {
                accounts.push((key, *version));
            }
        }
        accounts.sort_unstable();
        accounts.dedup();
        accounts
    }

    /// Locks modes: those that units were computed under, and those that they change.
    fn mode_steps(&self, modes: &BTreeSet<Id<'a>>) -> Vec<Query<'a>> {
        let changed = self.units.iter().flat_map(|unit| &unit.products).filter_map(|write| match write {
            ProductWrite::Mode(key, _) => Some((id(key), true)),
            ProductWrite::Insert(_) => None,
        });
        let locked: Vec<(Id<'a>, bool)> = modes.iter().map(|id| (*id, false)).chain(changed).collect();
        let mut steps = Vec::new();
        if !locked.is_empty() {
            steps.push(Query::new(
                LOCK_MODES,
                vec![
                    column(&locked, |&((org, _), _)| org),
                    column(&locked, |&((_, product), _)| product),
                    column(&locked, |&(_, changes)| changes),
                ],
            ));
            // Read after the locks are held, so the modes can no longer change.
            let modes: Vec<Id<'a>> = modes.iter().copied().collect();
            steps.push(Query::new(READ_MODES, vec![column(&modes, |id| id.0), column(&modes, |id| id.1)]));
        }
        steps
    }

    fn drop_other_modes(&mut self, rows: &[Row]) -> Result<(), Error> {
        let mut versions: BTreeMap<Id<'_>, i64> = BTreeMap::new();
        for row in rows {
            versions.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
        }
        for (unit, live) in self.units.iter().zip(&mut self.live) {
            *live &= unit.modes.iter().all(|(key, version)| versions.get(&id(key)) == Some(version));
        }
        Ok(())
    }

    /// Each locked account goes to the first unit that wants it.
    fn drop_unlocked(&mut self, accounts: &[(&'a AccountKey, i64)], rows: &[Row]) -> Result<(), Error> {
        let mut locked: HashSet<(&AccountKey, i64)> = HashSet::with_capacity(rows.len());
        for row in rows {
            if let Some(account) = accounts.get(row.try_get::<_, i64>(0)? as usize) {
                locked.insert(*account);
            }
        }
        for (unit, live) in self.units.iter().zip(&mut self.live) {
            for write in &unit.accounts {
                if let AccountClaim::Update { key, version, .. } = &write.claim {
                    *live = *live && locked.remove(&(key, *version));
                }
            }
        }
        Ok(())
    }

    /// Takes idempotency keys, and then the rows that are new or replaced.
    pub async fn take(&mut self, transaction: &mut Transaction) -> Result<(), Error> {
        let answers =
            RowsToClaim::of(self, |unit| unit.answers.iter().map(|new| ((new.org, &*new.key), new)).collect());
        if !answers.rows.is_empty() {
            let step = take_keys(&answers.rows());
            let got = transaction.fly(Frame::default(), &[step]).await?;
            self.keys = answers.note(self, got.first().map_or(&[], Vec::as_slice), false)?;
        }
        let accounts = RowsToClaim::of(self, new_accounts);
        let new_customers = RowsToClaim::of(self, |unit| customers(unit, true));
        let changed_customers = RowsToClaim::of(self, |unit| customers(unit, false));
        let products = RowsToClaim::of(self, new_products);
        let modes = RowsToClaim::of(self, changed_modes);
        let steps = [
            insert_accounts(&accounts.rows()),
            write_customers(INSERT_CUSTOMERS, &new_customers.rows()),
            write_customers(UPDATE_CUSTOMERS, &changed_customers.rows()),
            insert_products(&products.rows()),
            change_modes(&modes.rows()),
        ];
        let is_asked: Vec<bool> = steps.iter().map(Option::is_some).collect();
        let steps: Vec<Query<'_>> = steps.into_iter().flatten().collect();
        if steps.is_empty() {
            return Ok(());
        }
        let mut got = transaction.fly(Frame::default(), &steps).await?.into_iter();
        let mut rows = is_asked.into_iter().map(|asked| if asked { got.next() } else { None }.unwrap_or_default());
        accounts.note(self, &rows.next().unwrap_or_default(), true)?;
        new_customers.note(self, &rows.next().unwrap_or_default(), true)?;
        changed_customers.note(self, &rows.next().unwrap_or_default(), true)?;
        products.note(self, &rows.next().unwrap_or_default(), true)?;
        modes.note(self, &rows.next().unwrap_or_default(), true)?;
        Ok(())
    }
}

fn id(key: &ProductKey) -> Id<'_> {
    (key.org, &key.product)
}

fn new_accounts(unit: &Unit) -> Vec<(Id<'_>, &AccountRow)> {
    let new = unit.accounts.iter().filter_map(|write| match &write.claim {
        AccountClaim::Insert(row) => Some((account_key(write), &**row)),
        AccountClaim::Update { .. } => None,
    });
    new.map(|(key, row)| ((key.org, &*key.account), row)).collect()
}

fn customers(unit: &Unit, new: bool) -> Vec<(Id<'_>, &CustomerRow)> {
    let rows = unit.customers.iter().filter_map(|write| match write {
        CustomerWrite::Insert(row) => new.then_some(&**row),
        CustomerWrite::Update(row) => (!new).then_some(&**row),
    });
    rows.map(|row| ((row.org, &*row.customer_id), row)).collect()
}

fn new_products(unit: &Unit) -> Vec<(Id<'_>, &ProductRow)> {
    let new = unit.products.iter().filter_map(|write| match write {
        ProductWrite::Insert(row) => Some((id(&row.key), &**row)),
        ProductWrite::Mode(..) => None,
    });
    new.collect()
}

fn changed_modes(unit: &Unit) -> Vec<(Id<'_>, &Mode)> {
    let changed = unit.products.iter().filter_map(|write| match write {
        ProductWrite::Mode(key, mode) => Some((id(key), mode)),
        ProductWrite::Insert(_) => None,
    });
    changed.collect()
}

fn take_keys<'a>(rows: &[(Id<'a>, &'a NewKeptResponse)]) -> Query<'a> {
    Query::new(
        TAKE_KEYS,
        vec![
            column(rows, |&((org, _), _)| org),
            column(rows, |&((_, key), _)| key),
            column(rows, |&(_, new)| &*new.answer.content_hash),
            column(rows, |&(_, new)| &*new.answer.body),
            column(rows, |(_, new)| new.recorded_at.micros()),
            column(rows, |(_, new)| new.expires_at.micros()),
        ],
    )
}

fn insert_accounts<'a>(rows: &[(Id<'a>, &'a AccountRow)]) -> Option<Query<'a>> {
    let step = Query::new(
        INSERT_ACCOUNTS,
        vec![
            column(rows, |&((org, _), _)| org),
            column(rows, |&((_, account), _)| account),
            column(rows, |&(_, row)| &*row.product),
            column(rows, |&(_, row)| row.version),
            column(rows, |&(_, row)| &*row.terms),
            column(rows, |&(_, row)| &*row.content_hash),
            column(rows, |&(_, row)| row.effective_at.micros()),
            column(rows, |&(_, row)| row.created_at.micros()),
            column(rows, |&(_, row)| row.now.updated_at.micros()),
            column(rows, |&(_, row)| &*row.now.state),
            column(rows, |&(_, row)| &*row.now.profile),
            column(rows, |&(_, row)| micros(row.now.processed_through)),
            column(rows, |&(_, row)| micros(row.now.rolled_to)),
            column(rows, |&(_, row)| micros(row.now.next_moment)),
            column(rows, |&(_, row)| micros(row.now.oldest_unpaid_due)),
            column(rows, |&(_, row)| &*row.now.status),
            column(rows, |&(_, row)| row.now.substatus.as_deref()),
            column(rows, |&(_, row)| row.now.next_seq),
            column(rows, |&(_, row)| row.now.settled_seq),
            column(rows, |&(_, row)| row.now.held_events),
            column(rows, |&(_, row)| row.now.scheduled_events),
            column(rows, |&(_, row)| row.now.message_seq),
            column(rows, |&(_, row)| row.now.failure.as_deref()),
            column(rows, |&(_, row)| row.now.balance),
        ],
    );
    (!rows.is_empty()).then_some(step)
}

fn write_customers<'a>(sql: &'static str, rows: &[(Id<'a>, &'a CustomerRow)]) -> Option<Query<'a>> {
    let step = Query::new(
        sql,
        vec![
            column(rows, |&((org, _), _)| org),
            column(rows, |&((_, customer_id), _)| customer_id),
            column(rows, |&(_, row)| row.version),
            column(rows, |&(_, row)| &*row.body),
            column(rows, |&(_, row)| row.sealed.as_deref()),
            column(rows, |&(_, row)| &*row.content_hash),
            column(rows, |&(_, row)| row.created_at.micros()),
            column(rows, |&(_, row)| row.updated_at.micros()),
        ],
    );
    (!rows.is_empty()).then_some(step)
}

fn insert_products<'a>(rows: &[(Id<'a>, &'a ProductRow)]) -> Option<Query<'a>> {
    let step = Query::new(
        INSERT_PRODUCTS,
        vec![
            column(rows, |&((org, _), _)| org),
            column(rows, |&((_, product), _)| product),
            column(rows, |&(_, row)| &*row.body),
            column(rows, |&(_, row)| &*row.content_hash),
            column(rows, |&(_, row)| row.created_at.micros()),
            column(rows, |&(_, row)| row.mode.version),
            column(rows, |&(_, row)| row.mode.holding),
            column(rows, |&(_, row)| row.mode.releasing),
            column(rows, |&(_, row)| micros(row.mode.suppress_before)),
            column(rows, |&(_, row)| micros(row.mode.started_at)),
            column(rows, |&(_, row)| micros(row.mode.finished_at)),
            column(rows, |&(_, row)| row.mode.accounts_total),
            column(rows, |&(_, row)| row.mode.events_total),
        ],
    );
    (!rows.is_empty()).then_some(step)
}

fn change_modes<'a>(rows: &[(Id<'a>, &'a Mode)]) -> Option<Query<'a>> {
    let step = Query::new(
        CHANGE_MODES,
        vec![
            column(rows, |&((org, _), _)| org),
            column(rows, |&((_, product), _)| product),
            column(rows, |&(_, mode)| mode.version),
            column(rows, |&(_, mode)| mode.holding),
            column(rows, |&(_, mode)| mode.releasing),
            column(rows, |&(_, mode)| micros(mode.suppress_before)),
            column(rows, |&(_, mode)| micros(mode.started_at)),
            column(rows, |&(_, mode)| micros(mode.finished_at)),
            column(rows, |&(_, mode)| mode.accounts_total),
            column(rows, |&(_, mode)| mode.events_total),
        ],
    );
    (!rows.is_empty()).then_some(step)
}
