//! The signature of a message: HMAC with SHA-256 over the bytes of `data`, in Base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// An organization's key for signing, as the text that receivers are given.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key made of 32 random bytes.
    pub fn from_bytes(bytes: &[u8; 32]) -> Key {
        Key(STANDARD.encode(bytes))
    }

    /// The key with this text.
    pub fn from_text(text: impl Into<String>) -> Key {
        Key(text.into())
    }

    /// The text that receivers are given.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Signs. The key is the UTF-8 bytes of the text as it stands.
    pub fn sign(&self, data: &[u8]) -> String {
        STANDARD.encode(self.mac(data).finalize().into_bytes())
    }

    /// Whether a signature is the one of this data, found without giving away by the time it takes how much is right.
    pub fn verify(&self, data: &[u8], signature: &str) -> bool {
        STANDARD.decode(signature).is_ok_and(|signature| self.mac(data).verify_slice(&signature).is_ok())
    }

    fn mac(&self, data: &[u8]) -> Hmac<Sha256> {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).expect("HMAC takes keys of every length");
        mac.update(data);
        mac
    }
}

/// A key is a secret: it does not show in logs.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second test case of RFC 4231, in Base64.
    #[test]
    fn the_signature_is_hmac_sha256_in_base64() {
        let key = Key::from_text("Jefe");
        let expected = "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=";
        assert_eq!(key.sign(b"what do ya want for nothing?"), expected);
        assert!(key.verify(b"what do ya want for nothing?", expected));
    }

    #[test]
    fn a_changed_byte_or_key_is_found() {
        let key = Key::from_bytes(&[7; 32]);
        let signature = key.sign(b"{\"a\":1}");
        assert!(!key.verify(b"{\"a\":2}", &signature));
        assert!(!Key::from_bytes(&[8; 32]).verify(b"{\"a\":1}", &signature));
        assert!(!key.verify(b"{\"a\":1}", "not base64!"));
    }
}
