//! What-if: what another policy, or a change, would do to the accounts of a product.
//!
//! The comparison runs in the background of the server, one at a time for each organization. The page shows its
//! progress, and the browser reloads the page until it has ended.

use super::{HERE, fetch};
use crate::Console;
use crate::display::{AsMoney, Count};
use crate::form::{Field, FieldKind, Form, FormValues, Input};
use crate::guard::{Visitor, redirect, redirect_saying};
use crate::page::{Notice, PageFrame, PageResult, Section, refreshed, show_refused};
use askama::Template;
use axum::extract::{Path, State};
use daybook_service::problem::Problem;
use daybook_service::view::Product;
use daybook_service::what_if::{AMOUNTS, JobState, WhatIfJob, WhatIfQuestion, WhatIfSummary};
use serde_json::Value;
use std::sync::Arc;

const POLICY: &str = "policy";
const CHANGE: &str = "change";
const WHERE: &str = "where";
const AS_OF: &str = "as_of";

const FIELDS: [Field; 4] = [
    Field::new(
        POLICY,
        "Policy fields that differ, as JSON",
        FieldKind::LongText,
        "The fields of the call that creates a product. Fields that are absent stay as they are.",
    )
    .hint(r#"{"product_lifecycle_policies": {"default_attributes": {"default_late_fee_cents": 2500}}}"#),
    Field::new(
        CHANGE,
        "A change to each account, as JSON",
        FieldKind::LongText,
        "Its kind, such as skip or due_date, and the fields of its call.",
    )
    .hint(r#"{"kind": "skip", "count": 2}"#),
    Field::new(
        WHERE,
        "Only accounts that meet these conditions",
        FieldKind::LongText,
        "One condition a line: address_zip=10001,10002, account_status=SUSPENDED/DELINQUENT, days_past_due>=30, \
         external_fields.KEY=VALUE.",
    ),
    Field::new(
        AS_OF,
        "Compare on this date",
        FieldKind::Date,
        "At the close of business. Without a date, each account is compared at its own clock.",
    ),
];

#[derive(Template)]
#[template(path = "products/what_if.html")]
struct WhatIfPage {
    page: PageFrame,
    terms: Product,
    form: Form,
    /// The last comparison of the organization, if it was about this product.
    job: Option<Shown>,
    /// Whether a comparison of another product is in progress.
    is_other_in_progress: bool,
}

impl WhatIfPage {
    fn inputs(&self) -> Vec<Input<'_>> {
        self.form.inputs()
    }
}

/// A comparison as the page shows it.
struct Shown {
    state: JobState,
}

impl Shown {
    fn is_in_progress(&self) -> bool {
        self.state.is_in_progress()
    }

    fn is_cancelled(&self) -> bool {
        matches!(self.state, JobState::Cancelled)
    }

    fn words(&self) -> String {
        match &self.state {
            JobState::Running { done, accounts } => {
                format!("{} of {} compared.", Count(*done), Count(*accounts).of("account", "accounts"))
            }
            _ => "The comparison waits until another one has ended.".to_owned(),
        }
    }

    fn done(&self) -> u64 {
        if let JobState::Running { done, .. } = self.state { done } else { 0 }
    }

    fn accounts(&self) -> u64 {
        if let JobState::Running { accounts, .. } = self.state { accounts.max(1) } else { 1 }
    }

    fn failure(&self) -> Option<&str> {
        if let JobState::Failed(problem) = &self.state { Some(&problem.message) } else { None }
    }

    fn summary(&self) -> Option<Arc<WhatIfSummary>> {
        if let JobState::Done(summary) = &self.state { Some(summary.clone()) } else { None }
    }

    /// Name, before, after, difference.
    fn sums(&self) -> Vec<[String; 4]> {
        let Some(summary) = self.summary() else { return Vec::new() };
        let (before, after) = (&summary.before, &summary.after);
        let amounts = before.amounts.named().zip(after.amounts.named()).zip(summary.difference.named());
        let mut rows: Vec<[String; 4]> = amounts
            .map(|(((name, before), (_, after)), (_, difference))| {
                [label(name), before.money().to_string(), after.money().to_string(), signed(difference)]
            })
            .collect();
        let counts = [
            ("Late accounts", before.late_accounts, after.late_accounts),
            ("Late fees", before.late_fees, after.late_fees),
            ("Closed accounts", before.closed_accounts, after.closed_accounts),
        ];
        for (name, before, after) in counts {
            let difference = i128::from(after) - i128::from(before);
            rows.push([name.to_owned(), before.to_string(), after.to_string(), format!("{difference:+}")]);
        }
        rows
    }

    /// The names of the amounts.
    fn heads(&self) -> Vec<String> {
        AMOUNTS.into_iter().map(label).collect()
    }

    /// The accounts with the largest differences: id and differences.
    fn largest(&self) -> Vec<(String, Vec<String>)> {
        let Some(summary) = self.summary() else { return Vec::new() };
        let row = |account: &daybook_service::what_if::AccountDifference| {
            let cells = account.amounts().named().map(|(_, cents)| signed(cents)).collect();
            (account.account_id.to_string(), cells)
        };
        summary.largest.iter().map(row).collect()
    }

    /// Facts about the compared accounts, in sentences.
    fn facts(&self) -> Vec<String> {
        let Some(summary) = self.summary() else { return Vec::new() };
        let accounts = |number: u64| Count(number).of("account", "accounts");
        let mut facts = vec![format!("{} compared; {} differ.", accounts(summary.accounts), Count(summary.differing))];
        for (number, what) in [
            (summary.maturity_later, "with a later last due date."),
            (summary.maturity_earlier, "with an earlier last due date."),
            (summary.keep_own_values, "with a value of its own where the policies differ. It stays."),
            (summary.inputs_not_applied, "with an entry that would no longer apply."),
            (summary.left_out, "left out by the conditions."),
            (summary.not_begun, "left out because they begin later."),
        ] {
            if number > 0 {
                facts.push(format!("{} {what}", accounts(number)));
            }
        }
        facts
    }
}

fn label(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn signed(cents: i64) -> String {
    let money = cents.money().to_string();
    if cents > 0 { format!("+{money}") } else { money }
}

/// The form, and the last comparison.
pub async fn show(State(console): State<Console>, visitor: Visitor, Path(id): Path<String>) -> PageResult {
    let terms = fetch(&console, &visitor, &id).await?;
    let last = console.service.last_what_if(visitor.caller())?;
    let typed = last.as_ref().filter(|job| job.question.product_id == id).map(|job| typed(&job.question));
    let page = whole(&visitor, terms, last, Form::new(&FIELDS, typed.unwrap_or_default()));
    let is_in_progress = page.job.as_ref().is_some_and(Shown::is_in_progress);
    let shown = crate::page::show(&page)?;
    Ok(if is_in_progress { refreshed(shown) } else { shown })
}

fn whole(visitor: &Visitor, terms: Product, last: Option<WhatIfJob>, form: Form) -> WhatIfPage {
    let is_own = |job: &WhatIfJob| job.question.product_id == *terms.product_id;
    let is_other_in_progress = last.as_ref().is_some_and(|job| !is_own(job) && job.state.is_in_progress());
    let job = last.filter(is_own).map(|job| Shown { state: job.state });
    WhatIfPage { page: PageFrame::new("What if", Section::Products, visitor), terms, form, job, is_other_in_progress }
}

/// Starts a comparison.
pub async fn start(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
    typed: FormValues,
) -> PageResult {
    let terms = fetch(&console, &visitor, &id).await?;
    let started = match question(&id, &typed) {
        Ok(question) => console.service.start_what_if(visitor.caller(), question).await,
        Err(problem) => Err(problem),
    };
    match started {
        Ok(_) => Ok(redirect(&path(&id))),
        Err(problem) => {
            let last = console.service.last_what_if(visitor.caller())?;
            let form = Form::new(&FIELDS, typed).refused(&problem);
            show_refused(&whole(&visitor, terms, last, form), &problem)
        }
    }
}

/// Cancels the comparison.
pub async fn cancel(State(console): State<Console>, visitor: Visitor, Path(id): Path<String>) -> PageResult {
    match console.service.cancel_what_if(visitor.caller()) {
        Ok(()) => Ok(redirect_saying(&path(&id), &Notice::done("The comparison was cancelled."), &visitor.context)),
        // It has ended meanwhile.
        Err(_) => Ok(redirect(&path(&id))),
    }
}

fn path(product: &str) -> String {
    format!("{HERE}/{product}/what-if")
}

/// The typed values as a question.
fn question(product: &str, typed: &FormValues) -> Result<WhatIfQuestion, Problem> {
    let object = |name: &str| -> Result<Option<Value>, Problem> {
        if !typed.has(name) {
            return Ok(None);
        }
        let value = serde_json::from_str(typed.get(name));
        value.map(Some).map_err(|error| Problem::invalid(name, format!("must be JSON: {error}")))
    };
    let lines = typed.get(WHERE).lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(WhatIfQuestion {
        product_id: product.to_owned(),
        policy: object(POLICY)?,
        change: object(CHANGE)?,
        conditions: lines.map(str::to_owned).collect(),
        as_of: typed.has(AS_OF).then(|| typed.get(AS_OF).to_owned()),
    })
}

/// A question as the values that were typed for it.
fn typed(question: &WhatIfQuestion) -> FormValues {
    let text = |value: &Option<Value>| value.as_ref().map_or_else(String::new, |value| format!("{value:#}"));
    FormValues::default()
        .with(POLICY, text(&question.policy))
        .with(CHANGE, text(&question.change))
        .with(WHERE, question.conditions.join("\n"))
        .with(AS_OF, question.as_of.clone().unwrap_or_default())
}
