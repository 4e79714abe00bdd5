//! Changing an account: a form, a page that shows the effect, and the confirmed change.
//!
//! The page shows the real effect: the service rehearses the change on a copy of the account. The confirmation has a
//! unique token, so submitting it twice makes the change once.

use super::AccountView;
use super::account_change::{AccountChange, Counting};
use super::data::{SplitWords, StatusWords};
use super::tables::encoded;
use crate::Console;
use crate::display::{AsMoment, AsMoney, Count, DisplayTime, Money};
use crate::form::{Form, FormValues, QueryParameters};
use crate::guard::{Visitor, redirect_saying};
use crate::page::{Notice, PageError, PageFrame, PageResult, Section, show, show_again};
use askama::Template;
use axum::extract::{Path, State};
use daybook_service::changes::{JobResponse as Rehearsed, Rehearsal};
use daybook_service::ids::{mint_secret, mint_uuid};
use daybook_service::problem::{Problem, ProblemKind};
use daybook_service::view::{Account, LineItem, NotificationSetting, ProcessingState, Rolled};
use serde_json::Value;

#[derive(Template)]
#[template(path = "account/form.html")]
struct FormPage {
    page: PageFrame,
    account_view: AccountView,
    change: AccountChange,
    item: String,
    form: Form,
}

/// A value before and after the change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Moved {
    name: &'static str,
    before: String,
    after: String,
}

#[derive(Template)]
#[template(path = "account/confirm.html")]
struct ConfirmPage {
    page: PageFrame,
    account_view: AccountView,
    change: AccountChange,
    item: String,
    sentence: String,
    /// The result of the rehearsal, in sentences.
    came: Vec<String>,
    /// The line item that the change would create, with its splits.
    made: Option<LineItem<'static>>,
    moved: Vec<Moved>,
    /// The typed values, to be sent again with the confirmation.
    typed: Vec<(&'static str, String)>,
    once: String,
    curl: String,
}

/// The form of a change.
pub async fn ask(
    State(console): State<Console>,
    visitor: Visitor,
    Path((id, what)): Path<(String, String)>,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    form_page(&console, &visitor, &id, change(&what)?, asked).await
}

/// The form to roll an account.
pub async fn roll(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    form_page(&console, &visitor, &id, AccountChange::Roll, asked).await
}

/// The confirmation page of a change.
pub async fn confirm(
    State(console): State<Console>,
    visitor: Visitor,
    Path((id, what)): Path<(String, String)>,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    confirm_page(&console, &visitor, &id, change(&what)?, asked).await
}

/// The confirmation page of a roll.
pub async fn confirm_roll(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    confirm_page(&console, &visitor, &id, AccountChange::Roll, asked).await
}

/// Makes the change.
pub async fn perform(
    State(console): State<Console>,
    visitor: Visitor,
    Path((id, what)): Path<(String, String)>,
    typed: FormValues,
) -> PageResult {
    done(&console, &visitor, &id, change(&what)?, typed).await
}

/// Rolls the account.
pub async fn perform_roll(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
    typed: FormValues,
) -> PageResult {
    done(&console, &visitor, &id, AccountChange::Roll, typed).await
}

fn change(what: &str) -> Result<AccountChange, PageError> {
    AccountChange::named(what).ok_or_else(|| Problem::not_found("page", what).into())
}

/// Refuses to roll accounts of a LIVE organization, where time is real: not even the form is shown.
fn may_do(visitor: &Visitor, change: AccountChange) -> Result<(), PageError> {
    if change == AccountChange::Roll && !visitor.is_test() {
        return Err(Problem::new("live_environment", "accounts of a LIVE organization cannot be rolled").into());
    }
    Ok(())
}

/// An account's clock cannot be rolled back. Rolling to the current clock is allowed: the same form may have been
/// submitted twice.
fn check_clock(change: AccountChange, account_view: &AccountView, body: &Value) -> Result<(), Problem> {
    let to = body["effective_at"].as_str().and_then(|to| DisplayTime(to.to_owned()).time());
    if change == AccountChange::Roll && to.is_some_and(|to| to < account_view.clock) {
        let clock = DisplayTime::new(account_view.clock, &account_view.zone);
        let message = format!("must not be before {clock}, the current time of the account");
        return Err(Problem::invalid("effective_at", message));
    }
    Ok(())
}

/// The line item already recorded under the typed id, if any. Sent again with the same content, it is not recorded
/// again. A payment has only one reversal and a fee only one waiver, so these have an id even if none is typed.
async fn recorded(
    console: &Console,
    visitor: &Visitor,
    id: &str,
    (change, item): (AccountChange, &str),
    body: &Value,
) -> Result<Option<LineItem<'static>>, PageError> {
    let name = match (body["line_item_id"].as_str(), change) {
        (Some(typed), _) => typed.to_owned(),
        (None, AccountChange::Reverse) => format!("dbk_reversal:{item}"),
        (None, AccountChange::Waive) => format!("dbk_waiver:{item}"),
        (None, _) => return Ok(None),
    };
    match console.service.get_line_item(visitor.caller(), id, &name, None).await {
        Ok(item) => Ok(Some(item)),
        Err(problem) if matches!(problem.kind, ProblemKind::NotFound | ProblemKind::Invalid) => Ok(None),
        Err(problem) => Err(problem.into()),
    }
}

/// The payment that a reversal names.
async fn reversed_payment(
    console: &Console,
    visitor: &Visitor,
    id: &str,
    change: AccountChange,
    item: &str,
) -> Result<Option<LineItem<'static>>, PageError> {
    match change {
        AccountChange::Reverse => Ok(Some(console.service.get_line_item(visitor.caller(), id, item, None).await?)),
        _ => Ok(None),
    }
}

impl AccountView {
    /// When a change counts. While the product holds entries, the release decides.
    fn counting(&self, change: AccountChange, body: &Value) -> Counting {
        match change.counting(body, self.clock, self.posts_late, &self.zone) {
            Counting::Late(_) if self.holds() => Counting::OnItsDate,
            counting => counting,
        }
    }
}

async fn form_page(
    console: &Console,
    visitor: &Visitor,
    id: &str,
    change: AccountChange,
    asked: FormValues,
) -> PageResult {
    may_do(visitor, change)?;
    let account_view = AccountView::enter(console, visitor, id, "").await?;
    let typed = if change == AccountChange::Payment && !asked.has("line_item_id") {
        let uuid = mint_uuid();
        asked.with("line_item_id", format!("pay-{}", uuid.get(..13).unwrap_or_default()))
    } else {
        asked
    };
    if change.fields().is_empty() {
        return confirm_page(console, visitor, id, change, typed).await;
    }
    show(&FormPage::new(visitor, account_view, change, typed))
}

impl FormPage {
    fn new(visitor: &Visitor, account_view: AccountView, change: AccountChange, typed: FormValues) -> FormPage {
        FormPage {
            page: PageFrame::new(change.title(), Section::Accounts, visitor),
            account_view,
            change,
            item: typed.get("item").to_owned(),
            form: Form::new(change.fields(), typed),
        }
    }
}

/// Shows the form again with the errors. An internal error or an outage gets an error page instead.
fn refuse(
    visitor: &Visitor,
    account_view: AccountView,
    change: AccountChange,
    typed: FormValues,
    trouble: PageError,
) -> PageResult {
    if matches!(trouble.problem.kind, ProblemKind::Internal | ProblemKind::Unavailable) {
        return Err(trouble);
    }
    let mut page = FormPage::new(visitor, account_view, change, typed);
    page.form = page.form.refused(&trouble.problem);
    show_again(&page)
}

async fn confirm_page(
    console: &Console,
    visitor: &Visitor,
    id: &str,
    change: AccountChange,
    asked: FormValues,
) -> PageResult {
    may_do(visitor, change)?;
    let account_view = AccountView::enter(console, visitor, id, "").await?;
    let item = asked.get("item").to_owned();
    let rehearsed = async {
        if change.needs_item() && item.is_empty() {
            return Err(PageError::from(Problem::invalid("item", "must name a line item")));
        }
        let body = change.body(id, &asked, &account_view.zone)?;
        check_clock(change, &account_view, &body)?;
        let request = change.action(id, &item, body.clone()).change_request()?;
        let before = recorded(console, visitor, id, (change, &item), &body).await?;
        let rehearsal = console.service.rehearse(visitor.caller(), id, request).await?;
        Ok((body, before, rehearsal))
    };
    let (body, before, rehearsal) = match rehearsed.await {
        Ok(rehearsed) => rehearsed,
        Err(trouble) => return refuse(visitor, account_view, change, asked, trouble),
    };
    let Rehearsal { answer, account: after } = rehearsal;
    let about = reversed_payment(console, visitor, id, change, &item).await?;
    let counting = account_view.counting(change, &body);
    let sentence = change.sentence(&account_view.current, (&item, about.as_ref()), &body, (&counting, false));
    let (sentence, (came, made)) = match &before {
        None => {
            let (mut came, made) = came(change, &account_view, answer, &body, &counting);
            came.extend(left_over(&account_view.current, &after));
            (sentence, (came, made))
        }
        Some(before) => (nothing_new(change, &item, before), (other_id(change), None)),
    };
    let typed = change.fields().iter().map(|field| (field.name, asked.get(field.name).to_owned()));
    let typed = typed.filter(|(_, value)| !value.is_empty()).collect();
    show(&ConfirmPage {
        page: PageFrame::new(change.title(), Section::Accounts, visitor),
        sentence,
        came,
        made,
        moved: if change.moves_balances() && before.is_none() {
            moved(&account_view.current, &after)
        } else {
            Vec::new()
        },
        typed,
        once: mint_secret(),
        curl: change.action(id, &item, body).curl(&visitor.context.base_url),
        account_view,
        change,
        item,
    })
}

/// The advice when a line item with this id and content exists. A payment has only one reversal and a fee only one
/// waiver, so another id would not help there.
fn other_id(change: AccountChange) -> Vec<String> {
    match change {
        AccountChange::Reverse | AccountChange::Waive => Vec::new(),
        _ => vec!["If this is a different entry, go back and enter a different id.".to_owned()],
    }
}

/// The sentence about an item that was already recorded under its id.
fn nothing_new(change: AccountChange, item: &str, before: &LineItem<'_>) -> String {
    let (id, at) = (&before.line_item_id, before.created_at.moment());
    match change {
        AccountChange::Reverse => format!("Nothing new is recorded: payment {item} was already reversed on {at}."),
        AccountChange::Waive => format!("Nothing new is recorded: fee {item} was already waived on {at}."),
        _ => format!("Nothing new is recorded: {id} was already recorded with this content on {at}."),
    }
}

/// What becomes of an entry while the product is in migration mode.
const HELD: &str = "The product is in migration mode, so this entry will be held. It has no effect until the held \
                    events are released.";

/// What became of it.
const RECORDED: &str = "The entry is recorded and held. It has no effect until the held events are released.";

/// The result of a rehearsal in sentences, and the line item it created.
fn came(
    change: AccountChange,
    account_view: &AccountView,
    answer: Rehearsed<'static>,
    body: &Value,
    counting: &Counting,
) -> (Vec<String>, Option<LineItem<'static>>) {
    match (change, answer) {
        (AccountChange::Status | AccountChange::Notice, _) if account_view.holds() => (vec![HELD.to_owned()], None),
        (AccountChange::Withdraw | AccountChange::Status, _)
        | (_, Rehearsed::Account(_) | Rehearsed::Change(_) | Rehearsed::None) => (Vec::new(), None),
        (_, Rehearsed::Notices(notices)) => (next_notices(notices.results, body), None),
        (_, Rehearsed::Rolled(rolled)) => (roll_result(&rolled), None),
        // The item is as it was before its status was set.
        (AccountChange::Settle, Rehearsed::LineItem(item)) => match item.processing_state {
            ProcessingState::Held => (vec![HELD.to_owned()], None),
            _ if body["line_item_status"] == "INVALID" => (Vec::new(), None),
            ProcessingState::Scheduled => {
                let at = item.effective_at.moment();
                (vec![format!("The payment will take effect on {at}. Nothing changes before then.")], None)
            }
            _ => (Vec::new(), Some(*item)),
        },
        (_, Rehearsed::LineItem(item)) => (fate(change, &item, counting).into_iter().collect(), Some(*item)),
    }
}

/// When the notices of a kind are sent next.
fn next_notices(settings: Vec<NotificationSetting>, body: &Value) -> Vec<String> {
    let of_kind = settings.into_iter().filter(|setting| {
        setting.enabled && body["notification_type"].as_str() == Some(setting.notification_type.name())
    });
    let next = of_kind.filter_map(|setting| {
        let interval = setting.interval.map(|interval| interval.to_string());
        let rhythm = interval.or_else(|| setting.time_offset.map(|offset| offset.to_string()))?;
        Some(format!("The notice ({rhythm}) will be sent next on {}.", setting.next_at?.moment()))
    });
    next.collect()
}

/// What a roll processes and sends.
fn roll_result(rolled: &Rolled) -> Vec<String> {
    let mut came = vec![format!("{} will be processed.", Count(rolled.successful_events).of("event", "events"))];
    if rolled.failed_events > 0 {
        came.push(format!("{} cannot be processed.", Count(rolled.failed_events).of("event", "events")));
    }
    if rolled.webhooks_sent > 0 {
        came.push(format!("{} will be sent immediately.", Count(rolled.webhooks_sent).of("webhook", "webhooks")));
    }
    came
}

/// A sentence about an overpayment, which the user may not have intended.
fn left_over(before: &Account<'_>, after: &Account<'_>) -> Option<String> {
    let (before, after) = (before.summary.surplus_cents, after.summary.surplus_cents);
    let after_money = after.money();
    (after > before)
        .then(|| format!("The amount is more than the borrower owes: a surplus of {after_money} will remain."))
}

/// A sentence about when a line item takes effect, unless the first sentence of the page says it.
fn fate(change: AccountChange, item: &LineItem<'_>, counting: &Counting) -> Option<String> {
    let what = match change {
        AccountChange::Payment => "payment",
        AccountChange::Reverse => "reversal",
        AccountChange::Fee => "fee",
        AccountChange::Waive => "waiver",
        _ => "entry",
    };
    let is_authorized = item.line_item_overview.line_item_status == "AUTHORIZED";
    Some(match (item.processing_state, item.applied_at) {
        (ProcessingState::Held, _) => HELD.to_owned(),
        (ProcessingState::Scheduled | ProcessingState::Processed, _) if is_authorized => return None,
        (ProcessingState::Processed, _) if matches!(counting, Counting::Late(_)) => return None,
        (ProcessingState::Scheduled, _) => {
            format!("The {what} will take effect on {}. Nothing changes before then.", item.effective_at.moment())
        }
        (ProcessingState::Processed, Some(at)) => format!("The {what} takes effect on {}.", at.moment()),
        _ => format!("The {what} cannot be processed now."),
    })
}

/// The main amounts before and after; unchanged ones are included.
fn moved(before: &Account<'_>, after: &Account<'_>) -> Vec<Moved> {
    let money = |name, figure: fn(&Account<'_>) -> i64| Moved {
        name,
        before: figure(before).money().to_string(),
        after: figure(after).money().to_string(),
    };
    let mut rows = vec![
        money("Balance", |account| account.summary.total_balance_cents),
        money("Principal", |account| account.summary.principal_cents),
        money("Interest", |account| account.summary.interest_balance_cents),
        money("Fees", |account| account.summary.fees_balance_cents),
        money("Surplus", |account| account.summary.surplus_cents),
        money("Payoff", |account| account.summary.total_payoff_cents),
        money("Past due", |account| account.delinquency.past_due_cents),
    ];
    let words = |name, figure: fn(&Account<'_>) -> String| Moved { name, before: figure(before), after: figure(after) };
    rows.push(words("Days past due", |account| account.delinquency.days_past_due.to_string()));
    rows.push(words("Status", |account| account.account_overview.words()));
    rows
}

async fn done(console: &Console, visitor: &Visitor, id: &str, change: AccountChange, typed: FormValues) -> PageResult {
    may_do(visitor, change)?;
    let account_view = AccountView::enter(console, visitor, id, "").await?;
    let item = typed.get("item").to_owned();
    let performed = async {
        let body = change.body(id, &typed, &account_view.zone)?;
        check_clock(change, &account_view, &body)?;
        let before = recorded(console, visitor, id, (change, &item), &body).await?;
        let is_held = account_view.holds() && change.is_held_in_migration_mode();
        let sentence = match is_held {
            true => RECORDED.to_owned(),
            false => {
                let about = reversed_payment(console, visitor, id, change, &item).await?;
                let counting = account_view.counting(change, &body);
                change.sentence(&account_view.current, (&item, about.as_ref()), &body, (&counting, true))
            }
        };
        let action = change.action(id, &item, body);
        action.perform(&console.service, visitor.caller(), Some(typed.get("once"))).await?;
        Ok(before.map_or_else(|| format!("Done. {sentence}"), |before| nothing_new(change, &item, &before)))
    };
    match performed.await {
        Ok(sentence) => {
            let to = format!("{}?tab={}", account_view.path(), change.tab().name());
            Ok(redirect_saying(&to, &Notice::done(sentence), &visitor.context))
        }
        Err(trouble) => refuse(visitor, account_view, change, typed, trouble),
    }
}

impl FormPage {
    /// Amounts that the user can fill in with one click.
    fn amounts(&self) -> Vec<(&'static str, Money, String)> {
        if self.change != AccountChange::Payment {
            return Vec::new();
        }
        let account = &self.account_view.current;
        let all = [
            ("Amount due", account.min_pay_due_cents.min_pay_cents.money()),
            ("Past due", account.delinquency.past_due_cents.money()),
            ("Payoff", account.summary.total_payoff_cents.money()),
        ];
        let id = encoded(self.form.typed().get("line_item_id"));
        let link = |amount: Money| {
            let path = self.change.path(&self.account_view.id);
            format!("{path}?original_amount_cents={}&line_item_id={id}", amount.plain())
        };
        all.into_iter()
            .filter(|(_, amount)| *amount > Money(0))
            .map(|(name, amount)| (name, amount, link(amount)))
            .collect()
    }
}
