//! Configurable notices of an account.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::{Asked, Book};
use crate::accounts::{account_key, content_hash};
use crate::form::NotificationConfig;
use crate::ids::mint_id;
use crate::problem::Problem;
use crate::processor::job::{Repeat, Show, Work};
use crate::view;
use crate::view::render;
use bytes::Bytes;
use daybook_engine::status::Standing;
use daybook_engine::timeline::Input;
use std::sync::Arc;

impl Service {
    /// Configures a notice.
    pub async fn set_notification_config(
        &self,
        who: &Caller,
        repeat: Option<Repeat>,
        account: &str,
        form: NotificationConfig,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        let asked = Asked {
            name: Arc::from(mint_id("notice")),
            effective_at: form.effective_at.as_ref().map(|moment| *moment.get()),
            input: Input::Notify(form.setting()?),
            extra: None,
            content_hash: content_hash(&form)?,
        };
        self.processor.ask(account_key(who, account), Work::Submit(Box::new(asked), Show::Notices), repeat).await
    }

    /// The notices that are configured.
    pub async fn get_notification_config(&self, who: &Caller, account: &str) -> Result<Bytes, Problem> {
        who.may(Right::Read)?;
        let book = self.book_as_it_stands(who, account, self.clock.now()).await?;
        Ok(render(&notices(&book)))
    }
}

/// The notices of an account.
pub(crate) fn notices(book: &Book) -> view::Results<view::NotificationSetting<'_>> {
    let is_closed = book.state.status.standing() == Standing::Closed;
    let shown = book.state.notices.iter().map(|pending| {
        let setting = view::NotificationSetting::new(pending, &book.terms.zone);
        // Nothing fires while an account is closed.
        view::NotificationSetting { next_at: setting.next_at.filter(|_| !is_closed), ..setting }
    });
    view::Results { results: shown.collect() }
}
