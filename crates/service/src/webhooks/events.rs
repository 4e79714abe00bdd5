//! Every type of event that webhooks announce: one list, for subscriptions, for the catalogue and for announcing.

use daybook_store::outbox::{TO_EVERYBODY, TO_THE_OTHERS};

/// Whether an event is always sent to subscribers, or only for accounts that configured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventCategory {
    /// It is always sent.
    Default,
    /// It is sent for accounts that configured it.
    Configurable,
}

impl EventCategory {
    /// The name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            EventCategory::Default => "DEFAULT",
            EventCategory::Configurable => "CONFIGURABLE",
        }
    }
}

/// The type of an event's `object`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    /// An account.
    Account,
    /// A line item.
    LineItem,
    /// A customer.
    Customer,
    /// A release of a product.
    Release,
    /// A subscription.
    Subscription,
    /// Only a sentence.
    Sentence,
}

/// A type of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventType {
    /// Its name.
    pub name: &'static str,
    /// Whether it is always sent.
    pub kind: EventCategory,
    /// When it is sent, as a sentence.
    pub sent_when: &'static str,
    /// The type of its `object`.
    pub thing: Thing,
    /// Fields of `data` that this event has in addition to the common ones.
    pub carries: &'static [&'static str],
    /// Further fields of `data` that this event may have.
    pub may_carry: &'static [&'static str],
}

const fn event(name: &'static str, thing: Thing, sent_when: &'static str) -> EventType {
    EventType { name, kind: EventCategory::Default, sent_when, thing, carries: &[], may_carry: &[] }
}

impl EventType {
    const fn carrying(self, carries: &'static [&'static str]) -> EventType {
        EventType { carries, ..self }
    }

    const fn may_carry(self, may_carry: &'static [&'static str]) -> EventType {
        EventType { may_carry, ..self }
    }

    const fn configurable(self) -> EventType {
        EventType { kind: EventCategory::Configurable, ..self }
    }
}

/// Every event, in the order of the interface.
pub const EVENTS: &[EventType] = &[
    event("account_create", Thing::Account, "An account was opened."),
    event(
        "account_update",
        Thing::Account,
        "Customers, external fields or notification settings of an account changed, or its loan was changed. Payments do \
         not cause this event.",
    )
    .may_carry(&["change"]),
    event("schedule_change", Thing::Account, "A change of a loan altered the date or the amount of instalments.")
        .carrying(&["change", "rows"]),
    event("account_status_change", Thing::Account, "The status of an account, or the reason for it, changed.")
        .carrying(&["previous_status"]),
    event("account_closed", Thing::Account, "An account was closed."),
    event(OwnEvent::CustomerCreate.name(), Thing::Customer, "A customer was recorded."),
    event(OwnEvent::CustomerUpdate.name(), Thing::Customer, "A customer was changed."),
    event("line_item_create", Thing::LineItem, "A line item was created, or was scheduled for a later time."),
    event(
        "line_item_update",
        Thing::LineItem,
        "A scheduled line item was applied, a payment's status changed, or a recalculation changed a line item.",
    ),
    event("due_date_passed", Thing::Account, "An instalment fell due, whether it was paid or not.")
        .carrying(&["instalment", "paid"])
        .may_carry(&["shortfall_cents"]),
    event("payment_missed", Thing::Account, "An instalment fell due and was not paid in full.")
        .carrying(&["instalment"]),
    event("payment_reversed", Thing::LineItem, "A payment was reversed. The message contains the payment."),
    event(
        "account_recalculated",
        Thing::Account,
        "A change effective in the past altered later results. The message shows the balances and each altered \
         line item before and after.",
    )
    .carrying(&["recalculation"]),
    event(
        OwnEvent::MigrationReleased.name(),
        Thing::Release,
        "Migration mode of a product was turned off, and all its held events are processed.",
    ),
    event(
        OwnEvent::SubscriptionPaused.name(),
        Thing::Subscription,
        "A URL was paused because it answered with errors. The event is sent to the organization's other URLs.",
    ),
    event(
        OwnEvent::TestEvent.name(),
        Thing::Sentence,
        "A test event was requested. It is sent to every active URL, regardless of its filter.",
    ),
    event("payment_due_date", Thing::Account, "A set number of days before or after an instalment's due date.")
        .carrying(&["instalment"])
        .configurable(),
    event(
        "late_fee_date",
        Thing::Account,
        "A set number of days before or after the date on which an instalment becomes late, while it is unpaid.",
    )
    .carrying(&["instalment"])
    .configurable(),
    event("loan_end_date", Thing::Account, "A set number of days before or after the last instalment's due date.")
        .carrying(&["instalment"])
        .configurable(),
    event("account_summary", Thing::Account, "At a set interval: the account in its current state.").configurable(),
];

/// The names of all events.
pub static NAMES: [&str; EVENTS.len()] = {
    let mut names = [""; EVENTS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = EVENTS[index].name;
        index += 1;
    }
    names
};

/// Events that the service itself announces, not an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnEvent {
    /// A customer was recorded.
    CustomerCreate,
    /// A customer was changed.
    CustomerUpdate,
    /// A release has ended.
    MigrationReleased,
    /// A URL was paused.
    SubscriptionPaused,
    /// A test event was requested.
    TestEvent,
}

impl OwnEvent {
    /// Every one of them.
    pub const ALL: [OwnEvent; 5] = [
        OwnEvent::CustomerCreate,
        OwnEvent::CustomerUpdate,
        OwnEvent::MigrationReleased,
        OwnEvent::SubscriptionPaused,
        OwnEvent::TestEvent,
    ];

    /// The name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            OwnEvent::CustomerCreate => "customer_create",
            OwnEvent::CustomerUpdate => "customer_update",
            OwnEvent::MigrationReleased => "migration_released",
            OwnEvent::SubscriptionPaused => TO_THE_OTHERS,
            OwnEvent::TestEvent => TO_EVERYBODY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::fields::NotificationType;
    use daybook_engine::item::{ItemId, Name};
    use daybook_engine::outcome::EventKind;
    use daybook_engine::status::Status;
    use std::collections::BTreeSet;

    /// Everything that an account can announce. The match does not compile if a variant is added.
    fn of_accounts() -> Vec<EventKind> {
        let item = || ItemId::Input(Name::from("p"));
        let status = Status::ACTIVE;
        let mut all = vec![
            EventKind::AccountCreated,
            EventKind::AccountUpdated,
            EventKind::ItemCreated(item()),
            EventKind::ItemUpdated(item()),
            EventKind::DueDatePassed { instalment: 1, paid: true, shortfall: Default::default() },
            EventKind::PaymentMissed { instalment: 1 },
            EventKind::StatusChanged { from: status, to: status },
            EventKind::Closed,
            EventKind::PaymentReversed { payment: Name::from("p") },
            EventKind::Recalculated,
            EventKind::Changed { change: Name::from("c"), rows: Vec::new() },
            EventKind::ChangeCancelled { change: Name::from("c"), rows: Vec::new() },
        ];
        let notice = |kind: &NotificationType| EventKind::Notice { kind: (*kind).into(), instalment: None };
        all.extend(NotificationType::ALL.iter().map(notice));
        for what in &all {
            match what {
                EventKind::AccountCreated
                | EventKind::AccountUpdated
                | EventKind::ItemCreated(_)
                | EventKind::ItemUpdated(_)
                | EventKind::DueDatePassed { .. }
                | EventKind::PaymentMissed { .. }
                | EventKind::StatusChanged { .. }
                | EventKind::Closed
                | EventKind::PaymentReversed { .. }
                | EventKind::Recalculated
                | EventKind::Changed { .. }
                | EventKind::ChangeCancelled { .. }
                | EventKind::Notice { .. } => {}
            }
        }
        all
    }

    #[test]
    fn the_list_has_what_can_be_announced_and_nothing_else() {
        let mut announced: BTreeSet<&str> = of_accounts().iter().map(EventKind::name).collect();
        announced.extend(OwnEvent::ALL.map(OwnEvent::name));
        // The message writer adds it to a change that alters instalments.
        announced.insert("schedule_change");
        let listed: BTreeSet<&str> = NAMES.into_iter().collect();
        assert_eq!(listed, announced);
        assert_eq!(listed.len(), EVENTS.len(), "a name is listed twice");
    }

    /// As the interface lists them.
    #[test]
    fn configurable_events_are_the_notices() {
        let configurable =
            EVENTS.iter().filter(|event| event.kind == EventCategory::Configurable).map(|event| event.name);
        let notices: Vec<&str> = NotificationType::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(configurable.collect::<Vec<_>>(), notices);
        assert_eq!(EVENTS.len(), 20);
    }
}
