//! Verifying: every account is worked through again from its journal, in order of arrival, and compared.
//!
//! The journal is the truth. A fresh [`Book`] is given record after record, each at the time it was accepted, through the
//! same code that accepted it; then state, line items and the event, time and subject of the messages must be what is
//! stored, and every stored message must carry the signature of its bytes. What is found is a sentence for each account
//! and thing; nothing is changed.
//!
//! An account that was folded again by newer rules is worked through from there: what stood before keeps its place and is
//! folded by the rules of today, and messages are compared from then on. What earlier rules announced cannot be worked
//! out again, and line items that were invalid then stay.

use crate::Service;
use crate::account::book::{Asked, Book, Halt};
use crate::account::journal::{Journal, Record};
use crate::account::refolding::is_same;
use crate::catalog::ProductInfo;
use crate::problem::Problem;
use crate::refold::earlier;
use daybook_engine::installment::audit::audit;
use daybook_engine::item::ItemStatus;
use daybook_engine::snapshot;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use daybook_store::records::{AccountKey, ItemRow, MessageRow, OrgId, Page, ProductKey};
use daybook_store::{Inputs, Loaded, Want};
use daybook_webhooks::signature::Key;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Accounts read at once.
const STEP: usize = 200;
/// Messages read at once.
const MESSAGES: usize = 1_000;

/// What was verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Accounts worked through.
    pub accounts: u64,
    /// Line items compared.
    pub items: u64,
    /// Messages compared, and their signatures checked.
    pub messages: u64,
    /// What differs, as sentences.
    pub differences: Vec<String>,
}

impl Service {
    /// Verifies every account of every organization. `progress` hears how many accounts are done.
    pub async fn verify(&self, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Verified, Problem> {
        let mut verified = Verified::default();
        for sentence in self.store.check().await? {
            verified.differences.push(format!("database: {sentence}"));
        }
        for organization in self.store.organizations().await? {
            let keys = self.catalog.remembered_keys(organization.org).await?;
            self.verify_organization(organization.org, &keys, &mut verified, progress).await?;
            self.verify_signatures(organization.org, &keys, &mut verified).await?;
        }
        Ok(verified)
    }

    async fn verify_organization(
        &self,
        org: OrgId,
        keys: &[Key],
        verified: &mut Verified,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), Problem> {
        let mut page = Page { limit: STEP, ..Page::default() };
        loop {
            let rows = self.store.accounts(org, &page).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            page.after = Some(last.key.account.clone());
            let want = |row: &daybook_store::records::AccountRow| Want {
                key: row.key.clone(),
                inputs: Inputs::All,
                names: Vec::new(),
            };
            let wanted: Vec<Want> = rows.iter().map(want).collect();
            for loaded in self.store.load(&wanted).await?.into_iter().flatten() {
                self.verify_account(loaded, keys, verified).await?;
            }
            progress(verified.accounts);
        }
    }

    async fn verify_account(&self, loaded: Loaded, keys: &[Key], verified: &mut Verified) -> Result<(), Problem> {
        let key = loaded.row.key.clone();
        let product = ProductKey { org: key.org, product: loaded.row.product.clone() };
        let product = self.catalog.product(&product).await?;
        let product = product.ok_or_else(|| Problem::internal("an account has no product"))?;
        if earlier::is_outdated(&loaded.row) {
            verified.accounts += 1;
            verified.differences.push(earlier::not_refolded(&loaded.row).message);
            return Ok(());
        }
        let stored = Book::read(loaded, product.clone(), true)?;
        let items = self.store.items(&key).await?;
        let messages = self.all_messages(&key).await?;
        verified.accounts += 1;
        verified.items += items.len() as u64;
        verified.messages += messages.len() as u64;
        let mut differ = |what: String| verified.differences.push(format!("account {}: {what}", key.account));
        match again(&stored, &product) {
            Ok(worked) => {
                compare_state(&stored, &worked, &mut differ);
                let refold = refold_of(&stored);
                compare_items(&items, &worked, refold.map(|(_, record)| record.recorded_at), &mut differ);
                let since = refold.map_or(0, |(_, record)| announced_before(record));
                let messages: Vec<&MessageRow> = messages.iter().filter(|message| message.sequence > since).collect();
                compare_messages(&messages, &worked, &mut differ);
            }
            Err(problem) => differ(format!("cannot be worked through again: {}", problem.message)),
        }
        for message in messages.iter().filter(|message| message.due_at.is_some()) {
            // Those in the log are checked there. Where keys were rotated, one that waits may be older than those that
            // are remembered.
            if !is_signed(message, keys) && keys.len() == 1 {
                differ(format!("message {}: its signature is not that of its bytes", message.event_id));
            }
        }
        Ok(())
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

    async fn verify_signatures(&self, org: OrgId, keys: &[Key], verified: &mut Verified) -> Result<(), Problem> {
        // Where keys were rotated, those before the last two are not remembered. What they signed comes first.
        let mut is_known = keys.len() == 1;
        let mut after = 0;
        loop {
            let messages = self.store.messages(org, after, MESSAGES).await?;
            let Some(last) = messages.last() else { return Ok(()) };
            after = last.position.unwrap_or(after + 1);
            for message in &messages {
                let is_signed = is_signed(message, keys);
                is_known |= is_signed;
                if is_known && !is_signed {
                    verified
                        .differences
                        .push(format!("message {}: its signature is not that of its bytes", message.event_id));
                }
            }
        }
    }
}

fn is_signed(message: &MessageRow, keys: &[Key]) -> bool {
    keys.iter().any(|key| key.verify(&message.data, &message.signature))
}

/// The last change of the rules in an account's journal, and where it is.
fn refold_of(stored: &Book) -> Option<(usize, &Journal)> {
    let index = stored.journal.iter().rposition(|record| matches!(record.record, Record::Refold(_)))?;
    Some((index, &stored.journal[index]))
}

/// The sequence of the last message that earlier rules announced.
fn announced_before(record: &Journal) -> i64 {
    if let Record::Refold(mark) = &record.record { mark.message_seq } else { 0 }
}

/// Works through an account's journal again, in order of arrival.
fn again(stored: &Book, product: &Arc<ProductInfo>) -> Result<Book, Problem> {
    let opening = stored.journal.first().ok_or_else(|| Problem::internal("its journal is empty"))?;
    let (mut book, done) = match refold_of(stored) {
        Some((index, _)) => (Book::refolded_at(stored, index)?, index + 1),
        None => {
            let product = with_mode(product, true, None);
            let terms = (*stored.terms).clone();
            let (profile, hash) = (stored.profile.clone(), stored.content_hash.clone());
            (Book::open(stored.key.clone(), product, terms, profile, hash, opening.recorded_at)?, 1)
        }
    };
    // Messages of the release of an account that is loaded may be suppressed; a new one's never are.
    book.loaded_version = Some(0);
    for record in &stored.journal[done..] {
        work_through(&mut book, record, product).map_err(|halt| match halt {
            Halt::Problem(problem) => Problem::internal(format!("record {}: {}", record.seq(), problem.message)),
            Halt::NeedsAll => Problem::internal("the whole journal was asked for again"),
        })?;
    }
    book.placed_by = None;
    if let Some(through) = stored.now.processed_through.filter(|_| stored.now.held_events == 0) {
        book.product = with_mode(product, false, None);
        book.settle(through).map_err(crate::accounts::problem)?;
    }
    Ok(book)
}

fn work_through(book: &mut Book, record: &Journal, product: &Arc<ProductInfo>) -> Result<(), Halt> {
    let at = record.recorded_at;
    book.placed_by = None;
    if let Some(through) = record.held.filter(|through| book.now.processed_through.is_some_and(|done| done < *through))
    {
        // What was due before its product began to hold was done before.
        book.product = with_mode(product, false, None);
        book.settle(through)?;
    }
    // The journal has gaps where held inputs were withdrawn.
    book.now.next_seq = record.seq();
    // A roll is noted at the moment it leads to.
    book.placed_by = (!matches!(record.record, Record::Roll { .. })).then_some(record.clock);
    match &record.record {
        Record::Release { suppress_before } => {
            book.product = with_mode(product, false, *suppress_before);
            book.release(at).map(drop)
        }
        Record::Roll { to } => {
            book.product = with_mode(product, false, None);
            book.roll(*to, false, at).map(drop)
        }
        // The last one is where working through begins.
        Record::Refold(_) => Ok(()),
        Record::Profile => {
            book.product = with_mode(product, record.held.is_some(), None);
            book.note_profile(at)
        }
        Record::Input(input) => {
            book.product = with_mode(product, record.held.is_some(), None);
            let asked = Asked {
                name: record.name.clone(),
                effective_at: Some(record.effective_at),
                input: input.clone(),
                extra: record.extra.clone(),
                content_hash: record.content_hash.clone(),
            };
            book.submit(asked, at)?;
            let placed = book.journal.last().map(|placed| placed.place);
            if placed != Some(record.place) && !matches!(input, Input::Open) {
                let message =
                    format!("is placed at {:?}, and was placed at {:?}", placed.map(|place| place.at), record.place.at);
                return Err(Problem::internal(message).into());
            }
            Ok(())
        }
    }
}

/// A product in a certain mode.
fn with_mode(product: &Arc<ProductInfo>, holding: bool, suppress_before: Option<Time>) -> Arc<ProductInfo> {
    let mode = daybook_store::records::Mode { holding, suppress_before, ..product.mode.clone() };
    Arc::new(ProductInfo {
        key: product.key.clone(),
        form: product.form.clone(),
        facts: product.facts.clone(),
        mode,
        signing: product.signing.clone(),
        event_ids: product.event_ids.clone(),
    })
}

fn compare_state(stored: &Book, worked: &Book, differ: &mut dyn FnMut(String)) {
    if let Err(sentence) = audit(&stored.state) {
        differ(format!("its ledgers disagree: {sentence}"));
    }
    let bytes = |book: &Book| snapshot::write(&book.state).unwrap_or_default();
    if stored.now.processed_through.is_some() && bytes(stored) != bytes(worked) {
        let (kept, now) = (stored.state.balances(), worked.state.balances());
        differ(format!(
            "its state is not what its journal gives: stored {} and {}, worked out {} and {}",
            kept.owed(),
            stored.state.status,
            now.owed(),
            worked.state.status
        ));
    }
}

fn compare_items(stored: &[ItemRow], worked: &Book, refolded_at: Option<Time>, differ: &mut dyn FnMut(String)) {
    let stored: BTreeMap<&str, &ItemRow> = stored.iter().map(|row| (&*row.item_id, row)).collect();
    let worked: BTreeMap<&str, &ItemRow> = worked.writes.items.iter().map(|(id, row)| (&**id, row)).collect();
    for (id, row) in &worked {
        match stored.get(id) {
            None => differ(format!("line item {id} is missing")),
            Some(kept) if !is_same(kept, row) => differ(format!(
                "line item {id} is not what the journal gives: stored {} with balance {}, worked out {} with balance {}",
                kept.status, kept.balance, row.status, row.balance
            )),
            Some(_) => {}
        }
    }
    // What no longer held by earlier rules, or no longer holds by newer ones, is kept and worth nothing.
    let is_left_over = |row: &ItemRow| {
        row.status == ItemStatus::Invalid.name()
            && (row.balance, row.principal, row.interest, row.fees) == (0, 0, 0, 0)
            && refolded_at.is_some_and(|at| row.created_at <= at)
    };
    for (id, _) in stored.iter().filter(|(id, row)| !worked.contains_key(*id) && !is_left_over(row)) {
        differ(format!("line item {id} is not in what the journal gives"));
    }
}

/// Retention may have removed old messages, from the beginning of the log on.
fn compare_messages(stored: &[&MessageRow], worked: &Book, differ: &mut dyn FnMut(String)) {
    let worked = &worked.writes.messages;
    if stored.len() > worked.len() {
        differ(format!("{} messages are kept, and its journal gives {}", stored.len(), worked.len()));
        return;
    }
    let by_sequence: BTreeMap<i64, &MessageRow> = worked.iter().map(|message| (message.sequence, message)).collect();
    for kept in stored {
        let of = |message: &MessageRow| {
            (message.sequence, message.event.clone(), message.effective_at, message.subject.clone())
        };
        let Some(expected) = by_sequence.get(&kept.sequence) else {
            differ(format!("message {} is kept, and its journal gives none of this number", kept.sequence));
            continue;
        };
        if kept.cancelled_at.is_some() && expected.cancelled_at.is_none() {
            differ(format!("message {} is cancelled, and its journal does not cancel it", kept.sequence));
        }
        if of(kept) != of(expected) {
            differ(format!(
                "message {} is {} of {}, and its journal gives {} of {}",
                kept.sequence, kept.event, kept.effective_at, expected.event, expected.effective_at
            ));
        }
    }
    // Of two messages that went into the log at once, the later has the higher position: where one is kept, all later ones
    // are. One that waited for its moment may have gone into the log long after later ones, or is cancelled.
    let at_once = stored.iter().find(|message| message.effective_at <= message.recorded_at);
    let first = at_once.map_or(i64::MAX, |first| first.sequence);
    let kept: BTreeSet<i64> = stored.iter().map(|message| message.sequence).collect();
    for missing in worked.iter().filter(|message| message.sequence >= first && !kept.contains(&message.sequence)) {
        differ(format!("message {} of {} is missing", missing.sequence, missing.event));
    }
}
