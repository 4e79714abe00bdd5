//! Previews the schedule of a loan that does not exist yet: for a product being written, or an account being created.
//!
//! The terms are derived as for a real account, and its opening is folded. Nothing is stored, and no id is used up. So
//! the preview equals the account's schedule, to the cent.

use crate::Service;
use crate::access::{Caller, Right};
use crate::boxed;
use crate::form::{NewAccount, NewProduct};
use crate::policy;
use crate::problem::Problem;
use crate::view;
use daybook_engine::change::InputClass;
use daybook_engine::installment::schedule::schedule;
use daybook_engine::replay::replay;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_engine::timeline::{Entry, Input, Rank, TimelinePosition};
use daybook_store::records::ProductKey;
use std::sync::Arc;

impl Service {
    /// The schedule of an account under a product that does not exist yet. The account's `product_id` is ignored.
    #[boxed]
    pub async fn preview_product(
        &self,
        who: &Caller,
        product: NewProduct,
        account: NewAccount,
    ) -> Result<view::Schedule, Problem> {
        who.may(Right::Read)?;
        let now = self.clock.now();
        Problem::not_supported(product.unsupported())?;
        let product = policy::settle_product(product, now)?;
        preview(&product, &account, now)
    }

    /// The schedule of an account that does not exist yet.
    #[boxed]
    pub async fn preview_account(&self, who: &Caller, account: NewAccount) -> Result<view::Schedule, Problem> {
        who.may(Right::Read)?;
        let key = ProductKey { org: who.org, product: Arc::from(account.product_id.as_str()) };
        let info = self.catalog.product(&key).await?;
        let info = info.ok_or_else(|| Problem::invalid("product_id", "there is no product with this id"))?;
        Problem::not_supported(account.unsupported())?;
        preview(&info.form, &account, self.clock.now())
    }
}

fn preview(product: &NewProduct, account: &NewAccount, now: Time) -> Result<view::Schedule, Problem> {
    let at = account.effective_at.as_ref().map_or(now, |moment| *moment.get());
    let terms = policy::terms(product, account, at)?;
    let too_much = |_| Problem::invalid("summary.initial_principal_cents", "would make amounts too large to calculate");
    let at = at.max(terms.begins_at());
    let (state, _) = replay(&terms, &[opening(&terms)], at).map_err(too_much)?;
    let rows = schedule(&terms, &state, at).map_err(too_much)?;
    Ok(view::Schedule::new(&terms, &rows))
}

fn opening(terms: &Terms) -> Entry {
    let at = terms.begins_at();
    Entry {
        place: TimelinePosition { at, rank: Rank::Input, class: InputClass::Other, seq: 1 },
        effective_at: at,
        scheduled: false,
        name: Arc::from("preview"),
        input: Input::Open,
    }
}
