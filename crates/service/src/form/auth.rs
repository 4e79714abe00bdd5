//! The request for an access token.

use super::fields::{Credential, RoleName, Title};
use super::form;

form! {
    /// Credentials, to be exchanged for an access token.
    TokenRequest {
        /// The key's id.
        client_id: Credential,
        /// The key's secret.
        client_secret: Credential,
        ;
    }
}

form! {
    /// A new API key.
    NewKey {
        /// Its name.
        name: Title,
        /// Its role.
        role: RoleName,
        ;
    }
}
