//! Public pages: signing in and accepting an invite; and signing out.

use crate::Console;
use crate::form::{Field, FieldKind, Form, FormValues, QueryParameters};
use crate::guard::{RequestContext, Visitor, begin_session, end_session, safe_path};
use crate::page::{PageError, PageFrame, PageResult, show_again, show_refused};
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use daybook_service::people::NewPerson;
use daybook_service::problem::{Problem, ProblemKind};

const SIGN_IN: &[Field] = &[
    Field::new("email", "Email", FieldKind::Email, "The email address of your console user.").required(),
    Field::new("password", "Password", FieldKind::Password, "").required(),
];

const WELCOME: &[Field] = &[
    Field::new("name", "Your name", FieldKind::Text, "The name that your colleagues see.").required(),
    Field::new("email", "Email", FieldKind::Email, "You sign in with it. Daybook sends no email.").required(),
    Field::new(
        "password",
        "Password",
        FieldKind::NewPassword,
        "At least ten characters. A sentence is a good password.",
    )
    .required(),
];

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn {
    page: PageFrame,
    form: Form,
    next: String,
}

/// The form to sign in.
pub async fn show(context: RequestContext, QueryParameters(asked): QueryParameters) -> PageResult {
    let form = Form::new(SIGN_IN, FormValues::default());
    let next = safe_path(asked.get("next")).to_owned();
    crate::page::show(&SignIn { page: PageFrame::at_the_door("Sign in", &context), form, next })
}

/// Signs a user in.
pub async fn sign_in(State(console): State<Console>, context: RequestContext, typed: FormValues) -> PageResult {
    let next = safe_path(typed.get("next")).to_owned();
    match console.service.sign_in(typed.get("email"), password(&typed), context.address).await {
        Ok(session) => Ok(begin_session(&next, &session.token, &context)),
        Err(problem) => {
            let form = Form::new(SIGN_IN, FormValues::default().with("email", typed.get("email"))).refused(&problem);
            show_refused(&SignIn { page: PageFrame::at_the_door("Sign in", &context), form, next }, &problem)
        }
    }
}

#[derive(Template)]
#[template(path = "welcome.html")]
struct Welcome {
    page: PageFrame,
    form: Form,
    organization: String,
    role: String,
}

impl Welcome {
    async fn new(console: &Console, context: &RequestContext, link: &str, form: Form) -> Result<Welcome, PageError> {
        let invitation = console.service.invitation(link).await.map_err(not_an_invitation)?;
        Ok(Welcome {
            page: PageFrame::at_the_door("Welcome", context),
            form,
            organization: invitation.organization,
            role: invitation.role.name().to_owned(),
        })
    }
}

/// The usual advice for something that is not found names the search field, which this page does not have.
fn not_an_invitation(problem: Problem) -> PageError {
    let is_unknown = problem.kind == ProblemKind::NotFound;
    let trouble = PageError::new(problem);
    if is_unknown { trouble.advising("If you are already a user, sign in.") } else { trouble }
}

/// The form of an invite link.
pub async fn welcome(State(console): State<Console>, context: RequestContext, Path(link): Path<String>) -> PageResult {
    match Welcome::new(&console, &context, &link, Form::new(WELCOME, FormValues::default())).await {
        Ok(page) => crate::page::show(&page),
        Err(trouble) => Ok(trouble.at_the_door(&context)),
    }
}

/// Creates the user of an invite link and signs them in.
pub async fn accept(
    State(console): State<Console>,
    context: RequestContext,
    Path(link): Path<String>,
    typed: FormValues,
) -> PageResult {
    let person = NewPerson {
        name: typed.get("name").to_owned(),
        email: typed.get("email").to_owned(),
        password: password(&typed).to_owned(),
    };
    match console.service.accept(&link, person, context.address).await {
        Ok(session) => Ok(begin_session("/console", &session.token, &context)),
        Err(problem) => Ok(refuse(&console, &context, &link, &typed, problem).await),
    }
}

async fn refuse(
    console: &Console,
    context: &RequestContext,
    link: &str,
    typed: &FormValues,
    problem: Problem,
) -> Response {
    let kept = FormValues::default().with("name", typed.get("name")).with("email", typed.get("email"));
    let form = Form::new(WELCOME, kept).refused(&problem);
    let page = match Welcome::new(console, context, link, form).await {
        Ok(page) => show_again(&page),
        Err(trouble) => Err(trouble),
    };
    page.unwrap_or_else(|trouble| trouble.at_the_door(context))
}

/// Signs the user out.
pub async fn sign_out(State(console): State<Console>, visitor: Visitor) -> PageResult {
    console.service.sign_out(&visitor.context.session, visitor.context.address).await?;
    Ok(end_session("/console/sign-in", &visitor.context))
}

/// Passwords may begin and end with blanks.
fn password(typed: &FormValues) -> &str {
    typed.untrimmed("password")
}
