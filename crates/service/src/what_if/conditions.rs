//! Conditions: which accounts a what-if compares.
//!
//! A condition is a text such as `days_past_due>=30`. An account is compared if it meets all conditions. Conditions that
//! the account's row answers are checked before it is folded; days past due are known only afterwards.

use crate::form::fields::ExternalField;
use crate::problem::Problem;
use daybook_engine::status::{AccountStanding, Status};
use daybook_store::records::AccountNow;
use serde::Deserialize;

/// The conditions, for people.
pub const CONDITIONS_HELP: &str = "address_zip=10001,10002, account_status=ACTIVE, \
    account_status=SUSPENDED/DELINQUENT, days_past_due>=30, external_fields.KEY=VALUE";

/// The largest number of conditions.
const MOST_CONDITIONS: usize = 20;
/// The largest number of values of one condition.
const MOST_VALUES: usize = 10_000;

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    /// A customer of the account has one of these postal codes.
    Zip(Vec<String>),
    /// The status is one of these: a standing, or a standing with its reason.
    Status(Vec<String>),
    /// The oldest unpaid due date is at least this many days ago.
    DaysPastDue(i32),
    /// An external field has one of these values.
    External { key: String, values: Vec<String> },
}

/// All conditions of a what-if.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conditions(Vec<Condition>);

/// The part of a customer that conditions look at.
#[derive(Debug, Deserialize)]
struct Address {
    #[serde(default)]
    address_zip: Option<String>,
}

impl Conditions {
    /// Parses the conditions.
    pub(super) fn parse(texts: &[String]) -> Result<Conditions, Problem> {
        if texts.len() > MOST_CONDITIONS {
            return Err(Problem::invalid("where", format!("must have at most {MOST_CONDITIONS} conditions")));
        }
        let parsed = texts.iter().map(|text| Condition::parse(text));
        Ok(Conditions(parsed.collect::<Result<_, _>>().map_err(|rule| Problem::invalid("where", rule))?))
    }

    /// Whether the bodies of the account's customers are needed.
    pub(super) fn need_customers(&self) -> bool {
        self.0.iter().any(|condition| matches!(condition, Condition::Zip(_)))
    }

    /// Whether the stored account meets the conditions that it can answer.
    pub(super) fn meets(&self, now: &AccountNow, fields: &[ExternalField], customers: &[String]) -> bool {
        self.0.iter().all(|condition| match condition {
            Condition::Zip(zips) => customers.iter().any(|body| {
                let address: Option<Address> = serde_json::from_str(body).ok();
                address.and_then(|address| address.address_zip).is_some_and(|zip| zips.contains(&zip))
            }),
            Condition::Status(statuses) => {
                let pair = now.substatus.as_ref().map(|reason| format!("{}/{reason}", now.status));
                statuses.iter().any(|wanted| *wanted == now.status || pair.as_ref() == Some(wanted))
            }
            Condition::DaysPastDue(_) => true,
            Condition::External { key, values } => fields
                .iter()
                .any(|field| field.key.as_str() == key && values.iter().any(|value| field.value.as_str() == value)),
        })
    }

    /// Whether an account with so many days past due meets the conditions about them.
    pub(super) fn meets_days_past_due(&self, days: i32) -> bool {
        self.0.iter().all(|condition| !matches!(condition, Condition::DaysPastDue(least) if days < *least))
    }
}

impl Condition {
    fn parse(text: &str) -> Result<Condition, String> {
        let text = text.trim();
        if let Some(days) = text.strip_prefix("days_past_due>=") {
            let days = days.trim().parse().ok().filter(|days| *days >= 0);
            let days = days.ok_or_else(|| format!("\"{text}\": days_past_due>= must be followed by a whole number"))?;
            return Ok(Condition::DaysPastDue(days));
        }
        let unknown = || format!("\"{text}\" is not a condition; conditions are {CONDITIONS_HELP}");
        let (field, value) = text.split_once('=').ok_or_else(unknown)?;
        let field = field.trim();
        if let Some(key) = field.strip_prefix("external_fields.") {
            return Ok(Condition::External { key: key.to_owned(), values: vec![value.trim().to_owned()] });
        }
        let values: Vec<String> = value.split(',').map(|value| value.trim().to_owned()).collect();
        if values.len() > MOST_VALUES {
            return Err(format!("\"{field}\" must have at most {MOST_VALUES} values"));
        }
        match field {
            "address_zip" => Ok(Condition::Zip(values)),
            "account_status" => match values.iter().find(|value| !is_status(value)) {
                Some(unknown) => Err(format!("\"{unknown}\" is not a status, such as ACTIVE or SUSPENDED/DELINQUENT")),
                None => Ok(Condition::Status(values)),
            },
            _ => Err(unknown()),
        }
    }
}

fn is_status(text: &str) -> bool {
    let standings = [AccountStanding::Active, AccountStanding::Suspended, AccountStanding::Closed];
    standings.iter().any(|standing| standing.name() == text) || Status::parse_pair(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meets(text: &str, customers: &[&str]) -> bool {
        let conditions = Conditions::parse(&[text.to_owned()]).expect("a condition");
        let now = AccountNow { status: "SUSPENDED".to_owned(), substatus: Some("DELINQUENT".to_owned()), ..now() };
        let fields: Vec<ExternalField> =
            serde_json::from_str(r#"[{"key":"region","value":"a=b"}]"#).expect("external fields");
        let customers: Vec<String> = customers.iter().map(|body| (*body).to_owned()).collect();
        conditions.meets(&now, &fields, &customers)
    }

    fn now() -> AccountNow {
        use daybook_engine::time::Time;
        AccountNow {
            updated_at: Time::BEGINNING,
            state: Vec::new(),
            profile: "{}".into(),
            processed_through: None,
            rolled_to: None,
            next_moment: None,
            oldest_unpaid_due: None,
            status: "ACTIVE".to_owned(),
            substatus: None,
            next_seq: 1,
            settled_seq: 0,
            held_events: 0,
            scheduled_events: 0,
            message_seq: 0,
            failure: None,
            balance: 0,
        }
    }

    #[test]
    fn an_account_is_compared_if_it_meets_the_condition() {
        let ann = r#"{"name_first":"Ann","address_zip":"10001"}"#;
        for (condition, is_met) in [
            ("address_zip=10002, 10001", true),
            ("address_zip=10002", false),
            ("account_status=SUSPENDED", true),
            ("account_status=ACTIVE,SUSPENDED/DELINQUENT", true),
            ("account_status=SUSPENDED/FRAUD", false),
            ("external_fields.region=a=b", true),
            ("external_fields.region=a", false),
            ("external_fields.area=a=b", false),
            ("days_past_due>=30", true),
        ] {
            assert_eq!(meets(condition, &[r#"{"name_first":"Ben"}"#, ann]), is_met, "{condition}");
        }
        assert!(!meets("address_zip=10001", &[]));
    }

    #[test]
    fn days_past_due_are_compared_with_the_folded_account() {
        let conditions = Conditions::parse(&["days_past_due>=30".to_owned()]).expect("a condition");
        assert_eq!([29, 30, 31].map(|days| conditions.meets_days_past_due(days)), [false, true, true]);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "zip=1", "days_past_due=30", "days_past_due>=-1", "account_status=LATE", "address_zip"] {
            assert!(Conditions::parse(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
