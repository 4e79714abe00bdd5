//! Access: tokens and keys. Also the response to a roll, which only testers see.

use super::time::{Local, Utc};
use serde::Serialize;
use utoipa::ToSchema;

/// An access token.
#[derive(Debug, Serialize, ToSchema)]
pub struct Token {
    /// Send it as `Authorization: Bearer <access_token>`.
    pub access_token: String,
    /// `Bearer`.
    pub token_type: &'static str,
    /// Seconds until it expires.
    pub expires_in: u64,
}

impl Token {
    /// A token that expires in this many seconds.
    pub fn new(access_token: String, expires_in: u64) -> Token {
        Token { access_token, token_type: "Bearer", expires_in }
    }
}

/// An API key, without its secret.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Key {
    /// Its id.
    pub client_id: String,
    /// Its name.
    pub name: String,
    /// `ADMIN`, `SERVICING` or `READ_ONLY`.
    pub role: String,
    /// When it was created.
    pub created_at: Utc,
    /// When it was last used.
    pub last_used_at: Option<Utc>,
    /// When it was revoked.
    pub revoked_at: Option<Utc>,
}

/// A new API key with its secret, which is shown only once.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NewKey {
    /// Its id.
    pub client_id: String,
    /// Its secret, which is shown only once.
    pub client_secret: String,
    /// Its name.
    pub name: String,
    /// `ADMIN`, `SERVICING` or `READ_ONLY`.
    pub role: String,
    /// When it was created.
    pub created_at: Utc,
}

/// The result of a roll.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Rolled {
    /// The account.
    pub account_id: String,
    /// The moment up to and including which the account is processed.
    pub rolled_to: Local,
    /// The number of events that were processed.
    pub successful_events: u64,
    /// The number of events that could not be applied.
    pub failed_events: u64,
    /// The sum of both.
    pub total_attempted: u64,
    /// The number of webhook messages handed to the dispatcher.
    pub webhooks_sent: u64,
}
