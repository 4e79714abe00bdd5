//! Query parameters. Each parameter may be given once; an unknown one is refused by name.

use crate::Api;
use crate::error::Refusal;
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use daybook_engine::time::Time;
use daybook_service::form::fields::{AccountStatus, DeliveryOutcome, Moment, Reference, SearchState};
use daybook_service::form::{BadForm, EventName, Roll};
use daybook_service::paging::Paging;
use daybook_service::problem::Problem;
use daybook_service::{AccountQuery, AuditQuery, CustomerQuery, DeliveryQuery, ItemQuery, MessageQuery};
use utoipa::IntoParams;

macro_rules! parameters {
    ($(#[$doc:meta])* $name:ident paged { $($rest:tt)* }) => {
        parameters! {
            $(#[$doc])* $name {
                /// The maximum number of entries. Default: 50.
                #[param(value_type = Option<u32>, minimum = 1, maximum = 200, example = 50)]
                limit,
                /// The cursor after which the page begins: `paging.starting_after` of the previous page.
                #[param(pattern = "^[A-Za-z0-9_-]*$", max_length = 800)]
                starting_after,
                /// The cursor before which the page ends: `paging.ending_before` of the next page.
                #[param(pattern = "^[A-Za-z0-9_-]*$", max_length = 800)]
                ending_before,
                $($rest)*
            }
        }

        impl $name {
            /// The requested part of the list.
            pub fn paging(&self) -> Result<Paging, Problem> {
                Paging::read(self.limit.as_deref(), self.starting_after.as_deref(), self.ending_before.as_deref())
            }
        }
    };
    // A list that changes at both ends while it is read: its pages lead one way.
    ($(#[$doc:meta])* $name:ident paged one way { $($rest:tt)* }) => {
        parameters! {
            $(#[$doc])* $name {
                /// The maximum number of entries. Default: 50.
                #[param(value_type = Option<u32>, minimum = 1, maximum = 200, example = 50)]
                limit,
                /// The cursor after which the page begins: `paging.starting_after` of the previous page.
                #[param(pattern = "^[A-Za-z0-9_-]*$", max_length = 800)]
                starting_after,
                $($rest)*
            }
        }

        impl $name {
            /// The requested part of the list.
            pub fn paging(&self) -> Result<Paging, Problem> {
                Paging::read(self.limit.as_deref(), self.starting_after.as_deref(), None)
            }
        }
    };
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default, IntoParams)]
        #[into_params(parameter_in = Query)]
        pub struct $name {
            $($(#[$about])* pub $field: Option<String>,)*
        }

        impl FromRequestParts<Api> for $name {
            type Rejection = Refusal;

            async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<$name, Refusal> {
                let mut read = $name::default();
                for (name, value) in given(parts)? {
                    let place = match name.as_str() {
                        $(stringify!($field) => &mut read.$field,)*
                        _ => return Err(unknown(&name, &[$(stringify!($field)),*]).into()),
                    };
                    if place.replace(value).is_some() {
                        return Err(Problem::invalid(name, "is given twice").into());
                    }
                }
                Ok(read)
            }
        }
    };
}

parameters! {
    /// A page of a list.
    PageParameters paged {}
}

parameters! {
    /// What the lines of a bulk call rely on.
    BulkParameters {
        /// A product that must be in migration mode: a line that would be processed instead of held is refused with
        /// 409. This protects a load that is under way when migration mode is turned off.
        #[param(pattern = "^[A-Za-z0-9._:~-]{1,128}$", example = "auto-36")]
        held_by,
    }
}

parameters! {
    /// When the answer is about.
    AsOfParameters {
        /// Shows it as of this moment; a future state assumes that no further events happen. Default: now.
        #[param(format = DateTime, example = "2025-02-15T09:00:00-05:00")]
        effective_as_of,
    }
}

parameters! {
    /// Whether the request only shows what it would do.
    PreviewParameters {
        /// True makes the same checks, stores nothing and returns what the request would do. Default: false.
        #[param(value_type = Option<bool>, example = false)]
        preview,
    }
}

impl PreviewParameters {
    /// Whether the request is a preview.
    pub fn is_preview(&self) -> Result<bool, Problem> {
        match self.preview.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Problem::invalid("preview", "must be true or false")),
        }
    }
}

parameters! {
    /// Which accounts, and when the answer is about.
    AccountParameters paged {
        /// Only accounts of this product.
        #[param(pattern = "^[A-Za-z0-9._:~-]{1,128}$", example = "auto-36")]
        product_id,
        /// Only accounts with this status.
        #[param(value_type = Option<AccountStatus>, inline)]
        account_status,
        /// Shows them as of this moment; a future state assumes that no further events happen. Default: now.
        #[param(format = DateTime, example = "2025-02-15T09:00:00-05:00")]
        effective_as_of,
        /// Only accounts that match: each word is the beginning of a word in an external field, or the id begins with
        /// the text, or one of the account's customers matches.
        #[param(max_length = 200, example = "jane doe")]
        search,
        /// Only accounts that are at least this many days past due now. Cannot be combined with `effective_as_of`.
        #[param(value_type = Option<u32>, minimum = 0, maximum = 36500, example = 30)]
        days_past_due_at_least,
        /// Only accounts that are at most this many days past due now. Cannot be combined with `effective_as_of`.
        #[param(value_type = Option<u32>, minimum = 0, maximum = 36500, example = 59)]
        days_past_due_at_most,
    }
}

parameters! {
    /// Which customers.
    CustomerParameters paged {
        /// Only customers that match: each word is the beginning of a word in a name, the email address or an external
        /// field, or the id begins with the text.
        #[param(max_length = 200, example = "jane doe")]
        search,
    }
}

parameters! {
    /// Which line items, and when the answer is about.
    ItemParameters paged {
        /// Only items of this type.
        #[param(pattern = "^[A-Z_]{1,40}$", example = "PAYMENT")]
        line_item_type,
        /// Only items with this status.
        #[param(pattern = "^[A-Z_]{1,40}$", example = "VALID")]
        line_item_status,
        /// Only items effective after this moment.
        #[param(format = DateTime, example = "2025-01-01T00:00:00-05:00")]
        effective_at_after,
        /// Only items effective before this moment.
        #[param(format = DateTime, example = "2025-12-31T00:00:00-05:00")]
        effective_at_before,
        /// Shows them as of this moment; a future state assumes that no further events happen. Default: now.
        #[param(format = DateTime, example = "2025-02-15T09:00:00-05:00")]
        effective_as_of,
    }
}

parameters! {
    /// Which attempts.
    DeliveryParameters paged one way {
        /// Only attempts to this subscription.
        #[param(pattern = "^[A-Za-z0-9._:~-]{1,128}$")]
        webhook_uuid,
        /// Only attempts to deliver this event.
        #[param(value_type = Option<EventName>, inline)]
        event,
        /// Only attempts to deliver messages about this account.
        #[param(pattern = "^[A-Za-z0-9._:~-]{1,128}$", example = "loan-1")]
        account_id,
        /// Only attempts with this outcome.
        #[param(value_type = Option<DeliveryOutcome>, inline)]
        outcome,
        /// Only attempts made at this moment or later.
        #[param(format = DateTime, example = "2025-01-01T00:00:00Z")]
        since,
        /// Only attempts made before this moment.
        #[param(format = DateTime, example = "2025-12-31T00:00:00Z")]
        until,
    }
}

parameters! {
    /// Which records.
    AuditParameters paged one way {
        /// Only records of this key (its client id), user (`person:` and the id) or `operator`.
        #[param(pattern = "^[A-Za-z0-9._:~ -]{1,300}$")]
        actor,
        /// Only records of this action.
        #[param(pattern = "^[a-z_]{1,100}$", example = "record_payment")]
        action,
        /// Only records about the subject with this id.
        #[param(pattern = "^[^\\x00]{1,300}$", example = "loan-1")]
        subject_id,
        /// Only the record of this request. Has no index: the search examines 20,000 records for a page.
        #[param(pattern = "^[A-Za-z0-9._:~-]{1,128}$")]
        request_id,
        /// Only records written at this moment or later.
        #[param(format = DateTime, example = "2025-01-01T00:00:00Z")]
        since,
        /// Only records written before this moment.
        #[param(format = DateTime, example = "2025-12-31T00:00:00Z")]
        until,
    }
}

parameters! {
    /// Which dead letters.
    DeadLetterParameters paged one way {
        /// Only dead letters of this subscription.
        #[param(pattern = "^[A-Za-z0-9._:~-]{1,128}$")]
        webhook_uuid,
        /// Only dead letters of this event.
        #[param(value_type = Option<EventName>, inline)]
        event,
        /// Only dead letters about this account.
        #[param(pattern = "^[A-Za-z0-9._:~-]{1,128}$", example = "loan-1")]
        account_id,
        /// Only messages that became dead letters at this moment or later.
        #[param(format = DateTime, example = "2025-01-01T00:00:00Z")]
        since,
        /// Only messages that became dead letters before this moment.
        #[param(format = DateTime, example = "2025-12-31T00:00:00Z")]
        until,
    }
}

parameters! {
    /// Which messages.
    MessageParameters paged one way {
        /// Only the message with this id.
        #[param(pattern = "^[A-Za-z0-9._:~-]{1,300}$")]
        event_id,
        /// Only messages about this account.
        #[param(pattern = "^[A-Za-z0-9._:~-]{1,128}$", example = "loan-1")]
        account_id,
        /// Only messages of this event.
        #[param(value_type = Option<EventName>, inline)]
        event,
        /// Only messages in this state. `PENDING`, `DELIVERED` and `DEAD` mean the state for at least one URL.
        #[param(value_type = Option<SearchState>, inline)]
        state,
        /// Only messages that this subscription gets. With `state`: only those in that state at this subscription.
        #[param(pattern = "^[A-Za-z0-9._:~-]{1,128}$")]
        webhook_uuid,
        /// Only messages that were recorded at this moment or later.
        #[param(format = DateTime, example = "2025-01-01T00:00:00Z")]
        since,
        /// Only messages that were recorded before this moment.
        #[param(format = DateTime, example = "2025-12-31T00:00:00Z")]
        until,
    }
}

impl MessageParameters {
    /// The parsed query for messages.
    pub fn query(self) -> Result<MessageQuery, Problem> {
        let names = || SearchState::ALL.iter().map(|state| state.name()).collect::<Vec<_>>().join(", ");
        let state = self.state.map(|text| {
            let known = SearchState::ALL.iter().copied().find(|known| known.name() == text);
            known.ok_or_else(|| Problem::invalid("state", format!("must be one of {}", names())))
        });
        if self.event_id.as_ref().is_some_and(|id| id.is_empty() || id.contains('\0')) {
            return Err(Problem::invalid("event_id", "must be the id of an event"));
        }
        let reference =
            |name: &str, text: Option<String>| text.map(|text| read(name, Reference::read(&text))).transpose();
        Ok(MessageQuery {
            event_id: self.event_id,
            account_id: reference("account_id", self.account_id)?,
            event: self.event.map(|text| read("event", EventName::read(&text))).transpose()?,
            state: state.transpose()?,
            webhook_uuid: reference("webhook_uuid", self.webhook_uuid)?,
            since: moment("since", self.since.as_deref())?,
            until: moment("until", self.until.as_deref())?,
        })
    }
}

impl DeliveryParameters {
    /// The parsed query for attempts.
    pub fn query(self) -> Result<DeliveryQuery, Problem> {
        let named = |text: String| DeliveryOutcome::ALL.iter().copied().find(|known| known.name() == text);
        let outcome = self.outcome.map(|text| {
            let names: Vec<&str> = DeliveryOutcome::ALL.iter().map(|outcome| outcome.name()).collect();
            named(text).ok_or_else(|| Problem::invalid("outcome", format!("must be one of {}", names.join(", "))))
        });
        let others = DeadLetterParameters {
            limit: None,
            starting_after: None,
            webhook_uuid: self.webhook_uuid,
            event: self.event,
            account_id: self.account_id,
            since: self.since,
            until: self.until,
        };
        Ok(DeliveryQuery { outcome: outcome.transpose()?, ..others.query()? })
    }
}

impl AuditParameters {
    /// The parsed query for audit records.
    pub fn query(self) -> Result<AuditQuery, Problem> {
        Ok(AuditQuery {
            actor: self.actor,
            action: self.action,
            subject_id: self.subject_id,
            request_id: self.request_id,
            since: moment("since", self.since.as_deref())?,
            until: moment("until", self.until.as_deref())?,
        })
    }
}

impl DeadLetterParameters {
    /// The parsed query for dead letters.
    pub fn query(self) -> Result<DeliveryQuery, Problem> {
        let reference =
            |name: &str, text: Option<String>| text.map(|text| read(name, Reference::read(&text))).transpose();
        Ok(DeliveryQuery {
            webhook_uuid: reference("webhook_uuid", self.webhook_uuid)?,
            event: self.event.map(|text| read("event", EventName::read(&text))).transpose()?,
            account_id: reference("account_id", self.account_id)?,
            outcome: None,
            since: moment("since", self.since.as_deref())?,
            until: moment("until", self.until.as_deref())?,
        })
    }
}

impl AsOfParameters {
    /// The moment that the response is about.
    pub fn as_of(&self) -> Result<Option<Time>, Problem> {
        moment("effective_as_of", self.effective_as_of.as_deref())
    }
}

impl AccountParameters {
    /// The parsed query for accounts.
    pub fn query(self) -> Result<AccountQuery, Problem> {
        let as_of = moment("effective_as_of", self.effective_as_of.as_deref())?;
        let product_id = self.product_id.map(|id| read("product_id", Reference::read(&id)));
        let product_id = product_id.transpose()?.map(Reference::into_string);
        let known = |status: &String| AccountStatus::ALL.iter().any(|known| known.name() == *status);
        if self.account_status.as_ref().is_some_and(|status| !known(status)) {
            let names: Vec<&str> = AccountStatus::ALL.iter().map(|status| status.name()).collect();
            return Err(Problem::invalid("account_status", format!("must be one of {}", names.join(", "))));
        }
        Ok(AccountQuery {
            product_id,
            account_status: self.account_status,
            as_of,
            text: searched(self.search)?,
            days_past_due_at_least: days("days_past_due_at_least", self.days_past_due_at_least.as_deref())?,
            days_past_due_at_most: days("days_past_due_at_most", self.days_past_due_at_most.as_deref())?,
            ..AccountQuery::default()
        })
    }
}

impl CustomerParameters {
    /// The parsed query for customers.
    pub fn query(self) -> Result<CustomerQuery, Problem> {
        Ok(CustomerQuery { text: searched(self.search)? })
    }
}

impl ItemParameters {
    /// The parsed query for line items.
    pub fn query(self) -> Result<ItemQuery, Problem> {
        Ok(ItemQuery {
            effective_at_after: moment("effective_at_after", self.effective_at_after.as_deref())?,
            effective_at_before: moment("effective_at_before", self.effective_at_before.as_deref())?,
            as_of: moment("effective_as_of", self.effective_as_of.as_deref())?,
            line_item_type: self.line_item_type,
            line_item_status: self.line_item_status,
        })
    }
}

/// A call that takes no parameters.
#[derive(Debug)]
pub struct NoParameters;

impl FromRequestParts<Api> for NoParameters {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<NoParameters, Refusal> {
        match given(parts)?.first() {
            None => Ok(NoParameters),
            Some((name, _)) => Err(unknown(name, &[]).into()),
        }
    }
}

/// Parameters of a roll, which may also be in the body.
#[derive(Debug)]
pub struct RollParameters(pub Roll);

impl FromRequestParts<Api> for RollParameters {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<RollParameters, Refusal> {
        let given = given(parts)?;
        let pairs = given.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let roll: Result<Roll, BadForm> = Roll::from_query(pairs);
        Ok(RollParameters(roll?))
    }
}

fn given(parts: &Parts) -> Result<Vec<(String, String)>, Refusal> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    let Query(pairs) =
        pairs.map_err(|error| Refusal::new("malformed_request", format!("the query string is invalid: {error}")))?;
    Ok(pairs)
}

fn unknown(name: &str, known: &[&str]) -> Problem {
    let shown: String = name.chars().take(100).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Problem::invalid(shown, format!("is not a known parameter; the known ones are: {known}"))
}

fn read<T>(name: &str, value: Result<T, String>) -> Result<T, Problem> {
    value.map_err(|rule| Problem::invalid(name, rule))
}

/// The most characters of a search.
const LONGEST_SEARCH: usize = 200;
/// The most days past due in a query: about a hundred years.
const MOST_DAYS: u32 = 36_500;

fn searched(text: Option<String>) -> Result<Option<String>, Problem> {
    match text {
        Some(text) if text.chars().count() > LONGEST_SEARCH => {
            Err(Problem::invalid("search", format!("must have at most {LONGEST_SEARCH} characters")))
        }
        text => Ok(text),
    }
}

fn days(name: &str, text: Option<&str>) -> Result<Option<u32>, Problem> {
    let rule = || Problem::invalid(name, format!("must be a whole number from 0 to {MOST_DAYS}"));
    text.map(|text| text.parse().ok().filter(|days| *days <= MOST_DAYS).ok_or_else(rule)).transpose()
}

/// Reads a moment. An unescaped plus sign arrives as a space.
fn moment(name: &str, text: Option<&str>) -> Result<Option<Time>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let moment = match text.rsplit_once(' ') {
        Some((local, offset)) if local.contains(['T', 't']) => Moment::read(&format!("{local}+{offset}")),
        _ => Moment::read(text),
    };
    read(name, moment).map(|moment| Some(*moment.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plus_sign_may_arrive_as_a_space() {
        let expected = Time::parse("2025-03-01T00:00:00+01:00");
        for text in ["2025-03-01T00:00:00+01:00", "2025-03-01T00:00:00 01:00", "2025-02-28T23:00:00Z"] {
            assert_eq!(moment("at", Some(text)), Ok(expected), "{text}");
        }
        let problem = moment("at", Some("2025-03-01T00:00:00")).expect_err("there is no offset");
        assert_eq!(problem.details[0].field, "at");
    }
}
