//! Minting: the one place that draws random numbers, for ids and secrets.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Random bytes from the operating system.
#[expect(clippy::expect_used, reason = "without randomness no secret may be made: stopping is the only safe answer")]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[expect(clippy::disallowed_methods, reason = "this is the one place that draws random numbers")]
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    bytes
}

/// A new id of the service's own: `dbk_` and 16 random letters and digits, which no two calls will share.
pub fn mint_id(kind: &str) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut id = String::with_capacity(5 + kind.len() + 20);
    id.push_str("dbk_");
    id.push_str(kind);
    id.push('_');
    for byte in random_bytes::<20>() {
        id.push(char::from(ALPHABET[usize::from(byte % 32)]));
    }
    id
}

/// A new secret: 256 random bits.
pub fn mint_secret() -> String {
    format!("dbk_sk_{}", URL_SAFE_NO_PAD.encode(random_bytes::<32>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_secrets_differ_each_time_and_have_their_form() {
        assert_ne!(mint_id("li"), mint_id("li"));
        assert!(mint_id("li").starts_with("dbk_li_"));
        assert_ne!(mint_secret(), mint_secret());
        assert_eq!(mint_secret().len(), "dbk_sk_".len() + 43);
    }
}
