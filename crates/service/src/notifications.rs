//! Configurable notices of an account.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::notices::notices;
use crate::boxed;
use crate::changes::ChangeRequest;
use crate::form::NotificationConfig;
use crate::problem::Problem;
use crate::processor::job::IdempotencyKey;
use crate::view;
use bytes::Bytes;

impl Service {
    /// Configures a notice.
    #[boxed]
    pub async fn set_notification_config(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        account: &str,
        form: NotificationConfig,
    ) -> Result<Bytes, Problem> {
        self.change(who, idempotency_key, account, ChangeRequest::Notice(form)).await
    }

    /// The configured notices.
    #[boxed]
    pub async fn get_notification_config(
        &self,
        who: &Caller,
        account: &str,
    ) -> Result<view::Results<view::NotificationSetting>, Problem> {
        who.may(Right::Read)?;
        let book = self.book_as_it_stands(who, account, self.clock.now()).await?;
        Ok(notices(&book))
    }
}
