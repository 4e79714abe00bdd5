//! Rolling an account's clock, for testing with time.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::Rolled;
use crate::accounts::account_key;
use crate::form::Roll;
use crate::problem::Problem;
use crate::processor::job::{Repeat, Work};
use bytes::Bytes;

impl Service {
    /// Rolls an account's clock to a moment.
    pub async fn roll_account(&self, who: &Caller, repeat: Option<Repeat>, form: Roll) -> Result<Bytes, Problem> {
        may_roll(who)?;
        let order = form.order()?;
        let work = Work::Roll { to: order.until, webhooks: order.roll_webhooks, done: Rolled::default() };
        self.processor.ask(account_key(who, order.account_id.as_str()), work, repeat, false).await
    }
}

/// Time is real for the accounts of a LIVE organization.
pub(crate) fn may_roll(who: &Caller) -> Result<(), Problem> {
    who.may(Right::Administer)?;
    if who.environment == "LIVE" {
        return Err(Problem::new("live_environment", "accounts of a LIVE organization cannot be rolled"));
    }
    Ok(())
}
