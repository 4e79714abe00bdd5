//! Maintenance of the database.

use super::connection::broken;
use super::grouped_messages::expand_rows;
use super::outbox::whole;
use super::read::{all, one};
use super::rows::{LAST_POSITION, LOGGED, by_cells, place, position, text, time};
use super::{Sqlite, earlier_messages, guards, message_checks, migrations};
use crate::Result;
use crate::guards::{ForeignTrigger, LostGuard};
use crate::message_groups::{MESSAGE_WITHOUT_TEXTS, leave_out, stored_row};
use crate::portfolio_queries::SearchedKind;
use crate::records::{AccountKey, OrgId};
use crate::upkeep::{
    AttemptWords, Correction, HOURS_OFF, HourOff, Kinds, LogStanding, MessageFacts, MessageRowsChecked, ORPHANS,
    Orphan, TablesStanding, Upkeep, in_words,
};
use async_trait::async_trait;
use rusqlite::{Connection, TransactionBehavior, params};
use std::sync::Arc;

/// Attempts that are stored under an organization other than the one of their webhook URL, and events of messages of an
/// organization that does not exist.
const ELSEWHERE: &[Kinds] = &[
    Kinds {
        what: "is the number of a webhook URL whose attempts are stored under another organization",
        find: "SELECT DISTINCT s.org, CAST(a.subscription AS TEXT) FROM attempts a
               JOIN subscriptions s ON s.id = a.subscription WHERE s.org <> a.place >> 40",
        remove: Some(
            "UPDATE attempts SET place = (s.org << 40) + (place & 1099511627775)
             FROM subscriptions s WHERE s.id = attempts.subscription AND s.org <> attempts.place >> 40",
        ),
    },
    Kinds {
        what: "is listed as the event of a message whose organization does not exist",
        find: "SELECT DISTINCT v.place >> 40, v.event FROM message_events v
               WHERE NOT EXISTS (SELECT 1 FROM organizations o WHERE o.org = v.place >> 40)",
        remove: Some(
            "DELETE FROM message_events
             WHERE NOT EXISTS (SELECT 1 FROM organizations o WHERE o.org = message_events.place >> 40)",
        ),
    },
];

/// Organization and position are one number, the place.
const ATTEMPT: AttemptWords = AttemptWords {
    org: "(a.place >> 40)",
    position: "(a.place & 1099511627775)",
    of_failure: "a.subscription = f.subscription AND a.place = (s.org << 40) + f.position",
    last_subscription: "(SELECT q.seq FROM sqlite_sequence q WHERE q.name = 'subscriptions')",
};

#[async_trait]
impl Upkeep for Sqlite {
    fn migrated(&self) -> Vec<i64> {
        self.migrated.clone()
    }

    async fn tables(&self) -> Result<TablesStanding> {
        self.read(migrations::standing).await
    }

    async fn account_customers(&self, key: &AccountKey) -> Result<Vec<(Arc<str>, String)>> {
        let key = key.clone();
        let sql = "SELECT customer, role FROM account_customers WHERE org = ?1 AND account = ?2 ORDER BY customer";
        self.read(move |connection| {
            all(connection, sql, params![key.org, key.account], |row| Ok((text(row, 0)?, row.get(1)?)))
        })
        .await
    }

    async fn words_of(&self, org: OrgId, kind: SearchedKind, id: &str) -> Result<Vec<String>> {
        let id = id.to_owned();
        let sql = "SELECT word FROM words WHERE org = ?1 AND kind = ?2 AND id = ?3 ORDER BY word";
        self.read(move |connection| all(connection, sql, params![org, kind.number(), id], |row| row.get(0))).await
    }

    async fn orphans(&self) -> Result<Vec<Orphan>> {
        self.read(|connection| {
            let mut found = Vec::new();
            for kind in ORPHANS.iter().chain(ELSEWHERE) {
                let ids: Vec<String> = all(connection, &in_words(kind.find, "customer"), [], |row| row.get(1))?;
                let orphan = |id| Orphan { what: kind.what, id, removable: kind.remove.is_some(), is_attempt: false };
                found.extend(ids.into_iter().map(orphan));
            }
            let (what, find, _) = ATTEMPT.miscounted();
            let ids: Vec<String> = all(connection, &find, [], |row| row.get(1))?;
            found.extend(ids.into_iter().map(|id| Orphan { what, id, removable: true, is_attempt: false }));
            for (what, find) in ATTEMPT.unsound() {
                let ids: Vec<String> = all(connection, &find, [], |row| row.get(1))?;
                found.extend(ids.into_iter().map(|id| Orphan { what, id, removable: false, is_attempt: true }));
            }
            Ok(found)
        })
        .await
    }

    async fn remove_orphans(&self) -> Result<u64> {
        self.write(|connection| {
            let mut removed = 0;
            for sql in ORPHANS.iter().chain(ELSEWHERE).filter_map(|kind| kind.remove) {
                removed += connection.execute(&in_words(sql, "customer"), []).map_err(broken)? as u64;
            }
            let (_, _, correct) = ATTEMPT.miscounted();
            removed += connection.execute(&correct, []).map_err(broken)? as u64;
            Ok(removed)
        })
        .await
    }

    async fn log_standing(&self, org: OrgId) -> Result<LogStanding> {
        self.read(move |connection| {
            let sql = "SELECT head, hurried FROM log_heads WHERE org = ?1";
            let head = one(connection, sql, params![org], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let (head, hurried) = head.unwrap_or_default();
            // The first row begins at its place less its size.
            let sql = "SELECT coalesce(min(place - size + 1), 0), coalesce(max(place), 0), coalesce(sum(size), 0)
                       FROM message_groups WHERE place > ?1 AND place <= ?2";
            let params = params![place(org, 0), place(org, LAST_POSITION)];
            let log = one(connection, sql, params, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            let (first, last, count) = log.unwrap_or_default();
            Ok(LogStanding { head, hurried, first: position(first), last: position(last), count })
        })
        .await
    }

    async fn check_message_rows(&self, org: OrgId, after: i64, limit: usize) -> Result<MessageRowsChecked> {
        self.read(move |connection| message_checks::checked(connection, org, after, limit)).await
    }

    async fn correct_message_rows(&self, org: OrgId, positions: &[i64]) -> Result<()> {
        let positions = positions.to_vec();
        self.write(move |connection| {
            whole(connection, |transaction| message_checks::correct_rows(transaction, org, &positions))
        })
        .await
    }

    async fn hours_off(&self) -> Result<Vec<HourOff>> {
        self.read(hours_off).await
    }

    async fn recount_hours(&self) -> Result<()> {
        self.write(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
            for off in hours_off(&transaction)? {
                recount(&transaction, &off).map_err(broken)?;
            }
            transaction.commit().map_err(broken)
        })
        .await
    }

    async fn lost_guards(&self) -> Result<Vec<LostGuard>> {
        self.read(guards::lost).await
    }

    async fn foreign_triggers(&self) -> Result<Vec<ForeignTrigger>> {
        self.read(guards::foreign).await
    }

    async fn restore_guards(&self) -> Result<()> {
        self.write(guards::restore).await
    }

    async fn compress_earlier_messages(&self, limit: usize) -> Result<Option<u64>> {
        self.write(move |connection| earlier_messages::compress(connection, limit)).await
    }

    async fn earlier_messages_left(&self) -> Result<Option<u64>> {
        self.read(earlier_messages::left).await
    }

    async fn correct(&self, corrections: &[Correction]) -> Result<()> {
        let mut corrections = corrections.to_owned();
        self.write(move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
            for correction in &mut corrections {
                if let Correction::Message(key, facts) = correction
                    && facts.waits.is_none()
                {
                    if message_checks::correct_message(&transaction, key, facts)? {
                        continue;
                    }
                    leave_out_texts(&transaction, key, facts)?;
                }
                correct(&transaction, correction).map_err(broken)?;
            }
            transaction.commit().map_err(broken)
        })
        .await
    }
}

fn hours_off(connection: &Connection) -> Result<Vec<HourOff>> {
    all(connection, &HOURS_OFF.replace("{org}", ATTEMPT.org), [], |row| {
        Ok(HourOff {
            org: row.get(0)?,
            hour: time(row, 1)?,
            subscription: row.get(2)?,
            kept: (row.get(3)?, row.get(4)?),
            given: (row.get(5)?, row.get(6)?),
        })
    })
}

fn recount(connection: &Connection, off: &HourOff) -> rusqlite::Result<usize> {
    let HourOff { org, hour, subscription, given, .. } = off;
    if *given == (0, 0) {
        let sql = "DELETE FROM delivery_hours WHERE org = ?1 AND hour = ?2 AND subscription = ?3";
        return connection.execute(sql, params![org, hour.micros(), subscription]);
    }
    let sql = "INSERT INTO delivery_hours (org, hour, subscription, delivered, failed) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT DO UPDATE SET delivered = excluded.delivered, failed = excluded.failed";
    connection.execute(sql, params![org, hour.micros(), subscription, given.0, given.1])
}

/// Leaves out of the correction of a message that has a row of its own what its group holds.
fn leave_out_texts(connection: &Connection, key: &AccountKey, facts: &mut MessageFacts) -> Result<()> {
    let sql = format!(
        "SELECT size, {LOGGED}, {MESSAGE_WITHOUT_TEXTS} FROM message_groups
         WHERE org = ?1 AND account = ?2 AND sequence = ?3 AND size = 1"
    );
    let rows = all(connection, &sql, params![key.org, key.account, facts.sequence], by_cells(stored_row))?;
    let whole = expand_rows(connection, key.org, rows)?.pop();
    leave_out(facts, whole.as_ref());
    Ok(())
}

fn correct(connection: &Connection, correction: &Correction) -> rusqlite::Result<()> {
    match correction {
        Correction::AccountTimes(key, effective_at, created_at) => connection.execute(
            "UPDATE accounts SET effective_at = ?3, created_at = ?4 WHERE org = ?1 AND account = ?2",
            params![key.org, key.account, effective_at.micros(), created_at.micros()],
        )?,
        Correction::RemoveItem(key, item) => connection.execute(
            "DELETE FROM line_items WHERE org = ?1 AND account = ?2 AND item = ?3",
            params![key.org, key.account, item],
        )?,
        Correction::ItemCreated(key, item, at) => connection.execute(
            "UPDATE line_items SET created_at = ?4 WHERE org = ?1 AND account = ?2 AND item = ?3",
            params![key.org, key.account, item, at.micros()],
        )?,
        Correction::Message(key, facts) => {
            let params = params![
                key.org,
                key.account,
                facts.sequence,
                facts.event,
                facts.event_id,
                facts.cause,
                facts.subject,
                facts.effective_at.micros(),
                facts.recorded_at.micros(),
            ];
            let set = "SET event = ?4, event_id = ?5, cause = ?6, subject = ?7, effective_at = ?8, recorded_at = ?9";
            let which = "WHERE org = ?1 AND account = ?2 AND sequence = ?3";
            if let Some((due_at, cancelled_at)) = facts.waits {
                connection.execute(&format!("UPDATE waiting_messages {set} {which}"), params)?;
                let cancelled_at = cancelled_at.map(daybook_engine::time::Time::micros);
                let params = params![key.org, key.account, facts.sequence, due_at.micros(), cancelled_at];
                let set = "SET due_at = ?4, cancelled_at = ?5";
                connection.execute(&format!("UPDATE waiting_messages {set} {which}"), params)?
            } else {
                connection.execute(&format!("UPDATE message_groups {set} {which} AND size = 1"), params)?
            }
        }
        Correction::OwnMessage(org, message) => connection.execute(
            "UPDATE message_groups SET event = ?2, event_id = ?3, cause = '', subject = ?4, effective_at = ?5, recorded_at = ?6,
                                 sequence = 0
             WHERE place = ?1 AND account IS NULL AND size = 1",
            params![
                place(*org, message.position),
                message.event,
                message.event_id,
                message.subject,
                message.effective_at.micros(),
                message.recorded_at.micros(),
            ],
        )?,
        Correction::NotToRefold(key) => connection.execute(
            "DELETE FROM accounts_to_refold WHERE org = ?1 AND account = ?2",
            params![key.org, key.account],
        )?,
        Correction::EmailKey(person, email_key) => connection.execute(
            "UPDATE people SET email_key = ?2
             WHERE person = ?1 AND NOT EXISTS (SELECT 1 FROM people o WHERE o.email_key = ?2)",
            params![person, email_key],
        )?,
        Correction::Head { org, before, head, hurried } => connection.execute(
            "INSERT INTO log_heads (org, head, hurried) VALUES (?1, ?2, ?3)
             ON CONFLICT (org) DO UPDATE SET head = excluded.head, hurried = excluded.hurried
             WHERE log_heads.head = ?4",
            params![org, head, hurried, before],
        )?,
    };
    Ok(())
}
