//! Samples of event data. They are not written by hand: a loan is created, missed, paid, bounced, corrected and paid
//! off in memory, by the same code that announces real events, and the resulting messages are the samples.

use super::dispatcher_support::paused_message;
use super::event_ids::EventIds;
use super::events::OwnEvent;
use super::replaying::test_message;
use crate::account::book::{Book, Halt, RequestedInput};
use crate::account::profile::Profile;
use crate::catalog::ProductInfo;
use crate::form::fields::CustomerRole;
use crate::form::{self, NewAccount, NewCustomer, NewProduct, NotificationConfig, PaymentRecord};
use crate::problem::Problem;
use crate::processor::timekeeper::released_message;
use crate::view::{self, ProductFacts};
use crate::{customers, policy};
use daybook_engine::change::{Change, Skip};
use daybook_engine::item::Name;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use daybook_store::outbox::{Backlog, OutOfOrder, Pause, Subscription};
use daybook_store::records::{AccountKey, MessageRow, Mode, ProductKey};
use daybook_webhooks::signature::SigningKey;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const ACCOUNT: &str = "loan-1";
const CUSTOMER: &str = "ada";
/// The mark of the samples' organization.
const MARK: &str = "3f9a0c2b71";
/// The payment that the samples of line items show.
const PAYMENT: &str = "payment-1";

/// A sample of `data` for every event.
pub(crate) fn of_all_events() -> Result<BTreeMap<String, Box<RawValue>>, Problem> {
    let signing = SigningKey::from_bytes(&[0; 32]);
    let mut messages = of_a_loan(&signing)?;
    messages.extend(of_a_customer(&signing)?);
    messages.push(of_a_release(&signing)?);
    messages.push(of_a_subscription(&signing)?);
    messages.push(test_message("dbk_evt_0123456789abcdefghjk".to_owned(), time("2025-03-01T12:00:00Z")?, &signing));
    let mut samples = BTreeMap::new();
    for message in messages {
        let is_shown = message.event != "line_item_create" || message.subject == PAYMENT;
        if is_shown && !samples.contains_key(&message.event) {
            let data = String::from_utf8(message.data.to_vec()).map_err(|_| broken("it is not UTF-8"))?;
            samples.insert(message.event, RawValue::from_string(data).map_err(broken)?);
        }
    }
    Ok(samples)
}

/// A loan whose first instalment is missed. A payment is recorded, clears and bounces; another one turns out to have
/// been made in time; in the end everything is paid.
fn of_a_loan(signing: &SigningKey) -> Result<Vec<MessageRow>, Problem> {
    let mut loan = Loan::open(signing, "2025-01-15T09:00:00-05:00")?;
    for notice in [
        json!({"notification_type": "payment_due_date", "time_offset": "-3 days", "time": "09:00:00"}),
        json!({"notification_type": "late_fee_date", "time_offset": "0 days"}),
        json!({"notification_type": "loan_end_date", "time_offset": "-1 days"}),
        json!({"notification_type": "account_summary", "interval": "1 month"}),
    ] {
        let notice: NotificationConfig = form(&notice)?;
        loan.ask("notice", Input::Notify(notice.setting()?), None)?;
    }
    loan.go_to("2025-02-20T10:00:00-05:00")?;
    loan.pay(json!({"line_item_id": PAYMENT, "original_amount_cents": 30_000, "line_item_status": "PENDING"}))?;
    loan.go_to("2025-02-22T10:00:00-05:00")?;
    loan.ask("clearing", Input::PaymentStatus { payment: Name::from(PAYMENT), valid: true }, None)?;
    loan.go_to("2025-02-24T10:00:00-05:00")?;
    loan.ask("reversal", Input::Reversal { payment: Name::from(PAYMENT) }, None)?;
    loan.go_to("2025-03-10T10:00:00-04:00")?;
    loan.pay(json!({
        "line_item_id": "payment-2", "original_amount_cents": 10_662, "effective_at": "2025-02-14T10:00:00-05:00"
    }))?;
    loan.go_to("2025-03-12T10:00:00-04:00")?;
    let skip = Change::Skip(Skip { from_due_date: None, count: 1, extend_term: true });
    loan.ask("skip", Input::Change(Box::new(skip)), None)?;
    loan.go_to("2026-03-20T10:00:00-04:00")?;
    loan.pay(json!({"line_item_id": "payment-3", "original_amount_cents": 500_000}))?;
    Ok(loan.book.writes.messages)
}

fn of_a_customer(signing: &SigningKey) -> Result<[MessageRow; 2], Problem> {
    let mut given: NewCustomer = form(&json!({
        "customer_id": CUSTOMER, "name_first": "Ada", "name_last": "Lovelace", "email": "ada@example.com",
        "address_line_one": "12 St James's Square", "address_city": "New York", "address_country_code": "US",
        "external_fields": [{"key": "crm_id", "value": "0015800000abc"}]
    }))?;
    let accounts =
        vec![view::CustomerAccount { account_id: ACCOUNT.to_owned(), customer_account_role: CustomerRole::Primary }];
    let made = time("2025-01-10T15:00:00Z")?;
    let changed = time("2025-02-03T16:30:00Z")?;
    let facts = |updated_at, accounts| view::CustomerFacts {
        customer_id: CUSTOMER.to_owned(),
        created_at: made,
        updated_at,
        ssn_last_four: Some("6789".to_owned()),
        accounts,
    };
    let customer = view::Customer::new(given.clone(), facts(made, Vec::new()));
    let event_id = |version| EventIds::new(MARK).of_customer(CUSTOMER, version);
    let create = customers::message(OwnEvent::CustomerCreate, event_id(1), &customer, made, signing);
    let update: form::CustomerUpdate = form(&json!({"phone_number": "+12125550123"}))?;
    update.apply(&mut given)?;
    let customer = view::Customer::new(given, facts(changed, accounts));
    let update = customers::message(OwnEvent::CustomerUpdate, event_id(2), &customer, changed, signing);
    Ok([create, update])
}

fn of_a_release(signing: &SigningKey) -> Result<MessageRow, Problem> {
    let mode = Mode {
        version: 3,
        started_at: Some(time("2025-03-01T12:00:00Z")?),
        accounts_total: 1_250,
        events_total: 43_800,
        ..Mode::default()
    };
    Ok(released_message(product(signing)?.as_ref(), &mode, 0, time("2025-03-01T12:00:42.5Z")?))
}

fn of_a_subscription(signing: &SigningKey) -> Result<MessageRow, Problem> {
    let subscription = Subscription {
        org: 1,
        id: 1,
        uuid: "0b0e7a52-6d1c-4c1e-9d0a-3f5b8f6f7c21".to_owned(),
        url: "https://example.com/webhooks".to_owned(),
        filter: Some(vec!["payment_missed".to_owned(), "account_closed".to_owned()]),
        paused: None,
        consecutive_errors: 10,
        streak: 1,
        created_at: time("2025-01-10T15:00:00Z")?,
        last_success_at: Some(time("2025-02-28T23:59:59Z")?),
        cursor: 0,
        version: 1,
        from_console: false,
        max_per_second: None,
        max_in_flight: None,
        held_until: None,
        ahead: OutOfOrder::default(),
    };
    let now = time("2025-03-01T12:00:00Z")?;
    let probe_at = Some(time("2025-03-01T12:05:00Z")?);
    let pause = Pause { reason: "CONSECUTIVE_ERRORS".to_owned(), at: now, probe_at };
    Ok(paused_message(&subscription, &pause, Backlog { pending: 0, dead: 12 }, now, signing))
}

fn product(signing: &SigningKey) -> Result<Arc<ProductInfo>, Problem> {
    let given: NewProduct = form(&json!({
        "product_id": "auto-12",
        "product_overview": {"product_name": "Auto 12", "product_type": "INSTALLMENT"},
        "product_lifecycle_policies": {
            "backdating_policy": "REPLAY",
            "default_attributes": {"default_late_fee_cents": 1_500, "default_payment_reversal_fee_cents": 2_500}
        },
        "post_promotional_policies": {"post_promo_len": 12, "post_promo_default_interest_rate_percent": 12}
    }))?;
    let form = policy::settle_product(given, time("2025-01-01T00:00:00Z")?)?;
    Ok(Arc::new(ProductInfo {
        key: ProductKey { org: 1, product: Arc::from("auto-12") },
        facts: ProductFacts::new("auto-12", &form)?,
        form,
        mode: Mode { version: 1, ..Mode::default() },
        signing: signing.clone(),
        event_ids: EventIds::new(MARK),
    }))
}

/// A loan in memory, and the current time.
struct Loan {
    book: Book,
    now: Time,
}

impl Loan {
    fn open(signing: &SigningKey, at: &str) -> Result<Loan, Problem> {
        let (product, now) = (product(signing)?, time(at)?);
        let given: NewAccount = form(&json!({
            "account_id": ACCOUNT, "product_id": "auto-12", "summary": {"initial_principal_cents": 120_000}
        }))?;
        let terms = policy::terms(&product.form, &given, now)?;
        let customer =
            view::AccountCustomer { customer_id: CUSTOMER.to_owned(), customer_account_role: CustomerRole::Primary };
        let profile = Profile { customers: vec![customer], ..Profile::default() };
        let key = AccountKey { org: 1, account: Arc::from(ACCOUNT) };
        let mut loan = Loan { book: Book::open(key, product, terms, profile, Vec::new(), now)?, now };
        loan.go_to(at)?;
        Ok(loan)
    }

    fn go_to(&mut self, at: &str) -> Result<(), Problem> {
        self.now = time(at)?;
        self.book.settle(self.now).map(drop).map_err(halted)
    }

    fn ask(&mut self, what: &str, input: Input, effective_at: Option<Time>) -> Result<(), Problem> {
        let name = Name::from(format!("{what}-{}", self.book.now.next_seq));
        self.submit(name, input, effective_at)
    }

    fn pay(&mut self, payment: Value) -> Result<(), Problem> {
        let payment: PaymentRecord = form(&payment)?;
        let effective_at = payment.effective_at.as_ref().map(|moment| *moment.get());
        self.submit(Name::from(payment.line_item_id.as_str()), payment.input(), effective_at)
    }

    fn submit(&mut self, name: Name, input: Input, effective_at: Option<Time>) -> Result<(), Problem> {
        let asked = RequestedInput { name, effective_at, input, extra: None, content_hash: Vec::new() };
        self.book.submit(&asked, self.now).map(drop).map_err(halted)
    }
}

fn form<T: DeserializeOwned>(given: &Value) -> Result<T, Problem> {
    Ok(form::parse(given.to_string().as_bytes())?)
}

fn time(text: &str) -> Result<Time, Problem> {
    Time::parse(text).ok_or_else(|| broken(format!("{text} is not a time")))
}

fn halted(halt: Halt) -> Problem {
    match halt {
        Halt::Problem(problem) => problem,
        Halt::NeedsAll => broken("the whole journal was loaded, but the fold requested it again"),
    }
}

fn broken(why: impl std::fmt::Display) -> Problem {
    Problem::internal(format!("a sample cannot be created: {why}"))
}
