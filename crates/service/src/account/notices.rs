//! The configured notices of an account, as they are shown.

use super::book::Book;
use crate::view;
use daybook_engine::status::AccountStanding;

/// The notices of an account.
pub(crate) fn notices(book: &Book) -> view::Results<view::NotificationSetting> {
    let is_closed = book.state.status.standing() == AccountStanding::Closed;
    let shown = book.state.notices.iter().map(|pending| {
        let setting = view::NotificationSetting::new(pending, &book.terms.zone);
        // No notices are sent while an account is closed.
        view::NotificationSetting { next_at: setting.next_at.filter(|_| !is_closed), ..setting }
    });
    view::Results { results: shown.collect() }
}
