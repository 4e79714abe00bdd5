//! Console users: people, sessions, invitations and failed sign-ins.
//!
//! ```text
//! invitation ── accepted once ─► person ── signs in ─► session ── used ─► expired, or ended
//!                                            │
//!                                            └─ fails ─► guesses: by e-mail address, by network
//! ```
//!
//! The store gets only hashes of tokens and passwords. It does not know what a role may do, how long a session lasts or
//! when sign-ins are throttled. It does ensure that an invitation is accepted once, that an address belongs to one
//! person, and that the last active person with a required role keeps it.

use crate::records::OrgId;
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

/// The result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It was made, or was in effect already.
    Yes,
    /// The person does not exist.
    NotFound,
    /// No active person would be left with the required role.
    LastOne,
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

    /// Changes a person, unless the last active one with the role `must_remain` would lose it.
    async fn change_person(
        &self,
        org: OrgId,
        person: &str,
        change: &PersonChange,
        must_remain: &str,
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
