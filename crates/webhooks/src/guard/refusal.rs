//! Why a URL is rejected, as text.

use crate::guard::MOST_URL_BYTES;
use crate::guard::address::AddressKind;
use std::fmt;
use std::net::IpAddr;

/// Why a URL is rejected. It reads as a sentence after the field's name: `webhook_url` *must not point to …*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlRefusal {
    /// It is longer than [`MOST_URL_BYTES`].
    TooLong,
    /// It contains whitespace or a control character.
    Blank,
    /// It is not a URL; with the parser's error.
    NotAUrl(url::ParseError),
    /// Neither http nor https; with the scheme.
    Scheme(String),
    /// It has no host.
    NoHost,
    /// It contains a user name or a password.
    UserInfo,
    /// It has a part after `#`, which is never sent.
    Fragment,
    /// Port 0.
    Port,
    /// Its path cannot be written into a request.
    Path,
    /// Plain http to an address that requires https.
    PlainHttp,
    /// The name `localhost`, or one below it.
    Localhost(String),
    /// An address that is not public.
    Address {
        /// The address as written or resolved.
        address: IpAddr,
        /// Its purpose.
        kind: AddressKind,
    },
}

impl fmt::Display for UrlRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UrlRefusal::TooLong => write!(f, "must not be longer than {MOST_URL_BYTES} bytes"),
            UrlRefusal::Blank => f.write_str("must not contain whitespace or control characters"),
            UrlRefusal::NotAUrl(url::ParseError::RelativeUrlWithoutBase) => {
                f.write_str("must be a complete URL that begins with https://, such as https://example.com/hooks")
            }
            UrlRefusal::NotAUrl(why) => {
                write!(f, "must be a complete URL, such as https://example.com/hooks; this one has an error: {why}")
            }
            UrlRefusal::Scheme(scheme) => write!(f, "must begin with https:// (not {scheme}:)"),
            UrlRefusal::NoHost => f.write_str("must name a host"),
            UrlRefusal::UserInfo => f.write_str("must not contain a user name or a password"),
            UrlRefusal::Fragment => f.write_str("must not have a part after #"),
            UrlRefusal::Port => f.write_str("must not use port 0"),
            UrlRefusal::Path => f.write_str("must have a path that is valid in an HTTP request"),
            UrlRefusal::PlainHttp => f.write_str("must begin with https:// (plain http is only for allowed networks)"),
            UrlRefusal::Localhost(name) => write!(f, "must not point to a loopback address ({name})"),
            UrlRefusal::Address { address, kind } => write!(f, "must not point to {kind} ({address})"),
        }
    }
}

impl std::error::Error for UrlRefusal {}
