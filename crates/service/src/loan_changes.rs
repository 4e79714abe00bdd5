//! Reading the changes of a loan: one, a page of them, its rates and promotions. `changes` makes them.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::Book;
use crate::boxed;
use crate::paging::Paging;
use crate::problem::Problem;
use crate::view;
use daybook_engine::time::Time;

impl Service {
    /// A page of an account's changes, in order of arrival.
    #[boxed]
    pub async fn list_changes(
        &self,
        who: &Caller,
        account: &str,
        paging: Paging,
    ) -> Result<view::Page<view::LoanChange>, Problem> {
        let changes = self.changes_of(who, account, |_| true).await?;
        let (results, paging) = paging.of_list(changes, |change| change.change_id.clone())?;
        Ok(view::Page { results, paging })
    }

    /// A change.
    #[boxed]
    pub async fn get_change(&self, who: &Caller, account: &str, id: &str) -> Result<view::LoanChange, Problem> {
        who.may(Right::Read)?;
        let (now, id) = (self.now(), id.to_owned());
        self.with_whole_book(who, account, move |book| standing(book, now).change(&id)).await
    }

    /// All rates of an account, with limits and without pauses and promotions.
    #[boxed]
    pub async fn list_interest_rates(&self, who: &Caller, account: &str) -> Result<Vec<view::LoanChange>, Problem> {
        self.changes_of(who, account, |details| matches!(details, view::ChangeDetails::InterestRate(_))).await
    }

    /// All promotions of an account.
    #[boxed]
    pub async fn list_temp_promos(&self, who: &Caller, account: &str) -> Result<Vec<view::LoanChange>, Problem> {
        self.changes_of(who, account, |details| matches!(details, view::ChangeDetails::TempPromo(_))).await
    }

    async fn changes_of(
        &self,
        who: &Caller,
        account: &str,
        wanted: fn(&view::ChangeDetails) -> bool,
    ) -> Result<Vec<view::LoanChange>, Problem> {
        who.may(Right::Read)?;
        let now = self.now();
        self.with_whole_book(who, account, move |book| {
            let mut changes = standing(book, now).changes();
            changes.retain(|change| wanted(&change.details));
            Ok(changes)
        })
        .await
    }
}

/// The account processed up to its clock, or as stored if it is held or failed.
fn standing(mut book: Book, now: Time) -> Book {
    let _ = book.as_it_stands(now);
    book
}
