//! Encryption of secrets in the database, with a key that is not stored there.

use crate::ids::random_bytes;
use crate::problem::Problem;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use daybook_engine::time::Time;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use std::fmt;

const NONCE_BYTES: usize = 24;
/// How long an access token is valid.
pub const TOKEN_SECONDS: i64 = 3_600;
const TOKEN_PREFIX: &str = "dbk_at.";

/// The keys derived from the secrets key, which is not in the database.
#[derive(Clone)]
pub struct Secrets {
    sealing: [u8; 32],
    tokens: [u8; 32],
    console: [u8; 32],
    audit: [u8; 32],
    fingerprint: [u8; 16],
}

/// Keeps the keys out of logs.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}

/// The result of reading an access token.
#[derive(Debug, PartialEq, Eq)]
pub enum Token {
    /// It is valid, and belongs to this client.
    Client(String),
    /// It has expired.
    Expired,
    /// It was not issued by this service.
    Unknown,
}

impl Secrets {
    /// Derives all keys from one key of 32 bytes.
    pub fn new(key: &[u8; 32]) -> Secrets {
        let derive = |what: &[u8]| mac(key, what);
        let mut fingerprint = [0; 16];
        fingerprint.copy_from_slice(&derive(b"daybook fingerprint")[..16]);
        Secrets {
            sealing: derive(b"daybook sealing"),
            tokens: derive(b"daybook tokens"),
            console: derive(b"daybook console"),
            audit: derive(b"daybook audit"),
            fingerprint,
        }
    }

    /// Identifies the key without revealing it.
    pub fn fingerprint(&self) -> [u8; 16] {
        self.fingerprint
    }

    /// Encrypts bytes.
    pub fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, Problem> {
        let nonce = random_bytes::<NONCE_BYTES>();
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(nonce), plain)
            .map_err(|_| Problem::internal("a secret could not be encrypted"))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Decrypts sealed bytes.
    pub fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, Problem> {
        let damaged = || Problem::internal("a stored secret cannot be decrypted with this key");
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>().ok_or_else(damaged)?;
        self.cipher().decrypt(&XNonce::from(*nonce), sealed).map_err(|_| damaged())
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.sealing.into())
    }

    /// A hash that cannot be computed without the key.
    pub fn keyed_hash(&self, bytes: &[u8]) -> Vec<u8> {
        mac(&self.sealing, bytes).to_vec()
    }

    /// The digest of a record of the audit trail.
    pub fn audit_digest(&self, record: &[u8]) -> Vec<u8> {
        mac(&self.audit, record).to_vec()
    }

    /// A keyed hash for the console. `thing` names its purpose: hashes for different purposes differ.
    pub fn console_hash(&self, thing: &str, bytes: &[u8]) -> Vec<u8> {
        mac(&self.console, &[thing.as_bytes(), b"\0", bytes].concat()).to_vec()
    }

    /// The CSRF token of a session's forms: derived from the session's token, which it does not reveal.
    pub fn form_token(&self, session_token: &str) -> String {
        self.console_mark("forms", session_token.as_bytes())
    }

    /// A mark that identifies a state without revealing it. A form carries it to show which state it was made from.
    pub fn console_mark(&self, thing: &str, bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.console_hash(thing, bytes))
    }

    /// A token that authenticates a client for a limited time.
    pub fn issue_token(&self, client_id: &str, now: Time) -> String {
        let expires = now.seconds() + TOKEN_SECONDS;
        let said = format!("{}.{expires}", URL_SAFE_NO_PAD.encode(client_id));
        let mac = URL_SAFE_NO_PAD.encode(mac(&self.tokens, said.as_bytes()));
        format!("{TOKEN_PREFIX}{said}.{mac}")
    }

    /// Whether a bearer has the form of an access token.
    pub fn is_token(bearer: &str) -> bool {
        bearer.starts_with(TOKEN_PREFIX)
    }

    /// Reads an access token.
    pub fn read_token(&self, bearer: &str, now: Time) -> Token {
        self.try_read_token(bearer, now).unwrap_or(Token::Unknown)
    }

    fn try_read_token(&self, bearer: &str, now: Time) -> Option<Token> {
        let (said, signature) = bearer.strip_prefix(TOKEN_PREFIX)?.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.tokens).ok()?;
        mac.update(said.as_bytes());
        mac.verify_slice(&signature).ok()?;
        let (client_id, expires) = said.split_once('.')?;
        let client_id = String::from_utf8(URL_SAFE_NO_PAD.decode(client_id).ok()?).ok()?;
        let expires: i64 = expires.parse().ok()?;
        Some(if now.seconds() < expires { Token::Client(client_id) } else { Token::Expired })
    }
}

fn mac(key: &[u8; 32], what: &[u8]) -> [u8; 32] {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length");
    mac.update(what);
    mac.finalize().into_bytes().into()
}

/// The hash of a client secret or of a request's content.
pub fn hash(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_can_be_opened_with_the_same_key_only() {
        let secrets = Secrets::new(&[1; 32]);
        let sealed = secrets.seal(b"123-45-6789").expect("it can be sealed");
        assert!(!sealed.windows(11).any(|window| window == b"123-45-6789"));
        assert_eq!(secrets.open(&sealed).expect("it can be opened"), b"123-45-6789");
        assert!(Secrets::new(&[2; 32]).open(&sealed).is_err());
        let mut changed = sealed.clone();
        changed[30] ^= 1;
        assert!(secrets.open(&changed).is_err());
        assert_ne!(Secrets::new(&[2; 32]).fingerprint(), secrets.fingerprint());
    }

    #[test]
    fn a_token_speaks_for_its_client_until_it_expires() {
        let secrets = Secrets::new(&[1; 32]);
        let now = Time::from_seconds(1_000_000);
        let token = secrets.issue_token("client-1", now);
        let at = |seconds| Time::from_seconds(1_000_000 + seconds);
        assert_eq!(secrets.read_token(&token, at(TOKEN_SECONDS - 1)), Token::Client("client-1".into()));
        assert_eq!(secrets.read_token(&token, at(TOKEN_SECONDS)), Token::Expired);
        assert_eq!(Secrets::new(&[2; 32]).read_token(&token, now), Token::Unknown);
        assert_eq!(secrets.read_token("dbk_at.x.y.z", now), Token::Unknown);
        assert_eq!(secrets.read_token(&format!("{token}x"), now), Token::Unknown);
    }
}
