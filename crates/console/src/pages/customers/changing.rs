//! Creating and changing a customer.
//!
//! A change sends only the fields that differ: emptied fields are removed, untouched fields stay. The form therefore
//! carries a fingerprint of the values it was shown with: a change by another user in the meantime must not be mistaken
//! for one that this user typed. The social security number can be typed but is never shown, neither in the form nor in
//! the example call. If a form has to be shown again, the user must type the number again or leave it out explicitly;
//! until then nothing is saved.

use super::{HERE, fetch};
use crate::Console;
use crate::action::Action;
use crate::form::{Field, FieldKind, Form, FormValues, QueryParameters, checked_body, put};
use crate::guard::{Visitor, redirect_saying};
use crate::listing::{ExternalField, external_fields, typed_fields, without_places};
use crate::page::{Notice, PageFrame, PageResult, Section, fragment, read, show_again};
use askama::Template;
use axum::extract::{Path, State};
use daybook_engine::zone::Zone;
use daybook_service::form::fields::ShortText;
use daybook_service::form::{BusinessDetails, CustomerUpdate, NewCustomer};
use daybook_service::ids::mint_secret;
use daybook_service::problem::{Detail, Problem};
use daybook_service::view::Customer;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const KINDS: &[(&str, &str)] = &[("", "Automatic"), ("person", "A person"), ("business", "A business")];
const ROLES: &[(&str, &str)] = &[
    ("", "Primary: the main borrower"),
    ("SECONDARY", "Secondary: another borrower"),
    ("CARDHOLDER", "Cardholder: may use the account"),
];
const ID: &str = "customer_id";
const SSN: &str = "ssn";
/// Set if a social security number was typed before but not saved.
const SSN_TYPED: &str = "ssn_typed";
/// The error message in that case.
const SSN_AGAIN: &str = "must be entered again: it was not saved, and Daybook does not display it";
/// Set if the number is left out explicitly.
const SSN_LEFT_OUT: &str = "ssn_left_out";
const EXTERNAL: &str = "external_fields";
const ACCOUNT: &str = "assign_to_accounts";
const ROLE: &str = "customer_account_role";
/// The field with the fingerprint of the values that the form was shown with.
const SHOWN: &str = "shown";

const ID_FIELD: Field = Field::new(
    ID,
    "Customer id",
    FieldKind::Text,
    "Your own id: letters, digits and . _ : ~ -. It cannot be changed later.",
)
.hint("generated");

/// The fields that the forms for a new and for an existing customer share.
const PLAIN: &[Field] = &[
    Field::new(
        "name_first",
        "First name",
        FieldKind::Text,
        "A first name, a last name or a business name is required.",
    ),
    Field::new("name_middle", "Middle name", FieldKind::Text, ""),
    Field::new("name_last", "Last name", FieldKind::Text, ""),
    Field::new("name_prefix", "Prefix", FieldKind::Text, "").hint("Dr."),
    Field::new("name_suffix", "Suffix", FieldKind::Text, "").hint("Jr."),
    Field::new("email", "Email", FieldKind::Text, "").hint("ann@example.com"),
    Field::new("phone_number", "Phone", FieldKind::Text, "With the country code, such as +12025550123.")
        .hint("+12025550123"),
    Field::new("date_of_birth", "Date of birth", FieldKind::Date, ""),
    Field::new("address_line_one", "Street and number", FieldKind::Text, ""),
    Field::new("address_line_two", "Address, second line", FieldKind::Text, ""),
    Field::new("address_city", "City", FieldKind::Text, ""),
    Field::new("address_state", "State", FieldKind::Text, ""),
    Field::new("address_zip", "Postal code", FieldKind::Text, ""),
    Field::new("address_country_code", "Country", FieldKind::Text, "The two-letter country code.").hint("US"),
    Field::new("customer_type", "Kind", FieldKind::Choice(KINDS), "Automatic: a business if a business name is given."),
    Field::new("business_details.business_name", "Business name", FieldKind::Text, ""),
    Field::new("business_details.business_legal_name", "Legal name", FieldKind::Text, ""),
    Field::new("business_details.doing_business_as", "Doing business as", FieldKind::Text, ""),
    Field::new("business_details.business_ein", "Tax number (EIN)", FieldKind::Text, ""),
    Field::new(
        "verification_status",
        "Verification",
        FieldKind::Text,
        "Whether the identity was checked, in your own words.",
    ),
];

const SSN_FIELD: Field = Field::new(
    SSN,
    "Social security number",
    FieldKind::Text,
    "Stored encrypted; only the last four digits are ever shown. Leave empty to keep a number that is already stored.",
);

const EXTERNAL_FIELD: Field = Field::new(
    EXTERNAL,
    "External fields",
    FieldKind::LongText,
    "Your own data, such as the id in another system. Write one name and its value per line, separated by a colon. \
     Put text that contains colons or line breaks, or that begins or ends with blanks, in double quotes, as in JSON.",
)
.hint("crm_id: 4711");

const ACCOUNT_FIELDS: &[Field] = &[
    Field::new(ACCOUNT, "Account", FieldKind::Text, "The id of an account to assign the customer to."),
    Field::new(ROLE, "Role", FieldKind::Choice(ROLES), ""),
];

fn fields(is_new: bool) -> Vec<Field> {
    let id = if is_new { vec![ID_FIELD] } else { Vec::new() };
    [id.as_slice(), PLAIN, &[SSN_FIELD, EXTERNAL_FIELD], ACCOUNT_FIELDS].concat()
}

#[derive(Template)]
#[template(path = "customers/form.html")]
struct FormPage {
    page: PageFrame,
    form: Form,
    /// The path that the form is sent to.
    path: String,
    /// The id of the customer; empty for a new one.
    id: String,
    curl: String,
    once: String,
    /// The fingerprint of the values that the form was shown with; empty for a new customer.
    shown: String,
    /// Whether a typed number was not saved: the user must type it again or leave it out explicitly.
    ssn_typed: bool,
    /// Whether the number is left out explicitly.
    ssn_left_out: bool,
}

#[derive(Template)]
#[template(path = "customers/curl.html")]
struct CurlPiece {
    curl: String,
    refused: Vec<String>,
}

impl FormPage {
    fn new(visitor: &Visitor, customer: Option<&Customer>, typed: FormValues, problem: Option<Problem>) -> FormPage {
        let id = customer.map_or_else(String::new, |customer| customer.customer_id.clone());
        let title = customer.map_or_else(|| "New customer".to_owned(), |customer| format!("Edit {}", customer.name()));
        let action = action(customer, &typed).map(|action| masked(action).curl(&visitor.context.base_url));
        let ssn_left_out = typed.has(SSN_LEFT_OUT) && !typed.has(SSN);
        let ssn_typed = problem.is_some() && (typed.has(SSN) || typed.has(SSN_TYPED));
        let form = Form::new(&fields(customer.is_none()), typed.with(SSN, ""));
        let form = match problem {
            Some(problem) if ssn_typed && !ssn_left_out => form.refused(&without_places(with_ssn_again(problem))),
            Some(problem) => form.refused(&without_places(problem)),
            None => form,
        };
        FormPage {
            page: PageFrame::new(title, Section::Customers, visitor),
            form,
            path: if id.is_empty() { format!("{HERE}/new") } else { format!("{HERE}/{id}/edit") },
            id,
            curl: action.unwrap_or_default(),
            once: mint_secret(),
            shown: customer.map_or_else(String::new, mark),
            ssn_typed,
            ssn_left_out,
        }
    }
}

/// Adds an error to the problem: the number must be typed again.
fn with_ssn_again(mut problem: Problem) -> Problem {
    if problem.details.is_empty() {
        problem.details.push(Detail { field: String::new(), message: problem.message.clone() });
    }
    match problem.details.iter_mut().find(|detail| detail.field == SSN) {
        Some(detail) if detail.message == SSN_AGAIN => {}
        Some(detail) => detail.message = format!("{}, and {SSN_AGAIN}", detail.message),
        None => problem.details.push(Detail { field: SSN.to_owned(), message: SSN_AGAIN.to_owned() }),
    }
    problem
}

/// Whether a number typed before is missing and was not left out explicitly. It must not get lost unnoticed.
fn ssn_is_missing(typed: &FormValues) -> bool {
    typed.has(SSN_TYPED) && !typed.has(SSN) && !typed.has(SSN_LEFT_OUT)
}

/// The form for a new customer.
pub async fn new(visitor: Visitor, QueryParameters(asked): QueryParameters) -> PageResult {
    let typed = FormValues::default().with(ACCOUNT, asked.get("account"));
    crate::page::show(&FormPage::new(&visitor, None, typed, None))
}

/// The form to change a customer.
pub async fn edit(State(console): State<Console>, visitor: Visitor, Path(id): Path<String>) -> PageResult {
    let customer = fetch(&console, &visitor, &id).await?;
    let typed = as_typed(&customer);
    crate::page::show(&FormPage::new(&visitor, Some(&customer), typed, None))
}

/// Creates a customer.
pub async fn create(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    save(&console, &visitor, None, typed).await
}

/// Changes a customer.
pub async fn update(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
    typed: FormValues,
) -> PageResult {
    let customer = fetch(&console, &visitor, &id).await?;
    save(&console, &visitor, Some(&customer), typed).await
}

#[derive(Deserialize)]
struct Saved {
    customer_id: String,
}

async fn save(console: &Console, visitor: &Visitor, customer: Option<&Customer>, typed: FormValues) -> PageResult {
    let wanted = action(customer, &typed);
    if let Some(customer) = customer.filter(|customer| mark(customer) != typed.get(SHOWN)) {
        // If the form was submitted twice, the first submission already made the change and no difference is left.
        let is_done = !ssn_is_missing(&typed) && matches!(&wanted, Ok(action) if action.body() == Some(&json!({})));
        if is_done {
            let path = format!("{HERE}/{}", customer.customer_id);
            return Ok(redirect_saying(&path, &Notice::done("The customer was changed."), &visitor.context));
        }
        let problem = changed_meanwhile(customer, &typed);
        return show_again(&FormPage::new(visitor, Some(customer), typed, Some(problem)));
    }
    let done = match wanted {
        Ok(_) if ssn_is_missing(&typed) => Err(Problem::invalid(SSN, SSN_AGAIN).into()),
        Ok(action) => action.perform(&console.service, visitor.caller(), Some(typed.get("once"))).await,
        Err(problem) => Err(problem.into()),
    };
    match done {
        Ok(answer) => {
            let id = read::<Saved>(&answer)?.customer_id;
            let words = if customer.is_none() { "The customer was added." } else { "The customer was changed." };
            Ok(redirect_saying(&format!("{HERE}/{id}"), &Notice::done(words), &visitor.context))
        }
        Err(trouble) => show_again(&FormPage::new(visitor, customer, typed, Some(trouble.problem))),
    }
}

/// The fingerprint of the values in a customer's form.
fn mark(customer: &Customer) -> String {
    let digest = Sha256::digest(as_typed(customer).encoded().as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The error for a form that is older than the customer: each field that differs shows its current value.
fn changed_meanwhile(customer: &Customer, typed: &FormValues) -> Problem {
    let now = as_typed(customer);
    let words = "This customer was changed after you opened the form, by another user or in another window. Nothing \
                 was saved, and your entries are still in the form. Each field that differs shows the value that is \
                 stored now. Correct your entries; if you save again, they replace the stored values.";
    let differs = |field: &&Field| now.get(field.name) != typed.get(field.name);
    let told = PLAIN.iter().filter(differs).map(|field| Detail {
        field: field.name.to_owned(),
        message: match now.get(field.name) {
            "" => "the stored value is now empty".to_owned(),
            value => format!("the stored value is now \u{201c}{value}\u{201d}"),
        },
    });
    let mut details = vec![Detail { field: String::new(), message: words.to_owned() }];
    details.extend(told);
    let fields = own_fields(customer);
    if external_fields(typed.get(EXTERNAL)).as_ref() != Ok(&fields) {
        let value = typed_fields(&fields).replace('\n', ", ");
        let message = match value.as_str() {
            "" => "the stored value is now empty".to_owned(),
            value => format!("the stored value is now \u{201c}{value}\u{201d}"),
        };
        details.push(Detail { field: EXTERNAL.to_owned(), message });
    }
    Problem::invalid_fields(details)
}

/// The call for the values typed so far.
pub async fn preview(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let id = typed.get("changes").to_owned();
    let customer = if id.is_empty() { None } else { Some(fetch(&console, &visitor, &id).await?) };
    let (curl, refused) = match action(customer.as_ref(), &typed) {
        Ok(action) => (masked(action).curl(&visitor.context.base_url), Vec::new()),
        Err(problem) => {
            let form = Form::new(&fields(customer.is_none()), FormValues::default()).refused(&without_places(problem));
            (String::new(), form.error_lines())
        }
    };
    fragment(&CurlPiece { curl, refused })
}

/// The typed values as a call.
fn action(customer: Option<&Customer>, typed: &FormValues) -> Result<Action, Problem> {
    let zone = Zone::named("UTC").ok_or_else(|| Problem::internal("the time zone UTC is unknown"))?;
    let id_field = [ID_FIELD];
    let sent = match customer {
        None => checked_body::<NewCustomer>(&[&id_field, PLAIN, &[SSN_FIELD]].concat(), typed, &zone)?,
        Some(customer) => changes(&as_typed(customer), typed, &zone)?,
    };
    let mut sent = sent;
    let before = customer.map_or_else(Vec::new, own_fields);
    let given = external_fields(typed.get(EXTERNAL)).map_err(|rule| Problem::invalid(EXTERNAL, rule))?;
    if given != before {
        put(&mut sent, EXTERNAL, json!(given));
    }
    if typed.has(ACCOUNT) {
        let mut assigned = json!({"account_id": typed.get(ACCOUNT)});
        if typed.has(ROLE) {
            assigned[ROLE] = Value::from(typed.get(ROLE));
        }
        put(&mut sent, ACCOUNT, Value::from(vec![assigned]));
    }
    Ok(match customer {
        None => Action::CreateCustomer(sent),
        Some(customer) => Action::UpdateCustomer(customer.customer_id.clone(), sent),
    })
}

/// The fields that differ. Business details are sent as a whole.
fn changes(before: &FormValues, typed: &FormValues, zone: &Zone) -> Result<Value, Problem> {
    let differs = |field: &&Field| before.get(field.name) != typed.get(field.name);
    let is_business = |field: &&Field| field.name.starts_with("business_details.");
    let changed: Vec<Field> = PLAIN.iter().filter(differs).copied().collect();
    let business_changed = changed.iter().any(|field| is_business(&field));
    let mut sent: Vec<Field> = changed.iter().filter(|field| !is_business(field)).copied().collect();
    if business_changed {
        sent.extend(PLAIN.iter().filter(is_business));
    }
    let mut change = checked_body::<CustomerUpdate>(&[sent.as_slice(), &[SSN_FIELD]].concat(), typed, zone)?;
    for field in sent.iter().filter(|field| !is_business(field) && !typed.has(field.name)) {
        put(&mut change, field.name, Value::Null);
    }
    if business_changed && PLAIN.iter().filter(is_business).all(|field| !typed.has(field.name)) {
        put(&mut change, "business_details", Value::Null);
    }
    Ok(change)
}

/// The external fields of a customer, as they would be typed.
fn own_fields(customer: &Customer) -> Vec<ExternalField> {
    customer.external_fields.iter().map(ExternalField::from).collect()
}

/// A customer as form values.
fn as_typed(customer: &Customer) -> FormValues {
    let business = customer.business_details.as_ref();
    let of_business = |field: fn(&BusinessDetails) -> &Option<ShortText>| {
        business.and_then(|business| field(business).clone()).map(ShortText::into_string)
    };
    let kind = Some(customer.customer_type.name().to_owned());
    let name = of_business(|business| &business.business_name);
    let legal_name = of_business(|business| &business.business_legal_name);
    let trade_name = of_business(|business| &business.doing_business_as);
    let ein = of_business(|business| &business.business_ein);
    let values = [
        ("name_first", &customer.name_first),
        ("name_middle", &customer.name_middle),
        ("name_last", &customer.name_last),
        ("name_prefix", &customer.name_prefix),
        ("name_suffix", &customer.name_suffix),
        ("email", &customer.email),
        ("phone_number", &customer.phone_number),
        ("date_of_birth", &customer.date_of_birth),
        ("address_line_one", &customer.address_line_one),
        ("address_line_two", &customer.address_line_two),
        ("address_city", &customer.address_city),
        ("address_state", &customer.address_state),
        ("address_zip", &customer.address_zip),
        ("address_country_code", &customer.address_country_code),
        ("customer_type", &kind),
        ("business_details.business_name", &name),
        ("business_details.business_legal_name", &legal_name),
        ("business_details.doing_business_as", &trade_name),
        ("business_details.business_ein", &ein),
        ("verification_status", &customer.verification_status),
    ];
    let put = |typed: FormValues, (name, value): (&str, &Option<String>)| match value {
        Some(value) => typed.with(name, value.clone()),
        None => typed,
    };
    let typed = values.into_iter().fold(FormValues::default(), put);
    typed.with(EXTERNAL, typed_fields(&own_fields(customer)))
}

/// The call without the social security number.
fn masked(action: Action) -> Action {
    let hide = |mut sent: Value| {
        if sent.get(SSN).is_some() {
            put(&mut sent, SSN, Value::from("***-**-****"));
        }
        sent
    };
    match action {
        Action::CreateCustomer(sent) => Action::CreateCustomer(hide(sent)),
        Action::UpdateCustomer(id, sent) => Action::UpdateCustomer(id, hide(sent)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_sends_what_is_different() {
        let zone = Zone::named("UTC").expect("UTC");
        let before = FormValues::read(
            b"name_first=Ann&email=a%40example.com&business_details.business_name=Lee&customer_type=person",
        );
        let none = changes(&before, &before, &zone).expect("nothing");
        assert_eq!(none, json!({}));
        let after =
            before.clone().with("name_first", "Anna").with("email", "").with("business_details.business_ein", "1");
        let change = changes(&before, &after, &zone).expect("a change");
        let business = json!({"business_name": "Lee", "business_ein": "1"});
        assert_eq!(change, json!({"name_first": "Anna", "email": null, "business_details": business}));
        let gone = before.clone().with("business_details.business_name", "");
        assert_eq!(changes(&before, &gone, &zone).expect("a change"), json!({"business_details": null}));
    }

    #[test]
    fn a_secret_number_is_in_no_call_that_is_shown() {
        let typed = FormValues::read(b"name_first=Ann&ssn=123-45-6789");
        let shown = masked(action(None, &typed).expect("a call")).curl("http://x");
        assert!(!shown.contains("6789") && shown.contains("\"ssn\""), "{shown}");
    }
}
