//! One spelling for each URL.
//!
//! Two spellings that every server treats alike are one URL, and so one subscription. The parser already converts the
//! scheme and the host to lower case, an international name to ASCII and an address to one form, and removes a default
//! port and `.` and `..` from the path. The rest is done here, by RFC 3986, section 6.2.2: no dot at the end of the
//! host, characters that need no escape are not escaped, escapes are in upper case, and no `?` without a query.
//! Differences that servers may distinguish stay: upper and lower case in the path, `//`, a slash at the end, the order
//! of parameters.

use super::{UrlRefusal, parsed};

/// A URL in its stored spelling.
pub fn normal_form(text: &str) -> Result<String, UrlRefusal> {
    let mut url = parsed(text)?;
    if let Some(url::Host::Domain(name)) = url.host()
        && let Some(bare) = name.strip_suffix('.').filter(|bare| !bare.is_empty() && !bare.ends_with('.'))
    {
        let bare = bare.to_owned();
        url.set_host(Some(&bare)).map_err(UrlRefusal::NotAUrl)?;
    }
    let path = unescaped(url.path());
    url.set_path(&path);
    let query = url.query().filter(|query| !query.is_empty()).map(unescaped);
    url.set_query(query.as_deref());
    Ok(url.into())
}

/// The text with escapes only where needed, in upper case.
fn unescaped(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::with_capacity(text.len());
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        let escape = rest.get(at + 1..at + 3).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => plain.push(char::from(byte)),
            Some(byte) => plain.push_str(&format!("%{byte:02X}")),
            // Not an escape: kept as it is.
            None => {
                plain.push('%');
                rest = &rest[at + 1..];
                continue;
            }
        }
        rest = &rest[at + 3..];
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_url_have_one_form() {
        let same = [
            "https://b\u{fc}cher.example/hooks/a-b?c=d~",
            "HTTPS://b\u{fc}cher.example/hooks/a-b?c=d~",
            "https://B\u{dc}CHER.Example/hooks/a-b?c=d~",
            "https://xn--bcher-kva.example/hooks/a-b?c=d~",
            "https://b\u{fc}cher.example:443/hooks/a-b?c=d~",
            "https://b\u{fc}cher.example:0443/hooks/a-b?c=d~",
            "https://b\u{fc}cher.example./hooks/a-b?c=d~",
            "https://b\u{fc}cher.example/./hooks/x/../a-b?c=d~",
            "https://b\u{fc}cher.example/%2e/hooks/a-b?c=d~",
            "https://b\u{fc}cher.example/%68ooks/a%2Db?c=%64%7e",
            "https:\\\\b\u{fc}cher.example\\hooks\\a-b?c=d~",
            "https://b%C3%BCcher.example/hooks/a-b?c=d~",
        ];
        for text in same {
            assert_eq!(normal_form(text).as_deref(), Ok("https://xn--bcher-kva.example/hooks/a-b?c=d~"), "{text}");
        }
        let same = [
            "https://example.com",
            "https://example.com/",
            "https://example.com?",
            "https://example.com/?",
            "https://example.com/a/..",
        ];
        for text in same {
            assert_eq!(normal_form(text).as_deref(), Ok("https://example.com/"), "{text}");
        }
        assert_eq!(normal_form("https://0x7f.1/a%2fb").as_deref(), Ok("https://127.0.0.1/a%2Fb"));
    }

    #[test]
    fn what_servers_may_tell_apart_stays_apart() {
        let different = [
            "https://example.com/hooks",
            "https://example.com/hooks/",
            "https://example.com/Hooks",
            "https://example.com//hooks",
            "https://example.com/hooks?a=1&b=2",
            "https://example.com/hooks?b=2&a=1",
            "https://example.com/a%2Fb",
            "https://example.com/a/b",
            "https://example.com/a%25b",
            "https://example.com/a%2541",
            "https://example.com:8443/hooks",
            "https://www.example.com/hooks",
            "http://example.com/hooks",
        ];
        for text in different {
            assert_eq!(normal_form(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn the_normal_form_is_its_own() {
        for text in [
            "https://example.com/%zz%4",
            "https://example.com/%25%34%31",
            "https://example.com./%7E%ff",
            "https://[::FFFF:1.2.3.4]:444/a/%2E%2E/b",
        ] {
            let once = normal_form(text).expect("a URL");
            assert_eq!(normal_form(&once), Ok(once.clone()), "{text}");
        }
    }
}
