//! Helpers for the other test files: a loan, inputs to it, and its results as short lines.

use daybook_engine::contract::Agreed;
use daybook_engine::effects::StatusEffects;
use daybook_engine::installment::reading::{Reading, read};
use daybook_engine::installment::schedule::{ScheduleRow, schedule};
use daybook_engine::installment::{Bucket, InstallmentPolicy, InterestMethod, Span};
use daybook_engine::item::{Component, ItemId, ItemStatus, LineItem, Name};
use daybook_engine::money::{Cents, Percent};
use daybook_engine::outcome::{Event, EventKind, Refusal};
use daybook_engine::terms::{Invalid, Opening, Policy, ProductPolicy, Terms};
use daybook_engine::time::Time;
use daybook_engine::timeline::{Backdating, FeeClass, Input};
use daybook_engine::zone::Zone;
use daybook_engine::{calendar::Interval, calendar::TimeOfDay};
use daybook_testkit::book::Book;

/// The terms of a loan, which tests change before opening it.
#[derive(Clone)]
pub struct Loan {
    pub start: &'static str,
    pub principal: i64,
    pub origination_fee: i64,
    pub zone: &'static str,
    pub close_of_business: &'static str,
    pub backdating: Backdating,
    pub reversal_fee: i64,
    pub status_effects: StatusEffects,
    pub policy: InstallmentPolicy,
    pub agreed: Agreed,
}

/// 1,200.00 lent in New York at noon on 2025-01-15 at 12 % (1 % a month), 12 monthly instalments, daily interest by
/// `THIRTY_360`. The instalment is 1200.00 x 0.01 / (1 - 1.01^-12) = 106.62, due at the end of the 15th. A late fee of
/// 15.00 is charged 5 days later, and the account becomes delinquent.
pub fn loan() -> Loan {
    let mut policy = InstallmentPolicy::new(12, Percent::from_millionths(12_000_000));
    policy.interest = InterestMethod::Daily;
    policy.late_fee.flat = Cents(1_500);
    policy.late_fee.grace = Interval::days(5);
    Loan {
        start: "2025-01-15T12:00:00-05:00",
        principal: 120_000,
        origination_fee: 0,
        zone: "America/New_York",
        close_of_business: "23:59:59",
        backdating: Backdating::AsPosted,
        reversal_fee: 0,
        status_effects: StatusEffects::default(),
        policy,
        agreed: Agreed::default(),
    }
}

impl Loan {
    /// The same loan with a changed policy.
    pub fn with(mut self, change: impl FnOnce(&mut InstallmentPolicy)) -> Loan {
        change(&mut self.policy);
        self
    }

    /// The same loan with another start, principal and number of instalments.
    pub fn of(mut self, start: &'static str, principal: i64, instalments: u32) -> Loan {
        (self.start, self.principal, self.policy.instalments) = (start, principal, instalments);
        self
    }

    /// Payments fill one bucket after the other: fees, then interest, then principal.
    pub fn fees_first(self) -> Loan {
        self.with(|policy| (policy.order, policy.span) = (fees_first(), Span::BucketFirst))
    }

    /// Backdated inputs cause a replay.
    pub fn replaying(mut self) -> Loan {
        self.backdating = Backdating::Replay;
        self
    }

    /// The same loan with a contract or balances.
    pub fn agreeing(mut self, change: impl FnOnce(&mut Agreed)) -> Loan {
        change(&mut self.agreed);
        self
    }

    pub fn terms(&self) -> Terms {
        self.try_terms().unwrap()
    }

    /// The terms, or the rules they break.
    pub fn try_terms(&self) -> Result<Terms, Vec<Invalid>> {
        let policy = Policy {
            zone: Zone::named(self.zone).unwrap(),
            close_of_business: TimeOfDay::parse(self.close_of_business).unwrap(),
            backdating: self.backdating,
            reversal_fee: Cents(self.reversal_fee),
            status_effects: self.status_effects.clone(),
            product: ProductPolicy::Installment(self.policy.clone()),
        };
        let mut opening = Opening::new(at(self.start), Cents(self.principal), Cents(self.origination_fee));
        opening.agreed = self.agreed.clone();
        Terms::new(&policy, opening)
    }

    pub fn open(&self) -> Book {
        Book::open(self.terms())
    }

    pub fn held(&self) -> Book {
        Book::held(self.terms())
    }
}

/// A product's own order: fees, then interest, then principal.
pub fn fees_first() -> Vec<Bucket> {
    let names = [
        "PAST_DUE_FEE",
        "PAST_DUE_PENALTY",
        "DUE_FEE",
        "DUE_PENALTY",
        "PAST_DUE_INTEREST",
        "DUE_INTEREST",
        "PAST_DUE_PRINCIPAL",
        "DUE_PRINCIPAL",
    ];
    names.map(|name| Bucket::parse(name).unwrap()).to_vec()
}

/// `2025-02-15T09:00:00-05:00`.
pub fn at(text: &str) -> Time {
    Time::parse(text).unwrap_or_else(|| panic!("{text} is no time"))
}

/// Rolls to a time and submits an input then.
pub fn ask(book: &mut Book, name: &str, when: &str, input: Input) -> Result<(), Refusal> {
    book.roll(at(when));
    book.submit(name, at(when), input)
}

pub fn payment(amount: i64) -> Input {
    Input::Payment { amount: Cents(amount), status: ItemStatus::Valid, allocation: None }
}

/// Rolls to a time and submits a payment then.
pub fn pay(book: &mut Book, name: &str, amount: i64, when: &str) {
    ask(book, name, when, payment(amount)).unwrap();
}

/// A payment that names its component.
pub fn pay_for(book: &mut Book, name: &str, amount: i64, component: Component, when: &str) {
    let status = ItemStatus::Valid;
    ask(book, name, when, Input::Payment { amount: Cents(amount), status, allocation: Some(component) }).unwrap();
}

pub fn fee(amount: i64, class: FeeClass) -> Input {
    Input::Fee { amount: Cents(amount), class }
}

pub fn debit(amount: i64, component: Component) -> Input {
    Input::Debit { amount: Cents(amount), component }
}

pub fn credit(amount: i64, component: Component) -> Input {
    Input::Credit { amount: Cents(amount), component }
}

pub fn reversal(payment: &str) -> Input {
    Input::Reversal { payment: Name::from(payment) }
}

pub fn reading(book: &Book) -> Reading {
    read(&book.terms, &book.state, book.clock).unwrap()
}

/// `ACTIVE owes 1104.99 + 0.36 + 0.00, accrued 2.37`: status, principal, interest and fees, then values that are not
/// zero.
pub fn standing(book: &Book) -> String {
    let now = reading(book);
    let owed = now.balances;
    let mut text = format!("{} owes {} + {} + {}", now.status, owed.principal, owed.interest, owed.fees);
    let mut also = |wanted: bool, words: String| {
        if wanted {
            text.push_str(", ");
            text.push_str(&words);
        }
    };
    also(!now.accrued.is_zero(), format!("accrued {}", now.accrued));
    also(!owed.surplus.is_zero(), format!("surplus {}", owed.surplus));
    also(!now.past_due.is_zero(), format!("past due {}", now.past_due));
    also(now.days_past_due != 0, format!("{} days", now.days_past_due));
    also(now.late_count != 0, format!("{} late", now.late_count));
    assert_eq!(now.payoff, owed.owed() + now.accrued, "payoff is all that is owed");
    text
}

/// Every line item: `p1 -106.62: 11.61 dbk_interest_1.1, 95.01 dbk_loan`, `dbk_loan 1200.00 left 1104.99`.
pub fn items(book: &Book) -> Vec<String> {
    book.ledger.items().map(item_line).collect()
}

/// One line item, as in [`items`].
pub fn item(book: &Book, id: &str) -> String {
    item_line(book.ledger.get(&ItemId::parse(id)).unwrap_or_else(|| panic!("{id} is an item")))
}

pub fn item_line(item: &LineItem) -> String {
    let mut text = format!("{} {}", item.id, item.amount);
    if item.status != ItemStatus::Valid {
        text.push_str(&format!(" {}", item.status.name()));
    }
    if !item.balance.is_zero() {
        text.push_str(&format!(" left {}", item.balance));
    }
    let splits: Vec<String> = item.splits.iter().map(|split| format!("{} {}", split.cents, split.item)).collect();
    if !splits.is_empty() {
        text.push_str(&format!(": {}", splits.join(", ")));
        for component in [Component::Principal, Component::Interest, Component::Fee] {
            let split = item.splits.iter().filter(|split| split.component == component);
            let whole: Cents = split.map(|split| split.cents).sum();
            let said = match component {
                Component::Principal => item.principal,
                Component::Interest => item.interest,
                Component::Fee => item.fees,
            };
            assert_eq!(said, -whole, "an item's components are those of its splits");
        }
    }
    text
}

/// The events announced since the last call.
pub fn events(book: &mut Book) -> Vec<String> {
    std::mem::take(&mut book.events).iter().map(event_line).collect()
}

/// The same with local dates and times: `02-14 09:00:00 line_item_create p1`.
pub fn dated_events(book: &mut Book) -> Vec<String> {
    let zone = book.terms.zone.clone();
    let dated = |event: &Event| {
        let (day, time) = zone.local(event.at);
        format!("{} {time} {}", &day.to_string()[5..], event_line(event))
    };
    std::mem::take(&mut book.events).iter().map(dated).collect()
}

pub fn event_line(event: &Event) -> String {
    let name = event.what.name();
    match &event.what {
        EventKind::ItemCreated(id) | EventKind::ItemUpdated(id) => format!("{name} {id}"),
        EventKind::DueDatePassed { instalment, paid, shortfall } => {
            let missing = if shortfall.is_zero() { String::new() } else { format!(" less {shortfall}") };
            format!("{name} {instalment} {}{missing}", if *paid { "paid" } else { "unpaid" })
        }
        EventKind::PaymentMissed { instalment } => format!("{name} {instalment}"),
        EventKind::StatusChanged { from, to } => format!("{name} {from}>{to}"),
        EventKind::PaymentReversed { payment } => format!("{name} {payment}"),
        EventKind::Notice { instalment: Some(instalment), .. } => format!("{name} {instalment}"),
        _ => name.to_owned(),
    }
}

/// The schedule: `1 2025-02-15: 11.61 + 95.01, end 1104.99, paid 106.62, on time`.
pub fn rows(book: &Book) -> Vec<String> {
    schedule(&book.terms, &book.state, book.clock).unwrap().iter().map(row_line).collect()
}

fn row_line(row: &ScheduleRow) -> String {
    let mut text = format!("{} {}: {} + {}, end {}", row.instalment, row.due_day, row.interest, row.principal, row.end);
    if !row.paid.is_zero() {
        text.push_str(&format!(", paid {}", row.paid));
    }
    if !row.fees.is_zero() {
        text.push_str(&format!(", fees {}", row.fees));
    }
    assert_eq!(row.start - row.principal, row.end, "a row's end is its start less its principal");
    assert_eq!(row.total() - row.paid, row.outstanding, "what is not paid of a row is outstanding");
    match row.paid_on_time {
        Some(true) => text.push_str(", on time"),
        Some(false) => text.push_str(", missed"),
        None => {}
    }
    text
}
