//! Console users.
//!
//! Most calls are one statement. If a decision depends on several rows, they are locked first, always in the order of
//! their ids: of two callers who remove the last two administrators at once, the second one finds that only one is
//! left.

use super::Postgres;
use super::arrays::micros;
use super::audit;
use super::cells::{Cells, each, maybe};
use super::flight::{Frame, Param, Query, Transaction};
use super::retry::{Tries, Try};
use super::server::Server;
use crate::people::{Accepted, Changed, FailedSignIns, InvitationRow, People, PersonChange, PersonRow, SessionRow};
use crate::records::OrgId;
use crate::{Audited, Result};
use async_trait::async_trait;
use daybook_engine::time::Time;

const BEGIN: Frame = Frame { begin: Some("BEGIN"), commit: false };
const COMMIT: Frame = Frame { begin: None, commit: true };

const PERSON: &str = "p.org, p.person, p.name, p.email, p.email_key, p.password_hash, p.role, p.created_at, \
    p.last_seen_at, p.disabled_at";
const INVITATION: &str = "token_hash, org, role, created_by, created_at, expires_at";

const INSERT: &str = "
    INSERT INTO people (org, person, name, email, email_key, password_hash, role, created_at, last_seen_at, disabled_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (email_key) DO NOTHING RETURNING person";

/// A second caller waits for the lock, and then finds no row.
const TAKE_INVITATION: &str = "
    DELETE FROM invitations WHERE token_hash = $1 AND expires_at > $2 RETURNING token_hash";

const LOCK_PEOPLE: &str = "SELECT person, role, disabled_at FROM people WHERE org = $1 ORDER BY person FOR UPDATE";

const SET_ROLE: &str = "UPDATE people SET role = $2 WHERE person = $1";
const DISABLE: &str = "UPDATE people SET disabled_at = COALESCE(disabled_at, $2) WHERE person = $1";
const ENABLE: &str = "UPDATE people SET disabled_at = NULL WHERE person = $1";
const END_ALL: &str = "DELETE FROM sessions WHERE person = $1";

const SET_PASSWORD: &str = "
    UPDATE people SET password_hash = $3 WHERE person = $1 AND password_hash = $2 RETURNING person";
const END_OTHERS: &str = "DELETE FROM sessions WHERE person = $1 AND token_hash <> $2";

/// Also updates the person's row, so that it cannot change between the check and the insert.
const BEGIN_SESSION: &str = "
    WITH seen AS (
        UPDATE people SET last_seen_at = GREATEST(COALESCE(last_seen_at, $4), $4)
        WHERE person = $2 AND password_hash = $6 AND disabled_at IS NULL RETURNING person)
    INSERT INTO sessions (token_hash, person, created_at, seen_at, expires_at)
    SELECT $1, person, $3, $4, $5 FROM seen RETURNING person";

const TOUCH: &str = "
    WITH touched AS (
        UPDATE sessions SET seen_at = GREATEST(seen_at, $2), expires_at = GREATEST(expires_at, $3)
        WHERE token_hash = $1 RETURNING person)
    UPDATE people p SET last_seen_at = $2 FROM touched t
    WHERE p.person = t.person AND (p.last_seen_at IS NULL OR p.last_seen_at < $2)";

const FIRST_GUESS: &str = "
    INSERT INTO guesses (subject, failures, wait_until, expires_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
const NEXT_GUESS: &str = "
    UPDATE guesses SET failures = $2, wait_until = $3, expires_at = $4
    WHERE subject = $1 AND failures = $5 AND wait_until = $6 AND expires_at = $7";

fn person(cells: &mut Cells<'_>) -> Result<PersonRow> {
    Ok(PersonRow {
        org: cells.next()?,
        person: cells.next()?,
        name: cells.next()?,
        email: cells.next()?,
        email_key: cells.next()?,
        password_hash: cells.next()?,
        role: cells.next()?,
        created_at: cells.time()?,
        last_seen_at: cells.time_or_none()?,
        disabled_at: cells.time_or_none()?,
    })
}

fn session_with_person(cells: &mut Cells<'_>) -> Result<(SessionRow, PersonRow)> {
    let person = person(cells)?;
    let session = SessionRow {
        token_hash: cells.next()?,
        person: person.person.clone(),
        created_at: cells.time()?,
        seen_at: cells.time()?,
        expires_at: cells.time()?,
    };
    Ok((session, person))
}

fn invitation(cells: &mut Cells<'_>) -> Result<InvitationRow> {
    Ok(InvitationRow {
        token_hash: cells.next()?,
        org: cells.next()?,
        role: cells.next()?,
        created_by: cells.next()?,
        created_at: cells.time()?,
        expires_at: cells.time()?,
    })
}

fn guess(cells: &mut Cells<'_>) -> Result<FailedSignIns> {
    Ok(FailedSignIns {
        subject: cells.next()?,
        failures: cells.next()?,
        wait_until: cells.time()?,
        expires_at: cells.time()?,
    })
}

/// The parameters of [`INSERT`].
fn inserted(new: &PersonRow) -> Vec<Param<'_>> {
    vec![
        Box::new(new.org),
        Box::new(&*new.person),
        Box::new(&*new.name),
        Box::new(&*new.email),
        Box::new(&*new.email_key),
        Box::new(&*new.password_hash),
        Box::new(&*new.role),
        Box::new(new.created_at.micros()),
        Box::new(micros(new.last_seen_at)),
        Box::new(micros(new.disabled_at)),
    ]
}

/// Whether any step of a flight returned a row.
fn any(rows: &[Vec<tokio_postgres::Row>]) -> bool {
    rows.iter().any(|rows| !rows.is_empty())
}

async fn accept_once(
    transaction: &mut Transaction,
    token_hash: &[u8],
    now: Time,
    new: &PersonRow,
    audit: Audited<'_>,
) -> Try<Accepted> {
    let take = Query::new(TAKE_INVITATION, vec![Box::new(token_hash), Box::new(now.micros())]);
    if !any(&transaction.fly(BEGIN, &[take]).await?) {
        return Ok(Accepted::NoInvitation);
    }
    if !any(&transaction.fly(Frame::default(), &[Query::new(INSERT, inserted(new))]).await?) {
        return Ok(Accepted::EmailTaken);
    }
    transaction.fly(COMMIT, &audit::steps(audit)).await?;
    Ok(Accepted::Yes)
}

async fn change_once(
    transaction: &mut Transaction,
    org: OrgId,
    id: &str,
    change: &PersonChange,
    must_remain: &str,
    audit: Audited<'_>,
) -> Try<Changed> {
    let locked = transaction.fly(BEGIN, &[Query::new(LOCK_PEOPLE, vec![Box::new(org)])]).await?;
    let (mut found, mut has_it, mut others) = (false, false, false);
    for row in locked.iter().flatten() {
        let disabled: Option<i64> = row.try_get(2)?;
        let counts = disabled.is_none() && row.try_get::<_, &str>(1)? == must_remain;
        if row.try_get::<_, &str>(0)? == id {
            (found, has_it) = (true, counts);
        } else {
            others |= counts;
        }
    }
    if !found {
        return Ok(Changed::NotFound);
    }
    let loses_it = match change {
        PersonChange::Role(role) => role != must_remain,
        PersonChange::Disabled(_) => true,
        PersonChange::Enabled => false,
    };
    if has_it && loses_it && !others {
        return Ok(Changed::LastOne);
    }
    let mut steps = match change {
        PersonChange::Role(role) => vec![Query::new(SET_ROLE, vec![Box::new(id), Box::new(&**role)])],
        PersonChange::Disabled(at) => {
            vec![
                Query::new(DISABLE, vec![Box::new(id), Box::new(at.micros())]),
                Query::new(END_ALL, vec![Box::new(id)]),
            ]
        }
        PersonChange::Enabled => vec![Query::new(ENABLE, vec![Box::new(id)])],
    };
    steps.extend(audit::steps(audit));
    transaction.fly(COMMIT, &steps).await?;
    Ok(Changed::Yes)
}

async fn change_password_once(
    transaction: &mut Transaction,
    id: &str,
    old: &str,
    new: &str,
    kept: &[u8],
    audit: Audited<'_>,
) -> Try<bool> {
    let set = Query::new(SET_PASSWORD, vec![Box::new(id), Box::new(old), Box::new(new)]);
    if !any(&transaction.fly(BEGIN, &[set]).await?) {
        return Ok(false);
    }
    let mut steps = vec![Query::new(END_OTHERS, vec![Box::new(id), Box::new(kept)])];
    steps.extend(audit::steps(audit));
    transaction.fly(COMMIT, &steps).await?;
    Ok(true)
}

async fn expire(server: &Server, now: Time, limit: usize) -> Result<u64> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut removed = 0;
    for (table, key) in [("sessions", "token_hash"), ("invitations", "token_hash"), ("guesses", "subject")] {
        let sql = format!(
            "WITH expired AS MATERIALIZED (
                 SELECT {key} FROM {table} WHERE expires_at <= $1
                 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
             DELETE FROM {table} t USING expired e WHERE t.{key} = e.{key}"
        );
        removed += server.execute(&sql, &[&now.micros(), &limit]).await?;
    }
    Ok(removed)
}

#[async_trait]
impl People for Postgres {
    async fn create_person(&self, person: &PersonRow, audit: Audited<'_>) -> Result<bool> {
        Ok(audit::execute(&self.server, INSERT, inserted(person), audit).await? == 1)
    }

    async fn people(&self, org: OrgId) -> Result<Vec<PersonRow>> {
        let sql = format!("SELECT {PERSON} FROM people p WHERE p.org = $1 ORDER BY p.created_at, p.person");
        each(&self.server.query(&sql, &[&org]).await?, person)
    }

    async fn person(&self, org: OrgId, id: &str) -> Result<Option<PersonRow>> {
        let sql = format!("SELECT {PERSON} FROM people p WHERE p.org = $1 AND p.person = $2");
        maybe(self.server.query_opt(&sql, &[&org, &id]).await?, person)
    }

    async fn person_by_email(&self, email_key: &str) -> Result<Option<PersonRow>> {
        let sql = format!("SELECT {PERSON} FROM people p WHERE p.email_key = $1");
        maybe(self.server.query_opt(&sql, &[&email_key]).await?, person)
    }

    async fn change_person(
        &self,
        org: OrgId,
        person: &str,
        change: &PersonChange,
        must_remain: &str,
        audit: Audited<'_>,
    ) -> Result<Changed> {
        let mut tries = Tries::none();
        loop {
            let mut transaction = Transaction::on(self.server.client().await?);
            let outcome = change_once(&mut transaction, org, person, change, must_remain, audit).await;
            if let Some(done) = tries.settle(transaction, outcome).await {
                return done;
            }
        }
    }

    async fn change_password(
        &self,
        person: &str,
        old: &str,
        new: &str,
        kept: &[u8],
        audit: Audited<'_>,
    ) -> Result<bool> {
        let mut tries = Tries::none();
        loop {
            let mut transaction = Transaction::on(self.server.client().await?);
            let outcome = change_password_once(&mut transaction, person, old, new, kept, audit).await;
            if let Some(done) = tries.settle(transaction, outcome).await {
                return done;
            }
        }
    }

    async fn invite(&self, new: &InvitationRow, audit: Audited<'_>) -> Result<()> {
        let InvitationRow { token_hash, org, role, created_by, created_at, expires_at } = new;
        let sql = format!("INSERT INTO invitations ({INVITATION}) VALUES ($1, $2, $3, $4, $5, $6) RETURNING org");
        let params: Vec<Param<'_>> = vec![
            Box::new(&**token_hash),
            Box::new(org),
            Box::new(&**role),
            Box::new(&**created_by),
            Box::new(created_at.micros()),
            Box::new(expires_at.micros()),
        ];
        audit::execute(&self.server, &sql, params, audit).await.map(drop)
    }

    async fn invitation(&self, token_hash: &[u8], now: Time) -> Result<Option<InvitationRow>> {
        let sql = format!("SELECT {INVITATION} FROM invitations WHERE token_hash = $1 AND expires_at > $2");
        maybe(self.server.query_opt(&sql, &[&token_hash, &now.micros()]).await?, invitation)
    }

    async fn invitations(&self, org: OrgId, now: Time) -> Result<Vec<InvitationRow>> {
        let sql = format!(
            "SELECT {INVITATION} FROM invitations WHERE org = $1 AND expires_at > $2 ORDER BY created_at, token_hash"
        );
        each(&self.server.query(&sql, &[&org, &now.micros()]).await?, invitation)
    }

    async fn withdraw(&self, org: OrgId, token_hash: &[u8], audit: Audited<'_>) -> Result<bool> {
        let sql = "DELETE FROM invitations WHERE org = $1 AND token_hash = $2 RETURNING org";
        Ok(audit::execute(&self.server, sql, vec![Box::new(org), Box::new(token_hash)], audit).await? == 1)
    }

    async fn accept(&self, token_hash: &[u8], now: Time, person: &PersonRow, audit: Audited<'_>) -> Result<Accepted> {
        let mut tries = Tries::none();
        loop {
            let mut transaction = Transaction::on(self.server.client().await?);
            let outcome = accept_once(&mut transaction, token_hash, now, person, audit).await;
            if let Some(done) = tries.settle(transaction, outcome).await {
                return done;
            }
        }
    }

    async fn begin_session(&self, new: &SessionRow, password_hash: &str, audit: Audited<'_>) -> Result<bool> {
        let SessionRow { token_hash, person, created_at, seen_at, expires_at } = new;
        let params: Vec<Param<'_>> = vec![
            Box::new(&**token_hash),
            Box::new(&**person),
            Box::new(created_at.micros()),
            Box::new(seen_at.micros()),
            Box::new(expires_at.micros()),
            Box::new(password_hash),
        ];
        Ok(audit::execute(&self.server, BEGIN_SESSION, params, audit).await? == 1)
    }

    async fn session(&self, token_hash: &[u8], now: Time) -> Result<Option<(SessionRow, PersonRow)>> {
        let sql = format!(
            "SELECT {PERSON}, s.token_hash, s.created_at, s.seen_at, s.expires_at
             FROM sessions s JOIN people p ON p.person = s.person
             WHERE s.token_hash = $1 AND s.expires_at > $2 AND p.disabled_at IS NULL"
        );
        maybe(self.server.query_opt(&sql, &[&token_hash, &now.micros()]).await?, session_with_person)
    }

    async fn touch_session(&self, token_hash: &[u8], seen_at: Time, expires_at: Time) -> Result<()> {
        self.server.execute(TOUCH, &[&token_hash, &seen_at.micros(), &expires_at.micros()]).await.map(drop)
    }

    async fn end_session(&self, token_hash: &[u8], audit: Audited<'_>) -> Result<bool> {
        let sql = "DELETE FROM sessions WHERE token_hash = $1 RETURNING person";
        Ok(audit::execute(&self.server, sql, vec![Box::new(token_hash)], audit).await? == 1)
    }

    async fn end_sessions(&self, org: OrgId, person: &str, audit: Audited<'_>) -> Result<u64> {
        let sql = "DELETE FROM sessions s USING people p
                   WHERE p.org = $1 AND p.person = $2 AND s.person = p.person RETURNING s.person";
        audit::execute(&self.server, sql, vec![Box::new(org), Box::new(person)], audit).await
    }

    async fn guesses(&self, subject: &[u8]) -> Result<Option<FailedSignIns>> {
        let sql = "SELECT subject, failures, wait_until, expires_at FROM guesses WHERE subject = $1";
        maybe(self.server.query_opt(sql, &[&subject]).await?, guess)
    }

    async fn keep_guesses(&self, before: Option<&FailedSignIns>, now: &FailedSignIns) -> Result<bool> {
        let FailedSignIns { subject, failures, wait_until, expires_at } = now;
        let (wait_until, expires_at) = (wait_until.micros(), expires_at.micros());
        let kept = match before {
            None => self.server.execute(FIRST_GUESS, &[subject, failures, &wait_until, &expires_at]).await?,
            Some(before) => {
                let (waited, expired) = (before.wait_until.micros(), before.expires_at.micros());
                let params = [
                    subject as _,
                    failures as _,
                    &wait_until as _,
                    &expires_at as _,
                    &before.failures as _,
                    &waited as _,
                    &expired as _,
                ];
                self.server.execute(NEXT_GUESS, &params).await?
            }
        };
        Ok(kept == 1)
    }

    async fn forget_guesses(&self, subject: &[u8]) -> Result<()> {
        self.server.execute("DELETE FROM guesses WHERE subject = $1", &[&subject]).await.map(drop)
    }

    async fn expire_people(&self, now: Time, limit: usize) -> Result<u64> {
        expire(&self.server, now, limit).await
    }
}
