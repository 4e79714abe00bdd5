//! The OpenAPI document: the handlers' descriptions, and what applies to all of them.
//!
//! A handler describes its request and its response. The rest follows from that and is added here, by the same rules
//! for all calls: the possible refusals, and that writes may carry an `Idempotency-Key`.

use crate::error::ErrorBody;
use crate::limits::ApiSettings;
use crate::routes;
use daybook_operations::Operation;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation as DescribedOperation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::Type;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, ObjectBuilder, OpenApi, Ref, RefOr, Required, Response, ResponseBuilder, Schema,
};
use utoipa::{OpenApi as _, PartialSchema as _, ToSchema as _};

/// Every refusal that the document names: status, name, meaning.
const REFUSALS: &[(&str, &str, &str)] = &[
    ("400", "Malformed", "The body is not JSON, or the request cannot be read"),
    ("401", "Unauthenticated", "The credentials are missing, unknown or revoked"),
    ("403", "Forbidden", "The caller may not do this, or the access token has expired"),
    ("404", "NotFound", "The resource does not exist, or it belongs to another organization"),
    ("409", "Conflict", "The request conflicts with the current state"),
    ("413", "TooLarge", "The body is too large"),
    ("415", "UnsupportedMediaType", "The content type of the body is not supported"),
    ("422", "Invalid", "A field or a parameter breaks a rule; `details` names it"),
    ("429", "TooManyRequests", "The key exceeded its limit of requests per second"),
    ("500", "InternalError", "An internal error; the header `x-request-id` identifies the request in the log"),
    ("501", "NotSupported", "A field requests a feature that is not supported; `details` names the alternative"),
    ("503", "Unavailable", "The database is unavailable, or the request timed out"),
];

/// The operations whose bodies have fields that are known but not supported.
const UNSUPPORTED_FIELDS: [Operation; 3] =
    [Operation::CreateProduct, Operation::CreateAccount, Operation::CreateCustomer];
/// The operations on secrets. Their responses are not kept for repeated calls.
const ABOUT_SECRETS: [Operation; 4] =
    [Operation::CreateToken, Operation::CreateKey, Operation::RevokeKey, Operation::RotateHmacKey];
/// The operations that can be about a missing object although their paths have no id.
const ABOUT_AN_OBJECT: [Operation; 4] =
    [Operation::CreateAccount, Operation::ListAccounts, Operation::RollAccount, Operation::RollAccountByPost];

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Daybook",
        description = "Loan servicing: products, accounts, payments and everything that follows from them, exact to \
            the cent.\n\n\
            Money is in whole cents, percentages are decimal numbers, times are RFC 3339 with an offset. Unknown \
            fields and parameters are refused. All errors have the same shape, and `help_url` leads to a page about \
            the error.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(ErrorBody)),
    security(("bearer" = [])),
    tags(
        (name = "Access", description = "Access tokens, API keys and the audit trail."),
        (name = "Products", description = "The terms of loans, and migration mode."),
        (name = "Customers", description = "Borrowers."),
        (name = "Accounts", description = "Loans: their current, past and future state."),
        (name = "Line items", description = "Payments, reversals, fees, offsets and refunds."),
        (name = "Loan changes", description = "Rates, due dates and instalments of a running loan."),
        (name = "Notifications", description = "Configurable notices of an account."),
        (name = "Webhooks", description = "Subscriptions to events, and the delivery of messages."),
        (name = "Bulk", description = "Many requests in one."),
        (name = "Rolling", description = "Processing an account up to a chosen moment, for tests."),
        (name = "Operations", description = "For operators of the server."),
    )
)]
struct Base;

/// The OpenAPI document of the API.
pub fn openapi() -> OpenApi {
    let (_, described) = routes::described(ApiSettings::default().bulk_limit_bytes).split_for_parts();
    let mut document = Base::openapi();
    document.merge(described);
    let components = document.components.get_or_insert_with(Components::new);
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some(format!("An access token from `{}`, or the client secret itself.", Operation::CreateToken)))
        .build();
    components.security_schemes.insert("bearer".to_owned(), SecurityScheme::Http(bearer).into());
    for (status, name, about) in REFUSALS {
        components.responses.insert((*name).to_owned(), refusal(status, about).into());
    }
    let (own, parts) = (ErrorBody::name().into_owned(), ErrorBody::schema());
    components.schemas.insert(own, parts);
    for item in document.paths.paths.values_mut() {
        complete(item);
    }
    document
}

fn refusal(status: &str, about: &str) -> Response {
    let schema = Ref::from_schema_name(ErrorBody::name());
    let mut response = ResponseBuilder::new()
        .description(about)
        .content("application/json", ContentBuilder::new().schema(Some(schema)).build());
    if matches!(status, "429" | "503") {
        let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
        let header = HeaderBuilder::new().schema(Some(seconds)).description(Some("Seconds to wait before a retry"));
        response = response.header("Retry-After", header.build());
    }
    response.build()
}

fn complete(item: &mut PathItem) {
    let all = [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
    for described in all.into_iter().flatten() {
        let id = described.operation_id.as_deref();
        let Some(operation) = Operation::ALL.iter().find(|known| Some(known.id()) == id) else { continue };
        if operation.method() != "GET" && !ABOUT_SECRETS.contains(operation) {
            described.parameters.get_or_insert_with(Vec::new).push(idempotency_key().into());
        }
        refuse(*operation, described);
    }
}

/// Adds the refusals that a call can get.
fn refuse(operation: Operation, described: &mut DescribedOperation) {
    let is_write = operation.method() != "GET";
    let needs_key = operation.right().is_some();
    let has_body = described.request_body.is_some();
    let is_about_an_object = operation.path().contains('{') || ABOUT_AN_OBJECT.contains(&operation);
    for (status, name, _) in REFUSALS {
        let can_be = match *status {
            "401" => needs_key || operation == Operation::CreateToken,
            "403" | "429" => needs_key,
            "404" => is_about_an_object,
            "400" | "413" | "415" => has_body,
            "409" => is_write && needs_key,
            // At least an unknown parameter is possible.
            "422" => needs_key || has_body,
            "501" => UNSUPPORTED_FIELDS.contains(&operation),
            "500" | "503" => operation != Operation::Healthz,
            _ => false,
        };
        if can_be {
            let reference = RefOr::Ref(Ref::new(format!("#/components/responses/{name}")));
            described.responses.responses.insert((*status).to_owned(), reference);
        }
    }
}

fn idempotency_key() -> Parameter {
    let about = "For 24 hours, a request with the same key and content gets the stored response; with other content, \
        it is refused.";
    let schema: RefOr<Schema> = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(255))
        .pattern(Some("^[!-~]{1,255}$"))
        .into();
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(about))
        .schema(Some(schema))
        .build()
}
