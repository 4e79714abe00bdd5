//! Rolling an account's clock, for tests.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::Rolled;
use crate::accounts::account_key;
use crate::audit::Act;
use crate::boxed;
use crate::form::Roll;
use crate::problem::Problem;
use crate::processor::job::{IdempotencyKey, Work};
use bytes::Bytes;

impl Service {
    /// Rolls an account's clock to a moment.
    #[boxed]
    pub async fn roll_account(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        form: Roll,
    ) -> Result<Bytes, Problem> {
        may_roll(who)?;
        let order = form.order()?;
        let work = Work::Roll { to: order.until, webhooks: order.roll_webhooks, done: Rolled::default() };
        let account = order.account_id.as_str();
        let until = order.until.to_string();
        let act =
            Act::on("roll_account", "account", account).with("until", until).with("webhooks", order.roll_webhooks);
        let record = self.recorded(who, act);
        self.processor.ask(account_key(who, account), work, idempotency_key, false, record).await
    }
}

/// Accounts of a LIVE organization follow the real time and cannot be rolled.
pub(crate) fn may_roll(who: &Caller) -> Result<(), Problem> {
    who.may(Right::Administer)?;
    if who.environment == "LIVE" {
        return Err(Problem::new("live_environment", "accounts of a LIVE organization cannot be rolled"));
    }
    Ok(())
}
