//! Requests and responses.

use std::io::Write;

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

    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        write!(out, "HTTP/1.1 {} Any\r\n", self.status).unwrap();
        for (name, value) in &self.headers {
            write!(out, "{name}: {value}\r\n").unwrap();
        }
        // These statuses have no body by definition.
        if self.status >= 200 && self.status != 204 && self.status != 304 {
            write!(out, "content-length: {}\r\n", self.body.len()).unwrap();
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.body);
    }
}

/// A request that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The number of its connection, from 0.
    pub connection: usize,
    /// The request line: `POST /hooks HTTP/1.1`.
    pub line: String,
    /// The headers as sent, in order, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The exact bytes of the body.
    pub body: Vec<u8>,
}

impl Request {
    /// The first header of a name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn read(connection: usize, head: &[u8], body: &[u8]) -> Request {
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Request { connection, line, headers, body: body.to_vec() }
    }
}
