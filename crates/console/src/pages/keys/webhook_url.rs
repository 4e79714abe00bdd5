//! The webhook URL of the console, which receives all events.

use super::{HERE, KeysPage};
use crate::Console;
use crate::display::Count;
use crate::form::{Field, FieldKind, Form, FormValues};
use crate::guard::{Visitor, redirect_saying};
use crate::page::{Notice, PageError, PageResult, show_again};
use crate::pages::webhooks::all_subscriptions;
use axum::extract::State;
use daybook_service::view::Subscription;

/// The one field.
pub(super) const FORM: &[Field] = &[Field::new(
    "webhook_url",
    "Webhook URL",
    FieldKind::Text,
    "This URL gets all events. If you save another URL or an empty field, the current URL is removed, and its pending \
     messages and dead letters are deleted. If you save a URL that was subscribed with the API, its filter is removed: \
     it gets all events from then on. Other subscriptions do not change.",
)
.hint("https://example.com/webhooks")];

/// The saved URL.
#[derive(Debug)]
pub(super) struct Saved {
    /// The console's subscription.
    pub subscription: Option<Subscription>,
    /// The number of other subscriptions.
    pub others: u64,
}

impl Saved {
    pub(super) async fn find(console: &Console, visitor: &Visitor) -> Result<Saved, PageError> {
        let own = console.service.console_url(visitor.caller()).await?;
        let mut all = all_subscriptions(console, visitor).await?;
        let place = all.iter().position(|one| Some(&one.webhook_uuid) == own.as_ref());
        let subscription = place.map(|place| all.swap_remove(place));
        Ok(Saved { subscription, others: all.len() as u64 })
    }

    pub(super) fn url(&self) -> &str {
        self.subscription.as_ref().map_or("", |subscription| subscription.webhook_url.as_str())
    }

    pub(super) fn others_words(&self) -> String {
        Count(self.others).of("URL is", "URLs are")
    }
}

/// Saves the URL, or removes it if the field is empty.
pub async fn save(State(console): State<Console>, visitor: Visitor, typed: FormValues) -> PageResult {
    let url = typed.get("webhook_url");
    let had = Saved::find(&console, &visitor).await?;
    match console.service.save_console_url(visitor.caller(), Some(url).filter(|url| !url.is_empty())).await {
        Ok(saved) => Ok(redirect_saying(HERE, &said(&had, saved.as_ref()), &visitor.context)),
        Err(problem) => {
            let url_form = Form::new(FORM, FormValues::default().with("webhook_url", url)).refused(&problem);
            show_again(&KeysPage { url_form, ..KeysPage::new(&console, &visitor).await? })
        }
    }
}

/// A sentence about the change.
fn said(had: &Saved, saved: Option<&Subscription>) -> Notice {
    let before = had.url();
    let Some(saved) = saved else {
        return Notice::done(if before.is_empty() {
            "There was no URL to remove.".to_owned()
        } else {
            format!("{before} was removed. No more messages are sent to it.")
        });
    };
    let url = &saved.webhook_url;
    Notice::done(match saved.status {
        "PAUSED" => format!("{url} was saved. It stays paused until you resume it on the Webhooks page."),
        _ if before == url => format!("{url} was already saved. It gets all events."),
        _ if before.is_empty() => format!("{url} was saved. It gets all events from now on."),
        _ => format!("{url} was saved and replaces {before}. It gets all events from now on."),
    })
}
