//! How administrators manage users: changing a role, deactivating, reactivating, resetting a password, ending sessions.

use super::{HERE, NAME, UserRow, all, role_of};
use crate::Console;
use crate::display::{Count, plain_words};
use crate::form::{FormValues, QueryParameters};
use crate::guard::{Visitor, end_session, redirect_saying};
use crate::page::{Notice, PageError, PageFrame, PageResult, Section};
use crate::pages::ask::Ask;
use askama::Template;
use axum::extract::{Path, State};
use daybook_service::access::Role;
use daybook_service::problem::Problem;

#[derive(Template)]
#[template(path = "people/reset.html")]
struct Reset {
    page: PageFrame,
    name: String,
    password: String,
}

/// The field with the fingerprint of the password that the form was shown for: submitting it twice resets the password
/// once.
const MARK: &str = "password";

/// A change to a user.
#[derive(Clone, Copy, Debug)]
enum UserChange {
    Role(Role),
    Disable,
    Enable,
    EndSessions,
    Reset,
}

impl UserChange {
    /// Reads the change from the path and the form.
    fn read(what: &str, typed: &FormValues) -> Result<UserChange, PageError> {
        Ok(match what {
            "role" => UserChange::Role(role_of(typed)?),
            "disable" => UserChange::Disable,
            "enable" => UserChange::Enable,
            "sessions" => UserChange::EndSessions,
            "password" => UserChange::Reset,
            _ => return Err(Problem::not_found("page", what).into()),
        })
    }

    fn ask(self, person: &UserRow, what: &str) -> Ask {
        let name = &person.name;
        let (title, words, button) = match self {
            UserChange::Role(role) => {
                let (from, to) = (person.role_words(), plain_words(role.name()));
                let may = match role {
                    Role::Admin => "do everything, including keys and people",
                    Role::Servicing => "do everything except keys, people, the audit trail and other administration",
                    Role::ReadOnly => "view what the role Servicing can view, but change nothing",
                };
                (
                    format!("Give {name} the role {to}"),
                    vec![format!(
                        "{name} has the role {from}. With the role {to}, they can {may}. The change will take effect \
                         immediately."
                    )],
                    "Change the role",
                )
            }
            UserChange::Disable => (
                format!("Deactivate {name}"),
                vec![
                    format!(
                        "{name} will be signed out everywhere and can no longer sign in. Nothing is deleted: you can \
                         reactivate the user later, with the same password."
                    ),
                    "Invites that this person created no longer work while the user is deactivated. API keys that this \
                     person knows continue to work: you can revoke keys on the Keys page."
                        .to_owned(),
                ],
                "Deactivate",
            ),
            UserChange::Enable => (
                format!("Reactivate {name}"),
                vec![format!(
                    "{name} will be able to sign in again, with the same email address and password. Their role is {}.",
                    person.role_words()
                )],
                "Reactivate",
            ),
            UserChange::EndSessions => (
                format!("End all sessions of {name}"),
                vec![format!("{name} will be signed out everywhere, and can sign in again with their password.")],
                "End all sessions",
            ),
            UserChange::Reset => (
                format!("Give {name} a new password"),
                vec![format!(
                    "{name} will be signed out everywhere. The next page shows a new password once: give it to {name}. \
                     After signing in, they can choose their own."
                )],
                "Create a new password",
            ),
        };
        Ask {
            title,
            back: (HERE.to_owned(), NAME),
            words,
            path: format!("{HERE}/{}/{what}", person.id),
            fields: match self {
                UserChange::Role(role) => vec![("role", role.name().to_owned())],
                _ => Vec::new(),
            },
            button,
            danger: matches!(self, UserChange::Disable | UserChange::EndSessions | UserChange::Reset),
            ..Ask::default()
        }
    }

    /// The confirmation page, with the state that the form depends on.
    async fn question(
        self,
        console: &Console,
        visitor: &Visitor,
        person: &UserRow,
        what: &str,
    ) -> Result<Ask, Problem> {
        let mut ask = self.ask(person, what);
        if matches!(self, UserChange::Reset) {
            let mark = console.service.password_mark(visitor.caller(), &person.id).await?;
            ask.fields.push((MARK, mark));
        }
        Ok(ask)
    }

    /// Makes the change. Returns a sentence about it, or the new password.
    async fn make(
        self,
        console: &Console,
        visitor: &Visitor,
        person: &UserRow,
        typed: &FormValues,
    ) -> Result<String, Problem> {
        let (service, who, id, name) = (&console.service, visitor.caller(), &person.id, &person.name);
        Ok(match self {
            UserChange::Role(role) => {
                service.set_role(who, id, role).await?;
                format!("{name} now has the role {}.", plain_words(role.name()))
            }
            UserChange::Disable => {
                service.disable_person(who, id).await?;
                format!("{name} was deactivated.")
            }
            UserChange::Enable => {
                service.enable_person(who, id).await?;
                format!("{name} can sign in again.")
            }
            UserChange::EndSessions => {
                let ended = service.end_sessions(who, id).await?;
                format!("{} of {name} ended.", Count(ended).of("session", "sessions"))
            }
            UserChange::Reset => service.reset_password_once(who, id, typed.get("once"), typed.get(MARK)).await?,
        })
    }
}

async fn find(console: &Console, visitor: &Visitor, id: &str) -> Result<UserRow, PageError> {
    let found = all(console, visitor).await?.into_iter().find(|line| line.id == id);
    found.ok_or_else(|| PageError::new(Problem::not_found("user", id)))
}

/// Asks for confirmation before a change.
pub async fn ask(
    State(console): State<Console>,
    visitor: Visitor,
    Path((id, what)): Path<(String, String)>,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let person = find(&console, &visitor, &id).await?;
    let ask = UserChange::read(&what, &asked)?.question(&console, &visitor, &person, &what).await?;
    ask.show(Section::People, &visitor)
}

/// Makes a change.
pub async fn make(
    State(console): State<Console>,
    visitor: Visitor,
    Path((id, what)): Path<(String, String)>,
    typed: FormValues,
) -> PageResult {
    let person = find(&console, &visitor, &id).await?;
    let change = UserChange::read(&what, &typed)?;
    match change.make(&console, &visitor, &person, &typed).await {
        // A password is only in the response, never in a cookie.
        Ok(password) if matches!(change, UserChange::Reset) => crate::page::show(&Reset {
            page: PageFrame::new("New password", Section::People, &visitor),
            name: person.name,
            password,
        }),
        Ok(_) if person.is_me && matches!(change, UserChange::EndSessions | UserChange::Disable) => {
            Ok(end_session("/console/sign-in", &visitor.context))
        }
        // Administrators who gave up their own role may no longer open the list.
        Ok(done) if person.is_me => Ok(redirect_saying("/console/people/me", &Notice::done(done), &visitor.context)),
        Ok(done) => Ok(redirect_saying(HERE, &Notice::done(done), &visitor.context)),
        Err(problem) => {
            let ask = change.question(&console, &visitor, &person, &what).await?;
            ask.show_again(Section::People, &visitor, &problem)
        }
    }
}
