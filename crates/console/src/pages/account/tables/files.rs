//! The tables as CSV, with all rows instead of one page.

use super::changes::changes;
use super::{all_deliveries, happenings, items, messages, no_table, notices, schedule, titled, trail};
use crate::Console;
use crate::csv::{Cell, Csv};
use crate::display::AsMoney;
use crate::form::FormValues;
use crate::guard::Visitor;
use crate::page::PageResult;
use crate::pages::account::AccountView;
use crate::pages::account::data::PostingWords;
use daybook_service::view::{Amounts, EventPosting, Relationships, TimelineEvent};
use std::fmt::Display;

fn money(cents: i64) -> Cell<'static> {
    Cell::Number(cents.money().plain())
}

fn number(number: impl ToString) -> Cell<'static> {
    Cell::Number(number.to_string())
}

/// Text that the console or the service formatted, such as a time.
fn shown(text: Option<impl Display>) -> Cell<'static> {
    text.map_or(Cell::Empty, |text| Cell::Owned(text.to_string()))
}

/// The requested table as a download.
pub async fn file(console: &Console, visitor: &Visitor, account_view: &AccountView, asked: &FormValues) -> PageResult {
    let csv = match asked.get("tab") {
        "schedule" => schedule_file(console, visitor, account_view).await?,
        "items" => items_file(console, visitor, account_view, asked).await?,
        "timeline" => timeline_file(console, visitor, account_view).await?,
        "webhooks" => messages_file(console, visitor, account_view).await?,
        "attempts" => attempts_file(console, visitor, account_view).await?,
        "notices" => notices_file(console, visitor, account_view).await?,
        "changes" => changes_file(console, visitor, account_view).await?,
        "trail" => trail_file(console, visitor, account_view).await?,
        other => return no_table(other),
    };
    csv.file(&titled(account_view, asked.get("tab")))
}

type File = Result<Csv, crate::page::PageError>;

async fn changes_file(console: &Console, visitor: &Visitor, account_view: &AccountView) -> File {
    let mut csv = Csv::new(&[
        "change_id",
        "state",
        "effective_at",
        "applied_at",
        "recorded_at",
        "cancelled_at",
        "description",
        "reason",
    ])?;
    for row in changes(console, visitor, account_view).await? {
        csv.row(&[
            Cell::Text(&row.of.change_id),
            Cell::Text(row.of.processing_state.name()),
            shown(Some(row.of.effective_at)),
            shown(row.of.applies_at),
            shown(Some(row.of.created_at)),
            shown(row.of.cancelled_at),
            Cell::Text(&row.sentence),
            Cell::Text(row.of.reason.as_deref().unwrap_or_default()),
        ])?;
    }
    Ok(csv)
}

async fn schedule_file(console: &Console, visitor: &Visitor, account_view: &AccountView) -> File {
    let mut csv = Csv::new(&[
        "instalment",
        "due_at",
        "amount",
        "interest",
        "principal",
        "fees",
        "paid",
        "outstanding",
        "paid_on_time",
        "start_principal",
        "end_principal",
        "retired",
        "deferred",
        "shortfall",
    ])?;
    for row in schedule(console, visitor, account_view).await? {
        csv.row(&[
            number(row.number),
            shown(Some(row.of.min_pay_due_at)),
            money(row.of.am_min_pay_cents),
            money(row.of.am_interest_cents),
            money(row.of.am_principal_cents),
            money(row.of.am_fees_cents),
            money(row.of.paid_cents),
            money(row.of.outstanding_cents),
            Cell::Text(row.of.paid_on_time.map_or("", |on_time| if on_time { "true" } else { "false" })),
            money(row.of.am_start_principal_balance_cents),
            money(row.of.am_end_principal_balance_cents),
            Cell::Text(if row.of.retired { "true" } else { "false" }),
            money(row.of.deferred_cents),
            money(row.of.shortfall_cents),
        ])?;
    }
    Ok(csv)
}

async fn items_file(console: &Console, visitor: &Visitor, account_view: &AccountView, asked: &FormValues) -> File {
    let mut csv = Csv::new(&[
        "line_item_id",
        "type",
        "status",
        "state",
        "effective_at",
        "applied_at",
        "recorded_at",
        "amount",
        "principal",
        "interest",
        "fees",
        "balance",
        "splits",
        "reversed_by",
        "description",
    ])?;
    for line in items(console, visitor, account_view, asked).await?.0 {
        let (item, overview, amounts) = (&line.of, &line.of.line_item_overview, &line.of.line_item_summary);
        csv.row(&[
            shown(Some(&item.line_item_id)),
            Cell::Text(overview.line_item_type),
            Cell::Text(overview.line_item_status),
            Cell::Text(item.processing_state.name()),
            shown(Some(item.effective_at)),
            shown(item.applied_at),
            shown(Some(item.created_at)),
            money(amounts.original_amount_cents),
            money(amounts.principal_cents),
            money(amounts.interest_cents),
            money(amounts.fees_cents),
            money(amounts.balance_cents),
            Cell::Text(&splits(&item.line_item_relationships)),
            shown(item.reversed_by_line_item_id.as_ref()),
            shown(Some(&overview.description)),
        ])?;
    }
    Ok(csv)
}

fn splits(splits: &Relationships<'_>) -> String {
    let texts = splits.iter().map(|split| {
        let amount = split.split_amount_cents.money().plain();
        format!("{} {} {amount}", split.paid_down_line_item_type, split.paid_down_line_item_id)
    });
    texts.collect::<Vec<_>>().join("; ")
}

async fn timeline_file(console: &Console, visitor: &Visitor, account_view: &AccountView) -> File {
    let mut csv = Csv::new(&[
        "event",
        "state",
        "effective_at",
        "applies_at",
        "recorded_at",
        "description",
        "principal",
        "interest",
        "fees",
        "surplus",
        "total",
        "principal_after",
        "interest_after",
        "fees_after",
        "surplus_after",
        "total_after",
        "line_items",
        "reason",
    ])?;
    for happening in happenings(console, visitor, account_view).await? {
        let mut row = vec![
            Cell::Text(happening.event),
            Cell::Text(happening.state.name()),
            shown(Some(happening.effective_at)),
            shown(Some(happening.applies_at)),
            shown(happening.recorded_at),
            Cell::Text(&happening.description),
        ];
        row.extend(amounts(happening.effect.as_ref()));
        row.extend(amounts(happening.balance_after.as_ref()));
        let made = happening.line_items.join("; ");
        row.push(Cell::Text(&made));
        row.push(shown(happening.reason.as_ref()));
        csv.row(&row)?;
        for posting in &happening.postings {
            csv.row(&posting_row(&happening, posting))?;
        }
    }
    Ok(csv)
}

/// A separate row for each posting, so that a column of amounts contains every amount posted or paid.
fn posting_row(happening: &TimelineEvent, posting: &EventPosting) -> Vec<Cell<'static>> {
    let mut row = vec![
        Cell::Text("posting"),
        Cell::Text(happening.state.name()),
        shown(Some(happening.effective_at)),
        shown(Some(happening.applies_at)),
        shown(happening.recorded_at),
        Cell::Text(posting.line_item_type),
    ];
    let amount = |component| posting.of(component).map_or(Cell::Empty, |amount| money(amount.0));
    row.extend(["PRINCIPAL", "INTEREST", "FEE", "SURPLUS"].map(amount));
    row.extend([const { Cell::Empty }; 6]);
    row.push(shown(Some(&posting.line_item_id)));
    row.push(Cell::Empty);
    row
}

fn amounts(amounts: Option<&Amounts>) -> [Cell<'static>; 5] {
    let Some(amounts) = amounts else { return [const { Cell::Empty }; 5] };
    let all = [
        amounts.principal_cents,
        amounts.interest_cents,
        amounts.fees_cents,
        amounts.surplus_cents,
        amounts.total_cents,
    ];
    all.map(money)
}

async fn messages_file(console: &Console, visitor: &Visitor, account_view: &AccountView) -> File {
    let mut csv = Csv::new(&["event", "event_id", "state", "happened_at", "because"])?;
    for message in messages(console, visitor, account_view).await? {
        csv.row(&[
            Cell::Text(&message.told.event),
            Cell::Text(&message.told.event_id),
            Cell::Text(message.told.state.name()),
            shown(Some(message.because.applies_at)),
            Cell::Text(&message.because.description),
        ])?;
    }
    Ok(csv)
}

async fn attempts_file(console: &Console, visitor: &Visitor, account_view: &AccountView) -> File {
    let mut csv = Csv::new(&[
        "attempted_at",
        "event",
        "event_id",
        "url",
        "attempt",
        "outcome",
        "response_status",
        "latency_ms",
        "error",
        "next_retry_at",
    ])?;
    for attempt in all_deliveries(console, visitor, account_view).await? {
        csv.row(&[
            shown(Some(attempt.attempted_at)),
            Cell::Text(&attempt.event),
            Cell::Text(&attempt.event_id),
            Cell::Text(&attempt.webhook_url),
            number(attempt.attempt),
            Cell::Text(attempt.outcome),
            attempt.response_status.map_or(Cell::Empty, number),
            number(attempt.latency_ms),
            shown(attempt.error.as_ref()),
            shown(attempt.next_retry_at),
        ])?;
    }
    Ok(csv)
}

async fn notices_file(console: &Console, visitor: &Visitor, account_view: &AccountView) -> File {
    let mut csv = Csv::new(&["notification_type", "time_offset", "interval", "time", "enabled", "next_at"])?;
    for notice in notices(console, visitor, account_view).await? {
        csv.row(&[
            Cell::Text(notice.notification_type.name()),
            shown(notice.time_offset.as_ref()),
            shown(notice.interval.as_ref()),
            shown(notice.time.as_ref()),
            Cell::Text(if notice.enabled { "true" } else { "false" }),
            shown(notice.next_at),
        ])?;
    }
    Ok(csv)
}

async fn trail_file(console: &Console, visitor: &Visitor, account_view: &AccountView) -> File {
    let mut csv = Csv::new(&["changed_at", "account_status", "account_status_subtype"])?;
    for change in trail(console, visitor, account_view).await? {
        csv.row(&[
            shown(Some(change.changed_at)),
            Cell::Text(change.account_overview.account_status),
            Cell::Text(change.account_overview.reason()),
        ])?;
    }
    Ok(csv)
}
