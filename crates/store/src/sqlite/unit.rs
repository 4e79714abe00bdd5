//! Writes one unit: its claims first, then the rows of its accounts.

use super::commit::{UnitResult, account_key};
use super::connection::broken;
use super::rows::SqlResult;
use super::{refolds, search_index};
use crate::Result;
use crate::batch::{AccountClaim, AccountWrite, CustomerWrite, ItemChange, NewKeptResponse, ProductWrite, Unit};
use crate::records::{
    AccountKey, AccountNow, AccountRow, CustomerRow, InputRow, ItemRow, Mode, ProductKey, ProductRow,
};
use daybook_engine::time::Time;
use rusqlite::{CachedStatement, Connection, ErrorCode, params};
use std::sync::Arc;

const TAKE_ANSWER: &str = "
    INSERT INTO answers (org, key, content_hash, body, recorded_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (org, key) DO UPDATE SET content_hash = excluded.content_hash, body = excluded.body,
        recorded_at = excluded.recorded_at, expires_at = excluded.expires_at
    WHERE answers.expires_at <= excluded.recorded_at";

const GIVE_ANSWER_BACK: &str = "DELETE FROM answers WHERE org = ?1 AND key = ?2";

const INSERT_ACCOUNT: &str = "
    INSERT INTO accounts (updated_at, state, profile, processed_through, rolled_to, next_moment, oldest_unpaid_due,
        status, substatus, next_seq, settled_seq, held_events, scheduled_events, message_seq, failure,
        org, account, version, balance, product, terms, content_hash, effective_at, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
        ?24)
    ON CONFLICT (org, account) DO NOTHING";

const UPDATE_ACCOUNT: &str = "
    UPDATE accounts SET updated_at = ?1, state = ?2, profile = ?3, processed_through = ?4, rolled_to = ?5,
        next_moment = ?6, oldest_unpaid_due = ?7, status = ?8, substatus = ?9, next_seq = ?10, settled_seq = ?11,
        held_events = ?12, scheduled_events = ?13, message_seq = ?14, failure = ?15, balance = ?19,
        version = version + 1
    WHERE org = ?16 AND account = ?17 AND version = ?18";

/// The same for an account whose indexed columns do not change, as with most payments: SQLite would delete and reinsert
/// the index entry whenever an indexed column is set, even to the same value.
const UPDATE_ACCOUNT_IN_PLACE: &str = "
    UPDATE accounts SET updated_at = ?1, state = ?2, profile = ?3, processed_through = ?4, next_seq = ?10,
        settled_seq = ?11, scheduled_events = ?13, message_seq = ?14, balance = ?19, version = version + 1
    WHERE org = ?16 AND account = ?17 AND version = ?18 AND rolled_to IS ?5
        AND next_moment IS ?6 AND oldest_unpaid_due IS ?7 AND status = ?8 AND substatus IS ?9 AND held_events = ?12
        AND failure IS ?15";

const INSERT_CUSTOMER: &str = "
    INSERT INTO customers (org, customer, version, body, sealed, content_hash, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (org, customer) DO NOTHING";

const UPDATE_CUSTOMER: &str = "
    UPDATE customers SET version = ?3, body = ?4, sealed = ?5, content_hash = ?6, created_at = ?7, updated_at = ?8
    WHERE org = ?1 AND customer = ?2 AND version = ?3 - 1";

const INSERT_PRODUCT: &str = "
    INSERT INTO products (org, product, mode_version, holding, releasing, suppress_before, started_at, finished_at,
        accounts_total, events_total, body, content_hash, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
    ON CONFLICT (org, product) DO NOTHING";

const UPDATE_MODE: &str = "
    UPDATE products SET mode_version = ?3, holding = ?4, releasing = ?5, suppress_before = ?6, started_at = ?7,
        finished_at = ?8, accounts_total = ?9, events_total = ?10
    WHERE org = ?1 AND product = ?2 AND mode_version = ?3 - 1";

const REMOVE_INPUT: &str = "DELETE FROM inputs WHERE org = ?1 AND account = ?2 AND seq = ?3";

const INSERT_INPUT: &str = "
    INSERT INTO inputs (org, account, seq, name, effective_at, applies_at, rank, scheduled, recorded_at, clock, payload,
        extra, content_hash)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

const WRITE_ITEM: &str = "
    INSERT INTO line_items (org, account, item, kind, status, effective_at, applied_at, created_at, updated_at, amount,
        balance, principal, interest, fees, splits, extra, reversed_by, reason)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
    ON CONFLICT (org, account, item) DO UPDATE SET kind = excluded.kind, status = excluded.status,
        effective_at = excluded.effective_at, applied_at = excluded.applied_at, updated_at = excluded.updated_at,
        amount = excluded.amount, balance = excluded.balance, principal = excluded.principal,
        interest = excluded.interest, fees = excluded.fees, splits = excluded.splits, extra = excluded.extra,
        reversed_by = excluded.reversed_by, reason = excluded.reason";

const CHANGE_ITEM: &str = "
    UPDATE line_items SET balance = coalesce(?4, balance), status = coalesce(?5, status), updated_at = ?6,
        reversed_by = coalesce(?7, reversed_by)
    WHERE org = ?1 AND account = ?2 AND item = ?3";

const VOID_ITEM: &str = "
    UPDATE line_items SET balance = 0, principal = 0, interest = 0, fees = 0, splits = x'',
        status = coalesce(?4, status), updated_at = ?5
    WHERE org = ?1 AND account = ?2 AND item = ?3";

const REMOVE_ACCOUNT_CUSTOMERS: &str = "DELETE FROM account_customers WHERE org = ?1 AND account = ?2";

const INSERT_ACCOUNT_CUSTOMER: &str = "
    INSERT INTO account_customers (org, account, customer, role) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (org, account, customer) DO UPDATE SET role = excluded.role";

/// Writes units. Holds the statements that a large batch runs repeatedly; the others are looked up when needed.
pub(super) struct UnitWriter<'c> {
    connection: &'c Connection,
    update_in_place: CachedStatement<'c>,
    update_account: CachedStatement<'c>,
    insert_input: CachedStatement<'c>,
    write_item: CachedStatement<'c>,
    change_item: CachedStatement<'c>,
}

impl<'c> UnitWriter<'c> {
    pub(super) fn open(connection: &'c Connection) -> Result<UnitWriter<'c>> {
        let prepare = |sql| connection.prepare_cached(sql).map_err(broken);
        Ok(UnitWriter {
            connection,
            update_in_place: prepare(UPDATE_ACCOUNT_IN_PLACE)?,
            update_account: prepare(UPDATE_ACCOUNT)?,
            insert_input: prepare(INSERT_INPUT)?,
            write_item: prepare(WRITE_ITEM)?,
            change_item: prepare(CHANGE_ITEM)?,
        })
    }

    /// Claims a unit and writes its rows.
    pub(super) fn write(&mut self, unit: &Unit) -> Result<UnitResult> {
        match self.claim(unit).map_err(broken)? {
            UnitResult::Written => {}
            not_claimed => return Ok(not_claimed),
        }
        for account in &unit.accounts {
            match self.write_rows(account) {
                Ok(()) => {}
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                    return Ok(UnitResult::HalfWritten);
                }
                Err(error) => return Err(broken(error)),
            }
        }
        unit.words.iter().try_for_each(|of| search_index::write(self.connection, of))?;
        Ok(UnitResult::Written)
    }

    /// Makes the claims of a unit. If the first claim fails, only kept responses were written, and they are deleted
    /// again.
    fn claim(&mut self, unit: &Unit) -> SqlResult<UnitResult> {
        for (taken, answer) in unit.answers.iter().enumerate() {
            if !self.take_answer(answer)? {
                return self.give_back(&unit.answers[..taken]);
            }
        }
        let mut claims = 0;
        for account in &unit.accounts {
            if !self.claim_account(&account.claim)? {
                return self.lost(unit, claims);
            }
            claims += 1;
        }
        for customer in &unit.customers {
            if !self.claim_customer(customer)? {
                return self.lost(unit, claims);
            }
            claims += 1;
        }
        for product in &unit.products {
            if !self.claim_product(product)? {
                return self.lost(unit, claims);
            }
            claims += 1;
        }
        Ok(UnitResult::Written)
    }

    /// Handles a claim that failed after this many others.
    fn lost(&mut self, unit: &Unit, claims: usize) -> SqlResult<UnitResult> {
        if claims > 0 { Ok(UnitResult::HalfWritten) } else { self.give_back(&unit.answers) }
    }

    /// Deletes kept responses again. A response that they replaced had expired, so nothing is lost.
    fn give_back(&mut self, answers: &[NewKeptResponse]) -> SqlResult<UnitResult> {
        for answer in answers {
            self.run(GIVE_ANSWER_BACK, params![answer.org, answer.key])?;
        }
        Ok(UnitResult::Stale)
    }

    fn take_answer(&mut self, new: &NewKeptResponse) -> SqlResult<bool> {
        let NewKeptResponse { org, key, answer, recorded_at, expires_at } = new;
        self.run(
            TAKE_ANSWER,
            params![org, key, answer.content_hash, &answer.body[..], recorded_at.micros(), expires_at.micros()],
        )
    }

    fn claim_account(&mut self, claim: &AccountClaim) -> SqlResult<bool> {
        match claim {
            AccountClaim::Insert(row) => {
                let AccountRow { key, product, version, terms, content_hash, effective_at, created_at, now } = &**row;
                let mut statement = self.connection.prepare_cached(INSERT_ACCOUNT)?;
                bind_account(&mut statement, key, *version, now)?;
                statement.raw_bind_parameter(20, product)?;
                statement.raw_bind_parameter(21, terms)?;
                statement.raw_bind_parameter(22, content_hash)?;
                statement.raw_bind_parameter(23, effective_at.micros())?;
                statement.raw_bind_parameter(24, created_at.micros())?;
                Ok(statement.raw_execute()? == 1)
            }
            AccountClaim::Update { key, version, now } => {
                bind_account(&mut self.update_in_place, key, *version, now)?;
                if self.update_in_place.raw_execute()? == 1 {
                    return Ok(true);
                }
                bind_account(&mut self.update_account, key, *version, now)?;
                Ok(self.update_account.raw_execute()? == 1)
            }
        }
    }

    fn claim_customer(&mut self, write: &CustomerWrite) -> SqlResult<bool> {
        let (sql, row) = match write {
            CustomerWrite::Insert(row) => (INSERT_CUSTOMER, row),
            CustomerWrite::Update(row) => (UPDATE_CUSTOMER, row),
        };
        let CustomerRow { org, customer_id, version, body, sealed, content_hash, created_at, updated_at } = &**row;
        self.run(
            sql,
            params![org, customer_id, version, body, sealed, content_hash, created_at.micros(), updated_at.micros()],
        )
    }

    fn claim_product(&mut self, write: &ProductWrite) -> SqlResult<bool> {
        match write {
            ProductWrite::Insert(row) => {
                let ProductRow { key, body, content_hash, created_at, mode } = &**row;
                let mut statement = self.connection.prepare_cached(INSERT_PRODUCT)?;
                bind_mode(&mut statement, key, mode)?;
                statement.raw_bind_parameter(11, body)?;
                statement.raw_bind_parameter(12, content_hash)?;
                statement.raw_bind_parameter(13, created_at.micros())?;
                Ok(statement.raw_execute()? == 1)
            }
            ProductWrite::Mode(key, mode) => {
                let mut statement = self.connection.prepare_cached(UPDATE_MODE)?;
                bind_mode(&mut statement, key, mode)?;
                Ok(statement.raw_execute()? == 1)
            }
        }
    }

    /// Writes the new rows of a claimed account.
    fn write_rows(&mut self, write: &AccountWrite) -> SqlResult<()> {
        let key = account_key(write);
        for seq in &write.removed_inputs {
            self.run(REMOVE_INPUT, params![key.org, key.account, seq])?;
        }
        for input in &write.inputs {
            self.insert_input(key, input)?;
        }
        for item in &write.items {
            self.write_item(key, item)?;
        }
        for change in &write.item_changes {
            self.change_item(key, change)?;
        }
        if let Some(customers) = &write.customers {
            self.write_customers(key, customers)?;
        }
        write.refold.as_ref().map_or(Ok(()), |refold| refolds::write(self.connection, key, refold))
    }

    fn insert_input(&mut self, key: &AccountKey, input: &InputRow) -> SqlResult<()> {
        self.insert_input.execute(params![
            key.org,
            key.account,
            input.seq,
            input.name,
            input.effective_at.micros(),
            input.applies_at.micros(),
            input.rank,
            input.scheduled,
            input.recorded_at.micros(),
            input.clock.micros(),
            input.payload,
            input.extra,
            input.content_hash,
        ])?;
        Ok(())
    }

    fn write_item(&mut self, key: &AccountKey, item: &ItemRow) -> SqlResult<()> {
        self.write_item.execute(params![
            key.org,
            key.account,
            item.item_id,
            item.kind,
            item.status,
            item.effective_at.micros(),
            item.applied_at.micros(),
            item.created_at.micros(),
            item.updated_at.micros(),
            item.amount,
            item.balance,
            item.principal,
            item.interest,
            item.fees,
            item.splits,
            item.extra,
            item.reversed_by,
            item.reason,
        ])?;
        Ok(())
    }

    fn change_item(&mut self, key: &AccountKey, change: &ItemChange) -> SqlResult<()> {
        let ItemChange { item_id, balance, status, void, reversed_by, updated_at } = change;
        if *void {
            self.run(VOID_ITEM, params![key.org, key.account, item_id, status, updated_at.micros()])?;
        } else {
            let params = params![key.org, key.account, item_id, balance, status, updated_at.micros(), reversed_by];
            self.change_item.execute(params)?;
        }
        Ok(())
    }

    fn write_customers(&mut self, key: &AccountKey, customers: &[(Arc<str>, String)]) -> SqlResult<()> {
        self.run(REMOVE_ACCOUNT_CUSTOMERS, params![key.org, key.account])?;
        for (customer, role) in customers {
            self.run(INSERT_ACCOUNT_CUSTOMER, params![key.org, key.account, customer, role])?;
        }
        Ok(())
    }

    /// Runs a less frequent statement; returns whether it wrote a row.
    fn run(&self, sql: &str, params: &[&dyn rusqlite::ToSql]) -> SqlResult<bool> {
        Ok(self.connection.prepare_cached(sql)?.execute(params)? > 0)
    }
}

/// Binds the parameters that inserting and updating an account have in common.
fn bind_account(
    statement: &mut CachedStatement<'_>,
    key: &AccountKey,
    version: i64,
    now: &AccountNow,
) -> SqlResult<()> {
    let micros = |time: Option<Time>| time.map(Time::micros);
    let params = params![
        now.updated_at.micros(),
        now.state,
        now.profile,
        micros(now.processed_through),
        micros(now.rolled_to),
        micros(now.next_moment),
        micros(now.oldest_unpaid_due),
        now.status,
        now.substatus,
        now.next_seq,
        now.settled_seq,
        now.held_events,
        now.scheduled_events,
        now.message_seq,
        now.failure,
        key.org,
        key.account,
        version,
        now.balance,
    ];
    bind(statement, params)
}

/// Binds the parameters that inserting a product and changing its mode have in common.
fn bind_mode(statement: &mut CachedStatement<'_>, key: &ProductKey, mode: &Mode) -> SqlResult<()> {
    let micros = |time: Option<Time>| time.map(Time::micros);
    let params = params![
        key.org,
        key.product,
        mode.version,
        mode.holding,
        mode.releasing,
        micros(mode.suppress_before),
        micros(mode.started_at),
        micros(mode.finished_at),
        mode.accounts_total,
        mode.events_total,
    ];
    bind(statement, params)
}

/// Binds the first parameters of a statement.
fn bind(statement: &mut CachedStatement<'_>, params: &[&dyn rusqlite::ToSql]) -> SqlResult<()> {
    for (index, param) in params.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, param)?;
    }
    Ok(())
}
