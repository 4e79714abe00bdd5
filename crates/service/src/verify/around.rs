//! Verifies data other than accounts: the log, attempt counts, search words of customers and products, e-mail addresses
//! of people, triggers of the audit trail, and orphaned rows.

use super::Verified;
use crate::Service;
use crate::account::outdated::is_outdated;
use crate::account::profile::Profile;
use crate::boxed;
use crate::customers::read_body;
use crate::form::NewCustomer;
use crate::people::email_key;
use crate::problem::Problem;
use crate::search_index::{of_account, of_customer, of_product};
use daybook_store::batch::{Batch, Unit};
use daybook_store::guards::LostGuard;
use daybook_store::portfolio_queries::SearchWords;
use daybook_store::records::{AccountKey, OrgId, PageRequest};
use daybook_store::upkeep::Correction;
use daybook_store::{AccountToLoad, Inputs};

/// The settings that state that search words have to be written, and that they were.
const WORDS_WANTED: &str = "words_to_fill_in";
const WORDS_FILLED_IN: &str = "words_filled_in";
/// The number of objects read at once.
const STEP: usize = 200;
/// The number of rows of messages checked at once.
const MESSAGE_ROWS: usize = 500;

/// The difference that a lost trigger is.
pub(super) fn of_guard(lost: &LostGuard) -> String {
    format!("audit trail: {lost}")
}

/// The sentence about a product that cannot be read.
pub(super) fn unreadable_product(product: &str, problem: &Problem) -> String {
    let why = problem.message.strip_prefix(&format!("product {product} cannot be read: "));
    format!("product {product}: cannot be read: {}", why.unwrap_or(&problem.message))
}

impl Service {
    /// Looks for orphaned rows. Returns whether the attempts are sound, so that they can be counted.
    pub(super) async fn verify_belonging(&self, fixes: bool, verified: &mut Verified) -> Result<bool, Problem> {
        let orphans = self.store.orphans().await?;
        let is_removable = orphans.iter().any(|orphan| orphan.removable);
        let are_attempts_sound = !orphans.iter().any(|orphan| orphan.is_attempt);
        verified.differences.extend(orphans.into_iter().map(|orphan| format!("{} {}", orphan.id, orphan.what)));
        if fixes && is_removable {
            self.store.remove_orphans().await?;
        }
        Ok(are_attempts_sound)
    }

    /// Looks for accounts that are listed to be folded again although the current rules wrote them.
    pub(super) async fn verify_refold_list(&self, fixes: bool, verified: &mut Verified) -> Result<(), Problem> {
        let mut after: Option<AccountKey> = None;
        loop {
            let keys = self.store.accounts_to_refold(after.as_ref(), STEP).await?;
            let Some(last) = keys.last().cloned() else { return Ok(()) };
            let want = |key: &AccountKey| AccountToLoad { key: key.clone(), inputs: Inputs::None, names: Vec::new() };
            let wanted: Vec<AccountToLoad> = keys.iter().map(want).collect();
            let loaded = self.store.load(&wanted).await?;
            // A server may have folded some of them since the list was read.
            let still_listed = self.store.accounts_to_refold(after.as_ref(), STEP).await?;
            after = Some(last);
            let rows = loaded.into_iter().flatten().map(|loaded| loaded.row);
            let mut corrections = Vec::new();
            for row in rows.filter(|row| !is_outdated(row) && still_listed.contains(&row.key)) {
                let account = &row.key.account;
                let what = format!(
                    "account {account}: is listed for recalculation, but was already calculated under the current rules"
                );
                verified.differences.push(what);
                corrections.push(Correction::NotToRefold(row.key));
            }
            if fixes && !corrections.is_empty() {
                self.store.correct(&corrections).await?;
            }
        }
    }

    /// Checks that the triggers which protect audit records are there, and no others.
    pub(super) async fn verify_guards(&self, fixes: bool, verified: &mut Verified) -> Result<(), Problem> {
        let lost = self.store.lost_guards().await?;
        verified.differences.extend(lost.iter().map(of_guard));
        let foreign = self.store.foreign_triggers().await?;
        verified.differences.extend(foreign.iter().map(|foreign| format!("audit trail: {foreign}")));
        if fixes && !lost.is_empty() {
            self.store.restore_guards().await?;
        }
        Ok(())
    }

    /// Checks that the log has every position from the first kept one to its end.
    pub(super) async fn verify_log(&self, org: OrgId, fixes: bool, verified: &mut Verified) -> Result<(), Problem> {
        let log = self.store.log_standing(org).await?;
        let mut differ =
            |what: String| verified.differences.push(format!("database: the log of organization {org} {what}"));
        let missing = if log.count == 0 { 0 } else { log.last - log.first + 1 - log.count };
        if missing != 0 {
            differ(format!("is missing {missing} of its positions between {} and {}", log.first, log.last));
        }
        if log.count > 0 && log.head != log.last {
            differ(format!("should end at position {}, but its last message is at {}", log.head, log.last));
        }
        if log.hurried > log.head.max(log.last) {
            differ(format!(
                "is to be sent at once up to position {}, but its last position is {}",
                log.hurried, log.head
            ));
        }
        // The last messages may be missing, so the end is moved forward, never back.
        let head = log.head.max(log.last);
        if fixes && (head != log.head || log.hurried > head) {
            let correction = Correction::Head { org, before: log.head, head, hurried: log.hurried.min(head) };
            self.store.correct(&[correction]).await?;
        }
        Ok(())
    }

    /// Checks that the columns of rows of messages, and the lists of their events, are those of their content.
    pub(super) async fn verify_message_rows(
        &self,
        org: OrgId,
        fixes: bool,
        verified: &mut Verified,
    ) -> Result<(), Problem> {
        let mut after = 0;
        loop {
            let checked = self.store.check_message_rows(org, after, MESSAGE_ROWS).await?;
            verified.differences.extend(checked.off.iter().map(|off| {
                format!(
                    "database: the log of organization {org} has messages up to position {} of which the content does \
                     not give {}",
                    off.position,
                    off.wrong.join(", ")
                )
            }));
            if fixes && !checked.off.is_empty() {
                let positions: Vec<i64> = checked.off.iter().map(|off| off.position).collect();
                self.store.correct_message_rows(org, &positions).await?;
            }
            let Some(through) = checked.through else { return Ok(()) };
            after = through;
        }
    }

    /// Checks the hourly counts of attempts, as far back as attempts are kept.
    pub(super) async fn verify_hours(&self, fixes: bool, verified: &mut Verified) -> Result<(), Problem> {
        let off = self.store.hours_off().await?;
        verified.differences.extend(off.iter().map(|off| {
            format!(
                "webhook URL number {} of organization {}: for the hour from {}, {} deliveries and {} failures are \
                 stored, but its attempts give {} and {}",
                off.subscription, off.org, off.hour, off.kept.0, off.kept.1, off.given.0, off.given.1
            )
        }));
        if fixes && !off.is_empty() {
            self.store.recount_hours().await?;
        }
        Ok(())
    }

    /// Checks the normalized addresses by which people are found at sign-in.
    pub(super) async fn verify_people(&self, org: OrgId, fixes: bool, verified: &mut Verified) -> Result<(), Problem> {
        for row in self.store.people(org).await? {
            let expected = email_key(&row.email);
            if row.email_key == expected {
                continue;
            }
            let what = format!("user {}: the address used at sign-in does not match their e-mail address", row.person);
            verified.differences.push(what);
            if fixes {
                self.store.correct(&[Correction::EmailKey(row.person, expected)]).await?;
            }
        }
        Ok(())
    }

    /// Checks the words by which customers and products are found.
    pub(super) async fn verify_words(&self, org: OrgId, fixes: bool, verified: &mut Verified) -> Result<(), Problem> {
        let mut page = PageRequest { limit: STEP, ..PageRequest::default() };
        loop {
            let rows = self.store.customers(org, &page).await?;
            let Some(last) = rows.last() else { break };
            page.after = Some(last.customer_id.clone());
            for row in &rows {
                let form: NewCustomer = match read_body(row) {
                    Ok(form) => form,
                    Err(problem) => {
                        let message = format!("customer {}: cannot be read: {}", row.customer_id, problem.message);
                        verified.differences.push(message);
                        continue;
                    }
                };
                let expected = of_customer(org, &row.customer_id, &form, false);
                self.compare_words("customer", expected, fixes, verified).await?;
            }
        }
        let mut page = PageRequest { limit: STEP, ..PageRequest::default() };
        loop {
            let rows = self.store.products(org, &page).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            page.after = Some(last.key.product.clone());
            for row in &rows {
                let product = match self.catalog.ready(row.clone()).await {
                    Ok(product) => product,
                    Err(problem) if problem.is_unavailable() => return Err(problem),
                    Err(problem) => {
                        verified.differences.push(unreadable_product(&row.key.product, &problem));
                        continue;
                    }
                };
                let expected = SearchWords { is_new: false, ..of_product(org, &row.key.product, &product.form) };
                self.compare_words("product", expected, fixes, verified).await?;
            }
        }
    }

    /// Writes the search words of all objects in a database that predates them, and counts its attempts. Returns how
    /// many objects had no words. Runs only once per database.
    #[boxed]
    pub async fn fill_in_words(&self) -> Result<u64, Problem> {
        let is_wanted = self.store.setting(WORDS_WANTED).await?.is_some();
        if !is_wanted || self.store.setting(WORDS_FILLED_IN).await?.is_some() {
            return Ok(0);
        }
        // A database that predates search words has no attempt counts either.
        self.store.recount_hours().await?;
        let mut found = Verified::default();
        for organization in self.store.organizations().await? {
            self.verify_words(organization.org, true, &mut found).await?;
            self.fill_in_account_words(organization.org, &mut found).await?;
        }
        self.store.keep_setting(WORDS_FILLED_IN, &[1]).await?;
        let things = found.differences.len() as u64;
        tracing::info!(things, "wrote the search words of accounts, customers and products");
        Ok(things)
    }

    async fn fill_in_account_words(&self, org: OrgId, found: &mut Verified) -> Result<(), Problem> {
        let mut page = PageRequest { limit: STEP, ..PageRequest::default() };
        loop {
            let rows = self.store.accounts(org, &page).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            page.after = Some(last.key.account.clone());
            for row in &rows {
                let profile = Profile::read(&row.now.profile)?;
                if let Some(words) = of_account(org, &row.key.account, &profile) {
                    self.compare_words("account", SearchWords { is_new: false, ..words }, true, found).await?;
                }
            }
        }
    }

    async fn compare_words(
        &self,
        thing: &str,
        expected: SearchWords,
        fixes: bool,
        verified: &mut Verified,
    ) -> Result<(), Problem> {
        let kept = self.store.words_of(expected.org, expected.kind, &expected.id).await?;
        if kept == expected.words {
            return Ok(());
        }
        verified.differences.push(format!(
            "{thing} {}: its search words are \"{}\", but its fields give \"{}\"",
            expected.id,
            kept.join(" "),
            expected.words.join(" ")
        ));
        if fixes {
            let unit = Unit { words: vec![expected], ..Unit::default() };
            self.store.commit(Batch { units: vec![unit] }).await?;
        }
        Ok(())
    }
}
