//! A connection: reads one request after the other, and responds.

use crate::message::{PreparedResponse, Request};
use std::io::{self, ErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Larger than any message, with its head.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// A sender's connection.
#[derive(Debug)]
pub struct ReceiverConnection<S> {
    /// The stream, for responses that are not HTTP.
    pub stream: S,
    /// The bytes read after the last request.
    bytes: Vec<u8>,
    /// Whether the connection ends after the last request.
    is_over: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> ReceiverConnection<S> {
    /// A connection from which nothing has been read.
    pub fn new(stream: S) -> ReceiverConnection<S> {
        ReceiverConnection { stream, bytes: Vec::with_capacity(16 << 10), is_over: false }
    }

    /// Reads the next request; `None` at the end of the connection. A request that is too large, or not HTTP, gets a
    /// response here and ends the connection. A caller that stops waiting loses no bytes.
    pub async fn next(&mut self) -> io::Result<Option<Request>> {
        if self.is_over {
            return Ok(None);
        }
        let error = match self.read().await {
            Ok(request) => return Ok(Some(request)),
            Err(error) => error,
        };
        let status = match error.kind() {
            ErrorKind::UnexpectedEof => return Ok(None),
            ErrorKind::InvalidData => 400,
            ErrorKind::FileTooLarge => 413,
            _ => return Err(error),
        };
        self.respond(&PreparedResponse::status(status).closing()).await?;
        Ok(None)
    }

    /// Responds to the last request.
    pub async fn respond(&mut self, response: &PreparedResponse) -> io::Result<()> {
        self.is_over |= response.closes;
        self.stream.write_all(&response.bytes()?).await?;
        self.stream.flush().await
    }

    async fn read(&mut self) -> io::Result<Request> {
        let from = self.find(0, b"\r\n\r\n").await? + 4;
        let mut request = Request::of(&self.bytes[..from]);
        let (_, version) = request.line.rsplit_once(" HTTP/1.").ok_or(ErrorKind::InvalidData)?;
        let says = |name, value| request.header(name).is_some_and(|said| said.eq_ignore_ascii_case(value));
        let is_over = version == "0" || says("connection", "close");
        let is_chunked = says("transfer-encoding", "chunked");
        if !is_chunked && request.header("transfer-encoding").is_some() {
            return Err(ErrorKind::InvalidData.into());
        }
        if says("expect", "100-continue") && self.bytes.len() == from {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let end = if is_chunked {
            self.read_chunks(from, &mut request.body).await?
        } else {
            let length = request.header("content-length").map_or(Ok(0), str::parse);
            let end = from.saturating_add(length.map_err(|_| ErrorKind::InvalidData)?);
            self.fill(end).await?;
            request.body = self.bytes[from..end].to_vec();
            end
        };
        self.bytes.drain(..end);
        self.is_over = is_over;
        Ok(request)
    }

    /// Reads a body in chunks. Returns the position after it.
    async fn read_chunks(&mut self, mut at: usize, body: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            let end = self.find(at, b"\r\n").await?;
            let line = String::from_utf8_lossy(&self.bytes[at..end]);
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| ErrorKind::InvalidData)?;
            if size == 0 {
                // The last chunk: trailers may follow, then a blank line.
                return Ok(self.find(end, b"\r\n\r\n").await? + 4);
            }
            at = size.saturating_add(end + 4);
            self.fill(at).await?;
            if self.bytes[at - 2..at] != *b"\r\n" {
                return Err(ErrorKind::InvalidData.into());
            }
            body.extend_from_slice(&self.bytes[end + 2..at - 2]);
        }
    }

    /// Reads until the bytes from a position contain others. Returns where.
    async fn find(&mut self, mut from: usize, wanted: &[u8]) -> io::Result<usize> {
        loop {
            let mut windows = self.bytes[from..].windows(wanted.len());
            if let Some(at) = windows.position(|window| window == wanted) {
                return Ok(from + at);
            }
            from = from.max(self.bytes.len().saturating_sub(wanted.len()));
            self.fill(self.bytes.len() + 1).await?;
        }
    }

    /// Reads until there are this many bytes.
    async fn fill(&mut self, length: usize) -> io::Result<()> {
        if length > REQUEST_BYTES_MAX {
            return Err(ErrorKind::FileTooLarge.into());
        }
        while self.bytes.len() < length {
            if self.stream.read_buf(&mut self.bytes).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a text and ends the connection. Returns the bodies of the requests, and the responses to them.
    async fn exchange(sent: &str) -> (Vec<String>, String) {
        let (mut sender, stream) = tokio::io::duplex(1 << 20);
        let mut connection = ReceiverConnection::new(stream);
        sender.write_all(sent.as_bytes()).await.expect("sent");
        sender.shutdown().await.expect("the end");
        let mut bodies = Vec::new();
        while let Some(request) = connection.next().await.expect("no error") {
            bodies.push(String::from_utf8(request.body).expect("text"));
            connection.respond(&PreparedResponse::status(200).saying("ok")).await.expect("answered");
        }
        drop(connection);
        let mut answers = String::new();
        sender.read_to_string(&mut answers).await.expect("answers");
        (bodies, answers)
    }

    #[tokio::test]
    async fn requests_end_where_they_say_and_others_are_refused() {
        let chunks = "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n\r\n\r\n3\r\nabc\r\n0\r\nt: u\r\n\r\n";
        let cases = [
            ("HTTP/1.1\r\nContent-LENGTH: 2\r\n\r\nhePOST /b HTTP/1.1\r\n\r\nPOST", &["he", ""][..], "200 OK"),
            (&format!("HTTP/1.1\r\n{chunks}POST /b HTTP/1.1\r\n{chunks}"), &["\r\nabc", "\r\nabc"], "200 OK"),
            ("HTTP/1.0\r\n\r\nPOST /b HTTP/1.0\r\n\r\n", &[""], "200 OK"),
            ("HTTP/1.1\r\nconnection: close\r\n\r\nPOST /b HTTP/1.1\r\n\r\n", &[""], "200 OK"),
            ("HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n", &[], "100 Continue"),
            ("SSH-2.0\r\n\r\n", &[], "400 Bad Request"),
            ("HTTP/1.1\r\ncontent-length: many\r\n\r\n", &[], "400 Bad Request"),
            ("HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nx\r\n", &[], "400 Bad Request"),
            ("HTTP/1.1\r\ncontent-length: 67108865\r\n\r\n", &[], "413 Payload Too Large"),
        ];
        for (sent, expected, status) in cases {
            let (bodies, answers) = exchange(&format!("POST /a {sent}")).await;
            assert_eq!(bodies, expected, "{sent}");
            assert!(answers.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{sent}: {answers}");
            assert_eq!(answers.matches("200 OK").count(), expected.len(), "{sent}");
        }
    }
}
