//! Creating a product: every policy can be set, few are required, and a sample schedule follows the typed values.

use super::fields::ZONE;
use super::groups::{FieldGroup, GROUPS, PREVIEW, all, of_product};
use super::lists::{add_lists, is_list};
use super::preview::{Piece, Preview};
use super::{HERE, typed_zone};
use crate::Console;
use crate::action::Action;
use crate::display::{AsMoment, AsMoney};
use crate::form::{Field, Form, FormValues, Input, body, checked_body, put};
use crate::guard::{Visitor, redirect_saying};
use crate::listing::without_places;
use crate::page::{Notice, PageError, PageFrame, PageResult, Section, fragment, read, show_again};
use askama::Template;
use axum::extract::State;
use daybook_service::form::{NewProduct, parse};
use daybook_service::ids::mint_secret;
use daybook_service::problem::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

/// The default principal of the sample loan.
const SAMPLE: &str = "12,000.00";

#[derive(Template)]
#[template(path = "products/new.html")]
struct NewPage {
    page: PageFrame,
    form: Form,
    preview: Preview,
    once: String,
}

impl NewPage {
    fn new(visitor: &Visitor, typed: FormValues, problem: Option<Problem>, preview: Preview) -> NewPage {
        let form = Form::new(&all(), typed);
        let form = match problem {
            Some(problem) => form.refused(&without_places(problem)),
            None => form,
        };
        NewPage { page: PageFrame::new("New product", Section::Products, visitor), form, preview, once: mint_secret() }
    }

    fn groups(&self) -> &'static [FieldGroup] {
        GROUPS
    }

    fn inputs(&self, group: &FieldGroup) -> Vec<Input<'_>> {
        self.form.group(&names(group))
    }

    /// A group is open if one of its fields has a value or an error.
    fn is_open(&self, group: &FieldGroup) -> bool {
        self.form.is_wrong(&names(group)) || group.fields.iter().any(|field| self.form.typed().has(field.name))
    }

    fn preview_inputs(&self) -> Vec<Input<'_>> {
        self.form.group(&PREVIEW.iter().map(|field| field.name).collect::<Vec<_>>())
    }
}

fn names(group: &FieldGroup) -> Vec<&'static str> {
    group.fields.iter().map(|field| field.name).collect()
}

/// The form.
pub async fn new(visitor: Visitor) -> PageResult {
    let typed = FormValues::default().with("preview_principal", SAMPLE);
    let preview = Preview::hint("Enter a number of instalments to see the schedule of a loan here.");
    crate::page::show(&NewPage::new(&visitor, typed, None, preview))
}

/// The typed values as the body of the call.
fn call(typed: &FormValues) -> Result<Value, Problem> {
    let zone = typed_zone(typed)
        .ok_or_else(|| Problem::invalid(ZONE, "must be an IANA time zone, such as America/New_York"))?;
    let fields: Vec<Field> = of_product().into_iter().filter(|field| !is_list(field.name)).collect();
    let mut sent = checked_body::<NewProduct>(&fields, typed, &zone)?;
    add_lists(&mut sent, typed)?;
    if sent.pointer("/product_overview/product_type").is_none() {
        put(&mut sent, "product_overview.product_type", Value::from("INSTALLMENT"));
    }
    Ok(sent)
}

#[derive(Deserialize)]
struct Made {
    product_id: String,
}

/// Creates a product.
pub async fn create(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let done = match call(&typed) {
        Ok(sent) => {
            let action = Action::CreateProduct(sent);
            action.perform(&console.service, visitor.caller(), Some(typed.get("once"))).await
        }
        Err(problem) => Err(problem.into()),
    };
    match done {
        Ok(answer) => {
            let id = read::<Made>(&answer)?.product_id;
            let notice = Notice::done(format!("Product {id} was created."));
            Ok(redirect_saying(&format!("{HERE}/{id}"), &notice, &visitor.context))
        }
        Err(trouble) => {
            let preview = Preview::hint("The schedule appears here after the errors are corrected.");
            show_again(&NewPage::new(&visitor, typed, Some(trouble.problem), preview))
        }
    }
}

/// The schedule for the typed values: a part of the page for the script, the whole page for the button.
pub async fn preview(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let tried = try_out(&console, &visitor, &typed).await;
    match (tried, typed.has("whole")) {
        (Ok(preview), true) => crate::page::show(&NewPage::new(&visitor, typed, None, preview)),
        (Ok(preview), false) => fragment(&Piece { preview }),
        (Err(trouble), true) => {
            let preview = refused(&trouble);
            show_again(&NewPage::new(&visitor, typed, Some(trouble.problem), preview))
        }
        (Err(trouble), false) => fragment(&Piece { preview: refused(&trouble) }),
    }
}

/// The errors in place of the schedule.
fn refused(trouble: &PageError) -> Preview {
    Preview::refused(&without_places(trouble.problem.clone()), &all())
}

async fn try_out(console: &Console, visitor: &Visitor, typed: &FormValues) -> Result<Preview, PageError> {
    let sent = call(typed)?;
    let zone = typed_zone(typed)
        .ok_or_else(|| Problem::invalid(ZONE, "must be an IANA time zone, such as America/New_York"))?;
    let sample = FormValues::default()
        .with("preview_principal", if typed.has("preview_principal") { typed.get("preview_principal") } else { SAMPLE })
        .with("preview_start", typed.get("preview_start"));
    let sample = body(PREVIEW, &sample, &zone)?;
    let mut loan =
        json!({"product_id": "preview", "summary": {"initial_principal_cents": sample["preview_principal"]}});
    if typed.has("preview_start") {
        let day = typed.get("preview_start");
        let at = crate::display::typed_moment(day, &zone)
            .ok_or_else(|| Problem::invalid("preview_start", "must be a date, such as 2025-02-15"))?;
        loan["effective_at"] = Value::from(crate::display::DisplayTime::new(at, &zone).0);
    }
    let product = parse(sent.to_string().as_bytes())?;
    let answer = console.service.preview_product(visitor.caller(), product, parse(loan.to_string().as_bytes())?).await;
    let schedule = answer.map_err(of_sample)?;
    Ok(Preview::new(schedule, Action::CreateProduct(sent).curl(&visitor.context.base_url)))
}

/// Maps errors about the sample loan to its own fields.
fn of_sample(mut problem: Problem) -> Problem {
    for detail in &mut problem.details {
        if detail.field == "summary.initial_principal_cents" {
            detail.field = "preview_principal".to_owned();
        }
    }
    problem
}
