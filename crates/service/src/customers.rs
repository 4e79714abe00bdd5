//! Customers: the borrowers.
//!
//! A customer and the accounts it is assigned to are written in one transaction. So this is one unit with several
//! claims, and the whole unit is retried if one of the accounts has changed in the meantime.

use crate::Service;
use crate::access::{Caller, Right};
use crate::accounts::account_key;
use crate::announcing::News;
use crate::audit::Act;
use crate::boxed;
use crate::form::fields::{CustomerRole, CustomerType, Ssn};
use crate::form::{AssignAccount, CustomerUpdate, NewCustomer};
use crate::ids::mint_id;
use crate::paging::{LargePage, Paging};
use crate::problem::Problem;
use crate::processor::job::IdempotencyKey;
use crate::processor::work::{add_customers, not_settled, unit};
use crate::search_index::{of_customer, searched};
use crate::view;
use crate::view::render;
use crate::webhooks::events::OwnEvent;
use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::Inputs;
use daybook_store::batch::{CustomerWrite, Unit};
use daybook_store::records::{CustomerRow, MessageRow};
use daybook_webhooks::signature::SigningKey;
use std::sync::Arc;

/// How often a change is retried when concurrent requests change the same rows.
const MOST_TRIES: usize = 50;
/// The largest number of accounts shown with a customer.
const MOST_ACCOUNTS: usize = 1_000;

/// Which customers to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomerQuery {
    /// With these words, or with an id that starts with them.
    pub text: Option<String>,
}

impl Service {
    /// Creates a customer.
    #[boxed]
    pub async fn create_customer(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        mut form: NewCustomer,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        form.check()?;
        if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
            return Ok(answer);
        }
        Problem::not_supported(form.unsupported())?;
        let content_hash = self.customer_hash(&form)?;
        let customer_id: Arc<str> = match &form.customer_id {
            Some(id) => Arc::from(id.as_str()),
            None => Arc::from(mint_id("cust")),
        };
        let assigned = form.assign_to_accounts.take().unwrap_or_default();
        for _ in 0..MOST_TRIES {
            let now = self.clock.now();
            if let Some(before) = self.store.customer(who.org, &customer_id).await? {
                if before.content_hash != content_hash {
                    return Err(Problem::id_taken("customer_id", "customer", &customer_id));
                }
                let customer = self.show_customer(who, &before).await?;
                return self.keep_answer(who, idempotency_key, render(&customer)).await;
            }
            let row = CustomerRow {
                org: who.org,
                customer_id: customer_id.clone(),
                version: 1,
                body: body(&form)?,
                sealed: self.seal_ssn(form.ssn.as_ref())?,
                content_hash: content_hash.clone(),
                created_at: now,
                updated_at: now,
            };
            let write = CustomerWrite::Insert(Box::new(row.clone()));
            let (key, event) = (idempotency_key.clone(), OwnEvent::CustomerCreate);
            if let Some(answer) = self.write_customer(who, key, &row, write, &assigned, event).await? {
                return Ok(answer);
            }
            if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
                return Ok(answer);
            }
        }
        Err(too_busy())
    }

    /// Updates a customer.
    #[boxed]
    pub async fn update_customer(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        customer: &str,
        update: CustomerUpdate,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
            return Ok(answer);
        }
        for _ in 0..MOST_TRIES {
            let now = self.clock.now();
            let before = self.customer_row(who, customer).await?;
            let mut form: NewCustomer = read_body(&before)?;
            form.ssn = self.open_ssn(&before)?;
            update.clone().apply(&mut form)?;
            let assigned = form.assign_to_accounts.take().unwrap_or_default();
            let row = CustomerRow {
                version: before.version + 1,
                body: body(&form)?,
                sealed: self.seal_ssn(form.ssn.as_ref())?,
                updated_at: now,
                ..before
            };
            let write = CustomerWrite::Update(Box::new(row.clone()));
            let (key, event) = (idempotency_key.clone(), OwnEvent::CustomerUpdate);
            if let Some(answer) = self.write_customer(who, key, &row, write, &assigned, event).await? {
                return Ok(answer);
            }
            if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
                return Ok(answer);
            }
        }
        Err(too_busy())
    }

    /// Writes a customer and the accounts it is assigned to. Returns `None` if a row was stale and the caller must
    /// retry.
    #[boxed]
    async fn write_customer(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        row: &CustomerRow,
        write: CustomerWrite,
        assigned: &[AssignAccount],
        event: OwnEvent,
    ) -> Result<Option<Bytes>, Problem> {
        let now = row.updated_at;
        let is_new = matches!(write, CustomerWrite::Insert(_));
        // No account can name a customer that does not exist yet.
        let mut accounts = if is_new { Vec::new() } else { self.accounts_of(who, &row.customer_id).await? };
        let (form, ssn): (NewCustomer, _) = (read_body(row)?, self.open_ssn(row)?);
        let words = vec![of_customer(who.org, &row.customer_id, &form, is_new)];
        let action = if is_new { "create_customer" } else { "update_customer" };
        let on: Vec<&str> = assigned.iter().map(|assigned| assigned.account_id.as_str()).collect();
        let act = Act::on(action, "customer", &row.customer_id);
        let act = if on.is_empty() { act } else { act.with("assign_to_accounts", on) };
        let audit = self.recorded(who, act).into_iter().collect();
        let mut writing = Unit { customers: vec![write], words, audit, ..Unit::default() };
        for (index, assigned) in assigned.iter().enumerate() {
            let role = assigned.customer_account_role.unwrap_or(CustomerRole::Primary);
            let account_id = assigned.account_id.as_str();
            let field = format!("assign_to_accounts[{index}].account_id");
            let customer =
                view::AccountCustomer { customer_id: row.customer_id.to_string(), customer_account_role: role };
            let account = self.assign(who, account_id, customer, &field, now).await?;
            if let Some(account) = account {
                writing.modes.extend(account.modes);
                writing.accounts.extend(account.accounts);
                writing.messages.extend(account.messages);
            }
            accounts.retain(|known| known.account_id != account_id);
            accounts.push(view::CustomerAccount { account_id: account_id.to_owned(), customer_account_role: role });
        }
        let shown = show(form, ssn.as_ref(), row, accounts);
        let organization = self.catalog.fresh_organization(who.org).await?;
        let event_id = organization.event_ids.of_customer(&row.customer_id, row.version);
        let message = message(event, event_id, &shown, now, &organization.signing);
        writing.messages.insert(0, (who.org, message));
        let answer = render(&shown);
        Ok(self.write_alone(who, writing, idempotency_key, &answer).await?.then_some(answer))
    }

    /// Assigns a customer to an account, in memory.
    async fn assign(
        &self,
        who: &Caller,
        account: &str,
        customer: view::AccountCustomer,
        field: &str,
        now: Time,
    ) -> Result<Option<Unit>, Problem> {
        let key = account_key(who, account);
        let missing = |problem: Problem| match problem.code {
            "not_found" => Problem::invalid(field, "there is no account with this id"),
            _ => problem,
        };
        for inputs in [Inputs::Pending, Inputs::All] {
            let mut book = self.load_book(&key, inputs).await.map_err(missing)?;
            let settled = book.settle(now).map_err(|halt| not_settled(&book, halt));
            match settled.and_then(|_| add_customers(&mut book, std::slice::from_ref(&customer), now)) {
                Ok(_) => return unit(&mut book, Vec::new(), Vec::new(), now),
                Err(crate::account::book::Halt::Problem(problem)) => return Err(problem),
                Err(crate::account::book::Halt::NeedsAll) => {}
            }
        }
        Err(Problem::internal("the whole journal was loaded, but the fold requested it again"))
    }

    /// A customer.
    #[boxed]
    pub async fn get_customer(&self, who: &Caller, customer: &str) -> Result<view::Customer, Problem> {
        who.may(Right::Read)?;
        let row = self.customer_row(who, customer).await?;
        self.show_customer(who, &row).await
    }

    /// The names of customers, in the order of `ids`; `None` for one that does not exist.
    #[boxed]
    pub async fn customer_names(&self, who: &Caller, ids: &[String]) -> Result<Vec<Option<String>>, Problem> {
        who.may(Right::Read)?;
        let mut names = Vec::with_capacity(ids.len());
        for id in ids {
            let row = self.store.customer(who.org, id).await?;
            names.push(row.as_ref().map(read_body).transpose()?.map(|form| name_of(&form)));
        }
        Ok(names)
    }

    /// A page of customers.
    #[boxed]
    pub async fn list_customers(
        &self,
        who: &Caller,
        paging: Paging,
        query: CustomerQuery,
    ) -> Result<view::Page<view::Customer>, Problem> {
        who.may(Right::Read)?;
        let text = query.text.filter(|text| !text.trim().is_empty()).map(|text| searched(&text));
        let mut page = LargePage::of(&paging);
        loop {
            let part = page.next_part(&paging);
            let rows = match &text {
                Some(text) => self.store.search_customers(who.org, text, &part).await?,
                None => self.store.customers(who.org, &part).await?,
            };
            let is_last = rows.len() < part.limit;
            for row in page.in_order(rows) {
                if page.is_full() {
                    return Ok(page.finish());
                }
                let shown = self.show_customer(who, &row).await?;
                page.add(row.customer_id.clone(), Some(shown));
            }
            if is_last {
                return Ok(page.finish());
            }
        }
    }

    async fn customer_row(&self, who: &Caller, customer: &str) -> Result<CustomerRow, Problem> {
        let row = self.store.customer(who.org, customer).await?;
        row.ok_or_else(|| Problem::not_found("customer", customer))
    }

    async fn show_customer(&self, who: &Caller, row: &CustomerRow) -> Result<view::Customer, Problem> {
        let accounts = self.accounts_of(who, &row.customer_id).await?;
        let form: NewCustomer = read_body(row)?;
        let ssn = self.open_ssn(row)?;
        Ok(show(form, ssn.as_ref(), row, accounts))
    }

    async fn accounts_of(&self, who: &Caller, customer: &str) -> Result<Vec<view::CustomerAccount>, Problem> {
        let accounts = self.store.customer_accounts(who.org, customer, MOST_ACCOUNTS).await?;
        let shown = accounts.into_iter().map(|(account_id, role)| view::CustomerAccount {
            account_id: account_id.to_string(),
            customer_account_role: CustomerRole::ALL
                .iter()
                .copied()
                .find(|known| known.name() == role)
                .unwrap_or(CustomerRole::Primary),
        });
        Ok(shown.collect())
    }

    fn seal_ssn(&self, ssn: Option<&Ssn>) -> Result<Option<Vec<u8>>, Problem> {
        ssn.map(|ssn| self.secrets.seal(ssn.digits().as_bytes())).transpose()
    }

    fn open_ssn(&self, row: &CustomerRow) -> Result<Option<Ssn>, Problem> {
        let Some(sealed) = &row.sealed else { return Ok(None) };
        let digits = String::from_utf8(self.secrets.open(sealed)?).unwrap_or_default();
        Ssn::read(&digits).map(Some).map_err(|_| Problem::internal("a stored social security number is not valid"))
    }

    /// A hash of the form's content. It includes the social security number, which is easy to guess, so the hash is
    /// keyed.
    fn customer_hash(&self, form: &NewCustomer) -> Result<Vec<u8>, Problem> {
        let mut bytes = body(form)?.into_bytes();
        bytes.push(0);
        bytes.extend(form.ssn.iter().flat_map(|ssn| ssn.digits().bytes()));
        Ok(self.secrets.keyed_hash(&bytes))
    }
}

fn body(form: &NewCustomer) -> Result<String, Problem> {
    serde_json::to_string(form).map_err(|error| Problem::internal(format!("a form cannot be serialized: {error}")))
}

pub(crate) fn read_body(row: &CustomerRow) -> Result<NewCustomer, Problem> {
    serde_json::from_str(&row.body)
        .map_err(|error| Problem::internal(format!("customer {} cannot be read: {error}", row.customer_id)))
}

/// The name of a customer as people know it.
pub(crate) fn name_of(form: &NewCustomer) -> String {
    let business = form.business_details.as_ref();
    let business = business.and_then(|of| of.business_name.as_ref().or(of.business_legal_name.as_ref()));
    let person = [&form.name_first, &form.name_middle, &form.name_last].into_iter().flatten();
    let person: Vec<&str> = person.map(|name| name.as_str().trim()).filter(|name| !name.is_empty()).collect();
    match business {
        Some(name) if person.is_empty() || form.kind() == CustomerType::Business => name.as_str().to_owned(),
        _ => person.join(" "),
    }
}

fn show(
    form: NewCustomer,
    ssn: Option<&Ssn>,
    row: &CustomerRow,
    accounts: Vec<view::CustomerAccount>,
) -> view::Customer {
    view::Customer::new(
        form,
        view::CustomerFacts {
            customer_id: row.customer_id.to_string(),
            created_at: row.created_at,
            updated_at: row.updated_at,
            ssn_last_four: ssn.map(|ssn| ssn.last_four().to_owned()),
            accounts,
        },
    )
}

/// The message about a customer.
pub(crate) fn message(
    event: OwnEvent,
    event_id: String,
    customer: &view::Customer,
    now: Time,
    signing: &SigningKey,
) -> MessageRow {
    News {
        event,
        event_id,
        subject: &customer.customer_id,
        at: view::time::Stamp::Utc(view::time::Utc(now)),
        now,
        object: customer,
    }
    .message(signing)
}

fn too_busy() -> Problem {
    Problem::unavailable("the customer or its accounts are being changed too often: try again")
}
