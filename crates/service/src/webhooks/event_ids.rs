//! The ids of events: `event_id` in a message, and the `webhook-id` header of each delivery.
//!
//! An id is derived from its subject, so that folding again gives the same id: the mark of the organization, the
//! object, and a number. The mark is drawn at random when the organization is created and is unique in the
//! installation. So two organizations that use the same account id never share an event id.
//!
//! | about | id |
//! |---|---|
//! | an account | `dbk_evt_3f9a0c2b71.loan-1.42`: its message number 42 |
//! | a customer | `dbk_evt_3f9a0c2b71.ada.c2`: its version 2 |
//! | the release of a product | `dbk_evt_3f9a0c2b71.auto-12.m3`: its mode of version 3 |
//! | a pause of a subscription | `dbk_evt_0b0e7a52-….p1740830400000000`: the moment |
//! | a test | `dbk_evt_` and 20 random letters |
//!
//! The last part shows the type of the object, so ids of different types differ too. Messages written before
//! organizations had marks keep their ids, without the mark.

use crate::ids::mint_id;
use daybook_engine::time::Time;
use std::sync::Arc;

/// The prefix of all event ids.
const EVENT: &str = "dbk_evt_";

/// Makes the ids of one organization's events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventIds {
    mark: Arc<str>,
}

impl EventIds {
    /// For the organization with this mark.
    pub fn new(mark: &str) -> EventIds {
        EventIds { mark: Arc::from(mark) }
    }

    /// The id of a message about an account.
    pub fn of_account(&self, account_id: &str, sequence: i64) -> String {
        format!("{EVENT}{}.{account_id}.{sequence}", self.mark)
    }

    /// The id of a message about an account that was written before organizations had marks.
    pub fn of_account_before_marks(account_id: &str, sequence: i64) -> String {
        format!("{EVENT}{account_id}.{sequence}")
    }

    /// The id of a message about a customer, with the customer's version at that time.
    pub fn of_customer(&self, customer_id: &str, version: i64) -> String {
        format!("{EVENT}{}.{customer_id}.c{version}", self.mark)
    }

    /// The id of the message that a product's held events were released.
    pub fn of_release(&self, product_id: &str, mode_version: i64) -> String {
        format!("{EVENT}{}.{product_id}.m{mode_version}", self.mark)
    }

    /// The id of the message that a subscription was paused. The subscription's UUID is already unique.
    pub fn of_pause(webhook_uuid: &str, at: Time) -> String {
        format!("{EVENT}{webhook_uuid}.p{}", at.micros())
    }

    /// The id of a test event: a new one each time.
    pub fn of_test() -> String {
        mint_id("evt")
    }

    /// The account id and message number in an event id, if it is about an account.
    pub fn account_and_number<'a>(&self, event_id: &'a str) -> Option<(&'a str, i64)> {
        let rest = event_id.strip_prefix(EVENT)?;
        let marked = rest.strip_prefix(&*self.mark).and_then(|rest| rest.strip_prefix('.'));
        let (account, number) = marked.unwrap_or(rest).rsplit_once('.')?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
        Some((account, number.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn an_id_about_an_account_names_it() {
        let ids = EventIds::new("3f9a0c2b71");
        for account in ["a1", "a.b.c2", "3f9a0c2b71", "3f9a0c2b71.x", "7.7"] {
            assert_eq!(ids.account_and_number(&ids.of_account(account, 12)), Some((account, 12)), "{account}");
        }
        assert_eq!(ids.of_account("loan-1", 42), "dbk_evt_3f9a0c2b71.loan-1.42");
    }

    #[test]
    fn an_id_from_before_there_were_marks_names_its_account() {
        let ids = EventIds::new("3f9a0c2b71");
        assert_eq!(ids.account_and_number("dbk_evt_a1.7"), Some(("a1", 7)));
        assert_eq!(ids.account_and_number("dbk_evt_a.b.c2.12"), Some(("a.b.c2", 12)));
    }

    #[test]
    fn other_ids_name_no_account() {
        let ids = EventIds::new("3f9a0c2b71");
        let others = [ids.of_customer("c1", 3), ids.of_release("auto", 2), EventIds::of_test()];
        let texts = ["dbk_evt_c1.c3", "a1.7", "dbk_evt_a1.", "dbk_evt_3f9a0c2b71.7", ""];
        for other in others.iter().map(String::as_str).chain(texts) {
            let named = ids.account_and_number(other);
            assert!(named.is_none(), "{other}: {named:?}");
        }
    }

    #[test]
    fn ids_of_two_organizations_and_of_different_things_differ() {
        let mut seen = HashSet::new();
        for mark in ["3f9a0c2b71", "0c2b713f9a"] {
            let ids = EventIds::new(mark);
            for name in ["x", "x.1", "x.c1", "x.m1", "0c2b713f9a.x"] {
                for id in [ids.of_account(name, 1), ids.of_customer(name, 1), ids.of_release(name, 1)] {
                    assert!(seen.insert(id.clone()), "{id}");
                }
            }
        }
    }
}
