//! Users of the console and their roles, and each user's own page.
//!
//! Administrators invite users by links that work once, change roles, and deactivate users. The API has no such calls,
//! as it knows only keys, so there is no `curl` command to show. An invite link is shown only in the response to the
//! form. The list shows pending invites and can withdraw them.

pub mod changing;
pub mod me;

use crate::Console;
use crate::csv::{Cell, Csv};
use crate::display::{DisplayTime, plain_words};
use crate::form::{Field, FieldKind, Form, FormValues, QueryParameters};
use crate::guard::{Visitor, redirect_saying};
use crate::page::{Notice, PageError, PageFrame, PageResult, Section, show_again};
use crate::pages::keys::api_keys::ROLES;
use askama::Template;
use axum::extract::State;
use daybook_service::access::Role;
use daybook_service::ids::mint_secret;
use daybook_service::people::{Link, Person};
use daybook_service::problem::{Problem, ProblemKind};
use daybook_service::view::time::Utc;

/// The path of this section.
const HERE: &str = "/console/people";
/// Its name, for links back.
const NAME: &str = "People";

const INVITE: &[Field] = &[Field::new("role", "Role", FieldKind::Choice(ROLES), "It can be changed later.")];

/// A user, as a table row.
struct UserRow {
    id: String,
    name: String,
    email: String,
    role: Role,
    created_at: DisplayTime,
    last_seen_at: Option<DisplayTime>,
    disabled_at: Option<DisplayTime>,
    /// Whether it is the signed-in user.
    is_me: bool,
}

impl UserRow {
    fn new(person: Person, visitor: &Visitor) -> UserRow {
        let moment = |at: Utc| DisplayTime(at.to_string());
        UserRow {
            is_me: person.person_id == visitor.visit.person_id,
            id: person.person_id,
            name: person.name,
            email: person.email,
            role: person.role,
            created_at: moment(person.created_at),
            last_seen_at: person.last_seen_at.map(moment),
            disabled_at: person.disabled_at.map(moment),
        }
    }

    fn role_words(&self) -> String {
        plain_words(self.role.name())
    }
}

#[derive(Template)]
#[template(path = "people/people.html")]
struct PeoplePage {
    page: PageFrame,
    people: Vec<UserRow>,
    links: Vec<PendingInvite>,
    form: Form,
    /// A token unique to this form: submitting it twice creates one link.
    once: String,
}

/// A pending invite.
struct PendingInvite {
    id: String,
    role: String,
    made_by: String,
    works: bool,
    created_at: DisplayTime,
    expires_at: DisplayTime,
}

impl PendingInvite {
    fn new(link: Link) -> PendingInvite {
        PendingInvite {
            id: link.link_id,
            role: plain_words(link.role.name()),
            made_by: match link.made_by.as_str() {
                "operator" => "The command line".to_owned(),
                "first start" => "The server, at its first start".to_owned(),
                _ => link.made_by,
            },
            works: link.works,
            created_at: DisplayTime(link.created_at.to_string()),
            expires_at: DisplayTime(link.expires_at.to_string()),
        }
    }
}

impl PeoplePage {
    async fn new(console: &Console, visitor: &Visitor, form: Form) -> Result<PeoplePage, PageError> {
        Ok(PeoplePage {
            page: PageFrame::new("People", Section::People, visitor),
            people: all(console, visitor).await?,
            links: console.service.list_links(visitor.caller()).await?.into_iter().map(PendingInvite::new).collect(),
            form,
            once: mint_secret(),
        })
    }

    fn roles(&self) -> [Role; 3] {
        Role::ALL
    }
}

/// All users: active ones first, then by name.
async fn all(console: &Console, visitor: &Visitor) -> Result<Vec<UserRow>, PageError> {
    let people = console.service.list_people(visitor.caller()).await?;
    let mut lines: Vec<UserRow> = people.into_iter().map(|person| UserRow::new(person, visitor)).collect();
    lines.sort_by_key(|line| (line.disabled_at.is_some(), line.name.to_lowercase()));
    Ok(lines)
}

/// The list of users.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    if asked.get("format") == "csv" {
        let mut csv = Csv::new(&["person_id", "name", "email", "role", "created_at", "last_seen_at", "disabled_at"])?;
        for line in all(&console, &visitor).await? {
            let moment =
                |moment: &Option<DisplayTime>| moment.as_ref().map_or_else(String::new, |moment| moment.0.clone());
            csv.row(&[
                Cell::Text(&line.id),
                Cell::Text(&line.name),
                Cell::Text(&line.email),
                Cell::Text(line.role.name()),
                Cell::Text(&line.created_at.0),
                Cell::Text(&moment(&line.last_seen_at)),
                Cell::Text(&moment(&line.disabled_at)),
            ])?;
        }
        return csv.file("people");
    }
    let form = Form::new(INVITE, FormValues::default());
    crate::page::show(&PeoplePage::new(&console, &visitor, form).await?)
}

#[derive(Template)]
#[template(path = "people/invited.html")]
struct Invited {
    page: PageFrame,
    role: String,
    link: String,
}

/// Creates an invite link and shows it once.
pub async fn invite(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let link = match role_of(&typed) {
        Ok(role) => make_link(&console, &visitor, typed.get("once"), role).await.map(|token| (role, token)),
        Err(problem) => Err(problem),
    };
    match link {
        Ok((role, token)) => crate::page::show(&Invited {
            page: PageFrame::new("Invite link", Section::People, &visitor),
            role: plain_words(role.name()),
            link: format!("{}/console/welcome/{token}", visitor.context.base_url),
        }),
        Err(problem) => {
            let form = Form::new(INVITE, typed).refused(&problem);
            show_again(&PeoplePage::new(&console, &visitor, form).await?)
        }
    }
}

async fn make_link(console: &Console, visitor: &Visitor, once: &str, role: Role) -> Result<String, Problem> {
    if once.is_empty() {
        return console.service.invite(visitor.caller(), role).await;
    }
    console.service.invite_once(visitor.caller(), once, role).await
}

/// Withdraws a pending invite.
pub async fn withdraw(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let notice = match console.service.withdraw_link(visitor.caller(), typed.get("link")).await {
        Ok(()) => Notice::done("The invite was withdrawn. Its link no longer works."),
        Err(problem) if problem.kind == ProblemKind::NotFound => {
            Notice::not_done(format!("Not done: {}.", problem.message))
        }
        Err(problem) => return Err(problem.into()),
    };
    Ok(redirect_saying(HERE, &notice, &visitor.context))
}

/// The chosen role.
fn role_of(typed: &FormValues) -> Result<Role, Problem> {
    Role::parse(typed.get("role"))
        .ok_or_else(|| Problem::invalid("role", "must be one of ADMIN, SERVICING and READ_ONLY"))
}
