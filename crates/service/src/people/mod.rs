//! People: who uses the console, how they come in, and how they are known again.
//!
//! ```text
//! link ── accept: name, address, password ─► person
//!                                              │ sign_in: slowed if guessed
//!                                              ▼
//! cookie ── visit ─► who is calling ◄──────── session ── 12 h unused, 7 days, sign_out, ended ─► over
//! ```
//!
//! Nobody is written to by mail. A link comes from somebody who may make one: the first start, `daybook people link`, or
//! an administrator. A person belongs to one organization and has a role, as keys do; what they may do is asked of the
//! same [`Caller`]. A session's token is known to the browser only: the database keeps its hash, so that a stolen copy
//! opens nothing. Every visit looks the person up, so that another role, or none, holds from the next click.
//!
//! | file | what is there |
//! |---|---|
//! | `inviting` | links, and what becomes of them |
//! | `visiting` | signing in and out, and who comes with a token |
//! | `managing` | what administrators do with people; another password |
//! | `guessing` | who was wrong too often waits |
//! | `passwords` | hashing, a few at a time |

mod guessing;
mod inviting;
mod managing;
mod passwords;
mod visiting;

pub use guessing::{FREE_TRIES, LONGEST_WAIT_MICROS};
pub use inviting::{LINK_MICROS, MOST_LINKS, MOST_PEOPLE};
pub use passwords::{PASSWORD_LONGEST, PASSWORD_SHORTEST};
pub use visiting::{ABSOLUTE_MICROS, IDLE_MICROS, TOUCH_MICROS};

pub(crate) use passwords::Passwords;

use crate::access::{Caller, Role};
use crate::problem::{Detail, Problem};
use crate::view::time::Utc;
use daybook_store::people::PersonRow;
use serde::Serialize;
use std::fmt;

/// The most characters of a name.
const NAME_LONGEST: usize = 100;
/// The most characters of an e-mail address.
const EMAIL_LONGEST: usize = 254;
/// How a person's id begins where callers are told apart.
const CALLER_PREFIX: &str = "person:";

/// Somebody who uses the console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Person {
    /// The id.
    pub person_id: String,
    /// What they are called.
    pub name: String,
    /// Their e-mail address.
    pub email: String,
    /// What they may do.
    #[serde(serialize_with = "role_name")]
    pub role: Role,
    /// When they came.
    pub created_at: Utc,
    /// When they were last seen, about.
    pub last_seen_at: Option<Utc>,
    /// Since when they may not come in any more.
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

/// Somebody who comes with a link.
#[derive(Clone)]
pub struct NewPerson {
    /// What they are called.
    pub name: String,
    /// Their e-mail address.
    pub email: String,
    /// Their password.
    pub password: String,
}

/// A password does not show in logs.
impl fmt::Debug for NewPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewPerson").field("name", &self.name).field("email", &self.email).finish_non_exhaustive()
    }
}

/// What a link is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// The organization's name.
    pub organization: String,
    /// What they may do then.
    pub role: Role,
    /// Until when.
    pub expires_at: Utc,
}

/// A link that waits for somebody, for administrators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What it is withdrawn by; nobody comes in with it.
    pub link_id: String,
    /// What somebody may do who comes by it.
    pub role: Role,
    /// Who made it: a person's name, or what else it was.
    pub made_by: String,
    /// Whether it works: not if its maker is kept out, or is no administrator any more.
    pub works: bool,
    /// Since when.
    pub created_at: Utc,
    /// Until when.
    pub expires_at: Utc,
}

/// What a browser keeps of a person who is signed in.
#[derive(Clone, PartialEq, Eq)]
pub struct Session {
    /// The value of the cookie: 256 random bits.
    pub token: String,
    /// What every form must carry.
    pub csrf: String,
}

/// A token does not show in logs.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session(..)")
    }
}

/// Who came with a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The person's id.
    pub person_id: String,
    /// What they are called.
    pub name: String,
    /// Their e-mail address.
    pub email: String,
    /// As whom they call.
    pub caller: Caller,
    /// Their organization's name.
    pub organization: String,
    /// Whether it is for testing; `TEST` or `LIVE`.
    pub environment: String,
    /// What every form must carry.
    pub csrf: String,
}

/// Whether somebody calls as a person, and not by a key.
pub(crate) fn is_person(client_id: &str) -> bool {
    client_id.starts_with(CALLER_PREFIX)
}

/// As whom a person calls.
fn client_id(person: &str) -> String {
    format!("{CALLER_PREFIX}{person}")
}

fn role(name: &str) -> Result<Role, Problem> {
    Role::parse(name).ok_or_else(|| Problem::internal(format!("a person has the role {name}, which there is not")))
}

/// An address as it is compared.
pub(crate) fn email_key(email: &str) -> String {
    email.trim().to_lowercase()
}

/// What is wrong with what somebody says of themselves.
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
