//! Signing in and out, and the sessions of tokens.

use super::{Session, Visit, client_id, email_key, is_address, role};
use crate::Service;
use crate::access::{Caller, PERSON_PREFIX};
use crate::audit::{Act, address_text, new_record, shortened};
use crate::boxed;
use crate::ids::mint_token;
use crate::problem::Problem;
use crate::secrets::{hash, hex};
use daybook_engine::time::Time;
use daybook_store::audit::{NO_ORGANIZATION, NewAuditRecord, Origin};
use daybook_store::people::{PersonRow, SessionRow};
use std::net::IpAddr;
use std::sync::Arc;

const HOUR_MICROS: i64 = 3_600 * 1_000_000;
/// A session ends after this long without use.
pub const IDLE_MICROS: i64 = 12 * HOUR_MICROS;
/// A session ends after this long, even if it is used.
pub const ABSOLUTE_MICROS: i64 = 7 * 24 * HOUR_MICROS;
/// A request updates the session's last use only if the last update is older than this.
pub const TOUCH_MICROS: i64 = 60 * 1_000_000;
/// The length of a token.
const TOKEN_LENGTH: usize = 43;

impl Service {
    /// Signs in a person with their password. `from` is their address, if known.
    #[boxed]
    pub async fn sign_in(&self, email: &str, password: &str, from: Option<IpAddr>) -> Result<Session, Problem> {
        let email_key = email_key(email);
        let begun = self.begin_try(&email_key, from).await?;
        let person = self.store.person_by_email(&email_key).await?;
        let (org, known) = match &person {
            Some(person) => (person.org, client_id(&person.person)),
            None => (NO_ORGANIZATION, String::new()),
        };
        let hashed = person.as_ref().map(|person| person.password_hash.as_str());
        if let Some(person) = &person {
            // After sign-in the portfolio page is shown first; its count runs while the password is checked, which
            // takes about as long.
            self.count_ahead(person.org);
        }
        let is_right = self.passwords.is_right(password, hashed).await?;
        if let Some(person) = person.filter(|_| is_right)
            && let Some(session) =
                self.begin_session(&person, |token_hash| Some(self.signed_in(&person, token_hash, from))).await?
        {
            self.end_try(begun).await?;
            return Ok(session);
        }
        let origin = Origin { address: address_text(from), ..Origin::default() };
        let act = Act::on("sign_in_failed", "person", known.trim_start_matches(PERSON_PREFIX));
        // A password may have been typed into the wrong field, so the text is recorded only if it is an address.
        let typed = if is_address(email.trim()) { shortened(email.trim()) } else { "not an address".to_owned() };
        let act = act.with("email", typed);
        let record = new_record(&self.secrets, self.clock.now(), org, Arc::new(origin), act);
        self.store.append_audit(&record).await?;
        Err(Problem::new("unauthenticated", "the e-mail address or the password is wrong"))
    }

    /// Begins a session for a person whose password was just checked; `None` if they are deactivated or the password
    /// has changed.
    pub(super) async fn begin_session(
        &self,
        person: &PersonRow,
        record: impl FnOnce(&[u8]) -> Option<NewAuditRecord>,
    ) -> Result<Option<Session>, Problem> {
        let token = mint_token();
        let now = self.clock.now();
        let session = SessionRow {
            token_hash: hash(token.as_bytes()),
            person: person.person.clone(),
            created_at: now,
            seen_at: now,
            expires_at: expiry(now, now),
        };
        let record = record(&session.token_hash);
        let begun = self.store.begin_session(&session, &person.password_hash, record.as_ref()).await?;
        Ok(begun.then(|| Session { csrf: self.csrf(&token), token }))
    }

    /// The visit of a token's person; `None` if the token is unknown or its session has ended.
    #[boxed]
    pub async fn visit(&self, token: &str) -> Result<Option<Visit>, Problem> {
        if token.len() != TOKEN_LENGTH {
            return Ok(None);
        }
        let token_hash = hash(token.as_bytes());
        let now = self.clock.now();
        let Some((session, person)) = self.store.session(&token_hash, now).await? else { return Ok(None) };
        if now >= session.seen_at.plus_micros(TOUCH_MICROS) {
            self.store.touch_session(&token_hash, now, expiry(session.created_at, now)).await?;
        }
        let organization = self.catalog.organization(person.org).await?;
        let environment = organization.row.environment.clone();
        let caller = Caller {
            org: person.org,
            environment: environment.clone(),
            role: role(&person.role)?,
            client_id: client_id(&person.person),
            only_held: false,
            origin: Some(Arc::new(Origin { session: session_mark(&token_hash), ..Origin::default() })),
            is_recorded: false,
        };
        Ok(Some(Visit {
            person_id: person.person,
            name: person.name,
            email: person.email,
            caller,
            organization: organization.row.name.clone(),
            environment,
            csrf: self.csrf(token),
        }))
    }

    /// Ends a session. `from` is the person's address, if known.
    #[boxed]
    pub async fn sign_out(&self, token: &str, from: Option<IpAddr>) -> Result<(), Problem> {
        let token_hash = hash(token.as_bytes());
        let found = self.store.session(&token_hash, self.clock.now()).await?;
        let act = |person| Act::on("sign_out", "person", person);
        let record =
            found.as_ref().map(|(_, person)| self.recorded_of(person, Some(&token_hash), from, act(&person.person)));
        self.store.end_session(&token_hash, record.as_ref()).await?;
        Ok(())
    }

    fn signed_in(&self, person: &PersonRow, token_hash: &[u8], from: Option<IpAddr>) -> NewAuditRecord {
        self.recorded_of(person, Some(token_hash), from, Act::on("sign_in", "person", &person.person))
    }

    /// The audit record of a person's action on their own access.
    pub(super) fn recorded_of(
        &self,
        person: &PersonRow,
        token_hash: Option<&[u8]>,
        from: Option<IpAddr>,
        act: Act<'_>,
    ) -> NewAuditRecord {
        let origin = Origin {
            actor: client_id(&person.person),
            session: token_hash.map(session_mark).unwrap_or_default(),
            address: address_text(from),
            request_id: String::new(),
        };
        new_record(&self.secrets, self.clock.now(), person.org, Arc::new(origin), act)
    }

    /// The CSRF token of a session: derived from its token, and does not reveal it.
    fn csrf(&self, token: &str) -> String {
        self.secrets.form_token(token)
    }
}

/// A mark that identifies a session without revealing its token.
fn session_mark(token_hash: &[u8]) -> String {
    hex(&token_hash[..token_hash.len().min(8)])
}

/// When a session that is used now expires.
fn expiry(created_at: Time, now: Time) -> Time {
    now.plus_micros(IDLE_MICROS).min(created_at.plus_micros(ABSOLUTE_MICROS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_its_length() {
        assert_eq!(mint_token().len(), TOKEN_LENGTH);
    }
}
