//! Reading line items: one, or a page of them. `changes` records them.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::Book;
use crate::account::journal::{JournalEntry, Names, named};
use crate::accounts::{account_key, problem};
use crate::boxed;
use crate::items::{ShownItem, kind_names, status_names};
use crate::paging::Paging;
use crate::problem::Problem;
use crate::view;
use daybook_engine::item::{ItemId, ItemStatus};
use daybook_engine::time::Time;
use daybook_store::records::ItemRow;
use std::collections::HashSet;
use std::sync::Arc;

/// Which line items to list, and as of when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemQuery {
    /// Of this type.
    pub line_item_type: Option<String>,
    /// With this status.
    pub line_item_status: Option<String>,
    /// Effective after this moment.
    pub effective_at_after: Option<Time>,
    /// Effective before this moment.
    pub effective_at_before: Option<Time>,
    /// As of this moment.
    pub as_of: Option<Time>,
}

impl ItemQuery {
    /// Refuses types and statuses that do not exist.
    pub fn check(&self) -> Result<(), Problem> {
        let types = || kind_names().chain(["CHARGE"]);
        if self.line_item_type.as_ref().is_some_and(|wanted| types().all(|name| name != wanted)) {
            let names: Vec<&str> = types().collect();
            return Err(Problem::invalid("line_item_type", format!("must be one of {}", names.join(", "))));
        }
        if self.line_item_status.as_ref().is_some_and(|wanted| status_names().all(|name| name != wanted)) {
            let names: Vec<&str> = status_names().collect();
            return Err(Problem::invalid("line_item_status", format!("must be one of {}", names.join(", "))));
        }
        Ok(())
    }

    fn takes(&self, shown: &ShownItem) -> bool {
        let item = &shown.item;
        self.line_item_type.as_ref().is_none_or(|wanted| wanted == item.kind.name())
            && self.line_item_status.as_ref().is_none_or(|wanted| wanted == item.status.name())
            && self.effective_at_after.is_none_or(|after| item.effective_at > after)
            && self.effective_at_before.is_none_or(|before| item.effective_at < before)
    }
}

impl Service {
    /// A page of an account's line items.
    #[boxed]
    pub async fn list_line_items(
        &self,
        who: &Caller,
        account: &str,
        paging: Paging,
        query: ItemQuery,
    ) -> Result<view::Page<view::LineItem<'static>>, Problem> {
        who.may(Right::Read)?;
        query.check()?;
        let (book, rows) = match query.as_of {
            Some(at) => {
                let now = self.clock.now();
                return self
                    .with_whole_book(who, account, move |book| {
                        let items = items_as_of(&book, at, now)?;
                        item_page(&book, items, &paging, &query)
                    })
                    .await;
            }
            None => self.stored_items(who, account).await?,
        };
        self.readers.run(who.org, move || item_page(&book, standing_items(&book, &rows)?, &paging, &query)).await
    }

    /// A line item.
    #[boxed]
    pub async fn get_line_item(
        &self,
        who: &Caller,
        account: &str,
        item: &str,
        as_of: Option<Time>,
    ) -> Result<view::LineItem<'static>, Problem> {
        who.may(Right::Read)?;
        let missing = Problem::not_found("line item", item);
        let item = item.to_owned();
        if let Some(at) = as_of {
            let now = self.clock.now();
            let show = move |book: Book| {
                let items = items_as_of(&book, at, now)?;
                let found = items.iter().find(|shown| shown.item.id.to_string() == item);
                Ok::<_, Problem>(show_item(&book, found.ok_or(missing)?))
            };
            return self.with_whole_book(who, account, show).await;
        }
        let book = self.load_book(&account_key(who, account), daybook_store::Inputs::Pending).await?;
        let row = self.store.items_by_id(&book.key, &[Arc::from(&*item)]).await?.into_iter().next();
        let waits = |record: &&JournalEntry| *record.row.name == *item;
        let waiting = || book.waiting().find(waits).and_then(|record| ShownItem::waiting(record, book.is_held(record)));
        let found = row.as_ref().map(ShownItem::stored).transpose()?.or_else(waiting);
        Ok(show_item(&book, &found.ok_or(missing)?))
    }

    /// An account as stored, with its processed line items.
    async fn stored_items(&self, who: &Caller, account: &str) -> Result<(Book, Vec<ItemRow>), Problem> {
        let book = self.load_book(&account_key(who, account), daybook_store::Inputs::Pending).await?;
        let rows = self.store.items(&book.key).await?;
        Ok((book, rows))
    }
}

/// All line items of an account: processed, held and scheduled.
fn standing_items(book: &Book, rows: &[ItemRow]) -> Result<Vec<ShownItem>, Problem> {
    let known: HashSet<&str> = rows.iter().map(|row| &*row.item_id).collect();
    let mut items = rows.iter().map(ShownItem::stored).collect::<Result<Vec<_>, _>>()?;
    // An input that was folded between the two reads is already among the rows.
    for record in book.waiting().filter(|record| !known.contains(&*record.row.name)) {
        items.extend(ShownItem::waiting(record, book.is_held(record)));
    }
    Ok(items)
}

/// All line items of an account as of a moment.
fn items_as_of(book: &Book, at: Time, now: Time) -> Result<Vec<ShownItem>, Problem> {
    let then = book.as_of(at, now).map_err(problem)?;
    let names = Names::of(&book.journal);
    let recorded = |id: &ItemId| match id {
        ItemId::Input(name) => {
            named(Some(&names), &book.journal, name).map(|record| (record.row.extra.clone(), record.row.recorded_at))
        }
        _ => None,
    };
    let mut items = Vec::new();
    for item in then.ledger.items().filter(|item| item.status != ItemStatus::Invalid || recorded(&item.id).is_some()) {
        let (extra, recorded_at) = recorded(&item.id).unwrap_or((None, item.applied_at));
        items.push(ShownItem::as_of(item.clone(), extra.as_deref(), recorded_at));
    }
    Ok(items)
}

/// A page of these line items, ordered by time.
fn item_page(
    book: &Book,
    mut items: Vec<ShownItem>,
    paging: &Paging,
    query: &ItemQuery,
) -> Result<view::Page<view::LineItem<'static>>, Problem> {
    items.retain(|item| query.takes(item));
    items.sort_by_cached_key(|shown| (shown.item.effective_at, shown.item.applied_at, shown.item.id.to_string()));
    let (page, paging) = paging.of_list(items, |shown| shown.item.id.to_string())?;
    Ok(view::Page { results: page.iter().map(|shown| show_item(book, shown)).collect(), paging })
}

fn show_item(book: &Book, shown: &ShownItem) -> view::LineItem<'static> {
    view::LineItem::new(&shown.item, &shown.facts(&book.key, &book.product.facts)).into_owned()
}
