//! The triggers that guard the audit trail.
//!
//! Migration 13 creates them. They refuse changes to records and start a chain for each organization. The owner of the
//! tables can drop, disable or rewrite a trigger, so each is compared with the SQL of the migration and restored from it.

use std::fmt;

/// A trigger of the audit trail that is missing, disabled or altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostGuard {
    /// Its name.
    pub trigger: &'static str,
    /// What it is for.
    pub purpose: &'static str,
}

impl LostGuard {
    /// Says that it was restored.
    pub fn restored(&self) -> String {
        format!(
            "the trigger {} was missing, disabled or altered, and was restored. Without it, {}: find out who changed it, \
             and compare the trail with the chain ends that you stored elsewhere (`daybook audit --holds`)",
            self.trigger, self.purpose
        )
    }
}

impl fmt::Display for LostGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the trigger {} is missing, disabled or altered, so {}. Find out who changed it, and compare the trail \
             with the chain ends that you stored elsewhere (`daybook audit --holds`); `daybook verify --fix` restores \
             the trigger",
            self.trigger, self.purpose
        )
    }
}

/// A trigger or a rule on a table of the audit trail that no migration made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignTrigger {
    /// What it is: a trigger or a rule.
    pub what: String,
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: String,
}

impl fmt::Display for ForeignTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ForeignTrigger { what, name, table } = self;
        write!(
            f,
            "the {what} {name} on table {table} is not Daybook's and may prevent records from being written. Find out \
             who added it, and remove it"
        )
    }
}

/// A required trigger.
pub(crate) struct Guard {
    pub trigger: &'static str,
    pub purpose: &'static str,
    /// Its table.
    pub table: &'static str,
}

impl Guard {
    pub fn lost(&self) -> LostGuard {
        LostGuard { trigger: self.trigger, purpose: self.purpose }
    }
}

/// A part of a migration: from where a text begins to the end of another.
pub(crate) fn passage<'a>(sql: &'a str, from: &str, to: &str) -> &'a str {
    let rest = sql.find(from).map_or("", |start| &sql[start..]);
    rest.find(to).map_or("", |end| &rest[..end + to.len()])
}
