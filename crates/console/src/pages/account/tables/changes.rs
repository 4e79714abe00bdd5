//! The changes of a loan, newest first.

use super::{EVERYTHING, Sheet, link};
use crate::Console;
use crate::display::told;
use crate::form::FormValues;
use crate::guard::Visitor;
use crate::page::PageError;
use crate::pages::account::{AccountView, Tab};
use daybook_service::view::{LoanChange, ProcessingState};

/// A change, with a sentence about it.
#[derive(Clone, Debug)]
pub struct ChangeRow {
    /// The change.
    pub of: LoanChange,
    /// A sentence about it: what it changed, or will change.
    pub sentence: String,
}

impl ChangeRow {
    /// Whether it can be cancelled, judged by the change alone.
    pub fn may_cancel(&self) -> bool {
        self.of.cancelled_at.is_none() && self.of.processing_state != ProcessingState::Failed
    }

    /// Whether it can be withdrawn, judged by the change alone.
    pub fn may_withdraw(&self) -> bool {
        let is_waiting = matches!(self.of.processing_state, ProcessingState::Held | ProcessingState::Scheduled);
        is_waiting && self.of.cancelled_at.is_none()
    }
}

/// The changes of the loan.
#[derive(Clone, Debug)]
pub struct ChangesTab {
    /// The changes, newest first.
    pub sheet: Sheet<ChangeRow>,
}

impl ChangesTab {
    /// Loads the tab.
    pub async fn load(
        console: &Console,
        visitor: &Visitor,
        account_view: &AccountView,
        asked: &FormValues,
    ) -> Result<Self, PageError> {
        let rows = changes(console, visitor, account_view).await?;
        Ok(ChangesTab { sheet: Sheet::cut(rows, asked, 1, &link(account_view, Tab::Changes)) })
    }
}

/// All changes, newest first.
pub async fn changes(
    console: &Console,
    visitor: &Visitor,
    account_view: &AccountView,
) -> Result<Vec<ChangeRow>, PageError> {
    let mut changes = console.service.list_changes(visitor.caller(), &account_view.id, EVERYTHING).await?.results;
    changes.reverse();
    let row = |of: LoanChange| {
        let sentence = if of.processing_state == ProcessingState::Processed { &of.made } else { &of.planned };
        ChangeRow { sentence: told(sentence), of }
    };
    Ok(changes.into_iter().map(row).collect())
}
