//! People who use the console: who they are, how they are known again, how they come in, how often they guessed.
//!
//! ```text
//! invitation ── accepted once ─► person ── signs in ─► session ── seen, seen, … ─► expired, or ended
//!                                            │
//!                                            └─ was wrong ─► guesses: about an address, from a place
//! ```
//!
//! Of tokens and passwords only hashes come here. The store does not know what a role may do, how long a session lasts or
//! when guessing is slowed; it keeps what it is told, and sees to it that an invitation is accepted once, that an address
//! belongs to one person, and that a role which must not die out does not.

use crate::records::OrgId;
use crate::{Audited, Result};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// Somebody who uses the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonRow {
    /// Of which organization.
    pub org: OrgId,
    /// The id, unique among all organizations.
    pub person: String,
    /// What they are called.
    pub name: String,
    /// Their e-mail address, as they wrote it.
    pub email: String,
    /// The address as it is compared, unique among all organizations.
    pub email_key: String,
    /// The hash of their password.
    pub password_hash: String,
    /// What they may do.
    pub role: String,
    /// When they came.
    pub created_at: Time,
    /// When they were last seen, about.
    pub last_seen_at: Option<Time>,
    /// Since when they may not come in any more.
    pub disabled_at: Option<Time>,
}

/// A person who is signed in, somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The hash of its token.
    pub token_hash: Vec<u8>,
    /// Whose.
    pub person: String,
    /// When they signed in.
    pub created_at: Time,
    /// When it was last used, about.
    pub seen_at: Time,
    /// When it ends by itself.
    pub expires_at: Time,
}

/// A link by which somebody becomes a person of an organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvitationRow {
    /// The hash of its token.
    pub token_hash: Vec<u8>,
    /// Into which organization.
    pub org: OrgId,
    /// What they may do then.
    pub role: String,
    /// By whom.
    pub created_by: String,
    /// When it was made.
    pub created_at: Time,
    /// When it ends by itself.
    pub expires_at: Time,
}

/// How often somebody was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuessRow {
    /// About what, or from where.
    pub subject: Vec<u8>,
    /// How often.
    pub failures: i64,
    /// Until when nothing more is tried.
    pub wait_until: Time,
    /// When it is forgotten.
    pub expires_at: Time,
}

/// What became of an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// There is a new person.
    Yes,
    /// There is no such invitation any more.
    NoInvitation,
    /// The address belongs to somebody. The invitation stays.
    EmailTaken,
}

/// What changes about a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonChange {
    /// Another role.
    Role(String),
    /// They may not come in any more, since then; their sessions end. Somebody who may not already keeps the moment.
    Disabled(Time),
    /// They may come in again.
    Enabled,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It was made, or was so already.
    Yes,
    /// There is no such person.
    NotFound,
    /// Nobody active would be left with the role that must not die out.
    LastOne,
}

/// What the store keeps about people.
#[async_trait]
pub trait People: std::fmt::Debug + Send + Sync {
    /// Makes a person; false if the address belongs to somebody.
    async fn create_person(&self, person: &PersonRow, audit: Audited<'_>) -> Result<bool>;

    /// An organization's people, by time of coming.
    async fn people(&self, org: OrgId) -> Result<Vec<PersonRow>>;

    /// A person of an organization.
    async fn person(&self, org: OrgId, person: &str) -> Result<Option<PersonRow>>;

    /// The person with an address, given as it is compared.
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

    /// Gives a person another password, unless theirs is no longer `old`, and ends their sessions but `kept`. Gives
    /// whether it was done.
    async fn change_password(
        &self,
        person: &str,
        old: &str,
        new: &str,
        kept: &[u8],
        audit: Audited<'_>,
    ) -> Result<bool>;

    /// Makes an invitation.
    async fn invite(&self, invitation: &InvitationRow, audit: Audited<'_>) -> Result<()>;

    /// An invitation, unless it expired by `now`.
    async fn invitation(&self, token_hash: &[u8], now: Time) -> Result<Option<InvitationRow>>;

    /// The invitations of an organization that did not expire by `now`, by time of making.
    async fn invitations(&self, org: OrgId, now: Time) -> Result<Vec<InvitationRow>>;

    /// Takes an invitation of an organization back; false if there is none.
    async fn withdraw(&self, org: OrgId, token_hash: &[u8], audit: Audited<'_>) -> Result<bool>;

    /// Makes a person by an invitation, which is gone then: both or neither.
    async fn accept(&self, token_hash: &[u8], now: Time, person: &PersonRow, audit: Audited<'_>) -> Result<Accepted>;

    /// Begins a session, unless the person may not come in or has a password other than the one that was checked. Gives
    /// whether it was done.
    async fn begin_session(&self, session: &SessionRow, password_hash: &str, audit: Audited<'_>) -> Result<bool>;

    /// A session and its person, unless it expired by `now` or the person may not come in.
    async fn session(&self, token_hash: &[u8], now: Time) -> Result<Option<(SessionRow, PersonRow)>>;

    /// Notes that a session was used, and when it ends now. Never moves a time back.
    async fn touch_session(&self, token_hash: &[u8], seen_at: Time, expires_at: Time) -> Result<()>;

    /// Ends a session; false if there is none.
    async fn end_session(&self, token_hash: &[u8], audit: Audited<'_>) -> Result<bool>;

    /// Ends all sessions of a person; gives how many.
    async fn end_sessions(&self, org: OrgId, person: &str, audit: Audited<'_>) -> Result<u64>;

    /// How often somebody was wrong.
    async fn guesses(&self, subject: &[u8]) -> Result<Option<GuessRow>>;

    /// Keeps how often somebody was wrong, unless it is no longer as it was read. Gives whether it was done.
    async fn keep_guesses(&self, before: Option<&GuessRow>, now: &GuessRow) -> Result<bool>;

    /// Forgets how often somebody was wrong.
    async fn forget_guesses(&self, subject: &[u8]) -> Result<()>;

    /// Removes sessions, invitations and guesses that expired by `now`, at most `limit` of each; gives how many.
    async fn expire_people(&self, now: Time, limit: usize) -> Result<u64>;
}
