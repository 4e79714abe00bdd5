//! Generates ids and secrets. This is the only place that draws random numbers.

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

/// A new id of the service's own: `dbk_`, the kind, and 20 random letters and digits. Two calls never share one.
pub fn mint_id(kind: &str) -> String {
    id_of(kind, &random_bytes::<20>())
}

/// An id of the service's own that is derived from about 20 bytes.
pub(crate) fn id_of(kind: &str, bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut id = String::with_capacity(5 + kind.len() + 20);
    id.push_str("dbk_");
    id.push_str(kind);
    id.push('_');
    for byte in bytes.iter().take(20) {
        id.push(char::from(ALPHABET[usize::from(byte % 32)]));
    }
    id
}

/// A new mark for the ids of an organization's events: 40 random bits as hexadecimal digits. The migration that added
/// marks to existing organizations makes them in the same form.
pub fn mint_mark() -> String {
    random_bytes::<5>()
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(HEX[usize::from(digit)]))
        .collect()
}

/// A new UUID of version 4: random except for the version and variant bits.
pub fn mint_uuid() -> String {
    let mut bytes = random_bytes::<16>();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut uuid = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            uuid.push('-');
        }
        uuid.push(char::from(HEX[usize::from(byte >> 4)]));
        uuid.push(char::from(HEX[usize::from(byte & 15)]));
    }
    uuid
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// A new secret: 256 random bits.
pub fn mint_secret() -> String {
    secret_of(&random_bytes::<32>())
}

/// A secret derived from unguessable bytes.
pub(crate) fn secret_of(bytes: &[u8]) -> String {
    format!("dbk_sk_{}", token_of(bytes))
}

/// A new token for a session or a link: 256 random bits, in letters that are valid in a URL and a cookie.
pub fn mint_token() -> String {
    token_of(&random_bytes::<32>())
}

/// A token derived from unguessable bytes.
pub(crate) fn token_of(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
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

    #[test]
    fn marks_differ_each_time_and_are_ten_digits() {
        assert_ne!(mint_mark(), mint_mark());
        for _ in 0..100 {
            let mark = mint_mark();
            assert!(mark.len() == 10 && mark.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{mark}");
        }
    }

    /// RFC 9562, version 4: `xxxxxxxx-xxxx-4xxx-[89ab]xxx-xxxxxxxxxxxx`.
    #[test]
    fn uuids_have_the_form_of_version_4() {
        assert_ne!(mint_uuid(), mint_uuid());
        for _ in 0..100 {
            let uuid = mint_uuid();
            let groups: Vec<&str> = uuid.split('-').collect();
            assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{uuid}");
            assert!(groups[2].starts_with('4') && groups[3].starts_with(['8', '9', 'a', 'b']), "{uuid}");
            assert!(uuid.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-')), "{uuid}");
        }
    }
}
