//! API keys: creating one, whose secret is shown once, and revoking one.

use super::{HERE, KeysPage, NAME, all};
use crate::Console;
use crate::action::Action;
use crate::display::{AsMoment, plain_words};
use crate::form::{Field, FieldKind, Form, FormValues};
use crate::guard::{Visitor, redirect_saying};
use crate::page::{Notice, PageError, PageFrame, PageResult, Section, show_again};
use crate::pages::ask::Ask;
use askama::Template;
use axum::extract::{Path, State};
use daybook_operations::Operation;
use daybook_service::form::parse;
use daybook_service::problem::Problem;
use daybook_service::view::{Key, NewKey};
use serde_json::json;

/// The roles of keys and users.
pub(in crate::pages) const ROLES: &[(&str, &str)] = &[
    ("SERVICING", "Servicing: everything except keys, people, the audit trail and other administration"),
    ("READ_ONLY", "Read only: view what Servicing can view, change nothing"),
    ("ADMIN", "Admin: everything"),
];

/// The form for a new key.
pub(super) const FORM: &[Field] = &[
    Field::new("name", "Name", FieldKind::Text, "The program that uses the key, so that you recognize the key later.")
        .required()
        .hint("Payment importer"),
    Field::new("role", "Role", FieldKind::Choice(ROLES), "Choose the role with the fewest rights that is enough."),
];

#[derive(Template)]
#[template(path = "keys/made.html")]
struct Made {
    page: PageFrame,
    key: NewKey,
    /// An example call with the new key.
    curl: String,
}

impl Made {
    fn role_words(&self) -> String {
        plain_words(&self.key.role)
    }
}

/// Creates a key and shows its secret once. Submitting the same form twice shows the same key.
pub async fn create(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    match make(&console, &visitor, &typed).await {
        Ok(key) => {
            let base_url = &visitor.context.base_url;
            let products = Operation::ListProducts.path();
            let curl = format!("curl {base_url}{products} \\\n  -H \"Authorization: Bearer {}\"", key.client_secret);
            crate::page::show(&Made { page: PageFrame::new("New key", Section::Keys, &visitor), key, curl })
        }
        Err(PageError { problem, .. }) => {
            let form = Form::new(FORM, typed).refused(&problem);
            show_again(&KeysPage { form, ..KeysPage::new(&console, &visitor).await? })
        }
    }
}

async fn make(console: &Console, visitor: &Visitor, typed: &FormValues) -> Result<NewKey, PageError> {
    let body = json!({ "name": typed.get("name"), "role": typed.get("role") });
    let form = parse(body.to_string().as_bytes())?;
    let (service, who) = (&console.service, visitor.caller());
    Ok(match typed.get("once") {
        "" => service.create_key(who, form).await?,
        once => service.create_key_once(who, once, form).await?,
    })
}

async fn find(console: &Console, visitor: &Visitor, client_id: &str) -> Result<Key, PageError> {
    let found = all(console, visitor).await?.into_iter().find(|key| key.client_id == client_id);
    found.ok_or_else(|| PageError::new(Problem::not_found("key", client_id)))
}

/// Asks for confirmation before revoking a key.
pub async fn ask_revoke(State(console): State<Console>, visitor: Visitor, Path(client_id): Path<String>) -> PageResult {
    let key = find(&console, &visitor, &client_id).await?;
    let used = match key.last_used_at {
        Some(at) => format!("The key was last used on {}.", at.moment()),
        None => "The key has never been used.".to_owned(),
    };
    Ask {
        title: format!("Revoke the key \u{201c}{}\u{201d}", key.name),
        back: (HERE.to_owned(), NAME),
        words: vec![
            format!("Calls with {client_id}, and with access tokens that were issued for it, will be refused. {used}"),
            "A revoked key cannot be restored. Programs that use it will need a new key.".to_owned(),
        ],
        path: format!("{HERE}/{client_id}/revoke"),
        button: "Revoke the key",
        danger: true,
        ..Ask::default()
    }
    .with_curl(&Action::RevokeKey(client_id), &visitor)
    .show(Section::Keys, &visitor)
}

/// Revokes a key.
pub async fn revoke(State(console): State<Console>, visitor: Visitor, Path(client_id): Path<String>) -> PageResult {
    let key = find(&console, &visitor, &client_id).await?;
    Action::RevokeKey(client_id).perform(&console.service, visitor.caller(), None).await?;
    let notice = Notice::done(format!("The key \u{201c}{}\u{201d} is revoked.", key.name));
    Ok(redirect_saying(HERE, &notice, &visitor.context))
}
