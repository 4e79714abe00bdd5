//! Console users.
//!
//! One thread writes, so the rows on which a write decides cannot change before it is done.

use super::Sqlite;
use super::outbox::{run, whole};
use super::read::{all, count, one};
use super::rows::{optional_time, time};
use crate::people::{Accepted, Changed, FailedSignIns, InvitationRow, People, PersonChange, PersonRow, SessionRow};
use crate::records::OrgId;
use crate::{Audited, Result};
use async_trait::async_trait;
use daybook_engine::time::Time;
use rusqlite::{Connection, Row, params};

type Sql<T> = rusqlite::Result<T>;

const PERSON: &str = "p.org, p.person, p.name, p.email, p.email_key, p.password_hash, p.role, p.created_at, \
     p.last_seen_at, p.disabled_at";
const INVITATION: &str = "token_hash, org, role, created_by, created_at, expires_at";
/// The first column of a session, after those of its person.
const SESSION_AT: usize = 10;

fn person(row: &Row<'_>) -> Sql<PersonRow> {
    Ok(PersonRow {
        org: row.get(0)?,
        person: row.get(1)?,
        name: row.get(2)?,
        email: row.get(3)?,
        email_key: row.get(4)?,
        password_hash: row.get(5)?,
        role: row.get(6)?,
        created_at: time(row, 7)?,
        last_seen_at: optional_time(row, 8)?,
        disabled_at: optional_time(row, 9)?,
    })
}

fn session_with_person(row: &Row<'_>) -> Sql<(SessionRow, PersonRow)> {
    let person = person(row)?;
    let session = SessionRow {
        token_hash: row.get(SESSION_AT)?,
        person: person.person.clone(),
        created_at: time(row, SESSION_AT + 1)?,
        seen_at: time(row, SESSION_AT + 2)?,
        expires_at: time(row, SESSION_AT + 3)?,
    };
    Ok((session, person))
}

fn invitation(row: &Row<'_>) -> Sql<InvitationRow> {
    Ok(InvitationRow {
        token_hash: row.get(0)?,
        org: row.get(1)?,
        role: row.get(2)?,
        created_by: row.get(3)?,
        created_at: time(row, 4)?,
        expires_at: time(row, 5)?,
    })
}

fn guess(row: &Row<'_>) -> Sql<FailedSignIns> {
    Ok(FailedSignIns {
        subject: row.get(0)?,
        failures: row.get(1)?,
        wait_until: time(row, 2)?,
        expires_at: time(row, 3)?,
    })
}

/// False if the address belongs to another person.
fn insert(connection: &Connection, new: &PersonRow) -> Result<bool> {
    let sql = "INSERT INTO people (org, person, name, email, email_key, password_hash, role, created_at, last_seen_at, \
               disabled_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (email_key) DO NOTHING";
    let made = run(
        connection,
        sql,
        params![
            new.org,
            new.person,
            new.name,
            new.email,
            new.email_key,
            new.password_hash,
            new.role,
            new.created_at.micros(),
            new.last_seen_at.map(Time::micros),
            new.disabled_at.map(Time::micros),
        ],
    )?;
    Ok(made == 1)
}

fn accept(write: &Connection, token_hash: &[u8], now: Time, new: &PersonRow) -> Result<Accepted> {
    let sql = "SELECT 1 FROM invitations WHERE token_hash = ?1 AND expires_at > ?2";
    if one(write, sql, params![token_hash, now.micros()], |_| Ok(()))?.is_none() {
        return Ok(Accepted::NoInvitation);
    }
    if !insert(write, new)? {
        return Ok(Accepted::EmailTaken);
    }
    run(write, "DELETE FROM invitations WHERE token_hash = ?1", params![token_hash])?;
    Ok(Accepted::Yes)
}

fn change(write: &Connection, org: OrgId, id: &str, change: &PersonChange, must_remain: &str) -> Result<Changed> {
    let sql = "SELECT role = ?3 AND disabled_at IS NULL FROM people WHERE org = ?1 AND person = ?2";
    let Some(has_it) = one(write, sql, params![org, id, must_remain], |row| row.get::<_, bool>(0))? else {
        return Ok(Changed::NotFound);
    };
    let loses_it = has_it
        && match change {
            PersonChange::Role(role) => role != must_remain,
            PersonChange::Disabled(_) => true,
            PersonChange::Enabled => false,
        };
    let others = "SELECT 1 FROM people WHERE org = ?1 AND person <> ?2 AND role = ?3 AND disabled_at IS NULL LIMIT 1";
    if loses_it && one(write, others, params![org, id, must_remain], |_| Ok(()))?.is_none() {
        return Ok(Changed::LastOne);
    }
    match change {
        PersonChange::Role(role) => {
            run(write, "UPDATE people SET role = ?2 WHERE person = ?1", params![id, role])?;
        }
        PersonChange::Disabled(at) => {
            let sql = "UPDATE people SET disabled_at = coalesce(disabled_at, ?2) WHERE person = ?1";
            run(write, sql, params![id, at.micros()])?;
            run(write, "DELETE FROM sessions WHERE person = ?1", params![id])?;
        }
        PersonChange::Enabled => {
            run(write, "UPDATE people SET disabled_at = NULL WHERE person = ?1", params![id])?;
        }
    }
    Ok(Changed::Yes)
}

fn change_password(write: &Connection, id: &str, old: &str, new: &str, kept: &[u8]) -> Result<bool> {
    let sql = "UPDATE people SET password_hash = ?3 WHERE person = ?1 AND password_hash = ?2";
    let changed = run(write, sql, params![id, old, new])? == 1;
    if changed {
        run(write, "DELETE FROM sessions WHERE person = ?1 AND token_hash <> ?2", params![id, kept])?;
    }
    Ok(changed)
}

fn begin_session(write: &Connection, new: &SessionRow, password_hash: &str) -> Result<bool> {
    let SessionRow { token_hash, person, created_at, seen_at, expires_at } = new;
    let sql = "INSERT INTO sessions (token_hash, person, created_at, seen_at, expires_at)
               SELECT ?1, p.person, ?3, ?4, ?5 FROM people p
               WHERE p.person = ?2 AND p.password_hash = ?6 AND p.disabled_at IS NULL";
    let params = params![token_hash, person, created_at.micros(), seen_at.micros(), expires_at.micros(), password_hash];
    let begun = run(write, sql, params)? == 1;
    if begun {
        see(write, token_hash, *seen_at)?;
    }
    Ok(begun)
}

/// Records when the person of a session was last active.
fn see(write: &Connection, token_hash: &[u8], at: Time) -> Result<()> {
    let sql = "UPDATE people SET last_seen_at = ?2
               WHERE person = (SELECT person FROM sessions WHERE token_hash = ?1)
               AND (last_seen_at IS NULL OR last_seen_at < ?2)";
    run(write, sql, params![token_hash, at.micros()]).map(drop)
}

fn touch_session(write: &Connection, token_hash: &[u8], seen_at: Time, expires_at: Time) -> Result<()> {
    let sql = "UPDATE sessions SET seen_at = max(seen_at, ?2), expires_at = max(expires_at, ?3) WHERE token_hash = ?1";
    run(write, sql, params![token_hash, seen_at.micros(), expires_at.micros()])?;
    see(write, token_hash, seen_at)
}

fn keep_guesses(write: &Connection, before: Option<&FailedSignIns>, now: &FailedSignIns) -> Result<bool> {
    let FailedSignIns { subject, failures, wait_until, expires_at } = now;
    let (wait_until, expires_at) = (wait_until.micros(), expires_at.micros());
    let kept = match before {
        None => {
            let sql = "INSERT INTO guesses (subject, failures, wait_until, expires_at) VALUES (?1, ?2, ?3, ?4)
                       ON CONFLICT DO NOTHING";
            run(write, sql, params![subject, failures, wait_until, expires_at])?
        }
        Some(before) => {
            let sql = "UPDATE guesses SET failures = ?2, wait_until = ?3, expires_at = ?4
                       WHERE subject = ?1 AND failures = ?5 AND wait_until = ?6 AND expires_at = ?7";
            let (was_waiting, expired) = (before.wait_until.micros(), before.expires_at.micros());
            run(write, sql, params![subject, failures, wait_until, expires_at, before.failures, was_waiting, expired])?
        }
    };
    Ok(kept == 1)
}

fn expire(write: &Connection, now: Time, limit: usize) -> Result<u64> {
    let mut removed = 0;
    for (table, key) in [("sessions", "token_hash"), ("invitations", "token_hash"), ("guesses", "subject")] {
        let sql = format!(
            "DELETE FROM {table} WHERE {key} IN
             (SELECT {key} FROM {table} WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)"
        );
        removed += run(write, &sql, params![now.micros(), count(limit)])?;
    }
    Ok(removed)
}

#[async_trait]
impl People for Sqlite {
    async fn create_person(&self, person: &PersonRow, audit: Audited<'_>) -> Result<bool> {
        let person = person.clone();
        self.write_audited(audit, |made| *made, move |write| insert(write, &person)).await
    }

    async fn people(&self, org: OrgId) -> Result<Vec<PersonRow>> {
        let sql = format!("SELECT {PERSON} FROM people p WHERE p.org = ?1 ORDER BY p.created_at, p.person");
        self.read(move |connection| all(connection, &sql, [org], person)).await
    }

    async fn person(&self, org: OrgId, id: &str) -> Result<Option<PersonRow>> {
        let sql = format!("SELECT {PERSON} FROM people p WHERE p.org = ?1 AND p.person = ?2");
        let id = id.to_owned();
        self.read(move |connection| one(connection, &sql, params![org, id], person)).await
    }

    async fn person_by_email(&self, email_key: &str) -> Result<Option<PersonRow>> {
        let sql = format!("SELECT {PERSON} FROM people p WHERE p.email_key = ?1");
        let email_key = email_key.to_owned();
        self.read(move |connection| one(connection, &sql, [email_key], person)).await
    }

    async fn change_person(
        &self,
        org: OrgId,
        person: &str,
        wanted: &PersonChange,
        must_remain: &str,
        audit: Audited<'_>,
    ) -> Result<Changed> {
        let (person, wanted, must_remain) = (person.to_owned(), wanted.clone(), must_remain.to_owned());
        let change = move |write: &Connection| change(write, org, &person, &wanted, &must_remain);
        self.write_audited(audit, |changed| *changed == Changed::Yes, change).await
    }

    async fn change_password(
        &self,
        person: &str,
        old: &str,
        new: &str,
        kept: &[u8],
        audit: Audited<'_>,
    ) -> Result<bool> {
        let (person, old, new, kept) = (person.to_owned(), old.to_owned(), new.to_owned(), kept.to_owned());
        let change = move |write: &Connection| change_password(write, &person, &old, &new, &kept);
        self.write_audited(audit, |changed| *changed, change).await
    }

    async fn invite(&self, new: &InvitationRow, audit: Audited<'_>) -> Result<()> {
        let InvitationRow { token_hash, org, role, created_by, created_at, expires_at } = new.clone();
        let sql = format!("INSERT INTO invitations ({INVITATION}) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
        let (created_at, expires_at) = (created_at.micros(), expires_at.micros());
        let invite = move |write: &Connection| {
            run(write, &sql, params![token_hash, org, role, created_by, created_at, expires_at]).map(drop)
        };
        self.write_audited(audit, |()| true, invite).await
    }

    async fn invitation(&self, token_hash: &[u8], now: Time) -> Result<Option<InvitationRow>> {
        let sql = format!("SELECT {INVITATION} FROM invitations WHERE token_hash = ?1 AND expires_at > ?2");
        let token_hash = token_hash.to_owned();
        self.read(move |connection| one(connection, &sql, params![token_hash, now.micros()], invitation)).await
    }

    async fn invitations(&self, org: OrgId, now: Time) -> Result<Vec<InvitationRow>> {
        let sql = format!(
            "SELECT {INVITATION} FROM invitations WHERE org = ?1 AND expires_at > ?2 ORDER BY created_at, token_hash"
        );
        self.read(move |connection| all(connection, &sql, params![org, now.micros()], invitation)).await
    }

    async fn withdraw(&self, org: OrgId, token_hash: &[u8], audit: Audited<'_>) -> Result<bool> {
        let token_hash = token_hash.to_owned();
        let sql = "DELETE FROM invitations WHERE org = ?1 AND token_hash = ?2";
        let withdraw = move |write: &Connection| Ok(run(write, sql, params![org, token_hash])? == 1);
        self.write_audited(audit, |withdrawn| *withdrawn, withdraw).await
    }

    async fn accept(&self, token_hash: &[u8], now: Time, person: &PersonRow, audit: Audited<'_>) -> Result<Accepted> {
        let (token_hash, person) = (token_hash.to_owned(), person.clone());
        let accept = move |write: &Connection| accept(write, &token_hash, now, &person);
        self.write_audited(audit, |accepted| *accepted == Accepted::Yes, accept).await
    }

    async fn begin_session(&self, session: &SessionRow, password_hash: &str, audit: Audited<'_>) -> Result<bool> {
        let (session, password_hash) = (session.clone(), password_hash.to_owned());
        let begin = move |write: &Connection| begin_session(write, &session, &password_hash);
        self.write_audited(audit, |begun| *begun, begin).await
    }

    async fn session(&self, token_hash: &[u8], now: Time) -> Result<Option<(SessionRow, PersonRow)>> {
        let sql = format!(
            "SELECT {PERSON}, s.token_hash, s.created_at, s.seen_at, s.expires_at
             FROM sessions s JOIN people p ON p.person = s.person
             WHERE s.token_hash = ?1 AND s.expires_at > ?2 AND p.disabled_at IS NULL"
        );
        let token_hash = token_hash.to_owned();
        self.read(move |connection| one(connection, &sql, params![token_hash, now.micros()], session_with_person)).await
    }

    async fn touch_session(&self, token_hash: &[u8], seen_at: Time, expires_at: Time) -> Result<()> {
        let token_hash = token_hash.to_owned();
        self.write(move |connection| whole(connection, |write| touch_session(write, &token_hash, seen_at, expires_at)))
            .await
    }

    async fn end_session(&self, token_hash: &[u8], audit: Audited<'_>) -> Result<bool> {
        let token_hash = token_hash.to_owned();
        let sql = "DELETE FROM sessions WHERE token_hash = ?1";
        let end = move |write: &Connection| Ok(run(write, sql, params![token_hash])? == 1);
        self.write_audited(audit, |ended| *ended, end).await
    }

    async fn end_sessions(&self, org: OrgId, person: &str, audit: Audited<'_>) -> Result<u64> {
        let person = person.to_owned();
        let sql = "DELETE FROM sessions WHERE person IN (SELECT person FROM people WHERE org = ?1 AND person = ?2)";
        self.write_audited(audit, |ended| *ended > 0, move |write| run(write, sql, params![org, person])).await
    }

    async fn guesses(&self, subject: &[u8]) -> Result<Option<FailedSignIns>> {
        let sql = "SELECT subject, failures, wait_until, expires_at FROM guesses WHERE subject = ?1";
        let subject = subject.to_owned();
        self.read(move |connection| one(connection, sql, [subject], guess)).await
    }

    async fn keep_guesses(&self, before: Option<&FailedSignIns>, now: &FailedSignIns) -> Result<bool> {
        let (before, now) = (before.cloned(), now.clone());
        self.write(move |connection| keep_guesses(connection, before.as_ref(), &now)).await
    }

    async fn forget_guesses(&self, subject: &[u8]) -> Result<()> {
        let subject = subject.to_owned();
        let sql = "DELETE FROM guesses WHERE subject = ?1";
        self.write(move |connection| run(connection, sql, params![subject]).map(drop)).await
    }

    async fn expire_people(&self, now: Time, limit: usize) -> Result<u64> {
        self.write(move |connection| whole(connection, |write| expire(write, now, limit))).await
    }
}
