//! The key that signs webhook messages: showing it, and replacing it.

use super::{HERE, NAME};
use crate::Console;
use crate::action::Action;
use crate::display::AsMoment;
use crate::form::FormValues;
use crate::guard::Visitor;
use crate::page::{PageFrame, PageResult, Section};
use crate::pages::ask::Ask;
use askama::Template;
use axum::extract::State;
use daybook_service::problem::ProblemKind;
use daybook_service::view::time::Utc;
use daybook_service::view::{HmacKey, RotatedKey};

#[derive(Template)]
#[template(path = "keys/hmac.html")]
struct HmacPage {
    page: PageFrame,
    hmac_secret_key: String,
    /// Until when messages also carry a signature of the previous key, if this one is new.
    previous_key_until: Option<Utc>,
    /// Whether the key had already been replaced when the user confirmed.
    again: bool,
}

/// Shows the key.
pub async fn reveal(State(console): State<Console>, visitor: Visitor) -> PageResult {
    let HmacKey { hmac_secret_key } = console.service.hmac_key(visitor.caller()).await?;
    let page = PageFrame::new("HMAC key", Section::Keys, &visitor);
    crate::page::show(&HmacPage { page, hmac_secret_key, previous_key_until: None, again: false })
}

/// The field with the fingerprint of the key that the form was shown for: submitting it twice replaces the key once.
const MARK: &str = "key";

/// Asks for confirmation before replacing the key.
pub async fn ask_rotate(State(console): State<Console>, visitor: Visitor) -> PageResult {
    let mark = console.service.hmac_key_mark(visitor.caller()).await?;
    Ask {
        title: "Rotate the HMAC key".to_owned(),
        back: (HERE.to_owned(), NAME),
        words: vec![
            "Daybook will create a new key and show it to you. Messages that are recorded from then on are signed with \
             the new key: their field hmac_signature matches only the new key."
                .to_owned(),
            "For 24 hours, the header webhook-signature will have two signatures, one for each key. So receivers that \
             verify the header work with the old key for 24 hours. Give them the new key in that time."
                .to_owned(),
            "Messages that were recorded before keep their hmac_signature, even if they are sent later or sent again."
                .to_owned(),
            "Receivers that verify hmac_signature need the new key at once. Let them accept both keys for a while."
                .to_owned(),
        ],
        path: format!("{HERE}/hmac/rotate"),
        fields: vec![(MARK, mark.clone())],
        button: "Rotate the key",
        danger: true,
        ..Ask::default()
    }
    .with_curl(&Action::RotateHmacKey(mark), &visitor)
    .show(Section::Keys, &visitor)
}

/// Replaces the key and shows the new one. If it was already replaced, shows the current key.
pub async fn rotate(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let (service, who) = (&console.service, visitor.caller());
    let page = PageFrame::new("HMAC key", Section::Keys, &visitor);
    match service.rotate_hmac_key_shown(who, typed.get(MARK)).await {
        Ok(RotatedKey { hmac_secret_key, previous_key_until }) => {
            let previous_key_until = Some(previous_key_until);
            crate::page::show(&HmacPage { page, hmac_secret_key, previous_key_until, again: false })
        }
        Err(problem) if problem.kind == ProblemKind::Conflict => {
            let HmacKey { hmac_secret_key } = service.hmac_key(who).await?;
            crate::page::show(&HmacPage { page, hmac_secret_key, previous_key_until: None, again: true })
        }
        Err(problem) => Err(problem.into()),
    }
}
