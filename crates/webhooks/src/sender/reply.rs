//! Requests and their results.

use crate::guard::UrlRefusal;
use crate::sender::tls_words;
use bytes::Bytes;
use http::HeaderMap;
use http::header::RETRY_AFTER;
use std::error::Error;
use std::fmt;
use std::io;
use std::time::{Duration, UNIX_EPOCH};
use tokio_rustls::rustls;

/// The error for a head that is too large; the limits are those of `connection`.
const TOO_LARGE: &str = "its head has more than 100 headers, or more than 64 KiB";

/// One message to send.
#[derive(Clone, Debug)]
pub struct Post<'a> {
    /// The message's id, the same at each attempt: the `webhook-id` header.
    pub id: &'a str,
    /// When this attempt was signed, in seconds of Unix time: the `webhook-timestamp` header.
    pub timestamp_s: i64,
    /// The `webhook-signature` header: one signature, or several separated by spaces.
    pub signature: String,
    /// The exact bytes of the body.
    pub body: Bytes,
}

/// How an attempt went: a final status, or a fault, never both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The final status, if there was one.
    pub status: Option<u16>,
    /// Why there was none.
    pub fault: Option<Fault>,
    /// When the receiver wants the next attempt.
    pub retry_after: Option<RetryAfter>,
    /// The first bytes of the response body, for display; empty for 200 and 202.
    pub body_start: Vec<u8>,
    /// From the start of the attempt to the end of the response's head, or to the fault.
    pub latency: Duration,
}

impl Reply {
    /// An attempt without a response.
    pub(crate) fn without_answer(fault: Fault, latency: Duration) -> Reply {
        Reply { status: None, fault: Some(fault), retry_after: None, body_start: Vec::new(), latency }
    }
}

/// The value of a `retry-after` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// This many seconds from now.
    Seconds(u64),
    /// At a moment, in seconds of Unix time.
    At(i64),
}

impl RetryAfter {
    /// Reads the header; `None` if it is neither a number nor a date.
    pub(super) fn read(headers: &HeaderMap) -> Option<RetryAfter> {
        let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            // A number that does not fit is a very long time.
            return Some(RetryAfter::Seconds(text.parse().unwrap_or(u64::MAX)));
        }
        let moment = httpdate::parse_http_date(text).ok()?;
        let since = moment.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_secs()).ok().map(RetryAfter::At)
    }
}

/// Why an attempt got no final status. It reads as a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The URL, or an address of its name, is not allowed; no connection was made.
    Forbidden(UrlRefusal),
    /// The name has no address.
    NameNotFound(String),
    /// The connection was refused: nothing listens there.
    Refused,
    /// There is no route to the address.
    Unreachable(String),
    /// The connection was closed or reset before a response.
    Reset,
    /// TLS failed: a bad certificate, or no common version or cipher.
    Tls(String),
    /// No final status within the time limit, and no informational response.
    TimedOut,
    /// Only informational responses (1XX) until the connection or the time ended.
    OnlyInformational,
    /// The response is not HTTP, or its head is too large.
    Malformed(String),
    /// The message's id or signature does not fit into a header.
    Unsendable,
    /// The stored message cannot be read.
    Damaged,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Forbidden(refusal) => write!(f, "not sent: the URL {refusal}"),
            Fault::NameNotFound(why) => write!(f, "the host name was not found ({why})"),
            Fault::Refused => f.write_str("the connection was refused"),
            Fault::Unreachable(why) => write!(f, "the host could not be reached ({why})"),
            Fault::Reset => f.write_str("the connection was closed before a response"),
            Fault::Tls(why) => write!(f, "no secure connection could be made ({why})"),
            Fault::TimedOut => f.write_str("there was no response in time"),
            Fault::OnlyInformational => f.write_str("there were only informational responses (1XX)"),
            Fault::Malformed(why) => write!(f, "the response was not valid HTTP ({why})"),
            Fault::Unsendable => f.write_str("the message's id or signature does not fit into a header"),
            Fault::Damaged => f.write_str("not sent: the stored message is damaged; run `daybook verify`"),
        }
    }
}

impl Error for Fault {}

impl Fault {
    /// The fault for an error below HTTP.
    pub(super) fn of_io(error: &io::Error) -> Fault {
        use io::ErrorKind::{
            BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, NotConnected, TimedOut, UnexpectedEof,
        };
        if let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Fault::Tls(tls_words::of(inner));
        }
        match error.kind() {
            ConnectionRefused => Fault::Refused,
            ConnectionReset | ConnectionAborted | BrokenPipe | NotConnected | UnexpectedEof => Fault::Reset,
            TimedOut => Fault::TimedOut,
            _ => Fault::Unreachable(error.to_string()),
        }
    }

    /// The fault for an error in HTTP, or below it.
    pub(super) fn of_http(error: &hyper::Error) -> Fault {
        if error.is_parse_too_large() {
            return Fault::Malformed(TOO_LARGE.to_owned());
        }
        if error.is_parse() {
            return Fault::Malformed(error.to_string());
        }
        let mut cause = error.source();
        while let Some(inner) = cause {
            if let Some(inner) = inner.downcast_ref::<io::Error>() {
                return Fault::of_io(inner);
            }
            cause = inner.source();
        }
        if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
            return Fault::Reset;
        }
        Fault::Malformed(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn read(text: &str) -> Option<RetryAfter> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(text).expect("a header"));
        RetryAfter::read(&headers)
    }

    #[test]
    fn retry_after_is_a_number_of_seconds_or_a_date() {
        assert_eq!(read("120"), Some(RetryAfter::Seconds(120)));
        assert_eq!(read("0"), Some(RetryAfter::Seconds(0)));
        assert_eq!(read("99999999999999999999999"), Some(RetryAfter::Seconds(u64::MAX)));
        // RFC 9110's example of a date in its three spellings: `date -u -d '1994-11-06 08:49:37' +%s`.
        for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(read(date), Some(RetryAfter::At(784_111_777)), "{date}");
        }
        for nothing in ["", "-1", "1.5", "soon", "+5"] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
        assert_eq!(RetryAfter::read(&HeaderMap::new()), None);
    }
}
