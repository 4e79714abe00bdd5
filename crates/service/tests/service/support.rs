//! A service to test, and helpers.

use bytes::Bytes;
use daybook_clock::Manual;
use daybook_engine::time::Time;
use daybook_service::Service;
use daybook_service::access::Caller;
use daybook_service::changes::ChangeRequest;
use daybook_service::form;
use daybook_service::line_items::ItemQuery;
use daybook_service::organizations::Bootstrap;
use daybook_service::paging::Paging;
use daybook_service::problem::Problem;
use daybook_service::processor::job::IdempotencyKey;
use daybook_service::view::render;
use daybook_service::webhooks::guard::{Guard, Resolve};
use daybook_store::records::{AccountKey, MessageRow};
use daybook_testkit::postgres::Server;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::sync::Arc;

/// A resolver without a network: `inside.example` has a private address, all other names a public one.
#[derive(Debug)]
struct Names;

#[async_trait::async_trait]
impl Resolve for Names {
    async fn addresses(&self, host: &str, port: u16) -> std::io::Result<Vec<std::net::SocketAddr>> {
        let address = if host == "inside.example" { [10, 0, 0, 1] } else { [93, 184, 215, 14] };
        Ok(vec![(address, port).into()])
    }
}

/// Which database a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// SQLite, in memory.
    Sqlite,
    /// PostgreSQL, a fresh database.
    Postgres,
}

impl Home {
    /// The address of a new database. On PostgreSQL, it has the tables already.
    pub fn address(self) -> String {
        match self {
            Home::Sqlite => "sqlite::memory:".to_owned(),
            Home::Postgres => Server::shared().migrated_database(),
        }
    }

    /// The address of a new database without tables.
    pub fn empty(self) -> String {
        match self {
            Home::Sqlite => "sqlite::memory:".to_owned(),
            Home::Postgres => Server::shared().database(),
        }
    }

    /// The address of a database that another connection can open too, and its folder if it is a file.
    pub fn kept(self) -> (Option<tempfile::TempDir>, String) {
        match self {
            Home::Sqlite => {
                let folder = tempfile::tempdir().expect("a folder");
                let address = format!("sqlite:{}", folder.path().join("daybook.db").display());
                (Some(folder), address)
            }
            Home::Postgres => (None, self.address()),
        }
    }
}

/// Makes two tests of each function: one on SQLite and one on PostgreSQL.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::support::Home::Sqlite).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::support::Home::Postgres).await;
            })*
        }
    };
}
pub(crate) use on_both;

/// 1,200.00 over 12 months at 1 % a month: 120,000 x 0.01 / (1 - 1.01^-12) = 10,661.85, so 106.62 a month.
pub const LEVEL: i64 = 10_662;

/// The remaining principal of such a loan after 0, 1, 2, ... payments on time, with each month's interest rounded to
/// the cent: 1,200.00 x 1 % = 12.00, 106.62 - 12.00 = 94.62; 1,105.38 x 1 % = 11.05; 1,009.81 → 10.10; 913.29 → 9.13;
/// 815.80 → 8.16; 717.34 → 7.17; 617.89 → 6.18; 517.45 → 5.17.
pub const PLAN: [i64; 9] = [120_000, 110_538, 100_981, 91_329, 81_580, 71_734, 61_789, 51_745, 41_600];

/// A service with one organization, a caller with all rights, and a clock.
#[derive(Clone)]
pub struct Trial {
    /// The service.
    pub service: Service,
    /// The store below it.
    pub store: Arc<dyn daybook_store::Store>,
    /// Its clock.
    pub clock: Arc<Manual>,
    /// The caller.
    pub who: Caller,
    /// The address of the database.
    pub address: String,
}

/// Parses a time.
pub fn time(text: &str) -> Time {
    Time::parse(text).unwrap_or_else(|| panic!("{text} is no time"))
}

/// Parses a response.
#[track_caller]
pub fn json_of(answer: Result<Bytes, Problem>) -> Value {
    let bytes = answer.unwrap_or_else(|problem| panic!("{problem} {:?}", problem.details));
    serde_json::from_slice(&bytes).expect("the answer is JSON")
}

/// A view as JSON.
#[track_caller]
pub fn view_of(answer: Result<impl Serialize, Problem>) -> Value {
    let view = answer.unwrap_or_else(|problem| panic!("{problem} {:?}", problem.details));
    serde_json::from_slice(&render(&view)).expect("the view is JSON")
}

/// The code of the problem that was returned.
#[track_caller]
pub fn code_of(answer: Result<impl Debug, Problem>) -> &'static str {
    match answer {
        Ok(body) => panic!("it was not refused: {body:?}"),
        Err(problem) => problem.code,
    }
}

/// A form from JSON.
pub fn form_of<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    form::parse(value.to_string().as_bytes()).unwrap_or_else(|bad| panic!("{bad}: {value}"))
}

/// An idempotency key with the content of its request.
pub fn idempotency_key(key: &str, content: &str) -> Option<IdempotencyKey> {
    Some(IdempotencyKey { key: key.to_owned(), content_hash: content.as_bytes().to_vec() })
}

/// The longest possible page.
pub fn whole() -> Paging {
    Paging { limit: 200, ..Paging::default() }
}

impl Trial {
    /// Starts at a moment, on a new database.
    pub async fn at(home: Home, now: &str) -> Trial {
        Trial::over(&home.address(), now).await
    }

    /// Starts at a moment, on the database at an address.
    pub async fn over(address: &str, now: &str) -> Trial {
        let store = daybook_store::open(address).await.expect("the database opens");
        let clock = Arc::new(Manual::at(time(now)));
        let service = Service::start(store.clone(), clock.clone(), &[7; 32]).await.expect("it starts");
        let service = service.with_guard(Guard::default(), Arc::new(Names));
        let first = Bootstrap { environment: "TEST".to_owned(), ..Bootstrap::default() };
        service.bootstrap(&first).await.expect("the first organization is made");
        let who = service.operator(Some("first")).await.expect("there is one organization");
        Trial { service, store, clock, who, address: address.to_owned() }
    }

    /// Another node on the same database, with the same clock.
    pub async fn node(&self) -> Trial {
        let store = daybook_store::open(&self.address).await.expect("the database opens");
        let service = Service::start(store.clone(), self.clock.clone(), &[7; 32]).await.expect("it starts");
        Trial { service, store, ..self.clone() }
    }

    /// Sets the clock, and processes everything due.
    pub async fn go_to(&self, now: &str) {
        self.clock.set(time(now));
        self.settle().await;
    }

    /// The current time of the clock.
    pub fn clock_now(&self) -> Time {
        daybook_clock::Clock::now(&*self.clock)
    }

    /// Processes everything due.
    pub async fn settle(&self) {
        self.service.settle_due().await.expect("what is due is done");
    }

    /// Creates a product: 12 months at 12 %, a late fee of 15.00, and additional policies.
    pub async fn product(&self, id: &str, policies: Value) -> Value {
        json_of(self.service.create_product(&self.who, None, form_of(&product(id, &policies))).await)
    }

    /// Turns migration mode on or off.
    pub async fn migration_mode(&self, product: &str, on: bool) -> Value {
        let form = form_of(&json!({ "migration_mode": on }));
        json_of(self.service.set_migration_mode(&self.who, None, product, form).await)
    }

    /// Turns migration mode off and runs the release.
    pub async fn release(&self, product: &str) {
        self.migration_mode(product, false).await;
        self.settle().await;
    }

    /// The progress of a release.
    pub async fn progress(&self, product: &str) -> Value {
        view_of(self.service.get_migration_mode(&self.who, product).await)
    }

    /// Creates an account of 1,200.00.
    pub async fn account(&self, product: &str, id: &str, effective_at: &str) -> Value {
        let body = json!({ "product_id": product, "account_id": id, "effective_at": effective_at });
        self.account_with(body).await
    }

    /// Creates an account of 1,200.00 with additional fields.
    pub async fn account_with(&self, mut body: Value) -> Value {
        if body["summary"]["initial_principal_cents"].is_null() {
            merge(&mut body, &json!({ "summary": { "initial_principal_cents": 120_000 } }));
        }
        json_of(self.service.create_account(&self.who, None, form_of(&body)).await)
    }

    /// Records a payment.
    pub async fn pay(&self, account: &str, id: &str, cents: i64, effective_at: &str) -> Result<Bytes, Problem> {
        let body = json!({ "line_item_id": id, "original_amount_cents": cents, "effective_at": effective_at });
        self.pay_with(account, &body).await
    }

    /// Records a payment with any fields.
    pub async fn pay_with(&self, account: &str, body: &Value) -> Result<Bytes, Problem> {
        self.service.change_account(&self.who, None, account, ChangeRequest::Payment(form_of(body))).await
    }

    /// Changes a payment's status.
    pub async fn change(&self, account: &str, item: &str, body: &Value) -> Result<Bytes, Problem> {
        self.service
            .change_account(&self.who, None, account, ChangeRequest::PaymentStatus(item.to_owned(), form_of(body)))
            .await
    }

    /// Reverses a payment.
    pub async fn reverse(&self, account: &str, item: &str, body: &Value) -> Result<Bytes, Problem> {
        self.service
            .change_account(&self.who, None, account, ChangeRequest::Reversal(item.to_owned(), form_of(body)))
            .await
    }

    /// Charges a fee.
    pub async fn fee(&self, account: &str, body: &Value) -> Result<Bytes, Problem> {
        self.service.change_account(&self.who, None, account, ChangeRequest::Fee(form_of(body))).await
    }

    /// Waives a fee.
    pub async fn waive(&self, account: &str, item: &str, body: &Value) -> Result<Bytes, Problem> {
        self.service
            .change_account(&self.who, None, account, ChangeRequest::Waiver(item.to_owned(), form_of(body)))
            .await
    }

    /// Raises the balance.
    pub async fn credit(&self, account: &str, body: &Value) -> Result<Bytes, Problem> {
        self.service.change_account(&self.who, None, account, ChangeRequest::Credit(form_of(body))).await
    }

    /// Lowers the balance.
    pub async fn debit(&self, account: &str, body: &Value) -> Result<Bytes, Problem> {
        self.service.change_account(&self.who, None, account, ChangeRequest::Debit(form_of(body))).await
    }

    /// Sets the status.
    pub async fn status(&self, account: &str, body: &Value) -> Result<Bytes, Problem> {
        self.service.change_account(&self.who, None, account, ChangeRequest::Status(form_of(body))).await
    }

    /// Withdraws a held input.
    pub async fn withdraw(&self, account: &str, item: &str) -> Result<Bytes, Problem> {
        self.service.change_account(&self.who, None, account, ChangeRequest::Withdrawal(item.to_owned())).await
    }

    /// Configures a notice.
    pub async fn notify(&self, account: &str, body: &Value) -> Result<Bytes, Problem> {
        self.service.change_account(&self.who, None, account, ChangeRequest::Notice(form_of(body))).await
    }

    /// Rolls an account.
    pub async fn roll(&self, account: &str, to: &str, webhooks: bool) -> Result<Bytes, Problem> {
        let body = json!({ "account_id": account, "effective_at": to, "roll_webhooks": webhooks });
        self.service.roll_account(&self.who, None, form_of(&body)).await
    }

    /// An account in its current state.
    pub async fn read(&self, account: &str) -> Value {
        view_of(self.service.get_account(&self.who, account, None).await)
    }

    /// An account as of a moment.
    pub async fn read_at(&self, account: &str, at: &str) -> Value {
        view_of(self.service.get_account(&self.who, account, Some(time(at))).await)
    }

    /// Status and reason in one text.
    pub async fn standing(&self, account: &str) -> String {
        standing(&self.read(account).await)
    }

    /// A line item.
    pub async fn item(&self, account: &str, item: &str) -> Value {
        view_of(self.service.get_line_item(&self.who, account, item, None).await)
    }

    /// The valid line items of an account, of one type.
    pub async fn items(&self, account: &str, kind: &str) -> Vec<Value> {
        let query = ItemQuery {
            line_item_type: Some(kind.to_owned()),
            line_item_status: Some("VALID".to_owned()),
            ..ItemQuery::default()
        };
        list(view_of(self.service.list_line_items(&self.who, account, whole(), query).await))
    }

    /// All line items of an account.
    pub async fn all_items(&self, account: &str, as_of: Option<&str>) -> Vec<Value> {
        let query = ItemQuery { as_of: as_of.map(time), ..ItemQuery::default() };
        list(view_of(self.service.list_line_items(&self.who, account, whole(), query).await))
    }

    /// The rows of the schedule.
    pub async fn schedule(&self, account: &str, as_of: Option<&str>) -> Vec<Value> {
        list(view_of(self.service.get_amortization_schedule(&self.who, account, as_of.map(time)).await))
    }

    /// The timeline, all its pages.
    pub async fn events(&self, account: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut paging = whole();
        loop {
            let page = view_of(self.service.list_account_events(&self.who, account, paging).await);
            let mark = page["paging"]["starting_after"].as_str().map(str::to_owned);
            let has_more = page["paging"]["has_more"] == true;
            all.extend(list(page));
            if !has_more {
                return all;
            }
            paging = Paging::read(Some("200"), mark.as_deref(), None).expect("the mark leads on");
        }
    }

    /// The history of the status: moment and status.
    pub async fn trail(&self, account: &str) -> Vec<(String, String)> {
        let page = view_of(self.service.list_account_status_changes(&self.who, account, whole()).await);
        let entry = |row: Value| (row["changed_at"].as_str().expect("a time").to_owned(), standing(&row));
        list(page).into_iter().map(entry).collect()
    }

    /// The ids of all accounts.
    pub async fn all_accounts(&self) -> Vec<Value> {
        let query = daybook_service::accounts::AccountQuery::default();
        let accounts = list(view_of(self.service.list_accounts(&self.who, whole(), query).await));
        accounts.iter().map(|account| account["account_id"].clone()).collect()
    }

    /// The key of an account.
    pub fn key(&self, account: &str) -> AccountKey {
        AccountKey { org: self.who.org, account: account.into() }
    }

    /// All messages about an account, in order.
    pub async fn messages(&self, account: &str) -> Vec<MessageRow> {
        self.store.messages_of(&self.key(account), 0, 100_000).await.expect("messages can be read")
    }

    /// The names of all messages about an account, in order.
    pub async fn announced(&self, account: &str) -> Vec<String> {
        self.messages(account).await.into_iter().map(|message| message.event).collect()
    }

    /// The names of messages about an account after the first `count`.
    pub async fn announced_after(&self, account: &str, count: usize) -> Vec<String> {
        self.announced(account).await.split_off(count)
    }

    /// The log of the organization: all published messages.
    pub async fn log(&self) -> Vec<MessageRow> {
        self.store.messages(self.who.org, 0, 100_000).await.expect("the log can be read")
    }

    /// Checks that all data equals what the journals give.
    pub async fn verify(&self) {
        let verified = self.service.verify(&mut |_| {}).await.expect("it can be verified");
        assert_eq!(verified.differences, Vec::<String>::new());
    }

    /// The differences that `verify` finds.
    pub async fn differences(&self) -> Vec<String> {
        self.service.verify(&mut |_| {}).await.expect("it can be verified").differences
    }
}

/// A product: 12 months at 12 %, a late fee of 15.00, and additional policies.
pub fn product(id: &str, policies: &Value) -> Value {
    let mut body = json!({
        "product_id": id,
        "product_overview": { "product_name": "Auto 12", "product_type": "INSTALLMENT" },
        "post_promotional_policies": { "post_promo_len": 12, "post_promo_default_interest_rate_percent": 12.0 },
        "product_lifecycle_policies": { "default_attributes": { "default_late_fee_cents": 1500 } },
    });
    merge(&mut body["product_lifecycle_policies"], policies);
    body
}

/// Principal, interest, fees and surplus of an account.
pub fn balances(account: &Value) -> [i64; 4] {
    let of = |name: &str| account["summary"][name].as_i64().expect("cents");
    [of("principal_cents"), of("interest_balance_cents"), of("fees_balance_cents"), of("surplus_cents")]
}

/// Status and reason in one text.
pub fn standing(account: &Value) -> String {
    let overview = &account["account_overview"];
    let status = overview["account_status"].as_str().expect("a status");
    overview["account_status_subtype"].as_str().map_or(status.to_owned(), |reason| format!("{status}/{reason}"))
}

/// The results of a page.
pub fn list(page: Value) -> Vec<Value> {
    page["results"].as_array().expect("a list").clone()
}

/// The data of a message.
pub fn data(message: &MessageRow) -> Value {
    serde_json::from_slice(&message.data).expect("data is JSON")
}

/// Merges the fields of one object into another, recursively.
pub fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into @ Value::Null, Value::Object(from)) => {
            *into = Value::Object(serde_json::Map::new());
            merge(into, &Value::Object(from.clone()));
        }
        (into, from) if !from.is_null() => *into = from.clone(),
        _ => {}
    }
}
