//! Finds HTTP/1 requests that state their length in two ways.
//!
//! A request with both `Content-Length` and `Transfer-Encoding` can smuggle another request past a proxy that trusts
//! the other header. The HTTP parser uses the second header and ignores the first; the listener refuses such a request.
//! This module follows the bytes of a connection, and gives up where the parser would refuse them anyway.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The inspected part of a line: longer than either header.
const LINE_BYTES: usize = 128;

/// Follows the bytes of a connection.
#[derive(Debug)]
pub struct Framing {
    at: At,
    line: Vec<u8>,
    is_ambiguous: Arc<AtomicBool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Head { lines: u32, length: Option<u64>, is_chunked: bool },
    Body { left: u64 },
    ChunkSize,
    Chunk { left: u64 },
    Trailer,
    Lost,
}

const BEGINNING: At = At::Head { lines: 0, length: None, is_chunked: false };

impl Framing {
    /// Starts at the beginning of a connection. Sets the flag when it finds an ambiguous request.
    pub fn new(is_ambiguous: Arc<AtomicBool>) -> Framing {
        Framing { at: BEGINNING, line: Vec::new(), is_ambiguous }
    }

    /// Processes the next bytes.
    pub fn follow(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.at {
                At::Lost => return,
                At::Body { left } => {
                    let (rest, left) = skip(bytes, left);
                    bytes = rest;
                    self.at = if left == 0 { BEGINNING } else { At::Body { left } };
                }
                At::Chunk { left } => {
                    let (rest, left) = skip(bytes, left);
                    bytes = rest;
                    self.at = if left == 0 { At::ChunkSize } else { At::Chunk { left } };
                }
                At::Head { .. } | At::ChunkSize | At::Trailer => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let (part, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
                    let room = LINE_BYTES.saturating_sub(self.line.len());
                    self.line.extend_from_slice(&part[..part.len().min(room)]);
                    bytes = rest;
                    if end.is_some() {
                        let line = std::mem::take(&mut self.line);
                        self.at = self.after_line(line.trim_ascii_end());
                        self.line = line;
                        self.line.clear();
                    }
                }
            }
        }
    }

    fn after_line(&self, line: &[u8]) -> At {
        match self.at {
            // Empty lines before a request are allowed.
            At::Head { lines: 0, .. } if line.is_empty() => BEGINNING,
            At::Head { length, is_chunked, .. } if line.is_empty() => match (length, is_chunked) {
                (Some(_), true) => {
                    self.is_ambiguous.store(true, Relaxed);
                    At::Lost
                }
                (_, true) => At::ChunkSize,
                (None | Some(0), false) => BEGINNING,
                (Some(left), false) => At::Body { left },
            },
            At::Head { lines, length, is_chunked } => match header(line) {
                (b"content-length", value) if lines > 0 => match number(value, 10) {
                    Some(length) => At::Head { lines: lines + 1, length: Some(length), is_chunked },
                    // An invalid length is refused, unless the other header takes precedence.
                    None => At::Head { lines: lines + 1, length: Some(0), is_chunked },
                },
                (b"transfer-encoding", _) if lines > 0 => At::Head { lines: lines + 1, length, is_chunked: true },
                _ => At::Head { lines: lines.saturating_add(1), length, is_chunked },
            },
            At::ChunkSize => {
                let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
                match number(size.trim_ascii(), 16) {
                    Some(0) => At::Trailer,
                    Some(size) => At::Chunk { left: size.saturating_add(2) },
                    None => At::Lost,
                }
            }
            At::Trailer if line.is_empty() => BEGINNING,
            at => at,
        }
    }
}

/// Skips up to `left` bytes. Returns the remaining bytes and the remaining number.
fn skip(bytes: &[u8], left: u64) -> (&[u8], u64) {
    let count = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    (&bytes[count..], left - count as u64)
}

/// The lower-case name of a header, if it is one of the two, and its value.
fn header(line: &[u8]) -> (&'static [u8], &[u8]) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return (b"", line) };
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    let known = [&b"content-length"[..], b"transfer-encoding"];
    let found = known.into_iter().find(|known| name.eq_ignore_ascii_case(known));
    (found.unwrap_or_default(), value)
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    if text.starts_with('+') { None } else { u64::from_str_radix(text, radix).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the bytes of a connection contain an ambiguous request, regardless of how they are split.
    fn is_ambiguous(text: &str) -> bool {
        let found: Vec<bool> = [1, 2, 7, 4_096]
            .into_iter()
            .map(|size| {
                let flag = Arc::new(AtomicBool::new(false));
                let mut framing = Framing::new(flag.clone());
                text.as_bytes().chunks(size).for_each(|bytes| framing.follow(bytes));
                flag.load(Relaxed)
            })
            .collect();
        assert!(found.iter().all(|one| *one == found[0]), "{found:?} of {text:?}");
        found[0]
    }

    const BOTH: &str = "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\ncontent-LENGTH: 3\r\n\r\n";

    #[test]
    fn both_lengths_are_found_in_any_order_and_case() {
        assert!(is_ambiguous(BOTH));
        assert!(is_ambiguous("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n"));
        assert!(is_ambiguous("POST / HTTP/1.1\ncontent-length: x\ntransfer-encoding: chunked\n\n"));
    }

    #[test]
    fn one_length_is_not_ambiguous() {
        for text in [
            "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
            "POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nx: content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /content-length: HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        ] {
            assert!(!is_ambiguous(text), "{text:?}");
        }
    }

    #[test]
    fn what_a_body_says_is_no_head_and_what_follows_it_is() {
        let quoted = format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n{BOTH}", BOTH.len());
        assert!(!is_ambiguous(&quoted));
        assert!(is_ambiguous(&format!("{quoted}{BOTH}")));
        let size = BOTH.len();
        let chunked =
            format!("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{size:x};x=y\r\n{BOTH}\r\n0\r\na: b\r\n\r\n");
        assert!(!is_ambiguous(&chunked));
        assert!(is_ambiguous(&format!("{chunked}\r\n{BOTH}")));
        assert!(is_ambiguous(&format!("GET / HTTP/1.1\r\nhost: x\r\n\r\n{BOTH}")));
    }
}
