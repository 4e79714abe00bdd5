//! Verification: processes every account again from its journal, in order of arrival, and compares.
//!
//! The journal is the source of truth. A new [`Book`] gets record after record, each at the time it was accepted,
//! through the same code that accepted it. Then every column that follows from the journal must equal the stored one,
//! and every stored message must carry the signature of its bytes. Each difference is one sentence. An account that
//! cannot be read is one difference; the others are still verified. An account whose journal lost a record is reported
//! and not corrected.
//!
//! | file | contents |
//! |---|---|
//! | `work` | processing a journal again |
//! | `columns` | the columns of an account, its links and its search words |
//! | `compare` | line items and messages |
//! | `lost` | signs that a journal lost a record |
//! | `numbers` | gaps in the numbers of records |
//! | `signed` | what the signed bytes of messages say; which of them stored keys must have signed |
//! | `own_messages` | messages that are not about an account |
//! | `around` | other data: the log, attempt counts, search words, addresses of people, orphaned rows |
//! | `fix` | correcting derived data |
//! | `watching` | slow verification in the background |
//!
//! An account that was folded again by newer rules is processed from that point: earlier records keep their places and
//! are folded by the current rules, and messages are compared from then on. Messages of earlier rules cannot be
//! computed again, and line items that were invalid then stay.

mod around;
mod columns;
mod compare;
mod fix;
mod lost;
mod numbers;
mod own_messages;
mod signed;
mod watching;
mod work;

pub use fix::Fixed;

use crate::Service;
use crate::account::book::Book;
use crate::account::outdated;
use crate::account::owner_of;
use crate::boxed;
use crate::catalog::ProductInfo;
use crate::problem::Problem;
use around::unreadable_product;
use columns::{compare_columns, compare_links, compare_times, expected};
use compare::{compare_items, compare_messages, is_left_over};
use daybook_engine::installment::audit::audit;
use daybook_engine::snapshot::{self, NoSnapshot};
use daybook_engine::state::State;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_store::portfolio_queries::{SearchWords, SearchedKind};
use daybook_store::records::{AccountKey, AccountNow, AccountRow, ItemRow, MessageRow, OrgId, PageRequest, ProductKey};
use daybook_store::upkeep::Correction;
use daybook_store::{AccountToLoad, Inputs, LoadedAccount};
use daybook_webhooks::signature::SigningKey;
use lost::Traces;
use numbers::Missing;
use signed::{SignedMessages, StoredKeys};
use std::sync::Arc;
use work::{again, announced_before, refold_of};

/// The number of accounts read at once.
const STEP: usize = 200;
/// The number of messages read at once.
const MESSAGES: usize = 1_000;

/// How often an account that changes while it is read is read.
const MOST_ATTEMPTS: usize = 20;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Accounts processed.
    pub accounts: u64,
    /// Journal records processed.
    pub records: u64,
    /// Line items compared.
    pub items: u64,
    /// Messages compared, and their signatures checked.
    pub messages: u64,
    /// Audit records whose hashes were checked.
    pub audit_records: u64,
    /// Differences, as sentences.
    pub differences: Vec<String>,
}

/// The writes that correct an account's derived data from its journal.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    now: Option<AccountNow>,
    items: Vec<ItemRow>,
    customers: Option<Vec<(Arc<str>, String)>>,
    words: Vec<SearchWords>,
    corrections: Vec<Correction>,
}

/// The stored data of an account.
struct Stored {
    loaded: LoadedAccount,
    items: Vec<ItemRow>,
    messages: Vec<MessageRow>,
    links: Vec<(Arc<str>, String)>,
    words: Vec<String>,
    /// The signing keys of its organization.
    keys: Vec<SigningKey>,
    /// Numbers that no record of its journal has.
    missing: Missing,
}

impl Service {
    /// Verifies every account of every organization. `progress` is called with the number of accounts done.
    #[boxed]
    pub async fn verify(&self, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Verified, Problem> {
        self.look(false, progress).await
    }

    async fn look(&self, fixes: bool, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Verified, Problem> {
        let mut verified = Verified::default();
        for sentence in self.store.check().await? {
            verified.differences.push(format!("database: {sentence}"));
        }
        let is_damaged = !verified.differences.is_empty();
        match self.look_at_data(fixes, &mut verified, progress).await {
            // The damage is reported even if nothing else can be read.
            Err(problem) if is_damaged => {
                verified.differences.push(format!("the data cannot be verified: {}", problem.message));
            }
            looked => looked?,
        }
        Ok(verified)
    }

    #[boxed]
    async fn look_at_data(
        &self,
        fixes: bool,
        verified: &mut Verified,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), Problem> {
        let are_attempts_sound = self.verify_belonging(fixes, verified).await?;
        self.verify_hours(fixes && are_attempts_sound, verified).await?;
        self.verify_guards(fixes, verified).await?;
        self.verify_refold_list(fixes, verified).await?;
        for organization in self.store.organizations().await? {
            let org = organization.org;
            let keys = self.stored_keys(org).await?;
            // First: the messages of a row whose columns are wrong may seem to be missing.
            self.verify_message_rows(org, fixes, verified).await?;
            self.verify_organization(org, &keys, fixes, verified, progress).await?;
            self.verify_published(org, &keys, fixes, verified).await?;
            self.verify_log(org, fixes, verified).await?;
            self.verify_words(org, fixes, verified).await?;
            self.verify_people(org, fixes, verified).await?;
        }
        self.verify_audit(false, verified).await
    }

    async fn verify_organization(
        &self,
        org: OrgId,
        keys: &StoredKeys,
        fixes: bool,
        verified: &mut Verified,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), Problem> {
        let mut page = PageRequest { limit: STEP, ..PageRequest::default() };
        loop {
            let rows = self.store.accounts(org, &page).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            page.after = Some(last.key.account.clone());
            for row in rows {
                self.verify_one(&row.key, keys, fixes, verified).await?;
            }
            progress(verified.accounts);
        }
    }

    /// Verifies one account, and corrects it if `fixes` is set.
    #[boxed]
    pub(crate) async fn verify_one(
        &self,
        key: &AccountKey,
        keys: &StoredKeys,
        fixes: bool,
        verified: &mut Verified,
    ) -> Result<(), Problem> {
        let Some(stored) = self.stored(key, keys).await? else { return Ok(()) };
        verified.accounts += 1;
        verified.items += stored.items.len() as u64;
        verified.messages += stored.messages.len() as u64;
        for message in forged(&stored.messages, keys) {
            verified.differences.push(format!(
                "account {}: message {}: its signature does not match its bytes",
                key.account, message.event_id
            ));
        }
        let version = stored.loaded.row.version;
        let product = ProductKey { org: key.org, product: stored.loaded.row.product.clone() };
        let product = match self.readable_product(&product).await? {
            Ok(product) => product,
            Err(why) => {
                verified.differences.push(format!("account {}: cannot be verified: {why}", key.account));
                return Ok(());
            }
        };
        let now = self.clock.now();
        let working = move || {
            let mut differences = Vec::new();
            let (plan, records) = compare(stored, &product, now, &mut |what| differences.push(what));
            Ok((plan, records, differences))
        };
        let (plan, records, differences) = self.readers.run(key.org, working).await?;
        verified.records += records;
        let about = |what: String| format!("account {}: {what}", key.account);
        verified.differences.extend(differences.into_iter().map(about));
        if fixes {
            self.apply(key, version, plan).await?;
        }
        Ok(())
    }

    /// The stored data of an account. They are read one after another: if the account has changed meanwhile, because it
    /// is being processed, they are read again.
    async fn stored(&self, key: &AccountKey, keys: &StoredKeys) -> Result<Option<Stored>, Problem> {
        let mut attempts = 0;
        loop {
            let Some(loaded) = self.load_stored(key, Inputs::All).await? else { return Ok(None) };
            let version = loaded.row.version;
            let stored = Stored {
                items: self.store.items(key).await?,
                messages: self.all_messages(key).await?,
                links: self.store.account_customers(key).await?,
                words: self.store.words_of(key.org, SearchedKind::Account, &key.account).await?,
                keys: keys.keys.clone(),
                missing: self.missing_numbers(&loaded).await?,
                loaded,
            };
            attempts += 1;
            let now = self.load_stored(key, Inputs::None).await?;
            if attempts == MOST_ATTEMPTS || now.is_none_or(|now| now.row.version == version) {
                return Ok(Some(stored));
            }
        }
    }

    async fn load_stored(&self, key: &AccountKey, inputs: Inputs) -> Result<Option<LoadedAccount>, Problem> {
        let want = AccountToLoad { key: key.clone(), inputs, names: Vec::new() };
        Ok(self.store.load(&[want]).await?.into_iter().next().flatten())
    }

    /// A product, or why it cannot be used.
    async fn readable_product(&self, key: &ProductKey) -> Result<Result<Arc<ProductInfo>, String>, Problem> {
        match self.catalog.product(key).await {
            Ok(Some(product)) => Ok(Ok(product)),
            Ok(None) => Ok(Err(format!("its product {} does not exist", key.product))),
            Err(problem) if problem.is_unavailable() => Err(problem),
            Err(problem) => Ok(Err(unreadable_product(&key.product, &problem))),
        }
    }

    async fn all_messages(&self, key: &AccountKey) -> Result<Vec<MessageRow>, Problem> {
        let mut all: Vec<MessageRow> = Vec::new();
        loop {
            let after = all.last().map_or(0, |last| last.sequence);
            let some = self.store.messages_of(key, after, MESSAGES).await?;
            let is_last = some.len() < MESSAGES;
            all.extend(some);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Verifies the log: the signature of each message, and the columns of those that are not about an account.
    async fn verify_published(
        &self,
        org: OrgId,
        StoredKeys { keys, are_all }: &StoredKeys,
        fixes: bool,
        verified: &mut Verified,
    ) -> Result<(), Problem> {
        // After several rotations, keys that are no longer stored may have signed the first messages.
        let mut is_known = *are_all;
        let mut after = 0;
        loop {
            let messages = self.store.messages(org, after, MESSAGES).await?;
            let Some(last) = messages.last() else { return Ok(()) };
            after = last.position.unwrap_or(after + 1);
            let mut corrections = Vec::new();
            for message in &messages {
                let is_signed = is_signed(message, keys);
                is_known |= is_signed;
                let mut differ = |what: String| verified.differences.push(what);
                if is_known && !is_signed {
                    differ(match (&*message.event_id, message.position) {
                        ("", Some(position)) => format!(
                            "database: the message at position {position} of the log of organization {org} cannot be read"
                        ),
                        (id, _) => format!("message {id}: its signature does not match its bytes"),
                    });
                }
                if message.account.is_some() && message.sequence < 1 {
                    differ(format!("message {} is about an account, but has no number", message.event_id));
                }
                let own = (is_signed && message.account.is_none()).then(|| own_messages::compare(org, message));
                if let Some((sentence, correction)) = own.flatten() {
                    differ(sentence);
                    corrections.push(correction);
                }
            }
            if fixes && !corrections.is_empty() {
                self.store.correct(&corrections).await?;
            }
        }
    }
}

fn is_signed(message: &MessageRow, keys: &[SigningKey]) -> bool {
    keys.iter().any(|key| key.verify(&message.data, &message.signature))
}

/// Scheduled messages whose signature is wrong; published ones are checked in the log. After several rotations, an
/// account's first messages may be signed with a key that is no longer stored, but no message after one that a stored
/// key signed.
fn forged<'a>(messages: &'a [MessageRow], stored: &'a StoredKeys) -> impl Iterator<Item = &'a MessageRow> {
    let StoredKeys { keys, are_all } = stored;
    let first_signed = || messages.iter().find(|message| is_signed(message, keys));
    let since = if *are_all { 0 } else { first_signed().map_or(i64::MAX, |first| first.sequence) };
    let is_checked = move |message: &&MessageRow| message.due_at.is_some() && message.sequence >= since;
    messages.iter().filter(is_checked).filter(move |message| !is_signed(message, keys))
}

/// Compares one account with what its journal gives. Returns the corrections and the number of processed records.
fn compare(stored: Stored, product: &Arc<ProductInfo>, now: Time, differ: &mut dyn FnMut(String)) -> (Plan, u64) {
    let mut plan = Plan::default();
    let Stored { loaded, items, messages, links, words, keys, missing } = stored;
    let row: AccountRow = loaded.row.clone();
    if outdated::is_outdated(&row) {
        differ(outdated::not_refolded(&row).message);
        return (plan, 0);
    }
    let terms: Terms = match postcard::from_bytes(&row.terms) {
        Ok(terms) => terms,
        Err(error) => {
            differ(format!("its terms cannot be read: {error}"));
            return (plan, 0);
        }
    };
    let state = (!row.now.state.is_empty()).then(|| snapshot::read(&row.now.state, owner_of(&row.key).as_bytes()));
    let readable = state.as_ref().and_then(|state| state.as_ref().ok());
    let book = match Book::outdated(loaded, product.clone(), terms) {
        Ok(book) => book,
        Err(problem) => {
            differ(format!("cannot be read: {}", problem.message));
            return (plan, 0);
        }
    };
    compare_links(&book, &links, &words, &mut plan, differ);
    let worked = match again(&book, product, readable, now) {
        Ok(worked) => worked,
        Err(problem) => {
            differ(format!("its journal cannot be recalculated: {}", problem.message));
            return (plan, 0);
        }
    };
    let refold = refold_of(&book);
    let refolded_at = refold.map(|(_, record)| record.row.recorded_at);
    let kept = items.iter().filter(|row| !is_left_over(row, refolded_at)).collect();
    let records = book.journal.len();
    let (keys, missing) = (keys.as_slice(), &missing);
    let traces = Traces { row: &row, state: readable, items: kept, messages: &messages, keys, records, missing };
    let signed = SignedMessages { account: &row.key.account, messages: &messages, keys };
    let lost = [traces.of_lost_records(&worked), of_product(&row, &signed)];
    lost.iter().flatten().for_each(|sentence| differ(sentence.clone()));
    match expected(&row, &worked, now) {
        Ok(expected) => {
            compare_state(&row, state.as_ref(), &expected, &worked, differ);
            compare_columns(&row, &expected, differ);
            plan.now = (expected != row.now).then_some(expected);
        }
        Err(problem) => differ(format!("its columns cannot be recalculated: {}", problem.message)),
    }
    compare_times(&row, &worked.book, &signed, &mut plan, differ);
    compare_items(&items, &worked, refolded_at, &signed, &mut plan, differ);
    let since = refold.map_or(0, |(_, record)| announced_before(record));
    let messages: Vec<&MessageRow> = messages.iter().filter(|message| message.sequence > since).collect();
    compare_messages(&messages, &worked, keys, &mut plan, differ);
    // A journal that lost a record is no source of corrections.
    (if lost.iter().any(Option::is_some) { Plan::default() } else { plan }, worked.records)
}

/// An account whose messages name another product. Its journal cannot be processed with the right one.
fn of_product(row: &AccountRow, signed: &SignedMessages<'_>) -> Option<String> {
    let named = signed.product().filter(|named| **named != *row.product)?;
    Some(format!(
        "its product is {}, but its messages name product {named}. The account is not corrected; restore the database \
         from a backup",
        row.product
    ))
}

fn compare_state(
    row: &AccountRow,
    state: Option<&Result<State, NoSnapshot>>,
    expected: &AccountNow,
    worked: &work::Worked,
    differ: &mut dyn FnMut(String),
) {
    match state {
        Some(Err(error)) => differ(format!("its state cannot be read: {error}")),
        Some(Ok(state)) => {
            if let Err(sentence) = audit(state) {
                differ(format!("its ledgers disagree: {sentence}"));
            }
            if row.now.state != expected.state {
                let (kept, now) = (state.balances(), worked.book.state.balances());
                differ(format!(
                    "its state differs from its journal: stored {} and {}, recalculated {} and {}",
                    kept.owed(),
                    state.status,
                    now.owed(),
                    worked.book.state.status
                ));
            }
        }
        None if !expected.state.is_empty() => differ("its state is missing".to_owned()),
        None => {}
    }
}
