//! The filter of deliveries and dead letters. It is in the URL, and the CSV download and the next page keep it.

use crate::display::typed_moment;
use crate::form::FormValues;
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_service::DeliveryQuery;
use daybook_service::form::EventName;
use daybook_service::form::fields::{DeliveryOutcome, Reference};
use daybook_service::problem::{Detail, Problem};
use daybook_service::view::Subscription;
use daybook_service::webhooks::events::NAMES;

/// The fields of a filter, in order.
const FIELDS: [&str; 6] = ["webhook_uuid", "event", "account_id", "outcome", "since", "until"];

/// A filter as typed.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    typed: FormValues,
    /// The subscriptions to choose from.
    pub subscriptions: Vec<Subscription>,
}

impl Filter {
    /// Reads the filter from the query parameters.
    pub fn new(asked: &FormValues, subscriptions: Vec<Subscription>) -> Filter {
        let keep =
            |kept: FormValues, name: &&str| if asked.has(name) { kept.with(name, asked.get(name)) } else { kept };
        Filter { typed: FIELDS.iter().fold(FormValues::default(), keep), subscriptions }
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> &str {
        self.typed.get(name)
    }

    /// Whether no filter is set.
    pub fn is_empty(&self) -> bool {
        FIELDS.iter().all(|name| !self.typed.has(name))
    }

    /// The names of all events.
    pub fn events(&self) -> &'static [&'static str] {
        &NAMES
    }

    /// The URL of the selected subscription.
    pub fn url_words(&self) -> &str {
        let uuid = self.get("webhook_uuid");
        self.subscriptions.iter().find(|one| one.webhook_uuid == uuid).map_or(uuid, |one| one.webhook_url.as_str())
    }

    /// The filter as a query of the service. The error names every invalid field.
    pub fn query(&self) -> Result<DeliveryQuery, Problem> {
        let mut wrong = Vec::new();
        let query = DeliveryQuery {
            webhook_uuid: self.read("webhook_uuid", &mut wrong, Reference::read),
            event: self.read("event", &mut wrong, EventName::read),
            account_id: self.read("account_id", &mut wrong, Reference::read),
            outcome: self.read("outcome", &mut wrong, outcome),
            since: self.read("since", &mut wrong, moment),
            until: self.read("until", &mut wrong, moment),
        };
        if wrong.is_empty() { Ok(query) } else { Err(Problem::invalid_fields(wrong)) }
    }

    fn read<T, E: ToString>(
        &self,
        name: &str,
        wrong: &mut Vec<Detail>,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = Some(self.get(name)).filter(|text| !text.is_empty())?;
        let refuse = |rule: E| wrong.push(Detail { field: name.to_owned(), message: rule.to_string() });
        read(text).map_err(refuse).ok()
    }

    /// A link to a path with this filter and more parameters.
    pub fn at(&self, path: &str, more: &[(&str, &str)]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for name in FIELDS.iter().filter(|name| self.typed.has(name)) {
            query.append_pair(name, self.get(name));
        }
        query.extend_pairs(more);
        match query.finish() {
            none if none.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }
}

fn outcome(text: &str) -> Result<DeliveryOutcome, &'static str> {
    match text {
        "DELIVERED" => Ok(DeliveryOutcome::Delivered),
        "FAILED" => Ok(DeliveryOutcome::Failed),
        _ => Err("must be DELIVERED or FAILED"),
    }
}

/// Parses a typed time in UTC.
pub fn moment(text: &str) -> Result<Time, &'static str> {
    let utc = Zone::named("UTC");
    utc.and_then(|utc| typed_moment(text, &utc)).ok_or("must be a date, or a date and a time, such as 2025-02-15 09:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_kept_by_links_and_read_as_it_was_typed() {
        let asked = FormValues::read(
            b"event=payment_missed&since=2025-02-15T09%3A00&account_id=a%3A1&format=csv&starting_after=x",
        );
        let filter = Filter::new(&asked, Vec::new());
        let query = filter.query().expect("all is right");
        assert_eq!(query.since, Time::parse("2025-02-15T09:00:00Z"));
        assert_eq!(query.event.map(|event| event.name()), Some("payment_missed"));
        let link = filter.at("/d", &[("format", "csv")]);
        assert_eq!(link, "/d?event=payment_missed&account_id=a%3A1&since=2025-02-15T09%3A00&format=csv");
        assert_eq!(Filter::default().at("/d", &[]), "/d");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let asked = FormValues::read(b"event=party&outcome=MAYBE&since=soon&webhook_uuid=%3Cscript%3E");
        let problem = Filter::new(&asked, Vec::new()).query().expect_err("nothing of it is right");
        let named: Vec<&str> = problem.details.iter().map(|detail| detail.field.as_str()).collect();
        assert_eq!(named, ["webhook_uuid", "event", "outcome", "since"]);
    }
}
