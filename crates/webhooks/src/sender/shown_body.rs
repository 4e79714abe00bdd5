//! The start of a response body, as readable text.

use http::HeaderMap;
use http::header::CONTENT_ENCODING;

/// The most characters of an encoding's name that are shown.
const MOST_NAME: usize = 40;

/// The bytes unchanged if they are text, otherwise a sentence about them.
pub(super) fn of(headers: &HeaderMap, start: Vec<u8>) -> Vec<u8> {
    if start.is_empty() {
        return start;
    }
    match encoding(headers) {
        Some(name) => format!("(the body is compressed with {name} and is not shown)").into_bytes(),
        None if start.starts_with(&[0x1f, 0x8b]) => b"(the body is compressed with gzip and is not shown)".to_vec(),
        None if is_text(&start) => start,
        None => b"(the body is not text and is not shown)".to_vec(),
    }
}

/// The content encoding of a response, if it changes the bytes.
fn encoding(headers: &HeaderMap) -> Option<String> {
    let name = headers.get(CONTENT_ENCODING)?.to_str().unwrap_or("an unknown encoding").trim().to_ascii_lowercase();
    (!name.is_empty() && name != "identity").then(|| name.chars().take(MOST_NAME).collect())
}

/// Whether bytes are the start of UTF-8 text. The last character may be cut off.
fn is_text(start: &[u8]) -> bool {
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.chars().any(|c| c.is_control() && !c.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn shown(encoding: Option<&'static str>, start: &[u8]) -> String {
        let mut headers = HeaderMap::new();
        if let Some(encoding) = encoding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        String::from_utf8(of(&headers, start.to_vec())).expect("it is text")
    }

    #[test]
    fn text_is_shown_as_it_is() {
        assert_eq!(shown(None, b"{\"error\":\"no\"}\r\n\t<p>"), "{\"error\":\"no\"}\r\n\t<p>");
        assert_eq!(shown(Some("identity"), b"no"), "no");
        assert_eq!(shown(Some("gzip"), b""), "");
    }

    #[test]
    fn what_is_no_text_becomes_a_sentence() {
        assert_eq!(shown(Some("GZIP"), b"\x1f\x8b\x08x"), "(the body is compressed with gzip and is not shown)");
        assert_eq!(shown(Some("br"), b"\x0b\x02\x80"), "(the body is compressed with br and is not shown)");
        assert_eq!(shown(None, b"\x1f\x8b\x08\x00"), "(the body is compressed with gzip and is not shown)");
        assert_eq!(shown(None, b"\x89PNG\r\n\x1a\n"), "(the body is not text and is not shown)");
        assert_eq!(shown(None, b"a\x00b"), "(the body is not text and is not shown)");
    }

    #[test]
    fn a_character_that_is_cut_off_spoils_nothing() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("text/plain"));
        let cut = &"no \u{fc}".as_bytes()[..4];
        assert_eq!(of(&headers, cut.to_vec()), cut);
    }
}
