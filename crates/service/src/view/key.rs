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

/// A key. Its secret is not shown again.
#[derive(Debug, Serialize, ToSchema)]
pub struct Key<'a> {
    /// Its id.
    pub client_id: &'a str,
    /// What it is called.
    pub name: &'a str,
    /// `ADMIN`, `SERVICING` or `READ_ONLY`.
    pub role: &'a str,
    /// When it was made.
    pub created_at: Utc,
    /// When it was last used.
    pub last_used_at: Option<Utc>,
    /// When it was revoked.
    pub revoked_at: Option<Utc>,
}

/// A new key, with its secret: shown this once.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewKey<'a> {
    /// Its id.
    pub client_id: &'a str,
    /// Its secret: shown this once.
    pub client_secret: &'a str,
    /// What it is called.
    pub name: &'a str,
    /// `ADMIN`, `SERVICING` or `READ_ONLY`.
    pub role: &'a str,
    /// When it was made.
    pub created_at: Utc,
}

/// What a roll did.
#[derive(Debug, Serialize, ToSchema)]
pub struct Rolled<'a> {
    /// The account.
    pub account_id: &'a str,
    /// Up to and including which moment it is processed.
    pub rolled_to: Local<'a>,
    /// Events that were processed.
    pub successful_events: u64,
    /// Events that could not be applied.
    pub failed_events: u64,
    /// Both together.
    pub total_attempted: u64,
    /// Webhook messages handed to sending.
    pub webhooks_sent: u64,
}
