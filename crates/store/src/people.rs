//! Console users: people, sessions, invitations and failed sign-ins.
//!
//! ```text
//! invitation ── accepted once ─► person ── signs in ─► session ── used ─► expired, or ended
//!                                            │
//!                                            └─ fails ─► guesses: by e-mail address, by network
//! ```
//!
//! The store gets only hashes of tokens and passwords. It does not know what a role may do, how long a session lasts or
//! when sign-ins are throttled, and leaves to a [`PeopleRule`] which changes of people are allowed. It does ensure that
//! an invitation is accepted once, that an address belongs to one person, and that no person of the organization
//! changes between the rule's decision and the change.

use crate::dialect::{Dialect, Statement, Transacted, sql};
use crate::records::OrgId;
use crate::rows::Cells;
use crate::{Audited, Result};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// A console user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonRow {
    /// The organization.
    pub org: OrgId,
    /// The id, unique among all organizations.
    pub person: String,
    /// The person's name.
    pub name: String,
    /// The person's e-mail address, as entered.
    pub email: String,
    /// The address in the form used for comparison, unique among all organizations.
    pub email_key: String,
    /// The hash of the person's password.
    pub password_hash: String,
    /// The person's role.
    pub role: String,
    /// When the person was created.
    pub created_at: Time,
    /// When the person was last active, approximately.
    pub last_seen_at: Option<Time>,
    /// When the person was deactivated.
    pub disabled_at: Option<Time>,
}

/// A sign-in of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The hash of its token.
    pub token_hash: Vec<u8>,
    /// The person.
    pub person: String,
    /// When the person signed in.
    pub created_at: Time,
    /// When it was last used, approximately.
    pub seen_at: Time,
    /// When it expires.
    pub expires_at: Time,
}

/// A link through which a new person joins an organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvitationRow {
    /// The hash of its token.
    pub token_hash: Vec<u8>,
    /// The organization.
    pub org: OrgId,
    /// The role of the new person.
    pub role: String,
    /// The person who created it.
    pub created_by: String,
    /// When it was created.
    pub created_at: Time,
    /// When it expires.
    pub expires_at: Time,
}

/// Failed sign-ins, counted for throttling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedSignIns {
    /// A hash of the e-mail address that was tried, or of the network it was tried from.
    pub subject: Vec<u8>,
    /// How many failed.
    pub failures: i64,
    /// Further attempts are rejected until this moment.
    pub wait_until: Time,
    /// When the count expires.
    pub expires_at: Time,
}

/// The result of accepting an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// A new person was created.
    Yes,
    /// The invitation does not exist any more.
    NoInvitation,
    /// The address belongs to another person. The invitation stays.
    EmailTaken,
}

/// A change to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonChange {
    /// Another role.
    Role(String),
    /// The person is deactivated as of this moment; their sessions end. A person who is already deactivated keeps the
    /// earlier moment.
    Disabled(Time),
    /// The person is active again.
    Enabled,
}

impl PersonChange {
    fn apply(&self, person: &mut PersonRow) {
        match self {
            PersonChange::Role(role) => person.role.clone_from(role),
            PersonChange::Disabled(at) => person.disabled_at = person.disabled_at.or(Some(*at)),
            PersonChange::Enabled => person.disabled_at = None,
        }
    }
}

/// Whether a change is allowed: the people of the organization before it, and after it.
pub type PeopleRule = fn(&[PersonRow], &[PersonRow]) -> bool;

/// The result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It was made, or was in effect already.
    Yes,
    /// The person does not exist.
    NotFound,
    /// The rule does not allow it.
    Refused,
}

/// Console users of a database.
#[async_trait]
pub trait People: std::fmt::Debug + Send + Sync {
    /// Creates a person; false if the address belongs to another person.
    async fn create_person(&self, person: &PersonRow, audit: Audited<'_>) -> Result<bool>;

    /// An organization's people, by time of creation.
    async fn people(&self, org: OrgId) -> Result<Vec<PersonRow>>;

    /// A person of an organization.
    async fn person(&self, org: OrgId, person: &str) -> Result<Option<PersonRow>>;

    /// The person with an address, given in the form used for comparison.
    async fn person_by_email(&self, email_key: &str) -> Result<Option<PersonRow>>;

    /// Changes a person, unless the rule does not allow it. Until the change is made, no other call changes people of
    /// the organization.
    async fn change_person(
        &self,
        org: OrgId,
        person: &str,
        change: &PersonChange,
        rule: PeopleRule,
        audit: Audited<'_>,
    ) -> Result<Changed>;

    /// Gives a person a new password, unless the current one is no longer `old`, and ends their sessions except `kept`.
    /// Returns whether it was changed.
    async fn change_password(
        &self,
        person: &str,
        old: &str,
        new: &str,
        kept: &[u8],
        audit: Audited<'_>,
    ) -> Result<bool>;

    /// Creates an invitation.
    async fn invite(&self, invitation: &InvitationRow, audit: Audited<'_>) -> Result<()>;

    /// An invitation, unless it expired by `now`.
    async fn invitation(&self, token_hash: &[u8], now: Time) -> Result<Option<InvitationRow>>;

    /// The invitations of an organization that did not expire by `now`, by time of creation.
    async fn invitations(&self, org: OrgId, now: Time) -> Result<Vec<InvitationRow>>;

    /// Withdraws an invitation of an organization; false if it does not exist.
    async fn withdraw(&self, org: OrgId, token_hash: &[u8], audit: Audited<'_>) -> Result<bool>;

    /// Creates a person from an invitation and removes the invitation, in one transaction.
    async fn accept(&self, token_hash: &[u8], now: Time, person: &PersonRow, audit: Audited<'_>) -> Result<Accepted>;

    /// Begins a session, unless the person is deactivated or their password is no longer the one that was checked.
    /// Returns whether it began.
    async fn begin_session(&self, session: &SessionRow, password_hash: &str, audit: Audited<'_>) -> Result<bool>;

    /// A session and its person, unless it expired by `now` or the person is deactivated.
    async fn session(&self, token_hash: &[u8], now: Time) -> Result<Option<(SessionRow, PersonRow)>>;

    /// Records that a session was used, and its new expiry. Never moves a time back.
    async fn touch_session(&self, token_hash: &[u8], seen_at: Time, expires_at: Time) -> Result<()>;

    /// Ends a session; false if it does not exist.
    async fn end_session(&self, token_hash: &[u8], audit: Audited<'_>) -> Result<bool>;

    /// Ends all sessions of a person; returns how many.
    async fn end_sessions(&self, org: OrgId, person: &str, audit: Audited<'_>) -> Result<u64>;

    /// The failed sign-ins of a subject.
    async fn guesses(&self, subject: &[u8]) -> Result<Option<FailedSignIns>>;

    /// Stores a count of failed sign-ins, unless it has changed since it was read. Returns whether it was stored.
    async fn keep_guesses(&self, before: Option<&FailedSignIns>, now: &FailedSignIns) -> Result<bool>;

    /// Deletes the count of failed sign-ins of a subject.
    async fn forget_guesses(&self, subject: &[u8]) -> Result<()>;

    /// Removes sessions, invitations and counts of failed sign-ins that expired by `now`, at most `limit` of each;
    /// returns how many.
    async fn expire_people(&self, now: Time, limit: usize) -> Result<u64>;
}

const PERSON: &str = "p.org, p.person, p.name, p.email, p.email_key, p.password_hash, p.role, p.created_at, \
    p.last_seen_at, p.disabled_at";

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

const INVITATION: &str = "token_hash, org, role, created_by, created_at, expires_at";

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

fn failed_sign_ins(cells: &mut Cells<'_>) -> Result<FailedSignIns> {
    Ok(FailedSignIns {
        subject: cells.next()?,
        failures: cells.next()?,
        wait_until: cells.time()?,
        expires_at: cells.time()?,
    })
}

/// Creates a person, unless the address belongs to another one.
fn insert(new: &PersonRow) -> Statement {
    let PersonRow { org, person, name, email, email_key, password_hash, role, .. } = new;
    let (created_at, last_seen_at, disabled_at) = (new.created_at, new.last_seen_at, new.disabled_at);
    let text = "INSERT INTO people (org, person, name, email, email_key, password_hash, role, created_at, last_seen_at,
                    disabled_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (email_key) DO NOTHING";
    sql!(text, *org, person, name, email, email_key, password_hash, role, created_at, last_seen_at, disabled_at)
        .must_change()
}

/// A change of one of an organization's people, and its statements.
fn change(people: Vec<PersonRow>, id: &str, change: &PersonChange, rule: PeopleRule) -> (Changed, Vec<Statement>) {
    let mut after = people.clone();
    let Some(person) = after.iter_mut().find(|person| person.person == id) else {
        return (Changed::NotFound, Vec::new());
    };
    change.apply(person);
    let update = "UPDATE people SET role = $2, disabled_at = $3 WHERE person = $1";
    let mut writes = vec![sql!(update, id, &person.role, person.disabled_at)];
    if person.disabled_at.is_some() {
        writes.push(sql!("DELETE FROM sessions WHERE person = $1", id));
    }
    if !rule(&people, &after) {
        return (Changed::Refused, Vec::new());
    }
    (Changed::Yes, writes)
}

#[async_trait]
impl<D: Dialect> People for D {
    async fn create_person(&self, person: &PersonRow, audit: Audited<'_>) -> Result<bool> {
        Ok(self.transact(vec![insert(person)], audit).await?.is_done())
    }

    async fn people(&self, org: OrgId) -> Result<Vec<PersonRow>> {
        let text = format!("SELECT {PERSON} FROM people p WHERE p.org = $1 ORDER BY p.created_at, p.person");
        self.all(sql!(text, org), person).await
    }

    async fn person(&self, org: OrgId, id: &str) -> Result<Option<PersonRow>> {
        let text = format!("SELECT {PERSON} FROM people p WHERE p.org = $1 AND p.person = $2");
        self.one(sql!(text, org, id), person).await
    }

    async fn person_by_email(&self, email_key: &str) -> Result<Option<PersonRow>> {
        let text = format!("SELECT {PERSON} FROM people p WHERE p.email_key = $1");
        self.one(sql!(text, email_key), person).await
    }

    async fn change_person(
        &self,
        org: OrgId,
        id: &str,
        wanted: &PersonChange,
        rule: PeopleRule,
        audit: Audited<'_>,
    ) -> Result<Changed> {
        // In the order of their ids, so that two callers lock them in the same order.
        let text = format!("SELECT {PERSON} FROM people p WHERE p.org = $1 ORDER BY p.person");
        let (id, wanted) = (id.to_owned(), wanted.clone());
        self.decide(sql!(text, org), person, move |people| change(people, &id, &wanted, rule), audit).await
    }

    async fn change_password(
        &self,
        person: &str,
        old: &str,
        new: &str,
        kept: &[u8],
        audit: Audited<'_>,
    ) -> Result<bool> {
        let set = "UPDATE people SET password_hash = $3 WHERE person = $1 AND password_hash = $2";
        let end = "DELETE FROM sessions WHERE person = $1 AND token_hash <> $2";
        let writes = vec![sql!(set, person, old, new).must_change(), sql!(end, person, kept)];
        Ok(self.transact(writes, audit).await?.is_done())
    }

    async fn invite(&self, new: &InvitationRow, audit: Audited<'_>) -> Result<()> {
        let InvitationRow { token_hash, org, role, created_by, created_at, expires_at } = new;
        let text = format!("INSERT INTO invitations ({INVITATION}) VALUES ($1, $2, $3, $4, $5, $6)");
        let write = sql!(text, token_hash, *org, role, created_by, *created_at, *expires_at);
        self.transact(vec![write], audit).await.map(drop)
    }

    async fn invitation(&self, token_hash: &[u8], now: Time) -> Result<Option<InvitationRow>> {
        let text = format!("SELECT {INVITATION} FROM invitations WHERE token_hash = $1 AND expires_at > $2");
        self.one(sql!(text, token_hash, now), invitation).await
    }

    async fn invitations(&self, org: OrgId, now: Time) -> Result<Vec<InvitationRow>> {
        let text = format!(
            "SELECT {INVITATION} FROM invitations WHERE org = $1 AND expires_at > $2 ORDER BY created_at, token_hash"
        );
        self.all(sql!(text, org, now), invitation).await
    }

    async fn withdraw(&self, org: OrgId, token_hash: &[u8], audit: Audited<'_>) -> Result<bool> {
        let write = sql!("DELETE FROM invitations WHERE org = $1 AND token_hash = $2", org, token_hash);
        Ok(self.transact(vec![write.must_change()], audit).await?.is_done())
    }

    /// Of two callers, the second one waits for the lock of the invitation, and then finds no row.
    async fn accept(&self, token_hash: &[u8], now: Time, person: &PersonRow, audit: Audited<'_>) -> Result<Accepted> {
        let take = sql!("DELETE FROM invitations WHERE token_hash = $1 AND expires_at > $2", token_hash, now);
        Ok(match self.transact(vec![take.must_change(), insert(person)], audit).await? {
            Transacted::Done(_) => Accepted::Yes,
            Transacted::Stopped(0) => Accepted::NoInvitation,
            Transacted::Stopped(_) => Accepted::EmailTaken,
        })
    }

    /// The person's row is locked first, so that it does not change before the session exists.
    async fn begin_session(&self, new: &SessionRow, password_hash: &str, audit: Audited<'_>) -> Result<bool> {
        let SessionRow { token_hash, person, created_at, seen_at, expires_at } = new;
        let see = "UPDATE people SET last_seen_at = CASE WHEN last_seen_at > $2 THEN last_seen_at ELSE $2 END
                   WHERE person = $1 AND password_hash = $3 AND disabled_at IS NULL";
        let begin = "INSERT INTO sessions (token_hash, person, created_at, seen_at, expires_at)
                     VALUES ($1, $2, $3, $4, $5)";
        let writes = vec![
            sql!(see, person, *seen_at, password_hash).must_change(),
            sql!(begin, token_hash, person, *created_at, *seen_at, *expires_at),
        ];
        Ok(self.transact(writes, audit).await?.is_done())
    }

    async fn session(&self, token_hash: &[u8], now: Time) -> Result<Option<(SessionRow, PersonRow)>> {
        let text = format!(
            "SELECT {PERSON}, s.token_hash, s.created_at, s.seen_at, s.expires_at
             FROM sessions s JOIN people p ON p.person = s.person
             WHERE s.token_hash = $1 AND s.expires_at > $2 AND p.disabled_at IS NULL"
        );
        self.one(sql!(text, token_hash, now), session_with_person).await
    }

    /// The person before the session, like all that lock both.
    async fn touch_session(&self, token_hash: &[u8], seen_at: Time, expires_at: Time) -> Result<()> {
        let see = "UPDATE people SET last_seen_at = $2
                   WHERE person = (SELECT person FROM sessions WHERE token_hash = $1)
                     AND (last_seen_at IS NULL OR last_seen_at < $2)";
        let touch = "UPDATE sessions SET seen_at = CASE WHEN seen_at > $2 THEN seen_at ELSE $2 END,
                         expires_at = CASE WHEN expires_at > $3 THEN expires_at ELSE $3 END
                     WHERE token_hash = $1";
        let writes = vec![sql!(see, token_hash, seen_at), sql!(touch, token_hash, seen_at, expires_at)];
        self.transact(writes, None).await.map(drop)
    }

    async fn end_session(&self, token_hash: &[u8], audit: Audited<'_>) -> Result<bool> {
        let write = sql!("DELETE FROM sessions WHERE token_hash = $1", token_hash);
        Ok(self.transact(vec![write.must_change()], audit).await?.is_done())
    }

    async fn end_sessions(&self, org: OrgId, person: &str, audit: Audited<'_>) -> Result<u64> {
        let text = "DELETE FROM sessions WHERE person = (SELECT person FROM people WHERE org = $1 AND person = $2)";
        Ok(match self.transact(vec![sql!(text, org, person).must_change()], audit).await? {
            Transacted::Done(ended) => ended,
            Transacted::Stopped(_) => 0,
        })
    }

    async fn guesses(&self, subject: &[u8]) -> Result<Option<FailedSignIns>> {
        let text = "SELECT subject, failures, wait_until, expires_at FROM guesses WHERE subject = $1";
        self.one(sql!(text, subject), failed_sign_ins).await
    }

    async fn keep_guesses(&self, before: Option<&FailedSignIns>, now: &FailedSignIns) -> Result<bool> {
        let FailedSignIns { subject, failures, wait_until, expires_at } = now;
        let first = "INSERT INTO guesses (subject, failures, wait_until, expires_at) VALUES ($1, $2, $3, $4)
                     ON CONFLICT DO NOTHING";
        let next = "UPDATE guesses SET failures = $2, wait_until = $3, expires_at = $4
                    WHERE subject = $1 AND failures = $5 AND wait_until = $6 AND expires_at = $7";
        let write = match before {
            None => sql!(first, subject, *failures, *wait_until, *expires_at),
            Some(FailedSignIns { failures: was, wait_until: waited, expires_at: expired, .. }) => {
                sql!(next, subject, *failures, *wait_until, *expires_at, *was, *waited, *expired)
            }
        };
        Ok(self.execute(write).await? == 1)
    }

    async fn forget_guesses(&self, subject: &[u8]) -> Result<()> {
        self.execute(sql!("DELETE FROM guesses WHERE subject = $1", subject)).await.map(drop)
    }

    async fn expire_people(&self, now: Time, limit: usize) -> Result<u64> {
        let mut removed = 0;
        for (table, key) in [("sessions", "token_hash"), ("invitations", "token_hash"), ("guesses", "subject")] {
            let text = format!(
                "WITH expired AS MATERIALIZED (
                     SELECT {key} FROM {table} WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2{})
                 DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM expired)",
                D::SKIP_LOCKED
            );
            removed += self.execute(sql!(text, now, limit)).await?;
        }
        Ok(removed)
    }
}
