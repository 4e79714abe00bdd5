//! A minimal HTTP client: one connection, one call at a time, parsing only the status and the length.

use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A persistent connection.
#[derive(Debug)]
pub struct BenchConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl BenchConnection {
    /// Connects.
    pub async fn open(address: std::net::SocketAddr) -> io::Result<BenchConnection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(BenchConnection { stream, buffer: Vec::with_capacity(8_192) })
    }

    /// Sends a call and returns the status. The response stays in the buffer until the next call.
    pub async fn call(&mut self, method: &str, path: &str, bearer: &str, body: &str) -> io::Result<u16> {
        let call = format!(
            "{method} {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {bearer}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.exchange(call.as_bytes()).await
    }

    /// Sends a complete request unchanged and returns the status of the response.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<u16> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some((status, length)) = head(&self.buffer)
                && self.buffer.len() >= length
            {
                return Ok(status);
            }
        }
    }

    /// The last response, head and body.
    pub fn answer(&self) -> &[u8] {
        &self.buffer
    }
}

/// The status and the total length of the response, once the head has arrived.
fn head(buffer: &[u8]) -> Option<(u16, usize)> {
    let end = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&buffer[..end]).ok()?;
    let status = text.get(9..12)?.parse().ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    Some((status, end + length.unwrap_or(0)))
}
