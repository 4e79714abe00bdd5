//! Opening an account: the user chooses a product, and the form then has its time zone and terms and shows the schedule
//! for the typed values. A backdated account, or one without a borrower, must be confirmed first.

use super::confirming::{self, CONFIRMED};
use super::{HERE, products};
use crate::Console;
use crate::action::Action;
use crate::display::{AsMoment, AsMoney};
use crate::form::{Field, FieldKind, Form, FormValues, QueryParameters, checked_body, put};
use crate::guard::{Visitor, redirect_saying};
use crate::listing::{external_fields, without_places};
use crate::page::{Notice, PageError, PageFrame, PageResult, Section, fragment, read, show_again};
use crate::pages::products::{Piece, Preview, TermsInWords, fetch};
use askama::Template;
use axum::extract::State;
use bytes::Bytes;
use daybook_engine::zone::Zone;
use daybook_service::CustomerQuery;
use daybook_service::changes::OpeningRehearsal;
use daybook_service::form::{NewAccount, parse};
use daybook_service::ids::mint_secret;
use daybook_service::paging::{LONGEST_PAGE, Paging};
use daybook_service::problem::Problem;
use daybook_service::view::{MigrationState, Product};
use serde::Deserialize;
use serde_json::{Value, json};

const CUSTOMERS: &str = "assign_customers";
const SECOND: &str = "second_customer";
const EXTERNAL: &str = "external_fields";

const BASICS: &[Field] = &[
    Field::new(
        "summary.initial_principal_cents",
        "Principal",
        FieldKind::Dollars,
        "The amount lent and paid out when the loan begins, in dollars.",
    )
    .required()
    .hint("12,000.00"),
    Field::new(
        "effective_at",
        "Begins",
        FieldKind::Moment,
        "When the loan begins, in the product's time zone. Leave empty to use the current time. If the loan began in the past, Daybook \
         also processes everything since then: due dates, interest, late fees.",
    ),
    Field::new(
        "account_id",
        "Account id",
        FieldKind::Text,
        "Your own id: letters, digits and . _ : ~ -. It cannot be changed later.",
    )
    .hint("generated"),
];

/// The borrowers. The call has them as a list.
const PEOPLE: &[Field] = &[
    Field::new(
        CUSTOMERS,
        "Customer",
        FieldKind::Text,
        "The borrower. Type a part of the name or the id, then choose from the list.",
    ),
    Field::new(SECOND, "Second customer", FieldKind::Text, "A second borrower, if any."),
];

const OVERRIDES: &[Field] = &[
    Field::new(
        "post_promo_overview.post_promo_len",
        "Number of instalments",
        FieldKind::Whole,
        "Only if it differs from the product.",
    ),
    Field::new(
        "post_promo_overview.post_promo_impl_interest_rate_percent",
        "Interest rate, percent a year",
        FieldKind::Decimal,
        "Only if it differs from the product.",
    ),
    Field::new(
        "cycle_type.first_cycle_interval",
        "First cycle",
        FieldKind::Text,
        "Length of the first cycle, if it differs from the others. It moves all due dates, for example to a day that \
         suits the customer. 1 month - 10 days is a month less 10 days.",
    )
    .hint("1 month - 10 days"),
    Field::new(
        "cycle_type.late_fee_grace",
        "Grace period",
        FieldKind::Text,
        "Time from the due date until an unpaid instalment is late, if it differs from the product.",
    )
    .hint("10 days"),
    Field::new("summary.late_fee_cents", "Late fee", FieldKind::Dollars, "The fixed fee for a late instalment."),
    Field::new(
        "summary.late_fee_cap_percent",
        "Late fee cap, percent",
        FieldKind::Decimal,
        "A late fee is at most this percentage of the instalment's unpaid amount.",
    ),
    Field::new(
        "summary.payment_reversal_fee_cents",
        "Fee for a bounced payment",
        FieldKind::Dollars,
        "Charged when a payment is reversed.",
    ),
    Field::new(
        "summary.origination_fee_cents",
        "Origination fee",
        FieldKind::Dollars,
        "Charged when the loan begins, in addition to the principal.",
    ),
    Field::new(
        "summary.credit_limit_cents",
        "Credit limit",
        FieldKind::Dollars,
        "Stored with the account. Daybook does not enforce it.",
    ),
];

const EXTERNAL_FIELD: Field = Field::new(
    EXTERNAL,
    "External fields",
    FieldKind::LongText,
    "Your own data, such as the id in another system. Write one name and its value per line, separated by a colon. \
     Put text that contains colons or line breaks, or that begins or ends with blanks, in double quotes, as in JSON.",
)
.hint("crm_id: 4711");

pub(super) fn fields() -> Vec<Field> {
    [BASICS, PEOPLE, OVERRIDES, &[EXTERNAL_FIELD]].concat()
}

#[derive(Template)]
#[template(path = "accounts/choose.html")]
struct ChoosePage {
    page: PageFrame,
    products: Vec<Product>,
    customer: String,
}

#[derive(Template)]
#[template(path = "accounts/new.html")]
struct NewPage {
    page: PageFrame,
    product: Product,
    form: Form,
    /// Customers to choose from: id and name.
    customers: Vec<(String, String)>,
    preview: Preview,
    once: String,
}

/// The form; without a product, the choice of one.
pub async fn new(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    if !asked.has("product_id") {
        let products = products(&console, &visitor).await?;
        let page = PageFrame::new("Open an account", Section::Accounts, &visitor);
        return crate::page::show(&ChoosePage { page, products, customer: asked.get("customer").to_owned() });
    }
    let typed = asked.clone().with(CUSTOMERS, asked.get("customer"));
    let preview = Preview::hint("Enter a principal to see the schedule here.");
    let page = page(&console, &visitor, asked.get("product_id"), typed, None, preview).await?;
    crate::page::show(&page)
}

async fn page(
    console: &Console,
    visitor: &Visitor,
    product: &str,
    typed: FormValues,
    problem: Option<Problem>,
    preview: Preview,
) -> Result<NewPage, PageError> {
    let product = fetch(console, visitor, product).await?;
    let form = Form::new(&fields(), typed);
    let form = match problem {
        Some(problem) => form.refused(&of_fields(problem)),
        None => form,
    };
    Ok(NewPage {
        page: PageFrame::new("Open an account", Section::Accounts, visitor),
        product,
        form,
        customers: customers(console, visitor).await?,
        preview,
        once: mint_secret(),
    })
}

/// Customers to choose from. There may be more than the list offers: the user can type any id.
async fn customers(console: &Console, visitor: &Visitor) -> Result<Vec<(String, String)>, PageError> {
    let most = Paging { limit: LONGEST_PAGE, ..Paging::default() };
    let listed = console.service.list_customers(visitor.caller(), most, CustomerQuery::default()).await?;
    Ok(listed.results.into_iter().map(|customer| (customer.customer_id.clone(), customer.name())).collect())
}

/// The typed values as the body of the call.
fn call(typed: &FormValues, zone: &Zone) -> Result<Value, Problem> {
    let mut sent = checked_body::<NewAccount>(&[BASICS, OVERRIDES].concat(), typed, zone)?;
    put(&mut sent, "product_id", Value::from(typed.get("product_id")));
    let mut assigned = Vec::new();
    if typed.has(CUSTOMERS) {
        assigned.push(json!({"customer_id": typed.get(CUSTOMERS)}));
    }
    if typed.has(SECOND) {
        assigned.push(json!({"customer_id": typed.get(SECOND), "customer_account_role": "SECONDARY"}));
    }
    if !assigned.is_empty() {
        put(&mut sent, CUSTOMERS, Value::from(assigned));
    }
    if typed.has(EXTERNAL) {
        let given = external_fields(typed.get(EXTERNAL)).map_err(|rule| Problem::invalid(EXTERNAL, rule))?;
        put(&mut sent, EXTERNAL, json!(given));
    }
    Ok(sent)
}

/// Maps an error about the second customer to its form field.
fn of_fields(mut problem: Problem) -> Problem {
    for detail in &mut problem.details {
        if detail.field.starts_with("assign_customers[1]") {
            detail.field = SECOND.to_owned();
        } else if detail.field.starts_with(CUSTOMERS) {
            detail.field = CUSTOMERS.to_owned();
        }
    }
    without_places(problem)
}

#[derive(Deserialize)]
struct Opened {
    account_id: String,
}

/// The result of a submitted form.
enum OpeningResult {
    /// The opening must be confirmed first: the body of the call, and the result of its rehearsal.
    ToConfirm(Value, Box<OpeningRehearsal>),
    /// The account is opened.
    Done(Bytes),
}

/// Opens an account, or asks for confirmation first.
pub async fn create(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let product = fetch(&console, &visitor, typed.get("product_id")).await?;
    let done = async {
        let sent = call(&typed, &product.zone()?)?;
        if !typed.has(CONFIRMED) {
            let form = parse(sent.to_string().as_bytes())?;
            let rehearsal = console.service.rehearse_opening(visitor.caller(), form).await?;
            if confirming::is_needed(&sent, &rehearsal) {
                return Ok(OpeningResult::ToConfirm(sent, Box::new(rehearsal)));
            }
        }
        let action = Action::CreateAccount(sent);
        let answer = action.perform(&console.service, visitor.caller(), Some(typed.get("once"))).await?;
        Ok(OpeningResult::Done(answer))
    };
    match done.await {
        Ok(OpeningResult::ToConfirm(sent, rehearsal)) => confirming::page(&visitor, &product, &typed, sent, &rehearsal),
        Ok(OpeningResult::Done(answer)) => {
            let id = read::<Opened>(&answer)?.account_id;
            let notice = Notice::done(format!("Account {id} was opened."));
            Ok(redirect_saying(&format!("{HERE}/{id}"), &notice, &visitor.context))
        }
        Err(trouble) => {
            let trouble: PageError = trouble;
            let preview = Preview::hint("The schedule appears here after the errors are corrected.");
            let id = typed.get("product_id").to_owned();
            show_again(&page(&console, &visitor, &id, typed, Some(trouble.problem), preview).await?)
        }
    }
}

/// The schedule for the typed values: a part of the page for the script, the whole page for the button.
pub async fn preview(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let product = fetch(&console, &visitor, typed.get("product_id")).await?;
    let tried = try_out(&console, &visitor, &typed, &product.zone()?).await;
    if !typed.has("whole") {
        return match tried {
            Ok(preview) => fragment(&Piece { preview }),
            Err(trouble) => fragment(&Piece { preview: refused(&trouble) }),
        };
    }
    let id = typed.get("product_id").to_owned();
    match tried {
        Ok(preview) => crate::page::show(&page(&console, &visitor, &id, typed, None, preview).await?),
        Err(trouble) => {
            let preview = refused(&trouble);
            show_again(&page(&console, &visitor, &id, typed, Some(trouble.problem), preview).await?)
        }
    }
}

/// The errors in place of the schedule.
fn refused(trouble: &PageError) -> Preview {
    Preview::refused(&of_fields(trouble.problem.clone()), &fields())
}

async fn try_out(console: &Console, visitor: &Visitor, typed: &FormValues, zone: &Zone) -> Result<Preview, PageError> {
    let sent = call(typed, zone)?;
    let form = parse(sent.to_string().as_bytes())?;
    let schedule = console.service.preview_account(visitor.caller(), form).await?;
    Ok(Preview::new(schedule, Action::CreateAccount(sent).curl(&visitor.context.base_url)))
}
