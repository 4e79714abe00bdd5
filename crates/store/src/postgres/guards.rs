//! The triggers of the audit trail in PostgreSQL: each is a trigger and the function that it calls.

use super::cells::each;
use super::migrate;
use super::server::{PostgresServer, refused};
use crate::Result;
use crate::guards::{ForeignTrigger, Guard, LostGuard, passage};

/// A trigger, and when it fires: the bits of `pg_trigger.tgtype`.
const GUARDS: [(Guard, i16); 2] = [
    (
        Guard {
            trigger: "audit_is_kept",
            purpose: "records of the audit trail can be changed or removed",
            table: "audit",
        },
        BEFORE | DELETE | UPDATE | TRUNCATE,
    ),
    (
        Guard { trigger: "audit_begins", purpose: "new organizations get no audit trail", table: "organizations" },
        EACH_ROW | INSERT,
    ),
];

const EACH_ROW: i16 = 1;
const BEFORE: i16 = 2;
const INSERT: i16 = 4;
const DELETE: i16 = 8;
const UPDATE: i16 = 16;
const TRUNCATE: i16 = 32;

/// Whether a trigger is there, fires always and at the right moments, and calls the function with this body.
const IS_THERE: &str = "
    SELECT EXISTS (
        SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
        WHERE t.tgrelid = to_regclass($1) AND t.tgname = $2 AND t.tgtype = $3 AND t.tgenabled IN ('O', 'A')
          AND t.tgqual IS NULL AND cardinality(t.tgattr::int2[]) = 0 AND p.proname = $2 AND p.prosrc = $4)";

/// The statement that made the function of a trigger.
fn function_of(guard: &Guard) -> &'static str {
    passage(migrate::AUDIT, &format!("CREATE FUNCTION {}() ", guard.trigger), "$$;")
}

/// The statement that made a trigger.
fn made_by(guard: &Guard) -> &'static str {
    passage(migrate::AUDIT, &format!("CREATE TRIGGER {} ", guard.trigger), ";")
}

async fn is_lost(server: &PostgresServer, (guard, fires): &(Guard, i16)) -> Result<bool> {
    let body = function_of(guard).split("$$").nth(1).unwrap_or_default();
    let row = server.query_opt(IS_THERE, &[&guard.table, &guard.trigger, fires, &body]).await?;
    let is_there: Option<bool> = row.map(|row| row.try_get(0)).transpose().map_err(refused)?;
    Ok(is_there != Some(true))
}

/// The triggers that are missing, disabled or altered.
pub(super) async fn lost(server: &PostgresServer) -> Result<Vec<LostGuard>> {
    let mut found = Vec::new();
    for guard in &GUARDS {
        if is_lost(server, guard).await? {
            found.push(guard.0.lost());
        }
    }
    Ok(found)
}

/// Triggers and rules on the tables of the audit trail.
const ON_AUDIT: &str = "
    SELECT 'trigger', t.tgname::text, c.relname::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE t.tgrelid IN (to_regclass('audit'), to_regclass('audit_heads')) AND NOT t.tgisinternal
    UNION ALL
    SELECT 'rule', r.rulename::text, c.relname::text FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
    WHERE r.ev_class IN (to_regclass('audit'), to_regclass('audit_heads'))
    ORDER BY 2";

/// Triggers and rules that no migration made.
pub(super) async fn foreign(server: &PostgresServer) -> Result<Vec<ForeignTrigger>> {
    let mut found = each(&server.query(ON_AUDIT, &[]).await?, |cells| {
        Ok(ForeignTrigger { what: cells.next()?, name: cells.next()?, table: cells.next()? })
    })?;
    let is_guard = |found: &ForeignTrigger, guard: &Guard| {
        (found.what.as_str(), found.name.as_str(), found.table.as_str()) == ("trigger", guard.trigger, guard.table)
    };
    found.retain(|found| !GUARDS.iter().any(|(guard, _)| is_guard(found, guard)));
    Ok(found)
}

/// Restores them, each in a transaction.
pub(super) async fn restore(server: &PostgresServer) -> Result<()> {
    for guard in &GUARDS {
        if is_lost(server, guard).await? {
            let function = function_of(&guard.0).replacen("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1);
            let Guard { trigger, table, .. } = guard.0;
            let sql = format!("DROP TRIGGER IF EXISTS {trigger} ON {table}; {function} {}", made_by(&guard.0));
            let client = server.client().await?;
            // Statements that are sent as one are one transaction.
            let done = client.batch_execute(&sql).await;
            client.give_back();
            done.map_err(refused)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_migration_has_each_of_them() {
        for (guard, _) in &GUARDS {
            assert!(made_by(guard).contains(&format!(" ON {}", guard.table)), "{}", guard.trigger);
            assert!(function_of(guard).contains("BEGIN"), "{}", guard.trigger);
        }
    }
}
