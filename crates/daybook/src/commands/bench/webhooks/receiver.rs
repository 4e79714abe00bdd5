//! The receiver of webhooks: a process that reads complete requests and responds.
//!
//! | path | response |
//! |---|---|
//! | `/take/N` | responds |
//! | `/note/N` | responds, and records the time of arrival |
//! | `/hang/N` | never responds |
//!
//! It prints its port on stdout. For each line on stdin it prints, as a line of JSON, its processor time and the
//! arrivals since the last line. It exits at the end of stdin.

use crate::commands::Failure;
use crate::commands::bench::processor_time;
use daybook_clock::{Clock, System};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

const TAKEN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok";
/// The length of the accept queue; the system may allow less.
const QUEUE: u32 = 4_096;
const BUFFER_BYTES: usize = 16 * 1024;

/// The receiver's report.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Said {
    /// Processor time since its start, in microseconds.
    pub processor_us: u64,
    /// The arrivals since the last report.
    pub arrivals: Vec<Arrival>,
}

/// An arrived message.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Arrival {
    /// The number of its URL.
    pub url: u64,
    /// The number at the end of the message's id.
    pub message: u64,
    /// The time of arrival, in microseconds.
    pub at_us: i64,
}

type Noted = Arc<Mutex<Vec<Arrival>>>;

/// Receives messages until stdin ends.
pub async fn run() -> Result<(), Failure> {
    let listener = listen().map_err(Failure::Output)?;
    let port = listener.local_addr().map_err(Failure::Output)?.port();
    let noted = Noted::default();
    let notes = noted.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let noted = noted.clone();
            // A caller that disconnects does not affect others.
            tokio::spawn(async move { serve(stream, &noted).await });
        }
    });
    let answering = tokio::task::spawn_blocking(move || answer(port, &notes));
    answering.await.map_err(|error| Failure::Failed(error.to_string()))?.map_err(Failure::Output)
}

/// Listens with a queue long enough for all connections at once. A connection that does not fit waits for a second, and
/// the benchmark would then measure this queue.
fn listen() -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    socket.listen(QUEUE)
}

fn answer(port: u16, noted: &Noted) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{port}")?;
    stdout.flush()?;
    for line in std::io::stdin().lock().lines() {
        line?;
        let arrivals = std::mem::take(&mut *noted.lock().unwrap_or_else(PoisonError::into_inner));
        let said = Said { processor_us: processor_time().as_micros() as u64, arrivals };
        serde_json::to_writer(&mut stdout, &said)?;
        writeln!(stdout)?;
        stdout.flush()?;
    }
    Ok(())
}

async fn serve(mut stream: TcpStream, noted: &Noted) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer: Vec<u8> = Vec::with_capacity(BUFFER_BYTES);
    loop {
        let request = loop {
            if let Some(request) = ParsedRequest::read(&buffer)
                && buffer.len() >= request.length
            {
                break request;
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        if let Some(arrival) = request.noted {
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
        }
        let is_answered = request.is_answered;
        buffer.drain(..request.length);
        if is_answered {
            stream.write_all(TAKEN).await?;
        }
    }
}

/// The relevant parts of a request.
struct ParsedRequest {
    /// The total length of head and body.
    length: usize,
    is_answered: bool,
    noted: Option<Arrival>,
}

impl ParsedRequest {
    /// Reads a request's head, once it has arrived.
    fn read(buffer: &[u8]) -> Option<ParsedRequest> {
        let end = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let head = std::str::from_utf8(&buffer[..end]).ok()?;
        let (first, fields) = head.split_once("\r\n")?;
        let path = first.split(' ').nth(1)?;
        let field = |wanted: &str| {
            fields.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case(wanted).then_some(value.trim())
            })
        };
        let body: usize = field("content-length")?.parse().ok()?;
        let noted = path.strip_prefix("/note/").and_then(|url| {
            let (_, message) = field("webhook-id")?.rsplit_once('_')?;
            Some(Arrival { url: url.parse().ok()?, message: message.parse().ok()?, at_us: System.now().micros() })
        });
        Some(ParsedRequest { length: end + body, is_answered: !path.starts_with("/hang/"), noted })
    }
}

#[cfg(test)]
mod tests {
    use super::ParsedRequest;

    #[test]
    fn a_request_is_as_long_as_it_says_and_its_path_decides() {
        let head = "POST /note/7 HTTP/1.1\r\nContent-Length: 5\r\nwebhook-id: dbk_evt_bench_000042\r\n\r\n";
        let request = ParsedRequest::read(format!("{head}he").as_bytes()).expect("the head is there");
        let arrival = request.noted.expect("it is noted");
        assert_eq!((request.length, arrival.url, arrival.message), (head.len() + 5, 7, 42));
        assert!(request.is_answered);
        assert!(ParsedRequest::read(&head.as_bytes()[..head.len() - 1]).is_none());
        let hanging = ParsedRequest::read(b"POST /hang/1 HTTP/1.1\r\ncontent-length: 0\r\n\r\n").expect("a head");
        assert!(!hanging.is_answered && hanging.noted.is_none());
    }
}
