//! Changing a loan: a menu, a form for each change, a page that shows what the change does, and the confirmed change.
//!
//! ```text
//! /console/accounts/{id}/change                  menu
//! /console/accounts/{id}/change/{what}           ask: the form
//! /console/accounts/{id}/change/{what}/preview   preview: what the change does; nothing is stored
//! POST /console/accounts/{id}/change/{what}      perform
//! ```
//!
//! The preview comes from the service, which runs the change on a copy of the account. A cancel and a withdrawal have no
//! fields, so they begin with their preview; `item` names the change or the line item that they are about.

use super::AccountView;
use super::Tab;
use super::compared::{ComparedRow, Figure, Messages, figures, messages, schedules};
use super::loan_change::{DEFERRED, LoanChange};
use crate::Console;
use crate::display::{AsMoment, AsMoney, Count, DisplayTime, Money, told};
use crate::form::{Form, FormValues, QueryParameters};
use crate::guard::{Visitor, redirect_saying};
use crate::page::{Notice, PageError, PageFrame, PageResult, Section, show, show_again};
use askama::Template;
use axum::extract::{Path, State};
use daybook_service::changes::JobResponse as Rehearsed;
use daybook_service::ids::{mint_secret, mint_uuid};
use daybook_service::problem::{Problem, ProblemKind};
use daybook_service::view::{self, LineItem, ProcessingState, ScheduleRow};
use serde_json::Value;

/// The most instalments that can be chosen in one deferral.
const MOST_CHOICES: usize = 60;

/// The beginning of the id of the line item that gives back interest of the time before a change was recorded.
const RETRO: &str = "dbk_retro:";

#[derive(Template)]
#[template(path = "account/change_menu.html")]
struct MenuPage {
    page: PageFrame,
    account_view: AccountView,
}

#[derive(Template)]
#[template(path = "account/change_form.html")]
struct FormPage {
    page: PageFrame,
    account_view: AccountView,
    change: LoanChange,
    item: String,
    form: Form,
    /// The unpaid instalments.
    unpaid: Vec<UnpaidRow>,
}

/// An instalment that is not paid in full.
struct UnpaidRow {
    of: ScheduleRow,
    /// Whether it can be deferred: the last one cannot.
    may_be_deferred: bool,
    is_ticked: bool,
}

#[derive(Template)]
#[template(path = "account/change_preview.html")]
struct PreviewPage {
    page: PageFrame,
    account_view: AccountView,
    change: LoanChange,
    item: String,
    sentence: String,
    /// When it counts, in sentences.
    came: Vec<String>,
    /// Whether the request was made before, so that it does nothing now.
    is_known: bool,
    figures: Vec<Figure>,
    rows: Vec<ComparedRow>,
    items: Vec<LineItem<'static>>,
    messages: Vec<Messages>,
    /// The typed values, to be sent again with the confirmation.
    typed: Vec<(&'static str, String)>,
    once: String,
    curl: String,
}

/// The menu of all changes.
pub async fn menu(State(console): State<Console>, visitor: Visitor, Path(id): Path<String>) -> PageResult {
    let account_view = AccountView::enter(&console, &visitor, &id, "").await?;
    show(&MenuPage { page: PageFrame::new("Change this loan", Section::Accounts, &visitor), account_view })
}

/// The form of a change.
pub async fn ask_change(
    State(console): State<Console>,
    visitor: Visitor,
    Path((id, what)): Path<(String, String)>,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let change = named(&what)?;
    if change.fields().is_empty() {
        return preview_page(&console, &visitor, &id, change, asked).await;
    }
    let account_view = AccountView::enter(&console, &visitor, &id, "").await?;
    let typed = if change == LoanChange::Refund && !asked.has("line_item_id") {
        let uuid = mint_uuid();
        asked.with("line_item_id", format!("refund-{}", uuid.get(..13).unwrap_or_default()))
    } else {
        asked
    };
    show(&FormPage::new(&console, &visitor, account_view, change, typed).await?)
}

/// The preview of a change.
pub async fn preview_change(
    State(console): State<Console>,
    visitor: Visitor,
    Path((id, what)): Path<(String, String)>,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    preview_page(&console, &visitor, &id, named(&what)?, asked).await
}

/// Makes the change.
pub async fn perform_change(
    State(console): State<Console>,
    visitor: Visitor,
    Path((id, what)): Path<(String, String)>,
    typed: FormValues,
) -> PageResult {
    let change = named(&what)?;
    let account_view = AccountView::enter(&console, &visitor, &id, "").await?;
    let performed = async {
        let body = change.body(&typed, &account_view.zone)?;
        let action = change.action(&id, typed.get("item"), body);
        let answer = action.perform(&console.service, visitor.caller(), Some(typed.get("once"))).await?;
        Ok(done(change, &serde_json::from_slice(&answer).unwrap_or_default()))
    };
    match performed.await {
        Ok(sentence) => {
            let tab = if change.is_item() { Tab::Items } else { Tab::Changes };
            let to = format!("{}?tab={}", account_view.path(), tab.name());
            Ok(redirect_saying(&to, &Notice::done(format!("Done. {sentence}")), &visitor.context))
        }
        Err(trouble) => refuse(&console, &visitor, account_view, change, typed, trouble).await,
    }
}

fn named(what: &str) -> Result<LoanChange, PageError> {
    LoanChange::named(what).ok_or_else(|| Problem::not_found("page", what).into())
}

/// What was done, by the response of the API.
fn done(change: LoanChange, answer: &Value) -> String {
    match (change, answer["processing_state"].as_str()) {
        (LoanChange::Withdraw, _) => "The change was withdrawn.".to_owned(),
        (LoanChange::Cancel, Some("HELD")) => {
            "The cancel is recorded and held, until the held events are released.".to_owned()
        }
        (LoanChange::Cancel, _) => "The change was cancelled.".to_owned(),
        (_, Some("HELD")) => {
            "The change is recorded and held. It has no effect until the held events are released.".to_owned()
        }
        (_, Some("SCHEDULED")) => {
            let at = DisplayTime(answer["effective_at"].as_str().unwrap_or_default().to_owned());
            format!("The change is scheduled for {at}.")
        }
        (LoanChange::Refund, _) => "The refund was recorded.".to_owned(),
        (LoanChange::RefundReversal, _) => "The refund was reversed.".to_owned(),
        _ => format!("The change was made: {}.", change.title().to_lowercase()),
    }
}

impl FormPage {
    async fn new(
        console: &Console,
        visitor: &Visitor,
        account_view: AccountView,
        change: LoanChange,
        typed: FormValues,
    ) -> Result<FormPage, PageError> {
        let rows = console.service.get_amortization_schedule(visitor.caller(), &account_view.id, None).await?.results;
        let last = rows.len().saturating_sub(1);
        let unpaid = rows.into_iter().enumerate().filter(|(_, row)| row.outstanding_cents > 0).map(|(index, of)| {
            let due = of.min_pay_due_at.moment();
            UnpaidRow {
                is_ticked: typed.all(DEFERRED).any(|date| date == due.date()),
                may_be_deferred: index < last,
                of,
            }
        });
        Ok(FormPage {
            page: PageFrame::new(change.title(), Section::Accounts, visitor),
            unpaid: unpaid.take(MOST_CHOICES).collect(),
            account_view,
            change,
            item: typed.get("item").to_owned(),
            form: Form::new(change.fields(), typed),
        })
    }

    /// The surplus, which the user can fill in with one click.
    fn surplus(&self) -> Option<Money> {
        let surplus = self.account_view.current.summary.surplus_cents.money();
        (self.change == LoanChange::Refund && surplus > Money(0)).then_some(surplus)
    }
}

/// Shows the form again with the errors. An internal error or an outage gets an error page instead.
async fn refuse(
    console: &Console,
    visitor: &Visitor,
    account_view: AccountView,
    change: LoanChange,
    typed: FormValues,
    trouble: PageError,
) -> PageResult {
    if matches!(trouble.problem.kind, ProblemKind::Internal | ProblemKind::Unavailable) {
        return Err(trouble);
    }
    let mut page = FormPage::new(console, visitor, account_view, change, typed).await?;
    page.form = page.form.refused(&trouble.problem);
    show_again(&page)
}

async fn preview_page(
    console: &Console,
    visitor: &Visitor,
    id: &str,
    change: LoanChange,
    asked: FormValues,
) -> PageResult {
    let account_view = AccountView::enter(console, visitor, id, "").await?;
    let item = asked.get("item").to_owned();
    let previewed = async {
        if change.needs_item() && item.is_empty() {
            return Err(PageError::from(Problem::invalid("item", "must name a change or a line item")));
        }
        let body = change.body(&asked, &account_view.zone)?;
        let request = change.action(id, &item, body.clone()).change_request()?;
        let (who, service) = (visitor.caller(), &console.service);
        let about = match change {
            LoanChange::Cancel | LoanChange::Withdraw => Some(service.get_change(who, id, &item).await?),
            _ => None,
        };
        let is_known = match body["change_id"].as_str() {
            Some(name) => service.get_change(who, id, name).await.is_ok(),
            None => false,
        };
        let answer = service.rehearse(who, id, request.clone()).await?.answer;
        let effects = service.preview(who, id, request).await?.effects;
        let at = account_view.holds().then(|| account_view.clock.max(account_view.current.effective_at.time));
        let present = service.get_amortization_schedule(who, id, at).await?.results;
        Ok((body, about, is_known, answer, effects, present))
    };
    let (body, about, is_known, answer, effects, present) = match previewed.await {
        Ok(previewed) => previewed,
        Err(trouble) => return refuse(console, visitor, account_view, change, asked, trouble).await,
    };
    let came = came(&account_view, change, &answer, &effects);
    let view::Effects { before, after, rows, line_items, messages: sent } = effects;
    show(&PreviewPage {
        page: PageFrame::new(change.title(), Section::Accounts, visitor),
        sentence: sentence(change, &item, about.as_ref(), &answer, &body),
        came,
        is_known,
        figures: figures(before.as_ref(), &after),
        rows: if rows.is_empty() { Vec::new() } else { schedules(&present, &rows) },
        items: line_items,
        messages: messages(&sent),
        typed: typed(change, &asked),
        once: mint_secret(),
        curl: change.action(id, &item, body).curl(&visitor.context.base_url),
        account_view,
        change,
        item,
    })
}

/// The typed values that are not empty.
fn typed(change: LoanChange, asked: &FormValues) -> Vec<(&'static str, String)> {
    let fields = change.fields().iter().map(|field| (field.name, asked.get(field.name).to_owned()));
    let ticked = asked.all(DEFERRED).map(|date| (DEFERRED, date.to_owned())).filter(|_| change == LoanChange::Defer);
    fields.chain(ticked).filter(|(_, value)| !value.is_empty()).collect()
}

/// What will happen, in sentences.
fn sentence(
    change: LoanChange,
    item: &str,
    about: Option<&view::LoanChange>,
    answer: &Rehearsed<'_>,
    body: &Value,
) -> String {
    match (change, about, answer) {
        (LoanChange::Cancel, Some(about), _) => {
            let is_made = about.processing_state == ProcessingState::Processed;
            format!("This change will be cancelled: {}", told(if is_made { &about.made } else { &about.planned }))
        }
        (LoanChange::Withdraw, Some(about), _) => format!("This change will be withdrawn: {}", told(&about.planned)),
        (LoanChange::Refund, ..) => {
            let amount = Money(body["original_amount_cents"].as_i64().unwrap_or_default());
            format!("A refund of {amount} will be recorded: this part of the surplus was paid back to the borrower.")
        }
        (LoanChange::RefundReversal, ..) => format!("Refund {item} will be reversed: its amount is surplus again."),
        (_, _, Rehearsed::Change(change)) => told(&change.planned),
        _ => format!("{}.", change.title()),
    }
}

/// When the change counts, in sentences.
fn came(
    account_view: &AccountView,
    change: LoanChange,
    answer: &Rehearsed<'_>,
    effects: &view::Effects,
) -> Vec<String> {
    let Rehearsed::Change(made) = answer else { return Vec::new() };
    if change == LoanChange::Cancel {
        return Vec::new();
    }
    match (made.processing_state, made.applies_at) {
        (ProcessingState::Held, _) => vec![
            "The product is in migration mode, so the change will be held. It has no effect until the held events are \
             released. This page shows the account as if they were released now."
                .to_owned(),
        ],
        (ProcessingState::Scheduled, _) => vec![format!(
            "The change is scheduled for {}. The figures below are as of now, so they do not contain it yet.",
            made.effective_at.moment()
        )],
        (_, Some(at)) if at.time > made.effective_at.time && account_view.posts_late => {
            let day = at.moment().day();
            let is_given_back = effects.line_items.iter().any(|item| item.line_item_id.to_string().starts_with(RETRO));
            vec![if is_given_back {
                format!(
                    "It will count from {day}, because this product does not recalculate the past. For the time before, \
                     the interest that the borrower would have saved is taken off, as the line items show."
                )
            } else {
                format!("It will count from {day}, not from its date: this product does not recalculate the past.")
            }]
        }
        _ => Vec::new(),
    }
}

impl PreviewPage {
    /// The number of instalments that change.
    fn changed(&self) -> Count {
        Count(self.rows.iter().filter(|row| row.is_changed()).count() as u64)
    }

    /// The link back to the form, with the typed values.
    fn edit(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if !self.item.is_empty() {
            query.append_pair("item", &self.item);
        }
        query.extend_pairs(self.typed.iter().map(|(name, value)| (*name, value.as_str())));
        format!("{}?{}", self.change.path(&self.account_view.id), query.finish())
    }
}
