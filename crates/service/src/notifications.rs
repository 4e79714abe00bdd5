//! Configurable notices of an account.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::Book;
use crate::changes::Change;
use crate::form::NotificationConfig;
use crate::problem::Problem;
use crate::processor::job::Repeat;
use crate::view;
use crate::view::render;
use bytes::Bytes;
use daybook_engine::status::AccountStanding;

impl Service {
    /// Configures a notice.
    pub async fn set_notification_config(
        &self,
        who: &Caller,
        repeat: Option<Repeat>,
        account: &str,
        form: NotificationConfig,
    ) -> Result<Bytes, Problem> {
        self.change(who, repeat, account, Change::Notice(form)).await
    }

    /// The configured notices.
    pub async fn get_notification_config(&self, who: &Caller, account: &str) -> Result<Bytes, Problem> {
        who.may(Right::Read)?;
        let book = self.book_as_it_stands(who, account, self.clock.now()).await?;
        Ok(render(&notices(&book)))
    }
}

/// The notices of an account.
pub(crate) fn notices(book: &Book) -> view::Results<view::NotificationSetting<'_>> {
    let is_closed = book.state.status.standing() == AccountStanding::Closed;
    let shown = book.state.notices.iter().map(|pending| {
        let setting = view::NotificationSetting::new(pending, &book.terms.zone);
        // No notices are sent while an account is closed.
        view::NotificationSetting { next_at: setting.next_at.filter(|_| !is_closed), ..setting }
    });
    view::Results { results: shown.collect() }
}
