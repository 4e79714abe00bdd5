//! Requests and responses.

use http::StatusCode;
use std::io::{self, Write};

/// A request that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The request line: `POST /hooks HTTP/1.1`.
    pub line: String,
    /// The headers as sent, in order, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The exact bytes of the body.
    pub body: Vec<u8>,
}

impl Request {
    /// The path, with its query.
    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    /// The first header of a name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn of(head: &[u8]) -> Request {
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Request { line, headers, body: Vec::new() }
    }
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedResponse {
    /// The status.
    pub status: u16,
    /// Headers other than `content-length`.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether the connection is closed afterwards, without a `connection: close` header.
    pub closes: bool,
}

impl PreparedResponse {
    /// A response with an empty body.
    pub fn status(status: u16) -> PreparedResponse {
        PreparedResponse { status, headers: Vec::new(), body: Vec::new(), closes: false }
    }

    /// The same with one more header.
    pub fn with(mut self, name: &str, value: &str) -> PreparedResponse {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with a body.
    pub fn saying(mut self, body: impl Into<Vec<u8>>) -> PreparedResponse {
        self.body = body.into();
        self
    }

    /// The same, and then the connection is closed.
    pub fn closing(mut self) -> PreparedResponse {
        self.closes = true;
        self
    }

    pub(crate) fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::with_capacity(1024);
        let reason = StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
        write!(out, "HTTP/1.1 {} {}\r\n", self.status, reason.unwrap_or("Any"))?;
        for (name, value) in &self.headers {
            write!(out, "{name}: {value}\r\n")?;
        }
        // These statuses have no body by definition.
        if self.status >= 200 && self.status != 204 && self.status != 304 {
            write!(out, "content-length: {}\r\n", self.body.len())?;
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.body);
        Ok(out)
    }
}
