//! The triggers of the audit trail in SQLite, which keeps the text that they were made with.

use super::connection::broken;
use super::migrations;
use super::read::{all, one};
use crate::Result;
use crate::guards::{ForeignTrigger, Guard, LostGuard, passage};
use rusqlite::{Connection, TransactionBehavior, params};

const GUARDS: [Guard; 3] = [
    Guard { trigger: "audit_is_not_changed", purpose: "records of the audit trail can be changed", table: "audit" },
    Guard { trigger: "audit_is_not_removed", purpose: "records of the audit trail can be removed", table: "audit" },
    Guard { trigger: "audit_begins", purpose: "new organizations get no audit trail", table: "organizations" },
];

/// The statement that made a trigger, without its end.
fn made_by(guard: &Guard) -> &'static str {
    passage(migrations::AUDIT, &format!("CREATE TRIGGER {} ", guard.trigger), "END")
}

fn is_lost(connection: &Connection, guard: &Guard) -> Result<bool> {
    let sql = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = ?1 AND tbl_name = ?2";
    let kept: Option<String> = one(connection, sql, params![guard.trigger, guard.table], |row| row.get(0))?;
    Ok(kept.as_deref() != Some(made_by(guard)))
}

/// The triggers that are missing or altered.
pub(super) fn lost(connection: &Connection) -> Result<Vec<LostGuard>> {
    let mut found = Vec::new();
    for guard in &GUARDS {
        if is_lost(connection, guard)? {
            found.push(guard.lost());
        }
    }
    Ok(found)
}

/// Triggers that no migration made.
pub(super) fn foreign(connection: &Connection) -> Result<Vec<ForeignTrigger>> {
    let sql = "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ('audit', 'audit_heads')
               ORDER BY name";
    let mut found = all(connection, sql, [], |row| {
        Ok(ForeignTrigger { what: "trigger".to_owned(), name: row.get(0)?, table: row.get(1)? })
    })?;
    found.retain(|found| !GUARDS.iter().any(|guard| guard.trigger == found.name && guard.table == found.table));
    Ok(found)
}

/// Restores them.
pub(super) fn restore(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    for guard in &GUARDS {
        if is_lost(&transaction, guard)? {
            let sql = format!("DROP TRIGGER IF EXISTS {}; {};", guard.trigger, made_by(guard));
            transaction.execute_batch(&sql).map_err(broken)?;
        }
    }
    transaction.commit().map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_migration_has_each_of_them() {
        for guard in &GUARDS {
            let text = made_by(guard);
            assert!(text.contains(&format!(" ON {}\nBEGIN ", guard.table)), "{}: {text}", guard.trigger);
        }
    }
}
