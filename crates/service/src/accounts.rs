//! Accounts: creating, reading and listing them. `changes` sets their status.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::{Book, Halt};
use crate::account::outdated;
use crate::account::profile::Profile;
use crate::audit::Act;
use crate::boxed;
use crate::catalog::ProductInfo;
use crate::find::AccountFilter;
use crate::form;
use crate::form::fields::{CustomerRole, metro2_warning};
use crate::ids::mint_id;
use crate::paging::{LOADED_AT_ONCE, LargePage, Paging};
use crate::policy;
use crate::problem::Problem;
use crate::processor::job::{AccountOpening, IdempotencyKey, Work};
use crate::refold;
use crate::secrets::hash;
use crate::view;
use bytes::Bytes;
use daybook_engine::outcome::EventKind;
use daybook_engine::replay::replay;
use daybook_engine::status::{AccountStanding, Status};
use daybook_engine::time::Time;
use daybook_store::records::{AccountKey, ProductKey};
use daybook_store::{AccountToLoad, Inputs, LoadedAccount};
use std::sync::Arc;

/// Which accounts to list, and as of when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountQuery {
    /// With this product.
    pub product_id: Option<String>,
    /// With this status.
    pub account_status: Option<String>,
    /// As of this moment.
    pub as_of: Option<Time>,
    /// With these words, with a customer who has them, or with an id that starts with them.
    pub text: Option<String>,
    /// At least this many days past due now.
    pub days_past_due_at_least: Option<u32>,
    /// At most this many days past due now.
    pub days_past_due_at_most: Option<u32>,
    /// With this reason for their status.
    pub account_substatus: Option<String>,
    /// Only accounts that are not closed.
    pub open_only: bool,
}

impl Service {
    /// Creates an account.
    #[boxed]
    pub async fn create_account(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        form: form::NewAccount,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        let (key, opening) = self.opening(who, &form).await?;
        let act = Act::on("create_account", "account", &key.account).with("product_id", &*opening.product.product);
        let record = self.recorded(who, act);
        let answer =
            self.processor.ask(key, Work::Open(Box::new(opening)), idempotency_key, who.only_held, record).await?;
        Ok(answer)
    }

    /// The account key and terms that a form requests.
    pub(crate) async fn opening(
        &self,
        who: &Caller,
        form: &form::NewAccount,
    ) -> Result<(AccountKey, AccountOpening), Problem> {
        let product = ProductKey { org: who.org, product: Arc::from(form.product_id.as_str()) };
        let info = self.catalog.product(&product).await?;
        let info = info.ok_or_else(|| Problem::invalid("product_id", "there is no product with this id"))?;
        Problem::not_supported(form.unsupported())?;
        form.check()?;
        let effective_at = form.effective_at.as_ref().map_or_else(|| self.clock.now(), |moment| *moment.get());
        let terms = policy::terms(&info.form, form, effective_at)?;
        let profile = self.new_profile(who, &info.form, form).await?;
        let account = match &form.account_id {
            Some(id) => Arc::from(id.as_str()),
            None => Arc::from(mint_id("acc")),
        };
        let (steps, too_far_back) = policy::way_back(&info.form, &terms, self.clock.now());
        let opening = AccountOpening {
            product,
            terms,
            profile,
            content_hash: content_hash(form)?,
            warnings: form.warnings(),
            steps,
            too_far_back,
        };
        Ok((AccountKey { org: who.org, account }, opening))
    }

    async fn new_profile(
        &self,
        who: &Caller,
        product: &form::NewProduct,
        form: &form::NewAccount,
    ) -> Result<Profile, Problem> {
        let mut customers: Vec<view::AccountCustomer> = Vec::new();
        for (index, assigned) in form.assign_customers.iter().flatten().enumerate() {
            let customer_id = assigned.customer_id.as_str().to_owned();
            if customers.iter().any(|known| known.customer_id == customer_id) {
                return Err(Problem::invalid(
                    format!("assign_customers[{index}].customer_id"),
                    "is the same customer as one given before it",
                ));
            }
            let customer_account_role = assigned.customer_account_role.unwrap_or(CustomerRole::Primary);
            customers.push(view::AccountCustomer { customer_id, customer_account_role });
        }
        let ids: Vec<Arc<str>> = customers.iter().map(|customer| Arc::from(customer.customer_id.as_str())).collect();
        let exist = if ids.is_empty() { Vec::new() } else { self.store.customers_exist(who.org, &ids).await? };
        if let Some(index) = exist.iter().position(|exists| !exists) {
            let field = format!("assign_customers[{index}].customer_id");
            return Err(Problem::invalid(field, "there is no customer with this id"));
        }
        Ok(Profile {
            customers,
            external_fields: form.external_fields.clone().unwrap_or_default(),
            credit_limit_cents: policy::credit_limit(product, form).map(|limit| limit.0),
            metro2_config: form.metro2_config.as_ref().and_then(|config| config.given_back()),
        })
    }

    /// An account in its current state or as of a moment.
    #[boxed]
    pub async fn get_account(
        &self,
        who: &Caller,
        account: &str,
        as_of: Option<Time>,
    ) -> Result<view::Account<'static>, Problem> {
        who.may(Right::Read)?;
        let now = self.clock.now();
        if as_of.is_some() {
            return self.with_whole_book(who, account, move |book| show_account(&book, as_of, now)).await;
        }
        show_account(&self.book_as_it_stands(who, account, now).await?, None, now)
    }

    /// A page of accounts.
    #[boxed]
    pub async fn list_accounts(
        &self,
        who: &Caller,
        paging: Paging,
        query: AccountQuery,
    ) -> Result<view::Page<view::Account<'static>>, Problem> {
        who.may(Right::Read)?;
        let standings = [AccountStanding::Active, AccountStanding::Suspended, AccountStanding::Closed];
        if query.account_status.as_ref().is_some_and(|status| standings.iter().all(|known| known.name() != status)) {
            return Err(Problem::invalid("account_status", "must be one of ACTIVE, SUSPENDED, CLOSED"));
        }
        for (field, days) in [
            ("days_past_due_at_least", query.days_past_due_at_least),
            ("days_past_due_at_most", query.days_past_due_at_most),
        ] {
            if days.is_some() && query.as_of.is_some() {
                return Err(Problem::invalid(
                    field,
                    "cannot be combined with effective_as_of: it always refers to the current day",
                ));
            }
        }
        let now = self.clock.now();
        let wanted = AccountFilter {
            product: query.product_id.map(Arc::from),
            status: query.account_status,
            substatus: query.account_substatus,
            open_only: query.open_only,
            text: query.text.filter(|text| !text.trim().is_empty()),
            at_least: query.days_past_due_at_least,
            at_most: query.days_past_due_at_most,
        };
        let mut page = LargePage::of(&paging);
        let keys = page.in_order(self.wanted_accounts(who.org, &wanted, &paging, now).await?);
        let inputs = if query.as_of.is_some() { Inputs::All } else { Inputs::Pending };
        let wanted: Vec<AccountToLoad> =
            keys.into_iter().map(|key| AccountToLoad { key, inputs, names: Vec::new() }).collect();
        for part in wanted.chunks(LOADED_AT_ONCE) {
            for (wanted, loaded) in part.iter().zip(self.load_current(part).await?) {
                if page.is_full() {
                    return Ok(page.finish());
                }
                let shown = match loaded {
                    Some(loaded) => self.show_in_list(who, loaded, query.as_of, now).await?,
                    None => None,
                };
                page.add(wanted.key.account.clone(), shown);
            }
        }
        Ok(page.finish())
    }

    /// An account of a list; `None` if the list leaves it out.
    async fn show_in_list(
        &self,
        who: &Caller,
        loaded: LoadedAccount,
        as_of: Option<Time>,
        now: Time,
    ) -> Result<Option<view::Account<'static>>, Problem> {
        let id = loaded.row.key.account.clone();
        // An account that cannot be folded again does not prevent the others from being shown.
        let did_not_exist = as_of.is_some_and(|at| at < loaded.row.effective_at);
        if outdated::is_outdated(&loaded.row) || did_not_exist {
            return Ok(None);
        }
        let mut book = self.book(loaded, as_of.is_some()).await?;
        if as_of.is_some_and(|at| at < book.terms.begins_at()) {
            return Ok(None);
        }
        if as_of.is_none() && matches!(book.as_it_stands(now), Err(Halt::NeedsAll)) {
            book = self.book_as_it_stands(who, &id, now).await?;
        }
        match show_account(&book, as_of, now) {
            // An account whose release would fail does not prevent the others from being shown.
            Err(problem) if problem.code == "invalid_request" && book.now.held_events > 0 => {
                show_account(&book, None, now).map(Some)
            }
            shown => shown.map(Some),
        }
    }

    /// The amortization schedule of an account.
    #[boxed]
    pub async fn get_amortization_schedule(
        &self,
        who: &Caller,
        account: &str,
        as_of: Option<Time>,
    ) -> Result<view::Schedule, Problem> {
        who.may(Right::Read)?;
        let now = self.clock.now();
        self.with_whole_book(who, account, move |book| {
            let waits = book.now.held_events > 0 || book.product.mode.holding;
            let processed = book.now.processed_through.filter(|through| *through >= book.terms.begins_at());
            let rows = match (as_of, processed) {
                // The current schedule does not include held inputs.
                (None, Some(through)) if waits => book.settled_schedule(through),
                (None, None) if waits => book.agreed_schedule(),
                _ => book.schedule(as_of.unwrap_or_else(|| book.clock(now)), now),
            };
            let rows = rows.map_err(problem)?;
            Ok(view::Schedule::new(&book.terms, &rows))
        })
        .await
    }

    /// The history of an account's status.
    #[boxed]
    pub async fn list_account_status_changes(
        &self,
        who: &Caller,
        account: &str,
        paging: Paging,
    ) -> Result<view::Page<view::StatusChange>, Problem> {
        who.may(Right::Read)?;
        let now = self.clock.now();
        self.with_whole_book(who, account, move |mut book| {
            let _ = book.as_it_stands(now);
            status_changes(&book, &paging)
        })
        .await
    }

    /// An account with its whole journal.
    pub(crate) async fn whole_book(&self, who: &Caller, account: &str) -> Result<Book, Problem> {
        self.load_book(&account_key(who, account), Inputs::All).await
    }

    /// Runs a computation on an account with its whole journal, outside the threads that serve requests.
    pub(crate) async fn with_whole_book<T: Send + 'static>(
        &self,
        who: &Caller,
        account: &str,
        work: impl FnOnce(Book) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let key = account_key(who, account);
        let loaded = self.load_account(&key, Inputs::All).await?;
        let product = self.product_of(&loaded).await?;
        self.readers.run(key.org, move || work(Book::read(loaded, product, true)?)).await
    }

    /// An account processed up to its clock in memory.
    pub(crate) async fn book_as_it_stands(&self, who: &Caller, account: &str, now: Time) -> Result<Book, Problem> {
        let key = account_key(who, account);
        let mut book = self.load_book(&key, Inputs::Pending).await?;
        if matches!(book.as_it_stands(now), Err(Halt::NeedsAll)) {
            book = self.load_book(&key, Inputs::All).await?;
            book.as_it_stands(now).map_err(problem)?;
        }
        Ok(book)
    }

    /// Loads accounts; those written under earlier rules are folded again.
    #[boxed]
    pub(crate) async fn load_current(&self, wanted: &[AccountToLoad]) -> Result<Vec<Option<LoadedAccount>>, Problem> {
        refold::load(self.store.as_ref(), &self.catalog, wanted, self.clock.now()).await
    }

    #[boxed]
    pub(crate) async fn load_book(&self, key: &AccountKey, inputs: Inputs) -> Result<Book, Problem> {
        let loaded = self.load_account(key, inputs).await?;
        self.book(loaded, inputs == Inputs::All).await
    }

    /// Loads an account without its state and its inputs, for a caller that folds its journal from the beginning.
    pub(crate) async fn load_book_without_state(&self, key: &AccountKey) -> Result<Book, Problem> {
        let loaded = self.load_account(key, Inputs::None).await?;
        let product = self.product_of(&loaded).await?;
        let mut book = Book::read_without_state(loaded, product)?;
        book.now.state = Vec::new();
        Ok(book)
    }

    #[boxed]
    async fn load_account(&self, key: &AccountKey, inputs: Inputs) -> Result<LoadedAccount, Problem> {
        let want = AccountToLoad { key: key.clone(), inputs, names: Vec::new() };
        let loaded = self.load_current(&[want]).await?.into_iter().next().flatten();
        loaded.ok_or_else(|| Problem::not_found("account", &key.account))
    }

    pub(crate) async fn book(&self, loaded: LoadedAccount, complete: bool) -> Result<Book, Problem> {
        let product = self.product_of(&loaded).await?;
        Book::read(loaded, product, complete)
    }

    /// The product of an account. A read shows the product's current mode, not the cached one.
    async fn product_of(&self, loaded: &LoadedAccount) -> Result<Arc<ProductInfo>, Problem> {
        let key = ProductKey { org: loaded.row.key.org, product: loaded.row.product.clone() };
        let product = self.catalog.fresh_product(&key).await?;
        product.ok_or_else(|| Problem::internal("an account has no product"))
    }
}

/// The key of an account in the caller's organization.
pub(crate) fn account_key(who: &Caller, account: &str) -> AccountKey {
    AccountKey { org: who.org, account: Arc::from(account) }
}

/// A hash of a form's content.
pub(crate) fn content_hash<T: serde::Serialize>(form: &T) -> Result<Vec<u8>, Problem> {
    let bytes =
        serde_json::to_vec(form).map_err(|error| Problem::internal(format!("a form cannot be serialized: {error}")))?;
    Ok(hash(&bytes))
}

/// Converts a halt for a reader that has loaded the whole journal.
pub(crate) fn problem(halt: Halt) -> Problem {
    match halt {
        Halt::Problem(problem) => problem,
        Halt::NeedsAll => Problem::internal("the whole journal was loaded, but the fold requested it again"),
    }
}

/// An account in its current state or as of a moment.
fn show_account(book: &Book, as_of: Option<Time>, now: Time) -> Result<view::Account<'static>, Problem> {
    let Some(at) = as_of else {
        return Ok(crate::processor::work::account(book, now, &[]).map_err(problem)?.into_owned());
    };
    let then = book.as_of(at, now).map_err(problem)?;
    let reading = book.reading(&then.state, at)?;
    let mut shown = book.about().account(&then.state, &reading, at, book.now.updated_at);
    shown.held_events = book.now.held_events as u64;
    shown.warnings = metro2_warning(shown.metro2_config.is_some()).into_iter().collect();
    Ok(shown.into_owned())
}

/// A page of the history of an account's status.
fn status_changes(book: &Book, paging: &Paging) -> Result<view::Page<view::StatusChange>, Problem> {
    let Some(through) = book.now.processed_through else {
        return Ok(view::Page { results: Vec::new(), paging: view::Paging::default() });
    };
    let entries = book.settled_entries(through);
    let (_, out) =
        replay(&book.terms, &entries, through).map_err(|_| Problem::internal("the account cannot be calculated"))?;
    let changes = out.events.iter().filter_map(|event| match event.what {
        EventKind::AccountCreated => Some((event.at, Status::ACTIVE)),
        EventKind::StatusChanged { to, .. } => Some((event.at, to)),
        _ => None,
    });
    let changes: Vec<(usize, (Time, Status))> = changes.enumerate().collect();
    let (page, mark) = paging.of_list(changes, |(index, _)| index.to_string())?;
    let results = page.into_iter().map(|(_, (at, status))| view::StatusChange {
        changed_at: view::time::Local::new(at, &book.terms.zone),
        account_overview: status.into(),
    });
    Ok(view::Page { results: results.collect(), paging: mark })
}
