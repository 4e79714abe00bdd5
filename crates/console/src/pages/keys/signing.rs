//! The key that signs messages: showing it to whoever asks, and giving out another.

use super::{HERE, NAME};
use crate::Console;
use crate::action::Action;
use crate::guard::Visitor;
use crate::page::{Answer, Page, Section, read};
use crate::pages::ask::Ask;
use crate::shape::Moment;
use askama::Template;
use axum::extract::State;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct HmacKey {
    hmac_secret_key: String,
    /// Until when the key before counts as well, if this one is new.
    previous_key_until: Option<Moment>,
}

#[derive(Template)]
#[template(path = "keys/hmac.html")]
struct HmacPage {
    page: Page,
    key: HmacKey,
}

/// Shows the key.
pub async fn reveal(State(console): State<Console>, visitor: Visitor) -> Answer {
    let key = read(&console.service.hmac_key(visitor.caller()).await?)?;
    crate::page::show(&HmacPage { page: Page::new("HMAC key", Section::Keys, &visitor), key })
}

/// Asks whether another key is to be given out.
pub async fn ask_rotate(visitor: Visitor) -> Answer {
    Ask {
        title: "Rotate the HMAC key".to_owned(),
        back: (HERE.to_owned(), NAME),
        words: vec![
            "A new key is made and shown to you. Messages recorded from then on are signed with it: their hmac_signature \
             fits the new key only."
                .to_owned(),
            "For 24 hours the header webhook-signature carries two signatures, one by each key, so receivers that check \
             the header accept messages while you give them the new key. After that the old key is forgotten."
                .to_owned(),
            "Messages that were recorded before, and are sent or replayed later, keep the hmac_signature they have."
                .to_owned(),
            "Receivers that check hmac_signature need the new key at once: have them try both keys for a while.".to_owned(),
        ],
        path: format!("{HERE}/hmac/rotate"),
        button: "Rotate it",
        danger: true,
        ..Ask::default()
    }
    .with_curl(&Action::RotateHmacKey, &visitor)
    .show(Section::Keys, &visitor)
}

/// Gives out another key, and shows it.
pub async fn rotate(State(console): State<Console>, visitor: Visitor) -> Answer {
    let key = read(&Action::RotateHmacKey.perform(&console.service, visitor.caller(), None).await?)?;
    crate::page::show(&HmacPage { page: Page::new("HMAC key", Section::Keys, &visitor), key })
}
