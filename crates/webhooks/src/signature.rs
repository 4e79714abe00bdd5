//! The signatures of a message: HMAC with SHA-256, in Base64.
//!
//! `hmac_signature` in the body signs the bytes of `data`, keyed with the key's text as it is; it is computed once. The
//! `webhook-signature` header follows Standard Webhooks: it signs the id, the time of the attempt and the whole body,
//! keyed with the bytes that the key's text decodes to, and is computed at each attempt by a [`StandardKey`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// The prefix of a symmetric signature in the Standard Webhooks header.
const VERSION: &str = "v1,";
/// The length of a SHA-256 hash in Base64.
const BASE64_CHARS: usize = 44;

/// An organization's signing key, as the text that receivers get.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(String);

impl SigningKey {
    /// The key made of 32 random bytes.
    pub fn from_bytes(bytes: &[u8; 32]) -> SigningKey {
        SigningKey(STANDARD.encode(bytes))
    }

    /// The key with this text.
    pub fn from_text(text: impl Into<String>) -> SigningKey {
        SigningKey(text.into())
    }

    /// The text that receivers get.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Signs data. The key is the UTF-8 bytes of the text as it is.
    pub fn sign(&self, data: &[u8]) -> String {
        STANDARD.encode(self.mac(data).finalize().into_bytes())
    }

    /// Whether a signature matches the data, compared in constant time.
    pub fn verify(&self, data: &[u8], signature: &str) -> bool {
        STANDARD.decode(signature).is_ok_and(|signature| self.mac(data).verify_slice(&signature).is_ok())
    }

    /// The same key for the Standard Webhooks header. If its text is not Base64, the key is the text's own bytes.
    pub fn standard(&self) -> StandardKey {
        StandardKey(keyed(&STANDARD.decode(&self.0).unwrap_or_else(|_| self.0.clone().into_bytes())))
    }

    fn mac(&self, data: &[u8]) -> Hmac<Sha256> {
        let mut mac = keyed(self.0.as_bytes());
        mac.update(data);
        mac
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length")
}

/// A key for the Standard Webhooks header. The work that is the same for every message is already done.
#[derive(Clone)]
pub struct StandardKey(Hmac<Sha256>);

impl StandardKey {
    /// A signature for the `webhook-signature` header: `v1,` and Base64. The header may hold several, separated by
    /// spaces.
    pub fn sign(&self, id: &str, timestamp_s: i64, body: &[u8]) -> String {
        let mut mac = self.0.clone();
        mac.update(id.as_bytes());
        mac.update(b".");
        mac.update(timestamp_s.to_string().as_bytes());
        mac.update(b".");
        mac.update(body);
        let mut text = String::with_capacity(VERSION.len() + BASE64_CHARS);
        text.push_str(VERSION);
        STANDARD.encode_string(mac.finalize().into_bytes(), &mut text);
        text
    }
}

/// A key is a secret and must not appear in logs.
impl fmt::Debug for StandardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StandardKey(..)")
    }
}

/// A key is a secret and must not appear in logs.
impl fmt::Debug for SigningKey {
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
        let key = SigningKey::from_text("Jefe");
        let expected = "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=";
        assert_eq!(key.sign(b"what do ya want for nothing?"), expected);
        assert!(key.verify(b"what do ya want for nothing?", expected));
    }

    #[test]
    fn a_changed_byte_or_key_is_found() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let signature = key.sign(b"{\"a\":1}");
        assert!(!key.verify(b"{\"a\":2}", &signature));
        assert!(!SigningKey::from_bytes(&[8; 32]).verify(b"{\"a\":1}", &signature));
        assert!(!key.verify(b"{\"a\":1}", "not base64!"));
    }

    /// The example of the Standard Webhooks specification; the second computed with Python: `hmac.new(b"not base64!",
    /// "id.-5.é".encode(), "sha256")`.
    #[test]
    fn the_header_is_that_of_standard_webhooks() {
        let key = SigningKey::from_text("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").standard();
        let signature = key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let key = SigningKey::from_text("not base64!").standard();
        assert_eq!(key.sign("id", -5, "é".as_bytes()), "v1,fcgxEIIkPDMrER9/bTas5SiBq6aGEApFIgRF4wpdyRg=");
    }

    #[test]
    fn the_library_of_standard_webhooks_makes_and_accepts_the_same_signature() {
        use daybook_clock::{Clock, System};
        let now_s = System.now().micros() / 1_000_000;
        let body = "{\"event\":\"test_event\",\"data\":{\"name\":\"Zoë \u{1F600}\"}}";
        let (key, other) = (SigningKey::from_bytes(&[7; 32]), SigningKey::from_bytes(&[8; 32]));
        let library = standardwebhooks::Webhook::new(key.text()).expect("a key");
        let signature = key.standard().sign("msg_1", now_s, body.as_bytes());
        assert_eq!(signature, library.sign("msg_1", now_s, body.as_bytes()).expect("text"));

        let mut headers = http::HeaderMap::new();
        headers.insert("webhook-id", http::HeaderValue::from_static("msg_1"));
        headers.insert("webhook-timestamp", http::HeaderValue::from(now_s));
        // While a key is being rotated there is one signature by each key.
        let both = format!("{} {signature}", other.standard().sign("msg_1", now_s, body.as_bytes()));
        headers.insert("webhook-signature", http::HeaderValue::from_str(&both).expect("a header"));
        assert!(library.verify(body.as_bytes(), &headers).is_ok());
        assert!(library.verify(body.replace("Zoë", "Zoe").as_bytes(), &headers).is_err());
        let stranger = standardwebhooks::Webhook::new(SigningKey::from_bytes(&[9; 32]).text()).expect("a key");
        assert!(stranger.verify(body.as_bytes(), &headers).is_err());
    }

    #[test]
    fn keys_do_not_show() {
        let key = SigningKey::from_text("secret");
        assert_eq!(format!("{key:?} {:?}", key.standard()), "Key(..) StandardKey(..)");
    }
}
