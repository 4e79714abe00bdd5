//! The configured notices of an account. `changes` configures them.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::notices::notices;
use crate::boxed;
use crate::problem::Problem;
use crate::view;

impl Service {
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
