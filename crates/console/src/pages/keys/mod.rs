//! API keys, the signing key, and the webhook URL of the console.
//!
//! A secret is shown only in the response to the form that created or requested it, never in a URL, a cookie or another
//! page.

pub mod api_keys;
pub mod signing;
pub mod webhook_url;

use crate::Console;
use crate::csv::{Cell, Csv};
use crate::display::AsMoment;
use crate::form::{Form, FormValues, QueryParameters};
use crate::guard::Visitor;
use crate::page::{PageError, PageFrame, PageResult, Section};
use crate::pages::webhooks::Health;
use askama::Template;
use axum::extract::State;
use daybook_service::ids::mint_secret;
use daybook_service::view::Key;
use daybook_service::view::time::Utc;

/// The path of this section.
const HERE: &str = "/console/keys";
/// Its name, for links back.
const NAME: &str = "Keys";

#[derive(Template)]
#[template(path = "keys/keys.html")]
struct KeysPage {
    page: PageFrame,
    keys: Vec<Key>,
    form: Form,
    /// A token unique to this form: submitting it twice creates one key.
    once: String,
    url: webhook_url::Saved,
    url_form: Form,
}

impl KeysPage {
    async fn new(console: &Console, visitor: &Visitor) -> Result<KeysPage, PageError> {
        let url = webhook_url::Saved::find(console, visitor).await?;
        Ok(KeysPage {
            page: PageFrame::new("Keys", Section::Keys, visitor),
            keys: all(console, visitor).await?,
            form: Form::new(api_keys::FORM, FormValues::default()),
            once: mint_secret(),
            url_form: Form::new(webhook_url::FORM, FormValues::default().with("webhook_url", url.url())),
            url,
        })
    }
}

/// The names of keys, by id.
pub(super) async fn names(console: &Console, visitor: &Visitor) -> Result<Vec<(String, String)>, PageError> {
    Ok(all(console, visitor).await?.into_iter().map(|key| (key.client_id, key.name)).collect())
}

/// All keys: active ones first, then newest first.
async fn all(console: &Console, visitor: &Visitor) -> Result<Vec<Key>, PageError> {
    let mut keys = console.service.list_keys(visitor.caller()).await?.results;
    keys.sort_by_key(|key| (key.revoked_at.is_some(), std::cmp::Reverse(key.created_at.0)));
    Ok(keys)
}

/// The page.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    if asked.get("format") == "csv" {
        let mut csv = Csv::new(&["client_id", "name", "role", "created_at", "last_used_at", "revoked_at"])?;
        for key in all(&console, &visitor).await? {
            let moment = |at: Option<Utc>| at.map_or_else(String::new, |at| at.to_string());
            csv.row(&[
                Cell::Text(&key.client_id),
                Cell::Text(&key.name),
                Cell::Text(&key.role),
                Cell::Text(&key.created_at.to_string()),
                Cell::Text(&moment(key.last_used_at)),
                Cell::Text(&moment(key.revoked_at)),
            ])?;
        }
        return csv.file("keys");
    }
    crate::page::show(&KeysPage::new(&console, &visitor).await?)
}
