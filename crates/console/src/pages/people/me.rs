//! The user's own page: changing the password, and ending all sessions.

use crate::Console;
use crate::display::plain_words;
use crate::form::{Field, FieldKind, Form, FormValues};
use crate::guard::{Visitor, end_session, redirect_saying};
use crate::page::{Notice, PageFrame, PageResult, Section, show_refused};
use askama::Template;
use axum::extract::State;
use daybook_service::problem::Problem;

const HERE: &str = "/console/people/me";

const PASSWORD: &[Field] = &[
    Field::new("old_password", "Current password", FieldKind::Password, "").required(),
    Field::new(
        "new_password",
        "New password",
        FieldKind::NewPassword,
        "At least ten characters. A sentence is a good password.",
    )
    .required(),
    Field::new("again", "Repeat the new password", FieldKind::NewPassword, "").required(),
];

#[derive(Template)]
#[template(path = "people/me.html")]
struct Me {
    page: PageFrame,
    name: String,
    email: String,
    role: String,
    form: Form,
}

impl Me {
    fn new(visitor: &Visitor, form: Form) -> Me {
        Me {
            page: PageFrame::new("Your profile", Section::None, visitor),
            name: visitor.visit.name.clone(),
            email: visitor.visit.email.clone(),
            role: plain_words(visitor.caller().role.name()),
            form,
        }
    }
}

/// The page.
pub async fn show(visitor: Visitor) -> PageResult {
    crate::page::show(&Me::new(&visitor, Form::new(PASSWORD, FormValues::default())))
}

/// Changes the user's own password.
pub async fn change_password(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let (old, new) = (typed.untrimmed("old_password"), typed.untrimmed("new_password"));
    let changed = if new == typed.untrimmed("again") {
        console.service.change_password(&visitor.context.session, old, new, visitor.context.address).await
    } else {
        Err(Problem::invalid("again", "does not match the new password"))
    };
    match changed {
        Ok(()) => {
            let notice = Notice::done("Your password was changed. Your other sessions have ended.");
            Ok(redirect_saying(HERE, &notice, &visitor.context))
        }
        // The typed values are not sent back: no page contains a password.
        Err(problem) => {
            let form = Form::new(PASSWORD, FormValues::default()).refused(&problem);
            show_refused(&Me::new(&visitor, form), &problem)
        }
    }
}

/// Signs the user out everywhere.
pub async fn end_sessions(State(console): State<Console>, visitor: Visitor) -> PageResult {
    console.service.end_sessions(visitor.caller(), &visitor.visit.person_id).await?;
    Ok(end_session("/console/sign-in", &visitor.context))
}
