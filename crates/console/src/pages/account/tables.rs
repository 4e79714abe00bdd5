//! The tabs with tables: schedule, line items, timeline, webhooks, notices. Each is also a CSV download.
//!
//! The service holds these lists in memory, so each is fetched whole and cut into pages here, newest first except for
//! the schedule. Deliveries are the exception: the service pages them.

use super::data::{ItemChanges, may_return};
use super::{AccountView, Tab};
use crate::Console;
use crate::display::{plain_words, told};
use crate::form::FormValues;
use crate::guard::Visitor;
use crate::page::{PageError, PageResult};
use daybook_service::form::fields::Reference;
use daybook_service::line_items::ItemQuery;
use daybook_service::paging::Paging;
use daybook_service::problem::Problem;
use daybook_service::view::{
    Delivery, EventWebhook, LineItem, NotificationSetting, Page, ScheduleRow, StatusChange, TimelineEvent,
};
use daybook_service::webhooks::deliveries::DeliveryQuery;
use std::collections::BTreeSet;

mod changes;
mod files;

pub use changes::ChangesTab;
pub use files::file;

/// A whole list, up to 10,000 rows.
pub const EVERYTHING: Paging = Paging { limit: 10_000, after: None, before: None };
/// The rows of a page.
const ROWS: usize = 60;

/// A page of a list in memory.
#[derive(Clone, Debug)]
pub struct Sheet<T> {
    /// The rows of the page.
    pub rows: Vec<T>,
    /// The number of all rows.
    pub total: usize,
    /// The number of the first row of the page, from 1; 0 if there are none.
    pub first: usize,
    /// The number of the last row of the page.
    pub last: usize,
    /// The link to the previous page; empty if there is none.
    pub before: String,
    /// The link to the next page; empty if there is none.
    pub after: String,
}

impl<T> Sheet<T> {
    /// Cuts out the requested page, or page number `usual` by default. `link` is the URL without the page number.
    fn cut(rows: Vec<T>, asked: &FormValues, usual: usize, link: &str) -> Sheet<T> {
        let total = rows.len();
        let pages = total.div_ceil(ROWS).max(1);
        let page = asked.get("page").parse().unwrap_or(usual).clamp(1, pages);
        let skipped = (page - 1) * ROWS;
        let rows: Vec<T> = rows.into_iter().skip(skipped).take(ROWS).collect();
        let at = |page: usize| format!("{link}&page={page}");
        Sheet {
            first: if rows.is_empty() { 0 } else { skipped + 1 },
            last: skipped + rows.len(),
            rows,
            total,
            before: if page > 1 { at(page - 1) } else { String::new() },
            after: if page < pages { at(page + 1) } else { String::new() },
        }
    }
}

fn link(account_view: &AccountView, tab: Tab) -> String {
    format!("{}?tab={}{}", account_view.path(), tab.name(), account_view.when.link())
}

/// An instalment with its number.
#[derive(Clone, Debug)]
pub struct NumberedInstalment {
    /// The number, from 1.
    pub number: usize,
    /// The instalment.
    pub of: ScheduleRow,
    /// Whether it is the next unpaid instalment.
    pub is_next: bool,
}

/// The schedule.
#[derive(Clone, Debug)]
pub struct ScheduleTab {
    /// Its rows.
    pub sheet: Sheet<NumberedInstalment>,
}

impl ScheduleTab {
    /// Whether an instalment of the page was replaced by a change.
    pub fn has_replaced(&self) -> bool {
        self.sheet.rows.iter().any(|row| row.of.retired)
    }

    pub async fn load(
        console: &Console,
        visitor: &Visitor,
        account_view: &AccountView,
        asked: &FormValues,
    ) -> Result<Self, PageError> {
        let rows = schedule(console, visitor, account_view).await?;
        let next = rows.iter().position(|row| row.is_next).unwrap_or(0);
        let sheet = Sheet::cut(rows, asked, next / ROWS + 1, &link(account_view, Tab::Schedule));
        Ok(ScheduleTab { sheet })
    }
}

async fn schedule(
    console: &Console,
    visitor: &Visitor,
    account_view: &AccountView,
) -> Result<Vec<NumberedInstalment>, PageError> {
    let schedule =
        console.service.get_amortization_schedule(visitor.caller(), &account_view.id, account_view.when.time()).await?;
    let rows = schedule.results;
    let next = rows.iter().position(|row| row.paid_on_time.is_none() && row.outstanding_cents != 0 && !row.retired);
    let numbered = rows.into_iter().enumerate();
    Ok(numbered.map(|(index, of)| NumberedInstalment { number: index + 1, of, is_next: Some(index) == next }).collect())
}

/// A line item, and the changes it allows.
#[derive(Clone, Debug)]
pub struct LineItemRow {
    /// The item.
    pub of: LineItem<'static>,
    /// Whether it is a payment that can be reversed.
    pub may_bounce: bool,
    /// Whether it is a refund that can be reversed.
    pub may_return: bool,
}

/// Line items.
#[derive(Clone, Debug)]
pub struct ItemsTab {
    /// The items, newest first.
    pub sheet: Sheet<LineItemRow>,
    /// The types that occur.
    pub kinds: Vec<(&'static str, String)>,
    /// The type shown; empty for all.
    pub kind: String,
    /// The status shown; empty for all.
    pub status: String,
    /// The one item shown; empty for all.
    pub only: String,
}

impl ItemsTab {
    pub async fn load(
        console: &Console,
        visitor: &Visitor,
        account_view: &AccountView,
        asked: &FormValues,
    ) -> Result<Self, PageError> {
        let (lines, kinds) = items(console, visitor, account_view, asked).await?;
        let mut link = link(account_view, Tab::Items);
        for name in ["type", "status", "item"] {
            if asked.has(name) {
                link += &format!("&{name}={}", encoded(asked.get(name)));
            }
        }
        Ok(ItemsTab {
            sheet: Sheet::cut(lines, asked, 1, &link),
            kinds: kinds.into_iter().map(|kind| (kind, plain_words(kind))).collect(),
            kind: asked.get("type").to_owned(),
            status: asked.get("status").to_owned(),
            only: asked.get("item").to_owned(),
        })
    }
}

async fn items(
    console: &Console,
    visitor: &Visitor,
    account_view: &AccountView,
    asked: &FormValues,
) -> Result<(Vec<LineItemRow>, BTreeSet<&'static str>), PageError> {
    let query = ItemQuery { as_of: account_view.when.time(), ..ItemQuery::default() };
    let mut items =
        console.service.list_line_items(visitor.caller(), &account_view.id, EVERYTHING, query).await?.results;
    items.reverse();
    let kinds = items.iter().map(|item| item.line_item_overview.line_item_type).collect();
    let ids = items.iter().map(|item| item.line_item_id.to_string());
    let bounced: BTreeSet<String> = ids.filter_map(|id| id.strip_prefix("dbk_reversal:").map(str::to_owned)).collect();
    let (kind, status, only) = (asked.get("type"), asked.get("status"), asked.get("item"));
    items.retain(|item| {
        let overview = &item.line_item_overview;
        (kind.is_empty() || overview.line_item_type == kind)
            && (status.is_empty() || overview.line_item_status == status || item.processing_state.name() == status)
            && (only.is_empty() || item.line_item_id.to_string() == only)
    });
    let line = |of: LineItem<'static>| LineItemRow {
        may_bounce: of.may_bounce() && !bounced.contains(&of.line_item_id.to_string()),
        may_return: may_return(&of),
        of,
    };
    Ok((items.into_iter().map(line).collect(), kinds))
}

/// The timeline.
#[derive(Clone, Debug)]
pub struct TimelineTab {
    /// The events, newest first.
    pub sheet: Sheet<TimelineEvent>,
}

impl TimelineTab {
    pub async fn load(
        console: &Console,
        visitor: &Visitor,
        account_view: &AccountView,
        asked: &FormValues,
    ) -> Result<Self, PageError> {
        let happenings = happenings(console, visitor, account_view).await?;
        Ok(TimelineTab { sheet: Sheet::cut(happenings, asked, 1, &link(account_view, Tab::Timeline)) })
    }
}

/// The events of the account, oldest first, with the amounts in their descriptions in dollars.
pub async fn events(
    console: &Console,
    visitor: &Visitor,
    account_view: &AccountView,
) -> Result<Vec<TimelineEvent>, PageError> {
    let mut events = console.service.list_account_events(visitor.caller(), &account_view.id, EVERYTHING).await?.results;
    for event in &mut events {
        event.description = told(&event.description);
    }
    Ok(events)
}

/// The events of the account, newest first.
async fn happenings(
    console: &Console,
    visitor: &Visitor,
    account_view: &AccountView,
) -> Result<Vec<TimelineEvent>, PageError> {
    let mut events = events(console, visitor, account_view).await?;
    events.reverse();
    Ok(events)
}

/// A webhook message, and its event.
#[derive(Clone, Debug)]
pub struct MessageWithEvent {
    /// The message.
    pub told: EventWebhook,
    /// The event.
    pub because: TimelineEvent,
}

/// The webhook messages of the account.
#[derive(Clone, Debug)]
pub struct WebhooksTab {
    /// The messages, newest first.
    pub sheet: Sheet<MessageWithEvent>,
    /// The delivery attempts, newest first.
    pub attempts: Vec<Delivery>,
    /// The link to earlier attempts; empty if there are none.
    pub earlier: String,
}

impl WebhooksTab {
    pub async fn load(
        console: &Console,
        visitor: &Visitor,
        account_view: &AccountView,
        asked: &FormValues,
    ) -> Result<Self, PageError> {
        let link = link(account_view, Tab::Webhooks);
        let sheet = Sheet::cut(messages(console, visitor, account_view).await?, asked, 1, &link);
        let after = Some(asked.get("after")).filter(|mark| !mark.is_empty());
        let attempts = deliveries(console, visitor, account_view, Paging::read(Some("25"), after, None)?).await?;
        let earlier = attempts.paging.next().map_or_else(String::new, |mark| format!("{link}&after={mark}#attempts"));
        Ok(WebhooksTab { sheet, attempts: attempts.results, earlier })
    }
}

async fn messages(
    console: &Console,
    visitor: &Visitor,
    account_view: &AccountView,
) -> Result<Vec<MessageWithEvent>, PageError> {
    let happenings = happenings(console, visitor, account_view).await?;
    let messages = happenings.into_iter().flat_map(|because| {
        let told: Vec<EventWebhook> = because.webhooks.iter().rev().cloned().collect();
        told.into_iter().map(move |told| MessageWithEvent { told, because: because.clone() })
    });
    Ok(messages.collect())
}

async fn deliveries(
    console: &Console,
    visitor: &Visitor,
    account_view: &AccountView,
    paging: Paging,
) -> Result<Page<Delivery>, PageError> {
    let account_id = Reference::read(&account_view.id).map_err(|message| Problem::invalid("account_id", message))?;
    let query = DeliveryQuery { account_id: Some(account_id), ..DeliveryQuery::default() };
    Ok(console.service.list_deliveries(visitor.caller(), paging, query).await?)
}

/// A type of notification, with its settings.
#[derive(Clone, Debug)]
pub struct NoticeKind {
    /// Its name in the API.
    pub name: &'static str,
    /// When it is sent.
    pub about: &'static str,
    /// Its settings.
    pub set: Vec<NotificationSetting>,
}

/// The configured notifications.
#[derive(Clone, Debug)]
pub struct NoticesTab {
    /// Every type.
    pub kinds: Vec<NoticeKind>,
}

/// Every type of notification, with a description.
const NOTICES: [(&str, &str); 4] = [
    ("payment_due_date", "Sent a number of days before or after each due date, whether the instalment is paid or not."),
    ("late_fee_date", "Sent a number of days before or after the end of the grace period of an unpaid instalment."),
    ("loan_end_date", "Sent a number of days before or after the last due date of the loan."),
    ("account_summary", "The current state of the account, sent at a regular interval."),
];

impl NoticesTab {
    pub async fn load(console: &Console, visitor: &Visitor, account_view: &AccountView) -> Result<Self, PageError> {
        let notices = notices(console, visitor, account_view).await?;
        let of =
            |name: &str| notices.iter().filter(|notice| notice.notification_type.name() == name).cloned().collect();
        Ok(NoticesTab { kinds: NOTICES.map(|(name, about)| NoticeKind { name, about, set: of(name) }).into() })
    }
}

async fn notices(
    console: &Console,
    visitor: &Visitor,
    account_view: &AccountView,
) -> Result<Vec<NotificationSetting>, PageError> {
    Ok(console.service.get_notification_config(visitor.caller(), &account_view.id).await?.results)
}

/// Encodes a text for a URL.
pub fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// All delivery attempts, up to the limit of a download.
async fn all_deliveries(
    console: &Console,
    visitor: &Visitor,
    account_view: &AccountView,
) -> Result<Vec<Delivery>, PageError> {
    let mut all = Vec::new();
    let mut mark: Option<String> = None;
    loop {
        let page =
            deliveries(console, visitor, account_view, Paging::read(Some("200"), mark.as_deref(), None)?).await?;
        all.extend(page.results);
        mark = page.paging.next();
        if mark.is_none() || all.len() >= EVERYTHING.limit {
            return Ok(all);
        }
    }
}

/// All status changes, for a download.
async fn trail(
    console: &Console,
    visitor: &Visitor,
    account_view: &AccountView,
) -> Result<Vec<StatusChange>, PageError> {
    Ok(console.service.list_account_status_changes(visitor.caller(), &account_view.id, EVERYTHING).await?.results)
}

/// The name of a download.
fn titled(account_view: &AccountView, what: &str) -> String {
    let at = account_view.when.at.as_ref().map_or_else(String::new, |at| format!("-as-of-{}", at.date()));
    format!("{}-{what}{at}", account_view.id)
}

/// The error for an unknown table.
fn no_table(name: &str) -> PageResult {
    Err(Problem::not_found("table", name).into())
}
