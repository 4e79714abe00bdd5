//! A request that fails leaves no trace in the book.

use crate::account::book::{Book, RequestedInput};
use crate::account::profile::Profile;
use crate::catalog::ProductInfo;
use crate::form::{self, NewAccount, NewProduct};
use crate::policy;
use crate::view::ProductFacts;
use crate::webhooks::event_ids::EventIds;
use daybook_engine::item::{ItemId, ItemStatus, Name};
use daybook_engine::money::Cents;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use daybook_store::records::{AccountKey, Mode, ProductKey};
use daybook_webhooks::signature::SigningKey;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

const NOW: &str = "2026-06-20T12:00:00-04:00";
const LATER: &str = "2026-06-22T12:00:00-04:00";
/// Before a due date that has passed: the account is folded again.
const EARLIER: &str = "2026-04-10T12:00:00-04:00";
/// More than the largest amount of an input.
const TOO_MUCH: i64 = 10_000_000_000_001;

fn time(text: &str) -> Time {
    Time::parse(text).expect("a time")
}

fn form_of<T: DeserializeOwned>(given: &Value) -> T {
    form::parse(given.to_string().as_bytes()).expect("a form")
}

fn product(holding: bool) -> Arc<ProductInfo> {
    let given: NewProduct = form_of(&json!({
        "product_id": "auto-12",
        "product_overview": {"product_name": "Auto 12", "product_type": "INSTALLMENT"},
        "product_lifecycle_policies": {"backdating_policy": "REPLAY"},
        "post_promotional_policies": {"post_promo_len": 12, "post_promo_default_interest_rate_percent": 12}
    }));
    let form = policy::settle_product(given, time(NOW)).expect("a product");
    Arc::new(ProductInfo {
        key: ProductKey { org: 1, product: Arc::from("auto-12") },
        facts: ProductFacts::new("auto-12", &form).expect("its facts"),
        form,
        mode: Mode { version: 1, holding, ..Mode::default() },
        signing: SigningKey::from_bytes(&[0; 32]),
        event_ids: EventIds::new("3f9a0c2b71"),
    })
}

/// An unpaid loan of 15 March, processed up to now.
fn loan() -> Book {
    let given: NewAccount = form_of(&json!({
        "account_id": "a1", "product_id": "auto-12", "summary": {"initial_principal_cents": 120_000}
    }));
    let product = product(false);
    let terms = policy::terms(&product.form, &given, time("2026-03-15T00:00:00-04:00")).expect("terms");
    let key = AccountKey { org: 1, account: Arc::from("a1") };
    let mut book = Book::open(key, product, terms, Profile::default(), Vec::new(), time(NOW)).expect("a book");
    book.settle(time(NOW)).expect("it is settled");
    book
}

fn asked(name: &str, at: &str, input: Input) -> RequestedInput {
    let (name, effective_at) = (Name::from(name), Some(time(at)));
    RequestedInput { name, effective_at, input, extra: None, content_hash: Vec::new() }
}

fn payment(cents: i64) -> Input {
    Input::Payment { amount: Cents(cents), status: ItemStatus::Valid, allocation: None }
}

fn submit(book: &mut Book, asked: &RequestedInput) -> bool {
    book.submit(asked, time(NOW)).is_ok()
}

/// Everything in the book, except line items that are computed again when they are needed.
fn shown(book: &Book) -> String {
    format!("{:#?}", Book { ledger: None, ..book.clone() })
}

#[test]
fn a_refused_input_leaves_no_trace() {
    let mut book = loan();
    let reversal = || Input::Reversal { payment: Name::from("p") };
    let waiver = || Input::Waiver { fee: ItemId::LateFee { instalment: 9 } };
    assert!(submit(&mut book, &asked("p", EARLIER, payment(10_000))), "it is folded again");
    assert!(submit(&mut book, &asked("r", NOW, reversal())), "it is folded again without the payment");
    for (name, at, input) in [
        ("large", NOW, payment(TOO_MUCH)),
        ("large", EARLIER, payment(TOO_MUCH)),
        ("waiver", NOW, waiver()),
        ("waiver", EARLIER, waiver()),
        ("again", NOW, reversal()),
        ("final", NOW, Input::PaymentStatus { payment: Name::from("p"), valid: false }),
        ("early", "2026-03-01T00:00:00-05:00", payment(100)),
    ] {
        let before = shown(&book);
        assert!(!submit(&mut book, &asked(name, at, input)), "{name} at {at} is refused");
        assert_eq!(shown(&book), before, "{name} at {at}");
    }
    assert!(submit(&mut book, &asked("q", NOW, payment(10_000))), "the book goes on");
    assert_eq!(book.writes.items["q"].item.amount, Cents(-10_000));
}

#[test]
fn a_release_that_fails_leaves_no_trace() {
    let mut book = loan();
    book.product = product(true);
    assert!(submit(&mut book, &asked("p", EARLIER, payment(10_000))));
    // The payment changes what is processed already; the waiver fails after that.
    let waiver = Input::Waiver { fee: ItemId::LateFee { instalment: 9 } };
    assert!(submit(&mut book, &asked("w", "2026-06-21T12:00:00-04:00", waiver)));
    book.product = product(false);
    let before = shown(&book);
    assert!(book.settle(time(LATER)).is_err(), "there is no such fee");
    assert_eq!(shown(&book), before);
    book.product = product(true);
    book.withdraw("w", time(LATER)).expect("it is withdrawn");
    book.product = product(false);
    book.settle(time(LATER)).expect("the rest is released");
    assert_eq!(book.writes.items["p"].item.amount, Cents(-10_000));
}
