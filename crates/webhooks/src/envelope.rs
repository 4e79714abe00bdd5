//! The body of a delivery: `data` as it was recorded and signed, between its event's name and its signature.

use bytes::Bytes;

/// Builds the body. Event names and signatures contain no character that JSON would escape.
pub fn body(event: &str, data: &[u8], signature: &str) -> Bytes {
    let parts: [&[u8]; 7] = [
        b"{\"event\":\"",
        event.as_bytes(),
        b"\",\"data\":",
        data,
        b",\"hmac_signature\":\"",
        signature.as_bytes(),
        b"\"}",
    ];
    debug_assert!(event.bytes().chain(signature.bytes()).all(|byte| byte.is_ascii_graphic() && byte != b'"'));
    Bytes::from(parts.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_stands_in_it_as_it_was_signed() {
        let body = body("payment_missed", "{\"a\":\"ü\"}".as_bytes(), "c2ln");
        assert_eq!(
            body,
            "{\"event\":\"payment_missed\",\"data\":{\"a\":\"ü\"},\"hmac_signature\":\"c2ln\"}".as_bytes()
        );
    }
}
