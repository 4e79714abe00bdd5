//! People: the users of the console, their invitations, sign-in and sessions.
//!
//! ```text
//! link ── accept: name, address, password ─► person
//!                                              │ sign_in: throttled after failures
//!                                              ▼
//! cookie ── visit ─► caller ◄──────────────── session ── 12 h unused, 7 days, sign_out, ended ─► over
//! ```
//!
//! The service sends no mail. A link is created by the first start, by `daybook people link`, or by an administrator. A
//! person belongs to one organization and has a role, as keys do; the same [`Caller`] checks their rights. Only the
//! browser knows a session's token: the database keeps its hash, so a stolen copy gives no access. Every request looks
//! the person up, so a new role or a deactivation applies from the next request.
//!
//! | file | contents |
//! |---|---|
//! | `invitations` | links and their use |
//! | `sessions` | signing in and out, and the sessions of tokens |
//! | `managing` | administrators' actions on people; changing a password |
//! | `sign_in_throttle` | throttling of failed sign-ins |
//! | `passwords` | hashing, a few at a time |

mod invitations;
mod managing;
mod passwords;
mod sessions;
mod sign_in_throttle;

pub use invitations::{LINK_MICROS, MOST_LINKS, MOST_PEOPLE};
pub use passwords::{PASSWORD_LONGEST, PASSWORD_SHORTEST};
pub use sessions::{ABSOLUTE_MICROS, IDLE_MICROS, TOUCH_MICROS};
pub use sign_in_throttle::{FREE_TRIES, LONGEST_WAIT_MICROS};

pub(crate) use passwords::Passwords;

use crate::access::{Caller, PERSON_PREFIX, Role};
use crate::problem::{Detail, Problem};
use crate::view::time::Utc;
use daybook_store::people::PersonRow;
use serde::Serialize;
use std::fmt;

/// The maximum length of a name, in characters.
const NAME_LONGEST: usize = 100;
/// The maximum length of an e-mail address, in characters.
const EMAIL_LONGEST: usize = 254;

/// A user of the console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Person {
    /// The id.
    pub person_id: String,
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
    /// The role, which determines their rights.
    #[serde(serialize_with = "role_name")]
    pub role: Role,
    /// When they joined.
    pub created_at: Utc,
    /// Approximately when they were last active.
    pub last_seen_at: Option<Utc>,
    /// Since when they are deactivated; `None` if they are active.
    pub disabled_at: Option<Utc>,
}

fn role_name<S: serde::Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role.name())
}

impl Person {
    fn of(row: PersonRow) -> Result<Person, Problem> {
        Ok(Person {
            role: role(&row.role)?,
            person_id: row.person,
            name: row.name,
            email: row.email,
            created_at: Utc(row.created_at),
            last_seen_at: row.last_seen_at.map(Utc),
            disabled_at: row.disabled_at.map(Utc),
        })
    }
}

/// A person who joins with a link.
#[derive(Clone)]
pub struct NewPerson {
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
    /// The password.
    pub password: String,
}

/// Keeps the password out of logs.
impl fmt::Debug for NewPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewPerson").field("name", &self.name).field("email", &self.email).finish_non_exhaustive()
    }
}

/// What a link gives access to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// The organization's name.
    pub organization: String,
    /// The role that the new person gets.
    pub role: Role,
    /// When it expires.
    pub expires_at: Utc,
}

/// A pending link, as administrators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The id to withdraw it by; it does not give access.
    pub link_id: String,
    /// The role that the new person gets.
    pub role: Role,
    /// Who created it: a person's name, or another source.
    pub made_by: String,
    /// Whether it works. It does not if its creator was deactivated or is no longer an administrator.
    pub works: bool,
    /// When it was created.
    pub created_at: Utc,
    /// When it expires.
    pub expires_at: Utc,
}

/// The session data of a signed-in person that the browser keeps.
#[derive(Clone, PartialEq, Eq)]
pub struct Session {
    /// The value of the cookie: 256 random bits.
    pub token: String,
    /// The CSRF token that every form must carry.
    pub csrf: String,
}

/// Keeps the token out of logs.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session(..)")
    }
}

/// The person of a session token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The person's id.
    pub person_id: String,
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
    /// The caller they act as.
    pub caller: Caller,
    /// Their organization's name.
    pub organization: String,
    /// The environment of the organization: `TEST` or `LIVE`.
    pub environment: String,
    /// The CSRF token that every form must carry.
    pub csrf: String,
}

/// The client id of a person.
fn client_id(person: &str) -> String {
    format!("{PERSON_PREFIX}{person}")
}

fn role(name: &str) -> Result<Role, Problem> {
    Role::parse(name).ok_or_else(|| Problem::internal(format!("a user has the role {name}, which does not exist")))
}

/// An e-mail address in the form used for comparison.
pub(crate) fn email_key(email: &str) -> String {
    email.trim().to_lowercase()
}

/// Checks the data of a new person.
fn check(new: &NewPerson) -> Result<(), Problem> {
    let mut details = Vec::new();
    let mut refuse = |field: &str, message: String| details.push(Detail { field: field.to_owned(), message });
    let name = new.name.trim();
    if name.is_empty() || name.chars().count() > NAME_LONGEST || name.chars().any(char::is_control) {
        refuse("name", format!("must have from 1 to {NAME_LONGEST} characters"));
    }
    if !is_address(new.email.trim()) {
        refuse("email", "must be an e-mail address".to_owned());
    }
    if let Err(rule) = passwords::check(&new.password) {
        refuse("password", rule);
    }
    if details.is_empty() { Ok(()) } else { Err(Problem::invalid_fields(details)) }
}

fn is_address(text: &str) -> bool {
    let sides = text.split_once('@');
    sides.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'))
        && text.chars().count() <= EMAIL_LONGEST
        && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_other_texts() {
        for good in ["ana@lender.example", "a@b", "a+b@c.d"] {
            assert!(is_address(good), "{good}");
        }
        for bad in ["", "ana", "@b", "a@", "a@b@c", "a b@c", "a@b\n"] {
            assert!(!is_address(bad), "{bad:?}");
        }
        assert!(!is_address(&format!("{}@b", "a".repeat(EMAIL_LONGEST))));
        assert_eq!(email_key(" Ána@Lender.Example "), "ána@lender.example");
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let new = NewPerson { name: " ".into(), email: "x".into(), password: "short".into() };
        let problem = check(&new).expect_err("nothing of it is right");
        let fields: Vec<&str> = problem.details.iter().map(|detail| detail.field.as_str()).collect();
        assert_eq!(fields, ["name", "email", "password"]);
        assert!(!format!("{new:?}").contains("short"));
    }
}
